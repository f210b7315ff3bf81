internal import Storage

/// What kind of file is given, by its first bytes.
enum InputKind {
  /// A zip, so perhaps a sealed recording or a run.
  case zip
  /// A SQLite database, so perhaps a journal.
  case database

  /// Everything that is neither has its error here, in one line.
  static func of(_ path: String) throws(RecordingError) -> InputKind {
    let (kind, hasIndex, hasJournal) = try reading(path) { () throws(FileError) in
      (
        try Files.kind(of: path), try Files.kind(of: path + "-shm") != nil,
        try Files.kind(of: path + JournalFile.suffix) != nil
      )
    }
    switch kind {
    case nil:
      let hint = hasJournal ? "; its journal \(path)\(JournalFile.suffix) is there, unsealed" : ""
      throw RecordingError(.noSuchInput, path: path, reason: "no such file" + hint)
    case .directory: throw RecordingError(.badData, path: path, reason: "is a directory")
    case .other: throw RecordingError(.badData, path: path, reason: "is not a regular file")
    // A shared-memory file means that a journal is in use. It must not be opened past SQLite: closing it again would drop the
    // POSIX locks of a capture in this process.
    case .regular where hasIndex: return .database
    case .regular(size: 0): throw RecordingError(.badData, path: path, reason: "is empty")
    case .regular: break
    }
    let head = try reading(path) { () throws(FileError) in try File.reading(path).read(at: 0, count: 16) }
    if head.starts(with: [0x50, 0x4b, 0x03, 0x04]) { return .zip }
    if head.starts(with: "SQLite format 3\0".utf8) { return .database }
    throw RecordingError(.badData, path: path, reason: "is neither a recording, nor a journal, nor a run")
  }

  private static func reading<Result>(
    _ path: String, _ body: () throws(FileError) -> Result
  ) throws(RecordingError) -> Result {
    do throws(FileError) { return try body() } catch { throw RecordingError(reading: error, path: path) }
  }
}
