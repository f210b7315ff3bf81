import Contract
import Faults
import Oracles
import Recordings
import Replay
import Reporting
import Simulation
import Storage
import Wire

/// `replay` and `report`: one run, its verdict, its files.
enum ReplayCommand {
  static let replay = Command(
    name: "replay", summary: "live a recording again through the client core, with faults, and report",
    positionals: [Positional("REC", .one, "a recording, a journal, or a hand-written scenario (.json)")],
    options: [
      RunChoice.plan, RunChoice.fault, RunChoice.user, RunChoice.seed, RunChoice.losses,
      Option("prove", nil, "run twice and compare every entry"),
      Option("require-fired", nil, "exit 2 when a rule never fired"),
      Option("require-faithful", nil, "exit 2, without a run, when an audit finds that the scenario does not reproduce the recording"),
      Option("output", "DIR", short: "o", "where the files go; default: Reports/REC-PLAN-SEED"), SystemChoice.option,
      RecordingCommands.json,
    ],
    detail: "Compiles the recording to a scenario, audits it, runs core and twin on virtual time and judges the trace. Writes report.html, "
      + "report.txt, report.json, junit.xml and run.chatrun into DIR. Exit status 0 held, 1 broken, 2 unknown.",
    examples: [
      "chatbench replay two-chats.chatrec --plan lost-submits",
      "chatbench replay two-chats.chatrec --fault drop,response,run.chatOutboxSubmit,nth=2 --prove -o out",
    ],
    run: { arguments, console in
      let path = arguments.positionals[0]
      let subject = try RunSubject.open(path, arguments)
      let settings = try RunChoice.settings(subject, arguments)
      let audit = Auditing.audit(of: subject)
      if arguments.has("require-faithful"), let audit, audit.fidelity == .diverges {
        for divergence in audit.differences.prefix(10) { console.say("chatbench: \(Auditing.line(divergence))") }
        throw CommandFailure(
          .unknown,
          "\(path): the scenario is not faithful to the recording (\(RecordingCommands.count(audit.differences.count, "difference")))")
      }
      let outcome = try execute(subject, settings, arguments, audit)
      let folder = arguments["output"] ?? defaultFolder(subject, settings)
      try outcome.write(to: folder)
      try announce(outcome, folder, arguments, console)
      if let damaged = subject.damage, outcome.report.verdict != .broken {
        try console.flush()
        throw CommandFailure(.badData, "\(path): its valid part was replayed, nothing is held for the whole: \(damaged)")
      }
      return status(outcome.report, arguments)
    })

  static let report = Command(
    name: "report", summary: "judge kept runs again and write their reports",
    positionals: [Positional("RUN", .many, "files NAME.chatrun")],
    options: [
      Option("output", "DIR", short: "o", "where the files go; default: beside the run"),
      Option("text", nil, "print the text report instead of writing files"), RecordingCommands.json,
    ],
    examples: ["chatbench report Reports/demo/lost-submits/run.chatrun --text"],
    run: { arguments, console in
      if arguments.positionals.isEmpty { throw CommandFailure(.usage, "report wants at least one run (see: chatbench help report)") }
      if arguments.positionals.count > 1, arguments.has("output") {
        throw CommandFailure(.usage, "--output takes one run; without it each report stands beside its run")
      }
      var worst = ExitStatus.held
      for path in arguments.positionals {
        let run = try RunFile.open(path)
        if let kept = run.oneSided {
          throw CommandFailure(
            .badData, "\(path): was kept by \(kept), which sees one side only: there is no verdict on it (chatbench show prints its trace)")
        }
        let system: ChatSystem
        do throws(CommandFailure) { system = try SystemChoice.named(run.trace.header.system) } catch {
          throw CommandFailure(.badData, "\(path): \(error.message)")
        }
        let outcome = RunOutcome(judging: run, system)
        if arguments.has("text") {
          try console.bytes(TextReport.bytes(outcome.report))
        } else if arguments.has("json") {
          try console.bytes(JSONReport.bytes(outcome.report))
        } else {
          let folder = arguments["output"] ?? Folder.of(path)
          try outcome.writeReports(to: folder)
          try console.line(outcome.report.sentence)
          for name in RunOutcome.reportNames { console.say("  \(folder)/\(name)") }
        }
        let status = status(outcome.report, arguments)
        if status == .broken || worst == .held { worst = status }
      }
      return worst
    })

