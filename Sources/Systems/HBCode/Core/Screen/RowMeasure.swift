import HBCodeDialect
import Simulation
import Wire

/// Heights of rows and times of the headless screen (spec G.2).
package struct RowMeasure: Sendable {
  /// Characters of a line, in Unicode scalars.
  private static let lineLength = 38

  /// Heights that a recording gives for items, of one text or of any.
  private var heights: [String: [(text: String?, height: Double)]] = [:]
  /// How long the Markdown of a reply or message prepares.
  package private(set) var preparation = Interval.zero
  /// How long a snapshot takes to apply.
  package private(set) var applying = Interval.zero
  package private(set) var reduceMotion = false

  package init() {}

  /// Reads `screen` of the start state:
  /// `{"reduceMotion": false, "markdownMs": 0, "applyMs": 0, "heights": [{"id": "agent-reply:a1", "text": "Hi", "height": 60}]}`; an
  /// entry without a text is for every version of the item.
  package init(json: JSON?) throws(JSONError) {
    guard let json, !json.isNull else { return }
    reduceMotion = json["reduceMotion"]?.bool ?? false
    preparation = try RowMeasure.milliseconds(json, "markdownMs")
    applying = try RowMeasure.milliseconds(json, "applyMs")
    for (index, element) in (json["heights"]?.array ?? []).enumerated() {
      guard let id = element["id"]?.nonblankString, let height = element["height"]?.double, (0...RowMeasure.greatest).contains(height)
      else {
        throw JSONError(path: "screen.heights[\(index)]", problem: "expected an id and a height in points")
      }
      heights[id, default: []].append((element["text"]?.string, height))
    }
  }

  /// Points that no row passes, and the longest time in milliseconds.
  private static let greatest = 1e6
  private static let longest: Int64 = 600_000

  private static func milliseconds(_ json: JSON, _ name: String) throws(JSONError) -> Interval {
    guard let value = json[name] else { return .zero }
    guard let ms = value.wireInteger, (0...longest).contains(ms) else {
      throw JSONError(path: "screen.\(name)", problem: "expected 0 to \(longest) milliseconds")
    }
    return .milliseconds(ms)
  }

  /// The height that a recording gives for this content of an item.
  package func height(of id: String, text: String) -> Double? {
    if heights.isEmpty { return nil }
    let known = heights[id] ?? []
    return (known.first { $0.text == text } ?? known.first { $0.text == nil })?.height
  }

  /// Lines that a text fills: each of its lines at least one.
  package static func lines(_ text: String) -> Int {
    var total = 0
    var length = 0
    func close() { total += max(1, (length + lineLength - 1) / lineLength) }
    for scalar in text.unicodeScalars {
      if scalar == "\n" {
        close()
        length = 0
      } else {
        length += 1
      }
    }
    close()
    return total
  }

  /// Height of a row in points by its kind and text (spec G.2).
  package static func height(_ type: RowType, isMessage: Bool, text: String) -> Double {
    let lines = Double(lines(text))
    if isMessage { return 44 + 22 * lines }
    switch type {
    case .user: return 24 + 20 * lines
    case .agentReply, .system, .thinking: return 16 + 22 * lines
    case .activity: return 44
    }
  }
}
