"""``reattach replay``: a finding shown again, as it was recorded or on a server."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from reattach.clauses import Registry, UnknownClauseError, load_registry
from reattach.commands import options as shared
from reattach.commands.running import Again, judge_again, run_again
from reattach.io.plain import plain
from reattach.io.redact import make_redactor, redact_report, report_observations
from reattach.io.report_text import finding_text
from reattach.io.run import EXIT_CODES, Verdict
from reattach.io.trace import Trace, TraceError, read_trace
from reattach.live.probe import ProbeOptions
from reattach.machine.revision import Revision
from reattach.oracle.verdict import Fault, Finding, Profile, Report

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
) -> int:
    """Show a finding again: the recorded exchange judged again, or its experiment run again on a server.

    Exit code 1: it was seen again. 0: run again, it was not. 3: no verdict.
    """
    registry = load_registry()
    trace = read_trace(file)
    recorded, profile, revision = read_finding(file, trace, registry)
    live = target is not None or command is not None
    credentials: tuple[str, ...] = ()
    if live:
        headers = shared.read_headers("--header", header)
        second = shared.read_headers("--second-principal", second_principal)
        credentials = shared.values_of(headers, second)
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
    target = trace.header.target
    option = {"command": target} if "{port}" in target else {"target": target}
    return f"{verdict}\nto run it again: {plain(shared.command_line('reattach', 'replay', str(file), **option))}"
