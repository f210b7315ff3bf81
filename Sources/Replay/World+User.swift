import Contract
import Faults
import Simulation
import Wire

/// The user before the screen.
extension World {
  /// Lets the user do what can be done now. Called at the user's place in the order of an instant only, so that a frame and an
  /// intent of one instant come in the system's order (SCENARIO.md 8.7).
  mutating func letUserAct() {
    while let act = user.act(at: now, premise: premise) {
      switch act {
      case .makes(let intent): make(intent)
      case .waits(let intent): record(.user, "waits", ["intent": .string(intent.id)])
      case .gives(let intent, let reason): record(.user, "void", ["intent": .string(intent.id), "reason": .string(reason)])
      }
      self.act()
    }
    watchUser()
    if quietAwaitsUser, !user.isPending {
      quietAwaitsUser = false
      queue.push(.quietCheck, at: now, eventClass: World.quietRank)
    }
  }

  /// Something has happened: a user who waits looks at the screen once more in this instant.
  mutating func wakeUser() {
    guard user.isWaiting, userWakeAt != now else { return }
    userWakeAt = now
    queue.push(.userWakes, at: now, eventClass: rank(.user))
  }

  func premise(of gesture: Gesture) -> Premise { World.premise(of: gesture, in: process) }

  static func premise(of gesture: Gesture, in process: Process?) -> Premise {
    guard let process else { return .waits }
    if gesture.name == Gesture.restart { return .holds }
    if process.isSuspended || process.isBackground { return .waits }
    return process.core.premise(of: gesture)
  }

  mutating func make(_ intent: Intent) {
    var gesture = intent.gesture
    var rule: Int?
    if gesture.name == Gesture.drag { rule = hold(&gesture) }
    recordGesture(gesture, ["intent": .string(intent.id)], rule: rule)
    switch gesture.name {
    case Gesture.restart:
      // Carries out what waits for this entry first: a rule may end the process here.
      act()
      stopProcess(for: (try? gesture.restartPause()) ?? .zero, rule: nil)
    case Gesture.drag:
      give(.user(gesture))
      if let drag = try? Drag(gesture.fields) { process?.fingerUntil = now + drag.length }
    default:
      if let change = Lifecycle(rawValue: gesture.name), [.background, .foreground, .memoryPressure].contains(change) {
        give(.lifecycle(change))
      } else {
        give(.user(gesture))
      }
    }
  }

  /// Writes that a gesture is made; `rule` is that of the plan that made or changed it.
  mutating func recordGesture(_ gesture: Gesture, _ first: JSONObject, rule: Int?) {
    var fields = first
    fields["do"] = .string(gesture.name)
    for member in gesture.fields.members where fields[member.name] == nil { fields.members.append(member) }
    if let rule, fields["rule"] == nil { fields["rule"] = .int(rule) }
    record(.user, "gesture", fields)
  }

  /// Lets the finger of a drag of the user rest as much longer as rules say; the first of them, nil when there is none.
  private mutating func hold(_ gesture: inout Gesture) -> Int? {
    guard rulesAct, !settings.plan.rules.isEmpty, var drag = try? Drag(gesture.fields) else { return nil }
    let core = process?.core
    let hits = faults.drag(now: now) { core?.holds(state: $0) ?? false }
    for hit in hits {
      guard case .holdDrag(let length) = hit.action else { continue }
      record(.plan, "fired", ["rule": .int(hit.rule + 1), "action": .string(hit.action.word), "forNs": .integer(length.nanoseconds)])
      drag.held = min(drag.held + length, .milliseconds(Drag.longest))
    }
    guard let first = hits.first else { return nil }
    gesture.fields["held"] = .integer(drag.held.nanoseconds / 1_000_000)
    busyUntil = max(busyUntil, now + drag.length)
    return first.rule + 1
  }

  mutating func watchUser() {
    guard let next = user.next else { return }
    let at = max(next, now)
    if let userAlarmAt, userAlarmAt <= at { return }
    userAlarmAt = at
    queue.push(.user, at: at, eventClass: rank(.user))
  }
}
