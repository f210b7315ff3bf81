import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeSystem
import Replay
import Simulation
import TestSupport
import Testing
import Wire

/// A queue that stood before the recording began, and all that a user can do to it.
@Suite struct ScenarioQueueTests {
  /// Three held entries, one of another session; a send, a steer, a move, a saved edit, a removal, Send now, a send.
  static let text = """
    {"end": 30, "oneWay": 0.02,
     "client": {"desktop": "desk-1", "project": "projects/garden", "sessions": [{"id": "ses-01", "agent": "codex"}]},
     "desktops": [{"id": "desk-1", "sessions": [{"id": "ses-01", "title": "Greenhouse", "overlay": {"settlementEpoch": 3},
       "outbox": {"revision": 7, "entries": [
         {"queueId": "q-a", "operationId": "op-a", "userText": "Water the seedlings", "createdAt": 1789999910000,
          "holdReason": "Waits for your approval", "message": {"direction": "incoming", "from": "Catalogue", "to": "Greenhouse",
          "peer": {"name": "Catalogue", "agent": "claude"}, "delivery": null, "link": null}},
         {"queueId": "q-b", "operationId": "op-b", "userText": "Order twine", "createdAt": 1789999920000, "holdReason": "Held"},
         {"queueId": "q-c", "operationId": "op-c", "userText": "Frost?", "createdAt": 1789999930000, "holdReason": "Held"}]}}]}],
     "intents": [
       {"at": 0.2, "user": {"do": "select", "session": "ses-01"}},
       {"at": 1, "user": {"do": "send", "text": "List", "ids": {"queueId": "q-1", "operationId": "op-1", "mutationId": "m-1"}}},
       {"at": 3, "user": {"do": "send", "text": "Skip", "ids": {"queueId": "q-2", "operationId": "op-2", "mutationId": "m-2"}}},
       {"at": 9, "lag": 7.96, "user": {"do": "reorder", "move": "q-c", "to": 0, "ids": {"mutationId": "m-r"}}},
       {"at": 10.5, "lag": 9.46, "user": {"do": "edit", "operation": "op-c", "text": "Frost at the weekend?", "then": "save", "createdAt": 1790000010400,
        "ids": {"queueId": "q-5", "operationId": "op-5", "mutationId": "m-5"}}},
       {"at": 12, "lag": 10.96, "user": {"do": "remove", "operation": "op-b", "ids": {"mutationId": "m-x"}}},
       {"at": 13.5, "lag": 12.46, "user": {"do": "sendNow", "operation": "op-a", "ids": {"mutationId": "m-a"}}},
       {"at": 20, "user": {"do": "send", "text": "Lamps", "ids": {"queueId": "q-6", "operationId": "op-6", "mutationId": "m-6"}}}],
     "stretches": [
       {"id": "run-1/op-1", "lane": "ses-01", "cause": {"operation": "op-1"}, "delay": 0.35, "length": 3.6,
        "run": {"runId": "run-1", "threadId": "th-1", "turnId": "t-1"}, "end": {"handedOver": "op-2"},
        "steps": [{"changes": [{"put": {"type": "user", "id": "u-1", "sourceOrder": [3, 0], "text": "List"}}]},
          {"at": 1, "changes": [{"put": {"type": "agent-reply", "id": "a-1", "sourceOrder": [3, 1], "text": "Beds"}}]}],
        "outcome": [{"type": "user", "id": "u-1", "sourceOrder": [3, 0], "text": "List"},
          {"type": "agent-reply", "id": "a-1", "sourceOrder": [3, 1], "text": "Beds"}]},
       {"id": "run-1/op-2", "lane": "ses-01", "cause": {"operation": "op-2"}, "length": 1.9,
        "run": {"runId": "run-1", "threadId": "th-1", "turnId": "t-1"},
        "steps": [{"changes": [{"put": {"type": "user", "id": "u-2", "sourceOrder": [3, 10], "text": "Skip"}}]}],
        "outcome": [{"type": "user", "id": "u-2", "sourceOrder": [3, 10], "text": "Skip"}]},
       {"id": "run-2/op-a", "lane": "ses-01", "cause": {"operation": "op-a"}, "delay": 0.4, "length": 1.3,
        "run": {"runId": "run-2", "threadId": "th-1", "turnId": "t-2"},
        "steps": [{"changes": [{"put": {"type": "user", "id": "u-a", "sourceOrder": [4, 0], "text": "Water the seedlings"}}]}],
        "outcome": [{"type": "user", "id": "u-a", "sourceOrder": [4, 0], "text": "Water the seedlings"}]},
       {"id": "run-3/op-6", "lane": "ses-01", "cause": {"operation": "op-6"}, "delay": 0.3, "length": 1.7,
        "run": {"runId": "run-3", "threadId": "th-1", "turnId": "t-3"},
        "steps": [{"changes": [{"put": {"type": "user", "id": "u-6", "sourceOrder": [5, 0], "text": "Lamps"}}]}],
        "outcome": [{"type": "user", "id": "u-6", "sourceOrder": [5, 0], "text": "Lamps"}]}],
     "service": [{"key": "run.chatOutboxSubmit:m-2", "method": "run.chatOutboxSubmit", "steerAccepted": 0.15}]}
    """

