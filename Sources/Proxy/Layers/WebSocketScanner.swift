/// The head of one WebSocket frame (RFC 6455, 5.2) as it stood on the wire.
package struct WebSocketFrameHead: Hashable, Sendable {
  package var isFinal: Bool
  /// The reserved bits, RSV1 as 4, RSV2 as 2, RSV3 as 1.
  package var reserved: UInt8
  package var opcode: UInt8
  /// The masking key as it stands, first byte highest; nil when the frame is not masked.
  package var maskingKey: UInt32?
  package var length: Int
}

/// What a scanner saw, in order of the stream.
package enum WebSocketSighting: Hashable, Sendable {
  /// A complete text or binary message, unmasked and put together.
  case message(WebSocketMessage)
  case ping([UInt8])
  case pong([UInt8])
  /// A close frame; 1005 when it has no code.
  case close(code: Int, reason: String)
  /// Bytes that are no WebSocket frame: the rest of this direction is not read.
  case invalid(offset: Int, problem: String)
}

/// A text or binary message.
package struct WebSocketMessage: Hashable, Sendable {
  package var isText: Bool
  /// As sent, unmasked; compressed when `isDeflated`. At most the scanner's limit.
  package var payload: [UInt8]
  /// Bytes of the whole message.
  package var length: Int
  /// Frames that it came in, with the one that the end cut.
  package var fragments: Int
  package var isDeflated: Bool
  /// The connection ended within it.
  package var isCut: Bool

  package init(isText: Bool, payload: [UInt8], length: Int, fragments: Int, isDeflated: Bool, isCut: Bool) {
    self.isText = isText
    self.payload = payload
    self.length = length
    self.fragments = fragments
    self.isDeflated = isDeflated
    self.isCut = isCut
  }
}

