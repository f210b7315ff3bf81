import Contract
import HBCodeCore
import HBCodeDialect
import Simulation
import Testing
import Wire

/// A phone and a clock; the test plays the desktop by hand. Timers fire by themselves when time goes on.
struct CoreDriver {
  private(set) var phone: Phone
  private(set) var now = Instant.zero
  private(set) var store: Store
  private var timers: [(id: TimerID, at: Instant, order: Int)] = []
  private var armed = 0
  private let start: JSON
  private let draws: Draws
  private let launchNumber: Int
  private let wall: Int64

  /// Requests given to the socket, with their instants.
  private(set) var sent: [(at: Instant, request: RequestMessage)] = []
  private var read = 0
  private(set) var notes: [(at: Instant, note: Observation)] = []
  private(set) var screen: [(at: Instant, record: ScreenRecord)] = []
  private var nextFrame: Instant?
  private var notesRead = 0
  private(set) var opened: [String] = []
  private(set) var closed: [Int] = []
  /// `store`, `send` and `note` effects in order, as words.
  private(set) var order: [String] = []
  private var connection = 0

  static let wall: Int64 = 1_790_000_000_000

  init(_ start: JSON = CoreDriver.start(), u: Double = 0, store: Store = Store(), launch: Int = 0, at: Int64 = 0) {
    self.init(start, draws: .fixed(u), store: store, launch: launch, at: at)
  }

  init(
    _ start: JSON, draws: Draws, store: Store = Store(), launch: Int = 0, at milliseconds: Int64 = 0, wall: Int64 = CoreDriver.wall
  ) {
    self.start = start
    self.store = store
    self.draws = draws
    self.launchNumber = launch
    self.wall = wall
    phone = Phone(
      settings: CoreSettings(start: start, wallClockMilliseconds: wall, draws: draws, launch: launch), store: store)
    now = .zero + .milliseconds(milliseconds)
    give(.lifecycle(.launched))
  }

  /// One desktop with chats ses-01 … ses-08; `connected` and a fresh window of ses-01 unless said otherwise.
  static func start(
    selected: String? = "ses-01", connected: Bool = true, host: JSON? = CoreDriver.envelope(), outbox: JSON? = nil,
    replaySet: JSON? = nil, counter: Int64 = 0, agent: String = "codex"
  ) -> JSON {
    var object: JSONObject = [
      "desktop": "desk-1", "project": "projects/garden", "connected": .bool(connected),
      "sessions": .array(
        (1...8).map { ["id": .string("ses-0\($0)"), "agent": .string(agent), "title": .string("Chat \($0)")] }
          + [["id": "ses-91", "agent": "claude", "desktop": "desk-2"]]),
      "selected": selected.map { ["session": .string($0), "thread": nil] } ?? .null,
    ]
    if connected, let selected { object["lease"] = ["session": .string(selected), "heldAt": 0] }
    if let host, let selected {
      object["hosts"] = [["session": .string(selected), "envelope": host, "counter": .integer(counter)]]
    }
    if let outbox, let selected { object["outbox"] = .object(JSONObject([.init(name: selected, value: outbox)])) }
    object["replaySet"] = replaySet
    return .object(object)
  }

  // MARK: Wire samples

  static func row(
    _ type: String, _ id: String, _ order: [Int64], _ text: String = "", origin: String = "canonical", run: String? = nil,
    op: String? = nil
  ) -> JSON {
    var object: JSONObject = [
      "type": .string(type), "id": .string(id), "origin": .string(origin), "sourceOrder": .array(order.map(JSON.integer)),
      "timestamp": 1_790_000_001_000, "text": .string(text),
    ]
    object["runId"] = run.map(JSON.string)
    object["operationId"] = op.map(JSON.string)
    return .object(object)
  }

  static func live(_ id: String, _ order: [Int64], _ text: String, type: String = "agent-reply", op: String? = nil) -> JSON {
    row(type, id, order, text, origin: "live", run: "run-1", op: op)
  }

  static let defaultRows: [JSON] = [row("user", "u1", [1, 0], "Hello", op: "op-0"), row("agent-reply", "g1", [1, 1], "Hi")]

  static func envelope(
    epoch: Int64 = 3, revision: Int64 = 0, blocks: [JSON] = [], rows: [JSON] = defaultRows, activeRun: String? = nil,
    state: JSON = ["type": "ready"], cursor: String? = nil, boundary: String = "bt-1"
  ) -> JSON {
    [
      "boundaryToken": .string(boundary), "nativeSessionId": nil, "loadState": state, "storageFormat": "indexed",
      "loadedEntries": .integer(Int64(rows.count)), "hasOlderEntries": .bool(cursor != nil),
      "oldestCursor": cursor.map(JSON.string) ?? .null, "timeline": .array(rows),
      "liveOverlay": ["settlementEpoch": .integer(epoch), "revision": .integer(revision), "blocks": .array(blocks)], "runtime": nil,
      "activeRun": activeRun.map {
        ["runId": .string($0), "threadId": nil, "turnId": "turn-1", "startedAt": 1_790_000_000_000]
      } ?? .null,
    ]
  }

