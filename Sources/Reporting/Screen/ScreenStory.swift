import Contract
import Oracles
import Simulation
import Wire

/// What the screen did over a run, read from the trace once: the entries of the party `screen`, what the core notes about its views, and
/// whether the app was there at all. Everything that a view has open ends with the view, and with the app.
struct ScreenStory: Sendable {
  /// A stretch of time on the screen. `closed` is nil when it lasts until the end of the run.
  struct Span: Hashable, Sendable {
    enum Kind: String, Hashable, Sendable {
      case chat, cover
      case drag, slowing, follow, animate
      case older, restore
      case surface
      case absent, background, suspended
    }
    var kind: Kind
    var host: String
    var from: Instant
    var until: Instant
    var opened: Int
    var closed: Int?
    /// What more there is to say: `14 passes, 1 older page`.
    var detail = ""
    /// The rule that made it or made it longer.
    var rule: Int?
  }

  /// A moment on the screen.
  struct Mark: Hashable, Sendable {
    enum Kind: String, Hashable, Sendable { case render, live, apply, heldApply, jump, epoch, lostStop }
    var kind: Kind
    var host: String
    var at: Instant
    var entry: Int
    var detail = ""
  }

  private(set) var spans: [Span] = []
  private(set) var marks: [Mark] = []
  /// In order of their beginnings.
  private(set) var holds: [HeldUpdate] = []
  /// Entries that the tracks of the screen show, frames among them.
  private(set) var entries = 0
  /// Whether anything of a screen is in the trace.
  var isEmpty: Bool { entries == 0 }

  func spans(_ kinds: Span.Kind...) -> [Span] { spans.filter { kinds.contains($0.kind) } }
  func marks(_ kinds: Mark.Kind...) -> [Mark] { marks.filter { kinds.contains($0.kind) } }

  init(_ trace: Trace, end: Instant, claims: (Int) -> [String]) {
    var reader = Reader(trace, end: end)
    for (index, entry) in trace.entries.enumerated() { reader.read(entry, index) }
    reader.finish()
    entries = reader.entries
    spans = reader.spans.sorted { ($0.from, $0.opened) < ($1.from, $1.opened) }
    marks = reader.marks
    holds = reader.holds.sorted { ($0.from, $0.versions.first?.entry ?? 0) < ($1.from, $1.versions.first?.entry ?? 0) }
    for index in holds.indices {
      holds[index].id = "H\(index + 1)"
      holds[index].claims = holds[index].ownEntries.flatMap(claims).uniqued
    }
  }
}

/// Goes through a trace entry by entry.
private struct Reader {
  /// What is known of one host's view.
  struct View {
    var chat: ScreenStory.Span?
    var cover: ScreenStory.Span?
    var motion: ScreenStory.Span?
    var restore: ScreenStory.Span?
    /// Whether the restore still holds live rows.
    var holdsLive = false
    var older: ScreenStory.Span?
    var hold: HeldUpdate?
    /// Of the newest `show`, and of the newest `apply`.
    var rows: Int?
    var applied: [String] = []
    /// The newest `render`: version, whether it is live, and its entry.
    var rendered: (version: Int, isLive: Bool, entry: Int)?

    var isMoving: Bool { motion?.kind == .drag || motion?.kind == .slowing }
  }

  private let trace: Trace
  private let end: Instant
  private(set) var spans: [ScreenStory.Span] = []
  private(set) var marks: [ScreenStory.Mark] = []
  private(set) var holds: [HeldUpdate] = []
  private(set) var entries = 0
  private var views = OrderedMap<String, View>()
  private var surfaces = OrderedMap<String, ScreenStory.Span>()
  /// The rule of the user's newest drag, and of the newest lost stop.
  private var dragRule: Int?
  private var stopRule: Int?
  private var absence: ScreenStory.Span?
  private var background: ScreenStory.Span?
  private var suspension: ScreenStory.Span?

  init(_ trace: Trace, end: Instant) {
    self.trace = trace
    self.end = end
  }

