import Contract
import HBCodeDialect
import Simulation
import Testing
import Wire

private typealias Samples = DialectSamples

@Suite struct DialectLabelerTests {
  private func frame(_ json: JSON, _ direction: Direction, connection: Int = 1, milliseconds: Int64 = 0) -> Frame {
    .text(json, connection: ConnectionID(connection), direction: direction, at: .zero + .milliseconds(milliseconds))
  }

  private static let submitParams: JSONObject = [
    "sessionId": "ses-1", "intent": "automatic", "supersedesOperationId": nil, "entry": DialectSamples.submit,
  ]
  private func submit(id: String, mutation: String = "m-1") -> JSON {
    RequestMessage(
      id: id, method: "run.chatOutboxSubmit", params: Self.submitParams, idempotencyKey: "run.chatOutboxSubmit:\(mutation)"
    ).json
  }
  private func load(id: String, anchor: JSON = .null) -> JSON {
    RequestMessage(id: id, method: "run.chatLoad", params: ["sessionId": "ses-1", "limit": 12, "anchor": anchor]).json
  }
  private func answer(_ id: String, _ result: JSON) -> JSON { ResponseMessage(id: id, result: .success(result)).json }

  /// One line a frame: role, name, fields, then operation, key and delivery where they are.
  private func line(_ label: FrameLabel) -> String {
    var line = "\(label.role.rawValue) \(label.name) \(JSONWriter.text(.object(label.fields)))"
    if let operation = label.operation { line += " operation=\(operation)" }
    if let key = label.key { line += " key=\(key)" }
    return line + (label.isDelivery ? " delivery" : "")
  }

  @Test func `The labels of an exchange, as they stand in traces`() {
    var labeler = HBCodeLabeler()
    let list: JSON = ["outcome": "updated", "revision": 3, "entries": [Samples.entry, Samples.entry.with("/operationId", "op-9")]]
    let interest = RequestMessage(
      id: "1", method: "chat:timeline-interest", params: ["sessionId": "ses-1", "threadId": nil, "hold": true])
    let remove = RequestMessage(
      id: "5", method: "run.chatOutboxRemove", params: ["sessionId": "ses-1", "queueId": "q-1", "operationId": "op-1"],
      idempotencyKey: "run.chatOutboxRemove:m-2")
    let busy = ResponseMessage(id: "5", result: .failure(WireError(code: "busy", message: "Busy", permanent: false)))
    let frames: [Frame] = [
      frame(interest.json, .out), frame(load(id: "2"), .out), frame(answer("2", Samples.latest), .in), frame(submit(id: "3"), .out),
      frame(submit(id: "4"), .out), frame(answer("4", list), .in), frame(remove.json, .out), frame(busy.json, .in),
      frame(Samples.overlay.with("/event", "chat:timeline-overlay").with("/sessionId", "ses-1").with("/threadId", .null), .in),
      frame(["event": "chat:outbox-changed", "sessionId": "ses-1", "revision": 4, "entries": []], .in),
      frame(answer("77", [:]), .in), frame([], .in),
      Frame(at: .zero, connection: ConnectionID(1), direction: .out, kind: .ping, payload: []),
    ]
    let hash = "\"paramsHash\":\"H\""
    let common = "\"sessionId\":\"ses-1\",\"queueId\":\"q-1\",\"operationId\":\"op-1\""
    let submitted = "\(common),\"mutationId\":\"m-1\",\"intent\":\"automatic\",\"sendMode\":\"queue\",\"supersedesOperationId\":null"
    let tail = "operation=op-1 key=run.chatOutboxSubmit:m-1 delivery"
    let expected = [
      "request chat:timeline-interest {\"id\":\"1\",\"sessionId\":\"ses-1\",\"threadId\":null,\"hold\":true,\(hash)}",
      "request run.chatLoad {\"id\":\"2\",\"sessionId\":\"ses-1\",\"limit\":12,\"anchor\":null,\(hash)}",
      "response run.chatLoad {\"id\":\"2\",\"sessionId\":\"ses-1\",\"limit\":12,\"anchor\":null,\(hash),\"ok\":true,\"revision\":2,"
        + "\"settlementEpoch\":3,\"blocks\":2,\"runId\":\"run-5\"}",
      "request run.chatOutboxSubmit {\"id\":\"3\",\(submitted),\(hash),\"attempt\":1} \(tail)",
      "request run.chatOutboxSubmit {\"id\":\"4\",\(submitted),\(hash),\"attempt\":2} \(tail)",
      "response run.chatOutboxSubmit {\"id\":\"4\",\(submitted),\(hash),\"attempt\":2,\"ok\":true,\"outcome\":\"updated\",\"revision\":3,"
        + "\"operations\":[\"op-1\",\"op-9\"]} \(tail)",
      "request run.chatOutboxRemove {\"id\":\"5\",\(common),\"mutationId\":\"m-2\",\(hash),\"attempt\":1} operation=op-1"
        + " key=run.chatOutboxRemove:m-2",
      "response run.chatOutboxRemove {\"id\":\"5\",\(common),\"mutationId\":\"m-2\",\(hash),\"attempt\":1,\"ok\":false,\"code\":\"busy\","
        + "\"permanent\":false} operation=op-1 key=run.chatOutboxRemove:m-2",
      "event chat:timeline-overlay {\"sessionId\":\"ses-1\",\"threadId\":null,\"revision\":2,\"settlementEpoch\":3,\"blocks\":2}",
      "event chat:outbox-changed {\"sessionId\":\"ses-1\",\"revision\":4,\"operations\":[]}", "response ? {\"id\":\"77\",\"ok\":true}",
      "other ? {\"invalid\":\"frame.not-object\"}", "other ws.ping {}",
    ]
    for (frame, golden) in zip(frames, expected) {
      var label = labeler.label(frame)
      let paramsHash = label.fields["paramsHash"]?.string
      if let paramsHash {
        #expect(paramsHash.utf8.count == 16)
        label.fields["paramsHash"] = "H"
      }
      #expect(line(label) == golden)
    }
    #expect(frames.count == expected.count)
  }

