import Contract
import Faults
import Foundation
import HBCodeDialect
import HBCodeScenario
import HBCodeSystem
import Replay
import Simulation
import TestSupport
import Testing
import Wire

/// Scenarios as somebody would write them, by name.
enum WrittenScenario {
  /// An answer that grows, and the rows that stay.
  private static func stretch(
    _ run: String, _ operation: String, in session: String, order: Int, place: Int = 0, delay: Double, length: Double, words: [Double],
    end: JSON? = nil, stopTime: Double? = nil, after: JSON? = nil
  ) -> JSON {
    let number = operation.dropFirst(3)
    func row(_ type: String, _ id: String, _ offset: Int, _ text: String) -> JSON {
      ["type": .string(type), "id": .string("\(id)-\(number)"), "sourceOrder": [.int(order), .int(place + offset)], "text": .string(text)]
    }
    let user = row("user", "u", 0, "words of \(operation)")
    var steps: [JSON] = [["changes": [["put": user]]]]
    for (index, at) in words.enumerated() {
      let reply = row("agent-reply", "a", 1, "answer to \(operation), part \(index + 1)")
      steps.append(["at": .double(at), "changes": [["put": reply]]])
    }
    var outcome = [user]
    if !words.isEmpty { outcome.append(row("agent-reply", "a", 1, "answer to \(operation), part \(words.count)")) }
    var object: JSONObject = [
      "id": .string("\(run)/\(operation)"), "lane": .string(session), "cause": ["operation": .string(operation)], "delay": .double(delay),
      "length": .double(length), "run": ["runId": .string(run), "threadId": .string("th-\(session)"), "turnId": .string("turn-\(run)")],
      "steps": .array(steps), "outcome": .array(outcome),
    ]
    if let end { object["end"] = end }
    if let stopTime { object["stopTime"] = .double(stopTime) }
    return .object(object)
  }

  private static func intent(_ id: String, _ at: Double, _ user: JSONObject, target: String? = nil, lag: Double? = nil) -> JSON {
    var object: JSONObject = ["id": .string(id), "at": .double(at), "user": .object(user)]
    if let target { object["target"] = .string(target) }
    if let lag { object["lag"] = .double(lag) }
    return .object(object)
  }

  private static func select(_ session: String, _ at: Double) -> JSON {
    intent("select-\(at)", at, ["do": "select", "session": .string(session)])
  }

  private static func send(_ operation: String, _ session: String, _ at: Double) -> JSON {
    intent(
      "send-\(operation)", at,
      ["do": "send", "text": .string("words of \(operation)"), "session": .string(session), "ids": ids(operation)])
  }

  private static func ids(_ operation: String) -> JSON {
    let number = operation.dropFirst(3)
    return ["queueId": .string("q-\(number)"), "operationId": .string(operation), "mutationId": .string("m-\(number)")]
  }

  private static func scenario(
    end: Double, intents: [JSON], stretches: [JSON], rows: Int = 0, service: [JSON] = []
  ) throws -> HBCodeScenario {
    let history: [JSON] = (0..<rows).map { number in
      [
        "type": .string(number % 2 == 0 ? "user" : "agent-reply"), "id": .string("h-\(number)"), "sourceOrder": [0, .int(number)],
        "timestamp": .integer(HBCodeScenario.standardWallClock - 1_000_000 + Int64(number)), "text": .string("older words \(number)"),
      ]
    }
    return try HBCodeScenario(json: [
      "end": .double(end), "oneWay": .double(0.05),
      "client": [
        "desktop": "desk-1", "project": "projects/garden",
        "sessions": [["id": "ses-01", "agent": "codex"], ["id": "ses-02", "agent": "codex"]],
      ],
      "desktops": [
        [
          "id": "desk-1",
          "sessions": [
            ["id": "ses-01", "title": "Beans", "overlay": ["settlementEpoch": 3], "history": .array(history)],
            ["id": "ses-02", "title": "Tomatoes", "overlay": ["settlementEpoch": 8]],
          ],
        ]
      ],
      "intents": .array(intents), "stretches": .array(stretches), "service": .array(service),
    ])
  }

