import Contract
import Simulation
import Wire

/// Small pieces of prose that all formats share. Everything here is visible text: safe for a terminal, still to be escaped by place.
enum Prose {
  /// `1 message`, `3 messages`, `1,200 messages`.
  static func count(_ n: Int, _ noun: String, _ plural: String? = nil) -> String { "\(number(n)) \(n == 1 ? noun : plural ?? noun + "s")" }

  /// Thousands with commas.
  static func number(_ n: Int) -> String {
    let digits = Array(String(n.magnitude))
    var out = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { out.append(",") }
      out.append(digit)
    }
    return (n < 0 ? "-" : "") + out
  }

  /// A value of a figure: integers with commas, others with three places. What is below a thousandth is cut, as in instants and lengths of
  /// time.
  static func number(_ value: Double) -> String {
    guard value.isFinite else { return "no number" }
    if let whole = Int(exactly: value) { return number(whole) }
    guard value.magnitude < 1e12 else { return String(value) }
    let thousandths = Int((value.magnitude * 1_000 + 1e-6).rounded(.down))
    var fraction = String(thousandths % 1_000)
    while fraction.utf8.count < 3 { fraction = "0" + fraction }
    return (value < 0 ? "-" : "") + number(thousandths / 1_000) + "." + fraction
  }

  /// `a, b and c`.
  static func list(_ parts: [String]) -> String {
    guard let last = parts.last, parts.count > 1 else { return parts.first ?? "" }
    return parts.dropLast().joined(separator: ", ") + " and " + last
  }

  /// A message's words in quotes, visible, cut to `limit` columns.
  static func quoted(_ text: String, limit: Int = 48) -> String { "“" + Columns.cut(Visible.text(text), to: limit) + "”" }

  static func capitalised(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }

  /// A sentence as a clause: visible, without its full stop.
  static func clause(_ sentence: String) -> String {
    let visible = Visible.text(sentence)
    return visible.hasSuffix(".") ? String(visible.dropLast()) : visible
  }

  /// A clause for the middle of a sentence: its first letter small, unless the first word is a name.
  static func joined(_ clause: String) -> String {
    let word = clause.prefix { $0 != " " }
    let isPlain = word.first?.isUppercase == true && word.dropFirst().allSatisfy { $0.isLetter && $0.isLowercase }
    return isPlain ? clause.prefix(1).lowercased() + clause.dropFirst() : clause
  }

  /// Ends with a full stop.
  static func sentence(_ text: String) -> String {
    guard let last = text.last else { return text }
    return ".!?…”".contains(last) ? text : text + "."
  }

  static func word(_ verdict: Verdict) -> String {
    switch verdict {
    case .held: "Held"
    case .broken: "Broken"
    case .unknown: "Unknown"
    case .untested: "Untested"
    }
  }
}

/// One trace entry as a line for a person: who, what, and the fields that tell most first.
package struct TraceLine: Hashable, Sendable {
  package var index: Int
  package var at: Instant
  package var party: String
  package var kind: String
  package var rest: String
  /// True for what a fault did.
  package var isFault: Bool

  package init(_ entry: TraceEntry, in trace: Trace) {
    index = entry.index
    at = entry.at
    party = entry.party.rawValue
    kind = Visible.text(entry.kind)
    var parts: [String] = []
    var told: Set<String> = []
    func tell(_ name: String, _ make: (JSON) -> String) {
      guard let value = entry[name], told.insert(name).inserted else { return }
      parts.append(make(value))
    }
    isFault = entry.party == .link && (entry["rule"] != nil || entry["condition"] != nil || entry["cause"] != nil)
    if entry.party == .link {
      tell("dir", TraceLine.plain)
      tell("label", TraceLine.plain)
      tell("name", TraceLine.plain)
      // What a fault says only by number is told from the frame that it names.
      if isFault, let of = entry["of"]?.int, trace.entries.indices.contains(of) {
        told.formUnion(["of", "rule", "condition", "cause"])
        let frame = trace.entries[of]
        parts += ["label", "name", "operation", "key"].filter { entry[$0] == nil }.compactMap { frame[$0].map(TraceLine.plain) }
      }
    }
    tell("operation", TraceLine.plain)
    tell("state", TraceLine.plain)
    tell("do", TraceLine.plain)
    tell("text") { Prose.quoted($0.string ?? TraceLine.plain($0)) }
    for member in entry.fields.members where !told.contains(member.name) {
      if ["delivery", "bytes"].contains(member.name) { continue }
      parts.append("\(Visible.text(member.name))=\(TraceLine.plain(member.value))")
    }
    if isFault, let rule = entry["rule"] {
      parts.append("— fault \(TraceLine.plain(rule))")
    } else if isFault, let condition = entry["condition"] {
      parts.append("— recorded past: \(TraceLine.plain(condition))")
    } else if isFault, let cause = entry["cause"] {
      parts.append("— \(TraceLine.plain(cause))")
    }
    rest = Columns.cut(parts.joined(separator: " "), to: 240)
  }

  private static func plain(_ value: JSON) -> String {
    // Lists of rows, ids and places fill lines and tell little: how many there are tells more.
    if let list = value.array, list.count > 3 { return Prose.number(list.count) }
    let text = value.string ?? JSONWriter.text(value)
    return Columns.cut(Visible.text(text), to: 96)
  }
}
