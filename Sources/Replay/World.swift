import Contract
import Faults
import Simulation
import Wire

/// What a world is made with.
package struct WorldSettings: Sendable {
  package var plan: FaultPlan
  package var user: UserMode
  package var seed: UInt64
  /// Leaves the scenario's link conditions and outages out.
  package var withoutRecordedLosses: Bool
  /// Draws of the core instead of those of the seed (fixtures, audit 3).
  package var draws: Draws?
  /// File name and hash of the recording, for the trace's header; `hand` for hand-written scenarios.
  package var recordingName: String
  /// Most events of one instant, and of the whole run: beyond them the run is stopped with `RunError.endless`.
  package var mostEventsPerInstant: Int
  package var mostEvents: Int

  package init(
    plan: FaultPlan = .none, user: UserMode = .reacting, seed: UInt64 = 1, withoutRecordedLosses: Bool = false, draws: Draws? = nil,
    recordingName: String = "hand", mostEventsPerInstant: Int = 200_000, mostEvents: Int = 50_000_000
  ) {
    self.plan = plan
    self.user = user
    self.seed = seed
    self.withoutRecordedLosses = withoutRecordedLosses
    self.draws = draws
    self.recordingName = recordingName
    self.mostEventsPerInstant = mostEventsPerInstant
    self.mostEvents = mostEvents
  }
}

/// Why a run could not be made or finished.
package enum RunError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Something happens again and again without time going on, or without end.
  case endless(at: Instant, events: Int)
  /// An instant or length of the scenario lies outside what a clock can carry.
  case outOfRange(what: String, Instant)

  package var description: String {
    switch self {
    case .endless(let at, let events): "the run does not come to an end: \(events) events, the last at \(at)"
    case .outOfRange(let what, let instant): "\(what) is out of range: \(instant.nanoseconds) ns"
    }
  }
}

