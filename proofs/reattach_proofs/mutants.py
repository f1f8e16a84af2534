"""Named mutants of the machine: one fault each, and the theorem that must refute it.

A proof that could not fail proves nothing. Each mutant here is a small change to one function of the shipped machine, as
somebody might make it by mistake, and as many have: ``seen`` says where. ``theorem`` names, in advance, the promise that
does not survive it. That it fails is checked by the prover; a shortest trace from the initial state that breaks it is
found by the explorer (``refutation``).

The promises and the invariant are not touched by a mutant. Some functions of ``session`` are called by both the machine
and a promise; the promises therefore say in their own words what a budget or a limit means.
"""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType

from attrs import frozen

from reattach_proofs import swap
from reattach_proofs.promises import (
    BACKPRESSURE,
    BOUNDED,
    BUDGETS,
    DECISION,
    EXPLICIT,
    FINAL,
    INVARIANT,
    ISOLATION,
    LOSSLESS,
    NO_DUPLICATE,
    NO_SILENT_LOSS,
    ONE_VIEW,
    PROGRESS,
    Theorem,
)


class DoesNotFitError(Exception):
    """A mutant's snippet does not occur exactly once in its function: the machine has changed under it."""


@frozen
class Mutant:
    """One fault."""

    name: str
    function: str
    """Module and name, within ``reattach.machine``."""
    old: str
    """What is replaced; occurs exactly once in the function's source."""
    new: str
    theorem: Theorem
    """The theorem that must refute it."""
    wrong: str
    """What is wrong, in a sentence."""
    seen: str = ""
    """Where it was found in the wild: the numbers of research/bugs.md (B) and research/servers.md (S), and the software."""

    @property
    def module(self) -> str:
        """The module of the machine that it changes."""
        return self.function.partition(".")[0]

    def code(self) -> CodeType:
        """The function's code with the fault. Raises DoesNotFitError."""
        source = swap.source_of(self.function)
        if source.count(self.old) != 1:
            raise DoesNotFitError(f"{self.name}: {self.old!r} occurs {source.count(self.old)} times in {self.function}")
        return swap.compiled(self.function, ast.parse(source.replace(self.old, self.new)))


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """Run the machine with the fault."""
    with swap.swapped(mutant.function, mutant.code()):
        yield


