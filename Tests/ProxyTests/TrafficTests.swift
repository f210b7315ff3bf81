import PeerSupport
import Proxy
import Simulation
import Sockets
import Testing
import Wire

/// A layer with its inputs; what it passes on is kept per side.
private final class Wire2 {
  let sink = MemorySink()
  let traffic: ProxiedTraffic
  private(set) var toServer: [UInt8] = []
  private(set) var toClient: [UInt8] = []
  private var waiting: [UInt8] = []

  init(limit: Int = 1 << 20) throws {
    var limits = ProxiedTraffic.Limits()
    limits.message = limit
    traffic = ProxiedTraffic(
      connection: ConnectionID(1), upstream: try UpstreamURL("ws://server.test:9000"), recorder: FrameRecorder(sink: sink), limits: limits)
  }

  func client(_ text: String) { client(Array(text.utf8)) }
  func client(_ bytes: [UInt8]) { waiting += bytes; pump(&waiting, .client, &toServer) }

  func server(_ text: String) { server(Array(text.utf8)) }
  func server(_ bytes: [UInt8]) {
    var bytes = bytes
    pump(&bytes, .server, &toClient)
    pump(&waiting, .client, &toServer)
  }

  private func pump(_ bytes: inout [UInt8], _ side: ProxiedTraffic.Side, _ out: inout [UInt8]) {
    while !bytes.isEmpty {
      switch bytes.withUnsafeBytes({ traffic.take($0, from: side, at: .zero) }) {
      case .pass(let count):
        out += bytes[..<count]
        bytes.removeFirst(count)
      case .replace(let count, let own):
        out += own
        bytes.removeFirst(count)
      case .wait: return
      }
    }
  }

  /// `kind direction payload` of each frame.
  var story: [String] {
    sink.frames.map {
      "\($0.kind.rawValue) \($0.direction.rawValue) \(String(decoding: $0.payload, as: UTF8.self))"
        + ($0.flags.isEmpty ? "" : " " + JSONWriter.text(.object($0.flags))) + ($0.answers.map { " re \($0)" } ?? "")
    }
  }
}

private let upgrade =
  "GET /chat?a=1 HTTP/1.1\r\nhost: 127.0.0.1:1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nX-B: c\r\n\r\n"
private let accepted = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"

