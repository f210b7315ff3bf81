import Contract
import HBCodeCore
import HBCodeDialect
import Simulation
import Testing
import Wire

@Suite struct CoreOutboxTests {
  private func ready(_ outbox: JSON? = nil, u: Double = 0) -> CoreDriver {
    var phone = CoreDriver(CoreDriver.start(outbox: outbox), u: u)
    phone.up()
    return phone
  }

  private let caption = "Desktop did not confirm this message"
  private func submits(_ phone: CoreDriver) -> [Double] { phone.times(.outboxSubmit) }
  private func checks(_ phone: CoreDriver) -> [Double] { phone.times(.outboxLoad) }
  private func receipt(_ revision: Int64, _ ops: String...) -> JSON {
    CoreDriver.list(revision, entries: ops.map { CoreDriver.entry($0) }, outcome: "updated")
  }

  /// A phone whose op-1 is unknown since 20 s.
  private func unknown(u: Double = 0) -> CoreDriver {
    var phone = ready(u: u)
    phone.send(1)
    phone.advance(to: 20_000)
    return phone
  }

  @Test func `HB-OUTBOX-01 HB-OUTBOX-02 HB-OUTBOX-08 the replay set is written in its form before the first frame leaves`() throws {
    var phone = ready()
    phone.send(1)
    let store = try #require(phone.order.firstIndex(of: "store workspace-chat-local-outbox-v2"))
    let frame = try #require(phone.order.firstIndex(of: "send run.chatOutboxSubmit"))
    #expect(store < frame)
    let set = try JSONReader.value(phone.store["workspace-chat-local-outbox-v2"] ?? [])
    #expect(set["generation"] == 1)
    let scope = try #require(set["scopes"]?["desk-1|projects/garden|ses-01"])
    #expect(scope["order"] == ["op-1"])
    let operation = try #require(scope["operations"]?["op-1"])
    #expect(operation["state"] == "pending")
    #expect(operation["firstSentAt"] == .integer(CoreDriver.wall))
    #expect(operation["entry"]?["pendingMutation"] == ["kind": "submit", "mutationId": "m-1", "intent": "automatic"])
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.answer(.load, CoreDriver.envelope(rows: [CoreDriver.row("user", "u1", [1, 0], op: "op-1")]))
    let later = try JSONReader.value(phone.store["workspace-chat-local-outbox-v2"] ?? [])
    #expect(later["scopes"]?["desk-1|projects/garden|ses-01"]?["operations"]?["op-1"] == ["state": "terminal"])
  }

  @Test func `HB-OUTBOX-03 HB-INV-05 a terminal operation is never pending again`() throws {
    let entry = try OutboxEntry.decode(CoreDriver.entry("op-1"), at: "", fromDesktop: false)
    var set = ReplaySet(generation: 4)
    let pending = ReplaySet.Record.pending(ReplaySet.Pending(entry: entry, firstSentAt: nil, supersedes: nil))
    let write1 = set.write(pending, of: "op-1", in: "s", generation: 4)
    #expect(write1)
    let write2 = set.write(.terminal, of: "op-1", in: "s", generation: 4)
    #expect(write2)
    let write3 = set.write(pending, of: "op-1", in: "s", generation: 4)
    #expect(!write3)
    #expect(set[scope: "s"]["op-1"] == .terminal)
  }

  @Test func `HB-OUTBOX-04 HB-INV-14 the next launch forgets terminal operations, counts one generation up and refuses older writers`()
    throws
  {
    let entry = try OutboxEntry.decode(CoreDriver.entry("op-2"), at: "", fromDesktop: false)
    let pending = ReplaySet.Record.pending(ReplaySet.Pending(entry: entry, firstSentAt: 7, supersedes: nil))
    var set = ReplaySet(generation: 4)
    set.write(.terminal, of: "op-1", in: "s", generation: 4)
    set.write(pending, of: "op-2", in: "s", generation: 4)
    set.beginGeneration()
    #expect(set.generation == 5)
    #expect(set[scope: "s"].order == ["op-2"])
    let write4 = set.write(.terminal, of: "op-2", in: "s", generation: 4)
    #expect(!write4)
    #expect(set[scope: "s"]["op-2"] == pending)
    #expect(try ReplaySet(json: try set.json) == set)
  }

  @Test func `HB-OUTBOX-05 a confirmed operation stays pending without a mutation until it leaves the desktop's list`() {
    var phone = ready()
    phone.send(1)
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    #expect(phone.states("op-1") == ["new", "sent", "confirmed"])
    #expect(phone.says("op-1") == ["sending", "waiting"])
    phone.outboxChanged(CoreDriver.list(2))
    #expect(phone.states("op-1").last == "done")
    #expect(phone.says("op-1").last == "delivered")
  }

  @Test func `HB-OUTBOX-05 HB-SHEET-05 a superseded operation is hidden, and done when the new one is confirmed`() {
    var phone = ready()
    phone.send(1)
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    phone.does("edit", ["operation": "op-1", "text": "Open the roof", "then": "save", "ids": CoreDriver.ids(2)])
    let submit = phone.last(.outboxSubmit)
    #expect(submit?.params["supersedesOperationId"] == "op-1")
    #expect(submit?.params["intent"] == "enqueue")
    #expect(phone.queue == ["op-2 queued"])
    #expect(phone.noted("accepted").last?["supersedes"] == "op-1")
    phone.answer(.outboxSubmit, receipt(2, "op-2"))
    #expect(phone.states("op-1").last == "done")
    #expect(phone.says("op-1").last == "superseded")
    #expect(phone.states("op-2") == ["new", "sent", "confirmed"])
  }

