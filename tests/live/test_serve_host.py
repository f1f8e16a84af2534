"""The host without HTTP and without a real clock: deadlines, waiting, and who is told what."""

from attrs import define, evolve, field
from hypothesis import given
from hypothesis import strategies as st

from reattach.live.server.host import NEVER, Host
from reattach.machine.cursor import ABSENT
from reattach.machine.policy import SHORT, Policy
from reattach.machine.session import Session
from reattach.machine.transition import (
    Accepted,
    Cause,
    Disconnect,
    Emit,
    Emitted,
    Ending,
    Finish,
    Input,
    Opened,
    OpenStream,
    Resume,
    Terminate,
    Tick,
    Wait,
    Write,
    WriteGreeting,
)

POLICY = evolve(SHORT, window_events=2, window_ms=300, stall_ms=100, absence_ms=500, retry_ms=10)


@define
class Recorded:
    """A carrier that notes what it is told."""

    woken: int = 0
    released: bool = False
    endings: list[Ending] = field(factory=list)

    def wake(self) -> None:
        self.woken += 1

    def let_go(self) -> None:
        self.released = True

    def end(self, ending: Ending) -> None:
        self.endings.append(ending)


@define
class Bench:
    """A host with a clock that the test sets."""

    policy: Policy = POLICY
    now: int = 1_000
    closed: list[str] = field(factory=list)
    host: Host = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.host = Host(self.policy, self.closed.append, clock=lambda: self.now)

    def open(self) -> str:
        name = self.host.initialize("")
        assert isinstance(name, str)
        return name

    def view(self, name: str) -> tuple[int, int, Recorded]:
        """A request stream with a view: its number, its connection, its carrier."""
        carrier = Recorded()
        connection = self.host.carry(carrier)
        opened = self.host.take(name, OpenStream(connection))
        assert isinstance(opened, Opened)
        return opened.stream, connection, carrier

    def caught_up(self, name: str) -> tuple[int, int, Recorded]:
        """The same, with its priming written and taken."""
        stream, connection, carrier = self.view(name)
        assert isinstance(self.host.take(name, Write(connection)), WriteGreeting)
        self.host.take(name, Accepted(connection))
        carrier.woken = 0
        return stream, connection, carrier


def test_a_view_is_woken_by_its_own_stream_alone() -> None:
    bench = Bench()
    name = bench.open()
    stream, _, carrier = bench.caught_up(name)
    _, _, other = bench.caught_up(name)
    carrier.woken = 0
    bench.host.take(name, Emit(stream, 1, b"x"))
    assert (carrier.woken, other.woken) == (1, 0)
    bench.host.take(name, Finish(stream))
    assert (carrier.woken, other.woken) == (2, 0)


def test_an_emitter_that_waits_is_called_when_its_reader_moves() -> None:
    bench = Bench()
    name = bench.open()
    stream, connection, _ = bench.caught_up(name)
    for _ in range(POLICY.window_events):
        assert isinstance(bench.host.take(name, Emit(stream, 1, b"x")), Emitted)
    assert isinstance(bench.host.take(name, Emit(stream, 1, b"x")), Wait)
    called: list[int] = []
    bench.host.when_changed(name, stream, lambda: called.append(1))
    bench.host.take(name, Emit(0, 1, b"elsewhere"))  # evicts what the reader is owed: there is nothing to wait for
    assert called == [1]
    called.clear()
    bench.host.when_changed(name, stream, lambda: called.append(1))
    bench.host.take(name, Disconnect(connection))
    assert called == [1]


def test_a_withdrawn_wait_is_not_called() -> None:
    bench = Bench()
    name = bench.open()
    stream, connection, _ = bench.caught_up(name)
    called: list[int] = []

    def callback() -> None:
        called.append(1)

    bench.host.when_changed(name, stream, callback)
    bench.host.forget(name, callback)
    bench.host.take(name, Disconnect(connection))
    assert called == []


