import Contract
import Faults
import Proxy
import Replay
import Simulation
import Sockets
import Wire

/// A client core against a real server, on real time: the replay's world with the socket's far end in the place of the twin. The user
/// of the world makes the gestures; each is posted as a mark before the frames that it causes are sent.
package final class CoreClient {
  package struct Options: Sendable {
    /// The server: `ws://host:port`; endpoints of the core are its paths.
    package var server: UpstreamURL
    /// Where gestures are posted: `http://host:port/` of a capture's marks listener.
    package var marks: String?
    package var user = UserMode.reacting
    /// Rules that act on the client's side of the link, and on the process of the app.
    package var plan = FaultPlan.none
    package var seed: UInt64 = 1
    /// How long the core runs on after the last intent and the scenario's end; nil for the system's own quiet phase.
    package var quiet: Interval?

    package init(server: UpstreamURL) { self.server = server }
  }

  /// Waits before the next attempt to connect: 250 ms, doubled up to 5 s.
  package static func pause(afterFailures count: Int) -> Interval {
    Interval.milliseconds(min(5_000, 250 << Int64(max(0, min(count - 1, 10)))))
  }

  private enum ToServer {
    case frame(Frame)
    case closed(ConnectionID)
  }

  private enum Outgoing {
    case mark([UInt8])
    case frame(Frame)
    case close(ConnectionID)
  }

  /// A connection of the core on its way or there.
  private final class Link {
    var endpoint: WebSocketEndpoint?
    var retry: LoopTimer?
    var failures = 0
    var isOpen = false
  }

  private let loop: EventLoop
  private let options: Options
  private let addresses: [SocketAddress]
  private let world: RealTimeWorld
  private let outbox: Outbox<ToServer>
  private let poster: MarkPoster?
  private let gestures: [String: JSON]
  private var links: [Int: Link] = [:]
  private var leaving: [ObjectIdentifier: WebSocketEndpoint] = [:]
  private var knownConnections = 0
  private var queue: [Outgoing] = []
  private var isPosting = false
  private var isOver = false
  /// Closing codes of the client per connection.
  private var codes: [Int: Int] = [:]

  /// Marks that the listener took, and that it did not.
  package private(set) var marksPosted = 0
  package private(set) var marksLost = 0
  /// Failed attempts to connect.
  package private(set) var failedAttempts = 0
  /// Called once, when the run is over.
  package var onEnd: ((RunResult) -> Void)?

  package init(on loop: EventLoop, system: ChatSystem, scenario: any Scenario, _ options: Options) throws(LiveError) {
    if let rule = options.plan.rules.first(where: { $0.action.place == .server }) { throw .notUsable(rule: rule.text, side: "server") }
    let outbox = Outbox<ToServer>()
    var system = system
    system.makeTwin = { _, _ in RemoteTwin(outbox: outbox) }
    if let quiet = options.quiet { system.quietPhase = { _, _ in quiet } }
    // Delay, losses and outages are the real network's affair.
    var scenario = scenario
    scenario.facts.oneWay = [:]
    var settings = WorldSettings(plan: options.plan, user: options.user, seed: options.seed, withoutRecordedLosses: true)
    settings.opensByItself = false
    let intents = if case .script(let script) = options.user { script.intents } else { scenario.facts.intents }
    gestures = Dictionary(intents.map { ($0.id, $0.gesture.json) }, uniquingKeysWith: { first, _ in first })
    poster = if let marks = options.marks { try MarkPoster(loop, url: marks) } else { nil }
    (world, addresses) = try LiveError.wrapping {
      let world = try World(system: system, scenario: scenario, settings: settings)
      return (try RealTimeWorld(loop, world), try SocketAddress.resolve(options.server.place))
    }
    self.loop = loop
    self.options = options
    self.outbox = outbox
    // What the screen was like, which no frame tells: the first mark.
    if poster != nil, let screen = scenario.clientStart["screen"], !screen.isNull {
      queue.append(.mark(JSONWriter.compact(["screen": screen, "t": 0])))
    }
    world.onEntries = { [weak self] in self?.take($0) }
    world.onTurn = { [weak self] in self?.turnEnded() }
  }

  /// Lets the core live from now on. With a shared clock its t = 0 is that of a server in the same process.
  package func begin(_ clock: RunClock = RunClock()) { world.begin(clock) }

  /// Ends the run at once, as its own end would.
  package func stop() -> RunResult {
    if !isOver {
      world.finish()
      letGo()
    }
    return world.result
  }

  package var result: RunResult { world.result }

  // MARK: From the core

  private func take(_ entries: ArraySlice<TraceEntry>) {
    for entry in entries {
      switch (entry.party, entry.kind) {
      case (.user, "gesture"): if poster != nil, let mark = mark(for: entry) { queue.append(.mark(mark)) }
      case (.link, "down"): if let number = entry["conn"]?.int { codes[number] = entry["code"]?.int }
      default: break
      }
    }
    while let item = outbox.takeFirst() {
      switch item {
      case .frame(let frame): queue.append(.frame(frame))
      case .closed(let id): queue.append(.close(id))
      }
    }
    while knownConnections < world.connectionCount {
      knownConnections += 1
      links[knownConnections] = Link()
      attempt(ConnectionID(knownConnections))
    }
  }

  /// What the user or a rule did at the screen, as it was done: with the changes of rules.
  private func mark(for entry: TraceEntry) -> [UInt8]? {
    var mark: JSONObject = [:]
    if let id = entry["intent"]?.string, var gesture = gestures[id]?.object {
      if entry["rule"] != nil, gesture["rule"] == nil { gesture["held"] = entry["held"] }
      mark["user"] = .object(gesture)
      mark["intent"] = .string(id)
    } else {
      mark["user"] = .object(JSONObject(entry.fields.members.filter { $0.name != "rule" }))
    }
    mark["t"] = .integer(entry.at.nanoseconds / 1_000_000)
    return JSONWriter.compact(.object(mark))
  }

  private func turnEnded() {
    sendOut()
    if world.hasEnded, !isOver, !isPosting, queue.isEmpty {
      letGo()
      onEnd?(world.result)
      onEnd = nil
    }
  }

  /// Sends what waits, in order; a mark first waits until the listener has it, so that it stands before its frames.
  private func sendOut() {
    while !isPosting, !queue.isEmpty {
      switch queue.removeFirst() {
      case .mark(let body):
        guard let poster else { continue }
        isPosting = true
        poster.post(body) { [weak self] wasTaken in
          guard let self else { return }
          if wasTaken { marksPosted += 1 } else { marksLost += 1 }
          isPosting = false
          turnEnded()
        }
      case .frame(let frame): links[frame.connection.number]?.endpoint?.send(frame.kind, frame.payload)
      case .close(let id):
        guard let link = links.removeValue(forKey: id.number) else { continue }
        link.retry = nil
        guard let endpoint = link.endpoint else { continue }
        let key = ObjectIdentifier(endpoint)
        leaving[key] = endpoint
        endpoint.onMessage = nil
        endpoint.aroundRead = nil
        endpoint.onEnd = { [weak self] _ in self?.leaving[key] = nil }
        endpoint.close(code: codes[id.number] ?? 1000, reason: "")
      }
    }
  }

  // MARK: Connections

  private func attempt(_ id: ConnectionID) {
    guard !isOver, let link = links[id.number], world.isWanted(id), let target = world.endpoint(of: id)?.target else {
      links[id.number] = nil
      return
    }
    // Each failure tries the next address of the server.
    guard let connection = try? Connection(loop, to: addresses[link.failures % addresses.count]) else { return failed(id) }
    let key = Handshake.makeKey()
    let request = Handshake.request(target: target, host: options.server.authority, key: key)
    let endpoint = WebSocketEndpoint(connection, .client(request: request, key: key))
    link.endpoint = endpoint
    endpoint.onOpen = { [weak self] in self?.opened(id) }
    endpoint.aroundRead = { [weak self] read in if let self { world.holdingTime(read) } else { read() } }
    endpoint.onMessage = { [weak self] kind, payload in
      self?.world.takeIn { world, now in
        world.deliver(Frame(at: now, connection: id, direction: .in, kind: kind, payload: payload), at: now)
      }
    }
    endpoint.onEnd = { [weak self] in self?.ended(id, $0) }
  }

  private func opened(_ id: ConnectionID) {
    var isWanted = false
    links[id.number]?.isOpen = true
    links[id.number]?.failures = 0
    world.takeIn { isWanted = $0.made(id, at: $1) }
    if !isWanted, let link = links.removeValue(forKey: id.number) { link.endpoint?.close(code: 1000, reason: "") }
  }

  private func ended(_ id: ConnectionID, _ end: WebSocketEndpoint.End) {
    guard let link = links[id.number] else { return }
    link.endpoint = nil
    guard link.isOpen else { return failed(id) }
    links[id.number] = nil
    world.takeIn { $0.lost(id, code: end.code, who: end.code == 1006 ? "network" : "server", at: $1) }
  }

  private func failed(_ id: ConnectionID) {
    guard let link = links[id.number] else { return }
    failedAttempts += 1
    link.failures += 1
    link.retry = try? loop.timer { [weak self] in self?.attempt(id) }
    link.retry?.arm(after: CoreClient.pause(afterFailures: link.failures))
  }

  private func letGo() {
    isOver = true
    poster?.close()
    isPosting = false
    queue = []
    for number in links.keys.sorted() { links[number]?.endpoint?.leave(code: 1000, reason: "") }
    links = [:]
    leaving = [:]
  }

  /// The far end of the sockets, in the place of a twin.
  private struct RemoteTwin: Twin {
    let outbox: Outbox<ToServer>

    mutating func handle(_ input: TwinInput, at now: Instant) -> [TwinEffect] {
      switch input {
      case .received(let frame, _): outbox.put(.frame(frame))
      case .disconnected(let id): outbox.put(.closed(id))
      case .connected, .due, .fault: break
      }
      return []
    }

    var nextDue: Instant? { nil }

    mutating func finish(at now: Instant) -> [Observation] { [] }
  }
}
