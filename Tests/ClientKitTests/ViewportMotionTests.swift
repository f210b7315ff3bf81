import ClientKit
import Contract
import Simulation
import Testing

@Suite struct ViewportMotionTests {
  // MARK: Drag

  @Test func `a finger moves the list one to one, at display frames and at its lift`() {
    var screen = Screen(100)
    screen.scroll(to: 1_000)
    screen.view.touch(drag(-240, in: 100), at: screen.now)
    #expect(screen.view.isMoving && screen.view.wantsFrames && !screen.view.isScrolling)
    #expect(screen.view.due == milliseconds(100))
    #expect(screen.frame(after: .milliseconds(50)).isEmpty)
    #expect(screen.view.offset == 1_120)
    #expect(screen.fire(at: 100) == [.stopped(signalled: true)])
    #expect(screen.view.offset == 1_240 && !screen.view.isMoving && !screen.view.wantsFrames && screen.view.due == nil)
  }

  @Test func `a finger is clamped to the range and takes the list back from where it is`() {
    var screen = Screen(100)
    screen.scroll(to: 50)
    // 200 pt down and 150 up again: the list stands at its top while the finger is below 97.
    let places: [Drag.Place] = [.init(after: .milliseconds(100), y: 200), .init(after: .milliseconds(200), y: 50)]
    screen.view.touch(Drag(path: places), at: screen.now)
    _ = screen.frame(after: .milliseconds(100))
    #expect(screen.view.offset == -47)
    _ = screen.fire(at: 200)
    #expect(screen.view.offset == 0)
    screen.view.touch(drag(-90_000, in: 100), at: screen.now)
    _ = screen.fire(at: 300)
    #expect(screen.view.distanceToBottom == 0)
  }

