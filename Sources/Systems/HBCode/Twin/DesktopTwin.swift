import Contract
import HBCodeDialect
import HBCodeScenario
import Simulation
import Wire

/// The relay and the desktop of hbcode (spec D.5), rebuilt from a scenario: a ledger of truth for each session, the rules of
/// delivery, and the stretches of the recorded past, played when their causes happen (SCENARIO.md 2).
///
/// Everything it does follows from its inputs; it draws nothing. Equal histories give equal effects.
///
/// Notes, besides those of `Vocabulary` (each with `lane`, the session, where it belongs to one): `run` {run, state: started, finished,
/// failed, aborted, cancelled}; `listed` {operation, text}: an entry that came from elsewhere; `steered` {operation, run}: the running turn
/// took a steer; `dropped` {conn, reason, at}: a frame that is no request; `basis` {what, basis}; `stretch` with the states of a stretch and
/// `deferred`; `reissued` also per stretch for its stamps and order numbers; `defect` {what}: a fault of the twin itself.
package struct DesktopTwin: Twin {
  /// What falls due by itself.
  enum Due: Sendable, Hashable {
    /// The state of t = 0 is looked at by the rules of delivery.
    case start
    /// A stretch that nothing of ours causes, or whose cause has happened, begins (or waits for its lane).
    case begin(stretch: Int)
    /// The clock part of a compound cause.
    case cause(stretch: Int)
    /// The next steps of a playing stretch, or its end.
    case play(stretch: Int)
    /// The pending begin of the first deliverable entry of a lane.
    case deliver(lane: Int, token: Int)
    /// The running turn takes a steer; `clock`: what its stamp adds to the wall clock, nil as the run's stamps do.
    case accept(lane: Int, operation: String, clock: Int64?)
    /// A run that nobody continued, stopped or showed the end of, finishes.
    case silence(lane: Int, token: Int)
    /// A request that the desktop takes in later than it arrived.
    case request(RequestMessage, ConnectionID, Refusal?, [ServiceRule.What])
    /// A run that was asked to stop ends.
    case stop(lane: Int, token: Int)
  }

  struct Timed: Sendable {
    var due: Due
    /// Orders what falls due at one instant: by stretch, with what has none before or after (SCENARIO.md 8.1).
    var rank: Int
  }

  let facts: ScenarioFacts
  let reader = HBCodeReader()
  var relay: Relay
  var tape: Tape
  var book: Book
  var service: ServiceBook
  var matching: Matching
  var ledgers: [Ledger] = []
  /// Position in `ledgers` by desktop and session.
  var ledgerIndex: [String: Int] = [:]
  /// The first ledger of a session id, for stretches, which do not name the desktop.
  var sessionIndex: [String: Int] = [:]
  var desktops: [String] = []
  var answers: [String: StoredAnswer] = [:]
  var answered: [String: Int] = [:]
  var uploads = OrderedMap<String, Upload>()
  /// Intents by the mutation id that their gesture carries.
  let intentOfMutation: [String: String]
  let intents: [String: Intent]
  /// Re-issued tokens that were noted already.
  var notedTokens: Set<String> = []

  var queue = EventQueue<Timed>()
  /// The instant whose outbox changes have not been announced yet.
  var flushAt: Instant?
  var tokens = 0
  var now = Instant.zero
  var out: [TwinEffect] = []

  /// - Parameter random: not drawn from; every draw of a replay belongs to the core or to the plan.
  package init(scenario: HBCodeScenario, random: SeededRandom) {
    facts = scenario.facts
    relay = Relay(start: scenario.clientStart)
    book = Book(scenario.book)
    service = ServiceBook(scenario.service)
    matching = Matching(scenario)
    var byMutation: [String: String] = [:]
    var byID: [String: Intent] = [:]
    for intent in scenario.facts.intents {
      byID[intent.id] = intent
      if let mutation = intent.gesture.fields["ids"]?["mutationId"]?.string, byMutation[mutation] == nil {
        byMutation[mutation] = intent.id
      }
    }
    intentOfMutation = byMutation
    intents = byID
    for desktop in scenario.desktops {
      desktops.append(desktop.id)
      for session in desktop.sessions {
        let index = ledgers.count
        ledgers.append(Ledger(desktop: desktop.id, session))
        ledgerIndex[Ledger.key(desktop.id, session.id)] = index
        if sessionIndex[session.id] == nil { sessionIndex[session.id] = index }
      }
    }
    tape = Tape(scenario.tape)
    for index in ledgers.indices { ledgers[index].learnThreads(tape.stretches) }
    for (index, stretch) in tape.stretches.enumerated() {
      switch stretch.cause {
      case .clock(let at): push(.begin(stretch: index), at: max(at + stretch.delay, .zero), rank: index)
      case .all(let causes):
        for case .clock(let at) in causes { push(.cause(stretch: index), at: min(max(at, .zero), Tape.latest), rank: index) }
      case .operation, .accepted, .after, .request: break
      }
    }
    push(.start, at: .zero, rank: Int.max)
  }

  package var nextDue: Instant? {
    guard let next = queue.nextInstant else { return flushAt }
    return flushAt.map { min($0, next) } ?? next
  }

  package mutating func handle(_ input: TwinInput, at now: Instant) -> [TwinEffect] {
    out = []
    // A run in real time may be handed a frame after something that fell due earlier.
    advance(to: now, inclusive: false)
    self.now = now
    switch input {
    case .connected(let connection, let endpoint): relay.connect(connection, endpoint)
    case .disconnected(let connection): relay.disconnect(connection)
    case .received(let frame, let refusal): receive(frame, refusal)
    case .due: advance(to: now, inclusive: true)
    case .fault(let fault): take(fault)
    }
    let effects = out
    out = []
    return effects
  }

  /// Void stretches (their cause never happened) and those that were still playing.
  package mutating func finish(at now: Instant) -> [Observation] {
    var notes: [Observation] = []
    for index in tape.stretches.indices where tape.states[index] == .waiting {
      tape.states[index] = .void
      notes.append(stretchNote(index))
    }
    return notes
  }

  // MARK: Time

  mutating func push(_ due: Due, at instant: Instant, rank: Int) { queue.push(Timed(due: due, rank: rank), at: instant, eventClass: 0) }

  mutating func nextToken() -> Int {
    tokens += 1
    return tokens
  }

  /// Does what is due, instant by instant; the outbox changes of an instant are announced at its end.
  private mutating func advance(to end: Instant, inclusive: Bool) {
    while let next = nextDue, inclusive ? next <= end : next < end {
      now = next
      while queue.nextInstant == next {
        var batch: [Timed] = []
        while queue.nextInstant == next, let item = queue.pop() { batch.append(item.element) }
        if batch.count > 1 {
          batch = batch.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }.map(\.element)
        }
        for item in batch { perform(item.due) }
      }
      flush()
    }
  }

  private mutating func perform(_ due: Due) {
    switch due {
    case .request(let request, let connection, let refusal, let rules): take(request, on: connection, refusal, rules)
    case .start: start()
    case .begin(let stretch): beginByCause(stretch)
    case .cause(let stretch): happened(stretch)
    case .play(let stretch): play(stretch)
    case .deliver(let lane, let token): deliver(lane, token)
    case .accept(let lane, let operation, let clock): acceptSteer(lane, operation, clock)
    case .silence(let lane, let token): endSilence(lane, token)
    case .stop(let lane, let token): endStopped(lane, token)
    }
  }

  // MARK: Saying

  mutating func note(_ kind: String, _ fields: JSONObject) { out.append(.note(Observation(kind, fields))) }

  /// The wall clock of the desktop, epoch milliseconds.
  func wall(_ instant: Instant) -> Int64 {
    let (quotient, remainder) = instant.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return facts.wallClockMilliseconds &+ quotient &- (remainder < 0 ? 1 : 0)
  }

  /// Every event but overlay events: to every phone on that desktop.
  mutating func broadcast(_ event: EventMessage, desktop: String) {
    for connection in relay.connections(of: desktop) { send(event.json, to: connection) }
  }

  mutating func send(_ json: JSON, to connection: ConnectionID, after: Interval = .zero) {
    out.append(.send(.text(json, connection: connection, direction: .in, at: now + after), after: after))
  }

  /// Sends the live overlay to the phones that hold the lease for that conversation; for nobody else is it kept (HB-LEASE-06).
  mutating func announceOverlay(_ lane: Int) {
    let ledger = ledgers[lane]
    for (connection, thread) in relay.holders(desktop: ledger.desktop, session: ledger.id, at: now) {
      let event = TimelineOverlayEvent(sessionId: ledger.id, threadId: thread, overlay: ledger.overlay(thread: thread))
      send(event.message.json, to: connection)
    }
  }

  /// A change of the outbox list: the revision grows by one for all changes of one instant, but never keeps a value that was
  /// already shown with other entries.
  mutating func listChanged(_ lane: Int) {
    ledgers[lane].raiseRevision(at: now)
    flushAt = now
  }

  private mutating func flush() {
    guard flushAt != nil else { return }
    flushAt = nil
    for lane in ledgers.indices where ledgers[lane].isListDirty {
      ledgers[lane].isListDirty = false
      ledgers[lane].isListShown = true
      let event = OutboxChangedEvent(sessionId: ledgers[lane].id, list: ledgers[lane].list)
      do throws(DecodeFailure) {
        broadcast(try event.message, desktop: ledgers[lane].desktop)
      } catch {
        note("defect", ["what": .string("outbox of \(ledgers[lane].id) cannot be written: \(error.reason)")])
      }
    }
  }

  // MARK: Faults

  private mutating func take(_ fault: TwinFault) {
    switch fault {
    case .restart:
      // Ledger, keys and epochs are kept (D.5); the relay's sockets of the desktop end, and with them the leases.
      for lane in ledgers.indices { ledgers[lane].jumpEpoch(by: 1, restoring: ledgers[lane].run != nil) }
      for connection in relay.all {
        out.append(.close(connection, code: 1012, reason: "service restart"))
        relay.disconnect(connection)
      }
    case .epochJump(let session, let count):
      let count = max(1, min(count, 1 << 20))
      for lane in ledgers.indices where session == nil || ledgers[lane].id == session {
        ledgers[lane].jumpEpoch(by: Int64(count), restoring: ledgers[lane].run != nil)
        announceOverlay(lane)
      }
    case .forgetAnswers:
      answers = [:]
    }
  }
}
