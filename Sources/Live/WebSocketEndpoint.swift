import CWslay
import Proxy
import Simulation
import Sockets
import Wire

/// One end of a WebSocket on a connection: handshake, then messages by wslay, which frames, masks, puts fragments together, checks
/// UTF-8, answers pings and echoes a close. The closures are called on the loop.
final class WebSocketEndpoint {
  enum Role: Hashable, Sendable {
    /// Waits for a request.
    case server
    /// Sends this request; `key` is the one in it.
    case client(request: [UInt8], key: String)
  }

  /// How it ended: 1006 without a close frame, 1005 for one without a code.
  struct End: Hashable, Sendable {
    var code: Int
    var reason: String
    /// The peer said it, or went away.
    var byPeer: Bool
  }

  private enum Phase {
    case handshake
    /// The server has the request; its owner says when to go on.
    case asked
    case open
    case over
  }

  /// The longest message that is taken in.
  private static let messageLimit: UInt64 = 256 << 20

  private let connection: Connection
  private let role: Role
  private let reader: HTTPMessageReader
  private var phase = Phase.handshake
  private var context: wslay_event_context_ptr?
  private var arrived: [(kind: FrameKind, payload: [UInt8])] = []
  private var closeReceived: (code: Int, reason: String)?
  private var closeSent = false

  /// The server side: a good request came. `open()` answers it.
  var onRequest: ((HTTPHead) -> Void)?
  /// The client side: the WebSocket is there.
  var onOpen: (() -> Void)?
  var onMessage: ((FrameKind, [UInt8]) -> Void)?
  /// Runs the handling of one read: messages that came together belong to one instant.
  var aroundRead: ((() -> Void) -> Void)?
  /// Called once, unless this side lets go first.
  var onEnd: ((End) -> Void)?

  init(_ connection: Connection, _ role: Role) {
    self.connection = connection
    self.role = role
    reader = HTTPMessageReader(role == .server ? .requests : .responses, bodyLimit: 0)
    if case .client(let request, _) = role { connection.write(request) }
    connection.onInput = { [weak self] in self?.takeInput() }
    connection.onEnd = { [weak self] in self?.connectionEnded($0) }
  }

  deinit { if let context { wslay_event_context_free(context) } }

  // MARK: Handshake

  private func takeInput() {
    switch phase {
    case .handshake: takeHandshake()
    case .asked: break
    case .open: if let aroundRead { aroundRead { receive() } } else { receive() }
    case .over: connection.drop(connection.inputCount)
    }
  }

  private func takeHandshake() {
    while connection.inputCount > 0, case .handshake = phase {
      let (count, progress) = connection.withInput { ($0.count, reader.feed($0)) }
      switch progress {
      case .more: connection.drop(count)
      case .complete(let taken):
        connection.drop(taken)
        handshakeRead()
      case .invalid: end(End(code: 1006, reason: "no HTTP answer", byPeer: true))
      }
    }
  }

  private func handshakeRead() {
    switch role {
    case .server:
      let answer = Handshake.answer(reader.head)
      guard answer.isAccepted else {
        phase = .over
        connection.write(answer.bytes)
        connection.closeWhenDrained()
        onEnd?(End(code: 1006, reason: "refused", byPeer: false))
        return release()
      }
      phase = .asked
      onRequest?(reader.head)
    case .client(_, let key):
      let head = reader.head
      guard head.status == 101, head.isWebSocketUpgrade, head["Sec-WebSocket-Accept"] == Handshake.accept(for: key) else {
        return end(End(code: 1006, reason: "refused with status \(head.status)", byPeer: true))
      }
      begin()
      onOpen?()
      receive()
    }
  }

  /// The server side: answers the request; messages flow from now on.
  func open() {
    guard case .asked = phase else { return }
    connection.write(Handshake.answer(reader.head).bytes)
    begin()
    receive()
  }

  private func begin() {
    var callbacks = wslay_event_callbacks()
    callbacks.recv_callback = { context, buffer, count, _, owner in
      let taken = WebSocketEndpoint.from(owner)?.read(into: buffer, count) ?? 0
      if taken > 0 { return taken }
      wslay_event_set_error(context, Int32(WSLAY_ERR_WOULDBLOCK.rawValue))
      return -1
    }
    callbacks.send_callback = { _, bytes, count, _, owner in
      WebSocketEndpoint.from(owner)?.connection.write(UnsafeRawBufferPointer(start: bytes, count: count))
      return count
    }
    callbacks.genmask_callback = { _, buffer, count, _ in
      for index in 0..<count { buffer?[index] = UInt8.random(in: 0...255) }
      return 0
    }
    callbacks.on_msg_recv_callback = { _, message, owner in
      if let message { WebSocketEndpoint.from(owner)?.took(message.pointee) }
    }
    let owner = Unmanaged.passUnretained(self).toOpaque()
    let status =
      role == .server
      ? wslay_event_context_server_init(&context, &callbacks, owner) : wslay_event_context_client_init(&context, &callbacks, owner)
    guard status == 0, let context else { return end(End(code: 1006, reason: "no memory for a WebSocket", byPeer: false)) }
    wslay_event_config_set_max_recv_msg_length(context, WebSocketEndpoint.messageLimit)
    phase = .open
  }

