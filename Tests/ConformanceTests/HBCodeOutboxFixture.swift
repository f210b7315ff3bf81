import Catalog
import Contract
import Faults
import HBCodeDialect
import HBCodeScenario
import Replay
import Simulation
import Testing
import Wire

/// Runs the `outbox` kind through the whole world: phone, link with faults, desktop twin.
enum HBCodeOutboxFixture {
  static func run(_ fixture: JSON) throws {
    let runs = fixture["runs"]?.array ?? [fixture]
    #expect(!runs.isEmpty)
    for run in runs { try OutboxRun(run).check() }
  }
}

private struct OutboxRun {
  let json: JSON
  let name: String
  let expect: JSON
  let until: Instant
  let entries: [TraceEntry]

  init(_ json: JSON) throws {
    self.json = json
    name = json["name"]?.string ?? "run"
    expect = try #require(json["expect"])
    until = .zero + .milliseconds(expect["until"]?.integer ?? 60_000)
    let system = try #require(Catalog.systems.first { $0.name == "hbcode" })
    let scenario = try OutboxRun.scenario(json, until)
    var rules = try OutboxRun.rules(json, until)
    // `deliver-at` names the instant of arrival: a first run tells when the frame would come without it.
    let late = (json["faults"]?.array ?? []).filter { $0["do"]?.string == "deliver-at" }
    if !late.isEmpty {
      let trace = try OutboxRun.trace(system, scenario, json, rules)
      for fault in late {
        let frame = try #require(fault["frame"]?.string)
        let label = try #require(fault["method"]?.string ?? fault["event"]?.string)
        let nth = fault["nth"]?.int ?? 1
        let arrivals = trace.filter {
          $0.party == .link && $0.kind == "arrive" && $0["label"]?.string == frame && $0["name"]?.string == label
        }
        let arrival = try #require(arrivals.count >= nth ? arrivals[nth - 1] : nil, "no \(frame) \(label) to be late")
        let by = try #require(fault["at"]?.integer) * 1_000_000 - arrival.at.nanoseconds
        rules.append("delay,\(frame),\(label),by=\(by / 1_000_000)ms,nth=\(nth)")
      }
    }
    entries = try OutboxRun.trace(system, scenario, json, rules).filter { [until] in $0.at <= until }
  }

  private static func trace(_ system: ChatSystem, _ scenario: HBCodeScenario, _ json: JSON, _ rules: [String]) throws -> [TraceEntry] {
    let plan = try FaultPlan.none.adding(rules)
    try plan.check(against: system)
    let settings = WorldSettings(plan: plan, user: .clock, draws: .fixed(json["u"]?.double ?? 0))
    return try Run(system, scenario, settings).execute().trace.entries
  }

