import ClientKit
import Contract
import HBCodeDialect
import Simulation
import Wire

/// What the user does, and what the screen lets the user do.
extension Phone {
  /// The client states of `while=`, each with a sentence.
  package static let states: [(name: String, meaning: String)] = [
    ("connected", "the socket is usable"),
    ("offline", "the socket is down, or the desktop is"),
    ("background", "the app is in the background"),
    ("loading", "a latest-window load of the chat on screen is in flight"),
    ("loading-older", "an older page of the chat on screen is in flight"),
    ("run-active", "the chat on screen shows a run"),
    ("sending", "a submit, removal or reorder is in flight"),
    ("checking", "an outbox check is in flight"),
    ("message-waiting", "a message of the chat on screen is not delivered yet"),
    ("unconfirmed", "the outcome of a mutation is unknown"),
    ("covered", "the cover of a newly shown chat is up"),
    ("dragging", "a finger is on the list"),
    ("decelerating", "the list slows down after a drag"),
    ("following", "the list scrolls to its end"),
    ("update-held", "an update of the list waits for it to rest"),
    ("restoring", "an older page is being put in place"),
    ("preparing", "a visible row prepares its Markdown"),
    ("composer-open", "the composer or a preview is open"),
  ]

  package func holds(state: String) -> Bool {
    switch state {
    case "connected": isUp
    case "offline": !isUsable
    case "background": !isActive
    case "loading": screenHost?.scheduler.active != nil
    case "loading-older": screenHost?.older.isInFlight ?? false
    case "run-active": screenHost?.timeline.live.activeRun != nil
    case "sending": requests.awaits(.outboxSubmit) || requests.awaits(.outboxRemove) || requests.awaits(.outboxReorder)
    case "checking": requests.awaits(.outboxLoad)
    case "message-waiting": screen.flatMap { chains[$0.main]?.hasPending } ?? false
    case "unconfirmed": chains.keys.contains { chains[$0]?.hasUnknownOutcome ?? false }
    case "covered": view?.isCovered ?? false
    case "dragging": hasFinger
    case "decelerating": if case .decelerating? = view?.list.motion { true } else { false }
    case "following": if case .following? = view?.list.motion { true } else { false }
    case "update-held": view?.held.version != nil
    case "restoring": view?.restore != nil
    case "preparing": view?.list.isPreparing ?? false
    case "composer-open": isComposerOpen || isPreviewOpen
    default: false
    }
  }

  /// A list that can be scrolled: mounted and not covered.
  var isListOnScreen: Bool { view?.isMounted ?? false && view?.isCovered == false }
  /// A finger is on the list.
  var hasFinger: Bool { if case .dragging? = view?.list.motion { true } else { false } }
  /// One hand: a list that the user can take now.
  private var isListFree: Bool { isListOnScreen && !hasFinger }

  var screenHost: Host? { screen.flatMap(host) }

  // MARK: Premises

  package func premise(of gesture: Gesture) -> Premise {
    guard let action = try? UserAction(gesture) else { return .holds }
    switch action {
    case .send(_, let session, let thread, _, _):
      guard let screen else { return .waits }
      return session.map { $0 == screen.session && thread == screen.thread } ?? true ? .holds : .waits
    case .type, .refresh: return screen == nil ? .waits : .holds
    case .select(let session, _): return sessions[session] == nil ? .waits : .holds
    case .selectDesktop, .background, .foreground: return .holds
    case .stop(let session, _):
      if let session, session != screen?.session { return .waits }
      return screenHost?.timeline.live.activeRun == nil ? .waits : .holds
    case .edit(let operation, _, _, _, _), .remove(let operation, _): return premise(ofEntry: operation, sendNow: false)
    case .sendNow(let operation, _): return premise(ofEntry: operation, sendNow: true)
    case .reorder(let queueId, _, _): return premise(ofReorder: queueId)
    case .drag, .tapStatusBar, .scrollToLatest:
      return isListFree ? .holds : .waits
    case .composer, .preview, .sheet: return screen == nil ? .waits : .holds
    case .reduceMotion: return .holds
    case .older:
      guard isListFree, let host = screenHost else { return .waits }
      // Not whether 0.25 s have passed: a premise is asked at instants that the core does not know.
      return host.timeline.pagination?.oldestCursor != nil && !host.older.isInFlight ? .holds : .waits
    }
  }

