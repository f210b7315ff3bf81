import Contract
import Simulation
import Wire

extension Viewport {
  /// Whether `cells` have the IDs of the applied snapshot in their order. O(n).
  package func hasSameIDs(_ cells: [Cell]) -> Bool {
    cells.count == ids.count && zip(cells, ids).allSatisfy { $0.id == $1 }
  }

  /// IDs of the visible rows whose content on screen is not that of `cells`, in order. O(visible) when the IDs are the applied ones.
  package func changedVisible(in cells: [Cell]) -> [String] {
    var shift = 0
    return onScreen.filter { position in
      guard let cell = find(position, in: cells, &shift) else { return false }
      return cell.content != rows[position].cell.content
    }.map { ids[$0] }
  }

  /// Newest content of rows of the snapshot; other rows are passed over. A row off screen takes it when it scrolls in, a visible one keeps
  /// what it shows. With the version of its list, content of an earlier list that is applied later does not count as newer. O(n).
  package mutating func update(_ cells: [Cell], listVersion: Int? = nil) {
    if let listVersion {
      guard listVersion >= newestVersion else { return }
      newestVersion = listVersion
    }
    if hasSameIDs(cells) {
      newest = cells
    } else {
      for cell in cells { if let position = positions[cell.id] { give(cell, to: position) } }
    }
  }

  /// Applies one snapshot without animation: the list is `cells` (unique IDs), all of them with this content. Rows keep their heights,
  /// new ones have the estimate, until they are laid out in the visible area. Record `apply`. O(n).
  package mutating func apply(_ cells: [Cell], listVersion: Int, held: Bool, pin: Pin, at now: Instant) {
    guard isMounted else { return }
    let isNewest = listVersion >= newestVersion
    var heights: [Double] = []
    var next: [Row] = []
    var latest: [Cell] = []
    heights.reserveCapacity(cells.count)
    next.reserveCapacity(cells.count)
    if !isNewest { latest.reserveCapacity(cells.count) }
    for cell in cells {
      var row = Row(cell: cell)
      let old = positions[cell.id]
      if let old {
        row.isOnScreen = rows[old].isOnScreen
        row.isUnmeasured = rows[old].isUnmeasured || rows[old].cell != cell
      }
      heights.append(old.map { index.height(at: $0) } ?? estimate)
      next.append(row)
      if !isNewest { latest.append(old.map { newest[$0] } ?? cell) }
    }
    hasList = true
    rows = next
    newest = isNewest ? cells : latest
    newestVersion = max(newestVersion, listVersion)
    ids = cells.map(\.id)
    positions = Dictionary(zip(ids, ids.indices), uniquingKeysWith: { first, _ in first })
    index = HeightIndex(heights)
    onScreen = rows.indices.filter { rows[$0].isOnScreen }
    if slowApplying > .zero { applyingUntil = max(applyingUntil ?? now, now + slowApplying) }
    layout(pin, at: now)
    var fields: JSONObject = [
      "mode": "snapshot", "ids": .array(ids.map { .string($0) }), "listVersion": .int(listVersion), "held": .bool(held), "animated": false,
    ]
    addStale(to: &fields)
    record("apply", fields)
  }

  /// Gives the rows of `ids` the content that they have in `cells`: visible ones draw and are measured now, others when they scroll in.
  /// Record `apply`. O(visible + ids) layout steps of O(log n) when `cells` have the applied IDs.
  package mutating func reconfigure(_ ids: [String], of cells: [Cell], listVersion: Int, held: Bool, pin: Pin, at now: Instant) {
    guard isMounted else { return }
    var unchanged: [JSON] = []
    var offScreen: [JSON] = []
    var shift = 0
    let isNewest = listVersion >= newestVersion
    newestVersion = max(newestVersion, listVersion)
    if isNewest {
      for position in onScreen { if let cell = find(position, in: cells, &shift) { give(cell, to: position) } }
    }
    for id in ids {
      guard let position = positions[id], let cell = find(position, in: cells, &shift) else {
        offScreen.append(.string(id))
        continue
      }
      if cell.content == rows[position].cell.content { unchanged.append(.string(id)) }
      if isNewest { give(cell, to: position) }
      if !rows[position].isOnScreen {
        offScreen.append(.string(id))
      } else if rows[position].cell != cell {
        rows[position].cell = cell
        rows[position].isUnmeasured = true
      }
    }
    layout(pin, at: now)
    var fields: JSONObject = ["mode": "reconfigure", "cells": .array(ids.map { .string($0) })]
    if !unchanged.isEmpty { fields["unchanged"] = .array(unchanged) }
    if !offScreen.isEmpty { fields["offscreen"] = .array(offScreen) }
    fields["listVersion"] = .int(listVersion)
    fields["held"] = .bool(held)
    addStale(to: &fields)
    record("apply", fields)
  }

