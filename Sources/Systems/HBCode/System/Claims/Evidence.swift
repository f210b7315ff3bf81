import Contract
import HBCodeDialect
import Oracles
import Simulation
import Wire

/// All claims of spec E.2 that this program checks, in the order of their numbers.
package enum HBCodeClaims {
  package static let all: [Claim] =
    (deliveryClaims + outboxClaims + loadClaims + renderingClaims + epochClaims + cadenceClaims + holdClaims + revealClaims
    + olderPageClaims
    + followClaims).sorted { $0.id < $1.id }
}

/// An answer as the phone got it.
struct Got: Sendable {
  /// Index of its `arrive` entry.
  var entry: Int
  var at: Instant
  /// Index of its `send` entry.
  var sent: Int
  var isOk: Bool
  var code: String?
  var isPermanent: Bool
  var outcome: String?
  /// Operations that its list has; nil when it has no list.
  var operations: [String]?
  /// No rule changed its bytes on the way.
  var isIntact: Bool
}

/// How a request ended for the phone.
enum Ending: Sendable {
  case answered(Got)
  /// Its time limit passed.
  case timedOut(Instant)
  /// Its connection went down, at this entry.
  case dropped(Instant, entry: Int)
  /// The process ended, at this entry.
  case stopped(Instant, entry: Int)
  /// The trace ended first.
  case open

  var at: Instant? {
    switch self {
    case .answered(let got): got.at
    case .timedOut(let at), .dropped(let at, _), .stopped(let at, _): at
    case .open: nil
    }
  }
}

/// A request of the phone.
struct Ask: Sendable {
  /// Index of its `send` entry.
  var entry: Int
  var at: Instant
  var connection: Int
  var method: Method?
  var name: String
  var session: String
  /// Name of the view model that it is about: the session, with `/thread` for a subagent thread.
  var host: String
  var key: String?
  var mutation: String?
  var hash: String?
  var operation: String?
  var isSubmit: Bool
  var ending: Ending
}

/// What the claims of hbcode look up besides `TraceIndex`; found once for all of them.
struct Evidence {
  fileprivate struct Findings: Sendable {
    var asks: [Ask] = []
    /// Places in `asks` by the `send` entries of their answers.
    var asked: [Int: Int] = [:]
    let pauses: [StateInterval]
  }

  let index: TraceIndex
  private let findings: Findings

  var entries: [TraceEntry] { index.entries }
  /// The requests of the phone, in order of sending.
  var asks: [Ask] { findings.asks }
  /// Entries that say that a process is not running or not in the foreground.
  var pauses: [StateInterval] { findings.pauses }

  init(_ index: TraceIndex) {
    self.index = index
    findings = index.finding(Findings.init)
  }

  /// Notes of the core of one kind.
  func notes(_ kind: String) -> [TraceEntry] { index.all(.core, kind) }

  /// Whether the process was stopped, suspended or in the background at some time from `from` to `to`.
  func wasPaused(from: Instant, to: Instant) -> Bool { pauses.contains { $0.from <= to && $0.until >= from } }

  /// Whether the process was ended, or the device asleep, at some time between.
  func wasAsleep(from: Instant, to: Instant) -> Bool {
    pauses.contains { $0.from <= to && $0.until >= from && ["stop", "suspend"].contains(entries[$0.opened].kind) }
  }

  /// The state of an operation by the client's notes after the entry with this index.
  func state(of operation: String, at entry: Int) -> String? {
    index.indices(ofOperation: operation).last { $0 <= entry && isNote($0, "op") }.flatMap { entries[$0]["state"]?.string }
  }

  func isNote(_ index: Int, _ kind: String) -> Bool { entries[index].party == .core && entries[index].kind == kind }

  /// The gestures that name an operation, between two entries.
  func hasUserAction(on operation: String, between a: Int, and b: Int) -> Bool {
    index.indices(.user, "gesture").contains { $0 > a && $0 < b && entries[$0]["operation"]?.string == operation }
  }

  /// The entries of one handling of the core: from `start` (excluded) up to the next thing that happens to it.
  func handling(after start: Int) -> Range<Int> {
    var end = start + 1
    // Display frames leave no entry of their own, but nothing of one instant belongs to the next.
    while end < entries.count, entries[end].at == entries[start].at, !isTrigger(entries[end]) { end += 1 }
    return (start + 1)..<max(start + 1, end)
  }

  /// The entries of the handling that an entry belongs to, with what began it.
  func handling(around position: Int) -> Range<Int> {
    var start = position
    while start > 0, !isTrigger(entries[start]), entries[start - 1].at == entries[position].at { start -= 1 }
    return start..<handling(after: position).upperBound
  }

  /// The request that the frame sent at this entry answers.
  func request(ofAnswer sent: Int) -> Ask? { findings.asked[sent].map { findings.asks[$0] } }

