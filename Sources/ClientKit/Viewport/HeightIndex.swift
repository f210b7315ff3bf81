/// Heights of the rows of a list by position: where a row begins, which rows stand in a stretch, one height changed, each in O(log n).
///
/// A Fenwick tree over whole thousandths of a point (what traces show). Integer sums do not drift: after any history of updates the tops
/// are those of a fresh build. Heights outside 0 to a million points, which only a recording could claim, count as the nearest of the two.
///
/// Every answer that walks the tree says its *probes*: the sums that it read or wrote.
package struct HeightIndex: Hashable, Sendable {
  private var heights: [Int64]
  /// `sums[k]` (k from 1) covers the rows of positions `k - lowest set bit of k` to `k - 1`.
  private var sums: [Int64]
  private var whole: Int64

  /// Builds the index in O(n).
  package init(_ heights: some Sequence<Double> = []) {
    self.heights = heights.map(HeightIndex.units)
    sums = [0] + self.heights
    for k in 1..<sums.count {
      let parent = k + (k & -k)
      if parent < sums.count { sums[parent] += sums[k] }
    }
    whole = self.heights.reduce(0, +)
  }

  package var count: Int { heights.count }
  /// Height of all rows, in points.
  package var total: Double { HeightIndex.points(whole) }

  /// Height in points of the row at `position`, which must exist.
  package func height(at position: Int) -> Double { HeightIndex.points(heights[position]) }

  /// Where the row at `position` begins, in points; `count` gives the end of the last row.
  package func top(of position: Int) -> Double {
    var (k, sum) = (position, Int64(0))
    while k > 0 {
      sum += sums[k]
      k -= k & -k
    }
    return HeightIndex.points(sum)
  }

  /// Rows of a stretch of the list.
  package struct Sight: Hashable, Sendable {
    package var rows: Range<Int>
    package var probes: Int
    fileprivate var begin: Int64
  }

  /// A row and where it is, in points.
  package struct Place: Hashable, Sendable {
    package var position: Int
    package var top: Double
    package var height: Double
  }

  /// The rows that intersect `from ..< to` (points): those that end below `from` and begin above `to`. Both ends are searched in one walk
  /// down the tree, which reads a sum once for as long as they have the same way.
  package func rows(from: Double, to: Double) -> Sight {
    let (from, to) = ((from * HeightIndex.scale).rounded(), (to * HeightIndex.scale).rounded())
    var (first, firstTop, last, lastTop, probes) = (0, Int64(0), 0, Int64(0), 0)
    var step = count == 0 ? 0 : 1 << (Int.bitWidth - 1 - count.leadingZeroBitCount)
    while step > 0 {
      let isShared = first == last
      if first + step <= count {
        probes += 1
        let end = firstTop + sums[first + step]
        if Double(end) <= from { (first, firstTop) = (first + step, end) }
      }
      if last + step <= count {
        if !isShared { probes += 1 }
        let end = lastTop + sums[last + step]
        if Double(end) < to { (last, lastTop) = (last + step, end) }
      }
      step >>= 1
    }
    let end = to > from && to > 0 ? min(last + 1, count) : first
    return Sight(rows: first..<max(first, end), probes: probes, begin: firstTop)
  }

  /// Tops and heights of the rows of a stretch, one after the other without the tree. O(rows).
  package func places(_ sight: Sight) -> [Place] {
    var top = sight.begin
    return sight.rows.map { position in
      defer { top += heights[position] }
      return Place(position: position, top: HeightIndex.points(top), height: HeightIndex.points(heights[position]))
    }
  }

  /// Changes one height; the probes that it took, nil when the row had that height.
  @discardableResult
  package mutating func set(_ height: Double, at position: Int) -> Int? {
    let change = HeightIndex.units(height) - heights[position]
    if change == 0 { return nil }
    heights[position] += change
    whole += change
    var (k, probes) = (position + 1, 0)
    while k < sums.count {
      sums[k] += change
      probes += 1
      k += k & -k
    }
    return probes
  }

  /// Whether every sum is that of its rows. O(n log n), for tests.
  package var isConsistent: Bool {
    guard sums.count == count + 1, whole == heights.reduce(0, +) else { return false }
    for k in 1..<sums.count {
      let covered = heights[(k - (k & -k))..<k]
      if sums[k] != covered.reduce(0, +) { return false }
    }
    return true
  }

  private static let scale = 1_000.0
  private static let tallest = 1e6

  private static func units(_ points: Double) -> Int64 {
    points > 0 ? Int64((min(points, tallest) * scale).rounded()) : 0
  }

  private static func points(_ units: Int64) -> Double { Double(units) / scale }
}
