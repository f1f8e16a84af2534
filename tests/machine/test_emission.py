"""Emission: what the window keeps, what has to leave it, who waits, what is refused."""

import pytest
from tests.machine.plays import Play, at, policy_with

from reattach.machine.cursor import ABSENT
from reattach.machine.decision import Reason
from reattach.machine.transition import (
    Accepted,
    Disconnect,
    Emit,
    Emitted,
    Idle,
    Opened,
    OpenStream,
    Resume,
    Tick,
    Wait,
    Write,
    WriteEvent,
    WriteOvertaken,
)


def test_the_window_holds_n_events_and_then_the_oldest_leaves() -> None:
    play = Play()
    for count, seq in enumerate((2, 3, 4), 1):
        assert play.emit(1) == seq
        assert len(play.seqs()) == count
    assert play.emit(1) == 5
    assert play.seqs() == (3, 4, 5)


def test_births_take_seqs_and_no_room() -> None:
    play = Play()
    play.emit(1)
    play.call(7)
    play.call(8)
    play.emit(1)
    play.emit(1)
    assert play.seqs() == (2, 5, 6)


def test_each_event_knows_the_one_before_it_on_its_stream() -> None:
    play = Play()
    play.call(7)
    for stream in (2, 1, 2):
        play.emit(stream)
    assert [(entry.stream, entry.seq, entry.prev) for entry in play.session.window.held] == [
        (2, 3, 2),
        (1, 4, 1),
        (2, 5, 3),
    ]


@pytest.mark.parametrize(
    ("sizes", "held"),
    [
        ((400, 600), (2, 3)),
        ((400, 601), (3,)),
        ((400, 600, 1), (3, 4)),
        ((0, 1000), (2, 3)),
        ((1, 1000), (3,)),
        ((500, 0, 501), (3, 4)),
        ((500, 500, 0), (2, 3, 4)),
        ((500, 500, 1000), (4,)),
    ],
)
def test_the_window_holds_b_bytes_and_no_more(sizes: tuple[int, ...], held: tuple[int, ...]) -> None:
    play = Play()
    for size in sizes:
        play.emit(1, size)
    assert play.seqs() == held


def test_a_message_larger_than_b_is_refused_and_nothing_leaves_for_it() -> None:
    play = Play()
    play.emit(1)
    assert play.refusal(Emit(1, 1001, None)) is Reason.MESSAGE_TOO_LARGE
    assert play.seqs() == (2,)


@pytest.mark.parametrize(("age", "held"), [(100, (2, 3)), (101, (3,)), (149, (3,)), (150, (3,)), (151, ())])
def test_an_event_is_held_for_t_and_not_a_millisecond_longer(age: int, held: tuple[int, ...]) -> None:
    play = Play(policy_with(absence_ms=1_000))
    play.emit(1)
    play.give(Emit(1, 1, None), after=50)
    play.give(Tick(), after=age - 50)
    assert play.seqs() == held


def test_age_is_applied_before_the_input() -> None:
    play = Play(policy_with(absence_ms=1_000))
    play.listen(7)
    play.emit(1)
    play.read_events(7, 1, 2)
    play.give(Disconnect(7))
    assert play.give(Resume(8, at(1, 1)), after=100) == Opened(1, 1)
    assert play.refusal(Resume(9, at(1, 1)), after=1) is Reason.CURSOR_OUT_OF_WINDOW
    assert play.give(Resume(9, at(1, 2))) == Opened(1, 2)  # caught up: lossless though nothing is held


# Waiting


def test_an_emission_waits_for_the_reader_of_its_own_stream() -> None:
    play = Play()
    play.call(7)
    for _ in range(3):
        play.emit(2)
    assert play.give(Emit(2, 1, None)) == Wait()
    assert play.give(Write(7)) == WriteEvent(2, 3, "1 bytes")
    assert play.give(Emit(2, 1, None)) == Emitted(2, 6)  # 3 is written, so it may leave, taken or not
    assert play.give(Emit(2, 1, None)) == Wait()
    assert play.give(Write(7)) == Idle(until=11)
    play.give(Accepted(7))
    play.read_events(7, 2, 4)
    assert play.give(Emit(2, 1, None)) == Emitted(2, 7)


