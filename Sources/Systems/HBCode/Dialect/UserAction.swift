import Contract
import Wire

/// What the user of the phone can do (spec G.3), read from and written to gestures. The core takes these, the compiler infers
/// them from requests, scripts and marks spell them: `{"do":"send","text":"Hi","ids":{"operationId":"op-1",…}}`.
package enum UserAction: Hashable, Sendable {
  /// Composer send in the chat on screen. `session` says which chat that was in the recording; it is selected already.
  case send(text: String, session: String?, thread: String?, ids: ActionIDs, options: JSONObject)
  /// The composer's text becomes this.
  case type(text: String)
  case select(session: String, thread: String?)
  case selectDesktop(String)
  case refresh
  /// A saved edit (`enqueue`), or an edit that is sent at once (`automatic`). `createdAt` of the new entry, epoch milliseconds; nil: now.
  case edit(operation: String, text: String, send: Bool, ids: ActionIDs, createdAt: Int64? = nil)
  case remove(operation: String, ids: ActionIDs)
  /// Drags the row of `queueId` to a place in the list of queued entries, counted without it.
  case reorder(queueId: String, to: Int, ids: ActionIDs)
  case sendNow(operation: String, ids: ActionIDs)
  case stop(session: String?, ids: ActionIDs)
  /// The list is drawn down at once until it is near its top (SCENARIO.md 3.6): what a recording tells of an older page.
  case older
  /// A finger on the list.
  case drag(Drag)
  /// Scrolls to the top.
  case tapStatusBar
  case scrollToLatest
  case composer(open: Bool)
  case preview(open: Bool)
  case sheet(open: Bool)
  case reduceMotion(Bool)
  case background
  case foreground
}

/// Identifiers that an action brings along (HB-OUTBOX-26); the core makes those that are nil.
package struct ActionIDs: Hashable, Sendable {
  package var queueId: String?
  package var operationId: String?
  package var mutationId: String?

  package init(queueId: String? = nil, operationId: String? = nil, mutationId: String? = nil) {
    self.queueId = queueId
    self.operationId = operationId
    self.mutationId = mutationId
  }

  fileprivate var json: JSON? {
    var object = JSONObject()
    object["queueId"] = queueId.map(JSON.string)
    object["operationId"] = operationId.map(JSON.string)
    object["mutationId"] = mutationId.map(JSON.string)
    return object.isEmpty ? nil : .object(object)
  }

  fileprivate init(json: JSON?) {
    self.init(
      queueId: json?["queueId"]?.string, operationId: json?["operationId"]?.string, mutationId: json?["mutationId"]?.string)
  }
}

extension UserAction {
  private static let send = [
    "text", "session?", "thread?", "ids?", "promptText?", "selection?", "speedMode?", "accessLevel?", "createdAt?",
  ]

  /// The gestures with their fields (`?` behind those that may be left out) and a sentence each: those of the cases, in their order, and
  /// `restart`, which is the world's affair.
  package static let gestures: [(name: String, fields: [String], meaning: String)] = [
    ("send", send, "sends the text in the chat on screen; during a run it steers that run"),
    ("type", ["text"], "the text of the composer becomes this"),
    ("select", ["session", "thread?"], "opens a chat, or the viewer of one of its threads"),
    ("desktop", ["desktop"], "goes to another desktop"),
    ("refresh", [], "asks for the latest window of the chat on screen"),
    ("edit", ["operation", "text", "then", "ids?", "createdAt?"], "writes a queued message anew; then = save or send"),
    ("remove", ["operation", "ids?"], "deletes a queued message"),
    ("reorder", ["move", "to", "ids?"], "drags the queued message with this queue id to a place counted without it"),
    ("sendNow", ["operation", "ids?"], "Send now on a queued message"),
    ("stop", ["session?", "ids?"], "the Stop control of the run on screen"),
    ("older", [], "draws the list down at once until an older page is wanted"),
    (
      "drag", ["path", "velocity?", "held?"],
      "a finger on the list: path of [ms, points down], then held ms of rest, then a lift with a velocity in points/s"
    ),
    ("tapStatusBar", [], "scrolls to the top"),
    ("scrollToLatest", [], "scrolls to the bottom and follows it"),
    ("openComposer", [], "opens the large composer"), ("closeComposer", [], "closes it"),
    ("openPreview", [], "opens a preview over the chat"), ("closePreview", [], "closes it"),
    ("openSheet", [], "opens the sheet of queued messages"), ("closeSheet", [], "closes it"),
    ("reduceMotion", ["on"], "turns Reduce Motion on or off"),
    ("background", [], "leaves the app"), ("foreground", [], "comes back to it"),
    (Gesture.restart, ["for?"], "ends the app and launches it again after for ms (500)"),
  ]

