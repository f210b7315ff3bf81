import Contract
import HBCodeDialect
import HBCodeScenario
import Simulation
import TestSupport
import Testing
import Wire

/// A phone whose list is long, short or hidden, in a world.
enum ScreenTale {
  /// `count` user rows, `h0` … in order; each measures 80 pt by `heights`.
  static func rows(_ count: Int, hidden: Int = 0) -> [Row] {
    let thinking = (0..<hidden).map { index in
      Row.made(
        type: .thinking, id: "t\(index)", origin: .canonical, sourceOrder: [0, UInt64(index)],
        timestamp: Hand.wall - 200_000 + Int64(index),
        runId: "run-0", text: "hm")
    }
    return thinking
      + (0..<count).map { index in
        Row.made(
          type: .user, id: "h\(index)", origin: .canonical, sourceOrder: [1, UInt64(index)], timestamp: Hand.wall - 100_000 + Int64(index),
          text: "old \(index)")
      }
  }

  static func session(_ rows: [Row]) -> SessionState {
    var session = Hand.session(history: 0)
    session.history = rows
    return session
  }

  static func heights(_ rows: [Row], _ height: Double = 80) -> JSON {
    .array(rows.map { ["id": .string($0.identity), "height": .double(height)] })
  }

  /// The phone in the middle of things: connected, the chat on screen with the last `window` rows of its history, lease just held.
  static func running(
    _ session: SessionState, window: Int, screen: JSONObject = [:], hasOlder: Bool = false, overlay: LiveOverlay? = nil
  ) -> JSON {
    let rows = Array(session.history.suffix(window))
    let envelope = HistoryEnvelope(
      boundaryToken: "x:boundary:" + (session.history.last?.identity ?? ""), nativeSessionId: session.nativeSessionId, loadState: .ready,
      storageFormat: "indexed", loadedEntries: Int64(rows.count), hasOlderEntries: hasOlder,
      oldestCursor: hasOlder ? rows.first.map { "x:cursor:" + $0.identity } : nil, timeline: rows, overlay: overlay ?? session.overlay,
      runtime: nil, activeRun: nil)
    var start = Tale.start.object ?? [:]
    start["connected"] = true
    start["selected"] = ["session": .string(session.id), "thread": .null]
    start["lease"] = ["session": .string(session.id), "thread": .null, "heldAt": 0]
    start["hosts"] = [["session": .string(session.id), "thread": .null, "envelope": envelope.json(.latest), "counter": 0, "stale": false]]
    if !screen.isEmpty { start["screen"] = .object(screen) }
    return .object(start)
  }

  static func scenario(
    _ session: SessionState, start: JSON, _ intents: [Intent] = [], tape: [Stretch] = [], oneWay: Int64 = 50, end: Int64 = 30_000
  ) -> HBCodeScenario {
    var scenario = Hand.scenario(sessions: [session], tape: tape, intents: intents, end: end, clientStart: start)
    scenario.facts.oneWay = ["": .milliseconds(oneWay)]
    return scenario
  }

  /// One live reply, `a`, put anew at these instants of arrival (milliseconds), with text number k.
  static func stream(_ instants: [Int64], oneWay: Int64 = 50, text: (Int) -> String = { "version \($0 + 1_000)" }) -> Stretch {
    let first = instants.first ?? 0
    return Stretch(
      id: "stream", lane: Lane(Hand.session), cause: .clock(Hand.at(first - oneWay)),
      steps: instants.enumerated().map { index, at in
        Step(offset: .milliseconds(at - first), changes: [.put(Hand.reply("a", [2, 1], text(index)))], increment: 1)
      }, length: .seconds(100), run: RecordedRun(runId: "run-1", threadId: "th-main", turnId: "turn-1"))
  }

  static func drag(_ id: String, _ milliseconds: Int64, _ path: [[Double]], velocity: Double = 0) -> Intent {
    Tale.intent(
      id, milliseconds,
      .drag(Drag(path: path.map { Drag.Place(after: .milliseconds(Int64($0[0])), y: $0[1]) }, velocity: velocity)))
  }
}

extension Told {
  /// Seconds with six places of the entries of a kind, from `start`.
  func seconds(_ party: Party, _ kind: String, _ conditions: String..., since start: Instant = .zero) -> [Double] {
    trace.entries.filter { entry in
      entry.party == party && entry.kind == kind
        && conditions.allSatisfy { condition in
          let parts = condition.split(separator: "=", maxSplits: 1).map(String.init)
          return (entry[parts[0]].map { $0.string ?? JSONWriter.text($0) } ?? "") == parts[1]
        }
    }.map { (Double(($0.at - start).nanoseconds) / 1e3).rounded() / 1e6 }
  }

  /// Instant of the n-th entry of a kind, from 0.
  func instant(_ party: Party, _ kind: String, _ n: Int = 0) -> Instant? {
    let found = trace.all(party, kind)
    return found.indices.contains(n) ? found[n].at : nil
  }

  /// `k verdict` of the settle passes of a use.
  func passes(_ use: String) -> [String] {
    entries(.screen, "pass", "use=\(use)").map { "\($0["n"]?.int ?? 0) \($0["verdict"]?.string ?? "")" }
  }

  /// Offsets of the frames between two instants.
  func frames(from start: Instant, to end: Instant = .never) -> [(at: Instant, offset: Double, contentHeight: Double)] {
    trace.all(.screen, "frame").filter { $0.at >= start && $0.at <= end }.map {
      ($0.at, $0["offset"]?.double ?? 0, $0["contentHeight"]?.double ?? 0)
    }
  }
}

/// First reveals, through the world (spec D.6, F-01, F-02).
@Suite struct StoryRevealTests {
  /// `seconds passes pages` of the first cover.
  private func lift(_ told: Told) throws -> String {
    let up = try #require(told.instant(.core, "cover.up"))
    let lift = try #require(told.trace.all(.core, "cover.lift").first)
    return "\(Double((lift.at - up).nanoseconds) / 1e9) \(lift["passes"]?.int ?? 0) \(lift["pages"]?.int ?? 0)"
  }

