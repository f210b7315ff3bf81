import Simulation
import Storage
import Synchronization
import Testing
import Wire

@testable import Recordings

@Suite struct JournalTests {
  let scratch = Scratch()
  private var journal: String { scratch.path("x.chatrec.journal") }

  private func writer(redactor: Redactor = .off, facts: CaptureFacts = testFacts) throws -> JournalWriter {
    try JournalWriter(path: journal, facts: facts, redactor: redactor)
  }

  /// What a kill at this instant would leave: the files as they are, under another name.
  private func copyOfRunningJournal(_ name: String) throws -> String {
    for suffix in ["", "-wal", "-shm"] where try Files.kind(of: journal + suffix) != nil {
      try scratch.put(scratch.bytes("x.chatrec.journal" + suffix), name + suffix)
    }
    return scratch.path(name)
  }

  @Test func `committed frames survive a kill, and the copy opens, says unsealed and seals`() throws {
    let writer = try writer()
    for index in 0..<1_000 { _ = try writer.append(frame("{\"n\":\(index)}", at: Int64(index))) }
    try writer.flush()
    let copy = try copyOfRunningJournal("k.chatrec.journal")
    let recording = try Recording.open(copy)
    #expect(!recording.isSealed)
    #expect(recording.manifest.frames == 1_000)
    #expect(recording.manifest.facts == testFacts)
    let (frames, damage) = try recording.frames()
    #expect(damage == nil)
    #expect(frames.map(\.sequence) == Array(1...1_000))
    #expect(frames.last?.payload == Array("{\"n\":999}".utf8))
    let sealed = try Seal.seal(journal: copy)
    #expect(sealed.entries == 1_000)
    #expect(try Recording.open(sealed.path).frames().frames == frames)
    try writer.close()
  }

  @Test func `every state that a kill can leave between commits gives a prefix`() throws {
    let writer = try writer()
    for round in 1...20 {
      for index in 0..<50 { _ = try writer.append(frame(noise(400, seed: UInt64(round * 100 + index)), kind: .binary)) }
      try writer.flush()
      let copy = try copyOfRunningJournal("k\(round).chatrec.journal")
      #expect(try Recording.open(copy).frames().frames.count == round * 50)
    }
    try writer.close()
  }

  @Test func `a WAL cut anywhere gives a prefix and no error`() throws {
    let writer = try writer()
    for index in 0..<60 {
      _ = try writer.append(frame(noise(600, seed: UInt64(index)), kind: .binary))
      if index % 10 == 9 { try writer.flush() }
    }
    let copy = try copyOfRunningJournal("k.chatrec.journal")
    let wal = try scratch.bytes("k.chatrec.journal-wal")
    try writer.close()
    var seen: Set<Int> = []
    for length in stride(from: 0, to: wal.count, by: 997) {
      try scratch.put(Array(wal[..<length]), "k.chatrec.journal-wal")
      try Files.remove(copy + "-shm")
      do {
        let (frames, damage) = try Recording.open(copy).frames()
        #expect(damage == nil)
        #expect(frames.map(\.sequence) == Array(1..<frames.count + 1))
        seen.insert(frames.count)
      } catch {
        // Before the first commit there is no journal yet.
        #expect(error.kind == .badData)
      }
    }
    #expect(seen.isSuperset(of: [10, 20, 30, 40, 50]))
  }

  @Test func `frames of many threads are numbered without gap, each thread's in its order`() throws {
    let writer = try writer()
    let failures = Atomic<Int>(0)
    let threads = (1...8).map { connection in
      WorkerThread {
        for index in 0..<250 {
          do {
            _ = try writer.append(frame("\(index)", connection: connection))
          } catch {
            failures.wrappingAdd(1, ordering: .relaxed)
          }
        }
      }
    }
    for thread in threads { thread?.join() }
    try writer.close()
    #expect(failures.load(ordering: .relaxed) == 0)
    let (frames, damage) = try Recording.open(journal).frames()
    #expect(damage == nil)
    #expect(frames.map(\.sequence) == Array(1...2_000))
    for connection in 1...8 {
      let own = frames.filter { $0.connection == ConnectionID(connection) }.map { String(decoding: $0.payload, as: UTF8.self) }
      #expect(own == (0..<250).map { "\($0)" })
    }
  }

