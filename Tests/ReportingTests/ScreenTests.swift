import Contract
import Foundation
import Oracles
import Simulation
import TestSupport
import Testing
import Wire

@testable import Reporting

private func report(_ scene: ScreenBuilder, claims: [Claim] = [], figures: [Figure] = [], end: Int64 = 60_000) -> Report {
  var scene = scene
  let trace = scene.story.finished(quiet: end - 1_000, end: end)
  return Report(trace: trace, judgement: Judge.judge(trace, claims: claims), system: "echo", tool: "t", figures: figures, command: "c")
}

private func ms(_ value: Int64) -> Instant { Instant(nanoseconds: value * 1_000_000) }

@Suite struct HeldUpdateTests {
  /// A mounted chat with a finger on the list from 4,000 ms on.
  private func touched() -> ScreenBuilder {
    var scene = ScreenBuilder()
    scene.mount("ses-01", at: 195, passes: 4)
    scene.drag(at: 4_000)
    return scene
  }

  @Test func `a hold goes from the first version that waits to the one that is applied, and tells which never were`() throws {
    var scene = touched()
    let entries = scene.heldStream(at: 4_145, until: 4_600)
    let slow = scene.scroll("decelerate", at: 4_700)
    let rest = scene.scroll("rest", at: 5_000)
    let apply = scene.apply(at: 5_100, held: true, redraws: ["row-1", "row-2"])
    let holds = report(scene).screen.holds
    let hold = try #require(holds.first)
    #expect(holds.count == 1)
    #expect(hold.id == "H1")
    #expect(hold.versions.map(\.number) == [2, 3, 4])
    #expect(hold.versions.map(\.entry) == entries)
    #expect(hold.versions.allSatisfy { $0.isLive == true && $0.rows == 12 })
    #expect(hold.phases.map(\.cause) == [.finger, .slowing])
    #expect(hold.phases.map(\.from) == [ms(4_000), ms(4_700)])
    #expect(hold.phases[1].entry == slow)
    #expect(hold.release?.entry == rest)
    #expect(hold.applied?.number == 4)
    #expect(hold.applied?.entry == apply)
    #expect(hold.applied?.waited == true)
    #expect(hold.applied?.change == "2 rows redrawn: row-1, row-2")
    #expect(hold.replaced.map(\.number) == [2, 3])
    #expect(hold.duration == .milliseconds(955))
    #expect(hold.wait == .milliseconds(100))
    #expect(
      hold.story
        == "From 0:04.145 on 3 versions v2 to v4 of the list waited: finger on the list from 0:04.000 and list slowing down from 0:04.700; at rest 0:05.000. V2 to v3 were replaced by newer ones and never applied. v4 was applied 0:05.100, after 0.955 s, 0.100 s after rest (2 rows redrawn: row-1, row-2)."
    )
  }

  @Test func `a newer version that comes at rest overtakes what waits, which is then never applied`() throws {
    var scene = touched()
    scene.heldStream(at: 4_145, until: 4_200)
    scene.scroll("rest", at: 4_500)
    scene.render(at: 4_600)
    scene.apply(at: 4_600)
    let hold = try #require(report(scene).screen.holds.first)
    #expect(hold.applied?.number == 3)
    #expect(hold.applied?.waited == false)
    #expect(hold.replaced.map(\.number) == [2])
  }

  @Test func `an older version than the newest that waits ends a hold too, and is named`() throws {
    var scene = touched()
    scene.heldStream(at: 4_145, until: 4_600)
    scene.scroll("rest", at: 5_000)
    scene.apply(at: 5_000, held: true, version: 3)
    let hold = try #require(report(scene).screen.holds.first)
    #expect(hold.applied?.number == 3)
    #expect(hold.replaced.map(\.number) == [2, 4])
    #expect(hold.story.hasSuffix("That is older than v4, which waited then."))
  }

  @Test func `an update that is applied under the finger was not free`() throws {
    var scene = touched()
    scene.heldStream(at: 4_145, until: 4_200)
    scene.apply(at: 4_300, held: true)
    let hold = try #require(report(scene).screen.holds.first)
    #expect(hold.wait == nil)
    #expect(hold.delayWords == "after 0.155 s, while the list was still kept")
  }

  @Test func `a finger that comes back keeps the list again`() throws {
    var scene = touched()
    scene.heldStream(at: 4_145, until: 4_200)
    scene.scroll("rest", at: 4_400, signalled: false)
    scene.drag(at: 4_500)
    scene.scroll("rest", at: 5_000)
    scene.apply(at: 5_000, held: true)
    let hold = try #require(report(scene).screen.holds.first)
    #expect(hold.phases.map(\.cause) == [.finger, .finger])
    #expect(hold.release?.at == ms(5_000))
    #expect(hold.release?.isSignalled == true)
  }

  @Test func `a view that goes, begins anew or dies with the app ends its hold without any version`() {
    func why(_ end: (inout ScreenBuilder) -> Void) -> HeldUpdate.Outcome? {
      var scene = touched()
      scene.heldStream(at: 4_145, until: 4_200)
      end(&scene)
      return report(scene).screen.holds.first?.outcome
    }
    func isDropped(_ outcome: HeldUpdate.Outcome?, _ words: String) -> Bool {
      if case .dropped(let at, _, let why)? = outcome { return at == ms(4_300) && why == words }
      return false
    }
    #expect(isDropped(why { $0.unmount(at: 4_300) }, "the view was left"))
    #expect(isDropped(why { $0.core("epoch", at: 4_300, ["n": 2, "cause": "thread"]) }, "the view began anew"))
    #expect(isDropped(why { $0.story.add(.world, "stop", at: 4_300, ["after": 1]) }, "the app ended"))
    #expect(why { _ in } == .open)
  }

  @Test func `an older page keeps live rows until it is in place or lets them go`() throws {
    for (kind, ends) in [(HeldUpdate.Release.Kind.placed, "anchor"), (.live, "anchor.live")] {
      var scene = ScreenBuilder()
      scene.mount("ses-01", at: 195, passes: 4)
      scene.core("anchor", at: 4_000, ["do": "record", "id": "row-3", "y": 10])
      scene.render(at: 4_100)
      scene.hold(at: 4_100, why: "restore")
      scene.core(ends, at: 4_200, ends == "anchor" ? ["do": "end", "id": "row-3", "y": 10, "why": "stable"] : [:])
      scene.apply(at: 4_200, held: true)
      let hold = try #require(report(scene).screen.holds.first)
      #expect(hold.phases.map(\.cause) == [.older])
      #expect(hold.release?.kind == kind)
      #expect(hold.wait == .zero)
    }
  }

  @Test func `holds of two chats do not mix`() {
    var scene = touched()
    scene.heldStream(at: 4_145, until: 4_200)
    var other = scene
    other.host = "ses-02"
    other.render(at: 4_300)
    other.apply(at: 4_300)
    #expect(report(other).screen.holds.map(\.outcome) == [.open])
  }

  @Test func `the rules that made a hold longer are named`() throws {
    let hold = try #require(Scenes.drag().screen.holds.first)
    #expect(hold.rules == [1, 2])
    #expect(hold.claims == ["EC-INV-39"])
    #expect(Scenes.drag().remarks[0] == "3 faults fired. Touched: H1.")
  }

  @Test func `versions are told as ranges`() {
    #expect(HeldUpdate.ranges([]) == "")
    #expect(HeldUpdate.ranges([4]) == "v4")
    #expect(HeldUpdate.ranges([1, 2, 3, 7, 9, 10]) == "v1 to v3, v7, v9 to v10")
    #expect(HeldUpdate.ranges([.max, .min]) == "v\(Int.min), v\(Int.max)")
    #expect(HeldUpdate.ranges((0..<20).map { $0 * 2 }).hasSuffix("v14 and 12 more"))
  }

  @Test func `a run says in one place what was held`() {
    #expect(HeldUpdate.summary([]) == "No update was held.")
    #expect(
      HeldUpdate.summary(Scenes.drag().screen.holds)
        == "Updates were held 4 times, the longest for 3.467 s. 27 versions of the list waited: 3 applied, at the latest 0.912 s after the list was free; 24 never applied. 1 hold ended without any: the app ended."
    )
  }

  @Test func `JSON tells every hold with its versions`() throws {
    let holds = try #require(try JSONReader.value(JSONReport.bytes(Scenes.drag()))["holds"]?.array)
    #expect(holds.map { $0["id"]?.string } == ["H1", "H2", "H3", "H4"])
    #expect(holds.map { $0["outcome"]?.string } == ["applied", "applied", "applied", "dropped"])
    #expect(holds[0]["afterFreeNs"]?.integer == 912_000_000)
    #expect(holds[0]["signalled"]?.bool == false)
    #expect(holds[0]["versions"]?.array?.count == 15)
    #expect(holds[0]["versions"]?.array?.filter { $0["applied"]?.bool == true }.map { $0["listVersion"]?.int } == [27])
    #expect(holds[3]["reason"]?.string == "the app ended")
  }
}

