import Contract
import HBCodeCore
import HBCodeDialect
import Simulation
import Testing
import Wire

@Suite struct CoreSnapshotTests {
  private func envelope(_ json: JSON) throws -> HistoryEnvelope { try HistoryEnvelope.decode(json, .latest) }

  /// A timeline with rows u1, g1 at (3, 40), counter 7.
  private func timeline(_ rows: [JSON] = CoreDriver.defaultRows, cursor: String? = "cur-1") throws -> Timeline {
    var timeline = Timeline(live: OverlayReducer(counter: 7))
    let json = CoreDriver.envelope(revision: 40, blocks: [CoreDriver.live("lg", [2, 1], "Forty")], rows: rows, cursor: cursor)
    _ = SnapshotMerge.apply(try envelope(json), captured: 7, to: &timeline)
    return timeline
  }

  private let later: [JSON] = [
    CoreDriver.row("agent-reply", "g1", [1, 1], "Hi there"), CoreDriver.row("user", "u2", [2, 0], "Go", op: "op-2"),
  ]

  @Test func `HB-SNAP-01 HB-SNAP-03 HB-INV-34 a counter that moved drops live rows and active run, not canonical rows and pagination`()
    throws
  {
    var own = try timeline()
    let json = CoreDriver.envelope(
      revision: 41, blocks: [], rows: later + [CoreDriver.live("la", [2, 2], "Reading", type: "activity")], activeRun: "run-1",
      cursor: "cur-0")
    let report = SnapshotMerge.apply(try envelope(json), captured: 6, to: &own)
    #expect(report.outcome == .applied)
    #expect(report.droppedLive)
    #expect(own.liveLayer == [])
    #expect(own.live.activeRun == nil)
    #expect(own.canonical.map(\.identity) == ["user:u1", "agent-reply:g1", "user:u2"])
    #expect(own.live.version?.revision == 41)

    var other = try timeline()
    _ = SnapshotMerge.apply(try envelope(json), captured: 7, to: &other)
    #expect(other.liveLayer.map(\.identity) == ["activity:la"])
    #expect(other.live.activeRun?.runId == "run-1")
    #expect(other.live.counter == 7)
  }

  @Test func `HB-SNAP-01 the counter is recorded when the load starts`() {
    var phone = CoreDriver()
    phone.up()
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.overlay(1, "Now")
    phone.answer(.load, CoreDriver.envelope(rows: CoreDriver.defaultRows + [CoreDriver.live("x", [3, 0], "Stale")]))
    #expect(phone.noted("load.end").last?["captured"] == 0)
    #expect(phone.noted("load.end").last?["counter"] == 1)
    #expect(phone.noted("load.end").last?["droppedLive"] == true)
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1", "~agent-reply:lg"])
  }

  @Test
  func `HB-SNAP-02 an older epoch or other blocks of the same version drop the whole answer; the load counts as failed without a retry`()
    throws
  {
    for json in [
      CoreDriver.envelope(epoch: 2, revision: 90, rows: later),
      CoreDriver.envelope(revision: 40, blocks: [CoreDriver.live("lg", [2, 1], "Fourty")], rows: later),
    ] {
      var own = try timeline()
      let before = own
      #expect(SnapshotMerge.apply(try envelope(json), captured: 7, to: &own).outcome == .overlayRejected)
      #expect(own == before)
    }
    var phone = CoreDriver()
    phone.up()
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.answer(.load, CoreDriver.envelope(epoch: 2, rows: later))
    #expect(phone.outcomes == ["overlay-rejected"])
    phone.advance(to: 14_999)
    #expect(phone.requests(.load).count == 1)
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1"])
  }

  @Test func `HB-SNAP-04 a lower revision of the same epoch is ignored, a higher one applies although the counter moved`() throws {
    var own = try timeline()
    _ = SnapshotMerge.apply(try envelope(CoreDriver.envelope(revision: 39)), captured: 0, to: &own)
    #expect(own.live.version?.revision == 40)
    #expect(own.live.overlay?.blocks.map(\.text) == ["Forty"])
    _ = SnapshotMerge.apply(try envelope(CoreDriver.envelope(revision: 44)), captured: 0, to: &own)
    #expect(own.live.version?.revision == 44)
    #expect(own.live.counter == 7)
  }