  @Test func `more than the backlog goes through while callers wait`() throws {
    let writer = try writer()
    let payload = noise(1 << 20)
    for _ in 0..<24 { _ = try writer.append(frame(payload, kind: .binary)) }
    try writer.close()
    #expect(writer.progress == JournalProgress(frames: 24, bytes: 24 << 20, committed: 24))
    #expect(
      try Recording.open(journal).manifest.connections == [
        ConnectionSummary(connection: ConnectionID(1), in: Traffic(frames: 24, bytes: 24 << 20))
      ])
  }

  @Test func `an open journal is seen as it was when it was opened`() throws {
    let writer = try writer()
    _ = try writer.append(frame("a"))
    try writer.flush()
    let early = try Recording.open(journal)
    let hash = try early.hash()
    _ = try writer.append(frame("b"))
    try writer.flush()
    #expect(try early.frames().frames.count == 1)
    #expect(try early.hash() == hash)
    let late = try Recording.open(journal)
    #expect(try late.frames().frames.count == 2)
    #expect(try late.hash() != hash)
    #expect(late.form == .unsealed(sideFiles: [journal + "-wal", journal + "-shm"]))
    try writer.close()
    #expect(try Recording.open(journal).hash() == late.hash())
  }

  @Test(arguments: ["x y%20?a=1#ü.journal", "plain"]) func `reading a closed journal leaves the folder as it is`(name: String) throws {
    let path = scratch.path(name)
    try JournalWriter(path: path, facts: testFacts).close()
    #expect(try Recording.open(path).frames().frames == [])
    #expect(try Recording.listing(path).form == .unsealed(sideFiles: []))
    #expect(scratch.names == [name])
    // As the command line may spell it.
    #expect(try Recording.open("//" + path).frames().frames == [])
  }

  @Test func `a failed commit reaches the callback and every later call`() throws {
    let reported = Mutex<[RecordingError]>([])
    let writer = try JournalWriter(path: journal, facts: testFacts, redactor: .off) { error in reported.withLock { $0.append(error) } }
    _ = try writer.append(frame("a"))
    try writer.flush()
    // As good as any other way to make the next commit fail.
    let other = try Database(path: journal, mode: .readWrite)
    try other.execute("CREATE TRIGGER full BEFORE INSERT ON frame BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
    _ = try writer.append(frame("b"))
    let error = try #require(throws: RecordingError.self) { try writer.flush() }
    #expect(error.kind == .cannotWrite)
    #expect(error.description == "\(journal): the disk is full (SQLite error 1811)")
    #expect(throws: error) { _ = try writer.append(frame("c")) }
    #expect(throws: error) { try writer.close() }
    #expect(throws: error) { try writer.close() }
    #expect(reported.withLock { $0 } == [error])
    try other.close()
    #expect(try Recording.open(journal).frames().frames.map(\.payload) == [Array("a".utf8)])
  }

  @Test func `a closed journal takes nothing more, and closing again is no error`() throws {
    let writer = try writer()
    try writer.close()
    try writer.close()
    #expect(line { _ = try writer.append(frame("a")) } == "\(journal): the journal is closed")
  }

  @Test func `a writer that is dropped commits what it has`() throws {
    do {
      let writer = try writer()
      _ = try writer.append(frame("a"))
    }
    #expect(try Recording.open(journal).frames().frames.count == 1)
  }

  @Test func `an existing journal or sealed file is not touched`() throws {
    try scratch.put([1], "x.chatrec.journal")
    #expect(line { _ = try writer() } == "\(journal): exists already")
    #expect(try scratch.bytes("x.chatrec.journal") == [1])
    try Files.remove(journal)
    try scratch.put([2], "x.chatrec")
    #expect(line { _ = try writer() } == "\(scratch.path("x.chatrec")): exists already")
    #expect(scratch.names == ["x.chatrec"])
  }

  @Test func `a folder that is not there is one clear line`() {
    let path = scratch.path("none/x.chatrec.journal")
    #expect(line { _ = try JournalWriter(path: path, facts: testFacts) } == "\(path): cannot create: No such file or directory")
  }

  @Test func `what no envelope can hold is refused`() throws {
    let writer = try writer()
    #expect(throws: RecordingError.self) { _ = try writer.append(frame(Array("a".utf8), flags: ["len": 3])) }
    let kind = FrameKind(rawValue: String(repeating: "k", count: Limits.envelope))
    #expect(throws: RecordingError.self) { _ = try writer.append(frame("a", kind: kind)) }
    #expect(try writer.append(frame("a")) == 1)
    try writer.close()
  }

  @Test func `a newer journal is refused in a line with both versions`() throws {
    try writer().close()
    let database = try Database(path: journal, mode: .readWrite)
    try database.execute("PRAGMA user_version = 2")
    try database.close()
    let error = #expect(throws: RecordingError.self) { _ = try Recording.open(journal) }
    #expect(error?.kind == .newerVersion)
    #expect(error?.description == "\(journal): has format version 2, and this chatbench reads versions up to 1")
  }

  @Test func `a damaged page ends the frames and is named`() throws {
    let writer = try writer()
    for index in 0..<400 { _ = try writer.append(frame(noise(900, seed: UInt64(index)), kind: .binary)) }
    try writer.close()
    var bytes = try scratch.bytes("x.chatrec.journal")
    for index in (bytes.count / 2 / 4096 * 4096)..<(bytes.count / 2 / 4096 * 4096 + 4096) { bytes[index] = 0xee }
    try scratch.put(bytes, "y.chatrec.journal")
    let recording = try Recording.open(scratch.path("y.chatrec.journal"))
    let (frames, damage) = try recording.frames()
    #expect((1..<400).contains(frames.count))
    #expect(damage?.sequence == frames.count + 1)
    #expect(recording.manifest.frames == frames.count)
    let error = #expect(throws: RecordingError.self) { try Seal.seal(journal: scratch.path("y.chatrec.journal")) }
    #expect(error?.sequence == frames.count + 1)
    #expect(error?.reason.hasPrefix("not sealed, as it is damaged") == true)
    #expect(scratch.names.contains("y.chatrec.journal"))
    #expect(!scratch.names.contains("y.chatrec"))
  }
}

