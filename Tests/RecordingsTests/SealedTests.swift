import Simulation
import Storage
import Testing
import Wire

@testable import Recordings

@Suite struct SealedTests {
  let scratch = Scratch()

  @Test func `any payload, kind and flag comes back as it was`() throws {
    try seal(oddFrames, scratch)
    let recording = try Recording.open(scratch.path("a.chatrec"))
    let (frames, damage) = try recording.frames()
    #expect(damage == nil)
    #expect(frames == numbered(oddFrames))
    #expect(recording.isSealed)
    #expect(recording.manifest.facts == testFacts)
    #expect(recording.manifest.frames == oddFrames.count)
  }

  @Test func `a payload of 10 MiB survives`() throws {
    let large = frame(noise(10 << 20), kind: .binary)
    try seal([frame("a"), large, frame("b")], scratch)
    let (frames, damage) = try Recording.open(scratch.path("a.chatrec")).frames()
    #expect(damage == nil)
    #expect(frames == numbered([frame("a"), large, frame("b")]))
  }

  @Test func `journal, seal and read give what was appended`() throws {
    let journal = scratch.path("x.chatrec.journal")
    let writer = try JournalWriter(path: journal, facts: testFacts, redactor: .off)
    for (index, frame) in oddFrames.enumerated() { #expect(try writer.append(frame) == index + 1) }
    try writer.close()
    let unsealed = try Recording.open(journal)
    #expect(!unsealed.isSealed)
    #expect(try unsealed.frames().frames == numbered(oddFrames))
    let sealed = try Seal.seal(journal: journal)
    #expect(sealed.path == scratch.path("x.chatrec"))
    #expect(scratch.names == ["x.chatrec"])
    let recording = try Recording.open(sealed.path)
    #expect(try recording.frames().frames == numbered(oddFrames))
    #expect(recording.manifest.facts == unsealed.manifest.facts)
    #expect(recording.manifest.connections == unsealed.manifest.connections)
    #expect(try recording.hash() == sealed.hash)
    #expect(try SHA256Digest.hex(scratch.bytes("x.chatrec")) == sealed.hash)
  }
}
