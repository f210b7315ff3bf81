import Contract
import HBCodeDialect
import HBCodeScenario
import Simulation
import Wire

/// The rules of delivery (spec D.5; "eligible and begin" in SCENARIO.md 2).
extension DesktopTwin {
  /// How long a run stays silent when nothing says how it went on.
  static let silentTime = Interval.seconds(30)
  /// From a stop to the end of its run when the recording has no stop of that run.
  static let usualStopTime = Interval.milliseconds(200)

  mutating func start() {
    for lane in ledgers.indices {
      if let run = ledgers[lane].run {
        if run.phase == .waiting { fallSilent(lane, for: DesktopTwin.silentTime, why: "nothing is known of run \(run.id)") }
      } else {
        settleQueue(lane)
      }
    }
  }

  // MARK: The queue

  /// Looks at a queue after anything that may matter to it: the first entry that is not held is `sending` at once and begins after
  /// its delay; one that was overtaken is `queued` again.
  mutating func settleQueue(_ lane: Int) {
    dropLateSteers(lane)
    guard ledgers[lane].run == nil, !ledgers[lane].deliveryPaused else { return cancelPending(lane) }
    while ledgers[lane].run == nil, let next = ledgers[lane].deferred.first {
      ledgers[lane].deferred.removeFirst()
      cancelPending(lane)
      beginOutside(next, lane)
    }
    guard ledgers[lane].run == nil else { return }
    let index = ledgers[lane].entries.firstIndex { $0.holdReason == nil }
    let operation = index.map { ledgers[lane].entries[$0].operationId }
    if ledgers[lane].pending?.operation == operation { return }
    cancelPending(lane)
    guard let index, let operation else { return }
    if ledgers[lane].entries[index].status != .sending {
      ledgers[lane].entries[index].status = .sending
      listChanged(lane)
    }
    let token = nextToken()
    ledgers[lane].pending = (operation, token)
    let stretch = tape.stretch(of: matching.recorded(operation))
    let delay = stretch.map { tape.stretches[$0].delay } ?? tape.usualDelay(session: ledgers[lane].id)
    push(.deliver(lane: lane, token: token), at: now + delay, rank: stretch ?? Int.max - 1)
  }

  mutating func cancelPending(_ lane: Int) {
    guard let pending = ledgers[lane].pending else { return }
    ledgers[lane].pending = nil
    guard let index = ledgers[lane].position(of: pending.operation) else { return }
    let entry = ledgers[lane].entries[index]
    if entry.status == .sending, entry.accepted == nil, entry.handoff == nil {
      ledgers[lane].entries[index].status = .queued
      listChanged(lane)
    }
  }

  /// A steer whose run is another one or over is a queued entry like any other (HB-STEER-13).
  private mutating func dropLateSteers(_ lane: Int) {
    let running = ledgers[lane].run?.id
    var hasChanged = false
    for index in ledgers[lane].entries.indices where ledgers[lane].entries[index].handoff == nil {
      let entry = ledgers[lane].entries[index]
      let isAcceptedElsewhere = entry.accepted.map { $0.runId != running } ?? false
      let isForElsewhere = entry.submit.sendMode == .steerRunning && entry.submit.expectedActiveRunId != running
      guard isAcceptedElsewhere || isForElsewhere else { continue }
      if entry.submit.sendMode == .steerRunning { ledgers[lane].entries[index].submit.becomeQueued() }
      ledgers[lane].entries[index].accepted = nil
      ledgers[lane].entries[index].status = .queued
      hasChanged = true
    }
    if hasChanged { listChanged(lane) }
  }

