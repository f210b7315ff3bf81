import Contract
import HBCodeDialect
import Simulation

/// What made the phone ask for older pages of one list (SCENARIO.md 3, step 6).
///
/// - A reveal asks for at most two pages within 2.1 s of its begin, none behind a failed one (HB-REVEAL-06); it begins with a selection, the
///   first window, and a window that has no row of the one before (HB-REVEAL-10, HB-EPOCH-02).
/// - A list that stands within 1,800 pt of its top after a page asks for the next one by itself, at least 0.25 s after it asked for the
///   one before and at most 1 s after that ended; behind a page without an answer after 8 s (HB-OLDER-01, -02). Lengths are estimates: 80 pt
///   a row. After a drawing to 1,700 pt that holds for one row more; at the bottom for a list of 30 rows.
/// - Any other page is the user's: the list was drawn up.
struct OlderPages {
  private struct Page {
    var start: Instant
    /// When its answer came, or nobody waited for it any more.
    var end: Instant
    var isOk: Bool
    var rows: Set<String>
  }

  /// HB-REVEAL-07: 63 passes of 32 ms, and a bit for the link.
  private static let reveal = Interval.milliseconds(2_100)
  private static let mostPagesOfReveal = 2
  /// HB-OLDER-01 and -02.
  private static let pause = Interval.milliseconds(250)
  private static let stale = Interval.seconds(8)
  private static let soon = Interval.seconds(1)
  /// HB-OLDER-01: within so many points of the top; a drawing leaves the list at the second.
  private static let zone = 1_800.0
  private static let drawnTo = 1_700.0
  /// Points of a row that was not measured yet, and of what the list shows at its bottom between the insets (spec G.2).
  private static let estimate = 80.0
  private static let shown = 844.0 - 47 - 159

  private var revealed: Instant?
  private var pagesOfReveal = 0
  private var rows: Set<String> = []
  /// The newest page.
  private var last: Page?
  /// Rows of pages since the user drew the list up; nil while it is at the bottom.
  private var rowsSinceDrawing: Set<String>?

  /// When the user drew the list up, nil while it is at its bottom.
  var drawn: Instant? { rowsSinceDrawing == nil ? nil : lastDrawing }
  private var lastDrawing: Instant?

  /// The list comes on screen, at its bottom.
  mutating func mount(at: Instant) {
    rowsSinceDrawing = nil
    revealed = at
    pagesOfReveal = 0
  }

  /// The list goes back to its bottom.
  mutating func returnToBottom() { rowsSinceDrawing = nil }

  /// A latest window comes; `shown` are the identities of its rows that are shown.
  mutating func window(_ shown: Set<String>, at: Instant) {
    let isNew = rows.isDisjoint(with: shown)
    if isNew { mount(at: at) }
    rows = isNew ? shown : rows.union(shown)
  }

  /// A page is asked for; its answer came at `end` with rows that are shown. Why the phone did that by itself, nil when it was the user.
  mutating func page(at: Instant, end: Instant?, isOk: Bool, rows shown: Set<String>) -> String? {
    if let last {
      let new = last.rows.subtracting(rows)
      rows.formUnion(new)
      rowsSinceDrawing?.formUnion(new)
    }
    let why = reason(at, last)
    if why == nil {
      rowsSinceDrawing = []
      lastDrawing = at
    }
    last = Page(start: at, end: min(end ?? .never, at + OlderPages.stale), isOk: isOk, rows: isOk ? shown : [])
    return why
  }

  private mutating func reason(_ at: Instant, _ before: Page?) -> String? {
    if let revealed, at >= revealed, at - revealed <= OlderPages.reveal, pagesOfReveal < OlderPages.mostPagesOfReveal {
      let failed = pagesOfReveal > 0 && before.map { $0.start >= revealed && !$0.isOk } ?? false
      if !failed {
        pagesOfReveal += 1
        return "the first reveal (HB-REVEAL-06)"
      }
    }
    guard let before, at >= before.end, at - before.end <= OlderPages.soon, at - before.start >= OlderPages.pause else { return nil }
    let distance =
      rowsSinceDrawing.map { OlderPages.drawnTo + OlderPages.estimate * Double($0.count) }
      ?? OlderPages.estimate * Double(rows.count) - OlderPages.shown
    return distance <= OlderPages.zone ? "a list that is still near its top (HB-OLDER-01)" : nil
  }
}

extension Compilation {
  /// The identities of the rows that are shown of the answer to a request (HB-PROJ-02, -03).
  func shownRows(ofAnswerTo exchange: Int, in session: String) -> Set<String> {
    guard let window = sessions[session]?.windows.first(where: { $0.source.exchange == exchange }) else { return [] }
    return Set(window.rows.filter { $0.type != .thinking && !$0.isSubagentPanel }.map(\.identity))
  }
}
