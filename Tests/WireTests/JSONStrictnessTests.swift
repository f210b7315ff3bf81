import Testing
import Wire

/// What a strict parser of JSON texts takes and refuses (RFC 8259), in the grouping of JSONTestSuite; the cases are our own.
@Suite struct JSONStrictnessTests {
  private func parsed(_ bytes: [UInt8]) -> JSON? { try? JSONReader.value(bytes) }
  private func parsed(_ text: String) -> JSON? { parsed(Array(text.utf8)) }

  @Test(arguments: [
    "", " ", "[", "]", "{", "}", "[1,]", "[,1]", "[1 2]", "[1,,2]", "{\"a\":1,}", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\" 1}", "{a:1}",
    "{'a':1}", "{1:2}", "[1]]", "[1] 2", "{} {}", "null null", "nul", "True", "NULL", "undefined", "NaN", "[Infinity]", "-Infinity", "+1",
    "01", "-01", "1.", ".5", "-.5", "-", "1e", "1e+", "1.e3", "0x10", "1_000", "[1}", "{\"a\":1]", "\"abc", "abc\"", "'a'", "\"\\x41\"",
    "\"\\u12\"", "\"\\u12G4\"", "\"\\\"", "\"\\", "[\"a\nb\"]", "[\"a\tb\"]", "[\"a\u{0}b\"]", "[1]//x", "/*x*/1", "#1", "[1]\u{0}",
    "\u{a0}1", "\u{2028}[]", "\u{c}[]", "\u{b}[]", "[\u{c}]",
  ])
  func `It refuses`(text: String) {
    #expect(parsed(text) == nil)
  }

  @Test func `It refuses a byte order mark`() {
    #expect(parsed([0xef, 0xbb, 0xbf] + Array("{}".utf8)) == nil)
    #expect(parsed([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]) == nil)
  }

