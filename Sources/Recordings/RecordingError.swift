package import Storage

/// Why a recording, a journal or a run cannot be read or written. Carries the facts; `description` is the one line.
package struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Kind: Hashable, Sendable {
    /// Nothing readable is at the path (exit status 66).
    case noSuchInput
    /// What is there is not what it should be (65).
    case badData
    /// The output cannot be made (73).
    case cannotWrite
    /// The file is of a later format version than this program reads (65).
    case newerVersion
  }

  package var kind: Kind
  package var path: String
  /// The member of the container, where it is about one.
  package var member: String?
  /// The frame, where it is about one.
  package var sequence: Int?
  /// Bytes from the start of the member's plain content, or of the file when no member is named.
  package var offset: Int?
  /// What is wrong, in words that can follow the path.
  package var reason: String

  package init(
    _ kind: Kind, path: String, member: String? = nil, sequence: Int? = nil, offset: Int? = nil, reason: String
  ) {
    self.kind = kind
    self.path = path
    self.member = member
    self.sequence = sequence
    self.offset = offset
    self.reason = reason
  }

  package var description: String {
    singleLine("\(path): \(reason)\(placeInWords(member: member, sequence: sequence, offset: offset))")
  }
}

/// Where and why the frames (or trace lines) of a damaged or cut file end. All before it are whole and verified.
package struct RecordingDamage: Hashable, Sendable, CustomStringConvertible {
  /// The member in which the damage lies; nil where it is the container or the journal.
  package var member: String?
  /// The first sequence (frames) or line number (traces) that is lost; nil when nothing of them is.
  package var sequence: Int?
  /// Bytes from the start of the member's plain content, where known.
  package var offset: Int?
  package var reason: String

  package init(member: String? = nil, sequence: Int? = nil, offset: Int? = nil, reason: String) {
    self.member = member
    self.sequence = sequence
    self.offset = offset
    self.reason = reason
  }

  package var description: String {
    singleLine("damaged\(placeInWords(member: member, sequence: sequence, offset: offset)): \(reason)")
  }
}

private func placeInWords(member: String?, sequence: Int?, offset: Int?) -> String {
  var parts: [String] = []
  if let member { parts.append("in \(member)") }
  if let offset { parts.append("at byte \(offset)") }
  if let sequence { parts.append("from number \(sequence) on") }
  return parts.isEmpty ? "" : " (" + parts.joined(separator: ", ") + ")"
}

/// Control characters of paths and foreign messages must not break the line.
private func singleLine(_ text: String) -> String {
  guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else { return text }
  return String(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? " " : Character($0) })
}

extension RecordingError {
  /// A file that cannot be read.
  package init(reading error: FileError, path: String) {
    self.init(
      .noSuchInput, path: path, reason: error.isNotFound ? "no such file" : "cannot \(error.operation): \(error.reason)")
  }

  /// A file that cannot be written.
  package init(writing error: FileError, path: String) {
    self.init(.cannotWrite, path: path, reason: error.exists ? "exists already" : "cannot \(error.operation): \(error.reason)")
  }

  init(writing error: SQLiteError) {
    self.init(.cannotWrite, path: error.path, reason: error.message + " (SQLite error \(error.extendedCode))")
  }

  init(reading error: SQLiteError) {
    self.init(
      error.isDamage ? .badData : .noSuchInput, path: error.path, reason: error.message + " (SQLite error \(error.extendedCode))")
  }
}
