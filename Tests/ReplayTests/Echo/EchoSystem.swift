import Contract
import Simulation
import Wire

struct EchoScenario: Scenario {
  var facts: ScenarioFacts
  /// From a message's save to its event.
  var echo: Interval

  init(end: Interval, echo: Interval = .milliseconds(400), oneWay: Interval = .milliseconds(50), _ intents: [Intent]) {
    facts = ScenarioFacts(wallClockMilliseconds: 1_700_000_000_000, end: .zero + end, oneWay: ["": oneWay], intents: intents)
    self.echo = echo
  }

  var stretches: [StretchSummary] { [] }
  var clientStart: JSON { [:] }
  var json: JSON { ["echoNs": .integer(echo.nanoseconds), "endNs": .integer(facts.end.nanoseconds)] }

  /// One message, sent at an instant in milliseconds.
  static func send(_ id: String, _ text: String, at milliseconds: Int64) -> Intent {
    Intent(
      id: "send-" + id, at: .zero + .milliseconds(milliseconds), gesture: Gesture("send", ["message": .string(id), "text": .string(text)]))
  }

  /// A gesture that needs the message on screen.
  static func like(_ id: String, at milliseconds: Int64, lag: Int64 = 0) -> Intent {
    Intent(
      id: "like-" + id, at: .zero + .milliseconds(milliseconds), gesture: Gesture("like", ["message": .string(id)]),
      target: "send-" + id, lag: .milliseconds(lag))
  }
}

extension Echo {
  /// The system as a row of a catalog. `makeCore` can be replaced by one with a planted defect.
  static func system(
    makeCore: @escaping @Sendable (CoreSettings, Store) -> any ClientCore = { EchoCore($0, $1) }, quietPhase: Interval = .seconds(10)
  ) -> ChatSystem {
    ChatSystem(
      name: "echo", title: "Echo room", behaviourVersion: 1, tieOrder: [.frame, .tape, .timer, .user, .displayFrame],
      labels: [(.request, post), (.response, post), (.request, subscribe), (.response, subscribe), (.event, message)],
      states: [("sending", "a message waits for its receipt"), ("dragging", "a finger is on the list")], mutations: [post],
      snapshots: [subscribe],
      makeLabeler: { EchoLabeler() },
      compile: { frames, wall, _ in compile(frames, wall) },
      readScenario: { json in
        guard let echo = json["echoNs"]?.integer, let end = json["endNs"]?.integer else { throw JSONError(problem: "no echo scenario") }
        return EchoScenario(end: Interval(nanoseconds: end), echo: Interval(nanoseconds: echo), [])
      },
      makeCore: makeCore,
      makeTwin: { scenario, _ in EchoTwin(echo: (scenario as? EchoScenario)?.echo ?? .zero) },
      normalForm: normalForm, claims: [nothingLost, savedOnce], quietPhase: { _, _ in quietPhase },
      updates: [message],
      gestures: [
        ("send", ["message", "text"], "sends"), ("like", ["message"], "likes"), ("drag", ["path", "velocity?", "held?"], "a finger"),
        ("restart", ["for?"], "ends the app and launches it again"),
      ], checkGesture: { gesture throws(JSONError) in try check(gesture) })
  }

  private static func check(_ gesture: Gesture) throws(JSONError) {
    switch gesture.name {
    case Gesture.drag: _ = try Drag(gesture.fields)
    case Gesture.restart: _ = try gesture.restartPause()
    default: if gesture.fields["message"]?.string == nil { throw JSONError(path: "message", problem: "expected a string") }
    }
  }

  static let nothingLost = Claim(
    "ECHO-01", "Nothing lost", "Each message that the client took is saved in the end.", .liveness, per: "a message taken", on: .ledger
  ) { index in
    let taken = index.all(.core, "accepted")
    let lost = taken.filter { entry in
      index.all(.twin, "saved", operation: entry["operation"]?.string ?? "").isEmpty
    }
    return ClaimOutcome(
      exercised: taken.count,
      violations: lost.map {
        Violation(at: $0.at, operation: $0["operation"]?.string, happened: "it was never saved", evidence: [$0.index])
      })
  }

  static let savedOnce = Claim(
    "ECHO-02", "Saved once", "No message is saved twice.", per: "a message saved", on: .ledger
  ) { index in
    let operations = index.operations.filter { !index.all(.twin, "saved", operation: $0).isEmpty }
    let twice = operations.map { index.all(.twin, "saved", operation: $0) }.filter { $0.count > 1 }
    return ClaimOutcome(
      exercised: operations.count,
      violations: twice.map {
        Violation(at: $0[1].at, operation: $0[1]["operation"]?.string, happened: "saved \($0.count) times", evidence: $0.map(\.index))
      })
  }

  private static func compile(_ frames: [Frame], _ wall: Int64) -> EchoScenario {
    var labeler = EchoLabeler()
    var intents: [Intent] = []
    for frame in frames {
      let label = labeler.label(frame)
      guard label.role == .request, label.name == post, let id = label.operation, let text = label.fields["text"]?.string,
        !intents.contains(where: { $0.id == "send-" + id })
      else { continue }
      intents.append(EchoScenario.send(id, text, at: frame.at.nanoseconds / 1_000_000))
    }
    return EchoScenario(end: (frames.last?.at ?? .zero) - .zero, intents)
  }

  private static func normalForm(_ frames: [Frame]) -> [NormalFrame] {
    var labeler = EchoLabeler()
    return frames.filter { $0.kind != .open && $0.kind != .close }.map { frame in
      let label = labeler.label(frame)
      var content: JSON = frame.kind == .serverSentEvent ? .object(label.fields) : Echo.parts(frame.payload)?.body ?? .null
      if var object = content.object, object["text"]?.string?.hasPrefix("[redacted:") == true {
        object["text"] = NormalFrame.anyString
        content = .object(object)
      }
      return NormalFrame(
        stream: "\(frame.connection.number) \(frame.direction.rawValue)", name: "\(label.role.rawValue) \(label.name)", content: content,
        timing: .within(.milliseconds(5)), at: frame.at, sequence: frame.sequence)
    }
  }
}
