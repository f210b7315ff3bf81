import Contract
import Oracles
import Simulation

/// An update of the list that waited (spec: held): from the first version that could not be applied until one is, or the view goes.
///
/// Only the newest version waits: each one that comes later takes the place of the one before, which is then never applied.
struct HeldUpdate: Hashable, Sendable {
  /// Why the list could not take a version.
  enum Cause: String, Hashable, Sendable {
    /// A finger is on the list.
    case finger
    /// The list slows down after the finger has left it.
    case slowing
    /// An older page is being put in place.
    case older
    /// The trace names the cause `moving`, but nothing that moves.
    case moving
  }

  /// One version of the list that waited.
  struct Version: Hashable, Sendable {
    var number: Int
    var at: Instant
    /// The `hold` entry.
    var entry: Int
    /// True for a live change, false for another, nil where no `render` entry tells.
    var isLive: Bool?
    /// Rows of the list in this version, where a `show` entry tells.
    var rows: Int?
    /// The `render` entry that made it, where there is one.
    var render: Int?
  }

  /// What kept the list, from when on.
  struct Phase: Hashable, Sendable {
    var cause: Cause
    var from: Instant
    var entry: Int
    /// The rule that made it or made it longer.
    var rule: Int?
  }

  /// The moment from which nothing keeps the list any more.
  struct Release: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      /// The list came to rest.
      case rest
      /// The list scrolls by itself from now on: a command of the user took it over.
      case scroll
      /// The older page is in its place.
      case placed
      /// Live rows are let go before the older page is in its place.
      case live
    }
    var kind: Kind
    var at: Instant
    var entry: Int
    /// False when the list came to rest and did not say so.
    var isSignalled: Bool
    /// The rule that swallowed the signal.
    var rule: Int?
  }

  /// A version that reached the screen.
  struct Applied: Hashable, Sendable {
    var number: Int
    var at: Instant
    /// The `apply` entry.
    var entry: Int
    /// True for a version that waited, false for a newer one that came at rest and applied at once.
    var waited: Bool
    /// What the `apply` changed: `2 rows redrawn: a, b`.
    var change: String
  }

  enum Outcome: Hashable, Sendable {
    case applied(Applied)
    /// The view went before anything was applied: when, the entry, and why in words.
    case dropped(at: Instant, entry: Int, why: String)
    /// The run ended while it waited.
    case open
  }

  /// `H1`, `H2`, … in order of time.
  var id: String
  var host: String
  /// In order; at least one.
  var versions: [Version]
  /// In order; the first one may have begun before the hold.
  var phases: [Phase]
  /// Nil while something keeps the list.
  var release: Release?
  /// The end of the hold, or of the run.
  var until: Instant
  var outcome: Outcome = .open
  /// Broken claims whose evidence names an entry of this hold.
  var claims: [String] = []

  var from: Instant { versions.first?.at ?? until }
  var duration: Interval { until - from }
  var applied: Applied? { if case .applied(let applied) = outcome { applied } else { nil } }
  /// From the moment when nothing kept the list any more until a version was applied; nil when there was no such moment.
  var wait: Interval? { applied.flatMap { applied in release.map { applied.at - $0.at } } }
  var isBroken: Bool { !claims.isEmpty }
  /// Versions that waited and never reached the screen.
  var replaced: [Version] { versions.filter { $0.number != applied?.number } }
  /// Rules of the plan that made it longer.
  var rules: [Int] { (phases.map(\.rule) + [release?.rule]).compactMap { $0 }.uniqued.sorted() }
  /// The entries that tell of it, in order.
  var entries: [Int] {
    var found = phases.map(\.entry) + versions.map(\.entry)
    if let release { found.append(release.entry) }
    switch outcome {
    case .applied(let applied): found.append(applied.entry)
    case .dropped(_, let entry, _): found.append(entry)
    case .open: break
    }
    return found.uniqued.sorted()
  }
  /// Entries that only this hold has, for finding what claims say about it.
  var ownEntries: [Int] { versions.map(\.entry) + versions.compactMap(\.render) + (applied.map { [$0.entry] } ?? []) }
}

/// The words in which every format tells of a hold. Visible text, still to be escaped by place.
extension HeldUpdate {
  /// Why the list holds updates at all, for a reader who has never heard of it.
  static let definition =
    "While a finger is on the list, while the list slows down after it, and while an older page is put in place above it, a newer version of the list is not applied but held, so that nothing moves under the finger. Only the newest one waits: a version that is replaced by a newer one is never applied."

  /// `finger on the list from 0:04.000 (fault 1)`, one for each phase.
  var causes: [String] {
    phases.map { phase in
      let words =
        switch phase.cause {
        case .finger: "finger on the list"
        case .slowing: "list slowing down"
        case .older: "older page being put in place"
        case .moving: "list moving"
        }
      return "\(words) from \(phase.from)" + (phase.rule.map { " (fault \($0))" } ?? "")
    }
  }

