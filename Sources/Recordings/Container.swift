internal import Storage
internal import Wire

/// What a container holds. The word stands in its manifest.
enum ContainerKind: String {
  case recording
  case run
}

/// The format that this program writes, and the newest that it reads.
let containerVersion = 1
/// The first member of a manifest says what the file is.
let containerFormat = "chatbench"
let manifestName = "manifest.json"

/// zstd level of the members. Measured on 24 MiB of made-up chat traffic (overlays that repeat the one before) in members of
/// 1 MiB: level 9 gives 1.09 times the size of level 19 at 33 times its speed; members of 4 or 8 MiB are not smaller at it.
let compressionLevel = 9

/// What came of writing a container.
package struct SealedFile: Hashable, Sendable {
  package var path: String
  /// SHA-256 of the file: its name among all recordings, as equal content gives equal bytes.
  package var hash: String
  /// The size of the file.
  package var bytes: Int
  /// Frames, or lines of the trace.
  package var entries: Int
}

/// Writes the zip of a recording or run: the manifest first, then the members by group. The manifest needs the digests of all
/// members, so these wait in a file without a name; memory stays flat, and nothing is left when the process dies.
final class ContainerWriter {
  let path: String
  private let replacing: Bool
  private let spool: File
  private var spooled = 0
  private var members: [(group: Int, offset: Int, member: Member)] = []

  /// Refuses when `path` is taken and shall not be replaced.
  init(path: String, replacing: Bool) throws(RecordingError) {
    self.path = path
    self.replacing = replacing
    do throws(FileError) {
      switch try Files.kind(of: path) {
      case nil: break
      case .regular where replacing: break
      case .directory: throw FileError(operation: "create", path: path, code: 21)
      default: throw FileError(operation: "create", path: path, code: 17)
      }
      spool = try Files.temporary(beside: path)
      try Files.remove(spool.path)
    } catch {
      throw RecordingError(writing: error, path: path)
    }
  }

  /// Adds a member: one zstd frame when its name ends in `.zst`, stored as it is otherwise. Groups stand in ascending order,
  /// members of a group in the order of their addition.
  func add(_ name: String, group: Int, _ plain: [UInt8], first: Int? = nil, last: Int? = nil) throws(RecordingError) {
    guard members.count < Limits.members else {
      throw RecordingError(.cannotWrite, path: path, reason: "more than \(Limits.members) members")
    }
    do {
      let stored = name.hasSuffix(".zst") ? try Zstd.compress(plain, level: compressionLevel) : plain
      try spool.write(stored)
      let member = Member(
        name: name, bytes: stored.count, plainBytes: plain.count, sha256: SHA256Digest.hex(stored), first: first, last: last)
      members.append((group, spooled, member))
      spooled += stored.count
    } catch let error as FileError {
      throw RecordingError(writing: error, path: path)
    } catch {
      throw RecordingError(.cannotWrite, path: path, member: name, reason: "\(error)")
    }
  }

  /// Writes the file with the manifest of `facts` and gives it its name.
  func finish(kind: ContainerKind, facts: JSONObject, entries: Int) throws(RecordingError) -> SealedFile {
    // The sort must be stable, and Swift's is only by accident: the offset settles ties.
    let ordered = members.sorted { ($0.group, $0.offset) < ($1.group, $1.offset) }
    var manifest: JSONObject = [
      "format": .string(containerFormat), "version": .int(containerVersion), "kind": .string(kind.rawValue),
    ]
    manifest.members += facts.members
    manifest["members"] = .array(ordered.map(\.member.json))
    let head = JSONWriter.compact(.object(manifest)) + [UInt8(ascii: "\n")]
    guard head.count <= Limits.manifest else {
      throw RecordingError(.cannotWrite, path: path, reason: "a manifest of \(head.count) bytes, more than \(Limits.manifest)")
    }
    do {
      let output = try AtomicFile(path: path)
      let zip = try ZipWriter(to: output.file)
      try zip.add(manifestName, head)
      for (_, offset, member) in ordered {
        try zip.add(member.name, size: member.bytes) { write in
          var done = 0
          while done < member.bytes {
            let piece = try spool.read(at: offset + done, count: min(1 << 20, member.bytes - done))
            guard !piece.isEmpty else { throw FileError(operation: "read back", path: path, code: 5) }
            try write(piece)
            done += piece.count
          }
        }
      }
      try zip.close()
      let hash = try SHA256Stream.hex(of: output.file)
      let size = try output.file.size()
      try output.commit(replacing: replacing)
      return SealedFile(path: path, hash: hash, bytes: size, entries: entries)
    } catch let error as FileError {
      throw RecordingError(writing: error, path: path)
    } catch {
      throw RecordingError(.cannotWrite, path: path, reason: (error as? ArchiveError)?.message ?? "\(error)")
    }
  }
}

/// A sealed file: its manifest, and its members in order, each verified before anyone sees it.
struct Container: Sendable {
  let path: String
  let manifest: JSONObject
  let members: [Member]
  /// The directory at the end of the zip is gone or does not fit the manifest: members are then read from the front.
  let damage: String?

