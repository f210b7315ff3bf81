import Simulation
import Wire

/// What passes over one client connection and its partner to the server, read beside the stream: HTTP/1 messages, then, after an
/// upgrade, WebSocket frames. It does no I/O: it is shown waiting bytes and says what to do with them.
///
/// Bytes pass as they are, with one exception: the `Host` field of a request names the server. What cannot be read passes too, and a
/// frame says from where on.
package final class ProxiedTraffic {
  package enum Side: Sendable {
    case client, server

    var direction: Direction { self == .client ? .out : .in }
    var who: String { self == .client ? "client" : "server" }
  }

  /// What to do with the bytes that were shown.
  package enum Step: Hashable, Sendable {
    /// Pass the first n on, untouched.
    case pass(Int)
    /// Drop the first n and pass these on.
    case replace(Int, with: [UInt8])
    /// Nothing yet: show them again with more, or after the other side moved.
    case wait
  }

  package struct Limits: Hashable, Sendable {
    /// Bytes of one message or body that are recorded; the rest passes and the frame is flagged `partial`.
    package var message = 64 << 20

    package init() {}
  }

  private enum Mode {
    case http
    case webSocket
    /// Bytes pass unread.
    case opaque
  }

  private enum ClientPhase {
    case head, body
    /// The request asked for an upgrade; what the next bytes are depends on the answer.
    case awaitingUpgrade
  }

  /// A request that has no complete response yet.
  private struct Pending {
    var method: String
    /// Sequence of its frame, once recorded.
    var sequence: Int?
    /// The head of a request for a WebSocket.
    var upgrade: HTTPHead?
  }

  private let connection: ConnectionID
  private let upstream: UpstreamURL
  private let recorder: FrameRecorder
  private let limits: Limits
  private var mode = Mode.http
  private var phase = ClientPhase.head
  private let requests: HTTPMessageReader
  private let responses: HTTPMessageReader
  private var pending: [Pending] = []
  private var clientScanner: WebSocketScanner
  private var serverScanner: WebSocketScanner
  private var sightings: [WebSocketSighting] = []
  private var closeRecorded = false
  private var unreadOut = 0
  private var unreadIn = 0

  package init(connection: ConnectionID, upstream: UpstreamURL, recorder: FrameRecorder, limits: Limits = Limits()) {
    self.connection = connection
    self.upstream = upstream
    self.recorder = recorder
    self.limits = limits
    requests = HTTPMessageReader(.requests, bodyLimit: limits.message)
    responses = HTTPMessageReader(.responses, bodyLimit: limits.message)
    clientScanner = WebSocketScanner(messageLimit: limits.message, allowsDeflate: false)
    serverScanner = clientScanner
  }

  /// Whether `take` must be shown all waiting bytes of the side in one piece.
  package func needsWholeInput(of side: Side) -> Bool {
    if case .http = mode, side == .client, case .head = phase { true } else { false }
  }

  /// Reads waiting bytes of a side. They count as taken in as far as the step says.
  package func take(_ bytes: UnsafeRawBufferPointer, from side: Side, at now: Instant) -> Step {
    switch mode {
    case .opaque:
      countUnread(bytes.count, side)
      return .pass(bytes.count)
    case .webSocket:
      scan(bytes, side, now)
      return .pass(bytes.count)
    case .http:
      return side == .client ? takeRequest(bytes, now) : takeResponse(bytes, now)
    }
  }

  // MARK: HTTP

  private func takeRequest(_ bytes: UnsafeRawBufferPointer, _ now: Instant) -> Step {
    switch phase {
    case .awaitingUpgrade: return .wait
    case .body:
      switch requests.feed(bytes) {
      case .more: return .pass(bytes.count)
      case .complete(let taken):
        requestEnded(now)
        return .pass(taken)
      case .invalid(_, let problem): return unreadable(problem, bytes, .client, now)
      }
    case .head:
      // Empty lines before a request mean nothing (RFC 9112, 2.2).
      let blank = bytes.prefix { $0 == 0x0d || $0 == 0x0a }.count
      if blank > 0 { return .pass(blank) }
      guard let end = ProxiedTraffic.endOfHead(bytes) else {
        if bytes.count < HTTPMessageReader.headLimit { return .wait }
        return unreadable("the head is longer than 64 KiB", bytes, .client, now)
      }
      let head = UnsafeRawBufferPointer(rebasing: bytes.prefix(end))
      requests.next()
      let progress = requests.feed(head)
      if case .invalid(_, let problem) = progress { return unreadable(problem, bytes, .client, now) }
      guard requests.hasHead else { return unreadable("a request without an end of its head", bytes, .client, now) }
      let isUpgrade = requests.head.isWebSocketUpgrade
      pending.append(Pending(method: requests.head.method, upgrade: isUpgrade ? requests.head : nil))
      switch progress {
      case .complete where isUpgrade: phase = .awaitingUpgrade
      case .complete: requestEnded(now)
      case .more, .invalid: phase = .body
      }
      guard let own = ProxiedTraffic.naming(upstream.authority, in: head) else { return .pass(end) }
      return .replace(end, with: own)
    }
  }

  private func requestEnded(_ now: Instant, isCut: Bool = false) {
    phase = .head
    let head = requests.head
    let line: JSON = [
      "method": .string(head.method), "url": .string("http://\(upstream.authority)\(head.target)"), "headers": head.fieldsAsJSON,
    ]
    let sequence = recorder.record(
      .request, ProxiedTraffic.payload(line, requests.body), on: connection, .out, at: now, flags: flags(of: requests, isCut))
    if !pending.isEmpty { pending[pending.count - 1].sequence = sequence }
  }

  private func takeResponse(_ bytes: UnsafeRawBufferPointer, _ now: Instant) -> Step {
    if !responses.hasBegun { responses.answersHEAD = pending.first?.method == "HEAD" }
    switch responses.feed(bytes) {
    case .more: return .pass(bytes.count)
    case .complete(let taken):
      responseEnded(now)
      return .pass(taken)
    case .invalid(_, let problem): return unreadable(problem, bytes, .server, now)
    }
  }

  private func responseEnded(_ now: Instant, isCut: Bool = false) {
    let head = responses.head
    defer { responses.next() }
    guard head.status == 101 || head.status >= 200, !pending.isEmpty else {
      // Informational, or nobody asked (a server that ends an idle connection says so).
      recordResponse(head, answers: pending.first?.sequence, now, isCut)
      return
    }
    let request = pending.removeFirst()
    guard let asked = request.upgrade else {
      recordResponse(head, answers: request.sequence, now, isCut)
      if head.status == 101 { becomeOpaque("the connection changed to another protocol", .server, now) }
      return
    }
    let opened = recordOpen(asked, status: head.status, answer: head.fieldsAsJSON, now)
    if head.status == 101, head.isWebSocketUpgrade {
      mode = .webSocket
      let deflates = head.fields.contains {
        HTTPHead.equal($0.name, "Sec-WebSocket-Extensions") && $0.value.contains("permessage-deflate")
      }
      clientScanner = WebSocketScanner(messageLimit: limits.message, allowsDeflate: deflates)
      serverScanner = clientScanner
      return
    }
    recordResponse(head, answers: opened, now, isCut)
    recorder.record(
      .close, JSONWriter.compact(["code": 1006, "reason": .string("refused with status \(head.status)"), "who": "server"]),
      on: connection, .in, at: now)
    phase = .head
  }

  private func recordOpen(_ asked: HTTPHead, status: Int, answer: JSON, _ now: Instant) -> Int? {
    let payload: JSON = [
      "url": .string("ws://\(upstream.authority)\(asked.target)"), "headers": asked.fieldsAsJSON, "status": .int(status),
      "responseHeaders": answer,
    ]
    return recorder.record(.open, JSONWriter.compact(payload), on: connection, .out, at: now)
  }

  private func recordResponse(_ head: HTTPHead, answers: Int?, _ now: Instant, _ isCut: Bool) {
    let line: JSON = ["status": .int(head.status), "reason": .string(head.reason), "headers": head.fieldsAsJSON]
    recorder.record(
      .response, ProxiedTraffic.payload(line, responses.body), on: connection, .in, at: now, flags: flags(of: responses, isCut),
      answers: answers)
  }

  private func flags(of reader: HTTPMessageReader, _ isCut: Bool) -> JSONObject {
    var flags: JSONObject = [:]
    if isCut || reader.bodyCount > reader.body.count { flags["partial"] = true }
    if reader.bodyCount > reader.body.count { flags["of"] = .int(reader.bodyCount) }
    return flags
  }

  /// The head as one line of JSON, then the body.
  private static func payload(_ head: JSON, _ body: [UInt8]) -> [UInt8] {
    var bytes = JSONWriter.compact(head)
    bytes.reserveCapacity(bytes.count + 1 + body.count)
    bytes.append(0x0a)
    bytes.append(contentsOf: body)
    return bytes
  }

  /// Bytes up to and with the empty line that ends a head, or nil.
  private static func endOfHead(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var index = 0
    while index < bytes.count {
      if bytes[index] == 0x0a {
        if index + 1 < bytes.count, bytes[index + 1] == 0x0a { return index + 2 }
        if index + 2 < bytes.count, bytes[index + 1] == 0x0d, bytes[index + 2] == 0x0a { return index + 3 }
      }
      index += 1
    }
    return nil
  }

  /// The head with `authority` as the value of its first `Host` field; nil when it says so already or has none.
  private static func naming(_ authority: String, in head: UnsafeRawBufferPointer) -> [UInt8]? {
    let name = Array("host:".utf8)
    var line = 0
    while let end = head[line...].firstIndex(of: 0x0a) {
      let from = line + name.count
      if from <= end, zip(head[line..<from], name).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) {
        var until = end
        if until > from, head[until - 1] == 0x0d { until -= 1 }
        let value = head[from..<until]
        let start = value.firstIndex { $0 != 0x20 && $0 != 0x09 } ?? until
        if head[start..<until].elementsEqual(authority.utf8) { return nil }
        return Array(head[..<start]) + Array(authority.utf8) + Array(head[until...])
      }
      line = end + 1
    }
    return nil
  }

  // MARK: WebSocket

  private func scan(_ bytes: UnsafeRawBufferPointer, _ side: Side, _ now: Instant) {
    sightings.removeAll(keepingCapacity: true)
    switch side {
    case .client: clientScanner.feed(bytes, into: &sightings)
    case .server: serverScanner.feed(bytes, into: &sightings)
    }
    recordSightings(side, now)
  }

  private func recordSightings(_ side: Side, _ now: Instant) {
    for sighting in sightings {
      switch sighting {
      case .message(let message):
        var flags: JSONObject = [:]
        if message.fragments > 1 { flags["fragments"] = .int(message.fragments) }
        if message.isDeflated { flags["deflated"] = true }
        if message.isCut || message.length > message.payload.count { flags["partial"] = true }
        if message.length > message.payload.count { flags["of"] = .int(message.length) }
        recorder.record(message.isText ? .text : .binary, message.payload, on: connection, side.direction, at: now, flags: flags)
      case .ping(let payload): recorder.record(.ping, payload, on: connection, side.direction, at: now)
      case .pong(let payload): recorder.record(.pong, payload, on: connection, side.direction, at: now)
      case .close(let code, let reason): recordClose(code, reason, who: side.who, side.direction, now)
      case .invalid(let offset, let problem):
        recorder.record(
          .opaque, JSONWriter.compact(["problem": .string(problem), "offset": .int(offset)]), on: connection, side.direction, at: now)
      }
    }
    sightings.removeAll(keepingCapacity: true)
  }

  /// The first close counts: who closes, and with which words. The peer's echo of it is not a second end.
  private func recordClose(_ code: Int, _ reason: String, who: String, _ direction: Direction, _ now: Instant) {
    if closeRecorded { return }
    closeRecorded = true
    var payload: JSONObject = ["code": .int(code), "reason": .string(reason), "who": .string(who)]
    let out = unreadOut + clientScanner.opaqueCount
    let `in` = unreadIn + serverScanner.opaqueCount
    if out > 0 || `in` > 0 { payload["unread"] = ["out": .int(out), "in": .int(`in`)] }
    recorder.record(.close, JSONWriter.compact(.object(payload)), on: connection, direction, at: now)
  }

  // MARK: Ends

  /// A side's direction ended, after its last bytes were taken. `problem` says how it broke; nil for an end in order.
  package func ended(_ side: Side, problem: String?, at now: Instant) {
    switch mode {
    case .http: endHTTP(side, problem, now)
    case .webSocket:
      endScanner(side, now)
      recordClose(1006, problem ?? "ended without a close frame", who: side.who, side.direction, now)
    case .opaque:
      recordClose(1006, problem ?? "ended", who: side.who, side.direction, now)
    }
  }

  private func endHTTP(_ side: Side, _ problem: String?, _ now: Instant) {
    switch side {
    case .client:
      if case .body = phase { requestEnded(now, isCut: true) }
    case .server:
      if responses.hasBegun {
        switch responses.end() {
        case .complete: responseEnded(now, isCut: problem != nil)
        case .more, .invalid: if responses.hasHead { responseEnded(now, isCut: true) }
        }
      }
      for request in pending {
        guard let asked = request.upgrade else { continue }
        _ = recordOpen(asked, status: 0, answer: [], now)
        recordClose(1006, problem ?? "ended without an answer", who: "server", .in, now)
      }
      pending = []
    }
  }

  private func endScanner(_ side: Side, _ now: Instant) {
    switch side {
    case .client: clientScanner.end(into: &sightings)
    case .server: serverScanner.end(into: &sightings)
    }
    recordSightings(side, now)
  }

  /// The recording ends while the connection is there: incomplete messages are kept as far as they came; no close is made up.
  package func stopped(at now: Instant) {
    switch mode {
    case .http:
      if case .body = phase { requestEnded(now, isCut: true) }
      if responses.hasHead { recordResponse(responses.head, answers: pending.first?.sequence, now, true) }
    case .webSocket:
      endScanner(.client, now)
      endScanner(.server, now)
    case .opaque: break
    }
  }

  /// The server cannot be reached: records that, and returns the answer for the client.
  package func unreachable(_ problem: String, at now: Instant) -> [UInt8] {
    let text = "cannot reach \(upstream): \(problem)"
    let body = Array((text + "\n").utf8)
    if case .body = phase { requestEnded(now, isCut: true) }
    for request in pending {
      if let asked = request.upgrade {
        _ = recordOpen(asked, status: 502, answer: [], now)
        recordClose(1006, text, who: "network", .in, now)
      } else {
        let line: JSON = ["status": 502, "reason": "Bad Gateway", "headers": [], "who": "network"]
        recorder.record(.response, ProxiedTraffic.payload(line, body), on: connection, .in, at: now, answers: request.sequence)
      }
    }
    pending = []
    let head = "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: \(body.count)\r\n"
    return Array((head + "Connection: close\r\n\r\n").utf8) + body
  }

  private func unreadable(_ problem: String, _ bytes: UnsafeRawBufferPointer, _ side: Side, _ now: Instant) -> Step {
    becomeOpaque(problem, side, now)
    countUnread(bytes.count, side)
    return .pass(bytes.count)
  }

  private func becomeOpaque(_ problem: String, _ side: Side, _ now: Instant) {
    mode = .opaque
    recorder.record(.opaque, JSONWriter.compact(["problem": .string(problem)]), on: connection, side.direction, at: now)
  }

  private func countUnread(_ count: Int, _ side: Side) {
    switch side {
    case .client: unreadOut += count
    case .server: unreadIn += count
    }
  }
}