def test_an_emission_waits_for_bytes_too() -> None:
    play = Play()
    play.call(7)
    play.emit(2, 1000)
    assert play.give(Emit(2, 1, None)) == Wait()
    play.read_events(7, 2, 3)
    assert play.give(Emit(2, 1, None)) == Emitted(2, 4)


def test_with_nobody_attached_an_emission_goes_on() -> None:
    play = Play()
    play.call(7)
    play.give(Disconnect(7))
    for _ in range(5):
        play.emit(2)
    assert play.seqs() == (5, 6, 7)


def test_the_reader_of_another_stream_makes_nobody_wait() -> None:
    play = Play()
    play.call(7)
    play.call(8)
    play.emit(3)
    for _ in range(3):
        play.emit(1)
    assert play.give(Write(8)) == WriteOvertaken(3, position=3)


def test_a_reader_makes_an_emission_wait_no_longer_than_its_stall_budget() -> None:
    play = Play()
    play.call(7)
    for _ in range(3):
        play.emit(2)
    assert play.give(Emit(2, 1, None), after=10) == Wait()
    assert play.give(Emit(2, 1, None), after=1) == Emitted(2, 6)
    assert [ending.connection for ending in play.ended] == [7]


def test_waiting_changes_nothing() -> None:
    play = Play()
    play.call(7)
    for _ in range(3):
        play.emit(2)
    before = play.session
    assert play.give(Emit(2, 1, None)) == Wait()
    assert play.session == before


# Refused


@pytest.mark.parametrize("number", [2, 3, 99, -1])
def test_nothing_is_emitted_on_a_stream_that_is_finished_or_never_was(number: int) -> None:
    play = Play()
    play.call(7)
    play.finish(2)
    assert play.refusal(Emit(number, 1, None)) is Reason.STREAM_FINISHED


def test_a_stream_before_the_last_listener_receives_no_pushes() -> None:
    play = Play()
    play.listen(7)
    play.listen(8)
    assert play.refusal(Emit(1, 1, None)) is Reason.STREAM_FINISHED
    assert play.give(Emit(0, 1, None)) == Emitted(2, 3)


# Limits on streams


def test_open_streams_are_limited_and_a_finished_one_makes_room() -> None:
    play = Play()
    for connection in (7, 8, 9):
        play.call(connection)
    assert play.refusal(OpenStream(10)) is Reason.STREAMS_EXHAUSTED
    play.give(Disconnect(7))
    assert play.refusal(OpenStream(10)) is Reason.STREAMS_EXHAUSTED  # unfinished, with or without a view
    play.finish(2)
    assert play.give(OpenStream(10)) == Opened(5, 5)


def test_a_finished_stream_counts_while_it_is_read() -> None:
    play = Play()
    for connection in (7, 8, 9):
        play.call(connection)
    play.finish(2)
    assert play.refusal(OpenStream(10)) is Reason.STREAMS_EXHAUSTED
    play.give(Write(7))
    assert play.give(OpenStream(10)) == Opened(5, 5)


def test_another_listener_is_refused_at_the_limit_only_if_the_one_before_is_still_there() -> None:
    play = Play()
    play.listen(6)
    for connection in (7, 8, 9):
        play.call(connection)
    assert play.refusal(Resume(10, ABSENT)) is Reason.STREAMS_EXHAUSTED
    assert not play.stream(1).finished
    play.give(Disconnect(6))
    assert play.give(Resume(10, ABSENT)) == Opened(5, 5)


def test_a_resumption_is_never_refused_for_the_limit() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    play.finish(2)
    play.read_events(7, 2, 3)
    play.give(Write(7))
    for connection in (8, 9, 10):
        play.call(connection)
    play.resume(11, 2, 2)