  @Test func `HB-FIG-01 HB-REVEAL-02 still from the start: 4 passes, 0_128 s`() throws {
    let session = ScreenTale.session(ScreenTale.rows(40))
    let told = try Tale.story(ScreenTale.scenario(session, start: ScreenTale.running(session, window: 12))).run()
    #expect(try lift(told) == "0.128 4 0")
    #expect(told.passes("reveal") == ["1 first", "2 still", "3 still", "4 still"])
    #expect(told.seconds(.screen, "pass") == [0.032, 0.064, 0.096, 0.128])
  }

  @Test func `HB-FIG-01 HB-REVEAL-05 Markdown at passes 1 to 3: 7 passes, 0_224 s`() throws {
    var rows = ScreenTale.rows(11)
    rows.append(Hand.reply("md", [1, 90], "Prepared", .canonical))
    let session = ScreenTale.session(rows)
    let start = ScreenTale.running(session, window: 12, screen: ["markdownMs": 100])
    let told = try Tale.story(ScreenTale.scenario(session, start: start)).run()
    #expect(try lift(told) == "0.224 7 0")
    #expect(told.passes("reveal") == ["1 waiting", "2 waiting", "3 waiting", "4 first", "5 still", "6 still", "7 still"])
  }

  @Test func `HB-FIG-01 HB-REVEAL-06 one page of 200 ms: 14 passes, 0_448 s`() throws {
    let session = ScreenTale.session(ScreenTale.rows(60))
    let start = ScreenTale.running(session, window: 12, hasOlder: true)
    let told = try Tale.story(ScreenTale.scenario(session, start: start, oneWay: 100)).run()
    #expect(try lift(told) == "0.448 14 1")
    #expect(told.seconds(.core, "older.start") == [0.128])
    #expect(told.seconds(.core, "older.end") == [0.328])
    #expect(told.passes("reveal").filter { $0.hasSuffix("waiting") }.count == 6)
  }

  @Test func `HB-FIG-01 HB-REVEAL-06 two pages that show nothing: 24 passes, 0_768 s, and never a third`() throws {
    for hidden in [200, 300] {
      let session = ScreenTale.session(ScreenTale.rows(12, hidden: hidden))
      let start = ScreenTale.running(session, window: 12, hasOlder: true)
      let told = try Tale.story(ScreenTale.scenario(session, start: start, oneWay: 100)).run()
      #expect(try lift(told) == "0.768 24 2", "\(hidden) hidden rows")
      #expect(Array(told.seconds(.core, "older.start", "by=reveal")) == [0.128, 0.448])
      #expect(told.entries(.core, "older.start", "by=reveal").count == 2)
    }
  }

  @Test func `HB-FIG-01 HB-REVEAL-07 two pages of 900 ms: 63 passes, 2_016 s, the second page lands after the lift`() throws {
    let session = ScreenTale.session(ScreenTale.rows(12, hidden: 200))
    let start = ScreenTale.running(session, window: 12, hasOlder: true)
    let told = try Tale.story(ScreenTale.scenario(session, start: start, oneWay: 450)).run()
    #expect(try lift(told) == "2.016 63 2")
    #expect(told.seconds(.core, "older.start") == [0.128, 1.152])
    #expect(told.seconds(.core, "older.end") == [1.028, 2.052])
  }

  @Test func `HB-FIG-01 HB-REVEAL-04 the layout moves at every pass: 63 passes, 2_016 s`() throws {
    let session = ScreenTale.session(ScreenTale.rows(12))
    let sends = (1...64).map { Tale.send("op\($0)", at: Int64($0) * 32 - 10) }
    let told = try Tale.story(ScreenTale.scenario(session, start: ScreenTale.running(session, window: 12), sends)).run()
    #expect(try lift(told) == "2.016 63 0")
    #expect(told.passes("reveal").dropFirst().prefix(61).allSatisfy { $0.hasSuffix("moved") })
  }

  @Test func `HB-FIG-02 HB-REVEAL-03 half a point is still, 0_51 moved`() throws {
    // Prepared until 0.15 s: pass 5 is the first; the live change renders at 0.1667 s, before pass 6.
    for (growth, expected) in [(0.5, "0.256 8 0"), (0.51, "0.288 9 0")] {
      let session = ScreenTale.session(ScreenTale.rows(12))
      let live = LiveOverlay(
        version: OverlayVersion(epoch: 3, revision: 1), blocks: [Hand.reply("a", [2, 1], "version 999", run: "run-1")])
      var running = session
      running.overlay = live
      let start = ScreenTale.running(
        running, window: 12,
        screen: [
          "markdownMs": 150,
          "heights": [
            ["id": "agent-reply:a", "text": "version 999", "height": 100],
            ["id": "agent-reply:a", "text": "version 1000", "height": .double(100 + growth)],
          ],
        ], overlay: live)
      let told = try Tale.story(ScreenTale.scenario(running, start: start, tape: [ScreenTale.stream([80])])).run()
      #expect(try lift(told) == expected, "\(growth) pt")
    }
  }

  @Test func `HB-FIG-02 HB-REVEAL-06 1,800 pt above the screen ask for a page, 1,800_1 do not`() throws {
    for (height, pages) in [(1_558.0, 1), (1_558.1, 0)] {
      let session = ScreenTale.session(ScreenTale.rows(60))
      let start = ScreenTale.running(
        session, window: 12,
        screen: [
          "heights": .array(
            session.history.map { row in
              ["id": .string(row.identity), "height": row.id == "h59" ? .double(height) : 80]
            })
        ], hasOlder: true)
      let told = try Tale.story(ScreenTale.scenario(session, start: start)).run()
      #expect(try lift(told).hasSuffix(" \(pages)"), "\(height) pt")
    }
  }

  @Test func `HB-REVEAL-06 a failed page ends the requests of a reveal`() throws {
    let session = ScreenTale.session(ScreenTale.rows(12, hidden: 300))
    let start = ScreenTale.running(session, window: 12, hasOlder: true)
    let told = try Tale.story(ScreenTale.scenario(session, start: start, oneWay: 100))
      .faults("refuse,request,run.chatLoadPageBefore,nth=1,code=internal").run()
    #expect(try lift(told) == "0.448 14 1")
  }

