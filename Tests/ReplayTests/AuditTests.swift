import Contract
import Faults
import Oracles
import Simulation
import TestSupport
import Testing
import Wire

@testable import Replay

/// Audits 1 to 3 on recordings made by the world itself, true ones and ones with a planted divergence.
struct AuditTests {
  private let system = Echo.system()
  private let scenario = EchoScenario(
    end: .seconds(20), (1...4).map { EchoScenario.send("m\($0)", "text \($0)", at: $0 * 3_000) })

  private func told(_ rules: String...) throws -> [Frame] {
    var story = Story(system, scenario)
    story.settings.plan = try story.settings.plan.adding(rules)
    return ClientSide.frames(of: try story.run().trace)
  }

  @Test func `a recording of the scenario itself is faithful in every frame`() throws {
    let report = Audit.run(system, scenario, try told())
    #expect(report.differences == [])
    #expect(report.serverFrames == 9)
    #expect(report.clientFrames == 5)
    #expect(report.bothFrames == 14)
    #expect(report.sentence == "faithful")
  }

  @Test func `instants that no clock can carry are a divergence, not a trap`() throws {
    var frames = try told()
    frames[3].at = .never
    #expect(Audit.run(system, scenario, frames).differences.map(\.name) == ["scenario"])
    var far = scenario
    far.facts.oneWay = ["": Interval(nanoseconds: .max)]
    #expect(Audit.run(system, far, try told()).fidelity == .diverges)
  }

  @Test func `a recording that begins in the middle does not show how the client started up`() throws {
    let frames = try told().filter { $0.kind != .open && $0.at > .zero + .seconds(1) }
    #expect(Audit.core(system, scenario, frames).differences == [])
    #expect(Audit.both(system, scenario, frames).differences == [])
  }

  @Test func `assumed notes are counted`() throws {
    var assumed = scenario
    assumed.facts.notes = [Note("x", basis: .assumed), Note("y", basis: .derived), Note("z", basis: .synthetic)]
    #expect(Audit.run(system, assumed, try told()).sentence == "faithful with 2 assumptions")
  }

