import Catalog
import Contract
import Faults
import Live
import Proxy
import Recordings
import Replay
import Reporting
import Simulation
import Sockets
import Storage
import Wire

/// `demo`: the whole job on loopback, with no outside service.
enum DemoCommand {
  /// How long the client stays after its last gesture's answer: long enough for the last run to settle.
  private static let quiet = Interval.seconds(3)

  static let demo = Command(
    name: "demo", summary: "twin, capture and core on loopback: a recording, faulted replays, reports; offline, in half a minute",
    positionals: [Positional("SYSTEM", .optional, "the client system; default: the first one")],
    options: [Option("output", "DIR", short: "o", "where the files go; default: Reports/demo")],
    detail: "Serves the system's demonstration, records the real core through a real proxy for its whole length, seals the recording, "
      + "audits it, and replays it without faults and under three plans. Exit status 0 when all held.",
    examples: ["chatbench demo", "chatbench demo -o /tmp/demo"],
    run: { arguments, console in
      let system: ChatSystem
      if let name = arguments.positionals.first {
        system = try SystemChoice.named(name)
      } else if let first = Catalog.systems.first(where: { $0.demonstration != nil }) {
        system = first
      } else {
        throw CommandFailure(.ownFault, "no system has a demonstration")
      }
      guard let demonstration = system.demonstration else { throw CommandFailure(.usage, "\(system.name) has no demonstration") }
      let folder = arguments["output"] ?? "Reports/demo"
      try Folder.make(folder)
      let recording = "\(folder)/demo.chatrec"
      try clear(recording)

      console.say("\(system.name): \(demonstration.title)")
      // What is lived through, as it was written: the recording can be compared with it.
      do throws(FileError) {
        try Files.write(Array((demonstration.scenario + "\n").utf8), to: "\(folder)/demo.json", replacing: true)
      } catch {
        throw CommandFailure(.cannotWrite, "\(error)")
      }
      console.say("recording it live on loopback …")
      let sealed = try record(system, demonstration, to: recording, console)
      try console.line(
        "recording: \(sealed.path) (\(RecordingCommands.count(sealed.entries, "frame")), \(RecordingCommands.bytes(sealed.bytes)))")

      let subject = try RunSubject.open(recording, Arguments())
      let audit = Audit.run(system, subject.scenario, subject.frames)
      try console.line("audit: \(audit.sentence)")
      for difference in audit.differences.prefix(10) { try console.line("  \(Auditing.line(difference))") }

      if audit.differences.count > 10 { try console.line("  and \(audit.differences.count - 10) more") }

      // A busy machine can bend the instants of a live recording; the reports say so above their verdicts.
      var worst = ExitStatus.held
      for plan in ["none"] + demonstration.plans {
        let words = [recording, "--plan", plan, "--prove"]
        let replay = try Arguments.parse(words, for: ReplayCommand.replay)
        let settings = try RunChoice.settings(subject, replay)
        let outcome = try ReplayCommand.execute(subject, settings, replay, audit)
        try outcome.write(to: "\(folder)/\(plan)")
        try console.line("\(plan): \(outcome.report.sentence)")
        try console.line("  \(folder)/\(plan)/report.html")
        let status = ReplayCommand.status(outcome.report, replay)
        if status == .broken || worst == .held { worst = status }
      }
      return worst
    })

  /// What an earlier demo left: its recording, or its journal if it was killed.
  private static func clear(_ recording: String) throws {
    for path in [recording, "\(recording).journal", "\(recording).journal-wal", "\(recording).journal-shm"] {
      do throws(FileError) {
        if try Files.kind(of: path) != nil { try Files.remove(path) }
      } catch {
        throw CommandFailure(.cannotCreate, "\(error)")
      }
    }
  }

  /// Twin, proxy and core on one loop: real sockets, real time, nothing else.
  private static func record(
    _ system: ChatSystem, _ demonstration: Demonstration, to path: String, _ console: Console
  ) throws -> SealedFile {
    let scenario = try system.readScenario(try JSONReader.value(demonstration.scenario))
    let loop = try EventLoop()
    let server = try TwinServer(on: loop, system: system, scenario: scenario)
    let upstream = try UpstreamURL("ws://\(server.place)")
    var journal: JournalWriter?
    let session = try CaptureSession(
      on: loop, CaptureSession.Options(upstream: upstream, marks: HostPort(host: "127.0.0.1", port: 0))
    ) { clock in
      let writer = try JournalWriter(
        path: path + ".journal",
        facts: CaptureFacts(
          toolVersion: Version.number, system: system.name, wallClockMs: clock.wallClockAtStart / 1_000_000, upstream: upstream.description)
      )
      journal = writer
      return writer
    }
    var options = CoreClient.Options(server: try UpstreamURL("ws://\(session.place)"))
    options.marks = session.marksPlace.map { "http://\($0)/" }
    options.quiet = quiet
    let client = try CoreClient(on: loop, system: system, scenario: scenario, options)
    client.onEnd = { _ in loop.stop() }
    client.begin()
    var isInterrupted = false
    let signals = try loop.watch(signals: [2, 15]) { _ in
      isInterrupted = true
      loop.stop()
    }
    loop.run()
    withExtendedLifetime(signals) {}
    _ = client.stop()
    try LiveCommands.linger(loop)
    session.stop()
    _ = server.stop()
    if let failure = session.failure { throw failure }
    guard let journal else { throw CommandFailure(.ownFault, "the capture has no journal") }
    try journal.close()
    let sealed = try Seal.seal(journal: journal.path)
    if isInterrupted { throw CommandFailure(.interrupted, "interrupted; \(sealed.path) holds what was recorded") }
    if client.marksLost > 0 { console.say("chatbench: \(client.marksLost) marks could not be posted") }
    return sealed
  }
}
