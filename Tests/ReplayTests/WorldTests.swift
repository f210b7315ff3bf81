import Contract
import Faults
import Simulation
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Replay

/// What the link, the process and the clock do under each action.
struct WorldTests {
  private let system = Echo.system()
  private let one = EchoScenario(end: .seconds(20), [EchoScenario.send("m1", "hi", at: 10_000)])
  private let two = EchoScenario(
    end: .seconds(20), [EchoScenario.send("m1", "one", at: 10_000), EchoScenario.send("m2", "two", at: 10_010)])

  private func arrivals(_ told: Told) -> [String] {
    told.lines(.link, "arrive", showing: ["operation"], "name=POST /messages", "dir=out")
  }

  // MARK: - Ordering

  @Test func `frames of one connection arrive in the order of sending, also at one instant`() throws {
    let scenario = EchoScenario(
      end: .seconds(20), [EchoScenario.send("m1", "one", at: 10_000), EchoScenario.send("m2", "two", at: 10_000)])
    let told = try Story(system, scenario).run()
    #expect(arrivals(told) == ["0:10.050 m1", "0:10.050 m2"])
  }

  @Test func `at one instant the order of classes is the system's`() throws {
    // The event of m1 reaches the phone at 10.500; a gesture at that instant comes after it, or before it when users come first.
    let scenario = EchoScenario(end: .seconds(20), [EchoScenario.send("m1", "hi", at: 10_000), EchoScenario.like("m1", at: 10_500)])
    let frameFirst = try Story(system, scenario).run()
    #expect(frameFirst.entries(.user, "waits").isEmpty)
    #expect(frameFirst.instants(.user, "gesture", "do=like") == ["0:10.500"])
    var userFirst = system
    userFirst.tieOrder = [.user, .frame, .tape, .timer, .displayFrame]
    // All frames of the instant come before the user, not only those that were due when it began.
    let both = EchoScenario(
      end: .seconds(20),
      [EchoScenario.send("m1", "one", at: 10_000), EchoScenario.send("m2", "two", at: 10_000), EchoScenario.like("m1", at: 10_500)])
    let told = try Story(system, both).run()
    let like = try #require(told.entries(.user, "gesture", "do=like").first)
    #expect(told.entries(.core, "shown").map(\.at) == [like.at, like.at])
    #expect(told.entries(.core, "shown").allSatisfy { $0.index < like.index })
    let waits = try Story(userFirst, scenario).run()
    #expect(waits.instants(.user, "waits") == ["0:10.500"])
    #expect(waits.instants(.user, "gesture", "do=like") == ["0:10.500"])
  }

