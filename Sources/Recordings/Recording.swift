internal import Storage
package import Wire

/// A recording to read: a sealed file, or the journal of a capture that was not sealed. A value: every pass opens the file anew.
///
/// A journal is seen as it was when it was opened, even while a capture goes on writing.
package struct Recording: Sendable {
  package enum Form: Hashable, Sendable {
    case sealed
    /// A journal; `list` and `show` say so. The files that belong to it stand beside it.
    case unsealed(sideFiles: [String])
  }

  package let path: String
  package let form: Form
  package let manifest: Manifest
  private let source: Source

  private enum Source: Sendable {
    case container(Container)
    case journal(last: Int)
  }

  package var isSealed: Bool { form == .sealed }

  /// Opens a sealed recording or a journal. Damage behind the manifest is no error here: reading names it.
  package static func open(_ path: String) throws(RecordingError) -> Recording {
    switch try InputKind.of(path) {
    case .zip: return try Recording(path: path, container: try Container.open(path, kind: .recording))
    case .database: return try Recording(journal: path)
    }
  }

  /// The manifest alone. Of a sealed file only the head is read; of a journal the frames are counted.
  package static func listing(_ path: String) throws(RecordingError) -> RecordingListing {
    let recording: Recording
    switch try InputKind.of(path) {
    case .zip: recording = try Recording(path: path, container: try Container.head(of: path, kind: .recording))
    case .database: recording = try Recording(journal: path)
    }
    var bytes = 0
    for file in [path] + recording.sideFiles {
      if case .regular(let size)? = try? Files.kind(of: file) { bytes += size }
    }
    return RecordingListing(path: path, form: recording.form, manifest: recording.manifest, bytes: bytes)
  }

  private var sideFiles: [String] { if case .unsealed(let files) = form { files } else { [] } }

  private init(path: String, container: Container) throws(RecordingError) {
    self.path = path
    form = .sealed
    source = .container(container)
    do throws(JSONError) {
      manifest = try Manifest(json: container.manifest, members: container.members)
    } catch {
      throw RecordingError(.badData, path: path, member: manifestName, reason: "\(error)")
    }
  }

  private init(journal path: String) throws(RecordingError) {
    let reader = try JournalReader(path: path)
    let facts = try reader.facts()
    let (tally, last) = reader.tally()
    var sideFiles: [String] = []
    for file in JournalFile.sideFiles(of: path) where (try? Files.kind(of: file)) != nil { sideFiles.append(file) }
    self.path = path
    form = .unsealed(sideFiles: sideFiles)
    manifest = Manifest(facts: facts, tally: tally)
    source = .journal(last: last)
  }

  /// Hands over the frames in order, in constant memory, and says where damage ends them; nil when all were read. What `body`
  /// throws ends the walk and is thrown on.
  package func forEachFrame(_ body: (Frame) throws -> Void) throws -> RecordingDamage? {
    switch source {
    case .container(let container): try SegmentWalk(container: container).forEachFrame(body)
    case .journal(let last): try JournalReader(path: path).forEachFrame(upTo: last, body)
    }
  }

  /// All frames, and where damage ends them.
  package func frames() throws(RecordingError) -> (frames: [Frame], damage: RecordingDamage?) {
    var frames: [Frame] = []
    frames.reserveCapacity(min(manifest.frames, 1 << 16))
    do {
      let damage = try forEachFrame { frames.append($0) }
      return (frames, damage)
    } catch let error as RecordingError {
      throw error
    } catch {
      throw RecordingError(.badData, path: path, reason: "\(error)")
    }
  }

  /// The name of this content: SHA-256 of a sealed file; of a journal that of its facts and frames in canonical spelling.
  package func hash() throws(RecordingError) -> String {
    do {
      switch source {
      case .container: return try SHA256Stream.hex(of: try File.reading(path))
      case .journal:
        let stream = SHA256Stream()
        stream.update(JSONWriter.canonical(.object(manifest.facts.json)) + [UInt8(ascii: "\n")])
        var lines: [UInt8] = []
        _ = try forEachFrame { frame in
          lines.removeAll(keepingCapacity: true)
          FrameCodec.append(frame, to: &lines)
          stream.update(lines)
        }
        return stream.finish()
      }
    } catch let error as RecordingError {
      throw error
    } catch let error as FileError {
      throw RecordingError(reading: error, path: path)
    } catch {
      throw RecordingError(.badData, path: path, reason: "\(error)")
    }
  }
}

/// What a listing shows of a recording.
package struct RecordingListing: Hashable, Sendable {
  package var path: String
  package var form: Recording.Form
  package var manifest: Manifest
  /// Bytes on the disk, side files of a journal included.
  package var bytes: Int
}

/// Reads the frames of a sealed recording: segments in order, and payloads of their own from a second walk.
private final class SegmentWalk {
  private let container: Container
  private let blobWalk: MemberWalk
  private let json = JSONReader()
  private var lastSequence = 0

  init(container: Container) {
    self.container = container
    blobWalk = container.walk()
  }

  func forEachFrame(_ body: (Frame) throws -> Void) throws -> RecordingDamage? {
    let segments = container.walk()
    for member in container.members where member.name.hasPrefix("frames/") {
      let plain: [UInt8]
      do throws(MemberFailure) {
        plain = try segments.content(of: member, limit: Limits.plainSegment)
      } catch {
        return RecordingDamage(member: member.name, sequence: lastSequence + 1, reason: error.reason)
      }
      if let damage = try read(plain, of: member, body) { return damage }
    }
    return container.damage.map { RecordingDamage(reason: "\($0); all frames are there") }
  }

  private func read(_ plain: [UInt8], of member: Member, _ body: (Frame) throws -> Void) throws -> RecordingDamage? {
    var decoder = FrameDecoder(plain, reader: json)
    while true {
      let start = decoder.offset
      func damage(_ reason: String) -> RecordingDamage {
        RecordingDamage(member: member.name, sequence: lastSequence + 1, offset: start, reason: reason)
      }
      let stored: StoredFrame
      do throws(FrameCodecError) {
        guard let next = try decoder.next() else { return nil }
        stored = next
      } catch {
        return damage(error.reason)
      }
      var frame = stored.frame
      guard frame.sequence > lastSequence else { return damage("number \(frame.sequence) does not rise") }
      if let digest = stored.blob {
        do throws(MemberFailure) {
          frame.payload = try blob(digest, length: stored.length)
        } catch {
          return damage("its payload \(blobName(digest)) \(error.reason)")
        }
      }
      lastSequence = frame.sequence
      try body(frame)
    }
  }

  private func blob(_ digest: String, length: Int) throws(MemberFailure) -> [UInt8] {
    let name = blobName(digest)
    guard let member = blobs[name] else { throw MemberFailure("is not in the manifest") }
    guard member.plainBytes == length else { throw MemberFailure("has \(member.plainBytes) bytes instead of \(length)") }
    return try blobWalk.content(of: member, limit: Limits.payload)
  }

  private lazy var blobs: [String: Member] = Dictionary(
    container.members.lazy.filter { $0.name.hasPrefix("blobs/") }.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

  private func blobName(_ digest: String) -> String { "blobs/\(digest).zst" }
}