  @Test func `HB-REVEAL-08 HB-REVEAL-01 the cover goes up with the mount and lifts once`() throws {
    let session = ScreenTale.session(ScreenTale.rows(40))
    let told = try Tale.story(ScreenTale.scenario(session, start: ScreenTale.running(session, window: 12))).run()
    #expect(told.entries(.core, "cover.up").count == 1)
    #expect(told.entries(.core, "cover.lift").count == 1)
    #expect(told.instant(.screen, "mount") == told.instant(.core, "cover.up"))
  }

  @Test func `HB-REVEAL-09 a placeholder shows until there are rows or a confirmed empty history; the covered list stays at the bottom`()
    throws
  {
    // A confirmed empty chat: mounted with the answer of its first load.
    let empty = ScreenTale.session([])
    let none = try Tale.story(Tale.scenario([Tale.select()], tape: [], sessions: [empty], end: 5_000)).run()
    #expect(none.instants(.screen, "mount").first == "0:00.100")
    #expect(none.instants(.core, "cover.lift").first == "0:00.228")
    // An unconfirmed one: a placeholder, no cover, no passes.
    var pending = ScreenTale.session([])
    pending.loadState = .pending
    let waiting = try Tale.story(Tale.scenario([Tale.select()], tape: [], sessions: [pending], end: 5_000)).run()
    #expect(waiting.entries(.screen, "mount").isEmpty)
    #expect(waiting.entries(.core, "cover.up").isEmpty)
    // At the bottom in every frame under the cover: the last row ends 685 pt below the top.
    let session = ScreenTale.session(ScreenTale.rows(40))
    let told = try Tale.story(Tale.scenario([Tale.select()], tape: [], sessions: [session], end: 5_000)).run()
    let frames = told.frames(from: .zero, to: told.instant(.core, "cover.lift") ?? .zero)
    #expect(!frames.isEmpty)
    #expect(frames.filter { $0.offset != max(-47, $0.contentHeight - 685) }.isEmpty)
  }

  @Test func `HB-REVEAL-10 a reveal begins on mount and does not wait for the catch-up load`() throws {
    let session = ScreenTale.session(ScreenTale.rows(12))
    let intents = [Tale.select(at: 0), Tale.select("ses-02", at: 3_000), Tale.select(at: 6_000)]
    var other = ScreenTale.session(ScreenTale.rows(3))
    other.id = "ses-02"
    let told = try Tale.story(Tale.scenario(intents, tape: [], sessions: [session, other], end: 9_000))
      .faults("delay,response,run.chatLoad,nth=3,by=2s").run()
    // Back in the first chat at 6 s: covered at once, uncovered before its load is answered at 8.1 s.
    #expect(told.instants(.core, "cover.up") == ["0:00.100", "0:03.100", "0:06.000"])
    #expect(told.instants(.core, "cover.lift") == ["0:00.228", "0:03.228", "0:06.128"])
  }
}

/// Rendering, through the world (spec D.8, F-03).
@Suite struct StoryRenderTests {
  private let hundred = (0..<100).map { Int64($0) * 20 + 10_000 }
  private let zero = Hand.at(10_000)

  private func told(_ intents: [Intent] = [], _ instants: [Int64]? = nil, faults: [String] = []) throws -> Told {
    let session = ScreenTale.session(ScreenTale.rows(12))
    var story = Tale.story(
      ScreenTale.scenario(
        session, start: ScreenTale.running(session, window: 12), intents, tape: [ScreenTale.stream([5_000] + (instants ?? hundred))]))
    for rule in faults { story = try story.faults(rule) }
    return try story.run()
  }

  private func near(_ found: [Double], _ expected: [Double]) -> Bool {
    found.count == expected.count && zip(found, expected).allSatisfy { ($0 - $1).magnitude < 0.0002 }
  }

  private func within(_ seconds: [Double]) -> [Double] { seconds.filter { $0 >= 0 && $0 < 2 } }
  private let sixths = (0..<12).map { Double($0) / 6 }

  @Test func `HB-FIG-03 HB-REND-01 two seconds of streaming: 20 changes taken in, 12 renders, 12 reconfigured cells, no snapshot`() throws {
    let told = try told()
    let events = told.events("chat:timeline-overlay").filter { $0.at >= zero && $0.at < zero + .seconds(2) }
    #expect(events.count == 100)
    let tenths = (0..<20).map { Double($0) / 10 }
    #expect(near(within(told.seconds(.core, "overlay", "source=event", since: zero)), tenths))
    #expect(near(within(told.seconds(.core, "render", since: zero)), sixths))
    let applies = told.trace.all(.screen, "apply").filter { $0.at >= zero && $0.at < zero + .seconds(2) }
    #expect(applies.count == 12)
    #expect(applies.allSatisfy { $0["mode"] == "reconfigure" && $0["cells"] == ["agent-reply:a"] })
  }

  @Test func `HB-FIG-03 HB-REND-01 with the composer or a preview open four renders`() throws {
    for gesture in [UserAction.composer(open: true), .preview(open: true)] {
      let told = try told([Tale.intent("open", 8_000, gesture)])
      #expect(near(within(told.seconds(.core, "render", since: zero)), [0, 0.5, 1, 1.5]))
      #expect(told.trace.all(.screen, "apply").filter { $0.at >= zero && $0.at < zero + .seconds(2) }.count == 4)
    }
  }