  /// The begin of the first deliverable entry has come: a run starts, a live user row appears, the entry leaves.
  mutating func deliver(_ lane: Int, _ token: Int) {
    guard let pending = ledgers[lane].pending, pending.token == token, ledgers[lane].run == nil,
      let index = ledgers[lane].position(of: pending.operation)
    else { return }
    ledgers[lane].pending = nil
    let entry = ledgers[lane].entries.remove(at: index)
    let operation = entry.operationId
    let stretch = tape.stretch(of: matching.recorded(operation)) ?? standIn(for: entry, lane)
    guard tape.stretches[stretch].isExclusive else {
      hasLeft(operation, lane, run: nil)
      begin(stretch, lane: lane, runId: nil, operation: nil)
      return settleQueue(lane)
    }
    let recorded = tape.stretches[stretch].run
    // No two runs have one id.
    let isHead = tape.isHead(matching.recorded(operation)) && !(recorded.map { ledgers[lane].runIds.contains($0.runId) } ?? false)
    let runId = isHead ? recorded?.runId ?? "x:run:" + operation : "x:run:" + operation
    let turnId = isHead && recorded != nil ? recorded?.turnId : "x:turn:" + operation
    hasLeft(operation, lane, run: runId)
    beginRun(stretch, lane, id: runId, turnId: turnId)
    begin(stretch, lane: lane, runId: runId, operation: entry)
  }

  /// An entry is no longer in the queue because it is delivered.
  private mutating func hasLeft(_ operation: String, _ lane: Int, run: String?) {
    ledgers[lane].delivered.insert(operation)
    note("delivered", ["operation": .string(operation), "run": run.map(JSON.string) ?? .null, "lane": .string(ledgers[lane].id)])
    listChanged(lane)
    fire(.delivered(operation))
  }

  // MARK: Steers

  /// A steer for the active run is taken by it a little after its submit (spec D.5).
  mutating func armSteer(_ operation: String, _ lane: Int, _ steer: SteerFacts) {
    guard let run = ledgers[lane].run, let index = ledgers[lane].position(of: operation),
      ledgers[lane].entries[index].submit.expectedActiveRunId == run.id
    else { return }
    push(.accept(lane: lane, operation: operation, clock: steer.clock), at: now + max(.zero, steer.delay), rank: -1)
  }

  /// Run, thread and turn as an accepted steer names them: all nonblank.
  func steerFacts(of run: Run, _ lane: Int) -> [String] {
    [run.id, run.active.threadId ?? "x:thread:" + ledgers[lane].id, run.active.turnId ?? "x:turn:" + run.id]
  }

  mutating func acceptSteer(_ lane: Int, _ operation: String, _ clock: Int64?) {
    guard let run = ledgers[lane].run, !run.isStopping, let index = ledgers[lane].position(of: operation) else { return }
    let entry = ledgers[lane].entries[index]
    guard entry.submit.sendMode == .steerRunning, entry.submit.expectedActiveRunId == run.id, entry.accepted == nil,
      entry.holdReason == nil
    else { return }
    let facts = steerFacts(of: run, lane)
    ledgers[lane].entries[index].accepted = AcceptedSteer(
      runId: facts[0], threadId: facts[1], turnId: facts[2], acceptedAt: clock.map { wall(now) + $0 } ?? stamp(lane))
    ledgers[lane].entries[index].status = .sending
    note("steered", ["operation": .string(operation), "run": .string(run.id)])
    listChanged(lane)
    if run.phase == .handedOver { _ = enterSteer(lane) }
  }

  /// The first accepted steer enters the run where its playing stretch has ended; whether there was one.
  mutating func enterSteer(_ lane: Int) -> Bool {
    guard let run = ledgers[lane].run, !run.isStopping,
      let index = ledgers[lane].entries.firstIndex(where: {
        $0.accepted?.runId == run.id && $0.handoff == nil && $0.holdReason == nil
      })
    else { return false }
    let entry = ledgers[lane].entries.remove(at: index)
    let stretch = tape.stretch(of: matching.recorded(entry.operationId)) ?? standIn(for: entry, lane)
    hasLeft(entry.operationId, lane, run: run.id)
    begin(stretch, lane: lane, runId: run.id, operation: entry)
    return true
  }

  /// `interrupt-running` aborts the active run and is next.
  mutating func interrupt(for operation: String, _ lane: Int) {
    guard ledgers[lane].run != nil, let index = ledgers[lane].position(of: operation) else { return }
    let entry = ledgers[lane].entries.remove(at: index)
    ledgers[lane].entries.insert(entry, at: 0)
    cutPlaying(lane)
    endRun(lane, .aborted)
  }

