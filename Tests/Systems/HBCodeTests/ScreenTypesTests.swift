import ClientKit
import HBCodeCore
import HBCodeDialect
import Simulation
import Testing
import Wire

/// The small types of the screen: throttle, held update (D.8), reveal (D.6), restore (D.7), following, measures (G.2).
@Suite struct ScreenTypesTests {
  private func at(_ milliseconds: Int64) -> Instant { .zero + .milliseconds(milliseconds) }

  // MARK: Throttle

  @Test func `HB-REND-01 live changes render at most every sixth of a second, twice a second while the composer is open`() {
    #expect(RenderThrottle.interval == .nanoseconds(166_666_667))
    #expect(RenderThrottle.slowInterval == .milliseconds(500))
    for interval in [RenderThrottle.interval, RenderThrottle.slowInterval] {
      var throttle = RenderThrottle()
      var renders: [Instant] = []
      for k in 0..<100 {
        let now = at(Int64(k) * 20)
        if let due = throttle.due, due <= now {
          throttle.rendered(at: due)
          renders.append(due)
        }
        if throttle.changed(interval: interval, at: now) == nil {
          throttle.rendered(at: now)
          renders.append(now)
        }
      }
      #expect(zip(renders, renders.dropFirst()).allSatisfy { $1 - $0 >= interval })
      for start in renders {
        let most = interval == RenderThrottle.interval ? 6 : 2
        #expect(renders.count { $0 >= start && $0 < start + .seconds(1) } <= most)
      }
    }
  }

  @Test func `HB-REND-02 a change renders at once or exactly when the interval has passed, and a new interval moves the armed render`() {
    var throttle = RenderThrottle()
    #expect(throttle.changed(interval: RenderThrottle.interval, at: at(0)) == nil)
    throttle.rendered(at: at(0))
    // Just below, at and just above the interval.
    let end = at(0) + RenderThrottle.interval
    var below = throttle
    #expect(below.changed(interval: RenderThrottle.interval, at: end - .nanoseconds(1)) == end)
    var exactly = throttle
    #expect(exactly.changed(interval: RenderThrottle.interval, at: end) == nil)
    var above = throttle
    #expect(above.changed(interval: RenderThrottle.interval, at: end + .nanoseconds(1)) == nil)
    // The composer opens with a render armed: it moves to the last one plus half a second; closes again: not before now.
    #expect(throttle.changed(interval: RenderThrottle.interval, at: at(100)) == end)
    #expect(throttle.intervalChanged(to: RenderThrottle.slowInterval, at: at(120)) == at(500))
    #expect(throttle.intervalChanged(to: RenderThrottle.interval, at: at(400)) == at(400))
    throttle.rendered(at: at(400))
    #expect(throttle.intervalChanged(to: RenderThrottle.slowInterval, at: at(401)) == nil)
  }

  // MARK: Held update

  @Test func `HB-REND-06 only the newest update waits while the list moves`() {
    var held = HeldUpdate()
    #expect(held.rendered(1, changes: true, isBlocked: false) == .apply)
    #expect(held.rendered(2, changes: true, isBlocked: true) == .hold(isFirst: true))
    #expect(held.rendered(3, changes: true, isBlocked: true) == .hold(isFirst: false))
    #expect(held.version == 3)
    #expect(held.release(isBlocked: true) == nil)
    #expect(held.release(isBlocked: false) == 3)
    #expect(held.release(isBlocked: false) == nil)
  }

  @Test func `HB-REND-07 a render at rest applies directly and clears the held one`() {
    #expect(HeldUpdate.checkInterval == .milliseconds(250))
    var held = HeldUpdate()
    #expect(held.rendered(1, changes: true, isBlocked: true) == .hold(isFirst: true))
    #expect(held.rendered(2, changes: false, isBlocked: false) == .apply)
    #expect(held.version == nil)
    held = HeldUpdate()
    #expect(held.rendered(1, changes: true, isBlocked: true) == .hold(isFirst: true))
    held.drop()
    #expect(held.release(isBlocked: false) == nil)
  }

  @Test func `HB-REND-08 a change of rows off screen is not held and does no work`() {
    var held = HeldUpdate()
    #expect(held.rendered(1, changes: false, isBlocked: true) == .nothing)
    #expect(held.rendered(2, changes: false, isBlocked: false) == .nothing)
    #expect(held.version == nil)
  }

