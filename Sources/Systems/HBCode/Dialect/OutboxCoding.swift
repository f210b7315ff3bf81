import Wire

extension OutboxList {
  /// Reads `revision` and `entries` of an answer or event; further keys (`outcome`, `sessionId`) are read apart.
  ///
  /// Reasons, besides those of the entries: `json.duplicate-key`, `outbox.not-object`, `outbox.revision.not-integer`,
  /// `outbox.revision.out-of-range`, `outbox.entries.type`. One bad entry fails the whole list (spec B.4).
  package static func decode(_ json: JSON) throws(DecodeFailure) -> OutboxList {
    if json.repeatsKey { throw DecodeFailure(reason: "json.duplicate-key") }
    guard case .object(let object) = json else { throw DecodeFailure(reason: "outbox.not-object") }
    return try decodeChecked(object)
  }

  /// As `decode`, for an object that is known to repeat no key.
  static func decodeChecked(_ object: JSONObject) throws(DecodeFailure) -> OutboxList {
    let revision: Int64
    switch (object["revision"] ?? .null).safeInteger {
    case .value(let value) where value >= 0: revision = value
    case .value, .outOfRange: throw DecodeFailure(reason: "outbox.revision.out-of-range", at: "revision")
    case .notInteger: throw DecodeFailure(reason: "outbox.revision.not-integer", at: "revision")
    }
    guard case .array(let elements)? = object["entries"] else { throw DecodeFailure(reason: "outbox.entries.type", at: "entries") }
    var entries: [OutboxEntry] = []
    entries.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
      entries.append(try OutboxEntry.decode(element, at: "entries[\(index)]", fromDesktop: true))
    }
    return OutboxList(revision: revision, entries: entries)
  }

  /// The members `revision` and `entries`. Throws what `OutboxEntry.json` throws.
  package var fields: JSONObject {
    get throws(DecodeFailure) {
      var written: [JSON] = []
      written.reserveCapacity(entries.count)
      for entry in entries { written.append(try entry.json) }
      return ["revision": .integer(revision), "entries": .array(written)]
    }
  }

  /// `{"revision","entries"}`.
  package var json: JSON { get throws(DecodeFailure) { .object(try fields) } }
}

extension SubmitEntry {
  /// The rules that hold for every submit (HB-OUTBOX-06): initializer, decoder and encoder alike go by this.
  static func check(queueId: String, operationId: String, sendMode: SendMode, expectedActiveRunId: String?) -> String? {
    if queueId.isBlank { return "entry.queueId.blank" }
    if operationId.isBlank { return "entry.operationId.blank" }
    if sendMode == .steerRunning { return expectedActiveRunId?.isBlank ?? true ? "entry.steer.runId.missing" : nil }
    return expectedActiveRunId == nil ? nil : "entry.runId.unexpected"
  }

  /// Reads the immutable part of an entry (spec B.4). A key of the mutable part is refused: `entry.unknown-key:<key>`.
  package static func decode(_ json: JSON, at path: String) throws(DecodeFailure) -> SubmitEntry {
    if json.repeatsKey { throw DecodeFailure(reason: "json.duplicate-key") }
    guard case .object(let object) = json else { throw DecodeFailure(reason: "entry.not-object", at: path) }
    let head = try EntryHead(object, at: path)
    let entry = try SubmitEntry(head, object, at: path)
    if let unknown = object.exactKeys(keys).unknown { throw DecodeFailure(reason: "entry.unknown-key:\(unknown)", at: path) }
    return entry
  }

  /// The keys of a submit's entry, in order.
  static let keys = [
    "queueId", "operationId", "userText", "promptText", "sendMode", "expectedActiveRunId", "threadId", "selection", "speedMode",
    "accessLevel", "attachments", "createdAt",
  ]

  /// All keys in a fixed order, null where there is nothing, so that a resend repeats byte for byte (HB-OUTBOX-13). The run ID is
  /// written for a steer only; the initializer has made sure that a steer has one.
  package var json: JSON { .object(fields) }

  var fields: JSONObject {
    [
      "queueId": .string(queueId), "operationId": .string(operationId), "userText": .string(userText),
      "promptText": .string(promptText), "sendMode": .string(sendMode.rawValue),
      "expectedActiveRunId": sendMode == .steerRunning ? .nullable(expectedActiveRunId) : .null, "threadId": .nullable(threadId),
      "selection": selection.map { ["model": .string($0.model), "reasoningEffort": .string($0.reasoningEffort)] } ?? .null,
      "speedMode": .string(speedMode), "accessLevel": .string(accessLevel), "attachments": .array(attachments.map(\.json)),
      "createdAt": .integer(createdAt),
    ]
  }

