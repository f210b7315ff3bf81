import Contract
import Oracles
import Simulation
import Wire

/// The report for a terminal or a mail: at most 96 columns, wide characters count two. Marks: `x` broken, `.` held, `?` untested or
/// unknown, `!` warning, `>` the entry that decides.
package enum TextReport {
  package static let columns = 96

  package static func bytes(_ report: Report) -> [UInt8] { Array(text(report).utf8) }

  package static func text(_ report: Report) -> String {
    var page = Page()
    if let notice = report.divergenceNotice { divergenceNotice(notice, report, &page) }
    head(report, &page)
    verdict(report, &page)
    findings(report, &page)
    delivery(report, &page)
    rendering(report, &page)
    held(report, &page)
    screen(report, &page)
    divergences(report, &page)
    faults(report, &page)
    claims(report, &page)
    about(report, &page)
    return page.text
  }

  private static func head(_ report: Report, _ page: inout Page) {
    let header = report.header
    page.paragraph(
      "\(Visible.text(header.recordingName)), plan \(Visible.text(header.planName)), seed \(header.seed)",
      head: "\(Prose.word(report.verdict).uppercased())  ")
    page.line(String(repeating: "=", count: columns))
  }

  /// The gate: above the verdict, so that nobody reads that one first.
  private static func divergenceNotice(_ notice: String, _ report: Report, _ page: inout Page) {
    let first = report.differences[0]
    page.paragraph(
      "DIVERGED \(notice) First: \(first.kind.rawValue) at \(first.at), \(Visible.text(first.name)). Judge the verdict below with that in mind; all are listed under DIVERGENCE FROM THE RECORDING.",
      head: "! ")
    page.line()
  }

  private static func verdict(_ report: Report, _ page: inout Page) {
    page.paragraph(report.sentence)
    page.line()
    for remark in report.remarks { page.paragraph(remark) }
    page.line()
    page.line("Repeat:")
    for line in report.command.split(separator: "\n", omittingEmptySubsequences: false) {
      page.command(Visible.text(line))
    }
    page.line()
    let lanes = Set(report.judgement.messages.compactMap(\.lane)).count
    page.paragraph(
      [
        "\(Interval(nanoseconds: report.end.nanoseconds)) virtual", Prose.count(lanes, "chat"),
        Prose.count(report.judgement.messages.count, "message"),
        "\(Prose.count(report.rules.reduce(0) { $0 + $1.fired }, "fault")) fired",
        "\(Prose.count(report.silentRules.count, "rule")) never fired",
      ].joined(separator: ", "))
    page.paragraph("\(Prose.count(report.judgement.claims.count, "claim")): \(claimCounts(report))")
    page.paragraph(
      "\(Prose.count(report.trace.entries.count, "trace entry", "trace entries")), \(report.proofWords), exit status \(report.judgement.exitStatus)"
    )
  }

  static func claimCounts(_ report: Report) -> String {
    var parts = ["\(report.judgement.count(.broken)) broken", "\(report.judgement.count(.held)) held"]
    if report.judgement.count(.unknown) > 0 { parts.append("\(report.judgement.count(.unknown)) unknown") }
    parts.append("\(report.judgement.count(.untested)) untested")
    return parts.joined(separator: ", ")
  }

  private static func findings(_ report: Report, _ page: inout Page) {
    page.section("FINDINGS", "\(report.findings.count)")
    if report.findings.isEmpty { page.paragraph("None.") }
    for (position, finding) in report.findings.enumerated() {
      if position > 0 { page.line() }
      page.paragraph(finding.title, head: Columns.pad(finding.id, to: 4))
      page.fact("promised", finding.promised.joined(separator: " "))
      page.fact("happened", finding.happened.joined(separator: " "))
      page.fact("when", finding.moments.map { "\($0.at)" + ($0.what.isEmpty ? "" : " \($0.what)") }.joined(separator: ", "))
      page.fact("at fault", finding.atFault)
      page.fact("claims", finding.claims.map { "\($0.id) \($0.title)" }.joined(separator: ", "))
      if finding.evidence.isEmpty { continue }
      page.line()
      for evidence in finding.evidence {
        if evidence.skipped > 0 { page.line("         … \(Prose.count(evidence.skipped, "entry", "entries"))") }
        page.evidence(evidence)
      }
      if finding.left > 0 { page.line("         … and \(Prose.count(finding.left, "more entry", "more entries")) of evidence") }
    }
  }

  private static func delivery(_ report: Report, _ page: inout Page) {
    let messages = report.judgement.messages
    page.section("DELIVERY", "\(Prose.count(messages.count, "message")), worst first")
    if messages.isEmpty {
      page.paragraph("No message was sent.")
    } else {
      let letters = LaneLetters(messages, report.judgement.foreign)
      var rows: [[String]] = []
      for message in messages {
        for (position, line) in LifeLine.of(message).enumerated() {
          let first = position == 0
          rows.append([
            first ? "\(message.mark) \(message.fate.words(saves: message.saves.count))" : "", first ? message.id : "again", line.key,
            line.sent,
            line.saved, line.receipt, first ? message.shown.map { "\($0)" } ?? "-" : "",
            first ? message.history.first.map { "\($0.at)" } ?? "-" : "", first ? letters.letter(message.lane) : "",
            first ? message.faultNumbers : "",
          ])
        }
      }
      page.table(
        ["fate", "message", "key", "sent", "saved", "receipt", "on screen", "settled", "chat", "fault"], rows, shrink: [2, 5, 9, 0],
        wrap: [0, 5, 9])
      page.line()
      if !letters.lanes.isEmpty {
        page.paragraph(
          "chat " + letters.lanes.map { "\(letters.letter($0)) = \(Columns.cut(Visible.text($0), to: 40))" }.joined(separator: ", "),
          hanging: 2)
        page.line()
      }
      page.table(
        ["", "client says", "server has", "words"],
        messages.sorted { $0.number < $1.number }.map {
          ["  " + $0.id, $0.clientSays, $0.ledger, Visible.text($0.text)]
        }, shrink: [3], wrap: [3])
      let open = messages.filter { $0.fate != .confirmed }
      if !open.isEmpty { page.line() }
      for message in open {
        page.paragraph(Visible.text(message.why), head: "  " + Columns.pad(message.id, to: 4))
      }
    }
    for entry in report.judgement.foreign {
      page.paragraph(
        "Not sent by this user: \(Visible.text(entry.operation)) \(Prose.quoted(entry.text, limit: 60)), saved \(entry.at).", hanging: 2)
    }
    for id in report.neverHappened { page.paragraph("Never happened, nobody caused it: \(id).", head: "! ") }
    for void in report.voids { page.paragraph("Not done: \(void.intent), \(void.reason).", head: "! ") }
  }

  private static func divergences(_ report: Report, _ page: inout Page) {
    if report.divergences.isEmpty && report.cannotSay.isEmpty { return }
    page.section("DIVERGENCE FROM THE RECORDING", report.divergenceCounts)
    if report.differences.isEmpty { page.paragraph("None.") } else { page.paragraph(Report.auditWords) }
    for divergence in report.differences {
      let frame = divergence.frame.map { ", frame \($0)" } ?? ""
      page.paragraph(
        "\(divergence.name) (audit \(divergence.audit), \(Report.subject(ofAudit: divergence.audit))\(frame))",
        head: "\(Columns.pad(divergence.kind.rawValue, to: 8))\(divergence.at)  ", hanging: 8)
      if let path = divergence.path {
        page.paragraph(
          "\(path): recorded \(divergence.recorded ?? "nothing"), replayed \(divergence.replayed ?? "nothing")",
          head: "        ")
      }
      if let rests = divergence.restsOn { page.paragraph("rests on it: \(rests)", head: "        ") }
    }
    if !report.cannotSay.isEmpty {
      page.line()
      page.line("The recording cannot say:")
      for line in report.cannotSay { page.paragraph(line, head: "- ") }
    }
  }

  private static func faults(_ report: Report, _ page: inout Page) {
    page.section("FAULTS", report.header.quietFrom > .zero ? "quiet phase from \(report.header.quietFrom)" : "")
    if report.rules.isEmpty {
      page.paragraph("No faults were asked for.")
    } else {
      page.table(
        ["rule", "what", "candidates", "fired", "first – last"],
        report.rules.map { rule in
          [
            "\(rule.number)", Visible.text(rule.rule), Prose.number(rule.candidates), Prose.number(rule.fired),
            rule.fired == 0 ? "never" : span(rule),
          ]
        }, right: [2, 3], shrink: [1], wrap: [1])
      for sentence in report.silenceSentences { page.paragraph(sentence, head: "! ") }
    }
    let past = report.judgement.messages.flatMap { message in message.faults.filter { $0.condition != nil }.map { (message.id, $0) } }
    for (message, touch) in past {
      page.paragraph(
        "Of the recorded past: \(touch.at) \(Visible.text(touch.frame)) \(LifeLine.past(touch.kind)) (\(message)): \(touch.condition ?? "").",
        hanging: 2)
    }
  }

  static func span(_ rule: RuleReport) -> String {
    let first = rule.first.map { "\($0)" } ?? "?"
    let last = rule.last.map { "\($0)" } ?? "?"
    return first == last ? first : "\(first) – \(last)"
  }

  private static func claims(_ report: Report, _ page: inout Page) {
    page.section("CLAIMS", "\(claimCounts(report)) of \(report.judgement.claims.count)")
    for verdict in [Verdict.broken, .unknown, .untested, .held] {
      for claim in report.judgement.claims where claim.verdict == verdict {
        let head = "\(mark(verdict)) \(Columns.pad(Columns.cut(Visible.text(claim.id), to: 24), to: 10))  "
        switch verdict {
        case .broken:
          let findings = report.findings.filter { $0.claims.contains { $0.id == claim.id } }.map(\.id).joined(separator: ", ")
          page.paragraph(
            "\(claim.title): broken \(Prose.number(claim.violations.count)) of \(Prose.count(claim.exercised, "time")) (\(findings))",
            head: head)
        case .unknown: page.paragraph("\(claim.title): unknown: \(claim.reason ?? "no reason given")", head: head)
        case .untested: page.paragraph("\(claim.title): untested: \(claim.reason ?? "no opportunity")", head: head)
        case .held:
          let count = Prose.number(claim.exercised)
          let name = Columns.cut("\(head)\(Visible.text(claim.title))", to: columns - count.count - 2)
          page.line(Columns.pad(name, to: columns - count.count) + count)
        }
      }
    }
  }

  private static func mark(_ verdict: Verdict) -> String {
    switch verdict {
    case .broken: "x"
    case .held: "."
    case .untested, .unknown: "?"
    }
  }

  private static func about(_ report: Report, _ page: inout Page) {
    let header = report.header
    page.section("ABOUT THIS RUN", "")
    for (name, value) in Facts.about(report) { page.paragraph(value, head: Columns.pad(name, to: 15)) }
    page.line()
    page.paragraph(
      "The whole trace: chatbench show run.chatrun. Times are virtual, m:ss.mmm since the start of \(Visible.text(header.recordingName)).")
  }
}

