import Contract
import HBCodeDialect
import HBCodeScenario
import Simulation
import Testing
import Wire

@Suite struct CompilerTests {
  private static func ms(_ value: Int64) -> Interval { .milliseconds(value) }
  private static func at(_ seconds: Double) -> Instant { ScriptedPhone.seconds(seconds) }

  /// The phone of recording R without a fault.
  static func one(lostEvents: [(name: String, nth: Int)] = []) throws -> ScriptedPhone {
    var phone = ScriptedPhone(try ScenarioSamples.read(ScenarioSamples.one))
    phone.lostEvents = lostEvents
    phone.until = at(30)
    phone.open("ses-01", at: 0)
    phone.check("ses-01", at: 0)
    phone.submit("ses-01", ScriptedPhone.entry(1, "Close the roof", at: 10), at: 10, mutation: "m-1")
    phone.load("ses-01", at: 25.05)
    return phone
  }

  private func expectOne(_ scenario: HBCodeScenario, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let original = try #require(ScenarioSamples.read(ScenarioSamples.one).tape.first, sourceLocation: sourceLocation)
    #expect(scenario.tape.map(\.id) == ["run-1/op-1"], sourceLocation: sourceLocation)
    let stretch = try #require(scenario.tape.first, sourceLocation: sourceLocation)
    #expect(stretch.cause == .operation("op-1"), sourceLocation: sourceLocation)
    #expect(stretch.delay == CompilerTests.ms(350), sourceLocation: sourceLocation)
    #expect(stretch.length == CompilerTests.ms(14_600), sourceLocation: sourceLocation)
    #expect(stretch.end == .finished, sourceLocation: sourceLocation)
    #expect(stretch.recordedBegin == CompilerTests.at(10.4), sourceLocation: sourceLocation)
    #expect(stretch.run == original.run, sourceLocation: sourceLocation)
    #expect(stretch.steps.map(\.offset) == [.zero, CompilerTests.ms(2_000), CompilerTests.ms(9_000)], sourceLocation: sourceLocation)
    #expect(stretch.steps.map(\.increment) == [1, 1, 1], sourceLocation: sourceLocation)
    #expect(stretch.steps.flatMap(\.changes).count == 3, sourceLocation: sourceLocation)
    #expect(stretch.outcome.map(\.identity) == ["user:u-1", "agent-reply:a-1"], sourceLocation: sourceLocation)
    #expect(scenario.facts.oneWay == ["": CompilerTests.ms(50)], sourceLocation: sourceLocation)
    let session = try #require(scenario.desktops.first?.sessions.first, sourceLocation: sourceLocation)
    #expect(session.overlay.version == OverlayVersion(epoch: 3, revision: 0), sourceLocation: sourceLocation)
    #expect(session.history.isEmpty && !session.historyGoesOn && session.outbox.entries.isEmpty, sourceLocation: sourceLocation)
  }

