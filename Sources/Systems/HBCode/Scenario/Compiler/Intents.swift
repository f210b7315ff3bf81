import Contract
import HBCodeDialect
import Simulation
import Wire

/// What the user did, before intents have their names.
struct IntentDraft {
  var at: Instant
  var frame: Int
  /// When its first frame left, nil for a gesture without one.
  var sentAt: Instant?
  /// Nil: a gesture of the world.
  var action: UserAction?
  /// Carried out by the world, not by the core: `restart`.
  var worldGesture: Gesture?
  /// The operation that this one is about.
  var target: String?
  /// The operation or key that it made.
  var operation: String?
  var key: String?
  /// When its premise began to hold on screen.
  var premise: Instant?
  var basis = Basis.derived
}

extension Compilation {
  /// Intents and their instants (SCENARIO.md 3, step 6). Marks of the recording take precedence over inference.
  mutating func findIntents() {
    var drafts = inferred()
    if let marked = marked(drafts) { drafts = marked }
    drafts = drafts.enumerated().sorted {
      let (a, b) = ($0.element, $1.element)
      return a.at != b.at ? a.at < b.at : a.frame != b.frame ? a.frame < b.frame : $0.offset < $1.offset
    }.map(\.element)
    for (index, draft) in drafts.enumerated() {
      let id = "i\(index + 1)"
      if let operation = draft.operation, intentOfOperation[operation] == nil { intentOfOperation[operation] = id }
      if let key = draft.key, intentOfKey[key] == nil { intentOfKey[key] = id }
    }
    for (index, draft) in drafts.enumerated() {
      guard let gesture = draft.worldGesture ?? draft.action?.made(at: stamp(draft.at)).gesture else { continue }
      let lag = draft.premise.map { max(.zero, draft.at - $0) } ?? .zero
      intents.append(
        Intent(
          id: "i\(index + 1)", at: draft.at, gesture: gesture, target: draft.target.flatMap { intentOfOperation[$0] }, lag: lag,
          basis: draft.basis))
    }
    for index in stretches.indices {
      guard let key = stopOfStretch[stretches[index].id] else { continue }
      if let intent = intentOfKey[key] { stretches[index].end = .stopped(intent: intent) }
    }
  }

  // MARK: Inference

  private mutating func inferred() -> [IntentDraft] {
    var drafts: [IntentDraft] = []
    var screen = Screen()
    // Exchanges and ends of sockets in the order of the recording.
    var closes = traffic.sockets.indices.filter { traffic.sockets[$0].closed != nil }
      .sorted { traffic.sockets[$0].closeFrame < traffic.sockets[$1].closeFrame }
    var opens = traffic.sockets.indices.filter { traffic.sockets[$0].opened != nil }
    for index in traffic.exchanges.indices {
      let exchange = traffic.exchanges[index]
      while let close = closes.first, traffic.sockets[close].closeFrame < exchange.frame {
        closes.removeFirst()
        closed(close, &screen, &drafts)
      }
      while let open = opens.first, traffic.sockets[open].firstFrame < exchange.frame {
        opens.removeFirst()
        opened(open, &screen, &drafts)
      }
      infer(index, &screen, &drafts)
    }
    for close in closes { closed(close, &screen, &drafts) }
    for open in opens { opened(open, &screen, &drafts) }
    return drafts
  }

  /// What the phone shows, as far as its requests tell.
  private struct Screen {
    var session: String?
    var thread: String?
    var isBackground = false
    var desktop: String?
    /// Mutations that have been seen.
    var keys: Set<String> = []
    var operations: Set<String> = []
    var cadence: [String: LoadTimes] = [:]
    /// By session and thread.
    var older: [String: OlderPages] = [:]

    static func list(_ session: String, _ thread: String?) -> String { session + "/" + (thread ?? "") }
    var list: String? { session.map { Screen.list($0, thread) } }
  }

  private struct LoadTimes {
    var lastStart: Instant?
    var lastEnd: Instant?
    var starts = 0
    var failures = 0
  }

