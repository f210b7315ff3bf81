/// The order of everything that is due: by instant, then class, then the order of insertion. Push and pop are O(log n).
package struct EventQueue<Element: Sendable>: Sendable {
  private var order = DueOrder()
  /// Elements by their place; nil where a place is free.
  private var elements: [Element?] = []
  private var free: [Int] = []

  package init() {}

  package var isEmpty: Bool { order.slots.isEmpty }
  package var count: Int { order.slots.count }
  /// The instant of the next element, or nil.
  package var nextInstant: Instant? { order.next }

  /// Adds an element due at `instant`; `eventClass` 0…255, lower classes of one instant come first.
  package mutating func push(_ element: Element, at instant: Instant, eventClass: UInt8) {
    let place: Int
    if let reused = free.popLast() {
      place = reused
      elements[place] = element
    } else {
      place = elements.count
      elements.append(element)
    }
    order.push(place, at: instant, eventClass: eventClass)
  }

  /// Takes the first element out.
  package mutating func pop() -> (instant: Instant, element: Element)? {
    guard let first = order.pop(), let element = elements[first.place] else { return nil }
    elements[first.place] = nil
    free.append(first.place)
    return (Instant(nanoseconds: first.at), element)
  }

  /// Removes every element that `matches`, keeping the order of the rest. O(n log n).
  package mutating func removeAll(where matches: (Element) -> Bool) {
    var kept: [DueOrder.Slot] = []
    for slot in order.slots {
      guard let element = elements[slot.place] else { continue }
      if matches(element) {
        elements[slot.place] = nil
        free.append(slot.place)
      } else {
        kept.append(slot)
      }
    }
    order.replace(kept)
  }
}

/// The heap of an `EventQueue`, apart from its elements: another module can have the generic part by its metadata only, which makes each
/// access expensive; the heap's many accesses are those of a plain array.
private struct DueOrder: Sendable {
  struct Slot: Sendable {
    var at: Int64
    var rank: UInt64  // class in the high byte, insertion number below
    var place: Int

    func isBefore(_ other: Slot) -> Bool { at != other.at ? at < other.at : rank < other.rank }
  }

  private(set) var slots: [Slot] = []
  private var inserted: UInt64 = 0

  var next: Instant? { slots.isEmpty ? nil : Instant(nanoseconds: slots[0].at) }

  mutating func push(_ place: Int, at instant: Instant, eventClass: UInt8) {
    slots.append(Slot(at: instant.nanoseconds, rank: UInt64(eventClass) << 56 | inserted, place: place))
    inserted += 1
    var child = slots.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      if !slots[child].isBefore(slots[parent]) { break }
      slots.swapAt(child, parent)
      child = parent
    }
  }

  mutating func pop() -> Slot? {
    guard let first = slots.first else { return nil }
    let last = slots.removeLast()
    if !slots.isEmpty {
      slots[0] = last
      var parent = 0
      while true {
        var least = 2 * parent + 1
        if least >= slots.count { break }
        if least + 1 < slots.count, slots[least + 1].isBefore(slots[least]) { least += 1 }
        if !slots[least].isBefore(slots[parent]) { break }
        slots.swapAt(parent, least)
        parent = least
      }
    }
    return first
  }

  /// Other slots, in the order in which they are due.
  mutating func replace(_ slots: [Slot]) { self.slots = slots.sorted { $0.isBefore($1) } }
}
