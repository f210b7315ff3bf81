import Contract
import HBCodeDialect
import Simulation
import Wire

extension HBCodeScenario: Scenario {
  package var stretches: [StretchSummary] { tape.map(\.summary) }

  /// The printed form (article `ScenarioFormat`): defaults are left out, times are seconds.
  package var json: JSON {
    var top = Members()
    top.add("system", "hbcode")
    top.add("format", .integer(HBCodeScenario.format))
    top.add("origin", facts.origin, unless: "hand", JSON.string)
    top.add("wallClock", facts.wallClockMilliseconds, unless: HBCodeScenario.standardWallClock, JSON.integer)
    top.add("start", facts.start, unless: .zero, \.scenarioJSON)
    top.add("end", facts.end.scenarioJSON)
    switch (facts.oneWay.count, facts.oneWay[""]) {
    case (0, _): break
    case (1, let delay?): top.add("oneWay", delay.scenarioJSON)
    default:
      top.add(
        "oneWay",
        .object(JSONObject(facts.oneWay.keys.sorted().map { .init(name: $0, value: (facts.oneWay[$0] ?? .zero).scenarioJSON) })))
    }
    top.add("client", clientStart, unless: .object([:])) { $0 }
    let wall = facts.wallClockMilliseconds
    top.add("desktops", .array(desktops.map { $0.json(wall) }))
    top.add("intents", list: facts.intents) { $0.scenarioJSON }
    top.add("stretches", list: tape) { $0.json }
    top.add("service", list: service) { $0.json }
    top.add("conditions", list: facts.conditions) { $0.scenarioJSON }
    top.add("outages", list: facts.outages) { $0.scenarioJSON }
    if !facts.draws.isEmpty {
      top.add(
        "draws",
        .object(
          JSONObject(facts.draws.keys.sorted().map { .init(name: $0, value: .array((facts.draws[$0] ?? []).map(JSON.scenarioNumber))) })))
    }
    if book != IdentifierBook() { top.add("book", book.json) }
    top.add("notes", list: facts.notes) { $0.scenarioJSON }
    return top.json
  }

  /// Reads the printed form; throws with the key path of what is wrong.
  package init(json: JSON) throws(JSONError) {
    var top = try Fields(json, at: "")
    let system = try top.text("system", default: "hbcode")
    guard system == "hbcode" else { throw JSONError(path: "system", problem: "“\(system)” is not hbcode") }
    let format = try top.integer("format", default: HBCodeScenario.format)
    guard format == HBCodeScenario.format else {
      throw JSONError(path: "format", problem: "\(format) is not read here; this program reads format \(HBCodeScenario.format)")
    }
    let wall = try top.integer("wallClock", default: HBCodeScenario.standardWallClock)
    var facts = ScenarioFacts(
      origin: try top.text("origin", default: "hand"), wallClockMilliseconds: wall, start: try top.instant("start", default: .zero),
      end: try top.instant("end"))
    if let oneWay = top.take("oneWay") {
      if oneWay.object != nil {
        var delays = try Fields(oneWay, at: "oneWay")
        for name in delays.names { facts.oneWay[name] = try delays.interval(name) }
      } else {
        facts.oneWay[""] = try top.interval("oneWay")
      }
    }
    self.init(facts: facts, clientStart: top.take("client") ?? .object([:]), desktops: [])
    for (index, desktop) in try top.array("desktops").enumerated() {
      desktops.append(try DesktopState(json: desktop, at: "desktops[\(index)]", wall))
    }
    for (index, intent) in try top.array("intents").enumerated() {
      self.facts.intents.append(try Intent(scenario: intent, at: "intents[\(index)]", number: index + 1))
    }
    for (index, stretch) in try top.array("stretches").enumerated() {
      tape.append(try Stretch(json: stretch, at: "stretches[\(index)]", number: index + 1, wall))
    }
    for (index, rule) in try top.array("service").enumerated() { service.append(try ServiceRule(json: rule, at: "service[\(index)]")) }
    for (index, condition) in try top.array("conditions").enumerated() {
      self.facts.conditions.append(try LinkCondition(scenario: condition, at: "conditions[\(index)]"))
    }
    for (index, outage) in try top.array("outages").enumerated() {
      self.facts.outages.append(try Outage(scenario: outage, at: "outages[\(index)]"))
    }
    if let draws = top.take("draws") {
      var purposes = try Fields(draws, at: "draws")
      for name in purposes.names {
        var list: [Double] = []
        for (index, value) in try purposes.array(name).enumerated() {
          guard let number = value.double, number.isFinite else {
            throw JSONError(path: "draws.\(name)[\(index)]", problem: "expected a number, found \(value.kindInWords)")
          }
          list.append(number)
        }
        self.facts.draws[name] = list
      }
    }
    if let json = top.take("book") { book = try IdentifierBook(json: json, at: "book") }
    for (index, note) in try top.array("notes").enumerated() { self.facts.notes.append(try Note(scenario: note, at: "notes[\(index)]")) }
    try top.finish()
    try checkNames()
  }

