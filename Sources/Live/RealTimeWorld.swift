import Contract
import Replay
import Simulation
import Sockets
import Wire

/// Steps a world on the clock of a loop: the replay's own core, twin, link, faults, user and trace, on real time.
final class RealTimeWorld {
  private var world: World
  private var timer: LoopTimer?
  private var clock: RunClock?
  private let start: Instant
  private var seen = 0
  private var isStepping = false

  /// Called with the entries that an event or an input has added, right after it.
  var onEntries: ((ArraySlice<TraceEntry>) -> Void)?
  /// Called when a turn is over: everything that was due has happened.
  var onTurn: (() -> Void)?

  /// Steps of one turn before other work of the loop has its turn.
  private static let mostSteps = 10_000

  init(_ loop: EventLoop, _ world: World) throws(SocketError) {
    self.world = world
    start = world.now
    timer = try loop.timer { [weak self] in self?.turn() }
  }

  var result: RunResult { world.result }
  var hasEnded: Bool { world.hasEnded }
  var connectionCount: Int { world.connectionCount }
  func endpoint(of connection: ConnectionID) -> Endpoint? { world.endpoint(of: connection) }
  func isWanted(_ connection: ConnectionID) -> Bool { world.isWanted(connection) }

  /// Lets time begin, where t = 0 of `clock` is the start of the world.
  func begin(_ clock: RunClock) {
    guard self.clock == nil else { return }
    self.clock = clock
    turn()
  }

  private var present: Instant { held ?? start + ((clock?.now ?? .zero) - .zero) }
  private var held: Instant?

  /// Everything that `body` takes in happens at one instant: what one read of a socket brought came together.
  func holdingTime(_ body: () -> Void) {
    if held == nil { held = present } else { return body() }
    body()
    held = nil
  }

  /// Something from outside happens now, behind all that is due.
  func takeIn(_ body: (inout World, Instant) -> Void) {
    guard clock != nil else { return }
    let now = present
    stepUp(to: now)
    body(&world, now)
    tell()
    turn()
  }

  func finish() {
    if clock != nil { stepUp(to: present) }
    world.finish(at: max(world.now, present))
    tell()
    timer?.disarm()
  }

  private func turn() {
    // A callback of a step may take something in: that is stepped by the turn that runs.
    if isStepping || clock == nil { return }
    stepUp(to: present)
    onTurn?()
    guard let next = world.nextInstant else { return }
    timer?.arm(after: next - present)
  }

  private func stepUp(to now: Instant) {
    let wasStepping = isStepping
    isStepping = true
    defer { isStepping = wasStepping }
    var steps = 0
    while steps < RealTimeWorld.mostSteps, world.step(until: now) {
      steps += 1
      tell()
    }
  }

  private func tell() {
    let count = world.entryCount
    guard count > seen else { return }
    let entries = world.entries(from: seen)
    seen = count
    onEntries?(entries)
  }
}

/// What one side of a world says to the outside, in order. Unchecked: a world and its runner live on one loop.
final class Outbox<Element>: @unchecked Sendable {
  private var elements: [Element] = []
  private var next = 0

  func put(_ element: Element) { elements.append(element) }

  func takeFirst() -> Element? {
    guard next < elements.count else {
      elements.removeAll(keepingCapacity: true)
      next = 0
      return nil
    }
    next += 1
    return elements[next - 1]
  }
}
