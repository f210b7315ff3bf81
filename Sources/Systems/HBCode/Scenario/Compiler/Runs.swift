import Contract
import HBCodeDialect
import Simulation
import Wire

/// A run of one session as the recording shows it (SCENARIO.md 3, steps 7 and 8).
struct RecordedRunLife {
  var run: RecordedRun
  /// Nil: it was in progress at the start.
  var start: Instant?
  var end: Instant?
  var ending = RunEvent.Kind.finished
  var startFrame = 0
  /// `startedAt` of the event or of an answer.
  var startedAt: Int64?
  var basis = Basis.recorded
  /// Its parts, in order; the first is the head.
  var parts: [Part] = []

  /// The part of a run that one operation (or nobody of ours) caused.
  struct Part {
    var operation: String?
    var begin: Instant
    /// Order of its user row, nil when never seen.
    var order: SourceOrder?
    /// Position in `Compilation.stretches`.
    var stretch = 0
  }

  var begin: Instant { start ?? .zero }
}

extension Compilation {
  mutating func findRuns() {
    for id in sessions.keys {
      guard let session = sessions[id] else { continue }
      let found = runs(of: session)
      edit(id) { $0.runs = found }
    }
  }

  private mutating func runs(of session: SessionSightings) -> [RecordedRunLife] {
    var lives = OrderedMap<String, RecordedRunLife>()
    func know(_ id: String, _ thread: String?, _ turn: String?) {
      if lives[id] == nil { lives[id] = RecordedRunLife(run: RecordedRun(runId: id, threadId: thread, turnId: turn)) }
      if lives[id]?.run.threadId == nil { lives[id]?.run.threadId = thread }
      if lives[id]?.run.turnId == nil { lives[id]?.run.turnId = turn }
    }
    for sign in session.runSigns {
      know(sign.event.runId, sign.event.threadId, sign.event.turnId)
      if sign.event.kind == .started {
        if lives[sign.event.runId]?.startFrame == 0 {
          lives[sign.event.runId]?.start = sign.source.at
          lives[sign.event.runId]?.startFrame = sign.source.frame
          lives[sign.event.runId]?.startedAt = sign.event.at
        }
      } else if lives[sign.event.runId]?.end == nil {
        lives[sign.event.runId]?.end = sign.source.at
        lives[sign.event.runId]?.ending = sign.event.kind
      }
    }
    // First and last sight by other signs.
    var first: [String: SessionSightings.Source] = [:]
    var last: [String: Instant] = [:]
    func see(_ run: String, _ source: SessionSightings.Source) {
      if first[run].map({ source.happened < $0.happened }) ?? true { first[run] = source }
      last[run] = max(last[run] ?? source.happened, source.happened)
    }
    for sighting in session.overlays {
      for row in sighting.overlay.blocks {
        guard let run = row.runId else { continue }
        know(run, nil, nil)
        see(run, sighting.source)
      }
    }
    for window in session.windows {
      guard let active = window.envelope?.activeRun else { continue }
      know(active.runId, active.threadId, active.turnId)
      if lives[active.runId]?.startedAt == nil { lives[active.runId]?.startedAt = active.startedAt }
      see(active.runId, window.source)
    }
    // A steer that a run took names its turn, also when nothing else does.
    for sighting in session.lists {
      for entry in sighting.list.entries {
        if let accepted = entry.accepted, lives[accepted.runId] != nil { know(accepted.runId, accepted.threadId, accepted.turnId) }
      }
    }
    for id in lives.keys {
      guard var life = lives[id] else { continue }
      if life.startFrame == 0 { findStart(&life, session, first[id]) }
      if life.end == nil { findEnd(&life, session, last[id] ?? life.begin) }
      if let end = life.end, let start = life.start, end < start { life.end = start }
      lives[id] = life
    }
    return lives.values.enumerated().sorted {
      $0.element.begin != $1.element.begin ? $0.element.begin < $1.element.begin : $0.offset < $1.offset
    }.map(\.element)
  }