  /// Reads the head of the file only.
  static func head(of path: String, kind: ContainerKind) throws(RecordingError) -> Container {
    let manifest: JSONObject
    do throws(ArchiveError) {
      let zip = try ZipReader(path: path, mode: .streaming)
      guard let entry = try zip.next(), entry.name == manifestName else {
        throw ArchiveError(operation: "read", message: "a zip file, but no recording of chatbench", path: path)
      }
      let bytes = try zip.read(limit: Limits.manifest)
      guard let object = (try? JSONReader.value(bytes))?.object else {
        throw ArchiveError(operation: "read", message: "the manifest is not valid JSON", path: path)
      }
      manifest = object
    } catch {
      let place = error.code == 0 ? nil : manifestName
      throw RecordingError(.badData, path: path, member: place, reason: error.code == 0 ? error.message : "damaged: \(error.message)")
    }
    return try Container(path: path, manifest: manifest, kind: kind)
  }

  /// Reads the head and compares the directory of the zip with it. Cost: linear in the number of members.
  static func open(_ path: String, kind: ContainerKind) throws(RecordingError) -> Container {
    let head = try Container.head(of: path, kind: kind)
    return Container(path: path, manifest: head.manifest, members: head.members, damage: head.directoryDamage())
  }

  private init(path: String, manifest: JSONObject, members: [Member], damage: String?) {
    self.path = path
    self.manifest = manifest
    self.members = members
    self.damage = damage
  }

  private init(path: String, manifest: JSONObject, kind: ContainerKind) throws(RecordingError) {
    func bad(_ reason: String) -> RecordingError { RecordingError(.badData, path: path, member: manifestName, reason: reason) }
    guard manifest["format"]?.string == containerFormat, let version = manifest["version"]?.integer, version > 0 else {
      throw RecordingError(.badData, path: path, reason: "a zip file, but no recording of chatbench")
    }
    guard version <= containerVersion else {
      throw RecordingError(
        .newerVersion, path: path,
        reason: "has format version \(version), and this chatbench reads versions up to \(containerVersion)")
    }
    guard manifest["kind"]?.string == kind.rawValue else {
      throw RecordingError(
        .badData, path: path, reason: "is a \(manifest["kind"]?.string ?? "file of no kind"), not a \(kind.rawValue)")
    }
    var members: [Member] = []
    do throws(JSONError) {
      let list = try manifest.list("members")
      guard list.count <= Limits.members else { throw JSONError(path: "members", problem: "\(list.count) are too many") }
      members.reserveCapacity(list.count)
      for element in list { members.append(try Member(json: element)) }
    } catch {
      throw bad("\(error)")
    }
    self.init(path: path, manifest: manifest, members: members, damage: nil)
  }

  private func directoryDamage() -> String? {
    do throws(ArchiveError) {
      let zip = try ZipReader(path: path, mode: .seekable)
      var names = [manifestName] + members.map(\.name)
      names.reverse()
      while let entry = try zip.next() {
        guard entry.name == names.popLast() else { return "the directory of the zip does not fit the manifest" }
      }
      return names.isEmpty ? nil : "the directory of the zip lacks \(names.count) members of the manifest"
    } catch {
      return "the directory at the end is missing or damaged"
    }
  }

  /// A walk over the members; several can be under way.
  func walk() -> MemberWalk { MemberWalk(container: self) }
}

/// Reads the members of a container one after the other. Asking for one that lies before the last one starts again.
final class MemberWalk {
  private let container: Container
  private var zip: ZipReader?
  private var hasRestarted = false

  init(container: Container) { self.container = container }

  /// The plain content of `member`, verified; at most `limit` bytes of it. Throws what stands in the way, in words.
  func content(of member: Member, limit: Int) throws(MemberFailure) -> [UInt8] {
    guard member.plainBytes <= limit else { throw MemberFailure("states \(member.plainBytes) bytes, more than \(limit)") }
    let isCompressed = member.name.hasSuffix(".zst")
    // zstd adds a few bytes to what it cannot shrink.
    let storedLimit = isCompressed ? limit + limit / 128 + 1024 : limit
    guard member.bytes <= storedLimit else { throw MemberFailure("states \(member.bytes) stored bytes, more than \(storedLimit)") }
    let stored = try stored(member)
    guard stored.count == member.bytes, SHA256Digest.hex(stored) == member.sha256 else {
      throw MemberFailure("does not match its SHA-256 in the manifest")
    }
    guard isCompressed else {
      guard member.plainBytes == member.bytes else { throw MemberFailure("states two sizes") }
      return stored
    }
    do throws(ZstdError) {
      let plain = try Zstd.decompress(stored, limit: member.plainBytes)
      guard plain.count == member.plainBytes else { throw ZstdError(reason: "holds \(plain.count) bytes, not \(member.plainBytes)") }
      return plain
    } catch {
      throw MemberFailure(error.reason)
    }
  }

  private func stored(_ member: Member) throws(MemberFailure) -> [UInt8] {
    hasRestarted = zip == nil
    do throws(ArchiveError) {
      while true {
        if zip == nil { zip = try ZipReader(path: container.path, mode: container.damage == nil ? .seekable : .streaming) }
        guard let reader = zip else { continue }
        while let entry = try reader.next() {
          if entry.name == member.name { return try reader.read(limit: member.bytes) }
        }
        zip = nil
        if hasRestarted { throw ArchiveError(operation: "read", message: "is missing", path: container.path) }
        hasRestarted = true
      }
    } catch {
      zip = nil
      throw MemberFailure(error.message)
    }
  }
}

/// Why a member cannot be had, in words that can follow its name.
struct MemberFailure: Error {
  let reason: String
  init(_ reason: String) { self.reason = reason }
}