_DECISION = (
    Mutant(
        "inclusive-cursor",
        "decision.decide_cursor",
        "Reattach(stream.number, cursor.seq)",
        "Reattach(stream.number, cursor.seq - 1)",
        NO_DUPLICATE,
        "The event that the cursor names is sent again.",
        "rmcp (S 2.2, 3.10)",
    ),
    Mutant(
        "skips-one-after-cursor",
        "decision.decide_cursor",
        "Reattach(stream.number, cursor.seq)",
        "Reattach(stream.number, cursor.seq + 1)",
        NO_SILENT_LOSS,
        "The first event after the cursor is passed over.",
    ),
    Mutant(
        "unknown-stream-is-fresh",
        "decision.decide_cursor",
        "return Refuse(Reason.CURSOR_OUT_OF_WINDOW)  # CUR-4: no such stream",
        "return Fresh()  # CUR-4: no such stream",
        DECISION,
        "A cursor of a stream that is not known is taken for no cursor at all: a fresh view instead of a refusal.",
        "TypeScript SDK and kotlin-sdk without a store (S 2.2, B 4)",
    ),
    Mutant(
        "foreign-tag-accepted",
        "decision.decide_cursor",
        "cursor.tag != session.tag",
        "False",
        EXPLICIT,
        "A cursor of another session is read as one of this session.",
        "rmcp (S 2.2); with one store for all sessions, python-sdk (S 3.2, B 5)",
    ),
    Mutant(
        "evicted-prefix-skipped",
        "decision.decide_cursor",
        "return Refuse(Reason.CURSOR_OUT_OF_WINDOW, stream.number, mark, stream.last)  # CUR-4",
        "return Reattach(stream.number, mark)  # CUR-4",
        LOSSLESS,
        "A cursor older than what is held is served with what is left, and the gap is not mentioned.",
        "rmcp (S 2.2); python-sdk's example store answers with nothing (S 2.2)",
    ),
    Mutant(
        "old-cursor-replays-from-start",
        "decision.decide_cursor",
        "return Refuse(Reason.CURSOR_OUT_OF_WINDOW, stream.number, mark, stream.last)  # CUR-4",
        "return Reattach(stream.number, stream.first)  # CUR-4",
        NO_DUPLICATE,
        "A cursor older than what is held is served from the start of the stream.",
        "ai-agents-for-beginners (B 4)",
    ),
    Mutant(
        "refuses-at-mark",
        "decision.decide_cursor",
        "cursor.seq < mark",
        "cursor.seq <= mark",
        LOSSLESS,
        "The oldest cursor from which nothing is missing is refused.",
    ),
    Mutant(
        "one-below-mark-is-a-mismatch",
        "decision.decide_cursor",
        "cursor.seq < mark",
        "cursor.seq < mark - 1",
        EXPLICIT,
        "A cursor that has just left the window is refused as if it had never been sent.",
    ),
    Mutant(
        "ahead-accepted",
        "decision.decide_cursor",
        "return Refuse(Reason.CURSOR_AHEAD, stream.number, mark, stream.last)  # CUR-5",
        "return Reattach(stream.number, stream.last)  # CUR-5",
        EXPLICIT,
        "A cursor from the future is accepted.",
        "go-sdk (S 3.4, B 18), C# SDK (S 2.2)",
    ),
    Mutant(
        "newest-refused",
        "decision.decide_cursor",
        "cursor.seq > stream.last",
        "cursor.seq >= stream.last",
        LOSSLESS,
        "A client that has everything is refused as if it were ahead.",
    ),
    Mutant(
        "any-seq-accepted",
        "decision.decide_cursor",
        "if cursor.seq != mark and session.window",
        "if False and session.window",
        EXPLICIT,
        "A seq that is of another stream is accepted as a position on this one.",
    ),
    Mutant(
        "replays-what-is-left",
        "decision.decide_cursor",
        "if mark == stream.first else",
        "if mark >= stream.first else",
        LOSSLESS,
        "Where only replay can be offered, what is left of a stream is given out as if it were the whole.",
        "rmcp (S 2.2)",
    ),
    Mutant(
        "mark-is-first-held",
        "session.mark_of",
        "oldest.prev",
        "oldest.seq",
        LOSSLESS,
        "The mark is the first held event instead of the one before it.",
    ),
    Mutant(
        "empty-window-has-no-mark",
        "session.mark_of",
        "stream.last if oldest.seq == 0",
        "stream.first if oldest.seq == 0",
        LOSSLESS,
        "Once nothing of a stream is held, every cursor from its birth on is taken for lossless.",
    ),
)

