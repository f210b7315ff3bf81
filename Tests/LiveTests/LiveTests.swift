// LiveTests
