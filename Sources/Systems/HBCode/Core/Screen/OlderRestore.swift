import Simulation

/// Puts the list back in place after an older page went before its rows (table D.7, HB-OLDER-03 to -05).
package struct OlderRestore: Hashable, Sendable {
  /// A settle pass re-pins the row this often (HB-OLDER-05).
  package static let passInterval = Interval.milliseconds(32)
  package static let stablePasses = 2
  package static let mostPasses = 8
  /// Live rows are held back for at most this long (HB-OLDER-04 [seed]).
  package static let longestHold = Interval.milliseconds(1_500)

  /// The row that stays in place, and how far below the top of the visible area its top was.
  package struct Anchor: Hashable, Sendable {
    package var id: String
    package var y: Double

    package init(id: String, y: Double) {
      self.id = id
      self.y = y
    }
  }

  package let anchor: Anchor
  /// When the anchor was recorded.
  package let since: Instant
  package private(set) var pass = 0
  private var stable = 0
  /// Content height that the last pass left.
  private var contentHeight: Double
  /// Live rows wait for the end.
  package private(set) var holdsLive = true

  /// `contentHeight`: after the page was applied.
  package init(_ anchor: Anchor, contentHeight: Double, at now: Instant) {
    self.anchor = anchor
    self.contentHeight = contentHeight
    since = now
  }

  /// A pass found the row this far from its place and the content this high, and has re-pinned it. `isStill` is what it counts as; true in
  /// `isOver` ends the restore.
  package mutating func passed(drift: Double, contentHeight height: Double) -> (isStill: Bool, isOver: Bool) {
    pass += 1
    let isStill = drift.magnitude <= 0.5 && (height - contentHeight).magnitude <= 0.5
    contentHeight = height
    stable = isStill ? stable + 1 : 0
    return (isStill, stable == OlderRestore.stablePasses || pass == OlderRestore.mostPasses)
  }

  /// 1.5 s since the record are over: live rows go on, the passes to their end.
  package mutating func releaseLive() { holdsLive = false }
}
