import Wire

/// The version of a live overlay: compared by epoch, then revision.
package struct OverlayVersion: Hashable, Comparable, Sendable {
  package var epoch: Int64
  package var revision: Int64
  package init(epoch: Int64, revision: Int64) {
    self.epoch = epoch
    self.revision = revision
  }
  package static func < (a: OverlayVersion, b: OverlayVersion) -> Bool {
    a.epoch != b.epoch ? a.epoch < b.epoch : a.revision < b.revision
  }
}

/// The whole live overlay of a conversation (spec B.3): never a difference.
package struct LiveOverlay: Hashable, Sendable {
  package var version: OverlayVersion
  package var blocks: [Row]
  package init(version: OverlayVersion, blocks: [Row]) {
    self.version = version
    self.blocks = blocks
  }
}

/// How much the desktop knows about a history (spec B.3).
package enum LoadState: Hashable, Sendable {
  case ready
  /// No confirmed history yet.
  case pending
  case unavailable(reason: String)
}

/// The run that is active in a session (spec B.3); `raw` keeps further keys.
package struct ActiveRun: Hashable, Sendable {
  package var runId: String
  package var threadId: String?
  package var turnId: String?
  package var startedAt: Int64
  package var raw: JSONObject

  package init(runId: String, threadId: String?, turnId: String?, startedAt: Int64, raw: JSONObject? = nil) {
    self.runId = runId
    self.threadId = threadId
    self.turnId = turnId
    self.startedAt = startedAt
    self.raw =
      raw ?? [
        "runId": .string(runId), "threadId": threadId.map(JSON.string) ?? .null, "turnId": turnId.map(JSON.string) ?? .null,
        "startedAt": .integer(startedAt),
      ]
  }
}

/// What a window load asked for decides which keys its answer must have.
package enum HistoryRequest: String, Hashable, Sendable {
  /// `anchor: null`: 11 keys.
  case latest
  /// With an anchor: 14 keys.
  case anchored
}

/// The answer of `run.chatLoad` and `run.chatLoadThread` (spec B.3).
package struct HistoryEnvelope: Hashable, Sendable {
  package var boundaryToken: String
  package var nativeSessionId: String?
  package var loadState: LoadState
  package var storageFormat: String
  package var loadedEntries: Int64
  package var hasOlderEntries: Bool
  package var oldestCursor: String?
  package var timeline: [Row]
  package var overlay: LiveOverlay
  package var runtime: JSONObject?
  package var activeRun: ActiveRun?
  /// Anchored answers only.
  package var newerCursor: String?
  package var anchorRow: Anchor?
  package var notice: String?

  package init(
    boundaryToken: String, nativeSessionId: String?, loadState: LoadState, storageFormat: String, loadedEntries: Int64,
    hasOlderEntries: Bool, oldestCursor: String?, timeline: [Row], overlay: LiveOverlay, runtime: JSONObject?, activeRun: ActiveRun?,
    newerCursor: String? = nil, anchorRow: Anchor? = nil, notice: String? = nil
  ) {
    self.boundaryToken = boundaryToken
    self.nativeSessionId = nativeSessionId
    self.loadState = loadState
    self.storageFormat = storageFormat
    self.loadedEntries = loadedEntries
    self.hasOlderEntries = hasOlderEntries
    self.oldestCursor = oldestCursor
    self.timeline = timeline
    self.overlay = overlay
    self.runtime = runtime
    self.activeRun = activeRun
    self.newerCursor = newerCursor
    self.anchorRow = anchorRow
    self.notice = notice
  }
}

/// The answer of an older-page request (spec B.3): canonical rows only.
package struct OlderPage: Hashable, Sendable {
  package var boundaryToken: String
  package var timeline: [Row]
  package var hasOlderEntries: Bool
  package var oldestCursor: String?

  package init(boundaryToken: String, timeline: [Row], hasOlderEntries: Bool, oldestCursor: String?) {
    self.boundaryToken = boundaryToken
    self.timeline = timeline
    self.hasOlderEntries = hasOlderEntries
    self.oldestCursor = oldestCursor
  }
}

/// The first thing wrong with an answer, an event or an entry: `reason` and `at` exactly as in spec B.3 to B.5.
package struct DecodeFailure: Error, Hashable, Sendable {
  package var reason: String
  package var at: String
  package init(reason: String, at: String = "") {
    self.reason = reason
    self.at = at
  }
}