  /// Sends in two chats, the second of each while the first is answered.
  static func queues() throws -> HBCodeScenario {
    try scenario(
      end: 40,
      intents: [
        select("ses-01", 0), send("op-1", "ses-01", 2), send("op-2", "ses-01", 2.2), select("ses-02", 6), send("op-3", "ses-02", 7),
        send("op-4", "ses-02", 7.3), select("ses-01", 20), send("op-5", "ses-01", 24),
      ],
      stretches: [
        stretch("run-1", "op-1", in: "ses-01", order: 2, delay: 0.35, length: 8, words: [1, 2, 5]),
        stretch("run-2", "op-2", in: "ses-01", order: 3, delay: 0.6, length: 6, words: [0.5, 3]),
        stretch("run-3", "op-3", in: "ses-02", order: 2, delay: 0.4, length: 5, words: [2]),
        stretch("run-4", "op-4", in: "ses-02", order: 3, delay: 0.3, length: 4, words: [1, 1.5]),
        stretch("run-5", "op-5", in: "ses-01", order: 4, delay: 0.35, length: 7, words: [1, 4]),
      ])
  }

  /// An older page, before and after a send.
  static func older() throws -> HBCodeScenario {
    try scenario(
      end: 40,
      intents: [
        select("ses-01", 0), intent("older", 5, ["do": "older"], lag: 4.9), send("op-1", "ses-01", 8), select("ses-02", 22),
        send("op-2", "ses-02", 23),
      ],
      stretches: [
        stretch("run-1", "op-1", in: "ses-01", order: 2, delay: 0.35, length: 9, words: [1, 3, 6]),
        stretch("run-2", "op-2", in: "ses-02", order: 2, delay: 0.4, length: 5, words: [2]),
      ], rows: 70)
  }

  /// A run that the user stops while its answer grows, and what is sent behind it.
  static func stopped() throws -> HBCodeScenario {
    try scenario(
      end: 40,
      intents: [
        select("ses-01", 0), send("op-1", "ses-01", 2),
        intent("stop", 8, ["do": "stop", "session": "ses-01", "ids": ["mutationId": "m-stop"]], target: "send-op-1", lag: 5.55),
        send("op-2", "ses-01", 11), select("ses-02", 14), send("op-3", "ses-02", 15),
      ],
      stretches: [
        stretch(
          "run-1", "op-1", in: "ses-01", order: 2, delay: 0.35, length: 5.85, words: [1, 2, 5], end: ["stopped": "stop"], stopTime: 0.2),
        stretch("run-2", "op-2", in: "ses-01", order: 3, delay: 0.6, length: 6, words: [0.5, 3]),
        stretch("run-3", "op-3", in: "ses-02", order: 2, delay: 0.4, length: 5, words: [2]),
      ])
  }

  /// A queue behind a run: one message taken back, one replaced, one moved to the front; in the other chat a send.
  static func edited() throws -> HBCodeScenario {
    try scenario(
      end: 60,
      intents: [
        select("ses-01", 0), send("op-1", "ses-01", 2), send("op-2", "ses-01", 2.1), send("op-3", "ses-01", 2.2),
        send("op-4", "ses-01", 2.3), send("op-7", "ses-01", 2.35),
        intent("remove", 5, ["do": "remove", "operation": "op-2", "ids": ["mutationId": "m-r"]], target: "send-op-2", lag: 2.8),
        intent(
          "edit", 7, ["do": "edit", "operation": "op-3", "text": "words of op-5", "then": "save", "ids": ids("op-5")], target: "send-op-3",
          lag: 4.7),
        intent("move", 9, ["do": "reorder", "move": "q-7", "to": 0, "ids": ["mutationId": "m-m"]], target: "send-op-7", lag: 6.5),
        select("ses-02", 12), send("op-6", "ses-02", 13), select("ses-01", 45),
      ],
      stretches: [
        stretch("run-1", "op-1", in: "ses-01", order: 2, delay: 0.35, length: 14, words: [1, 2, 5, 9]),
        stretch("run-2", "op-7", in: "ses-01", order: 3, delay: 0.6, length: 6, words: [0.5, 3]),
        stretch("run-3", "op-5", in: "ses-01", order: 4, delay: 0.5, length: 5, words: [2]),
        stretch("run-5", "op-4", in: "ses-01", order: 5, delay: 0.5, length: 4, words: [1]),
        stretch("run-4", "op-6", in: "ses-02", order: 2, delay: 0.4, length: 5, words: [2]),
      ])
  }

