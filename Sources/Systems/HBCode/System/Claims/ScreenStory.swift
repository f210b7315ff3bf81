import Contract
import HBCodeDialect
import Oracles
import Simulation
import Wire

/// The screen of spec G.2 and the limits that claims on it know.
enum ScreenRule {
  static let insetTop = 47.0
  static let insetBottom = 159.0
  static let height = 844.0
  /// Lengths that differ by no more than this are the same (HB-INV-42, HB-INV-45).
  static let tolerance = 0.5
  /// How near the top an older page is asked for (HB-OLDER-01).
  static let nearTop = 1_800.0
  /// Least distance of a live render from the render before it (HB-INV-35), and while the composer or a preview is open.
  static let liveInterval = Interval(nanoseconds: 166_666_667)
  static let slowInterval = Interval.milliseconds(500)
  /// A held update applies this soon after nothing keeps it any more (HB-INV-39).
  static let heldLimit = Interval.milliseconds(250)
  static let passInterval = Interval.milliseconds(32)
  static let mostCoverPasses = 63
  static var longestCover: Interval { passInterval * Int64(mostCoverPasses) }
}

/// Something that the screen did and should not have.
struct ScreenProblem: Sendable {
  /// The trace entry that decides.
  var entry: Int
  var happened: String
  var evidence: [Int]
}

/// Where the rows of a list were after an event or a display frame, by the virtual screen's own record.
struct Geometry: Sendable {
  struct Placed: Sendable {
    var id: String
    var top: Double
    var height: Double
  }

  var offset: Double
  var contentHeight: Double
  var visible: [Placed]

  /// Greatest offset (spec G.2).
  var bottom: Double { max(-ScreenRule.insetTop, contentHeight - ScreenRule.height + ScreenRule.insetBottom) }
  var distanceToBottom: Double { bottom - offset }
  var aboveScreen: Double { offset + ScreenRule.insetTop }
  /// The offset is at an end of its range, where a wanted one may have been cut off.
  var isAtEdge: Bool { distanceToBottom <= 0.001 || aboveScreen <= 0.001 }

  /// How far below the top of the screen a visible row begins.
  func y(_ id: String) -> Double? { visible.first { $0.id == id }.map { $0.top - offset } }
}

/// One thing that happened to a list while it was on screen.
struct ScreenEvent: Sendable {
  enum Scroll: String, Sendable {
    case drag, decelerate, rest, follow, animate, jump

    /// A finger or its throw moves the list: no rest (spec E.2).
    var isMoving: Bool { self == .drag || self == .decelerate }
  }

  struct Render: Sendable {
    var version: Int
    var isLive: Bool
    var interval: Interval
    /// Entry of the `show` in force; nil when none was seen.
    var show: Int?
  }

  struct Update: Sendable {
    var version: Int
    var isSnapshot: Bool
    var isHeld: Bool
  }

  enum Happening: Sendable {
    case scroll(Scroll)
    case applied(Update)
    case frame(Geometry)
    case pass(use: String, verdict: String)
    case render(Render)
    case hold(version: Int)
    case coverUp
    case coverLift
    case epoch
    case anchorRecord(id: String, y: Double)
    case anchorEnd(why: String)
    /// Live rows go on although the restore is not over.
    case anchorLive
    /// The desktop sent a version of the overlay.
    case changed(OverlayVersion)
    /// The client took a version of the overlay in.
    case taken(OverlayVersion, isEvent: Bool)
    /// The phone asked for an older page: place in `Evidence.asks`.
    case askedOlder(Int)
    /// Live changes wait 0.5 s for each other from here on, or no longer.
    case slow(Bool)
  }

  let entry: Int
  let at: Instant
  let what: Happening
}

/// The list of one chat from `mount` to its end.
struct Mount: Sendable {
  enum Ending: Sendable {
    case unmounted
    /// The process ended, or the list was mounted anew.
    case stopped
    /// The trace ended first.
    case open
  }

  let host: String
  let opened: Int
  let from: Instant
  /// The presentation epoch advanced at the instant of the mount, before it.
  let epoch: Int?
  var until: Instant
  /// The entry that ends it: the last one of the trace where nothing does.
  var closed: Int
  var ending = Ending.open
  var events: [ScreenEvent] = []
}

/// The lists that were on screen, in order, each with what happened to it. O(n); found once for all claims and figures.
struct ScreenStory: Sendable {
  private(set) var mounts: [Mount] = []
  /// Stretches in which the process was suspended.
  let sleeps: [StateInterval]
  let end: Instant

  static func of(_ index: TraceIndex) -> ScreenStory { index.finding(ScreenStory.init) }

  private init(_ index: TraceIndex) {
    end = index.end
    sleeps = index.intervals(
      from: { $0.party == .world && $0.kind == "suspend" }, to: { $0.party == .world && ["resume", "stop", "launch"].contains($0.kind) })
    var reader = Reader(index)
    for entry in index.entries { reader.read(entry) }
    mounts = reader.mounts
  }