  /// The version of the printed form.
  package static let format: Int64 = 1
  /// Wall clock of t = 0 where a hand-written scenario names none: 2026-01-01 00:00 UTC.
  package static let standardWallClock: Int64 = 1_767_225_600_000

  /// What names something must name it once, and what points at something must find it.
  private func checkNames() throws(JSONError) {
    var seen = Set<String>()
    for (index, desktop) in desktops.enumerated() where !seen.insert(desktop.id).inserted {
      throw JSONError(path: "desktops[\(index)].id", problem: "“\(desktop.id)” stands twice")
    }
    var sessions = Set<String>()
    for (d, desktop) in desktops.enumerated() {
      for (s, session) in desktop.sessions.enumerated() where !sessions.insert(session.id).inserted {
        throw JSONError(path: "desktops[\(d)].sessions[\(s)].id", problem: "“\(session.id)” stands twice")
      }
    }
    var intents = Set<String>()
    for (index, intent) in facts.intents.enumerated() where !intents.insert(intent.id).inserted {
      throw JSONError(path: "intents[\(index)].id", problem: "“\(intent.id)” stands twice")
    }
    var ids = Set<String>()
    for (index, stretch) in tape.enumerated() where !ids.insert(stretch.id).inserted {
      throw JSONError(path: "stretches[\(index)].id", problem: "“\(stretch.id)” stands twice")
    }
    for (index, stretch) in tape.enumerated() {
      let path = "stretches[\(index)]"
      if let session = stretch.session, !sessions.contains(session) {
        throw JSONError(path: path + (stretch.lane == nil ? ".session" : ".lane"), problem: "there is no session “\(session)”")
      }
      if let desktop = stretch.desktop, !seen.contains(desktop) {
        throw JSONError(path: path + ".desktop", problem: "there is no desktop “\(desktop)”")
      }
      try check(stretch.cause, at: path + ".cause", stretches: ids, intents: intents)
      if case .stopped(let intent) = stretch.end, !intents.contains(intent) {
        throw JSONError(path: path + ".end.stopped", problem: "there is no intent “\(intent)”")
      }
    }
  }

  private func check(_ cause: Cause, at path: String, stretches: Set<String>, intents: Set<String>) throws(JSONError) {
    switch cause {
    case .clock, .operation, .request: break
    case .accepted(let intent):
      if !intents.contains(intent) { throw JSONError(path: path + ".accepted", problem: "there is no intent “\(intent)”") }
    case .after(let stretch, _):
      if !stretches.contains(stretch) { throw JSONError(path: path + ".after", problem: "there is no stretch “\(stretch)”") }
    case .all(let causes):
      for (index, cause) in causes.enumerated() {
        try check(cause, at: path + ".all[\(index)]", stretches: stretches, intents: intents)
      }
    }
  }
}

extension JSON {
  /// A number that prints the same after it was read: whole ones as integers.
  fileprivate static func scenarioNumber(_ value: Double) -> JSON { Int64(exactly: value).map(JSON.integer) ?? .double(value) }
}

// MARK: Server state

extension DesktopState {
  fileprivate func json(_ wall: Int64) -> JSON {
    var members = Members()
    members.add("id", .string(id))
    members.add("sessions", list: sessions) { $0.json(wall) }
    return members.json
  }

  fileprivate init(json: JSON, at path: String, _ wall: Int64) throws(JSONError) {
    var fields = try Fields(json, at: path)
    self.init(id: try fields.nonblank("id"), sessions: [])
    for (index, session) in try fields.array("sessions").enumerated() {
      sessions.append(try SessionState(json: session, at: "\(path).sessions[\(index)]", wall))
    }
    try fields.finish()
  }
}

extension SessionState {
  fileprivate func json(_ wall: Int64) -> JSON {
    var members = Members()
    members.add("id", .string(id))
    members.add("agent", agent, unless: .codex) { .string($0.rawValue) }
    members.add("projectPath", projectPath, unless: SessionState.standardProject, JSON.string)
    members.add("title", title.map(JSON.string))
    members.add("updatedAt", updatedAt, unless: wall, JSON.integer)
    members.add("loadState", loadState, unless: .ready) { $0.scenarioJSON }
    members.add("nativeSessionId", nativeSessionId.map(JSON.string))
    members.add("runtime", runtime.map(JSON.object))
    members.add("history", list: history) { .object($0.raw) }
    members.add("historyGoesOn", historyGoesOn, unless: false, JSON.bool)
    members.add("overlay", overlay, unless: SessionState.standardOverlay) { $0.json }
    members.add("activeRun", activeRun.map { .object($0.raw) })
    if outbox != OutboxList(revision: 0, entries: []) {
      members.add("outbox", ["revision": .integer(outbox.revision), "entries": .array(outbox.entries.map(\.scenarioJSON))])
    }
    members.add("delivered", list: delivered, JSON.string)
    members.add("deliveryPaused", deliveryPaused, unless: false, JSON.bool)
    return members.json
  }

