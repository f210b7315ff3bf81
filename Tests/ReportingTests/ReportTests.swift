import Contract
import Foundation
import FoundationXML
import Oracles
import Simulation
import TestSupport
import Testing
import Wire

@testable import Reporting

@Suite struct SentenceTests {
  private func report(_ story: TraceBuilder, claims: [Claim] = []) -> Report {
    var story = story
    let trace = story.finished(quiet: 40_000, end: 60_000)
    return Report(trace: trace, judgement: Judge.judge(trace, claims: claims), system: "echo", tool: "t", command: "c")
  }

  @Test func `held counts messages, claims exercised and untested`() {
    #expect(Scenes.held().sentence == "Held: 3 messages, each saved once; 5 claims exercised, 2 untested.")
    var story = TraceBuilder()
    story.confirmed("op-1", "one", key: "k-1", at: 1_000)
    #expect(report(story).sentence == "Held: 1 message, saved once; 4 claims exercised, 2 untested.")
    story.send("op-2", "two", at: 2_000)
    story.says("op-2", .removed, at: 2_500)
    #expect(report(story).sentence == "Held: 2 messages, of which 1 removed and 1 saved once; 4 claims exercised, 2 untested.")
  }

  @Test func `broken names the message and what happened to it`() {
    var story = TraceBuilder()
    story.confirmed("op-1", "hello", key: "k-1", at: 1_000)
    story.ledger("saved", "op-1", at: 2_000)
    #expect(report(story).sentence == "Broken: M1 “hello” was saved twice.")
    #expect(
      Scenes.broken().sentence
        == "Broken: M2 “Close the roof at 18:00” was saved twice, and the update waited 0.912 s after the list came to rest; the limit is 0.250 s."
    )
  }

  @Test func `broken says lost, claimed and wrongly failed in plain words`() {
    var lost = TraceBuilder()
    lost.send("op-1", "hello", at: 1_000)
    lost.add(.world, "launch", at: 2_000, ["n": 1])
    #expect(report(lost).sentence == "Broken: M1 “hello” was lost.")
    var claimed = TraceBuilder()
    claimed.send("op-1", "hello", at: 1_000)
    claimed.says("op-1", .delivered, at: 2_000)
    #expect(report(claimed).sentence == "Broken: M1 “hello” is said to be with the server, which never saved it.")
    var failed = TraceBuilder()
    failed.send("op-1", "hello", at: 1_000)
    failed.ledger("saved", "op-1", at: 1_050)
    failed.says("op-1", .restored, at: 2_000)
    #expect(report(failed).sentence == "Broken: M1 “hello” is said to be restored, but the server has it.")
  }

  @Test func `three findings and more are counted`() {
    var story = TraceBuilder()
    for n in 1...4 {
      story.send("op-\(n)", "m\(n)", at: Int64(n) * 1_000)
      story.says("op-\(n)", .delivered, at: Int64(n) * 1_000 + 10)
    }
    #expect(report(story).sentence == "Broken: M1 “m1” is said to be with the server, which never saved it; 3 more findings.")
  }

  @Test func `unknown says why`() {
    #expect(Scenes.empty().sentence == "Unknown: nothing was put to the test.")
    struct Bad: Error, CustomStringConvertible { var description: String { "row 7 has no id" } }
    var story = TraceBuilder()
    story.confirmed("op-1", "hello", key: "k-1", at: 1_000)
    let claim = Claim("X-1", "Order", "In order.", per: "a row", on: .ledger) { _ in throw Bad() }
    #expect(report(story, claims: [claim]).sentence == "Unknown: X-1 Order is undecided: the check failed: row 7 has no id.")
  }

  @Test func `what a run does not say stands below`() {
    #expect(
      Scenes.held().remarks == [
        "1 fault fired. Touched: M2.",
        "2 of 3 rules never fired and 2 of 7 claims were not put to the test; this run says nothing about them.",
      ])
    #expect(Scenes.empty().remarks.first == "No faults were asked for.")
  }
}