  /// When something that was due at an instant happens at the latest: at the end of a suspension that it falls into.
  func due(_ instant: Instant) -> Instant {
    var low = 0
    var high = sleeps.count
    while low < high {
      let middle = (low + high) / 2
      if sleeps[middle].until < instant { low = middle + 1 } else { high = middle }
    }
    return low < sleeps.count && sleeps[low].from <= instant ? sleeps[low].until : instant
  }

  /// When the process has run for this long since `from`: suspensions do not count, and one that begins at the last instant delays it.
  func running(_ length: Interval, since from: Instant) -> Instant {
    var end = from + length
    for sleep in sleeps where sleep.until > from && sleep.from <= end { end = end + (sleep.until - max(sleep.from, from)) }
    return end
  }

  /// Whether something happened when it was due, or at the end of the suspension that this falls into.
  func isOnTime(_ instant: Instant, due: Instant) -> Bool { instant <= self.due(due) }

  /// Whether the list lived past an instant, so that what was due by then had to have happened.
  func livedPast(_ instant: Instant, _ mount: Mount) -> Bool {
    mount.ending == .open ? end >= instant : mount.until > instant
  }

  /// Walks the entries of a trace.
  private struct Reader {
    private let index: TraceIndex
    private(set) var mounts: [Mount] = []
    /// Places in `mounts` of the lists that are on screen.
    private var open = OrderedMap<String, Int>()
    private var geometry: [String: Geometry] = [:]
    private var shows: [String: Int] = [:]
    private var epochs: [String: Int] = [:]
    /// Places in `Evidence.asks` of requests for older pages, by entry.
    private var olderAsks: [Int: Int] = [:]
    private var isComposerOpen = false
    private var isPreviewOpen = false

    init(_ index: TraceIndex) {
      self.index = index
      for (position, ask) in Evidence(index).asks.enumerated() where ask.isOlderPage { olderAsks[ask.entry] = position }
    }

    mutating func read(_ entry: TraceEntry) {
      switch entry.party {
      case .screen: if let host = entry["host"]?.string { readScreen(entry, host) }
      case .core: if let host = entry["host"]?.string { readCore(entry, host) }
      case .link: if entry.kind == "send" { readSend(entry) }
      case .user: if entry.kind == "gesture" { readGesture(entry) }
      case .world:
        guard entry.kind == "stop" || entry.kind == "launch" else { return }
        for host in open.keys { close(host, entry, .stopped) }
        (shows, epochs, isComposerOpen, isPreviewOpen) = ([:], [:], false, false)
      case .twin, .plan: break
      }
    }

    private mutating func add(_ entry: TraceEntry, _ host: String, _ what: ScreenEvent.Happening) {
      guard let place = open[host] else { return }
      mounts[place].events.append(ScreenEvent(entry: entry.index, at: entry.at, what: what))
    }

    private mutating func close(_ host: String, _ entry: TraceEntry, _ ending: Mount.Ending) {
      guard let place = open[host] else { return }
      open[host] = nil
      geometry[host] = nil
      mounts[place].until = entry.at
      mounts[place].closed = entry.index
      mounts[place].ending = ending
    }

    private mutating func readScreen(_ entry: TraceEntry, _ host: String) {
      switch entry.kind {
      case "mount":
        close(host, entry, .stopped)
        let epoch = epochs[host].flatMap { index.entries[$0].at == entry.at ? $0 : nil }
        open[host] = mounts.count
        mounts.append(
          Mount(host: host, opened: entry.index, from: entry.at, epoch: epoch, until: index.end, closed: index.entries.count - 1))
        if isComposerOpen || isPreviewOpen { add(entry, host, .slow(true)) }
      case "unmount": close(host, entry, .unmounted)
      case "scroll":
        if let state = entry["state"]?.string.flatMap(ScreenEvent.Scroll.init(rawValue:)) { add(entry, host, .scroll(state)) }
      case "apply":
        guard let version = entry["listVersion"]?.int else { return }
        let update = ScreenEvent.Update(
          version: version, isSnapshot: entry["mode"]?.string == "snapshot", isHeld: entry["held"]?.bool ?? false)
        add(entry, host, .applied(update))
      case "frame":
        guard open[host] != nil, let now = geometry(of: entry, after: geometry[host]) else { return }
        geometry[host] = now
        add(entry, host, .frame(now))
      case "pass": add(entry, host, .pass(use: entry["use"]?.string ?? "", verdict: entry["verdict"]?.string ?? ""))
      default: break
      }
    }