  static func entry(
    _ op: String, queue: String? = nil, text: String = "Text", status: String = "queued", accepted: Bool = false,
    hold: String? = nil, thread: String? = nil
  ) -> JSON {
    [
      "queueId": .string(queue ?? "q-" + op), "operationId": .string(op), "userText": .string(text), "promptText": .string(text),
      "status": .string(status), "sendMode": "queue", "expectedActiveRunId": nil, "pendingMutation": nil,
      "accepted": accepted ? ["runId": "run-1", "threadId": "thr", "turnId": "turn-1", "acceptedAt": 1] : .null, "handoff": nil,
      "holdReason": hold.map(JSON.string) ?? .null, "error": nil, "message": nil, "threadId": thread.map(JSON.string) ?? .null,
      "selection": nil, "speedMode": "standard", "accessLevel": "Full auto", "attachments": [], "createdAt": 1_790_000_000_000,
    ]
  }

  static func list(_ revision: Int64, _ ops: String..., outcome: String? = nil) -> JSON {
    list(revision, entries: ops.map { entry($0) }, outcome: outcome)
  }

  static func list(_ revision: Int64, entries: [JSON], outcome: String? = nil) -> JSON {
    var object: JSONObject = ["revision": .integer(revision), "entries": .array(entries)]
    object["outcome"] = outcome.map(JSON.string)
    return .object(object)
  }

  // MARK: Inputs

  mutating func up() {
    connection = opened.count
    give(.connection(ConnectionID(connection), up: true))
  }

  mutating func down() { give(.connection(ConnectionID(connection), up: false)) }

  mutating func lifecycle(_ change: Lifecycle) { give(.lifecycle(change)) }
  mutating func stepWall(by interval: Interval) { give(.wallClockStepped(by: interval)) }

  mutating func does(_ name: String, _ fields: JSONObject = [:]) { give(.user(Gesture(name, fields))) }

  /// `send` with ids q-N, op-N, m-N.
  mutating func send(_ n: Int, _ text: String = "Close the roof") {
    does("send", ["text": .string(text), "ids": CoreDriver.ids(n)])
  }

  static func ids(_ n: Int) -> JSON { ["queueId": .string("q-\(n)"), "operationId": .string("op-\(n)"), "mutationId": .string("m-\(n)")] }

  mutating func select(_ session: String, thread: String? = nil) {
    var fields: JSONObject = ["session": .string(session)]
    fields["thread"] = thread.map(JSON.string)
    does("select", fields)
  }

  mutating func event(_ name: String, _ fields: JSONObject) { receive(EventMessage(name: name, fields: fields).json) }

  mutating func overlay(
    _ revision: Int64, _ text: String? = nil, epoch: Int64 = 3, session: String = "ses-01", blocks: [JSON]? = nil
  ) {
    let own = text.map { [CoreDriver.live("lg", [2, 1], $0)] } ?? []
    event(
      "chat:timeline-overlay",
      [
        "sessionId": .string(session), "threadId": nil, "settlementEpoch": .integer(epoch), "revision": .integer(revision),
        "blocks": .array(blocks ?? own),
      ])
  }

  mutating func runStarted(_ run: String = "run-1", session: String = "ses-01") {
    event(
      "chat:run-started",
      [
        "sessionId": .string(session), "threadId": nil, "runId": .string(run), "turnId": "turn-1", "startedAt": 1_790_000_000_000,
      ])
  }

  mutating func runEnded(_ run: String = "run-1", _ how: String = "finished", session: String = "ses-01") {
    event(
      "chat:run-\(how)",
      ["sessionId": .string(session), "threadId": nil, "runId": .string(run), "at": 1_790_000_009_000])
  }

  mutating func outboxChanged(_ list: JSON, session: String = "ses-01") {
    event("chat:outbox-changed", JSONObject([.init(name: "sessionId", value: .string(session))] + (list.object?.members ?? [])))
  }

  mutating func receive(_ json: JSON) {
    give(.received(Frame.text(json, connection: ConnectionID(connection), direction: .in, at: now)))
  }

  mutating func answer(_ id: String, _ result: JSON) { receive(["id": .string(id), "result": result]) }

  /// Answers the newest request of that method.
  mutating func answer(_ method: Method, _ result: JSON) {
    if let id = last(method)?.id { answer(id, result) }
  }

  mutating func fail(_ method: Method, _ code: String, _ message: String = "No", permanent: Bool = false) {
    guard let id = last(method)?.id else { return }
    receive(["id": .string(id), "error": ["code": .string(code), "message": .string(message), "permanent": .bool(permanent)]])
  }

  /// Lets time go on to this many milliseconds; timers fire in due order.
  mutating func advance(to milliseconds: Int64) { advance(to: .zero + .milliseconds(milliseconds)) }

