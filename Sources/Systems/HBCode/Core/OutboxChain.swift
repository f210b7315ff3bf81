import Contract
import HBCodeDialect
import Simulation
import Wire

/// The outbox of one session on the phone (spec D.4, HB-OUTBOX): its operations, the last desktop list, and the serial chain of
/// changes and checks. Events go in, effects come out in order; the owner sends, stores and keeps the clock.
package struct OutboxChain: Sendable {
  /// Base of the wait between checks (HB-OUTBOX-11 [seed]: 10 to 13 s).
  package static let checkWait = Interval.seconds(10)
  /// Band of u in that wait.
  package static let checkJitter = 0.0...0.3
  /// The phone resends by itself only this long, by the wall clock (HB-OUTBOX-15): 48 h in milliseconds.
  package static let resendMilliseconds: Int64 = 48 * 3_600_000

  /// One thing that the chain does: at most one is in flight (HB-OUTBOX-07).
  package enum Work: Hashable, Sendable {
    case check
    case submit(operation: String, mutationId: String)
    case remove(operation: String, mutationId: String)
    case reorder(mutationId: String)

    var operation: String? {
      switch self {
      case .check, .reorder: nil
      case .submit(let operation, _), .remove(let operation, _): operation
      }
    }
  }

  /// What the rest of the phone looks like at this moment.
  package struct Situation: Sendable {
    package var now: Instant
    package var wallMilliseconds: Int64
    /// The connection is up and the desktop can take a request.
    package var isUsable: Bool
    /// The chat is on screen and the app active.
    package var isOpen: Bool
    /// The thread on screen, nil for the main timeline; of use only while the session's chat is on screen.
    package var thread: String?
    /// The composer shows this session and has no text and no attachments.
    package var composerIsFree: Bool
    /// Rows of this session that the phone knows.
    package var timelines: [Timeline]
    package var draws: Draws

    package init(
      now: Instant, wallMilliseconds: Int64, isUsable: Bool, isOpen: Bool, thread: String? = nil, composerIsFree: Bool = true,
      timelines: [Timeline] = [], draws: Draws = .fixed(0)
    ) {
      self.now = now
      self.wallMilliseconds = wallMilliseconds
      self.isUsable = isUsable
      self.isOpen = isOpen
      self.thread = thread
      self.composerIsFree = composerIsFree
      self.timelines = timelines
      self.draws = draws
    }
  }

  /// Why a work has no answer that counts.
  package enum Failure: Hashable, Sendable {
    case timeout
    case connectionLost
    case undecodable(DecodeFailure)
    case error(WireError)

    /// Unknown outcome, spec B.7.
    var isUnknown: Bool {
      switch self {
      case .timeout, .connectionLost, .undecodable: true
      case .error(let error): error.code == "desktop_offline"
      }
    }
  }

  /// An answer to a work.
  package struct Answer: Hashable, Sendable {
    /// `updated` or `delivered`; nil for a check.
    package var outcome: String?
    package var list: OutboxList
    package init(outcome: String?, list: OutboxList) {
      self.outcome = outcome
      self.list = list
    }
  }

  package enum Effect: Hashable, Sendable {
    /// To be stored before any later effect.
    case write(operation: String, ReplaySet.Record)
    case send(Work, params: JSONObject)
    /// One user action became this operation.
    case accepted(operation: String, text: String, supersedes: String?)
    /// The user acts on an entry that only the desktop listed: the phone keeps it in its own books from now on.
    case adopted(operation: String, text: String)
    /// The operation is in another state of D.4.
    case changed(operation: String, OutboxOperation)
    case says(operation: String, Vocabulary.ClientWord)
    /// The text of a rejected message goes back into the composer (HB-OUTBOX-16).
    case restore(operation: String, text: String)
    /// The request of this work is no longer waited for (HB-OUTBOX-12).
    case giveUp(Work)
    case armCheck(at: Instant)
    case disarmCheck
  }

  /// A reorder that the desktop has not confirmed: the local order is shown (HB-SHEET-11).
  private struct Reorder: Hashable, Sendable {
    var mutationId: String
    var queueIds: [String]
    var isUnknown = false
  }

  package let session: String
  private var table = OrderedMap<String, OutboxOperation>()
  /// Operations that are not done, in operation order.
  private var active: [String] = []
  /// The last desktop list that was taken over; nil before the first.
  package private(set) var desktop: OutboxList?
  private var waiting: [Work] = []
  package private(set) var inFlight: Work?
  /// A check goes before everything that waits.
  private var isCheckDue = false
  /// The last check failed: changes wait for the next one (HB-OUTBOX-24).
  private var isBlocked = false
  /// The armed check.
  private var checkAt: Instant?
  /// A check fell due while the chat was not open (HB-OUTBOX-11).
  private var isOverdue = false
  private var checkDraws = 0
  private var reorders: [Reorder] = []
  private var said: [String: Vocabulary.ClientWord] = [:]

  package init(session: String) { self.session = session }

  // MARK: Reading

  /// Operations in operation order.
  package var operations: [(id: String, operation: OutboxOperation)] { table.pairs.map { ($0.key, $0.value) } }
  package subscript(operation: String) -> OutboxOperation? { table[operation] }
  /// Operations that are not done, in operation order.
  package var activeOperations: [String] { active }
  var operationCount: Int { table.count }
  /// The queue IDs of the newest reorder that is not settled (HB-SHEET-11).
  var localOrder: [String]? { reorders.last?.queueIds }

  /// Whether an operation is not terminal yet.
  package var hasPending: Bool { !active.isEmpty }
  /// Whether a message waits for a check (HB-OUTBOX-11).
  package var isMessageWaiting: Bool { active.contains { table[$0]?.waitsForCheck ?? false } }
  package var hasUnknownOutcome: Bool { active.contains { table[$0]?.isOutcomeUnknown ?? false } }

  /// The desktop's entry of an operation.
  package func listed(_ operation: String) -> OutboxEntry? { desktop?.entries.first { $0.operationId == operation } }

  /// The entry as it is known: the local one, else the desktop's.
  package func entry(_ operation: String) -> OutboxEntry? { table[operation]?.entry ?? listed(operation) }

  // MARK: User actions

  /// A composer send, or an edit when `supersedes` names the operation that it replaces.
  package mutating func submit(
    _ entry: OutboxEntry, supersedes: String? = nil, atFront: Bool = false, _ situation: Situation, _ out: inout [Effect]
  ) {
    let id = entry.operationId
    guard table[id] == nil, case .submit(let mutationId, _)? = entry.pendingMutation else { return }
    var operation = OutboxOperation(entry: entry, state: .new, supersedes: supersedes)
    operation.isAtFront = atFront
    // The new operation is stored before the old one loses its mutation: a stop in between must not lose both.
    var later: [Effect] = []
    if let supersedes { operation.supersedes = hide(supersedes, behind: id, &later) }
    insert(id, operation)
    out.append(.write(operation: id, operation.record))
    out.append(.accepted(operation: id, text: entry.submit.userText, supersedes: supersedes))
    out.append(.changed(operation: id, operation))
    out += later
    waiting.append(.submit(operation: id, mutationId: mutationId))
    speak(&out)
    goOn(situation, &out)
  }

  /// The old operation of an edit leaves the screen and the chain. Returns the operation that the new submit names as superseded.
  private mutating func hide(_ old: String, behind new: String, _ out: inout [Effect]) -> String {
    if table[old] == nil, let entry = listed(old) {
      var operation = OutboxOperation(entry: entry.local, state: .confirmed)
      operation.confirmation = .revision(desktop?.revision ?? 0)
      insert(old, operation)
    }
    guard var operation = table[old], !operation.isDone else { return old }
    operation.hiddenBy = new
    var named = old
    switch operation.state {
    case .new where operation.firstSentAt == nil && listed(old) == nil:
      // The desktop never saw it: the new one replaces what this one would have replaced.
      drop(worksOf: old)
      table[old] = operation
      if let earlier = operation.supersedes {
        named = earlier
        table[earlier]?.hiddenBy = new
      }
      finish(old, .superseded, &out)
      return named
    case .unknown where operation.supersedes != nil, .retry where operation.supersedes != nil:
      // Whether it took the slot of the one before decides what the new one replaces: it is settled first.
      break
    case .unknown, .retry, .stranded:
      drop(worksOf: old)
      operation.entry.pendingMutation = nil
      operation.entry.status = .queued
      operation.entry.error = nil
      operation.confirmation = .none
      operation.state = .confirmed
    case .new, .sent, .confirmed, .removing, .error, .rejected, .done:
      break
    }
    let moved = operation.state != table[old]?.state
    table[old] = operation
    out.append(.write(operation: old, operation.record))
    if moved { out.append(.changed(operation: old, operation)) }
    return named
  }

  /// Send now (HB-SHEET-04, -12).
  package mutating func sendNow(_ id: String, mutationId: String, _ situation: Situation, _ out: inout [Effect]) {
    guard var operation = known(id) else { return }
    switch operation.state {
    case .unknown, .retry:
      operation.sendNowAfterCheck = mutationId
      table[id] = operation
    case .confirmed, .error:
      insert(id, operation, &out)
      resubmit(id, mutationId: mutationId, &out)
      speak(&out)
      goOn(situation, &out)
    case .new, .sent, .stranded, .removing, .rejected, .done:
      break
    }
  }

  /// A new mutation of the same operation, to the front, by the user.
  private mutating func resubmit(_ id: String, mutationId: String, _ out: inout [Effect]) {
    guard var operation = table[id] else { return }
    operation.entry.pendingMutation = .submit(mutationId: mutationId, intent: .automatic)
    operation.entry.status = .sending
    operation.entry.error = nil
    operation.firstSentAt = nil
    operation.sendNowAfterCheck = nil
    operation.isAtFront = true
    operation.state = .new
    table[id] = operation
    out.append(.write(operation: id, operation.record))
    out.append(.changed(operation: id, operation))
    waiting.append(.submit(operation: id, mutationId: mutationId))
  }

  /// Delete (HB-SHEET-07).
  package mutating func remove(_ id: String, mutationId: String, _ situation: Situation, _ out: inout [Effect]) {
    guard var operation = known(id), operation.state != .sent, operation.state != .removing(.sent) else { return }
    drop(worksOf: id)
    operation.entry.pendingMutation = .remove(mutationId: mutationId)
    operation.entry.status = .queued
    operation.entry.error = nil
    operation.firstSentAt = nil
    operation.wasMissing = false
    operation.sendNowAfterCheck = nil
    operation.isAtFront = false
    operation.state = .removing(.waiting)
    insert(id, operation, &out)
    out.append(.write(operation: id, operation.record))
    out.append(.changed(operation: id, operation))
    waiting.append(.remove(operation: id, mutationId: mutationId))
    speak(&out)
    goOn(situation, &out)
  }

  /// Drags a row to a place among the queued entries of the thread, counted without it (HB-SHEET-03).
  package mutating func reorder(
    queueId: String, to place: Int, mutationId: String, _ situation: Situation, _ out: inout [Effect]
  ) {
    var order = sheet(thread: situation.thread).map(\.queueId)
    guard let from = order.firstIndex(of: queueId) else { return }
    order.remove(at: from)
    order.insert(queueId, at: min(max(place, 0), order.count))
    reorders.append(Reorder(mutationId: mutationId, queueIds: order))
    waiting.append(.reorder(mutationId: mutationId))
    goOn(situation, &out)
  }

  /// The operation of a user's action that is not terminal: an entry that only the desktop lists becomes a confirmed one.
  private func known(_ id: String) -> OutboxOperation? {
    if let operation = table[id] { return operation.isDone ? nil : operation }
    guard let entry = listed(id) else { return nil }
    var operation = OutboxOperation(entry: entry.local, state: .confirmed)
    operation.confirmation = .revision(desktop?.revision ?? 0)
    return operation
  }

  // MARK: What happens around it

  /// A launch: what the replay set holds, in operation order. Everything with a mutation is of unknown outcome (HB-OUTBOX-20).
  package mutating func restore(_ scope: ReplaySet.Scope, _ situation: Situation, _ out: inout [Effect]) {
    for id in scope.order {
      guard case .pending(let pending)? = scope[id] else { continue }
      let state: OutboxOperation.State
      switch pending.entry.pendingMutation {
      case .submit?: state = .unknown
      case .remove?: state = .removing(.unknown)
      case nil: state = pending.entry.error == nil ? .confirmed : .error
      }
      var operation = OutboxOperation(
        entry: pending.entry, state: state, firstSentAt: pending.firstSentAt, supersedes: pending.supersedes)
      if case .submit? = pending.entry.pendingMutation { operation.entry.status = .queued }
      operation.confirmation = .earlier
      insert(id, operation)
    }
    for id in scope.order {
      if let old = table[id]?.supersedes, table[old] != nil, case .submit? = table[id]?.entry.pendingMutation {
        table[old]?.hiddenBy = id
        table[old]?.confirmation = .none
      }
    }
    for id in scope.order {
      if let operation = table[id] { out.append(.changed(operation: id, operation)) }
    }
    speak(&out)
    settleTimer(situation, &out)
  }

  /// A list that is known at the start.
  package mutating func start(with list: OutboxList, _ out: inout [Effect]) {
    takeOver(list, &out)
    speak(&out)
  }

  /// The connection became usable: one check first (HB-OUTBOX-11, -19), when there is anything to look for.
  package mutating func becameUsable(_ situation: Situation, _ out: inout [Effect]) {
    if situation.isOpen || hasPending || !waiting.isEmpty || !reorders.isEmpty {
      isCheckDue = true
      isBlocked = false
    }
    goOn(situation, &out)
  }

  /// The connection may be used again although it never "became" usable (a start state says so).
  package mutating func resume(_ situation: Situation, _ out: inout [Effect]) { goOn(situation, &out) }

  /// The chat came on screen: a check that fell due meanwhile goes now (HB-OUTBOX-11).
  package mutating func opened(_ situation: Situation, _ out: inout [Effect]) {
    if isOverdue {
      isOverdue = false
      isCheckDue = true
      isBlocked = false
    }
    goOn(situation, &out)
  }

  /// The armed check is due.
  package mutating func checkFell(_ situation: Situation, _ out: inout [Effect]) {
    guard checkAt != nil else { return }
    checkAt = nil
    if situation.isOpen {
      isCheckDue = true
      isBlocked = false
      goOn(situation, &out)
    } else {
      isOverdue = true
    }
  }

  /// `chat:outbox-changed`: settles no sent or unknown operation (HB-OUTBOX-12). Returns whether it was taken over.
  package mutating func desktopChanged(_ list: OutboxList, _ situation: Situation, _ out: inout [Effect]) -> Bool {
    let isTaken = takeOver(list, &out)
    speak(&out)
    goOn(situation, &out)
    return isTaken
  }

  /// Operations seen in applied canonical history are done; a request in flight for one is given up (HB-OUTBOX-12).
  package mutating func seenInHistory(_ seen: Set<String>, _ situation: Situation, _ out: inout [Effect]) {
    var any = false
    for id in active where seen.contains(id) && table[id]?.isDone == false {
      finish(id, .delivered, &out)
      any = true
    }
    guard any else { return }
    speak(&out)
    goOn(situation, &out)
  }

  /// The work in flight was answered, or will not be.
  package mutating func ended(
    _ work: Work, _ result: Result<Answer, OutboxChain.Failed>, _ situation: Situation, _ out: inout [Effect]
  ) {
    guard inFlight == work else { return }
    inFlight = nil
    switch work {
    case .check: endCheck(result, situation, &out)
    case .submit(let id, _): endSubmit(id, result, situation, &out)
    case .remove(let id, _): endRemove(id, result, &out)
    case .reorder(let mutationId): endReorder(mutationId, result, &out)
    }
    speak(&out)
    goOn(situation, &out)
  }

  /// A failure as an error, for `Result`.
  package struct Failed: Error, Hashable, Sendable {
    package var why: Failure
    package init(_ why: Failure) { self.why = why }
  }

  // MARK: The chain

  /// The next thing of the chain, if it may go; then the wait for a check, which that may have ended.
  private mutating func goOn(_ situation: Situation, _ out: inout [Effect]) {
    pump(situation, &out)
    settleTimer(situation, &out)
  }

  private mutating func pump(_ situation: Situation, _ out: inout [Effect]) {
    guard situation.isUsable, inFlight == nil else { return }
    if isCheckDue { return sendCheck(&out) }
    if isBlocked { return }
    guard let work = waiting.first else { return }
    let blocks = active.contains { id in
      guard let operation = table[id], operation.isOutcomeUnknown, !operation.wasMissing else { return false }
      return id != work.operation
    }
    if blocks { return sendCheck(&out) }
    waiting.removeFirst()
    send(work, situation, &out)
  }

  private mutating func sendCheck(_ out: inout [Effect]) {
    isCheckDue = false
    isBlocked = false
    isOverdue = false
    if checkAt != nil {
      checkAt = nil
      out.append(.disarmCheck)
    }
    inFlight = .check
    out.append(.send(.check, params: ["sessionId": .string(session)]))
  }

  private mutating func send(_ work: Work, _ situation: Situation, _ out: inout [Effect]) {
    var params: JSONObject = ["sessionId": .string(session)]
    switch work {
    case .check: return
    case .submit(let id, _):
      guard var operation = table[id], case .submit(_, let intent)? = operation.entry.pendingMutation else { return }
      params["intent"] = .string(intent.rawValue)
      params["supersedesOperationId"] = operation.supersedes.map(JSON.string) ?? .null
      params["entry"] = operation.entry.submit.json
      operation.isRepeated = operation.state == .unknown
      operation.state = .sent
      operation.entry.error = nil
      operation.wasMissing = false
      table[id] = operation
      markSent(id, situation, &out)
    case .remove(let id, _):
      guard let operation = table[id] else { return }
      params["queueId"] = .string(operation.entry.queueId)
      params["operationId"] = .string(id)
      table[id]?.state = .removing(.sent)
      markSent(id, situation, &out)
    case .reorder(let mutationId):
      guard let reorder = reorders.first(where: { $0.mutationId == mutationId }) else { return }
      params["queueIds"] = .array(reorder.queueIds.map(JSON.string))
    }
    inFlight = work
    out.append(.send(work, params: params))
    speak(&out)
  }

  /// The set is written before the first frame leaves (HB-OUTBOX-08).
  private mutating func markSent(_ id: String, _ situation: Situation, _ out: inout [Effect]) {
    if table[id]?.firstSentAt == nil { table[id]?.firstSentAt = situation.wallMilliseconds }
    guard let operation = table[id] else { return }
    out.append(.write(operation: id, operation.record))
    if operation.state == .sent { out.append(.changed(operation: id, operation)) }
  }

  private mutating func drop(worksOf id: String) { waiting.removeAll { $0.operation == id } }

  // MARK: Ends

  private mutating func endCheck(
    _ result: Result<Answer, Failed>, _ situation: Situation, _ out: inout [Effect]
  ) {
    guard case .success(let answer) = result else {
      isBlocked = true
      armCheck(situation, &out)
      return
    }
    takeOver(answer.list, &out)
    reorders.removeAll { $0.isUnknown }
    var resends: [Work] = []
    for id in active {
      guard let operation = table[id] else { continue }
      let listed = answer.list.entries.first { $0.operationId == id }
      switch operation.state {
      case .unknown, .retry, .stranded:
        guard let mutation = operation.entry.pendingMutation else { continue }
        switch mutation {
        case .remove:
          // A removal that was given up by age: a check changes nothing.
          continue
        case .submit(let mutationId, _):
          drop(worksOf: id)
          if situation.timelines.contains(where: { $0.canonicalOperations.contains(id) }) {
            finish(id, .delivered, &out)
          } else if listed != nil || operation.wasAccepted || situation.timelines.contains(where: { $0.isVisible(operation: id) }) {
            let wanted = listed == nil ? nil : operation.sendNowAfterCheck
            confirm(id, revision: answer.list.revision, &out)
            if let wanted, table[id]?.state == .confirmed { resubmit(id, mutationId: wanted, &out) }
          } else if operation.state == .stranded {
            continue
          } else if isTooOld(operation, situation) {
            table[id]?.entry.error = nil
            set(id, .stranded, &out)
          } else {
            table[id]?.wasMissing = true
            table[id]?.sendNowAfterCheck = nil
            resends.append(.submit(operation: id, mutationId: mutationId))
          }
        }
      case .removing(.unknown):
        guard case .remove(let mutationId)? = operation.entry.pendingMutation else { continue }
        drop(worksOf: id)
        if isTooOld(operation, situation) {
          set(id, .stranded, &out)
        } else {
          table[id]?.wasMissing = true
          resends.append(.remove(operation: id, mutationId: mutationId))
        }
      case .new, .sent, .confirmed, .removing, .error, .rejected, .done:
        continue
      }
    }
    waiting.insert(contentsOf: resends, at: 0)
  }

  /// HB-OUTBOX-15: no age without a first frame, and none below 0 (a clock that was set back).
  private func isTooOld(_ operation: OutboxOperation, _ situation: Situation) -> Bool {
    guard let first = operation.firstSentAt else { return false }
    return situation.wallMilliseconds - first >= OutboxChain.resendMilliseconds
  }

  private mutating func endSubmit(
    _ id: String, _ result: Result<Answer, Failed>, _ situation: Situation, _ out: inout [Effect]
  ) {
    guard table[id]?.state == .sent else { return }
    switch result {
    case .success(let answer):
      // The receipt first: the list of that answer may already lack what it confirms.
      takeOver(answer.list, &out)
      confirm(id, revision: answer.list.revision, &out)
    case .failure(let failed):
      switch failed.why {
      case .error(let error) where error.permanent: reject(id, error, situation, &out)
      case let why where why.isUnknown:
        table[id]?.entry.status = .queued
        table[id]?.wasMissing = false
        set(id, .unknown, &out)
      case .error(let error):
        table[id]?.entry.status = .queued
        table[id]?.entry.error = error.message
        set(id, .retry, &out)
      case .timeout, .connectionLost, .undecodable: break
      }
    }
  }

  /// A permanent rejection (HB-OUTBOX-16).
  private mutating func reject(_ id: String, _ error: WireError, _ situation: Situation, _ out: inout [Effect]) {
    guard let operation = table[id] else { return }
    set(id, .rejected, &out)
    table[id]?.entry.status = .queued
    table[id]?.entry.pendingMutation = nil
    table[id]?.isAtFront = false
    if listed(id) != nil {
      table[id]?.entry.error = error.message
      table[id]?.confirmation = .revision(desktop?.revision ?? 0)
      set(id, .confirmed, &out)
    } else if situation.composerIsFree, operation.entry.submit.threadId == situation.thread {
      out.append(.restore(operation: id, text: operation.entry.submit.userText))
      finish(id, .restored, &out)
    } else {
      table[id]?.entry.error = error.message
      set(id, .error, &out)
    }
    reveal(operation.supersedes, isGone: error.code == "operation_gone", &out)
  }

  /// The operation is the desktop's now (HB-OUTBOX-05); what it replaced is done.
  private mutating func confirm(_ id: String, revision: Int64, _ out: inout [Effect]) {
    guard var operation = table[id], !operation.isDone else { return }
    let old = operation.supersedes
    operation.entry.pendingMutation = nil
    operation.entry.status = .queued
    operation.entry.error = nil
    operation.firstSentAt = nil
    operation.supersedes = nil
    operation.wasMissing = false
    operation.sendNowAfterCheck = nil
    operation.isAtFront = false
    operation.confirmation = .revision(revision)
    table[id] = operation
    set(id, .confirmed, &out)
    if let old, table[old]?.isDone == false { finish(old, .superseded, &out) }
    if let desktop, desktop.revision > revision, listed(id) == nil { finish(id, .delivered, &out) }
  }

  private mutating func endRemove(_ id: String, _ result: Result<Answer, Failed>, _ out: inout [Effect]) {
    guard table[id]?.state == .removing(.sent) else { return }
    switch result {
    case .success(let answer):
      takeOver(answer.list, &out)
      if answer.outcome == "delivered" {
        finish(id, .delivered, &out)
      } else if !answer.list.entries.contains(where: { $0.operationId == id }) {
        finish(id, .removed, &out)
      } else {
        set(id, .removing(.unknown), &out)
      }
    case .failure(let failed):
      if case .error(let error) = failed.why, !failed.why.isUnknown {
        table[id]?.entry.error = error.message
        if error.permanent {
          table[id]?.entry.pendingMutation = nil
          table[id]?.firstSentAt = nil
          table[id]?.confirmation = .revision(desktop?.revision ?? 0)
          return set(id, .confirmed, &out)
        }
      }
      table[id]?.wasMissing = false
      set(id, .removing(.unknown), &out)
    }
  }

  /// A reorder is never repeated (HB-SHEET-11): whatever is not `updated` takes the desktop's order, after a check if it is unknown.
  private mutating func endReorder(_ mutationId: String, _ result: Result<Answer, Failed>, _ out: inout [Effect]) {
    guard let index = reorders.firstIndex(where: { $0.mutationId == mutationId }) else { return }
    switch result {
    case .success(let answer):
      reorders.remove(at: index)
      takeOver(answer.list, &out)
    case .failure(let failed):
      if case .error(let error) = failed.why, error.permanent {
        reorders.remove(at: index)
      } else {
        reorders[index].isUnknown = true
        isCheckDue = true
      }
    }
  }

  /// Takes a desktop list over unless a newer one is known (HB-OUTBOX-22). A confirmed operation that a newer list lacks is done.
  @discardableResult
  private mutating func takeOver(_ list: OutboxList, _ out: inout [Effect]) -> Bool {
    if let desktop, list.revision < desktop.revision { return false }
    desktop = list
    var names = Set<String>()
    for entry in list.entries {
      names.insert(entry.operationId)
      if entry.accepted != nil { table[entry.operationId]?.wasAccepted = true }
    }
    for id in active {
      guard let operation = table[id] else { continue }
      let isListed = names.contains(id)
      switch operation.state {
      case .confirmed where !isListed:
        switch operation.confirmation {
        case .revision(let revision) where list.revision <= revision: break
        case .none: break
        case .revision, .earlier:
          finish(id, operation.hiddenBy.map(names.contains) ?? false ? .superseded : .delivered, &out)
        }
      case .error where isListed:
        // A restart cannot tell a refused Send now from a refused message: the desktop's list does.
        table[id]?.confirmation = .revision(list.revision)
        set(id, .confirmed, &out)
      case .new, .sent, .unknown, .retry, .stranded, .confirmed, .removing, .error, .rejected, .done:
        break
      }
    }
    return true
  }

  /// The new operation of an edit was refused: the old one shows again while the desktop lists it (HB-OUTBOX-05).
  private mutating func reveal(_ old: String?, isGone: Bool, _ out: inout [Effect]) {
    guard let old, let operation = table[old], !operation.isDone else { return }
    table[old]?.hiddenBy = nil
    guard operation.state == .confirmed else { return }
    if listed(old) != nil {
      table[old]?.confirmation = .revision(desktop?.revision ?? 0)
    } else {
      finish(old, isGone ? .delivered : .superseded, &out)
    }
  }

  private mutating func set(_ id: String, _ state: OutboxOperation.State, _ out: inout [Effect]) {
    table[id]?.state = state
    guard let operation = table[id] else { return }
    out.append(.write(operation: id, operation.record))
    out.append(.changed(operation: id, operation))
  }

  /// The operation is terminal (HB-OUTBOX-03): nothing is sent for it any more.
  private mutating func finish(_ id: String, _ fate: Fate, _ out: inout [Effect]) {
    guard let operation = table[id], !operation.isDone else { return }
    drop(worksOf: id)
    if let work = inFlight, work.operation == id {
      inFlight = nil
      out.append(.giveUp(work))
    }
    active.removeAll { $0 == id }
    table[id]?.hiddenBy = nil
    set(id, .done, &out)
    said[id] = fate.word
    out.append(.says(operation: id, fate.word))
    guard let old = operation.supersedes, table[old]?.isDone == false else { return }
    switch fate {
    case .restored: break
    case .removed where listed(old) != nil: reveal(old, isGone: false, &out)
    case .delivered, .removed, .superseded: finish(old, .superseded, &out)
    }
  }

  private mutating func insert(_ id: String, _ operation: OutboxOperation) {
    if table[id] == nil { active.append(id) }
    table[id] = operation
  }

  /// As above, for an action of the user on an entry that may be known from the desktop's list only.
  private mutating func insert(_ id: String, _ operation: OutboxOperation, _ out: inout [Effect]) {
    if table[id] == nil { out.append(.adopted(operation: id, text: operation.entry.submit.userText)) }
    insert(id, operation)
  }

  // MARK: The check's wait

  private mutating func armCheck(_ situation: Situation, _ out: inout [Effect]) {
    let u = situation.draws.u("check", session, checkDraws, in: OutboxChain.checkJitter)
    checkDraws += 1
    let at = situation.now + OutboxChain.checkWait.scaled(by: 1 + u)
    checkAt = at
    out.append(.armCheck(at: at))
  }

  /// The wait begins with the first message that waits, and ends with the last (HB-OUTBOX-11). A check that is owed after a failed
  /// one stays armed (HB-OUTBOX-24).
  private mutating func settleTimer(_ situation: Situation, _ out: inout [Effect]) {
    if isMessageWaiting {
      if checkAt == nil, !isCheckDue, !isOverdue, inFlight != .check { armCheck(situation, &out) }
    } else if checkAt != nil, !isBlocked {
      checkAt = nil
      out.append(.disarmCheck)
    }
  }

  // MARK: What the user is told

  /// Says what has changed since the last time.
  private mutating func speak(_ out: inout [Effect]) {
    for id in active {
      guard let word = word(id), said[id] != word else { continue }
      said[id] = word
      out.append(.says(operation: id, word))
    }
  }

  /// Nil: nothing new to say (a removal under way, a message that an edit hides).
  private func word(_ id: String) -> Vocabulary.ClientWord? {
    guard let operation = table[id] else { return nil }
    switch operation.state {
    case .new, .sent: return .sending
    case .unknown, .retry, .removing(.unknown): return .unconfirmed
    case .stranded: return .held
    case .confirmed: return operation.hiddenBy != nil ? nil : listed(id)?.holdReason == nil ? .waiting : .held
    case .error: return .failed
    case .removing, .rejected, .done: return nil
    }
  }
}
