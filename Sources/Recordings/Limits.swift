/// The sizes of the container, all in bytes. What a file says of its sizes is checked against them before allocation.
package enum Limits {
  /// Plain content after which a segment ends: 1 MiB.
  package static let segment = 1 << 20
  /// Payloads above this become members of their own: 256 KiB.
  package static let inlinePayload = 256 << 10
  /// The longest payload that is kept: 256 MiB.
  package static let payload = 256 << 20
  /// The longest envelope of a frame: 1 MiB.
  package static let envelope = 1 << 20
  /// The longest line of a trace: 16 MiB.
  package static let traceLine = 16 << 20
  /// The largest plain content of a segment that is read: 64 MiB.
  package static let plainSegment = 64 << 20
  /// The largest plain content of a JSON member: 64 MiB.
  package static let jsonMember = 64 << 20
  /// The largest manifest: 64 MiB.
  package static let manifest = 64 << 20
  /// The most members of a container.
  package static let members = 1_000_000
  /// What a writer of a journal holds in memory before it makes its callers wait: 2 MiB. With 8 MiB a flood of small frames
  /// outran the commits by more than the 300 ms after which a kill must not take a frame.
  package static let journalBacklog = 2 << 20
  /// What a pending frame counts beside its payload: its row and index cost time and memory too.
  package static let journalFrameOverhead = 256
  /// Pending bytes after which a journal commits at once: 1 MiB.
  package static let journalBatch = 1 << 20
  /// The longest time that an appended frame waits for its commit: 100 ms, so that DESIGN.md 4's 250 ms leave room for the
  /// commit itself on a busy disk.
  package static let journalCommitNanoseconds: Int64 = 100_000_000
  /// A journal without new frames for this long is checkpointed: 1 s.
  package static let journalIdleNanoseconds: Int64 = 1_000_000_000
}
