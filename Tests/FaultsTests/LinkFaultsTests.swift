import Contract
import Simulation
import Testing
import Wire

@testable import Faults

/// Which frames a rule chooses, on nothing but values.
struct LinkFaultsTests {
  private func plan(_ rules: String...) throws -> FaultPlan { try FaultPlan.none.adding(rules) }

  private func frame(_ connection: Int = 1, _ direction: Direction = .out) -> Frame {
    Frame(at: .zero, connection: ConnectionID(connection), direction: direction, kind: .text, payload: Array("abc".utf8))
  }

  /// Positions of the frames, all with these keys, on which the only rule fires.
  private func fired(_ rule: String, keys: [String?]) throws -> [Int] {
    var faults = LinkFaults(plan: try plan(rule), seed: 1)
    return keys.indices.filter { index in
      let label = FrameLabel(role: .request, name: "x", key: keys[index])
      return !faults.decide(label, frame(), now: .zero, state: { _ in true }).isEmpty
    }
  }

  @Test func `nth is one match, every is each n-th, first-per-key is the first of each key`() throws {
    let keys: [String?] = ["a", "a", "b", nil, "b", "c"]
    #expect(try fired("drop,request,x", keys: keys) == [0, 1, 2, 3, 4, 5])
    #expect(try fired("drop,request,x,nth=2", keys: keys) == [1])
    #expect(try fired("drop,request,x,every=2", keys: keys) == [1, 3, 5])
    #expect(try fired("drop,request,x,first-per-key", keys: keys) == [0, 2, 5])
    #expect(try fired("drop,request,x,key=b,nth=2", keys: keys) == [4])
    #expect(try fired("drop,response,x", keys: keys).isEmpty)
    #expect(try fired("drop,request,y*", keys: keys).isEmpty)
  }

  @Test func `each rule counts by itself, whatever the others do`() throws {
    var faults = LinkFaults(plan: try plan("drop,request,*", "delay,request,*,by=1s,nth=2"), seed: 1)
    let label = FrameLabel(role: .request, name: "x")
    let hits = (0..<3).map { _ in faults.decide(label, frame(), now: .zero, state: { _ in true }).map(\.rule) }
    #expect(hits == [[0], [0, 1], [0]])
    #expect(faults.reports.map(\.candidates) == [3, 3])
    #expect(faults.reports.map(\.fired) == [3, 1])
    #expect(faults.reports.map(\.number) == [1, 2])
  }

  @Test func `instants bound a rule: from after on, up to before`() throws {
    var faults = LinkFaults(plan: try plan("drop,request,*,after=2s,before=4s"), seed: 1)
    let label = FrameLabel(role: .request, name: "x")
    let instants = [1_999_999_999, 2_000_000_000, 3_999_999_999, 4_000_000_000].map { Instant(nanoseconds: $0) }
    let hits = instants.map { !faults.decide(label, frame(), now: $0, state: { _ in true }).isEmpty }
    #expect(hits == [false, true, true, false])
    #expect(faults.reports[0].first == instants[1])
    #expect(faults.reports[0].last == instants[2])
  }

  @Test func `a client state is asked for each match, and only matches in it count for nth`() throws {
    var faults = LinkFaults(plan: try plan("drop,request,*,while=dragging,nth=2"), seed: 1)
    let label = FrameLabel(role: .request, name: "x")
    let hits = [false, true, false, true, true].map { dragging in
      !faults.decide(label, frame(), now: .zero, state: { $0 == "dragging" && dragging }).isEmpty
    }
    #expect(hits == [false, false, false, true, false])
    #expect(faults.reports[0].candidates == 5)
  }

  @Test func `connections are chosen by number or by the beginning of their endpoint`() throws {
    var faults = LinkFaults(plan: try plan("drop,request,*,conn=2", "drop,request,*,conn=/v1/a"), seed: 1)
    let label = FrameLabel(role: .request, name: "x")
    func rules(_ connection: Int, _ endpoint: String?) -> [Int] {
      faults.decide(label, frame(connection), endpoint: endpoint.map { Endpoint($0) }, now: .zero, state: { _ in true }).map(\.rule)
    }
    #expect(rules(1, "/v1/b") == [])
    #expect(rules(2, "/v1/b") == [0])
    #expect(rules(3, "/v1/a2") == [1])
    #expect(rules(2, nil) == [0])
  }

