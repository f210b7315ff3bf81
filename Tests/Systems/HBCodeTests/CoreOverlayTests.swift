import Contract
import HBCodeCore
import HBCodeDialect
import Simulation
import TestSupport
import Testing
import Wire

@Suite struct CoreOverlayTests {
  private func overlay(_ epoch: Int64, _ revision: Int64, _ text: String) -> LiveOverlay {
    let row = Row.made(
      type: .agentReply, id: "lg", origin: .live, sourceOrder: [2, 1], timestamp: 1_790_000_000_000, runId: "run-1", text: text)
    return LiveOverlay(version: OverlayVersion(epoch: epoch, revision: revision), blocks: [row])
  }

  // MARK: Reducer

  @Test func `HB-OVER-01 within an epoch a higher revision wins and a lower one is ignored`() {
    var live = OverlayReducer(overlay: overlay(3, 5, "Five"))
    #expect(live.receive(overlay(3, 4, "Four")) == .ignored)
    #expect(live.receive(overlay(3, 9, "Nine")) == .used)
    #expect(live.version == OverlayVersion(epoch: 3, revision: 9))
    #expect(live.overlay?.blocks.map(\.text) == ["Nine"])
  }

  @Test func `HB-OVER-02 the counter goes up by one for a raised revision, a start and an end of a run`() {
    var live = OverlayReducer(overlay: overlay(3, 1, "One"), counter: 7)
    _ = live.receive(overlay(3, 6, "Six"))
    #expect(live.counter == 8)
    live.runStarted(ActiveRun(runId: "run-1", threadId: nil, turnId: nil, startedAt: 1))
    #expect(live.counter == 9)
    #expect(live.activeRun?.runId == "run-1")
    live.runEnded("run-2")
    #expect(live.counter == 10)
    #expect(live.activeRun?.runId == "run-1")
    live.runEnded("run-1")
    #expect(live.counter == 11)
    #expect(live.activeRun == nil)
  }

  @Test func `HB-OVER-03 the same version is ignored, and other blocks are counted as a conflict`() {
    var live = OverlayReducer(overlay: overlay(3, 5, "Five"), counter: 2)
    #expect(live.receive(overlay(3, 5, "Five")) == .ignored)
    #expect(live.conflicts == 0)
    #expect(live.receive(overlay(3, 5, "Fife")) == .conflict)
    #expect(live.conflicts == 1)
    #expect(live.counter == 2)
    #expect(live.overlay?.blocks.map(\.text) == ["Five"])
  }

  @Test func `HB-OVER-04 a newer epoch, and any event before the first snapshot, is refused`() {
    var none = OverlayReducer()
    #expect(none.receive(overlay(3, 5, "Five")) == .refused)
    #expect(none.overlay == nil)
    var live = OverlayReducer(overlay: overlay(3, 5, "Five"))
    #expect(live.receive(overlay(4, 1, "One")) == .refused)
    #expect(live.counter == 0)
  }

  @Test func `HB-OVER-04 a refused event asks for a latest-window load`() {
    var phone = CoreDriver()
    phone.up()
    phone.advance(to: 5_000)
    phone.overlay(1, "New", epoch: 4)
    #expect(phone.new() == ["run.chatLoad ses-01"])
    #expect(phone.loads == ["epoch 1"])
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1"])
  }

  @Test func `HB-OVER-05 an older epoch is ignored`() {
    var live = OverlayReducer(overlay: overlay(3, 5, "Five"))
    #expect(live.receive(overlay(2, 99, "Old")) == .ignored)
    #expect(live.version == OverlayVersion(epoch: 3, revision: 5))
  }

  @Test func `HB-OVER-08 blocks are compared in order with known and unknown keys`() {
    func block(_ extra: JSON) -> Row {
      var row = Row.made(
        type: .agentReply, id: "lg", origin: .live, sourceOrder: [2, 1], timestamp: 1, runId: "run-1", text: "Same")
      row.raw["mood"] = extra
      return row
    }
    func overlay(_ rows: [Row]) -> LiveOverlay { LiveOverlay(version: OverlayVersion(epoch: 1, revision: 1), blocks: rows) }
    var live = OverlayReducer(overlay: overlay([block("calm")]))
    #expect(live.receive(overlay([block("calm")])) == .ignored)
    #expect(live.receive(overlay([block("wild")])) == .conflict)
  }

