/// A JSON value that keeps the order of object members, repeated keys and exact integers.
///
/// Equality is exact: member order, spelling of numbers and code units count. `isEquivalent(to:)` compares as data.
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

extension JSON {
  package static func == (a: JSON, b: JSON) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.integer(let a), .integer(let b)): a == b
    case (.unsigned(let a), .unsigned(let b)): a == b
    case (.double(let a), .double(let b)): a == b
    case (.string(let a), .string(let b)): isSameText(a, b)
    case (.array(let a), .array(let b)): a == b
    case (.object(let a), .object(let b)): a == b
    default: false
    }
  }
}

/// Whether two texts have the same code units. Swift's `==` also equates canonically equivalent ones, which are different data.
///
/// The length, which is known, tells most texts apart. Texts of equal length that are `==` can only differ in the order of combining marks.
@inline(__always)
func isSameText(_ a: String, _ b: String) -> Bool { a.utf8.count == b.utf8.count && a == b && hasSameUnits(a, b) }

@inline(never)
private func hasSameUnits(_ a: String, _ b: String) -> Bool {
  let isSame = a.utf8.withContiguousStorageIfAvailable { left in
    b.utf8.withContiguousStorageIfAvailable { right in
      for index in left.indices where left[index] != right[index] { return false }
      return true
    }
  }
  return (isSame ?? nil) ?? a.utf8.elementsEqual(b.utf8)
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
    package static func == (a: Member, b: Member) -> Bool { isSameText(a.name, b.name) && a.value == b.value }
  }

  package var members: [Member]

  package init(_ members: [Member] = []) { self.members = members }
  package init(dictionaryLiteral elements: (String, JSON)...) { members = elements.map { Member(name: $0.0, value: $0.1) } }

  package var isEmpty: Bool { members.isEmpty }
  package var count: Int { members.count }

  /// The value of the first member of that name. Setting replaces it in place, appends a new one, or removes it (nil).
  package subscript(name: String) -> JSON? {
    get { position(of: name).map { members[$0].value } }
    set {
      switch (position(of: name), newValue) {
      case (let index?, let value?): members[index].value = value
      case (let index?, nil): members.remove(at: index)
      case (nil, let value?): members.append(Member(name: name, value: value))
      case (nil, nil): break
      }
    }
  }

  /// Index of the first member of that name.
  private func position(of name: String) -> Int? {
    // In place: a walk over the array's elements would retain and release each of them. Nearly every other name has another length.
    let length = name.utf8.count
    return members.withUnsafeBufferPointer { members in
      var index = 0
      while index < members.count {
        if members[index].name.utf8.count == length, members[index].name == name { return index }
        index += 1
      }
      return nil
    }
  }

  /// The first name that stands a second time, or nil.
  package var repeatedName: String? {
    if members.count < 12 {
      return members.withUnsafeBufferPointer { members in
        var index = 1
        while index < members.count {
          var earlier = 0
          while earlier < index {
            if isSameText(members[earlier].name, members[index].name) { return members[index].name }
            earlier += 1
          }
          index += 1
        }
        return nil
      }
    }
    var seen = Set<[UInt8]>()
    for member in members where !seen.insert(Array(member.name.utf8)).inserted { return member.name }
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
  package var isNull: Bool { if case .null = self { true } else { false } }

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

  /// Equal as data: member order and the spelling of numbers do not count; repeated keys and their order do.
  package func isEquivalent(to other: JSON) -> Bool {
    switch (self, other) {
    case (.array(let a), .array(let b)):
      return a.count == b.count && zip(a, b).allSatisfy { $0.isEquivalent(to: $1) }
    case (.object(let a), .object(let b)):
      func agree(_ a: [JSONObject.Member], _ b: [JSONObject.Member]) -> Bool {
        zip(a, b).allSatisfy { isSameText($0.name, $1.name) && $0.value.isEquivalent(to: $1.value) }
      }
      if a.count != b.count { return false }
      return a.hasNames(of: b) ? agree(a.members, b.members) : agree(a.membersByName, b.membersByName)
    case (.unsigned(let a), .double(let b)), (.double(let b), .unsigned(let a)): return UInt64(exactly: b) == a
    default:
      if self == other { return true }
      if let a = integer, let b = other.integer { return a == b }
      return false
    }
  }
}

extension JSONObject {
  /// Whether the names of two objects stand in the same order.
  fileprivate func hasNames(of other: JSONObject) -> Bool {
    zip(members, other.members).allSatisfy { isSameText($0.name, $1.name) }
  }

  /// Members in byte order of their names; those of one name in their order.
  fileprivate var membersByName: [Member] {
    members.enumerated().sorted { a, b in
      isSameText(a.element.name, b.element.name)
        ? a.offset < b.offset : a.element.name.utf8.lexicographicallyPrecedes(b.element.name.utf8)
    }.map(\.element)
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
