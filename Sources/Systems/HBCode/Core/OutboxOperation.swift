import Contract
import HBCodeDialect

/// One operation on the phone (spec D.4).
package struct OutboxOperation: Hashable, Sendable {
  /// Where a removal stands.
  package enum Removal: Hashable, Sendable {
    /// It waits in the chain.
    case waiting
    case sent
    /// Its outcome is unknown; it is repeated after a check.
    case unknown
  }

  /// The states of table D.4.
  package enum State: Hashable, Sendable {
    case new
    case sent
    case unknown
    case retry
    case stranded
    case confirmed
    case removing(Removal)
    case error
    case rejected
    case done

    /// The name of the table.
    package var name: String {
      switch self {
      case .new: "new"
      case .sent: "sent"
      case .unknown: "unknown"
      case .retry: "retry"
      case .stranded: "stranded"
      case .confirmed: "confirmed"
      case .removing: "removing"
      case .error: "error"
      case .rejected: "rejected"
      case .done: "done"
      }
    }
  }

  /// What made an operation *confirmed*: which lists may end it by lacking it.
  package enum Confirmation: Hashable, Sendable {
    /// An answer of this revision: a newer list that lacks it ends it.
    case revision(Int64)
    /// An earlier launch: any list does.
    case earlier
    /// Nothing: its unknown submit was replaced by an edit. No list ends it.
    case none
  }

  package var entry: OutboxEntry
  package var state: State
  package var firstSentAt: Int64?
  package var supersedes: String?
  /// The operation that replaces this one and is not settled yet: its slot shows that one (HB-OUTBOX-05).
  package var hiddenBy: String?
  package var confirmation = Confirmation.none
  /// A check since its outcome became unknown did not find it (HB-OUTBOX-18).
  package var wasMissing = false
  /// What is under way repeats a submit of unknown outcome.
  package var isRepeated = false
  /// A desktop list showed it accepted (HB-OUTBOX-12).
  package var wasAccepted = false
  /// Send now was asked for while the outcome was unknown: the mutation to make if the entry is listed (HB-SHEET-12).
  package var sendNowAfterCheck: String?
  /// Shown before the others until its mutation is settled (HB-SHEET-04, -06).
  package var isAtFront = false

  package init(entry: OutboxEntry, state: State, firstSentAt: Int64? = nil, supersedes: String? = nil) {
    self.entry = entry
    self.state = state
    self.firstSentAt = firstSentAt
    self.supersedes = supersedes
  }

  /// The caption of an unknown outcome (HB-OUTBOX-10 [seed]); it is not an error.
  package static let unconfirmedCaption = "Desktop did not confirm this message"

  package var isDone: Bool { state == .done }

  /// Whether the outcome of a frame that was sent is unknown (HB-OUTBOX-18); *retry* is not.
  package var isOutcomeUnknown: Bool { state == .unknown || state == .removing(.unknown) }

  /// Whether the message waits for a check (HB-OUTBOX-11).
  package var waitsForCheck: Bool { isOutcomeUnknown || state == .retry }

  package var caption: String? {
    isOutcomeUnknown || state == .stranded ? OutboxOperation.unconfirmedCaption : nil
  }

  /// The record of the replay set (HB-OUTBOX-02).
  package var record: ReplaySet.Record {
    isDone ? .terminal : .pending(ReplaySet.Pending(entry: entry, firstSentAt: firstSentAt, supersedes: supersedes))
  }
}

/// How an operation became *done*.
package enum Fate: String, Hashable, Sendable, CaseIterable {
  case delivered, removed, restored, superseded

  package var word: Vocabulary.ClientWord {
    switch self {
    case .delivered: .delivered
    case .removed: .removed
    case .restored: .restored
    case .superseded: .superseded
    }
  }
}
