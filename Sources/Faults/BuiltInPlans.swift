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
    ("drag-held-updates", "a finger is on the list when updates come; some stops are not signalled, the user's own drags rest longer"),
    ("late-snapshots", "answers with snapshots of a conversation come late"),
    ("flaky-network", "connections break, some frames are lost"),
    ("app-restart", "the app ends right after a submit, before a receipt, and at drawn instants"),
    ("desktop-restart", "the server restarts after a submit and at drawn instants"),
    ("everything", "a few rules drawn from all kinds of faults"),
  ]

  /// The plan of that name. Throws `unknownPlan` with the nearest name. Where the user is known to make no drag (`intents`) none is held.
  package static func plan(
    _ name: String, system: ChatSystem, seed: UInt64, start: Instant, end: Instant, intents: [Intent]? = nil
  ) throws(FaultError) -> FaultPlan {
    let userDrags = intents?.contains { $0.gesture.name == Gesture.drag } ?? true
    guard all.contains(where: { $0.name == name }) else {
      throw FaultError.unknownPlan(name, nearest: Nearest.name(to: name, among: all.map(\.name)))
    }
    let draws = Drawing(random: SeededRandom(seed: seed).fork("plan", name), start: start, end: max(start, end))
    var rules: [FaultRule] = []
    switch name {
    case "dropped-receipts": rules = system.mutations.map { on(.drop, .response, $0, .firstPerKey) }
    case "lost-submits": rules = system.mutations.map { on(.drop, .request, $0, .firstPerKey) }
    case "epoch-jumps": rules = (0..<3).map { FaultRule(.epochJump(lane: nil, by: 1 + $0 * 2), .at(draws.instant("jump", $0))) }
    case "drag-held-updates": rules = dragHeldUpdates(system, draws, userDrags: userDrags)
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
    case "everything": rules = everything(system, draws, userDrags: userDrags)
    default: break
    }
    return FaultPlan(name: name, rules: rules)
  }

  private static func on(
    _ action: FaultAction, _ role: FrameLabel.Role, _ name: String, _ occurrence: FaultRule.Occurrence
  ) -> FaultRule {
    FaultRule(action, .frames(FramePattern(role: role, name: name), occurrence))
  }

  private static func on(
    _ action: FaultAction, event name: String, _ occurrence: FaultRule.Occurrence, while state: String? = nil
  ) -> FaultRule {
    FaultRule(action, .frames(FramePattern(role: .event, name: name), occurrence), while: state)
  }

  /// A drag of 0.6 to 3 s; some lift with a velocity of 300 to 1,500 points per second, so that the list goes on by itself.
  private static func drag(_ draws: Drawing, _ k: Int, isFlick: Bool, down: Bool? = nil) -> FaultAction {
    let down = down ?? (draws.index("direction", k, below: 2) == 0)
    let by = Double(40 + draws.index("distance", k, below: 361))
    let velocity = isFlick ? Double(300 + draws.index("velocity", k, below: 1_201)) : 0
    return .drag(for: draws.length("drag", k, 600, 3_000), by: down ? by : -by, velocity: down ? velocity : -velocity)
  }

  /// Fingers on the list when updates are sent: the first update of each kind for certain, then some of them as often as they come, so
  /// that a long recording has many; and one at a snapshot. Without either, three at drawn instants. None for a system without drags.
  private static func dragHeldUpdates(_ system: ChatSystem, _ draws: Drawing, userDrags: Bool) -> [FaultRule] {
    guard system.gestures.contains(where: { $0.name == Gesture.drag }) else { return [] }
    var rules: [FaultRule] = []
    let dragging = system.states.contains { $0.name == "dragging" } ? "dragging" : nil
    for (k, name) in system.updates.enumerated() {
      // Mostly flicks leave the bottom of the list, where they go on for a while, and drags come back to it, where updates are seen.
      let down = draws.index("away", k, below: 4) != 0
      rules.append(on(drag(draws, 4 * k, isFlick: false), event: name, .nth(1)))
      rules.append(on(drag(draws, 4 * k + 1, isFlick: true, down: down), event: name, .every(3 + draws.index("flicks", k, below: 4))))
      rules.append(on(drag(draws, 4 * k + 2, isFlick: false, down: !down), event: name, .every(2 + draws.index("drags", k, below: 4))))
      rules.append(on(.loseStop, event: name, .every(3 + draws.index("stops", k, below: 6)), while: dragging))
    }
    for (k, name) in system.snapshots.enumerated().prefix(1) {
      rules.append(on(drag(draws, 500 + k, isFlick: false), .response, name, .nth(1)))
    }
    if rules.isEmpty { rules = (0..<3).map { FaultRule(drag(draws, 1_000 + $0, isFlick: $0 == 1), .at(draws.instant("drag", $0))) } }
    if userDrags { rules.append(FaultRule(.holdDrag(for: draws.length("held", 0, 500, 2_500)), .drags(.all))) }
    return rules
  }

  private static func everything(_ system: ChatSystem, _ draws: Drawing, userDrags: Bool) -> [FaultRule] {
    let hasDrags = system.gestures.contains { $0.name == Gesture.drag }
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
      let update = system.updates.isEmpty ? "*" : system.updates[draws.index("update", k, below: system.updates.count)]
      // What needs a list that can be dragged stands last.
      switch draws.index("kind", k, below: hasDrags ? 23 : 17) {
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
      case 13: return on(.slow(by: pause), .request, mutation, nth)
      case 14: return FaultRule(.background(for: pause), instant)
      case 15: return FaultRule(.memoryPressure, instant)
      case 16: return FaultRule(.stepClock(by: draws.index("back", k, below: 2) == 0 ? pause : .zero - pause), instant)
      case 17: return on(drag(draws, k, isFlick: draws.index("flick", k, below: 2) == 0), event: update, nth)
      case 18 where userDrags: return FaultRule(.holdDrag(for: pause), .drags(.all))
      case 19: return on(.loseStop, event: update, nth)
      case 20: return FaultRule(.skipFrames(2 + draws.index("frames", k, below: 59)), instant)
      case 21: return FaultRule(.slowPreparation(draws.length("slow", k, 50, 900)), instant)
      default: return FaultRule(.slowApplying(draws.length("slow", k, 20, 300)), instant)
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
