import Contract
import HBCodeDialect
import Simulation
import TestSupport
import Wire

/// The words of the virtual screen and of what the phone says about it.
extension ClaimTale {
  static let host = "ses-01"

  private mutating func add(
    _ party: Party, _ kind: String, _ at: Int64, _ plus: Int64, _ host: String, _ fields: JSONObject = [:]
  ) -> Int {
    builder.add(party, kind, at: at, plus: plus, JSONObject([.init(name: "host", value: .string(host))] + fields.members))
  }

  /// The chat comes on screen with these rows under a cover, rendered as version 1.
  mutating func mounted(_ rows: [String] = ["agent-reply:a"], at: Int64 = 0, isCovered: Bool = true, host: String = ClaimTale.host) {
    show(rows.map { ($0, "canonical") }, at: at, host: host)
    mount(at: at, host: host)
    if isCovered { cover("up", at: at, host: host) }
    render(1, at: at, host: host)
    snapshot(1, rows, at: at, host: host)
  }

  mutating func mount(at: Int64, host: String = ClaimTale.host) { _ = add(.screen, "mount", at, 0, host) }
  mutating func unmount(at: Int64, plus: Int64 = 0, host: String = ClaimTale.host) { _ = add(.screen, "unmount", at, plus, host) }

  mutating func scroll(_ state: String, at: Int64, plus: Int64 = 0) {
    _ = add(.screen, "scroll", at, plus, ClaimTale.host, ["state": .string(state)])
  }

  mutating func snapshot(
    _ version: Int, _ ids: [String], at: Int64, plus: Int64 = 0, held: Bool = false, host: String = ClaimTale.host,
    _ more: JSONObject = ["animated": false]
  ) {
    let fields: JSONObject = [
      "mode": "snapshot", "ids": .array(ids.map { .string($0) }), "listVersion": .int(version), "held": .bool(held),
    ]
    _ = add(.screen, "apply", at, plus, host, JSONObject(fields.members + more.members))
  }

  mutating func reconfigure(
    _ version: Int, _ cells: [String] = ["agent-reply:a"], at: Int64, plus: Int64 = 0, held: Bool = false, _ more: JSONObject = [:]
  ) {
    let fields: JSONObject = [
      "mode": "reconfigure", "cells": .array(cells.map { .string($0) }), "listVersion": .int(version), "held": .bool(held),
    ]
    _ = add(.screen, "apply", at, plus, ClaimTale.host, JSONObject(fields.members + more.members))
  }

  /// Geometry; rows as (id, top, height).
  mutating func frame(
    _ offset: Double, of contentHeight: Double, _ visible: [(String, Double, Double)]? = nil, at: Int64, plus: Int64 = 0
  ) {
    var fields: JSONObject = ["offset": .points(offset), "contentHeight": .points(contentHeight)]
    if let visible {
      fields["visible"] = .array(visible.map { ["id": .string($0.0), "top": .points($0.1), "height": .points($0.2)] })
    }
    _ = add(.screen, "frame", at, plus, ClaimTale.host, fields)
  }

  mutating func pass(_ use: String, _ k: Int, _ verdict: String, at: Int64) {
    _ = add(.screen, "pass", at, 0, ClaimTale.host, ["use": .string(use), "k": .int(k), "verdict": .string(verdict)])
  }

  mutating func render(
    _ version: Int, live: Bool = false, at: Int64, plus: Int64 = 0, interval: Int64 = 166_666_667, host: String = ClaimTale.host
  ) {
    _ = add(
      .core, "render", at, plus, host,
      ["cause": live ? "live" : "other", "intervalNs": .integer(interval), "listVersion": .int(version)])
  }

  mutating func hold(_ version: Int, why: String = "moving", at: Int64, plus: Int64 = 0) {
    _ = add(.core, "hold", at, plus, ClaimTale.host, ["listVersion": .int(version), "why": .string(why)])
  }

  mutating func cover(_ what: String, at: Int64, plus: Int64 = 0, host: String = ClaimTale.host) {
    _ = add(.core, "cover.\(what)", at, plus, host, what == "lift" ? ["passes": 4, "pages": 0] : [:])
  }

  mutating func anchor(_ what: String, _ id: String = "agent-reply:a", y: Double = 0, why: String? = nil, at: Int64, plus: Int64 = 0) {
    var fields: JSONObject = ["do": .string(what), "id": .string(id), "y": .points(y)]
    fields["why"] = why.map(JSON.string)
    _ = add(.core, "anchor", at, plus, ClaimTale.host, fields)
  }

  mutating func anchorLive(at: Int64, plus: Int64 = 0) { _ = add(.core, "anchor.live", at, plus, ClaimTale.host) }

  mutating func epoch(_ cause: String, at: Int64, host: String = ClaimTale.host) {
    _ = add(.core, "epoch", at, 0, host, ["viewport": "parent-chat", "n": 1, "cause": .string(cause)])
  }

  /// A live change that the phone takes in, of epoch 3.
  mutating func taken(_ revision: Int64, at: Int64, plus: Int64 = 0) {
    _ = add(.core, "overlay", at, plus, ClaimTale.host, ["epoch": 3, "revision": .integer(revision), "source": "event"])
  }

  /// An overlay event on the wire, of epoch 3.
  mutating func overlayEvent(_ revision: Int64, at: Int64) {
    event(.timelineOverlay, at: at, ["sessionId": .string(ClaimTale.host), "settlementEpoch": 3, "revision": .integer(revision)])
  }

  mutating func end(at: Int64, plus: Int64 = 0) { builder.add(.world, "end", at: at, plus: plus) }
}