@Suite struct ScreenStoryTests {
  @Test func `covers, motions, older pages and what lies over the list are spans that end with their view`() {
    let story = Scenes.drag().screen
    #expect(story.spans(.chat).map(\.host) == ["ses-01", "ses-01", "ses-02", "ses-02"])
    #expect(story.spans(.cover).map(\.detail) == ["14 passes, 1 older page", "14 passes", "4 passes", "63 passes"])
    #expect(story.spans(.drag).map(\.until) == [ms(6_100), ms(10_617), ms(16_500)])
    #expect(story.spans(.slowing).map(\.from) == [ms(6_100)])
    #expect(story.spans(.older, .restore).map(\.kind) == [.older, .restore])
    #expect(story.spans(.surface).map(\.detail) == ["composer"])
    #expect(story.marks(.lostStop).map(\.detail) == ["fault 2"])
    #expect(story.marks(.heldApply).map(\.at) == [ms(7_612), ms(10_617), ms(14_342)])
    #expect(story.marks(.epoch).map(\.detail) == ["window-replaced"])
  }

  @Test func `the time without an app goes from its stop to the next launch`() {
    let story = Scenes.drag().screen
    #expect(story.spans(.absent).map { [$0.from, $0.until] } == [[ms(16_500), ms(18_000)]])
    #expect(story.spans(.absent).map(\.rule) == [3])
    #expect(story.spans(.background).map { [$0.from, $0.until] } == [[ms(20_000), ms(22_000)]])
    #expect(story.spans(.suspended).map { [$0.from, $0.until] } == [[ms(24_000), ms(25_000)]])
    var scene = ScreenBuilder()
    scene.story.add(.world, "background", at: 1_000)
    scene.story.add(.world, "stop", at: 2_000, ["after": 1])
    #expect(report(scene).screen.spans.map(\.kind) == [.background, .absent])
    #expect(report(scene).screen.spans.map(\.until) == [ms(2_000), ms(60_000)])
  }

