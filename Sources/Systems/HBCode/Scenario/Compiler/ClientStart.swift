import Contract
import HBCodeDialect
import Simulation
import Wire

extension Compilation {
  /// Whether the recording begins in the middle of a connection.
  private var beginsInside: Bool { traffic.sockets.first.map { $0.opened == nil } ?? false }

  /// Whether a chat was on screen before the recording began: its first hold is a renewal, or its overlay events come before one.
  func wasOnScreen(_ session: String) -> Bool {
    guard beginsInside, let sightings = sessions[session] else { return false }
    let hold = traffic.exchanges.first { $0.method == .timelineInterest && $0.session == session }
    let overlay = sightings.overlays.first { $0.source.isEvent }
    if let overlay, hold.map({ overlay.source.frame < $0.frame }) ?? true { return true }
    // On selection a load follows at once; a renewal comes alone.
    guard let hold else { return false }
    return !traffic.exchanges.contains {
      $0.method == .load && $0.session == session && $0.at >= hold.at && $0.at - hold.at <= .milliseconds(250)
    }
  }

  /// Whether an operation was in the replay set when the recording began.
  func isInReplaySet(_ operation: Operation) -> Bool {
    guard let index = operation.submits.first, let made = instant(ofStamp: operation.entry.createdAt) else { return false }
    return made < .zero && traffic.exchanges[index].at - made > .milliseconds(250)
  }

  /// What the phone already had, in the form of the core's start state (SCENARIO.md 3, step 12).
  mutating func clientStart() -> JSON {
    var start = JSONObject()
    let desktop = traffic.sockets.first?.desktop ?? "desk-1"
    start["desktop"] = .string(desktop)
    let known = sessions.values
    if !known.isEmpty {
      start["sessions"] = .array(
        known.map { session in
          var object: JSONObject = [
            "id": .string(session.id), "agent": .string(session.state.agent.rawValue), "project": .string(session.state.projectPath),
          ]
          if let title = session.state.title { object["title"] = .string(title) }
          if session.desktop != desktop { object["desktop"] = .string(session.desktop) }
          return .object(object)
        })
    }
    if let pending = pendingAtStart() { start["replaySet"] = pending }
    if let screen = screenAtStart() { start["screen"] = screen }
    guard beginsInside else { return .object(start) }
    start["connected"] = true
    if let selected = known.first(where: { wasOnScreen($0.id) }) {
      start["selected"] = ["session": .string(selected.id), "thread": .null]
      let renewal = traffic.exchanges.first { $0.method == .timelineInterest && $0.session == selected.id }
      let heldAt = renewal.map { min(0, ($0.at.nanoseconds - 20_000_000_000) / 1_000_000) } ?? 0
      start["lease"] = ["session": .string(selected.id), "thread": .null, "heldAt": .integer(heldAt)]
      if let host = hostAtStart(selected) { start["hosts"] = [host] }
      note("the recording begins with \(selected.id) on screen", [renewal?.frame].compactMap(\.self), .assumed)
    }
    var outboxes = JSONObject()
    for session in known where !session.lists.isEmpty {
      if let list = try? session.state.outbox.json { outboxes[session.id] = list }
    }
    if !outboxes.isEmpty { start["outbox"] = .object(outboxes) }
    return .object(start)
  }

  /// What a mark says of the screen (spec G.2): `{"screen": {"markdownMs": 180}}`. Parts that no screen can have are left out.
  private mutating func screenAtStart() -> JSON? {
    guard let mark = traffic.marks.first(where: { $0.content["screen"] != nil }), let marked = mark.content["screen"]?.object else {
      return nil
    }
    let members = marked.members.filter { member in
      switch member.name {
      case "reduceMotion": member.value.bool != nil
      case "markdownMs", "applyMs": member.value.integer.map { (0...Drag.longest).contains($0) } ?? false
      case "heights":
        member.value.array?.allSatisfy { item in
          item["id"]?.nonblankString != nil && (item["text"].map { $0.string != nil } ?? true)
            && item["height"]?.double.map { (0...Drag.farthest).contains($0) } ?? false
        } ?? false
      default: false
      }
    }
    let screen = JSONObject(members)
    if marked.repeatedName != nil || members.count < marked.members.count {
      note("a mark says of the screen what cannot be: left out", [mark.frame])
    }
    guard !screen.isEmpty, screen.repeatedName == nil else { return nil }
    note("the screen is as a mark says", [mark.frame], .recorded)
    return .object(screen)
  }

  /// A kept host: the last rows of the history at the start, and the overlay of the desktop.
  private func hostAtStart(_ session: SessionSightings) -> JSON? {
    let rows = Array(session.state.history.suffix(12))
    let goesOn = session.state.historyGoesOn || rows.count < session.state.history.count
    let token = book.boundaryTokens.first { $0.session == session.id }?.token ?? "x:boundary"
    let cursor = book.cursors.first { $0.session == session.id && $0.row == rows.first?.identity }?.cursor
    let envelope = HistoryEnvelope(
      boundaryToken: token, nativeSessionId: session.state.nativeSessionId, loadState: .ready,
      storageFormat: session.state.agent.storageFormat, loadedEntries: Int64(rows.count), hasOlderEntries: goesOn,
      oldestCursor: goesOn ? cursor ?? "x:cursor:\(rows.first?.identity ?? "")" : nil, timeline: rows, overlay: session.state.overlay,
      runtime: session.state.runtime, activeRun: session.state.activeRun)
    return ["session": .string(session.id), "thread": .null, "envelope": envelope.json(.latest)]
  }

  /// Operations that were made before the recording began and are sent again in it.
  private mutating func pendingAtStart() -> JSON? {
    var scopes = OrderedMap<String, [Operation]>()
    for operation in operations.values where isInReplaySet(operation) {
      guard let session = sessions[operation.session] else { continue }
      scopes["\(session.desktop)|\(session.state.projectPath)|\(session.id)", default: []].append(operation)
      note(
        "\(operation.id) was made before the recording began: it is in the replay set",
        operation.submits.map { traffic.exchanges[$0].frame },
        .assumed)
    }
    guard !scopes.isEmpty else { return nil }
    var all = JSONObject()
    for (scope, pending) in scopes.pairs {
      var table = JSONObject()
      for operation in pending {
        let mutation = operation.submits.first.flatMap { traffic.exchanges[$0].mutation } ?? "x-\(operation.id)"
        var entry = (try? OutboxEntry(submit: operation.entry, status: .queued)) ?? nil
        entry?.pendingMutation = .submit(mutationId: mutation, intent: operation.intent)
        guard let json = try? entry?.json else { continue }
        table[operation.id] = ["state": "pending", "entry": json, "firstSentAt": .integer(operation.entry.createdAt)]
      }
      all[scope] = ["order": .array(pending.map { .string($0.id) }), "operations": .object(table)]
    }
    return ["generation": 1, "scopes": .object(all)]
  }
}
