import Contract
import Oracles
import Simulation
import Wire

let followClaims: [Claim] = [
  Claim(
    "HB-INV-45", "Follow",
    "Following its end, the list moves at (rest of the way) / 1.5 s, between 80 and 2,200 pt/s, and at most eight settle passes come after it.",
    per: "a display frame of a follow, or its settle passes", on: .clientOnly
  ) { index in
    var outcome = Evidence.outcome("no list followed its end")
    let motions = ListMotions.of(index)
    outcome.exercised = motions.steps.count + motions.settles
    for step in motions.steps where !step.isRight {
      outcome.breaks(
        index.entries[step.entry], nil,
        "Following, the list of \(step.host) moved \(points(step.moved)) in \(exact(step.time)) up to \(step.at); with \(points(step.remaining)) left it is "
          + "\(points(step.expected)).", [step.previous])
    }
    for settle in motions.faults {
      outcome.breaks(
        index.entries[settle.entry], nil,
        "\(settle.host) had its \(ordinal(settle.passes)) settle pass after a scroll to the end at \(index.entries[settle.entry].at); eight are the most.",
        [])
    }
    return outcome
  }
]

/// How lists moved: following their end, and by themselves.
struct ListMotions: Sendable {
  /// A display frame of a follow scroll.
  struct Step: Sendable {
    var host: String
    var entry: Int
    /// The entry of the frame before, or of the begin.
    var previous: Int
    var at: Instant
    /// Since the frame before, 50 ms at most.
    var time: Interval
    var remaining: Double
    var moved: Double
    var expected: Double
    var isRight: Bool
    /// It made the rest of the way.
    var isLast: Bool

    /// Points per second.
    var speed: Double { moved * 1e9 / Double(max(1, time.nanoseconds)) }
  }

  /// Rows that moved on screen by themselves.
  struct Shift: Sendable {
    var entry: Int
    var at: Instant
    /// The farthest that a row moved.
    var length: Double
  }

  private(set) var steps: [Step] = []
  private(set) var shifts: [Shift] = []
  /// Runs of settle passes that came to the eighth.
  private(set) var settles = 0
  private(set) var faults: [(host: String, entry: Int, passes: Int)] = []
  /// Frames without finger, scroll or cover, in which rows might have moved by themselves.
  private(set) var readingFrames = 0

  static func of(_ index: TraceIndex) -> ListMotions { index.finding(ListMotions.init) }

  private static let slowest = 80.0
  private static let fastest = 2_200.0
  private static let seconds = 1.5
  private static let mostPasses = 8

  private init(_ index: TraceIndex) {
    for mount in ScreenStory.of(index).mounts { walk(mount) }
  }

  private mutating func walk(_ mount: Mount) {
    var state = ScreenEvent.Scroll.rest
    var geometry: Geometry?
    /// The last frame of the follow that is under way.
    var last: (entry: Int, at: Instant)?
    /// The last update of the list: what it did to the geometry is no step.
    var updated: Instant?
    /// The last end of a motion.
    var ended: Instant?
    var passes = 0
    var isCovered = false
    /// A finger, a scroll or a settle pass moved the list since the last frame.
    var isCommanded = false
    for event in mount.events {
      switch event.what {
      case .coverUp: isCovered = true
      case .coverLift: isCovered = false
      case .scroll(let now):
        isCommanded = true
        passes = 0
        switch now {
        case .follow: last = (event.entry, event.at)
        // The frame that arrives is written after it.
        case .rest where state == .follow: break
        case .jump, .rest, .drag, .decelerate, .animate: last = nil
        }
        if now == .rest { ended = event.at }
        if now != .jump { state = now } else if !state.isMoving { state = .rest }
      case .applied: updated = event.at
      case .pass(let use, let verdict):
        guard use == "follow" else { continue }
        passes += 1
        if passes == ListMotions.mostPasses { settles += 1 }
        if passes == ListMotions.mostPasses + 1 { faults.append((mount.host, event.entry, passes)) }
        if verdict != "still" { isCommanded = true }
      case .frame(let now):
        defer {
          geometry = now
          isCommanded = false
        }
        guard let before = geometry else { continue }
        if state == .follow || ended == event.at, let previous = last {
          if (now.offset - before.offset).magnitude < 0.0005 { continue }
          let step = ListMotions.step(mount.host, event, previous, before, now, isUpdate: updated == event.at)
          // An update of this instant may have cut the range: what fits no step is its doing.
          if updated == event.at, !step.isRight { continue }
          steps.append(step)
          last = state == .follow ? (event.entry, event.at) : nil
        } else if state == .rest, !isCovered, !isCommanded {
          readingFrames += 1
          let length = ListMotions.shift(before, now)
          if length > 0.0005 { shifts.append(Shift(entry: event.entry, at: event.at, length: length)) }
        }
      default: break
      }
    }
  }

  private static func step(
    _ host: String, _ event: ScreenEvent, _ previous: (entry: Int, at: Instant), _ before: Geometry, _ now: Geometry, isUpdate: Bool
  ) -> Step {
    let time = min(event.at - previous.at, DisplayLink.longestStep)
    let remaining = before.distanceToBottom
    let speed = min(fastest, max(slowest, remaining / seconds))
    let expected = min(remaining, speed * Double(time.nanoseconds) / 1e9)
    let moved = now.offset - before.offset
    let isLast = now.distanceToBottom <= ScreenRule.tolerance
    // Rows that come on screen take their measured heights in the same frame, so that the end may come nearer.
    // It may even move the list back, where they are lower than the estimate; an update that does so is no frame of the follow.
    let comesNearer = moved >= 0 || !isUpdate && now.contentHeight < before.contentHeight
    let isShort = isLast && comesNearer && moved <= expected + ScreenRule.tolerance
    let isRight = (moved - expected).magnitude <= ScreenRule.tolerance + 1e-9 || isShort
    return Step(
      host: host, entry: event.entry, previous: previous.entry, at: event.at, time: time, remaining: remaining, moved: moved,
      expected: expected, isRight: isRight, isLast: isLast)
  }

  /// The farthest that a row moved on screen between two frames that both show it.
  private static func shift(_ before: Geometry, _ now: Geometry) -> Double {
    let places = Dictionary(before.visible.map { ($0.id, $0.top - before.offset) }, uniquingKeysWith: { first, _ in first })
    return now.visible.reduce(0) { most, row in
      max(most, places[row.id].map { (row.top - now.offset - $0).magnitude } ?? 0)
    }
  }
}
