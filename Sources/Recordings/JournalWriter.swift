internal import Simulation
internal import Storage
package import Wire

/// How far a capture is.
package struct JournalProgress: Hashable, Sendable {
  /// Frames appended, and the bytes of their payloads.
  package var frames: Int
  package var bytes: Int
  /// Frames that a kill cannot take any more.
  package var committed: Int
}

/// Keeps the frames of a capture as they come: a SQLite journal that a thread of its own commits at least every 250 ms or
/// 1 MiB, and checkpoints in an idle second (DESIGN.md 4). Any thread may append; frames are numbered from 1 in that order.
///
/// What goes wrong on the writing thread is thrown by the next call and handed once to `onFailure`. Frames of failed commits
/// are lost; those committed before stay.
package final class JournalWriter: Sendable {
  /// The journal, `NAME.chatrec.journal`.
  package let path: String
  private let monitor: Monitor<State>
  private let store: JournalStore
  private let thread: ThreadSlot

  fileprivate struct State {
    var redactor: Redactor
    var pending: [Frame] = []
    var pendingBytes = 0
    /// When the oldest pending frame came, monotonic ns.
    var pendingSince: Int64 = 0
    var lastSequence = 0
    var bytes = 0
    var committed = 0
    /// The frame up to which someone waits for the commit.
    var flushTarget = 0
    var phase = Phase.open
    var failure: RecordingError?

    var isDue: Bool { pendingBytes >= Limits.journalBatch || flushTarget > committed || phase != .open }
  }

  fileprivate enum Phase {
    case open
    /// `close` has been called; the thread commits what is pending and ends.
    case closing
    case closed
  }

  /// Makes a new journal, mode 0600, and writes the facts. Refuses when the journal or the sealed file is there already.
  ///
  /// - Parameters:
  ///   - redactor: applied to every frame before anything else sees it.
  ///   - onFailure: called once, on the writing thread.
  package init(
    path: String, facts: CaptureFacts, redactor: Redactor = Redactor(),
    onFailure: @escaping @Sendable (RecordingError) -> Void = { _ in }
  ) throws(RecordingError) {
    self.path = path
    var redactor = redactor
    var facts = facts
    facts.upstream = facts.upstream.map { redactor.redact(url: $0) }
    do throws(FileError) {
      for taken in [sealedPath(ofJournal: path)] where try Files.kind(of: taken) != nil {
        throw FileError(operation: "create", path: taken, code: 17)
      }
      // SQLite would take an existing file; the journal of an earlier capture must not be continued by accident.
      try File.creating(path).close()
    } catch {
      throw RecordingError(writing: error, path: error.path)
    }
    let monitor = Monitor(State(redactor: redactor))
    do throws(RecordingError) {
      let store = try JournalStore(path: path, facts: facts)
      let worker = WorkerThread { JournalWriter.work(store: store, monitor: monitor, onFailure: onFailure) }
      guard let worker else { throw RecordingError(.cannotWrite, path: path, reason: "the system gives no thread") }
      self.store = store
      self.monitor = monitor
      thread = ThreadSlot(worker)
    } catch {
      // A journal that never began leaves nothing behind.
      for file in [path] + JournalFile.sideFiles(of: path) { try? Files.remove(file) }
      throw error
    }
  }

  deinit { try? close() }

  /// Redacts and numbers the frame and hands it to the writing thread. Waits while 2 MiB are pending.
  package func append(_ frame: Frame) throws(RecordingError) -> Int {
    try frame.checkFitness(path: path)
    let isRoom = { (state: State) in state.pendingBytes < Limits.journalBacklog || state.failure != nil || state.phase != .open }
    let (sequence, wakes) = try monitor.withLock(when: isRoom) { (state: inout State) throws(RecordingError) in
      try self.checkOpen(state)
      var frame = frame
      state.redactor.redact(&frame)
      state.lastSequence += 1
      frame.sequence = state.lastSequence
      let isFirst = state.pending.isEmpty
      if isFirst { state.pendingSince = WorkerThread.monotonicNow() }
      state.pending.append(frame)
      state.pendingBytes += frame.payload.count + Limits.journalFrameOverhead
      state.bytes += frame.payload.count
      return (frame.sequence, isFirst || state.isDue)
    }
    // Between the first frame of a batch and the last the writing thread has nothing to do.
    if wakes { monitor.notifyAll() }
    return sequence
  }

  /// Returns when all appended frames are committed.
  package func flush() throws(RecordingError) {
    let target = try monitor.withLock { (state: inout State) throws(RecordingError) in
      try self.checkOpen(state)
      state.flushTarget = state.lastSequence
      return state.lastSequence
    }
    monitor.notifyAll()
    try monitor.withLock(when: { $0.committed >= target || $0.failure != nil }) { (state: inout State) throws(RecordingError) in
      if let failure = state.failure { throw failure }
    }
  }

  /// Commits what is pending and closes the journal; a second call gives the same outcome.
  package func close() throws(RecordingError) {
    let isFirst = monitor.withLock { state in
      defer { if state.phase == .open { state.phase = .closing } }
      return state.phase == .open
    }
    monitor.notifyAll()
    if isFirst {
      thread.join()
      let failure = store.close()
      monitor.withLock { state in
        state.failure = state.failure ?? failure
        state.phase = .closed
      }
      monitor.notifyAll()
    }
    try monitor.withLock(when: { $0.phase == .closed }) { (state: inout State) throws(RecordingError) in
      if let failure = state.failure { throw failure }
    }
  }

  package var progress: JournalProgress {
    monitor.withLock { JournalProgress(frames: $0.lastSequence, bytes: $0.bytes, committed: $0.committed) }
  }

  /// What the redactor removed until now.
  package var redactions: [RedactionCount] { monitor.withLock { $0.redactor.counts } }

  private func checkOpen(_ state: State) throws(RecordingError) {
    if let failure = state.failure { throw failure }
    guard state.phase == .open else { throw RecordingError(.cannotWrite, path: path, reason: "the journal is closed") }
  }

  private static func work(
    store: JournalStore, monitor: Monitor<State>, onFailure: @Sendable (RecordingError) -> Void
  ) {
    var hasUncheckpointed = false
    while true {
      let idleEnd = WorkerThread.monotonicNow() + Limits.journalIdleNanoseconds
      let since = monitor.withLock(
        when: { !$0.pending.isEmpty || $0.phase != .open }, until: hasUncheckpointed ? idleEnd : nil
      ) { $0.pending.isEmpty ? nil : $0.pendingSince }
      if let since {
        // More may come with the same commit.
        let due = since + Limits.journalCommitNanoseconds
        let (batch, redactions) = monitor.withLock(when: \.isDue, until: due) { state in
          defer {
            state.pending = []
            state.pendingBytes = 0
          }
          return (state.pending, state.redactor.counts)
        }
        monitor.notifyAll()
        do throws(RecordingError) {
          try store.commit(batch, redactions: redactions)
          hasUncheckpointed = true
          monitor.withLock { $0.committed = batch.last?.sequence ?? $0.committed }
          monitor.notifyAll()
        } catch {
          let failure = error
          monitor.withLock { $0.failure = failure }
          monitor.notifyAll()
          onFailure(failure)
          return
        }
      } else {
        if monitor.withLock({ $0.phase != .open }) { return }
        // A reader may hold an old snapshot: the checkpoint then comes with a later idle second.
        hasUncheckpointed = !store.checkpoint()
      }
    }
  }
}

