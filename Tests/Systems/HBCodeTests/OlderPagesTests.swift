import Contract
import HBCodeDialect
import HBCodeSystem
import Simulation
import TestSupport
import Testing
import Wire

@testable import HBCodeScenario

/// Which older pages are the user's (SCENARIO.md 3, step 6).
@Suite struct OlderPagesTests {
  private static func at(_ ms: Int64) -> Instant { .zero + .milliseconds(ms) }

  private static func rows(_ range: Range<Int>) -> Set<String> { Set(range.map { "user:h\($0)" }) }

  /// A chat selected at 0 whose first window of twelve rows came at 100 ms.
  private static func list() -> OlderPages {
    var list = OlderPages()
    list.mount(at: at(0))
    list.window(rows(88..<100), at: at(100))
    return list
  }

  /// Whether the phone asks by itself for a page at `ms` that is answered 10 ms later.
  private static func asks(_ list: inout OlderPages, _ ms: Int64, _ range: Range<Int>, isOk: Bool = true) -> Bool {
    list.page(at: at(ms), end: at(ms + 10), isOk: isOk, rows: rows(range)) != nil
  }

  @Test(arguments: [(100, true), (2_200, true), (2_201, false)] as [(Int64, Bool)])
  func `HB-REVEAL-06 a page within 2.1 s of the first window is no gesture`(ms: Int64, isExplained: Bool) {
    var list = OlderPagesTests.list()
    #expect(OlderPagesTests.asks(&list, ms, 0..<88) == isExplained)
    #expect((list.drawn == nil) == isExplained)
  }

  @Test func `HB-REVEAL-06 a reveal asks for two pages, a third is the user's`() {
    var list = OlderPagesTests.list()
    #expect(OlderPagesTests.asks(&list, 300, 70..<88))
    #expect(OlderPagesTests.asks(&list, 600, 60..<70))
    #expect(!OlderPagesTests.asks(&list, 1_700, 50..<60))
    #expect(list.drawn == OlderPagesTests.at(1_700))
  }

  @Test func `HB-REVEAL-06 a failed page ends the pages of a reveal`() {
    var list = OlderPagesTests.list()
    list.window(OlderPagesTests.rows(50..<100), at: OlderPagesTests.at(150))
    #expect(OlderPagesTests.asks(&list, 300, 0..<0, isOk: false))
    #expect(!OlderPagesTests.asks(&list, 600, 0..<50))
  }

  @Test func `HB-REVEAL-10 HB-EPOCH-02 a selection and a window without a row of the one before begin a reveal`() {
    var list = OlderPagesTests.list()
    list.window(OlderPagesTests.rows(90..<102), at: OlderPagesTests.at(10_000))
    #expect(!OlderPagesTests.asks(&list, 10_100, 70..<88))
    list.window(OlderPagesTests.rows(200..<212), at: OlderPagesTests.at(20_000))
    #expect(list.drawn == nil)
    #expect(OlderPagesTests.asks(&list, 20_100, 150..<200))
    list.mount(at: OlderPagesTests.at(30_000))
    #expect(OlderPagesTests.asks(&list, 32_100, 110..<150))
  }

  /// 30 rows of 80 pt lie within 1,800 pt of the top, 31 do not.
  @Test(arguments: [(18, true), (19, false)])
  func `HB-OLDER-01 a short list at its bottom asks on by itself`(rows: Int, isExplained: Bool) {
    var list = OlderPagesTests.list()
    #expect(OlderPagesTests.asks(&list, 2_000, (88 - rows)..<88))
    #expect(OlderPagesTests.asks(&list, 2_150, 0..<0, isOk: true))
    // The second page of the reveal brought nothing; the third comes 0.25 s after it.
    #expect(OlderPagesTests.asks(&list, 2_400, 0..<60) == isExplained)
  }

