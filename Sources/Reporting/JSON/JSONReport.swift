import Contract
import Oracles
import Simulation
import Wire

/// `report.json`: the facts of a report for other tools. Instants are nanoseconds since the start of the run.
package enum JSONReport {
  /// Raised when a field changes its meaning or goes away; new fields do not raise it.
  package static let schema = 1

  /// One line, members in a fixed order, with a newline at the end.
  package static func bytes(_ report: Report) -> [UInt8] { JSONWriter.compact(json(report)) + [UInt8(ascii: "\n")] }

  /// `sampleLimit`: at most this many samples of each figure, the least and the greatest of every stretch; nil for all of them.
  package static func json(_ report: Report, sampleLimit: Int? = nil) -> JSON {
    let header = report.header
    return [
      "schema": .int(schema), "diverged": .bool(!report.differences.isEmpty),
      "divergenceNotice": report.divergenceNotice.map(JSON.string) ?? .null,
      "verdict": .string(report.verdict == .untested ? "unknown" : report.verdict.rawValue),
      "token": .string(header.token), "sentence": .string(report.sentence), "exitStatus": .int(report.judgement.exitStatus),
      "reason": report.judgement.reason.map(JSON.string) ?? .null, "system": .string(header.system),
      "behaviourVersion": .int(header.behaviourVersion), "recording": .string(header.recordingName),
      "recordingHash": .string(header.recordingHash), "plan": .string(header.planName), "planHash": .string(header.planHash),
      "user": .string(header.user), "seed": .unsigned(header.seed), "withoutRecordedLosses": .bool(header.withoutRecordedLosses),
      "command": .string(report.command), "tool": .string(report.tool), "quietFrom": instant(header.quietFrom), "end": instant(report.end),
      "entries": .int(report.trace.entries.count), "traceHash": report.traceHash.map(JSON.string) ?? .null, "proof": proof(report.proof),
      "claims": .array(report.judgement.claims.map { claim($0, report) }), "messages": .array(report.judgement.messages.map(message)),
      "foreign": .array(
        report.judgement.foreign.map {
          ["operation": .string($0.operation), "text": .string($0.text), "lane": $0.lane.map(JSON.string) ?? .null, "at": instant($0.at)]
        }),
      "faults": .array(report.rules.map(rule)), "figures": .array(report.figures.map { figure($0, sampleLimit) }),
      "holds": .array(report.screen.holds.map(hold)), "audit": report.audit.map(JSON.string) ?? .null,
      "divergences": .array(report.divergences.map(divergence)), "cannotSay": .array(report.cannotSay.map(JSON.string)),
      "neverHappened": .array(report.neverHappened.map(JSON.string)),
      "findings": .array(
        report.findings.map { finding in
          [
            "id": .string(finding.id), "title": .string(finding.title), "claims": .array(finding.claims.map { .string($0.id) }),
            "message": finding.message.map { .string($0.id) } ?? .null, "entries": .array(finding.evidence.map { .int($0.line.index) }),
          ]
        }),
    ]
  }

  private static func instant(_ instant: Instant?) -> JSON { instant.map { .integer($0.nanoseconds) } ?? .null }

  private static func proof(_ proof: Proof) -> JSON {
    switch proof {
    case .notRun: .null
    case .equal: ["equal": true]
    case .differs(let entry): ["equal": false, "entry": .int(entry)]
    }
  }

  private static func claim(_ claim: ClaimResult, _ report: Report) -> JSON {
    let evidence = claim.violations.map { violation -> JSON in
      let message = violation.operation.flatMap { operation in report.judgement.messages.first { $0.operationIDs.contains(operation) } }
      return [
        "at": instant(violation.at), "happened": .string(violation.happened), "operation": violation.operation.map(JSON.string) ?? .null,
        "message": message.map { .string($0.id) } ?? .null, "entries": .array(violation.evidence.map { .int($0) }),
      ]
    }
    return [
      "id": .string(claim.id), "title": .string(claim.title), "kind": .string(claim.kind.rawValue),
      "verdict": .string(claim.verdict.rawValue),
      "exercised": .int(claim.exercised), "undecided": .int(claim.undecided), "reason": claim.reason.map(JSON.string) ?? .null,
      "promise": .string(claim.promise), "opportunity": .string(claim.opportunity), "footing": .string(claim.footing.rawValue),
      "evidence": .array(evidence),
    ]
  }

  private static func message(_ message: Message) -> JSON {
    [
      "id": .string(message.id), "operationIds": .array(message.operationIDs.map(JSON.string)), "text": .string(message.text),
      "lane": message.lane.map(JSON.string) ?? .null, "attempts": .int(message.attempts.count), "distinctKeys": .int(message.distinctKeys),
      "saves": .int(message.saves.count), "fate": .string(message.fate.rawValue),
      "clientClaim": message.word.map { .string($0.rawValue) } ?? .null, "clientClaimCounts": .bool(message.wordCounts),
      "ledger": .string(message.ledger), "why": .string(message.why),
      "faults": .array(
        message.faults.map {
          [
            "rule": $0.rule.map { .int($0) } ?? .null, "source": .string($0.words), "kind": .string($0.kind), "frame": .string($0.frame),
            "at": instant($0.at),
            "entry": .int($0.entry),
          ]
        }),
      "acceptedAt": instant(message.accepted), "sentAt": .array(message.attempts.map { instant($0.at) }),
      "receiptAt": .array(message.attempts.map { instant($0.receipt) }), "savedAt": .array(message.saves.map { instant($0.at) }),
      "shownAt": instant(message.shown), "settledAt": instant(message.history.first?.at),
    ]
  }

  private static func rule(_ rule: RuleReport) -> JSON {
    [
      "rule": .string(rule.rule), "number": .int(rule.number), "candidates": .int(rule.candidates), "fired": .int(rule.fired),
      "first": instant(rule.first), "last": instant(rule.last), "remark": rule.fired == 0 ? .string(Report.silence(of: rule)) : .null,
    ]
  }

  private static func figure(_ figure: Figure, _ sampleLimit: Int?) -> JSON {
    let samples = FigureSamples(figure)
    let shown = sampleLimit.map { samples.thinned(to: $0) } ?? samples.samples
    return [
      "id": .string(figure.id), "title": .string(figure.title), "definition": .string(figure.definition),
      "value": number(figure.value), "unit": .string(figure.unit),
      "limit": figure.limit.map(JSON.string) ?? .null, "held": figure.held.map(JSON.bool) ?? .null,
      "chart": figure.chart.map { .string($0.rawValue) } ?? .null, "bound": figure.bound.map(number) ?? .null,
      "sampleCount": .int(samples.count),
      "samples": .array(shown.map { .array([.integer($0.at.nanoseconds), number($0.value), .int($0.entry)]) }),
    ]
  }

  private static func number(_ value: Double) -> JSON {
    if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return .integer(whole) }
    return value.isFinite ? .double(value) : .null
  }

  private static func hold(_ hold: HeldUpdate) -> JSON {
    var outcome: JSONObject
    switch hold.outcome {
    case .applied(let applied):
      outcome = [
        "outcome": applied.waited ? "applied" : "overtaken", "appliedVersion": .int(applied.number), "appliedAt": instant(applied.at),
        "appliedEntry": .int(applied.entry), "change": .string(applied.change), "reason": .null,
      ]
    case .dropped(let at, let entry, let why):
      outcome = [
        "outcome": "dropped", "appliedVersion": .null, "appliedAt": .null, "appliedEntry": .null, "change": .null, "reason": .string(why),
        "droppedAt": instant(at), "droppedEntry": .int(entry),
      ]
    case .open:
      outcome = [
        "outcome": "open", "appliedVersion": .null, "appliedAt": .null, "appliedEntry": .null, "change": .null,
        "reason": "the run ended",
      ]
    }
    var object: JSONObject = [
      "id": .string(hold.id), "host": .string(hold.host), "from": instant(hold.from), "until": instant(hold.until),
      "durationNs": .integer(hold.duration.nanoseconds),
      "causes": .array(
        hold.phases.map {
          [
            "cause": .string($0.cause.rawValue), "from": instant($0.from), "entry": .int($0.entry),
            "rule": $0.rule.map { .int($0) } ?? .null,
          ]
        }),
      "versions": .array(
        hold.versions.map {
          [
            "listVersion": .int($0.number), "at": instant($0.at), "entry": .int($0.entry), "live": $0.isLive.map(JSON.bool) ?? .null,
            "applied": .bool($0.number == hold.applied?.number),
          ]
        }),
      "freeAt": instant(hold.release?.at), "freeEntry": hold.release.map { .int($0.entry) } ?? .null,
      "freeBy": hold.release.map { .string(words(of: $0.kind)) } ?? .null,
      "signalled": hold.release.map { .bool($0.isSignalled) } ?? .null,
      "afterFreeNs": hold.wait.map { .integer($0.nanoseconds) } ?? .null,
    ]
    object.members += outcome.members
    object["rules"] = .array(hold.rules.map { .int($0) })
    object["claims"] = .array(hold.claims.map(JSON.string))
    return .object(object)
  }

  private static func words(of kind: HeldUpdate.Release.Kind) -> String {
    switch kind {
    case .rest: "rest"
    case .scroll: "scroll"
    case .placed: "placed"
    case .live: "live"
    }
  }

  private static func divergence(_ divergence: Divergence) -> JSON {
    [
      "kind": .string(divergence.kind.rawValue), "audit": .int(divergence.audit), "frame": divergence.frame.map { .int($0) } ?? .null,
      "at": instant(divergence.at), "name": .string(divergence.name), "path": divergence.path.map(JSON.string) ?? .null,
      "recorded": divergence.recorded.map(JSON.string) ?? .null, "replayed": divergence.replayed.map(JSON.string) ?? .null,
      "restsOn": divergence.restsOn.map(JSON.string) ?? .null,
    ]
  }
}
