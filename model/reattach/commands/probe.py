"""``reattach probe``."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from reattach.clauses import Registry, load_registry
from reattach.commands import options as shared
from reattach.commands.running import Probed, run_probe
from reattach.io.baseline import read_baseline
from reattach.io.digests import Payloads
from reattach.io.files import OutputError, check_apart
from reattach.io.plain import plain
from reattach.io.policy_file import read_declaration
from reattach.io.present import Format, present, replay_folder, write_record, write_replays
from reattach.io.redact import named_credentials, query_credentials, without_query
from reattach.io.report_text import text_report
from reattach.io.run import EXIT_CODES, FailOn, Presented, verdict_of
from reattach.io.shell import command_line
from reattach.live.probe import ProbeOptions
from reattach.oracle.declaration import NOTHING_DECLARED
from reattach.oracle.verdict import Profile


def probe(
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="The server's MCP endpoint, unless --command is given.")
    ] = None,
    command: shared.Command = None,
    path: shared.EndpointPath = "/mcp",
    profile: shared.ProfileOption = Profile.MCP,
    revision: shared.RevisionOption = None,
    policy: shared.PolicyFile = None,
    stimulus: shared.StimulusOption = None,
    seed: shared.Seed = None,
    header: shared.Headers = None,
    second_principal: shared.SecondPrincipal = None,
    ca: shared.CaFile = None,
    also: shared.Also = None,
    restart: shared.Restart = False,
    budget: shared.Budget = None,
    plateau: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=1,
            max=shared.LONGEST_S,
            show_default=False,
            help="With --budget: end when for so long the campaign reached nothing new.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="CLAUSE", help="Judge only this clause; repeatable.")
    ] = None,
    format_: shared.ReportFormat = Format.TEXT,
    output: shared.Output = None,
    fail_on: shared.FailOnOption = FailOn.MUST,
    baseline: shared.BaselineFile = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write everything observed to a file.", show_default=False)
    ] = None,
    payloads: shared.PayloadsOption = Payloads.WHOLE,
    replays: shared.Replays = None,
) -> int:
    """Probe a server over HTTP: which clauses it holds, which it violates, and how."""
    registry = load_registry()
    clauses = tuple(registry.find(each).id for each in only or [])
    headers = shared.read_headers("--header", header)
    second = shared.read_headers("--second-principal", second_principal)
    expected = () if baseline is None else read_baseline(baseline, registry)
    options = ProbeOptions(
        url=url,
        command=command,
        path=path,
        profile=profile,
        revision=revision,
        declaration=NOTHING_DECLARED if policy is None else read_declaration(policy),
        stimulus=stimulus,
        seed=shared.choose_seed(seed),
        headers=headers,
        second_principal=second,
        ca=None if ca is None else str(ca),
        also=also,
        restart=restart,
        budget_ms=shared.milliseconds(budget),
        plateau_ms=shared.milliseconds(plateau),
        only=clauses,
    )
    check_apart(output, record)
    # What repeats the run: the seed, and what differs from the defaults. How it is reported is left to the reader.
    repeat = command_line(
        "reattach",
        "probe",
        None if url is None else without_query(url),
        command=command,
        path=path if path != "/mcp" else None,
        profile=profile.value if profile is not Profile.MCP else None,
        revision=None if revision is None else revision.value,
        policy=policy,
        stimulus=stimulus,
        seed=str(options.seed),
        header=header,
        second_principal=second_principal,
        ca=options.ca,
        also=None if also is None else without_query(also),
        restart=restart,
        budget=None if budget is None else f"{budget:g}",
        plateau=None if plateau is None else f"{plateau:g}",
        only=clauses,
        fail_on=fail_on.value if fail_on is not FailOn.MUST else None,
        baseline=None if baseline is None else str(baseline),
    )
    probed = run_probe(
        options, command=repeat, fail_on=fail_on, baseline=expected, only=clauses, keep=record is not None
    )
    credentials = (*shared.values_of(headers, second), *query_credentials(url, also), *named_credentials(command))
    if record is not None:
        write_record(record, probed.entries, probed.run, credentials, payloads)
    presented = present(
        probed.report, probed.run, credentials=credentials, replays=replays_of(probed, replays, credentials)
    )
    _show(presented, probed.began, format_, output, registry)
    return EXIT_CODES[verdict_of(presented.report, presented.run)]


def replays_of(probed: Probed, folder: Path | None, credentials: Sequence[str]) -> tuple[str | None, ...]:
    """Write replay files for the findings. They are an extra: if they cannot be written, that costs nothing else."""
    if not probed.report.findings:
        return ()
    experiments = [("", {}) if job is None else (job.experiment.name, job.parameters) for job in probed.jobs]
    try:
        return write_replays(folder or replay_folder(probed.run), probed.report, probed.run, experiments, credentials)
    except OutputError as error:
        print(f"reattach: no replay files: {error}", file=sys.stderr)
        return (None,) * len(probed.report.findings)


def _show(presented: Presented, began: bool, wanted: Format, output: Path | None, registry: Registry) -> None:
    if not began:
        print(f"reattach: {plain(presented.run.stopped)}", file=sys.stderr)
    if output is not None or wanted is not Format.TEXT:
        shared.write_report(presented, wanted, output, registry)
    elif began:
        shared.show(text_report(presented, registry))
