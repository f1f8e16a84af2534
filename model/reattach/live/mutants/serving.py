"""Mistakes around the machine: in what the edge, the views, the calls and the sessions of the server do with it."""

from reattach.live.mutants.base import SERVER, Edit, Mutant
from reattach.oracle.verdict import Fault

_APP = f"{SERVER}.app.Endpoint"
_WRITES = f"{SERVER}.delivery.Delivery._write_all"
_WRITE = "await self._write(send, self.forms.block(write))"
_END = 'case WriteEnd():\n                await self._finish(send, b"")\n'
_HANGS = _END.replace("await", "await self.wire.gone.wait() if wrong.is_resumed(self) else await")
"""A resumed view is not ended."""
_REFUSAL = "return self._refusal(refused, identifier, cursors)"


def _refusing(instead: str) -> tuple[Edit, ...]:
    """Another answer to a bad cursor."""
    chosen = f"return {instead} if wrong.is_about_cursor(refused) else "
    return (Edit(f"{_APP}._opened", _REFUSAL, _REFUSAL.replace("return ", chosen)),)


_VIEWS = (
    Mutant(
        "lost-at-hand-over",
        "What is emitted between the scan of the store and the registration of the view is never written to it.",
        "DEL-2",
        Fault.SILENT_GAP,
        (Edit(_WRITES, _WRITE, f"wrong.lost_at_hand_over(self, write) or {_WRITE}"),),
        "python-sdk, fastmcp, TypeScript SDK with an asynchronous store (S 3.1, B 11)",
    ),
    Mutant(
        "deaf-after-replay",
        "A resumed view gets what was held, stays open, and never gets anything that comes later.",
        "DEL-8",
        Fault.DEAF_AFTER_RESUME,
        (
            Edit(_WRITES, _WRITE, f"wrong.lost_for_ever(self, write) or {_WRITE}"),
            Edit(_WRITES, _END, _HANGS),
        ),
        "server-everything (S 3.6), tachyon (B 11)",
    ),
    Mutant(
        "replay-shuffled",
        "A replay comes in another order than the events had: sorted by the millisecond and a random number.",
        "DEL-6",
        Fault.OUT_OF_ORDER,
        (Edit(_WRITES, _WRITE, "await self._write(send, wrong.in_swapped_pairs(self, write))"),),
        "TypeScript SDK's example store (S 3.7)",
    ),
    Mutant(
        "ids-are-of-the-connection",
        "On a resumption the ids are counted anew, so that one that was given before now names another message.",
        "EVT-4",
        Fault.ID_CHANGED_MEANING,
        (Edit(_WRITES, _WRITE, "await self._write(send, self.forms.block(wrong.renumbered(self, write)))"),),
        "go-sdk after a cursor from the future (S 3.4), platformatic/mcp (B 17)",
    ),
    Mutant(
        "replays-all-streams",
        "A resumption brings everything later of every stream of the session.",
        "DEL-3",
        Fault.CROSS_STREAM_REPLAY,
        (
            Edit(
                _WRITES,
                _WRITE,
                "await self._write(send, self.forms.block(write) + wrong.of_other_streams(self, write))",
            ),
        ),
        "server-everything (S 3.6)",
    ),
    Mutant(
        "store-key-without-session",
        "Streams are stored under a key without the session, so a resumption brings other sessions' events too.",
        "SES-5",
        Fault.CROSS_SESSION_LEAK,
        (
            Edit(
                _WRITES,
                _WRITE,
                "await self._write(send, self.forms.block(write) + wrong.of_other_sessions(self, write))",
            ),
        ),
        "python-sdk, TypeScript SDK with a shared store (S 3.2, B 5, B 6)",
    ),
    Mutant(
        "resumed-finished-stream-stays-open",
        "A finished stream that is resumed is replayed, and then never ends.",
        "DEL-9",
        Fault.STREAM_NOT_ENDED,
        (
            Edit(_WRITES, _WRITE, f"wrong.seen(self, write) or {_WRITE}"),
            Edit(_WRITES, _END, _HANGS),
        ),
        "python-sdk, fastmcp, TypeScript SDK 1.x (S 3.9)",
    ),
    Mutant(
        "second-reader",
        "A resumption leaves the old view in place, and both connections are given every event.",
        "DEL-10",
        Fault.BROADCAST,
        (
            Edit(_WRITES, _WRITE, f"wrong.seen(self, write) or {_WRITE}"),
            Edit(
                _WRITES,
                "                self.wire.abort()\n                await self.wire.gone.wait()\n",
                "                await wrong.reads_on(self, send)\n",
            ),
            Edit(
                f"{SERVER}.delivery.Delivery.end",
                "self.wire.abort()",
                "ending.cause is Cause.TAKEN_OVER or self.wire.abort()",
            ),
        ),
        "C# SDK (S 2.2)",
    ),
    Mutant(
        "old-connection-keeps-the-stream-live",
        "A resumption beside an open view gets the replay and the end; what comes later goes to the old connection.",
        "ATT-2",
        Fault.SPLIT_VIEW,
        (
            Edit(
                f"{_APP}._resume",
                "return self._opened(",
                "return wrong.replay_alone(self.host, delivery, head.cursors) or self._opened(",
            ),
        ),
        "python-sdk, fastmcp (S 2.2)",
    ),
    Mutant(
        "no-backpressure",
        "Writes pile up in the process for a reader that takes none, which so never looks stalled.",
        "IDL-1",
        Fault.IDLE_NOT_ENFORCED,
        (
            Edit(
                f"{SERVER}.wire.Wire.drained",
                "await self.flow.drain()",
                "self.transport.set_write_buffer_limits(high=2**30)",
            ),
        ),
        "MCP-Plugin-dotnet (B 23)",
    ),
)