  @Test func `HB-FIG-03 HB-REND-06 a drag from 0_70 to 1_50 s holds four renders, the newest applies when the list stops`() throws {
    let told = try told([ScreenTale.drag("finger", 10_700, [[800, 0]])])
    #expect(near(within(told.seconds(.core, "render", since: zero)), sixths))
    let holds: [Double] = [0.833333, 1, 1.166667, 1.333333]
    #expect(near(told.seconds(.core, "hold", since: zero), holds))
    let applies = within(told.seconds(.screen, "apply", since: zero))
    let expected: [Double] = [0, 0.166667, 0.333333, 0.5, 0.666667, 1.5, 1.5, 1.666667, 1.833333]
    #expect(near(applies, expected))
    let held = told.entries(.screen, "apply", "held=true")
    #expect(held.map(\.at) == [zero + .milliseconds(1_500)])
    #expect(held.first?["listVersion"] == told.trace.all(.core, "hold").last?["listVersion"])
  }

  @Test func `HB-REND-02 a change is rendered exactly when the interval has passed; opening the composer moves the armed render`() throws {
    let told = try told([Tale.intent("open", 10_130, .composer(open: true))], [10_000, 10_100])
    #expect(near(told.seconds(.core, "render", since: zero).filter { $0 >= 0 }, [0, 0.5]))
  }

  @Test func `HB-REND-03 a render for another cause happens at once, shows the newest live state and counts as the last one`() throws {
    let told = try told([Tale.send("op1", at: 10_050)], [10_000, 10_120, 10_180])
    // The echo at 10.05, its end with the receipt at 10.15: that render shows the change of 10.12 too, which was due at 10.2167.
    let renders = told.lines(.core, "render", showing: ["cause"]).filter { $0 >= "0:10" && $0 < "0:10.34" }
    #expect(renders == ["0:10.000 live", "0:10.050 other", "0:10.150 other", "0:10.316 live"])
    #expect(told.entries(.screen, "apply").last { $0.at == Hand.at(10_150) }?["stale"] == nil)
    let row = told.trace.all(.core, "show").last { $0.at <= Hand.at(10_150) }?["rows"]?.array ?? []
    #expect(row.contains { $0["id"] == "agent-reply:a" })
  }

  @Test func `HB-REND-04 rows off screen take new content when they scroll in, also while an update is held`() throws {
    let session = ScreenTale.session(ScreenTale.rows(12))
    // The live row stands above another one that fills the screen.
    func row(_ text: String) -> Change { .put(Hand.reply("a", [2, 1], text)) }
    let live = Stretch(
      id: "stream", lane: Lane(Hand.session), cause: .clock(Hand.at(2_000)),
      steps: [
        Step(offset: .zero, changes: [row("short"), .put(Hand.reply("b", [2, 2], String(repeating: "x", count: 1_600)))], increment: 1),
        Step(offset: .milliseconds(6_000), changes: [row(String(repeating: "long ", count: 40))], increment: 1),
      ], length: .seconds(100), run: RecordedRun(runId: "run-1", threadId: "th-main", turnId: "turn-1"))
    let told = try Tale.story(
      ScreenTale.scenario(
        session, start: ScreenTale.running(session, window: 12), [ScreenTale.drag("finger", 20_000, [[600, 700], [900, 700]])], tape: [live]
      )
    ).run()
    // Its change at 8 s reconfigures nothing, for it is off screen by then.
    #expect(told.trace.all(.core, "render").contains { $0.at == Hand.at(8_050) })
    let between = told.trace.all(.screen, "apply").filter { $0.at > Hand.at(8_000) && $0.at < Hand.at(20_000) }
    #expect(between.isEmpty)
    let rows = told.trace.all(.screen, "frame").filter { $0.at >= Hand.at(20_000) }.compactMap { frame in
      frame["visible"]?.array?.first { $0["id"] == "agent-reply:a" }?["height"]?.double
    }
    #expect(rows.last == 148.0)
  }

  @Test func `HB-REND-05 an added row is one snapshot without animation`() throws {
    let told = try told([Tale.send("op1", at: 12_500)])
    let apply = try #require(told.trace.all(.screen, "apply").first { $0.at == Hand.at(12_500) })
    #expect(apply["mode"] == "snapshot")
    #expect(apply["animated"] == false)
    #expect(apply["ids"]?.array?.last == "user:op:op1")
  }

  @Test func `HB-REND-07 with a lost stop signal the check at 1_5833 s finds the list at rest, 0_083 s after it stopped`() throws {
    let told = try told(
      [ScreenTale.drag("finger", 10_700, [[800, 0]])], (0..<60).map { 10_000 + $0 * 20 }, faults: ["lose-stop,screen,*,at=10s"])
    let held = told.entries(.screen, "apply", "held=true")
    let late: [Double] = [1.583333]
    #expect(near(told.seconds(.screen, "apply", "held=true", since: zero), late))
    #expect(held.first?["listVersion"] == told.trace.all(.core, "hold").last?["listVersion"])
    let rests = told.entries(.screen, "scroll", "state=rest").filter { $0.at == Hand.at(11_500) }
    #expect(rests.first?["signalled"] == false)
  }

  @Test func `HB-REND-08 a change of rows off screen alone is not held`() throws {
    let session = ScreenTale.session(ScreenTale.rows(40))
    let told = try Tale.story(
      ScreenTale.scenario(
        session, start: ScreenTale.running(session, window: 40),
        [ScreenTale.drag("away", 3_000, [[200, 1_500]]), ScreenTale.drag("rest", 4_000, [[3_000, 0]])],
        tape: [ScreenTale.stream([1_000, 5_000, 5_500])])
    ).run()
    #expect(told.trace.all(.core, "render").filter { $0.at >= Hand.at(5_000) }.count == 2)
    #expect(told.trace.all(.core, "hold").isEmpty)
    #expect(told.trace.all(.screen, "apply").filter { $0.at >= Hand.at(5_000) }.isEmpty)
  }

  @Test func `HB-REND-09 a row counts 80 pt until it is laid out, and one that grows is measured again`() throws {
    let told = try told([], [10_000, 10_500], faults: [])
    let first = try #require(told.trace.all(.screen, "frame").first)
    // Twelve rows: those on screen measure 44, the rest count 80.
    let visible = first["visible"]?.array ?? []
    #expect(visible.allSatisfy { $0["height"] == 44 })
    #expect(first["contentHeight"]?.double == Double(visible.count * 44 + (12 - visible.count) * 80))
  }

