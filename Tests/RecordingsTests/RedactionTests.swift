import Storage
import Testing
import Wire

@testable import Recordings

@Suite struct RedactionTests {
  private func open(_ headers: [(String, String)], url: String = "ws://h/") -> Frame {
    let list = headers.map { JSON.array([.string($0.0), .string($0.1)]) }
    return frame(JSONWriter.compact(["url": .string(url), "headers": .array(list), "status": 101]), .out, kind: .open)
  }

  private func headers(_ frame: Frame) throws -> [String] {
    let head = try JSONReader.value(frame.payload)
    return (head["headers"]?.array ?? []).compactMap { $0.array?[1].string }
  }

  @Test(arguments: [
    ("authorization", "s3cret", "[redacted:1]"), ("Authorization", "Bearer s3cret", "Bearer [redacted:1]"),
    ("PROXY-AUTHORIZATION", "Basic s3cret", "Basic [redacted:1]"), ("X-Api-Key", "s3cret", "[redacted:1]"),
    ("CF-Access-Token", "s3cret", "[redacted:1]"), ("Cookie", "a=s3cret; b=s3cret", "a=[redacted:1]; b=[redacted:1]"),
    ("Cookie", "s3cret", "[redacted:1]"), ("Set-Cookie", "a=s3cret; Path=/; HttpOnly", "a=[redacted:1]; Path=/; HttpOnly"),
    ("Referer", "https://u:p@h/?token=s3cret", "https://[redacted:1]@h/?token=[redacted:2]"),
  ]) func `credentials in headers are replaced`(name: String, value: String, expected: String) throws {
    var redactor = Redactor()
    var frame = open([("Host", "h"), (name, value)])
    redactor.redact(&frame)
    #expect(try headers(frame) == ["h", expected])
  }

  @Test(arguments: [
    ("ws://h/p?token=s3cret&x=1", "ws://h/p?token=[redacted:1]&x=1"),
    ("/p?a=b&access_token=s3cret#f?token=x", "/p?a=b&access_token=[redacted:1]#f?token=x"),
    ("?API_KEY=s3cret", "?API_KEY=[redacted:1]"), ("wss://me:s3cret@h:1/", "wss://[redacted:1]@h:1/"),
    ("ws://h/?%74oken=s3cret", "ws://h/?%74oken=[redacted:1]"),
    ("ws://h/?token=s3cret&token=s%33cret", "ws://h/?token=[redacted:1]&token=[redacted:1]"),
    ("ws://h/?token=&token", "ws://h/?token=&token"), ("ws://h/a@b?tokens=1", "ws://h/a@b?tokens=1"), ("", ""), ("%", "%"),
    ("ws://h/?token=%", "ws://h/?token=[redacted:1]"),
  ]) func `credentials in URLs are replaced`(url: String, expected: String) {
    var redactor = Redactor()
    #expect(redactor.redact(url: url) == expected)
  }

  @Test func `equal secrets have equal placeholders, numbered by first sight, and rules are counted`() throws {
    var redactor = Redactor()
    var first = open([("Authorization", "Bearer one"), ("Cookie", "s=two")], url: "ws://h/?token=one")
    var second = open([("X-Api-Key", "two"), ("Cookie", "s=three; t=one")])
    var third = open([("Host", "h")])
    redactor.redact(&first)
    redactor.redact(&second)
    let untouched = third
    redactor.redact(&third)
    #expect(try JSONReader.value(first.payload)["url"] == "ws://h/?token=[redacted:1]")
    #expect(try headers(first) == ["Bearer [redacted:1]", "s=[redacted:2]"])
    #expect(first.flags["redacted"] == 3)
    #expect(try headers(second) == ["[redacted:2]", "s=[redacted:3]; t=[redacted:1]"])
    #expect(second.flags["redacted"] == 3)
    #expect(third == untouched)
    #expect(
      redactor.counts == [
        RedactionCount(rule: "header:authorization", count: 1), RedactionCount(rule: "header:cookie", count: 3),
        RedactionCount(rule: "header:x-api-key", count: 1), RedactionCount(rule: "query:token", count: 1),
      ])
  }

  @Test func `the head of a request is redacted and its body stays byte for byte`() throws {
    var redactor = Redactor()
    let body = Array("\nAuthorization: Bearer body\n".utf8) + [0, 255]
    var request = open([("Authorization", "Bearer x")])
    request.kind = .request
    request.payload += body
    redactor.redact(&request)
    #expect(
      String(decoding: request.payload, as: UTF8.self).hasPrefix(
        #"{"url":"ws://h/","headers":[["Authorization","Bearer [redacted:1]"]],"status":101}"#))
    #expect(request.payload.suffix(body.count) == body[...])
  }

  @Test func `the answer's headers of an open are redacted too`() {
    var redactor = Redactor()
    var answered = frame(#"{"headers":[["Cookie","a=x"]],"status":101,"responseHeaders":[["Set-Cookie","a=x; Path=/"]]}"#, kind: .open)
    redactor.redact(&answered)
    #expect(
      String(decoding: answered.payload, as: UTF8.self)
        == #"{"headers":[["Cookie","a=[redacted:1]"]],"status":101,"responseHeaders":[["Set-Cookie","a=[redacted:1]; Path=/"]]}"#)
    #expect(answered.flags == ["redacted": 2])
  }

  @Test func `messages are not looked into, and a head that cannot be read is removed`() {
    var redactor = Redactor()
    var message = frame(#"{"url":"ws://h/?token=x"}"#)
    let before = message
    redactor.redact(&message)
    #expect(message == before)
    var broken = frame("Authorization: Bearer x", kind: .open)
    redactor.redact(&broken)
    #expect(String(decoding: broken.payload, as: UTF8.self) == #"{"unreadable":true}"#)
    #expect(redactor.counts == [RedactionCount(rule: "head:unreadable", count: 1)])
  }

  @Test func `a journal never holds the secret, and its manifest says what was removed`() throws {
    let scratch = Scratch()
    let journal = scratch.path("x.chatrec.journal")
    var facts = testFacts
    facts.upstream = "wss://me:hunter22@relay/?token=s3cret9"
    let writer = try JournalWriter(path: journal, facts: facts)
    _ = try writer.append(open([("Cookie", "k=s3cret9")]))
    try writer.flush()
    let expected = [
      RedactionCount(rule: "header:cookie", count: 1), RedactionCount(rule: "query:token", count: 1),
      RedactionCount(rule: "url:userinfo", count: 1),
    ]
    #expect(writer.redactions == expected)
    let unsealed = try Recording.open(journal)
    #expect(unsealed.manifest.facts.redactions == expected)
    #expect(unsealed.manifest.facts.upstream == "wss://[redacted:1]@relay/?token=[redacted:2]")
    for suffix in ["", "-wal"] {
      let text = String(decoding: try scratch.bytes("x.chatrec.journal" + suffix), as: UTF8.self)
      #expect(!text.contains("s3cret9"))
      #expect(!text.contains("hunter22"))
    }
    try writer.close()
    let sealed = try Seal.seal(journal: journal)
    #expect(try Recording.open(sealed.path).manifest.facts == unsealed.manifest.facts)
    #expect(try Recording.open(sealed.path).frames().frames[0].flags == ["redacted": 1])
  }
}
