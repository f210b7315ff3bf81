import Contract
import Simulation

/// One request of the client that asks the server to take a message, and its receipt.
package struct Attempt: Hashable, Sendable {
  /// What the link did with a frame.
  package enum Passage: Hashable, Sendable {
    case arrived(Instant)
    /// A rule or a recorded condition took it, or it was still under way at the end (no fault entry).
    case never
  }

  package var operation: String
  package var key: String?
  package var at: Instant
  /// Index of the `send` entry.
  package var entry: Int
  package var passage: Passage
  /// When its receipt left the server, nil when none did.
  package var answered: Instant?
  /// When its receipt arrived; nil when it did not.
  package var receipt: Instant?
  /// What link or recorded past did to the receipt or the request: kind of the entry (`drop`, `delay`, …), in order.
  package var mishaps: [String]
}

/// What a fault, the recorded past or the loss of its connection did to a frame of a message.
package struct FaultTouch: Hashable, Sendable {
  /// Who did it.
  package enum Source: Hashable, Sendable {
    case rule(Int)
    /// A condition of the recorded past, in its words.
    case recordedPast(String)
    /// Its connection was gone, for the reason given.
    case connection(String)
  }

  package var source: Source
  /// Kind of the link entry: `drop`, `delay`, `duplicate`, …
  package var kind: String
  package var at: Instant
  /// The frame in words: `response run.chatOutboxSubmit`.
  package var frame: String
  /// Index of the trace entry.
  package var entry: Int

  /// Number of the rule that did it.
  package var rule: Int? { if case .rule(let number) = source { number } else { nil } }

  /// `fault 1`, `recorded past` or `connection lost`.
  package var words: String {
    switch source {
    case .rule(let number): "fault \(number)"
    case .recordedPast: "recorded past"
    case .connection: "connection lost"
    }
  }
}

/// One save in the server's ledger.
package struct LedgerEntry: Hashable, Sendable {
  package var operation: String
  package var at: Instant
  package var entry: Int
  /// Run, row or superseding operation, by kind of entry.
  package var detail: String?
}

/// A message: one user action and the operations that the client made of it, with its whole life (DESIGN.md 6).
package struct Message: Hashable, Sendable {
  /// `M1`, … in order of the user actions.
  package var id: String
  package var operationIDs: [String]
  package var text: String
  package var lane: String?
  /// When the client took it from the user; nil for operations that it had before the run (`earlier`) or never noted.
  package var accepted: Instant?
  /// Whether a gesture of the user stands behind it, or it is from before the run.
  package var hasUserAction: Bool
  package var attempts: [Attempt]
  package var distinctKeys: Int
  /// `saved` entries of the ledger.
  package var saves: [LedgerEntry]
  package var deliveries: [LedgerEntry]
  /// Rows of the history, one entry for each distinct row.
  package var history: [LedgerEntry]
  package var removals: [LedgerEntry]
  package var supersessions: [LedgerEntry]
  package var refusals: [LedgerEntry]
  /// When the client first showed it.
  package var shown: Instant?
  /// The client's last word, whatever launch it is from.
  package var word: Vocabulary.ClientWord?
  package var wordAt: Instant?
  /// Whether that word still counts at the end of the run.
  package var wordCounts: Bool
  package var faults: [FaultTouch]
  package var fate: Fate
  /// Why it has this fate, one or two sentences with their instants.
  package var why: String
  /// Indices of the entries that decide the fate, in order.
  package var evidence: [Int]

  /// The truth of the ledger in words: `1 row`, `saved twice, 2 runs`, `nothing`.
  package var ledger: String {
    if let removal = removals.last { return "removed \(removal.at)" }
    if let supersession = supersessions.last { return "replaced" + (supersession.detail.map { " by \($0)" } ?? "") }
    var parts: [String] = []
    if history.count > 0 { parts.append(history.count == 1 ? "1 row" : "\(history.count) rows") }
    let runs = deliveries.count
    if saves.count > 1 { parts.append("saved \(times(saves.count))") }
    if runs > 1 { parts.append("\(runs) runs") }
    if parts.isEmpty, runs == 1 { return "delivered" }
    if parts.isEmpty, saves.count == 1 { return "in the queue" }
    return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
  }

  /// The client's last word for a reader; what it said before a restart and not again is marked.
  package var clientSays: String {
    guard let word else { return "nothing" }
    return wordCounts ? word.rawValue : "nothing since the restart"
  }
}

/// An operation in the server's ledger that this client's user did not make.
package struct ForeignEntry: Hashable, Sendable {
  package var operation: String
  package var text: String
  package var lane: String?
  package var at: Instant
}
