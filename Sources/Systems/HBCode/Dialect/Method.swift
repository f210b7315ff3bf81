import Simulation

/// The methods of spec B.2.
package enum Method: String, Hashable, Sendable, CaseIterable {
  case timelineInterest = "chat:timeline-interest"
  case sessionCreate = "session.create"
  case existingSessions = "run.chatExistingSessions"
  case previewExistingSession = "run.chatPreviewExistingSession"
  case load = "run.chatLoad"
  case loadThread = "run.chatLoadThread"
  case loadPageBefore = "run.chatLoadPageBefore"
  case loadThreadPageBefore = "run.chatLoadThreadPageBefore"
  case outboxLoad = "run.chatOutboxLoad"
  case outboxSubmit = "run.chatOutboxSubmit"
  case outboxRemove = "run.chatOutboxRemove"
  case outboxReorder = "run.chatOutboxReorder"
  case stopAndSendNow = "run.chatOutboxStopAndSendNow"
  case stop = "run.chatStop"
  case uploadBegin = "files.chatAttachmentUploadBegin"
  case uploadChunk = "files.chatAttachmentUploadChunk"
  case uploadFinish = "files.chatAttachmentUploadFinish"
  case uploadCancel = "files.chatAttachmentUploadCancel"

  /// Whether the desktop wants an idempotency key (spec B.2, HB-SHEET-09).
  package var isKeyed: Bool {
    switch self {
    case .timelineInterest, .existingSessions, .previewExistingSession, .load, .loadThread, .loadPageBefore, .loadThreadPageBefore,
      .outboxLoad:
      false
    case .sessionCreate, .outboxSubmit, .outboxRemove, .outboxReorder, .stopAndSendNow, .stop, .uploadBegin, .uploadChunk,
      .uploadFinish, .uploadCancel:
      true
    }
  }

  /// How long the phone waits before it makes the local error `timeout`; for older pages, after which they count as stale.
  package var limit: Interval {
    switch self {
    case .loadPageBefore, .loadThreadPageBefore: .seconds(8)
    case .stopAndSendNow, .uploadBegin, .uploadChunk, .uploadFinish, .uploadCancel: .seconds(60)
    default: .seconds(20)
    }
  }
}

/// The events of spec B.6.
package enum EventName: String, Hashable, Sendable, CaseIterable {
  case timelineOverlay = "chat:timeline-overlay"
  case runStarted = "chat:run-started"
  case runFinished = "chat:run-finished"
  case runFailed = "chat:run-failed"
  case runAborted = "chat:run-aborted"
  case runCancelled = "chat:run-cancelled"
  case sessionUpdated = "session:updated"
  case outboxChanged = "chat:outbox-changed"
  case desktopOnline = "desktop:online"
  case desktopOffline = "desktop:offline"
  case desktopRecovered = "desktop:recovered"
  case relayGap = "relay:gap"
}

/// An error answer (spec B.1, B.7).
package struct WireError: Error, Hashable, Sendable {
  package var code: String
  package var message: String
  package var permanent: Bool
  package init(code: String, message: String, permanent: Bool) {
    self.code = code
    self.message = message
    self.permanent = permanent
  }
}
