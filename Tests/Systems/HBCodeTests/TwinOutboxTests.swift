import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeTwin
import Simulation
import Testing
import Wire

/// Spec D.5, the rows of the desktop's outbox. The desktop takes messages but starts none, unless a test lets it.
@Suite struct TwinOutboxTests {
  private func paused(_ entries: [String] = [], revision: Int64 = 5, held: Set<String> = []) throws -> TwinBench {
    var session = Hand.session()
    session.deliveryPaused = true
    var list: [OutboxEntry] = []
    for operation in entries { list.append(try entry(operation, hold: held.contains(operation) ? "Needs approval" : nil)) }
    session.outbox = OutboxList(revision: revision, entries: list)
    return TwinBench(Hand.scenario(sessions: [session]))
  }

  private func entry(_ operation: String, hold: String? = nil, status: EntryStatus = .queued) throws -> OutboxEntry {
    try OutboxEntry(
      submit: SubmitEntry(
        queueId: "q-\(operation)", operationId: operation, userText: operation, promptText: operation, sendMode: .queue,
        createdAt: Hand.wall),
      status: status, holdReason: hold)
  }

  private func remove(_ bench: inout TwinBench, _ operation: String, at: Int64) -> JSON {
    bench.ask(
      .outboxRemove,
      ["sessionId": .string(Hand.session), "queueId": .string("q-\(operation)"), "operationId": .string(operation)],
      key: "run.chatOutboxRemove:rm-\(operation)", at: at)
  }

  private func reorder(_ bench: inout TwinBench, _ ids: [String], at: Int64) -> JSON {
    bench.ask(
      .outboxReorder, ["sessionId": .string(Hand.session), "queueIds": .array(ids.map { .string("q-\($0)") })],
      key: "run.chatOutboxReorder:ro-\(at)", at: at)
  }

  @Test func `D5 a new operation is saved once at the end, with one revision and one event`() throws {
    var bench = try paused(["op-a"])
    let answer = try bench.submit("op1", at: 100)
    #expect(answer["outcome"] == "updated")
    #expect(answer["revision"] == 6)
    #expect(listed(answer) == ["op-a queued", "op1 queued"])
    try bench.submit("op2", intent: "enqueue", at: 200)
    bench.run(to: 300)
    #expect(bench.noted("saved", "operation") == ["0:00.100 op1", "0:00.200 op2"])
    #expect(bench.notes("saved").map { $0.fields["n"] } == [1, 2])
    #expect(bench.notes("saved").first?.fields["text"] == "words of op1")
    #expect(bench.notes("saved").first?.fields["lane"] == .string(Hand.session))
    #expect(bench.events == ["0:00.100 chat:outbox-changed", "0:00.200 chat:outbox-changed"])
    #expect(bench.said.last.map { listed($0.json) } == ["op-a queued", "op1 queued", "op2 queued"])
    #expect(bench.said.last?.json["revision"] == 7)
  }

