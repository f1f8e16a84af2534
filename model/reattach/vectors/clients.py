"""Vectors of the client: what it sees, and what it does about it (spec/09-clients.md)."""

from collections.abc import Iterator

from reattach.machine import client as machine
from reattach.machine.client import Client, Phase, Told, find_by_handle
from reattach.machine.cursor import ABSENT, Cursor, format_event_id, parse_cursor
from reattach.machine.network import (
    Aborted,
    Attached,
    Deleted,
    Delivered,
    Ended,
    Initialized,
    Item,
    Positioned,
    Primed,
    Request,
    ResumptionRequired,
    Retry,
    Verb,
)
from reattach.machine.session import StreamKind
from reattach.vectors.plain import TAG, headers_of
from reattach.vectors.vector import EXPECT, Case, Kind, Plain

ABOUT = """\
# Vectors of the client

What a client sees and what it does about it, step by step ([chapter 9](../../09-clients.md)). They are for a client
whose connections can be driven by hand, with a clock of its own; whoever can only be watched is judged by what it sends
and applies.

`attempts_limit`: resumptions without progress, at most. `longest_wait_ms`: the longest `retry` that it obeys.
`memory`: how far back, in seqs, it recognises what it has applied; 0 where every id is opaque to it, as it may be.

`at` is the time in milliseconds. `connection` is one HTTP exchange, and `stream` the client's own number for a stream:
its calls and its plain GETs, counted from 1.

| `do` | fields | meaning |
|---|---|---|
| `initialize` | `connection` | the session is opened |
| `call`, `listen` | `connection` | a `tools/call`; a plain GET |
| `follow` | `stream`, `connection` | is it time to come back to this stream? If so, on this connection |
| `leave` | `connection` | the application is done with the session |

| `see` on a `connection` | fields | meaning |
|---|---|---|
| `initialized` | `session` | the answer to initialize, with this session id |
| `stream` | | 200 and an event stream |
| `refused` | `status` | any other answer: 404, 409, 405, ... |
| `deleted` | | the answer to DELETE |
| `priming` | `id` | an event with empty data; `id` null: without an id |
| `position` | `id` | a stated position ([chapter 12](../../12-wire.md)) |
| `event` | `id`, `final` | a message, `final` if it is the response to the call; `id` null: without an id |
| `retry` | `ms` | the field `retry`; an event that has others too is seen as two steps, this one first |
| `resumption-required` | | the view was ended because it could not go on |
| `end`, `reset` | | the body ended; the connection broke, or the client has given it up |

| `expect` | meaning |
|---|---|
| `applies` | after an `event`: whether it is applied |
| `sends` | after a `do`: `method`, `message` (null: none), `session` and `last_event_id`; null: nothing is sent |
| `told` | the news for the application: `outcome-unknown` or `gap` of a `stream`, or `session-lost`; absent: none |
| `lost` | the streams to come back to: each with its `last_event_id`, and `not_before` which time; absent: none |
| `must_initialize` | there is no session, nor is one asked for; absent: there is |

A stream that is not `lost` has a connection, or is over. What stands in no `sends` must not be sent: in particular no
call again.
"""

WAIT, LONGEST, LIMIT = 500, 60_000, 2
"""``retry`` in milliseconds, the longest that is obeyed, and the attempts without progress."""

_SENT = {
    Verb.INITIALIZE: ("POST", "initialize"),
    Verb.CALL: ("POST", "tools/call"),
    Verb.LISTEN: ("GET", None),
    Verb.RESUME: ("GET", None),
    Verb.DELETE: ("DELETE", None),
}


def answered(question: Plain) -> Plain:
    """What the machine's client does at each step."""
    client = Client(
        attempts_limit=question["attempts_limit"],
        longest_wait_ms=question["longest_wait_ms"],
        memory=question["memory"],
    )
    steps = []
    for each in question["steps"]:
        before = client
        expected: Plain = {}
        if "do" in each:
            client, request = _done(client, each)
            expected["sends"] = None if request is None else _request(request)
        else:
            item = _item(each)
            client, applied = _seen(client, each, item)
            if isinstance(item, Delivered):
                expected["applies"] = applied
        news = {
            "told": [_told(told) for told in client.told[len(before.told) :]],
            "lost": _lost(client),
            "must_initialize": client.phase is Phase.MUST_INITIALIZE,
        }
        steps.append({**each, EXPECT: {**expected, **{key: value for key, value in news.items() if value}}})
    return {**question, "steps": steps}


