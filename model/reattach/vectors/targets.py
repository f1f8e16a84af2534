"""What a step of a session may do: each transition, each refusal, each deadline at its boundary.

A target is a name and a condition on one step; ``search`` finds the shortest history that reaches it.
"""

from collections.abc import Callable

from attrs import evolve

from reattach.machine.cursor import Presence
from reattach.machine.decision import Reason, Refuse
from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.session import (
    Greeting,
    Session,
    Stream,
    StreamKind,
    absence_deadline,
    age_deadline,
    find_stream,
    find_viewed,
    is_behind,
    is_occupied,
    is_viewed,
    mark_of,
    stall_deadline,
)
from reattach.machine.step_invariants import Happened
from reattach.machine.transition import (
    Accepted,
    Arrive,
    Cause,
    Depart,
    Disconnect,
    Done,
    Emit,
    Emitted,
    Finish,
    Gone,
    Idle,
    NoView,
    Opened,
    OpenStream,
    Resume,
    Terminate,
    Tick,
    Wait,
    Write,
    WriteEnd,
    WriteEvent,
    WriteGreeting,
    WriteHeartbeat,
    WriteOvertaken,
)
from reattach.vectors.search import Scene, Target

POLICY = Policy(
    window_events=2,
    window_ms=100,
    window_bytes=1_000,
    stall_ms=10,
    absence_ms=50,
    open_streams=3,
    heartbeat_ms=40,
    retry_ms=0,
)
"""Small, and all different, so that nobody passes by taking one number for another."""


def _answers(
    given: type, result: type, more: Callable[[Happened], bool] = lambda _: True
) -> Callable[[Happened], bool]:
    return lambda it: isinstance(it.given, given) and isinstance(it.step.result, result) and more(it)


def _refuses(given: type, reason: Reason, more: Callable[[Happened], bool] = lambda _: True) -> Target:
    return Target(
        f"{_NAMES[given]} is refused, {reason.value.replace('-', ' ')}",
        (_CLAUSES[reason],),
        lambda it: (
            isinstance(it.given, given)
            and isinstance(it.step.result, Refuse)
            and it.step.result.reason is reason
            and more(it)
        ),
    )


_CLAUSES = {
    Reason.CURSOR_MALFORMED: "CUR-2",
    Reason.CURSOR_FOREIGN: "CUR-3",
    Reason.CURSOR_OUT_OF_WINDOW: "CUR-4",
    Reason.CURSOR_AHEAD: "CUR-5",
    Reason.CURSOR_MISMATCH: "CUR-6",
    Reason.STREAMS_EXHAUSTED: "WIN-3",
    Reason.MESSAGE_TOO_LARGE: "WIN-1",
    Reason.STREAM_FINISHED: "DEL-7",
}

_NAMES: dict[type, str] = {Resume: "a resumption", Emit: "an emission", OpenStream: "a call"}

# What the conditions ask


def _cursor(happened: Happened) -> tuple[Stream, int]:
    """The stream that a resumption names, before the step, and the seq."""
    assert isinstance(happened.given, Resume)
    return find_stream(happened.before, happened.given.cursor.stream), happened.given.cursor.seq


def _named(happened: Happened) -> Stream:
    """The stream, before the step, that an emission or an end is for, or whose view a connection carries."""
    given = happened.given
    if isinstance(given, Emit | Finish):
        return find_stream(happened.before, given.stream or happened.before.standalone)
    return find_viewed(happened.before, getattr(given, "connection", 0))


def _unread(stream: Stream) -> bool:
    """Whether there is such a stream, and nobody reads it."""
    return stream.number != 0 and not is_viewed(stream)


def _aim(happened: Happened) -> int:
    """The number of the stream that the input names; 0 if it names none."""
    given = happened.given
    if isinstance(given, Resume):
        return given.cursor.stream
    return given.stream if isinstance(given, Emit | Finish) else 0


