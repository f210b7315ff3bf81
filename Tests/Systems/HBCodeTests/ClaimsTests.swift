import Contract
import HBCodeDialect
import HBCodeSystem
import Simulation
import TestSupport
import Testing
import Wire

@Suite struct ClaimsTests {
  @Test func `the claims of this issue stand in order, each with its words`() {
    let numbers = [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 14, 15, 16, 18] + Array(20...26) + Array(30...47) + [50, 60]
    let wanted = numbers.map { $0 < 10 ? "HB-INV-0\($0)" : "HB-INV-\($0)" }
    let found = hbcode.claims.map(\.id)
    #expect(found == wanted)
    #expect(hbcode.claims.filter { $0.kind == .liveness }.map(\.id) == ["HB-INV-15"])
    for claim in hbcode.claims {
      let hasWords = !claim.title.isEmpty && claim.promise.hasSuffix(".") && !claim.opportunity.isEmpty
      #expect(hasWords, "\(claim.id)")
    }
  }

  @Test func `an empty run exercises nothing`() throws {
    let tale = ClaimTale()
    for claim in hbcode.claims {
      let outcome = try tale.judged(claim.id)
      #expect(outcome.exercised == 0, "\(claim.id)")
      #expect(outcome.violations.isEmpty, "\(claim.id)")
      #expect(outcome.remark != nil, "\(claim.id)")
    }
  }

  // MARK: Delivery

  @Test func `HB-INV-01 a message that leaves the replay set before the desktop has it is lost`() throws {
    try expect("HB-INV-01", exercised: 1) { tale in
      tale.send("op-1", at: 1_000)
      tale.twin("saved", "op-1", at: 1_050)
      tale.store([], terminal: ["op-1"], at: 2_000)
      tale.world("end", at: 3_000)
    }
    try expect("HB-INV-01", exercised: 1, broken: 1) { tale in
      tale.send("op-1", at: 1_000)
      tale.store([], at: 2_000)
      tale.world("end", at: 3_000)
    }
  }

  @Test func `HB-INV-01 restored, removed and replaced messages are not lost`() throws {
    try expect("HB-INV-01", exercised: 4) { tale in
      for operation in ["op-1", "op-2", "op-3"] { tale.send(operation, at: 1_000) }
      tale.core("composer", at: 2_000, ["cause": "restored", "operation": "op-1", "text": "op-1"])
      tale.twin("removed", "op-2", at: 2_000)
      tale.user("edit", at: 2_500, ["operation": "op-3"])
      tale.core("accepted", at: 2_500, ["operation": "op-4", "text": "x", "lane": "ses-01", "action": "edit", "supersedes": "op-3"])
      tale.store(["op-4"], terminal: ["op-1", "op-2", "op-3"], at: 2_500)
      tale.world("end", at: 3_000)
    }
    // The one that replaces is lost: so is the replaced one.
    try expect("HB-INV-01", exercised: 2, broken: 2) { tale in
      tale.send("op-3", at: 1_000)
      tale.core("accepted", at: 2_500, ["operation": "op-4", "text": "x", "lane": "ses-01", "action": "edit", "supersedes": "op-3"])
      tale.store([], at: 2_600)
      tale.world("end", at: 3_000)
    }
  }

  @Test func `HB-INV-01 a launch that forgets a message is found`() throws {
    try expect("HB-INV-01", exercised: 1, broken: 1) { tale in
      tale.send("op-1", at: 1_000)
      tale.world("stop", at: 1_500)
      tale.world("launch", at: 2_000, ["n": 1])
      tale.store([], generation: 2, at: 2_000)
      tale.world("end", at: 3_000)
    }
  }

  @Test func `HB-INV-02 two saves or two rows are found`() throws {
    try expect("HB-INV-02", exercised: 1) { tale in
      tale.twin("saved", "op-1", at: 50)
      tale.twin("history", "op-1", at: 90, ["row": "user:u-1"])
      tale.twin("history", "op-1", at: 95, ["row": "user:u-1"])
    }
    try expect("HB-INV-02", exercised: 1, broken: 1) { tale in
      tale.twin("saved", "op-1", at: 50)
      tale.twin("saved", "op-1", at: 90)
    }
    try expect("HB-INV-02", exercised: 1, broken: 1) { tale in
      tale.twin("history", "op-1", at: 50, ["row": "user:u-1"])
      tale.twin("history", "op-1", at: 90, ["row": "user:u-2"])
    }
  }

