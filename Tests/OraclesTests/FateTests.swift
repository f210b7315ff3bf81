import Contract
import Simulation
import TestSupport
import Testing
import Wire

@testable import Oracles

/// Each fate from the smallest trace that has it.
@Suite struct FateTests {
  private func only(_ story: inout TraceBuilder) throws -> Message {
    let ledger = DeliveryLedger(TraceIndex(story.finished(quiet: 40_000, end: 60_000)))
    try #require(ledger.messages.count == 1)
    return ledger.messages[0]
  }

  @Test func `a message that is saved once and said to be delivered is confirmed`() throws {
    var story = TraceBuilder()
    story.confirmed("op-1", "hello", key: "k-1", at: 10_000)
    let message = try only(&story)
    #expect(message.fate == .confirmed)
    #expect(message.id == "M1")
    #expect(message.operationIDs == ["op-1"])
    #expect(message.text == "hello")
    #expect(message.lane == "ses-01")
    #expect(message.attempts.count == 1)
    #expect(message.distinctKeys == 1)
    #expect(message.saves.count == 1)
    #expect(message.attempts[0].passage == .arrived(Instant(nanoseconds: 10_050_000_000)))
    #expect(message.attempts[0].receipt == Instant(nanoseconds: 10_100_000_000))
    #expect(message.shown == Instant(nanoseconds: 10_000_000_000))
    #expect(message.word == .delivered)
    #expect(message.ledger == "1 row")
    #expect(message.faults.isEmpty)
    #expect(message.why == "The server saved it at 0:10.050; the client said “delivered” at 0:10.100.")
  }

  @Test func `a word of waiting that history has overtaken is confirmed`() throws {
    var story = TraceBuilder()
    story.send("op-1", "hello", at: 10_000)
    story.ledger("saved", "op-1", at: 10_050)
    story.says("op-1", .waiting, at: 10_100)
    #expect(try only(&story).fate == .waiting)
    var delivered = story
    delivered.ledger("delivered", "op-1", at: 11_000, ["run": "run-1"])
    #expect(try only(&delivered).fate == .confirmed)
  }

  @Test func `a saved message whose receipt was dropped is saved-unconfirmed and names the rule`() throws {
    var story = TraceBuilder()
    story.send("op-1", "hello", at: 10_000)
    let submit = story.attempt("op-1", key: "k-1", at: 10_000)
    story.arrive(submit, at: 10_050)
    story.ledger("saved", "op-1", at: 10_050)
    let receipt = story.receipt(of: submit, at: 10_050)
    story.fault("drop", receipt, rule: 1, at: 10_050)
    story.says("op-1", .unconfirmed, at: 30_000)
    let message = try only(&story)
    #expect(message.fate == .savedUnconfirmed)
    #expect(message.faults.map(\.words) == ["fault 1"])
    #expect(message.faults[0].frame == "response submit")
    #expect(message.attempts[0].receipt == nil)
    #expect(message.attempts[0].answered == Instant(nanoseconds: 10_050_000_000))
    #expect(message.attempts[0].mishaps == ["drop"])
  }

  @Test func `held, and stranded when the server does not have it`() throws {
    var story = TraceBuilder()
    story.send("op-1", "hello", at: 10_000)
    story.says("op-1", .held, at: 11_000)
    #expect(try only(&story).fate == .stranded)
    story.ledger("saved", "op-1", at: 60_000)
    #expect(try only(&story).fate == .held)
  }

  @Test func `refused messages are restored or kept`() throws {
    for (word, fate) in [(Vocabulary.ClientWord.restored, Fate.rejectedRestored), (.failed, .rejectedKept)] {
      var story = TraceBuilder()
      story.send("op-1", "hello", at: 10_000)
      story.ledger("refused", "op-1", at: 10_050, ["code": "too_long"])
      story.says("op-1", word, at: 10_100)
      let message = try only(&story)
      #expect(message.fate == fate)
      #expect(message.refusals.map(\.detail) == ["too_long"])
    }
  }

  @Test func `removed and superseded by the ledger or before the server had it`() throws {
    var story = TraceBuilder()
    story.send("op-1", "hello", at: 10_000)
    var taken = story
    taken.says("op-1", .removed, at: 11_000)
    #expect(try only(&taken).fate == .removed)
    var replaced = story
    replaced.says("op-1", .superseded, at: 11_000)
    #expect(try only(&replaced).fate == .superseded)
    story.ledger("saved", "op-1", at: 10_050)
    var removed = story
    removed.ledger("removed", "op-1", at: 12_000)
    #expect(try only(&removed).fate == .removed)
    story.ledger("superseded", "op-1", at: 12_000, ["by": "op-2"])
    let message = try only(&story)
    #expect(message.fate == .superseded)
    #expect(message.why == "Replaced by op-2 at 0:12.000.")
  }

