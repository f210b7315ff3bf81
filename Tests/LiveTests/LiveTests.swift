import Contract
import Faults
import Glibc
import Live
import PeerSupport
import Proxy
import Replay
import Simulation
import Sockets
import Testing
import Wire

/// Twin, capture and core on one loop.
private struct Stage {
  let loop: EventLoop
  let sink = MemorySink()
  let server: TwinServer
  let capture: CaptureSession
  let client: CoreClient

  init(
    _ scenario: RoomScenario, plan: FaultPlan = .none, clientPlan: FaultPlan = .none, served: (inout TwinServer.Options) -> Void = { _ in }
  ) throws {
    loop = try EventLoop()
    var options = TwinServer.Options()
    options.plan = plan
    options.startsWithFirstClient = false
    served(&options)
    server = try TwinServer(on: loop, system: Room.system, scenario: scenario, options)
    let sink = sink
    capture = try CaptureSession(
      on: loop,
      CaptureSession.Options(upstream: UpstreamURL("ws://\(server.place)"), marks: HostPort(host: "127.0.0.1", port: 0))
    ) { _ in sink }
    var driven = CoreClient.Options(server: try UpstreamURL("ws://\(capture.place)"))
    driven.marks = "http://\(try #require(capture.marksPlace))/"
    driven.plan = clientPlan
    client = try CoreClient(on: loop, system: Room.system, scenario: scenario, driven)
  }

  /// Runs to the end of the core's run.
  func play() throws -> (client: RunResult, server: RunResult) {
    var result: RunResult?
    client.onEnd = { result = $0 }
    let clock = RunClock()
    server.begin(clock)
    client.begin(clock)
    try #require(try loop.wait { result != nil })
    let served = server.stop()
    _ = capture.stop()
    return (try #require(result), served)
  }

  var story: [String] {
    sink.frames.filter { $0.kind == .text || $0.kind == .mark }.map {
      "\($0.kind.rawValue) \($0.direction.rawValue) \(String(decoding: $0.payload, as: UTF8.self))"
    }
  }
}

private func kinds(_ result: RunResult, _ party: Party, _ kind: String) -> [TraceEntry] { result.trace.all(party, kind) }

@Suite struct TogetherTests {
  @Test func `drags are posted as they were made: with what a rule changed, and those of a rule itself`() throws {
    var scenario = RoomScenario(saying: "one")
    scenario.facts.intents.append(
      Intent(id: "d", at: .zero + .milliseconds(300), gesture: Gesture("drag", ["path": [[20, -80]], "held": 10])))
    let plan = try FaultPlan.none.adding(["hold-drag,user,for=30ms", "drag,user,at=150ms,for=20ms,by=-9,velocity=-40"])
    let stage = try Stage(scenario, clientPlan: plan)
    let (client, _) = try stage.play()
    #expect(client.rules.map(\.fired) == [1, 1])
    let marks = stage.story.filter { $0.hasPrefix("mark") }
    #expect(marks.count == 3)
    #expect(marks.contains(#"mark out {"user":{"do":"drag","path":[[20,-9]],"velocity":-40},"t":150}"#))
    #expect(marks.last == #"mark out {"user":{"do":"drag","path":[[20,-80]],"held":40},"intent":"d","t":300}"#)
  }

  @Test func `what the screen is like at the start is the first mark`() throws {
    var scenario = RoomScenario(saying: "one")
    scenario.clientStart = ["screen": ["markdownMs": 180], "desk": 1]
    let stage = try Stage(scenario)
    _ = try stage.play()
    #expect(stage.story.first == #"mark out {"screen":{"markdownMs":180},"t":0}"#)
    #expect(stage.client.marksPosted == 2)
  }

  @Test func `twin, capture and core on one loop record a session with its marks`() throws {
    let stage = try Stage(RoomScenario(saying: "one", "two"))
    let (client, server) = try stage.play()
    let took = kinds(client, .core, "took").compactMap { $0["text"]?.string }
    #expect(Set(took) == [#"{"ok":1}"#, #"{"ok":2}"#, #"{"heard":"one"}"#, #"{"heard":"two"}"#])
    #expect(kinds(server, .twin, "saved").count == 2)
    #expect(kinds(server, .twin, "closed").count == 1)
    // A mark stands before the frames of its gesture.
    let marks = stage.story.filter { $0.hasPrefix("mark") }
    #expect(marks.count == 2)
    #expect(marks.first == #"mark out {"user":{"do":"say","text":"one"},"intent":"i1","t":40}"#)
    #expect(stage.client.marksPosted == 2)
    for text in ["one", "two"] {
      let mark = stage.story.firstIndex { $0.hasPrefix("mark") && $0.contains(text) }
      let said = stage.story.firstIndex { $0.hasPrefix("ws.text out") && $0.contains(text) }
      #expect(try #require(mark) < #require(said))
    }
    // What passed the capture is what both worlds say.
    let recorded = stage.sink.all(.text, .out).map(\.payload)
    #expect(kinds(client, .link, "send").filter { $0["dir"] == "out" }.map(\.payload) == recorded)
    #expect(kinds(server, .link, "send").filter { $0["dir"] == "out" }.map(\.payload) == recorded)
  }