  @Test func `HB-SNAP-05 a newer epoch is adopted whole, also when the counter moved`() throws {
    var own = try timeline()
    let json = CoreDriver.envelope(epoch: 4, revision: 2, blocks: [CoreDriver.live("n", [3, 0], "New")])
    #expect(SnapshotMerge.apply(try envelope(json), captured: 0, to: &own).tookOverlay)
    #expect(own.live.version == OverlayVersion(epoch: 4, revision: 2))
    #expect(own.live.overlay?.blocks.map(\.text) == ["New"])
  }

  @Test func `HB-SNAP-06 unavailable history keeps window and pagination; only an overlay of the same epoch applies`() throws {
    let gone: JSON = ["type": "unavailable", "reason": "no disk"]
    var own = try timeline()
    let pagination = own.pagination
    let same = CoreDriver.envelope(
      revision: 41, blocks: [CoreDriver.live("lg", [2, 1], "Forty-one")], rows: [], activeRun: "run-1", state: gone)
    #expect(SnapshotMerge.apply(try envelope(same), captured: 7, to: &own).outcome == .unavailable)
    #expect(own.canonical.count == 2)
    #expect(own.pagination == pagination)
    #expect(own.live.version?.revision == 41)
    #expect(own.live.activeRun == nil)
    let newer = CoreDriver.envelope(epoch: 4, rows: [], state: gone)
    #expect(SnapshotMerge.apply(try envelope(newer), captured: 7, to: &own).tookOverlay == false)
    #expect(own.live.version == OverlayVersion(epoch: 3, revision: 41))

    // It counts as completed: the mark is cleared, a first load is not tried again.
    var phone = CoreDriver(CoreDriver.start(connected: false, host: nil))
    phone.up()
    phone.answer(.load, newer)
    #expect(phone.outcomes == ["unavailable"])
    phone.advance(to: 50_000)
    #expect(phone.requests(.load).count == 1)
  }

  @Test func `HB-SNAP-07 applied history settles outbox entries and echoes, and raises the timeline revision once`() {
    var phone = CoreDriver()
    phone.up()
    phone.send(1)
    #expect(phone.rows.last == "+user:op:op-1")
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.answer(.load, CoreDriver.envelope(rows: CoreDriver.defaultRows + [CoreDriver.row("user", "u2", [2, 0], op: "op-1")]))
    #expect(phone.states("op-1") == ["new", "sent", "done"])
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1", "user:op:op-1"])
    #expect(phone.says("op-1") == ["sending", "delivered"])
  }

  @Test func `HB-SNAP-08 HB-SNAP-10 a window without overlap replaces the kept one and advances the presentation epoch`() throws {
    var own = try timeline()
    let far = [CoreDriver.row("user", "u8", [8, 0], "Far", op: "op-8")]
    let report = SnapshotMerge.apply(try envelope(CoreDriver.envelope(revision: 41, rows: far, cursor: "cur-8")), captured: 7, to: &own)
    #expect(report.replacedWindow)
    #expect(own.canonical.map(\.identity) == ["user:u8"])
    #expect(own.pagination?.oldestCursor == "cur-8")

    var phone = CoreDriver()
    phone.up()
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.answer(.load, CoreDriver.envelope(rows: far))
    #expect(phone.noted("epoch").map { $0["cause"]?.string } == ["window-replaced"])
    #expect(phone.rows == ["user:op:op-8"])
  }

  @Test func `HB-SNAP-09 with overlap rows merge by splice key, the answer's copy wins, nothing is removed`() throws {
    var own = try timeline()
    _ = SnapshotMerge.apply(
      try envelope(CoreDriver.envelope(revision: 41, rows: later, cursor: "cur-new", boundary: "bt-2")), captured: 7, to: &own)
    #expect(own.canonical.map(\.identity) == ["user:u1", "agent-reply:g1", "user:u2"])
    #expect(own.canonical[1].text == "Hi there")
    // The kept side has the first row.
    #expect(own.pagination?.oldestCursor == "cur-1")
    #expect(own.pagination?.boundaryToken == "bt-1")
    // On a tie the answer's.
    _ = SnapshotMerge.apply(
      try envelope(CoreDriver.envelope(revision: 42, rows: CoreDriver.defaultRows, cursor: "cur-tie", boundary: "bt-3")), captured: 7,
      to: &own)
    #expect(own.pagination?.boundaryToken == "bt-3")
    #expect(own.canonical.count == 3)
  }

