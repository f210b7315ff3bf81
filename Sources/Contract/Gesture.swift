import Simulation
import Wire

/// Something that the user does, in the words of the system (`send`, `select`, `reorder`, …): the same form stands in user
/// scripts, marks of a recording and scenarios. A gesture named `background`, `foreground` or `memoryPressure` reaches the core as
/// that `Lifecycle` input, not as `Input.user`; one named `restart` ends the process of the app and launches it again.
package struct Gesture: Hashable, Sendable {
  package var name: String
  /// Arguments by the system's own names; `ids` holds identifiers that the client shall use (SCENARIO.md 2, re-issuing).
  package var fields: JSONObject

  package init(_ name: String, _ fields: JSONObject = [:]) {
    self.name = name
    self.fields = fields
  }

  /// `{"do": name, …fields}`.
  package var json: JSON { .object(JSONObject([JSONObject.Member(name: "do", value: .string(name))] + fields.members)) }

  /// Reads the form of `json`; throws when `do` is missing.
  package init(json: JSON) throws(JSONError) {
    guard var object = json.object else { throw JSONError(problem: "a gesture is an object") }
    guard let name = object["do"]?.string else { throw JSONError(path: "do", problem: "a gesture needs a name") }
    object["do"] = nil
    self.init(name, object)
  }
}

/// Gestures that are the same in every system.
extension Gesture {
  /// A finger on the list, with the fields of `Drag`.
  package static let drag = "drag"
  /// The user ends the app and launches it again.
  package static let restart = "restart"

  private static let usualPause: Int64 = 500
  private static let longestPause: Int64 = 600_000

  /// How long the app is away in a `restart`: the field `for` in milliseconds, 500 without one. Throws when it is no number from 0 to
  /// 600000.
  package func restartPause() throws(JSONError) -> Interval {
    guard let value = fields["for"] else { return .milliseconds(Gesture.usualPause) }
    guard let pause = value.integer, pause >= 0, pause <= Gesture.longestPause else {
      throw JSONError(path: "for", problem: "expected 0 to \(Gesture.longestPause) milliseconds")
    }
    return .milliseconds(pause)
  }
}

/// Whether the screen lets the user make a gesture now (SCENARIO.md 2, "the user reacts").
package enum Premise: Hashable, Sendable {
  case holds
  /// What the gesture needs is not on screen yet.
  case waits
  /// It can never hold again: the target is delivered, removed or answered.
  case gone
}

/// Where an intent, a change or an answer comes from.
package enum Basis: String, Sendable, Hashable, CaseIterable {
  /// Bytes of the recording, or written by hand.
  case recorded
  /// By a rule of the system's specification.
  case derived
  /// A value between two sightings, or a default.
  case assumed
  /// A stand-in where the recording says nothing.
  case synthetic
}

/// One gesture of the recorded (or scripted) user.
package struct Intent: Hashable, Sendable {
  package var id: String
  package var at: Instant
  package var gesture: Gesture
  /// The intent that this one is about (edit, remove, stop, …), if any.
  package var target: String?
  /// How long after its premise began to hold the user acted.
  package var lag: Interval
  package var basis: Basis

  package init(id: String, at: Instant, gesture: Gesture, target: String? = nil, lag: Interval = .zero, basis: Basis = .recorded) {
    self.id = id
    self.at = at
    self.gesture = gesture
    self.target = target
    self.lag = lag
    self.basis = basis
  }
}
