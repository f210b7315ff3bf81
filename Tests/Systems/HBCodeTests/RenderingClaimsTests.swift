import Contract
import HBCodeDialect
import HBCodeSystem
import Simulation
import TestSupport
import Testing
import Wire

/// Claims on what the screen showed and when (spec E.2), on traces written by hand: held, just over the limit, at it, untested.
@Suite struct RenderingClaimsTests {
  // MARK: Cadence

  @Test func `HB-INV-35 live renders an instant less than a sixth of a second apart are found`() throws {
    func story(_ tale: inout ClaimTale, gap: Int64, changed: Int64 = 10) {
      tale.render(1, at: 1_000)
      tale.taken(2, at: 1_000 + changed)
      tale.render(2, live: true, at: 1_000, plus: gap)
    }
    try expect("HB-INV-35", exercised: 1) { story(&$0, gap: 166_666_667) }
    try expect("HB-INV-35", exercised: 1, broken: 1) { story(&$0, gap: 166_666_666) }
    // A change that came later did not have to wait.
    try expect("HB-INV-35", exercised: 0) { story(&$0, gap: 300_000_000, changed: 300) }
    // Renders of other causes come at once.
    try expect("HB-INV-35", exercised: 0) { tale in
      tale.render(1, at: 1_000)
      tale.render(2, at: 1_001)
    }
  }

  @Test func `HB-INV-35 while the composer is open live renders are half a second apart`() throws {
    func story(_ tale: inout ClaimTale, gap: Int64, closes: Bool = false) {
      tale.user("openComposer", at: 900)
      tale.render(1, at: 1_000)
      tale.taken(2, at: 1_010)
      if closes { tale.user("closeComposer", at: 1_020) }
      tale.render(2, live: true, at: 1_000, plus: gap)
    }
    try expect("HB-INV-35", exercised: 1) { story(&$0, gap: 500_000_000) }
    try expect("HB-INV-35", exercised: 1, broken: 1) { story(&$0, gap: 499_999_999) }
    try expect("HB-INV-35", exercised: 1) { story(&$0, gap: 166_666_667, closes: true) }
    // What the client says of its interval counts as well.
    try expect("HB-INV-35", exercised: 1, broken: 1) { tale in
      tale.render(1, at: 1_000)
      tale.render(2, live: true, at: 1_400, interval: 500_000_000)
    }
  }

  @Test func `HB-INV-35 the seventh live render within a second is named, another host life and another process begin anew`() throws {
    let outcome = try expect("HB-INV-35", exercised: 6, broken: 6) { tale in
      for k in 0..<7 { tale.render(k, live: true, at: Int64(k) * 150) }
    }
    #expect(outcome.violations.last?.happened.contains("the 7th live render within one second; 6 are the most") == true)
    for between in [("host.release", false), ("launch", true)] {
      try expect("HB-INV-35", exercised: 0) { tale in
        tale.core("host.commit", at: 900, ["key": "ses-01", "order": ["ses-01"]])
        tale.render(1, at: 1_000)
        if between.1 { tale.world("launch", at: 1_010, ["n": 1]) } else { tale.core("host.release", at: 1_010, ["key": "ses-01"]) }
        tale.render(1, live: true, at: 1_020)
      }
    }
    // The same life goes on when a kept chat comes back on screen.
    try expect("HB-INV-35", exercised: 1, broken: 1) { tale in
      tale.core("host.commit", at: 900, ["key": "ses-01", "order": ["ses-01"]])
      tale.render(1, at: 1_000)
      tale.core("host.activate", at: 1_010, ["key": "ses-01"])
      tale.render(1, live: true, at: 1_020)
    }
  }

  @Test func `HB-INV-36 live changes taken in 99 ms apart are found`() throws {
    func story(_ tale: inout ClaimTale, second: Int64, plus: Int64 = 0, arrives: Int64? = 1_020) {
      tale.taken(1, at: 1_000)
      if let arrives { tale.overlayEvent(2, at: arrives) }
      tale.taken(2, at: second, plus: plus)
    }
    try expect("HB-INV-36", exercised: 1) { story(&$0, second: 1_100) }
    try expect("HB-INV-36", exercised: 1, broken: 1) { story(&$0, second: 1_099, plus: 999_999) }
    try expect("HB-INV-36", exercised: 0) { story(&$0, second: 1_100, arrives: nil) }
    try expect("HB-INV-36", exercised: 0) { story(&$0, second: 1_200, arrives: 1_100) }
    // A snapshot between them does not count, and a launch begins anew.
    try expect("HB-INV-36", exercised: 0) { tale in
      tale.taken(1, at: 1_000)
      tale.core("overlay", at: 1_010, ["host": "ses-01", "epoch": 3, "revision": 2, "source": "snapshot"])
    }
    try expect("HB-INV-36", exercised: 0) { tale in
      tale.taken(1, at: 1_000)
      tale.world("launch", at: 1_005, ["n": 1])
      tale.taken(2, at: 1_010)
    }
  }

  @Test func `HB-INV-37 a live change that is drawn a nanosecond late is found`() throws {
    func story(_ tale: inout ClaimTale, _ then: (inout ClaimTale) -> Void) {
      tale.mounted()
      tale.taken(2, at: 1_000)
      then(&tale)
    }
    try expect("HB-INV-37", exercised: 1) { story(&$0) { $0.render(2, live: true, at: 1_000, plus: 166_666_667) } }
    try expect("HB-INV-37", exercised: 1, broken: 1) { story(&$0) { $0.render(2, live: true, at: 1_000, plus: 166_666_668) } }
    try expect("HB-INV-37", exercised: 1) { story(&$0) { $0.render(2, at: 1_000) } }
    // Never drawn: the trace has to last as long as it might have been.
    try expect("HB-INV-37", exercised: 1, broken: 1) { story(&$0) { $0.end(at: 1_000, plus: 166_666_667) } }
    try expect("HB-INV-37", exercised: 0) { story(&$0) { $0.end(at: 1_166) } }
    // The chat left the screen, the process ended, the view began anew.
    try expect("HB-INV-37", exercised: 0) {
      story(&$0) {
        $0.unmount(at: 1_100); $0.end(at: 9_000)
      }
    }
    try expect("HB-INV-37", exercised: 0) {
      story(&$0) {
        $0.world("stop", at: 1_100); $0.end(at: 9_000)
      }
    }
    try expect("HB-INV-37", exercised: 0) {
      story(&$0) {
        $0.epoch("window-replaced", at: 1_100); $0.end(at: 9_000)
      }
    }
    try expect("HB-INV-37", exercised: 1, broken: 1) {
      story(&$0) {
        $0.unmount(at: 1_167); $0.end(at: 9_000)
      }
    }
    // A change of a chat that is not on screen needs no render.
    try expect("HB-INV-37", exercised: 0) {
      $0.taken(2, at: 1_000); $0.end(at: 9_000)
    }
  }

