import Catalog
import Contract
import Faults
import Oracles
import Wire

/// `systems` and `faults`: what there is to choose from.
enum InformationCommands {
  static let systems = Command(
    name: "systems", summary: "the client systems, or the labels, fields, states, gestures and claims of one",
    positionals: [Positional("NAME", .optional, "a system")], options: [RecordingCommands.json],
    examples: ["chatbench systems", "chatbench systems NAME"],
    run: { arguments, console in
      guard let name = arguments.positionals.first else {
        for system in Catalog.systems {
          if arguments.has("json") {
            try console.line(
              JSONWriter.text([
                "name": .string(system.name), "title": .string(system.title), "behaviourVersion": .int(system.behaviourVersion),
                "claims": .int(system.claims.count),
              ]))
          } else {
            try console.line(
              "\(system.name)  \(system.title); \(system.claims.count) claims and \(CommonClaims.all.count) of all systems, behaviour version \(system.behaviourVersion)"
            )
          }
        }
        return .held
      }
      let system = try SystemChoice.named(name)
      if arguments.has("json") {
        try console.line(
          JSONWriter.text([
            "name": .string(system.name), "title": .string(system.title), "behaviourVersion": .int(system.behaviourVersion),
            "labels": .array(system.labels.map { ["role": .string($0.role.rawValue), "name": .string($0.name)] }),
            "states": .array(system.states.map { ["name": .string($0.name), "meaning": .string($0.meaning)] }),
            "fields": .array(system.fields.map(JSON.string)), "mutations": .array(system.mutations.map(JSON.string)),
            "snapshots": .array(system.snapshots.map(JSON.string)), "updates": .array(system.updates.map(JSON.string)),
            "gestures": .array(
              system.gestures.map {
                ["name": .string($0.name), "fields": .array($0.fields.map(JSON.string)), "meaning": .string($0.meaning)]
              }),
            "claims": .array(
              system.claims.map {
                [
                  "id": .string($0.id), "title": .string($0.title), "promise": .string($0.promise), "kind": .string($0.kind.rawValue),
                  "opportunity": .string($0.opportunity), "restsOn": .string($0.footing.rawValue),
                ]
              }),
          ]))
        return .held
      }
      try console.line("\(system.name): \(system.title)")
      for role in FrameLabel.Role.allCases where role != .other {
        let names = system.labels.filter { $0.role == role }.map(\.name)
        if !names.isEmpty {
          try console.page("\n\(role.rawValue) labels:")
          for name in names { try console.line("  \(name)") }
        }
      }
      if !system.fields.isEmpty {
        try console.page("\nfields of labels (FIELD OP VALUE), beside operation and key:")
        try console.line("  " + system.fields.joined(separator: ", "))
      }
      try console.page("\nclient states (while=):")
      let column = system.states.map(\.name.count).max() ?? 0
      for state in system.states { try console.line("  \(Help.pad(state.name, to: column))  \(state.meaning)") }
      if !system.gestures.isEmpty {
        try console.page("\ngestures of the user (--user SCRIPT, marks: {\"do\": NAME, FIELD: …}; ? behind what may be left out):")
        let column = system.gestures.map(\.name.count).max() ?? 0
        for gesture in system.gestures {
          try console.line("  \(Help.pad(gesture.name, to: column))  \(gesture.meaning)")
          if !gesture.fields.isEmpty { try console.line("  \(Help.pad("", to: column))  \(gesture.fields.joined(separator: ", "))") }
        }
      }
      try console.page("\nclaims:")
      for claim in system.claims {
        try console.line("  \(claim.id)  \(claim.title)\(claim.kind == .liveness ? " (by the end of the quiet phase)" : "")")
        try console.line("    \(claim.promise)")
      }
      return .held
    })

  static let faults = Command(
    name: "faults", summary: "the built-in plans and the rules that they are made of, or the rules of one plan",
    positionals: [Positional("PLAN", .optional, "a built-in plan")],
    options: [
      Option("for", "REC", "draw the plan for this recording"), RunChoice.seed, SystemChoice.option, RecordingCommands.json,
    ],
    detail: "A rule is ACTION,TARGET,LABEL[,FIELD OP VALUE]…: OP is = != < > or ~ (contains); nth=N, every=N, first-per-key or "
      + "probability=P choose among the matches; conn=N, after=T, before=T and while=STATE limit them; at=T, entry=N and "
      + "on=ROLE:LABEL say when a rule that acts on no frame does (hold-drag without them: at the user's drags). nth counts matches before other rules act. Rules act until the last intent; then everything must come to rest.",
    examples: [
      "chatbench faults", "chatbench faults everything --for two-chats.chatrec --seed 7",
      "chatbench replay two-chats.chatrec --fault drop,response,run.chatOutboxSubmit,nth=2",
    ],
    run: { arguments, console in
      guard let name = arguments.positionals.first else {
        if arguments.has("json") {
          for plan in BuiltInPlans.all {
            try console.line(JSONWriter.text(["plan": .string(plan.name), "meaning": .string(plan.meaning)]))
          }
          for action in FaultRule.actions {
            try console.line(
              JSONWriter.text([
                "action": .string(action.name), "targets": .array(action.targets.map(JSON.string)), "meaning": .string(action.meaning),
              ]))
          }
          return .held
        }
        try console.line("plans (--plan):")
        let column = BuiltInPlans.all.map(\.name.count).max() ?? 0
        for plan in BuiltInPlans.all { try console.line("  \(Help.pad(plan.name, to: column))  \(plan.meaning)") }
        try console.page("\nactions of a rule (--fault):")
        for action in FaultRule.actions {
          try console.line("  \(Help.pad(action.name, to: column))  \(action.meaning)")
          try console.line("  \(Help.pad("", to: column))  on \(action.targets.joined(separator: ", "))")
        }
        return .held
      }
      guard let path = arguments["for"] else {
        guard let known = BuiltInPlans.all.first(where: { $0.name == name }) else {
          let nearest = Nearest.name(to: name, among: BuiltInPlans.all.map(\.name))
          throw CommandFailure(.usage, "\(FaultError.unknownPlan(name, nearest: nearest))")
        }
        try console.line("\(known.name): \(known.meaning)")
        console.say("its rules depend on the recording: name one with --for")
        return .held
      }
      let subject = try RunSubject.open(path, arguments)
      let seed = try arguments.unsigned("seed") ?? 1
      let facts = subject.scenario.facts
      let plan: FaultPlan
      do throws(FaultError) {
        plan = try BuiltInPlans.plan(
          name, system: subject.system, seed: seed, start: facts.start, end: facts.end, intents: facts.intents)
      } catch {
        throw CommandFailure(.usage, "\(error)")
      }
      if arguments.has("json") {
        try console.line(String(decoding: JSONWriter.canonical(plan.json), as: UTF8.self))
      } else {
        try console.line("\(plan.name), sha-256 \(plan.hash)")
        for (index, rule) in plan.rules.enumerated() { try console.line("  \(index + 1)  \(rule.text)") }
      }
      return .held
    })
}
