"""A probe as a command runs it: with progress, interruptible, and with something to show whatever happens.

``reattach probe`` and ``reattach demo`` both run probes through here.
"""

import asyncio
import contextlib
import signal
from collections.abc import Collection, Iterator

from attrs import evolve, field, frozen
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from reattach.io.run import FailOn, Run
from reattach.io.trace import Entry
from reattach.live.preflight import PreflightError
from reattach.live.probe import Job, OnProgress, ProbeOptions, ProbeResult, probe
from reattach.live.probe import Progress as ProbeProgress
from reattach.live.target import DidNotStartError
from reattach.oracle.observation import Observation
from reattach.oracle.verdict import Report

NO_VERDICT = (PreflightError, DidNotStartError)
"""What keeps a probe from beginning, and says something about the target and not about how it was asked."""


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
    only: Collection[str] = (),
    label: str = "probing",
    keep: bool = False,
) -> Probed:
    """Probe with progress on the terminal, if there is one. SIGINT and SIGTERM end it with what was found so far.

    ``keep`` keeps every observation. Raises what ``probe`` raises about the options, and KeyboardInterrupt if it was
    interrupted before it began.
    """
    entries: list[Entry] = []

    def sink(observation: Observation, experiment: str) -> None:
        entries.append(Entry(observation, experiment))

    run = Run(
        target=options.url or options.command or "",
        revision=options.revision.value if options.revision else "",
        profile=options.profile.value,
        seed=options.seed,
        command=command,
        fail_on=fail_on,
    )
    try:
        with _progress(f"{label}, seed {options.seed}") as on_progress:
            result = asyncio.run(_until_terminated(evolve(options, sink=sink if keep else None), on_progress))
    except NO_VERDICT as error:
        stopped = evolve(run, stopped=str(error))
        return Probed(report=Report(clauses=()), run=stopped, entries=tuple(entries), began=False)
    run = evolve(
        run,
        target=result.target,
        server=result.server,
        revision=result.revision,
        stimulus=result.stimulus,
        elapsed_ms=result.elapsed_ms,
        stopped=result.stopped,
    )
    report, jobs = _selected(result, frozenset(only))
    return Probed(report=report, run=run, jobs=jobs, entries=tuple(entries))


async def _until_terminated(options: ProbeOptions, on_progress: OnProgress) -> ProbeResult:
    """SIGTERM ends a probe as SIGINT does: the server that it started is ended too."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await probe(options, on_progress)
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


@contextlib.contextmanager
def _progress(label: str) -> Iterator[OnProgress]:
    """A bar on standard error, on a terminal only."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn(label, markup=False),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[findings]} found", markup=False),
        TextColumn("{task.description}", markup=False, style="dim"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, findings=0)

        def show(now: ProbeProgress) -> None:
            # The time is what is shared out: the racy experiments go on until it is over.
            bar.update(
                task,
                total=now.budget_ms,
                completed=min(now.elapsed_ms, now.budget_ms),
                findings=now.findings,
                description=", ".join(now.running)[: max(console.width - 70, 10)],
            )

        yield show