def _done(client: Client, each: Plain) -> tuple[Client, Request | None]:
    match each["do"]:
        case "initialize":
            return machine.initialize(client, each["connection"])
        case "call":
            return machine.open_stream(client, each["connection"], StreamKind.REQUEST)
        case "listen":
            return machine.open_stream(client, each["connection"], StreamKind.STANDALONE)
        case "leave":
            return machine.leave(client)
    for stream in find_by_handle(client, each["stream"]):
        return machine.follow(client, stream, each["connection"], each["at"])
    return client, None


def _seen(client: Client, each: Plain, item: Item) -> tuple[Client, bool]:
    received = machine.receive(client, each["connection"], item, each["at"])
    return received.client, received.applied


def _item(each: Plain) -> Item:
    match each["see"]:
        case "initialized":
            return Initialized(each["session"])
        case "refused":
            return machine.refused(each["status"])
        case "priming":
            return Primed(_cursor(each))
        case "position":
            return Positioned(_cursor(each))
        case "event":
            return Delivered(_cursor(each), each["final"])
        case "retry":
            return Retry(each["ms"])
    return _BARE[each["see"]]


_BARE: dict[str, Item] = {
    "stream": Attached(),
    "deleted": Deleted(),
    "resumption-required": ResumptionRequired(),
    "end": Ended(),
    "reset": Aborted(),
}


def _cursor(each: Plain) -> Cursor:
    return ABSENT if each["id"] is None else parse_cursor((each["id"],))


def _request(request: Request) -> Plain:
    method, message = _SENT[request.verb]
    session = request.session or None
    return {"method": method, "message": message, "session": session, "last_event_id": headers_of(request.cursor)}


def _told(told: Told) -> Plain:
    return {"news": told.news.value, **({"stream": told.handle} if told.handle else {})}


def _lost(client: Client) -> list[Plain]:
    return [
        {"stream": each.handle, "last_event_id": headers_of(each.cursor), "not_before": each.ready}
        for each in client.streams
        if each.connection == 0
    ]


# What is asked


def cases() -> tuple[Case, ...]:
    """Everything that can be seen, in every situation; then what takes longer to tell."""
    return (
        *_each_in_each(),
        *_initializing(),
        *_waits(),
        *_attempts(),
        *_cursors(),
        *_recognises(),
        *_old_connections(),
        *_sessions(),
        *_calls(),
    )


def _do(what: str, connection: int, at: int = 0, **fields: int) -> Plain:
    return {"at": at, "do": what, **fields, "connection": connection}


def _see(what: str, connection: int, at: int = 0, **fields: str | int | bool | None) -> Plain:
    return {"at": at, "see": what, "connection": connection, **fields}


def _follow(stream: int, connection: int, at: int = 0) -> Plain:
    return _do("follow", connection, at, stream=stream)


def _event(seq: int | None, connection: int = 2, at: int = 0, *, stream: int = 2, final: bool = False) -> Plain:
    return _see("event", connection, at, id=_id(seq, stream), final=final)


def _priming(seq: int | None, connection: int = 2, at: int = 0, *, stream: int = 2) -> Plain:
    return _see("priming", connection, at, id=_id(seq, stream))


def _position(seq: int, connection: int, at: int = 0, *, stream: int = 2) -> Plain:
    return _see("position", connection, at, id=_id(seq, stream))


def _id(seq: int | None, stream: int) -> str | None:
    return None if seq is None else format_event_id(TAG, stream, seq)


_OPEN = (_do("initialize", 1), _see("initialized", 1, session="S1"))
_CALL = (*_OPEN, _do("call", 2), _see("stream", 2))
_PRIMED = (*_CALL, _priming(2))
_LISTENING = (*_OPEN, _do("listen", 2), _see("stream", 2), _event(2, stream=1))
_LOST = (*_PRIMED, _see("reset", 2))
_RESUMED = (*_PRIMED, _see("reset", 2), _follow(1, 3), _see("stream", 3))


def _case(name: str, clauses: str, *steps: Plain, memory: int = 0) -> Case:
    question = {"attempts_limit": LIMIT, "longest_wait_ms": LONGEST, "memory": memory, "steps": list(steps)}
    slug = name.replace(" ", "-").replace(",", "").lower()
    return Case(slug, f"{name[0].upper()}{name[1:]}.", tuple(clauses.split()), question)


