import CHTTP
import Wire

/// The start line and header fields of an HTTP/1 message, in order and as spelled.
package struct HTTPHead: Hashable, Sendable {
  package struct Field: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// Method and origin-form target of a request; empty on a response.
  package var method = ""
  package var target = ""
  /// Status and reason of a response; 0 and empty on a request.
  package var status = 0
  package var reason = ""
  /// Minor version of HTTP/1.
  package var minorVersion = 1
  package var fields: [Field] = []

  package init() {}

  /// The value of the first field of that name, whatever its case.
  package subscript(name: String) -> String? { fields.first { HTTPHead.equal($0.name, name) }?.value }

  /// Whether a comma-separated field holds `token`, whatever its case.
  package func lists(_ token: String, in name: String) -> Bool {
    fields.contains { field in
      HTTPHead.equal(field.name, name)
        && field.value.split(separator: ",").contains { HTTPHead.equal(HTTPHead.trimmed($0), token) }
    }
  }

  /// Whether this request wants to become a WebSocket, or this response makes it one.
  package var isWebSocketUpgrade: Bool {
    lists("websocket", in: "Upgrade") && lists("upgrade", in: "Connection") && (status == 101 || method == "GET")
  }

  /// `[[name,value]…]`.
  package var fieldsAsJSON: JSON { .array(fields.map { [.string($0.name), .string($0.value)] }) }

  static func equal(_ a: some StringProtocol, _ b: some StringProtocol) -> Bool {
    let left = a.utf8
    let right = b.utf8
    return left.count == right.count && zip(left, right).allSatisfy { lowered($0) == lowered($1) }
  }

  private static func trimmed(_ text: Substring) -> Substring {
    let from = text.utf8.firstIndex { $0 != 0x20 && $0 != 0x09 } ?? text.utf8.endIndex
    let until = text.utf8.lastIndex { $0 != 0x20 && $0 != 0x09 }.map { text.utf8.index(after: $0) } ?? from
    return text[from..<until]
  }

  private static func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }
}