  @Test func `HB-INV-37 the interval of the composer and a suspension move the limit`() throws {
    func story(_ tale: inout ClaimTale, opens: Int64?, closes: Int64? = nil, drawn: Int64, plus: Int64 = 0) {
      tale.mounted()
      if let opens, opens <= 1_000 { tale.user("openComposer", at: opens) }
      tale.taken(2, at: 1_000)
      if let opens, opens > 1_000 { tale.user("openComposer", at: opens) }
      if let closes { tale.user("closeComposer", at: closes) }
      tale.render(2, live: true, at: drawn, plus: plus)
    }
    try expect("HB-INV-37", exercised: 1) { story(&$0, opens: 500, drawn: 1_500) }
    try expect("HB-INV-37", exercised: 1, broken: 1) { story(&$0, opens: 500, drawn: 1_500, plus: 1) }
    try expect("HB-INV-37", exercised: 1) { story(&$0, opens: 1_100, drawn: 1_500) }
    try expect("HB-INV-37", exercised: 1) { story(&$0, opens: 500, closes: 1_300, drawn: 1_300) }
    try expect("HB-INV-37", exercised: 1, broken: 1) { story(&$0, opens: 500, closes: 1_300, drawn: 1_301) }
    func asleep(_ tale: inout ClaimTale, from: Int64, drawn: Int64) {
      tale.mounted()
      tale.taken(2, at: 1_000)
      tale.world("suspend", at: from)
      tale.world("resume", at: 5_000)
      tale.render(2, live: true, at: drawn)
    }
    try expect("HB-INV-37", exercised: 1) { asleep(&$0, from: 1_100, drawn: 5_000) }
    try expect("HB-INV-37", exercised: 1, broken: 1) { asleep(&$0, from: 1_100, drawn: 5_001) }
    try expect("HB-INV-37", exercised: 1, broken: 1) { asleep(&$0, from: 1_167, drawn: 5_000) }
  }

  // MARK: Holds

  @Test func `HB-INV-38 an update that applies while a finger or its throw moves the list is found`() throws {
    func story(_ tale: inout ClaimTale, applied: Int64?, rest: Int64? = 2_000) {
      tale.mounted()
      tale.scroll("drag", at: 1_000)
      tale.render(2, live: true, at: 1_200)
      if let applied, applied < 1_500 { tale.reconfigure(2, at: applied) } else { tale.hold(2, at: 1_200) }
      tale.scroll("decelerate", at: 1_500)
      if let applied, applied >= 1_500, rest.map({ applied < $0 }) ?? true { tale.reconfigure(2, at: applied, held: true) }
      if let rest { tale.scroll("rest", at: rest) }
      if let applied, let rest, applied >= rest { tale.reconfigure(2, at: applied, held: true) }
    }
    try expect("HB-INV-38", exercised: 1) { story(&$0, applied: 2_000) }
    try expect("HB-INV-38", exercised: 1, broken: 1) { story(&$0, applied: 1_200) }
    try expect("HB-INV-38", exercised: 2, broken: 1) { story(&$0, applied: 1_999) }
    try expect("HB-INV-38", exercised: 2, broken: 1) { story(&$0, applied: 1_600, rest: nil) }
    // A list that follows its end, or jumps, is at rest.
    try expect("HB-INV-38", exercised: 0) { tale in
      tale.mounted()
      tale.scroll("follow", at: 1_000)
      tale.reconfigure(2, at: 1_100)
      tale.scroll("jump", at: 1_200)
      tale.reconfigure(3, at: 1_200)
    }
    // A jump does not lift the finger; the end of the mount does.
    try expect("HB-INV-38", exercised: 1, broken: 1) { tale in
      tale.mounted()
      tale.scroll("drag", at: 1_000)
      tale.scroll("jump", at: 1_100)
      tale.reconfigure(2, at: 1_200)
    }
    try expect("HB-INV-38", exercised: 0) { tale in
      tale.mounted()
      tale.scroll("drag", at: 1_000)
      tale.unmount(at: 1_100)
      tale.mounted(at: 1_100)
    }
  }

  /// A drag from 1 s to 2 s, in which versions 2 and 3 are held.
  private func held(_ tale: inout ClaimTale, _ then: (inout ClaimTale) -> Void) {
    tale.mounted()
    tale.scroll("drag", at: 1_000)
    tale.render(2, live: true, at: 1_200)
    tale.hold(2, at: 1_200)
    tale.render(3, live: true, at: 1_400)
    tale.hold(3, at: 1_400)
    tale.scroll("rest", at: 2_000)
    then(&tale)
  }

  @Test func `HB-INV-39 a held update that applies more than 250 ms after rest is found`() throws {
    try expect("HB-INV-39", exercised: 1) { held(&$0) { $0.reconfigure(3, at: 2_000, held: true) } }
    try expect("HB-INV-39", exercised: 1) { held(&$0) { $0.reconfigure(3, at: 2_250, held: true) } }
    try expect("HB-INV-39", exercised: 1, broken: 1) { held(&$0) { $0.reconfigure(3, at: 2_250, plus: 1, held: true) } }
    // Never applied, and the trace lasts long enough to say so.
    try expect("HB-INV-39", exercised: 1, broken: 1) { held(&$0) { $0.end(at: 2_250) } }
    try expect("HB-INV-39", exercised: 0) { held(&$0) { $0.end(at: 2_249) } }
    try expect("HB-INV-39", exercised: 0) {
      held(&$0) {
        $0.unmount(at: 2_100); $0.end(at: 9_000)
      }
    }
    try expect("HB-INV-39", exercised: 0) {
      held(&$0) {
        $0.world("stop", at: 2_100); $0.end(at: 9_000)
      }
    }
    try expect("HB-INV-39", exercised: 0) {
      held(&$0) {
        $0.epoch("thread", at: 2_100); $0.end(at: 9_000)
      }
    }
    try expect("HB-INV-39", exercised: 1, broken: 1) {
      held(&$0) {
        $0.unmount(at: 2_251); $0.end(at: 9_000)
      }
    }
    // Another touch before its time is over: it waits on.
    try expect("HB-INV-39", exercised: 1) {
      held(&$0) {
        $0.scroll("drag", at: 2_200); $0.scroll("rest", at: 4_000); $0.reconfigure(3, at: 4_100, held: true)
      }
    }
    try expect("HB-INV-39", exercised: 1, broken: 1) {
      held(&$0) {
        $0.scroll("drag", at: 2_251); $0.end(at: 9_000)
      }
    }
    // The process sleeps.
    try expect("HB-INV-39", exercised: 1) {
      held(&$0) {
        $0.world("suspend", at: 2_100); $0.world("resume", at: 4_000); $0.reconfigure(3, at: 4_000, held: true)
      }
    }
  }

