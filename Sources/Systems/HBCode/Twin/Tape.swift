import Contract
import HBCodeDialect
import HBCodeScenario
import Simulation
import Wire

/// The stretches of the recorded past with what each waits for, and how far each has come (SCENARIO.md 2).
struct Tape: Sendable {
  enum State: String, Sendable { case waiting, playing, done, cut, void }

  /// What can make a stretch begin, besides the clock and the rules of delivery.
  enum Trigger: Hashable, Sendable {
    case accepted(String)
    case delivered(String)
    case after(String, Moment)
    case request(String, Int)
  }

  /// How a stretch is being played this time.
  struct Play: Sendable {
    var lane: Int?
    var begin: Instant
    /// Added to its stamps, milliseconds.
    var shift: Int64 = 0
    /// Put before its order numbers when they would not grow.
    var prefix: [UInt64] = []
    var runId: String?
    /// The operation that it delivers when a foreign client named it: the recorded name, its own, and its own words.
    var renamed: (recorded: String, own: String, text: String)?
    /// Its steps, with the user row of its operation if the tape has none.
    var steps: [Step]
    /// How many steps were added at the front.
    var addedSteps = 0
    var nextStep = 0
    /// All its steps have been played.
    var isComplete = false
    var desktop: String?
  }

  /// Nothing is due later than this: about 30 years.
  static let latest = Instant(nanoseconds: 1_000_000_000_000_000_000)

  private(set) var stretches: [Stretch]
  var states: [State]
  var plays: [Int: Play] = [:]
  private var byOperation: [String: Int] = [:]
  private var waiting: [Trigger: [Int]] = [:]
  private var missing: [Int]
  /// Recorded delays of operations by session, sorted.
  private var delays: [String: [Interval]] = [:]
  /// Operations that entered a run where another stretch ended.
  private var entered: Set<String> = []

  init(_ recorded: [Stretch]) {
    let stretches = recorded.map(\.bounded)
    self.stretches = stretches
    states = Array(repeating: .waiting, count: stretches.count)
    missing = Array(repeating: 1, count: stretches.count)
    for (index, stretch) in stretches.enumerated() {
      var causes = [stretch.cause]
      if case .all(let parts) = stretch.cause {
        causes = parts
        missing[index] = parts.count
      }
      let isCompound = causes.count > 1
      for cause in causes {
        switch cause {
        case .operation(let operation):
          if isCompound {
            waiting[.delivered(operation), default: []].append(index)
          } else if byOperation[operation] == nil {
            byOperation[operation] = index
          }
        case .accepted(let intent): waiting[.accepted(intent), default: []].append(index)
        case .after(let other, let moment): waiting[.after(other, moment), default: []].append(index)
        case .request(let method, let nth): waiting[.request(method, nth), default: []].append(index)
        case .clock, .all: break
        }
      }
      if case .operation = stretch.cause, stretch.basis != .synthetic, let session = stretch.session {
        delays[session, default: []].append(stretch.delay)
      }
      if case .handedOver(let operation) = stretch.end { entered.insert(operation) }
    }
    for session in delays.keys { delays[session]?.sort() }
  }

  /// The stretch that plays when the rules deliver `operation`, if it has not been played.
  func stretch(of operation: String) -> Int? {
    guard let index = byOperation[operation], states[index] == .waiting else { return nil }
    return index
  }

  /// Whether the operation headed its recorded run.
  func isHead(_ operation: String) -> Bool { !entered.contains(operation) }

  /// The lower median of a session's recorded delays, else 400 ms (SCENARIO.md 2).
  func usualDelay(session: String) -> Interval {
    guard let list = delays[session], !list.isEmpty else { return .milliseconds(400) }
    return list[(list.count - 1) / 2]
  }

  /// What remained of the recorded run after this stretch was handed over: the lengths of the stretches that followed in it.
  func rest(afterHandingOverTo operation: String) -> Interval {
    var rest = Interval.zero
    var next: String? = operation
    var seen: Set<Int> = []
    while let operation = next, let index = byOperation[operation], seen.insert(index).inserted {
      rest = rest + stretches[index].length
      if case .handedOver(let following) = stretches[index].end { next = following } else { next = nil }
    }
    return rest
  }

  /// The stretch of a recorded run that a stop ended.
  func stopped(run recorded: String, session: String) -> Stretch? {
    stretch(run: recorded, session: session) { if case .stopped = $0 { true } else { false } }
  }

  /// The stretch of a recorded run at whose end the recording shows it still active.
  func open(run recorded: String, session: String) -> Stretch? {
    stretch(run: recorded, session: session) { if case .open = $0 { true } else { false } }
  }

  private func stretch(run recorded: String, session: String, ending: (StretchEnd) -> Bool) -> Stretch? {
    stretches.first { $0.run?.runId == recorded && $0.session == session && ending($0.end) }
  }

