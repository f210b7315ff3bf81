import Wire

/// The largest magnitude of an integer on this wire: 2^53 − 1 (spec B.1).
package let largestSafeInteger: Int64 = 9_007_199_254_740_991

extension StringProtocol {
  /// Whether every character is Unicode white space (spec B.1, the opposite of "nonblank").
  package var isBlank: Bool {
    // A printable ASCII character settles it without a look into the tables of Unicode.
    if utf8.contains(where: { $0 > 0x20 && $0 < 0x7f }) { return false }
    return unicodeScalars.allSatisfy(\.properties.isWhitespace)
  }
}

/// What a JSON value is as an integer of this wire.
enum SafeInteger {
  case value(Int64)
  case notInteger
  /// Integral, but outside ±(2^53 − 1).
  case outOfRange
}

extension JSON {
  var safeInteger: SafeInteger {
    switch self {
    case .unsigned: return .outOfRange
    case .double(let value) where !value.isFinite || value.rounded(.towardZero) != value: return .notInteger
    case .integer, .double:
      guard let value = integer, value.magnitude <= largestSafeInteger.magnitude else { return .outOfRange }
      return .value(value)
    case .null, .bool, .string, .array, .object: return .notInteger
    }
  }

  /// The value as an integer within ±(2^53 − 1); judged by value, so `1.0` and `1e3` are integers.
  package var wireInteger: Int64? { if case .value(let value) = safeInteger { value } else { nil } }

  /// The value when it is a string with at least one character that is not white space.
  package var nonblankString: String? { string.flatMap { $0.isBlank ? nil : $0 } }

  /// Whether an object anywhere in the value repeats a key.
  package var repeatsKey: Bool {
    switch self {
    case .object(let object):
      // By index: the elements of a walk are retained and released one by one.
      object.repeatedName != nil || object.members.indices.contains { object.members[$0].value.repeatsKey }
    case .array(let elements): elements.indices.contains { elements[$0].repeatsKey }
    case .null, .bool, .integer, .unsigned, .double, .string: false
    }
  }
}

/// A value that the wire may leave out of an object, or give as null.
enum Nullable<Value> {
  case value(Value)
  case null
  case wrongType

  var optional: Value? { if case .value(let value) = self { value } else { nil } }
}

extension JSONObject {
  /// A string that may be null or absent.
  func nullableString(_ name: String) -> Nullable<String> {
    switch self[name] {
    case nil, .null?: .null
    case .string(let value)?: .value(value)
    default: .wrongType
    }
  }

  /// The first of `names` that is missing, else the first further key in byte order.
  func exactKeys(_ names: [String]) -> (missing: String?, unknown: String?) {
    if let missing = names.first(where: { self[$0] == nil }) { return (missing, nil) }
    if count == names.count { return (nil, nil) }
    let unknown = members.map(\.name).filter { !names.contains($0) }
    return (nil, unknown.min { $0.utf8.lexicographicallyPrecedes($1.utf8) })
  }

  func hasExactly(_ names: [String]) -> Bool { exactKeys(names) == (nil, nil) && count == names.count }
}

extension JSON {
  static func nullable(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }
}

/// `path.key`, or `key` at the top.
func joined(_ path: String, _ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }
