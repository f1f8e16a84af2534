"""The raw client: what it sends, when it reads, and how it ends a connection."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
import trustme
from tests.live.scripted import STREAM_HEAD, Received, chunk, head, serve, whole

from reattach.live.wire import (
    BadUrlError,
    ConnectFailedError,
    ConnectionLostError,
    Cut,
    Exchange,
    NotHttpError,
    TlsFailedError,
    exchange,
    parse_url,
    tls_context,
)

BOUND = 10


async def read_all(sent: Exchange) -> bytes:
    body = b""
    while (piece := await sent.read()) is not None:
        body += piece
    return body


async def read_response(sent: Exchange) -> bytes:
    await sent.head()
    return await read_all(sent)


def test_a_request_arrives_as_it_was_given() -> None:
    async def run() -> None:
        async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(whole(200, "application/json", b'{"ok": true}'))
            await writer.drain()

        async with asyncio.timeout(BOUND), serve(answer) as server:
            headers = [("Last-Event-ID", "a"), ("Last-Event-ID", "b"), ("X-Digits", "١٢")]
            sent = await exchange(parse_url(server.url), "POST", headers, b"{}")
            response = await sent.head()
            assert (response.status, response.media_type) == (200, "application/json")
            assert await read_all(sent) == b'{"ok": true}'
            [request] = server.received
            assert (request.method, request.path, request.body) == ("POST", "/mcp", b"{}")
            assert request.all("last-event-id") == ["a", "b"]
            assert (request.get("x-digits") or "").encode("latin-1").decode() == "١٢"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("how", "error"), [(Cut.RESET, ConnectionResetError), (Cut.CLOSE, None)], ids=["reset", "close"]
)
def test_a_cut_reaches_the_server_as_asked(how: Cut, error: type[Exception] | None) -> None:
    async def run() -> None:
        seen: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

        async with asyncio.timeout(BOUND):
            server = await asyncio.start_server(lambda r, w: watch(r, w, seen), "127.0.0.1", 0)
            async with server:
                port = server.sockets[0].getsockname()[1]
                sent = await exchange(parse_url(f"http://127.0.0.1:{port}/mcp"), "GET", [])
                await sent.head()
                assert await sent.read() == b"data: x\n\n"
                sent.close(how)
                outcome = await seen
                assert type(outcome) is (error or type(None))

    async def watch(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: "asyncio.Future[Exception | None]"
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(STREAM_HEAD + chunk(b"data: x\n\n"))
        await writer.drain()
        try:
            await reader.read()
            seen.set_result(None)
        except ConnectionError as broken:
            seen.set_result(broken)
        finally:
            writer.close()

    asyncio.run(run())


def test_bytes_stay_with_the_sender_until_they_are_asked_for() -> None:
    """With a small receive buffer and nobody reading, the server cannot write more than the kernels hold."""
    size = 8 * 1024 * 1024

    async def run() -> None:
        blocked = asyncio.Event()
        finished = asyncio.Event()

        async def flood(_: Received, writer: asyncio.StreamWriter) -> None:
            raw: socket.socket = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
            writer.write(head(200, {"Content-Type": "text/event-stream", "Content-Length": str(size)}))
            writer.write(b"x" * size)
            blocked.set()
            await writer.drain()
            finished.set()

        async with asyncio.timeout(BOUND), serve(flood) as server:
            sent = await exchange(parse_url(server.url), "GET", [], receive_buffer=4_096)
            await sent.head()
            await blocked.wait()
            assert not finished.is_set()
            assert len(await read_all(sent)) + 0 == size
            await finished.wait()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", ConnectionLostError),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", NotHttpError),
        (STREAM_HEAD + b"5\r\nab", ConnectionLostError),
        (STREAM_HEAD + chunk(b"data: x\n\n"), ConnectionLostError),
        (STREAM_HEAD + b"zz\r\n", NotHttpError),
        (head(200, {"Content-Type": "application/json", "Content-Length": "10"}) + b"{", ConnectionLostError),
    ],
    ids=["closed", "not-http", "mid-chunk", "no-last-chunk", "bad-chunk", "short"],
)
def test_a_broken_response_is_a_typed_error(answer: bytes, error: type[Exception]) -> None:
    async def run() -> None:
        async def broken(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(answer)
            await writer.drain()

        async with asyncio.timeout(BOUND), serve(broken) as server:
            sent = await exchange(parse_url(server.url), "GET", [])
            with pytest.raises(error):
                await read_response(sent)

    asyncio.run(run())


def test_nothing_listens() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        with pytest.raises(ConnectFailedError, match="cannot connect"):
            asyncio.run(exchange(parse_url(f"http://127.0.0.1:{port}/mcp"), "GET", []))


@pytest.mark.parametrize(
    "url", ["", "mcp", "ftp://h/", "http:///mcp", "http://h:99999/", "http://u:p@h/", "http://h/a b", "http://[::1/x"]
)
def test_a_url_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(BadUrlError):
        parse_url(url)


def test_a_url_keeps_its_query_and_its_port() -> None:
    endpoint = parse_url("http://[::1]:8000/mcp?tenant=a")
    assert (endpoint.host, endpoint.port, endpoint.path) == ("::1", 8000, "/mcp?tenant=a")
    assert endpoint.authority == "[::1]:8000"
    assert parse_url("https://h").authority == "h"


def test_a_header_that_http_cannot_carry_is_a_typed_error() -> None:
    async def run() -> None:
        async def never(_: Received, __: asyncio.StreamWriter) -> None:
            raise AssertionError("no request may be sent")

        async with asyncio.timeout(BOUND), serve(never) as server:
            with pytest.raises(NotHttpError):
                await exchange(parse_url(server.url), "GET", [("Last-Event-ID", "a\r\nX: b")])

    asyncio.run(run())


def test_tls_with_a_private_authority(tmp_path: Path) -> None:
    authority = trustme.CA()
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(served)
    ca_file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(ca_file)
    body = b"data: x\n\n" * 50_000

    async def run() -> None:
        async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(whole(200, "text/event-stream", body))
            await writer.drain()

        async with asyncio.timeout(BOUND), serve(answer, served) as server:
            sent = await exchange(parse_url(server.url), "GET", [], tls=tls_context(str(ca_file)))
            assert (await sent.head()).status == 200
            assert await read_all(sent) == body
            with pytest.raises(TlsFailedError):
                await exchange(parse_url(server.url), "GET", [], tls=tls_context(None))

    asyncio.run(run())


def test_a_ca_file_that_is_none_is_a_typed_error(tmp_path: Path) -> None:
    bad = tmp_path / "ca.pem"
    bad.write_text("not a certificate")
    with pytest.raises(TlsFailedError, match="CA file"):
        tls_context(str(bad))
    with pytest.raises(TlsFailedError, match="CA file"):
        tls_context(str(tmp_path / "missing.pem"))
