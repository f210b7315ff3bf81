import Contract
import HBCodeDialect
import Simulation
import Wire

/// What occupies an agent: one session (spec D.5, SCENARIO.md 2). A stretch of an exclusive lane waits for the lane to be idle.
package struct Lane: Hashable, Sendable {
  package var session: String
  package init(_ session: String) { self.session = session }
}

/// Why the desktop did something (SCENARIO.md 2).
package indirect enum Cause: Hashable, Sendable {
  /// Outside: at that instant, come what may.
  case clock(Instant)
  /// When the desktop's rules deliver this operation.
  case operation(String)
  /// When the desktop takes in this intent (a stop).
  case accepted(intent: String)
  /// When another stretch reaches a moment.
  case after(stretch: String, Moment)
  /// When the n-th request of that method has been answered; n from 1.
  case request(method: String, nth: Int)
  case all([Cause])
}

package enum Moment: Hashable, Sendable {
  case began
  /// The n-th step has played; n from 0.
  case step(Int)
  case ended
}

/// One thing that changes in the desktop's ledger.
package enum Change: Hashable, Sendable {
  /// A live row is put (added, or replaced by identity) in the overlay.
  case put(Row)
  /// A live row leaves the overlay.
  case take(identity: String)
  /// A canonical row appears in the history (or replaces its copy).
  case history(Row)
  /// An entry of no operation of ours appears in the outbox (a message from another session).
  case entry(OutboxEntry)
  /// An entry leaves the outbox by itself, as delivered without a run that could be seen. In a stretch with the cause `operation`, without
  /// a run and of length zero, this is all that delivering the operation does.
  case leave(operation: String)
  /// The hold reason of an entry is set or lifted (nil).
  case hold(operation: String, reason: String?)
  /// `session:updated` with a title; a nil title is sent as null.
  case title(String?)
  case runtime(JSONObject?)
  /// epoch + n, revision 0, no blocks.
  case epochJump(by: Int64)
  /// Silent increments of the outbox revision.
  case outboxRevision(by: Int64)
  /// An event that is no derived one (`desktop:offline`, `relay:gap`, unknown names), as recorded.
  case event(name: String, fields: JSONObject)
}

/// What a stretch does at one instant. All changes of a step are one overlay change with one revision increment.
package struct Step: Hashable, Sendable {
  /// From the beginning of the stretch, ≥ 0, non-decreasing within a stretch.
  package var offset: Interval
  package var changes: [Change]
  /// By how much the overlay revision grows; 0 when no overlay row changes.
  package var increment: Int64

  package init(offset: Interval, changes: [Change], increment: Int64 = 0) {
    self.offset = offset
    self.changes = changes
    self.increment = increment
  }
}

/// How a stretch ends (SCENARIO.md 2).
package enum StretchEnd: Hashable, Sendable {
  case finished
  case failed
  case aborted
  case cancelled
  case stopped(intent: String)
  /// The run went on because this operation entered it.
  case handedOver(operation: String)
  /// The recording ends or has a gap here.
  case open(why: String)
}

/// What the desktop did for one reason, as changes and offsets: it can be played at another time (SCENARIO.md 2).
package struct Stretch: Hashable, Sendable {
  package var id: String
  /// nil: occupies nothing and is never deferred.
  package var lane: Lane?
  /// The session whose ledger its changes touch; that of the lane when it has one, nil for events of the whole desktop.
  package var session: String?
  /// The desktop, for stretches that touch no session (`desktop:offline`, `relay:gap`); nil means the first one.
  package var desktop: String?
  package var cause: Cause
  /// From eligible (operation) or from the cause to the beginning, ≥ 0.
  package var delay: Interval
  package var steps: [Step]
  /// Canonical rows that its ending leaves behind.
  package var outcome: [Row]
  package var length: Interval
  package var end: StretchEnd
  /// The run that it plays in, as recorded: id, thread, turn; nil for changes outside any run. A stretch with the cause `clock(start)`
  /// in the run that is active at t = 0 (`SessionState.activeRun`) goes on with that run: it does not begin one.
  package var run: RecordedRun?
  /// For shifting stamps; nil in hand-written ones.
  package var recordedBegin: Instant?
  package var basis: Basis
  /// With the end `stopped`: from the acceptance of the stop to the end of the run; nil when it is not known.
  package var stopTime: Interval?
  /// Ledger-made stamps of its run as recorded; the twin's wall clock takes the place of those that are nil.
  package var stamps: RunStamps

  package init(
    id: String, lane: Lane?, cause: Cause, delay: Interval = .zero, steps: [Step], outcome: [Row] = [], length: Interval,
    end: StretchEnd = .finished, run: RecordedRun? = nil, recordedBegin: Instant? = nil, basis: Basis = .recorded,
    session: String? = nil, desktop: String? = nil, stopTime: Interval? = nil, stamps: RunStamps = RunStamps()
  ) {
    self.stopTime = stopTime
    self.stamps = stamps
    self.id = id
    self.lane = lane
    self.session = session ?? lane?.session
    self.desktop = desktop
    self.cause = cause
    self.delay = delay
    self.steps = steps
    self.outcome = outcome
    self.length = length
    self.end = end
    self.run = run
    self.recordedBegin = recordedBegin
    self.basis = basis
  }
}

extension Stretch {
  /// Whether it occupies its lane: it plays in a run. Changes outside any run (an entry from elsewhere, a title) are never deferred.
  package var isExclusive: Bool {
    guard lane != nil else { return false }
    if case .operation = cause { return run != nil || length > .zero }
    return run != nil
  }
}

