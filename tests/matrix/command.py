"""What the matrices' commands have in common: their arguments, and how they end when something is wrong."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.matrix.manifest import ROOT, BuildError, Kind, ManifestError
from tests.matrix.runs import ReportError

from reattach.io.trace import TraceError

DOCS = ROOT / "docs"


def parser_for(prog: str, what: str, description: str) -> argparse.ArgumentParser:
    """The arguments that each takes; ``what`` is a server, or a client."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("names", nargs="*", metavar=what.upper(), help="only these; then no document is written")
    parser.add_argument("--seed", type=at_least(0), default=1)
    parser.add_argument("--docs", type=Path, default=DOCS, metavar="FOLDER", help="where the documents go (docs)")
    parser.add_argument(
        "--last", action="store_true", help="run nothing: write what the last whole run found, as it is judged now"
    )
    return parser


def at_least(least: int) -> Callable[[str], int]:
    """A type for argparse: a whole number from ``least`` on."""

    def number(text: str) -> int:
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"a whole number from {least} on is needed, not {text!r}")
        return int(text)

    return number


def parse(
    parser: argparse.ArgumentParser, what: str, read: Callable[[], list[Kind]], arguments: Sequence[str] | None
) -> tuple[argparse.Namespace, list[Kind]]:
    """The arguments, and the programs that they name, or all. Ends the command with 2 if they cannot be used."""
    given = parser.parse_args(arguments)
    if given.last and given.names:
        parser.error("--last writes the whole matrix: give no names")
    if not given.docs.is_dir():
        parser.error(f"--docs: there is no folder {given.docs}")
    try:
        there = read()
    except ManifestError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    unknown = set(given.names) - {program.name for program in there}
    if unknown:
        known = ", ".join(program.name for program in there)
        parser.exit(2, f"{parser.prog}: no {what} {min(unknown)!r}; there are {known}\n")
    return given, [program for program in there if not given.names or program.name in given.names]


def ending(prog: str, reports: Path, work: Callable[[], int]) -> int:
    """Do the work; the exit status. What went wrong is one line."""
    try:
        return work()
    except BuildError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 3
    except (ReportError, TraceError) as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{prog}: interrupted; the reports so far are in {reports.relative_to(ROOT)}", file=sys.stderr)
        return 1
