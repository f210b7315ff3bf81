import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeTwin
import Simulation
import Testing
import Wire

/// Spec D.5, keyed requests, errors and service.
@Suite struct TwinKeyTests {
  private func paused(_ service: [ServiceRule] = []) -> TwinBench {
    var session = Hand.session()
    session.deliveryPaused = true
    return TwinBench(Hand.scenario(sessions: [session], service: service))
  }

  @Test func `D5 HB-SHEET-09 a mutation without a key is refused and saves nothing`() throws {
    var bench = paused()
    for method in Method.allCases where method.isKeyed {
      let error = bench.ask(method, ["sessionId": .string(Hand.session)], at: 100)
      #expect(error["code"] == "idempotency_required", "\(method.rawValue)")
      #expect(error["permanent"] == true)
    }
    #expect(bench.noted("saved", "operation") == [])
    #expect(bench.ask(.outboxLoad, ["sessionId": .string(Hand.session)], at: 200)["revision"] == 0)
  }

  @Test func `HB-OUTBOX-14 a key is answered from store just below 48 h, and runs anew at 48 h and above`() throws {
    let hours48: Int64 = 48 * 3_600_000
    for (age, isStored) in [(hours48 - 1, true), (hours48, false), (hours48 + 1, false)] {
      var bench = paused()
      let first = try bench.submit("op1", at: 50)
      #expect(first["outcome"] == "updated")
      // The same request byte for byte, later: createdAt is part of it.
      let frame = RequestMessage(
        id: "late", method: Method.outboxSubmit.rawValue,
        params: [
          "sessionId": .string(Hand.session), "intent": "automatic", "supersedesOperationId": .null,
          "entry": try SubmitEntry(
            queueId: "q-op1", operationId: "op1", userText: "words of op1", promptText: "words of op1", sendMode: .queue,
            createdAt: Hand.wall + 50
          ).json,
        ], idempotencyKey: "run.chatOutboxSubmit:m-op1")
      bench.give(
        .received(.text(frame.json, connection: ConnectionID(1), direction: .out, at: .zero), refusal: nil), at: 50 + age)
      let answer = bench.said.last { $0.json["id"] == "late" }?.json["result"]
      #expect(answer?["outcome"] == "updated")
      #expect(bench.notes("answer").last?.fields["stored"] == .bool(isStored), "\(age)")
      // Whatever the key says, an operation that is listed is not saved again.
      #expect(bench.noted("saved", "operation").count == 1)
    }
  }

  @Test func `D5 a key with other params is a conflict, and the stored answer stays`() throws {
    var bench = paused()
    let first = try bench.submit("op1", mutation: "m", at: 50)
    let error = try bench.submit("op2", mutation: "m", at: 60)
    #expect(error["code"] == "idempotency_conflict")
    #expect(error["permanent"] == true)
    #expect(bench.noted("saved", "operation") == ["0:00.050 op1"])
    // Equal as data, with members in another order.
    let params: JSONObject = [
      "entry": try SubmitEntry(
        queueId: "q-op1", operationId: "op1", userText: "words of op1", promptText: "words of op1", sendMode: .queue,
        createdAt: Hand.wall + 50
      ).json, "supersedesOperationId": .null, "intent": "automatic", "sessionId": .string(Hand.session),
    ]
    #expect(bench.ask(.outboxSubmit, params, key: "run.chatOutboxSubmit:m", at: 70) == first)
    #expect(bench.notes("answer").map { $0.fields["stored"] } == [false, true])
  }

  @Test func `D5 a stored answer repeats the entries of its time`() throws {
    var bench = paused()
    let first = try bench.submit("op1", at: 50)
    try bench.submit("op2", at: 60)
    #expect(listed(try bench.submit("op1", at: 50)) == ["op1 queued"])
    #expect(first["revision"] == 1)
  }

  @Test func `D5 while a key is in progress a second request waits for the same answer`() throws {
    var bench = paused([ServiceRule(key: "run.chatOutboxSubmit:m-op1", method: "run.chatOutboxSubmit", what: .slow(.seconds(5)))])
    try bench.submit("op1", at: 50)
    try bench.submit("op1", at: 50)
    let answers = bench.said.filter { $0.name == "response" }
    #expect(answers.map(\.at) == [Hand.at(5_050), Hand.at(5_050)])
    #expect(answers[0].json["result"] == answers[1].json["result"])
    #expect(bench.noted("saved", "operation") == ["0:00.050 op1"])
  }

  @Test func `D5 busy and internal are not stored, permanent errors are`() throws {
    let busy = WireError(code: "busy", message: "later", permanent: false)
    let rejected = WireError(code: "rejected", message: "no", permanent: true)
    var bench = paused([
      ServiceRule(key: "run.chatOutboxSubmit:m-op1", method: "run.chatOutboxSubmit", what: .refused(busy)),
      ServiceRule(method: "run.chatOutboxSubmit", nth: 3, what: .refused(rejected)),
    ])
    #expect(try bench.submit("op1", at: 50)["code"] == "busy")
    #expect(bench.noted("saved", "operation") == [])
    #expect(try bench.submit("op1", at: 50)["outcome"] == "updated")
    #expect(try bench.submit("op2", at: 80)["code"] == "rejected")
    #expect(try bench.submit("op2", at: 80)["code"] == "rejected")
    #expect(bench.noted("saved", "operation") == ["0:00.050 op1"])
    #expect(bench.noted("refused", "code") == ["0:00.050 busy", "0:00.080 rejected"])
  }

