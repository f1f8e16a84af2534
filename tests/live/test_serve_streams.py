"""The reference server's streams: what a view begins with, takeover, stalls, backpressure, budgets, and their ends."""

import asyncio
import json
from typing import Any

import pytest
from attrs import evolve
from tests.live.raw import (
    PATIENT,
    Answer,
    Client,
    at_seq,
    connect,
    last_id,
    message,
    numbers,
    server,
    session_of,
    until,
)

from reattach.live.serve import Running
from reattach.live.sse import CommentLine, Event
from reattach.live.wire import ConnectionLostError, Cut
from reattach.machine.session import Stream, is_viewed
from reattach.machine.transition import Cause, Ending

REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25"]
REATTACH: dict[str, Any] = {"experimental": {"reattach": {}}}
SMALL = 4_096
"""SO_RCVBUF of a reader that is to stop: what the kernels then hold of a stream is far less than one big message."""
BIG = 100_000
"""Bytes of padding of a message that no transport takes whole from a stopped reader."""


def viewed(running: Running, client: Client) -> list[Stream]:
    session = session_of(running, client)
    return [] if session is None else [stream for stream in session.streams if is_viewed(stream)]


async def is_lost(answer: Answer) -> bool:
    """Read to the end; whether the connection broke before the body's proper end."""
    try:
        while await answer.item() is not None:
            pass
    except ConnectionLostError:
        return True
    return False


# What a view begins with


@pytest.mark.parametrize("revision", REVISIONS)
def test_only_the_newest_revision_primes(revision: str) -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running, revision)
            events = await (await client.call("reattach_emit", count=2)).rest()
            if revision == "2025-11-25":
                assert numbers(events) == ["bare", 1, 2, "result"]
                assert (events[0].data, events[0].retry) == ("", PATIENT.retry_ms)
            else:
                assert numbers(events) == [1, 2, "result"]
                assert {event.retry for event in events} == {None}
            assert len({event.id for event in events}) == len(events)

    asyncio.run(run())


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("capabilities", [None, REATTACH], ids=["plain", "reattach"])
def test_a_resumed_view_begins_with_its_position(revision: str, capabilities: Any) -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running, revision, capabilities)
            events = await (await client.call("reattach_emit", count=4)).rest()
            cursor = next(event.id for event, number in zip(events, numbers(events), strict=True) if number == 2)
            assert cursor is not None
            resumed = await client.get(cursor)
            first = await resumed.item()
            if capabilities is not None:
                assert isinstance(first, Event)
                assert first.id == cursor
                _, stream, seq = cursor.split(".")
                params = {"stream": int(stream), "position": int(seq), "cursor": cursor}
                assert json.loads(first.data or "") == message("notifications/resumed", params, None)
            else:
                assert isinstance(first, CommentLine)
                assert first.text == f"resumed {cursor}"
                if revision == "2025-11-25":
                    block = await resumed.item()
                    assert isinstance(block, Event)
                    assert (block.id, block.data, block.retry) == (cursor, "", PATIENT.retry_ms)
            assert numbers(await resumed.rest()) == [3, 4, "result"]

    asyncio.run(run())


def test_a_resumption_in_the_middle_of_a_call_is_live() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            answer = await client.call("reattach_emit", count=60, interval_ms=3)
            got = numbers(seen := await answer.events(4))
            while "result" not in got:
                answer.cut()
                answer = await client.get(last_id(seen))
                assert numbers([await answer.event()]) == ["bare"]
                seen = []
                while len(seen) < 7 and "result" not in got:
                    seen.append(await answer.event())
                    got += numbers(seen[-1:])
            assert got == ["bare", *range(1, 61), "result"]
            assert await answer.rest() == []  # and the stream ends

    asyncio.run(run())


def test_a_disconnect_is_no_cancellation() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            answer = await client.call("reattach_emit", count=5, interval_ms=20)
            first = await answer.event()
            answer.cut(Cut.CLOSE)
            await until(lambda: [stream.finished for stream in unfinished(running, client)] == [])
            assert numbers(await (await client.get(first.id or "")).rest()) == ["bare", 1, 2, 3, 4, 5, "result"]

    asyncio.run(run())


def unfinished(running: Running, client: Client) -> list[Stream]:
    session = session_of(running, client)
    assert session is not None
    return [stream for stream in session.streams if not stream.finished and stream.number != session.standalone]


# The standalone stream


def test_a_call_that_lets_its_view_go_is_answered_on_the_resumption() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running, "2025-11-25")
            primed = await (await client.call("test_reconnection")).rest()
            assert numbers(primed) == ["bare"]
            assert primed[0].retry is not None
            events = await (await client.get(last_id(primed))).rest()
            assert numbers(events) == ["bare", "result"]

    asyncio.run(run())


def test_an_older_revisions_call_keeps_its_view() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running, "2025-06-18")
            assert numbers(await (await client.call("test_reconnection")).rest()) == ["result"]

    asyncio.run(run())


