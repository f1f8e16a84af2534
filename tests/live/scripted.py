"""Small HTTP servers that do exactly what a test says, byte for byte."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

Handler = Callable[["Received", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Received:
    """One request as it arrived; header names are lower case, repeated headers are kept."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def all(self, name: str) -> list[str]:
        """Every value of a header."""
        return [value for key, value in self.headers if key == name]

    def get(self, name: str) -> str | None:
        """The first value of a header."""
        return next(iter(self.all(name)), None)


@dataclass
class Scripted:
    """A running server: its URL and what it has received."""

    url: str
    received: list[Received] = field(default_factory=list)
    close: Callable[[], None] = field(default=lambda: None)
    """Stop listening: no further connection is accepted."""


@contextlib.asynccontextmanager
async def serve(handler: Handler, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[Scripted]:
    """Run a server on the loopback interface that hands every request to ``handler`` and then closes."""
    running: set[asyncio.Task[None]] = set()
    scripted = Scripted("")

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            request = await _read(reader)
            scripted.received.append(request)
            await handler(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()  # the test is over; the cancellation was ours, and asyncio would log it
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, OSError):
                await writer.wait_closed()
            running.discard(task)  # only now is nothing of the connection left open

    server = await asyncio.start_server(connected, "127.0.0.1", port, ssl=tls)
    scripted.close = server.close
    host, port = server.sockets[0].getsockname()[:2]
    scripted.url = f"{'https' if tls else 'http'}://{host}:{port}/mcp"
    try:
        yield scripted
    finally:
        server.close()
        for task in tuple(running):
            task.cancel()
        await asyncio.gather(*tuple(running), return_exceptions=True)
        await server.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in head[1:] if line)]
    length = next((int(value) for name, value in headers if name == "content-length"), 0)
    return Received(method, path, headers, await reader.readexactly(length))


def head(status: int, headers: dict[str, str]) -> bytes:
    """A response head."""
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def whole(status: int, content_type: str, body: bytes) -> bytes:
    """A whole response with a length."""
    return head(status, {"Content-Type": content_type, "Content-Length": str(len(body))}) + body


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body; the empty one ends it."""
    return b"%x\r\n%s\r\n" % (len(data), data)


STREAM_HEAD = head(200, {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked"})