@Suite struct FindingTests {
  @Test func `claims broken over one message are one finding, a claim without a message is its own`() {
    let findings = Scenes.broken().findings
    #expect(findings.map(\.id) == ["F1", "F2"])
    #expect(findings.map { $0.claims.map(\.id) } == [["CB-INV-01", "CB-INV-02"], ["EC-INV-39"]])
    #expect(findings[0].message?.id == "M2")
    #expect(findings[0].atFault == "client. Link and server did what plan and rules say.")
  }

  @Test func `evidence is in order, with gaps counted, deciding entries marked and the fault among it`() {
    let finding = Scenes.broken().findings[0]
    #expect(finding.evidence.map(\.line.index) == finding.evidence.map(\.line.index).sorted())
    #expect(finding.evidence.filter(\.decides).map(\.line.kind) == ["accepted", "saved"])
    #expect(finding.evidence.filter(\.line.isFault).map(\.line.rest) == ["response submit op-2 submit:m-2 — fault 1"])
    for (one, next) in zip(finding.evidence, finding.evidence.dropFirst()) { #expect(next.skipped == next.line.index - one.line.index - 1) }
  }

  @Test func `at most 15 entries stand, the deciding ones always, and the rest is counted`() {
    var story = TraceBuilder()
    for n in 0..<40 { story.add(.core, "tick", at: Int64(n)) }
    let trace = story.finished(quiet: 50, end: 60)
    let claim = Claim("X-1", "Ticks", "None.", per: "a tick", on: .clientOnly) { _ in
      ClaimOutcome(exercised: 1, violations: [Violation(at: .zero, happened: "Ticked.", evidence: Array(3..<43))])
    }
    let report = Report(trace: trace, judgement: Judge.judge(trace, claims: [claim]), system: "s", tool: "t", command: "c")
    #expect(report.findings[0].evidence.count == 15)
    #expect(report.findings[0].left == 25)
    #expect(report.findings[0].evidence.last?.decides == true)
  }

  @Test func `a repeat of one key that is saved again is the server's fault`() {
    var story = TraceBuilder()
    story.confirmed("op-1", "hello", key: "k-1", at: 1_000)
    _ = story.attempt("op-1", key: "k-1", at: 20_000)
    story.ledger("saved", "op-1", at: 20_050)
    let trace = story.finished(quiet: 30_000, end: 60_000)
    let report = Report(trace: trace, judgement: Judge.judge(trace, claims: []), system: "s", tool: "t", command: "c")
    #expect(report.findings[0].atFault == "server: it saved a repeat of the same key.")
  }
}

@Suite struct FormatTests {
  static let scenes = ["held", "broken", "hostile", "empty", "drag"]

  @Test(arguments: scenes) func `equal reports give equal bytes in every format`(scene: String) {
    let (one, two) = (GoldenTests.report(scene), GoldenTests.report(scene))
    #expect(TextReport.bytes(one) == TextReport.bytes(two))
    #expect(JSONReport.bytes(one) == JSONReport.bytes(two))
    #expect(JUnitReport.bytes(one) == JUnitReport.bytes(two))
    #expect(HTMLReport.bytes(one) == HTMLReport.bytes(two))
  }

