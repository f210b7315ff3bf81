import Simulation
import Wire

/// What became of one rule of a plan over a run. A rule that never fired is a warning: what it should show is not shown.
package struct RuleReport: Hashable, Sendable {
  /// Position in the plan, from 1: what the field `rule` of trace entries names.
  package var number: Int
  /// The rule as the command line spells it: `drop,response,run.chatOutboxSubmit,nth=1`.
  package var rule: String
  /// How often its target matched, before `nth`, probability and client state were asked.
  package var candidates: Int
  package var fired: Int
  /// Instants of the first and the last time it fired; nil when it never did.
  package var first: Instant?
  package var last: Instant?
  /// Why it never fired, if more is known than "nothing matched" or "its conditions never held together".
  package var remark: String?

  package init(
    number: Int, rule: String, candidates: Int = 0, fired: Int = 0, first: Instant? = nil, last: Instant? = nil, remark: String? = nil
  ) {
    self.number = number
    self.rule = rule
    self.candidates = candidates
    self.fired = fired
    self.first = first
    self.last = last
    self.remark = remark
  }
}

/// One difference between the recording and what scenario, twin or core make of it (SCENARIO.md 5).
package struct Divergence: Hashable, Sendable {
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    case same, moved, new, missing, differs
  }

  package var kind: Kind
  /// 1: the twin fed with the recorded client frames (accuses the scenario or the server's rules). 2: the core fed with the recorded
  /// server frames (accuses the core or the recorded app).
  package var audit: Int
  /// Sequence of the recorded frame, nil for one that the recording does not have.
  package var frame: Int?
  package var at: Instant
  /// Short name: `request run.chatOutboxSubmit`.
  package var name: String
  /// Key path of the first difference, with both values as JSON text; nil unless `differs`.
  package var path: String?
  package var recorded: String?
  package var replayed: String?
  /// What rests on it, in words: `M3: sent again under a new key`.
  package var restsOn: String?

  package init(
    kind: Kind, audit: Int, frame: Int? = nil, at: Instant, name: String, path: String? = nil, recorded: String? = nil,
    replayed: String? = nil, restsOn: String? = nil
  ) {
    self.kind = kind
    self.audit = audit
    self.frame = frame
    self.at = at
    self.name = name
    self.path = path
    self.recorded = recorded
    self.replayed = replayed
    self.restsOn = restsOn
  }
}

/// What running a second time from the same token found (`--prove`).
package enum Proof: Hashable, Sendable {
  case notRun
  case equal
  /// Index of the first entry that differs.
  case differs(entry: Int)
}
