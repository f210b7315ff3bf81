/// The order of everything that is due: by instant, then class, then the order of insertion. Push and pop are O(log n).
///
/// Inlinable, like `OrderedMap`: a generic type of another module is otherwise run by its metadata, which costs ten times as much.
package struct EventQueue<Element: Sendable>: Sendable {
  @usableFromInline
  struct Slot: Sendable {
    @usableFromInline var at: Int64
    @usableFromInline var rank: UInt64  // class in the high byte, insertion number below
    @usableFromInline var place: Int  // of the element

    @inlinable
    init(at: Int64, rank: UInt64, place: Int) {
      self.at = at
      self.rank = rank
      self.place = place
    }

    @inlinable
    func isBefore(_ other: Slot) -> Bool { at != other.at ? at < other.at : rank < other.rank }
  }

  // The heap moves small slots; the elements stay where they are.
  @usableFromInline var heap: [Slot] = []
  @usableFromInline var elements: [Element?] = []
  @usableFromInline var free: [Int] = []
  @usableFromInline var inserted: UInt64 = 0

  @inlinable
  package init() {}

  @inlinable
  package var isEmpty: Bool { heap.isEmpty }
  @inlinable
  package var count: Int { heap.count }
  /// The instant of the next element, or nil.
  @inlinable
  package var nextInstant: Instant? { heap.first.map { Instant(nanoseconds: $0.at) } }

  /// Adds an element due at `instant`; `eventClass` 0…255, lower classes of one instant come first.
  @inlinable
  package mutating func push(_ element: Element, at instant: Instant, eventClass: UInt8) {
    let place: Int
    if let reused = free.popLast() {
      place = reused
      elements[place] = element
    } else {
      place = elements.count
      elements.append(element)
    }
    heap.append(Slot(at: instant.nanoseconds, rank: UInt64(eventClass) << 56 | inserted, place: place))
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
  @inlinable
  package mutating func pop() -> (instant: Instant, element: Element)? {
    guard let first = heap.first, let element = elements[first.place] else { return nil }
    elements[first.place] = nil
    free.append(first.place)
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
    return (Instant(nanoseconds: first.at), element)
  }

  /// Removes every element that `matches`, keeping the order of the rest. O(n log n).
  package mutating func removeAll(where matches: (Element) -> Bool) {
    var kept: [Slot] = []
    for slot in heap {
      guard let element = elements[slot.place] else { continue }
      if matches(element) {
        elements[slot.place] = nil
        free.append(slot.place)
      } else {
        kept.append(slot)
      }
    }
    heap = kept.sorted { $0.isBefore($1) }
  }
}