_CURSORS = (
    Mutant(
        "bad-cursor-is-empty",
        "A bad cursor is answered 200 with an event stream that ends at once.",
        "CUR-2",
        Fault.BAD_CURSOR_SILENT,
        _refusing("wrong.nothing_and_the_end()"),
        "python-sdk, fastmcp, TypeScript SDK 2.x (S 2.2)",
    ),
    Mutant(
        "bad-cursor-stays-open",
        "A bad cursor is answered 200 with an event stream on which nothing ever comes.",
        "CUR-2",
        Fault.BAD_CURSOR_SILENT,
        _refusing("wrong.OpenAndSilent()"),
        "TypeScript SDK 1.x, server-everything, java-sdk (S 2.2)",
    ),
    Mutant(
        "bad-cursor-is-never-answered",
        "A bad cursor gets no answer at all.",
        "CUR-10",
        Fault.BAD_CURSOR_HANG,
        _refusing("wrong.NeverAnswered()"),
        "python-sdk's clients wait for ever (B 19)",
    ),
    Mutant(
        "bad-cursor-is-500",
        "A bad cursor is answered 500.",
        "CUR-10",
        Fault.BAD_CURSOR_CRASH,
        _refusing("wrong.crash()"),
        "python-sdk without a store (S 2.2)",
    ),
    Mutant(
        "cursor-from-the-future-ends-the-process",
        "A cursor ahead of its stream ends the server.",
        "CUR-10",
        Fault.BAD_CURSOR_CRASH,
        (
            Edit(
                f"{_APP}._opened",
                _REFUSAL,
                f"{_REFUSAL} if refused.reason is not Reason.CURSOR_AHEAD else wrong.end_the_process()",
            ),
        ),
        "go-sdk before its PR 1132 (S 3.4, B 18)",
    ),
    Mutant(
        "refusal-is-plain-text",
        "A bad cursor is refused with 400 and words for people.",
        "GET-1",
        Fault.WRONG_STATUS,
        _refusing("wrong.plain_text(refused)"),
        "go-sdk (S 2.2)",
    ),
    Mutant(
        "foreign-cursor-is-served",
        "A cursor alone says whose events are sent: whoever has it gets them.",
        "SES-5",
        Fault.CROSS_SESSION_LEAK,
        (
            Edit(
                f"{_APP}._resume",
                "self._delivery(request, head.name)",
                "self._delivery(request, wrong.owner_of(self.host, head.name, head.cursors))",
            ),
        ),
        "python-sdk, TypeScript SDK with a shared store (S 3.2, B 5)",
    ),
)

