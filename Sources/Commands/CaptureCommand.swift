import Glibc
import Proxy
import Recordings
import Simulation
import Sockets
import Storage
import Wire

/// `capture`: a reverse proxy that records.
enum CaptureCommand {
  static let capture = Command(
    name: "capture", summary: "record the traffic between a client and its server",
    options: [
      Option("upstream", "URL", "the server: ws://HOST:PORT or http://HOST:PORT; the client's own path is passed on"),
      Option("listen", "HOST:PORT", "where the client connects; default 127.0.0.1:0, a free port"),
      Option("marks", "HOST:PORT", "a second port that takes marks: POST a body, and it stands in the recording"),
      Option("output", "FILE", short: "o", "the recording; default: capture-YYYYMMDD-HHMMSS.chatrec"),
      Option("system", "NAME", "the client system, for the manifest"),
      Option("duration", "SECONDS", "end and seal after this long"),
      Option("allow-remote", nil, "listen on addresses that other machines can reach"), RecordingCommands.json,
    ],
    detail: "Passes every byte on untouched (the Host field is rewritten) and records WebSocket messages, HTTP requests and answers, "
      + "and marks. Credentials in headers (Authorization, Proxy-Authorization, Cookie, Set-Cookie, X-Api-Key, cf-access-token), in "
      + "the query (token, access_token, api_key) and in URLs are replaced on the way in; equal secrets get equal placeholders. Every frame "
      + "is on disk within 250 ms, so kill -9 loses at most that; Ctrl-C, SIGTERM and --duration seal. What cannot be written any "
      + "more is said at once, the traffic goes on, and what was written stays a valid journal.",
    examples: [
      "chatbench capture --upstream ws://127.0.0.1:8080 -o session.chatrec",
      "chatbench capture --upstream ws://127.0.0.1:8080 --listen 127.0.0.1:9000 --marks 127.0.0.1:9001",
      "curl -d 'the screen jumped here' http://127.0.0.1:9001/",
    ],
    run: { arguments, console in
      guard let url = arguments["upstream"] else {
        throw CommandFailure(.usage, "capture wants --upstream URL (see: chatbench help capture)")
      }
      if let name = arguments["system"] { _ = try SystemChoice.named(name) }
      let upstream: UpstreamURL
      do throws(CaptureError) { upstream = try UpstreamURL(url) } catch { throw CommandFailure(.usage, error.description) }
      let duration = try arguments.unsigned("duration")
      let options = CaptureSession.Options(
        upstream: upstream, listen: try place(arguments["listen"] ?? "127.0.0.1:0", "listen"),
        marks: try arguments["marks"].map { try place($0, "marks") }, allowRemote: arguments.has("allow-remote"))
      let path = arguments["output"] ?? defaultName()
      guard path.hasSuffix(".chatrec") else { throw CommandFailure(.usage, "--output wants a name that ends in .chatrec, not “\(path)”") }

      let loop = try EventLoop()
      // Before anything is said or written: from here on a signal ends with a seal.
      let signals = try loop.watch(signals: [SIGINT, SIGTERM]) { _ in loop.stop() }
      var journal: JournalWriter?
      let session = try CaptureSession(on: loop, options) { clock in
        let writer = try JournalWriter(
          path: path + ".journal",
          facts: CaptureFacts(
            toolVersion: Version.number, system: arguments["system"], wallClockMs: clock.wallClockAtStart / 1_000_000, upstream: url))
        journal = writer
        return writer
      }
      session.onFailure = { error in
        console.say("chatbench: \(Failures.explain(error).message); the traffic passes on unrecorded")
      }
      if arguments.has("json") {
        try console.line(
          JSONWriter.text([
            "listening": .string(session.place.description), "marks": session.marksPlace.map { .string($0.description) } ?? .null,
            "upstream": .string(upstream.description), "recording": .string(path),
          ]))
      } else {
        try console.line("listening on ws://\(session.place) for \(upstream)")
        if let marks = session.marksPlace { try console.line("marks: POST to http://\(marks)/") }
      }
      try console.flush()
      if options.allowRemote { console.say("chatbench: other machines can reach \(session.place)") }
      console.say("recording to \(path).journal; Ctrl-C seals it as \(path)")

      let end = try loop.timer { loop.stop() }
      if let duration { end.arm(after: .seconds(Int64(min(duration, 1 << 30)))) }
      let progress = try Progress(loop, session, console)
      loop.run()
      progress.end()
      let counts = session.stop()
      withExtendedLifetime((signals, end)) {}
      guard let journal else { throw CommandFailure(.ownFault, "the capture has no journal") }
      return try finish(journal, path, counts, session.failure, arguments, console)
    })

