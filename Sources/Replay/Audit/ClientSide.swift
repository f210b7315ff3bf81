import Contract
import Simulation
import Wire

/// A run as a recorder at the client's side would have kept it.
package enum ClientSide {
  /// The frames of a trace at the client's end: connections that open and end, what leaves the client and what reaches it, steps of
  /// the wall clock; up to and including `end`, numbered from 1. The frames of the `send` entries `leftOut` are not among them; with
  /// `marks` the gestures of the user are, as an app posts them.
  package static func frames(
    of trace: Trace, until end: Instant = .never, without leftOut: Set<Int> = [], marks: Bool = false
  ) -> [Frame] {
    var frames: [Frame] = []
    // By send entry: the bytes that arrive in place of those that were sent.
    var changed: [Int: [UInt8]] = [:]
    func add(_ entry: TraceEntry, _ direction: Direction, _ kind: FrameKind, _ payload: [UInt8]) {
      frames.append(
        Frame(
          sequence: frames.count + 1, at: entry.at, connection: ConnectionID(entry["conn"]?.int ?? 0), direction: direction, kind: kind,
          payload: payload))
    }
    for entry in trace.entries where entry.at <= end {
      switch (entry.party, entry.kind) {
      case (.link, "up"):
        let url = "ws://127.0.0.1" + (entry["endpoint"]?.string ?? "")
        add(entry, .out, .open, JSONWriter.compact(["url": .string(url), "headers": [], "status": 101]))
      case (.link, "down"):
        let who = entry["who"]?.string ?? "network"
        let direction: Direction = who == "client" ? .out : .in
        add(entry, direction, .close, JSONWriter.compact(["code": entry["code"] ?? 1006, "reason": "", "who": .string(who)]))
      case (.link, "send"):
        if entry["dir"]?.string == Direction.out.rawValue, !leftOut.contains(entry.index) {
          add(entry, .out, entry.frameKind, entry.payload ?? [])
        }
      case (.link, "arrive"):
        guard entry["dir"]?.string == Direction.in.rawValue, let of = entry["of"]?.int, trace.entries.indices.contains(of),
          !leftOut.contains(of)
        else { continue }
        let isChanged = entry["changed"]?.bool ?? false
        add(entry, .in, trace.entries[of].frameKind, (isChanged ? changed[of] : nil) ?? trace.entries[of].payload ?? [])
      case (.link, "corrupt"), (.link, "truncate"), (.link, "replace"):
        if let of = entry["of"]?.int, let payload = entry.payload { changed[of] = payload }
      case (.user, "gesture"):
        guard marks else { continue }
        var gesture = entry.fields
        gesture["intent"] = nil
        add(entry, .out, .mark, JSONWriter.compact(["user": .object(gesture), "intent": entry["intent"] ?? .null]))
      case (.world, "clock"): add(entry, .out, .clock, JSONWriter.compact(["byNs": entry["byNs"] ?? 0]))
      default: break
      }
    }
    return frames
  }
}

extension TraceEntry {
  fileprivate var frameKind: FrameKind { FrameKind(rawValue: self["frame"]?.string ?? "") }

  /// The frame of a `send` entry, under the entry's index.
  var sentFrame: Frame {
    Frame(
      sequence: index, at: at, connection: ConnectionID(self["conn"]?.int ?? 0),
      direction: self["dir"]?.string == Direction.out.rawValue ? .out : .in, kind: frameKind, payload: payload ?? [])
  }
}