  private mutating func closed(_ index: Int, _ screen: inout Screen, _ drafts: inout [IntentDraft]) {
    let socket = traffic.sockets[index]
    guard let at = socket.closed, socket.closedBy == "client", socket.closeCode == 1000 || socket.closeCode == 1001 else { return }
    let next = traffic.sockets[(index + 1)...].first
    if let next, next.desktop != socket.desktop {
      drafts.append(IntentDraft(at: at, frame: socket.closeFrame, action: .selectDesktop(next.desktop)))
      screen.desktop = next.desktop
      screen.session = nil
    } else if !screen.isBackground {
      drafts.append(IntentDraft(at: at, frame: socket.closeFrame, action: .background))
      screen.isBackground = true
    }
  }

  private mutating func opened(_ index: Int, _ screen: inout Screen, _ drafts: inout [IntentDraft]) {
    let socket = traffic.sockets[index]
    guard let at = socket.opened else { return }
    if let desktop = screen.desktop, desktop != socket.desktop {
      drafts.append(IntentDraft(at: at, frame: socket.firstFrame, action: .selectDesktop(socket.desktop), basis: .assumed))
      screen.session = nil
    }
    screen.desktop = socket.desktop
    // The phone opens sockets while it is in the foreground only.
    if screen.isBackground {
      drafts.append(IntentDraft(at: at, frame: socket.firstFrame, action: .foreground))
      screen.isBackground = false
    }
  }

  private mutating func infer(_ index: Int, _ screen: inout Screen, _ drafts: inout [IntentDraft]) {
    let exchange = traffic.exchanges[index]
    guard let method = exchange.method, let session = exchange.session else {
      if exchange.method == .sessionCreate { note("session.create is not replayed", [exchange.frame], .assumed) }
      return
    }
    let at = exchange.at
    let ids = ActionIDs(mutationId: exchange.mutation)
    let isRepeat = exchange.key.map { !screen.keys.insert($0).inserted } ?? false
    switch method {
    case .timelineInterest:
      if exchange.request.params["hold"]?.bool == false {
        if screen.session == session, !screen.isBackground {
          drafts.append(IntentDraft(at: at, frame: exchange.frame, sentAt: exchange.at, action: .background))
          screen.isBackground = true
        }
        return
      }
      if screen.isBackground {
        drafts.append(IntentDraft(at: at, frame: exchange.frame, sentAt: exchange.at, action: .foreground))
        screen.isBackground = false
      }
      select(session, exchange, &screen, &drafts)
    case .load, .loadThread:
      if exchange.request.historyRequest == .latest {
        if screen.session != session { select(session, exchange, &screen, &drafts) }
        judgeLoad(index, session, &screen, &drafts)
      } else {
        note("an anchored load is no intent here", [exchange.frame], .assumed)
      }
    case .loadPageBefore, .loadThreadPageBefore:
      inferOlder(index, session, &screen, &drafts)
    case .outboxSubmit: inferSubmit(index, session, ids, isRepeat, &screen, &drafts)
    case .outboxRemove:
      guard !isRepeat, let operation = exchange.request.params["operationId"]?.string else { return }
      drafts.append(
        IntentDraft(
          at: at, frame: exchange.frame, sentAt: exchange.at, action: .remove(operation: operation, ids: ids), target: operation,
          key: exchange.key,
          premise: shownInQueue(operation, session, before: at)))
    case .outboxReorder:
      guard !isRepeat else { return }
      inferReorder(index, session, ids, &drafts)
    case .stop:
      guard !isRepeat else { return }
      let run = exchange.request.params["runId"]?.string ?? ""
      let life = sessions[session]?.runs.first { $0.run.runId == run }
      let head = life?.parts.last { $0.begin <= at }?.operation
      drafts.append(
        IntentDraft(
          at: at, frame: exchange.frame, sentAt: exchange.at, action: .stop(session: session, ids: ids), target: head, key: exchange.key,
          premise: runShown(run, session)))
    case .stopAndSendNow: if !isRepeat { note("Stop and send now is not replayed", [exchange.frame], .assumed) }
    case .sessionCreate, .existingSessions, .previewExistingSession, .outboxLoad, .uploadBegin, .uploadChunk, .uploadFinish,
      .uploadCancel:
      break
    }
  }

