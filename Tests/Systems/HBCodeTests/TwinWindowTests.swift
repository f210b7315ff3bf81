import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeTwin
import Simulation
import Testing
import Wire

/// Windows, older pages and anchors (spec B.3; SCENARIO.md 2 and 7 row 7).
@Suite struct TwinWindowTests {
  private func book(_ cursors: [(String, String)], _ tokens: [(String, String)] = []) -> IdentifierBook {
    IdentifierBook(
      cursors: cursors.map { .init(session: Hand.session, row: $0.0, cursor: $0.1) },
      boundaryTokens: tokens.map { .init(session: Hand.session, lastRow: $0.0, token: $0.1) })
  }

  @Test func `HB-ENV-10 a latest window has 11 keys, an anchored one 14, both decode`() throws {
    var bench = TwinBench(Hand.scenario(sessions: [Hand.session(history: 60)]))
    let latest = bench.load(at: 10)
    #expect(
      latest.object?.members.map(\.name) == [
        "boundaryToken", "nativeSessionId", "loadState", "storageFormat", "loadedEntries", "hasOlderEntries", "oldestCursor", "timeline",
        "liveOverlay", "runtime", "activeRun",
      ])
    let window = try HistoryEnvelope.decode(latest, .latest)
    #expect(window.timeline.map(\.id) == (48..<60).map { "h\($0)" })
    #expect(window.hasOlderEntries)
    let anchored = bench.load(limit: 40, anchor: Anchor.row(type: .user, id: "h30").json, at: 20)
    #expect(anchored.object?.count == 14)
    #expect(anchored.object?.members.suffix(3).map(\.name) == ["newerCursor", "anchorRow", "notice"])
    let page = try HistoryEnvelope.decode(anchored, .anchored)
    #expect(page.timeline.first?.id == "h10")
    #expect(page.timeline.last?.id == "h49")
    #expect(page.newerCursor != nil)
    #expect(page.anchorRow == .row(type: .user, id: "h30"))
    #expect(page.notice == nil)
    let end = try HistoryEnvelope.decode(bench.load(limit: 40, anchor: Anchor.message(id: "h59").json, at: 30), .anchored)
    #expect(end.timeline.map(\.id).first == "h20")
    #expect(end.newerCursor == nil)
  }

  @Test func `an anchor of an unknown row gets the latest window and the notice`() throws {
    var bench = TwinBench(Hand.scenario(sessions: [Hand.session(history: 20)]))
    let page = try HistoryEnvelope.decode(bench.load(limit: 40, anchor: Anchor.message(id: "none").json, at: 10), .anchored)
    #expect(page.notice == "This message is not in the saved history.")
    #expect(page.anchorRow == nil)
    #expect(page.newerCursor == nil)
    #expect(page.timeline.last?.id == "h19")
    #expect(bench.notes("basis").first?.fields["basis"] == "synthetic")
  }

  @Test func `tokens are the recorded ones where the state is, else ours, and both are understood`() throws {
    var bench = TwinBench(
      Hand.scenario(
        sessions: [Hand.session(history: 40)], tape: [Hand.stretch("op1", run: "run-1", orders: 2)],
        book: book([("user:h28", "cur-28"), ("user:h0", "cur-0")], [("agent-reply:h39", "bt-39")])))
    let first = bench.load(at: 10)
    #expect(first["boundaryToken"] == "bt-39")
    #expect(first["oldestCursor"] == "cur-28")
    func page(_ cursor: JSON?, _ token: JSON?, at: Int64, limit: Int64 = 100) -> JSON {
      bench.ask(
        .loadPageBefore,
        ["sessionId": .string(Hand.session), "cursor": cursor ?? .null, "boundaryToken": token ?? .null, "limit": .integer(limit)],
        at: at)
    }
    let older = page(first["oldestCursor"], first["boundaryToken"], at: 20)
    #expect(try OlderPage.decode(older).timeline.map(\.id) == (0..<28).map { "h\($0)" })
    #expect(older["hasOlderEntries"] == false)
    #expect(older["oldestCursor"] == "cur-0")
    let part = page(first["oldestCursor"], first["boundaryToken"], at: 25, limit: 10)
    #expect(part["oldestCursor"] == "x:cursor:user:h18")
    #expect(identities(page(part["oldestCursor"], part["boundaryToken"], at: 26)).count == 18)

    try bench.submit("op1", at: 30)
    bench.run(to: 30_000)
    let later = bench.load(at: 30_000)
    #expect(identities(later).first == "user:h30")
    #expect(later["oldestCursor"] == "x:cursor:user:h30")
    #expect(later["boundaryToken"] == "x:boundary:agent-reply:a-op1")
    let all = page(later["oldestCursor"], later["boundaryToken"], at: 30_100)
    #expect(identities(all).count == 30)
    #expect(bench.noted("reissued", "to").filter { $0.contains("x:cursor:user:h30") }.count == 1)
    #expect(page("nonsense", "bt-39", at: 30_200)["code"] == "cursor_expired")
    #expect(page("nonsense", "bt-39", at: 30_200)["permanent"] == false)
    #expect(page("cur-28", "bt-0", at: 30_300)["code"] == "cursor_expired")
  }

  @Test func `an older page beyond the recording is empty and marked`() throws {
    var session = Hand.session(history: 5)
    session.historyGoesOn = true
    var bench = TwinBench(Hand.scenario(sessions: [session]))
    let window = bench.load(at: 10)
    #expect(window["hasOlderEntries"] == true)
    let page = bench.ask(
      .loadPageBefore,
      [
        "sessionId": .string(Hand.session), "cursor": window["oldestCursor"] ?? .null, "boundaryToken": window["boundaryToken"] ?? .null,
        "limit": 100,
      ], at: 20)
    #expect(page["timeline"] == [])
    #expect(page["hasOlderEntries"] == false)
    #expect(page["oldestCursor"] == .null)
    #expect(bench.notes("basis").first?.fields["basis"] == "synthetic")
  }

  @Test func `a short history claims no older rows; an empty one is confirmed`() throws {
    var bench = TwinBench(Hand.scenario(sessions: [Hand.session(history: 12), Hand.session("ses-02", history: 0)]))
    let window = bench.load(at: 10)
    #expect(window["hasOlderEntries"] == false)
    #expect(window["oldestCursor"] == .null)
    let empty = bench.load("ses-02", at: 20)
    #expect(empty["loadState"] == ["type": "ready"])
    #expect(empty["timeline"] == [])
    #expect(try HistoryEnvelope.decode(empty, .latest).timeline.isEmpty)
  }

  @Test func `recorded rows keep unknown keys and the order of their keys`() throws {
    let row = try Row.decode(
      JSONReader.value(
        #"{"zeta":1.50,"id":"h0","type":"user","origin":"canonical","timestamp":1790000000000,"sourceOrder":[1,0],"text":"Hé","alpha":{"b":1,"a":[]}}"#
      ), at: "row")
    var session = Hand.session(history: 0)
    session.history = [row]
    var bench = TwinBench(Hand.scenario(sessions: [session]))
    #expect(bench.load(at: 10)["timeline"]?.array?.first == .object(row.raw))
  }
}