  mutating func read(_ entry: TraceEntry, _ index: Int) {
    switch entry.party {
    case .world: world(entry, index)
    case .user:
      if entry.kind == "gesture", entry["do"]?.string == "drag" { dragRule = entry["rule"]?.int }
    case .screen:
      entries += 1
      guard let host = entry["host"]?.string else { return }
      screen(entry, index, host)
    case .core:
      if entry.kind == "ui" { surface(entry, index) }
      guard let host = entry["host"]?.string else { return }
      core(entry, index, host)
    case .link, .twin, .plan: break
    }
  }

  mutating func finish() {
    for host in views.keys { leave(host, at: end, nil, nil) }
    for surface in surfaces.values { spans.append(surface) }
    for span in [absence, background, suspension] { if let span { close(span, at: end, nil) } }
  }

  // MARK: The app

  private mutating func world(_ entry: TraceEntry, _ index: Int) {
    switch entry.kind {
    case "stop":
      endApp(entry.at, index)
      absence = absence ?? open(.absent, "", entry, index)
    case "launch":
      endApp(entry.at, index)
      Reader.close(&absence, at: entry.at, index, into: &spans)
    case "background": background = background ?? open(.background, "", entry, index)
    case "foreground": Reader.close(&background, at: entry.at, index, into: &spans)
    case "suspend": suspension = suspension ?? open(.suspended, "", entry, index)
    case "resume": Reader.close(&suspension, at: entry.at, index, into: &spans)
    case "screen": if entry["fault"]?.string == "lose-stop" { stopRule = entry["rule"]?.int }
    default: break
    }
  }

  /// The process is gone, and everything with it.
  private mutating func endApp(_ at: Instant, _ index: Int) {
    for host in views.keys { leave(host, at: at, index, "the app ended") }
    for name in surfaces.keys { if let surface = surfaces[name] { close(surface, at: at, index) } }
    surfaces = OrderedMap()
    Reader.close(&background, at: at, index, into: &spans)
    Reader.close(&suspension, at: at, index, into: &spans)
  }

  private mutating func surface(_ entry: TraceEntry, _ index: Int) {
    for member in entry.fields.members where member.name != "host" {
      let isOpen = member.value.string == "open" || member.value.bool == true
      if isOpen, surfaces[member.name] == nil {
        var span = open(.surface, "", entry, index)
        span.detail = Visible.text(member.name == "reduceMotion" ? "reduced motion" : member.name)
        surfaces[member.name] = span
      } else if !isOpen, let span = surfaces[member.name] {
        close(span, at: entry.at, index)
        surfaces[member.name] = nil
      }
    }
  }

  // MARK: The list

  private mutating func screen(_ entry: TraceEntry, _ index: Int, _ host: String) {
    var view = views[host] ?? View()
    switch entry.kind {
    case "mount": if view.chat == nil { view.chat = open(.chat, host, entry, index) }
    case "unmount":
      views[host] = view
      leave(host, at: entry.at, index, "the view was left")
      return
    case "scroll": scroll(entry, index, host, &view)
    case "apply": apply(entry, index, host, &view)
    default: break
    }
    views[host] = view
  }

  private mutating func scroll(_ entry: TraceEntry, _ index: Int, _ host: String, _ view: inout View) {
    let state = entry["state"]?.string ?? ""
    if state == "jump" { marks.append(ScreenStory.Mark(kind: .jump, host: host, at: entry.at, entry: index)) }
    let isSignalled = entry["signalled"]?.bool ?? true
    if state == "rest", !isSignalled {
      marks.append(ScreenStory.Mark(kind: .lostStop, host: host, at: entry.at, entry: index, detail: stopRule.map { "fault \($0)" } ?? ""))
    }
    Reader.close(&view.motion, at: entry.at, index, into: &spans)
    let kind: ScreenStory.Span.Kind? =
      switch state {
      case "drag": .drag
      case "decelerate": .slowing
      case "follow": .follow
      case "animate": .animate
      default: nil
      }
    if let kind {
      view.motion = open(kind, host, entry, index)
      view.motion?.rule = kind == .drag ? dragRule : nil
      if kind == .drag { dragRule = nil }
    }
    if kind == .drag || kind == .slowing, view.hold != nil { keep(&view) }
    // A scroll that takes over ends what a finger or its throw kept.
    let isOver = state == "rest" || kind == .follow || kind == .animate
    if isOver, view.hold != nil, view.hold?.release == nil, !view.holdsLive {
      view.hold?.release = HeldUpdate.Release(
        kind: state == "rest" ? .rest : .scroll, at: entry.at, entry: index, isSignalled: isSignalled, rule: isSignalled ? nil : stopRule)
    }
    if state == "rest", !isSignalled { stopRule = nil }
  }

