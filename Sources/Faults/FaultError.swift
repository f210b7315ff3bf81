import Contract
import Simulation

/// Why a fault plan cannot be used: facts only, `description` makes the sentence.
package enum FaultError: Error, Hashable, Sendable {
  case unknownPlan(String, nearest: String?)
  case unknownAction(String, rule: String, nearest: String?)
  case unknownTarget(String, rule: String, nearest: String?)
  /// The action exists but not at this target.
  case wrongTarget(action: String, target: String, allowed: [String], rule: String)
  case unknownLabel(String, role: FrameLabel.Role?, rule: String, nearest: String?)
  case unknownState(String, rule: String, nearest: String?)
  /// One part of a rule is not understood.
  case badPart(String, rule: String, problem: String)
  case missing(String, rule: String)
  /// The plan's JSON is no plan.
  case badPlan(path: String, problem: String)
}

extension FaultError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unknownPlan(let name, let nearest): "unknown plan \"\(name)\"" + suggestion(nearest)
    case .unknownAction(let name, let rule, let nearest): "unknown action \"\(name)\" in rule \"\(rule)\"" + suggestion(nearest)
    case .unknownTarget(let name, let rule, let nearest): "unknown target \"\(name)\" in rule \"\(rule)\"" + suggestion(nearest)
    case .wrongTarget(let action, let target, let allowed, let rule):
      "\"\(action)\" does not act on \"\(target)\" but on \(allowed.joined(separator: ", ")), in rule \"\(rule)\""
    case .unknownLabel(let name, let role, let rule, let nearest):
      "unknown \(role?.rawValue ?? "frame") label \"\(name)\" in rule \"\(rule)\"" + suggestion(nearest)
    case .unknownState(let name, let rule, let nearest): "unknown client state \"\(name)\" in rule \"\(rule)\"" + suggestion(nearest)
    case .badPart(let part, let rule, let problem): "\"\(part)\" in rule \"\(rule)\": \(problem)"
    case .missing(let what, let rule): "rule \"\(rule)\" needs \(what)"
    case .badPlan(let path, let problem): path.isEmpty ? "not a fault plan: \(problem)" : "not a fault plan: \(path): \(problem)"
    }
  }

  private func suggestion(_ nearest: String?) -> String { nearest.map { "; did you mean \"\($0)\"?" } ?? "" }
}

/// Suggestions for mistyped words.
package enum Nearest {
  /// The candidate with the fewest edits, the first of equals; nil when none is within half of the longer word. O(n · m) a word.
  package static func name(to word: String, among candidates: [String]) -> String? {
    var best: (name: String, edits: Int)?
    for candidate in candidates where candidate.utf8.count <= 200 && word.utf8.count <= 200 {
      let edits = distance(Array(word.utf8), Array(candidate.utf8))
      if edits * 2 <= max(word.utf8.count, candidate.utf8.count), edits < (best?.edits ?? .max) { best = (candidate, edits) }
    }
    return best?.name
  }

  private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var row = Array(0...b.count)
    for (i, x) in a.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, y) in b.enumerated() {
        let above = row[j + 1]
        row[j + 1] = min(above + 1, row[j] + 1, diagonal + (x == y ? 0 : 1))
        diagonal = above
      }
    }
    return row[b.count]
  }
}
