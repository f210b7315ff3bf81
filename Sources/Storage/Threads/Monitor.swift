import Glibc

/// A value behind a lock, with waiting. `Mutex` of the standard library has no condition to wait on.
///
/// Unchecked: the value is touched only between lock and unlock of the one mutex.
package final class Monitor<State>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var state: State

  package init(_ state: sending State) {
    self.state = state
    mutex = .allocate(capacity: 1)
    condition = .allocate(capacity: 1)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    // A step of the wall clock must not lengthen a wait.
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Runs `body` with the value; no other thread is in one at that time. `body` may wait.
  package func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state)
  }

  /// Waits, with the lock given up meanwhile, until `condition` holds or the monotonic instant `deadline` (ns, nil: no end)
  /// has come; then runs `body`. `condition` is asked again after each `notifyAll`.
  package func withLock<Result, Failure: Error>(
    when holds: (State) -> Bool, until deadline: Int64? = nil, _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while !holds(state) {
      if let deadline {
        var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { break }
      } else {
        pthread_cond_wait(condition, mutex)
      }
    }
    return try body(&state)
  }

  /// Wakes all who wait.
  package func notifyAll() { pthread_cond_broadcast(condition) }
}

/// A thread of its own, for work that may block.
package final class WorkerThread {
  private var handle: pthread_t?

  /// Starts `body`; nil when the system gives no thread.
  package init?(_ body: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(Body(run: body))
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
        return nil
      }, box.toOpaque())
    guard code == 0 else {
      box.release()
      return nil
    }
    handle = thread
  }

  deinit { if let handle { pthread_detach(handle) } }

  /// Returns when the work has ended; a second call does nothing.
  package func join() {
    if let handle { pthread_join(handle, nil) }
    handle = nil
  }

  /// Nanoseconds of the monotonic clock.
  package static func monotonicNow() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(run: @escaping @Sendable () -> Void) { self.run = run }
  }
}
