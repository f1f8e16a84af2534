"""Named mistakes in the machine: one fault each, as somebody might make it by mistake, and as many have.

Each is a change of one function's text. ``seen`` says where it was found in the wild. The proofs name for each the
theorem that it cannot survive (``reattach_proofs.mutants``); those that show on the wire are served (``live.mutants``).
"""

from types import CodeType

from attrs import frozen

from reattach.mutation import swap

MACHINE = "reattach.machine"


@frozen
class Mistake:
    """One fault, as a change of one function."""

    name: str
    function: str
    """Module and name, within ``reattach.machine``."""
    old: str
    """What is replaced; occurs exactly once in the function's source."""
    new: str
    wrong: str
    """What is wrong, in a sentence."""
    seen: str = ""
    """Where it was seen in the wild: the software, and its number in research/bugs.md (B) or servers.md (S)."""

    def code(self) -> CodeType:
        """The function's code with the fault. Raises DoesNotFitError."""
        return swap.edited(swap.function_at(f"{MACHINE}.{self.function}"), (self.old, self.new))


_DECISION: tuple[Mistake, ...] = (
    Mistake(
        "inclusive-cursor",
        "decision.decide_cursor",
        "Reattach(stream.number, cursor.seq)",
        "Reattach(stream.number, cursor.seq - 1)",
        "The event that the cursor names is sent again.",
        "rmcp (S 2.2, 3.10)",
    ),
    Mistake(
        "skips-one-after-cursor",
        "decision.decide_cursor",
        "Reattach(stream.number, cursor.seq)",
        "Reattach(stream.number, cursor.seq + 1)",
        "The first event after the cursor is passed over.",
    ),
    Mistake(
        "unknown-stream-is-fresh",
        "decision.decide_cursor",
        "return Refuse(Reason.CURSOR_OUT_OF_WINDOW)  # CUR-4: no such stream",
        "return Fresh()  # CUR-4: no such stream",
        "A cursor of a stream that is not known is taken for no cursor at all: a fresh view instead of a refusal.",
        "TypeScript SDK and kotlin-sdk without a store (S 2.2, B 4)",
    ),
    Mistake(
        "foreign-tag-accepted",
        "decision.decide_cursor",
        "cursor.tag != session.tag",
        "False",
        "A cursor of another session is read as one of this session.",
        "rmcp (S 2.2); with one store for all sessions, python-sdk (S 3.2, B 5)",
    ),
    Mistake(
        "evicted-prefix-skipped",
        "decision.decide_cursor",
        "return Refuse(Reason.CURSOR_OUT_OF_WINDOW, stream.number, mark, stream.last)  # CUR-4",
        "return Reattach(stream.number, mark)  # CUR-4",
        "A cursor older than what is held is served with what is left, and the gap is not mentioned.",
        "rmcp (S 2.2); python-sdk's example store answers with nothing (S 2.2)",
    ),
    Mistake(
        "old-cursor-replays-from-start",
        "decision.decide_cursor",
        "return Refuse(Reason.CURSOR_OUT_OF_WINDOW, stream.number, mark, stream.last)  # CUR-4",
        "return Reattach(stream.number, stream.first)  # CUR-4",
        "A cursor older than what is held is served from the start of the stream.",
        "ai-agents-for-beginners (B 4)",
    ),
    Mistake(
        "refuses-at-mark",
        "decision.decide_cursor",
        "cursor.seq < mark",
        "cursor.seq <= mark",
        "The oldest cursor from which nothing is missing is refused.",
    ),
    Mistake(
        "one-below-mark-is-a-mismatch",
        "decision.decide_cursor",
        "cursor.seq < mark",
        "cursor.seq < mark - 1",
        "A cursor that has just left the window is refused as if it had never been sent.",
    ),
    Mistake(
        "ahead-accepted",
        "decision.decide_cursor",
        "return Refuse(Reason.CURSOR_AHEAD, stream.number, mark, stream.last)  # CUR-5",
        "return Reattach(stream.number, stream.last)  # CUR-5",
        "A cursor from the future is accepted.",
        "go-sdk (S 3.4, B 18), C# SDK (S 2.2)",
    ),
    Mistake(
        "newest-refused",
        "decision.decide_cursor",
        "cursor.seq > stream.last",
        "cursor.seq >= stream.last",
        "A client that has everything is refused as if it were ahead.",
    ),
    Mistake(
        "any-seq-accepted",
        "decision.decide_cursor",
        "if cursor.seq != mark and session.window",
        "if False and session.window",
        "A seq that is of another stream is accepted as a position on this one.",
    ),
    Mistake(
        "replays-what-is-left",
        "decision.decide_cursor",
        "if mark == stream.first else",
        "if mark >= stream.first else",
        "Where only replay can be offered, what is left of a stream is given out as if it were the whole.",
        "rmcp (S 2.2)",
    ),
    Mistake(
        "mark-is-first-held",
        "session.mark_of",
        "oldest.prev",
        "oldest.seq",
        "The mark is the first held event instead of the one before it.",
    ),
    Mistake(
        "empty-window-has-no-mark",
        "session.mark_of",
        "stream.last if oldest.seq == 0",
        "stream.first if oldest.seq == 0",
        "Once nothing of a stream is held, every cursor from its birth on is taken for lossless.",
    ),
)


