import Wire

/// What a member of a request's params or of a plain result must be (spec B.2).
fileprivate enum Form {
  case text, nullableText, integer, positive, flag, texts
  case agent, intent, nullableAnchor, submitEntry, attachment, conversations, rows
  case word([String])

  /// The first thing wrong with `value`: its reason (nil: "wrong type") and path.
  func problem(_ value: JSON, at path: String, wrongType: String) -> DecodeFailure? {
    let wrong = DecodeFailure(reason: wrongType, at: path)
    switch self {
    case .text: return value.string == nil ? wrong : nil
    case .nullableText: return value.isNull || value.string != nil ? nil : wrong
    case .integer: return value.wireInteger == nil ? wrong : nil
    case .positive: return value.wireInteger ?? 0 > 0 ? nil : wrong
    case .flag: return value.bool == nil ? wrong : nil
    case .texts: return value.array?.allSatisfy { $0.string != nil } ?? false ? nil : wrong
    case .agent: return value.string.flatMap(Agent.init(rawValue:)) == nil ? wrong : nil
    case .intent: return value.string.flatMap(SubmitIntent.init(rawValue:)) == nil ? wrong : nil
    case .word(let words): return value.string.map(words.contains) ?? false ? nil : wrong
    case .nullableAnchor: return value.isNull || Anchor(value) != nil ? nil : wrong
    case .attachment: return AttachmentReference(value) == nil ? wrong : nil
    case .submitEntry:
      do throws(DecodeFailure) { _ = try SubmitEntry.decode(value, at: path) } catch { return error }
      return nil
    case .rows:
      guard let elements = value.array else { return wrong }
      do throws(DecodeFailure) { _ = try Row.decodePage(elements, at: path) } catch { return error }
      return nil
    case .conversations:
      guard let elements = value.array else { return wrong }
      for (index, element) in elements.enumerated() {
        let members: [(String, Form)] = [
          ("conversationId", .text), ("title", .text), ("updatedAt", .integer), ("model", .nullableText), ("clientName", .nullableText),
        ]
        for (name, form) in members {
          let place = "\(path)[\(index)].\(name)"
          if let problem = form.problem(element[name] ?? .bool(false), at: place, wrongType: wrongType) { return problem }
        }
      }
      return nil
    }
  }
}

fileprivate struct Member {
  var name: String
  var form: Form
  var isOptional = false
  init(_ name: String, _ form: Form, isOptional: Bool = false) {
    self.name = name
    self.form = form
    self.isOptional = isOptional
  }
}

extension Method {
  fileprivate var paramForms: [Member] {
    let session = Member("sessionId", .text)
    let entry = [session, Member("queueId", .text), Member("operationId", .text)]
    let thread = Member("threadId", .text)
    let window = [Member("limit", .positive), Member("anchor", .nullableAnchor)]
    let page = [Member("cursor", .text), Member("boundaryToken", .text), Member("limit", .positive)]
    let folder = [Member("agent", .agent), Member("projectPath", .text)]
    switch self {
    case .timelineInterest: return [session, Member("threadId", .nullableText), Member("hold", .flag)]
    case .sessionCreate: return folder + [Member("conversationId", .text, isOptional: true)]
    case .existingSessions: return folder
    case .previewExistingSession: return folder + [Member("conversationId", .text)]
    case .load: return [session] + window
    case .loadThread: return [session] + window + [thread]
    case .loadPageBefore: return [session] + page
    case .loadThreadPageBefore: return [session] + page + [thread]
    case .outboxLoad: return [session]
    case .outboxSubmit:
      return [
        session, Member("intent", .intent), Member("supersedesOperationId", .nullableText), Member("entry", .submitEntry),
      ]
    case .outboxRemove: return entry
    case .outboxReorder: return [session, Member("queueIds", .texts)]
    case .stopAndSendNow:
      return entry + [Member("expectedRunId", .text), Member("expectedThreadId", .text), Member("expectedTurnId", .text)]
    case .stop: return [session, Member("runId", .text)]
    case .uploadBegin:
      return [
        session, Member("projectPath", .text), Member("fileName", .text), Member("mimeType", .text), Member("path", .text),
        Member("size", .integer),
      ]
    case .uploadChunk: return [Member("uploadId", .text), Member("index", .integer), Member("data", .text)]
    case .uploadFinish, .uploadCancel: return [Member("uploadId", .text)]
    }
  }

