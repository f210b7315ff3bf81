import Wire

extension HistoryRequest {
  /// The keys of the answer, in table order: 11 for the latest window, 14 with an anchor (HB-ENV-01, -10).
  package var keys: [String] {
    let latest = [
      "boundaryToken", "nativeSessionId", "loadState", "storageFormat", "loadedEntries", "hasOlderEntries", "oldestCursor",
      "timeline", "liveOverlay", "runtime", "activeRun",
    ]
    switch self {
    case .latest: return latest
    case .anchored: return latest + ["newerCursor", "anchorRow", "notice"]
    }
  }
}

/// Step 1: a repeated key anywhere, then the exact set of keys.
private func shape(_ json: JSON, keys: [String]) throws(DecodeFailure) -> JSONObject {
  if json.repeatsKey { throw DecodeFailure(reason: "json.duplicate-key") }
  guard case .object(let object) = json else { throw DecodeFailure(reason: "envelope.not-object") }
  switch object.exactKeys(keys) {
  case (let missing?, _): throw DecodeFailure(reason: "envelope.missing-key:\(missing)")
  case (nil, let unknown?): throw DecodeFailure(reason: "envelope.unknown-key:\(unknown)")
  case (nil, nil): return object
  }
}

private func wrongType(_ key: String) -> DecodeFailure { DecodeFailure(reason: "envelope.type:\(key)", at: key) }

/// Step 2 of the keys that windows and older pages share.
extension JSONObject {
  fileprivate func boundaryToken() throws(DecodeFailure) -> String {
    guard let token = self["boundaryToken"]?.string else { throw wrongType("boundaryToken") }
    if token.isBlank { throw DecodeFailure(reason: "boundaryToken.blank", at: "boundaryToken") }
    return token
  }

  fileprivate func envelopeString(_ key: String) throws(DecodeFailure) -> String? {
    let value = nullableString(key)
    if case .wrongType = value { throw wrongType(key) }
    return value.optional
  }

  fileprivate func pagination() throws(DecodeFailure) -> (hasOlder: Bool, cursor: String?) {
    guard let hasOlder = self["hasOlderEntries"]?.bool else { throw wrongType("hasOlderEntries") }
    let cursor = try envelopeString("oldestCursor")
    if hasOlder, cursor?.isBlank ?? true { throw DecodeFailure(reason: "oldestCursor.missing", at: "oldestCursor") }
    return (hasOlder, cursor)
  }

  fileprivate func timeline() throws(DecodeFailure) -> [JSON] {
    guard case .array(let elements)? = self["timeline"] else { throw wrongType("timeline") }
    return elements
  }
}

