import Simulation

/// The timeline interest of the phone (HB-LEASE): one lease, for the conversation on screen.
package struct Lease: Hashable, Sendable {
  /// The phone renews this often (HB-LEASE-02 [seed]).
  package static let renewal = Interval.seconds(20)
  /// The relay keeps a lease this long after the last renewal (HB-LEASE-02 [seed]); also the gap that marks stale (HB-LEASE-05).
  package static let kept = Interval.seconds(60)

  /// The conversation that is held.
  package private(set) var target: HostKey?
  /// When the next renewal is due; nil while nothing is held.
  package private(set) var renewalDue: Instant?
  /// When the last hold for the target was answered.
  private var lastAnswered: Instant?

  package init() {}

  /// A hold for `target` goes out now: the one lease moves there (HB-LEASE-03).
  package mutating func hold(_ target: HostKey, at now: Instant) {
    if target != self.target { lastAnswered = nil }
    self.target = target
    renewalDue = now + Lease.renewal
  }

  /// Nothing renews any more: background, no chat on screen. Returns what was held.
  package mutating func release() -> HostKey? {
    defer {
      target = nil
      renewalDue = nil
      lastAnswered = nil
    }
    return target
  }

  /// The connection is gone: renewals stop, the hold is made again when it is back.
  package mutating func suspend() { renewalDue = nil }

  /// A hold for `target` was answered. True if more than 60 s lie since the answered one before: blocks may be missing (HB-LEASE-05).
  package mutating func answered(_ target: HostKey, at now: Instant) -> Bool {
    guard target == self.target else { return false }
    defer { lastAnswered = now }
    return lastAnswered.map { now - $0 > Lease.kept } ?? false
  }
}
