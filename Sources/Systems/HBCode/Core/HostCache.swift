/// The view models of up to six chats, most recently selected first (HB-HOST-01 to -05). Only the first can be on screen.
package struct HostCache: Sendable {
  /// HB-HOST-01 [seed].
  package static let capacity = 6

  /// What a commit changed.
  package struct Commit: Sendable {
    package var selected: HostKey
    package var released: [HostKey]
  }

  private var hosts: [Host] = []
  private var staged: HostKey?

  package init() {}

  /// Keys in order: the most recently selected first.
  package var order: [HostKey] { hosts.map(\.key) }

  package func contains(_ key: HostKey) -> Bool { hosts.contains { $0.key == key } }
  package subscript(key: HostKey) -> Host? { hosts.first { $0.key == key } }

  /// Changes a host in place; nil when it is not kept.
  package mutating func update<Result>(_ key: HostKey, _ change: (inout Host) -> Result) -> Result? {
    guard let index = hosts.firstIndex(where: { $0.key == key }) else { return nil }
    return change(&hosts[index])
  }

  /// Stages a selection: nothing is published until `commit`. A later staging replaces an earlier one, whose new host is dropped
  /// (HB-HOST-03, -04).
  package mutating func stage(_ key: HostKey) { staged = key }

  /// Commits what is staged; a seventh host releases the least recently selected one (HB-HOST-05). Nil if nothing is staged.
  package mutating func commit() -> Commit? {
    guard let key = staged else { return nil }
    staged = nil
    let host = self[key] ?? Host(key)
    hosts.removeAll { $0.key == key }
    hosts.insert(host, at: 0)
    var released: [HostKey] = []
    while hosts.count > HostCache.capacity { released.append(hosts.removeLast().key) }
    return Commit(selected: key, released: released)
  }
}
