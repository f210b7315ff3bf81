import Contract
import HBCodeDialect
import Oracles
import Simulation
import Wire

let epochClaims: [Claim] = [
  Claim(
    "HB-INV-31", "History stays", "Until the presentation epoch advances, a saved row that was among the rows of a chat stays among them.",
    per: "an answer taken in that lacks saved rows of its chat", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no answer lacked saved rows of its chat")
    let evidence = Evidence(index)
    var lives = HostLives()
    /// The saved rows of each host since its epoch began, with the entry that last showed them.
    var saved: [String: (ids: Set<String>, entry: Int)] = [:]
    var answer: (host: String, sent: Int)?
    for entry in index.entries {
      switch lives.ended(by: entry) {
      case .all?: saved = [:]
      case .one(let host)?: saved[host] = nil
      case nil: break
      }
      if entry.party == .link, entry.kind == "arrive", let sent = entry["of"]?.int {
        answer = evidence.request(ofAnswer: sent).map { ($0.host, sent) }
      }
      guard entry.party == .core, let host = entry["host"]?.string else { continue }
      switch entry.kind {
      case "epoch": saved[host] = nil
      case "load.end", "older.end":
        guard entry["outcome"]?.string == "applied", let kept = saved[host], let got = answer, got.host == host,
          let rows = index.content(ofEntry: got.sent)?["result"]?["timeline"]?.array
        else { continue }
        let brought = Set(rows.compactMap(itemID))
        let isReplaced = evidence.handling(after: entry.index).contains { evidence.isNote($0, "epoch") }
        if !isReplaced, !kept.ids.isSubset(of: brought) { outcome.exercised += 1 }
      case "show":
        var now = Set<String>()
        for row in entry["rows"]?.array ?? [] where row["origin"]?.string == "canonical" {
          if let id = row["id"]?.string { now.insert(id) }
        }
        if let before = saved[host], !before.ids.isSubset(of: now) {
          let gone = before.ids.subtracting(now).subtracting(evidence.hiddenRows).sorted()
          if !gone.isEmpty {
            outcome.breaks(
              entry, nil,
              "\(gone.count == 1 ? "Saved row" : "Saved rows") \(listed(gone)) of \(host) left the list at \(entry.at) within one presentation epoch.",
              [before.entry])
          }
        }
        saved[host] = (now, entry.index)
      default: break
      }
    }
    outcome.exercised = max(outcome.exercised, outcome.violations.count)
    return outcome
  },
  Claim(
    "HB-INV-47", "Epoch",
    "The presentation epoch advances only when a window without common rows replaces another, when an empty unconfirmed chat starts a fresh load, or when the "
      + "thread changes; no restore, held update, follow or place of before goes on after.",
    per: "an advance of the presentation epoch", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("the presentation epoch did not advance")
    var causes = EpochCauses(index)
    for entry in index.entries {
      causes.take(entry)
      guard entry.party == .core, entry.kind == "epoch" else { continue }
      outcome.exercised += 1
      if let problem = causes.problem(of: entry) { outcome.breaks(entry, nil, problem.happened, problem.evidence) }
    }
    for mount in ScreenStory.of(index).mounts {
      var walk = EpochWalk(index, mount)
      for event in mount.events { walk.take(event, &outcome) }
    }
    return outcome
  },
]

/// What counts as a cause of an epoch, as far as the wire and the rows show it.
private struct EpochCauses {
  private let index: TraceIndex
  private let evidence: Evidence
  private var answer: (ask: Ask, sent: Int)?
  /// The saved rows that each host showed last.
  private var saved: [String: Set<String>] = [:]
  /// Hosts whose history an applied answer has confirmed.
  private var confirmed: Set<String> = []
  /// The last two view models on screen.
  private var screen: (before: String?, now: String?)

  init(_ index: TraceIndex) {
    self.index = index
    evidence = Evidence(index)
  }

  mutating func take(_ entry: TraceEntry) {
    switch (entry.party, entry.kind) {
    case (.world, "launch"): (saved, confirmed, screen) = ([:], [], (nil, nil))
    case (.link, "arrive"):
      if let sent = entry["of"]?.int { answer = evidence.request(ofAnswer: sent).map { ($0, sent) } }
    case (.core, "host.release"): if let host = entry["key"]?.string { (saved[host], confirmed) = (nil, confirmed.subtracting([host])) }
    case (.core, "host.activate"): screen = (screen.now, entry["key"]?.string)
    case (.core, "show"):
      guard let host = entry["host"]?.string else { return }
      saved[host] = Set(
        (entry["rows"]?.array ?? []).filter { $0["origin"]?.string == "canonical" }.compactMap { $0["id"]?.string })
    case (.core, "load.end"):
      guard entry["outcome"]?.string == "applied", let host = entry["host"]?.string, let result = result(for: host) else { return }
      if result["loadState"]?["type"]?.string == "ready" { confirmed.insert(host) } else { confirmed.remove(host) }
    default: break
    }
  }

  /// The answer that is being handled, if it is this host's.
  private func result(for host: String) -> JSON? {
    guard let answer, answer.ask.host == host else { return nil }
    return index.content(ofEntry: answer.sent)?["result"]
  }