  @Test func `a recorded loss is a divergence without its condition and none with it`() throws {
    let frames = try told("drop,response,POST /messages,nth=2", "drop,event,message,nth=3")
    let without = Audit.twin(system, scenario, frames).differences
    #expect(
      without.map { "\($0.kind.rawValue) \($0.name) \($0.at)" } == ["new response POST /messages 0:06.100", "new event message 0:09.500"])
    var known = scenario
    known.facts.conditions = [
      LinkCondition(pattern: FramePattern(role: .response, name: Echo.post), nth: 2, what: .lost, reason: "no receipt"),
      LinkCondition(pattern: FramePattern(role: .event, name: Echo.message), nth: 3, what: .lost, reason: "no event"),
    ]
    #expect(Audit.twin(system, known, frames).differences == [])
    #expect(Audit.core(system, known, frames).differences == [])
    #expect(Audit.both(system, known, frames).differences == [])
    // Alone both are right: the core asks again because of the recorded silence. Together they do not find that silence.
    #expect(
      Audit.both(system, scenario, frames).differences.map { "\($0.kind.rawValue) \($0.name) \($0.at)" }
        == ["missing request POST /messages 0:08.000", "moved response POST /messages 0:08.100", "new event message 0:09.500"])
  }

  @Test func `a lost request is left out, a late one moved`() throws {
    let lost = try told("drop,request,POST /messages,nth=2", "delay,request,POST /messages,by=700ms,nth=4")
    var known = scenario
    known.facts.conditions = [
      LinkCondition(pattern: FramePattern(role: .request, name: Echo.post), nth: 2, what: .lost, reason: "never came"),
      LinkCondition(pattern: FramePattern(role: .request, name: Echo.post), nth: 4, what: .late(.milliseconds(700)), reason: "came late"),
    ]
    #expect(Audit.twin(system, known, lost).differences == [])
    #expect(Audit.core(system, known, lost).differences == [])
    #expect(Audit.twin(system, scenario, lost).differences.isEmpty == false)
  }

  @Test func `words that the scenario does not say differ, with key path and both values`() throws {
    var frames = try told()
    let index = try #require(frames.lastIndex { $0.kind == .serverSentEvent })
    frames[index].payload = Array(#"{"n":4,"id":"m4","text":"other words"}"#.utf8)
    let difference = try #require(Audit.run(system, scenario, frames).differences.first)
    #expect(difference.kind == .differs)
    #expect(difference.audit == 1)
    #expect(difference.frame == frames[index].sequence)
    #expect(difference.path == "text")
    #expect(difference.recorded == #""other words""#)
    #expect(difference.replayed == #""text 4""#)
  }

  @Test func `a redacted text equals any text`() throws {
    var frames = try told()
    let index = try #require(frames.lastIndex { $0.kind == .serverSentEvent })
    frames[index].payload = Array(#"{"n":4,"id":"m4","text":"[redacted:1]"}"#.utf8)
    #expect(Audit.twin(system, scenario, frames).differences == [])
  }

  @Test func `an instant more than 1 ms away has moved`() throws {
    for (by, kinds) in [(1_000_000, []), (1_000_001, [.moved])] as [(Int64, [Divergence.Kind])] {
      var frames = try told()
      let index = try #require(frames.lastIndex { $0.kind == .serverSentEvent })
      frames[index].at = frames[index].at + Interval(nanoseconds: by)
      #expect(Audit.twin(system, scenario, frames).differences.map(\.kind) == kinds)
    }
  }

  @Test func `a request that the core would not have sent is named, as is one that it would`() throws {
    var frames = try told()
    let index = try #require(frames.firstIndex { $0.kind == .request && $0.payload.count > 60 })
    var copy = frames[index]
    // The recorded app asked once more, under a new key and with other words.
    copy.at = copy.at + .seconds(1)
    copy.sequence = 1_000
    copy.payload = Echo.payload(["request": .string(Echo.post), "key": "k-new"], ["id": "m1", "text": "again"])
    frames.append(copy)
    frames.sort { $0.at < $1.at }
    let differences = Audit.core(system, scenario, frames).differences
    #expect(differences.map(\.kind) == [.missing])
    #expect(differences.first?.frame == 1_000)
    frames.removeAll { $0.sequence == 1_000 || $0.sequence == index + 1 }
    let less = Audit.core(system, scenario, frames).differences
    #expect(less.map(\.kind) == [.new])
    #expect(less.first?.at.description == "0:03.000")
  }

  // MARK: Audit 3

  @Test func `audit 3 names what both make of it: frame, kind, instants, and the operation that rests on it`() throws {
    var frames = try told()
    let event = try #require(frames.lastIndex { $0.kind == .serverSentEvent })
    frames[event].at = frames[event].at + Interval(nanoseconds: 5_000_001)
    let number = frames[event].sequence
    let answer = try #require(frames.lastIndex { $0.kind == .response })
    frames.remove(at: answer)
    let differences = Audit.run(system, scenario, frames).differences.filter { $0.audit == 3 }
    #expect(differences.map(\.kind) == [.new, .moved])
    #expect(differences[0].name == "response POST /messages")
    #expect(differences[0].at == .zero + .milliseconds(12_100))
    #expect(differences[1].frame == number)
    #expect(differences[1].restsOn == "operation m4")
    #expect(differences[1].recorded == "0:12.505")
    #expect(differences[1].replayed == "0:12.500")
  }

  @Test(arguments: [(5_000_000, 0), (5_000_001, 1)] as [(Int64, Int)])
  func `audit 3 lets instants differ by 5 ms`(by: Int64, count: Int) throws {
    var frames = try told()
    let index = try #require(frames.lastIndex { $0.kind == .serverSentEvent })
    frames[index].at = frames[index].at + Interval(nanoseconds: by)
    #expect(Audit.both(system, scenario, frames).differences.count == count)
  }

  @Test func `an intent whose instant is nobody's frame may lie 250 ms away, with what answers it and the events behind it`() throws {
    let frames = try told()
    for (by, kinds) in [(250_000_000, []), (250_000_001, [.moved, .moved, .moved])] as [(Int64, [Divergence.Kind])] {
      var early = scenario
      early.facts.intents[1].at = early.facts.intents[1].at - Interval(nanoseconds: by)
      early.facts.intents[1].gesture.fields["ids"] = ["message": "m2"]
      #expect(Audit.both(system, early, frames).differences.map(\.kind) == kinds)
      // Only what it makes.
      early.facts.intents[1].gesture.fields["ids"] = ["message": "m1"]
      #expect(Audit.both(system, early, frames).differences.map(\.kind).prefix(2) == [.moved, .moved])
    }
  }

  @Test func `audit 3 does not ask whether an answer came before an event, nor in which order sockets speak`() throws {
    var frames = try told()
    // The event of m1 arrives on the connection of its answer, before it.
    let answer = try #require(frames.firstIndex { $0.kind == .response && String(decoding: $0.payload, as: UTF8.self).contains("m1") })
    let event = try #require(frames.firstIndex { $0.kind == .serverSentEvent })
    frames[event].at = frames[event].at + .milliseconds(1)
    frames.swapAt(answer, event)
    frames.sort { $0.at < $1.at }
    #expect(Audit.both(system, scenario, frames).differences == [])
  }

  @Test func `what two intents cannot do by themselves the whole does: a run without end is a difference`() throws {
    let endless = Echo.system(makeCore: { _, _ in EndlessCore() })
    let differences = Audit.both(endless, scenario, try told()).differences
    #expect(differences.map(\.name) == ["run"])
    #expect(differences.first?.audit == 3)
    #expect(differences.first?.restsOn?.contains("does not come to an end") == true)
  }

  // MARK: Doubts

  private let words = Claim("ECHO-W", "Words", "Each event says a message.", per: "an event", on: .serverWords) { index in
    let arrivals = index.entries.filter { $0.party == .link && $0.kind == "arrive" && $0["label"]?.string == "event" }
    return ClaimOutcome(exercised: arrivals.count, grounds: arrivals.map { [$0.index] })
  }

  @Test func `what differs in audit 1 leaves claims on the server's words undecided, in a faulted replay too, and no others`() throws {
    var frames = try told()
    let index = try #require(frames.lastIndex { $0.kind == .serverSentEvent })
    frames[index].payload = Array(#"{"n":4,"id":"m4","text":"other words"}"#.utf8)
    let audit = Audit.run(system, scenario, frames)
    #expect(!audit.doubtful.isEmpty)
    // Everything comes later and under another number: m1 is never said.
    let trace = try Story(system, scenario).faults("drop,request,POST /messages,nth=1", "delay,request,POST /messages,nth=5,by=300ms").run()
      .trace
    let doubts = audit.doubtful.entries(of: trace, system)
    let doubted = try #require(doubts.keys.first)
    #expect(doubts == [doubted: "frame \(frames[index].sequence) differs from the recording"])
    #expect(trace.entries[doubted]["id"] == "m4")
    let judgement = Judge.judge(trace, claims: [words] + system.claims, doubts: doubts)
    let found = try #require(judgement.claims.first { $0.id == "ECHO-W" })
    #expect(found.verdict == .unknown)
    #expect(found.exercised == 3)
    #expect(found.undecided == 1)
    #expect(judgement.claims.filter { $0.verdict == .unknown }.map(\.id) == ["ECHO-W"])
    #expect(Judge.judge(trace, claims: [words]).claims.last?.verdict == .held)
  }

  @Test func `a frame that the recording does not have is doubted as well, and a faithful recording doubts nothing`() throws {
    let trace = try Story(system, scenario).run().trace
    var frames = try told()
    #expect(Audit.run(system, scenario, frames).doubtful.isEmpty)
    frames.removeAll { $0.kind == .serverSentEvent && String(decoding: $0.payload, as: UTF8.self).contains("m3") }
    let doubts = Audit.run(system, scenario, frames).doubtful.entries(of: trace, system)
    #expect(doubts.values.sorted() == ["the recording has no such event message"])
  }
}

/// Arms a timer for now, again and again.
private struct EndlessCore: ClientCore {
  mutating func handle(_ input: Input, at now: Instant) -> [Effect] { [.arm(TimerID("now"), at: now)] }
  func premise(of gesture: Gesture) -> Premise { .holds }
  func holds(state: String) -> Bool { false }
}

struct AlignmentTests {
  /// The length of the longest common subsequence, by the textbook.
  private func longest(_ a: [Int], _ b: [Int]) -> Int {
    var row = [Int](repeating: 0, count: b.count + 1)
    for x in a {
      var diagonal = 0
      for (j, y) in b.enumerated() {
        let above = row[j + 1]
        row[j + 1] = x == y ? diagonal + 1 : max(above, row[j])
        diagonal = above
      }
    }
    return row[b.count]
  }

  @Test func `pairs are equal, grow on both sides, and are as many as can be`() {
    for seed in 0..<300 as Range<UInt64> {
      let random = SeededRandom(seed: seed)
      let a = (0..<random.fork("n").index(below: 12, at: 0)).map { random.fork("a").index(below: 3, at: $0) }
      let b = (0..<random.fork("m").index(below: 12, at: 0)).map { random.fork("b").index(below: 3, at: $0) }
      let pairs = Alignment.pairs(a.count, b.count) { a[$0] == b[$1] }
      #expect(pairs.allSatisfy { a[$0.0] == b[$0.1] })
      #expect(zip(pairs, pairs.dropFirst()).allSatisfy { $0.0 < $1.0 && $0.1 < $1.1 })
      #expect(pairs.count == longest(a, b), "seed \(seed)")
    }
  }

  @Test func `beyond the bound the alignment goes on within a window`() {
    let a = Array(0..<4_000)
    let b = a.map { $0 % 2 == 0 ? $0 : -$0 }
    let pairs = Alignment.pairs(a.count, b.count, mostEdits: 50) { a[$0] == b[$1] }
    #expect(pairs.count == 2_000)
    let bounded = Alignment.pairs(a.count, 0) { _, _ in false }
    #expect(bounded.isEmpty)
  }
}
