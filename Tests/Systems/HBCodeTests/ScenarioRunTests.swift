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
func recording(of trace: Trace) -> [Frame] { ClientSide.frames(of: trace) }

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

  /// Differences for a person.
  static func words(_ differences: [Divergence]) -> [String] {
    differences.map { difference in
      let place = "audit \(difference.audit): \(difference.kind) at \(difference.at), \(difference.name) \(difference.path ?? "")"
      return "\(place) \(difference.recorded ?? "") \(difference.replayed ?? "")"
    }
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
    let differences = ScenarioRunTests.words(report.differences)
    #expect(differences.isEmpty, "\(differences)")
    #expect(report.sentence == "faithful")
  }

  @Test func `a receipt, a run's start and an outbox event that are missing are three conditions, and the ledger is the same`() throws {
    let (told, frames, whole) = try ScenarioRunTests.roundTrip(ScenarioSamples.one, until: 30)
    let reader = HBCodeReader()
    var gone: Set<String> = []
    let edited = frames.filter { frame in
      guard frame.direction == .in else { return true }
      let name: String
      switch reader.message(of: frame.payload) {
      case .response(let response):
        guard case .success(let result) = response.result, result["outcome"] == "updated" else { return true }
        name = "receipt"
      case .event(let event): name = event.name
      default: return true
      }
      guard ["receipt", "chat:run-started", "chat:outbox-changed"].contains(name) else { return true }
      return !gone.insert(name).inserted
    }
    #expect(frames.count - edited.count == 3)
    let scenario = try ScenarioRunTests.compiled(edited)
    #expect(scenario.facts.conditions.count == 3)
    #expect(
      Set(scenario.facts.conditions.map { "\($0.pattern.role?.rawValue ?? "") \($0.pattern.name ?? "")" })
        == ["response run.chatOutboxSubmit", "event chat:run-started", "event chat:outbox-changed"])
    #expect(scenario.facts.conditions.allSatisfy { $0.what == .lost && $0.nth == 1 })
    func bare(_ stretch: Stretch) -> Stretch {
      var stretch = stretch
      stretch.basis = .recorded
      stretch.stamps = RunStamps()
      stretch.run?.threadId = nil
      stretch.run?.turnId = nil
      return stretch
    }
    #expect(scenario.tape.map(bare) == whole.tape.map(bare))
    let ledger = { (told: Told) in
      told.lines(.twin, "saved", showing: ["operation"]) + told.lines(.twin, "delivered", showing: ["operation"])
        + told.lines(.twin, "history", showing: ["operation"])
    }
    let again = try Story(hbcode, scenario).jitter(0).run()
    #expect(ledger(again) == ledger(told))
  }

  @Test(arguments: [
    "lost-submits", "dropped-receipts", "late-snapshots", "epoch-jumps", "app-restart", "desktop-restart", "flaky-network", "everything",
  ])
  func `every claim holds under every plan`(plan: String) throws {
    for seed: UInt64 in 1...3 {
      let told = try Story(hbcode, ScenarioSamples.read(ScenarioSamples.one)).seed(seed).plan(plan).run()
      expectHeld(told)
    }
    let told = try Story(hbcode, HBCodeScenario(json: JSONReader.value(try #require(hbcode.demonstration).scenario))).plan(plan).run()
    expectHeld(told)
  }

  @Test func `the demonstration round trips: equal stretches, both audits silent`() throws {
    let text = try #require(hbcode.demonstration).scenario
    let original = try HBCodeScenario(json: JSONReader.value(text))
    let told = try Story(hbcode, original).jitter(0).run()
    expectHeld(told)
    let frames = ScenarioRunTests.frames(told, until: original.facts.end)
    let scenario = try hbcodeScenario(of: frames, wallClockMilliseconds: original.facts.wallClockMilliseconds, origin: "test")
    #expect(scenario.tape.map(\.id) == original.tape.map(\.id))
    for (compiled, written) in zip(scenario.tape, original.tape) {
      #expect(compiled.length == written.length, "\(compiled.id)")
      #expect(compiled.cause == written.cause, "\(compiled.id)")
      #expect(compiled.outcome.map(\.identity) == written.outcome.map(\.identity), "\(compiled.id)")
      // The twin opens each delivery with the user row, which the written tape leaves out.
      let later = compiled.steps.map(\.offset).filter { $0 > Interval.zero }
      let wanted = written.steps.map(\.offset).filter { $0 > Interval.zero }
      #expect(later == wanted, "\(compiled.id)")
    }
    let report = Audit.run(hbcode, scenario, frames)
    let differences = ScenarioRunTests.words(report.differences)
    #expect(differences.isEmpty, "\(differences)")
    #expect(scenario.facts.notes.filter { $0.basis == .assumed }.map(\.what) == [])
  }
}
