import ClientKit
import Contract
import HBCodeDialect
import Simulation
import Wire

/// The client core of hbcode: one phone, one socket, one chat on screen (spec A).
///
/// Routing only: what happens in one concern is decided by `OverlayReducer`, `LoadScheduler`, `OutboxChain`, …; this type hands them
/// the events and turns what they decide into effects.
///
/// Besides the common kinds (`accepted`, `says`) it notes the kinds of spec E.1: `op`, `store`, `req`, `res`, `event`, `load.start`,
/// `load.end`, `older.start`, `older.end`, `overlay`, `epoch`, `lease.hold`, `lease.release`, `lease.ack`, `host.stage`, `host.commit`,
/// `host.release`, `host.park`, `host.activate`, `show`, `composer`, and of its own `queue` (entries on screen), `connection`,
/// `frame.dropped` and `refused` (a gesture that the screen does not allow). Operations stand in the field `operation`.
package struct Phone: ClientCore {
  let settings: CoreSettings
  let startState: StartState
  private let startProblem: JSONError?
  /// What survived; read at launch, written by effects only.
  private let restored: Store
  private let reader = HBCodeReader()

  var out: [Effect] = []
  var now = Instant.zero
  /// Steps of the wall clock since this launch.
  private var wallShift = Interval.zero

  private var connection: ConnectionID?
  private var connectionsOpened = 0
  var isUp = false
  private var isDesktopOffline = false
  /// The first connection was usable before 0: it does not *become* usable.
  private var continuesConnection = false
  var isActive = true
  var desktop: String
  var sessions = OrderedMap<String, SessionInfo>()
  /// Greatest `session:updated` seen (HB-LOAD-06).
  private var updatedAt: [String: Int64] = [:]

  var cache = HostCache()
  /// The viewer of a subagent thread, outside the cache (HB-HOST-13).
  var viewer: Host?
  var screen: HostKey?
  private var selections = OrderedMap<String, HostKey>()
  var lease = Lease()
  var requests = RequestTable()
  private var attempts: [String: Int] = [:]
  var chains = OrderedMap<HostKey, OutboxChain>()
  var replaySet = ReplaySet()
  private var hasUnstoredWrites = false
  var drafts = OrderedMap<HostKey, String>()
  private var drawCounts: [String: Int] = [:]
  private var idsMade = 0
  private var loadsMade = 0
  /// The gesture that is being handled: `accepted` names it.
  var action: Gesture?

  /// The mounted view of the chat on screen; its host is `screen`'s.
  var view: TimelineView?
  /// The timeline identity of each viewport, a counter: one that comes back goes on counting (HB-EPOCH-01, -04).
  var timelineIdentities: [HostKey: Int] = [:]
  var isComposerOpen = false
  var isPreviewOpen = false
  var reduceMotion = false
  /// Faults of the screen that stay in force.
  var screenFaults: [ScreenFault] = []
  var hasDisplayLink = false
  /// The instant for which the timer of the list is armed.
  var listDue: Instant?

  private var isScreenChanged = false
  /// Only live overlay changes since the last look: they wait for their interval (HB-REND-01).
  private var isLiveChanged = false
  private var isQueueChanged = false
  private var lastShown: (key: HostKey?, rows: [DisplayRow]) = (nil, [])
  private var lastQueue: (key: HostKey?, entries: [ShownEntry]) = (nil, [])

  /// `settings.start` is a `StartState`; one that cannot be read counts as empty and is noted at the launch.
  package init(settings: CoreSettings, store: Store) {
    self.settings = settings
    restored = store
    do throws(JSONError) {
      startState = try StartState(json: settings.start)
      startProblem = nil
    } catch {
      startState = StartState()
      startProblem = error
    }
    desktop = startState.desktop
    reduceMotion = startState.measure.reduceMotion
  }

  package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    self.now = now
    switch input {
    case .connection(let id, let up):
      if id == connection { connectionChanged(up) }
    case .received(let frame):
      receive(frame)
    case .fired(let timer):
      fired(timer)
    case .user(let gesture):
      action = gesture
      make(gesture)
      action = nil
    case .displayFrame: displayFrame()
    case .screen(let fault): take(fault)
    case .lifecycle(let change):
      lifecycle(change)
    case .wallClockStepped(let step):
      wallShift = wallShift + step
    }
    refresh()
    serveList()
    defer { out = [] }
    return out
  }

  private mutating func take(_ fault: ScreenFault) {
    if case .loseStop = fault {} else { screenFaults.append(fault) }
    view?.list.take(fault)
  }

  /// Epoch milliseconds that the device shows now; only stamps and the 48 h rule use them.
  var wallMilliseconds: Int64 {
    let passed = (now + wallShift).nanoseconds / 1_000_000
    let (sum, overflows) = settings.wallClockMilliseconds.addingReportingOverflow(passed)
    // What is stamped must be an integer of the wire.
    return overflows ? largestSafeInteger : min(max(sum, -largestSafeInteger), largestSafeInteger)
  }

  /// The connection is up and the desktop can take a request.
  var isUsable: Bool { isUp && !isDesktopOffline }

  // MARK: Effects

  mutating func note(_ kind: String, _ fields: JSONObject = [:]) { out.append(.note(Observation(kind, fields))) }

  /// Gives a request to the socket and starts its time limit. The caller has checked that the connection is up.
  @discardableResult
  mutating func send(_ method: Method, _ params: JSONObject, mutationId: String? = nil, _ purpose: RequestPurpose) -> String? {
    guard let connection, isUp else { return nil }
    let id = requests.add(method, purpose)
    let key = mutationId.map { method.key(mutationId: $0) }
    let message = RequestMessage(id: id, method: method.rawValue, params: params, idempotencyKey: key)
    var fields: JSONObject = ["id": .string(id), "method": .string(method.rawValue)]
    if let key {
      attempts[key, default: 0] += 1
      fields["key"] = .string(key)
      fields["attempt"] = .int(attempts[key] ?? 1)
    }
    fields["paramsHash"] = .string(String(SHA256Digest.hex(JSONWriter.canonical(.object(params))).prefix(Phone.hashLength)))
    note("req", fields)
    out.append(.send(Frame.text(message.json, connection: connection, direction: .out, at: now)))
    out.append(.arm(TimerName.request(id).id, at: now + method.limit))
    return id
  }

  /// Digits of a params hash in the trace.
  private static let hashLength = 16

  /// The next u of a wait: the k-th wait of a purpose at an object takes its k-th draw (spec A).
  mutating func draw(_ purpose: String, _ object: String, in band: ClosedRange<Double>) -> Double {
    let name = purpose + ":" + object
    let k = drawCounts[name] ?? 0
    drawCounts[name] = k + 1
    return settings.draws.u(purpose, object, k, in: band)
  }

  /// An identifier that a gesture does not carry (HB-OUTBOX-26): prefix `x-`, unique in all launches of a run.
  mutating func freshIdentifier() -> String {
    let random: SeededRandom
    switch settings.draws {
    case .seeded(let seed), .recorded(_, then: let seed): random = seed
    case .fixed: random = SeededRandom(seed: 0)
    }
    let bits = random.fork("ids", "launch-\(settings.launch)").bits(at: idsMade)
    idsMade += 1
    let digits = String(bits, radix: 16)
    return "x-" + String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  func nextLoadNumber() -> Int { loadsMade + 1 }
  mutating func loadNumberUsed() { loadsMade += 1 }

  // MARK: Launch and lifecycle

  mutating func lifecycle(_ change: Lifecycle) {
    switch change {
    case .launched: launch()
    case .background: enterBackground()
    case .foreground: if !isActive { enterForeground() }
    // The process is suspended in the background only; what fell due fires first or next, then the foreground rule (spec D.10).
    case .resumed: enterForeground()
    case .suspended, .memoryPressure: break
    }
  }

  private mutating func launch() {
    if let startProblem { note("start.invalid", ["path": .string(startProblem.path), "problem": .string(startProblem.problem)]) }
    for info in startState.sessions { sessions[info.id] = info }
    for (session, at) in startState.updatedAt { updatedAt[session] = at }
    let isFirstLaunch = settings.launch == 0
    restoreReplaySet(isFirstLaunch)
    restoreDrafts(isFirstLaunch)
    restoreSelection(isFirstLaunch)
    if isFirstLaunch {
      for host in startState.hosts { startHost(host) }
      for (session, list) in startState.outboxes {
        guard let info = sessions[session] else { continue }
        withChain(info.key) { chain, _, effects in chain.start(with: list, &effects) }
      }
      continuesConnection = startState.isConnected
    }
    openConnection()
    if let key = selections[desktop] { show(key, reason: .selected) }
  }

  private mutating func restoreReplaySet(_ isFirstLaunch: Bool) {
    var json: JSON?
    if let bytes = restored[ReplaySet.storeKey] { json = reader.json(of: bytes) } else if isFirstLaunch { json = startState.replaySet }
    if let json {
      do throws(DecodeFailure) {
        replaySet = try ReplaySet(json: json)
      } catch { note("store.invalid", ["key": .string(ReplaySet.storeKey), "reason": .string(error.reason), "at": .string(error.at)]) }
    }
    replaySet.beginGeneration()
    hasUnstoredWrites = true
    storeWrites()
    for name in replaySet.scopeNames {
      guard let info = sessions.values.first(where: { $0.key.scope == name }) else { continue }
      let scope = replaySet[scope: name]
      if isFirstLaunch {
        for id in scope.order {
          guard case .pending(let pending)? = scope[id] else { continue }
          var fields: JSONObject = ["operation": .string(id), "text": .string(pending.entry.submit.userText), "lane": .string(info.id)]
          fields["action"] = "earlier"
          fields["supersedes"] = pending.supersedes.map(JSON.string)
          note("accepted", fields)
        }
      }
      withChain(info.key) { chain, situation, effects in chain.restore(scope, situation, &effects) }
    }
  }

  private mutating func restoreDrafts(_ isFirstLaunch: Bool) {
    if let bytes = restored[Phone.draftsKey] {
      for element in reader.json(of: bytes)?.array ?? [] {
        guard let session = element["session"]?.string, let text = element["text"]?.string, let info = sessions[session] else { continue }
        drafts[info.key(thread: element["thread"]?.string)] = text
      }
    } else if isFirstLaunch {
      for (session, text) in startState.drafts { if let info = sessions[session] { drafts[info.key] = text } }
    }
  }

  private mutating func restoreSelection(_ isFirstLaunch: Bool) {
    if let json = restored[Phone.selectionKey].flatMap(reader.json(of:)) {
      desktop = json["desktop"]?.string ?? desktop
      for element in json["chats"]?.array ?? [] {
        guard let info = element["session"]?.string.flatMap({ sessions[$0] }) else { continue }
        selections[info.desktop] = info.key(thread: element["thread"]?.string)
      }
    } else if isFirstLaunch, let place = startState.selected, let info = sessions[place.session] {
      selections[info.desktop] = info.key(thread: place.thread)
    }
  }

  /// A host whose rows the phone had before 0.
  private mutating func startHost(_ start: StartState.HostStart) {
    guard let info = sessions[start.place.session], start.place.thread == nil else { return }
    cache.stage(info.key)
    _ = cache.commit()
    _ = cache.update(info.key) { host in
      host.timeline = Timeline(live: OverlayReducer(counter: start.counter))
      _ = SnapshotMerge.apply(start.envelope, captured: start.counter, to: &host.timeline)
      host.scheduler = LoadScheduler(hasSnapshot: true)
      host.isStale = start.isStale
    }
  }

  private mutating func enterBackground() {
    guard isActive else { return }
    isActive = false
    if let held = lease.release() {
      out.append(.disarm(TimerName.lease.id))
      if isUp {
        note("lease.release", ["host": .string(held.name)])
        send(.timelineInterest, held.interest(hold: false), .release(held))
      }
    }
  }

  private mutating func enterForeground() {
    isActive = true
    hold()
    guard let screen else { return }
    markStale(screen, .foreground)
    withChain(screen.main) { chain, situation, effects in chain.opened(situation, &effects) }
  }

  // MARK: Connection

  mutating func openConnection() {
    connectionsOpened += 1
    let id = ConnectionID(connectionsOpened)
    connection = id
    out.append(.open(id, Endpoint("/v1/desktops/\(desktop)")))
  }

  private mutating func connectionChanged(_ up: Bool) {
    guard up != isUp else { return }
    note("connection", ["up": .bool(up)])
    if up {
      isUp = true
      if continuesConnection {
        continuesConnection = false
        continueConnection()
      } else {
        becomeUsable(isNewConnection: true)
      }
    } else {
      loseConnection()
      openConnection()
    }
  }

  /// Everything in flight ends with `connection_lost`, in the order of sending; what is pending waits (HB-LOAD-15, HB-OUTBOX-10).
  mutating func loseConnection() {
    isUp = false
    isDesktopOffline = false
    continuesConnection = false
    lease.suspend()
    out.append(.disarm(TimerName.lease.id))
    for entry in requests.takeAll() {
      out.append(.disarm(TimerName.request(entry.id).id))
      note("res", ["id": .string(entry.id), "method": .string(entry.method.rawValue), "ok": false, "code": "connection_lost"])
      ended(entry, .failure(OutboxChain.Failed(.connectionLost)))
    }
  }

  /// Selecting another desktop closes the socket and opens one (spec B.1).
  mutating func selectDesktop(_ name: String, chat: HostKey? = nil) {
    leaveScreen()
    screen = nil
    if let held = lease.release() { note("lease.release", ["host": .string(held.name)]) }
    if let connection { out.append(.close(connection, code: Phone.normalClosure)) }
    loseConnection()
    desktop = name
    if let chat { selections[name] = chat }
    storeSelection()
    openConnection()
    if let key = selections[name] { show(key, reason: .desktop) }
  }

  /// WebSocket: normal closure.
  private static let normalClosure = 1000

  /// The frames on becoming usable: hold, load, then checks (HB-OUTBOX-11).
  private mutating func becomeUsable(isNewConnection: Bool) {
    if isNewConnection { hold() }
    if let screen { markStale(screen, .recovered) }
    let first = screen.map { [$0.main] } ?? []
    for key in first + chains.keys.filter({ $0 != first.first }) where key.desktop == desktop {
      withChain(key) { chain, situation, effects in chain.becameUsable(situation, &effects) }
    }
  }

  /// The connection goes on from before 0: only what waits for it goes out.
  private mutating func continueConnection() {
    if let place = startState.lease, let info = sessions[place.session], info.key(thread: place.thread) == screen, isActive {
      lease.hold(info.key(thread: place.thread), at: startState.heldAt)
      out.append(.arm(TimerName.lease.id, at: max(now, lease.renewalDue ?? now)))
    } else {
      hold()
    }
    if let screen { startLoad(screen) }
    for key in chains.keys where key.desktop == desktop {
      withChain(key) { chain, situation, effects in chain.resume(situation, &effects) }
    }
  }

  // MARK: Lease

  /// Holds for the chat on screen, at once (HB-LEASE-03, -04); nothing without a connection or in the background.
  mutating func hold() {
    guard let screen, isUp, isActive else { return }
    lease.hold(screen, at: now)
    note("lease.hold", ["host": .string(screen.name)])
    send(.timelineInterest, screen.interest(hold: true), .hold(screen))
    out.append(.arm(TimerName.lease.id, at: now + Lease.renewal))
  }

  // MARK: Timers

  private mutating func fired(_ timer: TimerID) {
    switch TimerName(timer) {
    case .request(let id)?:
      guard let entry = requests.expire(id) else { return }
      note("res", ["id": .string(id), "method": .string(entry.method.rawValue), "ok": false, "code": "timeout"])
      ended(entry, .failure(OutboxChain.Failed(.timeout)))
    case .lease?:
      hold()
    case .check(let scope)?:
      guard let key = chains.keys.first(where: { $0.scope == scope }) else { return }
      withChain(key) { chain, situation, effects in chain.checkFell(situation, &effects) }
    case .load(let name)?:
      if let screen, screen.name == name { periodicTick(screen) }
    case .start(let name)?:
      if let screen, screen.name == name { startLoad(screen) }
    case .intake(let name)?:
      if let screen, screen.name == name { releaseIntake(screen) }
    case .list(let name)?: if isMounted(name) { listFired() }
    case .render(let name)?: if isMounted(name) { renderDue() }
    case .held(let name)?: if isMounted(name) { heldCheck() }
    case .reveal(let name)?: if isMounted(name) { revealPass() }
    case .restore(let name)?: if isMounted(name) { restorePass() }
    case .restoreLive(let name)?: if isMounted(name) { restoreLiveOver() }
    case .follow(let name)?: if isMounted(name) { followPass() }
    case nil: break
    }
  }

  private func isMounted(_ name: String) -> Bool { view?.isMounted ?? false && view?.key.name == name }

  // MARK: Frames

  private mutating func receive(_ frame: Frame) {
    guard frame.connection == connection, isUp else { return }
    guard frame.kind == .text else { return note("frame.dropped", ["reason": .string(frame.kind.rawValue)]) }
    switch reader.message(of: frame) {
    case .response(let response): receive(response)
    case .event(let event): receive(event)
    case .request: note("frame.dropped", ["reason": "frame.request"])
    case .invalid(let failure): note("frame.dropped", ["reason": .string(failure.reason), "at": .string(failure.at)])
    }
  }

  private mutating func receive(_ response: ResponseMessage) {
    var fields: JSONObject = ["id": .string(response.id)]
    let match = requests.take(response.id)
    switch match {
    case .awaited(let entry): fields["method"] = .string(entry.method.rawValue)
    case .late(let method): fields["method"] = .string(method.rawValue)
    case .unknown: break
    }
    switch response.result {
    case .success: fields["ok"] = true
    case .failure(let error):
      fields["ok"] = false
      fields["code"] = .string(error.code)
    }
    switch match {
    case .awaited(let entry):
      note("res", fields)
      if isUnreadable(response, of: entry) { return requests.putBack(entry) }
      out.append(.disarm(TimerName.request(entry.id).id))
      ended(entry, response.result.mapError { OutboxChain.Failed(.error($0)) })
    case .late:
      fields["late"] = true
      note("res", fields)
    case .unknown:
      fields["unknown"] = true
      note("res", fields)
    }
  }

  /// Whether this is the receipt of a mutation that cannot be decoded: it changes nothing, so the time limit decides (HB-INV-08, -50).
  /// A check fails at once instead (spec B.4).
  private mutating func isUnreadable(_ response: ResponseMessage, of entry: RequestTable.Entry) -> Bool {
    guard case .outbox(_, let work) = entry.purpose, work != .check, case .success(let json) = response.result else { return false }
    do throws(DecodeFailure) {
      _ = try work.answer(json)
      return false
    } catch {
      noteUnreadable(work, error)
      return true
    }
  }

  private mutating func noteUnreadable(_ work: OutboxChain.Work, _ failure: DecodeFailure) {
    note("answer.invalid", ["method": .string(work.method.rawValue), "reason": .string(failure.reason), "at": .string(failure.at)])
  }

  /// A request ended: with its answer, an error, a time limit or the connection.
  private mutating func ended(_ entry: RequestTable.Entry, _ result: Result<JSON, OutboxChain.Failed>) {
    switch entry.purpose {
    case .hold(let key):
      if case .success = result, lease.target == key {
        note("lease.ack", ["host": .string(key.name)])
        if lease.answered(key, at: now) { markStale(key, .lease) }
      }
    case .release, .stop: break
    case .load(let key, let fence, let request): loadEnded(key, fence, request, result)
    case .older(let key, let generation): olderEnded(key, generation, result)
    case .outbox(let key, let work): outboxEnded(key, work, result)
    }
  }

  private mutating func receive(_ message: EventMessage) {
    do throws(DecodeFailure) {
      route(try HBCodeEvent.decode(message), message.name)
    } catch {
      note(
        "event",
        ["name": .string(message.name), "verdict": "dropped", "reason": .string(error.reason), "at": .string(error.at)])
      guard message.name == EventName.timelineOverlay.rawValue else { return }
      // Whose overlay it was: the named chat if it can be read, else the one on screen.
      let named = message.fields["sessionId"]?.string.flatMap { sessions[$0] }?.key(thread: message.fields["threadId"]?.string)
      if let key = named ?? screen { markStale(key, .invalidEvent) }
    }
  }

  private mutating func route(_ event: HBCodeEvent, _ name: String) {
    switch event {
    case .overlay(let event):
      guard let key = key(event.sessionId, event.threadId), hasHost(key) else { return verdict(name, "ignored") }
      if key == screen {
        receiveOverlay(event.overlay, key)
      } else {
        verdict(name, "ignored", key)
        markStale(key, .epoch)
      }
    case .run(let event):
      guard let main = key(event.sessionId, nil) else { return verdict(name, "ignored") }
      let thread = main.session == screen?.session ? viewer?.key : nil
      let key = event.threadId != nil && thread?.thread == event.threadId ? thread ?? main : main
      guard hasHost(key) else { return verdict(name, "ignored", key) }
      if key == screen {
        verdict(name, "used", key)
        receiveRun(event, key)
      } else {
        verdict(name, "ignored", key)
        markStale(key, .runEnded)
      }
    case .sessionUpdated(let event):
      guard let key = key(event.sessionId, nil) else { return verdict(name, "ignored") }
      if let title = event.title { sessions[event.sessionId]?.title = title }
      guard event.updatedAt > updatedAt[event.sessionId] ?? .min else { return verdict(name, "ignored", key) }
      updatedAt[event.sessionId] = event.updatedAt
      verdict(name, "used", key)
      for host in [key, viewer?.key] {
        if let host, host.main == key, hasHost(host) { markStale(host, .updated) }
      }
    case .outboxChanged(let event):
      guard let key = key(event.sessionId, nil) else { return verdict(name, "ignored") }
      var isTaken = false
      // The verdict precedes what it causes.
      let place = out.count
      withChain(key) { chain, situation, effects in isTaken = chain.desktopChanged(event.list, situation, &effects) }
      let fields: JSONObject = ["name": .string(name), "verdict": isTaken ? "used" : "ignored", "host": .string(key.name)]
      out.insert(.note(Observation("event", fields)), at: place)
    case .desktop(let event):
      guard event.desktopId == desktop else { return verdict(name, "ignored") }
      verdict(name, "used")
      desktopChanged(event.kind)
    case .relayGap:
      verdict(name, "used")
      for key in cache.order { markStale(key, .gap) }
      if let viewer { markStale(viewer.key, .gap) }
    case .unknown: verdict(name, "ignored")
    }
  }

  mutating func verdict(_ name: String, _ verdict: String, _ key: HostKey? = nil) {
    var fields: JSONObject = ["name": .string(name), "verdict": .string(verdict)]
    fields["host"] = key.map { .string($0.name) }
    note("event", fields)
  }

  private mutating func desktopChanged(_ kind: DesktopEvent.Kind) {
    switch kind {
    case .offline: isDesktopOffline = true
    case .online, .recovered:
      let wasOffline = isDesktopOffline
      isDesktopOffline = false
      if wasOffline {
        becomeUsable(isNewConnection: false)
      } else if kind == .recovered, let screen {
        markStale(screen, .recovered)
      }
    }
  }

  /// The view model of a conversation of the selected desktop, whether it is kept or not.
  private func key(_ session: String, _ thread: String?) -> HostKey? {
    guard let info = sessions[session], info.desktop == desktop else { return nil }
    return info.key(thread: thread)
  }

  func hasHost(_ key: HostKey) -> Bool { viewer?.key == key || cache.contains(key) }

  /// Whether a start state goes on with this chat as it is: its window is there and fresh, so nothing is loaded.
  func continuesFrom(_ key: HostKey) -> Bool {
    continuesConnection && host(key).map { !$0.isStale && !$0.scheduler.isFirst } ?? false
  }

  // MARK: Hosts

  /// Changes a host in place, wherever it is.
  @discardableResult
  mutating func update<Result>(_ key: HostKey, _ change: (inout Host) -> Result) -> Result? {
    if viewer?.key == key, var host = viewer {
      viewer = nil
      defer { viewer = host }
      return change(&host)
    }
    return cache.update(key, change)
  }

  func host(_ key: HostKey) -> Host? { viewer?.key == key ? viewer : cache[key] }

  // MARK: Outbox

  /// Hands an event to the chain of a session and carries out what it decides.
  mutating func withChain(
    _ key: HostKey, _ body: (inout OutboxChain, OutboxChain.Situation, inout [OutboxChain.Effect]) -> Void
  ) {
    let situation = self.situation(of: key)
    var effects: [OutboxChain.Effect] = []
    body(&chains[key, default: OutboxChain(session: key.session)], situation, &effects)
    if key == screen?.main {
      isScreenChanged = true
      isQueueChanged = true
    }
    for effect in effects { carryOut(effect, of: key) }
    storeWrites()
  }

  private func situation(of key: HostKey) -> OutboxChain.Situation {
    let isShown = screen?.main == key
    var timelines: [Timeline] = []
    if let host = cache[key] { timelines.append(host.timeline) }
    if let viewer, viewer.key.main == key { timelines.append(viewer.timeline) }
    return OutboxChain.Situation(
      now: now, wallMilliseconds: wallMilliseconds, isUsable: isUsable && key.desktop == desktop, isOpen: isShown && isActive,
      thread: isShown ? screen?.thread : nil, composerIsFree: isShown && screen.map { drafts[$0]?.isEmpty ?? true } ?? false,
      timelines: timelines, draws: settings.draws)
  }

  private mutating func carryOut(_ effect: OutboxChain.Effect, of key: HostKey) {
    switch effect {
    case .write(let operation, let record):
      replaySet.write(record, of: operation, in: key.scope, generation: replaySet.generation)
      hasUnstoredWrites = true
    case .changed(let id, let operation):
      note("op", operation.fields(id, session: key.session))
    case .accepted(let id, let text, let supersedes):
      storeWrites()
      var fields: JSONObject = ["operation": .string(id), "text": .string(text), "lane": .string(key.session)]
      fields["action"] = .string(action?.name ?? "send")
      fields["intent"] = action?.fields["intent"]
      fields["supersedes"] = supersedes.map(JSON.string)
      note("accepted", fields)
    case .adopted(let id, let text):
      note("accepted", ["operation": .string(id), "text": .string(text), "lane": .string(key.session), "action": "earlier"])
    case .says(let id, let word):
      storeWrites()
      note("says", ["operation": .string(id), "state": .string(word.rawValue)])
    case .restore(let id, let text):
      storeWrites()
      if let screen { setDraft(text, of: screen) }
      note("composer", ["session": .string(key.session), "cause": "restored", "operation": .string(id), "text": .string(text)])
    case .send(let work, let params):
      storeWrites()
      send(work.method, params, mutationId: work.mutationId, .outbox(key, work))
    case .giveUp(let work):
      if let id = requests.giveUp(work, of: key) { out.append(.disarm(TimerName.request(id).id)) }
    case .armCheck(let at):
      out.append(.arm(TimerName.check(key.scope).id, at: at))
    case .disarmCheck:
      out.append(.disarm(TimerName.check(key.scope).id))
    }
  }

  /// Writes the replay set, if it changed: before the first frame of a mutation leaves (HB-OUTBOX-08).
  private mutating func storeWrites() {
    guard hasUnstoredWrites else { return }
    hasUnstoredWrites = false
    do throws(DecodeFailure) {
      out.append(.store(ReplaySet.storeKey, JSONWriter.compact(try replaySet.json)))
    } catch { return note("store.invalid", ["key": .string(ReplaySet.storeKey), "reason": .string(error.reason)]) }
    var order: [JSON] = []
    var terminal: [JSON] = []
    for name in replaySet.scopeNames {
      let scope = replaySet[scope: name]
      for id in scope.order {
        order.append(.string(id))
        if scope[id] == .terminal { terminal.append(.string(id)) }
      }
    }
    note(
      "store",
      [
        "key": .string(ReplaySet.storeKey), "generation": .integer(replaySet.generation), "order": .array(order),
        "terminal": .array(terminal),
      ])
  }

  private mutating func outboxEnded(_ key: HostKey, _ work: OutboxChain.Work, _ result: Result<JSON, OutboxChain.Failed>) {
    let answer: Result<OutboxChain.Answer, OutboxChain.Failed>
    switch result {
    case .failure(let failed): answer = .failure(failed)
    case .success(let json):
      do throws(DecodeFailure) {
        answer = .success(try work.answer(json))
      } catch {
        noteUnreadable(work, error)
        answer = .failure(OutboxChain.Failed(.undecodable(error)))
      }
    }
    withChain(key) { chain, situation, effects in chain.ended(work, answer, situation, &effects) }
  }

  // MARK: Composer and selection

  /// Composer texts that survive restarts.
  private static let draftsKey = "workspace-chat-drafts"
  /// The desktop and the last selected chat of each (spec G.3: a launch selects it).
  private static let selectionKey = "workspace-chat-selection"

  mutating func setDraft(_ text: String, of key: HostKey) {
    if drafts[key] ?? "" == text { return }
    drafts[key] = text.isEmpty ? nil : text
    let list = drafts.pairs.map { key, text -> JSON in
      ["session": .string(key.session), "thread": key.thread.map(JSON.string) ?? .null, "text": .string(text)]
    }
    out.append(.store(Phone.draftsKey, JSONWriter.compact(.array(list))))
  }

  mutating func storeSelection() {
    let chats = selections.values.map { key -> JSON in
      ["session": .string(key.session), "thread": key.thread.map(JSON.string) ?? .null]
    }
    out.append(.store(Phone.selectionKey, JSONWriter.compact(["desktop": .string(desktop), "chats": .array(chats)])))
  }

  mutating func select(_ key: HostKey) {
    selections[key.desktop] = key
    storeSelection()
  }

  // MARK: What is on screen

  mutating func screenChanged() { isScreenChanged = true }
  /// The overlay took a live event in.
  mutating func liveChanged() { isLiveChanged = true }

  /// Notes what the screen shows, if it changed: rows with their origin, entries of the queue.
  private mutating func refresh() {
    guard isScreenChanged || isLiveChanged else { return }
    let isLive = !isScreenChanged
    isScreenChanged = false
    isLiveChanged = false
    guard let screen, let host = host(screen) else {
      lastShown = (nil, [])
      lastQueue = (nil, [])
      return
    }
    updateCadence(screen)
    let shown = display(host)
    defer { updateView(shown, isLive: isLive) }
    let rows = shown.rows
    if lastShown.key != screen || !rows.elementsEqual(lastShown.rows, by: { $0.id == $1.id && $0.origin == $1.origin }) {
      let list = rows.map { row -> JSON in ["id": .string(row.id), "origin": .string(row.origin.rawValue)] }
      note("show", ["host": .string(screen.name), "rows": .array(list)])
    }
    lastShown = (screen, rows)
    guard isQueueChanged || lastQueue.key != screen.main else { return }
    isQueueChanged = false
    let entries = chains[screen.main]?.shownEntries ?? []
    if lastQueue.key != screen.main || entries != lastQueue.entries {
      note("queue", ["session": .string(screen.session), "entries": .array(entries.map(\.json))])
      lastQueue = (screen.main, entries)
    }
  }

  func display(_ host: Host) -> Display {
    Display(host.timeline, echoes: chains[host.key.main]?.echoes(thread: host.key.thread) ?? [])
  }
}

extension SessionInfo {
  var key: HostKey { key(thread: nil) }
  func key(thread: String?) -> HostKey { HostKey(desktop: desktop, project: project, session: id, thread: thread) }
}

extension HostKey {
  /// Params of `chat:timeline-interest` (spec B.2).
  func interest(hold: Bool) -> JSONObject {
    ["sessionId": .string(session), "threadId": thread.map(JSON.string) ?? .null, "hold": .bool(hold)]
  }
}
