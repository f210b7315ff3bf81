import Contract
import Simulation
import Wire

/// The claims that hold for every system; listed in the contract's article `Claims`.
package enum CommonClaims {
  package static let all: [Claim] = [oneAction, savedOnce, nothingLost, trueWords, sameWords, equalRuns]

  /// An operation that was sent, saved or noted as taken needs a gesture of its own. What the client notes is not believed: a gesture must
  /// stand in the trace, and no other operation may come from it.
  private static let oneAction = Claim(
    "CB-INV-01", "One action, one message", "Each message that the client sends comes from one action of the user, and from one only.",
    per: "an operation that the client took or sent", on: .clientOnly
  ) { index in
    var outcome = ClaimOutcome(exercised: 0, remark: "the user sent nothing")
    var owner: [Int: String] = [:]
    for operation in index.operations {
      let accepted = index.all(.core, "accepted", operation: operation).first
      let attempt = index.attempts(of: operation).first
      guard let first = accepted?.index ?? attempt?.entry else { continue }
      outcome.exercised += 1
      if accepted?["action"]?.string == "earlier" { continue }
      guard let accepted, let gesture = index.gesture(ofAccepted: accepted.index) else {
        outcome.violations.append(
          Violation(
            at: index.entries[first].at, operation: operation,
            happened: "Operation \(operation) was made at \(index.entries[first].at) without an action of the user.",
            evidence: [first, attempt?.entry].compactMap { $0 }.uniqued))
        continue
      }
      if let other = owner[gesture.index] {
        outcome.violations.append(
          Violation(
            at: accepted.at, operation: operation,
            happened: "One action at \(gesture.at) became two operations, \(other) and \(operation).",
            evidence: [gesture.index, accepted.index]))
      } else {
        owner[gesture.index] = operation
      }
    }
    return outcome
  }

  private static let savedOnce = Claim(
    "CB-INV-02", "Saved once", "The server saves a message once, and it stands in the history once.",
    per: "a message that the server has", on: .ledger
  ) { index in
    var outcome = ClaimOutcome(exercised: 0, remark: "the server saved no message of this client")
    for message in DeliveryLedger.shared(index).inOrder where !message.saves.isEmpty || !message.history.isEmpty {
      outcome.exercised += 1
      if message.saves.count > 1 {
        outcome.violations.append(
          Violation(
            at: message.saves[1].at, operation: message.saves[1].operation,
            happened: "Saved \(times(message.saves.count)): at " + message.saves.map { "\($0.at)" }.joined(separator: " and at ") + ".",
            evidence: (message.attempts.map(\.entry) + message.saves.map(\.entry)).sorted()))
      } else if message.history.count > 1 {
        outcome.violations.append(
          Violation(
            at: message.history[1].at, operation: message.history[1].operation,
            happened: "Stands in the history as \(message.history.count) rows since \(message.history[1].at).",
            evidence: (message.saves + message.history).map(\.entry).sorted()))
      }
    }
    return outcome
  }

  private static let nothingLost = Claim(
    "CB-INV-03", "Nothing is lost",
    "A message that the client took is at the end with the server, with the client, or was removed, replaced or given back.",
    per: "a message that the client took", on: .ledger
  ) { index in
    var outcome = ClaimOutcome(exercised: 0, remark: "the client took no message")
    for message in DeliveryLedger.shared(index).inOrder {
      outcome.exercised += 1
      if message.fate == .lost {
        outcome.violations.append(
          Violation(at: index.end, operation: message.operationIDs.last, happened: message.why, evidence: message.evidence))
      }
    }
    return outcome
  }

  /// Each change of the client's word to one that says where the message is. Words that claim nothing (sending, unconfirmed) are free.
  private static let trueWords = Claim(
    "CB-INV-04", "True words",
    "The client says “delivered” or “waiting” only of what the server has, and “failed”, “restored”, “removed” or “replaced” only of what it does not have.",
    per: "a word of the client that says where a message is", on: .ledger
  ) { index in
    var outcome = ClaimOutcome(exercised: 0, remark: "the client said of no message where it is")
    for operation in index.operations {
      let facts = index.indices(ofOperation: operation).filter { index.entries[$0].party == .twin }
      func first(_ kinds: String..., before limit: Int = .max) -> Int? {
        facts.first { $0 < limit && kinds.contains(index.entries[$0].kind) }
      }
      // What the server had before the run is not in its ledger entries: nothing can be said of it.
      let isEarlier = index.all(.core, "accepted", operation: operation).first?["action"]?.string == "earlier"
      var before: Vocabulary.ClientWord?
      let words = index.words(about: operation)
      for (position, said) in words.enumerated() where said.word != before {
        before = said.word
        switch said.word {
        case .sending, .unconfirmed, .held: continue
        case .delivered, .waiting:
          if isEarlier { continue }
          outcome.exercised += 1
          if first("saved", "delivered", "history", before: said.entry) == nil {
            let later = first("saved", "delivered", "history")
            outcome.violations.append(
              Violation(
                at: said.at, operation: operation,
                happened: "The client said “\(said.word.rawValue)” at \(said.at); the server "
                  + (later.map { "saved it only at \(index.entries[$0].at)." } ?? "never saved it."),
                evidence: index.attempts(of: operation).map(\.entry).filter { $0 < said.entry } + [said.entry]))
          }
        case .restored, .failed, .removed, .superseded:
          outcome.exercised += 1
          // A later word may take it back (a removal that came too late): then the last word is judged.
          let isLast = position == words.count - 1
          if isLast, let has = first("saved", "delivered", "history"), first("removed", "superseded") == nil {
            outcome.violations.append(
              Violation(
                at: max(said.at, index.entries[has].at), operation: operation,
                happened: "The client said “\(said.word.rawValue)” at \(said.at); the server has it since \(index.entries[has].at).",
                evidence: [has, said.entry].sorted()))
          }
        }
      }
    }
    return outcome
  }

  /// Only a repeated key can carry other words: first uses are no opportunity.
  private static let sameWords = Claim(
    "CB-INV-05", "Same key, same words", "A request that repeats an idempotency key is for the same operation and says the same.",
    per: "a request that repeats a key", on: .clientOnly
  ) { index in
    var outcome = ClaimOutcome(exercised: 0, remark: "no request repeated a key")
    for key in index.keys {
      let uses = index.frames(withKey: key).map { index.frames[$0] }.filter { $0.direction == .out && $0.role == .request }
      guard let first = uses.first else { continue }
      for use in uses.dropFirst() {
        outcome.exercised += 1
        let happened: String
        if use.operation != first.operation {
          happened = "Key \(key) was used for \(first.operation ?? "no operation") and again for \(use.operation ?? "no operation")."
        } else if use.name != first.name {
          happened = "Key \(key) was used for \(first.name) and again for \(use.name)."
        } else if !Words.equal(index.entries[first.entry].payload, index.entries[use.entry].payload) {
          happened = "The request at \(use.at) repeats key \(key) of \(first.at) with other words."
        } else {
          continue
        }
        outcome.violations.append(
          Violation(at: use.at, operation: use.operation ?? first.operation, happened: happened, evidence: [first.entry, use.entry]))
      }
    }
    return outcome
  }

  private static let equalRuns = Claim(
    "CB-INV-06", "Equal runs", "The same recording, plan, user and seed give the same trace, entry by entry.",
    per: "a second run from the same token", on: .clientOnly, needsProof: true
  ) { _ in ClaimOutcome(exercised: 0, remark: "not run twice (--prove)") }
}

