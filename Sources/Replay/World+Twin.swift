import Contract
import Faults
import Simulation
import Wire

/// The twin and what it sends.
extension World {
  mutating func tellTwin(_ input: TwinInput, slowAnswerBy slow: Interval = .zero) {
    for effect in twin.handle(input, at: now) {
      switch effect {
      case .send(let frame, let after):
        var wait = after
        if slow > .zero {
          // A look at the label only: the frame is labelled when it leaves.
          var peek = labeler
          if peek.label(frame).role == .response { wait = wait + slow }
        }
        if wait > .zero {
          queue.push(.leaves(frame), at: now + wait, eventClass: rank(.frame))
        } else {
          transmit(frame, .in, early: wait)
        }
      case .close(let id, let code, _):
        guard isKnown(id), connections[id.number - 1].state == .up, !connections[id.number - 1].isSevered else { continue }
        connections[id.number - 1].isSevered = true
        let at = max(now + connections[id.number - 1].delay, connections[id.number - 1].lastIn)
        connections[id.number - 1].lastIn = at
        queue.push(.closeArrives(id.number, code: code), at: at, eventClass: rank(.frame))
      case .note(let note): record(.twin, note.kind, note.fields)
      }
    }
    watchTwin()
  }

  mutating func watchTwin() {
    guard let due = twin.nextDue, due != .never else {
      twinGeneration += 1
      twinDueAt = nil
      return
    }
    let at = max(due, now)
    if twinDueAt == at { return }
    twinGeneration += 1
    twinDueAt = at
    queue.push(.twinDue(generation: twinGeneration), at: at, eventClass: rank(.tape))
  }
}