  /// Runs, judges and makes the report.
  static func execute(
    _ subject: RunSubject, _ settings: WorldSettings, _ arguments: Arguments, _ audit: AuditReport?
  ) throws -> RunOutcome {
    let run = Run(subject.system, subject.scenario, settings)
    let result: RunResult
    var proof = Proof.notRun
    do throws(RunError) {
      if arguments.has("prove") {
        (result, proof) = try run.prove()
      } else {
        result = try run.execute()
      }
    } catch {
      throw CommandFailure(.badData, "\(subject.name): \(error); the plan or the script asks for more than a run can hold")
    }
    var cannotSay: [String] = []
    for note in subject.scenario.facts.notes where note.basis == .assumed {
      let frames = note.frames.isEmpty ? "" : " (frame \(note.frames.prefix(6).map(String.init).joined(separator: ", ")))"
      cannotSay.append(note.what + frames)
    }
    let file = RunFile(
      trace: result.trace, rules: result.rules, divergences: audit?.differences ?? [], audit: audit?.sentence,
      doubts: audit?.doubtful.entries(of: result.trace, subject.system) ?? [:], cannotSay: cannotSay,
      command: RunChoice.command(subject, arguments), proof: proof)
    var outcome = RunOutcome(judging: file, subject.system)
    outcome.plan = settings.plan.json
    outcome.scenario = subject.scenario.json
    if case .script(let script) = settings.user {
      outcome.user = .array(script.intents.map { ["id": .string($0.id), "atNs": .integer($0.at.nanoseconds), "gesture": $0.gesture.json] })
    } else {
      outcome.user = .string(settings.user.name)
    }
    return outcome
  }

  static func status(_ report: Report, _ arguments: Arguments) -> ExitStatus {
    switch report.verdict {
    case .broken: .broken
    case .unknown, .untested: .unknown
    case .held: arguments.has("require-fired") && !report.silentRules.isEmpty ? .unknown : .held
    }
  }

  static func announce(_ outcome: RunOutcome, _ folder: String, _ arguments: Arguments, _ console: Console) throws {
    let report = outcome.report
    if arguments.has("json") {
      try console.bytes(JSONReport.bytes(report))
      return
    }
    // A verdict on a scenario that is not the recording says less than it seems to: that comes first.
    if let notice = report.divergenceNotice { try console.line("Diverged. \(notice)") }
    try console.line(report.sentence)
    for finding in report.findings.prefix(10) {
      try console.line("  \(finding.claims.map(\.id).joined(separator: ", ")): \(finding.title)")
    }
    for line in report.remarks { try console.line(line) }
    if report.proof != .notRun { try console.line("Proof: \(report.proofWords).") }
    for name in RunOutcome.reportNames + ["run.chatrun"] { console.say("  \(folder)/\(name)") }
  }

  /// A name for a folder: what a plan file calls itself is nobody's path.
  private static func plain(_ name: String) -> String {
    let kept = name.unicodeScalars.prefix(80).map { scalar -> Character in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "-", "_", "+": Character(scalar)
      default: "-"
      }
    }
    return kept.isEmpty ? "run" : String(kept)
  }

  private static func defaultFolder(_ subject: RunSubject, _ settings: WorldSettings) -> String {
    let stem = subject.name.split(separator: ".").first.map(String.init) ?? "run"
    return "Reports/\(plain(stem))-\(plain(settings.plan.name))-\(settings.seed)"
  }
}

/// A judged run with its report, ready to be written.
struct RunOutcome {
  static let reportNames = ["report.html", "report.txt", "report.json", "junit.xml"]

  var file: RunFile
  var report: Report
  var plan: JSON = .null
  var scenario: JSON = .null
  var user: JSON = .null

  init(judging file: RunFile, _ system: ChatSystem) {
    self.file = file
    let judgement = Judge.judge(file.trace, claims: system.claims, proof: file.proof, doubts: file.doubts)
    report = Report(
      trace: file.trace, judgement: judgement, system: system.title, tool: "chatbench \(Version.number)", rules: file.rules,
      figures: system.figures(file.trace), divergences: file.divergences, audit: file.audit, cannotSay: file.cannotSay,
      command: file.command,
      proof: file.proof, traceHash: SHA256Digest.hex(file.trace.lines))
  }

  /// All files of a run. Each is written beside its name and renamed, so that a failure leaves no half file.
  func write(to folder: String) throws {
    try Folder.make(folder)
    try file.write(
      to: "\(folder)/run.chatrun", plan: plan, scenario: scenario, user: user,
      verdict: .object([
        "verdict": .string(report.verdict.rawValue),
        "claims": .array(report.judgement.claims.map { ["id": .string($0.id), "verdict": .string($0.verdict.rawValue)] }),
      ]))
    try writeReports(to: folder)
  }

  func writeReports(to folder: String) throws {
    try Folder.make(folder)
    let contents = [HTMLReport.bytes(report), TextReport.bytes(report), JSONReport.bytes(report), JUnitReport.bytes(report)]
    for (name, bytes) in zip(RunOutcome.reportNames, contents) {
      do throws(FileError) {
        try Files.write(bytes, to: "\(folder)/\(name)", replacing: true)
      } catch {
        throw CommandFailure(.cannotWrite, "\(error)")
      }
    }
  }
}
