import Contract
import Simulation
import Wire

/// A difference with the frames that it lies between.
struct FrameDifference: Sendable {
  var divergence: Divergence
  var recorded: NormalFrame?
  var replayed: NormalFrame?
}

/// Compares two sides of a conversation in normal form (SCENARIO.md 5).
struct FrameComparison {
  var audit: Int
  /// The tolerance of instants for frames that are not rule-timed, nil for that of each frame.
  var tolerance: Interval?
  /// Stamps within contents that lie this many milliseconds apart are equal.
  var stamps: Int64 = 1
  /// Frames after this instant on one side only do not count: the recording was over.
  var end: Instant

  /// The differences, in order of instant; `same` is left out.
  func differences(recorded: [NormalFrame], replayed: [NormalFrame]) -> [FrameDifference] {
    var streams: OrderedStreams = OrderedStreams()
    for frame in recorded { streams.add(frame, isRecorded: true) }
    for frame in replayed { streams.add(frame, isRecorded: false) }
    var found: [FrameDifference] = []
    for stream in streams.list {
      switch stream.kind {
      case .ordered: found += align(stream.recorded, stream.replayed, spare: 0)
      case .ruleTimed: found += align(stream.recorded, stream.replayed, spare: 1)
      case .counted:
        let difference = stream.replayed.count - stream.recorded.count
        if difference.magnitude > 1, let first = (stream.recorded + stream.replayed).first {
          found.append(
            FrameDifference(
              divergence: Divergence(
                kind: difference > 0 ? .new : .missing, audit: audit, at: first.at, name: first.name,
                recorded: String(stream.recorded.count), replayed: String(stream.replayed.count), restsOn: "only counted")))
        }
      }
    }
    return found.enumerated().sorted {
      ($0.element.divergence.at, $0.offset) < ($1.element.divergence.at, $1.offset)
    }.map(\.element)
  }

  private func difference(_ a: NormalFrame, _ b: NormalFrame) -> (path: String, left: JSON?, right: JSON?)? {
    a.content == b.content ? nil : NormalFrame.firstDifference(a.content, b.content, stamps: stamps)
  }

  private func align(_ recorded: [NormalFrame], _ replayed: [NormalFrame], spare: Int) -> [FrameDifference] {
    func equal(_ x: Int, _ y: Int) -> Bool {
      recorded[x].name == replayed[y].name && difference(recorded[x], replayed[y]) == nil
    }
    var pairs = Alignment.pairs(recorded.count, replayed.count, equal)
    // Among equal frames next to each other the alignment takes any: the nearest in time is meant.
    func distance(_ x: Int, _ y: Int) -> Int64 { abs((replayed[y].at - recorded[x].at).nanoseconds) }
    for index in pairs.indices {
      let (x, y) = pairs[index]
      let least = index > 0 ? (pairs[index - 1].0 + 1, pairs[index - 1].1 + 1) : (0, 0)
      let most = index + 1 < pairs.count ? pairs[index + 1] : (recorded.count, replayed.count)
      let nearY = (least.1..<most.1).filter { equal(x, $0) }.min { distance(x, $0) < distance(x, $1) } ?? y
      let nearX = (least.0..<most.0).filter { equal($0, nearY) }.min { distance($0, nearY) < distance($1, nearY) } ?? x
      pairs[index] = (nearX, nearY)
    }
    var found: [FrameDifference] = []
    var missing: [NormalFrame] = []
    var new: [NormalFrame] = []
    var x = 0
    var y = 0
    // A gap between two pairs: what has the same name on both sides differs, the rest is missing or new.
    func closeGap(_ toX: Int, _ toY: Int) {
      var left = Array(replayed[y..<toY])
      for frame in recorded[x..<toX] {
        if let index = left.firstIndex(where: { $0.name == frame.name }), let difference = difference(frame, left[index]) {
          found.append(
            FrameDifference(
              divergence: Divergence(
                kind: .differs, audit: audit, frame: frame.sequence, at: frame.at, name: frame.name, path: difference.path,
                recorded: FrameComparison.text(difference.left), replayed: FrameComparison.text(difference.right)), recorded: frame,
              replayed: left.remove(at: index)))
        } else {
          missing.append(frame)
        }
      }
      new += left
    }
    for (pairX, pairY) in pairs {
      closeGap(pairX, pairY)
      let (old, now) = (recorded[pairX], replayed[pairY])
      let limit: Interval
      switch old.timing {
      case .within(let interval): limit = tolerance ?? interval
      case .band(let interval): limit = interval
      case .countedOnly: limit = Interval(nanoseconds: .max)
      }
      if distance(pairX, pairY) > limit.nanoseconds { found.append(moved(old, now)) }
      x = pairX + 1
      y = pairY + 1
    }
    closeGap(recorded.count, replayed.count)
    // The same frame at another place of the order.
    missing.removeAll { frame in
      guard let index = new.firstIndex(where: { $0.name == frame.name && $0.content == frame.content }) else { return false }
      found.append(moved(frame, new.remove(at: index)))
      return true
    }
    new.removeAll { $0.at > end }
    if missing.count + new.count <= spare { return found }
    found += missing.map {
      FrameDifference(divergence: Divergence(kind: .missing, audit: audit, frame: $0.sequence, at: $0.at, name: $0.name), recorded: $0)
    }
    found += new.map {
      FrameDifference(
        divergence: Divergence(kind: .new, audit: audit, at: $0.at, name: $0.name, replayed: FrameComparison.text($0.content)),
        replayed: $0)
    }
    return found
  }

  /// JSON text, cut after 400 bytes; nil for what is absent.
  private static func text(_ value: JSON?) -> String? {
    guard let value else { return nil }
    let text = JSONWriter.text(value)
    return text.utf8.count <= 400 ? text : String(decoding: text.utf8.prefix(400), as: UTF8.self) + "…"
  }

  private func moved(_ old: NormalFrame, _ now: NormalFrame) -> FrameDifference {
    FrameDifference(
      divergence: Divergence(
        kind: .moved, audit: audit, frame: old.sequence, at: old.at, name: old.name, recorded: old.at.description,
        replayed: now.at.description), recorded: old, replayed: now)
  }
}

/// The frames of both sides by what they are compared with, in order of first sight.
private struct OrderedStreams {
  enum Kind: Hashable { case ordered, ruleTimed, counted }

  struct Stream {
    var kind: Kind
    var recorded: [NormalFrame] = []
    var replayed: [NormalFrame] = []
  }

  private(set) var list: [Stream] = []
  private var index: [String: Int] = [:]

  mutating func add(_ frame: NormalFrame, isRecorded: Bool) {
    let kind: Kind
    var key = frame.stream
    switch frame.timing {
    case .within: kind = .ordered
    case .band:
      // Rule-timed frames drift against the others, so each name is a sequence of its own.
      kind = .ruleTimed
      key += "\u{0}timed\u{0}" + frame.name
    case .countedOnly:
      kind = .counted
      key += "\u{0}counted\u{0}" + frame.name
    }
    let place = index[key] ?? list.count
    if place == list.count {
      index[key] = place
      list.append(Stream(kind: kind))
    }
    if isRecorded { list[place].recorded.append(frame) } else { list[place].replayed.append(frame) }
  }
}