  /// The start of a run whose event is missing.
  private mutating func findStart(_ life: inout RecordedRunLife, _ session: SessionSightings, _ first: SessionSightings.Source?) {
    let run = life.run.runId
    let firstSight = first?.happened ?? life.end ?? .zero
    let lastWithout = session.windows.last { window in
      guard let envelope = window.envelope, !window.isPartial else { return false }
      return window.source.at <= firstSight && envelope.activeRun?.runId != run
    }
    guard lastWithout != nil || session.runSigns.contains(where: { $0.source.at <= firstSight && $0.event.runId != run }) else {
      life.basis = .derived
      note("\(run) of \(session.id) was in progress when the recording began", first.map { [$0.frame] } ?? [])
      return
    }
    // Where its head entry left the outbox, else its first block.
    let heads = session.liveUser.merging(session.canonicalUser) { live, _ in live }
      .filter { $0.value.row.runId == run }.sorted { Row.precedes($0.value.row, $1.value.row) }
    var start = firstSight
    var why = "its first sight"
    if let head = heads.first?.key, let left = session.left[head], left.happened <= firstSight {
      start = left.isEvent ? left.at : left.happened
      why = "\(head) leaving the outbox"
    }
    if let lastWithout, start < lastWithout.source.at { start = lastWithout.source.at }
    life.start = start
    life.basis = .derived
    note("the start of \(run) of \(session.id) is missing: taken from \(why) at \(start)", first.map { [$0.frame] } ?? [])
  }

  /// The end of a run whose event is missing: at the `session:updated` before the first proof that it is over.
  private mutating func findEnd(_ life: inout RecordedRunLife, _ session: SessionSightings, _ lastSight: Instant) {
    let run = life.run.runId
    let begin = life.begin
    let alive = max(begin, lastSight)
    var proof: (at: Instant, frame: Int)?
    func offer(_ source: SessionSightings.Source) {
      if source.at > alive || (source.at == alive && source.at > begin), proof.map({ source.at < $0.at }) ?? true {
        proof = (source.at, source.frame)
      }
    }
    var epoch: Int64?
    for sighting in session.overlays {
      if sighting.source.happened <= alive {
        epoch = sighting.overlay.version.epoch
      } else if let epoch, sighting.overlay.version.epoch > epoch, !sighting.overlay.blocks.contains(where: { $0.runId == run }) {
        offer(sighting.source)
        break
      }
    }
    if let sign = session.runSigns.first(where: { $0.event.kind == .started && $0.event.runId != run && $0.source.at > begin }) {
      offer(sign.source)
    }
    if let window = session.windows.first(where: { window in
      guard let envelope = window.envelope, !window.isPartial else { return false }
      return window.source.at > alive && envelope.activeRun?.runId != run
    }) {
      offer(window.source)
    }
    guard let proof else {
      note("\(run) of \(session.id) has no end in the recording", [life.startFrame].filter { $0 > 0 }, .assumed)
      return
    }
    let update = session.updates.last { $0.source.at > alive && $0.source.at <= proof.at }
    life.end = update?.source.at ?? max(begin, proof.at - .nanoseconds(1))
    life.basis = .derived
    note(
      "the end of \(run) of \(session.id) is missing: taken from \(update == nil ? "the first proof that it is over" : "session:updated") at "
        + "\(life.end ?? proof.at)", [update?.source.frame ?? proof.frame])
  }

  // MARK: Who entered when

  mutating func cutRuns() {
    for id in sessions.keys {
      guard var session = sessions[id] else { continue }
      for index in session.runs.indices { findParts(&session, index) }
      let heads = headDelays(session)
      for index in session.runs.indices { makeStretches(&session, index, heads) }
      edit(id) { $0 = session }
      leaveWithoutRun(id)
    }
  }