  @Test func `a draw depends on the seed, the rule, the lane and how many matches the lane had, and on nothing else`() throws {
    let label = FrameLabel(role: .request, name: "x")
    func draws(_ rules: [String], seed: UInt64 = 7, noise: Bool) throws -> [Bool] {
      var faults = LinkFaults(plan: try FaultPlan.none.adding(rules), seed: seed)
      return (0..<200).map { k in
        // Frames of another connection and direction in between move nothing.
        if noise, k % 3 == 0 {
          _ = faults.decide(label, frame(2), now: .zero, state: { _ in true })
          _ = faults.decide(label, frame(1, .in), now: .zero, state: { _ in true })
        }
        let rule = rules.count - 1
        return faults.decide(label, frame(1), now: .zero, state: { _ in true }).contains { $0.rule == rule }
      }
    }
    let rule = "drop,request,*,probability=0.3"
    let alone = try draws([rule], noise: false)
    #expect(try draws([rule], noise: true) == alone)
    #expect(try draws(["drop,request,*,probability=0.4", rule], noise: true) == alone)
    #expect(try draws([rule], seed: 8, noise: false) != alone)
    // A second rule of the same text draws for itself.
    #expect(try draws([rule, rule], noise: false) != alone)
    #expect((40...80).contains(alone.filter { $0 }.count))
    #expect(try draws(["drop,request,*,probability=0"], noise: false).allSatisfy { !$0 })
    #expect(try draws(["drop,request,*,probability=1"], noise: false).allSatisfy { $0 })
  }

  @Test func `a rule with nothing to act on has no match, and one frame gets one finger`() throws {
    var faults = LinkFaults(
      plan: try plan("drag,user,on=event:x,nth=2,for=1s", "drag,user,on=event:x,for=2s", "drop,event,x,nth=3"), seed: 1)
    let label = FrameLabel(role: .event, name: "x")
    let hits = [true, false, true, true].map { isPossible in
      faults.decide(label, frame(), now: .zero, state: { _ in true }) { $0.drag == nil || isPossible }.map(\.rule)
    }
    #expect(hits == [[1], [], [0, 2], [1]])
    #expect(faults.reports.map(\.candidates) == [4, 4, 4])
    #expect(faults.reports.map(\.fired) == [1, 2, 1])
  }