_RESUMPTION: tuple[Mistake, ...] = (
    Mistake(
        "resumes-at-last",
        "transition._attached",
        "View(connection, position, greeting",
        "View(connection, stream.last, greeting",
        "Between replay and live the view starts at the newest event: what came in between is lost.",
        "python-sdk, fastmcp, TypeScript SDK with an asynchronous store (S 3.1, B 11)",
    ),
    Mistake(
        "resumes-at-birth",
        "transition._attached",
        "View(connection, position, greeting",
        "View(connection, stream.first, greeting",
        "Every view starts at the birth of its stream.",
        "go-sdk's plain GET (S 2.3)",
    ),
    Mistake(
        "old-view-not-ended",
        "transition._attached",
        "(_ending(stream, Cause.TAKEN_OVER),) if is_viewed(stream) else ()",
        "()",
        "A resumption takes the stream over, and the old connection is left hanging for ever.",
        "java-sdk (S 2.3)",
    ),
    Mistake(
        "takeover-refused",
        "transition._resume",
        "case Reattach(number, position):",
        "case Reattach(number, _) if is_viewed(find_stream(seen, number)):\n"
        "            return Step(seen, Refuse(Reason.STREAMS_EXHAUSTED))\n"
        "        case Reattach(number, position):",
        "While the server still believes in the dead connection, the honest reconnect is refused.",
        "go-sdk, TypeScript SDK, kotlin-sdk (S 2.2, B 25, B 27, B 28)",
    ),
    Mistake(
        "old-connection-keeps-the-stream",
        "transition._resume",
        "return _attached(seen, find_stream(seen, number), connection, position, Greeting.POSITION)",
        "return Step(seen, Opened(number, position)) if is_viewed(find_stream(seen, number)) else "
        "_attached(seen, find_stream(seen, number), connection, position, Greeting.POSITION)",
        "The resumption is accepted, and the old connection keeps the stream.",
        "python-sdk, fastmcp (S 2.2)",
    ),
    Mistake(
        "resumes-another-stream",
        "transition._resume",
        "return _attached(seen, find_stream(seen, number), connection, position, Greeting.POSITION)",
        "return _attached(seen, find_stream(seen, seen.standalone), connection, position, Greeting.POSITION)",
        "Whatever stream the cursor names, the view is of the standalone stream.",
        "server-everything, TypeScript SDK's example store (S 3.6, S 3.7, B 15)",
    ),
    Mistake(
        "refusal-kills-the-session",
        "transition._resume",
        "return Step(seen, refusal)",
        "return Step(_terminated(seen), refusal, _endings_of(seen))",
        "A bad cursor ends the whole session, other streams included.",
        "Yuzu (B 19)",
    ),
    Mistake(
        "refusal-ends-the-view",
        "transition._resume",
        "return Step(seen, refusal)",
        "return Step(_without_view(seen, find_stream(seen, cursor.stream)), refusal)",
        "A bad cursor takes away the view that the stream has.",
    ),
    Mistake(
        "refusal-is-no-sign",
        "transition._resume",
        "seen = evolve(session, seen=session.now)",
        "seen = session",
        "A resumption does not count as a sign of the client.",
    ),
    Mistake(
        "every-get-backfills",
        "transition._attached",
        "session.listened or stream.number == session.standalone",
        "session.listened",
        "Each plain GET is given again what an earlier one was given.",
        "go-sdk (S 2.3)",
    ),
    Mistake(
        "early-pushes-lost",
        "transition._listen",
        "mark_of(session, current)",
        "current.last",
        "What was pushed before the first GET is dropped, though it is held.",
        "python-sdk, C# SDK, kotlin-sdk (S 2.3, B 21)",
    ),
    Mistake(
        "listeners-share-the-pushes",
        "transition._listen",
        "evolve(current, finished=True)",
        "current",
        "A second GET leaves the first standalone stream unfinished: nothing will ever come on it, and it never ends.",
        "rmcp's idle shadow stream (S 2.3)",
    ),
    Mistake(
        "pushes-stay-on-the-old-stream",
        "transition._listen",
        "standalone=born.session.opened",
        "standalone=born.session.standalone",
        "After a second GET the pushes still go to the stream before, which is finished.",
        "kotlin-sdk (B 26)",
    ),
    Mistake(
        "listeners-beyond-the-limit",
        "transition._listen",
        "count_open(session) >= policy.open_streams",
        "False",
        "Each plain GET opens one more stream, whatever the limit.",
        "MCP-Plugin-dotnet (B 23)",
    ),
    Mistake(
        "one-stream-too-many",
        "transition._open_stream",
        "count_open(session) >= policy.open_streams",
        "count_open(session) > policy.open_streams",
        "One stream more than the policy allows.",
    ),
    Mistake(
        "ids-restart-with-each-stream",
        "transition._born",
        "session.opened + 1, session.window.next",
        "session.opened + 1, 1",
        "Each new stream counts its ids from 1 again.",
        "platformatic/mcp (B 17), rmcp (S 2.1)",
    ),
    Mistake(
        "priming-takes-no-seq",
        "transition._born",
        "window=session.window.allotted()",
        "window=session.window",
        "The id that priming shows is given to the next event too.",
        'rmcp: "0" is used three times (S 2.1)',
    ),
    Mistake(
        "stream-numbers-repeat",
        "transition._born",
        "opened=number",
        "opened=session.opened",
        "Two streams get the same number.",
        "servers whose stream ids are request ids (B 5)",
    ),
)


