import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeSystem
import Oracles
import Replay
import Simulation
import TestSupport
import Testing
import Wire

/// Random sessions under the built-in plans: what must hold of the twin's side whatever happens.
@Suite struct StoryInvariantTests {
  /// One to five sends in two chats, some of them steers of the run before, some stopped, some edited or removed.
  private func scenario(_ seed: UInt64) -> HBCodeScenario {
    let random = SeededRandom(seed: seed).fork("session")
    var draw = 0
    func pick(_ count: Int) -> Int {
      draw += 1
      return random.index(below: count, at: draw)
    }
    var intents = [Tale.select()]
    var tape: [Stretch] = []
    var at: Int64 = 1_000
    var session = Hand.session
    var orders: [String: UInt64] = [:]
    for number in 1...(1 + pick(5)) {
      let operation = "op\(number)"
      if pick(4) == 0 {
        session = session == Hand.session ? "ses-02" : Hand.session
        intents.append(Tale.select(session, at: at))
        at += 500
      }
      intents.append(Tale.send(operation, at: at, session: session))
      let order = (orders[session] ?? 1) + 1
      orders[session] = order
      var stretch = Hand.stretch(
        operation, run: "run-\(number)", orders: order, delay: Int64(100 + pick(900)), length: Int64(1_000 + pick(12_000)), begin: at + 700,
        session: session)
      switch pick(6) {
      case 0:
        let id = "stop-\(number)"
        stretch.end = .stopped(intent: id)
        intents.append(
          Tale.intent(id, at + 3_000, .stop(session: session, ids: ActionIDs(mutationId: "m-\(id)")), target: "send-\(operation)"))
      case 1: stretch.end = .open(why: "a gap")
      case 2: stretch.end = .failed
      case 3 where number > 1: stretch.end = .handedOver(operation: "op\(number + 1)")
      default: break
      }
      tape.append(stretch)
      switch pick(8) {
      case 0:
        intents.append(
          Tale.intent(
            "edit-\(number)", at + 400,
            .edit(operation: operation, text: "edited \(operation)", send: pick(2) == 0, ids: Tale.ids("\(operation)e")),
            target: "send-\(operation)"))
      case 1:
        intents.append(
          Tale.intent(
            "remove-\(number)", at + 400, .remove(operation: operation, ids: ActionIDs(mutationId: "m-rm-\(number)")),
            target: "send-\(operation)"))
      case 2: intents.append(Tale.intent("older-\(number)", at + 3_500, .older))
      default: break
      }
      at += Int64(300 + pick(9_000))
    }
    intents.sort { ($0.at, $0.id) < ($1.at, $1.id) }
    return Tale.scenario(
      intents, tape: tape, sessions: [Hand.session(history: 40), Hand.session("ses-02", history: 3)], end: at + 5_000)
  }

  @Test(arguments: [
    "none", "lost-submits", "dropped-receipts", "epoch-jumps", "flaky-network", "desktop-restart", "app-restart", "everything",
  ])
  func `HB-INV-02 HB-OVER-07 HB-OUTBOX-22 under every plan the desktop saves and delivers once, and its versions only grow`(
    _ plan: String
  ) throws {
    var saves = 0
    for seed in UInt64(1)...6 {
      let told = try Tale.story(scenario(seed)).seed(seed).plan(plan).run()
      let place = "\(plan), seed \(seed)"
      #expect(told.entries(.twin, "defect") == [], "\(place)")
      #expect(told.entries(.twin, "misuse") == [], "\(place)")
      for kind in ["saved", "delivered"] {
        let operations = told.entries(.twin, kind).compactMap { $0["operation"]?.string }
        #expect(Set(operations).count == operations.count, "\(kind) twice: \(place)")
      }
      saves += told.entries(.twin, "saved").count
      let begun = told.entries(.twin, "stretch", "state=playing").compactMap { $0["id"]?.string }
      #expect(Set(begun).count == begun.count, "played twice: \(place)")
      let runs = told.entries(.twin, "run", "state=started").compactMap { $0["run"]?.string }
      #expect(Set(runs).count == runs.count, "two runs of one id: \(place)")

      let judgement = Judge.judge(told.trace, claims: hbcode.claims)
      for claim in judgement.claims where !claim.violations.isEmpty {
        Issue.record("\(claim.id), \(place): \(claim.violations.map(\.happened).joined(separator: " "))")
      }

      var labeler = HBCodeLabeler()
      var versions: [String: OverlayVersion] = [:]
      var lists: [String: (revision: Int64, entries: JSON)] = [:]
      var updated: [String: Int64] = [:]
      for entry in told.entries(.link, "send") {
        guard let payload = entry.payload, let number = entry["conn"]?.int else { continue }
        let direction: Direction = entry["dir"] == "in" ? .in : .out
        let frame = Frame(at: entry.at, connection: ConnectionID(number), direction: direction, kind: .text, payload: payload)
        #expect(labeler.violations(in: frame) == [], "\(entry.index), \(place)")
        _ = labeler.label(frame)
        guard direction == .in, let json = try? JSONReader.value(payload), let session = json["sessionId"]?.string else { continue }
        let key = "\(number) \(session)"
        switch json["event"]?.string {
        case "chat:timeline-overlay":
          let version = OverlayVersion(epoch: json["settlementEpoch"]?.integer ?? 0, revision: json["revision"]?.integer ?? 0)
          if let before = versions[key] { #expect(before < version, "overlay \(entry.index), \(place)") }
          versions[key] = version
        case "chat:outbox-changed":
          let revision = json["revision"]?.integer ?? 0
          if let before = lists[key] { #expect(before.revision < revision, "outbox \(entry.index), \(place)") }
          lists[key] = (revision, json["entries"] ?? .null)
        case "session:updated":
          let at = json["updatedAt"]?.integer ?? 0
          if let before = updated[key] { #expect(before < at, "updatedAt \(entry.index), \(place)") }
          updated[key] = at
        default: break
        }
      }
    }
    #expect(saves >= 12)
  }

  @Test func `the twin of a compiled session gives the recorded frames to the recorded requests`() throws {
    for seed in UInt64(1)...12 {
      let original = scenario(seed)
      let told = try Tale.story(original).run()
      let frames = ScenarioRunTests.frames(told, until: original.facts.end)
      let compiled = try hbcodeScenario(of: frames, wallClockMilliseconds: Hand.wall, origin: "test")
      let words = ScenarioRunTests.words(Audit.run(hbcode, compiled, frames).differences.filter { $0.audit == 1 })
      #expect(words.isEmpty, "seed \(seed): \(words.prefix(4))")
    }
  }

  @Test func `HB-INV-60 equal runs give equal traces`() throws {
    for seed in UInt64(1)...4 {
      let story = try Tale.story(scenario(seed)).seed(seed).plan("everything")
      #expect(try Run(story.system, story.scenario, story.settings).prove().proof == .equal)
    }
  }
}
