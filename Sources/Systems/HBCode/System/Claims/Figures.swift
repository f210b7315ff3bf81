import Contract
import HBCodeDialect
import Simulation
import Wire

/// What the screen did, in numbers (DESIGN.md 7). A figure stands in a report only if the run has values for it; one without a limit in the
/// specification has none.
package enum HBCodeFigures {
  package static func all(_ trace: Trace) -> [Figure] {
    let index = TraceIndex(trace)
    return cadence(index) + shown(index) + holds(index) + covers(index)
      + [drift(index), shift(index), rowsAway(index), followSpeed(index)].compactMap(\.self)
  }

  // MARK: Cadence

  private static func cadence(_ index: TraceIndex) -> [Figure] {
    func figure(_ renders: [Cadence.LiveRender], _ id: String, _ title: String, _ definition: String, most: Int) -> Figure? {
      if renders.isEmpty { return nil }
      let value = renders.map(\.inSecond).max() ?? 0
      return Figure(
        id: id, title: title, definition: definition, value: Double(value), unit: "renders", limit: "\(most)", held: value <= most,
        samples: renders.map { Figure.Sample(at: $0.at, value: Double($0.inSecond), entry: $0.entry) }, chart: .series, bound: Double(most))
    }
    let renders = Cadence.of(index).renders
    return [
      figure(
        renders.filter { !$0.isSlow }, "hbcode.cadence", "Cadence of live renders",
        "Live changes drawn within one second, in the fullest second; each value counts the second that ends with a render.", most: 6),
      figure(
        renders.filter(\.isSlow), "hbcode.cadence-slow", "Cadence, composer or preview open",
        "The same while the composer or a preview is open.", most: 2),
    ].compactMap(\.self)
  }

  // MARK: From server change to screen

  private static func shown(_ index: TraceIndex) -> [Figure] {
    let changes = ShownChanges(ScreenStory.of(index)).all
    func figure(_ changes: [ShownChanges.Change], _ id: String, _ title: String, _ definition: String) -> Figure? {
      if changes.isEmpty { return nil }
      let samples = changes.map { Figure.Sample(at: $0.shown, value: milliseconds($0.shown - $0.sent), entry: $0.apply) }
      return Figure(
        id: id, title: title, definition: definition, value: median(samples.map(\.value)), unit: "ms", samples: samples, chart: .histogram)
    }
    return [
      figure(
        changes.filter { !$0.wasHeld }, "hbcode.shown-after", "Time from server change to shown, median",
        "From the instant at which the desktop sent a change of the live overlay of the chat on screen, lost or not, to the first update of the list that has "
          + "it or a newer one. Changes that touch no visible row are left out."),
      figure(
        changes.filter(\.wasHeld), "hbcode.shown-after-hold", "Time to shown of held changes, median",
        "The same for changes that had to wait until the list was at rest or an older page in place."),
    ].compactMap(\.self)
  }

  // MARK: Holds

  private static func holds(_ index: TraceIndex) -> [Figure] {
    let episodes = Holds.of(index).episodes
    if episodes.isEmpty { return [] }
    let lengths = episodes.map { Figure.Sample(at: $0.at, value: seconds($0.at - $0.from), entry: $0.applied) }
    let count = episodes.count
    let replaced = episodes.reduce(0) { $0 + $1.replaced }
    var figures = [
      Figure(
        id: "hbcode.hold", title: "Held updates, longest",
        definition:
          "From the first update that had to wait while the list moved or an older page was put in place to the apply of the newest one. "
          + "\(count) \(count == 1 ? "hold" : "holds"), \(replaced) older \(replaced == 1 ? "version" : "versions") replaced.",
        value: lengths.map(\.value).max() ?? 0, unit: "s", samples: lengths, chart: .spans)
    ]
    let delays = episodes.compactMap { episode in
      episode.delay.map { Figure.Sample(at: episode.at, value: seconds($0), entry: episode.applied) }
    }
    if !delays.isEmpty {
      figures.append(
        Figure(
          id: "hbcode.hold-after-rest", title: "Held updates, after rest",
          definition: "From the end of what kept a held update to its apply, the longest.", value: delays.map(\.value).max() ?? 0,
          unit: "s",
          limit: "0.250 s", held: episodes.allSatisfy(\.isOnTime), samples: delays, chart: .series, bound: 0.25))
    }
    return figures
  }

  // MARK: Covers

  private static func covers(_ index: TraceIndex) -> [Figure] {
    let lifted = Covers.of(index).all.compactMap { cover in cover.lift.map { (cover: cover, lift: $0) } }
    if lifted.isEmpty { return [] }
    let passes = lifted.map { Figure.Sample(at: $0.lift.at, value: Double($0.cover.passes.count), entry: $0.lift.entry) }
    let times = lifted.map { Figure.Sample(at: $0.lift.at, value: seconds($0.lift.at - $0.cover.from), entry: $0.lift.entry) }
    let most = passes.map(\.value).max() ?? 0
    let pages = lifted.reduce(0) { $0 + $1.cover.pages.count }
    return [
      Figure(
        id: "hbcode.cover-passes", title: "Cover passes, most",
        definition:
          "Settle passes of 32 ms from the mount of a chat to the lift of its cover. \(lifted.count) \(lifted.count == 1 ? "cover" : "covers"), "
          + "\(pages) older \(pages == 1 ? "page" : "pages") behind them.",
        value: most, unit: "passes", limit: "63", held: most <= 63, samples: passes, chart: .series, bound: 63),
      Figure(
        id: "hbcode.cover-time", title: "Cover time, longest", definition: "How long the cover of a newly shown chat was up.",
        value: times.map(\.value).max() ?? 0, unit: "s", limit: "2.016 s",
        held: lifted.allSatisfy { ScreenStory.of(index).isOnTime($0.lift.at, due: $0.cover.from + ScreenRule.longestCover) },
        samples: times,
        chart: .spans, bound: 2.016),
    ]
  }

  // MARK: Places

  private static func drift(_ index: TraceIndex) -> Figure? {
    let samples = Restores.of(index).all.compactMap { restore in
      restore.end.flatMap { end in restore.drift.map { Figure.Sample(at: end.at, value: thousandth($0), entry: end.entry) } }
    }
    if samples.isEmpty { return nil }
    let value = samples.map(\.value).max() ?? 0
    return Figure(
      id: "hbcode.anchor-drift", title: "Anchor drift, farthest",
      definition: "How far the first visible row is from its place when an older page has been put above it. \(samples.count) "
        + "\(samples.count == 1 ? "page" : "pages").",
      value: value, unit: "pt", limit: "0.5 pt", held: value <= ScreenRule.tolerance, samples: samples, chart: .series,
      bound: ScreenRule.tolerance)
  }

  private static func shift(_ index: TraceIndex) -> Figure? {
    let motions = ListMotions.of(index)
    if motions.readingFrames == 0 { return nil }
    let samples = motions.shifts.map { Figure.Sample(at: $0.at, value: thousandth($0.length), entry: $0.entry) }
    return Figure(
      id: "hbcode.layout-shift", title: "Layout shift while reading",
      definition:
        "Points by which visible rows moved on screen without a finger, a follow or a scroll command, cover lifted: of each change of the "
        + "layout the farthest row, all added up. \(samples.count) of \(motions.readingFrames) changes moved a row.",
      value: thousandth(samples.reduce(0) { $0 + $1.value }), unit: "pt", samples: samples, chart: .series)
  }

  /// Rows of the desktop that left the list and came back while the chat stayed on screen: an overlay that is emptied and filled again, a
  /// settled run whose history comes late. Messages that only the phone shows (echoes) may go into the queue and come back.
  private static func rowsAway(_ index: TraceIndex) -> Figure? {
    var lists: [String: [String]] = [:]
    var origins: [String: [String: String]] = [:]
    var gone: [String: [String: Instant]] = [:]
    var samples: [Figure.Sample] = []
    var returns = 0
    for entry in index.entries {
      guard let host = entry["host"]?.string else {
        if entry.party == .world, entry.kind == "launch" { (lists, gone) = ([:], [:]) }
        continue
      }
      switch (entry.party, entry.kind) {
      case (.screen, "mount"): (lists[host], gone[host]) = (nil, nil)
      case (.core, "show"):
        for row in entry["rows"]?.array ?? [] {
          if let id = row["id"]?.string { origins[host, default: [:]][id] = row["origin"]?.string }
        }
      case (.screen, "apply"):
        guard let ids = entry["ids"]?.array?.compactMap(\.string) else { continue }
        let now = Set(ids)
        for id in lists[host] ?? [] where !now.contains(id) && origins[host]?[id] != "echo" { gone[host, default: [:]][id] = entry.at }
        var longest: Interval?
        for id in ids {
          guard let left = gone[host]?.removeValue(forKey: id) else { continue }
          returns += 1
          longest = max(longest ?? .zero, entry.at - left)
        }
        if let longest { samples.append(Figure.Sample(at: entry.at, value: seconds(longest), entry: entry.index)) }
        lists[host] = ids
      default: break
      }
    }
    if samples.isEmpty { return nil }
    return Figure(
      id: "hbcode.rows-away", title: "Rows gone and back, longest",
      definition:
        "How long rows of the desktop were not on the list although they had been and came back, the chat on screen all the time. "
        + "\(returns) \(returns == 1 ? "row" : "rows") in \(samples.count) \(samples.count == 1 ? "update" : "updates").",
      value: samples.map(\.value).max() ?? 0, unit: "s", samples: samples, chart: .spans)
  }

  private static func followSpeed(_ index: TraceIndex) -> Figure? {
    let steps = ListMotions.of(index).steps
    // The last step of a follow is what is left of the way.
    let full = steps.filter { !$0.isLast && $0.time > .zero }
    if full.isEmpty { return nil }
    let samples = full.map { Figure.Sample(at: $0.at, value: $0.speed.rounded(), entry: $0.entry) }
    return Figure(
      id: "hbcode.follow-speed", title: "Follow speed, greatest",
      definition:
        "Speed of the list in each display frame in which it follows its end: rest of the way / 1.5 s, between 80 and 2,200 pt/s. "
        + "\(samples.count) frames.",
      value: samples.map(\.value).max() ?? 0, unit: "pt/s", limit: "80 to 2,200 pt/s", held: steps.allSatisfy(\.isRight), samples: samples,
      chart: .series, bound: 2_200)
  }

  // MARK: Numbers

  private static func seconds(_ time: Interval) -> Double { Double(time.nanoseconds) / 1e9 }
  private static func milliseconds(_ time: Interval) -> Double { Double(time.nanoseconds) / 1e6 }
  private static func thousandth(_ value: Double) -> Double { (value * 1_000).rounded() / 1_000 }

  /// The lower of the two in the middle.
  private static func median(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.sorted()[(values.count - 1) / 2]
  }
}

