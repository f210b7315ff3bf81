import ClientKit
import Contract
import Simulation
import Testing

@Suite struct ViewportLayoutTests {
  // MARK: Heights

  @Test func `a row counts the estimate until it is laid out in the visible area`() {
    let screen = Screen(100, height: 120)
    // -47 ..< 797 are ten rows of 80 pt. When they have 120 pt the last three of them are out of sight again.
    #expect(screen.view.visible.map(\.id) == (0...6).map { "r\($0)" })
    #expect(screen.height("r9") == 120 && screen.height("r10") == 80)
    #expect(screen.top("r11") == 1_280)
    #expect(screen.view.contentHeight == 8_400)
    #expect(screen.view.measurings == 10)
  }

  @Test func `the visible area is half open: a row that ends at its top or begins at its end is not in it`() {
    var screen = Screen(100)
    screen.scroll(to: 80)
    #expect(screen.view.visible.first == VisibleRow(id: "r1", top: 80, height: 80))
    #expect(screen.view.visible.last?.id == "r11")
    screen.scroll(to: 79.999)
    #expect(screen.view.firstVisible?.id == "r0")
    screen.scroll(to: 116)
    #expect(screen.view.visible.last?.id == "r11")
    screen.scroll(to: 116.001)
    #expect(screen.view.visible.last?.id == "r12")
  }

  @Test func `a visible row whose content changes is measured in that pass`() {
    var screen = Screen(100)
    let measured = screen.view.measurings
    var cells = Screen.cells(100)
    cells[3] = Cell(id: "r3", content: "b", height: 102)
    #expect(screen.view.changedVisible(in: cells) == ["r3"])
    screen.view.update(cells)
    #expect(screen.height("r3") == 80)
    screen.reconfigure(["r3"], of: cells, .none)
    #expect(screen.height("r3") == 102 && screen.top("r4") == 342)
    #expect(screen.view.measurings == measured + 1)
    #expect(screen.view.changedVisible(in: cells).isEmpty)
  }

  @Test func `a row off screen keeps its measured height until it is visible again and then has the newest content`() {
    var screen = Screen(100, height: 100)
    screen.view.jump(.bottom, at: screen.now)
    var cells = Screen.cells(100, height: 100)
    cells[0] = Cell(id: "r0", content: "b", height: 144)
    cells[50] = Cell(id: "r50", content: "b", height: 144)
    #expect(screen.view.changedVisible(in: cells).isEmpty)
    screen.view.update(cells)
    cells[0] = Cell(id: "r0", content: "c", height: 166)
    screen.reconfigure(["r0"], of: cells, .none)
    #expect(screen.height("r0") == 100 && screen.height("r50") == 80)
    screen.scroll(to: -47)
    #expect(screen.height("r0") == 166)
    screen.scroll(to: 4_000)
    #expect(screen.height("r50") == 144)
    #expect(screen.view.changedVisible(in: cells).isEmpty)
  }

  @Test func `a row that comes back with the content it had is not measured again`() {
    var screen = Screen(100, height: 100)
    screen.view.jump(.bottom, at: screen.now)
    let measured = screen.view.measurings
    screen.scroll(to: -47)
    screen.view.jump(.bottom, at: screen.now)
    #expect(screen.view.measurings == measured)
  }

  @Test func `a snapshot keeps the heights of the rows that stay and shows their content`() {
    var screen = Screen(20, height: 100)
    var cells = Screen.cells(20, height: 100)
    cells.remove(at: 1)
    cells[1] = Cell(id: "r2", content: "b", height: 60)
    cells.insert(Cell(id: "new", content: "a", height: 50), at: 0)
    #expect(!screen.view.hasSameIDs(cells))
    screen.apply(cells, .none)
    #expect(screen.view.hasSameIDs(cells))
    #expect(screen.view.visible.prefix(4).map(\.top) == [0, 50, 150, 210])
    #expect(screen.view.row("r1") == nil)
    #expect(screen.view.changedVisible(in: cells).isEmpty)
  }

  @Test func `lists of other rows are compared row by row`() {
    var screen = Screen(30)
    let older = (0..<40).map { Cell(id: "old\($0)", content: "a", height: 80) }
    var cells = older + Screen.cells(30)
    cells[42].content = "b"
    cells.remove(at: 44)
    #expect(screen.view.changedVisible(in: cells) == ["r2"])
    screen.view.update(cells)
    screen.scroll(to: 1_000)
    screen.scroll(to: -47)
    #expect(screen.view.changedVisible(in: cells).isEmpty)
  }

  @Test func `twice the same ID is no list, but stops nothing`() {
    var screen = Screen()
    screen.apply([Cell(id: "a", content: "1", height: 50), Cell(id: "a", content: "2", height: 60)], .bottom)
    screen.apply([Cell(id: "a", content: "2", height: 60)], .bottom)
    #expect(screen.view.visible == [VisibleRow(id: "a", top: 0, height: 60)])
  }

