/// The order of everything that is due: by instant, then class, then the order of insertion. Push and pop are O(log n).
package struct EventQueue<Element: Sendable>: Sendable {
  private struct Slot: Sendable {
    var at: Int64
    var rank: UInt64  // class in the high byte, insertion number below
    var element: Element

    func isBefore(_ other: Slot) -> Bool { at != other.at ? at < other.at : rank < other.rank }
  }

  private var heap: [Slot] = []
  private var inserted: UInt64 = 0

  package init() {}

  package var isEmpty: Bool { heap.isEmpty }
  package var count: Int { heap.count }
  /// The instant of the next element, or nil.
  package var nextInstant: Instant? { heap.first.map { Instant(nanoseconds: $0.at) } }

  /// Adds an element due at `instant`; `eventClass` 0…255, lower classes of one instant come first.
  package mutating func push(_ element: Element, at instant: Instant, eventClass: UInt8) {
    heap.append(Slot(at: instant.nanoseconds, rank: UInt64(eventClass) << 56 | inserted, element: element))
    inserted += 1
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      if !heap[child].isBefore(heap[parent]) { break }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// Takes the first element out.
  package mutating func pop() -> (instant: Instant, element: Element)? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      var parent = 0
      while true {
        var least = 2 * parent + 1
        if least >= heap.count { break }
        if least + 1 < heap.count, heap[least + 1].isBefore(heap[least]) { least += 1 }
        if !heap[least].isBefore(heap[parent]) { break }
        heap.swapAt(parent, least)
        parent = least
      }
    }
    return (Instant(nanoseconds: first.at), first.element)
  }

  /// Removes every element that `matches`, keeping the order of the rest. O(n log n).
  package mutating func removeAll(where matches: (Element) -> Bool) {
    let kept = heap.filter { !matches($0.element) }
    heap = kept.sorted { $0.isBefore($1) }
  }
}
