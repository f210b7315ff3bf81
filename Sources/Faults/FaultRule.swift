import Contract
import Simulation
import Wire

/// What a rule does when it fires.
package enum FaultAction: Hashable, Sendable {
  // At the link, on the frame that fired it.
  /// The frame never arrives.
  case drop
  /// This frame alone arrives later by this much; frames behind it overtake.
  case delay(by: Interval)
  /// A second copy arrives this much after the first.
  case duplicate(by: Interval)
  /// The frame waits until the next one of its connection and direction has passed, at most this long.
  case reorder(within: Interval)
  /// The frame and everything behind it in its direction wait this long.
  case hold(for: Interval)
  /// The frame and everything behind it in its direction arrive at this instant, not before.
  case holdUntil(Instant)
  /// One bit of one byte is turned; ASCII stays ASCII.
  case corrupt
  /// Only the first bytes arrive; nil for half of them.
  case truncate(to: Int?)
  case replace(with: String)

  // At a connection.
  /// The connection breaks; its endpoint cannot be reached again for this long.
  case disconnect(for: Interval)
  /// Frames of the connection vanish in both directions and nobody hears of it; after this long the connection breaks.
  case halfOpen(for: Interval)

  // At the server.
  /// The request is answered with an error instead of being run.
  case refuse(Refusal)
  /// The answer to the request leaves later by this much.
  case slow(by: Interval)
  /// The server restarts and cannot be reached for this long.
  case restartServer(for: Interval)
  case epochJump(lane: String?, by: Int)
  case forgetAnswers

  // At the app's process.
  /// The process ends and is launched again after this long, with the store as it was at the end.
  case restartApp(for: Interval)
  case background(for: Interval)
  case suspend(for: Interval)
  case memoryPressure

  // At the user.
  /// A finger is put on the list: it moves `by` points evenly (positive: downwards) in `FaultAction.moveTime`, then rests; after `for` it
  /// lifts with `velocity` points per second. Not while a finger is on the list or the screen allows none.
  case drag(for: Interval, by: Double, velocity: Double)
  /// The next drag of the user rests this much longer before it lifts.
  case holdDrag(for: Interval)

  // At the screen.
  /// The next end of a drag or deceleration is not signalled.
  case loseStop
  /// The next ticks of the display link do not come.
  case skipFrames(Int)
  /// Rows that become visible from now on prepare this long.
  case slowPreparation(Interval)
  /// Applying a snapshot takes this long from now on.
  case slowApplying(Interval)

  /// The wall clock of the device steps.
  case stepClock(by: Interval)
}

extension FaultAction {
  /// Whether it is something that the core hears of, and so handles after what it handles already.
  package var reachesCore: Bool {
    switch self {
    case .background, .suspend, .memoryPressure, .drag, .loseStop, .slowPreparation, .slowApplying, .stepClock: true
    case .drop, .delay, .duplicate, .reorder, .hold, .holdUntil, .corrupt, .truncate, .replace, .disconnect, .halfOpen, .refuse, .slow,
      .restartServer, .epochJump, .forgetAnswers, .restartApp, .holdDrag, .skipFrames:
      false
    }
  }

  /// How long a finger of `drag` moves, at most.
  package static let moveTime = Interval.milliseconds(200)

  /// The gesture that a `drag` makes; nil for other actions.
  package var drag: Drag? {
    guard case .drag(let length, let by, let velocity) = self else { return nil }
    let moves = min(length, FaultAction.moveTime)
    return Drag(path: [Drag.Place(after: moves, y: by)], velocity: velocity, held: length - moves)
  }
}

/// Which connections a rule means.
package enum ConnectionSelector: Hashable, Sendable {
  case any
  /// The connection with this number in the run.
  case number(Int)
  /// Connections whose endpoint begins with this.
  case endpoint(String)

  /// Whether a connection fits; an unknown endpoint fits no prefix.
  package func matches(_ connection: ConnectionID, _ endpoint: Endpoint?) -> Bool {
    switch self {
    case .any: true
    case .number(let number): connection.number == number
    case .endpoint(let prefix): endpoint?.target.hasPrefix(prefix) ?? false
    }
  }
}

/// One rule of a plan: what it does, what makes it fire, and within which bounds.
package struct FaultRule: Hashable, Sendable {
  /// Which of the matching frames fire the rule. Matches are counted per run, before any rule acts.
  package enum Occurrence: Hashable, Sendable {
    case all
    /// The n-th match, from 1.
    case nth(Int)
    /// Each n-th match.
    case every(Int)
    /// The first match of each idempotency key (of each operation where there is no key) and label; other frames never match.
    case firstPerKey
    case probability(Double)
  }

  package enum Trigger: Hashable, Sendable {
    case frames(FramePattern, Occurrence)
    case at(Instant)
    /// When the trace entry of this index has been written.
    case entry(Int)
    /// When the user drags (`hold-drag` only).
    case drags(Occurrence)
  }

  package var action: FaultAction
  package var trigger: Trigger
  package var connections: ConnectionSelector
  /// Fires at or after this instant only.
  package var after: Instant?
  /// Fires before this instant only.
  package var before: Instant?
  /// Fires only while the client is in this state.
  package var state: String?

  package init(
    _ action: FaultAction, _ trigger: Trigger, connections: ConnectionSelector = .any, after: Instant? = nil, before: Instant? = nil,
    while state: String? = nil
  ) {
    self.action = action
    self.trigger = trigger
    self.connections = connections
    self.after = after
    self.before = before
    self.state = state
  }

  /// Checks label and state against what the system has. Throws `unknownLabel` or `unknownState` with the nearest name.
  package func check(against system: ChatSystem) throws(FaultError) {
    switch action {
    case .drag, .holdDrag:
      if !system.gestures.isEmpty, !system.gestures.contains(where: { $0.name == Gesture.drag }) {
        throw FaultError.badPart(action.word, rule: text, problem: "\(system.name) has no gesture \"\(Gesture.drag)\"")
      }
    default: break
    }
    if case .frames(let pattern, _) = trigger, let name = pattern.name, name != "*" {
      let known = system.labels.filter { pattern.role == nil || $0.role == pattern.role }.map(\.name)
      let found = name.hasSuffix("*") ? known.contains { $0.hasPrefix(name.dropLast()) } : known.contains(name)
      if !found {
        throw FaultError.unknownLabel(name, role: pattern.role, rule: text, nearest: Nearest.name(to: name, among: known))
      }
    }
    if case .frames(let pattern, _) = trigger, !system.fields.isEmpty {
      let known = system.fields + ["operation", "key"]
      for condition in pattern.conditions where !known.contains(condition.field) {
        let words = known + ["nth", "every", "first-per-key", "probability", "conn", "after", "before", "while", "for", "by", "count"]
        let nearest = Nearest.name(to: condition.field, among: words).map { "; did you mean \"\($0)\"?" } ?? ""
        throw FaultError.badPart(
          condition.field + condition.comparison.rawValue + condition.value, rule: text, problem: "no label has this field" + nearest)
      }
    }
    if let state, !system.states.contains(where: { $0.name == state }) {
      throw FaultError.unknownState(state, rule: text, nearest: Nearest.name(to: state, among: system.states.map(\.name)))
    }
  }
}