  @Test func `HB-OUTBOX-05 a superseded operation shows again when the new one is rejected while the desktop lists it`() {
    var phone = ready()
    phone.send(1)
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    phone.does("edit", ["operation": "op-1", "text": "Open the roof", "then": "save", "ids": CoreDriver.ids(2)])
    phone.fail(.outboxSubmit, "rejected", permanent: true)
    #expect(phone.queue == ["op-1 queued"])
    #expect(phone.says("op-2").last == "restored")
    #expect(phone.draft == "Open the roof")
  }

  @Test func `HB-OUTBOX-06 HB-INV-12 a steer carries the run, no other mode carries one`() {
    var phone = ready()
    phone.send(1)
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    phone.runStarted("run-7")
    phone.send(2)
    let entries = phone.requests(.outboxSubmit).compactMap { $0.params["entry"] }
    #expect(entries.map { $0["sendMode"] } == ["queue", "steer-running"])
    #expect(entries.map { $0["expectedActiveRunId"] } == [.null, "run-7"])
  }

  @Test func `HB-OUTBOX-07 HB-INV-07 the changes of a session go one at a time, in order`() {
    var phone = ready()
    phone.send(1)
    phone.send(2)
    phone.send(3)
    #expect(phone.new().filter { $0.contains("Submit") } == ["run.chatOutboxSubmit:m-1"])
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    #expect(phone.new() == ["run.chatOutboxSubmit:m-2"])
    phone.answer(.outboxSubmit, receipt(2, "op-1", "op-2"))
    #expect(phone.new() == ["run.chatOutboxSubmit:m-3"])
  }

  @Test func `HB-OUTBOX-09 HB-OUTBOX-10 HB-INV-08 HB-INV-10 at 20 s without an answer the outcome is unknown, not before`() {
    var phone = ready()
    phone.send(1)
    phone.advance(to: .zero + .nanoseconds(19_999_999_999))
    #expect(phone.states("op-1") == ["new", "sent"])
    phone.advance(to: 20_000)
    #expect(phone.states("op-1") == ["new", "sent", "unknown"])
    let op = phone.noted("op").last
    #expect(op?["status"] == "queued")
    #expect(op?["caption"] == .string(caption))
    #expect(op?["error"] == nil)
    #expect(phone.says("op-1") == ["sending", "unconfirmed"])
    #expect(phone.phone.holds(state: "unconfirmed"))
    #expect(submits(phone) == [0])
    #expect(phone.draft == "")
  }

  @Test(arguments: [(0.0, 30_000.0), (0.3, 33_000.0)])
  func `HB-OUTBOX-11 HB-FIG-06 HB-INV-09 the check goes 10 to 13 s after the unknown outcome`(u: Double, at: Double) {
    var phone = unknown(u: u)
    phone.advance(to: 29_999)
    #expect(checks(phone) == [])
    phone.advance(to: 40_000)
    #expect(checks(phone) == [at])
  }

  @Test func `HB-OUTBOX-11 when the connection becomes usable: hold, load, then checks, the open chat first`() {
    var phone = ready()
    phone.send(1)
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    phone.advance(to: 3_000)
    phone.select("ses-02")
    phone.send(2)
    phone.answer(.outboxSubmit, receipt(1, "op-2"))
    phone.down()
    phone.advance(to: 8_000)
    _ = phone.new()
    phone.up()
    #expect(phone.new() == ["hold ses-02", "run.chatLoad ses-02", "run.chatOutboxLoad ses-02", "run.chatOutboxLoad ses-01"])
  }

  @Test func `HB-OUTBOX-11 a check that falls due while the chat is not open goes when it is opened; confirmed messages do not wait`() {
    var phone = unknown()
    phone.select("ses-02")
    phone.advance(to: 40_000)
    #expect(checks(phone) == [])
    _ = phone.new()
    phone.select("ses-01")
    #expect(phone.new() == ["hold ses-01", "run.chatLoad ses-01", "run.chatOutboxLoad ses-01"])
    phone.answer(.outboxLoad, CoreDriver.list(1, "op-1"))
    phone.advance(to: 80_000)
    #expect(checks(phone) == [40_000])
  }

  @Test func `HB-OUTBOX-12 HB-FIG-06 listed: nothing is resent, the operation is confirmed`() {
    var phone = unknown()
    phone.advance(to: 30_100)
    phone.answer(.outboxLoad, CoreDriver.list(1, "op-1"))
    phone.advance(to: 60_000)
    #expect(phone.states("op-1") == ["new", "sent", "unknown", "confirmed"])
    #expect(submits(phone) == [0])
  }

  @Test func `HB-OUTBOX-12 visible live or accepted before: nothing is resent; canonical: done`() {
    var live = unknown()
    live.overlay(1, blocks: [CoreDriver.live("u-x", [2, 0], "Close the roof", type: "user", op: "op-1")])
    live.advance(to: 30_100)
    live.answer(.outboxLoad, CoreDriver.list(2))
    #expect(live.states("op-1").last == "confirmed")

    var accepted = ready()
    accepted.send(1)
    accepted.outboxChanged(CoreDriver.list(1, entries: [CoreDriver.entry("op-1", accepted: true)]))
    accepted.advance(to: 30_100)
    accepted.answer(.outboxLoad, CoreDriver.list(2))
    #expect(accepted.states("op-1").last == "confirmed")
    #expect(submits(accepted) == [0])

    var canonical = unknown()
    canonical.does("refresh")
    canonical.answer(.load, CoreDriver.envelope(rows: CoreDriver.defaultRows + [CoreDriver.row("user", "u2", [2, 0], op: "op-1")]))
    #expect(canonical.states("op-1").last == "done")
    canonical.advance(to: 60_000)
    #expect(checks(canonical) == [])
  }

