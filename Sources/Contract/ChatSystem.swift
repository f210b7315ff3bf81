import Simulation
import Wire

/// Classes of events that fall due at one instant. A system names their order in `ChatSystem.tieOrder`.
package enum EventClass: String, Sendable, Hashable, CaseIterable {
  /// A frame arrives, at either end.
  case frame
  /// The twin does something by itself (a step of a stretch).
  case tape
  /// A timer of the core.
  case timer
  case user
  case displayFrame
}

/// How two instants of one frame are compared in an audit (SCENARIO.md 5).
package enum TimingRule: Hashable, Sendable {
  /// Within this much of its recorded partner.
  case within(Interval)
  /// Rule-timed (periodic loads, checks, retries, renewals, reconnects): anywhere within this band of its recorded partner, and the
  /// count may differ by one over the recording.
  case band(Interval)
  /// Only counted (health checks, pings, heartbeats).
  case countedOnly
}

/// A frame in normal form: what an audit compares.
package struct NormalFrame: Hashable, Sendable {
  /// Stream of comparison: connection ordinal and direction; order is compared within one stream only.
  package var stream: String
  /// Short name for a person: `response run.chatOutboxSubmit`.
  package var name: String
  /// Decoded, request ids by ordinal, keys sorted, stamps to the millisecond, ids by the book.
  package var content: JSON
  package var timing: TimingRule
  package var at: Instant
  /// The recorded frame's sequence, or 0.
  package var sequence: Int
  /// The string in `content` that only counts (the ordinal of a request), if there is one: no part of what the frame says.
  package var ordinal: String?
  /// It answers a rule-timed request, so it says how things stood at an instant that is nobody's choice: compared in audit 1 only.
  package var isSample: Bool

  package init(
    stream: String, name: String, content: JSON, timing: TimingRule, at: Instant, sequence: Int, ordinal: String? = nil,
    isSample: Bool = false
  ) {
    self.stream = stream
    self.name = name
    self.content = content
    self.timing = timing
    self.at = at
    self.sequence = sequence
    self.ordinal = ordinal
    self.isSample = isSample
  }
}

extension NormalFrame {
  /// Stands in `content` for a string that redaction took away: equal to every string (SCENARIO.md 5).
  package static let anyString: JSON = ["any": "string"]

  /// Greater integers are taken for stamps: epoch milliseconds since September 2001.
  private static let epochMilliseconds: Int64 = 1_000_000_000_000

  /// Key path of the first difference between two contents, with both values (nil: absent); nil when they are equal. Stamps may
  /// lie `stamps` milliseconds apart: one where the two are of one instant.
  package static func firstDifference(
    _ a: JSON, _ b: JSON, at path: String = "", stamps: Int64 = 1
  ) -> (path: String, left: JSON?, right: JSON?)? {
    func isText(_ value: JSON) -> Bool { value.string != nil || value == anyString }
    if a == anyString || b == anyString, isText(a), isText(b) { return nil }
    switch (a, b) {
    case (.object(let left), .object(let right)):
      let others = right.members.map(\.name).filter { left[$0] == nil }
      for name in left.members.map(\.name) + others {
        let place = path.isEmpty ? name : "\(path).\(name)"
        guard let x = left[name], let y = right[name] else { return (place, left[name], right[name]) }
        if let found = firstDifference(x, y, at: place, stamps: stamps) { return found }
      }
      return nil
    case (.array(let left), .array(let right)):
      for index in 0..<max(left.count, right.count) {
        let place = "\(path)[\(index)]"
        // Not `nil`, which is a JSON literal too.
        guard index < left.count, index < right.count else {
          return (place, left.indices.contains(index) ? left[index] : .none, right.indices.contains(index) ? right[index] : .none)
        }
        if let found = firstDifference(left[index], right[index], at: place, stamps: stamps) { return found }
      }
      return nil
    default:
      // Two stamps of one instant (epoch milliseconds) differ by one where it is cut at another place of the second.
      if case .integer(let x) = a, case .integer(let y) = b, x > epochMilliseconds, y > epochMilliseconds,
        (x - y).magnitude <= stamps.magnitude
      {
        return nil
      }
      return a.isEquivalent(to: b) ? nil : (path, a, b)
    }
  }
}

/// A session that the system shows for `demo`: a hand-written scenario that `serve` plays and `drive` lives.
package struct Demonstration: Sendable {
  package var title: String
  /// The scenario in its printed form.
  package var scenario: String
  /// Plans that the demo replays, besides no faults.
  package var plans: [String]

  package init(title: String, scenario: String, plans: [String]) {
    self.title = title
    self.scenario = scenario
    self.plans = plans
  }
}

