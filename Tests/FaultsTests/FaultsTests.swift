// FaultsTests