  // MARK: Stop and silence

  /// A stop of the active run is taken in, under this mutation id: it ends after the recorded stop time.
  mutating func takeStop(_ lane: Int, _ mutation: String?) {
    guard let run = ledgers[lane].run, !run.isStopping else { return }
    let recorded = run.recorded.flatMap { tape.stopped(run: $0, session: ledgers[lane].id) }
    var time = recorded.flatMap { stopTime($0, lane) }
    if time == nil {
      time = max(DesktopTwin.usualStopTime, leastStopTime(run, lane, mutation))
      basis("stop time of run \(run.id)", .assumed)
    }
    let token = nextToken()
    ledgers[lane].run?.isStopping = true
    ledgers[lane].run?.token = token
    push(.stop(lane: lane, token: token), at: now + (time ?? .zero), rank: Int.max)
  }

  /// From the acceptance of the recorded stop to the recorded end.
  private func stopTime(_ stretch: Stretch, _ lane: Int) -> Interval? {
    if let time = stretch.stopTime { return max(.zero, time) }
    guard case .stopped(let id) = stretch.end, let intent = intents[id], let begin = stretch.recordedBegin else { return nil }
    let time = begin + stretch.length - acceptance(of: intent, lane)
    return time < .zero ? nil : time
  }

  private func acceptance(of intent: Intent, _ lane: Int) -> Instant {
    intent.at + facts.delay(of: Endpoint("/v1/desktops/" + ledgers[lane].desktop))
  }

  /// A recorded stop whose run was still active when the recording ended took at least until then.
  private func leastStopTime(_ run: Run, _ lane: Int, _ mutation: String?) -> Interval {
    guard let intent = mutation.flatMap({ intentOfMutation[$0] }).flatMap({ intents[$0] }), let recorded = run.recorded,
      let stretch = tape.open(run: recorded, session: ledgers[lane].id), let begin = stretch.recordedBegin
    else { return .zero }
    let accepted = acceptance(of: intent, lane)
    return accepted >= begin ? begin + stretch.length - accepted : .zero
  }

  mutating func endStopped(_ lane: Int, _ token: Int) {
    guard let run = ledgers[lane].run, run.isStopping, run.token == token else { return }
    cutPlaying(lane)
    endRun(lane, .aborted)
  }

  /// What has been played stays; the rest of the stretch is never said.
  private mutating func cutPlaying(_ lane: Int) {
    guard case .playing(let stretch)? = ledgers[lane].run?.phase, tape.states[stretch] == .playing else { return }
    tape.states[stretch] = .cut
    noteStretch(stretch)
    fire(.after(tape.stretches[stretch].id, .ended))
  }

  /// Nothing more is known of a run: it stays active and says nothing, then finishes.
  mutating func fallSilent(_ lane: Int, for time: Interval, why: String) {
    ledgers[lane].run?.phase = .silent
    basis("end of run \(ledgers[lane].run?.id ?? ""): \(why)", .assumed)
    armSilence(lane, for: time)
  }

  mutating func armSilence(_ lane: Int, for time: Interval) {
    let token = nextToken()
    if ledgers[lane].run?.isStopping == true { return }
    ledgers[lane].run?.token = token
    push(.silence(lane: lane, token: token), at: now + time, rank: Int.max)
  }

  mutating func endSilence(_ lane: Int, _ token: Int) {
    guard let run = ledgers[lane].run, run.token == token, !run.isStopping else { return }
    switch run.phase {
    case .silent, .handedOver: endRun(lane, .finished)
    case .waiting, .playing: return
    }
  }

  // MARK: Runs

  /// The wall clock as the desktop stamps it: with the recorded difference to the recorder's.
  func stamp(_ lane: Int) -> Int64 { wall(now) + ledgers[lane].clockDifference }

