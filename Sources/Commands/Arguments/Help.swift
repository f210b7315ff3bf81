/// Makes the helps from the table of commands.
package enum Help {
  private static let width = 96

  package static func overview(_ commands: [Command]) -> String {
    var lines = [
      "chatbench \(Version.number): records the traffic of a chat client, replays it through the client's core",
      "under faults, and reports what became of every message.", "", "usage: chatbench COMMAND [OPTIONS]", "", "commands:",
    ]
    let column = commands.map(\.name.count).max() ?? 0
    for command in commands { lines.append("  \(pad(command.name, to: column))  \(command.summary)") }
    lines += [
      "", "  chatbench help COMMAND   options and examples of a command",
      "  chatbench demo           a whole round, offline, in half a minute",
      "", "exit status:",
    ]
    for status in ExitStatus.allCases { lines.append("  \(pad(String(status.rawValue), to: 3))  \(status.meaning)") }
    return lines.joined(separator: "\n")
  }

  package static func page(_ command: Command) -> String {
    var lines = [command.name + ": " + command.summary, ""]
    let positionals = command.positionals.map { positional in
      switch positional.count {
      case .one: positional.name
      case .optional: "[\(positional.name)]"
      case .many: "\(positional.name)…"
      }
    }
    lines.append(
      (["usage: chatbench", command.name] + positionals + (command.options.isEmpty ? [] : ["[OPTIONS]"])).joined(separator: " "))
    if !command.detail.isEmpty { lines += [""] + wrapped(command.detail, indent: 0) }
    let rows =
      command.positionals.map { ($0.name, $0.help) }
      + command.options.map { option in
        let short = option.short.map { "-\($0), " } ?? ""
        return ("\(short)--\(option.name)\(option.value.map { " \($0)" } ?? "")", option.help + (option.repeats ? " (repeatable)" : ""))
      }
    if !rows.isEmpty {
      lines.append("")
      let column = min(30, rows.map(\.0.count).max() ?? 0)
      for (name, help) in rows {
        let text = wrapped(help, indent: column + 4)
        if name.count <= column {
          lines.append("  \(pad(name, to: column))  \((text.first ?? "").trimmingLeadingSpaces)")
          lines += text.dropFirst()
        } else {
          lines.append("  \(name)")
          lines += text
        }
      }
    }
    lines += ["", command.examples.count == 1 ? "example:" : "examples:"] + command.examples.map { "  \($0)" }
    return lines.joined(separator: "\n")
  }

  private static func wrapped(_ text: String, indent: Int) -> [String] {
    let margin = String(repeating: " ", count: indent)
    var lines: [String] = []
    for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
      var line = margin
      for word in paragraph.split(separator: " ") {
        if line.count + word.count + 1 > width, line.count > indent {
          lines.append(line)
          line = margin
        }
        line += line.count > indent ? " \(word)" : String(word)
      }
      lines.append(line)
    }
    return lines
  }

  static func pad(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}

extension String {
  fileprivate var trimmingLeadingSpaces: Substring { drop { $0 == " " } }
}

/// The version of the tool, as manifests and reports name it.
package enum Version {
  package static let number = "0.1.0"
}
