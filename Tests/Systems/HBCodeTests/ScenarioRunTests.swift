import Contract
import Faults
import HBCodeDialect
import HBCodeScenario
import HBCodeSystem
import Oracles
import Replay
import Simulation
import TestSupport
import Testing
import Wire

/// What a recorder at the phone's side would have kept of a run.
func recording(of trace: Trace) -> [Frame] {
  var frames: [Frame] = []
  func add(_ entry: TraceEntry, _ direction: Direction, _ kind: FrameKind, _ payload: [UInt8]) {
    frames.append(
      Frame(
        sequence: frames.count + 1, at: entry.at, connection: ConnectionID(entry["conn"]?.int ?? 0), direction: direction, kind: kind,
        payload: payload))
  }
  for entry in trace.entries where entry.party == .link {
    switch entry.kind {
    case "up":
      add(
        entry, .out, .open,
        JSONWriter.compact(["url": .string("ws://127.0.0.1:8000" + (entry["endpoint"]?.string ?? "")), "headers": [], "status": 101]))
    case "down":
      add(entry, .out, .close, JSONWriter.compact(["code": entry["code"] ?? 1006, "reason": "", "who": entry["who"] ?? "network"]))
    case "send": if entry["dir"]?.string == "out" { add(entry, .out, .text, entry.payload ?? []) }
    case "arrive":
      guard entry["dir"]?.string == "in", let of = entry["of"]?.int else { continue }
      add(entry, .in, .text, trace.entries[of].payload ?? [])
    default: continue
    }
  }
  return frames
}

@Suite struct ScenarioRunTests {
  static func frames(_ told: Told, until end: Instant) -> [Frame] { recording(of: told.trace).filter { $0.at <= end } }

  static func compiled(_ frames: [Frame]) throws -> HBCodeScenario {
    try hbcodeScenario(of: frames, wallClockMilliseconds: HBCodeScenario.standardWallClock, origin: "test")
  }

  /// Records a run of a scenario and compiles the recording.
  static func roundTrip(_ text: String, until end: Double = 60, _ rules: String...) throws -> (
    told: Told, frames: [Frame], scenario: HBCodeScenario
  ) {
    let scenario = try ScenarioSamples.read(text)
    var story = Story(hbcode, scenario).jitter(0)
    for rule in rules { story = try story.faults(rule) }
    let told = try story.run()
    let frames = frames(told, until: ScriptedPhone.seconds(end))
    return (told, frames, try compiled(frames))
  }

  private func expectHeld(_ told: Told, sourceLocation: SourceLocation = #_sourceLocation) {
    let judgement = Judge.judge(told.trace, claims: hbcode.claims)
    for claim in judgement.claims where !claim.violations.isEmpty {
      Issue.record("\(claim.id): \(claim.violations.map(\.happened).joined(separator: " "))", sourceLocation: sourceLocation)
    }
    #expect(judgement.verdict != .broken, sourceLocation: sourceLocation)
  }

  @Test func `recording R made by a run compiles to itself, and both audits are silent`() throws {
    let (told, frames, scenario) = try ScenarioRunTests.roundTrip(ScenarioSamples.one, until: 30)
    expectHeld(told)
    let original = try #require(ScenarioSamples.read(ScenarioSamples.one).tape.first)
    let stretch = try #require(scenario.tape.first)
    #expect(scenario.tape.count == 1)
    #expect(stretch.delay == original.delay)
    #expect(stretch.length == original.length)
    #expect(stretch.steps.map(\.offset) == original.steps.map(\.offset))
    #expect(stretch.outcome == original.outcome)
    #expect(scenario.facts.conditions.isEmpty)
    #expect(scenario.facts.notes.filter { $0.basis == .assumed }.isEmpty)
    let report = Audit.run(hbcode, scenario, frames)
    var differences: [String] = []
    for difference in report.differences {
      let place = "\(difference.audit) \(difference.kind) \(difference.at) \(difference.name) \(difference.path ?? "")"
      differences.append("\(place) \(difference.recorded ?? "") \(difference.replayed ?? "")")
    }
    #expect(differences == [])
    #expect(scenario.facts.notes.filter { $0.basis == .assumed }.map(\.what) == [])
  }
}
