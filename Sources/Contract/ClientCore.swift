import Simulation
import Wire

/// Where a connection goes: origin-form target, for example `/v1/desktops/desk-1`.
package struct Endpoint: Hashable, Sendable {
  package var target: String
  package init(_ target: String) { self.target = target }
}

/// A timer of the core; the name says its purpose and object (`check:ses-01`). Arming an armed timer moves it.
package struct TimerID: Hashable, Sendable {
  package var name: String
  package init(_ name: String) { self.name = name }
}

/// What happens to the process of the app.
package enum Lifecycle: String, Hashable, Sendable, CaseIterable {
  /// First input of every core, also after a restart.
  case launched
  case foreground
  case background
  /// The process gets no inputs until `resumed`; timers that fell due fire then, in due order.
  case suspended
  case resumed
  case memoryPressure
}

/// Everything that can happen to a client core. Inputs say what happened, never what to do.
package enum Input: Sendable {
  /// A connection that the core opened is usable, or is gone. The core's own `close` is not answered.
  case connection(ConnectionID, up: Bool)
  case received(Frame)
  case fired(TimerID)
  case user(Gesture)
  /// A tick of the display link, which runs while the core wants it (`Effect.displayLink`).
  case displayFrame
  /// A fault at the screen.
  case screen(ScreenFault)
  case lifecycle(Lifecycle)
  /// The wall clock of the device steps by this much; the monotonic clock does not.
  case wallClockStepped(by: Interval)
}

/// Everything that a client core can do, in order.
package enum Effect: Sendable {
  /// Opens a connection under a number that the core has not used before. `connection(_, up: true)` follows when it is usable.
  case open(ConnectionID, Endpoint)
  case close(ConnectionID, code: Int)
  case send(Frame)
  case arm(TimerID, at: Instant)
  case disarm(TimerID)
  /// Writes a value of the store that survives restarts.
  case store(String, [UInt8])
  case note(Observation)
  /// Turns the display link on or off. The first tick comes one frame after it was turned on, and then one each frame
  /// (`DisplayLink.frame`), unless a fault skips it. Turning on what is on changes nothing.
  case displayLink(Bool)
  /// What the virtual screen did.
  case screen(ScreenRecord)
}

/// A thing that a core or a twin says for the trace. The common kinds and their fields are listed in `Vocabulary`.
package struct Observation: Hashable, Sendable {
  package var kind: String
  package var fields: JSONObject

  package init(_ kind: String, _ fields: JSONObject = [:]) {
    self.kind = kind
    self.fields = fields
  }
}

/// A headless client. Equal histories give equal effects; nothing waits or asks the time.
package protocol ClientCore: Sendable {
  mutating func handle(_ input: Input, at now: Instant) -> [Effect]
  /// Whether the screen, as this client shows it now, lets the user make this gesture.
  func premise(of gesture: Gesture) -> Premise
  /// The client states that hold now, of those that the system lists (`ChatSystem.states`), for `while=`.
  func holds(state: String) -> Bool
}

/// Values that survive a restart of the app.
package struct Store: Hashable, Sendable {
  package private(set) var values: [String: [UInt8]]
  package init(_ values: [String: [UInt8]] = [:]) { self.values = values }
  package subscript(key: String) -> [UInt8]? {
    get { values[key] }
    set { values[key] = newValue }
  }
}

/// Draws for waits: the k-th wait of purpose P at object X takes the k-th draw of the fork (P, X).
package enum Draws: Sendable, Hashable {
  case seeded(SeededRandom)
  /// Every wait takes this u (clamped into its band): tests and fixtures.
  case fixed(Double)
  /// Recorded draws per purpose first (audit 3), then the seed.
  case recorded([String: [Double]], then: SeededRandom)

  /// The u of the k-th wait (k from 0), evenly from `band`.
  package func u(_ purpose: String, _ object: String, _ k: Int, in band: ClosedRange<Double>) -> Double {
    switch self {
    case .fixed(let u): return min(max(u, band.lowerBound), band.upperBound)
    case .seeded(let random): return Draws.drawn(random, purpose, object, k, band)
    case .recorded(let draws, let random):
      if let list = draws[purpose + ":" + object] ?? draws[purpose], k < list.count {
        return min(max(list[k], band.lowerBound), band.upperBound)
      }
      return Draws.drawn(random, purpose, object, k, band)
    }
  }

  private static func drawn(
    _ random: SeededRandom, _ purpose: String, _ object: String, _ k: Int, _ band: ClosedRange<Double>
  ) -> Double {
    band.lowerBound + (band.upperBound - band.lowerBound) * random.fork(purpose, object).unit(at: k)
  }
}

/// What a core is made with.
package struct CoreSettings: Sendable {
  /// `Scenario.clientStart`: what the client already had at t = 0. Ignored parts of it are those that the store overrides.
  package var start: JSON
  /// Epoch milliseconds of t = 0 as the device shows them, steps of the wall clock before this launch included.
  package var wallClockMilliseconds: Int64
  package var draws: Draws
  /// The number of this launch, from 0.
  package var launch: Int

  package init(start: JSON, wallClockMilliseconds: Int64, draws: Draws, launch: Int = 0) {
    self.start = start
    self.wallClockMilliseconds = wallClockMilliseconds
    self.draws = draws
    self.launch = launch
  }
}