/// The name that `journal` will be sealed under.
package func sealedPath(ofJournal journal: String) -> String {
  journal.hasSuffix(JournalFile.suffix) ? String(journal.dropLast(JournalFile.suffix.count)) : journal + ".chatrec"
}

/// Unchecked: `join` is called by the one caller that moves the phase from open to closing.
private final class ThreadSlot: @unchecked Sendable {
  private let thread: WorkerThread
  init(_ thread: WorkerThread) { self.thread = thread }
  func join() { thread.join() }
}

/// The writing side of a journal.
///
/// Unchecked: after `init` only the writing thread uses it, and after that thread has been joined only `close`.
private final class JournalStore: @unchecked Sendable {
  private let database: Database
  private var insert: Statement?
  private var update: Statement?
  private var written: [RedactionCount] = []
  /// Held while the capture lives, so that nobody seals the journal meanwhile. SQLite locks the other two files, not this one.
  private let lock: File

  init(path: String, facts: CaptureFacts) throws(RecordingError) {
    do {
      database = try Database(path: path, mode: .create)
      // Schema and facts come as one piece and before the WAL: a kill leaves an empty file or a journal that says what it is.
      try database.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = NORMAL; BEGIN; \(JournalFile.schema)")
      let fact = try database.prepare("INSERT INTO fact (name, value) VALUES ('capture', ?)")
      try fact.bind(JSONWriter.text(.object(facts.json)), at: 1)
      _ = try fact.step()
      fact.finish()
      try database.execute("COMMIT; PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; COMMIT")
      // Under constant load the idle second never comes. 4 MiB of pages: a checkpoint holds up a commit, one of 16 MiB by 190 ms.
      try database.execute("PRAGMA wal_autocheckpoint = 1024")
      insert = try database.prepare("INSERT INTO frame (seq, t, conn, dir, kind, re, flags, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      update = try database.prepare("INSERT OR REPLACE INTO fact (name, value) VALUES ('redactions', ?)")
      lock = try File.reading(path + "-wal")
      guard try lock.tryLock() else { throw FileError(operation: "lock", path: path, code: 11) }
    } catch let error as FileError {
      throw RecordingError(writing: error, path: path)
    } catch let error as SQLiteError {
      throw RecordingError(writing: error)
    } catch {
      throw RecordingError(.cannotWrite, path: path, reason: "\(error)")
    }
  }

  /// Adds the frames and the counts in one transaction.
  func commit(_ frames: [Frame], redactions: [RedactionCount]) throws(RecordingError) {
    guard let insert, let update else { return }
    do throws(SQLiteError) {
      try database.transaction { () throws(SQLiteError) in
        for frame in frames {
          try insert.bind(Int64(frame.sequence), at: 1)
          try insert.bind(frame.at.nanoseconds, at: 2)
          try insert.bind(Int64(frame.connection.number), at: 3)
          try insert.bind(frame.direction.rawValue, at: 4)
          try insert.bind(frame.kind.rawValue, at: 5)
          try insert.bind(frame.answers.map { Int64($0) }, at: 6)
          try insert.bind(frame.flags.isEmpty ? nil : JSONWriter.text(.object(frame.flags)), at: 7)
          try insert.run(blob: frame.payload, at: 8)
        }
        if redactions != written {
          let list = JSON.array(redactions.map { ["rule": .string($0.rule), "count": .int($0.count)] })
          try update.bind(JSONWriter.text(list), at: 1)
          _ = try update.step()
          update.reset()
        }
      }
      written = redactions
    } catch {
      throw RecordingError(writing: error)
    }
  }

  /// Moves the WAL into the database and cuts it; false when a reader is in the way.
  func checkpoint() -> Bool {
    (try? database.integer("PRAGMA wal_checkpoint(TRUNCATE)")) == 0
  }

  func close() -> RecordingError? {
    insert?.finish()
    update?.finish()
    insert = nil
    update = nil
    do throws(SQLiteError) { try database.close() } catch { return RecordingError(writing: error) }
    do throws(FileError) { try lock.close() } catch { return RecordingError(writing: error, path: error.path) }
    return nil
  }
}
