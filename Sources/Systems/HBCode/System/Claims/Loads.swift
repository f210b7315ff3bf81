import Contract
import HBCodeDialect
import Simulation
import Wire

/// One operation of a load scheduler by the client's records, with its end.
struct LoadLife {
  var host: String
  var number: Int
  var start: TraceEntry
  var end: TraceEntry?
  var isFirst: Bool
  var attempt: Int
  var isPeriodic: Bool
}

/// The loads of a run in order of start; numbers begin again with each launch.
func loads(_ index: TraceIndex) -> [LoadLife] {
  var found: [LoadLife] = []
  var open: [Int: Int] = [:]
  for entry in index.entries {
    if entry.party == .world, entry.kind == "launch" { open = [:] }
    guard entry.party == .core, let number = entry["op"]?.int else { continue }
    if entry.kind == "load.start" {
      open[number] = found.count
      found.append(
        LoadLife(
          host: entry["host"]?.string ?? "", number: number, start: entry, isFirst: entry["first"]?.bool ?? false,
          attempt: entry["try"]?.int ?? 1,
          isPeriodic: (entry["reason"]?.string ?? "").split(separator: "+").contains("periodic")))
    } else if entry.kind == "load.end", let position = open[number], found[position].end == nil {
      found[position].end = entry
    }
  }
  return found
}

/// Entries at which what the host had before no longer counts: its release, and launches.
private func endsHost(_ entry: TraceEntry, _ host: String) -> Bool {
  entry.party == .core && entry.kind == "host.release" && entry["key"]?.string == host || entry.party == .world && entry.kind == "launch"
}

