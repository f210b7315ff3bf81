import HBCodeDialect
import Testing
import Wire

private typealias Samples = DialectSamples

@Suite struct DialectOutboxTests {
  private func failure(_ json: JSON, fromDesktop: Bool = false) -> String? {
    let failure = Samples.failure { () throws(DecodeFailure) in
      try OutboxEntry.decode(json, at: "entries[1]", fromDesktop: fromDesktop)
    }
    if let failure { #expect(failure.at == "entries[1]") }
    return failure?.reason
  }

  private static let accepted: JSON = ["runId": "run-1", "threadId": "th-1", "turnId": "t-1", "acceptedAt": 5]

  @Test(arguments: [
    DialectCase("/queueId", 7, "entry.queueId.blank"), DialectCase("/queueId", nil, "entry.queueId.blank"),
    DialectCase("/operationId", "\u{a0}", "entry.operationId.blank"), DialectCase("/status", "done", "entry.status.unknown"),
    DialectCase("/status", nil, "entry.status.unknown"), DialectCase("/status", "sending", nil),
    DialectCase("/sendMode", "steer", "entry.sendMode.unknown"), DialectCase("/sendMode", "steer-running", "entry.steer.runId.missing"),
    DialectCase([("/sendMode", "steer-running"), ("/expectedActiveRunId", " ")], "entry.steer.runId.missing"),
    DialectCase([("/sendMode", "steer-running"), ("/expectedActiveRunId", 7)], "entry.steer.runId.missing"),
    DialectCase([("/sendMode", "steer-running"), ("/expectedActiveRunId", "run-1")], nil),
    DialectCase("/expectedActiveRunId", "run-1", "entry.runId.unexpected"),
    DialectCase("/expectedActiveRunId", "", "entry.runId.unexpected"), DialectCase("/expectedActiveRunId", 7, "entry.runId.unexpected"),
    DialectCase([("/sendMode", "interrupt-running"), ("/expectedActiveRunId", "run-1")], "entry.runId.unexpected"),
    DialectCase("/sendMode", "interrupt-running", nil), DialectCase("/expectedActiveRunId", nil, nil),
    DialectCase("/pendingMutation", 1, "entry.pendingMutation.kind.unknown"),
    DialectCase("/pendingMutation", ["kind": "edit", "mutationId": "m"], "entry.pendingMutation.kind.unknown"),
    DialectCase("/pendingMutation", ["kind": "remove"], "entry.pendingMutation.id.blank"),
    DialectCase("/pendingMutation", ["kind": "remove", "mutationId": "\u{2003}"], "entry.pendingMutation.id.blank"),
    DialectCase("/pendingMutation", ["kind": "remove", "mutationId": "m-1"], nil),
    DialectCase("/pendingMutation", ["kind": "submit", "mutationId": "m-1"], "entry.pendingMutation.intent.missing"),
    DialectCase("/pendingMutation", ["kind": "submit", "mutationId": "m-1", "intent": "later"], "entry.pendingMutation.intent.missing"),
    DialectCase("/pendingMutation", ["kind": "submit", "mutationId": "m-1", "intent": "enqueue"], nil),
    DialectCase("/accepted", 1, "entry.accepted.runId"), DialectCase("/accepted", accepted.with("/runId", ""), "entry.accepted.runId"),
    DialectCase("/accepted", accepted.with("/threadId", .null), "entry.accepted.threadId"),
    DialectCase("/accepted", accepted.without("/turnId"), "entry.accepted.turnId"),
    DialectCase("/accepted", accepted.with("/acceptedAt", .double(0.5)), "entry.accepted.acceptedAt"),
    DialectCase("/accepted", accepted, nil), DialectCase("/handoff", ["phase": "done"], "entry.handoff.phase.unknown"),
    DialectCase("/handoff", "requested", "entry.handoff.phase.unknown"), DialectCase("/handoff", ["phase": "replay-authorized"], nil),
    DialectCase("/message", 1, "message.not-object"), DialectCase("/message", DialectSamples.incoming, nil),
    DialectCase("/message", DialectSamples.outgoing, "entry.message.not-incoming"),
    DialectCase(
      "/message", DialectSamples.incoming.with("/delivery", ["signal": "sent", "word": "Sent"]), "entry.message.has-delivery"),
    DialectCase(
      "/message", DialectSamples.outgoing.with("/direction", "incoming").with("/delivery", .null), "entry.message.has-link"),
    DialectCase("/holdReason", " ", "entry.holdReason.blank"), DialectCase("/holdReason", "From another session", nil),
    DialectCase("/holdReason", 1, "entry.type:holdReason"), DialectCase("/error", 1, "entry.type:error"),
    DialectCase("/userText", nil, "entry.type:userText"), DialectCase("/promptText", 1, "entry.type:promptText"),
    DialectCase("/threadId", 1, "entry.type:threadId"), DialectCase("/selection", [:], "entry.type:selection"),
    DialectCase("/speedMode", .null, "entry.type:speedMode"), DialectCase("/accessLevel", nil, "entry.type:accessLevel"),
    DialectCase("/attachments", .null, "entry.type:attachments"), DialectCase("/attachments", [[:]], "entry.type:attachments"),
    DialectCase("/createdAt", .double(0.5), "entry.type:createdAt"), DialectCase("/futureKey", 1, nil),
    DialectCase([("/queueId", ""), ("/operationId", "")], "entry.queueId.blank"),
    DialectCase([("/status", ""), ("/sendMode", "")], "entry.status.unknown"),
    DialectCase([("/handoff", 1), ("/message", 1)], "entry.handoff.phase.unknown"),
    DialectCase([("/userText", 1), ("/message", 1)], "message.not-object"),
  ])
  func `HB-OUTBOX-06 the decoder checks every field of an entry, in the order listed`(example: DialectCase) {
    #expect(failure(example.applied(to: Samples.entry)) == example.reason)
  }

  @Test func `HB-OUTBOX-06 a steer carries a nonblank run ID and no other mode carries one: initializer, decoder and encoder`() throws {
    func made(_ mode: SendMode, _ run: String?, queueId: String = "q", operationId: String = "o") -> String? {
      Samples.failure { () throws(DecodeFailure) in
        try SubmitEntry(
          queueId: queueId, operationId: operationId, userText: "", promptText: "", sendMode: mode, expectedActiveRunId: run, createdAt: 0)
      }?.reason
    }
    #expect(made(.steerRunning, nil) == "entry.steer.runId.missing")
    #expect(made(.steerRunning, "\u{3000}") == "entry.steer.runId.missing")
    #expect(made(.steerRunning, "run-1") == nil)
    for mode in [SendMode.queue, .interruptRunning] {
      #expect(made(mode, "run-1") == "entry.runId.unexpected")
      #expect(made(mode, "") == "entry.runId.unexpected")
      #expect(made(mode, nil) == nil)
    }
    #expect(made(.queue, nil, queueId: " ") == "entry.queueId.blank")
    #expect(made(.queue, nil, operationId: "") == "entry.operationId.blank")

    var steer = try SubmitEntry.decode(Samples.submit.with("/sendMode", "steer-running").with("/expectedActiveRunId", "run-1"), at: "")
    #expect(steer.json["expectedActiveRunId"] == "run-1")
    steer.becomeQueued()
    #expect(steer.json["sendMode"] == "queue")
    #expect(steer.json["expectedActiveRunId"] == .null)
    #expect(try SubmitEntry.decode(steer.json, at: "") == steer)
  }

  @Test func `HB-OUTBOX-06 initializer and encoder refuse what the decoder refuses`() throws {
    let submit = try SubmitEntry.decode(Samples.submit, at: "")
    let outgoing = try MessageFact.decode(Samples.outgoing, at: "")
    var entry = try OutboxEntry(submit: submit, status: .queued)
    func reasons(_ change: (inout OutboxEntry) -> Void) -> String? {
      var changed = entry
      change(&changed)
      let written = Samples.failure { () throws(DecodeFailure) in try changed.json }?.reason
      let made = Samples.failure { () throws(DecodeFailure) in
        try OutboxEntry(
          submit: changed.submit, status: .queued, pendingMutation: changed.pendingMutation, accepted: changed.accepted,
          holdReason: changed.holdReason, message: changed.message)
      }?.reason
      #expect(written == made)
      return written
    }
    #expect(reasons { $0.pendingMutation = .remove(mutationId: "") } == "entry.pendingMutation.id.blank")
    #expect(reasons { $0.pendingMutation = .submit(mutationId: " ", intent: .enqueue) } == "entry.pendingMutation.id.blank")
    #expect(reasons { $0.accepted = AcceptedSteer(runId: "r", threadId: "", turnId: "t", acceptedAt: 0) } == "entry.accepted.threadId")
    #expect(reasons { $0.message = outgoing } == "entry.message.not-incoming")
    #expect(reasons { $0.holdReason = "\n" } == "entry.holdReason.blank")
    #expect(reasons { $0.holdReason = "Held" } == nil)
    entry.error = ""
    #expect(try entry.json["error"] == "")
  }

  @Test func `Entries from the desktop have no pending mutation`() {
    let pending = Samples.entry.with("/pendingMutation", ["kind": "remove", "mutationId": "m-1"])
    #expect(failure(pending, fromDesktop: true) == "entry.pendingMutation.unexpected")
    #expect(failure(pending) == nil)
    #expect(failure(Samples.entry, fromDesktop: true) == nil)
    #expect(failure(Samples.entry.without("/pendingMutation"), fromDesktop: true) == nil)
  }

  @Test func `A submit repeats byte for byte and has no mutable part`() throws {
    let entry = try SubmitEntry.decode(Samples.submit, at: "params.entry")
    #expect(entry.json == Samples.submit)
    let reversed = JSON.object(JSONObject(Samples.submit.object?.members.reversed() ?? []))
    #expect(JSONWriter.compact(try SubmitEntry.decode(reversed, at: "").json) == JSONWriter.compact(Samples.submit))
    for key in ["status", "pendingMutation", "accepted", "handoff", "holdReason", "error", "message"] {
      let failure = Samples.failure { () throws(DecodeFailure) in
        try SubmitEntry.decode(Samples.submit.with("/" + key, .null), at: "params.entry")
      }
      #expect(failure == DecodeFailure(reason: "entry.unknown-key:\(key)", at: "params.entry"))
    }
    let twice = Samples.failure { () throws(DecodeFailure) in try SubmitEntry.decode(Samples.submit.adding("queueId", "q"), at: "") }
    #expect(twice?.reason == "json.duplicate-key")
  }

  @Test func `A full entry is written in table order and comes back`() throws {
    let full = Samples.entry.with("/pendingMutation", ["kind": "submit", "mutationId": "m-1", "intent": "automatic"])
      .with("/accepted", Self.accepted).with("/handoff", ["phase": "dedicated"]).with("/holdReason", "Held").with("/error", "no")
      .with("/message", Samples.incoming).with("/selection", ["model": "sol", "reasoningEffort": "low"])
    #expect(try OutboxEntry.decode(full, at: "", fromDesktop: false).json == full)
    #expect(try OutboxEntry.decode(Samples.entry, at: "", fromDesktop: true).json == Samples.entry)
  }

  @Test(arguments: [
    DialectCase("/revision", .null, "outbox.revision.not-integer", at: "revision"),
    DialectCase("/revision", .double(1.5), "outbox.revision.not-integer", at: "revision"),
    DialectCase("/revision", -1, "outbox.revision.out-of-range", at: "revision"),
    DialectCase("/revision", 9_007_199_254_740_992, "outbox.revision.out-of-range", at: "revision"),
    DialectCase("/revision", 9_007_199_254_740_991, nil), DialectCase("/revision", 0, nil),
    DialectCase("/entries", .null, "outbox.entries.type", at: "entries"),
    DialectCase("/entries/1", 1, "entry.not-object", at: "entries[1]"),
    DialectCase("/entries/1/queueId", " ", "entry.queueId.blank", at: "entries[1]"),
    DialectCase("/entries/0/message", DialectSamples.outgoing, "entry.message.not-incoming", at: "entries[0]"),
    DialectCase("/outcome", "updated", nil),
  ])
  func `One bad entry fails the whole list`(example: DialectCase) {
    let base: JSON = ["revision": 4, "entries": [Samples.entry, Samples.entry.with("/operationId", "op-2")]]
    let failure = Samples.failure { () throws(DecodeFailure) in try OutboxList.decode(example.applied(to: base)) }
    #expect(failure == example.expected)
  }

  @Test func `A list is read and written, and a repeated key in an entry fails it`() throws {
    let json: JSON = ["revision": 4, "entries": [Samples.entry]]
    #expect(try OutboxList.decode(json).json == json)
    let repeated = Samples.failure { () throws(DecodeFailure) in try OutboxList.decode(json.adding("error", "x", at: "/entries/0")) }
    #expect(repeated == DecodeFailure(reason: "json.duplicate-key"))
    #expect(Samples.failure { () throws(DecodeFailure) in try OutboxList.decode([]) }?.reason == "outbox.not-object")
  }
}

@Suite struct DialectMessageFactTests {
  @Test(arguments: [
    DialectCase("/from", nil, "message.missing-key:from"), DialectCase([("/link", nil), ("/to", nil)], "message.missing-key:to"),
    DialectCase([("/b", 1), ("/a", 1)], "message.unknown-key:a"), DialectCase("/direction", "both", "message.direction.unknown"),
    DialectCase("/direction", .null, "message.direction.unknown"), DialectCase("/from", "\u{2003}", "message.from.blank"),
    DialectCase("/to", 7, "message.to.blank"), DialectCase("/peer", .null, "message.peer.type"),
    DialectCase("/peer/name", nil, "message.peer.type"), DialectCase("/peer/x", 1, "message.peer.type"),
    DialectCase("/peer/name", "", "message.peer.name.blank"), DialectCase("/peer/agent", "gemini", "message.peer.agent.unknown"),
    DialectCase("/delivery", "sent", "message.delivery.type"), DialectCase("/delivery/word", nil, "message.delivery.type"),
    DialectCase("/delivery/signal", "queued", "message.delivery.signal.unknown"),
    DialectCase("/delivery/word", " ", "message.delivery.word.blank"), DialectCase("/delivery", .null, nil),
    DialectCase("/delivery", ["signal": "needs-approval", "word": "Needs approval"], nil),
    DialectCase("/delivery", ["signal": "not-sent", "word": "Not sent"], nil), DialectCase("/link", 1, "message.link.type"),
    DialectCase("/link/threadId", nil, "message.link.type"), DialectCase("/link/sessionId", " ", "message.link.sessionId.blank"),
    DialectCase("/link/threadId", 1, "message.link.threadId.type"), DialectCase("/link/threadId", .null, nil),
    DialectCase("/link/anchor", .null, "message.link.anchor.unknown"),
    DialectCase("/link/anchor", ["kind": "message", "messageId": " "], "message.link.anchor.unknown"),
    DialectCase("/link/anchor", ["kind": "message", "messageId": "m", "x": 1], "message.link.anchor.unknown"),
    DialectCase("/link/anchor", ["kind": "row", "rowType": "tool", "rowId": "r"], "message.link.anchor.unknown"),
    DialectCase("/link/anchor", ["kind": "row", "rowType": "thinking", "rowId": "r"], nil), DialectCase("/link", .null, nil),
    DialectCase([("/direction", 1), ("/to", "")], "message.direction.unknown"),
    DialectCase([("/peer", 1), ("/to", "")], "message.to.blank"), DialectCase([("/delivery", 1), ("/link", 1)], "message.delivery.type"),
  ])
  func `HB-MSG-02 an unknown value or a blank word in a fact fails the decode`(example: DialectCase) {
    let failure = DialectSamples.failure { () throws(DecodeFailure) in
      try MessageFact.decode(example.applied(to: DialectSamples.outgoing), at: "timeline[4]")
    }
    #expect(failure == example.reason.map { DecodeFailure(reason: $0, at: "timeline[4]") })
  }