  @Test func `a held finger keeps the list moving until it lifts, without a change of geometry`() {
    var screen = Screen(100)
    screen.scroll(to: 1_000)
    screen.view.touch(drag(-100, in: 200, held: 1_300), at: screen.now)
    _ = screen.frame(after: .milliseconds(200))
    _ = screen.lines()
    #expect(screen.view.due == milliseconds(1_500))
    for _ in 0..<70 { #expect(screen.frame().isEmpty) }
    #expect(screen.view.isMoving && screen.view.offset == 1_100)
    #expect(screen.lines().isEmpty)
    #expect(screen.view.fired(at: Instant(nanoseconds: 1_499_999_999)).isEmpty && screen.view.isMoving)
    #expect(screen.fire(at: 1_500) == [.stopped(signalled: true)])
    #expect(screen.lines() == [#"scroll {"state":"rest"}"#])
  }

  @Test func `rows that a finger brings into sight are measured without moving the offset`() {
    var screen = Screen(100, height: 60)
    screen.scroll(to: 3_000)
    screen.view.touch(drag(500, in: 100), at: screen.now)
    _ = screen.fire(at: 100)
    #expect(screen.view.offset == 2_500)
    #expect(screen.view.visible.allSatisfy { $0.height == 60 })
  }

  @Test func `a frame after the lift that nobody fired for handles the lift first`() {
    var screen = Screen(100)
    screen.scroll(to: 1_000)
    screen.view.touch(drag(-100, in: 10), at: screen.now)
    #expect(screen.frame() == [.stopped(signalled: true)])
    #expect(screen.view.offset == 1_100)
  }

  @Test func `a pin under a finger moves the list, which the finger goes on with`() {
    var screen = Screen(100)
    screen.scroll(to: 1_000)
    screen.view.touch(drag(-200, in: 200), at: screen.now)
    _ = screen.frame(after: .milliseconds(100))
    #expect(screen.view.offset == 1_100)
    screen.view.jump(.row("r50", y: 0), at: screen.now)
    #expect(screen.view.offset == 4_000 && screen.view.isMoving)
    _ = screen.fire(at: 200)
    #expect(screen.view.offset == 4_100)
  }

  // MARK: Deceleration

  @Test(arguments: [(9.99, false), (10, true), (-10, true), (-9.99, false)])
  func `a release at 10 points per second or more runs out, a slower one rests at the lift`(velocity: Double, runs: Bool) {
    var screen = Screen(100)
    screen.scroll(to: 1_000)
    screen.view.touch(drag(-100, in: 100, velocity: velocity), at: screen.now)
    #expect(screen.fire(at: 100) == (runs ? [] : [.stopped(signalled: true)]))
    #expect(screen.view.isMoving == runs)
  }

  @Test func `a list that runs out steps at each whole millisecond of the clock`() {
    var screen = Screen(1_000)
    screen.scroll(to: 1_000)
    // Content goes up when the finger does: the offset grows.
    screen.view.touch(drag(-100, in: 100, velocity: -1_000), at: screen.now)
    _ = screen.fire(at: 100)
    #expect(screen.view.offset == 1_100)
    screen.now = Instant(nanoseconds: 100_999_999)
    #expect(screen.view.frame(at: screen.now).isEmpty)
    #expect(screen.view.offset == 1_100)
    screen.now = milliseconds(101)
    _ = screen.view.frame(at: screen.now)
    #expect(screen.view.offset == 1_100 + 0.998)
    screen.now = Instant(nanoseconds: 103_500_000)
    _ = screen.view.frame(at: screen.now)
    #expect(abs(screen.view.offset - (1_100 + 0.998 + 0.998 * 0.998 + 0.998 * 0.998 * 0.998)) < 1e-9)
  }

  @Test func `a list that runs out ends below 10 points per second, wherever the frames are`() {
    // 0.998^k × 500 < 10 first at k = 1,955; the distance is the sum of the steps before.
    var expected = 0.0
    var velocity = 500.0
    var steps: Int64 = 0
    while true {
      velocity *= 0.998
      steps += 1
      if velocity < 10 { break }
      expected += velocity / 1_000
    }
    #expect(steps == 1_955)
    for frame in [Interval.milliseconds(1), DisplayLink.frame, .milliseconds(40)] {
      var screen = Screen(1_000)
      screen.scroll(to: 1_000)
      screen.view.touch(drag(-1, in: 100, velocity: -500), at: screen.now)
      _ = screen.fire(at: 100)
      var last: [Viewport.Happening] = []
      while screen.view.wantsFrames { last = screen.frame(after: frame) }
      #expect(last == [.stopped(signalled: true)])
      #expect(abs(screen.view.offset - 1_001 - expected) < 1e-6)
      #expect(screen.now >= milliseconds(100 + steps) && screen.now - frame < milliseconds(100 + steps))
    }
  }

  @Test func `a list that runs out ends at an edge`() {
    var screen = Screen(100)
    screen.scroll(to: 200)
    screen.view.touch(drag(100, in: 100, velocity: 3_000), at: screen.now)
    _ = screen.fire(at: 100)
    _ = screen.lines()
    #expect(screen.run() < 10)
    #expect(screen.view.offset == -47)
    #expect(screen.lines("scroll") == [#"{"state":"rest"}"#])
    // At the edge already: rest at the lift.
    screen.view.touch(drag(1, in: 1, velocity: 3_000), at: screen.now)
    screen.now = screen.now + .milliseconds(1)
    #expect(screen.view.fired(at: screen.now) == [.stopped(signalled: true)])
    #expect(screen.lines("scroll") == [#"{"state":"drag"}"#, #"{"state":"rest"}"#])
  }

  @Test func `after skipped frames a list that runs out moves by 50 milliseconds`() {
    func distance(after time: Interval) -> Double {
      var screen = Screen(1_000)
      screen.scroll(to: 1_000)
      screen.view.touch(drag(0, in: 100, velocity: -1_000), at: screen.now)
      _ = screen.fire(at: 100)
      _ = screen.frame(after: time)
      return screen.view.offset - 1_000
    }
    #expect(distance(after: .milliseconds(49)) < distance(after: .milliseconds(50)))
    #expect(distance(after: .milliseconds(51)) == distance(after: .milliseconds(50)))
    #expect(distance(after: .seconds(3_600)) == distance(after: .milliseconds(50)))
  }

  @Test func `a touch stops a list that runs out: no stop is said in between`() {
    var screen = Screen(1_000)
    screen.scroll(to: 1_000)
    _ = screen.lines()
    screen.view.touch(drag(-100, in: 100, velocity: -1_000), at: screen.now)
    _ = screen.fire(at: 100)
    _ = screen.frame()
    let offset = screen.view.offset
    screen.view.touch(drag(0, in: 500), at: screen.now)
    _ = screen.frame()
    #expect(screen.view.offset == offset)
    #expect(screen.lines("scroll") == ["drag", "decelerate", "drag"].map { #"{"state":"\#($0)"}"# })
  }

  @Test func `a lost stop signal is lost once`() {
    var screen = Screen(100)
    _ = screen.lines()
    screen.view.take(.loseStop)
    screen.view.follow(at: screen.now)
    _ = screen.run()
    screen.view.touch(drag(0, in: 100), at: screen.now)
    screen.now = screen.now + .milliseconds(100)
    #expect(screen.view.fired(at: screen.now) == [.stopped(signalled: false)])
    #expect(!screen.view.isMoving)
    screen.view.touch(drag(0, in: 100), at: screen.now)
    screen.now = screen.now + .milliseconds(100)
    #expect(screen.view.fired(at: screen.now) == [.stopped(signalled: true)])
    #expect(
      screen.lines("scroll") == [
        #"{"state":"follow"}"#, #"{"state":"rest"}"#, #"{"state":"drag"}"#, #"{"state":"rest","signalled":false}"#, #"{"state":"drag"}"#,
        #"{"state":"rest"}"#,
      ])
  }

