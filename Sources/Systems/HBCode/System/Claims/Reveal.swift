import Contract
import HBCodeDialect
import Oracles
import Simulation
import Wire

let revealClaims: [Claim] = [
  Claim(
    "HB-INV-44", "Cover",
    "A newly shown chat is covered until its layout was still for three passes with nothing preparing, for 63 passes (2.016 s) and two older pages at most.",
    per: "a cover that lifted or had to lift", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no cover lifted or had to lift")
    let covers = Covers.of(index)
    outcome.exercised = covers.all.count { $0.lift != nil || !$0.problems.isEmpty }
    for cover in covers.all {
      for problem in cover.problems { outcome.breaks(index.entries[problem.entry], nil, problem.happened, problem.evidence) }
    }
    return outcome
  }
]

/// The first reveals of a run: each cover with what happened under it.
struct Covers: Sendable {
  struct Cover: Sendable {
    var host: String
    /// The `cover.up` entry, or the `mount` that has none.
    var up: Int
    var from: Instant
    var passes: [(entry: Int, at: Instant, verdict: String)] = []
    /// Requests for older pages under it, as places in `Evidence.asks`.
    var pages: [Int] = []
    var lift: (entry: Int, at: Instant)?
    var problems: [ScreenProblem] = []
  }

  private(set) var all: [Cover] = []

  static func of(_ index: TraceIndex) -> Covers { index.finding(Covers.init) }

  private init(_ index: TraceIndex) {
    let story = ScreenStory.of(index)
    let asks = Evidence(index).asks
    for mount in story.mounts {
      var walk = Walk(index, story, mount, asks)
      for event in mount.events { walk.take(event) }
      walk.finish()
      all += walk.covers
    }
  }

  /// One mount.
  private struct Walk {
    private let index: TraceIndex
    private let story: ScreenStory
    private let mount: Mount
    private let asks: [Ask]
    private(set) var covers: [Cover] = []
    private var isCovered = false
    private var geometry: Geometry?
    /// Heights of the rows that the lifting cover showed, until an update or a scroll may change them.
    private var lifted: [String: Double]?

    init(_ index: TraceIndex, _ story: ScreenStory, _ mount: Mount, _ asks: [Ask]) {
      self.index = index
      self.story = story
      self.mount = mount
      self.asks = asks
    }

    private mutating func problem(_ entry: Int, _ happened: String, _ evidence: [Int] = []) {
      guard let last = covers.indices.last else { return }
      covers[last].problems.append(ScreenProblem(entry: entry, happened: happened, evidence: [covers[last].up] + evidence))
    }

    /// When the cover has to lift at the latest: its passes count, and they rest while the process is suspended.
    private func latest(_ cover: Cover) -> Instant { story.running(ScreenRule.longestCover, since: cover.from) }

    mutating func take(_ event: ScreenEvent) {
      if covers.isEmpty, event.at > mount.from { uncovered(by: event.entry) }
      if isCovered, let cover = covers.last, event.at > latest(cover) {
        if case .coverLift = event.what {} else { neverLifted(by: event.entry) }
      }
      switch event.what {
      case .coverUp:
        if isCovered {
          problem(
            event.entry, "The cover of \(mount.host) went up at \(event.at) although it was up since \(covers[covers.count - 1].from).")
        }
        covers.append(Cover(host: mount.host, up: event.entry, from: event.at))
        (isCovered, lifted) = (true, nil)
      case .coverLift: lift(event)
      case .epoch:
        // Another reveal begins (HB-REVEAL-10).
        isCovered = false
      case .pass(let use, let verdict):
        guard isCovered, use == "reveal" else { return }
        covers[covers.count - 1].passes.append((event.entry, event.at, verdict))
        let count = covers[covers.count - 1].passes.count
        if count == ScreenRule.mostCoverPasses + 1 {
          problem(
            event.entry,
            "The cover of \(mount.host) is still up after \(count) passes, at \(event.at); \(ScreenRule.mostCoverPasses) are the most.")
          isCovered = false
        }
      case .askedOlder(let ask):
        guard isCovered else { return }
        covers[covers.count - 1].pages.append(ask)
        let count = covers[covers.count - 1].pages.count
        if count > 2 {
          problem(
            event.entry, "A \(ordinal(count)) older page of \(mount.host) was asked for under the cover, at \(event.at); two are the most.")
        }
      case .frame(let now):
        geometry = now
        seen(now, event)
      case .applied, .scroll: lifted = nil
      default: break
      }
    }

