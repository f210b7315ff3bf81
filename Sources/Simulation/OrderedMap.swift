/// A dictionary that is walked in the order of first insertion, so that no hash order reaches an effect or a byte of output.
/// Lookup, insertion and replacement are O(1); removal is O(n).
package struct OrderedMap<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  package private(set) var keys: [Key] = []
  private var table: [Key: Value] = [:]

  package init() {}

  package var count: Int { keys.count }
  package var isEmpty: Bool { keys.isEmpty }

  package subscript(key: Key) -> Value? {
    get { table[key] }
    set {
      if let newValue {
        if table.updateValue(newValue, forKey: key) == nil { keys.append(key) }
      } else if table.removeValue(forKey: key) != nil {
        keys.removeAll { $0 == key }
      }
    }
  }

  package subscript(key: Key, default make: @autoclosure () -> Value) -> Value {
    get { table[key] ?? make() }
    _modify {
      if table[key] == nil { keys.append(key) }
      yield &table[key, default: make()]
    }
  }

  /// The values in the order of their keys.
  package var values: [Value] { keys.map { table[$0]! } }
  /// The pairs in the order of insertion.
  package var pairs: [(key: Key, value: Value)] { keys.map { ($0, table[$0]!) } }
}
