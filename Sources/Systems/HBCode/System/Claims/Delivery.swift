import Contract
import HBCodeDialect
import Simulation
import Wire

/// Where an operation is, for HB-INV-01.
private struct Whereabouts {
  var isPending = false
  var isOnDesktop = false
  var isEnded = false
  var supersededBy: String?
  var acceptedAt: Int
}

let deliveryClaims: [Claim] = [
  Claim(
    "HB-INV-01", "Nothing is lost",
    "Every message that the composer took is in the replay set, with the desktop, in the composer again, removed, or replaced by one for "
      + "which this holds.", per: "a message that the composer took", on: .ledger
  ) { index in
    var outcome = Evidence.outcome("the composer took no message")
    var places: [String: Whereabouts] = [:]
    var order: [String] = []
    var lost: Set<String> = []
    func holds(_ operation: String, _ depth: Int = 0) -> Bool {
      guard let place = places[operation] else { return false }
      if place.isPending || place.isOnDesktop || place.isEnded { return true }
      return place.supersededBy.map { depth < 1_000 && holds($0, depth + 1) } ?? false
    }
    func look(_ entry: TraceEntry) {
      for operation in order where !lost.contains(operation) && !holds(operation) {
        guard let place = places[operation] else { continue }
        lost.insert(operation)
        outcome.breaks(
          entry, operation,
          "Message \(operation), taken at \(index.entries[place.acceptedAt].at), is nowhere at \(entry.at): not in the replay set, not with the "
            + "desktop, not in the composer, not removed.", [place.acceptedAt])
      }
    }
    for entry in index.entries {
      switch (entry.party, entry.kind) {
      case (.core, "accepted"):
        guard let operation = entry["operation"]?.string, places[operation] == nil else { continue }
        // It was written before it was noted (HB-OUTBOX-08): the next record of the set has the last word.
        places[operation] = Whereabouts(isPending: true, acceptedAt: entry.index)
        order.append(operation)
        outcome.exercised += 1
        if let old = entry["supersedes"]?.string { places[old]?.supersededBy = operation }
      case (.core, "store"):
        guard let list = entry["order"]?.array else { continue }
        let terminal = Set((entry["terminal"]?.array ?? []).compactMap(\.string))
        let pending = Set(list.compactMap(\.string)).subtracting(terminal)
        for operation in order { places[operation]?.isPending = pending.contains(operation) }
        // What ends an operation may be noted within the same handling.
        continue
      case (.core, "composer"):
        if entry["cause"]?.string == "restored", let operation = entry["operation"]?.string { places[operation]?.isEnded = true }
      case (.twin, "saved"), (.twin, "delivered"), (.twin, "history"), (.twin, "listed"):
        if let operation = entry["operation"]?.string { places[operation]?.isOnDesktop = true }
      case (.twin, "removed"):
        if let operation = entry["operation"]?.string { places[operation]?.isEnded = true }
      case (.twin, "superseded"):
        guard let operation = entry["operation"]?.string, places[operation]?.isEnded == false else { continue }
        places[operation]?.isOnDesktop = false
        places[operation]?.supersededBy = entry["by"]?.string
      case (.link, "arrive"), (.core, "timer"), (.user, "gesture"), (.world, _): look(entry)
      default: continue
      }
    }
    if let last = index.entries.last { look(last) }
    if outcome.exercised > 0 { outcome.remark = nil }
    return outcome
  },
  Claim(
    "HB-INV-02", "Saved once", "The desktop saves each message once, and it stands in the history as one row.",
    per: "a message that the desktop saved", on: .ledger
  ) { index in
    var outcome = Evidence.outcome("the desktop saved no message")
    for operation in index.operations {
      let saves = index.all(.twin, "saved", operation: operation)
      let rows = index.all(.twin, "history", operation: operation)
      guard !saves.isEmpty || !rows.isEmpty else { continue }
      outcome.exercised += 1
      if saves.count > 1 {
        outcome.breaks(
          saves[1], operation, "The desktop saved \(operation) \(saves.count) times, at \(saves[0].at) and again at \(saves[1].at).",
          saves.map(\.index))
      }
      var seen: [String] = []
      for row in rows {
        guard let identity = row["row"]?.string, !seen.contains(identity) else { continue }
        seen.append(identity)
        if seen.count == 2 {
          outcome.breaks(
            row, operation, "\(operation) stands in the history as two rows, \(seen[0]) and \(identity).", rows.map(\.index))
        }
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-16", "Order", "First saves of one phone's messages of one session come in the order in which they were sent.",
    per: "two messages of one session, one sent after the other, both saved", on: .ledger
  ) { index in
    var outcome = Evidence.outcome("no session had two plain sends that were saved")
    let evidence = Evidence(index)
    var lanes: [String: [(operation: String, accepted: Int)]] = [:]
    var order: [String] = []
    var excused: Set<String> = []
    for note in evidence.notes("accepted") {
      guard let operation = note["operation"]?.string, let lane = note["lane"]?.string else { continue }
      if lanes[lane] == nil { order.append(lane) }
      lanes[lane, default: []].append((operation, note.index))
      if note["supersedes"] != nil { excused.insert(lane) }
    }
    for gesture in index.all(.user, "gesture") {
      switch gesture["do"]?.string {
      case "sendNow", "edit":
        if let operation = gesture["operation"]?.string {
          for lane in order where lanes[lane]?.contains(where: { $0.operation == operation }) ?? false { excused.insert(lane) }
        }
      // A reorder names a queue id: it concerns the chat on screen, whichever that is.
      case "reorder": excused.formUnion(order)
      default: break
      }
    }
    for note in evidence.notes("op") where note["state"]?.string == "retry" {
      if let lane = note["session"]?.string { excused.insert(lane) }
    }
    for lane in order where !excused.contains(lane) {
      var last: (operation: String, save: TraceEntry)?
      for (operation, accepted) in lanes[lane] ?? [] {
        guard let save = index.all(.twin, "saved", operation: operation).first else { continue }
        if let last {
          outcome.exercised += 1
          if save.index < last.save.index {
            outcome.breaks(
              last.save, operation,
              "\(operation) was sent after \(last.operation) and saved before it: at \(save.at), the other at \(last.save.at).",
              [accepted, save.index])
          }
        }
        last = (operation, save)
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-18", "One send, one message",
    "One send or edit makes exactly one message, and at most one user row in the history comes from one action of the user.",
    per: "a send or an edit that the screen allowed", on: .ledger
  ) { index in
    var outcome = Evidence.outcome("the user sent and edited nothing")
    let evidence = Evidence(index)
    var made: [Int: [String]] = [:]
    var known: Set<String> = []
    for note in evidence.notes("accepted") {
      guard let operation = note["operation"]?.string else { continue }
      known.insert(operation)
      if note["action"]?.string == "earlier" { continue }
      guard let gesture = index.gesture(ofAccepted: note.index), ["send", "edit"].contains(gesture["do"]?.string ?? "") else {
        outcome.exercised += 1
        outcome.breaks(note, operation, "Message \(operation) was made at \(note.at) without a send or an edit.")
        continue
      }
      made[gesture.index, default: []].append(operation)
    }
    for gesture in index.all(.user, "gesture") where ["send", "edit"].contains(gesture["do"]?.string ?? "") {
      let handling = evidence.handling(after: gesture.index)
      if handling.contains(where: { evidence.isNote($0, "refused") }) { continue }
      outcome.exercised += 1
      let operations = made[gesture.index] ?? []
      if operations.count != 1 {
        outcome.breaks(
          gesture, operations.last,
          operations.isEmpty
            ? "A \(gesture["do"]?.string ?? "send") at \(gesture.at) became no message."
            : "One \(gesture["do"]?.string ?? "send") at \(gesture.at) became \(operations.count) messages: \(operations.joined(separator: ", ")).",
          operations.flatMap { index.all(.core, "accepted", operation: $0).map(\.index) })
      }
      var rows: [TraceEntry] = []
      for operation in operations {
        for row in index.all(.twin, "history", operation: operation) where !rows.contains(where: { $0["row"] == row["row"] }) {
          rows.append(row)
        }
      }
      if rows.count > 1 {
        outcome.breaks(
          rows[1], operations.last, "One action of the user at \(gesture.at) stands in the history as \(rows.count) rows.",
          [gesture.index] + rows.map(\.index))
      }
    }
    // What the desktop saved, or was asked to save, comes from an action that the phone noted.
    for operation in index.operations where !known.contains(operation) {
      guard let save = index.all(.twin, "saved", operation: operation).first else { continue }
      outcome.exercised += 1
      outcome.breaks(
        save, operation, "The desktop saved \(operation) at \(save.at), which no action of the user made.",
        index.attempts(of: operation).map(\.entry))
    }
    if outcome.exercised > 0 { outcome.remark = nil }
    return outcome
  },
]
