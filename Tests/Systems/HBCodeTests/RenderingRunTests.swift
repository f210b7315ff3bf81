import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeSystem
import Oracles
import Simulation
import TestSupport
import Testing
import Wire

/// Claims on the screen over whole runs: they hold, and each run puts those to the test that it is about.
@Suite struct RenderingRunTests {
  /// A chat of 40 rows on screen, 400 before them, and a live reply that streams from 2 to 9 s.
  static func busyList(_ intents: [Intent], screen: JSONObject = [:], every: Int64 = 40, until: Int64 = 9_000) -> HBCodeScenario {
    let session = ScreenTale.session(ScreenTale.rows(440))
    let stream = ScreenTale.stream(Array(stride(from: Int64(2_000), to: until, by: Int64.Stride(every)))) { k in
      Array(repeating: "word", count: 1 + k / 2).joined(separator: " ")
    }
    return ScreenTale.scenario(
      session, start: ScreenTale.running(session, window: 40, screen: screen, hasOlder: true), intents, tape: [stream], end: 20_000)
  }

  static let olderPage = busyList([Tale.intent("older", 4_000, .older), ScreenTale.drag("on", 5_000, [[600, 300], [1_200, 700]])])
  static let drags = busyList([
    ScreenTale.drag("one", 3_000, [[400, 20], [1_500, -20]]), ScreenTale.drag("two", 6_000, [[100, 90]], velocity: 800),
    Tale.intent("latest", 8_000, .scrollToLatest),
  ])
  static let composer = busyList([Tale.intent("open", 3_000, .composer(open: true)), Tale.intent("close", 6_000, .composer(open: false))])
  /// Drags near the top while live rows come: pages land under the finger, live rows while they are put in place.
  static var growing: HBCodeScenario {
    let session = ScreenTale.session(ScreenTale.rows(640))
    let rows = (0..<120).map { k in
      Step(
        offset: .milliseconds(Int64(k) * 60), changes: [.put(Hand.reply("n\(k)", [2, UInt64(k)], "row \(k)"))], increment: 1)
    }
    let stream = Stretch(
      id: "rows", lane: Lane(Hand.session), cause: .clock(Hand.at(2_000)), steps: rows, length: .seconds(100),
      run: RecordedRun(runId: "run-1", threadId: "th-main", turnId: "turn-1"))
    // They lift at different places of the render interval.
    let drags = (0..<6).map { k in
      let way = k == 0 ? 900.0 : 6_000.0
      return ScreenTale.drag("near-\(k)", 2_500 + Int64(k) * 1_100, [[100, way], [640 + Double(k) * 25, way]])
    }
    return ScreenTale.scenario(
      session, start: ScreenTale.running(session, window: 40, hasOlder: true), drags, tape: [stream], end: 14_000)
  }
  static let restoreUnderStream = busyList([Tale.intent("older", 4_000, .older)])

  /// A chat whose window the desktop does not know any more, under a finger.
  static var replaced: HBCodeScenario {
    let session = ScreenTale.session(ScreenTale.rows(60))
    var other = session
    other.history = (0..<40).map { index in
      Row.made(
        type: .user, id: "gone\(index)", origin: .canonical, sourceOrder: [0, UInt64(index)], timestamp: Hand.wall - 300_000, text: "x")
    }
    return ScreenTale.scenario(
      session, start: ScreenTale.running(other, window: 40, hasOlder: true),
      [ScreenTale.drag("finger", 4_700, [[100, 900]]), Tale.intent("refresh", 5_000, .refresh)], end: 9_000)
  }

  /// Runs and judges; the claims named are put to the test.
  @discardableResult
  private func judged(_ scenario: HBCodeScenario, _ faults: [String] = [], exercises claims: String...) throws -> Trace {
    var story = Tale.story(scenario)
    for rule in faults { story = try story.faults(rule) }
    let trace = try story.run().trace
    let judgement = Judge.judge(trace, claims: hbcode.claims)
    for result in judgement.claims where !result.violations.isEmpty {
      Issue.record("\(result.id) \(result.violations.prefix(2).map(\.happened))")
    }
    for claim in claims {
      let result = try #require(judgement.claims.first { $0.id == claim })
      #expect(result.exercised > 0, "\(claim): \(result.reason ?? "")")
    }
    return trace
  }

  @Test func `HB-INV-38 a finger that a rule puts on the list at a request comes after what the core did with that request`() throws {
    let trace = try judged(
      Self.busyList([Tale.send("op1", at: 3_000)]), ["drag,user,on=request:run.chatOutboxSubmit,nth=1,for=2s"], exercises: "HB-INV-38")
    let drawn = try #require(trace.all(.screen, "apply").first { $0.at == Hand.at(3_000) })
    let touch = try #require(trace.all(.screen, "scroll").first { $0["state"] == "drag" })
    #expect(touch.at == Hand.at(3_000) && touch.index > drawn.index)
  }

  @Test func `HB-INV-44 passes of a cover rest while the process is suspended`() throws {
    let trace = try judged(Self.busyList([]), ["suspend,app,at=50ms,for=5s"], exercises: "HB-INV-44")
    #expect(try #require(trace.all(.core, "cover.lift").first).at > Hand.at(5_050))
  }

  @Test func `HB-INV-35 HB-INV-36 HB-INV-37 HB-INV-45 a streamed reply while the composer opens and closes`() throws {
    try judged(Self.composer, exercises: "HB-INV-35", "HB-INV-36", "HB-INV-37", "HB-INV-40", "HB-INV-41", "HB-INV-44", "HB-INV-45")
  }

  @Test func `HB-INV-38 HB-INV-39 HB-INV-40 drags while a reply streams, with stops that are lost`() throws {
    try judged(Self.drags, exercises: "HB-INV-35", "HB-INV-38", "HB-INV-39", "HB-INV-40", "HB-INV-45")
    try judged(Self.drags, ["lose-stop,screen,at=4s", "lose-stop,screen,at=6.05s"], exercises: "HB-INV-38", "HB-INV-39")
    try judged(Self.drags, ["skip-frames,screen,at=8.1s,count=5", "suspend,app,at=3.5s,for=4s"], exercises: "HB-INV-38", "HB-INV-45")
  }

  @Test func `HB-INV-42 HB-INV-43 HB-INV-46 older pages while a reply streams`() throws {
    try judged(Self.olderPage, exercises: "HB-INV-42", "HB-INV-46")
    try judged(Self.growing, exercises: "HB-INV-38", "HB-INV-39", "HB-INV-42", "HB-INV-43", "HB-INV-46")
    try judged(Self.restoreUnderStream, ["slow-markdown,screen,at=3s,for=300ms"], exercises: "HB-INV-42")
    try judged(Self.olderPage, ["delay,response,run.chatLoadPageBefore,nth=1,by=9s"], exercises: "HB-INV-46")
  }

  @Test func `HB-INV-47 HB-INV-31 a window that is replaced while the user reads`() throws {
    try judged(Self.replaced, exercises: "HB-INV-47")
    try judged(Self.replaced, ["delay,response,run.chatLoadPageBefore,by=1s"], exercises: "HB-INV-46", "HB-INV-47")
  }
}