  @Test func `HB-INV-16 saves in another order than the sends are found, unless a retry or a reorder came between`() throws {
    func story(_ tale: inout ClaimTale, _ first: String, _ second: String) {
      tale.send("op-1", at: 100)
      tale.send("op-2", at: 200)
      tale.twin("saved", first, at: 300)
      tale.twin("saved", second, at: 400)
    }
    try expect("HB-INV-16", exercised: 1) { story(&$0, "op-1", "op-2") }
    try expect("HB-INV-16", exercised: 1, broken: 1) { story(&$0, "op-2", "op-1") }
    try expect("HB-INV-16", exercised: 0) { tale in
      story(&tale, "op-2", "op-1")
      tale.op("op-1", "retry", at: 250)
    }
    try expect("HB-INV-16", exercised: 0) { tale in
      story(&tale, "op-2", "op-1")
      tale.user("reorder", at: 250, ["move": "q-2", "to": 0])
    }
  }

  @Test func `HB-INV-18 two messages of one send, and a message of no send, are found`() throws {
    try expect("HB-INV-18", exercised: 1) { $0.send("op-1", at: 100) }
    try expect("HB-INV-18", exercised: 1, broken: 1) { tale in
      tale.send("op-1", at: 100)
      tale.core("accepted", at: 100, ["operation": "op-2", "text": "x", "lane": "ses-01", "action": "send"])
    }
    try expect("HB-INV-18", exercised: 2, broken: 1) { tale in
      tale.send("op-1", at: 100)
      tale.twin("saved", "op-9", at: 900)
    }
    try expect("HB-INV-18", exercised: 1, broken: 1) { tale in
      tale.send("op-1", at: 100)
      tale.twin("history", "op-1", at: 500, ["row": "user:u-1"])
      tale.twin("history", "op-1", at: 600, ["row": "user:u-2"])
    }
    try expect("HB-INV-18", exercised: 0) { tale in
      tale.user("send", at: 100, ["text": "x"])
      tale.core("refused", at: 100, ["do": "send", "why": "no chat is on screen"])
    }
  }

  // MARK: Outbox

  @Test func `HB-INV-03 another key or other words under one mutation are found`() throws {
    try expect("HB-INV-03", exercised: 1) { tale in
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.ask(.outboxSubmit, at: 40_100, mutation: "m-1", operation: "op-1")
    }
    try expect("HB-INV-03", exercised: 1, broken: 1) { tale in
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.ask(.outboxSubmit, at: 40_100, mutation: "m-1", hash: "h2", operation: "op-1")
    }
    try expect("HB-INV-03", exercised: 1, broken: 1) { tale in
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.ask(.outboxRemove, at: 5_100, mutation: "m-1", operation: "op-1")
    }
    try expect("HB-INV-03", exercised: 2, broken: 2) { tale in
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", key: "other:m-1", operation: "op-1")
      tale.ask(.outboxReorder, at: 100)
    }
  }

  /// A submit at 0 whose outcome is unknown at 20 s, a look at `check` answered at `answered`, a resend at 30.1 s.
  private func resend(
    _ tale: inout ClaimTale, check: Int64? = 30_000, listed: [String] = [], mutation: String = "m-1", ok: Bool = true, fault: String? = nil
  ) {
    tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
    tale.op("op-1", "sent", at: 0)
    tale.op("op-1", "unknown", at: 20_000)
    if let check {
      let look = tale.ask(.outboxLoad, at: check)
      tale.answer(look, at: check + 100, ok: ok, code: ok ? nil : "busy", operations: ok ? listed : nil, fault: fault)
    }
    tale.op("op-1", "sent", at: 30_100)
    tale.ask(.outboxSubmit, at: 30_100, mutation: mutation, operation: "op-1")
  }

  @Test func `HB-INV-04 a resend without a look that lacks the message is found`() throws {
    try expect("HB-INV-04", exercised: 1) { resend(&$0) }
    try expect("HB-INV-04", exercised: 1) { resend(&$0, check: 20_000) }
    // The look went out before the outcome was unknown.
    try expect("HB-INV-04", exercised: 1, broken: 1) { resend(&$0, check: 19_999) }
    try expect("HB-INV-04", exercised: 1, broken: 1) { resend(&$0, check: nil) }
    try expect("HB-INV-04", exercised: 1, broken: 1) { resend(&$0, listed: ["op-1"]) }
    try expect("HB-INV-04", exercised: 1, broken: 1) { resend(&$0, ok: false) }
    try expect("HB-INV-04", exercised: 1, broken: 1) { resend(&$0, fault: "corrupt") }
    try expect("HB-INV-04", exercised: 1, broken: 1) { resend(&$0, mutation: "m-2") }
  }

  @Test func `HB-INV-04 a resend while the row is on screen is found, one after an action of the user is not`() throws {
    try expect("HB-INV-04", exercised: 1, broken: 1) { tale in
      tale.show([("user:op:op-1", "live")], at: 0)
      resend(&tale)
    }
    try expect("HB-INV-04", exercised: 1) { tale in
      tale.show([("user:op:op-1", "echo")], at: 0)
      resend(&tale)
    }
    try expect("HB-INV-04", exercised: 0) { tale in
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.user("sendNow", at: 10_000, ["operation": "op-1"])
      tale.ask(.outboxSubmit, at: 10_000, mutation: "m-2", operation: "op-1")
    }
  }

