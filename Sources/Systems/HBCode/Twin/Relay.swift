import Contract
import HBCodeDialect
import Simulation
import Wire

/// The relay: sockets of phones by desktop, and the timeline lease of each (HB-LEASE-01 to -03, -06).
struct Relay: Sendable {
  /// How long a lease is kept after its last renewal (HB-LEASE-02).
  static let leaseTime = Interval.seconds(60)

  private struct Lease: Sendable {
    var session: String
    var thread: String?
    var renewed: Instant
  }

  private struct Socket: Sendable {
    /// Nil when the endpoint names none.
    var desktop: String?
    /// One lease a phone: holding for another chat replaces it.
    var lease: Lease?
  }

  private var sockets = OrderedMap<ConnectionID, Socket>()
  /// The lease that the phone held when the recording began; its first socket has it.
  private var inherited: (desktop: String, lease: Lease)?

  /// - Parameter start: the phone at t = 0 (`Scenario.clientStart`).
  init(start: JSON) {
    guard start["connected"]?.bool == true, let lease = start["lease"], let session = lease["session"]?.string,
      let desktop = start["desktop"]?.string
    else { return }
    let age = min(max(-(lease["heldAt"]?.integer ?? 0), 0), 86_400_000)
    inherited = (
      desktop, Lease(session: session, thread: lease["thread"]?.string, renewed: .zero - .milliseconds(age))
    )
  }

  mutating func connect(_ connection: ConnectionID, _ endpoint: Endpoint) {
    var socket = Socket(desktop: Relay.desktop(of: endpoint), lease: nil)
    if let inherited, inherited.desktop == socket.desktop {
      socket.lease = inherited.lease
      self.inherited = nil
    }
    sockets[connection] = socket
  }

  mutating func disconnect(_ connection: ConnectionID) { sockets[connection] = nil }

  var all: [ConnectionID] { sockets.keys }

  func isConnected(_ connection: ConnectionID) -> Bool { sockets[connection] != nil }

  func desktop(of connection: ConnectionID) -> String? { sockets[connection]?.desktop }

  func connections(of desktop: String) -> [ConnectionID] { sockets.keys.filter { sockets[$0]?.desktop == desktop } }

  mutating func hold(_ connection: ConnectionID, session: String, thread: String?, at now: Instant) {
    sockets[connection]?.lease = Lease(session: session, thread: thread, renewed: now)
  }

  /// Gives up the lease if it is for that chat.
  mutating func release(_ connection: ConnectionID, session: String, thread: String?) {
    guard let lease = sockets[connection]?.lease, lease.session == session, lease.thread == thread else { return }
    sockets[connection]?.lease = nil
  }

  /// The phones that hold a lease for a session now, with the thread they show. A lease is good up to and including 60 s after its
  /// renewal (HB-FIG-10: forwards until 60 s, drops after).
  func holders(desktop: String, session: String, at now: Instant) -> [(connection: ConnectionID, thread: String?)] {
    var found: [(connection: ConnectionID, thread: String?)] = []
    for (connection, socket) in sockets.pairs where socket.desktop == desktop {
      guard let lease = socket.lease, lease.session == session, now - lease.renewed <= Relay.leaseTime else { continue }
      found.append((connection, lease.thread))
    }
    return found
  }

  /// `/v1/desktops/<id>`, without query.
  static func desktop(of endpoint: Endpoint) -> String? {
    let prefix = "/v1/desktops/"
    guard endpoint.target.hasPrefix(prefix) else { return nil }
    let rest = endpoint.target.dropFirst(prefix.count).prefix { $0 != "?" && $0 != "/" }
    return rest.isEmpty ? nil : String(rest)
  }
}