  @Test func `a trace without a screen has neither a rendering section nor a screen track`() {
    let page = String(decoding: HTMLReport.bytes(Scenes.empty()), as: UTF8.self)
    #expect(!page.contains("id=\"rendering\""))
    #expect(!page.contains("<b>Screen</b>"))
    #expect(!TextReport.text(Scenes.empty()).contains("HELD UPDATES"))
  }

  @Test func `without a hold the report says so`() {
    var scene = ScreenBuilder()
    scene.mount("ses-01", at: 195, passes: 4)
    let text = TextReport.text(report(scene))
    #expect(text.contains("HELD UPDATES"))
    #expect(text.contains("No update was held."))
  }

  @Test func `the tracks carry the dead time and the faults as bands`() {
    let page = String(decoding: HTMLReport.bytes(Scenes.drag()), as: UTF8.self)
    #expect(page.contains("<rect class=\"gone\" x=\"37.500%\" y=\"0\" width=\"3.409%\" height=\"100%\"/>"))
    #expect(page.contains("<rect class=\"fband\" x=\"9.090%\" y=\"0\" width=\"8.210%\" height=\"100%\"/>"))
    #expect(page.contains("App: not running 1 time, in the background or suspended 2 times"))
    #expect(page.contains("id=\"h1\" class=\"hot\""))
  }
}

