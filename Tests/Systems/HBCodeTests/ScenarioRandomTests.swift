import Contract
import Faults
import HBCodeDialect
import HBCodeScenario
import HBCodeSystem
import Replay
import Simulation
import TestSupport
import Testing
import Wire

/// Random sessions of one to four sends in two chats, some of them while a run is on, some stopped (SCENARIO.md 8, the trial).
enum RandomSession {
  static let sessions = ["ses-01", "ses-02"]

  /// `handsOver`: a message that is sent while the phone shows a run enters that run, and the tape says so: what came before it ends by
  /// handing over, as a recording would show it, and every run of a chat begins after the same wait.
  static func scenario(_ seed: Int, handsOver: Bool = false) throws -> HBCodeScenario {
    let random = SeededRandom(seed: UInt64(seed)).fork("session")
    var draws = 0
    func draw(_ count: Int) -> Int {
      draws += 1
      return random.index(below: count, at: draws)
    }
    var intents: [JSON] = []
    var stretches: [JSON] = []
    var screen = sessions[0]
    intents.append(["at": 0, "user": ["do": "select", "session": .string(screen)]])
    var at = 5.0
    // End of the last run of each chat, and its order numbers.
    var free: [String: Double] = [:]
    var order: [String: Int] = [:]
    // The last run of each chat: when it began, its name, position of its last stretch, how many there are.
    var runs: [String: (begin: Double, name: String, last: Int, count: Int)] = [:]
    for number in 1...(1 + draw(4)) {
      at += Double(1 + draw(12))
      if draw(3) == 0 {
        screen = sessions[screen == sessions[0] ? 1 : 0]
        intents.append(["at": .double(at), "user": ["do": "select", "session": .string(screen)]])
        at += 1
      }
      let operation = "op-\(number)"
      intents.append([
        "at": .double(at),
        "user": [
          "do": "send", "text": .string("message \(number)"), "session": .string(screen),
          "ids": ["queueId": .string("q-\(number)"), "operationId": .string(operation), "mutationId": .string("m-\(number)")],
        ],
      ])
      let drawn = Double(2 + draw(6)) / 10
      let delay = handsOver ? 0.4 : drawn
      let length = Double(3 + draw(9))
      var begin = max(at + 0.05, free[screen] ?? 0) + delay
      var run = "run-\(number)"
      var position = 0
      if handsOver, let last = runs[screen], at >= last.begin + 0.1, at < (free[screen] ?? 0), var object = stretches[last.last].object {
        object["end"] = ["handedOver": .string(operation)]
        stretches[last.last] = .object(object)
        begin = free[screen] ?? 0
        run = last.name
        position = last.count * 10
        runs[screen] = (last.begin, run, stretches.count, last.count + 1)
      } else {
        order[screen, default: 1] += 1
        runs[screen] = (begin, run, stretches.count, 1)
      }
      free[screen] = begin + length
      let place = order[screen] ?? 2
      func row(_ type: String, _ id: String, _ last: Int, _ text: String) -> JSON {
        [
          "type": .string(type), "id": .string("\(id)-\(number)"), "sourceOrder": [.int(place), .int(position + last)],
          "text": .string(text),
        ]
      }
      var steps: [JSON] = [["changes": [["put": row("user", "u", 0, "message \(number)")]]]]
      let words = 1 + draw(4)
      for word in 1...words {
        steps.append([
          "at": .double(Double(word) * 0.5),
          "changes": [["put": row("agent-reply", "a", 1, "answer \(number), \(word) of \(words)")]],
        ])
      }
      stretches.append([
        "id": .string("\(run)/\(operation)"), "lane": .string(screen), "cause": ["operation": .string(operation)],
        "delay": .double(delay), "length": .double(length),
        "run": ["runId": .string(run), "threadId": .string("th-\(screen)"), "turnId": .string("turn-\(run)")],
        "steps": .array(steps),
        "outcome": [row("user", "u", 0, "message \(number)"), row("agent-reply", "a", 1, "answer \(number), \(words) of \(words)")],
      ])
    }
    let end = max(at, free.values.max() ?? 0) + 3
    return try HBCodeScenario(json: [
      "end": .double(end), "oneWay": .double(0.05),
      "client": [
        "desktop": "desk-1", "project": "projects/garden",
        "sessions": .array(sessions.map { ["id": .string($0), "agent": "codex"] }),
      ],
      "desktops": [
        [
          "id": "desk-1",
          "sessions": .array(sessions.map { ["id": .string($0), "title": .string($0), "overlay": ["settlementEpoch": 3]] }),
        ]
      ],
      "intents": .array(intents), "stretches": .array(stretches),
    ])
  }
}

@Suite struct ScenarioRandomTests {
  private func ledger(_ told: Told) -> [String] {
    told.lines(.twin, "saved", showing: ["operation"]).sorted()
      + told.lines(.twin, "delivered", showing: ["operation", "run"]).sorted()
  }

