import Catalog
import Contract
import Faults
import Recordings
import Wire

/// Which client system is meant: `--system`, what the recording says, or what its frames look like.
enum SystemChoice {
  static let option = Option("system", "NAME", "the client system; default: as the recording says, else by its frames")

  static func named(_ name: String) throws(CommandFailure) -> ChatSystem {
    if let system = Catalog.systems.first(where: { $0.name == name }) { return system }
    let names = Catalog.systems.map(\.name)
    let nearest = Nearest.name(to: name, among: names)
    let hint = nearest.map { "did you mean \($0)?" } ?? "known: \(names.joined(separator: ", "))"
    throw CommandFailure(.badData, "unknown system “\(name)”; \(hint)")
  }

  /// The system of a recording whose frames are given.
  static func of(_ recording: Recording, frames: [Frame], _ arguments: Arguments) throws(CommandFailure) -> ChatSystem {
    if let name = arguments["system"] { return try named(name) }
    if let name = recording.manifest.facts.system {
      do { return try named(name) } catch { throw CommandFailure(.badData, "\(recording.path): \(error.message)") }
    }
    // The dialect that understands most messages, if it understands at least one.
    var best: (system: ChatSystem, understood: Int)?
    for system in Catalog.systems {
      var labeler = system.makeLabeler()
      var understood = 0
      for frame in frames.prefix(2_000) where labeler.label(frame).role != .other { understood += 1 }
      if understood > best?.understood ?? 0 { best = (system, understood) }
    }
    guard let best else {
      throw CommandFailure(.badData, "\(recording.path): no known system speaks like this; name one with --system")
    }
    return best.system
  }
}
