import Contract
import Faults
import Glibc
import Live
import Proxy
import Recordings
import Replay
import Simulation
import Sockets
import Wire

/// `serve` and `drive`: one side of a scenario on real time behind a real socket.
enum LiveCommands {
  // MARK: serve

  static let serve = Command(
    name: "serve", summary: "the twin of a recording on a real port, with faults, for a real client",
    positionals: [Positional("REC", .one, "a recording, a journal, or a hand-written scenario (.json)")],
    options: [
      Option("listen", "HOST:PORT", "where clients connect; default 127.0.0.1:0, a free port"),
      RunChoice.plan, RunChoice.fault, RunChoice.seed, RunChoice.losses,
      Option("no-delay", nil, "without the base delay of the recorded link"), Option("duration", "SECONDS", "end after this long"),
      Option("allow-remote", nil, "listen on addresses that other machines can reach"),
      Option("output", "DIR", short: "o", "keep the trace as DIR/run.chatrun"), SystemChoice.option, RecordingCommands.json,
    ],
    detail: "The scenario's time begins with the first client. Ends on Ctrl-C, SIGTERM or --duration and then prints what its ledger "
      + "holds: each operation with attempts, keys and saves. The client's own side is not visible here, so there is no verdict. Rules that "
      + "act on the app cannot be used.",
    examples: ["chatbench serve two-chats.chatrec --listen 127.0.0.1:8080 --fault drop,response,*,nth=3"],
    run: { arguments, console in
      let subject = try RunSubject.open(arguments.positionals[0], arguments)
      let settings = try RunChoice.settings(subject, arguments)
      var options = TwinServer.Options()
      options.listen = try CaptureCommand.place(arguments["listen"] ?? "127.0.0.1:0", "listen")
      options.allowRemote = arguments.has("allow-remote")
      options.plan = settings.plan
      options.seed = settings.seed
      options.withoutRecordedLosses = settings.withoutRecordedLosses
      options.simulatesDelay = !arguments.has("no-delay")
      options.recordingName = subject.name
      let duration = try seconds(arguments, "duration")
      if let folder = arguments["output"] { try Folder.make(folder) }
      let loop = try EventLoop()
      let signals = try loop.watch(signals: [SIGINT, SIGTERM]) { _ in loop.stop() }
      let server = try TwinServer(on: loop, system: subject.system, scenario: subject.scenario, options)
      if arguments.has("json") {
        try console.line(JSONWriter.text(["listening": .string(server.place.description), "scenario": .string(subject.name)]))
      } else {
        try console.line("\(subject.system.name) twin of \(subject.name) on ws://\(server.place)")
      }
      try console.flush()
      if options.allowRemote { console.say("chatbench: other machines can reach \(server.place)") }
      console.say("Ctrl-C ends it")
      try run(loop, for: duration)
      withExtendedLifetime(signals) {}
      let result = server.stop()
      try keep(result, subject, settings, arguments, by: "serve")
      try summary(result, arguments, console, seesServer: true)
      return .held
    })

  // MARK: drive

  static let drive = Command(
    name: "drive", summary: "the client core against a real server, on real time, with a scripted user",
    positionals: [Positional("SYSTEM", .one, "the client system")],
    options: [
      Option("url", "URL", "the server: ws://HOST:PORT"),
      Option("scenario", "REC", "whose client start and intents are used; default: the system's demonstration"),
      Option("user", "SCRIPT", "gestures instead of the scenario's (.json)"),
      Option("marks", "URL", "post each gesture as a mark: http://HOST:PORT/ of a capture's marks listener"),
      Option("quiet", "SECONDS", "run on this long after the last gesture; default: the system's quiet phase"), RunChoice.seed,
      RunChoice.fault, Option("output", "DIR", short: "o", "keep the trace as DIR/run.chatrun"), RecordingCommands.json,
    ],
    detail: "Connects, lives the gestures and ends by itself, or on Ctrl-C. Prints what the client says of each message. What the server "
      + "holds is not visible here, so there is no verdict: capture the traffic and replay the recording. Rules that act on the "
      + "server cannot be used.",
    examples: ["chatbench drive NAME --url ws://127.0.0.1:9000 --marks http://127.0.0.1:9001/ --quiet 5"],
    run: { arguments, console in
      let system = try SystemChoice.named(arguments.positionals[0])
      guard let url = arguments["url"] else { throw CommandFailure(.usage, "drive wants --url URL (see: chatbench help drive)") }
      let upstream: UpstreamURL
      do throws(CaptureError) { upstream = try UpstreamURL(url) } catch { throw CommandFailure(.usage, "--url: \(error.description)") }
      let subject = try subject(of: system, arguments)
      let settings = try RunChoice.settings(subject, arguments)
      var options = CoreClient.Options(server: upstream)
      options.marks = arguments["marks"]
      options.user = settings.user
      options.plan = settings.plan
      options.seed = settings.seed
      if let folder = arguments["output"] { try Folder.make(folder) }
      options.quiet = try seconds(arguments, "quiet")
      let loop = try EventLoop()
      let signals = try loop.watch(signals: [SIGINT, SIGTERM]) { _ in loop.stop() }
      let client = try CoreClient(on: loop, system: system, scenario: subject.scenario, options)
      client.onEnd = { _ in loop.stop() }
      client.begin()
      // A server that nobody has reached by then is not there: better an early word than minutes of silence.
      let first = try loop.timer {
        let isUp = client.result.trace.entries.contains { $0.party == .link && $0.kind == "up" }
        if client.failedAttempts > 0, !isUp { loop.stop() }
      }
      first.arm(after: .seconds(15))
      try run(loop, for: nil)
      withExtendedLifetime((signals, first)) {}
      let result = client.stop()
      try linger(loop)
      try keep(result, subject, settings, arguments, by: "drive")
      if client.failedAttempts > 0 {
        console.say("chatbench: \(RecordingCommands.count(client.failedAttempts, "attempt")) to connect to \(upstream) failed")
      }
      if client.marksLost > 0 { console.say("chatbench: \(RecordingCommands.count(client.marksLost, "mark")) could not be posted") }
      if !result.trace.entries.contains(where: { $0.party == .link && $0.kind == "up" }) {
        throw CommandFailure(.unreachable, "\(upstream) could not be reached")
      }
      try summary(result, arguments, console, seesServer: false)
      return .held
    })

