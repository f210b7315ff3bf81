import Contract
import HBCodeDialect
import Oracles
import Simulation
import Wire

let holdClaims: [Claim] = [
  Claim(
    "HB-INV-38", "Hands off", "Nothing is put on the list while a finger drags it or it slows down after a drag.",
    per: "an update that came while a finger or its throw moved the list", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no update came while the list moved")
    for mount in ScreenStory.of(index).mounts {
      var moving: (entry: Int, state: ScreenEvent.Scroll)?
      for event in mount.events {
        switch event.what {
        case .scroll(let state):
          if state.isMoving { moving = (event.entry, state) } else if state != .jump { moving = nil }
        case .hold: if moving != nil { outcome.exercised += 1 }
        case .applied(let update):
          guard let moving else { continue }
          outcome.exercised += 1
          let began = index.entries[moving.entry].at
          outcome.breaks(
            index.entries[event.entry], nil,
            "Version \(update.version) of the rows of \(mount.host) was put on the list at \(event.at), while "
              + (moving.state == .drag ? "a finger dragged it since \(began)." : "it slowed down since \(began)."), [moving.entry])
        default: break
        }
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-39", "Newest, soon",
    "An update that waits while the list moves or an older page is put in place applies within 0.250 s of the end of that, once, in its newest version; an older version never applies.",
    per: "a held update whose list came to rest", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no held update saw its list come to rest")
    let holds = Holds.of(index)
    outcome.exercised = holds.episodes.count { $0.delay != nil } + holds.faults.count
    for episode in holds.episodes {
      guard let delay = episode.delay, !episode.isOnTime else { continue }
      outcome.breaks(
        index.entries[episode.applied], nil,
        "The held update of \(episode.host) applied at \(index.entries[episode.applied].at), \(exact(delay)) after nothing kept it any more; "
          + "\(exact(ScreenRule.heldLimit)) is the limit.", [episode.held, episode.released].compactMap(\.self))
    }
    for fault in holds.faults {
      outcome.breaks(index.entries[fault.entry], nil, fault.happened, fault.evidence)
    }
    return outcome
  },
  Claim(
    "HB-INV-40", "Only what changed",
    "With the same rows only visible cells whose content changed are drawn again, all of them; rows are added and removed by one snapshot without animation.",
    per: "an update of a list after its first", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no list was updated after its first snapshot")
    for mount in ScreenStory.of(index).mounts {
      var rows = RowLists(index)
      for event in mount.events {
        if case .render(let render) = event.what { rows.rendered(render, event) }
        guard case .applied(let update) = event.what else { continue }
        let entry = index.entries[event.entry]
        func named(_ field: String) -> [String] { (entry[field]?.array ?? []).compactMap(\.string) }
        var problems: [String] = []
        if update.isSnapshot {
          defer { rows.applied(event.entry) }
          if rows.onList == nil {
            if entry["animated"]?.bool == true { outcome.exercised += 1 } else { continue }
          } else {
            outcome.exercised += 1
            if rows.isOnList(event.entry) { problems.append("set the whole list although no row was added, removed or moved") }
          }
          if entry["animated"]?.bool == true { problems.append("was animated") }
        } else {
          outcome.exercised += 1
          let unchanged = named("unchanged")
          let offScreen = named("offscreen")
          if !unchanged.isEmpty { problems.append("drew \(listed(unchanged)) again, whose content was the same") }
          if !offScreen.isEmpty { problems.append("drew \(listed(offScreen)) again, which are not on screen") }
          if let difference = rows.difference(ofVersion: update.version) { problems.append("changed cells although \(difference)") }
        }
        let stale = named("stale")
        if !stale.isEmpty { problems.append("left \(listed(stale)) on screen with old content") }
        if problems.isEmpty { continue }
        outcome.breaks(
          entry, nil,
          "The update of \(mount.host) at \(event.at), version \(update.version), \(problems.joined(separator: ", and ")).",
          [rows.entry(ofVersion: update.version), rows.onList].compactMap(\.self))
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-41", "The collection adds nothing",
    "The rows of each snapshot on the list are the display rows of its version, in their order.",
    per: "a snapshot on the list", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no snapshot was put on a list")
    for mount in ScreenStory.of(index).mounts {
      var rows = RowLists(index)
      for event in mount.events {
        if case .render(let render) = event.what { rows.rendered(render, event) }
        guard case .applied(let update) = event.what, update.isSnapshot else { continue }
        rows.applied(event.entry)
        guard let render = rows.entry(ofVersion: update.version) else {
          outcome.exercised += 1
          outcome.breaks(
            index.entries[event.entry], nil,
            "A snapshot of version \(update.version) was put on the list of \(mount.host) at \(event.at); no such version was rendered.")
          continue
        }
        guard let show = rows.show(ofVersion: update.version) else { continue }
        outcome.exercised += 1
        if let difference = rows.difference(ofVersion: update.version) {
          outcome.breaks(
            index.entries[event.entry], nil,
            "The list of \(mount.host) at \(event.at) is not what version \(update.version) has: \(difference).", [show, render])
        }
      }
    }
    return outcome
  },
]

/// The row lists of one mount: what was rendered, and what is on the list.
struct RowLists {
  private let index: TraceIndex
  private var versions: [Int: (entry: Int, show: Int?)] = [:]
  /// The `apply` entry of the snapshot on the list.
  private(set) var onList: Int?
  private var ids: [JSON] = []
  /// The last comparison: most renders leave both sides as they were.
  private var compared: (show: Int, onList: Int, difference: String?)?

  init(_ index: TraceIndex) { self.index = index }

  mutating func rendered(_ render: ScreenEvent.Render, _ event: ScreenEvent) { versions[render.version] = (event.entry, render.show) }

  mutating func applied(_ snapshot: Int) {
    onList = snapshot
    ids = index.entries[snapshot]["ids"]?.array ?? []
  }

  /// The `render` entry of a version; nil when it was not rendered.
  func entry(ofVersion version: Int) -> Int? { versions[version]?.entry }
  /// The `show` entry with the rows of a version.
  func show(ofVersion version: Int) -> Int? { versions[version]?.show ?? nil }

  /// Whether a snapshot has the rows that are on the list.
  func isOnList(_ snapshot: Int) -> Bool { (index.entries[snapshot]["ids"]?.array ?? []) == ids }

  /// How the rows on the list differ from those of a version, in words; nil when they do not, or when one of them is not known.
  mutating func difference(ofVersion version: Int) -> String? {
    guard let show = show(ofVersion: version), let onList else { return nil }
    if let compared, compared.show == show, compared.onList == onList { return compared.difference }
    let found = difference(index.entries[show]["rows"]?.array ?? [])
    compared = (show, onList, found)
    return found
  }

  /// Whether a version has one of these rows as a live one.
  func hasLive(_ ids: [String], version: Int) -> Bool {
    guard let show = show(ofVersion: version) else { return false }
    return (index.entries[show]["rows"]?.array ?? []).contains { row in
      row["origin"]?.string == "live" && row["id"]?.string.map(ids.contains) ?? false
    }
  }

  private func difference(_ rows: [JSON]) -> String? {
    if rows.count == ids.count, zip(rows, ids).allSatisfy({ $0["id"] == $1 }) { return nil }
    let rendered = rows.compactMap { $0["id"]?.string }
    let shown = ids.compactMap(\.string)
    let (isRendered, isShown) = (Set(rendered), Set(shown))
    let missing = rendered.filter { !isShown.contains($0) }
    let added = shown.filter { !isRendered.contains($0) }
    var parts: [String] = []
    if !missing.isEmpty { parts.append("it lacks \(listed(missing))") }
    if !added.isEmpty { parts.append("it has \(listed(added)) besides") }
    if parts.isEmpty { parts.append("its rows stand in another order or more than once") }
    return "the version has \(rendered.count) rows and the list \(shown.count); " + parts.joined(separator: " and ")
  }
}

/// The updates that waited for a list, and what is wrong about them.
struct Holds: Sendable {
  struct Episode: Sendable {
    var host: String
    /// Entry and instant at which the first of its versions began to wait.
    var held: Int
    var from: Instant
    /// The entry from which on nothing kept it any more; nil when it applied all the same.
    var released: Int?
    var applied: Int
    var at: Instant
    /// From there to its apply.
    var delay: Interval?
    /// No more than 0.250 s, or the rest of a suspension.
    var isOnTime: Bool
    /// Older versions that it replaced.
    var replaced: Int
  }

  private(set) var episodes: [Episode] = []
  private(set) var faults: [ScreenProblem] = []

  static func of(_ index: TraceIndex) -> Holds { index.finding(Holds.init) }

  private init(_ index: TraceIndex) {
    let story = ScreenStory.of(index)
    for mount in story.mounts {
      var walk = Walk(index, story, mount)
      for event in mount.events { walk.take(event) }
      walk.finish()
      episodes += walk.episodes
      faults += walk.faults
    }
  }

  /// One mount.
  private struct Walk {
    private struct Held {
      var first: ScreenEvent
      var version: Int
      var replaced = 0
      /// It had to wait: the client says so, or the list did not take it at once.
      var hasWaited: Bool
    }

    private let index: TraceIndex
    private let story: ScreenStory
    private let mount: Mount
    private var rows: RowLists
    private var isMoving = false
    private var isRestoring = false
    private var held: Held?
    /// From where on nothing keeps it.
    private var released: ScreenEvent?
    private var replaced: Set<Int> = []
    /// Versions that waited and applied.
    private var done: Set<Int> = []
    private var newestApplied = Int.min
    private let texts: OverlayTexts
    /// The overlay that is taken in, that of each version, and the one whose rows the list draws.
    private var overlay: OverlayVersion?
    private var overlays: [Int: OverlayVersion] = [:]
    private var drawn: OverlayVersion?
    private var geometry: Geometry?
    private(set) var episodes: [Episode] = []
    private(set) var faults: [ScreenProblem] = []

    init(_ index: TraceIndex, _ story: ScreenStory, _ mount: Mount) {
      self.index = index
      self.story = story
      self.mount = mount
      rows = RowLists(index)
      texts = OverlayTexts.of(index)
    }

    private var isKept: Bool { isMoving || isRestoring }

    mutating func take(_ event: ScreenEvent) {
      switch event.what {
      case .scroll(let state):
        if state == .jump { return }
        if state.isMoving, !isMoving { keptAgain(event) }
        let wasMoving = isMoving
        isMoving = state.isMoving
        if wasMoving { letGo(event) }
      case .anchorRecord: isRestoring = true
      case .anchorEnd, .anchorLive:
        guard isRestoring else { return }
        isRestoring = false
        letGo(event)
      case .epoch: (held, released, isRestoring) = (nil, nil, false)
      case .render(let render):
        rows.rendered(render, event)
        overlays[render.version] = overlay
        if held != nil {
          replace(render.version)
        } else if rows.difference(ofVersion: render.version) != nil || hasChangedText(render) {
          held = Held(first: event, version: render.version, hasWaited: isKept)
          released = isKept ? nil : event
        } else if !isKept {
          drawn = overlay
        }
      case .hold(let version):
        if held == nil {
          held = Held(first: event, version: version, hasWaited: true)
        } else {
          if held?.version != version { replace(version) }
          held?.hasWaited = true
        }
        if !isKept, released == nil { released = event }
      case .applied(let update): applied(update, event)
      case .frame(let now): geometry = now
      case .taken(let version, _): overlay = version
      default: break
      }
    }

    /// Whether a live row on screen has other words in the overlay that is rendered than in the one that the list draws.
    private func hasChangedText(_ render: ScreenEvent.Render) -> Bool {
      guard let overlay, let drawn, overlay != drawn, let now = texts[mount.host, overlay], let before = texts[mount.host, drawn],
        let visible = geometry?.visible
      else { return false }
      let changed = visible.map(\.id).filter { id in now[id].map { text in before[id].map { $0 != text } ?? false } ?? false }
      if changed.isEmpty { return false }
      // Saved rows stand where they share an identity with live ones (HB-SNAP-12).
      return rows.hasLive(changed, version: render.version)
    }

    private mutating func replace(_ version: Int) {
      guard let old = held, old.version < version else { return }
      if old.hasWaited {
        replaced.insert(old.version)
        held?.replaced += 1
      }
      held?.version = version
    }

    private mutating func letGo(_ event: ScreenEvent) { if held != nil, !isKept { released = event } }

    /// A finger takes the list before a held update applied: it waits again, if its time was not over.
    private mutating func keptAgain(_ event: ScreenEvent) {
      if let released, event.at > story.due(released.at + ScreenRule.heldLimit) { neverApplied(by: event.entry) }
      released = nil
    }

    private mutating func neverApplied(by entry: Int) {
      guard let old = held, let since = released else { return }
      let due = since.at + ScreenRule.heldLimit
      let what =
        old.hasWaited
        ? "The held update of \(mount.host), version \(old.version), had not applied by \(due)"
        : "Version \(old.version) of the rows of \(mount.host), rendered at \(old.first.at), was not put on the list by \(due)"
      faults.append(
        ScreenProblem(
          entry: entry, happened: what + ", \(exact(ScreenRule.heldLimit)) after nothing kept it any more.",
          evidence: [old.first.entry, since.entry]))
      (held, released) = (nil, nil)
    }

    private mutating func applied(_ update: ScreenEvent.Update, _ event: ScreenEvent) {
      if update.isSnapshot { rows.applied(event.entry) }
      let version = update.version
      drawn = overlays[version]
      defer { newestApplied = max(newestApplied, version) }
      func fault(_ happened: String) {
        faults.append(ScreenProblem(entry: event.entry, happened: happened, evidence: [held?.first.entry].compactMap(\.self)))
      }
      if replaced.contains(version) || version < newestApplied || version < held?.version ?? version {
        let newer = max(held?.version ?? version, newestApplied)
        return fault(
          "Version \(version) of the rows of \(mount.host) was put on the list at \(event.at), although \(replaced.contains(version) ? "it had been replaced while it waited" : "version \(newer) is newer")."
        )
      }
      if done.contains(version) {
        return fault("The held update of \(mount.host), version \(version), applied a second time at \(event.at).")
      }
      guard let old = held else { return }
      let since = released
      (held, released) = (nil, nil)
      guard old.hasWaited else { return }
      done.insert(version)
      episodes.append(
        Episode(
          host: mount.host, held: old.first.entry, from: old.first.at, released: since?.entry, applied: event.entry, at: event.at,
          delay: since.map { event.at - $0.at }, isOnTime: since.map { event.at <= story.due($0.at + ScreenRule.heldLimit) } ?? true,
          replaced: old.replaced))
    }

    /// The mount is over: what was due while it lived had to have applied.
    mutating func finish() {
      guard let released, story.livedPast(story.due(released.at + ScreenRule.heldLimit), mount) else { return }
      neverApplied(by: mount.closed)
    }
  }
}

/// What the rows of each overlay that arrived say, by host, version and item id.
private struct OverlayTexts: Sendable {
  private struct Key: Hashable {
    var host: String
    var version: OverlayVersion
  }

  /// Nil where it is not sure what the client got: frames that a rule changed, two overlays of one version.
  private var texts: [Key: [String: String]?] = [:]

  static func of(_ index: TraceIndex) -> OverlayTexts { index.finding(OverlayTexts.init) }

  subscript(host: String, version: OverlayVersion) -> [String: String]? { texts[Key(host: host, version: version)] ?? nil }

  private init(_ index: TraceIndex) {
    for frame in index.frames where frame.direction == .in && !frame.arrivals.isEmpty {
      let isSnapshot = frame.role == .response && [.load, .loadThread].contains(Method(rawValue: frame.name))
      guard isSnapshot || frame.name == EventName.timelineOverlay.rawValue,
        let version = OverlayVersion(index.entries[frame.entry], "settlementEpoch")
      else { continue }
      let key = Key(host: index.entries[frame.entry].wireHost, version: version)
      let isChanged = frame.faults.contains { ["corrupt", "truncate", "replace"].contains(index.entries[$0].kind) }
      let json = isChanged ? nil : index.content(ofEntry: frame.entry)
      let blocks = (json?["result"]?["liveOverlay"] ?? json)?["blocks"]?.array
      let new = blocks.map { rows in
        Dictionary(rows.compactMap { row in itemID(row).map { ($0, (row["title"]?.string ?? "") + "\n" + (row["text"]?.string ?? "")) } }) {
          $1
        }
      }
      if let known = texts[key], known != new { texts[key] = .some(nil) } else { texts[key] = .some(new) }
    }
  }
}
