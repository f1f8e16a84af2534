"""Time: stalls, absence, heartbeats; and that it does not matter who looks, or when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.machine.plays import Play, at, policy_with
from tests.machine.profiles import examples
from tests.machine.strategies import reached

from reattach.machine.policy import Policy
from reattach.machine.session import Session, age_deadline
from reattach.machine.transition import (
    Accepted,
    Arrive,
    Cause,
    Depart,
    Disconnect,
    Done,
    Emit,
    Ending,
    Finish,
    Gone,
    Idle,
    NoView,
    Opened,
    OpenStream,
    Resume,
    Tick,
    Write,
    WriteEvent,
    WriteHeartbeat,
    advance,
    open_session,
    react,
)

STALLED = Cause.STALLED

# Stalls


def test_a_view_that_leaves_an_event_unread_for_longer_than_the_budget_is_ended() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    assert play.wait(10) == ()
    assert play.wait(1) == (Ending(7, STALLED, stream=2, position=2),)
    assert play.give(Write(7)) == NoView()


def test_a_view_that_leaves_its_greeting_unread_is_ended() -> None:
    play = Play()
    play.give(OpenStream(7))
    assert play.wait(10) == ()
    assert play.wait(1) == (Ending(7, STALLED, stream=2, position=2),)


def test_a_write_that_is_not_taken_is_left_unread() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    assert play.give(Write(7), after=3) == WriteEvent(2, 3, "1 bytes")
    assert play.wait(7) == ()
    assert play.wait(1) == (Ending(7, STALLED, stream=2, position=3),)


def test_the_clock_starts_when_the_view_falls_behind() -> None:
    play = Play(policy_with(heartbeat_ms=59_999))
    play.call(7)
    assert play.wait(1_000) == ()
    play.emit(2)
    assert play.wait(10) == ()
    assert play.wait(1) != ()


def test_another_event_does_not_restart_the_clock() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    play.wait(6)
    play.emit(2)
    assert play.wait(4) == ()
    assert play.wait(1) != ()


def test_progress_restarts_the_clock() -> None:
    play = Play()
    play.call(7)
    for _ in range(3):
        play.emit(2)
    for seq in (3, 4, 5):
        assert play.wait(10) == ()
        play.read_events(7, 2, seq)
    assert play.wait(39) == ()  # and now it is not behind


def test_a_stalled_reader_comes_back_with_its_cursor() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    play.wait(11)
    play.resume(8, 2, 2)
    play.read_events(8, 2, 3)


def test_every_stalled_view_is_ended_and_no_other() -> None:
    play = Play()
    for connection in (7, 8, 9):
        play.call(connection)
    play.emit(2)
    play.emit(3)
    play.wait(5)
    play.emit(4)
    assert play.wait(6) == (Ending(7, STALLED, 2, 2), Ending(8, STALLED, 3, 3))
    assert play.wait(5) == (Ending(9, STALLED, 4, 4),)


def test_the_rate_is_r_writes_in_each_budget() -> None:
    play = Play(policy_with(stall_reads=2, window_events=9))
    play.call(7)
    for _ in range(4):
        play.emit(2)
    play.wait(5)
    play.read_events(7, 2, 3)
    play.wait(5)
    play.read_events(7, 2, 4)  # the second within ten milliseconds: a new budget
    play.wait(5)
    play.read_events(7, 2, 5)
    assert play.wait(5) == ()
    assert play.wait(1) == (Ending(7, STALLED, stream=2, position=5),)  # one is too few


def test_a_reader_that_catches_up_owes_no_rate() -> None:
    play = Play(policy_with(stall_reads=2))
    play.call(7)
    play.emit(2)
    play.read_events(7, 2, 3)
    assert play.wait(39) == ()
    play.emit(2)
    assert play.wait(10) == ()
    play.read_events(7, 2, 4)
    assert play.wait(9) == ()


# Heartbeats


def test_a_quiet_view_is_given_a_heartbeat() -> None:
    play = Play()
    play.call(7)
    assert play.give(Write(7)) == Idle(until=40)
    assert play.give(Write(7), after=39) == Idle(until=40)
    assert play.give(Write(7), after=1) == WriteHeartbeat()
    assert play.give(Write(7)) == Idle(until=51)  # outstanding: its stall deadline
    play.give(Accepted(7))
    assert play.give(Write(7)) == Idle(until=80)


def test_a_heartbeat_that_is_not_taken_finds_the_dead_connection() -> None:
    play = Play()
    play.call(7)
    assert play.give(Write(7), after=40) == WriteHeartbeat()
    assert play.wait(10) == ()
    assert play.wait(1) == (Ending(7, STALLED, stream=2, position=2),)


def test_a_heartbeat_moves_nothing() -> None:
    play = Play()
    play.call(7)
    play.give(Write(7), after=40)
    play.give(Accepted(7))
    play.give(Disconnect(7))
    play.resume(8, 2, 2)


def test_an_event_goes_before_a_heartbeat_that_is_due() -> None:
    play = Play()
    play.call(7)
    play.give(Emit(2, 1, None), after=40)
    assert play.give(Write(7)) == WriteEvent(2, 3, None)


# Absence


def test_a_session_without_its_client_for_longer_than_the_budget_is_terminated() -> None:
    play = Play()
    assert play.give(Tick(), after=50) == Done()
    assert play.session.alive
    assert play.give(Tick(), after=1) == Gone()
    assert not play.session.alive


def test_a_push_is_no_sign_of_the_client() -> None:
    play = Play()
    play.give(Emit(0, 1, None), after=50)
    assert play.give(Tick(), after=1) == Gone()


@pytest.mark.parametrize("given", [Arrive(), Resume(7, at(9, 9)), Depart()])
def test_a_request_is_a_sign_even_if_it_is_refused(given: Arrive | Resume | Depart) -> None:
    play = Play()
    play.give(given, after=50)
    play.give(Depart())
    assert play.give(Tick(), after=50) == Done()
    assert play.give(Tick(), after=1) == Gone()


def test_an_open_request_occupies_the_session() -> None:
    play = Play()
    play.give(Arrive())
    play.give(Arrive())
    play.give(Depart(), after=1_000)
    assert play.give(Tick(), after=1_000) == Done()
    play.give(Depart())
    assert play.give(Tick(), after=50) == Done()
    assert play.give(Tick(), after=1) == Gone()


def test_a_departure_that_nobody_arrived_for_leaves_no_debt() -> None:
    play = Play()
    play.give(Depart())
    play.give(Arrive())
    assert play.give(Tick(), after=1_000) == Done()


def test_a_view_occupies_the_session() -> None:
    play = Play(policy_with(heartbeat_ms=59_999))
    play.listen(7)
    assert play.give(Tick(), after=1_000) == Done()
    play.give(Disconnect(7))
    assert play.give(Tick(), after=50) == Done()
    assert play.give(Tick(), after=1) == Gone()


def test_the_view_of_a_finished_stream_occupies_the_session() -> None:
    play = Play(policy_with(heartbeat_ms=59_999))
    play.call(7)
    play.finish(2)
    assert play.give(Tick(), after=1_000) == Done()
    play.give(Write(7))
    assert play.give(Tick(), after=51) == Gone()


def test_an_unfinished_call_occupies_the_session_without_a_view() -> None:
    play = Play()
    play.call(7)
    play.give(Disconnect(7))
    assert play.give(Tick(), after=1_000) == Done()
    play.give(Finish(2))
    assert play.give(Tick(), after=50) == Done()
    assert play.give(Tick(), after=1) == Gone()


def test_a_stalled_view_counts_as_ended_at_its_deadline_and_not_when_somebody_looks() -> None:
    play = Play()
    play.listen(7)
    play.emit(0)
    assert play.give(Tick(), after=11 + 50) == Done()
    assert play.ended == (Ending(7, STALLED, 1, 1),)
    assert play.give(Tick(), after=1) == Gone()


def test_a_very_late_look_ends_view_and_session_at_once() -> None:
    play = Play()
    play.listen(7)
    play.emit(0)
    assert play.give(Tick(), after=11 + 51) == Gone()
    assert play.ended == (Ending(7, STALLED, 1, 1),)


def test_a_sign_after_the_stall_is_later_than_the_stall() -> None:
    play = Play()
    play.listen(7)
    play.emit(0)
    play.give(Arrive(), after=10)
    play.give(Depart())
    assert play.give(Tick(), after=1 + 50) == Done()


def test_time_never_goes_back() -> None:
    play = Play()
    play.give(Tick(), after=30)
    assert play.give(Arrive(), after=-20) == Done()
    assert (play.session.now, play.session.seen) == (30, 30)


def test_no_order_of_inputs_dodges_a_budget() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    assert play.give(Accepted(7), after=11) == NoView()
    assert play.ended == (Ending(7, STALLED, 2, 2),)
    assert play.give(Resume(8, at(2, 2))) == Opened(2, 2)


# It does not matter who looks, or when


@examples(400)
@given(reached(), st.integers(0, 30), st.integers(0, 30))
def test_to_advance_at_once_or_in_two_steps_is_the_same(
    situation: tuple[Policy, Session], soon: int, late: int
) -> None:
    policy, session = situation
    first = advance(policy, session, session.now + soon)
    second = advance(policy, first.session, session.now + soon + late)
    at_once = advance(policy, session, session.now + soon + late)
    assert second.session == at_once.session
    assert set(first.endings) | set(second.endings) == set(at_once.endings)
    assert len(first.endings) + len(second.endings) == len(at_once.endings)


# Age


def test_an_event_is_held_until_its_deadline_and_no_longer() -> None:
    session = advance(POLICY_OF_AGE, _with_an_event(at=5), age_deadline(POLICY_OF_AGE, 5) - 1).session
    assert [entry.at for entry in session.window.held] == [5]
    assert advance(POLICY_OF_AGE, session, age_deadline(POLICY_OF_AGE, 5)).session.window.held == ()


POLICY_OF_AGE = policy_with(window_ms=40, absence_ms=1_000)


def _with_an_event(at: int) -> Session:
    opened = open_session("tag", "", 0)
    return react(POLICY_OF_AGE, advance(POLICY_OF_AGE, opened, at).session, Emit(0, 1, None)).session
