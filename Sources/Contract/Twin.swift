import Simulation
import Wire

/// Everything that can happen to a twin.
///
/// A frame that the link delayed may arrive after `disconnected` of its connection: it is taken in like any other (its answer goes nowhere).
/// A connection that the twin closed itself brings no `disconnected`.
package enum TwinInput: Sendable {
  case connected(ConnectionID, Endpoint)
  case disconnected(ConnectionID)
  /// A frame of the client arrives; a request that must be answered with an error instead of being run says so in `refusal`.
  case received(Frame, refusal: Refusal?)
  /// The clock reaches an instant that `nextDue` named. Frames of that instant come first (SCENARIO.md 8.1).
  case due
  case fault(TwinFault)
}

/// An error that a fault rule wants the server to give; nothing is run or saved.
package struct Refusal: Hashable, Sendable {
  package var code: String
  package var message: String
  package var permanent: Bool

  package init(code: String, message: String, permanent: Bool) {
    self.code = code
    self.message = message
    self.permanent = permanent
  }
}

/// A fault at the server: a request like any other (SCENARIO.md 6).
package enum TwinFault: Hashable, Sendable {
  case restart
  /// Jumps the epoch of a lane (nil: of all) by n.
  case epochJump(lane: String?, by: Int)
  /// Forgets the stored answers by idempotency key.
  case forgetAnswers
}

/// Everything that a twin can do, in order. `send` happens now plus `after` (service time), at the twin's end of the link; a negative
/// `after` says that the frame left before the run began (SCENARIO.md 8.3).
package enum TwinEffect: Sendable {
  case send(Frame, after: Interval)
  case close(ConnectionID, code: Int, reason: String)
  /// An entry of the ledger: evidence. Kinds in `Vocabulary`.
  case note(Observation)
}

/// The reconstructed server: keeps a ledger of truth and plays stretches by the server's rules.
package protocol Twin: Sendable {
  mutating func handle(_ input: TwinInput, at now: Instant) -> [TwinEffect]
  /// The next instant at which something happens by itself; `due` is due then.
  var nextDue: Instant? { get }
  /// Called once at the end of a run: what never happened (void stretches), as notes.
  mutating func finish(at now: Instant) -> [Observation]
}

/// Feeds recorded client frames to a twin at the instants at which they arrive and collects what it sends, with the
/// instant at which each frame leaves the twin (audit 1, SCENARIO.md 5). Frames before their connection's `open` are dropped.
package enum TwinPlayback {
  package struct Sent: Sendable {
    package var frame: Frame
    package var leaves: Instant
  }

  package static func run(
    _ twin: inout any Twin, inputs: [(arrives: Instant, input: TwinInput)], until end: Instant
  ) -> [Sent] {
    var sent: [Sent] = []
    func take(_ effects: [TwinEffect], _ now: Instant) {
      for case .send(let frame, let after) in effects { sent.append(Sent(frame: frame, leaves: now + after)) }
    }
    var next = 0
    while true {
      let due = twin.nextDue ?? .never
      let arrival = next < inputs.count ? inputs[next].arrives : .never
      let now = min(due, arrival)
      if now > end || now == .never { break }
      if arrival <= due {
        take(twin.handle(inputs[next].input, at: now), now)
        next += 1
      } else {
        take(twin.handle(.due, at: now), now)
      }
    }
    return sent.enumerated().sorted { ($0.element.leaves, $0.offset) < ($1.element.leaves, $1.offset) }.map(\.element)
  }
}
