import Contract
import HBCodeDialect
import HBCodeScenario
import Simulation
import Wire

/// Plays stretches: their steps at their offsets, their rows with re-issued identifiers, and what their ending leaves behind
/// (SCENARIO.md 2).
extension DesktopTwin {
  // MARK: Causes

  mutating func fire(_ trigger: Tape.Trigger) {
    for index in tape.fire(trigger) { push(.begin(stretch: index), at: now + max(.zero, tape.stretches[index].delay), rank: index) }
  }

  mutating func happened(_ stretch: Int) {
    guard tape.happened(stretch) else { return }
    push(.begin(stretch: stretch), at: now + max(.zero, tape.stretches[stretch].delay), rank: stretch)
  }

  /// A stretch that no operation causes may begin now; one of an exclusive lane waits for the lane to be idle.
  mutating func beginByCause(_ index: Int) {
    guard tape.states[index] == .waiting else { return }
    let stretch = tape.stretches[index]
    let lane = stretch.session.flatMap { sessionIndex[$0] }
    guard stretch.isExclusive, let lane else { return begin(index, lane: lane, runId: nil, operation: nil) }
    guard let run = ledgers[lane].run else {
      cancelPending(lane)
      beginOutside(index, lane)
      return settleQueue(lane)
    }
    if run.recorded == stretch.run?.runId, !run.isStopping, run.phase == .waiting || run.phase == .silent {
      return begin(index, lane: lane, runId: run.id, operation: nil)
    }
    ledgers[lane].deferred.append(index)
    note("stretch", ["id": .string(stretch.id), "state": "deferred"])
  }

  /// Begins a run that no operation of the queue heads.
  mutating func beginOutside(_ index: Int, _ lane: Int) {
    let stretch = tape.stretches[index]
    guard tape.states[index] == .waiting else { return }
    // Nothing that only the clock causes begins after the recorded end.
    if case .clock = stretch.cause, now > facts.end { return }
    let runId = stretch.run?.runId ?? "x:run:" + stretch.id
    beginRun(index, lane, id: runId, turnId: stretch.run?.turnId)
    begin(index, lane: lane, runId: runId, operation: nil)
  }

  // MARK: Playing

  /// What is added to the stamps of a stretch that begins now, milliseconds, rounded to the nearest.
  func shift(of stretch: Stretch) -> Int64 {
    guard let recorded = stretch.recordedBegin else { return 0 }
    let by = (now - recorded).nanoseconds
    let (quotient, remainder) = by.quotientAndRemainder(dividingBy: 1_000_000)
    if remainder >= 500_000 { return quotient + 1 }
    return remainder < -500_000 ? quotient - 1 : quotient
  }

  /// Begins a stretch; `operation` is the entry that it delivers.
  mutating func begin(_ index: Int, lane: Int?, runId: String?, operation entry: OutboxEntry?) {
    guard tape.states[index] == .waiting else { return note("defect", ["what": .string("\(tape.stretches[index].id) begins twice")]) }
    let stretch = tape.stretches[index]
    var play = Tape.Play(lane: lane, begin: now, steps: stretch.steps)
    play.desktop = stretch.desktop
    play.shift = shift(of: stretch)
    play.runId = runId
    if play.shift != 0, let recorded = stretch.recordedBegin {
      note(
        "reissued",
        [
          "what": "stamps", "stretch": .string(stretch.id), "from": .integer(recorded.nanoseconds), "to": .integer(now.nanoseconds),
        ])
    }
    if let lane, let runId {
      if let recorded = stretch.run?.runId, recorded != runId { noteReissued("runId", .string(recorded), .string(runId), lane) }
      play.prefix = prefix(of: stretch, lane)
      if let entry {
        let recorded = matching.recorded(entry.operationId)
        if recorded != entry.operationId { play.renamed = (recorded, entry.operationId, entry.submit.userText) }
        addOpening(to: &play, stretch, entry, lane)
      }
      ledgers[lane].run?.parts.append(index)
      ledgers[lane].run?.phase = .playing(stretch: index)
    }
    tape.states[index] = .playing
    tape.plays[index] = play
    noteStretch(index)
    fire(.after(stretch.id, .began))
    self.play(index)
  }

