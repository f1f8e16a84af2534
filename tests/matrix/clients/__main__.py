"""``python -m tests.matrix.clients``: build every real client, run it against every script, write the matrix."""

import argparse
import asyncio
import datetime
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from attrs import asdict
from tests.matrix.clients.pages import write_pages
from tests.matrix.clients.runs import ClientRan, judge_again, last_run, run
from tests.matrix.clients.table import matrix_of, to_json, to_markdown
from tests.matrix.manifest import ROOT, BuildError, Client, ManifestError, build, clients
from tests.matrix.runs import ReportError
from tests.matrix.table import Made

from reattach.clauses import load_registry
from reattach.io.trace import TraceError

DOCS = ROOT / "docs"
REPORTS = ROOT / ".build" / "clients-matrix"
MADE = "made.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit 1: a finding is new or gone, or a client was not run to its end. 2: bad usage. 3: a build failed."""
    parser = argparse.ArgumentParser(prog="tests.matrix.clients", description="Judge every real client.")
    parser.add_argument("names", nargs="*", metavar="CLIENT", help="only these; then no document is written")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--docs", type=Path, default=DOCS, metavar="FOLDER", help="where the documents go (docs)")
    parser.add_argument(
        "--last", action="store_true", help="run nothing: judge what the last whole run recorded as it is judged now"
    )
    given = parser.parse_args(arguments)
    if given.last and given.names:
        parser.error("--last writes the whole matrix: give no names")
    if not given.docs.is_dir():
        parser.error(f"--docs: there is no folder {given.docs}")
    try:
        there = clients()
    except ManifestError as error:
        print(f"tests.matrix.clients: {error}", file=sys.stderr)
        return 2
    unknown = set(given.names) - {client.name for client in there}
    if unknown:
        known = ", ".join(client.name for client in there)
        print(f"tests.matrix.clients: no client {min(unknown)!r}; there are {known}", file=sys.stderr)
        return 2
    chosen = [client for client in there if not given.names or client.name in given.names]
    try:
        ran, made = _last(chosen) if given.last else asyncio.run(_all(chosen, given.seed, whole=not given.names))
        return _write(ran, made, None if given.names else given.docs)
    except BuildError as error:
        print(f"tests.matrix.clients: {error}", file=sys.stderr)
        return 3
    except (ReportError, TraceError) as error:
        print(f"tests.matrix.clients: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"tests.matrix.clients: interrupted; the reports so far are in {REPORTS}", file=sys.stderr)
        return 1


async def _all(chosen: Sequence[Client], seed: int, *, whole: bool) -> tuple[list[ClientRan], Made]:
    """Build and run, one client after the other."""
    began = time.monotonic()
    registry = load_registry()
    REPORTS.mkdir(parents=True, exist_ok=True)
    (REPORTS / MADE).unlink(missing_ok=True)
    ran: list[ClientRan] = []
    for client in chosen:
        print(f"{client.name}: building", flush=True)
        build(client)
        one = await run(client, seed, REPORTS, registry)
        faults = ", ".join(dict.fromkeys(f"{each.clause} {each.fault}" for each in one.findings))
        print(f"{client.name} ({one.elapsed_ms / 1000:.0f} s): {faults or 'nothing found'} {one.stopped}", flush=True)
        ran.append(one)
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    made = Made(day=day, seed=seed, seconds=round(time.monotonic() - began))
    if whole:
        (REPORTS / MADE).write_text(json.dumps(asdict(made)), encoding="utf-8")
    return ran, made


def _last(chosen: Sequence[Client]) -> tuple[list[ClientRan], Made]:
    registry = load_registry()
    try:
        made = Made(**json.loads((REPORTS / MADE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        raise ReportError(REPORTS / MADE, "the last run was not a whole one") from None
    for client in chosen:
        judge_again(client, REPORTS, registry)
    return [last_run(client, made.seed, REPORTS, registry) for client in chosen], made


def _write(ran: list[ClientRan], made: Made, docs: Path | None) -> int:
    """Write the documents, if any are to be written, and say what is unexpected."""
    registry = load_registry()
    matrix = matrix_of(ran, made)
    if docs is not None:
        write_pages(matrix, ran, docs, registry)
        (docs / "clients-matrix.json").write_text(to_json(matrix), encoding="utf-8")
        (docs / "clients-matrix.md").write_text(to_markdown(matrix, registry), encoding="utf-8")
        print(f"{docs / 'clients-matrix.md'} written")
    alarms = matrix.alarms()
    print(f"{len(matrix.rows)} clients, {matrix.seconds} s; {len(alarms)} unexpected")
    for line in alarms:
        print(f"  {line}")
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
