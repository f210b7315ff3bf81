import Proxy
import Simulation
import Testing

/// One WebSocket frame as bytes.
private func frame(
  _ opcode: UInt8, _ payload: [UInt8] = [], final: Bool = true, reserved: UInt8 = 0, key: [UInt8]? = nil, lengthBytes: Int? = nil
) -> [UInt8] {
  var bytes = [(final ? 0x80 : 0) | reserved << 4 | opcode]
  let natural = payload.count < 126 ? 0 : payload.count < 65_536 ? 2 : 8
  let width = lengthBytes ?? natural
  bytes.append((key == nil ? 0 : 0x80) | (width == 0 ? UInt8(payload.count) : width == 2 ? 126 : 127))
  for index in (0..<width).reversed() { bytes.append(UInt8(truncatingIfNeeded: payload.count >> (8 * index))) }
  guard let key else { return bytes + payload }
  return bytes + key + payload.enumerated().map { $0.element ^ key[$0.offset % 4] }
}

private func scan(_ parts: [[UInt8]], limit: Int = 1 << 20, deflate: Bool = false, end: Bool = false) -> [WebSocketSighting] {
  var scanner = WebSocketScanner(messageLimit: limit, allowsDeflate: deflate)
  var sightings: [WebSocketSighting] = []
  for part in parts { part.withUnsafeBytes { scanner.feed($0, into: &sightings) } }
  if end { scanner.end(into: &sightings) }
  return sightings
}

private func message(_ payload: [UInt8], text: Bool = true, fragments: Int = 1, deflated: Bool = false, cut: Bool = false)
  -> WebSocketSighting
{
  .message(
    WebSocketMessage(
      isText: text, payload: payload, length: payload.count, fragments: fragments, isDeflated: deflated, isCut: cut))
}

@Suite struct ScannerTests {
  private let key: [UInt8] = [0x12, 0xf4, 0x56, 0x9a]

  @Test func `every split of a stream gives the same sightings`() {
    let long = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let stream =
      frame(1, Array("héllo".utf8), key: key) + frame(1, [], key: key) + frame(2, long, final: false, key: key)
      + frame(9, [1, 2, 3], key: key) + frame(0, [], final: false) + frame(10, [4]) + frame(0, Array(long[..<130]), key: [0, 0, 0, 0])
      + frame(8, [0x0f, 0xa1] + Array("bye".utf8), key: key)
    let expected: [WebSocketSighting] = [
      message(Array("héllo".utf8)), message([]), .ping([1, 2, 3]), .pong([4]),
      message(long + long[..<130], text: false, fragments: 3), .close(code: 4001, reason: "bye"),
    ]
    #expect(scan([stream]) == expected)
    #expect(scan(stream.map { [$0] }) == expected)
    for split in 0...stream.count {
      #expect(scan([Array(stream[..<split]), Array(stream[split...])]) == expected, "split at \(split)")
    }
  }

  @Test(arguments: [0, 1, 7, 8, 9, 125, 126, 127, 65_535, 65_536, 70_001])
  func `lengths at the borders of their forms are read, masked and not`(length: Int) {
    let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    #expect(scan([frame(2, payload, key: key) + frame(2, payload)]) == [message(payload, text: false), message(payload, text: false)])
  }

  @Test func `a length in a longer form than needed is read`() {
    #expect(scan([frame(1, [65], lengthBytes: 8) + frame(1, [66], lengthBytes: 2)]) == [message([65]), message([66])])
  }

  @Test func `a close without a code is 1005`() { #expect(scan([frame(8)]) == [.close(code: 1005, reason: "")]) }

  @Test func `after a close other control frames are still read`() {
    #expect(scan([frame(8, [3, 232]) + frame(9)]) == [.close(code: 1000, reason: ""), .ping([])])
  }

  @Test func `a compressed message is told and left as it is`() {
    #expect(scan([frame(1, [1, 2], reserved: 4)], deflate: true) == [message([1, 2], deflated: true)])
  }

  @Test func `a message above the limit is kept up to it and its length is told`() {
    let sightings = scan([frame(2, [1, 2, 3, 4, 5], final: false, key: key) + frame(0, [6, 7], key: key)], limit: 4)
    #expect(
      sightings == [
        .message(WebSocketMessage(isText: false, payload: [1, 2, 3, 4], length: 7, fragments: 2, isDeflated: false, isCut: false))
      ])
  }

  @Test func `a message that the end cuts is kept as far as it came`() {
    let whole = frame(1, Array("hello".utf8), key: key)
    #expect(scan([Array(whole.dropLast(2))], end: true) == [message(Array("hel".utf8), cut: true)])
    #expect(scan([whole], end: true) == [message(Array("hello".utf8))])
  }

  @Test(
    arguments: [
      (frame(3), "the reserved opcode 3"), (frame(7), "the reserved opcode 7"), (frame(11), "the reserved opcode 11"),
      (frame(15), "the reserved opcode 15"), (frame(0), "a continuation without a message"),
      (frame(9, final: false), "a fragmented control frame"),
      (frame(9, [UInt8](repeating: 0, count: 126)), "a control frame of 126 bytes"), (frame(8, [3]), "a close frame of 1 byte"),
      (frame(1, reserved: 4), "reserved bits (4) that no agreed extension uses"),
      (frame(1, reserved: 1), "reserved bits (1) that no agreed extension uses"),
      ([0x82, 0x7f, 0x80, 0, 0, 0, 0, 0, 0, 0] as [UInt8], "a length above 2^63"),
    ] as [([UInt8], String)])
  func `invalid framing ends the reading and says where and why`(bytes: [UInt8], problem: String) {
    let good = frame(1, [65])
    let stream = good + bytes + frame(1, [66])
    let expected: [WebSocketSighting] = [message([65]), .invalid(offset: good.count, problem: problem)]
    #expect(scan([stream]) == expected)
    #expect(scan(stream.map { [$0] }) == expected)
  }

  @Test func `a new message within a message keeps what had come of the first`() {
    #expect(
      scan([frame(1, [65], final: false) + frame(1, [66])])
        == [message([65], fragments: 1, cut: true), .invalid(offset: 3, problem: "a new message within a message")])
  }

  @Test func `bytes after invalid framing are counted`() {
    var scanner = WebSocketScanner(messageLimit: 10, allowsDeflate: false)
    var sightings: [WebSocketSighting] = []
    (frame(3) + [1, 2, 3]).withUnsafeBytes { scanner.feed($0, into: &sightings) }
    [4, 5].withUnsafeBufferPointer { scanner.feed(UnsafeRawBufferPointer($0), into: &sightings) }
    #expect(scanner.isOpaque)
    #expect(scanner.opaqueCount == 3 + 2 * MemoryLayout<Int>.size)
  }

  @Test func `random bytes never trap`() {
    let random = SeededRandom(seed: 11)
    for round in 0..<300 {
      let fork = random.fork("bytes", String(round))
      let bytes = (0..<200).map { UInt8(truncatingIfNeeded: fork.bits(at: $0)) }
      #expect(scan([bytes], limit: 64, end: true) == scan(bytes.map { [$0] }, limit: 64, end: true))
    }
  }
}
