import Contract
import Simulation
import Testing
import Wire

@testable import Faults

/// A wrong rule is refused in one sentence that names the part.
struct FaultErrorTests {
  @Test(arguments: [
    ("dorp,response,x", #"unknown action "dorp" in rule "dorp,response,x"; did you mean "drop"?"#),
    ("", #"unknown action "" in rule """#),
    ("drop", #"rule "drop" needs a target (request, response, event, frame)"#),
    ("drop,respones,x", #"unknown target "respones" in rule "drop,respones,x"; did you mean "response"?"#),
    ("drop,app,x", #""drop" does not act on "app" but on request, response, event, frame, in rule "drop,app,x""#),
    ("refuse,response,x,code=busy", #""refuse" does not act on "response" but on request, in rule "refuse,response,x,code=busy""#),
    ("drop,response", #"rule "drop,response" needs a label (or *)"#),
    ("delay,response,x", #"rule "delay,response,x" needs by= with a length of time"#),
    ("delay,response,x,by=-1s", #""by=-1s" in rule "delay,response,x,by=-1s": expected a length of time such as 800ms or 2s"#),
    ("delay,response,x,5s,by=1s", #""by=1s" in rule "delay,response,x,5s,by=1s": by stands twice"#),
    ("drop,response,x,nth=0", #""nth=0" in rule "drop,response,x,nth=0": expected a number from 1"#),
    ("drop,response,x,probability=1.5", #""probability=1.5" in rule "drop,response,x,probability=1.5": expected a number from 0 to 1"#),
    (
      "drop,response,x,nth=1,every=2",
      #""nth, every, probability, first-per-key" in rule "drop,response,x,nth=1,every=2": only one of them can hold"#
    ),
    ("drop,response,x,what", #""what" in rule "drop,response,x,what": expected FIELD=VALUE (or !=, <, >, ~)"#),
    ("drop,response,x,a!b", #""a!b" in rule "drop,response,x,a!b": expected FIELD!=VALUE"#),
    ("drop,response,x,nth<2", #""nth<2" in rule "drop,response,x,nth<2": nth takes = only"#),
    ("drop,response,x,at=3s", #""at=3s" in rule "drop,response,x,at=3s": has no meaning here"#),
    ("disconnect,conn,1", #"rule "disconnect,conn,1" needs at=, entry= or on="#),
    ("restart,app,at=1s,id=3", #""id=3" in rule "restart,app,at=1s,id=3": only rules on frames have fields"#),
    ("restart,app,on=x", #""on=x" in rule "restart,app,on=x": expected on=ROLE:LABEL"#),
    ("restart,app,entry=-1", #""entry=-1" in rule "restart,app,entry=-1": expected the index of a trace entry"#),
    ("restart,app,at=1s,first-per-key", #""first-per-key" in rule "restart,app,at=1s,first-per-key": has no meaning here"#),
    ("epoch-jump,server,*,at=1s,by=0", #""by=0" in rule "epoch-jump,server,*,at=1s,by=0": expected a number from 1 to 1000000"#),
    ("refuse,request,x", #"rule "refuse,request,x" needs code="#),
    (
      "refuse,request,x,code=a,permanent=maybe",
      #""permanent=maybe" in rule "refuse,request,x,code=a,permanent=maybe": expected true or false"#
    ),
    ("drag,user,at=1s", #"rule "drag,user,at=1s" needs for= with a length of time"#),
    ("drag,user,for=1s", #"rule "drag,user,for=1s" needs at=, entry= or on="#),
    ("drag,screen,at=1s,for=1s", #""drag" does not act on "screen" but on user, in rule "drag,screen,at=1s,for=1s""#),
    ("drg,user,at=1s,for=1s", #"unknown action "drg" in rule "drg,user,at=1s,for=1s"; did you mean "drag"?"#),
    ("drag,usr,at=1s,for=1s", #"unknown target "usr" in rule "drag,usr,at=1s,for=1s"; did you mean "user"?"#),
    ("lose-stop,scren,at=1s", #"unknown target "scren" in rule "lose-stop,scren,at=1s"; did you mean "screen"?"#),
    ("drag,user,at=1s,for=0s", #""for=0s" in rule "drag,user,at=1s,for=0s": expected 1ms to 600s in whole milliseconds"#),
    ("drag,user,at=1s,for=1500us", #""for=1500us" in rule "drag,user,at=1s,for=1500us": expected 1ms to 600s in whole milliseconds"#),
    ("hold-drag,user,for=601s", #""for=601s" in rule "hold-drag,user,for=601s": expected 1ms to 600s in whole milliseconds"#),
    ("drag,user,at=1s,for=1s,by=up", #""by=up" in rule "drag,user,at=1s,for=1s,by=up": expected points, such as -200"#),
    ("drag,user,at=1s,for=1s,by=nan", #""by=nan" in rule "drag,user,at=1s,for=1s,by=nan": expected points, such as -200"#),
    ("drag,user,at=1s,for=1s,by=2e6", #""by=2e6" in rule "drag,user,at=1s,for=1s,by=2e6": expected points, such as -200"#),
    ("hold-drag,user", #"rule "hold-drag,user" needs for= with a length of time"#),
    (
      "hold-drag,user,for=1s,first-per-key",
      #""first-per-key" in rule "hold-drag,user,for=1s,first-per-key": drags have no key: nth=1 is meant"#
    ),
    ("hold-drag,user,for=1s,id=3", #""id=3" in rule "hold-drag,user,for=1s,id=3": only rules on frames have fields"#),
    ("skip-frames,screen,at=1s", #"rule "skip-frames,screen,at=1s" needs count="#),
    ("skip-frames,screen,at=1s,count=0", #""count=0" in rule "skip-frames,screen,at=1s,count=0": expected a number from 1 to 100000"#),
    (
      "skip-frames,screen,at=1s,count=100001",
      #""count=100001" in rule "skip-frames,screen,at=1s,count=100001": expected a number from 1 to 100000"#
    ),
    ("truncate,event,x,to=many", #""to=many" in rule "truncate,event,x,to=many": expected a number of bytes"#),
  ])
  func `a rule that cannot be read is refused in one sentence`(text: String, sentence: String) {
    let error = #expect(throws: FaultError.self) { try FaultRule(parsing: text) }
    #expect(error?.description == sentence)
  }

  @Test func `an unknown label or state is refused with the nearest name`() throws {
    let label = #expect(throws: FaultError.self) { try FaultRule(parsing: "drop,response,POST /mesages").check(against: .sample) }
    #expect(
      label?.description
        == #"unknown response label "POST /mesages" in rule "drop,response,POST /mesages"; did you mean "POST /messages"?"#)
    let role = #expect(throws: FaultError.self) { try FaultRule(parsing: "drop,event,POST /messages").check(against: .sample) }
    #expect(role?.description == #"unknown event label "POST /messages" in rule "drop,event,POST /messages"; did you mean "message"?"#)
    let state = #expect(throws: FaultError.self) { try FaultRule(parsing: "drop,frame,*,while=dragin").check(against: .sample) }
    #expect(state?.description == #"unknown client state "dragin" in rule "drop,frame,*,while=dragin"; did you mean "dragging"?"#)
    var without = ChatSystem.sample
    without.gestures = [("send", [], "")]
    let drag = #expect(throws: FaultError.self) { try FaultRule(parsing: "drag,user,at=1s,for=1s").check(against: without) }
    #expect(drag?.description == #""drag" in rule "drag,user,at=1s,for=1s,by=200": sample has no gesture "drag""#)
    for fine in [
      "drag,user,at=1s,for=1s", "hold-drag,user,for=1s,while=dragging", "drop,frame,*", "drop,request,POST*",
      "drop,response,POST /messages,while=dragging", "restart,app,at=1s",
    ] {
      try FaultRule(parsing: fine).check(against: .sample)
    }
  }

  @Test func `a plan reads back from its JSON, and its hash is of the canonical form`() throws {
    let plan = try FaultPlan.none.adding(["drop,response,x,nth=2", "delay,event,*,1500ms"])
    #expect(plan.name == "custom")
    let text = #"{"rules": ["drop,response,x,nth=2", "delay,event,*,by=1.5s"], "name": "custom"}"#
    let read = try FaultPlan(bytes: Array(text.utf8))
    #expect(read == plan)
    #expect(read.hash == plan.hash)
    #expect(plan.hash == SHA256Digest.hex(Array(#"{"name":"custom","rules":["drop,response,x,nth=2","delay,event,*,by=1500ms"]}"#.utf8)))
  }

  @Test(arguments: [
    ("", "not a fault plan: "), ("[]", "not a fault plan: expected an object"), ("{}", "not a fault plan: name: expected a string"),
    (#"{"name":"a","rules":[1]}"#, "not a fault plan: rules[0]: expected a rule as a string"),
    (#"{"name":"a","rules":{}}"#, "not a fault plan: rules: expected an array"),
    (#"{"name":"a","rules":[],"more":1}"#, "not a fault plan: more: unknown key"),
    (#"{"name":"a","name":"a","rules":[]}"#, "not a fault plan: name: stands twice"),
  ])
  func `a file that is no plan is refused with its place`(text: String, beginning: String) {
    let error = #expect(throws: FaultError.self) { try FaultPlan(bytes: Array(text.utf8)) }
    #expect(error?.description.hasPrefix(beginning) == true)
  }

  @Test func `no text makes the reader trap, and what it accepts reads back`() {
    let words = [
      "drop", "restart", "request", "app", "conn", "clock", "x", "*", "nth=1", "at=1s", "by=5", "for=", "=", "!=", ",", "\\",
      "first-per-key",
      "on=request:x", "on=:", "field:nth=2", "9s", "-1s", "\u{0}", "é", "entry=99999999999999999999", "probability=nan", "every=0",
    ]
    for seed in 0..<3_000 as Range<UInt64> {
      let random = SeededRandom(seed: seed)
      let count = 1 + random.fork("count").index(below: 7, at: 0)
      let text = (0..<count).map { words[random.fork("word").index(below: words.count, at: $0)] }.joined(separator: ",")
      guard let rule = try? FaultRule(parsing: text) else { continue }
      #expect((try? FaultRule(parsing: rule.text)) == rule, "\(text)")
    }
  }

  @Test func `an unknown plan is refused with the nearest name`() {
    let error = #expect(throws: FaultError.self) {
      try BuiltInPlans.plan("droped-receipts", system: .sample, seed: 1, start: .zero, end: .zero)
    }
    #expect(error?.description == #"unknown plan "droped-receipts"; did you mean "dropped-receipts"?"#)
  }

  @Test func `lengths of time are exact and bounded`() {
    for (text, nanoseconds) in [
      ("1ns", 1), ("250us", 250_000), ("1.5ms", 1_500_000), ("4.97s", 4_970_000_000), ("2m", 120_000_000_000), ("-3s", -3_000_000_000),
      ("500000s", 500_000_000_000_000),
    ] as [(String, Int64)] {
      #expect(TimeText.interval(text)?.nanoseconds == nanoseconds)
      #expect(TimeText.interval(TimeText.text(Interval(nanoseconds: nanoseconds)))?.nanoseconds == nanoseconds)
    }
    for text in ["", "1", "s", "1.s", ".5s", "1.5ns", "1h", "500000.000000001s", "99999999999999999999s", "9999999999999999m", "--1s"] {
      #expect(TimeText.interval(text) == nil, "\(text)")
    }
  }
}

extension ChatSystem {
  /// A system with labels and states only.
  static let sample = ChatSystem(
    name: "sample", title: "Sample", behaviourVersion: 1, tieOrder: [],
    labels: [
      (.request, "POST /messages"), (.response, "POST /messages"), (.request, "PUT /name"), (.response, "PUT /name"),
      (.response, "GET /history"), (.event, "message"),
    ],
    states: [("dragging", "a finger is on the list")], mutations: ["POST /messages", "PUT /name"], snapshots: ["GET /history"],
    makeLabeler: { NoLabels() }, compile: { _, _, _ in throw JSONError(problem: "not compiled") },
    readScenario: { _ in throw JSONError(problem: "not read") }, makeCore: { _, _ in NoCore() }, makeTwin: { _, _ in NoTwin() },
    normalForm: { _ in [] }, claims: [], quietPhase: { _, _ in .zero }, updates: ["message"], gestures: [("drag", ["path"], "a finger")])
}

private struct NoLabels: FrameLabeler {
  mutating func label(_ frame: Frame) -> FrameLabel { FrameLabel(role: .other, name: "?") }
  mutating func violations(in frame: Frame) -> [JSONError] { [] }
}

private struct NoCore: ClientCore {
  mutating func handle(_ input: Input, at now: Instant) -> [Effect] { [] }
  func premise(of gesture: Gesture) -> Premise { .holds }
  func holds(state: String) -> Bool { false }
}

private struct NoTwin: Twin {
  mutating func handle(_ input: TwinInput, at now: Instant) -> [TwinEffect] { [] }
  var nextDue: Instant? { nil }
  mutating func finish(at now: Instant) -> [Observation] { [] }
}
