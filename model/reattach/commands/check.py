"""``reattach check``: recordings judged, without any server."""

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from attrs import evolve
from rich.progress import MofNCompleteColumn, TextColumn

from reattach.clauses import load_registry
from reattach.commands import options as shared
from reattach.commands.progress import bar
from reattach.io.baseline import Baseline, entries_for, read_baseline
from reattach.io.cluster import on_cluster
from reattach.io.files import check_writable
from reattach.io.plain import plain
from reattach.io.policy_file import read_declaration
from reattach.io.present import Format, present
from reattach.io.recordings import Judged, merge, run_of_judged
from reattach.io.report_text import text_report
from reattach.io.run import FailOn, exit_code_of
from reattach.io.shell import command_line
from reattach.io.spread import Task, cores, in_turn, on_cores, worth_processes
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.oracle.verdict import Profile


def check(
    traces: Annotated[
        list[Path],
        typer.Argument(metavar="TRACE", help="Recordings (reattach-trace/1) and HAR files, plain or packed with gzip."),
    ],
    profile: shared.ProfileOption = Profile.MCP,
    policy: shared.RecordedPolicy = None,
    format_: shared.ReportFormat = Format.TEXT,
    output: shared.Output = None,
    fail_on: shared.FailOnOption = FailOn.MUST,
    baseline: shared.BaselineFile = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, show_default=False, help="Judge so many files at a time; the cores if not given."
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            show_default=False,
            help="Judge on the Dask cluster of this scheduler, whose workers can open the files by these paths.",
        ),
    ] = None,
) -> int:
    """Judge recordings: which clauses the server in them holds, which it violates, and how.

    Exit code 2: a recording could not be read to its end, and what could be read violates nothing. 3: in one of them
    nothing exercises a clause.
    """
    registry = load_registry()
    expected = () if baseline is None else read_baseline(baseline, registry)
    declaration = None if policy is None else read_declaration(policy)
    if output is not None:
        check_writable(output)
    task = Task(profile=profile, declaration=declaration)
    judged: list[Judged] = []
    with _progress(len(traces)) as on_judged:
        for one in _judging(traces, task, jobs, dask):
            judged.append(one)
            on_judged(one)
    repeat = command_line(
        "reattach",
        "check",
        *(str(path) for path in traces),
        profile=profile.value if profile is not Profile.MCP else None,
        policy=policy,
        fail_on=fail_on.value if fail_on is not FailOn.MUST else None,
        baseline=None if baseline is None else str(baseline),
    )
    report = merge(judged, registry)
    run = evolve(
        run_of_judged(judged, profile, fail_on, declaration, repeat), baseline=_entries_for_all(judged, expected)
    )
    presented = present(report, run, replays=(None,) * len(report.findings))
    if output is not None or format_ is not Format.TEXT:
        shared.write_report(presented, format_, output, registry)
    elif any(each.header is not None for each in judged):
        shared.show(text_report(presented, registry))
    return exit_code_of(presented.report, presented.run)


def _judging(paths: Sequence[Path], task: Task, jobs: int | None, dask: str | None) -> Iterator[Judged]:
    """The recordings judged, in their order: wherever that is done, the same comes out."""
    if dask is not None:
        return on_cluster(paths, task, dask)
    if jobs is None:
        jobs = cores() if worth_processes(paths) else 1
    return on_cores(paths, task, jobs) if min(jobs, len(paths)) > 1 else in_turn(paths, task)


def _entries_for_all(judged: Sequence[Judged], expected: Baseline) -> Baseline:
    """The entries that recordings of these revisions are held to."""
    revisions = {each.header.revision or NEWEST_WITH_RESUMPTION.value for each in judged if each.header is not None}
    held = {entry for revision in revisions for entry in entries_for(revision, expected)}
    return tuple(entry for entry in expected if entry in held)


@contextlib.contextmanager
def _progress(files: int) -> Iterator[Callable[[Judged], None]]:
    """Says what is bad about a file, and how far it is."""
    with bar("judging", MofNCompleteColumn(), TextColumn("files")) as update:
        done = itertools.count(1)
        update(0, files)

        def on_judged(judged: Judged) -> None:
            if judged.problem is not None:
                print(f"reattach: {plain(str(judged.problem))}", file=sys.stderr)
            update(next(done), files)

        yield on_judged
