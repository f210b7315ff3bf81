import Contract
import Oracles
import Simulation
import Wire

/// The run on one time axis: the app with faults and findings, the screen, the wire. Faults, the time without an app and the quiet phase are
/// bands behind all of it.
///
/// Everything is static: a lane is one picture whose places are percentages; what is too dense to be told apart falls together and is counted,
/// nothing is cut off in silence. The element carries the span of the run in `data-end`, and where the axis gets narrower in `data-knee`
/// (nanoseconds).
enum Timeline {
  static func section(_ report: Report) -> Markup {
    let index = TraceIndex(report.trace)
    let bands = FaultBand.all(report, index)
    var notes: [String] = []
    var tracks: Markup = RunTrack.markup(report, bands, &notes)
    tracks += ScreenTrack.markup(report, &notes)
    tracks += WireTrack.markup(report, index, &notes)
    let axis = report.axis
    let labels = labels(axis)
    let more: [Markup] = notes.map { "<p class=\"note\">\($0)</p>" }
    let screen = report.screen.isEmpty ? "" : "Screen and wire on one axis. "
    let lead =
      screen + WireTrack.sentence(index)
      + (axis.knee.map { " From \(Axis.label($0)) on, in the quiet phase, the axis is \(axis.ratio) times narrower." } ?? "")
      + (bands.isEmpty ? "" : " Tinted: from a fault to the end of what it did.")
    let body: Markup = """
      <div class="scroll" tabindex="0" role="region" aria-label="Timeline"><div class="wire" data-end="\(String(report.end.nanoseconds))" data-knee="\(String((axis.knee ?? report.end).nanoseconds))">\
      <svg class="bg" aria-hidden="true">\(background(report, bands))</svg>\(labels)\(tracks)\(labels)</div></div>\(key(report))\(more)
      """
    return HTMLReport.section("timeline", "Timeline", "\(lead)", body)
  }

  private static func labels(_ axis: Axis) -> Markup {
    let labels: [Markup] = axis.ticks.map { tick in
      let x = axis.fraction(tick, in: 100)
      let anchor = x < 3 ? "start" : x > 96 ? "end" : "middle"
      return "<text class=\"dimt\" x=\"\(axis.percent(tick))\" y=\"12\" text-anchor=\"\(anchor)\">\(Axis.label(tick))</text>"
    }
    let knee: Markup = axis.knee.map { "<text class=\"dimt\" x=\"\(axis.percent($0))\" dx=\"4\" y=\"12\">quiet phase</text>" } ?? ""
    return "<div class=\"lane sub\"><p>time, m:ss</p><svg height=\"18\" aria-hidden=\"true\">\(labels)\(knee)</svg></div>"
  }

  private static func background(_ report: Report, _ bands: [FaultBand]) -> Markup {
    var drawn: Markup = ""
    let axis = report.axis
    func rect(_ style: String, _ from: Instant, _ until: Instant) -> Markup {
      "<rect class=\"\(style)\" x=\"\(axis.percent(from))\" y=\"0\" width=\"\(axis.width(from: from, until: until))\" height=\"100%\"/>"
    }
    if report.header.quietFrom > .zero, report.header.quietFrom < report.end { drawn += rect("quiet", report.header.quietFrom, report.end) }
    for band in Span.merged(bands.map { Span(from: $0.from, until: $0.until) }, axis) where band.from < band.until {
      drawn += rect("fband", band.from, band.until)
    }
    for band in Span.merged(report.screen.spans(.absent).map { Span(from: $0.from, until: $0.until) }, axis) {
      drawn += rect("gone", band.from, band.until)
    }
    return drawn
  }

