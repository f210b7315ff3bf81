import Contract
import Recordings
import Replay
import Simulation
import Storage
import Wire

/// `list`, `show`, `check`, `seal`: work on recordings as they are.
enum RecordingCommands {
  static let json = Option("json", nil, "data as JSON, one document or one line a frame")

  // MARK: list

  static let list = Command(
    name: "list", summary: "what recordings hold, from their heads alone",
    positionals: [Positional("REC", .many, "recordings (.chatrec) or unsealed journals")],
    options: [json],
    detail: "Reads the manifest at the head of each sealed file; frames are not touched. An unreadable file is reported, "
      + "stops nothing else and changes the exit status.",
    examples: ["chatbench list *.chatrec"],
    run: { arguments, console in
      var status = ExitStatus.held
      let paths = arguments.positionals
      if paths.isEmpty { throw CommandFailure(.usage, "list wants at least one recording (see: chatbench help list)") }
      for path in paths {
        let listing: RecordingListing
        do throws(RecordingError) {
          listing = try Recording.listing(path)
        } catch {
          let failure = Failures.explain(error)
          console.say("chatbench: \(failure.message)")
          if status == .held { status = failure.status }
          continue
        }
        let manifest = listing.manifest
        var sideFiles: [String] = []
        if case .unsealed(let files) = listing.form { sideFiles = files }
        if arguments.has("json") {
          try console.line(
            JSONWriter.text([
              "path": .string(path), "sealed": .bool(listing.form == .sealed), "sideFiles": .array(sideFiles.map(JSON.string)),
              "system": manifest.facts.system.map(JSON.string) ?? .null, "frames": .int(manifest.frames),
              "endNs": .integer(manifest.end.nanoseconds), "bytes": .int(listing.bytes),
              "wallClockMs": .integer(manifest.facts.wallClockMs), "upstream": manifest.facts.upstream.map(JSON.string) ?? .null,
              "toolVersion": .string(manifest.facts.toolVersion),
              "redactions": .array(manifest.facts.redactions.map { ["rule": .string($0.rule), "count": .int($0.count)] }),
              "connections": .array(
                manifest.connections.map {
                  [
                    "conn": .int($0.connection.number), "out": ["frames": .int($0.out.frames), "bytes": .int($0.out.bytes)],
                    "in": ["frames": .int($0.in.frames), "bytes": .int($0.in.bytes)],
                  ]
                }),
            ]))
        } else {
          try console.line("\(path)  \(listing.form == .sealed ? "sealed" : "unsealed")")
          try console.line(
            "  \(manifest.facts.system ?? "system not named"), \(manifest.end) long, \(count(manifest.frames, "frame")), "
              + "\(bytes(listing.bytes)) on disk")
          for connection in manifest.connections where connection.connection.number > 0 {
            try console.line(
              "  connection \(connection.connection.number): out \(count(connection.out.frames, "frame")), \(bytes(connection.out.bytes)); "
                + "in \(count(connection.in.frames, "frame")), \(bytes(connection.in.bytes))")
          }
          for redaction in manifest.facts.redactions { try console.line("  redacted by \(redaction.rule): \(redaction.count)") }
          if !sideFiles.isEmpty { try console.line("  belongs to it: \(sideFiles.joined(separator: ", "))") }
        }
      }
      return status
    })

  // MARK: show

