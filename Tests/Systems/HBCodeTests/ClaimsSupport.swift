import Contract
import HBCodeDialect
import HBCodeSystem
import Simulation
import TestSupport
import Testing
import Wire

/// Writes traces by hand in the words of hbcode, for tests of its claims. Instants are milliseconds.
struct ClaimTale {
  var builder = TraceBuilder()
  private var requests = 0
  private var sent: [String] = []

  init() {}

  var trace: Trace { builder.trace }

  @discardableResult
  mutating func core(_ kind: String, at: Int64, _ fields: JSONObject = [:]) -> Int { builder.add(.core, kind, at: at, fields) }

  @discardableResult
  mutating func user(_ gesture: String, at: Int64, _ fields: JSONObject = [:]) -> Int {
    builder.add(.user, "gesture", at: at, JSONObject([.init(name: "do", value: .string(gesture))] + fields.members))
  }

  @discardableResult
  mutating func twin(_ kind: String, _ operation: String, at: Int64, _ more: JSONObject = [:]) -> Int {
    builder.ledger(kind, operation, at: at, more)
  }

  /// A request of the phone; gives its `send` entry.
  @discardableResult
  mutating func ask(
    _ method: Method, at: Int64, session: String = "ses-01", mutation: String? = nil, key: String? = nil, hash: String = "h1",
    operation: String? = nil, more: JSONObject = [:], payload: String? = nil
  ) -> Int {
    requests += 1
    var fields: JSONObject = [
      "conn": 1, "dir": "out", "label": "request", "name": .string(method.rawValue), "id": .string("r\(requests)"),
      "sessionId": .string(session), "paramsHash": .string(hash),
    ]
    if let mutation {
      fields["mutationId"] = .string(mutation)
      fields["key"] = .string(key ?? method.rawValue + ":" + mutation)
    } else if let key {
      fields["key"] = .string(key)
    }
    if let operation {
      fields["operation"] = .string(operation)
      fields["delivery"] = .bool(method == .outboxSubmit)
    }
    fields.members += more.members
    return builder.add(.link, "send", at: at, fields, payload: payload)
  }

  /// The answer to a request and its arrival, at one instant.
  mutating func answer(
    _ ask: Int, at: Int64, ok: Bool = true, code: String? = nil, permanent: Bool = false, outcome: String? = nil,
    operations: [String]? = nil, more: JSONObject = [:], payload: String? = nil, fault: String? = nil
  ) {
    let request = trace.entries[ask]
    var fields: JSONObject = ["conn": 1, "dir": "in", "label": "response", "ok": .bool(ok)]
    for name in ["name", "id", "sessionId", "operation", "key"] { fields[name] = request[name] }
    fields["code"] = code.map(JSON.string)
    if code != nil { fields["permanent"] = .bool(permanent) }
    fields["outcome"] = outcome.map(JSON.string)
    if let operations { fields["operations"] = .array(operations.map(JSON.string)) }
    fields.members += more.members
    let send = builder.add(.link, "send", at: at, fields, payload: payload)
    if let fault { builder.add(.link, fault, at: at, ["of": .int(send), "rule": 1]) }
    builder.add(
      .link, "arrive", at: at,
      ["of": .int(send), "conn": 1, "dir": "in", "label": "response", "name": request["name"] ?? .null])
  }

  /// An event and its arrival.
  @discardableResult
  mutating func event(_ name: EventName, at: Int64, _ fields: JSONObject = [:], payload: String? = nil) -> Int {
    let base: JSONObject = ["conn": 1, "dir": "in", "label": "event", "name": .string(name.rawValue)]
    let send = builder.add(.link, "send", at: at, JSONObject(base.members + fields.members), payload: payload)
    return builder.add(.link, "arrive", at: at, JSONObject([.init(name: "of", value: .int(send))] + base.members))
  }

  mutating func op(_ operation: String, _ state: String, at: Int64, session: String = "ses-01") {
    core("op", at: at, ["operation": .string(operation), "session": .string(session), "state": .string(state)])
  }