  /// The list is drawn to 1,700 pt: one row more and it is still within 1,800 pt.
  @Test(
    arguments: [
      (1, 10_250, true), (2, 10_250, false), (1, 10_249, false), (1, 11_010, true), (1, 11_011, false), (0, 10_300, true),
    ] as [(Int, Int64, Bool)])
  func `HB-OLDER-01 behind a drawing the next page is no gesture while the list is still near its top`(
    rows: Int, ms: Int64, isExplained: Bool
  ) {
    var list = OlderPagesTests.list()
    list.window(OlderPagesTests.rows(50..<100), at: OlderPagesTests.at(200))
    #expect(!OlderPagesTests.asks(&list, 10_000, (50 - rows)..<50))
    #expect(OlderPagesTests.asks(&list, ms, 0..<40) == isExplained)
  }

  @Test func `HB-OLDER-01 HB-FIG-11 pages of 100 rows every 0.25 s are each the user's`() {
    var list = OlderPagesTests.list()
    for (k, ms) in [10_000, 10_250, 10_500, 10_750].enumerated() {
      #expect(!OlderPagesTests.asks(&list, Int64(ms), (-100 * (k + 1))..<(-100 * k)))
    }
  }

  @Test(arguments: [(17_999, false), (18_000, true), (19_000, true), (19_001, false)] as [(Int64, Bool)])
  func `HB-OLDER-02 a page without an answer is asked for again from 8 s on`(ms: Int64, isExplained: Bool) {
    var list = OlderPagesTests.list()
    #expect(list.page(at: OlderPagesTests.at(10_000), end: nil, isOk: false, rows: []) == nil)
    #expect(OlderPagesTests.asks(&list, ms, 0..<88) == isExplained)
  }

  // MARK: In a recording

  /// 60 rows, of which the window has twelve; a send at 20 s.
  private static let story = """
    {"end": 40, "oneWay": 0.05, "client": {"desktop": "desk-1"},
     "desktops": [{"id": "desk-1", "sessions": [{"id": "ses-01", "historyGoesOn": false, "history": [
       \((0..<60).map { #"{"type": "user", "id": "h\#($0)", "sourceOrder": [0, \#($0)]}"# }.joined(separator: ","))]},
       {"id": "ses-02", "history": []}]}],
     "book": {"cursors": [{"session": "ses-01", "row": "user:h48", "cursor": "cur-48"}, {"session": "ses-01", "row": "user:h28", "cursor": "cur-28"}],
       "boundaryTokens": [{"session": "ses-01", "lastRow": "user:h59", "token": "bt-59"}]}}
    """

  private static func phone(pages: [Double]) throws -> ScriptedPhone {
    var phone = ScriptedPhone(try ScenarioSamples.read(story))
    phone.until = ScriptedPhone.seconds(40)
    phone.open("ses-01", at: 0)
    for (k, at) in pages.enumerated() {
      phone.send(
        at, .loadPageBefore,
        ["sessionId": "ses-01", "cursor": .string(k == 0 ? "cur-48" : "cur-28"), "boundaryToken": "bt-59", "limit": 20])
    }
    return phone
  }

  private func told(_ phone: ScriptedPhone) throws -> [String] {
    try phone.compiled().facts.intents.map { "\($0.at) \($0.gesture.name) \($0.basis.rawValue) \($0.lag.nanoseconds / 1_000_000)" }
  }

  @Test func `pages of the first reveal are no gestures, a later one is: the list was drawn up`() throws {
    // The first window comes at 0.1 s.
    var phone = try OlderPagesTests.phone(pages: [0.3])
    #expect(try told(phone) == ["0:00.000 select derived 0"])
    phone = try OlderPagesTests.phone(pages: [0.3, 12])
    #expect(try told(phone) == ["0:00.000 select derived 0", "0:12.000 older assumed 11600"])
    let notes = try phone.compiled().facts.notes.map(\.what)
    #expect(notes.contains("an older page at 0:00.300 is explained by the first reveal (HB-REVEAL-06)"))
  }

