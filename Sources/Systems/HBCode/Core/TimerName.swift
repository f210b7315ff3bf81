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
  /// The list by itself: a finger lifts, a row is prepared, a snapshot is applied (spec G.2).
  case list(String)
  /// A live change that waits for its interval (HB-REND-02).
  case render(String)
  /// Check of a held update (HB-REND-07).
  case held(String)
  /// Settle pass of the first reveal (HB-REVEAL-02).
  case reveal(String)
  /// Settle pass of an older page's restore (HB-OLDER-05).
  case restore(String)
  /// End of the 1.5 s for which a restore holds live rows (HB-OLDER-04).
  case restoreLive(String)
  /// Settle pass after a scroll to the bottom (HB-FOLLOW-03).
  case follow(String)

  var id: TimerID {
    switch self {
    case .request(let id): TimerID("request:" + id)
    case .lease: TimerID("lease:")
    case .check(let scope): TimerID("check:" + scope)
    case .load(let host): TimerID("load:" + host)
    case .start(let host): TimerID("start:" + host)
    case .intake(let host): TimerID("intake:" + host)
    case .list(let host): TimerID("list:" + host)
    case .render(let host): TimerID("render:" + host)
    case .held(let host): TimerID("held:" + host)
    case .reveal(let host): TimerID("reveal:" + host)
    case .restore(let host): TimerID("restore:" + host)
    case .restoreLive(let host): TimerID("restoreLive:" + host)
    case .follow(let host): TimerID("follow:" + host)
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
    case "list": self = .list(object)
    case "render": self = .render(object)
    case "held": self = .held(object)
    case "reveal": self = .reveal(object)
    case "restore": self = .restore(object)
    case "restoreLive": self = .restoreLive(object)
    case "follow": self = .follow(object)
    default: return nil
    }
  }
}
