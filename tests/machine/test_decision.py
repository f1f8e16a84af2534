"""The decision: every row of spec/04-cursors.md in its order, each at its boundaries."""

import itertools

import pytest
from attrs import evolve
from tests.machine.plays import TAG, Play, at, policy_with

from reattach.machine.cursor import ABSENT, MALFORMED, Cursor, Presence
from reattach.machine.decision import (
    Admitted,
    Credential,
    Decision,
    Fresh,
    Reason,
    Reattach,
    Refuse,
    Replay,
    admit,
    decide_cursor,
    status_of,
)
from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.session import Session
from reattach.machine.transition import Disconnect

# Step 0


@pytest.mark.parametrize(
    ("origin", "credential", "version"),
    tuple(itertools.product((True, False), Credential, (True, False))),
)
def test_admission_asks_origin_then_credentials_then_version(
    origin: bool, credential: Credential, version: bool
) -> None:
    reasons = [
        (not origin, Reason.ORIGIN_FORBIDDEN),
        (credential is Credential.MISSING, Reason.UNAUTHENTICATED),
        (credential is Credential.FORBIDDEN, Reason.FORBIDDEN),
        (not version, Reason.VERSION_UNSUPPORTED),
    ]
    first = next((Refuse(reason) for applies, reason in reasons if applies), Admitted())
    assert admit(origin, credential, version) == first


def test_only_a_good_request_is_admitted() -> None:
    admitted = [
        (origin, credential, version)
        for origin, credential, version in itertools.product((True, False), Credential, (True, False))
        if admit(origin, credential, version) == Admitted()
    ]
    assert admitted == [(True, Credential.NOT_REQUIRED, True), (True, Credential.GOOD, True)]


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (Reason.ORIGIN_FORBIDDEN, 403),
        (Reason.UNAUTHENTICATED, 401),
        (Reason.FORBIDDEN, 403),
        (Reason.VERSION_UNSUPPORTED, 400),
        (Reason.SESSION_MISSING, 400),
        (Reason.SESSION_UNKNOWN, 404),
        (Reason.CURSOR_MALFORMED, 400),
        (Reason.CURSOR_FOREIGN, 409),
        (Reason.CURSOR_OUT_OF_WINDOW, 409),
        (Reason.CURSOR_AHEAD, 409),
        (Reason.CURSOR_MISMATCH, 409),
        (Reason.STREAMS_EXHAUSTED, 503),
        (Reason.SESSIONS_EXHAUSTED, 503),
        (Reason.STREAM_FINISHED, 500),
        (Reason.MESSAGE_TOO_LARGE, 500),
    ],
)
def test_each_reason_has_its_status(reason: Reason, status: int) -> None:
    assert status_of(Policy(), reason) == status
    assert status_of(Policy(refusal_status=404), reason) == (404 if status == 409 else status)


# Steps 3 to 10, on the stream of the chapter's picture


@pytest.fixture
def picture() -> Session:
    """Stream 2 was born at 2 and had 3, 5, 8 and 11; of these 8 and 11 are held, with 6, 7, 9, 10 and 12 of others."""
    play = Play(policy_with(window_events=6, window_ms=10_000))
    play.call(7)
    play.give(Disconnect(7))
    for stream in (2, 1, 2, 1, 1, 2, 1, 1, 2, 1):
        play.emit(stream)
    assert play.seqs() == (7, 8, 9, 10, 11, 12)
    assert play.stream(2).last == 11
    return play.session


OUT, AHEAD, MISMATCH = Reason.CURSOR_OUT_OF_WINDOW, Reason.CURSOR_AHEAD, Reason.CURSOR_MISMATCH


def refused(reason: Reason) -> Refuse:
    """A refusal that says from where to where stream 2 can still be resumed."""
    return Refuse(reason, stream=2, mark=5, last=11)