  @Test func `HB-OUTBOX-13 equal params have equal hashes however they are spelled, different ones differ`() {
    var labeler = HBCodeLabeler()
    let first = labeler.label(frame(submit(id: "1"), .out)).fields["paramsHash"]
    let reversed = JSON.object(JSONObject(Self.submitParams.members.reversed()))
    let second = labeler.label(frame(submit(id: "2").with("/params", reversed), .out)).fields["paramsHash"]
    let third = labeler.label(frame(submit(id: "3").with("/params/entry/userText", "Else"), .out)).fields["paramsHash"]
    #expect(first != nil && first == second)
    #expect(first != third)
  }

  @Test func `Ids belong to their connection and attempts to their key on any connection`() {
    var labeler = HBCodeLabeler()
    _ = labeler.label(frame(submit(id: "1"), .out, connection: 1))
    _ = labeler.label(frame(load(id: "1"), .out, connection: 2))
    #expect(labeler.label(frame(answer("1", [:]), .in, connection: 1)).name == "run.chatOutboxSubmit")
    #expect(labeler.label(frame(answer("1", [:]), .in, connection: 2)).name == "run.chatLoad")
    #expect(labeler.label(frame(answer("1", [:]), .in, connection: 3)).name == "?")
    #expect(labeler.label(frame(submit(id: "2"), .out, connection: 2)).fields["attempt"] == 2)
    #expect(labeler.label(frame(submit(id: "3", mutation: "m-9"), .out, connection: 2)).fields["attempt"] == 1)
    // A copy goes its own way.
    var copy = labeler
    #expect(copy.label(frame(submit(id: "4"), .out)).fields["attempt"] == 3)
    #expect(labeler.label(frame(submit(id: "4"), .out)).fields["attempt"] == 3)
  }

  @Test func `A selector finds the frames that it names`() {
    var labeler = HBCodeLabeler()
    let label = labeler.label(frame(submit(id: "1"), .out))
    func finds(_ field: String, _ comparison: FieldComparison, _ value: String) -> Bool {
      FramePattern(role: .request, name: "run.chatOutbox*", conditions: [.init(field: field, comparison: comparison, value: value)])
        .matches(label)
    }
    #expect(finds("operation", .equal, "op-1"))
    #expect(finds("sessionId", .equal, "ses-1"))
    #expect(finds("attempt", .less, "2"))
    #expect(finds("intent", .notEqual, "enqueue"))
    #expect(!finds("sendMode", .contains, "steer"))
  }

