import Contract
import HBCodeDialect
import Simulation
import Wire

extension Compilation {
  /// Canonical rows: outcomes of stretches, the start state, or changes from outside (SCENARIO.md 3, step 10).
  mutating func readHistories() {
    for id in sessions.keys {
      guard var session = sessions[id] else { continue }
      readHistory(&session)
      let (history, goesOn) = (session.state.history, session.state.historyGoesOn)
      edit(id) {
        $0.state.history = history
        $0.state.historyGoesOn = goesOn
      }
    }
  }

  private mutating func readHistory(_ session: inout SessionSightings) {
    var known: [String: Row] = [:]
    var start: [Row] = []
    // Latest windows so far of the main timeline (nil) and of threads, with the least order that they reach (nil: down to the first row
    // there is).
    var reached: [(thread: String?, at: Instant, least: SourceOrder?, identities: Set<String>)] = []
    var oldest: (row: Row, hasOlder: Bool)?
    for window in session.windows {
      for row in window.rows {
        if let before = known[row.identity] {
          if !before.isEquivalent(to: row) {
            known[row.identity] = row
            outside(.history(row), session.id, at: window.source.happened, "history/\(row.identity)", window.source.frame, .assumed)
          }
          continue
        }
        known[row.identity] = row
        if let owner = owner(of: row, in: session) {
          settle(row, owner, session, window)
          continue
        }
        let lacking = reached.last {
          $0.thread == window.thread && $0.least.map { $0 <= row.sourceOrder } ?? true && !$0.identities.contains(row.identity)
        }
        guard let lacking else {
          start.append(row)
          continue
        }
        var at = window.source.happened
        var basis = Basis.assumed
        if let stamped = instant(ofStamp: row.timestamp), stamped > lacking.at, stamped < at {
          at = stamped
          basis = .derived
        } else {
          // The session said that something had changed, and no run of it ended then.
          let updates = session.updates.map(\.source.at).filter { update in
            update > lacking.at && update < at && !session.runs.contains { $0.end.map { isSame($0, update) } ?? false }
          }
          if updates.count == 1 { basis = .derived }
          at = updates.last ?? at
        }
        outside(.history(row), session.id, at: at, "history/\(row.identity)", window.source.frame, basis)
      }
      if window.isLatest {
        reached.append(
          (window.thread, window.source.at, window.hasOlder ? window.rows.map(\.sourceOrder).min() : nil, Set(window.rows.map(\.identity))))
      }
      if let first = window.rows.min(by: Row.precedes), !window.isPartial {
        if oldest.map({ !Row.precedes($0.row, first) }) ?? true { oldest = (first, window.hasOlder) }
        if let cursor = window.cursor, !book.cursors.contains(where: { $0.session == session.id && $0.cursor == cursor }) {
          book.cursors.append(IdentifierBook.CursorEntry(session: session.id, row: first.identity, cursor: cursor))
        }
      }
      if window.isLatest, !window.isPartial {
        let last = window.rows.max(by: Row.precedes)?.identity ?? ""
        if !book.boundaryTokens.contains(where: { $0.session == session.id && $0.lastRow == last }) {
          book.boundaryTokens.append(IdentifierBook.BoundaryEntry(session: session.id, lastRow: last, token: window.token))
        }
      }
    }
    session.state.history = start.sorted(by: Row.precedes)
    session.state.historyGoesOn = oldest?.hasOlder ?? false
    if session.state.historyGoesOn {
      note("the history of \(session.id) goes on beyond the oldest row that was seen", [], .recorded)
    }
  }

  /// The stretch whose outcome a row is: by its run, by the live row of the same identity, or by its operation.
  private func owner(of row: Row, in session: SessionSightings) -> Int? {
    if let run = row.runId {
      guard session.runs.contains(where: { $0.run.runId == run }) else { return nil }
      return stretch(of: row, in: session, at: .zero)
    }
    for life in session.runs {
      for part in life.parts {
        if row.type == .user, let operation = row.operationId, operation == part.operation { return part.stretch }
        let lived = stretches[part.stretch].steps.contains {
          $0.changes.contains { if case .put(let live) = $0 { live.identity == row.identity } else { false } }
        }
        if lived { return part.stretch }
      }
    }
    return nil
  }

  private mutating func settle(_ row: Row, _ index: Int, _ session: SessionSightings, _ window: SessionSightings.Window) {
    stretches[index].outcome.append(row)
    stretches[index].outcome.sort(by: Row.precedes)
    guard let life = session.runs.first(where: { $0.parts.contains { $0.stretch == index } }) else { return }
    let at = window.source.happened
    guard at >= life.begin, life.end.map({ at < $0 - Compilation.sameInstant }) ?? true else { return }
    // Seen in history while the run is on: it is there from 1 ns before that answer.
    let begin = stretches[index].recordedBegin ?? .zero
    let offset = min(max(at - begin, .zero), stretches[index].length)
    let place = stretches[index].steps.firstIndex { $0.offset > offset } ?? stretches[index].steps.count
    stretches[index].steps.insert(Step(offset: offset, changes: [.history(row)]), at: place)
  }

  /// A change that nothing of ours causes.
  mutating func outside(_ change: Change, _ session: String, at: Instant, _ name: String, _ frame: Int, _ basis: Basis) {
    note("\(name) of \(session) changes at \(at) from outside", [frame], basis)
    stretches.append(
      Stretch(
        id: "outside/\(session)/\(name)", lane: nil, cause: .clock(at), steps: [Step(offset: .zero, changes: [change])], length: .zero,
        recordedBegin: at, basis: basis, session: session))
  }
}
