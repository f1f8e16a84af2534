"""Vectors of the window: what is emitted, how big and when; then what is held (spec/06-window.md)."""

from collections.abc import Iterator

from reattach.machine.decision import Refuse
from reattach.machine.policy import Policy
from reattach.machine.session import Session, mark_of
from reattach.machine.transition import (
    Disconnect,
    Emit,
    Emitted,
    Finish,
    Opened,
    OpenStream,
    Result,
    Tick,
    open_session,
    step,
)
from reattach.machine.window import suffix
from reattach.vectors.plain import refusal_to_plain
from reattach.vectors.vector import EXPECT, Case, Kind, Plain

ABOUT = """\
# Vectors of the window

What a session holds after messages of given sizes were emitted at given times, with nobody reading
([chapter 6](../../06-window.md)). The session is opened at time 0 with stream 1, whose birth is seq 1; it does not end.

| field | meaning |
|---|---|
| `policy` | `window_events` N, `window_bytes` B, `window_ms` T |
| `steps` | in order; `at` is the time in milliseconds |
| `do: open` | a call opens a stream; `expect.stream`, and `expect.seq`, its birth |
| `do: emit` | a message of `size` bytes for `stream`; `expect.seq`, or `expect.reason` and `.status` |
| `do: finish` | the stream will carry nothing more; refused for stream 1 |
| `do: wait` | only time passes |
| `….expect.low`, `.next` | after the step: the window is the seqs from `low` up to, not including, `next` |
| `expect.evicted` | at the end: the seqs of the events that have left, oldest first |
| `expect.streams` | at the end: of each stream that is not forgotten the `mark`, and the `held` seqs after it |
"""


def cases() -> tuple[Case, ...]:
    """Each limit at, below and above its boundary; which of two decides; what counts and what does not."""
    return (*_by_count(), *_by_bytes(), *_by_age(), *_by_two(), *_streams())


def answered(question: Plain) -> Plain:
    """The window of the machine after each step, and at the end."""
    policy = Policy(**question["policy"], absence_ms=max(each["at"] for each in question["steps"]) + 1)
    session, emitted, steps = open_session("", "", 0), set[int](), []
    for each in question["steps"]:
        session, result = _done(policy, session, each)
        if isinstance(result, Emitted):
            emitted.add(result.seq)
        window = session.window
        steps.append({**each, EXPECT: {**_said(policy, result), "low": window.low, "next": window.next}})
    held = {entry.seq for entry in session.window.held}
    streams = {}
    for stream in session.streams:
        mark = mark_of(session, stream)
        after = [entry.seq for entry in suffix(session.window, stream.number, mark)]
        streams[str(stream.number)] = {"mark": mark, "held": after}
    return {**question, "steps": steps, EXPECT: {"evicted": sorted(emitted - held), "streams": streams}}


def _done(policy: Policy, session: Session, each: Plain) -> tuple[Session, Result]:
    at = each["at"]
    match each["do"]:
        case "open":
            opened = step(policy, session, at, OpenStream(1))
            return step(policy, opened.session, at, Disconnect(1)).session, opened.result
        case "emit":
            taken = step(policy, session, at, Emit(each["stream"], each["size"], None))
        case "finish":
            taken = step(policy, session, at, Finish(each["stream"]))
        case _:
            taken = step(policy, session, at, Tick())
    return taken.session, taken.result


def _said(policy: Policy, result: Result) -> Plain:
    match result:
        case Refuse():
            return refusal_to_plain(policy, result)
        case Emitted(_, seq):
            return {"seq": seq}
        case Opened(stream, seq):
            return {"stream": stream, "seq": seq}
    return {}


def _emit(stream: int = 1, size: int = 1, at: int = 0) -> Plain:
    return {"at": at, "do": "emit", "stream": stream, "size": size}


def _wait(at: int) -> Plain:
    return {"at": at, "do": "wait"}


def _finish(stream: int, at: int = 0) -> Plain:
    return {"at": at, "do": "finish", "stream": stream}


_OPEN: Plain = {"at": 0, "do": "open"}
_NEAR = {-1: "one below", 0: "at", 1: "one above"}
N, B, T = 3, 10, 100


def _case(name: str, clause: str, *steps: Plain) -> Case:
    question = {"policy": {"window_events": N, "window_bytes": B, "window_ms": T}, "steps": list(steps)}
    return Case(name.replace(" ", "-").lower(), f"{name[0].upper()}{name[1:]}.", (clause,), question)


