import HBCodeDialect

/// Applies a latest-window answer to the kept rows (spec D.2, steps 4 to 11; HB-SNAP). Steps 1 to 3 are the scheduler's and the
/// decoder's.
package enum SnapshotMerge {
  package enum Outcome: String, Hashable, Sendable, CaseIterable {
    case applied
    /// The history is not there; at most the overlay was taken (HB-SNAP-06).
    case unavailable
    /// An older epoch, or the same version with other blocks: nothing was taken (HB-SNAP-02).
    case overlayRejected = "overlay-rejected"
  }

  /// What an answer changed.
  package struct Report: Hashable, Sendable {
    package var outcome: Outcome
    /// The counter moved during the load: live rows and active run of the answer were dropped (HB-SNAP-03).
    package var droppedLive = false
    /// The answer's overlay was adopted.
    package var tookOverlay = false
    /// A non-empty window was replaced by rows that do not overlap it (HB-SNAP-08).
    package var replacedWindow = false
  }

  /// Applies `answer`, whose load recorded the live-event counter `captured` at its start (HB-SNAP-01).
  package static func apply(_ answer: HistoryEnvelope, captured: Int, to timeline: inout Timeline) -> Report {
    if let own = timeline.live.overlay {
      let theirs = answer.overlay
      let isOlder = theirs.version.epoch < own.version.epoch
      if isOlder || (theirs.version == own.version && !theirs.blocks.isEquivalent(to: own.blocks)) {
        return Report(outcome: .overlayRejected)
      }
    }
    if case .unavailable = answer.loadState {
      var report = Report(outcome: .unavailable)
      if answer.overlay.version.epoch == timeline.live.version?.epoch { report.tookOverlay = timeline.live.adopt(answer.overlay) }
      return report
    }
    var report = Report(outcome: .applied)
    report.droppedLive = timeline.live.counter != captured
    report.replacedWindow = mergeCanonical(answer, into: &timeline)
    report.tookOverlay = timeline.live.adopt(answer.overlay)
    if !report.droppedLive {
      timeline.liveLayer = answer.timeline.filter { $0.origin == .live }
      timeline.live.setActiveRun(answer.activeRun)
    }
    if answer.loadState == .ready {
      timeline.isConfirmed = true
    } else if timeline.canonical.isEmpty {
      timeline.isConfirmed = false
    }
    timeline.runtime = answer.runtime
    return report
  }

  /// Step 7 (HB-SNAP-08 to -10). True if a non-empty window was replaced without overlap.
  private static func mergeCanonical(_ answer: HistoryEnvelope, into timeline: inout Timeline) -> Bool {
    let rows = answer.timeline.filter { $0.origin == .canonical }
    let pagination = Timeline.Pagination(
      boundaryToken: answer.boundaryToken, oldestCursor: answer.oldestCursor, hasOlderEntries: answer.hasOlderEntries)
    let kept = timeline.canonical
    if kept.isEmpty {
      timeline.setCanonical(rows)
      timeline.pagination = pagination
      return false
    }
    if rows.isEmpty {
      guard answer.loadState == .ready else { return false }
      timeline.setCanonical([])
      timeline.pagination = pagination
      return true
    }
    var place: [String: Int] = [:]
    for (index, row) in kept.enumerated() { place[row.identity] = index }
    var merged = kept
    var overlaps = false
    for row in rows {
      if let index = place[row.identity] {
        merged[index] = row
        overlaps = true
      } else {
        merged.append(row)
      }
    }
    guard overlaps else {
      timeline.setCanonical(rows)
      timeline.pagination = pagination
      return true
    }
    timeline.setCanonical(merged)
    // Of whichever side has the first row in order; on a tie the answer's (HB-SNAP-09).
    if let first = rows.min(by: Row.precedes), !Row.precedes(kept[0], first) { timeline.pagination = pagination }
    return false
  }
}
