import Contract
import Oracles
import Simulation
import TestSupport
import Wire

@testable import Reporting

/// Reports made by hand from small traces.
enum Scenes {
  static let command = """
    chatbench replay story.chatrec \\
      --plan dropped-receipts \\
      --fault delay,response,run.chatLoad,800ms,while=dragging \\
      --seed 7
    """

  static let rules = [
    RuleReport(
      number: 1, rule: "drop,response,submit,nth=1", candidates: 4, fired: 1, first: Instant(nanoseconds: 12_695_000_000),
      last: Instant(nanoseconds: 12_695_000_000)),
    RuleReport(number: 2, rule: "drop,response,remove", candidates: 0),
    RuleReport(number: 3, rule: "delay,response,load,800ms,while=dragging", candidates: 8, remark: "8 frames matched, none while dragging"),
  ]

  /// Three messages, each saved once; the receipt of the second was dropped and history settled it.
  static func held() -> Report {
    var story = TraceBuilder()
    story.confirmed("op-1", "Open roof vents 2 and 3", key: "submit:m-1", at: 1_900)
    story.send("op-2", "Close the roof at 18:00", at: 12_600)
    let submit = story.attempt("op-2", key: "submit:m-2", at: 12_600)
    story.arrive(submit, at: 12_648)
    story.ledger("saved", "op-2", at: 12_648, ["text": "Close the roof at 18:00", "lane": "ses-01", "n": 1])
    let receipt = story.receipt(of: submit, at: 12_648)
    story.fault("drop", receipt, rule: 1, at: 12_695)
    story.ledger("delivered", "op-2", at: 13_000, ["run": "run-42"])
    story.ledger("history", "op-2", at: 25_150, ["row": "row-2"])
    story.says("op-2", .delivered, at: 25_200)
    story.confirmed("op-3", "Which beans can go out in May?", key: "submit:m-3", at: 26_000)
    story.ledger("saved", "op-x1", at: 27_000, ["text": "Beans want 10 °C soil.", "lane": "ses-02"])
    story.add(.user, "void", at: 28_000, ["intent": "i-9", "reason": "its target was delivered"])
    for at in [30_000, 31_000] as [Int64] {
      story.add(.twin, "basis", at: at, ["what": "an older page beyond the recording", "basis": "synthetic"])
    }
    story.add(.twin, "stretch", at: 44_000, ["id": "run-9/op-9", "state": "void"])
    let trace = story.finished(quiet: 34_000, end: 44_000)
    return Report(
      trace: trace, judgement: Judge.judge(trace, claims: [untested], proof: .equal), system: "echo chat", tool: "chatbench 0.1.0",
      rules: rules, figures: figures, cannotSay: ["Words of the answer after 0:20.000 (the recording ends there)."], command: command,
      proof: .equal, traceHash: String(repeating: "c", count: 64))
  }

  /// The second message is sent again as a new operation with a new key and saved twice; a claim without a message breaks too.
  static func broken() -> Report {
    var story = TraceBuilder()
    story.confirmed("op-1", "Open roof vents 2 and 3", key: "submit:m-1", at: 1_900)
    story.send("op-2", "Close the roof at 18:00", at: 12_600)
    let submit = story.attempt("op-2", key: "submit:m-2", at: 12_600)
    story.arrive(submit, at: 12_648)
    story.ledger("saved", "op-2", at: 12_648, ["text": "Close the roof at 18:00", "lane": "ses-01", "n": 1])
    let receipt = story.receipt(of: submit, at: 12_648)
    story.fault("drop", receipt, rule: 1, at: 12_695)
    story.says("op-2", .unconfirmed, at: 32_600)
    story.accept("op-7", "Close the roof at 18:00", action: "i-op-2", at: 32_600)
    let again = story.attempt("op-7", key: "submit:m-7", at: 32_600)
    story.arrive(again, at: 32_648)
    story.ledger("saved", "op-7", at: 32_648, ["text": "Close the roof at 18:00", "lane": "ses-01", "n": 1])
    story.arrive(story.receipt(of: again, at: 32_648), at: 32_695)
    story.says("op-7", .delivered, at: 32_695)
    story.ledger("history", "op-2", at: 35_455, ["row": "row-2"])
    story.ledger("history", "op-7", at: 40_500, ["row": "row-7"])
    story.send("op-3", "Which beans can go out in May?", lane: "ses-02", at: 36_000)
    story.says("op-3", .unconfirmed, at: 43_000)
    let rest = story.add(.core, "scroll", at: 41_000, ["state": "rest"])
    let apply = story.add(.core, "apply", at: 41_912, ["list": 30])
    let trace = story.finished(quiet: 34_000, end: 44_000)
    let newest = Claim(
      "EC-INV-39", "Newest, soon", "When the list is at rest, the newest is on the screen within 0.250 s.", .liveness,
      per: "a held update at rest", on: .clientOnly
    ) { _ in
      ClaimOutcome(
        exercised: 2,
        violations: [
          Violation(
            at: Instant(nanoseconds: 41_250_000_000),
            happened: "The update waited 0.912 s after the list came to rest; the limit is 0.250 s.",
            evidence: [rest, apply])
        ])
    }
    return Report(
      trace: trace, judgement: Judge.judge(trace, claims: [untested, newest, undecided]), system: "echo chat", tool: "chatbench 0.1.0",
      rules: rules, figures: figures, divergences: divergences, command: command)
  }