    /// A list without a cover from the start.
    private mutating func uncovered(by entry: Int) {
      covers.append(Cover(host: mount.host, up: mount.opened, from: mount.from))
      problem(entry, "\(mount.host) came on screen at \(mount.from) without a cover.")
    }

    private mutating func neverLifted(by entry: Int) {
      guard let cover = covers.last else { return }
      problem(
        entry,
        "The cover of \(mount.host) is up since \(cover.from) and had not lifted \(exact(ScreenRule.longestCover)) later, after "
          + "\(cover.passes.count) passes.")
      isCovered = false
    }

    private mutating func lift(_ event: ScreenEvent) {
      guard isCovered, let cover = covers.last else {
        if covers.last?.lift != nil { problem(event.entry, "The cover of \(mount.host) lifted a second time at \(event.at).") }
        return
      }
      isCovered = false
      covers[covers.count - 1].lift = (event.entry, event.at)
      let count = cover.passes.count
      let name = "The cover of \(mount.host) lifted at \(event.at)"
      if event.at > latest(cover) {
        problem(event.entry, "\(name), \(exact(event.at - cover.from)) after it went up; \(exact(ScreenRule.longestCover)) is the limit.")
      }
      if count >= ScreenRule.mostCoverPasses { return }
      let last = cover.passes.suffix(3)
      let evidence = last.map(\.entry)
      if last.count < 3 || last.contains(where: { $0.verdict != "still" }) {
        let verdicts = last.map(\.verdict).joined(separator: ", ")
        problem(
          event.entry,
          "\(name), after pass \(count)\(last.isEmpty ? "" : "; its last passes were \(verdicts)"). It has to hold still for three.",
          evidence)
      } else if let pass = last.last, pass.at != event.at {
        problem(event.entry, "\(name), \(exact(event.at - pass.at)) after its last pass, the \(ordinal(count)).", evidence)
      } else if let ask = cover.pages.map({ asks[$0] }).first(where: { !$0.hasEnded(by: event.entry, at: event.at) }) {
        problem(
          event.entry, "\(name), after pass \(count), while the older page asked for at \(ask.at) was under way.", evidence + [ask.entry])
      } else {
        lifted = geometry.map { Dictionary($0.visible.map { ($0.id, $0.height) }, uniquingKeysWith: { first, _ in first }) }
      }
    }

    /// A row that changes its height by itself after the lift was preparing when the cover lifted.
    private mutating func seen(_ now: Geometry, _ event: ScreenEvent) {
      guard let before = lifted, let lift = covers.last?.lift else { return }
      for row in now.visible {
        guard let height = before[row.id], (row.height - height).magnitude > ScreenRule.tolerance else { continue }
        lifted = nil
        return problem(
          event.entry,
          "The cover of \(mount.host) lifted at \(lift.at) while \(row.id) was preparing: at \(event.at) it went from \(points(height)) to "
            + "\(points(row.height)) without an update.", [lift.entry])
      }
    }

    mutating func finish() {
      if covers.isEmpty {
        let hasLived = mount.ending == .open ? index.end > mount.from : mount.until > mount.from
        if hasLived { uncovered(by: mount.closed) }
      } else if isCovered, let cover = covers.last, story.livedPast(latest(cover), mount) {
        neverLifted(by: mount.closed)
      }
    }
  }
}
