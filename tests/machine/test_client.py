"""The client: every item in every situation, what it sends, and what it tells its application."""

import pytest
from attrs import evolve

from reattach.machine.client import (
    Client,
    ClientStream,
    News,
    Phase,
    Received,
    Told,
    find_by_connection,
    find_by_handle,
    follow,
    give_up,
    initialize,
    leave,
    may_resume,
    open_stream,
    reads,
    receive,
    refused,
    resume,
)
from reattach.machine.cursor import ABSENT, Cursor, Presence
from reattach.machine.decision import Reason
from reattach.machine.network import (
    Aborted,
    Attached,
    Deleted,
    Delivered,
    Ended,
    Initialized,
    Item,
    Nothing,
    Positioned,
    Primed,
    Refused,
    Request,
    ResumptionRequired,
    Retry,
    Verb,
)
from reattach.machine.session import StreamKind

UNKNOWN, GAP, LOST = News.OUTCOME_UNKNOWN, News.GAP, News.SESSION_LOST


def at(seq: int, stream: int = 2) -> Cursor:
    """The cursor of one seq."""
    return Cursor(Presence.PRESENT, "S1", stream, seq)


CALL = ClientStream(handle=1, kind=StreamKind.REQUEST, connection=2, cursor=at(5), attempts=2)
BARE = ClientStream(handle=2, kind=StreamKind.REQUEST, connection=3)
PUSHES = ClientStream(handle=3, kind=StreamKind.STANDALONE, connection=4, cursor=at(1, 1))
CLIENT = Client(phase=Phase.CONNECTED, session="S1", streams=(CALL, BARE, PUSHES), handles=3)
"""Connected, with a call that has a cursor, one that has none yet, and a listener."""

ITEMS: tuple[Item, ...] = (
    Nothing(),
    Initialized("S2"),
    Attached(),
    Refused(Reason.SESSION_UNKNOWN),
    Refused(Reason.CURSOR_OUT_OF_WINDOW),
    Deleted(),
    Primed(at(9)),
    Positioned(at(5)),
    Retry(500),
    Delivered(at(6), final=False),
    Delivered(at(6), final=True),
    ResumptionRequired(),
    Ended(),
    Aborted(),
)


def only(*streams: ClientStream, told: tuple[Told, ...] = ()) -> Client:
    """The client with these streams left, having told this."""
    return evolve(CLIENT, streams=streams, told=told)


LOST_ALL = Client(
    phase=Phase.MUST_INITIALIZE,
    handles=3,
    told=(Told(UNKNOWN, 1), Told(UNKNOWN, 2), Told(GAP, 3), Told(LOST)),
)


@pytest.mark.parametrize(
    ("item", "after"),
    [
        (Nothing(), CLIENT),
        (Initialized("S2"), CLIENT),
        (Attached(), CLIENT),
        (Deleted(), CLIENT),
        (Refused(Reason.SESSION_UNKNOWN), LOST_ALL),
        (Refused(Reason.CURSOR_OUT_OF_WINDOW), only(BARE, PUSHES, told=(Told(UNKNOWN, 1),))),
        (Refused(Reason.STREAMS_EXHAUSTED), only(BARE, PUSHES, told=(Told(UNKNOWN, 1),))),
        (Positioned(at(5)), CLIENT),
        (Positioned(at(4)), only(BARE, PUSHES, told=(Told(UNKNOWN, 1),))),
        (Positioned(at(5, 3)), only(BARE, PUSHES, told=(Told(UNKNOWN, 1),))),
        (Positioned(ABSENT), only(BARE, PUSHES, told=(Told(UNKNOWN, 1),))),
        (Primed(at(9)), only(evolve(CALL, cursor=at(9)), BARE, PUSHES)),
        (Primed(ABSENT), CLIENT),
        (Retry(500), only(evolve(CALL, retry_ms=500), BARE, PUSHES)),
        (Ended(), only(evolve(CALL, connection=0), BARE, PUSHES)),
        (Aborted(), only(evolve(CALL, connection=0), BARE, PUSHES)),
        (ResumptionRequired(), only(evolve(CALL, connection=0), BARE, PUSHES)),
    ],
)
def test_what_a_call_with_a_cursor_makes_of_each_item(item: Item, after: Client) -> None:
    assert receive(CLIENT, 2, item) == Received(after)


