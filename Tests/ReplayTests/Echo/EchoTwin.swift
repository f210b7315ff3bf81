import Contract
import Simulation
import Wire

/// The server: saves once per key, answers a repeated key as before, echoes each message on every stream after `echo`.
struct EchoTwin: Twin {
  private let echo: Interval
  private var numbers: [String: Int] = [:]
  private var saved: [(id: String, text: String)] = []
  private var due: [(at: Instant, n: Int)] = []
  private var published = 0
  private var streams: [ConnectionID] = []
  private var restarts = 0

  init(echo: Interval) { self.echo = echo }

  var nextDue: Instant? { due.first?.at }

  mutating func handle(_ input: TwinInput, at now: Instant) -> [TwinEffect] {
    switch input {
    case .connected: return []
    case .disconnected(let id):
      streams.removeAll { $0 == id }
      return []
    case .received(let frame, let refusal): return received(frame, refusal, now)
    case .due:
      guard let next = due.first, next.at <= now else { return [] }
      due.removeFirst()
      published = next.n
      return streams.map { .send(event($0, next.n, now), after: .zero) }
    case .fault(.restart):
      restarts += 1
      return [.note(Observation("restarted", ["n": .int(restarts)]))]
    case .fault(.epochJump(let lane, let by)):
      return [.note(Observation("jumped", ["by": .int(by), "lane": lane.map(JSON.string) ?? .null]))]
    case .fault(.forgetAnswers):
      numbers = [:]
      return []
    }
  }

  mutating func finish(at now: Instant) -> [Observation] { [Observation("total", ["saved": .int(saved.count)])] }

  private mutating func received(_ frame: Frame, _ refusal: Refusal?, _ now: Instant) -> [TwinEffect] {
    guard let (head, body) = Echo.parts(frame.payload), let name = head["request"]?.string else {
      return [.send(Echo.response(to: frame, status: 400, at: now), after: .zero)]
    }
    if let refusal {
      return [.send(Echo.response(to: frame, status: 503, ["code": .string(refusal.code)], at: now), after: .zero)]
    }
    if name == Echo.subscribe {
      streams.append(frame.connection)
      let last = body["last"]?.int ?? 0
      let missed = last < published ? Array(last + 1...published) : []
      return [.send(Echo.response(to: frame, status: 200, at: now), after: .zero)]
        + missed.map { .send(event(frame.connection, $0, now), after: .zero) }
    }
    guard let id = body["id"]?.string, let text = body["text"]?.string, let key = head["key"]?.string else {
      return [.send(Echo.response(to: frame, status: 400, at: now), after: .zero)]
    }
    var notes: [TwinEffect] = []
    let n = numbers[key] ?? saved.count + 1
    if numbers[key] == nil {
      numbers[key] = n
      saved.append((id, text))
      due.append((now + echo, n))
      let fields: JSONObject = ["operation": .string(id), "text": .string(text), "lane": "room", "n": .int(n)]
      notes.append(.note(Observation("saved", fields)))
    }
    return notes + [.send(Echo.response(to: frame, status: 201, ["id": .string(id), "n": .int(n)], at: now), after: .zero)]
  }

  private func event(_ connection: ConnectionID, _ n: Int, _ now: Instant) -> Frame {
    Echo.event(connection, ["n": .int(n), "id": .string(saved[n - 1].id), "text": .string(saved[n - 1].text)], at: now)
  }
}
