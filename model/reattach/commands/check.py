"""``reattach check``: recordings judged, without any server."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from reattach.clauses import load_registry
from reattach.commands import options as shared
from reattach.io.files import check_writable
from reattach.io.plain import plain
from reattach.io.policy_file import read_declaration
from reattach.io.present import Format, present
from reattach.io.recordings import Judged, judge_recording, merge
from reattach.io.report_text import text_report
from reattach.io.run import FailOn, Run, exit_code_of
from reattach.io.shell import command_line
from reattach.io.trace import TraceHeader
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.verdict import Profile


def check(
    traces: Annotated[
        list[Path], typer.Argument(metavar="TRACE", help="Recordings (reattach-trace/1), plain or packed with gzip.")
    ],
    profile: shared.ProfileOption = Profile.MCP,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="What the server declares of itself: TOML, or default or short; what the recording says if not given.",
        ),
    ] = None,
    format_: shared.ReportFormat = Format.TEXT,
    output: shared.Output = None,
    fail_on: shared.FailOnOption = FailOn.MUST,
) -> int:
    """Judge recordings: which clauses the server in them holds, which it violates, and how.

    Exit code 2: a recording could not be read to its end, and what could be read violates nothing. 3: in one of them
    nothing exercises a clause.
    """
    registry = load_registry()
    declaration = None if policy is None else read_declaration(policy)
    if output is not None:
        check_writable(output)
    judged: list[Judged] = []
    for path in traces:
        one = judge_recording(path, profile=profile, declaration=declaration, registry=registry)
        judged.append(one)
        if one.problem is not None:
            print(f"reattach: {plain(str(one.problem))}", file=sys.stderr)
        if one.interrupted:
            break
    repeat = command_line(
        "reattach",
        "check",
        *(str(path) for path in traces),
        profile=profile.value if profile is not Profile.MCP else None,
        policy=policy,
        fail_on=fail_on.value if fail_on is not FailOn.MUST else None,
    )
    report = merge(judged, registry)
    run = _run(judged, profile, fail_on, declaration, repeat)
    presented = present(report, run, replays=(None,) * len(report.findings))
    if output is not None or format_ is not Format.TEXT:
        shared.write_report(presented, format_, output, registry)
    elif any(each.header is not None for each in judged):
        shared.show(text_report(presented, registry))
    return exit_code_of(presented.report, presented.run)


def _run(
    judged: Sequence[Judged], profile: Profile, fail_on: FailOn, declaration: Declaration | None, repeat: str
) -> Run:
    """The run that the report is about: what the headers say, where they agree."""
    reasons = [each.stopped for each in judged if each.stopped]
    more = f" (and {len(reasons) - 1} more: see the notes)" if len(reasons) > 1 else ""
    headers = [each.header for each in judged if each.header is not None]

    def agreed(of: Callable[[TraceHeader], str]) -> str:
        said = {of(header) for header in headers}
        return said.pop() if len(said) == 1 else ""

    declared = {header.declaration for header in headers} if declaration is None else {declaration}
    return Run(
        target=str(judged[0].path) if len(judged) == 1 else f"{len(judged)} recordings",
        server=agreed(lambda header: header.server),
        revision=agreed(lambda header: header.revision),
        profile=profile.value,
        stimulus=agreed(lambda header: header.stimulus),
        declaration=declared.pop() if len(declared) == 1 else NOTHING_DECLARED,
        command=repeat,
        stopped=f"{reasons[0]}{more}" if reasons else "",
        fail_on=fail_on,
        bad_input=any(each.problem is not None for each in judged),
    )
