import Wire

/// `chat:timeline-overlay`: the whole live overlay of one conversation.
package struct TimelineOverlayEvent: Hashable, Sendable {
  package var sessionId: String
  /// Nil: the main timeline.
  package var threadId: String?
  package var overlay: LiveOverlay

  package init(sessionId: String, threadId: String?, overlay: LiveOverlay) {
    self.sessionId = sessionId
    self.threadId = threadId
    self.overlay = overlay
  }

  package var message: EventMessage {
    var fields: JSONObject = ["sessionId": .string(sessionId), "threadId": .nullable(threadId)]
    fields.members += overlay.json.object?.members ?? []
    return EventMessage(name: EventName.timelineOverlay.rawValue, fields: fields)
  }
}

/// `chat:run-started`, `-finished`, `-failed`, `-aborted`, `-cancelled`.
package struct RunEvent: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case started, finished, failed, aborted, cancelled

    fileprivate var name: EventName {
      switch self {
      case .started: .runStarted
      case .finished: .runFinished
      case .failed: .runFailed
      case .aborted: .runAborted
      case .cancelled: .runCancelled
      }
    }
  }

  package var kind: Kind
  package var sessionId: String
  package var threadId: String?
  package var runId: String
  /// On `started` only.
  package var turnId: String?
  /// Epoch milliseconds: `startedAt` of a start, `at` of an end.
  package var at: Int64

  package init(kind: Kind, sessionId: String, threadId: String?, runId: String, turnId: String? = nil, at: Int64) {
    self.kind = kind
    self.sessionId = sessionId
    self.threadId = threadId
    self.runId = runId
    self.turnId = turnId
    self.at = at
  }

  package var message: EventMessage {
    var fields: JSONObject = ["sessionId": .string(sessionId), "threadId": .nullable(threadId), "runId": .string(runId)]
    if kind == .started { fields["turnId"] = .nullable(turnId) }
    fields[kind == .started ? "startedAt" : "at"] = .integer(at)
    return EventMessage(name: kind.name.rawValue, fields: fields)
  }
}

/// `session:updated`.
package struct SessionUpdatedEvent: Hashable, Sendable {
  package var sessionId: String
  /// Epoch milliseconds.
  package var updatedAt: Int64
  package var title: String?

  package init(sessionId: String, updatedAt: Int64, title: String?) {
    self.sessionId = sessionId
    self.updatedAt = updatedAt
    self.title = title
  }

  package var message: EventMessage {
    EventMessage(
      name: EventName.sessionUpdated.rawValue,
      fields: ["sessionId": .string(sessionId), "updatedAt": .integer(updatedAt), "title": .nullable(title)])
  }
}

/// `chat:outbox-changed`.
package struct OutboxChangedEvent: Hashable, Sendable {
  package var sessionId: String
  package var list: OutboxList

  package init(sessionId: String, list: OutboxList) {
    self.sessionId = sessionId
    self.list = list
  }

  /// Throws what `OutboxEntry.json` throws.
  package var message: EventMessage {
    get throws(DecodeFailure) {
      let members = try list.fields.members
      return EventMessage(
        name: EventName.outboxChanged.rawValue,
        fields: JSONObject([JSONObject.Member(name: "sessionId", value: .string(sessionId))] + members))
    }
  }
}

/// `desktop:online`, `-offline`, `-recovered`.
package struct DesktopEvent: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable { case online, offline, recovered }

  package var kind: Kind
  package var desktopId: String

  package init(kind: Kind, desktopId: String) {
    self.kind = kind
    self.desktopId = desktopId
  }

  package var message: EventMessage {
    EventMessage(name: "desktop:" + kind.rawValue, fields: ["desktopId": .string(desktopId)])
  }
}

