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
  /// Connections are usable when the core opens them. Off on real time: then the runner says when each one is made.
  package var opensByItself = true
  /// The quiet phase begins with the last intent and end of the scenario, and the run ends behind it. Off where the user is outside:
  /// then the runner says so.
  package var endsByItself = true

  package init(
    plan: FaultPlan = .none, user: UserMode = .reacting, seed: UInt64 = 1, withoutRecordedLosses: Bool = false, draws: Draws? = nil,
    recordingName: String = "hand", mostEventsPerInstant: Int = 20_000, mostEvents: Int = 5_000_000
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

/// What the clock of a run can carry: about 30 years either way, so that sums of a few instants stay far below what Int64 holds.
enum Clock {
  private static let limit: Int64 = 1_000_000_000_000_000_000
  static func holds(_ instant: Instant) -> Bool { instant.nanoseconds.magnitude <= UInt64(limit) }
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
    /// The user's alarm for an intent.
    case user
    /// A user who waits looks at the screen after something has happened.
    case userWakes
    case launch
    case resumed(launch: Int)
    case foreground(launch: Int)
    /// A tick of the display link.
    case displayFrame(link: Int)
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
    /// The runner has made it, where connections do not open by themselves.
    var isMade = true
    /// The rule that makes frames vanish.
    var halfOpen: Int?
    var lastOut = Instant.zero
    var lastIn = Instant.zero
    var stashed: [(direction: Direction, flight: Flight)] = []
  }

  struct Process: Sendable {
    var launch: Int
    var core: any ClientCore
    var timers: [TimerID: Int] = [:]
    var isSuspended = false
    var isBackground = false
    /// The effects of an input are being carried out: the core hears nothing else before the last of them.
    var isHandling = false
    /// What fell due while suspended, in due order.
    var late: [Event] = []
    var connections: [Int: Int] = [:]
    /// The display link that is on, by number.
    var displayLink: Int?
    /// The finger on the list lifts at this instant.
    var fingerUntil: Instant?
    /// A stop of this list will not be signalled, or one of the next list that has one.
    var losesStop = false
  }

  let system: ChatSystem
  let scenario: any Scenario
  let facts: ScenarioFacts
  let settings: WorldSettings
  let ranks: [EventClass: UInt8]

  var queue = EventQueue<Event>()
  package internal(set) var now: Instant
  var recorder = TraceRecorder()
  var header: RunHeader

  var labeler: any FrameLabeler
  var faults: LinkFaults
  var conditions: RecordedConditions
  var twin: any Twin
  var user: VirtualUser

  var connections: [Connection] = []
  var unreachable: [(endpoints: ConnectionSelector, until: Instant)] = []
  /// Trace entries of the frames that were sent, by number from 1.
  var sendEntries: [Int] = []
  var timerGeneration = 0
  var displayLinks = 0
  /// Ticks of the display link that a fault takes away.
  var framesToSkip = 0
  /// What makes the device slow, in force for every process from the fault on.
  var slowPreparation: Interval?
  var slowApplying: Interval?
  var twinGeneration = 0
  var twinDueAt: Instant?

  var process: Process?
  var launches = 0
  var store = Store()
  var wallStep = Interval.zero

  /// Whether rules may act: before the quiet phase.
  var rulesAct = true
  var entryRules: [(rule: Int, entry: Int)]
  /// Actions of frame rules that wait until the effect that fired them is over.
  var actions: [(action: FaultAction, rule: Int, connection: Int?)] = []
  /// Last instant at which a fault that has begun is still in force.
  var busyUntil: Instant
  /// Trace entry at which the quiet phase begins.
  var quietEntry = Int.max
  var quietAwaitsUser = false
  var userAlarmAt: Instant?
  var userWakeAt: Instant?
  var isOver = false

  /// Throws `outOfRange` when an instant of the scenario or user script cannot be carried by the clock.
  package init(system: ChatSystem, scenario: any Scenario, settings: WorldSettings) throws(RunError) {
    let facts = scenario.facts
    try World.check(facts, facts.intents)
    self.system = system
    self.scenario = scenario
    self.settings = settings
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

    for (rule, at) in faults.scheduled where at >= now { queue.push(.fault(rule: rule), at: at, eventClass: World.faultRank) }
    if !settings.withoutRecordedLosses {
      for outage in facts.outages { queue.push(.outage(outage), at: max(outage.from, now), eventClass: World.faultRank) }
    }
    queue.push(.launch, at: now, eventClass: World.linkRank)
    if settings.endsByItself { queue.push(.quietCheck, at: max(facts.end, now), eventClass: World.quietRank) }
    record(
      .world, "start",
      [
        "system": .string(system.name), "recording": .string(facts.origin), "plan": .string(settings.plan.name),
        "planHash": .string(header.planHash), "seed": Int64(exactly: settings.seed).map(JSON.integer) ?? .unsigned(settings.seed),
      ])
    watchTwin()
    watchUser()
  }

  static let linkRank: UInt8 = 0
  static let faultRank: UInt8 = 1
  static let quietRank: UInt8 = 254
  static let endRank: UInt8 = 255

  /// Throws `outOfRange` when sums of the scenario's instants could leave what the clock holds.
  static func check(_ facts: ScenarioFacts, _ intents: [Intent]) throws(RunError) {
    func check(_ what: String, _ instant: Instant) throws(RunError) {
      if !Clock.holds(instant) { throw RunError.outOfRange(what: what, instant) }
    }
    try check("start of the scenario", facts.start)
    try check("end of the scenario", facts.end)
    for delay in facts.oneWay.values.sorted() { try check("link delay", .zero + delay) }
    for intent in intents {
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

  /// Runs to the end and gives the trace with what became of rules and conditions.
  package mutating func run() throws(RunError) -> RunResult {
    try run(until: .never)
    return result
  }

  /// Carries out everything that is due up to and including this instant.
  package mutating func run(until end: Instant) throws(RunError) {
    var events = 0
    var ofInstant = 0
    while !isOver, let next = queue.nextInstant, next <= end, let (at, event) = queue.pop() {
      ofInstant = at > now ? 0 : ofInstant + 1
      events += 1
      if ofInstant > settings.mostEventsPerInstant || events > settings.mostEvents { throw RunError.endless(at: at, events: events) }
      now = max(now, at)
      carryOut(event)
    }
  }

  /// The trace so far, and what became of rules and conditions.
  package var result: RunResult {
    RunResult(
      trace: Trace(header: header, entries: recorder.entries, contents: recorder.contents), rules: reports, conditions: conditions.reports)
  }

  /// Carries out one event with all that follows from it at once.
  mutating func carryOut(_ event: Event) {
    dispatch(event)
    act()
    switch event {
    case .user, .userWakes: break
    default: wakeUser()
    }
  }

  /// What became of the rules, with a remark where a rule could not fire because its moment never came.
  private var reports: [RuleReport] {
    var reports = faults.reports
    for (index, rule) in settings.plan.rules.enumerated() where reports[index].fired == 0 {
      switch rule.trigger {
      case .at(let instant) where instant > header.quietFrom:
        reports[index].remark = "rules act until \(header.quietFrom), when the run became quiet"
      case .at(let instant) where instant < facts.start: reports[index].remark = "the run begins at \(facts.start)"
      case .entry(let entry) where entry >= quietEntry:
        reports[index].remark = "rules act up to entry \(quietEntry), when the run became quiet"
      case .at where reports[index].candidates == 0: reports[index].remark = "at its instant there was nothing for it to act on"
      case .drags where reports[index].candidates == 0: reports[index].remark = "the user made no drag"
      case .at, .entry, .frames:
        if faults.waitsForDrag(rule: index) { reports[index].remark = "the user made no drag after its moment" }
        if rule.action.drag != nil, rule.state == nil, reports[index].candidates > 0 {
          reports[index].remark = "too few of its moments found a list on screen without a finger"
        }
      case .drags: break
      }
    }
    return reports
  }

  mutating func dispatch(_ event: Event) {
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
    case .user:
      userAlarmAt = nil
      letUserAct()
    case .userWakes:
      userWakeAt = nil
      letUserAct()
    case .launch: launch()
    case .resumed(let launch): if process?.launch == launch { resume() }
    case .foreground(let launch):
      if process?.launch == launch, process?.isBackground == true {
        process?.isBackground = false
        record(.world, "foreground", [:])
        give(.lifecycle(.foreground))
      }
    case .displayFrame(let link): displayFrame(link)
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
  mutating func record(_ party: Party, _ kind: String, _ fields: JSONObject, payload: [UInt8]? = nil, content: JSON? = nil) -> Int {
    recorder.record(party, kind, at: now, fields, payload: payload, content: content)
  }

  func rank(_ eventClass: EventClass) -> UInt8 { ranks[eventClass] ?? 253 }

  mutating func checkQuiet() {
    guard rulesAct else { return }
    if user.isPending {
      quietAwaitsUser = true
    } else if busyUntil > now {
      queue.push(.quietCheck, at: busyUntil, eventClass: World.quietRank)
    } else {
      rulesAct = false
      framesToSkip = 0
      header.quietFrom = now
      quietEntry = record(.world, "quiet", [:])
      if settings.endsByItself {
        queue.push(.end, at: now + system.quietPhase(user.intents, scenario.clientStart), eventClass: World.endRank)
      }
    }
  }
}