  private static func key(_ report: Report) -> Markup {
    func glyph(_ name: String, _ words: String) -> Markup {
      "<span><svg viewBox=\"-7 -7 14 14\" aria-hidden=\"true\"><use href=\"#\(name)\"/></svg>\(words)</span>"
    }
    func swatch(_ style: String, _ words: String) -> Markup {
      "<span><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect class=\"\(style)\" x=\"0.5\" y=\"2.5\" width=\"13\" height=\"9\"/></svg>\(words)</span>"
    }
    var parts: Markup = glyph("g-drop", "dropped") + glyph("g-flt", "other fault")
    parts += glyph("g-send", "submit of a message") + glyph("g-rcpt", "its receipt")
    if !report.screen.isEmpty {
      parts += swatch("finger", "finger on the list") + swatch("slow", "cover, slowing down, older page put in place")
      parts += swatch("held", "update held") + glyph("g-save", "held update applied")
    }
    if !report.screen.spans(.absent, .background, .suspended).isEmpty { parts += swatch("absent", "app not running") }
    if report.header.quietFrom > .zero, report.header.quietFrom < report.end { parts += swatch("quiet", "quiet phase") }
    parts += "<span>line on a wire lane: connection up</span>"
    return "<p class=\"key\">\(parts)</p>"
  }

  // MARK: Parts of tracks

  /// A track with its name and number of entries, and a line of how dense they are, so that a closed track still shows where things are.
  static func track(_ name: String, _ count: Int, _ density: [Instant], _ lanes: Markup, axis: Axis) -> Markup {
    var places = Places()
    for at in density { places.insert(at, of: axis) }
    return """
      <details class="track" open><summary class="lane"><span class="lp"><b>\(name)</b><span>\(Prose.number(count))</span></span>\
      <svg height="18" aria-hidden="true"><svg width="100%" height="18" viewBox="0 0 10000 18" preserveAspectRatio="none">\(places.path(top: 5, bottom: 13))</svg></svg></summary>
      \(lanes)</details>

      """
  }

  /// One lane: `inner` in a picture of 10,000 units across, `marks` in percent on top of it.
  static func lane(_ label: Markup, _ count: String, height: Int, name: String, inner: Markup = "", marks: Markup, isSub: Bool = true)
    -> Markup
  {
    let stretched: Markup =
      inner.text.isEmpty
      ? "" : "<svg width=\"100%\" height=\"\(height)\" viewBox=\"0 0 10000 \(height)\" preserveAspectRatio=\"none\">\(inner)</svg>"
    return """
      <div class="lane\(isSub ? " sub" : "")"><p><span>\(label)</span><span>\(count)</span></p>\
      <svg height="\(height)" role="img" aria-label="\(name)">\(stretched)\(marks)</svg></div>

      """
  }

  /// A stretch of time.
  struct Span: Hashable {
    var from: Instant
    var until: Instant

    /// In order, those that touch or lie nearer than two places of the axis together.
    static func merged(_ spans: [Span], _ axis: Axis) -> [Span] {
      var found: [Span] = []
      for span in spans.sorted(by: { ($0.from, $0.until) < ($1.from, $1.until) }) {
        if let last = found.last,
          span.from <= last.until
            || axis.fraction(span.from, in: Places.resolution) - axis.fraction(last.until, in: Places.resolution) < 2
        {
          found[found.count - 1].until = max(last.until, span.until)
        } else {
          found.append(span)
        }
      }
      return found
    }
  }

  /// A stretch with its look and its words.
  struct Bar {
    var from: Instant
    var until: Instant
    var style: String
    /// What stands in it, or beside it where there is room.
    var label = ""
    /// Stands where the label has no room.
    var short = ""
    /// What it is, with its instants.
    var title: String
    var isBad = false
  }

  /// Bars that get an element each; more fall together.
  static let barLimit = 60
  /// Points across that a lane has at least, by which words are placed.
  static let narrowest = 700.0

