import HBCodeDialect

/// A session of a desktop as the phone's list shows it.
package struct SessionInfo: Hashable, Sendable {
  package var id: String
  package var agent: Agent
  package var desktop: String
  package var project: String
  package var title: String?
}

/// What a view model belongs to: a session's main timeline, or one of its subagent threads (HB-HOST-01, -13).
package struct HostKey: Hashable, Sendable {
  package var desktop: String
  package var project: String
  package var session: String
  /// Nil: the main timeline.
  package var thread: String?

  package init(desktop: String, project: String, session: String, thread: String? = nil) {
    self.desktop = desktop
    self.project = project
    self.session = session
    self.thread = thread
  }

  /// The key of the session's main timeline.
  package var main: HostKey { HostKey(desktop: desktop, project: project, session: session) }

  /// Name in traces, timers and draws: the session, with `/thread` for a subagent thread.
  package var name: String { thread.map { session + "/" + $0 } ?? session }

  /// Name of the replay set's scope (HB-OUTBOX-02): desktop, project folder, session.
  package var scope: String { desktop + "|" + project + "|" + session }
}
