import Contract
import HBCodeDialect
import Simulation
import Wire

/// One thing that somebody wants delivered once (SCENARIO.md 3, steps 4 and 5).
struct Operation {
  var id: String
  var session: String
  /// Positions of the submits of its first mutation and its resends, in order; empty for entries of other makers.
  var submits: [Int] = []
  var entry: SubmitEntry
  var intent = SubmitIntent.automatic
  var supersedes: String?
  /// The client made it of another one without its user (a copy): that one.
  var copyOf: String?
  /// Another operation sent by the client itself under a new key, with this mutation.
  var resentKeys: [String] = []
  /// When the desktop took it in; nil when it never did, as far as the recording shows.
  var acceptedAt: Instant?
  /// The exchange that brought it.
  var acceptedBy: Int?
}

extension Compilation {
  /// What a submit asked for.
  struct Submit {
    var entry: SubmitEntry
    var intent: SubmitIntent
    var supersedes: String?
  }

  func submit(_ exchange: Traffic.Exchange) -> Submit? {
    guard exchange.method == .outboxSubmit, let json = exchange.request.params["entry"],
      let entry = try? SubmitEntry.decode(json, at: "entry")
    else { return nil }
    return Submit(
      entry: entry, intent: exchange.request.params["intent"]?.string.flatMap(SubmitIntent.init(rawValue:)) ?? .automatic,
      supersedes: exchange.request.params["supersedesOperationId"]?.string)
  }

  mutating func findOperations() {
    gatherSubmits()
    for id in operations.keys { accept(id) }
    judgeOtherRequests()
  }

  private mutating func gatherSubmits() {
    var operationOfKey: [String: String] = [:]
    // Operations of other makers that the user sends now.
    var approved: Set<String> = []
    var bad: [Int] = []
    for index in traffic.exchanges.indices where traffic.exchanges[index].method == .outboxSubmit {
      let exchange = traffic.exchanges[index]
      guard let session = exchange.session, let submit = submit(exchange) else {
        bad.append(exchange.frame)
        continue
      }
      let id = submit.entry.operationId
      if let key = exchange.key, let known = operationOfKey[key], known != id {
        note("key \(key) was used for the operations \(known) and \(id)", [exchange.frame], .recorded)
      }
      if let key = exchange.key, operationOfKey[key] == nil { operationOfKey[key] = id }
      guard var known = operations[id] else {
        // Send now of an entry that this client did not make: no operation of its own.
        if approved.contains(id) || isApproval(submit, in: session, index) {
          approved.insert(id)
          continue
        }
        var operation = Operation(
          id: id, session: session, submits: [index], entry: submit.entry, intent: submit.intent, supersedes: submit.supersedes)
        operation.copyOf = original(of: operation)?.id
        if let copyOf = operation.copyOf {
          note(
            "\(id) is a copy of \(copyOf) that the recorded client made by itself (same words, createdAt within 1 s): no intent",
            [exchange.frame])
        }
        operations[id] = operation
        continue
      }
      let first = known.submits.first.map { traffic.exchanges[$0] }
      if exchange.key == first?.key {
        known.submits.append(index)
      } else if !isListed(id, in: session, before: index) {
        // The same operation under another key while it was not listed: no gesture does that (HB-INV-04).
        known.submits.append(index)
        known.resentKeys.append(exchange.key ?? "")
        note("resent under a new key: \(id) with \(exchange.key ?? "no key") after \(first?.key ?? "no key")", [exchange.frame])
      }
      operations[id] = known
    }
    if !bad.isEmpty { note("\(bad.count) submits cannot be read and are no intents", bad) }
  }

  /// Whether a submit approves an entry that the client knew as listed.
  func isApproval(_ submit: Submit, in session: String, _ exchange: Int) -> Bool {
    submit.intent == .automatic && submit.supersedes == nil && isListed(submit.entry.operationId, in: session, before: exchange)
  }

  /// An earlier operation of the same words and session whose `createdAt` is within 1 s (SCENARIO.md 3, step 4).
  private func original(of copy: Operation) -> Operation? {
    guard copy.supersedes == nil else { return nil }
    return operations.values.last {
      let (difference, overflow) = copy.entry.createdAt.subtractingReportingOverflow($0.entry.createdAt)
      return $0.session == copy.session && $0.entry.userText == copy.entry.userText && $0.copyOf == nil && !overflow
        && difference.magnitude <= 1_000 && hasDoubtfulOutcome($0, before: copy)
    }
  }

  /// Two sends of equal words within a second can be two gestures; what marks a copy is that the first one was still without a receipt.
  private func hasDoubtfulOutcome(_ first: Operation, before copy: Operation) -> Bool {
    guard let index = copy.submits.first, let earlier = first.submits.first else { return false }
    let sent = traffic.exchanges[index].at
    guard let answer = traffic.exchanges[earlier].answer else { return true }
    return answer.at > sent || traffic.exchanges[earlier].error != nil
  }