extension HistoryEnvelope {
  /// Reads the answer of a window load, or tells the first failure in the order of spec B.3 (HB-ENV-09).
  ///
  /// A `storageFormat` that does not fit the session's agent is no failure: `isStored(for:)` tells it (HB-AGENT-13).
  package static func decode(_ json: JSON, _ request: HistoryRequest) throws(DecodeFailure) -> HistoryEnvelope {
    let object = try shape(json, keys: request.keys)

    let boundaryToken = try object.boundaryToken()
    let nativeSessionId = try object.envelopeString("nativeSessionId")
    guard let state = object["loadState"]?.object else { throw wrongType("loadState") }
    guard let loadState = LoadState(state) else { throw DecodeFailure(reason: "loadState.unknown", at: "loadState") }
    guard let storageFormat = object["storageFormat"]?.string else { throw wrongType("storageFormat") }
    guard storageFormat == "indexed" || storageFormat == "native" else {
      throw DecodeFailure(reason: "storageFormat.unknown", at: "storageFormat")
    }
    guard let loadedEntries = object["loadedEntries"]?.wireInteger else {
      throw DecodeFailure(reason: "loadedEntries.not-integer", at: "loadedEntries")
    }
    if loadedEntries < 0 { throw DecodeFailure(reason: "loadedEntries.negative", at: "loadedEntries") }
    let (hasOlder, cursor) = try object.pagination()
    let elements = try object.timeline()

    let rows = try Row.decodePage(elements)
    let overlay = try LiveOverlay.decodeChecked(object["liveOverlay"] ?? .null, at: "liveOverlay")

    let runtime = object["runtime"]
    if let runtime, !runtime.isNull, runtime.object == nil { throw wrongType("runtime") }
    let activeRun = try ActiveRun.decodeNullable(object["activeRun"] ?? .null)
    var newerCursor: String?
    var anchorRow: Anchor?
    var notice: String?
    if request == .anchored {
      newerCursor = try object.envelopeString("newerCursor")
      if let place = object["anchorRow"], !place.isNull {
        guard let place = place.object, place.hasExactly(["type", "id"]), let id = place["id"]?.nonblankString,
          let type = place["type"]?.string.flatMap(RowType.init(rawValue:))
        else { throw wrongType("anchorRow") }
        anchorRow = .row(type: type, id: id)
      }
      notice = try object.envelopeString("notice")
    }
    return HistoryEnvelope(
      boundaryToken: boundaryToken, nativeSessionId: nativeSessionId, loadState: loadState, storageFormat: storageFormat,
      loadedEntries: loadedEntries, hasOlderEntries: hasOlder, oldestCursor: cursor, timeline: rows, overlay: overlay,
      runtime: runtime?.object, activeRun: activeRun, newerCursor: newerCursor, anchorRow: anchorRow, notice: notice)
  }

  /// The keys of `request` in table order.
  package func json(_ request: HistoryRequest) -> JSON {
    var object: JSONObject = [
      "boundaryToken": .string(boundaryToken), "nativeSessionId": .nullable(nativeSessionId), "loadState": loadState.json,
      "storageFormat": .string(storageFormat), "loadedEntries": .integer(loadedEntries), "hasOlderEntries": .bool(hasOlderEntries),
      "oldestCursor": .nullable(oldestCursor), "timeline": .array(timeline.map(\.json)), "liveOverlay": overlay.json,
      "runtime": runtime.map(JSON.object) ?? .null, "activeRun": activeRun.map { .object($0.raw) } ?? .null,
    ]
    if request == .anchored {
      object["newerCursor"] = .nullable(newerCursor)
      var place = JSON.null
      if case .row(let type, let id)? = anchorRow { place = ["type": .string(type.rawValue), "id": .string(id)] }
      object["anchorRow"] = place
      object["notice"] = .nullable(notice)
    }
    return .object(object)
  }

  /// Whether the history is stored as it is for that agent: indexed for Codex, native for Claude (HB-AGENT-13).
  package func isStored(for agent: Agent) -> Bool { storageFormat == agent.storageFormat }
}

extension Agent {
  /// The storage format of this agent's histories (HB-AGENT-13).
  package var storageFormat: String {
    switch self {
    case .codex: "indexed"
    case .claude: "native"
    }
  }
}

extension LoadState {
  fileprivate init?(_ object: JSONObject) {
    switch object["type"]?.string {
    case "ready" where object.hasExactly(["type"]): self = .ready
    case "pending" where object.hasExactly(["type"]): self = .pending
    case "unavailable":
      guard object.hasExactly(["type", "reason"]), let reason = object["reason"]?.nonblankString else { return nil }
      self = .unavailable(reason: reason)
    default: return nil
    }
  }

  package var json: JSON {
    switch self {
    case .ready: ["type": "ready"]
    case .pending: ["type": "pending"]
    case .unavailable(let reason): ["type": "unavailable", "reason": .string(reason)]
    }
  }
}

