import Contract
import Faults
import Simulation
import TestSupport
import Testing
import Wire

@testable import Replay

/// The second system: the contract does not fit one client alone.
struct EchoTests {
  private let system = Echo.system()
  private let one = EchoScenario(end: .seconds(20), [EchoScenario.send("m1", "hi", at: 10_000)])

  private func holds(_ told: Told, _ messages: Int) throws {
    for claim in ["ECHO-01", "ECHO-02"] {
      let outcome = try #require(try told.outcome(claim, of: system))
      #expect(outcome.exercised == messages)
      #expect(outcome.violations.isEmpty)
    }
  }

  @Test func `without faults a message is posted, saved, confirmed and echoed at the scenario's offsets`() throws {
    let told = try Story(system, one).run()
    #expect(told.instants(.link, "send", "name=POST /messages", "dir=out") == ["0:10.000"])
    #expect(told.instants(.twin, "saved") == ["0:10.050"])
    #expect(told.instants(.core, "says", "state=delivered") == ["0:10.100"])
    #expect(told.instants(.core, "shown") == ["0:10.500"])
    try holds(told, 1)
  }

  @Test func `with the submit lost the same key is sent again after 2 s and saved once`() throws {
    let told = try Story(system, one).faults("drop,request,POST /messages,nth=1").run()
    #expect(told.lines(.link, "send", showing: ["key"], "name=POST /messages", "dir=out") == ["0:10.000 k-m1", "0:12.000 k-m1"])
    #expect(told.instants(.twin, "saved") == ["0:12.050"])
    #expect(told.instants(.core, "shown") == ["0:12.500"])
    try holds(told, 1)
  }

  @Test func `with the receipt lost the server answers the second submit as the first`() throws {
    let told = try Story(system, one).plan("dropped-receipts").run()
    #expect(told.instants(.twin, "saved") == ["0:10.050"])
    #expect(told.instants(.core, "shown") == ["0:10.500"])
    #expect(told.instants(.core, "says", "state=delivered") == ["0:12.100"])
    try holds(told, 1)
  }

  @Test func `a doubled submit is saved once`() throws {
    let told = try Story(system, one).faults("duplicate,request,POST /messages,by=30ms").run()
    #expect(told.instants(.link, "arrive", "name=POST /messages", "dir=out") == ["0:10.050", "0:10.080"])
    #expect(told.instants(.twin, "saved") == ["0:10.050"])
    try holds(told, 1)
  }

  @Test func `a restart of the app right after its submit loses and doubles nothing`() throws {
    let told = try Story(system, one).faults("restart,app,on=request:POST /messages,nth=1,for=3s").run()
    #expect(told.instants(.world, "launch") == ["0:00.000", "0:13.000"])
    #expect(told.instants(.twin, "saved") == ["0:10.050"])
    #expect(told.instants(.link, "send", "name=POST /messages", "dir=out") == ["0:10.000", "0:13.000"])
    #expect(told.instants(.core, "says", "state=delivered") == ["0:13.100"])
    try holds(told, 1)
  }

  @Test(arguments: BuiltInPlans.all.map(\.name), [1, 2, 3] as [UInt64])
  func `nothing is lost or doubled under any built-in plan, and two runs are equal`(plan: String, seed: UInt64) throws {
    let scenario = EchoScenario(
      end: .seconds(30),
      (1...6).map { EchoScenario.send("m\($0)", "text \($0)", at: $0 * 4_000) } + [EchoScenario.like("m2", at: 9_000, lag: 500)])
    let story = try Story(system, scenario).seed(seed).plan(plan)
    let (result, proof) = try Run(story.system, story.scenario, story.settings).prove()
    #expect(proof == .equal)
    try holds(Told(result: result), 6)
  }
}
