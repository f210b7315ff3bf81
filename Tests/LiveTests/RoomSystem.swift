import Contract
import Simulation
import Wire

/// The smallest chat over a WebSocket: `{"say": text, "id": n}` is answered by `{"ok": n}`, and 30 ms later all hear `{"heard": text}`.
enum Room {
  static let system = ChatSystem(
    name: "room", title: "Room", behaviourVersion: 1, tieOrder: [.frame, .tape, .timer, .user, .displayFrame],
    labels: [(.request, "say"), (.response, "ok"), (.event, "heard")], states: [], mutations: ["say"], snapshots: [],
    makeLabeler: { Labeler() }, compile: { _, _, _ in RoomScenario() }, readScenario: { _ in RoomScenario() },
    makeCore: { _, _ in Core() }, makeTwin: { _, _ in Server() }, normalForm: { _ in [] }, claims: [],
    quietPhase: { _, _ in .milliseconds(200) })

  static let echo = Interval.milliseconds(30)

  struct Labeler: FrameLabeler {
    mutating func label(_ frame: Frame) -> FrameLabel {
      guard let object = (try? JSONReader.value(frame.payload))?.object, let name = object.members.first?.name else {
        return FrameLabel(role: .other, name: "?")
      }
      return FrameLabel(role: name == "say" ? .request : name == "ok" ? .response : .event, name: name)
    }
    mutating func violations(in frame: Frame) -> [JSONError] { [] }
  }

  struct Core: ClientCore {
    private var connection = 0
    private var isUp = false
    private var said = 0

    mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
      switch input {
      case .lifecycle(.launched): return open()
      case .connection(_, let up):
        isUp = up
        return [.note(Observation(up ? "online" : "offline"))] + (up ? [] : open())
      case .received(let frame): return [.note(Observation("took", ["text": .string(String(decoding: frame.payload, as: UTF8.self))]))]
      case .user(let gesture):
        said += 1
        let body: JSON = ["say": gesture.fields["text"] ?? "", "id": .int(said)]
        return [
          .send(
            Frame(at: now, connection: ConnectionID(connection), direction: .out, kind: .text, payload: JSONWriter.compact(body))),
          .arm(TimerID("later"), at: now + .milliseconds(20)),
        ]
      case .fired: return [.note(Observation("waited"))]
      case .displayFrame, .screen, .lifecycle, .wallClockStepped: return []
      }
    }

    private mutating func open() -> [Effect] {
      connection += 1
      return [.open(ConnectionID(connection), Endpoint("/room"))]
    }

    func premise(of gesture: Gesture) -> Premise { isUp ? .holds : .waits }
    func holds(state: String) -> Bool { false }
  }

  struct Server: Twin {
    private var due: [(at: Instant, text: JSON)] = []
    private var clients: [ConnectionID] = []
    var nextDue: Instant? { due.first?.at }

    mutating func handle(_ input: TwinInput, at now: Instant) -> [TwinEffect] {
      switch input {
      case .connected(let id, _): clients.append(id)
      case .disconnected(let id): clients.removeAll { $0 == id }
      case .received(let frame, _):
        guard let say = try? JSONReader.value(frame.payload), let text = say["say"] else {
          return [.close(frame.connection, code: 4001, reason: "what?")]
        }
        due.append((now + Room.echo, text))
        return [
          .note(Observation("saved", ["text": text])), .send(Room.frame(["ok": say["id"] ?? 0], frame.connection, now), after: .zero),
        ]
      case .due:
        let text = due.removeFirst().text
        return clients.map { .send(Room.frame(["heard": text], $0, now), after: .zero) }
      case .fault: break
      }
      return []
    }

    mutating func finish(at now: Instant) -> [Observation] { [Observation("closed", ["clients": .int(clients.count)])] }
  }

  static func frame(_ json: JSON, _ connection: ConnectionID, _ now: Instant) -> Frame {
    Frame(at: now, connection: connection, direction: .in, kind: .text, payload: JSONWriter.compact(json))
  }
}

struct RoomScenario: Scenario {
  var facts = ScenarioFacts(wallClockMilliseconds: 0, end: Instant(nanoseconds: 100_000_000), oneWay: ["": .milliseconds(10)])
  var stretches: [StretchSummary] { [] }
  var clientStart = JSON.null
  var json: JSON { [:] }

  init(saying texts: String...) {
    for (index, text) in texts.enumerated() {
      facts.intents.append(
        Intent(id: "i\(index + 1)", at: .zero + .milliseconds(Int64(index + 1) * 40), gesture: Gesture("say", ["text": .string(text)])))
    }
  }
}
