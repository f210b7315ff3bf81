import Contract
import HBCodeDialect
import HBCodeScenario
import Simulation
import Wire

extension WireError {
  /// An error that no repetition cures (spec B.7).
  static func permanent(_ code: String, _ message: String) -> WireError { WireError(code: code, message: message, permanent: true) }
  static func invalid(_ message: String) -> WireError { .permanent("invalid_params", message) }
}

/// What a request wants of its params; failures are `invalid_params` with the field.
struct Params: Sendable {
  let object: JSONObject

  func text(_ name: String) throws(WireError) -> String {
    guard let value = object[name]?.string, value.contains(where: { !$0.isWhitespace }) else {
      throw .invalid("\(name) must be a nonblank string")
    }
    return value
  }

  /// A string, or nil when null or absent.
  func optionalText(_ name: String) throws(WireError) -> String? {
    guard let value = object[name], !value.isNull else { return nil }
    guard let text = value.string else { throw .invalid("\(name) must be a string or null") }
    return text
  }

  func count(_ name: String, in range: ClosedRange<Int64>) throws(WireError) -> Int64 {
    guard let value = object[name]?.integer, range.contains(value) else {
      throw .invalid("\(name) must be an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}

extension DesktopTwin {
  /// When a steer is accepted after its submit, and what the desktop's clock shows then (milliseconds ahead; nil: as in its run).
  struct SteerFacts: Sendable {
    var delay = Interval.milliseconds(200)
    var clock: Int64?
  }

  /// A request as the desktop sees it.
  struct Arrival {
    var method: Method
    var params: Params
    var key: String?
    var desktop: String
    /// How a steer was accepted in the recorded past.
    var steer: SteerFacts

    /// The mutation id of a key `<method>:<mutation id>`.
    var mutation: String? {
      guard let key, key.hasPrefix(method.rawValue + ":") else { return nil }
      return String(key.dropFirst(method.rawValue.utf8.count + 1))
    }
  }

  mutating func receive(_ frame: Frame, _ refusal: Refusal?) {
    guard relay.isConnected(frame.connection), frame.kind == .text || frame.kind == .binary else { return }
    guard frame.kind == .text else { return dropped(frame, DecodeFailure(reason: "frame.binary")) }
    switch reader.message(of: frame) {
    case .request(let request): answer(request, on: frame.connection, refusal)
    case .response, .event: dropped(frame, DecodeFailure(reason: "frame.not-request"))
    case .invalid(let failure): dropped(frame, failure)
    }
  }

  private mutating func dropped(_ frame: Frame, _ failure: DecodeFailure) {
    note("dropped", ["conn": .int(frame.connection.number), "reason": .string(failure.reason), "at": .string(failure.at)])
  }

  private mutating func answer(_ request: RequestMessage, on connection: ConnectionID, _ refusal: Refusal?) {
    let rules = service.arrived(method: request.method, key: request.idempotencyKey)
    for case .takenLate(let by) in rules where by > .zero {
      // Like a frame that arrives then: before everything else of that instant.
      return push(.request(request, connection, refusal, rules), at: now + by, rank: -2)
    }
    take(request, on: connection, refusal, rules)
  }

  mutating func take(_ request: RequestMessage, on connection: ConnectionID, _ refusal: Refusal?, _ rules: [ServiceRule.What]) {
    let method = Method(rawValue: request.method)
    var delay = Interval.zero
    var refused: WireError?
    var steer = SteerFacts()
    for rule in rules {
      switch rule {
      case .slow(let by): delay = delay + by
      case .takenLate: break
      case .refused(let error): refused = error
      case .steerAccepted(let after, let clock): steer = SteerFacts(delay: after, clock: clock)
      }
    }
    if let refusal { refused = WireError(code: refusal.code, message: refusal.message, permanent: refusal.permanent) }
    func respond(_ twin: inout DesktopTwin, _ result: Result<JSON, WireError>, after: Interval) {
      twin.send(ResponseMessage(id: request.id, result: result).json, to: connection, after: after)
    }
    let params = Params(object: request.params)

    if method == .timelineInterest {
      if let refused { return respond(&self, .failure(refused), after: delay) }
      return respond(&self, interest(params, connection), after: delay)
    }
    guard let desktop = relay.desktop(of: connection), desktops.contains(desktop) else {
      return respond(
        &self, .failure(WireError(code: "desktop_offline", message: "this desktop is not connected", permanent: false)), after: delay)
    }
    guard let method else {
      return respond(&self, .failure(.permanent("unknown_method", "no method \(request.method)")), after: delay)
    }
    let arrival = Arrival(method: method, params: params, key: request.idempotencyKey, desktop: desktop, steer: steer)
    guard method.isKeyed else {
      let result = refused.map { .failure($0) } ?? performed(arrival)
      if case .failure(let error) = result { noteRefusal(arrival, error) }
      respond(&self, result, after: delay)
      return finished(method)
    }

    guard let key = request.idempotencyKey, !key.isEmpty else {
      let error = WireError.permanent("idempotency_required", "\(method.rawValue) needs an idempotency key")
      noteRefusal(arrival, error)
      return respond(&self, .failure(error), after: delay)
    }
    let slot = Ledger.key(desktop, key)
    let canonical = JSONWriter.canonical(.object(request.params))
    if refused == nil, let stored = answers[slot], now - stored.at < StoredAnswer.time {
      if stored.method == method.rawValue, stored.params == canonical {
        noteAnswer(arrival, key, stored.result, isStored: true)
        return respond(&self, stored.result, after: max(delay, stored.ready - now))
      }
      let error = WireError.permanent("idempotency_conflict", "this key was used with other params")
      noteRefusal(arrival, error)
      return respond(&self, .failure(error), after: delay)
    }
    let result = refused.map { .failure($0) } ?? performed(arrival)
    var keeps = true
    if case .failure(let error) = result {
      noteRefusal(arrival, error)
      keeps = error.permanent
    }
    if keeps {
      answers[slot] = StoredAnswer(method: method.rawValue, params: canonical, result: result, at: now, ready: now + delay)
    }
    noteAnswer(arrival, key, result, isStored: false)
    respond(&self, result, after: delay)
    if case .success = result, let mutation = arrival.mutation { takenIn(arrival, mutation) }
    finished(method)
  }

  private mutating func finished(_ method: Method) {
    answered[method.rawValue, default: 0] += 1
    fire(.request(method.rawValue, answered[method.rawValue] ?? 0))
  }

  /// What an intent of the user causes by being taken in.
  private mutating func takenIn(_ arrival: Arrival, _ mutation: String) {
    if let intent = intentOfMutation[mutation] {
      matching.made(stop: intent)
      fire(.accepted(intent))
    } else if arrival.method == .stop, let session = arrival.params.object["sessionId"]?.string,
      let intent = matching.stop(session: session, mutation: mutation)
    {
      fire(.accepted(intent))
    }
  }

  private mutating func noteAnswer(_ arrival: Arrival, _ key: String, _ result: Result<JSON, WireError>, isStored: Bool) {
    var fields: JSONObject = ["key": .string(key), "stored": .bool(isStored), "method": .string(arrival.method.rawValue)]
    if case .failure(let error) = result { fields["code"] = .string(error.code) }
    note("answer", fields)
  }

  private mutating func noteRefusal(_ arrival: Arrival, _ error: WireError) {
    var fields = JSONObject()
    let operation = arrival.params.object["operationId"]?.string ?? arrival.params.object["entry"]?["operationId"]?.string
    if let operation { fields["operation"] = .string(operation) }
    fields["code"] = .string(error.code)
    fields["method"] = .string(arrival.method.rawValue)
    if let key = arrival.key { fields["key"] = .string(key) }
    note("refused", fields)
  }

  /// The relay takes or gives up a lease (HB-LEASE-01 to -03).
  private mutating func interest(_ params: Params, _ connection: ConnectionID) -> Result<JSON, WireError> {
    do throws(WireError) {
      let session = try params.text("sessionId")
      let thread = try params.optionalText("threadId")
      guard let hold = params.object["hold"]?.bool else { throw .invalid("hold must be a boolean") }
      if hold {
        relay.hold(connection, session: session, thread: thread, at: now)
      } else {
        relay.release(connection, session: session, thread: thread)
      }
      return .success(["keepMs": .integer(Relay.leaseTime.nanoseconds / 1_000_000)])
    } catch {
      return .failure(error)
    }
  }

  private mutating func performed(_ arrival: Arrival) -> Result<JSON, WireError> {
    do throws(WireError) {
      return .success(try perform(arrival))
    } catch {
      return .failure(error)
    }
  }

  private mutating func perform(_ arrival: Arrival) throws(WireError) -> JSON {
    switch arrival.method {
    case .timelineInterest: throw .permanent("unknown_method", "the relay answers \(arrival.method.rawValue)")
    case .sessionCreate: return try createSession(arrival)
    case .existingSessions:
      _ = try agentAndProject(arrival)
      basis("saved conversations", .synthetic)
      return ["conversations": []]
    case .previewExistingSession:
      _ = try agentAndProject(arrival)
      let conversation = try arrival.params.text("conversationId")
      basis("preview of \(conversation)", .synthetic)
      return ["conversationId": .string(conversation), "timeline": []]
    case .load, .loadThread: return try window(arrival, try lane(arrival))
    case .loadPageBefore, .loadThreadPageBefore: return try olderPage(arrival, try lane(arrival))
    case .outboxLoad: return try listAnswer(try lane(arrival), outcome: nil)
    case .outboxSubmit: return try submit(arrival, try lane(arrival))
    case .outboxRemove: return try remove(arrival, try lane(arrival))
    case .outboxReorder: return try reorder(arrival, try lane(arrival))
    case .stopAndSendNow: return try stopAndSendNow(arrival, try lane(arrival))
    case .stop: return try stop(arrival, try lane(arrival))
    case .uploadBegin, .uploadChunk, .uploadFinish, .uploadCancel: return try upload(arrival)
    }
  }

  private func lane(_ arrival: Arrival) throws(WireError) -> Int {
    let session = try arrival.params.text("sessionId")
    guard let lane = ledgerIndex[Ledger.key(arrival.desktop, session)] else {
      throw .permanent("unknown_session", "no session \(session)")
    }
    return lane
  }

  mutating func basis(_ what: String, _ basis: Basis) { note("basis", ["what": .string(what), "basis": .string(basis.rawValue)]) }

  /// The outbox as an answer shows it; `outcome` comes first.
  private mutating func listAnswer(_ lane: Int, outcome: String?) throws(WireError) -> JSON {
    if ledgers[lane].isListDirty { ledgers[lane].isListShown = true }
    var object: JSONObject = outcome.map { ["outcome": .string($0)] } ?? [:]
    do throws(DecodeFailure) {
      object.members += try ledgers[lane].list.fields.members
    } catch {
      throw WireError(code: "internal", message: "the outbox cannot be written: \(error.reason)", permanent: false)
    }
    return .object(object)
  }

  // MARK: Submit

  private mutating func submit(_ arrival: Arrival, _ lane: Int) throws(WireError) -> JSON {
    guard let intent = arrival.params.object["intent"]?.string.flatMap(SubmitIntent.init(rawValue:)) else {
      throw .invalid("intent must be automatic or enqueue")
    }
    let old = try arrival.params.optionalText("supersedesOperationId")
    let entry: SubmitEntry
    do throws(DecodeFailure) {
      entry = try SubmitEntry.decode(arrival.params.object["entry"] ?? .null, at: "entry")
    } catch {
      throw .invalid(error.reason)
    }
    let operation = entry.operationId
    if ledgers[lane].tombstones.contains(operation) || ledgers[lane].delivered.contains(operation) {
      return try listAnswer(lane, outcome: "updated")
    }
    if ledgers[lane].position(of: operation) != nil {
      approve(operation, lane, intent)
    } else {
      try save(entry, lane, intent, supersedes: old, steer: arrival.steer)
    }
    settleQueue(lane)
    return try listAnswer(lane, outcome: "updated")
  }

  /// A submit of a listed operation changes intent, order and approval, never its text or fact (HB-HOLD-03, -05).
  private mutating func approve(_ operation: String, _ lane: Int, _ intent: SubmitIntent) {
    guard intent == .automatic, let index = ledgers[lane].position(of: operation) else { return }
    var entry = ledgers[lane].entries[index]
    let wasHeld = entry.holdReason != nil
    entry.holdReason = nil
    guard entry.accepted == nil, entry.handoff == nil else {
      if wasHeld {
        ledgers[lane].entries[index] = entry
        listChanged(lane)
      }
      return
    }
    ledgers[lane].entries.remove(at: index)
    let front = ledgers[lane].front
    ledgers[lane].entries.insert(entry, at: front)
    if wasHeld || front != index { listChanged(lane) }
  }

  private mutating func save(
    _ submit: SubmitEntry, _ lane: Int, _ intent: SubmitIntent, supersedes old: String?, steer: SteerFacts
  ) throws(WireError) {
    let entry: OutboxEntry
    do throws(DecodeFailure) {
      entry = try OutboxEntry(submit: submit, status: .queued)
    } catch {
      throw .invalid(error.reason)
    }
    let isFront = intent == .automatic && old != nil
    if let old, let index = ledgers[lane].position(of: old) {
      guard ledgers[lane].entries[index].status == .queued else { throw gone(old) }
      ledgers[lane].entries.remove(at: index)
      ledgers[lane].entries.insert(entry, at: isFront ? ledgers[lane].front : index)
    } else if let old, ledgers[lane].delivered.contains(old) {
      throw gone(old)
    } else {
      ledgers[lane].entries.insert(entry, at: isFront ? ledgers[lane].front : ledgers[lane].entries.count)
    }
    ledgers[lane].saves += 1
    let operation = submit.operationId
    note(
      "saved",
      [
        "operation": .string(operation), "text": .string(submit.userText), "lane": .string(ledgers[lane].id),
        "n": .int(ledgers[lane].saves),
      ])
    if let recorded = matching.learn(operation, session: ledgers[lane].id, isEdit: old != nil, text: submit.userText) {
      noteReissued("operationId", .string(recorded), .string(operation), lane)
    }
    if let old {
      ledgers[lane].tombstones.insert(old)
      note("superseded", ["operation": .string(old), "by": .string(operation)])
    }
    listChanged(lane)
    switch submit.sendMode {
    case .queue: break
    case .steerRunning: armSteer(operation, lane, steer)
    case .interruptRunning: interrupt(for: operation, lane)
    }
  }

  private func gone(_ operation: String) -> WireError { .permanent("operation_gone", "\(operation) is on its way or delivered") }

  // MARK: Remove, reorder

  private mutating func remove(_ arrival: Arrival, _ lane: Int) throws(WireError) -> JSON {
    _ = try arrival.params.text("queueId")
    let operation = try arrival.params.text("operationId")
    if let index = ledgers[lane].position(of: operation) {
      let entry = ledgers[lane].entries[index]
      if entry.accepted != nil || entry.handoff != nil { return try listAnswer(lane, outcome: "delivered") }
      ledgers[lane].entries.remove(at: index)
      ledgers[lane].tombstones.insert(operation)
      note("removed", ["operation": .string(operation)])
      listChanged(lane)
      settleQueue(lane)
    } else if ledgers[lane].delivered.contains(operation) {
      return try listAnswer(lane, outcome: "delivered")
    } else if ledgers[lane].tombstones.insert(operation).inserted {
      note("removed", ["operation": .string(operation)])
    }
    return try listAnswer(lane, outcome: "updated")
  }

  /// Named queued entries in the named order, unnamed ones after them in theirs, `sending` ones first.
  private mutating func reorder(_ arrival: Arrival, _ lane: Int) throws(WireError) -> JSON {
    guard let list = arrival.params.object["queueIds"]?.array else { throw .invalid("queueIds must be an array of strings") }
    var place: [String: Int] = [:]
    for (index, element) in list.enumerated() {
      guard let queueId = element.string else { throw .invalid("queueIds must be an array of strings") }
      if place[queueId] == nil { place[queueId] = index }
    }
    let entries = ledgers[lane].entries
    let sending = entries.filter { $0.status == .sending }
    let queued = entries.filter { $0.status == .queued }
    let named = queued.filter { place[$0.queueId] != nil }.sorted { (place[$0.queueId] ?? 0) < (place[$1.queueId] ?? 0) }
    let reordered = sending + named + queued.filter { place[$0.queueId] == nil }
    if reordered != entries {
      ledgers[lane].entries = reordered
      listChanged(lane)
      settleQueue(lane)
    }
    return try listAnswer(lane, outcome: "updated")
  }

  // MARK: Stop

  private mutating func stop(_ arrival: Arrival, _ lane: Int) throws(WireError) -> JSON {
    let runId = try arrival.params.text("runId")
    if ledgers[lane].run?.id == runId { takeStop(lane, arrival.mutation) }
    return ["outcome": "updated"]
  }

  private mutating func stopAndSendNow(_ arrival: Arrival, _ lane: Int) throws(WireError) -> JSON {
    _ = try arrival.params.text("queueId")
    let operation = try arrival.params.text("operationId")
    let expected = [
      try arrival.params.text("expectedRunId"), try arrival.params.text("expectedThreadId"), try arrival.params.text("expectedTurnId"),
    ]
    guard let index = ledgers[lane].position(of: operation), let run = ledgers[lane].run, !run.isStopping,
      let accepted = ledgers[lane].entries[index].accepted, ledgers[lane].entries[index].handoff == nil,
      [accepted.runId, accepted.threadId, accepted.turnId] == expected, steerFacts(of: run, lane) == expected
    else { return try listAnswer(lane, outcome: "blocked") }
    ledgers[lane].entries[index].handoff = .requested
    listChanged(lane)
    takeStop(lane, arrival.mutation)
    return try listAnswer(lane, outcome: "updated")
  }

  // MARK: Sessions and files

  private func agentAndProject(_ arrival: Arrival) throws(WireError) -> (Agent, String) {
    guard let agent = arrival.params.object["agent"]?.string.flatMap(Agent.init(rawValue:)) else {
      throw .invalid("agent must be codex or claude")
    }
    return (agent, try arrival.params.text("projectPath"))
  }

  /// A session that the recording does not have: confirmed empty.
  private mutating func createSession(_ arrival: Arrival) throws(WireError) -> JSON {
    let (agent, project) = try agentAndProject(arrival)
    let id = "x:session:" + (arrival.mutation ?? arrival.key ?? "")
    let created = wall(now)
    let state = SessionState(id: id, agent: agent, projectPath: project, updatedAt: created)
    if ledgerIndex[Ledger.key(arrival.desktop, id)] == nil {
      ledgerIndex[Ledger.key(arrival.desktop, id)] = ledgers.count
      if sessionIndex[id] == nil { sessionIndex[id] = ledgers.count }
      ledgers.append(Ledger(desktop: arrival.desktop, state))
      basis("session \(id)", .synthetic)
    }
    return [
      "sessionId": .string(id), "agent": .string(agent.rawValue), "projectPath": .string(project), "createdAt": .integer(created),
    ]
  }

  private mutating func upload(_ arrival: Arrival) throws(WireError) -> JSON {
    let params = arrival.params
    if arrival.method == .uploadBegin {
      let fileName = try params.text("fileName")
      let mimeType = try params.text("mimeType")
      guard let size = params.object["size"]?.integer, size >= 0 else { throw .invalid("size must be an integer from 0") }
      if size > 1 << 30 { throw .permanent("upload_too_large", "a file may have up to 1073741824 bytes") }
      let id = "x:upload:" + (arrival.key ?? "")
      uploads[id] = Upload(fileName: fileName, mimeType: mimeType, size: size)
      return ["uploadId": .string(id), "chunkSize": .integer(1 << 20)]
    }
    let id = try params.text("uploadId")
    guard var upload = uploads[id] else { throw .permanent("upload_unknown", "no upload \(id)") }
    switch arrival.method {
    case .uploadChunk:
      let index = try params.count("index", in: 0...(1 << 20))
      guard let data = params.object["data"]?.string, data.utf8.count % 4 == 0 else { throw .invalid("data must be base64") }
      guard index == upload.chunks else { throw .permanent("chunk_mismatch", "expected chunk \(upload.chunks), got \(index)") }
      upload.received += Int64(data.utf8.count / 4 * 3 - data.utf8.reversed().prefix(2).filter { $0 == UInt8(ascii: "=") }.count)
      upload.chunks += 1
      if upload.received > upload.size { throw .permanent("chunk_mismatch", "more bytes than announced") }
      uploads[id] = upload
      return ["received": .integer(upload.received)]
    case .uploadFinish:
      if upload.received != upload.size { throw .permanent("chunk_mismatch", "\(upload.received) of \(upload.size) bytes came") }
      uploads[id] = nil
      return [
        "attachment": [
          "attachmentId": .string("x:attachment:" + id), "fileName": .string(upload.fileName), "mimeType": .string(upload.mimeType),
          "size": .integer(upload.size),
        ]
      ]
    default:
      uploads[id] = nil
      return [:]
    }
  }
}
