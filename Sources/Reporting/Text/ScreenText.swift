import Contract
import Oracles
import Simulation

/// What the screen did, in words: figures, held updates, and the course of it.
extension TextReport {
  /// Moments of the screen that stand one by one.
  private static let eventLimit = 60
  /// Holds that are told one by one.
  private static let holdLimit = 60

  static func rendering(_ report: Report, _ page: inout Page) {
    if report.figures.isEmpty { return }
    let over = report.figures.count { $0.held == false }
    page.section(
      "RENDERING",
      "\(Prose.count(report.figures.count, "figure")), \(over) over \(over == 1 ? "its limit" : "their limits"); each value is exact")
    for figure in report.figures {
      let mark = figure.held == false ? "x" : figure.held == true ? "." : " "
      let limit = figure.limit.map { "limit \(Visible.text($0))" } ?? "no limit"
      page.paragraph("\(figure.title): \(Prose.measure(figure.value, figure.unit)) (\(limit))", head: "\(mark)  ", hanging: 3)
      page.paragraph(figure.definition, head: "     ")
      if let words = FigureSamples(figure).words { page.paragraph(words, head: "     ") }
      if figure.chart == .histogram {
        let bars = Histogram(figure)
        let told = zip(bars.edges, bars.counts).map { "≤ \(Prose.measure($0, figure.unit)) \(Prose.number($1))" }
        if !told.isEmpty { page.paragraph(told.joined(separator: " | "), head: "     ") }
      }
    }
  }

  static func held(_ report: Report, _ page: inout Page) {
    if report.screen.isEmpty { return }
    let holds = report.screen.holds
    page.section("HELD UPDATES", Prose.count(holds.count, "hold"))
    page.paragraph(HeldUpdate.summary(holds))
    if holds.isEmpty { return }
    page.line()
    page.paragraph(HeldUpdate.definition)
    var shown = holds
    if holds.count > holdLimit {
      let ranked = holds.indices.sorted {
        (holds[$0].isBroken ? 1 : 0, holds[$0].duration, $1) > (holds[$1].isBroken ? 1 : 0, holds[$1].duration, $0)
      }
      shown = ranked.prefix(max(holdLimit, holds.count(where: \.isBroken))).sorted().map { holds[$0] }
    }
    for hold in shown {
      page.line()
      let mark = hold.isBroken ? "x" : "."
      page.line("\(mark) \(hold.id)  \(hold.from) – \(hold.until), \(hold.duration)   \(Columns.cut(Visible.text(hold.host), to: 48))")
      page.fact("why", Prose.list(hold.causes) + (hold.releaseWords.map { "; \($0)" } ?? ""))
      let first = hold.versions.first?.entry ?? 0
      let last = hold.versions.last?.entry ?? 0
      page.fact(
        "waited",
        "\(hold.heldWords): \(Prose.count(hold.versions.count, "version")), "
          + (first == last ? "entry \(Prose.number(first))" : "entries \(Prose.number(first)) to \(Prose.number(last))"))
      let never = hold.replaced.count
      page.fact(
        "never",
        never == 0
          ? "none: what waited was applied"
          : "\(hold.replacedWords): "
            + (hold.applied == nil ? "nothing was applied" : never == 1 ? "replaced by a newer one" : "each replaced by a newer one"))
      switch hold.outcome {
      case .applied(let applied):
        page.fact(
          "applied",
          "v\(applied.number) at \(applied.at), \(hold.delayWords), entry \(Prose.number(applied.entry))"
            + (applied.waited ? "" : "; newer than what waited, and applied at once")
            + (applied.change.isEmpty ? "" : " (\(applied.change))"))
      case .dropped(let at, let entry, let why): page.fact("applied", "never: \(why) at \(at), entry \(Prose.number(entry))")
      case .open: page.fact("applied", "never: the run ended")
      }
      if let release = hold.release { page.fact("list free", "\(release.at), entry \(Prose.number(release.entry))") }
      if !hold.claims.isEmpty { page.fact("breaks", hold.claims.joined(separator: ", ")) }
    }
    if shown.count < holds.count {
      let ids = Set(shown.map(\.id))
      let rest = holds.filter { !ids.contains($0.id) }
      page.line()
      page.paragraph(
        "\(Prose.count(rest.count, "shorter hold")) not told, none longer than \(rest.map(\.duration).max() ?? .zero), with \(Prose.count(rest.reduce(0) { $0 + $1.versions.count }, "version")) of which \(Prose.number(rest.reduce(0) { $0 + $1.replaced.count })) were never applied; all stand in report.json under holds.",
        head: "! ")
    }
  }

