import Contract
import HBCodeDialect
import Simulation
import Wire

/// What frames show of one session's truth, by kind, each in order of the desktop's instants (SCENARIO.md 3, step 3).
struct SessionSightings {
  /// Where a sighting comes from.
  struct Source {
    /// Twin time: when an event left; the instant at which an answer was made.
    var at: Instant
    /// When the client got it.
    var seen: Instant
    var frame: Int
    /// Nil: an event.
    var exchange: Int?
    var isEvent: Bool { exchange == nil }
    /// The latest instant at which what an answer shows can have come about: 1 ns before it was made.
    var happened: Instant { isEvent ? at : max(.zero, at - .nanoseconds(1)) }
  }

  struct Overlay {
    var source: Source
    var overlay: LiveOverlay
  }
  struct RunSign {
    var source: Source
    var event: RunEvent
  }
  struct List {
    var source: Source
    var list: OutboxList
    func has(_ operation: String) -> Bool { list.entries.contains { $0.operationId == operation } }
  }
  struct Window {
    var source: Source
    /// Canonical rows, in order.
    var rows: [Row]
    var hasOlder: Bool
    var cursor: String?
    var token: String
    /// Nil: an older page.
    var envelope: HistoryEnvelope?
    /// Of a thread, or of a place in the past: no latest window of the main timeline.
    var isPartial: Bool
    /// Nil: of the main timeline.
    var thread: String?
    /// The newest rows of its timeline.
    var isLatest: Bool
  }
  struct Update {
    var source: Source
    var updatedAt: Int64
    var title: String?
  }

  var id: String
  var desktop: String
  var overlays: [Overlay] = []
  var runSigns: [RunSign] = []
  var lists: [List] = []
  var windows: [Window] = []
  var updates: [Update] = []
  var runs: [RecordedRunLife] = []
  /// Operation → first list, first sight anywhere, instant of leaving (twin time).
  var firstListed: [String: (at: Instant, frame: Int, isEvent: Bool)] = [:]
  var firstSeen: [String: Instant] = [:]
  var left: [String: SessionSightings.Source] = [:]
  /// First list in which an entry has `accepted`.
  var steerAccepted: [String: (at: Instant, run: String, stamp: Int64)] = [:]
  /// First sight of an operation's live user row: run and order.
  var liveUser: [String: (at: Instant, row: Row)] = [:]
  /// An operation's canonical user row, as first seen.
  var canonicalUser: [String: (at: Instant, row: Row)] = [:]
  /// Start state, filled by the later steps.
  var state: SessionState
}

extension Compilation {
  mutating func session(_ id: String, socket: Int) {
    if sessions[id] == nil {
      let desktop = traffic.sockets[socket].desktop
      sessions[id] = SessionSightings(
        id: id, desktop: desktop, state: SessionState(id: id, agent: .codex, projectPath: "", updatedAt: wall))
    }
  }

  /// Changes a session in place.
  mutating func edit(_ id: String, _ change: (inout SessionSightings) -> Void) {
    change(
      &sessions[
        id, default: SessionSightings(id: id, desktop: "", state: SessionState(id: id, agent: .codex, projectPath: "", updatedAt: wall))])
  }

  mutating func readSightings() {
    for event in traffic.events { readEvent(event) }
    var invalid: [Int] = []
    for index in traffic.exchanges.indices { readAnswer(index, &invalid) }
    if !invalid.isEmpty { note("\(invalid.count) answers fail their decode and are left out", invalid) }
    for id in sessions.keys { sortSightings(id) }
  }

  private mutating func readEvent(_ event: Traffic.Event) {
    let source = SessionSightings.Source(
      at: traffic.departure(event.at, event.socket), seen: event.at, frame: event.frame, exchange: nil)
    switch event.event {
    case .overlay(let overlay):
      session(overlay.sessionId, socket: event.socket)
      if overlay.threadId == nil {
        edit(overlay.sessionId) { $0.overlays.append(SessionSightings.Overlay(source: source, overlay: overlay.overlay)) }
      }
    case .run(let run):
      session(run.sessionId, socket: event.socket)
      edit(run.sessionId) { $0.runSigns.append(SessionSightings.RunSign(source: source, event: run)) }
    case .sessionUpdated(let update):
      session(update.sessionId, socket: event.socket)
      edit(update.sessionId) {
        $0.updates.append(SessionSightings.Update(source: source, updatedAt: update.updatedAt, title: update.title))
      }
    case .outboxChanged(let change):
      session(change.sessionId, socket: event.socket)
      edit(change.sessionId) { $0.lists.append(SessionSightings.List(source: source, list: change.list)) }
    case .desktop, .relayGap, .unknown: break
    }
  }

