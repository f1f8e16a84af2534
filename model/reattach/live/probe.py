"""The probe: drives a server through every experiment and lets the oracle judge what passed.

Systematic experiments come first, several at a time, each in sessions of its own, so that every clause is exercised
once in the first seconds; beside them run those that wait for a budget of the server. What is left of the time goes to
the racy ones. All that is random is drawn from the seed into parameters before anything is run, so that each finding
can be shown again by itself (``replay.py``).
"""

import asyncio
import contextlib
import importlib.util
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING

from attrs import define, evolve, field, frozen

from reattach.live.bench import Bench
from reattach.live.client import Client, Principal, ProtocolError
from reattach.live.experiments import EXPERIMENTS, Cost, Experiment, Need, Parameters
from reattach.live.pace import Pace
from reattach.live.preflight import PreflightError, Situation, UnreachableError, preflight
from reattach.live.recorder import Recorder, Sink, monotonic_ms
from reattach.live.target import Command, DiedError, answers
from reattach.live.wire import Endpoint, WireError, parse_url, tls_for
from reattach.live.workers import side_by_side
from reattach.machine.revision import NEWEST_WITH_RESUMPTION, TRAITS, Revision
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Finding, Profile, Report

if TYPE_CHECKING:
    from reattach.live.campaign.drive import Result
    from reattach.live.campaign.search import Reached

DEFAULT_BUDGET_MS = 30_000
ANSWER_MS = 5_000
"""How long a request waits for the head of its answer."""
PREFLIGHT = "preflight"
"""The tag of what passes before the first experiment."""

_AT_ONCE = {Cost.SYSTEMATIC: 5, Cost.SLOW: 16, Cost.RACY: 3, Cost.ALONE: 1}
"""How many experiments of each cost run at the same time."""
_EXPERIMENT_MS = 60_000
"""The longest one experiment may take; a bound against a server that is slow without end."""
_LIVENESS_TRIES = 3
_LIVENESS_MS = 2_000


