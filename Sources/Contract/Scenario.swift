import Simulation
import Wire

/// What the link did in the recorded past; in force before the rules of a plan (SCENARIO.md 2 and 8.4).
package struct LinkCondition: Hashable, Sendable {
  package enum What: Hashable, Sendable {
    /// The frame never arrived.
    case lost
    /// It arrived later than the base delay by this much.
    case late(Interval)
    /// The connection that carries it ended here.
    case closed(code: Int, who: String)
  }

  /// Which frames; conditions match by key and attempt, else by method, lane and attempt.
  package var pattern: FramePattern
  /// The n-th match, from 1.
  package var nth: Int
  package var what: What
  /// Why it is believed, in a few words, with the frames it rests on.
  package var reason: String
  package var basis: Basis

  package init(pattern: FramePattern, nth: Int = 1, what: What, reason: String, basis: Basis = .derived) {
    self.pattern = pattern
    self.nth = nth
    self.what = what
    self.reason = reason
    self.basis = basis
  }
}

/// A connection that was down for a while in the recorded past: opens are answered when it ends.
package struct Outage: Hashable, Sendable {
  package var from: Instant
  package var until: Instant
  package var code: Int
  package var who: String

  package init(from: Instant, until: Instant, code: Int = 1006, who: String = "network") {
    self.from = from
    self.until = until
    self.code = code
    self.who = who
  }
}

/// An inference: what was concluded, how, from which frames, how sure.
package struct Note: Hashable, Sendable {
  package var what: String
  package var frames: [Int]
  package var basis: Basis

  package init(_ what: String, frames: [Int] = [], basis: Basis = .derived) {
    self.what = what
    self.frames = frames
    self.basis = basis
  }
}

/// The parts of a scenario that every system has (SCENARIO.md 2).
package struct ScenarioFacts: Hashable, Sendable {
  /// SHA-256 of the recording, or `hand`.
  package var origin: String
  /// Wall clock of t = 0, epoch milliseconds.
  package var wallClockMilliseconds: Int64
  /// First and last instant of the recorded past.
  package var start: Instant
  package var end: Instant
  /// Base link delay of one direction, by endpoint prefix; `""` is the default.
  package var oneWay: [String: Interval]
  package var intents: [Intent]
  package var conditions: [LinkCondition]
  package var outages: [Outage]
  /// Jitter that could be read back from recorded waits, per purpose, as u of the rule (SCENARIO.md 5, `draws`).
  package var draws: [String: [Double]]
  package var notes: [Note]

  package init(
    origin: String = "hand", wallClockMilliseconds: Int64, start: Instant = .zero, end: Instant, oneWay: [String: Interval] = [:],
    intents: [Intent] = [], conditions: [LinkCondition] = [], outages: [Outage] = [], draws: [String: [Double]] = [:], notes: [Note] = []
  ) {
    self.origin = origin
    self.wallClockMilliseconds = wallClockMilliseconds
    self.start = start
    self.end = end
    self.oneWay = oneWay
    self.intents = intents
    self.conditions = conditions
    self.outages = outages
    self.draws = draws
    self.notes = notes
  }

  /// The base delay of a connection: that of the longest prefix of its endpoint.
  package func delay(of endpoint: Endpoint) -> Interval {
    let best = oneWay.keys.filter { endpoint.target.hasPrefix($0) }.max { $0.utf8.count < $1.utf8.count }
    return best.flatMap { oneWay[$0] } ?? .zero
  }
}

/// A stretch as the contract sees it: what the server did for one reason.
package struct StretchSummary: Hashable, Sendable {
  package var id: String
  package var lane: String?
  /// The cause in words: `operation op-1`, `clock 0:12.000`, `after run-1/op-1 ended`.
  package var cause: String
  package var delay: Interval
  package var length: Interval
  package var steps: Int
  package var end: String

  package init(id: String, lane: String?, cause: String, delay: Interval, length: Interval, steps: Int, end: String) {
    self.id = id
    self.lane = lane
    self.cause = cause
    self.delay = delay
    self.length = length
    self.steps = steps
    self.end = end
  }
}

/// What a recording means, as one printable value; the concrete type belongs to the system.
package protocol Scenario: Sendable {
  var facts: ScenarioFacts { get set }
  var stretches: [StretchSummary] { get }
  /// The start state of the client, as the system's core takes it in `CoreSettings.start`.
  var clientStart: JSON { get }
  /// Printed form; reading it back and printing again gives equal bytes.
  var json: JSON { get }
}