def test_early_pushes_wait_for_the_first_listener() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            await (await client.call("reattach_push", count=3)).rest()
            listener = await client.get()
            assert numbers(await listener.events(4)) == ["bare", 1, 2, 3]
            await (await client.call("reattach_push", count=2)).rest()
            assert numbers(await listener.events(2)) == [1, 2]

    asyncio.run(run())


def test_a_second_listener_gets_a_new_stream_and_the_first_what_it_is_owed() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            first = await client.get()
            assert numbers([await first.event()]) == ["bare"]
            await (await client.call("reattach_push", count=2, label="old")).rest()
            second = await client.get()
            await (await client.call("reattach_push", count=2, label="new")).rest()
            assert numbers(owed := await first.rest()) == [1, 2]
            assert all('"old"' in (event.data or "") for event in owed)
            got = await second.events(3)
            assert numbers(got) == ["bare", 1, 2]
            assert all('"new"' in (event.data or "") for event in got[1:])
            # The finished stream still resumes, and ends.
            assert numbers(await (await client.get(owed[0].id or "")).rest()) == ["bare", 2]

    asyncio.run(run())


def test_a_push_is_on_the_standalone_stream_and_its_result_on_the_calls() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            listener = await client.get()
            assert numbers(await (await client.call("reattach_push", count=3)).rest()) == ["bare", "result"]
            assert numbers(await listener.events(4)) == ["bare", 1, 2, 3]

    asyncio.run(run())


# Takeover


def test_a_resumption_takes_over_from_an_open_connection() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            old = await client.get()
            primed = await old.event()
            new = await client.get(primed.id or "")
            assert numbers([await new.event()]) == ["bare"]
            await (await client.call("reattach_push", count=2)).rest()
            assert numbers(await new.events(2)) == [1, 2]
            assert await is_lost(old)
            [stream] = viewed(running, client)
            assert stream.kind.value == "standalone"

    asyncio.run(run())


def test_a_resumption_takes_over_from_a_connection_whose_write_is_blocked() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            old = await client.call("reattach_emit", count=3, size=BIG, receive_buffer=SMALL)
            primed = await old.event()
            await until(lambda: [stream.view.outstanding for stream in viewed(running, client)] == [True])
            new = await client.get(primed.id or "")
            assert numbers(await new.rest()) == ["bare", 1, 2, 3, "result"]
            assert await is_lost(old)

    asyncio.run(run())


# Slow readers


def test_a_stalled_view_is_ended_and_loses_nothing() -> None:
    async def run() -> None:
        async with server(evolve(PATIENT, stall_ms=200)) as running:
            client = await connect(running)
            old = await client.call("reattach_emit", count=8, size=BIG, receive_buffer=SMALL)
            primed = await old.event()
            await until(lambda: viewed(running, client) == [])
            assert await is_lost(old)
            new = await client.get(primed.id or "")
            assert numbers(await new.rest()) == ["bare", *range(1, 9), "result"]

    asyncio.run(run())


def held(running: Running, client: Client) -> int:
    session = session_of(running, client)
    return 0 if session is None else len(session.window.held)


def test_another_stream_goes_on_while_an_emission_waits_for_its_reader() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            slow = await client.call("reattach_emit", count=1_000, size=20_000, receive_buffer=SMALL)
            assert numbers([await slow.event()]) == ["bare"]
            await until(lambda: held(running, client) == PATIENT.window_events)
            listener = await client.get()
            quick = await client.call("reattach_push", "quick", count=100)
            assert numbers(await quick.rest()) == ["bare", "result"]
            assert numbers(await listener.events(101)) == ["bare", *range(1, 101)]
            assert [stream.number for stream in unfinished(running, client)] == [2]  # the slow one is not over

    asyncio.run(run())


def test_a_stalled_view_whose_transport_still_takes_something_is_told() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            listener = await client.get()
            primed = await listener.event()
            [stream] = viewed(running, client)
            # A reader that is caught up cannot stall; the carrier is told nevertheless, as the machine would tell it.
            carrier = running.endpoint.host._carriers[stream.view.connection]
            carrier.end(Ending(stream.view.connection, Cause.STALLED, stream.number, stream.view.position))
            assert (await listener.event()).retry == PATIENT.retry_ms  # IDL-5
            assert await listener.comment() == f"resumption-required {primed.id} stalled"
            assert await listener.rest() == []
            assert numbers([await (await client.get(primed.id or "")).event()]) == ["bare"]

    asyncio.run(run())


def test_an_emission_waits_for_its_own_reader_however_slow() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            count = 4 * PATIENT.window_events
            answer = await client.call("reattach_emit", count=count, size=20_000, receive_buffer=SMALL)
            assert numbers([await answer.event()]) == ["bare"]
            await until(lambda: held(running, client) == PATIENT.window_events)
            assert numbers(await answer.rest()) == [*range(1, count + 1), "result"]

    asyncio.run(run())