def _fresh(happened: Happened) -> bool:
    return isinstance(happened.given, Resume) and happened.given.cursor.presence is Presence.ABSENT


def _holds(session: Session, stream: Stream) -> int:
    return sum(1 for entry in session.window.held if entry.stream == stream.number)


def _granted(name: str, more: Callable[[Stream, int, Happened], bool], *clauses: str) -> Target:
    def reached(happened: Happened) -> bool:
        return not _fresh(happened) and more(*_cursor(happened), happened)

    return Target(name, clauses, _answers(Resume, Opened, reached))


def _opens(name: str, more: Callable[[Happened], bool], *clauses: str) -> Target:
    return Target(name, clauses, _answers(Resume, Opened, lambda it: _fresh(it) and more(it)))


def _passes(name: str, more: Callable[[Happened], bool], *clauses: str) -> Target:
    """A target of time alone."""
    return Target(name, clauses, lambda it: isinstance(it.given, Tick) and more(it))


def _stalls(happened: Happened) -> tuple[int, ...]:
    return tuple(stall_deadline(happened.policy, each) for each in happened.before.streams if is_behind(each))


def _causes(happened: Happened) -> tuple[Cause, ...]:
    return tuple(ending.cause for ending in happened.step.endings)


def _lasts(deadlines: tuple[int, ...]) -> tuple[int, ...]:
    """The last milliseconds before these."""
    return tuple(deadline - 1 for deadline in deadlines)


def _alone(happened: Happened) -> bool:
    """Whether nothing is ended, neither a view nor the session."""
    return happened.after.alive and not happened.step.endings


def _progress(happened: Happened) -> int:
    """How many writes the view has accepted since it last made progress."""
    return find_stream(happened.after, _named(happened).number).view.reads


def _ages(happened: Happened) -> int:
    held = happened.before.window.held
    return age_deadline(happened.policy, held[0].at) if held else -1


def _evicts(happened: Happened) -> bool:
    return happened.after.window.low > happened.before.window.low and bool(happened.before.window.held)


def _absence(happened: Happened) -> int:
    return absence_deadline(happened.policy, happened.before)


def _dead(happened: Happened) -> bool:
    return isinstance(happened.step.result, Gone) and happened.before.alive


# Scenes

_CALL = (OpenStream(1), Disconnect(1))
_READ = (Write(1), Accepted(1))
_E1, _E2 = Emit(1, 1, ""), Emit(2, 1, "")

_RESUMPTIONS = Scene(
    POLICY,
    (*_CALL, _E1, _E2, Finish(2)),
    (
        _refuses(Resume, Reason.CURSOR_MALFORMED),
        _refuses(Resume, Reason.CURSOR_FOREIGN),
        _refuses(Resume, Reason.CURSOR_AHEAD),
        _refuses(Resume, Reason.CURSOR_MISMATCH),
        _refuses(Resume, Reason.CURSOR_OUT_OF_WINDOW, lambda it: _unread(_cursor(it)[0])),
        Target(
            "resumption of a stream never opened",
            ("CUR-4",),
            _answers(Resume, Refuse, lambda it: _cursor(it)[0].number == 0 and _aim(it) > it.before.opened),
        ),
        Target(
            "resumption of a forgotten stream",
            ("CUR-4", "WIN-3"),
            _answers(
                Resume,
                Refuse,
                lambda it: _cursor(it)[0].number == 0 < _aim(it) <= it.before.opened,
            ),
        ),
        Target(
            "a refused resumption takes over nothing",
            ("CUR-10",),
            _answers(Resume, Refuse, lambda it: is_viewed(_cursor(it)[0])),
        ),
        _granted("re-attach at the birth", lambda stream, seq, _: seq == stream.first < stream.last, "CUR-8"),
        _granted(
            "re-attach at the mark after an eviction",
            lambda stream, seq, it: stream.first < seq == mark_of(it.before, stream) < stream.last,
            "CUR-8",
        ),
        _granted(
            "re-attach at a held event",
            lambda stream, seq, it: mark_of(it.before, stream) < seq < stream.last,
            "CUR-7",
        ),
        _granted(
            "re-attach at the last event, which is held",
            lambda stream, seq, it: seq == stream.last and _holds(it.before, stream) > 0,
            "CUR-8",
        ),
        _granted(
            "re-attach at the last event, with nothing held",
            lambda stream, seq, it: stream.first < seq == stream.last and _holds(it.before, stream) == 0,
            "CUR-8",
        ),
        _granted(
            "re-attach takes over from a view that is open",
            lambda stream, _, it: is_viewed(stream) and stream.view.connection != 2,
            "ATT-2",
        ),
        _granted("re-attach to a finished stream", lambda stream, _, __: stream.finished, "DEL-9"),
        _granted(
            "re-attach to the standalone stream before anyone listened",
            lambda stream, _, it: stream.kind is StreamKind.STANDALONE and not it.before.listened,
            "CUR-7",
        ),
    ),
    cursors=True,
    streams=2,
)