  /// What is wrong about the cause of an epoch.
  func problem(of entry: TraceEntry) -> (happened: String, evidence: [Int])? {
    let host = entry["host"]?.string ?? ""
    let name = "The presentation epoch of \(host) advanced at \(entry.at)"
    let handling = evidence.handling(around: entry.index)
    func note(_ kind: String, _ field: String = "host", _ holds: (TraceEntry) -> Bool = { _ in true }) -> Int? {
      handling.first { evidence.isNote($0, kind) && index.entries[$0][field]?.string == host && holds(index.entries[$0]) }
    }
    switch entry["cause"]?.string {
    case "window-replaced":
      guard let end = note("load.end", "host", { $0["outcome"]?.string == "applied" }) else {
        return ("\(name) for a replaced window, and no load was applied then.", [])
      }
      guard let kept = saved[host], !kept.isEmpty else {
        return ("\(name) for a replaced window, and no saved row was there to replace.", [end])
      }
      guard let rows = result(for: host)?["timeline"]?.array else { return nil }
      let common = rows.filter { $0["origin"]?.string == "canonical" }.compactMap(itemID).filter(kept.contains)
      if common.isEmpty { return nil }
      return ("\(name) for a replaced window, and the answer has rows that were there: \(listed(common)).", [end])
    case "unconfirmed-load":
      guard let start = note("load.start") else { return ("\(name) for a fresh load, and no load started then.", []) }
      if let attempt = index.entries[start]["try"]?.int, attempt > 1 {
        return ("\(name) with the \(ordinal(attempt)) attempt of a first load, which is no fresh load.", [start])
      }
      if let kept = saved[host], !kept.isEmpty { return ("\(name) for an empty chat, and it has \(kept.count) saved rows.", [start]) }
      return confirmed.contains(host) ? ("\(name) for an unconfirmed chat, and an answer had confirmed that it is empty.", [start]) : nil
    case "thread":
      guard note("host.activate", "key") != nil else { return ("\(name) for another thread, and no thread was selected then.", []) }
      let session = host.prefix { $0 != "/" }
      guard let before = screen.before, before != host, before.prefix(while: { $0 != "/" }) == session else {
        return ("\(name) for another thread, after \(screen.before ?? "no chat") was on screen.", [])
      }
      return nil
    case let cause: return ("\(name) for no cause that there is: \(cause ?? "none").", [])
    }
  }
}

/// What goes on in a list across an epoch.
private struct EpochWalk {
  private let index: TraceIndex
  private let mount: Mount
  /// The epoch that began in this mount, or with it.
  private var epoch: (entry: Int, at: Instant)?
  /// A restore or an update that began to wait since the epoch began.
  private var isRestoring = false
  private var isHeld = false
  private var isFollowing = false
  /// A follow of before the epoch has not ended.
  private var followsOn = false
  private var isBroken = false
  private var isCovered = false
  private var geometry: Geometry?

  init(_ index: TraceIndex, _ mount: Mount) {
    self.index = index
    self.mount = mount
    epoch = mount.epoch.map { ($0, mount.from) }
  }

  private mutating func breaks(_ event: ScreenEvent, _ what: String, _ outcome: inout ClaimOutcome) {
    guard !isBroken, let epoch else { return }
    isBroken = true
    outcome.breaks(
      index.entries[event.entry], nil, "\(what) at \(event.at), after the presentation epoch of \(mount.host) had advanced at \(epoch.at).",
      [epoch.entry])
  }

  mutating func take(_ event: ScreenEvent, _ outcome: inout ClaimOutcome) {
    switch event.what {
    case .epoch:
      epoch = (event.entry, event.at)
      followsOn = isFollowing
      (isRestoring, isHeld, isBroken) = (false, false, false)
    case .anchorRecord: isRestoring = true
    case .anchorEnd(let why):
      if !isRestoring, why != "epoch", why != "unmount" { breaks(event, "An older page of before was put in place", &outcome) }
      isRestoring = false
    case .pass(let use, _):
      if use == "restore", !isRestoring { breaks(event, "An older page of before was still being put in place", &outcome) }
    case .hold: isHeld = true
    case .applied(let update):
      if update.isHeld, !isHeld { breaks(event, "A held update of before applied", &outcome) }
      isHeld = false
    case .scroll(let state):
      isFollowing = state == .follow
      followsOn = false
    case .frame(let now):
      if followsOn, let before = geometry, before.offset != now.offset { breaks(event, "A follow of before went on", &outcome) }
      geometry = now
    case .coverUp: isCovered = true
    case .coverLift:
      guard isCovered else { return }
      isCovered = false
      // The reveal of an epoch begins at the bottom (HB-EPOCH-03) and stays there under its cover (HB-REVEAL-09).
      if let geometry, geometry.distanceToBottom.magnitude > ScreenRule.tolerance {
        breaks(event, "The cover lifted \(points(geometry.distanceToBottom)) from the bottom", &outcome)
      }
    default: break
    }
  }
}