  @Test func `HB-INV-39 an older version that applies, and a second apply, are found`() throws {
    try expect("HB-INV-39", exercised: 2, broken: 2) {
      held(&$0) {
        $0.reconfigure(2, at: 2_000, held: true); $0.end(at: 9_000)
      }
    }
    try expect("HB-INV-39", exercised: 2, broken: 1) {
      held(&$0) {
        $0.reconfigure(3, at: 2_000, held: true); $0.reconfigure(2, at: 2_100, held: true)
      }
    }
    try expect("HB-INV-39", exercised: 2, broken: 1) {
      held(&$0) {
        $0.reconfigure(3, at: 2_000, held: true); $0.reconfigure(3, at: 2_250, held: true)
      }
    }
    // A newer render at rest applies in its place.
    try expect("HB-INV-39", exercised: 1) {
      held(&$0) {
        $0.render(4, live: true, at: 2_100); $0.reconfigure(4, at: 2_100)
      }
    }
    try expect("HB-INV-39", exercised: 2, broken: 1) {
      held(&$0) { tale in
        tale.render(4, live: true, at: 2_100)
        tale.reconfigure(4, at: 2_100)
        tale.reconfigure(3, at: 2_200, held: true)
      }
    }
  }

  @Test func `HB-INV-39 rows that are rendered and dropped are found although nobody says that they are held`() throws {
    func story(_ tale: inout ClaimTale, moves: Bool, applied: Bool) {
      tale.mounted()
      if moves { tale.scroll("drag", at: 1_000) }
      tale.show([("agent-reply:a", "canonical"), ("agent-reply:b", "live")], at: 1_200)
      tale.render(2, live: true, at: 1_200)
      if moves { tale.scroll("rest", at: 2_000) }
      if applied { tale.snapshot(2, ["agent-reply:a", "agent-reply:b"], at: moves ? 2_000 : 1_200, held: moves) }
      tale.end(at: 9_000)
    }
    try expect("HB-INV-39", exercised: 1) { story(&$0, moves: true, applied: true) }
    try expect("HB-INV-39", exercised: 1, broken: 1) { story(&$0, moves: true, applied: false) }
    try expect("HB-INV-39", exercised: 0) { story(&$0, moves: false, applied: true) }
    try expect("HB-INV-39", exercised: 1, broken: 1) { story(&$0, moves: false, applied: false) }
  }