  @Test func `frames take the scenario's delay each way, to the nanosecond of the world's clock`() throws {
    let stage = try Stage(RoomScenario(saying: "one"))
    let (_, server) = try stage.play()
    let sends = kinds(server, .link, "send")
    let arrivals = kinds(server, .link, "arrive")
    for arrival in arrivals {
      let send = try #require(sends.first { $0.index == arrival["of"]?.int })
      #expect(arrival.at - send.at == .milliseconds(10))
    }
    let said = try #require(stage.sink.all(.text, .out).first)
    let answer = try #require(stage.sink.all(.text, .in).first)
    #expect(answer.at - said.at >= .milliseconds(20))
    let saved = try #require(kinds(server, .twin, "saved").first)
    let heard = try #require(sends.first { $0["name"] == "heard" })
    #expect(heard.at - saved.at == Room.echo)
  }

  @Test func `without simulated delay frames arrive when they are sent`() throws {
    let stage = try Stage(RoomScenario(saying: "one")) { $0.simulatesDelay = false }
    let (_, server) = try stage.play()
    let sends = kinds(server, .link, "send")
    for arrival in kinds(server, .link, "arrive") { #expect(sends.first { $0.index == arrival["of"]?.int }?.at == arrival.at) }
  }

  @Test func `the rules of a plan act on real sockets and are reported`() throws {
    let plan = try FaultPlan(name: "test", rules: [FaultRule(parsing: "drop,response,ok,nth=1")])
    let stage = try Stage(RoomScenario(saying: "one", "two"), plan: plan)
    let (client, server) = try stage.play()
    let took = kinds(client, .core, "took").compactMap { $0["text"]?.string }
    #expect(!took.contains(#"{"ok":1}"#))
    #expect(took.contains(#"{"ok":2}"#))
    #expect(server.rules.map(\.fired) == [1])
    #expect(kinds(server, .link, "drop").count == 1)
    #expect(!stage.story.contains { $0.contains(#""ok":1"#) })
  }

  @Test func `a broken connection is seen as one, and the core comes back on the next`() throws {
    let plan = try FaultPlan(name: "test", rules: [FaultRule(parsing: "disconnect,response,ok,nth=1,for=20ms")])
    let stage = try Stage(RoomScenario(saying: "one", "two"), plan: plan)
    let (client, server) = try stage.play()
    #expect(kinds(client, .core, "offline").count == 1)
    #expect(kinds(client, .link, "up").count == 2)
    #expect(kinds(server, .link, "up").count == 2)
    #expect(stage.sink.all(.open).count == 2)
    let close = try JSONReader.value(try #require(stage.sink.all(.close).first).payload)
    #expect(close["code"] == 1006)
    #expect(close["who"] == "server")
    #expect(kinds(server, .twin, "saved").count == 2)
  }
}

@Suite struct CoreClientTests {
  @Test func `the wait before the next attempt doubles from 250 ms to 5 s`() {
    #expect((1...7).map { CoreClient.pause(afterFailures: $0) } == [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000].map { .milliseconds($0) })
  }

  @Test func `a core that starts before its server connects when it is there`() throws {
    let loop = try EventLoop()
    let probe = try Listener(loop, on: SocketAddress.resolve(HostPort("127.0.0.1:0"))[0]) { _ in }
    let place = probe.place
    probe.close()
    let client = try CoreClient(
      on: loop, system: Room.system, scenario: RoomScenario(saying: "one"), CoreClient.Options(server: UpstreamURL("ws://\(place)")))
    client.begin()
    try #require(try loop.wait { client.failedAttempts == 1 })
    var options = TwinServer.Options()
    options.listen = place
    let server = try TwinServer(on: loop, system: Room.system, scenario: RoomScenario(), options)
    var result: RunResult?
    client.onEnd = { result = $0 }
    try #require(try loop.wait { result != nil })
    #expect(try #require(result).trace.all(.core, "took").count == 2)
    #expect(server.stop().trace.all(.twin, "saved").count == 1)
    #expect(client.marksPosted == 0)
  }

  @Test func `marks that nobody takes are counted and stop nothing`() throws {
    let loop = try EventLoop()
    let server = try TwinServer(on: loop, system: Room.system, scenario: RoomScenario())
    var options = CoreClient.Options(server: try UpstreamURL("ws://\(server.place)"))
    options.marks = "http://127.0.0.1:9/"
    let client = try CoreClient(on: loop, system: Room.system, scenario: RoomScenario(saying: "one"), options)
    var result: RunResult?
    client.onEnd = { result = $0 }
    client.begin()
    try #require(try loop.wait { result != nil })
    #expect(client.marksLost == 1)
    #expect(server.stop().trace.all(.twin, "saved").count == 1)
  }

  @Test func `a rule that acts on the server is refused`() throws {
    let loop = try EventLoop()
    var options = CoreClient.Options(server: try UpstreamURL("ws://127.0.0.1:9"))
    options.plan = try FaultPlan(name: "test", rules: [FaultRule(parsing: "slow,request,say,by=1s")])
    #expect(throws: LiveError.self) { try CoreClient(on: loop, system: Room.system, scenario: RoomScenario(), options) }
  }
}

@Suite(.enabled(if: Peer.hasWebSockets), .serialized) struct ForeignPeerTests {
  @Test func `a real client is served, and told the code when the twin ends the connection`() throws {
    let script = """
      import asyncio, json, sys
      from websockets.asyncio.client import connect
      async def main(url):
          async with connect(url + "/room", subprotocols=["a", "b"]) as ws:
              print(json.dumps({"protocol": ws.subprotocol}), flush=True)
              await ws.send(['{"say": "h', 'i", "id": 7}'])
              print(await ws.recv(), flush=True)
              print(await ws.recv(), flush=True)
              await (await ws.ping())
              await ws.send(b"nonsense")
              try:
                  await ws.recv()
              except Exception:
                  pass
              await ws.wait_closed()
              print(json.dumps({"closed": ws.close_code}), flush=True)
      asyncio.run(main(sys.argv[1]))
      """
    let loop = try EventLoop()
    let sink = MemorySink()
    let server = try TwinServer(on: loop, system: Room.system, scenario: RoomScenario(), sink: sink)
    let peer = try Peer(["python3", "-c", script, "ws://\(server.place)"])
    try #require(try loop.wait { peer.exitStatus != nil })
    #expect(peer.exitStatus == 0)
    #expect(peer.reports == [["protocol": "a"], ["ok": 7], ["heard": "hi"], ["closed": 4001]])
    #expect(server.openConnections == 0)
    #expect(sink.frames.map(\.kind) == [.open, .text, .text, .text, .binary, .close])
    let result = server.stop()
    #expect(result.trace.all(.link, "down").map { $0["code"] } == [4001])
  }

  @Test func `a core talks to a real server`() throws {
    let loop = try EventLoop()
    let peer = try Peer(["python3", "-c", PythonScripts.server])
    try #require(try loop.wait { peer.reports.first?["port"] != nil || peer.exitStatus != nil })
    let port = try #require(peer.reports.first?["port"]?.int)
    let client = try CoreClient(
      on: loop, system: Room.system, scenario: RoomScenario(saying: "one", "twö"),
      CoreClient.Options(server: UpstreamURL("ws://127.0.0.1:\(port)")))
    var result: RunResult?
    client.onEnd = { result = $0 }
    client.begin()
    try #require(try loop.wait { result != nil })
    let trace = try #require(result).trace
    let sent = trace.all(.link, "send").filter { $0["dir"] == "out" }.compactMap(\.payload)
    #expect(sent.count == 2)
    #expect(peer.reports.compactMap { $0["got"]?["sha"]?.string } == sent.map { SHA256Digest.hex($0) })
    #expect(trace.all(.link, "arrive").filter { $0["dir"] == "in" }.count == 2)
  }
}

@Suite struct TwinServerTests {
  @Test(arguments: ["restart,app,at=1s", "drop,response,ok,while=dragging"])
  func `rules that need the app are refused`(text: String) throws {
    let loop = try EventLoop()
    var options = TwinServer.Options()
    options.plan = try FaultPlan(name: "test", rules: [FaultRule(parsing: text)])
    #expect(throws: LiveError.self) { try TwinServer(on: loop, system: Room.system, scenario: RoomScenario(), options) }
  }

  @Test func `a busy port and a remote address are refused`() throws {
    let loop = try EventLoop()
    let first = try TwinServer(on: loop, system: Room.system, scenario: RoomScenario())
    var options = TwinServer.Options()
    options.listen = first.place
    #expect(throws: LiveError.sockets(.addressInUse(first.place))) {
      try TwinServer(on: loop, system: Room.system, scenario: RoomScenario(), options)
    }
    options.listen = HostPort(host: "0.0.0.0", port: 0)
    #expect(throws: LiveError.notLoopback(options.listen)) {
      try TwinServer(on: loop, system: Room.system, scenario: RoomScenario(), options)
    }
  }

  @Test func `the answer to a key is that of RFC 6455`() {
    #expect(Handshake.accept(for: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
  }

  @Test func `what is no WebSocket request is refused`() {
    var head = HTTPHead()
    head.method = "GET"
    #expect(!Handshake.answer(head).isAccepted)
    head.fields = [.init(name: "Upgrade", value: "websocket"), .init(name: "Connection", value: "Upgrade")]
    #expect(String(decoding: Handshake.answer(head).bytes, as: UTF8.self).contains("Sec-WebSocket-Version: 13"))
    head.fields.append(.init(name: "Sec-WebSocket-Version", value: "13"))
    #expect(String(decoding: Handshake.answer(head).bytes, as: UTF8.self).hasPrefix("HTTP/1.1 400"))
    head.fields.append(.init(name: "Sec-WebSocket-Key", value: "dGhlIHNhbXBsZSBub25jZQ=="))
    #expect(Handshake.answer(head).isAccepted)
  }
}