  static func screen(_ report: Report, _ page: inout Page) {
    let story = report.screen
    if story.isEmpty && story.spans.isEmpty { return }
    let renders = story.marks(.live, .render).count
    let (plain, held) = (story.marks(.apply).count, story.marks(.heldApply).count)
    page.section(
      "SCREEN",
      "\(Prose.count(renders, "render")), \(Prose.count(plain + held, "update")) applied, \(Prose.number(held)) of them after a hold")
    var lines: [(at: Instant, entry: Int, kind: String, time: String, text: String)] = []
    for span in story.spans {
      let (kind, words) = TextReport.words(span)
      let fault = span.rule.map { ", fault \($0)" } ?? ""
      lines.append((span.from, span.opened, kind, "\(span.from) – \(span.until)", "\(words)\(fault)"))
    }
    for mark in story.marks(.jump, .epoch, .lostStop) {
      let (kind, words) =
        switch mark.kind {
        case .epoch: ("new beginning", "\(host(mark.host)), \(mark.detail)")
        case .lostStop: ("lost stop", "the list came to rest and did not say so\(mark.detail.isEmpty ? "" : ", \(mark.detail)")")
        default: ("jump", host(mark.host))
        }
      lines.append((mark.at, mark.entry, kind, "\(mark.at)", words))
    }
    lines.sort { ($0.at, $0.entry) < ($1.at, $1.entry) }
    // Kinds that are too many are counted, the most frequent first.
    var counts = OrderedMap<String, Int>()
    for line in lines { counts[line.kind, default: 0] += 1 }
    var folded: [String] = []
    var left = lines.count
    for (kind, count) in counts.pairs.enumerated().sorted(by: { ($1.element.value, $0.offset) < ($0.element.value, $1.offset) }).map(
      \.element)
    where left > eventLimit {
      folded.append(kind)
      left -= count
    }
    let width = lines.map(\.time.count).max() ?? 0
    func head(_ time: String, _ kind: String) -> String { "\(Columns.pad(time, to: width))  \(Columns.pad(kind, to: 13))  " }
    for line in lines where !folded.contains(line.kind) { page.paragraph(line.text, head: head(line.time, line.kind)) }
    for kind in folded {
      let own = lines.filter { $0.kind == kind }
      page.paragraph("\(Prose.number(own.count)) times", head: head("\(own[0].at) – \(own[own.count - 1].at)", kind))
    }
  }

  private static func host(_ name: String) -> String { Columns.cut(Visible.text(name), to: 48) }

  private static func words(_ span: ScreenStory.Span) -> (String, String) {
    let name = host(span.host)
    let detail = span.detail.isEmpty ? "" : ", \(span.detail)"
    let length = "\(span.until - span.from)"
    return switch span.kind {
    case .chat: ("chat", name)
    case .cover: ("cover", "\(name), \(length)\(span.detail.isEmpty ? ", never lifted" : detail)")
    case .drag: ("finger", "\(name), \(length)")
    case .slowing: ("slowing down", "\(name), \(length)")
    case .follow: ("follows", "\(name), \(length)")
    case .animate: ("scrolls", "\(name), \(length)")
    case .older: ("older page", "\(name), \(length)\(span.detail.isEmpty ? ", no answer" : detail)")
    case .restore: ("put in place", "\(name), \(length)\(detail)")
    case .surface: (Columns.cut(span.detail, to: 13), length)
    case .absent: ("no app", "not running for \(length)")
    case .background: ("background", length)
    case .suspended: ("suspended", length)
    }
  }
}
