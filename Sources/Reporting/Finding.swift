import Contract
import Oracles
import Simulation
import Wire

/// Something that did not hold, in the user's words, with what proves it. Claims broken over one message are one finding.
package struct Finding: Hashable, Sendable {
  package struct Moment: Hashable, Sendable {
    package var at: Instant
    package var what: String
  }

  package struct EvidenceLine: Hashable, Sendable {
    package var line: TraceLine
    /// Entries of the trace between the line before and this one, 0 for the first.
    package var skipped: Int
    /// The entry that decides a violation.
    package var decides: Bool
  }

  /// `F1`, …
  package var id: String
  /// One clause without a full stop: `M3 “Close the roof” was saved twice`.
  package var title: String
  package var promised: [String]
  package var happened: [String]
  package var moments: [Moment]
  package var atFault: String
  package var claims: [ClaimResult]
  package var evidence: [EvidenceLine]
  /// Evidence entries that are not shown.
  package var left: Int
  package var message: Message?

  /// At most this many entries stand in a finding; the deciding ones always.
  static let evidenceLimit = 15

  /// Findings of a judgement: messages with a broken fate first, worst first, then other messages, then claims without a message.
  static func all(of judgement: Judgement, _ trace: Trace) -> [Finding] {
    struct Part {
      var claim: ClaimResult
      var violations: [Violation]
    }
    var ofMessage = OrderedMap<String, [Part]>()
    var ofClaim: [Part] = []
    var owner: [String: String] = [:]
    for message in judgement.messages { for operation in message.operationIDs { owner[operation] = message.id } }
    for claim in judgement.claims where claim.verdict == .broken {
      var own = OrderedMap<String, [Violation]>()
      var rest: [Violation] = []
      for violation in claim.violations {
        if let message = violation.operation.flatMap({ owner[$0] }) {
          own[message, default: []].append(violation)
        } else {
          rest.append(violation)
        }
      }
      for (message, violations) in own.pairs { ofMessage[message, default: []].append(Part(claim: claim, violations: violations)) }
      if !rest.isEmpty || claim.violations.isEmpty { ofClaim.append(Part(claim: claim, violations: rest)) }
    }
    var findings: [Finding] = []
    for message in judgement.messages {
      guard let parts = ofMessage[message.id], let first = parts.first else { continue }
      let name = "\(message.id) \(Prose.quoted(message.text))"
      let title =
        switch message.fate {
        case .duplicated: "\(name) was \(message.fate.words(saves: message.saves.count))"
        case .lost: "\(name) was lost"
        case .claimedNotSaved: "\(name) is said to be with the server, which never saved it"
        case .reportedFailedButSaved: "\(name) is said to be \(message.word?.rawValue ?? "gone"), but the server has it"
        default: "\(name) breaks “\(Visible.text(first.claim.title))”"
        }
      let violations = parts.flatMap(\.violations)
      findings.append(
        Finding(
          id: "", title: title, promised: parts.map(\.claim.promise).uniqued, happened: violations.map(\.happened).uniqued,
          moments: moments(of: message, violations), atFault: blame(message), claims: parts.map(\.claim), evidence: [], left: 0,
          message: message
        ).with(violations, also: message.evidence + message.faults.map(\.entry), trace))
    }
    findings.sort { ($0.message?.fate.isBroken ?? false) && !($1.message?.fate.isBroken ?? false) }
    for part in ofClaim {
      let count = part.violations.count
      let title =
        count == 1
        ? Columns.cut(Prose.clause(part.violations[0].happened), to: 160)
        : "“\(Visible.text(part.claim.title))” is broken" + (count > 1 ? ", \(Prose.number(count)) times" : "")
      findings.append(
        Finding(
          id: "", title: title, promised: [part.claim.promise],
          happened: shortened(part.violations.map(\.happened).uniqued),
          moments: part.violations.prefix(6).map { Moment(at: $0.at, what: "") },
          atFault: part.claim.id == "CB-INV-06" || part.claim.title == "Repeatable"
            ? "the simulation: two runs from one token must be equal." : "client. Link and server did what plan and rules say.",
          claims: [part.claim], evidence: [], left: 0, message: nil
        ).with(part.violations, also: [], trace))
    }
    for position in findings.indices { findings[position].id = "F\(position + 1)" }
    return findings
  }

  private static func shortened(_ sentences: [String]) -> [String] {
    sentences.count <= 5 ? sentences : Array(sentences.prefix(4)) + ["And \(Prose.number(sentences.count - 4)) more like these."]
  }

  private static func moments(of message: Message, _ violations: [Violation]) -> [Moment] {
    var moments: [(order: Int, moment: Moment)] = []
    for (position, attempt) in message.attempts.enumerated() {
      moments.append((attempt.entry, Moment(at: attempt.at, what: position == 0 ? "sent" : "sent again")))
    }
    for (position, save) in message.saves.enumerated() {
      moments.append((save.entry, Moment(at: save.at, what: position == 0 ? "saved" : "saved again")))
    }
    if let at = message.wordAt, let word = message.word {
      moments.append((.max, Moment(at: at, what: "last word: \(word.rawValue)")))
    }
    for violation in violations where !moments.contains(where: { $0.moment.at == violation.at }) {
      moments.append((violation.evidence.last ?? .max, Moment(at: violation.at, what: "found")))
    }
    return moments.sorted { ($0.moment.at, $0.order) < ($1.moment.at, $1.order) }.map(\.moment).prefix(10).map { $0 }
  }

  /// Link and twin do what plan and rules say; so what breaks is the client's, except a repeat of one key that the server saved again.
  private static func blame(_ message: Message) -> String {
    if message.saves.count > 1, message.operationIDs.count == 1, message.distinctKeys == 1 {
      return "server: it saved a repeat of the same key."
    }
    return "client. Link and server did what plan and rules say."
  }

  private func with(_ violations: [Violation], also more: [Int], _ trace: Trace) -> Finding {
    let deciding = Set(violations.compactMap(\.evidence.last))
    var wanted = (violations.flatMap(\.evidence) + more).uniqued.filter { trace.entries.indices.contains($0) }.sorted()
    let total = wanted.count
    if total > Finding.evidenceLimit {
      let decided = wanted.filter { deciding.contains($0) }.prefix(Finding.evidenceLimit)
      let others = wanted.filter { !deciding.contains($0) }.prefix(Finding.evidenceLimit - decided.count)
      wanted = (decided + others).sorted()
    }
    var finding = self
    finding.left = total - wanted.count
    finding.evidence = wanted.enumerated().map { position, index in
      EvidenceLine(
        line: TraceLine(trace.entries[index], in: trace), skipped: position == 0 ? 0 : index - wanted[position - 1] - 1,
        decides: deciding.contains(index))
    }
    return finding
  }
}