  private func findParts(_ session: inout SessionSightings, _ index: Int) {
    let life = session.runs[index]
    let run = life.run.runId
    let begin = life.begin
    let end = life.end ?? traffic.end
    // Every operation that has a row in the run, or whose accepted steer went in.
    var candidates: [String] = []
    func add(_ operation: String) { if !candidates.contains(operation) { candidates.append(operation) } }
    let rows =
      (session.liveUser.map { ($0.key, $0.value.row, $0.value.at) } + session.canonicalUser.map { ($0.key, $0.value.row, $0.value.at) })
      .filter { $0.1.runId == run }
    for (operation, _, _) in rows.sorted(by: { $0.1.sourceOrder != $1.1.sourceOrder ? $0.1.sourceOrder < $1.1.sourceOrder : $0.0 < $1.0 }) {
      add(operation)
    }
    for operation in session.steerAccepted.keys.sorted() where session.steerAccepted[operation]?.run == run {
      // Accepted, and gone from the list while the run was on: it went in, though no row shows it.
      if let left = session.left[operation], left.at >= begin, left.at < end { add(operation) }
    }
    if life.start != nil,
      !candidates.contains(where: { session.steerAccepted[$0]?.run != run && operations[$0]?.entry.expectedActiveRunId != run })
    {
      // No row tells the head: the entry that left at its start.
      let atStart = session.left.keys.sorted().filter {
        guard let left = session.left[$0] else { return false }
        return left.isEvent && left.at >= begin - Compilation.sameInstant && left.at <= begin + Compilation.sameInstant * 20
          && session.liveUser[$0].map { $0.row.runId == run } ?? true && session.canonicalUser[$0].map { $0.row.runId == run } ?? true
          && !isRemoved($0, session.id)
      }
      if let head = atStart.first, !candidates.contains(head) { candidates.insert(head, at: 0) }
    }
    var parts: [RecordedRunLife.Part] = []
    var hasHead = false
    // What entered a run before the recording began: nothing in it was delivered, listed or left the list then.
    func wasInside(_ operation: String) -> Bool {
      life.start == nil && operations[operation] == nil && session.firstListed[operation] == nil && session.left[operation] == nil
    }
    candidates = candidates.enumerated().filter { $0.offset == 0 || !wasInside($0.element) }.map(\.element)
    for operation in candidates {
      let order = (session.liveUser[operation]?.row ?? session.canonicalUser[operation]?.row)?.sourceOrder
      let left = session.left[operation]
      let leftAt = left.map { $0.isEvent ? $0.at : $0.happened }
      let liveAt = session.liveUser[operation]?.at
      let isSteer = session.steerAccepted[operation]?.run == run
      let entersAtStart: Bool
      if wasInside(operation) {
        entersAtStart = true
      } else if life.start == nil {
        entersAtStart =
          !isSteer && (leftAt ?? liveAt ?? .zero) <= begin + Compilation.sameInstant && session.firstListed[operation] == nil
      } else {
        entersAtStart =
          !isSteer
          && ([leftAt, liveAt].compactMap(\.self).min().map { $0 <= begin + Compilation.sameInstant * 20 } ?? true
            || operations[operation]?.entry.sendMode != .steerRunning)
      }
      if !hasHead, parts.isEmpty, entersAtStart {
        hasHead = true
        parts.append(RecordedRunLife.Part(operation: operation, begin: begin, order: order))
        continue
      }
      let entered = [leftAt, liveAt].compactMap(\.self).min() ?? operations[operation]?.acceptedAt ?? begin
      parts.append(RecordedRunLife.Part(operation: operation, begin: min(max(entered, begin), end), order: order))
    }
    if !hasHead { parts.insert(RecordedRunLife.Part(operation: nil, begin: begin, order: nil), at: 0) }
    let head = parts.removeFirst()
    parts =
      [head]
      + parts.enumerated().sorted { $0.element.begin != $1.element.begin ? $0.element.begin < $1.element.begin : $0.offset < $1.offset }
      .map(\.element)
    session.runs[index].parts = parts
  }

  /// Whether a removal or a newer version of it took an operation out of the list.
  func isRemoved(_ operation: String, _ session: String) -> Bool {
    if operations.values.contains(where: { $0.supersedes == operation && $0.acceptedAt != nil }) { return true }
    return traffic.exchanges.contains {
      $0.method == .outboxRemove && $0.session == session && $0.request.params["operationId"]?.string == operation
        && $0.fate != .lostRequest && $0.error == nil
    }
  }

  // MARK: When a head could begin

  /// Recorded delays of the heads of a session by run, from eligible to begin (SCENARIO.md 2).
  private mutating func headDelays(_ session: SessionSightings) -> [String: Interval] {
    var delays: [String: Interval] = [:]
    for life in session.runs {
      guard let start = life.start, let head = life.parts.first?.operation else { continue }
      var eligible = Instant.zero
      if let accepted = operations[head]?.acceptedAt ?? session.firstListed[head]?.at {
        if accepted > start {
          note(
            "\(head) begins at \(start), before it is taken in at \(accepted): taken in then", [life.startFrame].filter { $0 > 0 }, .derived
          )
          operations[head]?.acceptedAt = start
        }
        eligible = min(accepted, start)
      }
      for other in session.runs where other.run.runId != life.run.runId {
        if let end = other.end, end <= start, other.begin < start { eligible = max(eligible, end) }
      }
      if let first = firstInQueue(head, session, before: start) { eligible = max(eligible, first) }
      delays[life.run.runId] = max(.zero, start - eligible)
    }
    return delays
  }

