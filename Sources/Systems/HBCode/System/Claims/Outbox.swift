import Contract
import HBCodeDialect
import Simulation
import Wire

/// States of table D.4 in which an operation has no end yet (HB-INV-15).
private let unendedStates: Set<String> = ["new", "sent", "unknown", "retry", "removing"]
private let chainMethods: Set<Method> = [.outboxSubmit, .outboxRemove, .outboxReorder, .outboxLoad]

let outboxClaims: [Claim] = [
  Claim(
    "HB-INV-03", "Same key, same words",
    "All requests of one mutation have one key and the same params; a key belongs to one mutation and is method and mutation id.",
    per: "a keyed mutation", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no keyed request was sent")
    var first: [String: Ask] = [:]
    for ask in Evidence(index).asks {
      guard let key = ask.key else {
        if ask.method?.isKeyed ?? false {
          outcome.exercised += 1
          outcome.breaks(index.entries[ask.entry], ask.operation, "\(ask.name) at \(ask.at) has no key.")
        }
        continue
      }
      if ask.name.hasPrefix("files.") { continue }
      guard let mutation = ask.mutation, key == ask.name + ":" + mutation else {
        outcome.exercised += 1
        outcome.breaks(
          index.entries[ask.entry], ask.operation, "The key “\(key)” of \(ask.name) at \(ask.at) is not method and mutation id.")
        continue
      }
      guard let known = first[mutation] else {
        first[mutation] = ask
        outcome.exercised += 1
        continue
      }
      if known.key != key {
        outcome.breaks(
          index.entries[ask.entry], ask.operation, "Mutation \(mutation) was sent under two keys: “\(known.key ?? "")” and “\(key)”.",
          [known.entry])
      } else if known.hash != ask.hash {
        outcome.breaks(
          index.entries[ask.entry], ask.operation,
          "Key “\(key)” was sent again at \(ask.at) with other params (\(known.hash ?? "none"), then \(ask.hash ?? "none")).", [known.entry]
        )
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-04", "Look before repeating",
    "A message is sent again only after a look at the desktop's outbox that lacks it, with the same mutation, key and params, and not while a "
      + "row with it is known.", per: "a submit sent again without an action of the user in between", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no message was sent again")
    let evidence = Evidence(index)
    let checks = evidence.asks.filter { $0.method == .outboxLoad }
    for operation in index.operations {
      let submits = evidence.asks.filter { $0.isSubmit && $0.operation == operation }
      for (earlier, later) in zip(submits, submits.dropFirst()) {
        if evidence.hasUserAction(on: operation, between: earlier.entry, and: later.entry) { continue }
        outcome.exercised += 1
        let entry = index.entries[later.entry]
        if earlier.mutation != later.mutation || earlier.key != later.key {
          outcome.breaks(
            entry, operation,
            "\(operation) was sent again at \(later.at) under “\(later.key ?? "no key")”; its first key was “\(earlier.key ?? "no key")”.",
            [earlier.entry])
          continue
        }
        if earlier.hash != later.hash {
          outcome.breaks(entry, operation, "\(operation) was sent again at \(later.at) with other params.", [earlier.entry])
          continue
        }
        guard let doubt = doubtful(earlier) else {
          outcome.breaks(
            entry, operation, "\(operation) was sent again at \(later.at), although its submit of \(earlier.at) was not in doubt.",
            [earlier.entry])
          continue
        }
        let look = checks.last { check in
          guard check.session == later.session, check.at >= doubt, check.entry > earlier.entry, case .answered(let got) = check.ending
          else {
            return false
          }
          return got.entry < later.entry && got.isOk && got.isIntact && !(got.operations?.contains(operation) ?? true)
        }
        guard let look else {
          let listed = checks.last { check in
            guard check.at >= doubt, case .answered(let got) = check.ending else { return false }
            return got.entry < later.entry && got.operations?.contains(operation) ?? false
          }
          outcome.breaks(
            entry, operation,
            listed == nil
              ? "\(operation) was sent again at \(later.at) without a look at the outbox since \(doubt)."
              : "\(operation) was sent again at \(later.at), although the outbox listed it.",
            [earlier.entry, listed?.entry].compactMap(\.self))
          continue
        }
        if let row = knownRow(of: operation, at: later.entry, evidence) {
          outcome.breaks(
            entry, operation, "\(operation) was sent again at \(later.at) while its row was on screen.", [earlier.entry, look.entry, row])
        }
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-05", "Terminal stays terminal",
    "Within one launch nothing is sent for a message that is done, and it never becomes pending again.",
    per: "a message that became done", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no message became done")
    let evidence = Evidence(index)
    for life in index.lives {
      var done: [String: Int] = [:]
      for position in max(0, life.opened)..<min(index.entries.count, life.closed ?? index.entries.count) {
        let entry = index.entries[position]
        if entry.party == .core, entry.kind == "op", let operation = entry["operation"]?.string {
          if entry["state"]?.string == "done" {
            if done[operation] == nil { outcome.exercised += 1 }
            done[operation] = done[operation] ?? position
          } else if let since = done[operation] {
            outcome.breaks(
              entry, operation,
              "\(operation), done since \(index.entries[since].at), became \(entry["state"]?.string ?? "pending") at \(entry.at).", [since])
          }
        } else if entry.party == .core, entry.kind == "store" {
          let terminal = Set((entry["terminal"]?.array ?? []).compactMap(\.string))
          for operation in (entry["order"]?.array ?? []).compactMap(\.string) where !terminal.contains(operation) {
            // The record of a change may come just before its note, never after it.
            if let since = done[operation] {
              outcome.breaks(
                entry, operation, "\(operation), done since \(index.entries[since].at), is pending in the replay set at \(entry.at).",
                [since])
              done[operation] = nil
            }
          }
        } else if entry.party == .link, entry.kind == "send", entry["dir"]?.string == "out", entry["key"] != nil,
          entry["name"]?.string != Method.stopAndSendNow.rawValue, let operation = entry["operation"]?.string, let since = done[operation]
        {
          outcome.breaks(
            entry, operation,
            "\(entry["name"]?.string ?? "A request") was sent at \(entry.at) for \(operation), done since \(index.entries[since].at).",
            [since])
        }
      }
    }
    _ = evidence
    return outcome
  },
  Claim(
    "HB-INV-07", "Serial chain", "Of one session at most one submit, removal, reorder or outbox load is in flight.",
    per: "a change or look of a session that had one before", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no session had two changes or looks")
    let evidence = Evidence(index)
    var last: [String: Ask] = [:]
    for ask in evidence.asks {
      guard let method = ask.method, chainMethods.contains(method) else { continue }
      defer { last[ask.session] = ask }
      guard let before = last[ask.session] else { continue }
      outcome.exercised += 1
      // Over before this one went out: answered, in doubt, or given up because its message was seen in the history.
      let isOver: Bool
      switch before.ending {
      case .answered(let got): isOver = got.entry < ask.entry
      case .timedOut(let at): isOver = at <= ask.at
      case .dropped(_, let entry), .stopped(_, let entry): isOver = entry < ask.entry
      case .open: isOver = false
      }
      let isGivenUp = before.operation.map { evidence.state(of: $0, at: ask.entry) == "done" } ?? false
      if !isOver, !isGivenUp {
        outcome.breaks(
          index.entries[ask.entry], ask.operation,
          "\(ask.name) went out at \(ask.at) while \(before.name) of \(before.at) of \(ask.session) was in flight.", [before.entry])
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-08", "Twenty seconds",
    "A submit without an answer becomes unknown at 20 s, and no earlier while its connection lives and no desktop_offline answers it.",
    per: "a submit that had no receipt within 20 s, or became unknown", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("every submit had its receipt in time")
    let evidence = Evidence(index)
    for ask in evidence.asks where ask.isSubmit {
      guard let operation = ask.operation else { continue }
      let limit = ask.at + .seconds(20)
      let notes = index.indices(ofOperation: operation).filter { $0 > ask.entry && evidence.isNote($0, "op") }
      let next = notes.first { index.entries[$0]["state"]?.string != "sent" }.map { index.entries[$0] }
      if let next, next["state"]?.string == "unknown", next.at < limit {
        var excuse = false
        switch ask.ending {
        case .dropped(let at, _), .stopped(let at, _): excuse = at <= next.at
        case .answered(let got): excuse = got.at <= next.at && (got.code == "desktop_offline" || !got.isIntact)
        case .timedOut, .open: break
        }
        outcome.exercised += 1
        if !excuse {
          outcome.breaks(
            next, operation,
            "\(operation) became unknown at \(next.at), \(next.at - ask.at) after its submit of \(ask.at), with a live connection.",
            [ask.entry])
        }
        continue
      }
      guard case .timedOut = ask.ending, !evidence.wasAsleep(from: ask.at, to: limit) else { continue }
      outcome.exercised += 1
      let state = evidence.entries.indices.last { evidence.entries[$0].at <= limit }.flatMap { evidence.state(of: operation, at: $0) }
      if state == "sent" {
        outcome.breaks(
          index.entries[ask.entry], operation,
          "\(operation), submitted at \(ask.at), has no answer and is not unknown at \(limit)"
            + (next.map { " (\($0["state"]?.string ?? "") at \($0.at))." } ?? "."),
          [next?.index].compactMap(\.self))
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-09", "Checks are on time",
    "While a message of the open chat waits, the next look at the outbox comes 10 to 13 s after it began to wait or after the last look; "
      + "earlier only for a reason.", per: "a look at the outbox that a waiting message was due", on: .clientOnly
  ) { index in checksOnTime(Evidence(index)) },
  Claim(
    "HB-INV-10", "A timeout is not a rejection",
    "No text goes back to the composer and no message is done because of a timeout, a lost connection or an offline desktop.",
    per: "a submit or removal whose outcome is unknown", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no outcome was unknown")
    let evidence = Evidence(index)
    for ask in evidence.asks where ask.isSubmit || ask.method == .outboxRemove {
      guard let operation = ask.operation else { continue }
      var cause: (at: Instant, entry: Int, words: String)?
      switch ask.ending {
      case .timedOut(let at): cause = (at, ask.entry, "its time limit")
      case .dropped(let at, let entry): cause = (at, entry, "its lost connection")
      case .answered(let got): if got.code == "desktop_offline" { cause = (got.at, got.entry, "desktop_offline") }
      case .stopped, .open: break
      }
      guard let cause else { continue }
      outcome.exercised += 1
      for position in index.indices(ofOperation: operation) where position > cause.entry {
        let entry = index.entries[position]
        if entry.at > cause.at { break }
        if entry.at < cause.at { continue }
        let isRestored = evidence.isNote(position, "composer") && entry["cause"]?.string == "restored"
        let isDone = evidence.isNote(position, "op") && entry["state"]?.string == "done"
        // Something else of the same instant may end it: applied history, a gesture.
        let other = (cause.entry + 1..<position).contains {
          let between = index.entries[$0]
          return between.at == cause.at
            && (between.party == .user || between.party == .link && between.kind == "arrive" && $0 != cause.entry)
        }
        if isRestored || isDone, !other {
          outcome.breaks(
            entry, operation,
            "\(operation) \(isRestored ? "went back to the composer" : "was done") at \(entry.at) because of \(cause.words).",
            [ask.entry, cause.entry])
        }
      }
    }
    // Whatever the moment: only a permanent rejection gives a text back.
    for note in evidence.notes("composer") where note["cause"]?.string == "restored" {
      guard let operation = note["operation"]?.string else { continue }
      let isRejected = evidence.asks.contains {
        guard $0.isSubmit, $0.operation == operation, case .answered(let got) = $0.ending else { return false }
        return got.entry < note.index && got.isPermanent
      }
      if !isRejected {
        outcome.exercised += 1
        outcome.breaks(note, operation, "The text of \(operation) went back to the composer at \(note.at) without a permanent rejection.")
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-11", "Desktop fields", "No request carries holdReason, accepted, handoff or message.", per: "a submit", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no message was sent")
    for ask in Evidence(index).asks {
      if ask.isSubmit { outcome.exercised += 1 }
      guard let json = index.content(ofEntry: ask.entry),
        let field = desktopField(in: json["params"] ?? .null)
      else { continue }
      if !ask.isSubmit { outcome.exercised += 1 }
      outcome.breaks(index.entries[ask.entry], ask.operation, "\(ask.name) at \(ask.at) carries “\(field)”, which only the desktop sets.")
    }
    return outcome
  },
  Claim(
    "HB-INV-12", "Steer shape", "A message names the run that it steers if and only if it is a steer.", per: "a submit", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no message was sent")
    for ask in Evidence(index).asks where ask.isSubmit {
      guard let entry = index.content(ofEntry: ask.entry)?["params"]?["entry"] else { continue }
      outcome.exercised += 1
      let isSteer = entry["sendMode"]?.string == SendMode.steerRunning.rawValue
      let run = entry["expectedActiveRunId"]?.string ?? ""
      if isSteer == run.isBlank {
        outcome.breaks(
          index.entries[ask.entry], ask.operation,
          isSteer ? "A steer at \(ask.at) names no run." : "A message at \(ask.at) that is no steer names run “\(run)”.")
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-14", "Restart keeps the queue",
    "After a launch the replay set has the order and messages of before, less the terminal ones, and the next generation.",
    per: "a launch after another one", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("the app was not launched again")
    var last: TraceEntry?
    var isBehind = false
    var key: String?
    var awaits = false
    for entry in index.entries {
      switch (entry.party, entry.kind) {
      case (.core, "stored"):
        if entry["key"]?.string == key || key == nil { isBehind = true }
      case (.core, "store"):
        key = entry["key"]?.string ?? key
        isBehind = false
        if awaits, let last {
          awaits = false
          outcome.exercised += 1
          let terminal = Set((last["terminal"]?.array ?? []).compactMap(\.string))
          let wanted = (last["order"]?.array ?? []).compactMap(\.string).filter { !terminal.contains($0) }
          let found = (entry["order"]?.array ?? []).compactMap(\.string)
          let generation = last["generation"]?.integer ?? 0
          if wanted != found {
            outcome.breaks(
              entry, wanted.first { !found.contains($0) },
              "After the launch at \(entry.at) the replay set holds [\(found.joined(separator: ", "))]; before it held [\(wanted.joined(separator: ", "))].",
              [last.index])
          } else if entry["generation"]?.integer != generation &+ 1 {
            outcome.breaks(
              entry, nil, "The launch at \(entry.at) began generation \(entry["generation"]?.integer ?? 0) after \(generation).",
              [last.index])
          }
        }
        last = entry
      case (.world, "stop"):
        // A write whose record the stop cut off: what was stored then is not in the trace.
        awaits = last != nil && !isBehind
      default: break
      }
    }
    return outcome
  },
  Claim(
    "HB-INV-15", "It ends",
    "Without faults and user, 13 s + 22 s × (n + 1) after the last of them no message of the open chat is new, sent, unknown, retry or removing; "
      + "n is how many were.", .liveness, per: "a message of the open chat without an end when the quiet phase begins", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no message of the open chat was without an end when the quiet phase began")
    let evidence = Evidence(index)
    guard let quiet = index.indices(.world, "quiet").last else { return Evidence.outcome("the run has no quiet phase") }
    let quietAt = index.entries[quiet].at
    guard let screen = evidence.notes("host.activate").last(where: { $0.index < quiet })?["key"]?.string else { return outcome }
    let session = screen.split(separator: "/").first.map(String.init) ?? screen
    var states: [String: TraceEntry] = [:]
    var order: [String] = []
    for note in evidence.notes("op") where note.index < quiet && note["session"]?.string == session {
      guard let operation = note["operation"]?.string else { continue }
      if states[operation] == nil { order.append(operation) }
      states[operation] = note
    }
    let open = order.filter { unendedStates.contains(states[$0]?["state"]?.string ?? "") }
    guard !open.isEmpty else { return outcome }
    let bound = quietAt + .seconds(13) + .seconds(22) * Int64(open.count + 1)
    guard index.end >= bound else { return Evidence.outcome("the run ends at \(index.end), before \(bound)") }
    for operation in open {
      outcome.exercised += 1
      let last = index.indices(ofOperation: operation).last { evidence.isNote($0, "op") && index.entries[$0].at <= bound }
      guard let last, unendedStates.contains(index.entries[last]["state"]?.string ?? "") else { continue }
      outcome.breaks(
        index.entries[last], operation,
        "\(operation) is still \(index.entries[last]["state"]?.string ?? "") at \(bound), \(bound - quietAt) after the last fault.", [quiet]
      )
    }
    return outcome
  },
]

/// When the outcome of a submit became unknown, or its error that is not permanent came; nil when it was neither.
private func doubtful(_ ask: Ask) -> Instant? {
  switch ask.ending {
  case .timedOut(let at), .dropped(let at, _), .stopped(let at, _): return at
  case .answered(let got):
    if !got.isIntact { return got.at }
    return got.isOk || got.isPermanent ? nil : got.at
  case .open: return nil
  }
}

/// The record that shows a row of an operation on screen when an entry is made, if it does.
private func knownRow(of operation: String, at entry: Int, _ evidence: Evidence) -> Int? {
  let life = evidence.index.lives.last { $0.opened < entry }
  guard let show = evidence.index.indices(.core, "show").last(where: { $0 < entry && $0 > life?.opened ?? -1 }) else { return nil }
  let id = "user:op:" + operation
  let isShown = (evidence.entries[show]["rows"]?.array ?? []).contains { $0["id"]?.string == id && $0["origin"]?.string != "echo" }
  return isShown ? show : nil
}

private func desktopField(in json: JSON) -> String? {
  switch json {
  case .object(let object):
    for member in object.members {
      if ["holdReason", "accepted", "handoff", "message"].contains(member.name) { return member.name }
      if let found = desktopField(in: member.value) { return found }
    }
    return nil
  case .array(let elements): return elements.lazy.compactMap { desktopField(in: $0) }.first
  default: return nil
  }
}

/// HB-INV-09.
private func checksOnTime(_ evidence: Evidence) -> ClaimOutcome {
  var outcome = Evidence.outcome("no message of the open chat waited for a look")
  let index = evidence.index
  let least = Interval.seconds(10)
  let most = Interval.seconds(13)
  var sessions: [String] = []
  for ask in evidence.asks where ask.method == .outboxLoad && !sessions.contains(ask.session) { sessions.append(ask.session) }
  for note in evidence.notes("op") {
    if let session = note["session"]?.string, !sessions.contains(session) { sessions.append(session) }
  }
  for session in sessions {
    let chain = evidence.asks.filter { $0.session == session && $0.method.map(chainMethods.contains) ?? false }
    let checks = chain.filter { $0.method == .outboxLoad }
    // From what the next look counts, with the entry that says so.
    var base: (at: Instant, entry: Int)?
    var states: [String: String] = [:]
    var closes: [(entry: Int, at: Instant)] = []
    for check in checks { if case .answered(let got) = check.ending { closes.append((got.entry, got.at)) } }
    let waits = { states.values.contains { $0 == "unknown" || $0 == "retry" } }
    for (position, entry) in index.entries.enumerated() {
      if entry.party == .world, entry.kind == "stop" {
        base = nil
        states = [:]
      } else if entry.party == .core, entry.kind == "op", entry["session"]?.string == session, let operation = entry["operation"]?.string {
        let didWait = waits()
        states[operation] = entry["state"]?.string
        if waits(), !didWait || ["unknown", "retry"].contains(states[operation] ?? ""), base == nil { base = (entry.at, position) }
        if !waits() { base = nil }
      } else if closes.contains(where: { $0.entry == position }), waits() {
        base = (entry.at, position)
      } else if let check = checks.first(where: { $0.entry == position }) {
        if let from = base {
          let gap = check.at - from.at
          outcome.exercised += 1
          if gap < least, !isAllowedEarly(check, from.at, session, states, evidence) {
            outcome.breaks(
              entry, nil, "The outbox of \(session) was looked at \(gap) after \(from.at): earlier than 10 s, and nothing asked for it.",
              [from.entry])
          }
          if gap > most, isUndisturbed(session, chain, from.at, from.at + most, evidence) {
            outcome.breaks(
              entry, states.keys.sorted().first { ["unknown", "retry"].contains(states[$0] ?? "") },
              "A message of \(session) waited since \(from.at); the look at the outbox came after \(gap), later than 13 s.",
              [from.entry])
          }
        }
        base = nil
      }
    }
    if let from = base, waits(), index.end > from.at + most, isUndisturbed(session, chain, from.at, from.at + most, evidence),
      let last = index.entries.last
    {
      outcome.exercised += 1
      outcome.breaks(
        last, states.keys.sorted().first { ["unknown", "retry"].contains(states[$0] ?? "") },
        "A message of \(session) waits since \(from.at); no look at the outbox came within 13 s.", [from.entry])
    }
  }
  return outcome
}

/// Whether something asked for a look before its time: a usable connection, another change that comes to the head, a reorder in doubt.
private func isAllowedEarly(
  _ check: Ask, _ since: Instant, _ session: String, _ states: [String: String], _ evidence: Evidence
) -> Bool {
  let becameUsable = evidence.entries[..<check.entry].last { entry in
    entry.at <= check.at && entry.party == .link
      && (entry.kind == "up" || entry.kind == "arrive" && ["desktop:online", "desktop:recovered"].contains(entry["name"]?.string ?? ""))
  }
  if let becameUsable, becameUsable.at >= since { return true }
  let others = states.values.count { ["new", "removing", "unknown", "retry"].contains($0) }
  if others > 1 { return true }
  return evidence.index.indices(.user, "gesture").contains {
    let gesture = evidence.entries[$0]
    return $0 < check.entry && ["reorder", "sendNow"].contains(gesture["do"]?.string ?? "") && check.at - gesture.at <= .seconds(60)
  }
}

/// Whether the chat was on screen, the app awake, the connection usable and the chain idle for the whole time.
private func isUndisturbed(_ session: String, _ chain: [Ask], _ from: Instant, _ to: Instant, _ evidence: Evidence) -> Bool {
  if evidence.wasPaused(from: from, to: to) { return false }
  if chain.contains(where: { $0.at <= to && ($0.ending.at ?? .never) > from }) { return false }
  var screen: String?
  var isUp = false
  var isOffline = false
  for entry in evidence.entries {
    if entry.at > to { break }
    switch (entry.party, entry.kind) {
    case (.core, "host.activate"): screen = entry["key"]?.string
    case (.core, "host.park"): if screen == entry["key"]?.string { screen = nil }
    case (.link, "up"): isUp = true
    case (.link, "down"): isUp = false
    case (.link, "arrive"):
      if entry["name"]?.string == "desktop:offline" { isOffline = true }
      if ["desktop:online", "desktop:recovered"].contains(entry["name"]?.string ?? "") { isOffline = false }
    default: continue
    }
    if entry.at > from, screen != session || !isUp || isOffline { return false }
  }
  return screen == session && isUp && !isOffline
}
