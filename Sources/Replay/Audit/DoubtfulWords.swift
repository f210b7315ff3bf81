import Contract
import Simulation
import Wire

/// What the frames say that differ from the recording in audit 1. In a replay the same may be said at another time, in another order and
/// under other numbers, so what counts is what a frame says without them: a claim on the server's words, times or older history whose
/// evidence is said by such a frame cannot be decided (SCENARIO.md 5).
package struct DoubtfulWords: Hashable, Sendable {
  /// By what is said: the recorded frame, 0 where the recording has none.
  private var frames: [String: Int] = [:]

  package init() {}

  init(_ differences: [FrameDifference]) {
    for difference in differences {
      for frame in [difference.recorded, difference.replayed] {
        guard let words = frame.map(DoubtfulWords.words), frames[words] == nil else { continue }
        frames[words] = difference.divergence.frame ?? 0
      }
    }
  }

  package var isEmpty: Bool { frames.isEmpty }

  /// The `send` entries of a trace whose frames of the server say such a thing, each with the reason for doubt.
  package func entries(of trace: Trace, _ system: ChatSystem) -> [Int: String] {
    if isEmpty { return [:] }
    let sent = trace.all(.link, "send").map(\.sentFrame)
    let incoming = Set(sent.filter { $0.direction == .in }.map(\.sequence))
    var doubts: [Int: String] = [:]
    for frame in system.normalForm(sent) where incoming.contains(frame.sequence) {
      switch frames[DoubtfulWords.words(frame)] {
      case nil: continue
      case 0?: doubts[frame.sequence] = "the recording has no such \(frame.name)"
      case let number?: doubts[frame.sequence] = "frame \(number) differs from the recording"
      }
    }
    return doubts
  }

  /// A frame without numbers and ordinals, as text.
  private static func words(_ frame: NormalFrame) -> String {
    frame.name + "\u{0}" + JSONWriter.text(bare(frame.content, without: frame.ordinal))
  }

  private static func bare(_ value: JSON, without ordinal: String?) -> JSON {
    switch value {
    case .integer, .unsigned, .double: return .null
    case .string(let text): return text == ordinal ? .null : value
    case .array(let elements):
      let rest = elements.map { bare($0, without: ordinal) }
      // Order numbers may get longer.
      return !rest.isEmpty && rest.allSatisfy(\.isNull) ? .null : .array(rest)
    case .object(let object):
      return .object(JSONObject(object.members.map { JSONObject.Member(name: $0.name, value: bare($0.value, without: ordinal)) }))
    case .null, .bool: return value
    }
  }
}
