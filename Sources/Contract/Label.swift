import Simulation
import Wire

/// What a frame is to its system, without a full decode: enough for faults, reports and delivery oracles.
package struct FrameLabel: Hashable, Sendable {
  /// The part that a frame plays in its exchange.
  package enum Role: String, Sendable, Hashable, CaseIterable {
    case request, response, event
    /// Not understood by the dialect, or no message (ping, pong).
    case other
  }

  package var role: Role
  /// Method of a request and of its response, name of an event; `?` when it cannot be told.
  package var name: String
  /// Fields for selectors and reports, by the wire's own names: `id`, `sessionId`, `outcome`, `code`, …
  package var fields: JSONObject
  /// The operation (one thing that somebody wants delivered once, SCENARIO.md 2) that this frame is about.
  package var operation: String?
  /// The idempotency key, on a request and on its response.
  package var key: String?
  /// True for a request that asks the server to take `operation` (an attempt), and for the response to one (its receipt).
  package var isDelivery: Bool

  package init(
    role: Role, name: String, fields: JSONObject = [:], operation: String? = nil, key: String? = nil, isDelivery: Bool = false
  ) {
    self.role = role
    self.name = name
    self.fields = fields
    self.operation = operation
    self.key = key
    self.isDelivery = isDelivery
  }
}

/// Labels the frames of one run or recording in order of sight; remembers requests so that responses get their names.
package protocol FrameLabeler: Sendable {
  /// The label of the next frame. Frames of one connection must be shown in the order in which they were sent.
  mutating func label(_ frame: Frame) -> FrameLabel
  /// Strict decode of the next frame, for `check`: each violation as key path and problem. Same order as `label`.
  mutating func violations(in frame: Frame) -> [JSONError]
}

/// A comparison of a selector field with a literal.
package enum FieldComparison: String, Sendable, Hashable, CaseIterable {
  case equal = "="
  case notEqual = "!="
  case less = "<"
  case greater = ">"
  case contains = "~"
}

/// Which labelled frames are meant: every part that is set must fit. Shared by recorded link conditions and fault rules.
package struct FramePattern: Hashable, Sendable {
  package struct Condition: Hashable, Sendable {
    package var field: String
    package var comparison: FieldComparison
    package var value: String

    package init(field: String, comparison: FieldComparison, value: String) {
      self.field = field
      self.comparison = comparison
      self.value = value
    }
  }

  package var role: FrameLabel.Role?
  /// A label name; nil or `*` for any, a trailing `*` for a prefix.
  package var name: String?
  package var conditions: [Condition]

  package init(role: FrameLabel.Role? = nil, name: String? = nil, conditions: [Condition] = []) {
    self.role = role
    self.name = name
    self.conditions = conditions
  }

  /// Whether `label` fits. `operation` and `key` are fields too; numbers compare as numbers, everything else as text.
  package func matches(_ label: FrameLabel) -> Bool {
    if let role, role != label.role { return false }
    if let name, name != "*" {
      if name.hasSuffix("*") {
        if !label.name.hasPrefix(name.dropLast()) { return false }
      } else if name != label.name {
        return false
      }
    }
    return conditions.allSatisfy { $0.holds(for: label) }
  }
}

extension FramePattern.Condition {
  func holds(for label: FrameLabel) -> Bool {
    let found: JSON? =
      switch field {
      case "operation": label.operation.map(JSON.string)
      case "key": label.key.map(JSON.string)
      default: label.fields[field]
      }
    guard let found else { return comparison == .notEqual }
    let text = found.string ?? JSONWriter.text(found)
    switch comparison {
    case .equal: return text == value
    case .notEqual: return text != value
    case .contains: return text.contains(value)
    case .less, .greater:
      guard let left = found.double, let right = Double(value) else { return false }
      return comparison == .less ? left < right : left > right
    }
  }
}
