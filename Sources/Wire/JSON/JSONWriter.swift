/// A JSON text that is being written.
private struct JSONText {
  /// Nesting that every parser takes (simdjson's limit is 1024).
  private static let safeDepth = 500

  let isSorted: Bool
  var bytes: [UInt8] = []
  /// Whether parsing what was written so far gives back what was written.
  var readsBack = true

  init(isSorted: Bool) {
    self.isSorted = isSorted
    bytes.reserveCapacity(512)
  }

  mutating func append(_ value: JSON, depth: Int) {
    switch value {
    case .null: bytes.append(contentsOf: "null".utf8)
    case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
    case .integer(let value): append(value)
    case .unsigned(let value):
      if Int64(exactly: value) != nil { readsBack = false }
      bytes.append(contentsOf: String(value).utf8)
    case .double(let value):
      readsBack = false
      bytes.append(contentsOf: JSONWriter.number(value).utf8)
    case .string(let value): JSONWriter.append(value, to: &bytes)
    case .array(let elements):
      if depth >= JSONText.safeDepth { readsBack = false }
      bytes.append(UInt8(ascii: "["))
      for index in elements.indices {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        append(elements[index], depth: depth + 1)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let object):
      if depth >= JSONText.safeDepth { readsBack = false }
      let members = isSorted ? object.members.sorted { JSONText.precedes($0.name, $1.name) } : object.members
      bytes.append(UInt8(ascii: "{"))
      for index in members.indices {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        JSONWriter.append(members[index].name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        append(members[index].value, depth: depth + 1)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private mutating func append(_ value: Int64) {
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    let start = bytes.count
    var rest = value.magnitude
    repeat {
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit))
      rest = quotient
    } while rest > 0
    // The digits came last first.
    var (low, high) = (start, bytes.count - 1)
    while low < high {
      bytes.swapAt(low, high)
      (low, high) = (low + 1, high - 1)
    }
  }

  /// The order of UTF-16 code units, read off UTF-8: that of the bytes, but for the first byte in which two texts differ being that of a
  /// scalar from U+E000 on (EE, EF) in one and of a surrogate pair (F0 and above) in the other.
  private static func precedes(_ a: String, _ b: String) -> Bool {
    var left = a.utf8.makeIterator()
    var right = b.utf8.makeIterator()
    while true {
      guard let y = right.next() else { return false }
      guard let x = left.next() else { return true }
      if x == y { continue }
      if x >= 0xf0, y == 0xee || y == 0xef { return true }
      if y >= 0xf0, x == 0xee || x == 0xef { return false }
      return x < y
    }
  }
}

/// Writes JSON texts. Equal values give equal bytes.
package enum JSONWriter {
  /// Compact text: members in their order, no white space.
  package static func compact(_ value: JSON) -> [UInt8] {
    var text = JSONText(isSorted: false)
    text.append(value, depth: 0)
    return text.bytes
  }

  /// Compact text, and whether parsing it gives a value that is equal to `value`. Numbers may be spelled as another case (`1.0` is
  /// written `1`), and parsers limit how deep a text may be nested; everything else reads back as it is.
  package static func compactReadingBack(_ value: JSON) -> (bytes: [UInt8], readsBack: Bool) {
    var text = JSONText(isSorted: false)
    text.append(value, depth: 0)
    return (text.bytes, text.readsBack)
  }

  /// RFC 8785 (JCS): members sorted by UTF-16 code units of their names, numbers as ECMAScript prints them. For hashes.
  ///
  /// Integers beyond 2^53, which JCS would round to a double, keep their digits, so that different values get different hashes.
  package static func canonical(_ value: JSON) -> [UInt8] {
    var text = JSONText(isSorted: true)
    text.append(value, depth: 0)
    return text.bytes
  }

  /// Compact text as a string.
  package static func text(_ value: JSON) -> String { String(decoding: compact(value), as: UTF8.self) }

  private static let hex = Array("0123456789abcdef".utf8)

  /// A quoted string: the short escapes, `\u00xx` for the other control characters, everything else as UTF-8.
  package static func append(_ text: String, to out: inout [UInt8]) {
    var text = text
    text.withUTF8 { bytes in
      out.append(UInt8(ascii: "\""))
      // Almost every string is one run without escapes.
      var start = 0
      while let index = firstEscape(in: bytes, from: start) {
        out.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<index]))
        appendEscape(of: bytes[index], to: &out)
        start = index + 1
      }
      out.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start...]))
      out.append(UInt8(ascii: "\""))
    }
  }

  /// Index of the first byte from `start` on that must be escaped.
  private static func firstEscape(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
    var index = start
    let raw = UnsafeRawBufferPointer(bytes)
    // Eight bytes at once; `index` + 8 ≤ `count` keeps the loads inside. In each byte of `found` the top bit is set at least where an
    // escape is needed: where b − 0x20 or (b ^ x) − 1 borrows and b is ASCII. A borrow may also mark the byte above a found one, so that the
    // byte loop below has the last word.
    let ones: UInt64 = 0x0101_0101_0101_0101
    while index + 8 <= raw.count {
      let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
      let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
      let found = ((word &- (ones &* 0x20)) | (quote &- ones) | (backslash &- ones)) & ~word & (ones &* 0x80)
      if found != 0 { break }
      index += 8
    }
    while index < bytes.count {
      let byte = bytes[index]
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return index }
      index += 1
    }
    return nil
  }

  private static func appendEscape(of byte: UInt8, to out: inout [UInt8]) {
    out.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: out.append(UInt8(ascii: "b"))
    case 0x09: out.append(UInt8(ascii: "t"))
    case 0x0a: out.append(UInt8(ascii: "n"))
    case 0x0c: out.append(UInt8(ascii: "f"))
    case 0x0d: out.append(UInt8(ascii: "r"))
    case 0x00...0x1f:
      out.append(contentsOf: "u00".utf8)
      out.append(hex[Int(byte >> 4)])
      out.append(hex[Int(byte & 15)])
    default: out.append(byte)
    }
  }
}