  fileprivate init(json: JSON, at path: String, _ wall: Int64) throws(JSONError) {
    var fields = try Fields(json, at: path)
    let word = try fields.text("agent", default: Agent.codex.rawValue)
    guard let agent = Agent(rawValue: word) else {
      throw JSONError(path: path + ".agent", problem: "“\(word)” is neither codex nor claude")
    }
    self.init(
      id: try fields.nonblank("id"), agent: agent, projectPath: try fields.text("projectPath", default: SessionState.standardProject),
      title: try fields.optionalText("title"), updatedAt: try fields.integer("updatedAt", default: wall))
    if let state = fields.take("loadState") { loadState = try LoadState(scenario: state, at: path + ".loadState") }
    nativeSessionId = try fields.optionalText("nativeSessionId")
    runtime = try fields.optionalObject("runtime")
    for (index, row) in try fields.array("history").enumerated() {
      let row = try Row(scenario: row, at: "\(path).history[\(index)]", origin: .canonical, wall)
      guard row.origin == .canonical else {
        throw JSONError(path: "\(path).history[\(index)].origin", problem: "history holds canonical rows")
      }
      history.append(row)
    }
    historyGoesOn = try fields.flag("historyGoesOn", default: false)
    if let json = fields.take("overlay") {
      overlay = try decoded(at: path + ".overlay") { () throws(DecodeFailure) in
        try LiveOverlay.decode(json.withStandard([("settlementEpoch", 1), ("revision", 0), ("blocks", [])]), at: path + ".overlay")
      }
    }
    if let json = fields.take("activeRun"), !json.isNull { activeRun = try ActiveRun(scenario: json, at: path + ".activeRun", wall) }
    if let json = fields.take("outbox") {
      var list = try Fields(json, at: path + ".outbox")
      outbox.revision = try list.integer("revision", default: 0, in: 0...Fields.exactIntegers.upperBound)
      for (index, entry) in try list.array("entries").enumerated() {
        outbox.entries.append(try OutboxEntry(scenario: entry, at: "\(path).outbox.entries[\(index)]", wall))
      }
      try list.finish()
    }
    for (index, operation) in try fields.array("delivered").enumerated() {
      guard let operation = operation.string else {
        throw JSONError(path: "\(path).delivered[\(index)]", problem: "expected a string, found \(operation.kindInWords)")
      }
      delivered.append(operation)
    }
    deliveryPaused = try fields.flag("deliveryPaused", default: false)
    try fields.finish()
  }

  /// The project folder of a session where a hand-written scenario names none.
  package static let standardProject = "projects/garden"
  private static let standardOverlay = LiveOverlay(version: OverlayVersion(epoch: 1, revision: 0), blocks: [])
}

extension LoadState {
  fileprivate var scenarioJSON: JSON {
    switch self {
    case .ready: ["type": "ready"]
    case .pending: ["type": "pending"]
    case .unavailable(let reason): ["type": "unavailable", "reason": .string(reason)]
    }
  }

  fileprivate init(scenario json: JSON, at path: String) throws(JSONError) {
    var fields = try Fields(json, at: path)
    switch try fields.text("type") {
    case "ready": self = .ready
    case "pending": self = .pending
    case "unavailable": self = .unavailable(reason: try fields.nonblank("reason"))
    case let word: throw JSONError(path: path + ".type", problem: "“\(word)” is none of ready, pending, unavailable")
    }
    try fields.finish()
  }
}

extension ActiveRun {
  fileprivate init(scenario json: JSON, at path: String, _ wall: Int64) throws(JSONError) {
    guard let raw = json.object else { throw JSONError(path: path, problem: "expected an object, found \(json.kindInWords)") }
    let whole = json.withStandard([("runId", nil), ("threadId", .null), ("turnId", .null), ("startedAt", .integer(wall))])
    guard let run = whole["runId"]?.string, !run.isEmpty else { throw JSONError(path: path + ".runId", problem: "needs a string") }
    guard let started = whole["startedAt"]?.integer else { throw JSONError(path: path + ".startedAt", problem: "needs an integer") }
    self.init(
      runId: run, threadId: raw["threadId"]?.string, turnId: raw["turnId"]?.string, startedAt: started, raw: whole.object)
  }
}

// MARK: Rows and entries

extension Row {
  /// A row as on the wire; what may be left out: `origin` (by its place), `timestamp`, and what `standard` gives.
  fileprivate init(
    scenario json: JSON, at path: String, origin: RowOrigin, _ wall: Int64, standard: [(String, JSON?)] = []
  ) throws(JSONError) {
    if json.repeatsKey { throw JSONError(path: path, problem: "a key stands twice") }
    let whole = json.withStandard(
      [
        ("type", nil), ("id", nil), ("origin", .string(origin.rawValue)), ("sourceOrder", nil), ("timestamp", .integer(wall)),
      ] + standard)
    self = try decoded(at: path) { () throws(DecodeFailure) in try Row.decode(whole, at: path) }
  }
}

