import Simulation

/// The periodic load of the chat on screen (HB-LOAD-07, -08): when its next tick is.
package struct LoadCadence: Hashable, Sendable {
  /// Base of the wait while nothing is pending (HB-LOAD-07 [seed]).
  package static let slow = Interval.seconds(60)
  /// Base while a run, message or load is pending (HB-LOAD-07 [seed]).
  package static let fast = Interval.seconds(10)
  /// Band of u: up to 30 percent are added (HB-LOAD-08).
  package static let jitter = 0.0...0.3

  /// The armed tick, nil while the chat is not on screen.
  package private(set) var due: Instant?
  /// The base of the armed wait is the fast one.
  package private(set) var isFast = false

  package init() {}

  /// Arms anew: on activation, after each tick and after each completed load.
  package mutating func arm(pending: Bool, at now: Instant, u: Double) {
    isFast = pending
    due = now + (pending ? LoadCadence.fast : LoadCadence.slow).scaled(by: 1 + u)
  }

  /// Something became pending, or nothing is any more. A lower base shortens the rest of the wait, a higher one leaves it.
  /// True if the tick moved.
  package mutating func update(pending: Bool, at now: Instant, u: Double) -> Bool {
    guard let due, pending != isFast else { return false }
    isFast = pending
    guard pending else { return false }
    let other = now + LoadCadence.fast.scaled(by: 1 + u)
    if other >= due { return false }
    self.due = other
    return true
  }

  package mutating func disarm() { due = nil }
}