  @Test(arguments: scenes) func `the text report is 96 columns wide at most and holds nothing that acts`(scene: String) {
    let text = TextReport.text(GoldenTests.report(scene))
    for line in text.split(separator: "\n") { #expect(TextWidth.of(line) <= 96, "\(line)") }
    #expect(!text.unicodeScalars.contains { $0 != "\n" && Visible.acts($0) })
    #expect(!text.split(separator: "\n", omittingEmptySubsequences: false).contains { $0.hasSuffix(" ") })
  }

  @Test(arguments: scenes) func `the JSON report keeps the least contract and gives every string back`(scene: String) throws {
    let report = GoldenTests.report(scene)
    let json = try JSONReader.value(JSONReport.bytes(report))
    #expect(json["schema"]?.int == 1)
    #expect(["held", "broken", "unknown"].contains(json["verdict"]?.string))
    #expect(json["token"]?.string == report.header.token)
    for claim in try #require(json["claims"]?.array) {
      for name in ["id", "kind", "verdict", "exercised", "evidence"] { #expect(claim[name] != nil) }
      #expect(["safety", "liveness"].contains(claim["kind"]?.string))
      #expect(["held", "broken", "untested", "unknown"].contains(claim["verdict"]?.string))
    }
    let messages = try #require(json["messages"]?.array)
    for message in messages {
      for name in ["id", "operationIds", "text", "attempts", "distinctKeys", "saves", "fate", "clientClaim", "faults"] {
        #expect(message[name] != nil)
      }
    }
    #expect(Set(messages.compactMap { $0["text"]?.string }) == Set(report.judgement.messages.map(\.text)))
    for rule in try #require(json["faults"]?.array) { for name in ["rule", "candidates", "fired"] { #expect(rule[name] != nil) } }
    for figure in try #require(json["figures"]?.array) {
      for name in ["id", "value", "unit", "limit", "held"] { #expect(figure[name] != nil) }
    }
    #expect(json["divergences"]?.array?.count == report.divergences.count)
  }

  private final class Cases: NSObject, XMLParserDelegate {
    var names: [String] = []
    var failures = 0
    func parser(
      _ parser: XMLParser, didStartElement element: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String] = [:]
    ) {
      if element == "testcase" { names.append(attributes["name"] ?? "") }
      if element == "failure" { failures += 1 }
    }
  }

  @Test(arguments: scenes) func `JUnit is well-formed XML with a case for each claim and each message`(scene: String) {
    let report = GoldenTests.report(scene)
    let bytes = JUnitReport.bytes(report)
    let cases = Cases()
    let parser = XMLParser(data: Data(bytes))
    parser.delegate = cases
    #expect(parser.parse())
    #expect(cases.names.count == report.judgement.claims.count + report.judgement.messages.count)
    #expect(cases.failures == report.judgement.count(.broken) + report.judgement.messages.count { $0.fate.isBroken })
    #expect(!String(decoding: bytes, as: UTF8.self).contains("]]>"))
    #expect(
      !String(decoding: bytes, as: UTF8.self).unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" && $0 != "\t" || $0.value == 0xfffe })
  }

  @Test(arguments: scenes) func `the page holds one style and one script by hash, and nothing that is loaded or styled inline`(
    scene: String
  ) {
    let page = String(decoding: HTMLReport.bytes(GoldenTests.report(scene)), as: UTF8.self)
    #expect(page.contains("style-src '\(PolicyHash.of(Style.sheet))'"))
    #expect(page.contains("script-src '\(PolicyHash.of(Style.script))'"))
    #expect(page.components(separatedBy: "<style").count == 2)
    #expect(page.components(separatedBy: "<script").count == 3)
    #expect(page.components(separatedBy: "</script>").count == 3)
    for part in [" style=", " src=", " onload", "<link", "@import", "http:", "https:", "Markup(", "<img", "<iframe"] {
      #expect(!page.contains(part), "\(part)")
    }
    // Patterns of this page only.
    #expect(page.components(separatedBy: "url(").dropFirst().allSatisfy { $0.hasPrefix("#p-") })
    #expect(!page.unicodeScalars.contains { $0 != "\n" && Visible.acts($0) })
    #expect(page.components(separatedBy: "<h1").count == 2)
  }

  @Test func `hostile words stand in the page as words only`() {
    let page = String(decoding: HTMLReport.bytes(Scenes.hostile()), as: UTF8.self)
    #expect(!page.contains("<script>alert"))
    #expect(!page.contains("onmouseover=\"alert"))
    #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
    #expect(page.contains("\\u003cscript\\u003ealert(1)"))
    #expect(page.contains("\\u{202e}gnirts"))
    #expect(page.contains("nul \\u{0} and \\u{fffe} here\\nsecond line\\ttab"))
  }

