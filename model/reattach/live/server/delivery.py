"""One view on its way out: asks the machine what to write, writes it, and reports that the transport took it.

There is no queue. The machine is asked again only after the transport has taken what it said before (IDL-2); when there
is nothing to write the task sleeps until its stream changes or the heartbeat is due. Everything that can end a view
reaches this task through the machine's answers; the transport is aborted at once by ``end``, even while a write is
blocked.
"""

import asyncio

from attrs import define, field
from starlette.types import Receive, Scope, Send

from reattach.live.server.forms import Forms
from reattach.live.server.host import Host
from reattach.live.server.wire import Wire
from reattach.machine.transition import (
    Accepted,
    Cause,
    Disconnect,
    Ending,
    Idle,
    Write,
    WriteEnd,
    WriteEvent,
    WriteGreeting,
    WriteHeartbeat,
    WriteOvertaken,
)

EVENT_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
"""``no-transform`` and the last one keep proxies from collecting events before they pass them on."""


@define(eq=False)
class Delivery:
    """The response body that carries a view; an ASGI application of one response."""

    host: Host
    name: str
    forms: Forms
    wire: Wire
    connection: int = field(init=False)
    stream: int = field(init=False, default=0)
    """The stream that the view is of, once the machine has said so."""
    _woken: asyncio.Event = field(init=False, factory=asyncio.Event)
    _released: bool = field(init=False, default=False)

    def __attrs_post_init__(self) -> None:
        self.connection = self.host.carry(self)

    def wake(self) -> None:
        """See ``Carrier``."""
        self._woken.set()

    def let_go(self) -> None:
        """See ``Carrier``."""
        self._released = True
        self._woken.set()

    def end(self, ending: Ending) -> None:
        """See ``Carrier``."""
        if ending.cause is Cause.STALLED:
            self.wire.abort_after(
                self.forms.resumption_required(ending.stream, ending.position, ending.cause.value)
            )  # IDL-1
        else:
            self.wire.abort()  # ATT-2, SES-4
        self._woken.set()

    def discard(self) -> None:
        """The view was refused, or is over."""
        self.host.release(self.connection)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write the view until it ends."""
        self.wire.on_lost = self._lost
        try:
            await send({"type": "http.response.start", "status": 200, "headers": EVENT_STREAM_HEADERS})
            await self._write_all(send)
        finally:
            self.wire.on_lost = None
            self._lost()
            self.discard()

    async def _write_all(self, send: Send) -> None:
        while True:
            self._woken.clear()
            match self.host.take(self.name, Write(self.connection)):
                case WriteGreeting() | WriteEvent() | WriteHeartbeat() as write:
                    await self._write(send, self.forms.block(write))
                    self.host.take(self.name, Accepted(self.connection))
                case Idle() if self._released:
                    self._lost()  # first, so that a resumption finds no view to take over
                    await self._finish(send, b"")
                    return
                case Idle(until):
                    await self._sleep(until)
                case WriteOvertaken() as write:
                    await self._finish(send, self.forms.block(write))
                    return
                case WriteEnd():
                    await self._finish(send, b"")
                    return
                case _:  # the view is gone: taken over, stalled, terminated or disconnected
                    self.wire.abort()
                    await self.wire.gone.wait()
                    return

    async def _write(self, send: Send, block: bytes) -> None:
        if block:
            await send({"type": "http.response.body", "body": block, "more_body": True})
            await self.wire.drained()

    async def _finish(self, send: Send, block: bytes) -> None:
        """The end of the body. The view is gone; what keeps the connection is bounded by the stall budget too."""
        await send({"type": "http.response.body", "body": block, "more_body": False})
        try:
            async with asyncio.timeout(self.host.policy.stall_ms / 1000):
                await self.wire.drained()
        except TimeoutError:
            self.wire.abort()

    async def _sleep(self, until: int) -> None:
        try:
            async with asyncio.timeout(max(0, until - self.host.clock()) / 1000):
                await self._woken.wait()
        except TimeoutError:
            pass

    def _lost(self) -> None:
        self.host.take(self.name, Disconnect(self.connection))
        self._woken.set()
