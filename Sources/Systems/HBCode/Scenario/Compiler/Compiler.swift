import Contract
import HBCodeDialect
import Simulation
import Wire

/// Why frames make no scenario: one line, with the frame if one is to blame.
package struct CompileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Sequence of the frame in the recording, nil when it is none in particular.
  package var frame: Int?
  package var problem: String

  package init(frame: Int? = nil, problem: String) {
    self.frame = frame
    self.problem = problem
  }

  package var description: String { frame.map { "frame \($0): \(problem)" } ?? problem }
}

/// Turns the frames of a recording into a scenario (SCENARIO.md 3, steps 1 to 12 and the conditions that need no twin).
///
/// A pure function: equal frames give equal scenarios. Frames are those that the client's side saw, in order of their sequence. What
/// is not understood is left out with a note; only frames that no clock can carry, or that hold no message at all, are refused.
package enum Compiler {
  /// - Parameters:
  ///   - wallClockMilliseconds: epoch milliseconds of t = 0.
  ///   - origin: SHA-256 of the recording.
  package static func compile(
    _ frames: [Frame], wallClockMilliseconds: Int64, origin: String
  ) throws(CompileError) -> HBCodeScenario {
    guard (0...largestSafeInteger).contains(wallClockMilliseconds) else {
      throw CompileError(problem: "the wall clock of t = 0, \(wallClockMilliseconds) ms, is no time of this epoch")
    }
    var compilation = Compilation(traffic: try Traffic(frames), wall: wallClockMilliseconds)
    compilation.readSightings()
    compilation.findOperations()
    compilation.findRuns()
    compilation.cutRuns()
    compilation.readOverlays()
    compilation.readHistories()
    compilation.readOutboxesFromElsewhere()
    compilation.readSessionFacts()
    compilation.findIntents()
    compilation.findRestartPauses()
    compilation.readLink()
    return try compilation.scenario(origin: origin)
  }
}

/// The work of one compilation; each step reads what the steps before it found.
struct Compilation {
  var traffic: Traffic
  /// Epoch milliseconds of t = 0.
  let wall: Int64
  var sessions = OrderedMap<String, SessionSightings>()
  var operations = OrderedMap<String, Operation>()
  /// In order of finding; sorted by begin at the end.
  var stretches: [Stretch] = []
  var service: [ServiceRule] = []
  var conditions: [LinkCondition] = []
  var intents: [Intent] = []
  var book = IdentifierBook()
  /// Intent by idempotency key of the mutation that it made, and by operation.
  var intentOfKey: [String: String] = [:]
  var intentOfOperation: [String: String] = [:]
  /// Recorded stops that ended a run: the key of the stop by stretch id, until intents have their names.
  var stopOfStretch: [String: String] = [:]
  var notes: [Note] = []

  init(traffic: Traffic, wall: Int64) {
    self.traffic = traffic
    self.wall = wall
    notes = traffic.notes
  }

  mutating func note(_ what: String, _ frames: [Int] = [], _ basis: Basis = .derived) {
    if notes.count < Compilation.mostNotes { notes.append(Note(what, frames: frames, basis: basis)) }
  }

  /// Notes beyond this say nothing new.
  private static let mostNotes = 10_000
  /// SCENARIO.md 8.10.
  static let mostStretches = 1_000_000
  /// Frames that leave a desktop at one instant reach a recorder within this (SCENARIO.md 3, step 9).
  static let sameInstant = Interval.milliseconds(1)
  /// What a desktop has taken in it has told its phones within this.
  static let told = Interval.seconds(1)

  /// The instant of a stamp, nil when it lies further from the recording than a clock carries.
  func instant(ofStamp milliseconds: Int64) -> Instant? {
    let (difference, overflow) = milliseconds.subtractingReportingOverflow(wall)
    guard !overflow, difference.magnitude <= UInt64(Fields.longestTime / 1_000_000) else { return nil }
    return Instant(nanoseconds: difference * 1_000_000)
  }

  /// The stamp that a clock shows at an instant.
  func stamp(_ instant: Instant) -> Int64 {
    let (quotient, remainder) = instant.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return wall + quotient - (remainder < 0 ? 1 : 0)
  }

  mutating func scenario(origin: String) throws(CompileError) -> HBCodeScenario {
    guard stretches.count <= Compilation.mostStretches else {
      throw CompileError(problem: "\(stretches.count) stretches; at most \(Compilation.mostStretches)")
    }
    var facts = ScenarioFacts(
      origin: origin, wallClockMilliseconds: wall, start: .zero, end: traffic.end, intents: intents, conditions: conditions,
      outages: outages(), notes: notes)
    facts.oneWay = traffic.delays
    let desktops = desktopStates()
    let client = clientStart()
    facts.notes = notes
    return HBCodeScenario(
      facts: facts, clientStart: client, desktops: desktops, tape: orderedStretches(), service: service, book: book)
  }

  /// By recorded begin, with names that stand once.
  private func orderedStretches() -> [Stretch] {
    var seen = Set<String>()
    let ordered = stretches.enumerated().sorted {
      let (a, b) = ($0.element.recordedBegin ?? .zero, $1.element.recordedBegin ?? .zero)
      return a != b ? a < b : $0.offset < $1.offset
    }
    return ordered.map { _, stretch in
      var stretch = stretch
      if !seen.insert(stretch.id).inserted {
        var number = 2
        while !seen.insert("\(stretch.id)#\(number)").inserted { number += 1 }
        stretch.id += "#\(number)"
      }
      return stretch
    }
  }
}
