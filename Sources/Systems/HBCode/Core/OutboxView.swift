import HBCodeDialect

/// An entry as the phone shows it (HB-OUTBOX-23).
package struct ShownEntry: Hashable, Sendable {
  /// Desktop fields are the desktop's, status and error the local ones where there is a mutation or an error.
  package var entry: OutboxEntry
  /// "Desktop did not confirm this message", or nil.
  package var caption: String?
}

extension OutboxChain {
  /// Every entry that is shown, in order: the last desktop list overlaid by the local entries; what goes to the front first, a local
  /// reorder applied (HB-OUTBOX-23, HB-SHEET-04, -11).
  package var shownEntries: [ShownEntry] {
    var shown: [ShownEntry] = []
    var listedNames = Set<String>()
    for entry in desktop?.entries ?? [] { listedNames.insert(entry.operationId) }
    var placed = Set<String>()

    func local(_ id: String) -> OutboxOperation? { self[id].flatMap { $0.isDone ? nil : $0 } }
    /// The operation that stands in the slot of `id` after all edits of it.
    func top(_ id: String) -> String {
      var id = id
      for _ in 0..<operationCount {
        guard let next = self[id]?.hiddenBy, local(next) != nil else { break }
        id = next
      }
      return id
    }
    func place(_ id: String, _ desktopEntry: OutboxEntry?) {
      guard placed.insert(id).inserted else { return }
      guard let operation = self[id] else {
        if let desktopEntry { shown.append(ShownEntry(entry: desktopEntry, caption: nil)) }
        return
      }
      if operation.isDone { return }
      let isOverlaid = operation.entry.pendingMutation != nil || operation.entry.error != nil
      if let desktopEntry {
        var entry = desktopEntry
        if isOverlaid {
          entry.status = operation.entry.status
          entry.error = operation.entry.error
          entry.pendingMutation = operation.entry.pendingMutation
        }
        shown.append(ShownEntry(entry: entry, caption: operation.caption))
      } else {
        switch operation.entry.pendingMutation {
        case .submit?: shown.append(ShownEntry(entry: operation.entry, caption: operation.caption))
        case nil where operation.state == .error: shown.append(ShownEntry(entry: operation.entry, caption: nil))
        case .remove?, nil: break
        }
      }
    }

    for entry in desktop?.entries ?? [] {
      let id = top(entry.operationId)
      // An edit that the desktop lists already has a slot of its own.
      if id != entry.operationId, listedNames.contains(id) { continue }
      place(id, id == entry.operationId ? entry : nil)
    }
    for id in activeOperations where self[id]?.hiddenBy == nil && !listedNames.contains(id) { place(id, nil) }
    return ordered(shown)
  }

  private func ordered(_ shown: [ShownEntry]) -> [ShownEntry] {
    var rank: [String: Int] = [:]
    for (index, queueId) in (localOrder ?? []).enumerated() where rank[queueId] == nil { rank[queueId] = index }
    func key(_ item: ShownEntry, _ index: Int) -> (Int, Int) {
      if self[item.entry.operationId]?.isAtFront ?? false { return (0, index) }
      if localOrder == nil { return (1, index) }
      if item.entry.status == .sending { return (1, index) }
      return rank[item.entry.queueId].map { (2, $0) } ?? (3, index)
    }
    return shown.enumerated().sorted { key($0.element, $0.offset) < key($1.element, $1.offset) }.map(\.element)
  }

  /// Entries of the queue sheet (HB-SHEET-01): `queued`, with text or attachments, of the thread on screen.
  package func sheet(thread: String?) -> [OutboxEntry] {
    shownEntries.map(\.entry).filter {
      $0.status == .queued && $0.submit.threadId == thread && !($0.submit.userText.isEmpty && $0.submit.attachments.isEmpty)
    }
  }

  /// Echoes of the thread on screen in operation order (HB-PROJ-05): entries that are `sending` or of unknown outcome.
  package func echoes(thread: String?) -> [Echo] {
    if activeOperations.isEmpty, !(desktop?.entries.contains { $0.status == .sending } ?? false) { return [] }
    var echoes: [String: Echo] = [:]
    var foreign: [Echo] = []
    for item in shownEntries where item.entry.submit.threadId == thread {
      let id = item.entry.operationId
      let state = self[id]?.state
      // While a resend is under way its outcome is as unknown as before: the words do not leave the screen for a round trip.
      let isResent = state == .sent && self[id]?.isRepeated ?? false
      guard item.entry.status == .sending || state == .unknown || state == .stranded || isResent else { continue }
      let echo = Echo(operation: id, text: item.entry.submit.userText)
      if state == nil { foreign.append(echo) } else { echoes[id] = echo }
    }
    return activeOperations.compactMap { echoes[$0] } + foreign
  }
}

extension OutboxEntry {
  /// The entry without what only the desktop sets (HB-STEER-09): as the phone stores it when the user acts on it.
  var local: OutboxEntry {
    var entry = self
    entry.status = .queued
    entry.pendingMutation = nil
    entry.accepted = nil
    entry.handoff = nil
    entry.holdReason = nil
    entry.error = nil
    entry.message = nil
    return entry
  }
}