  @Test func `HB-INV-39 words of a live row on screen that are rendered and not drawn are found`() throws {
    func story(
      _ tale: inout ClaimTale, _ text: String = "Yes, today", origin: String = "live", visible: String = "agent-reply:a", drawn: Bool
    ) {
      func arrives(_ revision: Int64, _ text: String, at: Int64) {
        tale.event(
          .timelineOverlay, at: at, ["sessionId": "ses-01", "settlementEpoch": 3, "revision": .integer(revision)],
          payload: #"{"event":"chat:timeline-overlay","blocks":[{"type":"agent-reply","id":"a","text":"\#(text)"}]}"#)
        tale.taken(revision, at: at)
      }
      tale.mounted()
      arrives(1, "Yes", at: 1_000)
      tale.show([("agent-reply:a", origin)], at: 1_000)
      tale.render(2, live: true, at: 1_000)
      tale.reconfigure(2, at: 1_000)
      tale.frame(-47, of: 80, [(visible, 0, 80)], at: 1_000)
      arrives(2, text, at: 2_000)
      tale.render(3, live: true, at: 2_000)
      if drawn { tale.reconfigure(3, at: 2_000) }
      tale.end(at: 2_250)
    }
    try expect("HB-INV-39", exercised: 0) { story(&$0, drawn: true) }
    try expect("HB-INV-39", exercised: 1, broken: 1) { story(&$0, drawn: false) }
    // The same words, a saved row, a row that is not on screen.
    try expect("HB-INV-39", exercised: 0) { story(&$0, "Yes", drawn: false) }
    try expect("HB-INV-39", exercised: 0) { story(&$0, origin: "canonical", drawn: false) }
    try expect("HB-INV-39", exercised: 0) { story(&$0, visible: "agent-reply:b", drawn: false) }
  }

  @Test func `HB-INV-39 what an older page held applies within 250 ms of its end, or of 1.5 s`() throws {
    func story(_ tale: inout ClaimTale, ends: (inout ClaimTale) -> Void, applied: Int64) {
      tale.mounted()
      tale.anchor("record", at: 1_000)
      tale.render(2, at: 1_000)
      tale.snapshot(2, ["agent-reply:z", "agent-reply:a"], at: 1_000)
      tale.render(3, live: true, at: 1_040)
      tale.hold(3, why: "restore", at: 1_040)
      ends(&tale)
      tale.reconfigure(3, at: applied, held: true)
    }
    try expect("HB-INV-39", exercised: 1) { story(&$0, ends: { $0.anchor("end", why: "stable", at: 1_064) }, applied: 1_064) }
    try expect("HB-INV-39", exercised: 1, broken: 1) { story(&$0, ends: { $0.anchor("end", why: "stable", at: 1_064) }, applied: 1_315) }
    try expect("HB-INV-39", exercised: 1) { story(&$0, ends: { $0.anchorLive(at: 2_500) }, applied: 2_750) }
    // The finger that ended it keeps the update.
    try expect("HB-INV-39", exercised: 1) {
      story(
        &$0,
        ends: {
          $0.scroll("drag", at: 1_050); $0.anchor("end", why: "drag", at: 1_050); $0.scroll("rest", at: 5_000)
        }, applied: 5_000)
    }
  }

  @Test func `HB-INV-40 cells that did not change, are off screen or stay old, and whole lists without need, are found`() throws {
    func story(_ tale: inout ClaimTale, _ more: JSONObject) {
      tale.mounted()
      tale.render(2, live: true, at: 1_000)
      tale.reconfigure(2, at: 1_000, more)
    }
    try expect("HB-INV-40", exercised: 1) { story(&$0, [:]) }
    for field in ["unchanged", "offscreen", "stale"] {
      try expect("HB-INV-40", exercised: 1, broken: 1) { story(&$0, JSONObject([.init(name: field, value: ["agent-reply:a"])])) }
    }
    try expect("HB-INV-40", exercised: 0) { $0.mounted() }
    func snapshot(_ tale: inout ClaimTale, _ rows: [String], _ more: JSONObject = ["animated": false]) {
      tale.mounted()
      tale.show(rows.map { ($0, "canonical") }, at: 1_000)
      tale.render(2, at: 1_000)
      tale.snapshot(2, rows, at: 1_000, more)
    }
    try expect("HB-INV-40", exercised: 1) { snapshot(&$0, ["agent-reply:a", "agent-reply:b"]) }
    try expect("HB-INV-40", exercised: 1, broken: 1) { snapshot(&$0, ["agent-reply:a"]) }
    try expect("HB-INV-40", exercised: 1, broken: 1) { snapshot(&$0, ["agent-reply:a", "agent-reply:b"], ["animated": true]) }
    try expect("HB-INV-40", exercised: 1, broken: 1) { tale in
      tale.mount(at: 0)
      tale.render(1, at: 0)
      tale.snapshot(1, ["agent-reply:a"], at: 0, ["animated": true])
    }
    // Cells are drawn again although a row came.
    try expect("HB-INV-40", exercised: 1, broken: 1) { tale in
      tale.mounted()
      tale.show([("agent-reply:a", "canonical"), ("agent-reply:b", "live")], at: 1_000)
      tale.render(2, live: true, at: 1_000)
      tale.reconfigure(2, at: 1_000)
    }
  }

  @Test func `HB-INV-41 a list with a row more, a row less or another order than its version is found`() throws {
    func story(_ tale: inout ClaimTale, _ ids: [String], version: Int = 2) {
      tale.mounted()
      tale.show([("agent-reply:a", "canonical"), ("agent-reply:b", "live")], at: 1_000)
      tale.render(2, at: 1_000)
      tale.snapshot(version, ids, at: 1_000)
    }
    try expect("HB-INV-41", exercised: 2) { story(&$0, ["agent-reply:a", "agent-reply:b"]) }
    for ids in [["agent-reply:a"], ["agent-reply:a", "agent-reply:b", "agent-reply:c"], ["agent-reply:b", "agent-reply:a"]] {
      try expect("HB-INV-41", exercised: 2, broken: 1) { story(&$0, ids) }
    }
    try expect("HB-INV-41", exercised: 2, broken: 1) { story(&$0, ["agent-reply:a", "agent-reply:b"], version: 3) }
    try expect("HB-INV-41", exercised: 0) { $0.mount(at: 0) }
    // The rows of a version are those of its render, whatever came later.
    try expect("HB-INV-41", exercised: 2) { tale in
      tale.mounted()
      tale.show([("agent-reply:a", "canonical"), ("agent-reply:b", "live")], at: 1_000)
      tale.render(2, at: 1_000)
      tale.hold(2, at: 1_000)
      tale.show([("agent-reply:a", "canonical")], at: 1_050)
      tale.snapshot(2, ["agent-reply:a", "agent-reply:b"], at: 1_100, held: true)
    }
  }

  // MARK: Cover

  /// A cover with these verdicts, a pass each 32 ms, that lifts at the last of them.
  private func covered(
    _ tale: inout ClaimTale, _ verdicts: [String], lifts: Bool = true, after: Int64 = 0,
    _ between: (inout ClaimTale, Int) -> Void = { _, _ in }
  ) {
    tale.mounted()
    for (position, verdict) in verdicts.enumerated() {
      tale.pass("reveal", position + 1, verdict, at: Int64(position + 1) * 32)
      between(&tale, position + 1)
    }
    if lifts { tale.cover("lift", at: Int64(verdicts.count) * 32 + after) }
  }

  @Test func `HB-INV-44 a cover that lifts a pass early, late or never is found`() throws {
    let still = ["first", "still", "still", "still"]
    try expect("HB-INV-44", exercised: 1) { covered(&$0, still) }
    try expect("HB-INV-44", exercised: 1) { covered(&$0, ["waiting", "waiting", "waiting", "first", "still", "still", "still"]) }
    try expect("HB-INV-44", exercised: 1, broken: 1) { covered(&$0, ["first", "still", "still"]) }
    try expect("HB-INV-44", exercised: 1, broken: 1) { covered(&$0, ["first", "still", "still", "moved", "still", "still"]) }
    try expect("HB-INV-44", exercised: 1, broken: 1) { covered(&$0, still, after: 1) }
    let moving = Array(repeating: "moved", count: 63)
    try expect("HB-INV-44", exercised: 1) { covered(&$0, moving) }
    try expect("HB-INV-44", exercised: 1, broken: 1) { covered(&$0, moving + ["moved"]) }
    try expect("HB-INV-44", exercised: 1, broken: 1) { covered(&$0, moving.dropLast()) }
    // It stays up: for as long as the trace can tell.
    try expect("HB-INV-44", exercised: 1, broken: 1) {
      covered(&$0, moving, lifts: false); $0.end(at: 2_016)
    }
    try expect("HB-INV-44", exercised: 0) {
      covered(&$0, moving.dropLast(), lifts: false); $0.end(at: 2_015)
    }
    try expect("HB-INV-44", exercised: 0) {
      covered(&$0, [], lifts: false); $0.unmount(at: 1_000); $0.end(at: 9_000)
    }
    try expect("HB-INV-44", exercised: 1, broken: 1) {
      covered(&$0, still, lifts: false); $0.end(at: 9_000)
    }
  }

  @Test func `HB-INV-44 a list without a cover, a second lift and a second cover are found`() throws {
    let still = ["first", "still", "still", "still"]
    try expect("HB-INV-44", exercised: 1, broken: 1) {
      $0.mounted(isCovered: false); $0.end(at: 10)
    }
    try expect("HB-INV-44", exercised: 1, broken: 1) {
      $0.mounted(isCovered: false); $0.render(2, at: 10); $0.end(at: 10)
    }
    try expect("HB-INV-44", exercised: 0) {
      $0.mounted(isCovered: false); $0.end(at: 0)
    }
    try expect("HB-INV-44", exercised: 1, broken: 1) {
      covered(&$0, still); $0.cover("lift", at: 500)
    }
    try expect("HB-INV-44", exercised: 1, broken: 1) {
      covered(&$0, still, lifts: false); $0.cover("up", at: 128)
    }
    // A suspension makes passes late.
    try expect("HB-INV-44", exercised: 1) { tale in
      tale.mounted()
      tale.world("suspend", at: 10)
      tale.world("resume", at: 5_000)
      for k in 1...63 { tale.pass("reveal", k, "moved", at: 5_000) }
      tale.cover("lift", at: 5_000)
    }
  }

  @Test func `HB-INV-44 a third older page, a page under way and a row that prepares are found`() throws {
    func pages(_ tale: inout ClaimTale, _ count: Int, answered: Bool = true) {
      tale.mounted()
      var at: Int64 = 0
      for k in 0...count {
        for verdict in ["first", "still", "still", "still"] {
          at += 32
          tale.pass("reveal", 1, verdict, at: at)
        }
        if k == count { break }
        let ask = tale.ask(.loadPageBefore, at: at)
        if answered { tale.answer(ask, at: at + 10) }
      }
      tale.cover("lift", at: at)
    }
    try expect("HB-INV-44", exercised: 1) { pages(&$0, 2) }
    try expect("HB-INV-44", exercised: 1, broken: 1) { pages(&$0, 3) }
    try expect("HB-INV-44", exercised: 1, broken: 1) { pages(&$0, 1, answered: false) }
    func preparing(_ tale: inout ClaimTale, height: Double, _ between: (inout ClaimTale) -> Void = { _ in }) {
      tale.mounted()
      tale.frame(-47, of: 80, [("agent-reply:a", 0, 80)], at: 0)
      for (k, verdict) in ["first", "still", "still", "still"].enumerated() {
        tale.pass("reveal", k + 1, verdict, at: Int64(k + 1) * 32)
      }
      tale.cover("lift", at: 128)
      between(&tale)
      tale.frame(-47, of: height, [("agent-reply:a", 0, height)], at: 500)
    }
    try expect("HB-INV-44", exercised: 1) { preparing(&$0, height: 80.5) }
    try expect("HB-INV-44", exercised: 1, broken: 1) { preparing(&$0, height: 80.51) }
    try expect("HB-INV-44", exercised: 1) { preparing(&$0, height: 300) { $0.reconfigure(2, at: 500) } }
  }

  // MARK: Older pages

  /// A page of one row put above row a, whose place was 20 pt below the top; its place at the end and what follows.
  private func restored(
    _ tale: inout ClaimTale, y end: Double, record: String = "agent-reply:a", why: String = "stable",
    _ between: (inout ClaimTale) -> Void = { _ in },
    then: (inout ClaimTale) -> Void = { _ in }
  ) {
    tale.mounted(["agent-reply:a", "agent-reply:b"])
    tale.frame(1_000, of: 3_000, [("agent-reply:a", 1_020, 400), ("agent-reply:b", 1_420, 600)], at: 0)
    tale.show([("agent-reply:z", "canonical"), ("agent-reply:a", "canonical"), ("agent-reply:b", "canonical")], at: 1_000)
    tale.render(2, at: 1_000)
    tale.anchor("record", record, y: 20, at: 1_000)
    tale.snapshot(2, ["agent-reply:z", "agent-reply:a", "agent-reply:b"], at: 1_000)
    between(&tale)
    tale.frame(1_080, of: 3_080, [("agent-reply:a", 1_080 + end, 400), ("agent-reply:b", 1_480 + end, 600)], at: 1_064)
    tale.anchor("end", record, y: 20, why: why, at: 1_064)
    then(&tale)
  }

  @Test func `HB-INV-42 a row that is 0.51 pt off after an older page is found, 0.5 pt is not`() throws {
    try expect("HB-INV-42", exercised: 1) { restored(&$0, y: 20) }
    try expect("HB-INV-42", exercised: 1) { restored(&$0, y: 20.5) }
    try expect("HB-INV-42", exercised: 1, broken: 1) { restored(&$0, y: 20.51) }
    try expect("HB-INV-42", exercised: 1, broken: 1) { restored(&$0, y: 20, record: "agent-reply:b") }
    // A drag ended it, whatever the client says; without one its word does not count.
    try expect("HB-INV-42", exercised: 0) { restored(&$0, y: 90, why: "drag", { $0.scroll("drag", at: 1_050) }) }
    try expect("HB-INV-42", exercised: 1, broken: 1) { restored(&$0, y: 90, why: "drag") }
    try expect("HB-INV-42", exercised: 0) { restored(&$0, y: 90, why: "epoch") }
    try expect("HB-INV-42", exercised: 0) { $0.mounted() }
  }

  @Test func `HB-INV-42 the row stays in place until something moves it`() throws {
    let off: (inout ClaimTale) -> Void = { $0.frame(1_060, of: 3_080, at: 1_100) }
    try expect("HB-INV-42", exercised: 1, broken: 1) { restored(&$0, y: 20, then: off) }
    try expect("HB-INV-42", exercised: 1) {
      restored(
        &$0, y: 20,
        then: {
          $0.scroll("drag", at: 1_090); off(&$0)
        })
    }
    try expect("HB-INV-42", exercised: 1) {
      restored(
        &$0, y: 20,
        then: {
          $0.scroll("jump", at: 1_090); off(&$0)
        })
    }
    // Rows above change: the row may move. Rows below: it may not.
    try expect("HB-INV-42", exercised: 1) {
      restored(
        &$0, y: 20,
        then: {
          $0.reconfigure(3, ["agent-reply:z"], at: 1_090); off(&$0)
        })
    }
    try expect("HB-INV-42", exercised: 1, broken: 1) {
      restored(
        &$0, y: 20,
        then: {
          $0.reconfigure(3, ["agent-reply:b"], at: 1_090); off(&$0)
        })
    }
    try expect("HB-INV-42", exercised: 1) {
      restored(
        &$0, y: 20,
        then: {
          $0.snapshot(3, ["agent-reply:y", "agent-reply:z", "agent-reply:a", "agent-reply:b"], at: 1_090); off(&$0)
        })
    }
    try expect("HB-INV-42", exercised: 1, broken: 1) {
      restored(
        &$0, y: 20,
        then: {
          $0.snapshot(3, ["agent-reply:z", "agent-reply:a", "agent-reply:b", "agent-reply:c"], at: 1_090); off(&$0)
        })
    }
    // A row above it is prepared and higher than before.
    func prepared(_ tale: inout ClaimTale, height: Double) {
      tale.mounted()
      tale.frame(1_000, of: 3_000, [("agent-reply:a", 1_020, 400)], at: 0)
      tale.anchor("record", y: 20, at: 1_000)
      tale.frame(1_080, of: 3_080, [("agent-reply:z", 1_020, 80), ("agent-reply:a", 1_100, 400)], at: 1_064)
      tale.anchor("end", y: 20, at: 1_064)
      tale.frame(1_080, of: 3_082, [("agent-reply:z", 1_020, height), ("agent-reply:a", 1_102, 400)], at: 1_500)
    }
    try expect("HB-INV-42", exercised: 1) { prepared(&$0, height: 82) }
    try expect("HB-INV-42", exercised: 1, broken: 1) { prepared(&$0, height: 80) }
    // At the end of the range the place may not be had: 3,080 − 844 + 159 = 2,395.
    try expect("HB-INV-42", exercised: 0) { tale in
      tale.mounted()
      tale.anchor("record", y: 20, at: 1_000)
      tale.frame(2_395, of: 3_080, [("agent-reply:a", 2_400, 400)], at: 1_064)
      tale.anchor("end", y: 5, why: "passes", at: 1_064)
    }
    // More than eight passes.
    try expect("HB-INV-42", exercised: 1, broken: 1) {
      restored(&$0, y: 20, { tale in for k in 1...9 { tale.pass("restore", k, "moved", at: 1_001) } })
    }
    try expect("HB-INV-42", exercised: 1) {
      restored(&$0, y: 20, { tale in for k in 1...8 { tale.pass("restore", k, "moved", at: 1_001) } })
    }
  }

  @Test func `HB-INV-43 a live change that applies while an older page is put in place is found`() throws {
    func live(_ tale: inout ClaimTale, held: Bool) {
      tale.taken(5, at: 1_030)
      tale.render(3, live: true, at: 1_030)
      if held { tale.hold(3, why: "restore", at: 1_030) } else { tale.reconfigure(3, at: 1_030) }
    }
    try expect("HB-INV-43", exercised: 1) {
      restored(&$0, y: 20, { live(&$0, held: true) }, then: { $0.reconfigure(3, at: 1_064, held: true) })
    }
    try expect("HB-INV-43", exercised: 1, broken: 1) { restored(&$0, y: 20, { live(&$0, held: false) }) }
    try expect("HB-INV-43", exercised: 0) { restored(&$0, y: 20) }
    // A render of another cause brings the live state along.
    try expect("HB-INV-43", exercised: 1, broken: 1) {
      restored(
        &$0, y: 20,
        {
          $0.taken(5, at: 1_030); $0.render(3, at: 1_030); $0.reconfigure(3, at: 1_030)
        })
    }
    try expect("HB-INV-43", exercised: 0) {
      restored(
        &$0, y: 20,
        {
          $0.render(3, at: 1_030); $0.reconfigure(3, at: 1_030)
        })
    }
  }

  @Test func `HB-INV-43 live rows that are held longer than 1.5 s are found`() throws {
    func story(_ tale: inout ClaimTale, released: Int64?, plus: Int64 = 0, _ between: (inout ClaimTale) -> Void = { _ in }) {
      tale.mounted()
      tale.anchor("record", at: 1_000)
      tale.snapshot(2, ["agent-reply:z", "agent-reply:a"], at: 1_000)
      tale.render(3, live: true, at: 1_100)
      tale.hold(3, why: "restore", at: 1_100)
      between(&tale)
      if let released {
        tale.anchorLive(at: released, plus: plus)
        tale.reconfigure(3, at: released, plus: plus, held: true)
      }
    }
    try expect("HB-INV-43", exercised: 1) { story(&$0, released: 2_500) }
    try expect("HB-INV-43", exercised: 1, broken: 1) { story(&$0, released: 2_500, plus: 1) }
    try expect("HB-INV-43", exercised: 1, broken: 1) {
      story(&$0, released: nil); $0.end(at: 2_500)
    }
    try expect("HB-INV-43", exercised: 1) {
      story(&$0, released: nil); $0.end(at: 2_499)
    }
    try expect("HB-INV-43", exercised: 1) {
      story(&$0, released: 9_000) {
        $0.world("suspend", at: 1_200); $0.world("resume", at: 9_000)
      }
    }
  }

  @Test func `HB-INV-46 older pages asked for 0.249 s apart or two at a time are found`() throws {
    func story(_ tale: inout ClaimTale, second: Int64, answered: Int64?, near: Bool = false) {
      tale.mounted()
      tale.cover("lift", at: 128)
      let ask = tale.ask(.loadPageBefore, at: 1_000)
      if near { tale.frame(1_752.9, of: 5_000, at: 1_005) }
      if let answered, answered < second { tale.answer(ask, at: answered) }
      tale.ask(.loadPageBefore, at: second)
    }
    try expect("HB-INV-46", exercised: 1) { story(&$0, second: 1_250, answered: 1_010, near: true) }
    try expect("HB-INV-46", exercised: 1, broken: 1) { story(&$0, second: 1_249, answered: 1_010, near: true) }
    try expect("HB-INV-46", exercised: 0) { story(&$0, second: 1_250, answered: 1_010) }
    try expect("HB-INV-46", exercised: 1, broken: 1) { story(&$0, second: 1_249, answered: 1_010) }
    // The one before is under way until it is 8 s old.
    try expect("HB-INV-46", exercised: 1) { story(&$0, second: 9_000, answered: nil, near: true) }
    try expect("HB-INV-46", exercised: 1, broken: 1) { story(&$0, second: 8_999, answered: nil, near: true) }
    // 1,800.1 pt from the top, and under a cover, nobody would ask.
    try expect("HB-INV-46", exercised: 0) { tale in
      tale.mounted()
      tale.cover("lift", at: 128)
      tale.ask(.loadPageBefore, at: 1_000)
      tale.frame(1_753.1, of: 5_000, at: 1_005)
    }
    try expect("HB-INV-46", exercised: 0) { tale in
      tale.mounted()
      tale.ask(.loadPageBefore, at: 1_000)
      tale.frame(100, of: 5_000, at: 1_005)
    }
    // A reveal asks again as soon as its layout is still, but not for two pages at once.
    for (answered, broken) in [(1_010, 0), (nil, 1)] {
      try expect("HB-INV-46", exercised: broken, broken: broken) { tale in
        tale.mounted(at: 900)
        let ask = tale.ask(.loadPageBefore, at: 1_000)
        if let answered { tale.answer(ask, at: Int64(answered)) }
        tale.ask(.loadPageBefore, at: 1_128)
      }
    }
    // An epoch ends what is under way, and a released chat begins anew.
    try expect("HB-INV-46", exercised: 0) { tale in
      tale.ask(.loadPageBefore, at: 1_000)
      tale.epoch("window-replaced", at: 1_300)
      tale.ask(.loadPageBefore, at: 1_400)
    }
    try expect("HB-INV-46", exercised: 0) { tale in
      tale.ask(.loadPageBefore, at: 1_000)
      tale.core("host.release", at: 1_010, ["key": "ses-01"])
      tale.ask(.loadPageBefore, at: 1_020)
    }
  }

  @Test func `HB-INV-46 rows of a page that came after 8 s are found on screen, unless another answer brought them`() throws {
    let page = #"{"result":{"timeline":[{"type":"agent-reply","id":"old","origin":"canonical"}]}}"#
    func story(_ tale: inout ClaimTale, arrives: Int64, epoch: Bool = false, again: Bool = false, shown: String = "canonical") {
      let ask = tale.ask(.loadPageBefore, at: 1_000)
      if epoch { tale.epoch("window-replaced", at: 1_500) }
      tale.answer(ask, at: arrives, payload: page)
      if again { tale.answer(tale.ask(.loadPageBefore, at: 9_500), at: 9_600, payload: page) }
      tale.show([("agent-reply:old", shown)], at: 9_700)
    }
    try expect("HB-INV-46", exercised: 0) { story(&$0, arrives: 9_000) }
    try expect("HB-INV-46", exercised: 1, broken: 1) { story(&$0, arrives: 9_001) }
    try expect("HB-INV-46", exercised: 1) { story(&$0, arrives: 9_001, again: true) }
    try expect("HB-INV-46", exercised: 1, broken: 1) { story(&$0, arrives: 2_000, epoch: true) }
    try expect("HB-INV-46", exercised: 1) { story(&$0, arrives: 9_001, shown: "live") }
  }

  // MARK: Follow

  /// A follow of 600 pt (bottom of 2,000 pt is at 1,315) with one frame of this length that moves this far.
  private func followed(
    _ tale: inout ClaimTale, by moved: Double, remaining: Double = 600, after: Int64 = 16, plus: Int64 = 666_667,
    then: (inout ClaimTale) -> Void = { _ in }
  ) {
    tale.mounted()
    tale.cover("lift", at: 128)
    tale.frame(1_315 - remaining, of: 2_000, [], at: 900)
    tale.scroll("follow", at: 1_000)
    tale.frame(1_315 - remaining + moved, of: 2_000, at: 1_000 + after, plus: plus)
    then(&tale)
  }

  @Test func `HB-INV-45 a frame that moves 0.51 pt more or less than the speed says is found`() throws {
    // 600 pt: 400 pt/s, 6.667 pt in a frame.
    try expect("HB-INV-45", exercised: 1) { followed(&$0, by: 6.667) }
    try expect("HB-INV-45", exercised: 1) { followed(&$0, by: 7.166) }
    try expect("HB-INV-45", exercised: 1, broken: 1) { followed(&$0, by: 7.177) }
    try expect("HB-INV-45", exercised: 1, broken: 1) { followed(&$0, by: 6.157) }
    // Clamped to 2,200 pt/s (36.667 pt) and to 80 pt/s (1.333 pt).
    try expect("HB-INV-45", exercised: 1) { followed(&$0, by: 36.667, remaining: 10_000) }
    try expect("HB-INV-45", exercised: 1, broken: 1) { followed(&$0, by: 111.111, remaining: 10_000) }
    try expect("HB-INV-45", exercised: 1) { followed(&$0, by: 1.333, remaining: 60) }
    try expect("HB-INV-45", exercised: 1, broken: 1) { followed(&$0, by: 0.667, remaining: 60) }
    // Skipped frames: no more than 50 ms count.
    try expect("HB-INV-45", exercised: 1) { followed(&$0, by: 20, after: 100, plus: 0) }
    try expect("HB-INV-45", exercised: 1, broken: 1) { followed(&$0, by: 40, after: 100, plus: 0) }
    // All the rest.
    try expect("HB-INV-45", exercised: 1) { followed(&$0, by: 1, remaining: 1) }
    try expect("HB-INV-45", exercised: 1, broken: 1) { followed(&$0, by: 60, remaining: 60) }
    try expect("HB-INV-45", exercised: 0) { $0.mounted() }
  }

  @Test func `HB-INV-45 an update in the middle of a follow counts from the next frame on, the last frame comes after the end`() throws {
    try expect("HB-INV-45", exercised: 2) { tale in
      followed(&tale, by: 6.667) { tale in
        // 593.333 pt are left; a row of 300 pt comes: 893.333 / 1.5 = 595.556 pt/s.
        tale.snapshot(2, ["agent-reply:a", "agent-reply:b"], at: 1_020)
        tale.frame(721.667, of: 2_300, at: 1_020)
        tale.frame(731.593, of: 2_300, at: 1_033, plus: 333_334)
      }
    }
    try expect("HB-INV-45", exercised: 2) { tale in
      followed(&tale, by: 1.333, remaining: 2) { tale in
        tale.scroll("rest", at: 1_033, plus: 333_334)
        tale.frame(1_315, of: 2_000, at: 1_033, plus: 333_334)
      }
    }
  }

  @Test func `HB-INV-45 an update that cuts the range under a follow is no frame of it`() throws {
    try expect("HB-INV-45", exercised: 2) { tale in
      followed(&tale, by: 1.333, remaining: 60) { tale in
        tale.snapshot(2, ["agent-reply:a"], at: 1_025)
        tale.frame(1_200, of: 1_885, at: 1_025)
        tale.snapshot(3, ["agent-reply:a", "agent-reply:b"], at: 1_030)
        tale.frame(1_200, of: 2_000, at: 1_030)
        tale.frame(1_201.333, of: 2_000, at: 1_033, plus: 333_334)
      }
    }
  }

  @Test func `HB-INV-45 a ninth settle pass after a scroll to the end is found`() throws {
    func story(_ tale: inout ClaimTale, _ count: Int) {
      tale.mounted()
      tale.scroll("jump", at: 1_000)
      for k in 1...count { tale.pass("follow", k, "moved", at: 1_000 + Int64(k) * 32) }
    }
    try expect("HB-INV-45", exercised: 0) { story(&$0, 2) }
    try expect("HB-INV-45", exercised: 1) { story(&$0, 8) }
    try expect("HB-INV-45", exercised: 1, broken: 1) { story(&$0, 9) }
    try expect("HB-INV-45", exercised: 2) {
      story(&$0, 8); $0.scroll("jump", at: 2_000); for k in 1...8 { $0.pass("follow", k, "moved", at: 3_000) }
    }
  }

  // MARK: Epochs

  private func window(_ ids: [String]) -> String {
    let rows = ids.map { #"{"type":"agent-reply","id":"\#($0)","origin":"canonical"}"# }.joined(separator: ",")
    return #"{"result":{"loadState":{"type":"ready"},"timeline":[\#(rows)],"liveOverlay":{"blocks":[]}}}"#
  }

  @Test func `HB-INV-31 a saved row that leaves within an epoch is found`() throws {
    func story(_ tale: inout ClaimTale, answer: [String], epoch: Bool = false, shown: [(String, String)]) {
      tale.show([("agent-reply:a", "canonical"), ("agent-reply:b", "canonical")], at: 0)
      tale.answer(tale.ask(.load, at: 900), at: 1_000, payload: window(answer))
      tale.loaded(1, at: 1_000)
      if epoch { tale.epoch("window-replaced", at: 1_000) }
      tale.show(shown, at: 1_000)
    }
    let both = [("agent-reply:a", "canonical"), ("agent-reply:b", "canonical"), ("agent-reply:c", "canonical")]
    try expect("HB-INV-31", exercised: 1) { story(&$0, answer: ["b", "c"], shown: both) }
    try expect("HB-INV-31", exercised: 1, broken: 1) { story(&$0, answer: ["b", "c"], shown: Array(both.dropFirst())) }
    try expect("HB-INV-31", exercised: 1, broken: 1) {
      story(&$0, answer: ["b", "c"], shown: [("agent-reply:a", "live")] + both.dropFirst())
    }
    // An answer that has them all cannot lose one, and an epoch replaces them.
    try expect("HB-INV-31", exercised: 0) { story(&$0, answer: ["a", "b", "c"], shown: both) }
    try expect("HB-INV-31", exercised: 0) { story(&$0, answer: ["c"], epoch: true, shown: [("agent-reply:c", "canonical")]) }
    // Another host life, another process.
    try expect("HB-INV-31", exercised: 0) { tale in
      tale.show([("agent-reply:a", "canonical")], at: 0)
      tale.core("host.release", at: 500, ["key": "ses-01"])
      tale.show([("agent-reply:b", "canonical")], at: 1_000)
      tale.world("launch", at: 2_000, ["n": 1])
      tale.show([("agent-reply:c", "canonical")], at: 3_000)
    }
    // A row that became one of a subagent's panel is hidden.
    try expect("HB-INV-31", exercised: 1) { tale in
      tale.show([("agent-reply:a", "canonical"), ("agent-reply:b", "canonical")], at: 0)
      tale.answer(
        tale.ask(.load, at: 900), at: 1_000, payload: #"{"result":{"timeline":[{"type":"agent-reply","id":"b","panel":"subagent"}]}}"#)
      tale.loaded(1, at: 1_000)
      tale.show([("agent-reply:a", "canonical")], at: 1_000)
    }
  }

  @Test func `HB-INV-47 an epoch without one of the three causes is found`() throws {
    func replaced(_ tale: inout ClaimTale, kept: [(String, String)], answer: [String], outcome: String = "applied") {
      tale.show(kept, at: 0)
      tale.answer(tale.ask(.load, at: 900), at: 1_000, payload: window(answer))
      tale.loaded(1, at: 1_000, outcome)
      tale.epoch("window-replaced", at: 1_000)
    }
    let kept = [("agent-reply:a", "canonical"), ("agent-reply:l", "live")]
    try expect("HB-INV-47", exercised: 1) { replaced(&$0, kept: kept, answer: ["c"]) }
    try expect("HB-INV-47", exercised: 1) { replaced(&$0, kept: kept, answer: ["l"]) }
    try expect("HB-INV-47", exercised: 1, broken: 1) { replaced(&$0, kept: kept, answer: ["a", "c"]) }
    try expect("HB-INV-47", exercised: 1, broken: 1) { replaced(&$0, kept: [], answer: ["c"]) }
    try expect("HB-INV-47", exercised: 1, broken: 1) { replaced(&$0, kept: kept, answer: ["c"], outcome: "failed") }
    func fresh(_ tale: inout ClaimTale, kept: [(String, String)] = [], attempt: Int = 1, confirmed: Bool = false) {
      if confirmed {
        tale.answer(tale.ask(.load, at: 0), at: 10, payload: window([]))
        tale.loaded(1, at: 10)
      }
      tale.show(kept, at: 100)
      tale.epoch("unconfirmed-load", at: 1_000)
      tale.load(2, at: 1_000, first: true, attempt: attempt)
    }
    try expect("HB-INV-47", exercised: 1) { fresh(&$0) }
    try expect("HB-INV-47", exercised: 1) { fresh(&$0, kept: [("agent-reply:l", "live")]) }
    try expect("HB-INV-47", exercised: 1, broken: 1) { fresh(&$0, kept: kept) }
    try expect("HB-INV-47", exercised: 1, broken: 1) { fresh(&$0, attempt: 2) }
    try expect("HB-INV-47", exercised: 1, broken: 1) { fresh(&$0, confirmed: true) }
    try expect("HB-INV-47", exercised: 1, broken: 1) { $0.epoch("unconfirmed-load", at: 1_000) }
    func thread(_ tale: inout ClaimTale, from: String, to: String) {
      tale.core("host.activate", at: 0, ["key": .string(from)])
      tale.core("host.activate", at: 1_000, ["key": .string(to)])
      tale.epoch("thread", at: 1_000, host: to)
    }
    try expect("HB-INV-47", exercised: 1) { thread(&$0, from: "ses-01", to: "ses-01/t-1") }
    try expect("HB-INV-47", exercised: 1, broken: 1) { thread(&$0, from: "ses-02", to: "ses-01") }
    try expect("HB-INV-47", exercised: 1, broken: 1) { thread(&$0, from: "ses-01", to: "ses-01") }
    try expect("HB-INV-47", exercised: 1, broken: 1) { $0.epoch("refresh", at: 1_000) }
    try expect("HB-INV-47", exercised: 0) { $0.mounted() }
  }

  /// A valid epoch at 1 s.
  private func replacement(_ tale: inout ClaimTale) {
    tale.answer(tale.ask(.load, at: 900), at: 1_000, payload: window(["c"]))
    tale.loaded(1, at: 1_000)
    tale.epoch("window-replaced", at: 1_000)
  }

  @Test func `HB-INV-47 a restore, a held update or a follow that goes on after an epoch is found`() throws {
    func story(_ tale: inout ClaimTale, before: (inout ClaimTale) -> Void, remounts: Bool, after: (inout ClaimTale) -> Void) {
      tale.mounted()
      before(&tale)
      replacement(&tale)
      if remounts {
        tale.unmount(at: 1_000)
        tale.mounted(["agent-reply:c"], at: 1_000)
      }
      after(&tale)
    }
    let restore: (inout ClaimTale) -> Void = { $0.anchor("record", at: 950) }
    for remounts in [false, true] {
      try expect("HB-INV-47", exercised: 1) {
        story(&$0, before: restore, remounts: remounts) { $0.anchor("end", why: "epoch", at: 1_000) }
      }
      try expect("HB-INV-47", exercised: 1, broken: 1) {
        story(&$0, before: restore, remounts: remounts) { $0.pass("restore", 1, "still", at: 1_010) }
      }
      try expect("HB-INV-47", exercised: 1, broken: 1) {
        story(&$0, before: restore, remounts: remounts) { $0.anchor("end", why: "stable", at: 1_010) }
      }
      try expect("HB-INV-47", exercised: 1) {
        story(&$0, before: restore, remounts: remounts) {
          $0.anchor("record", at: 1_500); $0.pass("restore", 1, "still", at: 1_532)
        }
      }
      try expect("HB-INV-47", exercised: 1, broken: 1) {
        story(&$0, before: { $0.hold(2, at: 950) }, remounts: remounts) { $0.reconfigure(2, at: 1_050, held: true) }
      }
      try expect("HB-INV-47", exercised: 1) {
        story(&$0, before: { $0.hold(2, at: 950) }, remounts: remounts) {
          $0.hold(2, at: 1_100); $0.reconfigure(2, at: 1_150, held: true)
        }
      }
    }
    let follow: (inout ClaimTale) -> Void = {
      $0.scroll("follow", at: 950); $0.frame(100, of: 3_000, at: 950)
    }
    try expect("HB-INV-47", exercised: 1, broken: 1) { story(&$0, before: follow, remounts: false) { $0.frame(120, of: 3_000, at: 1_016) } }
    try expect("HB-INV-47", exercised: 1) {
      story(&$0, before: follow, remounts: false) {
        $0.scroll("rest", at: 1_000); $0.frame(120, of: 3_000, at: 1_016)
      }
    }
    // The reveal of an epoch is at the bottom when its cover lifts: 3,000 − 844 + 159 = 2,315.
    try expect("HB-INV-47", exercised: 1) {
      story(&$0, before: { _ in }, remounts: true) {
        $0.frame(2_314.5, of: 3_000, at: 1_100); $0.cover("lift", at: 1_128)
      }
    }
    try expect("HB-INV-47", exercised: 1, broken: 1) {
      story(&$0, before: { _ in }, remounts: true) {
        $0.frame(2_314.49, of: 3_000, at: 1_100); $0.cover("lift", at: 1_128)
      }
    }
  }

  @Test func `HB-INV-32 a list with a row that stands twice is found`() throws {
    try expect("HB-INV-32", exercised: 2) { $0.mounted(["agent-reply:a", "agent-reply:b"]) }
    try expect("HB-INV-32", exercised: 2, broken: 1) { tale in
      tale.show([("agent-reply:a", "canonical"), ("agent-reply:b", "live")], at: 0)
      tale.mount(at: 0)
      tale.snapshot(1, ["agent-reply:a", "agent-reply:a"], at: 0)
    }
  }
}