  /// `at rest 0:06.700`, or nil while nothing let it go.
  var releaseWords: String? {
    guard let release else { return nil }
    let lost = release.isSignalled ? "" : ", but the stop was not signalled" + (release.rule.map { " (fault \($0))" } ?? "")
    switch release.kind {
    case .rest: return "at rest \(release.at)" + lost
    case .scroll: return "a scroll command took the list over \(release.at)"
    case .placed: return "older page in place \(release.at)"
    case .live: return "rows let go \(release.at)"
    }
  }

  /// `after rest`, `after the older page was in place`.
  var sinceWords: String {
    switch release?.kind {
    case .rest?, nil: "after rest"
    case .scroll?: "after the scroll command"
    case .placed?: "after the older page was in place"
    case .live?: "after the rows were let go"
    }
  }

  /// `v15`, `v15 to v29`, `v3, v5 to v7`.
  static func ranges(_ numbers: [Int]) -> String {
    var runs: [(first: Int, last: Int)] = []
    for number in numbers.uniqued.sorted() {
      if let last = runs.last, last.last &+ 1 == number { runs[runs.count - 1].last = number } else { runs.append((number, number)) }
    }
    let shown = runs.prefix(8).map { $0.first == $0.last ? "v\($0.first)" : "v\($0.first) to v\($0.last)" }
    return shown.joined(separator: ", ") + (runs.count > 8 ? " and \(Prose.number(runs.count - 8)) more" : "")
  }

  var heldWords: String { HeldUpdate.ranges(versions.map(\.number)) }
  /// Empty when every version that waited was applied.
  var replacedWords: String { HeldUpdate.ranges(replaced.map(\.number)) }

  /// `after 3.467 s, 0.912 s after rest`.
  var delayWords: String {
    guard applied != nil else { return "" }
    let whole = "after \(duration)"
    if let wait { return "\(whole), \(wait) \(sinceWords)" }
    return "\(whole), while the list was still kept"
  }

  /// The whole story in sentences.
  var story: String {
    let count = versions.count
    var text =
      "From \(from) on \(count == 1 ? "version" : "\(Prose.number(count)) versions") \(heldWords) of the list waited: \(Prose.list(causes))"
    text += releaseWords.map { "; \($0). " } ?? ". "
    let never = replaced
    switch outcome {
    case .applied(let applied):
      if !never.isEmpty {
        text +=
          "\(Prose.capitalised(replacedWords)) \(never.count == 1 ? "was" : "were") replaced by \(never.count == 1 ? "a newer one" : "newer ones") and never applied. "
      }
      text +=
        "\(applied.waited ? "" : "A newer version came when nothing kept the list: ")v\(applied.number) was applied \(applied.at), \(delayWords)"
      text += applied.change.isEmpty ? "." : " (\(applied.change))."
      if let newest = versions.last, applied.number < newest.number { text += " That is older than v\(newest.number), which waited then." }
    case .dropped(let at, _, let why): text += "None of them was ever applied: \(why) at \(at), after \(duration)."
    case .open: text += "None of them was applied when the run ended, after \(duration)."
    }
    return text
  }

  /// All holds of a run in a few sentences.
  static func summary(_ holds: [HeldUpdate]) -> String {
    if holds.isEmpty { return "No update was held." }
    let versions = holds.reduce(0) { $0 + $1.versions.count }
    let never = holds.reduce(0) { $0 + $1.replaced.count }
    let longest = holds.map(\.duration).max() ?? .zero
    let times = holds.count == 1 ? "once, for \(longest)" : "\(Prose.number(holds.count)) times, the longest for \(longest)"
    var parts: [String] = []
    if never < versions {
      let last = holds.compactMap(\.wait).max().map { ", \(holds.count == 1 ? "" : "at the latest ")\($0) after the list was free" } ?? ""
      parts.append("\(Prose.number(versions - never)) applied\(last)")
    }
    if never > 0 { parts.append("\(Prose.number(never)) never applied") }
    var text = "Updates were held \(times). \(Prose.count(versions, "version")) of the list waited: \(parts.joined(separator: "; "))."
    let overtaken = holds.count { $0.applied.map { !$0.waited } ?? false }
    if overtaken > 0 {
      text +=
        " \(Prose.capitalised(Prose.count(overtaken, "hold"))) ended with a newer version, which came when the list was free and was applied at once."
    }
    var ends = OrderedMap<String, Int>()
    for hold in holds {
      switch hold.outcome {
      case .applied: break
      case .dropped(_, _, let why): ends[why, default: 0] += 1
      case .open: ends["the run ended", default: 0] += 1
      }
    }
    for (why, count) in ends.pairs { text += " \(Prose.capitalised(Prose.count(count, "hold"))) ended without any: \(why)." }
    return text
  }
}
