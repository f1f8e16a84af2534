"""A TCP proxy that cuts a connection right after an event that a test names, as a network would."""

import asyncio
import contextlib
import re
import socket
import struct
from collections.abc import AsyncIterator

from attrs import define, field, frozen

_BLANK_LINE = re.compile(rb"(\r?\n\r?\n)")
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@frozen
class Cut:
    """Cut the connection after the first event that contains ``after``.

    However its JSON is written: spaces are overlooked, and the quotes of JSON in a string are quotes.
    """

    after: bytes
    server_sees_it: bool = True
    """Otherwise the server goes on believing in the connection: only the client's half is cut."""


@define(eq=False)
class Proxy:
    """Forwards to one port of the loopback interface; makes each cut once, in the order given."""

    target: int
    cuts: list[Cut]
    made: list[Cut] = field(init=False, factory=list)
    port: int = field(init=False, default=0)
    _open: set[asyncio.StreamWriter] = field(init=False, factory=set)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", self.target)
        self._open |= {writer, upstream}
        up = asyncio.create_task(self._forward(reader, upstream))
        try:
            held_open = await self._forward_and_cut(upstream_reader, writer)
        except OSError:
            held_open = False
        up.cancel()
        _reset(writer)
        if not held_open:
            _reset(upstream)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(65_536):
                writer.write(piece)
                await writer.drain()
            _reset(writer)

    async def _forward_and_cut(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Forward until the connection ends or is cut; whether the server is to be left believing in it."""
        begun = b""  # what has been passed on of the block that is not complete yet
        while piece := await reader.read(65_536):
            *parts, rest = _BLANK_LINE.split(piece)
            for part, end in zip(parts[::2], parts[1::2], strict=True):
                writer.write(part + end)
                await writer.drain()
                block, begun = begun + part, b""
                cut = next((cut for cut in self.cuts if cut.after in block.translate(None, b" \\")), None)
                if cut is not None:
                    self.cuts.remove(cut)
                    self.made.append(cut)
                    return not cut.server_sees_it
            writer.write(rest)
            await writer.drain()
            begun += rest
        return False

    def close(self) -> None:
        """End every connection."""
        for writer in self._open:
            _reset(writer)


@contextlib.asynccontextmanager
async def cutting(target: int, *cuts: Cut) -> AsyncIterator[Proxy]:
    """A proxy in front of a server in this machine."""
    proxy = Proxy(target, list(cuts))
    server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.close()
        await server.wait_closed()


def _reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    writer.transport.abort()