  mutating func advance(to end: Instant) {
    while true {
      let next = timers.min(by: { ($0.at, $0.order) < ($1.at, $1.order) })
      if let frame = nextFrame, frame <= end, frame < next?.at ?? .never {
        now = max(now, frame)
        nextFrame = frame + DisplayLink.frame
        give(.displayFrame)
        continue
      }
      guard let next, next.at <= end else { break }
      now = max(now, next.at)
      timers.removeAll { $0.id == next.id }
      give(.fired(next.id))
    }
    now = max(now, end)
  }

  /// Time passes while the process is suspended: nothing fires.
  mutating func sleep(to milliseconds: Int64) { now = .zero + .milliseconds(milliseconds) }

  /// The app ends and is launched again at once.
  mutating func restart(connected: Bool = false) {
    var next = CoreDriver(start, draws: draws, store: store, launch: launchNumber + 1, at: now.nanoseconds / 1_000_000, wall: wall)
    next.keep(sent: sent, notes: notes)
    self = next
  }

  private mutating func keep(sent old: [(at: Instant, request: RequestMessage)], notes oldNotes: [(at: Instant, note: Observation)]) {
    sent = old + sent
    read = old.count
    notes = oldNotes + notes
    notesRead = oldNotes.count
  }

  private mutating func give(_ input: Input) {
    for effect in phone.handle(input, at: now) {
      switch effect {
      case .open(_, let endpoint): opened.append(endpoint.target)
      case .close(_, let code): closed.append(code)
      case .send(let frame):
        guard let json = try? JSONReader.value(frame.payload), case .request(let request) = WireMessage(json) else {
          Issue.record("the phone sent something that is no request")
          continue
        }
        sent.append((now, request))
        order.append("send \(request.method)")
      case .arm(let id, let at):
        timers.removeAll { $0.id == id }
        armed += 1
        timers.append((id, at, armed))
      case .disarm(let id): timers.removeAll { $0.id == id }
      case .displayLink(let isOn): nextFrame = isOn ? nextFrame ?? now + DisplayLink.frame : nil
      case .screen(let record): screen.append((now, record))
      case .store(let key, let bytes):
        store[key] = bytes
        order.append("store \(key)")
      case .note(let note):
        notes.append((now, note))
        order.append("note \(note.kind)")
      }
    }
  }

  // MARK: What came out

  func last(_ method: Method) -> RequestMessage? { sent.last { $0.request.method == method.rawValue }?.request }
  func requests(_ method: Method) -> [RequestMessage] { sent.map(\.request).filter { $0.method == method.rawValue } }
  /// Instants, in milliseconds, of the requests of a method.
  func times(_ method: Method) -> [Double] {
    sent.filter { $0.request.method == method.rawValue }.map { Double($0.at.nanoseconds) / 1_000_000 }
  }

  /// Requests since the last look: `method` with key or session.
  mutating func new() -> [String] {
    defer { read = sent.count }
    return sent[read...].map { $0.request.summary }
  }

  /// Notes of a kind.
  func noted(_ kind: String) -> [JSONObject] { notes.filter { $0.note.kind == kind }.map(\.note.fields) }

  /// States of table D.4 of an operation, in order.
  func states(_ op: String) -> [String] {
    noted("op").filter { $0["operation"] == .string(op) }.compactMap { $0["state"]?.string }
  }

  func says(_ op: String) -> [String] {
    noted("says").filter { $0["operation"] == .string(op) }.compactMap { $0["state"]?.string }
  }

  /// Outcomes of all loads that ended.
  var outcomes: [String] { noted("load.end").compactMap { $0["outcome"]?.string } }
  /// Starts of all loads: reasons and try.
  var loads: [String] { noted("load.start").map { "\($0["reason"]?.string ?? "") \($0["try"]?.int ?? 0)" } }
  /// The rows on screen: item IDs, live ones with `~`, echoes with `+`.
  var rows: [String] {
    (noted("show").last?["rows"]?.array ?? []).map { row in
      let id = row["id"]?.string ?? ""
      switch row["origin"]?.string {
      case "live": return "~" + id
      case "echo": return "+" + id
      default: return id
      }
    }
  }
  /// The queue on screen: operation and status of each entry.
  var queue: [String] {
    (noted("queue").last?["entries"]?.array ?? []).map { "\($0["operation"]?.string ?? "") \($0["status"]?.string ?? "")" }
  }
  var draft: String { noted("composer").last?["text"]?.string ?? "" }
}

extension RequestMessage {
  var summary: String {
    if let idempotencyKey { return idempotencyKey }
    if method == Method.timelineInterest.rawValue {
      return (params["hold"]?.bool ?? false ? "hold " : "release ") + (params["threadId"]?.string ?? params["sessionId"]?.string ?? "")
    }
    return "\(method) \(params["sessionId"]?.string ?? "")"
  }
}
