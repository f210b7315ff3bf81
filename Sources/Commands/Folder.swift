import Glibc

/// Folders for outputs.
enum Folder {
  /// Makes a folder and those above it; one that is there already is fine.
  static func make(_ path: String) throws(CommandFailure) {
    var prefix = path.hasPrefix("/") ? "/" : ""
    for part in path.split(separator: "/") {
      prefix += part + "/"
      if mkdir(prefix, 0o755) != 0, errno != EEXIST {
        throw CommandFailure(.cannotCreate, "\(path): cannot make the folder: \(String(cString: strerror(errno)))")
      }
    }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw CommandFailure(.cannotCreate, "\(path): is not a folder")
    }
  }

  /// The folder that a file stands in.
  static func of(_ path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
