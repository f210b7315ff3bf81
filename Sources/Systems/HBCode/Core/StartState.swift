import HBCodeDialect
import Simulation
import Wire

/// What the phone already had at t = 0: `CoreSettings.start`, which is `Scenario.clientStart`.
///
/// All times are milliseconds. Every key may be left out; null counts as left out. After a restart of the app (`launch` > 0) only
/// `desktop`, `project` and `sessions` are taken, the rest comes from the store.
///
/// ```json
/// {
///   "desktop": "desk-1",                       // the selected desktop; default "desk-1"
///   "project": "projects/garden",              // folder of the sessions that name none
///   "sessions": [{"id": "ses-01", "agent": "codex", "project": "projects/garden", "title": "Beds",
///                 "desktop": "desk-1",         // default: the selected one
///                 "updatedAt": 1790000000000}],// greatest `session:updated` seen; default: none
///   "selected": {"session": "ses-01", "thread": null},  // the chat on screen
///   "connected": true,                         // the socket was usable before 0: the first `connection up` is not "becoming usable"
///   "lease": {"session": "ses-01", "thread": null, "heldAt": -5000},  // last hold, relative to 0, ≤ 0; renewed 20 s after it
///   "outbox": {"ses-01": {"revision": 5, "entries": [ …entries of B.4… ]}},  // last desktop list, known to the phone
///   "replaySet": {"generation": 3, "scopes": {"desk-1|projects/garden|ses-01": {"order": ["op-1"], "operations":
///                 {"op-1": {"state": "pending", "entry": {…}, "firstSentAt": 1790000000000, "supersedes": "op-0"}}}}},
///   "hosts": [{"session": "ses-01", "envelope": { …11 keys of B.3… }, "counter": 0, "stale": false}],
///   "drafts": {"ses-01": "half a sentence"},   // composer text of a main timeline
///   "screen": {"reduceMotion": false, "markdownMs": 0, "applyMs": 0,       // the headless screen (spec G.2)
///              "heights": [{"id": "agent-reply:a-1", "text": "Hi", "height": 60}]}  // without a text: of every version
/// }
/// ```
///
/// `hosts` are main timelines, least recently selected first; their envelopes have been applied. An operation of the replay set with a mutation is of
/// unknown outcome (HB-OUTBOX-20); one without is confirmed. Entries of `outbox` that are not in the replay set are known as listed.
package struct StartState: Sendable {
  package struct Place: Hashable, Sendable {
    package var session: String
    package var thread: String?
  }
  package struct HostStart: Sendable {
    package var place: Place
    package var envelope: HistoryEnvelope
    package var counter: Int
    package var isStale: Bool
  }

  package var desktop = "desk-1"
  package var sessions: [SessionInfo] = []
  package var updatedAt: [(session: String, milliseconds: Int64)] = []
  package var selected: Place?
  package var isConnected = false
  package var lease: Place?
  /// Of the last hold before 0.
  package var heldAt = Instant.zero
  package var outboxes: [(session: String, list: OutboxList)] = []
  package var replaySet: JSON?
  package var hosts: [HostStart] = []
  package var drafts: [(session: String, text: String)] = []
  package var measure = RowMeasure()

  /// Nothing: no session, not connected.
  package init() {}

  /// Reads the form above; throws with the path of the first thing that does not fit.
  package init(json: JSON) throws(JSONError) {
    guard let object = json.object else { throw JSONError(problem: "a start state is an object") }
    desktop = object["desktop"]?.string ?? desktop
    let project = object["project"]?.string ?? ""
    for (index, element) in (object["sessions"]?.array ?? []).enumerated() {
      guard let id = element["id"]?.nonblankString else { throw JSONError(path: "sessions[\(index)].id", problem: "expected a name") }
      guard let agent = element["agent"]?.string.flatMap(Agent.init(rawValue:)) else {
        throw JSONError(path: "sessions[\(index)].agent", problem: "expected codex or claude")
      }
      sessions.append(
        SessionInfo(
          id: id, agent: agent, desktop: element["desktop"]?.string ?? desktop, project: element["project"]?.string ?? project,
          title: element["title"]?.string))
      if let at = element["updatedAt"]?.wireInteger { updatedAt.append((id, at)) }
    }
    selected = try StartState.place(object["selected"], at: "selected")
    isConnected = object["connected"]?.bool ?? false
    lease = try StartState.place(object["lease"], at: "lease")
    let held = object["lease"]?["heldAt"]?.wireInteger ?? 0
    heldAt = Instant.zero + .milliseconds(min(0, max(held, -StartState.longestPast)))
    for member in object["outbox"]?.object?.members ?? [] {
      do throws(DecodeFailure) {
        outboxes.append((member.name, try OutboxList.decode(member.value)))
      } catch { throw JSONError(path: "outbox.\(member.name).\(error.at)", problem: error.reason) }
    }
    if let set = object["replaySet"], !set.isNull { replaySet = set }
    for (index, element) in (object["hosts"]?.array ?? []).enumerated() {
      let path = "hosts[\(index)]"
      guard let place = try StartState.place(element, at: path) else { throw JSONError(path: path, problem: "expected an object") }
      do throws(DecodeFailure) {
        hosts.append(
          HostStart(
            place: place, envelope: try HistoryEnvelope.decode(element["envelope"] ?? .null, .latest),
            counter: max(0, element["counter"]?.int ?? 0), isStale: element["stale"]?.bool ?? false))
      } catch { throw JSONError(path: "\(path).envelope.\(error.at)", problem: error.reason) }
    }
    measure = try RowMeasure(json: object["screen"])
    for member in object["drafts"]?.object?.members ?? [] {
      guard let text = member.value.string else { throw JSONError(path: "drafts.\(member.name)", problem: "expected a string") }
      drafts.append((member.name, text))
    }
  }

  /// A lease older than this is as good as none: one day in milliseconds.
  private static let longestPast: Int64 = 86_400_000

  private static func place(_ json: JSON?, at path: String) throws(JSONError) -> Place? {
    guard let json, !json.isNull else { return nil }
    guard let session = json["session"]?.nonblankString else { throw JSONError(path: path + ".session", problem: "expected a name") }
    return Place(session: session, thread: json["thread"]?.string)
  }
}
