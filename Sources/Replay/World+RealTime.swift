import Contract
import Faults
import Simulation
import Wire

/// The same world on real time: a runner steps it up to the present and hands in what comes from outside. Instants are those at
/// which things are due, so that a late runner shows in no entry but those of the outside.
extension World {
  /// When something happens next by itself; nil when the run is over.
  package var nextInstant: Instant? { isOver ? nil : queue.nextInstant }
  package var hasEnded: Bool { isOver }
  /// Entries of the trace from `index` on.
  package func entries(from index: Int) -> ArraySlice<TraceEntry> { recorder.entries[min(index, recorder.count)...] }
  package var entryCount: Int { recorder.count }

  /// Carries out the next event that is due at or before `instant`; false when there is none.
  package mutating func step(until instant: Instant) -> Bool {
    guard !isOver, let next = queue.nextInstant, next <= instant, let (at, event) = queue.pop() else { return false }
    now = max(now, at)
    carryOut(event)
    return true
  }

  /// A client outside does these things. Due events come first: the caller has stepped up to `instant`.
  package mutating func perform(_ effects: [Effect], at instant: Instant) {
    takeIn(at: instant) { world in
      for effect in effects {
        world.apply(effect)
        world.act()
      }
    }
  }

  /// A frame of a server outside comes in on a connection of the run.
  package mutating func deliver(_ frame: Frame, at instant: Instant) {
    takeIn(at: instant) { $0.transmit(frame, .in) }
  }

  /// A connection that the core opened is made. False when the core wants it no more.
  package mutating func made(_ connection: ConnectionID, at instant: Instant) -> Bool {
    guard isWanted(connection) else { return false }
    takeIn(at: instant) { world in
      world.connections[connection.number - 1].isMade = true
      if world.isReachable(connection.number) {
        world.queue.push(.connectionUp(connection.number), at: world.now, eventClass: World.linkRank)
      }
    }
    return true
  }

  /// A connection is gone. Nothing happens when the run knows that already.
  package mutating func lost(_ connection: ConnectionID, code: Int, who: String, at instant: Instant) {
    guard isKnown(connection) else { return }
    takeIn(at: instant) { $0.breakConnection(connection.number, code: code, who: who, [:]) }
  }

  /// Connections that the core has opened so far, whatever became of them; numbered from 1.
  package var connectionCount: Int { connections.count }
  package func endpoint(of connection: ConnectionID) -> Endpoint? {
    isKnown(connection) ? connections[connection.number - 1].endpoint : nil
  }
  /// Whether the core still waits for this connection to be made.
  package func isWanted(_ connection: ConnectionID) -> Bool {
    isKnown(connection) && connections[connection.number - 1].state == .opening && !connections[connection.number - 1].isMade
  }

  /// The user outside has done all: rules act no more, and everything must come to rest.
  package mutating func becomeQuiet(at instant: Instant) { takeIn(at: instant) { $0.checkQuiet() } }

  /// Ends the run: the twin says what never happened. A run that was not quiet yet has a quiet phase of no length.
  package mutating func finish(at instant: Instant) {
    guard !isOver else { return }
    now = max(now, instant)
    if rulesAct {
      busyUntil = min(busyUntil, now)
      checkQuiet()
    }
    dispatch(.end)
  }

  private mutating func takeIn(at instant: Instant, _ body: (inout World) -> Void) {
    guard !isOver else { return }
    now = max(now, instant)
    body(&self)
    act()
    // A user who waits looks at the screen with the next step.
    wakeUser()
  }
}