_EMISSION: tuple[Mistake, ...] = (
    Mistake(
        "evicts-one-too-few",
        "transition._emit",
        "window.count + 2 - policy.window_events",
        "window.count + 1 - policy.window_events",
        "N + 1 events are held.",
    ),
    Mistake(
        "evicts-one-too-many",
        "transition._emit",
        "window.count + 2 - policy.window_events",
        "window.count + 3 - policy.window_events",
        "Only N - 1 events are held.",
    ),
    Mistake(
        "no-count-limit",
        "transition._emit",
        "window.first_counted(window.count + 2 - policy.window_events)",
        "window.low",
        "The number of held events has no limit.",
        "mcp-proxy, fastmcp, server-everything, mcp-go (S 2.1, B 22)",
    ),
    Mistake(
        "no-byte-limit",
        "transition._emit",
        "window.first_starting(window.size + size - policy.window_bytes)",
        "window.low",
        "The bytes of held messages have no limit.",
        "MCP-Plugin-dotnet (B 23)",
    ),
    Mistake(
        "one-byte-too-many",
        "transition._emit",
        "window.first_starting(window.size + size - policy.window_bytes)",
        "window.first_starting(window.size + size - policy.window_bytes - 1)",
        "B + 1 bytes are held.",
    ),
    Mistake(
        "oversized-message-taken",
        "transition._emit",
        "size > policy.window_bytes",
        "False",
        "A message larger than the whole window is taken.",
    ),
    Mistake(
        "fitting-message-refused",
        "transition._emit",
        "size > policy.window_bytes",
        "size >= policy.window_bytes",
        "A message that just fits is refused.",
    ),
    Mistake(
        "reader-overtaken-by-its-stream",
        "transition._emit",
        "owed.seq < low:",
        "False:",
        "An emission evicts what its own stream's reader, inside its budget, has still to be given.",
        "go-sdk's full store (B 20)",
    ),
    Mistake(
        "waits-needlessly",
        "transition._emit",
        "owed.seq < low:",
        "owed.seq <= low:",
        "An emission waits though nothing that anybody has still to read would be lost.",
    ),
    Mistake(
        "slow-reader-blocks-all",
        "transition._emit",
        "    if is_viewed(stream):\n        owed",
        "    for stream_read in session.streams:\n"
        "        if is_viewed(stream_read) and stream_read.view.position < stream_read.last and low > window.low:\n"
        "            return Step(session, Wait())\n"
        "    if is_viewed(stream):\n        owed",
        "A slow reader of one stream holds up the emissions on another.",
        "python-sdk (S 3.8)",
    ),
    Mistake(
        "finished-stream-takes-events",
        "transition._emit",
        "if stream.finished:",
        "if stream.number == 0:",
        "A stream that has ended takes another event, which nobody will ever read.",
    ),
    Mistake(
        "message-on-the-wrong-stream",
        "transition._emit",
        ".appended(stream.number, stream.last,",
        ".appended(session.standalone, stream.last,",
        "A message of a request goes to the standalone stream.",
        "mcp-go (S 3.5), agentgateway (B 8)",
    ),
    Mistake(
        "chain-is-of-the-session",
        "transition._emit",
        ".appended(stream.number, stream.last,",
        ".appended(stream.number, seq - 1,",
        "An event's predecessor is the session's last event instead of its stream's.",
    ),
    Mistake(
        "last-not-advanced",
        "transition._emit",
        "changed = evolve(stream, last=seq)",
        "changed = stream",
        "The stream does not know of its newest event, so a reader is never given it.",
        "typescript-sdk (B 12)",
    ),
    Mistake(
        "stall-clock-not-started",
        "transition._emit",
        "if is_viewed(stream) and not is_behind(stream):",
        "if False:",
        "A reader that has been idle for long is ended as soon as something comes, before it could read it.",
    ),
    Mistake(
        "emissions-restart-the-stall-clock",
        "transition._emit",
        "if is_viewed(stream) and not is_behind(stream):",
        "if is_viewed(stream):",
        "As long as something is emitted, a reader that takes nothing is never ended.",
    ),
)


