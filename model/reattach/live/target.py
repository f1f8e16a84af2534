"""The server under test: at a URL, or started by us.

A server that we start gets a free port, a process group of its own, and is ended with everything it started. What it
wrote to stderr last is kept, because that is where a crash explains itself.
"""

import asyncio
import contextlib
import os
import shlex
import signal
import socket
import ssl
from collections import deque
from collections.abc import Sequence
from typing import Any, cast

import psutil
from attrs import define, field

from reattach.live.wire import Cut, Endpoint, WireError, exchange, parse_url

START_MS = 20_000
"""How long a command may take until its server answers HTTP."""
ENDING_MS = 1_000
"""How long a server that dropped a connection may take to be seen to have ended."""
STOP_MS = 3_000
"""How long a server may take to end by itself once asked to; then it is killed."""
POLL_MS = 50
STDERR_LINES = 20
DEFAULT_PATH = "/mcp"


class TargetError(Exception):
    """The server under test cannot be used. One line of text."""


class BadCommandError(TargetError):
    """The command line is not usable: bad quoting, no ``{port}``, no such program."""


class DidNotStartError(TargetError):
    """The command ended, or did not answer HTTP in time."""


class DiedError(TargetError):
    """The server's process ended while it was being probed."""


def free_port() -> int:
    """A TCP port that was free on the loopback interface a moment ago."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@define(eq=False)
class Command:
    """A server that is started from a command line with ``{port}`` in it, and ended again."""

    command: str
    path: str = DEFAULT_PATH
    tls: ssl.SSLContext | None = None
    start_ms: int = START_MS
    port: int = 0
    _process: asyncio.subprocess.Process | None = None
    _stderr: deque[str] = field(factory=lambda: deque(maxlen=STDERR_LINES))
    _reader: "asyncio.Task[None] | None" = None

    @property
    def endpoint(self) -> Endpoint:
        """Where the server listens once started."""
        scheme = "https" if self.tls is not None else "http"
        return parse_url(f"{scheme}://127.0.0.1:{self.port}{self.path}")

    @property
    def pid(self) -> int | None:
        """The process id while the server runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> None:
        """Start the server and wait until it answers HTTP. Raises ``BadCommandError`` or ``DidNotStartError``.

        A restart uses the same port.
        """
        if self.port == 0:
            self.port = free_port()
        program = _program(self.command, self.port)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *program,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise BadCommandError(f"cannot run {program[0]!r}: {error.strerror or error}") from error
        self._reader = asyncio.create_task(self._read_stderr(), name="stderr of the server under test")
        try:
            await self._wait_until_it_answers()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End the server's process, its process group, and what its children started. Safe to call twice."""
        await self._end(asking=True)

    async def kill(self) -> None:
        """The same without asking first: nothing of the server gets to put anything in order (``kill -9``)."""
        await self._end(asking=False)

    async def _end(self, *, asking: bool) -> None:
        process = self._process
        if process is None:
            return
        self._process = None
        try:
            await end_process(process, asking=asking)
        finally:
            if self._reader is not None:
                self._reader.cancel()
                await asyncio.wait({self._reader})

    def check(self) -> None:
        """Raise ``DiedError`` if the server's process has ended by itself."""
        if self._process is not None and self._process.returncode is not None:
            raise DiedError(f"the server ended by itself ({self._how_it_ended()})")

    async def check_ending(self) -> None:
        """The same, for a server that has just dropped a connection: give its end up to ``ENDING_MS`` to show.

        The kernel closes the connections of a process that ends before anybody can be told that it ended.
        """
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ENDING_MS / 1000):
                    await exited(self._process)
                    if self._reader is not None:
                        await asyncio.wait({self._reader})  # its last words
        self.check()

    @property
    def stderr_tail(self) -> str:
        """The last lines the server wrote to stderr."""
        return "\n".join(self._stderr)

    def _how_it_ended(self) -> str:
        code = self._process.returncode if self._process is not None else None
        how = f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"
        return f"{how}; last on stderr: {self._stderr[-1]}" if self._stderr else how

    async def _wait_until_it_answers(self) -> None:
        deadline = asyncio.get_running_loop().time() + self.start_ms / 1000
        while True:
            assert self._process is not None
            if self._process.returncode is not None:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(1):
                        await asyncio.wait({self._reader} if self._reader else set())
                raise DidNotStartError(f"the command ended before it answered ({self._how_it_ended()})")
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                raise DidNotStartError(f"the command did not answer HTTP on port {self.port} within {self.start_ms} ms")
            with contextlib.suppress(WireError, TimeoutError):
                async with asyncio.timeout(min(left, 2.0)):
                    if await answers(self.endpoint, self.tls):
                        return
            await asyncio.sleep(POLL_MS / 1000)

    async def _read_stderr(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(4096):
            for line in chunk.decode("utf-8", errors="replace").splitlines():
                if line.strip():
                    self._stderr.append(line.strip()[:400])


async def answers(endpoint: Endpoint, tls: ssl.SSLContext | None) -> bool:
    """Whether something answers HTTP there; any status will do. Raises ``WireError`` if nothing does.

    HEAD has no meaning in MCP, so it opens no session and no stream.
    """
    sent = await exchange(endpoint, "HEAD", [], tls=tls)
    try:
        await sent.head()
    finally:
        sent.close(Cut.RESET)
    return True


async def exited(process: asyncio.subprocess.Process) -> None:
    """Wait until a process has ended. ``Process.wait`` goes on until nobody holds its pipes any more."""
    while process.returncode is None:
        await asyncio.sleep(POLL_MS / 1000)


async def end_process(process: asyncio.subprocess.Process, *, asking: bool = True) -> None:
    """End a process that was started as the leader of a group, with its group and what its children started."""
    family: list[psutil.Process] = []
    try:
        family = _descendants(process.pid)
        if asking:
            await _ask_to_end(process, family)
    finally:
        # Also on cancellation: nothing that we started stays behind.
        _signal_group(process.pid, signal.SIGKILL)
        for member in family:
            with contextlib.suppress(psutil.Error):
                member.kill()
        await asyncio.shield(exited(process))
        await asyncio.shield(_gone(family))
        cast(Any, process)._transport.close()  # asyncio leaves its pipes open as long as anyone else holds them


async def _ask_to_end(process: asyncio.subprocess.Process, family: list[psutil.Process]) -> None:
    """SIGTERM to all of it, and time to follow."""
    _signal_group(process.pid, signal.SIGTERM)
    for member in family:
        with contextlib.suppress(psutil.Error):
            member.terminate()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_MS / 1000):
            await exited(process)
            while _group_lives(process.pid) or any(_lives(member) for member in family):
                await asyncio.sleep(POLL_MS / 1000)


def _program(command: str, port: int) -> Sequence[str]:
    if "{port}" not in command:
        raise BadCommandError("the command must contain {port}, where the probe puts the port to listen on")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadCommandError(f"the command cannot be split into words: {error}") from error
    return [word.replace("{port}", str(port)) for word in words]


def _descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


async def _gone(killed: list[psutil.Process]) -> None:
    """Wait until what was killed has ended: the kernel takes a moment. Bounded, should it refuse."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(ENDING_MS / 1000):
            while any(_lives(member) for member in killed):
                await asyncio.sleep(POLL_MS / 1000)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