  /// Bars of one lane. Up to `barLimit` of them stand one by one; of more, the bad ones do, and the others fall together where they touch.
  /// `collapsed` says that they did.
  static func bars(_ bars: [Bar], y: Int, height: Int, axis: Axis, collapsed: inout Bool) -> Markup {
    var single = bars.sorted { $0.from < $1.from }
    var drawn: Markup = ""
    if single.count > barLimit {
      collapsed = true
      var byStyle = OrderedMap<String, [Span]>()
      for bar in single where !bar.isBad { byStyle[bar.style, default: []].append(Span(from: bar.from, until: bar.until)) }
      for (style, spans) in byStyle.pairs {
        let steps = Span.merged(spans, axis).map { span in
          let x = axis.fraction(span.from, in: 10_000)
          let right = max(axis.fraction(span.until, in: 10_000), x + 8)
          return "M\(x) \(y)H\(right)V\(y + height)H\(x)z"
        }.joined()
        drawn +=
          "<svg width=\"100%\" height=\"\(y + height)\" viewBox=\"0 0 10000 \(y + height)\" preserveAspectRatio=\"none\"><path class=\"\(style) many\" d=\"\(steps)\"/></svg>"
      }
      single = Array(single.filter(\.isBad).prefix(barLimit))
    }
    func point(_ at: Instant) -> Double { Double(axis.fraction(at, in: 100_000)) / 100_000 * narrowest }
    // The right end of what stands on the lane so far.
    var free = 0.0
    for (index, bar) in single.enumerated() {
      let (x, right) = (point(bar.from), max(point(bar.until), point(bar.from) + 2))
      let width = axis.width(from: bar.from, until: bar.until)
      drawn +=
        "<rect class=\"\(bar.style)\" x=\"\(axis.percent(bar.from))\" y=\"\(y)\" width=\"\(width == "0.000%" ? "0.1%" : width)\" height=\"\(height)\"><title>\(bar.title)</title></rect>"
      let next = index + 1 < single.count ? point(single[index + 1].from) : narrowest
      for label in [bar.label, bar.short] where !label.isEmpty {
        let needed = Double(TextWidth.of(label)) * 6.2 + 6
        let place: (Instant, String)? =
          if right - x >= needed, x >= free {
            (bar.from, "dx=\"4\"")
          } else if next - right >= needed, right >= free {
            (bar.until, "dx=\"5\"")
          } else if x - needed >= free {
            (bar.from, "dx=\"-5\" text-anchor=\"end\"")
          } else {
            nil
          }
        guard let (at, how) = place else { continue }
        drawn +=
          "<text class=\"\(bar.isBad ? "red halo" : "halo")\" x=\"\(axis.percent(at))\" \(Markup(stringLiteral: how)) y=\"\(y + height - 3)\">\(label)</text>"
        if at == bar.until, how == "dx=\"5\"" { free = max(free, right + needed) }
        break
      }
      free = max(free, right)
    }
    return drawn
  }
}

/// Distinct places on the axis: what lies nearer than that shares a tick.
struct Places {
  static let resolution: Int64 = 2_000
  private var taken = Array(repeating: false, count: Int(Places.resolution) + 1)
  private(set) var count = 0

  /// False when the place is taken already.
  @discardableResult
  mutating func insert(_ at: Instant, of axis: Axis) -> Bool {
    let index = min(max(Int(axis.fraction(at, in: Places.resolution)), 0), taken.count - 1)
    if taken[index] { return false }
    taken[index] = true
    count += 1
    return true
  }

  /// Ticks in a picture of 10,000 units across.
  func path(top: Int, bottom: Int, style: String = "") -> Markup {
    let scale = 10_000 / Places.resolution
    let steps = taken.indices.filter { taken[$0] }.map { "M\(Int64($0) * scale) \(top)V\(bottom)" }.joined()
    if steps.isEmpty { return "" }
    return style.isEmpty ? "<path d=\"\(steps)\"/>" : "<path class=\"\(style)\" d=\"\(steps)\"/>"
  }
}

/// A fault with the time until what it did is over.
struct FaultBand: Hashable {
  var from: Instant
  var until: Instant
  var entry: Int
  /// `fault 1`, or `recorded past`.
  var source: String
  /// `hold-drag`, `dropped`.
  var what: String
  var rule: Int?
  /// `1 hold-drag`.
  var label: String { (rule.map { "\($0) " } ?? "") + what }

