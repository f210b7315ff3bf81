internal import Storage
package import Wire

/// Writes a run, `NAME.chatrun`: the container of a recording with a manifest of the run, its trace in segments, and further
/// JSON members. Until `finish` nothing is at the path.
package final class RunArchiveWriter {
  private let container: ContainerWriter
  private let segmentBytes: Int
  private var segment: [UInt8] = []
  private var segmentFirst = 1
  private var lines = 0
  private var segments = 0
  private var names: Set<String> = []

  package init(path: String, replacing: Bool = false, segmentBytes: Int = Limits.segment) throws(RecordingError) {
    self.segmentBytes = segmentBytes
    container = try ContainerWriter(path: path, replacing: replacing)
  }

  /// Adds one line of the trace, given without its newline; a line cannot hold one.
  package func append(traceLine line: [UInt8]) throws(RecordingError) {
    guard !line.contains(UInt8(ascii: "\n")) else {
      throw RecordingError(.badData, path: container.path, sequence: lines + 1, reason: "a trace entry with a newline")
    }
    guard line.count <= Limits.traceLine else {
      throw RecordingError(.badData, path: container.path, sequence: lines + 1, reason: "a trace entry of \(line.count) bytes")
    }
    segment += line
    segment.append(UInt8(ascii: "\n"))
    lines += 1
    if segment.count >= segmentBytes { try endSegment() }
  }

  /// Adds `NAME.json`; names are lower-case letters, digits and hyphens, each used once.
  package func add(_ name: String, _ value: JSON) throws(RecordingError) {
    let isPlain = name.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || byte == UInt8(ascii: "-")
    }
    guard isPlain, !name.isEmpty, name != "manifest", names.insert(name).inserted else {
      throw RecordingError(.badData, path: container.path, reason: "\(name) cannot be the name of a member")
    }
    let text = JSONWriter.compact(value) + [UInt8(ascii: "\n")]
    guard text.count <= Limits.jsonMember else {
      throw RecordingError(.cannotWrite, path: container.path, member: name, reason: "\(text.count) bytes, more than \(Limits.jsonMember)")
    }
    try container.add("\(name).json", group: 1, text)
  }

  /// Ends the run with what its manifest says beside the members: token, plan, scenario, user script, verdicts, … as the caller
  /// spells them, in that order.
  package func finish(_ facts: JSONObject) throws(RecordingError) -> SealedFile {
    let taken = ["format", "version", "kind", "members", "entries"]
    if let name = facts.members.first(where: { taken.contains($0.name) })?.name ?? facts.repeatedName {
      throw RecordingError(.badData, path: container.path, reason: "\(name) cannot be a fact of a run")
    }
    try endSegment()
    var manifest: JSONObject = ["entries": .int(lines)]
    manifest.members += facts.members
    return try container.finish(kind: .run, facts: manifest, entries: lines)
  }

  private func endSegment() throws(RecordingError) {
    guard !segment.isEmpty else { return }
    try container.add("trace/\(fiveDigits(segments)).jsonl.zst", group: 0, segment, first: segmentFirst, last: lines)
    segments += 1
    segmentFirst = lines + 1
    segment.removeAll(keepingCapacity: true)
  }
}

/// A run to read. A value: every pass opens the file anew.
package struct RunArchive: Sendable {
  package let path: String
  /// The manifest without format, kind and members: the number of `entries`, then what the writer was given.
  package let facts: JSONObject
  private let container: Container

  /// Opens a run. Damage behind the manifest is no error here: reading names it.
  package static func open(_ path: String) throws(RecordingError) -> RunArchive {
    guard try InputKind.of(path) == .zip else {
      throw RecordingError(.badData, path: path, reason: "is a journal, not a run")
    }
    return RunArchive(path: path, container: try Container.open(path, kind: .run))
  }

  private init(path: String, container: Container) {
    self.path = path
    self.container = container
    let own = ["format", "version", "kind", "members"]
    facts = JSONObject(container.manifest.members.filter { !own.contains($0.name) })
  }

  /// Hands over the lines of the trace in order, without their newlines, and says where damage ends them; nil when all were
  /// read. What `body` throws ends the walk and is thrown on.
  package func forEachTraceLine(_ body: (ArraySlice<UInt8>) throws -> Void) throws -> RecordingDamage? {
    let walk = container.walk()
    var line = 0
    for member in container.members where member.name.hasPrefix("trace/") {
      let plain: [UInt8]
      do throws(MemberFailure) {
        plain = try walk.content(of: member, limit: Limits.plainSegment)
      } catch {
        return RecordingDamage(member: member.name, sequence: line + 1, reason: error.reason)
      }
      var start = 0
      while start < plain.count {
        guard let end = plain[start...].firstIndex(of: UInt8(ascii: "\n")) else {
          return RecordingDamage(member: member.name, sequence: line + 1, offset: start, reason: "a line without end")
        }
        line += 1
        try body(plain[start..<end])
        start = end + 1
      }
    }
    return container.damage.map { RecordingDamage(reason: "\($0); all entries are there") }
  }

  /// The names that `add` was given, in that order.
  package var names: [String] {
    container.members.compactMap { $0.name.hasSuffix(".json") ? String($0.name.dropLast(5)) : nil }
  }

  /// The member that was added as `name`; nil when there is none.
  package func value(_ name: String) throws(RecordingError) -> JSON? {
    guard let member = container.members.first(where: { $0.name == "\(name).json" }) else { return nil }
    do {
      return try JSONReader.value(try container.walk().content(of: member, limit: Limits.jsonMember))
    } catch {
      let reason = (error as? MemberFailure)?.reason ?? "\(error)"
      throw RecordingError(.badData, path: path, member: member.name, reason: reason)
    }
  }

  /// SHA-256 of the file.
  package func hash() throws(RecordingError) -> String {
    do throws(FileError) {
      return try SHA256Stream.hex(of: try File.reading(path))
    } catch {
      throw RecordingError(reading: error, path: path)
    }
  }
}
