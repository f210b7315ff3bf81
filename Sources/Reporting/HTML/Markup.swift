import Wire

/// HTML as it goes into the page. A literal is markup; every value that is put into one is data and is escaped, unless it is markup
/// itself. That holds in text and in quoted attributes; scripts take data only through `Markup.data`.
///
/// ```swift
/// let cell: Markup = "<td title=\"\(name)\">\(words)</td>"
/// ```
struct Markup: ExpressibleByStringInterpolation, Sendable {
  private(set) var text: String

  init(stringLiteral value: String) { text = value }
  init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

  struct Interpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity + 16 * interpolationCount) }
    mutating func appendLiteral(_ literal: String) { text += literal }
    mutating func appendInterpolation(_ data: String) { text += Markup.escaped(data) }
    mutating func appendInterpolation(_ number: Int) { text += String(number) }
    mutating func appendInterpolation(_ markup: Markup) { text += markup.text }
    mutating func appendInterpolation(_ parts: [Markup]) { for part in parts { text += part.text } }
  }

  static func + (left: Markup, right: Markup) -> Markup { "\(left)\(right)" }
  static func += (left: inout Markup, right: Markup) { left.text += right.text }

  static func joined(_ parts: [Markup], _ separator: Markup) -> Markup {
    var out: Markup = ""
    for (index, part) in parts.enumerated() {
      if index > 0 { out += separator }
      out += part
    }
    return out
  }

  /// Words of the run, set apart so that their writing direction stays their own.
  static func bdi(_ words: String) -> Markup { "<bdi>\(words)</bdi>" }

  /// A message's words in quotes that stay outside of their writing direction.
  static func quoted(_ words: String, limit: Int = 48) -> Markup { "“\(bdi(Columns.cut(Visible.text(words), to: limit)))”" }

  /// Text that may break anywhere in a long word and is shown in the fixed font.
  static func code(_ words: String) -> Markup { "<code>\(words)</code>" }

  /// JSON inside of a `script` element: `<`, `>`, `&` and every character that would act instead of being seen as escapes, so that
  /// nothing in it can end the element, begin a comment or turn the text around.
  static func data(_ json: [UInt8]) -> Markup {
    var out = String.UnicodeScalarView()
    for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
      switch scalar {
      case "<", ">", "&": out.append(contentsOf: escape(scalar))
      default: if Visible.acts(scalar) { out.append(contentsOf: escape(scalar)) } else { out.append(scalar) }
      }
    }
    return Markup(stringLiteral: String(out))
  }

  /// `\u003c`, as two halves above U+FFFF.
  private static func escape(_ scalar: Unicode.Scalar) -> String.UnicodeScalarView {
    var text = ""
    for unit in String(scalar).utf16 {
      let digits = String(unit, radix: 16)
      text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }
    return text.unicodeScalars
  }

  /// What would act is shown (`Visible`), then the five characters of markup become references.
  private static func escaped(_ data: String) -> String {
    let visible = Visible.text(data)
    if !visible.utf8.contains(where: { $0 == 0x26 || $0 == 0x3c || $0 == 0x3e || $0 == 0x22 || $0 == 0x27 }) { return visible }
    var out: [UInt8] = []
    for byte in visible.utf8 {
      switch byte {
      case UInt8(ascii: "&"): out.append(contentsOf: "&amp;".utf8)
      case UInt8(ascii: "<"): out.append(contentsOf: "&lt;".utf8)
      case UInt8(ascii: ">"): out.append(contentsOf: "&gt;".utf8)
      case UInt8(ascii: "\""): out.append(contentsOf: "&quot;".utf8)
      case UInt8(ascii: "'"): out.append(contentsOf: "&#39;".utf8)
      default: out.append(byte)
      }
    }
    return String(decoding: out, as: UTF8.self)
  }
}

/// The hash of a style or script as a content security policy names it.
enum PolicyHash {
  static func of(_ source: String) -> String {
    let digits = Array(SHA256Digest.hex(Array(source.utf8)).utf8)
    func value(_ digit: UInt8) -> UInt8 { digit < UInt8(ascii: "a") ? digit - UInt8(ascii: "0") : digit - UInt8(ascii: "a") + 10 }
    let bytes = stride(from: 0, to: digits.count, by: 2).map { value(digits[$0]) << 4 | value(digits[$0 + 1]) }
    return "sha256-" + base64(bytes)
  }

  static func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var out: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let part = bytes[start..<min(start + 3, bytes.count)]
      var word = 0
      for index in 0..<3 { word = word << 8 | (index < part.count ? Int(part[start + index]) : 0) }
      for index in 0..<4 { out.append(index <= part.count ? alphabet[word >> (18 - 6 * index) & 63] : UInt8(ascii: "=")) }
    }
    return String(decoding: out, as: UTF8.self)
  }
}