extension OutboxEntry {
  /// The entry as on the wire. One whose mode and run do not fit (which no decoder lets through) is printed as null.
  fileprivate var scenarioJSON: JSON { (try? json) ?? .null }

  /// An entry as on the wire; all but `operationId` and `userText` may be left out.
  fileprivate init(scenario json: JSON, at path: String, _ wall: Int64) throws(JSONError) {
    let whole = json.withStandard([
      ("queueId", .string("q-" + (json["operationId"]?.string ?? ""))), ("operationId", nil), ("userText", nil),
      ("promptText", json["userText"]), ("status", "queued"), ("sendMode", "queue"), ("expectedActiveRunId", .null),
      ("pendingMutation", .null), ("accepted", .null), ("handoff", .null), ("holdReason", .null), ("error", .null), ("message", .null),
      ("threadId", .null), ("selection", .null), ("speedMode", "standard"), ("accessLevel", "Full auto"), ("attachments", []),
      ("createdAt", .integer(wall)),
    ])
    self = try decoded(at: path) { () throws(DecodeFailure) in try OutboxEntry.decode(whole, at: path, fromDesktop: true) }
  }
}

/// Runs a decoder of the dialect; its failure becomes an error with the key path in the scenario.
private func decoded<Value>(at path: String, _ decode: () throws(DecodeFailure) -> Value) throws(JSONError) -> Value {
  do { return try decode() } catch { throw JSONError(path: error.at.isEmpty ? path : error.at, problem: error.reason) }
}

extension JSON {
  /// This object with the listed members that it lacks (nil: only their place is known), in the listed order; others follow. The object
  /// itself when nothing is missing, so that what was printed keeps its order.
  fileprivate func withStandard(_ members: [(String, JSON?)]) -> JSON {
    guard let object else { return self }
    if members.allSatisfy({ object[$0.0] != nil || $0.1 == nil }) { return self }
    var whole = JSONObject()
    for (name, standard) in members {
      if let value = object[name] ?? standard { whole.members.append(JSONObject.Member(name: name, value: value)) }
    }
    let listed = Set(members.map(\.0))
    whole.members.append(contentsOf: object.members.filter { !listed.contains($0.name) })
    return .object(whole)
  }
}

// MARK: Stretches

extension Stretch {
  /// The stretch as the contract lists it.
  package var summary: StretchSummary {
    StretchSummary(
      id: id, lane: lane?.session, cause: cause.words, delay: delay, length: length, steps: steps.count, end: end.words)
  }

  fileprivate var json: JSON {
    var members = Members()
    members.add("id", .string(id))
    members.add("lane", (lane?.session).map(JSON.string))
    if lane == nil { members.add("session", session.map(JSON.string)) }
    members.add("desktop", desktop.map(JSON.string))
    members.add("cause", cause.json)
    members.add("delay", delay, unless: .zero, \.scenarioJSON)
    members.add("steps", list: steps) { $0.json }
    members.add("outcome", list: outcome) { .object($0.raw) }
    members.add("length", length, unless: steps.last?.offset ?? .zero, \.scenarioJSON)
    members.add("end", end, unless: .finished) { $0.json }
    if let run {
      var json: JSONObject = ["runId": .string(run.runId)]
      json["threadId"] = run.threadId.map(JSON.string)
      json["turnId"] = run.turnId.map(JSON.string)
      members.add("run", .object(json))
    }
    members.add("recordedBegin", recordedBegin.map(\.scenarioJSON))
    members.add("stopTime", stopTime.map(\.scenarioJSON))
    members.add("startedAt", stamps.startedAt.map(JSON.integer))
    members.add("endedAt", stamps.endedAt.map(JSON.integer))
    members.add("updatedAt", stamps.updatedAt.map(JSON.integer))
    members.add("basis", basis, unless: .recorded) { .string($0.rawValue) }
    return members.json
  }