@frozen(kw_only=True)
class ProbeOptions:
    """What to probe and how. Exactly one of ``url`` and ``command`` is given."""

    url: str | None = None
    command: str | None = None
    path: str = "/mcp"
    """The endpoint's path on a server that is started by ``command``."""
    profile: Profile = Profile.MCP
    revision: Revision | None = None
    """The revision to ask for; the newest with resumption, if None."""
    declaration: Declaration = NOTHING_DECLARED
    stimulus: str | None = None
    """A preset or a file; chosen by what the server has, if None."""
    seed: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request."""
    second_principal: tuple[tuple[str, str], ...] = ()
    """Headers of another principal; they replace those of the same name in ``headers``."""
    ca: str | None = None
    """A file with a private certificate authority (PEM)."""
    also: str | None = None
    """Another URL of the same deployment."""
    restart: bool = False
    """Whether the server, started by ``command``, may be restarted."""
    budget_ms: int | None = None
    """After this time no experiment is begun; those that run are finished. Until then a campaign goes on.

    If None, every experiment is run once, however long that takes, and racy ones again until ``DEFAULT_BUDGET_MS``.
    """
    plateau_ms: int | None = None
    """End a campaign when for so long it reached nothing new; None: only the budget ends it."""
    only: tuple[str, ...] = ()
    """Run only the experiments for these clauses; all, if empty."""
    sink: Sink | None = None
    """Takes every observation as it is made."""


@frozen(kw_only=True)
class Job:
    """One experiment with its parameters, under the tag that its observations carry."""

    experiment: Experiment
    parameters: Parameters
    tag: str
    first: bool
    """Whether it belongs to the first round of its experiment."""


@frozen(kw_only=True)
class ProbeResult:
    """What a probe found, also if it was stopped before its end."""

    report: Report
    seed: int
    elapsed_ms: int
    target: str
    """The URL, or the command."""
    server: str
    revision: str
    stimulus: str
    stopped: str
    """Why the probe stopped before its end; empty if it did not."""
    observations: int
    jobs: tuple[Job | None, ...]
    """For each finding of the report, the experiment that showed it; None for one from the preflight."""


@frozen(kw_only=True)
class Progress:
    """How far a probe has come."""

    done: int
    total: int
    running: tuple[str, ...]
    findings: int
    elapsed_ms: int
    budget_ms: int
    campaign: "Reached | None" = None
    """How far the campaign has come, once there is one."""


OnProgress = Callable[[Progress], None]


class OptionsError(Exception):
    """The options do not fit together. One line of text."""


class _StoppedError(Exception):
    """The server is gone; the text says how."""


async def probe(options: ProbeOptions, on_progress: OnProgress | None = None) -> ProbeResult:
    """Probe a server.

    Raises ``OptionsError``, ``BadUrlError``, ``TlsFailedError`` (a CA file), ``StimulusError``, ``TargetError`` (a
    command) or ``PreflightError`` if the probe cannot begin. If it is cancelled after that, or the server dies, it
    returns what it has found so far, and ``stopped`` says why. A server that it started is ended in every case.
    """
    async with driving(options, on_progress) as driver:
        return await driver.run(driver.experiments)


@contextlib.asynccontextmanager
async def driving(options: ProbeOptions, on_progress: OnProgress | None = None) -> AsyncIterator["Driver"]:
    """A driver for the server that the options name; a server that was started is ended when the context is left."""
    tls, also = _check(options)
    if options.command is not None:
        command = Command(options.command, path=options.path)
        try:
            await command.start()
            yield Driver(options, command.endpoint, tls, also, command, on_progress)
        finally:
            await command.stop()
    else:
        assert options.url is not None
        yield Driver(options, parse_url(options.url), tls, also, None, on_progress)


def _check(options: ProbeOptions) -> tuple[ssl.SSLContext | None, Endpoint | None]:
    if (options.url is None) == (options.command is None):
        raise OptionsError("give either a URL or --command")
    if options.restart and options.command is None:
        raise OptionsError("--restart needs --command: only a server that the probe started can be restarted")
    endpoint, also = (parse_url(url) if url is not None else None for url in (options.url, options.also))
    return tls_for(options.ca, *filter(None, (endpoint, also))), also


def jobs_for(experiments: Collection[Experiment], seed: int, round_: int = 0) -> list[Job]:
    """The jobs of a round of experiments: their parameters, drawn from the seed."""
    jobs: list[Job] = []
    for one in experiments:
        planned = one.plan(random.Random(f"{seed}:{round_}:{one.name}"))
        for index, parameters in enumerate(planned):
            number = round_ * len(planned) + index + 1
            tag = one.name if len(planned) == 1 and round_ == 0 else f"{one.name}/{number}"
            jobs.append(Job(experiment=one, parameters=parameters, tag=tag, first=round_ == 0))
    return jobs


@define(eq=False)
class Driver:
    """One run against one server."""

    options: ProbeOptions
    endpoint: Endpoint
    tls: ssl.SSLContext | None
    also: Endpoint | None
    command: Command | None
    on_progress: OnProgress | None
    oracle: Oracle = field(init=False)
    recorder: Recorder = field(init=False)
    pace: Pace = field(init=False, factory=Pace)
    notes: list[str] = field(init=False, factory=list)
    findings: int = field(init=False, default=0)
    stopped: str = field(init=False, default="")
    _situation: Situation | None = field(init=False, default=None)
    _started: int = field(init=False, factory=monotonic_ms)
    _first_id: int = field(init=False, default=0)
    _jobs: dict[str, Job] = field(init=False, factory=dict)
    _done: int = field(init=False, default=0)
    _running: list[str] = field(init=False, factory=list)
    campaign: "Result | None" = field(init=False, default=None)
    """What came of the campaign."""
    _reached: "Reached | None" = field(init=False, default=None)

    async def run(self, drive: "Callable[[Situation], Awaitable[None]]") -> ProbeResult:
        """Preflight, then ``drive``, which runs experiments; the result, also if that is cut short."""
        asked = self.options.revision or NEWEST_WITH_RESUMPTION
        self.oracle = Oracle(revision=asked, declaration=self.options.declaration, complete=True)
        self.recorder = Recorder(self.oracle, sink=self.options.sink, on_finding=self._found)
        situation = await self._preflight(asked)
        self._situation = situation
        self.notes += situation.notes
        try:
            await drive(situation)
        except asyncio.CancelledError:
            self.stopped = "interrupted"
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
        except _StoppedError as gone:
            self.stopped = str(gone)
        return self._result(situation)

    async def _preflight(self, revision: Revision) -> Situation:
        try:
            return await preflight(self._bench(PREFLIGHT, revision, None), self.options.stimulus)
        except PreflightError:
            if self.command is not None:
                try:
                    await self.command.check_ending()
                except DiedError as died:
                    raise UnreachableError(str(died)) from died
            raise

    def _found(self, _: Finding) -> None:
        self.findings += 1
        self._report_progress()

    async def experiments(self, situation: Situation) -> None:
        """Run the experiments that are due, until they or the budget are at their end."""
        chosen = self._choose(situation)
        by_cost = {cost: [one for one in chosen if one.cost is cost] for cost in Cost}
        slow = asyncio.create_task(self.run_jobs(jobs_for(by_cost[Cost.SLOW], self.options.seed), Cost.SLOW))
        try:
            await self.run_jobs(jobs_for(by_cost[Cost.SYSTEMATIC], self.options.seed), Cost.SYSTEMATIC)
            await self.run_jobs(jobs_for(by_cost[Cost.RACY], self.options.seed), Cost.RACY)
            if by_cost[Cost.ALONE]:
                await slow  # nothing runs beside them; and before what fills the rest of the budget, or they never come
                await self.run_jobs(jobs_for(by_cost[Cost.ALONE], self.options.seed), Cost.ALONE)
            round_ = 1
            while by_cost[Cost.RACY] and not self.is_over():
                if round_ == 1 and self.options.budget_ms is not None and await self._campaign(situation, chosen):
                    break
                await self.run_jobs(jobs_for(by_cost[Cost.RACY], self.options.seed, round_), Cost.RACY)
                round_ += 1
            await slow
        finally:
            slow.cancel()
            await asyncio.wait({slow})

    async def _campaign(self, situation: Situation, chosen: Collection[Experiment]) -> bool:
        """Spend what is left of the budget on generated histories; False if that is not to be, or cannot be."""
        if importlib.util.find_spec("hypothesis") is None:
            self.notes.append("no campaign: it needs reattach[campaign]")
            return False
        from reattach.live.campaign.drive import HISTORY, run_campaign

        if EXPERIMENTS[HISTORY] not in chosen:
            return False
        await run_campaign(self, situation)
        return True

    def _choose(self, situation: Situation) -> list[Experiment]:
        """The experiments to run; the notes say which are not, and what they would need."""
        chosen: list[Experiment] = []
        lacking: dict[Need, list[str]] = {}
        for one in EXPERIMENTS.values():
            if self.options.only and not set(self.options.only) & set(one.clauses):
                continue
            missing = self.missing(one, situation)
            if missing:
                lacking.setdefault(missing[0], []).append(one.name)
            elif TRAITS[situation.revision].resumption or "ERA-1" in one.clauses:
                chosen.append(one)
        self.notes += [f"not run: {', '.join(names)}: needs {need.value}" for need, names in lacking.items()]
        return chosen

    def missing(self, one: Experiment, situation: Situation) -> list[Need]:
        """What an experiment needs and does not have here."""
        declaration, options = self.options.declaration, self.options
        met = {
            need
            for need, holds in {
                Need.SESSIONS: situation.sessions,
                Need.STIMULUS: situation.stimulus is not None,
                Need.NUMBERED: situation.stimulus is not None and situation.stimulus.numbered,
                Need.PUSHES: situation.pushes,
                Need.CLOSES: situation.closes,
                Need.SECOND_PRINCIPAL: bool(options.second_principal),
                Need.RESTART: options.restart,
                Need.ALSO: self.also is not None,
                Need.WINDOW: declaration.window_events is not None,
                Need.AGE: declaration.window_ms is not None,
                Need.BYTES: declaration.window_bytes is not None,
                Need.STALL: None not in (declaration.stall_ms, declaration.transport_buffer_bytes),
                Need.ABSENCE: declaration.absence_ms is not None,
            }.items()
            if holds
        }
        return [need for need in Need if need in one.needs - met]

    async def run_job(self, job: Job) -> None:
        """Run one job now, whatever the budget."""
        self._jobs[job.tag] = job
        await self._run_one(job)
        self._done += 1

    async def run_jobs(self, jobs: Sequence[Job], cost: Cost) -> None:
        """Run jobs, several at a time, none begun after the budget; the first that finds the server gone ends all."""
        self._jobs |= {job.tag: job for job in jobs}
        waiting = list(jobs)
        late: list[Job] = []

        async def work() -> None:
            while waiting:
                job = waiting.pop(0)
                if not self.is_over() or (self.options.budget_ms is None and job.first):
                    await self._run_one(job)
                else:
                    late.append(job)
                self._done += 1

        await side_by_side(min(_AT_ONCE[cost], len(jobs)), work)
        missed = [job.tag for job in late if job.first]
        if missed:
            self.notes.append(f"the budget of {self._budget_ms} ms was over before: {', '.join(missed)}")

    async def _run_one(self, job: Job) -> None:
        assert self._situation is not None
        bench = self._bench(job.tag, self._situation.revision, self._situation)
        self._running.append(job.tag)
        self._report_progress()
        try:
            async with asyncio.timeout(_EXPERIMENT_MS / 1000):
                try:
                    await job.experiment.run(bench, job.parameters)
                finally:
                    await bench.close()
        except (WireError, ProtocolError) as error:
            await self._check_liveness(error)
            self.notes.append(f"{job.tag}: given up: {error}")
        except TimeoutError:
            self.notes.append(f"{job.tag}: given up after {_EXPERIMENT_MS} ms")
        finally:
            self._running.remove(job.tag)
            self._report_progress()

    async def _check_liveness(self, error: Exception) -> None:
        """Raise ``_StoppedError`` if the server is gone, and not only one request lost."""
        last = str(error)
        for attempt in range(_LIVENESS_TRIES):
            if self.command is not None:
                try:
                    self.command.check()
                except DiedError as died:
                    raise _StoppedError(str(died)) from died
            await asyncio.sleep(0.2 * attempt)
            try:
                async with asyncio.timeout(_LIVENESS_MS / 1000):
                    if await answers(self.endpoint, self.tls):
                        return
            except (WireError, TimeoutError) as failure:
                last = str(failure) or f"no answer within {_LIVENESS_MS} ms"
        raise _StoppedError(f"the server stopped answering: {last}")

    def _bench(self, tag: str, revision: Revision, situation: Situation | None) -> Bench:
        options = self.options
        named = bool(options.second_principal)
        client = Client(
            endpoint=self.endpoint,
            recorder=self.recorder,
            revision=revision,
            principal=Principal("first" if named else None, options.headers),
            tls=self.tls,
            experiment=tag,
            answer_ms=ANSWER_MS,
            pace=self.pace,
        )
        replaced = {name.lower() for name, _ in options.second_principal}
        kept = tuple((name, value) for name, value in options.headers if name.lower() not in replaced)
        return Bench(
            client=client,
            pace=self.pace,
            rng=random.Random(f"{options.seed}:{tag}"),
            stimulus=situation.stimulus if situation is not None else None,
            pushes=situation.pushes if situation is not None else False,
            declaration=options.declaration,
            second=evolve(client, principal=Principal("second", kept + options.second_principal)) if named else None,
            also=evolve(client, endpoint=self.also) if self.also is not None else None,
            restart=self._restart if options.restart else None,
            take_ids=self._take_ids,
            on_note=self.notes.append,
        )

    async def _restart(self) -> None:
        assert self.command is not None
        await self.command.kill()
        self.recorder.restarted()
        await self.command.start()

    def _take_ids(self) -> int:
        self._first_id += 1_000
        return self._first_id

    def elapsed(self) -> int:
        """Milliseconds since the probe began."""
        return monotonic_ms() - self._started

    def is_over(self) -> bool:
        """Whether the budget is spent."""
        return self.elapsed() >= self._budget_ms

    def campaign_progress(self, reached: "Reached") -> None:
        """Take note of how far a campaign has come; from any thread."""
        self._reached = reached

    @property
    def _budget_ms(self) -> int:
        return DEFAULT_BUDGET_MS if self.options.budget_ms is None else self.options.budget_ms

    def _report_progress(self) -> None:
        if self.on_progress is not None:
            self.on_progress(
                Progress(
                    done=self._done,
                    total=len(self._jobs),
                    running=tuple(self._running),
                    findings=self.findings,
                    elapsed_ms=self.elapsed(),
                    budget_ms=self._budget_ms,
                    campaign=self._reached,
                )
            )

    def _result(self, situation: Situation) -> ProbeResult:
        report = self.oracle.report(self.options.profile)
        notes = [*self.notes, self.pace.describe()]
        findings = report.findings
        if self.campaign is not None:
            from reattach.live.campaign.drive import with_shrunk

            notes += self.campaign.notes()
            findings = tuple(with_shrunk(finding, self.campaign.shrunk) for finding in findings)
        return ProbeResult(
            report=evolve(report, findings=findings, notes=(*report.notes, *dict.fromkeys(notes))),
            seed=self.options.seed,
            elapsed_ms=self.elapsed(),
            target=self.options.command or self.endpoint.url,
            server=situation.server,
            revision=situation.revision.value,
            stimulus=situation.stimulus.name if situation.stimulus is not None else "",
            stopped=self.stopped,
            observations=self.recorder.observations,
            jobs=tuple(self._jobs.get(finding.experiment) for finding in findings),
        )
