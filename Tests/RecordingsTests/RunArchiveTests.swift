import Storage
import Testing
import Wire

@testable import Recordings

@Suite struct RunArchiveTests {
  let scratch = Scratch()
  private var path: String { scratch.path("r.chatrun") }
  private let facts: JSONObject = ["token": "cb1-x", "plan": ["rules": []], "seed": 7]

  @discardableResult
  private func write(_ lines: [String], replacing: Bool = false) throws -> SealedFile {
    let writer = try RunArchiveWriter(path: path, replacing: replacing, segmentBytes: 200)
    for line in lines { try writer.append(traceLine: Array(line.utf8)) }
    try writer.add("scenario", ["a": [1, 2]])
    try writer.add("verdicts", [])
    return try writer.finish(facts)
  }

  private func lines(_ run: RunArchive) throws -> (lines: [String], damage: RecordingDamage?) {
    var lines: [String] = []
    let damage = try run.forEachTraceLine { lines.append(String(decoding: $0, as: UTF8.self)) }
    return (lines, damage)
  }

  let trace = (0..<100).map { "{\"n\":\($0),\"x\":\"ü\(String(repeating: "y", count: $0))\"}" } + [""]

  @Test func `facts, trace and members come back`() throws {
    let sealed = try write(trace)
    #expect(sealed.entries == 101)
    let run = try RunArchive.open(path)
    #expect(run.facts == ["entries": 101, "token": "cb1-x", "plan": ["rules": []], "seed": 7])
    #expect(try lines(run) == (trace, nil))
    #expect(run.names == ["scenario", "verdicts"])
    #expect(try run.value("scenario") == ["a": [1, 2]])
    #expect(try run.value("none") == nil)
    #expect(try run.hash() == sealed.hash)
  }

  @Test func `equal runs give equal bytes, and replacing is asked for`() throws {
    let first = try write(trace)
    #expect(line { try write(trace) } == "\(path): exists already")
    #expect(try write(trace, replacing: true).hash == first.hash)
    #expect(scratch.names == ["r.chatrun"])
  }

  @Test func `a cut run gives the valid prefix of its trace`() throws {
    try write(trace)
    let bytes = try scratch.bytes("r.chatrun")
    var counts: Set<Int> = []
    for length in stride(from: 0, to: bytes.count, by: 97) {
      try scratch.put(Array(bytes[..<length]), "r.chatrun")
      do {
        let (read, damage) = try lines(RunArchive.open(path))
        #expect(read == Array(trace.prefix(read.count)))
        if read.count < trace.count { #expect(damage?.sequence == read.count + 1) }
        counts.insert(read.count)
      } catch let error as RecordingError {
        #expect(error.kind == .badData)
      }
    }
    #expect(counts.count > 3)
  }

  @Test func `what cannot be written is refused`() throws {
    let writer = try RunArchiveWriter(path: path)
    #expect(throws: RecordingError.self) { try writer.append(traceLine: Array("a\nb".utf8)) }
    for name in ["", "manifest", "../x", "A", "a.b", "a/b"] {
      #expect(throws: RecordingError.self) { try writer.add(name, [:]) }
    }
    try writer.add("a", [:])
    #expect(throws: RecordingError.self) { try writer.add("a", [:]) }
    for name in ["format", "version", "kind", "members", "entries"] {
      #expect(throws: RecordingError.self) { _ = try writer.finish(JSONObject([JSONObject.Member(name: name, value: 1)])) }
    }
    #expect(scratch.names == [])
  }

  @Test func `a recording or a journal is no run`() throws {
    try seal([frame("a")], scratch)
    #expect(line { _ = try RunArchive.open(scratch.path("a.chatrec")) } == "\(scratch.path("a.chatrec")): is a recording, not a run")
    let journal = scratch.path("x.chatrec.journal")
    try JournalWriter(path: journal, facts: testFacts).close()
    #expect(line { _ = try RunArchive.open(journal) } == "\(journal): is a journal, not a run")
  }

  @Test func `a run without trace is a run`() throws {
    try write([])
    #expect(try lines(RunArchive.open(path)) == ([], nil))
  }
}
