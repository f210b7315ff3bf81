import ClientKit
import Contract
import Simulation
import Testing
import Wire

@Suite struct ViewportPassTests {
  // MARK: Passes

  @Test func `the first pass after a reset never counts, one that waits is a reset`() {
    var screen = Screen(20)
    var verdicts: [PassVerdict] = []
    for (k, waits) in [false, false, true, true, false, false].enumerated() {
      verdicts.append(screen.view.settlePass("reveal", k: k + 1, waits: waits))
    }
    screen.view.resetPasses()
    verdicts.append(screen.view.settlePass("reveal", k: 7, waits: false))
    #expect(verdicts == [.first, .still, .waiting, .waiting, .first, .still, .first])
    screen.view.unmount(at: screen.now)
    screen.view.mount(at: screen.now)
    #expect(screen.view.settlePass("reveal", k: 1, waits: false) == .first)
  }

  @Test func `a pass with its own measure is recorded and leaves the reference alone`() {
    var screen = Screen(20)
    _ = screen.view.settlePass("reveal", k: 1, waits: false)
    _ = screen.lines()
    screen.view.notePass("follow", k: 1, isStill: false)
    screen.view.notePass("follow", k: 2, isStill: true)
    #expect(screen.view.settlePass("reveal", k: 2, waits: false) == .still)
    #expect(
      screen.lines() == [
        #"pass {"use":"follow","n":1,"verdict":"moved"}"#, #"pass {"use":"follow","n":2,"verdict":"still"}"#,
        #"pass {"use":"reveal","n":2,"verdict":"still"}"#,
      ])
  }

  @Test(arguments: [(0.5, PassVerdict.still), (0.51, .moved), (-0.5, .still), (-0.51, .moved)])
  func `HB-FIG-02 half a point of offset is still, 0.51 is not`(by: Double, verdict: PassVerdict) {
    for offset in [410.0, 410.1, 593.333_333] {
      var screen = Screen(50)
      screen.scroll(to: offset)
      _ = screen.view.settlePass("reveal", k: 1, waits: false)
      screen.scroll(to: screen.view.offset + by)
      #expect(screen.view.settlePass("reveal", k: 2, waits: false) == verdict)
    }
  }

  @Test(arguments: [(80.5, PassVerdict.still), (80.51, .moved), (79.5, .still), (79.49, .moved)])
  func `HB-FIG-02 half a point of a row is still, 0.51 is not`(height: Double, verdict: PassVerdict) {
    for id in ["r0", "r5"] {
      var screen = Screen(50)
      _ = screen.view.settlePass("reveal", k: 1, waits: false)
      var cells = Screen.cells(50)
      for index in cells.indices where cells[index].id == id { cells[index] = Cell(id: id, content: "b", height: height) }
      screen.reconfigure([id], of: cells, .none)
      #expect(screen.view.settlePass("reveal", k: 2, waits: false) == verdict)
    }
  }

  @Test(arguments: [(80.5, PassVerdict.still), (80.51, .moved)])
  func `HB-FIG-02 half a point of content out of sight is still, 0.51 is not`(height: Double, verdict: PassVerdict) {
    var screen = Screen()
    let cells = Screen.cells(49) + [Cell(id: "last", content: "", height: height)]
    screen.apply(cells, .bottom)
    screen.scroll(to: -47)
    _ = screen.view.settlePass("reveal", k: 1, waits: false)
    // Another last row takes its place with the estimate, 80.
    screen.apply(Screen.cells(49) + [Cell(id: "other", content: "", height: height)], .none)
    #expect(screen.view.contentHeight == 4_000)
    #expect(screen.view.settlePass("reveal", k: 2, waits: false) == verdict)
  }

  @Test func `other visible rows of the same places are not still`() {
    var screen = Screen(20)
    _ = screen.view.settlePass("reveal", k: 1, waits: false)
    var cells = Screen.cells(20)
    cells[0].id = "other"
    screen.apply(cells, .none)
    #expect(screen.view.settlePass("reveal", k: 2, waits: false) == .moved)
    #expect(screen.view.settlePass("reveal", k: 3, waits: false) == .still)
    // One that comes into sight by a hair.
    screen.scroll(to: 36)
    _ = screen.view.settlePass("reveal", k: 4, waits: false)
    screen.scroll(to: 36.2)
    #expect(screen.view.settlePass("reveal", k: 5, waits: false) == .moved)
  }

  @Test func `a pass compares with the one before it, not with the first`() {
    var screen = Screen(50)
    screen.scroll(to: 400)
    _ = screen.view.settlePass("reveal", k: 1, waits: false)
    for k in 2...8 {
      screen.scroll(to: screen.view.offset + 0.4)
      #expect(screen.view.settlePass("reveal", k: k, waits: false) == .still)
    }
  }

  // MARK: Records

  @Test func `every record carries its host, and the records of a handling stand in order`() {
    var view = Viewport(name: "chat-7", device: Screen.device)
    view.mount(at: .zero)
    view.apply(Screen.cells(2), listVersion: 1, held: true, pin: .bottom, at: .zero)
    _ = view.settlePass("reveal", k: 1, waits: false)
    view.touch(drag(0, in: 100), at: .zero)
    let records = view.takeRecords()
    #expect(records.map(\.kind) == ["mount", "apply", "pass", "scroll", "frame"])
    #expect(records.allSatisfy { $0.fields.members.first == JSONObject.Member(name: "host", value: "chat-7") })
    #expect(view.takeRecords().isEmpty)
  }

  @Test func `a frame record is written when geometry has changed, with the visible rows when they have`() {
    var screen = Screen()
    // Before the first snapshot there is nothing to see.
    screen.view.settle(pin: .bottom, at: screen.now)
    #expect(screen.lines() == ["mount"])
    screen.apply([], .bottom)
    #expect(screen.lines("frame") == [#"{"offset":-47,"contentHeight":0,"visible":[]}"#])
    screen.apply([Cell(id: "a", content: "1", height: 44.5), Cell(id: "b", content: "1", height: 60)], .bottom)
    #expect(
      screen.lines("frame") == [
        #"{"offset":-47,"contentHeight":104.5,"visible":[{"id":"a","top":0,"height":44.5},{"id":"b","top":44.5,"height":60}]}"#
      ])
    screen.view.settle(pin: .bottom, at: screen.now)
    #expect(screen.lines().isEmpty)
    screen.reconfigure(["a"], of: [Cell(id: "a", content: "2", height: 44.5), Cell(id: "b", content: "1", height: 60)], .bottom)
    #expect(screen.lines("frame").isEmpty)
    // Less than what is written is no change.
    screen = Screen(100)
    screen.scroll(to: 400)
    _ = screen.lines()
    screen.scroll(to: 400.000_4)
    #expect(screen.lines("frame").isEmpty)
    screen.scroll(to: 400.001)
    #expect(screen.lines("frame") == [#"{"offset":400.001,"contentHeight":8000}"#])
  }

  @Test func `rows at the same places are left out of a frame record`() {
    var screen = Screen(100)
    screen.scroll(to: 400)
    _ = screen.lines()
    // Within one row of both edges the same rows are seen.
    screen.scroll(to: 410)
    #expect(screen.lines("frame") == [#"{"offset":410,"contentHeight":8000}"#])
    screen.scroll(to: 480)
    #expect(screen.lines("frame").map { $0.contains(#""visible":[{"id":"r6","top":480,"height":80}"#) } == [true])
    screen.apply(Screen.cells(90), .none)
    #expect(screen.lines("frame") == [#"{"offset":480,"contentHeight":7200}"#])
  }

  @Test func `a new mount writes the visible rows again, an unmount writes no frame`() {
    var screen = Screen(2)
    _ = screen.lines()
    screen.apply(Screen.cells(3), .none)
    screen.view.unmount(at: screen.now)
    #expect(screen.view.takeRecords().map(\.kind) == ["apply", "unmount"])
    screen.view.mount(at: screen.now)
    screen.apply(Screen.cells(3), .none)
    let lines = screen.lines()
    #expect(lines.map { String($0.prefix { $0 != " " }) } == ["mount", "apply", "frame"])
    #expect(lines.last?.contains(#""visible":[{"id":"r0","top":0,"height":80}"#) == true)
  }

  @Test func `a snapshot is recorded with every ID, a reconfiguration with its cells and what was needless about them`() {
    var screen = Screen()
    _ = screen.lines()
    screen.apply(Screen.cells(3), .bottom)
    #expect(
      screen.lines("apply") == [#"{"mode":"snapshot","ids":["r0","r1","r2"],"listVersion":1,"held":false,"animated":false}"#])
    screen = Screen(40)
    _ = screen.lines()
    var cells = Screen.cells(40, content: "b")
    cells[1].content = "a"
    screen.view.reconfigure(["r0", "r1", "r30", "gone"], of: cells, listVersion: 7, held: true, pin: .none, at: screen.now)
    let stale = (2...9).map { "\"r\($0)\"" }.joined(separator: ",")
    #expect(
      screen.lines("apply") == [
        #"{"mode":"reconfigure","cells":["r0","r1","r30","gone"],"unchanged":["r1"],"offscreen":["r30","gone"],"#
          + #""listVersion":7,"held":true,"stale":[\#(stale)]}"#
      ])
    screen.view.reconfigure(screen.view.changedVisible(in: cells), of: cells, listVersion: 8, held: false, pin: .none, at: screen.now)
    let changed = (2...9).map { "\"r\($0)\"" }.joined(separator: ",")
    #expect(screen.lines("apply") == [#"{"mode":"reconfigure","cells":[\#(changed)],"listVersion":8,"held":false}"#])
  }

  @Test func `an older list that is applied after a newer update leaves stale rows`() {
    var screen = Screen(5)
    let (older, newer) = (Screen.cells(5, content: "b"), Screen.cells(5, content: "c"))
    screen.view.update(older, listVersion: 2)
    screen.view.update(newer, listVersion: 3)
    screen.view.update(older, listVersion: 2)
    _ = screen.lines()
    screen.view.reconfigure(["r0"], of: older, listVersion: 2, held: true, pin: .none, at: screen.now)
    #expect(screen.lines("apply").map { $0.contains(#""stale":["r0","r1","r2","r3","r4"]"#) } == [true])
    #expect(screen.view.changedVisible(in: newer).count == 5 && screen.view.changedVisible(in: older).count == 4)
    screen.view.apply(older, listVersion: 2, held: true, pin: .none, at: screen.now)
    #expect(screen.lines("apply").map { $0.contains("stale") } == [true])
    screen.view.apply(newer, listVersion: 3, held: true, pin: .none, at: screen.now)
    #expect(screen.lines("apply").map { $0.contains("stale") } == [false])
  }

  @Test func `equal histories give equal records`() {
    func history(_ seed: UInt64) -> [String] {
      let random = SeededRandom(seed: seed)
      var screen = Screen()
      var lines: [String] = []
      var cells = Screen.cells(60, height: 90)
      for step in 0..<400 {
        let number = random.index(below: 1_000, at: 2 * step)
        switch random.index(below: 11, at: 2 * step + 1) {
        case 0: screen.apply(cells, number < 500 ? .bottom : .row("r\(number % 60)", y: 40))
        case 1: screen.view.touch(drag(Double(number - 500), in: 100, velocity: Double(number - 400)), at: screen.now)
        case 2: screen.view.follow(at: screen.now)
        case 3: screen.view.animate(to: Double(number * 5), over: .milliseconds(300), at: screen.now)
        case 4: cells[number % cells.count] = Cell(id: "r\(number % cells.count)", content: "\(step)", height: Double(number) / 4)
        case 5: screen.reconfigure(screen.view.changedVisible(in: cells), of: cells, .none)
        case 6: screen.view.take(.slowPreparation(.milliseconds(Int64(number) / 10)))
        case 7: lines.append("\(screen.view.settlePass("reveal", k: step + 1, waits: screen.view.isPreparing))")
        case 8: cells.append(Cell(id: "r\(cells.count)", content: "", height: Double(number), preparation: .milliseconds(30)))
        case 9:
          screen.view.update(cells)
          screen.view.jump(.middle("r\(number % 60)"), at: screen.now)
        default: lines.append(contentsOf: screen.frame(after: .milliseconds(Int64(number) / 20)).map { "\($0)" })
        }
        lines.append(contentsOf: screen.lines())
        #expect(screen.view.offset >= -47 && screen.view.offset <= screen.view.bottom)
      }
      return lines
    }
    for seed in 1...5 as ClosedRange<UInt64> {
      let lines = history(seed)
      #expect(lines == history(seed))
      #expect(lines.count > 300)
    }
  }
}
