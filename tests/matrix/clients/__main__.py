"""``python -m tests.matrix.clients``: build every real client, run it against every script, write the matrix."""

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
from tests.matrix.clients.table import matrix_of, to_markdown
from tests.matrix.command import ending, parse, parser_for
from tests.matrix.document import Made, to_json
from tests.matrix.manifest import ROOT, Client, build, clients
from tests.matrix.runs import ReportError

from reattach.clauses import load_registry

PROG = "tests.matrix.clients"
REPORTS = ROOT / ".build" / "clients-matrix"
MADE = "made.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit 1: a finding is new or gone, or a client was not run to its end. 2: bad usage. 3: a build failed."""
    parser = parser_for(PROG, "client", "Judge every real client.")
    given, chosen = parse(parser, "client", clients, arguments)

    def work() -> int:
        ran, made = _last(chosen) if given.last else asyncio.run(_all(chosen, given.seed, whole=not given.names))
        return _write(ran, made, None if given.names else given.docs)

    return ending(PROG, REPORTS, work)


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
