"""What the server's environment keeps for a session: what the client said of itself, and the calls that are running.

The machine knows a session's streams; it does not know that a stream belongs to a call. A call runs as a task of its
own, apart from any connection: it goes on when its view is cut, and waits when the machine tells its emission to wait
(WIN-6). It ends with its response, with a cancellation, or with its session.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping

from attrs import define, field

from reattach.live.server import tools
from reattach.live.server.host import Host
from reattach.live.server.jsonrpc import INTERNAL_ERROR, Json, Request, RequestId, RpcError, encode, failure, result
from reattach.live.server.tools import TooLargeError, UndeliverableError
from reattach.machine.decision import Reason, Refuse
from reattach.machine.revision import TRAITS, Revision
from reattach.machine.transition import Emit, Emitted, Finish, Gone, Wait

_LOG = logging.getLogger(__name__)


@define(eq=False)
class Guest:
    """One session's client."""

    host: Host
    name: str
    """The session id."""
    revision: Revision
    reattaches: bool
    """It declared ``capabilities.experimental.reattach``."""
    level: str = tools.LEVELS[0]
    _running: dict[RequestId, asyncio.Task[None]] = field(init=False, factory=dict)
    _tasks: set[asyncio.Task[None]] = field(init=False, factory=set)

    def start(self, stream: int, requests: Iterable[Request]) -> None:
        """Run the requests of one POST; their stream is finished when the last of them is over."""
        pending: set[asyncio.Task[None]] = set()

        def over(task: asyncio.Task[None]) -> None:
            pending.discard(task)
            self._tasks.discard(task)
            for identifier in [key for key, value in self._running.items() if value is task]:
                del self._running[identifier]
            if not pending:
                self.host.take(self.name, Finish(stream))  # DEL-7

        for request in requests:
            task = asyncio.create_task(self._run(stream, request))
            pending.add(task)
            self._tasks.add(task)
            self._running[request.id] = task
        for task in tuple(pending):
            task.add_done_callback(over)

    def cancel(self, identifier: Json) -> None:
        """The client cancelled a request: no response, and the stream ends. Unknown ids are ignored, as MCP says."""
        if isinstance(identifier, str | int) and identifier in self._running:
            self._running[identifier].cancel()

    def close(self) -> None:
        """The session is over."""
        for task in self._tasks:
            task.cancel()

    async def emit(self, stream: int, message: Mapping[str, Json]) -> None:
        """Put a message into a stream (0: the standalone one), waiting while the machine says so (WIN-6).

        Raises ``UndeliverableError`` or ``TooLargeError``.
        """
        data = encode(message)
        while True:
            match self.host.take(self.name, Emit(stream, len(data), data)):
                case Emitted():
                    return
                case Wait():
                    await self._changed(stream)
                case Refuse(Reason.MESSAGE_TOO_LARGE):
                    raise TooLargeError
                case Refuse() | Gone():
                    raise UndeliverableError

    async def _changed(self, stream: int) -> None:
        changed = asyncio.Event()
        self.host.when_changed(self.name, stream, changed.set)
        try:
            await changed.wait()
        finally:
            self.host.forget(self.name, changed.set)

    async def _run(self, stream: int, request: Request) -> None:
        channel = _SessionChannel(self, stream)
        try:
            try:
                response = result(request.id, await tools.answer(request, channel))
            except RpcError as error:
                response = failure(request.id, error)
            except (UndeliverableError, TooLargeError):
                raise
            except Exception:
                _LOG.exception("a call failed")
                response = failure(request.id, RpcError(INTERNAL_ERROR, "internal error"))
            try:
                await channel.send(response)
            except TooLargeError:
                await channel.send(failure(request.id, RpcError(INTERNAL_ERROR, "the result is too large")))
        except (UndeliverableError, TooLargeError):
            return


@define(eq=False)
class _SessionChannel:
    guest: Guest
    stream: int

    @property
    def level(self) -> str:
        return self.guest.level

    def set_level(self, level: str) -> None:
        self.guest.level = level

    async def send(self, message: Mapping[str, Json]) -> None:
        await self.guest.emit(self.stream, message)

    async def push(self, message: Mapping[str, Json]) -> None:
        await self.guest.emit(0, message)

    def let_go(self) -> None:
        # The older revisions say that a server SHOULD NOT close a request's stream before its response.
        if TRAITS[self.guest.revision].priming:
            self.guest.host.let_go(self.guest.name, self.stream)