  private mutating func select(
    _ session: String, _ exchange: Traffic.Exchange, _ screen: inout Screen, _ drafts: inout [IntentDraft]
  ) {
    guard screen.session != session || screen.thread != exchange.thread else { return }
    let isFirst = screen.session == nil
    returnToBottom(at: exchange.at, exchange.frame, &screen, &drafts)
    screen.session = session
    screen.thread = exchange.thread
    screen.older[Screen.list(session, exchange.thread), default: OlderPages()].mount(at: exchange.at)
    // What was on screen when the recording began in the middle was selected before it.
    if isFirst, traffic.sockets[exchange.socket].opened == nil, wasOnScreen(session) { return }
    drafts.append(
      IntentDraft(at: exchange.at, frame: exchange.frame, sentAt: exchange.at, action: .select(session: session, thread: exchange.thread)))
  }

  /// An older page that nothing explains: the user drew the list up (assumed).
  private mutating func inferOlder(_ index: Int, _ session: String, _ screen: inout Screen, _ drafts: inout [IntentDraft]) {
    let exchange = traffic.exchanges[index]
    let list = Screen.list(session, exchange.thread)
    let why = screen.older[list, default: OlderPages()].page(
      at: exchange.at, end: exchange.answer?.at, isOk: exchange.isOk, rows: shownRows(ofAnswerTo: index, in: session))
    if let why {
      note("an older page at \(exchange.at) is explained by \(why)", [exchange.frame])
      return
    }
    let cursor = sessions[session]?.windows.first { $0.cursor == exchange.request.params["cursor"]?.string }
    drafts.append(
      IntentDraft(
        at: exchange.at, frame: exchange.frame, sentAt: exchange.at, action: .older, premise: cursor?.source.seen, basis: .assumed))
  }

  /// The user sends or selects: a list that was drawn up went back to its bottom before, nobody knows when (assumed).
  private mutating func returnToBottom(at: Instant, _ frame: Int, _ screen: inout Screen, _ drafts: inout [IntentDraft]) {
    guard let list = screen.list, let drawn = screen.older[list]?.drawn, drawn <= at else { return }
    screen.older[list]?.returnToBottom()
    drafts.append(IntentDraft(at: at, frame: frame, action: .scrollToLatest, basis: .assumed))
  }

  private mutating func inferSubmit(
    _ index: Int, _ session: String, _ ids: ActionIDs, _ isRepeat: Bool, _ screen: inout Screen, _ drafts: inout [IntentDraft]
  ) {
    let exchange = traffic.exchanges[index]
    guard let submit = submit(exchange) else { return }
    let entry = submit.entry
    guard let operation = operations[entry.operationId] else {
      if !isRepeat, isApproval(submit, in: session, index) {
        drafts.append(
          IntentDraft(
            at: exchange.at, frame: exchange.frame, sentAt: exchange.at, action: .sendNow(operation: entry.operationId, ids: ids),
            key: exchange.key,
            premise: shownInQueue(entry.operationId, session, before: exchange.at)))
      }
      return
    }
    var ids = ids
    guard screen.operations.insert(entry.operationId).inserted else {
      if isRepeat || operation.resentKeys.contains(exchange.key ?? "") { return }
      // Another mutation of a listed operation: Send now.
      drafts.append(
        IntentDraft(
          at: exchange.at, frame: exchange.frame, sentAt: exchange.at, action: .sendNow(operation: entry.operationId, ids: ids),
          target: entry.operationId,
          key: exchange.key, premise: shownInQueue(entry.operationId, session, before: exchange.at)))
      return
    }
    if operation.copyOf != nil || isInReplaySet(operation) { return }
    ids.queueId = entry.queueId
    ids.operationId = entry.operationId
    var at = exchange.at
    // A frame that waited (chain busy, offline): the user acted when the entry was made.
    if let made = instant(ofStamp: entry.createdAt), made >= .zero, at - made > .milliseconds(250) {
      note("\(entry.operationId) was made at \(made), \(at - made) before its first frame", [exchange.frame])
      at = made
    }
    if let old = submit.supersedes {
      drafts.append(
        IntentDraft(
          at: at, frame: exchange.frame, sentAt: exchange.at,
          action: .edit(
            operation: old, text: entry.userText, send: submit.intent == .automatic, ids: ids,
            createdAt: entry.createdAt), target: old, operation: entry.operationId, key: exchange.key,
          premise: shownInQueue(old, session, before: at)))
      return
    }
    var options = JSONObject()
    if let selection = entry.selection {
      options["selection"] = ["model": .string(selection.model), "reasoningEffort": .string(selection.reasoningEffort)]
    }
    if entry.speedMode != "standard" { options["speedMode"] = .string(entry.speedMode) }
    if entry.accessLevel != "Full auto" { options["accessLevel"] = .string(entry.accessLevel) }
    if entry.promptText != entry.userText { options["promptText"] = .string(entry.promptText) }
    options["createdAt"] = .integer(entry.createdAt)
    if session == screen.session { returnToBottom(at: at, exchange.frame, &screen, &drafts) }
    if !entry.attachments.isEmpty { note("the attachments of \(entry.operationId) are not replayed", [exchange.frame], .assumed) }
    drafts.append(
      IntentDraft(
        at: at, frame: exchange.frame, sentAt: exchange.at,
        action: .send(text: entry.userText, session: session, thread: entry.threadId, ids: ids, options: options),
        operation: entry.operationId, key: exchange.key))
  }