  static let show = Command(
    name: "show", summary: "the frames of a recording, or one of them byte for byte; the trace of a run",
    positionals: [Positional("REC", .one, "a recording or journal, or a kept run (.chatrun)")],
    options: [
      Option("frame", "SEQ", "the payload of this frame alone, byte for byte"),
      Option("label", "LABEL", "only frames of this label; a trailing * matches the rest"),
      Option("conn", "N", "only frames of this connection"), SystemChoice.option, json,
    ],
    detail: "One line a frame: sequence, time (m:ss.mmm), connection and direction, kind, label, bytes, beginning of the payload. "
      + "Control characters are shown escaped. Of a run: one line an entry of its trace (index, time, party, kind, fields), --label and "
      + "--conn as for frames.",
    examples: [
      "chatbench show two-chats.chatrec",
      "chatbench show two-chats.chatrec --label 'run.chatOutbox*'",
      "chatbench show two-chats.chatrec --frame 12",
    ],
    run: { arguments, console in
      if arguments.positionals[0].hasSuffix(".chatrun") { return try showTrace(arguments, console) }
      let recording = try Recording.open(arguments.positionals[0])
      let (frames, damage) = try recording.frames()
      if let sequence = try arguments.unsigned("frame") {
        guard let frame = frames.first(where: { UInt64($0.sequence) == sequence }) else {
          throw CommandFailure(.noInput, "\(recording.path): there is no frame \(sequence)")
        }
        try console.bytes(frame.payload)
        return .held
      }
      let connection = try arguments.unsigned("conn")
      let system = try? SystemChoice.of(recording, frames: frames, arguments)
      if arguments.has("system"), system == nil { _ = try SystemChoice.of(recording, frames: frames, arguments) }
      var labeler = system?.makeLabeler()
      let pattern = FramePattern(name: arguments["label"])
      if case .unsealed(let files) = recording.form {
        console.say("unsealed; belongs to it: \(([recording.path] + files).joined(separator: ", "))")
      }
      for frame in frames {
        let label = labeler?.label(frame) ?? FrameLabel(role: .other, name: "?")
        if let connection, Int(clamping: connection) != frame.connection.number { continue }
        if !pattern.matches(label) { continue }
        if arguments.has("json") {
          var object: JSONObject = [
            "seq": .int(frame.sequence), "t": .integer(frame.at.nanoseconds), "conn": .int(frame.connection.number),
            "dir": .string(frame.direction.rawValue), "kind": .string(frame.kind.rawValue), "len": .int(frame.payload.count),
            "role": .string(label.role.rawValue), "label": .string(label.name), "fields": .object(label.fields),
          ]
          if let operation = label.operation { object["operation"] = .string(operation) }
          if let key = label.key { object["key"] = .string(key) }
          if let text = String(validating: frame.payload, as: UTF8.self) { object["payload"] = .string(text) }
          if !frame.flags.isEmpty { object["flags"] = .object(frame.flags) }
          try console.line(JSONWriter.text(.object(object)))
        } else {
          let arrow = frame.direction == .out ? "→" : "←"
          let name = label.role == .other ? "" : "\(label.role.rawValue) \(label.name)  "
          try console.line(
            "\(Help.pad(String(frame.sequence), to: 6)) \(Help.pad(frame.at.description, to: 10)) \(frame.connection.number)\(arrow) "
              + "\(Help.pad(frame.kind.rawValue, to: 9)) \(name)\(frame.payload.count) B  "
              + (frame.flags["deflated"] == true ? "(compressed: permessage-deflate is not read)" : Preview.of(frame.payload, width: 60)))
        }
      }
      return try report(damage, recording, console)
    })

  /// The trace of a run, one line an entry; payloads only as JSON.
  private static func showTrace(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    if arguments.has("frame") { throw CommandFailure(.usage, "--frame is for recordings; --json shows the payloads of a run") }
    let run = try RunFile.open(arguments.positionals[0])
    let connection = try arguments.unsigned("conn")
    let pattern = FramePattern(name: arguments["label"])
    for entry in run.trace.entries {
      if let connection, entry["conn"]?.integer != Int64(clamping: connection) { continue }
      if arguments.has("label"), !pattern.matches(FrameLabel(role: .other, name: entry["name"]?.string ?? "")) { continue }
      if arguments.has("json") {
        try console.line(JSONWriter.text(entry.json))
      } else {
        let fields = entry.fields.members.map { "\($0.name)=\($0.value.string ?? JSONWriter.text($0.value))" }.joined(separator: " ")
        try console.line(
          "\(Help.pad(String(entry.index), to: 6)) \(Help.pad(entry.at.description, to: 10)) \(Help.pad(entry.party.rawValue, to: 5)) "
            + "\(Help.pad(entry.kind, to: 11)) \(Preview.escaped(fields))")
      }
    }
    return .held
  }

  // MARK: check