  // MARK: Intake

  @Test func `HB-OVER-06 the first passes at once, a later one no sooner than 100 ms after it, the newest of those that wait`() {
    var intake = IntakeThrottle()
    let start = Instant.zero + .seconds(1)
    #expect(intake.offer(overlay(3, 1, "a"), epoch: 3, at: start) == .pass(replaced: false))
    let due = start + .milliseconds(100)
    #expect(intake.offer(overlay(3, 2, "b"), epoch: 3, at: start + .milliseconds(20)) == .hold(until: due, replaced: false))
    #expect(intake.offer(overlay(3, 4, "d"), epoch: 3, at: start + .milliseconds(40)) == .hold(until: due, replaced: true))
    #expect(intake.offer(overlay(3, 3, "c"), epoch: 3, at: start + .milliseconds(60)) == .drop)
    #expect(intake.release(at: due)?.version.revision == 4)
    #expect(intake.release(at: due) == nil)
  }

  @Test(arguments: [(99_999_999, false), (100_000_000, true), (100_000_001, true)])
  func `HB-OVER-06 one nanosecond below 100 ms waits, 100 ms passes`(nanoseconds: Int64, passes: Bool) {
    var intake = IntakeThrottle()
    _ = intake.offer(overlay(3, 1, "a"), epoch: 3, at: .zero)
    let decision = intake.offer(overlay(3, 2, "b"), epoch: 3, at: .zero + .nanoseconds(nanoseconds))
    #expect(decision == (passes ? .pass(replaced: false) : .hold(until: .zero + .milliseconds(100), replaced: false)))
  }

  @Test func `HB-OVER-06 a newer epoch passes at once and leaves the slot alone`() {
    var intake = IntakeThrottle()
    _ = intake.offer(overlay(3, 1, "a"), epoch: 3, at: .zero)
    _ = intake.offer(overlay(3, 2, "b"), epoch: 3, at: .zero + .milliseconds(10))
    #expect(intake.offer(overlay(4, 1, "n"), epoch: 3, at: .zero + .milliseconds(20)) == .pass(replaced: false))
    #expect(intake.waiting?.version == OverlayVersion(epoch: 3, revision: 2))
    #expect(intake.offer(overlay(1, 1, "n"), epoch: nil, at: .zero + .milliseconds(20)) == .pass(replaced: false))
  }

  @Test func `HB-OVER-06 HB-FIG-03 a hundred events in two seconds give twenty overlay changes`() {
    var phone = CoreDriver()
    phone.up()
    for n in 0..<100 {
      phone.advance(to: Int64(n) * 20)
      phone.overlay(Int64(n) + 1, "word \(n)")
    }
    phone.advance(to: 1_999)
    let changes = phone.notes.filter { $0.note.kind == "overlay" }.map { $0.at.nanoseconds / 1_000_000 }
    #expect(changes == (0..<20).map { Int64($0) * 100 })
    #expect(phone.noted("event").filter { $0["verdict"] == "used" }.count == 20)
  }

  @Test func `HB-OVER-06 a run event never waits`() {
    var phone = CoreDriver()
    phone.up()
    phone.overlay(1, "a")
    phone.advance(to: 10)
    phone.overlay(2, "b")
    phone.runStarted()
    #expect(phone.phone.holds(state: "run-active"))
    #expect(phone.noted("overlay").count == 1)
    phone.advance(to: 100)
    #expect(phone.noted("overlay").count == 2)
  }

  @Test func `HB-OVER-07 the phone never goes back: only a load enters a newer epoch`() {
    var phone = CoreDriver()
    phone.up()
    phone.overlay(5, "five")
    phone.advance(to: 3_000)
    phone.runEnded()
    phone.answer(.load, CoreDriver.envelope(epoch: 4))
    phone.advance(to: 4_000)
    phone.overlay(9, "late", epoch: 3)
    let versions = phone.noted("overlay").map { "\($0["epoch"]?.int ?? -1)/\($0["revision"]?.int ?? -1)" }
    #expect(versions == ["3/5", "4/0"])
  }

