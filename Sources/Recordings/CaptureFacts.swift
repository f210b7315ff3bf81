internal import Wire

/// How often a rule removed something.
package struct RedactionCount: Hashable, Sendable {
  /// The rule as it is printed: `header:authorization`.
  package var rule: String
  package var count: Int

  package init(rule: String, count: Int) {
    self.rule = rule
    self.count = count
  }
}

/// What is known of a capture beside its frames.
package struct CaptureFacts: Hashable, Sendable {
  /// The version of the program that captured.
  package var toolVersion: String
  /// The name of the client system, if known.
  package var system: String?
  /// The wall clock at t = 0, in milliseconds since 1970 UTC.
  package var wallClockMs: Int64
  /// The URL that was captured, its secrets removed.
  package var upstream: String?
  /// What was excluded or redacted, by rule.
  package var redactions: [RedactionCount]

  package init(
    toolVersion: String, system: String? = nil, wallClockMs: Int64, upstream: String? = nil, redactions: [RedactionCount] = []
  ) {
    self.toolVersion = toolVersion
    self.system = system
    self.wallClockMs = wallClockMs
    self.upstream = upstream
    self.redactions = redactions
  }

  /// The facts as members of a manifest, in its order.
  var json: JSONObject {
    var object: JSONObject = ["toolVersion": .string(toolVersion)]
    object["system"] = system.map { .string($0) }
    object["wallClockMs"] = .integer(wallClockMs)
    object["upstream"] = upstream.map { .string($0) }
    object["redactions"] = .array(redactions.map { ["rule": .string($0.rule), "count": .int($0.count)] })
    return object
  }

  /// Reads what `json` writes; unknown members are left alone.
  init(json object: JSONObject) throws(JSONError) {
    toolVersion = try object.text("toolVersion")
    system = object["system"]?.string
    wallClockMs = try object.number("wallClockMs")
    upstream = object["upstream"]?.string
    redactions = []
    for (index, element) in try object.list("redactions").enumerated() {
      guard let rule = element["rule"]?.string, let count = element["count"]?.int else {
        throw JSONError(path: "redactions[\(index)]", problem: "expected a rule and a count")
      }
      redactions.append(RedactionCount(rule: rule, count: count))
    }
  }
}

extension JSONObject {
  func text(_ name: String) throws(JSONError) -> String {
    guard let value = self[name]?.string else { throw JSONError(path: name, problem: "expected a string") }
    return value
  }

  func number(_ name: String) throws(JSONError) -> Int64 {
    guard let value = self[name]?.integer else { throw JSONError(path: name, problem: "expected an integer") }
    return value
  }

  /// A count or size: an integer from 0 on.
  func count(_ name: String) throws(JSONError) -> Int {
    guard let value = self[name]?.int, value >= 0 else { throw JSONError(path: name, problem: "expected a count") }
    return value
  }

  func list(_ name: String) throws(JSONError) -> [JSON] {
    guard let value = self[name]?.array else { throw JSONError(path: name, problem: "expected an array") }
    return value
  }
}