_WRITING: tuple[Mistake, ...] = (
    Mistake(
        "gap-skipped",
        "transition._write",
        "owed.seq == 0 or owed.prev != view.position",
        "owed.seq == 0",
        "A view whose next event has left the window goes on with what is left.",
        "rmcp (S 2.2)",
    ),
    Mistake(
        "overtaken-without-loss",
        "transition._write",
        "owed.seq == 0 or owed.prev != view.position",
        "owed.seq == 0 or owed.prev < owed.seq",
        "A view is told to resume although its next event is held.",
    ),
    Mistake(
        "position-not-moved",
        "transition._write",
        "evolve(view, position=owed.seq)",
        "view",
        "The same event is written again and again.",
    ),
    Mistake(
        "writes-ahead-of-the-reader",
        "transition._write",
        "if view.outstanding:",
        "if False:",
        "Writes are queued without limit for a reader that takes none.",
        "MCP-Plugin-dotnet (B 23)",
    ),
    Mistake(
        "outstanding-forgotten",
        "transition._written",
        "outstanding=True",
        "outstanding=False",
        "A write counts as taken at once, so there is a queue after all.",
    ),
    Mistake(
        "priming-skips-events",
        "transition._write",
        "WriteGreeting(view.greeting, stream.number, view.position)",
        "WriteGreeting(view.greeting, stream.number, stream.last)",
        "The greeting carries the newest id: it moves the client's cursor past events it was never given.",
        "python-sdk, fastmcp (S 3.1)",
    ),
    Mistake(
        "ends-before-the-last-event",
        "transition._write",
        "if view.position < stream.last:",
        "if view.position < stream.last and not stream.finished:",
        "A finished stream ends at once, without the response that finished it.",
        "cloudflare/agents (B 13), rmcp (S 3.10)",
    ),
    Mistake(
        "response-stream-never-ended",
        "transition._write",
        "if stream.finished:",
        "if False:",
        "After its response a stream stays open for ever.",
        "python-sdk, fastmcp, TypeScript SDK 1.x (S 3.9)",
    ),
    Mistake(
        "unfinished-stream-ended",
        "transition._write",
        "if stream.finished:",
        "if True:",
        "A reader that has caught up is sent away though its stream goes on.",
        "the reconnect storm of python-sdk and others (B 33)",
    ),
    Mistake(
        "deaf-view",
        "transition._write",
        "if view.position < stream.last:",
        "if view.position < stream.last and view.position < session.window.low:",
        "A view is given what was replayed, and nothing that comes later.",
        "server-everything (S 3.6), tachyon (B 11)",
    ),
    Mistake(
        "greeting-withheld",
        "transition._write",
        "if view.greeting is not Greeting.NOTHING:",
        "if view.greeting is not Greeting.NOTHING and view.position < stream.last:",
        "The stated position is held back until something is emitted.",
        "servers behind proxies that wait for a first byte (B 40)",
    ),
    Mistake(
        "heartbeat-late",
        "transition._write",
        "session.now >= view.wrote + policy.heartbeat_ms",
        "session.now > view.wrote + policy.heartbeat_ms",
        "The comment is due and is not written.",
        "silent GET streams that proxies cut (B 40)",
    ),
    Mistake(
        "heartbeat-flood",
        "transition._written",
        "wrote=session.now",
        "wrote=view.wrote",
        "Once the first comment was due, one is written whenever the transport asks.",
    ),
    Mistake(
        "comment-is-no-write",
        "transition._write",
        "quiet = evolve(view, since=session.now, reads=0)",
        "quiet = view",
        "The first comment to a quiet reader ends it: its stall clock runs from long ago.",
    ),
    Mistake(
        "progress-not-counted",
        "transition._accepted",
        "reads=stream.view.reads + 1",
        "reads=stream.view.reads",
        "A slow reader that takes one event after another is ended as if it took none.",
    ),
    Mistake(
        "rate-one-too-high",
        "transition._accepted",
        "taken.reads >= policy.stall_reads",
        "taken.reads > policy.stall_reads",
        "A reader has to take one more than the rate asks for.",
    ),
    Mistake(
        "accepted-out-of-nothing",
        "transition._accepted",
        "if not stream.view.outstanding:",
        "if stream.number == 0:",
        "A transport that reports what was never written keeps its stalled view for ever.",
    ),
    Mistake(
        "disconnect-is-cancel",
        "transition._disconnect",
        "return Step(_without_view(session, stream))",
        "return Step(with_stream(session, evolve(stream, view=NO_VIEW, finished=stream.number != session.standalone)))",
        "A lost connection cancels the call behind it.",
        "servers of 2026-07-28 habits (S 1); SDKs before B 14",
    ),
    Mistake(
        "disconnect-ends-the-session",
        "transition._disconnect",
        "return Step(_without_view(session, stream))",
        "return Step(_terminated(session), Done(), _endings_of(session))",
        "A failed write removes the whole session.",
        "java-sdk (S 2.3)",
    ),
    Mistake(
        "absence-counts-from-long-ago",
        "transition._without_view",
        "evolve(session, seen=session.now)",
        "session",
        "A client that was just connected counts as absent since it first connected.",
    ),
    Mistake(
        "pushes-can-be-finished",
        "transition._finish",
        " or stream.number == session.standalone",
        "",
        "The standalone stream can be finished, and then pushes have nowhere to go.",
    ),
)