  @Test(
    arguments: [
      [0x80], [0xc3], [0xc3, 0x28], [0xc0, 0xaf], [0xc1, 0xbf], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xed, 0xb0, 0x80],
      [0xf0, 0x80, 0x80, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xff], [0xe2, 0x82],
    ] as [[UInt8]])
  func `It refuses strings that are no UTF-8`(bytes: [UInt8]) {
    #expect(parsed([0x22] + bytes + [0x22]) == nil)
  }

  @Test(
    arguments: [
      (" \t\r\n null \n", JSON.null), ("true", true), ("[]", []), ("{}", [:]), ("[[],{},\"\"]", [[], [:], ""]), ("-0", 0), ("0", 0),
      ("-7", -7), ("\"\"", ""), ("\"\\u0041\\n\\/\\\\\\\"\"", "A\n/\\\""), ("\"\\u0000\"", "\u{0}"), ("\"\\ud83d\\ude00\"", "😀"),
      ("\"😀\"", "😀"),
      ("\"\u{7f}\u{2028}\"", "\u{7f}\u{2028}"), ("{\"\":0}", ["": 0]), ("[1.5,-2.25e2]", [.double(1.5), .double(-225)]),
      ("\"\\uFFFF\"", "\u{ffff}"), ("\"\\b\\f\\t\\r\"", "\u{8}\u{c}\t\r"),
    ] as [(String, JSON)])
  func `It reads`(text: String, value: JSON) {
    #expect(parsed(text) == value)
  }

  @Test(arguments: ["\"\\ud800\"", "\"\\ude00\"", "\"\\ud800\\u0041\"", "\"\\ud800x\"", "\"\\ud800\\ud800\"", "\"\\udc00\\ud800\""])
  func `It refuses lone surrogates`(text: String) {
    #expect(parsed(text) == nil)
  }

  @Test func `Integers are exact up to 64 bits, then refused`() {
    #expect(parsed("9223372036854775807") == .integer(.max))
    #expect(parsed("-9223372036854775808") == .integer(.min))
    #expect(parsed("9223372036854775808") == .unsigned(9_223_372_036_854_775_808))
    #expect(parsed("18446744073709551615") == .unsigned(.max))
    #expect(parsed("18446744073709551616") == nil)
    #expect(parsed("-9223372036854775809") == nil)
    #expect(parsed("12345678901234567890123") == nil)
  }

  @Test func `Doubles are refused beyond their range and round to zero below it`() {
    #expect(parsed("1.7976931348623157e308") == .double(.greatestFiniteMagnitude))
    #expect(parsed("1e309") == nil)
    #expect(parsed("1e400") == nil)
    #expect(parsed("-1e400") == nil)
    #expect(parsed("5e-324") == .double(.leastNonzeroMagnitude))
    #expect(parsed("1e-400") == .double(0))
    #expect(parsed("0.1") == .double(0.1))
    #expect(parsed("123456789012345678901234567890.0") == .double(1.2345678901234568e29))
  }

  @Test(
    arguments: [
      ("1", 1), ("1.0", 1), ("1e3", 1_000), ("-0.0", 0), ("1.5", nil), ("1e-1", nil), ("9007199254740993", 9_007_199_254_740_993),
      ("1e18", 1_000_000_000_000_000_000), ("1e19", nil), ("18446744073709551615", nil), ("\"1\"", nil), ("true", nil),
    ] as [(String, Int64?)])
  func `Integers are judged by value`(text: String, expected: Int64?) {
    #expect(parsed(text)?.integer == expected)
  }

  @Test func `Repeated keys and the order of members survive`() {
    let object = parsed("{\"b\":1,\"a\":2,\"b\":{\"c\":[]},\"a\":2}")?.object
    #expect(object?.members.map(\.name) == ["b", "a", "b", "a"])
    #expect(object?["b"] == 1)
    #expect(object?.repeatedName == "b")
    #expect(object.map { JSONWriter.text(.object($0)) } == "{\"b\":1,\"a\":2,\"b\":{\"c\":[]},\"a\":2}")
  }

  @Test func `Names that only look alike are not repeated`() {
    #expect(parsed("{\"\u{e9}\":1,\"e\u{301}\":2}")?.object?.repeatedName == nil)
    #expect(parsed("{\"\u{e9}\":1,\"\\u00e9\":2}")?.object?.repeatedName == "\u{e9}")
  }

  @Test(arguments: [2, 11, 12, 40]) func `A repeated name is found in objects of every size`(count: Int) {
    var object = JSONObject((0..<count).map { JSONObject.Member(name: "k\($0)", value: .int($0)) })
    #expect(object.repeatedName == nil)
    object.members.append(JSONObject.Member(name: "k1", value: .null))
    #expect(object.repeatedName == "k1")
  }

  @Test(arguments: [("[", "]"), ("{\"k\":", "}")]) func `Nesting is bounded, and all that recurs copes with the deepest`(
    open: String, close: String
  ) throws {
    func nested(_ depth: Int) -> String {
      String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
    }
    #expect(parsed(nested(1_025)) == nil)
    #expect(parsed(String(repeating: open, count: 100_000)) == nil)
    let deepest = try #require(parsed(nested(1_000)))
    let again = try #require(parsed(nested(1_000)))
    #expect(JSONWriter.text(deepest) == nested(1_000))
    #expect(JSONWriter.canonical(deepest).count == nested(1_000).utf8.count)
    #expect(deepest == again)
    #expect(deepest.isEquivalent(to: again))
    #expect(deepest.hashValue == again.hashValue)
  }

  @Test func `One reader reads text after text, also after a refusal`() throws {
    let reader = JSONReader()
    #expect(try reader.parse(Array("{\"a\":\"long enough not to be a small string\"}".utf8))["a"]?.string?.count == 36)
    #expect(throws: JSONError.self) { try reader.parse(Array("{".utf8)) }
    #expect(try reader.parse(Array("[1]".utf8)) == [1])
    let long = JSON.array((0..<5_000).map { ["n": .int($0), "text": "é"] })
    #expect(try reader.parse(JSONWriter.compact(long)) == long)
    #expect(try reader.parse(Array("7".utf8)) == 7)
  }

  @Test func `Random bytes and damaged texts never crash, and what is read is written back to the same value`() throws {
    let random = SplitMix(seed: 99)
    let alphabet = Array("{}[]\",:0123456789.eE+-truefalsn \\u\u{e9}\u{0}".utf8)
    let text = Array("{\"a\":[1,2.5e3,\"x\\u00e9\\n\",null,{\"b\":true}],\"c\":-7,\"a\":\"\\ud83d\\ude00\"}".utf8)
    let reader = JSONReader()
    var read = 0
    var k = 0
    func draw(_ count: Int) -> Int {
      k += 1
      return random.index(below: count, at: k)
    }
    for round in 0..<4_000 {
      var bytes: [UInt8]
      switch round % 3 {
      case 0: bytes = (0..<draw(40)).map { _ in UInt8(draw(256)) }
      case 1: bytes = (0..<draw(12)).map { _ in alphabet[draw(alphabet.count)] }
      default:
        bytes = text
        for _ in 0...draw(2) { bytes[draw(bytes.count)] = round % 2 == 0 ? UInt8(draw(256)) : alphabet[draw(alphabet.count)] }
      }
      guard let value = try? reader.parse(bytes) else { continue }
      read += 1
      let written = JSONWriter.compact(value)
      let back = try reader.parse(written)
      #expect(back.isEquivalent(to: value))
      #expect(JSONWriter.compact(back) == written)
    }
    #expect(read > 150)
  }
}

/// Draws of these tests: the finaliser of SplitMix64 over a counter.
private struct SplitMix {
  var seed: UInt64
  func index(below count: Int, at k: Int) -> Int {
    var z = seed &+ UInt64(k) &* 0x9e37_79b9_7f4a_7c15
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return Int((z ^ (z >> 31)) % UInt64(count))
  }
}
