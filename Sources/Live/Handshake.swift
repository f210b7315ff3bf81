import CCrypto
import Proxy

/// The opening handshake of a WebSocket (RFC 6455, 4), both sides, without I/O.
package enum Handshake {
  /// What the server answers to a key.
  package static func accept(for key: String) -> String {
    let bytes = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
    var digest = [UInt8](repeating: 0, count: 20)
    var length: UInt32 = 0
    guard EVP_Digest(bytes, bytes.count, &digest, &length, EVP_sha1(), nil) == 1 else { fatalError("libcrypto refuses SHA-1") }
    return base64(digest)
  }

  /// The request of a client; `host` as the `Host` field names it.
  static func request(target: String, host: String, key: String) -> [UInt8] {
    Array(
      ("GET \(target) HTTP/1.1\r\nHost: \(host)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: \(key)\r\n"
        + "Sec-WebSocket-Version: 13\r\n\r\n").utf8)
  }

  /// A fresh key. It proves that the answer is one to this request and keeps no secret.
  static func makeKey() -> String { base64((0..<16).map { _ in UInt8.random(in: 0...255) }) }

  /// The answer to a request: 101 when it is a good one for a WebSocket, else a refusal.
  package static func answer(_ head: HTTPHead) -> (bytes: [UInt8], isAccepted: Bool) {
    guard head.isWebSocketUpgrade else {
      return (refusal("426 Upgrade Required", "Upgrade: websocket\r\n", "a WebSocket is spoken here"), false)
    }
    guard head["Sec-WebSocket-Version"] == "13" else {
      return (refusal("426 Upgrade Required", "Sec-WebSocket-Version: 13\r\n", "version 13 is spoken here"), false)
    }
    guard let key = head["Sec-WebSocket-Key"], key.utf8.count == 24 else { return (refusal("400 Bad Request", "", "no usable key"), false) }
    // A client that offers subprotocols gives up when none is chosen.
    let first = head["Sec-WebSocket-Protocol"]?.split(separator: ",").first.map { $0.filter { $0 != " " } }
    let chosen = first.map { "Sec-WebSocket-Protocol: \($0)\r\n" } ?? ""
    let text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
    return (Array((text + "\(accept(for: key))\r\n\(chosen)\r\n").utf8), true)
  }

  private static func refusal(_ status: String, _ field: String, _ why: String) -> [UInt8] {
    let head = "HTTP/1.1 \(status)\r\n\(field)Content-Type: text/plain; charset=utf-8\r\nContent-Length: \(why.utf8.count + 1)\r\n"
    return Array((head + "Connection: close\r\n\r\n\(why)\n").utf8)
  }

  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  private static func base64(_ bytes: [UInt8]) -> String {
    var out: [UInt8] = []
    var index = 0
    while index < bytes.count {
      let count = min(3, bytes.count - index)
      var word = UInt32(bytes[index]) << 16
      if count > 1 { word |= UInt32(bytes[index + 1]) << 8 }
      if count > 2 { word |= UInt32(bytes[index + 2]) }
      for place in 0..<4 { out.append(place <= count ? digits[Int(word >> (18 - 6 * UInt32(place)) & 63)] : UInt8(ascii: "=")) }
      index += 3
    }
    return String(decoding: out, as: UTF8.self)
  }
}
