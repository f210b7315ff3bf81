import Contract
import Faults
import Proxy
import Replay
import Simulation
import Sockets
import Wire

/// Why a live run cannot start. `description` is one line for a person.
package enum LiveError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A rule acts on (or asks about) a side that is not ours here.
  case notUsable(rule: String, side: String)
  case notLoopback(HostPort)
  case sockets(SocketError)
  case run(RunError)
  /// The URL of the server or of the marks cannot be used.
  case invalidURL(String)

  package var description: String {
    switch self {
    case .notUsable(let rule, let side): "the rule '\(rule)' needs the \(side), which is not in chatbench's hands here"
    case .notLoopback(let place): "\(place) can be reached from other machines: allow that in words, or listen on 127.0.0.1"
    case .sockets(let error): error.description
    case .run(let error): error.description
    case .invalidURL(let problem): problem
    }
  }

  /// Runs `body` and gives its error one of these cases.
  static func wrapping<Value>(_ body: () throws -> Value) throws(LiveError) -> Value {
    do {
      return try body()
    } catch let error as LiveError {
      throw error
    } catch let error as SocketError {
      throw .sockets(error)
    } catch let error as RunError {
      throw .run(error)
    } catch {
      throw .invalidURL("\(error)")
    }
  }
}

extension FaultAction {
  enum Place: Hashable, Sendable { case link, server, app }

  /// The side that it acts on.
  var place: Place {
    switch self {
    case .drop, .delay, .duplicate, .reorder, .hold, .holdUntil, .corrupt, .truncate, .replace, .disconnect, .halfOpen: .link
    case .refuse, .slow, .restartServer, .epochJump, .forgetAnswers: .server
    case .restartApp, .background, .suspend, .memoryPressure, .stepClock, .drag, .holdDrag, .loseStop, .skipFrames, .slowPreparation,
      .slowApplying:
      .app
    }
  }
}

