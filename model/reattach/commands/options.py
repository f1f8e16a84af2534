"""Options that several commands have, and how their text becomes values."""

import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, RenderableType

from reattach.clauses import Registry
from reattach.io.digests import Payloads
from reattach.io.files import write_atomically
from reattach.io.present import Format, render
from reattach.io.report_text import to_text
from reattach.io.run import FailOn, Presented, exit_code_of, verdict_of
from reattach.live.probe import DEFAULT_BUDGET_MS
from reattach.machine.revision import Revision
from reattach.oracle.verdict import Profile

Command = Annotated[
    str | None,
    typer.Option("--command", metavar="'... {port} ...'", help="Start the server with this, and end it afterwards."),
]
EndpointPath = Annotated[
    str, typer.Option("--path", metavar="PATH", help="The endpoint's path on a server that --command starts.")
]
Headers = Annotated[list[str] | None, typer.Option("--header", metavar="'K: V'", help="Sent with every request.")]
SecondPrincipal = Annotated[
    list[str] | None,
    typer.Option("--second-principal", metavar="'K: V'", help="A header that makes a request another principal's."),
]
CaFile = Annotated[
    Path | None, typer.Option("--ca", metavar="FILE", help="A private certificate authority (PEM).", show_default=False)
]
BaselineFile = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help="Findings that are expected, with reasons (TOML): they do not fail the run, and stale ones do.",
        show_default=False,
    ),
]
ProfileOption = Annotated[Profile, typer.Option("--profile", help="Which obligations to apply.")]
RevisionOption = Annotated[
    Revision | None,
    typer.Option("--revision", help="The MCP revision to ask for; the newest with resumption if not given."),
]
PolicyFile = Annotated[
    str | None,
    typer.Option("--policy", metavar="FILE", help="What the server declares of itself: TOML, or default or short."),
]
RecordedPolicy = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="What the server declares of itself: TOML, or default or short; what the recording says if not given.",
    ),
]
StimulusOption = Annotated[
    str | None,
    typer.Option(
        "--stimulus",
        metavar="PRESET|FILE",
        help="What makes the server send events; chosen by its tools if not given.",
    ),
]
Replays = Annotated[
    Path | None,
    typer.Option(
        "--replays",
        metavar="FOLDER",
        help="Where the replay files of findings go; a folder in .reattach if not given.",
        show_default=False,
    ),
]
FailOnOption = Annotated[FailOn, typer.Option("--fail-on", help="Which findings make the run fail.")]
Also = Annotated[str | None, typer.Option("--also", metavar="URL", help="Another URL of the same deployment.")]
Restart = Annotated[bool, typer.Option("--restart", help="The server that --command starts may be restarted.")]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", min=0, help="Repeats a run's random choices.", show_default=False)
]
LONGEST_S = 1_000_000
"""Seconds that anything may be given at most: some eleven days."""

Budget = Annotated[
    float | None,
    typer.Option(
        "--budget",
        metavar="SECONDS",
        min=1,
        max=LONGEST_S,
        show_default=False,
        help="Begin no experiment after this time; once each was run, go on with generated histories until then. If not"
        f" given, each is run once, and the racy ones again for {DEFAULT_BUDGET_MS // 1000} s.",
    ),
]

PayloadsOption = Annotated[
    Payloads,
    typer.Option("--payloads", help="What --record keeps of messages: all, or what names them, and digests."),
]
ReportFormat = Annotated[Format, typer.Option("--format", help="How to write the report.")]
Output = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Write the report to a file.", show_default=False)
]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of an HTTP header."""


def read_headers(option: str, given: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    """Names and values of ``K: V`` options. Raises BadParameter; a value may be a secret and is not repeated there."""
    headers: list[tuple[str, str]] = []
    for each in given or []:
        name, colon, value = each.partition(":")
        if not colon or not _TOKEN.fullmatch(name.strip()) or not value.strip().isprintable():
            raise typer.BadParameter("'NAME: VALUE' is needed, both printable", param_hint=f"'{option}'")
        headers.append((name.strip(), value.strip()))
    return tuple(headers)


def values_of(*headers: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The values of headers: credentials, as far as we can know, and never written."""
    return tuple(value for each in headers for _, value in each)


def choose_seed(given: int | None) -> int:
    """The seed that was asked for, or a new one."""
    return secrets.randbelow(2**32) if given is None else given


def milliseconds(seconds: float | None) -> int | None:
    """Seconds, as on the command line, in the unit of everything else."""
    return None if seconds is None else round(seconds * 1000)


def write_report(presented: Presented, wanted: Format, output: Path | None, registry: Registry) -> None:
    """Write a report in a format to a file, and say so; or to standard output. Raises OutputError."""
    report = render(presented, wanted, registry)
    if output is None:
        print(report, end="")
        return
    write_atomically(output, report)
    verdict, code = verdict_of(presented.report, presented.run), exit_code_of(presented.report, presented.run)
    print(f"verdict: {verdict.value} (exit {code}); the report is in {output}")


def show(shown: RenderableType) -> None:
    """Print to standard output: in the terminal's width and colours, or as plain text."""
    console = Console()
    if console.is_terminal:
        console.print(shown)
    else:
        print(to_text(shown), end="")
