import Contract

/// What became of a message by the end of a run: a closed list, worst first (DESIGN.md 6).
///
/// *The server has it* means: the ledger noted `saved`, `delivered` or `history` for one of its operations. *The client's word* is the
/// last `says` of the message's newest operation; a word from before the last launch counts only if it is final (`delivered`,
/// `restored`, `removed`, `superseded`), because a client says again after a launch what it still holds.
package enum Fate: String, Sendable, Hashable, CaseIterable {
  /// Broken. The server does not have it, nobody removed, replaced or refused it, and the client no longer speaks of it.
  case lost
  /// Broken. The server saved it more than once, or it stands in the history more than once.
  case duplicated
  /// Broken. The client says `delivered` or `waiting`, and the server does not have it.
  case claimedNotSaved = "claimed-not-saved"
  /// Broken. The client says `restored`, `failed`, `removed` or `superseded`, and the server has it, neither removed nor superseded.
  case reportedFailedButSaved = "reported-failed-but-saved"
  /// The server does not have it; the client does and says so (`sending`, `unconfirmed` or `held`).
  case stranded
  /// The server has it; the client does not know (`sending`, `unconfirmed`, or no word that counts).
  case savedUnconfirmed = "saved-unconfirmed"
  /// The server does not have it; the client says `failed`: the text is kept with an error.
  case rejectedKept = "rejected-kept"
  /// The server does not have it; the client says `restored`: the text is back in the composer.
  case rejectedRestored = "rejected-restored"
  /// The server has it and the client says `held`: it goes on only by the user.
  case held
  /// The server has it, undelivered, and the client says `waiting`.
  case waiting
  /// A newer operation took its place: the ledger noted `superseded`, or the client says so and the server never had it.
  case superseded
  /// The user took it back: the ledger noted `removed`, or the client says so and the server never had it.
  case removed
  /// The server has it and the client says so: `delivered`, or `waiting` for one that has been delivered since.
  case confirmed

  /// True for the four that no client may bring about.
  package var isBroken: Bool {
    switch self {
    case .lost, .duplicated, .claimedNotSaved, .reportedFailedButSaved: true
    case .stranded, .savedUnconfirmed, .rejectedKept, .rejectedRestored, .held, .waiting, .superseded, .removed, .confirmed: false
    }
  }

  /// Position in the list, 0 for the worst.
  package var rank: Int { Fate.allCases.firstIndex(of: self) ?? 0 }

  /// The words of a report; `saves` makes "saved twice" of a duplicate.
  package func words(saves: Int) -> String {
    switch self {
    case .lost: "lost"
    case .duplicated: saves > 1 ? "saved \(times(saves))" : "shown twice"
    case .claimedNotSaved: "claimed but unsaved"
    case .reportedFailedButSaved: "failed but saved"
    case .stranded: "kept unsaved"
    case .savedUnconfirmed: "saved unconfirmed"
    case .rejectedKept: "refused but kept"
    case .rejectedRestored: "given back"
    case .held: "held"
    case .waiting: "waiting"
    case .superseded: "replaced"
    case .removed: "removed"
    case .confirmed: "saved once"
    }
  }
}

/// `once`, `twice`, `3 times`.
package func times(_ n: Int) -> String { n == 1 ? "once" : n == 2 ? "twice" : "\(n) times" }
