import Contract
import Oracles
import Simulation
import TestSupport
import Wire

@testable import Reporting

/// Writes what a screen does into a trace by hand. Instants are milliseconds.
struct ScreenBuilder {
  var story: TraceBuilder
  var host = "ses-01"
  /// Of the newest render of the mount.
  private(set) var version = 0
  private(set) var rows = 12
  private(set) var renders: [(at: Int64, entry: Int)] = []

  init(header: RunHeader? = nil) { story = TraceBuilder(header: header) }

  private var ids: [JSON] { (0..<rows).map { .string("row-\($0)") } }

  @discardableResult
  mutating func screen(_ kind: String, at: Int64, _ fields: JSONObject = [:]) -> Int {
    story.add(.screen, kind, at: at, JSONObject([JSONObject.Member(name: "host", value: .string(host))] + fields.members))
  }

  @discardableResult
  mutating func core(_ kind: String, at: Int64, _ fields: JSONObject = [:]) -> Int {
    story.add(.core, kind, at: at, JSONObject([JSONObject.Member(name: "host", value: .string(host))] + fields.members))
  }

  @discardableResult
  mutating func scroll(_ state: String, at: Int64, signalled: Bool = true) -> Int {
    screen("scroll", at: at, signalled ? ["state": .string(state)] : ["state": .string(state), "signalled": false])
  }

  /// A view of a host appears behind its cover, which lifts after `passes`.
  mutating func mount(_ host: String, at: Int64, passes: Int, pages: Int = 0) {
    self.host = host
    version = 0
    screen("mount", at: at)
    core("cover.up", at: at)
    render(at: at, live: false)
    apply(at: at)
    for k in 1...passes {
      screen("pass", at: at + Int64(k) * 32, ["use": "reveal", "k": .int(k), "verdict": k == 1 ? "first" : "still"])
    }
    core("cover.lift", at: at + Int64(passes) * 32, ["passes": .int(passes), "pages": .int(pages)])
  }

  mutating func unmount(at: Int64) { screen("unmount", at: at) }

  mutating func render(at: Int64, live: Bool = true, adding: Int = 0) {
    version += 1
    rows += adding
    core("show", at: at, ["rows": .array(ids.map { ["id": $0, "origin": "history"] })])
    let entry = core(
      "render", at: at, ["cause": live ? "live" : "other", "intervalNs": 166_666_667, "listVersion": .int(version)])
    renders.append((at, entry))
  }

  @discardableResult
  mutating func hold(at: Int64, why: String = "moving") -> Int {
    core("hold", at: at, ["listVersion": .int(version), "why": .string(why)])
  }

  @discardableResult
  mutating func apply(at: Int64, held: Bool = false, version: Int? = nil, redraws: [String]? = nil) -> Int {
    if let redraws {
      return screen(
        "apply", at: at,
        [
          "mode": "reconfigure", "cells": .array(redraws.map(JSON.string)), "listVersion": .int(version ?? self.version),
          "held": .bool(held),
        ])
    }
    return screen(
      "apply", at: at,
      ["mode": "snapshot", "ids": .array(ids), "listVersion": .int(version ?? self.version), "held": .bool(held), "animated": false])
  }

  /// Live renders that apply at once, from `at` to `until`, every 167 ms.
  mutating func stream(at: Int64, until: Int64) {
    for instant in stride(from: at, to: until, by: 167) {
      render(at: instant)
      apply(at: instant, redraws: ["row-\(rows - 1)"])
      screen("frame", at: instant, ["offset": .integer(instant % 4_000), "contentHeight": 5_794])
    }
  }

  /// Live renders that are held, from `at` to `until`, every 167 ms. The `hold` entries.
  @discardableResult
  mutating func heldStream(at: Int64, until: Int64, adding: Int = 0) -> [Int] {
    var entries: [Int] = []
    for instant in stride(from: at, to: until, by: 167) {
      render(at: instant, adding: entries.isEmpty ? adding : 0)
      entries.append(hold(at: instant))
    }
    return entries
  }

  mutating func drag(at: Int64, rule: Int? = nil) {
    var fields: JSONObject = ["do": "drag", "path": [[200, -200]]]
    if let rule {
      fields["rule"] = .int(rule)
      story.add(.plan, "fired", at: at, ["rule": .int(rule), "action": "hold-drag"])
    }
    story.add(.user, "gesture", at: at, fields)
    scroll("drag", at: at)
  }
}

