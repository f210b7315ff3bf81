import ClientKit
import Contract
import HBCodeDialect
import Simulation
import Wire

/// What the phone shows and when (HB-REND, HB-REVEAL, HB-OLDER, HB-FOLLOW): the mounted view and everything that moves it.
///
/// Notes `render`, `hold`, `cover.up`, `cover.lift`, `anchor`, `anchor.live`, `follow`, `ui`; the `screen` entries are the list's own.
extension Phone {
  /// How long live changes wait for each other (HB-REND-01).
  private var renderInterval: Interval { isComposerOpen || isPreviewOpen ? RenderThrottle.slowInterval : RenderThrottle.interval }

  // MARK: Mount

  /// A chat is on screen: until it has rows or is confirmed to be empty a placeholder shows (HB-REVEAL-09).
  mutating func openView(_ key: HostKey) { view = TimelineView(key, faults: screenFaults, measure: startState.measure) }

  /// The view is gone, with its place, its cover, its held update (HB-HOST-08, HB-EPOCH-03).
  mutating func closeView(why: String) {
    guard let view else { return }
    if view.isMounted {
      endRestore(why: why)
      self.view?.list.unmount(at: now)
      takeRecords()
      update(view.key) { $0.throttle.disarm() }
      for timer in TimelineView.timers(view.key.name) { out.append(.disarm(timer.id)) }
    }
    // The list of the next view arms its own timer, also when it is due at the same instant.
    listDue = nil
    self.view = nil
  }

  /// The presentation epoch advanced: no scroll assumption passes on (HB-EPOCH-03), and a reveal begins at the bottom.
  mutating func epochAdvanced(_ key: HostKey) {
    guard view?.key == key else { return }
    closeView(why: "epoch")
    openView(key)
    screenChanged()
  }

  private mutating func mount(_ key: HostKey, _ shown: Display) {
    view?.isMounted = true
    view?.list.mount(at: now)
    takeRecords()
    view?.reveal = Reveal()
    view?.list.standingPin = .bottom
    note("cover.up", ["host": .string(key.name)])
    out.append(.arm(TimerName.reveal(key.name).id, at: now + Reveal.passInterval))
    render(shown, isLive: false)
  }

  // MARK: Rendering

  /// The view model shows these rows; `isLive`: only live overlay changes may have changed them.
  mutating func updateView(_ shown: Display, isLive: Bool) {
    guard let view, let host = host(view.key) else { return }
    guard view.isMounted else {
      if host.timeline.isConfirmed || !shown.rows.isEmpty { mount(host.key, shown) }
      return
    }
    if isLive {
      let interval = renderInterval
      if let due = update(view.key, { [now] host in host.throttle.changed(interval: interval, at: now) }) ?? nil {
        out.append(.arm(TimerName.render(view.key.name).id, at: due))
      } else {
        render(shown, isLive: true)
      }
    } else if shown.rows != view.rows || shown.pinned != view.pinned {
      render(shown, isLive: false)
    }
  }

  /// A live change that waited for its interval is rendered (HB-REND-02).
  mutating func renderDue() {
    guard let key = view?.key, let host = host(key) else { return }
    render(display(host), isLive: true)
  }

