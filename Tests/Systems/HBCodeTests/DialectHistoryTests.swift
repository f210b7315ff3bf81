import HBCodeDialect
import Testing
import Wire

private typealias Samples = DialectSamples

/// One change of a valid value, and the first failure that it must give (nil: it still decodes).
struct DialectCase: Sendable, CustomStringConvertible {
  var changes: [(pointer: String, value: JSON?)]
  var reason: String?
  var at: String

  init(_ pointer: String, _ value: JSON?, _ reason: String?, at: String = "") {
    self.init([(pointer, value)], reason, at: at)
  }
  init(_ changes: [(String, JSON?)], _ reason: String?, at: String = "") {
    self.changes = changes.map { (pointer: $0.0, value: $0.1) }
    self.reason = reason
    self.at = at
  }

  func applied(to base: JSON) -> JSON {
    changes.reduce(base) { json, change in change.value.map { json.with(change.pointer, $0) } ?? json.without(change.pointer) }
  }
  var expected: DecodeFailure? { reason.map { DecodeFailure(reason: $0, at: at) } }
  var description: String {
    changes.map { "\($0.pointer) \($0.value.map(JSONWriter.text) ?? "removed")" }.joined(separator: ", ")
  }
}

@Suite struct DialectHistoryTests {
  private func failure(_ json: JSON, _ request: HistoryRequest = .latest) -> DecodeFailure? {
    Samples.failure { () throws(DecodeFailure) in try HistoryEnvelope.decode(json, request) }
  }

  @Test func `HB-ENV-01 an envelope has exactly 11 keys, nullable ones present even when null`() {
    #expect(HistoryRequest.latest.keys.count == 11)
    #expect(failure(Samples.latest) == nil)
    for key in HistoryRequest.latest.keys {
      #expect(failure(Samples.latest.without("/" + key)) == DecodeFailure(reason: "envelope.missing-key:\(key)"))
    }
    #expect(failure(Samples.latest.with("/extra", nil)) == DecodeFailure(reason: "envelope.unknown-key:extra"))
  }

  @Test(arguments: [
    DialectCase([("/runtime", nil), ("/nativeSessionId", nil)], "envelope.missing-key:nativeSessionId"),
    DialectCase([("/runtime", nil), ("/extra", 1)], "envelope.missing-key:runtime"),
    DialectCase([("/b", 1), ("/a", 1)], "envelope.unknown-key:a"),
    DialectCase([("/a", 1), ("/B", 1)], "envelope.unknown-key:B"),
    DialectCase([("/\u{e9}", 1), ("/z", 1)], "envelope.unknown-key:z"),
    DialectCase([("/boundaryToken", " "), ("/extra", 1)], "envelope.unknown-key:extra"),
  ])
  func `HB-ENV-01 missing keys go by the table, unknown ones by bytes, both before everything else`(example: DialectCase) {
    #expect(failure(example.applied(to: Samples.latest)) == example.expected)
  }

  @Test(arguments: [JSON.null, [], "x", 1, true]) func `HB-ENV-01 an envelope is an object`(json: JSON) {
    #expect(failure(json) == DecodeFailure(reason: "envelope.not-object"))
  }

  @Test(arguments: ["", "/loadState", "/timeline/1", "/liveOverlay", "/liveOverlay/blocks/0", "/activeRun"])
  func `HB-ENV-09 a repeated key anywhere comes before all other failures`(pointer: String) {
    let base = Samples.latest.without("/runtime").with("/boundaryToken", " ")
    #expect(failure(base.adding("k", 1, at: pointer).adding("k", 1, at: pointer)) == DecodeFailure(reason: "json.duplicate-key"))
    #expect(failure(Samples.latest.adding("boundaryToken", "bt-8")) == DecodeFailure(reason: "json.duplicate-key"))
  }

  @Test func `HB-ENV-02 the boundary token is nonblank`() {
    for blank in Samples.blanks {
      #expect(
        failure(Samples.latest.with("/boundaryToken", blank)) == DecodeFailure(reason: "boundaryToken.blank", at: "boundaryToken"))
    }
    for token: JSON in [".", " x ", "\u{200b}", "\u{0}"] { #expect(failure(Samples.latest.with("/boundaryToken", token)) == nil) }
  }

