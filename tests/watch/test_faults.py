"""Each fault on the wire: what client and server see, what is noted, and that nobody is blamed for it."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from tests.watch.ground import (
    CALL,
    EOF,
    INITIALIZE,
    LAST,
    RESET,
    STREAM,
    Stand,
    chunk,
    event,
    get,
    post,
    run,
    standing,
    streaming,
    until,
    whole,
)

from reattach.live.watch.fault import Do
from reattach.live.watch.sentence import read_sentence
from reattach.oracle.verdict import Level

Scene = Callable[[Stand], Awaitable[None]]


async def cut(stand: Stand) -> None:
    client, server = await streaming(stand)
    await server.send(b"".join(chunk(event(number)) for number in range(1, 6)))
    assert await client.chunk() == event(1)
    assert await client.chunk() == event(2)
    assert await client.rest() == b""
    assert client.ended == EOF  # an end without the last chunk
    await server.rest()
    assert server.ended in (EOF, RESET)
    assert stand.kinds == ["request", "response", "frame", "frame", "closed"]
    assert stand.told[-1] == {"type": "closed", "connection": 1, "by": "network", "clean": False}


async def cut_inside(stand: Stand) -> None:
    client, server = await streaming(stand)
    await server.send(chunk(event(1)[:7]))
    await server.send(chunk(event(1)[7:]) + chunk(event(2)))
    body = b""
    while len(body) <= len(event(1)):
        body += await client.chunk()
    assert await client.rest() == b""
    assert event(1) < body < event(1) + event(2)
    assert stand.kinds == ["request", "response", "frame", "closed"]


async def cut_the_third(stand: Stand) -> None:
    for number in range(2):
        client, server = await streaming(stand, post(CALL, session=f"{number:032d}"))
        await server.send(chunk(event(1)) + chunk(event(2)) + chunk(event(3)) + LAST)
        assert [await client.chunk() for _ in range(3)] == [event(1), event(2), event(3)]
        assert await client.read(5) == LAST
    await cut_short(stand, 2)


async def cut_short(stand: Stand, events: int) -> None:
    client, server = await streaming(stand)
    await server.send(b"".join(chunk(event(number)) for number in range(1, 9)))
    assert [await client.chunk() for _ in range(events)] == [event(number) for number in range(1, events + 1)]
    assert await client.rest() == b""


async def reset_before_the_answer(stand: Stand) -> None:
    client = await stand.client()
    await client.send(post(CALL))
    server = await stand.server()
    assert await server.request() == b"POST /mcp HTTP/1.1"  # the server got it
    await server.send(whole(b"{}"))
    assert await client.rest() == b""
    assert client.ended == RESET
    await server.rest()
    assert server.ended in (EOF, RESET)
    assert stand.kinds == ["request", "closed"]


async def reset_a_view(stand: Stand) -> None:
    client, server = await streaming(stand)
    await server.send(chunk(event(1)))
    await client.rest()
    assert client.ended == RESET
    await server.rest()
    assert server.ended == RESET
    assert stand.kinds == ["request", "response", "frame", "closed"]


async def half_open(stand: Stand) -> None:
    client, server = await streaming(stand)
    await server.send(chunk(event(1)))
    await client.rest()
    assert client.ended == RESET
    await server.send(chunk(event(2)))
    assert await server.silent()  # neither an end nor a reset
    assert stand.kinds == ["request", "response", "frame", "read-paused"]


async def silence(stand: Stand) -> None:
    client = await stand.client()
    await client.send(post(CALL))
    assert await client.silent()
    assert await stand.unasked()
    assert stand.notes == []
    client.close()
    again, server = await streaming(stand)  # only once
    await server.send(chunk(event(1)))
    assert await again.chunk() == event(1)


async def silence_in_a_view(stand: Stand) -> None:
    client, server = await streaming(stand)
    await server.send(chunk(event(1)))
    assert await client.chunk() == event(1)
    await server.send(chunk(event(2)) + LAST)
    assert await client.silent()
    assert await server.silent()
    client.close()
    await server.rest()
    assert server.ended == RESET
    assert stand.kinds == ["request", "response", "frame", "read-paused"]


async def delay(stand: Stand) -> None:
    client = await stand.client()
    begun = asyncio.get_running_loop().time()
    await client.send(post(CALL))
    server = await stand.server()
    await server.request()
    await server.send(whole(b"{}"))
    await client.head()
    assert asyncio.get_running_loop().time() - begun >= 0.3
    assert await client.read(2) == b"{}"
    assert stand.kinds == ["request", "response", "body", "closed"]


async def slow_reader(stand: Stand) -> None:
    client, server = await streaming(stand)
    begun = asyncio.get_running_loop().time()
    await server.send(chunk(event(1)) + chunk(event(2)) + chunk(event(3)))
    for number in range(1, 4):
        assert await client.chunk() == event(number)
    assert asyncio.get_running_loop().time() - begun >= 2 * 0.25
    await until(lambda: stand.kinds.count("read-resumed") == 3)
    assert stand.kinds == ["request", "response", *["frame", "read-paused", "read-resumed"] * 3]


async def refuse(stand: Stand) -> None:
    client = await stand.client()
    for _ in range(2):
        await client.send(get("Last-Event-ID: e1", "Mcp-Session-Id: S"))
        first, fields = await client.head()
        assert first.startswith(b"HTTP/1.1 503 ")
        length = next(int(value) for name, value in fields if name == b"Content-Length")
        error = json.loads(await client.read(length))["error"]["message"]
        assert "answer 503 to the first 2 reconnects" in error
    assert await stand.unasked()
    assert stand.notes == []
    await client.send(get("Last-Event-ID: e1", "Mcp-Session-Id: S"))  # on the same connection, and answered
    server = await stand.server()
    await server.request()
    await server.send(STREAM + chunk(event(2)))
    await client.head()
    assert await client.chunk() == event(2)
    assert stand.kinds == ["request", "response", "frame"]


async def answer_once(stand: Stand) -> None:
    client = await stand.client()
    await client.send(post(INITIALIZE))
    server = await stand.server()
    await server.request()
    await server.send(whole(b"{}"))
    await client.head()
    await client.read(2)
    await client.send(post(CALL, session="S"))
    first, fields = await client.head()
    assert first.startswith(b"HTTP/1.1 404 ")
    await client.read(next(int(value) for name, value in fields if name == b"Content-Length"))
    await client.send(post(CALL, session="S"))
    await server.request()
    assert stand.kinds.count("request") == 2  # the one that the server never got is not its business


async def drop(stand: Stand) -> None:
    client = await stand.client()
    await client.send(get("Last-Event-ID: e1", "X-Stays: 1", "last-event-id: e2"))
    server = await stand.server()
    _, fields = await server.head()
    assert [name for name, _ in fields] == [b"Host", b"X-Stays"]
    assert "cursors" not in stand.told[0]


async def split(stand: Stand) -> None:
    client, server = await streaming(stand)
    sent = b"id: e1\r\ndata: {}\r\n\r\n"
    await server.send(chunk(sent))
    pieces = [await client.chunk() for _ in range(4)]
    assert pieces == [b"id: e1\r", b"\ndata: {}\r", b"\n\r", b"\n"]
    assert stand.kinds == ["request", "response", "frame"]


async def repeat(stand: Stand) -> None:
    client, server = await streaming(stand)
    await server.send(chunk(b"id: p\ndata:\n\n") + chunk(event(1)) + chunk(event(2)) + LAST)
    got = [await client.chunk() for _ in range(4)]
    assert got == [b"id: p\ndata:\n\n", event(1), event(1), event(2)]
    assert await client.read(5) == LAST
    assert stand.kinds == ["request", "response", "frame", "frame", "frame", "closed"]


SCENES: dict[str, Scene] = {
    "cut a view after two events": cut,
    "cut inside the second event": cut_inside,
    "cut the third view after two events": cut_the_third,
    "reset": reset_before_the_answer,
    "reset a view": reset_a_view,
    "half-open: keep the server's side": half_open,
    "accept and go silent": silence,
    "go silent after an event": silence_in_a_view,
    "delay by 300 ms": delay,
    "slow reader, 250 ms per event": slow_reader,
    "refuse the next two reconnects with 503": refuse,
    "answer 404 once": answer_once,
    "drop Last-Event-ID": drop,
    "split CR and LF over two chunks": split,
    "repeat a frame": repeat,
}


@pytest.mark.parametrize("sentence", SCENES)
def test_a_fault_on_the_wire(sentence: str) -> None:
    async def work() -> None:
        async with standing(sentence) as stand:
            await SCENES[sentence](stand)
            # What is played here does not prime its streams, and says no `retry`: it should, and need not.
            assert [finding for finding in stand.findings if finding.level is Level.MUST] == []
            assert stand.proxy is not None
            assert sum(stand.proxy.plan.acted) >= 1

    run(work())


def test_every_kind_of_fault_has_a_scene() -> None:
    assert {read_sentence(sentence).do for sentence in SCENES} == set(Do)


@pytest.mark.parametrize("sentence", [each for each in SCENES if each not in ("delay by 300 ms",)])
def test_without_the_fault_the_scene_is_another(sentence: str) -> None:
    """The assertions are about the fault: none of them holds where it does not act."""

    async def work() -> None:
        async with standing() as stand:
            with pytest.raises((AssertionError, TimeoutError)):
                async with asyncio.timeout(0.8):
                    await SCENES[sentence](stand)

    run(work())


def test_a_server_is_not_blamed_for_a_frame_that_was_repeated_and_is_for_one_that_it_repeats() -> None:
    async def play(stand: Stand, *events: bytes) -> None:
        client = await stand.client()
        await client.send(post(INITIALIZE))
        server = await stand.server()
        await server.request()
        said = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "s"}}}
        await server.send(whole(json.dumps(said).encode(), "Mcp-Session-Id: " + "S" * 32))
        _, fields = await client.head()
        await client.read(next(int(value) for name, value in fields if name == b"Content-Length"))
        await client.send(post(CALL, session="S" * 32))
        await server.request()
        await server.send(STREAM + b"".join(chunk(each) for each in events) + LAST)
        await client.read(LAST)

    async def work() -> None:
        bare, response = b"id: p\ndata:\n\n", event(9, id=7, result={})
        async with standing("repeat a frame") as stand:
            await play(stand, bare, event(1), event(2), response)
            assert stand.proxy is not None
            assert stand.proxy.plan.acted == [1]
            assert stand.findings == []
            assert stand.proxy.watcher.server == "s"
        async with standing() as stand:
            await play(stand, bare, event(1), event(1), event(2), response)
            assert {(finding.clause, finding.fault.value) for finding in stand.findings} == {
                ("DEL-" + "1", "duplicate-delivery")
            }

    run(work())


def test_a_server_is_not_blamed_for_a_cursor_that_was_dropped() -> None:
    """A GET that lost its cursor is a plain one to the server: that it answers with a fresh view is right."""

    async def work() -> None:
        async with standing("drop Last-Event-ID") as stand:
            client = await stand.client()
            await client.send(get("Mcp-Session-Id: " + "S" * 32, "Last-Event-ID: none"))
            server = await stand.server()
            await server.request()
            await server.send(STREAM + chunk(event(1)) + LAST)
            await client.read(LAST)
            assert stand.findings == []

    run(work())