  /// Checks a gesture that somebody wrote: name, every field and its type. Throws with the key path of what does not fit.
  package static func check(_ gesture: Gesture) throws(JSONError) {
    guard let known = gestures.first(where: { $0.name == gesture.name }) else {
      throw JSONError(path: "do", problem: "unknown gesture “\(gesture.name)”")
    }
    if let repeated = gesture.fields.repeatedName { throw JSONError(path: repeated, problem: "stands twice") }
    for member in gesture.fields.members {
      guard known.fields.contains(member.name) || known.fields.contains(member.name + "?") else {
        let has = known.fields.isEmpty ? "has no fields" : "has \(known.fields.joined(separator: ", "))"
        throw JSONError(path: member.name, problem: "\(gesture.name) \(has)")
      }
      try check(member)
    }
    if gesture.name == Gesture.restart { _ = try gesture.restartPause() } else { _ = try UserAction(gesture) }
  }

  /// The fields whose type reading a gesture does not check, since they may be left out.
  private static func check(_ member: JSONObject.Member) throws(JSONError) {
    let problem: String?
    switch member.name {
    case "session", "thread": problem = member.value.string == nil && member.value != .null ? "expected a string" : nil
    case "promptText", "speedMode", "accessLevel": problem = member.value.string == nil ? "expected a string" : nil
    case "createdAt": problem = member.value.wireInteger == nil ? "expected epoch milliseconds" : nil
    case "selection":
      let fits = member.value["model"]?.string != nil && member.value["reasoningEffort"]?.string != nil
      problem = fits || member.value == .null ? nil : "expected model and reasoningEffort"
    case "ids":
      guard let ids = member.value.object else { throw JSONError(path: "ids", problem: "expected an object") }
      for id in ids.members {
        guard ["queueId", "operationId", "mutationId"].contains(id.name) else {
          throw JSONError(path: "ids.\(id.name)", problem: "ids has queueId?, operationId?, mutationId?")
        }
        guard id.value.string != nil else { throw JSONError(path: "ids.\(id.name)", problem: "expected a string") }
      }
      problem = nil
    default: problem = nil
    }
    if let problem { throw JSONError(path: member.name, problem: problem) }
  }