  @Test(arguments: [
    DialectCase("/boundaryToken", 7, "envelope.type:boundaryToken", at: "boundaryToken"),
    DialectCase("/nativeSessionId", 7, "envelope.type:nativeSessionId", at: "nativeSessionId"),
    DialectCase("/nativeSessionId", "", nil),
    DialectCase("/loadState", "ready", "envelope.type:loadState", at: "loadState"),
    DialectCase("/loadState", [:], "loadState.unknown", at: "loadState"),
    DialectCase("/loadState", ["type": "done"], "loadState.unknown", at: "loadState"),
    DialectCase("/loadState", ["type": "ready", "reason": "x"], "loadState.unknown", at: "loadState"),
    DialectCase("/loadState", ["type": "unavailable"], "loadState.unknown", at: "loadState"),
    DialectCase("/loadState", ["type": "unavailable", "reason": " "], "loadState.unknown", at: "loadState"),
    DialectCase("/loadState", ["type": "unavailable", "reason": "asleep", "x": 1], "loadState.unknown", at: "loadState"),
    DialectCase("/loadState", ["type": "unavailable", "reason": "asleep"], nil),
    DialectCase("/loadState", ["type": "pending"], nil),
    DialectCase("/storageFormat", .null, "envelope.type:storageFormat", at: "storageFormat"),
    DialectCase("/storageFormat", "sqlite", "storageFormat.unknown", at: "storageFormat"),
    DialectCase("/storageFormat", "native", nil),
    DialectCase("/loadedEntries", "2", "loadedEntries.not-integer", at: "loadedEntries"),
    DialectCase("/loadedEntries", .double(1.5), "loadedEntries.not-integer", at: "loadedEntries"),
    DialectCase("/loadedEntries", 9_007_199_254_740_992, "loadedEntries.not-integer", at: "loadedEntries"),
    DialectCase("/loadedEntries", 9_007_199_254_740_991, nil),
    DialectCase("/loadedEntries", -1, "loadedEntries.negative", at: "loadedEntries"),
    DialectCase("/loadedEntries", -9_007_199_254_740_991, "loadedEntries.negative", at: "loadedEntries"),
    DialectCase("/loadedEntries", .double(-0.0), nil),
    DialectCase("/loadedEntries", .double(1e3), nil),
    DialectCase("/hasOlderEntries", 1, "envelope.type:hasOlderEntries", at: "hasOlderEntries"),
    DialectCase("/oldestCursor", 1, "envelope.type:oldestCursor", at: "oldestCursor"),
    DialectCase("/oldestCursor", .null, "oldestCursor.missing", at: "oldestCursor"),
    DialectCase("/oldestCursor", "\u{2003}", "oldestCursor.missing", at: "oldestCursor"),
    DialectCase([("/oldestCursor", .null), ("/hasOlderEntries", false)], nil),
    DialectCase("/timeline", [:], "envelope.type:timeline", at: "timeline"),
    DialectCase([("/boundaryToken", " "), ("/nativeSessionId", 1)], "boundaryToken.blank", at: "boundaryToken"),
    DialectCase([("/loadedEntries", -1), ("/storageFormat", "x")], "storageFormat.unknown", at: "storageFormat"),
    DialectCase([("/oldestCursor", .null), ("/timeline/0", 1)], "oldestCursor.missing", at: "oldestCursor"),
  ])
  func `HB-ENV-09 scalar keys fail in table order, before any row`(example: DialectCase) {
    #expect(failure(example.applied(to: Samples.latest)) == example.expected)
  }