  private static func scenario(_ json: JSON, _ until: Instant) throws -> HBCodeScenario {
    let session = try #require(json["session"]?.string)
    let agent = try #require(json["agent"]?.string)
    var list = OutboxList(revision: json["start"]?["revision"]?.integer ?? 0, entries: [])
    for (index, short) in (json["start"]?["entries"]?.array ?? []).enumerated() {
      var full: JSONObject = [
        "queueId": nil, "operationId": nil, "userText": "", "promptText": "", "status": "queued", "sendMode": "queue",
        "expectedActiveRunId": nil, "pendingMutation": nil, "accepted": nil, "handoff": nil, "holdReason": nil, "error": nil,
        "message": nil, "threadId": nil, "selection": nil, "speedMode": "standard", "accessLevel": "Full auto", "attachments": [],
        "createdAt": 1_790_000_000_000,
      ]
      for member in short.object?.members ?? [] { full[member.name] = member.value }
      if short["promptText"] == nil { full["promptText"] = full["userText"] }
      list.entries.append(try OutboxEntry.decode(.object(full), at: "entries[\(index)]", fromDesktop: true))
    }
    var intents: [Intent] = []
    for (index, action) in (json["actions"]?.array ?? []).enumerated() {
      guard let name = action["do"]?.string, name != "kill", name != "launch" else { continue }
      var fields = JSONObject()
      for member in action.object?.members ?? [] where member.name != "t" && member.name != "do" {
        switch member.name {
        case "userText": fields["text"] = member.value
        case "operationId": fields["operation"] = member.value
        case "queueId" where name == "reorder": fields["move"] = member.value
        default: fields[member.name] = member.value
        }
      }
      let gesture = Gesture(["delete": "remove", "send-now": "sendNow"][name] ?? name, fields)
      let at = Instant.zero + .milliseconds(try #require(action["t"]?.integer))
      intents.append(Intent(id: "action-\(index + 1)", at: at, gesture: gesture))
    }
    let tape = try (json["desktop"]?.array ?? []).enumerated().map { index, step in
      let at = Instant.zero + .milliseconds(try #require(step["t"]?.integer))
      let operation = try #require(step["operationId"]?.string)
      let change: Change
      switch step["do"]?.string {
      case "leave-outbox": change = .leave(operation: operation)
      case "hold": change = .hold(operation: operation, reason: step["reason"]?.string)
      case let other:
        Issue.record("the desktop does not know how to \(other ?? "do nothing")")
        change = .outboxRevision(by: 0)
      }
      return Stretch(
        id: "desktop-\(index + 1)", lane: nil, cause: .clock(at), steps: [Step(offset: .zero, changes: [change])], length: .zero,
        session: session)
    }
    let confirmed: JSON = ["revision": .integer(list.revision), "entries": .array(try list.entries.map { try $0.json })]
    return HBCodeScenario(
      facts: ScenarioFacts(
        wallClockMilliseconds: json["wallClock"]?.integer ?? 1_790_000_000_000, end: until,
        oneWay: ["": .milliseconds(json["oneWayMs"]?.integer ?? 50)], intents: intents),
      clientStart: [
        "desktop": "desk-1", "project": "projects/garden", "sessions": [["id": .string(session), "agent": .string(agent)]],
        "selected": ["session": .string(session)], "connected": true,
        "outbox": .object(JSONObject([.init(name: session, value: confirmed)])),
      ],
      desktops: [
        DesktopState(
          id: "desk-1",
          sessions: [
            SessionState(
              id: session, agent: agent == "claude" ? .claude : .codex, projectPath: "projects/garden", updatedAt: 1_790_000_000_000,
              outbox: list, deliveryPaused: json["deliver"]?.string == "paused")
          ])
      ],
      tape: tape)
  }

  private static func rules(_ json: JSON, _ until: Instant) throws -> [String] {
    func escaped(_ text: String) -> String { text.replacing("\\", with: "\\\\").replacing(",", with: "\\,") }
    var rules: [String] = []
    let faults = json["faults"]?.array ?? []
    for (index, fault) in faults.enumerated() {
      let action = fault["do"]?.string ?? ""
      if let frame = fault["frame"]?.string {
        let label = try #require(fault["method"]?.string ?? fault["event"]?.string)
        let nth = fault["nth"]?.int.map { ",nth=\($0)" } ?? ""
        switch action {
        case "drop": rules.append("drop,\(frame),\(label)\(nth)")
        case "answer-error":
          let error = try #require(fault["error"])
          rules.append(
            "refuse,request,\(label),code=\(error["code"]?.string ?? ""),message=\(escaped(error["message"]?.string ?? "")),"
              + "permanent=\(error["permanent"]?.bool ?? false)\(nth)")
        case "deliver-at": break
        default: Issue.record("no fault \(action)")
        }
        continue
      }
      let at = try #require(fault["at"]?.integer)
      switch action {
      case "disconnect":
        let back = faults[(index + 1)...].first { $0["do"]?.string == "usable" }?["at"]?.integer ?? until.nanoseconds / 1_000_000 + 1_000
        rules.append("disconnect,conn,*,at=\(at)ms,for=\(back - at)ms")
      case "usable": break
      case "wall-step":
        let by = fault["byMs"]?.integer ?? fault["by"]?.integer ?? 0
        rules.append("step,clock,by=\(by)ms,at=\(at)ms")
      default: Issue.record("no fault \(action)")
      }
    }
    let actions = json["actions"]?.array ?? []
    for (index, action) in actions.enumerated() where action["do"]?.string == "kill" {
      let at = try #require(action["t"]?.integer)
      let back = actions[(index + 1)...].first { $0["do"]?.string == "launch" }?["t"]?.integer ?? until.nanoseconds / 1_000_000 + 1_000
      rules.append("restart,app,at=\(at)ms,for=\(back - at)ms")
    }
    return rules
  }

  // MARK: what came of it

  func check() throws {
    if let wanted = expect["frames"]?.array { try checkFrames(wanted) }
    if let wanted = expect["ops"]?.array {
      let found = entries.filter { $0.party == .core && $0.kind == "op" && $0["state"]?.string != "new" }
      compare(
        wanted, found.map { entry in { name in value(of: name, inOperation: entry) } }, "ops",
        found.map { "\($0.at) \($0["operation"]?.string ?? "") \($0["state"]?.string ?? "")" })
    }
    if let wanted = expect["saves"]?.array {
      let found = entries.filter { $0.party == .twin && $0.kind == "saved" }
      compare(
        wanted,
        found.map { entry in
          { name in name == "t" ? milliseconds(entry) : name == "operationId" ? entry["operation"] : entry[name] }
        }, "saves", found.map { "\($0.at) \($0["operation"]?.string ?? "")" })
    }
    if let wanted = expect["shown"]?.array { checkShown(wanted) }
    if let wanted = expect["composer"] {
      let last = entries.last { $0.party == .core && $0.kind == "composer" }
      #expect((last?["text"]?.string ?? "") == wanted.string, "\(name): composer")
    }
    if let wanted = expect["generation"] {
      #expect(entries.last { $0.party == .core && $0.kind == "store" }?["generation"] == wanted, "\(name): generation")
    }
  }

  private func milliseconds(_ entry: TraceEntry) -> JSON { .integer(entry.at.nanoseconds / 1_000_000) }

  private func value(of field: String, inOperation entry: TraceEntry) -> JSON? {
    switch field {
    case "t": milliseconds(entry)
    case "operationId": entry["operation"]
    case "shownStatus": entry["status"]
    default: entry[field]
    }
  }

  private func checkFrames(_ wanted: [JSON]) throws {
    let found = entries.filter { entry in
      guard entry.party == .link, entry["name"]?.string?.hasPrefix("run.chatOutbox") == true else { return false }
      return entry["dir"]?.string == "out" ? entry.kind == "send" : entry.kind == "arrive" && entry["label"]?.string == "response"
    }
    let sent = Dictionary(uniqueKeysWithValues: entries.filter { $0.kind == "send" }.map { ($0.index, $0) })
    var params: [String] = []
    let readers = found.map { entry -> (String) -> JSON? in
      let payload = (entry.payload ?? sent[entry["of"]?.int ?? -1]?.payload).flatMap { try? JSONReader.value($0) } ?? [:]
      params.append(payload["params"].map { String(decoding: JSONWriter.canonical($0), as: UTF8.self) } ?? "")
      return { field in
        switch field {
        case "t": milliseconds(entry)
        case "dir": entry["dir"]
        case "method": entry["name"]
        case "key": payload["idempotencyKey"]
        case "revision", "outcome": payload["result"]?[field]
        case "operations": payload["result"]?["entries"]?.array.map { .array($0.map { $0["operationId"] ?? .null }) }
        case "error": payload["error"]?["code"]
        case "late": .bool(isLate(entry, payload))
        case "stored": .bool(isStored(entry, sent))
        default: payload["params"]?[field] ?? payload["params"]?["entry"]?[field]
        }
      }
    }
    compare(
      wanted.map { frame in
        guard case .object(var object) = frame else { return frame }
        object["sameParamsAs"] = nil
        return .object(object)
      }, readers, "frames", found.map { "\($0.at) \($0["dir"]?.string ?? "") \($0["name"]?.string ?? "")" })
    for (index, frame) in wanted.enumerated() {
      guard let same = frame["sameParamsAs"]?.int, index < params.count, same < params.count else { continue }
      #expect(params[index] == params[same], "\(name): frame \(index) repeats the params of \(same)")
    }
  }

  /// Whether the phone dropped an answer because nobody waits for it any more: no `res` of the phone, or one that says so.
  private func isLate(_ entry: TraceEntry, _ payload: JSON) -> Bool {
    let after = entries.first {
      $0.index > entry.index && $0.party == .core && $0.kind == "res" && $0.at == entry.at && $0["id"] == payload["id"]
    }
    return after?["late"]?.bool ?? (after == nil)
  }

  private func isStored(_ entry: TraceEntry, _ sent: [Int: TraceEntry]) -> Bool {
    let send = entry["of"]?.int ?? entry.index
    let answer = entries.last { $0.index < send && $0.party == .twin && $0.kind == "answer" && $0["key"] == sent[send]?["key"] }
    return answer?["stored"]?.bool ?? false
  }

  private func checkShown(_ wanted: [JSON]) {
    var lists: [(at: Int64, ids: [JSON])] = []
    for entry in entries where entry.party == .core && entry.kind == "queue" {
      let at = entry.at.nanoseconds / 1_000_000
      let ids = (entry["entries"]?.array ?? []).map { $0["queueId"] ?? .null }
      if lists.last?.at == at { lists.removeLast() }
      if lists.last?.ids != ids { lists.append((at, ids)) }
    }
    let found = lists.map { JSON.object(["t": .integer($0.at), "queueIds": .array($0.ids)]) }
    // What stood there before the first change of the fixture is free.
    let first = wanted.first?["t"]?.integer ?? 0
    let relevant = found.filter { ($0["t"]?.integer ?? 0) >= first }
    #expect(relevant.map { JSONWriter.text($0) } == wanted.map { JSONWriter.text($0) }, "\(name): shown")
  }

  /// Compares lists element by element; fields that the fixture does not name are free.
  private func compare(_ wanted: [JSON], _ found: [(String) -> JSON?], _ what: String, _ summary: [String]) {
    #expect(wanted.count == found.count, "\(name): \(what): \(summary.joined(separator: "; "))")
    for (index, (want, read)) in zip(wanted, found).enumerated() {
      for member in want.object?.members ?? [] {
        let value = read(member.name) ?? .null
        #expect(
          value.isEquivalent(to: member.value),
          "\(name): \(what)[\(index)].\(member.name): wanted \(JSONWriter.text(member.value)), found \(JSONWriter.text(value)) (\(summary.joined(separator: "; ")))"
        )
      }
    }
  }
}
