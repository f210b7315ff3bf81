import HBCodeDialect
import Simulation
import Wire

/// What the phone still has to say, as it survives restarts (HB-OUTBOX-01 to -04).
///
/// Form: `{"generation", "scopes": {<scope>: {"order": […], "operations": {<id>: {"state":"pending","entry":…,"firstSentAt":ms|null} |
/// {"state":"terminal"}}}}}`. A pending submit that replaces another operation has a further key `supersedes`, without which a resend
/// after a launch could not repeat its params byte for byte (HB-OUTBOX-13).
package struct ReplaySet: Hashable, Sendable {
  /// HB-OUTBOX-01 [seed].
  package static let storeKey = "workspace-chat-local-outbox-v2"

  package struct Pending: Hashable, Sendable {
    package var entry: OutboxEntry
    /// Wall time of the first frame of the present mutation (HB-OUTBOX-15), epoch milliseconds.
    package var firstSentAt: Int64?
    package var supersedes: String?

    package init(entry: OutboxEntry, firstSentAt: Int64?, supersedes: String?) {
      self.entry = entry
      self.firstSentAt = firstSentAt
      self.supersedes = supersedes
    }
  }

  package enum Record: Hashable, Sendable {
    case pending(Pending)
    case terminal
  }

  package struct Scope: Hashable, Sendable {
    package fileprivate(set) var order: [String] = []
    fileprivate var records: [String: Record] = [:]

    package subscript(operation: String) -> Record? { records[operation] }
  }

  package private(set) var generation: Int64
  private var names: [String] = []
  private var scopes: [String: Scope] = [:]

  package init(generation: Int64 = 0) { self.generation = generation }

  /// Scopes in the order of their first operation.
  package var scopeNames: [String] { names }
  package subscript(scope name: String) -> Scope { scopes[name] ?? Scope() }

  /// The next launch: terminal operations are compacted away, a new generation starts (HB-OUTBOX-04).
  package mutating func beginGeneration() {
    generation += 1
    for name in names {
      guard var scope = scopes[name] else { continue }
      scope.order.removeAll { scope.records[$0] == .terminal }
      scope.records = scope.records.filter { $0.value != .terminal }
      scopes[name] = scope
    }
    names.removeAll { scopes[$0]?.order.isEmpty ?? true }
    scopes = scopes.filter { !$0.value.order.isEmpty }
  }

  /// Writes an operation; a new one goes to the end of the order. Refused (false) when the writer's generation is older, or when a
  /// pending record would replace a terminal one (HB-OUTBOX-03, -04).
  @discardableResult
  package mutating func write(_ record: Record, of operation: String, in scopeName: String, generation writer: Int64) -> Bool {
    if writer < generation { return false }
    if scopes[scopeName] == nil {
      scopes[scopeName] = Scope()
      names.append(scopeName)
    }
    switch scopes[scopeName]?.records[operation] {
    case .terminal?: return record == .terminal
    case .pending?: break
    case nil: scopes[scopeName]?.order.append(operation)
    }
    scopes[scopeName]?.records[operation] = record
    return true
  }

  /// The stored form. Throws when an entry breaks a rule of B.4 (HB-OUTBOX-06).
  package var json: JSON {
    get throws(DecodeFailure) {
      var written = JSONObject()
      for name in names {
        guard let scope = scopes[name] else { continue }
        var operations = JSONObject()
        for id in scope.order {
          guard let record = scope.records[id] else { continue }
          operations.members.append(JSONObject.Member(name: id, value: try record.json))
        }
        let value: JSON = ["order": .array(scope.order.map(JSON.string)), "operations": .object(operations)]
        written.members.append(JSONObject.Member(name: name, value: value))
      }
      return ["generation": .integer(generation), "scopes": .object(written)]
    }
  }

  /// Reads the stored form; throws the reason of the first thing that does not fit.
  package init(json: JSON) throws(DecodeFailure) {
    if json.repeatsKey { throw DecodeFailure(reason: "json.duplicate-key") }
    guard let generation = json["generation"]?.wireInteger, generation >= 0, let written = json["scopes"]?.object else {
      throw DecodeFailure(reason: "replaySet.form")
    }
    self.init(generation: generation)
    for member in written.members {
      let path = "scopes.\(member.name)"
      guard let order = member.value["order"]?.array, let operations = member.value["operations"]?.object else {
        throw DecodeFailure(reason: "replaySet.scope", at: path)
      }
      for element in order {
        guard let id = element.string, let value = operations[id] else { throw DecodeFailure(reason: "replaySet.order", at: path) }
        write(try Record(json: value, at: "\(path).\(id)"), of: id, in: member.name, generation: generation)
      }
    }
  }
}

extension ReplaySet.Record {
  fileprivate var json: JSON {
    get throws(DecodeFailure) {
      switch self {
      case .terminal: return ["state": "terminal"]
      case .pending(let pending):
        var object: JSONObject = [
          "state": "pending", "entry": try pending.entry.json, "firstSentAt": pending.firstSentAt.map(JSON.integer) ?? .null,
        ]
        object["supersedes"] = pending.supersedes.map(JSON.string)
        return .object(object)
      }
    }
  }

  fileprivate init(json: JSON, at path: String) throws(DecodeFailure) {
    switch json["state"]?.string {
    case "terminal": self = .terminal
    case "pending":
      let entry = try OutboxEntry.decode(json["entry"] ?? .null, at: path, fromDesktop: false)
      self = .pending(
        ReplaySet.Pending(
          entry: entry, firstSentAt: json["firstSentAt"]?.wireInteger, supersedes: json["supersedes"]?.string))
    default: throw DecodeFailure(reason: "replaySet.state", at: path)
    }
  }
}