_RESUMPTION = (
    Mutant(
        "resumes-at-last",
        "transition._attached",
        "View(connection, position, greeting",
        "View(connection, stream.last, greeting",
        NO_SILENT_LOSS,
        "Between replay and live the view starts at the newest event: what came in between is lost.",
        "python-sdk, fastmcp, TypeScript SDK with an asynchronous store (S 3.1, B 11)",
    ),
    Mutant(
        "resumes-at-birth",
        "transition._attached",
        "View(connection, position, greeting",
        "View(connection, stream.first, greeting",
        NO_DUPLICATE,
        "Every view starts at the birth of its stream.",
        "go-sdk's plain GET (S 2.3)",
    ),
    Mutant(
        "old-view-not-ended",
        "transition._attached",
        "(_ending(stream, Cause.TAKEN_OVER),) if is_viewed(stream) else ()",
        "()",
        ONE_VIEW,
        "A resumption takes the stream over, and the old connection is left hanging for ever.",
        "java-sdk (S 2.3)",
    ),
    Mutant(
        "takeover-refused",
        "transition._resume",
        "case Reattach(number, position):",
        "case Reattach(number, _) if is_viewed(find_stream(seen, number)):\n"
        "            return Step(seen, Refuse(Reason.STREAMS_EXHAUSTED))\n"
        "        case Reattach(number, position):",
        LOSSLESS,
        "While the server still believes in the dead connection, the honest reconnect is refused.",
        "go-sdk, TypeScript SDK, kotlin-sdk (S 2.2, B 25, B 27, B 28)",
    ),
    Mutant(
        "old-connection-keeps-the-stream",
        "transition._resume",
        "return _attached(seen, find_stream(seen, number), connection, position, Greeting.POSITION)",
        "return Step(seen, Opened(number, position)) if is_viewed(find_stream(seen, number)) else "
        "_attached(seen, find_stream(seen, number), connection, position, Greeting.POSITION)",
        ONE_VIEW,
        "The resumption is accepted, and the old connection keeps the stream.",
        "python-sdk, fastmcp (S 2.2)",
    ),
    Mutant(
        "resumes-another-stream",
        "transition._resume",
        "return _attached(seen, find_stream(seen, number), connection, position, Greeting.POSITION)",
        "return _attached(seen, find_stream(seen, seen.standalone), connection, position, Greeting.POSITION)",
        DECISION,
        "Whatever stream the cursor names, the view is of the standalone stream.",
        "server-everything, TypeScript SDK's example store (S 3.6, S 3.7, B 15)",
    ),
    Mutant(
        "refusal-kills-the-session",
        "transition._resume",
        "return Step(seen, refusal)",
        "return Step(_terminated(seen), refusal, _endings_of(seen))",
        EXPLICIT,
        "A bad cursor ends the whole session, other streams included.",
        "Yuzu (B 19)",
    ),
    Mutant(
        "refusal-ends-the-view",
        "transition._resume",
        "return Step(seen, refusal)",
        "return Step(_without_view(seen, find_stream(seen, cursor.stream)), refusal)",
        EXPLICIT,
        "A bad cursor takes away the view that the stream has.",
    ),
    Mutant(
        "refusal-is-no-sign",
        "transition._resume",
        "seen = evolve(session, seen=session.now)",
        "seen = session",
        BUDGETS,
        "A resumption does not count as a sign of the client.",
    ),
    Mutant(
        "every-get-backfills",
        "transition._attached",
        "session.listened or stream.number == session.standalone",
        "session.listened",
        DECISION,
        "Each plain GET is given again what an earlier one was given.",
        "go-sdk (S 2.3)",
    ),
    Mutant(
        "early-pushes-lost",
        "transition._listen",
        "mark_of(session, current)",
        "current.last",
        NO_SILENT_LOSS,
        "What was pushed before the first GET is dropped, though it is held.",
        "python-sdk, C# SDK, kotlin-sdk (S 2.3, B 21)",
    ),
    Mutant(
        "listeners-share-the-pushes",
        "transition._listen",
        "evolve(current, finished=True)",
        "current",
        INVARIANT,
        "A second GET leaves the first standalone stream unfinished: nothing will ever come on it, and it never ends.",
        "rmcp's idle shadow stream (S 2.3)",
    ),
    Mutant(
        "pushes-stay-on-the-old-stream",
        "transition._listen",
        "standalone=born.session.opened",
        "standalone=born.session.standalone",
        INVARIANT,
        "After a second GET the pushes still go to the stream before, which is finished.",
        "kotlin-sdk (B 26)",
    ),
    Mutant(
        "listeners-beyond-the-limit",
        "transition._listen",
        "count_open(session) >= policy.open_streams",
        "False",
        BOUNDED,
        "Each plain GET opens one more stream, whatever the limit.",
        "MCP-Plugin-dotnet (B 23)",
    ),
    Mutant(
        "one-stream-too-many",
        "transition._open_stream",
        "count_open(session) >= policy.open_streams",
        "count_open(session) > policy.open_streams",
        BOUNDED,
        "One stream more than the policy allows.",
    ),
    Mutant(
        "ids-restart-with-each-stream",
        "transition._born",
        "session.opened + 1, session.window.next",
        "session.opened + 1, 1",
        INVARIANT,
        "Each new stream counts its ids from 1 again.",
        "platformatic/mcp (B 17), rmcp (S 2.1)",
    ),
    Mutant(
        "priming-takes-no-seq",
        "transition._born",
        "window=session.window.allotted()",
        "window=session.window",
        INVARIANT,
        "The id that priming shows is given to the next event too.",
        'rmcp: "0" is used three times (S 2.1)',
    ),
    Mutant(
        "stream-numbers-repeat",
        "transition._born",
        "opened=number",
        "opened=session.opened",
        INVARIANT,
        "Two streams get the same number.",
        "servers whose stream ids are request ids (B 5)",
    ),
)