  @Test func `a layout pass has at most eight rounds`() {
    // Rows of one point, estimated at 80: each round brings ten more into sight, all of them would take eighty.
    var screen = Screen(1_000, height: 1)
    #expect(screen.view.measurings == 80)
    let measured = screen.view.measurings
    screen.view.settle(pin: .none, at: screen.now)
    #expect(screen.view.measurings > measured)
  }

  // MARK: Preparation

  @Test func `a row prepares from first becoming visible and has the estimate until then, once`() {
    var screen = Screen()
    screen.now = milliseconds(1_000)
    var cells = Screen.cells(100, height: 100)
    cells[0].preparation = .milliseconds(40)
    cells[60].preparation = .milliseconds(40)
    screen.apply(cells, .none)
    #expect(screen.view.isPreparing && screen.view.due == milliseconds(1_040))
    #expect(screen.height("r0") == 80 && screen.height("r1") == 100)
    // A new content does not begin again.
    cells[0].content = "b"
    screen.now = milliseconds(1_020)
    screen.reconfigure(["r0"], of: cells, .none)
    #expect(screen.height("r0") == 80 && screen.view.due == milliseconds(1_040))
    #expect(screen.view.fired(at: Instant(nanoseconds: 1_039_999_999)).isEmpty && screen.view.isPreparing)
    #expect(screen.fire(at: 1_040) == [.prepared])
    #expect(screen.height("r0") == 100 && !screen.view.isPreparing && screen.view.due == nil)
    cells[0].content = "c"
    cells[0].height = 120
    screen.reconfigure(["r0"], of: cells, .none)
    #expect(screen.height("r0") == 120 && screen.view.due == nil)
    // The other one was never visible: it begins when it is.
    screen.now = milliseconds(2_000)
    screen.scroll(to: 4_800)
    #expect(screen.view.due == milliseconds(2_040))
  }

  @Test func `a row that prepares on when it is off screen says nothing and is measured when it comes back`() {
    var screen = Screen()
    var cells = Screen.cells(100, height: 100)
    cells[0].preparation = .milliseconds(40)
    screen.apply(cells, .none)
    screen.view.jump(.bottom, at: screen.now)
    #expect(!screen.view.isPreparing && screen.view.due == milliseconds(40))
    #expect(screen.fire(at: 40).isEmpty)
    #expect(screen.height("r0") == 80 && screen.view.due == nil)
    screen.scroll(to: -47)
    #expect(screen.height("r0") == 100)
  }

  @Test func `slow preparation is for rows that prepare and become visible from now on`() {
    var screen = Screen()
    var cells = Screen.cells(100, height: 100)
    for position in cells.indices where position.isMultiple(of: 2) { cells[position].preparation = .zero }
    cells[98].preparation = .milliseconds(400)
    screen.apply(cells, .none)
    screen.view.take(.slowPreparation(.milliseconds(300)))
    screen.view.settle(pin: .none, at: screen.now)
    #expect(!screen.view.isPreparing && screen.height("r0") == 100)
    screen.view.jump(.bottom, at: screen.now)
    #expect(screen.view.isPreparing && screen.view.due == milliseconds(300))
    #expect(screen.height("r99") == 100 && screen.height("r98") == 80 && screen.height("r96") == 80)
    #expect(screen.fire(at: 300) == [.prepared])
    #expect(screen.height("r96") == 100 && screen.height("r98") == 80)
    #expect(screen.fire(at: 400) == [.prepared])
    #expect(screen.height("r98") == 100)
  }

  @Test func `the end of a preparation keeps the standing pin in force, until the next mount`() {
    for pin in [Pin.none, .bottom] {
      var screen = Screen()
      var cells = Screen.cells(20)
      cells[19] = Cell(id: "r19", content: "", height: 300, preparation: .milliseconds(40))
      screen.view.standingPin = pin
      screen.apply(cells, .bottom)
      #expect(screen.fire(at: 40) == [.prepared])
      #expect(screen.view.distanceToBottom == (pin == .none ? 220 : 0))
      screen.view.mount(at: screen.now)
      #expect(screen.view.standingPin == .none)
    }
  }

  @Test func `a remount shows an empty list of estimates; what has prepared does not prepare again`() {
    var screen = Screen()
    var cells = Screen.cells(5, height: 100)
    cells[0].preparation = .milliseconds(40)
    cells[1].preparation = .milliseconds(60)
    screen.apply(cells, .bottom)
    _ = screen.fire(at: 40)
    screen.view.unmount(at: screen.now)
    #expect(screen.view.due == nil && screen.fire(at: 60).isEmpty)
    screen.view.mount(at: screen.now)
    #expect(screen.view.ids.isEmpty && screen.view.offset == -47 && screen.view.contentHeight == 0)
    screen.apply(cells, .bottom)
    #expect(screen.height("r0") == 100)
    // The other one was not done: it begins anew.
    #expect(screen.height("r1") == 80 && screen.view.due == milliseconds(120))
  }

  // MARK: Slow applying