_LISTENERS = Scene(
    evolve(POLICY, open_streams=2),
    (*_CALL, Disconnect(2), _E1, Emit(0, 1, "")),
    (
        _opens("the first listener", lambda it: not it.before.listened, "EVT-3"),
        _opens(
            "the first listener is owed what came before it",
            lambda it: not it.before.listened and it.before.window.count == 1,
            "CUR-1",
        ),
        _opens(
            "the first listener is owed what has not left",
            lambda it: not it.before.listened and it.before.window.count == 3,
            "CUR-1",
        ),
        _opens(
            "a second listener while nobody listens",
            lambda it: it.before.listened and not is_occupied(it.before),
            "CUR-1",
        ),
        _opens(
            "a second listener while the first listens",
            lambda it: it.before.listened and is_viewed(find_stream(it.before, 1)),
            "CUR-1",
        ),
        Target(
            "an emission for nobody in particular after a second listener",
            ("DEL-4",),
            _answers(
                Emit,
                Emitted,
                lambda it: _aim(it) == 0 and it.before.standalone == 2,
            ),
        ),
        Target(
            "a listener refused since the first still listens and a call is open",
            ("WIN-3",),
            _answers(Resume, Refuse, _fresh),
        ),
        _refuses(OpenStream, Reason.STREAMS_EXHAUSTED),
        Target("a call opens a stream", ("EVT-2",), _answers(OpenStream, Opened)),
    ),
    cursors=True,
    events=3,
    streams=3,
)

_EMISSIONS = Scene(
    POLICY,
    (*_CALL, _E1, _E2, Finish(1), Finish(2)),
    (
        Target(
            "an emission with nobody attached",
            ("DEL-2",),
            _answers(Emit, Emitted, lambda it: not is_viewed(_named(it))),
        ),
        Target("an emission puts a view behind", ("IDL-1",), _answers(Emit, Emitted, lambda it: is_viewed(_named(it)))),
        Target(
            "the emitter waits for its own reader",
            ("WIN-6",),
            _answers(Emit, Wait),
        ),
        Target(
            "the emitter does not wait for the reader of another stream",
            ("IDL-6", "WIN-5"),
            _answers(
                Emit,
                Emitted,
                lambda it: _evicts(it) and _named(it).number == 1 and is_viewed(find_stream(it.before, 2)),
            ),
        ),
        Target(
            "an emission evicts by count",
            ("WIN-1", "WIN-5"),
            _answers(Emit, Emitted, lambda it: _evicts(it) and not is_viewed(find_stream(it.before, 2))),
        ),
        Target(
            "an eviction forgets a finished stream",
            ("WIN-3",),
            _answers(Emit, Emitted, lambda it: len(it.after.streams) < len(it.before.streams)),
        ),
        _refuses(Emit, Reason.STREAM_FINISHED, lambda it: _named(it).number != 0),
        Target(
            "an emission on a stream never opened",
            ("DEL-7",),
            _answers(Emit, Refuse, lambda it: _named(it).number == 0),
        ),
        Target(
            "a finished stream is forgotten at once",
            ("WIN-3",),
            _answers(Finish, Done, lambda it: len(it.after.streams) == 1),
        ),
        Target(
            "a finished stream is remembered while it is read",
            ("WIN-3",),
            _answers(Finish, Done, lambda it: is_viewed(_named(it))),
        ),
        Target(
            "a finished stream is remembered while it is held",
            ("WIN-3",),
            _answers(Finish, Done, lambda it: not is_viewed(_named(it)) and len(it.after.streams) == 2),
        ),
        Target(
            "the standalone stream is not finished by its emitter",
            ("DEL-7",),
            _answers(Finish, Refuse, lambda it: _named(it).number == 1),
        ),
        Target("a stream finishes once", ("DEL-7",), _answers(Finish, Refuse, lambda it: _named(it).number == 2)),
        Target(
            "a stream never opened does not finish",
            ("DEL-7",),
            _answers(Finish, Refuse, lambda it: _named(it).number == 0),
        ),
        Target(
            "a finished stream does not count against the limit",
            ("WIN-3",),
            _answers(OpenStream, Opened, lambda it: any(each.finished for each in it.before.streams)),
        ),
    ),
    streams=3,
)