  /// All of it: sends in two chats, an older page, a steer, a queue that is edited, moved and shortened, a stop.
  static func whole() throws -> HBCodeScenario {
    try scenario(
      end: 80,
      intents: [
        select("ses-01", 0), intent("older", 3, ["do": "older"], lag: 2.9), send("op-1", "ses-01", 5), send("op-2", "ses-01", 9),
        select("ses-02", 16), send("op-3", "ses-02", 17), send("op-4", "ses-02", 17.1), send("op-5", "ses-02", 17.2),
        send("op-6", "ses-02", 17.3), send("op-9", "ses-02", 17.35),
        intent("remove", 20, ["do": "remove", "operation": "op-4", "ids": ["mutationId": "m-r"]], target: "send-op-4", lag: 2.8),
        intent(
          "edit", 22, ["do": "edit", "operation": "op-5", "text": "words of op-7", "then": "save", "ids": ids("op-7")], target: "send-op-5",
          lag: 4.7),
        intent("move", 24, ["do": "reorder", "move": "q-9", "to": 0, "ids": ["mutationId": "m-m"]], target: "send-op-9", lag: 6.5),
        intent("stop", 27, ["do": "stop", "session": "ses-02", "ids": ["mutationId": "m-stop"]], target: "send-op-3", lag: 9.5),
        select("ses-01", 45), send("op-8", "ses-01", 46), select("ses-02", 60),
      ],
      stretches: [
        stretch("run-1", "op-1", in: "ses-01", order: 2, delay: 0.35, length: 5, words: [1, 3], end: ["handedOver": "op-2"]),
        stretch("run-1", "op-2", in: "ses-01", order: 2, place: 10, delay: 0.35, length: 4, words: [1, 2]),
        stretch(
          "run-2", "op-3", in: "ses-02", order: 2, delay: 0.4, length: 9.8, words: [1, 4, 8], end: ["stopped": "stop"], stopTime: 0.2),
        stretch("run-3", "op-9", in: "ses-02", order: 3, delay: 0.5, length: 5, words: [2]),
        stretch("run-4", "op-7", in: "ses-02", order: 4, delay: 0.5, length: 4, words: [1]),
        stretch("run-6", "op-6", in: "ses-02", order: 5, delay: 0.5, length: 4, words: [1]),
        stretch("run-5", "op-8", in: "ses-01", order: 3, delay: 0.35, length: 5, words: [1, 2]),
      ], rows: 70)
  }

  /// Losses in the past itself: a receipt, an event of the outbox and the start of a run in one chat, a submit in the other.
  static func lossy() throws -> HBCodeScenario {
    var scenario = try scenario(
      end: 90,
      intents: [
        select("ses-01", 0), send("op-1", "ses-01", 2), select("ses-02", 6), send("op-2", "ses-02", 7), select("ses-01", 45),
        send("op-3", "ses-01", 46), select("ses-02", 62),
      ],
      stretches: [
        stretch("run-1", "op-1", in: "ses-01", order: 2, delay: 0.35, length: 8, words: [1, 2, 5]),
        stretch("run-2", "op-2", in: "ses-02", order: 2, delay: 0.6, length: 6, words: [0.5, 3]),
        stretch("run-3", "op-3", in: "ses-01", order: 3, delay: 0.4, length: 5, words: [2]),
      ])
    func lost(_ role: FrameLabel.Role, _ name: String, _ field: String, _ value: String, nth: Int = 1) -> LinkCondition {
      let condition = FramePattern.Condition(field: field, comparison: .equal, value: value)
      return LinkCondition(
        pattern: FramePattern(role: role, name: name, conditions: [condition]), nth: nth, what: .lost, reason: "written")
    }
    scenario.facts.conditions = [
      lost(.response, Method.outboxSubmit.rawValue, "operationId", "op-1"),
      lost(.request, Method.outboxSubmit.rawValue, "operationId", "op-2"),
      lost(.event, EventName.runStarted.rawValue, "runId", "run-3"),
      lost(.event, EventName.outboxChanged.rawValue, "sessionId", "ses-01", nth: 2),
    ]
    return scenario
  }