  /// Something keeps the list: the newest phase of the hold.
  private func keep(_ view: inout View) {
    view.hold?.release = nil
    var phases: [HeldUpdate.Phase] = []
    if let motion = view.motion, view.isMoving {
      phases.append(
        HeldUpdate.Phase(cause: motion.kind == .drag ? .finger : .slowing, from: motion.from, entry: motion.opened, rule: motion.rule))
    }
    if let restore = view.restore, view.holdsLive {
      phases.append(HeldUpdate.Phase(cause: .older, from: restore.from, entry: restore.opened))
    }
    for phase in phases where view.hold?.phases.contains(phase) == false { view.hold?.phases.append(phase) }
  }

  private mutating func apply(_ entry: TraceEntry, _ index: Int, _ host: String, _ view: inout View) {
    let waited = entry["held"]?.bool ?? false
    let number = entry["listVersion"]?.int ?? 0
    let before = view.applied
    if let ids = entry["ids"]?.array { view.applied = ids.compactMap(\.string) }
    marks.append(ScreenStory.Mark(kind: waited ? .heldApply : .apply, host: host, at: entry.at, entry: index, detail: "v\(number)"))
    guard let hold = view.hold, let newest = hold.versions.last, waited || number >= newest.number else { return }
    let change = Reader.change(entry, from: before)
    view.hold?.outcome = .applied(HeldUpdate.Applied(number: number, at: entry.at, entry: index, waited: waited, change: change))
    finish(&view, at: entry.at)
  }

  /// Rows that an `apply` adds, takes away or redraws, in words.
  private static func change(_ entry: TraceEntry, from before: [String]) -> String {
    func named(_ ids: [String], _ what: String) -> String? {
      if ids.isEmpty { return nil }
      let names = ids.prefix(3).map { Columns.cut(Visible.text($0), to: 40) }.joined(separator: ", ")
      return "\(Prose.count(ids.count, "row")) \(what): \(names)" + (ids.count > 3 ? ", …" : "")
    }
    if let ids = entry["ids"]?.array?.compactMap(\.string) {
      let (old, new) = (Set(before), Set(ids))
      let parts = [named(ids.filter { !old.contains($0) }, "added"), named(before.filter { !new.contains($0) }, "taken away")].compactMap {
        $0
      }
      return parts.isEmpty ? "\(Prose.count(ids.count, "row")), none added or taken away" : parts.joined(separator: "; ")
    }
    return named(entry["cells"]?.array?.compactMap(\.string) ?? [], "redrawn") ?? "nothing redrawn"
  }

  // MARK: What the core notes

  private mutating func core(_ entry: TraceEntry, _ index: Int, _ host: String) {
    var view = views[host] ?? View()
    switch entry.kind {
    case "show": view.rows = entry["rows"]?.array?.count
    case "render":
      entries += 1
      let isLive = entry["cause"]?.string == "live"
      view.rendered = (entry["listVersion"]?.int ?? 0, isLive, index)
      marks.append(
        ScreenStory.Mark(kind: isLive ? .live : .render, host: host, at: entry.at, entry: index, detail: "v\(view.rendered?.version ?? 0)"))
    case "hold": hold(entry, index, host, &view)
    case "cover.up":
      Reader.close(&view.cover, at: entry.at, index, into: &spans)
      view.cover = open(.cover, host, entry, index)
    case "cover.lift":
      let (passes, pages) = (entry["passes"]?.int, entry["pages"]?.int ?? 0)
      view.cover?.detail =
        (passes.map { Prose.count($0, "pass", "passes") } ?? "lifted") + (pages == 0 ? "" : ", \(Prose.count(pages, "older page"))")
      Reader.close(&view.cover, at: entry.at, index, into: &spans)
    case "epoch":
      marks.append(
        ScreenStory.Mark(kind: .epoch, host: host, at: entry.at, entry: index, detail: Visible.text(entry["cause"]?.string ?? "")))
      drop(&view, at: entry.at, index, "the view began anew")
    case "older.start":
      Reader.close(&view.older, at: entry.at, index, into: &spans)
      view.older = open(.older, host, entry, index)
    case "older.end":
      view.older?.detail =
        Visible.text(entry["outcome"]?.string ?? "") + (entry["added"]?.int.map { ", \(Prose.count($0, "row"))" } ?? "")
      Reader.close(&view.older, at: entry.at, index, into: &spans)
    case "anchor": anchor(entry, index, host, &view)
    case "anchor.live": free(entry, index, .live, &view)
    default: return
    }
    entries += entry.kind == "show" || entry.kind == "render" ? 0 : 1
    views[host] = view
  }

