import Simulation
import Synchronization
import Wire

/// A frame on the link and what became of it, as the entries of the link tell.
package struct WireFrame: Hashable, Sendable {
  /// Index of its `send` entry.
  package var entry: Int
  package var at: Instant
  package var connection: Int
  package var direction: Direction
  package var role: FrameLabel.Role
  package var name: String
  package var operation: String?
  package var key: String?
  package var isDelivery: Bool
  /// Indices of its `arrive` entries: none when it was lost, two when it was doubled.
  package var arrivals: [Int]
  /// Indices of the link entries that say what a rule or a recorded condition did to it.
  package var faults: [Int]
}

/// A request with its answers.
package struct Exchange: Hashable, Sendable {
  /// Position in `TraceIndex.frames`.
  package var request: Int
  /// Positions in `TraceIndex.frames`, in order of sending.
  package var responses: [Int]
}

/// A stretch of a run in which something holds, between two trace entries.
package struct StateInterval: Hashable, Sendable {
  package var from: Instant
  /// The end, or the end of the trace when it still holds.
  package var until: Instant
  /// Index of the entry that begins it.
  package var opened: Int
  /// Index of the entry that ends it, nil when it still holds.
  package var closed: Int?

  /// Whether it holds at the entry with this index: after the one that begins it, up to the one that ends it.
  package func contains(entry index: Int) -> Bool { opened < index && index < (closed ?? .max) }
}

/// What claims work out from a trace, so that those who need the same share it: one value of each type.
private final class SharedFindings: Sendable {
  let reader = Mutex(JSONReader())
  private let found = Mutex<[ObjectIdentifier: any Sendable]>([:])

  subscript<Finding: Sendable>(type: Finding.Type) -> Finding? {
    get { found.withLock { $0[ObjectIdentifier(type)] as? Finding } }
    set { found.withLock { $0[ObjectIdentifier(type)] = newValue } }
  }
}

