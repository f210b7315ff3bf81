import Contract
import HBCodeDialect
import Oracles
import Simulation
import Wire

let olderPageClaims: [Claim] = [
  Claim(
    "HB-INV-42", "Anchor",
    "When an older page was put above them, the first visible row is back in its place within 0.5 pt, and stays there until the user, a scroll command or a change above it moves it.",
    per: "an older page put in place without a drag", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no older page was put in place on an uncovered list, or a finger ended each")
    for restore in Restores.of(index).all where restore.isJudged || restore.problem != nil {
      outcome.exercised += 1
      guard let problem = restore.problem else { continue }
      outcome.breaks(index.entries[problem.entry], nil, problem.happened, [restore.record] + problem.evidence)
    }
    return outcome
  },
  Claim(
    "HB-INV-43", "Held live", "While an older page is put in place no live change applies; that lasts 1.5 s at most.",
    per: "an older page put in place while live changes came", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no live change came while an older page was put in place")
    for restore in Restores.of(index).all where restore.hasLiveChange || restore.holdProblem != nil {
      outcome.exercised += 1
      guard let problem = restore.holdProblem else { continue }
      outcome.breaks(index.entries[problem.entry], nil, problem.happened, [restore.record] + problem.evidence)
    }
    return outcome
  },
  Claim(
    "HB-INV-46", "Older loads",
    "A list that scrolls asks for older pages 0.25 s apart at least, one at a time unless the one before is 8 s old; the rows of one that is older never come on screen.",
    per: "an older page that blocked another one near the top, or that came too late", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no older page blocked another one or came too late")
    var walk = OlderLoads(index)
    for entry in index.entries { walk.take(entry, &outcome) }
    return outcome
  },
]

/// The older pages that were put in place above the rows on screen.
struct Restores: Sendable {
  struct Restore: Sendable {
    var host: String
    /// The `anchor` entry that records the row.
    var record: Int
    var at: Instant
    var row: String
    var y: Double
    /// The `anchor` entry of its end.
    var end: (entry: Int, at: Instant)?
    /// How far the row was from its place at the end; nil when that cannot be said, or when the place lies outside of the scroll range.
    var drift: Double?
    /// Nothing but the page moved the list, and the wanted place lies in the scroll range.
    var isJudged = false
    var problem: ScreenProblem?
    /// A live change had to wait while the page was put in place.
    var hasLiveChange = false
    var holdProblem: ScreenProblem?
  }

  private(set) var all: [Restore] = []

  static func of(_ index: TraceIndex) -> Restores { index.finding(Restores.init) }

  private init(_ index: TraceIndex) {
    let story = ScreenStory.of(index)
    for mount in story.mounts {
      var walk = Walk(index, story, mount)
      for event in mount.events { walk.take(event) }
      walk.finish()
      all += walk.restores
    }
  }

  /// One mount.
  private struct Walk {
    private let index: TraceIndex
    private let story: ScreenStory
    private let mount: Mount
    private(set) var restores: [Restore] = []
    private var geometry: Geometry?
    private var snapshot: Int?
    private var renders: [Int: (entry: Int, isLive: Bool, liveChanges: Int)] = [:]
    private var liveChanges = 0
    /// Of the restore that is under way.
    private var isRestoring = false
    private var isMoved = false
    private var passes = 0
    /// Version of the page's own update, and from when on live rows may apply again.
    private var own: Int?
    private var holdsLive = false
    /// The restore is over and its row has to stay in place.
    private var isWatched = false

    /// Settle passes of one restore (HB-OLDER-05).
    private static let mostPasses = 8
    private static let longestHold = Interval.milliseconds(1_500)

    init(_ index: TraceIndex, _ story: ScreenStory, _ mount: Mount) {
      self.index = index
      self.story = story
      self.mount = mount
    }

    private var last: Int { restores.count - 1 }

