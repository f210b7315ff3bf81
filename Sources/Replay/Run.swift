import Contract
import Faults
import Simulation
import Wire

/// What a run gives: the trace, and what became of each rule of the plan and each recorded condition.
package struct RunResult: Sendable {
  package var trace: Trace
  package var rules: [RuleReport]
  package var conditions: [ConditionReport]
}

/// One replay of scenario × plan × user × seed.
package struct Run: Sendable {
  package var system: ChatSystem
  package var scenario: any Scenario
  package var settings: WorldSettings

  package init(_ system: ChatSystem, _ scenario: any Scenario, _ settings: WorldSettings = WorldSettings()) {
    self.system = system
    self.scenario = scenario
    self.settings = settings
  }

  /// Runs once.
  package func execute() throws(RunError) -> RunResult {
    var world = try World(system: system, scenario: scenario, settings: settings)
    return try world.run()
  }

  /// Runs twice and compares the rolling hashes entry by entry; `differs` names the first entry that is not the same.
  package func prove() throws(RunError) -> (result: RunResult, proof: Proof) {
    let first = try execute()
    let second = try execute()
    return (first, Run.compare(first.trace, second.trace))
  }

  /// The first difference of two traces, by their rolling hashes.
  package static func compare(_ first: Trace, _ second: Trace) -> Proof {
    var left = RollingHash()
    var right = RollingHash()
    for index in 0..<max(first.entries.count, second.entries.count) {
      guard index < first.entries.count, index < second.entries.count else { return .differs(entry: index) }
      left.add(first.entries[index])
      right.add(second.entries[index])
      if left != right { return .differs(entry: index) }
    }
    return .equal
  }
}