_TIME: tuple[Mistake, ...] = (
    Mistake(
        "no-ttl",
        "transition.advance",
        "window=window.trimmed(window.first_since(now - policy.window_ms))",
        "window=window",
        "Nothing is ever too old to be held.",
        "server-everything, mcp-go (S 2.1)",
    ),
    Mistake(
        "ttl-one-too-long",
        "transition.advance",
        "window.first_since(now - policy.window_ms)",
        "window.first_since(now - policy.window_ms - 1)",
        "An event is held a millisecond longer than T.",
    ),
    Mistake(
        "ttl-one-too-short",
        "transition.advance",
        "window.first_since(now - policy.window_ms)",
        "window.first_since(now - policy.window_ms + 1)",
        "An event that is exactly T old is dropped.",
    ),
    Mistake(
        "stall-never-applied",
        "transition._end_stalled",
        "if is_behind(stream) and session.now >= stall_deadline(policy, stream):",
        "if False:",
        "A view that takes nothing is kept for ever.",
        "supergateway (B 24)",
    ),
    Mistake(
        "stall-kills-the-caught-up",
        "transition._end_stalled",
        "if is_behind(stream) and",
        "if is_viewed(stream) and",
        "A view that has read everything is ended because it is quiet.",
        "silent GET streams (B 40)",
    ),
    Mistake(
        "stall-one-too-late",
        "session.stall_deadline",
        "policy.stall_ms + 1",
        "policy.stall_ms + 2",
        "A view outlives its stall budget by a millisecond.",
    ),
    Mistake(
        "stall-one-too-early",
        "session.stall_deadline",
        "policy.stall_ms + 1",
        "policy.stall_ms",
        "A view is ended at its stall budget, not after it.",
    ),
    Mistake(
        "greeting-is-not-behind",
        "session.is_behind",
        "view.greeting is not Greeting.NOTHING or ",
        "",
        "A view that does not even take its greeting is kept for ever.",
    ),
    Mistake(
        "outstanding-is-not-behind",
        "session.is_behind",
        "view.outstanding or ",
        "",
        "A view that never takes the last write is kept for ever.",
        "half-dead GET streams (B 24)",
    ),
    Mistake(
        "late-look-lengthens-absence",
        "transition._end_stalled",
        "max(session.seen, stall_deadline(policy, stream))",
        "session.now",
        "A stalled view counts as a sign of the client until somebody looks.",
    ),
    Mistake(
        "absence-never-applied",
        "transition.advance",
        "now >= absence_deadline(policy, awake):",
        "False:",
        "A session that everybody has left is kept for ever.",
        "TypeScript SDK, go-sdk (S 2.1, B 23)",
    ),
    Mistake(
        "absence-kills-the-busy",
        "transition.advance",
        "if not is_occupied(awake) and now",
        "if now",
        "A session is ended in the middle of a long call.",
    ),
    Mistake(
        "open-requests-not-counted",
        "session.is_occupied",
        "return session.requests > 0",
        "return False",
        "A session is ended while a request of it is being answered.",
    ),
    Mistake(
        "every-session-is-busy",
        "session.is_occupied",
        "return session.requests > 0",
        "return True",
        "A session counts as busy though nothing of it is open.",
        "supergateway (B 24)",
    ),
    Mistake(
        "cut-call-is-not-busy",
        "session.is_occupied",
        "is_viewed(stream) or (stream.kind is StreamKind.REQUEST and not stream.finished)",
        "is_viewed(stream)",
        "A session is ended while a call runs whose connection was cut.",
    ),
    Mistake(
        "absence-one-too-late",
        "session.absence_deadline",
        "policy.absence_ms + 1",
        "policy.absence_ms + 2",
        "A session outlives its absence budget by a millisecond.",
    ),
    Mistake(
        "time-goes-back",
        "transition.advance",
        "now <= session.now",
        "now == session.now",
        "An input with an older time sets the clock back.",
    ),
    Mistake(
        "departures-pile-up",
        "transition._react",
        "max(0, session.requests - 1)",
        "session.requests",
        "A request that was answered counts as open for ever.",
        "supergateway (B 24)",
    ),
)


