import CSQLite

/// A call of SQLite that failed.
package struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Primary result code, such as 11 (`SQLITE_CORRUPT`).
  package var code: Int32
  /// Extended result code, such as 267 (`SQLITE_CORRUPT_VTAB`).
  package var extendedCode: Int32
  /// SQLite's words.
  package var message: String
  /// The statement that failed, where it was one.
  package var sql: String?
  package var path: String

  package init(code: Int32, extendedCode: Int32, message: String, sql: String?, path: String) {
    self.code = code
    self.extendedCode = extendedCode
    self.message = message
    self.sql = sql
    self.path = path
  }

  /// The file is no database at all, or one that an incompatible program wrote.
  package var isNotADatabase: Bool { code == SQLITE_NOTADB }
  /// The file or a page of it is damaged.
  package var isDamage: Bool { code == SQLITE_CORRUPT || code == SQLITE_NOTADB }
  /// Another process is at work on the file.
  package var isBusy: Bool { code == SQLITE_BUSY || code == SQLITE_LOCKED }

  package var description: String {
    "\(path): SQLite error \(extendedCode): \(message)" + (sql.map { " in \"\($0)\"" } ?? "")
  }
}
