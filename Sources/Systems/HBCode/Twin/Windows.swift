import Contract
import HBCodeDialect
import Simulation
import Wire

extension DesktopTwin {
  /// The most rows that one answer gives.
  private static let mostRows: Int64 = 1_000

  private func thread(_ arrival: Arrival) throws(WireError) -> String? {
    switch arrival.method {
    case .loadThread, .loadThreadPageBefore: return try arrival.params.text("threadId")
    default: return nil
    }
  }

  /// `run.chatLoad` and `run.chatLoadThread`: the latest window, or one around an anchor (spec B.3).
  mutating func window(_ arrival: Arrival, _ lane: Int) throws(WireError) -> JSON {
    let limit = Int(try arrival.params.count("limit", in: 1...DesktopTwin.mostRows))
    let thread = try thread(arrival)
    guard let anchor = arrival.params.object["anchor"] else { throw .invalid("anchor must be an anchor or null") }
    var rows = ledgers[lane].rows(of: thread)
    // A history that cannot be read has no rows to give (HB-SNAP-06).
    if case .unavailable = ledgers[lane].loadState { rows = [] }
    if anchor.isNull { return envelope(lane, thread, rows, max(0, rows.count - limit)..<rows.count).json(.latest) }

    let place: Anchor
    do throws(DecodeFailure) {
      place = try Anchor.decode(anchor)
    } catch {
      throw .invalid(error.reason)
    }
    guard let index = rows.firstIndex(where: { DesktopTwin.row($0, isAt: place) }) else {
      basis("anchor of a row that is not in the known history of \(ledgers[lane].id)", .synthetic)
      var latest = envelope(lane, thread, rows, max(0, rows.count - limit)..<rows.count)
      latest.notice = "This message is not in the saved history."
      return latest.json(.anchored)
    }
    // The row in the middle, as far as there are rows on both sides.
    let start = max(0, min(index - limit / 2, rows.count - limit))
    let end = min(rows.count, start + limit)
    var page = envelope(lane, thread, rows, start..<end)
    page.anchorRow = .row(type: rows[index].type, id: rows[index].id)
    if end < rows.count {
      page.newerCursor = cursor(lane, rows[end - 1].identity)
      page.activeRun = nil
    }
    return page.json(.anchored)
  }

  private static func row(_ row: Row, isAt anchor: Anchor) -> Bool {
    switch anchor {
    case .message(let id): row.id == id
    case .row(let type, let id): row.type == type && row.id == id
    }
  }

  private mutating func envelope(_ lane: Int, _ thread: String?, _ rows: [Row], _ range: Range<Int>) -> HistoryEnvelope {
    let ledger = ledgers[lane]
    let first = range.isEmpty ? nil : rows[range.lowerBound]
    let hasOlder = first != nil && (range.lowerBound > 0 || ledger.historyGoesOn)
    let recorded = first.flatMap { book.recordedCursor(session: ledger.id, row: $0.identity) }
    return HistoryEnvelope(
      boundaryToken: boundaryToken(lane), nativeSessionId: ledger.nativeSessionId, loadState: ledger.loadState,
      storageFormat: ledger.agent.storageFormat, loadedEntries: Int64(range.count), hasOlderEntries: hasOlder,
      oldestCursor: hasOlder ? first.map { cursor(lane, $0.identity) } : recorded, timeline: Array(rows[range]),
      overlay: ledger.overlay(thread: thread), runtime: ledger.runtime, activeRun: ledger.run?.active)
  }

  /// Canonical rows before the row whose window the cursor ends, whatever window the phone had in the recorded past.
  mutating func olderPage(_ arrival: Arrival, _ lane: Int) throws(WireError) -> JSON {
    let limit = Int(try arrival.params.count("limit", in: 1...DesktopTwin.mostRows))
    let cursorText = try arrival.params.text("cursor")
    let token = try arrival.params.text("boundaryToken")
    let session = ledgers[lane].id
    let rows = ledgers[lane].rows(of: try thread(arrival))
    guard book.knows(session: session, token: token), let identity = book.row(session: session, cursor: cursorText),
      let end = rows.firstIndex(where: { $0.identity == identity })
    else { throw WireError(code: "cursor_expired", message: "this cursor is no longer known", permanent: false) }
    let start = max(0, end - limit)
    let page = start..<end
    if page.isEmpty {
      // Older rows exist but were never recorded.
      if ledgers[lane].historyGoesOn { basis("older page of \(session) beyond the recording", .synthetic) }
      return OlderPage(boundaryToken: boundaryToken(lane), timeline: [], hasOlderEntries: false, oldestCursor: nil).json
    }
    let hasOlder = start > 0 || ledgers[lane].historyGoesOn
    let recorded = book.recordedCursor(session: session, row: rows[start].identity)
    return OlderPage(
      boundaryToken: boundaryToken(lane), timeline: Array(rows[page]), hasOlderEntries: hasOlder,
      oldestCursor: hasOlder ? cursor(lane, rows[start].identity) : recorded
    ).json
  }

  /// The recorded cursor of the window that begins with this row, else one of ours.
  private mutating func cursor(_ lane: Int, _ row: String) -> String {
    if let recorded = book.recordedCursor(session: ledgers[lane].id, row: row) { return recorded }
    return reissued("cursor", Book.cursor(row: row), lane)
  }

  /// The recorded token of this canonical state, else one of ours.
  private mutating func boundaryToken(_ lane: Int) -> String {
    let lastRow = ledgers[lane].history.last?.identity ?? ""
    if let recorded = book.recordedToken(session: ledgers[lane].id, lastRow: lastRow) { return recorded }
    return reissued("boundaryToken", Book.token(lastRow: lastRow), lane)
  }

  private mutating func reissued(_ what: String, _ token: String, _ lane: Int) -> String {
    if notedTokens.insert(Ledger.key(ledgers[lane].id, token)).inserted {
      note("reissued", ["what": .string(what), "from": .null, "to": .string(token), "lane": .string(ledgers[lane].id)])
    }
    return token
  }
}
