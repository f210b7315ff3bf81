import HBCodeDialect
import Simulation

/// Lets live overlay changes of one host through at most every 100 ms (HB-OVER-06): the first at once, then the newest that waits.
/// Run events do not come here.
package struct IntakeThrottle: Hashable, Sendable {
  /// HB-OVER-06 [seed].
  package static let interval = Interval.milliseconds(100)

  package enum Decision: Hashable, Sendable {
    /// Goes through now; a version that waited is dropped.
    case pass(replaced: Bool)
    /// Waits in the slot until that instant; a version that waited before it is dropped.
    case hold(until: Instant, replaced: Bool)
    /// Not newer than the one that waits.
    case drop
  }

  private var lastPassed: Instant?
  package private(set) var waiting: LiveOverlay?

  package init() {}

  /// An event arrives; `epoch` is that of the reducer, nil when it has none. A newer epoch passes and leaves the slot alone.
  package mutating func offer(_ event: LiveOverlay, epoch: Int64?, at now: Instant) -> Decision {
    guard let epoch, event.version.epoch <= epoch else { return .pass(replaced: false) }
    if let waiting, event.version <= waiting.version { return .drop }
    if let lastPassed, now < lastPassed + IntakeThrottle.interval {
      let replaced = waiting != nil
      waiting = event
      return .hold(until: lastPassed + IntakeThrottle.interval, replaced: replaced)
    }
    lastPassed = now
    return .pass(replaced: clear())
  }

  /// The slot's instant has come: the version that waited goes through.
  package mutating func release(at now: Instant) -> LiveOverlay? {
    guard let event = waiting else { return nil }
    waiting = nil
    lastPassed = now
    return event
  }

  /// Empties the slot (the host is parked). True if something waited.
  package mutating func clear() -> Bool {
    defer { waiting = nil }
    return waiting != nil
  }
}
