import Contract
import Faults
import Simulation
import TestSupport
import Testing
import Wire

@testable import Replay

/// SCENARIO.md 2, "The user reacts".
struct VirtualUserTests {
  private let system = Echo.system()

  private func story(_ intents: [Intent]) -> Story { Story(system, EchoScenario(end: .seconds(20), intents)) }

  @Test func `an intent is done at its recorded instant when its premise holds, however long it has held`() throws {
    let told = try story([EchoScenario.send("m1", "hi", at: 1_000), EchoScenario.like("m1", at: 9_000, lag: 7_500)]).run()
    #expect(told.instants(.user, "gesture", "do=like") == ["0:09.000"])
    #expect(told.entries(.user, "waits").isEmpty)
  }

  @Test func `what is not on screen yet is waited for, and done lag after it is`() throws {
    let intents = [EchoScenario.send("m1", "hi", at: 10_000), EchoScenario.like("m1", at: 10_600, lag: 100)]
    let lost = try story(intents).faults("drop,request,POST /messages,nth=1").run()
    #expect(lost.instants(.user, "waits", "intent=like-m1") == ["0:10.600"])
    #expect(lost.instants(.core, "shown") == ["0:12.500"])
    #expect(lost.instants(.user, "gesture", "intent=like-m1") == ["0:12.600"])
  }

  @Test func `a premise that ends within the lag is waited for again`() {
    var user = VirtualUser(intents: [EchoScenario.like("m1", at: 1_000, lag: 500)], mode: .reacting)
    func act(_ ms: Int64, _ premise: Premise) -> VirtualUser.Act? { user.act(at: .zero + .milliseconds(ms)) { _ in premise } }
    let intent = EchoScenario.like("m1", at: 1_000, lag: 500)
    #expect(act(999, .holds) == nil)
    #expect(act(1_000, .waits) == .waits(intent))
    #expect(act(2_000, .holds) == nil)
    #expect(user.next == .zero + .milliseconds(2_500))
    #expect(act(2_400, .waits) == nil)
    #expect(act(2_500, .holds) == nil)
    #expect(act(2_999, .holds) == nil)
    #expect(act(3_000, .holds) == .makes(intent))
    #expect(!user.isPending)
  }

  @Test func `an intent whose target is gone is void at once`() throws {
    let twice = [
      EchoScenario.send("m1", "hi", at: 1_000), EchoScenario.like("m1", at: 9_000),
      Intent(id: "again", at: .zero + .seconds(10), gesture: Gesture("like", ["message": "m1"]), target: "send-m1"),
    ]
    let told = try story(twice).run()
    #expect(told.lines(.user, "void", showing: ["intent", "reason"]) == ["0:10.000 again its target is gone"])
    #expect(told.entries(.user, "gesture", "do=like").count == 1)
  }

