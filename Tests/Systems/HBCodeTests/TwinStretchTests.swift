import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeTwin
import Simulation
import Testing
import Wire

/// Stretches under other circumstances than the recorded ones (SCENARIO.md 2).
@Suite struct TwinStretchTests {
  /// SCENARIO.md 7 row 5: run-1 plays 8 s of op1, then 9 s of op2, which entered as a steer.
  private func steered() -> [Stretch] {
    var first = Hand.stretch("op1", run: "run-1", orders: 2, length: 8_000)
    first.end = .handedOver(operation: "op2")
    let user = Hand.user("op2", [2, 10], at: 18_400)
    let second = Stretch(
      id: "run-1/op2", lane: Lane(Hand.session), cause: .operation("op2"), delay: .milliseconds(350),
      steps: [
        Step(offset: .zero, changes: [.put(user)], increment: 1),
        Step(offset: .seconds(3), changes: [.put(Hand.reply("a-op2", [2, 11], "second", at: 21_400))], increment: 1),
      ],
      outcome: [user.settled, Hand.reply("a-op2", [2, 11], "second", .canonical, at: 21_400)], length: .seconds(9),
      run: RecordedRun(runId: "run-1", threadId: "th-main", turnId: "turn-run-1"), recordedBegin: Hand.at(18_400))
    return [first, second]
  }

