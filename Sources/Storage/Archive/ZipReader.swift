import CArchive

/// Reads the members of a zip in order. Whatever is below `ARCHIVE_OK` is a failure; after one, the reader is spent.
package final class ZipReader {
  package enum Mode: Hashable, Sendable {
    /// By the directory at the end: skips members without reading them; refuses a cut file.
    case seekable
    /// By the headers from the front: reads a cut file up to the cut, and only as far as asked.
    case streaming
  }

  /// A member as its header names it. The name is data from outside and never a path.
  package struct Entry: Hashable, Sendable {
    package var name: String
    /// Bytes as the header says; nil when it does not.
    package var size: Int?
  }

  private let path: String
  private var archive: OpaquePointer?

  package init(path: String, mode: Mode) throws(ArchiveError) {
    self.path = path
    guard let archive = archive_read_new() else {
      throw ArchiveError(operation: "open", message: "out of memory", path: path)
    }
    self.archive = archive
    switch mode {
    case .seekable: try check(archive_read_support_format_zip_seekable(archive), "open")
    case .streaming: try check(archive_read_support_format_zip_streamable(archive), "open")
    }
    try check(archive_read_open_filename(archive, path, 16 << 10), "open")
  }

  deinit { archive_read_free(archive) }

  /// The next member, or nil after the last.
  package func next() throws(ArchiveError) -> Entry? {
    var entry: OpaquePointer?
    let code = archive_read_next_header(archive, &entry)
    if code == ARCHIVE_EOF { return nil }
    try check(code, "read header")
    guard let pointer = archive_entry_pathname(entry) else {
      throw ArchiveError(operation: "read header", message: "a member has no name", path: path)
    }
    let size = archive_entry_size_is_set(entry) != 0 ? Int(exactly: archive_entry_size(entry)) : nil
    return Entry(name: String(cString: pointer), size: size)
  }

  /// The whole of the current member, its checksum verified. More than `limit` bytes are refused.
  package func read(limit: Int) throws(ArchiveError) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      var block: UnsafeRawPointer?
      var count = 0
      var offset: Int64 = 0
      let code = archive_read_data_block(archive, &block, &count, &offset)
      if code == ARCHIVE_EOF { return bytes }
      try check(code, "read member")
      guard count <= limit - bytes.count, offset == Int64(bytes.count) else {
        throw ArchiveError(operation: "read member", message: "more than \(limit) bytes", path: path)
      }
      bytes.append(contentsOf: UnsafeRawBufferPointer(start: block, count: count))
    }
  }

  /// Closes the archive; a second call does nothing.
  package func close() throws(ArchiveError) {
    guard let closing = archive else { return }
    try check(archive_read_close(closing), "close")
    archive_read_free(closing)
    archive = nil
  }

  private func check(_ code: Int32, _ operation: String) throws(ArchiveError) {
    try ArchiveError.check(code, archive, operation, path)
  }
}
