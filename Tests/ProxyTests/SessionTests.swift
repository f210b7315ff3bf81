import Glibc
import PeerSupport
import Proxy
import Simulation
import Sockets
import Testing
import Wire

/// A client that collects what it gets.
private final class Client {
  let connection: Connection
  private(set) var text = ""
  private(set) var end: ConnectionEnd?

  init(_ loop: EventLoop, _ place: HostPort, sending text: String) throws {
    connection = try Connection(loop, to: SocketAddress.resolve(place)[0])
    connection.onInput = { [unowned self] in
      self.text += connection.withInput(whole: true) { String(decoding: $0, as: UTF8.self) }
      connection.drop(connection.inputCount)
    }
    connection.onEnd = { [unowned self] in end = $0 }
    connection.write(Array(text.utf8))
  }
}

private func options(_ upstream: String, marks: Bool = false) throws -> CaptureSession.Options {
  CaptureSession.Options(upstream: try UpstreamURL(upstream), marks: marks ? HostPort(host: "127.0.0.1", port: 0) : nil)
}

/// A port on which nobody listens: bound once, then let go.
private func freePort(_ loop: EventLoop) throws -> UInt16 {
  let listener = try Listener(loop, on: try SocketAddress.resolve(HostPort(host: "127.0.0.1", port: 0))[0]) { _ in }
  defer { listener.close() }
  return listener.place.port
}

@Suite struct SessionTests {
  @Test func `an unreachable server is told to the client and recorded`() throws {
    let loop = try EventLoop()
    let sink = MemorySink()
    let session = try CaptureSession(on: loop, options("ws://127.0.0.1:\(freePort(loop))")) { _ in sink }
    let client = try Client(
      loop, session.place, sending: "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    try #require(try loop.wait { client.end != nil })
    #expect(client.end == .finished)
    #expect(client.text.hasPrefix("HTTP/1.1 502 Bad Gateway\r\n"))
    #expect(client.text.contains("Connection refused"))
    #expect(sink.frames.map(\.kind) == [.open, .close])
    client.connection.close()
    #expect(session.stop().openConnections == 0)
  }

  @Test func `a busy port is named and makes no sink`() throws {
    let loop = try EventLoop()
    let first = try CaptureSession(on: loop, options("ws://127.0.0.1:9")) { _ in MemorySink() }
    var second = try options("ws://127.0.0.1:9")
    second.listen = first.place
    var made = false
    #expect(throws: CaptureError.sockets(.addressInUse(first.place))) {
      _ = try CaptureSession(on: loop, second) { _ in
        made = true
        return MemorySink()
      }
    }
    #expect(!made)
  }

  @Test func `only loopback is listened on unless more is allowed`() throws {
    let loop = try EventLoop()
    var remote = try options("ws://127.0.0.1:9")
    remote.listen = HostPort(host: "0.0.0.0", port: 0)
    #expect(throws: CaptureError.notLoopback(remote.listen)) { _ = try CaptureSession(on: loop, remote) { _ in MemorySink() } }
    remote.allowRemote = true
    #expect(try CaptureSession(on: loop, remote) { _ in MemorySink() }.place.port > 0)
  }

  @Test func `marks are recorded among the frames`() throws {
    let loop = try EventLoop()
    let sink = MemorySink()
    let session = try CaptureSession(on: loop, options("ws://127.0.0.1:9", marks: true)) { _ in sink }
    let post = "POST /x HTTP/1.1\r\nContent-Length: 4\r\n\r\n"
    let client = try Client(loop, try #require(session.marksPlace), sending: post + "one\n" + post + "two!")
    try #require(try loop.wait { sink.frames.count == 2 })
    #expect(sink.frames.map { String(decoding: $0.payload, as: UTF8.self) } == ["one\n", "two!"])
    #expect(sink.frames.map(\.kind) == [.mark, .mark])
    #expect(session.counts.marks == 2)
    client.connection.close()
  }

  @Test func `when frames cannot be kept the session says so and traffic still passes`() throws {
    let loop = try EventLoop()
    let sink = MemorySink()
    sink.refusesFrom = 2
    var held: [Connection] = []
    let server = try Listener(loop, on: try SocketAddress.resolve(HostPort(host: "127.0.0.1", port: 0))[0]) { connection in
      held.append(connection)
      connection.onInput = {
        connection.drop(connection.inputCount)
        connection.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))
      }
    }
    let session = try CaptureSession(on: loop, options("http://\(server.place)")) { _ in sink }
    var told = 0
    session.onFailure = { _ in told += 1 }
    let client = try Client(loop, session.place, sending: "GET / HTTP/1.1\r\n\r\n")
    try #require(try loop.wait { client.text.hasSuffix("ok") })
    client.connection.write(Array("GET / HTTP/1.1\r\n\r\n".utf8))
    try #require(try loop.wait { client.text.hasSuffix("ok") && client.text.split(separator: "HTTP/1.1").count == 2 })
    #expect(told == 1)
    #expect(sink.frames.count == 1)
    #expect(session.failure is MemorySink.Refusal)
    client.connection.close()
    for connection in held { connection.close() }
  }

  @Test func `a stopped session leaves nothing open`() throws {
    let loop = try EventLoop()
    var held: [Connection] = []
    let server = try Listener(loop, on: try SocketAddress.resolve(HostPort(host: "127.0.0.1", port: 0))[0]) { held.append($0) }
    let sink = MemorySink()
    let session = try CaptureSession(on: loop, options("http://\(server.place)")) { _ in sink }
    let client = try Client(loop, session.place, sending: "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
    try #require(try loop.wait { held.first?.inputCount ?? 0 > 0 })
    let counts = session.stop()
    #expect(counts.openConnections == 0)
    #expect(sink.frames.map { $0.flags["partial"] } == [true])
    try #require(try loop.wait { client.end != nil })
    client.connection.close()
    for connection in held { connection.close() }
  }
}

@Suite struct EventLoopTests {
  @Test func `a watched signal reaches its action and ends nothing`() throws {
    let loop = try EventLoop()
    var seen: [Int32] = []
    let watch = try loop.watch(signals: [SIGUSR1, SIGUSR2]) {
      seen.append($0)
      loop.stop()
    }
    kill(getpid(), SIGUSR2)
    loop.run()
    withExtendedLifetime(watch) {}
    #expect(seen == [SIGUSR2])
  }

  @Test func `timers fire in order and never early`() throws {
    let loop = try EventLoop()
    let start = EventLoop.monotonicNanoseconds
    var fired: [(name: String, after: Int64)] = []
    let timers = try [("late", 3), ("early", 1), ("never", 2)].map { name, ms in
      let timer = try loop.timer { fired.append((name, EventLoop.monotonicNanoseconds - start)) }
      timer.arm(after: .milliseconds(Int64(ms)))
      return timer
    }
    timers[2].disarm()
    #expect(try loop.wait { fired.count == 2 })
    #expect(fired.map(\.name) == ["early", "late"])
    #expect(fired[0].after >= 1_000_000)
    #expect(fired[1].after >= 3_000_000)
  }
}
