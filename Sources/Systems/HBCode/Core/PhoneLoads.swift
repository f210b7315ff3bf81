import Contract
import HBCodeDialect
import Simulation
import Wire

/// Live events and loads of the view models.
extension Phone {
  /// Rows that a latest window asks for; a reload asks for as many (HB-LOAD-14 [seed]).
  static let windowLimit: Int64 = 12

  // MARK: Live events

  /// An overlay event for the chat on screen: through the intake first (HB-OVER-06).
  mutating func receiveOverlay(_ overlay: LiveOverlay, _ key: HostKey) {
    let decision = update(key) { [now] host in host.intake.offer(overlay, epoch: host.timeline.live.version?.epoch, at: now) }
    switch decision {
    case .pass(let replaced)?:
      if replaced {
        out.append(.disarm(TimerName.intake(key.name).id))
        replacedVerdict(key)
      }
      applyOverlay(overlay, key)
    case .hold(let until, let replaced)?:
      if replaced { replacedVerdict(key) } else { out.append(.arm(TimerName.intake(key.name).id, at: until)) }
    case .drop?:
      verdict(EventName.timelineOverlay.rawValue, OverlayReducer.Verdict.ignored.rawValue, key)
    case nil: break
    }
  }

  /// A version that waited in the slot went by a newer one.
  private mutating func replacedVerdict(_ key: HostKey) {
    var fields: JSONObject = ["name": .string(EventName.timelineOverlay.rawValue), "verdict": "ignored"]
    fields["host"] = .string(key.name)
    fields["why"] = "a newer one came within 100 ms"
    note("event", fields)
  }

  mutating func releaseIntake(_ key: HostKey) {
    guard let overlay = update(key, { [now] host in host.intake.release(at: now) }) ?? nil else { return }
    applyOverlay(overlay, key)
  }

  private mutating func applyOverlay(_ overlay: LiveOverlay, _ key: HostKey) {
    guard let result = update(key, { host in (host.timeline.live.receive(overlay), host.timeline.live) }) else { return }
    verdict(EventName.timelineOverlay.rawValue, result.0.rawValue, key)
    switch result.0 {
    case .used:
      noteOverlay(key, result.1, source: "event")
      liveChanged()
    case .refused: markStale(key, .epoch)
    case .ignored, .conflict: break
    }
  }

  private mutating func noteOverlay(_ key: HostKey, _ live: OverlayReducer, source: String) {
    guard let version = live.version else { return }
    note(
      "overlay",
      [
        "host": .string(key.name), "epoch": .integer(version.epoch), "revision": .integer(version.revision),
        "counter": .int(live.counter), "source": .string(source),
      ])
  }

  /// A run of the chat on screen began or ended: never waits for the intake.
  mutating func receiveRun(_ event: RunEvent, _ key: HostKey) {
    update(key) { host in
      switch event.kind {
      case .started:
        host.timeline.live.runStarted(
          ActiveRun(runId: event.runId, threadId: event.threadId, turnId: event.turnId, startedAt: event.at))
      case .finished, .failed, .aborted, .cancelled: host.timeline.live.runEnded(event.runId)
      }
    }
    screenChanged()
    switch event.kind {
    case .started: break
    case .finished, .failed, .aborted, .cancelled: markStale(key, .runEnded)
    }
  }

  // MARK: Requests for loads

  /// What a host shows may be old. If it is on screen and the app active, one load is requested; else only the mark stays (HB-LOAD-05).
  mutating func markStale(_ key: HostKey, _ reason: LoadReason) {
    let requests = key == screen && isActive
    update(key) { [now] host in
      host.isStale = true
      let joinedActive = requests ? !host.scheduler.request(reason, at: now) : false
      if host.scheduler.active != nil, !joinedActive { host.isMarkedDuringLoad = true }
    }
    if requests { startLoad(key) }
  }