_SITUATIONS: dict[str, tuple[tuple[Plain, ...], int, int]] = {
    "a call without a cursor": (_CALL, 2, 2),
    "a call with a cursor": (_PRIMED, 2, 2),
    "a listener": (_LISTENING, 2, 1),
    "a resumed call": (_RESUMED, 3, 2),
}
"""The steps that lead to it, the connection, and the stream in the ids."""


def _each_in_each() -> Iterator[Case]:
    for situation, (steps, connection, stream) in _SITUATIONS.items():
        for name, (clauses, what) in _everything(connection, stream).items():
            yield _case(f"{situation} sees {name}", clauses, *steps, what, _follow(1, 9))


def _everything(connection: int, stream: int) -> dict[str, tuple[str, Plain]]:
    return {
        "priming": ("CLI-1", _priming(7, connection, stream=stream)),
        "empty data without an id": ("CLI-1", _priming(None, connection)),
        "position 2": ("CLI-8", _position(2, connection, stream=stream)),
        "position 1": ("CLI-8 CLI-9", _position(1, connection, stream=stream)),
        "position 2 of another stream": ("CLI-8 CLI-9", _position(2, connection, stream=stream + 1)),
        "an event": ("CLI-1", _event(7, connection, stream=stream)),
        "an event without an id": ("CLI-1", _event(None, connection)),
        "a response": ("CLI-10", _event(7, connection, stream=stream, final=True)),
        "a response without an id": ("CLI-10", _event(None, connection, final=True)),
        "a retry": ("CLI-4", _see("retry", connection, ms=WAIT)),
        "the end": ("CLI-7 CLI-9", _see("end", connection)),
        "a reset": ("CLI-7 CLI-9", _see("reset", connection)),
        "that a resumption is required": ("CLI-5 CLI-9", _see("resumption-required", connection)),
        "404": ("CLI-3 CLI-9", _see("refused", connection, status=404)),
        **{str(status): ("CLI-9", _see("refused", connection, status=status)) for status in (400, 405, 409)},
    }


def _initializing() -> Iterator[Case]:
    sent = _do("initialize", 1)
    yield _case("initialize carries no session", "CLI-3", sent)
    yield _case("an answer connects it", "CLI-3", *_OPEN, _do("call", 2))
    for name, what in {
        "a reset": _see("reset", 1),
        "the end": _see("end", 1),
        "503": _see("refused", 1, status=503),
        "404": _see("refused", 1, status=404),
    }.items():
        yield _case(f"{name} in place of a session", "CLI-3", sent, what, _do("initialize", 2))
    late = (_OPEN[1], _see("initialized", 2, session="S2"), _do("call", 3))
    yield _case("a session on a connection that was given up", "CLI-3", sent, _do("initialize", 2), *late)
    yield _case("a session that comes after the end", "CLI-3", sent, _see("end", 1), _OPEN[1])
    yield _case("the answer ends and the session does not", "CLI-3", *_OPEN, _see("end", 1), _do("call", 2))


def _waits() -> Iterator[Case]:
    def lost(ms: int) -> tuple[Plain, ...]:
        return (*_PRIMED, _see("retry", 2, ms=ms), _see("reset", 2, 1_000))

    yield _case("it may come back one millisecond early", "CLI-4", *lost(WAIT), _follow(1, 3, 1_000 + WAIT - 1))
    yield _case("it may come back when it is time", "CLI-4", *lost(WAIT), _follow(1, 3, 1_000 + WAIT))
    yield _case("retry 0 is no wait", "CLI-4", *lost(0), _follow(1, 3, 1_000))
    yield _case("no retry is no wait", "CLI-4", *_PRIMED, _see("reset", 2, 1_000), _follow(1, 3, 1_000))
    yield _case("the longest wait", "CLI-4", *lost(LONGEST), _follow(1, 3, 1_000))
    yield _case("longer than the longest wait", "CLI-4 CLI-9", *lost(LONGEST + 1), _follow(1, 3, 1_000))
    yield _case("the latest retry counts", "CLI-4", *_PRIMED, _see("retry", 2, ms=WAIT), *lost(20)[-2:])
    again = (_follow(1, 3, 2_000), _see("stream", 3, 2_001), _see("end", 3, 2_002))
    yield _case("it waits again after an attempt", "CLI-4", *lost(WAIT), *again)
    yield _case("a wait begins with the loss, not with the retry", "CLI-4", *lost(WAIT), _follow(1, 3, WAIT))
    other = (_do("call", 3), _priming(4, 3, stream=3), _see("retry", 2, ms=WAIT), _see("reset", 2), _see("reset", 3))
    yield _case("a retry is of its own stream", "CLI-4 CLI-10", *_PRIMED, *other)


