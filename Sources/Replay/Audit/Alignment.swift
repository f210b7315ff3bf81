/// The longest common subsequence of two sequences of numbers, by Myers' greedy algorithm with a bound.
package enum Alignment {
  /// Most edits that are looked for exactly; beyond them the middle is aligned greedily within a window.
  package static let mostEdits = 1_000
  private static let window = 256

  /// Pairs of positions in `a` and `b` that belong together, both growing. Exact up to `mostEdits` differences: O((n + m) · d) time and
  /// O(d²) memory; beyond that O((n + m) · window).
  package static func pairs(_ countA: Int, _ countB: Int, mostEdits: Int = mostEdits, _ equal: (Int, Int) -> Bool) -> [(Int, Int)] {
    var head = 0
    while head < countA, head < countB, equal(head, head) { head += 1 }
    var tail = 0
    while tail < countA - head, tail < countB - head, equal(countA - 1 - tail, countB - 1 - tail) { tail += 1 }
    let n = countA - head - tail
    let m = countB - head - tail
    func inner(_ x: Int, _ y: Int) -> Bool { equal(head + x, head + y) }
    let middle = myers(n, m, mostEdits, inner) ?? greedy(n, m, inner)
    return (0..<head).map { ($0, $0) } + middle.map { (head + $0.0, head + $0.1) }
      + (0..<tail).map { (countA - tail + $0, countB - tail + $0) }
  }

  private static func myers(_ n: Int, _ m: Int, _ mostEdits: Int, _ equal: (Int, Int) -> Bool) -> [(Int, Int)]? {
    if n == 0 || m == 0 { return [] }
    let bound = min(n + m, mostEdits)
    var farthest = [Int](repeating: 0, count: 2 * bound + 3)
    var history: [[Int]] = []
    for d in 0...bound {
      // Only the diagonals -d … d are set: keep those.
      history.append(Array(farthest[(bound + 1 - d)...(bound + 1 + d)]))
      for k in stride(from: -d, through: d, by: 2) {
        let at = bound + 1 + k
        var x = k == -d || (k != d && farthest[at - 1] < farthest[at + 1]) ? farthest[at + 1] : farthest[at - 1] + 1
        while x < n, x - k < m, x >= k, equal(x, x - k) { x += 1 }
        farthest[at] = x
        if x >= n, x - k >= m { return trace(history, n, m) }
      }
    }
    return nil
  }

  /// Walks the kept diagonals back from the end; `history[d]` holds the farthest x of diagonals -d … d before round d.
  private static func trace(_ history: [[Int]], _ n: Int, _ m: Int) -> [(Int, Int)] {
    var pairs: [(Int, Int)] = []
    var x = n
    var y = m
    for d in stride(from: history.count - 1, through: 0, by: -1) {
      let k = x - y
      let before = history[d]
      func farthest(_ diagonal: Int) -> Int { before[diagonal + d] }
      var startX = 0
      var startY = 0
      if d > 0 {
        let down = k == -d || (k != d && farthest(k - 1) < farthest(k + 1))
        let previous = down ? k + 1 : k - 1
        startX = farthest(previous)
        startY = startX - previous
      }
      while x > startX, y > startY {
        x -= 1
        y -= 1
        pairs.append((x, y))
      }
      x = startX
      y = startY
    }
    return pairs.reversed()
  }

  private static func greedy(_ n: Int, _ m: Int, _ equal: (Int, Int) -> Bool) -> [(Int, Int)] {
    var pairs: [(Int, Int)] = []
    var y = 0
    for x in 0..<n where y < m {
      if let found = (y..<min(m, y + window)).first(where: { equal(x, $0) }) {
        pairs.append((x, found))
        y = found + 1
      }
    }
    return pairs
  }
}
