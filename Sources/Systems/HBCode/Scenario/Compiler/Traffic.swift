import Contract
import HBCodeDialect
import Simulation
import Wire

/// The frames of a recording as sockets, exchanges and events (SCENARIO.md 3, steps 1 and 2).
struct Traffic {
  struct Socket {
    var connection: ConnectionID
    var desktop: String
    /// Nil: it was up when the recording began.
    var opened: Instant?
    var closed: Instant?
    var closeCode = 1006
    /// `client`, `server` or `network`.
    var closedBy = "network"
    var closeFrame = 0
    var shortestRoundTrip: Interval?
    var firstFrame: Int

    func isUp(from start: Instant, to end: Instant) -> Bool { (opened ?? .zero) <= start && end <= (closed ?? .never) }
  }

  struct Answer {
    var frame: Int
    var at: Instant
    var result: Result<JSON, WireError>
  }

  /// What became of a request.
  enum Fate {
    case answered
    /// Never reached the desktop.
    case lostRequest
    /// Reached it (or may have); its answer never came back.
    case lostAnswer
    /// The socket ended before an answer could come.
    case cut
    /// The recording ended first.
    case open
  }

  struct Exchange {
    var socket: Int
    var frame: Int
    /// When the client sent it.
    var at: Instant
    var request: RequestMessage
    var method: Method?
    var session: String?
    var thread: String?
    var answer: Answer?
    var fate = Fate.answered
    /// How much later than the link takes it arrived, as far as that shows.
    var lateBy = Interval.zero
    /// How much after its arrival the desktop took it in.
    var takenLate = Interval.zero
    /// Position among the requests with the same key, or of the same method and session, from 1.
    var attempt = 1

    var key: String? { request.idempotencyKey }
    var isOk: Bool { if case .success? = answer?.result { true } else { false } }
    var error: WireError? { if case .failure(let error)? = answer?.result { error } else { nil } }
    /// The mutation id in its key.
    var mutation: String? { key.flatMap { key in method.flatMap { $0.mutationId(ofKey: key) } } }
  }

  struct Event {
    var socket: Int
    var frame: Int
    var at: Instant
    var event: HBCodeEvent
    var message: EventMessage
  }

  struct Mark {
    var frame: Int
    var at: Instant
    var content: JSON
  }

  var sockets: [Socket] = []
  var exchanges: [Exchange] = []
  var events: [Event] = []
  var marks: [Mark] = []
  var end = Instant.zero
  var notes: [Note] = []
  /// One-way delay by desktop.
  private var delayOfDesktop: [String: Interval] = [:]

