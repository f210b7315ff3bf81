import Contract
import HBCodeDialect
import Simulation
import Wire

/// What a mark of the recording says of the user.
private enum Marked {
  case gesture(Gesture)
  /// A finger on the list, as an app tells of it; places are points below the place of the touch.
  case touch, moved(y: Double), lift(y: Double?, velocity: Double)
}

/// Words of marks that an app posts (`{"user": "drag-began"}`), and what the user did.
private let wordsOfMarks: [String: Marked] = [
  "composer-opened": .gesture(UserAction.composer(open: true).gesture),
  "composer-closed": .gesture(UserAction.composer(open: false).gesture),
  "preview-opened": .gesture(UserAction.preview(open: true).gesture),
  "preview-closed": .gesture(UserAction.preview(open: false).gesture),
  "sheet-opened": .gesture(UserAction.sheet(open: true).gesture),
  "sheet-closed": .gesture(UserAction.sheet(open: false).gesture),
  "status-bar-tapped": .gesture(UserAction.tapStatusBar.gesture),
  "scrolled-to-latest": .gesture(UserAction.scrollToLatest.gesture),
  "reduce-motion-on": .gesture(UserAction.reduceMotion(true).gesture),
  "reduce-motion-off": .gesture(UserAction.reduceMotion(false).gesture),
  "backgrounded": .gesture(UserAction.background.gesture),
  "foregrounded": .gesture(UserAction.foreground.gesture),
  "restarted": .gesture(Gesture(Gesture.restart)),
]

/// Marks of the recording (SCENARIO.md 3, step 6): gestures that the app itself or `drive` posted.
extension Compilation {
  /// The intents with what marks say: nil when no mark is a gesture.
  ///
  /// Whoever posts a gesture that requests show (send, select, …) posts all of them: then the marked ones take the place of the inferred
  /// ones, and get the identifiers that the inferred gesture of the same kind has. Marks of what no request shows (drags, composer, …)
  /// alone stand beside the inferred gestures. Where the list was drawn by hand, no older page is inferred.
  mutating func marked(_ inferred: [IntentDraft]) -> [IntentDraft]? {
    var drafts = readMarks()
    guard !drafts.isEmpty else { return nil }
    // Where a drag may have asked for an older page, no gesture is inferred from it.
    let isDrawn = drafts.contains { $0.action?.drawsList ?? false }
    let drawn = isDrawn ? [] : inferred.filter { $0.action?.isInferredScroll ?? false }
    let others = inferred.filter { !($0.action?.isInferredScroll ?? false) }
    let frames = drafts.map(\.frame)
    guard drafts.contains(where: { $0.action?.isShownByRequests ?? false }) else {
      note("what no request shows of the user is from \(frames.count == 1 ? "a mark" : "\(frames.count) marks")", frames, .recorded)
      return others + drawn + drafts
    }
    note("the user's gestures are those of \(frames.count == 1 ? "a mark" : "\(frames.count) marks")", frames, .recorded)
    var free = isDrawn ? inferred : others
    for index in drafts.indices {
      guard let action = drafts[index].action, let match = free.firstIndex(where: { $0.action.map(action.isSameKind) ?? false }) else {
        continue
      }
      let twin = free.remove(at: match)
      if let inferred = twin.action { drafts[index].action = action.with(inferred) }
      drafts[index].target = twin.target
      drafts[index].operation = twin.operation
      drafts[index].key = twin.key
      drafts[index].premise = twin.premise
      // What was assumed of it is known now.
      notes.removeAll { $0.basis == .assumed && $0.frames == [twin.frame] }
      guard twin.basis != .assumed else { continue }
      // A mark can reach the recorder after the frame that its gesture sent, and a good while before it when the machine is busy.
      if let sent = sent(twin, after: drafts[index].at) {
        drafts[index].at = sent
      } else if twin.at < drafts[index].at, drafts[index].at - twin.at <= .seconds(1) {
        drafts[index].at = twin.at
      }
    }
    let more = free.filter { $0.basis != .assumed }
    if !more.isEmpty {
      note(
        "what looks like a gesture in \(more.count == 1 ? "one place" : "\(more.count) places") has no mark: left out", more.map(\.frame),
        .recorded)
    }
    return drafts + drawn
  }