extension ActiveRun {
  fileprivate static func decodeNullable(_ json: JSON) throws(DecodeFailure) -> ActiveRun? {
    if json.isNull { return nil }
    guard let object = json.object else { throw wrongType("activeRun") }
    guard let runId = object["runId"]?.nonblankString else { throw DecodeFailure(reason: "activeRun.runId.blank", at: "activeRun") }
    let threadId = object["threadId"]
    let turnId = object["turnId"]
    guard let threadId, threadId.isNull || threadId.string != nil, let turnId, turnId.isNull || turnId.string != nil,
      let startedAt = object["startedAt"]?.wireInteger
    else { throw DecodeFailure(reason: "activeRun.field", at: "activeRun") }
    return ActiveRun(runId: runId, threadId: threadId.string, turnId: turnId.string, startedAt: startedAt, raw: object)
  }
}

extension OlderPage {
  /// Reads the answer of an older-page request: exactly four keys, canonical rows only (spec B.3).
  package static func decode(_ json: JSON) throws(DecodeFailure) -> OlderPage {
    let object = try shape(json, keys: ["boundaryToken", "timeline", "hasOlderEntries", "oldestCursor"])
    let boundaryToken = try object.boundaryToken()
    let elements = try object.timeline()
    let (hasOlder, cursor) = try object.pagination()
    let rows = try Row.decodePage(elements, canonicalOnly: true)
    return OlderPage(boundaryToken: boundaryToken, timeline: rows, hasOlderEntries: hasOlder, oldestCursor: cursor)
  }

  package var json: JSON {
    [
      "boundaryToken": .string(boundaryToken), "timeline": .array(timeline.map(\.json)), "hasOlderEntries": .bool(hasOlderEntries),
      "oldestCursor": .nullable(oldestCursor),
    ]
  }
}

extension LiveOverlay {
  private static let keys = ["settlementEpoch", "revision", "blocks"]

  /// Reads an overlay of exactly three keys (spec B.3, step 5); `path` is that of the overlay, empty in an event.
  package static func decode(_ json: JSON, at path: String = "liveOverlay") throws(DecodeFailure) -> LiveOverlay {
    if json.repeatsKey { throw DecodeFailure(reason: "json.duplicate-key") }
    return try decodeChecked(json, at: path)
  }

  /// As `decode`, for a value that is known to repeat no key.
  static func decodeChecked(_ json: JSON, at path: String) throws(DecodeFailure) -> LiveOverlay {
    func failure(_ reason: String) -> DecodeFailure { DecodeFailure(reason: "overlay." + reason, at: path) }
    guard case .object(let object) = json else { throw failure("not-object") }
    switch object.exactKeys(keys) {
    case (let missing?, _): throw failure("missing-key:\(missing)")
    case (nil, let unknown?): throw failure("unknown-key:\(unknown)")
    case (nil, nil): break
    }
    func version(_ key: String, _ name: String) throws(DecodeFailure) -> Int64 {
      switch (object[key] ?? .null).safeInteger {
      case .value(let value) where value >= 0: return value
      case .value, .outOfRange: throw failure("\(name).out-of-range")
      case .notInteger: throw failure("\(name).not-integer")
      }
    }
    let epoch = try version("settlementEpoch", "epoch")
    let revision = try version("revision", "revision")
    guard case .array(let elements)? = object["blocks"] else { throw failure("blocks.type") }
    let blocksPath = joined(path, "blocks")
    var blocks: [Row] = []
    blocks.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
      let row = try Row.decode(element, in: blocksPath, index)
      if row.origin != .live { throw DecodeFailure(reason: "overlay.block.not-live", at: "\(blocksPath)[\(index)]") }
      blocks.append(row)
    }
    var seen = Set<String>()
    for (index, row) in blocks.enumerated() where !seen.insert(row.identity).inserted {
      throw DecodeFailure(reason: "overlay.duplicate-identity:\(row.identity)", at: "\(blocksPath)[\(index)]")
    }
    if revision == 0, !blocks.isEmpty { throw failure("revision-zero-has-blocks") }
    return LiveOverlay(version: OverlayVersion(epoch: epoch, revision: revision), blocks: blocks)
  }

  package var json: JSON {
    [
      "settlementEpoch": .integer(version.epoch), "revision": .integer(version.revision), "blocks": .array(blocks.map(\.json)),
    ]
  }
}
