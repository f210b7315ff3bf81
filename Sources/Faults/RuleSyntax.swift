import Contract
import Simulation
import Wire

/// The text form of a rule: `ACTION,TARGET,LABEL[,FIELD OP VALUE]…`; a comma or backslash within a value is written `\,` `\\`.
///
/// ```
/// drop,response,run.chatOutboxSubmit,nth=2,while=dragging
/// restart,app,on=request:run.chatOutboxSubmit,nth=1,for=3s
/// drag,user,on=event:chat:timeline-overlay,every=9,for=1500ms,by=-200
/// ```
extension FaultRule {
  /// Names of actions, in the order in which they are listed, each with the targets that it acts on.
  package static let actions: [(name: String, targets: [String], meaning: String)] = [
    ("drop", frameTargets, "the frame never arrives"),
    ("delay", frameTargets, "this frame alone arrives later (by=); frames behind it overtake"),
    ("duplicate", frameTargets, "a second copy arrives (by= later)"),
    ("reorder", frameTargets, "the next frame of its direction passes it (by= at the latest)"),
    ("hold", frameTargets, "the frame and all behind it wait (for=, or until= an instant)"),
    ("corrupt", frameTargets, "one bit is turned"),
    ("truncate", frameTargets, "only the first bytes arrive (to=)"),
    ("replace", frameTargets, "other bytes arrive (with=)"),
    ("disconnect", ["conn"] + frameTargets, "the connection breaks, its endpoint is away (for=)"),
    ("half-open", ["conn"] + frameTargets, "the connection carries nothing and nobody hears of it (for=)"),
    ("refuse", ["request"], "the server answers an error (code=, message=, permanent=)"),
    ("slow", ["request"], "the server answers later (by=)"),
    ("restart", ["app", "server", "desktop"], "the process ends and comes back (for=)"),
    ("epoch-jump", ["server", "desktop"], "the epoch of a lane jumps (by=)"),
    ("forget", ["server", "desktop"], "the server forgets stored answers"),
    ("background", ["app"], "the app is in the background (for=)"),
    ("suspend", ["app"], "the app's process gets no time (for=)"),
    ("memory-pressure", ["app"], "the app is told to free memory"),
    ("drag", ["user"], "a finger is put on the list, moves (by= points, positive: down), rests and lifts after for= (with velocity=)"),
    (
      "hold-drag", ["user"],
      "the user's next drag rests longer (for=); without at=, entry=, on=: each drag, or those of nth=, every=, probability="
    ),
    ("lose-stop", ["screen"], "the next end of a drag or deceleration is not signalled"),
    ("skip-frames", ["screen"], "the next display frames do not come (count=)"),
    ("slow-markdown", ["screen"], "rows that become visible from then on prepare this long (for=)"),
    ("slow-apply", ["screen"], "applying a snapshot takes this long from then on (for=)"),
    ("step", ["clock"], "the wall clock of the device steps (by=, may be negative)"),
  ]
  private static let frameTargets = ["request", "response", "event", "frame"]
  private static let otherTargets = ["conn", "app", "server", "desktop", "clock", "user", "screen"]