  /// Item ids of rows that leave the list whatever else the answers say (HB-PROJ-03).
  var hiddenRows: Set<String> { index.finding(HiddenRows.init).ids }

  private func isTrigger(_ entry: TraceEntry) -> Bool {
    switch entry.party {
    case .link:
      return ["up", "down"].contains(entry.kind) || entry.kind == "arrive" && entry["dir"]?.string == Direction.in.rawValue
    case .core: return entry.kind == "timer"
    case .user: return entry.kind == "gesture"
    case .world: return true
    case .twin, .plan, .screen: return false
    }
  }

  /// Operations that are on the desktop's side, on the wire or in a client's note.
  var operations: [String] { index.operations }

  static func outcome(_ remark: String) -> ClaimOutcome { ClaimOutcome(exercised: 0, remark: remark) }
}

/// Rows of subagent panels in the answers of a run.
private struct HiddenRows: Sendable {
  var ids: Set<String> = []

  init(_ index: TraceIndex) {
    for ask in Evidence(index).asks where ask.method == .load || ask.method == .loadThread || ask.isOlderPage {
      guard case .answered(let got) = ask.ending else { continue }
      for row in index.content(ofEntry: got.sent)?["result"]?["timeline"]?.array ?? [] where row["panel"] != nil {
        if let id = itemID(row) { ids.insert(id) }
      }
    }
  }
}

extension Evidence.Findings {
  fileprivate init(_ index: TraceIndex) {
    let isPause = { (entry: TraceEntry) -> Bool in
      entry.party == .world && ["stop", "suspend", "background"].contains(entry.kind)
        || entry.party == .user && entry.kind == "gesture" && entry["do"]?.string == "background"
    }
    let isResume = { (entry: TraceEntry) -> Bool in
      entry.party == .world && ["launch", "resume", "foreground"].contains(entry.kind)
        || entry.party == .user && entry.kind == "gesture" && entry["do"]?.string == "foreground"
    }
    pauses = index.intervals(from: isPause, to: isResume)
    let downs = index.indices(.link, "down")
    let stops = index.indices(.world, "stop")
    for exchange in index.exchanges {
      let frame = index.frames[exchange.request]
      guard frame.direction == .out else { continue }
      let entry = index.entries[frame.entry]
      let method = Method(rawValue: frame.name)
      var got: [Got] = []
      for position in exchange.responses {
        let response = index.frames[position]
        asked[response.entry] = asks.count
        let sent = index.entries[response.entry]
        let isIntact = !response.faults.contains { ["corrupt", "truncate", "replace"].contains(index.entries[$0].kind) }
        for arrival in response.arrivals {
          got.append(
            Got(
              entry: arrival, at: index.entries[arrival].at, sent: response.entry, isOk: sent["ok"]?.bool ?? false,
              code: sent["code"]?.string, isPermanent: sent["permanent"]?.bool ?? false, outcome: sent["outcome"]?.string,
              operations: sent["operations"]?.array.map { $0.compactMap(\.string) }, isIntact: isIntact))
        }
      }
      let first = got.min { $0.entry < $1.entry }
      let limit = frame.at + (method?.limit ?? .seconds(20))
      let down = downs.first { $0 > frame.entry && index.entries[$0]["conn"]?.int == frame.connection }
      let stop = stops.first { $0 > frame.entry }
      // The first of: answer, connection down, process stopped, time limit.
      var ending = Ending.open
      let candidates = [first?.entry, down, stop].compactMap(\.self).min()
      // The client hears of a loss only when it has said what it had to say: the rest goes nowhere.
      let isSentTooLate = downs.contains { $0 < frame.entry && index.entries[$0]["conn"]?.int == frame.connection }
      if isSentTooLate {
        ending = .dropped(frame.at, entry: frame.entry)
      } else if let candidate = candidates, index.entries[candidate].at <= limit {
        if let first, candidate == first.entry {
          ending = .answered(first)
        } else if candidate == down {
          ending = .dropped(index.entries[candidate].at, entry: candidate)
        } else {
          ending = .stopped(index.entries[candidate].at, entry: candidate)
        }
      } else if index.end >= limit {
        ending = .timedOut(limit)
      }
      asks.append(
        Ask(
          entry: frame.entry, at: frame.at, connection: frame.connection, method: method, name: frame.name,
          session: entry["sessionId"]?.string ?? "", host: entry.wireHost, key: frame.key, mutation: entry["mutationId"]?.string,
          hash: entry["paramsHash"]?.string, operation: frame.operation, isSubmit: method == .outboxSubmit, ending: ending))
    }
  }
}

extension ClaimOutcome {
  mutating func breaks(_ entry: TraceEntry, _ operation: String? = nil, _ happened: String, _ evidence: [Int] = []) {
    violations.append(
      Violation(at: entry.at, operation: operation, happened: happened, evidence: Array(Set(evidence + [entry.index])).sorted()))
  }
}