  /// A layout pass that puts the pin in force.
  package mutating func settle(pin: Pin, at now: Instant) {
    guard isMounted else { return }
    layout(pin, at: now)
  }

  /// The cell of the row at `position`: in lists of the applied IDs it stands there, in others most often as far away as the one before.
  private func find(_ position: Int, in cells: [Cell], _ shift: inout Int) -> Cell? {
    let id = ids[position]
    if cells.indices.contains(position + shift), cells[position + shift].id == id { return cells[position + shift] }
    guard let found = cells.firstIndex(where: { $0.id == id }) else { return nil }
    shift = found - position
    return cells[found]
  }

  /// Most cells are those of an update that has just been given: a write would copy the list for nothing.
  private mutating func give(_ cell: Cell, to position: Int) {
    if newest[position] != cell { newest[position] = cell }
  }

  /// Names the visible rows that do not show the newest content given for them.
  private func addStale(to fields: inout JSONObject) {
    let stale = onScreen.filter { rows[$0].cell.content != newest[$0].content }
    if !stale.isEmpty { fields["stale"] = .array(stale.map { .string(ids[$0]) }) }
  }

  // MARK: Layout pass

  /// Most rounds of one layout pass.
  private static let mostRounds = 8

  /// Measures what comes into sight until no height changes. The pin goes first in every round, so that rows which it keeps out of sight
  /// (a prepended page) are neither shown nor measured.
  mutating func layout(_ pin: Pin, at now: Instant) {
    isLaidOut = true
    for _ in 0..<Viewport.mostRounds {
      place(pin, at: now)
      let sight = sight.rows
      for position in onScreen where !sight.contains(position) { rows[position].isOnScreen = false }
      onScreen = Array(sight)
      var changed = false
      for position in sight where show(position, at: now) { changed = true }
      if !changed { return }
    }
    place(pin, at: now)
  }

  /// Lays the row out in the visible area; whether its height changed.
  private mutating func show(_ position: Int, at now: Instant) -> Bool {
    let id = ids[position]
    if !rows[position].isOnScreen {
      rows[position].isOnScreen = true
      if rows[position].cell != newest[position] {
        rows[position].cell = newest[position]
        rows[position].isUnmeasured = true
      }
      if seen.insert(id).inserted {
        let time = rows[position].cell.preparation.map { max($0, slowPreparation) } ?? .zero
        if time > .zero { preparing[id] = now + time }
      }
    }
    guard rows[position].isUnmeasured, preparing[id] == nil else { return false }
    rows[position].isUnmeasured = false
    measurings += 1
    return index.set(rows[position].cell.height, at: position) != nil
  }

  /// Moves the offset to where the pin wants it, within the range.
  func target(_ pin: Pin) -> Double {
    switch pin {
    case .none: clamped(offset)
    case .bottom: bottom
    case .row(let id, let y): clamped(row(id).map { $0.top - y } ?? offset)
    case .middle(let id): clamped(row(id).map { $0.top + $0.height / 2 - device.height / 2 } ?? offset)
    }
  }

  private mutating func place(_ pin: Pin, at now: Instant) {
    let before = offset
    offset = target(pin)
    // A finger goes on from where a pin has put the list.
    if pin != .none, offset != before { motion.rebase(to: offset, at: now) }
  }
}
