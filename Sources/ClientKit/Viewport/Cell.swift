import Simulation

/// What one row of the list shows, as the virtual screen needs it.
package struct Cell: Hashable, Sendable {
  /// Stable item ID, unique in a list.
  package var id: String
  /// Everything that the cell draws: equal content needs no reconfiguring.
  package var content: String
  /// Height in points that measuring this content gives.
  package var height: Double
  /// How long the row prepares (Markdown) from first becoming visible; until then it has the estimate. Nil for rows that never do.
  package var preparation: Interval?

  package init(id: String, content: String, height: Double, preparation: Interval? = nil) {
    self.id = id
    self.content = content
    self.height = height
    self.preparation = preparation
  }
}

/// The part of the device that the list sees, in points.
package struct Device: Hashable, Sendable {
  package var width: Double
  package var height: Double
  /// Content insets of the list at the top and the bottom.
  package var insetTop: Double
  package var insetBottom: Double

  package init(width: Double, height: Double, insetTop: Double, insetBottom: Double) {
    self.width = width
    self.height = height
    self.insetTop = insetTop
    self.insetBottom = insetBottom
  }
}

/// A row in the visible area. `top` is in content coordinates: on screen it is at `top − offset`.
package struct VisibleRow: Hashable, Sendable {
  package var id: String
  package var top: Double
  package var height: Double

  package init(id: String, top: Double, height: Double) {
    self.id = id
    self.top = top
    self.height = height
  }
}

/// What a layout pass keeps in place while rows take their measured heights.
package enum Pin: Hashable, Sendable {
  /// The offset, whatever moves.
  case none
  /// The end of the list stays at the bottom.
  case bottom
  /// The row's top stays this far below the top of the visible area (row top − offset).
  case row(String, y: Double)
  /// The row's centre stays at the centre of the visible area.
  case middle(String)
}
