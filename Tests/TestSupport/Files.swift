import Glibc

/// Files that tests read: fixtures and goldens. Nothing here is shared with the product.
package enum TestFiles {
  /// The folder of the shared fixtures: `CHATBENCH_FIXTURES`, else the first `fixtures` or `shared/fixtures` above this file.
  /// Nil when there is none: a test that needs it must say so.
  package static func fixtures(from file: String = #filePath) -> String? {
    if let place = getenv("CHATBENCH_FIXTURES") { return String(cString: place) }
    var folder = file
    while let cut = folder.lastIndex(of: "/") {
      folder = String(folder[..<cut])
      for name in ["fixtures", "shared/fixtures"] where access(folder + "/" + name, R_OK) == 0 { return folder + "/" + name }
    }
    return nil
  }

  /// The bytes of a file, or nil.
  package static func bytes(_ path: String) -> [UInt8]? {
    guard let file = fopen(path, "rb") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = fread(&buffer, 1, buffer.count, file)
      if count == 0 { return bytes }
      bytes += buffer[..<count]
    }
  }

  /// Names in a folder, sorted; empty when it cannot be read.
  package static func names(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }
}

/// Expected texts that stand in files beside their tests (`Goldens/NAME`).
package enum Golden {
  /// Nil when `text` equals the golden, else the first line that differs, for a person. With `CHATBENCH_GOLDENS=write` in the
  /// environment the golden is rewritten instead.
  package static func difference(_ text: String, _ name: String, file: String = #filePath) -> String? {
    let folder = file.prefix(upTo: file.lastIndex(of: "/") ?? file.startIndex) + "/Goldens"
    let path = folder + "/" + name
    if let mode = getenv("CHATBENCH_GOLDENS"), String(cString: mode) == "write" {
      mkdir(String(folder), 0o755)
      guard let out = fopen(path, "wb") else { return "cannot write \(path)" }
      defer { fclose(out) }
      let bytes = Array(text.utf8)
      return fwrite(bytes, 1, bytes.count, out) == bytes.count ? nil : "cannot write \(path)"
    }
    guard let bytes = TestFiles.bytes(path) else { return "no golden \(path); CHATBENCH_GOLDENS=write makes it" }
    let expected = String(decoding: bytes, as: UTF8.self)
    if expected == text { return nil }
    let left = expected.split(separator: "\n", omittingEmptySubsequences: false)
    let right = text.split(separator: "\n", omittingEmptySubsequences: false)
    for index in 0..<max(left.count, right.count) {
      let old = index < left.count ? left[index] : "(end)"
      let new = index < right.count ? right[index] : "(end)"
      if old != new { return "\(name), line \(index + 1): expected \(old), found \(new)" }
    }
    return "\(name): the texts differ"
  }
}