  @Test func `Violations name frame, path and reason, and responses are judged by their request`() {
    var labeler = HBCodeLabeler()
    func found(_ json: JSON, _ direction: Direction) -> [String] { labeler.violations(in: frame(json, direction)).map(\.description) }
    #expect(found(load(id: "1"), .out).isEmpty)
    #expect(found(answer("1", Samples.latest), .in).isEmpty)
    #expect(found(answer("1", Samples.latest.with("/timeline/1/id", " ")), .in) == ["result.timeline[1]: row.id.blank"])
    #expect(found(load(id: "2", anchor: ["kind": "message", "messageId": "m"]), .out).isEmpty)
    #expect(found(answer("2", Samples.anchored), .in).isEmpty)
    #expect(found(answer("2", Samples.latest), .in) == ["result: envelope.missing-key:newerCursor"])
    #expect(found(load(id: "3", anchor: 1), .out) == ["params.anchor: params.type:anchor"])
    #expect(found(submit(id: "4"), .out).isEmpty)
    #expect(found(submit(id: "4").without("/idempotencyKey"), .out) == ["idempotencyKey: idempotencyKey.missing"])
    #expect(found(submit(id: "4").with("/params/entry/queueId", ""), .out) == ["params.entry: entry.queueId.blank"])
    #expect(found(answer("4", ["outcome": "updated", "revision": 1, "entries": []]), .in).isEmpty)
    #expect(found(answer("4", ["outcome": "blocked", "revision": 1, "entries": []]), .in) == ["result.outcome: result.type:outcome"])
    #expect(
      found(answer("4", ["outcome": "updated", "revision": 1, "entries": [["queueId": "q"]]]), .in)
        == ["result.entries[0]: entry.operationId.blank"])
    #expect(found(["id": "4", "error": ["code": "busy", "message": "Busy"]], .in).isEmpty)
    #expect(found(answer("99", [:]), .in).isEmpty)
    #expect(found(["event": "session:updated", "sessionId": "s"], .in) == ["updatedAt: event.type:updatedAt"])
    #expect(found(["event": "chat:mood"], .in) == ["event: event.unknown"])
    #expect(found(["id": "1", "method": "m", "event": "e"], .in) == ["frame.method-and-event"])
    let binary = Frame(at: .zero, connection: ConnectionID(1), direction: .in, kind: .binary, payload: [0])
    #expect(labeler.violations(in: binary).map(\.problem) == ["frame.not-text"])
    let close = Frame(at: .zero, connection: ConnectionID(1), direction: .in, kind: .close, payload: [])
    #expect(labeler.violations(in: close).isEmpty)
  }

  @Test func `Plain results are judged too`() {
    let cases: [(Method, JSON, JSON)] = [
      (.timelineInterest, ["keepMs": 60_000], ["keepMs": "60000"]),
      (.sessionCreate, ["sessionId": "s", "agent": "claude", "projectPath": "/p", "createdAt": 1], ["sessionId": "s"]),
      (
        .existingSessions, ["conversations": [["conversationId": "c", "title": "t", "updatedAt": 1, "model": nil, "clientName": "x"]]],
        ["conversations": [["conversationId": "c", "title": "t", "updatedAt": 1, "model": nil]]]
      ),
      (
        .previewExistingSession, ["conversationId": "c", "timeline": [Samples.userRow]],
        ["conversationId": "c", "timeline": [Samples.userRow, Samples.userRow]]
      ), (.loadPageBefore, Samples.older, Samples.latest), (.stop, ["outcome": "updated"], [:]),
      (.outboxRemove, ["outcome": "delivered", "revision": 1, "entries": []], ["outcome": "gone", "revision": 1, "entries": []]),
      (.stopAndSendNow, ["outcome": "blocked", "revision": 1, "entries": []], ["outcome": "blocked"]),
      (.uploadBegin, ["uploadId": "u", "chunkSize": 1], ["uploadId": "u", "chunkSize": 0]), (.uploadChunk, ["received": 1], []),
      (.uploadFinish, ["attachment": Samples.submit["attachments"]?.array?.first ?? .null], ["attachment": [:]]),
      (.uploadCancel, [:], .null), (.outboxLoad, ["revision": 0, "entries": []], ["entries": []]),
    ]
    for (method, valid, wrong) in cases {
      #expect(Samples.failure { () throws(DecodeFailure) in try method.check(result: valid, of: nil) } == nil, "\(method)")
      #expect(Samples.failure { () throws(DecodeFailure) in try method.check(result: wrong, of: nil) } != nil, "\(method)")
    }
  }

  @Test func `Hostile frames never crash labels, violations or normal forms`() {
    var labeler = HBCodeLabeler()
    let bases = [
      submit(id: "1"), load(id: "2"), answer("1", Samples.latest), answer("2", Samples.anchored),
      Samples.overlay.with("/event", "chat:timeline-overlay"), ["event": "chat:outbox-changed", "entries": [Samples.entry], "revision": 1],
    ].map(JSONWriter.compact)
    let random = SeededRandom(seed: 5).fork("hostile")
    var frames: [Frame] = []
    for k in 0..<600 {
      var bytes = bases[k % bases.count]
      for n in 0..<3 {
        let place = random.index(below: bytes.count, at: 8 * k + 2 * n)
        bytes[place] = Array("0-1\"{}[]:,.ex ".utf8)[random.index(below: 14, at: 8 * k + 2 * n + 1)]
      }
      frames.append(Frame(sequence: k, at: .never, connection: ConnectionID(k % 3), direction: .in, kind: .text, payload: bytes))
    }
    let deep = String(repeating: "[", count: 900) + String(repeating: "]", count: 900)
    for text in [
      "{\"id\":\"1\",\"result\":\(deep)}", "{\"event\":\"chat:timeline-overlay\",\"blocks\":\(deep)}",
      "{\"id\":\"1\",\"method\":\"run.chatLoad\",\"params\":{\"anchor\":\(deep)}}",
    ] {
      frames.append(Frame(at: .zero, connection: ConnectionID(1), direction: .in, kind: .text, payload: Array(text.utf8)))
    }
    for frame in frames {
      _ = labeler.label(frame)
      _ = labeler.violations(in: frame)
    }
    #expect(hbcodeNormalForm(frames).count == frames.count)
  }
}

