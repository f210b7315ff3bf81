import Contract
import HBCodeDialect
import HBCodeScenario
import Simulation
import Testing
import Wire

/// Intents from the marks of a recording (SCENARIO.md 3, step 6).
@Suite struct MarksTests {
  private static func at(_ seconds: Double) -> Instant { ScriptedPhone.seconds(seconds) }

  /// Recording R with marks: instants in seconds and bodies.
  private func compiled(_ marks: [(Double, String)]) throws -> HBCodeScenario {
    var frames = try CompilerTests.one().record()
    frames += marks.map { at, text in
      Frame(at: MarksTests.at(at), connection: ConnectionID(0), direction: .out, kind: .mark, payload: Array(text.utf8))
    }
    frames = frames.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    for index in frames.indices { frames[index].sequence = index + 1 }
    let scenario = try Compiler.compile(frames, wallClockMilliseconds: HBCodeScenario.standardWallClock, origin: "test")
    #expect(try HBCodeScenario(json: scenario.json) == scenario)
    return scenario
  }

  private func gestures(_ scenario: HBCodeScenario) -> [String] {
    scenario.facts.intents.map { "\($0.at) \(JSONWriter.text($0.gesture.json)) \($0.basis.rawValue)" }
  }

  /// What the requests of recording R tell.
  private static let inferred = ["select", "send"]