/// What a run was made of, as names and values: shared by text and HTML.
enum Facts {
  static func about(_ report: Report) -> [(String, String)] {
    let header = report.header
    var facts = [
      ("recording", Visible.text(header.recordingName)), ("  sha-256", Visible.text(header.recordingHash)),
      ("system", "\(report.system), behaviour version \(header.behaviourVersion)"), ("plan", Visible.text(header.planName)),
      ("  sha-256", Visible.text(header.planHash)),
      ("user", Visible.text(header.user) + (header.withoutRecordedLosses ? ", without recorded losses" : "")),
      ("seed", String(header.seed)),
      ("token", header.token),
    ]
    if let hash = report.traceHash { facts.append(("trace sha-256", Visible.text(hash))) }
    if let audit = report.audit { facts.append(("audits 1 to 3", Visible.text(audit))) }
    facts.append(("quiet phase", "\(header.quietFrom) to \(report.end)"))
    facts.append(("tool", "\(Visible.text(report.tool)), report schema \(JSONReport.schema)"))
    return facts
  }
}

/// Lines of the text report as they grow.
struct Page {
  private(set) var text = ""

  /// Everything that leaves goes through here, so nothing in it can act on a terminal.
  mutating func line(_ line: String = "") {
    let visible = Visible.text(line)
    var line = Substring(visible)
    while line.last == " " { line.removeLast() }
    text += line + "\n"
  }

