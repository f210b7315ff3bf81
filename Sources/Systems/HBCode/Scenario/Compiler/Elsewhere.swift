import Contract
import HBCodeDialect
import Simulation
import Wire

extension Compilation {
  /// Entries of no operation of ours, and holds (SCENARIO.md 3, step 11).
  mutating func readOutboxesFromElsewhere() {
    for id in sessions.keys {
      guard var session = sessions[id] else { continue }
      readOutbox(&session)
      let outbox = session.state.outbox
      edit(id) { $0.state.outbox = outbox }
    }
  }

  private mutating func readOutbox(_ session: inout SessionSightings) {
    guard let first = session.lists.first else { return }
    let ours = Set(operations.keys)
    var holds: [String: String?] = [:]
    // What was there before anything of ours arrived.
    var start = first.list
    start.entries.removeAll { entry in
      guard ours.contains(entry.operationId) else { return false }
      return (operations[entry.operationId]?.acceptedAt ?? .zero) > .zero || operations[entry.operationId]?.acceptedBy != nil
    }
    let arrived = first.list.entries.count - start.entries.count
    start.revision = max(0, start.revision - Int64(arrived))
    session.state.outbox = start
    for entry in start.entries { holds[entry.operationId] = .some(entry.holdReason) }
    if !start.entries.isEmpty {
      note("\(start.entries.count) entries are in the outbox of \(session.id) at the start", [first.source.frame], .recorded)
    }
    var before = Instant.zero
    for sighting in session.lists {
      defer { before = sighting.source.at }
      for entry in sighting.list.entries {
        let operation = entry.operationId
        if let known = holds[operation] {
          if known != entry.holdReason {
            holds[operation] = .some(entry.holdReason)
            if !approves(operation, session.id, since: before, at: sighting.source.at) {
              outside(
                .hold(operation: operation, reason: entry.holdReason), session.id, at: sighting.source.happened, "hold/\(operation)",
                sighting.source.frame, sighting.source.isEvent ? .recorded : .assumed)
            }
          }
          continue
        }
        holds[operation] = .some(entry.holdReason)
        if ours.contains(operation) { continue }
        enter(entry, session, sighting)
      }
    }
  }

  /// Whether a submit of the phone lifted a hold (every intent but `enqueue` approves): it arrived after the list before, or so shortly
  /// before that list that it may have come late.
  private func approves(_ operation: String, _ session: String, since before: Instant, at: Instant) -> Bool {
    traffic.exchanges.indices.contains {
      let exchange = traffic.exchanges[$0]
      guard exchange.session == session, exchange.fate != .lostRequest, exchange.error == nil, let submit = submit(exchange) else {
        return false
      }
      let arrival = traffic.arrival($0) + exchange.takenLate
      return submit.entry.operationId == operation && submit.intent != .enqueue && arrival <= at + Compilation.sameInstant
        && arrival >= min(before, at - Compilation.sameInstant * 50)
    }
  }

  /// An entry that another session or another phone made: outside, or after the row in which that session says so.
  private mutating func enter(_ entry: OutboxEntry, _ session: SessionSightings, _ sighting: SessionSightings.List) {
    var entry = entry
    entry.status = .queued
    let at = sighting.source.happened
    let id = "entry/\(entry.operationId)"
    let steps = [Step(offset: .zero, changes: [.entry(entry)])]
    if entry.message != nil, let origin = sender(of: entry, in: session, before: at) {
      note("\(entry.operationId) in \(session.id) was sent by \(origin.stretch.id)", [sighting.source.frame])
      stretches.append(
        Stretch(
          id: id, lane: nil, cause: .after(stretch: origin.stretch.id, .step(origin.step)), delay: max(.zero, at - origin.at), steps: steps,
          length: .zero, recordedBegin: at, basis: sighting.source.isEvent ? .recorded : .assumed, session: session.id))
    } else {
      note("\(entry.operationId) of \(session.id) comes from elsewhere", [sighting.source.frame])
      stretches.append(
        Stretch(
          id: id, lane: nil, cause: .clock(at), steps: steps, length: .zero, recordedBegin: at,
          basis: sighting.source.isEvent ? .recorded : .assumed, session: session.id))
    }
  }

  /// The step of another session's stretch that puts the outgoing row of a message.
  private func sender(
    of entry: OutboxEntry, in session: SessionSightings, before at: Instant
  ) -> (stretch: Stretch, step: Int, at: Instant)? {
    for stretch in stretches where stretch.lane != nil && stretch.session != session.id {
      guard let begin = stretch.recordedBegin, begin <= at else { continue }
      for (number, step) in stretch.steps.enumerated() where begin + step.offset <= at {
        let says = step.changes.contains {
          guard case .put(let row) = $0, row.message?.direction == .outgoing, row.text == entry.submit.userText else { return false }
          return row.message?.link.map { $0.sessionId == session.id } ?? true
        }
        if says { return (stretch, number, begin + step.offset) }
      }
    }
    return nil
  }

