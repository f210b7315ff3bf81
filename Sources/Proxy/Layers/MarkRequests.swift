import Simulation

/// The marks listener's side of one connection, without I/O: each `POST` becomes a mark and is answered 204.
package final class MarkRequests {
  /// The longest mark: 1 MiB.
  package static let limit = 1 << 20

  /// What follows from the bytes that were shown.
  package struct Outcome: Hashable, Sendable {
    /// Bytes that were taken in.
    package var taken: Int
    package var answer: [UInt8] = []
    /// A body that was posted.
    package var mark: [UInt8]?
    /// The connection ends after the answer.
    package var closes = false
  }

  private let reader = HTTPMessageReader(.requests, bodyLimit: MarkRequests.limit)
  private var toldToGoOn = false

  package init() {}

  package func take(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    let progress = reader.feed(bytes)
    if reader.bodyCount > MarkRequests.limit {
      return refusal(bytes.count, "413 Payload Too Large", "a mark has at most 1 MiB")
    }
    switch progress {
    case .invalid(_, let problem): return refusal(bytes.count, "400 Bad Request", problem)
    case .more:
      var outcome = Outcome(taken: bytes.count)
      if reader.hasHead, !toldToGoOn, reader.head.lists("100-continue", in: "Expect") {
        toldToGoOn = true
        outcome.answer = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
      }
      return outcome
    case .complete(let taken):
      guard reader.head.method == "POST" else { return refusal(taken, "405 Method Not Allowed", "marks are posted", "Allow: POST\r\n") }
      let stays = reader.head.minorVersion >= 1 && !reader.head.lists("close", in: "Connection")
      let outcome = Outcome(
        taken: taken, answer: Array("HTTP/1.1 204 No Content\r\n\(stays ? "" : "Connection: close\r\n")\r\n".utf8), mark: reader.body,
        closes: !stays)
      reader.next()
      toldToGoOn = false
      return outcome
    }
  }

  private func refusal(_ taken: Int, _ status: String, _ why: String, _ field: String = "") -> Outcome {
    let head = "HTTP/1.1 \(status)\r\n\(field)Content-Type: text/plain; charset=utf-8\r\nContent-Length: \(why.utf8.count + 1)\r\n"
    return Outcome(taken: taken, answer: Array((head + "Connection: close\r\n\r\n" + why + "\n").utf8), closes: true)
  }
}