  @Test func `HB-INV-04 a resend after an answer that left no doubt is found, after busy it is not`() throws {
    func story(_ tale: inout ClaimTale, code: String?) {
      let submit = tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.answer(submit, at: 100, ok: code == nil, code: code, operations: code == nil ? ["op-1"] : nil)
      let look = tale.ask(.outboxLoad, at: 10_100)
      tale.answer(look, at: 10_200, operations: [])
      tale.ask(.outboxSubmit, at: 10_200, mutation: "m-1", operation: "op-1")
    }
    try expect("HB-INV-04", exercised: 1) { story(&$0, code: "busy") }
    try expect("HB-INV-04", exercised: 1, broken: 1) { story(&$0, code: nil) }
  }

  @Test func `HB-INV-05 a terminal message that is pending again, or sent, is found`() throws {
    func story(_ tale: inout ClaimTale) {
      tale.send("op-1", at: 0)
      tale.op("op-1", "done", at: 500)
      tale.store([], terminal: ["op-1"], at: 500)
    }
    try expect("HB-INV-05", exercised: 1) { story(&$0) }
    try expect("HB-INV-05", exercised: 1, broken: 1) { tale in
      story(&tale)
      tale.op("op-1", "sent", at: 600)
    }
    try expect("HB-INV-05", exercised: 1, broken: 1) { tale in
      story(&tale)
      tale.store(["op-1"], at: 600)
    }
    try expect("HB-INV-05", exercised: 1, broken: 1) { tale in
      story(&tale)
      tale.ask(.outboxRemove, at: 600, mutation: "m-9", operation: "op-1")
    }
    // The next launch begins anew.
    try expect("HB-INV-05", exercised: 1) { tale in
      story(&tale)
      tale.world("stop", at: 700)
      tale.world("launch", at: 800, ["n": 1])
      tale.op("op-1", "unknown", at: 800)
    }
  }

  @Test func `HB-INV-07 two changes of one session in flight are found`() throws {
    func story(_ tale: inout ClaimTale, second: Int64, session: String = "ses-01") {
      let first = tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      if second >= 100 { tale.answer(first, at: 100, operations: ["op-1"]) }
      tale.ask(.outboxLoad, at: second, session: session)
      if second < 100 { tale.answer(first, at: 100, operations: ["op-1"]) }
    }
    try expect("HB-INV-07", exercised: 1) { story(&$0, second: 100) }
    try expect("HB-INV-07", exercised: 1, broken: 1) { story(&$0, second: 99) }
    try expect("HB-INV-07", exercised: 0) { story(&$0, second: 99, session: "ses-02") }
    // Given up because the message is done (HB-OUTBOX-12).
    try expect("HB-INV-07", exercised: 1) { tale in
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.op("op-1", "done", at: 15_000)
      tale.ask(.outboxSubmit, at: 15_000, mutation: "m-2", operation: "op-2")
    }
    // Its time limit has passed.
    try expect("HB-INV-07", exercised: 1) { tale in
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.ask(.outboxLoad, at: 20_000)
    }
  }

  private func unknown(_ tale: inout ClaimTale, at: Int64, end: Int64 = 30_000) {
    tale.op("op-1", "sent", at: 0)
    tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
    tale.op("op-1", "unknown", at: at)
    tale.world("end", at: end)
  }

  @Test func `HB-INV-08 unknown at 19.999 s and at 20.001 s are found, at 20 s not`() throws {
    try expect("HB-INV-08", exercised: 1) { unknown(&$0, at: 20_000) }
    try expect("HB-INV-08", exercised: 1, broken: 1) { unknown(&$0, at: 19_999) }
    try expect("HB-INV-08", exercised: 1, broken: 1) { unknown(&$0, at: 20_001) }
    // Never at all.
    try expect("HB-INV-08", exercised: 1, broken: 1) { tale in
      tale.op("op-1", "sent", at: 0)
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.world("end", at: 60_000)
    }
    // The run ends before the limit: not put to the test.
    try expect("HB-INV-08", exercised: 0) { tale in
      tale.op("op-1", "sent", at: 0)
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.world("end", at: 19_000)
    }
  }

  @Test func `HB-INV-08 a lost connection and desktop_offline may make it unknown earlier`() throws {
    try expect("HB-INV-08", exercised: 1) { tale in
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.builder.add(.link, "down", at: 5_000, ["conn": 1])
      tale.op("op-1", "unknown", at: 5_000)
    }
    try expect("HB-INV-08", exercised: 1) { tale in
      let submit = tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.answer(submit, at: 100, ok: false, code: "desktop_offline")
      tale.op("op-1", "unknown", at: 100)
    }
    try expect("HB-INV-08", exercised: 1, broken: 1) { tale in
      let submit = tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.answer(submit, at: 100, ok: false, code: "busy")
      tale.op("op-1", "unknown", at: 100)
    }
  }

