import CCrypto

/// SHA-256 of bytes that come in pieces.
package final class SHA256Stream {
  private let context: OpaquePointer

  package init() {
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      fatalError("libcrypto refuses SHA-256")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  package func update(_ bytes: [UInt8]) {
    guard EVP_DigestUpdate(context, bytes, bytes.count) == 1 else { fatalError("libcrypto refuses SHA-256") }
  }

  /// 64 lower-case hexadecimal digits; ends the stream.
  package func finish() -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    guard EVP_DigestFinal_ex(context, &digest, &length) == 1 else { fatalError("libcrypto refuses SHA-256") }
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// The digest of a whole file, in constant memory.
  package static func hex(of file: File) throws(FileError) -> String {
    let stream = SHA256Stream()
    var offset = 0
    while true {
      let piece = try file.read(at: offset, count: 1 << 20)
      if piece.isEmpty { return stream.finish() }
      stream.update(piece)
      offset += piece.count
    }
  }
}
