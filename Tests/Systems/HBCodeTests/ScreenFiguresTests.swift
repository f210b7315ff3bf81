import Contract
import HBCodeDialect
import HBCodeSystem
import Simulation
import TestSupport
import Testing
import Wire

/// The figures of a report on what the screen did, from traces written by hand.
@Suite struct ScreenFiguresTests {
  private func figures(_ write: (inout ClaimTale) -> Void) -> [String: Figure] {
    var tale = ClaimTale()
    write(&tale)
    let found = hbcode.figures(tale.trace)
    for figure in found {
      let hasWords = !figure.title.isEmpty && figure.definition.hasSuffix(".") && !figure.unit.isEmpty
      #expect(hasWords, "\(figure.id)")
      #expect((figure.limit == nil) == (figure.held == nil), "\(figure.id)")
      #expect(figure.samples.allSatisfy { tale.trace.entries.indices.contains($0.entry) }, "\(figure.id)")
      #expect(zip(figure.samples, figure.samples.dropFirst()).allSatisfy { $0.at <= $1.at }, "\(figure.id)")
    }
    return Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
  }

  @Test func `a run without a screen has no figures`() {
    #expect(hbcode.figures(ClaimTale().trace).isEmpty)
  }

  @Test func `cadence counts the live renders of the second that ends with each, apart while the composer is open`() {
    let found = figures { tale in
      for k in 0..<8 { tale.render(k, live: true, at: 1_000, plus: Int64(k) * 166_666_667) }
      tale.user("openComposer", at: 3_000)
      for k in 8..<12 { tale.render(k, live: true, at: 3_000 + Int64(k - 7) * 500) }
    }
    #expect(found["hbcode.cadence"]?.samples.map(\.value) == [1, 2, 3, 4, 5, 6, 6, 6])
    #expect(found["hbcode.cadence"]?.value == 6)
    #expect(found["hbcode.cadence"]?.held == true)
    #expect(found["hbcode.cadence"]?.bound == 6)
    #expect(found["hbcode.cadence-slow"]?.samples.map(\.value) == [1, 2, 2, 2])
    #expect(found["hbcode.cadence-slow"]?.limit == "2")
    #expect(figures { tale in for k in 0..<7 { tale.render(k, live: true, at: Int64(k) * 160) } }["hbcode.cadence"]?.held == false)
  }

  @Test func `a change counts from its sending to the first update that has it or a newer one`() {
    let found = figures { tale in
      tale.mounted()
      // Lost; the next one brings it.
      tale.builder.add(
        .link, "send", at: 1_000,
        [
          "conn": 1, "dir": "in", "label": "event", "name": "chat:timeline-overlay", "sessionId": "ses-01", "settlementEpoch": 3,
          "revision": 2,
        ])
      tale.overlayEvent(3, at: 1_100)
      tale.taken(3, at: 1_120)
      tale.render(2, live: true, at: 1_150)
      tale.reconfigure(2, at: 1_150)
      // Nothing on screen changes.
      tale.overlayEvent(4, at: 2_000)
      tale.taken(4, at: 2_000)
      tale.render(3, live: true, at: 2_000)
      // Held, replaced, applied.
      tale.scroll("drag", at: 3_000)
      tale.overlayEvent(5, at: 3_100)
      tale.taken(5, at: 3_100)
      tale.render(4, live: true, at: 3_100)
      tale.hold(4, at: 3_100)
      tale.overlayEvent(6, at: 3_500)
      tale.taken(6, at: 3_500)
      tale.render(5, live: true, at: 3_500)
      tale.hold(5, at: 3_500)
      tale.scroll("rest", at: 4_000)
      tale.reconfigure(5, at: 4_100, held: true)
    }
    #expect(found["hbcode.shown-after"]?.samples.map(\.value) == [150, 50])
    #expect(found["hbcode.shown-after"]?.value == 50)
    #expect(found["hbcode.shown-after"]?.limit == nil)
    #expect(found["hbcode.shown-after"]?.chart == .histogram)
    #expect(found["hbcode.shown-after-hold"]?.samples.map(\.value) == [1_000, 600])
    #expect(found["hbcode.hold"]?.value == 1)
    #expect(found["hbcode.hold"]?.definition.hasSuffix("1 hold, 1 older version replaced.") == true)
    #expect(found["hbcode.hold"]?.chart == .spans)
    #expect(found["hbcode.hold-after-rest"]?.value == 0.1)
    #expect(found["hbcode.hold-after-rest"]?.bound == 0.25)
    #expect(found["hbcode.hold-after-rest"]?.held == true)
  }

