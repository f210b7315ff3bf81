import Contract
import Simulation

/// Speed of a follow scroll: what remains divided by `time`, within limits (points per second), anew at each frame.
package struct FollowSpeed: Hashable, Sendable {
  package var time: Interval
  package var slowest: Double
  package var fastest: Double

  package init(time: Interval = .milliseconds(1_500), slowest: Double = 80, fastest: Double = 2_200) {
    self.time = time
    self.slowest = slowest
    self.fastest = fastest
  }

  func speed(remaining: Double) -> Double { min(fastest, max(slowest, remaining / time.inSeconds)) }
}

extension Viewport {
  /// What moves the list.
  package enum Motion: Hashable, Sendable {
    case rest
    /// A finger holds the list.
    case dragging(Finger)
    /// The list runs out after a release.
    case decelerating(Glide)
    /// It runs to the bottom on the display link.
    case following(Following)
    /// It runs to an offset at an even speed.
    case animating(Animation)

    /// When the finger lifts.
    var lift: Instant? { if case .dragging(let finger) = self { finger.since + finger.drag.length } else { nil } }

    /// The list has been put elsewhere: a finger on it moves it from there.
    mutating func rebase(to offset: Double, at now: Instant) {
      guard case .dragging(var finger) = self else { return }
      finger.from = offset + finger.y(at: now)
      self = .dragging(finger)
    }
  }

  package struct Finger: Hashable, Sendable {
    package var drag: Drag
    package var since: Instant
    /// Offset at which the finger would be at its place of touch.
    package var from: Double

    func y(at now: Instant) -> Double { drag.y(after: now - since) }
  }

  package struct Glide: Hashable, Sendable {
    /// Of the offset.
    package var velocity: Double
    package var last: Instant
  }

  package struct Following: Hashable, Sendable {
    package var speed: FollowSpeed
    package var last: Instant
  }

  package struct Animation: Hashable, Sendable {
    package var from: Double
    package var to: Double
    package var length: Interval
    package var elapsed: Interval
    package var last: Instant
  }

  /// What a display frame or the due instant brought.
  package enum Happening: Hashable, Sendable {
    /// A drag or a deceleration ended; not signalled when a fault swallowed the stop.
    case stopped(signalled: Bool)
    /// A follow or animated scroll made its last frame.
    case arrived
    /// A visible row finished preparing; a layout pass with the standing pin has run.
    case prepared
  }

  /// Dragging or decelerating ("rest" of the specifications is neither).
  package var isMoving: Bool {
    switch motion {
    case .dragging, .decelerating: true
    case .rest, .following, .animating: false
    }
  }

  /// Following or animating.
  package var isScrolling: Bool {
    switch motion {
    case .following, .animating: true
    case .rest, .dragging, .decelerating: false
    }
  }

  /// Something moves.
  package var wantsFrames: Bool { motion != .rest }

  // MARK: Beginnings

  /// A finger takes the list, whatever it did.
  package mutating func touch(_ drag: Drag, at now: Instant) {
    guard isMounted else { return }
    motion = .dragging(Finger(drag: drag, since: now, from: offset))
    recordScroll("drag")
  }

  /// Runs to the bottom; the last frame says `arrived`. A run under way goes on with this speed. Nothing happens under a finger.
  package mutating func follow(_ speed: FollowSpeed = FollowSpeed(), at now: Instant) {
    guard isMounted else { return }
    switch motion {
    case .dragging: return
    case .following(let run): motion = .following(Following(speed: speed, last: run.last))
    case .rest, .decelerating, .animating:
      motion = .following(Following(speed: speed, last: now))
      recordScroll("follow")
    }
  }

  /// Runs to an offset, of those that the list has now, at an even speed; the last frame says `arrived`. Nothing happens under a finger.
  package mutating func animate(to target: Double, over length: Interval, at now: Instant) {
    guard isMounted else { return }
    if case .dragging = motion { return }
    motion = .animating(Animation(from: offset, to: clamped(target), length: length, elapsed: .zero, last: now))
    recordScroll("animate")
  }

  /// Puts the pin in force at once. Ends every motion but a drag, which goes on from there.
  package mutating func jump(_ pin: Pin, at now: Instant) {
    guard isMounted else { return }
    switch motion {
    case .following, .animating: rest()
    // No stop callback comes of a list that is put elsewhere.
    case .decelerating: rest(signalled: false)
    case .rest, .dragging: break
    }
    recordScroll("jump")
    layout(pin, at: now)
  }

  /// Ends following or animating in place.
  package mutating func stopScrolling(at now: Instant) {
    if isScrolling { rest() }
  }

  private mutating func rest(signalled: Bool = true) {
    motion = .rest
    recordScroll("rest", signalled: signalled)
  }

  // MARK: Steps