  // MARK: Reveal

  private func lift(_ verdicts: [PassVerdict], above: Double = 4_000, canAsk: Bool = false) -> Int? {
    var reveal = Reveal()
    for verdict in verdicts { if reveal.passed(verdict, above: above, canAsk: canAsk) == .lift { return reveal.pass } }
    return nil
  }

  @Test func `HB-REVEAL-01 three still passes lift the cover, two do not`() {
    #expect(lift([.first, .still, .still]) == nil)
    #expect(lift([.first, .still, .still, .still]) == 4)
  }

  @Test func `HB-REVEAL-03 the first pass after a reset never counts`() {
    #expect(lift([.first, .first, .still, .still]) == nil)
    #expect(lift([.waiting, .first, .still, .still, .still]) == 5)
  }

  @Test func `HB-REVEAL-04 a moved pass sets the count to zero and the next one may count`() {
    #expect(lift([.first, .still, .still, .moved, .still, .still]) == nil)
    #expect(lift([.first, .still, .still, .moved, .still, .still, .still]) == 7)
  }

  @Test func `HB-REVEAL-05 a waiting pass resets the count and counts towards the deadline`() {
    #expect(lift([.first, .still, .still, .waiting, .first, .still, .still, .still]) == 8)
    #expect(lift(Array(repeating: .waiting, count: 62)) == nil)
    #expect(lift(Array(repeating: .waiting, count: 63)) == 63)
  }

  @Test func `HB-REVEAL-07 pass 63 lifts although the layout moves at every pass`() {
    #expect(lift([.first] + Array(repeating: .moved, count: 61)) == nil)
    #expect(lift([.first] + Array(repeating: .moved, count: 62)) == 63)
  }

  @Test func `HB-FIG-02 1,800 pt above the screen asks for a page, 1,800.1 does not`() {
    func decision(_ above: Double, canAsk: Bool = true) -> Reveal.Decision {
      var reveal = Reveal()
      for verdict in [PassVerdict.first, .still, .still] { _ = reveal.passed(verdict, above: above, canAsk: canAsk) }
      return reveal.passed(.still, above: above, canAsk: canAsk)
    }
    #expect(decision(1_799.9) == .requestPage)
    #expect(decision(1_800) == .requestPage)
    #expect(decision(1_800.1) == .lift)
    #expect(decision(0, canAsk: false) == .lift)
  }

  @Test func `HB-REVEAL-06 at most two pages, none after one that failed`() {
    var reveal = Reveal()
    func settle(_ reveal: inout Reveal) -> Reveal.Decision {
      for verdict in [PassVerdict.first, .still, .still] { _ = reveal.passed(verdict, above: 0, canAsk: true) }
      return reveal.passed(.still, above: 0, canAsk: true)
    }
    #expect(settle(&reveal) == .requestPage)
    #expect(reveal.waits(isPreparing: false, isApplying: false))
    reveal.pageEnded(isFailure: false)
    #expect(!reveal.waits(isPreparing: false, isApplying: false))
    #expect(settle(&reveal) == .requestPage)
    reveal.pageEnded(isFailure: false)
    #expect(settle(&reveal) == .lift)
    #expect(reveal.pages == 2)

    var failing = Reveal()
    #expect(settle(&failing) == .requestPage)
    failing.pageEnded(isFailure: true)
    #expect(settle(&failing) == .lift)
  }

  // MARK: Restore

  @Test func `HB-OLDER-05 two stable passes end a restore, or eight; half a point is stable, more is not`() {
    func passes(_ drifts: [Double], heights: [Double] = []) -> Int? {
      var restore = OlderRestore(.init(id: "r", y: 0), contentHeight: 100, at: .zero)
      for (index, drift) in drifts.enumerated() {
        if restore.passed(drift: drift, contentHeight: heights.indices.contains(index) ? heights[index] : 100).isOver {
          return restore.pass
        }
      }
      return nil
    }
    #expect(OlderRestore.passInterval == .milliseconds(32))
    #expect(passes([0]) == nil)
    #expect(passes([0.5, -0.5]) == 2)
    #expect(passes([0.51, 0, 0]) == 3)
    #expect(passes([0, 0, 0], heights: [100, 100.51, 100.51]) == nil)
    #expect(passes([0, 0, 0, 0], heights: [100, 100.51, 100.51, 100.51]) == 4)
    #expect(passes([0, 0], heights: [100.5, 101]) == 2)
    #expect(passes(Array(repeating: 9, count: 7)) == nil)
    #expect(passes(Array(repeating: 9, count: 8)) == 8)
  }