  /// What others do: a message of another session, held and let go; a turn that nobody of ours began; a new title.
  static func elsewhere() throws -> HBCodeScenario {
    let entry: JSON = [
      "queueId": "q-s", "operationId": "op-s", "userText": "words of op-s",
      "createdAt": .integer(HBCodeScenario.standardWallClock + 11_000),
      "holdReason": "Waits for your approval",
      "message": [
        "direction": "incoming", "from": "Tomatoes", "to": "Beans", "peer": ["name": "Tomatoes", "agent": "codex"], "delivery": nil,
        "link": nil,
      ],
    ]
    let reply: JSON = ["type": "agent-reply", "id": "a-o", "sourceOrder": [2, 1], "text": "by itself"]
    return try scenario(
      end: 70,
      intents: [
        select("ses-01", 0), send("op-1", "ses-01", 4), select("ses-02", 40), send("op-2", "ses-02", 44), select("ses-01", 56),
        send("op-3", "ses-01", 57),
      ],
      stretches: [
        stretch("run-1", "op-1", in: "ses-01", order: 2, delay: 0.35, length: 5, words: [1, 3]),
        ["id": "outside/entry", "session": "ses-01", "cause": ["clock": 12], "steps": [["changes": [["entry": entry]]]]],
        ["id": "outside/let-go", "session": "ses-01", "cause": ["clock": 25], "steps": [["changes": [["hold": "op-s", "reason": nil]]]]],
        stretch("run-s", "op-s", in: "ses-01", order: 3, delay: 0.5, length: 4, words: [1, 2]),
        ["id": "outside/title", "session": "ses-01", "cause": ["clock": 33], "steps": [["changes": [["title": "Runner beans"]]]]],
        [
          "id": "run-o/outside", "lane": "ses-02", "cause": ["clock": 41], "length": 2,
          "run": ["runId": "run-o", "threadId": "th-ses-02", "turnId": "turn-o"],
          "steps": [["at": 1, "changes": [["put": reply]]]], "outcome": [reply],
        ],
        stretch("run-2", "op-2", in: "ses-02", order: 3, delay: 0.4, length: 6, words: [2]),
        stretch("run-3", "op-3", in: "ses-01", order: 4, delay: 0.35, length: 5, words: [1]),
      ])
  }

  /// What goes wrong by itself: a desktop that is busy, a run that fails, an epoch that jumps, a phone that is put away for a while.
  static func troubled() throws -> HBCodeScenario {
    let busy: JSON = [
      "key": "run.chatOutboxSubmit:m-1", "method": "run.chatOutboxSubmit", "nth": 1,
      "refused": ["code": "desktop_busy", "message": "busy", "permanent": false],
    ]
    return try scenario(
      end: 80,
      intents: [
        select("ses-01", 0), send("op-1", "ses-01", 2), send("op-2", "ses-01", 30), intent("away", 42, ["do": "background"]),
        intent("back", 50, ["do": "foreground"]), send("op-3", "ses-01", 55),
      ],
      stretches: [
        stretch("run-1", "op-1", in: "ses-01", order: 2, delay: 0.4, length: 5, words: [1, 3], end: "failed"),
        ["id": "outside/jump", "session": "ses-01", "cause": ["clock": 24], "steps": [["changes": [["epochJump": 4]]]]],
        stretch("run-2", "op-2", in: "ses-01", order: 3, delay: 0.4, length: 6, words: [0.5, 3]),
        stretch("run-3", "op-3", in: "ses-01", order: 4, delay: 0.4, length: 5, words: [2]),
      ], service: [busy])
  }

  /// A finger on a long list: while an answer grows, up to an older page, and away again; composer, preview, sheet and Reduce Motion.
  static func scrolled() throws -> HBCodeScenario {
    func drag(_ id: String, _ at: Double, by y: Int, velocity: Int = 0, held: Int = 0) -> JSON {
      intent(
        id, at, ["do": "drag", "path": [[200, .int(y)]], "velocity": .int(velocity), "held": .int(held)])
    }
    func does(_ name: String, _ at: Double) -> JSON { intent("\(name)-\(at)", at, ["do": .string(name)]) }
    return try scenario(
      end: 60,
      intents: [
        select("ses-01", 0), send("op-1", "ses-01", 4), drag("up", 6, by: 300, held: 2_500), does("openComposer", 10),
        does("closeComposer", 12), drag("flick", 15, by: 500, velocity: 4_000), drag("flick-again", 17, by: 600, velocity: 6_000),
        does("tapStatusBar", 20), does("scrollToLatest", 24), does("openSheet", 26), does("closeSheet", 27), send("op-2", "ses-01", 30),
        does("openPreview", 33), does("closePreview", 35), intent("reduce", 36, ["do": "reduceMotion", "on": true]),
        select("ses-02", 42), send("op-3", "ses-02", 43),
      ],
      stretches: [
        stretch("run-1", "op-1", in: "ses-01", order: 2, delay: 0.35, length: 9, words: [1, 2, 3, 4, 6]),
        stretch("run-2", "op-2", in: "ses-01", order: 3, delay: 0.4, length: 6, words: [0.5, 3]),
        stretch("run-3", "op-3", in: "ses-02", order: 2, delay: 0.35, length: 5, words: [2]),
      ], rows: 70)
  }

