import Contract
import Simulation
import Wire

/// Feeds the server frames of a recording and the intents of its scenario to a core at their instants and collects what it sends.
///
/// The k-th connection that the core opens to an endpoint is the k-th recorded one to it, and becomes usable when that did (at once
/// when that was earlier). Frames keep the recorded connection's number; connections without a recorded partner never come up.
struct CorePlayback {
  private enum Event: Sendable {
    case frame(Frame)
    case up(recorded: Int)
    case down(recorded: Int)
    case clock(Interval)
    case timer(TimerID, generation: Int)
    case intent(Gesture)
    case displayFrame(link: Int)
    /// The user has ended the app; it is launched again.
    case launch
  }

  /// Most events of a playback: a core that arms timers without end is stopped there.
  private static let mostEvents = 5_000_000

  private let system: ChatSystem
  private let facts: ScenarioFacts
  private var settings: CoreSettings
  /// Nil while the app is away.
  private var core: (any ClientCore)?
  private var store = Store()
  private var queue = EventQueue<Event>()
  private var now: Instant
  private var ranks: [EventClass: UInt8] = [:]
  private let recorded: [RecordedConnection]
  /// By the core's number: position in `recorded`, nil for a connection without partner.
  private var partners: [Int: Int] = [:]
  private var taken: Set<Int> = []
  /// Those of them that became usable.
  private var came: Set<Int> = []
  /// By position in `recorded`: the core's number while the connection is usable.
  private var usable: [Int: Int] = [:]
  private var timers: [TimerID: Int] = [:]
  private var generation = 0
  private var displayLink: Int?
  private var sent: [Frame] = []
  private var askedByConnection: [Int: [Frame]] = [:]
  private var recordedByConnection: [Int: [Frame]] = [:]

  init(system: ChatSystem, scenario: any Scenario, frames: [Frame]) {
    self.system = system
    facts = scenario.facts
    now = facts.start
    recorded = RecordedConnection.list(frames)
    settings = CoreSettings(
      start: scenario.clientStart, wallClockMilliseconds: facts.wallClockMilliseconds,
      draws: .recorded(facts.draws, then: SeededRandom(seed: 0).fork("core")))
    core = system.makeCore(settings, store)
    let order = system.tieOrder + EventClass.allCases.filter { !system.tieOrder.contains($0) }
    for (index, eventClass) in order.enumerated() where ranks[eventClass] == nil { ranks[eventClass] = UInt8(1 + min(index, 200)) }

    for frame in frames {
      if frame.kind == .clock {
        let by = (try? JSONReader.value(frame.payload))?["byNs"]?.integer ?? 0
        queue.push(.clock(Interval(nanoseconds: by)), at: frame.at, eventClass: 0)
      } else if frame.isMessage {
        // Recorded requests go through the queue too: they are what `readdress` pairs with.
        queue.push(.frame(frame), at: frame.at, eventClass: rank(.frame))
      }
    }
    for (index, connection) in recorded.enumerated() {
      if let closed = connection.closed { queue.push(.down(recorded: index), at: closed, eventClass: rank(.frame)) }
    }
    for intent in facts.intents { queue.push(.intent(intent.gesture), at: intent.at, eventClass: rank(.user)) }
  }

  private func rank(_ eventClass: EventClass) -> UInt8 { ranks[eventClass] ?? 255 }

