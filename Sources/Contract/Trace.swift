import Simulation
import Wire

/// Who an entry of the trace is about.
package enum Party: String, Hashable, Sendable, CaseIterable {
  case world, user, core, link, twin, plan, screen
}

/// One entry of a trace: DESIGN.md 5. `index` counts from 0.
package struct TraceEntry: Hashable, Sendable {
  package var index: Int
  package var at: Instant
  package var party: Party
  package var kind: String
  package var fields: JSONObject
  /// The bytes of the frame, on `send` entries of the link only.
  package var payload: [UInt8]?

  package init(index: Int, at: Instant, party: Party, kind: String, fields: JSONObject, payload: [UInt8]? = nil) {
    self.index = index
    self.at = at
    self.party = party
    self.kind = kind
    self.fields = fields
    self.payload = payload
  }

  package subscript(field: String) -> JSON? { fields[field] }

  /// `{"i","t","party","k",…fields,"payload"?}`: one line of a trace segment. Text payloads as a string, others as base-16.
  package var json: JSON {
    var object: JSONObject = ["i": .int(index), "t": .integer(at.nanoseconds), "party": .string(party.rawValue), "k": .string(kind)]
    object.members.append(contentsOf: fields.members)
    if let payload {
      if let text = String(validating: payload, as: UTF8.self) {
        object.members.append(JSONObject.Member(name: "payload", value: .string(text)))
      } else {
        object.members.append(JSONObject.Member(name: "payloadHex", value: .string(Hexadecimal.text(payload))))
      }
    }
    return .object(object)
  }

  /// Reads the form of `json`.
  package init(json: JSON) throws(JSONError) {
    guard var object = json.object, let index = object["i"]?.int, let t = object["t"]?.integer,
      let party = object["party"]?.string.flatMap(Party.init(rawValue:)), let kind = object["k"]?.string
    else { throw JSONError(problem: "a trace entry needs i, t, party and k") }
    var payload: [UInt8]?
    if let text = object["payload"]?.string { payload = Array(text.utf8) }
    if let hex = object["payloadHex"]?.string {
      let digits = hex.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
      guard digits.count == hex.utf8.count, digits.count % 2 == 0 else { throw JSONError(path: "payloadHex", problem: "not base-16") }
      payload = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
    for name in ["i", "t", "party", "k", "payload", "payloadHex"] { object[name] = nil }
    self.init(index: index, at: Instant(nanoseconds: t), party: party, kind: kind, fields: object, payload: payload)
  }
}

/// What a run was made of, and where its phases lie.
package struct RunHeader: Hashable, Sendable {
  package var system: String
  package var behaviourVersion: Int
  /// File name of the recording without its folder, or `hand`.
  package var recordingName: String
  package var recordingHash: String
  package var planName: String
  package var planHash: String
  /// `reacting`, `clock`, or the hash of a user script.
  package var user: String
  package var seed: UInt64
  package var withoutRecordedLosses: Bool
  /// Rules may act before this instant; from here on everything must come to rest.
  package var quietFrom: Instant
  package var end: Instant

  package init(
    system: String, behaviourVersion: Int, recordingName: String = "hand", recordingHash: String = "hand", planName: String = "none",
    planHash: String, user: String = "reacting", seed: UInt64, withoutRecordedLosses: Bool = false, quietFrom: Instant = .zero,
    end: Instant = .zero
  ) {
    self.system = system
    self.behaviourVersion = behaviourVersion
    self.recordingName = recordingName
    self.recordingHash = recordingHash
    self.planName = planName
    self.planHash = planHash
    self.user = user
    self.seed = seed
    self.withoutRecordedLosses = withoutRecordedLosses
    self.quietFrom = quietFrom
    self.end = end
  }

  /// The token of the run: equal tokens give byte-equal traces (DESIGN.md 5).
  package var token: String {
    let parts: JSON = [
      .string(system), .int(behaviourVersion), .string(recordingHash), .string(planHash), .string(user), .unsigned(seed),
      .bool(withoutRecordedLosses),
    ]
    return String(SHA256Digest.hex(JSONWriter.canonical(parts)).prefix(16))
  }
}

/// The complete journal of a run: the only input of oracles and reports.
package struct Trace: Sendable {
  package var header: RunHeader
  package var entries: [TraceEntry] {
    didSet { contents = [:] }
  }
  /// What parsing the payload of an entry gives, by its index, where the run knew it (`Frame.content`). A trace that was read or whose
  /// entries were changed has none.
  package private(set) var contents: [Int: JSON]

  package init(header: RunHeader, entries: [TraceEntry] = [], contents: [Int: JSON] = [:]) {
    self.header = header
    self.entries = entries
    self.contents = contents
  }

  /// The entries of one party and kind, in order. O(n).
  package func all(_ party: Party, _ kind: String) -> [TraceEntry] { entries.filter { $0.party == party && $0.kind == kind } }
}

/// The kinds of trace entries that every system shares, and their fields. A system adds kinds under its own names.
///
/// - `world`: `start` {system, recording, plan, seed}, `quiet`, `end`; `launch` {n}, `stop` {after, rule?} (the app's process),
///   `suspend`, `resume`, `background`, `foreground`, `memoryPressure` {rule?}, `clock` {byNs, rule?} (a step of the device's wall clock),
///   `screen` {fault, forNs? | count?, rule} (a fault at the screen: `lose-stop`, `skip-frames`, `slow-markdown`, `slow-apply`).
/// - `user`: `gesture` {intent?, do, …, rule?}, `void` {intent, reason}, `waits` {intent}. A gesture without an intent was made by a rule of
///   the plan (`drag`); one with intent and rule was changed by it (`hold-drag`): its fields are those that the core got.
/// - `link`: `up`/`down` {conn, endpoint, code?, who?, rule? | condition?}; `send` {conn, dir, label, name, …label fields, operation?,
///   key?, delivery?, re?, frame, bytes} with the payload, `frame` its `FrameKind`, `re` the entry of the request that it answers where
///   the twin says so; `arrive` {of, conn, dir, label, name, operation?, key?, delivery?, copy?, changed?}; `drop`, `delay`, `duplicate`,
///   `reorder`, `hold`, `corrupt`, … {of, rule | condition | cause}; `corrupt`, `truncate` and `replace` carry the bytes that arrive
///   instead. `of` is the index of the `send` entry; `rule` is `RuleReport.number`, `condition` the words of a condition of the recorded
///   past, `cause` why a frame was lost with its connection.
/// - `plan`: `fired` {rule, action, of?}.
///   On a wire entry `label` is the role (`request`, `response`, `event`, `other`) and `name` the label's name.
/// - `core`: `timer` {timer} and `stored` {key, bytes} are written by the world, so that a stop can lie between any two effects.
/// - `core` (what the client says about itself): `accepted` {operation, text, lane, action, supersedes?}: one user action became one
///   operation, noted while that gesture is handled (so the entry follows the gesture's, at its instant); `action` is the gesture's name,
///   or `earlier` for an operation that the client already had when it was first launched, or that it takes over from the server's
///   list because the user acts on it. `says` {operation, state}: what the client
///   tells the user about it, state one of `ClientWord`, at each change and, after each launch, again for every operation that it still
///   holds. `shown` {operation, form}.
/// - `twin` (the ledger, evidence): `saved` {operation, text, lane, n}, `delivered` {operation, run}, `history` {operation, row},
///   `removed` {operation}, `superseded` {operation, by}, `refused` {operation, code}, `answer` {key, stored}, `stretch` {id, state},
///   `reissued` {what, from, to}, `basis` {…, basis}. Any entry may carry `basis` (a `Basis`) when what it records is not from the recording.
package enum Vocabulary {
  /// What a client can tell its user about an operation.
  package enum ClientWord: String, Sendable, Hashable, CaseIterable {
    /// Under way, no answer yet.
    case sending
    /// Outcome unknown; the client will look again.
    case unconfirmed
    /// The server has it and it waits its turn.
    case waiting
    /// Held for the user's approval, or stopped by an age limit: goes on only by the user.
    case held
    /// Delivered: in the conversation.
    case delivered
    /// Refused; its text is back in the composer.
    case restored
    /// Refused; kept with an error.
    case failed
    case removed
    case superseded
  }
}
