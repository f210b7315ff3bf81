import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeTwin
import Simulation
import Testing
import Wire

/// The relay: who gets live blocks, and how long.
@Suite struct TwinRelayTests {
  /// A run that goes on for two minutes with a live step at each of these instants (milliseconds).
  private func bench(steps: [Int64], phones: Int = 1) throws -> TwinBench {
    var sessions = [Hand.session(), Hand.session("ses-02")]
    sessions[1].history = []
    let stretch = Stretch(
      id: "long", lane: Lane(Hand.session), cause: .clock(.zero),
      steps: steps.enumerated().map { index, at in
        Step(offset: .milliseconds(at), changes: [.put(Hand.reply("a", [2, 1], "version \(index)"))], increment: 1)
      }, length: .seconds(200), run: RecordedRun(runId: "run-1", threadId: "th-main", turnId: "turn-1"))
    return TwinBench(Hand.scenario(sessions: sessions, tape: [stretch], end: 200_000), phones: phones)
  }

  private func overlays(_ bench: TwinBench, connection: Int = 1) -> [String] {
    bench.said.filter { $0.name == "chat:timeline-overlay" && $0.connection == ConnectionID(connection) }.map { $0.at.description }
  }

  @Test func `HB-LEASE-01 live blocks go to the leased chat only`() throws {
    var bench = try bench(steps: [1_000, 2_000, 3_000, 4_000], phones: 2)
    #expect(bench.hold(at: 1_500) == ["keepMs": 60_000])
    bench.hold("ses-02", at: 1_600, connection: 2)
    bench.run(to: 3_500)
    #expect(overlays(bench) == ["0:02.000", "0:03.000"])
    #expect(overlays(bench, connection: 2) == [])
    // Run events go to every phone, with or without a lease.
    #expect(bench.said.filter { $0.name == "chat:run-started" }.map(\.connection) == [ConnectionID(1), ConnectionID(2)])
  }

  @Test func `HB-LEASE-02 HB-FIG-10 a lease is good for 60 s after its last renewal: below, at and above`() throws {
    var bench = try bench(steps: [59_999, 60_000, 60_001, 80_000, 80_001])
    bench.hold(at: 0)
    bench.run(to: 70_000)
    #expect(overlays(bench) == ["0:59.999", "1:00.000"])
    bench.hold(at: 80_000)
    bench.run(to: 90_000)
    #expect(overlays(bench) == ["0:59.999", "1:00.000", "1:20.000", "1:20.001"])

    var renewed = try self.bench(steps: [79_999, 80_000, 80_001])
    renewed.hold(at: 0)
    renewed.hold(at: 20_000)
    renewed.run(to: 90_000)
    #expect(overlays(renewed) == ["1:19.999", "1:20.000"])
  }

  @Test func `HB-LEASE-03 holding another chat replaces the lease, releasing another one does not`() throws {
    var bench = try bench(steps: [1_000, 2_000, 3_000, 4_000])
    bench.hold(at: 0)
    bench.ask(.timelineInterest, ["sessionId": "ses-02", "threadId": .null, "hold": false], at: 500)
    bench.run(to: 1_500)
    bench.hold("ses-02", at: 1_500)
    bench.run(to: 2_500)
    bench.hold(at: 2_500)
    bench.run(to: 3_500)
    bench.ask(.timelineInterest, ["sessionId": .string(Hand.session), "threadId": .null, "hold": false], at: 3_500)
    bench.run(to: 4_500)
    #expect(overlays(bench) == ["0:01.000", "0:03.000"])
  }

  @Test func `HB-LEASE-06 without a lease blocks are dropped, not queued, and a later event is complete`() throws {
    let stretch = Hand.stretch("op1", run: "run-1", orders: 2)
    var bench = TwinBench(Hand.scenario(tape: [stretch]))
    try bench.submit("op1", at: 10_050)
    bench.hold(at: 16_000)
    bench.run(to: 24_000)
    let events = bench.said.filter { $0.name == "chat:timeline-overlay" }
    #expect(events.map { $0.at.description } == ["0:20.132"])
    #expect(identities(events.first?.json, "blocks") == ["user:u-op1", "agent-reply:a-op1"])
    #expect(events.first?.json["revision"] == 4)
  }

  @Test func `a lease that the phone held when the recording began is there for its first socket`() throws {
    let stretch = Hand.stretch("op1", run: "run-1", orders: 2)
    let start: JSON = [
      "desktop": "desk-1", "connected": true, "lease": ["session": .string(Hand.session), "thread": .null, "heldAt": -49_600],
    ]
    var bench = TwinBench(Hand.scenario(tape: [stretch], clientStart: start))
    try bench.submit("op1", at: 10_050)
    bench.run(to: 30_000)
    #expect(bench.said.filter { $0.name == "chat:timeline-overlay" }.map { $0.at.description } == ["0:10.400"])
  }

  @Test func `a phone that shows a thread gets that thread's rows`() throws {
    var session = Hand.session()
    session.history.append(
      Row.made(type: .agentReply, id: "t1", origin: .canonical, sourceOrder: [1, 5], timestamp: Hand.wall, text: "sub", threadId: "th-sub"))
    let live = Row.made(
      type: .agentReply, id: "t2", origin: .live, sourceOrder: [2, 5], timestamp: Hand.wall, runId: "run-1", text: "sub", threadId: "th-sub"
    )
    let stretch = Stretch(
      id: "long", lane: Lane(Hand.session), cause: .clock(Hand.at(1_000)),
      steps: [Step(offset: .zero, changes: [.put(live), .put(Hand.reply("a", [2, 1], "main"))], increment: 1)], length: .seconds(20),
      run: RecordedRun(runId: "run-1", threadId: "th-main", turnId: "turn-1"))
    var bench = TwinBench(Hand.scenario(sessions: [session], tape: [stretch]), phones: 2)
    bench.hold(at: 0)
    bench.ask(
      .timelineInterest, ["sessionId": .string(Hand.session), "threadId": "th-sub", "hold": true], at: 0, connection: 2)
    bench.run(to: 2_000)
    let events = bench.said.filter { $0.name == "chat:timeline-overlay" }.map(\.json)
    #expect(events.map { $0["threadId"] } == [.null, "th-sub"])
    #expect(events.map { identities($0, "blocks") } == [["agent-reply:a"], ["agent-reply:t2"]])
    let params: JSONObject = ["sessionId": .string(Hand.session), "limit": 12, "anchor": .null, "threadId": "th-sub"]
    let window = bench.ask(.loadThread, params, at: 2_100)
    #expect(identities(window) == ["agent-reply:t1"])
    #expect(identities(window["liveOverlay"], "blocks") == ["agent-reply:t2"])
    #expect(identities(bench.load(at: 2_200)) == ["user:h0", "agent-reply:h1"])
  }
}
