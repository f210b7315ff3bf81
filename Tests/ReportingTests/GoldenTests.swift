import Foundation
import Testing

@testable import Reporting

/// Whole reports, byte by byte. `UPDATE_GOLDENS=1 swift test --filter GoldenTests` writes them anew.
@Suite struct GoldenTests {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Goldens")

  private func check(_ bytes: [UInt8], _ name: String) throws {
    let file = GoldenTests.folder.appending(path: name)
    if ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] == "1" { try Data(bytes).write(to: file) }
    let golden = try [UInt8](Data(contentsOf: file))
    if golden == bytes { return }
    let place = zip(golden, bytes).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? min(golden.count, bytes.count)
    let found = String(decoding: bytes[max(0, place - 60)..<min(bytes.count, place + 60)], as: UTF8.self)
    Issue.record("\(name) differs from byte \(place) on, near: \(found)")
  }

  @Test(arguments: ["held", "broken", "hostile", "empty", "drag"])
  func `each format gives the expected bytes`(scene: String) throws {
    let report = GoldenTests.report(scene)
    try check(TextReport.bytes(report), "\(scene).txt")
    try check(JSONReport.bytes(report), "\(scene).json")
    try check(JUnitReport.bytes(report), "\(scene).xml")
    try check(HTMLReport.bytes(report), "\(scene).html")
  }

  static func report(_ scene: String) -> Report {
    switch scene {
    case "held": Scenes.held()
    case "broken": Scenes.broken()
    case "hostile": Scenes.hostile()
    case "drag": Scenes.drag()
    default: Scenes.empty()
    }
  }
}
