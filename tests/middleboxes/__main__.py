"""``python -m tests.middleboxes``: every middlebox before the reference server; writes docs/middleboxes.md.

With names, only these are looked at again, and the other rows stay as they are.
"""

import argparse
import asyncio
import datetime
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen
from cattrs.errors import BaseValidationError
from tests.matrix.document import from_json, to_json
from tests.matrix.manifest import (
    ROOT,
    BuildError,
    Client,
    ManifestError,
    Middlebox,
    Variant,
    build,
    clients,
    middleboxes,
)
from tests.matrix.runs import Report, ReportError, read_report, report_to
from tests.matrix.table import shortest
from tests.middleboxes.effects import observe
from tests.middleboxes.page import DIRECT, Finding, Middleboxes, Row, to_markdown
from tests.middleboxes.serve import POLICY
from tests.middleboxes.through import Got, through

import reattach
from reattach.clauses import Registry, load_registry
from reattach.live.client import ProtocolError
from reattach.live.target import TargetError
from reattach.live.wire import WireError
from reattach.oracle.verdict import Outcome, Profile

DOCS = ROOT / "docs"
REPORTS = ROOT / ".build" / "middleboxes"
CLIENTS = ("python-2", "typescript-2")


@frozen(kw_only=True)
class Between:
    """What stands between client and server in one row; nothing, if there is no box."""

    box: Middlebox | None = None
    variant: Variant | None = None

    @property
    def name(self) -> str:
        """As ``tests.middleboxes.serve`` takes it."""
        if self.box is None:
            return DIRECT
        return self.box.name if self.variant is None else f"{self.box.name}/{self.variant.name}"

    @property
    def what(self) -> str:
        """What it is and how it is set, in a few words."""
        if self.box is None:
            return "nothing between: the reference server alone"
        return self.box.what if self.variant is None else self.variant.what


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit 1: interrupted. 2: bad usage. 3: something cannot be built or started."""
    parser = argparse.ArgumentParser(prog="tests.middleboxes", description="Look at every middlebox.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these middleboxes, with their variants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--docs", type=Path, default=DOCS, metavar="FOLDER", help="where the page goes (docs)")
    given = parser.parse_args(arguments)
    if not given.docs.is_dir():
        parser.error(f"--docs: there is no folder {given.docs}")
    began = time.monotonic()
    registry = load_registry()
    try:
        boxes = [box for box in middleboxes() if not given.names or box.name in given.names]
        unknown = set(given.names) - {box.name for box in boxes}
        if unknown:
            parser.error(f"no middlebox {min(unknown)!r}; there are {', '.join(box.name for box in middleboxes())}")
        earlier = _earlier(given.docs) if given.names else None
        chosen = [client for client in clients() if client.name in CLIENTS]
        for program in (*boxes, *chosen):
            print(f"building {program.name}", flush=True)
            build(program)
        rows = asyncio.run(_rows(boxes, chosen, given.seed, registry, whole=earlier is None))
    except ManifestError as error:
        print(f"tests.middleboxes: {error}", file=sys.stderr)
        return 2
    except (BuildError, TargetError, ReportError, ProtocolError, WireError) as error:
        print(f"tests.middleboxes: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("tests.middleboxes: interrupted; nothing was written", file=sys.stderr)
        return 1
    seen = Middleboxes(
        day=datetime.datetime.now(datetime.UTC).date().isoformat(),
        seed=given.seed,
        seconds=round(time.monotonic() - began) + (earlier.seconds if earlier is not None else 0),
        rows=_merged(earlier, rows) if earlier is not None else rows,
    )
    (given.docs / "middleboxes.json").write_text(to_json(seen), encoding="utf-8")
    (given.docs / "middleboxes.md").write_text(to_markdown(seen, registry), encoding="utf-8")
    print(f"{given.docs / 'middleboxes.md'} written after {seen.seconds} s")
    return 0


def _earlier(docs: Path) -> Middleboxes:
    """What is written. Raises ReportError."""
    path = docs / "middleboxes.json"
    try:
        return from_json(path.read_text(encoding="utf-8"), Middleboxes)
    except (OSError, ValueError, BaseValidationError):
        raise ReportError(path, "there is nothing that rows could be added to: look at all middleboxes first") from None


def _merged(earlier: Middleboxes, rows: Sequence[Row]) -> list[Row]:
    new = {row.name: row for row in rows}
    return [new.get(row.name, row) for row in earlier.rows]


async def _rows(
    boxes: Sequence[Middlebox], chosen: Sequence[Client], seed: int, registry: Registry, *, whole: bool
) -> list[Row]:
    """A row for each, if it is the ``whole`` page also for the server alone, else compared with its last report."""
    between = [Between()] if whole else []
    between += [Between(box=box, variant=variant) for box in boxes for variant in (None, *box.variant)]
    rows: list[Row] = []
    direct = None if whole else Report(**read_report(REPORTS / f"{DIRECT}.json", {}, registry))
    for each in between:
        print(each.name, flush=True)
        effects = await observe(each.box, each.variant)
        got: dict[str, list[str]] = {}
        for client in chosen:
            calls = [await through(client, each.box, each.variant, cut=cut) for cut in (False, True)]
            got[client.name] = [str(calls[0]), _cut(calls[1])]
        report = await _probe(each, seed, registry)
        direct = direct or report
        known = {(found.clause, found.fault) for found in direct.findings}
        held = [clause for clause, outcome in direct.outcomes.items() if outcome is Outcome.HELD]
        rows.append(
            Row(
                name=each.name,
                language=each.box.language if each.box is not None else "Python",
                package=each.box.package if each.box is not None else "reattach",
                version=_version(each.box),
                what=each.what,
                effects=effects,
                clients=got,
                stopped=report.stopped,
                findings=[
                    Finding(clause=found.clause, fault=found.fault, kind=found.kind, summary=found.summary)
                    for found in shortest(report.findings)
                    if (found.clause, found.fault) not in known
                ],
                unseen=[clause for clause in held if report.outcomes.get(clause) in (None, Outcome.NOT_OBSERVED)],
            )
        )
    return rows


def _cut(got: Got) -> str:
    return str(got) if got.cut else f"nothing to cut after: {got}"


async def _probe(between: Between, seed: int, registry: Registry) -> Report:
    """The probe, through it."""
    command = [sys.executable, "-m", "tests.middleboxes.serve", between.name, "--port", "{port}"]
    name = between.name.replace("/", "-")
    words = ["--command", shlex.join(command), "--policy", POLICY, "--profile", Profile.REATTACH.value]
    REPORTS.mkdir(parents=True, exist_ok=True)
    stopped = await report_to(REPORTS, name, "probe", *words, "--seed", str(seed), "--fail-on", "any")
    if stopped:
        return Report(stopped=stopped)
    return Report(**read_report(REPORTS / f"{name}.json", {}, registry))


def _version(box: Middlebox | None) -> str:
    """That which is there; of what the machine has, the last word that the program says of it."""
    if box is None or not box.asks:
        return box.version if box is not None else reattach.__version__
    said = subprocess.run(shlex.split(box.asks), capture_output=True, text=True, timeout=60, check=False)
    return (said.stdout + said.stderr).split()[-1]


if __name__ == "__main__":
    sys.exit(main())
