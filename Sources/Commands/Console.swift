import Glibc

/// The two streams of the process. Data goes to standard output, words to standard error (DESIGN.md 8). A closed pipe is a
/// quiet success; any other failed write ends the command with status 74.
package final class Console {
  private var buffer: [UInt8] = []
  /// Whether standard error is a terminal: progress is shown there only.
  package let isInteractive: Bool
  /// Whether standard output may carry colour: a terminal, and `NO_COLOR` is not set.
  package let usesColour: Bool
  /// Set when the reader of standard output went away; everything after is dropped.
  private var isClosed = false

  package init() {
    signal(SIGPIPE, SIG_IGN)
    // A limit on file sizes is an error of the write, not the end of the process.
    signal(SIGXFSZ, SIG_IGN)
    isInteractive = isatty(2) == 1
    usesColour = isatty(1) == 1 && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
    buffer.reserveCapacity(Console.flushAt * 2)
  }

  private static let flushAt = 64 * 1024

  /// Several lines of our own words.
  package func page(_ text: String) throws(CommandFailure) {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) { try self.line(String(line)) }
  }

  /// A line of data on standard output. What could steer a terminal (control characters, changes of direction) is written as JSON
  /// escapes it, so that JSON stays JSON.
  package func line(_ text: String = "") throws(CommandFailure) {
    buffer.append(contentsOf: Console.harmless(text).utf8)
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= Console.flushAt { try flush() }
  }

  /// Bytes of data on standard output.
  package func bytes(_ bytes: [UInt8]) throws(CommandFailure) {
    buffer.append(contentsOf: bytes)
    if buffer.count >= Console.flushAt { try flush() }
  }

  package func flush() throws(CommandFailure) {
    let pending = buffer
    buffer.removeAll(keepingCapacity: true)
    if isClosed { return }
    var sent = 0
    while sent < pending.count {
      let n = pending.withUnsafeBytes { write(1, $0.baseAddress! + sent, pending.count - sent) }
      if n >= 0 {
        sent += n
      } else if errno == EPIPE {
        isClosed = true
        return
      } else if errno != EINTR {
        throw CommandFailure(.cannotWrite, "cannot write to standard output: \(String(cString: strerror(errno)))")
      }
    }
  }

  /// Replaces the status line of a terminal; empty text clears it.
  package func status(_ text: String) { put("\r\u{1b}[K" + text) }

  /// A line of words on standard error; failures are of no use to anybody and are ignored.
  package func say(_ text: String) { put(Console.harmless(text) + "\n") }

  /// One line without control characters and changes of direction.
  private static func harmless(_ text: String) -> String {
    func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar.value {
      case 0..<0x20, 0x7f..<0xa0, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069, 0xfeff: true
      default: false
      }
    }
    if !text.unicodeScalars.contains(where: isHarmful) { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      if isHarmful(scalar) {
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private func put(_ text: String) {
    let bytes = Array(text.utf8)
    var sent = 0
    while sent < bytes.count {
      let n = bytes.withUnsafeBytes { write(2, $0.baseAddress! + sent, bytes.count - sent) }
      if n > 0 { sent += n } else if n < 0, errno == EINTR { continue } else { return }
    }
  }
}