  @Test func `HB-REND-10 HB-PROJ-01 identity and order of the cells are the display rows'`() throws {
    let told = try told([Tale.send("op1", at: 12_500)])
    for apply in told.entries(.screen, "apply", "mode=snapshot") {
      let show = told.trace.all(.core, "show").last { $0.index < apply.index }
      #expect(apply["ids"]?.array == show?["rows"]?.array?.compactMap { $0["id"] })
    }
  }
}

/// Older pages, through the world (spec D.7, F-11).
@Suite struct StoryOlderTests {
  /// A chat of 40 rows on screen and `before` rows that the phone does not have, hidden ones first.
  private func long(_ before: Int, hidden: Int = 0, screen: JSONObject = [:], _ intents: [Intent], oneWay: Int64 = 50) -> HBCodeScenario {
    let session = ScreenTale.session(ScreenTale.rows(40 + before, hidden: hidden))
    return ScreenTale.scenario(
      session, start: ScreenTale.running(session, window: 40, screen: screen, hasOlder: true), intents, oneWay: oneWay, end: 20_000)
  }

  @Test func `HB-FIG-11 HB-OLDER-01 scrolling near the top for a second starts four pages of 100 rows, 0_25 s apart`() throws {
    // The pages show nothing, so no restore moves the view out of the zone.
    let told = try Tale.story(
      long(0, hidden: 1_000, [ScreenTale.drag("finger", 5_000, [[100, 1_000], [1_100, 1_200]])], oneWay: 5)
    ).run()
    let starts = told.trace.all(.core, "older.start").filter { $0.at >= Hand.at(5_000) }.map(\.at)
    #expect(starts.count == 5 || starts.count == 4)
    let near = told.frames(from: Hand.at(5_000)).first { $0.offset + 47 <= 1_800 }
    #expect(starts.first == near?.at)
    let gaps = zip(starts, starts.dropFirst()).map { ($1 - $0).nanoseconds }
    #expect(gaps.prefix(3).allSatisfy { $0 >= 250_000_000 && $0 < 250_000_000 + 16_666_667 })
    #expect(starts.filter { $0 < (starts.first ?? .zero) + .seconds(1) }.count == 4)
    #expect(told.entries(.core, "older.end", "outcome=applied").allSatisfy { $0["added"] == 100 })
  }

  @Test func `HB-OLDER-01 1,800 pt from the top ask for a page, more does not, and not under the cover`() throws {
    // 40 rows of 80 pt: 2,562 pt above the screen at the bottom.
    for (way, asks) in [(761.9, false), (762.0, true), (900, true)] {
      let rows = ScreenTale.rows(200)
      let session = ScreenTale.session(rows)
      let start = ScreenTale.running(session, window: 40, screen: ["heights": ScreenTale.heights(rows)], hasOlder: true)
      let told = try Tale.story(
        ScreenTale.scenario(session, start: start, [ScreenTale.drag("finger", 3_000, [[100, way]])], end: 6_000)
      ).run()
      #expect(!told.entries(.core, "older.start").isEmpty == asks, "\(way) pt")
      #expect(told.entries(.core, "older.start").allSatisfy { $0.at >= Hand.at(3_000) })
    }
  }

  @Test func `HB-FIG-11 HB-OLDER-02 without an answer the next page may start 8 s after`() throws {
    let told = try Tale.story(
      long(400, [Tale.intent("older", 3_000, .older), ScreenTale.drag("finger", 5_000, [[100, 20], [7_000, -20]])])
    ).faults("drop,response,run.chatLoadPageBefore,nth=1").run()
    let starts = told.trace.all(.core, "older.start").map(\.at)
    #expect(starts.first == Hand.at(3_000))
    let second = try #require(starts.dropFirst().first)
    #expect(second >= Hand.at(11_000) && second <= Hand.at(11_000) + .nanoseconds(16_666_667))
    #expect(told.lines(.core, "older.end", showing: ["outcome"]).first == "0:11.000 stale")
  }

  @Test func `HB-FIG-11 HB-OLDER-03 HB-OLDER-05 the first visible row stays where it was; live rows wait 64 ms for a still layout`() throws
  {
    let told = try Tale.story(long(400, [Tale.intent("older", 3_000, .older)])).run()
    let marks = told.trace.all(.core, "anchor")
    try #require(marks.count == 2)
    #expect(marks[0].at == Hand.at(3_100))
    #expect(marks[1].at == Hand.at(3_164))
    #expect(marks[1]["why"] == "stable")
    #expect(marks[0]["id"] == marks[1]["id"])
    #expect(marks[0]["y"] == marks[1]["y"])
    #expect(told.passes("restore") == ["1 still", "2 still"])
    // 100 rows of 80 pt went before.
    let frames = told.frames(from: .zero)
    let before = try #require(frames.last { $0.at < Hand.at(3_100) })
    let after = try #require(frames.first { $0.at >= Hand.at(3_100) })
    #expect(after.offset - before.offset == 8_000)
  }

  @Test func `HB-OLDER-04 a change during the restore waits for its end`() throws {
    let session = ScreenTale.session(ScreenTale.rows(440))
    let told = try Tale.story(
      ScreenTale.scenario(
        session, start: ScreenTale.running(session, window: 40, hasOlder: true),
        [Tale.intent("older", 3_000, .older), Tale.send("op1", at: 3_120)])
    ).run()
    let hold = try #require(told.trace.all(.core, "hold").first)
    #expect(hold["why"] == "restore")
    let held = try #require(told.entries(.screen, "apply", "held=true").first)
    #expect(held.at == told.entries(.core, "anchor", "do=end").first?.at)
    #expect(held["listVersion"] == hold["listVersion"])
  }

  @Test func `HB-OLDER-05 a drag ends the restore at once`() throws {
    let told = try Tale.story(
      long(400, [Tale.intent("older", 3_000, .older), ScreenTale.drag("finger", 3_120, [[200, -50]])])
    ).run()
    let end = try #require(told.entries(.core, "anchor", "do=end").first)
    #expect(end.at == Hand.at(3_120))
    #expect(end["why"] == "drag")
  }

