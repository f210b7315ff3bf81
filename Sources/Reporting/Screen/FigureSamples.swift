import Contract
import Simulation

/// What the values of a figure amount to: all that a reader of text gets of a chart. Values that are no numbers are left out.
struct FigureSamples: Sendable {
  let samples: [Figure.Sample]
  let unit: String
  private let sorted: [Double]

  init(_ figure: Figure) {
    samples = figure.samples.filter(\.value.isFinite)
    unit = figure.unit
    sorted = samples.map(\.value).sorted()
  }

  var count: Int { samples.count }
  var isEmpty: Bool { samples.isEmpty }
  var least: Double { sorted.first ?? 0 }
  var greatest: Double { sorted.last ?? 0 }
  var median: Double { rank(50) }

  /// The value at this percentage by nearest rank.
  func rank(_ percent: Int) -> Double {
    if sorted.isEmpty { return 0 }
    return sorted[min(max((sorted.count * percent + 99) / 100, 1), sorted.count) - 1]
  }

  /// `235 values: median 140 ms, 95 % at most 347 ms, greatest 447 ms at 0:07.612 (entry 120)`; nil without values.
  var words: String? {
    guard let worst = samples.first(where: { $0.value == greatest }) else { return nil }
    let place = "at \(worst.at) (entry \(Prose.number(worst.entry)))"
    if count == 1 { return "one value, \(place)" }
    if least == greatest { return "\(Prose.count(count, "value")), each \(Prose.measure(greatest, unit))" }
    let spread =
      count < 5
      ? "least \(Prose.measure(least, unit))" : "median \(Prose.measure(median, unit)), 95 % at most \(Prose.measure(rank(95), unit))"
    return "\(Prose.count(count, "value")): \(spread), greatest \(Prose.measure(greatest, unit)) \(place)"
  }

  /// At most `limit` samples in order of time: one stretch of them after the other gives its least and its greatest.
  func thinned(to limit: Int) -> [Figure.Sample] {
    if samples.count <= limit { return samples }
    let stretches = max(limit / 2, 1)
    var kept: [Figure.Sample] = []
    for stretch in 0..<stretches {
      let range = stretch * samples.count / stretches..<(stretch + 1) * samples.count / stretches
      guard let low = range.min(by: { samples[$0].value < samples[$1].value }),
        let high = range.max(by: { samples[$0].value < samples[$1].value })
      else { continue }
      for index in Set([low, high]).sorted() { kept.append(samples[index]) }
    }
    return kept
  }
}

/// The bars of a histogram: round edges, few of them, each value in the first bar whose upper edge is not below it.
struct Histogram: Sendable {
  /// Upper edges, ascending.
  private(set) var edges: [Double] = []
  private(set) var counts: [Int] = []
  /// Position of the edge that is the limit, nil when it lies outside.
  private(set) var limit: Int?

  static let barLimit = 9

  init(_ figure: Figure) {
    let samples = FigureSamples(figure)
    if samples.isEmpty { return }
    let (low, high) = (samples.least, samples.greatest)
    if low >= 0, high > 0, samples.median * 6 < high {
      // A long tail: steps of 1, 2, 5, 10, …
      var edge = Histogram.round(high)
      edges = [edge]
      while edges.count < Histogram.barLimit - 1, edge > low, edge > samples.rank(5) {
        edge = Histogram.below(edge)
        edges.append(edge)
      }
      edges.reverse()
    } else {
      let step = Histogram.round(max((high - low) / Double(Histogram.barLimit - 2), high.magnitude / 1e6))
      let first = (low / step).rounded(.down)
      var place = 1.0
      while edges.count < Histogram.barLimit, edges.last.map({ $0 < high }) ?? true {
        edges.append((first + place) * step)
        place += 1
      }
      if low == high { edges = [high] }
    }
    if let last = edges.last, last < high { edges.append(high) }
    if let bound = figure.bound, bound.isFinite, let last = edges.last, bound < last, bound >= min(low, edges[0]) {
      if !edges.contains(bound) { edges.insert(bound, at: edges.firstIndex { $0 > bound } ?? edges.count) }
      limit = edges.firstIndex(of: bound)
    } else if let bound = figure.bound, bound == edges.last {
      limit = edges.count - 1
    }
    counts = Array(repeating: 0, count: edges.count)
    for sample in samples.samples { counts[edges.firstIndex { sample.value <= $0 } ?? edges.count - 1] += 1 }
  }

  /// The next of 1, 2, 5 times a power of ten that is not below.
  private static func round(_ value: Double) -> Double {
    guard value > 0, value.isFinite else { return 1 }
    for step in steps where step >= value { return step }
    return value
  }

  private static func below(_ edge: Double) -> Double { steps.last { $0 < edge } ?? edge / 2 }

  /// 0.000001, 0.000002, 0.000005, … as they are written, so that no edge is a sum of rounding errors.
  private static let steps: [Double] = (-6...12).flatMap { exponent in ["1", "2", "5"].compactMap { Double("\($0)e\(exponent)") } }
}

extension Prose {
  /// A value with its unit: seconds with three places, others with as many as they need.
  static func measure(_ value: Double, _ unit: String) -> String {
    let unit = Visible.text(unit)
    var number = Prose.number(value)
    if unit == "s" {
      if value.isFinite, !number.contains(".") { number += ".000" }
    } else if number.contains("."), !number.contains("e") {
      while number.last == "0" { number.removeLast() }
      if number.last == "." { number.removeLast() }
    }
    return unit.isEmpty ? number : "\(number) \(unit)"
  }
}