  @Test func `HB-ENV-11 an invalid event is dropped and counted, an invalid overlay event marks stale too`() {
    var phone = CoreDriver()
    phone.up()
    phone.advance(to: 3_000)
    phone.event("session:updated", ["sessionId": "ses-01", "updatedAt": "soon", "title": nil])
    #expect(phone.noted("event").last?["verdict"] == "dropped")
    #expect(phone.noted("event").last?["reason"] == "event.type:updatedAt")
    #expect(phone.new() == [])
    phone.event("chat:timeline-overlay", ["sessionId": "ses-01", "threadId": nil, "settlementEpoch": 3, "revision": -1, "blocks": []])
    #expect(phone.noted("event").last?["reason"] == "overlay.revision.out-of-range")
    #expect(phone.new() == ["run.chatLoad ses-01"])
    #expect(phone.loads == ["invalid-event 1"])
  }

  // MARK: Shared fixtures

  @Test(arguments: ["overlay-sequence", "overlay-late-snapshot"])
  func
    `HB-OVER-01 HB-OVER-02 HB-OVER-03 HB-OVER-04 HB-OVER-05 HB-SNAP-01 HB-SNAP-02 HB-SNAP-03 HB-SNAP-04 HB-SNAP-05 HB-FIG-04 the shared overlay fixtures`(
      name: String
    ) throws
  {
    guard let folder = TestFiles.fixtures() else { return }
    let bytes = try #require(TestFiles.bytes("\(folder)/hbcode/\(name).json"))
    let file = try JSONReader.value(bytes)
    let start = try #require(file["start"])
    for run in file["runs"]?.array ?? [file] {
      var rows: [Row] = []
      for row in start["canonicalRows"]?.array ?? [] { rows.append(try Row.decode(row, at: "")) }
      let first = try LiveOverlay.decode(
        ["settlementEpoch": start["settlementEpoch"] ?? .null, "revision": start["revision"] ?? .null, "blocks": start["blocks"] ?? .null])
      let active = start["activeRun"]?.string.map { ActiveRun(runId: $0, threadId: nil, turnId: nil, startedAt: 0) }
      var timeline = Timeline(
        live: OverlayReducer(overlay: first, counter: start["counter"]?.int ?? 0, activeRun: active), canonical: rows)
      var captured = 0
      for (index, step) in (run["steps"]?.array ?? []).enumerated() {
        let place = "\(run["name"]?.string ?? name), step \(index)"
        let input = try #require(step["in"])
        let expect = try #require(step["expect"])
        var verdict = "used"
        switch input["type"]?.string {
        case "overlay":
          var fields = try #require(input.object)
          fields["type"] = nil
          verdict = timeline.live.receive(try LiveOverlay.decode(.object(fields))).rawValue
        case "run-started":
          timeline.live.runStarted(ActiveRun(runId: input["runId"]?.string ?? "", threadId: nil, turnId: nil, startedAt: 0))
        case "run-finished": timeline.live.runEnded(input["runId"]?.string ?? "")
        case "load-start":
          captured = timeline.live.counter
          #expect(captured == expect["captured"]?.int, "\(place)")
          continue
        case "snapshot":
          let answer = try HistoryEnvelope.decode(input["result"] ?? .null, .latest)
          verdict = SnapshotMerge.apply(answer, captured: captured, to: &timeline).outcome.rawValue
        default: Issue.record("unknown input at \(place)")
        }
        #expect(verdict == expect["verdict"]?.string, "\(place)")
        #expect(timeline.live.version?.epoch == expect["settlementEpoch"]?.integer, "\(place)")
        #expect(timeline.live.version?.revision == expect["revision"]?.integer, "\(place)")
        #expect(timeline.live.overlay?.blocks.first?.text == expect["text"]?.string, "\(place)")
        #expect(timeline.live.counter == expect["counter"]?.int, "\(place)")
        if let canonical = expect["canonical"]?.array {
          #expect(timeline.canonical.map { JSON.string($0.identity) } == canonical, "\(place)")
        }
        if let layer = expect["liveLayer"]?.array { #expect(timeline.liveLayer.map { JSON.string($0.identity) } == layer, "\(place)") }
        if let run = expect["activeRun"] { #expect(timeline.live.activeRun?.runId == run.string, "\(place)") }
        if let cursor = expect["oldestCursor"] { #expect(timeline.pagination?.oldestCursor == cursor.string, "\(place)") }
      }
    }
  }
}