  /// The lane's greatest order number, when those of the stretch would not grow beyond it; else nothing.
  private mutating func prefix(of stretch: Stretch, _ lane: Int) -> [UInt64] {
    var least: SourceOrder?
    func look(_ row: Row) {
      if ledgers[lane].placed.contains(row.identity) { return }
      if least.map({ row.sourceOrder < $0 }) ?? true { least = row.sourceOrder }
    }
    for step in stretch.steps { for change in step.changes { if let row = change.row { look(row) } } }
    stretch.outcome.forEach(look)
    let greatest = ledgers[lane].greatest
    guard let least, stretch.basis != .synthetic, !(greatest < least) else { return [] }
    let prefix = greatest.parts.map { Int64(exactly: $0).map(JSON.integer) ?? .unsigned($0) }
    note("reissued", ["what": "sourceOrder", "stretch": .string(stretch.id), "from": .null, "to": .array(prefix)])
    return greatest.parts
  }

  /// A live user row with its operation appears at the begin of every delivery (spec D.5), also when no phone ever saw it live.
  private mutating func addOpening(to play: inout Tape.Play, _ stretch: Stretch, _ entry: OutboxEntry, _ lane: Int) {
    let operation = matching.recorded(entry.operationId)
    for step in stretch.steps {
      for case .put(let row) in step.changes where row.type == .user && row.operationId == operation { return }
    }
    let canonical = stretch.outcome.first { $0.type == .user && $0.operationId == operation }
    let id = canonical?.id ?? "x:" + operation
    let order = canonical?.sourceOrder.parts ?? ledgers[lane].greatest.parts + [0]
    let row = Row.made(
      type: .user, id: id, origin: .live, sourceOrder: order, timestamp: canonical?.timestamp ?? stamp(lane) - play.shift,
      runId: play.runId, operationId: operation, text: canonical?.text ?? entry.submit.userText, title: canonical?.title,
      threadId: canonical?.threadId, message: canonical?.message)
    if canonical == nil { ledgers[lane].reordered[row.identity] = row.sourceOrder }
    if let first = play.steps.first, first.offset <= .zero {
      play.steps[0].changes.insert(.put(row), at: 0)
      play.steps[0].increment = max(1, first.increment)
    } else {
      play.steps.insert(Step(offset: .zero, changes: [.put(row)], increment: 1), at: 0)
      play.addedSteps = 1
    }
  }

  /// Plays the steps that are due and arms the next one, or the end.
  mutating func play(_ index: Int) {
    let id = tape.stretches[index].id
    while tape.states[index] == .playing, let play = tape.plays[index] {
      if play.nextStep < play.steps.count {
        let step = play.steps[play.nextStep]
        let at = play.begin + max(.zero, step.offset)
        if at > now { return push(.play(stretch: index), at: at, rank: index) }
        tape.plays[index]?.nextStep += 1
        apply(step, play, index)
        let number = play.nextStep - play.addedSteps
        if number >= 0 { fire(.after(id, .step(number))) }
      } else {
        let at = play.begin + max(.zero, tape.stretches[index].length)
        if at > now { return push(.play(stretch: index), at: at, rank: index) }
        return end(index, play)
      }
    }
  }

  private mutating func apply(_ step: Step, _ play: Tape.Play, _ index: Int) {
    guard let lane = play.lane else {
      for case .event(let name, let fields) in step.changes {
        let desktop = play.desktop ?? desktops.first
        if let desktop { broadcast(EventMessage(name: name, fields: fields), desktop: desktop) }
      }
      return
    }
    var isLive = step.increment > 0
    var hasJumped = false
    var queueMatters = false
    for change in step.changes {
      switch change {
      case .put(let row):
        let row = issued(row, play, lane)
        if row.type == .user, let operation = row.operationId { ledgers[lane].delivered.insert(operation) }
        ledgers[lane].put(row)
        isLive = true
      case .take(let identity):
        ledgers[lane].take(identity: identity)
        isLive = true
      case .history(let row): remember(issued(row, play, lane), lane, .recorded)
      case .entry(let entry):
        let operation = entry.operationId
        guard ledgers[lane].position(of: operation) == nil, !ledgers[lane].tombstones.contains(operation),
          !ledgers[lane].delivered.contains(operation)
        else { continue }
        ledgers[lane].entries.append(entry)
        note("listed", ["operation": .string(operation), "text": .string(entry.submit.userText), "lane": .string(ledgers[lane].id)])
        listChanged(lane)
        queueMatters = true
      case .leave(let operation): leave(operation, lane)
      case .hold(let operation, let reason):
        guard let at = ledgers[lane].position(of: operation), ledgers[lane].entries[at].holdReason != reason else { continue }
        ledgers[lane].entries[at].holdReason = reason
        listChanged(lane)
        queueMatters = true
      case .title(let title):
        ledgers[lane].title = title
        announceUpdate(lane, at: tape.stretches[index].stamps.updatedAt.map { $0 + play.shift } ?? stamp(lane))
      case .runtime(let runtime): ledgers[lane].runtime = runtime
      case .epochJump(let count):
        jump(lane, by: count)
        hasJumped = true
      case .outboxRevision(let count): ledgers[lane].raiseRevisionSilently(by: count)
      case .event(let name, let fields): broadcast(EventMessage(name: name, fields: fields), desktop: ledgers[lane].desktop)
      }
    }
    if isLive { ledgers[lane].raiseOverlay(by: step.increment) }
    if isLive || hasJumped { announceOverlay(lane) }
    if queueMatters { settleQueue(lane) }
  }