  /// In order: what rules did (`plan` entries), and what the recorded past did to frames.
  static func all(_ report: Report, _ index: TraceIndex) -> [FaultBand] {
    var bands: [FaultBand] = []
    var settled: [String: Instant] = [:]
    for message in report.judgement.messages {
      let until = message.history.first?.at ?? message.wordAt ?? report.end
      for operation in message.operationIDs { settled[operation] = until }
    }
    let story = report.screen
    for position in index.indices(.plan, "fired") {
      let entry = index.entries[position]
      let action = entry["action"]?.string ?? "?"
      bands.append(
        FaultBand(
          from: entry.at, until: max(FaultBand.end(entry, action, index, settled, story), entry.at), entry: position,
          source: entry["rule"]?.int.map { "fault \($0)" } ?? "a rule", what: Visible.text(action), rule: entry["rule"]?.int))
    }
    for frame in index.frames {
      for fault in frame.faults where index.entries[fault]["condition"] != nil {
        let entry = index.entries[fault]
        bands.append(
          FaultBand(
            from: entry.at, until: max(frame.operation.flatMap { settled[$0] } ?? entry.at, entry.at), entry: fault,
            source: "recorded past",
            what: LifeLine.past(entry.kind)))
      }
    }
    return bands.sorted { ($0.from, $0.entry) < ($1.from, $1.entry) }
  }

  /// When it is over: the message that it touched is settled, the app is there again, the list is free again and shows the newest.
  private static func end(
    _ entry: TraceEntry, _ action: String, _ index: TraceIndex, _ settled: [String: Instant], _ story: ScreenStory
  ) -> Instant {
    func after(_ kinds: ScreenStory.Span.Kind...) -> Instant? {
      story.spans.first { kinds.contains($0.kind) && $0.until > entry.at && $0.from >= entry.at }?.until
    }
    switch action {
    case "restart": return after(.absent) ?? entry.at
    case "background": return after(.background) ?? entry.at
    case "suspend": return after(.suspended) ?? entry.at
    case "drag", "hold-drag", "lose-stop":
      let motion = story.spans.first { ($0.kind == .drag || $0.kind == .slowing) && $0.until > entry.at }?.until ?? entry.at
      let hold = story.holds.first { $0.from <= motion && $0.until >= motion && $0.until > entry.at }?.until
      return max(motion, hold ?? motion)
    case "disconnect", "half-open":
      let up = index.indices(.link, "up").first { index.entries[$0].at > entry.at }
      return up.map { index.entries[$0].at } ?? entry.at
    default:
      guard let of = entry["of"]?.int, let frame = index.frame(ofEntry: of) else { return entry.at }
      if let operation = frame.operation, let until = settled[operation] { return until }
      return frame.arrivals.last.map { index.entries[$0].at } ?? entry.at
    }
  }
}

