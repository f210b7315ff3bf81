import Contract
import HBCodeDialect
import HBCodeScenario
import Simulation
import Testing
import Wire

/// Hand-written scenarios of SCENARIO.md 7.
enum ScenarioSamples {
  /// R ("one"): one send at 10 s, its run from 10.4 to 25 s.
  static let one = """
    {
      "end": 30, "oneWay": 0.05,
      "client": {"desktop": "desk-1", "project": "projects/garden", "sessions": [{"id": "ses-01", "agent": "codex"}]},
      "desktops": [{"id": "desk-1", "sessions": [{"id": "ses-01", "overlay": {"settlementEpoch": 3}}]}],
      "intents": [
        {"at": 0, "user": {"do": "select", "session": "ses-01"}},
        {"at": 10, "user": {"do": "send", "text": "Close the roof", "session": "ses-01",
          "ids": {"queueId": "q-1", "operationId": "op-1", "mutationId": "m-1"}}}
      ],
      "stretches": [
        {"id": "run-1/op-1", "lane": "ses-01", "cause": {"operation": "op-1"}, "delay": 0.35, "length": 14.6,
          "run": {"runId": "run-1", "threadId": "th-1", "turnId": "turn-1"},
          "steps": [
            {"changes": [{"put": {"type": "user", "id": "u-1", "sourceOrder": [2, 0], "text": "Close the roof"}}]},
            {"at": 2, "changes": [{"put": {"type": "agent-reply", "id": "a-1", "sourceOrder": [2, 1], "text": "The roof"}}]},
            {"at": 9, "changes": [{"put": {"type": "agent-reply", "id": "a-1", "sourceOrder": [2, 1], "text": "The roof is closed."}}]}
          ],
          "outcome": [
            {"type": "user", "id": "u-1", "sourceOrder": [2, 0], "text": "Close the roof"},
            {"type": "agent-reply", "id": "a-1", "sourceOrder": [2, 1], "text": "The roof is closed."}
          ]}
      ]
    }
    """

  static func read(_ text: String) throws -> HBCodeScenario { try HBCodeScenario(json: JSONReader.value(text)) }
}

@Suite struct ScenarioFormatTests {
  @Test func `a hand-written scenario gets its defaults`() throws {
    let scenario = try ScenarioSamples.read(ScenarioSamples.one)
    #expect(scenario.facts.origin == "hand")
    #expect(scenario.facts.end == Instant(nanoseconds: 30_000_000_000))
    #expect(scenario.facts.oneWay == ["": .milliseconds(50)])
    #expect(scenario.facts.intents.map(\.id) == ["i1", "i2"])
    let stretch = try #require(scenario.tape.first)
    #expect(stretch.delay == .milliseconds(350))
    #expect(stretch.length == .milliseconds(14_600))
    #expect(stretch.end == .finished)
    #expect(stretch.session == "ses-01")
    #expect(stretch.steps.map(\.increment) == [1, 1, 1])
    guard case .put(let row)? = stretch.steps[0].changes.first else {
      Issue.record("no row")
      return
    }
    #expect(row.origin == .live)
    #expect(row.runId == "run-1")
    #expect(row.operationId == "op-1")
    #expect(row.timestamp == HBCodeScenario.standardWallClock)
    #expect(stretch.outcome.map(\.origin) == [.canonical, .canonical])
    let session = try #require(scenario.desktops.first?.sessions.first)
    #expect(session.overlay.version == OverlayVersion(epoch: 3, revision: 0))
    #expect(session.agent == .codex)
    #expect(scenario.stretches.first?.cause == "operation op-1")
  }