  @Test func `D5 an entry has all keys of B4 in table order`() throws {
    var bench = try paused()
    let entry = try bench.submit("op1", at: 100)["entries"]?.array?.first
    #expect(
      entry?.object?.members.map(\.name) == [
        "queueId", "operationId", "userText", "promptText", "status", "sendMode", "expectedActiveRunId", "pendingMutation", "accepted",
        "handoff", "holdReason", "error", "message", "threadId", "selection", "speedMode", "accessLevel", "attachments", "createdAt",
      ])
  }

  @Test func `D5 a submit of a tombstoned or delivered operation does nothing`() throws {
    var bench = try paused()
    try bench.submit("op1", at: 100)
    _ = remove(&bench, "op1", at: 200)
    let answer = try bench.submit("op1", mutation: "m-again", at: 300)
    #expect(answer["outcome"] == "updated")
    #expect(listed(answer) == [])
    #expect(answer["revision"] == 7)
    #expect(bench.noted("saved", "operation") == ["0:00.100 op1"])

    var delivered = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2)]))
    try delivered.submit("op1", at: 100)
    delivered.run(to: 20_000)
    let late = try delivered.submit("op1", mutation: "m-other", at: 20_000)
    #expect(late["outcome"] == "updated")
    #expect(listed(late) == [])
    #expect(delivered.noted("saved", "operation").count == 1)
  }

  @Test func `D5 HB-HOLD-03 HB-HOLD-05 automatic approves a listed entry and puts it first, enqueue does neither`() throws {
    var bench = try paused(["op-a", "op-b"], held: ["op-b"])
    let stays = try bench.submit("op-b", mutation: "m-1", intent: "enqueue", text: "other words", at: 100)
    #expect(listed(stays) == ["op-a queued", "op-b queued"])
    #expect(stays["revision"] == 5)
    #expect(stays["entries"]?.array?.last?["holdReason"] == "Needs approval")
    let moved = try bench.submit("op-b", mutation: "m-2", text: "other words", at: 200)
    #expect(listed(moved) == ["op-b queued", "op-a queued"])
    #expect(moved["revision"] == 6)
    #expect(moved["entries"]?.array?.first?["holdReason"] == .null)
    #expect(moved["entries"]?.array?.first?["userText"] == "op-b")
    #expect(bench.noted("saved", "operation") == [])
  }

  @Test func `D5 HB-SHEET-05 HB-SHEET-06 a superseding submit takes the slot, or the front when it is automatic`() throws {
    var bench = try paused(["op-a", "op-b", "op-c"])
    #expect(
      listed(try bench.submit("op-d", intent: "enqueue", supersedes: "op-b", at: 100)) == ["op-a queued", "op-d queued", "op-c queued"])
    #expect(listed(try bench.submit("op-e", supersedes: "op-c", at: 200)) == ["op-e queued", "op-a queued", "op-d queued"])
    #expect(bench.noted("superseded", "operation") == ["0:00.100 op-b", "0:00.200 op-c"])
    #expect(bench.noted("superseded", "by") == ["0:00.100 op-d", "0:00.200 op-e"])
    #expect(listed(try bench.submit("op-b", at: 300)) == ["op-e queued", "op-a queued", "op-d queued"])
  }

  @Test func `D5 superseding what is sending or delivered is refused for good`() throws {
    var bench = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2)]))
    try bench.submit("op1", at: 100)
    let sending = try bench.submit("op2", supersedes: "op1", at: 200)
    #expect(sending["code"] == "operation_gone")
    #expect(sending["permanent"] == true)
    let delivered = try bench.submit("op3", supersedes: "op1", at: 5_000)
    #expect(delivered["code"] == "operation_gone")
    #expect(bench.noted("saved", "operation") == ["0:00.100 op1"])
    #expect(bench.noted("refused", "operation") == ["0:00.200 op2", "0:05.000 op3"])
    // The answer under its key is the same later.
    #expect(try bench.submit("op2", supersedes: "op1", at: 200)["code"] == "operation_gone")
  }

  @Test func `D5 superseding an unknown operation saves the new one and the old one comes too late`() throws {
    var bench = try paused(["op-a"])
    #expect(listed(try bench.submit("op2", intent: "enqueue", supersedes: "op1", at: 100)) == ["op-a queued", "op2 queued"])
    #expect(listed(try bench.submit("op1", at: 200)) == ["op-a queued", "op2 queued"])
    #expect(bench.noted("saved", "operation") == ["0:00.100 op2"])
  }

  @Test func `D5 HB-SHEET-07 HB-SHEET-08 a removal is updated when it took the entry, delivered when it came too late`() throws {
    var bench = try paused(["op-a", "op-b"])
    let removed = remove(&bench, "op-a", at: 100)
    #expect(removed["outcome"] == "updated")
    #expect(removed["revision"] == 6)
    #expect(listed(removed) == ["op-b queued"])
    // An operation that never came: its submit will come too late.
    let unknown = remove(&bench, "op9", at: 200)
    #expect(unknown["outcome"] == "updated")
    #expect(unknown["revision"] == 6)
    #expect(listed(try bench.submit("op9", at: 300)) == ["op-b queued"])
    #expect(bench.noted("removed", "operation") == ["0:00.100 op-a", "0:00.200 op9"])

    var running = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2)]))
    try running.submit("op1", at: 100)
    running.run(to: 1_000)
    #expect(remove(&running, "op1", at: 1_000)["outcome"] == "delivered")
    try running.submit("op2", mode: .steerRunning, run: "run-1", at: 1_100)
    running.run(to: 1_400)
    #expect(remove(&running, "op2", at: 1_400)["outcome"] == "delivered")
    #expect(running.noted("removed", "operation") == [])
  }

  @Test func `D5 a sending entry that nothing has accepted can still be removed`() throws {
    var bench = TwinBench(Hand.scenario(tape: [Hand.stretch("op1", run: "run-1", orders: 2)]))
    #expect(listed(try bench.submit("op1", at: 100)) == ["op1 sending"])
    #expect(remove(&bench, "op1", at: 200)["outcome"] == "updated")
    bench.run(to: 20_000)
    #expect(bench.noted("delivered", "operation") == [])
    #expect(bench.twin.finish(at: Hand.at(20_000)).map(\.fields["state"]) == ["void"])
  }

  @Test func `D5 a reorder puts named entries first, keeps the rest and ignores unknown ids`() throws {
    var bench = try paused(["op-a", "op-b", "op-c", "op-d"])
    let answer = reorder(&bench, ["op-d", "op-x", "op-b"], at: 100)
    #expect(answer["outcome"] == "updated")
    #expect(listed(answer) == ["op-d queued", "op-b queued", "op-a queued", "op-c queued"])
    #expect(answer["revision"] == 6)
    #expect(reorder(&bench, ["op-d", "op-b"], at: 200)["revision"] == 6)

    var running = TwinBench(Hand.scenario())
    try running.submit("op1", at: 100)
    try running.submit("op2", at: 110)
    try running.submit("op3", at: 120)
    #expect(listed(reorder(&running, ["op3", "op2", "op1"], at: 130)) == ["op1 sending", "op3 queued", "op2 queued"])
  }

  @Test func `D5 an overtaken entry is queued again and its pending begin is cancelled`() throws {
    var bench = TwinBench(
      Hand.scenario(tape: [
        Hand.stretch("op1", run: "run-1", orders: 2), Hand.stretch("op2", run: "run-2", orders: 3, delay: 600, length: 3_000),
      ]))
    try bench.submit("op1", at: 100)
    #expect(listed(try bench.submit("op2", at: 200)) == ["op1 sending", "op2 queued"])
    let overtaken = try bench.submit("op2", mutation: "now", at: 300)
    #expect(listed(overtaken) == ["op2 sending", "op1 queued"])
    bench.run(to: 30_000)
    #expect(bench.noted("delivered", "run") == ["0:00.900 run-2", "0:04.250 run-1"])
  }

  @Test func `D5 a held entry is passed over until its hold is lifted`() throws {
    var session = Hand.session()
    session.outbox = OutboxList(revision: 1, entries: [try entry("op-s", hold: "Needs approval")])
    let lift = Stretch(
      id: "lift", lane: nil, cause: .clock(Hand.at(25_000)),
      steps: [Step(offset: .zero, changes: [.hold(operation: "op-s", reason: nil)])], length: .zero, session: Hand.session)
    var bench = TwinBench(
      Hand.scenario(
        sessions: [session],
        tape: [
          lift, Hand.stretch("op-s", run: "run-s", orders: 3, delay: 500, length: 3_000), Hand.stretch("op1", run: "run-1", orders: 2),
        ]))
    #expect(listed(try bench.submit("op1", at: 100)) == ["op-s queued", "op1 sending"])
    bench.run(to: 60_000)
    #expect(bench.noted("delivered", "run") == ["0:00.450 run-1", "0:25.500 run-s"])
  }

  @Test func `HB-SHEET-03 HB-INV-07 the answer of a mutation and the event of its change carry one revision`() throws {
    var bench = try paused(["op-a", "op-b"])
    let answer = reorder(&bench, ["op-b", "op-a"], at: 100)
    bench.run(to: 100)
    let event = bench.said.last
    #expect(event?.name == "chat:outbox-changed")
    #expect(event?.json["revision"] == answer["revision"])
    #expect(event?.json["entries"] == answer["entries"])
  }

  @Test func `an outbox entry of another session is listed and its revision counted`() throws {
    let entries = Stretch(
      id: "from-elsewhere", lane: nil, cause: .clock(Hand.at(12_000)),
      steps: [Step(offset: .zero, changes: [.entry(try entry("op-s", hold: "Needs approval")), .outboxRevision(by: 2)])], length: .zero,
      session: Hand.session)
    var bench = TwinBench(Hand.scenario(tape: [entries]))
    bench.run(to: 12_000)
    let list = bench.ask(.outboxLoad, ["sessionId": .string(Hand.session)], at: 12_500)
    #expect(listed(list) == ["op-s queued"])
    #expect(list["revision"] == 3)
    #expect(list["outcome"] == nil)
    #expect(bench.noted("listed", "operation") == ["0:12.000 op-s"])
    #expect(bench.noted("saved", "operation") == [])
  }
}