@Suite struct TrafficTests {
  @Test func `an upgrade passes with only the host changed, and frames are read after it`() throws {
    let wire = try Wire2()
    wire.client(upgrade)
    wire.client([0x81, 0x01, 0x41])
    #expect(String(decoding: wire.toServer, as: UTF8.self) == upgrade.replacing("127.0.0.1:1", with: "server.test:9000"))
    wire.server(Array(accepted.utf8) + [0x81, 0x01, 0x42])
    #expect(wire.toClient == Array(accepted.utf8) + [0x81, 0x01, 0x42])
    #expect(wire.toServer.suffix(3) == [0x81, 0x01, 0x41])
    #expect(
      wire.story == [
        """
        open out {"url":"ws://server.test:9000/chat?a=1","headers":[["host","127.0.0.1:1"],["Connection","keep-alive, Upgrade"],\
        ["Upgrade","WebSocket"],["X-B","c"]],"status":101,"responseHeaders":[["Upgrade","websocket"],["Connection","Upgrade"]]}
        """, "ws.text in B", "ws.text out A",
      ])
  }

  @Test func `every split of an exchange passes the same bytes and records the same frames`() throws {
    let request = upgrade + "\u{01}"
    let whole = try Wire2()
    whole.client(request)
    whole.server(Array(accepted.utf8) + [0x81, 0x01, 0x42])
    for split in 1..<accepted.utf8.count {
      let wire = try Wire2()
      for byte in request.utf8 { wire.client([byte]) }
      wire.server(Array(accepted.utf8.prefix(split)))
      wire.server(Array(accepted.utf8.dropFirst(split)) + [0x81, 0x01, 0x42])
      #expect(wire.toServer == whole.toServer)
      #expect(wire.toClient == whole.toClient)
      #expect(wire.story == whole.story)
    }
  }

  @Test func `requests on one connection are recorded with their responses`() throws {
    let wire = try Wire2()
    let first = "POST /a HTTP/1.1\r\nHost: server.test:9000\r\nContent-Length: 3\r\n\r\nabc"
    let second = "HEAD /b HTTP/1.1\r\nHost: x\r\n\r\n"
    wire.client(first + second)
    let answers =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n"
      + "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
    wire.server(answers)
    #expect(String(decoding: wire.toServer, as: UTF8.self) == first + second.replacing("x", with: "server.test:9000"))
    #expect(String(decoding: wire.toClient, as: UTF8.self) == answers)
    #expect(
      wire.story == [
        #"http.request out {"method":"POST","url":"http://server.test:9000/a","headers":[["Host","server.test:9000"],["Content-Length","3"]]}"#
          + "\nabc",
        #"http.request out {"method":"HEAD","url":"http://server.test:9000/b","headers":[["Host","x"]]}"# + "\n",
        #"http.response in {"status":100,"reason":"Continue","headers":[]}"# + "\n re 1",
        #"http.response in {"status":200,"reason":"OK","headers":[["Transfer-Encoding","chunked"]]}"# + "\nhi! re 1",
        #"http.response in {"status":200,"reason":"OK","headers":[["Content-Length","9"]]}"# + "\n re 2",
      ])
  }

  @Test func `a response without a length lasts until the end`() throws {
    let wire = try Wire2(limit: 4)
    wire.client("GET / HTTP/1.1\r\n\r\n")
    wire.server("HTTP/1.1 200 OK\r\n\r\nabc")
    wire.server("def")
    wire.traffic.ended(.server, problem: nil, at: .zero)
    #expect(wire.story.last == #"http.response in {"status":200,"reason":"OK","headers":[]}"# + "\nabcd {\"partial\":true,\"of\":6} re 1")
  }

  @Test func `a refused upgrade is an open that ends, and the connection goes on`() throws {
    let wire = try Wire2()
    wire.client(upgrade)
    wire.server("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
    wire.client(upgrade)
    wire.server(accepted)
    #expect(wire.sink.frames.map(\.kind) == [.open, .response, .close, .open])
    #expect(wire.sink.frames[1].answers == 1)
    #expect(wire.story[2] == #"close in {"code":1006,"reason":"refused with status 403","who":"server"}"#)
  }

  @Test func `invalid framing passes on, said once and counted at the end`() throws {
    let wire = try Wire2()
    wire.client(upgrade)
    wire.server(accepted)
    wire.client([0x83, 0x00, 1, 2, 3])
    wire.client([4])
    wire.server([0x81, 0x01, 0x42])
    #expect(wire.toServer.suffix(6) == [0x83, 0x00, 1, 2, 3, 4])
    wire.traffic.ended(.client, problem: "connection reset", at: .zero)
    #expect(
      wire.story.dropFirst() == [
        #"opaque out {"problem":"the reserved opcode 3","offset":0}"#, "ws.text in B",
        #"close out {"code":1006,"reason":"connection reset","who":"client","unread":{"out":4,"in":0}}"#,
      ])
  }

  @Test(arguments: ["\u{16}\u{03}\u{01}\r\n\r\n", "HELLO\n\n", "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"])
  func `bytes that are no HTTP pass unread`(text: String) throws {
    let wire = try Wire2()
    wire.client(text + "more")
    wire.server("anything")
    wire.traffic.ended(.client, problem: nil, at: .zero)
    #expect(String(decoding: wire.toServer, as: UTF8.self) == text + "more")
    #expect(String(decoding: wire.toClient, as: UTF8.self) == "anything")
    #expect(wire.sink.frames.map(\.kind) == [.opaque, .close])
  }

  @Test func `a head of 64 KiB without an end passes unread`() throws {
    let wire = try Wire2()
    let start = "GET / HTTP/1.1\r\nA: "
    wire.client(start + String(repeating: "x", count: 65_535 - start.utf8.count))
    #expect(wire.toServer.isEmpty)
    wire.client("x")
    #expect(wire.toServer.count == 65_536)
    #expect(wire.story == [#"opaque out {"problem":"the head is longer than 64 KiB"}"#])
  }

  @Test func `an unreachable server answers 502 and is recorded`() throws {
    let wire = try Wire2()
    wire.client(upgrade)
    let answer = wire.traffic.unreachable("Connection refused", at: .zero)
    #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 502 Bad Gateway\r\n"))
    #expect(wire.sink.frames.map(\.kind) == [.open, .close])
    #expect(
      wire.story.last
        == #"close in {"code":1006,"reason":"cannot reach ws://server.test:9000: Connection refused","who":"network"}"#)
  }

  @Test func `whatever the bytes, the server's all pass, and nothing traps`() throws {
    let client = Array(upgrade.utf8) + [0x81, 0x82, 1, 2, 3, 4, 5, 6, 0x89, 0x00]
    let server = Array(accepted.utf8) + [0x01, 0x01, 0x42, 0x80, 0x00, 0x88, 0x02, 3, 232]
    for round in 0..<400 {
      let random = SeededRandom(seed: 3).fork("round", String(round))
      func damaged(_ bytes: [UInt8], _ purpose: String) -> [UInt8] {
        var bytes = bytes
        for k in 0..<random.fork(purpose).index(below: 4, at: 0) {
          let draw = random.fork(purpose, "byte")
          bytes[draw.index(below: bytes.count, at: 2 * k)] = UInt8(truncatingIfNeeded: draw.bits(at: 2 * k + 1))
        }
        return bytes
      }
      let wire = try Wire2(limit: 3)
      let asked = damaged(client, "client")
      let answered = damaged(server, "server")
      let split = random.fork("split").index(below: asked.count, at: 0)
      wire.client(Array(asked[..<split]))
      wire.client(Array(asked[split...]))
      for byte in answered { wire.server([byte]) }
      wire.traffic.ended(.server, problem: nil, at: .zero)
      wire.traffic.stopped(at: .zero)
      #expect(wire.toClient == answered)
    }
  }

  @Test func `a capture that stops keeps half a message and makes no close up`() throws {
    let wire = try Wire2()
    wire.client(upgrade)
    wire.server(Array(accepted.utf8) + [0x81, 0x03, 0x42])
    wire.traffic.stopped(at: .zero)
    #expect(wire.story.dropFirst() == [#"ws.text in B {"partial":true}"#])
  }
}

