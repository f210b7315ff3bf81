import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeTwin
import Simulation
import Testing
import Wire

/// Builders for hand-written scenarios of hbcode.
enum Hand {
  static let wall: Int64 = 1_790_000_000_000
  static let session = "ses-01"

  static func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

  static func user(
    _ operation: String, _ order: [UInt64], _ origin: RowOrigin = .live, run: String? = "run-1", at: Int64 = 10_400, text: String? = nil
  ) -> Row {
    Row.made(
      type: .user, id: "u-\(operation)", origin: origin, sourceOrder: order, timestamp: wall + at, runId: run, operationId: operation,
      text: text ?? "words of \(operation)")
  }

  static func reply(
    _ id: String, _ order: [UInt64], _ text: String, _ origin: RowOrigin = .live, run: String? = "run-1", at: Int64 = 12_000
  ) -> Row {
    Row.made(type: .agentReply, id: id, origin: origin, sourceOrder: order, timestamp: wall + at, runId: run, text: text)
  }

  /// A run of one operation with one reply that is shown in two versions: at 1/3 and 2/3 of its length.
  static func stretch(
    _ operation: String, run: String, orders: UInt64, delay: Int64 = 350, length: Int64 = 14_600, begin: Int64? = nil,
    session: String = session, end: StretchEnd = .finished, tail: Bool = true
  ) -> Stretch {
    let begin = begin ?? 10_400
    let user = user(operation, [orders, 0], run: run, at: begin)
    let replyID = "a-\(operation)"
    return Stretch(
      id: "\(run)/\(operation)", lane: Lane(session), cause: .operation(operation), delay: .milliseconds(delay),
      steps: [
        Step(offset: .zero, changes: [.put(user)], increment: 1),
        Step(
          offset: .milliseconds(length / 3), changes: [.put(reply(replyID, [orders, 1], "half", run: run, at: begin + length / 3))],
          increment: 1),
        Step(
          offset: .milliseconds(length / 3 * 2),
          changes: [.put(reply(replyID, [orders, 1], "half and whole", run: run, at: begin + length / 3))], increment: 2),
      ],
      outcome: tail
        ? [
          Hand.user(operation, [orders, 0], .canonical, run: run, at: begin),
          reply(replyID, [orders, 1], "half and whole", .canonical, run: run, at: begin + length / 3),
        ] : [],
      length: .milliseconds(length), end: end, run: RecordedRun(runId: run, threadId: "th-main", turnId: "turn-\(run)"),
      recordedBegin: at(begin))
  }

  static func history(_ count: Int) -> [Row] {
    (0..<count).map { index in
      Row.made(
        type: index % 2 == 0 ? .user : .agentReply, id: "h\(index)", origin: .canonical, sourceOrder: [1, UInt64(index)],
        timestamp: wall - 100_000 + Int64(index), text: "old \(index)")
    }
  }

  static func session(_ id: String = session, history: Int = 2, epoch: Int64 = 3) -> SessionState {
    SessionState(
      id: id, agent: .codex, projectPath: "projects/garden", title: "Beans", updatedAt: wall - 1_000, nativeSessionId: "nat-1",
      history: Hand.history(history), overlay: LiveOverlay(version: OverlayVersion(epoch: epoch, revision: 0), blocks: []))
  }

  static func scenario(
    sessions: [SessionState] = [session()], tape: [Stretch] = [], intents: [Intent] = [], service: [ServiceRule] = [],
    book: IdentifierBook = IdentifierBook(), end: Int64 = 60_000, clientStart: JSON = [:]
  ) -> HBCodeScenario {
    HBCodeScenario(
      facts: ScenarioFacts(
        wallClockMilliseconds: wall, end: at(end), oneWay: ["": .milliseconds(50)], intents: intents),
      clientStart: clientStart, desktops: [DesktopState(id: "desk-1", sessions: sessions)], tape: tape, service: service, book: book)
  }
}

/// A twin with one phone, driven by hand: frames are given to it and taken from it decoded.
struct TwinBench {
  struct Said {
    var at: Instant
    var connection: ConnectionID
    var json: JSON
    /// `response` or the event's name.
    var name: String { json["event"]?.string ?? "response" }
  }

  var twin: DesktopTwin
  var said: [Said] = []
  var notes: [(at: Instant, note: Observation)] = []
  var closed: [(ConnectionID, Int)] = []
  private var requests = 0