  @Test func `a fault rule refuses a request: nothing is run`() throws {
    var bench = paused()
    let refusal = Refusal(code: "internal", message: "no luck", permanent: false)
    let params: JSONObject = ["sessionId": .string(Hand.session), "limit": 12, "anchor": .null]
    #expect(bench.ask(.load, params, at: 10, refusal: refusal)["code"] == "internal")
    #expect(bench.ask(.load, params, at: 20)["loadedEntries"] == 2)
  }

  @Test func `a restart keeps ledger and keys, raises epochs by one and closes sockets with 1012`() throws {
    var bench = paused()
    let first = try bench.submit("op1", at: 50)
    bench.give(.fault(.restart), at: 100)
    #expect(bench.closed.map(\.1) == [1012])
    bench.give(.connected(ConnectionID(2), Endpoint("/v1/desktops/desk-1")), at: 200)
    let window = bench.ask(
      .load, ["sessionId": .string(Hand.session), "limit": 12, "anchor": .null], at: 210, connection: 2)
    #expect(window["liveOverlay"] == ["settlementEpoch": 4, "revision": 0, "blocks": []])
    let entry = try SubmitEntry(
      queueId: "q-op1", operationId: "op1", userText: "words of op1", promptText: "words of op1", sendMode: .queue,
      createdAt: Hand.wall + 50)
    let params: JSONObject = [
      "sessionId": .string(Hand.session), "intent": "automatic", "supersedesOperationId": .null, "entry": entry.json,
    ]
    #expect(bench.ask(.outboxSubmit, params, key: "run.chatOutboxSubmit:m-op1", at: 220, connection: 2) == first)
    #expect(bench.noted("saved", "operation").count == 1)
  }

  @Test func `forgotten answers: the same key runs again and the ledger saves nothing twice`() throws {
    var bench = paused()
    try bench.submit("op1", at: 50)
    bench.give(.fault(.forgetAnswers), at: 60)
    try bench.submit("op1", at: 50)
    #expect(bench.notes("answer").map { $0.fields["stored"] } == [false, false])
    #expect(bench.noted("saved", "operation").count == 1)
  }

  @Test func `unknown session, method, desktop and bad params have their codes`() throws {
    var bench = paused()
    let missing = bench.load("ses-99", at: 10)
    #expect(missing["code"] == "unknown_session")
    #expect(missing["permanent"] == true)
    #expect(bench.ask(.load, ["sessionId": .string(Hand.session), "limit": 0, "anchor": .null], at: 20)["code"] == "invalid_params")
    #expect(bench.ask(.load, ["sessionId": .string(Hand.session), "limit": 12], at: 20)["code"] == "invalid_params")
    #expect(bench.ask(.load, ["sessionId": " ", "limit": 12, "anchor": .null], at: 20)["code"] == "invalid_params")
    let bad = bench.ask(
      .outboxSubmit, ["sessionId": .string(Hand.session), "intent": "automatic", "supersedesOperationId": .null, "entry": [:]],
      key: "run.chatOutboxSubmit:bad", at: 30)
    #expect(bad["code"] == "invalid_params")
    #expect(bad["message"] == "entry.queueId.blank")
    let frame = Frame.text(
      RequestMessage(id: "u", method: "run.chatDance", params: [:]).json, connection: ConnectionID(1), direction: .out, at: .zero)
    bench.give(.received(frame, refusal: nil), at: 40)
    #expect(bench.said.last?.json["error"]?["code"] == "unknown_method")
    bench.give(.connected(ConnectionID(7), Endpoint("/v1/desktops/desk-9")), at: 50)
    let offline = bench.ask(.outboxLoad, ["sessionId": .string(Hand.session)], at: 60, connection: 7)
    #expect(offline["code"] == "desktop_offline")
    #expect(offline["permanent"] == false)
  }