  /// Closes the journal and seals it. After a failed write the journal stays: its valid part opens like a recording.
  private static func finish(
    _ journal: JournalWriter, _ path: String, _ counts: CaptureCounts, _ failure: (any Error)?, _ arguments: Arguments, _ console: Console
  ) throws -> ExitStatus {
    do throws(RecordingError) {
      try journal.close()
    } catch {
      throw CommandFailure(
        .cannotWrite, "\(failure.map { Failures.explain($0).message } ?? error.description); \(journal.path) holds what was written")
    }
    if let failure { throw CommandFailure(.cannotWrite, "\(Failures.explain(failure).message); \(journal.path) holds what was written") }
    let sealed: SealedFile
    do throws(RecordingError) {
      sealed = try Seal.seal(journal: journal.path)
    } catch {
      throw CommandFailure(.cannotWrite, "\(error); \(journal.path) stays: chatbench seal takes it later")
    }
    if counts.compressed > 0 {
      console.say(
        "chatbench: \(RecordingCommands.count(counts.compressed, "message")) compressed by permessage-deflate: recorded as sent, but not readable; "
          + "let client or server not offer it")
    }
    if arguments.has("json") {
      try console.line(
        JSONWriter.text([
          "sealed": .string(sealed.path), "sha256": .string(sealed.hash), "bytes": .int(sealed.bytes), "frames": .int(sealed.entries),
          "connections": .int(counts.connections), "marks": .int(counts.marks),
        ]))
    } else {
      try console.line(
        "sealed \(sealed.path): \(RecordingCommands.count(sealed.entries, "frame")), "
          + "\(RecordingCommands.count(counts.connections, "connection")), \(RecordingCommands.count(counts.marks, "mark")), "
          + RecordingCommands.bytes(sealed.bytes))
    }
    return .held
  }

  static func place(_ text: String, _ option: String) throws(CommandFailure) -> HostPort {
    do throws(SocketError) { return try HostPort(text) } catch { throw CommandFailure(.usage, "--\(option): \(error.description)") }
  }

  /// `capture-YYYYMMDD-HHMMSS.chatrec`, local time: a name for a person, read by nothing.
  private static func defaultName() -> String {
    var now = time(nil)
    var parts = tm()
    localtime_r(&now, &parts)
    func two(_ n: Int32) -> String { n < 10 ? "0\(n)" : "\(n)" }
    return "capture-\(1_900 + parts.tm_year)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))-"
      + "\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec)).chatrec"
  }
}

/// Live counters on a terminal, once a second; nothing elsewhere.
private final class Progress {
  private var timer: LoopTimer?
  private let console: Console

  init(_ loop: EventLoop, _ session: CaptureSession, _ console: Console) throws {
    self.console = console
    guard console.isInteractive else { return }
    timer = try loop.timer { [weak self] in
      let counts = session.counts
      console.status(
        "\(session.clock.now)  \(RecordingCommands.count(counts.openConnections, "open connection")), "
          + "out \(RecordingCommands.grouped(counts.messagesOut)), in \(RecordingCommands.grouped(counts.messagesIn)), "
          + "\(RecordingCommands.bytes(counts.bytesOut + counts.bytesIn))")
      self?.timer?.arm(after: .seconds(1))
    }
    timer?.arm(after: .seconds(1))
  }

  func end() {
    if timer != nil { console.status("") }
    timer = nil
  }
}
