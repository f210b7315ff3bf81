import Testing

@testable import Storage

@Suite struct ZstdTests {
  @Test(arguments: [0, 1, 100_000]) func `a frame gives back its bytes`(count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 3) }
    let frame = try Zstd.compress(bytes, level: 9)
    #expect(try Zstd.decompress(frame, limit: count) == bytes)
    #expect(try Zstd.compress(bytes, level: 9) == frame)
  }

  @Test func `a frame that holds more than the limit is refused before it is unpacked`() throws {
    // 64 MiB of zeros in a few kilobytes.
    let bomb = try Zstd.compress([UInt8](repeating: 0, count: 64 << 20), level: 1)
    #expect(bomb.count < 16 << 10)
    #expect(throws: ZstdError(reason: "the frame holds 67108864 bytes, more than the 67108863 allowed")) {
      try Zstd.decompress(bomb, limit: (64 << 20) - 1)
    }
    #expect(throws: ZstdError.self) { try Zstd.decompress(bomb, limit: -1) }
  }

  @Test func `what is no frame, cut or followed by more is refused`() throws {
    let frame = try Zstd.compress(Array("hello hello hello hello".utf8), level: 9)
    #expect(throws: ZstdError.self) { try Zstd.decompress([], limit: 100) }
    #expect(throws: ZstdError.self) { try Zstd.decompress(Array("hello hello".utf8), limit: 100) }
    #expect(throws: ZstdError.self) { try Zstd.decompress(frame + frame, limit: 100) }
    for count in 0..<frame.count {
      #expect(throws: ZstdError.self) { try Zstd.decompress(Array(frame[..<count]), limit: 100) }
    }
  }

  @Test func `every flipped byte of content or checksum is noticed`() throws {
    let bytes = (0..<2_000).map { UInt8(truncatingIfNeeded: $0 * $0 / 7) }
    let frame = try Zstd.compress(bytes, level: 3)
    for index in frame.indices {
      var damaged = frame
      damaged[index] ^= 0x20
      // A flip in the header may leave the content as it is; other content must never come out.
      if let out = try? Zstd.decompress(damaged, limit: 4_000) { #expect(out == bytes) }
    }
  }

  @Test func `a frame that hides its size is refused`() {
    // Magic, descriptor without size, window, one raw last block of 1 byte.
    let frame: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x09, 0x00, 0x00, 0x41]
    #expect(throws: ZstdError(reason: "the frame does not state its size")) { try Zstd.decompress(frame, limit: 100) }
  }
}
