import Sockets

/// Why a capture cannot start. `description` is one line for a person.
package enum CaptureError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The upstream URL is none that can be captured.
  case invalidUpstream(text: String, problem: String)
  /// The address to listen on can be reached from other machines, and that was not allowed.
  case notLoopback(HostPort)
  case sockets(SocketError)

  package var description: String {
    switch self {
    case .invalidUpstream(let text, let problem): "'\(text)' cannot be captured: \(problem)"
    case .notLoopback(let place): "\(place) can be reached from other machines: allow that in words, or listen on 127.0.0.1"
    case .sockets(let error): error.description
    }
  }
}

/// The server behind a capture: `ws://host:port` or `http://host:port`, which mean the same. The client's own target is passed on
/// untouched, so that the URL has no path.
package struct UpstreamURL: Hashable, Sendable, CustomStringConvertible {
  /// `ws` or `http`, as it was written.
  package var scheme: String
  package var place: HostPort

  package init(_ text: String) throws(CaptureError) {
    func refused(_ problem: String) -> CaptureError { .invalidUpstream(text: text, problem: problem) }
    guard let separator = text.firstRange(of: "://") else { throw refused("it has no scheme; ws://host:port is meant") }
    scheme = text[..<separator.lowerBound].lowercased()
    switch scheme {
    case "ws", "http": break
    case "wss", "https": throw refused("\(scheme) (TLS) is not supported, only ws and http")
    default: throw refused("the scheme '\(scheme)' is neither ws nor http")
    }
    var rest = text[separator.upperBound...]
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    if rest.contains("@") { throw refused("credentials do not belong into it") }
    if rest.contains(where: { $0 == "/" || $0 == "?" || $0 == "#" }) {
      throw refused("it may have no path: the client's own path is passed on")
    }
    do {
      place = try HostPort(String(rest), defaultPort: 80)
    } catch {
      if case .invalidAddress(_, let problem) = error { throw refused(problem) }
      throw refused(error.description)
    }
    if place.port == 0 { throw refused("port 0 is no port of a server") }
  }

  /// As the `Host` field names it: without the port where it is 80.
  package var authority: String {
    if place.port != 80 { return place.description }
    return place.host.contains(":") ? "[\(place.host)]" : place.host
  }

  package var description: String { "\(scheme)://\(authority)" }
}
