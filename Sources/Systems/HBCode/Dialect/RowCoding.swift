import Wire

extension Row {
  /// Reads one row (spec B.3, step 3); checks in the order of the spec. Repeated keys are the caller's matter (step 1).
  ///
  /// Fields without a reason of their own in the spec come last: `row.threadId.type`, `row.panel.unknown`.
  package static func decode(_ json: JSON, at path: String) throws(DecodeFailure) -> Row {
    func failure(_ reason: String) -> DecodeFailure { DecodeFailure(reason: reason, at: path) }
    guard case .object(let object) = json else { throw failure("row.not-object") }
    guard let type = object["type"]?.string.flatMap(RowType.init(rawValue:)) else { throw failure("row.type.unknown") }
    guard let id = object["id"]?.nonblankString else { throw failure("row.id.blank") }
    guard let origin = object["origin"]?.string.flatMap(RowOrigin.init(rawValue:)) else { throw failure("row.origin.unknown") }
    guard case .array(let elements)? = object["sourceOrder"], !elements.isEmpty else { throw failure("row.sourceOrder.empty") }
    var parts: [UInt64] = []
    parts.reserveCapacity(elements.count)
    for element in elements {
      guard let part = element.wireInteger.flatMap({ UInt64(exactly: $0) }) else { throw failure("row.sourceOrder.not-unsigned") }
      parts.append(part)
    }
    guard let timestamp = object["timestamp"]?.wireInteger else { throw failure("row.timestamp.not-integer") }
    let runId = object.nullableString("runId")
    if case .wrongType = runId { throw failure("row.live.runId.missing") }
    if origin == .live, runId.optional?.isBlank ?? true { throw failure("row.live.runId.missing") }
    let operationId = object.nullableString("operationId")
    if case .wrongType = operationId { throw failure("row.live-user.operationId.missing") }
    if origin == .live, type == .user, operationId.optional?.isBlank ?? true { throw failure("row.live-user.operationId.missing") }
    let text = object["text"]
    if let text, text.string == nil { throw failure("row.text.type") }
    let title = object.nullableString("title")
    if case .wrongType = title { throw failure("row.title.blank") }
    let fact = object["message"]
    if fact != nil, title.optional?.isBlank ?? true { throw failure("row.title.blank") }
    var message: MessageFact?
    if let fact {
      guard type == .user || type == .activity else { throw failure("row.message.not-allowed") }
      let decoded = try MessageFact.decode(fact, at: path)
      guard decoded.direction == (type == .user ? .incoming : .outgoing) else { throw failure("row.message.not-allowed") }
      message = decoded
    }
    let threadId = object.nullableString("threadId")
    if case .wrongType = threadId { throw failure("row.threadId.type") }
    let panel = object["panel"]
    if let panel, panel.string != "subagent" { throw failure("row.panel.unknown") }
    return Row(
      type: type, id: id, origin: origin, sourceOrder: SourceOrder(parts), timestamp: timestamp, runId: runId.optional,
      operationId: operationId.optional, text: text?.string ?? "", title: title.optional, threadId: threadId.optional,
      isSubagentPanel: panel != nil, message: message, raw: object)
  }

  /// Reads the row of that index in the array at `path`. The row's own path is made only when something is wrong with it.
  static func decode(_ json: JSON, in path: String, _ index: Int) throws(DecodeFailure) -> Row {
    do throws(DecodeFailure) {
      return try decode(json, at: "")
    } catch {
      throw DecodeFailure(reason: error.reason, at: "\(path)[\(index)]")
    }
  }

  /// The object as it came, unknown keys and all.
  package var json: JSON { .object(raw) }

  /// A row that is made here: its object has the keys of spec B.3 in their order; what is nil is left out. Nothing is checked.
  package static func made(
    type: RowType, id: String, origin: RowOrigin, sourceOrder: [UInt64], timestamp: Int64, runId: String? = nil,
    operationId: String? = nil, text: String = "", title: String? = nil, threadId: String? = nil, isSubagentPanel: Bool = false,
    message: MessageFact? = nil
  ) -> Row {
    var raw: JSONObject = [
      "type": .string(type.rawValue), "id": .string(id), "origin": .string(origin.rawValue),
      "sourceOrder": .array(sourceOrder.map { Int64(exactly: $0).map(JSON.integer) ?? .unsigned($0) }),
      "timestamp": .integer(timestamp),
    ]
    func add(_ name: String, _ value: JSON?) {
      if let value { raw.members.append(JSONObject.Member(name: name, value: value)) }
    }
    add("runId", runId.map(JSON.string))
    add("operationId", operationId.map(JSON.string))
    add("text", .string(text))
    add("title", title.map(JSON.string))
    add("threadId", threadId.map(JSON.string))
    if isSubagentPanel { add("panel", "subagent") }
    add("message", message?.json)
    return Row(
      type: type, id: id, origin: origin, sourceOrder: SourceOrder(sourceOrder), timestamp: timestamp, runId: runId,
      operationId: operationId, text: text, title: title, threadId: threadId, isSubagentPanel: isSubagentPanel, message: message,
      raw: raw)
  }