  /// The entry is listed and queued, or its outcome is unknown (SCENARIO.md 2).
  private func premise(ofEntry operation: String, sendNow: Bool) -> Premise {
    if chains.keys.contains(where: { chains[$0]?[operation]?.isDone ?? false }) { return .gone }
    guard let screen, let chain = chains[screen.main] else { return .waits }
    switch chain[operation]?.state {
    case .new?, .sent?, .rejected?, .removing?: return .waits
    case .stranded? where sendNow: return .waits
    case .unknown?, .retry?, .stranded?, .error?: return .holds
    case .confirmed?, nil:
      if chain[operation]?.hiddenBy != nil { return .gone }
      if let entry = chain.listed(operation) { return entry.status == .queued ? .holds : .waits }
      return screenHost?.timeline.isVisible(operation: operation) ?? false ? .gone : .waits
    case .done?: return .gone
    }
  }

  private func premise(ofReorder queueId: String) -> Premise {
    guard let screen, let chain = chains[screen.main] else { return .waits }
    if chain.sheet(thread: screen.thread).contains(where: { $0.queueId == queueId }) { return .holds }
    let owners = chain.operations.filter { $0.operation.entry.queueId == queueId }
    return !owners.isEmpty && owners.allSatisfy(\.operation.isDone) ? .gone : .waits
  }

  // MARK: Gestures

  /// Makes a gesture. What the screen does not allow is refused and noted.
  mutating func make(_ gesture: Gesture) {
    let action: UserAction
    do throws(JSONError) { action = try UserAction(gesture) } catch { return refuse(error.description) }
    switch action {
    case .send(let text, _, _, let ids, let options): send(text, ids, options)
    case .type(let text):
      guard let screen else { return refuse("no chat is on screen") }
      setDraft(text, of: screen)
      note("composer", ["session": .string(screen.session), "cause": "typed", "text": .string(text)])
    case .select(let session, let thread):
      guard let info = sessions[session] else { return refuse("no session \(session) in the list") }
      let key = info.key(thread: thread)
      if info.desktop != desktop { return selectDesktop(info.desktop, chat: key) }
      if key == screen { markStale(key, .selected) } else { show(key, reason: .selected) }
    case .selectDesktop(let name):
      if name != desktop { selectDesktop(name) }
    case .refresh:
      guard let screen else { return refuse("no chat is on screen") }
      markStale(screen, .refresh)
    case .edit(let operation, let text, let send, let ids, let createdAt): edit(operation, text, send: send, ids, createdAt: createdAt)
    case .remove(let operation, let ids):
      guard let (lane, mutationId) = lane(of: operation, ids, sendNow: false) else { return }
      withChain(lane) { chain, situation, effects in chain.remove(operation, mutationId: mutationId, situation, &effects) }
    case .sendNow(let operation, let ids):
      guard let (lane, mutationId) = lane(of: operation, ids, sendNow: true) else { return }
      withChain(lane) { chain, situation, effects in chain.sendNow(operation, mutationId: mutationId, situation, &effects) }
    case .reorder(let queueId, let place, let ids):
      guard let screen else { return refuse("no chat is on screen") }
      let mutationId = ids.mutationId ?? freshIdentifier()
      withChain(screen.main) { chain, situation, effects in
        chain.reorder(queueId: queueId, to: place, mutationId: mutationId, situation, &effects)
      }
    case .stop(_, let ids): stop(ids)
    case .older: drawNearTop()
    case .drag(let finger): drag(finger)
    case .tapStatusBar: tapStatusBar()
    case .scrollToLatest: scrollToLatest()
    case .composer(let open): setComposer(open: open)
    case .preview(let open): setPreview(open: open)
    case .sheet(let open): note("ui", ["sheet": .string(open ? "open" : "closed")])
    case .reduceMotion(let isOn): setReduceMotion(isOn)
    case .background: lifecycle(.background)
    case .foreground: lifecycle(.foreground)
    }
  }

  mutating func refuse(_ why: String) { note("refused", ["do": .string(action?.name ?? ""), "why": .string(why)]) }