  /// Reads the text form. Throws a `FaultError` that names the part that is wrong; labels and states are checked by `check(against:)`.
  package init(parsing text: String) throws(FaultError) {
    var parts = FaultRule.split(text)[...]
    let actionName = parts.popFirst() ?? ""
    guard let known = FaultRule.actions.first(where: { $0.name == actionName }) else {
      let nearest = Nearest.name(to: actionName, among: FaultRule.actions.map(\.name))
      throw FaultError.unknownAction(actionName, rule: text, nearest: nearest)
    }
    guard let target = parts.popFirst() else {
      throw FaultError.missing("a target (\(known.targets.joined(separator: ", ")))", rule: text)
    }
    let allTargets = FaultRule.frameTargets + FaultRule.otherTargets
    guard allTargets.contains(target) else {
      throw FaultError.unknownTarget(target, rule: text, nearest: Nearest.name(to: target, among: allTargets))
    }
    guard known.targets.contains(target) else {
      throw FaultError.wrongTarget(action: actionName, target: target, allowed: known.targets, rule: text)
    }

    let onFrames = FaultRule.frameTargets.contains(target)
    var label: String?
    if onFrames || target == "conn" || actionName == "epoch-jump" {
      guard let first = parts.popFirst(), !first.isEmpty else {
        throw FaultError.missing(onFrames ? "a label (or *)" : target == "conn" ? "a connection (or *)" : "a lane (or *)", rule: text)
      }
      label = first
    } else if parts.first == "*" {
      parts.removeFirst()
    }
    var arguments = RuleArguments(rule: text, own: FaultRule.ownArguments(actionName))
    for part in parts { try arguments.take(part) }

    var connections = ConnectionSelector.any
    if target == "conn" { connections = FaultRule.connections(label ?? "*") }
    if let conn = arguments.taken("conn") { connections = FaultRule.connections(conn) }
    let trigger: Trigger
    if onFrames {
      var role: FrameLabel.Role?
      if target != "frame" { role = FrameLabel.Role(rawValue: target) }
      trigger = .frames(
        FramePattern(role: role, name: label == "*" ? nil : label, conditions: arguments.conditions), try arguments.occurrence())
    } else if let on = arguments.taken("on") {
      let pieces = on.split(separator: ":", maxSplits: 1).map(String.init)
      guard pieces.count == 2, FaultRule.frameTargets.contains(pieces[0]) else {
        throw FaultError.badPart("on=\(on)", rule: text, problem: "expected on=ROLE:LABEL")
      }
      let role = pieces[0] == "frame" ? nil : FrameLabel.Role(rawValue: pieces[0])
      trigger = .frames(
        FramePattern(role: role, name: pieces[1] == "*" ? nil : pieces[1], conditions: arguments.conditions), try arguments.occurrence())
    } else if let entry = arguments.taken("entry") {
      guard let index = Int(entry), index >= 0 else {
        throw FaultError.badPart("entry=\(entry)", rule: text, problem: "expected the index of a trace entry")
      }
      trigger = .entry(index)
    } else if let at = try arguments.instant("at") {
      trigger = .at(at)
    } else if actionName == "hold-drag" {
      trigger = .drags(try arguments.occurrence())
      if trigger == .drags(.firstPerKey) {
        throw FaultError.badPart("first-per-key", rule: text, problem: "drags have no key: nth=1 is meant")
      }
    } else {
      throw FaultError.missing("at=, entry= or on=", rule: text)
    }
    if case .frames = trigger {
    } else if let condition = arguments.conditions.first {
      let part = condition.field + condition.comparison.rawValue + condition.value
      throw FaultError.badPart(part, rule: text, problem: "only rules on frames have fields")
    }
    let after = try arguments.instant("after")
    let before = try arguments.instant("before")
    let state = arguments.taken("while")
    let action = try FaultRule.action(actionName, target: target, label: label, &arguments)
    try arguments.finish()
    self.init(action, trigger, connections: connections, after: after, before: before, while: state)
  }

  /// Arguments that belong to an action; everywhere else these words are fields of frames.
  private static func ownArguments(_ action: String) -> [String] {
    switch action {
    case "delay", "duplicate", "reorder", "slow", "epoch-jump", "step": ["by"]
    case "hold": ["for", "until"]
    case "disconnect", "half-open", "restart", "background", "suspend", "hold-drag", "slow-markdown", "slow-apply": ["for"]
    case "drag": ["for", "by", "velocity"]
    case "skip-frames": ["count"]
    case "truncate": ["to"]
    case "replace": ["with"]
    case "refuse": ["code", "message", "permanent"]
    default: []
    }
  }

