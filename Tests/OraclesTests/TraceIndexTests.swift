import Contract
import Simulation
import TestSupport
import Testing
import Wire

@Suite struct TraceIndexTests {
  @Test func `responses find their request by the entry that they name, else by connection and id, by key, or in order`() {
    var story = TraceBuilder()
    func fields(_ conn: Int64, _ role: String, _ name: String, _ more: JSONObject = [:]) -> JSONObject {
      JSONObject(
        [
          JSONObject.Member(name: "conn", value: .integer(conn)), JSONObject.Member(name: "dir", value: role == "request" ? "out" : "in"),
          JSONObject.Member(name: "label", value: .string(role)), JSONObject.Member(name: "name", value: .string(name)),
        ] + more.members)
    }
    story.add(.link, "send", at: 1, fields(1, "request", "load", ["id": 1]))
    story.add(.link, "send", at: 2, fields(2, "request", "load", ["id": 1]))
    story.add(.link, "send", at: 3, fields(2, "response", "load", ["id": 1]))
    story.add(.link, "send", at: 4, fields(1, "response", "load", ["id": 1]))
    story.add(.link, "send", at: 5, fields(3, "request", "post", ["key": "k"]))
    story.add(.link, "send", at: 6, fields(4, "response", "post", ["key": "k"]))
    story.add(.link, "send", at: 7, fields(5, "request", "get"))
    story.add(.link, "send", at: 8, fields(5, "request", "get"))
    story.add(.link, "send", at: 9, fields(5, "response", "get"))
    story.add(.link, "send", at: 10, fields(5, "response", "get"))
    let late = story.add(.link, "send", at: 11, fields(6, "request", "load", ["id": 1]))
    story.add(.link, "send", at: 12, fields(6, "request", "load", ["id": 1]))
    story.add(.link, "send", at: 13, fields(6, "response", "load", ["id": 1, "re": .int(late)]))
    let index = TraceIndex(story.finished(quiet: 20, end: 30))
    #expect(index.exchanges.map { [$0.request] + $0.responses } == [[0, 3], [1, 2], [4, 5], [6, 8], [7, 9], [10, 12], [11]])
  }

  @Test func `arrivals and faults stand with their frame`() {
    var story = TraceBuilder()
    let sent = story.attempt("op-1", key: "k-1", at: 10)
    story.fault("delay", sent, rule: 1, at: 10)
    story.arrive(sent, at: 60)
    story.arrive(sent, at: 70)
    let index = TraceIndex(story.finished(quiet: 100, end: 200))
    #expect(index.frames.count == 1)
    #expect(index.frames[0].arrivals == [6, 7])
    #expect(index.frames[0].faults == [4])
    #expect(index.frame(ofEntry: 6)?.entry == sent)
    #expect(index.frames(withKey: "k-1") == [0])
    #expect(index.attempts(of: "op-1").map(\.entry) == [sent])
  }

  @Test func `lives and uptimes are intervals, open ones last to the end`() {
    var story = TraceBuilder()
    story.add(.link, "down", at: 100, ["conn": 1])
    story.add(.world, "stop", at: 200)
    story.add(.world, "launch", at: 300)
    story.add(.link, "up", at: 310, ["conn": 1])
    let index = TraceIndex(story.finished(quiet: 400, end: 500))
    func ms(_ intervals: [StateInterval]) -> [[Int64]] {
      intervals.map { [$0.from.nanoseconds / 1_000_000, $0.until.nanoseconds / 1_000_000] }
    }
    #expect(ms(index.lives) == [[0, 200], [300, 500]])
    #expect(ms(index.uptimes(ofConnection: 1)) == [[0, 100], [310, 500]])
    #expect(index.lives[1].closed == nil)
    #expect(index.lives[0].contains(entry: 2))
    #expect(!index.lives[0].contains(entry: 5))
  }

  @Test func `hostile entries do not trap`() {
    var story = TraceBuilder()
    story.add(.link, "arrive", at: 1, ["of": -5])
    story.add(.link, "drop", at: 2, ["of": "x"])
    story.add(.link, "send", at: 3, ["dir": 7])
    story.add(.core, "says", at: 4, ["operation": "op-1", "state": "nonsense"])
    let index = TraceIndex(story.finished(quiet: 10, end: 20))
    #expect(index.frames.isEmpty)
    #expect(index.words(about: "op-1").isEmpty)
    #expect(index.frame(ofEntry: 99) == nil)
    #expect(index.gesture(ofAccepted: -1) == nil)
  }
}