  /// A new order as one move, if one explains it; else as the moves that make it, the last of which sends.
  private mutating func inferReorder(_ index: Int, _ session: String, _ ids: ActionIDs, _ drafts: inout [IntentDraft]) {
    let exchange = traffic.exchanges[index]
    let wanted = exchange.request.params["queueIds"]?.array?.compactMap(\.string) ?? []
    let known = sessions[session]?.lists.last { $0.source.seen <= exchange.at && $0.source.frame < exchange.frame }
    let queued = (known?.list.entries ?? []).filter { $0.status == .queued }.map(\.queueId)
    let order = queued.filter(wanted.contains)
    let target = wanted.filter(order.contains)
    guard order.count == target.count, order != target, Set(order).count == order.count else {
      note("the reorder of \(session) at \(exchange.at) changes no known order", [exchange.frame], .assumed)
      return
    }
    func draft(_ move: String, _ to: Int, _ ids: ActionIDs) -> IntentDraft {
      let operation = known?.list.entries.first { $0.queueId == move }?.operationId
      return IntentDraft(
        at: exchange.at, frame: exchange.frame, sentAt: exchange.at, action: .reorder(queueId: move, to: to, ids: ids), target: operation,
        key: ids.mutationId == nil ? nil : exchange.key,
        premise: operation.flatMap { shownInQueue($0, session, before: exchange.at) } ?? known?.source.seen)
    }
    for move in order {
      var rest = order.filter { $0 != move }
      guard let to = target.firstIndex(of: move), to <= rest.count else { continue }
      rest.insert(move, at: to)
      if rest == target {
        drafts.append(draft(move, to, ids))
        return
      }
    }
    note("the reorder of \(session) at \(exchange.at) is more than one move", [exchange.frame], .assumed)
    var current = order
    var moves: [(String, Int)] = []
    for (place, move) in target.enumerated() where current[place] != move {
      current.removeAll { $0 == move }
      current.insert(move, at: place)
      moves.append((move, place))
    }
    for (number, move) in moves.enumerated() {
      drafts.append(draft(move.0, move.1, number == moves.count - 1 ? ids : ActionIDs()))
    }
  }

  /// When the phone first showed an operation as a queued entry, or its outcome became unknown.
  private func shownInQueue(_ operation: String, _ session: String, before at: Instant) -> Instant? {
    let listed = sessions[session]?.lists.first { list in
      list.source.seen <= at && list.list.entries.contains { $0.operationId == operation && $0.status == .queued }
    }?.source.seen
    guard let made = operations[operation] else { return listed }
    // Twenty seconds after a frame without an answer.
    let doubtful = made.submits.map { traffic.exchanges[$0] }.first { $0.answer == nil || ($0.answer?.at ?? .zero) - $0.at >= .seconds(20) }
    let unknown = doubtful.map { $0.at + .seconds(20) }.flatMap { $0 <= at ? $0 : nil }
    return [listed, unknown].compactMap(\.self).min()
  }

  /// When the phone first showed a run.
  private func runShown(_ run: String, _ session: String) -> Instant? {
    guard let sightings = sessions[session] else { return nil }
    let started = sightings.runSigns.first { $0.event.runId == run && $0.event.kind == .started }?.source.seen
    let answered = sightings.windows.first { $0.envelope?.activeRun?.runId == run }?.source.seen
    return [started, answered].compactMap(\.self).min()
  }