  @Test func `recording R compiles to its stretch, its delay and its two intents`() throws {
    let scenario = try CompilerTests.one().compiled()
    try expectOne(scenario)
    #expect(scenario.facts.conditions.isEmpty)
    #expect(scenario.facts.intents.map(\.at) == [.zero, CompilerTests.at(10)])
    let send = try #require(scenario.facts.intents.last)
    #expect(
      try UserAction(send.gesture)
        == .send(
          text: "Close the roof", session: "ses-01", thread: nil,
          ids: ActionIDs(queueId: "q-1", operationId: "op-1", mutationId: "m-1"), options: [:]))
    #expect(scenario.service.isEmpty)
    let again = try HBCodeScenario(json: scenario.json)
    #expect(again == scenario)
  }

  @Test func `a lost submit that was sent again is one operation, taken in at 40.15 s, and a condition on the first request`() throws {
    var phone = ScriptedPhone(try ScenarioSamples.read(ScenarioSamples.one))
    phone.open("ses-01", at: 0)
    phone.check("ses-01", at: 0)
    let entry = ScriptedPhone.entry(1, "Close the roof", at: 10)
    phone.submit("ses-01", entry, at: 10, mutation: "m-1", lost: true)
    phone.check("ses-01", at: 40)
    phone.submit("ses-01", entry, at: 40.1, mutation: "m-1")
    phone.load("ses-01", at: 55.15)
    let scenario = try phone.compiled()
    let stretch = try #require(scenario.tape.first)
    #expect(scenario.tape.count == 1)
    #expect(stretch.delay == CompilerTests.ms(350))
    #expect(stretch.recordedBegin == CompilerTests.at(40.5))
    #expect(stretch.length == CompilerTests.ms(14_600))
    #expect(scenario.facts.intents.count == 2)
    let condition = try #require(scenario.facts.conditions.first)
    #expect(scenario.facts.conditions.count == 1)
    #expect(condition.what == .lost)
    #expect(condition.nth == 1)
    #expect(condition.pattern.role == .request)
    #expect(
      condition.pattern.conditions == [
        FramePattern.Condition(field: "key", comparison: .equal, value: "run.chatOutboxSubmit:m-1")
      ])
  }

  @Test func `a lost receipt is a condition on the answer, and the operation was taken in at 10.05 s`() throws {
    var phone = ScriptedPhone(try ScenarioSamples.read(ScenarioSamples.one))
    phone.until = CompilerTests.at(30)
    phone.open("ses-01", at: 0)
    phone.check("ses-01", at: 0)
    phone.submit("ses-01", ScriptedPhone.entry(1, "Close the roof", at: 10), at: 10, mutation: "m-1", answerLost: true)
    phone.load("ses-01", at: 25.05)
    let scenario = try phone.compiled()
    try expectOne(scenario)
    let condition = try #require(scenario.facts.conditions.first)
    #expect(scenario.facts.conditions.count == 1)
    #expect(condition.what == .lost)
    #expect(condition.pattern.role == .response)
    #expect(condition.nth == 1)
  }

  @Test(
    arguments: [
      ("chat:run-started", 1), ("chat:run-finished", 1), ("chat:outbox-changed", 1), ("chat:outbox-changed", 2), ("session:updated", 1),
    ]) func `a missing event changes nothing of the stretch`(name: String, nth: Int) throws
  {
    let scenario = try CompilerTests.one(lostEvents: [(name, nth)]).compiled()
    let stretch = try #require(scenario.tape.first)
    #expect(scenario.tape.map(\.id) == ["run-1/op-1"])
    #expect(stretch.delay == CompilerTests.ms(350))
    #expect(stretch.length == CompilerTests.ms(14_600))
    #expect(stretch.steps.map(\.offset) == [.zero, CompilerTests.ms(2_000), CompilerTests.ms(9_000)])
    #expect(stretch.outcome.count == 2)
  }

  private static let steered = """
    {"end": 60, "oneWay": 0.05, "client": {"desktop": "desk-1"},
     "desktops": [{"id": "desk-1", "sessions": [{"id": "ses-01", "overlay": {"settlementEpoch": 3}}]}],
     "service": [{"key": "run.chatOutboxSubmit:m-2", "method": "run.chatOutboxSubmit", "steerAccepted": 0.3}],
     "intents": [{"at": 0, "user": {"do": "select", "session": "ses-01"}}],
     "stretches": [
       {"id": "run-1/op-1", "lane": "ses-01", "cause": {"operation": "op-1"}, "delay": 0.35, "length": 8,
        "run": {"runId": "run-1", "threadId": "th-1", "turnId": "turn-1"}, "end": {"handedOver": "op-2"},
        "steps": [{"changes": [{"put": {"type": "user", "id": "u-1", "sourceOrder": [2, 0], "text": "One"}}]},
          {"at": 1, "changes": [{"put": {"type": "agent-reply", "id": "a-1", "sourceOrder": [2, 1], "text": "First"}}]}],
        "outcome": [{"type": "user", "id": "u-1", "sourceOrder": [2, 0], "text": "One"},
          {"type": "agent-reply", "id": "a-1", "sourceOrder": [2, 1], "text": "First"}]},
       {"id": "run-1/op-2", "lane": "ses-01", "cause": {"operation": "op-2"}, "delay": 0.35, "length": 9,
        "run": {"runId": "run-1", "threadId": "th-1", "turnId": "turn-1"},
        "steps": [{"changes": [{"put": {"type": "user", "id": "u-2", "sourceOrder": [2, 2], "text": "Two"}}]},
          {"at": 2, "changes": [{"put": {"type": "agent-reply", "id": "a-2", "sourceOrder": [2, 3], "text": "Second"}}]}],
        "outcome": [{"type": "user", "id": "u-2", "sourceOrder": [2, 2], "text": "Two"},
          {"type": "agent-reply", "id": "a-2", "sourceOrder": [2, 3], "text": "Second"}]}
     ]}
    """

  static func steeredPhone() throws -> ScriptedPhone {
    var phone = ScriptedPhone(try ScenarioSamples.read(steered))
    phone.open("ses-01", at: 0)
    phone.check("ses-01", at: 0)
    phone.submit("ses-01", ScriptedPhone.entry(1, "One", at: 10), at: 10, mutation: "m-1")
    phone.submit("ses-01", ScriptedPhone.entry(2, "Two", at: 14, steers: "run-1"), at: 14, mutation: "m-2")
    phone.load("ses-01", at: 27.45)
    return phone
  }

  @Test func `a steer cuts its run where its entry leaves, and its acceptance is a service time`() throws {
    let scenario = try CompilerTests.steeredPhone().compiled()
    #expect(scenario.tape.map(\.id) == ["run-1/op-1", "run-1/op-2"])
    let head = scenario.tape[0]
    let steer = scenario.tape[1]
    #expect(head.end == .handedOver(operation: "op-2"))
    #expect(head.length == CompilerTests.ms(8_000))
    #expect(steer.recordedBegin == CompilerTests.at(18.4))
    #expect(steer.length == CompilerTests.ms(9_000))
    #expect(steer.delay == CompilerTests.ms(350))
    #expect(steer.end == .finished)
    #expect(steer.outcome.map(\.identity) == ["user:u-2", "agent-reply:a-2"])
    #expect(head.outcome.map(\.identity) == ["user:u-1", "agent-reply:a-1"])
    #expect(
      scenario.service == [
        ServiceRule(key: "run.chatOutboxSubmit:m-2", method: "run.chatOutboxSubmit", what: .steerAccepted(after: CompilerTests.ms(300)))
      ])
  }

  @Test func `a steer's row that is only seen in history still belongs to the steer`() throws {
    var phone = try CompilerTests.steeredPhone()
    // The lease is given up at 17 s: no live block after that.
    phone.send(17, .timelineInterest, ["sessionId": "ses-01", "threadId": .null, "hold": false])
    let scenario = try phone.compiled()
    #expect(scenario.tape.map(\.id) == ["run-1/op-1", "run-1/op-2"])
    #expect(scenario.tape[1].recordedBegin == CompilerTests.at(18.4))
    #expect(scenario.tape[1].outcome.count == 2)
    #expect(scenario.facts.intents.contains { $0.gesture.name == "background" && $0.at == CompilerTests.at(17) })
  }

  @Test func `two sends queue: the second begins 0.6 s after the first run is over`() throws {
    let text = ScenarioSamples.one.replacingFirst(
      "\n  ]\n}",
      """
      ,
            {"id": "run-2/op-2", "lane": "ses-01", "cause": {"operation": "op-2"}, "delay": 0.6, "length": 6,
              "run": {"runId": "run-2", "threadId": "th-1", "turnId": "turn-2"},
              "steps": [{"changes": [{"put": {"type": "user", "id": "u-2", "sourceOrder": [3, 0], "text": "Two"}}]}],
              "outcome": [{"type": "user", "id": "u-2", "sourceOrder": [3, 0], "text": "Two"}]}
        ]
      }
      """)
    var phone = ScriptedPhone(try ScenarioSamples.read(text))
    phone.open("ses-01", at: 0)
    phone.check("ses-01", at: 0)
    phone.submit("ses-01", ScriptedPhone.entry(1, "Close the roof", at: 10), at: 10, mutation: "m-1")
    phone.submit("ses-01", ScriptedPhone.entry(2, "Two", at: 10.2), at: 10.2, mutation: "m-2")
    phone.load("ses-01", at: 25.05)
    phone.load("ses-01", at: 31.65)
    let scenario = try phone.compiled()
    #expect(scenario.tape.map(\.id) == ["run-1/op-1", "run-2/op-2"])
    #expect(scenario.tape[1].delay == CompilerTests.ms(600))
    #expect(scenario.tape[1].recordedBegin == CompilerTests.at(25.6))
    #expect(scenario.tape[1].length == CompilerTests.ms(6_000))
    #expect(scenario.tape[1].outcome.map(\.identity) == ["user:u-2"])
    #expect(scenario.facts.intents.count == 3)
  }

  @Test func `an aborted run ends by its stop, with the recorded stop time`() throws {
    var phone = ScriptedPhone(
      try ScenarioSamples.read(
        ScenarioSamples.one.replacingFirst("\"length\": 14.6,", "\"length\": 14.6, \"stopTime\": 0.2, \"end\": {\"stopped\": \"i2\"},")))
    phone.open("ses-01", at: 0)
    phone.submit("ses-01", ScriptedPhone.entry(1, "Close the roof", at: 10), at: 10, mutation: "m-1")
    phone.send(18, .stop, ["sessionId": "ses-01", "runId": "run-1"], key: "run.chatStop:m-3")
    let scenario = try phone.compiled()
    let stretch = try #require(scenario.tape.first)
    let stop = try #require(scenario.facts.intents.last)
    #expect(stop.gesture.name == "stop")
    #expect(stop.at == CompilerTests.at(18))
    #expect(stop.lag == CompilerTests.ms(7_550))
    #expect(stop.target == scenario.facts.intents[1].id)
    #expect(stretch.end == .stopped(intent: stop.id))
    #expect(stretch.stopTime == CompilerTests.ms(200))
    #expect(stretch.length == CompilerTests.ms(7_850))
  }

  @Test func `a recording that is cut in a run leaves it open`() throws {
    let frames = try CompilerTests.one().record().filter { $0.at <= CompilerTests.at(20) }
    let scenario = try Compiler.compile(frames, wallClockMilliseconds: HBCodeScenario.standardWallClock, origin: "test")
    let stretch = try #require(scenario.tape.first)
    #expect(stretch.end == .open(why: "the recording ends"))
    #expect(stretch.steps.count == 3)
    #expect(stretch.outcome.isEmpty)
  }

  @Test func `a copy that the client made by itself is no intent and is noted`() throws {
    var phone = ScriptedPhone(try ScenarioSamples.read(ScenarioSamples.one))
    phone.open("ses-01", at: 0)
    phone.submit("ses-01", ScriptedPhone.entry(1, "Close the roof", at: 10), at: 10, mutation: "m-1", answerLost: true)
    phone.submit("ses-01", ScriptedPhone.entry(9, "Close the roof", at: 10), at: 30.1, mutation: "m-9")
    let scenario = try phone.compiled()
    #expect(scenario.facts.intents.map(\.gesture.name) == ["select", "send"])
    #expect(scenario.facts.notes.contains { $0.what.hasPrefix("op-9 is a copy of op-1") && $0.frames.count == 1 })
  }

  @Test func `a resend under a new key is no second intent and is noted with its frame`() throws {
    var phone = ScriptedPhone(try ScenarioSamples.read(ScenarioSamples.one))
    phone.open("ses-01", at: 0)
    phone.check("ses-01", at: 0)
    let entry = ScriptedPhone.entry(1, "Close the roof", at: 10)
    phone.submit("ses-01", entry, at: 10, mutation: "m-1", lost: true)
    phone.check("ses-01", at: 40)
    phone.submit("ses-01", entry, at: 40.1, mutation: "m-2")
    let frames = phone.record()
    let scenario = try Compiler.compile(frames, wallClockMilliseconds: HBCodeScenario.standardWallClock, origin: "test")
    #expect(scenario.facts.intents.map(\.gesture.name) == ["select", "send"])
    let second = try #require(frames.last { $0.direction == .out && String(decoding: $0.payload, as: UTF8.self).contains("m-2") })
    #expect(scenario.facts.notes.contains { $0.what.hasPrefix("resent under a new key: op-1") && $0.frames == [second.sequence] })
  }

  @Test func `an entry from another session comes in by the clock, its hold is lifted, its run is its operation's`() throws {
    let text = """
      {"end": 60, "oneWay": 0.05,
       "desktops": [{"id": "desk-1", "sessions": [{"id": "ses-01", "overlay": {"settlementEpoch": 3}}]}],
       "stretches": [
         {"id": "in", "session": "ses-01", "cause": {"clock": 12}, "steps": [{"changes": [{"entry": {"operationId": "op-s", "userText": "Hi",
            "holdReason": "Needs approval", "message": {"direction": "incoming", "from": "API", "to": "This", "peer": {"name": "API",
            "agent": "claude"}, "delivery": null, "link": null}}}]}]},
         {"id": "free", "session": "ses-01", "cause": {"clock": 25}, "steps": [{"changes": [{"hold": "op-s", "reason": null}]}]},
         {"id": "run-s/op-s", "lane": "ses-01", "cause": {"operation": "op-s"}, "delay": 0.5, "length": 4,
          "run": {"runId": "run-s", "threadId": "th-1", "turnId": "turn-1"},
          "steps": [{"changes": [{"put": {"type": "user", "id": "u-s", "sourceOrder": [2, 0], "text": "Hi"}}]}]}
       ]}
      """
    var phone = ScriptedPhone(try ScenarioSamples.read(text))
    phone.open("ses-01", at: 0)
    phone.check("ses-01", at: 0)
    phone.load("ses-01", at: 29.6)
    let scenario = try phone.compiled()
    #expect(scenario.tape.map(\.id) == ["entry/op-s", "outside/ses-01/hold/op-s", "run-s/op-s"])
    #expect(scenario.tape[0].cause == .clock(CompilerTests.at(12)))
    #expect(scenario.tape[1].cause == .clock(CompilerTests.at(25)))
    #expect(scenario.tape[2].cause == .operation("op-s"))
    #expect(scenario.tape[2].delay == CompilerTests.ms(500))
    #expect(scenario.tape[2].length == CompilerTests.ms(4_000))
    #expect(scenario.facts.intents.map(\.gesture.name) == ["select"])
  }

  @Test func `a recorded epoch jump is a clock stretch and the run's steps go on`() throws {
    let text = ScenarioSamples.one.replacingFirst(
      "\"stretches\": [",
      "\"stretches\": [{\"id\": \"jump\", \"session\": \"ses-01\", \"cause\": {\"clock\": 16}, \"steps\": [{\"changes\": [{\"epochJump\": 5}]}]},"
    )
    var phone = ScriptedPhone(try ScenarioSamples.read(text))
    phone.until = CompilerTests.at(30)
    phone.open("ses-01", at: 0)
    phone.check("ses-01", at: 0)
    phone.submit("ses-01", ScriptedPhone.entry(1, "Close the roof", at: 10), at: 10, mutation: "m-1")
    phone.load("ses-01", at: 16.05)
    phone.load("ses-01", at: 25.05)
    let scenario = try phone.compiled()
    let jump = try #require(scenario.tape.first { $0.id == "epoch/ses-01/8" })
    #expect(jump.cause == .clock(CompilerTests.at(16)))
    #expect(jump.steps.first?.changes == [.epochJump(by: 5)])
    let stretch = try #require(scenario.tape.first { $0.id == "run-1/op-1" })
    #expect(stretch.steps.map(\.offset) == [.zero, CompilerTests.ms(2_000), CompilerTests.ms(9_000)])
    // The step after the jump puts all that is shown then, also what is as it was before.
    let last = try #require(stretch.steps.last).changes.compactMap { if case .put(let row) = $0 { row.identity } else { nil } }
    #expect(last == ["user:u-1", "agent-reply:a-1"])
  }

  @Test func `history that was there is the start state, rows that come in between are outside changes`() throws {
    let text = """
      {"end": 60, "oneWay": 0.05,
       "desktops": [{"id": "desk-1", "sessions": [{"id": "ses-01", "history": [
         {"type": "system", "id": "h-0", "sourceOrder": [0]}, {"type": "system", "id": "h-1", "sourceOrder": [1]}]}]}],
       "stretches": [{"id": "new", "session": "ses-01", "cause": {"clock": 7}, "steps": [
         {"changes": [{"history": {"type": "system", "id": "h-2", "sourceOrder": [2], "timestamp": 1767225607000}}]}]}]}
      """
    var phone = ScriptedPhone(try ScenarioSamples.read(text))
    phone.open("ses-01", at: 0)
    phone.load("ses-01", at: 20)
    let scenario = try phone.compiled()
    #expect(scenario.desktops[0].sessions[0].history.map(\.identity) == ["system:h-0", "system:h-1"])
    #expect(scenario.tape.map(\.cause) == [.clock(CompilerTests.at(7))])
  }

  @Test func `what a page shows between rows that windows lacked came in between, at the update that tells of a change`() throws {
    let rows = (0..<14).map { #"{"history": {"type": "system", "id": "n-\#($0)", "sourceOrder": [2, \#($0)], "timestamp": 1}}"# }
    let text = """
      {"end": 60, "oneWay": 0.05,
       "desktops": [{"id": "desk-1", "sessions": [{"id": "ses-01", "history": [
         {"type": "system", "id": "h-0", "sourceOrder": [0]}, {"type": "system", "id": "h-1", "sourceOrder": [1]}]}]}],
       "stretches": [{"id": "new", "session": "ses-01", "cause": {"clock": 7}, "steps": [
         {"changes": [\(rows.joined(separator: ", ")), {"title": "Anew"}]}]}]}
      """
    var phone = ScriptedPhone(try ScenarioSamples.read(text))
    phone.open("ses-01", at: 0)
    phone.load("ses-01", at: 7.1)
    phone.send(
      7.3, .loadPageBefore,
      ["sessionId": "ses-01", "cursor": "x:cursor:system:n-2", "boundaryToken": "x:boundary:system:n-13", "limit": 100])
    let scenario = try phone.compiled()
    #expect(scenario.desktops[0].sessions[0].history.map(\.identity) == ["system:h-0", "system:h-1"])
    #expect(scenario.tape.count == 15)
    #expect(scenario.tape.allSatisfy { $0.cause == .clock(CompilerTests.at(7)) })
    let title = try #require(scenario.tape.last)
    #expect(title.steps.first?.changes == [.title("Anew")])
    #expect(title.stamps.updatedAt == HBCodeScenario.standardWallClock + 7_000)
  }

  @Test func `rows of a thread that is opened were there, those that its next window has besides came in between`() throws {
    let text = """
      {"end": 60, "oneWay": 0.05,
       "desktops": [{"id": "desk-1", "sessions": [{"id": "ses-01", "history": [
         {"type": "system", "id": "h-0", "sourceOrder": [0]}, {"type": "system", "id": "h-2", "sourceOrder": [2]},
         {"type": "system", "id": "t-1", "sourceOrder": [1], "threadId": "th-1"}]}]}],
       "stretches": [{"id": "new", "session": "ses-01", "cause": {"clock": 8}, "steps": [
         {"changes": [{"history": {"type": "system", "id": "t-3", "sourceOrder": [3], "timestamp": 1, "threadId": "th-1"}}]}]}]}
      """
    var phone = ScriptedPhone(try ScenarioSamples.read(text))
    phone.open("ses-01", at: 0)
    for at in [5.0, 9.0] {
      phone.send(at, .loadThread, ["sessionId": "ses-01", "threadId": "th-1", "limit": 12, "anchor": .null])
    }
    let scenario = try phone.compiled()
    #expect(scenario.desktops[0].sessions[0].history.map(\.identity) == ["system:h-0", "system:t-1", "system:h-2"])
    #expect(scenario.tape.map(\.id) == ["outside/ses-01/history/system:t-3"])
  }

  @Test func `marks take precedence over inference and keep the identifiers of the requests`() throws {
    var frames = try CompilerTests.one().record()
    func mark(_ at: Double, _ text: String) -> Frame {
      Frame(at: CompilerTests.at(at), connection: ConnectionID(0), direction: .out, kind: .mark, payload: Array(text.utf8))
    }
    frames.append(mark(0, #"{"user":{"do":"select","session":"ses-01"},"intent":"a","t":0}"#))
    frames.append(mark(9.99, #"{"user":{"do":"send","text":"Close the roof"},"intent":"b","t":9990000000}"#))
    frames.append(mark(15, #"{"note":"only words"}"#))
    frames = frames.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    for index in frames.indices { frames[index].sequence = index + 1 }
    let scenario = try Compiler.compile(frames, wallClockMilliseconds: HBCodeScenario.standardWallClock, origin: "test")
    #expect(scenario.facts.intents.map(\.at) == [.zero, CompilerTests.at(10)])
    #expect(scenario.facts.intents.map(\.basis) == [.recorded, .recorded])
    #expect(scenario.facts.intents[1].gesture.fields["ids"]?["operationId"] == "op-1")
  }

  @Test func `frames that are no recording are refused with a fact`() {
    #expect(throws: CompileError(problem: "no frames")) {
      _ = try Compiler.compile([], wallClockMilliseconds: 0, origin: "test")
    }
    let late = Frame(sequence: 7, at: Instant(nanoseconds: .max), connection: ConnectionID(1), direction: .in, kind: .text, payload: [])
    #expect(throws: CompileError(frame: 7, problem: "its instant, 9223372036854775807 ns, is not within 24 days of the start")) {
      _ = try Compiler.compile([late], wallClockMilliseconds: 0, origin: "test")
    }
    let mark = Frame(sequence: 1, at: .zero, connection: ConnectionID(1), direction: .out, kind: .mark, payload: [])
    #expect(throws: CompileError(problem: "no message of hbcode in 1 frames")) {
      _ = try Compiler.compile([mark], wallClockMilliseconds: 0, origin: "test")
    }
  }

  @Test func `equal frames compile to equal bytes`() throws {
    let frames = try CompilerTests.steeredPhone().record()
    let first = try Compiler.compile(frames, wallClockMilliseconds: HBCodeScenario.standardWallClock, origin: "test")
    let second = try Compiler.compile(frames, wallClockMilliseconds: HBCodeScenario.standardWallClock, origin: "test")
    #expect(JSONWriter.compact(first.json) == JSONWriter.compact(second.json))
  }

  /// Whatever happens to the frames, the compiler ends with a scenario that can be printed and read, or with one clear error.
  @Test(arguments: 0..<300) func `changed frames never crash the compiler`(seed: Int) throws {
    let random = SeededRandom(seed: UInt64(seed))
    var frames = try (seed % 2 == 0 ? CompilerTests.steeredPhone() : CompilerTests.one()).record()
    for round in 0..<(1 + random.index(below: 12, at: 0)) {
      let draw = random.fork("round", "\(round)")
      guard !frames.isEmpty else { break }
      let index = draw.index(below: frames.count, at: 0)
      switch draw.index(below: 9, at: 1) {
      case 0: frames.remove(at: index)
      case 1: frames.insert(frames[index], at: draw.index(below: frames.count, at: 2))
      case 2: frames.swapAt(index, draw.index(below: frames.count, at: 2))
      case 3:
        if !frames[index].payload.isEmpty {
          frames[index].payload[draw.index(below: frames[index].payload.count, at: 2)] = UInt8(truncatingIfNeeded: draw.bits(at: 3))
        }
      case 4: frames[index].payload = Array(frames[index].payload.prefix(draw.index(below: frames[index].payload.count + 1, at: 2)))
      case 5: frames[index].at = Instant(nanoseconds: Int64(truncatingIfNeeded: draw.bits(at: 2)) >> draw.index(below: 64, at: 3))
      case 6:
        // Numbers at the edge of what 64 bits and doubles hold.
        let values = ["9007199254740991", "-9007199254740991", "9223372036854775807", "1e308", "-1", "0", "1.5"]
        let text = String(decoding: frames[index].payload, as: UTF8.self)
        frames[index].payload = Array(
          text.replacingNumber(draw.index(below: 6, at: 2), with: values[draw.index(below: values.count, at: 3)]).utf8)
      case 7:
        let words = ["op-1", "op-2", "run-1", "ses-01", "null", "user", "live", "canonical"]
        let text = String(decoding: frames[index].payload, as: UTF8.self)
        frames[index].payload = Array(
          text.replacingFirst(words[draw.index(below: words.count, at: 2)], words[draw.index(below: words.count, at: 3)]).utf8)
      default:
        frames[index].direction = frames[index].direction.reversed
        frames[index].kind = draw.index(below: 2, at: 2) == 0 ? .close : .open
      }
    }
    if seed % 3 == 0 { for index in frames.indices { frames[index].sequence = index + 1 } }
    do {
      let scenario = try Compiler.compile(frames, wallClockMilliseconds: HBCodeScenario.standardWallClock, origin: "test")
      let printed = scenario.json
      let again = try HBCodeScenario(json: printed)
      #expect(JSONWriter.compact(again.json) == JSONWriter.compact(printed))
    } catch let error as CompileError {
      #expect(!error.description.isEmpty && !error.description.contains("\n"))
    }
  }
}

extension String {
  func replacingFirst(_ old: String, _ new: String) -> String {
    guard let range = firstRange(of: old) else { return self }
    return replacingCharacters(in: range, with: new)
  }

  private func firstRange(of text: String) -> Range<String.Index>? {
    let bytes = Array(utf8)
    let wanted = Array(text.utf8)
    guard !wanted.isEmpty, bytes.count >= wanted.count else { return nil }
    for start in 0...(bytes.count - wanted.count) where Array(bytes[start..<start + wanted.count]) == wanted {
      let lower = utf8.index(startIndex, offsetBy: start)
      return lower..<utf8.index(lower, offsetBy: wanted.count)
    }
    return nil
  }

  private func replacingCharacters(in range: Range<String.Index>, with new: String) -> String {
    String(self[..<range.lowerBound]) + new + String(self[range.upperBound...])
  }

  /// The n-th run of digits replaced.
  func replacingNumber(_ n: Int, with new: String) -> String {
    var parts: [String] = []
    var current = ""
    var isNumber = false
    for character in self {
      if character.isNumber != isNumber {
        parts.append(current)
        current = ""
        isNumber = character.isNumber
      }
      current.append(character)
    }
    parts.append(current)
    let numbers = parts.indices.filter { parts[$0].first?.isNumber ?? false }
    guard n < numbers.count else { return self }
    parts[numbers[n]] = new
    return parts.joined()
  }
}
