import HBCodeDialect
import Simulation
import Testing
import Wire

private typealias Samples = DialectSamples

@Suite struct DialectFrameTests {
  private let reader = HBCodeReader()
  private func reason(_ text: String) -> String? {
    if case .invalid(let failure) = reader.message(of: Array(text.utf8)) { return failure.reason }
    return nil
  }

  @Test(arguments: [
    ("", "frame.not-json"), ("{", "frame.not-json"), ("{\"id\":1e400,\"result\":{}}", "frame.not-json"), ("[]", "frame.not-object"),
    ("null", "frame.not-object"), ("{}", "frame.unknown"), (#"{"result":{}}"#, "frame.unknown"),
    (#"{"id":"1","method":"m","event":"e","params":{}}"#, "frame.method-and-event"),
    (#"{"method":"m","params":{}}"#, "frame.missing-key:id"),
    (#"{"id":1,"method":"m","params":{}}"#, "frame.type:id"), (#"{"id":"1","method":1,"params":{}}"#, "frame.type:method"),
    (#"{"id":"1","method":"m"}"#, "frame.missing-key:params"), (#"{"id":"1","method":"m","params":[]}"#, "frame.type:params"),
    (#"{"id":"1","method":"m","params":{},"idempotencyKey":null}"#, "frame.type:idempotencyKey"),
    (#"{"id":"1","id":"2","method":"m","params":{}}"#, "json.duplicate-key"), (#"{"event":1}"#, "frame.type:event"),
    (#"{"event":"e","event":"f"}"#, "json.duplicate-key"), (#"{"id":"1"}"#, "frame.missing-key:result"),
    (#"{"id":"1","result":{},"result":{}}"#, "json.duplicate-key"), (#"{"id":null,"result":{}}"#, "frame.type:id"),
    (#"{"id":"1","result":{},"error":{"code":"c","message":"m"}}"#, "frame.result-and-error"),
    (#"{"id":"1","error":"busy"}"#, "frame.type:error"), (#"{"id":"1","error":{"message":"m"}}"#, "frame.type:code"),
    (#"{"id":"1","error":{"code":"c"}}"#, "frame.type:message"),
    (#"{"id":"1","error":{"code":"c","message":"m","permanent":1}}"#, "frame.type:permanent"),
    (#"{"id":"1","error":{"code":"c","code":"d","message":"m"}}"#, "json.duplicate-key"),
  ])
  func `An invalid frame is told as such`(text: String, expected: String) {
    #expect(reason(text) == expected)
  }

  @Test func `Messages are read and written back`() {
    let request = RequestMessage(
      id: "7", method: "run.chatStop", params: ["sessionId": "s", "runId": "r"], idempotencyKey: "run.chatStop:m")
    #expect(
      JSONWriter.text(request.json)
        == #"{"id":"7","method":"run.chatStop","params":{"sessionId":"s","runId":"r"},"idempotencyKey":"run.chatStop:m"}"#)
    #expect(WireMessage(request.json) == .request(request))
    let plain = RequestMessage(id: "8", method: "later.method", params: [:])
    #expect(JSONWriter.text(plain.json) == #"{"id":"8","method":"later.method","params":{}}"#)
    #expect(WireMessage(plain.json) == .request(plain))
    let answer = ResponseMessage(id: "7", result: .success(["outcome": "updated"]))
    #expect(WireMessage(answer.json) == .response(answer))
    let error = ResponseMessage(id: "7", result: .failure(WireError(code: "busy", message: "Busy", permanent: true)))
    #expect(JSONWriter.text(error.json) == #"{"id":"7","error":{"code":"busy","message":"Busy","permanent":true}}"#)
    #expect(WireMessage(error.json) == .response(error))
    let event = EventMessage(name: "desktop:online", fields: ["desktopId": "d"])
    #expect(JSONWriter.text(event.json) == #"{"event":"desktop:online","desktopId":"d"}"#)
    #expect(WireMessage(event.json) == .event(event))
  }

  @Test func `An absent permanent means false, and a result may be anything until its method is known`() {
    #expect(
      reader.message(of: Array(#"{"id":"1","error":{"code":"c","message":"m"}}"#.utf8))
        == .response(ResponseMessage(id: "1", result: .failure(WireError(code: "c", message: "m", permanent: false)))))
    #expect(reader.message(of: Array(#"{"id":"1","result":null}"#.utf8)) == .response(ResponseMessage(id: "1", result: .success(.null))))
    #expect(
      reader.message(of: Array(#"{"id":"1","result":{"a":1,"a":2}}"#.utf8))
        == .response(ResponseMessage(id: "1", result: .success(["a": 1, "a": 2]))))
  }

  @Test func `A frame is compact text`() {
    let frame = Frame.text(["id": "1", "result": [:]], connection: ConnectionID(2), direction: .in, at: Instant(nanoseconds: 5))
    #expect(frame.payload == Array(#"{"id":"1","result":{}}"#.utf8))
    #expect(frame.kind == .text && frame.connection == ConnectionID(2) && frame.direction == .in && frame.at.nanoseconds == 5)
  }

  @Test func `HB-SHEET-09 the mutations need a key and the reads take none`() {
    #expect(
      Method.allCases.filter { !$0.isKeyed }.map(\.rawValue) == [
        "chat:timeline-interest", "run.chatExistingSessions", "run.chatPreviewExistingSession", "run.chatLoad", "run.chatLoadThread",
        "run.chatLoadPageBefore", "run.chatLoadThreadPageBefore", "run.chatOutboxLoad",
      ])
    #expect(Method.outboxSubmit.key(mutationId: "m-1") == "run.chatOutboxSubmit:m-1")
    #expect(Method.outboxSubmit.mutationId(ofKey: "run.chatOutboxSubmit:m:1") == "m:1")
    #expect(Method.outboxSubmit.mutationId(ofKey: "run.chatOutboxSubmit:") == nil)
    #expect(Method.outboxSubmit.mutationId(ofKey: "run.chatOutboxRemove:m-1") == nil)
  }

  private func problem(_ method: String, _ params: JSON, _ key: String? = nil) -> String? {
    let request = RequestMessage(id: "1", method: method, params: params.object ?? [:], idempotencyKey: key)
    return Samples.failure { () throws(DecodeFailure) in try request.check() }?.reason
  }

  /// Valid params and key of every method.
  private static let requests: [(Method, JSON, String?)] = {
    let session: JSON = ["sessionId": "s"]
    let load = session.with("/limit", 12).with("/anchor", .null)
    let page = session.with("/cursor", "c").with("/boundaryToken", "b").with("/limit", 100)
    let entry = session.with("/queueId", "q").with("/operationId", "o")
    let folder: JSON = ["agent": "codex", "projectPath": "/p"]
    let upload: JSON = ["uploadId": "u"]
    let key = "files.chatAttachmentUpload:s:0011"
    return [
      (.timelineInterest, session.with("/threadId", .null).with("/hold", true), nil), (.sessionCreate, folder, "session.create:m"),
      (.existingSessions, folder, nil), (.previewExistingSession, folder.with("/conversationId", "c"), nil), (.load, load, nil),
      (.loadThread, load.with("/threadId", "t").with("/anchor", ["kind": "message", "messageId": "m"]), nil), (.loadPageBefore, page, nil),
      (.loadThreadPageBefore, page.with("/threadId", "t"), nil), (.outboxLoad, session, nil),
      (
        .outboxSubmit,
        session.with("/intent", "automatic").with("/supersedesOperationId", .null).with("/entry", DialectSamples.submit),
        "run.chatOutboxSubmit:m"
      ),
      (.outboxRemove, entry, "run.chatOutboxRemove:m"),
      (.outboxReorder, session.with("/queueIds", ["q"]), "run.chatOutboxReorder:m"),
      (
        .stopAndSendNow, entry.with("/expectedRunId", "r").with("/expectedThreadId", "t").with("/expectedTurnId", "u"),
        "run.chatOutboxStopAndSendNow:m"
      ), (.stop, session.with("/runId", "r"), "run.chatStop:m"),
      (
        .uploadBegin,
        ["sessionId": "s", "projectPath": "/p", "fileName": "f", "mimeType": "m", "path": "/f", "size": 1], key + ":begin"
      ), (.uploadChunk, upload.with("/index", 3).with("/data", "AA=="), key + ":chunk:3"), (.uploadFinish, upload, key + ":finish"),
      (.uploadCancel, upload, key + ":cancel"),
    ]
  }()

  @Test func `Every method of B.2 has its params judged`() {
    #expect(Self.requests.map(\.0) == Method.allCases)
    for (method, params, key) in Self.requests {
      #expect(problem(method.rawValue, params, key) == nil, "\(method)")
      #expect(problem(method.rawValue, params.with("/later", 1), key) == nil, "\(method)")
      for member in params.object?.members ?? [] {
        #expect(problem(method.rawValue, params.without("/" + member.name), key) == "params.missing-key:\(member.name)")
        let wrong = member.name == "entry" ? "entry.not-object" : "params.type:\(member.name)"
        #expect(problem(method.rawValue, params.with("/" + member.name, .double(0.5)), key) == wrong)
      }
      if let key {
        #expect(problem(method.rawValue, params) == "idempotencyKey.missing", "\(method)")
        #expect(problem(method.rawValue, params, "x" + key) == "idempotencyKey.form", "\(method)")
      } else {
        #expect(problem(method.rawValue, params, "key") == "idempotencyKey.unexpected", "\(method)")
      }
    }
    #expect(problem("run.chatEverything", [:]) == "method.unknown")
    #expect(problem("run.chatOutboxLoad", ["sessionId": "s", "sessionId": "s"]) == "json.duplicate-key")
  }

  @Test func `An anchor decides what a window load asks for`() {
    func asked(_ params: JSONObject, _ method: Method = .load) -> HistoryRequest? {
      RequestMessage(id: "1", method: method.rawValue, params: params).historyRequest
    }
    #expect(asked(["anchor": nil]) == .latest)
    #expect(asked([:]) == .latest)
    #expect(asked(["anchor": ["kind": "message", "messageId": "m"]], .loadThread) == .anchored)
    #expect(asked([:], .outboxLoad) == nil)
  }
}

@Suite struct DialectEventTests {
  private func decode(_ name: String, _ fields: JSONObject) throws -> HBCodeEvent {
    try HBCodeEvent.decode(EventMessage(name: name, fields: fields))
  }
  private func failure(_ name: String, _ fields: JSON) -> DecodeFailure? {
    DialectSamples.failure { () throws(DecodeFailure) in
      try HBCodeEvent.decode(EventMessage(name: name, fields: fields.object ?? [:]))
    }
  }

  @Test func `Events are read and written back`() throws {
    let overlay = TimelineOverlayEvent(sessionId: "s", threadId: "t", overlay: try LiveOverlay.decode(DialectSamples.overlay))
    #expect(try HBCodeEvent.decode(overlay.message) == .overlay(overlay))
    #expect(overlay.message.fields.members.map(\.name) == ["sessionId", "threadId", "settlementEpoch", "revision", "blocks"])
    for kind in RunEvent.Kind.allCases {
      let run = RunEvent(kind: kind, sessionId: "s", threadId: nil, runId: "r", turnId: kind == .started ? "u" : nil, at: 5)
      #expect(run.message.name == "chat:run-" + kind.rawValue)
      #expect(try HBCodeEvent.decode(run.message) == .run(run))
    }
    let updated = SessionUpdatedEvent(sessionId: "s", updatedAt: 7, title: nil)
    #expect(try HBCodeEvent.decode(updated.message) == .sessionUpdated(updated))
    let list = try OutboxList.decode(["revision": 4, "entries": [DialectSamples.entry]])
    let changed = OutboxChangedEvent(sessionId: "s", list: list)
    #expect(try HBCodeEvent.decode(changed.message) == .outboxChanged(changed))
    for kind in DesktopEvent.Kind.allCases {
      let event = DesktopEvent(kind: kind, desktopId: "d")
      #expect(EventName(rawValue: event.message.name) != nil)
      #expect(try HBCodeEvent.decode(event.message) == .desktop(event))
    }
    let gap = RelayGapEvent(fromMs: 1, toMs: 2)
    #expect(try HBCodeEvent.decode(gap.message) == .relayGap(gap))
  }

  @Test func `A name of a later version is kept as it is`() throws {
    let event = EventMessage(name: "chat:mood", fields: ["a": 1])
    #expect(try HBCodeEvent.decode(event) == .unknown(event))
  }

  @Test func `HB-ENV-11 an invalid event of any kind is told with its reason`() {
    let fields: [String: JSON] = [
      "chat:run-started": ["sessionId": "s", "threadId": nil, "runId": "r", "turnId": nil, "startedAt": 1],
      "chat:run-failed": ["sessionId": "s", "threadId": nil, "runId": "r", "at": 1],
      "session:updated": ["sessionId": "s", "updatedAt": 1, "title": nil], "desktop:offline": ["desktopId": "d"],
      "relay:gap": ["fromMs": 1, "toMs": 2],
    ]
    for (name, valid) in fields {
      #expect(failure(name, valid) == nil)
      for member in valid.object?.members ?? [] {
        let wrong = DecodeFailure(reason: "event.type:\(member.name)", at: member.name)
        #expect(failure(name, valid.with("/" + member.name, .double(0.5))) == wrong)
        #expect(failure(name, valid.without("/" + member.name)) == (member.value.isNull ? nil : wrong))
      }
      #expect(failure(name, valid.adding("x", 1).adding("x", 1)) == DecodeFailure(reason: "json.duplicate-key"))
    }
  }

  @Test func `HB-ENV-11 overlay and outbox events carry the reasons of their parts`() {
    let overlay = DialectSamples.overlay.with("/sessionId", "s").with("/threadId", .null)
    let name = "chat:timeline-overlay"
    #expect(failure(name, overlay) == nil)
    #expect(failure(name, overlay.with("/revision", 0)) == DecodeFailure(reason: "overlay.revision-zero-has-blocks"))
    #expect(failure(name, overlay.without("/blocks")) == DecodeFailure(reason: "overlay.missing-key:blocks"))
    #expect(failure(name, overlay.with("/blocks/1/id", 7)) == DecodeFailure(reason: "row.id.blank", at: "blocks[1]"))
    #expect(failure(name, overlay.adding("k", 1, at: "/blocks/0").adding("k", 1, at: "/blocks/0"))?.reason == "json.duplicate-key")
    let outbox: JSON = ["sessionId": "s", "revision": 1, "entries": [DialectSamples.entry]]
    #expect(failure("chat:outbox-changed", outbox) == nil)
    #expect(
      failure("chat:outbox-changed", outbox.with("/entries/0/status", "x"))
        == DecodeFailure(reason: "entry.status.unknown", at: "entries[0]"))
    #expect(failure("chat:outbox-changed", outbox.without("/sessionId")) == DecodeFailure(reason: "event.type:sessionId", at: "sessionId"))
  }
}
