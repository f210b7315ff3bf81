import Simulation
import Wire

/// What must always hold, or what must hold when the quiet phase is over.
package enum ClaimKind: String, Sendable, Hashable { case safety, liveness }

/// What a claim's evidence rests on (SCENARIO.md 6): the first two are always decided, the rest become unknown on assumed,
/// synthetic or diverged evidence.
package enum Footing: String, Sendable, Hashable, CaseIterable { case clientOnly, ledger, serverWords, serverTimes, olderHistory }

/// Something that an oracle checks over a trace.
package struct Claim: Sendable {
  package let id: String
  /// A few words: "Saved once".
  package let title: String
  /// What is promised, as one sentence for a reader of a report.
  package let promise: String
  package let kind: ClaimKind
  /// What counts as one opportunity, in words.
  package let opportunity: String
  package let footing: Footing
  /// True for a claim that running twice decides (`--prove`); its check only says why it is untested otherwise.
  package let needsProof: Bool
  package let check: @Sendable (TraceIndex) throws -> ClaimOutcome

  package init(
    _ id: String, _ title: String, _ promise: String, _ kind: ClaimKind = .safety, per opportunity: String, on footing: Footing,
    needsProof: Bool = false, check: @escaping @Sendable (TraceIndex) throws -> ClaimOutcome
  ) {
    self.id = id
    self.title = title
    self.promise = promise
    self.kind = kind
    self.opportunity = opportunity
    self.footing = footing
    self.needsProof = needsProof
    self.check = check
  }
}

/// One place where a claim does not hold.
package struct Violation: Hashable, Sendable {
  package var at: Instant
  /// The message concerned, by operation id, if there is one.
  package var operation: String?
  /// What happened, one sentence with its numbers.
  package var happened: String
  /// Indices of the trace entries that prove it, in order; the last one decides.
  package var evidence: [Int]

  package init(at: Instant, operation: String? = nil, happened: String, evidence: [Int]) {
    self.at = at
    self.operation = operation
    self.happened = happened
    self.evidence = evidence
  }
}

/// What a check found: how often the claim was put to the test, and where it failed.
package struct ClaimOutcome: Hashable, Sendable {
  /// Opportunities, the violated ones included.
  package var exercised: Int
  package var violations: [Violation]
  /// For claims on server words, server times and older history: the trace entries that each opportunity that held rests on, so that
  /// those on assumed or synthetic evidence can be told apart. Empty when the footing is always decided.
  package var grounds: [[Int]]
  /// Why nothing was exercised, or what could not be decided.
  package var remark: String?

  package init(exercised: Int, violations: [Violation] = [], grounds: [[Int]] = [], remark: String? = nil) {
    self.exercised = exercised
    self.violations = violations
    self.grounds = grounds
    self.remark = remark
  }
}

/// The verdict on a claim, and on a run: broken > unknown > held.
package enum Verdict: String, Sendable, Hashable, CaseIterable { case held, broken, untested, unknown }

/// A number of a run with its limit, for reports.
package struct Figure: Hashable, Sendable {
  /// One of the values that a figure sums up.
  package struct Sample: Hashable, Sendable {
    package var at: Instant
    package var value: Double
    /// The trace entry that shows it.
    package var entry: Int

    package init(at: Instant, value: Double, entry: Int) {
      self.at = at
      self.value = value
      self.entry = entry
    }
  }

  /// How the values look best.
  package enum Chart: String, Hashable, Sendable, CaseIterable {
    /// How often which value occurs.
    case histogram
    /// Each value at its instant, the limit as a line.
    case series
    /// Each value as a span that ends at its instant: holds, covers.
    case spans
  }

  package var id: String
  package var title: String
  package var definition: String
  package var value: Double
  package var unit: String
  /// The limit as printed, nil when the specification gives none.
  package var limit: String?
  package var held: Bool?
  /// What `value` sums up, in order of time; empty where it is a single number.
  package var samples: [Sample]
  package var chart: Chart?
  /// The limit as a number in `unit`, for the line in a chart.
  package var bound: Double?

  package init(
    id: String, title: String, definition: String, value: Double, unit: String, limit: String? = nil, held: Bool? = nil,
    samples: [Sample] = [], chart: Chart? = nil, bound: Double? = nil
  ) {
    self.samples = samples
    self.chart = chart
    self.bound = bound
    self.id = id
    self.title = title
    self.definition = definition
    self.value = value
    self.unit = unit
    self.limit = limit
    self.held = held
  }
}