  /// Renders the newest rows (HB-REND-01, -03); what is on screen takes them over, or they wait (table D.8).
  private mutating func render(_ shown: Display, isLive: Bool) {
    guard let key = view?.key else { return }
    if view?.rows != shown.rows || view?.version == 0 {
      let measure = startState.measure
      view?.cells = shown.rows.map { measure.cell($0) }
      view?.rows = shown.rows
    }
    view?.pinned = shown.pinned
    view?.version += 1
    let version = view?.version ?? 0
    note(
      "render",
      [
        "host": .string(key.name), "cause": isLive ? "live" : "other", "intervalNs": .integer(renderInterval.nanoseconds),
        "listVersion": .int(version),
      ])
    update(key) { [now] host in host.throttle.rendered(at: now) }
    out.append(.disarm(TimerName.render(key.name).id))
    guard let view else { return }
    let changes = !view.list.hasSameIDs(view.cells) || !view.list.changedVisible(in: view.cells).isEmpty
    self.view?.list.update(view.cells, listVersion: version)
    switch self.view?.held.rendered(version, changes: changes || version == 1, isBlocked: view.isBlocked) ?? .nothing {
    case .nothing: break
    case .apply:
      out.append(.disarm(TimerName.held(key.name).id))
      apply(version, wasHeld: false)
    case .hold(let isFirst):
      note("hold", ["host": .string(key.name), "listVersion": .int(version), "why": view.list.isMoving ? "moving" : "restore"])
      if isFirst { out.append(.arm(TimerName.held(key.name).id, at: now + HeldUpdate.checkInterval)) }
    }
  }

  /// Puts the rendered rows on screen (HB-REND-04, -05). An older page among them is put in place (HB-OLDER-03).
  private mutating func apply(_ version: Int, wasHeld: Bool) {
    guard let view else { return }
    let isSnapshot = version == 1 || !view.list.hasSameIDs(view.cells)
    var pin = view.isCovered ? Pin.bottom : .none
    var anchor: OlderRestore.Anchor?
    self.view?.awaitsPrepend = false
    // A page may bring no rows that are displayed (HB-PROJ-02): then nothing goes before those of the list.
    if isSnapshot, view.awaitsPrepend, view.cells.first?.id != view.list.ids.first {
      if !view.isCovered, let first = view.list.firstVisible {
        endRestore(why: "again")
        stopScroll()
        let found = OlderRestore.Anchor(id: first.id, y: first.top - view.list.offset)
        noteAnchor("record", found.id, y: found.y)
        pin = .row(found.id, y: found.y)
        anchor = found
      }
    }
    if isSnapshot {
      let before = Set(view.list.ids)
      self.view?.list.apply(view.cells, listVersion: version, held: wasHeld, pin: pin, at: now)
      takeRecords()
      // A message is on screen from the update on that puts its row on the list.
      for row in view.rows where !before.contains(row.id) {
        guard let operation = Display.operation(ofItem: row.id) else { continue }
        note("shown", ["operation": .string(operation), "form": .string(row.origin.rawValue)])
      }
    } else {
      let changed = view.list.changedVisible(in: view.cells)
      self.view?.list.reconfigure(changed, of: view.cells, listVersion: version, held: wasHeld, pin: pin, at: now)
      takeRecords()
    }
    if let anchor {
      let height = self.view?.list.contentHeight ?? 0
      self.view?.restore = OlderRestore(anchor, contentHeight: height, at: now)
      out.append(.arm(TimerName.restore(view.key.name).id, at: now + OlderRestore.passInterval))
      out.append(.arm(TimerName.restoreLive(view.key.name).id, at: now + OlderRestore.longestHold))
    }
    followContent()
  }

  /// What waits applies now, if nothing moves the list any more.
  private mutating func releaseHeld() {
    guard let view else { return }
    guard let version = self.view?.held.release(isBlocked: view.isBlocked) ?? nil else { return }
    out.append(.disarm(TimerName.held(view.key.name).id))
    apply(version, wasHeld: true)
  }

  /// Every 250 ms while an update is held (HB-REND-07): the stop signal of the list may have been lost.
  mutating func heldCheck() {
    guard let view, view.held.version != nil else { return }
    if !view.list.isMoving, !view.following.isOn { followAfterStop() }
    releaseHeld()
    if self.view?.held.version != nil { out.append(.arm(TimerName.held(view.key.name).id, at: now + HeldUpdate.checkInterval)) }
  }

  // MARK: First reveal