  @Test func `printed, read and printed again gives equal bytes`() throws {
    let full = """
      {"origin":"abc","wallClock":1700000000000,"start":-0.25,"end":99.123456789,"oneWay":{"":0.05,"/v1/desktops/b":0.0000005},
       "client":{"x":1},
       "desktops":[{"id":"d","sessions":[{"id":"s","agent":"claude","projectPath":"p","title":"T","updatedAt":5,
         "loadState":{"type":"unavailable","reason":"gone"},"nativeSessionId":"n","runtime":{"model":"sol"},
         "history":[{"type":"system","id":"h","sourceOrder":[1],"zeta":true,"text":"x"}],"historyGoesOn":true,
         "overlay":{"settlementEpoch":4,"revision":2,"blocks":[{"type":"thinking","id":"t","origin":"live","sourceOrder":[9],
           "timestamp":1,"runId":"r"}]},
         "activeRun":{"runId":"r"},"outbox":{"revision":3,"entries":[{"operationId":"o","userText":"u","holdReason":"wait"}]},
         "delivered":["z"],"deliveryPaused":true}]},{"id":"e"}],
       "intents":[{"id":"a","at":1.5,"user":{"do":"send","text":"x"}},{"at":2,"user":{"do":"stop"},"target":"a","lag":1,"basis":"assumed"}],
       "stretches":[{"lane":"s","cause":{"all":[{"clock":1},{"after":"other","moment":{"step":1}},{"accepted":"a"},{"request":"m","nth":2}]},
         "steps":[{"at":0.000000001,"increment":4,"changes":[{"take":"thinking:t"}]},{"at":1,"changes":[{"leave":"o"},
           {"hold":"o","reason":null},{"title":null},{"runtime":null},{"epochJump":5},{"outboxRevision":2}]}],
         "length":3,"end":{"stopped":"a"},"recordedBegin":-0.1,"stopTime":0.25,"startedAt":5,"endedAt":6,"updatedAt":7,"basis":"derived"},
        {"id":"other","session":"s","cause":{"after":"stretch-1","moment":"began"},"end":{"handedOver":"o"}},
        {"id":"third","desktop":"e","cause":{"after":"other"},"end":{"open":"gap"},"steps":[{"changes":[{"event":"relay:gap",
          "fields":{"fromMs":1,"toMs":2}},{"entry":{"operationId":"p","userText":"w"}},
          {"history":{"type":"system","id":"k","sourceOrder":[3]}}]}]}],
       "service":[{"key":"k","method":"m","nth":2,"slow":0.1},{"method":"m","refused":{"code":"busy"}},{"method":"m","steerAccepted":0.2}],
       "conditions":[{"role":"response","name":"x","where":[["key","=","k"]],"nth":2,"what":"lost","reason":"r"},
         {"what":{"late":0.3},"basis":"assumed"},{"what":{"closed":1000,"who":"client"}}],
       "outages":[{"from":1,"until":2,"code":1011,"who":"server"}],"draws":{"check":[0,0.25],"a":[1.5]},
       "book":{"cursors":[{"session":"s","row":"user:a","cursor":"c"}],"boundaryTokens":[{"session":"s","lastRow":"user:a","token":"t"}]},
       "notes":[{"what":"w","frames":[1,2],"basis":"assumed"},{"what":"v"}]}
      """
    for text in [ScenarioSamples.one, full] {
      let scenario = try ScenarioSamples.read(text)
      let printed = JSONWriter.compact(scenario.json)
      let again = try HBCodeScenario(json: JSONReader.value(printed))
      #expect(again == scenario)
      #expect(JSONWriter.compact(again.json) == printed)
    }
  }

  @Test(
    arguments: [
      (#"{"end":1,"ende":2}"#, "ende: is no key of this object"),
      (#"{}"#, "end: is missing"),
      (#"{"end":"x"}"#, "end: expected seconds, or a text such as \"1500ns\", found a string"),
      (#"{"end":1,"system":"hapi"}"#, "system: “hapi” is not hbcode"),
      (#"{"end":1,"format":2}"#, "format: 2 is not read here; this program reads format 1"),
      (#"{"end":1,"desktops":[{"id":"d","sessions":[{"id":"s"},{"id":"s"}]}]}"#, "desktops[0].sessions[1].id: “s” stands twice"),
      (#"{"end":1,"intents":[{"at":0,"user":{"do":"jump"}}]}"#, "intents[0].user.do: unknown gesture “jump”"),
      (#"{"end":1,"intents":[{"at":0,"user":{"do":"select"}}]}"#, "intents[0].user.session: select needs a string"),
      (#"{"end":1,"stretches":[{"cause":{"clock":0},"lane":"s"}]}"#, "stretches[0].lane: there is no session “s”"),
      (
        #"{"end":1,"stretches":[{"cause":{"clock":0},"steps":[{"at":2},{"at":1}]}]}"#,
        "stretches[0].steps[1].at: 1.000 s comes before 2.000 s of the step before"
      ),
      (
        #"{"end":1,"stretches":[{"cause":{"clock":0},"steps":[{"changes":[{"put":{"type":"user","id":"u","sourceOrder":[1]}}]}]}]}"#,
        "stretches[0].steps[0].changes[0].put: row.live.runId.missing"
      ),
      (
        #"{"end":1,"stretches":[{"cause":{"when":0}}]}"#,
        "stretches[0].cause: “when” is none of clock, operation, accepted, after, request, all"
      ),
      (#"{"end":1,"service":[{"method":"m"}]}"#, "service[0]: needs one of slow, refused, takenLate, steerAccepted"),
      (#"{"end":1,"end":2}"#, "end: stands twice"),
      (#"{"end":1,"stretches":[{"cause":{"clock":0},"delay":-1}]}"#, "stretches[0].delay: -1.000 s is negative"),
    ]) func `reading is strict and names the key path`(text: String, message: String) throws
  {
    let error = #expect(throws: JSONError.self) { _ = try ScenarioSamples.read(text) }
    #expect(error?.description == message)
  }

  @Test func `instants survive to the nanosecond`() throws {
    for nanoseconds: Int64 in [0, 1, -1, 999_999_999, 123_456_789_012_345, 2_099_999_999_999_999, -2_099_999_999_999_999] {
      var scenario = HBCodeScenario(
        facts: ScenarioFacts(wallClockMilliseconds: 0, end: Instant(nanoseconds: nanoseconds)), clientStart: [:], desktops: [])
      scenario.facts.start = Instant(nanoseconds: nanoseconds)
      #expect(try HBCodeScenario(json: scenario.json).facts.end.nanoseconds == nanoseconds)
    }
  }
}