  private mutating func anchor(_ entry: TraceEntry, _ index: Int, _ host: String, _ view: inout View) {
    if entry["do"]?.string == "record" {
      Reader.close(&view.restore, at: entry.at, index, into: &spans)
      view.restore = open(.restore, host, entry, index)
      view.holdsLive = true
      if view.hold != nil { keep(&view) }
    } else {
      view.restore?.detail = Visible.text(entry["why"]?.string ?? "")
      Reader.close(&view.restore, at: entry.at, index, into: &spans)
      free(entry, index, .placed, &view)
    }
  }

  /// The older page keeps the list no longer.
  private func free(_ entry: TraceEntry, _ index: Int, _ kind: HeldUpdate.Release.Kind, _ view: inout View) {
    guard view.holdsLive else { return }
    view.holdsLive = false
    if view.hold != nil, !view.isMoving {
      view.hold?.release = HeldUpdate.Release(kind: kind, at: entry.at, entry: index, isSignalled: true)
    }
  }

  private func hold(_ entry: TraceEntry, _ index: Int, _ host: String, _ view: inout View) {
    let number = entry["listVersion"]?.int ?? 0
    let isRendered = view.rendered?.version == number
    let version = HeldUpdate.Version(
      number: number, at: entry.at, entry: index, isLive: isRendered ? view.rendered?.isLive : nil, rows: isRendered ? view.rows : nil,
      render: isRendered ? view.rendered?.entry : nil)
    if view.hold == nil {
      view.hold = HeldUpdate(id: "", host: host, versions: [version], phases: [], until: end)
      keep(&view)
      if view.hold?.phases.isEmpty == true {
        let cause: HeldUpdate.Cause = entry["why"]?.string == "restore" ? .older : .moving
        view.hold?.phases = [HeldUpdate.Phase(cause: cause, from: entry.at, entry: index)]
      }
    } else {
      view.hold?.versions.append(version)
    }
  }

  // MARK: Ends

  /// The hold has its end.
  private mutating func finish(_ view: inout View, at: Instant) {
    guard var hold = view.hold else { return }
    hold.until = at
    holds.append(hold)
    view.hold = nil
  }

  private mutating func drop(_ view: inout View, at: Instant, _ index: Int?, _ why: String?) {
    if let index, let why { view.hold?.outcome = .dropped(at: at, entry: index, why: why) }
    finish(&view, at: at)
  }

  /// The view of a host is gone.
  private mutating func leave(_ host: String, at: Instant, _ index: Int?, _ why: String?) {
    guard var view = views[host] else { return }
    drop(&view, at: at, index, why)
    Reader.close(&view.chat, at: at, index, into: &spans)
    Reader.close(&view.cover, at: at, index, into: &spans)
    Reader.close(&view.motion, at: at, index, into: &spans)
    Reader.close(&view.restore, at: at, index, into: &spans)
    Reader.close(&view.older, at: at, index, into: &spans)
    views[host] = View()
  }

  private func open(_ kind: ScreenStory.Span.Kind, _ host: String, _ entry: TraceEntry, _ index: Int) -> ScreenStory.Span {
    ScreenStory.Span(kind: kind, host: host, from: entry.at, until: end, opened: index, rule: entry["rule"]?.int)
  }

  private mutating func close(_ span: ScreenStory.Span, at: Instant, _ index: Int?) {
    var span = span
    span.until = at
    span.closed = index
    spans.append(span)
  }

  private static func close(
    _ span: inout ScreenStory.Span?, at: Instant, _ index: Int?, into spans: inout [ScreenStory.Span]
  ) {
    guard var closed = span else { return }
    closed.until = at
    closed.closed = index
    spans.append(closed)
    span = nil
  }
}
