import CSQLite

/// A compiled statement: the one owner of its handle. Parameters count from 1, columns from 0, as in SQLite.
package final class Statement {
  package let sql: String
  private let database: Database
  private var compiled: OpaquePointer?

  init(database: Database, compiled: OpaquePointer, sql: String) {
    self.database = database
    self.compiled = compiled
    self.sql = sql
  }

  deinit { sqlite3_finalize(compiled) }

  /// Releases the statement, so that the database can be closed. It must not be used again.
  package func finish() {
    sqlite3_finalize(compiled)
    compiled = nil
  }

  package func bind(_ value: Int64, at index: Int32) throws(SQLiteError) {
    try database.check(sqlite3_bind_int64(compiled, index, value), sql)
  }

  /// Binds a text, or NULL for nil.
  package func bind(_ value: String?, at index: Int32) throws(SQLiteError) {
    guard let value else { return try database.check(sqlite3_bind_null(compiled, index), sql) }
    var copy = value
    let code = copy.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) { text in
        cb_bind_text_transient(compiled, index, text.baseAddress, Int32(clamping: text.count))
      }
    }
    try database.check(code, sql)
  }

  /// Binds an integer, or NULL for nil.
  package func bind(_ value: Int64?, at index: Int32) throws(SQLiteError) {
    guard let value else { return try database.check(sqlite3_bind_null(compiled, index), sql) }
    try bind(value, at: index)
  }

  /// Steps once with `blob` bound at `index`, without a copy of it.
  package func run(blob: [UInt8], at index: Int32) throws(SQLiteError) {
    guard let count = Int32(exactly: blob.count) else {
      return try database.check(SQLITE_TOOBIG, sql)
    }
    let code = blob.withUnsafeBytes { bytes in
      // An empty array has no address, and a nil pointer would bind NULL.
      let bound =
        count == 0
        ? sqlite3_bind_zeroblob(compiled, index, 0) : cb_bind_blob_static(compiled, index, bytes.baseAddress, count)
      return bound == SQLITE_OK ? sqlite3_step(compiled) : bound
    }
    // The bytes may be gone after this call: the binding must not outlive it.
    sqlite3_reset(compiled)
    sqlite3_clear_bindings(compiled)
    try database.check(code, sql)
  }

  /// Advances to the next row; false when there is none. Columns are valid until the next step.
  package func step() throws(SQLiteError) -> Bool {
    let code = sqlite3_step(compiled)
    try database.check(code, sql)
    return code == SQLITE_ROW
  }

  /// Makes the statement ready to run again, its parameters cleared.
  package func reset() {
    // The code is that of the last step, which has been reported.
    sqlite3_reset(compiled)
    sqlite3_clear_bindings(compiled)
  }

  package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(compiled, column) == SQLITE_NULL }

  package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(compiled, column) }

  /// The text of a column; nil for NULL. Invalid UTF-8 is repaired.
  package func text(_ column: Int32) -> String? {
    guard let start = sqlite3_column_text(compiled, column) else { return nil }
    let count = Int(sqlite3_column_bytes(compiled, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// The bytes of a column; empty for NULL.
  package func blob(_ column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(compiled, column) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(compiled, column))))
  }
}
