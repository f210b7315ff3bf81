import Simulation
import Testing
import Wire

@testable import Recordings

@Suite struct FrameCodecTests {
  private func decode(_ bytes: [UInt8]) throws(FrameCodecError) -> [Frame] {
    var decoder = FrameDecoder(bytes, reader: JSONReader())
    var frames: [Frame] = []
    while let stored = try decoder.next() { frames.append(stored.frame) }
    return frames
  }

  @Test func `the short way and the long way read the same`() throws {
    for frame in numbered(oddFrames) {
      var lines: [UInt8] = []
      FrameCodec.append(frame, to: &lines)
      #expect(try decode(lines) == [frame])
      // A space makes the spelling another one.
      #expect(try decode([UInt8(ascii: "{"), UInt8(ascii: " ")] + lines.dropFirst()) == [frame])
    }
  }

  @Test(arguments: [Int64.min, .min + 1, -1_000_000_000_000_000_000, -1, 0, 1, 999_999_999_999_999_999, 1_000_000_000_000_000_000, .max])
  func `every instant survives`(ns: Int64) throws {
    let at = numbered([frame("x", at: ns)])
    var lines: [UInt8] = []
    FrameCodec.append(at[0], to: &lines)
    #expect(try decode(lines) == at)
  }

  @Test(arguments: ["01", "+1", "1.5", "1e0x", "--1", "9223372036854775808", "99999999999999999999", "", "null", "\"1\""])
  func `what is no integer is no number`(text: String) {
    for name in ["seq", "t", "conn", "len"] {
      let fields = ["seq", "t", "conn", "len"].map { "\"\($0)\":\($0 == name ? text : "1")" }
      let line = "{\(fields[0]),\(fields[1]),\(fields[2]),\"dir\":\"in\",\"kind\":\"a\",\(fields[3])}\nx\n"
      #expect(throws: FrameCodecError.self) { try decode(Array(line.utf8)) }
    }
  }

  @Test func `an integer may be spelled as another number`() throws {
    let line = #"{"seq":1.0,"t":1e3,"conn":1,"dir":"in","kind":"a","len":1}"# + "\nx\n"
    let read = try decode(Array(line.utf8))
    #expect(read == numbered([frame("x", at: 1_000, kind: FrameKind(rawValue: "a"))]))
  }

  @Test func `changed bytes give frames or an error, never a crash`() throws {
    var lines: [UInt8] = []
    for frame in numbered(oddFrames) where frame.payload.count < 1_000 { FrameCodec.append(frame, to: &lines) }
    let random = SeededRandom(seed: 20_260_101)
    var draws = 0
    func draw(_ count: Int) -> Int {
      draws += 1
      return random.index(below: count, at: draws)
    }
    var read = 0
    for _ in 0..<1_000 {
      var bytes = lines
      for _ in 0...draw(4) {
        let place = draw(bytes.count)
        switch draw(4) {
        case 0: bytes[place] = UInt8(draw(256))
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(bytes[draw(bytes.count)], at: place)
        default: bytes.removeSubrange(place..<min(bytes.count, place + 1 + draw(40)))
        }
      }
      if (try? decode(bytes)) != nil { read += 1 }
    }
    // Some changes lie in payloads, most do not.
    #expect((1..<700).contains(read))
  }
}