  private func waits(_ tale: inout ClaimTale, check: Int64?, up: Int64? = nil) {
    tale.select(at: 0)
    tale.op("op-1", "sent", at: 0)
    tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
    tale.op("op-1", "unknown", at: 20_000)
    if let up {
      tale.builder.add(.link, "down", at: up - 1, ["conn": 1])
      tale.builder.add(.link, "up", at: up, ["conn": 2, "endpoint": "/v1"])
    }
    if let check { tale.ask(.outboxLoad, at: check) }
    tale.world("end", at: 90_000)
  }

  @Test func `HB-INV-09 looks at 9.999 s and 13.001 s are found, at 10 s and 13 s not`() throws {
    try expect("HB-INV-09", exercised: 1) { waits(&$0, check: 30_000) }
    try expect("HB-INV-09", exercised: 1) { waits(&$0, check: 33_000) }
    try expect("HB-INV-09", exercised: 1, broken: 1) { waits(&$0, check: 29_999) }
    try expect("HB-INV-09", exercised: 1, broken: 1) { waits(&$0, check: 33_001) }
    try expect("HB-INV-09", exercised: 1, broken: 1) { waits(&$0, check: nil) }
    // A connection that became usable asks for a look at once.
    try expect("HB-INV-09", exercised: 1) { waits(&$0, check: 25_000, up: 25_000) }
  }

  @Test func `HB-INV-09 a chat that is not on screen is not looked after`() throws {
    try expect("HB-INV-09", exercised: 1) { tale in
      tale.select(at: 0)
      tale.op("op-1", "unknown", at: 20_000)
      tale.core("host.park", at: 22_000, ["key": "ses-01"])
      tale.select("ses-02", at: 22_000)
      tale.ask(.outboxLoad, at: 80_000)
      tale.world("end", at: 90_000)
    }
  }

  @Test func `HB-INV-10 a text that a timeout gives back is found`() throws {
    try expect("HB-INV-10", exercised: 1) { unknown(&$0, at: 20_000) }
    try expect("HB-INV-10", exercised: 2, broken: 2) { tale in
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.core("composer", at: 20_000, ["cause": "restored", "operation": "op-1"])
      tale.world("end", at: 30_000)
    }
    try expect("HB-INV-10", exercised: 1, broken: 1) { tale in
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.op("op-1", "done", at: 20_000)
      tale.world("end", at: 30_000)
    }
    // A permanent rejection may.
    try expect("HB-INV-10", exercised: 0) { tale in
      let submit = tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1")
      tale.answer(submit, at: 100, ok: false, code: "rejected", permanent: true)
      tale.core("composer", at: 100, ["cause": "restored", "operation": "op-1"])
      tale.op("op-1", "done", at: 100)
    }
  }

  private func submit(_ entry: String) -> String {
    #"{"id":"r","method":"run.chatOutboxSubmit","params":{"sessionId":"s","entry":\#(entry)}}"#
  }

