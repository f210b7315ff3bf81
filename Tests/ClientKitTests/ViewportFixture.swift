import ClientKit
import Contract
import Simulation
import Wire

/// A viewport of the device of the specification, with a short way to say things to it.
struct Screen {
  static let device = Device(width: 390, height: 844, insetTop: 47, insetBottom: 159)
  var view = Viewport(name: "chat", device: Screen.device)
  var now = Instant.zero
  private var version = 0

  init() { view.mount(at: now) }

  /// Rows `r0` to `r<count - 1>` of one height, applied at the top.
  init(_ count: Int, height: Double = 80) {
    self.init()
    apply(Screen.cells(count, height: height), .none)
  }

  static func cells(_ count: Int, height: Double = 80, content: String = "a") -> [Cell] {
    (0..<count).map { Cell(id: "r\($0)", content: content, height: height) }
  }

  mutating func apply(_ cells: [Cell], _ pin: Pin) {
    version += 1
    view.apply(cells, listVersion: version, held: false, pin: pin, at: now)
  }

  mutating func reconfigure(_ ids: [String], of cells: [Cell], _ pin: Pin) {
    version += 1
    view.reconfigure(ids, of: cells, listVersion: version, held: false, pin: pin, at: now)
  }

  /// Puts the list at an offset, without a frame.
  mutating func scroll(to offset: Double) {
    guard let row = view.row(view.ids[0]) else { return }
    view.jump(.row(row.id, y: row.top - offset), at: now)
  }

  /// The next display frame.
  mutating func frame() -> [Viewport.Happening] { frame(after: DisplayLink.frame) }

  mutating func frame(after time: Interval) -> [Viewport.Happening] {
    now = now + time
    return view.frame(at: now)
  }

  /// Lets time pass to an instant that is due.
  mutating func fire(at ms: Int64) -> [Viewport.Happening] {
    now = .zero + .milliseconds(ms)
    return view.fired(at: now)
  }

  /// Frames until nothing moves; how many.
  mutating func run() -> Int {
    var frames = 0
    while view.wantsFrames, frames < 10_000 {
      _ = frame()
      frames += 1
    }
    return frames
  }

  func height(_ id: String) -> Double? { view.row(id)?.height }
  func top(_ id: String) -> Double? { view.row(id)?.top }

  /// Kind and fields (without the host) of the records since the last time, a line each.
  mutating func lines() -> [String] {
    view.takeRecords().map { record in
      var fields = record.fields
      fields["host"] = nil
      return record.kind + (fields.isEmpty ? "" : " " + JSONWriter.text(.object(fields)))
    }
  }

  /// The same, of one kind only.
  mutating func lines(_ kind: String) -> [String] {
    lines().compactMap { $0.hasPrefix(kind + " ") ? String($0.dropFirst(kind.count + 1)) : nil }
  }
}

func milliseconds(_ n: Int64) -> Instant { .zero + .milliseconds(n) }

/// A finger that is `y` points from the touch after `ms` and lifts.
func drag(_ y: Double, in ms: Int64, velocity: Double = 0, held: Int64 = 0) -> Drag {
  Drag(path: [Drag.Place(after: .milliseconds(ms), y: y)], velocity: velocity, held: .milliseconds(held))
}