@Suite struct SealTests {
  let scratch = Scratch()
  private var journal: String { scratch.path("x.chatrec.journal") }

  private func capture(_ frames: [Frame], name: String = "x.chatrec.journal", flushing: Bool = false) throws {
    let writer = try JournalWriter(path: scratch.path(name), facts: testFacts, redactor: .off)
    for frame in frames {
      _ = try writer.append(frame)
      if flushing { try writer.flush() }
    }
    try writer.close()
  }

  @Test func `equal content gives equal bytes, however it was committed`() throws {
    try capture(oddFrames)
    try capture(oddFrames, name: "y.chatrec.journal", flushing: true)
    #expect(try Recording.open(journal).hash() == Recording.open(scratch.path("y.chatrec.journal")).hash())
    let first = try Seal.seal(journal: journal)
    let second = try Seal.seal(journal: scratch.path("y.chatrec.journal"))
    #expect(first.hash == second.hash)
    #expect(try scratch.bytes("x.chatrec") == scratch.bytes("y.chatrec"))
    let third = try seal(oddFrames, scratch, "z.chatrec")
    #expect(third.hash == first.hash)
    let other = try seal(oddFrames.reversed(), scratch, "other.chatrec")
    #expect(other.hash != first.hash)
  }

  @Test func `an existing target is refused and the journal stays`() throws {
    try capture([frame("a")])
    try scratch.put([9], "x.chatrec")
    let error = #expect(throws: RecordingError.self) { try Seal.seal(journal: journal) }
    #expect(error?.kind == .cannotWrite)
    #expect(error?.description == "\(scratch.path("x.chatrec")): exists already")
    #expect(try scratch.bytes("x.chatrec") == [9])
    #expect(try Recording.open(journal).frames().frames.count == 1)
  }

  @Test func `a journal that is being captured is not sealed`() throws {
    let writer = try JournalWriter(path: journal, facts: testFacts)
    _ = try writer.append(frame("a"))
    #expect(line { try Seal.seal(journal: journal) }?.hasSuffix("is being captured or sealed by another process") == true)
    _ = try writer.append(frame("b"))
    try writer.close()
    #expect(try Seal.seal(journal: journal).entries == 2)
    #expect(line { try Seal.seal(journal: journal) } == "\(journal): no such file")
    #expect(scratch.names == ["x.chatrec"])
  }

  @Test func `of many sealers one succeeds`() throws {
    try capture((0..<200).map { frame("\($0)") })
    let path = journal
    let outcomes = Mutex<[String]>([])
    let threads = (0..<6).map { _ in
      WorkerThread {
        let outcome = line { _ = try Seal.seal(journal: path) } ?? "sealed"
        outcomes.withLock { $0.append(outcome) }
      }
    }
    for thread in threads { thread?.join() }
    #expect(outcomes.withLock { $0.filter { $0 == "sealed" } }.count == 1)
    #expect(outcomes.withLock { $0.count } == 6)
    #expect(scratch.names == ["x.chatrec"])
    #expect(try Recording.open(scratch.path("x.chatrec")).frames().frames.count == 200)
  }

