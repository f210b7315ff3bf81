import Testing

@testable import Storage

@Suite struct ZstdTests {
  @Test(arguments: [0, 1, 100_000]) func `a frame gives back its bytes`(count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 3) }
    let frame = try Zstd.compress(bytes, level: 9)
    #expect(try Zstd.decompress(frame, limit: count) == bytes)
    #expect(try Zstd.compress(bytes, level: 9) == frame)
  }
}