  private static let rowCases: [DialectCase] = [
    DialectCase("/type", "tool", "row.type.unknown"), DialectCase("/type", nil, "row.type.unknown"),
    DialectCase("/type", 1, "row.type.unknown"), DialectCase("/id", 7, "row.id.blank"), DialectCase("/id", nil, "row.id.blank"),
    DialectCase("/id", "\u{2003}", "row.id.blank"), DialectCase("/origin", "pending", "row.origin.unknown"),
    DialectCase("/origin", nil, "row.origin.unknown"), DialectCase("/sourceOrder", nil, "row.sourceOrder.empty"),
    DialectCase("/sourceOrder", [], "row.sourceOrder.empty"), DialectCase("/sourceOrder", 1, "row.sourceOrder.empty"),
    DialectCase("/sourceOrder", [-1], "row.sourceOrder.not-unsigned"), DialectCase("/sourceOrder", ["1"], "row.sourceOrder.not-unsigned"),
    DialectCase("/sourceOrder", [1, .double(0.5)], "row.sourceOrder.not-unsigned"),
    DialectCase("/sourceOrder", [9_007_199_254_740_992], "row.sourceOrder.not-unsigned"),
    DialectCase("/sourceOrder", [.unsigned(.max)], "row.sourceOrder.not-unsigned"),
    DialectCase("/sourceOrder", [9_007_199_254_740_991, .double(0), .double(1e3)], nil),
    DialectCase("/timestamp", nil, "row.timestamp.not-integer"), DialectCase("/timestamp", "1", "row.timestamp.not-integer"),
    DialectCase("/timestamp", .double(1.5), "row.timestamp.not-integer"),
    DialectCase("/timestamp", 9_007_199_254_740_992, "row.timestamp.not-integer"),
    DialectCase("/timestamp", -9_007_199_254_740_992, "row.timestamp.not-integer"),
    DialectCase("/timestamp", -9_007_199_254_740_991, nil), DialectCase("/timestamp", 9_007_199_254_740_991, nil),
    DialectCase("/timestamp", .double(1.0), nil), DialectCase("/runId", 7, "row.live.runId.missing"), DialectCase("/runId", .null, nil),
    DialectCase("/runId", "", nil), DialectCase("/operationId", 7, "row.live-user.operationId.missing"),
    DialectCase("/operationId", .null, nil), DialectCase("/text", .null, "row.text.type"), DialectCase("/text", nil, nil),
    DialectCase("/title", 7, "row.title.blank"), DialectCase("/title", "", nil), DialectCase("/title", .null, nil),
    DialectCase("/message", DialectSamples.incoming, "row.title.blank"),
    DialectCase([("/message", DialectSamples.incoming), ("/title", " ")], "row.title.blank"),
    DialectCase([("/message", DialectSamples.incoming), ("/title", "Message")], nil),
    DialectCase([("/message", DialectSamples.outgoing), ("/title", "Message")], "row.message.not-allowed"),
    DialectCase([("/message", .null), ("/title", "Message")], "message.not-object"),
    DialectCase([("/message", DialectSamples.incoming), ("/title", "Message"), ("/type", "thinking")], "row.message.not-allowed"),
    DialectCase([("/message", 1), ("/title", "Message"), ("/type", "system")], "row.message.not-allowed"),
    DialectCase([("/message", DialectSamples.outgoing), ("/title", "Message"), ("/type", "activity")], nil),
    DialectCase([("/message", DialectSamples.incoming), ("/title", "Message"), ("/type", "activity")], "row.message.not-allowed"),
    DialectCase("/threadId", 1, "row.threadId.type"), DialectCase("/threadId", .null, nil), DialectCase("/panel", "subagent", nil),
    DialectCase("/panel", "main", "row.panel.unknown"), DialectCase("/panel", .null, "row.panel.unknown"), DialectCase("/extra", [1], nil),
  ]

  @Test(arguments: rowCases) func `HB-ENV-04 every rule of a row has its reason`(example: DialectCase) {
    let json = Samples.latest.with("/timeline/0", example.applied(to: Samples.userRow))
    #expect(failure(json) == example.reason.map { DecodeFailure(reason: $0, at: "timeline[0]") })
  }

