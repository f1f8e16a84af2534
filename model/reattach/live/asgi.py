"""An ASGI application served over HTTP on the loopback interface, from a thread of this process."""

import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import uvicorn

from reattach.live.target import DEFAULT_PATH, DidNotStartError

START_MS = 20_000
"""How long the application's lifespan may take to start."""
STOP_MS = 5_000
"""How long the server may take to end once asked to; then its thread is left to the end of the process."""

_Message = MutableMapping[str, Any]
Application = Callable[
    [_Message, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]], Awaitable[None]
]
"""What ASGI 3 calls an application."""


class _Server(uvicorn.Server):
    """uvicorn's server, which says when its start is over, well or badly."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.begun = threading.Event()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            super().run(sockets)
        finally:
            self.begun.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.begun.set()


@contextlib.contextmanager
def serving_app(app: Application, path: str = DEFAULT_PATH) -> Iterator[str]:
    """Serve an application until the context is left; gives the URL of its endpoint, which is at ``path``.

    Raises ``DidNotStartError`` if its lifespan fails, or is not started in time.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        config = uvicorn.Config(app, ws="none", log_config=None, access_log=False, timeout_graceful_shutdown=1)
        server = _Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), name="the application under test", daemon=True)
        thread.start()
        try:
            if not server.begun.wait(START_MS / 1000):
                raise DidNotStartError(f"the application did not start within {START_MS} ms")
            if not server.started:
                raise DidNotStartError("the application did not start: its lifespan failed (see the log of uvicorn)")
            yield f"http://127.0.0.1:{port}{path}"
        finally:
            server.should_exit = True
            thread.join(STOP_MS / 1000)