@Suite struct MarkRequestTests {
  private func take(_ requests: MarkRequests, _ text: String) -> (marks: [String], answers: String, closes: Bool) {
    var rest = Array(text.utf8)
    var result = (marks: [String](), answers: "", closes: false)
    while !rest.isEmpty, !result.closes {
      let outcome = rest.withUnsafeBytes { requests.take($0) }
      rest.removeFirst(outcome.taken)
      if let mark = outcome.mark { result.marks.append(String(decoding: mark, as: UTF8.self)) }
      result.answers += String(decoding: outcome.answer, as: UTF8.self)
      result.closes = outcome.closes
    }
    return result
  }

  @Test func `posted bodies are marks and are answered 204`() {
    let post = "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"
    let result = take(MarkRequests(), post + post.replacing("hi", with: "ho"))
    #expect(result.marks == ["hi", "ho"])
    #expect(result.answers == "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")
    #expect(!result.closes)
  }

  @Test(arguments: [(1 << 20, 1), ((1 << 20) + 1, 0)]) func `a mark has at most 1 MiB`(length: Int, marks: Int) {
    let result = take(
      MarkRequests(), "POST / HTTP/1.1\r\nContent-Length: \(length)\r\n\r\n" + String(repeating: "x", count: length))
    #expect(result.marks.count == marks)
    #expect(result.answers.hasPrefix(marks == 1 ? "HTTP/1.1 204" : "HTTP/1.1 413"))
  }

  @Test func `other requests are refused`() {
    #expect(take(MarkRequests(), "GET / HTTP/1.1\r\n\r\n").answers.hasPrefix("HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\n"))
    #expect(take(MarkRequests(), "nonsense\r\n\r\n").answers.hasPrefix("HTTP/1.1 400"))
    #expect(take(MarkRequests(), "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").closes)
  }
}

@Suite struct ClockStepTests {
  @Test func `steps above 50 ms are told once`() {
    var steps = ClockSteps(monotonic: 1_000, wall: 9_000_000_000)
    #expect(steps.step(monotonic: 1_001_000, wall: 9_001_000_000) == nil)
    #expect(steps.step(monotonic: 2_000_001_000, wall: 11_050_000_000) == nil)
    #expect(steps.step(monotonic: 3_000_001_000, wall: 12_050_000_001) == 50_000_001)
    #expect(steps.step(monotonic: 4_000_001_000, wall: 13_050_000_001) == nil)
    #expect(steps.step(monotonic: 5_000_001_000, wall: 10_000_000_001) == -4_050_000_000)
  }
}

@Suite struct UpstreamURLTests {
  @Test(arguments: [
    ("ws://127.0.0.1:80", "127.0.0.1", "127.0.0.1"), ("http://relay:8080/", "relay", "relay:8080"), ("WS://[::1]:9", "::1", "[::1]:9"),
    ("ws://[::1]", "::1", "[::1]"), ("ws://relay", "relay", "relay"),
  ]) func `a URL names host and port`(text: String, host: String, authority: String) throws {
    let url = try UpstreamURL(text)
    #expect(url.place.host == host)
    #expect(url.authority == authority)
  }

  @Test(arguments: [
    ("127.0.0.1:80", "it has no scheme; ws://host:port is meant"), ("wss://a", "wss (TLS) is not supported, only ws and http"),
    ("ftp://a", "the scheme 'ftp' is neither ws nor http"), ("ws://a/b", "it may have no path: the client's own path is passed on"),
    ("ws://u:p@a", "credentials do not belong into it"), ("ws://", "the host is missing"),
    ("ws://a:65536", "the port is not a number from 0 to 65535"), ("ws://a:0", "port 0 is no port of a server"),
    ("ws://::1:80", "an IPv6 address stands in brackets"), ("ws://a:", "the port is not a number from 0 to 65535"),
  ]) func `a bad URL is refused in one line`(text: String, problem: String) {
    #expect(throws: CaptureError.invalidUpstream(text: text, problem: problem)) { try UpstreamURL(text) }
  }
}