  /// A load that no rule of LOAD explains within its band is a refresh.
  private mutating func judgeLoad(_ index: Int, _ session: String, _ screen: inout Screen, _ drafts: inout [IntentDraft]) {
    let exchange = traffic.exchanges[index]
    let at = exchange.at
    var times = screen.cadence[session] ?? LoadTimes()
    defer {
      times.lastStart = at
      times.starts += 1
      times.lastEnd = exchange.answer?.at ?? at + .seconds(20)
      if exchange.isOk { times.failures = 0 } else { times.failures += 1 }
      screen.cadence[session] = times
      if exchange.isOk, let answer = exchange.answer {
        screen.older[Screen.list(session, exchange.thread), default: OlderPages()]
          .window(shownRows(ofAnswerTo: index, in: session), at: answer.at)
      }
    }
    guard let lastStart = times.lastStart, let lastEnd = times.lastEnd else { return }
    let slack = Interval.milliseconds(50)
    func isNear(_ a: Instant, _ b: Instant) -> Bool { a - b <= slack && b - a <= slack }
    // A trigger since the last start, and a start as soon as the rules let it.
    let triggers = triggers(session, from: lastStart, to: at, screen: drafts)
    let asSoonAs = [lastStart + .seconds(2), lastEnd]
    if triggers.contains(where: { trigger in isNear(at, trigger) || asSoonAs.contains { isNear(at, $0) && trigger <= at } }) { return }
    // Retries of a first load: 0.6 to 3 s after the failure.
    if times.failures > 0, at >= lastEnd, at - lastEnd <= .milliseconds(3_050) { return }
    // Periodic: 10 to 13 s, or 60 to 78 s, after an arm; skipped ticks arm again.
    let arms =
      [lastEnd, lastStart]
      + (sessions[session]?.runSigns.filter { $0.source.seen >= lastStart && $0.source.seen < at }.map(\.source.seen) ?? [])
      + traffic.exchanges[..<index].filter { $0.method == .outboxSubmit && $0.session == session && $0.at >= lastStart }.map(\.at)
    for arm in arms {
      let waited = at - arm
      for (least, most) in [(Interval.seconds(10), Interval.seconds(13)), (.seconds(60), .seconds(78))] {
        var low = least - slack
        var high = most + slack
        while low <= waited {
          if waited <= high { return }
          low = low + least
          high = high + most
        }
      }
    }
    note("a load at \(at) that no rule explains: taken as a refresh", [exchange.frame], .assumed)
    drafts.append(IntentDraft(at: at, frame: exchange.frame, sentAt: exchange.at, action: .refresh, basis: .assumed))
  }

  /// Instants at which something asked for a load (HB-LOAD-04, -05), at the client.
  private func triggers(_ session: String, from: Instant, to: Instant, screen: [IntentDraft]) -> [Instant] {
    var found: [Instant] = []
    func offer(_ at: Instant) { if at >= from, at <= to { found.append(at) } }
    guard let sightings = sessions[session] else { return [] }
    for sign in sightings.runSigns where sign.event.kind != .started { offer(sign.source.seen) }
    for update in sightings.updates { offer(update.source.seen) }
    var epoch: Int64?
    for sighting in sightings.overlays {
      if sighting.source.isEvent, epoch.map({ sighting.overlay.version.epoch > $0 }) ?? true { offer(sighting.source.seen) }
      if !sighting.source.isEvent { epoch = max(epoch ?? 0, sighting.overlay.version.epoch) }
    }
    for socket in traffic.sockets { if let opened = socket.opened { offer(opened) } }
    for event in traffic.events {
      switch event.event {
      case .desktop, .relayGap: offer(event.at)
      default: break
      }
    }
    for draft in screen {
      switch draft.action {
      case .select, .foreground, .selectDesktop: offer(draft.at)
      default: break
      }
    }
    for exchange in traffic.exchanges where exchange.method == .timelineInterest && exchange.session == session {
      if let answer = exchange.answer { offer(answer.at) }
    }
    return found
  }
}

extension UserAction {
  /// This gesture without a `createdAt` that it has anyway when it is made at `stamp`, epoch milliseconds.
  fileprivate func made(at stamp: Int64) -> UserAction {
    switch self {
    case .send(let text, let session, let thread, let ids, var options):
      if options["createdAt"]?.integer == stamp { options["createdAt"] = nil }
      return .send(text: text, session: session, thread: thread, ids: ids, options: options)
    case .edit(let operation, let text, let send, let ids, stamp): return .edit(operation: operation, text: text, send: send, ids: ids)
    default: return self
    }
  }
}