  /// `head` as it is, then `words` wrapped to the page; lines after the first are indented by `hanging`, or by the head's width.
  mutating func paragraph(_ words: String, head: String = "", hanging: Int? = nil) {
    let start = TextWidth.of(head)
    let indent = hanging ?? start
    for (index, line) in Columns.wrap(Visible.text(words), to: TextReport.columns - max(start, indent)).enumerated() {
      self.line((index == 0 ? head : String(repeating: " ", count: indent)) + line)
    }
  }

  /// A line of the command: as it is, so that it can be copied, and broken only when it must be.
  mutating func command(_ line: String) {
    var rest = Substring("  " + line)
    while TextWidth.of(rest) > TextReport.columns {
      let cut = Columns.cut(String(rest), to: TextReport.columns + 1).dropLast()
      self.line(String(cut))
      rest = rest.dropFirst(cut.count)
      if cut.isEmpty { break }
    }
    self.line(String(rest))
  }

  mutating func section(_ title: String, _ right: String) {
    line()
    let space = TextReport.columns - title.count - TextWidth.of(right)
    line(title + String(repeating: " ", count: max(space, 1)) + right)
    line(String(repeating: "-", count: TextReport.columns))
  }

  mutating func fact(_ name: String, _ value: String) {
    let lines = Columns.wrap(Visible.text(value), to: TextReport.columns - 14)
    for (index, line) in lines.enumerated() { self.line("    " + Columns.pad(index == 0 ? name : "", to: 10) + line) }
  }

