/// A JSON value that keeps the order of object members, repeated keys and exact integers.
///
/// Equality is exact (member order counts); `isEquivalent(to:)` compares as data.
package enum JSON: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A number spelled as an integer that fits.
  case integer(Int64)
  /// A number spelled as an integer above `Int64.max`.
  case unsigned(UInt64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object(JSONObject)
}

/// The members of a JSON object in order, repeated keys and all. Lookup is linear: wire objects are small.
package struct JSONObject: Hashable, Sendable, ExpressibleByDictionaryLiteral {
  package struct Member: Hashable, Sendable {
    package var name: String
    package var value: JSON
    package init(name: String, value: JSON) {
      self.name = name
      self.value = value
    }
  }

  package var members: [Member]

  package init(_ members: [Member] = []) { self.members = members }
  package init(dictionaryLiteral elements: (String, JSON)...) { members = elements.map { Member(name: $0.0, value: $0.1) } }

  package var isEmpty: Bool { members.isEmpty }
  package var count: Int { members.count }

  /// The value of the first member of that name. Setting replaces it in place, appends a new one, or removes it (nil).
  package subscript(name: String) -> JSON? {
    get { members.first { $0.name == name }?.value }
    set {
      let index = members.firstIndex { $0.name == name }
      switch (index, newValue) {
      case (let index?, let value?): members[index].value = value
      case (let index?, nil): members.remove(at: index)
      case (nil, let value?): members.append(Member(name: name, value: value))
      case (nil, nil): break
      }
    }
  }

  /// The first name that stands a second time, or nil.
  package var repeatedName: String? {
    if members.count < 12 {
      for (index, member) in members.enumerated() where members[..<index].contains(where: { $0.name == member.name }) {
        return member.name
      }
      return nil
    }
    var seen = Set<String>()
    for member in members where !seen.insert(member.name).inserted { return member.name }
    return nil
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(arrayLiteral elements: JSON...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(JSONObject(elements.map { JSONObject.Member(name: $0.0, value: $0.1) }))
  }
  package init(nilLiteral: ()) { self = .null }
}

extension JSON {
  /// An integer of the field's use (`Int`), as JSON.
  package static func int(_ value: Int) -> JSON { .integer(Int64(value)) }

  package var string: String? { if case .string(let value) = self { value } else { nil } }
  package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  package var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
  package var object: JSONObject? { if case .object(let value) = self { value } else { nil } }
  package var isNull: Bool { self == .null }

  /// The value as an integer *by value*: `1`, `1.0` and `1e3` are integers, `1.5` is not; nil outside Int64.
  package var integer: Int64? {
    switch self {
    case .integer(let value): value
    case .double(let value): Int64(exactly: value)
    default: nil
    }
  }

  package var int: Int? { integer.flatMap { Int(exactly: $0) } }

  package var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .unsigned(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The member of that name, when this is an object that has one.
  package subscript(name: String) -> JSON? { object?[name] }

  /// Equal as data: member order and the spelling of numbers do not count; repeated keys do.
  package func isEquivalent(to other: JSON) -> Bool {
    switch (self, other) {
    case (.array(let a), .array(let b)):
      return a.count == b.count && zip(a, b).allSatisfy { $0.isEquivalent(to: $1) }
    case (.object(let a), .object(let b)):
      if a.count != b.count { return false }
      if zip(a.members, b.members).allSatisfy({ $0.name == $1.name && $0.value.isEquivalent(to: $1.value) }) { return true }
      let left = a.members.sorted { $0.name < $1.name }
      let right = b.members.sorted { $0.name < $1.name }
      return zip(left, right).allSatisfy { $0.name == $1.name && $0.value.isEquivalent(to: $1.value) }
    default:
      if self == other { return true }
      if let a = integer, let b = other.integer { return a == b }
      return false
    }
  }
}

/// Why bytes are not the JSON that was wanted. `path` is a key path such as `entries[2].status` (empty at the top).
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  package var path: String
  /// What is wrong, in a few words: "expected a string, found a number".
  package var problem: String

  package init(path: String = "", problem: String) {
    self.path = path
    self.problem = problem
  }

  package var description: String { path.isEmpty ? problem : "\(path): \(problem)" }
}
