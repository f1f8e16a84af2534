"""Recordings drawn from the machine, as it is and with one mistake in it: short plays in virtual time.

The plays are those of clients of the virtual deployment (``tests/oracle/world.py``); drawn again, a recording is the
same to the byte. What is left out of one afterwards is left out as a poorer recorder would have.
"""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial

from attrs import define, evolve
from tests.oracle.world import CAPACITY, SIZE, Call, Connection, World

from reattach.io.redact import make_redactor
from reattach.io.trace import Entry, TraceHeader, trace_lines
from reattach.machine.policy import SHORT, Policy
from reattach.mutation import swap
from reattach.mutation.machine import MACHINE, MISTAKES
from reattach.oracle.declaration import NOTHING_DECLARED, declaration_of
from reattach.oracle.observation import Body, Expect, Frame, Observation, Quiet, Request, Settled

Play = Callable[[World], None]

POLICIES = {
    "short": SHORT,
    "three events": evolve(SHORT, window_events=3),
    "one event": evolve(SHORT, window_events=1),
    "two messages' bytes": evolve(SHORT, window_bytes=2 * SIZE),
    "half a second": evolve(SHORT, window_ms=500),
    "patient": evolve(SHORT, stall_ms=2_900),
    "forty events": evolve(SHORT, window_events=40),
    "default": Policy(),
}
"""By name in the manifest."""


@define(eq=False)
class Recorded(World):
    """A deployment that is not judged while it is played: what judges it must not run with its mistake."""

    def tell(self, observation: Observation) -> None:
        """What a client sees."""
        self.observations.append(observation)


def _call(world: World, session: str, count: int, emitted: int = 0, pace_ms: int | None = None) -> Call:
    call = world.call(session, count, pace_ms)
    assert call is not None
    for _ in range(emitted):
        world.emit(call)
    world.read_all(call.post)
    return call


def _look(world: World, session: str, *cursors: str) -> Connection:
    """A GET, read until nothing comes any more, and cut."""
    view = world.get(session, *cursors)
    world.read_all(view)
    world.quiet(view)
    world.cut(view)
    return view


def _follow(world: World, call: Call) -> None:
    """Read a call to its end, resuming once more if a view of it ends without the response."""
    for again in (False, True):
        if again and not call.answered:
            call.chain.append(world.get(call.session, call.ids[-1]))
        last = call.chain[-1]
        world.read_on(last)
        world.finish(call.session)
        world.read_all(last)
        world.quiet(last)
        world.cut(last)
    world.tell(Settled(at=world.now, connection=call.post.number, last=call.chain[-1].number))


def cut_once(world: World) -> None:
    """A call of four messages, cut after two; two more come before it is resumed, and it is followed to its end."""
    session = world.session()
    call = _call(world, session, 4, 2)
    world.cut(call.post)
    for _ in range(2):
        world.emit(call)
    call.chain.append(world.get(session, call.ids[-1]))
    world.read_all(call.chain[-1])
    _follow(world, call)
    world.delete(session)


def cut_twice(world: World) -> None:
    """Cut after priming and again after three messages; the second cut is noticed late."""
    session = world.session()
    call = _call(world, session, 6)
    world.cut(call.post)
    for _ in range(3):
        world.emit(call)
    call.chain.append(world.get(session, call.ids[-1]))
    world.read_all(call.chain[-1])
    world.cut(call.chain[-1], noticed=False)
    world.emit(call)
    call.chain.append(world.get(session, call.ids[-1]))
    _follow(world, call)
    world.delete(session)


def cut_at_the_greeting(world: World) -> None:
    """Resumed, and cut again when no more has come than the stated position."""
    session = world.session()
    call = _call(world, session, 4, 1)
    world.cut(call.post)
    for _ in range(2):
        world.emit(call)
    call.chain.append(world.get(session, call.ids[-1]))
    while not call.chain[-1].ids:
        world.read(call.chain[-1])
    world.cut(call.chain[-1])
    call.chain.append(world.get(session, call.ids[-1]))
    _follow(world, call)
    world.delete(session)


def finished(world: World) -> None:
    """A finished call, resumed from each of its ids, the newest included."""
    session = world.session()
    call = _call(world, session, 2)
    _follow(world, call)
    for cursor in call.ids:
        _look(world, session, cursor)
    world.delete(session)


