import Testing

@testable import Storage

@Suite struct ZipTests {
  let scratch = Scratch()

  private func zip(_ name: String, _ members: [(String, [UInt8])]) throws {
    let file = try File.creating(scratch.path(name))
    let writer = try ZipWriter(to: file)
    for (name, bytes) in members { try writer.add(name, bytes) }
    try writer.close()
    try file.close()
  }

  private func members(_ name: String, _ mode: ZipReader.Mode) throws -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    let reader = try ZipReader(path: scratch.path(name), mode: mode)
    while let entry = try reader.next() { found[entry.name] = try reader.read(limit: 1 << 20) }
    try reader.close()
    try reader.close()
    return found
  }

  let content: [(String, [UInt8])] = [
    ("manifest.json", Array("{}".utf8)), ("empty", []), ("a/b", [UInt8](repeating: 7, count: 100_000)),
    // The mark of a data descriptor inside the data must not end the member.
    ("marks", [0x50, 0x4b, 0x07, 0x08] + [UInt8](repeating: 0x50, count: 50)),
  ]

  @Test(arguments: [ZipReader.Mode.seekable, .streaming]) func `members come back`(mode: ZipReader.Mode) throws {
    try zip("z", content)
    let found = try members("z", mode)
    #expect(found.count == content.count)
    for (name, bytes) in content { #expect(found[name] == bytes) }
  }

  @Test func `equal members give equal bytes, stored, dated 1 January 1980`() throws {
    try zip("a", content)
    try zip("b", content)
    let bytes = try Files.read(scratch.path("a"), limit: 1 << 20)
    #expect(try bytes == Files.read(scratch.path("b"), limit: 1 << 20))
    // Method, time and date of the first local header.
    #expect(Array(bytes[8..<14]) == [0, 0, 0, 0, 0x21, 0])
  }

  @Test func `a member above the limit is refused, one at the limit is read`() throws {
    try zip("z", [("a", [1, 2, 3])])
    let reader = try ZipReader(path: scratch.path("z"), mode: .streaming)
    _ = try reader.next()
    #expect(throws: ArchiveError.self) { try reader.read(limit: 2) }
    let again = try ZipReader(path: scratch.path("z"), mode: .streaming)
    _ = try again.next()
    #expect(try again.read(limit: 3) == [1, 2, 3])
  }

  @Test(arguments: [ZipReader.Mode.seekable, .streaming]) func `a flipped byte of content is an error`(mode: ZipReader.Mode) throws {
    try zip("z", content)
    var bytes = try Files.read(scratch.path("z"), limit: 1 << 20)
    bytes[bytes.count / 2] ^= 1
    try Files.write(bytes, to: scratch.path("z"), replacing: true)
    let error = #expect(throws: ArchiveError.self) { _ = try members("z", mode) }
    #expect(error?.code ?? 0 < 0)
  }

  @Test func `of a cut file streaming gives the members before the cut`() throws {
    try zip("z", content)
    let bytes = try Files.read(scratch.path("z"), limit: 1 << 20)
    try Files.write(Array(bytes[..<50_000]), to: scratch.path("z"), replacing: true)
    #expect(throws: ArchiveError.self) { _ = try members("z", .seekable) }
    let reader = try ZipReader(path: scratch.path("z"), mode: .streaming)
    #expect(try reader.next()?.name == "manifest.json")
    #expect(try reader.read(limit: 10) == Array("{}".utf8))
    #expect(try reader.next()?.name == "empty")
    #expect(try reader.next() == ZipReader.Entry(name: "a/b", size: 100_000))
    #expect(throws: ArchiveError.self) { _ = try reader.read(limit: 1 << 20) }
  }

  @Test func `pieces must add up to the stated size`() throws {
    let writer = try ZipWriter(to: File.creating(scratch.path("z")))
    #expect(throws: ArchiveError.self) {
      try writer.add("a", size: 3) { (write) throws(ArchiveError) in try write([1, 2]) }
    }
    let second = try ZipWriter(to: File.creating(scratch.path("y")))
    #expect(throws: ArchiveError.self) {
      try second.add("a", size: 3) { (write) throws(ArchiveError) in try write([1, 2, 3, 4]) }
    }
  }
}
