import Wire

package enum EntryStatus: String, Hashable, Sendable, CaseIterable { case queued, sending }
package enum SendMode: String, Hashable, Sendable, CaseIterable {
  case queue
  case steerRunning = "steer-running"
  case interruptRunning = "interrupt-running"
}
/// What a submit asks for (spec B.2): every intent but `enqueue` is the user's approval.
package enum SubmitIntent: String, Hashable, Sendable, CaseIterable { case automatic, enqueue }

package struct AttachmentReference: Hashable, Sendable {
  package var attachmentId: String
  package var fileName: String
  package var mimeType: String
  package var size: Int64
  package init(attachmentId: String, fileName: String, mimeType: String, size: Int64) {
    self.attachmentId = attachmentId
    self.fileName = fileName
    self.mimeType = mimeType
    self.size = size
  }
}

/// A mutation of an entry that the phone has not seen confirmed.
package enum PendingMutation: Hashable, Sendable {
  case submit(mutationId: String, intent: SubmitIntent)
  case remove(mutationId: String)
}

/// A steer that the running turn took (HB-STEER-02).
package struct AcceptedSteer: Hashable, Sendable {
  package var runId: String
  package var threadId: String
  package var turnId: String
  package var acceptedAt: Int64
  package init(runId: String, threadId: String, turnId: String, acceptedAt: Int64) {
    self.runId = runId
    self.threadId = threadId
    self.turnId = turnId
    self.acceptedAt = acceptedAt
  }
}

package enum HandoffPhase: String, Hashable, Sendable, CaseIterable {
  case requested
  case replayAuthorized = "replay-authorized"
  case dedicated
}

package struct ModelSelection: Hashable, Sendable {
  package var model: String
  package var reasoningEffort: String
  package init(model: String, reasoningEffort: String) {
    self.model = model
    self.reasoningEffort = reasoningEffort
  }
}

/// The immutable part of an entry: what a submit carries, so that a resend repeats byte for byte (spec B.4, `SubmitEntry`).
package struct SubmitEntry: Hashable, Sendable {
  package let queueId: String
  package let operationId: String
  package var userText: String
  package var promptText: String
  package private(set) var sendMode: SendMode
  /// The run that a steer is for; nil in every other mode.
  package private(set) var expectedActiveRunId: String?
  package var threadId: String?
  package var selection: ModelSelection?
  package var speedMode: String
  package var accessLevel: String
  package var attachments: [AttachmentReference]
  /// Epoch milliseconds of the phone's wall clock.
  package var createdAt: Int64

  /// Throws `entry.queueId.blank`, `entry.operationId.blank`, `entry.steer.runId.missing` or `entry.runId.unexpected`
  /// (HB-OUTBOX-06): a steer carries a nonblank run ID and no other mode carries one.
  package init(
    queueId: String, operationId: String, userText: String, promptText: String, sendMode: SendMode, expectedActiveRunId: String? = nil,
    threadId: String? = nil, selection: ModelSelection? = nil, speedMode: String = "standard", accessLevel: String = "Full auto",
    attachments: [AttachmentReference] = [], createdAt: Int64
  ) throws(DecodeFailure) {
    if let reason = SubmitEntry.check(
      queueId: queueId, operationId: operationId, sendMode: sendMode, expectedActiveRunId: expectedActiveRunId)
    {
      throw DecodeFailure(reason: reason)
    }
    self.queueId = queueId
    self.operationId = operationId
    self.userText = userText
    self.promptText = promptText
    self.sendMode = sendMode
    self.expectedActiveRunId = expectedActiveRunId
    self.threadId = threadId
    self.selection = selection
    self.speedMode = speedMode
    self.accessLevel = accessLevel
    self.attachments = attachments
    self.createdAt = createdAt
  }

  /// Turns a steer whose run is over into a plain queued entry (HB-STEER-13).
  package mutating func becomeQueued() {
    sendMode = .queue
    expectedActiveRunId = nil
  }
}

/// An outbox entry (spec B.4), on the desktop, on the phone and in the replay set.
package struct OutboxEntry: Hashable, Sendable {
  package var submit: SubmitEntry
  package var status: EntryStatus
  package var pendingMutation: PendingMutation?
  package var accepted: AcceptedSteer?
  package var handoff: HandoffPhase?
  package var holdReason: String?
  package var error: String?
  package var message: MessageFact?

  /// Throws `entry.pendingMutation.id.blank`, `entry.accepted.<field>`, `entry.message.…` or `entry.holdReason.blank`
  /// (HB-OUTBOX-06); `json` checks again what was assigned since.
  package init(
    submit: SubmitEntry, status: EntryStatus, pendingMutation: PendingMutation? = nil, accepted: AcceptedSteer? = nil,
    handoff: HandoffPhase? = nil, holdReason: String? = nil, error: String? = nil, message: MessageFact? = nil
  ) throws(DecodeFailure) {
    self.submit = submit
    self.status = status
    self.pendingMutation = pendingMutation
    self.accepted = accepted
    self.handoff = handoff
    self.holdReason = holdReason
    self.error = error
    self.message = message
    try check()
  }

  package var operationId: String { submit.operationId }
  package var queueId: String { submit.queueId }
}

/// The desktop's outbox of one session, as answers and events carry it.
package struct OutboxList: Hashable, Sendable {
  package var revision: Int64
  package var entries: [OutboxEntry]
  package init(revision: Int64, entries: [OutboxEntry]) {
    self.revision = revision
    self.entries = entries
  }
}
