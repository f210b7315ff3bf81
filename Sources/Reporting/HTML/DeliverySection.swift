import Contract
import Oracles
import Simulation

/// The table of messages: what the client believes stands beside what the server has, never merged.
enum DeliverySection {
  /// Rows of the table; more messages that are fine fold into a list.
  private static let rowLimit = 200

  static func markup(_ report: Report) -> Markup {
    let messages = report.judgement.messages
    let letters = LaneLetters(messages, report.judgement.foreign)
    // Worst first: what is cut off at the end is fine, and what is not fine always stands.
    let unsettled = messages.count { $0.mark != "." }
    let shown = messages.prefix(max(rowLimit, unsettled))
    var body: Markup = ""
    if !messages.isEmpty {
      let heads = [
        "Fate", "Message", "Life, 0:00 – \(report.end)", "Attempts", "Saved by server", "Receipt", "On screen", "Settled", "Client says",
        "Server has", "Faults",
      ]
      let headCells: [Markup] = heads.map {
        "<th role=\"columnheader\" scope=\"col\"\($0.hasPrefix("Life") ? Markup(" class=\"life\"") : "")>\($0)</th>"
      }
      let rows: [Markup] = shown.map { row($0, report, letters) }
      body += """
        <div class="dl"><table role="table"><caption class="sr">One row for each message, worst first</caption><thead role="rowgroup"><tr role="row">\(headCells)</tr></thead>\
        <tbody role="rowgroup">\(rows)</tbody></table></div>\(key)
        """
    }
    if messages.count > shown.count {
      let rest = messages.dropFirst(shown.count)
      let lines: [Markup] = rest.map {
        "<li><b>\($0.id)</b> \($0.fate.words(saves: $0.saves.count)): \(Markup.quoted($0.text))</li>"
      }
      body +=
        "<details><summary>\(Prose.count(rest.count, "more message")), \(Set(rest.map { $0.fate.words(saves: $0.saves.count) }).sorted().joined(separator: ", "))</summary><ul class=\"plain\">\(lines)</ul></details>"
    }
    if !report.judgement.foreign.isEmpty {
      let lines: [Markup] = report.judgement.foreign.map {
        "<li>\(Markup.bdi($0.operation)) \(Markup.quoted($0.text, limit: 80))\($0.lane.map { " in \($0)" } ?? ""), saved \($0.at.description)</li>"
      }
      body += "<h3 class=\"mt\">Not sent by this user</h3><ul class=\"plain\">\(lines)</ul>"
    }
    if !report.voids.isEmpty {
      let lines: [Markup] = report.voids.map { "<li>\(Markup.bdi($0.intent)): \(Markup.bdi($0.reason))</li>" }
      body += "<h3 class=\"mt\">Actions of the user that could not be done</h3><ul class=\"plain\">\(lines)</ul>"
    }
    if !report.neverHappened.isEmpty {
      let lines: [Markup] = report.neverHappened.map { "<li>\(Markup.bdi($0))</li>" }
      body += "<h3 class=\"mt\">Stretches of the recording that never happened: nobody caused them</h3><ul class=\"plain\">\(lines)</ul>"
    }
    let lead: Markup =
      messages.isEmpty
      ? "No message was sent."
      : "\(Prose.capitalised(report.fates)). “Client says” is the client’s own last word, “Server has” is the truth of the ledger."
    return HTMLReport.section("delivery", "Delivery", lead, body)
  }

  private static func row(_ message: Message, _ report: Report, _ letters: LaneLetters) -> Markup {
    let lines = LifeLine.of(message)
    let fate = message.fate.words(saves: message.saves.count)
    let style = message.fate.isBroken ? "bad" : message.mark == "!" ? "flt" : ""
    let icon = message.fate.isBroken ? Glyphs.icon(.broken) : message.mark == "!" ? Glyphs.faultIcon : Glyphs.icon(.held)
    let operations = message.operationIDs.joined(separator: ", ")
    func cell(_ label: String, _ content: Markup, _ more: Markup = "") -> Markup {
      "<td role=\"cell\" data-l=\"\(label)\"\(more)>\(content)</td>"
    }
    func since(_ at: Instant?, _ start: Instant? = message.accepted ?? message.attempts.first?.at) -> Markup {
      guard let at else { return "–" }
      guard let start else { return "<span class=\"t\">\(at.description)</span>" }
      return "<span class=\"t\">\(at.description)</span><small>after \((at - start).description)</small>"
    }
    let attempts: [Markup] = lines.map { "<span class=\"t\">\($0.sent)</span><small>\($0.key == "-" ? "no key" : "key \($0.key)")</small>" }
    let saves: [Markup] = message.saves.enumerated().map { index, save in
      let detail = message.deliveries.first { $0.operation == save.operation }?.detail
      let run: Markup = detail.map { "<small>\(Markup.bdi($0))</small>" } ?? ""
      return
        "<span class=\"t\(index > 0 ? " bad v" : "")\">\(save.at.description)</span>\(run)"
    }
    let receipts: [Markup] = zip(lines, message.attempts).map { line, attempt in
      if attempt.receipt != nil { return since(attempt.receipt, attempt.at) }
      return line.receiptFaulted
        ? "<span class=\"flt\">\(Glyphs.faultIcon) \(line.receipt)</span>" : "<span class=\"t\">\(line.receipt)</span>"
    }
    let faults: Markup = message.faults.isEmpty ? "–" : "<a href=\"#faults\">\(message.faultNumbers)</a>"
    let lane: Markup = message.lane == nil ? "" : "chat \(letters.letter(message.lane)), "
    let why: Markup = message.fate == .confirmed ? "" : "<small>\(message.why)</small>"
    var cells: Markup = ""
    cells += cell("Fate", "<span class=\"v \(style)\">\(icon) \(fate)</span>")
    cells += cell(
      "Message",
      "<b>\(message.id)</b> \(Markup.quoted(message.text, limit: 120))<small>\(lane)\(Markup.bdi(operations))</small>\(why)")
    cells += cell("Life", life(message, report), " class=\"life\"")
    cells += cell("Attempts", attempts.isEmpty ? "never" : "\(attempts)")
    cells += cell("Saved by server", saves.isEmpty ? "–" : "\(saves)")
    cells += cell("Receipt", receipts.isEmpty ? "–" : "\(receipts)")
    cells += cell("On screen", since(message.shown))
    cells += cell("Settled", since(message.history.first?.at))
    cells += cell("Client says", "\(message.clientSays)")
    cells += cell(
      "Server has", message.fate.isBroken ? "<b class=\"bad\">\(Markup.bdi(message.ledger))</b>" : "\(Markup.bdi(message.ledger))")
    cells += cell("Faults", faults)
    return "<tr role=\"row\" id=\"\(message.id.lowercased())\"\(message.fate.isBroken ? Markup(" class=\"hot\"") : "")>\(cells)</tr>\n"
  }

  /// The life of a message on the axis of the run: client above, server below.
  private static func life(_ message: Message, _ report: Report) -> Markup {
    let axis = report.axis
    func x(_ at: Instant) -> String { axis.percent(at) }
    var marks: Markup = ""
    for (index, attempt) in message.attempts.enumerated() {
      let until =
        message.attempts.indices.contains(index + 1)
        ? message.attempts[index + 1].at : message.history.first?.at ?? message.wordAt ?? report.end
      let answered = attempt.receipt != nil
      marks +=
        "<line class=\"ln\(answered ? "" : " wait")\(index > 0 && message.fate.isBroken ? " bad" : "")\" x1=\"\(x(attempt.at))\" x2=\"\(x(max(until, attempt.at)))\" y1=\"9\" y2=\"9\"/>"
      if case .arrived(let at) = attempt.passage {
        marks += "<line class=\"ln\" x1=\"\(x(attempt.at))\" x2=\"\(x(at))\" y1=\"9\" y2=\"27\"/>"
      }
      marks += "<use x=\"\(x(attempt.at))\" y=\"9\" href=\"#g-send\"/>"
    }
    for (index, save) in message.saves.enumerated() {
      marks += "<use x=\"\(x(save.at))\" y=\"27\" href=\"#\(index == 0 ? "g-save" : "g-saveb")\"/>"
    }
    for fault in message.faults.prefix(20) {
      marks += "<use x=\"\(x(fault.at))\" y=\"18\" href=\"#\(LifeLine.past(fault.kind) == "dropped" ? "g-drop" : "g-flt")\"/>"
    }
    for row in message.history.prefix(4) { marks += "<use x=\"\(x(row.at))\" y=\"9\" href=\"#g-done\"/>" }
    return "<svg width=\"100%\" height=\"36\" role=\"img\" aria-label=\"Life of \(message.id) on the axis of the run\">\(marks)</svg>"
  }

  private static let key: Markup = """
    <p class="key"><span><svg viewBox="-7 -7 14 14" aria-hidden="true"><use href="#g-send"/></svg>sent</span>\
    <span><svg viewBox="-7 -7 14 14" aria-hidden="true"><use href="#g-save"/></svg>saved by the server</span>\
    <span><svg viewBox="-7 -7 14 14" aria-hidden="true"><use href="#g-drop"/></svg>dropped by a fault</span>\
    <span><svg viewBox="-7 -7 14 14" aria-hidden="true"><use href="#g-flt"/></svg>other fault</span>\
    <span><svg viewBox="-7 -7 14 14" aria-hidden="true"><use href="#g-done"/></svg>settled: in the history</span><span>dashed: no receipt</span></p>
    """
}
