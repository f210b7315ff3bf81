import Contract
import Oracles
import Simulation
import Wire

/// Every frame on the axis of the run: two lanes for each connection, one path a lane whatever its length, faults as marks on top.
enum WireTrack {
  /// Fault marks of one lane; the count is told where there are more.
  private static let markLimit = 200
  private static let connectionLimit = 40

  private struct Lane {
    var connection: Int
    var direction: Direction
    var frames: [WireFrame] = []
  }

  static func sentence(_ index: TraceIndex) -> String {
    if index.frames.isEmpty { return "No frame was sent." }
    let connections = Set(index.frames.map(\.connection)).count
    let touched = index.frames.count { !$0.faults.isEmpty }
    let lost = index.frames.count { $0.arrivals.isEmpty }
    return "\(Prose.capitalised(Prose.count(index.frames.count, "frame"))) on \(Prose.count(connections, "connection")); "
      + (touched == 0 ? "no fault touched any of them" : "\(Prose.number(touched)) touched by a fault")
      + (lost == 0 ? "." : ", \(Prose.number(lost)) never arrived.")
  }

  static func markup(_ report: Report, _ index: TraceIndex, _ notes: inout [String]) -> Markup {
    var byConnection = OrderedMap<Int, [WireFrame]>()
    for frame in index.frames { byConnection[frame.connection, default: []].append(frame) }
    let connections = byConnection.keys.sorted()
    if connections.isEmpty { return "" }
    let axis = report.axis
    var rows: Markup = ""
    for connection in connections.prefix(connectionLimit) {
      for direction in [Direction.out, .in] {
        let frames = (byConnection[connection] ?? []).filter { $0.direction == direction }
        rows += row(Lane(connection: connection, direction: direction, frames: frames), index, report, &notes)
      }
    }
    if connections.count > connectionLimit {
      let rest = connections.dropFirst(connectionLimit)
      let frames = rest.flatMap { byConnection[$0] ?? [] }.sorted { $0.entry < $1.entry }
      var places = Places()
      for frame in frames { places.insert(frame.at, of: axis) }
      rows += Timeline.lane(
        "<b>\(Prose.number(rest.count)) others</b>", Prose.number(frames.count), height: 24,
        name: "\(Prose.count(rest.count, "further connection")): \(Prose.count(frames.count, "frame"))",
        inner: places.path(top: 7, bottom: 17),
        marks: "", isSub: false)
      notes.append("\(Prose.count(rest.count, "further connection")) share one lane.")
    }
    return Timeline.track("Wire", index.frames.count, index.frames.map(\.at), rows, axis: axis)
  }

  private static func row(_ lane: Lane, _ index: TraceIndex, _ report: Report, _ notes: inout [String]) -> Markup {
    let axis = report.axis
    var plain = Places()
    for frame in lane.frames where !frame.isDelivery { plain.insert(frame.at, of: axis) }
    var marks: Markup = ""
    var deliveries = Places()
    for frame in lane.frames where frame.isDelivery && deliveries.insert(frame.at, of: axis) {
      marks +=
        "<use x=\"\(axis.percent(frame.at))\" y=\"12\" href=\"#\(frame.direction == .out ? "g-send" : "g-rcpt")\"><title>\(words(frame))</title></use>"
    }
    var count = 0
    var kinds: [String] = []
    for frame in lane.frames {
      for fault in frame.faults {
        let entry = index.entries[fault]
        let kind = LifeLine.past(entry.kind)
        kinds.append(kind)
        count += 1
        if count > markLimit { continue }
        let source = entry["rule"]?.int.map { "fault \($0)" } ?? entry["cause"]?.string ?? "recorded past"
        marks +=
          "<use x=\"\(axis.percent(entry.at))\" y=\"12\" href=\"#\(kind == "dropped" ? "g-drop" : "g-flt")\"><title>\(words(frame)): \(kind) at \(entry.at.description), \(source)</title></use>"
      }
    }
    if count > markLimit {
      notes.append("Connection \(lane.connection): the first \(markLimit) of \(Prose.number(count)) faults are marked.")
    }
    var background: Markup = ""
    if lane.direction == .out {
      for life in index.uptimes(ofConnection: lane.connection).prefix(200) {
        let from = axis.fraction(life.from, in: 10_000)
        let until = axis.fraction(life.until, in: 10_000)
        background += "<rect class=\"up\" x=\"\(String(from))\" y=\"0\" width=\"\(String(max(until - from, 4)))\" height=\"2\"/>"
      }
    }
    let faults = kinds.isEmpty ? "" : ", " + Prose.list(kinds.counted.map { "\($0.count) \($0.value)" }) + " by faults"
    let way = lane.direction == .out ? "client to server" : "server to client"
    let name =
      "Connection \(lane.connection), \(way): \(Prose.count(lane.frames.count, "frame")), \(lane.frames.count { $0.isDelivery }) "
      + (lane.direction == .out ? "submits" : "receipts") + faults
    let label: Markup = lane.direction == .out ? "Connection \(lane.connection) out" : "in"
    return Timeline.lane(
      label, Prose.number(lane.frames.count), height: 24, name: name, inner: background + plain.path(top: 7, bottom: 17), marks: marks)
  }

  private static func words(_ frame: WireFrame) -> String {
    "\(frame.at) \(frame.role.rawValue) \(frame.name)" + (frame.operation.map { " \($0)" } ?? "")
  }
}

extension Array where Element == String {
  /// Distinct values with their counts, in order of first sight.
  fileprivate var counted: [(value: String, count: Int)] {
    var counts = OrderedMap<String, Int>()
    for value in self { counts[value, default: 0] += 1 }
    return counts.pairs.map { ($0.key, $0.value) }
  }
}
