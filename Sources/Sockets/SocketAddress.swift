import Glibc

/// Why a socket could not be had or used. `description` is one line for a person.
package enum SocketError: Error, Hashable, Sendable, CustomStringConvertible {
  /// `text` is no `host:port`.
  case invalidAddress(text: String, problem: String)
  /// The name has no address; `problem` is the resolver's word.
  case unresolved(host: String, problem: String)
  /// The port is taken by another process.
  case addressInUse(HostPort)
  /// Any other refusal of the system to listen.
  case cannotListen(HostPort, problem: String)
  /// The system gives no event loop, timer or socket.
  case noResources(String)

  package var description: String {
    switch self {
    case .invalidAddress(let text, let problem): "'\(text)' is not an address of the form host:port: \(problem)"
    case .unresolved(let host, let problem): "cannot find the address of '\(host)': \(problem)"
    case .addressInUse(let address): "cannot listen on \(address): the port is in use"
    case .cannotListen(let address, let problem): "cannot listen on \(address): \(problem)"
    case .noResources(let problem): "the system gives no sockets: \(problem)"
    }
  }
}

/// The host and port of an end point as a person writes them: `127.0.0.1:8080`, `[::1]:0`, `localhost:80`.
package struct HostPort: Hashable, Sendable, CustomStringConvertible {
  /// Name or numeric address, without brackets.
  package var host: String
  package var port: UInt16

  package init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Reads `host:port` or `[address]:port`. A missing port is `defaultPort`, if there is one.
  package init(_ text: String, defaultPort: UInt16? = nil) throws(SocketError) {
    func refused(_ problem: String) -> SocketError { .invalidAddress(text: text, problem: problem) }
    let host: Substring
    var rest: Substring
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { throw refused("a bracket is not closed") }
      host = text[text.index(after: text.startIndex)..<end]
      rest = text[text.index(after: end)...]
    } else {
      let end = text.firstIndex(of: ":") ?? text.endIndex
      host = text[..<end]
      rest = text[end...]
      if rest.dropFirst().contains(":") { throw refused("an IPv6 address stands in brackets") }
    }
    guard !host.isEmpty else { throw refused("the host is missing") }
    guard !host.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "@") }) else {
      throw refused("the host holds a character that no host has")
    }
    if rest.isEmpty {
      guard let defaultPort else { throw refused("the port is missing") }
      self.init(host: String(host), port: defaultPort)
      return
    }
    guard rest.first == ":" else { throw refused("after the host comes a colon") }
    rest = rest.dropFirst()
    guard rest.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(rest) else {
      throw refused("the port is not a number from 0 to 65535")
    }
    self.init(host: String(host), port: port)
  }

  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// A resolved internet address with its port.
package struct SocketAddress: Sendable {
  private var storage: sockaddr_storage
  private var length: socklen_t

  /// Copies a system address; addresses longer than the storage are cut, which no internet address is.
  init(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
    storage = sockaddr_storage()
    let count = min(Int(length), MemoryLayout<sockaddr_storage>.size)
    withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: count)) }
    self.length = socklen_t(count)
  }

  /// The address that `socket` is bound to, or nil.
  init?(localOf socket: Int32) {
    storage = sockaddr_storage()
    length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var size = length
    let status = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) }
    }
    if status != 0 { return nil }
    length = size
  }

  /// The addresses of a host, in the resolver's order. Blocks while a name is looked up; numeric addresses do not.
  package static func resolve(_ place: HostPort) throws(SocketError) -> [SocketAddress] {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(place.host, String(place.port), &hints, &list)
    guard code == 0 else { throw .unresolved(host: place.host, problem: String(cString: gai_strerror(code))) }
    defer { freeaddrinfo(list) }
    var found: [SocketAddress] = []
    var next = list
    while let entry = next {
      if let address = entry.pointee.ai_addr { found.append(SocketAddress(copying: address, length: entry.pointee.ai_addrlen)) }
      next = entry.pointee.ai_next
    }
    guard !found.isEmpty else { throw .unresolved(host: place.host, problem: "it has no internet address") }
    return found
  }

  func withSystemAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    withUnsafePointer(to: storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }

  /// Numeric host and port.
  package var place: HostPort {
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var service = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    let status = withSystemAddress {
      getnameinfo($0, $1, &host, socklen_t(host.count), &service, socklen_t(service.count), NI_NUMERICHOST | NI_NUMERICSERV)
    }
    if status != 0 { return HostPort(host: "?", port: 0) }
    return HostPort(host: text(host), port: UInt16(text(service)) ?? 0)
  }

  /// Whether only this machine can reach it (127.0.0.0/8, ::1, and the first in IPv6 form).
  package var isLoopback: Bool {
    let host = place.host
    return host.hasPrefix("127.") || host == "::1" || host.hasPrefix("::ffff:127.")
  }

  private func text(_ buffer: [CChar]) -> String {
    String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
