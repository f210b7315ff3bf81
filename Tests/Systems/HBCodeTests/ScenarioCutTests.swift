import Contract
import HBCodeDialect
import HBCodeScenario
import HBCodeSystem
import Replay
import Simulation
import TestSupport
import Testing
import Wire

/// Recordings that begin in the middle (SCENARIO.md 3, step 12): what the phone and the desktop had then, and what does not count.
@Suite struct ScenarioCutTests {
  /// A random session as a recorder would have it that comes `seconds` later.
  private func cut(_ seed: Int, _ seconds: Double) throws -> [Frame] {
    let scenario = try RandomSession.scenario(seed, handsOver: true)
    let told = try Story(hbcode, scenario).run()
    let start = ScriptedPhone.seconds(seconds)
    return ClientSide.frames(of: told.trace, until: scenario.facts.end).filter { $0.at >= start }.map { frame in
      var frame = frame
      frame.at = frame.at - (start - .zero)
      return frame
    }
  }

  private func compiled(_ frames: [Frame], _ seconds: Double) throws -> HBCodeScenario {
    try hbcodeScenario(of: frames, wallClockMilliseconds: HBCodeScenario.standardWallClock + Int64(seconds * 1_000), origin: "test")
  }

  @Test(arguments: 0..<10, [3.0, 5.3, 11.7])
  func `all three audits find a recording true that begins in the middle`(seed: Int, seconds: Double) throws {
    let frames = try cut(seed, seconds)
    guard frames.count > 5 else { return }
    let scenario = try compiled(frames, seconds)
    let audit = Audit.run(hbcode, scenario, frames)
    #expect(audit.differences == [], "\(ScenarioRunTests.words(audit.differences))")
    #expect(audit.bothFrames > 0)
  }

  @Test func `a run in progress keeps what it had shown, and what entered before is not delivered again`() throws {
    // Cut while run-1 is on: op-1 heads it, op-2 enters it later.
    let scenario = try compiled(try cut(0, 14), 14)
    let session = try #require(scenario.desktops[0].sessions.first { $0.id == "ses-01" })
    #expect(session.activeRun?.runId == "run-1")
    #expect(session.activeRun?.turnId == "turn-run-1")
    #expect(session.overlay.version == OverlayVersion(epoch: 3, revision: 2))
    #expect(session.overlay.blocks.map(\.id) == ["u-1", "a-1"])
    #expect(scenario.tape.filter { $0.session == "ses-01" }.map(\.id) == ["run-1/op-1", "run-1/op-2"])
    #expect(scenario.tape[0].cause == .clock(.zero))
    #expect(scenario.tape[0].end == .handedOver(operation: "op-2"))
  }
}
