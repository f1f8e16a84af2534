"""A campaign: generated histories against a real server, and each violation shrunk to the history that matters.

Hypothesis generates; it runs in threads of its own, each with a seed of its own, and asks the event loop to play each
history. What a server does in real time need not repeat, so a violation is not a matter of one run: once a kind of
violation has shown, a smaller history (``shrinking``) counts as showing it if it does so in any of several tries,
played side by side in sessions of their own; and the smallest is played again to say how often it shows it, ``k`` of
``n``. A violation that needs luck is shrunk like any other, and not dropped.
"""

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import NoReturn, TypeAlias

from attrs import define, field, frozen
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Flaky

from reattach.lines import Line
from reattach.live.campaign.shrinking import smaller
from reattach.live.campaign.strategies import histories
from reattach.live.campaign.twin import Twin
from reattach.live.experiments.history import History
from reattach.machine.policy import Policy
from reattach.oracle.verdict import Finding, Kind

WORKERS = 3
"""Histories that are generated and played side by side."""
AT_ONCE = 8
"""The most histories that are played at the same time."""
TRIES = 6
"""How often a smaller history is played before it is taken not to show a violation."""
CONFIRMATIONS = 10
"""How often the smallest history is played to say how often it shows the violation, if there is time."""
FEW = 3
"""The same, if the budget is spent."""
SHRINK_MS = 25_000
"""How long shrinking one violation may take."""
_EXAMPLES = 1_000_000
"""More histories than any budget allows; the budget ends the search."""


@frozen
class Violation:
    """A kind of violation, whatever the exchange."""

    clause: str
    fault: str
    kind: Kind

    def __str__(self) -> str:
        return f"{self.clause} {self.fault}"


def violation_of(finding: Finding) -> Violation:
    """What a finding is about."""
    return Violation(finding.clause, finding.fault.value, finding.kind)


Shown: TypeAlias = Mapping[Violation, Finding]
"""What a play of a history showed."""
Play: TypeAlias = Callable[[History], Awaitable[Shown]]
"""Plays a history once, in sessions of its own."""


@frozen(kw_only=True)
class Shrunk:
    """A violation and the smallest history that was seen to show it."""

    history: History
    finding: Finding
    """As a play of the history showed it."""
    shown: int
    """In so many of ``of`` plays of the history."""
    of: int


@frozen(kw_only=True)
class Reached:
    """How far a campaign has come."""

    histories: int
    steps: int
    lines: frozenset[Line]
    """Of the machine, that the twin executed in histories that were played."""
    violations: int


@frozen(kw_only=True)
class Limits:
    """When a campaign ends."""

    is_over: Callable[[], bool]
    """Whether the budget is spent."""
    now: Callable[[], int]
    """Milliseconds."""
    plateau_ms: int | None = None
    """End when for so long nothing new was reached and no new violation seen; None: never."""


class _Over(BaseException):
    """The campaign is over. Not an Exception, so that Hypothesis lets it pass."""


class _ShownError(Exception):
    """A history shows a violation that is looked for."""