  /// The frames that the core sends up to the end of the recording, in order.
  mutating func run() -> [Frame] {
    give(.lifecycle(.launched))
    var events = 0
    while let at = queue.nextInstant, at <= facts.end, events < CorePlayback.mostEvents, let (instant, event) = queue.pop() {
      now = max(now, instant)
      events += 1
      switch event {
      case .frame(let frame): pass(frame)
      case .up(let index):
        guard let number = partners.first(where: { $0.value == index })?.key else { continue }
        usable[index] = number
        came.insert(index)
        give(.connection(ConnectionID(number), up: true))
      case .down(let index):
        guard let number = usable.removeValue(forKey: index) else { continue }
        give(.connection(ConnectionID(number), up: false))
      case .clock(let by):
        settings.wallClockMilliseconds = settings.wallClockMilliseconds &+ by.nanoseconds / 1_000_000
        give(.wallClockStepped(by: by))
      case .launch:
        settings.launch += 1
        core = system.makeCore(settings, store)
        give(.lifecycle(.launched))
      case .timer(let id, let armed):
        guard timers[id] == armed else { continue }
        timers[id] = nil
        give(.fired(id))
      case .displayFrame(let link):
        guard displayLink == link else { continue }
        queue.push(event, at: now + DisplayLink.frame, eventClass: rank(.displayFrame))
        give(.displayFrame)
      case .intent(let gesture):
        if gesture.name == Gesture.restart {
          end(for: (try? gesture.restartPause()) ?? .zero)
        } else if let lifecycle = Lifecycle(rawValue: gesture.name), [.background, .foreground, .memoryPressure].contains(lifecycle) {
          give(.lifecycle(lifecycle))
        } else {
          give(.user(gesture))
        }
      }
    }
    return sent
  }

  private mutating func pass(_ frame: Frame) {
    guard let index = recorded.firstIndex(where: { $0.number == frame.connection }) else { return }
    if frame.direction == .out {
      recordedByConnection[index, default: []].append(frame)
      return
    }
    guard let number = usable[index] else { return }
    var delivered = frame
    if let readdress = system.readdress {
      guard let changed = readdress(frame, recordedByConnection[index] ?? [], askedByConnection[index] ?? []) else { return }
      delivered = changed
    }
    delivered.connection = ConnectionID(number)
    give(.received(delivered))
  }

  private mutating func give(_ input: Input) {
    guard let effects = core?.handle(input, at: now) else { return }
    for effect in effects {
      switch effect {
      case .open(let id, let endpoint): open(id.number, endpoint)
      case .close(let id, _):
        if let index = partners[id.number] { usable[index] = nil }
      case .send(var frame):
        frame.at = now
        frame.direction = .out
        if let index = partners[frame.connection.number] {
          frame.connection = recorded[index].number
          askedByConnection[index, default: []].append(frame)
        } else {
          // Behind all recorded numbers, so that it is a stream of its own.
          frame.connection = ConnectionID((recorded.map(\.number.number).max() ?? 0) + frame.connection.number)
        }
        sent.append(frame)
      case .arm(let id, let at):
        generation += 1
        timers[id] = generation
        queue.push(.timer(id, generation: generation), at: max(at, now), eventClass: rank(.timer))
      case .disarm(let id): timers[id] = nil
      case .displayLink(let isOn):
        guard isOn != (displayLink != nil) else { continue }
        generation += 1
        displayLink = isOn ? generation : nil
        if isOn { queue.push(.displayFrame(link: generation), at: now + DisplayLink.frame, eventClass: rank(.displayFrame)) }
      case .store(let key, let bytes): store[key] = bytes
      case .note, .screen: break
      }
    }
  }

  /// The user ends the app: what it had is gone, but for what it stored.
  private mutating func end(for pause: Interval) {
    guard core != nil else { return }
    core = nil
    partners = [:]
    usable = [:]
    // A connection that it waited for is the next app's.
    taken = came
    timers = [:]
    displayLink = nil
    queue.push(.launch, at: now + pause, eventClass: 0)
  }

  private mutating func open(_ number: Int, _ endpoint: Endpoint) {
    // A connection that was open when the recording began has no known endpoint: it fits any.
    let index = recorded.indices.first { !taken.contains($0) && (recorded[$0].endpoint == endpoint || recorded[$0].opened == nil) }
    guard let index else { return }
    taken.insert(index)
    partners[number] = index
    queue.push(.up(recorded: index), at: max(recorded[index].opened ?? now, now), eventClass: 0)
  }
}
