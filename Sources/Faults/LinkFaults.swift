import Contract
import Simulation
import Wire

/// Decides which rules of a plan fire, for a world on virtual time and for real sockets alike. A value: equal histories of calls
/// give equal decisions.
///
/// Every rule sees every frame as it was sent, before any rule acts on it. A draw with a probability depends on the seed, the
/// rule, the connection and direction, and how many matches that connection had before, so that a rule on one connection moves no other draw.
package struct LinkFaults: Sendable {
  /// A rule that fires on a frame.
  package struct Hit: Hashable, Sendable {
    /// Index of the rule in the plan.
    package var rule: Int
    package var action: FaultAction
    /// A draw that belongs to this match alone, for actions that need one (`corrupt`).
    package var draw: UInt64
  }

  private struct Tally: Sendable {
    var report: RuleReport
    var random: SeededRandom
    /// Matches of the whole selector but its occurrence.
    var matches = 0
    var keys: Set<String> = []
    var matchesByLane: [String: Int] = [:]

    mutating func fire(at now: Instant) {
      report.fired += 1
      if report.first == nil { report.first = now }
      report.last = now
    }
  }

  package let plan: FaultPlan
  private var tallies: [Tally] = []
  /// Rules whose moment has come and that act on the next drag of the user, in that order.
  private var armed: [Int] = []

  package init(plan: FaultPlan, seed: UInt64) {
    self.plan = plan
    let random = SeededRandom(seed: seed).fork("faults")
    var seen: [String: Int] = [:]
    for rule in plan.rules {
      let text = rule.text
      let ordinal = seen[text, default: 0]
      seen[text] = ordinal + 1
      tallies.append(Tally(report: RuleReport(number: tallies.count + 1, rule: text), random: random.fork(text, String(ordinal))))
    }
  }

  /// One report per rule, in the order of the plan.
  package var reports: [RuleReport] { tallies.map(\.report) }

  /// The rules that fire on this frame, in the order of the plan. Call it exactly once for each frame that is sent, in order of sending.
  /// `isPossible` says whether there is something for an action to act on; where there is not, the frame is no match.
  package mutating func decide(
    _ label: FrameLabel, _ frame: Frame, endpoint: Endpoint? = nil, now: Instant, state: (String) -> Bool,
    isPossible: (FaultAction) -> Bool = { _ in true }
  ) -> [Hit] {
    var hits: [Hit] = []
    for (index, rule) in plan.rules.enumerated() {
      guard case .frames(let pattern, let occurrence) = rule.trigger, pattern.matches(label),
        rule.connections.matches(frame.connection, endpoint)
      else { continue }
      tallies[index].report.candidates += 1
      // One finger at a time.
      let isFree = rule.action.drag == nil || !hits.contains { $0.action.drag != nil }
      guard holds(rule, now, state), isFree, isPossible(rule.action) else { continue }
      var key = ""
      if occurrence == .firstPerKey {
        guard let identity = label.key ?? label.operation else { continue }
        key = "\(label.role.rawValue) \(label.name) \(identity)"
      }
      tallies[index].matches += 1
      let lane = "\(frame.connection.number) \(frame.direction.rawValue)"
      let k = tallies[index].matchesByLane[lane, default: 0]
      tallies[index].matchesByLane[lane] = k + 1
      if !fires(index, occurrence, key: key, lane: lane, k) { continue }
      if case .holdDrag = rule.action {
        arm(index)
        continue
      }
      if rule.action.isHeavy, tallies[index].report.fired >= LinkFaults.mostHeavyFirings {
        tallies[index].report.remark = "stopped after \(LinkFaults.mostHeavyFirings) times: more is no fault but no machine"
        continue
      }
      tallies[index].fire(at: now)
      hits.append(Hit(rule: index, action: rule.action, draw: tallies[index].random.fork("draw", lane).bits(at: k)))
    }
    return hits
  }

  /// The rules that fire at an instant, in order of instant, then of the plan.
  package var scheduled: [(rule: Int, at: Instant)] {
    var list: [(rule: Int, at: Instant)] = []
    for (index, rule) in plan.rules.enumerated() {
      if case .at(let instant) = rule.trigger { list.append((index, instant)) }
    }
    return list.sorted { ($0.at, $0.rule) < ($1.at, $1.rule) }
  }

  /// The rules that fire when a trace entry has been written, in order of entry, then of the plan.
  package var atEntries: [(rule: Int, entry: Int)] {
    var list: [(rule: Int, entry: Int)] = []
    for (index, rule) in plan.rules.enumerated() {
      if case .entry(let entry) = rule.trigger { list.append((index, entry)) }
    }
    return list.sorted { ($0.entry, $0.rule) < ($1.entry, $1.rule) }
  }

  /// A rule that breaks connections or processes at every frame would keep a run from ever coming to rest.
  package static let mostHeavyFirings = 200

  /// The action of a scheduled rule whose moment has come, or nil when its bounds forbid it now.
  package mutating func due(rule index: Int, now: Instant, state: (String) -> Bool) -> FaultAction? {
    guard plan.rules.indices.contains(index) else { return nil }
    tallies[index].report.candidates += 1
    guard holds(plan.rules[index], now, state) else { return nil }
    if case .holdDrag = plan.rules[index].action {
      arm(index)
      return nil
    }
    if plan.rules[index].action.isHeavy, tallies[index].report.fired >= LinkFaults.mostHeavyFirings { return nil }
    tallies[index].fire(at: now)
    return plan.rules[index].action
  }

  /// The rules that fire on a drag of the user: those whose moment has come since the last one, then those on drags, in the order of the
  /// plan. Call it exactly once for each drag.
  package mutating func drag(now: Instant, state: (String) -> Bool) -> [Hit] {
    var fired = armed
    armed = []
    for (index, rule) in plan.rules.enumerated() {
      guard case .drags(let occurrence) = rule.trigger else { continue }
      tallies[index].report.candidates += 1
      guard holds(rule, now, state) else { continue }
      let k = tallies[index].matches
      tallies[index].matches += 1
      if fires(index, occurrence, key: "", lane: "drag", k) { fired.append(index) }
    }
    return fired.map { index in
      tallies[index].fire(at: now)
      return Hit(rule: index, action: plan.rules[index].action, draw: 0)
    }
  }

  /// Whether the match that has just been counted fires the rule; `k` is its place among those of its lane, from 0.
  private mutating func fires(_ index: Int, _ occurrence: FaultRule.Occurrence, key: String, lane: String, _ k: Int) -> Bool {
    switch occurrence {
    case .all: true
    case .nth(let n): tallies[index].matches == n
    case .every(let n): tallies[index].matches % n == 0
    case .firstPerKey: tallies[index].keys.insert(key).inserted
    case .probability(let p): tallies[index].random.fork("match", lane).unit(at: k) < p
    }
  }

  /// Whether the moment of a rule has come and it still waits for a drag of the user.
  package func waitsForDrag(rule index: Int) -> Bool { armed.contains(index) }

  private mutating func arm(_ rule: Int) {
    if !armed.contains(rule) { armed.append(rule) }
  }

  private func holds(_ rule: FaultRule, _ now: Instant, _ state: (String) -> Bool) -> Bool {
    if let after = rule.after, now < after { return false }
    if let before = rule.before, now >= before { return false }
    return rule.state.map(state) ?? true
  }
}

