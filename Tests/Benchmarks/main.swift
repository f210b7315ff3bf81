import CSimdjson
import Catalog
import ClientKit
import Contract
import Faults
import Oracles
import Recordings
import Replay
import Simulation
import Wire

/// Figures of `make bench` that need the modules: the whole replay (core, twin, link, trace, every oracle) against simdjson's bare
/// parse of the payloads that the run moved, the real-time factor, an idle virtual hour, and what the virtual screen reads and writes.
/// One JSON line a figure.
struct Benchmark {
  static func best(of rounds: Int, _ body: () throws -> Void) rethrows -> Double {
    var best = Double.infinity
    for _ in 0..<rounds {
      let clock = ContinuousClock()
      let duration = try clock.measure(body)
      best = min(best, Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18)
    }
    return best
  }

  static func bareParse(_ payloads: [[UInt8]], _ parser: OpaquePointer) -> Int {
    var words = 0
    for payload in payloads {
      var tape: UnsafePointer<UInt64>?
      var length = 0
      var strings: UnsafePointer<UInt8>?
      if cb_json_parse(parser, payload, payload.count, &tape, &length, &strings) == 0 { words += length }
    }
    return words
  }

  static func replay(_ path: String) throws {
    let recording = try Recording.open(path)
    let frames = try recording.frames().frames
    guard let system = Catalog.systems.first(where: { $0.name == recording.manifest.facts.system ?? "" }) ?? Catalog.systems.first else {
      return
    }
    let scenario = try system.compile(frames, recording.manifest.facts.wallClockMs, try recording.hash())
    let run = Run(system, scenario, WorldSettings())
    let result = try run.execute()
    let payloads = result.trace.entries.compactMap(\.payload)
    let bytes = payloads.reduce(0) { $0 + $1.count }
    guard let parser = cb_json_parser_new() else { return }
    defer { cb_json_parser_free(parser) }
    let repeats = max(1, 4_000_000 / max(1, bytes))
    var words = 0
    let parse = best(of: 7) { for _ in 0..<repeats { words &+= bareParse(payloads, parser) } } / Double(repeats)
    let world = try best(of: 7) { _ = try run.execute() }
    let whole = try best(of: 7) {
      let result = try run.execute()
      _ = Judge.judge(result.trace, claims: system.claims)
    }
    let span = Double(result.trace.header.end.nanoseconds) * 1e-9
    let name = path.split(separator: "/").last.map(String.init) ?? path
    emit([
      "figure": "replay", "recording": .string(name), "frames": .int(payloads.count), "bytes": .int(bytes),
      "entries": .int(result.trace.entries.count), "parseSeconds": .double(parse), "worldSeconds": .double(world),
      "wholeSeconds": .double(whole), "timesParse": .double(whole / parse), "worldTimesParse": .double(world / parse),
      "realTimeFactor": .double(span / whole),
    ])
  }

  /// Replays and judges a recording `rounds` times and prints nothing: what a profiler should look at.
  static func profile(_ path: String, rounds: Int) throws {
    let recording = try Recording.open(path)
    guard let system = Catalog.systems.first(where: { $0.name == recording.manifest.facts.system ?? "" }) ?? Catalog.systems.first else {
      return
    }
    let scenario = try system.compile(try recording.frames().frames, recording.manifest.facts.wallClockMs, try recording.hash())
    let run = Run(system, scenario, WorldSettings())
    for _ in 0..<rounds { _ = Judge.judge(try run.execute().trace, claims: system.claims) }
  }

  static func idleHour() throws {
    for system in Catalog.systems {
      guard let demonstration = system.demonstration else { continue }
      var scenario = try system.readScenario(try JSONReader.value(demonstration.scenario))
      // The first intent opens a chat; then nobody does anything for an hour.
      scenario.facts.intents = Array(scenario.facts.intents.prefix(1))
      scenario.facts.end = .zero + .seconds(3_600)
      let run = Run(system, scenario, WorldSettings())
      var entries = 0
      let seconds = try best(of: 5) { entries = try run.execute().trace.entries.count }
      emit(["figure": "idleHour", "system": .string(system.name), "entries": .int(entries), "seconds": .double(seconds)])
    }
  }

  /// Counts, not times: 200 visible rectangles evenly over a list, every row updated once, and 20 self-sizing updates of the last row of a
  /// list at its bottom.
  static func geometry(_ count: Int) {
    let random = SeededRandom(seed: 11).fork("chat")
    var cells = (0..<count).map { Cell(id: "\($0)", content: "", height: 44 + 22 * Double(random.index(below: 6, at: $0))) }
    var index = HeightIndex(cells.map(\.height))
    let device = Device(width: 390, height: 844, insetTop: 47, insetBottom: 159)
    let queries = 200
    var (probes, found) = (0, 0)
    for query in 0..<queries {
      let offset = (index.total - device.height) * Double(query) / Double(queries - 1)
      let sight = index.rows(from: offset, to: offset + device.height)
      probes += sight.probes
      found += sight.rows.count
    }
    let writes = (0..<count).reduce(0) { sum, position in sum + (index.set(500, at: position) ?? 0) }

    var view = Viewport(name: "list", device: device)
    view.mount(at: .zero)
    view.apply(cells, listVersion: 0, held: false, pin: .bottom, at: .zero)
    let (measured, updates) = (view.measurings, 20)
    for update in 1...updates {
      cells[count - 1].content = "\(update)"
      cells[count - 1].height += 22
      view.update(cells)
      view.reconfigure(view.changedVisible(in: cells), of: cells, listVersion: update, held: false, pin: .bottom, at: .zero)
    }
    emit([
      "figure": "geometry", "rows": .int(count), "queries": .int(queries), "probes": .int(probes), "found": .int(found),
      "writesPerUpdate": .double(Double(writes) / Double(count)), "updates": .int(updates), "measured": .int(view.measurings - measured),
    ])
  }

  static func emit(_ figure: JSON) { print(JSONWriter.text(figure)) }
}

let arguments = CommandLine.arguments.dropFirst()
if arguments.count == 3, arguments.first == "--profile", let rounds = arguments.last.flatMap({ Int($0) }) {
  try Benchmark.profile(arguments[arguments.startIndex + 1], rounds: rounds)
} else {
  for path in arguments { try Benchmark.replay(path) }
  try Benchmark.idleHour()
  for count in [800, 100_000] { Benchmark.geometry(count) }
}
