import Contract
import Simulation
import Wire

/// What a settle pass found.
package enum PassVerdict: String, Hashable, Sendable {
  /// Something is under way that it waits for; the reference is gone.
  case waiting
  /// There was nothing to compare with.
  case first
  /// The layout is another one than at the pass before.
  case moved
  /// Everything is within half a point of where it was.
  case still
}

extension Viewport {
  /// What a settle pass compares and a `frame` record shows. Bounds and insets are the device's and never change.
  struct Geometry: Hashable, Sendable {
    var offset: Double
    var contentHeight: Double
    var visible: [VisibleRow]

    /// Still means each length within this of the one before.
    private static let tolerance = 0.5

    func isStill(since other: Geometry) -> Bool {
      func agree(_ a: Double, _ b: Double) -> Bool { toThousandth((a - b).magnitude) <= Geometry.tolerance }
      return agree(offset, other.offset) && agree(contentHeight, other.contentHeight) && visible.count == other.visible.count
        && zip(visible, other.visible).allSatisfy { $0.id == $1.id && agree($0.top, $1.top) && agree($0.height, $1.height) }
    }
  }

  private var geometry: Geometry { Geometry(offset: toThousandth(offset), contentHeight: contentHeight, visible: visible) }

  /// Settle pass `k` (from 1) for a `use`: compares the layout with that of the pass before it and becomes the reference of the next one. A
  /// pass that `waits` clears the reference. Record `pass`.
  package mutating func settlePass(_ use: String, k: Int, waits: Bool) -> PassVerdict {
    let now = geometry
    let verdict: PassVerdict = waits ? .waiting : reference.map { now.isStill(since: $0) ? .still : .moved } ?? .first
    reference = waits ? nil : now
    recordPass(use, k, verdict)
    return verdict
  }

  /// A settle pass whose measure is the caller's: what it measured stands in the `frame` records. Record `pass`.
  package mutating func notePass(_ use: String, k: Int, isStill: Bool) { recordPass(use, k, isStill ? .still : .moved) }

  private mutating func recordPass(_ use: String, _ k: Int, _ verdict: PassVerdict) {
    if isMounted { record("pass", ["use": .string(use), "n": .int(k), "verdict": .string(verdict.rawValue)]) }
  }

  /// Clears the reference: the next pass is a first one.
  package mutating func resetPasses() { reference = nil }

  // MARK: Records

  /// The records since the last time, in order. If offset, content height or a visible row has changed since the last `frame` record of this
  /// mount, another one closes them; lengths count to the thousandth, as they are written. Before the first snapshot there is nothing to see.
  package mutating func takeRecords() -> [ScreenRecord] {
    if isMounted, hasList, isLaidOut { recordFrame() }
    defer { records = [] }
    return records
  }

  private mutating func recordFrame() {
    isLaidOut = false
    let now = geometry
    if now == recorded { return }
    var fields: JSONObject = ["offset": .points(now.offset), "contentHeight": .points(now.contentHeight)]
    if now.visible != recorded?.visible {
      fields["visible"] = .array(
        now.visible.map { ["id": .string($0.id), "top": .points($0.top), "height": .points($0.height)] })
    }
    recorded = now
    record("frame", fields)
  }

  mutating func recordScroll(_ state: String, signalled: Bool = true) {
    record("scroll", signalled ? ["state": .string(state)] : ["state": .string(state), "signalled": false])
  }

  mutating func record(_ kind: String, _ fields: JSONObject = [:]) {
    records.append(ScreenRecord(kind, JSONObject([JSONObject.Member(name: "host", value: .string(name))] + fields.members)))
  }
}

private func toThousandth(_ value: Double) -> Double { (value * 1_000).rounded() / 1_000 }
