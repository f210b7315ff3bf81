import Contract
import Faults
import Replay
import Simulation
import Wire

/// A replay told as a test: a system, a scenario, faults; then questions to the trace.
///
/// ```swift
/// let told = try Story(echo, scenario).faults("drop,response,POST /messages,nth=1").run()
/// #expect(told.instants(.link, "send", "name=POST /messages") == ["0:10.000", "0:12.000"])
/// ```
package struct Story {
  package var system: ChatSystem
  package var scenario: any Scenario
  package var settings = WorldSettings()

  package init(_ system: ChatSystem, _ scenario: any Scenario) {
    self.system = system
    self.scenario = scenario
  }

  /// Adds rules in their text form.
  package func faults(_ rules: String...) throws -> Story {
    var story = self
    story.settings.plan = try settings.plan.adding(rules)
    try story.settings.plan.check(against: system)
    return story
  }

  /// Uses a built-in plan.
  package func plan(_ name: String) throws -> Story {
    var story = self
    story.settings.plan = try BuiltInPlans.plan(
      name, system: system, seed: settings.seed, start: scenario.facts.start, end: scenario.facts.end,
      intents: scenario.facts.intents)
    return story
  }

  package func seed(_ seed: UInt64) -> Story { with { $0.seed = seed } }
  package func user(_ mode: UserMode) -> Story { with { $0.user = mode } }
  /// Every wait of the core takes this u.
  package func jitter(_ u: Double) -> Story { with { $0.draws = .fixed(u) } }
  package func withoutRecordedLosses() -> Story { with { $0.withoutRecordedLosses = true } }

  /// Changes the settings.
  package func with(_ change: (inout WorldSettings) -> Void) -> Story {
    var story = self
    change(&story.settings)
    return story
  }

  package func run() throws -> Told { Told(result: try Run(system, scenario, settings).execute()) }
}

/// What a story told: the result of its run, with questions in short form.
package struct Told {
  package var result: RunResult
  package var trace: Trace { result.trace }

  package init(result: RunResult) { self.result = result }

  /// The entries of a party and kind whose fields fit all conditions, each `field=value` (text of the value as in JSON, strings bare).
  package func entries(_ party: Party, _ kind: String, _ conditions: String...) -> [TraceEntry] { entries(party, kind, conditions) }

  private func entries(_ party: Party, _ kind: String, _ conditions: [String]) -> [TraceEntry] {
    trace.entries.filter { entry in
      entry.party == party && entry.kind == kind
        && conditions.allSatisfy { condition in
          guard let cut = condition.firstIndex(of: "=") else { return false }
          let value = entry[String(condition[..<cut])]
          return (value.map { $0.string ?? JSONWriter.text($0) } ?? "") == condition[condition.index(after: cut)...]
        }
    }
  }

  /// The instants of those entries as `m:ss.mmm`.
  package func instants(_ party: Party, _ kind: String, _ conditions: String...) -> [String] {
    entries(party, kind, conditions).map(\.at.description)
  }

  /// Those entries as `m:ss.mmm value value …` of the fields named; absent ones as `-`.
  package func lines(_ party: Party, _ kind: String, showing fields: [String], _ conditions: String...) -> [String] {
    entries(party, kind, conditions).map { entry in
      ([entry.at.description] + fields.map { name in entry[name].map { $0.string ?? JSONWriter.text($0) } ?? "-" }).joined(separator: " ")
    }
  }

  /// The whole trace for a person: one line an entry, payloads left out.
  package var text: String {
    trace.entries.map { entry in
      "\(entry.index) \(entry.at) \(entry.party.rawValue) \(entry.kind) \(JSONWriter.text(.object(entry.fields)))\n"
    }.joined()
  }

  /// What a claim of the system finds in the trace.
  package func outcome(_ claim: String, of system: ChatSystem) throws -> ClaimOutcome? {
    try system.claims.first { $0.id == claim }?.check(TraceIndex(trace))
  }
}
