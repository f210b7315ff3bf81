import Contract
import Recordings
import Replay
import Simulation
import Wire

/// What a `.chatrun` holds besides its trace, to and from JSON: enough to judge and report the run again.
struct RunFile {
  var trace: Trace
  var rules: [RuleReport]
  var divergences: [Divergence]
  /// What the audits found (`AuditReport.sentence`); nil when there was no recording to audit.
  var audit: String?
  /// Entries that differ from the recording, with the words for it (`Judge.judge`).
  var doubts: [Int: String] = [:]
  /// What audit and compiler assumed, a line each.
  var cannotSay: [String]
  var command: String
  var proof: Proof
  /// The command that kept it, when only one side was visible (`serve`, `drive`): there is no verdict on such a run.
  var oneSided: String?

  // MARK: writing

  func write(to path: String, plan: JSON, scenario: JSON, user: JSON, verdict: JSON) throws {
    let writer = try RunArchiveWriter(path: path, replacing: true)
    for entry in trace.entries { try writer.append(traceLine: JSONWriter.compact(entry.json)) }
    try writer.add("plan", plan)
    try writer.add("scenario", scenario)
    try writer.add("user", user)
    try writer.add("verdicts", verdict)
    try writer.add(
      "inputs",
      [
        "rules": .array(rules.map(\.json)), "divergences": .array(divergences.map(\.json)),
        "doubts": .array(doubts.sorted { $0.key < $1.key }.map { ["entry": .int($0.key), "why": .string($0.value)] }),
        "audit": audit.map(JSON.string) ?? .null, "cannotSay": .array(cannotSay.map(JSON.string)), "command": .string(command),
        "proof": proof.json,
        "oneSided": oneSided.map(JSON.string) ?? .null,
      ])
    _ = try writer.finish(trace.header.json)
  }

  // MARK: reading

  static func open(_ path: String) throws -> RunFile {
    let archive = try RunArchive.open(path)
    func bad(_ member: String, _ error: JSONError) -> CommandFailure { CommandFailure(.badData, "\(path): \(member): \(error)") }
    var trace: Trace
    do throws(JSONError) { trace = Trace(header: try RunHeader(json: archive.facts)) } catch { throw bad("manifest", error) }
    let reader = JSONReader()
    var line = 0
    let damage = try archive.forEachTraceLine { bytes in
      line += 1
      do throws(JSONError) {
        let entry = try TraceEntry(json: try reader.parse(Array(bytes)))
        // Evidence is named by position: an entry elsewhere than its number says would prove something else.
        guard entry.index == trace.entries.count else { throw JSONError(path: "i", problem: "expected \(trace.entries.count)") }
        trace.entries.append(entry)
      } catch {
        throw bad("trace line \(line)", error)
      }
    }
    if let damage { throw CommandFailure(.badData, "\(path): the trace is damaged: \(damage)") }
    guard let inputs = try archive.value("inputs") else { throw CommandFailure(.badData, "\(path): has no inputs.json") }
    do throws(JSONError) {
      var rules: [RuleReport] = []
      for json in inputs["rules"]?.array ?? [] { rules.append(try RuleReport(json: json)) }
      var divergences: [Divergence] = []
      for json in inputs["divergences"]?.array ?? [] { divergences.append(try Divergence(json: json)) }
      var doubts: [Int: String] = [:]
      for json in inputs["doubts"]?.array ?? [] {
        guard let entry = json["entry"]?.int, let why = json["why"]?.string else {
          throw JSONError(path: "doubts", problem: "a doubt needs entry and why")
        }
        doubts[entry] = why
      }
      return RunFile(
        trace: trace, rules: rules, divergences: divergences, audit: inputs["audit"]?.string, doubts: doubts,
        cannotSay: (inputs["cannotSay"]?.array ?? []).compactMap(\.string),
        command: inputs["command"]?.string ?? "", proof: Proof(json: inputs["proof"]),
        oneSided: inputs["oneSided"]?.string)
    } catch {
      throw bad("inputs.json", error)
    }
  }
}