  @Test func `HB-OLDER-06 no periodic load starts while an older page loads`() throws {
    // Rules act as long as the user has something to do.
    let told = try Tale.story(
      long(400, [Tale.intent("older", 59_500, .older), Tale.intent("later", 80_000, .reduceMotion(true))])
    ).faults("delay,response,run.chatLoadPageBefore,nth=1,by=3s").run()
    #expect(told.lines(.core, "load.start", showing: ["reason"]).filter { $0 < "1:30" }.isEmpty)
  }

  @Test func `HB-OLDER-07 a page that lands during a drag waits for the list to stop`() throws {
    let told = try Tale.story(
      long(400, [ScreenTale.drag("finger", 3_000, [[100, 1_400], [2_000, 1_400]])])
    ).run()
    let end = try #require(told.entries(.core, "older.end").first)
    #expect(end.at < Hand.at(5_000))
    let record = try #require(told.entries(.core, "anchor", "do=record").first)
    #expect(record.at == Hand.at(5_000))
    #expect(told.entries(.screen, "apply", "held=true").map(\.at) == [Hand.at(5_000)])
  }

  @Test func `HB-OLDER-08 a row that the window has is not added again, and a failed page may be asked for again after 0_25 s`() throws {
    let told = try Tale.story(
      long(400, [Tale.intent("older", 3_000, .older), Tale.intent("again", 3_200, .older)])
    ).faults("refuse,request,run.chatLoadPageBefore,nth=1,code=internal").run()
    // At 3.2 s the quarter second is not over: the finger takes until it is.
    let starts = told.trace.all(.core, "older.start").map(\.at)
    #expect(starts.suffix(2) == [Hand.at(3_000), Hand.at(3_250)])
    #expect(zip(starts, starts.dropFirst()).allSatisfy { $1 - $0 >= .milliseconds(250) })
    for show in told.trace.all(.core, "show") {
      let ids = (show["rows"]?.array ?? []).compactMap { $0["id"]?.string }
      #expect(Set(ids).count == ids.count)
    }
  }

  @Test func `HB-OLDER-03 a page without rows that are displayed puts nothing in place, and the next row is no page`() throws {
    let rows = ScreenTale.rows(60, hidden: 200)
    let session = ScreenTale.session(rows)
    let start = ScreenTale.running(session, window: 60, screen: ["heights": ScreenTale.heights(rows)], hasOlder: true)
    let told = try Tale.story(
      ScreenTale.scenario(session, start: start, [Tale.intent("older", 3_000, .older), Tale.send("op1", at: 5_000)])
    ).run()
    #expect(told.entries(.core, "older.end", "outcome=applied").first?["added"] == 100)
    #expect(!told.entries(.screen, "apply", "mode=snapshot").filter { $0.at == Hand.at(5_000) }.isEmpty)
    #expect(told.entries(.core, "anchor").isEmpty)
  }

  @Test func `HB-OLDER-09 the main timeline asks with the token and cursor in force`() throws {
    let told = try Tale.story(long(400, [Tale.intent("older", 3_000, .older), Tale.intent("next", 6_000, .older)])).run()
    let asked = told.entries(.link, "send", "label=request", "name=run.chatLoadPageBefore").compactMap { entry in
      entry.payload.flatMap { try? JSONReader.value($0) }?["params"]
    }
    #expect(asked.map { $0["cursor"]?.string } == ["x:cursor:user:h400", "x:cursor:user:h300"])
    #expect(asked.allSatisfy { $0["boundaryToken"]?.string?.isEmpty == false && $0["limit"] == 100 })
  }
}

/// Following the bottom, through the world (F-07, F-08).
@Suite struct StoryFollowTests {
  /// 150 rows of 80 pt on screen, at the bottom.
  private func told(_ intents: [Intent], end: Int64 = 30_000, faults: [String] = []) throws -> Told {
    let rows = ScreenTale.rows(150)
    let session = ScreenTale.session(rows)
    let start = ScreenTale.running(session, window: 150, screen: ["heights": ScreenTale.heights(rows)])
    var story = Tale.story(ScreenTale.scenario(session, start: start, intents, end: end))
    for rule in faults { story = try story.faults(rule) }
    return try story.run()
  }

  private func away(_ distance: Double) -> Intent { ScreenTale.drag("away", 2_000, [[100, distance]]) }
  private let latest = Tale.intent("latest", 5_000, .scrollToLatest)

  @Test(arguments: [(60, 45), (120, 90), (300, 173), (600, 235), (1_200, 297), (3_300, 387), (10_000, 570)])
  func `HB-FIG-07 HB-FOLLOW-01 following takes its frames`(distance: Int, frames: Int) throws {
    let told = try told([away(Double(distance)), latest])
    let start = try #require(told.entries(.screen, "scroll", "state=follow").first?.at)
    #expect(start == Hand.at(5_000))
    let rest = try #require(told.entries(.screen, "scroll", "state=rest").first { $0.at > start }?.at)
    let moved = told.frames(from: start + .nanoseconds(1), to: rest)
    #expect((frames - 1...frames + 1).contains(moved.count))
    #expect((moved.last?.contentHeight ?? 0) - (moved.last?.offset ?? 0) == 685)
    if distance == 600 {
      let remaining = moved.prefix(3).map { ($0.contentHeight - 685 - $0.offset) }
      #expect(zip(remaining, [593.33, 586.74, 580.22]).allSatisfy { ($0 - $1).magnitude < 0.01 })
    }
  }

  @Test func `HB-FIG-07 HB-FOLLOW-02 with Reduce Motion the view jumps`() throws {
    let told = try told([Tale.intent("reduce", 1_000, .reduceMotion(true)), away(600), latest])
    #expect(told.entries(.screen, "scroll", "state=follow").isEmpty)
    #expect(told.entries(.screen, "scroll", "state=jump").map(\.at) == [Hand.at(5_000)])
    let moved = told.frames(from: Hand.at(5_000))
    #expect(moved.count == 1)
    #expect(moved.first.map { $0.contentHeight - $0.offset } == 685)
  }