  /// The stretches that wait for nothing else once this has happened.
  mutating func fire(_ trigger: Trigger) -> [Int] {
    guard let indices = waiting.removeValue(forKey: trigger) else { return [] }
    return indices.filter { happened($0) }
  }

  /// One cause of a stretch has happened; whether it was the last.
  mutating func happened(_ index: Int) -> Bool {
    missing[index] -= 1
    return missing[index] == 0 && states[index] == .waiting
  }

  /// Adds a stand-in for words that were not recorded.
  mutating func add(_ stretch: Stretch) -> Int {
    stretches.append(stretch)
    states.append(.waiting)
    missing.append(1)
    return stretches.count - 1
  }
}

extension Stretch {
  /// The same with times and counts that no sum can carry beyond what a clock or the wire holds.
  fileprivate var bounded: Stretch {
    let most: Interval = Tape.latest - Instant.zero
    func within(_ time: Interval) -> Interval { min(max(time, .zero), most) }
    var stretch = self
    stretch.delay = within(delay)
    stretch.length = within(length)
    stretch.stopTime = stopTime.map(within)
    stretch.recordedBegin = recordedBegin.map { min(max($0, Instant.zero - most), Instant.zero + most) }
    for index in stretch.steps.indices { stretch.steps[index].offset = within(stretch.steps[index].offset) }
    switch cause {
    case .clock(let at): stretch.cause = .clock(min(max(at, Instant.zero - most), Instant.zero + most))
    case .operation, .accepted, .after, .request, .all: break
    }
    return stretch
  }
}

/// Recorded opaque tokens, both ways (SCENARIO.md 2, re-issuing).
struct Book: Sendable {
  private var cursorOfRow: [String: String] = [:]
  private var rowOfCursor: [String: String] = [:]
  private var tokenOfState: [String: String] = [:]
  private var tokens: Set<String> = []

  init(_ book: IdentifierBook) {
    for entry in book.cursors {
      let row = Book.key(entry.session, entry.row)
      if cursorOfRow[row] == nil { cursorOfRow[row] = entry.cursor }
      rowOfCursor[Book.key(entry.session, entry.cursor)] = entry.row
    }
    for entry in book.boundaryTokens {
      let state = Book.key(entry.session, entry.lastRow)
      if tokenOfState[state] == nil { tokenOfState[state] = entry.token }
      tokens.insert(Book.key(entry.session, entry.token))
    }
  }

  private static func key(_ session: String, _ rest: String) -> String { session + "\u{1f}" + rest }

  func recordedCursor(session: String, row: String) -> String? { cursorOfRow[Book.key(session, row)] }

  /// The row whose window a cursor ends: recorded ones and ours.
  func row(session: String, cursor: String) -> String? {
    if let row = rowOfCursor[Book.key(session, cursor)] { return row }
    let prefix = "x:cursor:"
    return cursor.hasPrefix(prefix) ? String(cursor.dropFirst(prefix.count)) : nil
  }

  static func cursor(row: String) -> String { "x:cursor:" + row }

  func recordedToken(session: String, lastRow: String) -> String? { tokenOfState[Book.key(session, lastRow)] }

  static func token(lastRow: String) -> String { "x:boundary:" + lastRow }

  func knows(session: String, token: String) -> Bool { tokens.contains(Book.key(session, token)) || token.hasPrefix("x:boundary:") }
}

/// How particular requests were treated in the recorded past, by key and arrival, else by method and arrival.
struct ServiceBook: Sendable {
  private var rules: [String: [ServiceRule.What]] = [:]
  private var arrivals: [String: Int] = [:]

  init(_ list: [ServiceRule]) {
    for rule in list { rules[ServiceBook.name(rule.key, rule.method) + "#\(rule.nth)", default: []].append(rule.what) }
  }

  private static func name(_ key: String?, _ method: String) -> String { key.map { "key " + $0 } ?? "method " + method }

  /// The rules for the request that arrives now.
  mutating func arrived(method: String, key: String?) -> [ServiceRule.What] {
    var found: [ServiceRule.What] = []
    for name in [key.map { ServiceBook.name($0, method) }, ServiceBook.name(nil, method)] {
      guard let name else { continue }
      arrivals[name, default: 0] += 1
      found += rules[name + "#\(arrivals[name] ?? 0)"] ?? []
    }
    return found
  }
}

/// A finished answer under its key (HB-OUTBOX-14).
struct StoredAnswer: Sendable {
  /// How long an answer is kept.
  static let time = Interval.seconds(48 * 3_600)

  var method: String
  /// Canonical bytes: equal words, whatever their order.
  var params: [UInt8]
  var result: Result<JSON, WireError>
  var at: Instant
  /// When the first answer leaves: until then the key is in progress.
  var ready: Instant
}

/// A file on its way to the desktop.
struct Upload: Sendable {
  var fileName: String
  var mimeType: String
  var size: Int64
  var received: Int64 = 0
  var chunks: Int64 = 0
}