/// Changes of the live overlay from their sending to the screen.
private struct ShownChanges {
  struct Change {
    var sent: Instant
    var shown: Instant
    /// The `apply` entry that shows it.
    var apply: Int
    var wasHeld: Bool
  }

  private(set) var all: [Change] = []

  init(_ story: ScreenStory) { for mount in story.mounts { walk(mount) } }

  private mutating func walk(_ mount: Mount) {
    /// Sent and not taken in, in order of sending.
    var sent: [(version: OverlayVersion, at: Instant)] = []
    /// Taken in, and shown by the next render.
    var taken: [Instant] = []
    /// Rendered, and shown by the apply of this version or a newer one.
    var rendered: [(at: Instant, version: Int, isHeld: Bool)] = []
    for (position, event) in mount.events.enumerated() {
      switch event.what {
      case .changed(let version): sent.append((version, event.at))
      case .taken(let version, _):
        taken += sent.filter { $0.version <= version }.map(\.at)
        sent.removeAll { $0.version <= version }
      case .render(let render):
        // A render that neither applies nor waits touched nothing on screen; what waits is replaced by what is newer.
        let isUsed = ShownChanges.isUsed(render.version, at: event.at, mount.events[(position + 1)...])
        if let isHeld = isUsed {
          rendered += taken.map { ($0, render.version, isHeld) }
          if isHeld { for place in rendered.indices { rendered[place].isHeld = true } }
        }
        taken = []
      case .applied(let update):
        for change in rendered where change.version <= update.version {
          all.append(Change(sent: change.at, shown: event.at, apply: event.entry, wasHeld: change.isHeld))
        }
        rendered.removeAll { $0.version <= update.version }
      default: break
      }
    }
  }

  /// Whether a version is applied (false) or held (true) in the handling that renders it; nil when neither happens.
  private static func isUsed(_ version: Int, at now: Instant, _ rest: ArraySlice<ScreenEvent>) -> Bool? {
    for event in rest {
      if event.at != now { return nil }
      switch event.what {
      case .applied(let update) where update.version == version: return false
      case .hold(let held) where held == version: return true
      case .render: return nil
      default: break
      }
    }
    return nil
  }
}