  private func recorded(_ faults: String...) throws -> (original: HBCodeScenario, frames: [Frame]) {
    let original = try ScenarioSamples.read(ScenarioQueueTests.text)
    var story = Story(hbcode, original).jitter(0)
    for fault in faults { story = try story.faults(fault) }
    let frames = recording(of: try story.run().trace).filter { $0.at <= original.facts.end }
    return (original, frames)
  }

  /// The frames with a mark of each gesture this much before it is made.
  private func marked(_ frames: [Frame], _ original: HBCodeScenario, before: Interval) -> [Frame] {
    let marks = original.facts.intents.map { intent in
      let payload = JSONWriter.compact(["user": intent.gesture.json, "intent": .string(intent.id)])
      let at = max(.zero, intent.at - before)
      return Frame(at: at, connection: ConnectionID(0), direction: .out, kind: .mark, payload: payload)
    }
    return numbered(marks + frames)
  }

  private func numbered(_ frames: [Frame]) -> [Frame] {
    let sorted = frames.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    return sorted.enumerated().map { number, frame in
      var frame = frame
      frame.sequence = number + 1
      return frame
    }
  }

  private func differences(_ scenario: HBCodeScenario, _ frames: [Frame]) -> [String] {
    ScenarioRunTests.words(Audit.run(hbcode, scenario, frames).differences)
  }

  @Test func `a queue of the start and all that is done to it compiles to what it was`() throws {
    let (original, frames) = try recorded()
    let scenario = try ScenarioRunTests.compiled(frames)
    #expect(differences(scenario, frames) == [])
    let outbox = scenario.desktops[0].sessions[0].outbox
    #expect(outbox.revision == 7)
    #expect(outbox.entries.map(\.operationId) == ["op-a", "op-b", "op-c"])
    #expect(outbox.entries.map(\.holdReason) == ["Waits for your approval", "Held", "Held"])
    #expect(outbox.entries.map(\.submit.createdAt) == [1_789_999_910_000, 1_789_999_920_000, 1_789_999_930_000])
    #expect(outbox.entries.map { $0.message?.from } == ["Catalogue", nil, nil])
    #expect(scenario.facts.intents.map(\.gesture.name) == original.facts.intents.map(\.gesture.name))
    #expect(scenario.facts.intents.map(\.at) == original.facts.intents.map(\.at))
    #expect(scenario.facts.conditions.isEmpty)
    #expect(scenario.facts.notes.filter { $0.basis == .assumed } == [])
    #expect(scenario.tape.map(\.id) == ["run-1/op-1", "run-1/op-2", "x:run:op-5/op-5", "run-2/op-a", "run-3/op-6"])
    let approved = try #require(scenario.tape.first { $0.id == "run-2/op-a" })
    #expect(approved.cause == .operation("op-a"))
    #expect(approved.delay == .milliseconds(400))
  }

  @Test func `an edit keeps the createdAt of its recorded frame`() throws {
    let (_, frames) = try recorded()
    let edit = try #require(try ScenarioRunTests.compiled(frames).facts.intents.first { $0.gesture.name == "edit" })
    #expect(edit.gesture.fields["createdAt"] == 1_790_000_010_400)
    let action = UserAction.edit(operation: "op-c", text: "x", send: true, ids: ActionIDs(), createdAt: 5)
    #expect(try UserAction(action.gesture) == action)
  }

