import Contract
import Oracles
import Simulation

/// What the screen showed, in numbers: each figure with its definition, value, limit and chart, then the updates that were held.
enum RenderingSection {
  static func markup(_ report: Report) -> Markup {
    if report.figures.isEmpty, report.screen.isEmpty { return "" }
    let over = report.figures.count { $0.held == false }
    var lead = ""
    if report.figures.isEmpty {
      lead = "The system gives no figures."
    } else {
      lead =
        "\(Prose.capitalised(Prose.count(report.figures.count, "figure"))); \(over == 0 ? "none is" : over == 1 ? "one is" : "\(over) are") over its limit. Virtual time has no noise, so each value is exact."
    }
    let rows: [Markup] = report.figures.enumerated().map { row($1, $0, report) }
    let held: Markup = report.screen.isEmpty ? "" : HeldSection.markup(report)
    return HTMLReport.section("rendering", "Rendering", "\(lead)", "<div class=\"figs\">\(rows)</div>\(held)")
  }

  private static func row(_ figure: Figure, _ index: Int, _ report: Report) -> Markup {
    let verdict: Markup =
      switch figure.held {
      case true?: "\(Glyphs.icon(.held)) "
      case false?: "\(Glyphs.icon(.broken)) "
      case nil: ""
      }
    var facts: [Markup] = []
    if let limit = figure.limit {
      facts.append(
        figure.held == false
          ? "<span class=\"bad v\">over its limit, \(limit)</span>" : figure.held == true ? "held; limit \(limit)" : "limit \(limit)")
    } else {
      facts.append(
        figure.held == false ? "<span class=\"bad v\">not held</span>" : figure.held == true ? "held; no number is set" : "no limit is set")
    }
    if let words = FigureSamples(figure).words { facts.append("\(words)") }
    return """
      <div class="figr" id="r-\(index + 1)"><div><h3>\(figure.title)</h3><p>\(figure.definition)</p></div>\
      <div class="val">\(verdict)<b>\(Prose.measure(figure.value, figure.unit))</b><small>\(Markup.joined(facts, "<br>"))</small></div>\
      <div>\(Charts.markup(figure, axis: report.axis))</div></div>

      """
  }
}

/// The updates that the list held back: one row a hold, and the story of the worst one drawn.
enum HeldSection {
  /// Rows of the table. Beyond them the broken and the longest holds stand; the others are counted.
  private static let rowLimit = 60
  /// Versions of one hold that are listed one by one.
  private static let versionLimit = 60

