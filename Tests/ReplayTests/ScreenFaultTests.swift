import Contract
import Faults
import Simulation
import TestSupport
import Testing
import Wire

@testable import Replay

/// What the world does with rules at the user and the screen, and with a user who drags or ends the app.
struct ScreenFaultTests {
  private let system = Echo.system()

  private func story(_ intents: [Intent] = [], end: Int64 = 20) -> Story {
    Story(system, EchoScenario(end: .seconds(end), intents))
  }

  private func drag(at milliseconds: Int64, held: Int64, id: String = "d") -> Intent {
    let drag = Drag(path: [Drag.Place(after: .milliseconds(100), y: -80)], held: .milliseconds(held))
    return Intent(id: id, at: .zero + .milliseconds(milliseconds), gesture: Gesture("drag", drag.fields))
  }

  @Test func `a drag of the plan is a gesture of the user without an intent, and its finger lifts after its length`() throws {
    let told = try story().faults("drag,user,at=5s,for=1500ms,by=-200,velocity=-300").run()
    let gesture = try #require(told.entries(.user, "gesture").first)
    #expect(told.entries(.user, "gesture").count == 1)
    #expect(gesture.fields == ["do": "drag", "path": [[200, -200]], "velocity": -300, "held": 1_300, "rule": 1])
    #expect(told.lines(.plan, "fired", showing: ["rule", "action"]) == ["0:05.000 1 drag"])
    #expect(told.lines(.screen, "scroll", showing: ["state"]) == ["0:05.000 drag", "0:06.500 rest"])
  }

  @Test func `a drag on an event begins when the event is sent, so that it arrives under the finger`() throws {
    let told = try story([EchoScenario.send("m1", "hi", at: 10_000)]).faults(
      "drag,user,on=event:message,nth=1,for=600ms", "lose-stop,screen,on=event:message,while=dragging"
    ).run()
    // Saved at 10.050, sent at 10.450, shown at 10.500. The second rule is asked before the finger is down.
    #expect(told.lines(.screen, "scroll", showing: ["state"]) == ["0:10.450 drag", "0:11.050 rest"])
    #expect(told.instants(.core, "shown") == ["0:10.500"])
    #expect(told.result.rules.map(\.fired) == [1, 0])
  }

  @Test func `while=dragging holds as long as the finger is down`() throws {
    let sends = (0..<4).map { EchoScenario.send("m\($0)", "hi", at: 9_000 + $0 * 1_000) }
    let told = try story(sends).faults("drag,user,at=9900ms,for=1200ms", "drop,request,POST /messages,while=dragging").run()
    #expect(told.instants(.link, "drop", "rule=2") == ["0:10.000", "0:11.000"])
  }

  @Test func `one finger at a time: a rule has nothing to act on while a finger is on the list, the app is away or suspended`() throws {
    let twice = try story().faults("drag,user,at=5s,for=2s", "drag,user,at=6999ms,for=1s", "drag,user,at=7s,for=1s").run()
    #expect(twice.result.rules.map(\.fired) == [1, 0, 1])
    #expect(twice.result.rules[1].remark == "at its instant there was nothing for it to act on")
    let own = try story([drag(at: 5_000, held: 900)]).faults("drag,user,at=5999ms,for=1s", "drag,user,at=6s,for=1s").run()
    #expect(own.result.rules.map(\.fired) == [0, 1])
    for away in ["restart,app,at=4s,for=2s", "background,app,at=4s,for=2s", "suspend,app,at=4s,for=2s"] {
      let told = try story().faults(away, "drag,user,at=5s,for=1s", "drag,user,at=6s,for=1s").run()
      #expect(told.result.rules.map(\.fired) == [1, 0, 1], "\(away)")
    }
    // A finger ends with its process.
    let ended = try story().faults("drag,user,at=4s,for=9s", "restart,app,at=5s,for=1s", "drag,user,at=7s,for=1s").run()
    #expect(ended.result.rules.map(\.fired) == [1, 1, 1])
  }

