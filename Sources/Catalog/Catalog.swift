import Contract
import HBCodeSystem

/// The client systems, in the order in which they are listed: a new one is a line here. Read as `Catalog.systems`.
package let systems: [ChatSystem] = [hbcode]
