import Simulation
import Storage
import Testing
import Wire

@testable import Recordings

@Suite struct DamageTests {
  let scratch = Scratch()

  /// A small file of several segments with a payload of its own.
  private func small() throws -> [Frame] {
    var frames = (0..<40).map { frame(noise(500, seed: UInt64($0)), at: Int64($0), kind: .binary) }
    frames.append(frame(noise(Limits.inlinePayload + 1), kind: .binary))
    frames += (0..<5).map { frame("end \($0)") }
    try seal(frames, scratch, segmentBytes: 2_000)
    return numbered(frames)
  }

  /// Reads the file named `b.chatrec`: a prefix of `frames`, with damage where it is shorter, or one clear line.
  private func readable(_ frames: [Frame], _ place: Comment) -> Int? {
    do {
      let recording = try Recording.open(scratch.path("b.chatrec"))
      let (read, damage) = try recording.frames()
      #expect(read == Array(frames.prefix(read.count)), place)
      if read.count < frames.count { #expect(damage?.sequence == read.count + 1, place) }
      return read.count
    } catch {
      #expect(error.kind == .badData || error.kind == .newerVersion, place)
      #expect(!error.description.contains("\n"), place)
      return nil
    }
  }

  @Test func `a file cut anywhere gives its valid prefix or one clear line`() throws {
    let frames = try small()
    let bytes = try scratch.bytes("a.chatrec")
    var counts: Set<Int> = []
    for length in stride(from: 0, to: bytes.count, by: 997) {
      try scratch.put(Array(bytes[..<length]), "b.chatrec")
      if let count = readable(frames, "cut at \(length)") { counts.insert(count) }
    }
    #expect(counts.count > 5)
    // Without its last bytes the zip has no directory, and all frames are there.
    try scratch.put(Array(bytes.dropLast(10)), "b.chatrec")
    let (read, damage) = try Recording.open(scratch.path("b.chatrec")).frames()
    #expect(read == frames)
    #expect(damage?.description == "damaged: the directory at the end is missing or damaged; all frames are there")
  }

  @Test func `a flipped byte anywhere gives a valid prefix or one clear line`() throws {
    let frames = try small()
    let bytes = try scratch.bytes("a.chatrec")
    var counts: Set<Int> = []
    // Every byte of the manifest's and the first members' heads, and of the directory; then here and there.
    let places = Array(0..<200) + Array(stride(from: 200, to: bytes.count - 3_000, by: 499)) + Array(bytes.count - 3_000..<bytes.count)
    for (index, place) in places.enumerated() where index % 19 == 0 || place < 100 {
      var damaged = bytes
      damaged[place] ^= UInt8(1 << (place % 8))
      try scratch.put(damaged, "b.chatrec")
      if let count = readable(frames, "flip at \(place)") { counts.insert(count) }
    }
    #expect(counts.contains(frames.count))
    #expect(counts.count > 5)
  }

  @Test func `damage names the member, the first lost frame and why`() throws {
    _ = try small()
    let second = try Recording.open(scratch.path("a.chatrec")).manifest.members[1]
    let first = try #require(second.first)
    var bytes = try scratch.bytes("a.chatrec")
    // The content of the member begins with the magic number of zstd, the second time in the file.
    let magic: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd]
    let starts = bytes.indices.filter { bytes[$0...].starts(with: magic) }
    bytes[starts[1] + 100] ^= 1
    try scratch.put(bytes, "b.chatrec")
    let (read, damage) = try Recording.open(scratch.path("b.chatrec")).frames()
    #expect(read.count == first - 1)
    #expect(damage?.member == "frames/00001.jsonl.zst")
    #expect(damage?.sequence == first)
    #expect(damage?.description.hasPrefix("damaged (in frames/00001.jsonl.zst, from number \(first) on): ZIP bad CRC") == true)
  }

