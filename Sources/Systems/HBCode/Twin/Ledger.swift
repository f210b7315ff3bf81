import Contract
import HBCodeDialect
import HBCodeScenario
import Simulation
import Wire

/// What the desktop knows of one session: history, live overlay, run, outbox (spec D.5).
struct Ledger: Sendable {
  let desktop: String
  let id: String
  let agent: Agent
  var title: String?
  var updatedAt: Int64
  var loadState: LoadState
  let nativeSessionId: String?
  var runtime: JSONObject?
  let historyGoesOn: Bool
  let deliveryPaused: Bool
  /// Threads of the session's own runs: rows that name them belong to the main timeline.
  private var mainThreads: Set<String> = []

  /// Canonical rows in order.
  private(set) var history: [Row]
  /// Identities and operations that `history` holds, so that new rows need no search.
  private var saved: Set<String> = []
  /// Whether every row of `history` belongs to the main timeline.
  private var isPlain = true
  private(set) var epoch: Int64
  private(set) var revision: Int64
  /// The live rows of the run, in order, also those that an epoch jump hides.
  private(set) var blocks: [Row]
  /// After a jump no blocks show until the next step.
  private var areBlocksHidden = false
  private var restoresAtRevisionOne = false

  var run: Run?
  /// Ids of its runs so far.
  var runIds: Set<String> = []
  private(set) var outboxRevision: Int64
  var entries: [OutboxEntry]
  var isListDirty = false
  var isListShown = true
  private var raisedAt: Instant?
  var tombstones: Set<String> = []
  var delivered: Set<String>
  /// The first deliverable entry, whose begin is armed.
  var pending: (operation: String, token: Int)?
  /// Exclusive outside stretches that wait for the lane to be idle, in order of instant.
  var deferred: [Int] = []
  var saves = 0

  /// The greatest order number of any row so far, and the identities that have one.
  private(set) var greatest = SourceOrder([])
  private(set) var placed: Set<String> = []
  /// Identities whose order was re-issued.
  var reordered: [String: SourceOrder] = [:]
  /// Recorded stamps of the desktop minus the recorder's wall clock, milliseconds.
  var clockDifference: Int64 = 0

  /// A version number after some increments: never beyond what the wire carries.
  private static func grown(_ value: Int64, by count: Int64) -> Int64 {
    let most: Int64 = (1 << 53) - 1
    return min(max(value, 0), most - min(max(count, 0), most)) + min(max(count, 0), most)
  }

  static func key(_ desktop: String, _ session: String) -> String { desktop + "\u{1f}" + session }

  init(desktop: String, _ state: SessionState) {
    self.desktop = desktop
    id = state.id
    agent = state.agent
    title = state.title
    updatedAt = state.updatedAt
    loadState = state.loadState
    nativeSessionId = state.nativeSessionId
    runtime = state.runtime
    historyGoesOn = state.historyGoesOn
    deliveryPaused = state.deliveryPaused
    history = state.history
    epoch = state.overlay.version.epoch
    revision = state.overlay.version.revision
    blocks = state.overlay.blocks
    outboxRevision = state.outbox.revision
    entries = state.outbox.entries
    delivered = Set(state.delivered)
    for row in history + blocks { place(row) }
    for row in history { note(saved: row) }
    for row in history { if row.type == .user, let operation = row.operationId { delivered.insert(operation) } }
    for row in blocks { if row.type == .user, let operation = row.operationId { delivered.insert(operation) } }
    if let active = state.activeRun {
      runIds.insert(active.runId)
      run = Run(id: active.runId, recorded: active.runId, active: active, begin: .zero, token: 0)
    }
  }

  mutating func learnThreads(_ stretches: [Stretch]) {
    for stretch in stretches where stretch.session == id {
      if let thread = stretch.run?.threadId { mainThreads.insert(thread) }
    }
    if let thread = run?.active.threadId { mainThreads.insert(thread) }
    isPlain = history.allSatisfy { belongs($0, to: nil) }
  }

  // MARK: Outbox

  var list: OutboxList { OutboxList(revision: outboxRevision, entries: entries) }

  func position(of operation: String) -> Int? { entries.firstIndex { $0.operationId == operation } }

  /// Where an entry goes that is to be next: after those that a run has taken.
  var front: Int { entries.firstIndex { $0.accepted == nil && $0.handoff == nil } ?? entries.count }

  mutating func raiseRevision(at now: Instant) {
    if raisedAt != now || isListShown {
      outboxRevision = Ledger.grown(outboxRevision, by: 1)
      raisedAt = now
      isListShown = false
    }
    isListDirty = true
  }

