import Contract
import HBCodeDialect
import HBCodeScenario
import Wire

/// Which recorded operation stands behind one that a foreign client names itself (SCENARIO.md 2, "the same under serve"): equal id,
/// else the first unmatched intent of that lane and kind with equal words, else of that kind, else none.
///
/// Identifiers that begin with `x-` are made by our own core beyond what gestures carry; they stand for nothing recorded.
struct Matching: Sendable {
  private struct Candidate: Sendable {
    var operation: String
    var session: String?
    var kind: String
    var text: String
    var isTaken = false
  }

  private var candidates: [Candidate] = []
  private var known: Set<String> = []
  private var recordedOf: [String: String] = [:]
  private var stops: [(intent: String, session: String?)] = []

  init(_ scenario: HBCodeScenario) {
    for intent in scenario.facts.intents {
      guard let action = try? UserAction(intent.gesture) else { continue }
      switch action {
      case .send(let text, let session, _, let ids, _): add(ids.operationId, session, "send", text)
      case .edit(_, let text, _, let ids, _): add(ids.operationId, nil, "edit", text)
      case .stop(let session, _): stops.append((intent.id, session))
      default: break
      }
    }
    for stretch in scenario.tape { if case .operation(let operation) = stretch.cause { known.insert(operation) } }
    for desktop in scenario.desktops {
      for session in desktop.sessions {
        known.formUnion(session.outbox.entries.map(\.operationId))
        known.formUnion(session.delivered)
        known.formUnion((session.history + session.overlay.blocks).compactMap(\.operationId))
      }
    }
    for scope in scenario.clientStart["replaySet"]?["scopes"]?.object?.members ?? [] {
      known.formUnion(scope.value["operations"]?.object?.members.map(\.name) ?? [])
    }
  }

  private mutating func add(_ operation: String?, _ session: String?, _ kind: String, _ text: String) {
    guard let operation else { return }
    known.insert(operation)
    candidates.append(Candidate(operation: operation, session: session, kind: kind, text: text))
  }

  private static func isOwn(_ id: String) -> Bool {
    guard id.hasPrefix("x"), let dash = id.firstIndex(of: "-") else { return false }
    return id[id.index(after: id.startIndex)..<dash].allSatisfy(\.isNumber)
  }

  /// The recorded operation behind `operation`: itself when nothing else is known.
  func recorded(_ operation: String) -> String { recordedOf[operation] ?? operation }

  /// Learns at the first acceptance; gives the recorded operation when it is another one.
  mutating func learn(_ operation: String, session: String, isEdit: Bool, text: String) -> String? {
    if let index = candidates.firstIndex(where: { $0.operation == operation }) {
      candidates[index].isTaken = true
      return nil
    }
    guard !known.contains(operation), !Matching.isOwn(operation) else { return nil }
    let kind = isEdit ? "edit" : "send"
    let fits = candidates.indices.filter {
      !candidates[$0].isTaken && candidates[$0].kind == kind && (candidates[$0].session ?? session) == session
    }
    guard let index = fits.first(where: { candidates[$0].text == text }) ?? fits.first else { return nil }
    candidates[index].isTaken = true
    recordedOf[operation] = candidates[index].operation
    return candidates[index].operation
  }

  /// The first recorded stop of that session that no client has made yet, for a stop under a foreign mutation id.
  mutating func stop(session: String, mutation: String) -> String? {
    guard !Matching.isOwn(mutation), let index = stops.firstIndex(where: { ($0.session ?? session) == session }) else { return nil }
    return stops.remove(at: index).intent
  }

  /// A recorded stop was made under its own mutation id.
  mutating func made(stop intent: String) { stops.removeAll { $0.intent == intent } }
}