  static let untested = Claim("EC-INV-06", "Removal only when confirmed", "Removed is confirmed.", per: "a removal", on: .ledger) { _ in
    ClaimOutcome(exercised: 0, remark: "no removal in this run")
  }
  static let undecided = Claim("EC-INV-49", "Words", "No word is made up.", per: "a shown row", on: .serverWords) { index in
    ClaimOutcome(exercised: 1, grounds: [[index.indices(.core, "nothing").first ?? 0]], remark: nil)
  }

  static let figures = [
    Figure(
      id: "hold", title: "Held updates, after rest", definition: "From rest to the newest version on the screen.", value: 0.912, unit: "s",
      limit: "0.250 s", held: false),
    Figure(
      id: "cadence", title: "Live renders in a second", definition: "Most in any half-open second.", value: 6, unit: "", limit: "6",
      held: true),
    Figure(id: "follow", title: "Follow frames", definition: "Display frames spent following.", value: 1036, unit: "frames"),
  ]

  static let divergences = [
    Divergence(kind: .same, audit: 2, frame: 1, at: Instant(nanoseconds: 1_000_000_000), name: "request submit"),
    Divergence(
      kind: .new, audit: 2, at: Instant(nanoseconds: 32_600_000_000), name: "request submit",
      restsOn: "M2: the recorded client did not send it again"),
    Divergence(
      kind: .differs, audit: 1, frame: 41, at: Instant(nanoseconds: 12_695_000_000), name: "response submit",
      path: "result.entries[0].status",
      recorded: "\"queued\"", replayed: "\"sending\""),
    Divergence(
      kind: .missing, audit: 3, frame: 77, at: Instant(nanoseconds: 35_400_000_000), name: "request load",
      restsOn: "what the screen showed from 0:35.400 on"),
  ]

  /// Words that try to break out of every format.
  static let hostileWords = [
    "<script>alert(1)</script>", "]]> --> <!-- </style></script>", "\u{1b}[31mred\u{1b}[0m \u{7} \u{9b}2J",
    "\u{202e}gnirts desrever \u{2066}x\u{2069}", "nul \u{0} and \u{fffe} here\nsecond line\ttab", String(repeating: "W", count: 300),
    "漢字かな混じりの文章です 한국어 문장 ＦＵＬＬ", "👩‍👩‍👧‍👦 🇩🇪 ❤️ 👍🏽 e\u{301}", "שלום עולם مرحبا", "\" onmouseover=\"alert(1)\" '&amp; \\u003c", "",
  ]

