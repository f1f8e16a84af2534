"""``reattach replay``: a finding shown again, as it was recorded or on a server."""

from pathlib import Path
from typing import Annotated

import typer
from attrs import evolve
from rich.console import Group
from rich.text import Text

from reattach.clauses import Registry, UnknownClauseError, load_registry
from reattach.commands import options as shared
from reattach.commands.running import Again, is_about_client, judge_again, run_again, run_client_again
from reattach.io.files import check_writable
from reattach.io.plain import plain
from reattach.io.present import Format, present, run_of
from reattach.io.redact import (
    make_redactor,
    named_credentials,
    query_credentials,
    redact_report,
    report_observations,
    without_query,
)
from reattach.io.report_text import finding_text
from reattach.io.run import EXIT_CODES, FailOn, Run, Verdict, verdict_of
from reattach.io.shell import replay_command
from reattach.io.trace import Trace, TraceError, read_trace
from reattach.live.probe import ProbeOptions
from reattach.machine.revision import Revision
from reattach.oracle.verdict import ClauseResult, Fault, Finding, Outcome, Profile, Report

_TOO_SHORT = "as recorded by the probe; the recorded exchange alone is too short to be judged again"


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A replay file that a probe wrote.")],
    target: Annotated[
        str | None, typer.Option(metavar="URL", help="Run the experiment again, against this server.")
    ] = None,
    command: shared.Command = None,
    path: shared.EndpointPath = "/mcp",
    header: shared.Headers = None,
    second_principal: shared.SecondPrincipal = None,
    ca: shared.CaFile = None,
    also: shared.Also = None,
    restart: shared.Restart = False,
    format_: shared.ReportFormat = Format.TEXT,
    output: shared.Output = None,
) -> int:
    """Show a finding again: the recorded exchange judged again, or its experiment run again on a server.

    Exit code 1: it was seen again. 0: run again, it was not. 3: no verdict.
    """
    registry = load_registry()
    trace = read_trace(file)
    recorded, profile, revision = read_finding(file, trace, registry)
    if output is not None:
        check_writable(output)
    live = target is not None or command is not None
    credentials: tuple[str, ...] = ()
    if live and is_about_client(trace.header):
        if command is None:
            raise typer.BadParameter("a client is run again by --command", param_hint="'--target'")
        again = run_client_again(trace.header, command, profile)
    elif live:
        headers = shared.read_headers("--header", header)
        second = shared.read_headers("--second-principal", second_principal)
        credentials = (
            *shared.values_of(headers, second),
            *query_credentials(target, also),
            *named_credentials(command),
        )
        options = ProbeOptions(
            url=target,
            command=command,
            path=path,
            profile=profile,
            revision=revision,
            declaration=trace.header.declaration,
            stimulus=trace.header.stimulus or None,
            seed=trace.header.seed or 0,
            headers=headers,
            second_principal=second,
            ca=None if ca is None else str(ca),
            also=also,
            restart=restart,
        )
        again = run_again(trace.header, options)
    else:
        again = judge_again(trace, profile, revision)
    if output is not None or format_ is not Format.TEXT:
        report, run = _report(file, trace, again, recorded, live)
        run = evolve(run, target=without_query(target) if target else command or run.target)
        presented = present(report, run, credentials=credentials, replays=(str(file),) * len(report.findings))
        shared.write_report(presented, format_, output, registry)
        return EXIT_CODES[verdict_of(presented.report, presented.run)]
    seen = again.report if again.shown else Report(clauses=(), findings=(recorded,))
    shown = redact_report(seen, make_redactor(report_observations(seen), credentials)).findings[0]
    shared.show(Group(finding_text(1, shown, None, registry), "", Text(_outcome(file, trace, again, live))))
    return EXIT_CODES[_verdict(again, live)]


def read_finding(file: Path, trace: Trace, registry: Registry) -> tuple[Finding, Profile, Revision]:
    """The finding that a replay file is about. Raises TraceError if it is about none."""
    header = trace.header
    if not header.clause:
        raise TraceError(file, 1, "a recording without a finding cannot be replayed")
    try:
        clause = registry.find(header.clause)
        profile, revision, fault = Profile(header.profile), Revision(header.revision), Fault(header.fault)
    except (UnknownClauseError, ValueError) as error:
        raise TraceError(file, 1, str(error)) from None
    finding = Finding(
        clause=clause.id,
        level=clause.level,
        kind=clause.kind(profile),
        fault=fault,
        summary=header.summary,
        evidence=trace.observations,
        experiment=header.experiment,
    )
    return finding, profile, revision


def _report(file: Path, trace: Trace, again: Again, recorded: Finding, live: bool) -> tuple[Report, Run]:
    """What was found out about the finding, as the report of a run that was about nothing else.

    A recorded exchange that is too short to be judged again is shown and decides nothing.
    """
    as_recorded = not live and not again.shown
    unseen = ClauseResult(clause=recorded.clause, level=recorded.level, outcome=Outcome.NOT_OBSERVED, note=_TOO_SHORT)
    judged = tuple(result for result in again.report.clauses if result.clause == recorded.clause)
    report = Report(
        clauses=(unseen,) if as_recorded else judged,
        findings=(recorded,) if as_recorded else again.report.findings[:1],
        notes=(_outcome(file, trace, again, live).partition("\n")[0],),
    )
    run = evolve(run_of(trace.header), stopped=again.stopped, fail_on=FailOn.ANY, recorded=as_recorded)
    return report, run


def _verdict(again: Again, live: bool) -> Verdict:
    if again.shown:
        return Verdict.VIOLATES
    # The recorded exchange alone may be too little to judge; that it shows nothing acquits no one.
    return Verdict.CONFORMS if live and not again.stopped else Verdict.NO_VERDICT


def _outcome(file: Path, trace: Trace, again: Again, live: bool) -> str:
    if live:
        tries = f"in {again.tries} {'try' if again.tries == 1 else 'tries'}"
        if again.shown:
            return f"seen again {tries}"
        return f"no verdict: {plain(again.stopped)}" if again.stopped else f"not seen again {tries}"
    verdict = "judged again from the recording: the same finding" if again.shown else _TOO_SHORT
    return f"{verdict}\nto run it again: {plain(replay_command(str(file), trace.header.target))}"