/// One replay: a core and a twin with a link between them and a user before the screen, on one clock with one queue. A value;
/// equal settings and scenarios give byte-equal traces (DESIGN.md 5).
///
/// Rules of the link. Each connection and direction is first in, first out; `delay`, `duplicate` and `reorder` alone let frames
/// overtake. A connection is usable at the instant at which the core opens it, or when its endpoint can be reached again. When it breaks
/// the core hears of it at once and frames under way to it are lost; frames under way to the server still arrive, and the twin hears of
/// it behind them. A side that closes a connection itself hears nothing more of it. Connections are numbered from 1 over the whole run in order
/// of opening, whatever numbers the core uses; frames are numbered from 1 in order of sending.
package struct World: Sendable {
  enum Event: Sendable {
    case fault(rule: Int)
    case outage(Outage)
    case reachable
    case connectionUp(Int)
    /// The core hears that a connection is gone.
    case connectionLost(Int)
    /// The server's close arrives at the client.
    case closeArrives(Int, code: Int)
    case twinHearsDown(Int)
    case arrives(Flight)
    case release(Int, Direction, send: Int)
    case halfOpenEnds(Int, rule: Int)
    /// A frame of the twin leaves after its service time.
    case leaves(Frame)
    case twinDue(generation: Int)
    case timer(launch: Int, TimerID, generation: Int)
    case user
    case launch
    case resumed(launch: Int)
    case foreground(launch: Int)
    /// An input that a suspended process gets late.
    case input(Input, launch: Int)
    case quietCheck
    case end
  }

  /// A frame on its way.
  struct Flight: Sendable {
    var send: Int
    var frame: Frame
    var label: FrameLabel
    var refusal: Refusal?
    var slow: Interval = .zero
    var isCopy = false
    var isChanged = false
    /// Set when the connection ends with the arrival of this frame, as it did in the recording.
    var closes: LinkCondition.What?
  }

  struct Connection: Sendable {
    enum State: Hashable, Sendable { case opening, up, down }
    var number: Int
    /// The number under which the core knows it, and the launch of that core.
    var coreNumber: Int
    var launch: Int
    var endpoint: Endpoint
    var delay: Interval
    var state = State.opening
    /// Nothing that is sent to the server arrives any more: the server closed it or went down.
    var isSevered = false
    /// The rule that makes frames vanish.
    var halfOpen: Int?
    var lastOut = Instant.zero
    var lastIn = Instant.zero
    var stashed: [(direction: Direction, flight: Flight)] = []
  }

  private struct Process: Sendable {
    var launch: Int
    var core: any ClientCore
    var timers: [TimerID: Int] = [:]
    var isSuspended = false
    var isBackground = false
    /// What fell due while suspended, in due order.
    var late: [Event] = []
    var connections: [Int: Int] = [:]
  }

  private let system: ChatSystem
  private let scenario: any Scenario
  private let facts: ScenarioFacts
  private let settings: WorldSettings
  private let ranks: [EventClass: UInt8]

  private var queue = EventQueue<Event>()
  package private(set) var now: Instant
  private var recorder = TraceRecorder()
  private var header: RunHeader

  private var labeler: any FrameLabeler
  private var faults: LinkFaults
  private var conditions: RecordedConditions
  private var twin: any Twin
  private var user: VirtualUser

  private var connections: [Connection] = []
  private var unreachable: [(endpoints: ConnectionSelector, until: Instant)] = []
  private var framesSent = 0
  private var timerGeneration = 0
  private var twinGeneration = 0
  private var twinDueAt: Instant?

  private var process: Process?
  private var launches = 0
  private var store = Store()
  private var wallStep = Interval.zero

  /// Whether rules may act: before the quiet phase.
  private var rulesAct = true
  private var entryRules: [(rule: Int, entry: Int)]
  /// Actions of frame rules that wait until the effect that fired them is over.
  private var actions: [(action: FaultAction, rule: Int, connection: Int?)] = []
  /// Last instant at which a fault that has begun is still in force.
  private var busyUntil: Instant
  private var quietAwaitsUser = false
  private var userPollAt: Instant?
  private var isOver = false

  /// Throws `outOfRange` when an instant of the scenario or user script cannot be carried by the clock.
  package init(system: ChatSystem, scenario: any Scenario, settings: WorldSettings) throws(RunError) {
    self.system = system
    self.scenario = scenario
    self.settings = settings
    let facts = scenario.facts
    self.facts = facts
    var ranks: [EventClass: UInt8] = [:]
    let order = system.tieOrder + EventClass.allCases.filter { !system.tieOrder.contains($0) }
    for (index, eventClass) in order.enumerated() where ranks[eventClass] == nil { ranks[eventClass] = UInt8(2 + min(index, 200)) }
    self.ranks = ranks
    now = facts.start
    busyUntil = facts.start
    labeler = system.makeLabeler()
    faults = LinkFaults(plan: settings.plan, seed: settings.seed)
    entryRules = faults.atEntries
    conditions = RecordedConditions(settings.withoutRecordedLosses ? [] : facts.conditions)
    twin = system.makeTwin(scenario, SeededRandom(seed: settings.seed).fork("twin"))
    user = VirtualUser(intents: facts.intents, mode: settings.user)
    header = RunHeader(
      system: system.name, behaviourVersion: system.behaviourVersion, recordingName: settings.recordingName, recordingHash: facts.origin,
      planName: settings.plan.name, planHash: settings.plan.hash, user: settings.user.name, seed: settings.seed,
      withoutRecordedLosses: settings.withoutRecordedLosses)
    try World.check(facts, settings)

    for (rule, at) in faults.scheduled where at >= now { queue.push(.fault(rule: rule), at: at, eventClass: World.faultRank) }
    if !settings.withoutRecordedLosses {
      for outage in facts.outages { queue.push(.outage(outage), at: max(outage.from, now), eventClass: World.faultRank) }
    }
    queue.push(.launch, at: now, eventClass: World.linkRank)
    queue.push(.quietCheck, at: max(facts.end, now), eventClass: World.quietRank)
    record(
      .world, "start",
      [
        "system": .string(system.name), "recording": .string(facts.origin), "plan": .string(settings.plan.name),
        "planHash": .string(header.planHash), "seed": Int64(exactly: settings.seed).map(JSON.integer) ?? .unsigned(settings.seed),
      ])
    watchTwin()
    watchUser()
  }

  private static let linkRank: UInt8 = 0
  private static let faultRank: UInt8 = 1
  private static let quietRank: UInt8 = 254
  private static let endRank: UInt8 = 255

  private static func check(_ facts: ScenarioFacts, _ settings: WorldSettings) throws(RunError) {
    // About 30 years either way: sums of a few such instants stay far below what Int64 holds.
    let limit = Instant(nanoseconds: 1_000_000_000_000_000_000)
    let least = Instant(nanoseconds: -1_000_000_000_000_000_000)
    func check(_ what: String, _ instant: Instant) throws(RunError) {
      if instant > limit || instant < least { throw RunError.outOfRange(what: what, instant) }
    }
    try check("start of the scenario", facts.start)
    try check("end of the scenario", facts.end)
    for delay in facts.oneWay.values.sorted() { try check("link delay", .zero + delay) }
    for intent in facts.intents {
      try check("instant of intent \(intent.id)", intent.at)
      try check("lag of intent \(intent.id)", .zero + intent.lag)
    }
    for outage in facts.outages {
      try check("outage", outage.from)
      try check("outage", outage.until)
    }
    for condition in facts.conditions {
      if case .late(let by) = condition.what { try check("delay of a link condition", .zero + by) }
    }
  }

  // MARK: - Running

  /// Runs to the end and gives the trace with what became of rules and conditions.
  package mutating func run() throws(RunError) -> RunResult {
    var events = 0
    var ofInstant = 0
    while !isOver, let (at, event) = queue.pop() {
      ofInstant = at > now ? 0 : ofInstant + 1
      events += 1
      if ofInstant > settings.mostEventsPerInstant || events > settings.mostEvents { throw RunError.endless(at: at, events: events) }
      now = max(now, at)
      dispatch(event)
      act()
      if !isOver { lookAtScreen() }
    }
    return RunResult(
      trace: Trace(header: header, entries: recorder.entries), rules: faults.reports, conditions: conditions.reports)
  }

  private mutating func dispatch(_ event: Event) {
    switch event {
    case .fault(let rule): fire(rule)
    case .outage(let outage):
      breakConnections(.any, code: outage.code, who: outage.who, ["condition": "outage"])
      becomeUnreachable(.any, until: outage.until)
    case .reachable: openPending()
    case .connectionUp(let number): connectionUp(number)
    case .connectionLost(let number): tellCore(.connection(ConnectionID(connections[number - 1].coreNumber), up: false), of: number)
    case .closeArrives(let number, let code):
      if connections[number - 1].state == .up {
        connections[number - 1].state = .down
        record(.link, "down", downFields(number, code: code, who: "server"))
        tellCore(.connection(ConnectionID(connections[number - 1].coreNumber), up: false), of: number)
      }
    case .twinHearsDown(let number): if !connections[number - 1].isSevered { tellTwin(.disconnected(ConnectionID(number))) }
    case .arrives(let flight): arrive(flight)
    case .release(let number, let direction, let send): release(number, direction, send: send)
    case .halfOpenEnds(let number, let rule):
      if connections[number - 1].state == .up {
        breakConnection(number, code: 1006, who: "network", ["rule": .int(rule)])
      }
    case .leaves(let frame): transmit(frame, .in)
    case .twinDue(let generation):
      if generation == twinGeneration {
        twinDueAt = nil
        tellTwin(.due)
      }
    case .timer(let launch, let id, let generation):
      guard let process, process.launch == launch, process.timers[id] == generation else { return }
      if process.isSuspended {
        self.process?.late.append(event)
      } else {
        self.process?.timers[id] = nil
        record(.core, "timer", ["timer": .string(id.name)])
        give(.fired(id))
      }
    case .user: userPollAt = nil
    case .launch: launch()
    case .resumed(let launch): if process?.launch == launch { resume() }
    case .foreground(let launch):
      if process?.launch == launch, process?.isBackground == true {
        process?.isBackground = false
        record(.world, "foreground", [:])
        give(.lifecycle(.foreground))
      }
    case .input(let input, let launch): if process?.launch == launch { give(input) }
    case .quietCheck: checkQuiet()
    case .end:
      for note in twin.finish(at: now) { record(.twin, note.kind, note.fields) }
      header.end = now
      record(.world, "end", [:])
      isOver = true
    }
  }

  @discardableResult
  private mutating func record(_ party: Party, _ kind: String, _ fields: JSONObject, payload: [UInt8]? = nil) -> Int {
    recorder.record(party, kind, at: now, fields, payload: payload)
  }

  private func rank(_ eventClass: EventClass) -> UInt8 { ranks[eventClass] ?? 253 }

  // MARK: - The end

  private mutating func checkQuiet() {
    guard rulesAct else { return }
    if user.isPending {
      quietAwaitsUser = true
    } else if busyUntil > now {
      queue.push(.quietCheck, at: busyUntil, eventClass: World.quietRank)
    } else {
      rulesAct = false
      header.quietFrom = now
      record(.world, "quiet", [:])
      queue.push(.end, at: now + system.quietPhase, eventClass: World.endRank)
    }
  }

  // MARK: - The user

  /// Lets the user do what can be done now and sets the alarm for what comes next.
  private mutating func lookAtScreen() {
    guard user.isPending else { return }
    if user.isWaiting || (user.next ?? .never) <= now {
      while let act = user.act(at: now, premise: premise) {
        switch act {
        case .makes(let intent): make(intent)
        case .waits(let intent): record(.user, "waits", ["intent": .string(intent.id)])
        case .gives(let intent, let reason): record(.user, "void", ["intent": .string(intent.id), "reason": .string(reason)])
        }
        self.act()
      }
    }
    watchUser()
    if quietAwaitsUser, !user.isPending {
      quietAwaitsUser = false
      queue.push(.quietCheck, at: now, eventClass: World.quietRank)
    }
  }

  private func premise(of gesture: Gesture) -> Premise {
    guard let process, !process.isSuspended, !process.isBackground else { return .waits }
    return process.core.premise(of: gesture)
  }

  private mutating func make(_ intent: Intent) {
    var fields: JSONObject = ["intent": .string(intent.id), "do": .string(intent.gesture.name)]
    for member in intent.gesture.fields.members where fields[member.name] == nil { fields.members.append(member) }
    record(.user, "gesture", fields)
    switch Lifecycle(rawValue: intent.gesture.name) {
    case .background, .foreground, .memoryPressure:
      give(.lifecycle(Lifecycle(rawValue: intent.gesture.name) ?? .foreground))
    default: give(.user(intent.gesture))
    }
  }

  private mutating func watchUser() {
    guard let next = user.next else { return }
    let at = max(next, now)
    if let userPollAt, userPollAt <= at { return }
    userPollAt = at
    queue.push(.user, at: at, eventClass: rank(.user))
  }

  // MARK: - The core and its process

  private mutating func launch() {
    guard process == nil else { return }
    let draws = settings.draws ?? .seeded(SeededRandom(seed: settings.seed).fork("core"))
    let core = system.makeCore(
      CoreSettings(
        start: scenario.clientStart, wallClockMilliseconds: facts.wallClockMilliseconds &+ wallStep.nanoseconds / 1_000_000, draws: draws,
        launch: launches), store)
    record(.world, "launch", ["n": .int(launches)])
    process = Process(launch: launches, core: core)
    launches += 1
    give(.lifecycle(.launched))
  }

  /// Hands the core an input, or keeps it until a suspended process goes on.
  private mutating func give(_ input: Input) {
    guard let launch = process?.launch else { return }
    // A rule may stop the process when the entry of what it is about to hear has been written.
    act()
    guard process?.launch == launch else { return }
    if process?.isSuspended == true {
      process?.late.append(.input(input, launch: launch))
      return
    }
    guard let effects = process?.core.handle(input, at: now) else { return }
    for effect in effects {
      apply(effect)
      act()
      // The process ended between two effects: the rest never happens.
      if process?.launch != launch { return }
    }
  }

  private mutating func tellCore(_ input: Input, of connection: Int) {
    if process?.launch == connections[connection - 1].launch { give(input) }
  }

  private mutating func apply(_ effect: Effect) {
    guard let launch = process?.launch else { return }
    switch effect {
    case .open(let id, let endpoint):
      let number = connections.count + 1
      connections.append(
        Connection(number: number, coreNumber: id.number, launch: launch, endpoint: endpoint, delay: facts.delay(of: endpoint)))
      process?.connections[id.number] = number
      if isReachable(number) { queue.push(.connectionUp(number), at: now, eventClass: World.linkRank) }
    case .close(let id, let code):
      guard let number = process?.connections[id.number] else { return }
      endByClient(number, code: code)
    case .send(var frame):
      guard let number = process?.connections[frame.connection.number] else {
        record(.core, "misuse", ["what": "sends on a connection that it never opened", "conn": .int(frame.connection.number)])
        return
      }
      frame.connection = ConnectionID(number)
      transmit(frame, .out)
    case .arm(let id, let at):
      timerGeneration += 1
      process?.timers[id] = timerGeneration
      queue.push(.timer(launch: launch, id, generation: timerGeneration), at: max(at, now), eventClass: rank(.timer))
    case .disarm(let id): process?.timers[id] = nil
    case .store(let key, let bytes):
      store[key] = bytes
      record(.core, "store", ["key": .string(key), "bytes": .int(bytes.count)])
    case .note(let note): record(.core, note.kind, note.fields)
    }
  }

  private mutating func endByClient(_ number: Int, code: Int) {
    let was = connections[number - 1].state
    connections[number - 1].state = .down
    guard was == .up else { return }
    record(.link, "down", downFields(number, code: code, who: "client"))
    queue.push(.twinHearsDown(number), at: behind(number), eventClass: rank(.frame))
  }

  private mutating func stopProcess(for pause: Interval, rule: Int) {
    guard let launch = process?.launch else { return }
    record(.world, "stop", ["after": .int(recorder.count - 1), "rule": .int(rule)])
    process = nil
    for number in connections.indices where connections[number].launch == launch { endByClient(number + 1, code: 1006) }
    busyUntil = max(busyUntil, now + pause)
    queue.push(.launch, at: now + pause, eventClass: World.linkRank)
  }

  private mutating func resume() {
    guard process?.isSuspended == true, let launch = process?.launch else { return }
    record(.world, "resume", [:])
    process?.isSuspended = false
    let late = process?.late ?? []
    process?.late = []
    give(.lifecycle(.resumed))
    for event in late where process?.launch == launch {
      dispatch(event)
      act()
    }
  }

  // MARK: - The twin

  private mutating func tellTwin(_ input: TwinInput, slowAnswerBy slow: Interval = .zero) {
    for effect in twin.handle(input, at: now) {
      switch effect {
      case .send(let frame, let after):
        var wait = after
        if slow > .zero {
          // A look at the label only: the frame is labelled when it leaves.
          var peek = labeler
          if peek.label(frame).role == .response { wait = wait + slow }
        }
        if wait > .zero {
          queue.push(.leaves(frame), at: now + wait, eventClass: rank(.frame))
        } else {
          transmit(frame, .in, early: wait)
        }
      case .close(let id, let code, _):
        guard isKnown(id), connections[id.number - 1].state == .up, !connections[id.number - 1].isSevered else { continue }
        connections[id.number - 1].isSevered = true
        let at = max(now + connections[id.number - 1].delay, connections[id.number - 1].lastIn)
        connections[id.number - 1].lastIn = at
        queue.push(.closeArrives(id.number, code: code), at: at, eventClass: rank(.frame))
      case .note(let note): record(.twin, note.kind, note.fields)
      }
    }
    watchTwin()
  }

  private mutating func watchTwin() {
    guard let due = twin.nextDue, due != .never else {
      twinGeneration += 1
      twinDueAt = nil
      return
    }
    let at = max(due, now)
    if twinDueAt == at { return }
    twinGeneration += 1
    twinDueAt = at
    queue.push(.twinDue(generation: twinGeneration), at: at, eventClass: rank(.tape))
  }

  // MARK: - The link

  private func isKnown(_ id: ConnectionID) -> Bool { id.number >= 1 && id.number <= connections.count }

  private func isReachable(_ number: Int) -> Bool {
    let endpoint = connections[number - 1].endpoint
    return !unreachable.contains { $0.until > now && $0.endpoints.matches(ConnectionID(number), endpoint) }
  }

  private mutating func becomeUnreachable(_ endpoints: ConnectionSelector, until: Instant) {
    guard until > now else { return }
    unreachable.removeAll { $0.until <= now }
    unreachable.append((endpoints, until))
    busyUntil = max(busyUntil, until)
    queue.push(.reachable, at: until, eventClass: World.linkRank)
  }

  private mutating func openPending() {
    for connection in connections where connection.state == .opening && isReachable(connection.number) {
      queue.push(.connectionUp(connection.number), at: now, eventClass: World.linkRank)
    }
  }

  private mutating func connectionUp(_ number: Int) {
    let connection = connections[number - 1]
    guard connection.state == .opening, isReachable(number), process?.launch == connection.launch else { return }
    connections[number - 1].state = .up
    connections[number - 1].lastOut = now
    connections[number - 1].lastIn = now
    record(.link, "up", ["conn": .int(number), "endpoint": .string(connection.endpoint.target)])
    // The server hears of it first, so that what the core sends at once finds a server that knows the connection.
    tellTwin(.connected(ConnectionID(number), connection.endpoint))
    tellCore(.connection(ConnectionID(connection.coreNumber), up: true), of: number)
  }

  private func downFields(_ number: Int, code: Int, who: String) -> JSONObject {
    [
      "conn": .int(number), "endpoint": .string(connections[number - 1].endpoint.target), "code": .int(code), "who": .string(who),
    ]
  }

  /// The instant at which something that goes to the server behind all frames of a connection arrives there.
  private func behind(_ number: Int) -> Instant { max(now + connections[number - 1].delay, connections[number - 1].lastOut) }

  private mutating func breakConnections(
    _ which: ConnectionSelector, code: Int, who: String, _ why: JSONObject
  ) {
    for connection in connections where connection.state == .up && which.matches(ConnectionID(connection.number), connection.endpoint) {
      breakConnection(connection.number, code: code, who: who, why)
    }
  }

  private mutating func breakConnection(_ number: Int, code: Int, who: String, _ why: JSONObject) {
    guard connections[number - 1].state == .up else { return }
    connections[number - 1].state = .down
    var fields = downFields(number, code: code, who: who)
    fields.members += why.members
    record(.link, "down", fields)
    queue.push(.connectionLost(number), at: now, eventClass: World.linkRank)
    if !connections[number - 1].isSevered { queue.push(.twinHearsDown(number), at: behind(number), eventClass: rank(.frame)) }
  }

  /// Puts a frame on the link: label, recorded conditions, rules, arrival. `early` ≤ 0 is how long ago the frame left.
  private mutating func transmit(_ original: Frame, _ direction: Direction, early: Interval = .zero) {
    guard isKnown(original.connection) else {
      record(.twin, "misuse", ["what": "sends on a connection that was never opened", "conn": .int(original.connection.number)])
      return
    }
    var frame = original
    frame.direction = direction
    frame.at = now
    framesSent += 1
    frame.sequence = framesSent
    let number = frame.connection.number
    let label = labeler.label(frame)
    let send = recordSend(frame, label)
    let connection = connections[number - 1]

    if connection.state != .up || (direction == .in && connection.isSevered) {
      record(.link, "drop", ["of": .int(send), "condition": "the connection is down"])
      return
    }
    var flight = Flight(send: send, frame: frame, label: label)
    var isLost = false
    var extra = Interval.zero
    for condition in conditions.decide(label, now: now) {
      switch condition.what {
      case .lost:
        isLost = true
        record(.link, "drop", ["of": .int(send), "condition": .string(condition.reason)])
      case .late(let by):
        extra = extra + by
        record(.link, "delay", ["of": .int(send), "condition": .string(condition.reason), "byNs": .integer(by.nanoseconds)])
      case .closed: flight.closes = condition.what
      }
    }
    if isLost {
      if case .closed(let code, let who)? = flight.closes { breakConnection(number, code: code, who: who, ["condition": "recorded"]) }
      return
    }

    var holds = Interval.zero
    var copies: [Interval] = []
    var stash: Interval?
    for hit in decide(label, frame, connection.endpoint) {
      let rule = hit.rule
      record(.plan, "fired", ["rule": .int(rule), "action": .string(hit.action.word), "of": .int(send)])
      func note(_ world: inout World, _ more: JSONObject = [:], payload: [UInt8]? = nil) {
        var fields: JSONObject = ["of": .int(send), "rule": .int(rule)]
        fields.members += more.members
        world.record(.link, hit.action.word, fields, payload: payload)
      }
      switch hit.action {
      case .drop:
        if !isLost { note(&self) }
        isLost = true
      case .delay(let by):
        extra = extra + by
        note(&self, ["byNs": .integer(by.nanoseconds)])
      case .hold(let length):
        holds = max(holds, length)
        note(&self, ["forNs": .integer(length.nanoseconds)])
      case .duplicate(let by):
        copies.append(by)
        note(&self, ["byNs": .integer(by.nanoseconds)])
      case .reorder(let within):
        stash = within
        note(&self)
      case .corrupt, .truncate, .replace:
        flight.frame.payload = hit.action.changed(flight.frame.payload, draw: hit.draw) ?? flight.frame.payload
        flight.isChanged = true
        note(&self, payload: flight.frame.payload)
      case .refuse(let refusal): flight.refusal = refusal
      case .slow(let by):
        flight.slow = flight.slow + by
        busyUntil = max(busyUntil, now + by)
      case .disconnect, .halfOpen, .restartServer, .epochJump, .forgetAnswers, .restartApp, .background, .suspend, .memoryPressure,
        .stepClock:
        actions.append((hit.action, rule, number))
      }
    }
    if isLost { return }
    if let rule = connection.halfOpen {
      record(.link, "drop", ["of": .int(send), "rule": .int(rule)])
      return
    }

    let last = direction == .out ? connection.lastOut : connection.lastIn
    var arrival = max(now, max(now + early + connection.delay, last))
    if holds > .zero { arrival = max(arrival, now + connection.delay + holds) }
    if let stash {
      connections[number - 1].stashed.append((direction, flight))
      busyUntil = max(busyUntil, arrival + stash)
      queue.push(.release(number, direction, send: send), at: arrival + stash, eventClass: rank(.frame))
      return
    }
    if extra == .zero {
      if direction == .out { connections[number - 1].lastOut = arrival } else { connections[number - 1].lastIn = arrival }
    }
    arrival = arrival + extra
    if extra > .zero || holds > .zero { busyUntil = max(busyUntil, arrival) }
    queue.push(.arrives(flight), at: arrival, eventClass: rank(.frame))
    for copy in copies {
      var second = flight
      second.isCopy = true
      busyUntil = max(busyUntil, arrival + copy)
      queue.push(.arrives(second), at: arrival + copy, eventClass: rank(.frame))
    }
    // What was held back for this frame to pass comes right behind it.
    let passed = connections[number - 1].stashed.filter { $0.direction == direction }
    if !passed.isEmpty {
      connections[number - 1].stashed.removeAll { $0.direction == direction }
      for item in passed { queue.push(.arrives(item.flight), at: arrival, eventClass: rank(.frame)) }
    }
  }

  private mutating func decide(
    _ label: FrameLabel, _ frame: Frame, _ endpoint: Endpoint
  ) -> [(rule: Int, action: FaultAction, draw: UInt64)] {
    guard rulesAct, !settings.plan.rules.isEmpty else { return [] }
    let core = process?.core
    let hits = faults.decide(label, frame, endpoint: endpoint, now: now) { core?.holds(state: $0) ?? false }
    return hits.map { ($0.rule + 1, $0.action, $0.draw) }
  }

  private mutating func recordSend(_ frame: Frame, _ label: FrameLabel) -> Int {
    var fields = JSONObject([])
    fields.members = World.place(frame, label).members
    for member in label.fields.members where fields[member.name] == nil { fields.members.append(member) }
    fields.members.append(contentsOf: World.identity(label))
    if fields["frame"] == nil { fields["frame"] = .string(frame.kind.rawValue) }
    fields["bytes"] = .int(frame.payload.count)
    return record(.link, "send", fields, payload: frame.payload)
  }

  private static func place(_ frame: Frame, _ label: FrameLabel) -> JSONObject {
    [
      "conn": .int(frame.connection.number), "dir": .string(frame.direction.rawValue), "label": .string(label.role.rawValue),
      "name": .string(label.name),
    ]
  }

  private static func identity(_ label: FrameLabel) -> [JSONObject.Member] {
    var members: [JSONObject.Member] = []
    if let operation = label.operation { members.append(.init(name: "operation", value: .string(operation))) }
    if let key = label.key { members.append(.init(name: "key", value: .string(key))) }
    if label.isDelivery { members.append(.init(name: "delivery", value: true)) }
    return members
  }

  private mutating func release(_ number: Int, _ direction: Direction, send: Int) {
    guard let index = connections[number - 1].stashed.firstIndex(where: { $0.flight.send == send && $0.direction == direction }) else {
      return
    }
    arrive(connections[number - 1].stashed.remove(at: index).flight)
  }

  private mutating func arrive(_ flight: Flight) {
    let number = flight.frame.connection.number
    let connection = connections[number - 1]
    let isGone = flight.frame.direction == .out ? connection.isSevered : connection.state != .up
    if isGone {
      record(.link, "drop", ["of": .int(flight.send), "condition": "the connection went down"])
      return
    }
    var fields: JSONObject = ["of": .int(flight.send)]
    fields.members += World.place(flight.frame, flight.label).members
    fields.members += World.identity(flight.label)
    if flight.isCopy { fields["copy"] = true }
    if flight.isChanged { fields["changed"] = true }
    record(.link, "arrive", fields)
    var frame = flight.frame
    frame.at = now
    if frame.direction == .out {
      tellTwin(.received(frame, refusal: flight.refusal), slowAnswerBy: flight.slow)
    } else {
      frame.connection = ConnectionID(connection.coreNumber)
      tellCore(.received(frame), of: number)
    }
    if case .closed(let code, let who)? = flight.closes, !flight.isCopy {
      breakConnection(number, code: code, who: who, ["condition": "recorded"])
    }
  }

  // MARK: - Rules that act elsewhere than on a frame

  /// Carries out what frame rules and entry rules have asked for, between two effects or events.
  private mutating func act() {
    while true {
      if !actions.isEmpty {
        let next = actions.removeFirst()
        carryOut(next.action, rule: next.rule, connection: next.connection)
      } else if let next = entryRules.first, next.entry < recorder.count {
        entryRules.removeFirst()
        fire(next.rule)
      } else {
        return
      }
    }
  }

  private mutating func fire(_ rule: Int) {
    guard rulesAct, settings.plan.rules.indices.contains(rule) else { return }
    let isPossible: Bool
    switch settings.plan.rules[rule].action {
    case .restartApp, .memoryPressure: isPossible = process != nil
    case .background: isPossible = process != nil && process?.isBackground == false
    case .suspend: isPossible = process != nil && process?.isSuspended == false
    case .disconnect, .halfOpen:
      let which = settings.plan.rules[rule].connections
      isPossible = connections.contains { $0.state == .up && which.matches(ConnectionID($0.number), $0.endpoint) }
    default: isPossible = true
    }
    guard isPossible else { return }
    let core = process?.core
    guard let action = faults.due(rule: rule, now: now, state: { core?.holds(state: $0) ?? false }) else { return }
    let number = rule + 1
    record(.plan, "fired", ["rule": .int(number), "action": .string(action.word)])
    carryOut(action, rule: number, connection: nil, settings.plan.rules[rule].connections)
  }

  private mutating func carryOut(
    _ action: FaultAction, rule: Int, connection: Int?, _ selector: ConnectionSelector = .any
  ) {
    let why: JSONObject = ["rule": .int(rule)]
    switch action {
    case .disconnect(let pause):
      let numbers = targets(connection, selector)
      for number in numbers { breakConnection(number, code: 1006, who: "network", why) }
      for endpoint in away(connection, selector, numbers) { becomeUnreachable(endpoint, until: now + pause) }
    case .halfOpen(let length):
      for number in targets(connection, selector) {
        connections[number - 1].halfOpen = rule
        record(.link, "half-open", ["conn": .int(number), "rule": .int(rule)])
        busyUntil = max(busyUntil, now + length)
        queue.push(.halfOpenEnds(number, rule: rule), at: now + length, eventClass: World.linkRank)
      }
    case .restartServer(let pause):
      for number in targets(nil, .any) {
        connections[number - 1].isSevered = true
        breakConnection(number, code: 1006, who: "server", why)
        tellTwin(.disconnected(ConnectionID(number)))
      }
      becomeUnreachable(.any, until: now + pause)
      tellTwin(.fault(.restart))
    case .epochJump(let lane, let by): tellTwin(.fault(.epochJump(lane: lane, by: by)))
    case .forgetAnswers: tellTwin(.fault(.forgetAnswers))
    case .restartApp(let pause): stopProcess(for: pause, rule: rule)
    case .background(let length):
      guard let launch = process?.launch, process?.isBackground == false else { return }
      record(.world, "background", why)
      give(.lifecycle(.background))
      process?.isBackground = true
      busyUntil = max(busyUntil, now + length)
      queue.push(.foreground(launch: launch), at: now + length, eventClass: World.linkRank)
    case .suspend(let length):
      guard let launch = process?.launch, process?.isSuspended == false else { return }
      record(.world, "suspend", why)
      give(.lifecycle(.suspended))
      process?.isSuspended = true
      busyUntil = max(busyUntil, now + length)
      queue.push(.resumed(launch: launch), at: now + length, eventClass: World.linkRank)
    case .memoryPressure:
      record(.world, "memoryPressure", why)
      give(.lifecycle(.memoryPressure))
    case .stepClock(let by):
      record(.world, "clock", ["byNs": .integer(by.nanoseconds), "rule": .int(rule)])
      wallStep = wallStep + by
      give(.wallClockStepped(by: by))
    case .drop, .delay, .duplicate, .reorder, .hold, .corrupt, .truncate, .replace, .refuse, .slow:
      return
    }
  }

  private func targets(_ connection: Int?, _ selector: ConnectionSelector) -> [Int] {
    if let connection { return connections[connection - 1].state == .up ? [connection] : [] }
    return connections.filter { $0.state == .up && selector.matches(ConnectionID($0.number), $0.endpoint) }.map(\.number)
  }

  /// What cannot be reached after a break: everything, or the endpoints of what broke.
  private func away(_ connection: Int?, _ selector: ConnectionSelector, _ numbers: [Int]) -> [ConnectionSelector] {
    switch selector {
    case .any where connection == nil: [.any]
    case .endpoint: [selector]
    case .any, .number: numbers.map { .endpoint(connections[$0 - 1].endpoint.target) }
    }
  }
}