  package var gesture: Gesture {
    func made(_ name: String, _ fields: [(String, JSON?)]) -> Gesture {
      Gesture(name, JSONObject(fields.compactMap { name, value in value.map { JSONObject.Member(name: name, value: $0) } }))
    }
    switch self {
    case .send(let text, let session, let thread, let ids, let options):
      var gesture = made(
        "send",
        [("text", .string(text)), ("session", session.map(JSON.string)), ("thread", thread.map(JSON.string)), ("ids", ids.json)])
      gesture.fields.members.append(contentsOf: options.members)
      return gesture
    case .type(let text): return made("type", [("text", .string(text))])
    case .select(let session, let thread): return made("select", [("session", .string(session)), ("thread", thread.map(JSON.string))])
    case .selectDesktop(let desktop): return made("desktop", [("desktop", .string(desktop))])
    case .refresh: return made("refresh", [])
    case .edit(let operation, let text, let send, let ids, let createdAt):
      return made(
        "edit",
        [
          ("operation", .string(operation)), ("text", .string(text)), ("then", .string(send ? "send" : "save")), ("ids", ids.json),
          ("createdAt", createdAt.map(JSON.integer)),
        ])
    case .remove(let operation, let ids): return made("remove", [("operation", .string(operation)), ("ids", ids.json)])
    case .reorder(let queueId, let to, let ids): return made("reorder", [("move", .string(queueId)), ("to", .int(to)), ("ids", ids.json)])
    case .sendNow(let operation, let ids): return made("sendNow", [("operation", .string(operation)), ("ids", ids.json)])
    case .stop(let session, let ids): return made("stop", [("session", session.map(JSON.string)), ("ids", ids.json)])
    case .older: return made("older", [])
    case .drag(let drag): return Gesture("drag", drag.fields)
    case .tapStatusBar: return made("tapStatusBar", [])
    case .scrollToLatest: return made("scrollToLatest", [])
    case .composer(let open): return made(open ? "openComposer" : "closeComposer", [])
    case .preview(let open): return made(open ? "openPreview" : "closePreview", [])
    case .sheet(let open): return made(open ? "openSheet" : "closeSheet", [])
    case .reduceMotion(let isOn): return made("reduceMotion", [("on", .bool(isOn))])
    case .background: return made("background", [])
    case .foreground: return made("foreground", [])
    }
  }

  /// Reads a gesture; throws with the missing field or the unknown name.
  package init(_ gesture: Gesture) throws(JSONError) {
    func text(_ name: String) throws(JSONError) -> String {
      guard let value = gesture.fields[name]?.string else { throw JSONError(path: name, problem: "\(gesture.name) needs a string") }
      return value
    }
    let ids = ActionIDs(json: gesture.fields["ids"])
    switch gesture.name {
    case "send":
      let options = JSONObject(
        gesture.fields.members.filter { ["selection", "speedMode", "accessLevel", "promptText", "createdAt"].contains($0.name) })
      self = .send(
        text: try text("text"), session: gesture.fields["session"]?.string, thread: gesture.fields["thread"]?.string, ids: ids,
        options: options)
    case "type": self = .type(text: try text("text"))
    case "select": self = .select(session: try text("session"), thread: gesture.fields["thread"]?.string)
    case "desktop": self = .selectDesktop(try text("desktop"))
    case "refresh": self = .refresh
    case "edit":
      let then = try text("then")
      guard then == "send" || then == "save" else { throw JSONError(path: "then", problem: "save or send, not “\(then)”") }
      self = .edit(
        operation: try text("operation"), text: try text("text"), send: then == "send", ids: ids,
        createdAt: gesture.fields["createdAt"]?.wireInteger)
    case "remove": self = .remove(operation: try text("operation"), ids: ids)
    case "reorder":
      guard let to = gesture.fields["to"]?.int, to >= 0 else { throw JSONError(path: "to", problem: "reorder needs a place from 0") }
      self = .reorder(queueId: try text("move"), to: to, ids: ids)
    case "sendNow": self = .sendNow(operation: try text("operation"), ids: ids)
    case "stop": self = .stop(session: gesture.fields["session"]?.string, ids: ids)
    case "older": self = .older
    case "drag": self = .drag(try Drag(gesture.fields))
    case "tapStatusBar": self = .tapStatusBar
    case "scrollToLatest": self = .scrollToLatest
    case "openComposer", "closeComposer": self = .composer(open: gesture.name == "openComposer")
    case "openPreview", "closePreview": self = .preview(open: gesture.name == "openPreview")
    case "openSheet", "closeSheet": self = .sheet(open: gesture.name == "openSheet")
    case "reduceMotion":
      guard let isOn = gesture.fields["on"]?.bool else { throw JSONError(path: "on", problem: "reduceMotion needs true or false") }
      self = .reduceMotion(isOn)
    case "background": self = .background
    case "foreground": self = .foreground
    default: throw JSONError(path: "do", problem: "unknown gesture “\(gesture.name)”")
    }
  }
}