_BYTES = Scene(
    evolve(POLICY, window_bytes=10),
    (OpenStream(1), *(Emit(2, size, "") for size in (1, 9, 10, 11))),
    (
        Target("a message of exactly B", ("WIN-1",), _answers(Emit, Emitted, lambda it: it.after.window.size == 10)),
        _refuses(Emit, Reason.MESSAGE_TOO_LARGE),
        Target(
            "a message of more than B, with others held",
            ("WIN-1", "WIN-5"),
            _answers(Emit, Refuse, lambda it: bool(it.before.window.held)),
        ),
        Target(
            "the emitter waits for its own reader, for want of bytes",
            ("WIN-6",),
            _answers(Emit, Wait, lambda it: it.before.window.count == 1),
        ),
    ),
    events=2,
    streams=2,
)

_WRITES = Scene(
    POLICY,
    (*_CALL, *_READ, _E2, Finish(2)),
    (
        Target("a write on a connection without a view", ("ATT-4",), _answers(Write, NoView)),
        Target(
            "nothing was written to be accepted",
            ("IDL-2",),
            _answers(Accepted, NoView, lambda it: bool(_named(it).number)),
        ),
        Target("accepted without a view", ("ATT-4",), _answers(Accepted, NoView, lambda it: not _named(it).number)),
        Target("priming is written", ("EVT-3",), _answers(Write, WriteGreeting)),
        Target("one write at a time", ("IDL-2",), _answers(Write, Idle, lambda it: _named(it).view.outstanding)),
        Target("nothing to write", ("DEL-8",), _answers(Write, Idle, lambda it: not _named(it).view.outstanding)),
        Target("a write is accepted", ("IDL-1",), _answers(Accepted, Done)),
        Target("an event is written", ("DEL-1", "DEL-2"), _answers(Write, WriteEvent)),
        Target(
            "the end is written after the last event",
            ("DEL-7",),
            _answers(Write, WriteEnd, lambda it: bool(it.before.window.count)),
        ),
        Target("the end is written of a stream without events", ("DEL-7",), _answers(Write, WriteEnd)),
        Target("a connection goes", ("ATT-4",), _answers(Disconnect, Done)),
        Target("a connection goes that carried no view", ("ATT-4",), _answers(Disconnect, NoView)),
    ),
    events=1,
    streams=2,
)

