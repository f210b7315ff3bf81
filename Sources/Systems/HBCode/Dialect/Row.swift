import Wire

/// The five kinds of rows (spec B.3).
package enum RowType: String, Hashable, Sendable, CaseIterable {
  case user, system, activity
  case agentReply = "agent-reply"
  case thinking
}

/// Whether a row stands in the saved history or is still being made.
package enum RowOrigin: String, Hashable, Sendable, CaseIterable { case canonical, live }

/// The number that orders a row: compared element by element, a shorter array that is a prefix first.
package struct SourceOrder: Hashable, Comparable, Sendable {
  package var parts: [UInt64]
  package init(_ parts: [UInt64]) { self.parts = parts }
  package static func < (a: SourceOrder, b: SourceOrder) -> Bool { a.parts.lexicographicallyPrecedes(b.parts) }
}

/// One row of a timeline (spec B.3). `raw` is the object as it came, so that unknown keys and their order survive.
package struct Row: Hashable, Sendable {
  package let type: RowType
  package let id: String
  /// `type:id`; also the splice key.
  package let identity: String
  package var origin: RowOrigin
  package var sourceOrder: SourceOrder
  /// Epoch milliseconds.
  package var timestamp: Int64
  package var runId: String?
  package var operationId: String?
  package var text: String
  package var title: String?
  package var threadId: String?
  /// `panel: "subagent"`: such rows are hidden.
  package var isSubagentPanel: Bool
  package var message: MessageFact?
  package var raw: JSONObject

  package init(
    type: RowType, id: String, origin: RowOrigin, sourceOrder: SourceOrder, timestamp: Int64, runId: String? = nil,
    operationId: String? = nil, text: String = "", title: String? = nil, threadId: String? = nil, isSubagentPanel: Bool = false,
    message: MessageFact? = nil, raw: JSONObject
  ) {
    self.type = type
    self.id = id
    identity = type.rawValue + ":" + id
    self.origin = origin
    self.sourceOrder = sourceOrder
    self.timestamp = timestamp
    self.runId = runId
    self.operationId = operationId
    self.text = text
    self.title = title
    self.threadId = threadId
    self.isSubagentPanel = isSubagentPanel
    self.message = message
    self.raw = raw
  }

  /// `op:<operationId>` of a user row, its second identity.
  package var operationIdentity: String? { type == .user ? operationId.map { "op:" + $0 } : nil }

  /// The order of rows: `sourceOrder`, then type, then id.
  package static func precedes(_ a: Row, _ b: Row) -> Bool {
    if a.sourceOrder != b.sourceOrder { return a.sourceOrder < b.sourceOrder }
    if a.type != b.type { return a.type.rawValue < b.type.rawValue }
    return a.id < b.id
  }

  /// Equal as decoded rows, unknown keys and all (HB-OVER-08).
  package func isEquivalent(to other: Row) -> Bool { JSON.object(raw).isEquivalent(to: .object(other.raw)) }
}

/// A place in a conversation (spec B.3).
package enum Anchor: Hashable, Sendable {
  case message(id: String)
  case row(type: RowType, id: String)
}

/// A message between sessions (spec B.5).
package struct MessageFact: Hashable, Sendable {
  package enum Direction: String, Hashable, Sendable, CaseIterable { case outgoing, incoming }
  package enum Signal: String, Hashable, Sendable, CaseIterable {
    case sent
    case needsApproval = "needs-approval"
    case notSent = "not-sent"
  }
  package struct Delivery: Hashable, Sendable {
    package var signal: Signal
    package var word: String
    package init(signal: Signal, word: String) {
      self.signal = signal
      self.word = word
    }
  }
  package struct Link: Hashable, Sendable {
    package var sessionId: String
    package var threadId: String?
    package var anchor: Anchor
    package init(sessionId: String, threadId: String?, anchor: Anchor) {
      self.sessionId = sessionId
      self.threadId = threadId
      self.anchor = anchor
    }
  }

  package var direction: Direction
  package var from: String
  package var to: String
  package var peerName: String
  package var peerAgent: Agent
  package var delivery: Delivery?
  package var link: Link?

  package init(
    direction: Direction, from: String, to: String, peerName: String, peerAgent: Agent, delivery: Delivery? = nil, link: Link? = nil
  ) {
    self.direction = direction
    self.from = from
    self.to = to
    self.peerName = peerName
    self.peerAgent = peerAgent
    self.delivery = delivery
    self.link = link
  }

  /// `from → to`.
  package var labelLine: String { "\(from) → \(to)" }
  /// The name of the other end: `to` when outgoing, `from` when incoming.
  package var otherEnd: String { direction == .outgoing ? to : from }
}

/// The agent of a session (HB-AGENT-01).
package enum Agent: String, Hashable, Sendable, CaseIterable { case codex, claude }
