import Simulation

/// Lengths of time as people write them: `800ms`, `2s`, `4.97s`, `1.5m`, `250us`, `1ns`.
package enum TimeText {
  private static let units: [(name: String, nanoseconds: Int64)] = [
    ("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000),
  ]
  /// Longest length that is read, 5 × 10⁵ s: with the most rules that a plan may have, no sum of them can overflow.
  private static let longest: Int64 = 500_000_000_000_000

  /// Reads a length; nil when it is none, is longer than 5 × 10⁵ s or is finer than a nanosecond. A leading `-` makes it negative.
  package static func interval(_ text: String) -> Interval? {
    var bytes = Array(text.utf8)[...]
    let negative = bytes.first == UInt8(ascii: "-")
    if negative { bytes.removeFirst() }
    let whole = bytes.prefix(while: isDigit)
    bytes = bytes.dropFirst(whole.count)
    var fraction: ArraySlice<UInt8> = []
    if bytes.first == UInt8(ascii: ".") {
      bytes.removeFirst()
      fraction = bytes.prefix(while: isDigit)
      if fraction.isEmpty { return nil }
      bytes = bytes.dropFirst(fraction.count)
    }
    guard !whole.isEmpty, whole.count <= 16, fraction.count <= 9 else { return nil }
    let unitName = String(decoding: bytes, as: UTF8.self)
    guard let unit = units.first(where: { $0.name == unitName })?.nanoseconds else { return nil }
    let (wholePart, tooLong) = number(whole).multipliedReportingOverflow(by: unit)
    var scale: Int64 = 1
    for _ in fraction { scale *= 10 }
    let (scaled, tooFine) = number(fraction).multipliedReportingOverflow(by: unit)
    if tooLong || tooFine || scaled % scale != 0 { return nil }
    let (sum, overflow) = wholePart.addingReportingOverflow(scaled / scale)
    if overflow || sum > longest { return nil }
    return Interval(nanoseconds: negative ? -sum : sum)
  }

  /// The shortest exact spelling: in seconds when they are whole, else in milliseconds, microseconds or nanoseconds.
  package static func text(_ interval: Interval) -> String {
    let n = interval.nanoseconds
    if n % 1_000_000_000 == 0 { return "\(n / 1_000_000_000)s" }
    if n % 1_000_000 == 0 { return "\(n / 1_000_000)ms" }
    if n % 1_000 == 0 { return "\(n / 1_000)us" }
    return "\(n)ns"
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
  private static func number(_ digits: ArraySlice<UInt8>) -> Int64 { digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) } }
}
