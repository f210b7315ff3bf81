internal import Simulation
internal import Wire

/// A frame in a segment: an envelope line and the payload, byte for byte, with a newline behind it (DESIGN.md 4).
///
/// `{"seq":41,"t":1200345678,"conn":2,"dir":"in","kind":"ws.text","len":57}`, then `re` and the flags where set. `len` rules,
/// as a payload may hold newlines. With a `blob` the payload is that member and the payload line is empty.
enum FrameCodec {
  /// Names of the envelope that no flag may have.
  static let reserved: Set<String> = ["seq", "t", "conn", "dir", "kind", "len", "re", "blob"]

  /// Appends the two lines of a frame. `blob` is the digest of the payload that is kept elsewhere.
  static func append(_ frame: Frame, blob: String? = nil, to out: inout [UInt8]) {
    out.append(contentsOf: "{\"seq\":".utf8)
    append(Int64(frame.sequence), to: &out)
    out.append(contentsOf: ",\"t\":".utf8)
    append(frame.at.nanoseconds, to: &out)
    out.append(contentsOf: ",\"conn\":".utf8)
    append(Int64(frame.connection.number), to: &out)
    out.append(contentsOf: (frame.direction == .in ? ",\"dir\":\"in\",\"kind\":" : ",\"dir\":\"out\",\"kind\":").utf8)
    JSONWriter.append(frame.kind.rawValue, to: &out)
    out.append(contentsOf: ",\"len\":".utf8)
    append(Int64(frame.payload.count), to: &out)
    if let request = frame.answers {
      out.append(contentsOf: ",\"re\":".utf8)
      append(Int64(request), to: &out)
    }
    for flag in frame.flags.members {
      out.append(UInt8(ascii: ","))
      JSONWriter.append(flag.name, to: &out)
      out.append(UInt8(ascii: ":"))
      out.append(contentsOf: JSONWriter.compact(flag.value))
    }
    if let blob {
      out.append(contentsOf: ",\"blob\":".utf8)
      JSONWriter.append(blob, to: &out)
    }
    out.append(contentsOf: "}\n".utf8)
    if blob == nil { out.append(contentsOf: frame.payload) }
    out.append(UInt8(ascii: "\n"))
  }

  private static func append(_ number: Int64, to out: inout [UInt8]) {
    if number < 0 { out.append(UInt8(ascii: "-")) }
    let start = out.count
    var rest = number.magnitude
    repeat {
      out.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    out[start...].reverse()
  }
}

/// A frame as a segment has it: its payload is here or in a blob of that digest and size.
struct StoredFrame {
  var frame: Frame
  var blob: String?
  var length: Int
}

/// Why bytes are no frame, with the offset of the frame's first byte.
struct FrameCodecError: Error, Hashable {
  var offset: Int
  var reason: String
}

/// Takes frames off the plain content of a segment, one after the other.
struct FrameDecoder {
  private let bytes: [UInt8]
  private let reader: JSONReader
  /// Where the next frame begins.
  private(set) var offset = 0

  init(_ bytes: [UInt8], reader: JSONReader) {
    self.bytes = bytes
    self.reader = reader
  }

  /// The next frame, or nil at the end. After an error nothing more can be read.
  mutating func next() throws(FrameCodecError) -> StoredFrame? {
    guard offset < bytes.count else { return nil }
    let window = bytes[offset..<min(bytes.count, offset + Limits.envelope + 1)]
    guard let end = window.firstIndex(of: UInt8(ascii: "\n")) else { throw failure("an envelope without end") }
    var stored: StoredFrame
    if let plain = plainEnvelope(end: end) { stored = plain } else { stored = try fullEnvelope(end: end) }
    let start = end + 1
    let inline = stored.blob == nil ? stored.length : 0
    guard stored.length <= Limits.payload else { throw failure("a payload of \(stored.length) bytes") }
    guard inline < bytes.count - start else { throw failure("the payload is cut") }
    guard bytes[start + inline] == UInt8(ascii: "\n") else { throw failure("no newline after the payload") }
    stored.frame.payload = Array(bytes[start..<start + inline])
    offset = start + inline + 1
    return stored
  }

