import Simulation
import Sockets
import Wire

/// A running capture: listens, passes traffic to the server behind it and records what it sees, until `stop`.
///
/// ```swift
/// let session = try CaptureSession(on: loop, options) { clock in try makeSink(clock) }
/// print(session.place)          // 127.0.0.1:40123
/// loop.run()
/// let counts = session.stop()
/// ```
package final class CaptureSession {
  package struct Options: Hashable, Sendable {
    package var upstream: UpstreamURL
    /// Where clients connect; port 0 takes a free one.
    package var listen: HostPort
    /// Where marks are posted, if anywhere.
    package var marks: HostPort?
    /// Whether `listen` and `marks` may be addresses that other machines can reach.
    package var allowRemote: Bool
    package var limits: ProxiedTraffic.Limits

    package init(
      upstream: UpstreamURL, listen: HostPort = HostPort(host: "127.0.0.1", port: 0), marks: HostPort? = nil, allowRemote: Bool = false,
      limits: ProxiedTraffic.Limits = ProxiedTraffic.Limits()
    ) {
      self.upstream = upstream
      self.listen = listen
      self.marks = marks
      self.allowRemote = allowRemote
      self.limits = limits
    }
  }

  /// Frames that belong to no connection (marks, steps of the clock) bear this number.
  package static let noConnection = ConnectionID(0)

  private let loop: EventLoop
  private let options: Options
  private let upstreamAddresses: [SocketAddress]
  private let recorder: FrameRecorder
  private var listener: Listener?
  private var marksListener: Listener?
  private var clockTimer: LoopTimer?
  private var clockSteps: ClockSteps
  private var connections: [Int: ProxiedConnection] = [:]
  private var markConnections: [ObjectIdentifier: Connection] = [:]
  private var lastConnection = 0
  private var isStopped = false

  /// t = 0 of the recording.
  package let clock: RunClock
  /// The bound address for clients.
  package let place: HostPort
  /// The bound address for marks.
  package let marksPlace: HostPort?

  package var counts: CaptureCounts { recorder.counts }
  /// Why frames are no longer kept, if so; the traffic passes on.
  package var failure: (any Error)? { recorder.failure }
  /// Called once, on the loop, when frames can no longer be kept.
  package var onFailure: ((any Error) -> Void)? {
    get { recorder.onFailure }
    set { recorder.onFailure = newValue }
  }

  /// Binds the ports, then makes the sink (so that a busy port leaves no file behind), then takes in clients.
  ///
  /// Throws `CaptureError`, or what `makeSink` throws.
  package init(on loop: EventLoop, _ options: Options, makeSink: (RunClock) throws -> any FrameSink) throws {
    self.loop = loop
    self.options = options
    let addresses = try CaptureSession.resolved(options.upstream.place)
    upstreamAddresses = addresses
    let accept = Acceptor()
    let listener = try CaptureSession.listener(loop, options.listen, options.allowRemote) { accept.session?.accept($0) }
    let marksListener = try options.marks.map { place in
      try CaptureSession.listener(loop, place, options.allowRemote) { accept.session?.acceptMarks($0) }
    }
    place = listener.place
    marksPlace = marksListener?.place
    let clock = RunClock()
    self.clock = clock
    clockSteps = ClockSteps(monotonic: clock.start, wall: clock.wallClockAtStart)
    recorder = FrameRecorder(sink: try makeSink(clock))
    self.listener = listener
    self.marksListener = marksListener
    clockTimer = try loop.timer { accept.session?.checkClock() }
    accept.session = self
    clockTimer?.arm(after: CaptureSession.clockPeriod)
  }

  /// How often the two clocks are compared.
  private static let clockPeriod = Interval.seconds(1)

  /// Ends the capture: no more clients, open connections are closed, incomplete messages are kept as far as they came. What the
  /// sink holds back is its owner's to finish.
  @discardableResult
  package func stop() -> CaptureCounts {
    if isStopped { return counts }
    isStopped = true
    clockTimer = nil
    listener?.close()
    marksListener?.close()
    for number in connections.keys.sorted() { connections[number]?.stop() }
    for connection in markConnections.values { connection.close() }
    markConnections = [:]
    return counts
  }

  // MARK: Clients

  private func accept(_ client: Connection) {
    lastConnection += 1
    let number = lastConnection
    let traffic = ProxiedTraffic(
      connection: ConnectionID(number), upstream: options.upstream, recorder: recorder, limits: options.limits)
    recorder.connectionOpened()
    do {
      connections[number] = try ProxiedConnection(loop, client: client, addresses: upstreamAddresses, traffic: traffic, clock: clock) {
        [weak self] in
        self?.connections[number] = nil
        self?.recorder.connectionClosed()
      }
    } catch {
      recorder.connectionClosed()
      client.abort()
    }
  }

  // MARK: Marks

  private func acceptMarks(_ connection: Connection) {
    let requests = MarkRequests()
    let key = ObjectIdentifier(connection)
    markConnections[key] = connection
    connection.onEnd = { [weak self, weak connection] _ in
      connection?.close()
      self?.markConnections[key] = nil
    }
    connection.onInput = { [weak self, weak connection] in
      guard let self, let connection else { return }
      while connection.inputCount > 0 {
        let outcome = connection.withInput { requests.take($0) }
        connection.drop(outcome.taken)
        if let mark = outcome.mark { recorder.record(.mark, mark, on: CaptureSession.noConnection, .out, at: clock.now) }
        connection.write(outcome.answer)
        if outcome.closes {
          markConnections[key] = nil
          connection.closeWhenDrained()
          return
        }
      }
    }
  }

  // MARK: Clock

  private func checkClock() {
    let monotonic = EventLoop.monotonicNanoseconds
    if let step = clockSteps.step(monotonic: monotonic, wall: EventLoop.wallClockNanoseconds) {
      recorder.record(
        .clock, JSONWriter.compact(["byNs": .integer(step)]), on: CaptureSession.noConnection, .in,
        at: Instant(nanoseconds: monotonic - clock.start))
    }
    clockTimer?.arm(after: CaptureSession.clockPeriod)
  }

  // MARK: Sockets

  private static func resolved(_ place: HostPort) throws(CaptureError) -> [SocketAddress] {
    do { return try SocketAddress.resolve(place) } catch { throw .sockets(error) }
  }

  private static func listener(
    _ loop: EventLoop, _ place: HostPort, _ allowRemote: Bool, _ accepted: @escaping (Connection) -> Void
  ) throws(CaptureError) -> Listener {
    let addresses = try resolved(place)
    guard allowRemote || addresses.allSatisfy(\.isLoopback) else { throw .notLoopback(place) }
    do { return try Listener(loop, on: addresses[0], accepted: accepted) } catch { throw .sockets(error) }
  }

  /// Closures of the listeners need the session before it is whole.
  private final class Acceptor {
    weak var session: CaptureSession?
  }
}
