import Contract
import HBCodeDialect
import Simulation
import Wire

extension Compilation {
  /// The overlay as changes: between two sightings of one epoch the rows put and taken and the increment, at the later one
  /// (SCENARIO.md 3, step 9).
  mutating func readOverlays() {
    for id in sessions.keys {
      guard var session = sessions[id] else { continue }
      readOverlay(&session)
      edit(id) { $0.state.overlay = session.state.overlay }
    }
  }

  private mutating func readOverlay(_ session: inout SessionSightings) {
    guard let first = session.overlays.first else { return }
    let ends = session.runs.compactMap { life in life.end.map { (at: $0, run: life.run.runId) } }.sorted { $0.at < $1.at }
    let startOfRecordedRuns = session.runs.compactMap(\.start).min() ?? .never
    var endsSeen = ends.filter { $0.at <= first.source.happened }.count
    // The state at the start is the first sighting, taken back over what is known to have happened before it.
    var version = first.overlay.version
    var blocks: [Row]
    if endsSeen > 0 || startOfRecordedRuns <= first.source.happened {
      version = OverlayVersion(epoch: max(0, first.overlay.version.epoch - Int64(endsSeen)), revision: 0)
      blocks = []
      if endsSeen > 0 { note("the overlay of \(session.id) at the start is taken back over \(endsSeen) runs", [first.source.frame]) }
      endsSeen = 0
    } else {
      // Rows of what began later come with the first sighting.
      blocks = first.overlay.blocks.filter { row in
        stretch(of: row, in: session, at: first.source.happened).map { (stretches[$0].recordedBegin ?? .zero) <= .zero } ?? true
      }
      // An event tells of a change: what there was before it had the revision before.
      if first.source.isEvent, version.revision > 0 {
        version.revision -= 1
        if version.revision == 0 { blocks = [] }
      }
    }
    session.state.overlay = LiveOverlay(version: version, blocks: blocks)
    var missing: [Int] = []
    var stale: [Int] = []
    var conflicts: [Int] = []
    // Since an epoch began no blocks were shown: the next ones are all put, whatever was there before.
    var isEmptied = false
    for sighting in session.overlays {
      let now = sighting.overlay.version
      if now == version {
        let differ = now.revision > 0 && !LiveOverlay.sameBlocks(blocks, sighting.overlay.blocks)
        if differ { conflicts.append(sighting.source.frame) }
        continue
      }
      if now < version {
        stale.append(sighting.source.frame)
        continue
      }
      var base = blocks
      var increment = now.revision - version.revision
      if now.epoch > version.epoch {
        increment = now.revision
        let before = endsSeen
        while endsSeen < ends.count, ends[endsSeen].at <= sighting.source.happened + Compilation.sameInstant { endsSeen += 1 }
        let settles = Int64(endsSeen - before)
        let up = now.epoch - version.epoch
        if settles > 0 { base.removeAll { row in ends[before..<endsSeen].contains { $0.run == row.runId } } }
        if up > settles {
          let jump = up - settles
          note("the epoch of \(session.id) jumps by \(jump) at \(sighting.source.happened)", [sighting.source.frame])
          let at = sighting.source.happened
          stretches.append(
            Stretch(
              id: "epoch/\(session.id)/\(now.epoch)", lane: nil, cause: .clock(at),
              steps: [Step(offset: .zero, changes: [.epochJump(by: jump)])], length: .zero, recordedBegin: at, basis: .derived,
              session: session.id))
        }
        version = OverlayVersion(epoch: now.epoch, revision: 0)
        isEmptied = true
        if now.revision == 0 {
          // Nothing shows yet; what is still running comes back with the next change.
          blocks = base
          version = now
          continue
        }
      }
      if increment > 1 { missing.append(sighting.source.frame) }
      apply(sighting, from: base, putsAll: isEmptied, increment: increment, &session)
      isEmptied = false
      blocks = sighting.overlay.blocks
      version = now
    }
    if !missing.isEmpty {
      note("overlay revisions of \(session.id) are missing before \(missing.count) frames: larger increments there", missing, .assumed)
    }
    if !stale.isEmpty { note("\(stale.count) overlays of \(session.id) are older than one before them", stale) }
    if !conflicts.isEmpty {
      note("\(conflicts.count) overlays of \(session.id) have a known version and other blocks", conflicts, .recorded)
    }
  }

