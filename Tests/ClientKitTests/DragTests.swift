import Contract
import Simulation
import Testing
import Wire

@Suite struct DragTests {
  @Test func `a finger moves evenly from place to place and rests until it lifts`() throws {
    let drag = try Drag(["path": [[400, -200], [800, -300]], "velocity": .double(-250.5), "held": 1_200])
    #expect(drag.y(after: .zero) == 0)
    #expect(drag.y(after: .milliseconds(100)) == -50)
    #expect(drag.y(after: .milliseconds(400)) == -200)
    #expect(drag.y(after: .milliseconds(600)) == -250)
    #expect(drag.y(after: .milliseconds(900)) == -300)
    #expect(drag.length == .milliseconds(2_000))
    #expect(drag.velocity == -250.5)
    #expect(try Drag(drag.fields) == drag)
  }

  @Test(
    arguments: [
      (["path": 7], "path"), (["path": [[1]]], "path[0]"), (["path": [[5, 0], [4, 0]]], "path[1]"), (["path": [[600_001, 0]]], "path[0]"),
      (["path": [[1, 2_000_000]]], "path[0]"), (["path": [], "held": -1], "held"), (["path": [], "velocity": "fast"], "velocity"),
    ] as [(JSONObject, String)])
  func `a path that is none is refused with its place`(fields: JSONObject, path: String) {
    #expect { try Drag(fields) } throws: { ($0 as? JSONError)?.path == path }
  }
}
