import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeSystem
import Replay
import Simulation
import TestSupport
import Testing
import Wire

/// The hbcode phone against the hbcode twin in a world, for stories: oneWay 50 ms, u = 0.
enum Tale {
  static let system = hbcode

  static func story(_ scenario: HBCodeScenario) -> Story { Story(system, scenario).jitter(0) }

  /// The phone as launched: it knows its sessions and nothing else.
  static let start: JSON = [
    "desktop": "desk-1", "project": "projects/garden",
    "sessions": [
      ["id": .string(Hand.session), "agent": "codex", "title": "Beans"], ["id": "ses-02", "agent": "codex", "title": "Tomatoes"],
    ],
  ]

  static func ids(_ operation: String) -> ActionIDs {
    ActionIDs(queueId: "q-\(operation)", operationId: operation, mutationId: "m-\(operation)")
  }

  static func intent(_ id: String, _ milliseconds: Int64, _ action: UserAction, target: String? = nil) -> Intent {
    Intent(id: id, at: Hand.at(milliseconds), gesture: action.gesture, target: target)
  }

  static func select(_ session: String = Hand.session, at milliseconds: Int64 = 0) -> Intent {
    intent("select-\(session)-\(milliseconds)", milliseconds, .select(session: session, thread: nil))
  }

  static func send(_ operation: String, at milliseconds: Int64, session: String = Hand.session) -> Intent {
    intent(
      "send-\(operation)", milliseconds,
      .send(text: "words of \(operation)", session: session, thread: nil, ids: ids(operation), options: [:]))
  }

  static func scenario(
    _ intents: [Intent], tape: [Stretch], sessions: [SessionState] = [Hand.session()], service: [ServiceRule] = [],
    book: IdentifierBook = IdentifierBook(), end: Int64 = 60_000
  ) -> HBCodeScenario {
    Hand.scenario(sessions: sessions, tape: tape, intents: intents, service: service, book: book, end: end, clientStart: start)
  }
}

extension Told {
  /// Instants at which the phone puts a request on the link.
  func sent(_ method: Method, _ conditions: String...) -> [String] {
    entries(.link, "send", "label=request", "name=\(method.rawValue)").filter { entry in
      conditions.allSatisfy { condition in
        let parts = condition.split(separator: "=", maxSplits: 1)
        return parts.count == 2 && entry[String(parts[0])]?.string == String(parts[1])
      }
    }.map(\.at.description)
  }

  /// Instants at which the phone gets frames of this name.
  func arrived(_ name: String, label: String = "response") -> [String] {
    entries(.link, "arrive", "label=\(label)", "name=\(name)", "dir=in").map(\.at.description)
  }

  /// `instant state` of the core's notes about an operation.
  func states(_ operation: String) -> [String] { lines(.core, "op", showing: ["state"], "operation=\(operation)") }

  var saved: [String] { lines(.twin, "saved", showing: ["operation"]) }
  var runs: [String] { lines(.twin, "run", showing: ["run", "state"]) }

  /// The payload of the frames with this name that the server sends, with their instants of arrival.
  func events(_ name: String) -> [(at: Instant, json: JSON)] {
    entries(.link, "arrive", "label=event", "name=\(name)").compactMap { entry in
      guard let of = entry["of"]?.int, trace.entries.indices.contains(of), let payload = trace.entries[of].payload,
        let json = try? JSONReader.value(payload)
      else { return nil }
      return (entry.at, json)
    }
  }

  /// The rows of the last answer to a latest-window load.
  var lastWindow: JSON? {
    entries(.link, "send", "label=response", "name=run.chatLoad").last?.payload.flatMap { try? JSONReader.value($0) }?["result"]
  }
}
