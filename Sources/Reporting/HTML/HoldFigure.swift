import Contract
import Oracles
import Simulation

/// The story of one hold, to scale: what kept the list above, the versions that came below it, what was applied at the end.
enum HoldFigure {
  private static let width = 664
  private static let left = 66
  private static let right = 650
  /// Versions of which each gets a tick; of more, those nearer than a point share one.
  private static let versionLimit = 600

  static func markup(_ hold: HeldUpdate) -> Markup {
    let start = min(hold.phases.first?.from ?? hold.from, hold.from)
    let length = max((hold.until - start).nanoseconds, 1)
    func x(_ at: Instant) -> Int {
      let part = Double((at - start).nanoseconds) / Double(length)
      return left + 8 + Int((min(max(part, 0), 1) * Double(right - left - 92)).rounded())
    }
    let end = x(hold.until)
    let free = hold.release.map { x(min($0.at, hold.until)) } ?? end
    var lines: Markup = ""
    for (name, y) in [("List", 34), ("Newer", 72), ("Screen", 110)] {
      lines += "<text class=\"str\" x=\"0\" y=\"\(y + 4)\">\(name)</text><path class=\"thin\" d=\"M\(left) \(y)H\(right)\"/>"
    }
    // What keeps the list.
    for (index, phase) in hold.phases.enumerated() {
      let from = x(phase.from)
      let until = hold.phases.indices.contains(index + 1) ? max(x(hold.phases[index + 1].from), from + 2) : max(free, from + 2)
      let style = phase.cause == .finger ? "finger" : "slow"
      lines += "<rect class=\"\(style)\" x=\"\(from)\" y=\"26\" width=\"\(until - from)\" height=\"16\"/>"
      let words =
        switch phase.cause {
        case .finger: "finger on the list"
        case .slowing: "slowing down"
        case .older: "older page"
        case .moving: "moving"
        }
      if until - from > words.count * 6 + 8 {
        lines += "<text class=\"str halo\" x=\"\(from + 5)\" y=\"38\">\(words)</text>"
      }
    }
    if let first = hold.phases.first { lines += time(x(first.from), 18, first.from, "start") }
    if hold.release != nil, let release = hold.release {
      lines += "<path class=\"lim\" d=\"M\(free) 22V118\"/>"
      let lost = release.isSignalled ? "" : ", not signalled"
      let words =
        switch release.kind {
        case .rest: "at rest\(lost)"
        case .placed: "page in place"
        case .scroll: "scroll command"
        case .live: "let go"
        }
      lines += "<text class=\"\(release.isSignalled ? "str" : "amb")\" x=\"\(free)\" y=\"6\" text-anchor=\"middle\">\(words)</text>"
      lines += time(free, 18, release.at, "middle")
    }
    // The versions.
    var steps = ""
    var taken = -1
    for version in hold.versions.prefix(versionLimit) where version.number != hold.applied?.number {
      let place = x(version.at)
      if place > taken { steps += "M\(place) 64V80" }
      taken = max(taken, place)
    }
    if !steps.isEmpty { lines += "<path class=\"hop\" d=\"\(steps)\"/>" }
    if let first = hold.versions.first {
      lines += "<text class=\"dimt\" x=\"\(x(first.at))\" y=\"94\" text-anchor=\"start\">v\(first.number)</text>"
    }
    let never = hold.replaced.count
    // The hold itself, and its end.
    let from = x(hold.from)
    lines += "<rect class=\"held\" x=\"\(from)\" y=\"104\" width=\"\(max(free - from, 2))\" height=\"12\"/>"
    if free < end {
      lines += "<rect class=\"\(hold.isBroken ? "barb" : "late")\" x=\"\(free)\" y=\"104\" width=\"\(end - free)\" height=\"12\"/>"
    }
    if let applied = hold.applied {
      if let own = hold.versions.first(where: { $0.number == applied.number }) {
        let place = x(own.at)
        lines += "<path class=\"own\" d=\"M\(place) 60V84\"/>"
        if hold.versions.count > 1 {
          lines += "<text class=\"str halo\" x=\"\(place)\" y=\"56\" text-anchor=\"middle\">v\(applied.number)</text>"
        }
        lines += "<path class=\"arrow\" d=\"M\(place) 84L\(end) 103\"/>"
      }
      lines += "<use x=\"\(end)\" y=\"110\" href=\"#g-save\(hold.isBroken ? "b" : "")\"/>"
      lines += "<text class=\"\(hold.isBroken ? "red" : "str")\" x=\"\(end + 10)\" y=\"106\">v\(applied.number) applied</text>"
      lines += "<text class=\"dimt\" x=\"\(end + 10)\" y=\"119\">\(applied.at.description)</text>"
    } else {
      lines += "<use x=\"\(end)\" y=\"110\" href=\"#g-drop\"/><text class=\"amb\" x=\"\(end + 10)\" y=\"114\">never applied</text>"
    }
    lines += time(from, 132, hold.from, "start")
    let wait = hold.wait.map { ", \($0) of it \(hold.sinceWords)" } ?? ""
    lines +=
      "<text class=\"\(hold.isBroken ? "red" : "str")\" x=\"\(from)\" y=\"147\">held for \(hold.duration.description)\(wait)</text>"
    if never > 0 {
      lines +=
        "<text class=\"dimt\" x=\"\(from)\" y=\"162\">\(Prose.count(never, "version")) never applied: \(Columns.cut(hold.replacedWords, to: 80))</text>"
    }
    return """
      <figure><div class="scroll" tabindex="0" role="region" aria-label="Diagram of \(hold.id)"><svg class="fig" viewBox="0 -8 \(width) 176" width="\(width)" height="176" role="img" \
      aria-label="\(hold.id): \(hold.story)">\(lines)</svg></div></figure>
      """
  }

  private static func time(_ x: Int, _ y: Int, _ at: Instant, _ anchor: String) -> Markup {
    "<text class=\"dimt\" x=\"\(x)\" y=\"\(y)\" text-anchor=\"\(anchor)\">\(at.description)</text>"
  }
}