  mutating func store(_ pending: [String], terminal: [String] = [], generation: Int64 = 1, at: Int64) {
    core(
      "store", at: at,
      [
        "key": "workspace-chat-local-outbox-v2", "generation": .integer(generation),
        "order": .array((pending + terminal).map(JSON.string)), "terminal": .array(terminal.map(JSON.string)),
      ])
  }

  mutating func send(_ operation: String, at: Int64, session: String = "ses-01") {
    user("send", at: at, ["text": .string(operation)])
    sent.append(operation)
    store(sent, at: at)
    core(
      "accepted", at: at,
      ["operation": .string(operation), "text": .string(operation), "lane": .string(session), "action": "send"])
    op(operation, "new", at: at, session: session)
  }

  mutating func select(_ session: String = "ses-01", at: Int64, order: [String]? = nil) {
    core("host.commit", at: at, ["key": .string(session), "order": .array((order ?? [session]).map(JSON.string))])
    core("host.activate", at: at, ["key": .string(session)])
  }

  mutating func show(_ rows: [(String, String)], at: Int64, host: String = "ses-01") {
    core(
      "show", at: at,
      ["host": .string(host), "rows": .array(rows.map { ["id": .string($0.0), "origin": .string($0.1)] })])
  }

  mutating func load(_ number: Int, at: Int64, reason: String = "selected", host: String = "ses-01", first: Bool = false, attempt: Int = 1)
  {
    core(
      "load.start", at: at,
      ["op": .int(number), "host": .string(host), "reason": .string(reason), "first": .bool(first), "try": .int(attempt)])
  }

  mutating func loaded(_ number: Int, at: Int64, _ outcome: String = "applied", host: String = "ses-01", _ more: JSONObject = [:]) {
    core(
      "load.end", at: at,
      JSONObject(
        [
          .init(name: "op", value: .int(number)), .init(name: "host", value: .string(host)),
          .init(name: "outcome", value: .string(outcome)),
        ] + more.members))
  }

  mutating func overlay(_ epoch: Int64, _ revision: Int64, at: Int64, host: String = "ses-01") {
    core("overlay", at: at, ["host": .string(host), "epoch": .integer(epoch), "revision": .integer(revision), "source": "event"])
  }

  mutating func world(_ kind: String, at: Int64, _ fields: JSONObject = [:]) { builder.add(.world, kind, at: at, fields) }

  /// What a claim finds: how often it was put to the test, and what is broken.
  func judged(_ claim: String) throws -> ClaimOutcome {
    guard let found = hbcode.claims.first(where: { $0.id == claim }) else { throw ClaimTaleError(claim: claim) }
    return try found.check(TraceIndex(trace))
  }

  struct ClaimTaleError: Error {
    var claim: String
  }
}

/// Writes a trace and judges it: how often the claim is put to the test, and how often it is broken. Every violation is proven by entries and
/// says its numbers.
@discardableResult
func expect(
  _ claim: String, exercised: Int, broken: Int = 0, sourceLocation: SourceLocation = #_sourceLocation, _ write: (inout ClaimTale) -> Void
) throws -> ClaimOutcome {
  var tale = ClaimTale()
  write(&tale)
  let outcome = try tale.judged(claim)
  #expect(outcome.exercised == exercised, sourceLocation: sourceLocation)
  #expect(outcome.violations.count == broken, "\(outcome.violations.map(\.happened))", sourceLocation: sourceLocation)
  for violation in outcome.violations {
    let isProven = !violation.evidence.isEmpty && violation.evidence.allSatisfy { tale.trace.entries.indices.contains($0) }
    let hasNumbers = violation.happened.hasSuffix(".") && violation.happened.contains { $0.isNumber }
    #expect(isProven, sourceLocation: sourceLocation)
    #expect(hasNumbers, "\(violation.happened)", sourceLocation: sourceLocation)
  }
  if exercised == 0 { #expect(outcome.remark != nil, sourceLocation: sourceLocation) }
  return outcome
}
