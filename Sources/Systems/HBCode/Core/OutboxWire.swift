import HBCodeDialect
import Wire

extension OutboxChain.Work {
  var method: Method {
    switch self {
    case .check: .outboxLoad
    case .submit: .outboxSubmit
    case .remove: .outboxRemove
    case .reorder: .outboxReorder
    }
  }

  var mutationId: String? {
    switch self {
    case .check: nil
    case .submit(_, let id), .remove(_, let id), .reorder(let id): id
    }
  }

  /// Outcomes that the answer may have (spec B.2); empty: it has none.
  private var outcomes: [String] {
    switch self {
    case .check: []
    case .submit, .reorder: ["updated"]
    case .remove: ["updated", "delivered"]
    }
  }

  /// Decodes the answer; `outcome.unknown` besides the reasons of B.4.
  func answer(_ json: JSON) throws(DecodeFailure) -> OutboxChain.Answer {
    let list = try OutboxList.decode(json)
    if outcomes.isEmpty { return OutboxChain.Answer(outcome: nil, list: list) }
    guard let outcome = json["outcome"]?.string, outcomes.contains(outcome) else {
      throw DecodeFailure(reason: "outcome.unknown", at: "outcome")
    }
    return OutboxChain.Answer(outcome: outcome, list: list)
  }
}

extension OutboxOperation {
  /// Fields of an `op` record (spec E.1).
  func fields(_ id: String, session: String) -> JSONObject {
    var fields: JSONObject = [
      "operation": .string(id), "session": .string(session), "state": .string(state.name), "status": .string(entry.status.rawValue),
    ]
    switch entry.pendingMutation {
    case .submit(let mutationId, _)?, .remove(let mutationId)?: fields["mutationId"] = .string(mutationId)
    case nil: break
    }
    fields["caption"] = caption.map(JSON.string)
    fields["error"] = entry.error.map(JSON.string)
    return fields
  }
}

extension ShownEntry {
  /// One entry of a `queue` record.
  var json: JSON {
    var fields: JSONObject = [
      "queueId": .string(entry.queueId), "operation": .string(entry.operationId), "status": .string(entry.status.rawValue),
    ]
    fields["caption"] = caption.map(JSON.string)
    fields["holdReason"] = entry.holdReason.map(JSON.string)
    fields["error"] = entry.error.map(JSON.string)
    return .object(fields)
  }
}