  fileprivate init(json: JSON, at path: String, number: Int, _ wall: Int64) throws(JSONError) {
    var fields = try Fields(json, at: path)
    let lane = try fields.optionalText("lane").map { Lane($0) }
    var run: RecordedRun?
    if let json = fields.take("run"), !json.isNull {
      var members = try Fields(json, at: path + ".run")
      run = RecordedRun(
        runId: try members.nonblank("runId"), threadId: try members.optionalText("threadId"), turnId: try members.optionalText("turnId"))
      try members.finish()
    }
    let cause = try Cause(json: try fields.required("cause"), at: path + ".cause", depth: 0)
    var live: [(String, JSON?)] = []
    if let run { live.append(("runId", .string(run.runId))) }
    var steps: [Step] = []
    for (index, step) in try fields.array("steps").enumerated() {
      let step = try Step(json: step, at: "\(path).steps[\(index)]", wall, live: live, operation: cause.operation)
      if let last = steps.last, step.offset < last.offset {
        throw JSONError(path: "\(path).steps[\(index)].at", problem: "\(step.offset) comes before \(last.offset) of the step before")
      }
      steps.append(step)
    }
    var outcome: [Row] = []
    for (index, row) in try fields.array("outcome").enumerated() {
      let at = "\(path).outcome[\(index)]"
      let row = try Row(scenario: row, at: at, origin: .canonical, wall, standard: live + Stretch.userStandard(row, cause.operation))
      guard row.origin == .canonical else { throw JSONError(path: at + ".origin", problem: "an outcome is canonical") }
      outcome.append(row)
    }
    let length = try fields.interval("length", default: steps.last?.offset ?? .zero)
    if let last = steps.last, last.offset > length {
      throw JSONError(path: path + ".length", problem: "\(length) ends before the last step at \(last.offset)")
    }
    let session = try fields.optionalText("session")
    if let lane, let session, lane.session != session {
      throw JSONError(path: path + ".session", problem: "“\(session)” is not the lane “\(lane.session)”")
    }
    self.init(
      id: try fields.text("id", default: "stretch-\(number)"), lane: lane, cause: cause,
      delay: try fields.interval("delay", default: .zero),
      steps: steps, outcome: outcome, length: length, end: try StretchEnd(json: fields.take("end"), at: path + ".end"), run: run,
      recordedBegin: nil, basis: try fields.basis(default: .recorded), session: session, desktop: try fields.optionalText("desktop"))
    if let begin = fields.take("recordedBegin"), !begin.isNull { recordedBegin = try fields.instant("recordedBegin") }
    if let time = fields.take("stopTime"), !time.isNull { stopTime = try fields.interval("stopTime") }
    stamps = RunStamps(
      startedAt: try fields.optionalInteger("startedAt"), endedAt: try fields.optionalInteger("endedAt"),
      updatedAt: try fields.optionalInteger("updatedAt"))
    try fields.finish()
  }

  /// A user row of an operation's stretch is that operation's, unless it says otherwise.
  fileprivate static func userStandard(_ row: JSON, _ operation: String?) -> [(String, JSON?)] {
    guard let operation, row["type"]?.string == RowType.user.rawValue else { return [] }
    return [("operationId", .string(operation))]
  }
}

extension Step {
  fileprivate var json: JSON {
    var members = Members()
    members.add("at", offset, unless: .zero, \.scenarioJSON)
    members.add("increment", increment, unless: Step.standardIncrement(changes), JSON.integer)
    members.add("changes", list: changes) { $0.json }
    return members.json
  }

  fileprivate init(json: JSON, at path: String, _ wall: Int64, live: [(String, JSON?)], operation: String?) throws(JSONError) {
    var fields = try Fields(json, at: path)
    self.init(offset: try fields.interval("at", default: .zero), changes: [])
    for (index, change) in try fields.array("changes").enumerated() {
      changes.append(try Change(json: change, at: "\(path).changes[\(index)]", wall, live: live, operation: operation))
    }
    increment = try fields.integer("increment", default: Step.standardIncrement(changes), in: 0...Fields.exactIntegers.upperBound)
    try fields.finish()
  }

  private static func standardIncrement(_ changes: [Change]) -> Int64 {
    changes.contains {
      switch $0 {
      case .put, .take: true
      default: false
      }
    } ? 1 : 0
  }
}

extension Change {
  fileprivate var json: JSON {
    switch self {
    case .put(let row): ["put": .object(row.raw)]
    case .take(let identity): ["take": .string(identity)]
    case .history(let row): ["history": .object(row.raw)]
    case .entry(let entry): ["entry": entry.scenarioJSON]
    case .leave(let operation): ["leave": .string(operation)]
    case .hold(let operation, let reason): ["hold": .string(operation), "reason": reason.map(JSON.string) ?? .null]
    case .title(let title): ["title": title.map(JSON.string) ?? .null]
    case .runtime(let runtime): ["runtime": runtime.map(JSON.object) ?? .null]
    case .epochJump(let by): ["epochJump": .integer(by)]
    case .outboxRevision(let by): ["outboxRevision": .integer(by)]
    case .event(let name, let fields): ["event": .string(name), "fields": .object(fields)]
    }
  }