@Suite struct FigureTests {
  private func figure(_ values: [Double], unit: String = "ms", chart: Figure.Chart? = .histogram, bound: Double? = nil, held: Bool? = nil)
    -> Figure
  {
    Figure(
      id: "f", title: "F", definition: "d", value: values.max() ?? 0, unit: unit, held: held,
      samples: values.enumerated().map { Figure.Sample(at: ms(Int64($0) * 10), value: $1, entry: $0) }, chart: chart, bound: bound)
  }

  @Test func `values are told by median, 95 of 100 and the greatest with its place`() {
    #expect(FigureSamples(figure([])).words == nil)
    #expect(FigureSamples(figure([3])).words == "one value, at 0:00.000 (entry 0)")
    #expect(FigureSamples(figure([2, 2])).words == "2 values, each 2 ms")
    #expect(FigureSamples(figure([1, 5, 2])).words == "3 values: least 1 ms, greatest 5 ms at 0:00.010 (entry 1)")
    #expect(
      FigureSamples(figure((1...100).map(Double.init))).words
        == "100 values: median 50 ms, 95 % at most 95 ms, greatest 100 ms at 0:00.990 (entry 99)")
    #expect(FigureSamples(figure([.nan, 1, .infinity])).count == 1)
  }

  @Test func `thinning keeps the extremes of every stretch`() {
    var values = (0..<10_000).map { Double($0 % 100) }
    values[7_777] = -1
    values[3_333] = 9e9
    let samples = FigureSamples(figure(values))
    let kept = samples.thinned(to: 500)
    #expect(kept.count <= 500)
    #expect(kept.contains { $0.value == -1 })
    #expect(kept.contains { $0.value == 9e9 })
    #expect(kept.map(\.at) == kept.map(\.at).sorted())
    #expect(samples.thinned(to: 10_000).count == 10_000)
  }

  @Test func `a histogram has few round bars that hold every value`() {
    let sets: [[Double]] = [
      [5], [0], [1, 2, 3], (0..<1_000).map { Double($0) }, [1, 1, 1, 1, 5_000], [-20, 0, 20], [0.001, 0.25, 0.9], [1e300, 2e300],
      [0, 0, 0, 1e-9],
    ]
    for values in sets {
      let bars = Histogram(figure(values))
      #expect(bars.counts.reduce(0, +) == values.count, "\(values.prefix(5))")
      #expect((1...Histogram.barLimit + 1).contains(bars.edges.count), "\(values.prefix(5))")
      #expect(bars.edges == bars.edges.sorted())
      #expect(bars.edges.last.map { $0 >= values.max() ?? 0 } == true)
    }
    #expect(Histogram(figure([10, 20, 30, 40, 3_000])).edges == [20, 50, 100, 200, 500, 1_000, 2_000, 5_000])
    #expect(Histogram(figure([])).edges.isEmpty)
  }

  @Test func `the limit is an edge of a bar`() {
    let bars = Histogram(figure([0.1, 0.2, 0.3, 0.9], bound: 0.25))
    #expect(bars.limit.map { bars.edges[$0] } == 0.25)
    #expect(Histogram(figure([0.1, 0.2], bound: 9)).limit == nil)
  }

  @Test func `measures are as exact as they need to be`() {
    #expect(Prose.measure(0.25, "s") == "0.250 s")
    #expect(Prose.measure(2, "s") == "2.000 s")
    #expect(Prose.measure(0.5, "pt") == "0.5 pt")
    #expect(Prose.measure(1_036, "") == "1,036")
    #expect(Prose.measure(.nan, "ms") == "no number ms")
  }

  @Test func `charts of values that no screen can carry are drawn without a trap`() {
    for chart in Figure.Chart.allCases {
      for values in [[Double.greatestFiniteMagnitude, -.greatestFiniteMagnitude], [.infinity], [.nan, 0], [-1, -2], [0, 0]] {
        for bound in [nil, 0, Double.infinity, .nan, -5] {
          let figure = figure(values, chart: chart, bound: bound, held: false)
          for end in [Instant.zero, ms(20), .never] { #expect(!Charts.markup(figure, axis: Axis(end: end)).text.contains("nan")) }
        }
      }
    }
  }
}

