import Contract
import HBCodeDialect
import HBCodeScenario
import Simulation
import Wire

/// The session that `demo` lives through: two chats, streamed answers, a finger on the list while one streams, a send while a run is active
/// (a steer), a way back to the oldest rows; 21 s.
enum HBCodeDemonstration {
  private static let wall: Int64 = 1_790_000_000_000
  private static let garden = "ses-garden"
  private static let seeds = "ses-seeds"

  static var value: Demonstration {
    Demonstration(
      title: "Two chats, streamed answers, a finger on the list, a send while a run is active, an older page",
      scenario: JSONWriter.text(scenario.json),
      plans: ["dropped-receipts", "epoch-jumps", "drag-held-updates"])
  }

  static var scenario: HBCodeScenario {
    let vents = answer(
      run: "run-1", operation: "op-1", order: 3, thinking: "Looking at the vent controllers…",
      activity: "Read controllers/vents.toml",
      text: "Vents 2 and 3 are open now. Vent 3 was stiff, so I ran its motor twice and logged the current.")
    let humidity = answer(
      run: "run-1", operation: "op-2", order: 3, place: 10, thinking: nil, activity: "Edited logger.toml",
      text: "Humidity goes into the same log, one line a minute.")
    let beans = answer(
      run: "run-2", operation: "op-3", order: 2, thinking: "Checking frost dates…", activity: nil,
      text: "Runner beans and climbing French beans can go out from the middle of May, once nights stay above 8 °C.")
    let roof = answer(
      run: "run-3", operation: "op-4", order: 4, thinking: nil, activity: "Edited schedule.toml",
      text: "Done: the roof closes at 18:00 every day.")
    return HBCodeScenario(
      facts: ScenarioFacts(
        wallClockMilliseconds: wall, end: at(21_000), oneWay: ["": .milliseconds(20)],
        intents: [
          intent("select-garden", 200, .select(session: garden, thread: nil)),
          intent("send-1", 1_200, send("Open roof vents 2 and 3", 1)),
          // Down to the rows before, and back to the bottom, while the answer grows.
          intent("read", 2_600, finger([(250, 190), (900, 190), (1_150, -20)])),
          intent("steer-2", 4_600, send("Log the humidity as well", 2)),
          intent("select-seeds", 9_400, .select(session: seeds, thread: nil)),
          intent("send-3", 10_200, send("Which beans can go out in May?", 3)),
          intent("select-garden-again", 15_000, .select(session: garden, thread: nil)),
          intent("send-4", 15_600, send("Close the roof at 18:00", 4)),
          // To the top, where an older page is asked for, and down again.
          intent("to-the-top", 18_600, .tapStatusBar),
          intent("to-the-latest", 20_000, .scrollToLatest),
        ]),
      clientStart: [
        "desktop": "desk-1", "project": "projects/garden",
        "sessions": [
          ["id": .string(garden), "agent": "codex", "title": "Greenhouse control"],
          ["id": .string(seeds), "agent": "claude", "title": "Seed catalogue"],
        ],
      ],
      desktops: [
        DesktopState(
          id: "desk-1",
          sessions: [
            SessionState(
              id: garden, agent: .codex, projectPath: "projects/garden", title: "Greenhouse control", updatedAt: wall - 600_000,
              history: log + [
                row(.user, "g-u0", [1, 0], -620_000, text: "Is the pump still leaking?"),
                row(.agentReply, "g-a0", [1, 1], -615_000, text: "No. The seal from Tuesday holds; the floor sensor has been dry since."),
                row(.user, "g-u1", [2, 0], -610_000, text: "Good. Keep an eye on it"),
                row(.agentReply, "g-a1", [2, 1], -605_000, text: "I look at the floor sensor every ten minutes."),
              ],
              overlay: LiveOverlay(version: OverlayVersion(epoch: 3, revision: 0), blocks: [])),
            SessionState(
              id: seeds, agent: .claude, projectPath: "projects/garden", title: "Seed catalogue", updatedAt: wall - 7_200_000,
              history: [
                row(.user, "s-u0", [1, 0], -7_210_000, text: "Sort the catalogue by sowing month"),
                row(.agentReply, "s-a0", [1, 1], -7_205_000, text: "Sorted: 42 kinds, March to September."),
              ],
              overlay: LiveOverlay(version: OverlayVersion(epoch: 7, revision: 0), blocks: [])),
          ])
      ],
      tape: [
        stretch("run-1/op-1", garden, "op-1", delay: 350, vents, end: .handedOver(operation: "op-2"), turn: "turn-1"),
        stretch("run-1/op-2", garden, "op-2", delay: 0, humidity, end: .finished, turn: "turn-1"),
        stretch("run-2/op-3", seeds, "op-3", delay: 400, beans, end: .finished, turn: "turn-2"),
        stretch("run-3/op-4", garden, "op-4", delay: 350, roof, end: .finished, turn: "turn-3"),
      ],
      service: [
        ServiceRule(key: "run.chatOutboxSubmit:m-2", method: "run.chatOutboxSubmit", what: .steerAccepted(after: .milliseconds(150)))
      ])
  }

