/// Writes JSON texts. Equal values give equal bytes.
package enum JSONWriter {
  /// Compact text: members in their order, no white space.
  package static func compact(_ value: JSON) -> [UInt8] {
    var out: [UInt8] = []
    append(value, to: &out, sorted: false)
    return out
  }

  /// RFC 8785 (JCS): members sorted by UTF-16 code units of their names, numbers as ECMAScript prints them. For hashes.
  ///
  /// Integers beyond 2^53, which JCS would round to a double, keep their digits, so that different values get different hashes.
  package static func canonical(_ value: JSON) -> [UInt8] {
    var out: [UInt8] = []
    append(value, to: &out, sorted: true)
    return out
  }

  /// Compact text as a string.
  package static func text(_ value: JSON) -> String { String(decoding: compact(value), as: UTF8.self) }

  private static func append(_ value: JSON, to out: inout [UInt8], sorted: Bool) {
    switch value {
    case .null: out.append(contentsOf: "null".utf8)
    case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
    case .integer(let value): out.append(contentsOf: String(value).utf8)
    case .unsigned(let value): out.append(contentsOf: String(value).utf8)
    case .double(let value): out.append(contentsOf: number(value).utf8)
    case .string(let value): append(value, to: &out)
    case .array(let elements):
      out.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        append(element, to: &out, sorted: sorted)
      }
      out.append(UInt8(ascii: "]"))
    case .object(let object):
      let members = sorted ? object.members.sorted { $0.name.utf16.lexicographicallyPrecedes($1.name.utf16) } : object.members
      out.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        append(member.name, to: &out)
        out.append(UInt8(ascii: ":"))
        append(member.value, to: &out, sorted: sorted)
      }
      out.append(UInt8(ascii: "}"))
    }
  }

  private static let hex = Array("0123456789abcdef".utf8)

  /// A quoted string: the short escapes, `\u00xx` for the other control characters, everything else as UTF-8.
  package static func append(_ text: String, to out: inout [UInt8]) {
    var text = text
    text.withUTF8 { bytes in
      out.append(UInt8(ascii: "\""))
      // Almost every string is one run without escapes.
      var start = 0
      for index in bytes.indices {
        let byte = bytes[index]
        if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") { continue }
        out.append(contentsOf: bytes[start..<index])
        appendEscape(of: byte, to: &out)
        start = index + 1
      }
      out.append(contentsOf: bytes[start...])
      out.append(UInt8(ascii: "\""))
    }
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
