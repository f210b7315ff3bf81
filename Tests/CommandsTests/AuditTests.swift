import Foundation
import Recordings
import Simulation
import Testing
import Wire

/// The gate before a replay: what the audits find, by the commands that make them.
@Suite struct AuditGateTests {
  /// The sample with one event of the server recorded twice, which no desktop says: missing in audits 1 and 3.
  private func diverging(in folder: URL) throws -> (path: String, frame: Int) {
    let recording = try Recording.open(try #require(Tool.samples.first { $0.hasSuffix("/one-message.chatrec") }))
    var frames = try recording.frames().frames
    let index = try #require(
      frames.firstIndex { $0.direction == .in && String(decoding: $0.payload, as: UTF8.self).contains("chat:run-started") })
    frames.insert(frames[index], at: index)
    let path = folder.appending(path: "twice.chatrec").path()
    let writer = try RecordingWriter(path: path, facts: recording.manifest.facts)
    for number in frames.indices {
      frames[number].sequence = number + 1
      _ = try writer.append(frames[number])
    }
    _ = try writer.finish()
    return (path, index + 2)
  }

  @Test func `check, scenario --audit and replay name what differs, each before it says anything that rests on it`() throws {
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let (path, frame) = try diverging(in: folder)

    let checked = try Tool.run(["check", path])
    #expect(checked.status == 1)
    let lines = checked.out.split(separator: "\n").map(String.init)
    #expect(lines.count == 3, "\(checked.out)")
    #expect(lines[0].contains("audit 1 missing: event chat:run-started, frame \(frame)"), "\(checked.out)")
    #expect(lines[1].contains("audit 3 missing: event chat:run-started, frame \(frame)"), "\(checked.out)")
    #expect(lines[2].hasSuffix("no violation, diverges in 2 places"), "\(checked.out)")
    let listed = try Tool.run(["check", path, "--json"]).out.split(separator: "\n").map { try JSONReader.value(String($0)) }
    #expect(listed.map { $0["audit"] } == [1, 3])
    #expect(listed.allSatisfy { $0["file"]?.string == path && $0["frame"]?.int == frame && $0["kind"] == "missing" })

    let audited = try Tool.run(["scenario", path, "--audit"])
    #expect(audited.status == 1)
    #expect(audited.out.contains("audit: diverges in 2 places"))
    let audit = try JSONReader.value(try Tool.run(["scenario", path, "--audit", "--json"]).out)
    #expect(audit["fidelity"] == "diverges")
    #expect(audit["differences"]?.array?.map { $0["audit"] } == [1, 3])
    for name in ["serverFrames", "clientFrames", "bothFrames"] { #expect((audit[name]?.int ?? 0) > 0) }

    let replayed = try Tool.run(["replay", path, "-o", folder.appending(path: "out").path()])
    #expect(replayed.status == 0, "\(replayed.errors)")
    #expect(replayed.out.hasPrefix("Diverged. "), "\(replayed.out)")
    let report = try JSONReader.value([UInt8](try Data(contentsOf: folder.appending(path: "out/report.json"))))
    #expect(report["audit"] == "diverges in 2 places")
    #expect(report["divergences"]?.array?.map { $0["audit"] } == [1, 3])
    // A kept run says the same again.
    let again = try Tool.run(["report", "out/run.chatrun", "-o", "again"], in: folder)
    #expect(again.status == 0, "\(again.errors)")
    for name in ["report.html", "report.txt", "report.json", "junit.xml"] {
      #expect(
        try Data(contentsOf: folder.appending(path: "out/\(name)")) == Data(contentsOf: folder.appending(path: "again/\(name)")), "\(name)")
    }
  }

  @Test func `replay --require-faithful ends with 2 before the run when an audit differs, and runs when none does`() throws {
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let (path, _) = try diverging(in: folder)
    let refused = try Tool.run(["replay", path, "--require-faithful", "-o", folder.appending(path: "out").path()])
    #expect(refused.status == 2)
    #expect(refused.out.isEmpty)
    #expect(refused.complaints.last?.contains("not faithful to the recording (2 differences)") == true, "\(refused.errors)")
    #expect(refused.errors.contains("audit 3 missing"), "\(refused.errors)")
    #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "out").path()))
    let sample = try #require(Tool.samples.first)
    let run = try Tool.run(["replay", sample, "--require-faithful", "-o", folder.appending(path: "out").path()])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.out.hasPrefix("Held: "), "\(run.out)")
  }

  @Test func `a recording that says nothing is checked and not audited, and one that cannot be understood is bad data`() throws {
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let recording = try Recording.open(try #require(Tool.samples.first))
    for (name, count, status) in [("none", 0, 0), ("months", 1, 65)] as [(String, Int, Int32)] {
      let path = folder.appending(path: "\(name).chatrec").path()
      let writer = try RecordingWriter(path: path, facts: recording.manifest.facts)
      for var frame in try recording.frames().frames.prefix(count) {
        frame.at = Instant(nanoseconds: 90 * 86_400 * 1_000_000_000)
        _ = try writer.append(frame)
      }
      _ = try writer.finish()
      let result = try Tool.run(["check", path])
      #expect(result.status == status, "\(name): \(result.out)\(result.errors)")
      #expect(result.out.contains("no violation"), "\(name): \(result.out)\(result.errors)")
      #expect(result.out.contains("not audited") == (status != 0))
    }
  }
}
