import HBCodeDialect

/// A row as the list shows it (HB-PROJ).
package struct DisplayRow: Hashable, Sendable {
  package enum Origin: String, Hashable, Sendable, CaseIterable { case canonical, live, echo }

  /// The item ID (HB-PROJ-04).
  package var id: String
  package var origin: Origin
  package var text: String
  /// What the cell draws: text, title and, for a message between sessions, label line and signal.
  package var content: String
  /// Height of this content in points (spec G.2).
  package var height: Double
  /// Replies and messages prepare their Markdown when they come on screen (spec G.2).
  package var hasMarkdown: Bool

  /// A row that the phone makes by itself: the message of an operation.
  package init(id: String, origin: Origin, text: String) {
    self.id = id
    self.origin = origin
    self.text = text
    content = text
    height = RowMeasure.height(.user, isMessage: false, text: text)
    hasMarkdown = false
  }
}

/// A message that the phone shows before a row of its operation is known (HB-PROJ-05).
package struct Echo: Hashable, Sendable {
  package var operation: String
  package var text: String

  package init(operation: String, text: String) {
    self.operation = operation
    self.text = text
  }
}

/// Display rows of one conversation (HB-PROJ, HB-SNAP-13): canonical rows, then unsettled live rows, then echoes. Pure.
package struct Display: Hashable, Sendable {
  package var rows: [DisplayRow]
  /// Text of the pinned status: the last live thinking row of the active run (HB-PROJ-02).
  package var pinned: String?

  /// O(n) in the live rows; the canonical ones are kept ready by the timeline. Echoes come in operation order.
  package init(_ timeline: Timeline, echoes: [Echo]) {
    rows = timeline.canonicalDisplay
    // A live row of an operation that a canonical row has is settled; two live ones of one operation share an item ID.
    var operations = Set<String>()
    for row in timeline.unsettledLive {
      if Display.isListed(row) {
        if row.type == .user, let operation = row.operationId, !operations.insert(operation).inserted { continue }
        rows.append(DisplayRow(row, origin: .live))
      } else if row.type == .thinking, !row.isSubagentPanel, row.runId != nil, row.runId == timeline.live.activeRun?.runId {
        pinned = row.text
      }
    }
    for echo in echoes where !timeline.isVisible(operation: echo.operation) {
      rows.append(DisplayRow(id: Display.itemID(operation: echo.operation), origin: .echo, text: echo.text))
    }
  }

  /// Thinking and subagent rows leave the list (HB-PROJ-02, -03).
  static func isListed(_ row: Row) -> Bool { row.type != .thinking && !row.isSubagentPanel }

  /// Pending, live and canonical user row of one operation share this ID (HB-PROJ-04).
  package static func itemID(operation: String) -> String { operationPrefix + operation }
  private static let operationPrefix = "user:op:"

  /// The operation whose row has this item ID, if it is one.
  static func operation(ofItem id: String) -> String? {
    id.hasPrefix(operationPrefix) ? String(id.dropFirst(operationPrefix.utf8.count)) : nil
  }
}

extension DisplayRow {
  init(_ row: Row, origin: Origin) {
    if row.type == .user, let operation = row.operationId { id = Display.itemID(operation: operation) } else { id = row.identity }
    self.origin = origin
    text = row.text
    let isMessage = row.message != nil
    height = RowMeasure.height(row.type, isMessage: isMessage, text: row.text)
    hasMarkdown = isMessage || row.type == .agentReply
    guard row.title != nil || isMessage else {
      content = row.text
      return
    }
    // Parts that cannot run into each other.
    var parts = [row.title ?? "", row.text]
    if let message = row.message { parts += [message.labelLine, message.delivery?.word ?? ""] }
    content = parts.joined(separator: "\u{1F}")
  }
}