/// A trace with what claims look up in it. Made once per run in one pass, O(n); every lookup by name is O(1).
package struct TraceIndex: Sendable {
  package let trace: Trace
  /// Every frame that was sent, in order.
  package private(set) var frames: [WireFrame] = []
  /// Every request with its answers, in order of the requests.
  package private(set) var exchanges: [Exchange] = []
  /// Operations in order of first sight, on any kind of entry.
  package private(set) var operations: [String] = []

  private struct Kind: Hashable {
    var party: Party
    var name: String
  }

  /// What ties a response to its request.
  private enum Tie: Hashable {
    /// Connection and id, an id that is no string by its JSON text.
    case id(Int, String)
    case otherID(Int, String)
    case key(String)
    /// Connection and name, on wires without ids.
    case name(Int, String)
  }

  /// Positions by positions, for indices below a count; other indices have none.
  private struct Positions: Sendable {
    private var table: [Int]
    init(_ count: Int) { table = Array(repeating: -1, count: count) }
    subscript(index: Int) -> Int? {
      get { table.indices.contains(index) && table[index] >= 0 ? table[index] : nil }
      set { table[index] = newValue ?? -1 }
    }
  }

  private let findings = SharedFindings()
  private var byKind: [Kind: [Int]] = [:]
  private var byOperation: [String: [Int]] = [:]
  private var byKey: [String: [Int]] = [:]
  private var gestureOfIntent: [String: Int] = [:]
  /// Position in `frames` by entry, in `exchanges` by position in `frames`.
  private var frameOfEntry: Positions
  private var exchangeOfFrame: Positions

  package var header: RunHeader { trace.header }
  package var entries: [TraceEntry] { trace.entries }
  /// The instant of the last entry.
  package var end: Instant { trace.entries.last?.at ?? .zero }

  package init(_ trace: Trace) {
    self.trace = trace
    frameOfEntry = Positions(trace.entries.count)
    exchangeOfFrame = Positions(trace.entries.count)
    // Requests that wait for an answer, newest last: by connection and id, by key, and by connection and name for wires without ids.
    var waiting: [Tie: [Int]] = [:]
    for (index, entry) in trace.entries.enumerated() {
      byKind[Kind(party: entry.party, name: entry.kind), default: []].append(index)
      if let operation = entry["operation"]?.string {
        if byOperation[operation] == nil { operations.append(operation) }
        byOperation[operation, default: []].append(index)
      }
      if entry.party == .user, entry.kind == "gesture", let intent = entry["intent"]?.string, gestureOfIntent[intent] == nil {
        gestureOfIntent[intent] = index
      }
      guard entry.party == .link else { continue }
      if entry.kind == "send" {
        guard let frame = TraceIndex.frame(entry, at: index) else { continue }
        let position = frames.count
        frames.append(frame)
        frameOfEntry[index] = position
        if let key = frame.key { byKey[key, default: []].append(position) }
        let ties = TraceIndex.ties(frame, entry)
        if frame.role == .request {
          exchangeOfFrame[position] = exchanges.count
          exchanges.append(Exchange(request: position, responses: []))
          for tie in ties { waiting[tie, default: []].append(position) }
        } else if frame.role == .response, let re = entry["re"]?.int, let exchange = frameOfEntry[re].flatMap({ exchangeOfFrame[$0] }) {
          exchanges[exchange].responses.append(position)
        } else if frame.role == .response {
          // Repeated ids and keys belong to the newest request; without either, answers come in order.
          let found = ties.lazy.compactMap { waiting[$0] }.first { !$0.isEmpty }
          let ordered = if case .name? = ties.first { true } else { false }
          if let request = ordered ? found?.first : found?.last, let exchange = exchangeOfFrame[request] {
            exchanges[exchange].responses.append(position)
            if ordered, let tie = ties.first { waiting[tie]?.removeFirst() }
          }
        }
      } else if let of = entry["of"]?.int, let position = frameOfEntry[of] {
        if entry.kind == "arrive" { frames[position].arrivals.append(index) } else { frames[position].faults.append(index) }
      }
    }
  }

  /// What `find` makes of this trace; made once for all claims, so `find` takes nothing but the index. The finding must not hold the
  /// index, which holds the finding.
  package func finding<Finding: Sendable>(_ find: (TraceIndex) -> Finding) -> Finding {
    if let known = findings[Finding.self] { return known }
    let made = find(self)
    findings[Finding.self] = made
    return made
  }

  /// The payload of an entry as JSON; nil when it has none or is no JSON.
  package func content(ofEntry index: Int) -> JSON? {
    if let known = trace.contents[index] { return known }
    guard trace.entries.indices.contains(index), let payload = trace.entries[index].payload else { return nil }
    return findings.reader.withLock { try? $0.parse(payload) }
  }

  /// Indices of the entries of one party and kind, in order.
  package func indices(_ party: Party, _ kind: String) -> [Int] { byKind[Kind(party: party, name: kind)] ?? [] }
  /// The entries of one party and kind, in order.
  package func all(_ party: Party, _ kind: String) -> [TraceEntry] { indices(party, kind).map { trace.entries[$0] } }
  /// Indices of all entries whose field `operation` is this one, in order.
  package func indices(ofOperation operation: String) -> [Int] { byOperation[operation] ?? [] }
  /// The entries of one party and kind about this operation, in order.
  package func all(_ party: Party, _ kind: String, operation: String) -> [TraceEntry] {
    indices(ofOperation: operation).lazy.map { trace.entries[$0] }.filter { $0.party == party && $0.kind == kind }
  }
  /// Positions in `frames` of the frames with this idempotency key, in order.
  package func frames(withKey key: String) -> [Int] { byKey[key] ?? [] }
  /// The idempotency keys on the wire, in order of first sight.
  package var keys: [String] {
    var seen = Set<String>()
    return frames.compactMap { frame in frame.key.flatMap { seen.insert($0).inserted ? $0 : nil } }
  }
  /// The frame that the link entry with this index is about (its `send`, or the entry that names it in `of`).
  package func frame(ofEntry index: Int) -> WireFrame? {
    guard trace.entries.indices.contains(index) else { return nil }
    return (frameOfEntry[trace.entries[index]["of"]?.int ?? index]).map { frames[$0] }
  }
  /// Requests of the client that ask the server to take this operation, in order of sending.
  package func attempts(of operation: String) -> [WireFrame] {
    indices(ofOperation: operation).compactMap { frameOfEntry[$0].map { frames[$0] } }
      .filter { $0.direction == .out && $0.isDelivery && $0.role != .response }
  }
  /// Answers of the server to attempts of this operation, in order of sending.
  package func receipts(of operation: String) -> [WireFrame] {
    indices(ofOperation: operation).compactMap { frameOfEntry[$0].map { frames[$0] } }.filter { $0.direction == .in && $0.isDelivery }
  }

  /// The answers to a request, in order of sending.
  package func responses(to request: WireFrame) -> [WireFrame] {
    guard let position = frameOfEntry[request.entry], let exchange = exchangeOfFrame[position] else { return [] }
    return exchanges[exchange].responses.map { frames[$0] }
  }

  /// The stretches that begin with an entry for which `opens` and end with one for which `closes`; an entry for which both hold ends one
  /// and begins the next. Beginnings inside a stretch are passed over. O(n).
  package func intervals(from opens: (TraceEntry) -> Bool, to closes: (TraceEntry) -> Bool) -> [StateInterval] {
    var found: [StateInterval] = []
    var open: Int?
    for (index, entry) in trace.entries.enumerated() {
      if let begun = open, closes(entry) {
        found.append(StateInterval(from: trace.entries[begun].at, until: entry.at, opened: begun, closed: index))
        open = nil
      }
      if open == nil, opens(entry) { open = index }
    }
    if let open { found.append(StateInterval(from: trace.entries[open].at, until: end, opened: open, closed: nil)) }
    return found
  }

  /// The stretches in which a connection was up.
  package func uptimes(ofConnection number: Int) -> [StateInterval] {
    intervals(
      from: { $0.party == .link && $0.kind == "up" && $0["conn"]?.int == number },
      to: { $0.party == .link && $0.kind == "down" && $0["conn"]?.int == number })
  }

  /// The lives of the app's process: from each launch to its stop. A trace without launches is one life from its first entry.
  package var lives: [StateInterval] {
    let found = intervals(
      from: { $0.party == .world && $0.kind == "launch" }, to: { $0.party == .world && ($0.kind == "stop" || $0.kind == "launch") })
    if !found.isEmpty || trace.entries.isEmpty { return found }
    return [StateInterval(from: trace.entries[0].at, until: end, opened: -1, closed: nil)]
  }

  /// What the client said about an operation, in order; words outside of the vocabulary are left out.
  package func words(about operation: String) -> [(entry: Int, at: Instant, word: Vocabulary.ClientWord)] {
    indices(ofOperation: operation).compactMap { index in
      let entry = trace.entries[index]
      guard entry.party == .core, entry.kind == "says", let word = entry["state"]?.string.flatMap(Vocabulary.ClientWord.init(rawValue:))
      else { return nil }
      return (index, entry.at, word)
    }
  }

  /// The gesture that an `accepted` entry comes from: the one that its `action` names by intent, else the last one before it at its
  /// instant. Nil when the client made the operation by itself.
  package func gesture(ofAccepted index: Int) -> TraceEntry? {
    guard trace.entries.indices.contains(index) else { return nil }
    let accepted = trace.entries[index]
    if let action = accepted["action"]?.string, let named = gestureOfIntent[action] { return trace.entries[named] }
    let gestures = indices(.user, "gesture")
    var low = 0
    var high = gestures.count
    while low < high {
      let middle = (low + high) / 2
      if gestures[middle] < index { low = middle + 1 } else { high = middle }
    }
    guard low > 0, trace.entries[gestures[low - 1]].at == accepted.at else { return nil }
    return trace.entries[gestures[low - 1]]
  }

  private static func frame(_ entry: TraceEntry, at index: Int) -> WireFrame? {
    guard let direction = entry["dir"]?.string.flatMap(Direction.init(rawValue:)) else { return nil }
    return WireFrame(
      entry: index, at: entry.at, connection: entry["conn"]?.int ?? 0, direction: direction,
      role: entry["label"]?.string.flatMap(FrameLabel.Role.init(rawValue:)) ?? .other, name: entry["name"]?.string ?? "?",
      operation: entry["operation"]?.string, key: entry["key"]?.string, isDelivery: entry["delivery"]?.bool ?? false, arrivals: [],
      faults: [])
  }

  /// What ties a frame to its partner, best first: connection and id; key; connection and name.
  private static func ties(_ frame: WireFrame, _ entry: TraceEntry) -> [Tie] {
    var ties: [Tie] = []
    switch entry["id"] {
    case nil, .null?: break
    case .string(let id)?: ties.append(.id(frame.connection, id))
    case let id?: ties.append(.otherID(frame.connection, JSONWriter.text(id)))
    }
    if let key = frame.key { ties.append(.key(key)) }
    if ties.isEmpty { ties.append(.name(frame.connection, frame.name)) }
    return ties
  }
}
