import Contract
import HBCodeDialect
import HBCodeScenario
import Simulation
import TestSupport
import Testing
import Wire

/// Figures of spec F that need no view, through the world.
@Suite struct StoryFigureTests {
  /// A phone in the middle of things: connected, the chat on screen, its lease just held, its last window applied.
  private func running(
    _ session: SessionState, window: [Row], overlay: LiveOverlay? = nil, counter: Int = 0, activeRun: ActiveRun? = nil
  ) -> JSON {
    let envelope = HistoryEnvelope(
      boundaryToken: "x:boundary:agent-reply:h1", nativeSessionId: session.nativeSessionId, loadState: .ready, storageFormat: "indexed",
      loadedEntries: Int64(window.count), hasOlderEntries: false, oldestCursor: nil, timeline: window, overlay: overlay ?? session.overlay,
      runtime: nil, activeRun: activeRun)
    var start = Tale.start.object ?? [:]
    start["connected"] = true
    start["selected"] = ["session": .string(session.id), "thread": .null]
    start["lease"] = ["session": .string(session.id), "thread": .null, "heldAt": 0]
    start["hosts"] = [
      ["session": .string(session.id), "thread": .null, "envelope": envelope.json(.latest), "counter": .int(counter), "stale": false]
    ]
    return .object(start)
  }

  private func scenario(
    _ session: SessionState, start: JSON, _ intents: [Intent], tape: [Stretch] = [], oneWay: Int64 = 50, end: Int64 = 60_000
  ) -> HBCodeScenario {
    var scenario = Hand.scenario(sessions: [session], tape: tape, intents: intents, end: end, clientStart: start)
    scenario.facts.oneWay = ["": .milliseconds(oneWay)]
    return scenario
  }

