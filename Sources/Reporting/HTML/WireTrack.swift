import Contract
import Oracles
import Simulation
import Wire

/// Every frame on the axis of the run: two lanes for each connection, one path a lane whatever its length, faults as marks on top.
///
/// The track carries the span of the run in `data-end` (nanoseconds), so that a script can zoom by changing the inner `viewBox`.
enum WireTrack {
  /// Places that a lane can tell apart; frames nearer than that share a tick.
  private static let resolution: Int64 = 2_000
  /// Fault marks of one lane; the count is told where there are more.
  private static let markLimit = 200
  private static let connectionLimit = 40

  private struct Lane {
    var connection: Int
    var direction: Direction
    var frames: [WireFrame] = []
  }

  static func section(_ report: Report) -> Markup {
    let index = TraceIndex(report.trace)
    var lanes: [Lane] = []
    let connections = Set(index.frames.map(\.connection)).sorted()
    for connection in connections {
      for direction in [Direction.out, .in] {
        lanes.append(
          Lane(
            connection: connection, direction: direction,
            frames: index.frames.filter { $0.connection == connection && $0.direction == direction }))
      }
    }
    if lanes.isEmpty { return HTMLReport.section("wire", "Wire", "No frame was sent.", "") }
    let touched = index.frames.count { !$0.faults.isEmpty }
    let lost = index.frames.count { $0.arrivals.isEmpty }
    let lead =
      "\(Prose.capitalised(Prose.count(index.frames.count, "frame"))) on \(Prose.count(connections.count, "connection")); "
      + (touched == 0 ? "no fault touched any" : "\(Prose.number(touched)) touched by a fault")
      + (lost == 0 ? "." : ", \(Prose.number(lost)) never arrived.")
    var rows: Markup = ""
    for lane in lanes.prefix(connectionLimit * 2) { rows += row(lane, index, report) }
    let hidden = connections.count - min(connections.count, connectionLimit)
    let more: Markup = hidden == 0 ? "" : "<p class=\"note\">\(Prose.count(hidden, "further connection")) not drawn.</p>"
    let labels: [Markup] = Axis.ticks(until: report.end).map { tick in
      let x = Axis.fraction(tick, of: report.end, in: 100)
      let anchor = x < 3 ? "start" : x > 96 ? "end" : "middle"
      return "<text x=\"\(Axis.percent(tick, of: report.end))\" y=\"12\" text-anchor=\"\(anchor)\">\(Axis.label(tick))</text>"
    }
    let body: Markup = """
      <div class="scroll" tabindex="0" role="region" aria-label="Wire track"><div class="wire" data-end="\(String(report.end.nanoseconds))">\(rows)\
      <div class="lane"><p>time, m:ss</p><svg height="18" aria-hidden="true">\(labels)</svg></div></div></div>\
      <p class="key"><span><svg viewBox="0 0 14 14" aria-hidden="true"><path class="ln" d="M7 3V11"/></svg>frame</span>\
      <span><svg viewBox="-7 -7 14 14" aria-hidden="true"><use href="#g-send"/></svg>submit of a message</span>\
      <span><svg viewBox="-7 -7 14 14" aria-hidden="true"><use href="#g-rcpt"/></svg>its receipt</span>\
      <span><svg viewBox="-7 -7 14 14" aria-hidden="true"><use href="#g-drop"/></svg>dropped</span>\
      <span><svg viewBox="-7 -7 14 14" aria-hidden="true"><use href="#g-flt"/></svg>other fault</span><span>grey line: connection up</span><span>tinted: quiet phase</span></p>\(more)
      """
    return HTMLReport.section("wire", "Wire", "\(lead)", body)
  }

