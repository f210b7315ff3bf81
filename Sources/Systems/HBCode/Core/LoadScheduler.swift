import Simulation

/// What must still be true for an answer to be applied (HB-LOAD-03): compared as a whole.
package struct Fence: Hashable, Sendable {
  /// Number of the operation, unique in one life of the app.
  package var operation: Int
  /// Goes up with each change of the target: thread or anchor.
  package var target: Int
  /// Goes up with each activation of the host.
  package var activation: Int
}

/// Why a latest window is loaded (HB-LOAD-04, -05).
package enum LoadReason: String, Hashable, Sendable, CaseIterable {
  case first
  case selected
  case retry
  case runEnded = "run-ended"
  case recovered
  case foreground
  case desktop
  case refresh
  case updated
  case gap
  case epoch
  case invalidEvent = "invalid-event"
  case lease
  case periodic
}

/// The latest-window scheduler of one host (spec D.3): at most one active operation and one pending request.
///
/// It decides what may start and when; the owner sends the frames, tells it what became of them and wakes it at `wake`.
package struct LoadScheduler: Hashable, Sendable {
  /// Attempts of a first load in all (HB-LOAD-11 [seed]).
  package static let firstLoadAttempts = 4
  /// First wait of the retries; doubles each time (HB-LOAD-12 [seed]).
  package static let firstRetryWait = Interval.milliseconds(750)
  /// No retry waits longer (HB-LOAD-12 [seed]).
  package static let longestRetryWait = Interval.seconds(3)
  /// Band of u in the waits of retries (HB-LOAD-12).
  package static let retryJitter = -0.2...0.2
  /// Least time between two starts of the same chat (HB-LOAD-13 [seed]).
  package static let startSpacing = Interval.seconds(2)

  /// A request that waits, with everything that asked for it (HB-LOAD-02).
  package struct Request: Hashable, Sendable {
    package var reasons: [LoadReason]
    /// Loads of a new target do not wait for the 2 s (HB-LOAD-13).
    var isExempt = false
  }

  /// A load in flight.
  package struct Operation: Hashable, Sendable {
    package var fence: Fence
    package var reasons: [LoadReason]
    package var isFirst: Bool
    /// From 1; above 1 for retries of a first load.
    package var attempt: Int
    package var startedAt: Instant
  }

  package enum Phase: Hashable, Sendable {
    case parked
    case idle
    case pending(Request)
    case active(Operation, then: Request?)
    /// Attempt `attempt` starts when its wait is over and the desktop can take a request.
    case retryWait(attempt: Int, due: Instant, reasons: [LoadReason])
  }

  /// How an operation ended, as far as the schedule goes.
  package enum Ending: Hashable, Sendable {
    case completed
    case failed
  }

  package private(set) var phase = Phase.parked
  /// The host has never applied a snapshot for the main target (HB-LOAD-16).
  package private(set) var isFirst = true
  /// Start of the latest latest-window load of this host.
  package private(set) var lastStart: Instant?
  private var target = 0
  private var activation = 0

  /// `hasSnapshot`: a snapshot has been applied before (start state).
  package init(hasSnapshot: Bool = false) { isFirst = !hasSnapshot }

  package var active: Operation? { if case .active(let operation, _) = phase { operation } else { nil } }

  /// Whether a failure of the active operation now would be followed by the wait of a retry (HB-LOAD-11).
  package var willRetry: Bool {
    guard case .active(let operation, nil) = phase else { return false }
    return operation.isFirst && operation.attempt < LoadScheduler.firstLoadAttempts
  }

  /// Whether a load is active, pending or waits for a retry (HB-LOAD-07, -09).
  package var isBusy: Bool {
    switch phase {
    case .parked, .idle: false
    case .pending, .active, .retryWait: true
    }
  }

  /// The instant at which `start` may succeed although nothing else happens; nil when nothing waits for time.
  package var wake: Instant? {
    switch phase {
    case .parked, .idle, .active: nil
    case .pending(let request): startable(request)
    case .retryWait(_, let due, _): due
    }
  }

  /// Asks for a load. A request that is made at the instant at which a load starts joins it. Returns false if it joined that load.
  @discardableResult
  package mutating func request(_ reason: LoadReason, at now: Instant) -> Bool {
    switch phase {
    case .parked:
      return true
    case .idle:
      phase = .pending(Request(reasons: [reason]))
    case .pending(var request):
      request.reasons.join(reason)
      phase = .pending(request)
    case .active(var operation, var next):
      if operation.startedAt == now, next == nil {
        operation.reasons.join(reason)
        phase = .active(operation, then: nil)
        return false
      }
      if next == nil { next = Request(reasons: [reason]) } else { next?.reasons.join(reason) }
      phase = .active(operation, then: next)
    case .retryWait(let attempt, let due, var reasons):
      reasons.join(reason)
      phase = .retryWait(attempt: attempt, due: due, reasons: reasons)
    }
    return true
  }

  /// Starts what waits, if it may: the owner has checked that the host is selected, the app active and the desktop can take a request.
  /// `number` becomes the operation's; nil when nothing may start.
  package mutating func start(number: Int, at now: Instant) -> Operation? {
    let reasons: [LoadReason]
    var attempt = 1
    switch phase {
    case .parked, .idle, .active: return nil
    case .pending(let request):
      if let earliest = startable(request), now < earliest { return nil }
      reasons = request.reasons
    case .retryWait(let next, let due, let waiting):
      if now < due { return nil }
      attempt = next
      reasons = waiting
    }
    let operation = Operation(
      fence: Fence(operation: number, target: target, activation: activation), reasons: reasons, isFirst: isFirst, attempt: attempt,
      startedAt: now)
    phase = .active(operation, then: nil)
    lastStart = now
    return operation
  }

  /// Whether an answer that carries this fence may be applied: its operation is the active one and every part still matches.
  package func accepts(_ fence: Fence) -> Bool { active?.fence == fence }

  /// The active operation ended. `u` is that of the wait of a retry. A pending request is next (HB-LOAD-17).
  package mutating func end(_ ending: Ending, appliedSnapshot: Bool, at now: Instant, u: Double) {
    guard case .active(let operation, let next) = phase else { return }
    if appliedSnapshot { isFirst = false }
    if let next {
      phase = .pending(next)
      return
    }
    switch ending {
    case .completed:
      phase = .idle
    case .failed:
      if operation.isFirst, operation.attempt < LoadScheduler.firstLoadAttempts {
        let wait = LoadScheduler.retryWait(operation.attempt, u: u)
        phase = .retryWait(attempt: operation.attempt + 1, due: now + wait, reasons: [.retry])
      } else {
        phase = .idle
      }
    }
  }

  /// Wait n (from 1) before attempt n + 1 (HB-LOAD-12): min(3 s, 0.75 s × 2^(n−1) × (1 + u)).
  package static func retryWait(_ n: Int, u: Double) -> Interval {
    var wait = firstRetryWait
    for _ in 1..<max(n, 1) { wait = wait * 2 }
    return min(longestRetryWait, wait.scaled(by: 1 + u))
  }

  /// The host left the screen. Returns the operation whose answer will be dropped. A pending request becomes the owner's stale mark.
  package mutating func park() -> Operation? {
    let dropped = active
    phase = .parked
    return dropped
  }

  /// The host is on screen again; one load is pending from now on (HB-HOST-10).
  package mutating func activate(_ reason: LoadReason) {
    guard case .parked = phase else { return }
    activation += 1
    phase = .pending(Request(reasons: [isFirst ? .first : reason]))
  }

  /// The host is on screen, and what it shows is fresh (start state): nothing is pending.
  package mutating func activateFresh() {
    activation += 1
    phase = .idle
  }

  /// Another target (thread, anchor or latest): the active operation is fenced, the pending one dropped, one load is pending that is
  /// exempt from the 2 s. Returns the fenced operation.
  package mutating func retarget(_ reason: LoadReason) -> Operation? {
    target += 1
    let fenced = active
    if case .parked = phase { return nil }
    phase = .pending(Request(reasons: [reason], isExempt: true))
    return fenced
  }

  /// When this request may start as far as the spacing goes; nil: at once.
  private func startable(_ request: Request) -> Instant? {
    guard let lastStart, !request.isExempt else { return nil }
    return lastStart + LoadScheduler.startSpacing
  }
}

extension [LoadReason] {
  fileprivate mutating func join(_ reason: LoadReason) {
    if !contains(reason) { append(reason) }
  }
}
