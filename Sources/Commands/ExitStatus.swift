/// The exit statuses of chatbench: DESIGN.md 6. Scripts and CI rely on them.
package enum ExitStatus: Int32, Sendable, CaseIterable {
  /// Everything asked for was done; a judged run held.
  case held = 0
  /// A claim is broken, or a check found violations.
  case broken = 1
  /// Nothing broken, but something could not be decided, nothing was exercised, or `--require-fired` is unmet.
  case unknown = 2
  case usage = 64
  case badData = 65
  case noInput = 66
  case unreachable = 69
  case ownFault = 70
  case cannotCreate = 73
  case cannotWrite = 74
  /// Interrupted before anything was kept.
  case interrupted = 130

  /// What the status means, for the help.
  package var meaning: String {
    switch self {
    case .held: "held, or done as asked"
    case .broken: "a claim is broken, or a check found violations"
    case .unknown: "not decided, nothing exercised, or --require-fired unmet"
    case .usage: "wrong use of the command line"
    case .badData: "the input is damaged, or not what it should be"
    case .noInput: "no such input"
    case .unreachable: "a server or port cannot be reached or taken"
    case .ownFault: "a fault of chatbench itself"
    case .cannotCreate: "an output cannot be created"
    case .cannotWrite: "an output cannot be written"
    case .interrupted: "interrupted before anything could be kept"
    }
  }
}

/// Why a command ends early: a status and one line for standard error.
package struct CommandFailure: Error, Sendable {
  package var status: ExitStatus
  package var message: String

  package init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }
}