extension RunHeader {
  fileprivate var json: JSONObject {
    [
      "token": .string(token), "system": .string(system), "behaviourVersion": .int(behaviourVersion), "recording": .string(recordingName),
      "recordingHash": .string(recordingHash), "plan": .string(planName), "planHash": .string(planHash), "user": .string(user),
      "seed": seed <= UInt64(Int64.max) ? .integer(Int64(seed)) : .unsigned(seed), "withoutRecordedLosses": .bool(withoutRecordedLosses),
      "quietFromNs": .integer(quietFrom.nanoseconds), "endNs": .integer(end.nanoseconds),
    ]
  }

  fileprivate init(json object: JSONObject) throws(JSONError) {
    func text(_ name: String) throws(JSONError) -> String {
      guard let value = object[name]?.string else { throw JSONError(path: name, problem: "expected a string") }
      return value
    }
    func number(_ name: String) throws(JSONError) -> Int64 {
      guard let value = object[name]?.integer else { throw JSONError(path: name, problem: "expected an integer") }
      return value
    }
    let seed: UInt64
    switch object["seed"] {
    case .unsigned(let value): seed = value
    case .integer(let value) where value >= 0: seed = UInt64(value)
    default: throw JSONError(path: "seed", problem: "expected an integer from 0")
    }
    self.init(
      system: try text("system"), behaviourVersion: Int(clamping: try number("behaviourVersion")), recordingName: try text("recording"),
      recordingHash: try text("recordingHash"), planName: try text("plan"), planHash: try text("planHash"), user: try text("user"),
      seed: seed, withoutRecordedLosses: object["withoutRecordedLosses"]?.bool ?? false,
      quietFrom: Instant(nanoseconds: try number("quietFromNs")), end: Instant(nanoseconds: try number("endNs")))
  }
}

extension RuleReport {
  fileprivate var json: JSON {
    [
      "number": .int(number), "rule": .string(rule), "candidates": .int(candidates), "fired": .int(fired),
      "firstNs": first.map { .integer($0.nanoseconds) } ?? .null, "lastNs": last.map { .integer($0.nanoseconds) } ?? .null,
      "remark": remark.map(JSON.string) ?? .null,
    ]
  }

  fileprivate init(json: JSON) throws(JSONError) {
    guard let number = json["number"]?.int, let rule = json["rule"]?.string, let candidates = json["candidates"]?.int,
      let fired = json["fired"]?.int, [number, candidates, fired].allSatisfy({ (0...1 << 40).contains($0) })
    else { throw JSONError(path: "rules", problem: "a rule needs number, rule, candidates and fired") }
    self.init(
      number: number, rule: rule, candidates: candidates, fired: fired,
      first: json["firstNs"]?.integer.map { Instant(nanoseconds: $0) }, last: json["lastNs"]?.integer.map { Instant(nanoseconds: $0) },
      remark: json["remark"]?.string)
  }
}

extension Divergence {
  /// The form of runs and of `scenario --audit --json`.
  var json: JSON {
    func text(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }
    return [
      "kind": .string(kind.rawValue), "audit": .int(audit), "frame": frame.map(JSON.int) ?? .null, "atNs": .integer(at.nanoseconds),
      "name": .string(name), "path": text(path), "recorded": text(recorded), "replayed": text(replayed), "restsOn": text(restsOn),
    ]
  }

  fileprivate init(json: JSON) throws(JSONError) {
    guard let kind = json["kind"]?.string.flatMap(Kind.init(rawValue:)), let audit = json["audit"]?.int, let at = json["atNs"]?.integer,
      let name = json["name"]?.string
    else { throw JSONError(path: "divergences", problem: "a divergence needs kind, audit, atNs and name") }
    self.init(
      kind: kind, audit: audit, frame: json["frame"]?.int, at: Instant(nanoseconds: at), name: name, path: json["path"]?.string,
      recorded: json["recorded"]?.string, replayed: json["replayed"]?.string, restsOn: json["restsOn"]?.string)
  }
}

extension Proof {
  fileprivate var json: JSON {
    switch self {
    case .notRun: .null
    case .equal: "equal"
    case .differs(let entry): .int(entry)
    }
  }

  fileprivate init(json: JSON?) {
    if let entry = json?.int { self = .differs(entry: entry) } else { self = json?.string == "equal" ? .equal : .notRun }
  }
}
