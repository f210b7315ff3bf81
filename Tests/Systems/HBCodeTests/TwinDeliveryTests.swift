import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeTwin
import Simulation
import Testing
import Wire

/// Spec D.5, submit and delivery.
@Suite struct TwinDeliveryTests {
  @Test func `a submit is saved, begins after its delay, is shown live and settles`() throws {
    var bench = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2)]))
    bench.hold(at: 50)
    let answer = try bench.submit("op1", at: 10_050)
    #expect(answer["outcome"] == "updated")
    #expect(answer["revision"] == 1)
    #expect(listed(answer) == ["op1 sending"])
    bench.run(to: 60_000)
    #expect(
      bench.events == [
        "0:10.050 chat:outbox-changed",
        "0:10.400 chat:run-started", "0:10.400 chat:timeline-overlay", "0:10.400 chat:outbox-changed",
        "0:15.266 chat:timeline-overlay", "0:20.132 chat:timeline-overlay",
        "0:25.000 chat:run-finished", "0:25.000 session:updated",
      ])
    #expect(bench.noted("saved", "operation") == ["0:10.050 op1"])
    #expect(bench.noted("delivered", "run") == ["0:10.400 run-1"])
    #expect(bench.noted("history", "row") == ["0:25.000 user:u-op1"])
    #expect(bench.noted("stretch", "state") == ["0:10.400 playing", "0:25.000 done"])
    let overlays = bench.said.filter { $0.name == "chat:timeline-overlay" }.map(\.json)
    #expect(overlays.map { $0["revision"] } == [1, 2, 4])
    #expect(overlays.last?["blocks"]?.array?.count == 2)
    let window = bench.load(at: 60_000)
    #expect(identities(window) == ["user:h0", "agent-reply:h1", "user:u-op1", "agent-reply:a-op1"])
    #expect(window["liveOverlay"] == ["settlementEpoch": 4, "revision": 0, "blocks": []])
    #expect(window["activeRun"] == .null)
  }

  @Test func `a later submit shifts every stamp and nothing else`() throws {
    var bench = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2)]))
    bench.hold(at: 40_000)
    try bench.submit("op1", at: 40_150)
    bench.run(to: 70_000)
    let rows = bench.load(at: 70_000)["timeline"]?.array ?? []
    #expect(rows.suffix(2).map { $0["timestamp"] } == [.integer(Hand.wall + 40_500), .integer(Hand.wall + 45_366)])
    #expect(rows.last?["sourceOrder"] == [2, 1])
    #expect(rows.last?["runId"] == "run-1")
    #expect(rows.last?["text"] == "half and whole")
    #expect(bench.noted("reissued", "what").contains("0:40.500 stamps"))
  }
}