  @Test func `two drags on one frame are one, and the next frame at which it is possible counts`() throws {
    let sends = (0..<3).map { EchoScenario.send("m\($0)", "hi", at: 9_000 + $0 * 1_000) }
    let told = try story(sends).faults(
      "drag,user,on=event:message,nth=1,for=1500ms", "drag,user,on=event:message,for=300ms", "restart,app,at=9100ms,for=300ms"
    ).run()
    #expect(told.lines(.user, "gesture", showing: ["rule"], "do=drag") == ["0:09.450 1", "0:11.450 2"])
    #expect(told.result.rules[1].fired == 1)
  }

  @Test func `hold-drag lets a drag of the user rest longer, and the gesture says so`() throws {
    let all = [drag(at: 5_000, held: 400, id: "d1"), drag(at: 9_000, held: 400, id: "d2"), drag(at: 13_000, held: 400, id: "d3")]
    let second = try story(all).faults("hold-drag,user,for=2s,nth=2").run()
    #expect(
      second.lines(.user, "gesture", showing: ["intent", "held", "rule"]) == [
        "0:05.000 d1 400 -", "0:09.000 d2 2400 1", "0:13.000 d3 400 -",
      ])
    #expect(second.lines(.plan, "fired", showing: ["rule", "action", "forNs"]) == ["0:09.000 1 hold-drag 2000000000"])
    #expect(second.instants(.screen, "scroll", "state=rest") == ["0:05.500", "0:11.500", "0:13.500"])
    let next = try story(all).faults("hold-drag,user,at=6s,for=1s", "hold-drag,user,at=7s,for=500ms", "hold-drag,user,at=14s,for=1s").run()
    #expect(next.lines(.user, "gesture", showing: ["held", "rule"]) == ["0:05.000 400 -", "0:09.000 1900 1", "0:13.000 400 -"])
    #expect(next.result.rules.map(\.fired) == [1, 1, 0])
    #expect(next.result.rules[2].remark == "the user made no drag after its moment")
    let none = try story().faults("hold-drag,user,for=1s").run()
    #expect(none.result.rules[0].remark == "the user made no drag")
    // A finger of the plan is no drag of the user.
    let plan = try story().faults("drag,user,at=5s,for=1s", "hold-drag,user,for=1s").run()
    #expect(plan.result.rules.map(\.fired) == [1, 0])
    // 600 s at most.
    let long = try story([drag(at: 5_000, held: 599_000)]).faults("hold-drag,user,for=2s").run()
    #expect(long.lines(.user, "gesture", showing: ["held"]) == ["0:05.000 600000"])
  }

  @Test func `faults at the screen reach the core and stand in the trace; a slow device is slow for the next process too`() throws {
    let told = try story().faults(
      "lose-stop,screen,at=5s", "slow-markdown,screen,at=6s,for=400ms", "slow-apply,screen,at=7s,for=50ms", "restart,app,at=8s,for=1s"
    ).run()
    #expect(
      told.lines(.world, "screen", showing: ["fault", "forNs", "rule"]) == [
        "0:05.000 lose-stop - 1", "0:06.000 slow-markdown 400000000 2", "0:07.000 slow-apply 50000000 3",
      ])
    let heard = told.entries(.core, "screen.fault").map(\.at.description)
    #expect(heard == ["0:05.000", "0:06.000", "0:07.000", "0:09.000", "0:09.000"])
  }

  @Test func `a stop is lost once: until then lose-stop has nothing to act on`() throws {
    let sends = (0..<4).map { EchoScenario.send("m\($0)", "hi", at: 9_000 + $0 * 1_000) }
    // The echo core signals no stop, so the loss waits until its process ends.
    let told = try story(sends).faults("lose-stop,screen,on=event:message", "restart,app,at=11600ms,for=100ms").run()
    // The new process gets three events again at one instant.
    #expect(told.instants(.world, "screen") == ["0:09.450", "0:11.750"])
    #expect(told.result.rules[0].candidates == 7)
    #expect(told.result.rules[0].fired == 2)
  }

  @Test func `skipped frames do not come, the next ones do; what is left over ends with the quiet phase`() throws {
    // Frames of 16,666,667 ns from 5 s on: 60 in a second.
    let all = try story([drag(at: 5_000, held: 900)]).run()
    #expect(all.entries(.core, "tick").count == 59)
    let some = try story([drag(at: 5_000, held: 900)]).faults("skip-frames,screen,at=5500ms,count=3").run()
    #expect(some.entries(.core, "tick").count == 56)
    let instants = some.entries(.core, "tick").map {
      ($0.at - Instant(nanoseconds: 5_000_000_000)).nanoseconds / DisplayLink.frame.nanoseconds
    }
    #expect(instants == Array(1...29) + Array(33...59))
    let left = try story([drag(at: 5_000, held: 900)], end: 8).faults("skip-frames,screen,at=7s,count=3").run()
    #expect(left.entries(.core, "tick").count == 59)
    #expect(left.result.rules[0].fired == 1)
  }

  @Test func `the user ends the app: it is launched again after 500 ms, or after what the gesture says`() throws {
    func restart(_ fields: JSONObject, at ms: Int64 = 10_010) -> Intent {
      Intent(id: "r", at: .zero + .milliseconds(ms), gesture: Gesture("restart", fields))
    }
    let send = EchoScenario.send("m1", "hi", at: 10_000)
    let told = try story([send, restart([:])]).run()
    #expect(told.lines(.user, "gesture", showing: ["do"]) == ["0:10.000 send", "0:10.010 restart"])
    #expect(told.lines(.world, "stop", showing: ["rule"]) == ["0:10.010 -"])
    #expect(told.instants(.world, "launch") == ["0:00.000", "0:10.510"])
    // The store had it: sent again, saved once.
    #expect(told.instants(.link, "send", "name=POST /messages", "dir=out") == ["0:10.000", "0:10.510"])
    #expect(told.entries(.twin, "saved").count == 1)
    let longer = try story([send, restart(["for": 3_000])]).run()
    #expect(longer.instants(.world, "launch") == ["0:00.000", "0:13.010"])
    // Who ended the app cannot end it again before it is there.
    let again = try story(
      [restart(["for": 3_000]), restart([:], at: 11_000)].enumerated().map { index, intent in
        Intent(id: "r\(index)", at: intent.at, gesture: intent.gesture)
      }
    ).run()
    #expect(again.instants(.user, "waits") == ["0:11.000"])
    #expect(again.instants(.world, "stop") == ["0:10.010", "0:13.010"])
    // In the background and suspended too.
    let suspended = try story([restart([:])]).faults("suspend,app,at=10s,for=5s").run()
    #expect(suspended.instants(.world, "launch") == ["0:00.000", "0:10.510"])
    #expect(suspended.entries(.world, "resume").isEmpty)
  }

  @Test func `the app can be ended, and a finger put on the list, between any two entries of a trace`() throws {
    let intents = [EchoScenario.send("m1", "hi", at: 2_000), drag(at: 2_400, held: 300)]
    let count = try story(intents, end: 4).run().entries(.world, "quiet").first?.index ?? 0
    for entry in 0..<count {
      let story = try story(intents, end: 4).faults("restart,app,entry=\(entry),for=700ms", "drag,user,entry=\(entry),for=200ms")
      let (result, proof) = try Run(story.system, story.scenario, story.settings).prove()
      #expect(proof == .equal)
      let told = Told(result: result)
      // Ended before it took the gesture in, the app has nothing to send; what it has taken is saved once.
      let saved = told.entries(.twin, "saved").count
      #expect(saved <= 1 && saved >= told.entries(.core, "accepted").count, "entry \(entry)")
      #expect(result.rules[0].fired == 1)
    }
  }

  @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
  func `drag-held-updates drags on every recording with updates`(seed: UInt64) throws {
    let sends = (1...8).map { EchoScenario.send("m\($0)", "text \($0)", at: $0 * 3_000) }
    let told = try story(sends + [drag(at: 26_000, held: 300)], end: 30).seed(seed).plan("drag-held-updates").run()
    let drags = told.entries(.user, "gesture", "do=drag").filter { $0["intent"] == nil }
    #expect(!drags.isEmpty)
    // At least one update arrives under a finger of the plan.
    let under = told.entries(.core, "shown").filter { shown in
      drags.contains { drag in
        guard let fields = try? Drag(drag.fields) else { return false }
        return drag.at <= shown.at && shown.at <= drag.at + fields.length
      }
    }
    #expect(!under.isEmpty)
    #expect(told.entries(.user, "gesture", "intent=d").allSatisfy { $0["rule"] != nil })
  }
}

