import Contract
import Faults
import Simulation
import Wire

/// Rules that act elsewhere than on a frame.
extension World {
  /// Carries out what frame rules and entry rules have asked for, between two effects or events. What the core hears of waits for the last
  /// effect of what it has handled already: else effects of two inputs would come in another order than the core gave them.
  mutating func act() {
    while true {
      let isHandling = process?.isHandling ?? false
      if let index = actions.firstIndex(where: { !isHandling || !$0.action.reachesCore }) {
        let next = actions.remove(at: index)
        carryOut(next.action, rule: next.rule, connection: next.connection)
      } else if let next = entryRules.first, next.entry < recorder.count {
        entryRules.removeFirst()
        fire(next.rule)
      } else {
        return
      }
    }
  }

  mutating func fire(_ rule: Int) {
    guard rulesAct, settings.plan.rules.indices.contains(rule) else { return }
    let isPossible: Bool
    switch settings.plan.rules[rule].action {
    case .drag, .loseStop, .skipFrames, .slowPreparation, .slowApplying: isPossible = possibility()(settings.plan.rules[rule].action)
    case .restartApp, .memoryPressure: isPossible = process != nil
    case .background: isPossible = process != nil && process?.isBackground == false
    case .suspend: isPossible = process != nil && process?.isSuspended == false
    case .disconnect, .halfOpen:
      let which = settings.plan.rules[rule].connections
      isPossible = connections.contains { $0.state == .up && which.matches(ConnectionID($0.number), $0.endpoint) }
    default: isPossible = true
    }
    guard isPossible else { return }
    let core = process?.core
    guard let action = faults.due(rule: rule, now: now, state: { core?.holds(state: $0) ?? false }) else { return }
    let number = rule + 1
    record(.plan, "fired", ["rule": .int(number), "action": .string(action.word)])
    if action.reachesCore, process?.isHandling ?? false {
      actions.append((action, number, nil))
    } else {
      carryOut(action, rule: number, connection: nil, settings.plan.rules[rule].connections)
    }
  }

  /// Whether actions at the user and the screen have something to act on now; true for all others.
  func possibility() -> (FaultAction) -> Bool {
    // Not the world itself: a second copy of it would make each change of its rules' counts a copy too.
    let process = process
    let now = now
    // What earlier frames of this moment have asked for comes first.
    let asked = actions.map(\.action)
    return { action in
      switch action {
      case .drag:
        guard let drag = action.drag, process?.fingerUntil.map({ $0 <= now }) ?? true, !asked.contains(where: { $0.drag != nil }) else {
          return false
        }
        return World.premise(of: Gesture(Gesture.drag, drag.fields), in: process) == .holds
      case .loseStop: return process.map { !$0.losesStop && !asked.contains(.loseStop) } ?? false
      case .skipFrames, .slowPreparation, .slowApplying: return process != nil
      default: return true
      }
    }
  }

  mutating func carryOut(
    _ action: FaultAction, rule: Int, connection: Int?, _ selector: ConnectionSelector = .any
  ) {
    let why: JSONObject = ["rule": .int(rule)]
    switch action {
    case .disconnect(let pause):
      let numbers = targets(connection, selector)
      for number in numbers { breakConnection(number, code: 1006, who: "network", why) }
      for endpoint in away(connection, selector, numbers) { becomeUnreachable(endpoint, until: now + pause) }
    case .halfOpen(let length):
      for number in targets(connection, selector) {
        connections[number - 1].halfOpen = rule
        record(.link, "half-open", ["conn": .int(number), "rule": .int(rule)])
        busyUntil = max(busyUntil, now + length)
        queue.push(.halfOpenEnds(number, rule: rule), at: now + length, eventClass: World.linkRank)
      }
    case .restartServer(let pause):
      for number in targets(nil, .any) {
        connections[number - 1].isSevered = true
        breakConnection(number, code: 1006, who: "server", why)
        tellTwin(.disconnected(ConnectionID(number)))
      }
      becomeUnreachable(.any, until: now + pause)
      tellTwin(.fault(.restart))
    case .epochJump(let lane, let by): tellTwin(.fault(.epochJump(lane: lane, by: by)))
    case .forgetAnswers: tellTwin(.fault(.forgetAnswers))
    case .restartApp(let pause): stopProcess(for: pause, rule: rule)
    case .background(let length):
      guard let launch = process?.launch, process?.isBackground == false else { return }
      record(.world, "background", why)
      give(.lifecycle(.background))
      process?.isBackground = true
      busyUntil = max(busyUntil, now + length)
      queue.push(.foreground(launch: launch), at: now + length, eventClass: World.linkRank)
    case .suspend(let length):
      guard let launch = process?.launch, process?.isSuspended == false else { return }
      record(.world, "suspend", why)
      give(.lifecycle(.suspended))
      process?.isSuspended = true
      busyUntil = max(busyUntil, now + length)
      queue.push(.resumed(launch: launch), at: now + length, eventClass: World.linkRank)
    case .memoryPressure:
      record(.world, "memoryPressure", why)
      give(.lifecycle(.memoryPressure))
    case .drag:
      guard let drag = action.drag, possibility()(action) else { return }
      busyUntil = max(busyUntil, now + drag.length)
      let gesture = Gesture(Gesture.drag, drag.fields)
      recordGesture(gesture, [:], rule: rule)
      give(.user(gesture))
      process?.fingerUntil = now + drag.length
    case .loseStop:
      guard possibility()(action) else { return }
      process?.losesStop = true
      record(.world, "screen", ["fault": .string(action.word), "rule": .int(rule)])
      give(.screen(.loseStop))
    case .skipFrames(let count):
      record(.world, "screen", ["fault": .string(action.word), "count": .int(count), "rule": .int(rule)])
      framesToSkip += count
    case .slowPreparation(let length):
      record(.world, "screen", ["fault": .string(action.word), "forNs": .integer(length.nanoseconds), "rule": .int(rule)])
      slowPreparation = length
      give(.screen(.slowPreparation(length)))
    case .slowApplying(let length):
      record(.world, "screen", ["fault": .string(action.word), "forNs": .integer(length.nanoseconds), "rule": .int(rule)])
      slowApplying = length
      give(.screen(.slowApplying(length)))
    case .stepClock(let by):
      record(.world, "clock", ["byNs": .integer(by.nanoseconds), "rule": .int(rule)])
      wallStep = wallStep + by
      give(.wallClockStepped(by: by))
    case .drop, .delay, .duplicate, .reorder, .hold, .holdUntil, .corrupt, .truncate, .replace, .refuse, .slow, .holdDrag:
      return
    }
  }

  func targets(_ connection: Int?, _ selector: ConnectionSelector) -> [Int] {
    if let connection { return connections[connection - 1].state == .up ? [connection] : [] }
    return connections.filter { $0.state == .up && selector.matches(ConnectionID($0.number), $0.endpoint) }.map(\.number)
  }

  /// What cannot be reached after a break: everything, or the endpoints of what broke.
  func away(_ connection: Int?, _ selector: ConnectionSelector, _ numbers: [Int]) -> [ConnectionSelector] {
    switch selector {
    case .any where connection == nil: [.any]
    case .endpoint: [selector]
    case .any, .number: numbers.map { .endpoint(connections[$0 - 1].endpoint.target) }
    }
  }
}