  /// A settle pass of the reveal (table D.6).
  mutating func revealPass() {
    guard let view, var reveal = view.reveal, let host = host(view.key) else { return }
    let waits = reveal.waits(isPreparing: view.list.isPreparing, isApplying: view.list.isApplying)
    let verdict = self.view?.list.settlePass("reveal", k: reveal.pass + 1, waits: waits) ?? .waiting
    takeRecords()
    let decision = reveal.passed(verdict, above: view.list.aboveScreen, canAsk: canAskOlder(host))
    self.view?.reveal = reveal
    switch decision {
    case .lift: return liftCover()
    case .requestPage:
      self.view?.list.resetPasses()
      loadOlder(view.key, by: "reveal")
    case .goOn: break
    }
    out.append(.arm(TimerName.reveal(view.key.name).id, at: now + Reveal.passInterval))
  }

  private mutating func liftCover() {
    guard let view, let reveal = view.reveal else { return }
    self.view?.reveal = nil
    self.view?.list.standingPin = .none
    note("cover.lift", ["host": .string(view.key.name), "passes": .int(reveal.pass), "pages": .int(reveal.pages)])
    followContent()
  }

  // MARK: Older pages

  /// Whether an older page can be asked for: there are entries, no page is under way, the desktop can take a request.
  func canAskOlder(_ host: Host) -> Bool {
    guard isUsable, let page = host.timeline.pagination, page.hasOlderEntries, page.oldestCursor != nil else { return false }
    return !host.older.isInFlight && !host.older.isExhausted
  }

  /// A page landed among the rows, or did not.
  mutating func olderLanded(_ key: HostKey, isFailure: Bool, added: Int) {
    guard view?.key == key else { return }
    view?.reveal?.pageEnded(isFailure: isFailure)
    // Under the cover the list stays at the bottom.
    if added > 0, view?.isCovered == false { view?.awaitsPrepend = true }
  }

  /// After each frame with another offset or content: near the top an older page is asked for (HB-OLDER-01).
  private mutating func testOlder() {
    guard isListOnScreen, let view, let host = host(view.key) else { return }
    let geometry = (view.list.offset, view.list.contentHeight)
    if let tested = view.tested, tested == geometry, !view.wantsOlder { return }
    self.view?.tested = geometry
    if host.older.mayStart(at: now) { self.view?.wantsOlder = false }
    if view.list.aboveScreen <= Reveal.shortHistory, host.older.mayStart(at: now), canAskOlder(host) { loadOlder(view.key, by: "scroll") }
  }

  /// A settle pass of the restore (table D.7): the row goes back to its place.
  mutating func restorePass() {
    guard let view, var restore = view.restore else { return }
    let anchor = restore.anchor
    let drift = view.list.row(anchor.id).map { $0.top - view.list.offset - anchor.y } ?? 0
    self.view?.list.settle(pin: .row(anchor.id, y: anchor.y), at: now)
    let pass = restore.passed(drift: drift, contentHeight: self.view?.list.contentHeight ?? 0)
    self.view?.list.notePass("restore", k: restore.pass, isStill: pass.isStill)
    takeRecords()
    self.view?.restore = restore
    if pass.isOver {
      endRestore(why: restore.pass == OlderRestore.mostPasses && !pass.isStill ? "passes" : "stable")
      releaseHeld()
      followContent()
    } else {
      out.append(.arm(TimerName.restore(view.key.name).id, at: now + OlderRestore.passInterval))
    }
  }

  /// 1.5 s since the record are over (HB-OLDER-04).
  mutating func restoreLiveOver() {
    guard let key = view?.key, view?.restore?.holdsLive ?? false else { return }
    view?.restore?.releaseLive()
    note("anchor.live", ["host": .string(key.name)])
    releaseHeld()
  }

  private mutating func endRestore(why: String) {
    guard let view, let restore = view.restore else { return }
    self.view?.restore = nil
    out.append(.disarm(TimerName.restore(view.key.name).id))
    out.append(.disarm(TimerName.restoreLive(view.key.name).id))
    let y = view.list.row(restore.anchor.id).map { $0.top - view.list.offset } ?? restore.anchor.y
    noteAnchor("end", restore.anchor.id, y: y, why: why)
  }

