import ClientKit
import Simulation

/// Whether the list follows its end, and the settle passes after a scroll to it (HB-FOLLOW).
package struct Following: Hashable, Sendable {
  /// Settle passes after a jump, and between two of them (HB-FOLLOW-03 [seed]).
  package static let passInterval = Interval.milliseconds(32)
  /// From the last frame of an animated scroll to its first pass (HB-FOLLOW-03 [seed], -04).
  package static let afterAnimation = Interval.milliseconds(350)
  package static let stablePasses = 2
  package static let mostPasses = 8
  /// Points from the bottom within which the end of a drag turns following on (HB-FOLLOW-05).
  package static let nearBottom = 40.0
  /// The remaining distance in 1.5 s, within 80 and 2,200 points a second (HB-FOLLOW-01 [seed]).
  package static let speed = FollowSpeed(time: .milliseconds(1_500), slowest: 80, fastest: 2_200)

  private struct Settle: Hashable, Sendable {
    var pass = 0
    var stable = 0
    var contentHeight: Double
  }

  package var isOn = true
  private var settle: Settle?

  package init() {}

  /// Settle passes are under way.
  package var isSettling: Bool { settle != nil }
  /// The number of the coming pass.
  package var nextPass: Int { (settle?.pass ?? 0) + 1 }

  /// A scroll to the bottom ended; `contentHeight` is that of its end. Returns how long after it the first pass comes.
  package mutating func scrolled(isAnimated: Bool, contentHeight: Double) -> Interval {
    settle = Settle(contentHeight: contentHeight)
    return isAnimated ? Following.afterAnimation : Following.passInterval
  }

  /// A pass found the list this far from the bottom and the content this high. An unstable one has the offset set to the bottom.
  package mutating func passed(distance: Double, contentHeight: Double) -> (isStable: Bool, isOver: Bool) {
    guard var state = settle else { return (true, true) }
    state.pass += 1
    let isStable = distance.magnitude <= 1 && (contentHeight - state.contentHeight).magnitude <= 0.5
    state.contentHeight = contentHeight
    state.stable = isStable ? state.stable + 1 : 0
    let isOver = state.stable == Following.stablePasses || state.pass == Following.mostPasses
    settle = isOver ? nil : state
    return (isStable, isOver)
  }

  /// Something else moves the list: no more passes.
  package mutating func stopSettling() { settle = nil }
}
