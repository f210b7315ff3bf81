// OraclesTests
