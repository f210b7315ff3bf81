internal import Simulation
internal import Storage
internal import Wire

/// The tables of a journal, and its names: DESIGN.md 4.
enum JournalFile {
  static let suffix = ".journal"
  /// `CBJ1`, which tells a journal from other databases.
  static let applicationID: Int64 = 0x4342_4a31

  static let schema = """
    PRAGMA application_id = \(applicationID);
    PRAGMA user_version = \(containerVersion);
    CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE frame (
      seq INTEGER PRIMARY KEY, t INTEGER NOT NULL, conn INTEGER NOT NULL, dir TEXT NOT NULL, kind TEXT NOT NULL,
      re INTEGER, flags TEXT, payload BLOB NOT NULL
    ) STRICT;
    """

  /// The files of a journal that SQLite keeps beside it.
  static func sideFiles(of path: String) -> [String] { [path + "-wal", path + "-shm"] }
}

/// Reads a journal, also one that a capture is writing or that a kill has left behind.
final class JournalReader {
  let path: String
  private let database: Database
  private let json = JSONReader()

  /// - Parameter changing: false leaves the journal and its folder as they are.
  init(path: String, changing: Bool = false) throws(RecordingError) {
    self.path = path
    let mode: Database.Mode
    do throws(FileError) {
      // Without a WAL nobody has it open: it can be read without locks, also where nothing can be written.
      mode = changing ? .readWrite : try Files.kind(of: path + "-wal") == nil ? .immutable : .readOnly
    } catch {
      throw RecordingError(reading: error, path: path)
    }
    do throws(SQLiteError) {
      database = try Database(path: path, mode: mode, valueLimit: Limits.payload + 2 * Limits.envelope)
    } catch {
      throw RecordingError(reading: error)
    }
    try check()
  }

  private func check() throws(RecordingError) {
    let (application, version, tables): (Int64?, Int64?, Int64?)
    do throws(SQLiteError) {
      application = try database.integer("PRAGMA application_id")
      version = try database.integer("PRAGMA user_version")
      tables = try database.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('fact', 'frame')")
    } catch  where error.isNotADatabase {
      throw RecordingError(.badData, path: path, reason: "is neither a recording nor a journal")
    } catch {
      throw RecordingError(reading: error)
    }
    guard application == JournalFile.applicationID, let version else {
      throw RecordingError(.badData, path: path, reason: "a SQLite database, but no journal of chatbench")
    }
    guard version <= containerVersion else {
      throw RecordingError(
        .newerVersion, path: path,
        reason: "has format version \(version), and this chatbench reads versions up to \(containerVersion)")
    }
    guard tables == 2 else { throw RecordingError(.badData, path: path, reason: "a journal without its tables") }
  }

  func facts() throws(RecordingError) -> CaptureFacts {
    do {
      let statement = try database.prepare("SELECT value FROM fact WHERE name = 'capture'")
      guard try statement.step(), let text = statement.text(0), let object = try JSONReader.value(text).object else {
        throw JSONError(problem: "there are none")
      }
      var facts = try CaptureFacts(json: object)
      let counts = try database.prepare("SELECT value FROM fact WHERE name = 'redactions'")
      if try counts.step(), let text = counts.text(0), let list = try JSONReader.value(text).array {
        for element in list {
          guard let rule = element["rule"]?.string, let count = element["count"]?.int else { continue }
          facts.redactions.append(RedactionCount(rule: rule, count: count))
        }
      }
      return facts
    } catch let error as SQLiteError {
      throw RecordingError(reading: error)
    } catch {
      throw RecordingError(.badData, path: path, reason: "facts of the capture: \(error)")
    }
  }

  /// Counts frames as far as the journal can be read, and the last sequence among them.
  func tally() -> (tally: FrameTally, last: Int) {
    var tally = FrameTally()
    var last = 0
    _ = walk("SELECT seq, t, conn, dir, length(payload) FROM frame ORDER BY seq") { row in
      guard let direction = Direction(rawValue: row.text(3) ?? "") else { return "an unknown direction" }
      last = Int(row.integer(0))
      tally.add(
        connection: ConnectionID(Int(row.integer(2))), direction: direction, at: Instant(nanoseconds: row.integer(1)),
        bytes: Int(row.integer(4)))
      return nil
    }
    return (tally, last)
  }

  /// Hands over the frames up to sequence `last` in order and says where damage ends them.
  func forEachFrame(upTo last: Int, _ body: (Frame) throws -> Void) throws -> RecordingDamage? {
    var failure: (any Error)?
    let damage = walk("SELECT seq, t, conn, dir, kind, re, flags, payload FROM frame WHERE seq <= \(last) ORDER BY seq") { row in
      guard let direction = Direction(rawValue: row.text(3) ?? "") else { return "an unknown direction" }
      var flags = JSONObject()
      if let text = row.text(6) {
        guard let object = (try? json.parse(Array(text.utf8)))?.object else { return "flags that are no JSON object" }
        flags = object
      }
      let frame = Frame(
        sequence: Int(row.integer(0)), at: Instant(nanoseconds: row.integer(1)), connection: ConnectionID(Int(row.integer(2))),
        direction: direction, kind: FrameKind(rawValue: row.text(4) ?? ""), payload: row.blob(7),
        answers: row.isNull(5) ? nil : Int(row.integer(5)), flags: flags)
      do { try body(frame) } catch {
        failure = error
        return ""
      }
      return nil
    }
    if let failure { throw failure }
    return damage
  }

  /// Steps through rows whose first column is the sequence, until `body` names something wrong.
  private func walk(_ sql: String, _ body: (Statement) -> String?) -> RecordingDamage? {
    var next = 1
    do throws(SQLiteError) {
      let rows = try database.prepare(sql)
      while try rows.step() {
        let sequence = rows.integer(0)
        guard sequence > 0, sequence < .max else { return RecordingDamage(sequence: next, reason: "a frame with number \(sequence)") }
        if let reason = body(rows) { return RecordingDamage(sequence: Int(sequence), reason: reason) }
        next = Int(sequence) + 1
      }
      return nil
    } catch {
      return RecordingDamage(sequence: next, reason: error.message)
    }
  }

  func close() throws(RecordingError) {
    do throws(SQLiteError) { try database.close() } catch { throw RecordingError(reading: error) }
  }
}