def test_termination_ends_views_calls_waiters_and_says_so_once() -> None:
    bench = Bench()
    name = bench.open()
    stream, connection, carrier = bench.view(name)
    called: list[int] = []
    bench.host.when_changed(name, stream, lambda: called.append(1))
    bench.host.take(name, Terminate())
    bench.host.take(name, Terminate())
    [ending] = carrier.endings
    assert (ending.connection, ending.cause) == (connection, Cause.TERMINATED)
    assert (called, bench.closed) == ([1], [name])
    assert bench.host.next_deadline() == NEVER
    bench.host.when_changed(name, stream, lambda: called.append(2))  # nothing will change: it is told at once
    assert called == [1, 2]


def test_a_stall_ends_the_view_at_its_deadline() -> None:
    bench = Bench()
    name = bench.open()
    _, _, carrier = bench.view(name)
    bench.now = bench.host.next_deadline() - 1
    bench.host.expire()
    assert carrier.endings == []
    bench.now += 1
    bench.host.expire()
    assert [ending.cause for ending in carrier.endings] == [Cause.STALLED]


def test_an_absent_clients_session_closes_at_its_deadline() -> None:
    bench = Bench()
    name = bench.open()
    _, connection, _ = bench.caught_up(name)
    session = bench.host.session(name)
    assert session is not None
    bench.host.take(name, Finish(2))
    bench.host.take(name, Disconnect(connection))
    assert bench.host.next_deadline() == bench.now + POLICY.absence_ms + 1
    bench.now = bench.host.next_deadline() - 1
    bench.host.expire()
    assert bench.closed == []
    bench.now += 1
    bench.host.expire()
    assert bench.closed == [name]


def test_a_new_session_makes_room_by_what_time_has_ended() -> None:
    bench = Bench(evolve(POLICY, sessions=1))
    first = bench.open()
    bench.now += POLICY.absence_ms + 1
    bench.open()
    assert bench.closed == [first]


INPUTS = st.one_of(
    st.builds(lambda number: ("open", number), st.just(0)),
    st.builds(lambda number: ("listen", number), st.just(0)),
    st.builds(lambda number: ("emit", number), st.integers(0, 3)),
    st.builds(lambda number: ("write", number), st.integers(1, 6)),
    st.builds(lambda number: ("accepted", number), st.integers(1, 6)),
    st.builds(lambda number: ("disconnect", number), st.integers(1, 6)),
    st.builds(lambda number: ("finish", number), st.integers(2, 4)),
    st.builds(lambda number: ("sleep", number), st.integers(1, 400)),
)


def _taken(kind: str, number: int, host: Host) -> Input:
    match kind:
        case "open":
            return OpenStream(host.carry(Recorded()))
        case "listen":
            return Resume(host.carry(Recorded()), ABSENT)
        case "emit":
            return Emit(number, 1, b"x")
        case "write":
            return Write(number)
        case "accepted":
            return Accepted(number)
        case "disconnect":
            return Disconnect(number)
        case _:
            return Finish(number)


def _timeless(session: Session | None) -> Session | None:
    return None if session is None else evolve(session, now=0)


@given(st.lists(INPUTS, max_size=40))
def test_expiring_at_deadlines_alone_is_as_good_as_expiring_always(steps: list[tuple[str, int]]) -> None:
    lazy, eager = Bench(), Bench()
    names = [bench.open() for bench in (lazy, eager)]
    for kind, number in steps:
        if kind == "sleep":
            end = lazy.now + number
            while lazy.host.next_deadline() <= end:
                lazy.now = max(lazy.now, lazy.host.next_deadline())
                lazy.host.expire()
            lazy.now = end
            while eager.now < end:
                eager.now += 1
                for name in eager.host.session_names:
                    eager.host.take(name, Tick())
            continue
        for bench, name in zip((lazy, eager), names, strict=True):
            bench.host.take(name, _taken(kind, number, bench.host))
    here, there = (bench.host.session(name) for bench, name in zip((lazy, eager), names, strict=True))
    assert len(lazy.closed) == len(eager.closed)
    if here is not None and there is not None:
        # A lazy session has not heard of the last moments; it says the same once it has.
        tag = here.tag
        lazy.host.take(names[0], Tick())
        here = lazy.host.session(names[0])
        assert _timeless(here) == _timeless(evolve(there, tag=tag))