  mutating func evidence(_ evidence: Finding.EvidenceLine) {
    let line = evidence.line
    let head =
      (evidence.decides ? ">" : " ") + Columns.pad(String(line.index), to: 6, right: true) + "  "
      + Columns.pad("\(line.at)", to: 8, right: true) + "  " + Columns.pad(line.party, to: 8) + Columns.pad(line.kind, to: 11) + " "
    let indent = TextWidth.of(head) < 44 ? TextWidth.of(head) : 38
    for (index, part) in Columns.wrap(line.rest, to: TextReport.columns - indent).enumerated() {
      self.line((index == 0 ? head : String(repeating: " ", count: indent)) + part)
    }
  }

  /// Columns as wide as their widest cell, two spaces between. When that is too wide for the page, the columns of `shrink` are narrowed to
  /// what is left, in this order, down to four; cells are cut there, in columns of `wrap` broken into lines.
  mutating func table(_ heads: [String], _ rows: [[String]], right: Set<Int> = [], shrink: [Int] = [], wrap: Set<Int> = []) {
    let rows = rows.map { $0.map { Visible.text($0) } }
    var widths = heads.map { TextWidth.of($0) }
    for row in rows { for (index, cell) in row.enumerated() { widths[index] = max(widths[index], TextWidth.of(cell)) } }
    var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - TextReport.columns
    for column in shrink where excess > 0 {
      let cut = min(excess, max(0, widths[column] - 4))
      widths[column] -= cut
      excess -= cut
    }
    for row in [heads] + rows {
      let parts = row.enumerated().map { index, cell in
        wrap.contains(index) ? Columns.wrap(cell, to: widths[index]) : [Columns.cut(cell, to: widths[index])]
      }
      for number in 0..<(parts.map(\.count).max() ?? 0) {
        let cells = parts.enumerated().map { index, lines in
          Columns.pad(number < lines.count ? lines[number] : "", to: widths[index], right: right.contains(index))
        }
        line(cells.joined(separator: "  "))
      }
    }
  }
}
