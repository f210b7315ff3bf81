import Simulation
import Testing

@Suite struct EventQueueTests {
  private func drained(_ queue: EventQueue<String>) -> [String] {
    var queue = queue
    var order: [String] = []
    while let next = queue.pop() { order.append(next.element) }
    return order
  }

  @Test func `Earlier instants come first, whatever the order of insertion`() {
    var queue = EventQueue<String>()
    for n: Int64 in [5, -3, 9, 0, 7, -8] { queue.push("\(n)", at: Instant(nanoseconds: n), eventClass: 0) }
    #expect(queue.nextInstant == Instant(nanoseconds: -8))
    #expect(queue.count == 6)
    #expect(drained(queue) == ["-8", "-3", "0", "5", "7", "9"])
  }

  @Test func `At one instant lower classes come first, and within a class the order of insertion holds`() {
    var queue = EventQueue<String>()
    for (name, eventClass) in [("timer a", 2), ("frame a", 1), ("last", 255), ("timer b", 2), ("frame b", 1), ("first", 0)] {
      queue.push(name, at: .zero, eventClass: UInt8(eventClass))
    }
    #expect(drained(queue) == ["first", "frame a", "frame b", "timer a", "timer b", "last"])
  }

  @Test func `A thousand elements of one instant leave in the order in which they came`() {
    var queue = EventQueue<Int>()
    for n in 0..<1_000 { queue.push(n, at: .never, eventClass: 3) }
    var order: [Int] = []
    while let next = queue.pop() {
      #expect(next.instant == .never)
      order.append(next.element)
    }
    #expect(order == Array(0..<1_000))
  }

  @Test func `Pushes and pops in any mixture agree with a stable sort`() {
    let random = SeededRandom(seed: 11)
    var queue = EventQueue<Int>()
    var model: [(at: Int64, rank: Int, number: Int)] = []
    for k in 0..<2_000 {
      if random.fork("pop").index(below: 3, at: k) == 0, let next = queue.pop() {
        let least = model.indices.min {
          (model[$0].at, model[$0].rank, model[$0].number) < (model[$1].at, model[$1].rank, model[$1].number)
        }
        let expected = least.map { model.remove(at: $0) }
        #expect(next.element == expected?.number)
      }
      let at = Int64(random.fork("at").index(below: 40, at: k)) - 20
      let rank = random.fork("class").index(below: 4, at: k)
      queue.push(k, at: Instant(nanoseconds: at), eventClass: UInt8(rank))
      model.append((at, rank, k))
    }
    #expect(queue.count == model.count)
  }

  @Test func `Removing keeps the order of the rest`() {
    var queue = EventQueue<String>()
    for n: Int64 in 1...9 { queue.push("\(n)", at: Instant(nanoseconds: 10 - n), eventClass: 0) }
    queue.removeAll { $0 == "9" || $0 == "4" }
    #expect(drained(queue) == ["8", "7", "6", "5", "3", "2", "1"])
    queue.removeAll { _ in true }
    #expect(queue.isEmpty)
    #expect(queue.nextInstant == nil)
  }
}
