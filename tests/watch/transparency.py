"""What is asked of everything that stands between: each is a coroutine that fails if it is not so."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from tests.watch.ground import (
    CALL,
    EOF,
    LAST,
    RESET,
    STREAM,
    Stand,
    chunk,
    event,
    get,
    post,
    streaming,
    whole,
)

Check = Callable[[Stand], Coroutine[Any, Any, None]]


async def a_request_arrives_as_it_was_sent(stand: Stand) -> None:
    client = await stand.client()
    lines = [
        b"POST /mcp?a=%20b HTTP/1.1",
        b"Host: " + stand.authority,
        b"X-MiXeD-cAsE: one",
        b"Last-Event-ID: a",
        b"last-event-id: ",
        b"X-Twice: 1",
        b"X-Between: 2",
        b"X-Twice: 3",
        b"Origin: http://evil.example",
        b"Authorization: Bearer secret",
        b"Accept-Encoding: gzip, br",
        b"Content-Length: 5",
    ]
    await client.send(b"\r\n".join([*lines, b"", b"{\r\n }"]))
    server = await stand.server()
    got = await server.read(b"\r\n\r\n")
    assert [line.rstrip() for line in got.split(b"\r\n") if line] == [line.rstrip() for line in lines]
    assert await server.read(5) == b"{\r\n }"


async def an_answer_arrives_as_it_was_sent(stand: Stand) -> None:
    client = await stand.client()
    await client.send(get())
    server = await stand.server()
    await server.request()
    lines = [
        b"HTTP/1.1 409 Not Now, Please",
        b"X-First: 1",
        b"Set-Cookie: a=b",
        b"sEt-CoOkIe: c=d",
        b"Mcp-Session-Id: S",
        b"Content-Encoding: gzip",
        b"Content-Length: 4",
    ]
    body = b"\x1f\x8b\x00\xff"
    await server.send(b"\r\n".join([*lines, b"", body]))
    got = await client.read(b"\r\n\r\n")
    assert got.split(b"\r\n")[:-2] == lines
    assert await client.read(4) == body


async def an_event_passes_when_it_comes(stand: Stand) -> None:
    client, server = await streaming(stand)
    for number in range(1, 4):
        await server.send(chunk(event(number)))
        assert await client.chunk() == event(number)  # before the next is there


async def half_an_event_passes_when_it_comes(stand: Stand) -> None:
    client, server = await streaming(stand)
    first, second = event(1)[:9], event(1)[9:]
    await server.send(chunk(first))
    assert await client.chunk() == first
    await server.send(chunk(second))
    assert await client.chunk() == second


async def chunks_stay_as_they_are(stand: Stand) -> None:
    client, server = await streaming(stand)
    pieces = [b"id: 1\r", b"\ndata: \xe2\x82", b"\xac\r\n\r\n", b":\n\n", b"x" * 70_000]
    await server.send(b"".join(chunk(piece) for piece in pieces) + LAST)
    assert b"".join([await client.chunk() for _ in pieces[:-1]]) == b"".join(pieces[:-1])
    rest = b""
    while len(rest) < len(pieces[-1]):
        rest += await client.chunk()
    assert rest == pieces[-1]
    assert await client.read(len(LAST)) == LAST


async def a_request_passes_as_it_comes(stand: Stand) -> None:
    client = await stand.client()
    await client.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    server = await stand.server()
    await server.read(b"\r\n\r\n")
    for piece in (b'{"a":', b"1}"):
        await client.send(chunk(piece))
        assert await server.chunk() == piece
    await client.send(LAST)
    assert await server.read(len(LAST)) == LAST


async def connections_are_kept(stand: Stand) -> None:
    client = await stand.client()
    await client.send(post(CALL))
    server = await stand.server()
    for number in range(3):
        await server.request()
        body = json.dumps({"jsonrpc": "2.0", "id": 7, "result": number}).encode()
        await server.send(whole(body))
        await client.head()
        assert await client.read(len(body)) == body
        if number < 2:
            await client.send(post(CALL))


async def pipelined_requests_are_answered_in_order(stand: Stand) -> None:
    client = await stand.client()
    await client.send(post(CALL) + post(CALL))
    server = await stand.server()
    for body in (b"[1]", b"[2]"):
        await server.request()
        await server.send(whole(body))
    for body in (b"[1]", b"[2]"):
        await client.head()
        assert await client.read(3) == body


async def a_reset_of_the_server_is_a_reset(stand: Stand) -> None:
    client, server = await streaming(stand)
    await server.send(chunk(event(1)))
    assert await client.chunk() == event(1)
    server.reset()
    await client.rest()
    assert client.ended == RESET


async def an_end_in_the_middle_is_no_polite_end(stand: Stand) -> None:
    client, server = await streaming(stand)
    await server.send(chunk(event(1)) + b"ff\r\nid: 2")
    server.close()
    assert await client.chunk() == event(1)
    assert await client.rest() in (b"", b"5\r\nid: 2\r\n", b"ff\r\nid: 2")  # and no last chunk
    assert client.ended == EOF


async def a_reset_before_any_answer_is_a_reset(stand: Stand) -> None:
    client = await stand.client()
    await client.send(post(CALL))
    server = await stand.server()
    await server.request()
    server.reset()
    assert await client.rest() == b""
    assert client.ended == RESET


async def a_server_that_is_not_there_gives_no_answer(stand: Stand) -> None:
    stand.listener.close()
    client = await stand.client()
    await client.send(post(CALL))
    assert await client.rest() == b""
    assert client.ended == RESET


async def a_client_that_goes_is_gone_for_the_server(stand: Stand) -> None:
    client, server = await streaming(stand)
    client.close()
    await server.rest()
    assert server.ended in (EOF, RESET)


async def a_client_that_resets_is_reset_for_the_server(stand: Stand) -> None:
    client, server = await streaming(stand)
    client.reset()
    await server.rest()
    assert server.ended == RESET


async def an_idle_end_of_the_server_ends_the_connection(stand: Stand) -> None:
    client = await stand.client()
    await client.send(get())
    server = await stand.server()
    await server.request()
    await server.send(whole(b"{}"))
    await client.head()
    await client.read(2)
    server.close()
    assert await client.rest() == b""
    assert client.ended == EOF


async def a_reader_that_stops_stops_the_server(stand: Stand) -> None:
    client = await stand.client(receive_buffer=8_192)
    await client.send(get())
    server = await stand.server()
    await server.request()
    await server.send(STREAM)
    await client.head()
    piece, sent = chunk(b"x" * 16_384), 0
    while sent < 64 * 1024 * 1024:
        try:
            async with asyncio.timeout(0.5):
                await server.send(piece)
        except TimeoutError:
            break
        sent += len(piece)
    # What the kernel takes of the server's own, and a little: but not what a buffer in between would take.
    assert sent < 16 * 1024 * 1024


async def an_end_that_http_gives_is_one(stand: Stand) -> None:
    client, server = await streaming(stand)
    await server.send(chunk(event(1)) + b"0\r\nX-Trailer: t\r\n\r\n")
    assert await client.chunk() == event(1)
    assert await client.read(b"\r\n\r\n") == b"0\r\nX-Trailer: t\r\n\r\n"


CHECKS: tuple[Check, ...] = (
    a_request_arrives_as_it_was_sent,
    an_answer_arrives_as_it_was_sent,
    an_event_passes_when_it_comes,
    half_an_event_passes_when_it_comes,
    chunks_stay_as_they_are,
    a_request_passes_as_it_comes,
    connections_are_kept,
    pipelined_requests_are_answered_in_order,
    a_reset_of_the_server_is_a_reset,
    an_end_in_the_middle_is_no_polite_end,
    a_reset_before_any_answer_is_a_reset,
    a_server_that_is_not_there_gives_no_answer,
    a_client_that_goes_is_gone_for_the_server,
    a_client_that_resets_is_reset_for_the_server,
    an_idle_end_of_the_server_ends_the_connection,
    a_reader_that_stops_stops_the_server,
    an_end_that_http_gives_is_one,
)
