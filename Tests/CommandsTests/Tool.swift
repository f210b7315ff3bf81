import Foundation

/// The built command, run as a process of its own, as a person runs it.
enum Tool {
  struct Result {
    var status: Int32
    var out: String
    var errors: String
    /// The complaints among the words: lines that begin with the tool's name.
    var complaints: [String] { errors.split(separator: "\n").map(String.init).filter { $0.hasPrefix("chatbench: ") } }
  }

  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Beside the test bundle: both come from one build.
  static let path: String = {
    let beside = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "chatbench")
    if FileManager.default.isExecutableFile(atPath: beside.path()) { return beside.path() }
    return root.appending(path: ".build/debug/chatbench").path()
  }()

  static func run(_ words: [String], in folder: URL? = nil, environment: [String: String] = [:]) throws -> Result {
    let process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = words
    process.currentDirectoryURL = folder ?? root
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    // Through files: a pipe that nobody drains would stop a process with much to say.
    let place = try scratch()
    let outputs = try ["out", "err"].map { name in
      let url = place.appending(path: name)
      try Data().write(to: url)
      return try FileHandle(forWritingTo: url)
    }
    process.standardOutput = outputs[0]
    process.standardError = outputs[1]
    try process.run()
    process.waitUntilExit()
    defer { try? FileManager.default.removeItem(at: place) }
    func text(_ name: String) throws -> String { String(decoding: try Data(contentsOf: place.appending(path: name)), as: UTF8.self) }
    return Result(status: process.terminationStatus, out: try text("out"), errors: try text("err"))
  }

  /// A folder of its own for one test.
  static func scratch() throws -> URL {
    let url = FileManager.default.temporaryDirectory.appending(path: "chatbench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return url
  }

  /// The recordings of the archive.
  static var samples: [String] {
    let folder = root.appending(path: "Recordings")
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path())) ?? []
    return names.filter { $0.hasSuffix(".chatrec") }.sorted().map { folder.appending(path: $0).path() }
  }
}
