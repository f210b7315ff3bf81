import CSQLite

/// An open SQLite database: the one owner of its handle. Used by one thread at a time; it may move between threads.
package final class Database {
  /// How a database is opened.
  package enum Mode: Hashable, Sendable {
    /// Never changes the database; an unfinished WAL is read.
    case readOnly
    /// Never changes the database, makes no files beside it and takes no locks: for files that nobody has open.
    case immutable
    /// The file must be there.
    case readWrite
    /// Makes the file when it is not there.
    case create
  }

  package let path: String
  private var handle: OpaquePointer?

  /// Opens `path`. The file may come from anywhere: schemas are not trusted and values above `valueLimit` bytes are refused.
  package init(path: String, mode: Mode, valueLimit: Int = 1 << 29) throws(SQLiteError) {
    self.path = path
    let flags =
      switch mode {
      case .readOnly: SQLITE_OPEN_READONLY
      case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      case .readWrite: SQLITE_OPEN_READWRITE
      case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      }
    var opened: OpaquePointer?
    let name = mode == .immutable ? "file:\(Database.escaped(path))?immutable=1" : path
    let code = sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    handle = opened
    try check(code)
    try check(cb_enable_defensive(opened))
    try check(sqlite3_busy_timeout(opened, 2_000))
    _ = sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, Int32(clamping: valueLimit))
    try execute("PRAGMA trusted_schema = OFF")
    try execute("PRAGMA cell_size_check = ON")
  }

  deinit { sqlite3_close_v2(handle) }

  /// Closes the database and reports what that meets. A second call does nothing. Statements must have been finished.
  package func close() throws(SQLiteError) {
    guard let closing = handle else { return }
    try check(sqlite3_close(closing))
    handle = nil
  }

  /// Compiles one statement, for use again and again.
  package func prepare(_ sql: String) throws(SQLiteError) -> Statement {
    guard let handle else { throw closed(sql) }
    var compiled: OpaquePointer?
    try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil), sql)
    guard let compiled else {
      throw SQLiteError(code: SQLITE_MISUSE, extendedCode: SQLITE_MISUSE, message: "no statement", sql: sql, path: path)
    }
    return Statement(database: self, compiled: compiled, sql: sql)
  }

  /// Runs statements that give no rows that matter.
  package func execute(_ sql: String) throws(SQLiteError) {
    guard let handle else { throw closed(sql) }
    try check(sqlite3_exec(handle, sql, nil, nil, nil), sql)
  }

  /// The first column of the first row as an integer, or nil without a row.
  package func integer(_ sql: String) throws(SQLiteError) -> Int64? {
    let statement = try prepare(sql)
    defer { statement.finish() }
    return try statement.step() ? statement.integer(0) : nil
  }

  /// Runs `body` between BEGIN IMMEDIATE and COMMIT; rolls back when it or the commit fails.
  package func transaction(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
    try execute("BEGIN IMMEDIATE")
    do throws(SQLiteError) {
      try body()
      try execute("COMMIT")
    } catch {
      // The error that counts is the first one; SQLite may have rolled back already.
      try? execute("ROLLBACK")
      throw error
    }
  }

  /// Every result code of SQLite passes here.
  func check(_ code: Int32, _ sql: String? = nil) throws(SQLiteError) {
    switch code & 0xff {
    case SQLITE_OK, SQLITE_ROW, SQLITE_DONE: return
    default:
      let message = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
      throw SQLiteError(code: code & 0xff, extendedCode: code, message: message, sql: sql, path: path)
    }
  }

  /// The path as a part of a URI. An absolute one gets an empty host before it, so that `//x` stays a path.
  private static func escaped(_ path: String) -> String {
    var out = path.hasPrefix("/") ? "//" : ""
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
        out.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        out += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
      }
    }
    return out
  }

  private func closed(_ sql: String) -> SQLiteError {
    SQLiteError(code: SQLITE_MISUSE, extendedCode: SQLITE_MISUSE, message: "the database is closed", sql: sql, path: path)
  }
}