/// `relay:gap`: events between these instants (epoch milliseconds) were lost.
package struct RelayGapEvent: Hashable, Sendable {
  package var fromMs: Int64
  package var toMs: Int64

  package init(fromMs: Int64, toMs: Int64) {
    self.fromMs = fromMs
    self.toMs = toMs
  }

  package var message: EventMessage {
    EventMessage(name: EventName.relayGap.rawValue, fields: ["fromMs": .integer(fromMs), "toMs": .integer(toMs)])
  }
}

/// An event of spec B.6, decoded.
package enum HBCodeEvent: Hashable, Sendable {
  case overlay(TimelineOverlayEvent)
  case run(RunEvent)
  case sessionUpdated(SessionUpdatedEvent)
  case outboxChanged(OutboxChangedEvent)
  case desktop(DesktopEvent)
  case relayGap(RelayGapEvent)
  /// A name that is not in B.6.
  case unknown(EventMessage)

  /// Reads an event (HB-ENV-11). Reasons: `json.duplicate-key`; `event.type:<key>` for a plain field that is missing or of a wrong
  /// type (a nullable one may be absent); those of overlays (paths without `liveOverlay`) and of outbox lists. Further keys are allowed.
  package static func decode(_ event: EventMessage) throws(DecodeFailure) -> HBCodeEvent {
    let fields = event.fields
    if JSON.object(fields).repeatsKey { throw DecodeFailure(reason: "json.duplicate-key") }
    func wrongType(_ key: String) -> DecodeFailure { DecodeFailure(reason: "event.type:\(key)", at: key) }
    func text(_ key: String) throws(DecodeFailure) -> String {
      guard let value = fields[key]?.string else { throw wrongType(key) }
      return value
    }
    func nullable(_ key: String) throws(DecodeFailure) -> String? {
      let value = fields.nullableString(key)
      if case .wrongType = value { throw wrongType(key) }
      return value.optional
    }
    func integer(_ key: String) throws(DecodeFailure) -> Int64 {
      guard let value = fields[key]?.wireInteger else { throw wrongType(key) }
      return value
    }
    func run(_ kind: RunEvent.Kind) throws(DecodeFailure) -> HBCodeEvent {
      .run(
        RunEvent(
          kind: kind, sessionId: try text("sessionId"), threadId: try nullable("threadId"), runId: try text("runId"),
          turnId: kind == .started ? try nullable("turnId") : nil, at: try integer(kind == .started ? "startedAt" : "at")))
    }
    guard let name = EventName(rawValue: event.name) else { return .unknown(event) }
    switch name {
    case .timelineOverlay:
      let sessionId = try text("sessionId")
      let threadId = try nullable("threadId")
      let parts = JSONObject(fields.members.filter { ["settlementEpoch", "revision", "blocks"].contains($0.name) })
      return .overlay(
        TimelineOverlayEvent(sessionId: sessionId, threadId: threadId, overlay: try LiveOverlay.decodeChecked(.object(parts), at: "")))
    case .runStarted: return try run(.started)
    case .runFinished: return try run(.finished)
    case .runFailed: return try run(.failed)
    case .runAborted: return try run(.aborted)
    case .runCancelled: return try run(.cancelled)
    case .sessionUpdated:
      return .sessionUpdated(
        SessionUpdatedEvent(sessionId: try text("sessionId"), updatedAt: try integer("updatedAt"), title: try nullable("title")))
    case .outboxChanged:
      return .outboxChanged(OutboxChangedEvent(sessionId: try text("sessionId"), list: try OutboxList.decodeChecked(fields)))
    case .desktopOnline: return .desktop(DesktopEvent(kind: .online, desktopId: try text("desktopId")))
    case .desktopOffline: return .desktop(DesktopEvent(kind: .offline, desktopId: try text("desktopId")))
    case .desktopRecovered: return .desktop(DesktopEvent(kind: .recovered, desktopId: try text("desktopId")))
    case .relayGap: return .relayGap(RelayGapEvent(fromMs: try integer("fromMs"), toMs: try integer("toMs")))
    }
  }
}
