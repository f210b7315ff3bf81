import Contract
import Simulation
import Wire

/// A connection of a recording, as its `open` and `close` frames tell.
struct RecordedConnection {
  var number: ConnectionID
  /// Empty when the recording begins with the connection open.
  var endpoint: Endpoint
  /// Nil when the recording begins with the connection open.
  var opened: Instant?
  var closed: Instant?
  var closedByClient = false

  /// The connections of `frames` in order of first sight.
  static func list(_ frames: [Frame]) -> [RecordedConnection] {
    var list: [RecordedConnection] = []
    var index: [ConnectionID: Int] = [:]
    for frame in frames where frame.kind != .mark && frame.kind != .clock {
      let place = index[frame.connection] ?? list.count
      if place == list.count {
        index[frame.connection] = place
        list.append(RecordedConnection(number: frame.connection, endpoint: Endpoint("")))
        if frame.kind == .open {
          list[place].opened = frame.at
          list[place].endpoint = endpoint(frame.payload)
        }
      }
      if frame.kind == .close {
        list[place].closed = frame.at
        list[place].closedByClient = (try? JSONReader.value(frame.payload))?["who"]?.string == "client"
      }
    }
    return list
  }

  /// The origin-form target of an `open` frame's URL.
  private static func endpoint(_ payload: [UInt8]) -> Endpoint {
    guard let url = (try? JSONReader.value(payload))?["url"]?.string else { return Endpoint("") }
    if url.hasPrefix("/") { return Endpoint(url) }
    let pieces = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return Endpoint("/" + (pieces.count == 4 && pieces[1].isEmpty ? pieces[3] : ""))
  }
}

extension Frame {
  /// Whether a client or server said it, unlike `open`, `close`, `clock` and `mark`.
  var isMessage: Bool { kind != .open && kind != .close && kind != .clock && kind != .mark }
}
