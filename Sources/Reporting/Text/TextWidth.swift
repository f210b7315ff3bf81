/// How many terminal columns text takes: the rule by which tables of the text report are aligned.
///
/// A character (grapheme cluster) counts two columns when one of its scalars is East Asian Wide or Fullwidth (UAX 11, ranges below,
/// which round blocks of unassigned code points up) or when it asks for emoji form (U+FE0F); none when it consists of marks and format
/// characters only; else one. Ambiguous ones count one, as terminals draw them outside of East Asian locales.
enum TextWidth {
  static func of(_ text: some StringProtocol) -> Int {
    var total = 0
    for character in text { total += of(character) }
    return total
  }

  static func of(_ character: Character) -> Int {
    if let ascii = character.asciiValue { return ascii < 0x20 || ascii == 0x7f ? 0 : 1 }
    var width = 0
    for scalar in character.unicodeScalars {
      if scalar.value == 0xfe0f || isWide(scalar.value) { return 2 }
      switch scalar.properties.generalCategory {
      case .nonspacingMark, .enclosingMark, .format, .control: break
      default: width = 1
      }
    }
    return width
  }

  private static func isWide(_ value: UInt32) -> Bool {
    if value < 0x1100 { return false }
    var low = 0
    var high = wide.count
    while low < high {
      let middle = (low + high) / 2
      if wide[middle].upperBound < value { low = middle + 1 } else { high = middle }
    }
    return low < wide.count && wide[low].contains(value)
  }

  /// Ascending, from EastAsianWidth of Unicode 15.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115f, 0x231a...0x231b, 0x2329...0x232a, 0x23e9...0x23ec, 0x23f0...0x23f0, 0x23f3...0x23f3, 0x25fd...0x25fe,
    0x2614...0x2615, 0x2648...0x2653, 0x267f...0x267f, 0x2693...0x2693, 0x26a1...0x26a1, 0x26aa...0x26ab, 0x26bd...0x26be,
    0x26c4...0x26c5, 0x26ce...0x26ce, 0x26d4...0x26d4, 0x26ea...0x26ea, 0x26f2...0x26f3, 0x26f5...0x26f5, 0x26fa...0x26fa,
    0x26fd...0x26fd, 0x2705...0x2705, 0x270a...0x270b, 0x2728...0x2728, 0x274c...0x274c, 0x274e...0x274e, 0x2753...0x2755,
    0x2757...0x2757, 0x2795...0x2797, 0x27b0...0x27b0, 0x27bf...0x27bf, 0x2b1b...0x2b1c, 0x2b50...0x2b50, 0x2b55...0x2b55,
    0x2e80...0x303e, 0x3041...0x4dbf, 0x4e00...0xa4cf, 0xa960...0xa97f, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe10...0xfe19,
    0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x16fe0...0x18cff, 0x1aff0...0x1b2ff, 0x1f004...0x1f004, 0x1f0cf...0x1f0cf,
    0x1f18e...0x1f18e, 0x1f191...0x1f19a, 0x1f1e6...0x1f64f, 0x1f680...0x1f6ff, 0x1f7e0...0x1f7f0, 0x1f90c...0x1f9ff,
    0x1fa70...0x1faff, 0x20000...0x3fffd,
  ]
}

/// Makes text of a run safe to print: it is data, whatever it holds.
enum Visible {
  /// Shows what would act instead of being seen: control characters, line and paragraph separators, and the marks and overrides of
  /// writing direction, as `\n`, `\t`, `\r` or `\u{1b}`.
  static func text(_ text: some StringProtocol) -> String {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return String(text) }
    var out = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if acts(scalar) { out.append(contentsOf: escape(scalar).unicodeScalars) } else { out.append(scalar) }
    }
    return String(out)
  }

  static func acts(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x00...0x1f, 0x7f...0x9f, 0x61c, 0x200b, 0x200e...0x200f, 0x2028...0x202e, 0x2060...0x206f, 0xfeff, 0xfff9...0xfffb,
      0xfffe...0xffff:
      true
    default: scalar.value & 0xfffe == 0xfffe || (0xe0000...0xe007f).contains(scalar.value)
    }
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": "\\n"
    case "\t": "\\t"
    case "\r": "\\r"
    default: "\\u{\(String(scalar.value, radix: 16))}"
    }
  }
}

/// Cutting, padding and breaking by columns. Texts are visible already.
enum Columns {
  /// At most `width` columns, with `…` for what was cut.
  static func cut(_ text: String, to width: Int) -> String {
    if TextWidth.of(text) <= width { return text }
    var kept = ""
    var used = 0
    for character in text {
      let wide = TextWidth.of(character)
      if used + wide > width - 1 { break }
      kept.append(character)
      used += wide
    }
    return kept + "…"
  }

  /// Filled up with spaces on the right (or left) to `width` columns.
  static func pad(_ text: String, to width: Int, right: Bool = false) -> String {
    let fill = String(repeating: " ", count: max(0, width - TextWidth.of(text)))
    return right ? fill + text : text + fill
  }

  /// Lines of at most `width` columns, broken at spaces, words longer than a line where they must. Never empty.
  static func wrap(_ text: String, to width: Int) -> [String] {
    let width = max(width, 2)
    var lines: [String] = []
    var line = ""
    var used = 0
    for word in text.split(separator: " ", omittingEmptySubsequences: true) {
      let wide = TextWidth.of(word)
      if used > 0, used + 1 + wide <= width {
        line += " " + word
        used += 1 + wide
        continue
      }
      if used > 0 { lines.append(line) }
      (line, used) = ("", 0)
      if wide <= width {
        (line, used) = (String(word), wide)
        continue
      }
      for character in word {
        let one = TextWidth.of(character)
        if used + one > width {
          lines.append(line)
          (line, used) = ("", 0)
        }
        line.append(character)
        used += one
      }
    }
    if used > 0 || lines.isEmpty { lines.append(line) }
    return lines
  }
}
