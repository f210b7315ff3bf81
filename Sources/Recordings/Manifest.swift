package import Simulation
package import Wire

/// Frames and payload bytes in one direction.
package struct Traffic: Hashable, Sendable {
  package var frames = 0
  package var bytes = 0

  package init(frames: Int = 0, bytes: Int = 0) {
    self.frames = frames
    self.bytes = bytes
  }

  mutating func add(bytes count: Int) {
    frames += 1
    bytes += count
  }

  fileprivate var json: JSON { ["frames": .int(frames), "bytes": .int(bytes)] }

  fileprivate init(json: JSON?, path: String) throws(JSONError) {
    guard let object = json?.object else { throw JSONError(path: path, problem: "expected an object") }
    frames = try object.count("frames")
    bytes = try object.count("bytes")
  }
}

/// What went over one connection.
package struct ConnectionSummary: Hashable, Sendable {
  package var connection: ConnectionID
  /// From the client to the server.
  package var out: Traffic
  /// From the server to the client.
  package var `in`: Traffic

  package init(connection: ConnectionID, out: Traffic = Traffic(), in incoming: Traffic = Traffic()) {
    self.connection = connection
    self.out = out
    self.in = incoming
  }
}

/// A member of a container as its manifest names it.
package struct Member: Hashable, Sendable {
  package var name: String
  /// Stored size in bytes.
  package var bytes: Int
  /// Size of the content: that of the plain text where the member is compressed.
  package var plainBytes: Int
  /// SHA-256 of the stored bytes, in hexadecimal.
  package var sha256: String
  /// First and last sequence (frames) or line number (traces); nil where the member has none.
  package var first: Int?
  package var last: Int?

  var json: JSON {
    var object: JSONObject = [
      "name": .string(name), "bytes": .int(bytes), "plainBytes": .int(plainBytes), "sha256": .string(sha256),
    ]
    object["first"] = first.map { .int($0) }
    object["last"] = last.map { .int($0) }
    return .object(object)
  }

  init(name: String, bytes: Int, plainBytes: Int, sha256: String, first: Int?, last: Int?) {
    self.name = name
    self.bytes = bytes
    self.plainBytes = plainBytes
    self.sha256 = sha256
    self.first = first
    self.last = last
  }

  init(json: JSON) throws(JSONError) {
    guard let object = json.object else { throw JSONError(problem: "expected an object") }
    name = try object.text("name")
    bytes = try object.count("bytes")
    plainBytes = try object.count("plainBytes")
    sha256 = try object.text("sha256")
    first = object["first"]?.int
    last = object["last"]?.int
  }
}

/// What a recording says of itself, at its head: DESIGN.md 4.
package struct Manifest: Hashable, Sendable {
  package var facts: CaptureFacts
  /// The number of frames.
  package var frames: Int
  /// The latest instant of a frame; zero without frames.
  package var end: Instant
  /// In the order of their numbers.
  package var connections: [ConnectionSummary]
  /// Empty for a journal.
  package var members: [Member]

  var json: JSONObject {
    var object = facts.json
    object["frames"] = .int(frames)
    object["endNs"] = .integer(end.nanoseconds)
    object["connections"] = .array(
      connections.map { ["conn": .int($0.connection.number), "out": $0.out.json, "in": $0.in.json] })
    return object
  }

  init(json object: JSONObject, members: [Member]) throws(JSONError) {
    facts = try CaptureFacts(json: object)
    frames = try object.count("frames")
    end = Instant(nanoseconds: try object.number("endNs"))
    connections = []
    for (index, element) in try object.list("connections").enumerated() {
      let path = "connections[\(index)]"
      guard let number = element["conn"]?.int else { throw JSONError(path: path, problem: "expected a number") }
      connections.append(
        ConnectionSummary(
          connection: ConnectionID(number), out: try Traffic(json: element["out"], path: "\(path).out"),
          in: try Traffic(json: element["in"], path: "\(path).in")))
    }
    self.members = members
  }

  init(facts: CaptureFacts, tally: FrameTally) {
    self.facts = facts
    frames = tally.frames
    end = tally.end ?? .zero
    connections = tally.connections
    members = []
  }
}

/// Counts frames for a manifest.
struct FrameTally {
  private(set) var frames = 0
  private(set) var end: Instant?
  private var traffic = OrderedMap<ConnectionID, ConnectionSummary>()

  mutating func add(connection: ConnectionID, direction: Direction, at instant: Instant, bytes: Int) {
    frames += 1
    end = max(end ?? instant, instant)
    switch direction {
    case .out: traffic[connection, default: ConnectionSummary(connection: connection)].out.add(bytes: bytes)
    case .in: traffic[connection, default: ConnectionSummary(connection: connection)].in.add(bytes: bytes)
    }
  }

  /// In the order of their numbers.
  var connections: [ConnectionSummary] { traffic.values.sorted { $0.connection < $1.connection } }
}
