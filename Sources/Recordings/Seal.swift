internal import Storage

/// Turns a journal into a sealed recording, the only form that is handed over.
package enum Seal {
  /// Seals `journal` as `target` (default: its name without `.journal`) and then removes the journal and its side files.
  ///
  /// Refuses while a capture writes the journal, while another seals it, when `target` exists, and when the journal is
  /// damaged; the journal then stays as it is. `system` fills in what the capture did not know.
  @discardableResult
  package static func seal(
    journal: String, to target: String? = nil, system: String? = nil
  ) throws(RecordingError) -> SealedFile {
    let target = target ?? sealedPath(ofJournal: journal)
    switch try InputKind.of(journal) {
    case .database: break
    case .zip: throw RecordingError(.badData, path: journal, reason: "is sealed already")
    }
    let reader = try JournalReader(path: journal, changing: true)
    let lock: File
    let isFree: Bool
    do throws(FileError) {
      lock = try File.reading(journal + "-wal")
      isFree = try lock.tryLock()
      // Without a name it is the file of a journal that another has sealed and removed in this moment.
      guard try lock.isLinked() else { throw FileError(operation: "open", path: journal, code: 2) }
    } catch {
      throw RecordingError(reading: error, path: journal)
    }
    guard isFree else {
      throw RecordingError(.cannotWrite, path: target, reason: "\(journal) is being captured or sealed by another process")
    }
    defer { try? lock.close() }
    var facts = try reader.facts()
    facts.system = facts.system ?? system
    let writer = try RecordingWriter(path: target, facts: facts)
    do {
      if let damage = try reader.forEachFrame(upTo: .max - 1, { try writer.append($0) }) {
        throw RecordingError(.badData, path: journal, sequence: damage.sequence, reason: "not sealed, as it is damaged: \(damage.reason)")
      }
    } catch let error as RecordingError {
      throw error
    } catch {
      throw RecordingError(.badData, path: journal, reason: "\(error)")
    }
    let sealed = try writer.finish()
    // The recording is safe from here on: what is left of the journal is a nuisance, not a loss.
    do throws(FileError) {
      try? reader.close()
      for path in [journal] + JournalFile.sideFiles(of: journal) { try Files.remove(path) }
      try Files.syncFolder(of: journal)
    } catch {
      throw RecordingError(.cannotWrite, path: journal, reason: "\(target) is sealed, but the journal cannot be removed: \(error.reason)")
    }
    return sealed
  }
}