extension Scenes {
  static let screenRules = [
    RuleReport(
      number: 1, rule: "hold-drag,nth=1,for=2s", candidates: 2, fired: 1, first: Instant(nanoseconds: 4_000_000_000),
      last: Instant(nanoseconds: 4_000_000_000)),
    RuleReport(
      number: 2, rule: "lose-stop,at=5s", candidates: 1, fired: 1, first: Instant(nanoseconds: 5_000_000_000),
      last: Instant(nanoseconds: 5_000_000_000)),
    RuleReport(
      number: 3, rule: "restart,at=16.5s", candidates: 1, fired: 1, first: Instant(nanoseconds: 16_500_000_000),
      last: Instant(nanoseconds: 16_500_000_000)),
    RuleReport(number: 4, rule: "slow-markdown,for=800ms,while=dragging", candidates: 8, remark: "8 frames matched, none while dragging"),
  ]

  /// Two chats with covers, drags, held updates of each end, an older page, a restart, the app in the background and suspended.
  static func drag() -> Report {
    var scene = ScreenBuilder()
    scene.story.add(.user, "gesture", at: 40, ["intent": "i-1", "do": "select", "session": "ses-01"])
    scene.mount("ses-01", at: 195, passes: 14, pages: 1)
    scene.story.add(.core, "ui", at: 1_500, ["composer": "open"])
    scene.story.confirmed("op-1", "Open roof vents 2 and 3", key: "submit:m-1", at: 1_900)
    scene.story.add(.core, "ui", at: 1_950, ["composer": "closed"])
    scene.stream(at: 2_145, until: 3_900)
    scene.scroll("follow", at: 2_150)
    scene.scroll("rest", at: 3_200)
    scene.scroll("follow", at: 3_400)
    // A finger that is held down longer; the stop is not signalled, and no check finds the list at rest.
    scene.drag(at: 4_000, rule: 1)
    let held = scene.heldStream(at: 4_145, until: 6_500, adding: 1)
    scene.story.add(.world, "screen", at: 5_000, ["fault": "lose-stop", "rule": 2])
    scene.story.add(.plan, "fired", at: 5_000, ["rule": 2, "action": "lose-stop"])
    scene.scroll("decelerate", at: 6_100)
    let rest = scene.scroll("rest", at: 6_700, signalled: false)
    let late = scene.apply(at: 7_612, held: true)
    scene.stream(at: 7_800, until: 8_900)
    // A hold as it should be: applied when the list comes to rest.
    scene.drag(at: 9_000)
    scene.heldStream(at: 9_145, until: 10_600)
    scene.scroll("rest", at: 10_617)
    scene.apply(at: 10_617, held: true, redraws: ["row-11", "row-12"])
    scene.stream(at: 10_800, until: 13_000)
    // An older page.
    scene.core("older.start", at: 14_000, ["n": 2, "by": "scroll"])
    scene.core("older.end", at: 14_150, ["n": 2, "outcome": "applied", "added": 100])
    scene.render(at: 14_150, live: false, adding: 100)
    scene.core("anchor", at: 14_150, ["do": "record", "id": "row-3", "y": .points(112.5)])
    scene.apply(at: 14_150)
    scene.render(at: 14_317)
    scene.hold(at: 14_317, why: "restore")
    scene.core("anchor", at: 14_342, ["do": "end", "id": "row-3", "y": .points(112.5), "why": "stable"])
    scene.apply(at: 14_342, held: true, redraws: ["row-11"])
    // The app goes while a finger holds an update.
    scene.drag(at: 16_000)
    scene.heldStream(at: 16_200, until: 16_400)
    scene.story.add(.plan, "fired", at: 16_500, ["rule": 3, "action": "restart"])
    scene.story.add(.world, "stop", at: 16_500, ["after": 300, "rule": 3])
    scene.story.add(.world, "launch", at: 18_000, ["n": 1])
    scene.story.says("op-1", .delivered, at: 18_000)
    scene.mount("ses-01", at: 18_150, passes: 14)
    scene.stream(at: 18_700, until: 19_900)
    scene.story.add(.world, "background", at: 20_000)
    scene.story.add(.world, "foreground", at: 22_000)
    scene.story.add(.world, "suspend", at: 24_000)
    scene.story.add(.world, "resume", at: 25_000)
    scene.unmount(at: 26_000)
    scene.mount("ses-02", at: 26_050, passes: 4)
    scene.story.confirmed("op-2", "Which beans can go out in May?", key: "submit:m-2", at: 27_000)
    scene.stream(at: 27_200, until: 29_900)
    scene.core("epoch", at: 30_000, ["viewport": "chat", "n": 2, "cause": "window-replaced"])
    scene.unmount(at: 30_000)
    scene.mount("ses-02", at: 30_000, passes: 63)
    scene.scroll("jump", at: 33_000)
    let renders = scene.renders
    let trace = scene.story.finished(quiet: 34_000, end: 44_000)
    let newest = Claim(
      "EC-INV-39", "Newest, soon", "A held update is on the screen within 0.250 s after the list came to rest.", .liveness,
      per: "a held update at rest", on: .clientOnly
    ) { _ in
      ClaimOutcome(
        exercised: 3,
        violations: [
          Violation(
            at: Instant(nanoseconds: 6_950_000_000),
            happened: "The newest held update waited 0.912 s after the list came to rest; the limit is 0.250 s.",
            evidence: [held[0], held[held.count - 1], rest, late])
        ])
    }
    return Report(
      trace: trace, judgement: Judge.judge(trace, claims: [newest]), system: "echo chat", tool: "chatbench 0.1.0", rules: screenRules,
      figures: screenFigures(renders), command: command)
  }