  @Test func `HB-STEER-01 a steer is accepted by the running turn and enters where the playing stretch ends`() throws {
    var bench = TwinBench(Hand.scenario(tape: steered()))
    bench.hold(at: 0)
    try bench.submit("op1", at: 10_050)
    let answer = try bench.submit("op2", mode: .steerRunning, run: "run-1", at: 14_050)
    #expect(listed(answer) == ["op2 queued"])
    bench.run(to: 15_000)
    let event = bench.said.last { $0.name == "chat:outbox-changed" }
    #expect(event?.at == Hand.at(14_250))
    #expect(event.map { listed($0.json) } == ["op2 sending"])
    #expect(
      event?.json["entries"]?.array?.first?["accepted"] == [
        "runId": "run-1", "threadId": "th-main", "turnId": "turn-run-1", "acceptedAt": .integer(Hand.wall + 14_250),
      ])
    bench.run(to: 60_000)
    #expect(bench.noted("delivered", "run") == ["0:10.400 run-1", "0:18.400 run-1"])
    #expect(bench.noted("run", "state") == ["0:10.400 started", "0:27.400 finished"])
    #expect(identities(bench.load(at: 60_000)).suffix(4) == ["user:u-op1", "agent-reply:a-op1", "user:u-op2", "agent-reply:a-op2"])
    // Both were live in one overlay.
    #expect(bench.said.last { $0.name == "chat:timeline-overlay" }.map { identities($0.json, "blocks").count } == 4)
  }

  @Test func `a steer whose submit is lost leaves the run silent to its recorded end and gets a run of its own`() throws {
    var bench = TwinBench(Hand.scenario(tape: steered()))
    try bench.submit("op1", at: 10_050)
    bench.run(to: 27_399)
    #expect(bench.noted("stretch", "state") == ["0:10.400 playing", "0:18.400 done"])
    bench.run(to: 27_400)
    #expect(bench.noted("run", "state").last == "0:27.400 finished")
    let answer = try bench.submit("op2", mode: .steerRunning, run: "run-1", at: 44_150)
    #expect(listed(answer) == ["op2 sending"])
    #expect(answer["entries"]?.array?.first?["sendMode"] == "queue")
    bench.run(to: 60_000)
    #expect(bench.noted("delivered", "run").last == "0:44.500 x:run:op2")
    #expect(bench.noted("run", "state").last == "0:53.500 finished")
    let rows = bench.load(at: 60_000)["timeline"]?.array ?? []
    #expect(rows.suffix(2).map { $0["runId"] } == ["x:run:op2", "x:run:op2"])
    #expect(rows.suffix(2).map { $0["text"] } == ["words of op2", "second"])
  }

  @Test func `a steer that is accepted during the silence enters at once, and the end of the run moves with it`() throws {
    var bench = TwinBench(Hand.scenario(tape: steered()))
    try bench.submit("op1", at: 10_050)
    try bench.submit("op2", mode: .steerRunning, run: "run-1", at: 20_000)
    bench.run(to: 60_000)
    #expect(bench.noted("delivered", "run") == ["0:10.400 run-1", "0:20.200 run-1"])
    #expect(bench.noted("run", "state") == ["0:10.400 started", "0:29.200 finished"])
  }

  @Test func `HB-STEER-13 a run that ends before it took the steer leaves it queued`() throws {
    var tape = steered()
    tape[0].end = .failed
    var bench = TwinBench(Hand.scenario(tape: tape))
    try bench.submit("op1", at: 10_050)
    try bench.submit("op2", mode: .steerRunning, run: "run-1", at: 14_050)
    bench.run(to: 18_400)
    let event = bench.said.last { $0.name == "chat:outbox-changed" }
    #expect(event?.at == Hand.at(18_400))
    let entry = event?.json["entries"]?.array?.first
    #expect(entry?["accepted"] == .null)
    #expect(entry?["sendMode"] == "queue")
    #expect(entry?["expectedActiveRunId"] == .null)
    #expect(entry?["status"] == "sending")
    bench.run(to: 40_000)
    #expect(bench.noted("delivered", "run").last == "0:18.750 x:run:op2")
  }

  @Test func `a stop ends the run its recorded time after its acceptance, late or early, and the rest is never said`() throws {
    var stretch = Hand.stretch("op1", run: "run-1", orders: 2, length: 7_800)
    stretch.end = .stopped(intent: "stop")
    let intents = [
      Intent(id: "stop", at: Hand.at(18_000), gesture: UserAction.stop(session: Hand.session, ids: ActionIDs(mutationId: "m-stop")).gesture)
    ]
    let after = Stretch(
      id: "after-stop", lane: nil, cause: .accepted(intent: "stop"), delay: .milliseconds(40),
      steps: [Step(offset: .zero, changes: [.title("Stopped")])], length: .zero, session: Hand.session)
    func stopped(at: Int64) throws -> TwinBench {
      var bench = TwinBench(Hand.scenario(tape: [stretch, after], intents: intents))
      try bench.submit("op1", at: 10_050)
      let answer = bench.ask(
        .stop, ["sessionId": .string(Hand.session), "runId": "run-1"], key: "run.chatStop:m-stop", at: at)
      #expect(answer == ["outcome": "updated"])
      bench.run(to: 60_000)
      return bench
    }
    // As recorded: accepted 18.05, ended 18.2.
    let same = try stopped(at: 18_050)
    #expect(same.noted("run", "state") == ["0:10.400 started", "0:18.200 aborted"])
    #expect(same.noted("stretch", "state").contains("0:18.200 done"))
    #expect(same.notes("stretch").contains { $0.fields["id"] == "after-stop" && $0.at == Hand.at(18_090) })
    // Late: silent in between.
    #expect(try stopped(at: 30_000).noted("run", "state").last == "0:30.150 aborted")
    // Early: cut.
    var early = try stopped(at: 13_500)
    #expect(early.noted("run", "state").last == "0:13.650 aborted")
    #expect(early.noted("stretch", "state").contains("0:13.650 cut"))
    let rows = early.load(at: 60_000)["timeline"]?.array ?? []
    #expect(rows.last?["text"] == "half")
    #expect(rows.last?["origin"] == "canonical")
    // Missing: silent for 30 s, then finished, assumed.
    var missing = TwinBench(Hand.scenario(tape: [stretch, after], intents: intents))
    try missing.submit("op1", at: 10_050)
    missing.run(to: 60_000)
    #expect(missing.noted("run", "state").last == "0:48.200 finished")
    #expect(missing.notes("basis").map { $0.fields["basis"] } == ["assumed"])
    #expect(missing.twin.finish(at: Hand.at(60_000)).map(\.fields["id"]) == ["after-stop"])
  }

  @Test func `a recorded stop of a run that outlives the recording takes at least until its end`() throws {
    var stretch = Hand.stretch("op1", run: "run-1", orders: 2, length: 9_600)
    stretch.end = .open(why: "the recording ends")
    let stop = Intent(
      id: "stop", at: Hand.at(18_000), gesture: UserAction.stop(session: Hand.session, ids: ActionIDs(mutationId: "m-stop")).gesture)
    for (mutation, end) in [("m-stop", "0:20.000 aborted"), ("m-other", "0:18.250 aborted")] {
      var bench = TwinBench(Hand.scenario(tape: [stretch], intents: [stop], end: 20_000))
      try bench.submit("op1", at: 10_050)
      bench.ask(.stop, ["sessionId": .string(Hand.session), "runId": "run-1"], key: "run.chatStop:\(mutation)", at: 18_050)
      bench.run(to: 60_000)
      #expect(bench.noted("run", "state").last == end)
    }
  }

  @Test func `no steer enters where a stop or the end of the recording ends the stretch`() throws {
    var stretch = Hand.stretch("op1", run: "run-1", orders: 2, length: 8_000)
    stretch.end = .open(why: "the recording ends")
    var bench = TwinBench(Hand.scenario(tape: [stretch]))
    try bench.submit("op1", at: 10_050)
    try bench.submit("op2", mode: .steerRunning, run: "run-1", at: 14_050)
    bench.run(to: 60_000)
    #expect(bench.noted("run", "state").prefix(2) == ["0:10.400 started", "0:48.400 finished"])
    // Then by the rules, with a stand-in after the usual delay of the lane.
    #expect(bench.noted("delivered", "run").last == "0:48.750 x:run:op2")
  }

  @Test func `HB-OVER-07 an injected jump empties the overlay; the next step puts all blocks back at revision 1`() throws {
    var bench = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2)]))
    bench.hold(at: 0)
    try bench.submit("op1", at: 10_050)
    bench.give(.fault(.epochJump(lane: nil, by: 5)), at: 16_000)
    #expect(bench.load(at: 16_050)["liveOverlay"] == ["settlementEpoch": 8, "revision": 0, "blocks": []])
    bench.run(to: 60_000)
    let overlays = bench.said.filter { $0.name == "chat:timeline-overlay" && $0.at >= Hand.at(16_000) }
    #expect(overlays.map { $0.at.description } == ["0:16.000", "0:20.132"])
    #expect(overlays.map { $0.json["settlementEpoch"] } == [8, 8])
    #expect(overlays.map { $0.json["revision"] } == [0, 1])
    #expect(overlays.map { identities($0.json, "blocks").count } == [0, 2])
    let window = bench.load(at: 60_000)
    #expect(window["liveOverlay"]?["settlementEpoch"] == 9)
    #expect(identities(window).suffix(2) == ["user:u-op1", "agent-reply:a-op1"])
    #expect(window["timeline"]?.array?.last?["text"] == "half and whole")
  }

  @Test func `HB-OVER-07 a jump that no step follows loses no word`() throws {
    var bench = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2)]))
    try bench.submit("op1", at: 10_050)
    bench.give(.fault(.epochJump(lane: Hand.session, by: 1)), at: 24_000)
    bench.run(to: 60_000)
    #expect(bench.load(at: 60_000)["timeline"]?.array?.last?["text"] == "half and whole")
  }

  @Test func `a recorded jump plays as recorded, and in a run that moved it loses no block`() throws {
    let jump = Stretch(
      id: "jump", lane: nil, cause: .clock(Hand.at(16_000)), steps: [Step(offset: .zero, changes: [.epochJump(by: 2)])], length: .zero,
      session: Hand.session)
    // In the recording only the reply came back after the jump, at revision 2.
    var same = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2), jump]))
    same.hold(at: 0)
    try same.submit("op1", at: 10_050)
    same.run(to: 30_000)
    let overlays = same.said.filter { $0.name == "chat:timeline-overlay" }.map(\.json)
    #expect(overlays.map { $0["settlementEpoch"] } == [3, 3, 5, 5])
    #expect(overlays.map { $0["revision"] } == [1, 2, 0, 2])
    #expect(overlays.map { $0["blocks"]?.array?.count } == [1, 2, 0, 1])
    #expect(identities(same.load(at: 30_000)).suffix(2) == ["user:u-op1", "agent-reply:a-op1"])

    var moved = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2), jump]))
    moved.hold(at: 0)
    try moved.submit("op1", at: 12_050)
    moved.run(to: 40_000)
    let later = moved.said.filter { $0.name == "chat:timeline-overlay" }.map(\.json)
    #expect(later.map { $0["revision"] } == [1, 0, 1, 3])
    #expect(later.map { $0["blocks"]?.array?.count } == [1, 0, 2, 2])
  }

  @Test func `a restart in a run: the run goes on, its blocks come back at revision 1 of the next epoch`() throws {
    var bench = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2)]))
    try bench.submit("op1", at: 10_050)
    bench.give(.fault(.restart), at: 16_000)
    bench.give(.connected(ConnectionID(2), Endpoint("/v1/desktops/desk-1")), at: 17_000)
    bench.hold(at: 17_000, connection: 2)
    bench.run(to: 30_000)
    let overlays = bench.said.filter { $0.name == "chat:timeline-overlay" && $0.connection == ConnectionID(2) }.map(\.json)
    #expect(overlays.map { $0["settlementEpoch"] } == [4])
    #expect(overlays.map { $0["revision"] } == [1])
    #expect(overlays.map { $0["blocks"]?.array?.count } == [2])
    #expect(bench.noted("run", "state") == ["0:10.400 started", "0:25.000 finished"])
  }

  @Test func `one instant, one order: a submit at the end of a run is queued in its answer and sending right after`() throws {
    var bench = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2)]))
    try bench.submit("op1", at: 10_050)
    bench.run(to: 24_999)
    let before = bench.said.count
    let answer = try bench.submit("op2", at: 25_000)
    #expect(listed(answer) == ["op2 queued"])
    bench.run(to: 25_000)
    let names = bench.said[before...].map(\.name)
    #expect(names == ["response", "chat:run-finished", "session:updated", "chat:outbox-changed"])
    // No revision is ever shown with two lists.
    #expect(bench.said.last.map { listed($0.json) } == ["op2 sending"])
    #expect(bench.said.last?.json["revision"] == .integer((answer["revision"]?.integer ?? 0) + 1))
  }

  @Test func `events that are not derived go out as recorded, to the phones of their desktop`() throws {
    let gap = Stretch(
      id: "gap", lane: nil, cause: .clock(Hand.at(5_000)),
      steps: [
        Step(offset: .zero, changes: [.event(name: "relay:gap", fields: ["fromMs": 1, "toMs": 2])]),
        Step(offset: .seconds(1), changes: [.event(name: "desktop:mood", fields: ["zeta": .double(1.5), "alpha": nil])]),
      ], length: .seconds(1), desktop: "desk-2")
    var scenario = Hand.scenario(tape: [gap])
    scenario.desktops.append(DesktopState(id: "desk-2", sessions: []))
    var bench = TwinBench(scenario)
    bench.give(.connected(ConnectionID(2), Endpoint("/v1/desktops/desk-2?x=1")), at: 100)
    bench.run(to: 10_000)
    #expect(bench.events == ["0:05.000 relay:gap", "0:06.000 desktop:mood"])
    #expect(bench.said.map(\.connection) == [ConnectionID(2), ConnectionID(2)])
    #expect(bench.said.last?.json == ["event": "desktop:mood", "zeta": .double(1.5), "alpha": nil])
  }

  @Test func `an unreadable history gives no rows`() throws {
    var session = Hand.session()
    session.loadState = .unavailable(reason: "locked")
    var bench = TwinBench(Hand.scenario(sessions: [session]))
    let window = try HistoryEnvelope.decode(bench.load(at: 10), .latest)
    #expect(window.loadState == .unavailable(reason: "locked"))
    #expect(window.timeline.isEmpty)
  }

  @Test func `order numbers that would not grow get the greatest as prefix`() throws {
    var bench = TwinBench(
      Hand.scenario(tape: [
        Hand.stretch("op1", run: "run-1", orders: 2),
        Hand.stretch("op2", run: "run-2", orders: 3, delay: 600, length: 6_000, begin: 25_600),
      ]))
    try bench.submit("op2", at: 10_250)
    bench.run(to: 20_000)
    try bench.submit("op1", at: 20_250)
    bench.run(to: 60_000)
    #expect(bench.noted("delivered", "run") == ["0:10.850 run-2", "0:20.600 run-1"])
    let rows = bench.load(at: 60_000)["timeline"]?.array ?? []
    #expect(rows.suffix(4).map { $0["sourceOrder"] } == [[3, 0], [3, 1], [3, 1, 2, 0], [3, 1, 2, 1]])
    #expect(rows.suffix(4).map { $0["id"] } == ["u-op2", "a-op2", "u-op1", "a-op1"])
  }

  @Test func `an operation without words gets a stand-in that says so`() throws {
    var bench = TwinBench(Hand.scenario())
    bench.hold(at: 0)
    try bench.submit("op9", text: "anything", at: 1_000)
    bench.run(to: 10_000)
    #expect(bench.noted("delivered", "run") == ["0:01.400 x:run:op9"])
    #expect(bench.noted("run", "state") == ["0:01.400 started", "0:02.400 finished"])
    let overlays = bench.said.filter { $0.name == "chat:timeline-overlay" }
    #expect(overlays.map { $0.at.description } == ["0:01.400", "0:02.000"])
    let rows = bench.load(at: 10_000)["timeline"]?.array ?? []
    #expect(rows.suffix(2).map { $0["text"] } == ["anything", "[no recorded answer]"])
    #expect(rows.last?["id"] == "x:op9")
    #expect(rows.last?["sourceOrder"] == [1, 1, 1])
    #expect(bench.notes("basis").first?.fields["basis"] == "synthetic")
    #expect(bench.notes("history").first?.fields["basis"] == "synthetic")
  }

  @Test func `the usual delay is the lower median of the lane's recorded ones`() throws {
    let tape = [(200, 2), (350, 3), (600, 4), (900, 5)].map {
      Hand.stretch("op\($0.1)", run: "run-\($0.1)", orders: UInt64($0.1), delay: Int64($0.0))
    }
    var bench = TwinBench(Hand.scenario(tape: tape))
    try bench.submit("op9", at: 1_000)
    bench.run(to: 10_000)
    #expect(bench.noted("delivered", "operation") == ["0:01.350 op9"])
  }

  @Test func `an outside run waits for its lane and goes before queued operations`() throws {
    let outside = Stretch(
      id: "outside", lane: Lane(Hand.session), cause: .clock(Hand.at(12_000)),
      steps: [Step(offset: .zero, changes: [.put(Hand.reply("o", [5, 0], "by itself", run: "run-o"))], increment: 1)],
      outcome: [Hand.reply("o", [5, 0], "by itself", .canonical, run: "run-o")], length: .seconds(2),
      run: RecordedRun(runId: "run-o", threadId: nil, turnId: nil))
    var bench = TwinBench(
      Hand.scenario(tape: [
        outside, Hand.stretch("op1", run: "run-1", orders: 2),
        Hand.stretch("op2", run: "run-2", orders: 6, delay: 600, length: 3_000, begin: 28_000),
      ]))
    try bench.submit("op1", at: 10_050)
    try bench.submit("op2", at: 11_000)
    bench.run(to: 60_000)
    #expect(
      bench.noted("run", "run") == [
        "0:10.400 run-1", "0:25.000 run-1", "0:25.000 run-o", "0:27.000 run-o", "0:27.600 run-2", "0:30.600 run-2",
      ])
    #expect(bench.noted("stretch", "state").contains("0:12.000 deferred"))
  }

  @Test func `nothing that only the clock causes begins after the recorded end, waiting operations are still delivered`() throws {
    let outside = Stretch(
      id: "outside", lane: Lane(Hand.session), cause: .clock(Hand.at(12_000)), steps: [], length: .seconds(2),
      run: RecordedRun(runId: "run-o", threadId: nil, turnId: nil))
    var bench = TwinBench(Hand.scenario(tape: [outside, Hand.stretch("op1", run: "run-1", orders: 2)], end: 20_000))
    try bench.submit("op1", at: 10_050)
    try bench.submit("op2", at: 12_050)
    bench.run(to: 60_000)
    #expect(bench.noted("delivered", "operation") == ["0:10.400 op1", "0:25.350 op2"])
    #expect(bench.twin.finish(at: Hand.at(60_000)).map(\.fields["id"]) == ["outside"])
  }

  @Test func `causes: after a step of another stretch, the n-th request, all of several, void when one is missing`() throws {
    func title(_ id: String, _ cause: Cause, delay: Int64 = 0) -> Stretch {
      Stretch(
        id: id, lane: nil, cause: cause, delay: .milliseconds(delay), steps: [Step(offset: .zero, changes: [.title(id)])], length: .zero,
        session: Hand.session)
    }
    var bench = TwinBench(
      Hand.scenario(tape: [
        Hand.stretch("op1", run: "run-1", orders: 2),
        title("began", .after(stretch: "run-1/op1", .began), delay: 10),
        title("step", .after(stretch: "run-1/op1", .step(1))),
        title("ended", .after(stretch: "run-1/op1", .ended)),
        title("second-load", .request(method: "run.chatLoad", nth: 2)),
        title("all", .all([.clock(Hand.at(30_000)), .operation("op1"), .after(stretch: "ended", .ended)]), delay: 5),
        title("never", .all([.clock(Hand.at(1_000)), .operation("op9")])),
        title("chained", .after(stretch: "never", .began)),
      ]))
    try bench.submit("op1", at: 10_050)
    bench.load(at: 26_000)
    bench.load(at: 27_000)
    bench.run(to: 60_000)
    let playing = bench.notes("stretch").filter { $0.fields["state"] == "playing" }.map { "\($0.at) \($0.fields["id"]?.string ?? "")" }
    #expect(
      playing == [
        "0:10.400 run-1/op1", "0:10.410 began", "0:15.266 step", "0:25.000 ended", "0:27.000 second-load", "0:30.005 all",
      ])
    #expect(bench.twin.finish(at: Hand.at(60_000)).map(\.fields["id"]) == ["never", "chained"])
    let stamps = bench.said.filter { $0.name == "session:updated" }.compactMap { $0.json["updatedAt"]?.integer }
    #expect(stamps == stamps.sorted())
    #expect(Set(stamps).count == stamps.count)
  }

  @Test func `an operation that was never seen live begins with its user row all the same`() throws {
    var stretch = Hand.stretch("op1", run: "run-1", orders: 2)
    stretch.steps.removeFirst()
    var bench = TwinBench(Hand.scenario(tape: [stretch]))
    bench.hold(at: 0)
    try bench.submit("op1", at: 10_050)
    bench.run(to: 11_000)
    let event = bench.said.last { $0.name == "chat:timeline-overlay" }
    #expect(event?.at == Hand.at(10_400))
    #expect(identities(event?.json, "blocks") == ["user:u-op1"])
    #expect(event?.json["revision"] == 1)
    bench.run(to: 60_000)
    #expect(identities(bench.load(at: 60_000)).suffix(2) == ["user:u-op1", "agent-reply:a-op1"])
  }

  @Test func `settling: a thinking row between saved rows was shown only; one that nothing followed is kept`() throws {
    var stretch = Hand.stretch("op1", run: "run-1", orders: 2)
    let thinking = Row.made(
      type: .thinking, id: "t", origin: .live, sourceOrder: [2, 0, 5], timestamp: Hand.wall, runId: "run-1", text: "hm")
    stretch.steps[1].changes.append(.put(thinking))
    var bench = TwinBench(Hand.scenario(tape: [stretch]))
    try bench.submit("op1", at: 10_050)
    bench.run(to: 60_000)
    #expect(identities(bench.load(at: 60_000)).suffix(2) == ["user:u-op1", "agent-reply:a-op1"])

    stretch.outcome = []
    stretch.end = .open(why: "the recording ends")
    var cut = TwinBench(Hand.scenario(tape: [stretch]))
    try cut.submit("op1", at: 10_050)
    cut.run(to: 60_000)
    #expect(identities(cut.load(at: 60_000)).suffix(3) == ["user:u-op1", "thinking:t", "agent-reply:a-op1"])
    #expect(cut.notes("history").first?.fields["basis"] == "derived")
  }

  @Test func `an interrupt aborts the active run and its own begins`() throws {
    var bench = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2)]))
    try bench.submit("op1", at: 10_050)
    try bench.submit("op2", at: 11_000)
    try bench.submit("op3", mode: .interruptRunning, at: 12_000)
    bench.run(to: 13_000)
    #expect(bench.noted("run", "state").prefix(2) == ["0:10.400 started", "0:12.000 aborted"])
    #expect(bench.noted("delivered", "operation").last == "0:12.350 op3")
  }

  @Test func `HB-STEER-12 stop and send now: requested, replay-authorized, a run of its own; anything else is blocked`() throws {
    var bench = TwinBench(Hand.scenario(tape: steered()))
    bench.hold(at: 0)
    try bench.submit("op1", at: 10_050)
    try bench.submit("op2", mode: .steerRunning, run: "run-1", at: 14_050)
    bench.run(to: 15_000)
    func now(_ turn: String, _ key: String, at: Int64) -> JSON {
      bench.ask(
        .stopAndSendNow,
        [
          "sessionId": .string(Hand.session), "queueId": "q-op2", "operationId": "op2", "expectedRunId": "run-1",
          "expectedThreadId": "th-main", "expectedTurnId": .string(turn),
        ], key: key, at: at)
    }
    let blocked = now("turn-other", "k-1", at: 15_000)
    #expect(blocked["outcome"] == "blocked")
    #expect(blocked["entries"]?.array?.first?["handoff"] == .null)
    let answer = now("turn-run-1", "k-2", at: 15_100)
    #expect(answer["outcome"] == "updated")
    #expect(answer["entries"]?.array?.first?["handoff"] == ["phase": "requested"])
    #expect(now("turn-run-1", "k-3", at: 15_150)["outcome"] == "blocked")
    bench.run(to: 60_000)
    #expect(bench.noted("run", "state").prefix(3) == ["0:10.400 started", "0:15.300 aborted", "0:15.650 started"])
    #expect(bench.noted("delivered", "run").last == "0:15.650 x:run:op2")
    let phases = bench.said.filter { $0.name == "chat:outbox-changed" }.compactMap {
      $0.json["entries"]?.array?.first?["handoff"]?["phase"]?.string
    }
    #expect(phases == ["requested", "replay-authorized"])
  }

  @Test func `a run that is active at the start goes on, and one of which nothing is known finishes after 30 s`() throws {
    var session = Hand.session()
    session.activeRun = ActiveRun(runId: "run-0", threadId: "th-main", turnId: "turn-0", startedAt: Hand.wall - 5_000)
    session.overlay = LiveOverlay(
      version: OverlayVersion(epoch: 3, revision: 7), blocks: [Hand.reply("a0", [2, 1], "so far", run: "run-0", at: -100)])
    let goesOn = Stretch(
      id: "run-0/rest", lane: Lane(Hand.session), cause: .clock(.zero),
      steps: [
        Step(offset: .seconds(2), changes: [.put(Hand.reply("a0", [2, 1], "so far and on", run: "run-0", at: -100))], increment: 3)
      ],
      outcome: [Hand.reply("a0", [2, 1], "so far and on", .canonical, run: "run-0", at: -100)], length: .seconds(4),
      run: RecordedRun(runId: "run-0", threadId: "th-main", turnId: "turn-0"), recordedBegin: .zero)
    var bench = TwinBench(Hand.scenario(sessions: [session], tape: [goesOn]))
    bench.hold(at: 100)
    #expect(bench.load(at: 200)["activeRun"]?["runId"] == "run-0")
    bench.run(to: 10_000)
    #expect(bench.events == ["0:02.000 chat:timeline-overlay", "0:04.000 chat:run-finished", "0:04.000 session:updated"])
    #expect(bench.said.first { $0.name == "chat:timeline-overlay" }?.json["revision"] == 10)
    let rows = bench.load(at: 10_000)["timeline"]?.array ?? []
    #expect(rows.last?["sourceOrder"] == [2, 1])
    #expect(rows.last?["text"] == "so far and on")

    var unknown = TwinBench(Hand.scenario(sessions: [session]))
    unknown.run(to: 60_000)
    #expect(unknown.noted("run", "state") == ["0:30.000 finished"])
    #expect(unknown.load(at: 60_000)["timeline"]?.array?.last?["text"] == "so far")
  }

  @Test func `ledger stamps are the recorded ones, shifted, where the recording has them`() throws {
    var stretch = Hand.stretch("op1", run: "run-1", orders: 2)
    stretch.stamps = RunStamps(startedAt: Hand.wall + 10_403, endedAt: Hand.wall + 25_001, updatedAt: Hand.wall + 25_002)
    for (submit, shift) in [(10_050, 0), (40_150, 30_100)] as [(Int64, Int64)] {
      var bench = TwinBench(Hand.scenario(tape: [stretch]))
      try bench.submit("op1", at: submit)
      bench.run(to: 90_000)
      #expect(bench.said.first { $0.name == "chat:run-started" }?.json["startedAt"] == .integer(Hand.wall + 10_403 + shift))
      #expect(bench.said.first { $0.name == "chat:run-finished" }?.json["at"] == .integer(Hand.wall + 25_001 + shift))
      #expect(bench.said.first { $0.name == "session:updated" }?.json["updatedAt"] == .integer(Hand.wall + 25_002 + shift))
    }
  }
}

