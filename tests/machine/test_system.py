"""The system: whole exchanges from beginning to end, and that what cannot happen changes nothing."""

import pytest
from tests.machine.scenes import connected, with_calls

from reattach.machine.client import Client, News, Phase, Told
from reattach.machine.decision import Reason
from reattach.machine.invariants import AT_REST, SYSTEM
from reattach.machine.network import Aborted, Attached, Ended, Nothing, Refused, ResumptionRequired
from reattach.machine.policy import Policy
from reattach.machine.server import Server
from reattach.machine.session import StreamKind
from reattach.machine.step_invariants import SYSTEM_STEP
from reattach.machine.system import (
    Accept,
    Action,
    Bounds,
    Cancel,
    Cut,
    Deliver,
    Disconnect,
    Emit,
    GiveUp,
    Initialize,
    Leave,
    NoticeCut,
    OpenStream,
    Pass,
    Read,
    Reconnect,
    System,
    Terminate,
    Write,
    enabled,
    perform,
)
from reattach_proofs.spaces import UnsettledError, drained, is_at_rest

CALL, LISTEN = StreamKind.REQUEST, StreamKind.STANDALONE


def played(system: System, *actions: Action) -> System:
    """The system after these actions, each of which has to change something and to break nothing."""
    for action in actions:
        before, system = system, perform(system, action)
        assert system != before, action
        assert [holds.__name__ for holds in SYSTEM if not holds(system)] == [], action
        assert [holds.__name__ for holds in SYSTEM_STEP if not holds(before, system)] == [], action
    return system


def sends(connection: int) -> tuple[Action, ...]:
    """One thing is written on the connection, taken, and read."""
    return Write("S1", connection), Accept("S1", connection), Read(connection)


def applied(system: System) -> list[int]:
    """The seqs that were applied, in order."""
    return [one.seq for one in system.applications]


# Whole exchanges. Connection 1 initialized, connection 2 carries the call, whose stream is 2 and was born at 2.


def test_a_call_that_is_left_alone() -> None:
    system = played(with_calls(connected(), 1), Emit("S1", 2), *sends(2), Emit("S1", 2, final=True), *sends(2))
    assert applied(system) == [3, 4]
    assert system.clients[0].streams == ()
    assert system.clients[0].told == ()


def test_a_call_that_is_cut_and_resumed_is_applied_the_same() -> None:
    system = played(
        with_calls(connected(), 1),
        *(Emit("S1", 2), *sends(2)),
        *(Emit("S1", 2), Write("S1", 2), Cut(2)),  # the second event is lost on the way
        NoticeCut(2),
        Emit("S1", 2, final=True),
        Reconnect(0, 1),
        *(Deliver(3), Read(3)),
        *(*sends(3), *sends(3), *sends(3)),
    )
    assert applied(system) == [3, 4, 5]
    assert system.clients[0].told == ()


def test_the_cut_that_the_server_does_not_know_of() -> None:
    system = played(with_calls(connected(), 1), Cut(2), NoticeCut(2), Reconnect(0, 1), Deliver(3))
    assert system.server.sessions["S1"].streams[1].view.connection == 3
    assert perform(system, Write("S1", 2)) == perform(system, Accept("S1", 2)) == system


def test_a_resumption_that_is_overtaken_by_the_next_takes_the_view_from_it() -> None:
    system = played(
        with_calls(connected(), 1),
        *(Cut(2), NoticeCut(2), Reconnect(0, 1)),
        *(Cut(3), NoticeCut(3), Reconnect(0, 1)),
        *(Deliver(4), Deliver(3)),
    )
    assert system.server.sessions["S1"].streams[1].view.connection == 3
    (exchange,) = system.exchanges
    assert (exchange.connection, exchange.header, exchange.trailer) == (4, Attached(), Aborted())
    rested = drained(system)
    assert applied(rested) == [3]
    assert rested.clients[0].told == ()


def test_a_reader_that_is_overtaken_is_told_and_its_resumption_refused() -> None:
    system = played(with_calls(connected(), 1), Emit("S1", 2), *(Emit("S1", 1),) * 2, Write("S1", 2))
    assert system.exchanges[0].trailer == ResumptionRequired()
    system = played(system, Read(2), Reconnect(0, 1), Deliver(3))
    assert system.exchanges[0].header == Refused(Reason.CURSOR_OUT_OF_WINDOW)
    system = played(system, Read(3))
    assert system.clients[0].told == (Told(News.OUTCOME_UNKNOWN, 1),)
    assert system.clients[0].phase is Phase.CONNECTED  # the cursor is dropped, the session kept


