import HBCodeDialect
import Simulation

/// Older-page loading of one host (HB-OLDER-02, -08): at most one page in flight that is not stale.
package struct OlderLoad: Hashable, Sendable {
  /// Rows asked for in a page (HB-LOAD-14 [seed]).
  package static let limit = 100

  /// Goes up with each start and with everything that drops the page in flight.
  package private(set) var generation = 0
  package private(set) var isInFlight = false
  /// A page added nothing and left the cursor as it was: no more until the next applied snapshot.
  package private(set) var isExhausted = false
  /// Start of the latest page.
  package private(set) var lastStart: Instant?

  package init() {}

  /// Whether a page may start as far as the spacing goes (HB-OLDER-01).
  package func mayStart(at now: Instant) -> Bool { lastStart.map { now >= $0 + TimelineView.olderSpacing } ?? true }

  package mutating func start(at now: Instant) -> Int {
    generation += 1
    isInFlight = true
    lastStart = now
    return generation
  }

  /// The page of that generation ended; false if it was dropped before.
  package mutating func end(_ generation: Int) -> Bool {
    guard isInFlight, generation == self.generation else { return false }
    isInFlight = false
    return true
  }

  /// Drops the page in flight. True if there was one.
  package mutating func drop() -> Bool {
    generation += 1
    defer { isInFlight = false }
    return isInFlight
  }

  package mutating func exhaust() { isExhausted = true }
  package mutating func snapshotApplied() { isExhausted = false }
}

/// The view model of one conversation (HB-HOST): its rows, its scheduler, its intake.
package struct Host: Sendable {
  package let key: HostKey
  package var timeline = Timeline()
  package var scheduler: LoadScheduler
  package var intake = IntakeThrottle()
  package var cadence = LoadCadence()
  package var throttle = RenderThrottle()
  package var older = OlderLoad()
  /// What is shown may be old: a load is due at the next activation at the latest (HB-LOAD-04).
  package var isStale = false
  /// The mark was set during the active load, which therefore does not clear it (spec D.2, step 12).
  package var isMarkedDuringLoad = false
  /// The live-event counter at the start of the active load (HB-SNAP-01).
  package var captured = 0
  /// Goes up by one whenever an applied answer changes what is shown (HB-SNAP-07).
  package var timelineRevision = 0

  package init(_ key: HostKey, scheduler: LoadScheduler = LoadScheduler()) {
    self.key = key
    self.scheduler = scheduler
  }

  /// The name of the viewport in `epoch` records (HB-EPOCH-01).
  package var viewport: String { key.thread.map { "subagent-\($0)" } ?? "parent-chat" }

  /// Whether the chat is an empty one that the desktop has not confirmed (HB-LOAD-09, HB-EPOCH-02).
  package var isUnconfirmedEmpty: Bool { timeline.canonical.isEmpty && !timeline.isConfirmed }
}
