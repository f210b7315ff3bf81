import HBCodeDialect

/// The live side of one conversation (spec D.1, HB-OVER): the overlay by version, the live-event counter and the active run.
///
/// Live events arrive here after `IntakeThrottle`; answers go through `SnapshotMerge`.
package struct OverlayReducer: Hashable, Sendable {
  /// What became of a live event.
  package enum Verdict: String, Hashable, Sendable, CaseIterable {
    /// The overlay moved to the event's version.
    case used
    /// An older version, or the same one again.
    case ignored
    /// The same version with other blocks: ignored and counted (HB-OVER-03).
    case conflict
    /// A newer epoch, or no epoch is known yet: a latest-window load is needed (HB-OVER-04).
    case refused
  }

  /// Nil before the first snapshot.
  package private(set) var overlay: LiveOverlay?
  /// The live-event counter (HB-OVER-02).
  package private(set) var counter: Int
  package private(set) var activeRun: ActiveRun?
  /// Events of one version with other blocks, so far.
  package private(set) var conflicts = 0

  package init(overlay: LiveOverlay? = nil, counter: Int = 0, activeRun: ActiveRun? = nil) {
    self.overlay = overlay
    self.counter = counter
    self.activeRun = activeRun
  }

  package var version: OverlayVersion? { overlay?.version }

  /// A live overlay event that has passed the intake.
  package mutating func receive(_ event: LiveOverlay) -> Verdict {
    guard let overlay else { return .refused }
    if event.version.epoch > overlay.version.epoch { return .refused }
    if event.version < overlay.version { return .ignored }
    if event.version == overlay.version {
      if event.blocks.isEquivalent(to: overlay.blocks) { return .ignored }
      conflicts += 1
      return .conflict
    }
    self.overlay = event
    counter += 1
    return .used
  }

  /// A run began; it is the active one now.
  package mutating func runStarted(_ run: ActiveRun) {
    counter += 1
    activeRun = run
  }

  /// A run finished, failed, was aborted or cancelled. Another run than the active one leaves that in place.
  package mutating func runEnded(_ runId: String) {
    counter += 1
    if activeRun?.runId == runId { activeRun = nil }
  }

  /// Takes the overlay of an answer over, or keeps the own one (HB-SNAP-04, -05). The counter stays. True if it was adopted.
  mutating func adopt(_ answer: LiveOverlay) -> Bool {
    if let overlay, answer.version <= overlay.version { return false }
    overlay = answer
    return true
  }

  /// Takes the active run of an answer over (spec D.2, step 9).
  mutating func setActiveRun(_ run: ActiveRun?) { activeRun = run }
}

extension [Row] {
  /// Equal as decoded rows, in order, unknown keys and all (HB-OVER-08).
  func isEquivalent(to other: [Row]) -> Bool {
    count == other.count && zip(self, other).allSatisfy { $0.isEquivalent(to: $1) }
  }
}
