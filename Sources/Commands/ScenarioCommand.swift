import Contract
import Recordings
import Replay
import Simulation
import Wire

/// Audits of a scenario against its recording, for `scenario`, `replay`, `check` and `demo`. Each command makes them once, before
/// anything rests on them; nothing of them is kept on disk.
enum Auditing {
  /// Audits 1 to 3; nil for a hand-written scenario, which has no recording to differ from.
  static func audit(of subject: RunSubject) -> AuditReport? {
    subject.frames.isEmpty ? nil : Audit.run(subject.system, subject.scenario, subject.frames)
  }

  /// How many frames each audit compared.
  static func compared(_ audit: AuditReport) -> String {
    "\(RecordingCommands.count(audit.serverFrames, "server frame")) (audit 1), \(RecordingCommands.count(audit.clientFrames, "client frame")) "
      + "(audit 2) and \(RecordingCommands.count(audit.bothFrames, "frame")) of both (audit 3) compared"
  }

  /// One line for a person.
  static func line(_ divergence: Divergence) -> String {
    var text = "\(divergence.at) audit \(divergence.audit) \(divergence.kind.rawValue): \(divergence.name)"
    if let frame = divergence.frame { text += ", frame \(frame)" }
    if let path = divergence.path {
      text +=
        ", \(path.isEmpty ? "value" : path): recorded \(divergence.recorded ?? "nothing"), replayed \(divergence.replayed ?? "nothing")"
    }
    if let rests = divergence.restsOn { text += "; \(rests)" }
    return Preview.escaped(text)
  }
}

/// `scenario`: what a recording means.
enum ScenarioCommand {
  static let scenario = Command(
    name: "scenario", summary: "what a recording means: intents, stretches with their causes, losses, and how each was inferred",
    positionals: [Positional("REC", .one, "a recording, a journal, or a scenario (.json)")],
    options: [
      Option("audit", nil, "check that the scenario reproduces the recording (audits 1 to 3); exit 1 when it does not"),
      Option("json", nil, "the scenario in the form that can be edited and replayed; with --audit, the audit"), SystemChoice.option,
    ],
    detail: "The printed JSON can be edited by hand and given to replay and serve: that is the way to override an inference.",
    examples: [
      "chatbench scenario two-chats.chatrec --audit",
      "chatbench scenario two-chats.chatrec --json > past.json",
    ],
    run: { arguments, console in
      let subject = try RunSubject.open(arguments.positionals[0], arguments)
      if arguments.has("audit"), subject.frames.isEmpty {
        throw CommandFailure(.usage, "--audit wants a recording: a hand-written scenario has nothing to be compared with")
      }
      let audit = arguments.has("audit") ? Auditing.audit(of: subject) : nil
      if arguments.has("json") {
        try console.line(JSONWriter.text(audit.map(json) ?? subject.scenario.json))
      } else {
        try describe(subject, console)
        if let audit {
          try console.page("\naudit: \(audit.sentence)")
          try console.line("  \(Auditing.compared(audit))")
          for difference in audit.differences { try console.line("  \(Auditing.line(difference))") }
        }
      }
      if let damage = subject.damage {
        try console.flush()
        throw CommandFailure(.badData, "\(arguments.positionals[0]): damaged, this is its valid part: \(damage)")
      }
      return audit.map { $0.fidelity == .diverges ? ExitStatus.broken : .held } ?? .held
    })

  private static func json(_ audit: AuditReport) -> JSON {
    [
      "fidelity": .string(audit.fidelity.rawValue), "assumptions": .int(audit.assumptions), "serverFrames": .int(audit.serverFrames),
      "clientFrames": .int(audit.clientFrames), "bothFrames": .int(audit.bothFrames),
      "differences": .array(audit.differences.map(\.json)),
    ]
  }

  private static func describe(_ subject: RunSubject, _ console: Console) throws {
    let scenario = subject.scenario
    let facts = scenario.facts
    try console.line("\(subject.name): \(subject.system.title), \(facts.start) to \(facts.end)")
    for endpoint in facts.oneWay.keys.sorted() {
      try console.line("link: \(facts.oneWay[endpoint] ?? .zero) one way\(endpoint.isEmpty ? "" : " to \(endpoint)")")
    }
    try console.page("\nintents: \(facts.intents.count)")
    for intent in facts.intents {
      let target = intent.target.map { ", about \($0)" } ?? ""
      let lag = intent.lag > .zero ? ", \(intent.lag) after it could be done" : ""
      try console.line("  \(Help.pad(intent.at.description, to: 10)) \(intent.id) (\(intent.basis.rawValue)\(target)\(lag))")
      try console.line("             \(Preview.escaped(JSONWriter.text(intent.gesture.json)))")
    }
    try console.page("\nstretches: \(scenario.stretches.count)")
    for stretch in scenario.stretches {
      try console.line(
        "  \(stretch.id)\(stretch.lane.map { " in \($0)" } ?? ""): \(stretch.cause), begins \(stretch.delay) after it may, "
          + "\(RecordingCommands.count(stretch.steps, "step")) in \(stretch.length), \(stretch.end)")
    }
    try console.page("\nlosses of the recorded past: \(facts.conditions.count + facts.outages.count)")
    for condition in facts.conditions {
      let what =
        switch condition.what {
        case .lost: "lost"
        case .late(let by): "late by \(by)"
        case .closed(let code, let who): "connection closed by \(who) with \(code)"
        }
      let fields = condition.pattern.conditions.map { ",\($0.field)\($0.comparison.rawValue)\($0.value)" }.joined()
      try console.line(
        "  \(what): \(condition.pattern.role?.rawValue ?? "frame"),\(condition.pattern.name ?? "*")\(Preview.escaped(fields)), "
          + "match \(condition.nth) (\(condition.basis.rawValue): \(condition.reason))")
    }
    for outage in facts.outages {
      try console.line("  no connection from \(outage.from) to \(outage.until) (\(outage.code), \(outage.who))")
    }
    try console.page("\ninferences: \(facts.notes.count)")
    for note in facts.notes {
      let frames = note.frames.isEmpty ? "" : "; frames \(note.frames.prefix(8).map(String.init).joined(separator: ", "))"
      try console.line("  \(note.basis.rawValue): \(Preview.escaped(note.what))\(frames)")
    }
  }
}