  /// A recorded jump plays as recorded: the recorded steps after it put the blocks back. In a run that plays at another time than in
  /// the recording they cannot, so its next step shows all of its blocks, as after an injected jump.
  private mutating func jump(_ lane: Int, by count: Int64) {
    guard case .playing(let stretch)? = ledgers[lane].run?.phase else { return ledgers[lane].jumpEpoch(by: count, restoring: false) }
    let isAsRecorded = tape.stretches[stretch].recordedBegin.map { $0 == tape.plays[stretch]?.begin } ?? false
    ledgers[lane].jumpEpoch(by: count, restoring: !isAsRecorded)
    if isAsRecorded { ledgers[lane].clearBlocks() }
  }

  private mutating func leave(_ operation: String, _ lane: Int) {
    ledgers[lane].delivered.insert(operation)
    guard let index = ledgers[lane].position(of: operation) else { return }
    ledgers[lane].entries.remove(at: index)
    if ledgers[lane].pending?.operation == operation { ledgers[lane].pending = nil }
    note("delivered", ["operation": .string(operation), "run": .null, "lane": .string(ledgers[lane].id)])
    listChanged(lane)
    fire(.delivered(operation))
    settleQueue(lane)
  }

  private mutating func end(_ index: Int, _ play: Tape.Play) {
    let stretch = tape.stretches[index]
    tape.states[index] = .done
    tape.plays[index]?.isComplete = true
    noteStretch(index)
    fire(.after(stretch.id, .ended))
    guard let lane = play.lane else { return }
    guard let run = ledgers[lane].run, run.phase == .playing(stretch: index) else {
      for row in stretch.outcome { remember(issued(row, play, lane), lane, .recorded) }
      return
    }
    ledgers[lane].run?.phase = .silent
    switch stretch.end {
    case .finished:
      if !enterSteer(lane) { endRun(lane, .finished, naturalEnd: index) }
    case .failed: endRun(lane, .failed, naturalEnd: index)
    case .aborted: endRun(lane, .aborted, naturalEnd: index)
    case .cancelled: endRun(lane, .cancelled, naturalEnd: index)
    case .handedOver(let operation):
      if run.isStopping || enterSteer(lane) { return }
      ledgers[lane].run?.phase = .handedOver
      armSilence(lane, for: tape.rest(afterHandingOverTo: operation))
    case .stopped:
      if !run.isStopping { fallSilent(lane, for: DesktopTwin.silentTime, why: "its recorded stop did not come") }
    case .open(let why):
      if !run.isStopping { fallSilent(lane, for: DesktopTwin.silentTime, why: why) }
    }
  }

  // MARK: Rows

  /// A recorded row as it is in this replay: stamps shifted, order numbers growing, the run that it really plays in; the rest and
  /// the order of keys byte for byte.
  private mutating func issued(_ row: Row, _ play: Tape.Play, _ lane: Int) -> Row {
    var row = row
    if play.shift != 0 {
      row.timestamp += play.shift
      row.raw["timestamp"] = .integer(row.timestamp)
    }
    if ledgers[lane].reordered[row.identity] == nil, !play.prefix.isEmpty, !ledgers[lane].placed.contains(row.identity) {
      ledgers[lane].reordered[row.identity] = SourceOrder(play.prefix + row.sourceOrder.parts)
    }
    if let order = ledgers[lane].reordered[row.identity], order != row.sourceOrder {
      row.sourceOrder = order
      row.raw["sourceOrder"] = .array(order.parts.map { Int64(exactly: $0).map(JSON.integer) ?? .unsigned($0) })
    }
    if let renamed = play.renamed, row.type == .user, row.operationId == renamed.recorded {
      row.operationId = renamed.own
      row.raw["operationId"] = .string(renamed.own)
      row.text = renamed.text
      row.raw["text"] = .string(renamed.text)
    }
    if let runId = play.runId, let recorded = row.runId, recorded != runId {
      row.runId = runId
      row.raw["runId"] = .string(runId)
    }
    return row
  }