  @Test(arguments: scenes) func `no message of a report names a place or a time of this machine`(scene: String) {
    let report = GoldenTests.report(scene)
    for bytes in [TextReport.bytes(report), JSONReport.bytes(report), JUnitReport.bytes(report), HTMLReport.bytes(report)] {
      let text = String(decoding: bytes, as: UTF8.self)
      for word in ["/work", "/tmp", "/home", "localhost", ProcessInfo.processInfo.hostName] where word.count > 3 {
        #expect(!text.contains(word))
      }
    }
  }

  @Test func `more than 200 messages that are fine fold into a list with its count`() {
    var story = TraceBuilder()
    for n in 0..<260 { story.confirmed("op-\(n)", "m\(n)", key: "k-\(n)", at: Int64(n) * 100) }
    story.send("op-x", "bad", at: 40_000)
    story.says("op-x", .delivered, at: 40_010)
    let trace = story.finished(quiet: 50_000, end: 60_000)
    let report = Report(trace: trace, judgement: Judge.judge(trace, claims: []), system: "s", tool: "t", command: "c")
    let page = String(decoding: HTMLReport.bytes(report), as: UTF8.self)
    #expect(page.components(separatedBy: "<tr role=\"row\" id=\"m").count == 201)
    #expect(page.contains("<summary>61 more messages, saved once</summary>"))
  }
}

@Suite struct GateTests {
  private static let notice =
    "The recording and the replay differ in 3 places: 1 of the server alone (audit 1), 1 of the client alone (audit 2), 1 of both together (audit 3)."

  @Test func `a divergence stands above the verdict in each format`() throws {
    let report = Scenes.broken()
    #expect(report.divergenceNotice == GateTests.notice)
    let text = TextReport.text(report)
    #expect(text.hasPrefix("! DIVERGED The recording and the replay differ in 3 places: 1 of the server alone (audit 1),"))
    let page = String(decoding: HTMLReport.bytes(report), as: UTF8.self)
    let notice = try #require(page.range(of: GateTests.notice))
    #expect(notice.lowerBound < page.range(of: "id=\"verdict\"")!.lowerBound)
    #expect(page.contains("<title>Diverged. Broken: "))
    let json = try JSONReader.value(JSONReport.bytes(report))
    #expect(json["diverged"]?.bool == true)
    #expect(json["divergenceNotice"]?.string == GateTests.notice)
    #expect(json.object?.members.prefix(4).map(\.name) == ["schema", "diverged", "divergenceNotice", "verdict"])
    let xml = JUnitReport.text(report)
    let property = try #require(xml.range(of: "<property name=\"divergence\" value=\"\(GateTests.notice)\"/>"))
    #expect(property.lowerBound < xml.range(of: "name=\"verdict\"")!.lowerBound)
  }

  @Test func `nothing stands above the verdict where nothing differs`() throws {
    let report = Scenes.held()
    #expect(report.divergenceNotice == nil)
    #expect(TextReport.text(report).hasPrefix("HELD  "))
    #expect(!String(decoding: HTMLReport.bytes(report), as: UTF8.self).contains("<aside"))
    #expect(try JSONReader.value(JSONReport.bytes(report))["diverged"]?.bool == false)
    #expect(JUnitReport.text(report).contains("<property name=\"divergence\" value=\"not audited\"/>"))
  }
}

@Suite struct TextTests {
  @Test func `wide characters count two, marks none`() {
    #expect(TextWidth.of("abc") == 3)
    #expect(TextWidth.of("漢字") == 4)
    #expect(TextWidth.of("한글") == 4)
    #expect(TextWidth.of("ＦＵ") == 4)
    #expect(TextWidth.of("👩‍👩‍👧‍👦") == 2)
    #expect(TextWidth.of("🇩🇪") == 2)
    #expect(TextWidth.of("❤️") == 2)
    #expect(TextWidth.of("e\u{301}") == 1)
    #expect(TextWidth.of("é") == 1)
    #expect(TextWidth.of("שלום") == 4)
    #expect(TextWidth.of("\u{10ff}\u{1100}\u{115f}") == 1 + 2)
    #expect(TextWidth.of("") == 0)
  }

