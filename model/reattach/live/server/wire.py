"""The transport under a response: uvicorn's HTTP/1.1 protocol, with progress and teardown made real.

Progress of a view is *the transport's acceptance*. Two buffers would hide it. The one in this process is switched off:
writing pauses as soon as the kernel has not taken everything, and ``drained`` returns when it has. The one in the
kernel is made small: on loopback it grows to megabytes, in which a reader that has stopped looks healthy.

A teardown is a reset. A close would wait for the very bytes that are not being read, and would still deliver what the
old connection of a resumed stream must not get any more (ATT-2).
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from reattach.live.server.jsonrpc import INVALID_REQUEST, RpcError, encode, failure

STATE_KEY = "reattach.wire"
"""Where a request finds its ``Wire`` in the ASGI scope's state."""
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with a time of zero: what the kernel still holds is dropped, and the peer is told by a reset."""


class Wire(H11Protocol):
    """One HTTP/1.1 connection."""

    send_buffer = 8_192
    """Bytes asked of the kernel for each connection's send buffer."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, STATE_KEY: self}, _loop)
        self.on_lost: Callable[[], None] | None = None
        """Called when the connection is gone, whoever ended it."""
        self.gone = asyncio.Event()
        """Set when the connection is gone."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.send_buffer)
        transport.set_write_buffer_limits(high=0)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.gone.set()
        if self.on_lost is not None:
            self.on_lost()
        # What is held in a circle waits for the collector, which comes only when a quarter of all objects wait; until
        # then every connection would look like a leak. A timer holds what it would call.
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
        self.on_lost = None
        self.app_state = {}
        self.scope = self.cycle = None  # type: ignore[assignment]

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP: like every other refusal, as a JSON-RPC error."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.abort()  # a response is under way; nothing can be said any more
            return
        body = encode(failure(None, RpcError(INVALID_REQUEST, "not a valid HTTP request")))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode("ascii")),
            (b"connection", b"close"),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    async def drained(self) -> None:
        """Wait until the kernel has taken everything that was written, or the connection is gone."""
        await self.flow.drain()

    def abort(self) -> None:
        """Reset the connection, whatever is unread. Not for one that is gone already."""
        if not self.transport.is_closing() or self.transport.get_write_buffer_size() > 0:
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            self.transport.abort()

    def abort_after(self, words: bytes) -> None:
        """Say one last thing in the open response if the kernel takes it whole at once; then drop the connection."""
        if self.transport.is_closing() or self.transport.get_write_buffer_size() > 0:
            self.abort()
            return
        self.transport.write(self.conn.send(h11.Data(data=words)) or b"")
        self.transport.write(self.conn.send(h11.EndOfMessage()) or b"")
        if self.transport.get_write_buffer_size() > 0:
            self.abort()
        else:
            self.transport.abort()  # nothing is left here to drop; the kernel sends what it took