/// Reads HTTP/1 messages of one direction with http_parser, one at a time: head, and body with its framing taken off.
///
/// `feed` stops at the end of each message; `next` makes ready for the one after it.
package final class HTTPMessageReader {
  package enum Role: Sendable { case requests, responses }

  package enum Progress: Hashable, Sendable {
    /// Everything was taken in and the message goes on.
    case more
    /// The message ended; the first `taken` bytes belong to it.
    case complete(taken: Int)
    /// The bytes are no HTTP; the first `taken` of them were still good.
    case invalid(taken: Int, problem: String)
  }

  private let parser: UnsafeMutablePointer<http_parser>
  private let settings: UnsafeMutablePointer<http_parser_settings>
  private let role: Role
  private let bodyLimit: Int
  private var fieldName: [UInt8] = []
  private var fieldValue: [UInt8] = []
  private var target: [UInt8] = []
  private var reason: [UInt8] = []
  private var headBytes = 0
  private var isComplete = false

  /// The head, complete when `hasHead`.
  package private(set) var head = HTTPHead()
  package private(set) var hasHead = false
  /// The body without its framing, at most `bodyLimit` bytes of it.
  package private(set) var body: [UInt8] = []
  /// Bytes of the whole body so far.
  package private(set) var bodyCount = 0
  /// Set before a response's head: it answers HEAD, and so has no body whatever it says.
  package var answersHEAD = false
  /// Heads with more bytes than this are invalid.
  package static let headLimit = 64 * 1024

  package init(_ role: Role, bodyLimit: Int) {
    self.role = role
    self.bodyLimit = bodyLimit
    parser = .allocate(capacity: 1)
    settings = .allocate(capacity: 1)
    parser.initialize(to: http_parser())
    settings.initialize(to: http_parser_settings())
    http_parser_settings_init(settings)
    settings.pointee.on_url = { HTTPMessageReader.from($0)?.take($1, $2, \.target) ?? 1 }
    settings.pointee.on_status = { HTTPMessageReader.from($0)?.take($1, $2, \.reason) ?? 1 }
    settings.pointee.on_header_field = { HTTPMessageReader.from($0)?.takeFieldName($1, $2) ?? 1 }
    settings.pointee.on_header_value = { HTTPMessageReader.from($0)?.takeFieldValue($1, $2) ?? 1 }
    settings.pointee.on_headers_complete = { HTTPMessageReader.from($0)?.headersComplete() ?? -1 }
    settings.pointee.on_body = { HTTPMessageReader.from($0)?.takeBody($1, $2) ?? 1 }
    settings.pointee.on_message_complete = { HTTPMessageReader.from($0)?.messageComplete() ?? 1 }
    next()
  }

  deinit {
    parser.deinitialize(count: 1)
    parser.deallocate()
    settings.deinitialize(count: 1)
    settings.deallocate()
  }

  /// Makes ready for the next message.
  package func next() {
    http_parser_init(parser, role == .requests ? HTTP_REQUEST : HTTP_RESPONSE)
    parser.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    head = HTTPHead()
    hasHead = false
    body = []
    bodyCount = 0
    headBytes = 0
    answersHEAD = false
    isComplete = false
    fieldName = []
    fieldValue = []
    target = []
    reason = []
  }

  /// Whether any byte of the message has been taken in.
  package var hasBegun: Bool { headBytes > 0 || hasHead }

  package func feed(_ bytes: UnsafeRawBufferPointer) -> Progress {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return .more }
    let text = start.assumingMemoryBound(to: CChar.self)
    let taken = http_parser_execute(parser, settings, text, bytes.count)
    if !hasHead {
      headBytes += taken
      if headBytes > HTTPMessageReader.headLimit { return .invalid(taken: taken, problem: "the head is longer than 64 KiB") }
    }
    return progress(taken: taken, of: bytes.count)
  }

  /// The direction ended: completes a body that lasts until then. Nil when the message is cut.
  package func end() -> Progress {
    if !hasBegun { return .complete(taken: 0) }
    _ = http_parser_execute(parser, settings, nil, 0)
    let result = progress(taken: 0, of: 0)
    return result == .more ? .invalid(taken: 0, problem: "the message is cut") : result
  }

  private func progress(taken: Int, of count: Int) -> Progress {
    let code = http_errno(rawValue: parser.pointee.http_errno)
    if isComplete {
      // Paused by `messageComplete` on its last byte, which counts as taken in.
      return .complete(taken: min(count, taken))
    }
    if code != HPE_OK { return .invalid(taken: min(count, taken), problem: String(cString: http_errno_description(code))) }
    return .more
  }

  private static func from(_ parser: UnsafeMutablePointer<http_parser>?) -> HTTPMessageReader? {
    parser?.pointee.data.map { Unmanaged<HTTPMessageReader>.fromOpaque($0).takeUnretainedValue() }
  }

  private func take(
    _ start: UnsafePointer<CChar>?, _ count: Int, _ path: ReferenceWritableKeyPath<HTTPMessageReader, [UInt8]>
  ) -> Int32 {
    self[keyPath: path].append(contentsOf: UnsafeRawBufferPointer(start: start, count: count))
    return 0
  }

  private func takeFieldName(_ start: UnsafePointer<CChar>?, _ count: Int) -> Int32 {
    endField()
    fieldName.append(contentsOf: UnsafeRawBufferPointer(start: start, count: count))
    return 0
  }

  private func takeFieldValue(_ start: UnsafePointer<CChar>?, _ count: Int) -> Int32 {
    fieldValue.append(contentsOf: UnsafeRawBufferPointer(start: start, count: count))
    isInValue = true
    return 0
  }

  private var isInValue = false

  /// Names and values come in pieces; a piece of a name after a piece of a value begins a new field.
  private func endField() {
    guard isInValue else { return }
    head.fields.append(
      HTTPHead.Field(name: String(decoding: fieldName, as: UTF8.self), value: String(decoding: fieldValue, as: UTF8.self)))
    fieldName.removeAll(keepingCapacity: true)
    fieldValue.removeAll(keepingCapacity: true)
    isInValue = false
  }

  private func headersComplete() -> Int32 {
    endField()
    // Fields after this are trailers of a chunked body, and not of the head.
    hasHead = true
    head.minorVersion = Int(parser.pointee.http_minor)
    if role == .requests {
      head.method = String(cString: http_method_str(http_method(rawValue: parser.pointee.method)))
      head.target = String(decoding: target, as: UTF8.self)
      return 0
    }
    head.status = Int(parser.pointee.status_code)
    head.reason = String(decoding: reason, as: UTF8.self)
    return answersHEAD ? 1 : 0
  }

  private func takeBody(_ start: UnsafePointer<CChar>?, _ count: Int) -> Int32 {
    bodyCount += count
    let room = min(count, bodyLimit - body.count)
    if room > 0 { body.append(contentsOf: UnsafeRawBufferPointer(start: start, count: room)) }
    return 0
  }

  private func messageComplete() -> Int32 {
    isComplete = true
    http_parser_pause(parser, 1)
    return 0
  }
}
