import ClientKit
import HBCodeCore
import Simulation
import Testing
import Wire

/// Runs a `reveal` fixture: what each settle pass finds, and the pass at which the cover lifts (spec D.6).
enum HBCodeRevealFixture {
  static func run(_ fixture: JSON) throws {
    let cases = try #require(fixture["cases"]?.array)
    #expect(!cases.isEmpty)
    for one in cases {
      let name = one["name"]?.string ?? ""
      let sees = try #require(one["sees"]?.array).compactMap(\.string)
      let above = try #require(one["above"]?.double)
      let latency = one["latencyMs"]?.int ?? 0
      var left = try #require(one["pages"]?.int)
      let wanted = try #require(one["expect"])

      var reveal = Reveal()
      var lands: Int?
      var hasReference = false
      var lifted: Int?
      let interval = Int(Reveal.passInterval.nanoseconds / 1_000_000)
      for pass in 1...Reveal.lastPass where lifted == nil {
        // A frame comes before a timer of its instant.
        var hasLanded = false
        if let at = lands, at <= pass * interval {
          reveal.pageEnded(isFailure: false)
          lands = nil
          hasLanded = true
        }
        let seen = hasLanded ? "move" : try #require(sees.indices.contains(pass - 1) ? sees[pass - 1] : sees.last, "\(name)")
        let verdict: PassVerdict
        if reveal.waits(isPreparing: seen == "prep", isApplying: seen == "apply") {
          verdict = .waiting
        } else {
          verdict = !hasReference ? .first : seen == "move" ? .moved : .still
        }
        hasReference = verdict != .waiting
        switch reveal.passed(verdict, above: above, canAsk: left > 0) {
        case .goOn: break
        case .requestPage:
          left -= 1
          hasReference = false
          lands = pass * interval + latency
        case .lift: lifted = pass
        }
      }
      #expect(lifted == wanted["pass"]?.int, "\(name)")
      #expect(lifted.map { $0 * interval } == wanted["ms"]?.int, "\(name)")
      #expect(reveal.pages == wanted["pages"]?.int, "\(name)")
    }
  }
}