@Suite struct DialectNormalFormTests {
  private func frame(_ json: JSON, _ direction: Direction, connection: Int = 1, sequence: Int = 0) -> Frame {
    var frame = Frame.text(json, connection: ConnectionID(connection), direction: direction, at: Instant(nanoseconds: 7))
    frame.sequence = sequence
    return frame
  }
  private func request(_ id: String, _ method: Method, _ params: JSONObject, key: String? = nil) -> JSON {
    RequestMessage(id: id, method: method.rawValue, params: params, idempotencyKey: key).json
  }

  @Test func `Ids become ordinals, connections are counted, keys sorted, numbers taken by value`() {
    let forms = hbcodeNormalForm([
      frame(request("x9", .outboxLoad, ["sessionId": "s"]), .out, connection: 40, sequence: 3),
      frame(request("x7", .outboxLoad, ["sessionId": "s"]), .out, connection: 40),
      frame(["id": "x7", "result": ["z": .double(1), "a": [["y": 1, "x": .double(2.5)]]]], .in, connection: 40),
      frame(request("x9", .outboxLoad, ["sessionId": "s"]), .out, connection: 41),
      frame(["event": "e", "at": .double(5.75), "n": .double(5.75)], .in, connection: 41),
    ])
    #expect(forms.map(\.stream) == ["1 out", "1 out", "1 in", "2 out", "2 in"])
    #expect(
      forms.map(\.name) == [
        "request run.chatOutboxLoad", "request run.chatOutboxLoad", "response run.chatOutboxLoad", "request run.chatOutboxLoad", "event e",
      ])
    #expect(
      forms.map { JSONWriter.text($0.content) } == [
        #"{"id":"run.chatOutboxLoad","method":"run.chatOutboxLoad","params":{"sessionId":"s"}}"#,
        #"{"id":"run.chatOutboxLoad","method":"run.chatOutboxLoad","params":{"sessionId":"s"}}"#,
        #"{"id":"run.chatOutboxLoad~2","result":{"a":[{"x":2.5,"y":1}],"z":1}}"#,
        #"{"id":"run.chatOutboxLoad","method":"run.chatOutboxLoad","params":{"sessionId":"s"}}"#, #"{"at":5,"event":"e","n":5.75}"#,
      ])
    #expect(forms[0].sequence == 3)
    #expect(forms[0].at == Instant(nanoseconds: 7))
  }

  @Test func `Marks and clock steps before the first connection are none themselves`() {
    var frames = [FrameKind.mark, .clock].map { Frame(at: .zero, connection: ConnectionID(0), direction: .out, kind: $0, payload: []) }
    frames.append(frame(["event": "e"], .in))
    #expect(hbcodeNormalForm(frames).map(\.stream) == ["1 in"])
  }

  @Test
  func `Requests by rule have the band of their rule, those of the user 5 ms, answers as their requests, events 1 ms, pings are counted`() {
    let load: JSONObject = ["sessionId": "s", "limit": 12, "anchor": nil]
    let hold: JSONObject = ["sessionId": "s", "threadId": nil, "hold": true]
    let stop: JSONObject = ["sessionId": "s", "runId": "r"]
    let forms = hbcodeNormalForm([
      frame(request("1", .timelineInterest, hold), .out), frame(request("2", .load, load), .out),
      frame(request("3", .timelineInterest, hold), .out), frame(request("4", .load, load), .out),
      frame(request("5", .timelineInterest, ["sessionId": "t", "threadId": nil, "hold": true]), .out),
      frame(request("6", .outboxLoad, ["sessionId": "s"]), .out), frame(request("7", .stop, stop, key: "run.chatStop:m"), .out),
      frame(request("8", .stop, stop, key: "run.chatStop:m"), .out), frame(["id": "7", "result": ["outcome": "updated"]], .in),
      frame(["event": "relay:gap", "fromMs": 1, "toMs": 2], .in),
      frame(request("9", .loadPageBefore, ["sessionId": "s", "cursor": "c", "limit": 12]), .out),
      Frame(at: .zero, connection: ConnectionID(1), direction: .in, kind: .pong, payload: []),
      Frame(at: .zero, connection: ConnectionID(1), direction: .in, kind: .close, payload: []),
    ])
    let user = TimingRule.within(.milliseconds(5))
    let server = TimingRule.within(.milliseconds(1))
    #expect(
      forms.map(\.timing) == [
        user, user, .band(.seconds(1)), .band(.seconds(18)), user, .band(.seconds(3)), user, .band(.seconds(3)), user, server,
        // Two display frames more: a list that moves has asked.
        .within(Interval(nanoseconds: 38_333_334)), .countedOnly,
      ])
    #expect(forms.map(\.isSample) == Array(repeating: false, count: forms.count))
    let sampled = hbcodeNormalForm([frame(request("1", .outboxLoad, ["sessionId": "s"]), .out), frame(["id": "1", "result": [:]], .in)])
    #expect(sampled.map(\.isSample) == [false, true])
    #expect(sampled.map(\.ordinal) == ["run.chatOutboxLoad", "run.chatOutboxLoad~1"])
  }

  @Test func `A redacted string equals any string, and only a string`() {
    let forms = hbcodeNormalForm([frame(["event": "e", "token": "Bearer [redacted:1]", "list": [1, ["a": "x"]]], .in)])
    let content = forms[0].content
    #expect(content["token"] == NormalFrame.anyString)
    func difference(_ other: JSON) -> String? { NormalFrame.firstDifference(content, other)?.path }
    let same: JSON = ["event": "e", "token": "secret", "list": [1, ["a": "x"]]]
    #expect(difference(same) == nil)
    #expect(difference(same.with("/token", NormalFrame.anyString)) == nil)
    #expect(difference(same.with("/token", 1)) == "token")
    #expect(difference(same.with("/token", .null)) == "token")
    #expect(difference(same.with("/list/1/a", "y")) == "list[1].a")
    #expect(difference(same.with("/list/-", 1)) == "list[2]")
    #expect(difference(same.without("/list/1")) == "list[1]")
    #expect(difference(same.without("/event")) == "event")
    #expect(difference(same.with("/more", 1)) == "more")
    #expect(NormalFrame.firstDifference(["a": 1], ["a": 2])?.left == 1)
    // Stamps may be a millisecond apart, other numbers may not.
    #expect(NormalFrame.firstDifference(["at": 1_790_000_000_000], ["at": 1_790_000_000_001]) == nil)
    #expect(NormalFrame.firstDifference(["at": 1_790_000_000_000], ["at": 1_790_000_000_002])?.path == "at")
    #expect(NormalFrame.firstDifference(["a": 1], ["a": 2])?.right == 2)
    let absent = NormalFrame.firstDifference([1, 2], [1])
    #expect(absent?.left == 2)
    #expect(absent?.right == JSON?.none)
  }

  @Test func `An invalid frame keeps its content`() {
    let forms = hbcodeNormalForm([
      frame(["b": 1, "a": 2], .in), Frame(at: .zero, connection: ConnectionID(1), direction: .in, kind: .text, payload: Array("{".utf8)),
      Frame(at: .zero, connection: ConnectionID(1), direction: .in, kind: .binary, payload: [1, 2]),
    ])
    #expect(forms.map(\.name) == ["invalid frame.unknown", "invalid frame.not-json", "binary"])
    #expect(forms.map(\.content) == [["a": 2, "b": 1], "{", 2])
  }
}
