/// A point on the one clock of a run or a recording: whole nanoseconds since its start.
///
/// Instants come out of recordings, which nobody vouches for: arithmetic stops at the ends of the range, it never traps.
package struct Instant: Hashable, Comparable, Sendable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The start of the run or recording.
  package static let zero = Instant(nanoseconds: 0)
  /// Later than anything that happens.
  package static let never = Instant(nanoseconds: .max)

  package static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
  package static func + (a: Instant, b: Interval) -> Instant { Instant(nanoseconds: sum(a.nanoseconds, b.nanoseconds)) }
  package static func - (a: Instant, b: Interval) -> Instant { Instant(nanoseconds: difference(a.nanoseconds, b.nanoseconds)) }
  package static func - (a: Instant, b: Instant) -> Interval { Interval(nanoseconds: difference(a.nanoseconds, b.nanoseconds)) }
}

/// A length of time in whole nanoseconds; may be negative. Arithmetic stops at the ends of the range.
///
/// `Swift.Duration` costs 25 times as much in the queue.
package struct Interval: Hashable, Comparable, Sendable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  package static let zero = Interval(nanoseconds: 0)
  package static func nanoseconds(_ n: Int64) -> Interval { Interval(nanoseconds: n) }
  package static func milliseconds(_ n: Int64) -> Interval { Interval(nanoseconds: product(n, 1_000_000)) }
  package static func seconds(_ n: Int64) -> Interval { Interval(nanoseconds: product(n, 1_000_000_000)) }

  package static func < (a: Interval, b: Interval) -> Bool { a.nanoseconds < b.nanoseconds }
  package static func + (a: Interval, b: Interval) -> Interval { Interval(nanoseconds: sum(a.nanoseconds, b.nanoseconds)) }
  package static func - (a: Interval, b: Interval) -> Interval { Interval(nanoseconds: difference(a.nanoseconds, b.nanoseconds)) }
  package static func * (a: Interval, n: Int64) -> Interval { Interval(nanoseconds: product(a.nanoseconds, n)) }

  /// This interval times `factor`, rounded to the nearest nanosecond (halves away from zero); zero when that is no number.
  package func scaled(by factor: Double) -> Interval {
    let product = (Double(nanoseconds) * factor).rounded()
    if product.isNaN { return .zero }
    return Interval(nanoseconds: Int64(exactly: product) ?? (product < 0 ? .min : .max))
  }
}

extension Instant: CustomStringConvertible {
  /// `m:ss.mmm`, for example `0:30.100`; hours are counted in minutes. Fractions below a millisecond are cut.
  package var description: String {
    let ms = nanoseconds / 1_000_000
    let sign = nanoseconds < 0 ? "-" : ""
    let magnitude = ms.magnitude
    return "\(sign)\(magnitude / 60_000):\(padded(magnitude / 1_000 % 60, to: 2)).\(padded(magnitude % 1_000, to: 3))"
  }
}

extension Interval: CustomStringConvertible {
  /// Seconds with three places, for example `0.350 s`. Fractions below a millisecond are cut.
  package var description: String {
    let ms = (nanoseconds / 1_000_000).magnitude
    return "\(nanoseconds < 0 ? "-" : "")\(ms / 1_000).\(padded(ms % 1_000, to: 3)) s"
  }
}

private func sum(_ a: Int64, _ b: Int64) -> Int64 {
  let (value, overflows) = a.addingReportingOverflow(b)
  return overflows ? (b < 0 ? .min : .max) : value
}

private func difference(_ a: Int64, _ b: Int64) -> Int64 {
  let (value, overflows) = a.subtractingReportingOverflow(b)
  return overflows ? (b < 0 ? .max : .min) : value
}

private func product(_ a: Int64, _ b: Int64) -> Int64 {
  let (value, overflows) = a.multipliedReportingOverflow(by: b)
  return overflows ? ((a < 0) == (b < 0) ? .max : .min) : value
}

private func padded(_ value: UInt64, to width: Int) -> String {
  let digits = String(value)
  return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}
