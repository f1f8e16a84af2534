"""``reattach soak``."""

import asyncio
import sys
from typing import Annotated

import typer
from attrs import evolve

from reattach.clauses import load_registry
from reattach.commands import options as shared
from reattach.commands.progress import bar
from reattach.commands.running import NO_VERDICT, until_terminated, why_no_verdict
from reattach.io.baseline import read_baseline
from reattach.io.files import check_writable
from reattach.io.plain import plain
from reattach.io.policy_file import read_declaration
from reattach.io.present import Format, present
from reattach.io.redact import named_credentials, query_credentials, without_query
from reattach.io.report_text import text_report
from reattach.io.run import EXIT_CODES, FailOn, Run, verdict_of
from reattach.io.shell import command_line
from reattach.live.soak.options import SoakOptions, SoakProgress, SoakResult
from reattach.live.soak.soak import soak as soaked
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.soak import Phase
from reattach.oracle.soak_verdict import CLAUSES
from reattach.oracle.verdict import Report

_DEFAULTS = SoakOptions()
_MB = 1_000_000
_PHASES = ", ".join(phase.value for phase in Phase)


def soak(
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="The server's MCP endpoint, unless --command is given.")
    ] = None,
    command: shared.Command = None,
    path: shared.EndpointPath = "/mcp",
    pid: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="With a URL: the process that serves it.", show_default=False)
    ] = None,
    sessions: Annotated[
        int, typer.Option(metavar="N", min=1, max=100_000, help="Sessions held at once.")
    ] = _DEFAULTS.sessions,
    events: Annotated[
        int, typer.Option(metavar="N", min=1, max=10_000, help="Events that each call emits and nobody reads.")
    ] = _DEFAULTS.events,
    size: Annotated[
        int, typer.Option(metavar="BYTES", min=0, max=1_000_000, help="Bytes of padding in each event.")
    ] = _DEFAULTS.size,
    limit: Annotated[
        int, typer.Option(metavar="MB", min=1, help="Break a load off when so much memory is resident.")
    ] = _DEFAULTS.limit_bytes // _MB,
    budget: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=1, max=shared.LONGEST_S, help="How long it may take; what that leaves out is said."
        ),
    ] = _DEFAULTS.budget_ms / 1000,
    phase: Annotated[
        list[Phase] | None, typer.Option(metavar="PHASE", help=f"Run this phase alone ({_PHASES}); repeatable.")
    ] = None,
    idle: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            max=shared.LONGEST_S,
            show_default=False,
            help="The idle budget after which sessions must have ended, unless --policy declares it.",
        ),
    ] = None,
    policy: shared.PolicyFile = None,
    profile: shared.ProfileOption = _DEFAULTS.profile,
    revision: shared.RevisionOption = None,
    stimulus: shared.StimulusOption = None,
    seed: shared.Seed = None,
    header: shared.Headers = None,
    ca: shared.CaFile = None,
    format_: shared.ReportFormat = Format.TEXT,
    output: shared.Output = None,
    fail_on: shared.FailOnOption = FailOn.MUST,
    baseline: shared.BaselineFile = None,
) -> int:
    """Measure a server's memory while clients do not come back, and whether its idle budgets are kept."""
    registry = load_registry()
    headers = shared.read_headers("--header", header)
    expected = () if baseline is None else read_baseline(baseline, registry)
    options = SoakOptions(
        url=url,
        command=command,
        path=path,
        pid=pid,
        profile=profile,
        revision=revision,
        declaration=_declaration(policy, idle),
        stimulus=stimulus,
        seed=shared.choose_seed(seed),
        headers=headers,
        ca=None if ca is None else str(ca),
        phases=tuple(phase or Phase),
        sessions=sessions,
        events=events,
        size=size,
        limit_bytes=limit * _MB,
        budget_ms=round(budget * 1000),
    )
    if output is not None:
        check_writable(output)
    given = {"sessions": sessions, "events": events, "size": size, "limit": limit, "budget": budget, "idle": idle}
    usual = {
        "sessions": _DEFAULTS.sessions,
        "events": _DEFAULTS.events,
        "size": _DEFAULTS.size,
        "limit": _DEFAULTS.limit_bytes // _MB,
        "budget": _DEFAULTS.budget_ms / 1000,
        "idle": None,
    }
    shown = None if url is None else without_query(url)
    credentials = (*shared.values_of(headers), *query_credentials(url), *named_credentials(command))
    run = Run(
        target=shown or command or "",
        revision=revision.value if revision is not None else "",
        profile=profile.value,
        seed=options.seed,
        declaration=options.declaration,
        command=command_line(
            "reattach",
            "soak",
            shown,
            command=command,
            path=path if path != "/mcp" else None,
            pid=None if pid is None else str(pid),
            policy=policy,
            profile=profile.value if profile is not _DEFAULTS.profile else None,
            revision=None if revision is None else revision.value,
            stimulus=stimulus,
            phase=[each.value for each in phase or ()],
            seed=str(options.seed),
            header=header,
            ca=options.ca,
            fail_on=fail_on.value if fail_on is not FailOn.MUST else None,
            baseline=None if baseline is None else str(baseline),
            **{name: f"{value:g}" for name, value in given.items() if value is not None and value != usual[name]},
        ),
        fail_on=fail_on,
        baseline=tuple(entry for entry in expected if entry.clause in CLAUSES),
    )
    result, run = _run(options, run)
    report = Report(clauses=()) if result is None else result.report
    presented = present(report, run, credentials=credentials, replays=(None,) * len(report.findings))
    if result is None:
        print(f"reattach: {plain(presented.run.stopped)}", file=sys.stderr)
    else:
        presented = evolve(presented, soak=result.soak)
    if output is not None or format_ is not Format.TEXT:
        shared.write_report(presented, format_, output, registry)
    elif result is not None:
        shared.show(text_report(presented, registry))
    return EXIT_CODES[verdict_of(presented.report, presented.run)]


def _declaration(policy: str | None, idle: float | None) -> Declaration:
    declaration = NOTHING_DECLARED if policy is None else read_declaration(policy)
    if idle is None:
        return declaration
    if declaration.absence_ms is not None:
        raise typer.BadParameter("the policy declares it already (absence_ms)", param_hint="'--idle'")
    return evolve(declaration, absence_ms=round(idle * 1000))


def _run(options: SoakOptions, run: Run) -> tuple[SoakResult | None, Run]:
    """Soak with progress; SIGINT and SIGTERM end it with what was found so far."""
    try:
        with bar("soaking") as update:

            def on_progress(now: SoakProgress) -> None:
                words = f"{now.phase.value} {now.rounds}, {now.resident // _MB} MB; {now.said}"
                update(min(now.elapsed_ms, now.budget_ms), now.budget_ms, words)

            result = asyncio.run(until_terminated(soaked(options, on_progress)))
    except NO_VERDICT as error:
        return None, evolve(run, stopped=why_no_verdict(error))
    return result, evolve(
        run,
        target=result.target,
        server=result.server,
        revision=result.revision,
        stimulus=result.stimulus,
        elapsed_ms=result.elapsed_ms,
        stopped=result.stopped,
    )
