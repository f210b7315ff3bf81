import Contract
import HBCodeDialect
import Simulation
import Wire

extension Compilation {
  /// Service times, refusals, accepted steers, and what the link did (SCENARIO.md 3, steps 2 and 5).
  mutating func readLink() {
    var arrivals: [String: Int] = [:]
    // In order of arrival; frames of one socket arrive in the order of sending.
    let order = traffic.exchanges.indices.sorted {
      let (a, b) = (traffic.arrival($0), traffic.arrival($1))
      return a != b ? a < b : $0 < $1
    }
    for index in order {
      let exchange = traffic.exchanges[index]
      let name = exchange.key ?? "method " + exchange.request.method
      if exchange.fate == .lostRequest { continue }
      arrivals[name, default: 0] += 1
      let nth = arrivals[name, default: 1]
      func rule(_ what: ServiceRule.What) {
        service.append(ServiceRule(key: exchange.key, method: exchange.request.method, nth: nth, what: what))
      }
      let slow = traffic.serviceTime(index) - exchange.lateBy - exchange.takenLate
      if exchange.takenLate > .zero { rule(.takenLate(exchange.takenLate)) }
      // Less than that is the noise of a recorder; as a service time it would turn answers and events round.
      if slow > Compilation.sameInstant { rule(.slow(slow)) }
      if let error = exchange.error, Compilation.isNoRule(error.code) {
        rule(.refused(error))
        note("\(exchange.request.method) was refused with \(error.code)", [exchange.frame], .recorded)
      }
      if exchange.method == .outboxSubmit, let id = exchange.session, let submit = submit(exchange),
        let operation = operations[submit.entry.operationId], operation.acceptedBy == index, let at = operation.acceptedAt,
        let accepted = sessions[id]?.steerAccepted[operation.id]
      {
        let after = max(.zero, accepted.at - at)
        let clock = clock(ofStamp: accepted.stamp, at: at + after)
        let usual = sessions[id]?.runs.first { $0.run.runId == accepted.run }.flatMap { life in
          life.startedAt.flatMap { self.clock(ofStamp: $0, at: life.begin) }
        }
        rule(.steerAccepted(after: after, clock: clock == usual ?? 0 ? nil : clock))
      }
    }
    for index in traffic.exchanges.indices { addCondition(index) }
  }

  /// By how much a stamp of the desktop is ahead of the recorder's clock, milliseconds; nil for one that no wire carries.
  private func clock(ofStamp stamp: Int64, at instant: Instant) -> Int64? {
    let (ahead, overflow) = stamp.subtractingReportingOverflow(self.stamp(instant))
    return overflow || !Fields.exactIntegers.contains(ahead) ? nil : ahead
  }

  /// Errors that no rule of D.5 gives: the recorded desktop (or relay) had its own reasons.
  private static func isNoRule(_ code: String) -> Bool {
    ![
      "operation_gone", "idempotency_conflict", "idempotency_required", "unknown_session", "cursor_expired", "upload_unknown",
      "upload_too_large", "chunk_mismatch", "timeout", "connection_lost", "not_connected",
    ].contains(code)
  }

  private mutating func addCondition(_ index: Int) {
    let exchange = traffic.exchanges[index]
    func pattern(_ role: FrameLabel.Role) -> FramePattern {
      let condition =
        exchange.key.map { FramePattern.Condition(field: "key", comparison: .equal, value: $0) }
        ?? exchange.session.map { FramePattern.Condition(field: "sessionId", comparison: .equal, value: $0) }
      return FramePattern(role: role, name: exchange.request.method, conditions: condition.map { [$0] } ?? [])
    }
    func name(_ what: String) -> String { "\(what) of \(exchange.request.method) (frame \(exchange.frame))" }
    if exchange.lateBy > .zero {
      conditions.append(
        LinkCondition(
          pattern: pattern(.request), nth: exchange.attempt, what: .late(exchange.lateBy), reason: name("the request") + " came late"))
    }
    switch exchange.fate {
    case .answered, .cut, .open: break
    case .lostRequest:
      conditions.append(
        LinkCondition(pattern: pattern(.request), nth: exchange.attempt, what: .lost, reason: name("the request") + " was lost"))
    case .lostAnswer:
      // Requests that never arrived were never answered.
      let arrived = traffic.exchanges[...index].count {
        $0.request.method == exchange.request.method && $0.fate != .lostRequest
          && (exchange.key != nil ? $0.key == exchange.key : $0.key == nil && $0.session == exchange.session)
      }
      conditions.append(
        LinkCondition(pattern: pattern(.response), nth: arrived, what: .lost, reason: name("the answer") + " was lost"))
    }
  }

  /// Connections that the network or a server ended, with the time until the next one (SCENARIO.md 3, step 2).
  mutating func outages() -> [Outage] {
    var found: [Outage] = []
    for (index, socket) in traffic.sockets.enumerated() {
      guard let closed = socket.closed else { continue }
      let isOrderly = socket.closedBy == "client" && (socket.closeCode == 1000 || socket.closeCode == 1001)
      if isOrderly || isEndedByUser(socket) { continue }
      let next = traffic.sockets[(index + 1)...].first { $0.opened.map { $0 >= closed } ?? false }
      found.append(
        Outage(
          from: closed, until: next?.opened ?? traffic.end, code: socket.closeCode,
          who: socket.closedBy == "server" ? "server" : "network"))
      if socket.closedBy == "client" {
        note(
          "the client ended connection \(socket.connection.number) with \(socket.closeCode): taken as a loss", [socket.closeFrame], .assumed
        )
      }
    }
    return found
  }

  /// Whether a connection went with the app, which its user ended: a mark says so (SCENARIO.md 3, step 6).
  private func isEndedByUser(_ socket: Traffic.Socket) -> Bool {
    guard let closed = socket.closed, socket.closedBy != "server" else { return false }
    return intents.contains { intent in
      intent.gesture.name == Gesture.restart && closed - intent.at <= .milliseconds(500) && intent.at - closed <= .milliseconds(500)
    }
  }

  /// How long the app was away each time that its user ended it, where its mark does not say so.
  mutating func findRestartPauses() {
    for index in intents.indices where intents[index].gesture.name == Gesture.restart && intents[index].gesture.fields["for"] == nil {
      let at = intents[index].at
      guard let back = traffic.sockets.compactMap(\.opened).first(where: { $0 > at }) else { continue }
      let milliseconds = (back - at).nanoseconds / 1_000_000
      if milliseconds <= 600_000 { intents[index].gesture.fields["for"] = .integer(milliseconds) }
    }
  }
}