  /// Puts the difference between two overlays into the stretches that its rows belong to; with `putsAll` also the rows that are as before.
  private mutating func apply(
    _ sighting: SessionSightings.Overlay, from base: [Row], putsAll: Bool, increment: Int64, _ session: inout SessionSightings
  ) {
    let at = sighting.source.happened
    var old: [String: Row] = [:]
    for row in base { old[row.identity] = row }
    var changes = OrderedMap<Int, [Change]>()
    var now = Set<String>()
    for row in sighting.overlay.blocks {
      now.insert(row.identity)
      if !putsAll, let known = old[row.identity], known.isEquivalent(to: row) { continue }
      guard let stretch = stretch(of: row, in: session, at: at) else { continue }
      changes[stretch, default: []].append(.put(row))
    }
    for row in base where !now.contains(row.identity) {
      guard let stretch = stretch(of: row, in: session, at: at) else { continue }
      changes[stretch, default: []].append(.take(identity: row.identity))
    }
    if changes.isEmpty {
      guard let playing = playing(in: session, at: at) else { return }
      changes[playing] = []
    }
    // The youngest stretch carries what is left of the increment.
    let order = changes.keys.sorted { (stretches[$0].recordedBegin ?? .zero, $0) < (stretches[$1].recordedBegin ?? .zero, $1) }
    var rest = increment
    for (position, index) in order.enumerated() {
      let own = position == order.count - 1 ? max(1, rest) : 1
      rest -= own
      addStep(index, at: at, changes[index] ?? [], own)
    }
  }

  /// Adds a step at an instant; one beyond the end of the stretch (seen late) comes at its end.
  mutating func addStep(_ index: Int, at: Instant, _ changes: [Change], _ increment: Int64) {
    let begin = stretches[index].recordedBegin ?? .zero
    let last = stretches[index].steps.last?.offset ?? .zero
    // What opens a stretch leaves the desktop with its beginning.
    var offset = max(at - begin <= Compilation.sameInstant ? .zero : at - begin, last)
    if offset > stretches[index].length {
      if offset - stretches[index].length > Compilation.sameInstant {
        note("rows of \(stretches[index].id) are first seen at \(at), after its end: put at its end", [], .assumed)
      }
      offset = max(stretches[index].length, last)
    }
    if at < begin - Compilation.sameInstant { note("rows of \(stretches[index].id) are seen before it begins", [], .assumed) }
    if let tail = stretches[index].steps.last, tail.offset == offset, tail.increment == 0, increment == 0 {
      stretches[index].steps[stretches[index].steps.count - 1].changes += changes
    } else {
      stretches[index].steps.append(Step(offset: offset, changes: changes, increment: increment))
    }
  }

  /// The stretch that a row belongs to: of its run, that of the user row before it in `sourceOrder`.
  func stretch(of row: Row, in session: SessionSightings, at: Instant) -> Int? {
    guard let life = session.runs.first(where: { $0.run.runId == row.runId }) ?? session.runs.last(where: { $0.begin <= at }) else {
      return nil
    }
    if row.type == .user, let operation = row.operationId, let part = life.parts.first(where: { $0.operation == operation }) {
      return part.stretch
    }
    var owner = life.parts.first
    for part in life.parts {
      if let order = part.order, order <= row.sourceOrder { owner = part }
    }
    return owner?.stretch
  }

  private func playing(in session: SessionSightings, at: Instant) -> Int? {
    guard let life = session.runs.last(where: { $0.begin <= at && at <= ($0.end ?? .never) + Compilation.sameInstant }) else { return nil }
    return life.parts.last { $0.begin <= at }?.stretch ?? life.parts.first?.stretch
  }
}

extension LiveOverlay {
  static func sameBlocks(_ a: [Row], _ b: [Row]) -> Bool { a.count == b.count && zip(a, b).allSatisfy { $0.isEquivalent(to: $1) } }
}
