import Testing

@testable import Storage

@Suite struct DatabaseTests {
  let scratch = Scratch()

  private func made() throws -> Database {
    let database = try Database(path: scratch.path("d"), mode: .create)
    try database.execute("CREATE TABLE x (n INTEGER PRIMARY KEY, s TEXT, b BLOB) STRICT")
    return database
  }

  @Test func `values come back as they were bound`() throws {
    let database = try made()
    let insert = try database.prepare("INSERT INTO x VALUES (?, ?, ?)")
    for (index, bytes) in ([[], [0], [1, 2, 0, 255]] as [[UInt8]]).enumerated() {
      try insert.bind(index == 0 ? Int64.min : Int64(index), at: 1)
      try insert.bind(index == 0 ? nil : "ü\0🙂", at: 2)
      try insert.run(blob: bytes, at: 3)
    }
    let rows = try database.prepare("SELECT n, s, b, b IS NULL FROM x ORDER BY n")
    #expect(try rows.step())
    #expect(rows.integer(0) == .min)
    #expect(rows.text(1) == nil)
    #expect(rows.isNull(1))
    #expect(rows.blob(2) == [])
    #expect(rows.integer(3) == 0)
    #expect(try rows.step())
    #expect(rows.text(1) == "ü\0🙂")
    #expect(rows.blob(2) == [0])
    #expect(try rows.step())
    #expect(rows.blob(2) == [1, 2, 0, 255])
    #expect(try !rows.step())
  }

  @Test func `an error carries code, extended code, words, statement and path`() throws {
    let database = try made()
    try database.execute("INSERT INTO x VALUES (1, '', x'')")
    let sql = "INSERT INTO x VALUES (1, '', x'')"
    let error = #expect(throws: SQLiteError.self) { try database.execute(sql) }
    #expect(error?.code == 19)
    #expect(error?.extendedCode == 1555)
    #expect(error?.message == "UNIQUE constraint failed: x.n")
    #expect(error?.sql == sql)
    #expect(error?.path == scratch.path("d"))
  }

  @Test func `close reports what is still in use, and a second close does nothing`() throws {
    let database = try made()
    let statement = try database.prepare("SELECT 1")
    #expect(throws: SQLiteError.self) { try database.close() }
    statement.finish()
    try database.close()
    try database.close()
    #expect(throws: SQLiteError.self) { try database.execute("SELECT 1") }
    #expect(throws: SQLiteError.self) { _ = try database.prepare("SELECT 1") }
  }

  @Test func `a failed transaction changes nothing`() throws {
    let database = try made()
    #expect(throws: SQLiteError.self) {
      try database.transaction { () throws(SQLiteError) in
        try database.execute("INSERT INTO x VALUES (1, '', x'')")
        try database.execute("INSERT INTO x VALUES (1, '', x'')")
      }
    }
    #expect(try database.integer("SELECT count(*) FROM x") == 0)
    try database.transaction { () throws(SQLiteError) in try database.execute("INSERT INTO x VALUES (1, '', x'')") }
    #expect(try database.integer("SELECT count(*) FROM x") == 1)
  }

  @Test func `a missing file is not made by reading`() throws {
    #expect(throws: SQLiteError.self) { _ = try Database(path: scratch.path("none"), mode: .readOnly) }
    #expect(throws: SQLiteError.self) { _ = try Database(path: scratch.path("none"), mode: .readWrite) }
    #expect(scratch.names == [])
  }

  @Test func `a text file is no database`() throws {
    try Files.write([UInt8](repeating: 65, count: 5_000), to: scratch.path("t"), replacing: false)
    let error = #expect(throws: SQLiteError.self) {
      let database = try Database(path: scratch.path("t"), mode: .readOnly)
      _ = try database.integer("SELECT count(*) FROM sqlite_schema")
    }
    #expect(error?.isNotADatabase == true)
  }

  @Test func `a value above the limit is refused`() throws {
    let database = try Database(path: scratch.path("d"), mode: .create, valueLimit: 1_000)
    try database.execute("CREATE TABLE x (b BLOB) STRICT")
    let insert = try database.prepare("INSERT INTO x VALUES (?)")
    #expect(throws: SQLiteError.self) { try insert.run(blob: [UInt8](repeating: 0, count: 1_001), at: 1) }
    try insert.run(blob: [UInt8](repeating: 0, count: 900), at: 1)
  }
}
