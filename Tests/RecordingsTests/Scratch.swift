import Glibc
import Simulation
import Storage
import Wire

@testable import Recordings

/// A folder of one test, removed with its owner.
final class Scratch {
  let folder: String

  init() {
    var template = Array("/tmp/recordings-test-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { fatalError("no folder for a test") }
    folder = String(cString: made)
  }

  deinit {
    for name in names { unlink("\(folder)/\(name)") }
    rmdir(folder)
  }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// What is in the folder, sorted.
  var names: [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var found: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { found.append(name) }
    }
    return found.sorted()
  }

  func bytes(_ name: String) throws -> [UInt8] { try Files.read(path(name), limit: 1 << 30) }

  @discardableResult
  func put(_ bytes: [UInt8], _ name: String) throws -> String {
    try Files.write(bytes, to: path(name), replacing: true)
    return path(name)
  }
}

let testFacts = CaptureFacts(toolVersion: "1.2.3", system: "hbcode", wallClockMs: 1_700_000_000_000, upstream: "ws://relay:1/x")

func frame(
  _ payload: [UInt8], at ns: Int64 = 0, connection: Int = 1, _ direction: Direction = .in, kind: FrameKind = .text,
  answers: Int? = nil, flags: JSONObject = [:]
) -> Frame {
  Frame(
    at: Instant(nanoseconds: ns), connection: ConnectionID(connection), direction: direction, kind: kind, payload: payload,
    answers: answers, flags: flags)
}

func frame(_ text: String, at ns: Int64 = 0, connection: Int = 1, _ direction: Direction = .in, kind: FrameKind = .text) -> Frame {
  frame(Array(text.utf8), at: ns, connection: connection, direction, kind: kind)
}

/// `count` bytes that do not compress, equal for equal seeds.
func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
  return (0..<count).map { _ in
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return UInt8(truncatingIfNeeded: state >> 32)
  }
}

/// Frames of every shape that a payload and an envelope can have.
let oddFrames: [Frame] = [
  frame("{\"url\":\"ws://h/\",\"headers\":[[\"Host\",\"h\"]],\"status\":101}", kind: .open),
  frame("{\"event\":\"session:updated\"}", at: 1_200_345_678, connection: 2),
  frame("", at: 1_200_345_678),
  frame("\n", at: 5),
  frame("{\"seq\":1}\n{\"seq\":2,\"len\":3}\n\n", at: 4, .out),
  frame([0, 1, 255, 10, 13, 0], at: 6, kind: .binary),
  frame(Array(0...255), at: 7, .out, kind: .ping),
  frame("später 🙂\u{2028}", at: 8),
  frame(Array("later".utf8), at: .max, kind: FrameKind(rawValue: "quic.\"stream\"\n"), answers: 3),
  frame(
    Array("flags".utf8), at: -7, connection: 0, flags: ["fragments": 3, "deflated": true, "x-new": ["a": [1, nil, "ü\n"]]]),
  frame(noise(Limits.inlinePayload), at: 9, kind: .binary),
  frame(noise(Limits.inlinePayload + 1), at: 10, kind: .binary),
  frame(noise(Limits.inlinePayload + 1), at: 11, .out, kind: .binary),
  frame("{\"user\":\"drag-began\"}", at: 12, .out, kind: .mark),
  frame([0xff, 0x0a], at: 13, .out, kind: .mark),
]

func numbered(_ frames: [Frame]) -> [Frame] {
  frames.enumerated().map { index, frame in
    var frame = frame
    frame.sequence = index + 1
    return frame
  }
}

/// Seals frames into `name`.
@discardableResult
func seal(
  _ frames: [Frame], _ scratch: Scratch, _ name: String = "a.chatrec", facts: CaptureFacts = testFacts,
  segmentBytes: Int = Limits.segment
) throws -> SealedFile {
  let writer = try RecordingWriter(path: scratch.path(name), facts: facts, segmentBytes: segmentBytes)
  for frame in frames { try writer.append(frame) }
  return try writer.finish()
}

/// The error that `body` throws, as its one line.
func line(_ body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch {
    return "\(error)"
  }
}
