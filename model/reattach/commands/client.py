"""``reattach client``: a client program, judged by what it does against scripted servers."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from attrs import evolve

from reattach.clauses import load_registry
from reattach.commands import options as shared
from reattach.commands.progress import bar
from reattach.commands.running import until_terminated
from reattach.commands.serve import mutant_for
from reattach.io.baseline import Baseline, entries_for, read_baseline
from reattach.io.files import OutputError, check_writable, make_folder
from reattach.io.plain import plain
from reattach.io.policy_file import read_policy
from reattach.io.present import Format, present, replay_folder, write_record, write_replays
from reattach.io.redact import named_credentials
from reattach.io.report_text import text_report
from reattach.io.run import EXIT_CODES, FailOn, Run, verdict_of
from reattach.io.shell import command_line
from reattach.io.trace import Entry
from reattach.live.clients.bench import AT_ONCE, BenchOptions, run_bench
from reattach.live.clients.program import CommandProgram
from reattach.live.clients.scripts import RANDOM, SCRIPTS, Script, choose_script, random_script
from reattach.oracle.observation import Json
from reattach.oracle.verdict import Profile, Report


def client(
    command: Annotated[
        str,
        typer.Option(
            "--command",
            metavar="'... {url} ...'",
            show_default=False,
            help="The client program; docs/clients.md says what it is given and what it prints.",
        ),
    ] = "",
    script: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="What the server does: a script's name, or a file; repeatable; all if not given; list names them.",
        ),
    ] = None,
    profile: shared.ProfileOption = Profile.MCP,
    policy: Annotated[
        str, typer.Option(metavar="FILE", help="The server's policy: a TOML file, or default or short.")
    ] = "default",
    mutant: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="Serve with this mistake in it (reattach serve)."),
    ] = None,
    seed: shared.Seed = None,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, help="How many runs beside each other.")] = AT_ONCE,
    bound: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            max=shared.LONGEST_S,
            show_default=False,
            help="The longest a run may take after the client's first request.",
        ),
    ] = None,
    format_: shared.ReportFormat = Format.TEXT,
    output: shared.Output = None,
    fail_on: shared.FailOnOption = FailOn.MUST,
    baseline: shared.BaselineFile = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write a recording of each run there.", show_default=False)
    ] = None,
    replays: shared.Replays = None,
) -> int:
    """Judge a client program: run it against servers that cut, refuse, repeat and forget, and see what it does."""
    if script == ["list"]:
        chosen_seed = shared.choose_seed(seed)
        print(*(f"{each.name}: {each.does}" for each in (*SCRIPTS.values(), random_script(chosen_seed))), sep="\n")
        return 0
    if not command.strip():
        raise typer.BadParameter("the client program is needed", param_hint="'--command'")
    if format_ is Format.CURL:
        raise typer.BadParameter("a curl script asks a server; a client cannot be asked", param_hint="'--format'")
    registry = load_registry()
    chosen_seed = shared.choose_seed(seed)
    expected = () if baseline is None else read_baseline(baseline, registry)
    options = BenchOptions(
        program=CommandProgram(command),
        scripts=_scripts(script or (*SCRIPTS, RANDOM), chosen_seed),
        policy=read_policy(policy),
        mutant=None if mutant is None else mutant_for(mutant),
        at_once=jobs,
        bound_ms=shared.milliseconds(bound),
    )
    if output is not None:
        check_writable(output)
    if record is not None:
        make_folder(record)
    repeat = command_line(
        "reattach",
        "client",
        command=command,
        script=script,
        profile=profile.value if profile is not Profile.MCP else None,
        policy=policy if policy != "default" else None,
        mutant=mutant,
        seed=str(chosen_seed),
        jobs=str(jobs) if jobs != AT_ONCE else None,
        bound=None if bound is None else f"{bound:g}",
        fail_on=fail_on.value if fail_on is not FailOn.MUST else None,
        baseline=None if baseline is None else str(baseline),
    )
    run = Run(target=command, profile=profile.value, seed=chosen_seed, command=repeat, fail_on=fail_on)
    try:
        with bar("judging the client") as update:

            def on_progress(done: int, total: int, running: Sequence[str]) -> None:
                update(done, total, ", ".join(running))

            result = asyncio.run(until_terminated(run_bench(options, registry, profile, on_progress)))
    except KeyboardInterrupt:
        print("reattach: interrupted before anything was found", file=sys.stderr)
        return 3
    run = evolve(
        run,
        client=result.client,
        revision=result.revision.value,
        elapsed_ms=result.elapsed_ms,
        stopped=result.stopped,
        baseline=_due(entries_for(result.revision.value, expected), result.report, every=script is None),
    )
    said = (each.ending.last_words for each in result.runs)
    credentials = (*result.credentials, *named_credentials(command, *said))
    for each in result.runs if record is not None else ():
        assert record is not None
        entries = [Entry(observation, each.script.name) for observation in each.observations]
        write_record(record / f"{each.script.name}.jsonl", entries, run, credentials)
    shown = _replays(result.report, run, replays, credentials)
    presented = present(result.report, run, credentials=credentials, replays=shown)
    if output is not None or format_ is not Format.TEXT:
        shared.write_report(presented, format_, output, registry)
    else:
        shared.show(text_report(presented, registry))
    return EXIT_CODES[verdict_of(presented.report, presented.run)]


def _scripts(wanted: Sequence[str], seed: int) -> tuple[Script, ...]:
    scripts: dict[str, Script] = {}
    for each in dict.fromkeys(wanted):
        script = choose_script(each, seed)
        if script.name in scripts:
            raise typer.BadParameter(f"two scripts have the name {script.name}", param_hint="'--script'")
        scripts[script.name] = script
    return tuple(scripts.values())


def _due(baseline: Baseline, report: Report, *, every: bool) -> Baseline:
    """The entries that a run is held to: with some of the scripts alone, those whose finding came."""
    found = {(finding.clause, finding.fault.value) for finding in report.findings}
    return tuple(entry for entry in baseline if every or (entry.clause, entry.fault) in found)


def _replays(report: Report, run: Run, folder: Path | None, credentials: Sequence[str]) -> Sequence[str | None]:
    """Write replay files for the findings; if they cannot be written, that costs nothing else."""
    if not report.findings:
        return ()
    scripts: list[tuple[str, dict[str, Json]]] = [(finding.experiment, {}) for finding in report.findings]
    try:
        return write_replays(folder or replay_folder(run), report, run, scripts, credentials)
    except OutputError as error:
        print(f"reattach: no replay files: {plain(str(error))}", file=sys.stderr)
        return (None,) * len(report.findings)