@pytest.mark.parametrize("capabilities", [None, REATTACH], ids=["plain", "reattach"])
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_an_overtaken_view_is_told_and_ended(revision: str, capabilities: Any) -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running, revision, capabilities)
            slow = await client.call("reattach_emit", count=3, size=BIG, receive_buffer=SMALL)
            await until(lambda: [stream.view.outstanding for stream in viewed(running, client)] == [True])
            await until(lambda: unfinished(running, client) == [])
            # Another stream of the session is not held up, and pushes the slow one's events out of the window.
            count = 2 * PATIENT.window_events
            quick = numbers(await (await client.call("reattach_emit", "quick", count=count)).rest())
            assert quick[-count - 1 :] == [*range(1, count + 1), "result"]

            got: list[Event] = []
            comments: list[str] = []
            while (item := await slow.item()) is not None:  # a clean end
                if isinstance(item, Event):
                    got.append(item)
                else:
                    comments.append(item.text)
            with_message = [event for event in got if event.data]
            cursor = with_message[0].id
            assert numbers(with_message[:1]) == [1]
            assert with_message[1:] == [] or capabilities is not None
            if capabilities is None:
                assert comments == [f"resumption-required {cursor} overtaken"]
            else:
                [told] = with_message[1:]
                _, stream, _ = (cursor or "").split(".")
                params = {"stream": int(stream), "cursor": cursor, "reason": "overtaken"}
                assert json.loads(told.data or "") == message("notifications/resumption_required", params, None)
                assert told.id is None
            if revision == "2025-11-25":
                assert got[-1].retry == PATIENT.retry_ms or got[-2].retry == PATIENT.retry_ms  # IDL-5
            assert await (await client.get(cursor or "")).refusal() == (409, "cursor-out-of-window")

    asyncio.run(run())


# Budgets


def test_a_quiet_view_gets_heartbeats_that_move_no_cursor() -> None:
    async def run() -> None:
        async with server(evolve(PATIENT, heartbeat_ms=20)) as running:
            client = await connect(running)
            listener = await client.get()
            assert [await listener.comment() for _ in range(3)] == ["heartbeat"] * 3
            await (await client.call("reattach_push", count=1)).rest()
            assert numbers([await listener.event()]) == [1]

    asyncio.run(run())


def test_an_event_older_than_t_is_gone() -> None:
    async def run() -> None:
        async with server(evolve(PATIENT, window_ms=300, stall_ms=200)) as running:
            client = await connect(running)
            events = await (await client.call("reattach_emit", count=2)).rest()
            await until(lambda: held(running, client) == 0)
            answer = await client.get(events[1].id or "")
            assert await answer.refusal() == (409, "cursor-out-of-window")

    asyncio.run(run())


def test_an_absent_clients_session_ends() -> None:
    async def run() -> None:
        async with server(evolve(PATIENT, absence_ms=300, retry_ms=100)) as running:
            client = await connect(running)
            listener = await client.get()
            await listener.event()
            await (await client.call("reattach_push", count=1, interval_ms=600)).rest()
            # A view and a call are signs of a client, however long they last.
            assert session_of(running, client) is not None
            listener.cut()
            await until(lambda: session_of(running, client) is None)
            assert await (await client.get()).refusal() == (404, "session-unknown")

    asyncio.run(run())


# Ends


def test_delete_ends_views_and_calls() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            listener = await client.get()
            call = await client.call("reattach_emit", count=2, interval_ms=60_000)
            blocked = await client.call("reattach_emit", 8, count=2, size=BIG, receive_buffer=SMALL)
            for answer in (listener, call, blocked):
                assert numbers([await answer.event()]) == ["bare"]
            assert (await client.send("DELETE")).status == 204
            for answer in (listener, call, blocked):
                assert await is_lost(answer)
            assert await (await client.get()).refusal() == (404, "session-unknown")

    asyncio.run(run())


def test_a_cancelled_call_ends_without_a_response() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            call = await client.call("reattach_emit", 7, count=2, interval_ms=60_000)
            primed = await call.event()
            for unknown in ("7", 8, None, [7]):
                assert (await client.notify("notifications/cancelled", {"requestId": unknown})).status == 202
            assert len(unfinished(running, client)) == 1
            assert (await client.notify("notifications/cancelled", {"requestId": 7})).status == 202
            assert await call.rest() == []
            answer = await client.get(at_seq(primed.id or "", 2))  # nothing of it is held: it is forgotten
            assert await answer.refusal() == (409, "cursor-out-of-window")

    asyncio.run(run())


def test_two_sessions_with_the_same_request_ids_stay_apart() -> None:
    async def run() -> None:
        async with server() as running:
            clients = [await connect(running), await connect(running)]
            calls = [
                await client.call("reattach_emit", 5, count=20, interval_ms=1, label=f"c{number}")
                for number, client in enumerate(clients)
            ]
            for number, call in enumerate(calls):
                events = await call.rest()
                assert numbers(events) == ["bare", *range(1, 21), "result"]
                assert all(f'"c{number}"' in (event.data or "") for event in events[1:-1])

    asyncio.run(run())