  @Test func `HB-ENV-04 a row is an object, and its checks run in the order listed`() {
    #expect(failure(Samples.latest.with("/timeline/1", "row")) == DecodeFailure(reason: "row.not-object", at: "timeline[1]"))
    // Broken in every way; repaired one field at a time, each repair uncovers the next reason.
    let steps: [(String, JSON, String)] = [
      ("type", "user", "row.type.unknown"), ("id", "u9", "row.id.blank"), ("origin", "live", "row.origin.unknown"),
      ("sourceOrder", [1], "row.sourceOrder.empty"), ("timestamp", 1, "row.timestamp.not-integer"),
      ("runId", "run-1", "row.live.runId.missing"), ("operationId", "op-9", "row.live-user.operationId.missing"),
      ("text", "t", "row.text.type"), ("title", "Message", "row.title.blank"), ("message", Samples.incoming, "message.not-object"),
      ("threadId", .null, "row.threadId.type"), ("panel", "subagent", "row.panel.unknown"),
    ]
    var row = JSON.object(JSONObject(steps.map { JSONObject.Member(name: $0.0, value: false) }))
    for (name, repaired, reason) in steps {
      #expect(failure(Samples.latest.with("/timeline/0", row)) == DecodeFailure(reason: reason, at: "timeline[0]"))
      row = row.with("/" + name, repaired)
    }
    #expect(failure(Samples.latest.with("/timeline/0", row)) == nil)
  }

  @Test func `HB-ENV-04 all five types and both origins are read`() throws {
    #expect(RowType.allCases.map(\.rawValue).sorted() == ["activity", "agent-reply", "system", "thinking", "user"])
    for type in RowType.allCases {
      let row = try Row.decode(Samples.liveUserRow.with("/type", .string(type.rawValue)), at: "x")
      #expect(row.type == type && row.origin == .live)
    }
  }

