import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeTwin
import Simulation
import Wire

/// A phone that sends what it is told to, at fixed instants, to the twin of a scenario: makes recordings without a core.
struct ScriptedPhone {
  var scenario: HBCodeScenario
  var oneWay = Interval.milliseconds(50)
  var sends: [Send] = []
  /// Positions among the events of that name, from 1, that never reach the phone.
  var lostEvents: [(name: String, nth: Int)] = []
  var until = Instant(nanoseconds: 60_000_000_000)
  /// Without the `open` frame the recording begins in the middle.
  var opens = true

  struct Send {
    var at: Instant
    var request: RequestMessage
    var isLost = false
    var isAnswerLost = false
  }

  init(_ scenario: HBCodeScenario) { self.scenario = scenario }

  static func seconds(_ value: Double) -> Instant { Instant(nanoseconds: Int64((value * 1e9).rounded())) }

  mutating func send(
    _ at: Double, _ method: Method, _ params: JSONObject, key: String? = nil, lost: Bool = false, answerLost: Bool = false
  ) {
    let request = RequestMessage(id: "r\(sends.count + 1)", method: method.rawValue, params: params, idempotencyKey: key)
    sends.append(Send(at: ScriptedPhone.seconds(at), request: request, isLost: lost, isAnswerLost: answerLost))
  }

  /// Hold, load and outbox load, as a phone that opens a chat.
  mutating func open(_ session: String, at: Double) {
    send(at, .timelineInterest, ["sessionId": .string(session), "threadId": .null, "hold": true])
    load(session, at: at)
  }

  mutating func load(_ session: String, at: Double) {
    send(at, .load, ["sessionId": .string(session), "limit": 12, "anchor": .null])
  }

  mutating func check(_ session: String, at: Double) { send(at, .outboxLoad, ["sessionId": .string(session)]) }

  static func entry(
    _ number: Int, _ text: String, at: Double, steers run: String? = nil, operation: String? = nil
  ) -> SubmitEntry {
    let made = HBCodeScenario.standardWallClock + Int64((at * 1000).rounded())
    var object = SubmitEntryFields(number: number, text: text, createdAt: made).json
    if let operation { object["operationId"] = .string(operation) }
    if let run {
      object["sendMode"] = "steer-running"
      object["expectedActiveRunId"] = .string(run)
    }
    do { return try SubmitEntry.decode(.object(object), at: "entry") } catch { fatalError("\(error)") }
  }

  private struct SubmitEntryFields {
    var number: Int
    var text: String
    var createdAt: Int64
    var json: JSONObject {
      [
        "queueId": .string("q-\(number)"), "operationId": .string("op-\(number)"), "userText": .string(text), "promptText": .string(text),
        "sendMode": "queue", "expectedActiveRunId": .null, "threadId": .null, "selection": .null, "speedMode": "standard",
        "accessLevel": "Full auto", "attachments": [], "createdAt": .integer(createdAt),
      ]
    }
  }

  mutating func submit(
    _ session: String, _ entry: SubmitEntry, at: Double, mutation: String, intent: String = "automatic", supersedes: String? = nil,
    lost: Bool = false, answerLost: Bool = false
  ) {
    send(
      at, .outboxSubmit,
      [
        "sessionId": .string(session), "intent": .string(intent), "supersedesOperationId": supersedes.map(JSON.string) ?? .null,
        "entry": entry.json,
      ], key: "run.chatOutboxSubmit:" + mutation, lost: lost, answerLost: answerLost)
  }

  /// The frames at the phone's side.
  func record() -> [Frame] {
    let connection = ConnectionID(1)
    let endpoint = Endpoint("/v1/desktops/desk-1")
    var twin: any Twin = DesktopTwin(scenario: scenario, random: SeededRandom(seed: 1))
    var inputs: [(arrives: Instant, input: TwinInput)] = [(.zero, .connected(connection, endpoint))]
    var frames: [(at: Instant, rank: Int, frame: Frame)] = []
    if opens {
      let payload = JSONWriter.compact(["url": .string("ws://127.0.0.1:1" + endpoint.target), "headers": [], "status": 101])
      frames.append((.zero, 0, Frame(at: .zero, connection: connection, direction: .out, kind: .open, payload: payload)))
    }
    let ordered = sends.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    for send in ordered {
      let frame = Frame.text(send.request.json, connection: connection, direction: .out, at: send.at)
      frames.append((send.at, 2, frame))
      if !send.isLost { inputs.append((send.at + oneWay, .received(frame, refusal: nil))) }
    }
    let answerLost = Set(sends.filter(\.isAnswerLost).map(\.request.id))
    var events: [String: Int] = [:]
    let reader = HBCodeReader()
    for sent in TwinPlayback.run(&twin, inputs: inputs, until: until) {
      var frame = sent.frame
      frame.at = sent.leaves + oneWay
      switch reader.message(of: frame.payload) {
      case .response(let response): if answerLost.contains(response.id) { continue }
      case .event(let event):
        events[event.name, default: 0] += 1
        if lostEvents.contains(where: { $0.name == event.name && $0.nth == events[event.name] }) { continue }
      case .request, .invalid: break
      }
      frames.append((frame.at, 1, frame))
    }
    let sorted = frames.enumerated().sorted {
      ($0.element.at, $0.element.rank, $0.offset) < ($1.element.at, $1.element.rank, $1.offset)
    }
    return sorted.enumerated().map { number, element in
      var frame = element.element.frame
      frame.sequence = number + 1
      return frame
    }
  }

  func compiled() throws -> HBCodeScenario {
    try Compiler.compile(record(), wallClockMilliseconds: HBCodeScenario.standardWallClock, origin: "test")
  }
}
