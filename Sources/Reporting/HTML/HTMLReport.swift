import Contract
import Oracles
import Simulation
import Wire

/// One self-contained page: it opens from disk with the network off and is complete with scripts off. Sections are functions of the
/// report, one after the other; what later versions add (phone, film strip, zoom) becomes further sections, and reads the data block
/// `#report`, which is `report.json`.
package enum HTMLReport {
  /// Samples of a figure in the data block of the page: `report.json` has all.
  private static let sampleLimit = 500

  package static func bytes(_ report: Report) -> [UInt8] { Array(page(report).text.utf8) }

  static func page(_ report: Report) -> Markup {
    let header = report.header
    let policy =
      "default-src 'none'; style-src '\(PolicyHash.of(Style.sheet))'; script-src '\(PolicyHash.of(Style.script))'; base-uri 'none'; form-action 'none'"
    // The policy is made here of hashes only; its quotes must stand as they are.
    let meta = Markup(stringLiteral: "<meta http-equiv=\"Content-Security-Policy\" content=\"\(policy)\">\n")
    let run = "\(header.recordingName) · \(header.planName) · seed \(header.seed)"
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      \(meta)<meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>\(report.differences.isEmpty ? "" : "Diverged. ")\(Prose.word(report.verdict)): \(header.recordingName), \(header.planName), seed \(String(header.seed))</title>
      <style>\(Markup(stringLiteral: Style.sheet))</style>
      </head>
      <body>
      <a class="skip" href="#main">Skip to the report</a>
      \(Glyphs.definitions)
      <header class="top"><div class="bar"><span class="brand">\(report.differences.isEmpty ? "" : Glyphs.faultIcon)\(Glyphs.icon(report.verdict))chatbench</span><span class="run"><bdi>\(run)</bdi></span>\(navigation(report))</div></header>
      <main id="main">
      \(divergenceNotice(report))\(verdict(report))\(findings(report))\(DeliverySection.markup(report))\(RenderingSection.markup(report))\(Timeline.section(report))\(divergences(report))\(faults(report))\(claims(report))\(about(report))</main>
      <footer><p>Everything here is in this file; nothing is loaded and nothing is sent. Times are virtual: m:ss.mmm since the start of the run.</p></footer>
      <script type="application/json" id="report">\(Markup.data(JSONWriter.compact(JSONReport.json(report, sampleLimit: sampleLimit))))</script>
      <script>\(Markup(stringLiteral: Style.script))</script>
      </body>
      </html>

      """
  }

  private static func navigation(_ report: Report) -> Markup {
    let broken: Markup = report.findings.isEmpty ? "<b>0</b>" : "<b class=\"bad\">\(report.findings.count)</b>"
    var links: [Markup] = [
      "<a href=\"#findings\">Findings \(broken)</a>",
      "<a href=\"#delivery\">Delivery <b>\(report.judgement.messages.count)</b></a>",
    ]
    if !report.figures.isEmpty || !report.screen.isEmpty {
      links.append("<a href=\"#rendering\">Rendering <b>\(report.figures.count)</b></a>")
    }
    if !report.screen.holds.isEmpty { links.append("<a href=\"#held\">Held <b>\(report.screen.holds.count)</b></a>") }
    links.append("<a href=\"#timeline\">Timeline</a>")
    if hasDivergences(report) { links.append("<a href=\"#divergence\">Divergence <b>\(report.differences.count)</b></a>") }
    links.append("<a href=\"#faults\">Faults <b>\(report.rules.count)</b></a>")
    links.append("<a href=\"#claims\">Claims <b>\(report.judgement.claims.count)</b></a>")
    links.append("<a href=\"#about\">About</a>")
    return "<nav aria-label=\"Sections\">\(links)</nav>"
  }

  static func section(_ id: String, _ title: String, _ lead: Markup, _ body: Markup) -> Markup {
    "<section id=\"\(id)\" aria-labelledby=\"h-\(id)\"><h2 id=\"h-\(id)\">\(title)</h2><p class=\"lead\">\(lead)</p>\(body)</section>\n"
  }

  private static func divergenceNotice(_ report: Report) -> Markup {
    guard let notice = report.divergenceNotice else { return "" }
    let first = report.differences[0]
    return """
      <aside class="warn" aria-label="Divergence"><p><b>\(Glyphs.faultIcon) Diverged. \(notice)</b> \
      First: \(first.kind.rawValue) at \(first.at.description), \(Markup.bdi(first.name)). Judge the verdict below with that in mind. <a href="#divergence">All differences</a></p></aside>

      """
  }

  private static func verdict(_ report: Report) -> Markup {
    let remarks: [Markup] = report.remarks.map { "<p>\($0)</p>" }
    let first: Markup =
      report.findings.isEmpty
      ? ""
      : "<p>What proves it: \(Markup.joined(report.findings.prefix(12).map { "<a href=\"#\($0.id.lowercased())\">\($0.id)</a>" }, ", ")).</p>"
    let lanes = Set(report.judgement.messages.compactMap(\.lane)).count
    let fired = report.rules.reduce(0) { $0 + $1.fired }
    let proof: (String, String) =
      switch report.proof {
      case .notRun: ("no", "second run")
      case .equal: ("equal", "when run twice")
      case .differs: ("different", "when run twice")
      }
    let numbers: [(String, String)] = [
      (Interval(nanoseconds: report.end.nanoseconds).description, "virtual time"), (Prose.number(lanes), lanes == 1 ? "chat" : "chats"),
      (Prose.number(report.judgement.messages.count), report.judgement.messages.count == 1 ? "message" : "messages"),
      (Prose.number(fired), fired == 1 ? "fault fired" : "faults fired"),
      (Prose.number(report.silentRules.count), report.silentRules.count == 1 ? "rule never fired" : "rules never fired"),
      (Prose.number(report.trace.entries.count), "trace entries"), proof, (String(report.judgement.exitStatus), "exit status"),
    ]
    let facts: [Markup] = numbers.map { "<div><dt>\($0.1)</dt><dd>\($0.0)</dd></div>" }
    return """
      <section id="verdict" aria-labelledby="h-verdict"><p class="word \(Glyphs.style(report.verdict))">\(Glyphs.icon(report.verdict))\(Prose.word(report.verdict))</p>\
      <h1 id="h-verdict"><span class="sr">\(Prose.word(report.verdict)): </span>\(Prose.capitalised(report.statement))</h1>
      <div class="why"><div>\(first)\(remarks)</div><div><div class="cap"><span>Repeat this run; it is the same to the byte</span>\
      <span><span id="copied" role="status"></span> <button id="copy" type="button" data-js hidden>Copy</button></span></div>\
      <pre class="cmd" id="command">\(Markup.lines(report.command))</pre></div></div>
      \(strip(report))<dl class="facts">\(facts)</dl></section>

      """
  }

  /// One mark for each claim, the common ones and the system's apart.
  private static func strip(_ report: Report) -> Markup {
    let claims = report.judgement.claims
    let groups = [
      ("All systems", claims.filter { $0.id.hasPrefix("CB-") }), (report.system, claims.filter { !$0.id.hasPrefix("CB-") }),
    ]
    let parts: [Markup] = groups.filter { !$0.1.isEmpty }.map { name, claims in
      let counts = [Verdict.broken, .unknown, .held, .untested].compactMap { verdict -> String? in
        let count = claims.count { $0.verdict == verdict }
        return count == 0 ? nil : "\(count) \(verdict.rawValue)"
      }
      let width = claims.count * 16
      let marks: [Markup] = claims.enumerated().map { index, claim in
        "<g class=\"\(Glyphs.style(claim.verdict))\" transform=\"translate(\(index * 16) 2)\"><title>\(claim.id) \(claim.title): \(claim.verdict.rawValue)</title>\(Glyphs.shape(claim.verdict))</g>"
      }
      return
        "<div>\(name)<svg width=\"\(width)\" height=\"16\" viewBox=\"0 0 \(width) 16\" role=\"img\" aria-label=\"\(name): \(counts.joined(separator: ", "))\">\(marks)</svg></div>"
    }
    return "<div class=\"strip\"><span>\(claimCounts(report)) of \(Prose.count(claims.count, "claim"))</span>\(parts)</div>\n"
  }

  private static func claimCounts(_ report: Report) -> String {
    [Verdict.broken, .held, .unknown, .untested].compactMap { verdict -> String? in
      let count = report.judgement.count(verdict)
      return verdict == .unknown && count == 0 ? nil : "\(count) \(verdict.rawValue)"
    }.joined(separator: " · ")
  }

  private static func findings(_ report: Report) -> Markup {
    if report.findings.isEmpty {
      return section(
        "findings", "Findings",
        "None. Every claim that this run put to the test \(report.verdict == .held ? "held" : "held or could not be decided").", "")
    }
    let kinds = Set(report.findings.flatMap(\.claims).map(\.kind))
    let kind =
      kinds == [.safety]
      ? "what must never happen did"
      : kinds == [.liveness] ? "what must come in time did not" : "what must never happen did, and what must come in time did not"
    let articles: [Markup] = report.findings.map { finding in
      let id = finding.id.lowercased()
      let moments: [Markup] = finding.moments.map { "<b>\($0.at.description)</b>\($0.what.isEmpty ? "" : " \($0.what)")" }
      var facts: Markup = ""
      facts += "<dt>Promised</dt><dd>\(finding.promised.joined(separator: " "))</dd>"
      facts += "<dt>Happened</dt><dd class=\"hap\">\(finding.happened.joined(separator: " "))</dd>"
      facts += "<dt>When</dt><dd>\(Markup.joined(moments, ", "))</dd>"
      facts += "<dt>At fault</dt><dd>\(Glyphs.icon(.broken)) \(finding.atFault)</dd>"
      facts +=
        "<dt>Claims</dt><dd>\(Markup.joined(finding.claims.map { "<a href=\"#c-\(anchor($0.id))\">\($0.id)</a> \($0.title.prefix(1).lowercased() + $0.title.dropFirst())" }, ", "))</dd>"
      let hold = report.screen.holds.first { hold in finding.claims.contains { hold.claims.contains($0.id) } }
      let figure = finding.message.map(SequenceFigure.markup) ?? hold.map(HoldFigure.markup) ?? ""
      let row: Markup = finding.message.map { "<a href=\"#\($0.id.lowercased())\">\($0.id) in the delivery table</a> " } ?? ""
      let held: Markup = hold.map { "<a href=\"#\($0.id.lowercased())\">\($0.id) among the held updates</a> " } ?? ""
      return """
        <article class="finding" id="\(id)" aria-labelledby="h-\(id)"><h3 id="h-\(id)"><span class="n">\(finding.id)</span>\(Markup.bdi(finding.title))</h3>
        <div class="fg\(finding.message == nil && hold == nil ? " one" : "")"><dl class="kv">\(facts)</dl>\(figure)</div>
        \(evidence(finding))<p class="go">\(row)\(held)<a href="#timeline">The timeline</a></p></article>

        """
    }
    return section(
      "findings", "Findings", "\(Prose.capitalised(Prose.count(report.findings.count, "finding"))): \(kind).", Markup(parts: articles))
  }

  private static func evidence(_ finding: Finding) -> Markup {
    if finding.evidence.isEmpty { return "" }
    let width = finding.evidence.map { String($0.line.index).count }.max() ?? 1
    var lines: [Markup] = []
    for evidence in finding.evidence {
      if evidence.skipped > 0 {
        lines.append("<i>\(String(repeating: " ", count: width)) … \(Prose.count(evidence.skipped, "entry", "entries"))</i>")
      }
      let line = evidence.line
      let head =
        Columns.pad(String(line.index), to: width, right: true) + "  " + Columns.pad("\(line.at)", to: 8, right: true) + "  "
        + Columns.pad(line.party, to: 8) + Columns.pad(line.kind, to: 11) + " "
      let body: Markup = "\(head)\(Markup.bdi(line.rest))"
      lines.append(
        evidence.decides ? "<mark>\(body)</mark>   <i>← decides</i>" : line.isFault ? "<span class=\"flt\">\(body)</span>" : body)
    }
    if finding.left > 0 { lines.append("<i>… and \(Prose.count(finding.left, "more entry", "more entries")) of evidence</i>") }
    return """
      <div class="ev"><h4>The \(Prose.count(finding.evidence.count, "entry", "entries")) that \(finding.evidence.count == 1 ? "shows" : "show") it</h4>\
      <pre class="tr" tabindex="0" role="region" aria-label="Trace entries of finding \(finding.id)">\(Markup.joined(lines, "\n"))</pre></div>

      """
  }

  private static func hasDivergences(_ report: Report) -> Bool { !report.divergences.isEmpty || !report.cannotSay.isEmpty }

  private static func divergences(_ report: Report) -> Markup {
    if !hasDivergences(report) { return "" }
    var body: Markup = ""
    if !report.differences.isEmpty {
      let rows: [Markup] = report.differences.map { divergence in
        let values: Markup =
          divergence.path.map { path in
            "<small>\(Markup.code(path)): recorded \(Markup.code(divergence.recorded ?? "nothing")), replayed \(Markup.code(divergence.replayed ?? "nothing"))</small>"
          } ?? ""
        return """
          <tr><th scope="row">\(divergence.kind.rawValue)</th><td>\(divergence.at.description)</td><td>\(Markup.bdi(divergence.name))\(values)</td>\
          <td>\(divergence.frame.map(String.init) ?? "not recorded")</td><td>\(divergence.audit), \(Report.subject(ofAudit: divergence.audit))</td><td>\(Markup.bdi(divergence.restsOn ?? "–"))</td></tr>
          """
      }
      body += """
        <div class="scroll wide" tabindex="0" role="region" aria-label="Differences"><table><thead><tr><th scope="col">Kind</th><th scope="col">At</th><th scope="col">Frame</th>\
        <th scope="col">Recorded as</th><th scope="col">Audit</th><th scope="col">Rests on it</th></tr></thead><tbody>\(rows)</tbody></table></div>
        """
    }
    if !report.cannotSay.isEmpty {
      let lines: [Markup] = report.cannotSay.map { "<li>\(Markup.bdi($0))</li>" }
      body += "<h3 class=\"mt\">The recording cannot say</h3><ul class=\"plain\">\(lines)</ul>"
    }
    let lead =
      report.differences.isEmpty
      ? "None: the scenario gives back the recording."
      : "\(Prose.capitalised(report.divergenceCounts)). \(Report.auditWords)"
    return section("divergence", "Divergence from the recording", "\(lead)", body)
  }

  private static func faults(_ report: Report) -> Markup {
    let fired = report.rules.reduce(0) { $0 + $1.fired }
    var body: Markup = ""
    if !report.rules.isEmpty {
      let rows: [Markup] = report.rules.map { rule in
        let touched =
          report.judgement.messages.filter { $0.faults.contains { $0.rule == rule.number } }.sorted { $0.number < $1.number }.map(\.id)
          + report.screen.holds.filter { $0.rules.contains(rule.number) }.map(\.id)
        let links = Markup.joined(touched.prefix(20).map { "<a href=\"#\($0.lowercased())\">\($0)</a>" }, ", ")
        let when: Markup =
          rule.fired > 0
          ? "\(TextReport.span(rule))"
          : "<span class=\"v\">\(Glyphs.icon(.untested)) never</span><small>\(Markup.bdi(Report.silence(of: rule)))</small>"
        return
          "<tr><th scope=\"row\">\(rule.number)</th><td>\(Markup.code(rule.rule))</td><td class=\"r\">\(Prose.number(rule.candidates))</td><td class=\"r\">\(Prose.number(rule.fired))</td><td>\(when)</td><td>\(touched.isEmpty ? "–" : links)\(touched.count > 20 ? " and more" : "")</td></tr>"
      }
      body += """
        <div class="scroll wide" tabindex="0" role="region" aria-label="Rules"><table><thead><tr><th scope="col">Rule</th><th scope="col">What</th><th scope="col" class="r">Candidates</th>\
        <th scope="col" class="r">Fired</th><th scope="col">First – last</th><th scope="col">Touched</th></tr></thead><tbody>\(rows)</tbody></table></div>
        """
    }
    let past = report.judgement.messages.flatMap { message in message.faults.filter { $0.condition != nil }.map { (message.id, $0) } }
    if !past.isEmpty {
      let lines: [Markup] = past.map {
        "<li>\($0.1.at.description) \(Markup.bdi($0.1.frame)) \(LifeLine.past($0.1.kind)) (\($0.0)): \(Markup.bdi($0.1.condition ?? ""))</li>"
      }
      body += "<h3 class=\"mt\">Of the recorded past, before the plan</h3><ul class=\"plain\">\(lines)</ul>"
    }
    let silent = report.silentRules.count
    let lead =
      report.rules.isEmpty
      ? "No faults were asked for."
      : "\(Prose.capitalised(Prose.count(report.rules.count, "rule"))), \(Prose.count(fired, "fault")) fired."
        + (silent == 0
          ? ""
          : " \(silent == 1 ? "One rule" : "\(silent) rules") never fired: what \(silent == 1 ? "it" : "they") should show is not shown.")
        + (report.header.quietFrom > .zero ? " Quiet phase from \(report.header.quietFrom)." : "")
    return section("faults", "Faults", "\(lead)", body)
  }

  private static func claims(_ report: Report) -> Markup {
    let claims = report.judgement.claims
    var body: Markup = ""
    let open = claims.filter { $0.verdict == .broken } + claims.filter { $0.verdict == .unknown }
    if !open.isEmpty {
      let rows: [Markup] = open.map { claim in
        let links = Markup.joined(
          report.findings.filter { $0.claims.contains { $0.id == claim.id } }.map { "<a href=\"#\($0.id.lowercased())\">\($0.id)</a>" },
          ", ")
        let what: Markup =
          claim.verdict == .broken
          ? "\(Prose.number(claim.violations.count)) of \(Prose.count(claim.exercised, "time"))"
          : "\(Markup.bdi(claim.reason ?? "no reason given"))"
        return
          "<tr id=\"c-\(anchor(claim.id))\"><th scope=\"row\">\(claim.id)</th><td>\(claim.title)<small>\(claim.promise)</small></td><td>\(claim.kind.rawValue)</td><td class=\"v \(Glyphs.style(claim.verdict))\">\(Glyphs.icon(claim.verdict)) \(claim.verdict.rawValue)</td><td>\(what)</td><td>\(links)</td></tr>"
      }
      body += """
        <div class="scroll wide" tabindex="0" role="region" aria-label="Broken and unknown claims"><table><thead><tr><th scope="col">Claim</th><th scope="col">Promise</th><th scope="col">Kind</th>\
        <th scope="col">Verdict</th><th scope="col">How often, or why</th><th scope="col">Finding</th></tr></thead><tbody>\(rows)</tbody></table></div>
        """
    }
    func list(_ verdict: Verdict, _ title: String, _ line: (ClaimResult) -> Markup) -> Markup {
      let found = claims.filter { $0.verdict == verdict }
      if found.isEmpty { return "" }
      let items: [Markup] = found.map { "<li id=\"c-\(anchor($0.id))\"><code>\($0.id)</code>\(line($0))</li>" }
      return "<h3 class=\"mt\">\(title)</h3><ul class=\"list\">\(items)</ul>"
    }
    body += list(.untested, "Untested: this run says nothing about them") { claim in
      "<span>\(claim.title)<small>\(Markup.bdi(claim.reason ?? "no opportunity"))</small></span><span>\(Glyphs.icon(.untested))<span class=\"sr\">untested</span></span>"
    }
    body += list(.held, "Held, with how often each was put to the test") { claim in
      "<span>\(claim.title)</span><span>\(Glyphs.icon(.held))<span class=\"sr\">held</span> \(Prose.number(claim.exercised))</span>"
    }
    return section("claims", "Claims", "\(claimCounts(report)) of \(claims.count).", body)
  }

  /// What may stand in an `id`: letters, digits and hyphens of the claim's ID.
  private static func anchor(_ id: String) -> String {
    String(id.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
  }

  private static func about(_ report: Report) -> Markup {
    let facts: [Markup] = Facts.about(report).map { name, value in
      "<dt>\(name.hasPrefix(" ") ? "its sha-256" : name)</dt><dd>\(Markup.code(value))</dd>"
    }
    return section(
      "about", "About this run", "Equal tokens give equal traces, and equal traces give this page, byte by byte.",
      "<dl class=\"kv about\">\(facts)</dl><p class=\"note\">The whole trace is in the run file beside this page: <code>chatbench show run.chatrun</code>.</p>"
    )
  }
}

extension Markup {
  init(parts: [Markup]) { self = "\(parts)" }

  /// Text of several lines, each escaped, for `pre`.
  static func lines(_ text: String) -> Markup {
    joined(text.split(separator: "\n", omittingEmptySubsequences: false).map { "\(String($0))" }, "\n")
  }
}

/// Marks and icons: every verdict has a shape and a word beside its colour.
enum Glyphs {
  static let definitions: Markup = """
    <svg width="0" height="0" aria-hidden="true" focusable="false"><defs>\
    <symbol id="g-send" overflow="visible"><path class="g" d="M-4-4L4 0-4 4z"/></symbol>\
    <symbol id="g-save" overflow="visible"><path class="g" d="M0-5L5 0 0 5-5 0z"/></symbol>\
    <symbol id="g-saveb" overflow="visible"><path class="gb" d="M0-5.5L5.5 0 0 5.5-5.5 0z"/></symbol>\
    <symbol id="g-rcpt" overflow="visible"><circle class="go2" r="3.5"/></symbol>\
    <symbol id="g-drop" overflow="visible"><path class="gx" d="M-4-4L4 4M4-4L-4 4"/></symbol>\
    <symbol id="g-flt" overflow="visible"><path class="gf" d="M0-5L5 4H-5z"/></symbol>\
    <symbol id="g-bad" overflow="visible"><path class="gbx" d="M-4-4L4 4M4-4L-4 4"/></symbol>\
    <pattern id="p-held" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="pfill" width="6" height="6"/><path class="pline" d="M0 0V6"/></pattern>\
    <pattern id="p-slow" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="pslow" d="M0 0V5"/></pattern>\
    <pattern id="p-gone" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><path class="pslow" d="M0 0V7"/></pattern>\
    <symbol id="g-done" overflow="visible"><rect class="g" x="-3.5" y="-3.5" width="7" height="7"/></symbol>\
    </defs></svg>
    """

  static func style(_ verdict: Verdict) -> String {
    switch verdict {
    case .held: "ok"
    case .broken: "bad"
    case .untested: "dim"
    case .unknown: "unk"
    }
  }

  /// In a box of 12 × 12.
  static func shape(_ verdict: Verdict) -> Markup {
    switch verdict {
    case .held: "<circle cx=\"6\" cy=\"6\" r=\"4.5\" fill=\"currentColor\"/>"
    case .broken: "<path d=\"M2 2l8 8M10 2l-8 8\" stroke=\"currentColor\" stroke-width=\"2.2\" fill=\"none\"/>"
    case .untested: "<circle cx=\"6\" cy=\"6\" r=\"4\" stroke=\"currentColor\" stroke-width=\"1.5\" fill=\"none\"/>"
    case .unknown: "<path d=\"M6 1l5 5-5 5-5-5z\" stroke=\"currentColor\" stroke-width=\"1.5\" fill=\"none\"/>"
    }
  }

  static func icon(_ verdict: Verdict) -> Markup {
    "<svg class=\"ic \(style(verdict))\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">\(shape(verdict))</svg>"
  }

  static let faultIcon: Markup =
    "<svg class=\"ic flt\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><path class=\"full\" d=\"M6 .8L11.4 10.8H.6z\"/></svg>"
}