  fileprivate init(json: JSON, at path: String, _ wall: Int64, live: [(String, JSON?)], operation: String?) throws(JSONError) {
    var fields = try Fields(json, at: path)
    switch fields.names.first {
    case "put":
      let row = try fields.required("put")
      let put = try Row(scenario: row, at: path + ".put", origin: .live, wall, standard: live + Stretch.userStandard(row, operation))
      guard put.origin == .live else { throw JSONError(path: path + ".put.origin", problem: "what is put in the overlay is live") }
      self = .put(put)
    case "take": self = .take(identity: try fields.nonblank("take"))
    case "history":
      let row = try fields.required("history")
      let canonical = try Row(
        scenario: row, at: path + ".history", origin: .canonical, wall, standard: live + Stretch.userStandard(row, operation))
      guard canonical.origin == .canonical else { throw JSONError(path: path + ".history.origin", problem: "history is canonical") }
      self = .history(canonical)
    case "entry": self = .entry(try OutboxEntry(scenario: try fields.required("entry"), at: path + ".entry", wall))
    case "leave": self = .leave(operation: try fields.nonblank("leave"))
    case "hold": self = .hold(operation: try fields.nonblank("hold"), reason: try fields.optionalText("reason"))
    case "title": self = .title(try fields.optionalText("title"))
    case "runtime": self = .runtime(try fields.optionalObject("runtime"))
    case "epochJump": self = .epochJump(by: try fields.integer("epochJump", default: 1, in: 1...Fields.exactIntegers.upperBound))
    case "outboxRevision":
      self = .outboxRevision(by: try fields.integer("outboxRevision", default: 1, in: 1...Fields.exactIntegers.upperBound))
    case "event": self = .event(name: try fields.nonblank("event"), fields: try fields.optionalObject("fields") ?? [:])
    case let name:
      throw JSONError(
        path: path,
        problem: "“\(name ?? "")” is none of put, take, history, entry, leave, hold, title, runtime, epochJump, outboxRevision, event")
    }
    try fields.finish()
  }
}

extension Cause {
  /// The operation that this cause waits for, if it is one.
  package var operation: String? { if case .operation(let id) = self { id } else { nil } }

  /// For people: `operation op-1`, `clock 0:12.000`, `after run-1/op-1 ended`.
  package var words: String {
    switch self {
    case .clock(let at): "clock \(at)"
    case .operation(let id): "operation \(id)"
    case .accepted(let intent): "accepted \(intent)"
    case .after(let stretch, let moment): "after \(stretch) \(moment.words)"
    case .request(let method, let nth): "request \(method) \(nth)"
    case .all(let causes): causes.map(\.words).joined(separator: " and ")
    }
  }

  fileprivate var json: JSON {
    switch self {
    case .clock(let at): ["clock": at.scenarioJSON]
    case .operation(let id): ["operation": .string(id)]
    case .accepted(let intent): ["accepted": .string(intent)]
    case .after(let stretch, let moment): ["after": .string(stretch), "moment": moment.json]
    case .request(let method, let nth): ["request": .string(method), "nth": .int(nth)]
    case .all(let causes): ["all": .array(causes.map(\.json))]
    }
  }

  fileprivate init(json: JSON, at path: String, depth: Int) throws(JSONError) {
    guard depth < 8 else { throw JSONError(path: path, problem: "causes lie more than 8 deep") }
    var fields = try Fields(json, at: path)
    switch fields.names.first {
    case "clock": self = .clock(try fields.instant("clock"))
    case "operation": self = .operation(try fields.nonblank("operation"))
    case "accepted": self = .accepted(intent: try fields.nonblank("accepted"))
    case "after":
      self = .after(stretch: try fields.nonblank("after"), try Moment(json: fields.take("moment"), at: path + ".moment"))
    case "request":
      let method = try fields.nonblank("request")
      self = .request(method: method, nth: Int(try fields.integer("nth", default: 1, in: 1...1_000_000_000)))
    case "all":
      var causes: [Cause] = []
      for (index, cause) in try fields.array("all").enumerated() {
        causes.append(try Cause(json: cause, at: "\(path).all[\(index)]", depth: depth + 1))
      }
      guard !causes.isEmpty else { throw JSONError(path: path + ".all", problem: "needs a cause") }
      self = .all(causes)
    case let name: throw JSONError(path: path, problem: "“\(name ?? "")” is none of clock, operation, accepted, after, request, all")
    }
    try fields.finish()
  }
}

extension Moment {
  fileprivate var words: String {
    switch self {
    case .began: "began"
    case .step(let n): "step \(n)"
    case .ended: "ended"
    }
  }

  fileprivate var json: JSON {
    switch self {
    case .began: "began"
    case .step(let n): ["step": .int(n)]
    case .ended: "ended"
    }
  }

  fileprivate init(json: JSON?, at path: String) throws(JSONError) {
    switch json {
    case nil, .string("ended")?: self = .ended
    case .string("began")?: self = .began
    case let other?:
      guard let n = other["step"]?.int, n >= 0, other.object?.count == 1 else {
        throw JSONError(path: path, problem: "expected \"began\", \"ended\" or {\"step\": n}")
      }
      self = .step(n)
    }
  }
}

extension StretchEnd {
  fileprivate var words: String {
    switch self {
    case .finished: "finished"
    case .failed: "failed"
    case .aborted: "aborted"
    case .cancelled: "cancelled"
    case .stopped(let intent): "stopped by \(intent)"
    case .handedOver(let operation): "handed over to \(operation)"
    case .open(let why): "open (\(why))"
    }
  }

  fileprivate var json: JSON {
    switch self {
    case .finished: "finished"
    case .failed: "failed"
    case .aborted: "aborted"
    case .cancelled: "cancelled"
    case .stopped(let intent): ["stopped": .string(intent)]
    case .handedOver(let operation): ["handedOver": .string(operation)]
    case .open(let why): ["open": .string(why)]
    }
  }