/// One row of the catalog: a value, not a protocol with associated types. Typed messages stay inside a system.
package struct ChatSystem: Sendable {
  package var name: String
  package var title: String
  /// Raised by hand when behaviour changes; part of the token of a run.
  package var behaviourVersion: Int
  /// First class first.
  package var tieOrder: [EventClass]
  /// Labels that a rule may name, with their role: an unknown one is refused with the nearest.
  package var labels: [(role: FrameLabel.Role, name: String)]
  /// Client states for `while=`, each with a sentence.
  package var states: [(name: String, meaning: String)]
  /// Fields of labels that a rule may compare, beside `operation` and `key`; empty: any.
  package var fields: [String]
  /// Requests that ask the server to take a user's operation (their first receipts and submits are what the built-in plans lose).
  package var mutations: [String]
  /// Requests whose answers are snapshots of a conversation (`late-snapshots`).
  package var snapshots: [String]
  /// Events that change what is on screen while a run goes on (`drag-held-updates`).
  package var updates: [String]
  /// What the user can do: the names of gestures with their fields (`?` behind those that may be left out) and a sentence each. Empty: any.
  package var gestures: [(name: String, fields: [String], meaning: String)]
  /// Checks the fields of a gesture whose name is listed; throws with the key path of what does not fit.
  package var checkGesture: @Sendable (Gesture) throws(JSONError) -> Void
  package var makeLabeler: @Sendable () -> any FrameLabeler
  /// Compiles frames to a scenario. `wallClockMilliseconds` is that of t = 0; `origin` the hash of the recording.
  package var compile: @Sendable (_ frames: [Frame], _ wallClockMilliseconds: Int64, _ origin: String) throws -> any Scenario
  /// Reads the printed form of a scenario.
  package var readScenario: @Sendable (JSON) throws -> any Scenario
  package var makeCore: @Sendable (CoreSettings, Store) -> any ClientCore
  package var makeTwin: @Sendable (any Scenario, SeededRandom) -> any Twin
  /// Frames of one side in normal form, for the audits.
  ///
  /// The frames are one side's whole conversation (the recorded one, or the replayed one) in order, both directions, with `open` and `close`
  /// frames; every result carries its frame's sequence. Frames that are not compared are left out.
  package var normalForm: @Sendable (_ frames: [Frame]) -> [NormalFrame]
  /// For audit 2: a recorded answer as the core's own request must get it (its request id instead of the recorded one), given the
  /// requests of that connection so far, recorded and asked; nil when the core did not ask. Without it answers go in as recorded.
  package var readdress: (@Sendable (_ answer: Frame, _ recorded: [Frame], _ asked: [Frame]) -> Frame?)?
  package var claims: [Claim]
  /// How long after the last fault everything must have come to rest (liveness bounds), given the gestures of the user and what the
  /// client had at the start (`Scenario.clientStart`).
  package var quietPhase: @Sendable (_ intents: [Intent], _ clientStart: JSON) -> Interval
  package var figures: @Sendable (Trace) -> [Figure]
  package var demonstration: Demonstration?

  package init(
    name: String, title: String, behaviourVersion: Int, tieOrder: [EventClass], labels: [(role: FrameLabel.Role, name: String)],
    states: [(name: String, meaning: String)], mutations: [String], snapshots: [String],
    makeLabeler: @escaping @Sendable () -> any FrameLabeler,
    compile: @escaping @Sendable (_ frames: [Frame], _ wallClockMilliseconds: Int64, _ origin: String) throws -> any Scenario,
    readScenario: @escaping @Sendable (JSON) throws -> any Scenario,
    makeCore: @escaping @Sendable (CoreSettings, Store) -> any ClientCore,
    makeTwin: @escaping @Sendable (any Scenario, SeededRandom) -> any Twin,
    normalForm: @escaping @Sendable (_ frames: [Frame]) -> [NormalFrame], claims: [Claim],
    quietPhase: @escaping @Sendable (_ intents: [Intent], _ clientStart: JSON) -> Interval,
    fields: [String] = [], figures: @escaping @Sendable (Trace) -> [Figure] = { _ in [] }, demonstration: Demonstration? = nil,
    readdress: (@Sendable (_ answer: Frame, _ recorded: [Frame], _ asked: [Frame]) -> Frame?)? = nil, updates: [String] = [],
    gestures: [(name: String, fields: [String], meaning: String)] = [],
    checkGesture: @escaping @Sendable (Gesture) throws(JSONError) -> Void = { _ throws(JSONError) in }
  ) {
    self.updates = updates
    self.gestures = gestures
    self.checkGesture = checkGesture
    self.readdress = readdress
    self.name = name
    self.title = title
    self.behaviourVersion = behaviourVersion
    self.tieOrder = tieOrder
    self.labels = labels
    self.states = states
    self.fields = fields
    self.mutations = mutations
    self.snapshots = snapshots
    self.makeLabeler = makeLabeler
    self.compile = compile
    self.readScenario = readScenario
    self.makeCore = makeCore
    self.makeTwin = makeTwin
    self.normalForm = normalForm
    self.claims = claims
    self.quietPhase = quietPhase
    self.figures = figures
    self.demonstration = demonstration
  }
}