extension JSONWriter {
  /// A double as ECMAScript prints it (RFC 8785, 3.2.2.3): `1`, `0.1`, `1e+21`, `1e-7`; `null` for what JSON cannot spell.
  static func number(_ value: Double) -> String {
    if !value.isFinite { return "null" }
    if value == 0 { return "0" }
    // Swift prints the shortest digits that read back; only the notation differs.
    let (digits, exponent) = shortest(value.magnitude)
    let sign = value < 0 ? "-" : ""
    let count = digits.utf8.count
    if count <= exponent, exponent <= 21 { return sign + digits + String(repeating: "0", count: exponent - count) }
    if 0 < exponent, exponent <= 21 {
      let split = digits.index(digits.startIndex, offsetBy: exponent)
      return sign + digits[..<split] + "." + digits[split...]
    }
    if -6 < exponent, exponent <= 0 { return sign + "0." + String(repeating: "0", count: -exponent) + digits }
    let power = exponent - 1
    let head = digits.prefix(1)
    let tail = digits.dropFirst()
    return sign + head + (tail.isEmpty ? "" : "." + tail) + "e" + (power < 0 ? "-" : "+") + String(power.magnitude)
  }

  /// Digits d₁…dₙ without trailing zeros and e with value = 0.d₁…dₙ × 10^e.
  private static func shortest(_ value: Double) -> (digits: String, exponent: Int) {
    var mantissa = value.description
    var exponent = 0
    if let mark = mantissa.firstIndex(where: { $0 == "e" || $0 == "E" }) {
      exponent = Int(mantissa[mantissa.index(after: mark)...].drop { $0 == "+" }) ?? 0
      mantissa = String(mantissa[..<mark])
    }
    let parts = mantissa.split(separator: ".", omittingEmptySubsequences: false)
    let whole = parts[0]
    let fraction = parts.count > 1 ? parts[1] : ""
    var digits = Array((whole + fraction).utf8)
    exponent += whole.utf8.count
    while digits.count > 1, digits.first == UInt8(ascii: "0") {
      digits.removeFirst()
      exponent -= 1
    }
    while digits.count > 1, digits.last == UInt8(ascii: "0") { digits.removeLast() }
    return (String(decoding: digits, as: UTF8.self), exponent)
  }
}
