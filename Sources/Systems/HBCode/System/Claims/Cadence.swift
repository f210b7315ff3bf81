import Contract
import HBCodeDialect
import Oracles
import Simulation
import Wire

let cadenceClaims: [Claim] = [
  Claim(
    "HB-INV-35", "Cadence",
    "A live change of a chat is drawn 1/6 s after the render before it at the earliest (0.5 s while the composer or a preview is open): six times in any "
      + "second at most (twice).",
    per: "a render of a live change that had to wait for its interval", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no live change had to wait for its interval")
    for render in Cadence.of(index).renders {
      guard let previous = render.previous else { continue }
      let before = index.entries[previous]
      let gap = render.at - before.at
      let isEarly = gap < render.least
      if render.hasWaited || isEarly { outcome.exercised += 1 }
      guard isEarly else { continue }
      let most = render.isSlow ? 2 : 6
      let count =
        render.inSecond > most
        ? ". It is the \(ordinal(render.inSecond)) live render within one second; \(most) are the most" : ""
      outcome.breaks(
        index.entries[render.entry], nil,
        "A live change of \(render.host) was drawn at \(render.at), \(exact(gap)) after the render of \(before.at); \(exact(render.least)) is the least"
          + count + ".", [previous])
    }
    return outcome
  },
  Claim(
    "HB-INV-36", "Intake", "Live changes of a chat are taken in at least 100 ms apart.",
    per: "a live change that came within 100 ms of the one taken in before", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no live change came within 100 ms of another")
    let least = Interval.milliseconds(100)
    var lives = HostLives()
    /// The last live change taken in of each host, the version in force, and whether a newer one waits.
    var last: [String: (entry: Int, version: OverlayVersion, isFollowed: Bool)] = [:]
    for entry in index.entries {
      if let ended = lives.ended(by: entry) {
        switch ended {
        case .all: last = [:]
        case .one(let host): last[host] = nil
        }
      }
      if entry.party == .link, entry.kind == "arrive", entry["dir"]?.string == Direction.in.rawValue,
        entry["name"]?.string == EventName.timelineOverlay.rawValue, let sent = index.frame(ofEntry: entry.index)
      {
        let send = index.entries[sent.entry]
        guard let before = last[send.wireHost], let version = OverlayVersion(send, "settlementEpoch") else { continue }
        if version.epoch == before.version.epoch, version > before.version, entry.at - index.entries[before.entry].at < least {
          last[send.wireHost]?.isFollowed = true
        }
      } else if entry.party == .core, entry.kind == "overlay", let host = entry["host"]?.string,
        let version = OverlayVersion(entry, "epoch")
      {
        guard entry["source"]?.string == "event" else {
          last[host]?.version = version
          continue
        }
        if let before = last[host] {
          let gap = entry.at - index.entries[before.entry].at
          if before.isFollowed || gap < least { outcome.exercised += 1 }
          if gap < least {
            outcome.breaks(
              entry, nil,
              "Two live changes of \(host) were taken in \(exact(gap)) apart, at \(index.entries[before.entry].at) and \(entry.at); "
                + "\(exact(least)) is the least.", [before.entry])
          }
        }
        last[host] = (entry.index, version, false)
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-37", "Fresh",
    "A live change that was taken in is drawn within 1/6 s (0.5 s while the composer or a preview is open), unless its chat leaves the screen.",
    per: "a live change taken in while its chat was on screen", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no live change was taken in while its chat was on screen")
    let story = ScreenStory.of(index)
    for mount in story.mounts {
      var isSlow = false
      /// Changes that no render has shown, in order, each with the instant by which one must.
      var waiting: [(change: ScreenEvent, due: Instant)] = []
      /// Those that are overdue at an instant are broken, whatever comes later.
      func fail(before now: Instant) {
        waiting.removeAll { change, due in
          guard story.due(due) < now else { return false }
          outcome.exercised += 1
          outcome.breaks(
            index.entries[change.entry], nil,
            "The live change of \(mount.host) that was taken in at \(change.at) was not drawn by \(due), \(exact(due - change.at)) later.")
          return true
        }
      }
      for event in mount.events {
        switch event.what {
        case .slow(let now):
          fail(before: event.at)
          isSlow = now
          for position in waiting.indices {
            let taken = waiting[position].change.at
            waiting[position].due = now ? taken + ScreenRule.slowInterval : max(event.at, taken + ScreenRule.liveInterval)
          }
        case .taken(_, true):
          fail(before: event.at)
          waiting.append((event, event.at + (isSlow ? ScreenRule.slowInterval : ScreenRule.liveInterval)))
        case .render:
          fail(before: event.at)
          outcome.exercised += waiting.count
          waiting = []
        case .epoch:
          // The view begins anew with the newest state.
          fail(before: event.at)
          waiting = []
        default: break
        }
      }
      // What is due at the instant of the unmount may have been drawn or not; what is due at the end of the trace has had its time.
      fail(before: mount.ending == .open ? story.end + .nanoseconds(1) : mount.until)
    }
    return outcome
  },
]

/// Whose records begin anew: the host life of spec E.2 (from commit to release), the life of a thread viewer, and the process.
struct HostLives {
  enum Ended {
    case all
    case one(String)
  }

  private var committed: Set<String> = []

  /// What an entry ends. The viewer of a thread is no cached host: each time that it opens it is another one (HB-HOST-13).
  mutating func ended(by entry: TraceEntry) -> Ended? {
    switch (entry.party, entry.kind) {
    case (.world, "stop"), (.world, "launch"):
      committed = []
      return .all
    case (.core, "host.commit"):
      if let key = entry["key"]?.string { committed.insert(key) }
      return nil
    case (.core, "host.release"): return entry["key"]?.string.map { .one($0) }
    case (.core, "host.activate"):
      guard let key = entry["key"]?.string, !committed.contains(key) else { return nil }
      return .one(key)
    default: return nil
    }
  }
}

/// The live renders of a run with what came before each.
struct Cadence: Sendable {
  struct LiveRender: Sendable {
    var host: String
    var entry: Int
    var at: Instant
    /// The render of any cause before it, in one host life.
    var previous: Int?
    /// It comes no sooner than this after the one before.
    var isSlow: Bool
    /// The change that it shows was taken in before that.
    var hasWaited: Bool
    /// Live renders of its kind in the half-open second that ends with it.
    var inSecond: Int

    var least: Interval { isSlow ? ScreenRule.slowInterval : ScreenRule.liveInterval }
  }

  private(set) var renders: [LiveRender] = []

  static func of(_ index: TraceIndex) -> Cadence { index.finding(Cadence.init) }

  private struct Host {
    var last: Int?
    /// The first live change since then.
    var changed: Instant?
    /// Instants of the live renders within a second, normal and slow ones.
    var recent: [[Instant]] = [[], []]
  }

  private init(_ index: TraceIndex) {
    var lives = HostLives()
    var hosts: [String: Host] = [:]
    var isComposerOpen = false
    var isPreviewOpen = false
    for entry in index.entries {
      switch lives.ended(by: entry) {
      case .all?: (hosts, isComposerOpen, isPreviewOpen) = ([:], false, false)
      case .one(let host)?: hosts[host] = nil
      case nil: break
      }
      if entry.party == .user, entry.kind == "gesture" {
        switch entry["do"]?.string {
        case "openComposer": isComposerOpen = true
        case "closeComposer": isComposerOpen = false
        case "openPreview": isPreviewOpen = true
        case "closePreview": isPreviewOpen = false
        default: break
        }
      }
      guard entry.party == .core, let name = entry["host"]?.string else { continue }
      if entry.kind == "overlay", entry["source"]?.string == "event", hosts[name, default: Host()].changed == nil {
        hosts[name, default: Host()].changed = entry.at
      } else if entry.kind == "render" {
        var host = hosts[name] ?? Host()
        if entry["cause"]?.string == "live" {
          let isSlow = isComposerOpen || isPreviewOpen || entry["intervalNs"]?.integer == ScreenRule.slowInterval.nanoseconds
          var recent = host.recent[isSlow ? 1 : 0]
          recent.removeAll { $0 + .seconds(1) <= entry.at }
          recent.append(entry.at)
          host.recent[isSlow ? 1 : 0] = recent
          let free = host.last.map { index.entries[$0].at + (isSlow ? ScreenRule.slowInterval : ScreenRule.liveInterval) }
          let hasWaited = if let free, let changed = host.changed { changed < free } else { false }
          renders.append(
            LiveRender(
              host: name, entry: entry.index, at: entry.at, previous: host.last, isSlow: isSlow, hasWaited: hasWaited,
              inSecond: recent.count))
        }
        host.last = entry.index
        host.changed = nil
        hosts[name] = host
      }
    }
  }
}