let loadClaims: [Claim] = [
  Claim(
    "HB-INV-20", "Six hosts", "At most six chats are kept, at most one is on screen, and they are ordered by their last selection.",
    per: "a selection of a chat", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no chat was selected")
    var kept: [String] = []
    var mounted: String?
    for entry in index.entries {
      if entry.party == .world, entry.kind == "launch" {
        kept = []
        mounted = nil
      }
      guard entry.party == .core, let key = entry["key"]?.string else { continue }
      switch entry.kind {
      case "host.commit":
        outcome.exercised += 1
        let order = (entry["order"]?.array ?? []).compactMap(\.string)
        kept = [key] + kept.filter { $0 != key }
        if order.count > 6 {
          outcome.breaks(entry, nil, "\(order.count) chats are kept after \(key) was selected at \(entry.at); at most six are.")
        } else if order != Array(kept.prefix(order.count)) {
          // A start state brings hosts that were selected before the first record.
          let known = order.filter(kept.contains)
          if known != kept.filter(order.contains) || order.first != key {
            outcome.breaks(
              entry, nil,
              "The kept chats are [\(order.joined(separator: ", "))] at \(entry.at); by their selection they are [\(kept.joined(separator: ", "))]."
            )
          }
        }
      case "host.release": kept.removeAll { $0 == key }
      case "host.activate":
        if let other = mounted, other != key {
          outcome.breaks(entry, nil, "\(key) came on screen at \(entry.at) while \(other) was there.")
        }
        mounted = key
      case "host.park": if mounted == key { mounted = nil }
      default: break
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-21", "One load at a time",
    "A chat has one load at most; reloads start 2 s apart; a first load has four attempts at most, with waits of 0.6–0.9, 1.2–1.8 and 2.4–3 s.",
    per: "a load of a chat after another one", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no chat was loaded twice")
    let evidence = Evidence(index)
    var last: [String: LoadLife] = [:]
    let all = loads(index)
    for load in all {
      defer { last[load.host] = load }
      guard let before = last[load.host] else { continue }
      let between = index.entries[(before.start.index + 1)..<load.start.index]
      if between.contains(where: { endsHost($0, load.host) }) { continue }
      outcome.exercised += 1
      if before.end.map({ $0.index > load.start.index }) ?? true {
        outcome.breaks(
          load.start, nil, "A load of \(load.host) started at \(load.start.at) while that of \(before.start.at) was active.",
          [before.start.index])
        continue
      }
      if load.isFirst, load.attempt > 1 {
        if load.attempt > 4 {
          outcome.breaks(
            load.start, nil, "Attempt \(load.attempt) of the first load of \(load.host) at \(load.start.at); there are four at most.")
          continue
        }
        guard let failed = before.end, before.attempt == load.attempt - 1 else { continue }
        let bands: [(least: Int64, most: Int64)] = [(600, 900), (1_200, 1_800), (2_400, 3_000)]
        let band = bands[min(max(load.attempt - 2, 0), 2)]
        let wait = load.start.at - failed.at
        let isFree = !evidence.wasPaused(from: failed.at, to: load.start.at) && isConnected(index, from: failed.at, to: load.start.at)
        if wait < .milliseconds(band.least) || isFree && wait > .milliseconds(band.most) {
          outcome.breaks(
            load.start, nil,
            "Attempt \(load.attempt) of the first load of \(load.host) came \(wait) after the failure; the band is "
              + "\(Interval.milliseconds(band.least)) to \(Interval.milliseconds(band.most)).", [failed.index])
        }
      } else if !load.isFirst, load.start.at - before.start.at < .seconds(2) {
        outcome.breaks(
          load.start, nil, "A reload of \(load.host) started \(load.start.at - before.start.at) after that of \(before.start.at).",
          [before.start.index])
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-22", "Only what is on screen", "No load starts for a chat that is not on screen, or while the app is in the background.",
    per: "a load", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("nothing was loaded")
    var screen: String?
    var isActive = true
    var pausedAt = Instant.zero - .seconds(1)
    for entry in index.entries {
      switch (entry.party, entry.kind) {
      case (.core, "host.activate"): screen = entry["key"]?.string
      case (.core, "host.park"): if screen == entry["key"]?.string { screen = nil }
      case (.world, "launch"):
        screen = nil
        isActive = true
      case (.world, "background"), (.world, "suspend"):
        isActive = false
        pausedAt = entry.at
      case (.world, "foreground"), (.world, "resume"): isActive = true
      case (.user, "gesture"):
        if entry["do"]?.string == "background" { isActive = false }
        if entry["do"]?.string == "foreground" { isActive = true }
      case (.core, "load.start"):
        outcome.exercised += 1
        let host = entry["host"]?.string ?? ""
        if host != screen {
          outcome.breaks(entry, nil, "A load of \(host) started at \(entry.at) while \(screen ?? "no chat") was on screen.")
        } else if !isActive, entry.at > pausedAt {
          // What the app was doing when it was paused by a fault comes to its end in that instant.
          outcome.breaks(entry, nil, "A load of \(host) started at \(entry.at) while the app was in the background.")
        }
      default: break
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-23", "Fences", "An answer is applied only if its load was active and its chat stayed on screen; each load ends once.",
    per: "the end of a load", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no load ended")
    var open: [Int: TraceEntry] = [:]
    var ended: Set<Int> = []
    var fenced: [Int: TraceEntry] = [:]
    for entry in index.entries {
      if entry.party == .world, entry.kind == "launch" {
        open = [:]
        ended = []
        fenced = [:]
      }
      guard entry.party == .core else { continue }
      if ["host.park", "host.release"].contains(entry.kind) {
        for (number, start) in open where start["host"]?.string == entry["key"]?.string { fenced[number] = entry }
      }
      guard let number = entry["op"]?.int else { continue }
      if entry.kind == "load.start" {
        open[number] = entry
      } else if entry.kind == "load.end" {
        outcome.exercised += 1
        let word = entry["outcome"]?.string ?? ""
        if ended.contains(number) {
          outcome.breaks(entry, nil, "Load \(number) of \(entry["host"]?.string ?? "") ended a second time, “\(word)”, at \(entry.at).")
        } else if open[number] == nil {
          outcome.breaks(entry, nil, "Load \(number) of \(entry["host"]?.string ?? "") ended at \(entry.at) and never started.")
        } else if let fence = fenced[number], word == "applied" || word == "unavailable" {
          outcome.breaks(
            entry, nil,
            "The answer to load \(number) of \(entry["host"]?.string ?? "") was applied at \(entry.at), after the chat had left the screen "
              + "at \(fence.at).", [fence.index])
        }
        ended.insert(number)
        open[number] = nil
        fenced[number] = nil
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-24", "A failed load changes nothing",
    "After a load that failed, was invalid, fenced or refused, the rows on screen are those of before.",
    per: "a load that failed while rows were on screen", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no load failed while rows were on screen")
    let evidence = Evidence(index)
    for end in evidence.notes("load.end") {
      guard let word = end["outcome"]?.string, ["failed", "invalid", "fenced", "overlay-rejected"].contains(word),
        let host = end["host"]?.string, let before = shown(index, host: host, before: end.index), !before.rows.isEmpty
      else { continue }
      outcome.exercised += 1
      for position in evidence.handling(after: end.index) where evidence.isNote(position, "show") {
        let entry = index.entries[position]
        guard entry["host"]?.string == host else { continue }
        let after = rows(entry)
        if after != before.rows {
          outcome.breaks(
            entry, nil, "The rows of \(host) changed at \(entry.at) with a load that ended “\(word)”: \(change(before.rows, after)).",
            [before.entry, end.index])
        }
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-25", "Periodic loads",
    "Two periodic loads of a chat are 10 s apart at least, 60 s if nothing was pending in between, and none starts while something blocks it.",
    per: "a periodic load", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("there was no periodic load")
    let pending = Pending(index)
    let all = loads(index)
    var last: [String: LoadLife] = [:]
    for load in all where load.isPeriodic {
      defer { last[load.host] = load }
      outcome.exercised += 1
      let at = load.start.at
      if !isConnected(index, from: at, to: at, strictly: load.start.index) {
        outcome.breaks(load.start, nil, "A periodic load of \(load.host) started at \(at) without a usable connection.")
      }
      let blocking = all.first {
        $0.host == load.host && $0.start.index < load.start.index && ($0.end.map { $0.index > load.start.index } ?? false)
      }
      if let blocking {
        outcome.breaks(
          load.start, nil, "A periodic load of \(load.host) started at \(at) while another was active.", [blocking.start.index])
      }
      if let older = olderInFlight(index, host: load.host, at: load.start.index) {
        outcome.breaks(load.start, nil, "A periodic load of \(load.host) started at \(at) while an older page was loading.", [older])
      }
      guard let before = last[load.host] else { continue }
      let between = index.entries[(before.start.index + 1)..<load.start.index]
      if between.contains(where: { endsHost($0, load.host) || $0.party == .core && $0.kind == "host.activate" }) { continue }
      let gap = at - before.start.at
      if gap < .seconds(10) {
        outcome.breaks(load.start, nil, "Two periodic loads of \(load.host) are \(gap) apart; 10 s is the least.", [before.start.index])
      } else if gap < .seconds(60), pending.isIdle(from: before, to: load) {
        outcome.breaks(
          load.start, nil, "Two periodic loads of \(load.host) are \(gap) apart although nothing was pending; 60 s is the least.",
          [before.start.index])
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-26", "Lease",
    "The lease names the chat on screen or none, and while it is there, awake and connected, holds are 20 s apart at most.",
    per: "a hold, or a chat on screen that needs one", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no lease was held")
    let evidence = Evidence(index)
    var screen: String?
    var isUp = false
    var isActive = true
    var held: (at: Instant, entry: Int)?
    let most = Interval.seconds(20)
    func close(_ entry: TraceEntry) {
      guard let last = held, isUp, isActive, screen != nil else { return }
      if entry.at - last.at > most, !evidence.wasPaused(from: last.at, to: entry.at) {
        outcome.breaks(
          entry, nil,
          "\(screen ?? "") is on screen and its lease of \(last.at) was not renewed by \(entry.at), after \(entry.at - last.at).",
          [last.entry])
      }
    }
    for entry in index.entries {
      switch (entry.party, entry.kind) {
      case (.core, "host.activate"):
        close(entry)
        held = nil
        screen = entry["key"]?.string
        // The hold goes out with it when the connection is usable.
        if isUp, isActive { held = (entry.at, entry.index) }
      case (.core, "host.park"):
        close(entry)
        held = nil
        if screen == entry["key"]?.string { screen = nil }
      case (.link, "up"):
        isUp = true
        held = (entry.at, entry.index)
      case (.link, "down"):
        close(entry)
        isUp = false
        held = nil
      case (.world, "stop"), (.world, "suspend"), (.world, "background"):
        close(entry)
        isActive = false
        held = nil
        if entry.kind == "stop" { isUp = false; screen = nil }
      case (.world, "launch"), (.world, "resume"), (.world, "foreground"):
        isActive = true
        held = (entry.at, entry.index)
      case (.user, "gesture"):
        if entry["do"]?.string == "background" {
          close(entry)
          isActive = false
          held = nil
        } else if entry["do"]?.string == "foreground" {
          isActive = true
          held = (entry.at, entry.index)
        }
      case (.link, "send"):
        guard entry["dir"]?.string == "out", entry["name"]?.string == Method.timelineInterest.rawValue else { continue }
        outcome.exercised += 1
        let session = entry["sessionId"]?.string ?? ""
        let name = entry["threadId"]?.string.map { "\(session)/\($0)" } ?? session
        if entry["hold"]?.bool == true {
          if name != screen {
            outcome.breaks(entry, nil, "The lease went to \(name) at \(entry.at) while \(screen ?? "no chat") was on screen.")
          }
          close(entry)
          held = (entry.at, entry.index)
        }
      default: break
      }
    }
    if let last = index.entries.last { close(last) }
    return outcome
  },
]

// MARK: - Helpers

/// Item ids with origins that a `show` record names, without echoes.
func rows(_ show: TraceEntry) -> [String: String] {
  var found: [String: String] = [:]
  for row in show["rows"]?.array ?? [] {
    guard let id = row["id"]?.string, let origin = row["origin"]?.string, origin != "echo" else { continue }
    found[id] = origin
  }
  return found
}

/// What the last record before an entry showed of a host, if that host was the one on screen.
func shown(_ index: TraceIndex, host: String, before entry: Int) -> (entry: Int, rows: [String: String])? {
  guard let last = previous(index.indices(.core, "show"), before: entry), index.entries[last]["host"]?.string == host,
    last > previous(index.indices(.world, "launch"), before: entry) ?? -1
  else { return nil }
  return (last, rows(index.entries[last]))
}

/// The greatest of some entries, in order, that lies before another one. O(log n).
private func previous(_ entries: [Int], before entry: Int) -> Int? {
  var low = 0
  var high = entries.count
  while low < high {
    let middle = (low + high) / 2
    if entries[middle] < entry { low = middle + 1 } else { high = middle }
  }
  return low > 0 ? entries[low - 1] : nil
}

func change(_ before: [String: String], _ after: [String: String]) -> String {
  let gone = before.keys.filter { after[$0] == nil }.sorted()
  let new = after.keys.filter { before[$0] == nil }.sorted()
  var parts: [String] = []
  if !gone.isEmpty { parts.append("gone \(gone.prefix(3).joined(separator: ", "))") }
  if !new.isEmpty { parts.append("new \(new.prefix(3).joined(separator: ", "))") }
  return parts.isEmpty ? "other origins" : parts.joined(separator: "; ")
}

/// Whether a connection was up for the whole time; with `strictly` also at that entry.
private func isConnected(_ index: TraceIndex, from: Instant, to: Instant, strictly entry: Int? = nil) -> Bool {
  var isUp = false
  for position in (index.indices(.link, "up") + index.indices(.link, "down")).sorted() {
    let change = index.entries[position]
    if change.at > to || entry.map({ position > $0 }) ?? false { break }
    isUp = change.kind == "up"
    if !isUp, change.at >= from, entry == nil { return false }
  }
  return isUp
}

private func olderInFlight(_ index: TraceIndex, host: String, at entry: Int) -> Int? {
  var open: Int?
  for position in (index.indices(.core, "older.start") + index.indices(.core, "older.end")).sorted() where position < entry {
    guard index.entries[position]["host"]?.string == host else { continue }
    open = index.entries[position].kind == "older.start" ? position : nil
  }
  guard let open, index.entries[entry].at - index.entries[open].at < .seconds(8) else { return nil }
  return open
}

/// What was pending in a chat when its loads started: runs, messages, other loads.
private struct Pending {
  struct Moment {
    /// A run or a message was pending.
    var isPending: Bool
    /// The last entry before that shows something pending.
    var sign: Int
  }

  private struct Chat {
    var open: Set<String> = []
    var run: String?
    var sign = -1
  }

  /// By the `load.start` entries.
  private var moments: [Int: Moment] = [:]

  init(_ index: TraceIndex) {
    var chats: [String: Chat] = [:]
    /// The last load, of any chat.
    var loaded = -1
    for entry in index.entries {
      switch (entry.party, entry.kind) {
      case (.world, "launch"):
        chats = [:]
      case (.core, "op"):
        guard let host = entry["session"]?.string, let operation = entry["operation"]?.string else { continue }
        if entry["state"]?.string == "done" {
          chats[host, default: Chat()].open.remove(operation)
        } else {
          chats[host, default: Chat()].open.insert(operation)
          chats[host, default: Chat()].sign = entry.index
        }
      case (.link, "send"):
        // Any sign of a run, seen or not, makes the wait a short one.
        guard entry["dir"]?.string == Direction.in.rawValue, let host = entry["sessionId"]?.string, let name = entry["name"]?.string
        else { continue }
        if name == EventName.runStarted.rawValue {
          chats[host, default: Chat()].run = entry["runId"]?.string
          chats[host, default: Chat()].sign = entry.index
        } else if name.hasPrefix("chat:run-") {
          chats[host]?.run = nil
        } else if name == Method.load.rawValue, entry["label"]?.string == "response" {
          chats[host, default: Chat()].run = entry["runId"]?.string
        }
      case (.core, "load.start"):
        let host = entry["host"]?.string ?? ""
        let chat = chats[host] ?? Chat()
        moments[entry.index] = Moment(isPending: chat.run != nil || !chat.open.isEmpty, sign: max(chat.sign, loaded))
        loaded = entry.index
      default: break
      }
    }
  }

  /// Whether no run, message or other load was pending between two periodic loads.
  func isIdle(from before: LoadLife, to load: LoadLife) -> Bool {
    guard before.end?["outcome"]?.string == "applied", let first = moments[before.start.index], let second = moments[load.start.index]
    else { return false }
    // What was pending when the first of the two began was pending between them, whatever became of it since.
    return !first.isPending && !second.isPending && second.sign <= before.start.index
  }
}