@define(eq=False)
class Campaign:
    """One campaign against one server."""

    play: Play
    policy: Policy
    pushes: bool
    seed: int
    limits: Limits
    on_progress: Callable[[Reached], None] = lambda _: None
    shrunk: list[Shrunk] = field(init=False, factory=list)
    _known: set[Violation] = field(init=False, factory=set)
    _lines: set[Line] = field(init=False, factory=set)
    _histories: int = field(init=False, default=0)
    _steps: int = field(init=False, default=0)
    _newest_at: int = field(init=False, default=0)
    _stopping: bool = field(init=False, default=False)
    _lock: threading.Lock = field(init=False, factory=threading.Lock)
    _failure: BaseException | None = field(init=False, default=None)
    _room: asyncio.Semaphore = field(init=False, factory=partial(asyncio.Semaphore, AT_ONCE))
    _tasks: set[asyncio.Task[list[Shown]]] = field(init=False, factory=set)

    async def run(self) -> None:
        """Search until the limits are reached. What ``play`` raises ends the campaign, and is raised."""
        loop = asyncio.get_running_loop()
        self._newest_at = self.limits.now()
        with concurrent.futures.ThreadPoolExecutor(WORKERS, "campaign") as pool:
            searches = [loop.run_in_executor(pool, self._search, loop, worker) for worker in range(WORKERS)]
            try:
                await asyncio.wait(searches)
            finally:
                self._stopping = True
                for task in tuple(self._tasks):
                    task.cancel()
                await asyncio.wait(searches)
        for search in searches:
            search.result()
        if self._failure is not None:
            raise self._failure

    @property
    def reached(self) -> Reached:
        """How far it has come."""
        return Reached(
            histories=self._histories,
            steps=self._steps,
            lines=frozenset(self._lines),
            violations=len(self._known),
        )

    # In a thread of its own

    def _search(self, loop: asyncio.AbstractEventLoop, worker: int) -> None:
        for round_ in range(_EXAMPLES):
            try:
                _Search(self, loop, f"{self.seed}:{worker}:{round_}").run()
            except _Over:
                return

    def check(self) -> None:
        """Raise ``_Over`` if the campaign is."""
        plateau = self.limits.plateau_ms
        resting = plateau is not None and self.limits.now() - self._newest_at > plateau
        if self._stopping or resting or self.limits.is_over():
            raise _Over

    def played(self, loop: asyncio.AbstractEventLoop, history: History, tries: int) -> list[Shown]:
        """What each of several plays of a history shows."""

        async def one() -> Shown:
            async with self._room:
                if self._stopping:
                    raise asyncio.CancelledError  # what is begun now nobody would cancel
                return await self.play(history)

        async def all_tries() -> list[Shown]:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return await asyncio.gather(*(one() for _ in range(tries)))

        try:
            shown = asyncio.run_coroutine_threadsafe(all_tries(), loop).result()
        except (Exception, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
            self._fail(error)
        self._count(history, tries)
        return shown

    def _fail(self, error: BaseException) -> NoReturn:
        with self._lock:
            self._failure = self._failure or error
            self._stopping = True
        raise _Over

    def _count(self, history: History, tries: int) -> None:
        twin = Twin(self.policy, lines=set(self._lines))
        for step in history.steps:
            twin.take(step)
        with self._lock:
            self._histories += tries
            self._steps += tries * len(history.steps)
            if not twin.lines <= self._lines:
                self._lines |= twin.lines
                self._newest_at = self.limits.now()
        self.on_progress(self.reached)

    def claim(self, shown: Shown) -> Violation | None:
        """One of these that nobody has looked at yet, for the caller to shrink."""
        with self._lock:
            new = sorted((each for each in shown if each not in self._known), key=str)
            if not new:
                return None
            self._known.add(new[0])
            self._newest_at = self.limits.now()
            return new[0]


@define(eq=False)
class _Search:
    """One round: generate until something new shows, and shrink that."""

    campaign: Campaign
    loop: asyncio.AbstractEventLoop
    seed: str
    target: Violation | None = None

    def run(self) -> None:
        """Raises ``_Over``."""
        found: list[tuple[History, Finding]] = []

        @seed(self.seed)
        @settings(
            max_examples=_EXAMPLES,
            database=None,
            deadline=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
        )
        @given(histories(self.campaign.policy, self.campaign.pushes))
        def attempt(history: History) -> None:
            if not found:
                self.campaign.check()
                (shown,) = self.campaign.played(self.loop, history, 1)
                self.target = self.campaign.claim(shown)
                if self.target is None:
                    return
                found.append((history, shown[self.target]))
            raise _ShownError

        with contextlib.suppress(_ShownError, Flaky):
            attempt()
        if found:
            self._shrink(*found[0])

    def _shrink(self, history: History, finding: Finding) -> None:
        """Go to a smaller history that still shows it, as long as there is one and the time allows."""
        limits = self.campaign.limits
        until = limits.now() + SHRINK_MS
        at_first = len(self._shown(history, TRIES))
        # One that shows every time needs one try to be seen not to. One that needs luck needs several, and a smaller
        # one must not need much more of it, or what is left in the end cannot be shown again.
        tries, wanted = (1, 1) if at_first == TRIES else (TRIES, max(1, at_first // 2))
        smaller_ones = smaller(history)
        while limits.now() < until and not limits.is_over():
            candidate = next(smaller_ones, None)
            if candidate is None:
                break
            shown = self._shown(candidate, tries)
            if len(shown) >= wanted:
                history, finding = candidate, shown[0]
                smaller_ones = smaller(history)
        plays = FEW if limits.is_over() else CONFIRMATIONS
        again = self._shown(history, plays)
        self.campaign.shrunk.append(Shrunk(history=history, finding=finding, shown=len(again), of=plays))

    def _shown(self, history: History, tries: int) -> list[Finding]:
        """What is looked for, as often as several plays of a history show it."""
        assert self.target is not None
        plays = self.campaign.played(self.loop, history, tries)
        return [shown[self.target] for shown in plays if self.target in shown]