def test_an_event_is_applied_and_the_cursor_moved_in_one_step() -> None:
    moved = evolve(CALL, cursor=at(6), attempts=0)
    assert receive(CLIENT, 2, Delivered(at(6), final=False)) == Received(only(moved, BARE, PUSHES), applied=True)


def test_a_response_ends_its_stream() -> None:
    assert receive(CLIENT, 2, Delivered(at(6), final=True)) == Received(only(BARE, PUSHES), applied=True)


def test_an_event_without_an_id_is_applied_and_moves_no_cursor() -> None:
    client = evolve(CLIENT, memory=9)
    received = receive(client, 2, Delivered(ABSENT, final=False))
    assert received == Received(evolve(client, streams=(evolve(CALL, attempts=0), BARE, PUSHES)), applied=True)
    assert receive(CLIENT, 3, Delivered(ABSENT, final=False)) == Received(CLIENT, applied=True)


def test_priming_is_no_progress() -> None:
    assert find_by_handle(receive(CLIENT, 2, Primed(at(9))).client, 1)[0].attempts == 2


@pytest.mark.parametrize("item", [Ended(), Aborted(), ResumptionRequired()])
def test_without_a_cursor_there_is_no_way_back(item: Item) -> None:
    assert receive(CLIENT, 3, item) == Received(only(CALL, PUSHES, told=(Told(UNKNOWN, 2),)))


def test_a_first_event_or_priming_is_a_cursor() -> None:
    primed = receive(CLIENT, 3, Primed(at(7, 3))).client
    assert find_by_handle(primed, 2)[0].cursor == at(7, 3)
    received = receive(CLIENT, 3, Delivered(at(8, 3), final=False))
    assert received.applied
    assert find_by_handle(received.client, 2)[0].cursor == at(8, 3)


def test_a_position_stated_to_who_sent_none_is_wrong() -> None:
    assert receive(CLIENT, 3, Positioned(at(7, 3))) == Received(only(CALL, PUSHES, told=(Told(UNKNOWN, 2),)))


def test_a_listener_that_cannot_go_on_has_a_gap() -> None:
    refused = receive(CLIENT, 4, Refused(Reason.CURSOR_OUT_OF_WINDOW))
    assert refused == Received(only(CALL, BARE, told=(Told(GAP, 3),)))


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("connection", [0, 1, 9])
def test_what_comes_on_a_connection_that_it_does_not_read_is_ignored(connection: int, item: Item) -> None:
    waiting = evolve(CLIENT, streams=(evolve(CALL, connection=0), BARE, PUSHES))
    assert receive(waiting, connection, item) == Received(waiting)


@pytest.mark.parametrize("item", ITEMS)
def test_from_the_moment_of_resuming_the_old_connection_is_ignored(item: Item) -> None:
    resumed, _ = resume(CLIENT, CALL, 8)
    assert receive(resumed, 2, item) == Received(resumed)


# Deduplication


@pytest.mark.parametrize(
    ("memory", "seq", "applied"),
    [(0, 5, True), (0, 4, True), (1, 5, False), (1, 4, True), (2, 4, False), (5, 1, False), (9, 6, True), (9, 7, True)],
)
def test_an_event_within_its_memory_is_recognised(memory: int, seq: int, applied: bool) -> None:
    client = evolve(CLIENT, memory=memory)
    received = receive(client, 2, Delivered(at(seq), final=False))
    assert received.applied is applied
    assert applied or received == Received(client)


def test_who_has_no_cursor_recognises_nothing() -> None:
    received = receive(evolve(CLIENT, memory=9), 3, Delivered(at(1, 3), final=False))
    assert received.applied


# Initializing


def test_it_initializes_without_a_session_and_with_no_cursor() -> None:
    client, request = initialize(LOST_ALL, 9)
    assert (client.phase, client.initializing) == (Phase.INITIALIZING, 9)
    assert request == Request(Verb.INITIALIZE)
    assert reads(client, 9)


@pytest.mark.parametrize("item", ITEMS)
def test_only_an_initialized_connects(item: Item) -> None:
    client, _ = initialize(Client(), 9)
    after = receive(client, 9, item).client
    if isinstance(item, Initialized):
        assert after == Client(phase=Phase.CONNECTED, session="S2")
    else:
        assert after == Client(phase=Phase.MUST_INITIALIZE)
    assert not reads(after, 9)


# What it sends


