// ReplayTests
