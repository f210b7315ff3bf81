import Glibc
import Testing

@testable import Storage

@Suite struct FilesTests {
  let scratch = Scratch()

  @Test func `an atomic file appears when it is committed, with mode 0600`() throws {
    let file = try AtomicFile(path: scratch.path("a"))
    try file.write([1, 2, 3])
    #expect(!scratch.names.contains("a"))
    try file.commit(replacing: false)
    #expect(scratch.names == ["a"])
    #expect(scratch.mode("a") == 0o600)
    #expect(try Files.read(scratch.path("a"), limit: 3) == [1, 2, 3])
  }

  @Test func `an atomic file without commit leaves nothing`() throws {
    do {
      let file = try AtomicFile(path: scratch.path("a"))
      try file.write([1])
      #expect(scratch.names.count == 1)
    }
    #expect(scratch.names == [])
  }

  @Test func `of two files for one name the second to commit is refused and the first stays`() throws {
    do {
      let first = try AtomicFile(path: scratch.path("a"))
      let second = try AtomicFile(path: scratch.path("a"))
      try first.write([1])
      try second.write([2])
      try second.commit(replacing: false)
      let error = #expect(throws: FileError.self) { try first.commit(replacing: false) }
      #expect(error?.exists == true)
    }
    #expect(scratch.names == ["a"])
    #expect(try Files.read(scratch.path("a"), limit: 9) == [2])
  }

  @Test func `replacing puts the new content in the place of the old`() throws {
    try Files.write([1], to: scratch.path("a"), replacing: false)
    try Files.write([2], to: scratch.path("a"), replacing: true)
    #expect(try Files.read(scratch.path("a"), limit: 9) == [2])
    #expect(throws: FileError.self) { try Files.write([3], to: scratch.path("a"), replacing: false) }
  }

  @Test func `a file above the limit is refused, one at the limit is read`() throws {
    try Files.write([1, 2, 3], to: scratch.path("a"), replacing: false)
    #expect(try Files.read(scratch.path("a"), limit: 3) == [1, 2, 3])
    #expect(throws: FileError(operation: "read", path: scratch.path("a"), code: EFBIG)) {
      try Files.read(scratch.path("a"), limit: 2)
    }
  }

  @Test func `the kind of a path`() throws {
    try Files.write([1, 2], to: scratch.path("a"), replacing: false)
    #expect(try Files.kind(of: scratch.path("a")) == .regular(size: 2))
    #expect(try Files.kind(of: scratch.folder) == .directory)
    #expect(try Files.kind(of: "/dev/null") == .other)
    #expect(try Files.kind(of: scratch.path("b")) == nil)
    #expect(try Files.kind(of: scratch.path("a/b")) == nil)
  }

  @Test func `an error says what could not be done and why`() throws {
    let error = #expect(throws: FileError.self) { _ = try File.reading(scratch.path("none")) }
    #expect(error?.description == "\(scratch.path("none")): cannot open: No such file or directory")
    #expect(error?.isNotFound == true)
  }

  @Test func `a lock has one holder and ends with it`() throws {
    try Files.write([], to: scratch.path("a"), replacing: false)
    let first = try File.reading(scratch.path("a"))
    let second = try File.reading(scratch.path("a"))
    #expect(try first.tryLock())
    #expect(try !second.tryLock())
    try first.close()
    #expect(try second.tryLock())
    try Files.remove(scratch.path("a"))
    #expect(try !second.isLinked())
  }

  @Test func `the digest of pieces is the digest of the whole`() throws {
    let stream = SHA256Stream()
    stream.update(Array("ab".utf8))
    stream.update(Array("c".utf8))
    #expect(stream.finish() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    try Files.write(Array("abc".utf8), to: scratch.path("a"), replacing: false)
    #expect(
      try SHA256Stream.hex(of: File.reading(scratch.path("a")))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }
}

@Suite struct MonitorTests {
  @Test func `a wait ends when the condition holds`() throws {
    let monitor = Monitor(0)
    let thread = try #require(
      WorkerThread {
        for _ in 0..<3 {
          monitor.withLock { $0 += 1 }
          monitor.notifyAll()
        }
      })
    #expect(monitor.withLock(when: { $0 == 3 }) { $0 } == 3)
    thread.join()
  }

  @Test func `a wait ends at its deadline`() {
    let monitor = Monitor(0)
    #expect(monitor.withLock(when: { $0 == 1 }, until: WorkerThread.monotonicNow()) { $0 } == 0)
  }
}
