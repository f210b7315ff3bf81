import Contract
import HBCodeCore
import HBCodeDialect
import Simulation
import Testing
import Wire

@Suite struct CoreLoadTests {
  /// A phone whose first load is in flight at 0.
  private func first(u: Double = 0) -> CoreDriver {
    var phone = CoreDriver(CoreDriver.start(connected: false, host: nil), u: u)
    phone.up()
    return phone
  }

  private func ready(u: Double = 0) -> CoreDriver {
    var phone = CoreDriver(u: u)
    phone.up()
    return phone
  }

  @Test func `HB-LOAD-01 HB-LOAD-02 HB-FIG-09 four refreshes within one load are one active and one pending: two loads in all`() {
    var phone = ready()
    phone.advance(to: 5_000)
    phone.does("refresh")
    for n in 1...3 {
      phone.advance(to: 5_000 + Int64(n) * 10)
      phone.does("refresh")
    }
    #expect(phone.times(.load) == [5_000])
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 7_000)
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 15_000)
    #expect(phone.times(.load) == [5_000, 7_000])
  }

  @Test func `HB-LOAD-02 a pending request keeps all reasons; requests of one instant are one`() {
    var phone = ready()
    phone.advance(to: 5_000)
    phone.runEnded()
    phone.event("session:updated", ["sessionId": "ses-01", "updatedAt": 1_790_000_009_000, "title": nil])
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 8_000)
    #expect(phone.times(.load) == [5_000])
    phone.does("refresh")
    phone.advance(to: 8_001)
    phone.does("refresh")
    phone.runEnded("run-2")
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 10_000)
    #expect(phone.loads == ["run-ended 1", "refresh 1", "refresh+run-ended 1"])
  }

  @Test func `HB-LOAD-03 HB-HOST-11 HB-INV-23 an answer of a load that was fenced is dropped`() {
    var phone = first()
    let id = phone.last(.load)?.id ?? ""
    phone.select("ses-02")
    #expect(phone.outcomes == ["fenced"])
    phone.select("ses-01")
    phone.answer(id, CoreDriver.envelope())
    #expect(phone.outcomes == ["fenced", "fenced"])
    #expect(phone.rows == [])
  }

  @Test func `HB-LOAD-03 all three fences must match`() throws {
    var scheduler = LoadScheduler()
    scheduler.activate(.selected)
    let operation = scheduler.start(number: 4, at: .zero)
    let fence = try #require(operation?.fence)
    #expect(scheduler.accepts(fence))
    var other = fence
    other.operation = 5
    #expect(!scheduler.accepts(other))
    other = fence
    other.target += 1
    #expect(!scheduler.accepts(other))
    other = fence
    other.activation += 1
    #expect(!scheduler.accepts(other))
    _ = scheduler.park()
    #expect(!scheduler.accepts(fence))
  }

  @Test func `HB-LOAD-04 each mark asks for one load of the selected chat`() {
    let marks: [(String, (inout CoreDriver) -> Void)] = [
      ("run-ended", { $0.runEnded("run-1", "finished") }), ("run-ended", { $0.runEnded("run-1", "failed") }),
      ("run-ended", { $0.runEnded("run-1", "aborted") }), ("run-ended", { $0.runEnded("run-1", "cancelled") }),
      ("recovered", { $0.event("desktop:recovered", ["desktopId": "desk-1"]) }),
      (
        "foreground",
        {
          $0.lifecycle(.background)
          $0.lifecycle(.foreground)
        }
      ), ("refresh", { $0.does("refresh") }), ("selected", { $0.select("ses-01") }),
      ("updated", { $0.event("session:updated", ["sessionId": "ses-01", "updatedAt": 5, "title": nil]) }),
      ("gap", { $0.event("relay:gap", ["fromMs": 1, "toMs": 2]) }),
    ]
    for (reason, mark) in marks {
      var phone = ready()
      phone.advance(to: 5_000)
      mark(&phone)
      #expect(phone.loads == ["\(reason) 1"], "\(reason)")
    }
  }

  @Test func `HB-LOAD-04 another selected desktop opens its socket, and coming back loads`() {
    var phone = ready()
    phone.advance(to: 5_000)
    phone.does("desktop", ["desktop": "desk-2"])
    #expect(phone.opened == ["/v1/desktops/desk-1", "/v1/desktops/desk-2"])
    #expect(phone.closed == [1000])
    phone.up()
    phone.does("desktop", ["desktop": "desk-1"])
    phone.up()
    #expect(phone.loads == ["desktop+recovered 1"])
  }

  @Test func `HB-LOAD-05 in the background or parked only the mark stays, and an applied load clears it`() {
    var phone = ready()
    phone.advance(to: 5_000)
    phone.lifecycle(.background)
    phone.runEnded()
    phone.does("refresh")
    #expect(phone.requests(.load).isEmpty)
    phone.lifecycle(.foreground)
    #expect(phone.loads == ["foreground 1"])
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 14_000)
    #expect(phone.requests(.load).count == 1)
  }

  @Test(arguments: [(99, 0), (100, 0), (101, 1)])
  func `HB-LOAD-06 an updatedAt that is not greater than the greatest seen does nothing`(at: Int64, loads: Int) {
    var phone = ready()
    phone.event("session:updated", ["sessionId": "ses-01", "updatedAt": 100, "title": nil])
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 5_000)
    phone.event("session:updated", ["sessionId": "ses-01", "updatedAt": .integer(at), "title": nil])
    #expect(phone.requests(.load).count == 1 + loads)
  }

  @Test(arguments: [(0.0, 60_000), (0.3, 78_000)])
  func `HB-LOAD-07 HB-LOAD-08 HB-FIG-09 a quiet chat on screen loads every 60 to 78 s`(u: Double, wait: Int64) {
    var phone = ready(u: u)
    phone.advance(to: wait - 1)
    #expect(phone.requests(.load).isEmpty)
    phone.advance(to: wait)
    #expect(phone.loads == ["periodic 1"])
    phone.advance(to: wait + 100)
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 2 * wait + 99)
    #expect(phone.requests(.load).count == 1)
    phone.advance(to: 2 * wait + 100)
    #expect(phone.requests(.load).count == 2)
  }

  @Test(arguments: [(0.0, 10_000), (0.3, 13_000)])
  func `HB-LOAD-07 HB-FIG-09 while a run is active it loads every 10 to 13 s`(u: Double, wait: Int64) {
    var phone = ready(u: u)
    phone.advance(to: 1_000)
    phone.runStarted()
    phone.advance(to: 1_000 + wait - 1)
    #expect(phone.requests(.load).isEmpty)
    phone.advance(to: 1_000 + wait)
    #expect(phone.loads == ["periodic 1"])
  }

  @Test func `HB-LOAD-08 a drop of the base shortens the rest of the wait but never lengthens it, a rise leaves it`() {
    // Rest above a new 10 s wait: shortened. Rest below: kept.
    var late = ready()
    late.advance(to: 55_000)
    late.runStarted()
    late.advance(to: 60_000)
    #expect(late.times(.load) == [60_000])
    var risen = ready()
    risen.advance(to: 1_000)
    risen.runStarted()
    risen.advance(to: 6_000)
    risen.runEnded()
    risen.answer(.load, CoreDriver.envelope(epoch: 4))
    risen.advance(to: 65_999)
    #expect(risen.times(.load) == [6_000])
    risen.advance(to: 66_000)
    #expect(risen.times(.load) == [6_000, 66_000])
    var cadence = LoadCadence()
    cadence.arm(pending: true, at: .zero, u: 0)
    #expect(cadence.update(pending: false, at: .zero + .seconds(1), u: 0) == false)
    #expect(cadence.due == .zero + .seconds(10))
  }

  @Test func `HB-LOAD-09 a blocked tick is skipped: background, desktop offline, older page, unconfirmed empty chat`() {
    var background = ready()
    background.lifecycle(.background)
    background.advance(to: 61_000)
    #expect(background.requests(.load).isEmpty)

    var offline = ready()
    offline.event("desktop:offline", ["desktopId": "desk-1"])
    offline.advance(to: 61_000)
    #expect(offline.requests(.load).isEmpty)

    var lost = ready()
    lost.down()
    lost.advance(to: 61_000)
    #expect(lost.requests(.load).isEmpty)

    var older = CoreDriver(CoreDriver.start(host: CoreDriver.envelope(cursor: "cur-1")))
    older.up()
    older.advance(to: 59_000)
    older.does("older")
    older.advance(to: 60_000)
    #expect(older.requests(.load).isEmpty)
    // The reveal asked once and was not answered, the user asks now.
    #expect(older.requests(.loadPageBefore).count == 2)

    var empty = first()
    empty.answer(.load, CoreDriver.envelope(rows: [], state: ["type": "pending"]))
    empty.advance(to: 200_000)
    #expect(empty.requests(.load).count == 1)
  }

  @Test func `HB-LOAD-10 a failed load leaves the rows and marks the host for its next activation`() {
    var phone = ready()
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.fail(.load, "internal")
    #expect(phone.outcomes == ["failed"])
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1"])
    phone.advance(to: 14_000)
    #expect(phone.requests(.load).count == 1)
    phone.select("ses-02")
    phone.select("ses-01")
    #expect(phone.loads.last == "selected 1")
  }

  @Test func `HB-LOAD-11 HB-LOAD-12 HB-FIG-09 a failed first load is tried three more times: at 0, 0.75, 2.25 and 5.25 s, then not again`()
  {
    var phone = first()
    for time: Int64 in [0, 750, 2_250, 5_250] {
      phone.advance(to: time)
      phone.fail(.load, "internal")
    }
    phone.advance(to: 60_000)
    #expect(phone.times(.load) == [0, 750, 2_250, 5_250])
    #expect(phone.loads == ["first+recovered 1", "retry 2", "retry 3", "retry 4"])
  }

  @Test(arguments: [-0.2, 0, 0.2])
  func `HB-LOAD-12 the waits lie in 0.6-0.9, 1.2-1.8 and 2.4-3.0 s`(u: Double) {
    let milliseconds = (1...3).map { LoadScheduler.retryWait($0, u: u).nanoseconds / 1_000_000 }
    switch u {
    case -0.2: #expect(milliseconds == [600, 1_200, 2_400])
    case 0: #expect(milliseconds == [750, 1_500, 3_000])
    default: #expect(milliseconds == [900, 1_800, 3_000])
    }
  }

  @Test func `HB-LOAD-12 any failure counts, waiting for a usable desktop uses up no try, parking ends the retries`() {
    var phone = first()
    phone.advance(to: 20_000)
    #expect(phone.noted("load.end").last?["reason"] == "timeout")
    phone.advance(to: 20_750)
    phone.down()
    phone.advance(to: 60_000)
    #expect(phone.requests(.load).count == 2)
    phone.up()
    #expect(phone.loads.last == "retry+recovered 3")
    phone.fail(.load, "busy")
    phone.select("ses-02")
    phone.advance(to: 70_000)
    #expect(phone.requests(.load).filter { $0.params["sessionId"] == "ses-01" }.count == 3)
  }

  @Test(arguments: [1_999, 2_000, 2_001])
  func `HB-LOAD-13 HB-FIG-09 two reloads start at least 2 s apart, start to start`(second: Int64) {
    var phone = ready()
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.advance(to: 5_100)
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 5_000 + second)
    phone.does("refresh")
    phone.advance(to: 9_000)
    #expect(phone.times(.load) == [5_000, 5_000 + Double(max(second, 2_000))])
  }

  @Test func `HB-LOAD-13 a new target is exempt from the 2 s`() {
    var scheduler = LoadScheduler(hasSnapshot: true)
    scheduler.activate(.selected)
    let active = scheduler.start(number: 1, at: .zero)
    #expect(scheduler.retarget(.selected) == active)
    let next = scheduler.start(number: 2, at: .zero + .milliseconds(1))
    #expect(next?.fence.target == 1)
  }

  @Test func `HB-LOAD-13 A, B, A within 2 s: A's rows show at once and its reload waits`() {
    var phone = ready()
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 5_500)
    phone.select("ses-02")
    phone.advance(to: 6_000)
    phone.select("ses-01")
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1"])
    phone.advance(to: 8_000)
    let own = phone.sent.filter { $0.request.params["sessionId"] == "ses-01" && $0.request.method == "run.chatLoad" }
    #expect(own.map { $0.at.nanoseconds / 1_000_000 } == [5_000, 7_000])
  }

  @Test func `HB-LOAD-14 a latest window asks for 12 rows, an older page for 100`() {
    var phone = CoreDriver(CoreDriver.start(host: CoreDriver.envelope(cursor: "cur-1")))
    phone.up()
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.does("older")
    #expect(phone.last(.load)?.params == ["sessionId": "ses-01", "limit": 12, "anchor": nil])
    #expect(
      phone.last(.loadPageBefore)?.params == ["sessionId": "ses-01", "cursor": "cur-1", "boundaryToken": "bt-1", "limit": 100])
  }

  @Test func `HB-LOAD-15 a lost connection fails the active load, a pending one survives and starts when the desktop can take it`() {
    var phone = ready()
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.advance(to: 5_010)
    phone.does("refresh")
    phone.down()
    #expect(phone.outcomes == ["failed"])
    #expect(phone.noted("load.end").last?["reason"] == "connection_lost")
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1"])
    phone.advance(to: 9_000)
    phone.up()
    #expect(phone.loads.last == "refresh+recovered 1")
    #expect(phone.times(.load) == [5_000, 9_000])
  }

  @Test func `HB-LOAD-16 a load is first until a snapshot was applied`() {
    var phone = first()
    #expect(phone.noted("load.start").map { $0["first"] } == [true])
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 5_000)
    phone.does("refresh")
    #expect(phone.noted("load.start").map { $0["first"] } == [true, false])
  }

  @Test func `HB-LOAD-17 a pending request starts next, also after a failure`() {
    var phone = ready()
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.advance(to: 8_000)
    phone.does("refresh")
    phone.fail(.load, "internal")
    #expect(phone.times(.load) == [5_000, 8_000])
  }

  @Test
  func
    `HB-OVER-04 HB-LOAD-02 a newer-epoch event during a load: one pending reload 2 s after the start, also if the load brings that epoch`()
  {
    var phone = ready()
    phone.advance(to: 5_000)
    phone.does("refresh")
    phone.advance(to: 5_050)
    phone.overlay(1, "n", epoch: 4)
    phone.overlay(2, "m", epoch: 4)
    phone.advance(to: 5_100)
    phone.answer(.load, CoreDriver.envelope(epoch: 4, revision: 2, blocks: [CoreDriver.live("lg", [2, 1], "m")]))
    phone.overlay(3, "o", epoch: 4)
    #expect(phone.noted("overlay").count == 2)
    phone.advance(to: 8_000)
    #expect(phone.times(.load) == [5_000, 7_000])
  }

  // MARK: HOST

  @Test func `HB-HOST-01 HB-HOST-05 HB-FIG-05 seven chats in turn: the first is released and starts with a first load`() {
    var phone = first()
    phone.answer(.load, CoreDriver.envelope())
    for n in 2...7 {
      phone.advance(to: Int64(n) * 3_000)
      phone.select("ses-0\(n)")
      phone.answer(.load, CoreDriver.envelope())
    }
    #expect(phone.noted("host.commit").last?["order"] == ["ses-07", "ses-06", "ses-05", "ses-04", "ses-03", "ses-02"])
    #expect(phone.noted("host.release").map { $0["key"] } == ["ses-01"])
    phone.advance(to: 30_000)
    phone.select("ses-01")
    #expect(phone.noted("load.start").last?["first"] == true)
    #expect(phone.rows == [])
    #expect(phone.noted("host.release").map { $0["key"] } == ["ses-01", "ses-02"])
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 33_000)
    phone.select("ses-03")
    #expect(phone.noted("load.start").last?["first"] == false)
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1"])
  }

  @Test func `HB-HOST-02 HB-HOST-07 HB-HOST-09 only the chat on screen loads`() {
    var phone = ready()
    phone.advance(to: 5_000)
    phone.select("ses-02")
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 8_000)
    phone.runEnded(session: "ses-01")
    phone.advance(to: 60_000)
    #expect(phone.requests(.load).allSatisfy { $0.params["sessionId"] == "ses-02" })
    #expect(phone.noted("host.park").map { $0["key"] } == ["ses-01"])
  }

  @Test func `HB-HOST-03 HB-HOST-04 staging publishes nothing; of two stagings before one commit the last wins`() {
    func key(_ n: Int) -> HostKey { HostKey(desktop: "d", project: "p", session: "s\(n)") }
    var cache = HostCache()
    cache.stage(key(1))
    #expect(cache.order == [])
    _ = cache.commit()
    cache.stage(key(2))
    cache.stage(key(3))
    #expect(cache.order == [key(1)])
    #expect(cache.commit()?.selected == key(3))
    #expect(cache.order == [key(3), key(1)])
    #expect(!cache.contains(key(2)))
    #expect(cache.commit() == nil)
  }

  @Test func `HB-HOST-06 a released host's answers are dropped and its outbox goes on`() {
    var phone = first()
    let id = phone.last(.load)?.id ?? ""
    phone.send(1)
    for n in 2...7 { phone.select("ses-0\(n)") }
    #expect(phone.noted("host.release").count == 1)
    phone.answer(id, CoreDriver.envelope())
    #expect(phone.outcomes.first == "fenced")
    phone.answer(.outboxLoad, CoreDriver.list(0))
    #expect(phone.requests(.outboxSubmit).count == 1)
    phone.answer(.outboxSubmit, CoreDriver.list(1, "op-1", outcome: "updated"))
    #expect(phone.states("op-1") == ["new", "sent", "confirmed"])
  }

  @Test func `HB-HOST-08 HB-HOST-10 coming back shows the kept rows and starts one load that merges`() {
    var phone = ready()
    phone.advance(to: 3_000)
    phone.select("ses-02")
    phone.answer(.load, CoreDriver.envelope(rows: []))
    phone.advance(to: 6_000)
    phone.select("ses-01")
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1"])
    phone.answer(.load, CoreDriver.envelope(rows: CoreDriver.defaultRows + [CoreDriver.row("system", "s1", [2, 0])]))
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1", "system:s1"])
    #expect(phone.requests(.load).count == 2)
  }

  @Test func `HB-HOST-11 parking drops the result of the active load and turns a pending one into the mark`() {
    var phone = ready()
    phone.advance(to: 3_000)
    phone.does("refresh")
    phone.advance(to: 3_010)
    phone.does("refresh")
    phone.select("ses-02")
    #expect(phone.outcomes == ["fenced"])
    phone.advance(to: 4_000)
    #expect(phone.requests(.load).count == 2)
  }

  @Test func `HB-HOST-12 a parked host ignores overlay and run events, outbox events are kept`() {
    var phone = ready()
    phone.advance(to: 3_000)
    phone.select("ses-02")
    phone.overlay(1, "late", session: "ses-01")
    phone.runStarted(session: "ses-01")
    phone.outboxChanged(CoreDriver.list(4, "op-a"), session: "ses-01")
    #expect(phone.noted("overlay").isEmpty)
    phone.advance(to: 6_000)
    phone.select("ses-01")
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1"])
    #expect(!phone.phone.holds(state: "run-active"))
    #expect(phone.queue == ["op-a queued"])
  }

  @Test func `HB-HOST-13 a subagent thread has a view model outside the six, its own load and the lease`() {
    var phone = ready()
    phone.advance(to: 3_000)
    _ = phone.new()
    phone.select("ses-01", thread: "thr-9")
    #expect(phone.new() == ["hold thr-9", "run.chatLoadThread ses-01"])
    #expect(phone.last(.loadThread)?.params["threadId"] == "thr-9")
    #expect(phone.noted("host.commit").last?["order"] == ["ses-01"])
    phone.answer(.loadThread, CoreDriver.envelope(rows: [CoreDriver.row("agent-reply", "t1", [1, 0])], cursor: "cur-t"))
    #expect(phone.rows == ["agent-reply:t1"])
    phone.advance(to: 3_128)
    #expect(phone.last(.loadThreadPageBefore)?.params["threadId"] == "thr-9")
    phone.advance(to: 6_000)
    _ = phone.new()
    phone.select("ses-01")
    #expect(phone.new() == ["hold ses-01", "run.chatLoad ses-01"])
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1"])
  }

  // MARK: LEASE

  @Test func `HB-LEASE-01 HB-LEASE-03 selecting B moves the one lease there, before B's load`() {
    var phone = ready()
    phone.advance(to: 3_000)
    phone.select("ses-02")
    #expect(phone.new() == ["hold ses-02", "run.chatLoad ses-02"])
    #expect(phone.last(.timelineInterest)?.params == ["sessionId": "ses-02", "threadId": nil, "hold": true])
  }

  @Test func `HB-LEASE-02 HB-FIG-10 the phone renews every 20 s`() {
    var phone = first()
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 59_999)
    #expect(phone.times(.timelineInterest) == [0, 20_000, 40_000])
    phone.advance(to: 60_000)
    #expect(phone.times(.timelineInterest) == [0, 20_000, 40_000, 60_000])
    #expect(Lease.kept == .seconds(60))
  }

  @Test func `HB-LEASE-04 on reconnect and foreground the phone holds at once and counts anew; in the background it releases`() {
    var phone = first()
    phone.advance(to: 5_000)
    phone.down()
    phone.advance(to: 30_000)
    phone.up()
    phone.advance(to: 49_999)
    #expect(phone.times(.timelineInterest) == [0, 30_000])
    phone.advance(to: 50_000)
    #expect(phone.times(.timelineInterest) == [0, 30_000, 50_000])
    _ = phone.new()
    phone.advance(to: 55_000)
    phone.lifecycle(.background)
    #expect(phone.new().last == "release ses-01")
    phone.advance(to: 90_000)
    #expect(phone.times(.timelineInterest) == [0, 30_000, 50_000, 55_000])
    phone.lifecycle(.foreground)
    phone.advance(to: 110_000)
    #expect(phone.times(.timelineInterest) == [0, 30_000, 50_000, 55_000, 90_000, 110_000])
  }

  @Test(arguments: [(60_000, 0), (60_001, 1)])
  func `HB-LEASE-05 HB-FIG-10 a renewal answered more than 60 s after the answered one before marks stale`(at: Int64, marks: Int) {
    var phone = first()
    phone.answer(.timelineInterest, ["keepMs": 60_000])
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 59_900)
    phone.advance(to: at)
    phone.answer(.timelineInterest, ["keepMs": 60_000])
    phone.answer(.load, CoreDriver.envelope())
    phone.advance(to: 63_000)
    #expect(phone.loads.filter { $0.contains("lease") }.count == marks)
  }

  @Test func `HB-LEASE-06 every overlay event is complete: after a gap the next one is used as it is`() {
    var phone = ready()
    phone.overlay(1, "a")
    phone.advance(to: 1_000)
    phone.overlay(7, "a b c")
    #expect(phone.noted("overlay").map { $0["revision"] } == [1, 7])
  }

  // MARK: Lifecycle

  @Test func `HB-LOAD-04 after a suspension due timers fire once, then the foreground rule`() {
    var phone = ready()
    phone.lifecycle(.suspended)
    phone.sleep(to: 100_000)
    phone.lifecycle(.resumed)
    phone.advance(to: 100_000)
    #expect(phone.times(.load) == [100_000])
    #expect(phone.loads.first == "foreground 1")
  }

  @Test
  func `HB-OLDER-02 HB-OLDER-08 a page is stale after 8 s and its late answer dropped; pages add what is new, one without news ends them`()
  {
    var phone = CoreDriver(CoreDriver.start(host: CoreDriver.envelope(cursor: "cur-1")))
    phone.up()
    // The short chat's reveal asks for a page, which nobody answers: the cover lifts after 63 passes.
    phone.advance(to: 128)
    let late = phone.last(.loadPageBefore)?.id ?? ""
    phone.advance(to: 3_000)
    phone.does("older")
    #expect(phone.requests(.loadPageBefore).count == 1)
    phone.advance(to: 8_127)
    #expect(phone.phone.holds(state: "loading-older"))
    phone.advance(to: 8_128)
    #expect(!phone.phone.holds(state: "loading-older"))
    #expect(phone.noted("older.end").last?["outcome"] == "stale")
    func page(_ rows: [JSON], _ cursor: String?) -> JSON {
      [
        "boundaryToken": "bt-0", "timeline": .array(rows), "hasOlderEntries": .bool(cursor != nil),
        "oldestCursor": cursor.map(JSON.string) ?? .null,
      ]
    }
    let old = CoreDriver.row("system", "s0", [0, 5], "Old")
    phone.answer(late, page([old], "cur-0"))
    #expect(phone.rows == ["user:op:op-0", "agent-reply:g1"])
    phone.does("older")
    #expect(phone.requests(.loadPageBefore).count == 2)
    phone.answer(.loadPageBefore, page([old, CoreDriver.defaultRows[0]], "cur-0"))
    #expect(phone.rows == ["system:s0", "user:op:op-0", "agent-reply:g1"])
    phone.advance(to: 9_000)
    phone.does("older")
    #expect(phone.requests(.loadPageBefore).count == 3)
    phone.answer(.loadPageBefore, page([], "cur-0"))
    phone.advance(to: 10_000)
    phone.does("older")
    #expect(phone.requests(.loadPageBefore).count == 3)
  }
}
