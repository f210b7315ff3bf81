import Simulation
import Testing

@Suite struct InstantTests {
  @Test(arguments: [
    (0, "0:00.000"), (30_100_000_000, "0:30.100"), (999_999, "0:00.000"), (1_000_000, "0:00.001"), (59_999_999_999, "0:59.999"),
    (60_000_000_000, "1:00.000"), (3_600_000_000_000, "60:00.000"), (-1_500_000_000, "-0:01.500"), (-999_999, "-0:00.000"),
    (Int64.max, "153722867:16.854"), (Int64.min, "-153722867:16.854"),
  ])
  func `An instant prints as minutes, seconds and milliseconds`(nanoseconds: Int64, text: String) {
    #expect(Instant(nanoseconds: nanoseconds).description == text)
  }

  @Test(arguments: [(350_000_000, "0.350 s"), (-2_000_000_000, "-2.000 s"), (0, "0.000 s"), (61_234_999_999, "61.234 s")])
  func `An interval prints in seconds`(nanoseconds: Int64, text: String) {
    #expect(Interval(nanoseconds: nanoseconds).description == text)
  }

  @Test func `Sums and differences of ordinary instants are exact`() {
    let at = Instant(nanoseconds: 5) + .milliseconds(2)
    #expect(at == Instant(nanoseconds: 2_000_005))
    #expect(at - .seconds(1) == Instant(nanoseconds: -997_999_995))
    #expect(at - Instant(nanoseconds: 5) == .milliseconds(2))
    #expect(Interval.seconds(3) - .seconds(5) == .seconds(-2))
    #expect(Interval.milliseconds(7) * -3 == .milliseconds(-21))
  }

  @Test func `Arithmetic stops at the ends of the range`() {
    let latest = Instant.never
    let earliest = Instant(nanoseconds: .min)
    let longest = Interval(nanoseconds: .max)
    let shortest = Interval(nanoseconds: .min)
    #expect(latest + .nanoseconds(1) == latest)
    #expect(latest + shortest == Instant(nanoseconds: -1))
    #expect(earliest - .nanoseconds(1) == earliest)
    #expect(earliest + .nanoseconds(-1) == earliest)
    #expect(Instant.zero - shortest == latest)
    #expect(latest - earliest == longest)
    #expect(earliest - latest == shortest)
    #expect(longest + .nanoseconds(1) == longest)
    #expect(shortest - longest == shortest)
    #expect(Interval.zero - shortest == longest)
    #expect(longest * 2 == longest)
    #expect(longest * -2 == shortest)
    #expect(shortest * -1 == longest)
    #expect(Interval.seconds(.max) == longest)
    #expect(Interval.milliseconds(.min) == shortest)
  }

  @Test func `Just inside the range nothing is cut`() {
    #expect(Instant(nanoseconds: .max - 1) + .nanoseconds(1) == .never)
    #expect(Interval.seconds(9_223_372_036) == Interval(nanoseconds: 9_223_372_036_000_000_000))
    #expect(Interval.seconds(9_223_372_037) == Interval(nanoseconds: .max))
  }

  @Test(arguments: [
    (10, 0.25, 3), (-10, 0.25, -3), (10, 0.0, 0), (Int64.max, 2.0, Int64.max), (Int64.max, -2.0, Int64.min), (1, .infinity, Int64.max),
    (0, .infinity, 0), (7, .nan, 0), (Int64.min, 1.0, Int64.min),
  ])
  func `Scaling rounds to the nearest nanosecond and stays in the range`(nanoseconds: Int64, factor: Double, expected: Int64) {
    #expect(Interval(nanoseconds: nanoseconds).scaled(by: factor) == Interval(nanoseconds: expected))
  }

  @Test func `Instants and intervals are ordered by their nanoseconds`() {
    #expect(Instant(nanoseconds: -1) < .zero && .zero < Instant.never)
    #expect(Interval(nanoseconds: .min) < .zero && .zero < Interval.nanoseconds(1))
  }
}
