import Contract
import Simulation
import Wire

/// Labels the frames of hbcode (Contract: `FrameLabeler`).
///
/// A response has its request's method, operation, key and fields, then its own. Fields, where the message has them:
/// - of every request and its response: `id`, `sessionId`, `threadId`, `queueId`, `operationId`, `mutationId` (out of the key), `intent`,
///   `sendMode`, `supersedesOperationId`, `hold`, `runId`, `limit`, `anchor`, `paramsHash` (16 hex digits of the SHA-256 of the canonical
///   JSON of the params), `attempt` (the how-manieth request of its key, from 1);
/// - of responses: `ok`, then `code` and `permanent`, or `outcome`, `revision`, `settlementEpoch`, `blocks` (their number), `operations`
///   (the operations that an outbox lists), `runId` (of the active run);
/// - of events: `sessionId`, `threadId`, `runId`, `revision`, `settlementEpoch`, `blocks`, `operations`, `desktopId`.
package struct HBCodeLabeler: FrameLabeler {
  private struct Address: Hashable {
    var connection: ConnectionID
    var id: String
  }

  private struct Known {
    var label: FrameLabel
    var method: Method?
  }

  private struct Awaited {
    var method: Method
    var history: HistoryRequest?
  }

  private let reader = HBCodeReader()
  private var requests: [Address: Known] = [:]
  private var attempts: [String: Int] = [:]
  /// The same for `violations`, which may be asked about frames that `label` has not seen.
  private var awaited: [Address: Awaited] = [:]

  package init() {}

  package mutating func label(_ frame: Frame) -> FrameLabel {
    guard frame.kind == .text else { return FrameLabel(role: .other, name: frame.kind.rawValue) }
    switch reader.message(of: frame) {
    case .request(let request): return label(request, on: frame.connection)
    case .response(let response): return label(response, on: frame.connection)
    case .event(let event):
      var fields = JSONObject()
      fields.take(["sessionId", "threadId", "runId", "desktopId"], from: event.fields)
      fields.takeState(of: event.fields)
      return FrameLabel(role: .event, name: event.name, fields: fields)
    case .invalid(let failure): return FrameLabel(role: .other, name: "?", fields: ["invalid": .string(failure.reason)])
    }
  }

  private mutating func label(_ request: RequestMessage, on connection: ConnectionID) -> FrameLabel {
    let method = Method(rawValue: request.method)
    let entry = request.params["entry"]?.object ?? [:]
    var fields: JSONObject = ["id": .string(request.id)]
    fields.take(["sessionId", "threadId"], from: request.params)
    fields.take(["queueId", "operationId"], from: method == .outboxSubmit ? entry : request.params)
    if let key = request.idempotencyKey, let id = method?.mutationId(ofKey: key) { fields["mutationId"] = .string(id) }
    fields.take(["intent"], from: request.params)
    fields.take(["sendMode"], from: entry)
    fields.take(["supersedesOperationId", "hold", "runId", "limit", "anchor"], from: request.params)
    fields["paramsHash"] = .string(String(SHA256Digest.hex(JSONWriter.canonical(.object(request.params))).prefix(16)))
    if let key = request.idempotencyKey {
      let attempt = attempts[key, default: 0] + 1
      attempts[key] = attempt
      fields["attempt"] = .int(attempt)
    }
    var operation: String?
    switch method {
    case .outboxSubmit?, .outboxRemove?, .stopAndSendNow?: operation = fields["operationId"]?.string
    default: break
    }
    let label = FrameLabel(
      role: .request, name: request.method, fields: fields, operation: operation, key: request.idempotencyKey,
      isDelivery: method == .outboxSubmit && operation != nil)
    requests[Address(connection: connection, id: request.id)] = Known(label: label, method: method)
    return label
  }

  private func label(_ response: ResponseMessage, on connection: ConnectionID) -> FrameLabel {
    let known = requests[Address(connection: connection, id: response.id)]
    var label = known?.label ?? FrameLabel(role: .response, name: "?", fields: ["id": .string(response.id)])
    label.role = .response
    switch response.result {
    case .failure(let error):
      label.fields["ok"] = false
      label.fields["code"] = .string(error.code)
      label.fields["permanent"] = .bool(error.permanent)
    case .success(let result):
      label.fields["ok"] = true
      guard let result = result.object else { break }
      label.fields.take(["outcome"], from: result)
      label.fields.takeState(of: result)
      if let overlay = result["liveOverlay"]?.object { label.fields.takeState(of: overlay) }
      if let run = result["activeRun"]?.object { label.fields.take(["runId"], from: run) }
    }
    return label
  }

  /// Requests are judged by B.2, responses by the method of their request (one without a known request is not judged), events by B.6.
  package mutating func violations(in frame: Frame) -> [JSONError] {
    if frame.kind == .binary { return [JSONError(problem: "frame.not-text")] }
    guard frame.kind == .text else { return [] }
    do throws(DecodeFailure) {
      switch reader.message(of: frame) {
      case .request(let request):
        if let method = Method(rawValue: request.method) {
          let address = Address(connection: frame.connection, id: request.id)
          awaited[address] = Awaited(method: method, history: request.historyRequest)
        }
        try request.check()
      case .response(let response):
        guard case .success(let result) = response.result,
          let request = awaited[Address(connection: frame.connection, id: response.id)]
        else { break }
        do throws(DecodeFailure) {
          try request.method.check(result: result, of: request.history)
        } catch {
          throw DecodeFailure(reason: error.reason, at: error.at.isEmpty ? "result" : "result.\(error.at)")
        }
      case .event(let event):
        if case .unknown = try HBCodeEvent.decode(event) { throw DecodeFailure(reason: "event.unknown", at: "event") }
      case .invalid(let failure): throw failure
      }
    } catch {
      return [JSONError(path: error.at, problem: error.reason)]
    }
    return []
  }
}

extension JSONObject {
  /// Copies those of `names` that `source` has.
  fileprivate mutating func take(_ names: [String], from source: JSONObject) {
    for name in names {
      if let value = source[name] { self[name] = value }
    }
  }

  /// Version, number of blocks and listed operations of a list, an overlay or an event.
  fileprivate mutating func takeState(of source: JSONObject) {
    take(["revision", "settlementEpoch"], from: source)
    if let blocks = source["blocks"]?.array { self["blocks"] = .int(blocks.count) }
    if let entries = source["entries"]?.array {
      self["operations"] = .array(entries.compactMap { $0["operationId"] }.filter { $0.string != nil })
    }
  }
}