def two_calls(world: World) -> None:
    """Two calls whose messages alternate, both cut and resumed."""
    session = world.session()
    calls = [_call(world, session, 3), _call(world, session, 3)]
    for _ in range(2):
        for call in calls:
            world.emit(call)
            world.read_all(call.post)
    for call in calls:
        world.cut(call.post)
        call.chain.append(world.get(session, call.ids[-1]))
    for call in calls:
        _follow(world, call)
    world.delete(session)


def taken_over(world: World) -> None:
    """A call resumed beside its old connection, which the client goes on reading."""
    session = world.session()
    call = _call(world, session, 5, 2)
    call.chain.append(world.get(session, call.ids[-1]))
    world.tick(1_200)
    for _ in range(2):
        world.emit(call)
        world.read_all(call.chain[-1])
        world.read_all(call.post)
    world.quiet(call.chain[-1])
    _follow(world, call)
    world.read_all(call.post)
    world.cut(call.post)
    world.delete(session)


def beside_a_listener(world: World) -> None:
    """A call that is answered while the standalone stream is read."""
    session = world.session()
    listener = world.get(session)
    call = _call(world, session, 2)
    _follow(world, call)
    world.push(session)
    world.quiet(listener)
    world.cut(listener)
    world.delete(session)


def two_listeners(world: World) -> None:
    """A listener that is cut, and one that comes later without a cursor."""
    session = world.session()
    first = world.get(session)
    world.push(session)
    world.read_all(first)
    world.cut(first)
    second = world.get(session)
    world.push(session)
    world.quiet(second)
    world.cut(second)
    world.delete(session)


def bad_cursor(world: World, which: str) -> None:
    """Three calls to their end, a bad cursor, and a look at whether the session has survived it."""
    session, other = world.session(), world.session()
    call, second, foreign = _call(world, session, 3), _call(world, session, 1), _call(world, other, 2)
    for one in (call, second, foreign):
        _follow(world, one)
    tag, own = world.tags[session], call.ids[-1].rpartition(".")[0]
    cursors = {
        "malformed": f"{own}.+4",
        "ahead": f"{own}.99",
        "another call's seq": f"{own}.{second.ids[-1].rpartition('.')[2]}",
        "an unknown stream": f"{tag}.9.1",
        "another session's": foreign.ids[-1],
    }
    _look(world, session, cursors[which])
    world.ping(session)
    world.delete(session)
    world.delete(other)


def full(world: World) -> None:
    """A call of five messages, resumed from each of its ids, the oldest first."""
    session = world.session()
    call = _call(world, session, 5)
    _follow(world, call)
    for cursor in call.ids:
        _look(world, session, cursor)
    world.delete(session)


def flooded(world: World) -> None:
    """A call of twenty messages, more than the short policy's window; resumed at either side of its mark."""
    session = world.session()
    call = _call(world, session, 20)
    _follow(world, call)
    for cursor in (call.ids[-18], call.ids[-17], call.ids[-16]):
        _look(world, session, cursor)
    world.delete(session)


def aged(world: World) -> None:
    """A finished call, resumed from before its last message when that is fresh, and when it is too old."""
    session = world.session()
    call = _call(world, session, 2)
    _follow(world, call)
    _look(world, session, call.ids[-3])
    world.tick(world.declared.window_ms + 1_000)
    _look(world, session, call.ids[-3])
    _look(world, session, call.ids[-1])
    world.delete(session)


def stalled(world: World) -> None:
    """A reader that stops for longer than it may, and comes back."""
    session = world.session()
    call = _call(world, session, 12, 2, pace_ms=0)
    world.pause(call.post)
    for _ in range(10):
        world.emit(call)
    world.tick(2_500)
    world.read_on(call.post)
    world.quiet(call.post)
    _follow(world, call)
    world.delete(session)


def slow_beside_another(world: World) -> None:
    """A reader that stops for a while, and another call of the session, which has nothing to do with it."""
    session = world.session()
    slow = _call(world, session, 12, 2, pace_ms=0)
    world.pause(slow.post)
    for _ in range(10):
        world.emit(slow)
    other = _call(world, session, 3)
    for _ in range(4):
        world.emit(other)
    world.read_all(other.post)
    if not other.answered:
        world.quiet(other.post)
    world.read_on(slow.post)
    for call in (slow, other):
        _follow(world, call)
    world.delete(session)


def overtaken(world: World) -> None:
    """A reader that stops, and another call that fills the window meanwhile."""
    session = world.session()
    slow = _call(world, session, 12, 2, pace_ms=0)
    world.pause(slow.post)
    for _ in range(7):
        world.emit(slow)
    other = _call(world, session, world.declared.window_events + 1)
    _follow(world, other)
    world.read_on(slow.post)
    world.read_all(slow.post)
    _follow(world, slow)
    world.delete(session)