  /// Whether the client knew an operation as listed when it sent this request.
  func isListed(_ operation: String, in session: String, before exchange: Int) -> Bool {
    let at = traffic.exchanges[exchange].at
    guard let sightings = sessions[session] else { return false }
    let last = sightings.lists.last { $0.source.seen <= at && $0.source.frame < traffic.exchanges[exchange].frame }
    return last?.has(operation) ?? false
  }

  /// Acceptance: the earliest arrival of one of its frames that all evidence allows (SCENARIO.md 3, step 5).
  private mutating func accept(_ id: String) {
    guard var operation = operations[id], let session = sessions[operation.session] else { return }
    let seen = session.firstSeen[id]
    for index in operation.submits {
      let exchange = traffic.exchanges[index]
      let arrival = traffic.arrival(index)
      if exchange.error != nil { continue }
      if operation.acceptedAt != nil {
        if exchange.answer == nil { lose(index, arrived: true, seen: true) }
        continue
      }
      if let seen, seen < arrival, !exchange.isOk { break }
      let seenAt = seen ?? .never
      let contradiction = session.lists.first { $0.source.at > arrival && $0.source.at < seenAt && !$0.has(id) }
      if let contradiction, !exchange.isOk {
        lose(index, arrived: false, seen: true)
        note(
          "\(id) is missing from the outbox at \(contradiction.source.at), after the arrival of its submit: that submit was lost",
          [exchange.frame, contradiction.source.frame])
        continue
      }
      if exchange.answer == nil, seen == nil, isPassedOver(index) {
        lose(index, arrived: false, seen: true)
        note(
          "the connection went on after the submit of \(id) and told nothing of it: that submit was lost", [exchange.frame], .assumed)
        continue
      }
      if exchange.answer == nil, seen == nil {
        lose(index, arrived: true, seen: false)
        if exchange.isUnanswerable(in: traffic) { continue }
      } else if exchange.answer == nil {
        lose(index, arrived: true, seen: true)
      }
      operation.acceptedAt = arrival
      operation.acceptedBy = index
    }
    if operation.acceptedAt == nil, let seen {
      // Seen, though no frame explains it: it came before the recording, or another phone sent it.
      operation.acceptedAt = seen
      note("\(id) is seen at \(seen), before any submit of it", operation.submits.map { traffic.exchanges[$0].frame })
    }
    if let index = operation.acceptedBy, let at = operation.acceptedAt, let own = ownChange(index, session, after: at) {
      traffic.exchanges[index].takenLate = own - at
      operation.acceptedAt = own
    } else if let index = operation.acceptedBy, let at = operation.acceptedAt, let moved = movedAcceptance(id, session, index, at) {
      let late = moved - at
      traffic.exchanges[index].lateBy = late
      operation.acceptedAt = moved
      note("\(id) was taken in at \(moved), \(late) after its submit should have arrived", [traffic.exchanges[index].frame])
    }
    if let at = operation.acceptedAt, let seen, seen < at - Compilation.sameInstant, operation.acceptedBy != nil {
      note("\(id) is seen at \(seen), before its submit arrives at \(at): taken in then", [], .assumed)
      operation.acceptedAt = seen
    }
    operations[id] = operation
  }

  /// The instant of the event that first lists an operation, when it is the very change that took it in: then its submit came late.
  private func movedAcceptance(_ id: String, _ session: SessionSightings, _ index: Int, _ at: Instant) -> Instant? {
    guard let first = session.firstListed[id], first.isEvent, first.at > at + Compilation.sameInstant,
      traffic.sockets[traffic.exchanges[index].socket].isUp(from: at, to: first.at),
      let position = session.lists.firstIndex(where: { $0.source.frame == first.frame })
    else { return nil }
    if position > 0 {
      return session.lists[position - 1].list.revision &+ 1 == session.lists[position].list.revision ? first.at : nil
    }
    // Nothing known before: the receipt that left with the event says so.
    guard let answer = traffic.exchanges[index].answer else { return nil }
    let departure = traffic.departure(answer.at, traffic.exchanges[index].socket)
    return departure - first.at <= Compilation.sameInstant && first.at - departure <= Compilation.sameInstant ? first.at : nil
  }

  /// When the event of a request's own change left (it carries the revision of the answer), if that is after its arrival and the answer
  /// is late too: the desktop took it in then, and answer and event keep their order.
  private func ownChange(_ index: Int, _ session: SessionSightings, after arrival: Instant) -> Instant? {
    let exchange = traffic.exchanges[index]
    guard traffic.serviceTime(index) > Compilation.sameInstant, let answer = exchange.answer,
      case .success(let result) = answer.result, let revision = result["revision"]?.integer
    else { return nil }
    let departure = traffic.departure(answer.at, exchange.socket) + Compilation.sameInstant
    return session.lists.first {
      $0.source.isEvent && $0.list.revision == revision && $0.source.at > arrival && $0.source.at <= departure
    }?.source.at
  }

