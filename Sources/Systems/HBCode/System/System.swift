import Contract
import HBCodeCore
import HBCodeDialect
import HBCodeScenario
import HBCodeTwin
import Simulation
import Wire

/// HBCode, the iOS chat: its row of the catalog (article `HBCode`).
package let hbcode = ChatSystem(
  name: "hbcode", title: "HBCode (iOS chat over a relay)", behaviourVersion: 2,
  // Events of one instant: spec A. What the desktop does by itself comes after frames (SCENARIO.md 8.1).
  tieOrder: [.frame, .tape, .timer, .user, .displayFrame],
  labels: Method.allCases.flatMap { [(FrameLabel.Role.request, $0.rawValue), (.response, $0.rawValue)] }
    + EventName.allCases.map { (.event, $0.rawValue) },
  states: Phone.states,
  mutations: [Method.outboxSubmit, .outboxRemove, .outboxReorder, .stop].map(\.rawValue),
  snapshots: [Method.load, .loadThread].map(\.rawValue),
  makeLabeler: { HBCodeLabeler() },
  compile: { frames, wallClock, origin in try hbcodeScenario(of: frames, wallClockMilliseconds: wallClock, origin: origin) },
  readScenario: { json in try HBCodeScenario(json: json) },
  makeCore: { settings, store in Phone(settings: settings, store: store) },
  makeTwin: { scenario, random in
    // A scenario of another system has no desktop of ours: a twin that knows nothing answers `desktop_offline`.
    DesktopTwin(
      scenario: scenario as? HBCodeScenario ?? HBCodeScenario(facts: scenario.facts, clientStart: scenario.clientStart, desktops: []),
      random: random)
  },
  normalForm: hbcodeNormalForm, claims: HBCodeClaims.all, quietPhase: hbcodeQuietPhase,
  fields: [
    "id", "sessionId", "threadId", "runId", "desktopId", "queueId", "operationId", "mutationId", "intent", "sendMode",
    "supersedesOperationId", "hold", "limit", "anchor", "paramsHash", "attempt", "ok", "code", "permanent", "outcome", "revision",
    "settlementEpoch", "blocks", "operations",
  ],
  figures: HBCodeFigures.all, demonstration: HBCodeDemonstration.value, readdress: hbcodeReaddress,
  updates: [EventName.timelineOverlay.rawValue], gestures: UserAction.gestures,
  checkGesture: { gesture throws(JSONError) in try UserAction.check(gesture) })

/// HB-INV-15: with n operations that have no end yet, everything has one 13 s + 22 s × (n + 1) after the last fault. A run that
/// falls silent ends after 30 s more. n is at most what the user does and the phone had waiting.
@Sendable package func hbcodeQuietPhase(_ intents: [Intent], _ clientStart: JSON) -> Interval {
  let changing: Set<String> = ["send", "edit", "remove", "reorder", "sendNow", "stop"]
  let waiting = (clientStart["replaySet"]?["scopes"]?.object?.members ?? []).reduce(0) { $0 + ($1.value["order"]?.array?.count ?? 0) }
  let n = min(intents.count { changing.contains($0.gesture.name) } + waiting, mostWaiting)
  return .seconds(13) + .seconds(22) * Int64(n + 1) + .seconds(31)
}

/// More operations than this do not wait at the same time: the chain takes them one by one.
private let mostWaiting = 100

/// For audit 2: a recorded answer with the id of the request that the core sent for it: the newest one of the same key, or of the same
/// method and session. Nil when the core did not ask.
@Sendable package func hbcodeReaddress(_ answer: Frame, _ recorded: [Frame], _ asked: [Frame]) -> Frame? {
  let reader = HBCodeReader()
  guard case .response(var response) = reader.message(of: answer.payload) else { return answer }
  func requests(_ frames: [Frame]) -> some Sequence<RequestMessage> {
    frames.suffix(mostInFlight).reversed().lazy.compactMap { frame in
      if case .request(let request) = reader.message(of: frame.payload) { request } else { nil }
    }
  }
  guard let question = requests(recorded).first(where: { $0.id == response.id }) else { return nil }
  let own = requests(asked).first {
    guard $0.method == question.method else { return false }
    return question.idempotencyKey != nil
      ? $0.idempotencyKey == question.idempotencyKey : $0.params["sessionId"] == question.params["sessionId"]
  }
  guard let own else { return nil }
  response.id = own.id
  var readdressed = answer
  readdressed.payload = JSONWriter.compact(response.json)
  return readdressed
}

/// A phone has far fewer requests under way than this on one connection.
private let mostInFlight = 256