    mutating func take(_ event: ScreenEvent) {
      if holdsLive { checkHold(event) }
      switch event.what {
      case .anchorRecord(let id, let y):
        restores.append(Restore(host: mount.host, record: event.entry, at: event.at, row: id, y: y))
        (isRestoring, isMoved, passes, own, holdsLive, isWatched) = (true, false, 0, nil, true, false)
        checkRecord()
      case .anchorEnd(let why):
        guard isRestoring else { return }
        (isRestoring, holdsLive) = (false, false)
        restores[last].end = (event.entry, event.at)
        if !isMoved, why != "epoch", why != "unmount" { judge(event, isEnd: true) }
      case .anchorLive: holdsLive = false
      case .epoch: (isRestoring, holdsLive, isWatched) = (false, false, false)
      case .pass(let use, _):
        guard isRestoring, use == "restore" else { return }
        passes += 1
        if passes == Walk.mostPasses + 1, restores[last].problem == nil {
          restores[last].problem = ScreenProblem(
            entry: event.entry,
            happened: "The older page of \(mount.host) put in place at \(restores[last].at) takes more than \(Walk.mostPasses) passes.",
            evidence: [])
        }
      case .scroll(let state): if state != .rest { (isMoved, isWatched) = (true, false) }
      case .taken(_, true): liveChanges += 1
      case .render(let render):
        renders[render.version] = (event.entry, render.isLive, liveChanges)
      case .hold(let version):
        if holdsLive, own != nil, isLive(version) { restores[last].hasLiveChange = true }
      case .applied(let update): applied(update, event)
      case .frame(let now):
        if isWatched, let geometry, Walk.hasOtherHeights(geometry, now, above: restores[last].row) { isWatched = false }
        geometry = now
        if isWatched { judge(event, isEnd: false) }
      default: break
      }
    }

    /// The row that is kept in place is the first visible one, where it is (HB-OLDER-03).
    private mutating func checkRecord() {
      guard let first = geometry?.visible.first, let y = geometry?.y(first.id) else { return }
      let restore = restores[last]
      if first.id != restore.row {
        restores[last].problem = ScreenProblem(
          entry: restore.record,
          happened:
            "The older page of \(mount.host) at \(restore.at) keeps \(restore.row) in place; the first visible row was \(first.id).",
          evidence: [])
      } else if (y - restore.y).magnitude > ScreenRule.tolerance {
        restores[last].problem = ScreenProblem(
          entry: restore.record,
          happened: "The older page of \(mount.host) at \(restore.at) puts \(restore.row) at \(points(restore.y)); it was at \(points(y)).",
          evidence: [])
      }
    }

    private mutating func judge(_ event: ScreenEvent, isEnd: Bool) {
      guard let geometry, restores[last].problem == nil else { return }
      let restore = restores[last]
      let y = geometry.y(restore.row)
      let drift = y.map { ($0 - restore.y).magnitude }
      let isOff = drift.map { $0 > ScreenRule.tolerance + 1e-9 } ?? true
      // A place outside of the scroll range cannot be had.
      if isOff, geometry.isAtEdge {
        isWatched = false
        return
      }
      if isEnd {
        restores[last].isJudged = true
        restores[last].drift = drift
        isWatched = !isOff
      }
      guard isOff else { return }
      isWatched = false
      let place = y.map { "was at \(points($0)) instead of \(points(restore.y)), \(points(drift ?? 0)) off" } ?? "was not on screen"
      let moment =
        isEnd
        ? "when the older page of \(restore.at) was in place" : "although nothing had moved the list since an older page was put in place"
      restores[last].problem = ScreenProblem(
        entry: event.entry,
        happened: "Row \(restore.row) of \(mount.host) \(place) at \(event.at), \(moment); \(points(ScreenRule.tolerance)) is the limit.",
        evidence: [restore.end?.entry].compactMap(\.self))
    }

    private mutating func applied(_ update: ScreenEvent.Update, _ event: ScreenEvent) {
      defer { if update.isSnapshot { snapshot = event.entry } }
      if isWatched, changesAbove(update, event) { isWatched = false }
      guard holdsLive else { return }
      guard own != nil else {
        own = update.version
        return
      }
      guard isLive(update.version), restores[last].holdProblem == nil else { return }
      let render = renders[update.version]
      restores[last].holdProblem = ScreenProblem(
        entry: event.entry,
        happened:
          "A live change of \(mount.host), version \(update.version), applied at \(event.at) while the older page of \(restores[last].at) was put in place.",
        evidence: [render?.entry].compactMap(\.self))
    }

