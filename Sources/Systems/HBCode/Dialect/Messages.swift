import Simulation
import Synchronization
import Wire

/// A request of the phone (spec B.1).
package struct RequestMessage: Hashable, Sendable {
  package var id: String
  /// The method as spelled; `Method(rawValue:)` tells whether it is one of spec B.2.
  package var method: String
  package var params: JSONObject
  package var idempotencyKey: String?

  package init(id: String, method: String, params: JSONObject, idempotencyKey: String? = nil) {
    self.id = id
    self.method = method
    self.params = params
    self.idempotencyKey = idempotencyKey
  }

  /// Keys in the order id, method, params, idempotencyKey; a missing key is left out.
  package var json: JSON {
    var object: JSONObject = ["id": .string(id), "method": .string(method), "params": .object(params)]
    if let idempotencyKey { object.members.append(JSONObject.Member(name: "idempotencyKey", value: .string(idempotencyKey))) }
    return .object(object)
  }
}

/// An answer of desktop or relay (spec B.1). The result is not decoded yet: its form depends on the method.
package struct ResponseMessage: Hashable, Sendable {
  package var id: String
  package var result: Result<JSON, WireError>

  package init(id: String, result: Result<JSON, WireError>) {
    self.id = id
    self.result = result
  }

  /// `{"id","result"}` or `{"id","error":{"code","message","permanent"}}`.
  package var json: JSON {
    switch result {
    case .success(let result): return ["id": .string(id), "result": result]
    case .failure(let error):
      return [
        "id": .string(id),
        "error": ["code": .string(error.code), "message": .string(error.message), "permanent": .bool(error.permanent)],
      ]
    }
  }
}

/// An event of desktop or relay (spec B.1), not decoded yet.
package struct EventMessage: Hashable, Sendable {
  package var name: String
  /// All members but `event`, repeated keys and all: `HBCodeEvent.decode` judges them.
  package var fields: JSONObject

  package init(name: String, fields: JSONObject) {
    self.name = name
    self.fields = fields
  }

  /// `{"event": name, …fields}`.
  package var json: JSON { .object(JSONObject([JSONObject.Member(name: "event", value: .string(name))] + fields.members)) }
}

/// What a text frame is (spec B.1).
///
/// A repeated key of the frame object itself makes the frame invalid, except among the fields of an event: there, and inside
/// params and results, the decoder of that part reports it, so that it is counted where it belongs.
package enum WireMessage: Hashable, Sendable {
  case request(RequestMessage)
  case response(ResponseMessage)
  case event(EventMessage)
  /// To be counted and dropped. Reasons: `frame.not-json`, `frame.not-object`, `json.duplicate-key`, `frame.method-and-event`,
  /// `frame.unknown`, `frame.missing-key:<key>`, `frame.type:<key>`, `frame.result-and-error`.
  case invalid(DecodeFailure)

  /// The message that `json`, the content of one frame, is.
  package init(_ json: JSON) {
    do throws(DecodeFailure) {
      self = try WireMessage.decoded(json)
    } catch {
      self = .invalid(error)
    }
  }

  private static func decoded(_ json: JSON) throws(DecodeFailure) -> WireMessage {
    guard let object = json.object else { throw DecodeFailure(reason: "frame.not-object") }
    switch (object["method"], object["event"]) {
    case (.some, .some): throw DecodeFailure(reason: "frame.method-and-event")
    case (nil, let event?):
      guard case .string(let name) = event else { throw DecodeFailure(reason: "frame.type:event", at: "event") }
      var fields = object
      fields["event"] = nil
      if fields["event"] != nil { throw DecodeFailure(reason: "json.duplicate-key") }
      return .event(EventMessage(name: name, fields: fields))
    case (let method?, nil):
      if object.repeatedName != nil { throw DecodeFailure(reason: "json.duplicate-key") }
      let id = try identifier(of: object)
      guard case .string(let method) = method else { throw DecodeFailure(reason: "frame.type:method", at: "method") }
      guard let params = object["params"] else { throw DecodeFailure(reason: "frame.missing-key:params") }
      guard case .object(let params) = params else { throw DecodeFailure(reason: "frame.type:params", at: "params") }
      let key = object["idempotencyKey"]
      if let key, key.string == nil { throw DecodeFailure(reason: "frame.type:idempotencyKey", at: "idempotencyKey") }
      return .request(RequestMessage(id: id, method: method, params: params, idempotencyKey: key?.string))
    case (nil, nil):
      if object.repeatedName != nil { throw DecodeFailure(reason: "json.duplicate-key") }
      guard object["id"] != nil else { throw DecodeFailure(reason: "frame.unknown") }
      let id = try identifier(of: object)
      switch (object["result"], object["error"]) {
      case (let result?, nil): return .response(ResponseMessage(id: id, result: .success(result)))
      case (nil, let error?): return .response(ResponseMessage(id: id, result: .failure(try WireError(error))))
      case (.some, .some): throw DecodeFailure(reason: "frame.result-and-error")
      case (nil, nil): throw DecodeFailure(reason: "frame.missing-key:result")
      }
    }
  }

  private static func identifier(of object: JSONObject) throws(DecodeFailure) -> String {
    guard let id = object["id"] else { throw DecodeFailure(reason: "frame.missing-key:id") }
    guard case .string(let id) = id else { throw DecodeFailure(reason: "frame.type:id", at: "id") }
    return id
  }
}

extension WireError {
  /// Reads `{"code","message","permanent"?}`.
  fileprivate init(_ json: JSON) throws(DecodeFailure) {
    guard let object = json.object else { throw DecodeFailure(reason: "frame.type:error", at: "error") }
    if object.repeatedName != nil { throw DecodeFailure(reason: "json.duplicate-key") }
    guard let code = object["code"]?.string else { throw DecodeFailure(reason: "frame.type:code", at: "error.code") }
    guard let message = object["message"]?.string else { throw DecodeFailure(reason: "frame.type:message", at: "error.message") }
    let permanent = object["permanent"]
    if let permanent, permanent.bool == nil { throw DecodeFailure(reason: "frame.type:permanent", at: "error.permanent") }
    self.init(code: code, message: message, permanent: permanent?.bool ?? false)
  }
}

/// Reads text frames. Keep one per owner: it reuses the buffers of its parser; copies of a value that holds it share them.
package final class HBCodeReader: Sendable {
  private let parser = Mutex(JSONReader())

  package init() {}

  /// The message that the payload of a text frame is.
  package func message(of payload: [UInt8]) -> WireMessage {
    guard let json = json(of: payload) else { return .invalid(DecodeFailure(reason: "frame.not-json")) }
    return WireMessage(json)
  }

  /// The message that a text frame is. A frame that brings its content along is not parsed again.
  package func message(of frame: Frame) -> WireMessage {
    guard let content = frame.content else { return message(of: frame.payload) }
    assert(json(of: frame.payload) == content, "the content of a frame is what its payload says")
    return WireMessage(content)
  }

  /// The payload as JSON, or nil.
  package func json(of payload: [UInt8]) -> JSON? { parser.withLock { try? $0.parse(payload) } }
}

extension Frame {
  /// A text frame that carries `json` in compact form.
  package static func text(_ json: JSON, connection: ConnectionID, direction: Direction, at: Instant) -> Frame {
    Frame(at: at, connection: connection, direction: direction, content: json)
  }
}
