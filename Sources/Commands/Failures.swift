import Live
import Proxy
import Recordings
import Sockets
import Storage
import Wire

/// The one place where errors of the modules become an exit status and a sentence.
enum Failures {
  static func explain(_ error: any Error) -> CommandFailure {
    switch error {
    case let failure as CommandFailure: failure
    case let error as RecordingError:
      switch error.kind {
      case .noSuchInput: CommandFailure(.noInput, error.description)
      case .badData, .newerVersion: CommandFailure(.badData, error.description)
      case .cannotWrite: CommandFailure(.cannotCreate, error.description)
      }
    case let error as CaptureError:
      switch error {
      case .invalidUpstream, .notLoopback: CommandFailure(.usage, error.description)
      case .sockets: CommandFailure(.unreachable, error.description)
      }
    case let error as LiveError:
      switch error {
      case .notUsable, .notLoopback, .invalidURL: CommandFailure(.usage, error.description)
      case .sockets: CommandFailure(.unreachable, error.description)
      case .run: CommandFailure(.badData, error.description)
      }
    case let error as SocketError: CommandFailure(.unreachable, error.description)
    case let error as FileError: CommandFailure(error.isNotFound ? .noInput : .cannotWrite, error.description)
    case let error as JSONError: CommandFailure(.badData, error.description)
    default: CommandFailure(.ownFault, "unexpected: \(error)")
    }
  }
}

/// Small text files that a person wrote: plans, scripts, scenarios.
enum InputFile {
  /// 64 MiB: far above any plan, below what would hurt.
  private static let limit = 64 << 20

  static func read(_ path: String) throws(CommandFailure) -> [UInt8] {
    let kind: Files.Kind?
    do throws(FileError) { kind = try Files.kind(of: path) } catch { throw CommandFailure(.badData, "\(error)") }
    switch kind {
    case nil: throw CommandFailure(.noInput, "\(path): no such file")
    case .directory: throw CommandFailure(.badData, "\(path): is a directory")
    case .other: throw CommandFailure(.badData, "\(path): is not a regular file")
    case .regular: break
    }
    do throws(FileError) { return try Files.read(path, limit: limit) } catch { throw CommandFailure(.badData, "\(error)") }
  }

  /// The JSON of a file; the error names file and place.
  static func json(_ path: String) throws(CommandFailure) -> JSON {
    let bytes = try read(path)
    if bytes.isEmpty { throw CommandFailure(.badData, "\(path): is empty") }
    do { return try JSONReader.value(bytes) } catch { throw CommandFailure(.badData, "\(path): \(error)") }
  }
}
