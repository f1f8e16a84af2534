"""Proxies with one mistake each, and the checks that have to notice it; and one without any."""

import asyncio
import contextlib
import re
import socket
import struct
from collections.abc import Callable

from tests.watch.ground import Handler, Place

Change = Callable[[bytes], bytes]
_RESET = struct.pack("ii", 1, 0)


def _same(piece: bytes) -> bytes:
    return piece


def _reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


def tunnel(
    *,
    request: Change = _same,
    answer: Change = _same,
    buffers: bool = False,
    polite: bool = False,
    deaf: bool = False,
    unbounded: bool = False,
    refuses: bool = False,
    ends: bool = False,
    once: bool = False,
    waits: bool = False,
) -> Handler:
    """A tunnel of bytes with one thing changed.

    ``buffers``: answers pass once they are whole. ``polite``: a broken answer gets a last chunk. ``deaf``: the end of a
    client is not told. ``unbounded``: it reads whatever comes. ``refuses``: an unreachable server is an answer of 502.
    ``ends``: a reset of the server becomes an end. ``once``: a connection is for one answer. ``waits``: requests pass
    once they are whole.
    """

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        try:
            upstream, up = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            if refuses:
                await reader.read(65_536)
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
            else:
                await reader.read(1)
                _reset(writer)
            return

        async def forth() -> None:
            try:
                held = b""
                while piece := await reader.read(65_536):
                    held += request(piece)
                    if waits and b"chunked" in held and not held.endswith(b"0\r\n\r\n"):
                        continue
                    up.write(held)
                    held = b""
                    await up.drain()
                if not deaf:
                    up.write_eof()
            except OSError:
                if not deaf:
                    _reset(up)

        async def back() -> None:
            held = b""
            try:
                while piece := await upstream.read(65_536):
                    held += answer(piece)
                    if buffers and not held.endswith(b"0\r\n\r\n") and b"chunked" in held:
                        continue
                    writer.write(held)
                    held = b""
                    if not unbounded:
                        await writer.drain()
                    if once:
                        break
                if polite:
                    writer.write(b"\r\n0\r\n\r\n")
                    await writer.drain()
                writer.close()
            except OSError:
                if polite:
                    writer.write(b"0\r\n\r\n")
                    await writer.drain()
                    writer.close()
                elif not ends:
                    _reset(writer)

        going = asyncio.create_task(forth())
        try:
            await back()
            await asyncio.sleep(0 if not deaf else 3)
        finally:
            going.cancel()
            up.transport.abort()

    return handle


def _without(name: bytes) -> Change:
    return lambda piece: re.sub(rb"(?im)^" + name + rb":[^\n]*\n", b"", piece)


def _lower(piece: bytes) -> bytes:
    return re.sub(rb"(?m)^[A-Za-z-]+:", lambda match: match[0].lower(), piece)


def _merged(piece: bytes) -> bytes:
    return piece.replace(b"X-Twice: 1\r\n", b"X-Twice: 1, 3\r\n").replace(b"X-Twice: 3\r\n", b"")


DIRECT = Place(tunnel())
WRONG: dict[str, tuple[Place, tuple[str, ...]]] = {
    "buffers answers": (
        Place(tunnel(buffers=True)),
        ("an_event_passes_when_it_comes", "half_an_event_passes_when_it_comes"),
    ),
    "drops a header of requests": (
        Place(tunnel(request=_without(b"Last-Event-ID"))),
        ("a_request_arrives_as_it_was_sent",),
    ),
    "drops a header of answers": (
        Place(tunnel(answer=_without(b"Mcp-Session-Id"))),
        ("an_answer_arrives_as_it_was_sent",),
    ),
    "writes names in lower case": (
        Place(tunnel(request=_lower)),
        ("a_request_arrives_as_it_was_sent",),
    ),
    "merges headers": (
        Place(tunnel(request=_merged)),
        ("a_request_arrives_as_it_was_sent",),
    ),
    "replaces line ends": (
        Place(tunnel(answer=lambda piece: piece.replace(b"\xac\r\n\r\n", b"\xac\n\n\n\n"))),
        ("chunks_stay_as_they_are",),
    ),
    "ends politely what was broken": (
        Place(tunnel(polite=True)),
        ("a_reset_of_the_server_is_a_reset", "an_end_in_the_middle_is_no_polite_end"),
    ),
    "keeps the client's end to itself": (
        Place(tunnel(deaf=True)),
        ("a_client_that_goes_is_gone_for_the_server", "a_client_that_resets_is_reset_for_the_server"),
    ),
    "answers for a server that is not there": (
        Place(tunnel(refuses=True)),
        ("a_server_that_is_not_there_gives_no_answer",),
    ),
    "reads without bound": (
        Place(tunnel(unbounded=True)),
        ("a_reader_that_stops_stops_the_server",),
    ),
    "lets trailers fall": (
        Place(tunnel(answer=lambda piece: piece.replace(b"X-Trailer: t\r\n", b""))),
        ("an_end_that_http_gives_is_one",),
    ),
    "makes an end of a reset": (
        Place(tunnel(ends=True)),
        ("a_reset_of_the_server_is_a_reset", "a_reset_before_any_answer_is_a_reset"),
    ),
    "keeps no connection": (
        Place(tunnel(once=True)),
        ("connections_are_kept",),
    ),
    "holds requests": (
        Place(tunnel(waits=True)),
        ("a_request_passes_as_it_comes",),
    ),
}
