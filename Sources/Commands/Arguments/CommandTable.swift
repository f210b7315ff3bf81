import Faults

/// One long option of a command.
package struct Option: Sendable {
  package let name: String
  /// The placeholder of its value, nil for a flag.
  package let value: String?
  package let help: String
  /// May be given more than once.
  package let repeats: Bool
  /// One letter, for the few options that people type by hand.
  package let short: Character?

  package init(_ name: String, _ value: String? = nil, short: Character? = nil, repeats: Bool = false, _ help: String) {
    self.name = name
    self.value = value
    self.short = short
    self.repeats = repeats
    self.help = help
  }
}

/// One positional argument of a command.
package struct Positional: Sendable {
  package enum Count: Sendable { case one, optional, many }
  package let name: String
  package let count: Count
  package let help: String

  package init(_ name: String, _ count: Count = .one, _ help: String) {
    self.name = name
    self.count = count
    self.help = help
  }
}

/// One command: the table that parses it also makes its help.
package struct Command: Sendable {
  package let name: String
  package let summary: String
  package let positionals: [Positional]
  package let options: [Option]
  /// What a reader of the help should know beyond the options.
  package let detail: String
  package let examples: [String]
  package let run: @Sendable (Arguments, Console) throws -> ExitStatus

  package init(
    name: String, summary: String, positionals: [Positional] = [], options: [Option] = [], detail: String = "", examples: [String],
    run: @escaping @Sendable (Arguments, Console) throws -> ExitStatus
  ) {
    self.name = name
    self.summary = summary
    self.positionals = positionals
    self.options = options
    self.detail = detail
    self.examples = examples
    self.run = run
  }
}

/// The checked arguments of one call.
package struct Arguments: Sendable {
  package var positionals: [String] = []
  private var values: [String: [String]] = [:]

  package func has(_ option: String) -> Bool { values[option] != nil }
  package subscript(option: String) -> String? { values[option]?.last }
  package func all(_ option: String) -> [String] { values[option] ?? [] }

  /// The value as an unsigned integer; a usage error names option and value.
  package func unsigned(_ option: String) throws(CommandFailure) -> UInt64? {
    guard let text = self[option] else { return nil }
    guard let value = UInt64(text) else { throw CommandFailure(.usage, "--\(option) wants a whole number from 0, not “\(text)”") }
    return value
  }

  /// Parses what stands behind the command's name.
  package static func parse(_ words: [String], for command: Command) throws(CommandFailure) -> Arguments {
    var result = Arguments()
    var rest = words[...]
    var onlyPositionals = false
    while let word = rest.popFirst() {
      if onlyPositionals || word == "-" || !word.hasPrefix("-") {
        result.positionals.append(word)
      } else if word == "--" {
        onlyPositionals = true
      } else {
        try result.take(word, &rest, command)
      }
    }
    try result.checkCount(command)
    return result
  }

  private mutating func take(_ word: String, _ rest: inout ArraySlice<String>, _ command: Command) throws(CommandFailure) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let option: Option?
    if word.hasPrefix("--") {
      option = command.options.first { $0.name == parts[0].dropFirst(2) }
    } else {
      option = word.count == 2 ? command.options.first { $0.short == word.last } : nil
    }
    guard let option else {
      let nearest = Nearest.name(to: parts[0], among: command.options.map { "--\($0.name)" })
      throw CommandFailure(
        .usage,
        "\(command.name) has no option \(parts[0])\(nearest.map { "; did you mean \($0)?" } ?? "") (see: chatbench help \(command.name))")
    }
    if !option.repeats, values[option.name] != nil { throw CommandFailure(.usage, "--\(option.name) is given twice") }
    guard let placeholder = option.value else {
      if parts.count > 1 { throw CommandFailure(.usage, "--\(option.name) takes no value") }
      values[option.name] = [""]
      return
    }
    if parts.count > 1, word.hasPrefix("--") {
      values[option.name, default: []].append(parts[1])
    } else if let value = rest.popFirst() {
      values[option.name, default: []].append(value)
    } else {
      throw CommandFailure(.usage, "--\(option.name) wants \(placeholder)")
    }
  }

  private func checkCount(_ command: Command) throws(CommandFailure) {
    let least = command.positionals.filter { $0.count == .one }.count
    let unlimited = command.positionals.contains { $0.count == .many }
    if positionals.count < least {
      throw CommandFailure(
        .usage, "\(command.name) wants \(command.positionals[positionals.count].name) (see: chatbench help \(command.name))")
    }
    if !unlimited, positionals.count > command.positionals.count {
      throw CommandFailure(.usage, "\(command.name) does not know what to do with “\(positionals[command.positionals.count])”")
    }
  }
}
