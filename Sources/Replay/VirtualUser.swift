import Contract
import Faults
import Simulation
import Wire

/// How the user of a run behaves.
package enum UserMode: Hashable, Sendable {
  /// What needs a thing on screen that is not there yet waits for it (SCENARIO.md 2).
  case reacting
  /// At the recorded instants or not at all.
  case clock
  /// These intents instead of the scenario's, by a reacting user.
  case script(UserScript)
  /// Nobody: the gestures are made outside of the run.
  case absent

  /// How the mode stands in a run's header.
  package var name: String {
    switch self {
    case .reacting: "reacting"
    case .clock: "clock"
    case .script(let script): script.hash
    case .absent: "absent"
    }
  }
}

/// Gestures with their instants, as a user writes them: `[{"t": 10, "do": "send", "text": "hi"}, {"ms": 12500, "do": …}]`.
/// `t` is in seconds or a text such as `"800ms"`; `id`, `target` (the `id` of another gesture) and `lag` (seconds) may be given.
package struct UserScript: Hashable, Sendable {
  package var intents: [Intent]
  /// SHA-256 of the canonical JSON.
  package var hash: String

  package init(json: JSON) throws(JSONError) {
    guard let list = json.array else { throw JSONError(problem: "a user script is an array") }
    guard list.count <= 1_000_000 else { throw JSONError(problem: "more than 1000000 gestures") }
    var intents: [Intent] = []
    var ids: Set<String> = []
    for (index, item) in list.enumerated() {
      guard var object = item.object else { throw JSONError(path: "[\(index)]", problem: "expected an object") }
      if let repeated = object.repeatedName { throw JSONError(path: "[\(index)].\(repeated)", problem: "stands twice") }
      for name in ["id", "target"] where object[name] != nil && object[name]?.string == nil {
        throw JSONError(path: "[\(index)].\(name)", problem: "expected a string")
      }
      if object["t"] != nil, object["ms"] != nil { throw JSONError(path: "[\(index)].ms", problem: "t gives the instant already") }
      let at: Interval?
      if let t = object["t"] {
        at = UserScript.interval(t, unit: 1_000_000_000)
      } else {
        at = object["ms"].flatMap { UserScript.interval($0, unit: 1_000_000) }
      }
      guard let at, at >= .zero else { throw JSONError(path: "[\(index)].t", problem: "expected an instant: seconds, or ms") }
      var lag = Interval.zero
      if let value = object["lag"] {
        guard let length = UserScript.interval(value, unit: 1_000_000_000), length >= .zero else {
          throw JSONError(path: "[\(index)].lag", problem: "expected a length of time")
        }
        lag = length
      }
      let id = object["id"]?.string ?? "user-\(index + 1)"
      guard ids.insert(id).inserted else { throw JSONError(path: "[\(index)].id", problem: "\"\(id)\" stands twice") }
      let target = object["target"]?.string
      for name in ["t", "ms", "id", "target", "lag"] { object[name] = nil }
      let gesture: Gesture
      do { gesture = try Gesture(json: .object(object)) } catch {
        throw JSONError(path: "[\(index)]" + (error.path.isEmpty ? "" : "." + error.path), problem: error.problem)
      }
      intents.append(Intent(id: id, at: .zero + at, gesture: gesture, target: target, lag: lag))
    }
    for (index, intent) in intents.enumerated() {
      guard let target = intent.target, target == intent.id || !ids.contains(target) else { continue }
      throw JSONError(path: "[\(index)].target", problem: "no other gesture has the id \"\(target)\"")
    }
    self.intents = intents
    hash = SHA256Digest.hex(JSONWriter.canonical(json))
  }

  /// Checks each gesture against what the system has. Throws the place of the first that is unknown, with the nearest name, or whose
  /// fields do not fit.
  package func check(against system: ChatSystem) throws(JSONError) {
    let names = system.gestures.map(\.name)
    if names.isEmpty { return }
    for (index, intent) in intents.enumerated() {
      guard names.contains(intent.gesture.name) else {
        let nearest = Nearest.name(to: intent.gesture.name, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
        throw JSONError(path: "[\(index)].do", problem: "\(system.name) has no gesture \"\(intent.gesture.name)\"" + nearest)
      }
      do { try system.checkGesture(intent.gesture) } catch {
        throw JSONError(path: "[\(index)]" + (error.path.isEmpty ? "" : "." + error.path), problem: error.problem)
      }
    }
  }

  private static func interval(_ value: JSON, unit: Double) -> Interval? {
    if let text = value.string { return TimeText.interval(text) }
    guard let number = value.double, number.magnitude * unit <= 1e15 else { return nil }
    return Interval(nanoseconds: Int64((number * unit).rounded()))
  }
}

/// The user of a run: a value that says what it does, waits for or gives up (SCENARIO.md 2, "The user reacts").
package struct VirtualUser: Sendable {
  /// What the user does at an instant.
  package enum Act: Hashable, Sendable {
    case makes(Intent)
    case waits(Intent)
    case gives(up: Intent, reason: String)
  }

  /// How long after its recorded instant an intent is given up.
  package static let patience = Interval.seconds(120)

  private enum State: Hashable, Sendable {
    /// Not due yet.
    case coming
    /// Due, and its premise does not hold (or an earlier intent about the same target is not over).
    case waiting
    /// The premise began to hold; the user acts at this instant.
    case reacting(at: Instant)
    /// Done or void.
    case over
  }

  package let intents: [Intent]
  private let waitsForPremise: Bool
  private var states: [State]
  private var firstOpen = 0

  package init(intents: [Intent], mode: UserMode) {
    var list = intents
    waitsForPremise = mode != .clock
    if case .script(let script) = mode { list = script.intents }
    if mode == .absent { list = [] }
    // Stable: intents of one instant keep their order.
    self.intents = list.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    states = Array(repeating: .coming, count: self.intents.count)
  }

  /// Whether some intent is neither done nor void.
  package var isPending: Bool { firstOpen < intents.count }
  /// Whether some intent waits for its premise, so that changes of the screen matter.
  package private(set) var isWaiting = false

  /// The next instant at which `act` has something to say by itself.
  package var next: Instant? {
    var next: Instant?
    for index in firstOpen..<intents.count {
      let due: Instant
      switch states[index] {
      case .coming:
        due = intents[index].at
      case .waiting: due = intents[index].at + VirtualUser.patience
      case .reacting(let at): due = at
      case .over: continue
      }
      next = min(next ?? due, due)
      // Later intents are not due before this one's recorded instant.
      if states[index] == .coming { break }
    }
    return next
  }

  /// The next thing that the user does at `now`, or nil. Call it again after the act has been carried out, until nil: each act
  /// may change what the screen lets the user do. `premise` is asked only for intents that are due.
  package mutating func act(at now: Instant, premise: (Gesture) -> Premise) -> Act? {
    defer { settle() }
    for index in firstOpen..<intents.count {
      let intent = intents[index]
      if intent.at > now { break }
      if states[index] == .over { continue }
      let blocked = isBlocked(index)
      let found = blocked ? .waits : premise(intent.gesture)
      switch (states[index], found) {
      case (.coming, .holds):
        states[index] = .over
        return .makes(intent)
      case (.coming, .gone), (.waiting, .gone), (.reacting, .gone):
        states[index] = .over
        return .gives(up: intent, reason: "its target is gone")
      case (.coming, .waits):
        if !waitsForPremise {
          states[index] = .over
          return .gives(up: intent, reason: "the screen did not allow it at its recorded instant")
        }
        states[index] = .waiting
        return .waits(intent)
      case (.waiting, .holds) where intent.lag > .zero:
        states[index] = .reacting(at: now + intent.lag)
      case (.waiting, .holds):
        states[index] = .over
        return .makes(intent)
      case (.reacting(let at), .holds):
        if at <= now {
          states[index] = .over
          return .makes(intent)
        }
      case (.reacting, .waits), (.waiting, .waits):
        states[index] = .waiting
        if now >= intent.at + VirtualUser.patience {
          states[index] = .over
          return .gives(up: intent, reason: "the screen did not allow it within 120 s")
        }
      case (.over, _): break
      }
    }
    return nil
  }

  /// Waiting delays only intents with the same target: those about the intent that waits, and those about its target.
  private func isBlocked(_ index: Int) -> Bool {
    guard let target = intents[index].target else { return false }
    for earlier in firstOpen..<index where states[earlier] != .over {
      if intents[earlier].target == target || intents[earlier].id == target { return true }
    }
    return false
  }

  private mutating func settle() {
    while firstOpen < intents.count, states[firstOpen] == .over { firstOpen += 1 }
    isWaiting = false
    for index in firstOpen..<intents.count {
      switch states[index] {
      case .waiting, .reacting: isWaiting = true
      case .coming: return
      case .over: continue
      }
      if isWaiting { return }
    }
  }
}