  private static func subject(of system: ChatSystem, _ arguments: Arguments) throws -> RunSubject {
    if let path = arguments["scenario"] {
      let subject = try RunSubject.open(path, arguments)
      guard subject.system.name == system.name else {
        throw CommandFailure(.badData, "\(path): is of \(subject.system.name), not of \(system.name)")
      }
      return subject
    }
    guard let demonstration = system.demonstration else { throw CommandFailure(.usage, "\(system.name) needs --scenario REC") }
    return RunSubject(
      system: system, scenario: try system.readScenario(try JSONReader.value(demonstration.scenario)), name: "demonstration", frames: [])
  }

  // MARK: both

  /// Runs the loop until it is stopped, or for this long.
  static func run(_ loop: EventLoop, for length: Interval?) throws {
    let end = try loop.timer { loop.stop() }
    if let length { end.arm(after: length) }
    loop.run()
    withExtendedLifetime(end) {}
  }

  /// The value of an option in seconds, at most 34 years.
  static func seconds(_ arguments: Arguments, _ option: String) throws(CommandFailure) -> Interval? {
    try arguments.unsigned(option).map { .seconds(Int64(min($0, 1 << 30))) }
  }

  /// Lets the closing handshakes go out: a recording should not show a client that vanished.
  static func linger(_ loop: EventLoop) throws { try run(loop, for: .milliseconds(250)) }

  private static func keep(
    _ result: RunResult, _ subject: RunSubject, _ settings: WorldSettings, _ arguments: Arguments, by command: String
  ) throws {
    guard let folder = arguments["output"] else { return }
    try Folder.make(folder)
    let file = RunFile(
      trace: result.trace, rules: result.rules, divergences: [], cannotSay: [], command: "", proof: .notRun, oneSided: command)
    try file.write(
      to: "\(folder)/run.chatrun", plan: settings.plan.json, scenario: subject.scenario.json, user: .string(settings.user.name),
      verdict: .null)
  }

  /// What this side saw of each operation: the ledger's entries, the wire's attempts, the client's last word.
  private static func summary(
    _ result: RunResult, _ arguments: Arguments, _ console: Console, seesServer: Bool
  ) throws {
    struct Row {
      var attempts = 0
      var keys: [String] = []
      var saves = 0
      var word: String?
      var text: String?
    }
    var rows = OrderedMap<String, Row>()
    for entry in result.trace.entries {
      guard let operation = entry["operation"]?.string else { continue }
      switch (entry.party, entry.kind) {
      case (.link, "send") where entry["dir"]?.string == "out" && entry["delivery"]?.bool == true:
        rows[operation, default: Row()].attempts += 1
        if let key = entry["key"]?.string, rows[operation]?.keys.contains(key) == false { rows[operation, default: Row()].keys.append(key) }
      case (.twin, "saved"):
        rows[operation, default: Row()].saves += 1
        rows[operation, default: Row()].text = entry["text"]?.string
      case (.core, "says"): rows[operation, default: Row()].word = entry["state"]?.string
      case (.core, "accepted"): rows[operation, default: Row()].text = entry["text"]?.string
      default: break
      }
    }
    for (operation, row) in rows.pairs {
      if arguments.has("json") {
        try console.line(
          JSONWriter.text([
            "operation": .string(operation), "text": row.text.map(JSON.string) ?? .null, "attempts": .int(row.attempts),
            "distinctKeys": .int(row.keys.count), "saves": seesServer ? .int(row.saves) : .null,
            "clientSays": row.word.map(JSON.string) ?? .null,
          ]))
      } else {
        var facts = [RecordingCommands.count(row.attempts, "attempt"), RecordingCommands.count(row.keys.count, "key")]
        if row.saves > 0 { facts.append("saved \(row.saves == 1 ? "once" : "\(row.saves) times")") }
        if let word = row.word { facts.append("client says \(word)") }
        try console.line(Preview.escaped("\(operation) “\(row.text ?? "?")”: \(facts.joined(separator: ", "))"))
      }
    }
    for rule in result.rules {
      try console.line(Preview.escaped("rule \(rule.rule): \(RecordingCommands.count(rule.candidates, "candidate")), fired \(rule.fired)"))
    }
  }
}