  /// Members of a result that has no decoder of its own; nil where it has one.
  private var resultForms: [Member] {
    switch self {
    case .timelineInterest: [Member("keepMs", .integer)]
    case .sessionCreate:
      [Member("sessionId", .text), Member("agent", .agent), Member("projectPath", .text), Member("createdAt", .integer)]
    case .existingSessions: [Member("conversations", .conversations)]
    case .previewExistingSession: [Member("conversationId", .text), Member("timeline", .rows)]
    case .load, .loadThread, .loadPageBefore, .loadThreadPageBefore, .outboxLoad: []
    case .outboxSubmit, .outboxReorder, .stop: [Member("outcome", .word(["updated"]))]
    case .outboxRemove: [Member("outcome", .word(["updated", "delivered"]))]
    case .stopAndSendNow: [Member("outcome", .word(["updated", "blocked"]))]
    case .uploadBegin: [Member("uploadId", .text), Member("chunkSize", .positive)]
    case .uploadChunk: [Member("received", .integer)]
    case .uploadFinish: [Member("attachment", .attachment)]
    case .uploadCancel: []
    }
  }

  /// The idempotency key of a mutation that is not an upload: `<method>:<mutationId>` (spec B.2).
  package func key(mutationId: String) -> String { rawValue + ":" + mutationId }

  /// The mutation ID in a key of that form, or nil.
  package func mutationId(ofKey key: String) -> String? {
    let prefix = rawValue + ":"
    return key.hasPrefix(prefix) && key.utf8.count > prefix.utf8.count ? String(key.dropFirst(prefix.count)) : nil
  }

  /// Whether `key` has the form that spec B.2 gives for this method and these params.
  fileprivate func accepts(key: String, params: JSONObject) -> Bool {
    let suffix: String
    switch self {
    case .uploadBegin: suffix = ":begin"
    case .uploadChunk: suffix = ":chunk:\(params["index"]?.wireInteger ?? 0)"
    case .uploadFinish: suffix = ":finish"
    case .uploadCancel: suffix = ":cancel"
    default: return mutationId(ofKey: key).map { !$0.isBlank } ?? false
    }
    return key.hasSuffix(suffix) && key.hasPrefix("files.chatAttachmentUpload:")
  }
}

extension RequestMessage {
  /// Judges a request by spec B.2, as a strict desktop does. Reasons in order: `method.unknown`, `json.duplicate-key`,
  /// `params.missing-key:<key>`, `params.type:<key>`, those of a submit's entry, then `idempotencyKey.missing`,
  /// `idempotencyKey.form` and `idempotencyKey.unexpected`. Further params are allowed.
  package func check() throws(DecodeFailure) {
    guard let known = Method(rawValue: method) else { throw DecodeFailure(reason: "method.unknown", at: "method") }
    if JSON.object(params).repeatsKey { throw DecodeFailure(reason: "json.duplicate-key", at: "params") }
    for member in known.paramForms {
      guard let value = params[member.name] else {
        if member.isOptional { continue }
        throw DecodeFailure(reason: "params.missing-key:\(member.name)", at: "params")
      }
      let path = "params.\(member.name)"
      if let problem = member.form.problem(value, at: path, wrongType: "params.type:\(member.name)") { throw problem }
    }
    let place = "idempotencyKey"
    if let key = idempotencyKey {
      if !known.isKeyed { throw DecodeFailure(reason: "idempotencyKey.unexpected", at: place) }
      if !known.accepts(key: key, params: params) { throw DecodeFailure(reason: "idempotencyKey.form", at: place) }
    } else if known.isKeyed {
      throw DecodeFailure(reason: "idempotencyKey.missing", at: place)
    }
  }

  /// What a window load asks for; nil for other methods.
  package var historyRequest: HistoryRequest? {
    switch Method(rawValue: method) {
    case .load?, .loadThread?: params["anchor"]?.isNull ?? true ? .latest : .anchored
    default: nil
    }
  }
}

extension Method {
  /// Judges a result by the request that it answers. Reasons: those of the decoders of B.3 and B.4; for plain results
  /// `json.duplicate-key`, `result.not-object`, `result.type:<key>` (missing counts as wrong).
  package func check(result json: JSON, of request: HistoryRequest?) throws(DecodeFailure) {
    switch self {
    case .load, .loadThread:
      _ = try HistoryEnvelope.decode(json, request ?? .latest)
      return
    case .loadPageBefore, .loadThreadPageBefore:
      _ = try OlderPage.decode(json)
      return
    default: break
    }
    if json.repeatsKey { throw DecodeFailure(reason: "json.duplicate-key") }
    guard let object = json.object else { throw DecodeFailure(reason: "result.not-object") }
    for member in resultForms {
      let wrong = "result.type:\(member.name)"
      guard let value = object[member.name] else { throw DecodeFailure(reason: wrong, at: member.name) }
      if let problem = member.form.problem(value, at: member.name, wrongType: wrong) { throw problem }
    }
    switch self {
    case .outboxLoad, .outboxSubmit, .outboxRemove, .outboxReorder, .stopAndSendNow: _ = try OutboxList.decodeChecked(object)
    default: break
    }
  }
}