  @Test func `a snapshot applies for a scripted time, a reconfiguration does not`() {
    var screen = Screen(20)
    #expect(!screen.view.isApplying)
    screen.view.take(.slowApplying(.milliseconds(100)))
    screen.reconfigure(["r0"], of: Screen.cells(20, content: "b"), .none)
    #expect(!screen.view.isApplying)
    screen.apply(Screen.cells(21), .none)
    #expect(screen.view.isApplying && screen.view.due == milliseconds(100))
    #expect(screen.view.ids.count == 21)
    screen.now = milliseconds(50)
    screen.apply(Screen.cells(22), .none)
    #expect(screen.fire(at: 149).isEmpty && screen.view.isApplying)
    #expect(screen.fire(at: 150).isEmpty && !screen.view.isApplying && screen.view.due == nil)
  }

  // MARK: Range and pins

  @Test func `an empty or short list has one offset`() {
    var screen = Screen()
    #expect(screen.view.offset == -47 && screen.view.distanceToBottom == 0 && screen.view.aboveScreen == 0)
    // 844 - 159 - (-47 + 47): up to 685 - 47 = 638 pt of content nothing scrolls.
    screen.apply([Cell(id: "a", content: "", height: 638)], .bottom)
    #expect(screen.view.offset == -47)
    screen.apply([Cell(id: "a", content: "b", height: 639)], .bottom)
    #expect(screen.view.offset == -46 && screen.view.aboveScreen == 1)
  }

  @Test func `the bottom pin holds the end while rows take their heights`() {
    var screen = Screen()
    screen.apply(Screen.cells(50, height: 123), .bottom)
    #expect(screen.view.distanceToBottom == 0)
    #expect(screen.view.offset == screen.view.contentHeight - 685)
    #expect(screen.view.visible.last.map { $0.top + $0.height } == screen.view.contentHeight)
    #expect(screen.view.visible.allSatisfy { $0.height == 123 })
  }

  @Test func `a row pin keeps the row in place and shows none of the rows that come above`() {
    var screen = Screen(100, height: 100)
    screen.scroll(to: 30)
    let measured = screen.view.measurings
    let first = screen.view.firstVisible
    let older = (0..<100).map { Cell(id: "old\($0)", content: "", height: 200) }
    screen.apply(older + Screen.cells(100, height: 100), .row("r0", y: (first?.top ?? 0) - screen.view.offset))
    #expect(screen.view.firstVisible == VisibleRow(id: "r0", top: 8_000, height: 100))
    #expect(screen.view.offset == 8_030)
    #expect(screen.view.measurings == measured)
  }

  @Test func `a row pin is clamped at both ends, one of an unknown row does nothing`() {
    var screen = Screen(20)
    screen.view.settle(pin: .row("r0", y: 48), at: screen.now)
    #expect(screen.view.offset == -47)
    screen.view.settle(pin: .row("r0", y: 46), at: screen.now)
    #expect(screen.view.offset == -46)
    // The greatest offset is 1,600 - 685 = 915.
    screen.view.settle(pin: .row("r19", y: 600), at: screen.now)
    #expect(screen.view.offset == 915)
    screen.view.settle(pin: .row("r19", y: 606), at: screen.now)
    #expect(screen.view.offset == 914)
    screen.view.settle(pin: .row("gone", y: 0), at: screen.now)
    #expect(screen.view.offset == 914)
  }

  @Test func `a middle pin centres the row, clamped at both ends`() {
    var screen = Screen(40)
    screen.view.jump(.middle("r20"), at: screen.now)
    #expect(screen.view.offset == 1_600 + 40 - 422)
    screen.view.jump(.middle("r0"), at: screen.now)
    #expect(screen.view.offset == -47)
    screen.view.jump(.middle("r39"), at: screen.now)
    #expect(screen.view.distanceToBottom == 0)
    screen.view.jump(.middle("gone"), at: screen.now)
    #expect(screen.view.distanceToBottom == 0)
  }

  @Test func `without a pin the offset stays, unless the range ends before it`() {
    var screen = Screen(40)
    screen.scroll(to: 800)
    screen.apply([Cell(id: "new", content: "", height: 80)] + Screen.cells(40), .none)
    #expect(screen.view.offset == 800 && screen.view.firstVisible?.id == "r9")
    screen.apply(Screen.cells(15), .none)
    #expect(screen.view.offset == 1_200 - 685)
    screen.apply([], .none)
    #expect(screen.view.offset == -47 && screen.view.visible.isEmpty)
  }

  // MARK: Cost

  /// A list at the bottom whose last row grows `updates` times by two lines.
  private func stream(_ count: Int, updates: Int) -> Int {
    var screen = Screen()
    var cells = Screen.cells(count)
    screen.apply(cells, .bottom)
    let measured = screen.view.measurings
    for update in 1...updates {
      cells[count - 1] = Cell(id: "r\(count - 1)", content: "\(update)", height: 80 + 44 * Double(update))
      screen.view.update(cells)
      screen.reconfigure(screen.view.changedVisible(in: cells), of: cells, .bottom)
    }
    #expect(screen.view.distanceToBottom == 0)
    return screen.view.measurings - measured
  }

  @Test(arguments: [800, 100_000]) func `20 self-sizing updates measure at most 21 cells`(count: Int) {
    #expect(stream(count, updates: 20) <= 21)
  }
}