  @Test func `HB-FIG-04 a late snapshot gives canonical rows and pagination; live rows, run and overlay stay`() throws {
    let blocks = [Hand.reply("a0", [2, 1], "version 41", run: "run-0", at: -100)]
    var session = Hand.session(history: 40)
    session.overlay = LiveOverlay(version: OverlayVersion(epoch: 3, revision: 41), blocks: blocks)
    session.activeRun = ActiveRun(runId: "run-0", threadId: "th-main", turnId: "turn-0", startedAt: Hand.wall - 5_000)
    let goesOn = Stretch(
      id: "run-0/rest", lane: Lane(Hand.session), cause: .clock(.zero),
      steps: [
        Step(
          offset: .milliseconds(1_100), changes: [.put(Hand.reply("a0", [2, 1], "version 42", run: "run-0", at: -100))], increment: 1)
      ], length: .seconds(20), run: RecordedRun(runId: "run-0", threadId: "th-main", turnId: "turn-0"))
    let start = running(
      session, window: Array(session.history.suffix(6)), overlay: session.overlay, counter: 7, activeRun: session.activeRun)
    let told = try Tale.story(scenario(session, start: start, [Tale.intent("refresh", 1_000, .refresh)], tape: [goesOn], end: 5_000))
      .faults("slow,request,run.chatLoad,nth=1,by=200ms").run()
    #expect(told.lines(.core, "load.start", showing: ["reason"]).first == "0:01.000 refresh")
    // The answer was made at 1.05 from (3, 41), left at 1.25 and landed at 1.3; the live event 42 came at 1.15.
    #expect(
      told.lines(.link, "send", showing: ["settlementEpoch", "revision", "blocks"], "label=response", "name=run.chatLoad").first
        == "0:01.250 3 41 1")
    #expect(told.lines(.core, "overlay", showing: ["epoch", "revision", "counter", "source"]).first == "0:01.150 3 42 8 event")
    let end = told.entries(.core, "load.end").first
    #expect(end?.at == Hand.at(1_300))
    #expect(end?["outcome"] == "applied")
    #expect(end?["captured"] == 7)
    #expect(end?["counter"] == 8)
    #expect(end?["droppedLive"] == true)
    #expect(told.entries(.core, "overlay").filter { $0.at == Hand.at(1_300) }.isEmpty)
    // Canonical rows of the answer: twelve where there were six; the live row stays beside them.
    let shown = told.entries(.core, "show").last { $0.at == Hand.at(1_300) }?["rows"]?.array ?? []
    #expect(shown.filter { $0["origin"] == "canonical" }.count == 12)
    #expect(shown.last?["id"] == "agent-reply:a0")
  }

  private func sending(_ others: [Intent] = []) -> HBCodeScenario {
    var session = Hand.session()
    session.deliveryPaused = true
    return scenario(session, start: running(session, window: session.history), [Tale.send("op1", at: 0)] + others)
  }

  @Test func `HB-FIG-06 a lost submit is unknown at 20 s, checked at 30 s, resent at 30_1 s, saved once at 30_15 s`() throws {
    let told = try Tale.story(sending()).faults("drop,request,run.chatOutboxSubmit,nth=1").run()
    #expect(
      told.states("op1") == ["0:00.000 new", "0:00.000 sent", "0:20.000 unknown", "0:30.100 sent", "0:30.200 confirmed"])
    #expect(told.sent(.outboxLoad) == ["0:30.000"])
    #expect(told.arrived("run.chatOutboxLoad") == ["0:30.100"])
    #expect(told.sent(.outboxSubmit) == ["0:00.000", "0:30.100"])
    #expect(told.arrived("run.chatOutboxSubmit") == ["0:30.200"])
    #expect(told.saved == ["0:30.150 op1"])
    let keys = told.lines(.link, "send", showing: ["key", "paramsHash"], "name=run.chatOutboxSubmit", "label=request")
    #expect(Set(keys.map { $0.split(separator: " ").dropFirst() }).count == 1)
  }

  @Test func `HB-FIG-06 with u = 0_3 the check goes at 33 s`() throws {
    let told = try Tale.story(sending()).jitter(0.3).faults("drop,request,run.chatOutboxSubmit,nth=1").run()
    #expect(told.sent(.outboxLoad) == ["0:33.000"])
    #expect(told.saved == ["0:33.150 op1"])
  }

  @Test func `HB-FIG-06 a lost receipt is saved at 0_05 s and never resent`() throws {
    let told = try Tale.story(sending()).faults("drop,response,run.chatOutboxSubmit,nth=1").run()
    #expect(told.saved == ["0:00.050 op1"])
    #expect(told.states("op1") == ["0:00.000 new", "0:00.000 sent", "0:20.000 unknown", "0:30.100 confirmed"])
    #expect(told.sent(.outboxLoad) == ["0:30.000"])
    #expect(told.sent(.outboxSubmit) == ["0:00.000"])
  }

  @Test func `HB-FIG-06 a connection dropped at 5 s and usable at 8 s: unknown, checked and settled at once`() throws {
    let lost = try Tale.story(sending())
      .faults("drop,request,run.chatOutboxSubmit,nth=1", "disconnect,conn,*,at=5s,for=3s").run()
    #expect(
      lost.states("op1") == ["0:00.000 new", "0:00.000 sent", "0:05.000 unknown", "0:08.100 sent", "0:08.200 confirmed"])
    #expect(lost.sent(.outboxLoad) == ["0:08.000"])
    #expect(lost.saved == ["0:08.150 op1"])
    let receipt = try Tale.story(sending())
      .faults("drop,response,run.chatOutboxSubmit,nth=1", "disconnect,conn,*,at=5s,for=3s").run()
    #expect(receipt.states("op1") == ["0:00.000 new", "0:00.000 sent", "0:05.000 unknown", "0:08.100 confirmed"])
    #expect(receipt.sent(.outboxSubmit) == ["0:00.000"])
    #expect(receipt.saved == ["0:00.050 op1"])
  }

  @Test func `HB-FIG-06 with another operation waiting the check is sent at 20 s`() throws {
    let told = try Tale.story(sending([Tale.send("op2", at: 1_000)])).faults("drop,request,run.chatOutboxSubmit,nth=1").run()
    #expect(told.sent(.outboxLoad) == ["0:20.000"])
    #expect(told.saved == ["0:20.150 op1", "0:20.250 op2"])
  }

  @Test func `HB-FIG-06 with delivery on and the run over before 20 s no check is made`() throws {
    let session = Hand.session()
    let told = try Tale.story(
      scenario(
        session, start: running(session, window: session.history), [Tale.send("op1", at: 0)],
        tape: [Hand.stretch("op1", run: "run-1", orders: 2, begin: 400)])
    ).faults("drop,response,run.chatOutboxSubmit,nth=1").run()
    #expect(told.saved == ["0:00.050 op1"])
    #expect(told.states("op1") == ["0:00.000 new", "0:00.000 sent", "0:15.150 done"])
    #expect(told.sent(.outboxLoad) == [])
  }

  @Test func `HB-FIG-09 a first load that fails is tried at 0, 0_75, 2_25 and 5_25 s, then not again`() throws {
    let waits: [(u: Double, starts: [String])] = [
      (0, ["0:00.000", "0:00.750", "0:02.250", "0:05.250"]), (-0.2, ["0:00.000", "0:00.600", "0:01.800", "0:04.200"]),
      (0.2, ["0:00.000", "0:00.900", "0:02.700", "0:05.700"]),
    ]
    for (u, starts) in waits {
      let told = try Tale.story(scenario(Hand.session(), start: Tale.start, [Tale.select()], oneWay: 0))
        .jitter(u).faults("refuse,request,run.chatLoad,code=internal").run()
      #expect(told.sent(.load).filter { $0 < "1:00" } == starts, "u = \(u)")
    }
  }

  @Test func `HB-FIG-09 periodic loads come each 60 to 78 s, each 10 to 13 s while something is pending`() throws {
    let session = Hand.session()
    for (u, idle) in [(0.0, ["1:00.000", "2:00.100"]), (0.3, ["1:18.000", "2:36.100"])] {
      let told = try Tale.story(scenario(session, start: running(session, window: session.history), [], end: 200_000)).jitter(u).run()
      #expect(Array(told.sent(.load).prefix(2)) == idle, "u = \(u)")
    }
    var paused = session
    paused.deliveryPaused = true
    for (u, busy) in [(0.0, ["0:11.000", "0:21.100"]), (0.3, ["0:14.000", "0:27.100"])] {
      let told = try Tale.story(
        scenario(paused, start: running(session, window: session.history), [Tale.send("op1", at: 1_000)])
      ).jitter(u).run()
      #expect(Array(told.sent(.load).prefix(2)) == busy, "u = \(u)")
    }
  }

  @Test func `HB-FIG-09 two refreshes at 0 and 0_3 s start at 0 and 2 s; four within one load make two loads`() throws {
    let session = Hand.session()
    func refreshes(_ instants: [Int64]) throws -> Told {
      let intents = instants.map { Tale.intent("refresh-\($0)", $0, .refresh) }
      return try Tale.story(scenario(session, start: running(session, window: session.history), intents, end: 20_000)).run()
    }
    #expect(try refreshes([0, 300]).sent(.load).filter { $0 < "0:30" } == ["0:00.000", "0:02.000"])
    #expect(try refreshes([0, 20, 40, 60]).sent(.load).filter { $0 < "0:30" } == ["0:00.000", "0:02.000"])
  }

  @Test func `HB-FIG-10 holds each 20 s; without renewals the relay forwards until 60 s, and a late hold marks stale`() throws {
    let session = Hand.session()
    let steps: [Int64] = [1_000, 60_049, 60_050, 60_051, 79_000, 81_000]
    let long = Stretch(
      id: "long", lane: Lane(Hand.session), cause: .clock(.zero),
      steps: steps.enumerated().map { index, at in
        Step(offset: .milliseconds(at), changes: [.put(Hand.reply("a", [2, 1], "version \(index)"))], increment: 1)
      }, length: .seconds(100), run: RecordedRun(runId: "run-1", threadId: "th-main", turnId: "turn-1"))
    let scenario = Tale.scenario([Tale.select()], tape: [long], sessions: [session], end: 100_000)
    let kept = try Tale.story(scenario).run()
    #expect(Array(kept.sent(.timelineInterest).prefix(4)) == ["0:00.000", "0:20.000", "0:40.000", "1:00.000"])
    #expect(kept.events("chat:timeline-overlay").count == 6)
    #expect(kept.lines(.core, "load.start", showing: ["reason"]).filter { $0.contains("lease") } == [])

    // Held at the relay since 0.05.
    let lost = try Tale.story(scenario).faults("drop,request,chat:timeline-interest,after=10s,before=70s").run()
    #expect(
      lost.events("chat:timeline-overlay").map(\.at.description) == ["0:01.050", "1:00.099", "1:00.100", "1:21.050"])
    // The hold of 80 s is the first that is answered since 0.1.
    #expect(lost.lines(.core, "load.start", showing: ["reason"]).contains("1:20.100 lease"))
  }
}
