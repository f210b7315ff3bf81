import CArchive

/// Writes a zip whose members are stored. Owner, mode, times and order are fixed, so equal content gives equal bytes.
package final class ZipWriter {
  private let path: String
  private let file: File
  private var archive: OpaquePointer?

  /// Writes to `file` from its position; the file stays open and unsynced when the writer ends.
  package init(to file: File) throws(ArchiveError) {
    self.path = file.path
    self.file = file
    guard let archive = archive_write_new() else {
      throw ArchiveError(operation: "open", message: "out of memory", path: path)
    }
    self.archive = archive
    try check(archive_write_set_format_zip(archive), "set format")
    try check(archive_write_set_options(archive, "zip:compression=store"), "set format")
    // No padding after the end.
    try check(archive_write_set_bytes_in_last_block(archive, 1), "set format")
    try check(archive_write_open_fd(archive, file.rawDescriptor), "open")
  }

  deinit { archive_write_free(archive) }

  /// Adds a member of `size` bytes; `produce` hands over its pieces, which must add up to `size`.
  package func add<Failure: Error>(
    _ name: String, size: Int, produce: ((([UInt8]) throws(ArchiveError) -> Void)) throws(Failure) -> Void
  ) throws {
    guard let entry = archive_entry_new() else {
      throw ArchiveError(operation: "add member", message: "out of memory", path: path)
    }
    defer { archive_entry_free(entry) }
    archive_entry_set_pathname(entry, name)
    archive_entry_set_size(entry, Int64(size))
    archive_entry_set_filetype(entry, UInt32(S_IFREG))
    archive_entry_set_perm(entry, 0o600)
    archive_entry_set_uid(entry, 0)
    archive_entry_set_gid(entry, 0)
    // No time is set: the zip then holds 1 January 1980, in every time zone.
    try check(archive_write_header(archive, entry), "write header of \(name)")
    var left = size
    try produce { (bytes: [UInt8]) throws(ArchiveError) in
      guard bytes.count <= left else {
        throw ArchiveError(operation: "write \(name)", message: "more than \(size) bytes", path: self.path)
      }
      left -= bytes.count
      try self.write(bytes, name)
    }
    guard left == 0 else {
      throw ArchiveError(operation: "write \(name)", message: "\(left) bytes are missing", path: path)
    }
    try check(archive_write_finish_entry(archive), "finish \(name)")
  }

  /// Adds a member that is at hand.
  package func add(_ name: String, _ bytes: [UInt8]) throws {
    try add(name, size: bytes.count) { (write) throws(ArchiveError) in try write(bytes) }
  }

  private func write(_ bytes: [UInt8], _ name: String) throws(ArchiveError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { archive_write_data(archive, $0.baseAddress! + written, bytes.count - written) }
      guard count > 0 else {
        try check(count < 0 ? Int32(clamping: count) : ARCHIVE_FATAL, "write \(name)")
        return
      }
      written += count
    }
  }

  /// Writes the directory of the zip. A second call does nothing.
  package func close() throws(ArchiveError) {
    guard let closing = archive else { return }
    try check(archive_write_close(closing), "close")
    archive_write_free(closing)
    archive = nil
  }

  private func check(_ code: Int32, _ operation: String) throws(ArchiveError) {
    try ArchiveError.check(code, archive, operation, path)
  }
}
