import Contract
import Faults
import Simulation
import Wire

/// Connections and the frames on them.
extension World {
  func isKnown(_ id: ConnectionID) -> Bool { id.number >= 1 && id.number <= connections.count }

  func isReachable(_ number: Int) -> Bool {
    guard connections[number - 1].isMade else { return false }
    let endpoint = connections[number - 1].endpoint
    return !unreachable.contains { $0.until > now && $0.endpoints.matches(ConnectionID(number), endpoint) }
  }

  mutating func becomeUnreachable(_ endpoints: ConnectionSelector, until: Instant) {
    guard until > now else { return }
    let present = now
    unreachable.removeAll { $0.until <= present }
    unreachable.append((endpoints, until))
    busyUntil = max(busyUntil, until)
    queue.push(.reachable, at: until, eventClass: World.linkRank)
  }

  mutating func openPending() {
    for connection in connections where connection.state == .opening && isReachable(connection.number) {
      queue.push(.connectionUp(connection.number), at: now, eventClass: World.linkRank)
    }
  }

  mutating func connectionUp(_ number: Int) {
    let connection = connections[number - 1]
    guard connection.state == .opening, isReachable(number), process?.launch == connection.launch else { return }
    connections[number - 1].state = .up
    connections[number - 1].lastOut = now
    connections[number - 1].lastIn = now
    record(.link, "up", ["conn": .int(number), "endpoint": .string(connection.endpoint.target)])
    // The server hears of it first, so that what the core sends at once finds a server that knows the connection.
    tellTwin(.connected(ConnectionID(number), connection.endpoint))
    tellCore(.connection(ConnectionID(connection.coreNumber), up: true), of: number)
  }

  func downFields(_ number: Int, code: Int, who: String) -> JSONObject {
    [
      "conn": .int(number), "endpoint": .string(connections[number - 1].endpoint.target), "code": .int(code), "who": .string(who),
    ]
  }

  /// The instant at which something that goes to the server behind all frames of a connection arrives there.
  func behind(_ number: Int) -> Instant { max(now + connections[number - 1].delay, connections[number - 1].lastOut) }

  mutating func breakConnections(
    _ which: ConnectionSelector, code: Int, who: String, _ why: JSONObject
  ) {
    for connection in connections where connection.state == .up && which.matches(ConnectionID(connection.number), connection.endpoint) {
      breakConnection(connection.number, code: code, who: who, why)
    }
  }

  mutating func breakConnection(_ number: Int, code: Int, who: String, _ why: JSONObject) {
    guard connections[number - 1].state == .up else { return }
    connections[number - 1].state = .down
    var fields = downFields(number, code: code, who: who)
    fields.members += why.members
    record(.link, "down", fields)
    queue.push(.connectionLost(number), at: now, eventClass: World.linkRank)
    if !connections[number - 1].isSevered { queue.push(.twinHearsDown(number), at: behind(number), eventClass: rank(.frame)) }
  }

  /// Puts a frame on the link: label, recorded conditions, rules, arrival. `early` ≤ 0 is how long ago the frame left.
  mutating func transmit(_ original: Frame, _ direction: Direction, early: Interval = .zero) {
    guard isKnown(original.connection) else {
      record(.twin, "misuse", ["what": "sends on a connection that was never opened", "conn": .int(original.connection.number)])
      return
    }
    var frame = original
    frame.direction = direction
    frame.at = now
    frame.sequence = sendEntries.count + 1
    let number = frame.connection.number
    let label = labeler.label(frame)
    let send = recordSend(frame, label)
    let connection = connections[number - 1]

    if connection.state != .up || (direction == .in && connection.isSevered) {
      record(.link, "drop", ["of": .int(send), "cause": "the connection is down"])
      return
    }
    var flight = Flight(send: send, frame: frame, label: label)
    var isLost = false
    var extra = Interval.zero
    for condition in conditions.decide(label, now: now) {
      switch condition.what {
      case .lost:
        isLost = true
        record(.link, "drop", ["of": .int(send), "condition": .string(condition.reason)])
      case .late(let by):
        extra = extra + by
        record(.link, "delay", ["of": .int(send), "condition": .string(condition.reason), "byNs": .integer(by.nanoseconds)])
      case .closed: flight.closes = condition.what
      }
    }
    if isLost {
      if case .closed(let code, let who)? = flight.closes { breakConnection(number, code: code, who: who, ["condition": "recorded"]) }
      return
    }

    var holds = Interval.zero
    var copies: [Interval] = []
    var stash: Interval?
    for hit in decide(label, frame, connection.endpoint) {
      let rule = hit.rule
      record(.plan, "fired", ["rule": .int(rule), "action": .string(hit.action.word), "of": .int(send)])
      func note(_ world: inout World, _ more: JSONObject = [:], payload: [UInt8]? = nil) {
        var fields: JSONObject = ["of": .int(send), "rule": .int(rule)]
        fields.members += more.members
        world.record(.link, hit.action.word, fields, payload: payload)
      }
      switch hit.action {
      case .drop:
        if !isLost { note(&self) }
        isLost = true
      case .delay(let by):
        extra = extra + by
        note(&self, ["byNs": .integer(by.nanoseconds)])
      case .hold(let length):
        holds = max(holds, length)
        note(&self, ["forNs": .integer(length.nanoseconds)])
      case .holdUntil(let instant):
        holds = max(holds, instant - (now + connection.delay))
        note(&self, ["untilNs": .integer(instant.nanoseconds)])
      case .duplicate(let by):
        copies.append(by)
        note(&self, ["byNs": .integer(by.nanoseconds)])
      case .reorder(let within):
        stash = within
        note(&self)
      case .corrupt, .truncate, .replace:
        flight.frame.payload = hit.action.changed(flight.frame.payload, draw: hit.draw) ?? flight.frame.payload
        flight.isChanged = true
        note(&self, payload: flight.frame.payload)
      case .refuse(let refusal): flight.refusal = refusal
      case .slow(let by):
        flight.slow = flight.slow + by
        busyUntil = max(busyUntil, now + by)
      case .disconnect, .halfOpen, .restartServer, .epochJump, .forgetAnswers, .restartApp, .background, .suspend, .memoryPressure,
        .drag, .holdDrag, .loseStop, .skipFrames, .slowPreparation, .slowApplying, .stepClock:
        actions.append((hit.action, rule, number))
      }
    }
    if isLost { return }
    if let rule = connection.halfOpen {
      record(.link, "drop", ["of": .int(send), "rule": .int(rule)])
      return
    }

    let last = direction == .out ? connection.lastOut : connection.lastIn
    var arrival = max(now, max(now + early + connection.delay, last))
    if holds > .zero { arrival = max(arrival, now + connection.delay + holds) }
    if let stash {
      connections[number - 1].stashed.append((direction, flight))
      busyUntil = max(busyUntil, arrival + stash)
      queue.push(.release(number, direction, send: send), at: arrival + stash, eventClass: rank(.frame))
      return
    }
    if extra == .zero {
      if direction == .out { connections[number - 1].lastOut = arrival } else { connections[number - 1].lastIn = arrival }
    }
    arrival = arrival + extra
    if extra > .zero || holds > .zero { busyUntil = max(busyUntil, arrival) }
    queue.push(.arrives(flight), at: arrival, eventClass: rank(.frame))
    for copy in copies {
      var second = flight
      second.isCopy = true
      busyUntil = max(busyUntil, arrival + copy)
      queue.push(.arrives(second), at: arrival + copy, eventClass: rank(.frame))
    }
    // What was held back for this frame to pass comes right behind it.
    let passed = connections[number - 1].stashed.filter { $0.direction == direction }
    if !passed.isEmpty {
      connections[number - 1].stashed.removeAll { $0.direction == direction }
      for item in passed { queue.push(.arrives(item.flight), at: arrival, eventClass: rank(.frame)) }
    }
  }

