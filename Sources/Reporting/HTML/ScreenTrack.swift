import Contract
import Oracles
import Simulation

/// What the screen did, on the axis of the run: chats and covers, the finger and what moved the list, renders, updates that were held and
/// those that were applied, older pages, what lay over the list.
enum ScreenTrack {
  static func markup(_ report: Report, _ notes: inout [String]) -> Markup {
    let axis = report.axis
    let story = report.screen
    if story.isEmpty { return "" }
    var dense: [String] = []
    let lanes: [Markup] = [
      bands(story.spans(.chat), "chats", "Chat", report, &dense, marks: story.marks(.epoch)),
      bands(story.spans(.cover), "covers", "Cover", report, &dense),
      motion(report, &dense),
      renders(report, &dense),
      holds(report, &dense),
      applies(report, &dense),
      bands(story.spans(.older, .restore), "older pages", "Older page", report, &dense),
      bands(story.spans(.surface), "surfaces over the list", "Over the list", report, &dense),
    ]
    if !dense.isEmpty {
      notes.append(
        "Too dense to be told apart at this width, so that what touches falls together: \(Prose.list(dense)). The trace has each of them.")
    }
    let density =
      story.marks.map(\.at) + story.spans.filter { $0.kind != .absent && $0.kind != .background && $0.kind != .suspended }.map(\.from)
    return Timeline.track("Screen", story.entries, density, Markup(parts: lanes), axis: axis)
  }

  /// Chats, covers, older pages, surfaces: a bar each.
  private static func bands(
    _ spans: [ScreenStory.Span], _ noun: String, _ title: String, _ report: Report, _ dense: inout [String],
    marks epochs: [ScreenStory.Mark] = []
  ) -> Markup {
    let axis = report.axis
    if spans.isEmpty && epochs.isEmpty { return "" }
    let bars = spans.map { span -> Timeline.Bar in
      let host = Columns.cut(Visible.text(span.host), to: 40)
      let (style, label, words): (String, String, String) =
        switch span.kind {
        case .chat: ("plainb", host, "chat \(host)")
        case .cover: ("slow", span.detail, "cover over \(host)" + (span.detail.isEmpty ? ", never lifted" : ", \(span.detail)"))
        case .restore:
          ("slow", "put in place", "older page being put in place in \(host)" + (span.detail.isEmpty ? "" : ", ended: \(span.detail)"))
        case .older: ("plainb", span.detail, "older page of \(host) asked for" + (span.detail.isEmpty ? ", no answer" : ": \(span.detail)"))
        default: ("plainb", span.detail, span.detail)
        }
      return Timeline.Bar(
        from: span.from, until: span.until, style: style, label: label,
        title: "\(span.from) to \(span.until), \(span.until - span.from): \(words) (entry \(span.opened))")
    }
    var collapsed = false
    var drawn = Timeline.bars(bars, y: 3, height: 14, axis: axis, collapsed: &collapsed)
    if collapsed { dense.append("\(Prose.number(spans.count)) \(noun)") }
    var places = Places()
    for epoch in epochs where places.insert(epoch.at, of: axis) && places.count <= 200 {
      let x = axis.percent(epoch.at)
      drawn +=
        "<line class=\"own\" x1=\"\(x)\" x2=\"\(x)\" y1=\"0\" y2=\"20\"><title>\(epoch.at.description): the view of \(Visible.text(epoch.host)) begins anew, \(epoch.detail) (entry \(epoch.entry))</title></line>"
    }
    if places.count > 200 { dense.append("\(Prose.number(epochs.count)) new beginnings of a view") }
    let more = epochs.isEmpty ? "" : ", \(Prose.count(epochs.count, "new beginning")) of a view"
    return Timeline.lane(
      "\(title)", Prose.number(spans.count), height: 20, name: "\(title): \(Prose.number(spans.count)) \(noun)\(more)", marks: drawn)
  }

