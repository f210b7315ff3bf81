import Contract
import Simulation
import Wire

/// The verdict on one claim, with everything a report says about it.
package struct ClaimResult: Hashable, Sendable {
  package var id: String
  package var title: String
  package var promise: String
  package var kind: ClaimKind
  package var opportunity: String
  package var footing: Footing
  package var verdict: Verdict
  /// How often it was put to the test with an answer: opportunities less the undecided ones.
  package var exercised: Int
  /// Opportunities that rest on assumed, synthetic or diverged evidence.
  package var undecided: Int
  /// Why it is untested or unknown; nil for held and broken.
  package var reason: String?
  package var violations: [Violation]
}

/// What a run is worth.
package struct Judgement: Hashable, Sendable {
  package var verdict: Verdict
  /// Why the verdict is unknown, nil otherwise.
  package var reason: String?
  /// Common claims first, then the system's, each in their order.
  package var claims: [ClaimResult]
  package var messages: [Message]
  package var foreign: [ForeignEntry]

  package init(verdict: Verdict, reason: String? = nil, claims: [ClaimResult], messages: [Message] = [], foreign: [ForeignEntry] = []) {
    self.verdict = verdict
    self.reason = reason
    self.claims = claims
    self.messages = messages
    self.foreign = foreign
  }

  package func count(_ verdict: Verdict) -> Int { claims.count { $0.verdict == verdict } }

  /// Exit status of a run: 0 held, 1 broken, 2 unknown (DESIGN.md 6).
  package var exitStatus: Int {
    switch verdict {
    case .held: 0
    case .broken: 1
    case .unknown, .untested: 2
    }
  }
}

/// Runs claims over a trace.
///
/// ```swift
/// let judgement = Judge.judge(trace, claims: system.claims, proof: .equal)
/// ```
package enum Judge {
  /// Judges the common claims and then `claims`. `doubts` are the entries (`send` entries of the server's frames) whose content differs
  /// from the recording in audit 1, each with the words for it: they carry no verdict on server words, server times and older history.
  package static func judge(
    _ trace: Trace, claims: [Claim], proof: Proof = .notRun, doubts: [Int: String] = [:]
  ) -> Judgement {
    let index = TraceIndex(trace)
    let ledger = DeliveryLedger.shared(index)
    let results = (CommonClaims.all + claims).map { result($0, index, proof, doubts) }
    let (verdict, reason) = verdict(of: results)
    return Judgement(verdict: verdict, reason: reason, claims: results, messages: ledger.messages, foreign: ledger.foreign)
  }

  /// Broken > unknown > held. Untested claims do not count, but a run that exercised nothing is unknown; running twice exercises nothing.
  private static func verdict(of results: [ClaimResult]) -> (Verdict, String?) {
    if results.contains(where: { $0.verdict == .broken }) { return (.broken, nil) }
    if let open = results.first(where: { $0.verdict == .unknown }) {
      let others = results.count { $0.verdict == .unknown } - 1
      let more = others == 0 ? "" : others == 1 ? "; so is 1 other claim" : "; so are \(others) other claims"
      return (.unknown, "\(open.id) \(open.title) is undecided: \(open.reason ?? "no reason given")\(more)")
    }
    let repeatability = Set(CommonClaims.all.filter(\.needsProof).map(\.id))
    if !results.contains(where: { $0.exercised > 0 && !repeatability.contains($0.id) }) {
      return (.unknown, "nothing was put to the test")
    }
    return (.held, nil)
  }

  private static func result(_ claim: Claim, _ index: TraceIndex, _ proof: Proof, _ doubts: [Int: String]) -> ClaimResult {
    var result = ClaimResult(
      id: claim.id, title: claim.title, promise: claim.promise, kind: claim.kind, opportunity: claim.opportunity, footing: claim.footing,
      verdict: .untested, exercised: 0, undecided: 0, reason: nil, violations: [])
    let outcome: ClaimOutcome
    do {
      outcome = try claim.needsProof && proof != .notRun ? proved(proof, index) : claim.check(index)
    } catch {
      result.verdict = .unknown
      result.reason = "the check failed: \(error)"
      return result
    }
    var remark = outcome.remark
    if decidesAlways(claim.footing) {
      result.violations = outcome.violations
      result.exercised = max(outcome.exercised, outcome.violations.count)
    } else {
      var reasons: [String] = []
      for violation in outcome.violations {
        if let doubt = doubt(about: violation.evidence, index, doubts) {
          reasons.append(doubt)
        } else {
          result.violations.append(violation)
        }
      }
      for ground in outcome.grounds { if let doubt = doubt(about: ground, index, doubts) { reasons.append(doubt) } }
      result.undecided = reasons.count
      result.exercised = max(0, max(outcome.exercised, outcome.violations.count) - reasons.count)
      if let first = reasons.first {
        remark = "\(reasons.count) of \(result.exercised + reasons.count) rest on evidence that is not recorded: \(first)"
      }
    }
    if !result.violations.isEmpty {
      result.verdict = .broken
    } else if result.undecided > 0 {
      result.verdict = .unknown
      result.reason = remark
    } else if result.exercised > 0 {
      result.verdict = .held
    } else {
      result.reason = remark ?? "no opportunity: \(claim.opportunity)"
    }
    return result
  }

  /// SCENARIO.md 6: what the client got it got, and the ledger is the truth of the run.
  private static func decidesAlways(_ footing: Footing) -> Bool {
    switch footing {
    case .clientOnly, .ledger: true
    case .serverWords, .serverTimes, .olderHistory: false
    }
  }

  /// Why evidence does not carry a verdict: the first entry that is assumed, synthetic or diverged. The arrival of a frame has the basis
  /// of its sending.
  private static func doubt(about evidence: [Int], _ index: TraceIndex, _ doubts: [Int: String]) -> String? {
    for position in evidence where index.entries.indices.contains(position) {
      var entries = [index.entries[position]]
      if let of = index.entries[position]["of"]?.int, index.entries.indices.contains(of) { entries.append(index.entries[of]) }
      for entry in entries {
        if let basis = entry["basis"]?.string.flatMap(Basis.init(rawValue:)), basis == .assumed || basis == .synthetic {
          return "\(entry.party.rawValue) \(entry.kind) at \(entry.at) is \(basis.rawValue)"
        }
        if let doubt = doubts[entry.index] { return doubt }
      }
    }
    return nil
  }

  private static func proved(_ proof: Proof, _ index: TraceIndex) -> ClaimOutcome {
    switch proof {
    case .notRun: return ClaimOutcome(exercised: 0)
    case .equal: return ClaimOutcome(exercised: 1)
    case .differs(let entry):
      let at = index.entries.indices.contains(entry) ? index.entries[entry].at : index.end
      let violation = Violation(
        at: at, happened: "The second run differs from entry \(entry) on, at \(at).",
        evidence: index.entries.indices.contains(entry) ? [entry] : [])
      return ClaimOutcome(exercised: 1, violations: [violation])
    }
  }
}