  /// The due instant has come: preparations and applies end, the finger lifts.
  package mutating func fired(at now: Instant) -> [Happening] {
    guard isMounted else { return [] }
    var happenings: [Happening] = []
    if endPreparations(at: now) { happenings.append(.prepared) }
    if let until = applyingUntil, until <= now { applyingUntil = nil }
    if case .dragging(let finger) = motion, let lift = motion.lift, lift <= now, let stopped = release(finger, at: lift) {
      happenings.append(stopped)
    }
    return happenings
  }

  /// A display frame.
  package mutating func frame(at now: Instant) -> [Happening] {
    guard isMounted else { return [] }
    var happenings = fired(at: now)
    switch motion {
    case .rest: break
    case .dragging(let finger): move(to: finger.from - finger.y(at: now), at: now)
    case .decelerating(let glide): if let stopped = step(glide, at: now) { happenings.append(stopped) }
    case .following(let run): if step(run, at: now) { happenings.append(.arrived) }
    case .animating(let animation): if step(animation, at: now) { happenings.append(.arrived) }
    }
    return happenings
  }

  /// Puts the list at an offset within the range; a layout pass if that changes it.
  private mutating func move(to target: Double, at now: Instant) {
    let target = clamped(target)
    if target == offset { return }
    offset = target
    layout(.none, at: now)
  }

  private mutating func endPreparations(at now: Instant) -> Bool {
    let ended = preparing.filter { $0.value <= now }
    if ended.isEmpty { return false }
    for id in ended.keys { preparing[id] = nil }
    guard onScreen.contains(where: { ended[ids[$0]] != nil }) else { return false }
    layout(standingPin, at: now)
    return true
  }

  /// Below this a list comes to rest.
  private static let slowest = 10.0
  /// Part of its velocity that a list keeps over a millisecond.
  private static let retention = 0.998

  private mutating func release(_ finger: Finger, at lift: Instant) -> Happening? {
    move(to: finger.from - finger.y(at: lift), at: lift)
    let velocity = -finger.drag.velocity
    guard velocity.magnitude >= Viewport.slowest, !isAtEdge(velocity) else { return stop() }
    motion = .decelerating(Glide(velocity: velocity, last: lift))
    recordScroll("decelerate")
    return nil
  }

  /// Runs on by one step for each whole millisecond of the clock that passed since the last frame.
  private mutating func step(_ glide: Glide, at now: Instant) -> Happening? {
    let from = max(glide.last, now - DisplayLink.longestStep)
    var (velocity, target) = (glide.velocity, offset)
    for _ in 0..<max(0, now.wholeMilliseconds - from.wholeMilliseconds) {
      velocity *= Viewport.retention
      if velocity.magnitude < Viewport.slowest { break }
      target += velocity / 1_000
    }
    move(to: target, at: now)
    if velocity.magnitude < Viewport.slowest || isAtEdge(velocity) { return stop() }
    motion = .decelerating(Glide(velocity: velocity, last: now))
    return nil
  }

  private func isAtEdge(_ velocity: Double) -> Bool { velocity < 0 ? offset <= -device.insetTop : offset >= bottom }

  private mutating func stop() -> Happening {
    let signalled = !losesStop
    losesStop = false
    rest(signalled: signalled)
    return .stopped(signalled: signalled)
  }

  /// A follow scroll has arrived when no more than this remains.
  private static let arrival = 0.01

  private mutating func step(_ run: Following, at now: Instant) -> Bool {
    let remaining = distanceToBottom
    let step = min(run.speed.speed(remaining: remaining) * Viewport.time(from: run.last, to: now).inSeconds, remaining)
    move(to: remaining - step <= Viewport.arrival ? bottom : offset + step, at: now)
    motion = .following(Following(speed: run.speed, last: now))
    if distanceToBottom > Viewport.arrival { return false }
    rest()
    return true
  }

  private mutating func step(_ animation: Animation, at now: Instant) -> Bool {
    var animation = animation
    animation.elapsed = animation.elapsed + Viewport.time(from: animation.last, to: now)
    animation.last = now
    let isLast = animation.elapsed >= animation.length
    let part = isLast ? 1 : animation.elapsed.inSeconds / animation.length.inSeconds
    motion = .animating(animation)
    move(to: animation.from + (animation.to - animation.from) * part, at: now)
    if isLast { rest() }
    return isLast
  }

  /// The time that a frame moves things by: after skipped frames no more than the longest step.
  private static func time(from last: Instant, to now: Instant) -> Interval { max(.zero, min(now - last, DisplayLink.longestStep)) }
}

extension Interval {
  fileprivate var inSeconds: Double { Double(nanoseconds) / 1e9 }
}

extension Instant {
  fileprivate var wholeMilliseconds: Int64 { nanoseconds / 1_000_000 }
}