  /// Starts what waits in the scheduler of the chat on screen, if it may; else arms the instant at which it may.
  mutating func startLoad(_ key: HostKey) {
    guard key == screen, isActive, let host = host(key) else { return }
    screenChanged()
    guard isUsable else { return }
    let number = nextLoadNumber()
    guard let operation = update(key, { [now] host in host.scheduler.start(number: number, at: now) }) ?? nil else {
      if let wake = host.scheduler.wake, wake > now { out.append(.arm(TimerName.start(key.name).id, at: wake)) }
      return
    }
    loadNumberUsed()
    let advances = host.isUnconfirmedEmpty && operation.attempt == 1
    update(key) { host in
      host.captured = host.timeline.live.counter
      host.isMarkedDuringLoad = false
    }
    if advances { advanceEpoch(key, cause: "unconfirmed-load") }
    note(
      "load.start",
      [
        "op": .int(number), "host": .string(key.name), "reason": .string(operation.reasons.map(\.rawValue).joined(separator: "+")),
        "first": .bool(operation.isFirst), "try": .int(operation.attempt),
      ])
    var params: JSONObject = ["sessionId": .string(key.session), "limit": .integer(Phone.windowLimit), "anchor": .null]
    params["threadId"] = key.thread.map(JSON.string)
    send(key.thread == nil ? .load : .loadThread, params, .load(key, operation.fence, .latest))
  }

  /// The presentation epoch went on (HB-EPOCH-02): the view begins anew.
  private mutating func advanceEpoch(_ key: HostKey, cause: String) {
    guard let host = host(key) else { return }
    let n = (timelineIdentities[key] ?? 0) + 1
    timelineIdentities[key] = n
    note(
      "epoch",
      [
        "host": .string(key.name), "viewport": .string(host.viewport), "n": .int(n), "cause": .string(cause),
      ])
    epochAdvanced(key)
  }

  /// `load.end` of an operation whose answer will not be applied any more.
  mutating func fence(_ operation: LoadScheduler.Operation?, _ key: HostKey) {
    guard let operation else { return }
    note("load.end", ["op": .int(operation.fence.operation), "host": .string(key.name), "outcome": "fenced"])
  }

  // MARK: Answers (spec D.2)

  mutating func loadEnded(
    _ key: HostKey, _ fence: Fence, _ request: HistoryRequest, _ result: Result<JSON, OutboxChain.Failed>
  ) {
    // Step 1. `load.end` was noted when the operation was fenced.
    guard let host = host(key), host.scheduler.accepts(fence) else { return }
    var fields: JSONObject = ["op": .int(fence.operation), "host": .string(key.name)]
    var applied = false
    var isFailure = true
    var report: SnapshotMerge.Report?
    switch result {
    case .failure(let failed):
      fields["outcome"] = "failed"
      fields["reason"] = .string(failed.code)
    case .success(let json):
      do throws(DecodeFailure) {
        let answer = try HistoryEnvelope.decode(json, request)
        let before = display(host)
        let made = update(key) { host in SnapshotMerge.apply(answer, captured: host.captured, to: &host.timeline) }
        report = made
        fields["outcome"] = .string(made?.outcome.rawValue ?? "fenced")
        fields["captured"] = .int(host.captured)
        fields["counter"] = .int(host.timeline.live.counter)
        if made?.droppedLive ?? false { fields["droppedLive"] = true }
        if let agent = sessions[key.session]?.agent, !answer.isStored(for: agent) {
          fields["storageFormat"] = .string(answer.storageFormat)
        }
        applied = made?.outcome == .applied
        isFailure = made?.outcome == .overlayRejected
        if let changed = self.host(key), display(changed) != before { update(key) { $0.timelineRevision += 1 } }
      } catch {
        fields["outcome"] = "invalid"
        fields["reason"] = .string(error.reason)
        fields["at"] = .string(error.at)
      }
    }
    note("load.end", fields)
    let replaced = report?.replacedWindow ?? false
    if replaced { dropOlder(key) }
    endLoad(key, isFailure: isFailure, applied: applied, replaced: replaced)
    if let report, report.tookOverlay, let live = self.host(key)?.timeline.live { noteOverlay(key, live, source: "snapshot") }
    if replaced { advanceEpoch(key, cause: "window-replaced") }
    screenChanged()
    if !isFailure {
      reconcile(key)
      armCadence(key, Phone.afterLoad)
    }
    startLoad(key)
  }

