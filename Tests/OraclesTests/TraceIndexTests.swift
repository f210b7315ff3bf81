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

  @Test func `the content of an entry is what its payload says now, whoever parsed it first`() {
    func entry(_ index: Int, _ payload: String?) -> TraceEntry {
      TraceEntry(
        index: index, at: .zero, party: .link, kind: "send", fields: ["conn": 1, "dir": "out"], payload: payload.map { Array($0.utf8) })
    }
    let header = RunHeader(system: "toy", behaviourVersion: 1, planHash: "", seed: 1)
    let entries = [entry(0, "{\"a\":1}"), entry(1, nil), entry(2, "no JSON"), entry(3, "[2]")]
    var trace = Trace(header: header, entries: entries, contents: [0: ["a": 1]])
    func contents(_ trace: Trace) -> [JSON?] {
      let index = TraceIndex(trace)
      return (-1...4).map { index.content(ofEntry: $0) }
    }
    #expect(contents(trace) == [nil, ["a": 1], nil, nil, [2], nil])
    trace.entries[0].payload = Array("[3]".utf8)
    #expect(trace.contents.isEmpty)
    #expect(contents(trace) == [nil, [3], nil, nil, [2], nil])
  }

  @Test func `findings are made once for an index, and anew for another trace`() {
    struct Count: Sendable { var entries: Int }
    var story = TraceBuilder()
    _ = story.attempt("op-1", key: "k-1", at: 10)
    let trace = story.finished(quiet: 100, end: 200)
    let index = TraceIndex(trace)
    var made = 0
    func count(_ index: TraceIndex) -> Int {
      index.finding {
        made += 1
        return Count(entries: $0.entries.count)
      }.entries
    }
    #expect(count(index) == trace.entries.count)
    #expect(count(index) == trace.entries.count)
    #expect(made == 1)
    #expect(count(TraceIndex(Trace(header: trace.header))) == 0)
    #expect(made == 2)
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
