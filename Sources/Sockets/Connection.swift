import CEvent
import Glibc
import Simulation

/// How the peer's direction of a connection ended.
package enum ConnectionEnd: Hashable, Sendable {
  /// The peer said in order that nothing more comes.
  case finished
  /// The connection broke, or could not be made; the system's words.
  case broken(String)
}

/// One TCP connection on a loop. Its closures are called on the loop; `close` and `abort` release them.
///
/// Bytes that arrive wait in the input until they are dropped or forwarded; bytes written wait in the output. Both are chains of
/// blocks: forwarding moves blocks without a copy.
package final class Connection {
  private let loop: EventLoop
  private var handle: OpaquePointer?
  private var finishesWriting = false
  private var endsWithReset = false
  private var closesWhenDrained = false
  private var holdsItself: Connection?
  private var peerHasEnded = false
  private var connectionIsLost = false
  private var lastWait: LoopTimer?

  /// An outgoing connection is usable.
  package var onConnected: (() -> Void)?
  /// New bytes are in the input.
  package var onInput: (() -> Void)?
  /// The output fell to or below the low mark.
  package var onDrained: (() -> Void)?
  /// The peer's direction ended, or the connection is lost. What came before is still in the input.
  package var onEnd: ((ConnectionEnd) -> Void)?

  /// The output is called drained at this many bytes.
  package static let lowMark = 64 * 1024
  /// The input holds at most about this many bytes; then the peer has to wait.
  package static let inputLimit = 256 * 1024
  /// How long a peer that is told the end may go on sending.
  private static let longestLastWait = Interval.seconds(2)

  /// Takes over an accepted or new socket (−1: one is made when it connects).
  private init(_ loop: EventLoop, socket: Int32) throws(SocketError) {
    self.loop = loop
    guard let handle = bufferevent_socket_new(loop.base, socket, Int32(bitPattern: BEV_OPT_CLOSE_ON_FREE.rawValue)) else {
      throw .noResources("no memory for a connection")
    }
    self.handle = handle
    bufferevent_setcb(
      handle, { Connection.from($1)?.onInput?() }, { Connection.from($1)?.drained() }, { Connection.from($2)?.happened($1) },
      Unmanaged.passUnretained(self).toOpaque())
    bufferevent_setwatermark(handle, Int16(EV_READ), 0, Connection.inputLimit)
    bufferevent_setwatermark(handle, Int16(EV_WRITE), Connection.lowMark, 0)
    bufferevent_set_max_single_read(handle, 64 * 1024)
    bufferevent_set_max_single_write(handle, 256 * 1024)
  }

  /// An accepted connection; it reads at once.
  convenience init(_ loop: EventLoop, accepted socket: Int32) throws(SocketError) {
    try self.init(loop, socket: socket)
    sendWithoutDelay()
    isReading = true
  }

  /// Begins to connect. `onConnected` or `onEnd` follows; bytes written before are sent then.
  package convenience init(_ loop: EventLoop, to address: SocketAddress) throws(SocketError) {
    try self.init(loop, socket: -1)
    let status = address.withSystemAddress { bufferevent_socket_connect(handle, UnsafeMutablePointer(mutating: $0), Int32($1)) }
    if status != 0 { throw .noResources(systemMessage(errno)) }
    isReading = true
  }

  deinit { if let handle { bufferevent_free(handle) } }

  private static func from(_ context: UnsafeMutableRawPointer?) -> Connection? {
    context.map { Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue() }
  }

  // MARK: Input

  /// Bytes that wait in the input.
  package var inputCount: Int { handle.map { evbuffer_get_length(bufferevent_get_input($0)) } ?? 0 }

  /// Shows the first block of the input, or with `whole` all of it (which copies blocks together). The pointer dies with the call.
  package func withInput<Result>(whole: Bool = false, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    guard let handle else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
    let input = bufferevent_get_input(handle)
    let count = whole ? evbuffer_get_length(input) : evbuffer_get_contiguous_space(input)
    let start = count == 0 ? nil : evbuffer_pullup(input, count)
    return body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
  }

  /// Removes the first bytes of the input.
  package func drop(_ count: Int) {
    if let handle { evbuffer_drain(bufferevent_get_input(handle), count) }
  }

  /// Moves the first bytes of the input to the output of `other`.
  package func forward(_ count: Int, to other: Connection) {
    guard let handle, let target = other.handle else { return drop(count) }
    _ = evbuffer_remove_buffer(bufferevent_get_input(handle), bufferevent_get_output(target), count)
  }

  /// Whether the peer's bytes are taken in; off, the peer has to wait.
  package var isReading: Bool {
    get { handle.map { Int32(bufferevent_get_enabled($0)) & EV_READ != 0 } ?? false }
    set {
      guard let handle, newValue != isReading else { return }
      if newValue { bufferevent_enable(handle, Int16(EV_READ)) } else { bufferevent_disable(handle, Int16(EV_READ)) }
    }
  }

  // MARK: Output

  /// Bytes that wait in the output.
  package var outputCount: Int { handle.map { evbuffer_get_length(bufferevent_get_output($0)) } ?? 0 }

  package func write(_ bytes: [UInt8]) { bytes.withUnsafeBytes { write($0) } }

  package func write(_ bytes: UnsafeRawBufferPointer) {
    guard let handle, !bytes.isEmpty else { return }
    bufferevent_write(handle, bytes.baseAddress, bytes.count)
  }

  /// Says that nothing more comes, when the output is empty. The peer may still send.
  package func finishWriting() {
    finishesWriting = true
    if outputCount == 0 { shutDownWriting() }
  }

  // MARK: End

  /// Whether `close`, `abort` or their deferred form is done.
  package var isClosed: Bool { handle == nil }

  /// Closes at once; what waits in the output is lost.
  package func close() {
    guard let handle else { return }
    if endsWithReset { resetOnClose() }
    bufferevent_setcb(handle, nil, nil, nil, nil)
    bufferevent_free(handle)
    self.handle = nil
    onConnected = nil
    onInput = nil
    onDrained = nil
    onEnd = nil
    lastWait = nil
    holdsItself = nil
  }

  /// Closes so that the peer sees a reset, not an end in order.
  package func abort() {
    endsWithReset = true
    close()
  }

  /// Lets the connection go: it sends what waits in the output, then ends (with a reset when `reset`). Until then it keeps itself.
  package func closeWhenDrained(reset: Bool = false) {
    guard handle != nil else { return }
    endsWithReset = endsWithReset || reset
    if connectionIsLost { return close() }
    onConnected = nil
    onDrained = nil
    onInput = { [weak self] in self.map { $0.drop($0.inputCount) } }
    onEnd = { [weak self] _ in self?.peerEnded() }
    drop(inputCount)
    closesWhenDrained = true
    holdsItself = self
    if outputCount == 0 { endAfterOutput() }
  }

  /// The output is empty. Closing while the peer still sends would be a reset, which can take the last bytes from the peer: so it is
  /// told the end and has a moment to end too.
  private func endAfterOutput() {
    if endsWithReset || peerHasEnded { return close() }
    shutDownWriting()
    isReading = true
    lastWait = try? loop.timer { [weak self] in self?.close() }
    guard let lastWait else { return close() }
    lastWait.arm(after: Connection.longestLastWait)
  }

  private func peerEnded() {
    if outputCount == 0 || connectionIsLost { close() }
  }

  /// The numeric address of this end.
  package var local: HostPort? { handle.flatMap { SocketAddress(localOf: bufferevent_getfd($0))?.place } }

  private func drained() {
    if outputCount == 0 {
      if closesWhenDrained { return endAfterOutput() }
      if finishesWriting { shutDownWriting() }
    }
    onDrained?()
  }

  private func happened(_ what: Int16) {
    let what = Int32(what)
    if what & BEV_EVENT_CONNECTED != 0 {
      sendWithoutDelay()
      onConnected?()
      return
    }
    let code = errno
    if what & BEV_EVENT_EOF != 0 {
      peerHasEnded = true
      onEnd?(.finished)
    } else if what & BEV_EVENT_ERROR != 0 {
      peerHasEnded = true
      connectionIsLost = true
      onEnd?(.broken(code == 0 ? "the connection is lost" : systemMessage(code)))
    }
  }

  private func shutDownWriting() {
    guard let handle else { return }
    finishesWriting = false
    shutdown(bufferevent_getfd(handle), Int32(SHUT_WR))
  }

  private func sendWithoutDelay() {
    guard let handle else { return }
    var on: Int32 = 1
    setsockopt(bufferevent_getfd(handle), Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  private func resetOnClose() {
    guard let handle else { return }
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(bufferevent_getfd(handle), SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}

/// A listening socket on a loop; it lives until `close` or until it is released.
package final class Listener {
  private let loop: EventLoop
  private var handle: OpaquePointer?
  private let accepted: (Connection) -> Void
  private var pause: LoopTimer?
  /// The address that it is bound to, with the port that the system chose for 0.
  package private(set) var place: HostPort

  /// Listens on an address; `accepted` is called with each connection.
  package init(_ loop: EventLoop, on address: SocketAddress, accepted: @escaping (Connection) -> Void) throws(SocketError) {
    self.loop = loop
    self.accepted = accepted
    place = address.place
    let callback: evconnlistener_cb = { _, socket, _, _, context in
      guard let context else { return }
      Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue().accept(socket)
    }
    let flags = UInt32(LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE)
    let context = Unmanaged.passUnretained(self).toOpaque()
    handle = address.withSystemAddress { evconnlistener_new_bind(loop.base, callback, context, flags, 1_024, $0, Int32($1)) }
    guard let handle else {
      throw errno == EADDRINUSE ? .addressInUse(address.place) : .cannotListen(address.place, problem: systemMessage(errno))
    }
    if let bound = SocketAddress(localOf: evconnlistener_get_fd(handle)) { place = bound.place }
    // Out of file descriptors, the listener would be called without end: it rests for a moment instead.
    pause = try loop.timer { [weak self] in
      if let handle = self?.handle { evconnlistener_enable(handle) }
    }
    evconnlistener_set_error_cb(handle) { handle, context in
      guard let context else { return }
      evconnlistener_disable(handle)
      Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue().pause?.arm(after: .milliseconds(100))
    }
  }

  deinit { close() }

  package func close() {
    if let handle { evconnlistener_free(handle) }
    handle = nil
    pause = nil
  }

  private func accept(_ socket: Int32) {
    guard let connection = try? Connection(loop, accepted: socket) else {
      Glibc.close(socket)
      return
    }
    accepted(connection)
  }
}
