"""``reattach serve``: the reference server as a process, and in a test's own process.

Starlette and uvicorn around the machine (``live/server``). It listens on the loopback interface, prints its URL on one
line when it is ready, and ends within a second of SIGINT or SIGTERM, however many views are open.
"""

import asyncio
import contextlib
import gc
import ipaddress
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator

import uvicorn
from attrs import frozen
from starlette.types import ASGIApp

from reattach.live.server.app import Endpoint, application
from reattach.live.server.clock import RunningClock
from reattach.live.server.host import NEVER, monotonic_ms
from reattach.live.server.settings import Settings
from reattach.live.server.wire import Wire

_HEADER_BYTES = 131_072
"""The most bytes of a request's head: a very long cursor is refused as a cursor, not as HTTP."""
_SHORTEST_NAP_MS = 20
"""How often, at most, time alone makes the server look at its sessions."""


class ServeError(Exception):
    """The server cannot be started. One line of text."""


@frozen(kw_only=True)
class ServeOptions:
    """Where to listen, and as what."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 takes a free one."""
    allow_remote: bool = False
    """Listen on an address that is not of the loopback interface."""
    settings: Settings = Settings()


@frozen
class Running:
    """A server in this process."""

    url: str
    port: int
    endpoint: Endpoint


class _Server(uvicorn.Server):
    """uvicorn's server, with signals left to us, and views that end before it waits for them."""

    def __init__(self, config: uvicorn.Config, endpoint: Endpoint) -> None:
        super().__init__(config)
        self.endpoint = endpoint
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for connection in list(self.server_state.connections):
            if isinstance(connection, Wire) and connection.cycle is not None and not connection.cycle.response_complete:
                connection.abort()
        self.endpoint.close()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Clockwork:
    """Calls ``Host.expire`` when a deadline of the machine is due."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._host = endpoint.host
        self._nearer = asyncio.Event()
        self._host.on_deadline = self._nearer.set

    async def run(self) -> None:
        while True:
            self._nearer.clear()
            deadline = self._host.next_deadline()
            delay = None if deadline == NEVER else max(deadline - self._host.clock(), _SHORTEST_NAP_MS) / 1000
            try:
                async with asyncio.timeout(delay):
                    await self._nearer.wait()
            except TimeoutError:
                self._host.expire()


@contextlib.asynccontextmanager
async def serving(options: ServeOptions, around: Callable[[Endpoint], ASGIApp] = application) -> AsyncIterator[Running]:
    """Serve in this event loop until the context is left; ``around`` makes the application of the endpoint.

    Raises ``ServeError`` if the address cannot be listened on or is not of the loopback interface.
    """
    if not options.allow_remote and not is_loopback(options.host):
        raise ServeError(f"{options.host} is not of the loopback interface; --allow-remote listens there nevertheless")
    listener = listen(options.host, options.port)
    endpoint = Endpoint(options.settings)
    wire = type("Wire", (Wire,), {"send_buffer": options.settings.send_buffer})
    config = uvicorn.Config(
        around(endpoint),
        http=wire,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config, endpoint)
    endpoint.host.clock = clock = RunningClock(monotonic_ms)
    clockwork = [asyncio.create_task(clock.beat()), asyncio.create_task(_Clockwork(endpoint).run())]
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.ready.wait()
        port = listener.getsockname()[1]
        authority = f"[{options.host}]:{port}" if ":" in options.host else f"{options.host}:{port}"
        yield Running(f"http://{authority}{options.settings.path}", port, endpoint)
    finally:
        server.should_exit = True
        await task
        listener.close()
        for part in clockwork:
            part.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await part  # if it failed before, its error is raised here


def run_server(options: ServeOptions) -> int:
    """Serve until SIGINT or SIGTERM; the exit code. Raises ``ServeError``."""
    return asyncio.run(_serve_until_signal(options))


async def _serve_until_signal(options: ServeOptions) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(options) as running:
        _collect_soon()
        print(f"reattach reference server: {running.url}", flush=True)
        await stop.wait()
    return 0


def _collect_soon() -> None:
    """Have the collector look at what connections leave behind, and not wait until that is a quarter of all objects.

    asyncio's transports refer to themselves. Left to the collector's own rule, a server that keeps nothing grows by
    megabytes in a thousand sessions.
    """
    gc.collect()
    gc.freeze()
    gc.collect()


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to an address. Raises ``ServeError``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise ServeError(f"cannot listen on {host} port {port}: {error}") from error
    return listener


def is_loopback(host: str) -> bool:
    """Whether a host is of the loopback interface."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