_OVERTAKING = Scene(
    POLICY,
    (OpenStream(1), *_READ, _E1, _E2),
    (
        Target(
            "overtaken with nothing held",
            ("IDL-3",),
            _answers(Write, WriteOvertaken, lambda it: _holds(it.before, _named(it)) == 0),
        ),
        Target(
            "overtaken with a later event held",
            ("IDL-3",),
            _answers(Write, WriteOvertaken, lambda it: _holds(it.before, _named(it)) > 0),
        ),
    ),
    streams=2,
)

_POSITIONS = Scene(
    POLICY,
    (*_CALL, Write(2), Accepted(2), _E2, Finish(2)),
    (
        Target(
            "the position is stated",
            ("ATT-1",),
            _answers(Write, WriteGreeting, lambda it: _named(it).view.greeting is Greeting.POSITION),
        ),
        Target(
            "the next event after a re-attachment is written",
            ("DEL-2",),
            _answers(Write, WriteEvent, lambda it: _named(it).view.position == 3),
        ),
        Target(
            "a re-attached view of a finished stream is ended",
            ("DEL-9",),
            _answers(Write, WriteEnd, lambda it: _named(it).last > _named(it).first),
        ),
        Target(
            "a view that was taken over gets nothing more",
            ("ATT-2",),
            _answers(Write, NoView, lambda it: is_viewed(find_stream(it.before, 2))),
        ),
    ),
    cursors=True,
    events=2,
    streams=2,
)

_AGEING = Scene(
    POLICY,
    (OpenStream(1), Disconnect(1), Arrive(), _E1, _E2, Finish(2)),
    (
        _passes(
            "an event stays until its last millisecond", lambda it: it.now == _ages(it) - 1 and it.after.alive, "WIN-2"
        ),
        _passes("an event leaves after its last millisecond", lambda it: it.now == _ages(it) and _evicts(it), "WIN-2"),
        _passes(
            "age forgets a finished stream",
            lambda it: it.now == _ages(it) and len(it.before.streams) == 2 and len(it.after.streams) == 1,
            "WIN-3",
        ),
    ),
    time=True,
    events=1,
    streams=2,
)

_TWO_CALLS = (OpenStream(1), OpenStream(2))

_STALLING = Scene(
    POLICY,
    (*_TWO_CALLS, *_READ, Disconnect(1), Terminate()),
    (
        _passes(
            "a view is not ended in its last millisecond",
            lambda it: it.now in _lasts(_stalls(it)) and _alone(it),
            "IDL-1",
        ),
        _passes(
            "a view is ended after its last millisecond",
            lambda it: it.now in _stalls(it) and _causes(it) == (Cause.STALLED,),
            "IDL-1",
        ),
        _passes("two views are ended at once", lambda it: _causes(it) == (Cause.STALLED, Cause.STALLED), "IDL-1"),
        _passes(
            "a view that is not behind is not ended",
            lambda it: it.now - it.before.now > POLICY.stall_ms and _alone(it) and is_viewed(it.after.streams[-1]),
            "IDL-1",
        ),
        _passes(
            "another's view is not ended",
            lambda it: it.now in _stalls(it) and sum(map(is_viewed, it.after.streams)) == 1,
            "IDL-6",
        ),
        Target(
            "terminated with nothing attached", ("WIN-4",), _answers(Terminate, Done, lambda it: not it.step.endings)
        ),
        Target("terminated with a view", ("WIN-4",), _answers(Terminate, Done, lambda it: len(it.step.endings) == 1)),
        Target(
            "terminated with two views", ("WIN-4",), _answers(Terminate, Done, lambda it: len(it.step.endings) == 2)
        ),
        Target("a call after the session is over", ("SES-4",), _answers(OpenStream, Gone)),
    ),
    time=True,
    streams=3,
)

