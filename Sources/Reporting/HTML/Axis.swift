import Contract
import Simulation

/// The time axis of a run. Where the quiet phase is long, it is drawn narrower, so that what users and faults did keeps its room: the axis is
/// even up to the knee and even behind it.
struct Axis: Hashable {
  let end: Instant
  /// From here on the axis is narrower; nil when it is even.
  let knee: Instant?

  /// Of 100 parts of the width, those before the knee.
  private static let share: Int64 = 85

  init(end: Instant, quietFrom: Instant = .zero) {
    self.end = end
    let quiet = (end - quietFrom).nanoseconds
    knee = quietFrom > .zero && quietFrom < end && quiet > end.nanoseconds / 10 * 3 ? quietFrom : nil
  }

  /// Position as a percentage with three places, integers only: `28.636%`.
  func percent(_ at: Instant) -> String { Axis.percent(fraction(at, in: 100_000)) }

  /// The way between two instants as a percentage.
  func width(from: Instant, until: Instant) -> String {
    Axis.percent(max(fraction(until, in: 100_000) - fraction(from, in: 100_000), 0))
  }

  private static func percent(_ thousandths: Int64) -> String {
    let rest = String(thousandths % 1_000)
    return "\(thousandths / 1_000)." + String(repeating: "0", count: 3 - rest.utf8.count) + rest + "%"
  }

  /// Position in `steps` steps, 0 at the start, rounded down and clamped.
  func fraction(_ at: Instant, in steps: Int64) -> Int64 {
    guard let knee else { return Axis.part(at.nanoseconds, of: end.nanoseconds, in: steps) }
    let before = steps * Axis.share / 100
    if at <= knee { return Axis.part(at.nanoseconds, of: knee.nanoseconds, in: before) }
    return before + Axis.part((at - knee).nanoseconds, of: (end - knee).nanoseconds, in: steps - before)
  }

  private static func part(_ value: Int64, of whole: Int64, in steps: Int64) -> Int64 {
    guard whole > 0 else { return 0 }
    let (high, low) = min(max(value, 0), whole).multipliedFullWidth(by: steps)
    return whole.dividingFullWidth((high, low)).quotient
  }

  /// Instants for labels: at most nine round ones up to the knee, the start among them; behind the knee the end.
  var ticks: [Instant] {
    let seconds = max((knee ?? end).nanoseconds, 1) / 1_000_000_000
    let steps: [Int64] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400]
    let step = steps.first { seconds / $0 <= 8 } ?? max(86_400, seconds / 8)
    let even = stride(from: 0, through: seconds, by: Int(step)).map { Instant(nanoseconds: Int64($0) * 1_000_000_000) }
    guard knee != nil else { return even }
    // Labels do not run into the knee.
    return even.filter { fraction($0, in: 100) < Axis.share - 4 } + [end]
  }

  /// How many times narrower the axis is behind the knee.
  var ratio: Int {
    guard let knee else { return 1 }
    let (before, behind) = (Double(knee.nanoseconds) / Double(Axis.share), Double((end - knee).nanoseconds) / Double(100 - Axis.share))
    return Int((behind / before).rounded())
  }

  /// `m:ss`.
  static func label(_ at: Instant) -> String { String("\(at)".dropLast(4)) }
}

extension Report {
  var axis: Axis { Axis(end: end, quietFrom: header.quietFrom) }
}