  // MARK: Messages

  private static func from(_ owner: UnsafeMutableRawPointer?) -> WebSocketEndpoint? {
    owner.map { Unmanaged<WebSocketEndpoint>.fromOpaque($0).takeUnretainedValue() }
  }

  private func read(into buffer: UnsafeMutablePointer<UInt8>?, _ count: Int) -> Int {
    guard let buffer else { return 0 }
    let taken = connection.withInput { bytes in
      guard let start = bytes.baseAddress else { return 0 }
      let taken = min(count, bytes.count)
      UnsafeMutableRawPointer(buffer).copyMemory(from: start, byteCount: taken)
      return taken
    }
    connection.drop(taken)
    return taken
  }

  private func took(_ message: wslay_event_on_msg_recv_arg) {
    let bytes = UnsafeBufferPointer(start: message.msg, count: message.msg_length)
    switch UInt32(message.opcode) {
    case WSLAY_TEXT_FRAME.rawValue: arrived.append((.text, Array(bytes)))
    case WSLAY_BINARY_FRAME.rawValue: arrived.append((.binary, Array(bytes)))
    case WSLAY_CONNECTION_CLOSE.rawValue:
      let code = message.status_code == 0 ? 1005 : Int(message.status_code)
      closeReceived = (code, String(decoding: bytes.dropFirst(2), as: UTF8.self))
    default: break
    }
  }

  private func receive() {
    guard case .open = phase, let context else { return }
    let status = wslay_event_recv(context)
    // Delivered here and not from within wslay, as the owner may let go of this end meanwhile.
    let messages = arrived
    arrived = []
    for message in messages {
      guard case .open = phase else { return }
      onMessage?(message.kind, message.payload)
    }
    guard case .open = phase else { return }
    flush()
    if let closed = closeReceived {
      finish(End(code: closed.code, reason: closed.reason, byPeer: !closeSent))
    } else if status != 0 || wslay_event_get_read_enabled(context) == 0 {
      // wslay has said the reason to the peer in a close of its own.
      finish(End(code: Int(wslay_event_get_status_code_sent(context)), reason: "invalid WebSocket frames", byPeer: true))
    }
  }

  /// Sends a message, a ping or a pong. Other kinds, and anything before the opening, go nowhere.
  func send(_ kind: FrameKind, _ payload: [UInt8]) {
    guard case .open = phase, let context else { return }
    let opcode: UInt8
    switch kind {
    case .text: opcode = UInt8(WSLAY_TEXT_FRAME.rawValue)
    case .binary: opcode = UInt8(WSLAY_BINARY_FRAME.rawValue)
    case .ping: opcode = UInt8(WSLAY_PING.rawValue)
    case .pong: opcode = UInt8(WSLAY_PONG.rawValue)
    default: return
    }
    payload.withUnsafeBufferPointer { bytes in
      var message = wslay_event_msg(opcode: opcode, msg: bytes.baseAddress, msg_length: bytes.count)
      wslay_event_queue_msg(context, &message)
    }
    flush()
  }

  /// Says goodbye and ends when the peer has echoed it. Codes that no close frame may bear (1005, 1006, 1015) break the connection.
  func close(code: Int, reason: String) {
    switch phase {
    case .over: return
    case .handshake, .asked:
      phase = .over
      connection.abort()
      release()
    case .open:
      guard let context, (1000..<5000).contains(code), ![1004, 1005, 1006, 1015].contains(code) else { return abort() }
      let words = Array(reason.utf8.prefix(123))
      closeSent = true
      wslay_event_queue_close(context, UInt16(code), words, words.count)
      flush()
    }
  }

  /// Says goodbye and lets the connection go without waiting for the echo.
  func leave(code: Int, reason: String) {
    close(code: code, reason: reason)
    if case .over = phase { return }
    phase = .over
    connection.closeWhenDrained()
    release()
  }

  /// Breaks the connection: the peer sees a reset.
  func abort() {
    phase = .over
    connection.abort()
    release()
  }

  private func flush() {
    if let context { wslay_event_send(context) }
  }

  // MARK: Ends

  private func connectionEnded(_ end: ConnectionEnd) {
    if case .open = phase { receive() }
    if case .over = phase { return }
    let reason = if case .broken(let problem) = end { problem } else { "ended without a close frame" }
    self.end(End(code: 1006, reason: reason, byPeer: true))
  }

  /// After closing frames in both directions: the server ends the connection, the client waits for that.
  private func finish(_ end: End) {
    phase = .over
    connection.closeWhenDrained()
    onEnd?(end)
    release()
  }

  private func end(_ end: End) {
    phase = .over
    connection.close()
    onEnd?(end)
    release()
  }

  private func release() {
    onRequest = nil
    onOpen = nil
    onMessage = nil
    aroundRead = nil
    onEnd = nil
  }
}
