import Glibc
import PeerSupport
import Proxy
import Simulation
import Sockets
import Testing
import Wire

/// A capture between two ends that are not ours.
private struct Stage {
  let loop: EventLoop
  let sink = MemorySink()
  let server: Peer
  let session: CaptureSession

  init() throws {
    loop = try EventLoop()
    let server = try Peer(["python3", "-c", PythonScripts.server])
    self.server = server
    var port: Int?
    try #require(
      try loop.wait {
        port = server.reports.first?["port"]?.int
        return port != nil || server.exitStatus != nil
      })
    let upstream = try UpstreamURL("ws://127.0.0.1:\(try #require(port))")
    let sink = sink
    session = try CaptureSession(on: loop, CaptureSession.Options(upstream: upstream)) { _ in sink }
  }

  /// Runs a client's story to its end and until both sides are gone; returns what the client said.
  func play(_ story: String) throws -> [JSON] {
    let client = try Peer(["python3", "-c", PythonScripts.client, "ws://\(session.place)/v1/chat?x=1", story])
    let session = session
    try #require(try loop.wait { client.exitStatus != nil && session.counts.openConnections == 0 })
    #expect(client.exitStatus == 0, "\(client.lines)")
    return client.reports
  }

  func recorded(_ direction: Direction) -> [JSON] {
    sink.frames.filter { ($0.kind == .text || $0.kind == .binary) && $0.direction == direction }.map {
      ["kind": .string($0.kind.rawValue), "length": .int($0.payload.count), "sha": .string(SHA256Digest.hex($0.payload))]
    }
  }

  var close: JSON? { sink.all(.close).first.flatMap { try? JSONReader.value($0.payload) } }
}

@Suite(.enabled(if: Peer.hasWebSockets), .serialized) struct CaptureTests {
  @Test func `what real ends send is recorded byte for byte, in both directions`() throws {
    let stage = try Stage()
    let said = try stage.play("sizes")
    let sent = said.compactMap { $0["sent"] }
    #expect(sent.count == 17)
    #expect(stage.recorded(.out) == sent)
    #expect(stage.recorded(.in) == said.compactMap { $0["got"] })
    #expect(stage.server.reports.compactMap { $0["got"] } == sent)
    // The fragments as the client made them: websockets sends an empty last frame of its own.
    let fragmented = stage.sink.frames.filter { $0.flags["fragments"] != nil }
    #expect(fragmented.filter { $0.direction == .out }.map { $0.flags["fragments"] } == [6, 3])
    #expect(stage.sink.all(.ping, .out).map(\.payload) == [Array("are you there".utf8)])
    #expect(stage.sink.all(.pong, .in).map(\.payload) == [Array("are you there".utf8)])
    #expect(stage.sink.all(.pong, .out).map(\.payload) == [Array("unasked".utf8)])
    #expect(stage.close == ["code": 1000, "reason": "done", "who": "client"])
    #expect(stage.sink.all(.close).count == 1)
    #expect(stage.sink.all(.opaque).isEmpty)
    #expect(stage.sink.frames.map(\.sequence) == Array(1...stage.sink.frames.count))
    #expect(zip(stage.sink.frames, stage.sink.frames.dropFirst()).allSatisfy { $0.at <= $1.at })
    let open = try JSONReader.value(try #require(stage.sink.all(.open).first).payload)
    #expect(open["status"] == 101)
    #expect(open["url"]?.string?.hasSuffix("/v1/chat?x=1") == true)
    let counts = stage.session.stop()
    #expect(counts.messagesOut == 17)
    #expect(counts.messagesIn == 17)
    #expect(counts.connections == 1)
  }

  @Test func `the server sees its own name as the host`() throws {
    let stage = try Stage()
    _ = try stage.play("leave")
    let host = stage.server.reports.compactMap { $0["host"]?.string }.first
    let port = stage.server.reports.first?["port"]?.int
    #expect(host == "127.0.0.1:\(port ?? 0)")
  }

  @Test func `a close of the server comes with its code and reason`() throws {
    let stage = try Stage()
    let said = try stage.play("close 4001")
    #expect(said.last == ["closed": 4001])
    #expect(stage.close == ["code": 4001, "reason": "as asked", "who": "server"])
  }

  @Test func `a server that breaks off is recorded as an abnormal end, and the client sees one`() throws {
    let stage = try Stage()
    let said = try stage.play("abort")
    #expect(said.last == ["closed": 1006])
    #expect(stage.close?["code"] == 1006)
    #expect(stage.close?["who"] == "server")
  }

  @Test func `a client that breaks off is recorded as an abnormal end`() throws {
    let stage = try Stage()
    _ = try stage.play("leave")
    #expect(stage.close?["code"] == 1006)
    #expect(stage.close?["who"] == "client")
  }

  @Test func `many messages at once keep their order and number`() throws {
    let stage = try Stage()
    _ = try stage.play("many 5000")
    #expect(stage.recorded(.out).count == 5_000)
    #expect(stage.recorded(.out) == stage.recorded(.in))
  }

  @Test func `a client that reads late gets everything`() throws {
    let stage = try Stage()
    let said = try stage.play("flood 20000")
    #expect(said.first == ["flooded": 20_000])
    #expect(stage.recorded(.in).count == 20_000)
  }
}
