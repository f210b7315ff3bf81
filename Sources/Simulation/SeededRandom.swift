/// A reproducible source of draws, forked by purpose and object: the k-th draw of a fork depends on the seed, the names on
/// the way and k, and on nothing else, so that a new draw in one place moves no other (DESIGN.md 5).
///
/// ```swift
/// SeededRandom(seed: 7).fork("check", "ses-01").unit(at: 0)
/// ```
package struct SeededRandom: Hashable, Sendable {
  private let state: UInt64

  package init(seed: UInt64) { state = SeededRandom.mixed(seed) }

  private init(state: UInt64) { self.state = state }

  /// The generator of this purpose (and object): equal names give equal generators.
  package func fork(_ purpose: String, _ object: String = "") -> SeededRandom {
    var hash = state ^ 0xcbf2_9ce4_8422_2325
    func take(_ text: String) {
      for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
      hash = (hash ^ 0xff) &* 0x0000_0100_0000_01b3
    }
    take(purpose)
    take(object)
    return SeededRandom(state: SeededRandom.mixed(hash))
  }

  /// The k-th draw, all 64 bits; k from 0.
  package func bits(at k: Int) -> UInt64 {
    SeededRandom.mixed(state &+ (UInt64(truncatingIfNeeded: k) &+ 1) &* 0x9e37_79b9_7f4a_7c15)
  }

  /// The k-th draw as a number in [0, 1).
  package func unit(at k: Int) -> Double { Double(bits(at: k) >> 11) * 0x1p-53 }

  /// The k-th draw as an integer in 0 ..< `count`; `count` > 0. The bias is below 2^-40 for counts up to 2^24.
  package func index(below count: Int, at k: Int) -> Int { Int(bits(at: k) % UInt64(count)) }

  /// The SplitMix64 finaliser.
  private static func mixed(_ value: UInt64) -> UInt64 {
    var z = value &+ 0x9e37_79b9_7f4a_7c15
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