  @Test func `HB-FIG-08 HB-FOLLOW-03 HB-FOLLOW-04 stable at once: 2 passes, 64 ms after a jump, 382 ms after an animated scroll`() throws {
    let jumped = try told([Tale.intent("reduce", 1_000, .reduceMotion(true)), away(600), latest])
    #expect(jumped.entries(.screen, "pass", "use=follow").map(\.at) == [Hand.at(5_032), Hand.at(5_064)])
    let scrolled = try told([away(600), latest])
    let end = try #require(scrolled.entries(.screen, "scroll", "state=rest").last?.at)
    #expect(
      scrolled.entries(.screen, "pass", "use=follow").map(\.at) == [end + .milliseconds(350), end + .milliseconds(382)])
  }

  @Test func `HB-FIG-08 HB-FOLLOW-03 never stable: 8 passes, 256 ms after a jump, 574 ms after an animated scroll`() throws {
    // A message is sent before each pass: its echo makes the content higher, and stays, for no receipt comes.
    let lost = ["drop,request,run.chatOutboxSubmit"]
    func sends(_ first: Int64) -> [Intent] { (0..<12).map { Tale.send("op\($0)", at: first + Int64($0) * 32) } }
    let jumped = try told([Tale.intent("reduce", 1_000, .reduceMotion(true)), away(600), latest] + sends(5_010), faults: lost)
    #expect(jumped.entries(.screen, "pass", "use=follow").prefix(8).map(\.at) == (1...8).map { Hand.at(5_000 + $0 * 32) })
    #expect(jumped.passes("follow").prefix(8).allSatisfy { $0.hasSuffix("moved") })
    // The ninth pass, if any, belongs to another scroll.
    #expect(jumped.passes("follow").dropFirst(8).first.map { $0.hasPrefix("1 ") } ?? true)

    let plain = try told([away(600), latest])
    let end = try #require(plain.entries(.screen, "scroll", "state=rest").last?.at)
    let first = end.nanoseconds / 1_000_000 + 340
    let scrolled = try told([away(600), latest] + sends(first), faults: lost)
    let passes = scrolled.entries(.screen, "pass", "use=follow").filter { $0.at > end }.prefix(8).map(\.at)
    #expect(passes == (0..<8).map { end + .milliseconds(350 + $0 * 32) })
  }

  @Test func `HB-FOLLOW-05 scroll to latest while the list is thrown is made when it rests`() throws {
    // Under a finger the tap waits for its lift.
    for (name, drag, on) in [
      ("thrown", ScreenTale.drag("away", 2_000, [[100, 600]], velocity: 3_000), "0:02.400 true"),
      ("held", ScreenTale.drag("away", 2_000, [[100, 600], [1_000, 600]]), "0:03.000 true"),
    ] {
      let told = try told([drag, Tale.intent("latest", 2_400, .scrollToLatest)])
      let states = told.entries(.screen, "scroll").compactMap { $0["state"]?.string }
      #expect(states.suffix(3) == ["rest", "follow", "rest"], "\(name)")
      #expect(told.lines(.core, "follow", showing: ["on"]) == ["0:02.000 false", on], "\(name)")
    }
  }

  @Test func `HB-FOLLOW-05 following is on after the mount and within 40 pt of the bottom after a drag, off otherwise`() throws {
    for (distance, follows) in [(39.9, true), (40.0, true), (40.1, false)] {
      let told = try told([away(distance), Tale.send("op1", at: 5_000)])
      #expect(!told.entries(.screen, "scroll", "state=follow").filter { $0.at == Hand.at(5_000) }.isEmpty == follows, "\(distance) pt")
    }
    let mounted = try told([Tale.send("op1", at: 5_000)])
    #expect(!mounted.entries(.screen, "scroll", "state=follow").isEmpty)
    let latest = try told([away(600), latest, Tale.send("op1", at: 20_000)])
    #expect(latest.entries(.screen, "scroll", "state=follow").contains { $0.at == Hand.at(20_000) })
    // During a drag it is off.
    let dragging = try told([ScreenTale.drag("hold", 2_000, [[3_000, 0]]), Tale.send("op1", at: 3_000)])
    #expect(dragging.entries(.screen, "scroll", "state=follow").filter { $0.at < Hand.at(5_000) }.isEmpty)
  }
}

/// Presentation epochs and hosts, through the world (F-05).
@Suite struct StoryEpochTests {
  @Test func `HB-REVEAL-05 a row of the new view that is ready when a finger of the one before would have lifted counts as ready`() throws {
    var session = ScreenTale.session([])
    session.history = (0..<60).map { index in
      Row.made(
        type: .agentReply, id: "h\(index)", origin: .canonical, sourceOrder: [1, UInt64(index)],
        timestamp: Hand.wall - 100_000 + Int64(index), runId: "run-0", text: "old \(index)")
    }
    var other = session
    other.history = ScreenTale.rows(12)
    // The finger would lift at 5.900; the view of the next epoch is mounted at 5.100 and prepares for 0.800 s.
    let told = try Tale.story(
      ScreenTale.scenario(
        session,
        start: ScreenTale.running(other, window: 12, screen: ["markdownMs": 800, "heights": ScreenTale.heights(session.history)]),
        [ScreenTale.drag("finger", 4_900, [[1_000, 30]]), Tale.intent("refresh", 5_000, .refresh)], end: 9_000)
    ).run()
    #expect(told.instants(.screen, "mount") == ["0:00.000", "0:05.100"])
    let lift = try #require(told.entries(.core, "cover.lift").first { $0.at > Hand.at(5_100) })
    // Three still passes after it, an older page, three more.
    #expect(lift.at < Hand.at(6_500))
  }