  @Test(arguments: 0..<40) func `a random session without losses compiles to a scenario that both audits find true`(seed: Int) throws {
    let original = try RandomSession.scenario(seed)
    // Every other one with the waits of a seed.
    let story = Story(hbcode, original).seed(UInt64(seed))
    let told = try (seed % 2 == 0 ? story.jitter(0) : story).run()
    let frames = recording(of: told.trace).filter { $0.at <= original.facts.end }
    let scenario = try ScenarioRunTests.compiled(frames)
    let differences = ScenarioRunTests.words(Audit.run(hbcode, scenario, frames).differences)
    #expect(differences.isEmpty, "\(differences)")
    #expect(scenario.facts.intents.map(\.at) == original.facts.intents.map(\.at))
    #expect(scenario.facts.conditions.isEmpty, "\(scenario.facts.conditions.map(\.reason))")
    let again = try Story(hbcode, scenario).jitter(0).run()
    #expect(ledger(again) == ledger(told))
  }

  @Test(arguments: 0..<40) func `a random session with lost frames compiles to the same ledger`(seed: Int) throws {
    let original = try RandomSession.scenario(seed)
    let losses = [
      "drop,request,run.chatOutboxSubmit,nth=1", "drop,response,run.chatOutboxSubmit,nth=1", "drop,event,chat:outbox-changed,nth=2",
      "drop,event,chat:run-started,nth=1", "drop,event,chat:run-finished,nth=1", "drop,response,run.chatOutboxLoad,nth=2",
      "drop,event,session:updated,nth=1", "drop,response,run.chatLoad,nth=2",
    ]
    let told = try Story(hbcode, original).faults(losses[seed % losses.count]).jitter(0).run()
    let end = told.trace.header.quietFrom + .seconds(40)
    let frames = recording(of: told.trace).filter { $0.at <= end }
    let scenario = try ScenarioRunTests.compiled(frames)
    let differences = ScenarioRunTests.words(Audit.run(hbcode, scenario, frames).differences)
    #expect(differences.isEmpty, "\(losses[seed % losses.count]): \(differences)")
    let again = try Story(hbcode, scenario).jitter(0).run()
    #expect(ledger(again) == ledger(told), "\(losses[seed % losses.count])")
  }

  /// A recorder on real sockets sees each frame a little later than it was sent; the order on a connection stays.
  @Test(arguments: 0..<20) func `a recording with the noise of real sockets compiles to the same stretches`(seed: Int) throws {
    let original = try RandomSession.scenario(seed)
    let told = try Story(hbcode, original).seed(UInt64(seed)).run()
    var frames = recording(of: told.trace).filter { $0.at <= original.facts.end }
    let exact = try ScenarioRunTests.compiled(frames)
    let noise = SeededRandom(seed: UInt64(seed)).fork("noise")
    var last = Instant.zero
    for index in frames.indices {
      last = max(last, frames[index].at + .nanoseconds(Int64(noise.index(below: 400_000, at: index))))
      frames[index].at = last
    }
    let scenario = try ScenarioRunTests.compiled(frames)
    #expect(scenario.tape.map(\.id) == exact.tape.map(\.id))
    #expect(scenario.tape.map(\.end) == exact.tape.map(\.end))
    #expect(scenario.tape.map(\.outcome) == exact.tape.map(\.outcome))
    for (noisy, quiet) in zip(scenario.tape, exact.tape) {
      let begin = noisy.delay.nanoseconds - quiet.delay.nanoseconds
      let length = noisy.length.nanoseconds - quiet.length.nanoseconds
      #expect(begin.magnitude < 2_000_000 && length.magnitude < 2_000_000, "\(noisy.id)")
    }
    #expect(scenario.facts.conditions.isEmpty, "\(scenario.facts.conditions.map(\.reason))")
    let assumed = scenario.facts.notes.filter { $0.basis == .assumed }.map(\.what)
    #expect(assumed == exact.facts.notes.filter { $0.basis == .assumed }.map(\.what))
    let differences = ScenarioRunTests.words(Audit.run(hbcode, scenario, frames).differences)
    #expect(differences.isEmpty, "\(differences)")
  }

  @Test(arguments: 0..<60) func `changed frames never crash the compiler with its twin`(seed: Int) throws {
    let told = try Story(hbcode, RandomSession.scenario(seed % 6)).jitter(0).run()
    var frames = recording(of: told.trace).filter { $0.at <= ScriptedPhone.seconds(60) }
    let random = SeededRandom(seed: UInt64(seed)).fork("changes")
    for round in 0..<8 where !frames.isEmpty {
      let draw = random.fork("round", "\(round)")
      let index = draw.index(below: frames.count, at: 0)
      switch draw.index(below: 4, at: 1) {
      case 0: frames.remove(at: index)
      case 1: frames.insert(frames[index], at: draw.index(below: frames.count, at: 2))
      case 2:
        let text = String(decoding: frames[index].payload, as: UTF8.self)
        let value = ["9007199254740991", "-1", "0", "1.5"][draw.index(below: 4, at: 3)]
        frames[index].payload = Array(text.replacingNumber(draw.index(below: 6, at: 2), with: value).utf8)
      default: frames[index].direction = frames[index].direction.reversed
      }
    }
    do {
      let scenario = try ScenarioRunTests.compiled(frames)
      _ = Audit.run(hbcode, scenario, frames)
      #expect(try HBCodeScenario(json: scenario.json).tape.count == scenario.tape.count)
    } catch let error as CompileError {
      #expect(!error.description.isEmpty)
    }
  }
}