  private mutating func readAnswer(_ index: Int, _ invalid: inout [Int]) {
    let exchange = traffic.exchanges[index]
    guard let id = exchange.session, let method = exchange.method else { return }
    session(id, socket: exchange.socket)
    if let project = exchange.request.params["projectPath"]?.nonblankString { edit(id) { $0.state.projectPath = project } }
    guard let answer = exchange.answer, case .success(let result) = answer.result else { return }
    var source = SessionSightings.Source(at: traffic.arrival(index), seen: answer.at, frame: answer.frame, exchange: index)
    let departure = traffic.departure(answer.at, exchange.socket)
    do {
      switch method {
      case .load, .loadThread:
        let request = exchange.request.historyRequest ?? .latest
        let envelope = try HistoryEnvelope.decode(result, request)
        if method == .load, showsLater(envelope, in: id, after: source.at, until: departure) { source.at = departure }
        let window = SessionSightings.Window(
          source: source, rows: envelope.timeline.filter { $0.origin == .canonical }, hasOlder: envelope.hasOlderEntries,
          cursor: envelope.oldestCursor, token: envelope.boundaryToken, envelope: envelope,
          isPartial: method == .loadThread || request == .anchored, thread: exchange.thread, isLatest: request != .anchored)
        edit(id) {
          $0.windows.append(window)
          if !window.isPartial { $0.overlays.append(SessionSightings.Overlay(source: source, overlay: envelope.overlay)) }
        }
      case .loadPageBefore, .loadThreadPageBefore:
        let page = try OlderPage.decode(result)
        let window = SessionSightings.Window(
          source: source, rows: page.timeline, hasOlder: page.hasOlderEntries, cursor: page.oldestCursor, token: page.boundaryToken,
          envelope: nil, isPartial: method == .loadThreadPageBefore, thread: exchange.thread, isLatest: false)
        edit(id) { $0.windows.append(window) }
      case .outboxLoad, .outboxSubmit, .outboxRemove, .outboxReorder, .stopAndSendNow:
        // The answer to a repeated key is the stored one: it shows the list of its time.
        if exchange.key != nil, exchange.attempt > 1 { return }
        let list = try OutboxList.decode(result)
        let later = sessions[id]?.lists.contains {
          $0.source.isEvent && $0.source.at > source.at && $0.source.at <= departure && $0.list.revision <= list.revision
        }
        if later == true { source.at = departure }
        edit(id) { $0.lists.append(SessionSightings.List(source: source, list: list)) }
      default: break
      }
    } catch {
      invalid.append(answer.frame)
    }
  }

  /// Whether an answer shows what an event says came about after the request had arrived: then it was made when it left.
  private func showsLater(_ envelope: HistoryEnvelope, in id: String, after arrival: Instant, until departure: Instant) -> Bool {
    guard arrival < departure, let session = sessions[id] else { return false }
    let within = { (source: SessionSightings.Source) in source.isEvent && source.at > arrival && source.at <= departure }
    return session.overlays.contains { within($0.source) && $0.overlay.version <= envelope.overlay.version }
      || session.runSigns.contains { within($0.source) && $0.event.kind == .started && $0.event.runId == envelope.activeRun?.runId }
  }

  private mutating func sortSightings(_ id: String) {
    guard var session = sessions[id] else { return }
    func before(_ a: SessionSightings.Source, _ b: SessionSightings.Source) -> Bool { a.at != b.at ? a.at < b.at : a.frame < b.frame }
    session.overlays.sort { before($0.source, $1.source) }
    session.runSigns.sort { before($0.source, $1.source) }
    session.lists.sort { before($0.source, $1.source) }
    session.windows.sort { before($0.source, $1.source) }
    session.updates.sort { before($0.source, $1.source) }

    // A list of a lower revision than one before it is an older one that came late.
    var greatest = Int64.min
    session.lists.removeAll { sighting in
      if sighting.list.revision < greatest { return true }
      greatest = sighting.list.revision
      return false
    }
    func see(_ operation: String, _ at: Instant) { session.firstSeen[operation] = min(session.firstSeen[operation] ?? at, at) }
    var previous: [String] = []
    for sighting in session.lists {
      let now = sighting.list.entries.map(\.operationId)
      let listed = Set(now)
      for operation in previous where !listed.contains(operation) { session.left[operation] = sighting.source }
      for entry in sighting.list.entries {
        let operation = entry.operationId
        session.left[operation] = nil
        if session.firstListed[operation] == nil {
          session.firstListed[operation] = (sighting.source.at, sighting.source.frame, sighting.source.isEvent)
        }
        see(operation, sighting.source.happened)
        if let accepted = entry.accepted, session.steerAccepted[operation] == nil {
          session.steerAccepted[operation] = (sighting.source.happened, accepted.runId, accepted.acceptedAt)
        }
      }
      previous = now
    }
    for sighting in session.overlays {
      for row in sighting.overlay.blocks where row.type == .user {
        guard let operation = row.operationId else { continue }
        see(operation, sighting.source.happened)
        if session.liveUser[operation] == nil { session.liveUser[operation] = (sighting.source.happened, row) }
      }
    }
    for window in session.windows {
      for row in window.rows where row.type == .user {
        guard let operation = row.operationId else { continue }
        see(operation, window.source.happened)
        if session.canonicalUser[operation] == nil { session.canonicalUser[operation] = (window.source.happened, row) }
      }
    }
    sessions[id] = session
  }
}
