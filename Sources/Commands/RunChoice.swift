import Catalog
import Contract
import Faults
import Recordings
import Replay
import Simulation
import Wire

/// What is replayed: a recording, compiled, or a hand-written scenario.
struct RunSubject {
  var system: ChatSystem
  var scenario: any Scenario
  /// File name without its folder: reports name no folders.
  var name: String
  /// The recorded frames; empty for a hand-written scenario.
  var frames: [Frame]
  var damage: RecordingDamage?

  /// Opens a recording, a journal, or (a name that ends in `.json`) a scenario.
  static func open(_ path: String, _ arguments: Arguments) throws -> RunSubject {
    let name = String(path.split(separator: "/").last ?? "")
    if path.hasSuffix(".json") {
      let json = try InputFile.json(path)
      let only = Catalog.systems.count == 1 ? Catalog.systems.first?.name : nil
      guard let system = arguments["system"] ?? json["system"]?.string ?? only else {
        throw CommandFailure(.badData, "\(path): a scenario names its system")
      }
      let chat: ChatSystem
      do throws(CommandFailure) { chat = try SystemChoice.named(system) } catch {
        throw CommandFailure(.badData, "\(path): system: \(error.message)")
      }
      do {
        return RunSubject(system: chat, scenario: try chat.readScenario(json), name: name, frames: [])
      } catch let error as JSONError {
        throw CommandFailure(.badData, "\(path): \(error)")
      }
    }
    let recording = try Recording.open(path)
    let (frames, damage) = try recording.frames()
    let system = try SystemChoice.of(recording, frames: frames, arguments)
    guard !frames.isEmpty else { throw CommandFailure(.badData, "\(path): holds no frame\(damage.map { " (damaged: \($0))" } ?? "")") }
    return try RunSubject(system, recording, frames, damage)
  }
}

extension RunSubject {
  /// Compiles what a recording holds.
  init(_ system: ChatSystem, _ recording: Recording, _ frames: [Frame], _ damage: RecordingDamage?) throws(CommandFailure) {
    let scenario: any Scenario
    do {
      scenario = try system.compile(frames, recording.manifest.facts.wallClockMs, try recording.hash())
    } catch let error as RecordingError {
      throw Failures.explain(error)
    } catch {
      throw CommandFailure(.badData, "\(recording.path): cannot be understood as \(system.name): \(error)")
    }
    self.init(
      system: system, scenario: scenario, name: String(recording.path.split(separator: "/").last ?? ""), frames: frames, damage: damage)
  }
}

/// The options that say how a run is made; shared by `replay`, `serve` and `drive`.
enum RunChoice {
  static let plan = Option("plan", "PLAN", "a built-in plan (see: chatbench faults) or a plan file (.json); default: none")
  static let fault = Option(
    "fault", "RULE", repeats: true, "one more rule: ACTION,TARGET,LABEL[,FIELD OP VALUE]… (see: chatbench faults)")
  static let user = Option(
    "user", "WHO", "reacting (default): waits for what it needs on screen; clock: at recorded instants or not at all; or a script (.json)")
  static let seed = Option("seed", "N", "the seed of every draw; default 1")
  static let losses = Option("without-recorded-losses", nil, "leave out what the link lost in the recorded past")

  static func settings(_ subject: RunSubject, _ arguments: Arguments) throws -> WorldSettings {
    let seed = try arguments.unsigned("seed") ?? 1
    let user = try user(subject.system, arguments)
    return WorldSettings(
      plan: try plan(subject, user, seed: seed, arguments), user: user, seed: seed,
      withoutRecordedLosses: arguments.has("without-recorded-losses"), recordingName: subject.name)
  }

  private static func plan(_ subject: RunSubject, _ user: UserMode, seed: UInt64, _ arguments: Arguments) throws -> FaultPlan {
    let name = arguments["plan"] ?? "none"
    var plan: FaultPlan
    if name.hasSuffix(".json") || name.contains("/") {
      let bytes = try InputFile.read(name)
      do throws(FaultError) {
        plan = try FaultPlan(bytes: bytes)
      } catch {
        throw CommandFailure(.badData, "\(name): \(error)")
      }
    } else {
      let facts = subject.scenario.facts
      do throws(FaultError) {
        let intents = if case .script(let script) = user { script.intents } else { facts.intents }
        plan = try BuiltInPlans.plan(name, system: subject.system, seed: seed, start: facts.start, end: facts.end, intents: intents)
      } catch {
        throw CommandFailure(.usage, "\(error)")
      }
    }
    do throws(FaultError) {
      plan = try plan.adding(arguments.all("fault"))
      try plan.check(against: subject.system)
    } catch {
      throw CommandFailure(name.hasSuffix(".json") && arguments.all("fault").isEmpty ? .badData : .usage, "\(error)")
    }
    return plan
  }

  private static func user(_ system: ChatSystem, _ arguments: Arguments) throws -> UserMode {
    switch arguments["user"] {
    case nil, "reacting": return .reacting
    case "clock": return .clock
    case let path?:
      guard path.hasSuffix(".json") else {
        throw CommandFailure(.usage, "--user wants reacting, clock or a script (.json), not “\(path)”")
      }
      let json = try InputFile.json(path)
      do throws(JSONError) {
        let script = try UserScript(json: json)
        try script.check(against: system)
        return .script(script)
      } catch {
        throw CommandFailure(.badData, "\(path): \(error)")
      }
    }
  }

  /// The command that repeats a run, as a shell takes it. Files stand without their folders: the reader knows where they are.
  static func command(_ subject: RunSubject, _ arguments: Arguments) -> String {
    var words = ["chatbench", "replay", subject.name]
    func base(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }
    if let plan = arguments["plan"] { words += ["--plan", plan.hasSuffix(".json") ? base(plan) : plan] }
    for rule in arguments.all("fault") { words += ["--fault", rule] }
    if let user = arguments["user"] { words += ["--user", base(user)] }
    if arguments.has("without-recorded-losses") { words.append("--without-recorded-losses") }
    words += ["--seed", arguments["seed"] ?? "1"]
    if arguments.has("prove") { words.append("--prove") }
    return words.map(quoted).joined(separator: " ")
  }

  /// A word for a POSIX shell.
  static func quoted(_ word: String) -> String {
    let plain = word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ","), UInt8(ascii: "="), UInt8(ascii: ":"),
        UInt8(ascii: "/"), UInt8(ascii: "+"), UInt8(ascii: "@"), UInt8(ascii: "%"):
        true
      default: false
      }
    }
    return plain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
  }
}