@Suite struct LongRunTests {
  /// About 100,000 entries: 6,000 live renders, 600 holds, 3,000 moves of the list, 400 faults, 60 connections.
  private static let long: Report = {
    var scene = ScreenBuilder()
    scene.mount("ses-01", at: 195, passes: 14)
    var at: Int64 = 1_000
    var samples: [Figure.Sample] = []
    for round in 0..<600 {
      scene.stream(at: at, until: at + 1_000)
      for n in 0..<5 {
        scene.scroll("follow", at: at + Int64(n) * 100)
        scene.scroll("rest", at: at + Int64(n) * 100 + 50)
      }
      scene.drag(at: at + 1_000, rule: round % 2 == 0 ? 1 : nil)
      scene.heldStream(at: at + 1_010, until: at + 1_010 + 167 * Int64(1 + round % 5))
      scene.scroll("rest", at: at + 2_000)
      scene.apply(at: at + 2_000, held: true, redraws: ["row-1"])
      for n in 0..<100 { scene.screen("frame", at: at + 2_000 + Int64(n), ["offset": .int(n)]) }
      for n in 0..<20 {
        samples.append(Figure.Sample(at: ms(at + Int64(n)), value: Double(n * round % 997), entry: round))
      }
      scene.story.add(.link, "send", at: at, ["conn": .int(round % 60), "dir": "out", "label": "request", "name": "load"])
      if round % 10 == 0 { scene.story.add(.world, "background", at: at + 2_200) }
      if round % 10 == 0 { scene.story.add(.world, "foreground", at: at + 2_300) }
      at += 2_500
    }
    let figures = Figure.Chart.allCases.map {
      Figure(
        id: $0.rawValue, title: $0.rawValue, definition: "d", value: 996, unit: "ms", limit: "500 ms", held: false, samples: samples,
        chart: $0, bound: 500)
    }
    return report(scene, figures: figures, end: at)
  }()

  @Test func `the page of a long run is bounded and says what fell together`() {
    let report = LongRunTests.long
    #expect(report.trace.entries.count > 80_000)
    let page = String(decoding: HTMLReport.bytes(report), as: UTF8.self)
    #expect(page.utf8.count < 3 << 20)
    let elements = page.utf8.count { $0 == UInt8(ascii: "<") } - page.components(separatedBy: "</").count
    #expect(elements < 5_000, "\(elements)")
    #expect(page.contains("540 shorter holds are not listed, none longer than "))
    #expect(page.contains("Too dense to be told apart at this width, so that what touches falls together: "))
    #expect(page.contains("600 holds"))
    #expect(page.contains("The 8 greatest of 12,000; each of the other 11,992 at most "))
    #expect(page.contains("12,000 values in "))
    #expect(page.contains("20 further connections share one lane."))
    #expect(page.contains("300 faults at 300 places of the axis: the first 200 with a mark, all as ticks."))
  }

  @Test func `the text of a long run is bounded and says what it left out`() {
    let text = TextReport.text(LongRunTests.long)
    #expect(text.split(separator: "\n").count < 1_200)
    #expect(text.contains("! 540 shorter holds not told, none longer than "))
    #expect(text.contains("follows        3,000 times"))
  }

  @Test func `report JSON has every sample and every hold, the page as many samples as it can carry`() throws {
    let report = LongRunTests.long
    let json = try JSONReader.value(JSONReport.bytes(report))
    #expect(json["holds"]?.array?.count == 600)
    #expect(json["figures"]?.array?.allSatisfy { $0["samples"]?.array?.count == 12_000 } == true)
    let thin = JSONReport.json(report, sampleLimit: 500)
    #expect(thin["figures"]?.array?.allSatisfy { ($0["samples"]?.array?.count ?? 0) <= 500 && $0["sampleCount"]?.int == 12_000 } == true)
  }
}