  @Test func `HB-MSG-02 a bad fact fails the page and the outbox answer that carry it`() {
    let bad = DialectSamples.incoming.with("/from", " ")
    let row = DialectSamples.userRow.with("/title", "Message").with("/message", bad)
    let page = DialectSamples.failure { () throws(DecodeFailure) in
      try HistoryEnvelope.decode(DialectSamples.latest.with("/timeline/0", row), .latest)
    }
    #expect(page == DecodeFailure(reason: "message.from.blank", at: "timeline[0]"))
    let list = DialectSamples.failure { () throws(DecodeFailure) in
      try OutboxList.decode(["revision": 1, "entries": [DialectSamples.entry.with("/message", bad)]])
    }
    #expect(list == DecodeFailure(reason: "message.from.blank", at: "entries[0]"))
  }

  @Test func `Facts and anchors are written back as they came`() throws {
    for json in [DialectSamples.incoming, DialectSamples.outgoing] { #expect(try MessageFact.decode(json, at: "").json == json) }
    let place: JSON = ["kind": "row", "rowType": "user", "rowId": "u1"]
    #expect(try Anchor.decode(place).json == place)
    #expect(DialectSamples.failure { () throws(DecodeFailure) in try Anchor.decode([:]) }?.reason == "anchor.unknown")
  }
}
