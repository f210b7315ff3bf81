import HBCodeDialect
import Wire

/// The kept rows of one conversation: the canonical window with its pagination, the live overlay, the snapshot live layer.
package struct Timeline: Hashable, Sendable {
  /// Where the window stands in the history.
  package struct Pagination: Hashable, Sendable {
    package var boundaryToken: String
    package var oldestCursor: String?
    package var hasOlderEntries: Bool

    package init(boundaryToken: String, oldestCursor: String?, hasOlderEntries: Bool) {
      self.boundaryToken = boundaryToken
      self.oldestCursor = oldestCursor
      self.hasOlderEntries = hasOlderEntries
    }
  }

  package var live: OverlayReducer
  /// Canonical rows in the order of rows.
  package private(set) var canonical: [Row] = []
  /// Typed identities and `op:` identities of the canonical rows.
  package private(set) var canonicalIdentities: Set<String> = []
  /// Operations of canonical user rows.
  package private(set) var canonicalOperations: Set<String> = []
  /// Display rows of the window, kept because live changes come ten times a second and leave them as they are.
  private(set) var canonicalDisplay: [DisplayRow] = []
  /// Live rows of the last applied answer whose counter did not move (HB-SNAP-12).
  package var liveLayer: [Row] = []
  package var pagination: Pagination?
  /// Whether the desktop has confirmed this history; then an empty one is a confirmed empty chat (spec B.3).
  package var isConfirmed = false
  /// Model and modes, shown when they are strings.
  package var runtime: JSONObject?

  package init(live: OverlayReducer = OverlayReducer(), canonical rows: [Row] = []) {
    self.live = live
    setCanonical(rows)
  }

  /// Replaces the canonical window. O(n log n).
  package mutating func setCanonical(_ rows: [Row]) {
    canonical = rows.sorted(by: Row.precedes)
    canonicalIdentities = []
    canonicalOperations = []
    for row in canonical {
      canonicalIdentities.insert(row.identity)
      if let identity = row.operationIdentity { canonicalIdentities.insert(identity) }
    }
    canonicalDisplay = []
    for row in canonical {
      // The wire keeps typed identities unique, not operations: one row per item ID all the same (HB-INV-32).
      let isNew = row.operationIdentity == nil || canonicalOperations.insert(row.operationId ?? "").inserted
      if isNew, Display.isListed(row) { canonicalDisplay.append(DisplayRow(row, origin: .canonical)) }
    }
  }

  /// Whether a canonical row shares an identity with this live row (HB-SNAP-11).
  package func isSettled(_ row: Row) -> Bool {
    if canonicalIdentities.contains(row.identity) { return true }
    return row.operationIdentity.map(canonicalIdentities.contains) ?? false
  }

  /// Unsettled live rows in order; where both layers hold an identity the overlay's row stands (HB-SNAP-12).
  package var unsettledLive: [Row] {
    let blocks = live.overlay?.blocks ?? []
    var rows = blocks.filter { !isSettled($0) }
    if !liveLayer.isEmpty {
      var held = Set<String>()
      for row in blocks {
        held.insert(row.identity)
        if let identity = row.operationIdentity { held.insert(identity) }
      }
      rows += liveLayer.filter {
        !isSettled($0) && !held.contains($0.identity) && !($0.operationIdentity.map(held.contains) ?? false)
      }
    }
    // Nearly always they came in order.
    let isInOrder = rows.indices.dropFirst().allSatisfy { !Row.precedes(rows[$0], rows[$0 - 1]) }
    return isInOrder ? rows : rows.sorted(by: Row.precedes)
  }

  /// Whether a canonical or live row of this operation is known here (HB-OUTBOX-12).
  package func isVisible(operation: String) -> Bool {
    if canonicalOperations.contains(operation) { return true }
    func names(_ row: Row) -> Bool { row.type == .user && row.operationId == operation }
    return live.overlay?.blocks.contains(where: names) ?? false || liveLayer.contains(where: names)
  }

  /// Puts an older page before the window (HB-OLDER-08): rows whose splice key the window has are not added again.
  /// Returns how many rows were added.
  package mutating func prepend(_ page: OlderPage) -> Int {
    let added = page.timeline.filter { !isSettled($0) }
    if !added.isEmpty { setCanonical(added + canonical) }
    pagination = Pagination(
      boundaryToken: page.boundaryToken, oldestCursor: page.oldestCursor, hasOlderEntries: page.hasOlderEntries)
    return added.count
  }
}
