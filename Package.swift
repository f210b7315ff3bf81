// swift-tools-version: 6.2
import PackageDescription

/// Settings of every Swift target: Swift 6 mode, explicit `any`, imports checked by member, warnings are errors.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

func target(_ name: String, path: String? = nil, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, path: path ?? "Sources/\(name)", swiftSettings: strict)
}

func test(_ name: String, path: String? = nil, exclude: [String] = [], _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, path: path ?? "Tests/\(name)", exclude: exclude, swiftSettings: strict)
}

/// The five modules of one client system. The core never sees the scenario or the twin: they share the dialect only.
func system(_ name: String) -> [Target] {
  let root = "Sources/Systems/\(name)"
  return [
    target("\(name)Dialect", path: "\(root)/Dialect", ["Simulation", "Wire", "Contract"]),
    target(
      "\(name)Scenario", path: "\(root)/Scenario", ["Simulation", "Wire", "Contract", .byName(name: "\(name)Dialect")]),
    target("\(name)Core", path: "\(root)/Core", ["Simulation", "Wire", "Contract", "ClientKit", .byName(name: "\(name)Dialect")]),
    target(
      "\(name)Twin", path: "\(root)/Twin",
      ["Simulation", "Wire", "Contract", .byName(name: "\(name)Dialect"), .byName(name: "\(name)Scenario")]),
    target(
      "\(name)System", path: "\(root)/System",
      [
        "Simulation", "Wire", "Contract", "Oracles", .byName(name: "\(name)Dialect"), .byName(name: "\(name)Scenario"),
        .byName(name: "\(name)Core"), .byName(name: "\(name)Twin"),
      ]),
  ]
}

let package = Package(
  name: "chatbench",
  products: [.executable(name: "chatbench", targets: ["chatbench"])],
  targets: [
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CEvent", pkgConfig: "libevent", providers: [.apt(["libevent-dev"])]),
    .systemLibrary(name: "CHTTP", providers: [.apt(["libhttp-parser-dev"])]),
    .systemLibrary(name: "CWslay", providers: [.apt(["libwslay-dev"])]),
    .target(
      name: "CSimdjson", path: "Sources/CSimdjson", cxxSettings: [.unsafeFlags(["-O2"])],
      linkerSettings: [.linkedLibrary("simdjson"), .linkedLibrary("m")]),

    target("Simulation"),
    target("Wire", ["Simulation", "CSimdjson", "CCrypto"]),
    target("Storage", ["CSQLite", "CArchive", "CZstd", "CCrypto"]),
    target("Recordings", ["Simulation", "Wire", "Storage"]),
    target("Contract", ["Simulation", "Wire"]),
    target("ClientKit", ["Simulation", "Wire", "Contract"]),
    target("Sockets", ["Simulation", "CEvent"]),
    target("Proxy", ["Simulation", "Wire", "Recordings", "Sockets", "CHTTP"]),
    target("Faults", ["Simulation", "Wire", "Contract"]),
    target("Oracles", ["Simulation", "Wire", "Contract"]),
    target("Replay", ["Simulation", "Wire", "Contract", "Faults"]),
    target("Reporting", ["Simulation", "Wire", "Contract", "Oracles"]),
    target("Catalog", ["Contract", "HBCodeSystem"]),
    target(
      "Live", ["Simulation", "Wire", "Contract", "Faults", "Replay", "Proxy", "Sockets", "CWslay", "CCrypto"]),
    target(
      "Commands",
      [
        "Simulation", "Wire", "Storage", "Recordings", "Contract", "Sockets", "Proxy", "Faults", "Oracles", "Replay", "Reporting",
        "Catalog", "Live",
      ]),
    .executableTarget(
      name: "chatbench", dependencies: ["Commands"], path: "Sources/chatbench", swiftSettings: strict),
  ] + system("HBCode") + [
    .executableTarget(
      name: "benchmarks",
      dependencies: [
        "Simulation", "Wire", "Contract", "Recordings", "Faults", "Oracles", "Replay", "Catalog", "ClientKit", "CSimdjson",
      ], path: "Tests/Benchmarks", swiftSettings: strict),
    target("TestSupport", path: "Tests/TestSupport", ["Simulation", "Wire", "Contract", "Faults", "Replay", "Oracles"]),
    target("PeerSupport", path: "Tests/PeerSupport", ["Simulation", "Wire", "Sockets", "Proxy"]),
    test("SimulationTests", ["Simulation"]),
    test("WireTests", ["Simulation", "Wire"]),
    test("StorageTests", ["Storage"]),
    test("RecordingsTests", ["Simulation", "Wire", "Storage", "Recordings"]),
    test("ProxyTests", ["Simulation", "Wire", "Recordings", "Sockets", "Proxy", "PeerSupport"]),
    test("ClientKitTests", ["Simulation", "Wire", "Contract", "ClientKit"]),
    test("FaultsTests", ["Simulation", "Wire", "Contract", "Faults"]),
    test("OraclesTests", ["Simulation", "Wire", "Contract", "Oracles", "TestSupport"]),
    test("ReplayTests", ["Simulation", "Wire", "Contract", "Faults", "Replay", "Oracles", "TestSupport"]),
    test("ReportingTests", exclude: ["Goldens", "browser.py"], ["Simulation", "Wire", "Contract", "Oracles", "Reporting", "TestSupport"]),
    test(
      "LiveTests",
      ["Simulation", "Wire", "Contract", "Faults", "Replay", "Recordings", "Sockets", "Proxy", "Live", "TestSupport", "PeerSupport"]),
    test("CommandsTests", ["Simulation", "Wire", "Recordings", "Commands"]),
    test(
      "HBCodeTests", path: "Tests/Systems/HBCodeTests",
      [
        "Simulation", "Wire", "Contract", "ClientKit", "Faults", "Replay", "Oracles", "TestSupport", "HBCodeDialect",
        "HBCodeScenario", "HBCodeCore", "HBCodeTwin", "HBCodeSystem",
      ]),
    test(
      "ConformanceTests", exclude: ["Fixtures", "pending.txt"],
      [
        "Simulation", "Wire", "Contract", "ClientKit", "Faults", "Replay", "Oracles", "Recordings", "TestSupport", "Catalog",
        "HBCodeDialect", "HBCodeScenario", "HBCodeCore", "HBCodeTwin", "HBCodeSystem",
      ]),
  ],
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)
