import Contract
import Simulation
import Wire

/// Whether a scenario reproduces its recording.
package struct AuditReport: Hashable, Sendable {
  package enum Fidelity: String, Hashable, Sendable {
    case faithful
    /// No difference, but some inferences are assumed or synthetic.
    case faithfulWithAssumptions = "faithful with assumptions"
    case diverges
  }

  /// Differences of the audits, those of 1 first, then 2, then 3, each in order of instant.
  package var differences: [Divergence]
  /// Notes of the scenario that are assumed or synthetic.
  package var assumptions: Int
  /// Frames compared in audit 1 (of the server), in audit 2 (of the client) and in audit 3 (of both).
  package var serverFrames: Int
  package var clientFrames: Int
  package var bothFrames: Int
  /// What the frames say that differ in audit 1: a replay in which they are said rests on something that is not as recorded.
  package var doubtful: DoubtfulWords

  package init(
    differences: [Divergence], assumptions: Int, serverFrames: Int = 0, clientFrames: Int = 0, bothFrames: Int = 0,
    doubtful: DoubtfulWords = DoubtfulWords()
  ) {
    self.differences = differences
    self.assumptions = assumptions
    self.serverFrames = serverFrames
    self.clientFrames = clientFrames
    self.bothFrames = bothFrames
    self.doubtful = doubtful
  }

  package var fidelity: Fidelity {
    if !differences.isEmpty { return .diverges }
    return assumptions > 0 ? .faithfulWithAssumptions : .faithful
  }

  /// `faithful`, `faithful with 3 assumptions`, `diverges in 2 places`.
  package var sentence: String {
    switch fidelity {
    case .faithful: "faithful"
    case .faithfulWithAssumptions: "faithful with \(assumptions) assumption\(assumptions == 1 ? "" : "s")"
    case .diverges: "diverges in \(differences.count) place\(differences.count == 1 ? "" : "s")"
    }
  }
}

/// What one audit found.
package struct AuditPart: Sendable {
  var found: [FrameDifference]
  /// Recorded frames that were compared.
  package var compared: Int

  package var differences: [Divergence] { found.map(\.divergence) }
}

