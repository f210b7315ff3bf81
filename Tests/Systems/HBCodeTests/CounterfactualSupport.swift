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

/// Audit 4 (SCENARIO.md 5): a scenario that somebody wrote, and what the compiler makes of its recording. Under one plan both must lead to
/// the same.
struct Counterfactual {
  /// T, ended where its recording ends.
  let written: HBCodeScenario
  /// T′.
  let compiled: HBCodeScenario
  let frames: [Frame]

  /// Lives through a scenario without faults and compiles what a recorder at the phone would have kept; with `marks` also what an app
  /// posts of its user's gestures.
  init(_ scenario: HBCodeScenario, marks: Bool = false) throws {
    let told = try Story(hbcode, scenario).run()
    frames = ClientSide.frames(of: told.trace, until: scenario.facts.end, marks: marks)
    var written = scenario
    written.facts.end = frames.last?.at ?? scenario.facts.end
    self.written = written
    compiled = try hbcodeScenario(of: frames, wallClockMilliseconds: scenario.facts.wallClockMilliseconds, origin: "test")
  }

  var hasSteersOrStops: Bool {
    (written.tape + compiled.tape).contains { stretch in
      switch stretch.end {
      case .handedOver, .stopped: true
      case .finished, .failed, .aborted, .cancelled, .open: false
      }
    }
  }

  /// What one run leads to.
  struct Outcome: Hashable {
    /// The ledger's entries about messages and runs with their instants, a line each.
    var ledger: [String]
    /// For each message of the user: its operations, how often it was saved, its fate.
    var fates: [String]
  }

  /// Both sides under a plan that was made for T.
  func outcomes(plan name: String, seed: UInt64) throws -> (written: Outcome, compiled: Outcome) {
    let plan = try BuiltInPlans.plan(name, system: hbcode, seed: seed, start: written.facts.start, end: written.facts.end)
    return (try Counterfactual.outcome(written, plan, seed), try Counterfactual.outcome(compiled, plan, seed))
  }

  static func outcome(_ scenario: HBCodeScenario, _ plan: FaultPlan, _ seed: UInt64) throws -> Outcome {
    let told = try Story(hbcode, scenario).seed(seed).with { $0.plan = plan }.run()
    let kinds: Set<String> = ["saved", "delivered", "history", "removed", "superseded", "refused", "run", "steered", "listed"]
    // Chats are independent: what happens in two of them at one instant has no order.
    let entries = told.trace.entries.filter { $0.party == .twin && kinds.contains($0.kind) }.enumerated().sorted { a, b in
      let (x, y) = (a.element["lane"]?.string ?? "", b.element["lane"]?.string ?? "")
      return a.element.at != b.element.at ? a.element.at < b.element.at : x != y ? x < y : a.offset < b.offset
    }.map(\.element)
    let ledger = entries.map { entry in
      // What is known about it and how is not what happened.
      let fields = entry.fields.members.filter { $0.name != "basis" }
      return "\(entry.at.nanoseconds) \(entry.kind) "
        + fields.map { "\($0.name)=\($0.value.string ?? JSONWriter.text($0.value))" }.joined(separator: " ")
    }
    let judgement = Judge.judge(told.trace, claims: [])
    let fates = judgement.messages.map { message in
      "\(message.operationIDs.joined(separator: "+")) saved \(message.saves.count) times: \(message.fate.rawValue)"
    }
    return Outcome(ledger: ledger, fates: fates.sorted())
  }
}
