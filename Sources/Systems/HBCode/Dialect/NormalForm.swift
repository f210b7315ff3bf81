import Contract
import Simulation
import Wire

/// The frames of one side in the form that audits compare (SCENARIO.md 5), in the order given.
///
/// Requests have their ordinal per connection and method in place of their id (`run.chatLoad#2`), and so have their answers; rule-timed
/// requests have the method only. Members
/// stand in byte order of their names; integers by value; stamps in whole milliseconds. A string with a redacted part becomes
/// `NormalFrame.anyString`. Opens, closes, clock steps and marks are no messages and have no normal form.
///
/// Timing, by what makes a frame go: pings and pongs are counted. Events of the server: within 1 ms (the twin's audit); answers as their
/// requests. Client frames by a rule, within the band of the rule: reloads of a chat 18 s (60 to 78 s), outbox checks and resends under a
/// key seen before 3 s (10 to 13 s), renewals of a lease 1 s (every 20 s). Older pages: two display frames more than what else comes from
/// the user, which is within 5 ms.
package func hbcodeNormalForm(_ frames: [Frame]) -> [NormalFrame] {
  var form = NormalForm()
  return frames.compactMap { form.normal($0) }
}

private struct NormalForm {
  private struct Request {
    /// `run.chatLoad#2`, or `run.chatLoad~2` for a rule-timed one.
    var number: String
    var method: String
    var isRuleTimed: Bool
    var timing: TimingRule
  }

  private struct Place: Hashable {
    var connection: Int
    var text: String
  }

  private let reader = HBCodeReader()
  private var ordinals: [ConnectionID: Int] = [:]
  private var counts: [Place: Int] = [:]
  private var requests: [Place: Request] = [:]
  private var keys: Set<String> = []
  private var loaded: Set<String> = []
  private var opened: Set<Int> = []
  /// Chats that a hold came before their loads for.
  private var held: Set<String> = []
  /// The target of the last lease request of a connection.
  private var leases: [Int: JSON] = [:]

  mutating func normal(_ frame: Frame) -> NormalFrame? {
    // These are on no connection.
    if frame.kind == .mark || frame.kind == .clock { return nil }
    let ordinal = ordinals[frame.connection, default: ordinals.count + 1]
    ordinals[frame.connection] = ordinal
    let stream = "\(ordinal) \(frame.direction.rawValue)"
    func made(
      _ name: String, _ content: JSON, _ timing: TimingRule, ordinal: String? = nil, isSample: Bool = false
    ) -> NormalFrame {
      NormalFrame(
        stream: stream, name: name, content: content, timing: timing, at: frame.at, sequence: frame.sequence, ordinal: ordinal,
        isSample: isSample)
    }
    if frame.kind == .open { opened.insert(ordinal) }
    switch frame.kind {
    case .ping, .pong: return made(frame.kind.rawValue, .null, .countedOnly)
    case .text: break
    case .binary: return made("binary", .int(frame.payload.count), .within(byServer))
    default: return nil
    }
    let usual = TimingRule.within(frame.direction == .in ? byServer : byUser)
    switch reader.message(of: frame) {
    case .request(let request):
      let timing = frame.direction == .out ? rule(of: request, on: ordinal) : usual
      // The count of rule-timed requests may differ by one: they are counted apart, and have no ordinal themselves.
      var name = request.method
      let isRuleTimed: Bool
      if case .band = timing { isRuleTimed = true } else { isRuleTimed = false }
      name += isRuleTimed ? "~" : "#"
      let counter = Place(connection: ordinal, text: name)
      let number = counts[counter, default: 0] + 1
      counts[counter] = number
      requests[Place(connection: ordinal, text: request.id)] = Request(
        number: "\(name)\(number)", method: request.method, isRuleTimed: isRuleTimed, timing: timing)
      var named = request
      named.id = isRuleTimed ? request.method : "\(name)\(number)"
      return made("request \(request.method)", named.json.normal, timing, ordinal: named.id)
    case .response(let response):
      let request = requests[Place(connection: ordinal, text: response.id)]
      var named = response
      if let request { named.id = request.number }
      // An answer as its request.
      var timing = usual
      if case .within = request?.timing, let own = request?.timing { timing = own }
      return made(
        "response \(request?.method ?? "?")", named.json.normal, timing, ordinal: named.id, isSample: request?.isRuleTimed ?? false)
    case .event(let event): return made("event \(event.name)", event.json.normal, usual)
    case .invalid(let failure):
      let content = reader.json(of: frame.payload)?.normal ?? .string(String(decoding: frame.payload, as: UTF8.self))
      return made("invalid \(failure.reason)", content, usual)
    }
  }

  private let byServer = Interval.milliseconds(1)
  private let byUser = Interval.milliseconds(5)
  /// What a list asks for while it moves goes with a display frame: which one may be another by one at either end of the motion.
  private let byScroll = Interval.milliseconds(5) + DisplayLink.frame * 2

  /// Whether a request of the client goes by a rule (then its band) or by the user.
  private mutating func rule(of request: RequestMessage, on connection: Int) -> TimingRule {
    if let key = request.idempotencyKey, !keys.insert(key).inserted { return .band(.seconds(3)) }
    let params = request.params
    let target: JSON = [params["sessionId"] ?? .null, params["threadId"] ?? .null, params["anchor"] ?? .null]
    switch Method(rawValue: request.method) {
    case .load?, .loadThread?:
      // Where the recording begins in the middle a chat may have been on screen: then its first load there goes by the rule too.
      let isKept = !opened.contains(connection) && !held.contains(JSONWriter.text(params["sessionId"] ?? .null))
      return loaded.insert(JSONWriter.text(target)).inserted && !isKept ? .within(byUser) : .band(.seconds(18))
    case .loadPageBefore?, .loadThreadPageBefore?: return .within(byScroll)
    case .outboxLoad?: return .band(.seconds(3))
    case .timelineInterest?:
      let lease: JSON = .array([target, params["hold"] ?? .null])
      defer {
        leases[connection] = lease
        held.insert(JSONWriter.text(params["sessionId"] ?? .null))
      }
      return leases[connection] == lease ? .band(.seconds(1)) : .within(byUser)
    default: return .within(byUser)
    }
  }
}

extension JSON {
  /// Members in byte order of their names, integers by value, redacted strings as a marker.
  fileprivate var normal: JSON {
    switch self {
    case .object(let object):
      let members = object.members.map { JSONObject.Member(name: $0.name, value: $0.value.normalStamp(named: $0.name)) }
      return .object(JSONObject(members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }))
    case .array(let elements): return .array(elements.map(\.normal))
    case .string(let text): return text.contains("[redacted:") ? NormalFrame.anyString : self
    case .double: return integer.map(JSON.integer) ?? self
    case .null, .bool, .integer, .unsigned: return self
    }
  }

  /// As `normal`; a stamp with a fraction loses it.
  private func normalStamp(named name: String) -> JSON {
    guard case .double(let value) = self, ["createdAt", "timestamp", "startedAt", "acceptedAt", "updatedAt", "at"].contains(name),
      let milliseconds = Int64(exactly: value.rounded(.down))
    else { return normal }
    return .integer(milliseconds)
  }
}
