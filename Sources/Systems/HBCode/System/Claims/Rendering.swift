import Contract
import HBCodeDialect
import Oracles
import Simulation
import Wire

let renderingClaims: [Claim] = [
  Claim(
    "HB-INV-30", "Never back within an epoch",
    "While a chat is kept, the version of its overlay never goes back, and the blocks of one version never change.",
    per: "a version shown after another, or an older one that arrived", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no overlay was shown twice")
    var shown: [String: (version: OverlayVersion, entry: Int, blocks: JSON?)] = [:]
    // What arrived last of each host and version.
    var arrived: [String: JSON] = [:]
    func name(_ host: String, _ version: OverlayVersion) -> String { "\(host) \(version.epoch) \(version.revision)" }
    for entry in index.entries {
      switch (entry.party, entry.kind) {
      case (.world, "launch"): shown = [:]
      case (.core, "host.release"): if let key = entry["key"]?.string { shown[key] = nil }
      case (.link, "arrive"):
        guard entry["dir"]?.string == "in", let sent = index.frame(ofEntry: entry.index),
          sent.name == EventName.timelineOverlay.rawValue || sent.role == .response && sent.name == Method.load.rawValue
        else { continue }
        let send = index.entries[sent.entry]
        guard let session = send["sessionId"]?.string, let epoch = send["settlementEpoch"]?.integer,
          let revision = send["revision"]?.integer
        else { continue }
        let version = OverlayVersion(epoch: epoch, revision: revision)
        if let json = index.content(ofEntry: sent.entry) {
          arrived[name(session, version)] = (json["result"]?["liveOverlay"] ?? json)["blocks"]
        }
        if let now = shown[session], version < now.version { outcome.exercised += 1 }
      case (.core, "overlay"):
        guard let host = entry["host"]?.string, let epoch = entry["epoch"]?.integer, let revision = entry["revision"]?.integer else {
          continue
        }
        let version = OverlayVersion(epoch: epoch, revision: revision)
        let blocks = arrived[name(host, version)]
        if let before = shown[host] {
          outcome.exercised += 1
          if version < before.version {
            outcome.breaks(
              entry, nil,
              "The overlay of \(host) went back at \(entry.at) from epoch \(before.version.epoch), revision \(before.version.revision) to epoch \(epoch), "
                + "revision \(revision)\(differing(before.blocks, blocks)).", [before.entry])
          } else if version == before.version, let old = before.blocks, let blocks, !old.isEquivalent(to: blocks) {
            outcome.breaks(
              entry, nil, "The blocks of epoch \(epoch), revision \(revision) of \(host) changed at \(entry.at)\(differing(old, blocks)).",
              [before.entry])
          }
        }
        shown[host] = (version, entry.index, blocks)
      default: break
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-32", "No double",
    "No row stands on screen twice: no live row beside a saved one of the same identity, no echo beside a row with its operation.",
    per: "a change of the rows, in the chat or on its list", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no rows were on screen")
    let positions = index.indices(.core, "show") + index.indices(.screen, "apply")
    for entry in positions.sorted().lazy.map({ index.entries[$0] }) {
      let ids =
        entry.party == .screen
        ? (entry["ids"]?.array ?? []).compactMap(\.string) : (entry["rows"]?.array ?? []).compactMap { $0["id"]?.string }
      guard ids.count > 1 else { continue }
      outcome.exercised += 1
      var seen: Set<String> = []
      for id in ids where !seen.insert(id).inserted {
        let operation = id.hasPrefix("user:op:") ? String(id.dropFirst(8)) : nil
        outcome.breaks(entry, operation, "Row \(id) stands twice on the screen of \(entry["host"]?.string ?? "") at \(entry.at).")
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-33", "Settling by identity",
    "A live row leaves the screen only because a saved row shares its identity or the overlay or the snapshot moved; what the overlay on "
      + "screen holds is shown.",
    per: "a live row that left the screen or was settled", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no live row left the screen")
    let evidence = Evidence(index)
    var overlays = ArrivedOverlays()
    var last: TraceEntry?
    var moved = false
    var missed: Set<String> = []
    /// A row of the overlay that is neither live nor saved on screen was settled by something else than its identity.
    func look(_ show: TraceEntry, at entry: TraceEntry) {
      guard let host = show["host"]?.string else { return }
      let now = rows(show)
      for (item, saved) in overlays.listed(host) where now[item] == nil && now[saved] == nil && missed.insert(item).inserted {
        outcome.exercised += 1
        outcome.breaks(
          entry, operation(ofItem: item), "Row \(item) of the overlay of \(host) is not on screen at \(entry.at), neither live nor saved.",
          [show.index])
      }
    }
    for entry in index.entries {
      switch (entry.party, entry.kind) {
      case (.world, "launch"):
        last = nil
        overlays.forget()
      case (.core, "host.release"): if let key = entry["key"]?.string { overlays.forget(key) }
      case (.link, "arrive"): overlays.arrived(entry, index)
      case (.core, "overlay"):
        overlays.moved(entry)
        guard let before = last, before["host"] == entry["host"] else { continue }
        moved = true
        if !evidence.handling(after: entry.index).contains(where: { evidence.isNote($0, "show") }) { look(before, at: entry) }
      case (.core, "load.end"):
        if entry["host"]?.string == last?["host"]?.string, ["applied", "unavailable"].contains(entry["outcome"]?.string ?? "") {
          moved = true
        }
      case (.core, "show"):
        defer {
          last = entry
          moved = false
        }
        look(entry, at: entry)
        guard let before = last, before["host"] == entry["host"] else { continue }
        let now = rows(entry)
        for (id, origin) in rows(before).sorted(by: { $0.key < $1.key }) where origin == "live" {
          if now[id] == "live" { continue }
          outcome.exercised += 1
          if now[id] == nil, !moved {
            outcome.breaks(
              entry, operation(ofItem: id),
              "Live row \(id) left the screen at \(entry.at), and neither the overlay nor a snapshot had moved.",
              [before.index])
          }
        }
      default: break
      }
    }
    if outcome.exercised > 0 { outcome.remark = nil }
    return outcome
  },
  Claim(
    "HB-INV-34", "Counter", "A snapshot that live events overtook brings no live rows and no active run.",
    per: "an applied load during which a live event counted", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no live event overtook a load")
    let evidence = Evidence(index)
    for load in loads(index) {
      let (start, number, host) = (load.start, load.number, load.host)
      guard let end = load.end, end["outcome"]?.string == "applied" else { continue }
      let between = (start.index + 1)..<end.index
      // Events that count (HB-OVER-02), by what the client did with them.
      let counted = between.filter {
        evidence.isNote($0, "event") && index.entries[$0]["verdict"]?.string == "used" && index.entries[$0]["host"]?.string == host
          && ((index.entries[$0]["name"]?.string ?? "").hasPrefix("chat:run-")
            || index.entries[$0]["name"]?.string == EventName.timelineOverlay.rawValue)
      }
      guard let first = counted.first else { continue }
      outcome.exercised += 1
      if end["captured"] == end["counter"] {
        outcome.breaks(
          end, nil, "A live event of \(host) counted at \(index.entries[first].at), during load \(number), and its counter did not move.",
          [start.index, first])
        continue
      }
      let answer = evidence.asks.first { $0.entry > start.index && $0.method == .load && $0.session == host }
      guard let answer, case .answered(let got) = answer.ending, got.isIntact,
        let result = index.content(ofEntry: got.sent)?["result"]
      else { continue }
      let live = (result["timeline"]?.array ?? []).filter { $0["origin"]?.string == "live" }
      let brings = !live.isEmpty || !(result["activeRun"]?.isNull ?? true)
      if brings, end["droppedLive"]?.bool != true {
        outcome.breaks(
          end, nil,
          "Load \(number) of \(host) was overtaken by a live event at \(index.entries[first].at) and what is live in it was taken: "
            + "\((live.compactMap(itemID) + [result["activeRun"]?["runId"]?.string].compactMap(\.self)).joined(separator: ", ")).",
          [start.index, first])
        continue
      }
      // No row of those appears that was not there before.
      let before = shown(index, host: host, before: end.index)?.rows ?? [:]
      let blocks = Set((result["liveOverlay"]?["blocks"]?.array ?? []).compactMap(itemID))
      for position in evidence.handling(after: end.index) where evidence.isNote(position, "show") {
        let now = rows(index.entries[position])
        for row in live {
          guard let id = itemID(row), now[id] == "live", before[id] == nil, !blocks.contains(id) else { continue }
          outcome.breaks(
            index.entries[position], nil, "Live row \(id) of an overtaken snapshot came on screen at \(index.entries[position].at).",
            [end.index, first])
        }
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-50", "Bad data changes nothing", "An answer or event that fails its decode changes no row and no version.",
    per: "an answer or event that failed its decode", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("nothing failed its decode")
    let evidence = Evidence(index)
    for (position, entry) in index.entries.enumerated() where entry.party == .core {
      let isBad: Bool
      switch entry.kind {
      case "frame.dropped", "answer.invalid": isBad = true
      case "event": isBad = entry["verdict"]?.string == "dropped"
      case "load.end", "older.end": isBad = entry["outcome"]?.string == "invalid"
      default: isBad = false
      }
      guard isBad else { continue }
      outcome.exercised += 1
      for next in evidence.handling(after: position) {
        let after = index.entries[next]
        guard after.party == .core else { continue }
        if after.kind == "overlay" || after.kind == "epoch" && after["cause"]?.string == "window-replaced" {
          outcome.breaks(
            after, nil, "An invalid \(entry.kind == "event" ? "event" : "answer") at \(entry.at) changed the overlay's version.", [position]
          )
        } else if after.kind == "show", let host = after["host"]?.string, let before = shown(index, host: host, before: next),
          before.rows != rows(after)
        {
          outcome.breaks(
            after, nil,
            "An invalid \(entry.kind == "event" ? "event" : "answer") at \(entry.at) changed the rows of \(host): \(change(before.rows, rows(after))).",
            [position, before.entry])
        }
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-60", "Repeatable", "The same recording, plan and seed give the same trace, byte by byte.",
    per: "a second run from the same token",
    on: .clientOnly, needsProof: true
  ) { _ in ClaimOutcome(exercised: 0, remark: "not run twice (--prove)") },
]

/// The rows by which two lists of blocks differ, as the end of a sentence; nothing where one of them is not known.
private func differing(_ old: JSON?, _ new: JSON?) -> String {
  guard let old = old?.array, let new = new?.array else { return "" }
  let names = (new + old).filter { row in
    !(old.contains { $0.isEquivalent(to: row) } && new.contains { $0.isEquivalent(to: row) })
  }
  return names.isEmpty ? "" : ": " + names.compactMap(itemID).uniqued.prefix(3).joined(separator: ", ")
}

/// What the overlays that arrived hold, by host and version, and which of them each host has on screen.
private struct ArrivedOverlays {
  /// Nil where it is not sure what the client got: frames that a rule changed, two overlays of one version.
  private var blocks: [String: [JSON]?] = [:]
  /// Rows that leave the list whatever the overlay says (HB-PROJ-03).
  private var hidden: Set<String> = []
  private var current: [String: String] = [:]

  private func name(_ host: String, _ epoch: Int64, _ revision: Int64) -> String { "\(host) \(epoch) \(revision)" }

  mutating func forget() { current = [:] }
  mutating func forget(_ host: String) { current[host] = nil }

  mutating func arrived(_ entry: TraceEntry, _ index: TraceIndex) {
    guard let sent = index.frame(ofEntry: entry.index), sent.direction == .in else { return }
    let isSnapshot = sent.role == .response && [.load, .loadThread].contains(Method(rawValue: sent.name))
    guard isSnapshot || sent.name == EventName.timelineOverlay.rawValue else { return }
    let send = index.entries[sent.entry]
    guard let session = send["sessionId"]?.string, let epoch = send["settlementEpoch"]?.integer, let revision = send["revision"]?.integer
    else { return }
    let host = send["threadId"]?.string.map { "\(session)/\($0)" } ?? session
    let isChanged = sent.faults.contains { ["corrupt", "truncate", "replace"].contains(index.entries[$0].kind) }
    let json = isChanged ? nil : index.content(ofEntry: sent.entry)
    for row in json?["result"]?["timeline"]?.array ?? [] where row["panel"] != nil { if let id = itemID(row) { hidden.insert(id) } }
    let new = (json?["result"]?["liveOverlay"] ?? json)?["blocks"]?.array
    let name = name(host, epoch, revision)
    if let known = blocks[name] {
      if let known, let new, known.count == new.count, zip(known, new).allSatisfy({ $0.isEquivalent(to: $1) }) { return }
      blocks[name] = .some(nil)
    } else {
      blocks[name] = .some(new)
    }
  }

  mutating func moved(_ overlay: TraceEntry) {
    guard let host = overlay["host"]?.string, let epoch = overlay["epoch"]?.integer, let revision = overlay["revision"]?.integer
    else { return }
    current[host] = name(host, epoch, revision)
  }

  /// Item ids of the rows that the overlay on screen puts into the list, each with the id of a saved row that names no operation.
  func listed(_ host: String) -> [(item: String, saved: String)] {
    guard let name = current[host], let rows = blocks[name] ?? nil else { return [] }
    return rows.compactMap { row in
      guard let item = itemID(row), let type = row["type"]?.string, let id = row["id"]?.string, type != RowType.thinking.rawValue,
        row["panel"] == nil, !hidden.contains(item)
      else { return nil }
      return (item, type + ":" + id)
    }
  }
}

/// The operation of an item id (HB-PROJ-04).
private func operation(ofItem id: String) -> String? { id.hasPrefix("user:op:") ? String(id.dropFirst(8)) : nil }

/// The item id of a row on the wire (HB-PROJ-04).
func itemID(_ row: JSON) -> String? {
  guard let type = row["type"]?.string, let id = row["id"]?.string else { return nil }
  if type == RowType.user.rawValue, let operation = row["operationId"]?.string { return "user:op:" + operation }
  return type + ":" + id
}