def _attempts() -> Iterator[Case]:
    def attempt(connection: int, *seen: Plain) -> tuple[Plain, ...]:
        end = (_see("stream", connection), *seen, _see("end", connection))
        return (_follow(1, connection), *end)

    yield _case("200 and empty, as often as it may", "CLI-11", *_LOST, *attempt(3), _follow(1, 4))
    yield _case("200 and empty, too often", "CLI-11 CLI-9", *_LOST, *attempt(3), *attempt(4), _follow(1, 5))
    event = attempt(4, _event(3, 4))
    yield _case("an event is progress", "CLI-11", *_LOST, *attempt(3), *event, *attempt(5), *attempt(6), _follow(1, 7))
    primed = attempt(4, _priming(3, 4))
    yield _case("priming is no progress", "CLI-11 CLI-9", *_LOST, *attempt(3), *primed, _follow(1, 5))
    stated = attempt(4, _position(2, 4))
    yield _case("a stated position is no progress", "CLI-11 CLI-9", *_LOST, *attempt(3), *stated, _follow(1, 5))
    known = attempt(4, _event(2, 4))
    steps = (*_LOST, *attempt(3), *known, _follow(1, 5))
    yield _case("what it has applied before is no progress", "CLI-11 CLI-9", *steps, memory=1)
    both = (*_PRIMED, _do("listen", 3), _priming(4, 3, stream=1), _see("reset", 2), *attempt(4), *attempt(5))
    yield _case("attempts are of a stream", "CLI-11 CLI-10", *both, _see("reset", 3), _follow(2, 6), _follow(1, 7))


def _cursors() -> Iterator[Case]:
    two = (*_PRIMED, _do("call", 3), _priming(3, 3, stream=3), _event(4), _event(5, 3, stream=3))
    lost = (_see("reset", 2), _see("reset", 3))
    yield _case("each stream has its cursor", "CLI-10 CLI-5", *two, *lost, _follow(2, 4), _follow(1, 5))
    yield _case("one stream is lost and the other is read", "CLI-10", *two, lost[0], _event(6, 3, stream=3))
    yield _case("a stream that is read is not resumed", "CLI-10", *two, _follow(1, 4))
    three = (*two, _do("listen", 4), _priming(7, 4, stream=1), _event(8, 3, stream=3, final=True))
    yield _case("one of three streams is over", "CLI-10", *three, lost[0], _see("reset", 4), _follow(2, 5))
    other = (_do("initialize", 3), _see("initialized", 3, session="S1"), _do("call", 1), _priming(2, 1))
    yield _case("the numbers of connections mean nothing", "CLI-1", *other, _event(3, 1))
    answered_one = (_event(6, final=True), _see("end", 2), _follow(1, 4))
    yield _case("an answered call is never resumed", "CLI-10", *two, *answered_one)
    yield _case("nothing is applied after the response", "CLI-2 CLI-10", *_PRIMED, _event(3, final=True), _event(4))
    yield _case("a response that comes twice", "CLI-2", *_PRIMED, _event(3, final=True), _event(3, final=True))
    new_id = (*_RESUMED, _event(9, 3), _see("reset", 3), _follow(1, 4))
    yield _case("what comes under a new id is asked for by that id", "CLI-1", *new_id)
    lower = (*_PRIMED, _event(9), _event(3), _see("reset", 2), _follow(1, 3))
    yield _case("ids that do not count are cursors like any other", "CLI-1", *lower)
    bare = (*_CALL, _event(3), _event(None), _see("reset", 2), _follow(1, 3))
    yield _case("an event without an id leaves the cursor", "CLI-1", *bare)
    nothing = (*_CALL, _event(None), _see("reset", 2), _follow(1, 3))
    yield _case("events without ids lead to no cursor", "CLI-9", *nothing)
    required = (_see("resumption-required", 2), _event(3), _see("end", 2), _follow(1, 3))
    yield _case("nothing is applied once a resumption is required", "CLI-1", *_PRIMED, *required)