    /// Whether a version brings live changes that the page's own update did not have.
    private func isLive(_ version: Int) -> Bool {
      guard let render = renders[version] else { return true }
      return render.isLive || render.liveChanges > own.flatMap { renders[$0]?.liveChanges } ?? 0
    }

    /// Whether an update touches rows above the one that was kept in place.
    private func changesAbove(_ update: ScreenEvent.Update, _ event: ScreenEvent) -> Bool {
      let row = JSON.string(restores[last].row)
      let before = (snapshot.flatMap { index.entries[$0]["ids"]?.array } ?? []).prefix { $0 != row }
      if update.isSnapshot { return (index.entries[event.entry]["ids"]?.array ?? []).prefix { $0 != row } != before }
      let cells = Set((index.entries[event.entry]["cells"]?.array ?? []).compactMap(\.string))
      return before.contains { $0.string.map(cells.contains) ?? false }
    }

    /// Whether a row on screen above that one has another height than before: its Markdown is prepared.
    private static func hasOtherHeights(_ before: Geometry, _ now: Geometry, above row: String) -> Bool {
      before.visible.prefix { $0.id != row }.contains { old in
        now.visible.contains { $0.id == old.id && ($0.height - old.height).magnitude > ScreenRule.tolerance }
      }
    }

    private mutating func checkHold(_ event: ScreenEvent) {
      guard event.at > story.due(restores[last].at + Walk.longestHold) else { return }
      heldTooLong(by: event.entry)
    }

    private mutating func heldTooLong(by entry: Int) {
      holdsLive = false
      if restores[last].holdProblem != nil { return }
      restores[last].holdProblem = ScreenProblem(
        entry: entry,
        happened:
          "Live rows of \(mount.host) are held since the older page of \(restores[last].at) and were not released within \(exact(Walk.longestHold)).",
        evidence: [])
    }

    mutating func finish() {
      if holdsLive, story.livedPast(story.due(restores[last].at + Walk.longestHold), mount) { heldTooLong(by: mount.closed) }
    }
  }
}

/// Requests for older pages and their answers, entry by entry.
private struct OlderLoads {
  private struct Page {
    var ask: Ask
    /// Something near the top happened while it blocked.
    var hasBlocked = false
  }

  private static let spacing = Interval.milliseconds(250)
  private static let stale = Interval.seconds(8)

  private let index: TraceIndex
  private var lives = HostLives()
  private var asks: [Int: Ask] = [:]
  /// Requests for rows by the entries of their answers.
  private var requests: [Int: Ask] = [:]
  private var last: [String: Page] = [:]
  private var covered: Set<String> = []
  /// The last advance of the presentation epoch of each host: pages of before have nothing to say any more (HB-EPOCH-03).
  private var epochs: [String: Int] = [:]
  /// The same, or the end of its list: no page is under way any more.
  private var ends: [String: Int] = [:]
  /// Item ids that an answer in time brought, or that were shown, by host.
  private var known: [String: Set<String>] = [:]
  /// Those that only a page brought that came too late, with its arrival.
  private var barred: [String: [String: Int]] = [:]

  init(_ index: TraceIndex) {
    self.index = index
    for ask in Evidence(index).asks where ask.isOlderPage || ask.method == .load || ask.method == .loadThread { asks[ask.entry] = ask }
    for exchange in index.exchanges {
      guard let ask = asks[index.frames[exchange.request].entry] else { continue }
      for response in exchange.responses { requests[index.frames[response].entry] = ask }
    }
  }

  mutating func take(_ entry: TraceEntry, _ outcome: inout ClaimOutcome) {
    switch lives.ended(by: entry) {
    case .all?: (last, covered, epochs, ends, known, barred) = ([:], [], [:], [:], [:], [:])
    case .one(let host)?: (last[host], known[host], barred[host]) = (nil, nil, nil)
    case nil: break
    }
    switch (entry.party, entry.kind) {
    case (.link, "send"): if let ask = asks[entry.index], ask.isOlderPage { asked(ask, entry, &outcome) }
    case (.link, "arrive"):
      if entry["dir"]?.string == Direction.in.rawValue, let of = entry["of"]?.int, let ask = requests[of] {
        answered(ask, of, entry, &outcome)
      }
    case (.core, "cover.up"): if let host = entry["host"]?.string { covered.insert(host) }
    case (.core, "cover.lift"), (.screen, "mount"): if let host = entry["host"]?.string { covered.remove(host) }
    case (.core, "epoch"):
      if let host = entry["host"]?.string { (epochs[host], ends[host]) = (entry.index, entry.index) }
    case (.screen, "unmount"): if let host = entry["host"]?.string { ends[host] = entry.index }
    case (.core, "show"): shown(entry, &outcome)
    case (.screen, "frame"): moved(entry, &outcome)
    default: break
    }
  }

