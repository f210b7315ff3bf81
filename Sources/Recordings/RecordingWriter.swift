internal import Simulation
internal import Storage
package import Wire

/// Writes a sealed recording from frames in order: DESIGN.md 4. Memory is flat; until `finish` nothing is at the path.
package final class RecordingWriter {
  private let facts: CaptureFacts
  private let container: ContainerWriter
  private let segmentBytes: Int
  private var tally = FrameTally()
  private var segment: [UInt8] = []
  private var segmentFirst: Int?
  private var segments = 0
  private var lastSequence = 0
  private var blobs: Set<String> = []
  private var marks: [UInt8] = []

  /// - Parameter segmentBytes: plain bytes after which a segment ends.
  package init(
    path: String, facts: CaptureFacts, replacing: Bool = false, segmentBytes: Int = Limits.segment
  ) throws(RecordingError) {
    self.facts = facts
    self.segmentBytes = segmentBytes
    container = try ContainerWriter(path: path, replacing: replacing)
  }

  /// Adds a frame and gives its sequence: its own, which must rise, or the next one when it has none (0).
  @discardableResult
  package func append(_ frame: Frame) throws(RecordingError) -> Int {
    var frame = frame
    if frame.sequence == 0 { frame.sequence = lastSequence + 1 }
    try frame.checkFitness(path: container.path)
    guard frame.sequence > lastSequence else {
      throw RecordingError(
        .badData, path: container.path, sequence: frame.sequence, reason: "a frame that stands behind number \(lastSequence)")
    }
    lastSequence = frame.sequence
    tally.add(connection: frame.connection, direction: frame.direction, at: frame.at, bytes: frame.payload.count)
    var blob: String?
    if frame.payload.count > Limits.inlinePayload {
      let digest = SHA256Digest.hex(frame.payload)
      if blobs.insert(digest).inserted { try container.add("blobs/\(digest).zst", group: 1, frame.payload) }
      blob = digest
    }
    if frame.kind == .mark { appendMark(frame, blob: blob) }
    if segmentFirst == nil { segmentFirst = frame.sequence }
    FrameCodec.append(frame, blob: blob, to: &segment)
    if segment.count >= segmentBytes { try endSegment() }
    return frame.sequence
  }

  /// Ends the recording and gives it its name.
  package func finish() throws(RecordingError) -> SealedFile {
    try endSegment()
    if !marks.isEmpty { try container.add("marks.jsonl", group: 2, marks) }
    return try container.finish(kind: .recording, facts: Manifest(facts: facts, tally: tally).json, entries: tally.frames)
  }

  private func endSegment() throws(RecordingError) {
    guard let first = segmentFirst else { return }
    try container.add("frames/\(fiveDigits(segments)).jsonl.zst", group: 0, segment, first: first, last: lastSequence)
    segments += 1
    segmentFirst = nil
    segment.removeAll(keepingCapacity: true)
  }

  /// `marks.jsonl` repeats the marks for people and scripts, one JSON text a line; the frames remain what counts.
  private func appendMark(_ frame: Frame, blob: String?) {
    var line: JSONObject = ["seq": .int(frame.sequence), "t": .integer(frame.at.nanoseconds), "conn": .int(frame.connection.number)]
    if let blob {
      line["blob"] = .string(blob)
    } else if let value = try? JSONReader.value(frame.payload) {
      line["mark"] = value
    } else {
      line["text"] = .string(String(decoding: frame.payload, as: UTF8.self))
    }
    marks += JSONWriter.compact(.object(line)) + [UInt8(ascii: "\n")]
  }
}

extension Frame {
  /// Refuses what no envelope can hold.
  func checkFitness(path: String) throws(RecordingError) {
    func bad(_ reason: String) -> RecordingError { RecordingError(.badData, path: path, sequence: sequence, reason: reason) }
    guard sequence >= 0 else { throw bad("a frame with a negative sequence") }
    guard payload.count <= Limits.payload else { throw bad("a payload of \(payload.count) bytes, more than \(Limits.payload)") }
    if let taken = flags.members.first(where: { FrameCodec.reserved.contains($0.name) }) {
      throw bad("a flag with the name \(taken.name), which belongs to the envelope")
    }
    let size = kind.rawValue.utf8.count + (flags.isEmpty ? 0 : JSONWriter.compact(.object(flags)).count)
    // Control characters take six bytes each in the envelope.
    guard size <= Limits.envelope / 8 else { throw bad("an envelope that is too long") }
  }
}

/// `7` → `00007`.
func fiveDigits(_ number: Int) -> String {
  let digits = String(number)
  return String(repeating: "0", count: max(0, 5 - digits.utf8.count)) + digits
}
