import Contract
import Oracles
import Simulation

/// Charts of a figure's values as static SVG. Places across are percentages, so that a chart takes the width it gets and its text keeps its
/// size; every chart says in words what it shows, and what it draws is bounded however long the run was.
enum Charts {
  /// Columns of a series; values of one column share a bar.
  private static let columns = 240
  /// Spans that get a bar each.
  private static let barLimit = 8

  static func markup(_ figure: Figure, axis: Axis) -> Markup {
    let samples = FigureSamples(figure)
    // One value says itself.
    if samples.isEmpty || samples.count == 1 && figure.chart == .series { return "" }
    if samples.least == samples.greatest, figure.chart == .histogram { return "" }
    var figure = figure
    if let bound = figure.bound, !bound.isFinite { figure.bound = nil }
    switch figure.chart {
    case .histogram?: return histogram(figure, samples)
    case .series?: return series(figure, samples, axis: axis)
    case .spans?: return spans(figure, samples)
    case nil: return ""
    }
  }

  /// From 0 to 1; what is no number counts as 0.
  private static func share(_ part: Double) -> Double { part.isFinite ? min(max(part, 0), 1) : 0 }

  /// A number of percent with two places.
  static func percent(_ part: Double) -> String {
    let hundredths = Int((share(part) * 10_000).rounded())
    let rest = String(hundredths % 100)
    return "\(hundredths / 100).\(rest.utf8.count < 2 ? "0" : "")\(rest)%"
  }

  /// Whether a value is on the wrong side of the limit: the side on which the figure's own value is, when it does not hold.
  private static func isOver(_ value: Double, _ figure: Figure) -> Bool {
    guard figure.held == false, let bound = figure.bound else { return false }
    return figure.value > bound ? value > bound : value < bound
  }

  private static func story(_ figure: Figure, _ samples: FigureSamples, _ kind: String) -> String {
    "\(kind) of \(figure.title): \(samples.words ?? "no values")" + (figure.bound.map { ". Limit \(Prose.measure($0, figure.unit))" } ?? "")
      + "."
  }

  private static func histogram(_ figure: Figure, _ samples: FigureSamples) -> Markup {
    let bars = Histogram(figure)
    let most = max(bars.counts.max() ?? 1, 1)
    let width = 1 / Double(max(bars.edges.count, 1))
    var drawn: Markup = ""
    for (index, edge) in bars.edges.enumerated() {
      let height = bars.counts[index] == 0 ? 0 : max(56 * bars.counts[index] / most, 1)
      let style = isOver(edge, figure) && (bars.limit.map { index > $0 } ?? false) ? "barb" : "barv"
      if height > 0 {
        drawn +=
          "<rect class=\"\(style)\" x=\"\(percent(Double(index) * width))\" y=\"\(76 - height)\" width=\"\(percent(width - 0.006))\" height=\"\(height)\"/>"
        drawn +=
          "<text class=\"dimt\" x=\"\(percent((Double(index) + 0.5) * width))\" y=\"\(72 - height)\" text-anchor=\"middle\">\(Prose.number(bars.counts[index]))</text>"
      }
      drawn +=
        "<text class=\"dimt\" x=\"\(percent(Double(index + 1) * width - 0.004))\" y=\"89\" text-anchor=\"end\">\(index == 0 ? "≤ " : "")\(Prose.measure(edge, ""))</text>"
    }
    if let limit = bars.limit {
      let x = percent(Double(limit + 1) * width - 0.003)
      drawn += "<line class=\"lim\" x1=\"\(x)\" x2=\"\(x)\" y1=\"4\" y2=\"76\"/>"
      drawn += "<text class=\"dimt\" x=\"\(x)\" y=\"10\" dx=\"4\">limit</text>"
    }
    let told = zip(bars.edges, bars.counts).map { "up to \(Prose.measure($0, figure.unit)): \(Prose.number($1))" }.joined(separator: ", ")
    let inUnit = figure.unit.isEmpty ? "" : ", in \(figure.unit)"
    let unit: Markup = "<p class=\"note u\">How many values each column has; below it their upper end\(inUnit).</p>"
    return """
      <svg class="chart" width="100%" height="94" role="img" aria-label="\(story(figure, samples, "Histogram")) \(Prose.capitalised(told)).">\(drawn)\
      <line class="ax" x1="0" x2="100%" y1="76.5" y2="76.5"/></svg>\(unit)
      """
  }

