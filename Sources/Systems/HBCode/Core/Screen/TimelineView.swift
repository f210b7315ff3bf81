import ClientKit
import Contract
import HBCodeDialect
import Simulation

/// The mounted view of the chat on screen: the list with its cover, its held update, its place.
///
/// It belongs to the view, not to the host: a chat that comes back begins at the bottom behind a brief cover (HB-HOST-08). `Phone` hands
/// it what was rendered and what happened on the list.
struct TimelineView: Sendable {
  /// 390 × 844 with safe areas of 47 and 34; the last row rests 125 pt above the lower one (spec G.2, HB-CHROME-03).
  static let device = Device(width: 390, height: 844, insetTop: 47, insetBottom: 34 + 125)
  /// Of a row that has not been laid out (HB-REND-09 [seed]).
  static let estimate = 80.0
  /// How far from the top a recording's older page draws the list (SCENARIO.md 3.6).
  static let olderPlace = 1_700.0
  /// Least time between two starts of older pages (HB-OLDER-01 [seed]).
  static let olderSpacing = Interval.milliseconds(250)
  /// A tap on the status bar scrolls this long.
  static let topScroll = Interval.milliseconds(300)

  let key: HostKey
  var list: Viewport
  /// Whether the list is there; before that a placeholder shows (HB-REVEAL-09).
  var isMounted = false
  /// The first reveal that is under way: the cover is up.
  var reveal: Reveal?
  var held = HeldUpdate()
  var restore: OlderRestore?
  var following = Following()
  /// An older page is among the rendered rows and has not been applied.
  var awaitsPrepend = false

  /// Renders since the mount.
  var version = 0
  /// What was rendered last.
  var rows: [DisplayRow] = []
  var pinned: String?
  var cells: [Cell] = []

  /// Geometry at the last test for an older page (HB-OLDER-01).
  var tested: (offset: Double, contentHeight: Double)?
  /// The user drew the list near its top for an older page: the test comes as soon as one may start, wherever the list was before.
  var wantsOlder = false

  init(_ key: HostKey, faults: [ScreenFault], measure: RowMeasure) {
    self.key = key
    list = Viewport(name: key.name, device: TimelineView.device, estimate: TimelineView.estimate)
    if measure.applying > .zero { list.take(.slowApplying(measure.applying)) }
    for fault in faults { list.take(fault) }
  }

  var isCovered: Bool { reveal != nil }
  /// Updates wait: a finger or its throw moves the list, or an older page is being put in place.
  var isBlocked: Bool { list.isMoving || restore?.holdsLive ?? false }

  /// The timers of a view.
  static func timers(_ name: String) -> [TimerName] {
    [.list(name), .render(name), .held(name), .reveal(name), .restore(name), .restoreLive(name), .follow(name)]
  }
}
