import Contract
import Simulation
import TestSupport
import Testing
import Wire

@testable import Oracles

@Suite struct CommonClaimsTests {
  private func result(_ id: String, _ story: inout TraceBuilder) throws -> ClaimResult {
    let judgement = Judge.judge(story.finished(quiet: 40_000, end: 60_000), claims: [])
    return try #require(judgement.claims.first { $0.id == id })
  }

  @Test func `CB-INV-01 an operation without a gesture breaks it, whatever the client notes`() throws {
    var story = TraceBuilder()
    story.confirmed("op-1", "hello", key: "k-1", at: 10_000)
    var noted = story
    noted.accept("op-9", "hello", at: 30_000)
    let found = try result("CB-INV-01", &noted)
    #expect(found.verdict == .broken)
    #expect(found.exercised == 2)
    #expect(found.violations.map(\.happened) == ["Operation op-9 was made at 0:30.000 without an action of the user."])
    _ = story.attempt("op-9", key: "k-9", at: 30_000)
    #expect(try result("CB-INV-01", &story).violations.map(\.operation) == ["op-9"])
  }

  @Test func `CB-INV-01 two operations of one gesture break it, operations of before the run do not`() throws {
    var story = TraceBuilder()
    story.accept("op-0", "old", action: "earlier", at: 0)
    story.send("op-1", "hello", at: 10_000)
    #expect(try result("CB-INV-01", &story).verdict == .held)
    story.accept("op-2", "hello", at: 10_000)
    let found = try result("CB-INV-01", &story)
    #expect(found.exercised == 3)
    #expect(found.violations.map(\.happened) == ["One action at 0:10.000 became two operations, op-1 and op-2."])
  }

  @Test func `CB-INV-02 names the instants of both saves`() throws {
    var story = TraceBuilder()
    story.confirmed("op-1", "hello", key: "k-1", at: 10_000)
    #expect(try result("CB-INV-02", &story).verdict == .held)
    story.ledger("saved", "op-1", at: 30_050)
    let found = try result("CB-INV-02", &story)
    #expect(found.violations.map(\.happened) == ["Saved twice: at 0:10.050 and at 0:30.050."])
  }

  @Test func `CB-INV-03 a message that nobody has is lost`() throws {
    var story = TraceBuilder()
    story.send("op-1", "hello", at: 10_000)
    story.add(.world, "launch", at: 15_000, ["n": 1])
    let found = try result("CB-INV-03", &story)
    #expect(found.verdict == .broken)
    #expect(found.violations[0].operation == "op-1")
  }

  @Test func `CB-INV-04 delivered must not be said before the save`() throws {
    var story = TraceBuilder()
    story.send("op-1", "hello", at: 10_000)
    story.says("op-1", .delivered, at: 10_010)
    story.ledger("saved", "op-1", at: 10_050)
    let found = try result("CB-INV-04", &story)
    #expect(found.violations.map(\.happened) == ["The client said “delivered” at 0:10.010; the server saved it only at 0:10.050."])
  }

  @Test func `CB-INV-04 restored text that arrives after all breaks it, a word taken back does not`() throws {
    var story = TraceBuilder()
    story.send("op-1", "hello", at: 10_000)
    story.says("op-1", .restored, at: 20_000)
    #expect(try result("CB-INV-04", &story).verdict == .held)
    story.ledger("saved", "op-1", at: 25_000)
    let found = try result("CB-INV-04", &story)
    #expect(found.violations.map(\.happened) == ["The client said “restored” at 0:20.000; the server has it since 0:25.000."])
    story.says("op-1", .delivered, at: 26_000)
    #expect(try result("CB-INV-04", &story).verdict == .held)
  }

  @Test func `CB-INV-04 unsure words are free and are no opportunity`() throws {
    var story = TraceBuilder()
    story.send("op-1", "hello", at: 10_000)
    story.says("op-1", .unconfirmed, at: 30_000)
    #expect(try result("CB-INV-04", &story).verdict == .untested)
  }

  @Test func `CB-INV-05 only repeats count, the request id may differ and the words may not`() throws {
    var story = TraceBuilder()
    story.send("op-1", "hello", at: 10_000)
    _ = story.attempt("op-1", key: "k-1", at: 10_000)
    #expect(try result("CB-INV-05", &story).verdict == .untested)
    _ = story.attempt("op-1", key: "k-1", at: 30_000)
    let held = try result("CB-INV-05", &story)
    #expect(held.verdict == .held)
    #expect(held.exercised == 1)
    _ = story.attempt("op-1", key: "k-1", words: "other", at: 40_000)
    #expect(
      try result("CB-INV-05", &story).violations.map(\.happened) == [
        "The request at 0:40.000 repeats key k-1 of 0:10.000 with other words."
      ])
    _ = story.attempt("op-2", key: "k-1", at: 41_000)
    #expect(try result("CB-INV-05", &story).violations.last?.happened == "Key k-1 was used for op-1 and again for op-2.")
  }

  @Test func `words of HTTP requests are their bodies`() {
    let first = Array("{\"method\":\"POST\",\"headers\":[[\"date\",\"1\"]]}\n{\"text\":\"a\"}".utf8)
    let second = Array("{\"method\":\"POST\",\"headers\":[[\"date\",\"2\"]]}\n{\"text\": \"a\"}".utf8)
    let third = Array("{\"method\":\"POST\",\"headers\":[[\"date\",\"2\"]]}\n{\"text\":\"b\"}".utf8)
    #expect(Words.equal(first, second))
    #expect(!Words.equal(first, third))
    #expect(!Words.equal([1, 2], [1, 3]))
    #expect(!Words.equal([1], nil))
  }
}