  /// The rest of an entry, after everything that has a reason in spec B.4: `entry.type:<key>`.
  fileprivate init(_ head: EntryHead, _ object: JSONObject, at path: String) throws(DecodeFailure) {
    func wrongType(_ key: String) -> DecodeFailure { DecodeFailure(reason: "entry.type:\(key)", at: path) }
    guard let userText = object["userText"]?.string else { throw wrongType("userText") }
    guard let promptText = object["promptText"]?.string else { throw wrongType("promptText") }
    let threadId = object.nullableString("threadId")
    if case .wrongType = threadId { throw wrongType("threadId") }
    var selection: ModelSelection?
    if let value = object["selection"], !value.isNull {
      guard let model = value["model"]?.string, let effort = value["reasoningEffort"]?.string else { throw wrongType("selection") }
      selection = ModelSelection(model: model, reasoningEffort: effort)
    }
    guard let speedMode = object["speedMode"]?.string else { throw wrongType("speedMode") }
    guard let accessLevel = object["accessLevel"]?.string else { throw wrongType("accessLevel") }
    guard let list = object["attachments"]?.array else { throw wrongType("attachments") }
    var attachments: [AttachmentReference] = []
    for element in list {
      guard let attachment = AttachmentReference(element) else { throw wrongType("attachments") }
      attachments.append(attachment)
    }
    guard let createdAt = object["createdAt"]?.wireInteger else { throw wrongType("createdAt") }
    do throws(DecodeFailure) {
      try self.init(
        queueId: head.queueId, operationId: head.operationId, userText: userText, promptText: promptText, sendMode: head.sendMode,
        expectedActiveRunId: head.expectedActiveRunId, threadId: threadId.optional, selection: selection, speedMode: speedMode,
        accessLevel: accessLevel, attachments: attachments, createdAt: createdAt)
    } catch {
      throw DecodeFailure(reason: error.reason, at: path)
    }
  }
}

extension AttachmentReference {
  /// Reads `{attachmentId, fileName, mimeType, size}`.
  package init?(_ json: JSON) {
    guard let object = json.object, let id = object["attachmentId"]?.string, let name = object["fileName"]?.string,
      let type = object["mimeType"]?.string, let size = object["size"]?.wireInteger
    else { return nil }
    self.init(attachmentId: id, fileName: name, mimeType: type, size: size)
  }

  package var json: JSON {
    [
      "attachmentId": .string(attachmentId), "fileName": .string(fileName), "mimeType": .string(mimeType), "size": .integer(size),
    ]
  }
}

/// The fields of an entry that are checked first, in the order of spec B.4.
private struct EntryHead {
  var queueId: String
  var operationId: String
  var status: EntryStatus?
  var sendMode: SendMode
  var expectedActiveRunId: String?

  /// A submit has no status; a full entry must have one.
  init(_ object: JSONObject, at path: String, wantsStatus: Bool = false) throws(DecodeFailure) {
    func failure(_ reason: String) -> DecodeFailure { DecodeFailure(reason: "entry." + reason, at: path) }
    guard let queueId = object["queueId"]?.nonblankString else { throw failure("queueId.blank") }
    guard let operationId = object["operationId"]?.nonblankString else { throw failure("operationId.blank") }
    if wantsStatus {
      status = object["status"]?.string.flatMap(EntryStatus.init(rawValue:))
      if status == nil { throw failure("status.unknown") }
    }
    guard let sendMode = object["sendMode"]?.string.flatMap(SendMode.init(rawValue:)) else { throw failure("sendMode.unknown") }
    let run = object.nullableString("expectedActiveRunId")
    if case .wrongType = run { throw failure(sendMode == .steerRunning ? "steer.runId.missing" : "runId.unexpected") }
    if let reason = SubmitEntry.check(
      queueId: queueId, operationId: operationId, sendMode: sendMode, expectedActiveRunId: run.optional)
    {
      throw DecodeFailure(reason: reason, at: path)
    }
    self.queueId = queueId
    self.operationId = operationId
    self.sendMode = sendMode
    expectedActiveRunId = run.optional
  }
}