  mutating func decide(
    _ label: FrameLabel, _ frame: Frame, _ endpoint: Endpoint
  ) -> [(rule: Int, action: FaultAction, draw: UInt64)] {
    guard rulesAct, !settings.plan.rules.isEmpty else { return [] }
    let core = process?.core
    let isPossible = possibility()
    let hits = faults.decide(
      label, frame, endpoint: endpoint, now: now, state: { core?.holds(state: $0) ?? false }, isPossible: isPossible)
    return hits.map { ($0.rule + 1, $0.action, $0.draw) }
  }

  mutating func recordSend(_ frame: Frame, _ label: FrameLabel) -> Int {
    var fields = World.place(frame, label)
    fields.members.reserveCapacity(fields.count + label.fields.count + 6)
    for member in label.fields.members where fields[member.name] == nil { fields.members.append(member) }
    fields.members.append(contentsOf: World.identity(label))
    // The numbers of frames begin at 1.
    if let answers = frame.answers, answers >= 1, answers <= sendEntries.count, fields["re"] == nil {
      fields["re"] = .int(sendEntries[answers - 1])
    }
    if fields["frame"] == nil { fields["frame"] = .string(frame.kind.rawValue) }
    fields["bytes"] = .int(frame.payload.count)
    let send = record(.link, "send", fields, payload: frame.payload, content: frame.content)
    sendEntries.append(send)
    return send
  }

  static func place(_ frame: Frame, _ label: FrameLabel) -> JSONObject {
    [
      "conn": .int(frame.connection.number), "dir": .string(frame.direction.rawValue), "label": .string(label.role.rawValue),
      "name": .string(label.name),
    ]
  }

  static func identity(_ label: FrameLabel) -> [JSONObject.Member] {
    var members: [JSONObject.Member] = []
    if let operation = label.operation { members.append(.init(name: "operation", value: .string(operation))) }
    if let key = label.key { members.append(.init(name: "key", value: .string(key))) }
    if label.isDelivery { members.append(.init(name: "delivery", value: true)) }
    return members
  }

  mutating func release(_ number: Int, _ direction: Direction, send: Int) {
    guard let index = connections[number - 1].stashed.firstIndex(where: { $0.flight.send == send && $0.direction == direction }) else {
      return
    }
    arrive(connections[number - 1].stashed.remove(at: index).flight)
  }

  mutating func arrive(_ flight: Flight) {
    let number = flight.frame.connection.number
    let connection = connections[number - 1]
    let isGone = flight.frame.direction == .out ? connection.isSevered : connection.state != .up
    if isGone {
      record(.link, "drop", ["of": .int(flight.send), "cause": "the connection went down"])
      return
    }
    var fields: JSONObject = ["of": .int(flight.send)]
    fields.members += World.place(flight.frame, flight.label).members
    fields.members += World.identity(flight.label)
    if flight.isCopy { fields["copy"] = true }
    if flight.isChanged { fields["changed"] = true }
    record(.link, "arrive", fields)
    var frame = flight.frame
    frame.at = now
    if frame.direction == .out {
      tellTwin(.received(frame, refusal: flight.refusal), slowAnswerBy: flight.slow)
    } else {
      frame.connection = ConnectionID(connection.coreNumber)
      tellCore(.received(frame), of: number)
    }
    if case .closed(let code, let who)? = flight.closes, !flight.isCopy {
      breakConnection(number, code: code, who: who, ["condition": "recorded"])
    }
  }
}
