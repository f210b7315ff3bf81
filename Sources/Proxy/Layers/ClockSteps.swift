/// Finds steps of the wall clock: it should run beside the monotonic clock.
package struct ClockSteps: Hashable, Sendable {
  /// Wall minus monotonic, in nanoseconds, as last recorded.
  private var difference: Int64
  /// Smaller differences (50 ms) are the slewing of a time service, and reading two clocks one after the other.
  package static let threshold: Int64 = 50_000_000

  package init(monotonic: Int64, wall: Int64) { difference = wall &- monotonic }

  /// The step since the last one that was told, when it is above the threshold.
  package mutating func step(monotonic: Int64, wall: Int64) -> Int64? {
    let step = (wall &- monotonic) &- difference
    if step.magnitude <= UInt64(ClockSteps.threshold) { return nil }
    difference &+= step
    return step
  }
}
