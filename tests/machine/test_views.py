"""Views: how they begin, what they are given, how they are replaced and how they end."""

import pytest
from tests.machine.plays import Play, at, policy_with

from reattach.machine.cursor import ABSENT, MALFORMED, Cursor, Presence
from reattach.machine.decision import Reason
from reattach.machine.session import NO_STREAM, NO_VIEW, Greeting, StreamKind, find_stream, find_viewed, is_open
from reattach.machine.transition import (
    Accepted,
    Cause,
    Disconnect,
    Done,
    Ending,
    Finish,
    Idle,
    NoView,
    Opened,
    OpenStream,
    Resume,
    Write,
    WriteEnd,
    WriteEvent,
    WriteGreeting,
    WriteOvertaken,
)

PRIMING = Greeting.PRIMING


def test_a_session_begins_with_its_standalone_stream_and_no_view() -> None:
    play = Play()
    (standalone,) = play.session.streams
    assert (standalone.number, standalone.kind, standalone.finished) == (1, StreamKind.STANDALONE, False)
    assert standalone.view == NO_VIEW
    assert (play.session.window.low, play.session.window.next) == (2, 2)


def test_a_call_has_a_stream_of_its_own_that_begins_with_its_birth() -> None:
    play = Play()
    assert play.give(OpenStream(7)) == Opened(stream=2, position=2)
    assert play.give(Write(7)) == WriteGreeting(PRIMING, stream=2, seq=2)
    assert play.stream(2).kind is StreamKind.REQUEST
    assert find_viewed(play.session, 7).number == 2


def test_an_event_never_takes_the_seq_of_a_birth() -> None:
    play = Play()
    seqs = [play.emit(1)]
    assert play.call(7) == 2
    seqs += [play.emit(2), play.emit(1)]
    assert play.call(8) == 3
    assert seqs == [2, 4, 5]
    assert play.stream(3).first == 6


def test_one_write_at_a_time() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    play.emit(2)
    assert play.give(Write(7)) == WriteEvent(2, 3, "1 bytes")
    assert play.give(Write(7)) == Idle(until=11)  # the stall deadline
    assert play.give(Accepted(7)) == Done()
    assert play.give(Write(7)) == WriteEvent(2, 4, "1 bytes")


def test_a_view_is_given_its_own_stream_in_order_and_no_other() -> None:
    play = Play(policy_with(window_events=9))
    play.call(7)
    play.call(8)
    for stream in (3, 2, 3, 1, 2, 2):
        play.emit(stream)
    play.read_events(7, 2, 5, 8, 9)
    play.read_events(8, 3, 4, 6)
    assert play.give(Write(7)) == play.give(Write(8)) == Idle(until=40)


def test_nothing_is_written_to_what_has_no_view() -> None:
    play = Play()
    play.call(7)
    assert play.give(Write(9)) == play.give(Accepted(9)) == play.give(Disconnect(9)) == NoView()
    assert play.give(Accepted(7)) == NoView()  # nothing was outstanding
    assert play.give(Write(0)) == play.give(Disconnect(0)) == NoView()  # no stream without a view is on connection 0


# Losing a view, and coming back


def test_a_lost_view_loses_nothing() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    play.read_events(7, 2, 3)
    play.emit(2)
    before = play.session.window
    assert play.give(Disconnect(7)) == Done()
    assert play.session.window == before
    assert is_open(play.stream(2))
    play.emit(2)
    play.resume(8, 2, 3)
    play.read_events(8, 2, 4, 5)


def test_a_resumed_view_states_the_cursor_as_its_position() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    assert play.give(Resume(8, at(2, 3))) == Opened(2, 3)
    assert play.give(Write(8)) == WriteGreeting(Greeting.POSITION, 2, 3)


def test_a_resumed_view_is_live() -> None:
    play = Play()
    play.call(7)
    play.give(Disconnect(7))
    play.resume(8, 2, 2)
    assert play.give(Write(8)) == Idle(until=40)
    play.emit(2)
    play.read_events(8, 2, 3)


def test_a_resumption_takes_over_while_the_server_still_believes_in_the_old_view() -> None:  # ATT-3
    play = Play()
    play.call(7)
    play.emit(2)
    play.read_events(7, 2, 3)
    play.emit(2)
    assert play.give(Resume(8, at(2, 2))) == Opened(2, 2)
    assert play.ended == (Ending(7, Cause.TAKEN_OVER, stream=2, position=3),)
    assert play.give(Write(7)) == play.give(Accepted(7)) == play.give(Disconnect(7)) == NoView()
    play.read(8, WriteGreeting(Greeting.POSITION, 2, 2))
    play.read_events(8, 2, 3, 4)


def test_a_takeover_drops_the_write_that_was_outstanding() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    assert play.give(Write(7)) == WriteEvent(2, 3, "1 bytes")
    play.resume(8, 2, 2)
    play.read_events(8, 2, 3)


def test_a_refused_resumption_leaves_the_view_alone() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    for cursor in (MALFORMED, at(2, 9), at(2, 1), at(3, 1), at(2, 0), Cursor(Presence.PRESENT, "U", 2, 3)):
        play.refusal(Resume(8, cursor))
        assert play.ended == ()
    play.read_events(7, 2, 3)


# Overtaken


def test_a_view_whose_next_event_has_left_is_ended_and_never_skipped_forward() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    for _ in range(3):
        play.emit(1)
    play.emit(2)
    assert play.give(Write(7)) == WriteOvertaken(2, position=2)
    assert play.give(Write(7)) == NoView()
    assert play.refusal(Resume(8, at(2, 2))) is Reason.CURSOR_OUT_OF_WINDOW


