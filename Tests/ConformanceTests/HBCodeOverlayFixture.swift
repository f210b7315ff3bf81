import HBCodeCore
import HBCodeDialect
import Simulation
import Testing
import Wire

/// Runs the `overlay` kind: live events and snapshots against one conversation, as the phone keeps it (timeline and scheduler).
enum HBCodeOverlayFixture {
  static func run(_ fixture: JSON) throws {
    let runs = fixture["runs"]?.array ?? [fixture]
    #expect(!runs.isEmpty)
    for run in runs {
      var chat = try Conversation(try #require(run["start"] ?? fixture["start"]))
      let name = run["name"]?.string ?? "run"
      for (number, step) in try #require(run["steps"]?.array).enumerated() {
        try chat.take(try #require(step["in"]), expecting: step["expect"] ?? [:], "\(name), step \(number + 1)")
      }
    }
  }

  /// `shown`, `pinned` and `confirmedEmpty` of an envelope fixture: what a first load leaves on screen.
  static func firstLoad(_ envelope: HistoryEnvelope, _ expect: JSON) throws {
    var timeline = Timeline()
    let report = SnapshotMerge.apply(envelope, captured: 0, to: &timeline)
    let display = Display(timeline, echoes: [])
    if let wanted = expect["shown"]?.array { #expect(display.rows.map { JSON.string($0.id) } == wanted) }
    if let wanted = expect["pinned"] { #expect(display.pinned == wanted.string) }
    if let wanted = expect["confirmedEmpty"]?.bool {
      #expect((report.outcome == .applied && timeline.canonical.isEmpty && timeline.isConfirmed) == wanted)
    }
  }
}

private struct Conversation {
  var timeline: Timeline
  var scheduler = LoadScheduler(hasSnapshot: true)
  var captured = 0
  var loads = 0
  /// The load of the fixture that is in flight.
  var fence: Fence?
  var now = Instant.zero + .seconds(10)

  init(_ start: JSON) throws {
    var overlay: LiveOverlay?
    if let epoch = start["settlementEpoch"]?.integer {
      let version = OverlayVersion(epoch: epoch, revision: start["revision"]?.integer ?? 0)
      let blocks = try (start["blocks"]?.array ?? []).enumerated().map { try Row.decode($1, at: "blocks[\($0)]") }
      overlay = LiveOverlay(version: version, blocks: blocks)
    }
    let run = start["activeRun"]?.string.map { ActiveRun(runId: $0, threadId: nil, turnId: nil, startedAt: 0) }
    let rows = try (start["canonicalRows"]?.array ?? []).enumerated().map { try Row.decode($1, at: "canonicalRows[\($0)]") }
    timeline = Timeline(
      live: OverlayReducer(overlay: overlay, counter: start["counter"]?.int ?? 0, activeRun: run), canonical: rows)
    timeline.isConfirmed = true
    if let cursor = start["oldestCursor"] {
      timeline.pagination = Timeline.Pagination(boundaryToken: "start", oldestCursor: cursor.string, hasOlderEntries: cursor.string != nil)
    }
    scheduler.activateFresh()
  }

  mutating func take(_ input: JSON, expecting expect: JSON, _ place: String) throws {
    if let t = input["t"]?.integer { now = max(now, .zero + .seconds(10) + .milliseconds(t)) } else { now = now + .milliseconds(150) }
    var verdict: String?
    var reload = false
    switch input["type"]?.string {
    case "overlay":
      do throws(DecodeFailure) {
        var object = JSONObject()
        for name in ["settlementEpoch", "revision", "blocks"] { object[name] = input[name] }
        let result = timeline.live.receive(try LiveOverlay.decode(.object(object)))
        verdict = result.rawValue
        reload = result == .refused
        if reload { scheduler.request(.epoch, at: now) }
      } catch {
        verdict = "invalid"
        reload = true
        scheduler.request(.invalidEvent, at: now)
      }
    case "run-started":
      timeline.live.runStarted(
        ActiveRun(
          runId: input["runId"]?.string ?? "run", threadId: input["threadId"]?.string, turnId: input["turnId"]?.string, startedAt: 0))
      verdict = "used"
    case "run-finished", "run-failed", "run-aborted", "run-cancelled":
      timeline.live.runEnded(input["runId"]?.string ?? timeline.live.activeRun?.runId ?? "run")
      verdict = "used"
      reload = true
      scheduler.request(.runEnded, at: now)
    case "load-start":
      scheduler.request(.refresh, at: now)
      start()
    case "tick":
      if input["t"] == nil { now = now + LoadScheduler.startSpacing }
      start()
    case "snapshot": verdict = try snapshot(input)
    case let other: Issue.record("\(place): no input \(other ?? "without a type")")
    }
    check(expect, verdict, reload, place)
  }

  private mutating func start() {
    guard let operation = scheduler.start(number: loads + 1, at: now) else { return }
    loads += 1
    fence = operation.fence
    captured = timeline.live.counter
  }

  private mutating func snapshot(_ input: JSON) throws -> String {
    guard let fence, scheduler.accepts(fence) else { return "fenced" }
    var outcome = "failed"
    var applied = false
    if let result = input["result"] {
      do throws(DecodeFailure) {
        let report = SnapshotMerge.apply(try HistoryEnvelope.decode(result, .latest), captured: captured, to: &timeline)
        outcome = report.outcome.rawValue
        applied = report.outcome != .overlayRejected
      } catch {
        outcome = "invalid"
      }
    }
    scheduler.end(applied ? .completed : .failed, appliedSnapshot: outcome == "applied", at: now, u: 0)
    return outcome
  }

  private func check(_ expect: JSON, _ verdict: String?, _ reload: Bool, _ place: String) {
    if let wanted = expect["verdict"] { #expect(verdict == wanted.string, "\(place)") }
    if let wanted = expect["settlementEpoch"] { #expect(timeline.live.version?.epoch == wanted.integer, "\(place)") }
    if let wanted = expect["revision"] { #expect(timeline.live.version?.revision == wanted.integer, "\(place)") }
    if let wanted = expect["text"] { #expect(timeline.live.overlay?.blocks.first?.text == wanted.string, "\(place)") }
    if let wanted = expect["counter"] { #expect(timeline.live.counter == wanted.int, "\(place)") }
    if let wanted = expect["reload"] { #expect(reload == wanted.bool, "\(place)") }
    if let wanted = expect["captured"] { #expect(captured == wanted.int, "\(place)") }
    if let wanted = expect["canonical"]?.array { #expect(timeline.canonical.map { JSON.string($0.identity) } == wanted, "\(place)") }
    if let wanted = expect["liveLayer"]?.array { #expect(timeline.liveLayer.map { JSON.string($0.identity) } == wanted, "\(place)") }
    if let wanted = expect["activeRun"] { #expect(timeline.live.activeRun?.runId == wanted.string, "\(place)") }
    if let wanted = expect["oldestCursor"] { #expect(timeline.pagination?.oldestCursor == wanted.string, "\(place)") }
    if let wanted = expect["loads"] { #expect(loads == wanted.int, "\(place)") }
    if let wanted = expect["pending"] { #expect(pending == wanted.int, "\(place)") }
  }

  private var pending: Int {
    switch scheduler.phase {
    case .pending, .active(_, then: .some): 1
    case .parked, .idle, .active(_, then: nil), .retryWait: 0
    }
  }
}