  @Test func `HB-SNAP-10 an empty ready answer empties the window, a pending one keeps it`() throws {
    var own = try timeline()
    _ = SnapshotMerge.apply(try envelope(CoreDriver.envelope(revision: 41, rows: [], state: ["type": "pending"])), captured: 7, to: &own)
    #expect(own.canonical.count == 2)
    #expect(own.pagination?.oldestCursor == "cur-1")
    let report = SnapshotMerge.apply(try envelope(CoreDriver.envelope(revision: 42, rows: [])), captured: 7, to: &own)
    #expect(report.replacedWindow)
    #expect(own.canonical == [])
    #expect(own.pagination?.oldestCursor == nil)
    #expect(own.isConfirmed)
  }

  @Test func `HB-SNAP-11 a live row settles only by a shared identity, never by equal text or time`() throws {
    var own = Timeline()
    let live = [
      CoreDriver.live("u-live", [2, 0], "Go", type: "user", op: "op-2"), CoreDriver.live("lg", [2, 1], "Hi"),
    ]
    // Same text and time as the live reply, another identity.
    let rows = CoreDriver.defaultRows + [CoreDriver.row("user", "u2", [2, 0], "Go", op: "op-2")]
    _ = SnapshotMerge.apply(try envelope(CoreDriver.envelope(revision: 1, blocks: live, rows: rows)), captured: 0, to: &own)
    #expect(own.unsettledLive.map(\.identity) == ["agent-reply:lg"])
    let settled = rows + [CoreDriver.row("agent-reply", "lg", [2, 1], "Hi")]
    _ = SnapshotMerge.apply(try envelope(CoreDriver.envelope(revision: 1, blocks: live, rows: settled)), captured: 0, to: &own)
    #expect(own.unsettledLive == [])
  }

  @Test func `HB-SNAP-12 the snapshot live layer is replaced when the counter stood still and kept otherwise; the overlay's row wins`()
    throws
  {
    var own = try timeline()
    func load(_ rows: [JSON], captured: Int, revision: Int64 = 40) throws {
      let blocks = [CoreDriver.live("lg", [2, 1], "Forty")]
      let json = CoreDriver.envelope(revision: revision, blocks: blocks, rows: CoreDriver.defaultRows + rows)
      _ = SnapshotMerge.apply(try envelope(json), captured: captured, to: &own)
    }
    try load([CoreDriver.live("la", [2, 2], "Layer"), CoreDriver.live("lg", [2, 1], "Layer copy")], captured: 7)
    #expect(own.liveLayer.count == 2)
    #expect(own.unsettledLive.map(\.text) == ["Forty", "Layer"])
    try load([], captured: 6)
    #expect(own.liveLayer.count == 2)
    try load([], captured: 7)
    #expect(own.liveLayer == [])
  }