_SESSIONS = (
    Mutant(
        "delete-does-nothing",
        "DELETE is answered with success, and the session goes on.",
        "SES-4",
        Fault.SESSION_RESURRECTED,
        (Edit(f"{_APP}._delete", "self.host.take(head.name, Terminate())", "pass"),),
        "mcp-proxy (B 22), mcp-go (S 2.3)",
    ),
    Mutant(
        "delete-leaves-views-open",
        "DELETE ends the session and leaves its connections hanging.",
        "SES-6",
        Fault.STREAM_NOT_ENDED,
        (
            Edit(
                f"{SERVER}.delivery.Delivery.end",
                "self.wire.abort()",
                "ending.cause is Cause.TERMINATED or self.wire.abort()",
            ),
            Edit(
                _WRITES,
                "                self.wire.abort()\n",
                "                self.host.session(self.name) is None or self.wire.abort()\n",
            ),
        ),
        "java-sdk (S 2.3)",
    ),
    Mutant(
        "store-outlives-the-session",
        "What a terminated session held is still given to whoever has one of its cursors.",
        "WIN-4",
        Fault.UNBOUNDED_MEMORY,
        (
            Edit(
                f"{_APP}._delete",
                "self.host.take(",
                "wrong.bury(self.host, self._guests[head.name]) or self.host.take(",
            ),
            Edit(
                f"{_APP}._resume",
                "refused = self._enter(head, visit)\n",
                "ghost = wrong.ghost(head.cursors)\n"
                "    if ghost is not None:\n"
                "        return ghost\n"
                "    refused = self._enter(head, visit)\n",
            ),
        ),
        "python-sdk (S 3.2), mcp-proxy (B 22)",
    ),
    Mutant(
        "session-is-invented",
        "A GET under a session that is not known is answered 200 with an event stream.",
        "SES-8",
        Fault.WRONG_STATUS,
        (
            Edit(
                f"{_APP}._resume",
                "return self._refusal(refused, None, head.cursors)",
                "return wrong.OpenAndSilent() if refused.reason is Reason.SESSION_UNKNOWN else "
                "self._refusal(refused, None, head.cursors)",
            ),
        ),
        "mcp-go (S 2.3)",
    ),
    Mutant(
        "one-window-for-all-sessions",
        "The bound on held events is the whole process's: one session's events push out another's.",
        "WIN-5",
        Fault.GOOD_CURSOR_REFUSED,
        (
            Edit(
                f"{SERVER}.guest.Guest.emit",
                "case Emitted():\n",
                "case Emitted():\n                wrong.evict_anywhere(self.host)\n",
            ),
        ),
        "go-sdk (S 3.4, B 20)",
    ),
    Mutant(
        "session-id-with-a-space",
        "A session id has a space in it.",
        "SES-1",
        Fault.INVALID_ID,
        (
            Edit(
                f"{SERVER}.host.Host.initialize",
                "name, tag = secrets.token_urlsafe(_SECRET_BYTES), ",
                'name, tag = secrets.token_urlsafe(_SECRET_BYTES) + " 1", ',
            ),
        ),
    ),
)

