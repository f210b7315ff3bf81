import Contract
import Simulation
import Wire

/// The virtual collection view of one host: rows with stable IDs, estimated heights that become measured ones on show, layout passes, a
/// scripted finger, deceleration, animated scrolls on the display link. A value inside a core, driven by it; it knows no chat.
///
/// Lengths are points, speeds points per second, positive downwards in content coordinates. The offset has the range
/// `-insetTop ... max(-insetTop, contentHeight - height + insetBottom)`; whatever changes the range clamps it.
///
/// What it did stands in `takeRecords()`. An unmounted viewport does nothing and records nothing.
package struct Viewport: Sendable {
  /// Key name of the host: the field `host` of every record.
  package let name: String
  package let device: Device
  /// Height of a row that has never been laid out in the visible area.
  package let estimate: Double

  /// Content offset.
  package internal(set) var offset: Double
  package internal(set) var motion = Motion.rest
  /// IDs of the applied snapshot, in order.
  package internal(set) var ids: [String] = []
  /// Cells measured so far: one for each row that is shown with a content that it did not have when last measured.
  package internal(set) var measurings = 0
  /// Rows that prepare and become visible for the first time take at least this long.
  package var slowPreparation = Interval.zero
  /// Applying a snapshot takes this long.
  package var slowApplying = Interval.zero

  /// What layout passes of the list's own (a finished preparation) keep in place; none after a mount.
  package var standingPin = Pin.none

  var isMounted = false
  /// A snapshot was applied since the mount.
  var hasList = false
  var rows: [Row] = []
  /// Newest content given for each row of the snapshot, by position.
  var newest: [Cell] = []
  var newestVersion = 0
  var positions: [String: Int] = [:]
  var index = HeightIndex()
  /// Positions of the rows that the last layout pass showed.
  var onScreen: [Int] = []
  /// Rows that have been visible once: none prepares a second time.
  var seen: Set<String> = []
  /// When the preparation of a row ends.
  var preparing: [String: Instant] = [:]
  var applyingUntil: Instant?
  var losesStop = false
  var reference: Geometry?
  var records: [ScreenRecord] = []
  /// Geometry of the last `frame` record of this mount, and whether something was laid out since.
  var recorded: Geometry?
  var isLaidOut = false

  package init(name: String, device: Device, estimate: Double = 80) {
    self.name = name
    self.device = device
    self.estimate = estimate
    offset = -device.insetTop
  }

  /// A row of the snapshot.
  struct Row: Sendable {
    /// What the row draws, or drew when it was last on screen.
    var cell: Cell
    var isOnScreen = false
    /// Its height is not yet that of `cell`.
    var isUnmeasured = true
  }

  /// A new, empty view appears: record `mount`.
  package mutating func mount(at now: Instant) {
    clear()
    isMounted = true
    record("mount")
  }

  /// The view goes away and motion ends with it: record `unmount`.
  package mutating func unmount(at now: Instant) {
    guard isMounted else { return }
    clear()
    isMounted = false
    record("unmount")
  }

  private mutating func clear() {
    offset = -device.insetTop
    motion = .rest
    (ids, rows, newest, newestVersion, positions, index, onScreen) = ([], [], [], 0, [:], HeightIndex(), [])
    (standingPin, hasList) = (.none, false)
    (applyingUntil, reference, recorded) = (nil, nil, nil)
    for id in preparing.keys { seen.remove(id) }
    preparing = [:]
  }

  /// A fault at the screen.
  package mutating func take(_ fault: ScreenFault) {
    switch fault {
    case .loseStop: losesStop = true
    case .slowPreparation(let time): slowPreparation = time
    case .slowApplying(let time): slowApplying = time
    }
  }
}

// MARK: - What is where

extension Viewport {
  package var contentHeight: Double { index.total }
  /// Greatest offset.
  package var bottom: Double { max(-device.insetTop, contentHeight - device.height + device.insetBottom) }
  package var distanceToBottom: Double { bottom - offset }
  /// How much of the list is above the screen: offset + top inset.
  package var aboveScreen: Double { offset + device.insetTop }

  /// Rows that intersect `offset ..< offset + device.height`. O(log n + rows).
  package var visible: [VisibleRow] {
    index.places(sight).map { VisibleRow(id: ids[$0.position], top: $0.top, height: $0.height) }
  }

  package var firstVisible: VisibleRow? {
    sight.rows.first.map { VisibleRow(id: ids[$0], top: index.top(of: $0), height: index.height(at: $0)) }
  }

  /// Positions of the visible rows.
  var sight: HeightIndex.Sight { index.rows(from: offset, to: offset + device.height) }

  /// Top and height of any row of the snapshot. O(log n).
  package func row(_ id: String) -> VisibleRow? {
    positions[id].map { VisibleRow(id: id, top: index.top(of: $0), height: index.height(at: $0)) }
  }

  /// A visible row prepares.
  package var isPreparing: Bool { !preparing.isEmpty && onScreen.contains { preparing[ids[$0]] != nil } }
  /// A snapshot is being applied.
  package var isApplying: Bool { applyingUntil != nil }

  /// When the finger lifts, a preparation ends or an apply ends, whichever comes first: `fired` then.
  package var due: Instant? {
    [preparing.values.min(), applyingUntil, motion.lift].compactMap { $0 }.min()
  }

  func clamped(_ offset: Double) -> Double { min(max(offset, -device.insetTop), bottom) }
}
