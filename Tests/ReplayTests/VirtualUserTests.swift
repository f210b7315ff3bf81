import Contract
import Simulation
import Testing
import Wire

@testable import Replay

struct VirtualUserTests {
  @Test func `a user script takes seconds, milliseconds and texts`() throws {
    let script = try UserScript(
      json: JSONReader.value(#"[{"t":1.5,"do":"a"},{"ms":20,"do":"b","id":"x"},{"t":"3s","do":"c","target":"x","lag":0.25,"n":1}]"#))
    #expect(script.intents.map(\.at.description) == ["0:01.500", "0:00.020", "0:03.000"])
    #expect(script.intents.map(\.id) == ["user-1", "x", "user-3"])
    #expect(script.intents[2].gesture == Gesture("c", ["n": 1]))
    #expect(script.intents[2].lag == .milliseconds(250))
  }
}
