import Simulation

/// The update that waits for the list to rest (table D.8, HB-REND-06 to -08): only the newest is kept.
package struct HeldUpdate: Hashable, Sendable {
  /// How often a held update looks whether the list is at rest (HB-REND-07 [seed]).
  package static let checkInterval = Interval.milliseconds(250)

  package enum Decision: Hashable, Sendable {
    /// Nothing on screen differs: no work (HB-REND-08).
    case nothing
    case apply
    /// Waits; true when it is the first to wait, so that the checks begin.
    case hold(isFirst: Bool)
  }

  /// Version of the list that waits.
  package private(set) var version: Int?

  package init() {}

  /// A render made `version`; `changes`: visible rows or the row list differ from what is applied. `isBlocked`: the list moves, or an older
  /// page is being put in place.
  package mutating func rendered(_ version: Int, changes: Bool, isBlocked: Bool) -> Decision {
    if isBlocked {
      // Whatever is newer replaces what waits, also when it takes the change back.
      guard changes || self.version != nil else { return .nothing }
      defer { self.version = version }
      return .hold(isFirst: self.version == nil)
    }
    let waited = self.version != nil
    self.version = nil
    return changes || waited ? .apply : .nothing
  }

  /// The list came to rest and said so, or a check found it at rest. Returns the version that applies now.
  package mutating func release(isBlocked: Bool) -> Int? {
    guard !isBlocked else { return nil }
    defer { version = nil }
    return version
  }

  /// The view is gone or begins anew: the new one shows the newest state.
  package mutating func drop() { version = nil }
}