_EMISSION = (
    Mutant(
        "evicts-one-too-few",
        "transition._emit",
        "window.count + 2 - policy.window_events",
        "window.count + 1 - policy.window_events",
        BOUNDED,
        "N + 1 events are held.",
    ),
    Mutant(
        "evicts-one-too-many",
        "transition._emit",
        "window.count + 2 - policy.window_events",
        "window.count + 3 - policy.window_events",
        BOUNDED,
        "Only N - 1 events are held.",
    ),
    Mutant(
        "no-count-limit",
        "transition._emit",
        "window.first_counted(window.count + 2 - policy.window_events)",
        "window.low",
        BOUNDED,
        "The number of held events has no limit.",
        "mcp-proxy, fastmcp, server-everything, mcp-go (S 2.1, B 22)",
    ),
    Mutant(
        "no-byte-limit",
        "transition._emit",
        "window.first_starting(window.size + size - policy.window_bytes)",
        "window.low",
        BOUNDED,
        "The bytes of held messages have no limit.",
        "MCP-Plugin-dotnet (B 23)",
    ),
    Mutant(
        "one-byte-too-many",
        "transition._emit",
        "window.first_starting(window.size + size - policy.window_bytes)",
        "window.first_starting(window.size + size - policy.window_bytes - 1)",
        BOUNDED,
        "B + 1 bytes are held.",
    ),
    Mutant(
        "oversized-message-taken",
        "transition._emit",
        "size > policy.window_bytes",
        "False",
        BOUNDED,
        "A message larger than the whole window is taken.",
    ),
    Mutant(
        "fitting-message-refused",
        "transition._emit",
        "size > policy.window_bytes",
        "size >= policy.window_bytes",
        EXPLICIT,
        "A message that just fits is refused.",
    ),
    Mutant(
        "reader-overtaken-by-its-stream",
        "transition._emit",
        "owed.seq < low:",
        "False:",
        BACKPRESSURE,
        "An emission evicts what its own stream's reader, inside its budget, has still to be given.",
        "go-sdk's full store (B 20)",
    ),
    Mutant(
        "waits-needlessly",
        "transition._emit",
        "owed.seq < low:",
        "owed.seq <= low:",
        BACKPRESSURE,
        "An emission waits though nothing that anybody has still to read would be lost.",
    ),
    Mutant(
        "slow-reader-blocks-all",
        "transition._emit",
        "    if is_viewed(stream):\n        owed",
        "    for stream_read in session.streams:\n"
        "        if is_viewed(stream_read) and stream_read.view.position < stream_read.last and low > window.low:\n"
        "            return Step(session, Wait())\n"
        "    if is_viewed(stream):\n        owed",
        BACKPRESSURE,
        "A slow reader of one stream holds up the emissions on another.",
        "python-sdk (S 3.8)",
    ),
    Mutant(
        "finished-stream-takes-events",
        "transition._emit",
        "if stream.finished:",
        "if stream.number == 0:",
        NO_SILENT_LOSS,
        "A stream that has ended takes another event, which nobody will ever read.",
    ),
    Mutant(
        "message-on-the-wrong-stream",
        "transition._emit",
        ".appended(stream.number, stream.last,",
        ".appended(session.standalone, stream.last,",
        ISOLATION,
        "A message of a request goes to the standalone stream.",
        "mcp-go (S 3.5), agentgateway (B 8)",
    ),
    Mutant(
        "chain-is-of-the-session",
        "transition._emit",
        ".appended(stream.number, stream.last,",
        ".appended(stream.number, seq - 1,",
        INVARIANT,
        "An event's predecessor is the session's last event instead of its stream's.",
    ),
    Mutant(
        "last-not-advanced",
        "transition._emit",
        "changed = evolve(stream, last=seq)",
        "changed = stream",
        INVARIANT,
        "The stream does not know of its newest event, so a reader is never given it.",
        "typescript-sdk (B 12)",
    ),
    Mutant(
        "stall-clock-not-started",
        "transition._emit",
        "if is_viewed(stream) and not is_behind(stream):",
        "if False:",
        BUDGETS,
        "A reader that has been idle for long is ended as soon as something comes, before it could read it.",
    ),
    Mutant(
        "emissions-restart-the-stall-clock",
        "transition._emit",
        "if is_viewed(stream) and not is_behind(stream):",
        "if is_viewed(stream):",
        BUDGETS,
        "As long as something is emitted, a reader that takes nothing is never ended.",
    ),
)