  /// The gestures of the marks, in order; a drag stands where it began.
  private mutating func readMarks() -> [IntentDraft] {
    var drafts: [IntentDraft] = []
    var bad: [Int] = []
    var finger: Finger?
    func lift(_ at: Instant, velocity: Double = 0, y: Double? = nil) {
      guard var lifted = finger else { return }
      if let y { lifted.move(to: y, at: at) }
      finger = nil
      drafts.append(
        IntentDraft(at: lifted.began, frame: lifted.frame, action: .drag(lifted.drag(until: at, velocity: velocity)), basis: .recorded))
    }
    for mark in traffic.marks {
      guard let user = mark.content["user"] else { continue }
      switch Compilation.meaning(of: user, mark.content) {
      case .gesture(let gesture)?:
        drafts.append(
          IntentDraft(
            at: mark.at, frame: mark.frame, action: try? UserAction(gesture), worldGesture: gesture.name == Gesture.restart ? gesture : nil,
            basis: .recorded))
      case .touch?:
        lift(mark.at)
        finger = Finger(began: mark.at, frame: mark.frame)
      case .moved(let y)? where finger != nil: finger?.move(to: y, at: mark.at)
      case .lift(let y, let velocity)? where finger != nil: lift(mark.at, velocity: velocity, y: y)
      case .moved?, .lift?, nil: bad.append(mark.frame)
      }
    }
    if let began = finger?.frame {
      note("the recording ends with a finger on the list", [began], .assumed)
      lift(traffic.end)
    }
    if !bad.isEmpty {
      note(bad.count == 1 ? "a mark is no gesture and is left out" : "\(bad.count) marks are no gestures and are left out", bad)
    }
    return drafts
  }

  /// What the `user` of a mark means: a word, the name of a gesture without fields, or a whole gesture, of which only known fields count.
  private static func meaning(of user: JSON, _ mark: JSON) -> Marked? {
    func points(_ name: String) -> Double? { mark[name]?.double.flatMap { $0.magnitude <= Drag.farthest ? $0 : nil } }
    if let word = user.string {
      switch word {
      case "drag-began": return .touch
      case "drag-moved": return points("y").map { .moved(y: $0) }
      case "drag-ended": return .lift(y: points("y"), velocity: points("velocity") ?? 0)
      default: return wordsOfMarks[word] ?? gesture(Gesture(word)).map { .gesture($0) }
      }
    }
    return (try? Gesture(json: user)).flatMap(gesture).map { .gesture($0) }
  }

  private static func gesture(_ written: Gesture) -> Gesture? {
    guard let known = UserAction.gestures.first(where: { $0.name == written.name }) else { return nil }
    let members = written.fields.members.filter { known.fields.contains($0.name) || known.fields.contains($0.name + "?") }
    let gesture = Gesture(written.name, JSONObject(members))
    return (try? UserAction.check(gesture)) == nil ? nil : gesture
  }

  /// A finger on the list between two marks.
  private struct Finger {
    var began: Instant
    var frame: Int
    private var path: [Drag.Place] = []

    init(began: Instant, frame: Int) {
      self.began = began
      self.frame = frame
    }

    /// Whole milliseconds since the touch, as a gesture carries them.
    private func length(_ at: Instant) -> Interval {
      .milliseconds(min((at - began).nanoseconds / 1_000_000, Drag.longest))
    }

    mutating func move(to y: Double, at: Instant) {
      if path.count < Drag.mostPlaces { path.append(Drag.Place(after: length(at), y: y)) }
    }

    func drag(until at: Instant, velocity: Double) -> Drag {
      Drag(path: path, velocity: velocity, held: length(at) - (path.last?.after ?? .zero))
    }
  }