  private static func action(
    _ name: String, target: String, label: String?, _ arguments: inout RuleArguments
  ) throws(FaultError) -> FaultAction {
    switch name {
    case "drop": return .drop
    case "delay": return .delay(by: try arguments.required("by"))
    case "duplicate": return .duplicate(by: try arguments.interval("by") ?? .zero)
    case "reorder": return .reorder(within: try arguments.interval("by") ?? .seconds(1))
    case "hold":
      if let until = try arguments.instant("until") { return .holdUntil(until) }
      return .hold(for: try arguments.required("for"))
    case "corrupt": return .corrupt
    case "truncate":
      guard let to = arguments.taken("to") else { return .truncate(to: nil) }
      guard let count = Int(to), count >= 0 else {
        throw FaultError.badPart("to=\(to)", rule: arguments.rule, problem: "expected a number of bytes")
      }
      return .truncate(to: count)
    case "replace":
      guard let text = arguments.taken("with") else { throw FaultError.missing("with=", rule: arguments.rule) }
      return .replace(with: text)
    case "disconnect": return .disconnect(for: try arguments.interval("for") ?? .zero)
    case "half-open": return .halfOpen(for: try arguments.required("for"))
    case "refuse":
      guard let code = arguments.taken("code") else { throw FaultError.missing("code=", rule: arguments.rule) }
      let permanent = arguments.taken("permanent") ?? "false"
      guard permanent == "true" || permanent == "false" else {
        throw FaultError.badPart("permanent=\(permanent)", rule: arguments.rule, problem: "expected true or false")
      }
      let message = arguments.taken("message") ?? "refused by the plan"
      return .refuse(Refusal(code: code, message: message, permanent: permanent == "true"))
    case "slow": return .slow(by: try arguments.required("by"))
    case "restart":
      let length = try arguments.interval("for") ?? .zero
      return target == "app" ? .restartApp(for: length) : .restartServer(for: length)
    case "epoch-jump":
      let by = arguments.taken("by") ?? "1"
      guard let steps = Int(by), steps > 0, steps <= 1_000_000 else {
        throw FaultError.badPart("by=\(by)", rule: arguments.rule, problem: "expected a number from 1 to 1000000")
      }
      return .epochJump(lane: label == "*" ? nil : label, by: steps)
    case "forget": return .forgetAnswers
    case "background": return .background(for: try arguments.required("for"))
    case "suspend": return .suspend(for: try arguments.required("for"))
    case "memory-pressure": return .memoryPressure
    case "drag":
      let length = try arguments.gestureLength("for")
      let by = try arguments.points("by") ?? usualDistance
      return .drag(for: length, by: by, velocity: try arguments.points("velocity") ?? 0)
    case "hold-drag": return .holdDrag(for: try arguments.gestureLength("for"))
    case "lose-stop": return .loseStop
    case "skip-frames": return .skipFrames(try arguments.count("count", most: mostFrames))
    case "slow-markdown": return .slowPreparation(try arguments.required("for"))
    case "slow-apply": return .slowApplying(try arguments.required("for"))
    default: return .stepClock(by: try arguments.required("by", negative: true))
    }
  }

  /// Points that the finger of a `drag` moves when the rule does not say: down, so that a list at its bottom moves.
  private static let usualDistance = 200.0
  /// Most display frames that one rule takes away: over 27 minutes.
  private static let mostFrames = 100_000

  private static func connections(_ text: String) -> ConnectionSelector {
    if text == "*" { return .any }
    return Int(text).map { .number($0) } ?? .endpoint(text)
  }

  private static func split(_ text: String) -> [String] {
    var parts: [[UInt8]] = [[]]
    var escaped = false
    for byte in text.utf8 {
      if escaped {
        parts[parts.count - 1].append(byte)
        escaped = false
      } else if byte == UInt8(ascii: "\\") {
        escaped = true
      } else if byte == UInt8(ascii: ",") {
        parts.append([])
      } else {
        parts[parts.count - 1].append(byte)
      }
    }
    return parts.map { String(decoding: $0, as: UTF8.self) }
  }