  private mutating func remember(_ row: Row, _ lane: Int, _ basis: Basis) {
    ledgers[lane].remember(row)
    guard row.type == .user, let operation = row.operationId else { return }
    ledgers[lane].delivered.insert(operation)
    var fields: JSONObject = ["operation": .string(operation), "row": .string(row.identity), "lane": .string(ledgers[lane].id)]
    if basis != .recorded { fields["basis"] = .string(basis.rawValue) }
    note("history", fields)
  }

  /// The rows of a run go to history: in the recorded canonical form where the live form had come as far as in the recording,
  /// else as they were shown.
  mutating func settle(_ lane: Int, _ run: Run) {
    let blocks = ledgers[lane].blocks
    // The last recorded version of each live row, in the form of this replay, and the stretch that brings it.
    var last: [String: Row] = [:]
    var owner: [String: Int] = [:]
    var outcome: [(row: Row, stretch: Int)] = []
    for part in run.parts {
      guard let play = tape.plays[part] else { continue }
      for step in play.steps {
        for case .put(let row) in step.changes {
          last[row.identity] = issued(row, play, lane)
          owner[row.identity] = part
        }
      }
      for row in tape.stretches[part].outcome { outcome.append((issued(row, play, lane), part)) }
    }
    let delivered = run.parts.compactMap { part -> String? in
      if case .operation(let operation) = tape.stretches[part].cause { tape.plays[part]?.renamed?.own ?? operation } else { nil }
    }
    var settled: Set<String> = []
    for (row, part) in outcome where !settled.contains(row.identity) {
      let isComplete = tape.plays[part]?.isComplete ?? false
      let live = blocks.first { $0.identity == row.identity }
      var kept: Row?
      var basis = tape.stretches[part].basis
      if let live {
        if let final = last[row.identity], final != live {
          kept = live.canonical
          basis = .derived
        } else {
          kept = row
        }
      } else if isComplete || (row.type == .user && row.operationId.map(delivered.contains) ?? false) {
        // It had left the overlay, or was never seen live.
        kept = row
      }
      guard let kept else { continue }
      settled.insert(row.identity)
      if let operation = kept.operationIdentity { settled.insert(operation) }
      remember(kept, lane, basis)
    }
    for live in blocks where !settled.contains(live.identity) && !(live.operationIdentity.map(settled.contains) ?? false) {
      // A row of a stretch that was played and saved whole, and that is not among its saved rows though both its neighbours are, was
      // shown only (thinking).
      if live.type != .user, let part = owner[live.identity], tape.plays[part]?.isComplete == true,
        outcome.contains(where: { Row.precedes($0.row, live) }), outcome.contains(where: { Row.precedes(live, $0.row) })
      {
        continue
      }
      remember(live.canonical, lane, .derived)
    }
  }

  // MARK: Notes

  func stretchNote(_ index: Int) -> Observation {
    let stretch = tape.stretches[index]
    var fields: JSONObject = ["id": .string(stretch.id), "state": .string(tape.states[index].rawValue)]
    if let session = stretch.session { fields["lane"] = .string(session) }
    if stretch.basis != .recorded { fields["basis"] = .string(stretch.basis.rawValue) }
    return Observation("stretch", fields)
  }

  mutating func noteStretch(_ index: Int) { out.append(.note(stretchNote(index))) }

  mutating func noteReissued(_ what: String, _ from: JSON, _ to: JSON, _ lane: Int) {
    note("reissued", ["what": .string(what), "from": from, "to": to, "lane": .string(ledgers[lane].id)])
  }
}

extension Change {
  /// The row that this change brings, if any.
  fileprivate var row: Row? {
    switch self {
    case .put(let row), .history(let row): row
    default: nil
    }
  }
}

extension Row {
  /// The same row as saved: only its origin differs.
  var canonical: Row {
    var row = self
    row.origin = .canonical
    row.raw["origin"] = .string(RowOrigin.canonical.rawValue)
    return row
  }
}