  @Test func `HB-INV-11 a field of the desktop in a request is found`() throws {
    try expect("HB-INV-11", exercised: 1) { tale in
      tale.ask(.outboxSubmit, at: 0, mutation: "m-1", operation: "op-1", payload: submit(#"{"userText":"holdReason"}"#))
    }
    for field in ["holdReason", "accepted", "handoff", "message"] {
      try expect("HB-INV-11", exercised: 1, broken: 1) { tale in
        tale.ask(.outboxSubmit, at: 10, mutation: "m-1", operation: "op-1", payload: submit("{\"\(field)\":null}"))
      }
    }
  }

  @Test func `HB-INV-12 a steer without a run and a run without a steer are found`() throws {
    for (mode, run, broken) in [
      ("queue", "null", 0), ("steer-running", "\"run-1\"", 0), ("steer-running", "null", 1), ("steer-running", "\" \"", 1),
      ("queue", "\"run-1\"", 1), ("interrupt-running", "\"run-1\"", 1),
    ] {
      try expect("HB-INV-12", exercised: 1, broken: broken) { tale in
        tale.ask(
          .outboxSubmit, at: 10, mutation: "m-1", operation: "op-1",
          payload: submit("{\"sendMode\":\"\(mode)\",\"expectedActiveRunId\":\(run)}"))
      }
    }
  }

  @Test func `HB-INV-14 a launch that loses, turns or keeps the generation of the queue is found`() throws {
    func story(_ tale: inout ClaimTale, after: [String], generation: Int64 = 2) {
      tale.store(["op-1", "op-2"], terminal: ["op-0"], at: 100)
      tale.world("stop", at: 200)
      tale.world("launch", at: 300, ["n": 1])
      tale.store(after, generation: generation, at: 300)
    }
    try expect("HB-INV-14", exercised: 1) { story(&$0, after: ["op-1", "op-2"]) }
    try expect("HB-INV-14", exercised: 1, broken: 1) { story(&$0, after: ["op-1"]) }
    try expect("HB-INV-14", exercised: 1, broken: 1) { story(&$0, after: ["op-2", "op-1"]) }
    try expect("HB-INV-14", exercised: 1, broken: 1) { story(&$0, after: ["op-1", "op-2"], generation: 1) }
  }

  @Test func `HB-INV-15 a message without an end at 13 s + 22 s × (n + 1) is found, an instant before its end is early enough`() throws {
    func story(_ tale: inout ClaimTale, confirmed: Int64?, end: Int64 = 300_000) {
      tale.select(at: 0)
      tale.op("op-1", "unknown", at: 20_000)
      if let confirmed, confirmed < 30_000 { tale.op("op-1", "confirmed", at: confirmed) }
      tale.world("quiet", at: 30_000)
      if let confirmed, confirmed >= 30_000 { tale.op("op-1", "confirmed", at: confirmed) }
      tale.world("end", at: end)
    }
    // n = 1: 30 s + 57 s.
    try expect("HB-INV-15", exercised: 1) { story(&$0, confirmed: 87_000) }
    try expect("HB-INV-15", exercised: 1, broken: 1) { story(&$0, confirmed: 87_001) }
    try expect("HB-INV-15", exercised: 1, broken: 1) { story(&$0, confirmed: nil) }
    try expect("HB-INV-15", exercised: 0) { story(&$0, confirmed: nil, end: 86_000) }
    try expect("HB-INV-15", exercised: 0) { story(&$0, confirmed: 25_000) }
  }

  // MARK: Loads and hosts

  @Test func `HB-INV-20 seven kept chats, two on screen and a wrong order are found`() throws {
    try expect("HB-INV-20", exercised: 2) { tale in
      tale.select("a", at: 0, order: ["a"])
      tale.core("host.park", at: 1, ["key": "a"])
      tale.select("b", at: 1, order: ["b", "a"])
    }
    try expect("HB-INV-20", exercised: 1, broken: 1) { $0.select("g", at: 0, order: ["g", "f", "e", "d", "c", "b", "a"]) }
    try expect("HB-INV-20", exercised: 2, broken: 1) { tale in
      tale.select("a", at: 0, order: ["a"])
      tale.select("b", at: 1, order: ["b", "a"])
    }
    try expect("HB-INV-20", exercised: 2, broken: 1) { tale in
      tale.select("a", at: 0, order: ["a"])
      tale.core("host.park", at: 1, ["key": "a"])
      tale.select("b", at: 1, order: ["a", "b"])
    }
  }

  @Test func `HB-INV-21 reloads 1.999 s apart and two at once are found, 2 s apart are not`() throws {
    func story(_ tale: inout ClaimTale, second: Int64, end: Int64 = 100) {
      tale.select(at: 0)
      tale.load(1, at: 0)
      if end < second { tale.loaded(1, at: end) }
      tale.load(2, at: second)
    }
    try expect("HB-INV-21", exercised: 1) { story(&$0, second: 2_000) }
    try expect("HB-INV-21", exercised: 1, broken: 1) { story(&$0, second: 1_999) }
    try expect("HB-INV-21", exercised: 1, broken: 1) { story(&$0, second: 3_000, end: 4_000) }
  }

  @Test func `HB-INV-21 the waits of a first load lie in their bands and there are four attempts`() throws {
    func story(_ tale: inout ClaimTale, waits: [Int64]) {
      tale.select(at: 0)
      var at: Int64 = 0
      for (number, wait) in ([0] + waits).enumerated() {
        at += wait
        tale.load(number + 1, at: at, first: true, attempt: number + 1)
        tale.loaded(number + 1, at: at, "failed")
      }
    }
    try expect("HB-INV-21", exercised: 3) { story(&$0, waits: [600, 1_200, 2_400]) }
    try expect("HB-INV-21", exercised: 3) { story(&$0, waits: [900, 1_800, 3_000]) }
    try expect("HB-INV-21", exercised: 3, broken: 3) { story(&$0, waits: [599, 1_199, 2_399]) }
    try expect("HB-INV-21", exercised: 3, broken: 3) { story(&$0, waits: [901, 1_801, 3_001]) }
    try expect("HB-INV-21", exercised: 4, broken: 1) { story(&$0, waits: [750, 1_500, 3_000, 3_000]) }
  }

  @Test func `HB-INV-22 loads of a parked chat and in the background are found`() throws {
    try expect("HB-INV-22", exercised: 1) { tale in
      tale.select(at: 0)
      tale.load(1, at: 0)
    }
    try expect("HB-INV-22", exercised: 1, broken: 1) { tale in
      tale.select(at: 0)
      tale.load(1, at: 0, host: "ses-02")
    }
    try expect("HB-INV-22", exercised: 1, broken: 1) { tale in
      tale.select(at: 0)
      tale.user("background", at: 100)
      tale.load(1, at: 200)
    }
    // A process that is paused in mid-work ends that work; nothing begins after it.
    try expect("HB-INV-22", exercised: 2, broken: 1) { tale in
      tale.select(at: 0)
      tale.world("suspend", at: 100)
      tale.load(1, at: 100)
      tale.load(2, at: 101)
    }
    try expect("HB-INV-22", exercised: 1) { tale in
      tale.select(at: 0)
      tale.user("background", at: 100)
      tale.user("foreground", at: 200)
      tale.load(1, at: 200)
    }
  }

  @Test func `HB-INV-23 an answer applied after its chat left the screen, and a second end, are found`() throws {
    try expect("HB-INV-23", exercised: 1) { tale in
      tale.load(1, at: 0)
      tale.core("host.park", at: 50, ["key": "ses-01"])
      tale.loaded(1, at: 50, "fenced")
    }
    try expect("HB-INV-23", exercised: 1, broken: 1) { tale in
      tale.load(1, at: 0)
      tale.core("host.park", at: 50, ["key": "ses-01"])
      tale.loaded(1, at: 100)
    }
    try expect("HB-INV-23", exercised: 2, broken: 1) { tale in
      tale.load(1, at: 0)
      tale.loaded(1, at: 100)
      tale.loaded(1, at: 200)
    }
    try expect("HB-INV-23", exercised: 1, broken: 1) { $0.loaded(7, at: 100) }
  }

  @Test func `HB-INV-24 rows that change with a failed load are found`() throws {
    func story(_ tale: inout ClaimTale, _ outcome: String, after: [(String, String)]) {
      tale.show([("agent-reply:a", "canonical"), ("user:op:op-1", "echo")], at: 0)
      tale.load(1, at: 10)
      tale.loaded(1, at: 100, outcome)
      tale.show(after, at: 100)
    }
    for outcome in ["failed", "invalid", "fenced", "overlay-rejected"] {
      try expect("HB-INV-24", exercised: 1) { story(&$0, outcome, after: [("agent-reply:a", "canonical")]) }
      try expect("HB-INV-24", exercised: 1, broken: 1) { story(&$0, outcome, after: []) }
    }
    try expect("HB-INV-24", exercised: 0) { story(&$0, "applied", after: []) }
  }

  @Test func `HB-INV-25 periodic loads 9.999 s apart, and 59.999 s apart without anything pending, are found`() throws {
    func story(_ tale: inout ClaimTale, gap: Int64, pending: Bool) {
      tale.load(1, at: 0, reason: "periodic")
      tale.loaded(1, at: 100)
      if pending { tale.op("op-1", "sent", at: 200) }
      tale.load(2, at: gap, reason: "periodic")
    }
    try expect("HB-INV-25", exercised: 2) { story(&$0, gap: 10_000, pending: true) }
    try expect("HB-INV-25", exercised: 2, broken: 1) { story(&$0, gap: 9_999, pending: true) }
    try expect("HB-INV-25", exercised: 2) { story(&$0, gap: 60_000, pending: false) }
    try expect("HB-INV-25", exercised: 2, broken: 1) { story(&$0, gap: 59_999, pending: false) }
    // Pending when the first began, settled before the second.
    try expect("HB-INV-25", exercised: 2) { tale in
      tale.op("op-1", "removing", at: 0)
      tale.load(1, at: 100, reason: "periodic")
      tale.loaded(1, at: 200)
      tale.op("op-1", "done", at: 5_000)
      tale.load(2, at: 12_000, reason: "periodic")
    }
  }

  @Test func `HB-INV-25 a periodic load without a connection or beside an older page is found`() throws {
    try expect("HB-INV-25", exercised: 1, broken: 1) { tale in
      tale.builder.add(.link, "down", at: 50, ["conn": 1])
      tale.load(1, at: 100, reason: "periodic")
    }
    try expect("HB-INV-25", exercised: 1, broken: 1) { tale in
      tale.core("older.start", at: 50, ["host": "ses-01", "n": 1])
      tale.load(1, at: 100, reason: "periodic")
    }
    // Stale after 8 s.
    try expect("HB-INV-25", exercised: 1) { tale in
      tale.core("older.start", at: 50, ["host": "ses-01", "n": 1])
      tale.load(1, at: 8_050, reason: "periodic")
    }
  }

  @Test func `HB-INV-26 holds 20.001 s apart and for another chat are found, 20 s apart are not`() throws {
    func story(_ tale: inout ClaimTale, second: Int64, session: String = "ses-01") {
      tale.select(at: 0)
      tale.ask(.timelineInterest, at: 0, more: ["hold": true])
      tale.ask(.timelineInterest, at: second, session: session, more: ["hold": true])
      tale.world("end", at: second + 20_000)
    }
    try expect("HB-INV-26", exercised: 2) { story(&$0, second: 20_000) }
    try expect("HB-INV-26", exercised: 2, broken: 1) { story(&$0, second: 20_001) }
    try expect("HB-INV-26", exercised: 2, broken: 1) { story(&$0, second: 10_000, session: "ses-02") }
    try expect("HB-INV-26", exercised: 1, broken: 1) { tale in
      tale.select(at: 0)
      tale.ask(.timelineInterest, at: 0, more: ["hold": true])
      tale.world("end", at: 30_000)
    }
    // In the background nothing is renewed.
    try expect("HB-INV-26", exercised: 1) { tale in
      tale.select(at: 0)
      tale.ask(.timelineInterest, at: 0, more: ["hold": true])
      tale.user("background", at: 10_000)
      tale.world("end", at: 90_000)
    }
  }

  // MARK: Rendering

  @Test func `HB-INV-30 a lower revision, an older epoch and other blocks of one version are found`() throws {
    try expect("HB-INV-30", exercised: 2) { tale in
      tale.overlay(3, 1, at: 0)
      tale.overlay(3, 2, at: 100)
      tale.overlay(4, 0, at: 200)
    }
    try expect("HB-INV-30", exercised: 1, broken: 1) { tale in
      tale.overlay(3, 2, at: 10)
      tale.overlay(3, 1, at: 100)
    }
    try expect("HB-INV-30", exercised: 1, broken: 1) { tale in
      tale.overlay(4, 0, at: 10)
      tale.overlay(3, 9, at: 100)
    }
    func blocks(_ tale: inout ClaimTale, _ second: String) {
      let version: JSONObject = ["sessionId": "ses-01", "settlementEpoch": 3, "revision": 2]
      tale.event(.timelineOverlay, at: 10, version, payload: #"{"event":"chat:timeline-overlay","blocks":[{"id":"a"}]}"#)
      tale.overlay(3, 2, at: 10)
      tale.event(.timelineOverlay, at: 110, version, payload: #"{"event":"chat:timeline-overlay","blocks":[{"id":"\#(second)"}]}"#)
      tale.overlay(3, 2, at: 110)
    }
    try expect("HB-INV-30", exercised: 1) { blocks(&$0, "a") }
    try expect("HB-INV-30", exercised: 1, broken: 1) { blocks(&$0, "b") }
    // An older version that arrives and is not shown puts the claim to the test.
    try expect("HB-INV-30", exercised: 1) { tale in
      tale.overlay(3, 2, at: 10)
      tale.event(.timelineOverlay, at: 20, ["sessionId": "ses-01", "settlementEpoch": 3, "revision": 1])
    }
  }

  @Test func `HB-INV-32 a row that stands twice is found`() throws {
    try expect("HB-INV-32", exercised: 1) { $0.show([("user:op:op-1", "live"), ("agent-reply:a", "live")], at: 10) }
    try expect("HB-INV-32", exercised: 1, broken: 1) { $0.show([("user:op:op-1", "canonical"), ("user:op:op-1", "echo")], at: 10) }
  }

  @Test func `HB-INV-33 a live row that goes without a reason is found`() throws {
    func story(_ tale: inout ClaimTale, after: [(String, String)], _ between: (inout ClaimTale) -> Void = { _ in }) {
      tale.show([("agent-reply:a", "live")], at: 10)
      between(&tale)
      tale.show(after, at: 100)
    }
    try expect("HB-INV-33", exercised: 1) { story(&$0, after: [("agent-reply:a", "canonical")]) }
    try expect("HB-INV-33", exercised: 1) { story(&$0, after: []) { $0.overlay(3, 2, at: 90) } }
    try expect("HB-INV-33", exercised: 1) { story(&$0, after: []) { $0.loaded(1, at: 90) } }
    try expect("HB-INV-33", exercised: 1, broken: 1) { story(&$0, after: []) }
    try expect("HB-INV-33", exercised: 1, broken: 1) { story(&$0, after: []) { $0.loaded(1, at: 90, "failed") } }
  }

  @Test func `HB-INV-33 a row of the overlay that is not on screen is found`() throws {
    let yes = #"{"type":"user","id":"u-2","operationId":"op-2","text":"Yes"}"#
    let done = #"{"type":"agent-reply","id":"a-2","text":"Done."}"#
    func story(
      _ tale: inout ClaimTale, _ blocks: String, shown: [(String, String)], then more: [(String, String)]? = nil, twice: String? = nil
    ) {
      let version: JSONObject = ["sessionId": "ses-01", "settlementEpoch": 3, "revision": 2]
      for blocks in [blocks, twice].compactMap(\.self) {
        tale.event(.timelineOverlay, at: 10, version, payload: #"{"event":"chat:timeline-overlay","blocks":[\#(blocks)]}"#)
      }
      tale.overlay(3, 2, at: 10)
      tale.show(shown, at: 10)
      if let more { tale.show(more, at: 90) }
    }
    // Saved rows of the same identity stand for live ones; what is never in the list is not missed.
    try expect("HB-INV-33", exercised: 0) { story(&$0, done, shown: [("agent-reply:a-2", "live")]) }
    try expect("HB-INV-33", exercised: 0) { story(&$0, done, shown: [("agent-reply:a-2", "canonical")]) }
    try expect("HB-INV-33", exercised: 0) { story(&$0, yes, shown: [("user:u-2", "canonical")]) }
    try expect("HB-INV-33", exercised: 0) { story(&$0, #"{"type":"thinking","id":"t"}"#, shown: []) }
    try expect("HB-INV-33", exercised: 0) { story(&$0, #"{"type":"activity","id":"p","panel":"subagent"}"#, shown: []) }
    // Which of two overlays of one version the client has cannot be told.
    try expect("HB-INV-33", exercised: 0) { story(&$0, done, shown: [], twice: yes) }
    // A saved row with the same words is another row.
    try expect("HB-INV-33", exercised: 1, broken: 1) { story(&$0, yes, shown: [("user:op:op-1", "canonical")]) }
    try expect("HB-INV-33", exercised: 1, broken: 1) { story(&$0, done, shown: [("agent-reply:a-1", "canonical")]) }
    // Once per row, however often the screen changes.
    try expect("HB-INV-33", exercised: 1, broken: 1) { story(&$0, done, shown: [], then: [("agent-reply:a-1", "canonical")]) }
    // The overlay moves and the screen stays as it was.
    try expect("HB-INV-33", exercised: 1, broken: 1) { tale in
      tale.show([("agent-reply:a-1", "canonical")], at: 0)
      tale.event(
        .timelineOverlay, at: 10, ["sessionId": "ses-01", "settlementEpoch": 3, "revision": 2],
        payload: #"{"event":"chat:timeline-overlay","blocks":[\#(done)]}"#)
      tale.overlay(3, 2, at: 10)
    }
  }

  @Test func `HB-INV-34 a run of an overtaken snapshot is found`() throws {
    func story(_ tale: inout ClaimTale, counter: Int64, dropped: Bool) {
      tale.load(1, at: 0)
      let ask = tale.ask(.load, at: 0)
      tale.core("event", at: 50, ["name": "chat:run-started", "verdict": "used", "host": "ses-01"])
      tale.answer(
        ask, at: 100, payload: #"{"id":"r1","result":{"timeline":[],"activeRun":{"runId":"run-1"},"liveOverlay":{"blocks":[]}}}"#)
      tale.loaded(1, at: 100, "applied", ["captured": 7, "counter": .integer(counter), "droppedLive": .bool(dropped)])
    }
    try expect("HB-INV-34", exercised: 1) { story(&$0, counter: 8, dropped: true) }
    try expect("HB-INV-34", exercised: 1, broken: 1) { story(&$0, counter: 8, dropped: false) }
    try expect("HB-INV-34", exercised: 1, broken: 1) { story(&$0, counter: 7, dropped: true) }
    // The app ends during the load; a load of the next launch has the same number and sees no event.
    try expect("HB-INV-34", exercised: 0) { tale in
      tale.load(1, at: 0)
      tale.world("launch", at: 1_000, ["n": 1])
      tale.core("event", at: 1_050, ["name": "chat:run-started", "verdict": "used", "host": "ses-01"])
      tale.load(1, at: 1_100)
      tale.loaded(1, at: 1_200, "applied", ["captured": 1, "counter": 1, "droppedLive": false])
    }
  }

  @Test func `HB-INV-50 rows or versions that change with bad data are found`() throws {
    func story(_ tale: inout ClaimTale, rows: [(String, String)], _ bad: (inout ClaimTale) -> Void) {
      tale.show([("agent-reply:a", "canonical")], at: 0)
      bad(&tale)
      tale.show(rows, at: 100)
    }
    let event: (inout ClaimTale) -> Void = { $0.core("event", at: 100, ["name": "chat:timeline-overlay", "verdict": "dropped"]) }
    let load: (inout ClaimTale) -> Void = { $0.loaded(1, at: 100, "invalid") }
    for bad in [event, load] {
      try expect("HB-INV-50", exercised: 1) { story(&$0, rows: [("agent-reply:a", "canonical")], bad) }
      try expect("HB-INV-50", exercised: 1, broken: 1) { story(&$0, rows: [], bad) }
    }
    try expect("HB-INV-50", exercised: 1, broken: 1) { tale in
      event(&tale)
      tale.overlay(3, 9, at: 100)
    }
  }

  @Test func `HB-INV-60 only running twice decides`() throws {
    let claim = try #require(hbcode.claims.first { $0.id == "HB-INV-60" })
    #expect(claim.needsProof)
  }
}