  /// Composer send (HB-OUTBOX-25); during a run a steer for it (HB-STEER-01).
  private mutating func send(_ text: String, _ ids: ActionIDs, _ options: JSONObject) {
    guard let screen, let host = screenHost, let info = sessions[screen.session] else { return refuse("no chat is on screen") }
    if text.isBlank { return refuse("there is nothing to send") }
    let run = host.timeline.live.activeRun
    var selection: ModelSelection?
    if let model = options["selection"]?["model"]?.string, let effort = options["selection"]?["reasoningEffort"]?.string {
      selection = ModelSelection(model: model, reasoningEffort: effort)
    }
    let mutationId = ids.mutationId ?? freshIdentifier()
    let entry: OutboxEntry
    do throws(DecodeFailure) {
      let submit = try SubmitEntry(
        queueId: ids.queueId ?? freshIdentifier(), operationId: ids.operationId ?? freshIdentifier(), userText: text,
        promptText: options["promptText"]?.string ?? text, sendMode: run == nil ? .queue : .steerRunning,
        expectedActiveRunId: run?.runId, threadId: screen.thread, selection: selection,
        speedMode: info.agent == .claude ? Phone.standardSpeed : options["speedMode"]?.string ?? Phone.standardSpeed,
        accessLevel: options["accessLevel"]?.string ?? info.agent.defaultAccessLevel,
        createdAt: options["createdAt"]?.wireInteger ?? wallMilliseconds)
      entry = try OutboxEntry(submit: submit, status: .sending, pendingMutation: .submit(mutationId: mutationId, intent: .automatic))
    } catch { return refuse(error.reason) }
    withChain(screen.main) { chain, situation, effects in chain.submit(entry, situation, &effects) }
    setDraft("", of: screen)
  }

  /// Speed mode of every Claude entry, and of a composer that says nothing (HB-AGENT-11).
  private static let standardSpeed = "standard"

  /// Edit, then save: `enqueue` in the same slot; edit, then send: `automatic`, at the front, `sending` (HB-SHEET-05, -06). The new
  /// entry is the user's own message (HB-HOLD-04).
  private mutating func edit(_ operation: String, _ text: String, send: Bool, _ ids: ActionIDs, createdAt: Int64?) {
    guard let screen, let old = chains[screen.main]?.entry(operation), premise(ofEntry: operation, sendNow: false) == .holds else {
      return refuse("the entry cannot be edited now")
    }
    if text.isBlank { return refuse("there is nothing to send") }
    let mutationId = ids.mutationId ?? freshIdentifier()
    let entry: OutboxEntry
    do throws(DecodeFailure) {
      let submit = try SubmitEntry(
        queueId: ids.queueId ?? old.queueId, operationId: ids.operationId ?? freshIdentifier(), userText: text, promptText: text,
        sendMode: .queue, threadId: old.submit.threadId, selection: old.submit.selection, speedMode: old.submit.speedMode,
        accessLevel: old.submit.accessLevel, attachments: old.submit.attachments, createdAt: createdAt ?? wallMilliseconds)
      entry = try OutboxEntry(
        submit: submit, status: send ? .sending : .queued,
        pendingMutation: .submit(mutationId: mutationId, intent: send ? .automatic : .enqueue))
    } catch { return refuse(error.reason) }
    withChain(screen.main) { chain, situation, effects in
      chain.submit(entry, supersedes: operation, atFront: send, situation, &effects)
    }
  }

  /// The session of an entry that the user may act on now, and the mutation to make; refuses and notes it otherwise.
  private mutating func lane(of operation: String, _ ids: ActionIDs, sendNow: Bool) -> (HostKey, mutationId: String)? {
    guard let screen, premise(ofEntry: operation, sendNow: sendNow) == .holds else {
      refuse("the entry does not allow it now")
      return nil
    }
    return (screen.main, ids.mutationId ?? freshIdentifier())
  }

  /// The Stop control (spec B.2): not in the serial chain, not repeated.
  private mutating func stop(_ ids: ActionIDs) {
    guard let screen, let run = screenHost?.timeline.live.activeRun else { return refuse("no run is on screen") }
    if !isUsable { return refuse("not_connected") }
    send(
      .stop, ["sessionId": .string(screen.session), "runId": .string(run.runId)], mutationId: ids.mutationId ?? freshIdentifier(),
      .stop(screen))
  }
}

extension Agent {
  /// The access level of a composer that says nothing (HB-AGENT-12).
  fileprivate var defaultAccessLevel: String {
    switch self {
    case .codex: "Full auto"
    case .claude: "Accept edits"
    }
  }
}