  /// Whether a page still keeps another one from being asked for.
  private func blocks(_ page: Page, _ entry: TraceEntry) -> Bool {
    if entry.at < page.ask.at + OlderLoads.spacing { return true }
    return isInFlight(page, entry)
  }

  private func isInFlight(_ page: Page, _ entry: TraceEntry) -> Bool {
    entry.at < page.ask.at + OlderLoads.stale && !page.ask.hasEnded(by: entry.index, at: entry.at)
      && ends[page.ask.host].map { $0 < page.ask.entry } ?? true
  }

  private mutating func asked(_ ask: Ask, _ entry: TraceEntry, _ outcome: inout ClaimOutcome) {
    defer { last[ask.host] = Page(ask: ask) }
    guard let before = last[ask.host] else { return }
    let gap = ask.at - before.ask.at
    let happened: String
    // A reveal asks when its layout is still (HB-REVEAL-06): the spacing is one of scrolling (HB-OLDER-01).
    if gap < OlderLoads.spacing, !covered.contains(ask.host) {
      happened =
        "Two older pages of \(ask.host) were asked for \(exact(gap)) apart, at \(before.ask.at) and \(ask.at); \(exact(OlderLoads.spacing)) is the least."
    } else if isInFlight(before, entry) {
      happened =
        "An older page of \(ask.host) was asked for at \(ask.at) while that of \(before.ask.at) was under way, \(exact(gap)) old; it is stale after \(exact(OlderLoads.stale))."
    } else {
      return
    }
    if !before.hasBlocked { outcome.exercised += 1 }
    outcome.breaks(entry, nil, happened, [before.ask.entry])
  }

  /// A client without the rule would ask again here.
  private mutating func moved(_ entry: TraceEntry, _ outcome: inout ClaimOutcome) {
    guard let host = entry["host"]?.string, let page = last[host], !page.hasBlocked, !covered.contains(host),
      let offset = entry["offset"]?.double, offset + ScreenRule.insetTop <= ScreenRule.nearTop, blocks(page, entry)
    else { return }
    last[host]?.hasBlocked = true
    outcome.exercised += 1
  }

  private mutating func answered(_ ask: Ask, _ sent: Int, _ entry: TraceEntry, _ outcome: inout ClaimOutcome) {
    guard let rows = index.content(ofEntry: sent)?["result"]?["timeline"]?.array else { return }
    let ids = rows.compactMap(itemID)
    let isFenced = epochs[ask.host].map { $0 > ask.entry } ?? false
    let isLate = ask.isOlderPage && (entry.at > ask.at + OlderLoads.stale || isFenced)
    if !isLate || entry["changed"]?.bool == true {
      for id in ids {
        known[ask.host, default: []].insert(id)
        barred[ask.host]?[id] = nil
      }
      return
    }
    let new = ids.filter { !(known[ask.host]?.contains($0) ?? false) }
    if new.isEmpty { return }
    outcome.exercised += 1
    for id in new { barred[ask.host, default: [:]][id] = entry.index }
  }

  private mutating func shown(_ entry: TraceEntry, _ outcome: inout ClaimOutcome) {
    guard let host = entry["host"]?.string else { return }
    for row in entry["rows"]?.array ?? [] {
      guard row["origin"]?.string == "canonical", let id = row["id"]?.string else { continue }
      guard let arrival = barred[host]?[id] else {
        known[host, default: []].insert(id)
        continue
      }
      outcome.breaks(
        entry, nil,
        "Row \(id) of \(host) came on screen at \(entry.at) by an older page that arrived at \(index.entries[arrival].at), when it had nothing to say any more.",
        [arrival])
      // Once for each page.
      barred[host] = barred[host]?.filter { $0.value != arrival }
    }
  }
}
