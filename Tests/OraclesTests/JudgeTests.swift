import Contract
import Simulation
import TestSupport
import Testing
import Wire

@testable import Oracles

@Suite struct JudgeTests {
  private struct Broken: Error, CustomStringConvertible { var description: String { "row 7 has no id" } }

  private func good() -> Trace {
    var story = TraceBuilder()
    story.confirmed("op-1", "hello", key: "k-1", at: 10_000)
    return story.finished(quiet: 40_000, end: 60_000)
  }

  private func claim(on footing: Footing = .clientOnly, _ outcome: ClaimOutcome) -> Claim {
    Claim("X-INV-01", "Test", "It holds.", per: "a test", on: footing) { _ in outcome }
  }

  private func result(_ claim: Claim, _ trace: Trace? = nil, proof: Proof = .notRun, doubts: [Int: String] = [:]) throws -> ClaimResult {
    try #require(Judge.judge(trace ?? good(), claims: [claim], proof: proof, doubts: doubts).claims.last)
  }

  @Test func `a run in which everything went well is held`() {
    let judgement = Judge.judge(good(), claims: [])
    #expect(judgement.verdict == .held)
    #expect(judgement.exitStatus == 0)
    #expect(judgement.claims.map(\.id) == ["CB-INV-01", "CB-INV-02", "CB-INV-03", "CB-INV-04", "CB-INV-05", "CB-INV-06"])
    #expect(judgement.claims.map(\.verdict) == [.held, .held, .held, .held, .untested, .untested])
    #expect(judgement.claims.map(\.exercised) == [1, 1, 1, 1, 0, 0])
    #expect(judgement.claims[4].reason == "no request repeated a key")
    #expect(judgement.claims[5].reason == "not run twice (--prove)")
  }

  @Test func `broken beats unknown beats held`() {
    let violation = Violation(at: .zero, happened: "It did not.", evidence: [0])
    let broken = claim(ClaimOutcome(exercised: 2, violations: [violation]))
    let unknown = Claim("X-INV-02", "Test", "It holds.", per: "a test", on: .clientOnly) { _ in throw Broken() }
    #expect(Judge.judge(good(), claims: [broken, unknown]).verdict == .broken)
    #expect(Judge.judge(good(), claims: [broken]).exitStatus == 1)
    let judgement = Judge.judge(good(), claims: [unknown])
    #expect(judgement.verdict == .unknown)
    #expect(judgement.exitStatus == 2)
    #expect(judgement.reason == "X-INV-02 Test is undecided: the check failed: row 7 has no id")
  }

  @Test func `a check that throws is unknown with its reason`() throws {
    let found = try result(Claim("X-INV-01", "Test", "It holds.", per: "a test", on: .ledger) { _ in throw Broken() })
    #expect(found.verdict == .unknown)
    #expect(found.reason == "the check failed: row 7 has no id")
  }

  @Test func `no opportunity is untested and says why`() throws {
    #expect(try result(claim(ClaimOutcome(exercised: 0))).reason == "no opportunity: a test")
    let remarked = try result(claim(ClaimOutcome(exercised: 0, remark: "nobody tapped")))
    #expect(remarked.verdict == .untested)
    #expect(remarked.reason == "nobody tapped")
  }

  @Test func `a run that exercised nothing is unknown, also when it was run twice`() {
    var story = TraceBuilder()
    let trace = story.finished(quiet: 0, end: 1_000)
    let judgement = Judge.judge(trace, claims: [], proof: .equal)
    #expect(judgement.claims.last?.verdict == .held)
    #expect(judgement.verdict == .unknown)
    #expect(judgement.reason == "nothing was put to the test")
    #expect(judgement.exitStatus == 2)
  }

