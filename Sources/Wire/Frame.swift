import Simulation

/// The number of a connection within a recording or a run; counted from 1 in order of opening.
package struct ConnectionID: Hashable, Comparable, Sendable {
  package var number: Int
  package init(_ number: Int) { self.number = number }
  package static func < (a: ConnectionID, b: ConnectionID) -> Bool { a.number < b.number }
}

/// Which way a frame goes, seen from the client.
package enum Direction: String, Sendable, Hashable {
  /// From the client to the server.
  case out
  /// From the server to the client.
  case `in`

  package var reversed: Direction { self == .out ? .in : .out }
}

/// What a frame is. Kinds of later versions are kept by name.
package struct FrameKind: RawRepresentable, Hashable, Sendable {
  package var rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  /// A connection opens; payload `{"url","headers":[[name,value]],"status"}`.
  package static let open = FrameKind(rawValue: "open")
  /// A connection ends; payload `{"code","reason","who"}`, who = `client`, `server` or `network`.
  package static let close = FrameKind(rawValue: "close")
  package static let text = FrameKind(rawValue: "ws.text")
  package static let binary = FrameKind(rawValue: "ws.binary")
  package static let ping = FrameKind(rawValue: "ws.ping")
  package static let pong = FrameKind(rawValue: "ws.pong")
  package static let request = FrameKind(rawValue: "http.request")
  package static let response = FrameKind(rawValue: "http.response")
  package static let serverSentEvent = FrameKind(rawValue: "sse.event")
  /// A step of the wall clock; payload `{"byNs"}`.
  package static let clock = FrameKind(rawValue: "clock")
  /// A note of a person or of the app; payload is what was posted.
  package static let mark = FrameKind(rawValue: "mark")
}

/// One recorded or simulated message: DESIGN.md 4. The payload is the message as sent, byte for byte.
package struct Frame: Hashable, Sendable {
  /// Position in the recording, from 1; 0 while the frame belongs to none. Order is `sequence`, time is data.
  package var sequence: Int
  package var at: Instant
  package var connection: ConnectionID
  package var direction: Direction
  package var kind: FrameKind
  package var payload: [UInt8] {
    didSet { content = nil }
  }
  /// What parsing `payload` gives, where the maker of the frame knows it: readers in the same process need not parse it again. Follows
  /// from the payload, so that it is no part of a frame's identity; a change of the payload takes it away.
  package private(set) var content: JSON?
  /// On a response or server-sent event: the sequence of its request.
  package var answers: Int?
  /// Flags of the envelope that are set (`fragments`, `deflated`, `redacted`, `partial`, …) and fields of later versions.
  package var flags: JSONObject

  package init(
    sequence: Int = 0, at: Instant, connection: ConnectionID, direction: Direction, kind: FrameKind, payload: [UInt8],
    answers: Int? = nil, flags: JSONObject = [:]
  ) {
    self.sequence = sequence
    self.at = at
    self.connection = connection
    self.direction = direction
    self.kind = kind
    self.payload = payload
    self.answers = answers
    self.flags = flags
  }

  /// A text frame that carries `content` in compact form.
  package init(at: Instant, connection: ConnectionID, direction: Direction, content: JSON) {
    let (bytes, readsBack) = JSONWriter.compactReadingBack(content)
    self.init(at: at, connection: connection, direction: direction, kind: .text, payload: bytes)
    if readsBack { self.content = content }
  }

  package static func == (a: Frame, b: Frame) -> Bool {
    a.sequence == b.sequence && a.at == b.at && a.connection == b.connection && a.direction == b.direction && a.kind == b.kind
      && a.payload == b.payload && a.answers == b.answers && a.flags == b.flags
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(sequence)
    hasher.combine(at)
    hasher.combine(connection)
    hasher.combine(direction)
    hasher.combine(kind)
    hasher.combine(payload)
    hasher.combine(answers)
    hasher.combine(flags)
  }
}