  /// The user ends the app while a message is under way, and again while its answer grows.
  static func restarted() throws -> HBCodeScenario {
    try scenario(
      end: 60,
      intents: [
        select("ses-01", 0), send("op-1", "ses-01", 4), intent("again", 4.02, ["do": "restart", "for": 300]), select("ses-01", 7),
        intent("once-more", 9, ["do": "restart"]), select("ses-01", 11), send("op-2", "ses-01", 22), select("ses-02", 36),
        send("op-3", "ses-02", 37),
      ],
      stretches: [
        stretch("run-1", "op-1", in: "ses-01", order: 2, delay: 0.4, length: 9, words: [1, 2, 3, 4, 6]),
        stretch("run-2", "op-2", in: "ses-01", order: 3, delay: 0.4, length: 6, words: [0.5, 3]),
        stretch("run-3", "op-3", in: "ses-02", order: 2, delay: 0.4, length: 5, words: [2]),
      ])
  }

  /// A random session in whose past something was lost.
  static func lossySession(_ seed: Int) throws -> HBCodeScenario {
    var scenario = try RandomSession.scenario(seed, handsOver: true)
    let submit = (Method.outboxSubmit.rawValue, "key", "run.chatOutboxSubmit:m-1")
    let session = scenario.tape.first?.session ?? ""
    func event(_ name: EventName) -> (FrameLabel.Role, (String, String, String)) { (.event, (name.rawValue, "sessionId", session)) }
    let losses: [(FrameLabel.Role, (String, String, String))] = [
      (.request, submit), (.response, submit), event(.outboxChanged), event(.runStarted), event(.runFinished),
      (.response, (Method.load.rawValue, "sessionId", session)), event(.sessionUpdated),
    ]
    let (role, (name, field, value)) = losses[seed % losses.count]
    let pattern = FramePattern(
      role: role, name: name, conditions: [FramePattern.Condition(field: field, comparison: .equal, value: value)])
    scenario.facts.conditions = [LinkCondition(pattern: pattern, what: .lost, reason: "written")]
    // Both chats are looked at once more when all is over: what nobody saw a recording cannot tell.
    let last = scenario.facts.intents.last { $0.gesture.name == "select" }?.gesture.fields["session"]?.string
    for (number, session) in RandomSession.sessions.sorted(by: { a, b in a != last && b == last }).enumerated() {
      scenario.facts.intents.append(
        Intent(
          id: "look-\(number)", at: scenario.facts.end + .seconds(Int64(60 + 3 * number)),
          gesture: UserAction.select(session: session, thread: nil).gesture))
    }
    scenario.facts.end = scenario.facts.end + .seconds(70)
    return scenario
  }

  /// The same, where what entered a run would wait as long as its chat's others do, had it come too late for that run: a recording
  /// cannot tell (SCENARIO.md 2).
  private static func usual(_ scenario: HBCodeScenario) -> HBCodeScenario {
    var scenario = scenario
    let entered = scenario.tape.compactMap { if case .handedOver(let operation) = $0.end { operation } else { nil } }
    func isEntered(_ stretch: Stretch) -> Bool { entered.contains { stretch.cause == .operation($0) } }
    for index in scenario.tape.indices where isEntered(scenario.tape[index]) {
      let delays = scenario.tape.filter { $0.session == scenario.tape[index].session && !isEntered($0) }.map(\.delay).sorted()
      if !delays.isEmpty { scenario.tape[index].delay = delays[(delays.count - 1) / 2] }
    }
    return scenario
  }

