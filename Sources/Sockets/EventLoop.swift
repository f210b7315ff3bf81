import CEvent
import Glibc
import Simulation

/// One libevent loop: timers, signals, listeners and connections of one thread.
///
/// Nothing here may be used from another thread. Making a loop ignores SIGPIPE for the process: a peer that went away is an
/// error of its connection, not the end of the program.
package final class EventLoop {
  let base: OpaquePointer

  package init() throws(SocketError) {
    signal(SIGPIPE, SIG_IGN)
    guard let configuration = event_config_new() else { throw .noResources("no memory for an event loop") }
    defer { event_config_free(configuration) }
    // Microsecond timers, and no cached time: a timer armed late in a long callback counts from then.
    for flag in [EVENT_BASE_FLAG_NOLOCK, EVENT_BASE_FLAG_PRECISE_TIMER, EVENT_BASE_FLAG_NO_CACHE_TIME] {
      event_config_set_flag(configuration, Int32(bitPattern: flag.rawValue))
    }
    guard let base = event_base_new_with_config(configuration) else { throw .noResources("no event loop") }
    self.base = base
  }

  deinit { event_base_free(base) }

  /// Runs callbacks until `stop()`.
  package func run() { _ = event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) }

  /// Runs callbacks until `isDone` says so; it is asked after each round of callbacks.
  package func run(until isDone: () -> Bool) {
    while !isDone() { _ = event_base_loop(base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY) }
  }

  /// Ends `run()` after the callback that runs now.
  package func stop() { event_base_loopbreak(base) }

  /// Nanoseconds on the clock that never steps.
  package static var monotonicNanoseconds: Int64 { nanoseconds(CLOCK_MONOTONIC) }

  /// Nanoseconds since 1970 as the machine shows them.
  package static var wallClockNanoseconds: Int64 { nanoseconds(CLOCK_REALTIME) }

  private static func nanoseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  /// A timer that is not armed yet. It lives as long as it is held.
  package func timer(_ action: @escaping () -> Void) throws(SocketError) -> LoopTimer { try LoopTimer(self, action) }

  /// Calls `action` with the number of each signal that arrives; while it is held, the signals do nothing else. One loop of a process
  /// can watch signals.
  package func watch(signals: [Int32], _ action: @escaping (Int32) -> Void) throws(SocketError) -> SignalWatch {
    try SignalWatch(self, signals, action)
  }
}

/// The clock of a run or a recording on real time: instants since its start.
package struct RunClock: Hashable, Sendable {
  /// Monotonic nanoseconds at t = 0.
  package let start: Int64
  /// Nanoseconds since 1970 at t = 0.
  package let wallClockAtStart: Int64

  /// A clock whose t = 0 is now.
  package init() {
    start = EventLoop.monotonicNanoseconds
    wallClockAtStart = EventLoop.wallClockNanoseconds
  }

  package var now: Instant { Instant(nanoseconds: EventLoop.monotonicNanoseconds - start) }
}

/// A one-shot timer of a loop. Never fires early.
package final class LoopTimer {
  private let loop: EventLoop
  private var event: OpaquePointer?
  private var action: () -> Void
  private var dueAt: Int64 = 0

  init(_ loop: EventLoop, _ action: @escaping () -> Void) throws(SocketError) {
    self.loop = loop
    self.action = action
    let callback: event_callback_fn = { _, _, context in
      guard let context else { return }
      Unmanaged<LoopTimer>.fromOpaque(context).takeUnretainedValue().fired()
    }
    event = event_new(loop.base, -1, 0, callback, Unmanaged.passUnretained(self).toOpaque())
    if event == nil { throw .noResources("no timer") }
  }

  deinit { if let event { event_free(event) } }

  /// Fires once after `delay` (at once when it is not positive), instead of any earlier arming.
  package func arm(after delay: Interval) {
    dueAt = EventLoop.monotonicNanoseconds &+ max(0, delay.nanoseconds)
    schedule()
  }

  package func disarm() { if let event { event_del(event) } }

  private func schedule() {
    // Rounded up to the microsecond of timeval.
    let wait = max(0, dueAt &- EventLoop.monotonicNanoseconds)
    let microseconds = wait / 1_000 + (wait % 1_000 == 0 ? 0 : 1)
    var time = timeval(tv_sec: Int(microseconds / 1_000_000), tv_usec: Int(microseconds % 1_000_000))
    event_add(event, &time)
  }

  private func fired() {
    if EventLoop.monotonicNanoseconds < dueAt { schedule() } else { action() }
  }
}

/// Watches signals on a loop until it is released.
package final class SignalWatch {
  private let loop: EventLoop
  private var events: [OpaquePointer] = []
  private let action: (Int32) -> Void

  init(_ loop: EventLoop, _ signals: [Int32], _ action: @escaping (Int32) -> Void) throws(SocketError) {
    self.loop = loop
    self.action = action
    let callback: event_callback_fn = { number, _, context in
      guard let context else { return }
      Unmanaged<SignalWatch>.fromOpaque(context).takeUnretainedValue().action(number)
    }
    for number in signals {
      let kinds = Int16(EV_SIGNAL | EV_PERSIST)
      guard let event = event_new(loop.base, number, kinds, callback, Unmanaged.passUnretained(self).toOpaque()) else {
        throw .noResources("no watch for signal \(number)")
      }
      event_add(event, nil)
      events.append(event)
    }
  }

  deinit { for event in events { event_free(event) } }
}

/// The system's words for an error number.
func systemMessage(_ code: Int32) -> String { String(cString: strerror(code)) }