def absent(world: World) -> None:
    """Nothing is open, and the client comes back after half its budget, and after all of it."""
    session = world.session()
    call = _call(world, session, 1)
    _follow(world, call)
    world.tick(world.declared.absence_ms // 2)
    world.ping(session)
    world.tick(world.declared.absence_ms + 1_500)
    world.ping(session)


def busy(world: World) -> None:
    """A call that says nothing for longer than the absence budget, while it is read."""
    session = world.session()
    call = _call(world, session, 2, 1)
    world.tick(world.declared.absence_ms + 1_500)
    world.read_all(call.post)
    world.ping(session)
    _follow(world, call)
    world.delete(session)


def deleted(world: World) -> None:
    """DELETE in the middle of a call; then the session and its cursors are tried again."""
    session = world.session()
    call = _call(world, session, 4, 2)
    world.delete(session)
    world.read_all(call.post)
    world.quiet(call.post)
    world.cut(call.post)
    world.ping(session)
    _look(world, session, call.ids[-1])


def idle(world: World) -> None:
    """A session is opened and deleted, and nothing happens in it."""
    world.delete(world.session())


_BAD = ("malformed", "ahead", "another call's seq", "an unknown stream", "another session's")

PLAYS: dict[str, Play] = {
    "cut once": cut_once,
    "cut twice": cut_twice,
    "cut at the greeting": cut_at_the_greeting,
    "finished": finished,
    "two calls": two_calls,
    "taken over": taken_over,
    "beside a listener": beside_a_listener,
    "two listeners": two_listeners,
    "full": full,
    "flooded": flooded,
    "aged": aged,
    "stalled": stalled,
    "overtaken": overtaken,
    "slow beside another": slow_beside_another,
    "absent": absent,
    "busy": busy,
    "deleted": deleted,
    "idle": idle,
    **{f"bad cursor: {which}": partial(bad_cursor, which=which) for which in _BAD},
}
"""By name in the manifest."""

LEFT_OUT: dict[str, Callable[[Observation], Observation | None]] = {
    "payload": lambda seen: evolve(seen, payload=None) if isinstance(seen, Frame | Body | Request) else seen,
    "expect": lambda seen: None if isinstance(seen, Expect) else seen,
    "settled": lambda seen: None if isinstance(seen, Settled) else seen,
    "quiet": lambda seen: None if isinstance(seen, Quiet) else seen,
}
"""What a recorder may leave out everywhere (spec/13-recordings.md)."""


def draw(
    play: str,
    *,
    policy: str = "short",
    runs_by: str = "",
    mistake: str = "",
    fault: str = "",
    seed: int = 1,
    declares: bool = True,
    complete: bool = True,
    without: Iterable[str] = (),
    until: int | None = None,
) -> list[str]:
    """The lines of a recording.

    ``policy`` is what the server declares, ``runs_by`` what it runs by, if that is another. ``mistake`` is one of the
    machine (``reattach.mutation``), ``fault`` one of the deployment around it.
    """
    world = Recorded(seed, frozenset({fault} - {""}), policy=POLICIES[runs_by or policy], declared=POLICIES[policy])
    with ExitStack() as stack:
        if mistake:
            wrong = MISTAKES[mistake]
            function = swap.function_at(f"{MACHINE}.{wrong.function}")
            stack.enter_context(swap.swapped(function, swap.edited(function, (wrong.old, wrong.new))))
        PLAYS[play](world)
    declaration = declaration_of(POLICIES[policy], takeover=True, transport_buffer_bytes=CAPACITY * SIZE)
    header = TraceHeader(
        server="reattach machine",
        revision="2025-11-25",
        seed=seed,
        declaration=declaration if declares else NOTHING_DECLARED,
        complete=complete,
    )
    kept = leave_out(map(Entry, world.observations), without)[:until]
    return list(trace_lines(header, kept, make_redactor((entry.observation for entry in kept), exact=True)))


def leave_out(entries: Iterable[Entry], without: Iterable[str]) -> list[Entry]:
    """The entries as a recorder would have written them that leaves these things out."""
    kept: list[Entry] = []
    for entry in entries:
        seen: Observation | None = entry.observation
        for name in without:
            seen = seen if seen is None else LEFT_OUT[name](seen)
        if seen is not None:
            kept.append(evolve(entry, observation=seen))
    return kept