  /// The canonical text form; reading it gives this rule again.
  package var text: String {
    var parts: [String] = []
    var target: String?
    var tail: [String] = []
    var occurrence = Occurrence.all
    switch trigger {
    case .frames(let pattern, let which):
      target = pattern.role?.rawValue ?? "frame"
      for condition in pattern.conditions {
        let isArgument = FaultRule.general.contains(condition.field) || FaultRule.ownArguments(action.word).contains(condition.field)
        tail.append((isArgument ? "field:" : "") + condition.field + condition.comparison.rawValue + condition.value)
      }
      occurrence = which
    case .drags(let which): occurrence = which
    case .at, .entry: break
    }
    switch occurrence {
    case .all: break
    case .nth(let n): tail.append("nth=\(n)")
    case .every(let n): tail.append("every=\(n)")
    case .firstPerKey: tail.append("first-per-key")
    case .probability(let p): tail.append("probability=\(p)")
    }
    let selector: String
    switch connections {
    case .any: selector = "*"
    case .number(let number): selector = String(number)
    case .endpoint(let prefix): selector = prefix
    }
    func onFrame(_ name: String, _ own: [String] = []) {
      var label = "*"
      if case .frames(let pattern, _) = trigger { label = pattern.name ?? "*" }
      parts = [name, target ?? "frame", label] + own
      if selector != "*" { tail.append("conn=\(selector)") }
    }
    func elsewhere(_ name: String, _ place: String, _ label: String? = nil, _ own: [String]) {
      parts = [name, place] + (label.map { [$0] } ?? [])
      switch trigger {
      case .at(let instant): parts.append("at=" + TimeText.text(instant - .zero))
      case .entry(let index): parts.append("entry=\(index)")
      case .frames(let pattern, _):
        parts.append("on=\(target ?? "frame"):\(pattern.name ?? "*")")
        if selector != "*", place != "conn" { tail.append("conn=\(selector)") }
      case .drags: break
      }
      parts += own
    }
    func length(_ name: String, _ interval: Interval) -> [String] { interval == .zero ? [] : ["\(name)=" + TimeText.text(interval)] }
    switch action {
    case .drop: onFrame("drop")
    case .delay(let by): onFrame("delay", ["by=" + TimeText.text(by)])
    case .duplicate(let by): onFrame("duplicate", length("by", by))
    case .reorder(let within): onFrame("reorder", ["by=" + TimeText.text(within)])
    case .hold(let length): onFrame("hold", ["for=" + TimeText.text(length)])
    case .holdUntil(let instant): onFrame("hold", ["until=" + TimeText.text(instant - .zero)])
    case .corrupt: onFrame("corrupt")
    case .truncate(let to): onFrame("truncate", to.map { ["to=\($0)"] } ?? [])
    case .replace(let text): onFrame("replace", ["with=" + text])
    case .refuse(let refusal):
      onFrame("refuse", ["code=" + refusal.code, "message=" + refusal.message, "permanent=\(refusal.permanent)"])
    case .slow(let by): onFrame("slow", ["by=" + TimeText.text(by)])
    case .disconnect(let pause):
      if target == nil {
        elsewhere("disconnect", "conn", selector, length("for", pause))
      } else {
        onFrame("disconnect", length("for", pause))
      }
    case .halfOpen(let pause):
      let own = ["for=" + TimeText.text(pause)]
      if target == nil { elsewhere("half-open", "conn", selector, own) } else { onFrame("half-open", own) }
    case .restartServer(let pause): elsewhere("restart", "server", nil, length("for", pause))
    case .epochJump(let lane, let by): elsewhere("epoch-jump", "server", lane ?? "*", ["by=\(by)"])
    case .forgetAnswers: elsewhere("forget", "server", nil, [])
    case .restartApp(let pause): elsewhere("restart", "app", nil, length("for", pause))
    case .background(let pause): elsewhere("background", "app", nil, ["for=" + TimeText.text(pause)])
    case .suspend(let pause): elsewhere("suspend", "app", nil, ["for=" + TimeText.text(pause)])
    case .memoryPressure: elsewhere("memory-pressure", "app", nil, [])
    case .drag(let pause, let by, let velocity):
      var own = ["for=" + TimeText.text(pause), "by=" + JSONWriter.text(.points(by))]
      if velocity != 0 { own.append("velocity=" + JSONWriter.text(.points(velocity))) }
      elsewhere("drag", "user", nil, own)
    case .holdDrag(let pause): elsewhere("hold-drag", "user", nil, ["for=" + TimeText.text(pause)])
    case .loseStop: elsewhere("lose-stop", "screen", nil, [])
    case .skipFrames(let count): elsewhere("skip-frames", "screen", nil, ["count=\(count)"])
    case .slowPreparation(let pause): elsewhere("slow-markdown", "screen", nil, ["for=" + TimeText.text(pause)])
    case .slowApplying(let pause): elsewhere("slow-apply", "screen", nil, ["for=" + TimeText.text(pause)])
    case .stepClock(let by): elsewhere("step", "clock", nil, ["by=" + TimeText.text(by)])
    }
    parts += tail
    if let after { parts.append("after=" + TimeText.text(after - .zero)) }
    if let before { parts.append("before=" + TimeText.text(before - .zero)) }
    if let state { parts.append("while=" + state) }
    return parts.map(FaultRule.escaped).joined(separator: ",")
  }