def test_a_view_of_whose_stream_nothing_is_held_is_overtaken_too() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    for _ in range(3):
        play.emit(1)
    assert play.give(Write(7)) == WriteOvertaken(2, position=2)


def test_what_was_evicted_after_it_was_written_does_no_harm() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    assert play.give(Write(7)) == WriteEvent(2, 3, "1 bytes")
    for _ in range(3):
        play.emit(1)
    play.give(Accepted(7))
    assert play.give(Write(7)) == Idle(until=40)


# Listening


def test_the_first_listener_is_given_early_pushes() -> None:
    play = Play()
    play.emit(0)
    play.emit(0)
    assert play.listen(7) == 1
    play.read_events(7, 1, 2, 3)


def test_the_first_listener_is_given_early_pushes_as_far_as_the_window_reaches() -> None:
    play = Play()
    for _ in range(5):
        play.emit(0)
    assert play.give(Resume(7, ABSENT)) == Opened(1, 3)
    play.read(7, WriteGreeting(PRIMING, 1, 3))  # the mark, not the newest: nothing undelivered is skipped (EVT-6)
    play.read_events(7, 1, 4, 5, 6)


def test_a_later_listener_gets_a_new_stream_and_nothing_that_was_given_before() -> None:
    play = Play()
    play.emit(0)
    play.listen(7)
    play.read_events(7, 1, 2)
    assert play.listen(8) == 2
    assert play.ended == ()  # two listeners never evict each other
    assert play.emit(0) == 4
    play.read_events(8, 2, 4)
    assert play.stream(1).finished


def test_the_listener_before_is_given_all_that_it_is_owed_and_then_ends() -> None:
    play = Play()
    play.listen(7)
    play.emit(0)
    play.listen(8)
    play.emit(0)
    play.read_events(7, 1, 2)
    assert play.give(Write(7)) == WriteEnd()
    assert play.give(Write(7)) == NoView()


def test_the_stream_before_can_be_resumed_until_it_leaves_the_window() -> None:
    play = Play()
    play.listen(7)
    play.emit(0)
    play.give(Disconnect(7))
    play.listen(8)
    play.resume(9, 1, 1)
    play.read_events(9, 1, 2)
    assert play.give(Write(9)) == WriteEnd()
    play.resume(9, 1, 2)
    assert play.give(Write(9)) == WriteEnd()


def test_a_stream_that_nobody_read_and_that_never_had_an_event_is_forgotten_when_another_listens() -> None:
    play = Play()
    play.listen(7)
    play.give(Disconnect(7))
    play.listen(8)
    assert play.stream(1) == NO_STREAM
    assert play.refusal(Resume(9, at(1, 1))) is Reason.CURSOR_OUT_OF_WINDOW


def test_who_resumes_the_standalone_stream_first_has_listened() -> None:
    # Its cursor can be put together from that of any call. A plain GET that then took the stream over would repeat
    # what the first view was given (CUR-1), and would end it.
    play = Play()
    play.emit(0)
    play.resume(7, 1, 1)
    play.read_events(7, 1, 2)
    assert play.listen(8) == 2
    assert play.ended == ()
    assert play.give(Write(8)) == Idle(until=40)


# The end of a stream


def test_a_finished_stream_ends_once_all_is_written() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    play.finish(2)
    play.read_events(7, 2, 3)
    assert play.give(Write(7)) == WriteEnd()
    assert not is_open(play.stream(2))


def test_a_finished_stream_without_an_event_ends_at_once_and_is_forgotten() -> None:
    play = Play()
    play.call(7)
    play.finish(2)
    assert play.give(Write(7)) == WriteEnd()
    assert play.stream(2) == NO_STREAM


def test_a_greeting_comes_before_the_end() -> None:
    play = Play()
    assert play.give(OpenStream(7)) == Opened(2, 2)
    play.finish(2)
    play.read(7, WriteGreeting(PRIMING, 2, 2), WriteEnd())


def test_resuming_a_finished_stream_delivers_the_rest_and_ends() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    play.emit(2)
    play.finish(2)
    play.give(Disconnect(7))
    play.resume(8, 2, 3)
    play.read_events(8, 2, 4)
    assert play.give(Write(8)) == WriteEnd()


@pytest.mark.parametrize("others", [3, 4])
def test_a_finished_stream_is_forgotten_with_its_last_event(others: int) -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    play.finish(2)
    play.read_events(7, 2, 3)
    assert play.give(Write(7)) == WriteEnd()
    for _ in range(2):
        play.emit(1)
    assert find_stream(play.session, 2).number == 2  # its event is still one of three
    for _ in range(others - 2):
        play.emit(1)
    assert play.stream(2) == NO_STREAM
    assert play.refusal(Resume(8, at(2, 3))) is Reason.CURSOR_OUT_OF_WINDOW


def test_a_finished_stream_that_is_still_read_is_remembered() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    play.finish(2)
    for _ in range(4):
        play.emit(1)
    assert play.stream(2).number == 2
    assert play.give(Write(7)) == WriteOvertaken(2, position=2)
    assert play.stream(2) == NO_STREAM


def test_finishing_what_is_finished_or_receives_the_pushes_is_refused() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    play.finish(2)
    for number in (1, 2, 3, 0):
        assert play.refusal(Finish(number)) is Reason.STREAM_FINISHED