  private mutating func noteAnchor(_ what: String, _ id: String, y: Double, why: String? = nil) {
    guard let key = view?.key else { return }
    var fields: JSONObject = ["host": .string(key.name), "do": .string(what), "id": .string(id), "y": .points(y)]
    fields["why"] = why.map(JSON.string)
    note("anchor", fields)
  }

  // MARK: Following

  /// The list follows its end, if it does and nothing else has it in hand (HB-FOLLOW-01, -02).
  private mutating func followContent() {
    guard let view, view.isMounted, !view.isCovered, view.restore == nil, view.following.isOn, !view.following.isSettling,
      !view.list.isMoving, !view.list.isScrolling, view.list.distanceToBottom > Phone.atBottom
    else { return }
    if reduceMotion {
      self.view?.list.jump(.bottom, at: now)
      takeRecords()
      settleAfterScroll(isAnimated: false)
    } else {
      self.view?.list.follow(Following.speed, at: now)
      takeRecords()
    }
  }

  /// Closer to the bottom than this is at it, in points.
  private static let atBottom = 0.01

  private mutating func settleAfterScroll(isAnimated: Bool) {
    guard let view else { return }
    let height = view.list.contentHeight
    let wait = self.view?.following.scrolled(isAnimated: isAnimated, contentHeight: height) ?? .zero
    out.append(.arm(TimerName.follow(view.key.name).id, at: now + wait))
  }

  /// A settle pass after a scroll to the bottom (HB-FOLLOW-03, -04).
  mutating func followPass() {
    guard let view, view.following.isSettling else { return }
    let k = view.following.nextPass
    let pass = self.view?.following.passed(distance: view.list.distanceToBottom, contentHeight: view.list.contentHeight)
    guard let pass else { return }
    self.view?.list.notePass("follow", k: k, isStill: pass.isStable)
    if !pass.isStable { self.view?.list.settle(pin: .bottom, at: now) }
    takeRecords()
    if pass.isOver { followContent() } else { out.append(.arm(TimerName.follow(view.key.name).id, at: now + Following.passInterval)) }
  }

  private mutating func setFollowing(_ isOn: Bool, why: String) {
    guard let view, view.following.isOn != isOn else { return }
    self.view?.following.isOn = isOn
    note("follow", ["host": .string(view.key.name), "on": .bool(isOn), "why": .string(why)])
  }

  /// A drag or deceleration has ended: near the bottom the list follows again (HB-FOLLOW-05). Away from it a scroll to latest that came
  /// while the list moved stands.
  private mutating func followAfterStop() {
    guard let view else { return }
    if view.list.distanceToBottom <= Following.nearBottom { setFollowing(true, why: "rest") }
  }

  /// Ends what the list does by itself, where it is.
  private mutating func stopScroll() {
    guard let view else { return }
    self.view?.following.stopSettling()
    out.append(.disarm(TimerName.follow(view.key.name).id))
    if view.list.isScrolling { self.view?.list.stopScrolling(at: now) }
    takeRecords()
  }

  // MARK: The finger, frames, the list by itself

  mutating func drag(_ drag: Drag) {
    guard isListOnScreen else { return refuse("no list is on screen") }
    if hasFinger { return refuse("a finger is on the list") }
    stopScroll()
    setFollowing(false, why: "drag")
    self.view?.list.touch(drag, at: now)
    takeRecords()
    endRestore(why: "drag")
    listFired()
  }

  /// What a recording tells of an older page: the list is drawn down at once to 1,700 pt from its top (SCENARIO.md 3.6).
  mutating func drawNearTop() {
    guard let view, let host = host(view.key), premise(of: UserAction.older.gesture) == .holds else {
      return refuse("no older page can be asked for")
    }
    let way = max(0, view.list.aboveScreen - TimelineView.olderPlace)
    // Too early for the next page, the finger rests until it may be asked for (HB-OLDER-01).
    let rest = host.older.lastStart.map { max(.zero, $0 + TimelineView.olderSpacing - now) } ?? .zero
    drag(Drag(path: [Drag.Place(after: .zero, y: way)], held: rest))
    self.view?.wantsOlder = true
  }