  /// The envelope when it is spelled exactly as the writer spells one without flags; nil otherwise. Saves the JSON tree.
  private func plainEnvelope(end: Int) -> StoredFrame? {
    var cursor = Cursor(bytes: bytes, position: offset, end: end)
    guard cursor.skip("{\"seq\":"), let sequence = cursor.integer(), cursor.skip(",\"t\":"), let at = cursor.integer(),
      cursor.skip(",\"conn\":"), let connection = cursor.integer(), cursor.skip(",\"dir\":\""), let direction = cursor.word(),
      cursor.skip("\",\"kind\":\""), let kind = cursor.word(), cursor.skip("\",\"len\":"), let length = cursor.integer(),
      cursor.skip("}"), cursor.position == end
    else { return nil }
    return stored(
      sequence: sequence, at: at, connection: connection, direction: direction, kind: kind, length: length, answers: nil)
  }

  private func fullEnvelope(end: Int) throws(FrameCodecError) -> StoredFrame {
    let parsed: JSON
    do throws(JSONError) {
      parsed = try bytes.withUnsafeBufferPointer { (all) throws(JSONError) in
        try reader.parse(UnsafeBufferPointer(rebasing: all[offset..<end]))
      }
    } catch {
      throw failure("envelope: \(error)")
    }
    guard let object = parsed.object else { throw failure("an envelope that is no object") }
    guard let sequence = object["seq"]?.integer, let at = object["t"]?.integer, let connection = object["conn"]?.integer,
      let direction = object["dir"]?.string, let kind = object["kind"]?.string, let length = object["len"]?.integer
    else { throw failure("an envelope without seq, t, conn, dir, kind or len") }
    let answers = object["re"]?.int
    if object["re"] != nil, answers == nil { throw failure("an envelope whose re is no integer") }
    let blob = object["blob"]?.string
    if object["blob"] != nil, blob == nil { throw failure("an envelope whose blob is no string") }
    let plain = stored(
      sequence: sequence, at: at, connection: connection, direction: direction, kind: kind, length: length, answers: answers)
    guard var plain else { throw failure("an envelope with a value out of range") }
    plain.blob = blob
    plain.frame.flags = JSONObject(object.members.filter { !FrameCodec.reserved.contains($0.name) })
    return plain
  }

  private func stored(
    sequence: Int64, at: Int64, connection: Int64, direction: String, kind: String, length: Int64, answers: Int?
  ) -> StoredFrame? {
    guard let sequence = Int(exactly: sequence), sequence > 0, let connection = Int(exactly: connection),
      let direction = Direction(rawValue: direction), let length = Int(exactly: length), length >= 0
    else { return nil }
    let frame = Frame(
      sequence: sequence, at: Instant(nanoseconds: at), connection: ConnectionID(connection), direction: direction,
      kind: FrameKind(rawValue: kind), payload: [], answers: answers)
    return StoredFrame(frame: frame, blob: nil, length: length)
  }

  private func failure(_ reason: String) -> FrameCodecError { FrameCodecError(offset: offset, reason: reason) }
}

/// Reads the fixed spelling of a plain envelope.
private struct Cursor {
  let bytes: [UInt8]
  var position: Int
  let end: Int

  mutating func skip(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard end - position >= count else { return false }
    for index in 0..<count where bytes[position + index] != text.utf8Start[index] { return false }
    position += count
    return true
  }

  /// A number without leading zeros, at most 18 digits; others go the long way.
  mutating func integer() -> Int64? {
    let negative = position < end && bytes[position] == UInt8(ascii: "-")
    var index = negative ? position + 1 : position
    let first = index
    var value: Int64 = 0
    while index < end, index - first < 18, case let digit = bytes[index] &- UInt8(ascii: "0"), digit < 10 {
      value = value * 10 + Int64(digit)
      index += 1
    }
    guard index > first, index - first == 1 || bytes[first] != UInt8(ascii: "0") else { return nil }
    position = index
    return negative ? -value : value
  }

  /// Letters, digits, dots and hyphens up to a quote.
  mutating func word() -> String? {
    var index = position
    while index < end {
      switch bytes[index] {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "."), UInt8(ascii: "-"):
        index += 1
      default:
        defer { position = index }
        return String(decoding: bytes[position..<index], as: UTF8.self)
      }
    }
    return nil
  }
}