extension Row {
  /// The same row as saved.
  fileprivate var settled: Row {
    var row = self
    row.origin = .canonical
    row.raw["origin"] = "canonical"
    return row
  }
}

/// A foreign client that names its operations itself (`serve`).
@Suite struct TwinMatchingTests {
  private func intents() -> [Intent] {
    [
      Tale.send("op1", at: 10_000), Tale.send("op2", at: 20_000),
      Tale.intent("stop", 30_000, .stop(session: Hand.session, ids: ActionIDs())),
    ]
  }

  private func tape() -> [Stretch] {
    [
      Hand.stretch("op1", run: "run-1", orders: 2, length: 3_000),
      Hand.stretch("op2", run: "run-2", orders: 3, delay: 600, length: 3_000, begin: 25_600),
      Stretch(
        id: "after-stop", lane: nil, cause: .accepted(intent: "stop"), steps: [Step(offset: .zero, changes: [.title("Stopped")])],
        length: .zero, session: Hand.session),
    ]
  }

  @Test func `equal words first, then the first of its kind; rows carry the client's own name and words`() throws {
    var bench = TwinBench(Hand.scenario(tape: tape(), intents: intents()))
    bench.hold(at: 0)
    try bench.submit("their-1", text: "words of op2", at: 1_000)
    bench.run(to: 8_000)
    try bench.submit("their-2", text: "something else", at: 8_000)
    bench.run(to: 15_000)
    try bench.submit("their-3", text: "and more", at: 15_000)
    bench.run(to: 20_000)
    #expect(
      bench.noted("delivered", "run") == ["0:01.600 run-2", "0:08.350 run-1", "0:15.350 x:run:their-3"])
    #expect(
      bench.notes("reissued").filter { $0.fields["what"] == "operationId" }.map { $0.fields["from"] } == ["op2", "op1"])
    let rows = bench.load(at: 20_000)["timeline"]?.array ?? []
    #expect(rows.filter { $0["type"] == "user" }.suffix(3).map { $0["operationId"] } == ["their-1", "their-2", "their-3"])
    #expect(rows.filter { $0["type"] == "user" }.suffix(3).map { $0["text"] } == ["words of op2", "something else", "and more"])
    #expect(rows.suffix(6).map { $0["text"] }.contains("half and whole"))
    #expect(bench.notes("defect").isEmpty)
  }

  @Test func `an own name of the core stands for nothing recorded; a foreign stop is the first recorded one`() throws {
    var bench = TwinBench(Hand.scenario(tape: tape(), intents: intents()))
    try bench.submit("x-7", text: "words of op1", at: 1_000)
    bench.run(to: 1_500)
    #expect(bench.noted("delivered", "run") == ["0:01.350 x:run:x-7"])
    bench.ask(.stop, ["sessionId": .string(Hand.session), "runId": "x:run:x-7"], key: "run.chatStop:their-stop", at: 1_600)
    bench.run(to: 3_000)
    #expect(bench.notes("stretch").contains { $0.fields["id"] == "after-stop" && $0.fields["state"] == "done" })
    #expect(bench.noted("run", "state").last == "0:01.800 aborted")
  }
}