  init(_ frames: [Frame]) throws(CompileError) {
    guard !frames.isEmpty else { throw CompileError(problem: "no frames") }
    let reader = HBCodeReader()
    var socketOf: [ConnectionID: Int] = [:]
    var waiting: [String: Int] = [:]
    var attempts: [String: Int] = [:]
    var messages = 0
    var invalid: [Int] = []
    var unpaired: [Int] = []
    var backwards: [Int] = []
    var ordered = frames
    if !zip(ordered, ordered.dropFirst()).allSatisfy({ $0.sequence <= $1.sequence }) {
      ordered = ordered.enumerated().sorted { ($0.element.sequence, $0.offset) < ($1.element.sequence, $1.offset) }.map(\.element)
    }
    for frame in ordered {
      guard (0...Fields.longestTime).contains(frame.at.nanoseconds) else {
        throw CompileError(frame: frame.sequence, problem: "its instant, \(frame.at.nanoseconds) ns, is not within 24 days of the start")
      }
      if frame.at < end { backwards.append(frame.sequence) }
      end = max(end, frame.at)
      let at = end
      switch frame.kind {
      case .mark:
        if let content = reader.json(of: frame.payload) { marks.append(Mark(frame: frame.sequence, at: at, content: content)) }
      case .open:
        let url = reader.json(of: frame.payload)?["url"]?.string ?? ""
        socketOf[frame.connection] = sockets.count
        sockets.append(
          Socket(connection: frame.connection, desktop: Traffic.desktop(ofURL: url) ?? "", opened: at, firstFrame: frame.sequence))
      case .close:
        guard let socket = socketOf[frame.connection], sockets[socket].closed == nil else { continue }
        let content = reader.json(of: frame.payload)
        sockets[socket].closed = at
        sockets[socket].closeFrame = frame.sequence
        sockets[socket].closeCode = content?["code"]?.int.flatMap { (0...65_535).contains($0) ? $0 : nil } ?? 1006
        sockets[socket].closedBy = content?["who"]?.string ?? "network"
      case .text:
        let socket: Int
        if let known = socketOf[frame.connection] {
          socket = known
        } else {
          socket = sockets.count
          socketOf[frame.connection] = socket
          sockets.append(Socket(connection: frame.connection, desktop: "", firstFrame: frame.sequence))
        }
        switch reader.message(of: frame.payload) {
        case .request(let request) where frame.direction == .out:
          messages += 1
          var exchange = Exchange(socket: socket, frame: frame.sequence, at: at, request: request, method: Method(rawValue: request.method))
          exchange.session = request.params["sessionId"]?.nonblankString
          exchange.thread = request.params["threadId"]?.string
          let name = request.idempotencyKey.map { "key " + $0 } ?? "\(request.method) \(exchange.session ?? "")"
          attempts[name, default: 0] += 1
          exchange.attempt = attempts[name, default: 1]
          waiting["\(socket) \(request.id)"] = exchanges.count
          exchanges.append(exchange)
        case .response(let response) where frame.direction == .in:
          messages += 1
          guard let index = waiting.removeValue(forKey: "\(socket) \(response.id)") else {
            unpaired.append(frame.sequence)
            continue
          }
          exchanges[index].answer = Answer(frame: frame.sequence, at: at, result: response.result)
          let trip = at - exchanges[index].at
          sockets[socket].shortestRoundTrip = min(sockets[socket].shortestRoundTrip ?? trip, trip)
        case .event(let message) where frame.direction == .in:
          messages += 1
          if let event = try? HBCodeEvent.decode(message) {
            events.append(Event(socket: socket, frame: frame.sequence, at: at, event: event, message: message))
            if case .desktop(let about) = event, sockets[socket].desktop.isEmpty { sockets[socket].desktop = about.desktopId }
          } else {
            invalid.append(frame.sequence)
          }
        case .request, .response, .event, .invalid: invalid.append(frame.sequence)
        }
      default: break
      }
    }
    guard messages > 0 || !sockets.isEmpty else { throw CompileError(problem: "no message of hbcode in \(frames.count) frames") }
    if !invalid.isEmpty { notes.append(Note("\(invalid.count) frames are no valid messages and are left out", frames: invalid)) }
    if !unpaired.isEmpty { notes.append(Note("\(unpaired.count) responses have no request", frames: unpaired)) }
    if !backwards.isEmpty { notes.append(Note("\(backwards.count) frames are stamped earlier than one before them", frames: backwards)) }
    nameDesktops()
    findDelays()
  }

  private mutating func nameDesktops() {
    let named = sockets.first { !$0.desktop.isEmpty }?.desktop
    for index in sockets.indices where sockets[index].desktop.isEmpty {
      sockets[index].desktop = named ?? "desk-1"
      notes.append(
        Note(
          "connection \(sockets[index].connection.number) does not say its desktop: taken as \(sockets[index].desktop)",
          frames: [sockets[index].firstFrame], basis: .assumed))
    }
  }

  private mutating func findDelays() {
    for socket in sockets {
      guard let trip = socket.shortestRoundTrip else { continue }
      let delay = Interval(nanoseconds: trip.nanoseconds / 2)
      delayOfDesktop[socket.desktop] = min(delayOfDesktop[socket.desktop] ?? delay, delay)
    }
  }

  /// For `ScenarioFacts.oneWay`: one value when all desktops have the same, else one by endpoint.
  var delays: [String: Interval] {
    let all = Set(delayOfDesktop.values)
    if all.count <= 1 { return all.first.map { $0 == .zero ? [:] : ["": $0] } ?? [:] }
    var found: [String: Interval] = [:]
    for (desktop, delay) in delayOfDesktop { found["/v1/desktops/" + desktop] = delay }
    return found
  }

  func oneWay(_ socket: Int) -> Interval { delayOfDesktop[sockets[socket].desktop] ?? .zero }

  /// When a request arrives at the desktop.
  func arrival(_ exchange: Int) -> Instant { exchanges[exchange].at + oneWay(exchanges[exchange].socket) }

  /// When a frame that the client got at `at` left the desktop; not before the start.
  func departure(_ at: Instant, _ socket: Int) -> Instant { max(.zero, at - oneWay(socket)) }

  /// By how much an answer took longer than the link does.
  func serviceTime(_ exchange: Int) -> Interval {
    guard let answer = exchanges[exchange].answer else { return .zero }
    return max(.zero, answer.at - exchanges[exchange].at - oneWay(exchanges[exchange].socket) * 2)
  }

  private static func desktop(ofURL url: String) -> String? {
    let marker = Array("/v1/desktops/".utf8)
    let bytes = Array(url.utf8)
    guard bytes.count > marker.count,
      let start = (0...(bytes.count - marker.count)).first(where: { Array(bytes[$0..<$0 + marker.count]) == marker })
    else { return nil }
    let name = bytes[(start + marker.count)...].prefix { ![UInt8(ascii: "?"), UInt8(ascii: "/"), UInt8(ascii: "#")].contains($0) }
    return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
  }
}
