import Contract
import Oracles
import Simulation

/// The life of one message between client, link and server, for a finding. Time is not to scale: instants stand in their order, and
/// pauses of a second and more are cut with their length written at the cut.
enum SequenceFigure {
  private static let top = 46
  private static let middle = 110
  private static let bottom = 174
  private static let left = 66

  /// At most this many attempts are drawn; the rest is told.
  private static let attemptLimit = 6

  static func markup(_ message: Message) -> Markup {
    let attempts = Array(message.attempts.prefix(attemptLimit))
    var instants = Set<Instant>()
    for attempt in attempts {
      instants.insert(attempt.at)
      if case .arrived(let at) = attempt.passage { instants.insert(at) }
      if let at = attempt.answered { instants.insert(at) }
      if let at = attempt.receipt { instants.insert(at) }
    }
    let saves = Array(message.saves.prefix(attemptLimit))
    for save in saves { instants.insert(save.at) }
    if let at = message.wordAt { instants.insert(at) }
    if instants.isEmpty { return "" }
    let ordered = instants.sorted()
    var places: [Instant: Int] = [:]
    var cuts: [(from: Int, to: Int, pause: Interval)] = []
    var x = left + 40
    let pauses = zip(ordered, ordered.dropFirst()).map { $1 - $0 }
    let natural = pauses.reduce(0) { $0 + ($1 < .seconds(1) ? 52 : 112) }
    // Short stories are stretched to about 520 points, to less than twice.
    let stretch = natural == 0 ? 100 : min(190, max(100, 520 * 100 / natural))
    for (index, at) in ordered.enumerated() {
      if index > 0 {
        let isCut = pauses[index - 1] >= .seconds(1)
        let step = (isCut ? 112 : 52) * stretch / 100
        if isCut { cuts.append((x + 18, x + step - 18, pauses[index - 1])) }
        x += step
      }
      places[at] = x
    }
    let right = max(x + 64, 420)
    func place(_ at: Instant) -> Int { places[at] ?? left }

    var lines: Markup = ""
    for (name, y, style) in [("Client", top, "axis"), ("Link", middle, "thin"), ("Server", bottom, "axis")] {
      lines += "<text class=\"str\" x=\"0\" y=\"\(y + 4)\">\(name)</text><path class=\"\(style)\" d=\"M\(left) \(y)H\(right)\"/>"
    }
    for cut in cuts {
      for y in [top, middle, bottom] {
        lines += "<path class=\"gap\" d=\"M\(cut.from) \(y)H\(cut.to)\"/><path class=\"dots\" d=\"M\(cut.from) \(y)H\(cut.to)\"/>"
      }
      lines +=
        "<text class=\"dimt\" x=\"\((cut.from + cut.to) / 2)\" y=\"\(bottom + 16)\" text-anchor=\"middle\">\(cut.pause.description)</text>"
    }
    var story: [String] = []
    let isBroken = message.fate.isBroken
    for (index, attempt) in attempts.enumerated() {
      let from = place(attempt.at)
      let bad = index > 0 && isBroken
      let key = attempt.key.map { ", key \(LifeLine.shortKey($0))" } ?? ""
      let fault = message.faults.first { $0.at >= attempt.at && (index + 1 == attempts.count || $0.at < attempts[index + 1].at) }
      let source = fault?.words ?? ""
      lines += label(from, top - 24, "\(index == 0 ? "sent" : "sent again")\(Columns.cut(key, to: 18))", attempt.at, bad ? "red" : "str")
      story.append("\(index == 0 ? "sent" : "sent again") \(attempt.at)\(key)")
      if case .arrived(let at) = attempt.passage {
        lines += "<path class=\"hop\(bad ? " bad" : "")\" d=\"M\(from) \(top)L\(place(at)) \(bottom)\"/>"
      } else {
        lines += dropped(from, top, from + 22, "request \(attempt.mishaps.first.map(LifeLine.past) ?? "never arrived")", source)
        story.append("the request never arrived")
      }
      if let answered = attempt.answered {
        if let receipt = attempt.receipt {
          lines +=
            "<path class=\"hop\" d=\"M\(place(answered)) \(bottom)L\(place(receipt)) \(top)\"/><use x=\"\(place(receipt))\" y=\"\(top)\" href=\"#g-rcpt\"/>"
          story.append("receipt \(receipt)")
        } else {
          lines += dropped(
            place(answered), bottom, place(answered) + 22, "receipt \(attempt.mishaps.last.map(LifeLine.past) ?? "never arrived")", source)
          story.append("the receipt never arrived")
        }
      }
      lines += "<use x=\"\(from)\" y=\"\(top)\" href=\"#g-send\"/>"
    }
    for (index, save) in saves.enumerated() {
      let x = place(save.at)
      lines += "<use x=\"\(x)\" y=\"\(bottom)\" href=\"#\(index == 0 ? "g-save" : "g-saveb")\"/>"
      lines += label(x, bottom + 18, index == 0 ? "saved" : "saved again", save.at, index == 0 ? "str" : "red")
      story.append("\(index == 0 ? "saved" : "saved again") \(save.at)")
    }
    if let at = message.wordAt, let word = message.word {
      let x = place(at)
      lines += "<use x=\"\(x)\" y=\"\(top)\" href=\"#g-done\"/>"
      if !attempts.contains(where: { $0.at == at }) { lines += label(x, top - 24, "“\(word.rawValue)”", at, "str") }
      story.append("the client’s last word is \(word.rawValue), \(at)")
    }
    if saves.isEmpty { lines += "<text class=\"red\" x=\"\(right)\" y=\"\(bottom + 18)\" text-anchor=\"end\">never saved</text>" }
    let rest: Markup =
      message.attempts.count > attempts.count
      ? "<figcaption class=\"note\">\(Prose.count(message.attempts.count - attempts.count, "further attempt")) not drawn.</figcaption>" : ""
    let width = right + 44
    return """
      <figure><div class="scroll" tabindex="0" role="region" aria-label="Diagram of \(message.id)"><svg class="fig" viewBox="0 6 \(width) 206" width="\(width)" height="206" role="img" \
      aria-label="Message \(message.id) between client, link and server: \(story.joined(separator: "; ")).">\(lines)</svg></div>\(rest)</figure>
      """
  }

  private static func label(_ x: Int, _ y: Int, _ words: String, _ at: Instant, _ style: String) -> Markup {
    "<text class=\"\(style)\" x=\"\(x)\" y=\"\(y)\" text-anchor=\"middle\">\(words)</text><text class=\"dimt\" x=\"\(x)\" y=\"\(y + 13)\" text-anchor=\"middle\">\(at.description)</text>"
  }

  /// A frame that ends on the link.
  private static func dropped(_ x: Int, _ y: Int, _ end: Int, _ words: String, _ source: String) -> Markup {
    """
    <path class="hop" d="M\(x) \(y)L\(end) \(middle)"/><use x="\(end)" y="\(middle)" href="#g-drop"/>\
    <text class="amb" x="\(end + 9)" y="\(middle - 3)">\(words)</text><text class="amb" x="\(end + 9)" y="\(middle + 10)">\(source)</text>
    """
  }
}