  @Test func `what is no request is dropped and noted, and nothing answers it`() throws {
    var bench = paused()
    for payload in ["{", "[]", #"{"id":"1","method":"run.chatLoad","event":"x","params":{}}"#, #"{"event":"desktop:online"}"#] {
      let frame = Frame(at: .zero, connection: ConnectionID(1), direction: .out, kind: .text, payload: Array(payload.utf8))
      bench.give(.received(frame, refusal: nil), at: 10)
    }
    #expect(bench.said.isEmpty)
    #expect(
      bench.noted("dropped", "reason") == [
        "0:00.010 frame.not-json", "0:00.010 frame.not-object", "0:00.010 frame.method-and-event", "0:00.010 frame.not-request",
      ])
  }

  @Test func `session create, saved conversations, preview and uploads answer in their smallest true form`() throws {
    var bench = paused()
    let params: JSONObject = ["agent": "claude", "projectPath": "projects/garden"]
    let created = bench.ask(.sessionCreate, params, key: "session.create:m-1", at: 100)
    #expect(created["agent"] == "claude")
    #expect(created["createdAt"] == .integer(Hand.wall + 100))
    let session = try #require(created["sessionId"]?.string)
    #expect(bench.ask(.sessionCreate, params, key: "session.create:m-1", at: 200) == created)
    let window = bench.load(session, at: 300)
    #expect(window["loadState"] == ["type": "ready"])
    #expect(window["storageFormat"] == "native")
    #expect(window["timeline"] == [])
    #expect(bench.ask(.existingSessions, params, at: 400) == ["conversations": []])
    let preview: JSONObject = ["agent": "claude", "projectPath": "projects/garden", "conversationId": "c-1"]
    #expect(bench.ask(.previewExistingSession, preview, at: 500) == ["conversationId": "c-1", "timeline": []])
    #expect(bench.notes("basis").allSatisfy { $0.fields["basis"] == "synthetic" })

    let begun = bench.ask(
      .uploadBegin,
      [
        "sessionId": .string(Hand.session), "projectPath": "p", "fileName": "plan.pdf", "mimeType": "application/pdf", "path": "x",
        "size": 5,
      ], key: "k:begin", at: 600)
    let upload = try #require(begun["uploadId"])
    #expect(begun["chunkSize"]?.integer ?? 0 > 0)
    let wrong = bench.ask(.uploadChunk, ["uploadId": upload, "index": 1, "data": "aGVsbG8="], key: "k:chunk:1", at: 610)
    #expect(wrong["code"] == "chunk_mismatch")
    #expect(bench.ask(.uploadChunk, ["uploadId": upload, "index": 0, "data": "aGVsbG8="], key: "k:chunk:0", at: 620) == ["received": 5])
    let finished = bench.ask(.uploadFinish, ["uploadId": upload], key: "k:finish", at: 630)
    #expect(finished["attachment"]?["fileName"] == "plan.pdf")
    #expect(bench.ask(.uploadCancel, ["uploadId": "none"], key: "k:cancel", at: 640)["code"] == "upload_unknown")
  }

  @Test func `changed requests never stop the twin, and each request gets exactly one answer`() throws {
    let entry = try SubmitEntry(
      queueId: "q-1", operationId: "op1", userText: "words", promptText: "words", sendMode: .queue, createdAt: Hand.wall
    ).json
    let session = JSON.string(Hand.session)
    let requests: [(Method, JSONObject)] = [
      (.timelineInterest, ["sessionId": session, "threadId": nil, "hold": true]),
      (.load, ["sessionId": session, "limit": 12, "anchor": ["kind": "message", "messageId": "h1"]]),
      (.loadPageBefore, ["sessionId": session, "cursor": "x:cursor:user:h0", "boundaryToken": "x:boundary:", "limit": 100]),
      (.outboxSubmit, ["sessionId": session, "intent": "automatic", "supersedesOperationId": nil, "entry": entry]),
      (.outboxRemove, ["sessionId": session, "queueId": "q-1", "operationId": "op1"]),
      (.outboxReorder, ["sessionId": session, "queueIds": ["q-1", "q-2"]]),
      (
        .stopAndSendNow,
        [
          "sessionId": session, "queueId": "q-1", "operationId": "op1", "expectedRunId": "r", "expectedThreadId": "t",
          "expectedTurnId": "u",
        ]
      ),
      (.stop, ["sessionId": session, "runId": "run-1"]),
      (
        .uploadBegin,
        ["sessionId": session, "projectPath": "p", "fileName": "f", "mimeType": "m", "path": "x", "size": 9_007_199_254_740_991]
      ),
      (.uploadChunk, ["uploadId": "x:upload:k", "index": 0, "data": "===="]),
    ]
    let odd: [JSON] = [
      nil, true, "", " ", "x", -1, 0, .integer(.max), .integer(.min), .unsigned(.max), .double(1.5), .double(1e300), [], [[]], [nil], [:],
      ["kind": "row"],
    ]
    var bench = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2)]))
    let random = SeededRandom(seed: 5)
    for k in 0..<3_000 {
      var (method, params) = requests[random.index(below: requests.count, at: 4 * k)]
      let names = params.members.map(\.name)
      let name = names[random.index(below: names.count, at: 4 * k + 1)]
      let value = odd[random.index(below: odd.count, at: 4 * k + 2)]
      switch random.index(below: 4, at: 4 * k + 3) {
      case 0: params[name] = nil
      case 1: params[name] = value
      case 2: params.members.append(JSONObject.Member(name: name, value: value))
      default: break
      }
      let before = bench.said.filter { $0.name == "response" }.count
      bench.ask(method, params, key: method.isKeyed ? "\(method.rawValue):\(k % 700)" : nil, at: 100 + Int64(k) * 10)
      #expect(bench.said.filter { $0.name == "response" }.count == before + 1, "\(k) \(method.rawValue)")
      if bench.said.count > 400 { bench.said.removeAll() }
    }
    bench.run(to: 100_000)
    #expect(bench.notes("defect").isEmpty)
    #expect(bench.noted("saved", "operation").count <= 1)
  }
}