_WRITING = (
    Mutant(
        "gap-skipped",
        "transition._write",
        "owed.seq == 0 or owed.prev != view.position",
        "owed.seq == 0",
        NO_SILENT_LOSS,
        "A view whose next event has left the window goes on with what is left.",
        "rmcp (S 2.2)",
    ),
    Mutant(
        "overtaken-without-loss",
        "transition._write",
        "owed.seq == 0 or owed.prev != view.position",
        "owed.seq == 0 or owed.prev < owed.seq",
        NO_SILENT_LOSS,
        "A view is told to resume although its next event is held.",
    ),
    Mutant(
        "position-not-moved",
        "transition._write",
        "evolve(view, position=owed.seq)",
        "view",
        NO_DUPLICATE,
        "The same event is written again and again.",
    ),
    Mutant(
        "writes-ahead-of-the-reader",
        "transition._write",
        "if view.outstanding:",
        "if False:",
        BOUNDED,
        "Writes are queued without limit for a reader that takes none.",
        "MCP-Plugin-dotnet (B 23)",
    ),
    Mutant(
        "outstanding-forgotten",
        "transition._written",
        "outstanding=True",
        "outstanding=False",
        BOUNDED,
        "A write counts as taken at once, so there is a queue after all.",
    ),
    Mutant(
        "priming-skips-events",
        "transition._write",
        "WriteGreeting(view.greeting, stream.number, view.position)",
        "WriteGreeting(view.greeting, stream.number, stream.last)",
        NO_SILENT_LOSS,
        "The greeting carries the newest id: it moves the client's cursor past events it was never given.",
        "python-sdk, fastmcp (S 3.1)",
    ),
    Mutant(
        "ends-before-the-last-event",
        "transition._write",
        "if view.position < stream.last:",
        "if view.position < stream.last and not stream.finished:",
        NO_SILENT_LOSS,
        "A finished stream ends at once, without the response that finished it.",
        "cloudflare/agents (B 13), rmcp (S 3.10)",
    ),
    Mutant(
        "response-stream-never-ended",
        "transition._write",
        "if stream.finished:",
        "if False:",
        PROGRESS,
        "After its response a stream stays open for ever.",
        "python-sdk, fastmcp, TypeScript SDK 1.x (S 3.9)",
    ),
    Mutant(
        "unfinished-stream-ended",
        "transition._write",
        "if stream.finished:",
        "if True:",
        NO_SILENT_LOSS,
        "A reader that has caught up is sent away though its stream goes on.",
        "the reconnect storm of python-sdk and others (B 33)",
    ),
    Mutant(
        "deaf-view",
        "transition._write",
        "if view.position < stream.last:",
        "if view.position < stream.last and view.position < session.window.low:",
        PROGRESS,
        "A view is given what was replayed, and nothing that comes later.",
        "server-everything (S 3.6), tachyon (B 11)",
    ),
    Mutant(
        "greeting-withheld",
        "transition._write",
        "if view.greeting is not Greeting.NOTHING:",
        "if view.greeting is not Greeting.NOTHING and view.position < stream.last:",
        PROGRESS,
        "The stated position is held back until something is emitted.",
        "servers behind proxies that wait for a first byte (B 40)",
    ),
    Mutant(
        "heartbeat-late",
        "transition._write",
        "session.now >= view.wrote + policy.heartbeat_ms",
        "session.now > view.wrote + policy.heartbeat_ms",
        PROGRESS,
        "The comment is due and is not written.",
        "silent GET streams that proxies cut (B 40)",
    ),
    Mutant(
        "heartbeat-flood",
        "transition._written",
        "wrote=session.now",
        "wrote=view.wrote",
        PROGRESS,
        "Once the first comment was due, one is written whenever the transport asks.",
    ),
    Mutant(
        "comment-is-no-write",
        "transition._write",
        "quiet = evolve(view, since=session.now, reads=0)",
        "quiet = view",
        BUDGETS,
        "The first comment to a quiet reader ends it: its stall clock runs from long ago.",
    ),
    Mutant(
        "progress-not-counted",
        "transition._accepted",
        "reads=stream.view.reads + 1",
        "reads=stream.view.reads",
        BUDGETS,
        "A slow reader that takes one event after another is ended as if it took none.",
    ),
    Mutant(
        "rate-one-too-high",
        "transition._accepted",
        "taken.reads >= policy.stall_reads",
        "taken.reads > policy.stall_reads",
        BUDGETS,
        "A reader has to take one more than the rate asks for.",
    ),
    Mutant(
        "accepted-out-of-nothing",
        "transition._accepted",
        "if not stream.view.outstanding:",
        "if stream.number == 0:",
        BUDGETS,
        "A transport that reports what was never written keeps its stalled view for ever.",
    ),
    Mutant(
        "disconnect-is-cancel",
        "transition._disconnect",
        "return Step(_without_view(session, stream))",
        "return Step(with_stream(session, evolve(stream, view=NO_VIEW, finished=stream.number != session.standalone)))",
        ONE_VIEW,
        "A lost connection cancels the call behind it.",
        "servers of 2026-07-28 habits (S 1); SDKs before B 14",
    ),
    Mutant(
        "disconnect-ends-the-session",
        "transition._disconnect",
        "return Step(_without_view(session, stream))",
        "return Step(_terminated(session), Done(), _endings_of(session))",
        ONE_VIEW,
        "A failed write removes the whole session.",
        "java-sdk (S 2.3)",
    ),
    Mutant(
        "absence-counts-from-long-ago",
        "transition._without_view",
        "evolve(session, seen=session.now)",
        "session",
        BUDGETS,
        "A client that was just connected counts as absent since it first connected.",
    ),
    Mutant(
        "pushes-can-be-finished",
        "transition._finish",
        " or stream.number == session.standalone",
        "",
        INVARIANT,
        "The standalone stream can be finished, and then pushes have nowhere to go.",
    ),
)