def test_a_client_that_is_stalled_comes_back() -> None:
    stalled = played(with_calls(connected(), 1), Emit("S1", 2), Pass(30_001))
    assert stalled.exchanges[0].trailer == Aborted()
    system = played(stalled, Read(2), Reconnect(0, 1), Deliver(3), Read(3), *sends(3), *sends(3))
    assert applied(system) == [3]


def test_a_session_that_was_absent_is_lost_and_told_so() -> None:
    system = played(connected(), Pass(300_001))
    assert system.server.sessions == {}
    system = played(system, OpenStream(0, LISTEN), Deliver(2), Read(2))
    assert system.clients[0].told == (Told(News.GAP, 1), Told(News.SESSION_LOST))
    system = played(system, Initialize(0), Deliver(3), Read(3))
    assert system.clients[0].session == "S2"


def test_a_session_that_is_terminated_while_it_is_read_answers_404_to_the_resumption() -> None:
    system = played(with_calls(connected(), 1), Terminate("S1"))
    assert system.exchanges[0].trailer == Aborted()
    system = played(system, Read(2), Reconnect(0, 1), Deliver(3))
    assert system.exchanges[0].header == Refused(Reason.SESSION_UNKNOWN)


def test_a_view_that_is_ended_on_a_broken_connection_tells_nobody() -> None:
    system = played(with_calls(connected(), 1), Cut(2), Terminate("S1"))
    assert system.exchanges[0].trailer == Nothing()
    assert applied(drained(system)) == []


def test_a_client_that_leaves_is_told_of_what_was_pending_and_its_session_ends() -> None:
    system = played(with_calls(connected(), 1), Leave(0), Deliver(3))
    assert system.clients[0].told == (Told(News.OUTCOME_UNKNOWN, 1), Told(News.SESSION_LOST))
    assert system.server.sessions == {}
    assert system.exchanges == ()


def test_what_was_pushed_before_anyone_listened_arrives() -> None:
    system = played(connected(), Emit("S1", 1), Emit("S1", 1), OpenStream(0, LISTEN), Deliver(2), Read(2))
    assert applied(played(system, *sends(2), *sends(2), *sends(2))) == [2, 3]


def test_a_cancelled_call_ends_and_its_client_gives_up() -> None:
    system = played(with_calls(connected(), 1), Cancel("S1", 2), Write("S1", 2))
    assert system.exchanges[0].trailer == Ended()
    rested = drained(system)
    assert rested.clients[0].told == (Told(News.OUTCOME_UNKNOWN, 1),)
    assert [holds.__name__ for holds in AT_REST if not holds(rested)] == []


def test_sessions_beyond_the_limit_are_refused() -> None:
    system = System(Server(Policy(sessions=1)), (Client(), Client()))
    system = played(system, Initialize(0), Deliver(1), Initialize(1), Deliver(2))
    assert system.exchanges[1].header == Refused(Reason.SESSIONS_EXHAUSTED)
    system = played(system, Read(2))
    assert system.clients[1].phase is Phase.MUST_INITIALIZE


def test_no_session_is_named_twice() -> None:
    system = played(System(Server(), (Client(),)), Initialize(0), Deliver(1), Read(1), Leave(0), Deliver(2))
    system = played(system, Initialize(0), Deliver(3), Read(3))
    assert system.clients[0].session == "S2"


# What cannot happen

CONNECTED = with_calls(connected(), 1)
LIMITED = with_calls(connected(Client(attempts_limit=0)), 1)