  init(_ scenario: HBCodeScenario, phones: Int = 1) {
    twin = DesktopTwin(scenario: scenario, random: SeededRandom(seed: 1))
    for number in stride(from: 1, through: phones, by: 1) {
      take(twin.handle(.connected(ConnectionID(number), Endpoint("/v1/desktops/desk-1")), at: .zero), .zero)
    }
  }

  mutating func take(_ effects: [TwinEffect], _ now: Instant) {
    for effect in effects {
      switch effect {
      case .send(let frame, let after):
        let json = (try? JSONReader.value(frame.payload)) ?? .null
        said.append(Said(at: now + after, connection: frame.connection, json: json))
      case .close(let connection, let code, _): closed.append((connection, code))
      case .note(let note): notes.append((now, note))
      }
    }
  }

  /// Lets everything happen that falls due up to and including that instant.
  mutating func run(to milliseconds: Int64) {
    while let due = twin.nextDue, due <= Hand.at(milliseconds) { take(twin.handle(.due, at: due), due) }
  }

  mutating func give(_ input: TwinInput, at milliseconds: Int64) {
    // Frames of an instant come before what falls due then.
    while let due = twin.nextDue, due < Hand.at(milliseconds) { take(twin.handle(.due, at: due), due) }
    take(twin.handle(input, at: Hand.at(milliseconds)), Hand.at(milliseconds))
  }

  /// Sends a request and gives its answer: the result, or the error object.
  @discardableResult
  mutating func ask(
    _ method: Method, _ params: JSONObject, key: String? = nil, at milliseconds: Int64, connection: Int = 1, refusal: Refusal? = nil
  ) -> JSON {
    requests += 1
    let id = "r-\(requests)"
    let message = RequestMessage(id: id, method: method.rawValue, params: params, idempotencyKey: key)
    let frame = Frame.text(message.json, connection: ConnectionID(connection), direction: .out, at: Hand.at(milliseconds))
    give(.received(frame, refusal: refusal), at: milliseconds)
    let answer = said.last { $0.json["id"]?.string == id }?.json
    return answer?["result"] ?? answer?["error"] ?? .null
  }

  @discardableResult
  mutating func submit(
    _ operation: String, mutation: String? = nil, intent: String = "automatic", supersedes: String? = nil, mode: SendMode = .queue,
    run: String? = nil, session: String = Hand.session, text: String? = nil, at milliseconds: Int64
  ) throws -> JSON {
    let entry = try SubmitEntry(
      queueId: "q-\(operation)", operationId: operation, userText: text ?? "words of \(operation)",
      promptText: text ?? "words of \(operation)", sendMode: mode, expectedActiveRunId: run, createdAt: Hand.wall + milliseconds)
    return ask(
      .outboxSubmit,
      [
        "sessionId": .string(session), "intent": .string(intent), "supersedesOperationId": supersedes.map(JSON.string) ?? .null,
        "entry": entry.json,
      ], key: "run.chatOutboxSubmit:" + (mutation ?? "m-\(operation)"), at: milliseconds)
  }

  @discardableResult
  mutating func hold(_ session: String = Hand.session, at milliseconds: Int64, connection: Int = 1) -> JSON {
    ask(
      .timelineInterest, ["sessionId": .string(session), "threadId": .null, "hold": true], at: milliseconds, connection: connection)
  }

  @discardableResult
  mutating func load(_ session: String = Hand.session, limit: Int64 = 12, anchor: JSON = .null, at milliseconds: Int64) -> JSON {
    ask(.load, ["sessionId": .string(session), "limit": .integer(limit), "anchor": anchor], at: milliseconds)
  }

  /// `instant name` of every event, in order.
  var events: [String] {
    said.compactMap { said in said.json["event"]?.string.map { "\(said.at) \($0)" } }
  }

  func notes(_ kind: String) -> [(at: Instant, fields: JSONObject)] {
    notes.filter { $0.note.kind == kind }.map { ($0.at, $0.note.fields) }
  }

  /// `instant field` of every note of a kind.
  func noted(_ kind: String, _ field: String) -> [String] { notes(kind).map { "\($0.at) \($0.fields[field]?.string ?? "-")" } }
}

/// `op status` of each entry of an outbox answer or event.
func listed(_ json: JSON) -> [String] {
  (json["entries"]?.array ?? []).map { "\($0["operationId"]?.string ?? "?") \($0["status"]?.string ?? "?")" }
}

/// Identities of the rows of a window or page.
func identities(_ json: JSON?, _ key: String = "timeline") -> [String] {
  (json?[key]?.array ?? []).map { "\($0["type"]?.string ?? "?"):\($0["id"]?.string ?? "?")" }
}