_TIME = (
    Mutant(
        "no-ttl",
        "transition.advance",
        "window=window.trimmed(window.first_since(now - policy.window_ms))",
        "window=window",
        BOUNDED,
        "Nothing is ever too old to be held.",
        "server-everything, mcp-go (S 2.1)",
    ),
    Mutant(
        "ttl-one-too-long",
        "transition.advance",
        "window.first_since(now - policy.window_ms)",
        "window.first_since(now - policy.window_ms - 1)",
        BOUNDED,
        "An event is held a millisecond longer than T.",
    ),
    Mutant(
        "ttl-one-too-short",
        "transition.advance",
        "window.first_since(now - policy.window_ms)",
        "window.first_since(now - policy.window_ms + 1)",
        BOUNDED,
        "An event that is exactly T old is dropped.",
    ),
    Mutant(
        "stall-never-applied",
        "transition._end_stalled",
        "if is_behind(stream) and session.now >= stall_deadline(policy, stream):",
        "if False:",
        BUDGETS,
        "A view that takes nothing is kept for ever.",
        "supergateway (B 24)",
    ),
    Mutant(
        "stall-kills-the-caught-up",
        "transition._end_stalled",
        "if is_behind(stream) and",
        "if is_viewed(stream) and",
        BUDGETS,
        "A view that has read everything is ended because it is quiet.",
        "silent GET streams (B 40)",
    ),
    Mutant(
        "stall-one-too-late",
        "session.stall_deadline",
        "policy.stall_ms + 1",
        "policy.stall_ms + 2",
        BUDGETS,
        "A view outlives its stall budget by a millisecond.",
    ),
    Mutant(
        "stall-one-too-early",
        "session.stall_deadline",
        "policy.stall_ms + 1",
        "policy.stall_ms",
        BUDGETS,
        "A view is ended at its stall budget, not after it.",
    ),
    Mutant(
        "greeting-is-not-behind",
        "session.is_behind",
        "view.greeting is not Greeting.NOTHING or ",
        "",
        BUDGETS,
        "A view that does not even take its greeting is kept for ever.",
    ),
    Mutant(
        "outstanding-is-not-behind",
        "session.is_behind",
        "view.outstanding or ",
        "",
        BUDGETS,
        "A view that never takes the last write is kept for ever.",
        "half-dead GET streams (B 24)",
    ),
    Mutant(
        "late-look-lengthens-absence",
        "transition._end_stalled",
        "max(session.seen, stall_deadline(policy, stream))",
        "session.now",
        BUDGETS,
        "A stalled view counts as a sign of the client until somebody looks.",
    ),
    Mutant(
        "absence-never-applied",
        "transition.advance",
        "now >= absence_deadline(policy, awake):",
        "False:",
        BUDGETS,
        "A session that everybody has left is kept for ever.",
        "TypeScript SDK, go-sdk (S 2.1, B 23)",
    ),
    Mutant(
        "absence-kills-the-busy",
        "transition.advance",
        "if not is_occupied(awake) and now",
        "if now",
        BUDGETS,
        "A session is ended in the middle of a long call.",
    ),
    Mutant(
        "open-requests-not-counted",
        "session.is_occupied",
        "return session.requests > 0",
        "return False",
        BUDGETS,
        "A session is ended while a request of it is being answered.",
    ),
    Mutant(
        "every-session-is-busy",
        "session.is_occupied",
        "return session.requests > 0",
        "return True",
        BUDGETS,
        "A session counts as busy though nothing of it is open.",
        "supergateway (B 24)",
    ),
    Mutant(
        "cut-call-is-not-busy",
        "session.is_occupied",
        "is_viewed(stream) or (stream.kind is StreamKind.REQUEST and not stream.finished)",
        "is_viewed(stream)",
        BUDGETS,
        "A session is ended while a call runs whose connection was cut.",
    ),
    Mutant(
        "absence-one-too-late",
        "session.absence_deadline",
        "policy.absence_ms + 1",
        "policy.absence_ms + 2",
        BUDGETS,
        "A session outlives its absence budget by a millisecond.",
    ),
    Mutant(
        "time-goes-back",
        "transition.advance",
        "now <= session.now",
        "now == session.now",
        BUDGETS,
        "An input with an older time sets the clock back.",
    ),
    Mutant(
        "departures-pile-up",
        "transition._react",
        "max(0, session.requests - 1)",
        "session.requests",
        BUDGETS,
        "A request that was answered counts as open for ever.",
        "supergateway (B 24)",
    ),
)