/// Whether two requests say the same.
enum Words {
  /// JSON as data without the envelope's own `id` (a new request has a new one); an HTTP request (head as a JSON line, then the body) by
  /// its body; anything else byte by byte.
  static func equal(_ a: [UInt8]?, _ b: [UInt8]?) -> Bool {
    guard let a, let b else { return a == b }
    if a == b { return true }
    let reader = JSONReader()
    if let left = message(a, reader), let right = message(b, reader) { return left.isEquivalent(to: right) }
    if let left = body(a, reader), let right = body(b, reader) {
      if left == right { return true }
      if let left = try? reader.parse(Array(left)), let right = try? reader.parse(Array(right)) { return left.isEquivalent(to: right) }
    }
    return false
  }

  private static func message(_ bytes: [UInt8], _ reader: JSONReader) -> JSON? {
    guard var object = (try? reader.parse(bytes))?.object else { return nil }
    object["id"] = nil
    return .object(object)
  }

  private static func body(_ bytes: [UInt8], _ reader: JSONReader) -> ArraySlice<UInt8>? {
    guard let line = bytes.firstIndex(of: UInt8(ascii: "\n")), (try? reader.parse(Array(bytes[..<line])))?.object != nil else { return nil }
    return bytes[(line + 1)...]
  }
}

extension DeliveryLedger {
  /// The messages in order of the user actions.
  package var inOrder: [Message] { messages.sorted { (Int($0.id.dropFirst()) ?? 0) < (Int($1.id.dropFirst()) ?? 0) } }
}

extension Array where Element: Hashable {
  /// The elements without repetitions, in order of first sight.
  package var uniqued: [Element] {
    var seen = Set<Element>()
    return filter { seen.insert($0).inserted }
  }
}
