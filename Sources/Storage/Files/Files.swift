import Glibc
import Synchronization

/// What is at a path, and the few changes of a folder that the container needs.
package enum Files {
  /// What a path leads to, symbolic links followed.
  package enum Kind: Hashable, Sendable {
    /// A plain file of that many bytes.
    case regular(size: Int)
    case directory
    /// A pipe, device or socket.
    case other
  }

  /// What is at `path`; nil when nothing is.
  package static func kind(of path: String) throws(FileError) -> Kind? {
    var status = stat()
    guard stat(path, &status) == 0 else {
      let error = FileError.last("examine", path)
      if error.isNotFound { return nil }
      throw error
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return .regular(size: Int(status.st_size))
    case S_IFDIR: return .directory
    default: return .other
    }
  }

  /// The whole of a file of at most `limit` bytes; a larger one is refused with `EFBIG`.
  package static func read(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
    let file = try File.reading(path)
    let size = try file.size()
    guard size <= limit else { throw FileError(operation: "read", path: path, code: EFBIG) }
    return try file.read(at: 0, count: size)
  }

  /// Writes a whole file so that `path` holds either all of it, on the disk, or what it held before.
  package static func write(_ bytes: [UInt8], to path: String, replacing: Bool) throws(FileError) {
    let file = try AtomicFile(path: path)
    try file.write(bytes)
    try file.commit(replacing: replacing)
  }

  /// Removes a file; one that is not there is no error.
  package static func remove(_ path: String) throws(FileError) {
    if unlink(path) != 0, errno != ENOENT { throw FileError.last("remove", path) }
  }

  /// Makes the names in the folder of `path` durable.
  package static func syncFolder(of path: String) throws(FileError) {
    let folder = split(path).folder
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError.last("open", folder) }
    defer { close(descriptor) }
    // Some file systems cannot sync a folder and say so with EINVAL: there is no more to be had from them.
    if fsync(descriptor) != 0, errno != EINVAL { throw FileError.last("sync", folder) }
  }

  /// A new file beside `path` under a name that nothing else has: hidden, with process number and count.
  package static func temporary(beside path: String) throws(FileError) -> File {
    let (folder, name) = split(path)
    // Names of 255 bytes are the limit: a long one is shortened, its purpose is only to be recognised.
    let stem = String(decoding: name.utf8.prefix(180), as: UTF8.self)
    while true {
      let number = counter.wrappingAdd(1, ordering: .relaxed).newValue
      do throws(FileError) {
        return try File.creating("\(folder)/.\(stem).\(getpid())-\(number).tmp")
      } catch  where error.exists {
        continue
      }
    }
  }

  private static let counter = Atomic<Int>(0)

  /// The folder (`.` when none is named) and the last part of a path.
  private static func split(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = path[..<slash]
    return (folder.isEmpty ? "/" : String(folder), String(path[path.index(after: slash)...]))
  }
}

/// A file that appears under its name only when it is complete and on the disk: temporary name, fsync, rename, fsync of the
/// folder. Mode 0600. Without `commit` nothing is left behind.
package final class AtomicFile {
  /// The name that it will have.
  package let path: String
  /// The file under its temporary name.
  package let file: File
  private var isPending = true

  package init(path: String) throws(FileError) {
    self.path = path
    file = try Files.temporary(beside: path)
  }

  deinit { abandon() }

  package func write(_ bytes: [UInt8]) throws(FileError) { try file.write(bytes) }

  /// Gives the file its name. Not `replacing`: refuses (`exists`) when the name is taken, also by one who was faster by a hair.
  package func commit(replacing: Bool) throws(FileError) {
    try file.sync()
    if replacing {
      guard rename(file.path, path) == 0 else { throw FileError.last("rename to", path) }
    } else if link(file.path, path) == 0 {
      _ = unlink(file.path)
    } else {
      // Where the file system has no hard links, an empty file reserves the name and the rename replaces it.
      guard errno == EPERM || errno == ENOTSUP || errno == EMLINK else { throw FileError.last("create", path) }
      try File.creating(path).close()
      guard rename(file.path, path) == 0 else { throw FileError.last("rename to", path) }
    }
    isPending = false
    try file.close()
    try Files.syncFolder(of: path)
  }

  /// Removes the temporary file, if it has not been given its name.
  package func abandon() {
    if isPending { _ = unlink(file.path) }
    isPending = false
  }
}
