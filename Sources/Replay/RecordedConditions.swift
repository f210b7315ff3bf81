import Contract
import Simulation

/// What became of one link condition of the scenario in a run.
package struct ConditionReport: Hashable, Sendable {
  package var reason: String
  package var basis: Basis
  package var matches: Int
  /// When it acted, nil if it never did.
  package var at: Instant?
}

/// The losses of the recorded past, applied before the rules of a plan (SCENARIO.md 8.4). Each acts once, on its n-th match.
package struct RecordedConditions: Sendable {
  private let conditions: [LinkCondition]
  package private(set) var reports: [ConditionReport]

  package init(_ conditions: [LinkCondition]) {
    self.conditions = conditions
    reports = conditions.map { ConditionReport(reason: $0.reason, basis: $0.basis, matches: 0, at: nil) }
  }

  /// The conditions that act on this frame, in order. Call it once for each frame that is sent, in order of sending.
  package mutating func decide(_ label: FrameLabel, now: Instant) -> [LinkCondition] {
    var acting: [LinkCondition] = []
    for (index, condition) in conditions.enumerated() where condition.pattern.matches(label) {
      reports[index].matches += 1
      if reports[index].matches == condition.nth {
        reports[index].at = now
        acting.append(condition)
      }
    }
    return acting
  }
}
