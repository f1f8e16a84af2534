"""The server: which session a request names, in which order it is asked, and how many there may be."""

import pytest
from tests.machine.plays import policy_with

from reattach.machine.cursor import ABSENT, MALFORMED, Cursor, Presence
from reattach.machine.decision import Decision, Fresh, Reason, Reattach, Refuse, Replay
from reattach.machine.modes import Deployment, Mode
from reattach.machine.server import Server, decide, initialize, locate, take, tick
from reattach.machine.session import Session
from reattach.machine.transition import (
    Arrive,
    Cause,
    Done,
    Emit,
    Emitted,
    Ending,
    Gone,
    Opened,
    OpenStream,
    Resume,
    Terminate,
    Tick,
    Write,
)

POLICY = policy_with(sessions=2)
ABSENCE = POLICY.absence_ms


REATTACHING = Deployment()


def two_sessions(deployment: Deployment = REATTACHING) -> Server:
    """``A`` of nobody and ``B`` of Bob, each with a call on stream 2."""
    server = Server(POLICY, deployment)
    server = initialize(server, 0, "A", "a", "").server
    server = initialize(server, 0, "B", "b", "bob").server
    server = take(server, 0, "A", OpenStream(1)).server
    return take(server, 0, "B", OpenStream(2)).server


def cursor(tag: str, stream: int, seq: int) -> Cursor:
    """The cursor of one seq of one stream of the session with this tag."""
    return Cursor(Presence.PRESENT, tag, stream, seq)


def test_a_session_begins_with_its_tag_its_principal_and_the_deployments_mode() -> None:
    server = two_sessions()
    session = server.sessions["B"]
    assert (session.tag, session.principal, session.mode) == ("b", "bob", Mode.REATTACH)


def test_sessions_are_limited_and_a_refused_one_changes_nothing() -> None:
    server = two_sessions()
    refused = initialize(server, 0, "C", "c", "")
    assert refused.result == Refuse(Reason.SESSIONS_EXHAUSTED)
    assert refused.server == server


def test_a_session_that_is_over_makes_room() -> None:
    server = take(two_sessions(), 0, "A", Terminate()).server
    opened = initialize(server, 0, "C", "c", "")
    assert opened.result == Done()
    assert set(opened.server.sessions) == {"B", "C"}


def test_a_session_that_is_absent_for_too_long_makes_room_before_the_limit_is_asked() -> None:
    server = Server(policy_with(sessions=1))
    server = initialize(server, 0, "A", "a", "").server
    assert initialize(server, ABSENCE, "B", "b", "").result == Refuse(Reason.SESSIONS_EXHAUSTED)
    assert set(initialize(server, ABSENCE + 1, "B", "b", "").server.sessions) == {"B"}


# Steps 1 and 2


def test_a_missing_header_is_missing_whoever_asks() -> None:
    assert locate(two_sessions(), 0, "", "bob") == Refuse(Reason.SESSION_MISSING)


@pytest.mark.parametrize(("name", "principal"), [("C", ""), ("B", ""), ("B", "eve"), ("A", "bob")])
def test_never_issued_and_anothers_cannot_be_told_apart(name: str, principal: str) -> None:
    assert locate(two_sessions(), 0, name, principal) == Refuse(Reason.SESSION_UNKNOWN)


def test_a_terminated_session_is_as_if_it_had_never_been() -> None:  # SES-2, SES-6, SES-8
    server = two_sessions()
    ended = take(server, 0, "A", Terminate())
    assert ended.endings == (Ending(1, Cause.TERMINATED, stream=2, position=2),)
    assert "A" not in ended.server.sessions
    assert locate(ended.server, 0, "A", "") == locate(ended.server, 0, "C", "")
    assert take(ended.server, 0, "A", Arrive()).result == take(ended.server, 0, "C", Arrive()).result == Gone()


def test_the_session_that_is_found_is_brought_to_the_present() -> None:
    server = two_sessions()
    located = locate(server, 11, "B", "bob")
    assert isinstance(located, Session)
    assert located.now == 11
    assert located.streams[1].view.connection == 0  # its greeting was left unread for too long


def test_a_session_absent_for_too_long_is_unknown_though_nobody_looked() -> None:
    server = initialize(Server(POLICY), 0, "A", "a", "").server
    assert isinstance(locate(server, ABSENCE, "A", ""), Session)
    assert locate(server, ABSENCE + 1, "A", "") == Refuse(Reason.SESSION_UNKNOWN)


# The decision in full


