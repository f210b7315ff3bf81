import Foundation
import Testing
import Wire

/// The recordings of the archive, through the command as a person runs it.
@Suite struct SampleTests {
  static let plans = [
    "none", "dropped-receipts", "lost-submits", "epoch-jumps", "drag-held-updates", "late-snapshots", "flaky-network", "app-restart",
    "desktop-restart", "everything",
  ]
  static let files = ["report.html", "report.txt", "report.json", "junit.xml", "run.chatrun"]

  @Test func `the archive holds at least eight sealed recordings, each with its story`() throws {
    #expect(Tool.samples.count >= 8)
    for sample in Tool.samples {
      let story = sample.replacing(".chatrec", with: ".md")
      #expect(FileManager.default.fileExists(atPath: story), "\(story) is missing")
      let listed = try Tool.run(["list", sample])
      #expect(listed.out.contains("  sealed"), "\(listed.out)")
      let checked = try Tool.run(["check", sample])
      #expect(checked.status == 0, "\(checked.out)\(checked.errors)")
    }
  }

  @Test(arguments: Tool.samples)
  func `each sample means what it recorded`(_ sample: String) throws {
    let audited = try Tool.run(["scenario", sample, "--audit", "--json"])
    #expect(audited.status == 0, "\(audited.out)")
    let audit = try JSONReader.value(audited.out)
    #expect(audit["differences"] == [], "\(audited.out)")
    #expect(audit["fidelity"]?.string?.hasPrefix("faithful") == true)
    #expect((audit["serverFrames"]?.int ?? 0) > 0)
    #expect((audit["clientFrames"]?.int ?? 0) > 0)
    #expect((audit["bothFrames"]?.int ?? 0) > (audit["clientFrames"]?.int ?? 0))
  }

  @Test(arguments: Tool.samples, plans)
  func `equal runs give equal bytes, whatever locale, time zone, hash seed and folder`(_ sample: String, _ plan: String) throws {
    var runs: [[Data]] = []
    for (number, environment) in [
      ["LANG": "C", "LC_ALL": "C", "TZ": "UTC", "COLUMNS": "80"],
      ["LANG": "de_DE.UTF-8", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu", "COLUMNS": "7", "NO_COLOR": "1"],
    ].enumerated() {
      let folder = try Tool.scratch()
      defer { try? FileManager.default.removeItem(at: folder) }
      let words = ["replay", sample, "--plan", plan, "--seed", "3", "-o", "out-\(number)"] + (number == 0 ? ["--prove"] : [])
      let result = try Tool.run(words, in: folder, environment: environment)
      #expect(result.status == 0 || result.status == 2, "\(plan): \(result.out)\(result.errors)")
      if number == 0 { #expect(result.out.contains("Proof: run twice: equal."), "\(result.out)") }
      // The proof is part of what a report says: the trace alone is compared with the run that was not proved.
      let again = try Tool.run(["replay", sample, "--plan", plan, "--seed", "3", "-o", "plain"], in: folder, environment: environment)
      #expect(again.status == 0 || again.status == 2, "\(again.errors)")
      runs.append(try SampleTests.files.map { try Data(contentsOf: folder.appending(path: "plain/\($0)")) })
    }
    for (name, (first, second)) in zip(SampleTests.files, zip(runs[0], runs[1])) { #expect(first == second, "\(plan): \(name) differs") }
  }

  /// The report of one replay, as other tools read it.
  private func report(_ sample: String, _ words: [String]) throws -> JSON {
    let path = try #require(Tool.samples.first { $0.hasSuffix("/\(sample).chatrec") })
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let result = try Tool.run(["replay", path, "-o", "out"] + words, in: folder)
    #expect(result.status == 0, "\(result.out)\(result.errors)")
    return try JSONReader.value([UInt8](try Data(contentsOf: folder.appending(path: "out/report.json"))))
  }

  @Test func `HB-FIG-06 a lost submit is resent once under its key and saved once, a lost receipt is not resent`() throws {
    let lost = try report("one-message", ["--plan", "lost-submits"])
    #expect(lost["schema"]?.int == 1)
    #expect(lost["verdict"] == "held")
    let message = try #require(lost["messages"]?.array?.first)
    #expect(message["attempts"]?.int == 2)
    #expect(message["distinctKeys"]?.int == 1)
    #expect(message["saves"]?.int == 1)
    let dropped = try report("one-message", ["--plan", "dropped-receipts"])
    #expect(dropped["verdict"] == "held")
    let other = try #require(dropped["messages"]?.array?.first)
    #expect(other["attempts"]?.int == 1)
    #expect(other["saves"]?.int == 1)
    #expect((dropped["faults"]?.array ?? []).contains { ($0["fired"]?.int ?? 0) > 0 })
  }

  @Test func `report.json keeps the least contract that other tools read`() throws {
    let report = try report("two-chats", ["--plan", "dropped-receipts"])
    for name in ["schema", "verdict", "token", "claims", "messages", "faults", "figures", "divergences"] {
      #expect(report[name] != nil, "\(name) is missing")
    }
    for claim in try #require(report["claims"]?.array) {
      for name in ["id", "kind", "verdict", "exercised", "evidence"] { #expect(claim[name] != nil, "claims: \(name) is missing") }
      #expect(["held", "broken", "untested", "unknown"].contains(claim["verdict"]?.string ?? ""))
      #expect(["safety", "liveness"].contains(claim["kind"]?.string ?? ""))
    }
    let messages = try #require(report["messages"]?.array)
    #expect(messages.count == 4)
    for message in messages {
      for name in ["id", "operationIds", "text", "attempts", "distinctKeys", "saves", "fate", "clientClaim", "faults"] {
        #expect(message[name] != nil, "messages: \(name) is missing")
      }
    }
    for fault in try #require(report["faults"]?.array) {
      for name in ["rule", "candidates", "fired"] { #expect(fault[name] != nil, "faults: \(name) is missing") }
    }
  }

  @Test func `a kept run is judged again to the same report`() throws {
    let path = try #require(Tool.samples.first)
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    _ = try Tool.run(["replay", path, "--plan", "lost-submits", "-o", "out"], in: folder)
    let again = try Tool.run(["report", "out/run.chatrun", "-o", "again"], in: folder)
    #expect(again.status == 0 || again.status == 2, "\(again.errors)")
    for name in SampleTests.files.dropLast() {
      let first = try Data(contentsOf: folder.appending(path: "out/\(name)"))
      let second = try Data(contentsOf: folder.appending(path: "again/\(name)"))
      #expect(first == second, "\(name) differs")
    }
  }

  @Test func `a scenario that is printed, read and printed again gives equal bytes and replays alike`() throws {
    for sample in Tool.samples {
      let folder = try Tool.scratch()
      defer { try? FileManager.default.removeItem(at: folder) }
      let printed = try Tool.run(["scenario", sample, "--json"])
      #expect(printed.status == 0, "\(printed.errors)")
      let file = folder.appending(path: "past.json")
      try Data(printed.out.utf8).write(to: file)
      #expect(try Tool.run(["scenario", file.path(), "--json"]).out == printed.out)
    }
  }
}
