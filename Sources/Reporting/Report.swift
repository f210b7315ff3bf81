import Contract
import Oracles
import Simulation
import Wire

/// Everything that a report says about one run: a value that every format is made of. Equal values give equal bytes; there is no time of
/// making, host or path in it.
package struct Report: Sendable {
  package var trace: Trace
  package var judgement: Judgement
  /// Title of the system, for readers.
  package var system: String
  /// Name and version of the tool: `chatbench 0.1.0`.
  package var tool: String
  package var rules: [RuleReport]
  package var figures: [Figure]
  /// Differences of the audits; entries of kind `same` are counted only.
  package var divergences: [Divergence]
  /// What the audits found: `faithful`, `faithful with 2 assumptions`, `diverges in 3 places`; nil when there was no recording to audit.
  package var audit: String?
  /// What the recording cannot say, a line each: what was given, then where the twin stood in or assumed in this run (from the trace).
  package var cannotSay: [String]
  /// The command that repeats the run.
  package var command: String
  package var proof: Proof
  /// Hash of the trace, as `--prove` compares it; nil when it was not taken.
  package var traceHash: String?
  /// Findings in order of weight; made from the judgement.
  package let findings: [Finding]
  /// What the screen did; made from the trace and the broken claims.
  let screen: ScreenStory

  package init(
    trace: Trace, judgement: Judgement, system: String, tool: String, rules: [RuleReport] = [], figures: [Figure] = [],
    divergences: [Divergence] = [], audit: String? = nil, cannotSay: [String] = [], command: String, proof: Proof = .notRun,
    traceHash: String? = nil
  ) {
    self.trace = trace
    self.judgement = judgement
    self.system = system
    self.tool = tool
    self.rules = rules
    self.figures = figures
    self.divergences = divergences
    self.audit = audit
    self.cannotSay = cannotSay + Report.standIns(trace)
    self.command = command
    self.proof = proof
    self.traceHash = traceHash
    findings = Finding.all(of: judgement, trace)
    var broken: [Int: [String]] = [:]
    for claim in judgement.claims where claim.verdict == .broken {
      for entry in claim.violations.flatMap(\.evidence).uniqued { broken[entry, default: []].append(claim.id) }
    }
    screen = ScreenStory(trace, end: Report.end(of: trace)) { broken[$0] ?? [] }
  }

  package var header: RunHeader { trace.header }
  package var verdict: Verdict { judgement.verdict }

  /// The verdict as one sentence: "Broken: M2 “…” was saved twice."
  package var sentence: String { "\(Prose.word(verdict)): \(statement)" }

  /// The sentence without its first word, beginning with a small letter unless a name does.
  package var statement: String {
    switch verdict {
    case .broken:
      guard !findings.isEmpty else { return "a claim does not hold." }
      let shown = findings.prefix(findings.count == 2 ? 2 : 1).map { Prose.joined($0.title) }.joined(separator: ", and ")
      let more = findings.count > 2 ? "; \(findings.count - 1) more findings" : ""
      return shown + more + "."
    case .unknown, .untested: return Prose.sentence(judgement.reason ?? "nothing was put to the test")
    case .held:
      let exercised = judgement.count(.held)
      let untested = judgement.count(.untested)
      return "\(fates); \(Prose.count(exercised, "claim")) exercised, \(untested) untested."
    }
  }

  /// `3 messages, each saved once`, or the fates with their counts, worst first: `3 messages, of which 1 removed and 2 saved once`.
  package var fates: String {
    let messages = judgement.messages
    if messages.isEmpty { return "no message was sent" }
    let total = Prose.count(messages.count, "message")
    if messages.allSatisfy({ $0.fate == .confirmed }) { return "\(total), \(messages.count == 1 ? "" : "each ")saved once" }
    var counts = OrderedMap<String, Int>()
    for message in messages { counts[message.fate.words(saves: message.saves.count), default: 0] += 1 }
    return "\(total), of which " + Prose.list(counts.pairs.map { "\($0.value) \($0.key)" })
  }

  /// Rules that never fired.
  package var silentRules: [RuleReport] { rules.filter { $0.fired == 0 } }

  /// Rules that never fired for one reason, as one sentence each: `Rules 1, 3 and 4 never fired: no such frame.`
  package var silenceSentences: [String] {
    var reasons = OrderedMap<String, [Int]>()
    for rule in silentRules { reasons[Report.silence(of: rule), default: []].append(rule.number) }
    return reasons.pairs.map { reason, numbers in
      let names = Prose.list(numbers.map(String.init))
      return
        "\(numbers.count == 1 ? "Rule" : "Rules") \(names) never fired: \(reason). What \(numbers.count == 1 ? "it" : "they") should show is not shown."
    }
  }

  /// Why a rule never fired, without a full stop.
  package static func silence(of rule: RuleReport) -> String {
    if let remark = rule.remark { return remark }
    return rule.candidates == 0
      ? "no such frame" : "\(Prose.count(rule.candidates, "match", "matches")), but its conditions never held"
  }

  /// Sentences below the verdict: what it does and does not say.
  package var remarks: [String] {
    var lines: [String] = []
    let touched = judgement.messages.filter { !$0.faults.isEmpty }.sorted { (Int($0.id.dropFirst()) ?? 0) < (Int($1.id.dropFirst()) ?? 0) }
    let fired = rules.reduce(0) { $0 + $1.fired }
    if fired > 0 {
      let names = touched.map(\.id) + screen.holds.filter { !$0.rules.isEmpty }.map(\.id)
      let who =
        names.isEmpty ? "They touched no message" : "Touched: " + Prose.list(Array(names.prefix(8))) + (names.count > 8 ? " and more" : "")
      lines.append("\(Prose.count(fired, "fault")) fired. \(who).")
    } else if !rules.isEmpty {
      lines.append("No fault fired.")
    } else {
      lines.append("No faults were asked for.")
    }
    if !screen.holds.isEmpty { lines.append(HeldUpdate.summary(screen.holds)) }
    var open: [String] = []
    if !silentRules.isEmpty { open.append("\(silentRules.count) of \(Prose.count(rules.count, "rule")) never fired") }
    let untested = judgement.count(.untested)
    if untested > 0 {
      open.append("\(untested) of \(Prose.count(judgement.claims.count, "claim")) \(untested == 1 ? "was" : "were") not put to the test")
    }
    let undecided = judgement.count(.unknown)
    if undecided > 0 { open.append("\(Prose.count(undecided, "claim")) could not be decided") }
    if !open.isEmpty { lines.append(Prose.capitalised(Prose.list(open)) + "; this run says nothing about them.") }
    return lines
  }

  /// Divergences other than `same`.
  package var differences: [Divergence] { divergences.filter { $0.kind != .same } }

  /// What each audit found, or nil when nothing differs: the gate that stands above the verdict in every format. `The recording and the
  /// replay differ in 3 places: 2 of the server alone (audit 1), 1 of both together (audit 3).`
  package var divergenceNotice: String? {
    if differences.isEmpty { return nil }
    let audits = Set(differences.map(\.audit)).sorted()
    let parts = audits.map { audit in
      "\(Prose.number(differences.count { $0.audit == audit })) of \(Report.subject(ofAudit: audit)) (audit \(audit))"
    }
    return "The recording and the replay differ in \(Prose.count(differences.count, "place")): \(parts.joined(separator: ", "))."
  }

  /// Who an audit looks at: `the server alone`.
  static func subject(ofAudit audit: Int) -> String {
    switch audit {
    case 1: "the server alone"
    case 2: "the client alone"
    case 3: "both together"
    default: "an audit of another kind"
    }
  }

  /// What the audits that stand in a report compare, one sentence.
  static let auditWords =
    "Audit 1 feeds the server with the recorded client, audit 2 the client with the recorded server, audit 3 runs both together without faults; each is compared with the recording."

  /// Counts of divergences by kind: `18 same, 0 moved, 3 new, 0 missing, 0 different`; without the first where only differences were given.
  package var divergenceCounts: String {
    Divergence.Kind.allCases.compactMap { kind in
      let count = divergences.count { $0.kind == kind }
      return kind == .same && count == 0 ? nil : "\(count) \(kind == .differs ? "different" : kind.rawValue)"
    }.joined(separator: ", ")
  }

  /// What the proof found, in words.
  package var proofWords: String {
    switch proof {
    case .notRun: "not run twice"
    case .equal: "run twice: equal"
    case .differs(let entry): "run twice: different from entry \(Prose.number(entry)) on"
    }
  }

  /// Intents of the user that could not be done, from the trace: id and reason.
  package var voids: [(intent: String, reason: String)] {
    trace.entries.filter { $0.party == .user && $0.kind == "void" }.map {
      (Visible.text($0["intent"]?.string ?? "?"), Visible.text($0["reason"]?.string ?? "no reason given"))
    }
  }

  /// Stretches of the scenario that never began, by id: nobody caused them.
  package var neverHappened: [String] {
    trace.entries.filter { $0.party == .twin && $0.kind == "stretch" && $0["state"]?.string == "void" }
      .map { Visible.text($0["id"]?.string ?? "?") }.uniqued
  }

  /// One line for each thing that the twin made up or assumed, with its first instant and count; at most 50.
  private static func standIns(_ trace: Trace) -> [String] {
    var found = OrderedMap<String, (at: Instant, count: Int)>()
    for entry in trace.entries where entry.party == .twin && entry.kind == "basis" {
      guard let basis = entry["basis"]?.string, basis == Basis.assumed.rawValue || basis == Basis.synthetic.rawValue else { continue }
      let what = entry["what"]?.string ?? entry["operation"]?.string ?? "something"
      found["\(what) (\(basis == Basis.assumed.rawValue ? "assumed" : "a stand-in"))", default: (entry.at, 0)].count += 1
    }
    let lines = found.pairs.prefix(50).map {
      "\($0.key), first at \($0.value.at)" + ($0.value.count > 1 ? ", \($0.value.count) times" : "") + "."
    }
    return lines + (found.count > 50 ? ["And \(found.count - 50) more."] : [])
  }

  /// Instant of the last entry, or the end of the header when that is later.
  package var end: Instant { Report.end(of: trace) }
  private static func end(of trace: Trace) -> Instant { max(trace.entries.last?.at ?? .zero, trace.header.end) }
}