@pytest.mark.parametrize(("kind", "verb"), [(StreamKind.REQUEST, Verb.CALL), (StreamKind.STANDALONE, Verb.LISTEN)])
def test_each_stream_has_a_handle_of_its_own(kind: StreamKind, verb: Verb) -> None:
    client, request = open_stream(CLIENT, 9, kind)
    assert request == Request(verb, "S1", 4)
    assert find_by_handle(client, 4) == (ClientStream(4, kind, 9),)
    assert find_by_connection(client, 9) == find_by_handle(client, 4)


def test_it_resumes_with_the_cursor_of_the_stream() -> None:
    client, request = resume(CLIENT, CALL, 9)
    assert request == Request(Verb.RESUME, "S1", 1, at(5))
    assert find_by_handle(client, 1) == (evolve(CALL, connection=9, attempts=3),)


def test_attempts_without_progress_are_bounded() -> None:
    client = evolve(CLIENT, attempts_limit=3)
    assert may_resume(client, CALL)
    again, _ = resume(client, CALL, 9)
    (stream,) = find_by_handle(again, 1)
    assert not may_resume(again, stream)
    progressed = receive(again, 9, Delivered(at(6), final=False)).client
    assert may_resume(progressed, find_by_handle(progressed, 1)[0])


def test_nothing_is_resumed_without_a_cursor() -> None:
    assert not may_resume(CLIENT, BARE)


# When it comes back


def lost(retry_ms: int, at_ms: int, client: Client = CLIENT) -> tuple[Client, ClientStream]:
    """The client that was given ``retry``, and then lost the connection of its call."""
    told = receive(client, 2, Retry(retry_ms)).client
    after = receive(told, 2, Aborted(), at_ms).client
    return after, find_by_handle(after, 1)[0]


@pytest.mark.parametrize("retry_ms", [0, 500])
def test_it_waits_as_long_as_it_was_told_to(retry_ms: int) -> None:
    client, stream = lost(retry_ms, 1_000)
    assert follow(client, stream, 9, 999 + retry_ms) == (client, None)
    assert follow(client, stream, 9, 1_000 + retry_ms) == resume(client, stream, 9)


def test_what_it_reads_it_need_not_come_back_to() -> None:
    assert follow(CLIENT, CALL, 9, 1_000) == (CLIENT, None)
    assert follow(CLIENT, evolve(CALL, attempts=3), 9, 1_000) == (CLIENT, None)


def test_it_waits_again_after_an_attempt_that_came_to_nothing() -> None:
    client, stream = lost(500, 1_000)
    again, _ = follow(client, stream, 9, 1_500)
    empty = receive(again, 9, Ended(), 1_600).client
    assert find_by_handle(empty, 1)[0].ready == 2_100


def test_the_latest_retry_counts() -> None:
    client, stream = lost(500, 1_000)
    again, _ = resume(client, stream, 9)
    told = receive(receive(again, 9, Retry(20)).client, 9, Ended(), 2_000).client
    assert find_by_handle(told, 1)[0].ready == 2_020


def test_it_does_not_wait_longer_than_it_will() -> None:
    client, stream = lost(500, 0, evolve(CLIENT, longest_wait_ms=500))
    assert follow(client, stream, 9, 0) == (client, None)
    client, stream = lost(501, 0, evolve(CLIENT, longest_wait_ms=500))
    assert follow(client, stream, 9, 0) == (give_up(client, stream), None)


def test_out_of_attempts_it_does_not_wait_but_tells() -> None:
    client, stream = lost(500, 0, evolve(CLIENT, attempts_limit=2))
    assert follow(client, stream, 9, 0) == (give_up(client, stream), None)


@pytest.mark.parametrize(("status", "gone"), [(404, True), (400, False), (405, False), (409, False), (503, False)])
def test_only_404_is_the_end_of_a_session(status: int, gone: bool) -> None:
    assert receive(CLIENT, 4, refused(status)).client == (LOST_ALL if gone else only(CALL, BARE, told=(Told(GAP, 3),)))


def test_to_give_up_is_to_say_so() -> None:
    assert give_up(CLIENT, CALL) == only(BARE, PUSHES, told=(Told(UNKNOWN, 1),))
    assert give_up(CLIENT, PUSHES) == only(CALL, BARE, told=(Told(GAP, 3),))


def test_to_leave_is_to_lose_everything_pending_and_to_say_so() -> None:
    assert leave(CLIENT) == (LOST_ALL, Request(Verb.DELETE, "S1"))


def test_a_session_is_lost_with_a_word_even_with_nothing_pending() -> None:
    assert leave(only())[0].told == (Told(LOST),)