  /// The instant at which an operation became the first deliverable entry, as far as a list shows it.
  private func firstInQueue(_ operation: String, _ session: SessionSightings, before start: Instant) -> Instant? {
    var since: Instant?
    var was = false
    var listed = false
    for sighting in session.lists {
      if sighting.source.at > start || (sighting.source.at == start && !sighting.has(operation)) { break }
      let first = sighting.list.entries.first { $0.holdReason == nil && $0.accepted == nil && $0.handoff == nil }
      let isFirst = first?.operationId == operation
      if isFirst, !was, listed { since = sighting.source.at }
      if !isFirst { since = nil }
      was = isFirst
      listed = listed || sighting.has(operation)
    }
    return since
  }

  /// The lower median of a lane's recorded delays, else 400 ms (SCENARIO.md 2).
  private func standardDelay(_ heads: [String: Interval]) -> Interval {
    let sorted = heads.values.sorted()
    return sorted.isEmpty ? .milliseconds(400) : sorted[(sorted.count - 1) / 2]
  }

  private mutating func makeStretches(_ session: inout SessionSightings, _ index: Int, _ heads: [String: Interval]) {
    let life = session.runs[index]
    let run = life.run.runId
    let end = life.end ?? max(traffic.end, life.begin)
    for position in life.parts.indices {
      let part = life.parts[position]
      let next = position + 1 < life.parts.count ? life.parts[position + 1] : nil
      let isHead = position == 0
      let cause: Cause
      var delay = Interval.zero
      var basis = life.basis
      if let operation = part.operation {
        cause = .operation(operation)
        delay = isHead ? heads[run] ?? .zero : standardDelay(heads)
        if !isHead, basis == .recorded { basis = .derived }
      } else {
        cause = .clock(part.begin)
      }
      var stretch = Stretch(
        id: "\(run)/\(part.operation ?? "outside")", lane: Lane(session.id), cause: cause, delay: delay, steps: [],
        length: (next?.begin ?? end) - part.begin, run: life.run, recordedBegin: part.begin, basis: basis)
      if isHead, life.start == nil { stretch.cause = .clock(.zero) }
      if isHead { stretch.stamps.startedAt = life.startedAt }
      if let next {
        stretch.end = .handedOver(operation: next.operation ?? "")
      } else {
        stretch.end = ending(of: life, session, &stretch)
        if let end = life.end {
          stretch.stamps.endedAt = session.runSigns.first { $0.event.runId == run && $0.event.kind != .started }?.event.at
          stretch.stamps.updatedAt =
            session.updates.first { $0.source.at >= end - Compilation.sameInstant && $0.source.at <= end + Compilation.sameInstant }?
            .updatedAt
        }
      }
      session.runs[index].parts[position].stretch = stretches.count
      stretches.append(stretch)
    }
  }

  private mutating func ending(of life: RecordedRunLife, _ session: SessionSightings, _ stretch: inout Stretch) -> StretchEnd {
    guard let end = life.end else { return .open(why: "the recording ends") }
    switch life.ending {
    case .started, .finished: return .finished
    case .failed: return .failed
    case .cancelled: return .cancelled
    case .aborted:
      // A run that is stopping takes no second stop: the first one counts.
      let stop = traffic.exchanges.indices.first {
        let exchange = traffic.exchanges[$0]
        return exchange.method == .stop && exchange.session == session.id && exchange.fate != .lostRequest && exchange.error == nil
          && exchange.request.params["runId"]?.string == life.run.runId && traffic.arrival($0) <= end
      }
      // The first frame of that stop is its intent.
      guard let stop, let key = traffic.exchanges[stop].key else { return .aborted }
      stopOfStretch[stretch.id] = key
      stretch.stopTime = end - traffic.arrival(stop)
      return .aborted
    }
  }

  // MARK: Deliveries without a run

  /// Operations that left the outbox although no run shows them and nobody took them out.
  private mutating func leaveWithoutRun(_ id: String) {
    guard let session = sessions[id] else { return }
    let played = Set(session.runs.flatMap { $0.parts.compactMap(\.operation) })
    for operation in session.left.keys.sorted() {
      guard let left = session.left[operation], !played.contains(operation), !isRemoved(operation, id) else { continue }
      let at = left.isEvent ? left.at : left.happened
      let accepted = operations[operation]?.acceptedAt ?? session.firstListed[operation]?.at ?? .zero
      note("\(operation) left the outbox at \(at) and no run shows it", [left.frame], .assumed)
      stretches.append(
        Stretch(
          id: "left/\(operation)", lane: Lane(id), cause: .operation(operation), delay: max(.zero, at - accepted),
          steps: [Step(offset: .zero, changes: [.leave(operation: operation)])], length: .zero, recordedBegin: at, basis: .assumed))
    }
  }
}
