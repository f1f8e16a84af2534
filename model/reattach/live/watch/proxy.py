"""The proxy: a listener on the loopback interface, and a link for each connection that it accepts."""

import asyncio
import contextlib
import socket
import ssl
from collections import Counter, deque
from collections.abc import AsyncIterator

from attrs import define, field, frozen

from reattach.live.serve import ServeError, is_loopback, listen
from reattach.live.watch.heads import Hosts
from reattach.live.watch.link import Link, Way
from reattach.live.watch.plan import Plan
from reattach.live.watch.watcher import Watcher
from reattach.live.wire import Channel, Cut, Endpoint, connect, until_ready

BUFFER = 65_536
"""Bytes asked of the kernel for what lies between: to the client, and from the target. A slow reader stays visible."""
MOST_LINKS = 1_000
"""Connections at once; more wait to be accepted."""
MOST_KEPT = 64
"""Connections to the server that half-open faults keep; the oldest are reset."""
BACKLOG = 128


@frozen(kw_only=True)
class ProxyOptions:
    """Where a proxy listens, and for what it stands."""

    endpoint: Endpoint
    """The MCP endpoint behind it."""
    host: str = "127.0.0.1"
    port: int = 0
    """0 takes a free one."""
    allow_remote: bool = False
    """Listen on an address that is not of the loopback interface."""
    allow_hosts: tuple[str, ...] = ()
    """Names beside those of the loopback interface that requests may have as their ``Host``."""
    keep_host: bool = False
    """Leave ``Host`` as the client sent it; otherwise it becomes the target's."""
    tls: ssl.SSLContext | None = None


@define(eq=False)
class Proxy:
    """A proxy that is running."""

    options: ProxyOptions
    watcher: Watcher
    plan: Plan
    port: int = field(init=False, default=0)
    links: int = field(init=False, default=0)
    """Connections accepted."""
    failures: Counter[str] = field(init=False, factory=Counter)
    """How often the target could not be reached, by reason."""
    _way: Way = field(init=False)
    _tasks: "dict[asyncio.Task[None], Channel]" = field(init=False, factory=dict)
    _crash: BaseException | None = field(init=False, default=None)
    _kept: deque[Channel] = field(init=False, factory=deque)

    def __attrs_post_init__(self) -> None:
        options = self.options
        self._way = Way(
            endpoint=options.endpoint,
            connect=lambda: connect(options.endpoint, options.tls, BUFFER),
            hosts=Hosts(frozenset({options.host.lower(), *(name.lower() for name in options.allow_hosts)})),
            host=None if options.keep_host else options.endpoint.authority,
            watcher=self.watcher,
            plan=self.plan,
            keep=self._keep,
            failed=self._failed,
        )

    @property
    def url(self) -> str:
        """The endpoint's URL, for clients."""
        host = f"[{self.options.host}]" if ":" in self.options.host else self.options.host
        return f"http://{host}:{self.port}{self.options.endpoint.path}"

    async def accept(self, listener: socket.socket) -> None:
        """Accept connections until cancelled."""
        loop = asyncio.get_running_loop()
        room = asyncio.Semaphore(MOST_LINKS)
        while True:
            await room.acquire()
            try:
                sock, _ = listener.accept()
            except OSError as error:
                room.release()
                if isinstance(error, BlockingIOError):
                    await until_ready(listener, loop.add_reader, loop.remove_reader)
                else:  # it is gone already, or there are no more descriptors: others will be closed
                    await asyncio.sleep(0.1)
                continue
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
            self.links += 1
            channel = Channel(sock)
            task = asyncio.create_task(Link(self._way, channel).run(), name=f"link {self.links}")
            self._tasks[task] = channel
            task.add_done_callback(self._ended)
            task.add_done_callback(lambda _: room.release())

    async def close(self) -> None:
        """End every connection."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        while self._kept:
            self._kept.popleft().close(Cut.RESET)
        if self._crash is not None:
            raise self._crash  # a fault of ours must not look like one of the network

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.pop(task).close(Cut.RESET)  # a task that was cancelled before it began has closed nothing
        if not task.cancelled() and task.exception() is not None:
            self._crash = self._crash or task.exception()

    def _keep(self, channel: Channel) -> None:
        self._kept.append(channel)
        while len(self._kept) > MOST_KEPT:
            self._kept.popleft().close(Cut.RESET)

    def _failed(self, reason: str) -> None:
        self.failures[reason] += 1


@contextlib.asynccontextmanager
async def proxying(options: ProxyOptions, watcher: Watcher, plan: Plan) -> AsyncIterator[Proxy]:
    """Stand between clients and the target until the context is left. Raises ServeError if it cannot listen there."""
    if not options.allow_remote and not is_loopback(options.host):
        raise ServeError(f"{options.host} is not of the loopback interface; --allow-remote listens there nevertheless")
    listener = listen(options.host, options.port)
    listener.setblocking(False)
    listener.listen(BACKLOG)
    proxy = Proxy(options, watcher, plan)
    proxy.port = listener.getsockname()[1]
    accepting = asyncio.create_task(proxy.accept(listener), name="accepting")
    try:
        yield proxy
    finally:
        accepting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await accepting
        listener.close()
        await proxy.close()
