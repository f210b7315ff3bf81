import Contract
import Simulation
import Wire

/// Writes traces by hand in the common vocabulary, for tests of oracles and reports. Instants are milliseconds.
///
/// ```swift
/// var story = TraceBuilder()
/// story.send("op-1", "hello", at: 1_000)
/// let submit = story.attempt("op-1", key: "k-1", at: 1_000)
/// story.arrive(submit, at: 1_050)
/// ```
package struct TraceBuilder {
  private var header: RunHeader
  private var entries: [TraceEntry] = []
  package var trace: Trace { Trace(header: header, entries: entries) }
  private var requests = 0

  package init(header: RunHeader? = nil) {
    self.header =
      header
      ?? RunHeader(
        system: "echo", behaviourVersion: 1, recordingName: "story.chatrec", recordingHash: String(repeating: "a", count: 64),
        planName: "dropped-receipts", planHash: String(repeating: "b", count: 64), seed: 7)
    add(.world, "start", at: 0, ["system": "echo", "plan": "dropped-receipts", "seed": 7])
    add(.world, "launch", at: 0, ["n": 0])
    add(.link, "up", at: 0, ["conn": 1, "endpoint": "/v1"])
  }

  /// `plus` are nanoseconds after the millisecond.
  @discardableResult
  package mutating func add(
    _ party: Party, _ kind: String, at: Int64, plus nanoseconds: Int64 = 0, _ fields: JSONObject = [:], payload: String? = nil
  ) -> Int {
    let index = entries.count
    entries.append(
      TraceEntry(
        index: index, at: Instant(nanoseconds: at * 1_000_000 + nanoseconds), party: party, kind: kind, fields: fields,
        payload: payload.map { Array($0.utf8) }))
    return index
  }

  /// The user sends, the client takes it, shows it and says `sending`.
  package mutating func send(_ operation: String, _ text: String, lane: String = "ses-01", at: Int64) {
    add(.user, "gesture", at: at, ["intent": .string("i-\(operation)"), "do": "send"])
    accept(operation, text, lane: lane, at: at)
    add(.core, "shown", at: at, ["operation": .string(operation), "form": "echo"])
    says(operation, .sending, at: at)
  }

  package mutating func accept(_ operation: String, _ text: String, lane: String = "ses-01", action: String = "send", at: Int64) {
    add(
      .core, "accepted", at: at,
      ["operation": .string(operation), "text": .string(text), "lane": .string(lane), "action": .string(action)])
  }

  package mutating func says(_ operation: String, _ word: Vocabulary.ClientWord, at: Int64) {
    add(.core, "says", at: at, ["operation": .string(operation), "state": .string(word.rawValue)])
  }

  /// An entry of the twin's ledger about an operation.
  @discardableResult
  package mutating func ledger(_ kind: String, _ operation: String, at: Int64, _ more: JSONObject = [:]) -> Int {
    add(
      .twin, kind, at: at,
      JSONObject([JSONObject.Member(name: "operation", value: .string(operation))] + more.members))
  }

  /// The client's request that asks the server to take an operation. Gives the index of its `send` entry.
  package mutating func attempt(_ operation: String, key: String, words: String = "words", at: Int64) -> Int {
    requests += 1
    return add(
      .link, "send", at: at,
      [
        "conn": 1, "dir": "out", "label": "request", "name": "submit", "id": .int(requests), "operation": .string(operation),
        "key": .string(key), "delivery": true, "bytes": 40,
      ], payload: #"{"id":\#(requests),"key":"\#(key)","text":"\#(words)"}"#)
  }

  /// The server's receipt for an attempt. Gives the index of its `send` entry.
  package mutating func receipt(of attempt: Int, at: Int64) -> Int {
    let request = entries[attempt]
    return add(
      .link, "send", at: at,
      [
        "conn": 1, "dir": "in", "label": "response", "name": "submit", "id": request["id"] ?? .null,
        "operation": request["operation"] ?? .null,
        "key": request["key"] ?? .null, "delivery": true, "bytes": 12,
      ], payload: #"{"ok":true}"#)
  }

  /// A frame arrives at the other end.
  package mutating func arrive(_ sent: Int, at: Int64) {
    var fields = entries[sent].fields
    fields["bytes"] = nil
    add(.link, "arrive", at: at, JSONObject([JSONObject.Member(name: "of", value: .int(sent))] + fields.members))
  }

  /// A rule (or, without one, the recorded past) does something to a frame.
  package mutating func fault(_ kind: String, _ sent: Int, rule: Int?, at: Int64) {
    if let rule {
      add(.link, kind, at: at, ["of": .int(sent), "rule": .int(rule)])
      add(.plan, "fired", at: at, ["rule": .int(rule)])
    } else {
      add(.link, kind, at: at, ["of": .int(sent), "condition": "lost receipt"])
    }
  }

  /// A message that goes well: sent, saved 50 ms later, receipt after 100, delivered, in the history.
  package mutating func confirmed(_ operation: String, _ text: String, key: String, at: Int64) {
    send(operation, text, at: at)
    let submit = attempt(operation, key: key, at: at)
    arrive(submit, at: at + 50)
    ledger("saved", operation, at: at + 50, ["text": .string(text), "lane": "ses-01", "n": 1])
    arrive(receipt(of: submit, at: at + 50), at: at + 100)
    says(operation, .delivered, at: at + 100)
    ledger("delivered", operation, at: at + 400, ["run": .string("run-\(operation)")])
    ledger("history", operation, at: at + 5_000, ["row": .string("row-\(operation)")])
  }

  /// The trace with its end; the quiet phase begins at `quiet`.
  package mutating func finished(quiet: Int64, end: Int64) -> Trace {
    add(.world, "quiet", at: quiet)
    add(.world, "end", at: end)
    header.quietFrom = Instant(nanoseconds: quiet * 1_000_000)
    header.end = Instant(nanoseconds: end * 1_000_000)
    return trace
  }
}