  private mutating func endLoad(_ key: HostKey, isFailure: Bool, applied: Bool, replaced: Bool) {
    // The wait of a retry takes its draw only when there is one.
    let u = host(key).map { host in
      isFailure && host.scheduler.willRetry ? draw("retry", key.name, in: LoadScheduler.retryJitter) : 0
    }
    update(key) { [now] host in
      host.scheduler.end(isFailure ? .failed : .completed, appliedSnapshot: applied, at: now, u: u ?? 0)
      if isFailure {
        host.isStale = true
      } else if !host.isMarkedDuringLoad {
        host.isStale = false
      }
      host.isMarkedDuringLoad = false
      if applied { host.older.snapshotApplied() }
    }
  }

  /// Step 10: operations seen among canonical rows are done (HB-SNAP-07).
  private mutating func reconcile(_ key: HostKey) {
    guard let seen = host(key)?.timeline.canonicalOperations, !seen.isEmpty, chains[key.main] != nil else { return }
    withChain(key.main) { chain, situation, effects in chain.seenInHistory(seen, situation, &effects) }
  }

  // MARK: Periodic loads

  /// Whether a run, message or load is pending (HB-LOAD-07).
  private func isPending(_ host: Host) -> Bool {
    host.timeline.live.activeRun != nil || host.scheduler.isBusy || chains[host.key.main]?.hasPending ?? false
  }

  /// Purpose of the draws for waits that begin with a completed load: those that a recording shows (SCENARIO.md 5).
  package static let afterLoad = "load"
  /// Purpose of the other draws: on activation, after a tick, when the base drops. A load that completes replaces most of them.
  package static let otherwise = "load-tick"

  mutating func armCadence(_ key: HostKey, _ purpose: String) {
    guard key == screen, let host = host(key) else { return }
    let u = draw(purpose, key.name, in: LoadCadence.jitter)
    let isPending = isPending(host)
    let due = update(key) { [now] host -> Instant? in
      host.cadence.arm(pending: isPending, at: now, u: u)
      return host.cadence.due
    }
    if let due = due ?? nil { out.append(.arm(TimerName.load(key.name).id, at: due)) }
  }

  /// Something began or ceased to be pending (HB-LOAD-08).
  mutating func updateCadence(_ key: HostKey) {
    guard let host = host(key), host.cadence.due != nil else { return }
    let isPending = isPending(host)
    guard host.cadence.isFast != isPending else { return }
    let u = isPending ? draw(Phone.otherwise, key.name, in: LoadCadence.jitter) : 0
    let due = update(key) { [now] host in host.cadence.update(pending: isPending, at: now, u: u) ? host.cadence.due : nil }
    if let due = due ?? nil { out.append(.arm(TimerName.load(key.name).id, at: due)) }
  }

  /// A blocked tick is skipped, not kept (HB-LOAD-09).
  mutating func periodicTick(_ key: HostKey) {
    guard let host = host(key) else { return }
    let isAllowed = isActive && isUsable && !host.scheduler.isBusy && !host.older.isInFlight && !host.isUnconfirmedEmpty
    if isAllowed {
      update(key) { [now] host in host.scheduler.request(.periodic, at: now) }
      startLoad(key)
    }
    armCadence(key, Phone.otherwise)
  }

  // MARK: Older pages

  /// Asks for the page before the window; the caller has checked `canAskOlder`. `by`: the reveal, or a scroll near the top.
  mutating func loadOlder(_ key: HostKey, by cause: String) {
    guard let page = host(key)?.timeline.pagination, let cursor = page.oldestCursor,
      let generation = update(key, { [now] host in host.older.start(at: now) })
    else { return }
    note("older.start", ["host": .string(key.name), "n": .int(generation), "by": .string(cause)])
    var params: JSONObject = [
      "sessionId": .string(key.session), "cursor": .string(cursor), "boundaryToken": .string(page.boundaryToken),
      "limit": .int(OlderLoad.limit),
    ]
    params["threadId"] = key.thread.map(JSON.string)
    send(key.thread == nil ? .loadPageBefore : .loadThreadPageBefore, params, .older(key, generation: generation))
  }