  @Test func `hold-drag acts on the drags of the user: those that it chooses, or the next one after its moment, once`() throws {
    var faults = LinkFaults(
      plan: try plan(
        "hold-drag,user,for=1s,every=2", "hold-drag,user,at=5s,for=2s", "hold-drag,user,on=event:x,for=3s",
        "hold-drag,user,for=4s,after=9s",
        "hold-drag,user,for=5s,while=dragging"), seed: 1)
    func drag(_ seconds: Int64) -> [Int] { faults.drag(now: .zero + .seconds(seconds)) { _ in false }.map(\.rule) }
    let label = FrameLabel(role: .event, name: "x")
    #expect(drag(1) == [])
    #expect(drag(2) == [0])
    // Its moment fires nothing by itself; two frames before one drag are one.
    #expect(faults.due(rule: 1, now: .zero + .seconds(5)) { _ in true } == nil)
    for _ in 0..<2 { #expect(faults.decide(label, frame(), now: .zero + .seconds(6), state: { _ in true }).isEmpty) }
    #expect(drag(7) == [1, 2])
    #expect(drag(8) == [0])
    #expect(drag(9) == [3])
    #expect(faults.reports.map(\.fired) == [2, 1, 1, 1, 0])
    #expect(faults.reports.map(\.candidates) == [5, 1, 2, 5, 5])
    #expect(faults.reports[1].first == .zero + .seconds(7))
  }

  @Test func `the finger of a drag moves for 200 ms at most, rests, and is up after its length`() throws {
    let long = try #require(FaultRule(parsing: "drag,user,at=1s,for=1500ms,by=-200,velocity=-300").action.drag)
    #expect(long == Drag(path: [Drag.Place(after: .milliseconds(200), y: -200)], velocity: -300, held: .milliseconds(1_300)))
    let short = try #require(FaultRule(parsing: "drag,user,at=1s,for=150ms").action.drag)
    #expect(short == Drag(path: [Drag.Place(after: .milliseconds(150), y: 200)]))
    #expect(FaultAction.loseStop.drag == nil)
  }

  @Test func `scheduled rules come by instant, then by the order of the plan`() throws {
    let faults = LinkFaults(
      plan: try plan("restart,app,at=5s", "drop,frame,*", "forget,server,at=2s", "step,clock,at=5s,by=1s", "suspend,app,entry=3,for=1s"),
      seed: 1)
    #expect(faults.scheduled.map(\.rule) == [2, 0, 3])
    #expect(faults.atEntries.map(\.rule) == [4])
  }

  @Test func `a changed frame: one bit of ASCII, the first bytes, other bytes`() throws {
    let bytes = Array(#"{"a":1}"#.utf8)
    for draw in 0..<200 as Range<UInt64> {
      let changed = try #require(FaultAction.corrupt.changed(bytes, draw: draw &* 0x9e37_79b9_7f4a_7c15))
      let bits = zip(bytes, changed).map { ($0 ^ $1).nonzeroBitCount }.reduce(0, +)
      #expect(bits == 1)
      #expect(changed.allSatisfy { $0 < 128 })
    }
    #expect(FaultAction.corrupt.changed([], draw: 3) == [])
    #expect(FaultAction.truncate(to: nil).changed(bytes, draw: 0) == Array(bytes.prefix(3)))
    #expect(FaultAction.truncate(to: 99).changed(bytes, draw: 0) == bytes)
    #expect(FaultAction.replace(with: "no").changed(bytes, draw: 0) == Array("no".utf8))
    #expect(FaultAction.drop.changed(bytes, draw: 0) == nil)
  }
}

/// The plans that come with the tool.
struct BuiltInPlanTests {
  private func plan(_ name: String, seed: UInt64 = 1) throws -> FaultPlan {
    try BuiltInPlans.plan(name, system: .sample, seed: seed, start: .zero, end: .zero + .seconds(60))
  }

  @Test func `the plans are those of the design, each with a line`() {
    #expect(
      BuiltInPlans.all.map(\.name) == [
        "none", "dropped-receipts", "lost-submits", "epoch-jumps", "drag-held-updates", "late-snapshots", "flaky-network", "app-restart",
        "desktop-restart", "everything",
      ])
    #expect(BuiltInPlans.all.allSatisfy { !$0.meaning.isEmpty })
  }

  @Test func `receipts and submits are lost once per key and mutation`() throws {
    #expect(try plan("none").rules.isEmpty)
    #expect(
      try plan("dropped-receipts").rules.map(\.text) == [
        "drop,response,POST /messages,first-per-key", "drop,response,PUT /name,first-per-key",
      ])
    #expect(
      try plan("lost-submits").rules.map(\.text) == ["drop,request,POST /messages,first-per-key", "drop,request,PUT /name,first-per-key"])
    #expect(try plan("late-snapshots").rules.allSatisfy { $0.text.hasPrefix("delay,response,GET /history,by=") })
  }

  @Test func `drag-held-updates puts a finger on the list at the first update for certain, and at later ones as they come`() throws {
    for seed in 1...20 as ClosedRange<UInt64> {
      let rules = try plan("drag-held-updates", seed: seed).rules
      let drags = rules.filter { $0.action.drag != nil }
      #expect(rules.first?.action.drag != nil)
      #expect(rules.first?.trigger == .frames(FramePattern(role: .event, name: "message"), .nth(1)))
      for rule in drags {
        let drag = try #require(rule.action.drag)
        #expect(drag.length >= .milliseconds(600) && drag.length <= .seconds(3))
        #expect(drag.velocity == 0 || (300...1_500).contains(drag.velocity.magnitude))
        // A flick goes on where the finger went.
        #expect(drag.velocity * (drag.path.last?.y ?? 0) >= 0)
      }
      #expect(drags.contains { $0.action.drag?.velocity != 0 })
      #expect(rules.contains { $0.action == .loseStop && $0.state == "dragging" })
      #expect(rules.contains { if case .holdDrag = $0.action { $0.trigger == .drags(.all) } else { false } })
    }
  }

  @Test func `no drag is held of a user who makes none`() throws {
    for (gesture, holds) in [("send", false), ("drag", true)] {
      let intents = [Intent(id: "i", at: .zero, gesture: Gesture(gesture))]
      for (name, seed) in [("drag-held-updates", 1)] + (1...40).map({ ("everything", $0) }) as [(String, UInt64)] {
        let plan = try BuiltInPlans.plan(
          name, system: .sample, seed: seed, start: .zero, end: .zero + .seconds(60), intents: intents)
        let held = plan.rules.contains { if case .holdDrag = $0.action { true } else { false } }
        if !holds { #expect(!held) }
        if name == "drag-held-updates" { #expect(held == holds) }
      }
    }
  }

  @Test func `a system without drags has no plan of drags, and everything draws none`() throws {
    var system = ChatSystem.sample
    system.gestures = [("send", [], "")]
    func rules(_ name: String, _ seed: UInt64) throws -> [FaultRule] {
      try BuiltInPlans.plan(name, system: system, seed: seed, start: .zero, end: .zero + .seconds(60)).rules
    }
    #expect(try rules("drag-held-updates", 1).isEmpty)
    for seed in 1...60 as ClosedRange<UInt64> {
      for rule in try rules("everything", seed) { try rule.check(against: system) }
    }
    // With drags, sixty seeds draw each kind.
    let words = try Set((1...60).flatMap { try plan("everything", seed: $0).rules.map(\.action.word) })
    #expect(
      words.isSuperset(of: [
        "drag", "hold-drag", "lose-stop", "skip-frames", "slow-markdown", "slow-apply", "background", "memory-pressure", "step",
      ]))
  }

  @Test(arguments: BuiltInPlans.all.map(\.name))
  func `a plan fits the system, reads back from its JSON, stays in the span and follows its seed`(name: String) throws {
    for seed in 1...40 as ClosedRange<UInt64> {
      let plan = try plan(name, seed: seed)
      try plan.check(against: .sample)
      #expect(try FaultPlan(json: plan.json) == plan)
      #expect(try self.plan(name, seed: seed).hash == plan.hash)
      for rule in plan.rules {
        if case .at(let instant) = rule.trigger { #expect(instant >= .zero && instant <= .zero + .seconds(60)) }
      }
    }
    let drawn = ["epoch-jumps", "drag-held-updates", "late-snapshots", "flaky-network", "app-restart", "desktop-restart", "everything"]
      .contains(name)
    #expect(try (plan(name, seed: 1).hash != plan(name, seed: 2).hash) == drawn)
  }
}
