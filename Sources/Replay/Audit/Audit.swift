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

  /// Differences of audits 1 and 2, those of 1 first, each in order of instant.
  package var differences: [Divergence]
  /// Notes of the scenario that are assumed or synthetic.
  package var assumptions: Int
  /// Frames compared in audit 1 (of the server) and in audit 2 (of the client).
  package var serverFrames: Int
  package var clientFrames: Int

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

/// Audits 1 and 2 of SCENARIO.md 5: is the scenario true?
package enum Audit {
  /// Instants of audit 1 agree within this (SCENARIO.md 5, "Equal means").
  package static let twinTolerance = Interval.milliseconds(1)

  /// Runs both audits. `frames` are those of the recording that `scenario` was compiled from, in order. A scenario or recording with
  /// instants that no clock can carry diverges by that alone.
  package static func run(_ system: ChatSystem, _ scenario: any Scenario, _ frames: [Frame]) -> AuditReport {
    do throws(RunError) {
      try World.check(scenario.facts, scenario.facts.intents)
      if let frame = frames.first(where: { !Clock.holds($0.at) }) {
        throw RunError.outOfRange(what: "instant of frame \(frame.sequence)", frame.at)
      }
    } catch {
      let difference = Divergence(kind: .differs, audit: 1, at: .zero, name: "scenario", restsOn: error.description)
      return AuditReport(differences: [difference], assumptions: 0, serverFrames: 0, clientFrames: 0)
    }
    let first = twin(system, scenario, frames)
    let second = core(system, scenario, frames)
    let assumptions = scenario.facts.notes.filter { $0.basis == .assumed || $0.basis == .synthetic }.count
    return AuditReport(
      differences: first.differences + second.differences, assumptions: assumptions, serverFrames: first.compared,
      clientFrames: second.compared)
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

  // MARK: - Audit 1

  /// Audit 1: the recorded client frames are given to the twin at their instants, with the recorded conditions; compared are the server's frames.
  package static func twin(
    _ system: ChatSystem, _ scenario: any Scenario, _ frames: [Frame]
  ) -> (differences: [Divergence], compared: Int) {
    let facts = scenario.facts
    let connections = RecordedConnection.list(frames)
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
    return (comparison.differences(recorded: recorded, replayed: replayed), recorded.count)
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
  ) -> (differences: [Divergence], compared: Int) {
    var playback = CorePlayback(system: system, scenario: scenario, frames: frames)
    // A recording that begins in the middle: what the core sends to start up was said before it began.
    let isCut = RecordedConnection.list(frames).contains { $0.opened == nil }
    let sent = playback.run().filter { !(isCut && $0.at == scenario.facts.start) }
    let (recorded, replayed) = normalForms(system, frames, replacing: .out, by: sent)
    let comparison = FrameComparison(audit: 2, end: scenario.facts.end)
    return (comparison.differences(recorded: recorded, replayed: replayed), recorded.count)
  }
}