  mutating func olderEnded(_ key: HostKey, _ generation: Int, _ result: Result<JSON, OutboxChain.Failed>) {
    guard let host = host(key), update(key, { $0.older.end(generation) }) ?? false else { return }
    var fields: JSONObject = ["host": .string(key.name), "n": .int(generation)]
    switch result {
    case .failure(let failed):
      fields["outcome"] = failed.why == .timeout ? "stale" : "failed"
      fields["reason"] = .string(failed.code)
      if case .error(let error) = failed.why, error.code == "cursor_expired" {
        note("older.end", fields)
        olderLanded(key, isFailure: true, added: 0)
        return markStale(key, .epoch)
      }
    case .success(let json):
      do throws(DecodeFailure) {
        let page = try OlderPage.decode(json)
        let added = update(key) { $0.timeline.prepend(page) } ?? 0
        if added == 0, page.oldestCursor == host.timeline.pagination?.oldestCursor { update(key) { $0.older.exhaust() } }
        fields["outcome"] = "applied"
        fields["added"] = .int(added)
        olderLanded(key, isFailure: false, added: added)
        screenChanged()
      } catch {
        fields["outcome"] = "failed"
        fields["reason"] = .string(error.reason)
        fields["at"] = .string(error.at)
      }
    }
    note("older.end", fields)
    if fields["outcome"] != "applied" { olderLanded(key, isFailure: true, added: 0) }
    reconcile(key)
  }

  mutating func dropOlder(_ key: HostKey) {
    guard let generation = host(key)?.older.generation, update(key, { $0.older.drop() }) ?? false else { return }
    note("older.end", ["host": .string(key.name), "n": .int(generation), "outcome": "fenced"])
    olderLanded(key, isFailure: true, added: 0)
  }

  // MARK: Selection

  /// Shows a conversation: stages and commits its host, parks the one before, activates, holds, loads (HB-HOST-03, HB-LEASE-03).
  mutating func show(_ key: HostKey, reason: LoadReason) {
    let before = screen
    leaveScreen()
    cache.stage(key.main)
    note("host.stage", ["key": .string(key.main.name)])
    if let commit = cache.commit() {
      note("host.commit", ["key": .string(key.main.name), "order": .array(cache.order.map { .string($0.name) })])
      for released in commit.released { note("host.release", ["key": .string(released.name)]) }
    }
    if key.thread != nil { viewer = Host(key) }
    screen = key
    select(key)
    openView(key)
    screenChanged()
    note("host.activate", ["key": .string(key.name)])
    if let before, before.main == key.main, before.thread != key.thread {
      advanceEpoch(key, cause: "thread")
    }
    let isFresh = continuesFrom(key)
    update(key) { host in if isFresh { host.scheduler.activateFresh() } else { host.scheduler.activate(reason) } }
    armCadence(key, Phone.otherwise)
    hold()
    startLoad(key)
    withChain(key.main) { chain, situation, effects in chain.opened(situation, &effects) }
  }

  /// The chat on screen leaves it: its host is parked, or its viewer dropped (HB-HOST-02, -07, -11, -13).
  mutating func leaveScreen() {
    guard let key = screen, let host = host(key) else { return }
    dropOlder(key)
    closeView(why: "unmount")
    let hadRequest = host.scheduler.isBusy
    let dropped = update(key) { host -> LoadScheduler.Operation? in
      if hadRequest { host.isStale = true }
      host.cadence.disarm()
      _ = host.intake.clear()
      return host.scheduler.park()
    }
    fence(dropped ?? nil, key)
    for timer in [TimerName.load(key.name), .start(key.name), .intake(key.name)] { out.append(.disarm(timer.id)) }
    note("host.park", ["key": .string(key.name)])
    if viewer?.key == key { viewer = nil }
  }
}

extension OutboxChain.Failed {
  /// The error code (spec B.7), or the decoder's reason.
  var code: String {
    switch why {
    case .timeout: "timeout"
    case .connectionLost: "connection_lost"
    case .undecodable(let failure): failure.reason
    case .error(let error): error.code
    }
  }
}
