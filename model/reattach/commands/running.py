"""A probe as a command runs it: with progress, interruptible, and with something to show whatever happens.

``reattach probe`` and ``reattach demo`` both run probes through here.
"""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Collection, Coroutine, Iterator
from typing import Any, TypeVar

from attrs import evolve, field, frozen
from rich.progress import TextColumn

from reattach.clauses import About, load_registry
from reattach.commands.progress import bar
from reattach.io.baseline import Baseline, entries_for
from reattach.io.redact import make_redactor, redact_report, without_query
from reattach.io.run import FailOn, Run
from reattach.io.trace import Entry, Trace, TraceHeader
from reattach.live.clients.bench import BenchOptions, run_bench
from reattach.live.clients.program import CommandProgram
from reattach.live.clients.scripts import choose_script, order_of
from reattach.live.experiments import Parameters
from reattach.live.preflight import PreflightError
from reattach.live.probe import Job, OnProgress, ProbeOptions, ProbeResult, probe
from reattach.live.probe import Progress as ProbeProgress
from reattach.live.replay import Shown, replay
from reattach.live.target import DidNotStartError
from reattach.machine.revision import Revision
from reattach.oracle.clients.bench import Bench
from reattach.oracle.observation import Observation
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Profile, Report

Result = TypeVar("Result")

CLIENT_TRIES = 2
"""How often a client is run against a script at most, to see a finding again."""
NO_VERDICT = (PreflightError, DidNotStartError, KeyboardInterrupt)
"""What keeps a probe from beginning, and is no mistake in how it was asked."""


@frozen(kw_only=True)
class Probed:
    """A probe that ran, or could not begin (``run.stopped`` then says why, and the report is empty)."""

    report: Report
    run: Run
    jobs: tuple[Job | None, ...] = ()
    """For each finding the experiment that showed it."""
    entries: tuple[Entry, ...] = field(default=(), repr=False)
    """Everything that was observed, if it was to be kept."""
    began: bool = True


def run_probe(
    options: ProbeOptions,
    *,
    command: str = "",
    fail_on: FailOn = FailOn.MUST,
    baseline: Baseline = (),
    only: Collection[str] = (),
    label: str = "probing",
    keep: bool = False,
) -> Probed:
    """Probe with progress on the terminal, if there is one. SIGINT and SIGTERM end it with what was found so far.

    ``keep`` keeps every observation. Raises what ``probe`` raises about the options.
    """
    entries: list[Entry] = []

    def sink(observation: Observation, experiment: str) -> None:
        entries.append(Entry(observation, experiment))

    run = Run(
        target=without_query(options.url) if options.url else options.command or "",
        revision=options.revision.value if options.revision else "",
        profile=options.profile.value,
        seed=options.seed,
        declaration=options.declaration,
        command=command,
        fail_on=fail_on,
        baseline=tuple(entry for entry in baseline if not only or entry.clause in only),
    )
    try:
        with _progress(f"{label}, seed {options.seed}") as on_progress:
            result = asyncio.run(until_terminated(probe(evolve(options, sink=sink if keep else None), on_progress)))
    except NO_VERDICT as error:
        stopped = evolve(run, stopped=why_no_verdict(error))
        return Probed(report=Report(clauses=()), run=stopped, entries=tuple(entries), began=False)
    run = evolve(
        run,
        target=result.target,
        server=result.server,
        revision=result.revision,
        baseline=entries_for(result.revision, run.baseline),
        stimulus=result.stimulus,
        elapsed_ms=result.elapsed_ms,
        stopped=result.stopped,
    )
    report, jobs = _selected(result, frozenset(only))
    return Probed(report=report, run=run, jobs=jobs, entries=tuple(entries))


@frozen(kw_only=True)
class Again:
    """A finding that was looked for again."""

    shown: bool
    """Whether it was seen again."""
    tries: int
    """How often its experiment was run."""
    report: Report
    """What that showed about the finding's clause."""
    stopped: str = ""
    """Why there is no verdict; empty if there is one."""


def judge_again(trace: Trace, profile: Profile, revision: Revision) -> Again:
    """Judge what a replay file holds, without any server. It begins in the middle, so the oracle may say less."""
    if is_about_client(trace.header):
        bench = Bench(load_registry())
        bench.enter(trace.header.experiment, trace.observations, order_of(trace.header.experiment))
        return _about(trace.header, bench.report(profile, revision))
    oracle = Oracle(revision=revision, declaration=trace.header.declaration, complete=False)
    for entry in trace.entries:
        oracle.observe(entry.observation, experiment=entry.experiment)
    return _about(trace.header, oracle.report(profile))


