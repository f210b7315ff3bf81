import Testing

@Suite struct HelpTests {
  static let commands = [
    "capture", "list", "show", "check", "seal", "scenario", "replay", "report", "serve", "drive", "demo", "systems", "faults",
  ]

  @Test func `the overview lists every command and every exit status`() throws {
    let result = try Tool.run(["help"])
    #expect(result.status == 0)
    for name in HelpTests.commands {
      #expect(result.out.contains("\n  \(name) "), "\(name) is missing")
    }
    for status in [0, 1, 2, 64, 65, 66, 69, 70, 73, 74, 130] { #expect(result.out.contains("\n  \(status) "), "\(status) is missing") }
    #expect(try Tool.run(["--version"]).out == "chatbench 0.1.0\n")
  }

  @Test(arguments: commands)
  func `each command explains itself within 96 columns, with an example`(_ name: String) throws {
    let page = try Tool.run(["help", name])
    #expect(page.status == 0)
    #expect(page.out == (try Tool.run([name, "--help"])).out)
    #expect(page.out.contains("usage: chatbench \(name)"))
    #expect(page.out.contains("example"))
    let lines = page.out.split(separator: "\n")
    let examples = lines.firstIndex { $0.hasPrefix("example") } ?? lines.endIndex
    for line in lines[..<examples] { #expect(line.count <= 110, "\(line)") }
  }

  @Test func `no command at all is a usage error that shows the overview`() throws {
    let result = try Tool.run([])
    #expect(result.status == 64)
    #expect(result.errors.contains("commands:"))
    #expect(result.out.isEmpty)
  }
}
