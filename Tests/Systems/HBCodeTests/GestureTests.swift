import Contract
import HBCodeDialect
import HBCodeSystem
import Replay
import Simulation
import Testing
import Wire

/// Gestures as people write them (spec G.3).
@Suite struct GestureTests {
  private static let all: [UserAction] = [
    .send(
      text: "Hi", session: "s", thread: "t", ids: ActionIDs(queueId: "q", operationId: "o", mutationId: "m"), options: ["speedMode": "fast"]
    ),
    .type(text: "H"), .select(session: "s", thread: nil), .selectDesktop("d"), .refresh,
    .edit(operation: "o", text: "x", send: true, ids: ActionIDs(), createdAt: 5), .remove(operation: "o", ids: ActionIDs()),
    .reorder(queueId: "q", to: 0, ids: ActionIDs()), .sendNow(operation: "o", ids: ActionIDs()), .stop(session: nil, ids: ActionIDs()),
    .older, .drag(Drag(path: [Drag.Place(after: .milliseconds(400), y: -200.5)], velocity: -300, held: .milliseconds(20))), .tapStatusBar,
    .scrollToLatest, .composer(open: true), .composer(open: false), .preview(open: true), .preview(open: false), .sheet(open: true),
    .sheet(open: false), .reduceMotion(true), .background, .foreground,
  ]

  @Test func `every gesture of the core is listed with its fields, passes the check and reads back`() throws {
    for action in GestureTests.all {
      try UserAction.check(action.gesture)
      #expect(try UserAction(action.gesture) == action)
    }
    #expect(hbcode.gestures.map(\.name) == GestureTests.all.map(\.gesture.name) + ["restart"])
    #expect(hbcode.gestures.allSatisfy { !$0.meaning.isEmpty })
    #expect(hbcode.states.allSatisfy { !$0.meaning.isEmpty })
  }

  @Test(arguments: [
    (#"{"do":"sned","text":"x"}"#, #"[0].do: hbcode has no gesture "sned"; did you mean "send"?"#),
    (
      #"{"do":"send","txet":"x"}"#,
      "[0].txet: send has text, session?, thread?, ids?, promptText?, selection?, speedMode?, accessLevel?, createdAt?"
    ),
    (#"{"do":"send"}"#, "[0].text: send needs a string"), (#"{"do":"send","text":"x","session":1}"#, "[0].session: expected a string"),
    (#"{"do":"send","text":"x","ids":{"id":"a"}}"#, "[0].ids.id: ids has queueId?, operationId?, mutationId?"),
    (#"{"do":"send","text":"x","ids":{"queueId":1}}"#, "[0].ids.queueId: expected a string"),
    (#"{"do":"send","text":"x","ids":[]}"#, "[0].ids: expected an object"),
    (#"{"do":"send","text":"x","selection":{}}"#, "[0].selection: expected model and reasoningEffort"),
    (#"{"do":"send","text":"x","createdAt":"now"}"#, "[0].createdAt: expected epoch milliseconds"),
    (#"{"do":"refresh","text":"x"}"#, "[0].text: refresh has no fields"),
    (#"{"do":"edit","operation":"o","text":"x","then":"go"}"#, "[0].then: save or send, not “go”"),
    (#"{"do":"reorder","move":"q","to":-1}"#, "[0].to: reorder needs a place from 0"),
    (#"{"do":"reduceMotion","on":"yes"}"#, "[0].on: reduceMotion needs true or false"),
    (#"{"do":"drag","path":[[100,1],[99,2]]}"#, "[0].path[1]: instants must grow, up to 600000 ms"),
    (#"{"do":"drag","path":[],"velocity":2000000}"#, "[0].velocity: expected a number of points"),
    (#"{"do":"restart","for":600001}"#, "[0].for: expected 0 to 600000 milliseconds"),
  ])
  func `a script with a gesture that is none is refused with its place`(gesture: String, sentence: String) throws {
    let script = try UserScript(json: JSONReader.value(#"[{"t":1,"# + gesture.dropFirst() + "]"))
    let error = #expect(throws: JSONError.self) { try script.check(against: hbcode) }
    #expect(error?.description == sentence)
  }

  @Test func `a scenario with a gesture that is none is refused with its place, restart is one`() throws {
    func read(_ gesture: String) throws {
      _ = try ScenarioSamples.read(#"{"end":1,"client":{"desktop":"desk-1"},"intents":[{"at":0,"user":"# + gesture + "}]}")
    }
    try read(#"{"do":"restart","for":100}"#)
    let error = #expect(throws: JSONError.self) { try read(#"{"do":"drag","path":[],"speed":3}"#) }
    #expect(error?.description == "intents[0].user.speed: drag has path, velocity?, held?")
  }
}