  /// A container whose members are given, with digests that fit.
  private func container(_ members: [(String, [UInt8])], change: (inout JSONObject) -> Void = { _ in }) throws -> Recording {
    var list: [JSON] = []
    var stored: [(String, [UInt8])] = []
    for (name, plain) in members {
      let bytes = name.hasSuffix(".zst") ? try Zstd.compress(plain, level: 1) : plain
      stored.append((name, bytes))
      list.append(
        Member(name: name, bytes: bytes.count, plainBytes: plain.count, sha256: SHA256Digest.hex(bytes), first: nil, last: nil).json)
    }
    var manifest: JSONObject = ["format": "chatbench", "version": 1, "kind": "recording"]
    manifest.members += Manifest(facts: testFacts, tally: FrameTally()).json.members
    manifest["members"] = .array(list)
    change(&manifest)
    try Files.remove(scratch.path("c.chatrec"))
    let file = try File.creating(scratch.path("c.chatrec"))
    let zip = try ZipWriter(to: file)
    try zip.add("manifest.json", JSONWriter.compact(.object(manifest)))
    for (name, bytes) in stored { try zip.add(name, bytes) }
    try zip.close()
    return try Recording.open(scratch.path("c.chatrec"))
  }

  @Test(arguments: [
    (#"{"seq":1,"t":0,"conn":1,"dir":"in","kind":"a","len":5}"# + "\nabc\n", "the payload is cut"),
    (#"{"seq":1,"t":0,"conn":1,"dir":"in","kind":"a","len":3}"# + "\nabc", "the payload is cut"),
    (#"{"seq":1,"t":0,"conn":1,"dir":"in","kind":"a","len":2}"# + "\nabc\n", "no newline after the payload"),
    (#"{"seq":1,"t":0,"conn":1,"dir":"in","kind":"a","len":-1}"# + "\n\n", "an envelope with a value out of range"),
    (#"{"seq":0,"t":0,"conn":1,"dir":"in","kind":"a","len":0}"# + "\n\n", "an envelope with a value out of range"),
    (#"{"seq":1,"t":0,"conn":1,"dir":"up","kind":"a","len":0}"# + "\n\n", "an envelope with a value out of range"),
    (#"{"seq":1,"t":0,"conn":1,"dir":"in","kind":"a","len":9223372036854775807}"# + "\n\n", "a payload of 9223372036854775807 bytes"),
    (#"{"seq":1,"t":0,"conn":1,"dir":"in","kind":"a","len":0,"re":"x"}"# + "\n\n", "an envelope whose re is no integer"),
    (#"{"seq":1,"t":0,"conn":1,"dir":"in","kind":"a","len":0,"blob":1}"# + "\n\n", "an envelope whose blob is no string"),
    (
      #"{"seq":1,"t":0,"conn":1,"dir":"in","kind":"a","len":0,"blob":"../x"}"# + "\n\n", "its payload blobs/../x.zst is not in the manifest"
    ),
    (#"{"seq":1,"t":0,"conn":1}"# + "\n\n", "an envelope without seq, t, conn, dir, kind or len"),
    ("[]\n\n", "an envelope that is no object"),
    ("{\"seq\":1", "an envelope without end"),
  ]) func `an envelope that is wrong ends the frames`(text: String, reason: String) throws {
    var good: [UInt8] = []
    var before = frame("ok")
    before.sequence = 1
    FrameCodec.append(before, to: &good)
    // The bad one gets the next number, so that only its fault stands in the way.
    let bad = text.replacing("\"seq\":1", with: "\"seq\":2")
    let (frames, damage) = try container([("frames/00000.jsonl.zst", good + Array(bad.utf8))]).frames()
    #expect(frames == [before])
    #expect(damage == RecordingDamage(member: "frames/00000.jsonl.zst", sequence: 2, offset: good.count, reason: reason))
  }

  @Test func `an envelope that is no JSON ends the frames`() throws {
    let (frames, damage) = try container([("frames/00000.jsonl.zst", Array("hello\n\n".utf8))]).frames()
    #expect(frames.isEmpty)
    #expect(damage?.reason.hasPrefix("envelope: not valid JSON") == true)
    #expect(damage?.offset == 0)
  }

  @Test func `numbers must rise`() throws {
    var lines: [UInt8] = []
    for sequence in [3, 7, 7] {
      var next = frame("x")
      next.sequence = sequence
      FrameCodec.append(next, to: &lines)
    }
    let (frames, damage) = try container([("frames/00000.jsonl.zst", lines)]).frames()
    #expect(frames.map(\.sequence) == [3, 7])
    #expect(damage?.reason == "number 7 does not rise")
  }

  @Test func `unknown kinds, flags and members are passed through`() throws {
    let text = #"{"len":2,"kind":"x.new","dir":"out","conn":9,"t":5,"seq":4,"later":{"a":[1.5]},"re":2}"# + "\nhi\n"
    let recording = try container([
      ("frames/00000.jsonl.zst", Array(text.utf8)), ("../../etc/evil", [1, 2, 3]), ("/later.bin", [4]),
    ])
    let (frames, damage) = try recording.frames()
    #expect(damage == nil)
    var expected = frame(
      Array("hi".utf8), at: 5, connection: 9, .out, kind: FrameKind(rawValue: "x.new"), answers: 2, flags: ["later": ["a": [.double(1.5)]]])
    expected.sequence = 4
    #expect(frames == [expected])
    #expect(scratch.names == ["c.chatrec"])
  }

  @Test func `a newer version is refused in a line with both versions`() throws {
    let error = #expect(throws: RecordingError.self) { _ = try container([]) { $0["version"] = 2 } }
    #expect(error?.kind == .newerVersion)
    #expect(
      error?.description == "\(scratch.path("c.chatrec")): has format version 2, and this chatbench reads versions up to 1")
    #expect(throws: RecordingError.self) { _ = try Recording.listing(scratch.path("c.chatrec")) }
  }

  @Test func `a bomb is refused by what it states, and by what it would unpack to`() throws {
    let bomb = [UInt8](repeating: 0, count: Limits.plainSegment + 1)
    let stated = try container([("frames/00000.jsonl.zst", bomb)]).frames()
    #expect(stated.damage?.reason == "states 67108865 bytes, more than 67108864")
    // It understates its size.
    let hidden = try container([("frames/00000.jsonl.zst", bomb)]) { manifest in
      guard var member = manifest["members"]?.array?[0].object else { return }
      member["plainBytes"] = 1_000
      manifest["members"] = [.object(member)]
    }.frames()
    #expect(hidden.damage?.reason == "the frame holds 67108865 bytes, more than the 1000 allowed")
    #expect(hidden.frames.isEmpty)
  }

  @Test func `a member that is not what the manifest says is not read`() throws {
    var good: [UInt8] = []
    var one = frame("ok")
    one.sequence = 1
    FrameCodec.append(one, to: &good)
    let recording = try container([("frames/00000.jsonl.zst", good)]) { manifest in
      guard var member = manifest["members"]?.array?[0].object else { return }
      member["sha256"] = .string(String(repeating: "0", count: 64))
      manifest["members"] = [.object(member)]
    }
    #expect(try recording.frames().damage?.reason == "does not match its SHA-256 in the manifest")
  }

  @Test(
    arguments: [
      ("frames", JSON.int(-1), "frames: expected a count"), ("members", "x", "members: expected an array"),
      ("members", [["name": 1]], "name: expected a string"), ("endNs", .double(1.5), "endNs: expected an integer"),
      ("connections", [["conn": 1]], "connections[0].out: expected an object"), ("toolVersion", nil, "toolVersion: expected a string"),
    ] as [(String, JSON?, String)]) func `a manifest that is wrong is one clear line`(name: String, value: JSON?, reason: String) throws
  {
    #expect(
      line { _ = try container([]) { $0[name] = value } } == "\(scratch.path("c.chatrec")): \(reason) (in manifest.json)")
  }
}

@Suite struct InputTests {
  let scratch = Scratch()

  private func problem(_ path: String) -> RecordingError? {
    let opened = #expect(throws: RecordingError.self) { _ = try Recording.open(path) }
    let listed = #expect(throws: RecordingError.self) { _ = try Recording.listing(path) }
    #expect(opened == listed)
    return opened
  }

  @Test func `what is no recording is one clear line each`() throws {
    let path = scratch.path("f")
    #expect(problem(path) == RecordingError(.noSuchInput, path: path, reason: "no such file"))
    #expect(problem(scratch.folder) == RecordingError(.badData, path: scratch.folder, reason: "is a directory"))
    #expect(problem("/dev/null") == RecordingError(.badData, path: "/dev/null", reason: "is not a regular file"))
    try scratch.put([], "f")
    #expect(problem(path) == RecordingError(.badData, path: path, reason: "is empty"))
    let neither = RecordingError(.badData, path: path, reason: "is neither a recording, nor a journal, nor a run")
    try scratch.put(Array("just text\n".utf8), "f")
    #expect(problem(path) == neither)
    try scratch.put([0x50], "f")
    #expect(problem(path) == neither)
    try scratch.put([0x50, 0x4b, 3, 4], "f")
    #expect(problem(path)?.reason.hasPrefix("damaged: ") == true)
    try scratch.put(Array("SQLite format 3\0".utf8), "f")
    #expect(problem(path)?.kind == .badData)
  }

  @Test func `a zip, a database and a run of other purpose are told apart`() throws {
    let zip = try ZipWriter(to: File.creating(scratch.path("z")))
    try zip.add("readme.txt", [65])
    try zip.close()
    #expect(problem(scratch.path("z"))?.reason == "a zip file, but no recording of chatbench")
    let manifest = try ZipWriter(to: File.creating(scratch.path("m")))
    try manifest.add("manifest.json", Array("{\"name\":\"extension\",\"version\":3}".utf8))
    try manifest.close()
    #expect(problem(scratch.path("m"))?.reason == "a zip file, but no recording of chatbench")
    let database = try Database(path: scratch.path("d"), mode: .create)
    try database.execute("CREATE TABLE frame (seq INTEGER)")
    try database.close()
    #expect(problem(scratch.path("d"))?.reason == "a SQLite database, but no journal of chatbench")
    _ = try RunArchiveWriter(path: scratch.path("r.chatrun")).finish([:])
    #expect(problem(scratch.path("r.chatrun"))?.reason == "is a run, not a recording")
  }

  @Test func `a sealed name whose journal is there says so`() throws {
    try JournalWriter(path: scratch.path("x.chatrec.journal"), facts: testFacts).close()
    let path = scratch.path("x.chatrec")
    #expect(problem(path)?.description == "\(path): no such file; its journal \(path).journal is there, unsealed")
  }

  @Test func `a line stays one line whatever the path holds`() {
    #expect(problem(scratch.path("a\nb"))?.description == scratch.path("a b") + ": no such file")
  }

  @Test func `a listing reads less than 64 KiB of a large file`() throws {
    let frames = (0..<16).map { frame(noise(1 << 20, seed: UInt64($0)), at: Int64($0), kind: .binary) }
    try seal(frames, scratch)
    let bytes = try scratch.bytes("a.chatrec")
    #expect(bytes.count > 16 << 20)
    // The rest is not there to be read.
    try scratch.put(Array(bytes[..<(64 << 10)]), "head.chatrec")
    var listing = try Recording.listing(scratch.path("head.chatrec"))
    #expect(listing.manifest.frames == 16)
    #expect(listing.bytes == 64 << 10)
    listing.path = scratch.path("a.chatrec")
    listing.bytes = bytes.count
    #expect(try Recording.listing(scratch.path("a.chatrec")) == listing)
  }

  @Test func `a listing of a journal counts its frames and names its files`() throws {
    let path = scratch.path("x.chatrec.journal")
    let writer = try JournalWriter(path: path, facts: testFacts)
    _ = try writer.append(frame("abc"))
    try writer.flush()
    let listing = try Recording.listing(path)
    #expect(listing.form == .unsealed(sideFiles: [path + "-wal", path + "-shm"]))
    #expect(listing.manifest.frames == 1)
    #expect(listing.manifest.connections == [ConnectionSummary(connection: ConnectionID(1), in: Traffic(frames: 1, bytes: 3))])
    try writer.close()
  }
}
