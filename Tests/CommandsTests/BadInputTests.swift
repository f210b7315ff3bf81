import Foundation
import Testing
import Wire

/// One clear line, the documented status, nothing left behind: whatever is given.
@Suite struct BadInputTests {
  private func expect(_ words: [String], _ status: Int32, says parts: String..., in folder: URL? = nil) throws {
    let result = try Tool.run(words, in: folder)
    #expect(result.status == status, "\(words): \(result.errors)")
    #expect(result.complaints.count == 1, "\(words): \(result.errors)")
    for part in parts { #expect(result.errors.contains(part), "\(words): \(result.errors)") }
  }

  private var sample: String { get throws { try #require(Tool.samples.first, "no sample recording") } }

  @Test(arguments: ["list", "show", "check", "scenario", "replay", "report", "seal"])
  func `what is no recording is refused in one line by every command`(_ command: String) throws {
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let empty = folder.appending(path: "empty.chatrec").path()
    try Data().write(to: URL(filePath: empty))
    let text = folder.appending(path: "text.chatrec").path()
    try Data("a few words\n".utf8).write(to: URL(filePath: text))
    let zip = folder.appending(path: "zip.chatrec").path()
    try Data([0x50, 0x4b, 3, 4] + Array(repeating: 0, count: 60)).write(to: URL(filePath: zip))
    try expect([command, empty], 65, says: empty)
    try expect([command, folder.path()], 65, says: "directory")
    try expect([command, text], 65, says: text)
    try expect([command, zip], 65, says: zip)
    try expect([command, folder.appending(path: "none.chatrec").path()], 66, says: "no such file")
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path()).sorted()
    #expect(left == ["empty.chatrec", "text.chatrec", "zip.chatrec"])
  }

  @Test func `a cut recording gives its valid part and names the place`() throws {
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let whole = try Data(contentsOf: URL(filePath: sample))
    let cut = folder.appending(path: "cut.chatrec")
    try whole.prefix(whole.count * 2 / 3).write(to: cut)
    for command in ["show", "check", "scenario"] {
      let result = try Tool.run([command, cut.path()])
      #expect(result.status == 65, "\(command): \(result.errors)")
      #expect(result.complaints.count == 1, "\(command): \(result.errors)")
      #expect(result.errors.contains(cut.path()), "\(command): \(result.errors)")
    }
  }

  @Test func `a user script with a gesture that is none is refused with file and place`() throws {
    let sample = try sample
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let script = folder.appending(path: "user.json").path()
    for (text, place) in [
      (
        #"[{"t":1,"do":"refresh"},{"t":2,"do":"tapStatusBr"}]"#,
        #"[1].do: hbcode has no gesture "tapStatusBr"; did you mean "tapStatusBar"?"#
      ),
      (#"[{"t":1,"do":"drag","path":[[100,0],[50,0]]}]"#, "[0].path[1]: instants must grow"), (#"{"t":1}"#, "a user script is an array"),
    ] {
      try Data(text.utf8).write(to: URL(filePath: script))
      try expect(["replay", sample, "--user", script], 65, says: script, place)
    }
    try expect(["replay", sample, "--user", "reactive"], 64, says: "reacting, clock or a script")
    try expect(["replay", sample, "--fault", "drag,user,at=1s,for=1s,whle=dragging"], 64, says: "only rules on frames have fields")
  }

  @Test func `plans and rules that are none are refused with the nearest name`() throws {
    let sample = try sample
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let out = folder.appending(path: "out").path()
    try expect(["replay", sample, "--plan", "droped-receipts", "-o", out], 64, says: "dropped-receipts")
    try expect(["replay", sample, "--fault", "drp,response,*", "-o", out], 64, says: "drop")
    try expect(["replay", sample, "--fault", "drop,response,run.chatOutboxSubmt", "-o", out], 64, says: "run.chatOutboxSubmit")
    try expect(["replay", sample, "--fault", "drop,response,*,while=draging", "-o", out], 64, says: "while")
    let plan = folder.appending(path: "plan.json").path()
    try Data("{\"name\":\"p\"".utf8).write(to: URL(filePath: plan))
    try expect(["replay", sample, "--plan", plan, "-o", out], 65, says: plan)
    try expect(["replay", sample, "--plan", folder.appending(path: "none.json").path(), "-o", out], 66, says: "no such file")
    try expect(["replay", sample, "--seed", "-1", "-o", out], 64, says: "--seed")
    try expect(["replay", sample, "--system", "hbcod", "-o", out], 65, says: "hbcode")
    #expect(!FileManager.default.fileExists(atPath: out))
  }

  @Test func `a busy port and an address of other machines are refused before anything is written`() throws {
    let folder = try Tool.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        #expect(bind(listener, $0, length) == 0)
        #expect(listen(listener, 1) == 0)
        #expect(getsockname(listener, $0, &length) == 0)
      }
    }
    let port = UInt16(bigEndian: address.sin_port)
    try expect(["capture", "--upstream", "ws://127.0.0.1:9", "--listen", "127.0.0.1:\(port)"], 69, says: "\(port)", in: folder)
    try expect(["capture", "--upstream", "ws://127.0.0.1:9", "--listen", "0.0.0.0:0"], 64, says: "0.0.0.0", in: folder)
    try expect(["capture", "--upstream", "ftp://127.0.0.1"], 64, says: "ftp", in: folder)
    try expect(["capture"], 64, says: "--upstream", in: folder)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path()) == [])
  }

  @Test func `mistyped commands and options suggest what was meant`() throws {
    try expect(["replya"], 64, says: "replay")
    try expect(["replay"], 64, says: "REC")
    try expect(["replay", "x", "--plam", "none"], 64, says: "--plan")
    try expect(["replay", "x", "y"], 64, says: "y")
    try expect(["list", "--json=1", "x"], 64, says: "--json")
    try expect(["show", "x", "--frame"], 64, says: "--frame")
  }
}