_CALLS = (
    Mutant(
        "message-on-both-streams",
        "What a call sends goes to its own stream and to the standalone one.",
        "DEL-4",
        Fault.BROADCAST,
        (
            Edit(
                f"{SERVER}.guest._SessionChannel.send",
                "await self.guest.emit(self.stream, message)",
                "await self.guest.emit(self.stream, message)\n"
                "    if wrong.is_notification(message):\n"
                "        await self.guest.emit(0, message)",
            ),
        ),
        "agentgateway (B 8)",
    ),
    Mutant(
        "notifications-to-whichever-call",
        "A call's notifications go to whichever call of the session is there to take them.",
        "DEL-3",
        Fault.CROSS_STREAM_REPLAY,
        (
            Edit(
                f"{SERVER}.guest._SessionChannel.send",
                "self.guest.emit(self.stream, message)",
                "self.guest.emit(wrong.whichever(self.guest, self.stream) if wrong.is_notification(message) else "
                "self.stream, message)",
            ),
        ),
        "mcp-go (S 3.5)",
    ),
    Mutant(
        "waiting-call-is-never-woken",
        "A call that was told to wait for its reader goes on waiting when the reader has read, or is gone.",
        "DEL-8",
        Fault.DEAF_AFTER_RESUME,
        (Edit(f"{SERVER}.host.Host._follow", "self._wake_waiters(name, before, after)", "pass"),),
    ),
    Mutant(
        "response-on-the-listener",
        "While the standalone stream is read, responses go there.",
        "DEL-5",
        Fault.RESPONSE_ON_WRONG_STREAM,
        (
            Edit(
                f"{SERVER}.guest._SessionChannel.send",
                "self.guest.emit(self.stream, message)",
                "self.guest.emit(self.stream if wrong.is_notification(message) or not wrong.listens(self.guest) else "
                "0, message)",
            ),
        ),
        "mcp-go (S 3.5), agentgateway (B 8)",
    ),
)

_FORMS = (
    Mutant(
        "no-priming",
        "The stream of a call begins with its first message.",
        "EVT-3",
        Fault.PRIMING_MISSING,
        (Edit(f"{SERVER}.forms.Forms.block", "if TRAITS[self.revision].priming:", "if False:"),),
        "mcp-go, java-sdk (S 2.1)",
    ),
    Mutant(
        "position-not-stated",
        "A re-attached view does not say where it stands.",
        "ATT-1",
        Fault.POSITION_NOT_STATED,
        (Edit(f"{SERVER}.forms.Forms.block", "return self._position(stream, seq)", 'return b""'),),
        "every SDK that was looked at (S 2.2)",
    ),
    Mutant(
        "responses-share-an-id",
        "Every response has the same event id.",
        "EVT-1",
        Fault.ID_NOT_UNIQUE,
        (
            Edit(
                f"{SERVER}.forms.Forms.block",
                'return self._id(stream, seq) + b"data: "',
                'return self._id(*((1, 1) if b\'"result"\' in message else (stream, seq))) + b"data: "',
            ),
        ),
        "java-sdk (S 2.1)",
    ),
    Mutant(
        "event-id-beyond-ascii",
        "Event ids have a character that a header does not carry.",
        "EVT-5",
        Fault.INVALID_ID,
        (
            Edit(
                f"{SERVER}.forms.Forms._id",
                'f"id: {format_event_id(self.tag, stream, seq)}\\n".encode("ascii")',
                'f"id: é{format_event_id(self.tag, stream, seq)}\\n".encode()',
            ),
        ),
    ),
    Mutant(
        "no-retry",
        "A view is ended before its response without ``retry`` having been sent.",
        "IDL-5",
        Fault.RETRY_MISSING,
        (Edit(f"{SERVER}.forms.Forms._retry", "if TRAITS[self.revision].priming else", "if False else"),),
        "mcp-go, fastmcp without a retry interval (S 2.1)",
    ),
    Mutant(
        "ids-in-2026",
        "Under a revision without resumption events have ids.",
        "ERA-1",
        Fault.RESUMPTION_IN_SESSIONLESS_REVISION,
        (Edit(f"{SERVER}.stateless._Stream._write", '"body": block', '"body": b"id: 1\\n" + block'),),
        "rmcp (S 2.4)",
    ),
    Mutant(
        "get-in-2026",
        "Under a revision that has POST alone, GET is answered with an event stream.",
        "ERA-1",
        Fault.RESUMPTION_IN_SESSIONLESS_REVISION,
        (
            Edit(
                f"{_APP}._answer_stateless",
                'if request.method != "POST":',
                'if request.method == "GET":\n        return wrong.OpenAndSilent()\n    if request.method != "POST":',
            ),
        ),
        "go-sdk (S 2.4)",
    ),
)

SERVING_MUTANTS: tuple[Mutant, ...] = (*_VIEWS, *_CURSORS, *_SESSIONS, *_CALLS, *_FORMS)
