"""Client programs: a command line of the user's, or a client of ours in this process. Either prints lines."""

import asyncio
import contextlib
import json
import os
import shlex
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import frozen

from reattach.live.clients.client import HttpClient, Say
from reattach.live.clients.contract import environment
from reattach.live.clients.scripts import Call
from reattach.live.target import BadCommandError, end_process, exited

LONGEST_LINE = 1_048_576
"""Bytes of a line on standard output; what is longer is cut into several, which are none of the contract."""
STDERR_LINES = 5
_PLACE = "{url}"

OnLine = Callable[[str], None]


@frozen
class Ending:
    """How a program ended."""

    status: int | None
    """Its exit status, 128 and more for a signal; None if it was ended by the bench."""
    last_words: str = ""
    """The last line on its standard error."""


class Program(Protocol):
    """What can be run against a server."""

    async def run(self, url: str, calls: Sequence[Call], on_line: OnLine) -> Ending:
        """Run it to its end. If that is cancelled, nothing of it is left."""


@frozen
class CommandProgram:
    """A command line with ``{url}`` in it. Each run is a process group of its own, and is ended with all it started."""

    command: str

    def __attrs_post_init__(self) -> None:
        if not self.words("http://127.0.0.1"):
            raise BadCommandError("the command is empty")

    def words(self, url: str) -> list[str]:
        """The command for a URL. Raises BadCommandError."""
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise BadCommandError(f"the command cannot be split into words: {error}") from error
        return [word.replace(_PLACE, url) for word in words]

    async def run(self, url: str, calls: Sequence[Call], on_line: OnLine) -> Ending:
        """See ``Program``. Raises BadCommandError if the program cannot be started."""
        words = self.words(url)
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=LONGEST_LINE,
                env=os.environ | environment(url, calls),
            )
        except OSError as error:
            raise BadCommandError(f"cannot run {words[0]!r}: {error.strerror or error}") from error
        assert process.stdout is not None
        assert process.stderr is not None
        words_last: deque[str] = deque(maxlen=STDERR_LINES)
        reading = asyncio.gather(_lines(process.stdout, on_line), _lines(process.stderr, words_last.append))
        try:
            await exited(process)
        finally:
            await end_process(process, asking=process.returncode is None)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await reading
        said = next((line.strip() for line in reversed(words_last) if line.strip()), "")
        code = process.returncode
        return Ending(128 - code if code is not None and code < 0 else code, said[:400])


@frozen
class OwnProgram:
    """A client of ours, run in this process."""

    make: Callable[[str, Sequence[Call], Say], HttpClient] = HttpClient

    async def run(self, url: str, calls: Sequence[Call], on_line: OnLine) -> Ending:
        """See ``Program``."""
        return Ending(await self.make(url, calls, lambda said: on_line(json.dumps(said))).run())


async def _lines(stream: asyncio.StreamReader, on_line: Callable[[str], None]) -> None:
    while True:
        try:
            line = await stream.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            line = end.partial
            if not line:
                return
        except asyncio.LimitOverrunError as long:
            line = await stream.readexactly(long.consumed)
        on_line(line.decode("utf-8", errors="replace").rstrip("\r\n"))