  static let check = Command(
    name: "check", summary: "decode a recording strictly, name each violation, and audit what it is understood to mean",
    positionals: [Positional("REC", .many, "recordings or journals")], options: [SystemChoice.option, json],
    detail: "Names file, frame and key path of everything that the system's wire rules forbid, and where a damaged file ends. Then the "
      + "audits: whether twin, core and both together reproduce the recording (see: chatbench help scenario). Exit status 0: clean and "
      + "faithful; 1: violations, or the audits differ; 65: damaged or unreadable.",
    examples: ["chatbench check two-chats.chatrec"],
    run: { arguments, console in
      var status = ExitStatus.held
      if arguments.positionals.isEmpty { throw CommandFailure(.usage, "check wants at least one recording (see: chatbench help check)") }
      for path in arguments.positionals {
        do {
          let recording = try Recording.open(path)
          let (frames, damage) = try recording.frames()
          let system = try SystemChoice.of(recording, frames: frames, arguments)
          var labeler = system.makeLabeler()
          var violations = 0
          for frame in frames {
            for violation in labeler.violations(in: frame) {
              violations += 1
              if arguments.has("json") {
                try console.line(
                  JSONWriter.text([
                    "file": .string(path), "frame": .int(frame.sequence), "path": .string(violation.path),
                    "problem": .string(violation.problem),
                  ]))
              } else {
                try console.line("\(path): frame \(frame.sequence): \(Preview.escaped(violation.description))")
              }
            }
          }
          var meaning = ""
          do throws(CommandFailure) {
            if let audit = try audit(system, recording, frames, path, arguments, console) {
              meaning = ", " + audit.sentence
              if audit.fidelity == .diverges, status == .held { status = .broken }
            }
          } catch {
            if error.status != .badData { throw error }
            console.say("chatbench: \(error.message)")
            meaning = ", not audited"
            if violations == 0, status == .held { status = .badData }
          }
          if violations > 0, status == .held { status = .broken }
          if let damage {
            status = .badData
            console.say("chatbench: \(path): \(damage)")
          }
          if !arguments.has("json") {
            try console.line(
              "\(path): \(system.name), \(count(frames.count, "frame")), \(violations == 0 ? "no violation" : count(violations, "violation"))"
                + meaning)
          }
        } catch {
          let failure = Failures.explain(error)
          console.say("chatbench: \(failure.message)")
          status = failure.status
        }
      }
      return status
    })

  /// The audits of a recording, with a line for each difference; nil when it holds no frame.
  private static func audit(
    _ system: ChatSystem, _ recording: Recording, _ frames: [Frame], _ path: String, _ arguments: Arguments, _ console: Console
  ) throws(CommandFailure) -> AuditReport? {
    if frames.isEmpty { return nil }
    let subject = try RunSubject(system, recording, frames, nil)
    guard let audit = Auditing.audit(of: subject) else { return nil }
    for difference in audit.differences {
      if arguments.has("json"), case .object(let fields) = difference.json {
        try console.line(JSONWriter.text(.object(JSONObject([.init(name: "file", value: .string(path))] + fields.members))))
      } else {
        try console.line("\(path): \(Auditing.line(difference))")
      }
    }
    return audit
  }

  // MARK: seal

  static let seal = Command(
    name: "seal", summary: "turn the journal of a capture that was not sealed into a recording",
    positionals: [Positional("JOURNAL", .one, "NAME.chatrec.journal")],
    options: [
      Option("output", "FILE", short: "o", "the recording; default: the journal's name without .journal"),
      Option("system", "NAME", "the client system, when the capture did not know it"),
    ],
    detail: "After a crash or kill -9 the journal holds every frame that was committed. Sealing writes beside the target and renames, "
      + "then removes the journal and its side files; on any error everything stays as it was.",
    examples: ["chatbench seal session.chatrec.journal"],
    run: { arguments, console in
      if let name = arguments["system"] { _ = try SystemChoice.named(name) }
      let sealed = try Seal.seal(journal: arguments.positionals[0], to: arguments["output"], system: arguments["system"])
      try console.line(sealed.path)
      console.say("sealed, sha-256 \(sealed.hash)")
      return .held
    })

  /// Says where a damaged file ends; its valid prefix was used.
  static func report(_ damage: RecordingDamage?, _ recording: Recording, _ console: Console) throws(CommandFailure) -> ExitStatus {
    guard let damage else { return .held }
    try console.flush()
    console.say("chatbench: \(recording.path): \(damage)")
    return .badData
  }

  static func count(_ n: Int, _ noun: String) -> String { n == 1 ? "1 \(noun)" : "\(grouped(n)) \(noun)s" }

  /// Thousands with commas.
  static func grouped(_ n: Int) -> String {
    var digits = Array(String(n.magnitude))
    var place = digits.count - 3
    while place > 0 {
      digits.insert(",", at: place)
      place -= 3
    }
    return (n < 0 ? "-" : "") + String(digits)
  }

  static func bytes(_ n: Int) -> String {
    if n < 1_024 { return "\(n) B" }
    let (unit, divisor) = n < 1 << 20 ? ("KiB", 1_024) : n < 1 << 30 ? ("MiB", 1 << 20) : ("GiB", 1 << 30)
    let tenths = n / divisor * 10 + n % divisor * 10 / divisor
    return "\(grouped(tenths / 10)).\(tenths % 10) \(unit)"
  }
}

/// Beginnings of payloads for a terminal: one line, nothing that could steer it.
enum Preview {
  static func of(_ payload: [UInt8], width: Int) -> String {
    if payload.isEmpty { return "" }
    let head = String(decoding: payload.prefix(width * 4), as: UTF8.self)
    let text = escaped(String(head.prefix(width)))
    return payload.count > width ? text + "…" : text
  }

  /// Control and direction-changing characters as `\u{…}`.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse:
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