  @Test func `HB-OLDER-04 live rows are held for one and a half seconds at most`() {
    #expect(OlderRestore.longestHold == .milliseconds(1_500))
    var restore = OlderRestore(.init(id: "r", y: 0), contentHeight: 100, at: .zero)
    #expect(restore.holdsLive)
    restore.releaseLive()
    #expect(!restore.holdsLive)
  }

  // MARK: Following

  @Test func `HB-FOLLOW-03 settle passes end after two stable ones or eight: within 1 pt of the bottom and 0.5 pt of height`() {
    func passes(_ found: [(Double, Double)]) -> Int? {
      var following = Following()
      _ = following.scrolled(isAnimated: false, contentHeight: 100)
      for (index, pass) in found.enumerated() where following.passed(distance: pass.0, contentHeight: pass.1).isOver { return index + 1 }
      return nil
    }
    #expect(passes([(1, 100), (1, 100)]) == 2)
    #expect(passes([(1.01, 100), (0, 100)]) == nil)
    #expect(passes([(0, 100.5), (0, 101)]) == 2)
    #expect(passes([(0, 100.51), (0, 100.51)]) == nil)
    #expect(passes(Array(repeating: (9, 100), count: 8)) == 8)
  }

  @Test func `HB-FOLLOW-04 the first pass compares with the height at the end of the scroll and comes 350 ms after an animated one`() {
    var following = Following()
    #expect(following.scrolled(isAnimated: true, contentHeight: 100) == .milliseconds(350))
    #expect(!following.passed(distance: 0, contentHeight: 101).isStable)
    #expect(following.passed(distance: 0, contentHeight: 101).isStable)
    #expect(following.scrolled(isAnimated: false, contentHeight: 100) == .milliseconds(32))
    #expect(following.nextPass == 1)
  }

  // MARK: Measures

  @Test func `HB-REND-09 rows measure by their kind and lines: 38 scalars fill one line, 39 two`() {
    #expect(RowMeasure.height(.user, isMessage: false, text: "") == 44)
    #expect(RowMeasure.height(.user, isMessage: false, text: String(repeating: "x", count: 38)) == 44)
    #expect(RowMeasure.height(.user, isMessage: false, text: String(repeating: "x", count: 39)) == 64)
    #expect(RowMeasure.height(.agentReply, isMessage: false, text: "a\n\nb") == 16 + 66)
    #expect(RowMeasure.height(.system, isMessage: false, text: "a") == 38)
    #expect(RowMeasure.height(.activity, isMessage: false, text: "a\nb") == 44)
    #expect(RowMeasure.height(.activity, isMessage: true, text: "a\nb") == 44 + 44)
  }

  @Test func `heights of a recording hold for an item and its text, and bad ones are refused with their place`() throws {
    let measure = try RowMeasure(
      json: [
        "markdownMs": 90, "applyMs": 20, "reduceMotion": true,
        "heights": [["id": "user:u", "height": .double(60.5)], ["id": "user:u", "text": "two", "height": 70]],
      ])
    #expect(measure.height(of: "user:u", text: "one") == 60.5)
    #expect(measure.height(of: "user:u", text: "two") == 70)
    #expect(measure.height(of: "user:v", text: "two") == nil)
    #expect(measure.preparation == .milliseconds(90))
    #expect(measure.applying == .milliseconds(20))
    #expect(measure.reduceMotion)
    for (json, path) in [
      (["heights": [["id": "", "height": 1]]], "screen.heights[0]"), (["heights": [["id": "a", "height": -1]]], "screen.heights[0]"),
      (["markdownMs": -1], "screen.markdownMs"), (["applyMs": .double(1.5)], "screen.applyMs"),
    ] as [(JSON, String)] {
      #expect { try RowMeasure(json: json) } throws: { ($0 as? JSONError)?.path == path }
    }
  }
}