/// Audits 1 to 3 of SCENARIO.md 5: is the scenario true?
package enum Audit {
  /// Instants of audit 1 agree within this (SCENARIO.md 5, "Equal means").
  package static let twinTolerance = Interval.milliseconds(1)
  /// Instants of audit 3 agree within this, and stamps with them.
  package static let bothTolerance = Interval.milliseconds(5)
  /// The same where the instant of an intent was concluded, from the stamp of what it made, and is no frame's.
  package static let concludedTolerance = Interval.milliseconds(250)

  /// Runs the three audits. `frames` are those of the recording that `scenario` was compiled from, in order. A scenario or recording with
  /// instants that no clock can carry diverges by that alone.
  package static func run(_ system: ChatSystem, _ scenario: any Scenario, _ frames: [Frame]) -> AuditReport {
    do throws(RunError) {
      try World.check(scenario.facts, scenario.facts.intents)
      if let frame = frames.first(where: { !Clock.holds($0.at) }) {
        throw RunError.outOfRange(what: "instant of frame \(frame.sequence)", frame.at)
      }
    } catch {
      let difference = Divergence(kind: .differs, audit: 1, at: .zero, name: "scenario", restsOn: error.description)
      return AuditReport(differences: [difference], assumptions: 0)
    }
    let first = twin(system, scenario, frames)
    let second = core(system, scenario, frames)
    let third = both(system, scenario, frames)
    let assumptions = scenario.facts.notes.filter { $0.basis == .assumed || $0.basis == .synthetic }.count
    return AuditReport(
      differences: told(first.differences + second.differences + third.differences, system, frames), assumptions: assumptions,
      serverFrames: first.compared, clientFrames: second.compared, bothFrames: third.compared, doubtful: DoubtfulWords(first.found))
  }

  /// The differences, each with the operation that it is about.
  private static func told(_ differences: [Divergence], _ system: ChatSystem, _ frames: [Frame]) -> [Divergence] {
    if differences.isEmpty { return [] }
    let labels = FrameLabels(system, frames)
    return differences.map { difference in
      var difference = difference
      if difference.restsOn == nil, let operation = difference.frame.flatMap({ labels[$0]?.operation }) {
        difference.restsOn = "operation \(operation)"
      }
      return difference
    }
  }

  /// The recorded messages of one direction in normal form, and those that were made in their place. The new ones get numbers behind
  /// the recorded ones, so that each result can be told.
  private static func normalForms(
    _ system: ChatSystem, _ frames: [Frame], replacing direction: Direction, by made: [Frame]
  ) -> (recorded: [NormalFrame], replayed: [NormalFrame]) {
    func isReplaced(_ frame: Frame) -> Bool { frame.isMessage && frame.direction == direction }
    let firstNew = (frames.map(\.sequence).max() ?? 0) &+ 1
    var other = frames.filter { !isReplaced($0) }
    for (index, frame) in made.enumerated() {
      var numbered = frame
      numbered.sequence = firstNew &+ index
      other.append(numbered)
    }
    let known = Set(frames.filter(isReplaced).map(\.sequence))
    return (
      system.normalForm(frames).filter { known.contains($0.sequence) },
      system.normalForm(inOrder(other)).filter { $0.sequence >= firstNew }
    )
  }

  /// The connections of a recording. One that was open when it began goes where the client would open it.
  private static func connections(_ system: ChatSystem, _ scenario: any Scenario, _ frames: [Frame]) -> [RecordedConnection] {
    var connections = RecordedConnection.list(frames)
    let open = connections.indices.filter { connections[$0].opened == nil }
    if open.isEmpty { return connections }
    let settings = CoreSettings(
      start: scenario.clientStart, wallClockMilliseconds: scenario.facts.wallClockMilliseconds, draws: .fixed(0))
    var core = system.makeCore(settings, Store())
    var endpoints: [Endpoint] = []
    for case .open(_, let endpoint) in core.handle(.lifecycle(.launched), at: scenario.facts.start) { endpoints.append(endpoint) }
    for (index, endpoint) in zip(open, endpoints) { connections[index].endpoint = endpoint }
    return connections
  }

  // MARK: - Audit 1

  /// Audit 1: the recorded client frames are given to the twin at their instants, with the recorded conditions; compared are the server's frames.
  package static func twin(
    _ system: ChatSystem, _ scenario: any Scenario, _ frames: [Frame]
  ) -> AuditPart {
    let facts = scenario.facts
    let connections = connections(system, scenario, frames)
    var delays: [ConnectionID: Interval] = [:]
    var closes: [ConnectionID: Instant] = [:]
    var inputs: [(arrives: Instant, order: Int, input: TwinInput)] = []
    for connection in connections {
      let delay = facts.delay(of: connection.endpoint)
      delays[connection.number] = delay
      let opened = connection.opened ?? facts.start
      inputs.append((opened, -1, .connected(connection.number, connection.endpoint)))
      if let closed = connection.closed {
        closes[connection.number] = closed
        inputs.append((closed + delay, Int.max, .disconnected(connection.number)))
      }
    }

    var labeler = system.makeLabeler()
    var conditions = RecordedConditions(facts.conditions)
    var said: [Frame] = []
    var lastArrival: [ConnectionID: Instant] = [:]
    for frame in frames where frame.isMessage {
      let acting = conditions.decide(labeler.label(frame), now: frame.at)
      guard frame.direction == .out else { continue }
      said.append(frame)
      if acting.contains(where: { $0.what == .lost }) { continue }
      let onTime = max(frame.at + (delays[frame.connection] ?? .zero), lastArrival[frame.connection] ?? facts.start)
      let late = lateness(acting)
      if late == .zero { lastArrival[frame.connection] = onTime }
      var arriving = frame
      arriving.at = onTime + late
      inputs.append((onTime + late, frame.sequence, .received(arriving, refusal: nil)))
    }
    inputs.sort { ($0.arrives, $0.order) < ($1.arrives, $1.order) }

    var twin = system.makeTwin(scenario, SeededRandom(seed: 0).fork("twin"))
    let sent = TwinPlayback.run(&twin, inputs: inputs.map { ($0.arrives, $0.input) }, until: facts.end)
    let answers = received(sent, among: said, system, facts, delays, closes)

    let (recorded, replayed) = normalForms(system, frames, replacing: .in, by: answers)
    let comparison = FrameComparison(audit: 1, tolerance: twinTolerance, end: facts.end)
    return AuditPart(found: comparison.differences(recorded: recorded, replayed: replayed), compared: recorded.count)
  }

  /// What the client would have got of the twin's frames, at the instants of arrival.
  private static func received(
    _ sent: [TwinPlayback.Sent], among said: [Frame], _ system: ChatSystem, _ facts: ScenarioFacts, _ delays: [ConnectionID: Interval],
    _ closes: [ConnectionID: Instant]
  ) -> [Frame] {
    var labeler = system.makeLabeler()
    var conditions = RecordedConditions(facts.conditions)
    var lastArrival: [ConnectionID: Instant] = [:]
    var got: [Frame] = []
    var next = 0
    for item in sent {
      while next < said.count, said[next].at <= item.leaves {
        _ = conditions.decide(labeler.label(said[next]), now: said[next].at)
        next += 1
      }
      var frame = item.frame
      frame.direction = .in
      let acting = conditions.decide(labeler.label(frame), now: item.leaves)
      if acting.contains(where: { $0.what == .lost }) { continue }
      let onTime = max(item.leaves + (delays[frame.connection] ?? .zero), lastArrival[frame.connection] ?? facts.start)
      let late = lateness(acting)
      if late == .zero { lastArrival[frame.connection] = onTime }
      frame.at = onTime + late
      if let closed = closes[frame.connection], frame.at > closed { continue }
      if frame.at > facts.end + twinTolerance { continue }
      got.append(frame)
    }
    return got
  }

  private static func lateness(_ acting: [LinkCondition]) -> Interval {
    var sum = Interval.zero
    for condition in acting { if case .late(let by) = condition.what { sum = sum + by } }
    return sum
  }

  private static func inOrder(_ frames: [Frame]) -> [Frame] {
    frames.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
  }

  // MARK: - Audit 2

  /// Audit 2: the recorded server frames and the intents are given to the core at their instants, premises ignored; compared are the
  /// client's frames.
  package static func core(
    _ system: ChatSystem, _ scenario: any Scenario, _ frames: [Frame]
  ) -> AuditPart {
    var playback = CorePlayback(system: system, scenario: scenario, frames: frames)
    let sent = withoutStartUp(playback.run(), system, scenario, frames)
    let (recorded, replayed) = normalForms(system, frames, replacing: .out, by: sent)
    let comparison = FrameComparison(audit: 2, end: scenario.facts.end)
    return AuditPart(found: comparison.differences(recorded: recorded, replayed: replayed), compared: recorded.count)
  }

  // MARK: - Audit 3

  /// Audit 3: twin and core together, with the intents, the recorded conditions and the recorded draws, and no plan; compared are the
  /// frames of both directions at the client's end. Answers to rule-timed requests sample another instant and are left out, as is what
  /// a client says to start up when the recording begins in the middle.
  package static func both(
    _ system: ChatSystem, _ scenario: any Scenario, _ frames: [Frame]
  ) -> AuditPart {
    let facts = scenario.facts
    let draws = Draws.recorded(facts.draws, then: SeededRandom(seed: 0).fork("core"))
    let trace: Trace
    do throws(RunError) {
      var world = try World(system: system, scenario: scenario, settings: WorldSettings(seed: 0, draws: draws))
      try world.run(until: facts.end + concludedTolerance)
      trace = world.result.trace
    } catch {
      let difference = Divergence(kind: .differs, audit: 3, at: facts.start, name: "run", restsOn: error.description)
      return AuditPart(found: [FrameDifference(divergence: difference)], compared: 0)
    }
    // A recording that begins in the middle does not show how the client started up, nor what it was told because of that.
    let startUp = startUpEntries(trace, system, scenario, frames)
    let cut = connections(system, scenario, frames).first { $0.opened == nil }
    let isStartedUp = cut.map { facts.start + facts.delay(of: $0.endpoint) * 2 + bothTolerance } ?? facts.start
    var said = ClientSide.frames(of: trace, without: startUp)
    if cut != nil { said.removeAll { $0.kind == .open && $0.at == facts.start } }
    let concluded = ConcludedIntents(facts.intents, frames)
    func compared(_ side: [Frame]) -> [NormalFrame] {
      let labels = FrameLabels(system, side)
      return system.normalForm(side).compactMap { frame in
        if frame.isSample { return nil }
        var frame = frame
        let label = labels[frame.sequence]
        // An answer and an event may pass each other.
        frame.stream += " " + (label?.role ?? .other).rawValue
        if case .within(let own) = frame.timing { frame.timing = .within(max(own, concluded.tolerance(label, at: frame.at))) }
        return frame
      }
    }
    let recorded = compared(frames)
    let most = concluded.isEmpty ? bothTolerance : concludedTolerance
    // One more: two stamps of one instant are cut at another place of the millisecond.
    let comparison = FrameComparison(audit: 3, stamps: most.nanoseconds / 1_000_000 + 1, end: facts.end - most)
    let found = comparison.differences(recorded: recorded, replayed: compared(said)).filter { difference in
      !(difference.divergence.kind == .new && isStartedUp > facts.start && difference.divergence.at <= isStartedUp)
    }
    return AuditPart(found: found, compared: recorded.count)
  }

  /// What a client sends when it is launched, for a recording that begins in the middle: it was said before. What the recording has at its
  /// first instant is not that.
  private static func withoutStartUp(_ sent: [Frame], _ system: ChatSystem, _ scenario: any Scenario, _ frames: [Frame]) -> [Frame] {
    let start = scenario.facts.start
    guard RecordedConnection.list(frames).contains(where: { $0.opened == nil }) else { return sent }
    var labeler = system.makeLabeler()
    var recorded: [String: Int] = [:]
    for frame in frames where frame.isMessage && frame.direction == .out && frame.at == start {
      recorded[labeler.label(frame).name, default: 0] += 1
    }
    labeler = system.makeLabeler()
    return sent.filter { frame in
      let name = labeler.label(frame).name
      guard frame.at == start else { return true }
      recorded[name, default: 0] -= 1
      return recorded[name, default: 0] >= 0
    }
  }

  /// The entries of those requests, and of their answers.
  private static func startUpEntries(_ trace: Trace, _ system: ChatSystem, _ scenario: any Scenario, _ frames: [Frame]) -> Set<Int> {
    let index = TraceIndex(trace)
    let asked = index.exchanges.filter { index.frames[$0.request].direction == .out && index.frames[$0.request].at == scenario.facts.start }
    let requests = asked.map { trace.entries[index.frames[$0.request].entry].sentFrame }
    let kept = Set(withoutStartUp(requests, system, scenario, frames).map(\.sequence))
    var entries: Set<Int> = []
    for exchange in asked where !kept.contains(index.frames[exchange.request].entry) {
      entries.insert(index.frames[exchange.request].entry)
      for response in exchange.responses { entries.insert(index.frames[response].entry) }
    }
    return entries
  }
}