_ENDINGS = (
    Mutant(
        "terminated-keeps-its-window",
        "transition._terminated",
        "window=Window(), ",
        "",
        FINAL,
        "A terminated session keeps its events.",
        "mcp-proxy (B 22)",
    ),
    Mutant(
        "terminated-keeps-its-streams",
        "transition._terminated",
        "streams=(), ",
        "",
        FINAL,
        "A terminated session keeps its streams.",
        "MCP-Plugin-dotnet (B 23)",
    ),
    Mutant(
        "terminated-keeps-serving",
        "transition._terminated",
        "alive=False, ",
        "",
        FINAL,
        "A terminated session goes on.",
        "mcp-go: GET after DELETE answers 200 (S 2.3)",
    ),
    Mutant(
        "views-outlive-termination",
        "transition._react",
        "Step(_terminated(session), Done(), _endings_of(session))",
        "Step(_terminated(session))",
        FINAL,
        "Termination leaves the open connections open.",
    ),
    Mutant(
        "the-dead-react",
        "transition.step",
        "if not before.session.alive:",
        "if False:",
        FINAL,
        "An input to a terminated session is taken, and a stream can be opened in it again.",
        "mcp-go: a session is invented (S 2.3)",
    ),
    Mutant(
        "stalled-views-untold",
        "transition.step",
        "endings=before.endings + after.endings",
        "endings=after.endings",
        BUDGETS,
        "A view that stalled is gone, and its transport is never told to end the connection.",
        "java-sdk: 200, nothing, never closed (S 2.2)",
    ),
    Mutant(
        "input-before-time",
        "transition.step",
        "react(policy, before.session, given)",
        "react(policy, session, given)",
        BUDGETS,
        "An input is taken as if no time had passed since the last one.",
    ),
    Mutant(
        "never-forgotten",
        "transition._without_forgotten",
        "if not is_forgotten(session, stream)",
        "if True",
        BOUNDED,
        "The record of a stream is kept for ever.",
        "go-sdk (B 21)",
    ),
    Mutant(
        "forgotten-with-its-response",
        "session.is_forgotten",
        "not is_open(stream) and holds_nothing(session, stream)",
        "not is_open(stream)",
        BOUNDED,
        "A finished stream is forgotten while its response is held and unread.",
        "rmcp (S 3.10), cloudflare/agents (B 13)",
    ),
    Mutant(
        "forgotten-one-too-early",
        "session.holds_nothing",
        "stream.last < session.window.low",
        "stream.last <= session.window.low",
        BOUNDED,
        "A finished stream is forgotten with its last event still held.",
    ),
    Mutant(
        "eventless-stream-kept",
        "session.holds_nothing",
        "stream.last == stream.first or ",
        "",
        BOUNDED,
        "A finished stream that never had an event is kept.",
    ),
    Mutant(
        "forgotten-while-read",
        "session.is_open",
        "not stream.finished or is_viewed(stream)",
        "not stream.finished",
        ONE_VIEW,
        "A finished stream is forgotten, view and all, while its reader is still there.",
    ),
    Mutant(
        "all-streams-replaced",
        "session.with_stream",
        "changed if stream.number == changed.number else stream",
        "changed",
        ISOLATION,
        "What is written to one stream's record is written to all.",
    ),
)

MUTANTS: tuple[Mutant, ...] = (*_DECISION, *_RESUMPTION, *_EMISSION, *_WRITING, *_TIME, *_ENDINGS)
"""All of them, by the part of the machine that they change."""


def mutant_named(name: str) -> Mutant:
    """The mutant with this name. Raises KeyError."""
    return {mutant.name: mutant for mutant in MUTANTS}[name]
