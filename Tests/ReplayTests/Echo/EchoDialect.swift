import Contract
import Simulation
import Wire

/// A second client system, for tests: one room over REST and server-sent events. `POST /messages` with an idempotency key saves a message;
/// `GET /events` streams every saved message back, from the event after `last` on.
enum Echo {
  static let post = "POST /messages"
  static let subscribe = "GET /events"
  static let message = "message"

  /// A head as the first line of the payload, then the body.
  static func payload(_ head: JSON, _ body: JSON? = nil) -> [UInt8] {
    JSONWriter.compact(head) + [UInt8(ascii: "\n")] + (body.map(JSONWriter.compact) ?? [])
  }

  static func parts(_ payload: [UInt8]) -> (head: JSON, body: JSON)? {
    let pieces = payload.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
    guard let first = pieces.first, let head = try? JSONReader.value(Array(first)) else { return nil }
    return (head, pieces.count == 2 ? (try? JSONReader.value(Array(pieces[1]))) ?? .null : .null)
  }

  static func request(_ connection: ConnectionID, _ name: String, key: String? = nil, _ body: JSON? = nil, at now: Instant) -> Frame {
    var head: JSONObject = ["request": .string(name)]
    if let key { head["key"] = .string(key) }
    return Frame(at: now, connection: connection, direction: .out, kind: .request, payload: payload(.object(head), body))
  }

  static func response(to request: Frame, status: Int, _ body: JSON? = nil, at now: Instant) -> Frame {
    Frame(
      at: now, connection: request.connection, direction: .in, kind: .response, payload: payload(["status": .int(status)], body),
      answers: request.sequence)
  }

  static func event(_ connection: ConnectionID, _ body: JSON, at now: Instant) -> Frame {
    Frame(at: now, connection: connection, direction: .in, kind: .serverSentEvent, payload: JSONWriter.compact(body))
  }
}

/// Responses carry no name: they belong to the oldest open request of their connection.
struct EchoLabeler: FrameLabeler {
  private var open: [ConnectionID: [FrameLabel]] = [:]

  mutating func label(_ frame: Frame) -> FrameLabel {
    switch frame.kind {
    case .request:
      guard let (head, body) = Echo.parts(frame.payload), let name = head["request"]?.string else { break }
      let label = FrameLabel(
        role: .request, name: name, fields: body.object ?? [:], operation: body["id"]?.string, key: head["key"]?.string,
        isDelivery: name == Echo.post)
      open[frame.connection, default: []].append(label)
      return label
    case .response:
      guard let (head, _) = Echo.parts(frame.payload), open[frame.connection]?.isEmpty == false,
        var label = open[frame.connection]?.removeFirst()
      else { break }
      label.role = .response
      label.fields["status"] = head["status"]
      return label
    case .serverSentEvent:
      guard let body = (try? JSONReader.value(frame.payload))?.object else { break }
      return FrameLabel(role: .event, name: Echo.message, fields: body, operation: body["id"]?.string)
    default: break
    }
    return FrameLabel(role: .other, name: "?")
  }

  mutating func violations(in frame: Frame) -> [JSONError] {
    label(frame).role == .other ? [JSONError(problem: "neither request, response nor event")] : []
  }
}