  fileprivate init(json: JSON?, at path: String) throws(JSONError) {
    switch json {
    case nil, .string("finished")?: self = .finished
    case .string("failed")?: self = .failed
    case .string("aborted")?: self = .aborted
    case .string("cancelled")?: self = .cancelled
    case let other?:
      var fields = try Fields(other.object == nil ? [:] : other, at: path)
      switch fields.names.first {
      case "stopped": self = .stopped(intent: try fields.nonblank("stopped"))
      case "handedOver": self = .handedOver(operation: try fields.nonblank("handedOver"))
      case "open": self = .open(why: try fields.text("open"))
      default:
        throw JSONError(
          path: path,
          problem: "expected \"finished\", \"failed\", \"aborted\", \"cancelled\", {\"stopped\": intent}, {\"handedOver\": operation} or "
            + "{\"open\": why}")
      }
      try fields.finish()
    }
  }
}

// MARK: Service, link, user

extension ServiceRule {
  fileprivate var json: JSON {
    var members = Members()
    members.add("key", key.map(JSON.string))
    members.add("method", .string(method))
    members.add("nth", nth, unless: 1, JSON.int)
    switch what {
    case .slow(let by): members.add("slow", by.scenarioJSON)
    case .refused(let error):
      var refusal = Members()
      refusal.add("code", .string(error.code))
      refusal.add("message", error.message, unless: "", JSON.string)
      refusal.add("permanent", error.permanent, unless: false, JSON.bool)
      members.add("refused", refusal.json)
    case .takenLate(let by): members.add("takenLate", by.scenarioJSON)
    case .steerAccepted(let after, let clock):
      members.add("steerAccepted", after.scenarioJSON)
      members.add("clock", clock.map(JSON.integer))
    }
    return members.json
  }

  fileprivate init(json: JSON, at path: String) throws(JSONError) {
    var fields = try Fields(json, at: path)
    let key = try fields.optionalText("key")
    let method = try fields.nonblank("method")
    let nth = Int(try fields.integer("nth", default: 1, in: 1...1_000_000_000))
    let what: What
    let named = fields.names.filter { ["slow", "refused", "takenLate", "steerAccepted"].contains($0) }
    switch (named.count, named.first) {
    case (1, "slow"): what = .slow(try fields.interval("slow"))
    case (1, "takenLate"): what = .takenLate(try fields.interval("takenLate"))
    case (1, "steerAccepted"):
      what = .steerAccepted(after: try fields.interval("steerAccepted"), clock: try fields.optionalInteger("clock"))
    case (1, _):
      var error = try Fields(try fields.required("refused"), at: path + ".refused")
      what = .refused(
        WireError(
          code: try error.nonblank("code"), message: try error.text("message", default: ""),
          permanent: try error.flag("permanent", default: false)))
      try error.finish()
    default: throw JSONError(path: path, problem: "needs one of slow, refused, takenLate, steerAccepted")
    }
    self.init(key: key, method: method, nth: nth, what: what)
    try fields.finish()
  }
}

extension LinkCondition {
  fileprivate var scenarioJSON: JSON {
    var members = Members()
    if let role = pattern.role { members.add("role", .string(role.rawValue)) }
    members.add("name", pattern.name.map(JSON.string))
    members.add("where", list: pattern.conditions) { [.string($0.field), .string($0.comparison.rawValue), .string($0.value)] }
    members.add("nth", nth, unless: 1, JSON.int)
    switch what {
    case .lost: members.add("what", "lost")
    case .late(let by): members.add("what", ["late": by.scenarioJSON])
    case .closed(let code, let who): members.add("what", ["closed": .int(code), "who": .string(who)])
    }
    members.add("reason", reason, unless: "", JSON.string)
    members.add("basis", basis, unless: .derived) { .string($0.rawValue) }
    return members.json
  }

  fileprivate init(scenario json: JSON, at path: String) throws(JSONError) {
    var fields = try Fields(json, at: path)
    var pattern = FramePattern(name: nil)
    if let word = try fields.optionalText("role") {
      guard let role = FrameLabel.Role(rawValue: word) else {
        throw JSONError(path: path + ".role", problem: "“\(word)” is none of request, response, event, other")
      }
      pattern.role = role
    }
    pattern.name = try fields.optionalText("name")
    for (index, condition) in try fields.array("where").enumerated() {
      guard let parts = condition.array, parts.count == 3, let field = parts[0].string,
        let comparison = parts[1].string.flatMap(FieldComparison.init(rawValue:)), let value = parts[2].string
      else { throw JSONError(path: "\(path).where[\(index)]", problem: "expected [field, comparison, value], all texts") }
      pattern.conditions.append(FramePattern.Condition(field: field, comparison: comparison, value: value))
    }
    let what: What
    switch try fields.required("what") {
    case .string("lost"): what = .lost
    case let other:
      var members = try Fields(other, at: path + ".what")
      if members.names.first == "late" {
        what = .late(try members.interval("late"))
      } else {
        guard members.take("closed")?.integer != nil else {
          throw JSONError(path: path + ".what", problem: "expected \"lost\", {\"late\": seconds} or {\"closed\": code}")
        }
        what = .closed(
          code: Int(try members.integer("closed", default: 1006, in: 0...65_535)), who: try members.text("who", default: "network"))
      }
      try members.finish()
    }
    self.init(
      pattern: pattern, nth: Int(try fields.integer("nth", default: 1, in: 1...1_000_000_000)), what: what,
      reason: try fields.text("reason", default: ""), basis: try fields.basis(default: .derived))
    try fields.finish()
  }
}