/// User scripts against a system.
struct UserScriptCheckTests {
  @Test(arguments: [
    (
      #"[{"t":1,"do":"send","message":"m","text":"hi"},{"t":2,"do":"lik","message":"m"}]"#,
      #"[1].do: echo has no gesture "lik"; did you mean "like"?"#
    ),
    (#"[{"t":1,"do":"dance about"}]"#, #"[0].do: echo has no gesture "dance about""#),
    (#"[{"t":1,"do":"like"}]"#, "[0].message: expected a string"),
    (#"[{"t":1,"do":"drag","path":[[100,5],[50,9]]}]"#, "[0].path[1]: instants must grow, up to 600000 ms"),
    (#"[{"t":1,"do":"drag","path":[[100,"up"]]}]"#, "[0].path[0]: expected [milliseconds, points]"),
    (#"[{"t":1,"do":"drag"}]"#, "[0].path: drag needs a list of at most 10000 points [milliseconds, points]"),
    (#"[{"t":1,"do":"drag","path":[],"held":"long"}]"#, "[0].held: expected 0 to 600000 milliseconds"),
    (#"[{"t":1,"do":"restart","for":-1}]"#, "[0].for: expected 0 to 600000 milliseconds"),
  ])
  func `a gesture that the system does not have, or with other fields, is refused with its place`(text: String, sentence: String) throws {
    let script = try UserScript(json: JSONReader.value(text))
    let error = #expect(throws: JSONError.self) { try script.check(against: Echo.system()) }
    #expect(error?.description == sentence)
  }

  @Test(arguments: [
    (#"[{"t":1,"ms":1,"do":"a"}]"#, "[0].ms: t gives the instant already"), (#"[{"t":1,"do":"a","id":7}]"#, "[0].id: expected a string"),
    (#"[{"t":1,"do":"a","target":["x"]}]"#, "[0].target: expected a string"),
    (#"[{"t":1,"do":"a","target":"x"}]"#, #"[0].target: no other gesture has the id "x""#),
    (#"[{"t":1,"do":"a","id":"x","target":"x"}]"#, #"[0].target: no other gesture has the id "x""#),
    (#"[{"t":1,"do":"a","n":1,"n":2}]"#, "[0].n: stands twice"),
  ])
  func `a script whose frame does not fit is refused when it is read`(text: String, sentence: String) throws {
    let error = #expect(throws: JSONError.self) { try UserScript(json: JSONReader.value(text)) }
    #expect(error?.description == sentence)
  }

  @Test func `a script with a drag along a path goes through the world as it is written`() throws {
    let script = try UserScript(
      json: JSONReader.value(
        #"[{"ms":1000,"do":"drag","path":[[400,-200],[800,-350.5]],"velocity":-300,"held":200},{"t":3,"do":"restart"}]"#))
    try script.check(against: Echo.system())
    let told = try Story(Echo.system(), EchoScenario(end: .seconds(5), [])).user(.script(script)).run()
    let gesture = try #require(told.entries(.user, "gesture", "do=drag").first)
    #expect(gesture["path"] == [[400, -200], [800, .double(-350.5)]])
    #expect(told.lines(.screen, "scroll", showing: ["state"]) == ["0:01.000 drag", "0:02.000 rest"])
    #expect(told.instants(.world, "launch") == ["0:00.000", "0:03.500"])
  }
}
