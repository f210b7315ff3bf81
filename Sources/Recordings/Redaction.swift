package import Wire

/// A place where credentials stand.
package enum RedactionRule: Hashable, Sendable {
  /// A header of that name, lower case.
  case header(String)
  /// A parameter of that name, lower case, in the query of a URL.
  case query(String)
  /// User and password in a URL.
  case userinfo
  /// A head that cannot be read, so that nothing can be found in it: it is removed as a whole.
  case unreadableHead

  /// The rule as manifests print it: `header:authorization`.
  package var name: String {
    switch self {
    case .header(let name): "header:\(name)"
    case .query(let name): "query:\(name)"
    case .userinfo: "url:userinfo"
    case .unreadableHead: "head:unreadable"
    }
  }
}

/// Removes credentials from frames on their way into a recording. Equal secrets get equal placeholders, `[redacted:1]`,
/// numbered by first sight. Looks at the heads of `open`, `http.request` and `http.response`: the URL and the headers
/// (of an `open` those of the answer too).
package struct Redactor: Sendable {
  private let rules: [RedactionRule]
  private var numbers: [String: Int] = [:]
  private var tallies: [Int]

  /// The rules that a capture applies unless told otherwise.
  package static let standardRules: [RedactionRule] = [
    .header("authorization"), .header("proxy-authorization"), .header("cookie"), .header("set-cookie"), .header("x-api-key"),
    .header("cf-access-token"), .query("token"), .query("access_token"), .query("api_key"), .userinfo, .unreadableHead,
  ]

  package init(rules: [RedactionRule] = standardRules) {
    self.rules = rules
    tallies = Array(repeating: 0, count: rules.count)
  }

  /// Removes nothing.
  package static let off = Redactor(rules: [])

  /// What was removed until now, in the order of the rules; rules that removed nothing are left out.
  package var counts: [RedactionCount] {
    zip(rules, tallies).filter { $0.1 > 0 }.map { RedactionCount(rule: $0.0.name, count: $0.1) }
  }

  /// Removes what the rules name. The flag `redacted` then says how many places; without any the frame is untouched.
  package mutating func redact(_ frame: inout Frame) {
    switch frame.kind {
    case .open, .request, .response: break
    default: return
    }
    if rules.isEmpty || frame.payload.isEmpty { return }
    let end = frame.payload.firstIndex(of: UInt8(ascii: "\n")) ?? frame.payload.count
    let before = tallies.reduce(0, +)
    var head: JSONObject
    if let object = (try? JSONReader.value(Array(frame.payload[..<end])))?.object {
      head = object
      redact(head: &head)
    } else {
      guard tally(.unreadableHead) else { return }
      head = ["unreadable": true]
    }
    let removed = tallies.reduce(0, +) - before
    guard removed > 0 else { return }
    frame.payload.replaceSubrange(..<end, with: JSONWriter.compact(.object(head)))
    frame.flags["redacted"] = .int(removed + max(0, min(frame.flags["redacted"]?.int ?? 0, 1 << 30)))
  }

  /// The URL without user, password and secret parameters.
  package mutating func redact(url: String) -> String {
    var text = url[...]
    var result = ""
    if let mark = firstRange(of: "://", in: text) {
      let authority = text[mark.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
      if let at = authority.lastIndex(of: "@"), tally(.userinfo) {
        result = text[..<mark.upperBound] + placeholder(for: authority[..<at])
        text = text[at...]
      }
    }
    guard let question = text.firstIndex(of: "?") else { return result + text }
    let query = text[text.index(after: question)...].prefix { $0 != "#" }
    result += text[...question]
    for (index, pair) in query.split(separator: "&", omittingEmptySubsequences: false).enumerated() {
      if index > 0 { result += "&" }
      let name = pair.prefix { $0 != "=" }
      let value = pair.dropFirst(name.count + 1)
      if !value.isEmpty, tally(.query(percentDecoded(name).lowercased())) {
        result += name + "=" + placeholder(for: percentDecoded(value)[...])
      } else {
        result += pair
      }
    }
    return result + text[query.endIndex...]
  }

  private mutating func redact(head: inout JSONObject) {
    for index in head.members.indices {
      let member = head.members[index]
      switch (member.name, member.value) {
      case ("url", .string(let url)): head.members[index].value = .string(redact(url: url))
      case ("headers", .array(var headers)), ("responseHeaders", .array(var headers)):
        for position in headers.indices {
          guard case .array(var pair) = headers[position], pair.count == 2, let name = pair[0].string, let value = pair[1].string
          else { continue }
          pair[1] = .string(redact(header: name.lowercased(), value))
          headers[position] = .array(pair)
        }
        head.members[index].value = .array(headers)
      default: break
      }
    }
  }

  private mutating func redact(header name: String, _ value: String) -> String {
    if value.isEmpty { return value }
    switch name {
    // These hold URLs, which hold what the URL rules name.
    case "referer", "location", "content-location": return redact(url: value)
    default: break
    }
    guard rules.contains(.header(name)) else { return value }
    switch name {
    case "authorization", "proxy-authorization":
      _ = tally(.header(name))
      // The scheme stays, so that the secret alone decides about equality.
      guard let space = value.firstIndex(of: " ") else { return placeholder(for: value[...]) }
      return value[...space] + placeholder(for: value[value.index(after: space)...])
    case "cookie":
      return value.split(separator: ";", omittingEmptySubsequences: false).map { cookie($0, rule: .header(name)) }
        .joined(separator: ";")
    case "set-cookie":
      // The attributes behind the first semicolon are no secret.
      let first = value.prefix { $0 != ";" }
      return cookie(first, rule: .header(name)) + value[first.endIndex...]
    default:
      _ = tally(.header(name))
      return placeholder(for: value[...])
    }
  }

  /// `name=value` with the value replaced; what has no name is replaced as a whole.
  private mutating func cookie(_ pair: Substring, rule: RedactionRule) -> String {
    if pair.allSatisfy({ $0 == " " }) { return String(pair) }
    _ = tally(rule)
    guard let equals = pair.firstIndex(of: "=") else { return placeholder(for: pair.drop { $0 == " " }) }
    return pair[...equals] + placeholder(for: pair[pair.index(after: equals)...])
  }

  /// Counts one use of a rule; false when it is none of ours.
  private mutating func tally(_ rule: RedactionRule) -> Bool {
    guard let index = rules.firstIndex(of: rule) else { return false }
    tallies[index] += 1
    return true
  }

  private mutating func placeholder(for secret: Substring) -> String {
    let key = String(secret)
    let number = numbers[key] ?? numbers.count + 1
    numbers[key] = number
    return "[redacted:\(number)]"
  }
}

private func firstRange(of mark: String, in text: Substring) -> Range<Substring.Index>? {
  var rest = text
  while !rest.isEmpty {
    if rest.hasPrefix(mark) { return rest.startIndex..<rest.index(rest.startIndex, offsetBy: mark.count) }
    rest.removeFirst()
  }
  return nil
}

/// `%41` → `A`; what is no escape stays.
private func percentDecoded(_ text: Substring) -> String {
  let bytes = Array(text.utf8)
  var out: [UInt8] = []
  var index = 0
  while index < bytes.count {
    if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = hexValue(bytes[index + 1]),
      let low = hexValue(bytes[index + 2])
    {
      out.append(high << 4 | low)
      index += 3
    } else {
      out.append(bytes[index])
      index += 1
    }
  }
  return String(decoding: out, as: UTF8.self)
}

private func hexValue(_ digit: UInt8) -> UInt8? {
  switch digit {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
  default: nil
  }
}