/// Epoch milliseconds that the desktop put into events about a run, as recorded: those of the run that the stretch heads
/// (`startedAt`) or ends (`endedAt`, `updatedAt`).
package struct RunStamps: Hashable, Sendable {
  package var startedAt: Int64?
  package var endedAt: Int64?
  /// That of the `session:updated` at the end, or of a `title`.
  package var updatedAt: Int64?

  package init(startedAt: Int64? = nil, endedAt: Int64? = nil, updatedAt: Int64? = nil) {
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.updatedAt = updatedAt
  }
}

/// The run of a stretch as the recording names it.
package struct RecordedRun: Hashable, Sendable {
  package var runId: String
  package var threadId: String?
  package var turnId: String?
  package init(runId: String, threadId: String?, turnId: String?) {
    self.runId = runId
    self.threadId = threadId
    self.turnId = turnId
  }
}

/// The ledger of one session at t = 0.
package struct SessionState: Hashable, Sendable {
  package var id: String
  package var agent: Agent
  package var projectPath: String
  package var title: String?
  /// Epoch milliseconds of the last `session:updated`.
  package var updatedAt: Int64
  package var loadState: LoadState
  package var nativeSessionId: String?
  package var runtime: JSONObject?
  /// Canonical rows in order.
  package var history: [Row]
  /// Whether older rows exist that the recording never showed.
  package var historyGoesOn: Bool
  package var overlay: LiveOverlay
  package var activeRun: ActiveRun?
  package var outbox: OutboxList
  /// Operations that were delivered before the recording began and are visible nowhere.
  package var delivered: [String]
  /// The desktop takes messages but starts none.
  package var deliveryPaused: Bool

  package init(
    id: String, agent: Agent, projectPath: String, title: String? = nil, updatedAt: Int64, loadState: LoadState = .ready,
    nativeSessionId: String? = nil, runtime: JSONObject? = nil, history: [Row] = [], historyGoesOn: Bool = false,
    overlay: LiveOverlay = LiveOverlay(version: OverlayVersion(epoch: 1, revision: 0), blocks: []), activeRun: ActiveRun? = nil,
    outbox: OutboxList = OutboxList(revision: 0, entries: []), delivered: [String] = [], deliveryPaused: Bool = false
  ) {
    self.id = id
    self.agent = agent
    self.projectPath = projectPath
    self.title = title
    self.updatedAt = updatedAt
    self.loadState = loadState
    self.nativeSessionId = nativeSessionId
    self.runtime = runtime
    self.history = history
    self.historyGoesOn = historyGoesOn
    self.overlay = overlay
    self.activeRun = activeRun
    self.outbox = outbox
    self.delivered = delivered
    self.deliveryPaused = deliveryPaused
  }
}

/// One desktop and its sessions at t = 0.
package struct DesktopState: Hashable, Sendable {
  package var id: String
  package var sessions: [SessionState]
  package init(id: String, sessions: [SessionState]) {
    self.id = id
    self.sessions = sessions
  }
}

/// How the desktop treated particular requests in the recorded past.
package struct ServiceRule: Hashable, Sendable {
  package enum What: Hashable, Sendable {
    /// The answer left this much later than the arrival.
    case slow(Interval)
    /// The desktop gave this error and saved nothing.
    case refused(WireError)
    /// The desktop took the request in this much after its arrival: ledger, events and answer are late alike.
    case takenLate(Interval)
    /// The steer was accepted this much after the submit (D.5). `clock`: by how many milliseconds the recorded `acceptedAt` was ahead of
    /// the recorder's wall clock; nil: as the stamps of its run.
    case steerAccepted(after: Interval, clock: Int64? = nil)
  }
  /// The idempotency key, or nil for the n-th request of `method`.
  package var key: String?
  package var method: String
  /// The n-th arrival of that key (or method), from 1.
  package var nth: Int
  package var what: What

  package init(key: String? = nil, method: String, nth: Int = 1, what: What) {
    self.key = key
    self.method = method
    self.nth = nth
    self.what = what
  }
}

/// Recorded opaque tokens and what they stand for (SCENARIO.md 2, re-issuing).
package struct IdentifierBook: Hashable, Sendable {
  /// Recorded cursor by session and the identity of the first row of its window.
  package var cursors: [CursorEntry]
  /// Recorded boundary tokens by session, in order of the canonical state (count of canonical rows known then).
  package var boundaryTokens: [BoundaryEntry]

  package struct CursorEntry: Hashable, Sendable {
    package var session: String
    package var row: String
    package var cursor: String
    package init(session: String, row: String, cursor: String) {
      self.session = session
      self.row = row
      self.cursor = cursor
    }
  }
  package struct BoundaryEntry: Hashable, Sendable {
    package var session: String
    package var lastRow: String
    package var token: String
    package init(session: String, lastRow: String, token: String) {
      self.session = session
      self.lastRow = lastRow
      self.token = token
    }
  }

  package init(cursors: [CursorEntry] = [], boundaryTokens: [BoundaryEntry] = []) {
    self.cursors = cursors
    self.boundaryTokens = boundaryTokens
  }
}

/// What a recording of hbcode means (SCENARIO.md 2 and 3).
package struct HBCodeScenario: Hashable, Sendable {
  package var facts: ScenarioFacts
  /// The phone at t = 0, in the form of the core's start state.
  package var clientStart: JSON
  package var desktops: [DesktopState]
  package var tape: [Stretch]
  package var service: [ServiceRule]
  package var book: IdentifierBook

  package init(
    facts: ScenarioFacts, clientStart: JSON, desktops: [DesktopState], tape: [Stretch] = [], service: [ServiceRule] = [],
    book: IdentifierBook = IdentifierBook()
  ) {
    self.facts = facts
    self.clientStart = clientStart
    self.desktops = desktops
    self.tape = tape
    self.service = service
    self.book = book
  }
}
