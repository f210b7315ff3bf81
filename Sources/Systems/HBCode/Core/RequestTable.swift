import HBCodeDialect
import Simulation

/// What a request was made for, so that its answer finds its way.
package enum RequestPurpose: Hashable, Sendable {
  case hold(HostKey)
  case release(HostKey)
  case load(HostKey, Fence, HistoryRequest)
  case older(HostKey, generation: Int)
  case outbox(HostKey, OutboxChain.Work)
  case stop(HostKey)
}

/// Requests that await an answer (spec B.1): ids `r1`, `r2`, …, unique in one life of the app.
package struct RequestTable: Sendable {
  package struct Entry: Sendable {
    package var id: String
    package var method: Method
    package var purpose: RequestPurpose
  }

  /// What an answer's id is.
  package enum Match: Sendable {
    case awaited(Entry)
    /// Its time limit has passed, or it was given up: dropped (HB-OUTBOX-21, -12).
    case late(Method)
    case unknown
  }

  private var made = 0
  private var awaited = OrderedMap<String, Entry>()
  private var dropped: [String: Method] = [:]

  package init() {}

  /// Registers a request and names it.
  package mutating func add(_ method: Method, _ purpose: RequestPurpose) -> String {
    made += 1
    let id = "r\(made)"
    awaited[id] = Entry(id: id, method: method, purpose: purpose)
    return id
  }

  /// An answer arrived: takes its request out.
  package mutating func take(_ id: String) -> Match {
    if let entry = awaited[id] {
      awaited[id] = nil
      return .awaited(entry)
    }
    return dropped[id].map(Match.late) ?? .unknown
  }

  /// The answer counts as none: the request is awaited as before.
  package mutating func putBack(_ entry: Entry) { awaited[entry.id] = entry }

  /// The time limit of a request has passed: its answer counts as late from now on.
  package mutating func expire(_ id: String) -> Entry? {
    guard let entry = awaited[id] else { return nil }
    awaited[id] = nil
    dropped[id] = entry.method
    return entry
  }

  /// Takes everything out, in the order in which it was sent: the connection is gone.
  package mutating func takeAll() -> [Entry] {
    let all = awaited.values
    awaited = OrderedMap()
    return all
  }

  /// Gives up the request of an outbox work (HB-OUTBOX-12). Returns its id.
  package mutating func giveUp(_ work: OutboxChain.Work, of key: HostKey) -> String? {
    guard let entry = awaited.values.first(where: { $0.purpose == .outbox(key, work) }) else { return nil }
    awaited[entry.id] = nil
    dropped[entry.id] = entry.method
    return entry.id
  }

  /// Whether a request of this method is in flight.
  package func awaits(_ method: Method) -> Bool { awaited.values.contains { $0.method == method } }
}
