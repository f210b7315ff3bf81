import Contract
import Oracles
import Simulation

/// One try of a message as the delivery tables show it.
struct LifeLine: Hashable {
  var key: String
  var sent: String
  var saved: String
  var receipt: String
  /// True when a fault kept the receipt away.
  var receiptFaulted: Bool
  var savedAgain: Bool
  var operation: String

  /// One line for each attempt, saves beside the attempt that arrived last before them; one line at least.
  static func of(_ message: Message) -> [LifeLine] {
    var lines = message.attempts.map { attempt in
      let lost = attempt.receipt == nil
      let mishap = attempt.mishaps.first.map { (attempt.passage == .never ? "submit " : "") + past($0) }
      return LifeLine(
        key: attempt.key.map(shortKey) ?? "-", sent: "\(attempt.at)", saved: "-",
        receipt: attempt.receipt.map { "\($0)" } ?? mishap ?? "none",
        receiptFaulted: lost && !attempt.mishaps.isEmpty,
        savedAgain: false, operation: attempt.operation)
    }
    if lines.isEmpty {
      lines = [
        LifeLine(
          key: "-", sent: "never", saved: "-", receipt: "-", receiptFaulted: false, savedAgain: false,
          operation: message.operationIDs.first ?? "")
      ]
    }
    for (position, save) in message.saves.enumerated() {
      // The attempt that brought it: the last one of its operation that arrived by then.
      let by = message.attempts.indices.last { index in
        guard case .arrived(let at) = message.attempts[index].passage else { return false }
        return message.attempts[index].operation == save.operation && at <= save.at
      }
      let line = by ?? min(position, lines.count - 1)
      lines[line].saved = lines[line].saved == "-" ? "\(save.at)" : lines[line].saved + " \(save.at)"
      lines[line].savedAgain = position > 0
    }
    return lines
  }

  /// What follows the last colon of a key: `run.chatOutboxSubmit:m-3` → `m-3`.
  static func shortKey(_ key: String) -> String {
    let visible = Visible.text(key)
    return visible.split(separator: ":").last.map(String.init) ?? visible
  }

  /// The kind of a link entry as what happened: `drop` → `dropped`.
  static func past(_ kind: String) -> String {
    switch kind {
    case "drop", "lost", "lose": "dropped"
    case "delay", "late": "delayed"
    case "duplicate": "doubled"
    case "reorder": "reordered"
    case "hold": "held"
    case "corrupt": "damaged"
    case "truncate": "cut off"
    case "replace": "replaced"
    default: Visible.text(kind)
    }
  }
}

/// Letters for the conversations of a run, in order of first sight in the messages: A, B, …, Z, L27, …
struct LaneLetters {
  private(set) var lanes: [String] = []

  init(_ messages: [Message], _ foreign: [ForeignEntry]) {
    for lane in messages.sorted(by: { (Int($0.id.dropFirst()) ?? 0) < (Int($1.id.dropFirst()) ?? 0) }).compactMap(\.lane)
      + foreign.compactMap(\.lane)
    where !lanes.contains(lane) { lanes.append(lane) }
  }

  func letter(_ lane: String?) -> String {
    guard let lane, let position = lanes.firstIndex(of: lane) else { return "-" }
    return position < 26 ? String(UnicodeScalar(UInt8(65 + position))) : "L\(position + 1)"
  }
}

extension FaultTouch {
  /// The words of the recorded past, when it did this.
  var condition: String? { if case .recordedPast(let words) = source { words } else { nil } }
}

extension Message {
  /// Rules that touched it, by number, and `rec.` for the recorded past; `conn.` when only the loss of a connection did.
  var faultNumbers: String {
    var parts = Set(faults.compactMap(\.rule)).sorted().map(String.init)
    if faults.contains(where: { $0.condition != nil }) { parts.append("rec.") }
    if parts.isEmpty, !faults.isEmpty { parts.append("conn.") }
    return parts.isEmpty ? "-" : parts.joined(separator: ",")
  }

  var number: Int { Int(id.dropFirst()) ?? 0 }
  /// `x` broken, `!` unsettled, `.` fine: the marks of the text report.
  var mark: String {
    switch fate {
    case .lost, .duplicated, .claimedNotSaved, .reportedFailedButSaved: "x"
    case .stranded, .savedUnconfirmed: "!"
    case .rejectedKept, .rejectedRestored, .held, .waiting, .superseded, .removed, .confirmed: "."
    }
  }
}
