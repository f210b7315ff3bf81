// HBCode Scenario