  @Test func `drag-began and drag-ended are a drag of that length, beside what requests tell`() throws {
    let scenario = try compiled([(12, #"{"user":"drag-began"}"#), (13.5, #"{"user":"drag-ended"}"#)])
    #expect(gestures(scenario).last == #"0:12.000 {"do":"drag","path":[],"held":1500} recorded"#)
    #expect(scenario.facts.intents.map(\.gesture.name) == MarksTests.inferred + ["drag"])
    #expect(scenario.facts.intents.map(\.basis) == [.derived, .derived, .recorded])
  }

  @Test func `places and a velocity of a drag are kept, in milliseconds since the touch`() throws {
    let scenario = try compiled([
      (12, #"{"user":"drag-began"}"#), (12.1, #"{"user":"drag-moved","y":-40}"#), (12.25, #"{"user":"drag-moved","y":-120.5}"#),
      (12.4, #"{"user":"drag-ended","y":-130,"velocity":-600}"#),
    ])
    #expect(
      gestures(scenario).last
        == #"0:12.000 {"do":"drag","path":[[100,-40],[250,-120.5],[400,-130]],"velocity":-600} recorded"#)
  }

  @Test func `a touch ends the one before it, the last one with the recording`() throws {
    let scenario = try compiled([(12, #"{"user":"drag-began"}"#), (13, #"{"user":"drag-began"}"#)])
    #expect(
      gestures(scenario).suffix(2) == [
        #"0:12.000 {"do":"drag","path":[],"held":1000} recorded"#,
        #"0:13.000 {"do":"drag","path":[],"held":\#((scenario.facts.end - MarksTests.at(13)).nanoseconds / 1_000_000)} recorded"#,
      ])
    #expect(scenario.facts.notes.contains { $0.what == "the recording ends with a finger on the list" && $0.basis == .assumed })
  }

  @Test(arguments: [
    ("composer-opened", "openComposer"), ("composer-closed", "closeComposer"), ("preview-opened", "openPreview"),
    ("preview-closed", "closePreview"), ("sheet-opened", "openSheet"), ("sheet-closed", "closeSheet"),
    ("status-bar-tapped", "tapStatusBar"), ("scrolled-to-latest", "scrollToLatest"), ("restarted", "restart"),
    ("openComposer", "openComposer"), ("tapStatusBar", "tapStatusBar"),
  ])
  func `a word of an app is a gesture`(word: String, name: String) throws {
    let scenario = try compiled([(12, #"{"user":"\#(word)"}"#)])
    #expect(gestures(scenario).last == #"0:12.000 {"do":"\#(name)"} recorded"#)
    #expect(scenario.facts.intents.map(\.gesture.name) == MarksTests.inferred + [name])
  }

  @Test func `reduce motion is marked with what it becomes`() throws {
    let scenario = try compiled([(12, #"{"user":"reduce-motion-on"}"#), (13, #"{"user":"reduce-motion-off"}"#)])
    #expect(
      gestures(scenario).suffix(2) == [
        #"0:12.000 {"do":"reduceMotion","on":true} recorded"#, #"0:13.000 {"do":"reduceMotion","on":false} recorded"#,
      ])
  }

  @Test func `what a mark says of the screen is part of the start, without what no screen can have`() throws {
    func start(_ screen: String) throws -> (screen: JSON?, notes: [String]) {
      let scenario = try compiled([(0, #"{"screen":\#(screen),"t":0}"#)])
      #expect(scenario.facts.intents.map(\.gesture.name) == MarksTests.inferred)
      return (scenario.clientStart["screen"], scenario.facts.notes.map(\.what))
    }
    let whole =
      #"{"reduceMotion":true,"markdownMs":600000,"applyMs":0,"heights":[{"id":"user:u","height":1000000},{"id":"a","text":"","height":0}]}"#
    let good = try start(whole)
    #expect(good.screen.map(JSONWriter.text) == whole)
    #expect(good.notes.contains("the screen is as a mark says"))
    for bad in [
      #"{"markdownMs":600001}"#, #"{"applyMs":-1}"#, #"{"heights":[{"id":"u"}]}"#, #"{"heights":[{"id":"u","height":1000001}]}"#,
      #"{"colour":1}"#,
    ] {
      let (screen, notes) = try start(bad)
      #expect(screen == nil)
      #expect(notes.contains("a mark says of the screen what cannot be: left out"))
    }
    #expect(try start(#"{"markdownMs":180,"applyMs":"soon"}"#).screen == ["markdownMs": 180])
  }

  @Test func `whole gestures as drive posts them replace what requests tell, and drags stay among them`() throws {
    let scenario = try compiled([
      (0, #"{"user":{"do":"select","session":"ses-01"},"intent":"a","t":0}"#),
      (9.99, #"{"user":{"do":"send","text":"Close the roof"},"intent":"b","t":9990}"#),
      (12, #"{"user":{"do":"drag","path":[[200,-200]],"held":1300},"t":12000}"#),
      (14, #"{"user":{"do":"restart","for":800},"intent":"d","t":14000}"#),
      (15, #"{"user":{"do":"openComposer","spring":true},"intent":"c","t":15000}"#),
    ])
    #expect(scenario.facts.intents.allSatisfy { $0.basis == .recorded })
    #expect(scenario.facts.intents.map(\.gesture.name) == ["select", "send", "drag", "restart", "openComposer"])
    #expect(scenario.facts.intents[2].gesture.fields == ["path": [[200, -200]], "held": 1_300])
    #expect(scenario.facts.intents[3].gesture.fields == ["for": 800])
    #expect(scenario.facts.intents[4].gesture.fields.isEmpty)
  }

  @Test(arguments: [
    #"{"user":"thinks this is slow"}"#, #"{"user":{"do":"dance"}}"#, #"{"user":{"do":"send"}}"#, #"{"user":{"do":"drag","path":"up"}}"#,
    #"{"user":"drag-ended"}"#, #"{"user":"drag-moved","y":3}"#, #"{"user":5}"#, #"{"user":{"do":"send","text":"x","speedMode":5}}"#,
  ])
  func `a mark that is no gesture is left out with a note`(mark: String) throws {
    let scenario = try compiled([(12, mark)])
    #expect(scenario.facts.intents.map(\.gesture.name) == MarksTests.inferred)
    #expect(scenario.facts.notes.contains { $0.what == "a mark is no gesture and is left out" })
  }

  @Test func `marks that say nothing of the user change nothing`() throws {
    #expect(try compiled([(12, #"{"note":"only words"}"#)]).facts.notes == compiled([]).facts.notes)
  }
}