  @Test func `HB-OUTBOX-12 an outbox event alone settles nothing`() {
    var phone = ready()
    phone.send(1)
    phone.outboxChanged(CoreDriver.list(1, "op-1"))
    #expect(phone.states("op-1") == ["new", "sent"])
    phone.advance(to: 20_000)
    phone.outboxChanged(CoreDriver.list(2, "op-1"))
    #expect(phone.states("op-1").last == "unknown")
    phone.advance(to: 30_000)
    #expect(checks(phone) == [30_000])
  }

  @Test func `HB-OUTBOX-12 applied history gives up the request in flight and frees the chain`() {
    var phone = ready()
    phone.send(1)
    let first = phone.last(.outboxSubmit)?.id ?? ""
    phone.send(2)
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.answer(.load, CoreDriver.envelope(rows: CoreDriver.defaultRows + [CoreDriver.row("user", "u2", [2, 0], op: "op-1")]))
    #expect(phone.states("op-1").last == "done")
    #expect(submits(phone) == [0, 5_000])
    phone.answer(first, receipt(1, "op-1"))
    #expect(phone.noted("res").last?["late"] == true)
    #expect(phone.states("op-1").last == "done")
  }

  @Test func `HB-OUTBOX-13 HB-FIG-06 HB-INV-03 HB-INV-04 missing: key and params repeat byte for byte`() {
    var phone = unknown()
    phone.advance(to: 30_100)
    phone.answer(.outboxLoad, CoreDriver.list(0))
    #expect(submits(phone) == [0, 30_100])
    let both = phone.requests(.outboxSubmit)
    #expect(both.map(\.idempotencyKey) == ["run.chatOutboxSubmit:m-1", "run.chatOutboxSubmit:m-1"])
    #expect(JSONWriter.canonical(.object(both[0].params)) == JSONWriter.canonical(.object(both[1].params)))
    #expect(phone.noted("req").filter { $0["key"] != nil }.map { $0["attempt"] } == [1, 2])
    phone.advance(to: 30_200)
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    #expect(phone.states("op-1") == ["new", "sent", "unknown", "sent", "confirmed"])
  }

  @Test func `HB-OUTBOX-13 HB-FIG-06 connection dropped at 5 s, usable at 8 s`() {
    var phone = ready()
    phone.send(1)
    phone.advance(to: 5_000)
    phone.down()
    #expect(phone.states("op-1").last == "unknown")
    phone.advance(to: 8_000)
    phone.up()
    #expect(checks(phone) == [8_000])
    phone.advance(to: 8_100)
    phone.answer(.outboxLoad, CoreDriver.list(0))
    #expect(submits(phone) == [0, 8_100])
  }

  @Test func `HB-OUTBOX-14 a stored answer of an older revision confirms, and a newer list that lacks the entry ends it`() {
    var phone = unknown()
    phone.advance(to: 30_100)
    phone.answer(.outboxLoad, CoreDriver.list(2))
    phone.advance(to: 30_200)
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    #expect(phone.states("op-1") == ["new", "sent", "unknown", "sent", "confirmed", "done"])
    #expect(phone.queue == [])
  }

  @Test(arguments: [Int64(-1), 0, 1])
  func `HB-OUTBOX-15 the phone resends by itself within 48 h of the first frame`(beyond: Int64) {
    let age: Int64 = 48 * 3_600_000 + beyond
    let state = beyond < 0 ? "sent" : "stranded"
    var phone = unknown()
    phone.advance(to: 30_000)
    phone.stepWall(by: .milliseconds(age - 30_000))
    phone.answer(.outboxLoad, CoreDriver.list(0))
    #expect(phone.states("op-1").last == state)
    if state == "stranded" {
      #expect(phone.noted("op").last?["caption"] == .string(caption))
      #expect(phone.says("op-1").last == "held")
      phone.advance(to: 80_000)
      #expect(submits(phone) == [0])
      // A later check that lists it settles it.
      phone.down()
      phone.up()
      phone.answer(.outboxLoad, CoreDriver.list(1, "op-1"))
      #expect(phone.states("op-1").last == "confirmed")
    }
  }

  @Test func `HB-OUTBOX-15 a clock that was set back counts as age 0`() {
    var phone = unknown()
    phone.advance(to: 30_000)
    phone.stepWall(by: .milliseconds(-72 * 3_600_000))
    phone.answer(.outboxLoad, CoreDriver.list(0))
    #expect(phone.states("op-1").last == "sent")
  }

  @Test func `HB-OUTBOX-16 a permanent rejection puts the text back into an empty composer`() {
    var phone = ready()
    phone.send(1)
    phone.fail(.outboxSubmit, "rejected", "This project is read only", permanent: true)
    #expect(phone.states("op-1") == ["new", "sent", "rejected", "done"])
    #expect(phone.says("op-1") == ["sending", "restored"])
    #expect(phone.draft == "Close the roof")
    #expect(phone.queue == [])
    // The text survives a restart of the app.
    phone.restart()
    #expect(String(decoding: phone.store["workspace-chat-drafts"] ?? [], as: UTF8.self).contains("Close the roof"))
  }

  @Test func `HB-OUTBOX-16 with a draft, or another chat on screen, the entry stays with its error`() {
    var draft = ready()
    draft.send(1)
    draft.does("type", ["text": "And then"])
    draft.fail(.outboxSubmit, "rejected", "This project is read only", permanent: true)
    #expect(draft.states("op-1") == ["new", "sent", "rejected", "error"])
    #expect(draft.noted("op").last?["error"] == "This project is read only")
    #expect(draft.draft == "And then")
    #expect(draft.queue == ["op-1 queued"])
    #expect(draft.says("op-1").last == "failed")
    draft.advance(to: 60_000)
    #expect(submits(draft) == [0])

    var elsewhere = ready()
    elsewhere.send(1)
    elsewhere.select("ses-02")
    elsewhere.fail(.outboxSubmit, "rejected", permanent: true)
    #expect(elsewhere.states("op-1").last == "error")
    #expect(elsewhere.draft == "")
  }