/// The twin of a scenario on a real port, for real clients: a WebSocket server with the scenario's link, its recorded losses and the
/// rules of a plan. It is the replay's world with the socket's far end in the place of the core, so that its trace is judged as any.
///
/// A twin whose system speaks HTTP without WebSocket cannot be served yet: such requests are refused.
package final class TwinServer {
  package struct Options: Sendable {
    package var listen = HostPort(host: "127.0.0.1", port: 0)
    /// Whether `listen` may be an address that other machines can reach.
    package var allowRemote = false
    package var plan = FaultPlan.none
    package var seed: UInt64 = 1
    package var withoutRecordedLosses = false
    /// Frames take the scenario's base delay each way, so that a recording shows the round trips of the recorded network.
    package var simulatesDelay = true
    /// The scenario's t = 0 is the first client's opening; else the call of `begin`.
    package var startsWithFirstClient = true
    package var recordingName = "hand"

    package init() {}
  }

  private enum ToClient {
    case up(ConnectionID)
    case down(ConnectionID)
    case frame(Frame)
  }

  private let loop: EventLoop
  private let options: Options
  private let world: RealTimeWorld
  private let outbox: Outbox<ToClient>
  private let recorder: FrameRecorder?
  private let listener: Listener
  private var endpoints: [Int: WebSocketEndpoint] = [:]
  private var waiting: [ObjectIdentifier: WebSocketEndpoint] = [:]
  private var lastConnection = 0
  /// Code and author of the `down` entry per connection, until its client is told.
  private var downs: [Int: (code: Int, who: String)] = [:]
  private var clock: RunClock?
  private var isSending = false

  /// The bound address.
  package let place: HostPort
  /// Clients that are there now.
  package var openConnections: Int { endpoints.count }

  /// Listens at once. `sink` gets the frames as they pass the server's sockets; their instants count from the start of the scenario.
  package init(
    on loop: EventLoop, system: ChatSystem, scenario: any Scenario, _ options: Options = Options(), sink: (any FrameSink)? = nil
  ) throws(LiveError) {
    if let rule = options.plan.rules.first(where: { $0.action.place == .app || $0.state != nil }) {
      throw .notUsable(rule: rule.text, side: "app")
    }
    let outbox = Outbox<ToClient>()
    var system = system
    system.makeCore = { _, _ in RemoteCore(outbox: outbox) }
    var scenario = scenario
    if !options.simulatesDelay { scenario.facts.oneWay = [:] }
    var settings = WorldSettings(
      plan: options.plan, seed: options.seed, withoutRecordedLosses: options.withoutRecordedLosses, recordingName: options.recordingName)
    settings.endsByItself = false
    settings.user = .absent
    let accept = Acceptor()
    (world, listener) = try LiveError.wrapping {
      let world = try RealTimeWorld(loop, World(system: system, scenario: scenario, settings: settings))
      let addresses = try SocketAddress.resolve(options.listen)
      guard options.allowRemote || addresses.allSatisfy(\.isLoopback) else { throw LiveError.notLoopback(options.listen) }
      return (world, try Listener(loop, on: addresses[0]) { accept.server?.accept($0) })
    }
    place = listener.place
    self.loop = loop
    self.options = options
    self.outbox = outbox
    recorder = sink.map { FrameRecorder(sink: $0) }
    accept.server = self
    self.world.onEntries = { [weak self] in self?.take($0) }
    self.world.onTurn = { [weak self] in self?.sendOut() }
  }

  /// Lets the scenario's time begin, unless a client has come before.
  package func begin(_ clock: RunClock = RunClock()) {
    guard self.clock == nil else { return }
    self.clock = clock
    world.begin(clock)
  }

  /// Whoever uses the clients has done all: rules act no more, and everything must come to rest. Without it rules act until `stop`, and
  /// nothing is known of what would have come to rest.
  package func becomeQuiet() { world.takeIn { $0.becomeQuiet(at: $1) } }

  /// Ends the run: no more clients, the twin's last words, the trace with its verdict still to come.
  package func stop() -> RunResult {
    listener.close()
    world.finish()
    for number in endpoints.keys.sorted() { endpoints[number]?.leave(code: 1001, reason: "the server stops") }
    for endpoint in waiting.values { endpoint.abort() }
    endpoints = [:]
    waiting = [:]
    return world.result
  }

  /// The trace so far.
  package var result: RunResult { world.result }

  // MARK: From clients

  private func accept(_ connection: Connection) {
    let endpoint = WebSocketEndpoint(connection, .server)
    let key = ObjectIdentifier(endpoint)
    waiting[key] = endpoint
    endpoint.onEnd = { [weak self] _ in self?.waiting[key] = nil }
    endpoint.onRequest = { [weak self, unowned endpoint] head in
      self?.waiting[key] = nil
      self?.asked(endpoint, head)
    }
  }

  private func asked(_ endpoint: WebSocketEndpoint, _ head: HTTPHead) {
    if options.startsWithFirstClient { begin() }
    lastConnection += 1
    let id = ConnectionID(lastConnection)
    endpoints[id.number] = endpoint
    endpoint.onMessage = { [weak self] kind, payload in self?.took(kind, payload, on: id) }
    endpoint.onEnd = { [weak self] in self?.ended($0, on: id) }
    if let recorder {
      let payload: JSON = ["url": .string("ws://\(place)\(head.target)"), "headers": head.fieldsAsJSON, "status": 101]
      recorder.record(.open, JSONWriter.compact(payload), on: id, .out, at: present)
    }
    world.takeIn { $0.perform([.open(id, Endpoint(head.target))], at: $1) }
  }

  private func took(_ kind: FrameKind, _ payload: [UInt8], on id: ConnectionID) {
    recorder?.record(kind, payload, on: id, .out, at: present)
    world.takeIn { world, now in
      world.perform([.send(Frame(at: now, connection: id, direction: .out, kind: kind, payload: payload))], at: now)
    }
  }

  private func ended(_ end: WebSocketEndpoint.End, on id: ConnectionID) {
    guard endpoints.removeValue(forKey: id.number) != nil else { return }
    recordClose(end.code, end.reason, who: end.byPeer ? "client" : "server", id, end.byPeer ? .out : .in)
    world.takeIn { $0.perform([.close(id, code: end.code)], at: $1) }
  }

  // MARK: To clients

  private func take(_ entries: ArraySlice<TraceEntry>) {
    for entry in entries where entry.party == .link && entry.kind == "down" {
      if let number = entry["conn"]?.int { downs[number] = (entry["code"]?.int ?? 1006, entry["who"]?.string ?? "network") }
    }
  }

  private func sendOut() {
    // Opening a client can bring its first message, and so the next answer: that one waits behind what is here.
    if isSending { return }
    isSending = true
    defer { isSending = false }
    while let item = outbox.takeFirst() {
      switch item {
      case .up(let id): endpoints[id.number]?.open()
      case .frame(let frame):
        guard let endpoint = endpoints[frame.connection.number] else { continue }
        recorder?.record(frame.kind, frame.payload, on: frame.connection, .in, at: present)
        endpoint.send(frame.kind, frame.payload)
      case .down(let id):
        let down = downs[id.number] ?? (1006, "network")
        guard let endpoint = endpoints.removeValue(forKey: id.number) else { continue }
        recordClose(down.code, "", who: down.who, id, .in)
        keepUntilEnd(endpoint)
        endpoint.close(code: down.code, reason: "")
      }
    }
  }

  /// An end that has said goodbye lives until the peer has answered.
  private func keepUntilEnd(_ endpoint: WebSocketEndpoint) {
    let key = ObjectIdentifier(endpoint)
    waiting[key] = endpoint
    endpoint.onMessage = nil
    endpoint.onEnd = { [weak self] _ in self?.waiting[key] = nil }
  }

  private func recordClose(_ code: Int, _ reason: String, who: String, _ id: ConnectionID, _ direction: Direction) {
    let payload: JSON = ["code": .int(code), "reason": .string(reason), "who": .string(who)]
    recorder?.record(.close, JSONWriter.compact(payload), on: id, direction, at: present)
  }

  private var present: Instant { clock?.now ?? .zero }

  private final class Acceptor {
    weak var server: TwinServer?
  }

  /// The far end of the sockets, in the place of a core: what the world has for the client goes out, what the client does comes in
  /// through `World.perform`.
  private struct RemoteCore: ClientCore {
    let outbox: Outbox<ToClient>

    mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
      switch input {
      case .connection(let id, let up): outbox.put(up ? .up(id) : .down(id))
      case .received(let frame): outbox.put(.frame(frame))
      case .fired, .user, .displayFrame, .screen, .lifecycle, .wallClockStepped: break
      }
      return []
    }

    func premise(of gesture: Gesture) -> Premise { .waits }
    func holds(state: String) -> Bool { false }
  }
}