  static func markup(_ report: Report) -> Markup {
    let holds = report.screen.holds
    var body: Markup = "<h3 class=\"mt big\" id=\"held\">Held updates</h3><p class=\"lead\">\(HeldUpdate.summary(holds))</p>"
    body += "<p class=\"note\">\(HeldUpdate.definition)</p>"
    if holds.isEmpty { return body }
    var shown = holds
    if holds.count > rowLimit {
      let ranked = holds.indices.sorted {
        (holds[$0].isBroken ? 1 : 0, holds[$0].duration, $1) > (holds[$1].isBroken ? 1 : 0, holds[$1].duration, $0)
      }
      shown = ranked.prefix(max(rowLimit, holds.count(where: \.isBroken))).sorted().map { holds[$0] }
    }
    // The one that a reader should look at first.
    if let worst = holds.max(by: { ($0.isBroken ? 1 : 0, $0.duration, $1.from) < ($1.isBroken ? 1 : 0, $1.duration, $0.from) }) {
      body +=
        "<h4 class=\"mt\">\(worst.id), \(worst.isBroken ? "which breaks a claim" : holds.count == 1 ? "to scale" : "the longest")</h4>\(HoldFigure.markup(worst))"
    }
    let heads = ["Hold", "Life", "Why it waited", "Versions that waited", "Never applied", "Applied", "After the list was free"]
    let headCells: [Markup] = heads.map {
      "<th role=\"columnheader\" scope=\"col\"\($0 == "Life" ? Markup(" class=\"life\"") : "")>\($0)</th>"
    }
    let longest = shown.map(\.duration).max() ?? .zero
    let rows: [Markup] = shown.map { row($0, longest, report) }
    body += """
      <div class="hl"><table role="table"><caption class="sr">One row for each hold, in order of time</caption><thead role="rowgroup"><tr role="row">\(headCells)</tr></thead>\
      <tbody role="rowgroup">\(rows)</tbody></table></div>\(key)
      """
    if shown.count < holds.count {
      let ids = Set(shown.map(\.id))
      let rest = holds.filter { !ids.contains($0.id) }
      body +=
        "<p class=\"note\">\(Prose.count(rest.count, "shorter hold")) \(rest.count == 1 ? "is" : "are") not listed, none longer than \((rest.map(\.duration).max() ?? .zero).description), with \(Prose.count(rest.reduce(0) { $0 + $1.versions.count }, "version")) of which \(Prose.number(rest.reduce(0) { $0 + $1.replaced.count })) were never applied; all stand in <code>report.json</code> under <code>holds</code>.</p>"
    }
    let lists: [Markup] = shown.map(versions)
    body +=
      "<details><summary>Every version that waited, with its trace entry</summary>\(lists)</details>"
    return body
  }

  private static func row(_ hold: HeldUpdate, _ longest: Interval, _ report: Report) -> Markup {
    func cell(_ label: String, _ content: Markup, _ more: Markup = "") -> Markup {
      "<td role=\"cell\" data-l=\"\(label)\"\(more)>\(content)</td>"
    }
    var why: Markup = Markup.joined(hold.causes.map { "<span class=\"t2\">\(Prose.capitalised($0))</span>" }, "")
    if let release = hold.releaseWords { why += "<span class=\"t2\">\(Prose.capitalised(release))</span>" }
    let entries =
      hold.versions.count == 1
      ? "entry \(Prose.number(hold.versions[0].entry))"
      : "entries \(Prose.number(hold.versions[0].entry)) to \(Prose.number(hold.versions[hold.versions.count - 1].entry))"
    var cells: Markup = ""
    cells += cell(
      "Hold",
      "<b>\(hold.id)</b><span class=\"t\">\(hold.from.description)</span><span class=\"t\">for \(hold.duration.description)</span><small>\(Markup.bdi(Columns.cut(Visible.text(hold.host), to: 40)))</small>"
    )
    cells += cell("Life", life(hold, longest), " class=\"life\"")
    cells += cell("Why it waited", why)
    cells += cell(
      "Versions that waited",
      "<span class=\"v\">\(hold.heldWords)</span><small>\(Prose.count(hold.versions.count, "version")), \(entries)</small>")
    cells += cell(
      "Never applied",
      hold.replaced.isEmpty
        ? "none" : "<span class=\"v\">\(hold.replacedWords)</span><small>\(neverWords(hold))</small>")
    switch hold.outcome {
    case .applied(let applied):
      cells += cell(
        "Applied",
        "<span class=\"v\">v\(applied.number)</span> at \(applied.at.description)<small>entry \(Prose.number(applied.entry))\(applied.waited ? "" : ", newer than what waited")</small><small>\(Markup.bdi(applied.change))</small>"
      )
      let wait: Markup =
        hold.wait.map {
          "<span class=\"t2\(hold.isBroken ? " bad v" : "")\">\($0.description)</span><small>\(hold.sinceWords)\(hold.release.map { ", entry \(Prose.number($0.entry))" } ?? "")</small>"
        }
        ?? "<span class=\"v\">it was not free</span>"
      cells += cell("After the list was free", "\(wait)\(verdict(hold, report))")
    case .dropped(let at, let entry, let why):
      cells += cell("Applied", "<span class=\"v\">never</span><small>\(why) at \(at.description), entry \(Prose.number(entry))</small>")
      cells += cell("After the list was free", "–\(verdict(hold, report))")
    case .open:
      cells += cell("Applied", "<span class=\"v\">never</span><small>the run ended</small>")
      cells += cell("After the list was free", "–\(verdict(hold, report))")
    }
    return "<tr role=\"row\" id=\"\(hold.id.lowercased())\"\(hold.isBroken ? Markup(" class=\"hot\"") : "")>\(cells)</tr>\n"
  }

  private static func neverWords(_ hold: HeldUpdate) -> String {
    hold.applied == nil ? "nothing was" : hold.replaced.count == 1 ? "replaced by a newer one" : "each replaced by a newer one"
  }

  private static func verdict(_ hold: HeldUpdate, _ report: Report) -> Markup {
    if hold.claims.isEmpty { return "" }
    let links = hold.claims.map { id -> Markup in
      let finding = report.findings.first { $0.claims.contains { $0.id == id } }
      return finding.map { "<a href=\"#\($0.id.lowercased())\">\(id)</a>" } ?? "\(id)"
    }
    return "<small>\(Glyphs.icon(.broken)) breaks \(Markup.joined(links, ", "))</small>"
  }

  /// A hold from its beginning on, as long as it took beside the longest one.
  private static func life(_ hold: HeldUpdate, _ longest: Interval) -> Markup {
    let scale = Double(max(longest.nanoseconds, 1))
    func x(_ at: Instant) -> String { Charts.percent(Double((at - hold.from).nanoseconds) / scale * 0.96) }
    func width(_ from: Instant, _ until: Instant) -> String {
      Charts.percent(max(Double((until - from).nanoseconds) / scale * 0.96, 0.003))
    }
    let free = hold.release.map { min($0.at, hold.until) } ?? hold.until
    var drawn: Markup = "<rect class=\"held\" x=\"0.00%\" y=\"8\" width=\"\(width(hold.from, free))\" height=\"12\"/>"
    if free < hold.until {
      drawn +=
        "<rect class=\"\(hold.isBroken ? "barb" : "late")\" x=\"\(x(free))\" y=\"8\" width=\"\(width(free, hold.until))\" height=\"12\"/>"
    }
    var places = Set<String>()
    for version in hold.versions where version.number != hold.applied?.number && places.count < 60 {
      let place = x(version.at)
      if places.insert(place).inserted { drawn += "<line class=\"ln\" x1=\"\(place)\" x2=\"\(place)\" y1=\"22\" y2=\"28\"/>" }
    }
    if let applied = hold.applied {
      if let own = hold.versions.first(where: { $0.number == applied.number }) {
        drawn += "<line class=\"own\" x1=\"\(x(own.at))\" x2=\"\(x(own.at))\" y1=\"20\" y2=\"30\"/>"
      }
      drawn += "<use x=\"\(x(applied.at))\" y=\"14\" href=\"#g-save\(hold.isBroken ? "b" : "")\"/>"
    } else {
      drawn += "<use x=\"\(x(hold.until))\" y=\"14\" href=\"#g-drop\"/>"
    }
    return "<svg width=\"100%\" height=\"32\" role=\"img\" aria-label=\"\(hold.id): \(hold.story)\">\(drawn)</svg>"
  }

  private static func versions(_ hold: HeldUpdate) -> Markup {
    var lines: [String] = []
    for (index, version) in hold.versions.prefix(versionLimit).enumerated() {
      let cause = version.isLive.map { $0 ? "live change" : "other change" } ?? ""
      let rows = version.rows.map { ", \(Prose.count($0, "row"))" } ?? ""
      let fate: String
      if version.number == hold.applied?.number {
        fate = "applied \(hold.applied.map { "\($0.at), entry \(Prose.number($0.entry))" } ?? "")"
      } else if hold.versions.indices.contains(index + 1) {
        let next = hold.versions[index + 1]
        fate = "replaced by v\(next.number) after \(next.at - version.at), never applied"
      } else {
        fate = "never applied"
      }
      lines.append(
        "\(Columns.pad("v\(version.number)", to: 6)) \(version.at)  entry \(Columns.pad(Prose.number(version.entry), to: 8)) \(fate)\(cause.isEmpty ? "" : "  (\(cause)\(rows))")"
      )
    }
    if hold.versions.count > versionLimit {
      lines.append("… and \(Prose.count(hold.versions.count - versionLimit, "more version")), \(hold.replacedWords) never applied")
    }
    return
      "<h4 class=\"mt\">\(hold.id)</h4><pre class=\"tr\" tabindex=\"0\" role=\"region\" aria-label=\"Versions of \(hold.id)\">\(Markup.lines(lines.joined(separator: "\n")))</pre>"
  }

  private static let key: Markup = """
    <p class="key"><span><svg viewBox="0 0 14 14" aria-hidden="true"><rect class="held" x="0" y="2" width="14" height="10"/></svg>waits while the list is kept</span>\
    <span><svg viewBox="0 0 14 14" aria-hidden="true"><rect class="late" x="0" y="2" width="14" height="10"/></svg>waits although it is free</span>\
    <span><svg viewBox="0 0 14 14" aria-hidden="true"><path class="ln" d="M7 3V11"/></svg>a version that is replaced</span>\
    <span><svg viewBox="0 0 14 14" aria-hidden="true"><path class="own" d="M7 2V12"/></svg>the version that is applied</span>\
    <span><svg viewBox="-7 -7 14 14" aria-hidden="true"><use href="#g-save"/></svg>applied</span>\
    <span><svg viewBox="-7 -7 14 14" aria-hidden="true"><use href="#g-drop"/></svg>the view went</span></p>
    """
}