  @Test func `HB-OUTBOX-16 a rejected Send now of a listed operation restores nothing`() {
    var phone = ready(CoreDriver.list(5, "op-a"))
    phone.does("sendNow", ["operation": "op-a", "ids": ["mutationId": "m-9"]])
    #expect(phone.queue == ["op-a sending"])
    phone.fail(.outboxSubmit, "rejected", "No", permanent: true)
    #expect(phone.states("op-a") == ["new", "sent", "rejected", "confirmed"])
    #expect(phone.noted("op").last?["error"] == "No")
    #expect(phone.draft == "")
  }

  @Test func `HB-OUTBOX-17 an error that is not permanent is repeated at the next check with the same key`() {
    var phone = ready()
    phone.send(1)
    phone.advance(to: 100)
    phone.fail(.outboxSubmit, "busy", "Try again")
    #expect(phone.noted("op").last?["state"] == "retry")
    #expect(phone.noted("op").last?["error"] == "Try again")
    phone.advance(to: 10_200)
    #expect(checks(phone) == [10_100])
    phone.answer(.outboxLoad, CoreDriver.list(0))
    #expect(phone.times(.outboxSubmit) == [0, 10_200])
    #expect(phone.requests(.outboxSubmit).map(\.idempotencyKey) == ["run.chatOutboxSubmit:m-1", "run.chatOutboxSubmit:m-1"])
  }

  @Test func `HB-OUTBOX-18 a mutation behind an unknown one of another operation checks first, and order is kept`() {
    var phone = ready()
    phone.send(1)
    phone.advance(to: 200)
    phone.send(2)
    phone.advance(to: 20_000)
    #expect(checks(phone) == [20_000])
    phone.advance(to: 20_100)
    phone.answer(.outboxLoad, CoreDriver.list(0))
    #expect(phone.new().filter { $0.contains("Submit:") } == ["run.chatOutboxSubmit:m-1", "run.chatOutboxSubmit:m-1"])
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    #expect(phone.new() == ["run.chatOutboxSubmit:m-2"])
  }

  @Test func `HB-OUTBOX-18 retry is not unknown: the next one goes first`() {
    var phone = ready()
    phone.send(1)
    phone.send(2)
    phone.fail(.outboxSubmit, "busy")
    #expect(phone.new().last == "run.chatOutboxSubmit:m-2")
  }

  @Test func `HB-OUTBOX-18 deleting the unknown operation itself goes out without a check`() {
    var phone = unknown()
    phone.does("remove", ["operation": "op-1", "ids": ["mutationId": "m-2"]])
    #expect(phone.new().last == "run.chatOutboxRemove:m-2")
    #expect(phone.last(.outboxRemove)?.params == ["sessionId": "ses-01", "queueId": "q-1", "operationId": "op-1"])
    phone.answer(.outboxRemove, receipt(1))
    #expect(phone.states("op-1").last == "done")
    #expect(phone.says("op-1").last == "removed")
    #expect(checks(phone) == [])
  }

  @Test func `HB-OUTBOX-18 editing the unknown operation itself goes out without a check`() {
    var phone = unknown()
    phone.does("edit", ["operation": "op-1", "text": "Open", "then": "send", "ids": CoreDriver.ids(2)])
    #expect(phone.new().last == "run.chatOutboxSubmit:m-2")
    #expect(phone.states("op-1").last == "confirmed")
    phone.answer(.outboxSubmit, receipt(1, "op-2"))
    #expect(phone.states("op-1").last == "done")
    #expect(phone.says("op-1") == ["sending", "unconfirmed", "superseded"])
  }

  @Test func `HB-OUTBOX-19 messages made without a connection wait; one check runs first, then they go in operation order`() {
    var phone = ready()
    phone.down()
    phone.send(1)
    phone.send(2)
    #expect(submits(phone) == [])
    phone.advance(to: 4_000)
    _ = phone.new()
    phone.up()
    #expect(phone.new() == ["hold ses-01", "run.chatLoad ses-01", "run.chatOutboxLoad ses-01"])
    phone.answer(.outboxLoad, CoreDriver.list(0))
    #expect(phone.new() == ["run.chatOutboxSubmit:m-1"])
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    #expect(phone.new() == ["run.chatOutboxSubmit:m-2"])
    #expect(phone.states("op-1") == ["new", "sent", "confirmed"])
  }

  @Test func `HB-OUTBOX-20 HB-OUTBOX-08 HB-INV-14 after a restart a pending submit is unknown: check first, then the same key and params`()
  {
    var phone = ready()
    phone.send(1)
    let before = phone.last(.outboxSubmit)
    phone.advance(to: 30)
    phone.restart()
    #expect(phone.states("op-1").last == "unknown")
    #expect(phone.says("op-1").last == "unconfirmed")
    _ = phone.new()
    phone.up()
    #expect(phone.new() == ["hold ses-01", "run.chatLoad ses-01", "run.chatOutboxLoad ses-01"])
    phone.answer(.outboxLoad, CoreDriver.list(0))
    #expect(phone.last(.outboxSubmit)?.params == before?.params)
    #expect(phone.last(.outboxSubmit)?.idempotencyKey == before?.idempotencyKey)
    #expect(phone.noted("store").last?["generation"] == 2)
    #expect(phone.noted("store").last?["order"] == ["op-1"])
  }

