import Contract
import Faults
import Simulation
import Wire

/// The core and the process that it lives in.
extension World {
  mutating func launch() {
    guard process == nil else { return }
    let draws = settings.draws ?? .seeded(SeededRandom(seed: settings.seed).fork("core"))
    let core = system.makeCore(
      CoreSettings(
        start: scenario.clientStart, wallClockMilliseconds: facts.wallClockMilliseconds &+ wallStep.nanoseconds / 1_000_000, draws: draws,
        launch: launches), store)
    record(.world, "launch", ["n": .int(launches)])
    process = Process(launch: launches, core: core)
    launches += 1
    give(.lifecycle(.launched))
    if let slowPreparation { give(.screen(.slowPreparation(slowPreparation))) }
    if let slowApplying { give(.screen(.slowApplying(slowApplying))) }
  }

  /// Hands the core an input, or keeps it until a suspended process goes on.
  mutating func give(_ input: Input) {
    guard let launch = process?.launch else { return }
    // A rule may stop the process when the entry of what it is about to hear has been written.
    act()
    guard process?.launch == launch else { return }
    if process?.isSuspended == true {
      process?.late.append(.input(input, launch: launch))
      return
    }
    let present = now
    guard let effects = process?.core.handle(input, at: present) else { return }
    process?.isHandling = true
    for effect in effects {
      apply(effect)
      act()
      // The process ended between two effects: the rest never happens.
      if process?.launch != launch { return }
    }
    process?.isHandling = false
    act()
  }

  mutating func tellCore(_ input: Input, of connection: Int) {
    if process?.launch == connections[connection - 1].launch { give(input) }
  }

  mutating func apply(_ effect: Effect) {
    guard let launch = process?.launch else { return }
    switch effect {
    case .open(let id, let endpoint):
      let number = connections.count + 1
      connections.append(
        Connection(number: number, coreNumber: id.number, launch: launch, endpoint: endpoint, delay: facts.delay(of: endpoint)))
      connections[number - 1].isMade = settings.opensByItself
      process?.connections[id.number] = number
      if isReachable(number) { queue.push(.connectionUp(number), at: now, eventClass: World.linkRank) }
    case .close(let id, let code):
      guard let number = process?.connections[id.number] else { return }
      endByClient(number, code: code)
    case .send(var frame):
      guard let number = process?.connections[frame.connection.number] else {
        record(.core, "misuse", ["what": "sends on a connection that it never opened", "conn": .int(frame.connection.number)])
        return
      }
      frame.connection = ConnectionID(number)
      transmit(frame, .out)
    case .arm(let id, let at):
      timerGeneration += 1
      process?.timers[id] = timerGeneration
      queue.push(.timer(launch: launch, id, generation: timerGeneration), at: max(at, now), eventClass: rank(.timer))
    case .disarm(let id): process?.timers[id] = nil
    case .store(let key, let bytes):
      store[key] = bytes
      record(.core, "stored", ["key": .string(key), "bytes": .int(bytes.count)])
    case .note(let note): record(.core, note.kind, note.fields)
    case .screen(let note):
      record(.screen, note.kind, note.fields)
      // The loss has happened, or the list that it was for is gone.
      if note.fields["signalled"] == false || note.kind == "unmount" { process?.losesStop = false }
    case .displayLink(let isOn):
      guard isOn != (process?.displayLink != nil) else { return }
      displayLinks += 1
      process?.displayLink = isOn ? displayLinks : nil
      if isOn { queue.push(.displayFrame(link: displayLinks), at: now + DisplayLink.frame, eventClass: rank(.displayFrame)) }
    }
  }

  /// A tick: the next one comes a frame later, for as long as the core wants it. A suspended process has none.
  mutating func displayFrame(_ link: Int) {
    guard process?.displayLink == link else { return }
    queue.push(.displayFrame(link: link), at: now + DisplayLink.frame, eventClass: rank(.displayFrame))
    if process?.isSuspended == true { return }
    if framesToSkip > 0 {
      framesToSkip -= 1
      return
    }
    give(.displayFrame)
  }

  mutating func endByClient(_ number: Int, code: Int) {
    let was = connections[number - 1].state
    connections[number - 1].state = .down
    guard was == .up else { return }
    record(.link, "down", downFields(number, code: code, who: "client"))
    queue.push(.twinHearsDown(number), at: behind(number), eventClass: rank(.frame))
  }

  /// Ends the process and launches it again after `pause`. `rule` is nil when the user does it.
  mutating func stopProcess(for pause: Interval, rule: Int?) {
    guard let launch = process?.launch else { return }
    var fields: JSONObject = ["after": .int(recorder.count - 1)]
    fields["rule"] = rule.map(JSON.int)
    record(.world, "stop", fields)
    process = nil
    for number in connections.indices where connections[number].launch == launch { endByClient(number + 1, code: 1006) }
    busyUntil = max(busyUntil, now + pause)
    queue.push(.launch, at: now + pause, eventClass: World.linkRank)
  }

  mutating func resume() {
    guard process?.isSuspended == true, let launch = process?.launch else { return }
    record(.world, "resume", [:])
    process?.isSuspended = false
    let late = process?.late ?? []
    process?.late = []
    give(.lifecycle(.resumed))
    for event in late where process?.launch == launch {
      dispatch(event)
      act()
    }
  }
}