@pytest.mark.parametrize(
    ("cursor", "decision"),
    [
        (ABSENT, Fresh()),
        (MALFORMED, Refuse(Reason.CURSOR_MALFORMED)),
        (Cursor(Presence.PRESENT, "U", 2, 8), Refuse(Reason.CURSOR_FOREIGN)),
        (Cursor(Presence.PRESENT, "", 2, 8), Refuse(Reason.CURSOR_FOREIGN)),
        (Cursor(Presence.PRESENT, "U", 9, 99), Refuse(Reason.CURSOR_FOREIGN)),  # foreign before unknown
        (at(3, 8), Refuse(OUT)),
        (at(3, 99), Refuse(OUT)),  # unknown before ahead
        (at(0, 0), Refuse(OUT)),
        (at(2, 0), refused(OUT)),
        (at(2, 2), refused(OUT)),  # the birth: 3 has left
        (at(2, 3), refused(OUT)),  # the last one before the mark
        (at(2, 4), refused(OUT)),  # another stream's, and below the mark: one reason, the first
        (at(2, 5), Reattach(2, 5)),  # the mark, though it is not held itself
        (at(2, 6), refused(MISMATCH)),
        (at(2, 7), refused(MISMATCH)),
        (at(2, 8), Reattach(2, 8)),
        (at(2, 9), refused(MISMATCH)),
        (at(2, 10), refused(MISMATCH)),
        (at(2, 11), Reattach(2, 11)),  # the newest
        (at(2, 12), refused(AHEAD)),  # another stream's, and above the last: one reason, the first
        (at(2, 13), refused(AHEAD)),
        (at(2, 2**53 - 1), refused(AHEAD)),
    ],
)
def test_each_row_at_its_boundaries(picture: Session, cursor: Cursor, decision: Decision) -> None:
    assert decide_cursor(picture, cursor) == decision


def test_a_caught_up_cursor_is_granted_when_nothing_is_held() -> None:
    play = Play(policy_with(window_ms=20, absence_ms=1_000))
    play.emit(1)
    play.wait(21)
    assert play.seqs() == ()
    assert decide_cursor(play.session, at(1, 2)) == Reattach(1, 2)
    assert decide_cursor(play.session, at(1, 1)) == Refuse(OUT, 1, 2, 2)


def test_a_stream_without_events_grants_its_birth_alone() -> None:
    play = Play()
    play.call(7)
    play.emit(1)
    assert decide_cursor(play.session, at(2, 2)) == Reattach(2, 2)
    assert decide_cursor(play.session, at(2, 1)) == Refuse(OUT, 2, 2, 2)
    assert decide_cursor(play.session, at(2, 3)) == Refuse(AHEAD, 2, 2, 2)


# Deployments that do not re-attach


def test_a_deployment_that_replays_replays_the_whole_stream_whatever_the_seq() -> None:
    play = Play()
    play.call(7)
    play.emit(2)
    play.emit(2)
    replaying = evolve(play.session, mode=Mode.REPLAY)
    for seq in range(9):
        assert decide_cursor(replaying, at(2, seq)) == Replay(2, 2)
    assert decide_cursor(replaying, ABSENT) == Fresh()
    assert decide_cursor(replaying, MALFORMED) == Refuse(Reason.CURSOR_MALFORMED)
    assert decide_cursor(replaying, Cursor(Presence.PRESENT, "U", 2, 2)) == Refuse(Reason.CURSOR_FOREIGN)
    assert decide_cursor(replaying, at(3, 2)) == Refuse(OUT)


def test_a_deployment_that_replays_refuses_once_the_beginning_has_left(picture: Session) -> None:
    # Where seqs are not to be relied on, nobody knows whether the client had what has left: silence would be a gap.
    replaying = evolve(picture, mode=Mode.REPLAY)
    for seq in range(13):
        assert decide_cursor(replaying, at(2, seq)) == Refuse(OUT)


def test_a_deployment_that_can_neither_refuses_every_cursor(picture: Session) -> None:
    refusing = evolve(picture, mode=Mode.REFUSE)
    assert decide_cursor(refusing, at(2, 8)) == Refuse(OUT)
    assert decide_cursor(refusing, at(2, 11)) == Refuse(OUT)
    assert decide_cursor(refusing, MALFORMED) == Refuse(Reason.CURSOR_MALFORMED)
    assert decide_cursor(refusing, Cursor(Presence.PRESENT, TAG + TAG, 2, 8)) == Refuse(Reason.CURSOR_FOREIGN)
    assert decide_cursor(refusing, ABSENT) == Fresh()
