import Foundation
import Testing
import Wire

/// Input that was made to hurt: it may be refused, it may not steer a terminal, leave the folder, hang or crash.
@Suite struct HostileInputTests {
  private var sample: String { get throws { try #require(Tool.samples.first { $0.hasSuffix("/one-message.chatrec") }) } }

  @Test func `the name of a plan file is no path`() throws {
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let inner = folder.appending(path: "inner")
    try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
    let plan = inner.appending(path: "plan.json")
    try Data(#"{"name":"/../../../outside","rules":[]}"#.utf8).write(to: plan)
    let result = try Tool.run(["replay", try sample, "--plan", plan.path()], in: inner)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path()) == ["inner"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: inner.path()).sorted() == ["Reports", "plan.json"])
  }

  @Test func `escapes and line breaks of an input reach no terminal`() throws {
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let scenario = folder.appending(path: "s.json")
    try Data(#"{"system":"hbcode","end":1,"\u001b[31m\nchatbench: forged\u202e":1}"#.utf8).write(to: scenario)
    let result = try Tool.run(["scenario", scenario.path()])
    #expect(result.status == 65)
    #expect(result.complaints.count == 1, "\(result.errors)")
    #expect(!result.errors.unicodeScalars.contains { $0.value == 0x1b || $0.value == 0x202e })
    #expect(result.errors.contains("\\u001b[31m\\u000achatbench: forged\\u202e"))
  }

  @Test func `a pipe in the place of a file is refused at once`() throws {
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let pipe = folder.appending(path: "pipe.json").path()
    #expect(mkfifo(pipe, 0o600) == 0)
    for words in [["scenario", pipe], ["replay", try sample, "--plan", pipe], ["replay", try sample, "--user", pipe]] {
      let result = try Tool.run(words, in: folder)
      #expect(result.status == 65, "\(words): \(result.errors)")
      #expect(result.errors.contains("is not a regular file"))
    }
  }

  @Test(arguments: ["restart,app,on=request:*,every=1,for=1ms", "suspend,app,on=frame:*,for=1ns", "epoch-jump,server,*,on=frame:*,by=9"])
  func `a rule that fires at everything comes to an end and says so`(_ rule: String) throws {
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let result = try Tool.run(["replay", try sample, "--fault", rule, "-o", "out"], in: folder)
    #expect([0, 1, 2].contains(result.status), "\(result.errors)")
    let report = try JSONReader.value([UInt8](try Data(contentsOf: folder.appending(path: "out/report.json"))))
    #expect((report["faults"]?.array?.first?["fired"]?.int ?? 0) <= 200)
  }

  @Test func `a rule that compares a field that no label has is refused with the nearest word`() throws {
    for (rule, word) in [("drop,response,run.chatOutboxSubmit,nthh=1", "nth"), ("drop,response,*,sesionId=x", "sessionId")] {
      let result = try Tool.run(["replay", try sample, "--fault", rule])
      #expect(result.status == 64, "\(result.errors)")
      #expect(result.errors.contains("did you mean \"\(word)\""), "\(result.errors)")
    }
  }

  @Test func `the trace of a kept run is shown, and an entry out of place is refused`() throws {
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    _ = try Tool.run(["replay", try sample, "-o", "out"], in: folder)
    let shown = try Tool.run(["show", "out/run.chatrun", "--json"], in: folder)
    #expect(shown.status == 0, "\(shown.errors)")
    let lines = shown.out.split(separator: "\n")
    #expect(lines.count > 100)
    for (number, line) in lines.enumerated() where number % 50 == 0 { #expect(try JSONReader.value(String(line))["i"]?.int == number) }
  }

  @Test func `a run that saw one side only gets no verdict`() throws {
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let served = try Tool.run(["serve", try sample, "--duration", "1", "-o", "kept"], in: folder)
    #expect(served.status == 0, "\(served.errors)")
    let result = try Tool.run(["report", "kept/run.chatrun"], in: folder)
    #expect(result.status == 65)
    #expect(result.errors.contains("serve"))
  }
}
