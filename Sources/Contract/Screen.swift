import Simulation
import Wire

/// The display link of the virtual screen.
package enum DisplayLink {
  /// 60 Hz: 16,666,667 ns.
  package static let frame = Interval(nanoseconds: 16_666_667)
  /// Longer steps count as this long where something moves.
  package static let longestStep = Interval.milliseconds(50)
}

/// A fault at the screen of the client: what UIKit or a slow device does now and then.
package enum ScreenFault: Hashable, Sendable {
  /// The next end of a drag or deceleration is not signalled.
  case loseStop
  /// Rows that become visible from now on prepare this long.
  case slowPreparation(Interval)
  /// Applying a snapshot takes this long from now on.
  case slowApplying(Interval)
}

/// What the virtual screen did: `scroll`, `apply`, `frame`, `pass`, `mount` and `unmount` entries of the party `screen`. Evidence: only the
/// shared `Viewport` makes these records, a core hands them on.
package struct ScreenRecord: Hashable, Sendable {
  package let kind: String
  package let fields: JSONObject

  package init(_ kind: String, _ fields: JSONObject) {
    self.kind = kind
    self.fields = fields
  }
}

/// A finger on the list, as the gesture `drag` of every system spells it:
/// `{"do": "drag", "path": [[400, -200], [800, -350]], "velocity": -300, "held": 0}`.
///
/// `path` has instants in milliseconds since the touch and where the finger is then, in points below the place of the touch (a finger that
/// moves up, to negative places, shows what is below); between them it moves evenly, and it begins at `[0, 0]`. After the last point it rests for
/// `held` milliseconds and lifts with `velocity` points per second, positive downwards.
package struct Drag: Hashable, Sendable {
  package struct Place: Hashable, Sendable {
    package var after: Interval
    package var y: Double

    package init(after: Interval, y: Double) {
      self.after = after
      self.y = y
    }
  }

  /// Without the first point, in order of time.
  package var path: [Place]
  package var velocity: Double
  package var held: Interval

  package init(path: [Place], velocity: Double = 0, held: Interval = .zero) {
    self.path = path
    self.velocity = velocity
    self.held = held
  }

  /// From touch to lift.
  package var length: Interval { (path.last?.after ?? .zero) + held }

  /// Where the finger is this long after the touch.
  package func y(after time: Interval) -> Double {
    var from = Place(after: .zero, y: 0)
    for place in path {
      if time < place.after {
        let part = Double((time - from.after).nanoseconds) / Double((place.after - from.after).nanoseconds)
        return from.y + (place.y - from.y) * part
      }
      from = place
    }
    return from.y
  }

  /// Most points of a path.
  package static let mostPlaces = 10_000
  /// Most milliseconds of a path, and of the rest behind it.
  package static let longest: Int64 = 600_000
  /// The greatest distance and speed in points (per second).
  package static let farthest = 1e6

  /// Reads the fields of the gesture; throws with the path of what does not fit.
  package init(_ fields: JSONObject) throws(JSONError) {
    guard let list = fields["path"]?.array, list.count <= Drag.mostPlaces else {
      throw JSONError(path: "path", problem: "drag needs a list of at most \(Drag.mostPlaces) points [milliseconds, points]")
    }
    path = []
    var last: Int64 = 0
    for (index, item) in list.enumerated() {
      guard let pair = item.array, pair.count == 2, let ms = pair[0].integer, let y = pair[1].double, y.magnitude <= Drag.farthest else {
        throw JSONError(path: "path[\(index)]", problem: "expected [milliseconds, points]")
      }
      guard ms >= last, ms <= Drag.longest else {
        throw JSONError(path: "path[\(index)]", problem: "instants must grow, up to \(Drag.longest) ms")
      }
      last = ms
      path.append(Place(after: .milliseconds(ms), y: y))
    }
    velocity = try Drag.number(fields, "velocity")
    guard let held = (fields["held"] ?? 0).integer, held >= 0, held <= Drag.longest else {
      throw JSONError(path: "held", problem: "expected 0 to \(Drag.longest) milliseconds")
    }
    self.held = .milliseconds(held)
  }

  private static func number(_ fields: JSONObject, _ name: String) throws(JSONError) -> Double {
    guard let value = fields[name] else { return 0 }
    guard let number = value.double, number.magnitude <= farthest else {
      throw JSONError(path: name, problem: "expected a number of points")
    }
    return number
  }

  /// The fields of the gesture.
  package var fields: JSONObject {
    var object: JSONObject = ["path": .array(path.map { [.integer($0.after.nanoseconds / 1_000_000), .points($0.y)] })]
    if velocity != 0 { object["velocity"] = .points(velocity) }
    if held > .zero { object["held"] = .integer(held.nanoseconds / 1_000_000) }
    return object
  }
}

extension JSON {
  /// A length on screen in points, as traces and gestures carry it: to the thousandth, whole numbers as integers.
  package static func points(_ value: Double) -> JSON {
    let thousandths = (value * 1_000).rounded()
    guard thousandths.magnitude < 9e15 else { return .double(value) }
    let whole = Int64(thousandths)
    return whole % 1_000 == 0 ? .integer(whole / 1_000) : .double(Double(whole) / 1_000)
  }
}