  @Test(
    arguments: [0, 1, 44, 499, 500, 501]
  ) func `a marked gesture happens when its first frame leaves, up to 500 ms after its mark`(milliseconds: Int64) throws {
    let (original, frames) = try recorded()
    let all = marked(frames, original, before: .milliseconds(milliseconds))
    let scenario = try ScenarioRunTests.compiled(all)
    #expect(scenario.facts.intents.allSatisfy { $0.basis == .recorded })
    // The move is made at 9 s; nothing happens in the second before it.
    let move = try #require(scenario.facts.intents.first { $0.gesture.name == "reorder" })
    #expect(move.at == Instant(nanoseconds: milliseconds <= 500 ? 9_000_000_000 : 8_499_000_000))
    if milliseconds <= 44 { #expect(differences(scenario, all) == []) }
  }

  @Test func `a receipt between a mark and its frame may have let the frame go: the gesture came before it`() throws {
    let (original, frames) = try recorded()
    // The receipt of op-1 arrives at 1.04 s. A gesture that is marked at 1.02 s and sends at 1.06 s waited for it.
    var later = frames
    let submit = try #require(
      later.firstIndex { $0.direction == .out && String(decoding: $0.payload, as: UTF8.self).contains("\"op-2\"") })
    later[submit].at = Instant(nanoseconds: 1_060_000_000)
    var all = numbered(later)
    all = marked(all, original, before: .zero).map { frame in
      var frame = frame
      if frame.kind == .mark, String(decoding: frame.payload, as: UTF8.self).contains("\"op-2\"") {
        frame.at = Instant(nanoseconds: 1_020_000_000)
      }
      return frame
    }
    let scenario = try ScenarioRunTests.compiled(numbered(all))
    let steer = try #require(scenario.facts.intents.first { $0.gesture.fields["text"] == "Skip" })
    #expect(steer.at == Instant(nanoseconds: 1_039_999_999))
  }

  @Test(
    arguments: [
      "drop,event,chat:outbox-changed,nth=1", "drop,event,chat:outbox-changed,nth=7", "drop,event,chat:outbox-changed,nth=9",
      "drop,event,chat:outbox-changed,nth=11", "drop,response,run.chatOutboxSubmit,nth=4", "drop,request,run.chatOutboxSubmit,nth=4",
      "drop,request,run.chatOutboxReorder,nth=1", "drop,response,run.chatOutboxRemove,nth=1", "drop,response,run.chatOutboxSubmit,nth=3",
    ]
  ) func `a frame lost while a queue is worked on is found again`(fault: String) throws {
    let (original, heard) = try recorded(fault)
    let frames = marked(heard, original, before: .zero)
    let scenario = try ScenarioRunTests.compiled(frames)
    #expect(differences(scenario, frames) == [])
    #expect(!scenario.facts.conditions.isEmpty)
  }

  /// Stamps of accepted steers are not those of the run when the recorder saw its frames unevenly.
  @Test func `an accepted steer has its recorded stamp`() throws {
    var (_, frames) = try recorded()
    let reader = HBCodeReader()
    // The start of the run is seen 27 ms late.
    for index in frames.indices where frames[index].at > Instant(nanoseconds: 1_300_000_000) {
      guard case .event(let event) = reader.message(of: frames[index].payload), frames[index].at < Instant(nanoseconds: 1_500_000_000)
      else {
        continue
      }
      #expect(event.fields["sessionId"] == "ses-01")
      frames[index].at = frames[index].at + .milliseconds(27)
    }
    frames = numbered(frames)
    let scenario = try ScenarioRunTests.compiled(frames)
    #expect(differences(scenario, frames) == [])
    #expect(
      scenario.service.contains(
        ServiceRule(
          key: "run.chatOutboxSubmit:m-2", method: "run.chatOutboxSubmit", what: .steerAccepted(after: .milliseconds(150), clock: 0))))
    let text = JSONWriter.text(scenario.json)
    #expect(try ScenarioSamples.read(text).service == scenario.service)
  }
}