  @Test func `HB-EPOCH-02 HB-EPOCH-03 a refresh without overlap advances the epoch: a new mount, covered, at the bottom`() throws {
    let session = ScreenTale.session(ScreenTale.rows(60))
    // The phone has rows that the desktop does not know any more.
    var other = session
    other.history = (0..<12).map { index in
      Row.made(
        type: .user, id: "gone\(index)", origin: .canonical, sourceOrder: [0, UInt64(index)], timestamp: Hand.wall - 300_000, text: "x")
    }
    let start = ScreenTale.running(other, window: 12)
    let told = try Tale.story(
      ScreenTale.scenario(
        session, start: start, [ScreenTale.drag("finger", 4_900, [[1_000, 30]]), Tale.intent("refresh", 5_000, .refresh)], end: 9_000)
    ).run()
    #expect(told.lines(.core, "epoch", showing: ["viewport", "n", "cause"]) == ["0:05.100 parent-chat 1 window-replaced"])
    #expect(told.instants(.screen, "mount") == ["0:00.000", "0:05.100"])
    #expect(told.instants(.screen, "unmount") == ["0:05.100"])
    #expect(told.instants(.core, "cover.up") == ["0:00.000", "0:05.100"])
    // The finger's drag is forgotten, and the new list is at the bottom.
    let frame = try #require(told.frames(from: Hand.at(5_100)).first)
    #expect(frame.offset == max(-47, frame.contentHeight - 685))
    #expect(told.entries(.screen, "scroll").filter { $0.at > Hand.at(5_100) && $0.at < Hand.at(6_000) }.isEmpty)
  }

  @Test func `HB-EPOCH-01 HB-EPOCH-02 HB-EPOCH-04 a change of the thread advances the epoch of its viewport by one`() throws {
    var session = ScreenTale.session(ScreenTale.rows(12))
    session.history.append(
      Row.made(
        type: .agentReply, id: "t1", origin: .canonical, sourceOrder: [3, 0], timestamp: Hand.wall, text: "From the thread",
        threadId: "thr-9"))
    let intents = [
      Tale.select(at: 0), Tale.intent("thread", 3_000, .select(session: Hand.session, thread: "thr-9")),
      Tale.intent("back", 6_000, .select(session: Hand.session, thread: nil)),
      Tale.intent("thread-again", 8_000, .select(session: Hand.session, thread: "thr-9")),
    ]
    let told = try Tale.story(Tale.scenario(intents, tape: [], sessions: [session], end: 10_000)).run()
    let lines = told.lines(.core, "epoch", showing: ["viewport", "n", "cause"]).filter { $0.hasSuffix("thread") }
    // Each viewport has its own counter; the first load of an empty, unconfirmed chat was the first advance of both.
    #expect(
      lines == [
        "0:03.000 subagent-thr-9 1 thread", "0:06.000 parent-chat 2 thread", "0:08.000 subagent-thr-9 3 thread",
      ])
    #expect(told.instants(.core, "cover.up").count == 4)
  }

  @Test func `HB-EPOCH-03 an older page in flight is dropped with the epoch`() throws {
    let session = ScreenTale.session(ScreenTale.rows(60))
    var other = session
    other.history = (0..<40).map { index in
      Row.made(
        type: .user, id: "gone\(index)", origin: .canonical, sourceOrder: [0, UInt64(index)], timestamp: Hand.wall - 300_000, text: "x")
    }
    let start = ScreenTale.running(other, window: 40, hasOlder: true)
    let told = try Tale.story(
      ScreenTale.scenario(
        session, start: start, [Tale.intent("older", 4_990, .older), Tale.intent("refresh", 5_000, .refresh)], end: 9_000)
    ).faults("delay,response,run.chatLoadPageBefore,by=1s").run()
    #expect(told.lines(.core, "older.end", showing: ["outcome"]).contains("0:05.100 fenced"))
  }

  @Test func `HB-FIG-05 HB-HOST-08 a chat that comes back is at the bottom behind a brief cover, with its rows`() throws {
    var b = ScreenTale.session(ScreenTale.rows(20))
    b.id = "ses-02"
    let a = ScreenTale.session(ScreenTale.rows(40))
    let told = try Tale.story(
      Tale.scenario(
        [
          Tale.select(at: 0), ScreenTale.drag("away", 3_000, [[200, 500]]), Tale.select("ses-02", at: 5_000), Tale.select(at: 8_000),
        ], tape: [], sessions: [a, b], end: 12_000)
    ).run()
    #expect(told.instants(.screen, "mount") == ["0:00.100", "0:05.100", "0:08.000"])
    #expect(told.instants(.core, "cover.lift").last == "0:08.128")
    #expect(
      told.lines(.core, "load.start", showing: ["host", "first"]).filter { $0 >= "0:08" && $0 < "0:12" } == ["0:08.000 ses-01 false"])
    let frame = try #require(told.frames(from: Hand.at(8_000)).first)
    #expect(frame.offset == max(-47, frame.contentHeight - 685))
  }

  @Test func `HB-FIG-05 seven chats in turn: G F E D C B are kept, A is released, and comes back with a first load that releases B`() throws
  {
    let names = (1...7).map { "ses-0\($0)" }
    let sessions = names.map { name in
      var session = ScreenTale.session(ScreenTale.rows(3))
      session.id = name
      return session
    }
    let intents = (names + ["ses-01"]).enumerated().map { Tale.select($1, at: Int64($0) * 1_000) }
    var scenario = Tale.scenario(intents, tape: [], sessions: sessions, end: 9_000)
    var start = Tale.start.object ?? [:]
    start["sessions"] = .array(names.map { ["id": .string($0), "agent": "codex"] })
    scenario.clientStart = .object(start)
    let told = try Tale.story(scenario).run()
    let orders = told.trace.all(.core, "host.commit").map { ($0["order"]?.array ?? []).compactMap(\.string) }
    try #require(orders.count == 8)
    #expect(orders[6] == Array(names.reversed().prefix(6)))
    #expect(orders[7] == ["ses-01"] + Array(names.reversed().prefix(5)))
    #expect(told.lines(.core, "host.release", showing: ["key"]) == ["0:06.000 ses-01", "0:07.000 ses-02"])
    #expect(told.lines(.core, "load.start", showing: ["host", "first"]).filter { $0 < "0:07.5" }.last == "0:07.000 ses-01 true")
  }
}
