import Glibc

/// A system call on a file that failed.
package struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The call in words: `open`, `write`, `rename`, …
  package var operation: String
  package var path: String
  /// `errno` of the call.
  package var code: Int32

  package init(operation: String, path: String, code: Int32) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  /// Nothing is at that path (`ENOENT`, or a part of the path is no folder).
  package var isNotFound: Bool { code == ENOENT || code == ENOTDIR }
  /// Something is at that path already.
  package var exists: Bool { code == EEXIST }
  /// The words of the system for `code`, without path: `No space left on device`.
  package var reason: String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  package var description: String { "\(path): cannot \(operation): \(reason)" }

  /// The error of the call that has just failed.
  static func last(_ operation: String, _ path: String) -> FileError {
    FileError(operation: operation, path: path, code: errno)
  }
}
