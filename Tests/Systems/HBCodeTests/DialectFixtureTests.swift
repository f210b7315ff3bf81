import HBCodeDialect
import TestSupport
import Testing
import Wire

/// The shared fixtures of envelopes and facts, as far as the decoders alone prove them.
///
/// Without a fixture folder there is nothing to prove here; with `CHATBENCH_FIXTURES` set it must be there.
@Suite struct DialectFixtureTests {
  private func fixture(_ name: String) throws -> JSON? {
    guard let folder = TestFiles.fixtures() else { return nil }
    let bytes = try #require(TestFiles.bytes("\(folder)/hbcode/\(name).json"), "\(folder)/hbcode/\(name).json cannot be read")
    return try JSONReader.value(bytes)
  }

  private func outcome(_ json: JSON, _ request: String?) -> DecodeFailure? {
    DialectSamples.failure { () throws(DecodeFailure) in
      switch request {
      case "older": _ = try OlderPage.decode(json)
      default: _ = try HistoryEnvelope.decode(json, request == "anchored" ? .anchored : .latest)
      }
    }
  }

  @Test(arguments: ["envelope-invalid-batch", "overlay-invalid-batch"])
  func `HB-ENV-08 HB-ENV-09 each change of a valid window fails with the exact reason and path`(name: String) throws {
    guard let file = try fixture(name) else { return }
    let groups = file["batches"]?.array ?? [file]
    var count = 0
    for group in groups {
      let base = try #require(group["base"])
      for example in try #require(group["cases"]?.array) {
        var json = base
        for pointer in example["remove"]?.array ?? [] { json = json.without(pointer.string ?? "") }
        for member in example["set"]?.object?.members ?? [] { json = json.with(member.name, member.value) }
        let failure = outcome(json, (group["request"] ?? file["request"])?.string)
        let expect = try #require(example["expect"])
        let title = example["name"]?.string ?? ""
        #expect((failure == nil) == (expect["ok"]?.bool ?? false), "\(title)")
        #expect(failure?.reason == expect["reason"]?.string, "\(title)")
        #expect(failure?.at == expect["at"]?.string, "\(title)")
        count += 1
      }
    }
    #expect(count >= 14)
  }

  @Test(arguments: ["envelope-valid-indexed", "envelope-valid-native-nulls"])
  func `HB-ENV-01 valid windows decode and are written back`(name: String) throws {
    guard let file = try fixture(name) else { return }
    let input = try #require(file["input"])
    let window = try HistoryEnvelope.decode(input, .latest)
    let expect = try #require(file["expect"])
    #expect(window.timeline.count { $0.origin == .canonical } == expect["canonical"]?.int)
    #expect(window.timeline.count { $0.origin == .live } == expect["live"]?.int)
    #expect(window.overlay.version.epoch == expect["overlay"]?["settlementEpoch"]?.integer)
    #expect(window.overlay.version.revision == expect["overlay"]?["revision"]?.integer)
    #expect(window.overlay.blocks.count == expect["overlay"]?["blocks"]?.int)
    #expect((window.loadState == .ready && window.timeline.isEmpty) == expect["confirmedEmpty"]?.bool)
    #expect(window.activeRun?.runId == expect["activeRun"]?.string)
    #expect(window.isStored(for: file["agent"] == "claude" ? .claude : .codex))
    #expect(window.json(.latest).isEquivalent(to: input))
  }

  @Test func `HB-MSG-02 facts on rows and entries give their label or the exact reason`() throws {
    guard let file = try fixture("message-facts") else { return }
    let cases = try #require(file["cases"]?.array)
    #expect(cases.count >= 19)
    for example in cases {
      let place = try #require(example["where"]?.string)
      let json = try #require(example["fact"])
      let expect = try #require(example["expect"])
      var found: MessageFact?
      let failure = DialectSamples.failure { () throws(DecodeFailure) in
        if place == "entry" {
          found = try OutboxEntry.decode(DialectSamples.entry.with("/message", json), at: "", fromDesktop: true).message
        } else {
          let row = DialectSamples.userRow.with("/type", .string(place)).with("/title", "Message").with("/message", json)
          found = try Row.decode(row, at: "").message
        }
      }
      let title = example["name"]?.string ?? ""
      #expect(failure?.reason == expect["reason"]?.string, "\(title)")
      #expect(found?.labelLine == expect["label"]?.string, "\(title)")
      #expect(found?.delivery?.word == expect["signal"]?.string, "\(title)")
      #expect((found?.link == nil ? nil : found?.otherEnd) == expect["link"]?.string, "\(title)")
    }
  }
}