  /// The page decoder that first pages, older pages, thread pages and previews share (HB-ENV-03): step 3 for each row, then
  /// step 4. `path` names the array.
  package static func decodePage(
    _ elements: [JSON], at path: String = "timeline", canonicalOnly: Bool = false
  ) throws(DecodeFailure) -> [Row] {
    var rows: [Row] = []
    rows.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() { rows.append(try Row.decode(element, in: path, index)) }
    if canonicalOnly, let index = rows.firstIndex(where: { $0.origin == .live }) {
      throw DecodeFailure(reason: "page.live-row", at: "\(path)[\(index)]")
    }
    var seen = Set<String>()
    for (index, row) in rows.enumerated() {
      func look(_ key: String) throws(DecodeFailure) {
        if seen.insert(key).inserted { return }
        throw DecodeFailure(reason: "page.duplicate-splice-key:\(key)", at: "\(path)[\(index)]")
      }
      try look(row.identity)
      if let key = row.operationIdentity { try look(key) }
    }
    return rows
  }
}

extension Anchor {
  /// `{"kind":"message","messageId"}` or `{"kind":"row","rowType","rowId"}`, exactly; else `anchor.unknown`.
  package static func decode(_ json: JSON, at path: String = "anchor") throws(DecodeFailure) -> Anchor {
    guard let anchor = Anchor(json) else { throw DecodeFailure(reason: "anchor.unknown", at: path) }
    return anchor
  }

  init?(_ json: JSON) {
    guard let object = json.object else { return nil }
    switch object["kind"]?.string {
    case "message":
      guard object.hasExactly(["kind", "messageId"]), let id = object["messageId"]?.nonblankString else { return nil }
      self = .message(id: id)
    case "row":
      guard object.hasExactly(["kind", "rowType", "rowId"]), let id = object["rowId"]?.nonblankString,
        let type = object["rowType"]?.string.flatMap(RowType.init(rawValue:))
      else { return nil }
      self = .row(type: type, id: id)
    default: return nil
    }
  }

  package var json: JSON {
    switch self {
    case .message(let id): ["kind": "message", "messageId": .string(id)]
    case .row(let type, let id): ["kind": "row", "rowType": .string(type.rawValue), "rowId": .string(id)]
    }
  }
}

extension MessageFact {
  private static let keys = ["direction", "from", "to", "peer", "delivery", "link"]

  /// Reads a fact strictly (spec B.5, HB-MSG-02); `path` is that of the row or entry that carries it.
  package static func decode(_ json: JSON, at path: String) throws(DecodeFailure) -> MessageFact {
    func failure(_ reason: String) -> DecodeFailure { DecodeFailure(reason: "message." + reason, at: path) }
    guard case .object(let object) = json else { throw failure("not-object") }
    switch object.exactKeys(keys) {
    case (let missing?, _): throw failure("missing-key:\(missing)")
    case (nil, let unknown?): throw failure("unknown-key:\(unknown)")
    case (nil, nil): break
    }
    guard let direction = object["direction"]?.string.flatMap(Direction.init(rawValue:)) else { throw failure("direction.unknown") }
    guard let from = object["from"]?.nonblankString else { throw failure("from.blank") }
    guard let to = object["to"]?.nonblankString else { throw failure("to.blank") }
    guard let peer = object["peer"]?.object, peer.hasExactly(["name", "agent"]) else { throw failure("peer.type") }
    guard let peerName = peer["name"]?.nonblankString else { throw failure("peer.name.blank") }
    guard let peerAgent = peer["agent"]?.string.flatMap(Agent.init(rawValue:)) else { throw failure("peer.agent.unknown") }

    var delivery: Delivery?
    if let value = object["delivery"], !value.isNull {
      guard let value = value.object, value.hasExactly(["signal", "word"]) else { throw failure("delivery.type") }
      guard let signal = value["signal"]?.string.flatMap(Signal.init(rawValue:)) else { throw failure("delivery.signal.unknown") }
      guard let word = value["word"]?.nonblankString else { throw failure("delivery.word.blank") }
      delivery = Delivery(signal: signal, word: word)
    }
    var link: Link?
    if let value = object["link"], !value.isNull {
      guard let value = value.object, value.hasExactly(["sessionId", "threadId", "anchor"]) else { throw failure("link.type") }
      guard let sessionId = value["sessionId"]?.nonblankString else { throw failure("link.sessionId.blank") }
      let threadId = value.nullableString("threadId")
      if case .wrongType = threadId { throw failure("link.threadId.type") }
      guard let anchor = value["anchor"].flatMap(Anchor.init) else { throw failure("link.anchor.unknown") }
      link = Link(sessionId: sessionId, threadId: threadId.optional, anchor: anchor)
    }
    return MessageFact(
      direction: direction, from: from, to: to, peerName: peerName, peerAgent: peerAgent, delivery: delivery, link: link)
  }

  /// All six keys, in the order of spec B.5.
  package var json: JSON {
    [
      "direction": .string(direction.rawValue), "from": .string(from), "to": .string(to),
      "peer": ["name": .string(peerName), "agent": .string(peerAgent.rawValue)],
      "delivery": delivery.map { ["signal": .string($0.signal.rawValue), "word": .string($0.word)] } ?? .null,
      "link": link.map { ["sessionId": .string($0.sessionId), "threadId": .nullable($0.threadId), "anchor": $0.anchor.json] } ?? .null,
    ]
  }
}