  private static func escaped(_ part: String) -> String {
    var out: [UInt8] = []
    for byte in part.utf8 {
      if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\\") { out.append(UInt8(ascii: "\\")) }
      out.append(byte)
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Arguments that every rule has; a field of such a name is written `field:NAME`.
  static let general: Set<String> = ["nth", "every", "probability", "conn", "after", "before", "while", "at", "on", "entry"]
}

/// The parts of a rule after its label, each taken once.
private struct RuleArguments {
  let rule: String
  let own: [String]
  private var values: [(name: String, value: String)] = []
  private(set) var conditions: [FramePattern.Condition] = []
  private var firstPerKey = false

  init(rule: String, own: [String]) {
    self.rule = rule
    self.own = own
  }

  mutating func take(_ part: String) throws(FaultError) {
    if part == "first-per-key" {
      firstPerKey = true
      return
    }
    let bytes = Array(part.utf8)
    guard let at = bytes.firstIndex(where: { Array("=!<>~".utf8).contains($0) }), at > 0 else {
      // A bare length of time is the one argument that the action takes.
      if let name = own.first, TimeText.interval(part) != nil {
        try add(name, part, part)
        return
      }
      throw FaultError.badPart(part, rule: rule, problem: "expected FIELD=VALUE (or !=, <, >, ~)")
    }
    var field = String(decoding: bytes[..<at], as: UTF8.self)
    var width = 1
    var comparison = FieldComparison(rawValue: String(decoding: [bytes[at]], as: UTF8.self))
    if bytes[at] == UInt8(ascii: "!") {
      guard at + 1 < bytes.count, bytes[at + 1] == UInt8(ascii: "=") else {
        throw FaultError.badPart(part, rule: rule, problem: "expected FIELD!=VALUE")
      }
      comparison = .notEqual
      width = 2
    }
    let value = String(decoding: bytes[(at + width)...], as: UTF8.self)
    guard let comparison else { throw FaultError.badPart(part, rule: rule, problem: "no such comparison") }
    if field.hasPrefix("field:") {
      field = String(field.dropFirst(6))
    } else if FaultRule.general.contains(field) || own.contains(field) {
      guard comparison == .equal else { throw FaultError.badPart(part, rule: rule, problem: "\(field) takes = only") }
      try add(field, value, part)
      return
    }
    conditions.append(FramePattern.Condition(field: field, comparison: comparison, value: value))
  }

  private mutating func add(_ name: String, _ value: String, _ part: String) throws(FaultError) {
    if values.contains(where: { $0.name == name }) { throw FaultError.badPart(part, rule: rule, problem: "\(name) stands twice") }
    if value.isEmpty { throw FaultError.badPart(part, rule: rule, problem: "empty value") }
    values.append((name, value))
  }

  mutating func taken(_ name: String) -> String? {
    guard let index = values.firstIndex(where: { $0.name == name }) else { return nil }
    return values.remove(at: index).value
  }

  mutating func interval(_ name: String, negative: Bool = false) throws(FaultError) -> Interval? {
    guard let text = taken(name) else { return nil }
    guard let interval = TimeText.interval(text), negative || interval >= .zero else {
      throw FaultError.badPart("\(name)=\(text)", rule: rule, problem: "expected a length of time such as 800ms or 2s")
    }
    return interval
  }

  mutating func required(_ name: String, negative: Bool = false) throws(FaultError) -> Interval {
    guard let interval = try interval(name, negative: negative) else {
      throw FaultError.missing("\(name)= with a length of time", rule: rule)
    }
    return interval
  }

  /// A length that a gesture can carry: whole milliseconds from 1 to `Drag.longest`.
  mutating func gestureLength(_ name: String) throws(FaultError) -> Interval {
    let interval = try required(name)
    guard interval.nanoseconds % 1_000_000 == 0, interval > .zero, interval <= .milliseconds(Drag.longest) else {
      throw FaultError.badPart(
        "\(name)=" + TimeText.text(interval), rule: rule, problem: "expected 1ms to \(Drag.longest / 1_000)s in whole milliseconds")
    }
    return interval
  }

  /// A distance or speed in points, to the thousandth.
  mutating func points(_ name: String) throws(FaultError) -> Double? {
    guard let text = taken(name) else { return nil }
    guard let value = Double(text), value.magnitude <= Drag.farthest else {
      throw FaultError.badPart("\(name)=\(text)", rule: rule, problem: "expected points, such as -200")
    }
    return (value * 1_000).rounded() / 1_000
  }

  mutating func count(_ name: String, most: Int) throws(FaultError) -> Int {
    guard let text = taken(name) else { throw FaultError.missing("\(name)=", rule: rule) }
    guard let count = Int(text), (1...most).contains(count) else {
      throw FaultError.badPart("\(name)=\(text)", rule: rule, problem: "expected a number from 1 to \(most)")
    }
    return count
  }

  mutating func instant(_ name: String) throws(FaultError) -> Instant? {
    guard let interval = try interval(name) else { return nil }
    return .zero + interval
  }

  mutating func occurrence() throws(FaultError) -> FaultRule.Occurrence {
    var found: [FaultRule.Occurrence] = firstPerKey ? [.firstPerKey] : []
    firstPerKey = false
    for name in ["nth", "every"] {
      guard let text = taken(name) else { continue }
      guard let n = Int(text), n > 0 else { throw FaultError.badPart("\(name)=\(text)", rule: rule, problem: "expected a number from 1") }
      found.append(name == "nth" ? .nth(n) : .every(n))
    }
    if let text = taken("probability") {
      guard let p = Double(text), p >= 0, p <= 1 else {
        throw FaultError.badPart("probability=\(text)", rule: rule, problem: "expected a number from 0 to 1")
      }
      found.append(.probability(p))
    }
    guard found.count <= 1 else {
      throw FaultError.badPart("nth, every, probability, first-per-key", rule: rule, problem: "only one of them can hold")
    }
    return found.first ?? .all
  }

  func finish() throws(FaultError) {
    if let left = values.first { throw FaultError.badPart("\(left.name)=\(left.value)", rule: rule, problem: "has no meaning here") }
    if firstPerKey { throw FaultError.badPart("first-per-key", rule: rule, problem: "has no meaning here") }
  }
}