/// Reads one direction of a WebSocket beside the stream, changing nothing: frames, masks, fragments, control frames between
/// fragments. Feeding bytes one by one or at once gives the same sightings.
///
/// It takes what peers may take too (lengths in a longer form than needed, a missing or needless mask, text that is not UTF-8), since
/// a recorder keeps what was sent. What cannot be framed any more ends the reading, and says so.
package struct WebSocketScanner: Sendable {
  private enum Phase: Sendable {
    /// Collecting a frame's head.
    case head
    /// Taking in the payload of `frame`; this many bytes are missing.
    case payload(missing: Int)
    /// Not readable any more.
    case opaque
  }

  private var phase = Phase.head
  /// At most 14 bytes of a head that is not complete.
  private var head: [UInt8] = []
  private var frame = WebSocketFrameHead(isFinal: true, reserved: 0, opcode: 0, maskingKey: nil, length: 0)
  /// Payload of the control frame that is being read.
  private var control: [UInt8] = []
  private var message: WebSocketMessage?
  /// Bytes of the stream before the frame that is being read.
  private var frameOffset = 0
  private var position = 0
  private let messageLimit: Int
  private let allowsDeflate: Bool

  /// Frames read so far, fragments and control frames each as one.
  package private(set) var frameCount = 0
  /// Bytes that were not read after invalid framing.
  package private(set) var opaqueCount = 0
  /// Frames that had a mask, and that had none.
  package private(set) var maskedCount = 0

  /// `messageLimit`: bytes of a message that are kept. `allowsDeflate`: permessage-deflate was agreed, so RSV1 may be set.
  package init(messageLimit: Int, allowsDeflate: Bool) {
    self.messageLimit = messageLimit
    self.allowsDeflate = allowsDeflate
    head.reserveCapacity(14)
  }

  /// Whether a close frame or invalid framing ended what can be read.
  package var isOpaque: Bool { if case .opaque = phase { true } else { false } }

  /// Takes the next bytes of the direction and appends what they complete.
  package mutating func feed(_ bytes: UnsafeRawBufferPointer, into sightings: inout [WebSocketSighting]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      switch phase {
      case .head:
        let taken = takeHead(UnsafeRawBufferPointer(rebasing: rest), &sightings)
        rest = rest.dropFirst(taken)
      case .payload(let missing):
        let count = min(missing, rest.count)
        takePayload(UnsafeRawBufferPointer(rebasing: rest.prefix(count)), at: frame.length - missing)
        rest = rest.dropFirst(count)
        position += count
        phase = .payload(missing: missing - count)
        if count == missing { endFrame(&sightings) }
      case .opaque:
        opaqueCount += rest.count
        position += rest.count
        return
      }
    }
  }

  /// The direction ended: what had come of an incomplete message or frame.
  package mutating func end(into sightings: inout [WebSocketSighting]) {
    if var cut = message, !isOpaque {
      cut.isCut = true
      sightings.append(.message(cut))
      message = nil
    }
  }

  // MARK: Heads

  /// Takes bytes up to the end of the head; returns how many.
  private mutating func takeHead(_ bytes: UnsafeRawBufferPointer, _ sightings: inout [WebSocketSighting]) -> Int {
    if head.isEmpty { frameOffset = position }
    var taken = 0
    while true {
      let needed = headLength
      if head.count >= needed { break }
      let count = min(needed - head.count, bytes.count - taken)
      if count == 0 { return taken }
      head.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + count]))
      taken += count
      position += count
    }
    beginFrame(&sightings)
    return taken
  }

  /// Bytes that the head needs, as far as its first two tell.
  private var headLength: Int {
    if head.count < 2 { return 2 }
    let short = head[1] & 0x7f
    return 2 + (short == 126 ? 2 : short == 127 ? 8 : 0) + (head[1] & 0x80 != 0 ? 4 : 0)
  }

  private mutating func beginFrame(_ sightings: inout [WebSocketSighting]) {
    let short = Int(head[1] & 0x7f)
    let lengthBytes = short == 126 ? 2 : short == 127 ? 8 : 0
    var length = UInt64(short)
    if lengthBytes > 0 { length = head[2..<2 + lengthBytes].reduce(0) { $0 << 8 | UInt64($1) } }
    var key: UInt32?
    if head[1] & 0x80 != 0 { key = head[(2 + lengthBytes)...].reduce(0) { $0 << 8 | UInt32($1) } }
    let opcode = head[0] & 0x0f
    let isFinal = head[0] & 0x80 != 0
    let reserved = head[0] >> 4 & 7
    head.removeAll(keepingCapacity: true)
    if let problem = problem(opcode: opcode, isFinal: isFinal, reserved: reserved, length: length) {
      if message != nil { end(into: &sightings) }
      sightings.append(.invalid(offset: frameOffset, problem: problem))
      phase = .opaque
      message = nil
      return
    }
    frame = WebSocketFrameHead(isFinal: isFinal, reserved: reserved, opcode: opcode, maskingKey: key, length: Int(length))
    frameCount += 1
    if key != nil { maskedCount += 1 }
    if opcode >= 8 {
      control.removeAll(keepingCapacity: true)
    } else if message == nil {
      message = WebSocketMessage(
        isText: opcode == 1, payload: [], length: 0, fragments: 0, isDeflated: reserved & 4 != 0, isCut: false)
    }
    if opcode < 8 { message?.fragments += 1 }
    if length == 0 { endFrame(&sightings) } else { phase = .payload(missing: Int(length)) }
  }

  /// Why no peer could go on after this head, or nil.
  private func problem(opcode: UInt8, isFinal: Bool, reserved: UInt8, length: UInt64) -> String? {
    switch opcode {
    case 0 where message == nil: return "a continuation without a message"
    case 1 where message != nil, 2 where message != nil: return "a new message within a message"
    case 0, 1, 2: break
    case 8, 9, 10:
      if !isFinal { return "a fragmented control frame" }
      if length > 125 { return "a control frame of \(length) bytes" }
      if opcode == 8, length == 1 { return "a close frame of 1 byte" }
    default: return "the reserved opcode \(opcode)"
    }
    if length > UInt64(Int64.max) { return "a length above 2^63" }
    let allowed: UInt8 = allowsDeflate && (opcode == 1 || opcode == 2) ? 4 : 0
    if reserved & ~allowed != 0 { return "reserved bits (\(reserved)) that no agreed extension uses" }
    return nil
  }

  // MARK: Payload

  private mutating func takePayload(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    if frame.opcode >= 8 {
      WebSocketScanner.append(bytes, to: &control, key: frame.maskingKey, offset: offset, reserve: frame.length)
      return
    }
    // Out of its optional while it grows: growing a payload that the optional still holds would copy it.
    guard var taking = message else { return }
    message = nil
    let room = max(0, messageLimit - taking.payload.count)
    let kept = UnsafeRawBufferPointer(rebasing: bytes.prefix(room))
    WebSocketScanner.append(kept, to: &taking.payload, key: frame.maskingKey, offset: offset, reserve: min(room, frame.length - offset))
    taking.length += bytes.count
    message = taking
  }

  /// Appends bytes with the mask taken off, 8 at a time. `offset`: position of the first within its frame.
  private static func append(
    _ bytes: UnsafeRawBufferPointer, to out: inout [UInt8], key: UInt32?, offset: Int, reserve: Int
  ) {
    guard !bytes.isEmpty else { return }
    let start = out.count
    // One growth for a frame whose first bytes these are; bounded, as the length in its head is only a claim.
    if reserve > bytes.count, offset == 0 { out.reserveCapacity(start + min(reserve, 1 << 20)) }
    out.append(contentsOf: bytes)
    guard let key, key != 0 else { return }
    let shift = UInt32(offset & 3) * 8
    let turned = shift == 0 ? key : key << shift | key >> (32 - shift)
    let word = UInt64(turned) << 32 | UInt64(turned)
    out.withUnsafeMutableBytes { buffer in
      guard let base = buffer.baseAddress else { return }
      var at = start
      let mask = word.bigEndian
      while at + 8 <= buffer.count {
        base.storeBytes(of: base.loadUnaligned(fromByteOffset: at, as: UInt64.self) ^ mask, toByteOffset: at, as: UInt64.self)
        at += 8
      }
      var left = word
      while at < buffer.count {
        left = left << 8 | left >> 56
        buffer[at] ^= UInt8(truncatingIfNeeded: left)
        at += 1
      }
    }
  }

  private mutating func endFrame(_ sightings: inout [WebSocketSighting]) {
    phase = .head
    switch frame.opcode {
    case 8:
      let code = control.count >= 2 ? Int(control[0]) << 8 | Int(control[1]) : 1005
      sightings.append(.close(code: code, reason: String(decoding: control.dropFirst(2), as: UTF8.self)))
    case 9: sightings.append(.ping(control))
    case 10: sightings.append(.pong(control))
    default:
      guard frame.isFinal, let whole = message else { return }
      message = nil
      sightings.append(.message(whole))
    }
  }
}
