import Recordings
import Simulation
import Wire

/// Where recorded frames go. One owner calls it.
package protocol FrameSink: AnyObject {
  /// Numbers the next frame, takes it and returns its sequence; it may wait for room. Throws when frames cannot be kept any more.
  func append(_ frame: Frame) throws -> Int
}

/// A journal removes secrets as it takes frames.
extension JournalWriter: FrameSink {}

/// What a capture has recorded so far.
package struct CaptureCounts: Hashable, Sendable {
  /// Client connections taken in, and how many of them are still there.
  package var connections = 0
  package var openConnections = 0
  package var frames = 0
  package var marks = 0
  /// Messages that passed compressed (permessage-deflate).
  package var compressed = 0
  /// Messages (text, binary, HTTP) and their payload bytes from the client to the server.
  package var messagesOut = 0
  package var bytesOut = 0
  /// The same from the server to the client.
  package var messagesIn = 0
  package var bytesIn = 0

  package init() {}
}

extension FrameKind {
  /// From here on the bytes of one direction (both, for HTTP) pass unread; payload `{"problem","offset"?}`. How many these were
  /// stands in the connection's `close` as `unread`.
  package static let opaque = FrameKind(rawValue: "opaque")
}

/// Counts frames and hands them to the sink; the one place where a capture records.
package final class FrameRecorder {
  private let sink: any FrameSink

  package private(set) var counts = CaptureCounts()
  /// Why frames are no longer kept: the sink's word. Traffic still passes.
  package private(set) var failure: (any Error)?
  /// Called once, when the sink fails.
  package var onFailure: ((any Error) -> Void)?

  package init(sink: any FrameSink) { self.sink = sink }

  /// Records a frame; returns its sequence, or nil when frames are no longer kept.
  @discardableResult
  package func record(
    _ kind: FrameKind, _ payload: [UInt8], on connection: ConnectionID, _ direction: Direction, at instant: Instant,
    flags: JSONObject = [:], answers: Int? = nil
  ) -> Int? {
    guard failure == nil else { return nil }
    let frame = Frame(
      at: instant, connection: connection, direction: direction, kind: kind, payload: payload, answers: answers, flags: flags)
    do {
      let sequence = try sink.append(frame)
      count(frame)
      return sequence
    } catch {
      failure = error
      onFailure?(error)
      return nil
    }
  }

  package func connectionOpened() {
    counts.connections += 1
    counts.openConnections += 1
  }

  package func connectionClosed() { counts.openConnections -= 1 }

  private func count(_ frame: Frame) {
    counts.frames += 1
    if frame.flags["deflated"] == true { counts.compressed += 1 }
    switch frame.kind {
    case .mark: counts.marks += 1
    case .text, .binary, .request, .response:
      switch frame.direction {
      case .out:
        counts.messagesOut += 1
        counts.bytesOut += frame.payload.count
      case .in:
        counts.messagesIn += 1
        counts.bytesIn += frame.payload.count
      }
    default: break
    }
  }
}