  // MARK: Follow

  private func following(_ distance: Double) -> Screen {
    var screen = Screen(500)
    screen.view.jump(.bottom, at: screen.now)
    screen.scroll(to: screen.view.offset - distance)
    screen.view.follow(at: screen.now)
    return screen
  }

  @Test(arguments: [(60.0, 45), (120, 90), (300, 173), (600, 235), (1_200, 297), (3_300, 387), (10_000, 570)])
  func `HB-FIG-07 following takes the frames of the table`(distance: Double, frames: Int) {
    var screen = following(distance)
    #expect(screen.view.isScrolling && !screen.view.isMoving && screen.view.distanceToBottom == distance)
    #expect(abs(screen.run() - frames) <= 1)
    #expect(screen.view.distanceToBottom == 0)
  }

  @Test func `HB-FIG-07 following 600 points leaves 593.33, 586.74 and 580.22 after its first frames`() {
    var screen = following(600)
    for remaining in [593.33, 586.74, 580.22] {
      #expect(screen.frame().isEmpty)
      #expect(abs(screen.view.distanceToBottom - remaining) <= 0.005)
    }
  }

  @Test func `HB-FOLLOW-01 the speed is the rest through 1.5 s, from 80 to 2,200 points per second`() {
    for (distance, speed) in [(60.0, 80.0), (119.9, 80), (120, 80), (121.5, 81), (3_298.5, 2_199), (3_300, 2_200), (3_310, 2_200)] {
      var screen = following(distance)
      _ = screen.frame(after: .milliseconds(10))
      #expect(abs(distance - screen.view.distanceToBottom - speed / 100) < 1e-9)
    }
  }

  @Test func `following makes steps of at most 50 milliseconds`() {
    for (time, moved) in [(49, 49), (50, 50), (51, 50), (10_000, 50)] as [(Int64, Double)] {
      var screen = following(1_500)
      _ = screen.frame(after: .milliseconds(time))
      #expect(abs(1_500 - screen.view.distanceToBottom - moved) < 1e-9)
      // The step after it is an ordinary one.
      let before = screen.view.distanceToBottom
      _ = screen.frame(after: .milliseconds(30))
      #expect(abs(before - screen.view.distanceToBottom - before / 1.5 * 0.03) < 1e-9)
    }
  }