extension OutboxEntry {
  /// Reads a full entry (spec B.4). With `fromDesktop`, a pending mutation is refused: `entry.pendingMutation.unexpected`. What has
  /// no reason in the spec comes last: `entry.holdReason.blank`, `entry.type:<key>`. Further keys are not used.
  package static func decode(_ json: JSON, at path: String, fromDesktop: Bool) throws(DecodeFailure) -> OutboxEntry {
    func failure(_ reason: String) -> DecodeFailure { DecodeFailure(reason: "entry." + reason, at: path) }
    guard case .object(let object) = json else { throw failure("not-object") }
    let head = try EntryHead(object, at: path, wantsStatus: true)

    var mutation: PendingMutation?
    if let value = object["pendingMutation"], !value.isNull {
      if fromDesktop { throw failure("pendingMutation.unexpected") }
      let kind = value["kind"]?.string
      guard kind == "submit" || kind == "remove" else { throw failure("pendingMutation.kind.unknown") }
      guard let id = value["mutationId"]?.nonblankString else { throw failure("pendingMutation.id.blank") }
      if kind == "remove" {
        mutation = .remove(mutationId: id)
      } else {
        guard let intent = value["intent"]?.string.flatMap(SubmitIntent.init(rawValue:)) else {
          throw failure("pendingMutation.intent.missing")
        }
        mutation = .submit(mutationId: id, intent: intent)
      }
    }
    var accepted: AcceptedSteer?
    if let value = object["accepted"], !value.isNull {
      guard let runId = value["runId"]?.nonblankString else { throw failure("accepted.runId") }
      guard let threadId = value["threadId"]?.nonblankString else { throw failure("accepted.threadId") }
      guard let turnId = value["turnId"]?.nonblankString else { throw failure("accepted.turnId") }
      guard let acceptedAt = value["acceptedAt"]?.wireInteger else { throw failure("accepted.acceptedAt") }
      accepted = AcceptedSteer(runId: runId, threadId: threadId, turnId: turnId, acceptedAt: acceptedAt)
    }
    var handoff: HandoffPhase?
    if let value = object["handoff"], !value.isNull {
      guard let phase = value["phase"]?.string.flatMap(HandoffPhase.init(rawValue:)) else { throw failure("handoff.phase.unknown") }
      handoff = phase
    }
    var message: MessageFact?
    if let value = object["message"], !value.isNull {
      let fact = try MessageFact.decode(value, at: path)
      if let reason = fact.queuedFormProblem { throw DecodeFailure(reason: reason, at: path) }
      message = fact
    }
    let submit = try SubmitEntry(head, object, at: path)
    let hold = object.nullableString("holdReason")
    if case .wrongType = hold { throw failure("type:holdReason") }
    if let reason = hold.optional, reason.isBlank { throw failure("holdReason.blank") }
    let error = object.nullableString("error")
    if case .wrongType = error { throw failure("type:error") }
    do throws(DecodeFailure) {
      return try OutboxEntry(
        submit: submit, status: head.status ?? .queued, pendingMutation: mutation, accepted: accepted, handoff: handoff,
        holdReason: hold.optional, error: error.optional, message: message)
    } catch {
      throw DecodeFailure(reason: error.reason, at: path)
    }
  }

  /// The rules of the parts that change (HB-OUTBOX-06): initializer, decoder and encoder alike go by this.
  func check() throws(DecodeFailure) {
    switch pendingMutation {
    case .submit(let id, _)?, .remove(let id)?:
      if id.isBlank { throw DecodeFailure(reason: "entry.pendingMutation.id.blank") }
    case nil: break
    }
    if let accepted {
      for (name, value) in [("runId", accepted.runId), ("threadId", accepted.threadId), ("turnId", accepted.turnId)] where value.isBlank {
        throw DecodeFailure(reason: "entry.accepted.\(name)")
      }
    }
    if let reason = message?.queuedFormProblem { throw DecodeFailure(reason: reason) }
    if let holdReason, holdReason.isBlank { throw DecodeFailure(reason: "entry.holdReason.blank") }
  }

  /// The full entry: the keys of spec B.4 in table order, null where there is nothing. Throws when an assigned part breaks a rule
  /// of B.4, with the reason that the decoder would give.
  package var json: JSON {
    get throws(DecodeFailure) {
      try check()
      let immutable = submit.fields
      var object = JSONObject()
      func take(_ names: String...) {
        for name in names { object.members.append(JSONObject.Member(name: name, value: immutable[name] ?? .null)) }
      }
      func add(_ name: String, _ value: JSON?) { object.members.append(JSONObject.Member(name: name, value: value ?? .null)) }
      take("queueId", "operationId", "userText", "promptText")
      add("status", .string(status.rawValue))
      take("sendMode", "expectedActiveRunId")
      add("pendingMutation", pendingMutation?.json)
      add("accepted", accepted?.json)
      add("handoff", handoff.map { ["phase": .string($0.rawValue)] })
      add("holdReason", holdReason.map(JSON.string))
      add("error", error.map(JSON.string))
      add("message", message?.json)
      take("threadId", "selection", "speedMode", "accessLevel", "attachments", "createdAt")
      return .object(object)
    }
  }
}

extension MessageFact {
  /// Why this is not the queued form (spec B.5), as a reason; nil when it is.
  fileprivate var queuedFormProblem: String? {
    if direction != .incoming { return "entry.message.not-incoming" }
    if delivery != nil { return "entry.message.has-delivery" }
    return link == nil ? nil : "entry.message.has-link"
  }
}

extension PendingMutation {
  package var json: JSON {
    switch self {
    case .submit(let id, let intent): ["kind": "submit", "mutationId": .string(id), "intent": .string(intent.rawValue)]
    case .remove(let id): ["kind": "remove", "mutationId": .string(id)]
    }
  }
}

extension AcceptedSteer {
  package var json: JSON {
    [
      "runId": .string(runId), "threadId": .string(threadId), "turnId": .string(turnId), "acceptedAt": .integer(acceptedAt),
    ]
  }
}