  @Test func `what would act is shown`() {
    #expect(Visible.text("a\u{1b}[31m") == "a\\u{1b}[31m")
    #expect(Visible.text("\u{202e}x\u{0}\u{9b}\n") == "\\u{202e}x\\u{0}\\u{9b}\\n")
    #expect(Visible.text("ok ü 漢") == "ok ü 漢")
  }

  @Test func `lines break at spaces and long words where they must`() {
    #expect(Columns.wrap("one two three", to: 7) == ["one two", "three"])
    #expect(Columns.wrap("abcdefgh", to: 3) == ["abc", "def", "gh"])
    #expect(Columns.wrap("漢字漢", to: 4) == ["漢字", "漢"])
    #expect(Columns.wrap("", to: 4) == [""])
    #expect(Columns.cut("漢字漢字", to: 5) == "漢字…")
    #expect(Columns.cut("abcd", to: 4) == "abcd")
    #expect(Columns.pad("漢", to: 4) == "漢  ")
  }

  @Test func `numbers and lists are written for readers`() {
    #expect(Prose.number(1_234_567) == "1,234,567")
    #expect(Prose.number(-1_000) == "-1,000")
    #expect(Prose.number(0.912) == "0.912")
    #expect(Prose.number(1_036.0) == "1,036")
    #expect(Prose.number(Double.nan) == "no number")
    #expect(Prose.list(["a", "b", "c"]) == "a, b and c")
    #expect(Prose.joined("The update waited") == "the update waited")
    #expect(Prose.joined("M2 was") == "M2 was")
  }

  @Test func `policy hashes are base-64 of SHA-256`() {
    #expect(PolicyHash.base64([]) == "")
    #expect(PolicyHash.base64([0x66]) == "Zg==")
    #expect(PolicyHash.base64(Array("fo".utf8)) == "Zm8=")
    #expect(PolicyHash.base64(Array("foo".utf8)) == "Zm9v")
    #expect(PolicyHash.of("") == "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
  }

  @Test func `data of a script cannot end it`() {
    #expect(Markup.data(Array("\"</script><!-- & \u{2028}\"".utf8)).text == "\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028\"")
  }

  @Test func `places on the axis are exact and clamped`() {
    let end = Instant(nanoseconds: 44_000_000_000)
    #expect(Axis(end: end).percent(Instant(nanoseconds: 12_600_000_000)) == "28.636%")
    #expect(Axis(end: end).percent(end + .seconds(1)) == "100.000%")
    #expect(Axis(end: end).percent(.zero - .seconds(1)) == "0.000%")
    #expect(Axis(end: .zero).percent(.zero) == "0.000%")
    #expect(Axis(end: .never).percent(.never) == "100.000%")
    #expect(Axis(end: end).ticks.count <= 9)
    #expect(Axis(end: end).width(from: .zero, until: end) == "100.000%")
  }

  @Test func `a long quiet phase is drawn narrower`() {
    func at(_ seconds: Int64) -> Instant { .zero + .seconds(seconds) }
    let axis = Axis(end: at(100), quietFrom: at(20))
    #expect(axis.knee == at(20))
    #expect(axis.percent(at(10)) == "42.500%")
    #expect(axis.percent(at(20)) == "85.000%")
    #expect(axis.percent(at(60)) == "92.500%")
    #expect(axis.percent(at(100)) == "100.000%")
    #expect(axis.ratio == 23)
    #expect(axis.ticks.last == at(100))
    #expect(Axis(end: at(100), quietFrom: at(70)).knee == nil)
    #expect(Axis(end: at(100), quietFrom: at(69)).knee == at(69))
    #expect(Axis(end: at(100), quietFrom: .zero).knee == nil)
    #expect(Axis(end: at(100), quietFrom: at(100)).knee == nil)
    #expect(Axis(end: .never, quietFrom: at(1)).percent(.never) == "100.000%")
  }
}
