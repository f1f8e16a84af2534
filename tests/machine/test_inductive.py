"""Each predicate of the inductive invariant can fail: a sound session, doctored in one place, breaks it by name.

That the invariant holds of every event of random sessions is checked in test_sessions.
"""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from reattach.machine import inductive
from reattach.machine.policy import Policy
from reattach.machine.session import Greeting, Session, Stream, StreamKind, find_stream, with_stream
from reattach.machine.transition import Emit, Finish, Input, OpenStream, Write, open_session, step
from reattach.machine.window import NO_ENTRY, Entry

POLICY = Policy(window_events=3, window_ms=100, window_bytes=50, stall_ms=50, absence_ms=90, retry_ms=1, open_streams=3)
CALL = 2
"""The request stream of ``sound``; its events have the seqs 3, 4 and 5."""


def sound() -> Session:
    """A session with a call that is read and has three events, one of them written."""
    session = open_session("T", "", 0)
    inputs: list[Input] = [OpenStream(1), *[Emit(CALL, 5, "message")] * 3, Write(1)]
    for given in inputs:
        session = step(POLICY, session, 1, given).session
    return session


def entry(session: Session, seq: int) -> Entry:
    """The event with this seq."""
    return next((held for held in session.window.held if held.seq == seq), NO_ENTRY)


def broken(session: Session, event: Entry, other: Entry | None = None) -> set[str]:
    """The names of all that does not hold of the session, the event, and the two events."""
    named = [
        *inductive.of_session(POLICY, session, lambda seq: entry(session, seq)),
        *inductive.of_event(POLICY, session, event, entry(session, event.prev)),
        *inductive.of_two(event, other or event),
    ]
    return {name for name, holds in named if not holds()}


def _call(session: Session, change: Callable[[Stream], Stream]) -> Session:
    return with_stream(session, change(find_stream(session, CALL)))


def _view(session: Session, **changes: Any) -> Session:
    return _call(session, lambda stream: evolve(stream, view=evolve(stream.view, **changes)))


def _window(session: Session, **changes: Any) -> Session:
    return evolve(session, window=evolve(session.window, **changes))


def _finished_unread(session: Session) -> Session:
    return _call(
        session, lambda stream: evolve(stream, finished=True, view=find_stream(session, 1).view, last=stream.first)
    )


SESSIONS: list[tuple[str, Callable[[Session], Session]]] = [
    ("the_numbers_are_in_range", lambda session: evolve(session, seen=session.now + 1)),
    (
        "a_session_is_within_its_absence_budget",
        lambda session: evolve(session, streams=session.streams[:1], now=session.seen + POLICY.absence_ms + 1),
    ),
    (
        "unfinished_streams_are_within_the_limit",
        lambda session: evolve(session, streams=(*session.streams, *[find_stream(session, CALL)] * 2)),
    ),
    ("pushes_have_a_stream", lambda session: evolve(session, standalone=9)),
    (
        "pushes_have_a_stream",
        lambda session: _call(session, lambda stream: evolve(stream, kind=StreamKind.STANDALONE)),
    ),
    ("low_is_an_event_or_next", lambda session: _window(session, low=2)),
    ("a_stream_lies_in_its_session", lambda session: _call(session, lambda stream: evolve(stream, last=99))),
    ("a_view_lies_on_its_stream", lambda session: _view(session, position=99)),
    ("a_view_lies_on_its_stream", lambda session: _view(session, greeting=Greeting.PRIMING, outstanding=True)),
    ("a_view_is_within_its_stall_budget", lambda session: _view(session, since=session.now - POLICY.stall_ms - 1)),
    ("a_known_stream_is_of_use", _finished_unread),
    ("a_birth_is_no_event", lambda session: _call(session, lambda stream: evolve(stream, first=3))),
    (
        "a_stream_ends_in_an_event_of_its_own",
        lambda session: _window(session, held=session.window.held[:-1]),
    ),
]

EVENTS: list[tuple[str, Callable[[Session], Session], Callable[[Entry], Entry]]] = [
    ("an_event_is_numbered", lambda session: session, lambda event: evolve(event, prev=event.seq)),
    ("an_event_lies_on_its_stream", lambda session: session, lambda event: evolve(event, prev=1)),
    ("a_held_event_is_within_the_limits", lambda session: evolve(session, now=200), lambda event: event),
    (
        "a_held_events_stream_is_known",
        lambda session: evolve(session, streams=session.streams[:1]),
        lambda event: event,
    ),
    (
        "no_view_stands_before_an_event_and_after_its_predecessor",
        lambda session: _view(session, position=4),
        lambda event: evolve(event, seq=5, prev=3),
    ),
    ("a_predecessor_is_of_the_same_stream", lambda session: session, lambda event: evolve(event, prev=1)),
]


def test_a_sound_session_breaks_nothing() -> None:
    session = sound()
    for event in session.window.held:
        for other in session.window.held:
            assert broken(session, event, other) == set()


@pytest.mark.parametrize(("name", "doctored"), SESSIONS)
def test_a_doctored_session_breaks_its_predicate(name: str, doctored: Callable[[Session], Session]) -> None:
    session = doctored(sound())
    assert name in broken(session, entry(sound(), 4))


@pytest.mark.parametrize(("name", "doctored", "changed"), EVENTS)
def test_a_doctored_event_breaks_its_predicate(
    name: str, doctored: Callable[[Session], Session], changed: Callable[[Entry], Entry]
) -> None:
    session = doctored(sound())
    assert name in broken(session, changed(entry(sound(), 4)))


def test_two_doctored_events_break_theirs() -> None:
    session = sound()
    earlier, later = entry(session, 3), entry(session, 5)
    assert "two_events_are_in_order" in broken(session, earlier, evolve(later, count=1))
    assert "nothing_lies_between_an_event_and_its_predecessor" in broken(session, earlier, evolve(later, prev=2))


def test_an_event_of_no_known_stream_is_not_judged_by_its_stream() -> None:
    session = sound()
    stranger = evolve(entry(session, 4), stream=7, seq=1)
    assert inductive.an_event_lies_on_its_stream(POLICY, session, stranger)
    assert inductive.no_view_stands_before_an_event_and_after_its_predecessor(POLICY, session, stranger)
    assert inductive.a_predecessor_is_of_the_same_stream(session, stranger, NO_ENTRY)


def test_what_the_theorems_speak_of() -> None:
    session = sound()
    stream, event = find_stream(session, CALL), entry(session, 4)
    assert inductive.is_emitted(session, event)
    assert not inductive.is_emitted(session, NO_ENTRY)
    assert not inductive.is_emitted(session, evolve(event, seq=session.window.next))
    assert inductive.is_lossless(session, stream, 2, event)
    assert not inductive.is_lossless(_window(session, low=5), stream, 3, event)
    assert inductive.is_lossless(_window(session, low=5), stream, 4, event)
    assert not inductive.is_emptied(session, stream)
    finished = step(POLICY, session, 1, Finish(CALL)).session
    assert not inductive.is_emptied(finished, find_stream(finished, CALL))
    assert inductive.is_emptied(_finished_unread(session), find_stream(_finished_unread(session), CALL))
