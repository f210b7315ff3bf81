import Contract
import HBCodeDialect
import Simulation
import Wire

/// Reads one JSON object of a scenario strictly: every error carries the key path, and a member that nobody asked for is one.
struct Fields {
  /// Key path of the object, empty at the top.
  let path: String
  private let object: JSONObject
  private var used: Set<String> = []

  init(_ json: JSON, at path: String) throws(JSONError) {
    guard let object = json.object else { throw JSONError(path: path, problem: "expected an object, found \(json.kindInWords)") }
    if let name = object.repeatedName { throw JSONError(path: Fields.join(path, name), problem: "stands twice") }
    self.path = path
    self.object = object
  }

  static func join(_ path: String, _ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

  func at(_ name: String) -> String { Fields.join(path, name) }

  var names: [String] { object.members.map(\.name) }

  /// The member of that name, present or not; counts as read.
  mutating func take(_ name: String) -> JSON? {
    used.insert(name)
    return object[name]
  }

  mutating func required(_ name: String) throws(JSONError) -> JSON {
    guard let value = take(name) else { throw JSONError(path: at(name), problem: "is missing") }
    return value
  }

  mutating func text(_ name: String) throws(JSONError) -> String {
    guard let value = try required(name).string else { throw wrong(name, "a string") }
    return value
  }

  mutating func text(_ name: String, default value: String) throws(JSONError) -> String {
    object[name] == nil
      ? {
        used.insert(name); return value
      }() : try text(name)
  }

  /// A string, null or absent.
  mutating func optionalText(_ name: String) throws(JSONError) -> String? {
    guard let value = take(name), !value.isNull else { return nil }
    guard let text = value.string else { throw wrong(name, "a string or null") }
    return text
  }

  mutating func integer(_ name: String, default value: Int64, in range: ClosedRange<Int64> = Fields.exactIntegers) throws(JSONError)
    -> Int64
  {
    guard let found = take(name) else { return value }
    guard let integer = found.integer else { throw wrong(name, "an integer") }
    guard range.contains(integer) else {
      throw JSONError(path: at(name), problem: "\(integer) lies outside \(range.lowerBound)…\(range.upperBound)")
    }
    return integer
  }

  /// An integer, null or absent.
  mutating func optionalInteger(_ name: String) throws(JSONError) -> Int64? {
    guard let found = take(name), !found.isNull else { return nil }
    return try integer(name, default: 0)
  }

  mutating func flag(_ name: String, default value: Bool) throws(JSONError) -> Bool {
    guard let found = take(name) else { return value }
    guard let flag = found.bool else { throw wrong(name, "true or false") }
    return flag
  }

  mutating func array(_ name: String) throws(JSONError) -> [JSON] {
    guard let found = take(name) else { return [] }
    guard let array = found.array else { throw wrong(name, "an array") }
    guard array.count <= Fields.longestArray else {
      throw JSONError(path: at(name), problem: "\(array.count) elements; at most \(Fields.longestArray)")
    }
    return array
  }

  /// Seconds, or nanoseconds as the text `123ns`.
  mutating func interval(_ name: String, default value: Interval? = nil, negative: Bool = false) throws(JSONError) -> Interval {
    guard let found = take(name) else {
      guard let value else { throw JSONError(path: at(name), problem: "is missing") }
      return value
    }
    guard let interval = Interval(scenario: found) else { throw wrong(name, "seconds, or a text such as \"1500ns\"") }
    guard negative || interval >= .zero else { throw JSONError(path: at(name), problem: "\(interval) is negative") }
    return interval
  }

  mutating func instant(_ name: String, default value: Instant? = nil) throws(JSONError) -> Instant {
    Instant(nanoseconds: try interval(name, default: value.map { Interval(nanoseconds: $0.nanoseconds) }, negative: true).nanoseconds)
  }

  mutating func basis(_ name: String = "basis", default value: Basis) throws(JSONError) -> Basis {
    guard let word = try optionalText(name) else { return value }
    guard let basis = Basis(rawValue: word) else {
      throw JSONError(path: at(name), problem: "“\(word)” is none of \(Basis.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return basis
  }

  /// Throws when a member was not read.
  func finish() throws(JSONError) {
    for member in object.members where !used.contains(member.name) {
      throw JSONError(path: at(member.name), problem: "is no key of this object")
    }
  }

  private func wrong(_ name: String, _ wanted: String) -> JSONError {
    JSONError(path: at(name), problem: "expected \(wanted), found \((object[name] ?? .null).kindInWords)")
  }

  /// Integers that every JSON reader keeps exactly.
  static let exactIntegers: ClosedRange<Int64> = -9_007_199_254_740_991...9_007_199_254_740_991
  /// SCENARIO.md 8.10: everything is bounded.
  static let longestArray = 1_000_000
  /// Instants and lengths of a scenario lie within 24 days, so that no sum of them can overflow.
  static let longestTime: Int64 = 2_100_000_000_000_000
}

extension JSON {
  var kindInWords: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .integer, .unsigned, .double: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension Interval {
  /// The printed form: seconds as a number, exactly; `"…ns"` where a double cannot hold them.
  var scenarioJSON: JSON {
    if nanoseconds % 1_000_000_000 == 0 { return .integer(nanoseconds / 1_000_000_000) }
    let seconds = Double(nanoseconds) / 1e9
    return Interval(scenario: .double(seconds)) == self ? .double(seconds) : .string("\(nanoseconds)ns")
  }

  init?(scenario json: JSON) {
    var value: Int64
    if let text = json.string {
      guard text.hasSuffix("ns"), let count = Int64(text.dropLast(2)) else { return nil }
      value = count
    } else {
      guard let seconds = json.double, seconds.magnitude <= 2_100_000 else { return nil }
      value = Int64((seconds * 1e9).rounded())
    }
    guard (-Fields.longestTime...Fields.longestTime).contains(value) else { return nil }
    self.init(nanoseconds: value)
  }
}

extension Instant {
  var scenarioJSON: JSON { Interval(nanoseconds: nanoseconds).scenarioJSON }
}

/// Builds an object member by member; nil and default values are left out.
struct Members {
  private(set) var object = JSONObject()

  mutating func add(_ name: String, _ value: JSON?) {
    if let value { object.members.append(JSONObject.Member(name: name, value: value)) }
  }

  mutating func add<Value: Equatable>(_ name: String, _ value: Value, unless standard: Value, _ json: (Value) -> JSON) {
    if value != standard { add(name, json(value)) }
  }

  mutating func add<Value>(_ name: String, list values: [Value], _ json: (Value) -> JSON) {
    if !values.isEmpty { add(name, .array(values.map(json))) }
  }

  var json: JSON { .object(object) }
}