  private static func series(_ figure: Figure, _ samples: FigureSamples, axis: Axis) -> Markup {
    let top = max(samples.greatest, figure.bound ?? samples.greatest, 0)
    let base = min(samples.least, 0)
    let scale = top > base ? top - base : 1
    func y(_ value: Double) -> Int { 66 - Int((share((value - base) / scale) * 56).rounded()) }
    // The least and the greatest of each column.
    var least: [Double?] = Array(repeating: nil, count: columns)
    var greatest = least
    for sample in samples.samples {
      let column = min(Int(axis.fraction(sample.at, in: Int64(columns))), columns - 1)
      least[column] = min(least[column] ?? sample.value, sample.value)
      greatest[column] = max(greatest[column] ?? sample.value, sample.value)
    }
    var (plain, over, light) = ("", "", "")
    let step = 10_000 / columns
    // Few values get bars that can be seen.
    let width = samples.count <= 40 ? 90 : step - 4
    var used = 0
    for column in 0..<columns {
      guard let low = least[column], let high = greatest[column] else { continue }
      used += 1
      let x = column * step
      let bar = "M\(x) \(y(0))V\(min(y(high), y(0) - 1))H\(x + width)V\(y(0))z"
      if isOver(high, figure) || isOver(low, figure) { over += bar } else { plain += bar }
      if low < high, y(low) > y(high) { light += "M\(x) \(y(low))H\(x + width)" }
    }
    var labels: Markup = ""
    let ticks = axis.ticks
    for (index, tick) in ticks.enumerated() where ticks.count <= 6 || index % 2 == 0 || index == ticks.count - 1 && axis.knee != nil {
      let x = axis.fraction(tick, in: 100)
      labels +=
        "<text class=\"dimt\" x=\"\(axis.percent(tick))\" y=\"80\" text-anchor=\"\(x < 3 ? "start" : x > 96 ? "end" : "middle")\">\(Axis.label(tick))</text>"
    }
    if let knee = axis.knee {
      labels += "<line class=\"ax\" x1=\"\(axis.percent(knee))\" x2=\"\(axis.percent(knee))\" y1=\"10\" y2=\"66\"/>"
    }
    if let bound = figure.bound, bound.isFinite {
      labels += "<line class=\"lim\" x1=\"0\" x2=\"100%\" y1=\"\(y(bound))\" y2=\"\(y(bound))\"/>"
      labels +=
        "<text class=\"dimt\" x=\"100%\" y=\"\(y(bound) - 4)\" text-anchor=\"end\">limit \(Prose.measure(bound, figure.unit))</text>"
    }
    let note: Markup =
      samples.count > used
      ? "<p class=\"note u\">\(Prose.count(samples.count, "value")) in \(Prose.count(used, "column")), each up to the greatest of its values\(light.isEmpty ? "" : "; a line in it marks the least").</p>"
      : ""
    func path(_ style: String, _ steps: String) -> Markup { steps.isEmpty ? "" : "<path class=\"\(style)\" d=\"\(steps)\"/>" }
    return """
      <svg class="chart" width="100%" height="84" role="img" aria-label="\(story(figure, samples, "Course"))">\
      <svg width="100%" height="84" viewBox="0 0 10000 84" preserveAspectRatio="none">\(path("barv", plain))\(path("barb", over))\(path("low", light))</svg>\
      <line class="ax" x1="0" x2="100%" y1="66.5" y2="66.5"/>\(labels)</svg>\(note)
      """
  }

  private static func spans(_ figure: Figure, _ samples: FigureSamples) -> Markup {
    let top = max(samples.greatest, figure.bound ?? 0)
    let scale = top > 0 ? top : 1
    var shown = samples.samples
    var note: Markup = ""
    if shown.count > barLimit {
      // The greatest ones, in order of time; of the others their number and what none of them exceeds.
      let ranked = shown.indices.sorted { (shown[$0].value, $1) > (shown[$1].value, $0) }
      let rest = ranked.dropFirst(barLimit).map { shown[$0].value }
      note =
        "<p class=\"note u\">The \(barLimit) greatest of \(Prose.number(shown.count)); each of the other \(Prose.number(rest.count)) at most \(Prose.measure(rest.max() ?? 0, figure.unit)).</p>"
      shown = ranked.prefix(barLimit).sorted().map { samples.samples[$0] }
    }
    let rows: [Markup] = shown.map { sample in
      let over = isOver(sample.value, figure)
      let limit: Markup =
        figure.bound.map {
          "<line class=\"lim\" x1=\"\(percent($0 / scale))\" x2=\"\(percent($0 / scale))\" y1=\"0\" y2=\"20\"/>"
        } ?? ""
      return """
        <div><span>\(sample.at.description)</span><svg width="100%" height="20" aria-hidden="true"><rect class="\(over ? "barb" : "barv")" x="0" y="4" \
        width="\(percent(max(sample.value / scale, 0.004)))" height="12"/>\(limit)</svg><span\(over ? Markup(" class=\"bad v\"") : "")>\(Prose.measure(sample.value, figure.unit))</span></div>
        """
    }
    let limit: Markup =
      figure.bound.map { "<p class=\"note u\">Dashes: the limit, \(Prose.measure($0, figure.unit)). Instants: when each ended.</p>" }
      ?? "<p class=\"note u\">Instants: when each ended.</p>"
    return "<div class=\"bars\" role=\"group\" aria-label=\"\(story(figure, samples, "Spans"))\">\(rows)</div>\(limit)\(note)"
  }
}
