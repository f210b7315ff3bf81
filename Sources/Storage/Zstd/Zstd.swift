import CZstd

/// A zstd call that failed. `code` is libzstd's error number, 0 where the refusal is ours.
package struct ZstdError: Error, Hashable, Sendable, CustomStringConvertible {
  package var code: Int
  package var reason: String

  package init(code: Int = 0, reason: String) {
    self.code = code
    self.reason = reason
  }

  package var description: String { "zstd: \(reason)" }
}

/// One zstd frame at a time: with checksum and content size, so that damage shows and a bound can be kept before allocation.
package enum Zstd {
  /// Compresses `bytes` into one frame at `level` (1…19). Equal bytes and levels give equal frames.
  package static func compress(_ bytes: [UInt8], level: Int) throws(ZstdError) -> [UInt8] {
    guard let context = ZSTD_createCCtx() else { throw ZstdError(reason: "out of memory") }
    defer { ZSTD_freeCCtx(context) }
    try check(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, Int32(clamping: level)))
    try check(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1))
    let bound = ZSTD_compressBound(bytes.count)
    var result = 0
    let frame = [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
      result = ZSTD_compress2(context, buffer.baseAddress, bound, bytes, bytes.count)
      count = ZSTD_isError(result) == 0 ? result : 0
    }
    try check(result)
    return frame
  }

  /// The content of exactly one frame that states its size. A size above `limit` is refused before anything is allocated.
  package static func decompress(_ frame: [UInt8], limit: Int) throws(ZstdError) -> [UInt8] {
    let stated = ZSTD_getFrameContentSize(frame, frame.count)
    // The two largest values stand for "unknown" and "not a frame".
    guard stated != UInt64.max - 1 else { throw ZstdError(reason: "not a zstd frame") }
    guard stated != UInt64.max else { throw ZstdError(reason: "the frame does not state its size") }
    guard stated <= UInt64(max(0, limit)) else {
      throw ZstdError(reason: "the frame holds \(stated) bytes, more than the \(limit) allowed")
    }
    let length = ZSTD_findFrameCompressedSize(frame, frame.count)
    try check(length)
    guard length == frame.count else { throw ZstdError(reason: "\(frame.count - length) bytes follow the frame") }
    let size = Int(stated)
    var result = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      result = ZSTD_decompress(buffer.baseAddress, size, frame, frame.count)
      count = ZSTD_isError(result) == 0 ? min(result, size) : 0
    }
    try check(result)
    guard result == size else { throw ZstdError(reason: "the frame holds \(result) bytes and states \(size)") }
    return bytes
  }

  /// Every result of libzstd passes here.
  private static func check(_ result: Int) throws(ZstdError) {
    guard ZSTD_isError(result) != 0 else { return }
    throw ZstdError(code: Int(ZSTD_getErrorCode(result).rawValue), reason: String(cString: ZSTD_getErrorName(result)))
  }
}