_ENDINGS: tuple[Mistake, ...] = (
    Mistake(
        "terminated-keeps-its-window",
        "transition._terminated",
        "window=Window(), ",
        "",
        "A terminated session keeps its events.",
        "mcp-proxy (B 22)",
    ),
    Mistake(
        "terminated-keeps-its-streams",
        "transition._terminated",
        "streams=(), ",
        "",
        "A terminated session keeps its streams.",
        "MCP-Plugin-dotnet (B 23)",
    ),
    Mistake(
        "terminated-keeps-serving",
        "transition._terminated",
        "alive=False, ",
        "",
        "A terminated session goes on.",
        "mcp-go: GET after DELETE answers 200 (S 2.3)",
    ),
    Mistake(
        "views-outlive-termination",
        "transition._react",
        "Step(_terminated(session), Done(), _endings_of(session))",
        "Step(_terminated(session))",
        "Termination leaves the open connections open.",
    ),
    Mistake(
        "the-dead-react",
        "transition.step",
        "if not before.session.alive:",
        "if False:",
        "An input to a terminated session is taken, and a stream can be opened in it again.",
        "mcp-go: a session is invented (S 2.3)",
    ),
    Mistake(
        "stalled-views-untold",
        "transition.step",
        "endings=before.endings + after.endings",
        "endings=after.endings",
        "A view that stalled is gone, and its transport is never told to end the connection.",
        "java-sdk: 200, nothing, never closed (S 2.2)",
    ),
    Mistake(
        "input-before-time",
        "transition.step",
        "react(policy, before.session, given)",
        "react(policy, session, given)",
        "An input is taken as if no time had passed since the last one.",
    ),
    Mistake(
        "never-forgotten",
        "transition._without_forgotten",
        "if not is_forgotten(session, stream)",
        "if True",
        "The record of a stream is kept for ever.",
        "go-sdk (B 21)",
    ),
    Mistake(
        "forgotten-with-its-response",
        "session.is_forgotten",
        "not is_open(stream) and holds_nothing(session, stream)",
        "not is_open(stream)",
        "A finished stream is forgotten while its response is held and unread.",
        "rmcp (S 3.10), cloudflare/agents (B 13)",
    ),
    Mistake(
        "forgotten-one-too-early",
        "session.holds_nothing",
        "stream.last < session.window.low",
        "stream.last <= session.window.low",
        "A finished stream is forgotten with its last event still held.",
    ),
    Mistake(
        "eventless-stream-kept",
        "session.holds_nothing",
        "stream.last == stream.first or ",
        "",
        "A finished stream that never had an event is kept.",
    ),
    Mistake(
        "forgotten-while-read",
        "session.is_open",
        "not stream.finished or is_viewed(stream)",
        "not stream.finished",
        "A finished stream is forgotten, view and all, while its reader is still there.",
    ),
    Mistake(
        "all-streams-replaced",
        "session.with_stream",
        "changed if stream.number == changed.number else stream",
        "changed",
        "What is written to one stream's record is written to all.",
    ),
)