  mutating func beginRun(_ stretch: Int, _ lane: Int, id: String, turnId: String?) {
    let tapeStretch = tape.stretches[stretch]
    if let recorded = tapeStretch.stamps.startedAt, let begin = tapeStretch.recordedBegin {
      ledgers[lane].clockDifference = recorded - wall(begin)
    }
    let startedAt = tapeStretch.stamps.startedAt.map { $0 + shift(of: tapeStretch) } ?? stamp(lane)
    let active = ActiveRun(runId: id, threadId: tapeStretch.run?.threadId, turnId: turnId, startedAt: startedAt)
    ledgers[lane].run = Run(id: id, recorded: tapeStretch.run?.runId, active: active, begin: now, token: nextToken())
    ledgers[lane].runIds.insert(id)
    note("run", ["run": .string(id), "state": "started", "lane": .string(ledgers[lane].id)])
    broadcast(
      RunEvent(
        kind: .started, sessionId: ledgers[lane].id, threadId: active.threadId, runId: id, turnId: turnId, at: startedAt
      ).message, desktop: ledgers[lane].desktop)
  }

  /// A run ends: its rows go to history, epoch + 1, revision 0, run event, `session:updated` (spec D.5); then the queue goes on.
  mutating func endRun(_ lane: Int, _ kind: RunEvent.Kind, naturalEnd stretch: Int? = nil) {
    guard let run = ledgers[lane].run else { return }
    settle(lane, run)
    ledgers[lane].settleOverlay()
    ledgers[lane].run = nil
    if let index = ledgers[lane].entries.firstIndex(where: { $0.handoff == .requested }) {
      // Stop and send now: the stopped run makes room for a turn of its own.
      var entry = ledgers[lane].entries.remove(at: index)
      entry.handoff = .replayAuthorized
      ledgers[lane].entries.insert(entry, at: 0)
      listChanged(lane)
    }
    let stamps = stretch.map { tape.stretches[$0].stamps } ?? RunStamps()
    let shift = stretch.map { tape.plays[$0]?.shift ?? 0 } ?? 0
    note("run", ["run": .string(run.id), "state": .string(kind.rawValue), "lane": .string(ledgers[lane].id)])
    broadcast(
      RunEvent(
        kind: kind, sessionId: ledgers[lane].id, threadId: run.active.threadId, runId: run.id,
        at: stamps.endedAt.map { $0 + shift } ?? stamp(lane)
      ).message, desktop: ledgers[lane].desktop)
    announceUpdate(lane, at: stamps.updatedAt.map { $0 + shift } ?? stamp(lane))
    settleQueue(lane)
  }

  /// `session:updated`; its stamp always grows.
  mutating func announceUpdate(_ lane: Int, at stamp: Int64) {
    ledgers[lane].updatedAt = max(stamp, ledgers[lane].updatedAt + 1)
    broadcast(
      SessionUpdatedEvent(sessionId: ledgers[lane].id, updatedAt: ledgers[lane].updatedAt, title: ledgers[lane].title).message,
      desktop: ledgers[lane].desktop)
  }

  // MARK: Stand-ins

  /// What is played for an operation whose words were not recorded (SCENARIO.md 6).
  private mutating func standIn(for entry: OutboxEntry, _ lane: Int) -> Int {
    let operation = entry.operationId
    let base = ledgers[lane].greatest.parts
    let run = "x:run:" + operation
    func row(_ type: RowType, _ origin: RowOrigin, _ last: UInt64, _ at: Instant, _ text: String) -> Row {
      Row.made(
        type: type, id: "x:" + operation, origin: origin, sourceOrder: base + [last], timestamp: wall(at), runId: run,
        operationId: type == .user ? operation : nil, text: text)
    }
    let answerAt = Interval.milliseconds(600)
    let words = "[no recorded answer]"
    basis("answer to \(operation)", .synthetic)
    return tape.add(
      Stretch(
        id: "x:" + operation, lane: Lane(ledgers[lane].id), cause: .operation(operation),
        steps: [
          Step(offset: .zero, changes: [.put(row(.user, .live, 0, now, entry.submit.userText))], increment: 1),
          Step(offset: answerAt, changes: [.put(row(.agentReply, .live, 1, now + answerAt, words))], increment: 1),
        ],
        outcome: [
          row(.user, .canonical, 0, now, entry.submit.userText), row(.agentReply, .canonical, 1, now + answerAt, words),
        ],
        length: .seconds(1), basis: .synthetic))
  }
}