  /// Whether frames reached the phone on the connection of a submit well after its arrival: what it would have changed is told at once,
  /// to every phone.
  private func isPassedOver(_ index: Int) -> Bool {
    let arrival = traffic.arrival(index)
    let socket = traffic.exchanges[index].socket
    let heard =
      traffic.events.lazy.filter { $0.socket == socket }.map(\.at)
      + traffic.exchanges.lazy.filter { $0.socket == socket }.compactMap { $0.answer?.at }
    return heard.contains { traffic.departure($0, socket) >= arrival + Compilation.told }
  }

  /// Notes the fate of a request without an answer, and the link condition that explains it.
  mutating func lose(_ index: Int, arrived: Bool, seen: Bool) {
    let exchange = traffic.exchanges[index]
    guard exchange.answer == nil else { return }
    let socket = traffic.sockets[exchange.socket]
    let roundTrip = traffic.oneWay(exchange.socket) * 2
    if arrived, exchange.at + roundTrip > traffic.end {
      traffic.exchanges[index].fate = .open
      return
    }
    if arrived, let closed = socket.closed, exchange.at + roundTrip > closed {
      traffic.exchanges[index].fate = .cut
      return
    }
    traffic.exchanges[index].fate = arrived ? .lostAnswer : .lostRequest
    if !seen {
      note(
        "nothing shows what became of \(exchange.request.method) \(exchange.key ?? ""): either the request or its answer was lost; taken "
          + "as the answer", [exchange.frame], .assumed)
    }
  }

  /// Whether a submit is neither the one that brought its operation nor a repetition: it changes an entry that is there already.
  private func changesListed(_ index: Int) -> Bool {
    let exchange = traffic.exchanges[index]
    guard exchange.attempt == 1, let submit = submit(exchange) else { return false }
    return operations[submit.entry.operationId]?.submits.contains(index) != true
  }

  /// Whether anything shows after a submit of a listed entry that the desktop took it in: the entry without its hold, or gone.
  private func isApproved(_ exchange: Traffic.Exchange, _ session: SessionSightings, after arrival: Instant) -> Bool {
    guard let operation = submit(exchange)?.entry.operationId else { return true }
    if session.liveUser[operation] != nil || session.canonicalUser[operation] != nil { return true }
    return session.lists.contains { sighting in
      sighting.source.at > arrival - Compilation.sameInstant
        && !sighting.list.entries.contains { $0.operationId == operation && $0.holdReason != nil }
    }
  }

  /// Removals, reorders, stops and reads without an answer.
  private mutating func judgeOtherRequests() {
    for index in traffic.exchanges.indices {
      let exchange = traffic.exchanges[index]
      guard exchange.method == .outboxRemove || exchange.method == .outboxReorder || changesListed(index),
        let session = exchange.session.flatMap({ sessions[$0] })
      else { continue }
      let arrival = traffic.arrival(index)
      if let own = ownChange(index, session, after: arrival) { traffic.exchanges[index].takenLate = own - arrival }
    }
    for index in traffic.exchanges.indices where traffic.exchanges[index].answer == nil {
      let exchange = traffic.exchanges[index]
      guard exchange.fate == .answered, let id = exchange.session, let session = sessions[id] else { continue }
      let arrival = traffic.arrival(index)
      let later = session.lists.first { $0.source.at > arrival }
      switch exchange.method {
      case .outboxSubmit where changesListed(index) && !isApproved(exchange, session, after: arrival):
        lose(index, arrived: false, seen: true)
      case .outboxSubmit:
        // Frames of operations that were accepted before, or never.
        lose(index, arrived: true, seen: false)
      case .outboxRemove:
        let operation = exchange.request.params["operationId"]?.string ?? ""
        lose(index, arrived: !(later?.has(operation) ?? false), seen: later != nil)
      case .outboxReorder:
        let wanted = exchange.request.params["queueIds"]?.array?.compactMap(\.string) ?? []
        let order = later?.list.entries.map(\.queueId).filter(wanted.contains) ?? []
        lose(index, arrived: order == wanted.filter(order.contains), seen: later != nil)
      case .stop:
        let run = exchange.request.params["runId"]?.string
        let end = session.runSigns.first { $0.event.runId == run && $0.event.kind != .started }
        lose(index, arrived: end.map { $0.event.kind == .aborted } ?? false, seen: end != nil)
      default: lose(index, arrived: true, seen: false)
      }
    }
  }
}

extension Traffic.Exchange {
  /// Whether its socket ended or the recording was over before it could arrive.
  fileprivate func isUnanswerable(in traffic: Traffic) -> Bool {
    let arrival = at + traffic.oneWay(socket)
    return arrival > traffic.end || arrival > (traffic.sockets[socket].closed ?? .never)
  }
}
