import CCrypto

/// SHA-256 by OpenSSL's libcrypto.
package enum SHA256Digest {
  /// 64 lower-case hexadecimal digits.
  package static func hex(_ bytes: [UInt8]) -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    guard EVP_Digest(bytes, bytes.count, &digest, &length, EVP_sha256(), nil) == 1 else {
      fatalError("libcrypto refuses SHA-256")
    }
    return Hexadecimal.text(digest)
  }
}

/// Bytes as lower-case hexadecimal digits, two a byte.
package enum Hexadecimal {
  private static let digits = Array("0123456789abcdef".utf8)

  package static func text(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(2 * bytes.count)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
