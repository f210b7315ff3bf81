import Foundation
import HBCodeDialect
import Testing
import Wire

/// Runs one `hbcode` fixture file by its kind.
enum HBCodeFixtures {
  static func run(_ file: FixtureFile) throws {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: file.path)))
    let fixture = try JSONReader.value(bytes)
    #expect(fixture["schema"]?.string == "hbcode-fixture/1", "\(file.testDescription): unknown schema")
    switch fixture["kind"]?.string {
    case "envelope": try envelope(fixture)
    case "envelope-batch": try batches(fixture)
    case "message-facts": try messageFacts(fixture)
    case "overlay": try HBCodeOverlayFixture.run(fixture)
    case "outbox": try HBCodeOutboxFixture.run(fixture)
    case "reveal": try HBCodeRevealFixture.run(fixture)
    case let kind: Issue.record("\(file.testDescription): no runner for kind \(kind ?? "none")")
    }
  }

  /// What a decode of `input` gives, by request: nil, or the first failure.
  private static func failure(of input: JSON, request: String) -> DecodeFailure? {
    do throws(DecodeFailure) {
      switch request {
      case "latest": _ = try HistoryEnvelope.decode(input, .latest)
      case "anchored": _ = try HistoryEnvelope.decode(input, .anchored)
      case "older": _ = try OlderPage.decode(input)
      default: Issue.record("unknown request \(request)")
      }
      return nil
    } catch {
      return error
    }
  }

  private static func envelope(_ fixture: JSON) throws {
    let request = try #require(fixture["request"]?.string)
    let input = try #require(fixture["input"])
    let expect = try #require(fixture["expect"])
    let failure = failure(of: input, request: request)
    try compare(failure, with: expect, named: "input")
    guard failure == nil, request != "older" else { return }
    let envelope = try HistoryEnvelope.decode(input, request == "latest" ? .latest : .anchored)
    if let wanted = expect["canonical"]?.int { #expect(envelope.timeline.filter { $0.origin == .canonical }.count == wanted) }
    if let wanted = expect["live"]?.int { #expect(envelope.timeline.filter { $0.origin == .live }.count == wanted) }
    if let wanted = expect["overlay"] {
      #expect(envelope.overlay.version.epoch == wanted["settlementEpoch"]?.integer)
      #expect(envelope.overlay.version.revision == wanted["revision"]?.integer)
      #expect(envelope.overlay.blocks.count == wanted["blocks"]?.int)
    }
    if let wanted = expect["activeRun"] { #expect(envelope.activeRun?.runId == wanted.string) }
    try HBCodeOverlayFixture.firstLoad(envelope, expect)
  }

  private static func batches(_ fixture: JSON) throws {
    let groups = fixture["batches"]?.array ?? [fixture]
    for group in groups {
      let request = group["request"]?.string ?? fixture["request"]?.string ?? "latest"
      let base = try #require(group["base"] ?? fixture["base"])
      let cases = try #require(group["cases"]?.array)
      #expect(!cases.isEmpty)
      for one in cases {
        let name = one["name"]?.string ?? "unnamed"
        var input = base
        for pointer in one["remove"]?.array ?? [] { input = try Pointer(pointer.string ?? "").removing(from: input) }
        for member in one["set"]?.object?.members ?? [] { input = try Pointer(member.name).setting(member.value, in: input) }
        // A repeated key can only be told on the wire: go through bytes, as the phone does.
        let read = try JSONReader.value(JSONWriter.compact(input))
        try compare(failure(of: read, request: request), with: try #require(one["expect"]), named: name)
      }
    }
  }

  private static func messageFacts(_ fixture: JSON) throws {
    for one in try #require(fixture["cases"]?.array) {
      let name = one["name"]?.string ?? "unnamed"
      let place = try #require(one["where"]?.string)
      let fact = try #require(one["fact"])
      let expect = try #require(one["expect"])
      var failure: DecodeFailure?
      var decoded: MessageFact?
      do throws(DecodeFailure) {
        if place == "entry" {
          let entry: JSON = [
            "queueId": "q-1", "operationId": "op-1", "userText": "Text", "promptText": "Text", "status": "queued", "sendMode": "queue",
            "expectedActiveRunId": nil, "pendingMutation": nil, "accepted": nil, "handoff": nil, "holdReason": nil, "error": nil,
            "message": fact, "threadId": nil, "selection": nil, "speedMode": "standard", "accessLevel": "Full auto", "attachments": [],
            "createdAt": 1_790_000_000_000,
          ]
          decoded = try OutboxEntry.decode(entry, at: "entries[0]", fromDesktop: true).message
        } else {
          let row: JSON = [
            "type": .string(place), "id": "r-1", "origin": "canonical", "sourceOrder": [1, 0], "timestamp": 1_790_000_000_000,
            "title": "Message", "text": "Text", "message": fact,
          ]
          decoded = try Row.decode(row, at: "timeline[0]").message
        }
      } catch {
        failure = error
      }
      try compare(failure, with: expect, named: name)
      if let wanted = expect["label"] { #expect(decoded?.labelLine == wanted.string, "\(name)") }
      if let wanted = expect["signal"] { #expect(decoded?.delivery?.word == wanted.string, "\(name)") }
      if let wanted = expect["link"] { #expect(decoded.flatMap { $0.link == nil ? nil : $0.otherEnd } == wanted.string, "\(name)") }
    }
  }

  private static func compare(_ failure: DecodeFailure?, with expect: JSON, named name: String) throws {
    if expect["ok"]?.bool == true {
      #expect(failure == nil, "\(name): \(failure.map { "\($0.reason) at \($0.at)" } ?? "")")
    } else {
      #expect(failure?.reason == expect["reason"]?.string, "\(name)")
      if let at = expect["at"]?.string { #expect(failure?.at == at, "\(name)") }
    }
  }
}

/// A JSON pointer (RFC 6901) of the fixtures; `-` appends.
private struct Pointer {
  var parts: [String]

  init(_ text: String) {
    parts = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map {
      String($0).replacing("~1", with: "/").replacing("~0", with: "~")
    }
  }

  func removing(from value: JSON) throws -> JSON { try change(value, parts[...], nil) }
  func setting(_ new: JSON, in value: JSON) throws -> JSON { try change(value, parts[...], new) }

  private func change(_ value: JSON, _ rest: ArraySlice<String>, _ new: JSON?) throws -> JSON {
    guard let part = rest.first else { return try #require(new) }
    let below = rest.dropFirst()
    switch value {
    case .object(var object):
      if below.isEmpty {
        object[part] = new
      } else {
        object[part] = try change(try #require(object[part]), below, new)
      }
      return .object(object)
    case .array(var array):
      if part == "-" {
        array.append(try #require(new))
        return .array(array)
      }
      let index = try #require(Int(part))
      try #require(array.indices.contains(index))
      if below.isEmpty {
        if let new { array[index] = new } else { array.remove(at: index) }
      } else {
        array[index] = try change(array[index], below, new)
      }
      return .array(array)
    default:
      Issue.record("a pointer leads into \(JSONWriter.text(value))")
      return value
    }
  }
}
