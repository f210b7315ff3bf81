import Simulation
import Testing
import Wire

/// What a frame says that it carries is what its bytes say.
@Suite struct FrameContentTests {
  private func frame(_ content: JSON) -> Frame {
    Frame(at: .zero, connection: ConnectionID(1), direction: .out, content: content)
  }

  @Test(
    arguments: [
      [:], [1, -1, 0, .null, true, false, "", "a\"b\\c\u{1}\u{7f}é\u{1f600}"], .integer(.min), .integer(.max),
      .unsigned(UInt64(Int64.max) + 1),
      .unsigned(.max), "text", ["k": ["k": []], "": [:]],
    ] as [JSON])
  func `Content that reads back as it is goes with the frame`(content: JSON) throws {
    let frame = frame(content)
    #expect(frame.content == content)
    #expect(try JSONReader.value(frame.payload) == content)
  }

  @Test(arguments: [.double(1), [.double(0.5)], ["k": .double(.nan)], .unsigned(1)] as [JSON])
  func `Content whose numbers may be spelled as another case does not`(content: JSON) {
    #expect(frame(content).content == nil)
    #expect(frame(content).payload == JSONWriter.compact(content))
  }

  @Test(arguments: [499, 500, 501, 2_000]) func `Nor does content that is nested deeper than every parser takes`(depth: Int) throws {
    var content: JSON = []
    for _ in 1..<depth { content = [content] }
    let frame = frame(content)
    #expect((frame.content != nil) == (depth <= 500))
    if frame.content != nil { #expect(try JSONReader.value(frame.payload) == content) }
  }

  @Test func `A changed payload takes the content away; the content is no part of what frames are compared by`() {
    var changed = frame(["k": 1])
    let parsed = Frame(at: .zero, connection: ConnectionID(1), direction: .out, kind: .text, payload: changed.payload)
    #expect(parsed.content == nil)
    #expect(changed == parsed)
    #expect(Set([changed, parsed]).count == 1)
    changed.payload[0] ^= 1
    #expect(changed.content == nil)
  }

  @Test(arguments: [UInt8(0), 0x1f, 0x20, 0x21, 0x22, 0x23, 0x5b, 0x5c, 0x5d, 0x7f])
  func `An escape is found wherever it stands among words of eight bytes`(byte: UInt8) throws {
    for length in 0..<28 {
      for place in 0...length {
        let bytes = [UInt8](repeating: 0x61, count: place) + [byte] + [UInt8](repeating: 0x22, count: length - place)
        let text = String(decoding: bytes, as: UTF8.self)
        let written = JSONWriter.compact(.string(text))
        #expect(try JSONReader.value(written) == .string(text))
        var isNeeded = bytes.count { $0 < 0x20 || $0 == 0x22 || $0 == 0x5c }
        if byte < 0x20 { isNeeded += 4 }
        #expect(written.count == bytes.count + 2 + isNeeded)
      }
    }
  }

  @Test func `Random strings are written as a walk byte by byte writes them`() throws {
    let random = SeededRandom(seed: 11)
    for round in 0..<2_000 {
      let draws = random.fork("string", String(round))
      var text = ""
      for k in 0..<draws.index(below: 40, at: 0) {
        let limits: [UInt32] = [0x30, 0x80, 0x800, 0xd800, 0x10ffff]
        let limit = limits[draws.index(below: limits.count, at: 2 * k + 1)]
        text.unicodeScalars.append(UnicodeScalar(UInt32(draws.index(below: Int(limit), at: 2 * k + 2))) ?? "x")
      }
      var expected = "\""
      for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": expected += "\\" + String(scalar)
        case "\u{8}": expected += "\\b"
        case "\t": expected += "\\t"
        case "\n": expected += "\\n"
        case "\u{c}": expected += "\\f"
        case "\r": expected += "\\r"
        case "\0"..."\u{1f}": expected += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
        default: expected.unicodeScalars.append(scalar)
        }
      }
      #expect(JSONWriter.compact(.string(text)) == Array((expected + "\"").utf8))
    }
  }

  @Test func `Canonical members stand in the order of UTF-16 code units, whatever their scalars`() {
    let random = SeededRandom(seed: 12)
    let ends: [UInt32] = [0x61, 0xe9, 0x800, 0xd7ff, 0xe000, 0xefff, 0xf000, 0xffff, 0x10000, 0x10ffff]
    for round in 0..<500 {
      let draws = random.fork("names", String(round))
      let names = (0..<6).map { name in
        String(
          String.UnicodeScalarView(
            (0..<3).compactMap { UnicodeScalar(ends[draws.index(below: ends.count, at: name * 3 + $0)]) }))
      }
      let value = JSON.object(JSONObject(names.map { JSONObject.Member(name: $0, value: .null) }))
      let sorted = names.sorted { $0.utf16.lexicographicallyPrecedes($1.utf16) }
      let expected = JSON.object(JSONObject(sorted.map { JSONObject.Member(name: $0, value: .null) }))
      #expect(JSONWriter.canonical(value) == JSONWriter.compact(expected))
    }
  }
}
