/// Every command, in the order of the overview: the one table that parses and makes the helps.
enum CommandList {
  static let all: [Command] = [
    CaptureCommand.capture, RecordingCommands.list, RecordingCommands.show, RecordingCommands.check, RecordingCommands.seal,
    ScenarioCommand.scenario, ReplayCommand.replay, ReplayCommand.report,
    LiveCommands.serve, LiveCommands.drive, DemoCommand.demo, InformationCommands.systems, InformationCommands.faults,
  ]
}
