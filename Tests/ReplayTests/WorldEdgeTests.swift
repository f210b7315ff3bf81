import Contract
import Faults
import Simulation
import TestSupport
import Testing
import Wire

@testable import Replay

/// Odd but legal things, and sweeps over many runs.
struct WorldEdgeTests {
  private let scenario = EchoScenario(
    end: .seconds(12), (1...3).map { EchoScenario.send("m\($0)", "text \($0)", at: $0 * 2_500) })

  @Test func `a stop after any entry of a run loses and doubles nothing that the client had stored`() throws {
    let system = Echo.system()
    let plain = try Story(system, scenario).run()
    let stores = Set(plain.entries(.core, "stored").map(\.index))
    let quiet = try #require(plain.entries(.world, "quiet").first).index
    for k in 1..<quiet {
      let told = try Story(system, scenario).faults("restart,app,entry=\(k),for=700ms").run()
      #expect(told.entries(.world, "stop").count == 1, "entry \(k)")
      // A gesture is lost only when the process ends before the store has it: right after the gesture's own entry.
      let isLost = plain.trace.entries[k].kind == "gesture" && !stores.contains(k)
      #expect(told.entries(.twin, "saved").count == (isLost ? 2 : 3), "entry \(k)")
      #expect(try told.outcome("ECHO-02", of: system)?.violations.isEmpty == true, "entry \(k)")
    }
  }

  @Test func `nothing is lost or doubled over many seeds of everything, and every run is its own`() throws {
    let system = Echo.system()
    var hashes: Set<String> = []
    for seed in 1...150 as ClosedRange<UInt64> {
      let story = try Story(system, scenario).seed(seed).plan("everything")
      let told = try story.run()
      hashes.insert(told.trace.hash)
      #expect(try told.outcome("ECHO-02", of: system)?.violations.isEmpty == true, "seed \(seed)")
      #expect(told.trace.entries.enumerated().allSatisfy { $0.offset == $0.element.index })
      #expect(zip(told.trace.entries, told.trace.entries.dropFirst()).allSatisfy { $0.at <= $1.at }, "seed \(seed)")
      // After the quiet phase begins no rule acts.
      let quiet = try #require(told.entries(.world, "quiet").first).index
      #expect(told.trace.all(.plan, "fired").allSatisfy { $0.index < quiet }, "seed \(seed)")
    }
    #expect(hashes.count == 150)
  }

  @Test func `the server's close comes behind its frames, and what is under way to it is lost`() throws {
    let system = scripted { input, now, seen in
      guard case .received(let frame, _) = input, seen == 1 else { return [] }
      return [
        .send(Frame(at: now, connection: frame.connection, direction: .in, kind: .text, payload: [1]), after: .zero),
        .close(frame.connection, code: 1012, reason: "going away"),
        .send(Frame(at: now, connection: frame.connection, direction: .in, kind: .text, payload: [2]), after: .zero),
      ]
    }
    let told = try Story(system, EchoScenario(end: .seconds(5), [])).run()
    #expect(told.instants(.link, "arrive", "dir=in") == ["0:00.200"])
    #expect(told.lines(.link, "down", showing: ["code", "who"]) == ["0:00.200 1012 server"])
    #expect(told.entries(.link, "drop", "cause=the connection is down").count == 1)
    // The core's second frame left at 0.120, before it heard of the close at 0.200, and finds nobody at 0.170.
    #expect(told.instants(.link, "drop", "cause=the connection went down") == ["0:00.170"])
    #expect(told.entries(.twin, "heard", "what=disconnected").isEmpty)
  }