  mutating func tapStatusBar() {
    guard isListOnScreen else { return refuse("no list is on screen") }
    stopScroll()
    endRestore(why: "scroll")
    setFollowing(false, why: "status bar")
    let inset = TimelineView.device.insetTop
    if reduceMotion, let first = view?.list.ids.first {
      view?.list.jump(.row(first, y: inset), at: now)
    } else {
      view?.list.animate(to: -inset, over: TimelineView.topScroll, at: now)
    }
    takeRecords()
    releaseHeld()
    screenChanged()
  }

  mutating func scrollToLatest() {
    guard isListOnScreen else { return refuse("no list is on screen") }
    stopScroll()
    endRestore(why: "scroll")
    setFollowing(true, why: "scroll to latest")
    releaseHeld()
    screenChanged()
    followContent()
  }

  /// A display frame.
  mutating func displayFrame() {
    guard let happenings = view?.list.frame(at: now) else { return }
    happened(happenings)
  }

  /// The list does something by itself: a finger lifts, a row is prepared, a snapshot is applied.
  mutating func listFired() {
    while let due = view?.list.due, due <= now {
      guard let happenings = view?.list.fired(at: now) else { return }
      happened(happenings)
    }
  }

  private mutating func happened(_ happenings: [Viewport.Happening]) {
    takeRecords()
    for happening in happenings {
      switch happening {
      case .stopped(let isSignalled):
        guard isSignalled else { continue }
        followAfterStop()
        releaseHeld()
        followContent()
      case .arrived:
        if view?.following.isOn ?? false { settleAfterScroll(isAnimated: true) }
      case .prepared:
        followContent()
      }
    }
  }

  /// Hands the list's records on.
  mutating func takeRecords() {
    for record in view?.list.takeRecords() ?? [] { out.append(.screen(record)) }
  }

  /// After every input: what the list wants next.
  mutating func serveList() {
    guard view?.isMounted ?? false else {
      if hasDisplayLink { out.append(.displayLink(false)) }
      hasDisplayLink = false
      listDue = nil
      return
    }
    takeRecords()
    testOlder()
    guard let view else { return }
    if view.list.wantsFrames != hasDisplayLink {
      hasDisplayLink = view.list.wantsFrames
      out.append(.displayLink(hasDisplayLink))
    }
    if view.list.due != listDue {
      listDue = view.list.due
      let timer = TimerName.list(view.key.name).id
      out.append(listDue.map { .arm(timer, at: $0) } ?? .disarm(timer))
    }
  }

  // MARK: Other controls

  mutating func setComposer(open: Bool) {
    isComposerOpen = open
    intervalChanged("composer", open)
  }

  mutating func setPreview(open: Bool) {
    isPreviewOpen = open
    intervalChanged("preview", open)
  }

  private mutating func intervalChanged(_ what: String, _ open: Bool) {
    note("ui", JSONObject([JSONObject.Member(name: what, value: .string(open ? "open" : "closed"))]))
    guard let key = view?.key else { return }
    let interval = renderInterval
    if let due = update(key, { [now] host in host.throttle.intervalChanged(to: interval, at: now) }) ?? nil {
      out.append(.arm(TimerName.render(key.name).id, at: due))
    }
  }

  mutating func setReduceMotion(_ isOn: Bool) {
    reduceMotion = isOn
    note("ui", ["reduceMotion": .bool(isOn)])
    guard isOn, let view, case .following = view.list.motion else { return }
    // The display link stops: the view jumps to where it was going (HB-FOLLOW-02).
    stopScroll()
    followContent()
  }
}

extension RowMeasure {
  /// The row as the virtual screen needs it.
  func cell(_ row: DisplayRow) -> Cell {
    Cell(
      id: row.id, content: row.content, height: height(of: row.id, text: row.text) ?? row.height,
      preparation: row.hasMarkdown ? preparation : nil)
  }
}
