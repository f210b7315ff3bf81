import Contract
import Oracles
import Wire

/// `junit.xml`: a case for each claim and for each message. Broken is a failure, unknown an error, untested skipped. Times are zero:
/// virtual time is not time spent.
package enum JUnitReport {
  package static func bytes(_ report: Report) -> [UInt8] { Array(text(report).utf8) }

  package static func text(_ report: Report) -> String {
    let claims = report.judgement.claims
    let messages = report.judgement.messages
    let lost = messages.filter(\.fate.isBroken)
    let failures = report.judgement.count(.broken) + lost.count
    var out = #"<?xml version="1.0" encoding="UTF-8"?>"# + "\n"
    out +=
      "<testsuites name=\(quoted("chatbench " + report.header.recordingName)) tests=\"\(claims.count + messages.count)\""
      + " failures=\"\(failures)\" errors=\"\(report.judgement.count(.unknown))\" skipped=\"\(report.judgement.count(.untested))\" time=\"0\">\n"
    out +=
      "  <testsuite name=\"claims\" tests=\"\(claims.count)\" failures=\"\(report.judgement.count(.broken))\""
      + " errors=\"\(report.judgement.count(.unknown))\" skipped=\"\(report.judgement.count(.untested))\" time=\"0\">\n"
    out += "    <properties>\n"
    // The gate comes first: a verdict on a scenario that is not the recording says less than it seems to.
    for (name, value) in [
      ("divergence", report.divergenceNotice ?? (report.audit == nil && report.divergences.isEmpty ? "not audited" : "none")),
      ("verdict", report.verdict.rawValue), ("sentence", report.sentence), ("token", report.header.token), ("plan", report.header.planName),
      ("seed", String(report.header.seed)), ("command", report.command),
    ] {
      out += "      <property name=\(quoted(name)) value=\(quoted(value))/>\n"
    }
    out += "    </properties>\n"
    for claim in claims {
      out += "    <testcase classname=\(quoted("claims." + report.header.system)) name=\(quoted(claim.id + " " + claim.title)) time=\"0\""
      switch claim.verdict {
      case .held: out += "/>\n"
      case .broken:
        let lines = claim.violations.map { "\($0.at) \($0.happened) [entries \($0.evidence.map(String.init).joined(separator: ", "))]" }
        out += ">\n" + detail("failure", claim.violations.first?.happened ?? claim.promise, "broken", lines.joined(separator: "\n"))
      case .unknown: out += ">\n" + detail("error", claim.reason ?? "undecided", "unknown", claim.promise)
      case .untested: out += ">\n      <skipped message=\(quoted(claim.reason ?? "no opportunity"))/>\n    </testcase>\n"
      }
    }
    out += "  </testsuite>\n"
    out += "  <testsuite name=\"messages\" tests=\"\(messages.count)\" failures=\"\(lost.count)\" errors=\"0\" skipped=\"0\" time=\"0\">\n"
    for message in messages.sorted(by: { $0.number < $1.number }) {
      out +=
        "    <testcase classname=\(quoted("messages." + report.header.system)) name=\(quoted(message.id + " " + message.text)) time=\"0\""
      if message.fate.isBroken {
        out += ">\n" + detail("failure", message.fate.words(saves: message.saves.count), message.fate.rawValue, message.why)
      } else {
        out += ">\n      <system-out>\(escaped("\(message.fate.rawValue): \(message.why)"))</system-out>\n    </testcase>\n"
      }
    }
    out += "  </testsuite>\n</testsuites>\n"
    return out
  }

  private static func detail(_ element: String, _ message: String, _ type: String, _ body: String) -> String {
    "      <\(element) message=\(quoted(message)) type=\(quoted(type))>\(escaped(body))</\(element)>\n    </testcase>\n"
  }

  private static func quoted(_ text: String) -> String { "\"" + escaped(text, inAttribute: true) + "\"" }

  /// Text for XML 1.0: markup as entities (`>` always, so that no `]]>` can stand), characters that XML cannot hold as U+FFFD, line
  /// breaks and tabs in attributes as references.
  static func escaped(_ text: String, inAttribute: Bool = false) -> String {
    var out = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x26: out.append(contentsOf: "&amp;".unicodeScalars)
      case 0x3c: out.append(contentsOf: "&lt;".unicodeScalars)
      case 0x3e: out.append(contentsOf: "&gt;".unicodeScalars)
      case 0x22: out.append(contentsOf: "&quot;".unicodeScalars)
      case 0x0d: out.append(contentsOf: "&#13;".unicodeScalars)
      case 0x09, 0x0a:
        if inAttribute { out.append(contentsOf: "&#\(scalar.value);".unicodeScalars) } else { out.append(scalar) }
      case 0x20...0xd7ff, 0xe000...0xfffd, 0x10000...0x10ffff: out.append(scalar)
      default: out.append("\u{fffd}")
      }
    }
    return String(out)
  }
}
