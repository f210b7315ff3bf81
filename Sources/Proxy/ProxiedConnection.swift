import Simulation
import Sockets

/// Moves bytes between a client and the server as its layer says. Each side waits while the other cannot take more.
final class ProxiedConnection {
  private enum Upstream {
    /// Nothing of the client has come.
    case none
    /// Trying the address with this index.
    case connecting(Connection, address: Int)
    case ready(Connection)
    /// No address answers: the client is told when its request is read.
    case unreachable(String)
  }

  /// A side holds at most about this many bytes for the other.
  private static let highMark = 512 * 1024
  /// How long one address of the server has to answer.
  private static let connectTimeout = Interval.seconds(10)

  private let loop: EventLoop
  private let client: Connection
  private let addresses: [SocketAddress]
  private let traffic: ProxiedTraffic
  private let clock: RunClock
  private let timer: LoopTimer
  private let finished: () -> Void
  private var upstream = Upstream.none
  private var clientEnd: ConnectionEnd?
  private var serverEnd: ConnectionEnd?
  /// Sides whose end the layer knows.
  private var clientIsOver = false
  private var serverIsOver = false
  private var isFinished = false

  /// `finished` is called once, when the connection needs no more care.
  init(
    _ loop: EventLoop, client: Connection, addresses: [SocketAddress], traffic: ProxiedTraffic, clock: RunClock,
    finished: @escaping () -> Void
  ) throws(SocketError) {
    self.loop = loop
    self.client = client
    self.addresses = addresses
    self.traffic = traffic
    self.clock = clock
    self.finished = finished
    let fire = WeakConnection()
    timer = try loop.timer { fire.connection?.connectFailed("no answer within 10 s") }
    fire.connection = self
    client.onInput = { [weak self] in self?.pumpClient() }
    client.onDrained = { [weak self] in self?.pumpServer() }
    client.onEnd = { [weak self] in self?.clientEnded($0) }
  }

  /// The capture stops: keeps what is incomplete and closes both sides.
  func stop() {
    if isFinished { return }
    isFinished = true
    timer.disarm()
    traffic.stopped(at: clock.now)
    client.close()
    switch upstream {
    case .none, .unreachable: break
    case .connecting(let server, _), .ready(let server): server.close()
    }
    finished()
  }

  // MARK: Client to server

  private func pumpClient() {
    if isFinished { return }
    switch upstream {
    case .none: if client.inputCount > 0 { connect(0) } else { endIfDone() }
    case .connecting: break
    case .ready(let server):
      pump(client, to: server, .client)
      endIfDone()
    case .unreachable(let problem): answerUnreachable(problem)
    }
  }

  private func connect(_ index: Int) {
    do {
      let server = try Connection(loop, to: addresses[index])
      upstream = .connecting(server, address: index)
      server.onConnected = { [weak self] in self?.connected() }
      server.onEnd = { [weak self] in self?.serverEnded($0) }
      server.onInput = { [weak self] in self?.pumpServer() }
      server.onDrained = { [weak self] in self?.pumpClient() }
      timer.arm(after: ProxiedConnection.connectTimeout)
    } catch {
      upstream = .unreachable(error.description)
      answerUnreachable(error.description)
    }
  }

  private func connected() {
    guard case .connecting(let server, _) = upstream else { return }
    timer.disarm()
    upstream = .ready(server)
    pumpClient()
  }

  private func connectFailed(_ problem: String) {
    guard case .connecting(let server, let index) = upstream else { return }
    timer.disarm()
    server.close()
    if index + 1 < addresses.count { return connect(index + 1) }
    upstream = .unreachable(problem)
    answerUnreachable(problem)
  }

  private func answerUnreachable(_ problem: String) {
    var isWaiting = false
    var passed = 0
    while client.inputCount > 0, !isWaiting {
      let step = client.withInput(whole: traffic.needsWholeInput(of: .client)) { traffic.take($0, from: .client, at: clock.now) }
      switch step {
      case .pass(let count), .replace(let count, _):
        client.drop(count)
        passed += count
      case .wait: isWaiting = true
      }
    }
    // Until a head is whole, or nothing more will come to make it whole.
    if passed == 0, clientEnd == nil { return }
    client.write(traffic.unreachable(problem, at: clock.now))
    finish(reset: false)
  }

  // MARK: Server to client

  private func pumpServer() {
    guard !isFinished, case .ready(let server) = upstream else { return }
    pump(server, to: client, .server)
    // An answer may have decided what the client's waiting bytes are.
    if client.inputCount > 0 { pump(client, to: server, .client) }
    endIfDone()
  }

  private func pump(_ source: Connection, to target: Connection, _ side: ProxiedTraffic.Side) {
    let now = clock.now
    while source.inputCount > 0 {
      if target.outputCount > ProxiedConnection.highMark {
        source.isReading = false
        return
      }
      let step = source.withInput(whole: traffic.needsWholeInput(of: side)) { traffic.take($0, from: side, at: now) }
      switch step {
      case .pass(let count): source.forward(count, to: target)
      case .replace(let count, let bytes):
        source.drop(count)
        target.write(bytes)
      case .wait:
        source.isReading = true
        return
      }
    }
    source.isReading = true
  }

  // MARK: Ends

  private func clientEnded(_ end: ConnectionEnd) {
    if clientEnd == nil { clientEnd = end }
    pumpClient()
  }

  private func serverEnded(_ end: ConnectionEnd) {
    if case .connecting = upstream {
      if case .broken(let problem) = end { connectFailed(problem) } else { connectFailed("it ended the connection at once") }
      return
    }
    if serverEnd == nil { serverEnd = end }
    pumpServer()
  }

  /// Hands on the end of each side whose last bytes have passed.
  private func endIfDone() {
    guard !isFinished else { return }
    guard case .ready(let server) = upstream else {
      if clientEnd != nil, client.inputCount == 0 || isBroken(clientEnd) { finish(reset: false) }
      return
    }
    if !clientIsOver, let end = clientEnd, canEnd(client, toward: server) {
      clientIsOver = true
      traffic.ended(.client, problem: problem(end), at: clock.now)
      if isBroken(end) { return finish(reset: true) }
      server.finishWriting()
    }
    if !serverIsOver, let end = serverEnd, canEnd(server, toward: client) {
      serverIsOver = true
      traffic.ended(.server, problem: problem(end), at: clock.now)
      if isBroken(end) { return finish(reset: true) }
      client.finishWriting()
    }
    if clientIsOver && serverIsOver { finish(reset: false) }
  }

  /// Whether nothing of the side's last bytes can pass any more: there are none, or they wait for an answer that will not come.
  private func canEnd(_ source: Connection, toward target: Connection) -> Bool {
    source.inputCount == 0 || target.outputCount <= ProxiedConnection.highMark
  }

  private func isBroken(_ end: ConnectionEnd?) -> Bool { if case .broken = end { true } else { false } }

  private func problem(_ end: ConnectionEnd) -> String? { if case .broken(let problem) = end { problem } else { nil } }

  /// Lets both sides go, with a reset where the other one broke; what waits in the outputs is still sent.
  private func finish(reset: Bool) {
    if isFinished { return }
    isFinished = true
    timer.disarm()
    client.closeWhenDrained(reset: reset)
    switch upstream {
    case .none, .unreachable: break
    case .connecting(let server, _): server.close()
    case .ready(let server): server.closeWhenDrained(reset: reset)
    }
    finished()
  }

  private final class WeakConnection {
    weak var connection: ProxiedConnection?
  }
}