def is_about_client(header: TraceHeader) -> bool:
    """Whether the finding of a replay file is a client's."""
    return load_registry().find(header.clause).about is About.CLIENT


def run_client_again(header: TraceHeader, command: str, profile: Profile) -> Again:
    """Run a client against the script of a replay file until it shows its finding, within a bound.

    Raises what ``choose_script`` and ``run_bench`` raise about script and command.
    """
    scripts = (choose_script(header.experiment, header.seed or 0),)
    options = BenchOptions(program=CommandProgram(command), scripts=scripts)
    registry = load_registry()
    for tries in range(1, CLIENT_TRIES + 1):
        try:
            result = asyncio.run(until_terminated(run_bench(options, registry, profile)))
        except KeyboardInterrupt as error:
            return Again(shown=False, tries=tries, report=Report(clauses=()), stopped=why_no_verdict(error))
        shown = redact_report(result.report, make_redactor(credentials=result.credentials))
        again = evolve(_about(header, shown), tries=tries, stopped=result.stopped)
        if again.shown or again.stopped:
            break
    return again


def run_again(header: TraceHeader, options: ProbeOptions) -> Again:
    """Run the experiment of a replay file against a server until it shows its finding, within a bound.

    Raises what ``replay`` raises about the options.
    """
    parameters: Parameters = header.parameters  # type: ignore[assignment]  # read from JSON
    finding = Shown(experiment=header.experiment, parameters=parameters, clause=header.clause, fault=header.fault)
    try:
        with _progress(f"replaying {header.clause} {header.fault}") as on_progress:
            replayed = asyncio.run(until_terminated(replay(options, finding, on_progress)))
    except NO_VERDICT as error:
        return Again(shown=False, tries=0, report=Report(clauses=()), stopped=why_no_verdict(error))
    again = _about(header, replayed.result.report)
    never = "" if replayed.tries or replayed.shown else "; ".join(replayed.result.report.notes)
    return evolve(again, tries=replayed.tries, stopped=replayed.result.stopped or never)


def _about(header: TraceHeader, report: Report) -> Again:
    findings = tuple(
        finding for finding in report.findings if (finding.clause, finding.fault.value) == (header.clause, header.fault)
    )
    return Again(shown=bool(findings), tries=0, report=evolve(report, findings=findings))


def why_no_verdict(error: BaseException) -> str:
    """One line on what kept a run from beginning."""
    return "interrupted before anything was found" if isinstance(error, KeyboardInterrupt) else str(error)


def at_end_of_run(end: Callable[[], object], *numbers: signal.Signals) -> None:
    """Have these signals call ``end``; but SIGHUP stays ignored where that was asked for (nohup)."""
    loop = asyncio.get_running_loop()
    for number in numbers:
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, end)


async def until_terminated(work: Coroutine[Any, Any, Result]) -> Result:
    """SIGTERM, and a terminal that goes, end a probe as SIGINT does: the server that it started is ended too."""
    task = asyncio.current_task()
    assert task is not None
    at_end_of_run(task.cancel, signal.SIGTERM, signal.SIGHUP)
    try:
        return await work
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _selected(result: ProbeResult, only: frozenset[str]) -> tuple[Report, tuple[Job | None, ...]]:
    """The report about the chosen clauses alone; what else was found is counted in a note, not hidden."""
    if not only:
        return result.report, result.jobs
    found = list(zip(result.report.findings, result.jobs, strict=True))
    kept = [pair for pair in found if pair[0].clause in only]
    others = sorted({finding.clause for finding, _ in found} - only)
    notes = (f"only {', '.join(sorted(only))}; findings about {', '.join(others)} are left out",) if others else ()
    report = Report(
        clauses=tuple(each for each in result.report.clauses if each.clause in only),
        findings=tuple(finding for finding, _ in kept),
        notes=(*result.report.notes, *notes),
    )
    return report, tuple(job for _, job in kept)


def _campaign(now: ProbeProgress) -> str:
    """How far a campaign has come; empty if there is none."""
    reached = now.campaign
    if reached is None:
        return ""
    return f"{reached.histories} histories, {reached.steps} steps, {len(reached.lines)} lines of the machine reached"


@contextlib.contextmanager
def _progress(label: str) -> Iterator[OnProgress]:
    """How far a probe is: the time is what is shared out, and the racy experiments go on until it is over."""
    with bar(label, TextColumn("{task.fields[findings]} found", markup=False), findings=0) as update:

        def show(now: ProbeProgress) -> None:
            words = _campaign(now) or ", ".join(now.running)
            update(min(now.elapsed_ms, now.budget_ms), now.budget_ms, words, findings=now.findings)

        yield show