  /// Ten weeks of mornings: what the user asked and what the agent said, 140 rows before those that open on screen.
  private static var log: [Row] {
    let beds = ["cucumbers", "peppers", "basil", "aubergines", "lettuce", "chard", "melons"]
    let skies = ["clear", "overcast", "foggy", "bright and windy", "wet"]
    return (0..<70).flatMap { day in
      let bed = beds[day % beds.count]
      let degrees = 9 + (day * 5) % 8
      let sky = skies[(day * 3) % skies.count]
      let at = -8_000_000 + Int64(day) * 100_000
      let vents = day % 4 == 0 ? " I opened vent \(1 + day % 3) for an hour because the glass was steaming up." : ""
      return [
        row(.user, "l-u\(day)", [0, UInt64(2 * day)], at, text: "Morning of day \(day + 1): how are the \(bed)?"),
        row(
          .agentReply, "l-a\(day)", [0, UInt64(2 * day + 1)], at + 20_000,
          text: "\(degrees) °C at six, \(sky). The \(bed) took \(3 + day % 5) litres.\(vents)"),
      ]
    }
  }

  /// A finger on the list: milliseconds since the touch and points below its place; it lifts at rest.
  private static func finger(_ path: [(milliseconds: Int64, y: Double)]) -> UserAction {
    .drag(Drag(path: path.map { Drag.Place(after: .milliseconds($0.milliseconds), y: $0.y) }))
  }

  /// What one operation makes the agent do: live rows as they grow, and the rows that stay.
  private struct Answer {
    var run: String
    var steps: [Step]
    var outcome: [Row]
    var length: Interval
  }

  /// The user row, an optional thinking row and activity, and a reply that grows by a few words every 180 ms.
  private static func answer(
    run: String, operation: String, order: UInt64, place: UInt64 = 0, thinking: String?, activity: String?, text: String
  ) -> Answer {
    let number = operation.dropFirst(3)
    func live(_ type: RowType, _ id: String, _ offset: UInt64, text: String, title: String? = nil) -> Row {
      Row.made(
        type: type, id: id, origin: .live, sourceOrder: [order, place + offset], timestamp: wall + Int64(offset), runId: run,
        operationId: type == .user ? operation : nil, text: text, title: title)
    }
    var steps: [Step] = []
    var now: Int64 = 300
    if let thinking {
      steps.append(Step(offset: .milliseconds(now), changes: [.put(live(.thinking, "t-\(number)", 1, text: thinking))], increment: 1))
      now += 500
    }
    if let activity {
      let changes: [Change] = [.put(live(.activity, "c-\(number)", 2, text: "", title: activity))]
      steps.append(Step(offset: .milliseconds(now), changes: changes, increment: 1))
      now += 400
    }
    let words = text.split(separator: " ")
    var shown = 0
    while shown < words.count {
      shown = min(shown + 2, words.count)
      let part = words[..<shown].joined(separator: " ")
      let changes: [Change] = [.put(live(.agentReply, "a-\(number)", 3, text: part))]
      steps.append(Step(offset: .milliseconds(now), changes: changes, increment: 1))
      now += 180
    }
    func settled(_ type: RowType, _ id: String, _ offset: UInt64, text: String, title: String? = nil) -> Row {
      Row.made(
        type: type, id: id, origin: .canonical, sourceOrder: [order, place + offset], timestamp: wall + Int64(offset), runId: run,
        operationId: type == .user ? operation : nil, text: text, title: title)
    }
    var outcome = [settled(.user, "u-\(number)", 0, text: userText(of: operation))]
    if let activity { outcome.append(settled(.activity, "c-\(number)", 2, text: "", title: activity)) }
    outcome.append(settled(.agentReply, "a-\(number)", 3, text: text))
    return Answer(run: run, steps: steps, outcome: outcome, length: .milliseconds(now + 220))
  }

  private static func userText(of operation: String) -> String {
    switch operation {
    case "op-1": "Open roof vents 2 and 3"
    case "op-2": "Log the humidity as well"
    case "op-3": "Which beans can go out in May?"
    default: "Close the roof at 18:00"
    }
  }

  private static func stretch(
    _ id: String, _ session: String, _ operation: String, delay: Int64, _ answer: Answer, end: StretchEnd, turn: String
  ) -> Stretch {
    Stretch(
      id: id, lane: Lane(session), cause: .operation(operation), delay: .milliseconds(delay), steps: answer.steps, outcome: answer.outcome,
      length: answer.length, end: end, run: RecordedRun(runId: answer.run, threadId: "thread-\(session)", turnId: turn))
  }

  private static func row(_ type: RowType, _ id: String, _ order: [UInt64], _ milliseconds: Int64, text: String) -> Row {
    Row.made(type: type, id: id, origin: .canonical, sourceOrder: order, timestamp: wall + milliseconds, text: text)
  }

  private static func at(_ milliseconds: Int64) -> Instant { .zero + .milliseconds(milliseconds) }

  private static func intent(_ id: String, _ milliseconds: Int64, _ action: UserAction) -> Intent {
    Intent(id: id, at: at(milliseconds), gesture: action.gesture)
  }

  private static func send(_ text: String, _ number: Int) -> UserAction {
    .send(
      text: text, session: nil, thread: nil,
      ids: ActionIDs(queueId: "q-\(number)", operationId: "op-\(number)", mutationId: "m-\(number)"), options: [:])
  }
}