  private static func motion(_ report: Report, _ dense: inout [String]) -> Markup {
    let axis = report.axis
    let story = report.screen
    let (drags, own) = (story.spans(.drag, .slowing), story.spans(.follow, .animate))
    let (jumps, lost) = (story.marks(.jump), story.marks(.lostStop))
    if drags.isEmpty, own.isEmpty, jumps.isEmpty, lost.isEmpty { return "" }
    var collapsed = false
    let fingers = drags.map { span in
      let fault = span.rule.map { ", fault \($0)" } ?? ""
      let words = span.kind == .drag ? "finger on the list" : "list slowing down"
      return Timeline.Bar(
        from: span.from, until: span.until, style: span.kind == .drag ? "finger" : "slow", label: span.kind == .drag ? "drag" : "",
        title: "\(span.from) to \(span.until), \(span.until - span.from): \(words)\(fault) (entry \(span.opened))")
    }
    var drawn = Timeline.bars(fingers, y: 2, height: 14, axis: axis, collapsed: &collapsed)
    let scrolls = own.map { span in
      let words = span.kind == .follow ? "list follows its end" : "list scrolls by itself"
      return Timeline.Bar(
        from: span.from, until: span.until, style: "byself",
        title: "\(span.from) to \(span.until), \(span.until - span.from): \(words) (entry \(span.opened))")
    }
    drawn += Timeline.bars(scrolls, y: 19, height: 3, axis: axis, collapsed: &collapsed)
    if collapsed { dense.append("\(Prose.number(drags.count + own.count)) moves of the list") }
    var inner = Places()
    for jump in jumps { inner.insert(jump.at, of: axis) }
    var places = Places()
    for stop in lost where places.insert(stop.at, of: axis) && places.count <= 60 {
      drawn +=
        "<use x=\"\(axis.percent(stop.at))\" y=\"9\" href=\"#g-flt\"><title>\(stop.at.description): the list came to rest and did not say so\(stop.detail.isEmpty ? "" : ", \(stop.detail)") (entry \(stop.entry))</title></use>"
    }
    if places.count > 60 { dense.append("\(Prose.number(lost.count)) stops that were not signalled") }
    let drag = drags.count { $0.kind == .drag }
    return Timeline.lane(
      "Finger, scroll", Prose.number(drags.count + own.count + jumps.count), height: 24,
      name:
        "Finger and scroll: \(Prose.count(drag, "drag")), \(Prose.number(drags.count - drag)) times slowing down, \(Prose.number(own.count)) times by itself, \(Prose.count(jumps.count, "jump")), \(Prose.count(lost.count, "stop")) not signalled",
      inner: inner.path(top: 16, bottom: 24), marks: drawn)
  }

  private static func renders(_ report: Report, _ dense: inout [String]) -> Markup {
    let axis = report.axis
    let (live, other) = (report.screen.marks(.live), report.screen.marks(.render))
    if live.isEmpty, other.isEmpty { return "" }
    var (few, tall) = (Places(), Places())
    for mark in live { few.insert(mark.at, of: axis) }
    for mark in other { tall.insert(mark.at, of: axis) }
    if few.count + tall.count < live.count + other.count { dense.append(Prose.count(live.count + other.count, "render")) }
    return Timeline.lane(
      "Rendered", Prose.number(live.count + other.count), height: 20,
      name: "Rendered: \(Prose.number(live.count)) by live changes, \(Prose.number(other.count)) others, which are taller",
      inner: few.path(top: 7, bottom: 15) + tall.path(top: 3, bottom: 17, style: "key1"), marks: "")
  }

  private static func applies(_ report: Report, _ dense: inout [String]) -> Markup {
    let axis = report.axis
    let (plain, held) = (report.screen.marks(.apply), report.screen.marks(.heldApply))
    if plain.isEmpty, held.isEmpty { return "" }
    var places = Places()
    for mark in plain { places.insert(mark.at, of: axis) }
    if places.count < plain.count { dense.append("\(Prose.number(plain.count)) updates that were applied") }
    let bad = Set(report.screen.holds.filter(\.isBroken).compactMap { $0.applied?.entry })
    var shown = Places()
    var drawn: Markup = ""
    for mark in held where shown.insert(mark.at, of: axis) && shown.count <= 200 {
      drawn +=
        "<use x=\"\(axis.percent(mark.at))\" y=\"10\" href=\"#g-save\(bad.contains(mark.entry) ? "b" : "")\"><title>\(mark.at.description): held update \(mark.detail) applied (entry \(mark.entry))</title></use>"
    }
    if shown.count > 200 { dense.append("\(Prose.number(held.count)) held updates that were applied") }
    return Timeline.lane(
      "Applied", Prose.number(plain.count + held.count), height: 20,
      name: "Applied: \(Prose.number(plain.count)) at once, \(Prose.number(held.count)) after they were held",
      inner: places.path(top: 5, bottom: 15), marks: drawn)
  }

  private static func holds(_ report: Report, _ dense: inout [String]) -> Markup {
    let axis = report.axis
    let holds = report.screen.holds
    if holds.isEmpty { return "" }
    var bars: [Timeline.Bar] = []
    for hold in holds {
      let free = hold.release.map { min($0.at, hold.until) } ?? hold.until
      let late =
        hold.wait.map { $0 > .zero ? "\(hold.id) \($0) \(hold.sinceWords)" : "\(hold.id) \(hold.duration)" }
        ?? (hold.applied == nil ? "\(hold.id) never applied" : "\(hold.id) \(hold.duration)")
      let title = "\(hold.id): \(hold.story)"
      let isLate = free < hold.until
      bars.append(
        Timeline.Bar(
          from: hold.from, until: free, style: "held", label: isLate ? "" : late, short: isLate ? "" : hold.id, title: title,
          isBad: hold.isBroken && !isLate))
      if isLate {
        bars.append(
          Timeline.Bar(
            from: free, until: hold.until, style: hold.isBroken ? "barb" : "late", label: late, short: hold.id, title: title,
            isBad: hold.isBroken))
      }
    }
    var collapsed = false
    let drawn = Timeline.bars(bars, y: 3, height: 14, axis: axis, collapsed: &collapsed)
    if collapsed { dense.append(Prose.count(holds.count, "hold")) }
    return Timeline.lane(
      "<a href=\"#held\">Held</a>", Prose.number(holds.count), height: 20, name: "Held: \(HeldUpdate.summary(holds))", marks: drawn)
  }
}