  @Test func `a client's close is heard by the server behind the client's frames, and not by the client`() throws {
    let system = scripted(closes: true) { _, _, _ in [] }
    let told = try Story(system, EchoScenario(end: .seconds(5), [])).run()
    #expect(told.lines(.link, "down", showing: ["code", "who"]) == ["0:00.120 1000 client"])
    #expect(
      told.lines(.twin, "heard", showing: ["what"]) == [
        "0:00.000 connected", "0:00.150 received", "0:00.170 received", "0:00.170 disconnected",
      ])
    #expect(told.entries(.core, "heard", "what=down").isEmpty)
  }

  @Test func `a frame that left before the run began arrives that much earlier, service time that much later`() throws {
    let system = scripted { input, now, _ in
      guard case .connected(let id, _) = input else { return [] }
      return [
        .send(Frame(at: now, connection: id, direction: .in, kind: .text, payload: [1]), after: .milliseconds(-30)),
        .send(Frame(at: now, connection: id, direction: .in, kind: .text, payload: [2]), after: .milliseconds(40)),
        .send(Frame(at: now, connection: id, direction: .in, kind: .text, payload: [3]), after: .milliseconds(-300)),
      ]
    }
    let told = try Story(system, EchoScenario(end: .seconds(5), [])).run()
    // The third is behind the first on the same connection; both come before the one that leaves at 0.040.
    #expect(told.instants(.link, "arrive", "dir=in") == ["0:00.020", "0:00.020", "0:00.090"])
  }

  @Test func `misuse of the link is an entry, not a trap`() throws {
    let system = scripted(sendsNowhere: true) { input, now, _ in
      guard case .connected = input else { return [] }
      return [
        .send(Frame(at: now, connection: ConnectionID(99), direction: .in, kind: .text, payload: []), after: .zero),
        .send(Frame(at: now, connection: ConnectionID(-1), direction: .in, kind: .text, payload: []), after: .zero),
        .close(ConnectionID(99), code: 1000, reason: ""),
      ]
    }
    let told = try Story(system, EchoScenario(end: .seconds(5), [])).run()
    #expect(told.entries(.twin, "misuse").count == 2)
    #expect(told.entries(.core, "misuse").count == 1)
  }

  @Test func `a frame that a rule delays beyond its connection is still taken in by the server`() throws {
    let one = EchoScenario(end: .seconds(12), [EchoScenario.send("m1", "hi", at: 5_000)])
    let told = try Story(Echo.system(), one).faults(
      "delay,request,POST /messages,by=3s,nth=1", "disconnect,conn,*,at=5500ms", "drop,request,POST /messages,nth=2"
    ).run()
    #expect(told.instants(.link, "arrive", "dir=out", "operation=m1") == ["0:08.050", "0:08.050"])
    #expect(told.instants(.twin, "saved") == ["0:08.050"])
  }

  /// A system whose core sends two frames on its only connection, at 0.100 and 0.120 (and then closes it), and whose twin is a closure of
  /// the input, the instant and how many frames it has received.
  private func scripted(
    closes: Bool = false, sendsNowhere: Bool = false,
    _ twin: @escaping @Sendable (TwinInput, Instant, Int) -> [TwinEffect]
  ) -> ChatSystem {
    var system = Echo.system(makeCore: { _, _ in TwoFrames(closes: closes, sendsNowhere: sendsNowhere) })
    system.makeTwin = { _, _ in ScriptedTwin(script: twin) }
    return system
  }
}

private struct TwoFrames: ClientCore {
  var closes: Bool
  var sendsNowhere: Bool

  mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    func frame(_ connection: Int) -> Effect {
      .send(Frame(at: now, connection: ConnectionID(connection), direction: .out, kind: .text, payload: [UInt8(connection)]))
    }
    switch input {
    case .lifecycle(.launched):
      let first: [Effect] = [
        .open(ConnectionID(7), Endpoint("/")), .arm(TimerID("a"), at: .zero + .milliseconds(100)),
        .arm(TimerID("b"), at: .zero + .milliseconds(120)),
      ]
      return first + (sendsNowhere ? [frame(8)] : [])
    case .fired(let timer): return [frame(7)] + (closes && timer.name == "b" ? [.close(ConnectionID(7), code: 1000)] : [])
    case .connection(_, let up): return [.note(Observation("heard", ["what": up ? "up" : "down"]))]
    default: return []
    }
  }

  func premise(of gesture: Gesture) -> Premise { .holds }
  func holds(state: String) -> Bool { false }
}

private struct ScriptedTwin: Twin {
  var script: @Sendable (TwinInput, Instant, Int) -> [TwinEffect]
  private var received = 0

  init(script: @escaping @Sendable (TwinInput, Instant, Int) -> [TwinEffect]) { self.script = script }

  mutating func handle(_ input: TwinInput, at now: Instant) -> [TwinEffect] {
    let what: String
    switch input {
    case .connected: what = "connected"
    case .disconnected: what = "disconnected"
    case .received:
      what = "received"
      received += 1
    case .due: what = "due"
    case .fault: what = "fault"
    }
    return [.note(Observation("heard", ["what": .string(what)]))] + script(input, now, received)
  }

  var nextDue: Instant? { nil }
  mutating func finish(at now: Instant) -> [Observation] { [] }
}
