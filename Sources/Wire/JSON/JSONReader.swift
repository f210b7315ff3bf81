import CSimdjson

/// Parses complete JSON texts with simdjson and walks its tape. Keep one per owner: it reuses its buffers.
///
/// simdjson validates UTF-8, keeps the order of members and repeated keys, and refuses numbers that neither 64 bits nor a
/// double can hold; such payloads stay raw bytes with their owner.
package final class JSONReader {
  private let parser: OpaquePointer

  package init() {
    guard let parser = cb_json_parser_new() else { fatalError("out of memory for a JSON parser") }
    self.parser = parser
  }

  deinit { cb_json_parser_free(parser) }

  /// The value of `bytes`, which hold one JSON text and white space. Throws `JSONError`.
  package func parse(_ bytes: [UInt8]) throws(JSONError) -> JSON {
    try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in try parse(buffer) }
  }

  package func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) -> JSON {
    var tape: UnsafePointer<UInt64>?
    var length = 0
    var strings: UnsafePointer<UInt8>?
    let code = cb_json_parse(parser, bytes.baseAddress, bytes.count, &tape, &length, &strings)
    guard code == 0, let tape, let strings else {
      throw JSONError(problem: "not valid JSON (\(String(cString: cb_json_error_message(code))))")
    }
    var walk = TapeWalk(tape: tape, strings: strings, position: 1)
    return walk.value()
  }

  /// One-off parse; cold code only.
  package static func value(_ bytes: [UInt8]) throws(JSONError) -> JSON { try JSONReader().parse(bytes) }
  package static func value(_ text: String) throws(JSONError) -> JSON { try JSONReader().parse(Array(text.utf8)) }
}

/// simdjson 3.0's tape: one word a node, type in the high byte; numbers take a second word; containers know their end and count.
private struct TapeWalk {
  let tape: UnsafePointer<UInt64>
  let strings: UnsafePointer<UInt8>
  var position: Int

  private static let payloadMask: UInt64 = 0x00ff_ffff_ffff_ffff

  mutating func value() -> JSON {
    let word = tape[position]
    position += 1
    switch UInt8(word >> 56) {
    case UInt8(ascii: "{"):
      // Bits 32…55 hold the count, saturated at 2^24 − 1: used to reserve only.
      var members: [JSONObject.Member] = []
      members.reserveCapacity(Int((word >> 32) & 0xff_ffff))
      while UInt8(tape[position] >> 56) != UInt8(ascii: "}") {
        let name = text(tape[position])
        position += 1
        members.append(JSONObject.Member(name: name, value: value()))
      }
      position += 1
      return .object(JSONObject(members))
    case UInt8(ascii: "["):
      var elements: [JSON] = []
      elements.reserveCapacity(Int((word >> 32) & 0xff_ffff))
      while UInt8(tape[position] >> 56) != UInt8(ascii: "]") { elements.append(value()) }
      position += 1
      return .array(elements)
    case UInt8(ascii: "\""): return .string(text(word))
    case UInt8(ascii: "l"):
      position += 1
      return .integer(Int64(bitPattern: tape[position - 1]))
    case UInt8(ascii: "u"):
      position += 1
      return .unsigned(tape[position - 1])
    case UInt8(ascii: "d"):
      position += 1
      return .double(Double(bitPattern: tape[position - 1]))
    case UInt8(ascii: "t"): return .bool(true)
    case UInt8(ascii: "f"): return .bool(false)
    default: return .null
    }
  }

  private func text(_ word: UInt64) -> String {
    let start = strings + Int(word & TapeWalk.payloadMask)
    let length = Int(UnsafeRawPointer(start).loadUnaligned(as: UInt32.self))
    return String(decoding: UnsafeBufferPointer(start: start + 4, count: length), as: UTF8.self)
  }
}