_RATE = Scene(
    evolve(POLICY, stall_reads=2),
    (OpenStream(1), *_READ, _E2),
    (
        Target(
            "one accepted write of two is no progress",
            ("IDL-1",),
            _answers(Accepted, Done, lambda it: it.now > 0 and _progress(it) == 1),
        ),
        Target(
            "the second accepted write of two is progress",
            ("IDL-1",),
            _answers(Accepted, Done, lambda it: it.now > 0 and _progress(it) == 0),
        ),
        _passes(
            "a view that read too little is ended",
            lambda it: _causes(it) == (Cause.STALLED,) and it.before.streams[-1].view.reads == 1,
            "IDL-1",
        ),
    ),
    time=True,
    events=1,
    streams=2,
)

_HEARTBEATS = Scene(
    POLICY,
    (OpenStream(1), *_READ),
    (
        Target(
            "no heartbeat one millisecond early",
            ("ATT-3",),
            _answers(Write, Idle, lambda it: it.now == _named(it).view.wrote + POLICY.heartbeat_ms - 1),
        ),
        Target("a heartbeat when it is due", ("ATT-3",), _answers(Write, WriteHeartbeat)),
        _passes(
            "a view that does not take the heartbeat is ended",
            lambda it: _causes(it) == (Cause.STALLED,) and it.now > POLICY.heartbeat_ms,
            "ATT-3",
        ),
    ),
    time=True,
    streams=2,
)

_ABSENCE = Scene(
    POLICY,
    (*_CALL, Arrive(), Depart(), Finish(2), Disconnect(1)),
    (
        _passes("absent until the last millisecond", lambda it: it.now == _absence(it) - 1 and it.after.alive, "IDL-4"),
        _passes("absent after the last millisecond", lambda it: it.now == _absence(it) and _dead(it), "IDL-4"),
        _passes("absent for long, whoever looks", lambda it: it.now > _absence(it) and _dead(it), "IDL-4"),
        Target("a request arrives", ("IDL-4",), _answers(Arrive, Done)),
        Target("a request is answered", ("IDL-4",), _answers(Depart, Done, lambda it: it.before.requests == 1)),
        Target("an answer to no request", ("IDL-4",), _answers(Depart, Done, lambda it: it.before.requests == 0)),
        _passes(
            "a request in progress keeps the session",
            lambda it: it.now >= _absence(it) and it.before.requests > 0 and it.after.alive,
            "IDL-4",
        ),
        _passes(
            "an unfinished call keeps the session",
            lambda it: (
                it.now >= _absence(it) and len(it.before.streams) == 2 and it.before.requests == 0 and _alone(it)
            ),
            "IDL-4",
        ),
        _passes(
            "absence counts from the moment at which a view stalled",
            lambda it: _dead(it) and _causes(it) == (Cause.STALLED,),
            "IDL-4",
        ),
    ),
    time=True,
    streams=2,
)

_REPLAY = Scene(
    POLICY,
    (*_CALL, Write(2), Accepted(2), _E2, _E1),
    (
        Target(
            "a replay begins at the birth",
            ("MOD-3",),
            _answers(Resume, Opened, lambda it: not _fresh(it) and _cursor(it)[1] > _cursor(it)[0].first),
        ),
        Target(
            "a replay is refused once its beginning has left",
            ("MOD-3",),
            _answers(Resume, Refuse, lambda it: _cursor(it)[0].number == 2),
        ),
        Target("a replay states no position", ("MOD-3",), _answers(Write, WriteEvent)),
    ),
    cursors=True,
    streams=2,
    mode=Mode.REPLAY,
)

_REFUSAL = Scene(
    POLICY,
    (OpenStream(1),),
    (Target("nothing can be resumed", ("MOD-3",), _answers(Resume, Refuse, lambda it: _cursor(it)[0].number == 2)),),
    cursors=True,
    streams=2,
    mode=Mode.REFUSE,
)

SCENES = (
    _RESUMPTIONS,
    _LISTENERS,
    _EMISSIONS,
    _BYTES,
    _WRITES,
    _OVERTAKING,
    _POSITIONS,
    _AGEING,
    _STALLING,
    _RATE,
    _HEARTBEATS,
    _ABSENCE,
    _REPLAY,
    _REFUSAL,
)
