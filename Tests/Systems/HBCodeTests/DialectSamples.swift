import HBCodeDialect
import Wire

/// Valid values of the wire that the tests of the dialect change in one place.
enum DialectSamples {
  static let userRow: JSON = [
    "type": "user", "id": "u1", "origin": "canonical", "sourceOrder": [1, 0], "timestamp": 1_790_000_001_000, "text": "Hello",
    "operationId": "op-1",
  ]
  static let replyRow: JSON = [
    "type": "agent-reply", "id": "g1", "origin": "canonical", "sourceOrder": [1, 1], "timestamp": 1_790_000_001_001, "text": "Hi",
  ]
  static let liveUserRow: JSON = [
    "type": "user", "id": "lu", "origin": "live", "sourceOrder": [2, 0], "timestamp": 1_790_000_002_000, "runId": "run-5",
    "operationId": "op-2",
  ]
  static let liveReplyRow: JSON = [
    "type": "agent-reply", "id": "lg", "origin": "live", "sourceOrder": [2, 1], "timestamp": 1_790_000_002_001, "runId": "run-5",
  ]
  static let overlay: JSON = ["settlementEpoch": 3, "revision": 2, "blocks": [liveUserRow, liveReplyRow]]
  static let latest: JSON = [
    "boundaryToken": "bt-7", "nativeSessionId": nil, "loadState": ["type": "ready"], "storageFormat": "indexed", "loadedEntries": 2,
    "hasOlderEntries": true, "oldestCursor": "cur-100", "timeline": [userRow, replyRow], "liveOverlay": overlay, "runtime": nil,
    "activeRun": ["runId": "run-5", "threadId": nil, "turnId": "turn-2", "startedAt": 1_790_000_050_000],
  ]
  static let anchored: JSON =
    latest
    .with("/newerCursor", "new-1").with("/anchorRow", ["type": "user", "id": "u1"]).with("/notice", nil)
  static let older: JSON = ["boundaryToken": "bt-7", "timeline": [userRow, replyRow], "hasOlderEntries": false, "oldestCursor": nil]
  static let incoming: JSON = [
    "direction": "incoming", "from": "Order seeds", "to": "This session", "peer": ["name": "Order seeds", "agent": "claude"],
    "delivery": nil, "link": nil,
  ]
  static let outgoing: JSON = [
    "direction": "outgoing", "from": "This session", "to": "Prune roses", "peer": ["name": "Prune roses", "agent": "codex"],
    "delivery": ["signal": "sent", "word": "Sent"],
    "link": ["sessionId": "ses-22", "threadId": "th-1", "anchor": ["kind": "message", "messageId": "msg-4"]],
  ]
  static let submit: JSON = [
    "queueId": "q-1", "operationId": "op-1", "userText": "Water", "promptText": "Water", "sendMode": "queue",
    "expectedActiveRunId": nil, "threadId": nil, "selection": ["model": "sol", "reasoningEffort": "high"], "speedMode": "standard",
    "accessLevel": "Full auto", "attachments": [["attachmentId": "a-1", "fileName": "leaf.jpg", "mimeType": "image/jpeg", "size": 10]],
    "createdAt": 1_790_000_000_000,
  ]
  static let entry: JSON = [
    "queueId": "q-1", "operationId": "op-1", "userText": "Water", "promptText": "Water", "status": "queued", "sendMode": "queue",
    "expectedActiveRunId": nil, "pendingMutation": nil, "accepted": nil, "handoff": nil, "holdReason": nil, "error": nil,
    "message": nil, "threadId": nil, "selection": nil, "speedMode": "standard", "accessLevel": "Full auto", "attachments": [],
    "createdAt": 1_790_000_000_000,
  ]

  /// Strings that are blank: each consists of Unicode white space only.
  static let blanks: [JSON] = ["", " ", "\t\n\r", "\u{a0}", "\u{2003}\u{2029}", "\u{3000}", "\u{85}", "\u{1680}"]

  /// The failure of `decode`, or nil when it succeeds.
  static func failure<Value>(_ decode: () throws(DecodeFailure) -> Value) -> DecodeFailure? {
    do throws(DecodeFailure) {
      _ = try decode()
      return nil
    } catch {
      return error
    }
  }
}

extension JSON {
  /// A copy with the value at a JSON pointer set (`-` appends to an array). A pointer that leads nowhere changes nothing.
  func with(_ pointer: String, _ value: JSON) -> JSON { changed(JSON.parts(pointer)) { _ in value } }

  /// A copy without the member at a JSON pointer.
  func without(_ pointer: String) -> JSON { changed(JSON.parts(pointer)) { _ in nil } }

  /// A copy in which the object at a JSON pointer gets a further member, also when it has that name already.
  func adding(_ name: String, _ value: JSON, at pointer: String = "") -> JSON {
    changed(JSON.parts(pointer)) { old in
      var object = old?.object ?? [:]
      object.members.append(JSONObject.Member(name: name, value: value))
      return .object(object)
    }
  }

  private static func parts(_ pointer: String) -> ArraySlice<String> { pointer.split(separator: "/").map(String.init)[...] }

  private func changed(_ parts: ArraySlice<String>, _ change: (JSON?) -> JSON?) -> JSON {
    guard let part = parts.first else { return change(self) ?? .null }
    let rest = parts.dropFirst()
    switch self {
    case .object(var object):
      object[part] = rest.isEmpty ? change(object[part]) : object[part]?.changed(rest, change)
      return .object(object)
    case .array(var elements):
      if part == "-" { return .array(elements + [change(nil)].compactMap { $0 }) }
      guard let index = Int(part), elements.indices.contains(index) else { return self }
      if rest.isEmpty {
        elements.replaceSubrange(index...index, with: [change(elements[index])].compactMap { $0 })
      } else {
        elements[index] = elements[index].changed(rest, change)
      }
      return .array(elements)
    default: return self
    }
  }
}
