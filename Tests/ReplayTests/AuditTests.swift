import Contract
import Faults
import Simulation
import TestSupport
import Testing
import Wire

@testable import Replay

/// Audits 1 and 2 on recordings made by the world itself, true ones and ones with a planted divergence.
struct AuditTests {
  private let system = Echo.system()
  private let scenario = EchoScenario(
    end: .seconds(20), (1...4).map { EchoScenario.send("m\($0)", "text \($0)", at: $0 * 3_000) })

  /// A run as a capture at the client's side would have recorded it.
  private func recording(_ trace: Trace) throws -> [Frame] {
    var frames: [Frame] = []
    for entry in trace.entries where entry.party == .link {
      let sent = entry["of"]?.int.map { trace.entries[$0] } ?? entry
      func add(_ kind: FrameKind, _ payload: [UInt8], _ direction: Direction) {
        frames.append(
          Frame(
            sequence: frames.count + 1, at: entry.at, connection: ConnectionID(entry["conn"]?.int ?? 0), direction: direction, kind: kind,
            payload: payload))
      }
      switch entry.kind {
      case "up": add(.open, JSONWriter.compact(["url": .string("http://host" + (entry["endpoint"]?.string ?? ""))]), .out)
      case "down": add(.close, JSONWriter.compact(["code": 1006, "who": entry["who"] ?? .null]), .out)
      case "send" where entry["dir"] == "out": add(FrameKind(rawValue: entry["frame"]?.string ?? ""), entry.payload ?? [], .out)
      case "arrive" where entry["dir"] == "in": add(FrameKind(rawValue: sent["frame"]?.string ?? ""), sent.payload ?? [], .in)
      default: break
      }
    }
    return frames
  }

  private func told(_ rules: String...) throws -> [Frame] {
    var story = Story(system, scenario)
    story.settings.plan = try story.settings.plan.adding(rules)
    return try recording(story.run().trace)
  }

  @Test func `a recording of the scenario itself is faithful in every frame`() throws {
    let report = Audit.run(system, scenario, try told())
    #expect(report.differences == [])
    #expect(report.serverFrames == 9)
    #expect(report.clientFrames == 5)
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