  @Test func `a follow scroll arrives at the frame that leaves a hundredth of a point or less`() {
    // 80 pt/s × 10 ms = 0.8 pt.
    for (distance, arrives) in [(0, true), (0.8, true), (0.81, true), (0.811, false)] {
      var screen = following(distance)
      #expect(screen.frame(after: .milliseconds(10)) == (arrives ? [.arrived] : []))
      #expect(screen.view.isScrolling != arrives)
      if arrives { #expect(screen.view.distanceToBottom == 0) }
    }
  }

  @Test func `a follow scroll goes on when what it brings into sight is higher`() {
    var screen = Screen(20, height: 100)
    screen.scroll(to: 0)
    screen.view.follow(at: screen.now)
    _ = screen.run()
    #expect(screen.view.contentHeight == 2_000 && screen.view.distanceToBottom == 0)
    screen.apply(Screen.cells(20, height: 100) + (0..<4).map { Cell(id: "new\($0)", content: "", height: 144) }, .none)
    // The inset at the bottom shows two of them at once.
    #expect(screen.view.distanceToBottom == 2 * 144 + 2 * 80)
    screen.view.follow(at: screen.now)
    _ = screen.run()
    #expect(screen.view.distanceToBottom == 0 && screen.view.contentHeight == 2_000 + 4 * 144)
  }

  @Test func `a second follow changes the speed and starts no other run`() {
    var screen = following(600)
    _ = screen.frame(after: .milliseconds(10))
    let before = screen.view.distanceToBottom
    screen.view.follow(FollowSpeed(time: .seconds(1), slowest: 1_000, fastest: 1_000), at: screen.now + .milliseconds(5))
    _ = screen.frame(after: .milliseconds(10))
    #expect(abs(before - screen.view.distanceToBottom - 10) < 1e-9)
    #expect(screen.lines("scroll").filter { $0.contains("follow") }.count == 1)
  }

  // MARK: Other scrolls

  @Test func `an animated scroll moves evenly and arrives with its last frame`() {
    var screen = Screen(100)
    screen.scroll(to: 953)
    _ = screen.lines()
    screen.view.animate(to: -47, over: .milliseconds(100), at: screen.now)
    #expect(screen.view.isScrolling && !screen.view.isMoving)
    for offset in [653.0, 353, 53] {
      #expect(screen.frame(after: .milliseconds(30)).isEmpty)
      #expect(abs(screen.view.offset - offset) < 1e-9)
    }
    #expect(screen.frame(after: .milliseconds(30)) == [.arrived])
    #expect(screen.view.offset == -47 && !screen.view.wantsFrames)
    #expect(screen.lines("scroll") == [#"{"state":"animate"}"#, #"{"state":"rest"}"#])
  }

  @Test func `an animated scroll ends within the range, makes steps of at most 50 milliseconds and may take no time`() {
    var screen = Screen(100)
    screen.view.animate(to: 1e9, over: .milliseconds(100), at: screen.now)
    let half = (screen.view.bottom - 47) / 2
    #expect(screen.frame(after: .seconds(9)).isEmpty)
    #expect(abs(screen.view.offset - half) < 1e-6)
    #expect(screen.frame(after: .milliseconds(50)) == [.arrived])
    #expect(screen.view.distanceToBottom == 0)
    screen.view.animate(to: 0, over: .zero, at: screen.now)
    #expect(screen.frame() == [.arrived])
    #expect(screen.view.offset == 0)
  }

  @Test func `a jump is a moment; it ends every scroll, and a deceleration without a signal`() {
    var screen = Screen(1_000)
    _ = screen.lines()
    screen.view.jump(.bottom, at: screen.now)
    #expect(screen.view.distanceToBottom == 0 && screen.lines("scroll") == [#"{"state":"jump"}"#])
    screen.view.animate(to: 0, over: .seconds(1), at: screen.now)
    screen.view.jump(.bottom, at: screen.now)
    #expect(!screen.view.wantsFrames)
    #expect(screen.lines("scroll") == [#"{"state":"animate"}"#, #"{"state":"rest"}"#, #"{"state":"jump"}"#])
    screen.view.touch(drag(500, in: 1, velocity: 500), at: screen.now)
    _ = screen.fire(at: 1)
    screen.view.jump(.bottom, at: screen.now)
    #expect(!screen.view.isMoving)
    #expect(
      screen.lines("scroll") == [
        #"{"state":"drag"}"#, #"{"state":"decelerate"}"#, #"{"state":"rest","signalled":false}"#, #"{"state":"jump"}"#,
      ])
  }

  @Test func `scrolls end in place when they are stopped, and do not begin under a finger`() {
    var screen = following(600)
    _ = screen.frame()
    let offset = screen.view.offset
    _ = screen.lines()
    screen.view.stopScrolling(at: screen.now)
    screen.view.stopScrolling(at: screen.now)
    #expect(screen.view.motion == .rest && screen.view.offset == offset)
    #expect(screen.lines() == [#"scroll {"state":"rest"}"#])
    screen.view.touch(drag(0, in: 1_000), at: screen.now)
    screen.view.follow(at: screen.now)
    screen.view.animate(to: 0, over: .seconds(1), at: screen.now)
    screen.view.stopScrolling(at: screen.now)
    #expect(screen.view.isMoving)
    #expect(screen.lines() == [#"scroll {"state":"drag"}"#])
  }

  @Test func `a scroll takes over from another without a rest`() {
    var screen = following(600)
    _ = screen.lines()
    screen.view.animate(to: -47, over: .seconds(1), at: screen.now)
    screen.view.follow(at: screen.now)
    screen.view.touch(drag(0, in: 10), at: screen.now)
    #expect(screen.lines("scroll") == ["animate", "follow", "drag"].map { #"{"state":"\#($0)"}"# })
  }

  @Test func `motion ends with an unmount, and an unmounted view does nothing`() {
    var screen = following(600)
    _ = screen.lines()
    screen.view.unmount(at: screen.now)
    screen.view.unmount(at: screen.now)
    #expect(!screen.view.wantsFrames && screen.view.due == nil)
    screen.apply(Screen.cells(5), .bottom)
    screen.reconfigure(["r0"], of: Screen.cells(5), .bottom)
    screen.view.touch(drag(0, in: 10), at: screen.now)
    screen.view.follow(at: screen.now)
    screen.view.animate(to: 0, over: .seconds(1), at: screen.now)
    screen.view.jump(.bottom, at: screen.now)
    screen.view.settle(pin: .bottom, at: screen.now)
    #expect(screen.frame().isEmpty && screen.view.motion == .rest && screen.view.ids.isEmpty)
    #expect(screen.lines() == ["unmount"])
  }
}
