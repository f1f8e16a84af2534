"""Every order in which concurrent tasks may run, one after another and without a clock: no sleep, no luck.

Where several of the contending tasks could go on, the loop asks which. In the first run they take turns; then come the
runs with one departure from that, with two, and so on. What a task waits for (a lock, a socket) is its own affair: it
contends again when it could go on.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextvars import Context, copy_context
from typing import Any, TypeVar, TypeVarTuple, Unpack

from attrs import define, field

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
DEPTH = 14
"""Choices of one run that are tried out; after them the task that has waited longest goes on."""


@define
class Choices:
    """Which of the waiting tasks went on, each time that there was more than one."""

    planned: tuple[int, ...] = ()
    made: list[tuple[int, int]] = field(factory=list)
    """Which was taken, and of how many."""

    def choose(self, among: int) -> int:
        """Which of so many goes on: as planned, then the one that has waited longest."""
        place = len(self.made)
        if place == DEPTH:
            return 0
        taken = min(self.planned[place], among - 1) if place < len(self.planned) else 0
        self.made.append((taken, among))
        return taken

    def departures(self) -> Iterator["Choices"]:
        """The choices that are as these were up to a place, after the planned ones, and then depart."""
        for place in range(len(self.planned), len(self.made)):
            before = tuple(taken for taken, _ in self.made[:place])
            for other in range(1, self.made[place][1]):
                yield Choices((*before, other))


def schedules(most: int) -> Iterator[Choices]:
    """Choices for one run after another; each has to be used before the next is asked for."""
    waiting = deque([Choices()])
    for _ in range(most):
        if not waiting:
            return
        choices = waiting.popleft()
        yield choices
        waiting.extend(choices.departures())


class ScheduledLoop(asyncio.SelectorEventLoop):
    """An event loop in which ``contend`` runs tasks in a chosen order, one step at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._choices = Choices()
        self._contending: set[asyncio.Task[Any]] = set()
        self._waiting: list[tuple[asyncio.Handle, Callable[..., object], tuple[Any, ...], Context]] = []

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As ever, but for the steps of contending tasks, which wait until they are chosen."""
        if getattr(callback, "__self__", None) not in self._contending:
            return super().call_soon(callback, *args, context=context)
        handle = asyncio.Handle(callback, args, self, context)
        self._waiting.append((handle, callback, args, context or copy_context()))
        super().call_soon(self._go_on)
        return handle

    async def contend(self, choices: Choices, *tasks: Coroutine[Any, Any, T]) -> list[T]:
        """Run these side by side, in the order of the choices. What one of them raises comes out."""
        self._choices = choices
        # They enter one by one, so that which comes first is a choice too.
        gate: asyncio.Future[None] = self.create_future()
        running = [self.create_task(_behind(gate, each)) for each in tasks]
        await asyncio.sleep(0)
        self._contending = set(running)
        gate.set_result(None)
        try:
            return await asyncio.gather(*running)
        finally:
            self._contending = set()
            for each in running:
                each.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _go_on(self) -> None:
        """One step of the chosen one. Each step that waits has called for this once."""
        handle, callback, args, context = self._waiting.pop(
            self._choices.choose(len(self._waiting)) if self._waiting[1:] else 0
        )
        if not handle.cancelled():
            context.run(callback, *args)


async def _behind(gate: Awaitable[None], task: Coroutine[Any, Any, T]) -> T:
    await gate
    return await task


async def checkpoint() -> None:
    """A point at which another task may go on."""
    await asyncio.sleep(0)


def run(main: Callable[[ScheduledLoop], Coroutine[Any, Any, T]], seconds: float) -> T:
    """Run in a loop of its own. Raises TimeoutError."""
    with asyncio.Runner(loop_factory=ScheduledLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, ScheduledLoop)
        return runner.run(asyncio.wait_for(main(loop), seconds))