extension FaultAction {
  /// Whether it takes down a connection, a process or an epoch, so that the client begins much anew.
  fileprivate var isHeavy: Bool {
    switch self {
    case .disconnect, .halfOpen, .restartApp, .restartServer, .suspend, .background, .epochJump: true
    default: false
    }
  }

  /// The bytes that arrive instead of `payload` under `corrupt`, `truncate` and `replace`; nil for other actions.
  package func changed(_ payload: [UInt8], draw: UInt64) -> [UInt8]? {
    switch self {
    case .corrupt:
      guard !payload.isEmpty else { return payload }
      var bytes = payload
      // Bits 0…6 only: ASCII stays ASCII, so that a text message stays a text message and the dialect has to find the damage.
      bytes[Int((draw >> 3) % UInt64(bytes.count))] ^= 1 << UInt8(draw % 7)
      return bytes
    case .truncate(let to): return Array(payload.prefix(to ?? payload.count / 2))
    case .replace(let text): return Array(text.utf8)
    default: return nil
    }
  }

  /// The word of the action in traces: `drop`, `half-open`, `restart`, …
  package var word: String {
    switch self {
    case .drop: "drop"
    case .delay: "delay"
    case .duplicate: "duplicate"
    case .reorder: "reorder"
    case .hold, .holdUntil: "hold"
    case .corrupt: "corrupt"
    case .truncate: "truncate"
    case .replace: "replace"
    case .disconnect: "disconnect"
    case .halfOpen: "half-open"
    case .refuse: "refuse"
    case .slow: "slow"
    case .restartServer, .restartApp: "restart"
    case .epochJump: "epoch-jump"
    case .forgetAnswers: "forget"
    case .background: "background"
    case .suspend: "suspend"
    case .memoryPressure: "memory-pressure"
    case .drag: "drag"
    case .holdDrag: "hold-drag"
    case .loseStop: "lose-stop"
    case .skipFrames: "skip-frames"
    case .slowPreparation: "slow-markdown"
    case .slowApplying: "slow-apply"
    case .stepClock: "step"
    }
  }
}