  @Test(arguments: [Basis.assumed, .synthetic])
  func `evidence that is not recorded decides claims on client and ledger, and leaves the others unknown`(basis: Basis) throws {
    var story = TraceBuilder()
    let row = story.add(.twin, "row", at: 100, ["basis": .string(basis.rawValue)])
    let trace = story.finished(quiet: 200, end: 300)
    let violation = Violation(at: .zero, happened: "It did not.", evidence: [row])
    for footing in Footing.allCases {
      let found = try result(claim(on: footing, ClaimOutcome(exercised: 3, violations: [violation])), trace)
      let always = footing == .clientOnly || footing == .ledger
      #expect(found.verdict == (always ? .broken : .unknown))
      #expect(found.exercised == (always ? 3 : 2))
      #expect(found.undecided == (always ? 0 : 1))
    }
    let held = try result(claim(on: .serverWords, ClaimOutcome(exercised: 2, grounds: [[0], [row]])), trace)
    #expect(held.verdict == .unknown)
    #expect(held.exercised == 1)
    #expect(held.reason == "1 of 2 rest on evidence that is not recorded: twin row at 0:00.100 is \(basis.rawValue)")
  }

  @Test func `recorded and derived evidence carries a verdict, and one sound violation breaks a claim beside doubtful ones`() throws {
    var story = TraceBuilder()
    let sound = story.add(.twin, "row", at: 100, ["basis": "derived"])
    let doubtful = story.add(.twin, "row", at: 100, ["basis": "assumed"])
    let trace = story.finished(quiet: 200, end: 300)
    let violations = [sound, doubtful].map { Violation(at: .zero, happened: "It did not.", evidence: [$0]) }
    let found = try result(claim(on: .serverTimes, ClaimOutcome(exercised: 2, violations: violations)), trace)
    #expect(found.verdict == .broken)
    #expect(found.violations.map(\.evidence) == [[sound]])
    #expect(found.undecided == 1)
  }

  @Test func `the arrival of an assumed frame is assumed, and a frame that diverged does not carry a verdict`() throws {
    var story = TraceBuilder()
    let sent = story.add(.link, "send", at: 100, ["conn": 1, "dir": "in", "label": "event", "name": "row", "basis": "assumed"])
    let arrival = story.add(.link, "arrive", at: 150, ["of": .int(sent)])
    let recorded = story.add(.link, "send", at: 200, ["conn": 1, "dir": "in", "label": "event", "name": "row"])
    let trace = story.finished(quiet: 200, end: 300)
    #expect(try result(claim(on: .serverWords, ClaimOutcome(exercised: 1, grounds: [[arrival]])), trace).verdict == .unknown)
    let ground = claim(on: .olderHistory, ClaimOutcome(exercised: 1, grounds: [[recorded]]))
    #expect(try result(ground, trace).verdict == .held)
    let late = story.add(.link, "arrive", at: 250, ["of": .int(recorded)])
    let longer = story.finished(quiet: 300, end: 400)
    for evidence in [recorded, late] {
      let doubted = claim(on: .olderHistory, ClaimOutcome(exercised: 1, grounds: [[evidence]]))
      #expect(
        try result(doubted, longer, doubts: [recorded: "frame 41 differs from the recording"]).reason
          == "1 of 1 rest on evidence that is not recorded: frame 41 differs from the recording")
    }
    let violation = Violation(at: .zero, happened: "It did not.", evidence: [recorded])
    for footing in Footing.allCases {
      let found = try result(
        claim(on: footing, ClaimOutcome(exercised: 1, violations: [violation])), longer, doubts: [recorded: "it differs"])
      #expect(found.verdict == ([.clientOnly, .ledger].contains(footing) ? .broken : .unknown))
    }
  }

  @Test func `running twice decides the claims that need it`() throws {
    let repeatable = Claim("X-INV-60", "Repeatable", "Equal.", per: "a run", on: .clientOnly, needsProof: true) { _ in
      ClaimOutcome(exercised: 0, remark: "not run twice")
    }
    #expect(try result(repeatable).verdict == .untested)
    #expect(try result(repeatable, proof: .equal).exercised == 1)
    let differs = try result(repeatable, proof: .differs(entry: 4))
    #expect(differs.verdict == .broken)
    #expect(differs.violations[0].evidence == [4])
    #expect(Judge.judge(good(), claims: [], proof: .differs(entry: 4)).verdict == .broken)
  }
}