def _recognises() -> Iterator[Case]:
    steps = (*_PRIMED, _event(5), _see("reset", 2), _follow(1, 3))
    for memory, seq, name in (
        (1, 5, "the event of its cursor, with a memory of 1"),
        (1, 4, "an older event, with a memory of 1"),
        (1, 6, "the next event, with a memory of 1"),
        (2, 4, "an older event, with a memory of 2"),
        (2, 3, "an event older than a memory of 2"),
        (5, 1, "the oldest event, with a memory of 5"),
    ):
        yield _case(name, "CLI-2 MOD-4", *steps, _event(seq, 3), memory=memory)
    yield _case("an event without an id is not recognised", "CLI-2 MOD-4", *steps, _event(None, 3), memory=9)
    yield _case("a repeated response is recognised", "CLI-2 MOD-4", *steps, _event(5, 3, final=True), memory=1)
    yield _case("who has no cursor recognises nothing", "MOD-4", *_CALL, _event(1), memory=9)


def _old_connections() -> Iterator[Case]:
    silent = _RESUMED
    for name, (_, what) in _everything(2, 2).items():
        yield _case(f"{name} on the old connection", "CLI-6", *silent, what, _event(3, 3))
    for name, (_, what) in _everything(2, 2).items():
        yield _case(f"{name} on a connection that broke", "CLI-6", *_LOST, what)
    again = (*silent, _see("end", 3), _follow(1, 4), _event(3, 3), _event(3, 4))
    yield _case("a resumption makes the one before it old", "CLI-6", *again)


def _sessions() -> Iterator[Case]:
    pending = (*_PRIMED, _do("call", 3), _do("listen", 4))
    gone = (_follow(1, 5), _see("refused", 5, status=404))
    anew = (_do("initialize", 6), _see("initialized", 6, session="S2"))
    yield _case("404 with everything pending", "CLI-3 CLI-9", *pending, *gone)
    yield _case("after 404 one session, without the old one", "CLI-3", *_LOST, *gone, *anew, _do("call", 7))
    yield _case("after 404 no cursor is kept", "CLI-3", *_LOST, *gone, *anew, _follow(1, 7))
    late = (*pending, *gone, _event(9, 3, stream=3), _see("refused", 4, status=404), _see("reset", 2), _OPEN[1])
    yield _case("after 404 nothing of the old session counts", "CLI-3 CLI-6", *late)
    ended = (_see("reset", 2), _follow(1, 3), _see("refused", 3, status=404))
    yield _case("a session that the server deleted", "CLI-3 CLI-9", *_PRIMED, *ended)
    yield _case("404 for a new call", "CLI-3 CLI-9 CLI-12", *_OPEN, _do("call", 2), _see("refused", 2, status=404))
    yield _case("404 for a listener alone", "CLI-3 CLI-9", *_OPEN, _do("listen", 2), _see("refused", 2, status=404))
    yield _case("leaving with nothing pending", "CLI-9", *_OPEN, _do("leave", 2), _see("deleted", 2))
    yield _case("leaving with everything pending", "CLI-9", *pending, _do("leave", 5), _event(9, 2))
    kept = (_follow(1, 3), _see("refused", 3, status=409), _do("call", 4))
    yield _case("409 keeps the session", "CLI-9", *_LOST, *kept)


def _calls() -> Iterator[Case]:
    cut = (_see("reset", 2), _follow(1, 3))
    yield _case("a call that got no answer is not sent again", "CLI-12 CLI-9", *_OPEN, _do("call", 2), *cut)
    yield _case("a call cut before any cursor is not sent again", "CLI-12 CLI-9", *_CALL, *cut)
    full = (_do("call", 2), _see("refused", 2, status=503), _follow(1, 3))
    yield _case("a call that was refused is not sent again", "CLI-12 CLI-9", *_OPEN, *full)
    whole = (*_PRIMED, _event(3), *cut, _see("stream", 3), _position(3, 3), _event(4, 3), _event(5, 3, final=True))
    yield _case("a call cut once, to its response", "CLI-1 CLI-5 CLI-7", *whole, _see("end", 3))
    again = (_see("reset", 3), _follow(1, 4), _see("stream", 4), _position(4, 4), _event(5, 4, final=True))
    twice = (*whole[:-1], *again, _see("end", 4))
    yield _case("a call cut twice, to its response", "CLI-1 CLI-5 CLI-7", *twice)


CLIENT = Kind("client", ABOUT, cases, answered)