extension Outage {
  fileprivate var scenarioJSON: JSON {
    var members = Members()
    members.add("from", from.scenarioJSON)
    members.add("until", until.scenarioJSON)
    members.add("code", code, unless: 1006, JSON.int)
    members.add("who", who, unless: "network", JSON.string)
    return members.json
  }

  fileprivate init(scenario json: JSON, at path: String) throws(JSONError) {
    var fields = try Fields(json, at: path)
    self.init(
      from: try fields.instant("from"), until: try fields.instant("until"),
      code: Int(try fields.integer("code", default: 1006, in: 0...65_535)), who: try fields.text("who", default: "network"))
    guard from <= until else { throw JSONError(path: path + ".until", problem: "\(until) comes before \(from)") }
    try fields.finish()
  }
}

extension Intent {
  fileprivate var scenarioJSON: JSON {
    var members = Members()
    members.add("id", .string(id))
    members.add("at", at.scenarioJSON)
    members.add("user", gesture.json)
    members.add("target", target.map(JSON.string))
    members.add("lag", lag, unless: .zero, \.scenarioJSON)
    members.add("basis", basis, unless: .recorded) { .string($0.rawValue) }
    return members.json
  }

  fileprivate init(scenario json: JSON, at path: String, number: Int) throws(JSONError) {
    var fields = try Fields(json, at: path)
    let id = try fields.text("id", default: "i\(number)")
    let at = try fields.instant("at")
    let gesture: Gesture
    do {
      gesture = try Gesture(json: try fields.required("user"))
      try UserAction.check(gesture)
    } catch {
      throw JSONError(path: error.path.hasPrefix(path) ? error.path : Fields.join(path + ".user", error.path), problem: error.problem)
    }
    self.init(
      id: id, at: at, gesture: gesture, target: try fields.optionalText("target"), lag: try fields.interval("lag", default: .zero),
      basis: try fields.basis(default: .recorded))
    try fields.finish()
  }
}

extension Note {
  fileprivate var scenarioJSON: JSON {
    var members = Members()
    members.add("what", .string(what))
    members.add("frames", list: frames, JSON.int)
    members.add("basis", basis, unless: .derived) { .string($0.rawValue) }
    return members.json
  }

  fileprivate init(scenario json: JSON, at path: String) throws(JSONError) {
    var fields = try Fields(json, at: path)
    self.init(try fields.text("what"), basis: try fields.basis(default: .derived))
    for (index, frame) in try fields.array("frames").enumerated() {
      guard let frame = frame.int else { throw JSONError(path: "\(path).frames[\(index)]", problem: "expected a frame's number") }
      frames.append(frame)
    }
    try fields.finish()
  }
}

extension IdentifierBook {
  fileprivate var json: JSON {
    var members = Members()
    members.add("cursors", list: cursors) { ["session": .string($0.session), "row": .string($0.row), "cursor": .string($0.cursor)] }
    members.add("boundaryTokens", list: boundaryTokens) {
      ["session": .string($0.session), "lastRow": .string($0.lastRow), "token": .string($0.token)]
    }
    return members.json
  }

  fileprivate init(json: JSON, at path: String) throws(JSONError) {
    var fields = try Fields(json, at: path)
    self.init()
    for (index, cursor) in try fields.array("cursors").enumerated() {
      var members = try Fields(cursor, at: "\(path).cursors[\(index)]")
      cursors.append(
        CursorEntry(session: try members.text("session"), row: try members.text("row"), cursor: try members.nonblank("cursor")))
      try members.finish()
    }
    for (index, token) in try fields.array("boundaryTokens").enumerated() {
      var members = try Fields(token, at: "\(path).boundaryTokens[\(index)]")
      boundaryTokens.append(
        BoundaryEntry(session: try members.text("session"), lastRow: try members.text("lastRow"), token: try members.nonblank("token")))
      try members.finish()
    }
    try fields.finish()
  }
}

extension Fields {
  /// A string with at least one character that is not white space.
  mutating func nonblank(_ name: String) throws(JSONError) -> String {
    let text = try text(name)
    guard text.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else {
      throw JSONError(path: at(name), problem: "is blank")
    }
    return text
  }

  mutating func optionalObject(_ name: String) throws(JSONError) -> JSONObject? {
    guard let value = take(name), !value.isNull else { return nil }
    guard let object = value.object else {
      throw JSONError(path: at(name), problem: "expected an object or null, found \(value.kindInWords)")
    }
    return object
  }
}
