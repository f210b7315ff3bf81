import Contract
import HBCodeCore
import HBCodeDialect
import HBCodeScenario
import Simulation
import Wire

/// The jitter of recorded waits, read back: u of each wait for a periodic load (`load:<host>`) and for an outbox check
/// (`check:<session>`), in the order in which the phone draws (SCENARIO.md 5, `draws`).
///
/// The phone itself says which wait is which: it lives through the recording with draws that tell waits apart; a wait in whose band a
/// recorded request lies gets the u that meets it, and the phone lives through it again until nothing changes. A wait that was cut
/// short in the recording keeps a u near the upper end of its band.
func hbcodeDraws(of frames: [Frame], _ scenario: HBCodeScenario) -> [String: [Double]] {
  let requests = recordedRequests(frames)
  if requests.isEmpty { return [:] }
  var known: [String: [Int: Double]] = [:]
  for _ in 0..<mostRounds {
    var draws: [String: [Double]] = [:]
    for timer in requests.keys {
      for (place, purpose) in purposes(of: timer).enumerated() {
        draws[purpose] = (0..<mostDraws).map { known[purpose]?[$0] ?? untold($0, place) }
      }
    }
    var last: [String: Int] = [:]
    var hasChanged = false
    for wait in Playback(frames, scenario, draws).waits() {
      guard let asked = requests[wait.timer] else { continue }
      // The draw that it took: the first of either purpose that fits.
      var taken: (purpose: String, number: Int, base: Interval)?
      for purpose in purposes(of: wait.timer) where taken == nil {
        guard let list = draws[purpose] else { continue }
        let from = last[purpose].map { $0 + 1 } ?? 0
        if let (number, base) = which(wait, list, from: from) { taken = (purpose, number, base) }
      }
      guard let (purpose, number, base) = taken else { continue }
      last[purpose] = number
      // The first recorded request that this wait can have led to.
      let latest = wait.armed + base.scaled(by: 1 + jitter) + slack
      guard let met = asked.first(where: { $0 >= wait.armed + base - slack }), met <= latest else { continue }
      let u = Double((met - wait.armed).nanoseconds) / Double(base.nanoseconds) - 1
      let own = min(max(u, 0), jitter)
      if known[purpose]?[number] != own {
        known[purpose, default: [:]][number] = own
        hasChanged = true
      }
    }
    if !hasChanged { break }
  }
  var found: [String: [Double]] = [:]
  for (purpose, list) in known {
    guard let most = list.keys.max() else { continue }
    found[purpose] = (0...most).map { list[$0] ?? jitter }
  }
  return found
}

/// HB-LOAD-08, HB-OUTBOX-11: up to 30 percent are added.
private let jitter = 0.3
/// A recorder's clock and the phone's are this far apart at most (SCENARIO.md 5, "Equal means").
private let slack = Interval.milliseconds(5)
/// Waits of one purpose that are looked for; beyond them the seed draws.
private let mostDraws = 512
/// Times that the phone lives through the recording.
private let mostRounds = 24
/// Recordings with more frames keep the seed's draws: living through them again and again would take too long.
private let mostFrames = 20_000

/// A u that stands for the k-th wait: near the upper end, each 4 µs of a 10 s wait from the next.
private func untold(_ k: Int, _ place: Int) -> Double { jitter - Double(k + 1) * 4e-7 - Double(place) * 2e-7 }

/// The purposes of draws that arm a timer of the phone: a periodic load after a completed load, or otherwise.
private func purposes(of timer: String) -> [String] {
  guard timer.hasPrefix("load:") else { return [timer] }
  let host = timer.dropFirst("load:".count)
  return ["\(Phone.afterLoad):\(host)", "\(Phone.otherwise):\(host)"]
}

/// Which draw a wait took, and of what base.
private func which(_ wait: Playback.Wait, _ list: [Double], from: Int) -> (number: Int, base: Interval)? {
  let length = wait.due - wait.armed
  let bases = wait.timer.hasPrefix("load:") ? [LoadCadence.fast, LoadCadence.slow] : [OutboxChain.checkWait]
  for number in from..<max(from, list.count) {
    for base in bases where base.scaled(by: 1 + list[number]) == length { return (number, base) }
  }
  return nil
}

/// Instants of the requests that waits lead to, by timer.
private func recordedRequests(_ frames: [Frame]) -> [String: [Instant]] {
  guard frames.count <= mostFrames else { return [:] }
  let reader = HBCodeReader()
  var found: [String: [Instant]] = [:]
  for frame in frames where frame.direction == .out && frame.kind == .text {
    guard case .request(let request) = reader.message(of: frame.payload), let session = request.params["sessionId"]?.string else {
      continue
    }
    switch Method(rawValue: request.method) {
    case .load?: found["load:" + session, default: []].append(frame.at)
    case .outboxLoad?: found["check:" + session, default: []].append(frame.at)
    default: break
    }
  }
  return found
}

/// The phone with the recorded server frames and the intents at their instants; what it arms is noted, what it sends is dropped.
private struct Playback {
  struct Wait {
    /// `load:<host>` or `check:<session>`.
    var timer: String
    var armed: Instant
    var due: Instant
  }

  private enum Event: Sendable {
    case up(Int)
    case down(Int)
    case frame(Frame)
    case timer(TimerID, generation: Int)
    case intent(Gesture)
    case displayFrame(link: Int)
  }