  @Test func `two saves are a duplicate, also under two operations of one gesture`() throws {
    var story = TraceBuilder()
    story.confirmed("op-1", "hello", key: "k-1", at: 10_000)
    var twice = story
    twice.ledger("saved", "op-1", at: 30_050)
    let message = try only(&twice)
    #expect(message.fate == .duplicated)
    #expect(message.fate.words(saves: message.saves.count) == "saved twice")
    #expect(message.why == "The server saved it at 0:10.050 and 0:30.050.")

    var copied = TraceBuilder()
    copied.send("op-1", "hello", at: 10_000)
    copied.ledger("saved", "op-1", at: 10_050)
    copied.accept("op-9", "hello", action: "i-op-1", at: 30_000)
    copied.ledger("saved", "op-9", at: 30_050)
    let copy = try only(&copied)
    #expect(copy.operationIDs == ["op-1", "op-9"])
    #expect(copy.fate == .duplicated)
  }

  @Test func `two rows in the history are a duplicate, one row noted twice is not`() throws {
    var story = TraceBuilder()
    story.confirmed("op-1", "hello", key: "k-1", at: 10_000)
    story.ledger("history", "op-1", at: 16_000, ["row": "row-op-1"])
    #expect(try only(&story).fate == .confirmed)
    story.ledger("history", "op-1", at: 17_000, ["row": "row-other"])
    let message = try only(&story)
    #expect(message.fate == .duplicated)
    #expect(message.fate.words(saves: message.saves.count) == "shown twice")
  }

  @Test func `a message that the client claims and the server never saved`() throws {
    for word in [Vocabulary.ClientWord.delivered, .waiting] {
      var story = TraceBuilder()
      story.send("op-1", "hello", at: 10_000)
      story.says("op-1", word, at: 10_100)
      #expect(try only(&story).fate == .claimedNotSaved)
    }
  }

  @Test func `a message that is said to have failed and is saved`() throws {
    for word in [Vocabulary.ClientWord.restored, .failed, .removed, .superseded] {
      var story = TraceBuilder()
      story.send("op-1", "hello", at: 10_000)
      story.ledger("saved", "op-1", at: 10_050)
      story.says("op-1", word, at: 10_100)
      #expect(try only(&story).fate == .reportedFailedButSaved)
    }
  }

  @Test func `a message of which the client is silent after a restart is lost, one that it speaks of again is not`() throws {
    var story = TraceBuilder()
    story.send("op-1", "hello", at: 10_000)
    story.add(.world, "stop", at: 10_010, ["after": 5])
    story.add(.world, "launch", at: 15_000, ["n": 1])
    var kept = story
    kept.says("op-1", .unconfirmed, at: 15_000)
    #expect(try only(&kept).fate == .stranded)
    let message = try only(&story)
    #expect(message.fate == .lost)
    #expect(message.clientSays == "nothing since the restart")
    #expect(message.ledger == "nothing")
  }

  @Test func `a message that only the wire knows is a row of its own, one that only the ledger knows is foreign`() throws {
    var story = TraceBuilder()
    _ = story.attempt("op-1", key: "k-1", at: 10_000)
    story.ledger("saved", "op-x", at: 12_000, ["text": "from elsewhere", "lane": "ses-02"])
    let ledger = DeliveryLedger(TraceIndex(story.finished(quiet: 40_000, end: 60_000)))
    #expect(ledger.messages.map(\.operationIDs) == [["op-1"]])
    #expect(!ledger.messages[0].hasUserAction)
    #expect(ledger.foreign.map(\.text) == ["from elsewhere"])
  }

  @Test func `worst first, then touched by faults, then in order of the user`() {
    var story = TraceBuilder()
    story.confirmed("op-1", "one", key: "k-1", at: 1_000)
    story.confirmed("op-2", "two", key: "k-2", at: 2_000)
    story.fault("delay", 19, rule: 1, at: 2_000)
    story.send("op-3", "three", at: 3_000)
    story.says("op-3", .delivered, at: 3_100)
    let trace = story.finished(quiet: 40_000, end: 60_000)
    let ledger = DeliveryLedger(TraceIndex(trace))
    #expect(ledger.messages.map(\.id) == ["M3", "M2", "M1"])
    #expect(ledger.messages[1].faults.count == 1)
    #expect(ledger.inOrder.map(\.id) == ["M1", "M2", "M3"])
  }

  @Test func `the list of fates is closed and its four broken ones stand first`() {
    #expect(
      Fate.allCases.map(\.rawValue) == [
        "lost", "duplicated", "claimed-not-saved", "reported-failed-but-saved", "stranded", "saved-unconfirmed", "rejected-kept",
        "rejected-restored", "held", "waiting", "superseded", "removed", "confirmed",
      ])
    #expect(Fate.allCases.map(\.isBroken) == Array(repeating: true, count: 4) + Array(repeating: false, count: 9))
  }
}
