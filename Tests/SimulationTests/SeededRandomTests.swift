import Simulation
import Testing

@Suite struct SeededRandomTests {
  @Test func `Equal seeds and names give equal draws, in any order of asking`() {
    let a = SeededRandom(seed: 7).fork("check", "ses-01")
    let b = SeededRandom(seed: 7).fork("check", "ses-01")
    let forward = (0..<100).map { a.bits(at: $0) }
    let backward = (0..<100).reversed().map { b.bits(at: $0) }
    #expect(forward == backward.reversed())
  }

  @Test func `A draw in one fork moves no draw of another`() {
    let root = SeededRandom(seed: 7)
    let before = root.fork("load", "a").bits(at: 3)
    for k in 0..<50 { _ = root.fork("load", "b").bits(at: k) }
    #expect(root.fork("load", "a").bits(at: 3) == before)
  }

  @Test func `Seed, purpose, object and their boundary all tell forks apart`() {
    let root = SeededRandom(seed: 7)
    let firsts = [
      root.bits(at: 0), root.fork("ab", "c").bits(at: 0), root.fork("a", "bc").bits(at: 0), root.fork("abc").bits(at: 0),
      root.fork("abc", "x").bits(at: 0), root.fork("").bits(at: 0), root.fork("ab").fork("c").bits(at: 0),
      SeededRandom(seed: 8).fork("abc").bits(at: 0),
    ]
    #expect(Set(firsts).count == firsts.count)
  }

  @Test func `The first draws of seed 7 are fixed for good`() {
    let fork = SeededRandom(seed: 7).fork("check", "ses-01")
    #expect((0..<3).map { fork.bits(at: $0) } == [3_269_760_962_410_904_278, 15_659_759_042_790_550_833, 10_785_648_368_496_260_216])
  }

  @Test func `Units lie in 0 up to 1 and spread evenly`() {
    let fork = SeededRandom(seed: 1).fork("units")
    var buckets = [Int](repeating: 0, count: 10)
    for k in 0..<10_000 {
      let u = fork.unit(at: k)
      #expect(u >= 0 && u < 1)
      buckets[min(9, Int(u * 10))] += 1
    }
    #expect(buckets.allSatisfy { (850...1_150).contains($0) })
  }

  @Test func `Indices stay below their count`() {
    let fork = SeededRandom(seed: 2).fork("indices")
    #expect((0..<1_000).allSatisfy { (0..<3).contains(fork.index(below: 3, at: $0)) })
    #expect(Set((0..<100).map { fork.index(below: 3, at: $0) }) == [0, 1, 2])
    #expect(fork.index(below: 1, at: 5) == 0)
  }
}