  static func hostile() -> Report {
    var story = TraceBuilder(
      header: RunHeader(
        system: "<b>&\"", behaviourVersion: 1, recordingName: "</title><script>alert(2)</script>.chatrec", planName: "\u{1b}]0;x\u{7}",
        planHash: "]]>", user: "\u{0}", seed: .max))
    for (position, words) in hostileWords.enumerated() {
      story.send("op-\(position)\u{1b}<i>", words, lane: "lane \(position) <&\u{202e}", at: Int64(position) * 1_000)
      let submit = story.attempt("op-\(position)\u{1b}<i>", key: "k:<\(position)>\u{7}", words: "x", at: Int64(position) * 1_000)
      story.fault("drop", submit, rule: position % 2 == 0 ? 1 : nil, at: Int64(position) * 1_000 + 10)
      if position % 3 == 0 { story.says("op-\(position)\u{1b}<i>", .delivered, at: Int64(position) * 1_000 + 20) }
    }
    for (position, words) in hostileWords.enumerated() {
      let at = 12_000 + Int64(position) * 500
      let (host, any): (JSON, JSON) = (.string(words), .string(words))
      story.add(.screen, "mount", at: at, ["host": host])
      story.add(.core, "cover.up", at: at, ["host": host])
      story.add(.core, "cover.lift", at: at + 10, ["host": host, "passes": .int(.max), "pages": .int(.min)])
      story.add(.core, "ui", at: at, ["host": host, "<b>\u{1b}\(position)": "open"])
      story.add(.screen, "scroll", at: at + 20, ["host": host, "state": "drag"])
      story.add(.core, "render", at: at + 20, ["host": host, "cause": any, "listVersion": .int(.max)])
      story.add(.core, "hold", at: at + 20, ["host": host, "listVersion": .int(.max), "why": any])
      story.add(.core, "hold", at: at + 30, ["host": host, "listVersion": .int(.min), "why": any])
      story.add(.screen, "scroll", at: at + 40, ["host": host, "state": "rest", "signalled": false])
      story.add(.screen, "apply", at: at + 40, ["host": host, "ids": [any, any], "held": true, "listVersion": any])
      story.add(.core, "older.start", at: at + 50, ["host": host])
      story.add(.core, "older.end", at: at + 60, ["host": host, "outcome": any, "added": .int(.min)])
      story.add(.core, "anchor", at: at + 70, ["host": host, "do": "record"])
      story.add(.core, "anchor", at: at + 80, ["host": host, "do": "end", "why": any])
      story.add(.core, "epoch", at: at + 90, ["host": host, "cause": any])
      story.add(.plan, "fired", at: at, ["rule": .int(.min), "action": any, "of": .int(.max)])
      story.add(.world, position % 2 == 0 ? "stop" : "launch", at: at + 100, ["rule": .int(.max)])
    }
    let trace = story.finished(quiet: 20_000, end: 30_000)
    let claim = Claim("X<&>\u{1b}-1", "Title ]]> <b>", "Promise & \"quote\" \u{0}", per: "<per>", on: .ledger) { _ in
      ClaimOutcome(
        exercised: 1,
        violations: [Violation(at: .zero, operation: "nobody", happened: hostileWords.joined(separator: " "), evidence: [0, 99_999, -4])])
    }
    return Report(
      trace: trace, judgement: Judge.judge(trace, claims: [claim]), system: "<system>", tool: "tool \u{1b}",
      rules: [
        RuleReport(number: 1, rule: hostileWords.joined(separator: ","), candidates: 2, remark: "</table>\u{1b}")
      ],
      figures: [
        Figure(id: "\"", title: "<t>\u{1b}", definition: "</p>", value: .nan, unit: "\u{7}<u>", limit: "<", held: false)
      ]
        + Figure.Chart.allCases.map { chart in
          Figure(
            id: "<", title: "\" ]]>", definition: "<!--", value: 2, unit: "<u>\u{1b}", limit: "</b>", held: false,
            samples: [
              Figure.Sample(at: .never, value: 1e300, entry: .max), Figure.Sample(at: .zero - .seconds(1), value: -1, entry: .min),
            ], chart: chart, bound: 0)
        },
      divergences: [
        Divergence(
          kind: .differs, audit: 1, frame: 1, at: .zero, name: "<n>", path: "</a>", recorded: "\u{1b}", replayed: "<", restsOn: "]]>")
      ], cannotSay: ["<cannot> \u{1b}"], command: "chatbench replay '</pre><script>' \u{1b}[2J")
  }

  /// Nothing happened.
  static func empty() -> Report {
    var story = TraceBuilder()
    let trace = story.finished(quiet: 0, end: 1_000)
    return Report(
      trace: trace, judgement: Judge.judge(trace, claims: []), system: "echo chat", tool: "chatbench 0.1.0",
      command: "chatbench replay story.chatrec")
  }
}