  @Test func `HB-ENV-05 a live row has a run, a live user row an operation`() {
    for blank in Samples.blanks + [.null, 7] {
      #expect(
        failure(Samples.latest.with("/liveOverlay/blocks/1/runId", blank))
          == DecodeFailure(reason: "row.live.runId.missing", at: "liveOverlay.blocks[1]"))
      #expect(
        failure(Samples.latest.with("/liveOverlay/blocks/0/operationId", blank))
          == DecodeFailure(reason: "row.live-user.operationId.missing", at: "liveOverlay.blocks[0]"))
    }
    #expect(failure(Samples.latest.without("/liveOverlay/blocks/1/operationId")) == nil)
    #expect(failure(Samples.latest.with("/timeline/-", Samples.liveUserRow)) == nil)
  }

  @Test func `HB-ENV-06 a repeated splice key or operation fails the page at its second place`() {
    let again = Samples.userRow.without("/operationId")
    #expect(
      failure(Samples.latest.with("/timeline/-", again))
        == DecodeFailure(reason: "page.duplicate-splice-key:user:u1", at: "timeline[2]"))
    #expect(
      failure(Samples.latest.with("/timeline/-", Samples.userRow.with("/id", "u2")))
        == DecodeFailure(reason: "page.duplicate-splice-key:op:op-1", at: "timeline[2]"))
    #expect(failure(Samples.latest.with("/timeline/-", Samples.replyRow.with("/id", "g2").with("/operationId", "op-1"))) == nil)
    #expect(failure(Samples.latest.with("/timeline/-", Samples.replyRow.with("/id", "u1"))) == nil)
    #expect(
      failure(Samples.latest.with("/timeline/-", again).with("/timeline/-", 1))
        == DecodeFailure(reason: "row.not-object", at: "timeline[3]"))
  }

  @Test func `HB-ENV-03 older pages use the same row decoder and take canonical rows only`() throws {
    func failure(_ json: JSON) -> DecodeFailure? { Samples.failure { () throws(DecodeFailure) in try OlderPage.decode(json) } }
    #expect(failure(Samples.older) == nil)
    for example in Self.rowCases {
      let json = Samples.older.with("/timeline/0", example.applied(to: Samples.userRow))
      #expect(failure(json) == example.reason.map { DecodeFailure(reason: $0, at: "timeline[0]") }, "\(example)")
    }
    #expect(failure(Samples.older.with("/timeline/-", Samples.liveReplyRow)) == DecodeFailure(reason: "page.live-row", at: "timeline[2]"))
    #expect(
      failure(Samples.older.with("/timeline/-", Samples.userRow).with("/timeline/-", Samples.liveReplyRow))
        == DecodeFailure(reason: "page.live-row", at: "timeline[3]"))
    #expect(failure(Samples.older.with("/extra", 1)) == DecodeFailure(reason: "envelope.unknown-key:extra"))
    #expect(failure(Samples.older.without("/timeline")) == DecodeFailure(reason: "envelope.missing-key:timeline"))
    #expect(failure(Samples.older.with("/hasOlderEntries", true)) == DecodeFailure(reason: "oldestCursor.missing", at: "oldestCursor"))
    #expect(failure(Samples.latest) == DecodeFailure(reason: "envelope.unknown-key:activeRun"))
    #expect(try OlderPage.decode(Samples.older).json == Samples.older)
    #expect(try Row.decodePage([Samples.liveReplyRow]).count == 1)
  }

  @Test(arguments: [
    DialectCase("", [], "overlay.not-object"), DialectCase("/revision", nil, "overlay.missing-key:revision"),
    DialectCase([("/settlementEpoch", nil), ("/blocks", nil)], "overlay.missing-key:settlementEpoch"),
    DialectCase("/x", 1, "overlay.unknown-key:x"), DialectCase("/settlementEpoch", .null, "overlay.epoch.not-integer"),
    DialectCase("/settlementEpoch", .double(1.5), "overlay.epoch.not-integer"),
    DialectCase("/settlementEpoch", -1, "overlay.epoch.out-of-range"), DialectCase("/settlementEpoch", 0, nil),
    DialectCase("/settlementEpoch", .double(1e3), nil), DialectCase("/settlementEpoch", .double(1.0), nil),
    DialectCase("/settlementEpoch", 9_007_199_254_740_991, nil),
    DialectCase("/settlementEpoch", 9_007_199_254_740_992, "overlay.epoch.out-of-range"),
    DialectCase("/settlementEpoch", -9_007_199_254_740_993, "overlay.epoch.out-of-range"),
    DialectCase("/revision", .double(1e300), "overlay.revision.out-of-range"),
    DialectCase("/revision", .unsigned(.max), "overlay.revision.out-of-range"), DialectCase("/revision", 9_007_199_254_740_991, nil),
    DialectCase("/revision", 9_007_199_254_740_992, "overlay.revision.out-of-range"),
    DialectCase("/revision", "2", "overlay.revision.not-integer"), DialectCase("/revision", .double(-0.5), "overlay.revision.not-integer"),
    DialectCase("/blocks", [:], "overlay.blocks.type"), DialectCase("/revision", 0, "overlay.revision-zero-has-blocks"),
    DialectCase([("/revision", .double(-0.0)), ("/blocks", [])], nil), DialectCase("/blocks", [], nil),
    DialectCase([("/revision", .null), ("/settlementEpoch", -1)], "overlay.epoch.out-of-range"),
  ])
  func `HB-ENV-07 an overlay has three keys, exact versions in the safe range and no blocks at revision 0`(example: DialectCase) {
    let overlay = example.changes[0].pointer.isEmpty ? example.changes[0].value ?? .null : example.applied(to: Samples.overlay)
    let expected = example.reason.map { DecodeFailure(reason: $0, at: "liveOverlay") }
    #expect(failure(Samples.latest.with("/liveOverlay", overlay)) == expected)
    #expect(Samples.failure { () throws(DecodeFailure) in try LiveOverlay.decode(overlay) } == expected)
  }

  @Test func `HB-ENV-07 every block is live and identities are unique`() {
    func at(_ json: JSON) -> DecodeFailure? { failure(Samples.latest.with("/liveOverlay", json)) }
    let canonical = Samples.overlay.with("/blocks/0", Samples.userRow)
    #expect(at(canonical) == DecodeFailure(reason: "overlay.block.not-live", at: "liveOverlay.blocks[0]"))
    // A block that is not live fails before the next block's row checks, and both before repeated identities.
    #expect(at(canonical.with("/blocks/1/id", " ")) == DecodeFailure(reason: "overlay.block.not-live", at: "liveOverlay.blocks[0]"))
    let repeated = Samples.overlay.with("/blocks/-", Samples.liveReplyRow)
    #expect(at(repeated) == DecodeFailure(reason: "overlay.duplicate-identity:agent-reply:lg", at: "liveOverlay.blocks[2]"))
    #expect(at(repeated.with("/blocks/-", 1)) == DecodeFailure(reason: "row.not-object", at: "liveOverlay.blocks[3]"))
    #expect(
      at(repeated.with("/revision", 0)) == DecodeFailure(reason: "overlay.duplicate-identity:agent-reply:lg", at: "liveOverlay.blocks[2]"))
    #expect(at(Samples.overlay.with("/blocks/1/id", "lu")) == nil)
    #expect(at(Samples.overlay.with("/blocks/-", Samples.liveUserRow.with("/id", "lu2"))) == nil)
  }

  @Test(arguments: [
    DialectCase("/runtime", 1, "envelope.type:runtime", at: "runtime"), DialectCase("/runtime", ["model": 7], nil),
    DialectCase("/activeRun", .null, nil), DialectCase("/activeRun", [], "envelope.type:activeRun", at: "activeRun"),
    DialectCase("/activeRun/runId", "\u{3000}", "activeRun.runId.blank", at: "activeRun"),
    DialectCase("/activeRun/runId", 1, "activeRun.runId.blank", at: "activeRun"),
    DialectCase("/activeRun/threadId", 1, "activeRun.field", at: "activeRun"),
    DialectCase("/activeRun/threadId", nil, "activeRun.field", at: "activeRun"),
    DialectCase("/activeRun/turnId", false, "activeRun.field", at: "activeRun"),
    DialectCase("/activeRun/startedAt", .double(0.5), "activeRun.field", at: "activeRun"),
    DialectCase("/activeRun/question", "Which valve?", nil), DialectCase("/newerCursor", 1, "envelope.type:newerCursor", at: "newerCursor"),
    DialectCase("/anchorRow", "u1", "envelope.type:anchorRow", at: "anchorRow"), DialectCase("/anchorRow", .null, nil),
    DialectCase("/anchorRow", ["type": "user"], "envelope.type:anchorRow", at: "anchorRow"),
    DialectCase("/anchorRow", ["type": "tool", "id": "u1"], "envelope.type:anchorRow", at: "anchorRow"),
    DialectCase("/notice", 1, "envelope.type:notice", at: "notice"), DialectCase("/notice", "Not saved.", nil),
    DialectCase([("/runtime", 1), ("/liveOverlay/revision", -1)], "overlay.revision.out-of-range", at: "liveOverlay"),
    DialectCase([("/runtime", 1), ("/notice", 1)], "envelope.type:runtime", at: "runtime"),
  ])
  func `HB-ENV-09 the rest fails after the overlay`(example: DialectCase) {
    #expect(failure(example.applied(to: Samples.anchored), .anchored) == example.expected)
  }

  @Test func `HB-ENV-10 anchored answers have 14 keys, latest ones 11, and the wrong set fails`() throws {
    #expect(HistoryRequest.anchored.keys.count == 14)
    #expect(failure(Samples.anchored, .anchored) == nil)
    #expect(failure(Samples.latest, .anchored) == DecodeFailure(reason: "envelope.missing-key:newerCursor"))
    #expect(failure(Samples.anchored, .latest) == DecodeFailure(reason: "envelope.unknown-key:anchorRow"))
    let page = try HistoryEnvelope.decode(Samples.anchored, .anchored)
    #expect(page.newerCursor == "new-1")
    #expect(page.anchorRow == .row(type: .user, id: "u1"))
    #expect(page.notice == nil)
  }

  @Test func `HB-AGENT-13 a storage format of the other agent is told, not refused`() throws {
    let indexed = try HistoryEnvelope.decode(Samples.latest, .latest)
    #expect(indexed.isStored(for: .codex))
    #expect(!indexed.isStored(for: .claude))
    let native = try HistoryEnvelope.decode(Samples.latest.with("/storageFormat", "native"), .latest)
    #expect(native.isStored(for: .claude))
    #expect(!native.isStored(for: .codex))
  }

  @Test func `What is decoded is written back as it came`() throws {
    let window = Samples.latest.with("/timeline/0/colour", "green").with("/activeRun/question", "Which valve?").with(
      "/runtime", ["model": "sol"])
    #expect(try HistoryEnvelope.decode(window, .latest).json(.latest) == window)
    #expect(try HistoryEnvelope.decode(Samples.anchored, .anchored).json(.anchored) == Samples.anchored)
    let unavailable = Samples.latest.with("/loadState", ["type": "unavailable", "reason": "asleep"])
    #expect(try HistoryEnvelope.decode(unavailable, .latest).json(.latest) == unavailable)
    #expect(try Row.decode(Samples.userRow.with("/z", 1).with("/a", 2), at: "x").json == Samples.userRow.with("/z", 1).with("/a", 2))
  }

  @Test func `A row that is made here has its keys in table order and decodes to itself`() throws {
    let fact = try MessageFact.decode(Samples.incoming, at: "")
    let row = Row.made(
      type: .user, id: "u1", origin: .live, sourceOrder: [2, 1], timestamp: 5, runId: "run-1", operationId: "op-1", text: "Hi",
      title: "Message", threadId: "th-1", isSubagentPanel: true, message: fact)
    #expect(
      row.raw.members.map(\.name) == [
        "type", "id", "origin", "sourceOrder", "timestamp", "runId", "operationId", "text", "title", "threadId", "panel", "message",
      ])
    #expect(try Row.decode(row.json, at: "") == row)
    let plain = Row.made(type: .agentReply, id: "g1", origin: .canonical, sourceOrder: [1], timestamp: 5, text: "Hi")
    #expect(
      JSONWriter.text(plain.json) == #"{"type":"agent-reply","id":"g1","origin":"canonical","sourceOrder":[1],"timestamp":5,"text":"Hi"}"#)
  }

  @Test func `HB-OVER-08 rows are compared as decoded, known and unknown keys alike`() throws {
    func row(_ json: JSON) throws -> Row { try Row.decode(json, at: "") }
    let first = try row(Samples.liveReplyRow.with("/colour", ["r": 1, "g": 2]))
    let respelled = Samples.liveReplyRow.with("/sourceOrder", [.double(2), 1]).with("/colour", ["g": 2, "r": .double(1)])
    let reordered = try row(.object(JSONObject(respelled.object?.members.reversed() ?? [])))
    #expect(first.isEquivalent(to: reordered))
    #expect(try !first.isEquivalent(to: row(Samples.liveReplyRow)))
    #expect(try !first.isEquivalent(to: row(Samples.liveReplyRow.with("/colour", ["r": 1, "g": 3]))))
    #expect(try !first.isEquivalent(to: row(Samples.liveReplyRow.with("/colour", ["r": 1, "g": 2]).with("/text", "x"))))
    #expect(try !row(Samples.liveReplyRow).isEquivalent(to: row(Samples.liveReplyRow.with("/text", ""))))
  }

  @Test func `Rows are ordered by source order, a prefix first, then type, then id`() throws {
    func made(_ order: [UInt64], _ type: RowType, _ id: String) -> Row {
      Row.made(type: type, id: id, origin: .canonical, sourceOrder: order, timestamp: 0)
    }
    let sorted = [
      made([1], .user, "z"), made([1, 0], .activity, "b"), made([1, 0], .agentReply, "a"), made([1, 0], .agentReply, "b"),
      made([1, 0, 0], .activity, "a"), made([2], .activity, "a"), made([10], .activity, "a"),
    ]
    #expect(sorted.reversed().sorted(by: Row.precedes).map(\.identity) == sorted.map(\.identity))
  }
}
