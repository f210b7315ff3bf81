import Testing
import Wire

@Suite struct JSONEquivalenceTests {
  private func value(_ text: String) throws -> JSON { try JSONReader.value(text) }

  @Test(arguments: [
    ("{\"a\":1,\"b\":[2,{\"c\":null}]}", "{\"b\":[2.0,{\"c\":null}],\"a\":1e0}"), ("1000", "1e3"), ("-0", "0.0"), ("[]", "[]"),
    ("18446744073709551615", "18446744073709551615"), ("18446744073709549568", "1.8446744073709549568e19"), ("\"\\u0041\"", "\"A\""),
    ("{\"a\":1,\"b\":2,\"a\":3}", "{\"b\":2,\"a\":1,\"a\":3}"),
  ])
  func `Equal as data`(a: String, b: String) throws {
    #expect(try value(a).isEquivalent(to: value(b)))
    #expect(try value(b).isEquivalent(to: value(a)))
  }

  @Test(arguments: [
    ("{\"a\":1}", "{\"a\":1,\"b\":null}"), ("{\"a\":1,\"a\":2}", "{\"a\":2,\"a\":1}"),
    ("{\"a\":1,\"a\":2,\"b\":0}", "{\"b\":0,\"a\":2,\"a\":1}"),
    ("[1,2]", "[2,1]"), ("1", "1.5"), ("0.1", "0.10000000000000002"), ("1", "true"), ("\"1\"", "1"), ("null", "false"),
    ("18446744073709551615", "1.8446744073709552e19"), ("\"\u{e9}\"", "\"e\u{301}\""), ("{\"\u{e9}\":1}", "{\"e\u{301}\":1}"),
    ("{\"a\":{\"x\":1}}", "{\"a\":{\"x\":2}}"), ("[]", "{}"),
  ])
  func `Different as data`(a: String, b: String) throws {
    #expect(try !value(a).isEquivalent(to: value(b)))
    #expect(try !value(b).isEquivalent(to: value(a)))
  }

  @Test func `Exact equality also asks for the order of members, the spelling of numbers and the code units`() throws {
    #expect(try value("{\"a\":1,\"b\":2}") != value("{\"b\":2,\"a\":1}"))
    #expect(try value("1") != value("1.0"))
    #expect(JSON.string("\u{e9}") != .string("e\u{301}"))
    #expect(JSON.object(["\u{e9}": 1]) != .object(["e\u{301}": 1]))
    #expect(try value("{\"a\":[1]}") == value("{ \"a\" : [ 1 ] }"))
  }

  @Test func `Members are set in place, appended and removed`() {
    var object: JSONObject = ["a": 1, "b": 2, "a": 3]
    object["a"] = 5
    object["c"] = 6
    #expect(object == ["a": 5, "b": 2, "a": 3, "c": 6])
    object["a"] = nil
    #expect(object == ["b": 2, "a": 3, "c": 6])
    object["x"] = nil
    #expect(object.count == 3)
  }
}
