"""``reattach check``: recordings judged, without any server."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from reattach.clauses import load_registry
from reattach.commands import options as shared
from reattach.io.files import check_writable
from reattach.io.plain import plain
from reattach.io.policy_file import read_declaration
from reattach.io.present import Format, present
from reattach.io.recordings import Judged, judge_recording, merge, run_of_judged
from reattach.io.report_text import text_report
from reattach.io.run import FailOn, exit_code_of
from reattach.io.shell import command_line
from reattach.oracle.verdict import Profile


def check(
    traces: Annotated[
        list[Path], typer.Argument(metavar="TRACE", help="Recordings (reattach-trace/1), plain or packed with gzip.")
    ],
    profile: shared.ProfileOption = Profile.MCP,
    policy: shared.RecordedPolicy = None,
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
    run = run_of_judged(judged, profile, fail_on, declaration, repeat)
    presented = present(report, run, replays=(None,) * len(report.findings))
    if output is not None or format_ is not Format.TEXT:
        shared.write_report(presented, format_, output, registry)
    elif any(each.header is not None for each in judged):
        shared.show(text_report(presented, registry))
    return exit_code_of(presented.report, presented.run)
