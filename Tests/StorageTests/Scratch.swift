import Glibc

@testable import Storage

/// A folder of one test, removed with its owner.
final class Scratch {
  let folder: String

  init() {
    var template = Array("/tmp/storage-test-XXXXXX".utf8CString)
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

  func mode(_ name: String) -> UInt32 {
    var status = stat()
    return stat(path(name), &status) == 0 ? status.st_mode & 0o777 : 0
  }
}
