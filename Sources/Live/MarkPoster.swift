import Proxy
import Simulation
import Sockets
import Wire

/// Posts marks to a capture's marks listener, one after the other on one connection. A mark that cannot be posted is given up: it is
/// a note, and the session goes on.
final class MarkPoster {
  private let loop: EventLoop
  private let place: HostPort
  private let target: String
  private let address: SocketAddress
  private let timer: LoopTimer
  private var connection: Connection?
  private var reader = HTTPMessageReader(.responses, bodyLimit: 0)
  private var done: ((Bool) -> Void)?

  /// How long a listener has to answer.
  private static let patience = Interval.milliseconds(500)

  /// `url` is `http://host:port/path`.
  init(_ loop: EventLoop, url: String) throws(LiveError) {
    guard url.hasPrefix("http://") else { throw .invalidURL("'\(url)' is no place for marks: http://host:port is meant") }
    let rest = url.dropFirst("http://".count)
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    target = slash == rest.endIndex ? "/" : String(rest[slash...])
    let fire = WeakPoster()
    do throws(SocketError) {
      place = try HostPort(String(rest[..<slash]), defaultPort: 80)
      address = try SocketAddress.resolve(place)[0]
      timer = try loop.timer { fire.poster?.finish(false) }
    } catch {
      throw .sockets(error)
    }
    self.loop = loop
    fire.poster = self
  }

  /// Posts a body; `done` is called once, with whether it was taken.
  func post(_ body: [UInt8], done: @escaping (Bool) -> Void) {
    self.done = done
    timer.arm(after: MarkPoster.patience)
    guard let connection = connection ?? connect() else { return finish(false) }
    let head = "POST \(target) HTTP/1.1\r\nHost: \(place)\r\nContent-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n"
    connection.write(Array(head.utf8) + body)
  }

  func close() {
    done = nil
    timer.disarm()
    connection?.close()
    connection = nil
  }

  private func connect() -> Connection? {
    guard let made = try? Connection(loop, to: address) else { return nil }
    made.onInput = { [weak self] in self?.takeAnswer() }
    made.onEnd = { [weak self] _ in self?.finish(false) }
    connection = made
    return made
  }

  private func takeAnswer() {
    guard let connection else { return }
    while connection.inputCount > 0 {
      let (count, progress) = connection.withInput { ($0.count, reader.feed($0)) }
      switch progress {
      case .more: connection.drop(count)
      case .complete(let taken):
        connection.drop(taken)
        let status = reader.head.status
        reader.next()
        if status >= 200 { return finish(status == 204 || status == 200) }
      case .invalid: return finish(false)
      }
    }
  }

  private func finish(_ wasTaken: Bool) {
    timer.disarm()
    if !wasTaken {
      connection?.close()
      connection = nil
      reader.next()
    }
    let done = done
    self.done = nil
    done?(wasTaken)
  }

  private final class WeakPoster {
    weak var poster: MarkPoster?
  }
}
