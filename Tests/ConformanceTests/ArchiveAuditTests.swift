import Catalog
import Contract
import Foundation
import Recordings
import Replay
import Testing
import Wire

/// The recordings of the archive, by the audits alone (SCENARIO.md 5).
@Suite struct ArchiveAuditTests {
  static let recordings: [String] = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let folder = root.appending(path: "Recordings")
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path())) ?? []
    return names.filter { $0.hasSuffix(".chatrec") }.sorted().map { folder.appending(path: $0).path() }
  }()

  @Test func `there are recordings`() { #expect(!ArchiveAuditTests.recordings.isEmpty) }

  @Test(arguments: ArchiveAuditTests.recordings)
  func `twin, core and both together reproduce each recording, with every frame compared`(_ path: String) throws {
    let recording = try Recording.open(path)
    let (frames, damage) = try recording.frames()
    #expect(damage == nil)
    let system = try #require(Catalog.systems.first { $0.name == recording.manifest.facts.system })
    let scenario = try system.compile(frames, recording.manifest.facts.wallClockMs, try recording.hash())
    let audit = Audit.run(system, scenario, frames)
    #expect(audit.differences == [])
    #expect(audit.doubtful.isEmpty)
    let messages = frames.filter { $0.kind == .text }
    #expect(audit.serverFrames == messages.count { $0.direction == .in })
    #expect(audit.clientFrames == messages.count { $0.direction == .out })
    // Answers to rule-timed requests sample another instant.
    let samples = system.normalForm(frames).count { $0.isSample }
    #expect(audit.bothFrames == messages.count - samples)
    // Most of what is recorded is compared in the third.
    #expect(audit.bothFrames * 4 > messages.count * 3)
  }
}