  @Test func `an intent is void after 120 s, and not before`() {
    for (ms, acts) in [(120_999, true), (121_000, true), (121_001, false)] as [(Int64, Bool)] {
      var user = VirtualUser(intents: [EchoScenario.like("m1", at: 1_000)], mode: .reacting)
      _ = user.act(at: .zero + .seconds(1)) { _ in .waits }
      #expect(user.next == .zero + .seconds(121))
      // The alarm of 121 s rings, unless the premise came to hold by then.
      if ms > 121_000 {
        let act = user.act(at: .zero + .seconds(121)) { _ in .waits }
        #expect(
          act == .gives(up: EchoScenario.like("m1", at: 1_000), reason: "the screen did not allow it within 120 s"))
      }
      let act = user.act(at: .zero + .milliseconds(ms)) { _ in .holds }
      #expect((act == .makes(EchoScenario.like("m1", at: 1_000))) == acts)
    }
  }

  @Test func `void after 120 s is an entry of the trace`() throws {
    let told = try story([EchoScenario.like("m9", at: 5_000)]).run()
    #expect(told.instants(.user, "void") == ["2:05.000"])
    #expect(told.entries(.user, "gesture").isEmpty)
  }

  @Test func `waiting delays only intents with the same target`() throws {
    let intents = [
      EchoScenario.send("m1", "one", at: 1_000), EchoScenario.send("m2", "two", at: 2_000),
      Intent(id: "a", at: .zero + .milliseconds(1_100), gesture: Gesture("like", ["message": "m1"]), target: "send-m1"),
      Intent(id: "b", at: .zero + .milliseconds(1_200), gesture: Gesture("note"), target: "send-m1"),
      Intent(id: "c", at: .zero + .milliseconds(1_300), gesture: Gesture("note"), target: "send-m2"),
      Intent(id: "d", at: .zero + .milliseconds(1_400), gesture: Gesture("note"), target: "a"),
    ]
    let told = try story(intents).run()
    // m1 shows at 1.500: a acts then, b and d behind it; c is about m2, whose send is still to come.
    #expect(
      told.lines(.user, "gesture", showing: ["intent"]) == [
        "0:01.000 send-m1", "0:01.300 c", "0:01.500 a", "0:01.500 b", "0:01.500 d", "0:02.000 send-m2",
      ])
  }

  @Test func `by the clock, an intent is done at its recorded instant or not at all`() throws {
    let intents = [
      EchoScenario.send("m1", "hi", at: 10_000), EchoScenario.like("m1", at: 10_499), EchoScenario.send("m2", "hi", at: 11_000),
    ]
    let told = try story(intents).user(.clock).run()
    #expect(told.instants(.user, "void", "intent=like-m1") == ["0:10.499"])
    #expect(told.instants(.user, "gesture", "do=send") == ["0:10.000", "0:11.000"])
    #expect(told.trace.header.user == "clock")
  }

  @Test func `a user script takes the place of the scenario's intents`() throws {
    let script = try UserScript(
      json: JSONReader.value(#"[{"t":1.5,"do":"send","message":"s1","text":"from a script"},{"ms":1600,"do":"like","message":"s1"}]"#))
    let told = try story([EchoScenario.send("m1", "hi", at: 10_000)]).user(.script(script)).run()
    #expect(told.lines(.twin, "saved", showing: ["operation", "text"]) == ["0:01.550 s1 from a script"])
    #expect(told.instants(.user, "gesture", "do=like") == ["0:02.000"])
    #expect(told.trace.header.user == script.hash)
  }

  @Test func `a user script takes seconds, milliseconds and texts`() throws {
    let script = try UserScript(
      json: JSONReader.value(#"[{"t":1.5,"do":"a"},{"ms":20,"do":"b","id":"x"},{"t":"3s","do":"c","target":"x","lag":0.25,"n":1}]"#))
    #expect(script.intents.map(\.at.description) == ["0:01.500", "0:00.020", "0:03.000"])
    #expect(script.intents.map(\.id) == ["user-1", "x", "user-3"])
    #expect(script.intents[2].gesture == Gesture("c", ["n": 1]))
    #expect(script.intents[2].lag == .milliseconds(250))
  }

  @Test(arguments: [
    ("{}", "a user script is an array"), ("[1]", "[0]: expected an object"),
    (#"[{"do":"a"}]"#, "[0].t: expected an instant: seconds, or ms"),
    (#"[{"t":-1,"do":"a"}]"#, "[0].t: expected an instant: seconds, or ms"),
    (#"[{"t":1e300,"do":"a"}]"#, "[0].t: expected an instant: seconds, or ms"),
    (#"[{"t":1}]"#, "[0].do: a gesture needs a name"), (#"[{"t":1,"do":"a","lag":-1}]"#, "[0].lag: expected a length of time"),
    (#"[{"t":1,"do":"a","id":"x"},{"t":1,"do":"a","id":"x"}]"#, #"[1].id: "x" stands twice"#),
  ])
  func `a script that cannot be read is refused with its place`(text: String, sentence: String) throws {
    let error = #expect(throws: JSONError.self) { try UserScript(json: JSONReader.value(text)) }
    #expect(error?.description == sentence)
  }
}
