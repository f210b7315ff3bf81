// Systems/HBCodeTests