@pytest.mark.parametrize(
    ("system", "action"),
    [
        (CONNECTED, Initialize(0)),
        (System(Server(), (Client(),)), OpenStream(0, CALL)),
        (System(Server(), (Client(),)), Leave(0)),
        (CONNECTED, Reconnect(0, 2)),
        (LIMITED, Reconnect(0, 1)),
        (CONNECTED, GiveUp(0, 1)),  # it is read
        (played(CONNECTED, Cut(2), NoticeCut(2)), GiveUp(0, 1)),  # it may be resumed
        (CONNECTED, GiveUp(0, 2)),
        (CONNECTED, Read(2)),  # nothing is on its way
        (CONNECTED, Read(9)),
        (CONNECTED, NoticeCut(2)),  # it is alive
        (CONNECTED, NoticeCut(9)),
        (CONNECTED, Deliver(2)),  # it was
        (CONNECTED, Deliver(9)),
        (CONNECTED, Cut(9)),
        (CONNECTED, Emit("S1", 1, final=True)),  # pushes have no response
        (CONNECTED, Emit("S1", 9)),
        (CONNECTED, Emit("S1", 9, final=True)),
        (CONNECTED, Emit("S9", 2, final=True)),
        (CONNECTED, Emit("S9", 2)),
        (CONNECTED, Cancel("S1", 1)),
        (CONNECTED, Cancel("S9", 2)),
        (CONNECTED, Write("S1", 9)),
        (CONNECTED, Write("S9", 2)),
        (CONNECTED, Accept("S1", 2)),
        (CONNECTED, Disconnect("S1", 2)),  # it is alive
        (CONNECTED, Terminate("S9")),
        (CONNECTED, Pass(0)),
    ],
)
def test_what_cannot_happen_changes_nothing(system: System, action: Action) -> None:
    assert perform(system, action) == system


def test_who_has_no_attempts_left_gives_up() -> None:
    system = played(LIMITED, Cut(2), NoticeCut(2), GiveUp(0, 1))
    assert system.clients[0].told == (Told(News.OUTCOME_UNKNOWN, 1),)


def test_a_write_to_a_client_that_is_gone_is_lost() -> None:
    system = played(CONNECTED, Emit("S1", 2), Cut(2), Write("S1", 2))
    assert (system.exchanges[0].sent, system.exchanges[0].header) == (system.exchanges[0].taken, Nothing())


def test_the_server_notices_a_connection_that_broke_or_that_the_client_has_left() -> None:
    broken = played(CONNECTED, Cut(2))
    assert Disconnect("S1", 2) in enabled(broken, Bounds())
    assert played(broken, Disconnect("S1", 2)).server.sessions["S1"].streams[1].view.connection == 0
    left = played(CONNECTED, Reconnect(0, 1))
    assert Disconnect("S1", 2) in enabled(left, Bounds())


# What is listed


def test_nothing_is_listed_beyond_the_bounds() -> None:
    none = Bounds(streams=0, events=0, connections=0, endings=False)
    assert enabled(CONNECTED, none) == (Cut(2), Write("S1", 2))


def test_all_that_can_happen_is_listed() -> None:
    listed = enabled(CONNECTED, Bounds(streams=2, events=1, connections=3, steps_ms=(5, 7), until_ms=6))
    assert set(listed) == {
        OpenStream(0, CALL),
        OpenStream(0, LISTEN),
        Leave(0),
        Reconnect(0, 1),
        Cut(2),
        Terminate("S1"),
        Emit("S1", 1),
        Emit("S1", 2),
        Emit("S1", 2, final=True),
        Cancel("S1", 2),
        Write("S1", 2),
        Pass(5),
    }


def test_what_is_on_its_way_is_listed() -> None:
    system = played(System(Server(), (Client(), Client())), Initialize(0))
    assert enabled(system, Bounds()) == (Initialize(1), Deliver(1), Cut(1))
    answered = played(system, Deliver(1))
    assert Read(1) in enabled(answered, Bounds())


def test_a_client_that_reads_and_may_not_resume_does_neither() -> None:
    assert enabled(LIMITED, Bounds(streams=1, events=0, endings=False)) == (Cut(2), Write("S1", 2))


def test_without_pushes_only_calls_emit_and_who_can_do_nothing_else_gives_up() -> None:
    waiting = played(LIMITED, Cut(2), NoticeCut(2))
    listed = enabled(waiting, Bounds(streams=1, events=1, connections=2, pushes=False, endings=False))
    assert set(listed) == {
        GiveUp(0, 1),
        Emit("S1", 2),
        Emit("S1", 2, final=True),
        Write("S1", 2),
        Disconnect("S1", 2),
    }


# Rest


def test_a_system_in_which_nothing_is_pending_is_at_rest() -> None:
    assert is_at_rest(connected())
    assert not is_at_rest(CONNECTED)  # the call is not answered


def test_a_system_that_does_not_come_to_rest_is_not_taken_for_one_that_does() -> None:
    with pytest.raises(UnsettledError, match="not at rest after 3 actions"):
        drained(CONNECTED, limit=3)
