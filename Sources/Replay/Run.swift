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

/// Whether two runs of the same input are equal.
package enum Proof: Sendable {
  /// Both traces have this rolling hash after this many entries.
  case equal(hash: String, entries: Int)
  /// The first entry in which they differ; nil where one trace has ended.
  case differs(at: Int, first: TraceEntry?, second: TraceEntry?)

  package var isEqual: Bool { if case .equal = self { true } else { false } }
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

  /// Runs twice and compares the rolling hashes entry by entry.
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
      let a = index < first.entries.count ? first.entries[index] : nil
      let b = index < second.entries.count ? second.entries[index] : nil
      if let a { left.add(a) }
      if let b { right.add(b) }
      if a == nil || b == nil || left != right { return .differs(at: index, first: a, second: b) }
    }
    return .equal(hash: first.hash, entries: first.entries.count)
  }
}
