import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeTwin
import Simulation
import Wire

/// Compiles a recording and lets the twin look at it (SCENARIO.md 3, step 13): what the twin says and the recording lacks was lost;
/// what the outbox counts and no known change explains is a silent increment. At most eight rounds.
package func hbcodeScenario(
  of frames: [Frame], wallClockMilliseconds: Int64, origin: String
) throws(CompileError) -> HBCodeScenario {
  var scenario = try Compiler.compile(frames, wallClockMilliseconds: wallClockMilliseconds, origin: origin)
  let without = scenario
  let comparison = TwinComparison(frames)
  var silent: [TwinComparison.Silent] = []
  for _ in 0..<mostCompileRounds {
    let found = comparison.differences(from: scenario)
    scenario = without
    if let next = found.silent { silent.append(next) }
    for (number, increment) in silent.enumerated() { scenario.add(increment, number: number + 1) }
    for lost in found.lost { scenario.facts.conditions.append(lost) }
    if !found.lost.isEmpty {
      scenario.facts.notes.append(Note("\(found.lost.count) events of the desktop are missing from the recording: lost on the link"))
    }
    if found.silent == nil { break }
  }
  scenario.facts.draws = hbcodeDraws(of: frames, scenario)
  return scenario
}

/// SCENARIO.md 8.10.
private let mostCompileRounds = 8

extension Int64 {
  /// The sum within 0 and the largest exact integer of the wire; recorded counts may be anything.
  fileprivate func advanced(clampingBy other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? 1 << 53 : 0) : Swift.min(Swift.max(0, sum), 1 << 53)
  }
}

extension HBCodeScenario {
  fileprivate mutating func add(_ silent: TwinComparison.Silent, number: Int) {
    if silent.isAtStart {
      for desktop in desktops.indices {
        for session in desktops[desktop].sessions.indices where desktops[desktop].sessions[session].id == silent.session {
          let revision = desktops[desktop].sessions[session].outbox.revision
          desktops[desktop].sessions[session].outbox.revision = revision.advanced(clampingBy: silent.by)
        }
      }
      return
    }
    guard silent.by > 0 else { return }
    facts.notes.append(
      Note(
        "the outbox of \(silent.session) counts \(silent.by) changes more at \(silent.at) than are known", frames: [silent.frame],
        basis: .assumed))
    let stretch = Stretch(
      id: "outside/\(silent.session)/revision/\(number)", lane: nil, cause: .clock(silent.at),
      steps: [Step(offset: .zero, changes: [.outboxRevision(by: silent.by)])], length: .zero, recordedBegin: silent.at, basis: .assumed,
      session: silent.session)
    let place = tape.firstIndex { ($0.recordedBegin ?? .zero) >= silent.at } ?? tape.count
    tape.insert(stretch, at: place)
  }
}

/// The recorded frames of the client fed to the twin, and what the twin says to them.
private struct TwinComparison {
  /// A jump of an outbox revision that no known change explains.
  struct Silent {
    var session: String
    var at: Instant
    var by: Int64
    var frame: Int
    /// The first list of all: the start was counted wrong.
    var isAtStart: Bool
  }

  /// Events of one kind about one session, in order.
  private struct Sighting {
    var at: Instant
    var frame: Int
    var revision: Int64?
    /// Position among the frames that the pattern of the stream matches, from 1.
    var nth: Int
    var run: String?
    var connection: ConnectionID
    /// Of an answer: when its request was sent.
    var asked: Instant?
  }

  private struct Stream: Hashable {
    var name: String
    var session: String
  }

  private struct Question {
    var session: String
    var at: Instant
  }

  private let frames: [Frame]
  private let reader = HBCodeReader()
  /// Recorded requests by connection and id.
  private var questions: [String: Question] = [:]
  private var desktops: [ConnectionID: String] = [:]

