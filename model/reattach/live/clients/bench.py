"""The bench: a client program against scripts, a run for each; what was observed is judged when all are over.

Not before: a faulty server of ours is faulty in functions of the machine, which the oracle calls too.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext

from attrs import frozen

from reattach.clauses import Registry
from reattach.live.clients.program import Ending, Program
from reattach.live.clients.scripts import Script
from reattach.live.clients.server import following
from reattach.live.mutants.base import Mutant, applied
from reattach.live.mutants.generated import Generated
from reattach.live.recorder import Recorder, monotonic_ms
from reattach.live.workers import side_by_side
from reattach.machine.policy import Policy
from reattach.machine.revision import NEWEST_WITH_RESUMPTION, TRAITS, Revision
from reattach.oracle.clients.bench import Bench
from reattach.oracle.clients.beside import ATTEMPTS_MOST
from reattach.oracle.observation import Exited, Frame, Json, Observation, Printed, Request, Response
from reattach.oracle.verdict import Finding, Profile, Report

ENOUGH = 3 * ATTEMPTS_MOST
"""So many resumptions in a row without a message end a run: there is nothing more to be learned."""
START_MS = 30_000
"""How long a client program may take until it asks for something."""
AT_ONCE = 2
"""Runs beside each other, if nothing else is asked for."""

OnProgress = Callable[[int, int, Sequence[str]], None]
"""Takes how many runs are over, of how many, and the scripts that are being followed."""


@frozen(kw_only=True)
class BenchOptions:
    """Which client is run against what."""

    program: Program
    scripts: tuple[Script, ...]
    policy: Policy = Policy()
    mutant: Mutant | Generated | None = None
    """A mistake of the server's."""
    at_once: int = AT_ONCE
    bound_ms: int | None = None
    """How long each run may take from the client's first request; what its script says if None."""
    start_ms: int = START_MS
    """How long the client may take to its first request."""


@frozen(kw_only=True)
class Run:
    """One run of the client against one script."""

    script: Script
    observations: tuple[Observation, ...]
    ending: Ending
    credentials: frozenset[str]
    """Values of headers that must not be written."""


@frozen(kw_only=True)
class BenchResult:
    """What came of all runs."""

    report: Report
    runs: tuple[Run, ...]
    """Those that came to their end, in the order of the scripts."""
    credentials: tuple[str, ...]
    """Values of headers that must not be written."""
    revision: Revision
    """The newest that the client and the server agreed on."""
    client: str
    """The name and version that the client gives itself."""
    elapsed_ms: int
    stopped: str = ""
    """Why there is less than was asked for."""


async def run_bench(
    options: BenchOptions, registry: Registry, profile: Profile, on_progress: OnProgress | None = None
) -> BenchResult:
    """Run the client against every script, and judge it. Raises BadCommandError if it cannot be started at all.

    If that is cancelled, what has come to its end is judged.
    """
    began = monotonic_ms()
    runs: list[Run] = []
    stopped = ""
    with nullcontext() if options.mutant is None else applied(options.mutant):
        try:
            await _run_all(options, runs, on_progress)
        except asyncio.CancelledError:
            stopped = "interrupted"
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
    order = list(options.scripts)
    runs.sort(key=lambda run: order.index(run.script))
    return _judged(runs, registry, profile, monotonic_ms() - began, stopped)


async def _run_all(options: BenchOptions, runs: list[Run], on_progress: OnProgress | None) -> None:
    waiting = list(options.scripts)
    running: list[str] = []

    def report() -> None:
        if on_progress is not None:
            on_progress(len(runs), len(options.scripts), tuple(running))

    async def work() -> None:
        while waiting:
            script = waiting.pop(0)
            running.append(script.name)
            report()
            runs.append(await run_script(options, script))
            running.remove(script.name)
            report()

    await side_by_side(min(options.at_once, len(waiting)), work)


async def run_script(options: BenchOptions, script: Script) -> Run:
    """One run: a server of its own, and the client until it ends or its time is over."""
    observations: list[Observation] = []
    credentials: set[str] = set()
    watch = _Watch()

    def sink(observation: Observation, _: str) -> None:
        observations.append(observation)
        watch.look(observation)

    recorder = Recorder(_Unjudged(), sink=sink)

    def printed(line: str) -> None:
        payload: Json = None
        try:
            payload = json.loads(line)
        except (ValueError, RecursionError):
            payload = None
        said = payload if isinstance(payload, Mapping) else None
        recorder.record(Printed(at=recorder.now(), payload=said, size=len(line)), script.name)

    async with following(script, recorder, options.policy, credentials) as url:
        running = asyncio.create_task(options.program.run(url, script.calls, printed))
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(options.start_ms / 1000):
                    await watch.begun_or(running)
                async with asyncio.timeout((options.bound_ms or script.bound_ms) / 1000):
                    await watch.enough_or(running)
        finally:
            over = running.done()
            running.cancel()
            await asyncio.wait({running})
        ending = running.result() if over else Ending(None)
        recorder.record(Exited(at=recorder.now(), status=ending.status), script.name)
    return Run(script=script, observations=tuple(observations), ending=ending, credentials=frozenset(credentials))