  @Test func `an empty capture seals to a recording without frames`() throws {
    try capture([])
    let sealed = try Seal.seal(journal: journal, system: "hapi")
    let recording = try Recording.open(sealed.path)
    #expect(try recording.frames().frames == [])
    #expect(try recording.forEachFrame { _ in } == nil)
    #expect(recording.manifest.end == .zero)
  }

  @Test func `the system fills in only what was not known`() throws {
    var facts = testFacts
    facts.system = nil
    let writer = try JournalWriter(path: journal, facts: facts)
    try writer.close()
    let sealed = try Seal.seal(journal: journal, system: "hapi")
    #expect(try Recording.open(sealed.path).manifest.facts.system == "hapi")
    try capture([], name: "y.chatrec.journal")
    let second = try Seal.seal(journal: scratch.path("y.chatrec.journal"), system: "hapi")
    #expect(try Recording.open(second.path).manifest.facts.system == "hbcode")
  }

  @Test func `what is sealed already is not sealed again`() throws {
    try seal([frame("a")], scratch)
    #expect(line { try Seal.seal(journal: scratch.path("a.chatrec")) } == "\(scratch.path("a.chatrec")): is sealed already")
  }

  @Test func `the file is private, holds its members in order, and repeats the marks as plain lines`() throws {
    try seal(oddFrames, scratch, segmentBytes: 100)
    let zip = try ZipReader(path: scratch.path("a.chatrec"), mode: .seekable)
    var names: [String] = []
    var marks = ""
    while let entry = try zip.next() {
      names.append(entry.name)
      if entry.name == "marks.jsonl" { marks = String(decoding: try zip.read(limit: 10_000), as: UTF8.self) }
    }
    let segments = names.filter { $0.hasPrefix("frames/") }
    let digest = SHA256Digest.hex(noise(Limits.inlinePayload + 1))
    #expect(segments.count > 3)
    #expect(segments.first == "frames/00000.jsonl.zst")
    #expect(names == ["manifest.json"] + segments + ["blobs/\(digest).zst", "marks.jsonl"])
    #expect(
      marks == """
        {"seq":14,"t":12,"conn":1,"mark":{"user":"drag-began"}}
        {"seq":15,"t":13,"conn":1,"text":"\u{fffd}\\n"}

        """)
  }

  @Test func `a frame in a segment is spelled as the design shows it`() throws {
    let payload = #"{"event":"session:updated","sessionId":"s1","updatedAt":172}"#
    var shown = frame(payload, at: 1_200_345_678, connection: 2)
    shown.sequence = 41
    var out: [UInt8] = []
    FrameCodec.append(shown, to: &out)
    #expect(
      String(decoding: out, as: UTF8.self)
        == #"{"seq":41,"t":1200345678,"conn":2,"dir":"in","kind":"ws.text","len":60}"# + "\n\(payload)\n")
    shown.answers = 7
    shown.flags = ["fragments": 3, "deflated": true]
    out = []
    FrameCodec.append(shown, to: &out)
    #expect(
      String(decoding: out, as: UTF8.self)
        == #"{"seq":41,"t":1200345678,"conn":2,"dir":"in","kind":"ws.text","len":60,"re":7,"fragments":3,"deflated":true}"#
        + "\n\(payload)\n")
  }

  @Test func `the manifest counts frames and bytes by connection and direction`() throws {
    try seal(
      [
        frame("12345", at: 3, connection: 2), frame("1", at: 9, connection: 1, .out), frame("", at: 4, connection: 2, .out),
        frame("123", at: 5, connection: 2),
      ], scratch)
    let manifest = try Recording.open(scratch.path("a.chatrec")).manifest
    #expect(manifest.frames == 4)
    #expect(manifest.end == Instant(nanoseconds: 9))
    #expect(
      manifest.connections == [
        ConnectionSummary(connection: ConnectionID(1), out: Traffic(frames: 1, bytes: 1)),
        ConnectionSummary(connection: ConnectionID(2), out: Traffic(frames: 1, bytes: 0), in: Traffic(frames: 2, bytes: 8)),
      ])
    #expect(manifest.members.map(\.first) == [1])
    #expect(manifest.members.map(\.last) == [4])
  }
}