  static let names =
    ["queues", "older", "edited", "lossy", "stopped", "whole", "elsewhere", "troubled", "queue edits", "demonstration"]
    + ["scrolled", "scrolled, marked", "whole, marked", "queue edits, marked", "demonstration, marked", "restarted, marked"]
    + (0..<6).map { "session \($0)" } + (0..<7).map { "lossy \($0)" }

  static func named(_ name: String) throws -> HBCodeScenario {
    switch name {
    case let marked where marked.hasSuffix(", marked"): try named(String(marked.dropLast(", marked".count)))
    case "queues": try queues()
    case "older": try older()
    case "edited": try edited()
    case "lossy": try lossy()
    case "stopped": try stopped()
    case "whole": try whole()
    case "scrolled": try scrolled()
    case "restarted": try restarted()
    case "queue edits": usual(try ScenarioSamples.read(ScenarioQueueTests.text))
    case "demonstration": usual(try HBCodeScenario(json: JSONReader.value(try #require(hbcode.demonstration).scenario)))
    case "elsewhere": try elsewhere()
    case "troubled": try troubled()
    default:
      if name.hasPrefix("lossy ") {
        try lossySession(Int(name.split(separator: " ").last ?? "") ?? 0)
      } else {
        try RandomSession.scenario(Int(name.split(separator: " ").last ?? "") ?? 0, handsOver: true)
      }
    }
  }
}

/// Audit 4: what is compiled leads to the same as what was written, under every plan.
@Suite struct CounterfactualTests {
  /// More seeds for `make soak`.
  private static let seeds = ProcessInfo.processInfo.environment["COUNTERFACTUAL_SEEDS"].flatMap(UInt64.init) ?? 1

  @Test(arguments: WrittenScenario.names)
  func `a recording of a written scenario compiles to one that leads to the same under every built-in plan`(_ name: String) throws {
    let pair = try Counterfactual(WrittenScenario.named(name), marks: name.hasSuffix(", marked"))
    let audit = Audit.run(hbcode, pair.compiled, pair.frames)
    #expect(audit.differences == [], "\(ScenarioRunTests.words(audit.differences))")
    var unequal: [String] = []
    var runs = 0
    for plan in BuiltInPlans.all.map(\.name) {
      for seed in 1...CounterfactualTests.seeds {
        let (written, compiled) = try pair.outcomes(plan: plan, seed: seed)
        runs += 1
        #expect(written.fates == compiled.fates, "\(plan), seed \(seed)")
        if written.ledger == compiled.ledger { continue }
        let first = zip(written.ledger, compiled.ledger).first { $0 != $1 }
        unequal.append("\(plan), seed \(seed): \(first?.0 ?? "nothing more") became \(first?.1 ?? "nothing more")")
      }
    }
    print("audit 4, \(name): \(runs - unequal.count) of \(runs) runs equal in every entry of the ledger")
    // Of a steer or a stop that comes at another time the past does not say what would have followed.
    if !pair.hasSteersOrStops { #expect(unequal == []) }
    #expect(unequal.count * 10 <= runs, "\(unequal)")
  }

  @Test func `a stretch that begins a millisecond later, a loss that is forgotten and words to another message are found`() throws {
    let pair = try Counterfactual(WrittenScenario.queues())
    func isEqual(_ changed: HBCodeScenario) throws -> Bool {
      let plan = try BuiltInPlans.plan(
        "lost-submits", system: hbcode, seed: 1, start: pair.written.facts.start, end: pair.written.facts.end)
      return try Counterfactual.outcome(pair.written, plan, 1) == Counterfactual.outcome(changed, plan, 1)
    }
    #expect(try isEqual(pair.compiled))
    var late = pair.compiled
    late.tape[0].delay = late.tape[0].delay + .milliseconds(1)
    #expect(try !isEqual(late))
    var other = pair.compiled
    other.tape[0].cause = .operation("op-5")
    #expect(try !isEqual(other))
    let lossy = try Counterfactual(WrittenScenario.lossy())
    var forgetful = lossy.compiled
    forgetful.facts.conditions = []
    let none = FaultPlan.none
    #expect(try Counterfactual.outcome(lossy.written, none, 1) == Counterfactual.outcome(lossy.compiled, none, 1))
    #expect(try Counterfactual.outcome(lossy.written, none, 1) != Counterfactual.outcome(forgetful, none, 1))
  }
}