  init(_ frames: [Frame]) {
    self.frames = frames
    for frame in frames {
      if frame.kind == .open, desktops[frame.connection] == nil { desktops[frame.connection] = target(of: frame) }
      guard frame.kind == .text, frame.direction == .out, case .request(let request) = reader.message(of: frame.payload),
        let session = request.params["sessionId"]?.string
      else { continue }
      questions["\(frame.connection.number) \(request.id)"] = Question(session: session, at: frame.at)
    }
  }

  /// Instants of the recorder's side that belong together lie within this (SCENARIO.md 5: audit 1 within 1 ms; both directions).
  private static let tolerance = Interval.milliseconds(2)
  private static let derived: Set<String> = [
    EventName.runStarted.rawValue, EventName.runFinished.rawValue, EventName.runFailed.rawValue, EventName.runAborted.rawValue,
    EventName.runCancelled.rawValue, EventName.sessionUpdated.rawValue, EventName.outboxChanged.rawValue,
  ]

  func differences(from scenario: HBCodeScenario) -> (lost: [LinkCondition], silent: Silent?) {
    let said = played(scenario)
    var recorded = OrderedMap<Stream, [Sighting]>()
    for frame in frames where frame.direction == .in && frame.kind == .text {
      note(frame, at: frame.at, &recorded)
    }
    var replayed = OrderedMap<Stream, [Sighting]>()
    for (frame, at) in said { note(frame, at: at, &replayed) }
    var lost: [(at: Instant, condition: LinkCondition)] = []
    var silent: Silent?
    for stream in replayed.keys {
      let ours = replayed[stream] ?? []
      let theirs = recorded[stream] ?? []
      var next = 0
      for sighting in ours {
        while next < theirs.count, theirs[next].at < sighting.at - TwinComparison.tolerance { next += 1 }
        guard next < theirs.count, theirs[next].at <= sighting.at + TwinComparison.tolerance else {
          if TwinComparison.derived.contains(stream.name), sighting.at <= scenario.facts.end - TwinComparison.tolerance {
            lost.append((sighting.at, condition(stream, sighting)))
          }
          continue
        }
        if let a = sighting.revision, let b = theirs[next].revision, a != b,
          silent.map({ theirs[next].at < $0.at || (theirs[next].at == $0.at && theirs[next].frame < $0.frame) }) ?? true
        {
          let isFirst = !hasList(before: theirs[next], stream.session, recorded)
          let oneWay = scenario.facts.delay(of: Endpoint("/v1/desktops/" + (desktops[theirs[next].connection] ?? "")))
          let made = theirs[next].asked.map { $0 + oneWay } ?? theirs[next].at - oneWay
          // Both are counts of a server: what does not fit into 53 bits is not one.
          silent = Silent(
            session: stream.session, at: max(.zero, made - .nanoseconds(1)), by: b &- a, frame: theirs[next].frame, isAtStart: isFirst)
        }
        next += 1
      }
    }
    if let found = silent, !found.isAtStart, found.by < 0 { silent = nil }
    return (lost.sorted { $0.at < $1.at }.map(\.condition), silent)
  }

  private func hasList(before sighting: Sighting, _ session: String, _ all: OrderedMap<Stream, [Sighting]>) -> Bool {
    all.pairs.contains { stream, list in
      stream.session == session && list.contains { $0.revision != nil && $0.frame < sighting.frame }
    }
  }

  private func condition(_ stream: Stream, _ sighting: Sighting) -> LinkCondition {
    var conditions = [FramePattern.Condition(field: "sessionId", comparison: .equal, value: stream.session)]
    var nth = sighting.nth
    if let run = sighting.run {
      conditions.append(FramePattern.Condition(field: "runId", comparison: .equal, value: run))
      nth = 1
    }
    return LinkCondition(
      pattern: FramePattern(role: .event, name: stream.name, conditions: conditions), nth: nth, what: .lost,
      reason: "the event \(stream.name) of \(stream.session) at \(sighting.at) was lost")
  }

