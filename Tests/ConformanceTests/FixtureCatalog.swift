import Catalog
import Contract
import Foundation
import Testing

/// One fixture file: a subfolder of the fixture folder is a system, each JSON file below it one test.
struct FixtureFile: Sendable, CustomTestStringConvertible {
  var system: String
  /// Path below the system's folder.
  var name: String
  var path: String

  var testDescription: String { "\(system)/\(name)" }
}

/// Finds the fixture files: `CHATBENCH_FIXTURES`, else `../shared/fixtures` where it exists, else the project's own copies.
enum FixtureCatalog {
  static let here = URL(filePath: #filePath).deletingLastPathComponent()

  static let folder: URL = {
    if let named = ProcessInfo.processInfo.environment["CHATBENCH_FIXTURES"], !named.isEmpty { return URL(filePath: named) }
    let shared = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appending(path: "shared/fixtures")
    return FileManager.default.fileExists(atPath: shared.path()) ? shared : here.appending(path: "Fixtures")
  }()

  /// Files that belong to areas which a later version brings, as `system/name`, one a line; `#` starts a comment.
  static let pending: Set<String> = {
    let text = (try? String(contentsOf: here.appending(path: "pending.txt"), encoding: .utf8)) ?? ""
    return Set(text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty && !$0.hasPrefix("#") })
  }()

  static let all: [FixtureFile] = {
    guard let walk = FileManager.default.enumerator(atPath: folder.path()) else { return [] }
    var files: [FixtureFile] = []
    for case let relative as String in walk {
      let parts = relative.split(separator: "/", maxSplits: 1).map(String.init)
      guard parts.count == 2, relative.hasSuffix(".json") || relative.hasSuffix(".jsonl") else { continue }
      files.append(FixtureFile(system: parts[0], name: parts[1], path: folder.appending(path: relative).path()))
    }
    return files.sorted { ($0.system, $0.name) < ($1.system, $1.name) }
  }()
}

@Suite("Conformance")
struct ConformanceSuite {
  @Test func `the fixture folder is not empty, and pending files exist`() {
    #expect(!FixtureCatalog.all.isEmpty, "no fixture in \(FixtureCatalog.folder.path())")
    let known = Set(Catalog.systems.map(\.name))
    let files = FixtureCatalog.all.filter { known.contains($0.system) }
    #expect(!files.isEmpty, "no fixture of a system in the catalog")
    print("conformance: \(FixtureCatalog.all.count) files in \(FixtureCatalog.folder.path())")
    for file in FixtureCatalog.all where FixtureCatalog.pending.contains(file.testDescription) { print("pending: \(file.testDescription)") }
  }

  @Test("Conformance", arguments: FixtureCatalog.all)
  func file(_ file: FixtureFile) throws {
    guard Catalog.systems.contains(where: { $0.name == file.system }) else {
      try Test.cancel("\(file.system) is not in the catalog")
    }
    if FixtureCatalog.pending.contains(file.testDescription) { try Test.cancel("pending: \(file.testDescription)") }
    guard let runner = fixtureRunners[file.system] else {
      Issue.record("no fixture runner for \(file.system)")
      return
    }
    try runner(file)
  }
}

/// How the fixtures of each system are run.
let fixtureRunners: [String: @Sendable (FixtureFile) throws -> Void] = ["hbcode": { try HBCodeFixtures.run($0) }]