    /// Rows that stand as before are left out.
    private func geometry(of entry: TraceEntry, after last: Geometry?) -> Geometry? {
      guard let offset = entry["offset"]?.double, let contentHeight = entry["contentHeight"]?.double else { return nil }
      let visible = entry["visible"]?.array?.compactMap { row -> Geometry.Placed? in
        guard let id = row["id"]?.string, let top = row["top"]?.double, let height = row["height"]?.double else { return nil }
        return Geometry.Placed(id: id, top: top, height: height)
      }
      return Geometry(offset: offset, contentHeight: contentHeight, visible: visible ?? last?.visible ?? [])
    }

    private mutating func readCore(_ entry: TraceEntry, _ host: String) {
      switch entry.kind {
      case "show": shows[host] = entry.index
      case "epoch":
        epochs[host] = entry.index
        add(entry, host, .epoch)
      case "render":
        guard let version = entry["listVersion"]?.int else { return }
        let render = ScreenEvent.Render(
          version: version, isLive: entry["cause"]?.string == "live", interval: .nanoseconds(entry["intervalNs"]?.integer ?? 0),
          show: shows[host])
        add(entry, host, .render(render))
      case "hold": if let version = entry["listVersion"]?.int { add(entry, host, .hold(version: version)) }
      case "cover.up": add(entry, host, .coverUp)
      case "cover.lift": add(entry, host, .coverLift)
      case "anchor":
        if entry["do"]?.string == "record", let id = entry["id"]?.string, let y = entry["y"]?.double {
          add(entry, host, .anchorRecord(id: id, y: y))
        } else if entry["do"]?.string == "end" {
          add(entry, host, .anchorEnd(why: entry["why"]?.string ?? ""))
        }
      case "anchor.live": add(entry, host, .anchorLive)
      case "overlay":
        if let version = OverlayVersion(entry, "epoch") {
          add(entry, host, .taken(version, isEvent: entry["source"]?.string == "event"))
        }
      default: break
      }
    }

    private mutating func readSend(_ entry: TraceEntry) {
      if let position = olderAsks[entry.index] {
        add(entry, entry.wireHost, .askedOlder(position))
      } else if entry["dir"]?.string == Direction.in.rawValue, entry["name"]?.string == EventName.timelineOverlay.rawValue,
        let version = OverlayVersion(entry, "settlementEpoch")
      {
        add(entry, entry.wireHost, .changed(version))
      }
    }

    private mutating func readGesture(_ entry: TraceEntry) {
      let wasSlow = isComposerOpen || isPreviewOpen
      switch entry["do"]?.string {
      case "openComposer": isComposerOpen = true
      case "closeComposer": isComposerOpen = false
      case "openPreview": isPreviewOpen = true
      case "closePreview": isPreviewOpen = false
      default: return
      }
      let isSlow = isComposerOpen || isPreviewOpen
      if isSlow != wasSlow { for host in open.keys { add(entry, host, .slow(isSlow)) } }
    }
  }
}

extension OverlayVersion {
  /// The version that an entry names, its epoch under this name.
  init?(_ entry: TraceEntry, _ epochName: String) {
    guard let epoch = entry[epochName]?.integer, let revision = entry["revision"]?.integer else { return nil }
    self.init(epoch: epoch, revision: revision)
  }
}

extension TraceEntry {
  /// Name of the view model that a wire entry of a session or thread is about.
  var wireHost: String {
    let session = self["sessionId"]?.string ?? ""
    return self["threadId"]?.string.map { "\(session)/\($0)" } ?? session
  }
}

extension Ask {
  var isOlderPage: Bool { method == .loadPageBefore || method == .loadThreadPageBefore }

  /// Whether the client had its answer, its loss or its time limit when an entry was written.
  func hasEnded(by entry: Int, at: Instant) -> Bool {
    switch ending {
    case .answered(let got): got.entry < entry
    case .dropped(_, let loss): loss < entry
    case .stopped(_, let stop): stop < entry
    case .timedOut(let limit): limit <= at
    case .open: false
    }
  }
}

// MARK: - Words

/// A time with as many places as it needs, three at least: `0.250 s`, `0.166666667 s`.
func exact(_ time: Interval) -> String {
  let magnitude = time.nanoseconds.magnitude
  var fraction = String(magnitude % 1_000_000_000)
  fraction = String(repeating: "0", count: 9 - fraction.utf8.count) + fraction
  while fraction.utf8.count > 3, fraction.hasSuffix("0") { fraction.removeLast() }
  return "\(time < .zero ? "-" : "")\(magnitude / 1_000_000_000).\(fraction) s"
}

/// A length as traces have it: `0.51 pt`.
func points(_ length: Double) -> String { JSONWriter.text(.points(length)) + " pt" }

/// The first few of some names, with the number of the rest.
func listed(_ names: [String], most: Int = 3) -> String {
  let rest = names.count - most
  return names.prefix(most).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
}

func ordinal(_ n: Int) -> String {
  switch (n % 10, n % 100) {
  case (1, let last) where last != 11: "\(n)st"
  case (2, let last) where last != 12: "\(n)nd"
  case (3, let last) where last != 13: "\(n)rd"
  default: "\(n)th"
  }
}