  /// Adds an event, or the list of an answer, to its stream.
  private func note(_ frame: Frame, at: Instant, _ streams: inout OrderedMap<Stream, [Sighting]>) {
    switch reader.message(of: frame.payload) {
    case .event(let event):
      guard let session = event.fields["sessionId"]?.string, TwinComparison.derived.contains(event.name) else { return }
      let stream = Stream(name: event.name, session: session)
      let nth = (streams[stream]?.count ?? 0) + 1
      streams[stream, default: []].append(
        Sighting(
          at: at, frame: frame.sequence, revision: event.fields["revision"]?.integer, nth: nth, run: event.fields["runId"]?.string,
          connection: frame.connection))
    case .response(let response):
      guard case .success(let result) = response.result, let revision = result["revision"]?.integer, result["entries"] != nil,
        let question = questions["\(frame.connection.number) \(response.id)"]
      else { return }
      streams[Stream(name: "answers", session: question.session), default: []].append(
        Sighting(
          at: at, frame: frame.sequence, revision: revision, nth: 0, run: nil, connection: frame.connection, asked: question.at))
    case .request, .invalid: return
    }
  }

  /// What the twin says, with the instant at which the client would have got it.
  private func played(_ scenario: HBCodeScenario) -> [(frame: Frame, at: Instant)] {
    let facts = scenario.facts
    var inputs: [(arrives: Instant, order: Int, input: TwinInput)] = []
    var delays: [ConnectionID: Interval] = [:]
    var closed: [ConnectionID: Instant] = [:]
    var labeler = HBCodeLabeler()
    var met: [Int] = Array(repeating: 0, count: facts.conditions.count)
    for frame in frames {
      switch frame.kind {
      case .open where delays[frame.connection] == nil: connect(frame.connection, target(of: frame), frame.at)
      case .close:
        closed[frame.connection] = frame.at
        inputs.append((frame.at + (delays[frame.connection] ?? .zero), Int.max, .disconnected(frame.connection)))
      case .text:
        if delays[frame.connection] == nil { connect(frame.connection, scenario.desktops.first?.id ?? "", facts.start) }
        guard frame.direction == .out else { continue }
        let label = labeler.label(frame)
        var late = Interval.zero
        var isLost = false
        for (index, condition) in facts.conditions.enumerated() where condition.pattern.matches(label) {
          met[index] += 1
          guard met[index] == condition.nth else { continue }
          switch condition.what {
          case .lost: isLost = true
          case .late(let by): late = late + by
          case .closed: break
          }
        }
        if isLost { continue }
        let at = frame.at + (delays[frame.connection] ?? .zero) + late
        inputs.append((at, frame.sequence, .received(frame, refusal: nil)))
      default: continue
      }
    }
    func connect(_ connection: ConnectionID, _ desktop: String, _ at: Instant) {
      let endpoint = Endpoint("/v1/desktops/" + desktop)
      delays[connection] = facts.delay(of: endpoint)
      inputs.append((at, -1, .connected(connection, endpoint)))
    }
    inputs.sort { ($0.arrives, $0.order) < ($1.arrives, $1.order) }
    var twin: any Twin = DesktopTwin(scenario: scenario, random: SeededRandom(seed: 0))
    return TwinPlayback.run(&twin, inputs: inputs.map { ($0.arrives, $0.input) }, until: facts.end).compactMap { sent in
      let at = sent.leaves + (delays[sent.frame.connection] ?? .zero)
      if let end = closed[sent.frame.connection], at > end { return nil }
      return (sent.frame, at)
    }
  }

  /// The desktop of an `open` frame.
  private func target(of frame: Frame) -> String {
    let url = reader.json(of: frame.payload)?["url"]?.string ?? ""
    let marker = "/v1/desktops/"
    var rest = Substring(url)
    while !rest.isEmpty, !rest.hasPrefix(marker) { rest = rest.dropFirst() }
    return String(rest.dropFirst(marker.count).prefix { $0 != "?" && $0 != "/" && $0 != "#" })
  }
}
