import Faults
import Glibc

/// The entry: picks the command, parses, runs, and turns every outcome into an exit status and at most one line of words.
package enum Dispatch {
  package static func run(_ words: [String]) -> Int32 {
    let console = Console()
    do {
      let status = try perform(words, console)
      try console.flush()
      return status.rawValue
    } catch let failure as CommandFailure {
      try? console.flush()
      console.say("chatbench: \(failure.message)")
      return failure.status.rawValue
    } catch {
      try? console.flush()
      let failure = Failures.explain(error)
      console.say("chatbench: \(failure.message)")
      return failure.status.rawValue
    }
  }

  static func perform(_ words: [String], _ console: Console) throws -> ExitStatus {
    let commands = CommandList.all
    guard let name = words.first else {
      for line in Help.overview(commands).split(separator: "\n", omittingEmptySubsequences: false) { console.say(String(line)) }
      return .usage
    }
    switch name {
    case "help", "--help", "-h":
      if words.count > 1 {
        try console.page(Help.page(try command(words[1])))
      } else {
        try console.page(Help.overview(commands))
      }
      return .held
    case "--version":
      try console.line("chatbench \(Version.number)")
      return .held
    default:
      let command = try command(name)
      let rest = Array(words.dropFirst())
      if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
        try console.page(Help.page(command))
        return .held
      }
      return try command.run(Arguments.parse(rest, for: command), console)
    }
  }

  private static func command(_ name: String) throws(CommandFailure) -> Command {
    if let command = CommandList.all.first(where: { $0.name == name }) { return command }
    let nearest = Nearest.name(to: name, among: CommandList.all.map(\.name) + ["help"])
    throw CommandFailure(.usage, "there is no command “\(name)”\(nearest.map { "; did you mean \($0)?" } ?? "") (see: chatbench help)")
  }
}
