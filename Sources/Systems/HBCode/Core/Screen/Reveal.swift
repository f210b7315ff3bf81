import ClientKit
import Simulation

/// The first reveal of a newly shown chat (table D.6, HB-REVEAL): the cover stays until the layout holds still.
package struct Reveal: Hashable, Sendable {
  /// A settle pass runs this often from the mount on (HB-REVEAL-02 [seed]).
  package static let passInterval = Interval.milliseconds(32)
  /// Still passes in a row that lift the cover (HB-REVEAL-01 [seed]).
  package static let stillPasses = 3
  /// The cover lifts at this pass whatever moves, about 2 s (HB-REVEAL-07 [seed]).
  package static let lastPass = 63
  /// Points above the screen up to which an older page is wanted (HB-REVEAL-06, HB-OLDER-01 [seed]).
  package static let shortHistory = 1_800.0
  /// Pages that one reveal asks for (HB-REVEAL-06 [seed]).
  package static let mostPages = 2

  package enum Page: Hashable, Sendable {
    case none
    case inFlight
    /// One failed: no more are asked for.
    case failed
  }

  package enum Decision: Hashable, Sendable {
    case goOn
    /// Ask for an older page, then settle again.
    case requestPage
    case lift
  }

  /// Passes so far.
  package private(set) var pass = 0
  /// Still passes in a row.
  package private(set) var still = 0
  package private(set) var pages = 0
  package private(set) var page = Page.none

  package init() {}

  /// Whether the coming pass counts for nothing but the deadline (HB-REVEAL-05, -06).
  package func waits(isPreparing: Bool, isApplying: Bool) -> Bool { isPreparing || isApplying || page == .inFlight }

  /// The next pass found `verdict`. `above`: points above the screen; `canAsk`: the history has older entries that can be asked for.
  package mutating func passed(_ verdict: PassVerdict, above: Double, canAsk: Bool) -> Decision {
    pass += 1
    if pass == Reveal.lastPass { return .lift }
    switch verdict {
    case .waiting, .moved:
      still = 0
      return .goOn
    case .first:
      return .goOn
    case .still:
      still += 1
    }
    guard still == Reveal.stillPasses else { return .goOn }
    let wantsPage = above <= Reveal.shortHistory && canAsk && pages < Reveal.mostPages && page != .failed
    guard wantsPage else { return .lift }
    pages += 1
    page = .inFlight
    still = 0
    return .requestPage
  }

  /// The page that was asked for landed or failed.
  package mutating func pageEnded(isFailure: Bool) {
    if page == .inFlight { page = isFailure ? .failed : .none }
  }
}