  @Test func `back to the bottom at the next send`() throws {
    var phone = try OlderPagesTests.phone(pages: [12])
    phone.submit("ses-01", ScriptedPhone.entry(1, "Close the roof", at: 20), at: 20, mutation: "m-1")
    phone.submit("ses-01", ScriptedPhone.entry(2, "And the vents", at: 25), at: 25, mutation: "m-2")
    #expect(
      try told(phone) == [
        "0:00.000 select derived 0", "0:12.000 older assumed 11900", "0:20.000 scrollToLatest assumed 0", "0:20.000 send derived 0",
        "0:25.000 send derived 0",
      ])
  }

  @Test func `back to the bottom at the next selection`() throws {
    var phone = try OlderPagesTests.phone(pages: [12])
    phone.open("ses-02", at: 18)
    phone.open("ses-01", at: 20)
    #expect(
      try told(phone) == [
        "0:00.000 select derived 0", "0:12.000 older assumed 11900", "0:18.000 scrollToLatest assumed 0", "0:18.000 select derived 0",
        "0:20.000 select derived 0",
      ])
  }

  /// 150 rows, of which a window has twelve and a page a hundred: lived by the phone with a finger on the list.
  private static let lived = """
    {"end": 30, "oneWay": 0.05, "client": {"desktop": "desk-1", "sessions": [{"id": "ses-01", "agent": "codex"}]},
     "desktops": [{"id": "desk-1", "sessions": [{"id": "ses-01", "history": [
       \((0..<150).map { #"{"type": "user", "id": "h\#($0)", "sourceOrder": [0, \#($0)], "text": "Row \#($0)"}"# }.joined(separator: ","))]}]}],
     "intents": [{"at": 0, "user": {"do": "select", "session": "ses-01"}},
       {"at": 12, "user": {"do": "drag", "path": [[900, 9000]], "held": 100}}]}
    """

  @Test func `HB-OLDER-01 a page that a finger asked for compiles to older, which asks for it at the same instant`() throws {
    let told = try Story(hbcode, ScenarioSamples.read(OlderPagesTests.lived)).jitter(0).run()
    let pages = told.instants(.link, "send", "name=run.chatLoadPageBefore", "label=request")
    let drawn = try #require(pages.last)
    #expect(drawn > "0:12.000" && drawn < "0:13.000")
    let frames = ScenarioRunTests.frames(told, until: ScriptedPhone.seconds(30))
    let scenario = try ScenarioRunTests.compiled(frames)
    #expect(scenario.facts.intents.map { "\($0.at) \($0.gesture.name)" } == ["0:00.000 select", "\(drawn) older"])
    let again = try Story(hbcode, scenario).jitter(0).run()
    #expect(again.instants(.link, "send", "name=run.chatLoadPageBefore", "label=request") == pages)
    #expect(again.entries(.user, "void").isEmpty)
  }

  @Test func `where marks tell of fingers no older page is inferred, where they tell of none it is`() throws {
    func compiled(_ mark: String, at: Double) throws -> [String] {
      var frames = try OlderPagesTests.phone(pages: [12]).record()
      frames.append(
        Frame(at: ScriptedPhone.seconds(at), connection: ConnectionID(0), direction: .out, kind: .mark, payload: Array(mark.utf8)))
      frames = frames.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
      for index in frames.indices { frames[index].sequence = index + 1 }
      return try Compiler.compile(frames, wallClockMilliseconds: HBCodeScenario.standardWallClock, origin: "test").facts.intents.map(
        \.gesture.name)
    }
    #expect(try compiled(#"{"user":{"do":"drag","path":[[900,2000]]}}"#, at: 11) == ["select", "drag"])
    #expect(try compiled(#"{"user":"composer-opened"}"#, at: 11) == ["select", "openComposer", "older"])
    #expect(try compiled(#"{"user":{"do":"select","session":"ses-01"}}"#, at: 0) == ["select", "older"])
  }
}
