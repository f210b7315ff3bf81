import ClientKit
import Simulation
import Testing

@Suite struct HeightIndexTests {
  @Test func `an empty index has no rows and no height`() {
    let index = HeightIndex()
    #expect(index.count == 0 && index.total == 0 && index.top(of: 0) == 0)
    #expect(index.rows(from: -10, to: 100).rows.isEmpty)
    #expect(index.isConsistent)
  }

  @Test func `a stretch has the rows that end below its start and begin above its end`() {
    let index = HeightIndex([10, 20, 0, 30])
    func rows(_ from: Double, _ to: Double) -> Range<Int> { index.rows(from: from, to: to).rows }
    #expect(rows(0, 60) == 0..<4)
    #expect(rows(9.999, 10) == 0..<1)
    #expect(rows(10, 10.001) == 1..<2)
    #expect(rows(10, 30) == 1..<2)
    // A row of no height is seen when the stretch reaches across it.
    #expect(rows(29.999, 30.001) == 1..<4)
    #expect(rows(30, 60) == 3..<4)
    #expect(rows(-50, 0).isEmpty && rows(-50, 0.001) == 0..<1)
    #expect(rows(60, 100).isEmpty && rows(59.999, 100) == 3..<4)
    #expect(rows(20, 20).isEmpty && rows(20, 10).isEmpty && rows(.nan, .nan).isEmpty)
    #expect(rows(-.infinity, .infinity) == 0..<4)
  }

  @Test func `tops are sums, to the thousandth, however far down`() {
    var index = HeightIndex(Array(repeating: 44.1, count: 100_000))
    #expect(index.top(of: 1) == 44.1)
    #expect(index.top(of: 100_000) == 4_410_000)
    #expect(index.set(44.1, at: 5) == nil)
    #expect(index.set(44.101, at: 5) != nil)
    #expect(index.top(of: 5) == 220.5 && index.top(of: 6) == 264.601 && index.total == 4_410_000.001)
  }

  @Test(arguments: [-1, -Double.infinity, .nan, 0]) func `a height that is none counts nothing`(height: Double) {
    #expect(HeightIndex([height, 5]).total == 5)
  }

  @Test(arguments: [1e6, 1e7, 1e300, Double.infinity]) func `a height beyond a million points counts a million`(height: Double) {
    #expect(HeightIndex([height, 5]).total == 1_000_005)
  }

  /// Every size up to 40, then larger ones, random updates: tops, lookups and sums against a plain array.
  @Test(arguments: Array(1...40) + [63, 64, 65, 800, 1_025])
  func `an index after random updates answers as a plain array does`(count: Int) {
    let random = SeededRandom(seed: 3).fork("heights", "\(count)")
    var draw = 0
    func unit() -> Double {
      draw += 1
      return random.unit(at: draw)
    }
    func height() -> Double { unit() < 0.1 ? 0 : (unit() * 300_000).rounded() / 1_000 }
    var plain = (0..<count).map { _ in height() }
    var index = HeightIndex(plain)
    for _ in 0..<50 {
      let position = random.index(below: count, at: 1_000_000 + draw)
      plain[position] = height()
      index.set(plain[position], at: position)
      let total = plain.reduce(0, +)
      #expect(abs(index.total - total) < 1e-6)
      let (from, to) = (unit() * total * 1.2 - total * 0.1, unit() * total * 1.2 - total * 0.1)
      let sight = index.rows(from: from, to: to)
      #expect(index.places(sight).map(\.position) == Array(sight.rows))
      var top = 0.0
      var seen: [Int] = []
      for (position, height) in plain.enumerated() {
        #expect(abs(index.top(of: position) - top) < 1e-6)
        // Lookups count in thousandths.
        let (a, b) = ((from * 1_000).rounded(), (to * 1_000).rounded())
        let (begin, end) = ((top * 1_000).rounded(), ((top + height) * 1_000).rounded())
        if end > a, begin < b, a < b, position >= (seen.first ?? position) { seen.append(position) }
        top += height
      }
      #expect(Array(sight.rows) == seen)
      for place in index.places(sight) {
        #expect(place.top == index.top(of: place.position) && place.height == index.height(at: place.position))
      }
    }
    #expect(index.isConsistent)
    #expect(index == HeightIndex(plain))
  }

  // MARK: Cost

  /// Heights as the list of a chat has them: from one line to a screenful.
  private func chat(_ count: Int) -> [Double] {
    let random = SeededRandom(seed: 11).fork("chat")
    return (0..<count).map { 44 + 22 * Double(random.index(below: 6, at: $0)) }
  }

  /// Probes of `queries` visible rectangles, evenly over the whole list.
  private func probes(_ count: Int, queries: Int) -> Int {
    let index = HeightIndex(chat(count))
    let furthest = index.total - 844
    return (0..<queries).reduce(0) { sum, query in
      let offset = furthest * Double(query) / Double(queries - 1)
      return sum + index.rows(from: offset, to: offset + 844).probes
    }
  }

  @Test func `200 visible rectangles of 800 rows take at most 3,864 probes`() {
    #expect(probes(800, queries: 200) <= 3_864)
  }

  @Test func `probes of a visible rectangle grow with the logarithm of the rows`() {
    let (few, many) = (Double(probes(800, queries: 200)), Double(probes(100_000, queries: 200)))
    // log2(100,000) / log2(800) = 1.72.
    #expect(many / few <= 1.8)
  }

  @Test(arguments: [(800, 10), (100_000, 17)]) func `an update writes one sum for each doubling of the rows`(count: Int, most: Int) {
    var index = HeightIndex(chat(count))
    let probes = (0..<count).map { index.set(500, at: $0) ?? 0 }
    #expect(probes.max() == most)
    #expect(index.isConsistent)
  }
}