_SERVER: tuple[Mistake, ...] = (
    Mistake(
        "one-store-for-all-sessions",
        "server.take",
        "session = server.sessions.get(name)",
        "session = next(iter(server.sessions.values()), None)",
        "What is asked of one session is answered by another.",
        "python-sdk, TypeScript SDK with a shared store (S 3.2, B 5, B 6)",
    ),
    Mistake(
        "any-principal-will-do",
        "server.locate",
        "session is None or session.principal != principal",
        "session is None",
        "Whoever knows the id of a session may use it.",
        "python-sdk and others (B 7)",
    ),
    Mistake(
        "absent-session-answers",
        "server.locate",
        "return present if present.alive else Refuse(Reason.SESSION_UNKNOWN)",
        "return session",
        "A session whose client has been absent too long still answers.",
    ),
    Mistake(
        "missing-session-is-unknown",
        "server.locate",
        "Refuse(Reason.SESSION_MISSING)",
        "Refuse(Reason.SESSION_UNKNOWN)",
        "A request without a session header is told that its session is over.",
        "the converse, 400 for an unknown session, is common (B 38, S 2.3)",
    ),
    Mistake(
        "terminated-session-kept",
        "server.take",
        "if taken.session.alive:",
        "if True:",
        "A terminated session stays on the server.",
        "mcp-proxy (B 22), MCP-Plugin-dotnet (B 23)",
    ),
    Mistake(
        "timed-out-session-kept",
        "server.tick",
        "if advanced.session.alive:",
        "if True:",
        "A session that time has ended stays on the server.",
        "MCP-Plugin-dotnet, csharp-sdk (B 23)",
    ),
    Mistake(
        "timed-out-views-untold",
        "server.tick",
        "endings += advanced.endings",
        "endings += ()",
        "The connections that time has ended are left open.",
    ),
    Mistake(
        "one-session-too-many",
        "server.initialize",
        ">= server.policy.sessions",
        "> server.policy.sessions",
        "One session more than the policy allows.",
    ),
    Mistake(
        "termination-ends-another-session",
        "server.take",
        "if other != name",
        "if other == name",
        "DELETE ends every session but the one it names.",
    ),
)