class _Watch:
    """Sees when a client has begun, and when there is nothing more to be learned of it."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()
        self._enough = asyncio.Event()
        self._in_vain = 0

    def look(self, observation: Observation) -> None:
        """Take note of an observation."""
        if isinstance(observation, Request):
            self._begun.set()
            self._in_vain += bool(observation.cursors)
        elif isinstance(observation, Frame) and observation.has_data:
            self._in_vain = 0
        if self._in_vain > ENOUGH:
            self._enough.set()

    async def begun_or(self, running: "asyncio.Task[Ending]") -> None:
        """Wait until the client has begun, or is over."""
        await _first(self._begun, running)

    async def enough_or(self, running: "asyncio.Task[Ending]") -> None:
        """Wait until there is enough, or the client is over."""
        await _first(self._enough, running)


async def _first(event: asyncio.Event, running: "asyncio.Task[Ending]") -> None:
    waiting = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({waiting, running}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


class _Unjudged:
    """Judges nothing while it is being observed."""

    def observe(self, observation: Observation, *, experiment: str = "") -> Sequence[Finding]:
        return ()


def _judged(runs: Sequence[Run], registry: Registry, profile: Profile, elapsed_ms: int, stopped: str) -> BenchResult:
    bench = Bench(registry)
    for run in runs:
        bench.enter(run.script.name, run.observations, run.script.order)
    revision = max((_revision_of(run) for run in runs), key=lambda each: each.value, default=NEWEST_WITH_RESUMPTION)
    silent = [run for run in runs if not any(isinstance(each, Response) for each in run.observations)]
    notes = _told_once(
        (run.script.name, f"the client asked for nothing ({how_it_ended(run.ending)})") for run in silent
    )
    notes += _told_once(
        (run.script.name, how_it_ended(run.ending))
        for run in runs
        if run not in silent and not run.script.rules and run.ending.status != 0
    )
    if not TRAITS[revision].resumption:
        notes.append(
            f"The client chose {revision.value}, which has no resumption: nothing about clients is judged there."
            f" Let it offer {NEWEST_WITH_RESUMPTION.value} or older."
        )
    if runs and len(silent) == len(runs):
        stopped = stopped or f"the client asked for nothing ({how_it_ended(runs[0].ending)})"
    return BenchResult(
        report=bench.report(profile, revision, notes),
        runs=tuple(runs),
        credentials=tuple(sorted(frozenset[str]().union(*(run.credentials for run in runs)))),
        revision=revision,
        client=next(filter(None, map(_client_of, runs)), ""),
        elapsed_ms=elapsed_ms,
        stopped=stopped,
    )


def _told_once(happened: Iterable[tuple[str, str]]) -> list[str]:
    """What happened in which scripts, each thing once."""
    scripts: dict[str, list[str]] = {}
    for script, what in happened:
        scripts.setdefault(what, []).append(script)
    return [f"{', '.join(names)}: {what}" for what, names in scripts.items()]


def how_it_ended(ending: Ending) -> str:
    """The end of a program, for people."""
    how = "it was not over in time" if ending.status is None else f"exit status {ending.status}"
    return f"{how}; last on stderr: {ending.last_words}" if ending.last_words else how


def _initialize_of(run: Run) -> Mapping[str, Json]:
    for each in run.observations:
        if isinstance(each, Request) and each.rpc_method == "initialize" and isinstance(each.payload, Mapping):
            params = each.payload.get("params")
            return params if isinstance(params, Mapping) else {}
    return {}


def _client_of(run: Run) -> str:
    info = _initialize_of(run).get("clientInfo")
    if not isinstance(info, Mapping):
        return ""
    return " ".join(str(info[key])[:80] for key in ("name", "version") if info.get(key))


def _revision_of(run: Run) -> Revision:
    """The revision that a run was held in: what the client names in its requests, else what it asked for."""
    named = [each.revision for each in run.observations if isinstance(each, Request) and each.revision]
    asked = _initialize_of(run).get("protocolVersion")
    wanted = named[-1] if named else asked
    return next((each for each in Revision if each.value == wanted), NEWEST_WITH_RESUMPTION)