  @Test func `a connection opened while its endpoint is away is usable when that is over`() throws {
    let told = try Story(system, one).faults("disconnect,conn,*,at=5s,for=3s").run()
    #expect(
      told.lines(.link, "up", showing: ["conn"]) == ["0:00.000 1", "0:00.000 2", "0:08.000 3", "0:08.000 4"])
    #expect(
      told.lines(.link, "down", showing: ["conn", "who", "rule"]) == ["0:05.000 1 network 1", "0:05.000 2 network 1"])
  }

  @Test func `a break loses what is under way to the client, not what is under way to the server`() throws {
    let toServer = try Story(system, one).faults("disconnect,conn,*,at=10020ms").run()
    #expect(toServer.instants(.twin, "saved") == ["0:10.050"])
    #expect(
      toServer.lines(.link, "drop", showing: ["cause"]) == ["0:10.050 the connection is down"])
    let toClient = try Story(system, one).faults("disconnect,conn,*,at=10070ms").run()
    #expect(toClient.lines(.link, "drop", showing: ["cause"]).first == "0:10.100 the connection went down")
  }

  @Test func `a rule on one connection leaves the others alone`() throws {
    let told = try Story(system, one).faults("disconnect,conn,2,at=5s", "disconnect,conn,/nowhere,at=6s").run()
    #expect(told.lines(.link, "down", showing: ["conn"]) == ["0:05.000 2"])
    #expect(told.result.rules.map(\.fired) == [1, 0])
    #expect(told.result.rules[1].remark == "at its instant there was nothing for it to act on")
  }

  // MARK: - Actions on frames

  @Test func `delay lets this frame alone be overtaken`() throws {
    let told = try Story(system, two).faults("delay,request,POST /messages,by=1s,id=m1").run()
    #expect(arrivals(told) == ["0:10.060 m2", "0:11.050 m1"])
  }

  @Test func `hold keeps everything behind the frame waiting`() throws {
    let told = try Story(system, two).faults("hold,request,POST /messages,for=1s,id=m1").run()
    #expect(arrivals(told) == ["0:11.050 m1", "0:11.050 m2"])
    let released = try Story(system, two).faults("hold,request,POST /messages,until=11500ms,id=m1").run()
    #expect(arrivals(released) == ["0:11.500 m1", "0:11.500 m2"])
  }

  @Test func `reorder lets the next frame pass, at the latest after its limit`() throws {
    let passed = try Story(system, two).faults("reorder,request,POST /messages,id=m1").run()
    #expect(arrivals(passed) == ["0:10.060 m2", "0:10.060 m1"])
    let alone = try Story(system, one).faults("reorder,request,POST /messages,by=700ms").run()
    #expect(arrivals(alone) == ["0:10.750 m1"])
  }

  @Test func `corrupt, truncate and replace change what arrives and keep what was sent`() throws {
    for (rule, bytes) in [
      ("corrupt,request,POST /messages,nth=1", nil), ("truncate,request,POST /messages,nth=1,to=5", Array("{\"req".utf8)),
      ("replace,request,POST /messages,nth=1,with=no", Array("no".utf8)),
    ] as [(String, [UInt8]?)] {
      let told = try Story(system, one).faults(rule).run()
      let kind = String(rule.prefix { $0 != "," })
      let changed = try #require(told.entries(.link, kind).first)
      let sent = try #require(told.entries(.link, "send", "operation=m1").first)
      #expect(changed["of"]?.int == sent.index)
      #expect(changed.payload != sent.payload)
      if let bytes { #expect(changed.payload == bytes) } else { #expect(changed.payload?.count == sent.payload?.count) }
      #expect(told.entries(.link, "arrive", "changed=true").count == 1)
      // A changed bit may lie in the words themselves; the other two cannot be understood and are asked again.
      if kind != "corrupt" { #expect(told.instants(.twin, "saved") == ["0:12.050"]) }
    }
  }

  @Test func `half-open swallows frames both ways and then breaks`() throws {
    let told = try Story(system, one).faults("half-open,conn,*,at=9s,for=4s").run()
    #expect(told.instants(.link, "drop", "rule=1") == ["0:10.000", "0:12.000"])
    #expect(told.instants(.link, "down") == ["0:13.000", "0:13.000"])
    #expect(told.instants(.twin, "saved") == ["0:13.550"])
  }

  @Test func `refuse answers an error and runs nothing, slow answers later`() throws {
    let refused = try Story(system, one).faults("refuse,request,POST /messages,code=busy,nth=1").run()
    #expect(refused.lines(.link, "send", showing: ["status"], "name=POST /messages", "dir=in") == ["0:10.050 503", "0:12.050 201"])
    #expect(refused.instants(.twin, "saved") == ["0:12.050"])
    let slow = try Story(system, one).faults("slow,request,POST /messages,by=700ms").run()
    #expect(slow.instants(.twin, "saved") == ["0:10.050"])
    #expect(slow.instants(.link, "send", "name=POST /messages", "dir=in") == ["0:10.750"])
  }

  @Test func `nth counts what was sent, whatever other rules do to it`() throws {
    let told = try Story(system, one).faults(
      "drop,request,POST /messages,nth=1", "drop,request,POST /messages,nth=2", "delay,request,POST /messages,by=1s,nth=2"
    ).run()
    #expect(told.result.rules.map(\.candidates) == [3, 3, 3])
    #expect(told.result.rules.map(\.fired) == [1, 1, 1])
    #expect(told.lines(.link, "drop", showing: ["rule"]) == ["0:10.000 1", "0:12.000 2"])
    #expect(told.instants(.twin, "saved") == ["0:14.050"])
  }

  @Test func `while asks the client at the instant of sending`() throws {
    let told = try Story(system, one).faults(
      "drop,response,POST /messages,while=sending,nth=1", "drop,event,message,while=sending"
    ).run()
    // The first receipt is lost while the message waits; the event at 10.450 too, as the client is still sending then.
    #expect(told.result.rules.map(\.fired) == [1, 1])
    let before = try Story(system, one).faults("drop,response,GET /events,while=sending").run()
    #expect(before.result.rules.map(\.candidates) == [1])
    #expect(before.result.rules.map(\.fired) == [0])
  }

  // MARK: - Server, process, clock

  @Test func `a restart of the server breaks all connections and is away for its length`() throws {
    let told = try Story(system, one).faults("restart,server,at=10020ms,for=3s").run()
    #expect(told.instants(.twin, "restarted") == ["0:10.020"])
    #expect(told.lines(.link, "down", showing: ["who"]) == ["0:10.020 server", "0:10.020 server"])
    #expect(told.instants(.link, "drop", "cause=the connection went down") == ["0:10.050"])
    #expect(told.instants(.twin, "saved") == ["0:13.070"])
  }

  @Test func `an epoch jump and forgotten answers reach the server as requests`() throws {
    let told = try Story(system, one).faults(
      "epoch-jump,server,room,at=3s,by=5", "forget,server,at=10070ms", "drop,response,POST /messages,nth=1"
    )
    .run()
    #expect(told.lines(.twin, "jumped", showing: ["by", "lane"]) == ["0:03.000 5 room"])
    // The server has forgotten the key, so the second submit is saved again: the claim finds it.
    #expect(told.instants(.twin, "saved") == ["0:10.050", "0:12.050"])
    #expect(try told.outcome("ECHO-02", of: system)?.violations.count == 1)
  }

  @Test func `a stop after entry k applies the effects up to k and loses the rest`() throws {
    let plain = try Story(system, one).run()
    // Handling the gesture gives: store, accepted, says, send, arm.
    let gesture = try #require(plain.entries(.user, "gesture").first).index
    #expect(plain.trace.entries[gesture + 1...gesture + 4].map(\.kind) == ["stored", "accepted", "says", "send"])
    let savedAt = [[], ["0:12.050"], ["0:12.050"], ["0:12.050"], ["0:10.050"]]
    for k in 0...4 {
      let told = try Story(system, one).faults("restart,app,entry=\(gesture + k),for=2s").run()
      let upTo = Array(told.trace.entries.prefix(gesture + k + 1))
      #expect(upTo.dropFirst() == plain.trace.entries.prefix(gesture + k + 1).dropFirst())
      #expect(told.trace.entries[gesture + k + 1].kind == "fired")
      #expect(told.trace.entries[gesture + k + 2].kind == "stop")
      #expect(told.entries(.world, "launch").count == 2)
      // Entry 0 is the gesture itself: nothing of it was handled, so the store has nothing and the message never was.
      #expect(told.instants(.twin, "saved") == savedAt[k])
    }
  }

  @Test func `a suspended process gets what fell due when it goes on, in due order`() throws {
    let told = try Story(system, one).faults("suspend,app,at=10020ms,for=5s").run()
    #expect(told.instants(.world, "suspend") == ["0:10.020"])
    #expect(told.instants(.world, "resume") == ["0:15.020"])
    // The receipt was there at 10.100, before the timer of 12.000: the message is confirmed and not asked for again.
    #expect(told.instants(.link, "arrive", "dir=in", "operation=m1") == ["0:10.100", "0:10.500"])
    #expect(told.instants(.core, "says", "state=delivered") == ["0:15.020"])
    #expect(told.entries(.core, "timer").isEmpty)
  }

  @Test func `a timer that fell due before its disarming frame fires first after a suspension`() throws {
    let told = try Story(system, one).faults("suspend,app,at=10020ms,for=5s", "delay,response,POST /messages,by=3s,nth=1").run()
    #expect(told.instants(.core, "timer", "timer=retry:m1") == ["0:15.020"])
    #expect(told.entries(.link, "send", "name=POST /messages", "dir=out").count == 2)
  }

  @Test func `background and memory pressure are told to the core, and the user waits for the foreground`() throws {
    let told = try Story(system, one).faults("background,app,at=9s,for=4s", "memory-pressure,app,at=2s").run()
    #expect(
      told.lines(.core, "lifecycle", showing: ["to"]) == ["0:02.000 memoryPressure", "0:09.000 background", "0:13.000 foreground"])
    #expect(told.instants(.user, "waits") == ["0:10.000"])
    #expect(told.instants(.user, "gesture") == ["0:13.000"])
  }

  @Test func `a step of the wall clock moves no instant and is known to the next launch`() throws {
    let seen = WallClocks()
    let system = Echo.system(makeCore: { settings, store in
      seen.add(settings.wallClockMilliseconds)
      return EchoCore(settings, store)
    })
    let told = try Story(system, one).faults("step,clock,at=3s,by=-90s", "restart,app,at=4s").run()
    #expect(told.lines(.core, "clock", showing: ["byNs"]) == ["0:03.000 -90000000000"])
    #expect(seen.all == [1_700_000_000_000, 1_699_999_910_000])
    #expect(told.instants(.twin, "saved") == ["0:10.050"])
  }

  @Test func `an answer names the entry of its request`() throws {
    let told = try Story(system, one).run()
    let request = try #require(told.entries(.link, "send", "name=POST /messages", "dir=out").first)
    #expect(told.entries(.link, "send", "name=POST /messages", "dir=in").first?["re"]?.int == request.index)
  }

  // MARK: - Recorded conditions

  @Test func `losses of the recorded past come before the plan and can be left out`() throws {
    var scenario = one
    scenario.facts.conditions = [
      LinkCondition(
        pattern: FramePattern(role: .request, name: Echo.post), nth: 1, what: .lost, reason: "request 7 was never answered"),
      LinkCondition(pattern: FramePattern(role: .event, name: Echo.message), nth: 1, what: .late(.seconds(1)), reason: "event was late"),
    ]
    let told = try Story(system, scenario).faults("drop,request,POST /messages,nth=1").run()
    #expect(told.lines(.link, "drop", showing: ["rule", "condition"]) == ["0:10.000 - request 7 was never answered", "0:12.000 1 -"])
    #expect(told.instants(.twin, "saved") == ["0:14.050"])
    #expect(told.instants(.core, "shown") == ["0:15.500"])
    #expect(told.result.conditions.map { $0.at?.description } == ["0:10.000", "0:14.450"])
    let without = try Story(system, scenario).withoutRecordedLosses().run()
    #expect(without.instants(.twin, "saved") == ["0:10.050"])
    #expect(without.instants(.core, "shown") == ["0:10.500"])
  }

  @Test func `a recorded close ends the connection when its frame has arrived, an outage ends all`() throws {
    var scenario = one
    scenario.facts.conditions = [
      LinkCondition(
        pattern: FramePattern(role: .response, name: Echo.post), nth: 1, what: .closed(code: 1001, who: "server"), reason: "closed")
    ]
    scenario.facts.outages = [Outage(from: .zero + .seconds(3), until: .zero + .seconds(5))]
    let told = try Story(system, scenario).run()
    #expect(
      told.lines(.link, "down", showing: ["conn", "code", "who"])
        == ["0:03.000 1 1006 network", "0:03.000 2 1006 network", "0:10.100 3 1001 server"])
    #expect(told.instants(.link, "up") == ["0:00.000", "0:00.000", "0:05.000", "0:05.000", "0:10.600"])
    #expect(told.instants(.core, "says", "state=delivered") == ["0:10.100"])
  }

  // MARK: - The end

  @Test
  func
    `rules act until the quiet phase, which begins with the last intent or the end of the recording and lasts as long as the system says`()
    throws
  {
    let told = try Story(system, one).faults("forget,server,at=19999ms", "forget,server,at=20s", "forget,server,at=20001ms").run()
    #expect(told.result.rules.map(\.fired) == [1, 1, 0])
    #expect(told.result.rules.map(\.remark) == [nil, nil, "rules act until 0:20.000, when the run became quiet"])
    #expect(told.instants(.world, "quiet") == ["0:20.000"])
    #expect(told.instants(.world, "end") == ["0:30.000"])
    #expect(told.trace.header.quietFrom.description == "0:20.000")
    #expect(told.trace.header.end.description == "0:30.000")
    #expect(told.lines(.twin, "total", showing: ["saved"]) == ["0:30.000 1"])
  }

  @Test func `a fault still in force and a waiting user put the quiet phase off`() throws {
    let away = try Story(system, one).faults("disconnect,conn,*,at=19s,for=5s").run()
    #expect(away.instants(.world, "quiet") == ["0:24.000"])
    let scenario = EchoScenario(end: .seconds(20), [EchoScenario.like("m9", at: 15_000)])
    let waiting = try Story(system, scenario).run()
    #expect(waiting.instants(.world, "quiet") == ["2:15.000"])
  }

  @Test func `an instant that no clock can carry is refused, an endless run is stopped`() {
    #expect(throws: RunError.outOfRange(what: "end of the scenario", .never)) {
      try Story(system, EchoScenario(end: .never - .zero, [])).run()
    }
    let restless = Echo.system(makeCore: { _, _ in RestlessCore() })
    #expect(throws: RunError.self) { try Story(restless, one).with { $0.mostEventsPerInstant = 1_000 }.run() }
  }

  // MARK: - Proof

  @Test func `two runs of one input are equal to the byte, other seeds draw otherwise`() throws {
    let story = try Story(system, two).faults("drop,frame,*,probability=0.3")
    let run = Run(system, two, story.settings)
    let (result, proof) = try run.prove()
    #expect(proof == .equal)
    #expect(try run.execute().trace.lines == result.trace.lines)
    #expect(try story.seed(2).run().trace.hash != result.trace.hash)
  }

  @Test func `prove names the first entry of a core that does not repeat itself`() throws {
    let counter = Launches()
    let system = Echo.system(makeCore: { settings, store in WaveringCore(core: EchoCore(settings, store), launches: counter.next()) })
    let (result, proof) = try Run(system, one).prove()
    let odd = try #require(result.trace.entries.first { $0.kind == "wavers" })
    #expect(proof == .differs(entry: odd.index))
  }

  @Test func `a trace reads back from its lines`() throws {
    let trace = try Story(system, one).faults("corrupt,request,*,nth=1").run().trace
    #expect(try Trace.entries(fromLines: trace.lines) == trace.entries)
    #expect(throws: JSONError(path: "line 2", problem: "a trace entry needs i, t, party and k")) {
      try Trace.entries(fromLines: Array(trace.lines.prefix { $0 != 10 }) + Array("\n{}\n".utf8))
    }
  }
}

/// Wall clocks that cores were launched with.
private final class WallClocks: Sendable {
  private let values = Mutex<[Int64]>([])
  func add(_ value: Int64) { values.withLock { $0.append(value) } }
  var all: [Int64] { values.withLock { $0 } }
}

private final class Launches: Sendable {
  private let count = Mutex(0)
  func next() -> Int {
    count.withLock {
      $0 += 1
      return $0
    }
  }
}

/// A planted defect: says something else in each launch of the process that tests it.
private struct WaveringCore: ClientCore {
  var core: EchoCore
  var launches: Int

  mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var effects = core.handle(input, at: now)
    if case .user = input { effects.append(.note(Observation("wavers", ["launches": .int(launches)]))) }
    return effects
  }
  func premise(of gesture: Gesture) -> Premise { .holds }
  func holds(state: String) -> Bool { false }
}

/// A planted defect: a timer that is due at once, again and again.
private struct RestlessCore: ClientCore {
  mutating func handle(_ input: Input, at now: Instant) -> [Effect] { [.arm(TimerID("again"), at: now)] }
  func premise(of gesture: Gesture) -> Premise { .holds }
  func holds(state: String) -> Bool { false }
}