/// The labels of one side's frames by their sequence.
private struct FrameLabels {
  private var labels: [Int: FrameLabel] = [:]

  init(_ system: ChatSystem, _ frames: [Frame]) {
    var labeler = system.makeLabeler()
    for frame in frames where frame.isMessage { labels[frame.sequence] = labeler.label(frame) }
  }

  subscript(sequence: Int) -> FrameLabel? { labels[sequence] }
}

/// Intents whose instant was concluded from the stamp of what they made: no frame and no mark is of that instant. What they cause may
/// lie further from the recording (SCENARIO.md 5, "Equal means").
private struct ConcludedIntents {
  private var identifiers: Set<String> = []
  private var first: Instant?

  init(_ intents: [Intent], _ frames: [Frame]) {
    let known = Set(frames.map(\.at))
    for intent in intents where !known.contains(intent.at) && !known.contains(intent.at + .nanoseconds(1)) {
      first = min(first ?? intent.at, intent.at)
      for member in intent.gesture.fields["ids"]?.object?.members ?? [] {
        if let identifier = member.value.string { identifiers.insert(identifier) }
      }
    }
  }

  var isEmpty: Bool { first == nil }

  /// How far a frame may lie from its partner: what a concluded intent sends and what answers it, and every event from then on.
  func tolerance(_ label: FrameLabel?, at instant: Instant) -> Interval {
    guard let first, let label, instant >= first else { return Audit.bothTolerance }
    if label.role == .event { return Audit.concludedTolerance }
    return label.operation.map(identifiers.contains) ?? false ? Audit.concludedTolerance : Audit.bothTolerance
  }
}