/// Whether the app was there, what faults did, where the findings are.
enum RunTrack {
  static func markup(_ report: Report, _ bands: [FaultBand], _ notes: inout [String]) -> Markup {
    let axis = report.axis
    var lanes: Markup = ""
    // The app.
    let gone = report.screen.spans(.absent, .background, .suspended)
    let bars = gone.map { span -> Timeline.Bar in
      let words =
        switch span.kind {
        case .absent: "not running"
        case .background: "in the background"
        default: "suspended"
        }
      let fault = span.rule.map { ", fault \($0)" } ?? ""
      return Timeline.Bar(
        from: span.from, until: span.until, style: span.kind == .absent ? "absent" : "away", label: words,
        title: "\(span.from) to \(span.until): the app was \(words) for \(span.until - span.from)\(fault)")
    }
    var collapsed = false
    var marks: Markup = "<line class=\"ln\" x1=\"0\" x2=\"100%\" y1=\"10\" y2=\"10\"/>"
    marks += Timeline.bars(bars, y: 3, height: 14, axis: axis, collapsed: &collapsed)
    let dead = report.screen.spans(.absent)
    let told = [
      dead.isEmpty ? nil : "not running \(Prose.count(dead.count, "time"))",
      gone.count == dead.count ? nil : "in the background or suspended \(Prose.count(gone.count - dead.count, "time"))",
    ].compactMap { $0 }
    lanes += Timeline.lane(
      "<b>App</b>", gone.isEmpty ? "" : Prose.number(gone.count), height: 20,
      name: "App: \(told.isEmpty ? "running all the time" : told.joined(separator: ", "))", marks: marks, isSub: false)
    // Faults.
    if !bands.isEmpty {
      var places = Places()
      let single = bands.filter { places.insert($0.from, of: axis) }
      let shown = single.prefix(200)
      var marks: Markup = ""
      var inner: Markup = ""
      if single.count > shown.count {
        var rest = Places()
        for band in single { rest.insert(band.from, of: axis) }
        inner = rest.path(top: 4, bottom: 16, style: "fm")
        notes.append(
          "\(Prose.count(bands.count, "fault")) at \(Prose.number(single.count)) places of the axis: the first \(shown.count) with a mark, all as ticks."
        )
      }
      // Labels on two levels; a label without room is left to the title of its mark.
      var free = [-1.0, -1.0]
      func point(_ at: Instant) -> Double { Double(axis.fraction(at, in: 100_000)) / 100_000 * Timeline.narrowest }
      var levels: [Int] = []
      for (index, band) in shown.enumerated() {
        let x = point(band.from)
        let needed = Double(TextWidth.of(band.label)) * 6.2 + 12
        let next = index + 1 < shown.count ? point(shown[index + 1].from) : Timeline.narrowest
        let level = free[0] <= x ? 0 : 1
        levels.append(level)
        let drop = band.what == "drop" || band.what == "dropped" ? "g-drop" : "g-flt"
        let y = level == 0 ? 10 : 26
        marks +=
          "<use x=\"\(axis.percent(band.from))\" y=\"\(y)\" href=\"#\(drop)\"><title>\(band.from.description): \(band.what), \(band.source), until \(band.until.description), entry \(band.entry)</title></use>"
        // On the upper level a label may run over marks that then go below it.
        let room = level == 0 || next - x >= needed
        if room, free[level] <= x, x + needed <= Timeline.narrowest + 60 {
          marks += "<text class=\"amb\" x=\"\(axis.percent(band.from))\" dx=\"8\" y=\"\(y + 4)\">\(band.label)</text>"
          free[level] = x + needed
        } else {
          free[level] = max(free[level], x + 8)
        }
      }
      let height = levels.contains(1) ? 36 : 20
      lanes += Timeline.lane(
        "Faults", Prose.number(bands.count), height: height, name: "Faults: \(Prose.number(bands.count))", inner: inner, marks: marks)
    }
    // Findings.
    let found = report.findings.flatMap { finding in
      // Where it shows: the deciding entries, or the first moment that it names.
      let places = finding.evidence.filter(\.decides).map { (finding, $0.line.at) }
      return places.isEmpty ? finding.moments.prefix(1).map { (finding, $0.at) } : Array(places.prefix(1))
    }
    if !found.isEmpty {
      var places = Places()
      var marks: Markup = ""
      for (finding, at) in found.prefix(200) where places.insert(at, of: axis) {
        marks +=
          "<a href=\"#\(finding.id.lowercased())\"><use x=\"\(axis.percent(at))\" y=\"10\" href=\"#g-bad\"/><text class=\"red\" x=\"\(axis.percent(at))\" dx=\"8\" y=\"14\">\(finding.id)</text><title>\(finding.title)</title></a>"
      }
      lanes += Timeline.lane(
        "Findings", Prose.number(report.findings.count), height: 20, name: "Findings: \(Prose.number(report.findings.count))", marks: marks)
    }
    return lanes
  }
}