  /// When a marked gesture was made, by the first frame that it sent within 500 ms of its mark: the mark is acknowledged before that frame
  /// leaves, but both wait for the recorder. A frame that may have let it go, or may have changed what it says, bounds the wait.
  private func sent(_ draft: IntentDraft, after mark: Instant) -> Instant? {
    guard let frame = draft.sentAt, frame >= mark, frame - mark <= .milliseconds(500) else { return nil }
    var first = frame
    func bound(_ at: Instant, _ sequence: Int) {
      if at >= mark, sequence < draft.frame { first = min(first, max(mark, at - .nanoseconds(1))) }
    }
    for event in traffic.events {
      switch event.event {
      case .overlay, .unknown, .sessionUpdated: break
      default: bound(event.at, event.frame)
      }
    }
    for exchange in traffic.exchanges {
      guard let answer = exchange.answer, let method = exchange.method else { continue }
      switch method {
      case .outboxLoad, .outboxSubmit, .outboxRemove, .outboxReorder, .stopAndSendNow: bound(answer.at, answer.frame)
      default: break
      }
    }
    for socket in traffic.sockets { if let opened = socket.opened { bound(opened, socket.firstFrame) } }
    return first
  }
}

extension UserAction {
  /// Whether requests of the phone show that it was made.
  fileprivate var isShownByRequests: Bool {
    switch self {
    case .send, .select, .selectDesktop, .refresh, .edit, .remove, .reorder, .sendNow, .stop, .older, .background, .foreground: true
    case .type, .drag, .tapStatusBar, .scrollToLatest, .composer, .preview, .sheet, .reduceMotion: false
    }
  }

  /// Whether it can bring the list near its top.
  fileprivate var drawsList: Bool {
    switch self {
    case .older, .drag, .tapStatusBar: true
    default: false
    }
  }

  /// What is inferred from an older page.
  fileprivate var isInferredScroll: Bool {
    switch self {
    case .older, .scrollToLatest: true
    default: false
    }
  }

  /// Whether two gestures can be the same one: kind, words and object agree as far as both say.
  fileprivate func isSameKind(as other: UserAction) -> Bool {
    switch (self, other) {
    case (.send(let a, let s, _, let i, _), .send(let b, let t, _, let j, _)):
      return a == b && (s == nil || t == nil || s == t) && (i.operationId == nil || i.operationId == j.operationId)
    case (.select(let a, let t), .select(let b, let u)): return a == b && t == u
    case (.selectDesktop(let a), .selectDesktop(let b)): return a == b
    case (.edit(let a, let t, let s, _, _), .edit(let b, let u, let r, _, _)): return a == b && t == u && s == r
    case (.remove(let a, _), .remove(let b, _)), (.sendNow(let a, _), .sendNow(let b, _)): return a == b
    case (.reorder(let a, let t, _), .reorder(let b, let u, _)): return a == b && t == u
    case (.stop(let a, _), .stop(let b, _)): return a == nil || b == nil || a == b
    case (.refresh, .refresh), (.older, .older), (.background, .background), (.foreground, .foreground): return true
    default: return false
    }
  }

  /// This gesture with the identifiers and options that the inferred one has and this one lacks.
  fileprivate func with(_ other: UserAction) -> UserAction {
    func merged(_ a: ActionIDs, _ b: ActionIDs) -> ActionIDs {
      ActionIDs(
        queueId: a.queueId ?? b.queueId, operationId: a.operationId ?? b.operationId, mutationId: a.mutationId ?? b.mutationId)
    }
    switch (self, other) {
    case (.send(let text, let session, let thread, let ids, let options), .send(_, let s, let t, let i, let o)):
      var all = options
      for member in o.members where all[member.name] == nil { all.members.append(member) }
      return .send(text: text, session: session ?? s, thread: thread ?? t, ids: merged(ids, i), options: all)
    case (.edit(let operation, let text, let send, let ids, let made), .edit(_, _, _, let i, let m)):
      return .edit(operation: operation, text: text, send: send, ids: merged(ids, i), createdAt: made ?? m)
    case (.remove(let operation, let ids), .remove(_, let i)): return .remove(operation: operation, ids: merged(ids, i))
    case (.sendNow(let operation, let ids), .sendNow(_, let i)): return .sendNow(operation: operation, ids: merged(ids, i))
    case (.reorder(let queue, let to, let ids), .reorder(_, _, let i)): return .reorder(queueId: queue, to: to, ids: merged(ids, i))
    case (.stop(let session, let ids), .stop(let s, let i)): return .stop(session: session ?? s, ids: merged(ids, i))
    default: return self
    }
  }
}
