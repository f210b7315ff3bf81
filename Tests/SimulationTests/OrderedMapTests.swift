import Simulation
import Testing

@Suite struct OrderedMapTests {
  @Test func `Keys stay in the order of first insertion`() {
    var map = OrderedMap<String, Int>()
    for name in ["pear", "apple", "fig", "kiwi"] { map[name] = name.count }
    map["apple"] = 50
    #expect(map.keys == ["pear", "apple", "fig", "kiwi"])
    #expect(map.values == [4, 50, 3, 4])
    #expect(map.pairs.map(\.key) == map.keys)
  }

  @Test func `A removed key that comes back stands last`() {
    var map = OrderedMap<String, Int>()
    for name in ["a", "b", "c"] { map[name] = 1 }
    map["a"] = nil
    map["absent"] = nil
    #expect(map.count == 2)
    map["a"] = 2
    #expect(map.keys == ["b", "c", "a"])
  }

  @Test func `The default is inserted by a change and not by a look`() {
    var map = OrderedMap<String, [Int]>()
    #expect(map["x", default: []].isEmpty)
    #expect(map.isEmpty)
    map["x", default: []].append(1)
    map["x", default: []].append(2)
    #expect(map["x"] == [1, 2])
    #expect(map.keys == ["x"])
  }
}