_CLIENT: tuple[Mistake, ...] = (
    Mistake(
        "cursor-not-advanced",
        "client._apply",
        "cursor=_moved(stream, cursor)",
        "cursor=stream.cursor if stream.cursor.presence is Presence.PRESENT else cursor",
        "The client applies an event and keeps its old cursor, so it is given the event again.",
    ),
    Mistake(
        "one-cursor-for-all-streams",
        "client._with",
        "else stream for stream",
        "else evolve(stream, cursor=changed.cursor) for stream",
        "The client keeps one cursor for all its streams.",
        "swift-sdk (B 30)",
    ),
    Mistake(
        "stream-given-up-in-silence",
        "client.give_up",
        "evolve(client, told=(*client.told, Told(news, stream.handle)))",
        "client",
        "A stream is given up and the application is not told.",
    ),
    Mistake(
        "cut-is-the-end",
        "client._receive_on",
        "return Received(_detached(client, stream, now))",
        "return Received(_over(client, stream))",
        "A client whose connection breaks takes the stream for complete.",
        "TypeScript SDK, php-sdk (B 31)",
    ),
    Mistake(
        "cut-before-any-cursor-is-silent",
        "client._detached",
        "return give_up(client, stream)",
        "return _over(client, stream)",
        "A call that is cut before its first id is forgotten without a word.",
    ),
    Mistake(
        "lost-session-drops-its-calls",
        "client._lose_session",
        "client = give_up(client, stream)",
        "client = _over(client, stream)",
        "With its session the client loses its pending calls, and does not say so.",
        "pending calls that hang (B 36)",
    ),
    Mistake(
        "resumes-without-cursor",
        "client.resume",
        "stream.handle, stream.cursor)",
        "stream.handle)",
        "The client reconnects without its cursor.",
        "TypeScript SDK, php-sdk (B 31, B 32)",
    ),
    Mistake(
        "calls-again",
        "client.resume",
        "Request(Verb.RESUME, ",
        "Request(Verb.CALL, ",
        "Instead of resuming, the client sends its call again.",
    ),
    Mistake(
        "attempts-not-counted",
        "client.resume",
        "attempts=stream.attempts + 1",
        "attempts=stream.attempts",
        "The client tries again for ever.",
        "python-sdk, TypeScript SDK, rmcp, go-sdk and others (B 33)",
    ),
    Mistake(
        "one-attempt-too-many",
        "client.may_resume",
        "stream.attempts < client.attempts_limit",
        "stream.attempts <= client.attempts_limit",
        "The client tries once more than its limit.",
    ),
    Mistake(
        "position-counts-as-progress",
        "client._receive_on",
        "        case Refused(Reason.SESSION_UNKNOWN):",
        "        case Positioned():\n"
        "            return Received(_with(client, evolve(stream, attempts=0)))\n"
        "        case Refused(Reason.SESSION_UNKNOWN):",
        "Being attached again counts as progress, so a server that attaches and closes is polled for ever.",
        "python-sdk, TypeScript SDK, rmcp, go-sdk and others (B 33)",
    ),
    Mistake(
        "answered-call-still-followed",
        "client._apply",
        "_over(advanced, stream) if final else advanced",
        "advanced",
        "The client reconnects a stream whose response it has.",
        "TypeScript SDK, go-sdk (B 35)",
    ),
    Mistake(
        "unknown-session-kept",
        "client._receive_on",
        "return Received(_lose_session(client))",
        "return Received(give_up(client, stream))",
        "After 404 the client goes on with the session that is gone.",
        "the most reported symptom of all (B 36)",
    ),
    Mistake(
        "bad-cursor-costs-the-session",
        "client._receive_on",
        "case Refused():\n            return Received(give_up(client, stream))",
        "case Refused():\n            return Received(_lose_session(client))",
        "Any refusal makes the client throw its session away.",
        "claude-code, go-sdk (B 34, B 37)",
    ),
    Mistake(
        "lost-session-untold",
        "client._lose_session",
        "told=(*client.told, Told(News.SESSION_LOST))",
        "told=client.told",
        "The client starts a new session and its application does not know.",
        "litellm (B 39)",
    ),
    Mistake(
        "old-connection-still-read",
        "client.resume",
        "evolve(stream, connection=connection, ",
        "evolve(stream, connection=stream.connection or connection, ",
        "After asking to resume, the client goes on reading the old connection.",
    ),
)


_REPLAY: tuple[Mistake, ...] = (
    Mistake(
        "memory-one-short",
        "client._is_known",
        "stream.cursor.seq - client.memory < cursor.seq",
        "stream.cursor.seq - client.memory + 1 < cursor.seq",
        "The client recognises one event less than its memory holds.",
    ),
    Mistake(
        "no-dedup",
        "client._is_known",
        "cursor.seq <= stream.cursor.seq",
        "cursor.seq < stream.cursor.seq - client.memory",
        "The client recognises nothing, and the server replays in the belief that it does.",
        "the seed's report",
    ),
    Mistake(
        "replay-beyond-memory",
        "modes.mode_of",
        "deployment.dedup_memory < deployment.longest_replay",
        "deployment.dedup_memory + 1 < deployment.longest_replay",
        "Replay is offered to clients whose memory is one event too short for it.",
    ),
)


MISTAKES: dict[str, Mistake] = {
    mistake.name: mistake
    for mistakes in (_DECISION, _RESUMPTION, _EMISSION, _WRITING, _TIME, _ENDINGS, _SERVER, _CLIENT, _REPLAY)
    for mistake in mistakes
}
"""All of them by name, by the part of the machine that they change."""
