import Contract
import Simulation
import Wire

/// The life of every message, from the common vocabulary alone: what the wire and the server's ledger record is evidence, what the client
/// notes is its word.
package struct DeliveryLedger: Hashable, Sendable {
  /// Worst first, then those that a fault touched, then in order of the user actions.
  package var messages: [Message]
  /// Saved by the server, sent by nobody here: messages of other sessions and clients.
  package var foreign: [ForeignEntry]

  /// The ledger of a trace, made once for all who ask.
  package static func shared(_ index: TraceIndex) -> DeliveryLedger { index.finding { DeliveryLedger($0) } }

  /// O(n) in the entries about operations.
  package init(_ index: TraceIndex) {
    var groups = OrderedMap<String, [String]>()
    var foreign: [ForeignEntry] = []
    for operation in index.operations {
      let accepted = index.indices(ofOperation: operation).first {
        index.entries[$0].party == .core && index.entries[$0].kind == "accepted"
      }
      if let accepted {
        // Two operations of one gesture are one message.
        let gesture = index.gesture(ofAccepted: accepted)
        groups[gesture.map { "gesture \($0.index)" } ?? "operation \(operation)", default: []].append(operation)
      } else if !index.attempts(of: operation).isEmpty {
        groups["operation \(operation)", default: []].append(operation)
      } else if let saved = index.all(.twin, "saved", operation: operation).first {
        foreign.append(
          ForeignEntry(operation: operation, text: saved["text"]?.string ?? "", lane: saved["lane"]?.string, at: saved.at))
      }
    }
    let lastLaunch = index.indices(.world, "launch").last ?? -1
    var messages = groups.values.map { DeliveryLedger.message($0, index, lastLaunch: lastLaunch) }
    messages.sort { ($0.accepted ?? $0.firstSight, $0.operationIDs[0]) < ($1.accepted ?? $1.firstSight, $1.operationIDs[0]) }
    for position in messages.indices { messages[position].id = "M\(position + 1)" }
    let order = messages.indices.sorted {
      let (a, b) = (messages[$0], messages[$1])
      return (a.fate.rank, a.faults.isEmpty ? 1 : 0, $0) < (b.fate.rank, b.faults.isEmpty ? 1 : 0, $1)
    }
    self.messages = order.map { messages[$0] }
    self.foreign = foreign
  }

  /// The message that an operation belongs to.
  package func message(ofOperation operation: String) -> Message? { messages.first { $0.operationIDs.contains(operation) } }

  private static func message(_ operations: [String], _ index: TraceIndex, lastLaunch: Int) -> Message {
    let accepted = operations.compactMap { index.all(.core, "accepted", operation: $0).first }
    var message = Message(
      id: "", operationIDs: operations, text: accepted.first?["text"]?.string ?? "", lane: accepted.first?["lane"]?.string,
      accepted: accepted.first.flatMap { $0["action"]?.string == "earlier" ? nil : $0.at },
      hasUserAction: accepted.contains { $0["action"]?.string == "earlier" || index.gesture(ofAccepted: $0.index) != nil },
      attempts: [], distinctKeys: 0, saves: [], deliveries: [], history: [], removals: [], supersessions: [], refusals: [], shown: nil,
      word: nil, wordAt: nil, wordCounts: false, faults: [], fate: .lost, why: "", evidence: [])
    var frames = Set<Int>()
    for operation in operations {
      for frame in index.attempts(of: operation) {
        message.attempts.append(attempt(frame, operation, index))
        frames.insert(frame.entry)
      }
      func ledger(_ kind: String, _ detail: String) -> [LedgerEntry] {
        index.all(.twin, kind, operation: operation).map {
          LedgerEntry(operation: operation, at: $0.at, entry: $0.index, detail: $0[detail]?.string)
        }
      }
      message.saves += ledger("saved", "lane")
      message.deliveries += ledger("delivered", "run")
      message.history += ledger("history", "row")
      message.removals += ledger("removed", "run")
      message.supersessions += ledger("superseded", "by")
      message.refusals += ledger("refused", "code")
      for entry in index.indices(ofOperation: operation) where index.entries[entry].party == .link && index.entries[entry].kind == "send" {
        for fault in index.frame(ofEntry: entry)?.faults ?? [] { message.faults.append(touch(index.entries[fault], index)) }
      }
    }
    // One row may be noted again (a settle, a reload): rows are counted by identity.
    var rows = Set<String>()
    message.history = message.history.filter { rows.insert($0.detail ?? "\($0.operation)").inserted }
    message.attempts.sort { $0.entry < $1.entry }
    message.faults.sort { $0.entry < $1.entry }
    message.saves.sort { $0.entry < $1.entry }
    message.distinctKeys = Set(message.attempts.compactMap(\.key)).count
    message.shown = operations.compactMap { index.all(.core, "shown", operation: $0).first?.at }.min()
    if message.text.isEmpty { message.text = message.saves.first.flatMap { index.entries[$0.entry]["text"]?.string } ?? "" }
    if message.lane == nil { message.lane = message.saves.first?.detail }
    if let last = operations.flatMap({ index.words(about: $0) }).max(by: { $0.entry < $1.entry }) {
      message.word = last.word
      message.wordAt = last.at
      message.wordCounts = last.entry > lastLaunch || isFinal(last.word)
      message.evidence.append(last.entry)
    }
    decide(&message)
    if let entry = accepted.first?.index { message.evidence.append(entry) }
    message.evidence += message.saves.map(\.entry)
    if message.saves.isEmpty { message.evidence += message.attempts.map(\.entry) }
    message.evidence.sort()
    return message
  }

  private static func isFinal(_ word: Vocabulary.ClientWord) -> Bool {
    switch word {
    case .delivered, .restored, .removed, .superseded: true
    case .sending, .unconfirmed, .waiting, .held, .failed: false
    }
  }

  private static func attempt(_ frame: WireFrame, _ operation: String, _ index: TraceIndex) -> Attempt {
    let responses = index.responses(to: frame)
    let receipt = responses.first { !$0.arrivals.isEmpty }
    let mishaps = (frame.faults + responses.flatMap(\.faults)).sorted()
    return Attempt(
      operation: operation, key: frame.key, at: frame.at, entry: frame.entry,
      passage: frame.arrivals.first.map { .arrived(index.entries[$0].at) } ?? .never, answered: responses.first?.at,
      receipt: receipt.flatMap { $0.arrivals.first }.map { index.entries[$0].at }, mishaps: mishaps.map { index.entries[$0].kind })
  }

  private static func touch(_ entry: TraceEntry, _ index: TraceIndex) -> FaultTouch {
    let frame = index.frame(ofEntry: entry.index)
    let source: FaultTouch.Source =
      if let rule = entry["rule"]?.int { .rule(rule) } else if let condition = entry["condition"]?.string {
        .recordedPast(condition)
      } else {
        .connection(entry["cause"]?.string ?? "no cause given")
      }
    return FaultTouch(
      source: source, kind: entry.kind, at: entry.at, frame: frame.map { "\($0.role.rawValue) \($0.name)" } ?? "frame",
      entry: entry.index)
  }

  /// The table of `Fate`, in the order in which the first that fits decides.
  private static func decide(_ message: inout Message) {
    let word = message.wordCounts ? message.word : nil
    let said = message.word.map { "said “\($0.rawValue)”" + (message.wordAt.map { " at \($0)" } ?? "") }
    let serverHas = !message.saves.isEmpty || !message.deliveries.isEmpty || !message.history.isEmpty
    let wasDelivered = !message.deliveries.isEmpty || !message.history.isEmpty
    let savedAt = message.saves.first.map { "saved it at \($0.at)" } ?? "has it"
    let tries = message.attempts.isEmpty ? "It was never sent." : "Sent \(times(message.attempts.count))."

    if message.saves.count > 1 || message.history.count > 1 {
      message.fate = .duplicated
      let places = (message.saves.count > 1 ? message.saves : message.history).map { "\($0.at)" }.joined(separator: " and ")
      message.why =
        message.saves.count > 1
        ? "The server saved it at \(places)" + (message.operationIDs.count > 1 ? ", as \(message.operationIDs.count) operations." : ".")
        : "It stands in the history as \(message.history.count) rows, from \(places)."
    } else if let removal = message.removals.last {
      (message.fate, message.why) = (.removed, "The server removed it at \(removal.at).")
    } else if let supersession = message.supersessions.last {
      message.fate = .superseded
      message.why = "Replaced" + (supersession.detail.map { " by \($0)" } ?? "") + " at \(supersession.at)."
    } else if serverHas {
      switch word {
      case .restored, .failed, .removed, .superseded:
        message.fate = .reportedFailedButSaved
        message.why = "The client \(said ?? "said so"); the server \(savedAt)."
      case .delivered:
        (message.fate, message.why) = (.confirmed, "The server \(savedAt); the client \(said ?? "knows").")
      case .waiting:
        message.fate = wasDelivered ? .confirmed : .waiting
        message.why = "The server \(savedAt)" + (wasDelivered ? " and delivered it." : "; it waits its turn.")
      case .held where !wasDelivered:
        (message.fate, message.why) = (.held, "The server \(savedAt); it goes on only by the user.")
      case .held, .sending, .unconfirmed, nil:
        message.fate = .savedUnconfirmed
        message.why =
          "The server \(savedAt); the client " + (said ?? "never said anything of it") + (word == nil ? ", before its last start." : ".")
      }
    } else {
      switch word {
      case .delivered, .waiting:
        message.fate = .claimedNotSaved
        message.why = "The client \(said ?? "said so"); the server never saved it. \(tries)"
      case .restored: (message.fate, message.why) = (.rejectedRestored, "The text is back in the composer. \(tries)")
      case .failed: (message.fate, message.why) = (.rejectedKept, "The text is kept with an error. \(tries)")
      case .removed: (message.fate, message.why) = (.removed, "Taken back before the server had it. \(tries)")
      case .superseded: (message.fate, message.why) = (.superseded, "Replaced before the server had it. \(tries)")
      case .sending, .unconfirmed, .held:
        (message.fate, message.why) = (.stranded, "The server does not have it; the client keeps it and \(said ?? "says so"). \(tries)")
      case nil:
        message.fate = .lost
        message.why =
          "The server does not have it, and the client "
          + (said.map { "\($0), before its last start, and nothing since" } ?? "never said anything of it")
          + ". \(tries)"
      }
    }
  }
}

extension Message {
  /// When anything was first known of it: an attempt or a save.
  fileprivate var firstSight: Instant { min(attempts.first?.at ?? .never, saves.first?.at ?? .never) }
}
