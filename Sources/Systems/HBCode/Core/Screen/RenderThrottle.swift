import Simulation

/// When live overlay changes of one host are rendered (HB-REND-01 to -03): leading and trailing, at most one in an interval.
package struct RenderThrottle: Hashable, Sendable {
  /// At most six renders in a half-open second (HB-REND-01 [seed]): 1/6 s, rounded up to a nanosecond (spec, units).
  package static let interval = Interval(nanoseconds: 166_666_667)
  /// While the composer or a preview is open: twice a second (HB-REND-01 [seed]).
  package static let slowInterval = Interval.milliseconds(500)

  /// The latest render of any cause.
  package private(set) var last: Instant?
  /// When the render that waits is due.
  package private(set) var due: Instant?

  package init() {}

  /// A live change was taken in. Returns nil when it is rendered now, else the instant at which the newest state is.
  package mutating func changed(interval: Interval, at now: Instant) -> Instant? {
    if let due { return due }
    guard let last, now < last + interval else { return nil }
    due = last + interval
    return due
  }

  /// A render of any cause happens now: it shows the newest live state too (HB-REND-03).
  package mutating func rendered(at now: Instant) {
    last = now
    due = nil
  }

  /// The interval is another one from now on: the armed render moves to the last one plus the new interval, not before now
  /// (HB-REND-02). Returns its new instant; nil if none is armed.
  package mutating func intervalChanged(to interval: Interval, at now: Instant) -> Instant? {
    guard due != nil, let last else { return nil }
    due = max(now, last + interval)
    return due
  }

  /// The view is gone: nothing waits. The last render stands, for the chat may come back within the interval.
  package mutating func disarm() { due = nil }
}
