import Glibc

/// An open file: the one owner of its descriptor. Not for use by two threads at once.
package final class File {
  package let path: String
  private var descriptor: Int32

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { if descriptor >= 0 { _ = Glibc.close(descriptor) } }

  /// Opens an existing file for reading.
  package static func reading(_ path: String) throws(FileError) -> File {
    try File(path: path, flags: O_RDONLY)
  }

  /// Makes a new file, mode 0600; refuses (`exists`) when something is there.
  package static func creating(_ path: String) throws(FileError) -> File {
    try File(path: path, flags: O_RDWR | O_CREAT | O_EXCL)
  }

  private convenience init(path: String, flags: Int32) throws(FileError) {
    while true {
      let descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o600)
      if descriptor >= 0 {
        self.init(path: path, descriptor: descriptor)
        return
      }
      if errno != EINTR { throw FileError.last(flags & O_CREAT == 0 ? "open" : "create", path) }
    }
  }

  /// The descriptor, for a library that writes to it while this owner lives.
  var rawDescriptor: Int32 { descriptor }

  /// The size in bytes now.
  package func size() throws(FileError) -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileError.last("examine", path) }
    return Int(status.st_size)
  }

  /// At most `count` bytes from `offset`; fewer only at the end of the file.
  package func read(at offset: Int, count: Int) throws(FileError) -> [UInt8] {
    var failure: FileError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let got = pread(descriptor, buffer.baseAddress! + filled, count - filled, off_t(offset + filled))
        if got > 0 {
          filled += got
        } else if got == 0 {
          return
        } else if errno != EINTR {
          failure = FileError.last("read", path)
          return
        }
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Writes all of `bytes` at the current position.
  package func write(_ bytes: [UInt8]) throws(FileError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + written, bytes.count - written) }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        throw FileError.last("write", path)
      }
    }
  }

  /// Returns when the content is on the disk.
  package func sync() throws(FileError) {
    guard fsync(descriptor) == 0 else { throw FileError.last("sync", path) }
  }

  /// Takes the advisory lock of this file without waiting; false when another holder has it. Ends with the owner, also by kill.
  package func tryLock() throws(FileError) -> Bool {
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
    if errno == EWOULDBLOCK { return false }
    throw FileError.last("lock", path)
  }

  /// Whether a name still leads to this file.
  package func isLinked() throws(FileError) -> Bool {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileError.last("examine", path) }
    return status.st_nlink > 0
  }

  /// Closes the file; a second call does nothing.
  package func close() throws(FileError) {
    if descriptor < 0 { return }
    let closing = descriptor
    descriptor = -1
    // Linux has released the descriptor even when close is interrupted.
    if Glibc.close(closing) != 0, errno != EINTR { throw FileError.last("close", path) }
  }
}
