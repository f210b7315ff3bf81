import Contract

/// The timers of the phone by purpose and object.
enum TimerName: Hashable, Sendable {
  /// Time limit of a request (spec B.2).
  case request(String)
  /// Renewal (HB-LEASE-02).
  case lease
  /// Outbox check of a scope (HB-OUTBOX-11).
  case check(String)
  /// Periodic load (HB-LOAD-07).
  case load(String)
  /// A load that waits for its spacing or its retry (HB-LOAD-12, -13).
  case start(String)
  /// Slot of the intake (HB-OVER-06).
  case intake(String)

  var id: TimerID {
    switch self {
    case .request(let id): TimerID("request:" + id)
    case .lease: TimerID("lease:")
    case .check(let scope): TimerID("check:" + scope)
    case .load(let host): TimerID("load:" + host)
    case .start(let host): TimerID("start:" + host)
    case .intake(let host): TimerID("intake:" + host)
    }
  }

  init?(_ id: TimerID) {
    let parts = id.name.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let object = String(parts[1])
    switch parts[0] {
    case "request": self = .request(object)
    case "lease": self = .lease
    case "check": self = .check(object)
    case "load": self = .load(object)
    case "start": self = .start(object)
    case "intake": self = .intake(object)
    default: return nil
    }
  }
}
