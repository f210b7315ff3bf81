import Contract
import Simulation
import Wire

/// The faults of a run: exact rules and generators. Its canonical JSON (RFC 8785) has a printed hash.
package struct FaultPlan: Hashable, Sendable {
  package var name: String
  package var rules: [FaultRule]

  package init(name: String, rules: [FaultRule] = []) {
    self.name = name
    self.rules = rules
  }

  package static let none = FaultPlan(name: "none")

  /// Most rules of one plan.
  package static let most = 10_000

  /// `{"name": …, "rules": [rule text, …]}`.
  package var json: JSON { ["name": .string(name), "rules": .array(rules.map { .string($0.text) })] }

  /// SHA-256 of the canonical JSON.
  package var hash: String { SHA256Digest.hex(JSONWriter.canonical(json)) }

  /// Reads the form of `json`.
  package init(json: JSON) throws(FaultError) {
    guard let object = json.object else { throw FaultError.badPlan(path: "", problem: "expected an object") }
    if let repeated = object.repeatedName { throw FaultError.badPlan(path: repeated, problem: "stands twice") }
    for member in object.members where member.name != "name" && member.name != "rules" {
      throw FaultError.badPlan(path: member.name, problem: "unknown key")
    }
    guard let name = object["name"]?.string else { throw FaultError.badPlan(path: "name", problem: "expected a string") }
    guard let list = object["rules"]?.array else { throw FaultError.badPlan(path: "rules", problem: "expected an array") }
    guard list.count <= FaultPlan.most else {
      throw FaultError.badPlan(path: "rules", problem: "\(list.count) rules, at most \(FaultPlan.most)")
    }
    var rules: [FaultRule] = []
    for (index, item) in list.enumerated() {
      guard let text = item.string else { throw FaultError.badPlan(path: "rules[\(index)]", problem: "expected a rule as a string") }
      rules.append(try FaultRule(parsing: text))
    }
    self.init(name: name, rules: rules)
  }

  /// Reads a plan file.
  package init(bytes: [UInt8]) throws(FaultError) {
    let json: JSON
    do { json = try JSONReader.value(bytes) } catch { throw FaultError.badPlan(path: error.path, problem: error.problem) }
    try self.init(json: json)
  }

  /// This plan with the rules of `--fault` behind its own.
  package func adding(_ texts: [String]) throws(FaultError) -> FaultPlan {
    var plan = self
    for text in texts { plan.rules.append(try FaultRule(parsing: text)) }
    if !texts.isEmpty { plan.name = name == "none" ? "custom" : name + "+" }
    return plan
  }

  /// Checks every label and state against what the system has.
  package func check(against system: ChatSystem) throws(FaultError) {
    for rule in rules { try rule.check(against: system) }
  }
}