  /// Figures of each kind of chart; the values are made by a rule.
  static func screenFigures(_ renders: [(at: Int64, entry: Int)]) -> [Figure] {
    func sample(_ at: Int64, _ value: Double, _ entry: Int = 0) -> Figure.Sample {
      Figure.Sample(at: Instant(nanoseconds: at * 1_000_000), value: value, entry: entry)
    }
    var cadence: [Figure.Sample] = []
    for render in renders {
      let count = renders.count { $0.at <= render.at && $0.at > render.at - 1_000 }
      cadence.append(sample(render.at, Double(min(count, 6)), render.entry))
    }
    var shown: [Figure.Sample] = []
    for n in 0..<235 {
      let value = n % 9 == 0 ? 300 + n * 13 : 20 + n * 37 % 190
      shown.append(sample(Int64(n) * 150 + 2_000, Double(value), n))
    }
    var follow: [Figure.Sample] = []
    for n in 0..<1_036 {
      let value = n > 900 ? 80 + (1_036 - n) * 3 : 80 + n % 7
      follow.append(sample(Int64(n) * 30 + 2_000, Double(value), n))
    }
    return [
      Figure(
        id: "hold", title: "Held updates, after rest", definition: "From rest to the newest version on the screen.", value: 0.912,
        unit: "s",
        limit: "0.250 s", held: false, samples: [sample(7_612, 0.912, 120), sample(10_617, 0), sample(14_342, 0)], chart: .spans,
        bound: 0.25),
      Figure(
        id: "cadence", title: "Cadence of live renders", definition: "Most renders in any half-open second.", value: 6, unit: "",
        limit: "6 in a second", held: true, samples: cadence, chart: .series, bound: 6),
      Figure(
        id: "shown", title: "Time from server change to shown",
        definition: "From the server’s change to the first update on the screen that contains it.",
        value: 140, unit: "ms", samples: shown, chart: .histogram),
      Figure(
        id: "cover", title: "Cover passes", definition: "A chat that is shown anew stays covered until its layout is still.", value: 63,
        unit: "passes", limit: "63 passes", held: true,
        samples: [sample(643, 14), sample(18_598, 14), sample(26_178, 4), sample(32_016, 63)],
        chart: .spans, bound: 63),
      Figure(
        id: "follow", title: "Follow speed",
        definition: "The list follows its end at the rest of the way in 1.5 s, between 80 and 2,200 pt/s.",
        value: 485, unit: "pt/s", limit: "2,200 pt/s", held: true, samples: follow, chart: .series, bound: 2_200),
      Figure(id: "shift", title: "Layout shift while reading", definition: "Rows that move by themselves.", value: 0.5, unit: "pt"),
    ]
  }
}