  private struct Socket {
    var number: ConnectionID
    var opened: Instant?
    var closed: Instant?
    var own: ConnectionID?
    var isUp = false
    var recorded: [Frame] = []
    var asked: [Frame] = []
  }

  private var phone: Phone
  private let end: Instant
  private var queue = EventQueue<Event>()
  private var now = Instant.zero
  private var sockets: [Socket] = []
  private var generation = 0
  private var timers: [TimerID: Int] = [:]
  /// The display link that is on.
  private var displayLink: Int?
  private var found: [Wait] = []

  init(_ frames: [Frame], _ scenario: HBCodeScenario, _ draws: [String: [Double]]) {
    // An app that was launched again draws from the beginning: what it waited for then is left to the seed.
    let restart = scenario.facts.intents.first { $0.gesture.name == Gesture.restart }?.at
    end = min(scenario.facts.end, restart ?? .never)
    phone = Phone(
      settings: CoreSettings(
        start: scenario.clientStart, wallClockMilliseconds: scenario.facts.wallClockMilliseconds,
        draws: .recorded(draws, then: SeededRandom(seed: 0))), store: Store())
    var known: [ConnectionID: Int] = [:]
    var clock = Instant.zero
    for frame in frames {
      clock = max(clock, frame.at)
      switch frame.kind {
      case .open:
        known[frame.connection] = sockets.count
        sockets.append(Socket(number: frame.connection, opened: clock))
      case .close:
        guard let index = known[frame.connection], sockets[index].closed == nil else { continue }
        sockets[index].closed = clock
        queue.push(.down(index), at: clock, eventClass: 1)
      case .text:
        if known[frame.connection] == nil {
          known[frame.connection] = sockets.count
          sockets.append(Socket(number: frame.connection))
        }
        queue.push(.frame(frame), at: clock, eventClass: 1)
      default: break
      }
    }
    for intent in scenario.facts.intents { queue.push(.intent(intent.gesture), at: intent.at, eventClass: 3) }
  }

  func waits() -> [Wait] {
    var copy = self
    copy.run()
    return copy.found
  }

  private mutating func run() {
    give(.lifecycle(.launched))
    var events = 0
    while let at = queue.nextInstant, at <= end, events < 1_000_000, let (instant, event) = queue.pop() {
      now = max(now, instant)
      events += 1
      switch event {
      case .up(let index):
        guard let own = sockets[index].own else { continue }
        sockets[index].isUp = true
        give(.connection(own, up: true))
      case .down(let index):
        guard let own = sockets[index].own, sockets[index].isUp else { continue }
        sockets[index].isUp = false
        give(.connection(own, up: false))
      case .frame(let frame): pass(frame)
      case .timer(let id, let armed):
        guard timers[id] == armed else { continue }
        timers[id] = nil
        give(.fired(id))
      case .intent(let gesture):
        if let lifecycle = Lifecycle(rawValue: gesture.name) { give(.lifecycle(lifecycle)) } else { give(.user(gesture)) }
      case .displayFrame(let link):
        guard displayLink == link else { continue }
        queue.push(event, at: now + DisplayLink.frame, eventClass: 4)
        give(.displayFrame)
      }
    }
  }

  private mutating func pass(_ frame: Frame) {
    guard let index = sockets.firstIndex(where: { $0.number == frame.connection }) else { return }
    if frame.direction == .out {
      sockets[index].recorded.append(frame)
      return
    }
    guard sockets[index].isUp, let own = sockets[index].own,
      var answer = hbcodeReaddress(frame, sockets[index].recorded, sockets[index].asked)
    else { return }
    answer.connection = own
    give(.received(answer))
  }

  private mutating func give(_ input: Input) {
    for effect in phone.handle(input, at: now) {
      switch effect {
      case .open(let id, _):
        guard let index = sockets.firstIndex(where: { $0.own == nil }) else { continue }
        sockets[index].own = id
        queue.push(.up(index), at: max(sockets[index].opened ?? now, now), eventClass: 0)
      case .close(let id, _):
        if let index = sockets.firstIndex(where: { $0.own == id }) { sockets[index].isUp = false }
      case .send(let frame):
        if let index = sockets.firstIndex(where: { $0.own == frame.connection }) { sockets[index].asked.append(frame) }
      case .arm(let id, let at):
        generation += 1
        timers[id] = generation
        queue.push(.timer(id, generation: generation), at: max(at, now), eventClass: 2)
        if let purpose = Playback.purpose(id) { found.append(Wait(timer: purpose, armed: now, due: at)) }
      case .disarm(let id): timers[id] = nil
      // A list that is drawn up asks for older pages, and no load goes while one is asked for.
      case .displayLink(let isOn):
        guard isOn != (displayLink != nil) else { continue }
        generation += 1
        displayLink = isOn ? generation : nil
        if isOn { queue.push(.displayFrame(link: generation), at: now + DisplayLink.frame, eventClass: 4) }
      case .store, .note, .screen: break
      }
    }
  }

  /// `load:<host>` as it is; `check:<scope>` by its session.
  private static func purpose(_ timer: TimerID) -> String? {
    if timer.name.hasPrefix("load:") { return timer.name }
    guard timer.name.hasPrefix("check:") else { return nil }
    return "check:" + (timer.name.split(separator: "|").last ?? "")
  }
}