  @Test func `HB-OUTBOX-20 after a restart a pending edit repeats what it supersedes, a removal is repeated after a check`() {
    var phone = ready(CoreDriver.list(5, "op-a", "op-b"))
    phone.does("edit", ["operation": "op-a", "text": "New", "then": "save", "ids": CoreDriver.ids(2)])
    let before = phone.last(.outboxSubmit)
    phone.does("remove", ["operation": "op-b", "ids": ["mutationId": "m-3"]])
    phone.restart()
    phone.up()
    phone.answer(.outboxLoad, CoreDriver.list(5, "op-a", "op-b"))
    #expect(phone.last(.outboxSubmit)?.params == before?.params)
    phone.answer(.outboxSubmit, receipt(6, "op-2", "op-b"))
    #expect(phone.last(.outboxRemove)?.idempotencyKey == "run.chatOutboxRemove:m-3")
    phone.answer(.outboxRemove, receipt(7, "op-2"))
    #expect(phone.says("op-a").last == "superseded")
    #expect(phone.says("op-b").last == "removed")
  }

  @Test func `HB-OUTBOX-21 a receipt after the 20 s is dropped; the check settles the matter`() {
    var phone = unknown()
    let id = phone.last(.outboxSubmit)?.id ?? ""
    phone.advance(to: 22_000)
    phone.answer(id, receipt(1, "op-1"))
    #expect(phone.states("op-1").last == "unknown")
    #expect(phone.noted("res").last?["late"] == true)
    phone.advance(to: 30_100)
    phone.answer(.outboxLoad, CoreDriver.list(1, "op-1"))
    #expect(phone.states("op-1").last == "confirmed")
  }

  @Test func `HB-OUTBOX-09 an answer that arrives at exactly 20 s counts`() {
    var phone = ready()
    phone.send(1)
    phone.advance(to: 19_999)
    // Frames of one instant come before timers.
    phone.sleep(to: 20_000)
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    phone.advance(to: 20_000)
    #expect(phone.states("op-1").last == "confirmed")
  }

  @Test func `HB-OUTBOX-22 entries of a lower revision are not taken over, those of the same change nothing`() {
    var phone = ready(CoreDriver.list(5, "op-a", "op-b"))
    phone.outboxChanged(CoreDriver.list(4, "op-a"))
    #expect(phone.noted("event").last?["verdict"] == "ignored")
    #expect(phone.queue == ["op-a queued", "op-b queued"])
    phone.outboxChanged(CoreDriver.list(6, "op-b"))
    #expect(phone.queue == ["op-b queued"])
  }

  @Test func `HB-OUTBOX-23 shown: desktop entries overlaid by local ones, absent submits stay, terminal ones go`() {
    var phone = ready(CoreDriver.list(5, "op-a", "op-b"))
    phone.send(1)
    #expect(phone.queue == ["op-a queued", "op-b queued", "op-1 sending"])
    phone.advance(to: 20_000)
    #expect(phone.queue == ["op-a queued", "op-b queued", "op-1 queued"])
    phone.does("remove", ["operation": "op-a", "ids": ["mutationId": "m-7"]])
    phone.advance(to: 20_100)
    phone.answer(.outboxLoad, CoreDriver.list(6, "op-a", "op-b", "op-1"))
    phone.answer(.outboxRemove, receipt(7, "op-b", "op-1"))
    #expect(phone.queue == ["op-b queued", "op-1 queued"])
    phone.outboxChanged(CoreDriver.list(7, "op-a", "op-b", "op-1"))
    #expect(phone.queue == ["op-b queued", "op-1 queued"])
  }

  @Test func `HB-OUTBOX-24 a failed check settles nothing; the next one is armed, and waiting changes wait for it`() {
    var phone = unknown()
    phone.advance(to: 30_000)
    phone.fail(.outboxLoad, "internal")
    #expect(phone.states("op-1").last == "unknown")
    phone.send(2)
    phone.advance(to: 39_999)
    #expect(checks(phone) == [30_000])
    #expect(submits(phone) == [0])
    phone.advance(to: 40_000)
    #expect(checks(phone) == [30_000, 40_000])
    phone.answer(.outboxLoad, ["revision": 1, "entries": [["queueId": " "]]])
    #expect(phone.noted("answer.invalid").last?["reason"] == "entry.queueId.blank")
    phone.advance(to: 50_000)
    phone.answer(.outboxLoad, CoreDriver.list(1, "op-1"))
    #expect(submits(phone) == [0, 50_000])
  }

  @Test func `HB-OUTBOX-24 also when no message waits: the check of a reconnection that failed is repeated`() {
    var phone = ready()
    phone.send(1)
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    phone.down()
    phone.up()
    phone.advance(to: 100)
    phone.fail(.outboxLoad, "busy")
    phone.advance(to: 10_100)
    #expect(checks(phone) == [0, 10_100])
  }

