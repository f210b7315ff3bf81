import Glibc
import Proxy
import Simulation
import Sockets
import Wire

/// Keeps frames in memory.
package final class MemorySink: FrameSink {
  package private(set) var frames: [Frame] = []
  /// Refuses frames from this sequence on.
  package var refusesFrom = Int.max

  package struct Refusal: Error {}

  package init() {}

  package func append(_ frame: Frame) throws -> Int {
    var frame = frame
    frame.sequence = frames.count + 1
    if frame.sequence >= refusesFrom { throw Refusal() }
    frames.append(frame)
    return frame.sequence
  }

  package func all(_ kind: FrameKind, _ direction: Direction? = nil) -> [Frame] {
    frames.filter { $0.kind == kind && (direction == nil || $0.direction == direction) }
  }
}

/// A program that runs beside a test; its standard output goes to a file of its own.
package final class Peer {
  private let process: pid_t
  private var status: Int32?
  private let path: String

  package init(_ arguments: [String]) throws {
    var template = Array("/tmp/chatbench-peer-XXXXXX".utf8CString)
    let file = mkstemp(&template)
    guard file >= 0 else { throw SocketError.noResources("no temporary file") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, file, 1)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      close(file)
    }
    var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    var process: pid_t = 0
    let code = posix_spawnp(&process, arguments[0], &actions, nil, pointers, environ)
    guard code == 0 else {
      unlink(path)
      throw SocketError.noResources("cannot start \(arguments[0])")
    }
    self.process = process
  }

  deinit {
    if exitStatus == nil {
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
    }
    unlink(path)
  }

  /// The status after the end, or nil while it runs; 128 + n after signal n.
  package var exitStatus: Int32? {
    if let status { return status }
    var raw: Int32 = 0
    if waitpid(process, &raw, WNOHANG) == process { status = raw & 0x7f == 0 ? raw >> 8 & 0xff : 128 + raw & 0x7f }
    return status
  }

  package func send(signal: Int32) { kill(process, signal) }

  /// The complete lines that it has printed so far.
  package var lines: [String] {
    var bytes: [UInt8] = []
    let file = open(path, O_RDONLY)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(file, &buffer, buffer.count)
      if count <= 0 { break }
      bytes.append(contentsOf: buffer[..<count])
    }
    let end = bytes.lastIndex(of: 0x0a) ?? 0
    return bytes[..<end].split(separator: 0x0a).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Each line of output as JSON.
  package var reports: [JSON] { lines.compactMap { try? JSONReader.value($0) } }

  /// Whether `python3` has the package `websockets`; prints why not.
  package static let hasWebSockets: Bool = {
    guard let peer = try? Peer(["python3", "-c", "import websockets.asyncio.server, websockets.asyncio.client"]) else {
      print("skipped: there is no python3")
      return false
    }
    while peer.exitStatus == nil { usleep(10_000) }
    if peer.exitStatus != 0 { print("skipped: python3 has no package websockets (pip install websockets)") }
    return peer.exitStatus == 0
  }()
}

extension EventLoop {
  /// Runs until `isDone`, asked at least each 5 ms, or until 20 s have passed; returns whether it was done.
  package func wait(until isDone: () -> Bool) throws -> Bool {
    let end = EventLoop.monotonicNanoseconds + 20_000_000_000
    let ticker = Ticker()
    ticker.timer = try timer { ticker.timer?.arm(after: .milliseconds(5)) }
    ticker.timer?.arm(after: .zero)
    var isDoneNow = false
    run {
      isDoneNow = isDone()
      return isDoneNow || EventLoop.monotonicNanoseconds > end
    }
    ticker.timer = nil
    return isDoneNow
  }

  private final class Ticker {
    var timer: LoopTimer?
  }
}