@pytest.mark.parametrize(
    ("name", "principal", "presented", "decision"),
    [
        ("", "bob", MALFORMED, Refuse(Reason.SESSION_MISSING)),
        ("", "bob", cursor("b", 2, 2), Refuse(Reason.SESSION_MISSING)),
        ("C", "bob", MALFORMED, Refuse(Reason.SESSION_UNKNOWN)),
        ("B", "eve", MALFORMED, Refuse(Reason.SESSION_UNKNOWN)),
        ("B", "bob", ABSENT, Fresh()),
        ("B", "bob", MALFORMED, Refuse(Reason.CURSOR_MALFORMED)),
        ("B", "bob", cursor("a", 2, 2), Refuse(Reason.CURSOR_FOREIGN)),
        ("A", "", cursor("b", 2, 2), Refuse(Reason.CURSOR_FOREIGN)),
        ("B", "bob", cursor("b", 2, 2), Reattach(2, 2)),
    ],
)
def test_the_questions_are_asked_in_order(name: str, principal: str, presented: Cursor, decision: Decision) -> None:
    assert decide(two_sessions(), 0, name, principal, presented) == decision


STATELESS = Deployment(client_stateless=True, dedup_memory=9, longest_replay=9)


@pytest.mark.parametrize(
    ("principal", "presented", "decision"),
    [
        ("bob", cursor("b", 2, 2), Replay(2, 2)),
        ("bob", cursor("b", 2, 99), Replay(2, 2)),
        ("", cursor("a", 2, 2), Replay(2, 2)),
        ("eve", cursor("b", 2, 2), Refuse(Reason.SESSION_UNKNOWN)),  # a bearer token, but not of another principal
        ("bob", cursor("c", 2, 2), Refuse(Reason.SESSION_MISSING)),
        ("bob", ABSENT, Refuse(Reason.SESSION_MISSING)),
        ("bob", MALFORMED, Refuse(Reason.SESSION_MISSING)),
    ],
)
def test_where_clients_are_stateless_the_cursor_names_the_session(
    principal: str, presented: Cursor, decision: Decision
) -> None:
    assert decide(two_sessions(STATELESS), 0, "", principal, presented) == decision


def test_a_tag_that_can_be_guessed_names_no_session() -> None:
    guessable = Deployment(client_stateless=True, dedup_memory=9, longest_replay=9, tag_unguessable=False)
    server = two_sessions(guessable)
    assert decide(server, 0, "", "bob", cursor("b", 2, 2)) == Refuse(Reason.SESSION_MISSING)
    assert decide(server, 0, "B", "bob", cursor("b", 2, 2)) == Refuse(Reason.CURSOR_OUT_OF_WINDOW)


# Steps


def test_a_step_of_one_session_leaves_the_others_as_they_are() -> None:
    server = two_sessions()
    stepped = take(server, 5, "A", Emit(2, 1, "message"))
    assert stepped.result == Emitted(2, 3)
    assert stepped.server.sessions["B"] is server.sessions["B"]


def test_a_cursor_of_another_session_opens_nothing() -> None:
    server = two_sessions()
    assert take(server, 0, "A", Resume(3, cursor("b", 2, 2))).result == Refuse(Reason.CURSOR_FOREIGN)
    assert take(server, 0, "A", Resume(3, cursor("a", 2, 2))).result == Opened(2, 2)


def test_time_reaches_every_session_and_ends_what_is_due() -> None:
    ticked = tick(two_sessions(), 11)
    assert ticked.endings == (Ending(1, Cause.STALLED, 2, 2), Ending(2, Cause.STALLED, 2, 2))
    assert {session.now for session in ticked.server.sessions.values()} == {11}


def test_time_drops_the_sessions_that_it_ends() -> None:
    server = initialize(Server(POLICY), 0, "A", "a", "").server
    assert set(tick(server, ABSENCE).server.sessions) == {"A"}
    assert tick(server, ABSENCE + 1).server.sessions == {}
    assert take(server, ABSENCE + 1, "A", Tick()).server.sessions == {}
    assert take(server, ABSENCE + 1, "A", Write(1)).result == Gone()


def test_servers_are_equal_if_their_sessions_are_whatever_the_order() -> None:
    server = Server(POLICY)
    one = initialize(initialize(server, 0, "A", "a", "").server, 0, "B", "b", "").server
    other = initialize(initialize(server, 0, "B", "b", "").server, 0, "A", "a", "").server
    assert one == other
    assert hash(one) == hash(other)
    assert one != initialize(server, 0, "A", "a", "").server