  /// Increments that nothing known explains; no event goes with them.
  mutating func raiseRevisionSilently(by count: Int64) { outboxRevision = Ledger.grown(outboxRevision, by: count) }

  // MARK: Rows

  /// Whether a row belongs to the main timeline (nil) or to that thread.
  func belongs(_ row: Row, to thread: String?) -> Bool {
    if let thread { return row.threadId == thread }
    guard let own = row.threadId else { return true }
    return row.isSubagentPanel || mainThreads.contains(own)
  }

  func rows(of thread: String?) -> [Row] { thread == nil && isPlain ? history : history.filter { belongs($0, to: thread) } }

  /// The overlay as a phone that shows `thread` gets it.
  func overlay(thread: String?) -> LiveOverlay {
    LiveOverlay(
      version: OverlayVersion(epoch: epoch, revision: revision),
      blocks: areBlocksHidden ? [] : blocks.filter { belongs($0, to: thread) })
  }

  mutating func place(_ row: Row) {
    placed.insert(row.identity)
    if greatest < row.sourceOrder { greatest = row.sourceOrder }
  }

  private mutating func note(saved row: Row) {
    saved.insert(row.identity)
    if let operation = row.operationIdentity { saved.insert(operation) }
    isPlain = isPlain && belongs(row, to: nil)
  }

  /// Adds a canonical row, or replaces the copy of the same identity or operation. O(log n) for a new one at the end.
  mutating func remember(_ row: Row) {
    place(row)
    if loadState == .pending { loadState = .ready }
    let identity = row.identity
    let operation = row.operationIdentity
    if saved.contains(identity) || operation.map(saved.contains) ?? false {
      history.removeAll { $0.identity == identity || (operation != nil && $0.operationIdentity == operation) }
    }
    note(saved: row)
    var low = 0
    var high = history.count
    while low < high {
      let middle = (low + high) / 2
      if Row.precedes(history[middle], row) { low = middle + 1 } else { high = middle }
    }
    history.insert(row, at: low)
  }

  /// Adds a live row in order, or replaces it.
  mutating func put(_ row: Row) {
    place(row)
    if let index = blocks.firstIndex(where: { $0.identity == row.identity }) {
      if blocks[index].sourceOrder == row.sourceOrder {
        blocks[index] = row
        return
      }
      blocks.remove(at: index)
    }
    let index = blocks.lastIndex { Row.precedes($0, row) }.map { $0 + 1 } ?? 0
    blocks.insert(row, at: index)
  }

  mutating func take(identity: String) { blocks.removeAll { $0.identity == identity } }

  /// One live change: the revision grows by the recorded increment, at least by one (HB-OVER-07).
  mutating func raiseOverlay(by increment: Int64) {
    if areBlocksHidden, restoresAtRevisionOne {
      revision = 1
    } else {
      revision = Ledger.grown(revision, by: max(1, increment))
    }
    areBlocksHidden = false
    restoresAtRevisionOne = false
  }

  /// epoch + n, revision 0, no blocks; the next live change shows all of the run's blocks again, when `restoring` at revision 1.
  mutating func jumpEpoch(by count: Int64, restoring: Bool) {
    epoch = Ledger.grown(epoch, by: max(1, count))
    revision = 0
    areBlocksHidden = true
    restoresAtRevisionOne = restoring
  }

  mutating func clearBlocks() { blocks = [] }

  /// A run settled: the next epoch, revision 0, no blocks (HB-OVER-07).
  mutating func settleOverlay() {
    epoch = Ledger.grown(epoch, by: 1)
    revision = 0
    blocks = []
    areBlocksHidden = false
    restoresAtRevisionOne = false
  }
}

/// The run that is active in a session.
struct Run: Sendable {
  enum Phase: Sendable, Hashable {
    /// Active at t = 0; nothing plays in it yet.
    case waiting
    case playing(stretch: Int)
    /// Goes on where a steer entered in the recording: any accepted steer enters at once.
    case handedOver
    /// Nothing more is known of it.
    case silent
  }

  var id: String
  /// Its recorded id; nil for a run that the recording does not have.
  var recorded: String?
  var active: ActiveRun
  var begin: Instant
  /// Which run it is: what was armed for another one does nothing.
  var token: Int
  /// The stretches that play or played in it, in order.
  var parts: [Int] = []
  var phase = Phase.waiting
  /// A stop was taken in.
  var isStopping = false
}