def _by_count() -> Iterator[Case]:
    for off, near in _NEAR.items():
        yield _case(f"count {near} N", "WIN-1", *[_emit()] * (N + off))
        turns = [_emit(1 + place % 2) for place in range(N + off)]
        yield _case(f"count {near} N in two streams", "WIN-1", _OPEN, *turns)
    yield _case("count twice N", "WIN-5", *[_emit()] * (2 * N))
    yield _case("births do not count", "WIN-1", _emit(), _OPEN, _OPEN, _emit(2), _OPEN, _emit(3))


def _by_bytes() -> Iterator[Case]:
    for off, near in _NEAR.items():
        yield _case(f"one message of a size {near} B", "WIN-1", _emit(size=B + off))
        yield _case(f"two messages together {near} B", "WIN-1", _emit(size=4), _emit(size=B - 4 + off))
        yield _case(f"two streams together {near} B", "WIN-1", _OPEN, _emit(1, 4), _emit(2, B - 4 + off))
        three = (_emit(size=3), _emit(size=3), _emit(size=B - 6 + off))
        yield _case(f"three messages together {near} B", "WIN-1", *three)
    yield _case("a message of no size beside one of B", "WIN-1", _emit(size=B), _emit(size=0))
    yield _case("a message of B pushes out all others", "WIN-5", _emit(size=1), _emit(size=2), _emit(size=B))
    yield _case("a message that is too large pushes out nothing", "WIN-5", _emit(size=B), _emit(size=B + 1))
    yield _case("no more leaves than must", "WIN-5", _emit(size=2), _emit(size=4), _emit(size=4), _emit(size=2))


def _by_age() -> Iterator[Case]:
    for off, near in _NEAR.items():
        yield _case(f"age {near} T", "WIN-2", _emit(), _wait(T + off))
        yield _case(f"age {near} T as the next is emitted", "WIN-2", _emit(), _emit(at=T + off))
        yield _case(f"age of the second {near} T", "WIN-2", _emit(at=1), _emit(at=2), _wait(2 + T + off))
        yield _case(f"age {near} T in two streams", "WIN-2", _OPEN, _emit(2), _emit(1, at=1), _wait(1 + T + off))
    yield _case("two of one millisecond leave together", "WIN-2", _emit(), _emit(), _wait(T + 1))
    yield _case("a birth does not age", "WIN-2", _OPEN, _wait(T + 1))


def _by_two() -> Iterator[Case]:
    old = (_emit(), _emit(at=1))
    yield _case("age demands more than count", "WIN-5", *old, _emit(at=2), _emit(at=T + 2))
    yield _case("count demands more than age", "WIN-5", *old, _emit(at=2), _emit(at=T), _emit(at=T + 1))
    yield _case("bytes demand more than count", "WIN-5", *[_emit(size=3)] * N, _emit(size=5))
    yield _case("count demands more than bytes", "WIN-5", *[_emit(size=1)] * (N + 2))
    yield _case("age demands more than bytes", "WIN-5", _emit(size=4), _emit(size=4, at=1), _emit(size=5, at=T + 2))
    yield _case("bytes demand more than age", "WIN-5", _emit(size=4), _emit(size=4, at=2), _emit(size=9, at=T + 1))


def _streams() -> Iterator[Case]:
    yield _case("a new session", "WIN-5", _wait(0))
    yield _case("a birth before any event", "CUR-8", _OPEN)
    yield _case("a birth between events", "CUR-8", _emit(), _OPEN, _emit(), _emit(2))
    yield _case("a birth after all has left", "CUR-8", _emit(), _wait(T + 1), _OPEN, _emit(2, at=T + 1))
    yield _case("one stream pushes out another", "CUR-8", _OPEN, _emit(2), _emit(2), *[_emit(1)] * N)
    yield _case("the mark of one stream moves and of another does not", "CUR-8", _OPEN, *map(_emit, (2, 1, 1, 1)))
    yield _case("finished with nothing ever held is forgotten", "WIN-3", _OPEN, _finish(2))
    yield _case("finished and held is remembered", "WIN-3", _OPEN, _emit(2), _finish(2))
    yield _case("finished is forgotten with its last event", "WIN-3", _OPEN, _emit(2), _finish(2), *[_emit(1)] * N)
    yield _case("finished before its last event leaves", "WIN-3", _OPEN, _emit(2), _finish(2), *[_emit(1)] * (N - 1))
    yield _case("nothing is emitted on a finished stream", "WIN-3", _OPEN, _emit(2), _finish(2), _emit(2))
    yield _case("nothing is emitted on a stream never opened", "WIN-3", _emit(2))
    yield _case("the standalone stream does not finish", "WIN-3", _finish(1))


WINDOW = Kind("window", ABOUT, cases, answered)
