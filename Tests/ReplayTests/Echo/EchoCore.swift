import Contract
import Simulation
import Wire

/// The client: keeps what it wants to send in its store, one POST at a time per message, asks again with the same key after 2 s, comes
/// back 500 ms after a break, shows a message when its event arrives.
struct EchoCore: ClientCore {
  private struct Pending {
    var id: String
    var text: String
  }

  private var pending: [Pending] = []
  private var shown: [String] = []
  private var liked: [String] = []
  private var lastEvent = 0
  private var nextConnection = 1
  private var rest: Int?
  private var events: Int?
  private var up: Set<Int> = []
  private var isDragging = false

  init(_ settings: CoreSettings, _ store: Store) {
    let list = store["outbox"].flatMap { try? JSONReader.value($0) }?.array ?? []
    for item in list { pending.append(Pending(id: item["id"]?.string ?? "", text: item["text"]?.string ?? "")) }
  }

  mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    switch input {
    case .lifecycle(.launched): return pending.map { says($0.id, .sending) } + open(rest: true) + open(rest: false)
    case .user(let gesture): return user(gesture, now)
    case .connection(let id, true):
      up.insert(id.number)
      if id.number == events {
        return [.send(Echo.request(id, Echo.subscribe, ["last": .int(lastEvent)], at: now))]
      }
      return pending.flatMap { post($0, now) }
    case .connection(let id, false):
      up.remove(id.number)
      return [.arm(TimerID(id.number == rest ? "rest" : "events"), at: now + .milliseconds(500))]
    case .fired(TimerID("rest")): return open(rest: true)
    case .fired(TimerID("events")): return open(rest: false)
    case .fired(TimerID("lift")):
      isDragging = false
      return [.displayLink(false), .screen(ScreenRecord("scroll", ["host": "room", "state": "rest"]))]
    case .fired(let timer):
      guard let item = pending.first(where: { "retry:" + $0.id == timer.name }) else { return [] }
      return [says(item.id, .unconfirmed)] + post(item, now)
    case .received(let frame): return received(frame, now)
    case .wallClockStepped(let by): return [.note(Observation("clock", ["byNs": .integer(by.nanoseconds)]))]
    case .lifecycle(let change): return [.note(Observation("lifecycle", ["to": .string(change.rawValue)]))]
    case .displayFrame: return [.note(Observation("tick"))]
    case .screen(let fault): return [.note(Observation("screen.fault", ["what": .string("\(fault)")]))]
    }
  }

  func premise(of gesture: Gesture) -> Premise {
    guard gesture.name == "like", let id = gesture.fields["message"]?.string else { return .holds }
    return liked.contains(id) ? .gone : shown.contains(id) ? .holds : .waits
  }

  func holds(state: String) -> Bool { state == "sending" ? !pending.isEmpty : state == "dragging" && isDragging }

  private mutating func user(_ gesture: Gesture, _ now: Instant) -> [Effect] {
    if gesture.name == Gesture.drag, let drag = try? Drag(gesture.fields) {
      isDragging = true
      return [
        .screen(ScreenRecord("scroll", ["host": "room", "state": "drag"])), .displayLink(true),
        .arm(TimerID("lift"), at: now + drag.length),
      ]
    }
    guard gesture.name == "send", let id = gesture.fields["message"]?.string, let text = gesture.fields["text"]?.string else {
      if gesture.name == "like", let id = gesture.fields["message"]?.string { liked.append(id) }
      return []
    }
    pending.append(Pending(id: id, text: text))
    let accepted: JSONObject = ["operation": .string(id), "text": .string(text), "lane": "room", "action": "send"]
    return [keep(), .note(Observation("accepted", accepted)), says(id, .sending)] + post(Pending(id: id, text: text), now)
  }

  private mutating func post(_ item: Pending, _ now: Instant) -> [Effect] {
    guard let rest, up.contains(rest) else { return [] }
    return [
      .send(
        Echo.request(ConnectionID(rest), Echo.post, key: "k-" + item.id, ["id": .string(item.id), "text": .string(item.text)], at: now)),
      .arm(TimerID("retry:" + item.id), at: now + .seconds(2)),
    ]
  }

  private mutating func received(_ frame: Frame, _ now: Instant) -> [Effect] {
    if frame.kind == .response {
      guard frame.connection.number == rest, let (head, body) = Echo.parts(frame.payload), let id = body["id"]?.string,
        head["status"]?.int == 201, pending.contains(where: { $0.id == id })
      else { return [] }
      pending.removeAll { $0.id == id }
      return [keep(), .disarm(TimerID("retry:" + id)), says(id, .delivered)]
    }
    guard let body = try? JSONReader.value(frame.payload), let id = body["id"]?.string, let n = body["n"]?.int, n > lastEvent else {
      return []
    }
    lastEvent = n
    shown.append(id)
    return [.note(Observation("shown", ["operation": .string(id), "form": "row"]))]
  }

  private mutating func open(rest isRest: Bool) -> [Effect] {
    let number = nextConnection
    nextConnection += 1
    if isRest { rest = number } else { events = number }
    return [.open(ConnectionID(number), Endpoint(isRest ? "/messages" : "/events"))]
  }

  private func keep() -> Effect {
    .store("outbox", JSONWriter.compact(.array(pending.map { ["id": .string($0.id), "text": .string($0.text)] })))
  }

  private func says(_ id: String, _ word: Vocabulary.ClientWord) -> Effect {
    .note(Observation("says", ["operation": .string(id), "state": .string(word.rawValue)]))
  }
}
