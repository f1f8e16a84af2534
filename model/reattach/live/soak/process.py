"""The server's process, looked at from outside: how much memory it has, and whether it is at rest.

Memory is the resident set size of the process and of everything that it started, added up: what they share is counted
more than once, which is a constant and does not look like growth.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import psutil
from attrs import define, field

from reattach.oracle.soak import Reading

EVERY_MS = 250
"""How often memory is read, at first; less often the longer a soak takes."""
READINGS = 600
"""How many readings are kept at most; then every second one is dropped."""
REST_MS = 150
"""How long a look at the processor time takes."""
REST_SHARE = 0.1
"""A process that uses less of one processor than this is at rest ..."""
RESTS = 2
"""... if it does so in so many looks one after the other."""
SETTLE_MS = 30_000
"""How long a process is given to come to rest."""

Number = TypeVar("Number", int, float)


class NoProcessError(Exception):
    """There is no such process, or it may not be looked at. One line of text."""


class EndedError(Exception):
    """The process has ended. One line of text."""


@define(eq=False)
class Tree:
    """A process and everything it started."""

    pid: int
    _root: psutil.Process = field(init=False)

    def __attrs_post_init__(self) -> None:
        try:
            self._root = psutil.Process(self.pid)
            self._root.memory_info()
        except psutil.NoSuchProcess as error:
            raise NoProcessError(f"there is no process {self.pid}") from error
        except psutil.Error as error:
            raise NoProcessError(f"process {self.pid} cannot be looked at: {type(error).__name__}") from error

    def serves(self, port: int) -> bool:
        """Whether any of it listens on a TCP port; True too where the system does not say."""
        try:
            connections = [one for each in self._all() for one in each.net_connections(kind="tcp")]
        except psutil.Error:
            return True
        return any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in connections)

    def resident(self) -> int:
        """Bytes of memory. Raises EndedError."""
        self._check()
        return sum(_of(each, lambda one: int(one.memory_info().rss)) for each in self._all())

    def busy_s(self) -> float:
        """Seconds of processor time used so far. Raises EndedError."""
        self._check()
        return sum(_of(each, _processor_s) for each in self._all())

    def _check(self) -> None:
        try:
            if self._root.is_running() and self._root.status() != psutil.STATUS_ZOMBIE:
                return
        except psutil.Error:
            pass
        raise EndedError(f"the server's process {self.pid} ended")

    def _all(self) -> list[psutil.Process]:
        try:
            return [self._root, *self._root.children(recursive=True)]
        except psutil.Error:
            return [self._root]


def _processor_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _of(process: psutil.Process, ask: Callable[[psutil.Process], Number]) -> Number | int:
    """What a process says; 0 if it has ended meanwhile."""
    try:
        return ask(process)
    except psutil.Error:
        return 0


@define(eq=False)
class Monitor:
    """Reads memory all the time, for the plot, and when the process has come to rest, for the verdict."""

    tree: Tree
    now: Callable[[], int]
    """The clock of the soak, in milliseconds."""
    readings: list[Reading] = field(factory=list)
    restless: int = 0
    """How often the process did not come to rest in time."""
    _every_ms: int = EVERY_MS

    async def run(self) -> None:
        """Read until cancelled, or until the process ends."""
        while True:
            try:
                self._read()
            except EndedError:
                return
            if len(self.readings) > READINGS:
                del self.readings[1::2]
                self._every_ms *= 2
            await asyncio.sleep(self._every_ms / 1000)

    async def settled(self) -> Reading:
        """The memory once the process is at rest: the least of a few readings. Raises EndedError."""
        rested, waited = 0, 0
        before = self.tree.busy_s()
        while rested < RESTS and waited < SETTLE_MS:
            await asyncio.sleep(REST_MS / 1000)
            waited += REST_MS
            busy = self.tree.busy_s()
            rested = rested + 1 if busy - before < REST_SHARE * REST_MS / 1000 else 0
            before = busy
        self.restless += rested < RESTS
        return min((self._read() for _ in range(3)), key=lambda reading: reading.resident)

    def _read(self) -> Reading:
        reading = Reading(at_ms=self.now(), resident=self.tree.resident())
        self.readings.append(reading)
        return reading