  @Test func `HB-SNAP-13 canonical rows in order, then unsettled live rows, then echoes in operation order`() {
    var phone = CoreDriver()
    phone.up()
    phone.overlay(1, blocks: [CoreDriver.live("l2", [2, 2], "b"), CoreDriver.live("l1", [2, 1], "a")])
    phone.send(1)
    phone.send(2)
    #expect(
      phone.rows == [
        "user:op:op-0", "agent-reply:g1", "~agent-reply:l1", "~agent-reply:l2", "+user:op:op-1", "+user:op:op-2",
      ])
  }

  // MARK: ENV

  @Test func `HB-ENV-08 HB-ENV-09 an invalid envelope changes nothing and counts as a failed load with its reason and path`() {
    var phone = CoreDriver()
    phone.up()
    phone.advance(to: 5_000)
    phone.does("refresh")
    var bad = CoreDriver.envelope(rows: later).object ?? [:]
    bad["boundaryToken"] = " "
    phone.answer(.load, .object(bad))
    #expect(phone.outcomes == ["invalid"])
    #expect(phone.noted("load.end").last?["reason"] == "boundaryToken.blank")
    #expect(phone.noted("load.end").last?["at"] == "boundaryToken")
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1"])
    // Bad data never looks like an empty history: a first load with a repeated splice key is tried again.
    var first = CoreDriver(CoreDriver.start(connected: false, host: nil))
    first.up()
    first.answer(.load, CoreDriver.envelope(rows: CoreDriver.defaultRows + CoreDriver.defaultRows))
    #expect(first.noted("load.end").last?["reason"] == "page.duplicate-splice-key:user:u1")
    #expect(first.noted("load.end").last?["at"] == "timeline[2]")
    first.advance(to: 750)
    #expect(first.requests(.load).count == 2)
  }

  // MARK: PROJ

  @Test func `HB-PROJ-01 HB-PROJ-02 HB-PROJ-03 thinking and subagent rows leave the list, live thinking of the active run is pinned`()
    throws
  {
    var own = Timeline()
    var panel = CoreDriver.row("activity", "p1", [1, 3]).object ?? [:]
    panel["panel"] = "subagent"
    let blocks = [
      CoreDriver.live("t1", [2, 1], "First thought", type: "thinking"), CoreDriver.live("t2", [2, 2], "Which valve?", type: "thinking"),
    ]
    let rows = CoreDriver.defaultRows + [CoreDriver.row("thinking", "t0", [1, 2], "Old"), .object(panel)]
    _ = SnapshotMerge.apply(
      try envelope(CoreDriver.envelope(revision: 1, blocks: blocks, rows: rows, activeRun: "run-1")), captured: 0, to: &own)
    let display = Display(own, echoes: [])
    #expect(display.rows.map(\.id) == ["user:op:op-0", "agent-reply:g1"])
    #expect(display.pinned == "Which valve?")
    own.live.runEnded("run-1")
    #expect(Display(own, echoes: []).pinned == nil)
  }

  @Test func `HB-PROJ-04 HB-PROJ-05 pending, live and canonical row of one operation keep one item ID`() {
    var phone = CoreDriver()
    phone.up()
    phone.send(1)
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1", "+user:op:op-1"])
    phone.advance(to: 100)
    phone.overlay(1, blocks: [CoreDriver.live("u-live", [2, 0], "Close the roof", type: "user", op: "op-1")])
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1", "~user:op:op-1"])
    phone.advance(to: 5_000)
    phone.runEnded()
    phone.answer(
      .load, CoreDriver.envelope(epoch: 4, rows: CoreDriver.defaultRows + [CoreDriver.row("user", "u2", [2, 0], op: "op-1")]))
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1", "user:op:op-1"])
  }

  @Test func `HB-PROJ-05 an echo is shown for sending and unknown entries only`() {
    var phone = CoreDriver(CoreDriver.start(outbox: CoreDriver.list(5, "op-a")))
    phone.up()
    phone.send(1)
    #expect(phone.rows.filter { $0.hasPrefix("+") } == ["+user:op:op-1"])
    phone.advance(to: 20_000)
    #expect(phone.states("op-1").last == "unknown")
    #expect(phone.rows.filter { $0.hasPrefix("+") } == ["+user:op:op-1"])
    phone.advance(to: 30_000)
    phone.answer(.outboxLoad, CoreDriver.list(6, "op-a", "op-1"))
    #expect(phone.rows.filter { $0.hasPrefix("+") } == [])
  }

  @Test func `HB-PROJ-05 an echo stays while a submit of unknown outcome is sent again`() {
    var phone = CoreDriver(CoreDriver.start(outbox: CoreDriver.list(5, "op-a")))
    phone.up()
    phone.send(1)
    phone.advance(to: 30_000)
    phone.answer(.outboxLoad, CoreDriver.list(5, "op-a"))
    #expect(phone.states("op-1").suffix(2) == ["unknown", "sent"])
    #expect(phone.rows.filter { $0.hasPrefix("+") } == ["+user:op:op-1"])
    phone.advance(to: 50_000)
    #expect(phone.states("op-1").last == "unknown")
    #expect(phone.rows.filter { $0.hasPrefix("+") } == ["+user:op:op-1"])
  }
}
