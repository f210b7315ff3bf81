import CArchive

/// A call of libarchive that did not give `ARCHIVE_OK`: warnings count, since a bad checksum is only a warning there.
package struct ArchiveError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The call in words: `open`, `read header`, …
  package var operation: String
  /// libarchive's result: −10 retry, −20 warning, −25 failed, −30 fatal; 0 where the refusal is ours.
  package var code: Int32
  /// `errno` as libarchive saw it, or 0.
  package var systemCode: Int32
  package var message: String
  package var path: String

  package init(operation: String, code: Int32 = 0, systemCode: Int32 = 0, message: String, path: String) {
    self.operation = operation
    self.code = code
    self.systemCode = systemCode
    self.message = message
    self.path = path
  }

  package var description: String { "\(path): cannot \(operation): \(message)" }

  /// Every result of libarchive passes here.
  static func check(_ code: Int32, _ archive: OpaquePointer?, _ operation: String, _ path: String) throws(ArchiveError) {
    guard code != ARCHIVE_OK else { return }
    // The message can be a null pointer.
    let message = archive_error_string(archive).map { String(cString: $0) } ?? "libarchive error \(code)"
    throw ArchiveError(
      operation: operation, code: code, systemCode: archive_errno(archive), message: message, path: path)
  }
}