  @Test func `covers count passes, time and older pages`() {
    let found = figures { tale in
      tale.mounted()
      tale.ask(.loadPageBefore, at: 10)
      for k in 1...4 { tale.pass("reveal", k, "still", at: Int64(k) * 32) }
      tale.cover("lift", at: 128)
    }
    #expect(found["hbcode.cover-passes"]?.value == 4)
    #expect(found["hbcode.cover-passes"]?.definition.hasSuffix("1 cover, 1 older page behind them.") == true)
    #expect(found["hbcode.cover-time"]?.value == 0.128)
    #expect(found["hbcode.cover-time"]?.bound == 2.016)
    #expect(found["hbcode.cover-time"]?.held == true)
  }

  @Test func `drift, shifts and follow speed come from the geometry`() {
    let found = figures { tale in
      tale.mounted()
      tale.cover("lift", at: 128)
      tale.frame(100, of: 3_000, [("agent-reply:a", 120, 80), ("agent-reply:b", 200, 80)], at: 500)
      // A row above grows: 12 pt for the one below.
      tale.frame(100, of: 3_012, [("agent-reply:a", 120, 92), ("agent-reply:b", 212, 80)], at: 600)
      // A finger, and the frame at its lift: no shift.
      tale.scroll("drag", at: 700)
      tale.frame(150, of: 3_012, at: 716)
      tale.scroll("rest", at: 730)
      tale.frame(160, of: 3_012, at: 730)
      tale.anchor("record", y: -40, at: 1_000)
      tale.snapshot(2, ["agent-reply:z", "agent-reply:a"], at: 1_000)
      tale.frame(240, of: 3_092, [("agent-reply:a", 200.25, 92)], at: 1_000)
      tale.anchor("end", y: -40, why: "stable", at: 1_064)
      // 2,167 pt to the bottom: 1,444.667 pt/s, then all the rest.
      tale.scroll("follow", at: 2_000)
      tale.frame(240 + 24.078, of: 3_092, at: 2_016, plus: 666_667)
      tale.scroll("rest", at: 2_033, plus: 333_334)
    }
    #expect(found["hbcode.anchor-drift"]?.value == 0.25)
    #expect(found["hbcode.anchor-drift"]?.held == true)
    #expect(found["hbcode.layout-shift"]?.samples.map(\.value) == [12, 0.25])
    #expect(found["hbcode.layout-shift"]?.value == 12.25)
    #expect(found["hbcode.layout-shift"]?.limit == nil)
    #expect(found["hbcode.follow-speed"]?.value == 1_445)
    #expect(found["hbcode.follow-speed"]?.held == true)
  }

  @Test func `rows that an epoch jump takes off the list are counted until they come back, echoes are not`() throws {
    let session = ScreenTale.session(ScreenTale.rows(12))
    let scenario = ScreenTale.scenario(
      session, start: ScreenTale.running(session, window: 12), tape: [ScreenTale.stream([5_000, 9_000])])
    let jumped = try Tale.story(scenario).faults("epoch-jump,server,*,at=6s,by=5").run()
    let figure = try #require(HBCodeFigures.all(jumped.trace).first { $0.id == "hbcode.rows-away" })
    // Refused at 6.05 s, gone with the load that brings the jump at 6.15 s, back with the next step at 9.05 s.
    #expect(figure.value > 2.8 && figure.value < 3)
    #expect(figure.samples.count == 1)
    #expect(HBCodeFigures.all(try Tale.story(scenario).run().trace).allSatisfy { $0.id != "hbcode.rows-away" })
  }
}
