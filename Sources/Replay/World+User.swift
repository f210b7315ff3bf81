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

  func premise(of gesture: Gesture) -> Premise {
    guard let process, !process.isSuspended, !process.isBackground else { return .waits }
    return process.core.premise(of: gesture)
  }

  mutating func make(_ intent: Intent) {
    var fields: JSONObject = ["intent": .string(intent.id), "do": .string(intent.gesture.name)]
    for member in intent.gesture.fields.members where fields[member.name] == nil { fields.members.append(member) }
    record(.user, "gesture", fields)
    switch Lifecycle(rawValue: intent.gesture.name) {
    case .background, .foreground, .memoryPressure:
      give(.lifecycle(Lifecycle(rawValue: intent.gesture.name) ?? .foreground))
    default: give(.user(intent.gesture))
    }
  }

  mutating func watchUser() {
    guard let next = user.next else { return }
    let at = max(next, now)
    if let userAlarmAt, userAlarmAt <= at { return }
    userAlarmAt = at
    queue.push(.user, at: at, eventClass: rank(.user))
  }
}