  @Test func `HB-OUTBOX-25 a composer send without a run is queue, automatic, sending`() {
    var phone = ready()
    phone.send(1)
    let params = phone.last(.outboxSubmit)?.params
    #expect(params?["intent"] == "automatic")
    #expect(params?["supersedesOperationId"] == .null)
    #expect(
      params?["entry"] == [
        "queueId": "q-1", "operationId": "op-1", "userText": "Close the roof", "promptText": "Close the roof", "sendMode": "queue",
        "expectedActiveRunId": nil, "threadId": nil, "selection": nil, "speedMode": "standard", "accessLevel": "Full auto",
        "attachments": [], "createdAt": .integer(CoreDriver.wall),
      ])
    #expect(phone.queue == ["op-1 sending"])
  }

  @Test func `HB-STEER-01 a message sent during a run is a steer for it, for both agents`() {
    for agent in ["codex", "claude"] {
      var phone = CoreDriver(CoreDriver.start(agent: agent))
      phone.up()
      phone.runStarted("run-4")
      phone.send(1)
      #expect(phone.last(.outboxSubmit)?.params["entry"]?["sendMode"] == "steer-running")
      #expect(phone.last(.outboxSubmit)?.params["entry"]?["expectedActiveRunId"] == "run-4")
    }
  }

  @Test func `HB-STEER-01 a steer resent after its run ended repeats its params`() {
    var phone = ready()
    phone.runStarted("run-4")
    phone.send(1)
    phone.advance(to: 5_000)
    phone.runEnded("run-4")
    phone.advance(to: 20_000)
    phone.advance(to: 30_100)
    phone.answer(.outboxLoad, CoreDriver.list(0))
    let both = phone.requests(.outboxSubmit)
    #expect(both.count == 2)
    #expect(both[0].params == both[1].params)
  }

  @Test func `HB-OUTBOX-26 ids that a gesture does not carry come from the seed, with prefix x-, and differ per launch`() {
    func ids(_ launch: Int) -> [String] {
      var phone = CoreDriver(CoreDriver.start(), draws: .seeded(SeededRandom(seed: 7)), launch: launch)
      phone.up()
      if launch > 0 { phone.select("ses-01") }
      phone.does("send", ["text": "Hi", "ids": ["operationId": "op-9"]])
      phone.answer(.outboxLoad, CoreDriver.list(0))
      let entry = phone.last(.outboxSubmit)?.params["entry"]
      return [
        entry?["operationId"]?.string ?? "", entry?["queueId"]?.string ?? "", phone.last(.outboxSubmit)?.idempotencyKey ?? "",
      ]
    }
    let first = ids(0)
    #expect(first[0] == "op-9")
    #expect(first[1].hasPrefix("x-") && first[1].utf8.count == 18)
    #expect(first[2].hasPrefix("run.chatOutboxSubmit:x-"))
    #expect(ids(0) == first)
    #expect(ids(1)[1] != first[1])
  }

  // MARK: Queue, reorder, delete

  @Test func `HB-SHEET-04 HB-HOLD-03 HB-OUTBOX-05 Send now is a new mutation of the same operation, at the front`() {
    var phone = ready(CoreDriver.list(5, "op-a", "op-b"))
    phone.does("sendNow", ["operation": "op-b", "ids": ["mutationId": "m-9"]])
    #expect(phone.queue == ["op-b sending", "op-a queued"])
    #expect(phone.new().last == "run.chatOutboxSubmit:m-9")
    #expect(phone.last(.outboxSubmit)?.params["intent"] == "automatic")
    phone.answer(.outboxSubmit, receipt(6, "op-b", "op-a"))
    #expect(phone.queue == ["op-b queued", "op-a queued"])
  }

  @Test func `HB-SHEET-12 Send now on an unknown entry waits for the check: listed makes the new mutation, missing the resend`() {
    var listed = unknown()
    listed.does("sendNow", ["operation": "op-1", "ids": ["mutationId": "m-9"]])
    #expect(submits(listed) == [0])
    listed.advance(to: 30_000)
    listed.answer(.outboxLoad, CoreDriver.list(1, "op-1"))
    #expect(listed.last(.outboxSubmit)?.idempotencyKey == "run.chatOutboxSubmit:m-9")
    var missing = unknown()
    missing.does("sendNow", ["operation": "op-1", "ids": ["mutationId": "m-9"]])
    missing.advance(to: 30_000)
    missing.answer(.outboxLoad, CoreDriver.list(0))
    #expect(missing.last(.outboxSubmit)?.idempotencyKey == "run.chatOutboxSubmit:m-1")
    missing.answer(.outboxSubmit, receipt(1, "op-1"))
    #expect(submits(missing).count == 2)
  }

  @Test func `HB-SHEET-07 HB-INV-06 a removal counts only when the answer says updated and lacks the entry`() {
    var phone = ready(CoreDriver.list(5, "op-a"))
    phone.does("remove", ["operation": "op-a", "ids": ["mutationId": "m-9"]])
    phone.answer(.outboxRemove, receipt(6, "op-a"))
    #expect(phone.states("op-a") == ["removing", "removing"])
    #expect(phone.says("op-a").last == "unconfirmed")
    phone.advance(to: 10_000)
    // A check that does not list it is not enough (HB-SHEET-08).
    phone.answer(.outboxLoad, CoreDriver.list(7))
    #expect(phone.requests(.outboxRemove).map(\.idempotencyKey) == ["run.chatOutboxRemove:m-9", "run.chatOutboxRemove:m-9"])
    phone.answer(.outboxRemove, receipt(7))
    #expect(phone.states("op-a").last == "done")
    #expect(phone.says("op-a").last == "removed")
  }

  @Test func `HB-SHEET-08 delivered ends the removal: the message stays, without an error`() {
    var phone = ready(CoreDriver.list(5, "op-a"))
    phone.does("remove", ["operation": "op-a"])
    phone.answer(.outboxRemove, CoreDriver.list(6, outcome: "delivered"))
    #expect(phone.states("op-a").last == "done")
    #expect(phone.says("op-a").last == "delivered")
  }

  @Test func `HB-SHEET-08 a removal of unknown outcome is repeated with its key after a check; a permanent error keeps the entry`() {
    var phone = ready(CoreDriver.list(5, "op-a"))
    phone.does("remove", ["operation": "op-a", "ids": ["mutationId": "m-9"]])
    phone.advance(to: 30_000)
    phone.answer(.outboxLoad, CoreDriver.list(5, "op-a"))
    #expect(phone.times(.outboxRemove) == [0, 30_000])
    phone.fail(.outboxRemove, "rejected", "Not now", permanent: true)
    #expect(phone.states("op-a").last == "confirmed")
    #expect(phone.noted("op").last?["error"] == "Not now")
  }

  @Test func `HB-SHEET-03 HB-SHEET-11 a reorder shows the local order at once and sends the full order`() {
    var phone = ready(CoreDriver.list(5, "op-a", "op-b", "op-c"))
    phone.does("reorder", ["move": "q-op-c", "to": 0, "ids": ["mutationId": "m-7"]])
    #expect(phone.queue == ["op-c queued", "op-a queued", "op-b queued"])
    #expect(phone.last(.outboxReorder)?.params["queueIds"] == ["q-op-c", "q-op-a", "q-op-b"])
    phone.outboxChanged(CoreDriver.list(6, "op-b", "op-c"))
    #expect(phone.queue == ["op-c queued", "op-b queued"])
    phone.answer(.outboxReorder, CoreDriver.list(7, "op-c", "op-b", outcome: "updated"))
    #expect(phone.queue == ["op-c queued", "op-b queued"])
  }

  @Test func `HB-SHEET-11 a reorder of unknown outcome is not repeated: a check at once, then the desktop's order`() {
    var phone = ready(CoreDriver.list(5, "op-a", "op-b", "op-c"))
    phone.does("reorder", ["move": "q-op-c", "to": 0])
    phone.advance(to: 20_000)
    #expect(checks(phone) == [20_000])
    #expect(phone.queue == ["op-c queued", "op-a queued", "op-b queued"])
    phone.answer(.outboxLoad, CoreDriver.list(5, "op-a", "op-b", "op-c"))
    #expect(phone.queue == ["op-a queued", "op-b queued", "op-c queued"])
    phone.advance(to: 60_000)
    #expect(phone.requests(.outboxReorder).count == 1)
  }

  @Test func `HB-HOLD-01 a hold reason is shown, said and never sent`() {
    var phone = ready()
    phone.send(1)
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    phone.outboxChanged(CoreDriver.list(2, entries: [CoreDriver.entry("op-1", hold: "Approve first")]))
    #expect(phone.says("op-1") == ["sending", "waiting", "held"])
    phone.does("sendNow", ["operation": "op-1"])
    let sent = JSONWriter.text(.object(phone.last(.outboxSubmit)?.params ?? [:]))
    #expect(!sent.contains("holdReason"))
    #expect(phone.noted("op").last?["error"] == nil)
  }

  // MARK: Corner cases (spec D.10)

  @Test func `D10 two operations unknown at once: one check settles both, resends in operation order, one at a time`() {
    var phone = ready()
    phone.send(1)
    phone.advance(to: 100)
    phone.send(2)
    phone.down()
    phone.advance(to: 1_000)
    phone.up()
    phone.answer(.outboxLoad, CoreDriver.list(0))
    phone.advance(to: 2_000)
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    phone.advance(to: 3_000)
    phone.down()
    phone.advance(to: 4_000)
    phone.up()
    phone.answer(.outboxLoad, CoreDriver.list(1, "op-1"))
    #expect(
      phone.requests(.outboxSubmit).map(\.idempotencyKey) == [
        "run.chatOutboxSubmit:m-1", "run.chatOutboxSubmit:m-1", "run.chatOutboxSubmit:m-2", "run.chatOutboxSubmit:m-2",
      ])
    #expect(checks(phone) == [1_000, 4_000])
  }

  @Test func `D10 duplicate and unknown responses are dropped and counted`() {
    var phone = ready()
    phone.send(1)
    let id = phone.last(.outboxSubmit)?.id ?? ""
    phone.answer(id, receipt(1, "op-1"))
    phone.answer(id, receipt(1, "op-1"))
    #expect(phone.noted("res").last?["unknown"] == true)
    phone.receive(["id": "r999", "result": [:]])
    phone.receive(["method": "x", "event": "y"])
    #expect(phone.noted("frame.dropped").last?["reason"] == "frame.method-and-event")
    #expect(phone.states("op-1") == ["new", "sent", "confirmed"])
  }

  @Test func `desktop_offline is an unknown outcome, and nothing is sent while the desktop is offline`() {
    var phone = ready()
    phone.send(1)
    phone.fail(.outboxSubmit, "desktop_offline")
    #expect(phone.states("op-1").last == "unknown")
    phone.event("desktop:offline", ["desktopId": "desk-1"])
    phone.advance(to: 40_000)
    #expect(checks(phone) == [])
    phone.event("desktop:online", ["desktopId": "desk-1"])
    #expect(checks(phone) == [40_000])
  }

  @Test func `an edit of an unknown edit checks first: whether it took the slot decides what the new one replaces`() {
    var phone = ready(CoreDriver.list(5, "op-a"))
    phone.does("edit", ["operation": "op-a", "text": "Two", "then": "save", "ids": CoreDriver.ids(2)])
    phone.advance(to: 20_000)
    #expect(phone.states("op-2").last == "unknown")
    phone.does("edit", ["operation": "op-2", "text": "Three", "then": "save", "ids": CoreDriver.ids(3)])
    #expect(checks(phone) == [20_000])
    phone.answer(.outboxLoad, CoreDriver.list(5, "op-a"))
    #expect(phone.last(.outboxSubmit)?.params["supersedesOperationId"] == "op-a")
    #expect(phone.last(.outboxSubmit)?.idempotencyKey == "run.chatOutboxSubmit:m-2")
    phone.answer(.outboxSubmit, receipt(6, "op-2"))
    #expect(phone.last(.outboxSubmit)?.params["supersedesOperationId"] == "op-2")
    phone.answer(.outboxSubmit, receipt(7, "op-3"))
    #expect(["op-a", "op-2", "op-3"].map { phone.says($0).last } == ["superseded", "superseded", "waiting"])
    #expect(phone.queue == ["op-3 queued"])
  }

  @Test func `a rejected edit whose old message is gone: delivered, and the new text is back in the composer`() {
    var phone = ready(CoreDriver.list(5, "op-a"))
    phone.does("edit", ["operation": "op-a", "text": "Two", "then": "save", "ids": CoreDriver.ids(2)])
    phone.outboxChanged(CoreDriver.list(6))
    #expect(phone.says("op-a").last == "delivered")
    phone.fail(.outboxSubmit, "operation_gone", permanent: true)
    #expect(phone.says("op-2").last == "restored")
    #expect(phone.draft == "Two")
  }

  @Test func `a removal of a message that never left is sent all the same, and its submit is not`() {
    var phone = ready()
    phone.send(1)
    phone.advance(to: 20_000)
    phone.down()
    phone.does("remove", ["operation": "op-1", "ids": ["mutationId": "m-5"]])
    phone.up()
    phone.answer(.outboxLoad, CoreDriver.list(0))
    #expect(phone.new().last == "run.chatOutboxRemove:m-5")
    phone.answer(.outboxRemove, receipt(0))
    #expect(phone.says("op-1").last == "removed")
    #expect(phone.requests(.outboxSubmit).count == 1)
  }

  @Test func `HB-INV-08 HB-INV-50 a receipt that cannot be decoded changes nothing: the 20 s decide`() {
    var phone = ready(CoreDriver.list(5, "op-a"))
    phone.send(1)
    phone.advance(to: 100)
    phone.answer(.outboxSubmit, ["outcome": "updated", "revision": 6, "entries": [["queueId": ""]]])
    #expect(phone.noted("answer.invalid").last?["reason"] == "entry.queueId.blank")
    #expect(phone.states("op-1") == ["new", "sent"])
    phone.answer(.outboxSubmit, CoreDriver.list(6, "op-1", outcome: "perhaps"))
    #expect(phone.noted("answer.invalid").last?["reason"] == "outcome.unknown")
    phone.advance(to: 20_000)
    #expect(phone.states("op-1") == ["new", "sent", "unknown"])
    #expect(phone.queue == ["op-a queued", "op-1 queued"])
  }

  @Test func `a stored set that cannot be read is noted and nothing is sent`() {
    var phone = CoreDriver(CoreDriver.start(), store: Store([ReplaySet.storeKey: Array("{}".utf8)]), launch: 1)
    #expect(phone.noted("store.invalid").last?["reason"] == "replaySet.form")
    phone.up()
    #expect(phone.noted("store").last?["generation"] == 1)
  }

  @Test func `a wall clock out of range is stamped as the largest integer of the wire`() {
    var phone = CoreDriver(CoreDriver.start(), draws: .fixed(0), wall: .max)
    phone.up()
    phone.advance(to: 1_000)
    phone.send(1)
    #expect(phone.last(.outboxSubmit)?.params["entry"]?["createdAt"] == .integer(9_007_199_254_740_991))
  }

  // MARK: Premises and states

  @Test func `premises follow the screen: edit waits, holds, and is gone`() {
    var phone = ready()
    let edit = Gesture("edit", ["operation": "op-1", "text": "x", "then": "save"])
    #expect(phone.phone.premise(of: edit) == .waits)
    phone.send(1)
    #expect(phone.phone.premise(of: edit) == .waits)
    phone.answer(.outboxSubmit, receipt(1, "op-1"))
    #expect(phone.phone.premise(of: edit) == .holds)
    phone.outboxChanged(CoreDriver.list(2))
    #expect(phone.phone.premise(of: edit) == .gone)
    #expect(phone.phone.premise(of: Gesture("stop")) == .waits)
    phone.runStarted()
    #expect(phone.phone.premise(of: Gesture("stop")) == .holds)
    #expect(phone.phone.premise(of: Gesture("older")) == .waits)
    #expect(phone.phone.premise(of: Gesture("select", ["session": "nowhere"])) == .waits)
    #expect(phone.phone.premise(of: Gesture("send", ["text": "x"])) == .holds)
  }

  @Test func `stop names the run on screen once and is not repeated`() {
    var phone = ready()
    phone.does("stop", ["ids": ["mutationId": "m-s"]])
    #expect(phone.noted("refused").count == 1)
    phone.runStarted("run-3")
    phone.does("stop", ["ids": ["mutationId": "m-s"]])
    #expect(phone.last(.stop)?.params == ["sessionId": "ses-01", "runId": "run-3"])
    #expect(phone.last(.stop)?.idempotencyKey == "run.chatStop:m-s")
    phone.advance(to: 60_000)
    #expect(phone.requests(.stop).count == 1)
  }

  @Test func `a start state brings what the phone had: replay set, accepted as earlier, no check at 0`() throws {
    var before = ready()
    before.send(1)
    let set = try JSONReader.value(before.store[ReplaySet.storeKey] ?? [])
    var phone = CoreDriver(CoreDriver.start(replaySet: set))
    phone.up()
    #expect(phone.noted("accepted").map { $0["action"] } == ["earlier"])
    #expect(phone.says("op-1") == ["unconfirmed"])
    #expect(phone.sent.isEmpty)
    phone.advance(to: 10_000)
    #expect(phone.times(.outboxLoad) == [10_000])
  }

  @Test func `a start state that cannot be read is noted and counts as empty`() {
    var phone = CoreDriver(["sessions": [["id": "ses-01", "agent": "owl"]]])
    #expect(phone.noted("start.invalid").last?["path"] == "sessions[0].agent")
    phone.up()
    phone.does("send", ["text": "x"])
    #expect(phone.noted("refused").count == 1)
  }

  @Test func `HB-INV-60 equal histories give equal effects`() {
    func run() -> [String] {
      var phone = CoreDriver(CoreDriver.start(), draws: .seeded(SeededRandom(seed: 3)))
      phone.up()
      phone.does("send", ["text": "a"])
      phone.does("send", ["text": "b"])
      phone.advance(to: 90_000)
      return phone.order + phone.sent.map { "\($0.at) \(JSONWriter.text($0.request.json))" }
    }
    #expect(run() == run())
  }
}
