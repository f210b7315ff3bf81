import Testing
import Wire

@Suite struct JSONWriterTests {
  private func canonical(_ value: JSON) -> String { String(decoding: JSONWriter.canonical(value), as: UTF8.self) }

  @Test(
    arguments: [
      (0x0000_0000_0000_0000, "0"), (0x8000_0000_0000_0000, "0"), (0x0000_0000_0000_0001, "5e-324"), (0x8000_0000_0000_0001, "-5e-324"),
      (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"), (0x4340_0000_0000_0000, "9007199254740992"),
      (0x4430_0000_0000_0000, "295147905179352830000"), (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
      (0x44b5_2d02_c7e1_4af6, "1e+23"), (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"), (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
      (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"), (0x444b_1ae4_d6e2_ef50, "1e+21"), (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
      (0x3eb0_c6f7_a0b5_ed8d, "0.000001"), (0x41b3_de43_5555_5553, "333333333.3333332"),
      (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
    ] as [(UInt64, String)])
  func `Numbers print as ECMAScript prints them (RFC 8785, appendix B)`(bits: UInt64, text: String) {
    #expect(canonical(.double(Double(bitPattern: bits))) == text)
  }

  @Test(
    arguments: [
      (1, "1"), (0.1, "0.1"), (-1.5, "-1.5"), (100, "100"), (123_456.789, "123456.789"), (1e20, "100000000000000000000"),
      (1e-6, "0.000001"),
      (1e-7, "1e-7"), (1.5e-9, "1.5e-9"), (.infinity, "null"), (-.infinity, "null"), (.nan, "null"),
    ] as [(Double, String)])
  func `Everyday doubles`(value: Double, text: String) {
    #expect(JSONWriter.text(.double(value)) == text)
  }

  @Test func `Canonical members are sorted by UTF-16 code units (RFC 8785, 3.2.3)`() {
    let names = ["\u{20ac}", "\r", "\u{fb33}", "1", "\u{1f600}", "\u{80}", "\u{f6}"]
    let value = JSON.object(JSONObject(names.map { JSONObject.Member(name: $0, value: .null) }))
    let sorted = (try? JSONReader.value(JSONWriter.canonical(value)))?.object?.members.map(\.name)
    #expect(sorted == ["\r", "1", "\u{80}", "\u{f6}", "\u{20ac}", "\u{1f600}", "\u{fb33}"])
  }

  @Test func `A canonical text has no white space and sorts inside as well`() {
    let value: JSON = ["b": [["z": 1, "a": .double(2)], true], "a": .double(1e3)]
    #expect(canonical(value) == "{\"a\":1000,\"b\":[{\"a\":2,\"z\":1},true]}")
    #expect(JSONWriter.text(value) == "{\"b\":[{\"z\":1,\"a\":2},true],\"a\":1000}")
  }

  @Test func `Integers keep every digit, also in the canonical text`() {
    #expect(
      canonical([.integer(.max), .integer(.min), .unsigned(.max)]) == "[9223372036854775807,-9223372036854775808,18446744073709551615]")
  }

  @Test(arguments: [
    ("", "\"\""), ("plain é 😀 \u{2028} /", "\"plain é 😀 \u{2028} /\""), ("\"\\", "\"\\\"\\\\\""),
    ("\u{8}\u{c}\n\r\t", "\"\\b\\f\\n\\r\\t\""),
    ("\u{0}\u{b}\u{1f}\u{7f}", "\"\\u0000\\u000b\\u001f\u{7f}\""), ("a\nb", "\"a\\nb\""),
  ])
  func `Strings`(text: String, written: String) {
    #expect(JSONWriter.text(.string(text)) == written)
  }

  @Test func `Every value comes back`() throws {
    let value: JSON = [
      "null": nil, "flags": [true, false], "integers": [0, -1, .integer(.max), .integer(.min), .unsigned(.max)],
      "doubles": [.double(0.1), .double(-2.5e-10), .double(1e300)], "text": "line\nline \u{0} \u{10ffff}", "empty": [[:], [], ""],
    ]
    #expect(try JSONReader.value(JSONWriter.compact(value)) == value)
    #expect(try JSONReader.value(JSONWriter.canonical(value)).isEquivalent(to: value))
  }

  @Test func `SHA-256 gives the published digests`() {
    #expect(SHA256Digest.hex([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(SHA256Digest.hex(Array("abc".utf8)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }
}