  private static func row(_ lane: Lane, _ index: TraceIndex, _ report: Report) -> Markup {
    let end = report.end
    var plain = Places(resolution)
    for frame in lane.frames where !frame.isDelivery { plain.insert(Axis.fraction(frame.at, of: end, in: resolution)) }
    var marks: Markup = ""
    var deliveries = Places(resolution)
    for frame in lane.frames where frame.isDelivery && deliveries.insert(Axis.fraction(frame.at, of: end, in: resolution)) {
      marks +=
        "<use x=\"\(Axis.percent(frame.at, of: end))\" y=\"12\" href=\"#\(frame.direction == .out ? "g-send" : "g-rcpt")\"><title>\(words(frame))</title></use>"
    }
    var count = 0
    var kinds: [String] = []
    for frame in lane.frames {
      for fault in frame.faults {
        let entry = index.entries[fault]
        kinds.append(LifeLine.past(entry.kind))
        count += 1
        if count > markLimit { continue }
        let kind = LifeLine.past(entry.kind)
        let source = entry["rule"]?.int.map { "fault \($0)" } ?? entry["cause"]?.string ?? "recorded past"
        marks +=
          "<use x=\"\(Axis.percent(entry.at, of: end))\" y=\"12\" href=\"#\(kind == "dropped" ? "g-drop" : "g-flt")\"><title>\(words(frame)): \(kind) at \(entry.at.description), \(source)</title></use>"
      }
    }
    var background: Markup = ""
    if report.header.quietFrom > .zero, report.header.quietFrom < end {
      let x = Axis.fraction(report.header.quietFrom, of: end, in: 10_000)
      background += "<rect class=\"quiet\" x=\"\(String(x))\" y=\"0\" width=\"\(String(10_000 - x))\" height=\"24\"/>"
    }
    if lane.direction == .out {
      for life in index.uptimes(ofConnection: lane.connection).prefix(200) {
        let from = Axis.fraction(life.from, of: end, in: 10_000)
        let until = Axis.fraction(life.until, of: end, in: 10_000)
        background += "<rect class=\"up\" x=\"\(String(from))\" y=\"0\" width=\"\(String(max(until - from, 4)))\" height=\"2\"/>"
      }
    }
    let ticks = plain.path(scale: 10_000 / resolution, top: 7, bottom: 17)
    let faults = kinds.isEmpty ? "" : ", " + Prose.list(kinds.counted.map { "\($0.count) \($0.value)" }) + " by faults"
    let way = lane.direction == .out ? "client to server" : "server to client"
    let name =
      "Connection \(lane.connection), \(way): \(Prose.count(lane.frames.count, "frame")), \(lane.frames.count { $0.isDelivery }) "
      + (lane.direction == .out ? "submits" : "receipts") + faults
    let label: Markup =
      lane.direction == .out ? "<span><b>Connection \(lane.connection)</b> out</span>" : "<span>in</span>"
    return """
      <div class="lane\(lane.direction == .in ? " sub" : "")"><p>\(label)<span>\(Prose.number(lane.frames.count))</span></p>\
      <svg height="24" role="img" aria-label="\(name)"><svg width="100%" height="24" viewBox="0 0 10000 24" preserveAspectRatio="none">\(background)\(ticks)</svg>\(marks)</svg></div>

      """
  }

  private static func words(_ frame: WireFrame) -> String {
    "\(frame.at) \(frame.role.rawValue) \(frame.name)" + (frame.operation.map { " \($0)" } ?? "")
  }

  /// Distinct places on an axis.
  private struct Places {
    private var taken: [Bool]

    init(_ count: Int64) { taken = Array(repeating: false, count: Int(count) + 1) }

    /// False when the place is taken already.
    @discardableResult
    mutating func insert(_ place: Int64) -> Bool {
      let index = min(max(Int(place), 0), taken.count - 1)
      defer { taken[index] = true }
      return !taken[index]
    }

    func path(scale: Int64, top: Int, bottom: Int) -> Markup {
      let steps = taken.indices.filter { taken[$0] }.map { "M\(Int64($0) * scale) \(top)V\(bottom)" }.joined()
      return steps.isEmpty ? "" : "<path d=\"\(steps)\"/>"
    }
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