  /// Titles, runtime, agents, load states, and events that nothing else makes.
  mutating func readSessionFacts() {
    for id in sessions.keys {
      guard let session = sessions[id] else { continue }
      var state = session.state
      let ends = session.runs.compactMap(\.end)
      // A first update that is not a run's own may have changed the title.
      if let first = session.updates.first, ends.contains(where: { isSame($0, first.source.at) }) { state.title = first.title }
      var title = state.title
      for update in session.updates {
        let isDerived = ends.contains { isSame($0, update.source.at) }
        if update.title != title || !isDerived {
          outside(.title(update.title), id, at: update.source.at, "title", update.source.frame, .recorded)
          stretches[stretches.count - 1].stamps.updatedAt = update.updatedAt
        }
        title = update.title
      }
      if let first = session.updates.first { state.updatedAt = max(-largestSafeInteger, min(wall, first.updatedAt - 1)) }
      let windows = session.windows.filter { $0.envelope != nil }
      if let envelope = windows.first?.envelope {
        state.agent = envelope.storageFormat == "native" ? .claude : .codex
        state.nativeSessionId = envelope.nativeSessionId
        state.loadState = envelope.loadState
        state.runtime = envelope.runtime
        var runtime = envelope.runtime
        for window in windows.dropFirst() {
          guard let next = window.envelope?.runtime ?? nil, next != runtime else { continue }
          runtime = next
          outside(.runtime(next), id, at: window.source.happened, "runtime", window.source.frame, .assumed)
        }
      }
      if state.projectPath.isEmpty {
        state.projectPath = SessionState.standardProject
      }
      if let running = session.runs.first(where: { $0.start == nil }) {
        state.activeRun = ActiveRun(
          runId: running.run.runId, threadId: running.run.threadId, turnId: running.run.turnId, startedAt: running.startedAt ?? wall)
      }
      state.delivered = deliveredBefore(session)
      state.deliveryPaused = isPaused(session)
      if state.deliveryPaused { note("\(id) takes messages but starts none: delivery is paused", [], .assumed) }
      edit(id) { $0.state = state }
    }
    readDesktopEvents()
  }

  func isSame(_ a: Instant, _ b: Instant) -> Bool {
    a - b <= Compilation.sameInstant && b - a <= Compilation.sameInstant
  }

  /// Operations that were accepted by a receipt, are listed nowhere and seen nowhere: delivered before.
  private func deliveredBefore(_ session: SessionSightings) -> [String] {
    operations.values.filter { operation in
      guard operation.session == session.id, session.firstSeen[operation.id] == nil, let by = operation.acceptedBy,
        traffic.exchanges[by].isOk
      else { return false }
      return session.lists.contains { $0.source.exchange == by && !$0.has(operation.id) }
    }.map(\.id)
  }

  /// An entry that could be delivered waits 10 s or longer with no run before the recording ends, and none was ever delivered.
  private func isPaused(_ session: SessionSightings) -> Bool {
    guard session.runs.isEmpty, let last = session.lists.last else { return false }
    return last.list.entries.contains {
      $0.holdReason == nil && $0.error == nil && session.firstListed[$0.operationId].map { traffic.end - $0.at >= .seconds(10) } ?? false
    }
  }

  private mutating func readDesktopEvents() {
    var number = 0
    for event in traffic.events {
      let about: String
      switch event.event {
      case .desktop(let desktop): about = desktop.desktopId
      case .relayGap, .unknown: about = traffic.sockets[event.socket].desktop
      default: continue
      }
      number += 1
      let at = traffic.departure(event.at, event.socket)
      if case .unknown = event.event { note("event \(event.message.name) is unknown: repeated as recorded", [event.frame], .recorded) }
      stretches.append(
        Stretch(
          id: "event/\(number)/\(event.message.name)", lane: nil, cause: .clock(at),
          steps: [Step(offset: .zero, changes: [.event(name: event.message.name, fields: event.message.fields)])], length: .zero,
          recordedBegin: at, desktop: about))
    }
  }

  func desktopStates() -> [DesktopState] {
    var desktops: [DesktopState] = []
    for socket in traffic.sockets where !desktops.contains(where: { $0.id == socket.desktop }) {
      desktops.append(DesktopState(id: socket.desktop, sessions: []))
    }
    for session in sessions.values {
      let index = desktops.firstIndex { $0.id == session.desktop } ?? 0
      desktops[index].sessions.append(session.state)
    }
    return desktops
  }
}
