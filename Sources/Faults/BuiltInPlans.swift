import Contract
import Simulation

/// The plans that come with the tool, as functions of the system, the seed and the span of the scenario.
package enum BuiltInPlans {
  /// Names with a line each, in the order in which they are listed.
  package static let all: [(name: String, meaning: String)] = [
    ("none", "no faults"),
    ("dropped-receipts", "the first receipt of each mutation is lost"),
    ("lost-submits", "the first request of each mutation is lost"),
    ("epoch-jumps", "the server's epoch jumps three times"),
    ("late-snapshots", "answers with snapshots of a conversation come late"),
    ("flaky-network", "connections break, some frames are lost"),
    ("app-restart", "the app ends right after a submit, before a receipt, and at drawn instants"),
    ("desktop-restart", "the server restarts after a submit and at drawn instants"),
    ("everything", "a few rules drawn from all kinds of faults"),
  ]

  /// The plan of that name. Throws `unknownPlan` with the nearest name.
  package static func plan(
    _ name: String, system: ChatSystem, seed: UInt64, start: Instant, end: Instant
  ) throws(FaultError) -> FaultPlan {
    guard all.contains(where: { $0.name == name }) else {
      throw FaultError.unknownPlan(name, nearest: Nearest.name(to: name, among: all.map(\.name)))
    }
    let draws = Drawing(random: SeededRandom(seed: seed).fork("plan", name), start: start, end: max(start, end))
    var rules: [FaultRule] = []
    switch name {
    case "dropped-receipts": rules = system.mutations.map { on(.drop, .response, $0, .firstPerKey) }
    case "lost-submits": rules = system.mutations.map { on(.drop, .request, $0, .firstPerKey) }
    case "epoch-jumps": rules = (0..<3).map { FaultRule(.epochJump(lane: nil, by: 1 + $0 * 2), .at(draws.instant("jump", $0))) }
    case "late-snapshots": rules = system.snapshots.map { on(.delay(by: draws.length("late", 0, 600, 2_400)), .response, $0, .every(2)) }
    case "flaky-network":
      rules = (0..<3).map {
        FaultRule(.disconnect(for: draws.length("away", $0, 200, 4_000)), .at(draws.instant("break", $0)))
      }
      rules.append(FaultRule(.drop, .frames(FramePattern(), .probability(0.05))))
    case "app-restart":
      rules = system.mutations.prefix(1).flatMap { method in
        [
          on(.restartApp(for: draws.length("pause", 0, 500, 4_000)), .request, method, .nth(1)),
          on(.restartApp(for: draws.length("pause", 1, 500, 4_000)), .response, method, .nth(2)),
        ]
      }
      rules += (0..<2).map { FaultRule(.restartApp(for: draws.length("pause", 2 + $0, 500, 4_000)), .at(draws.instant("end", $0))) }
    case "desktop-restart":
      rules = system.mutations.prefix(1).map { on(.restartServer(for: draws.length("pause", 0, 500, 4_000)), .request, $0, .nth(1)) }
      rules += (0..<2).map { FaultRule(.restartServer(for: draws.length("pause", 1 + $0, 500, 4_000)), .at(draws.instant("end", $0))) }
    case "everything": rules = everything(system, draws)
    default: break
    }
    return FaultPlan(name: name, rules: rules)
  }

  private static func on(
    _ action: FaultAction, _ role: FrameLabel.Role, _ name: String, _ occurrence: FaultRule.Occurrence
  ) -> FaultRule {
    FaultRule(action, .frames(FramePattern(role: role, name: name), occurrence))
  }

  private static func everything(_ system: ChatSystem, _ draws: Drawing) -> [FaultRule] {
    let count = 4 + draws.index("count", 0, below: 5)
    let labels = system.labels.filter { $0.role != .other }
    return (0..<count).map { k in
      let mutation = system.mutations.isEmpty ? "*" : system.mutations[draws.index("mutation", k, below: system.mutations.count)]
      let snapshot = system.snapshots.isEmpty ? "*" : system.snapshots[draws.index("snapshot", k, below: system.snapshots.count)]
      let nth = FaultRule.Occurrence.nth(1 + draws.index("nth", k, below: 3))
      let role: FrameLabel.Role = draws.index("role", k, below: 2) == 0 ? .request : .response
      let any = labels.isEmpty ? (role, "*") : { ($0.role, $0.name) }(labels[draws.index("label", k, below: labels.count)])
      let instant = FaultRule.Trigger.at(draws.instant("at", k))
      let pause = draws.length("pause", k, 200, 5_000)
      switch draws.index("kind", k, below: 14) {
      case 0: return on(.drop, role, mutation, nth)
      case 1: return on(.delay(by: draws.length("delay", k, 200, 25_000)), role, mutation, nth)
      case 2: return on(.duplicate(by: pause), role, mutation, nth)
      case 3: return on(.delay(by: pause), .response, snapshot, .every(2))
      case 4: return on(.reorder(within: .seconds(1)), any.0, any.1, nth)
      case 5: return on(.hold(for: pause), any.0, any.1, nth)
      case 6: return on(.drop, any.0, any.1, .probability(0.1))
      case 7: return FaultRule(.disconnect(for: pause), instant)
      case 8: return FaultRule(.halfOpen(for: pause), instant)
      case 9: return FaultRule(.restartApp(for: pause), instant)
      case 10: return FaultRule(.restartServer(for: pause), instant)
      case 11: return FaultRule(.epochJump(lane: nil, by: 1 + draws.index("by", k, below: 5)), instant)
      case 12: return FaultRule(.suspend(for: pause), instant)
      default: return on(.slow(by: pause), .request, mutation, nth)
      }
    }
  }

  /// Draws of one plan, each named by purpose and number.
  private struct Drawing {
    let random: SeededRandom
    let start: Instant
    let end: Instant

    /// An instant of the span, in whole milliseconds.
    func instant(_ purpose: String, _ k: Int) -> Instant {
      let span = (end - start).nanoseconds / 1_000_000
      return start + .milliseconds(Int64(random.fork(purpose).unit(at: k) * Double(span)))
    }

    /// A length between two bounds in milliseconds.
    func length(_ purpose: String, _ k: Int, _ least: Int, _ most: Int) -> Interval {
      .milliseconds(Int64(least + random.fork(purpose).index(below: most - least + 1, at: k)))
    }

    func index(_ purpose: String, _ k: Int, below count: Int) -> Int { random.fork(purpose).index(below: count, at: k) }
  }
}
