import Contract
import Simulation
import Wire

/// Writes the entries of a trace in order. Small on purpose: where the entries go is its affair alone.
package struct TraceRecorder: Sendable {
  package private(set) var entries: [TraceEntry] = []
  /// `Trace.contents`.
  package private(set) var contents: [Int: JSON] = [:]

  package init() {}

  /// Index of the next entry.
  package var count: Int { entries.count }

  /// Names that the line form of an entry uses itself; a field of such a name gets a `_`.
  private static func isTaken(_ name: String) -> Bool {
    // By length first: nearly every field is told by it alone.
    switch name.utf8.count {
    case 1: name == "i" || name == "t" || name == "k"
    case 5: name == "party"
    case 7: name == "payload"
    case 10: name == "payloadHex"
    default: false
    }
  }

  /// Appends an entry and returns its index.
  @discardableResult
  package mutating func record(
    _ party: Party, _ kind: String, at now: Instant, _ fields: JSONObject, payload: [UInt8]? = nil, content: JSON? = nil
  ) -> Int {
    var fields = fields
    for index in fields.members.indices where TraceRecorder.isTaken(fields.members[index].name) {
      fields.members[index].name += "_"
    }
    let index = entries.count
    if let content { contents[index] = content }
    entries.append(TraceEntry(index: index, at: now, party: party, kind: kind, fields: fields, payload: payload))
    return index
  }
}

/// A rolling 64-bit hash over the lines of a trace (FNV-1a): equal up to an entry if and only if, collisions aside, all entries
/// up to it are equal.
package struct RollingHash: Hashable, Sendable {
  package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  package init() {}

  package mutating func add(_ entry: TraceEntry) {
    for byte in JSONWriter.compact(entry.json) { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    value = (value ^ 0x0a) &* 0x0000_0100_0000_01b3
  }
}

extension Trace {
  /// The lines of the trace: one JSON object an entry, each ended by a newline.
  package var lines: [UInt8] {
    var bytes: [UInt8] = []
    for entry in entries {
      bytes += JSONWriter.compact(entry.json)
      bytes.append(UInt8(ascii: "\n"))
    }
    return bytes
  }

  /// Reads the form of `lines`. Throws the line number and what is wrong with it.
  package static func entries(fromLines bytes: [UInt8]) throws(JSONError) -> [TraceEntry] {
    let reader = JSONReader()
    var entries: [TraceEntry] = []
    for (number, line) in bytes.split(separator: UInt8(ascii: "\n")).enumerated() {
      do { entries.append(try TraceEntry(json: try reader.parse(Array(line)))) } catch {
        throw JSONError(path: "line \(number + 1)" + (error.path.isEmpty ? "" : ": " + error.path), problem: error.problem)
      }
    }
    return entries
  }

  /// The rolling hash after the last entry, as 16 hexadecimal digits.
  package var hash: String {
    var hash = RollingHash()
    for entry in entries { hash.add(entry) }
    let digits = String(hash.value, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
