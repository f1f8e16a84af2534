"""``python -m tests.matrix``: build and probe every real server, and write docs/matrix.md and what it links to."""

import asyncio
import contextlib
import datetime
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import asdict
from rich.console import Console
from tests.matrix.command import at_least, ending, parse, parser_for
from tests.matrix.document import Made, to_json
from tests.matrix.known import Defect, missed, read_known
from tests.matrix.known import to_markdown as known_to_markdown
from tests.matrix.manifest import ROOT, Server, build, servers
from tests.matrix.pages import write_pages
from tests.matrix.runs import Planned, Purpose, Ran, ReportError, last_run, plan, run
from tests.matrix.table import Matrix, matrix_of, to_markdown

from reattach.clauses import Registry, load_registry

PROG = "tests.matrix"
REPORTS = ROOT / ".build" / "matrix"
MADE = "made.json"
AT_ONCE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit 1: a finding is new or gone, or a server was not probed to its end. 2: bad usage. 3: a build failed."""
    parser = parser_for(PROG, "server", "Probe every real server.")
    parser.add_argument(
        "--jobs", type=at_least(1), default=AT_ONCE, metavar="N", help=f"probe so many at once ({AT_ONCE})"
    )
    given, chosen = parse(parser, "server", servers, arguments)

    def work() -> int:
        if given.last:
            return _write(chosen, *_last(chosen), given.docs)
        return _write(chosen, *_probe(chosen, given.seed, given.jobs), None if given.names else given.docs)

    return ending(PROG, REPORTS, work)


def _probe(chosen: Sequence[Server], seed: int, jobs: int) -> tuple[list[Ran], Made]:
    """Build and probe; the reports stay in ``REPORTS``, and if it was a whole run, also how it was made."""
    began = time.monotonic()
    made_file = REPORTS / MADE
    made_file.unlink(missing_ok=True)
    console = Console(stderr=True)
    for server in chosen:
        print(f"building {server.name}", flush=True)
        build(server)
    print(f"built after {time.monotonic() - began:.0f} s", flush=True)
    with contextlib.ExitStack() as stack:
        status = stack.enter_context(console.status("")) if console.is_terminal else None
        ran = asyncio.run(_all(_planned(chosen), seed, jobs, status.update if status is not None else lambda _: None))
    made = Made(
        day=datetime.datetime.now(datetime.UTC).date().isoformat(), seed=seed, seconds=round(time.monotonic() - began)
    )
    if len(chosen) == len(servers()):
        made_file.write_text(json.dumps(asdict(made)), encoding="utf-8")
    return ran, made


def _last(chosen: Sequence[Server]) -> tuple[list[Ran], Made]:
    """What the last run left. Raises ReportError if it was not a whole one, or a report cannot be read."""
    registry = load_registry()
    try:
        made = Made(**json.loads((REPORTS / MADE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        raise ReportError(REPORTS / MADE, "the last run was not a whole one") from None
    return [last_run(one, REPORTS, registry) for one in _planned(chosen)], made


def _planned(chosen: Sequence[Server]) -> list[Planned]:
    return [one for server in chosen for one in plan(server)]


def _write(chosen: Sequence[Server], ran: Sequence[Ran], made: Made, docs: Path | None) -> int:
    """Write the documents, if any are to be written, and say what is unexpected."""
    registry = load_registry()
    known, names = read_known(), {server.name for server in chosen}
    matrix = matrix_of(ran, made)
    if docs is not None:
        wholes = {one.planned.server.name: one for one in ran if one.planned.purpose is Purpose.WHOLE}
        write_pages(matrix, wholes, docs, registry)
        (docs / "matrix.json").write_text(to_json(matrix), encoding="utf-8")
        (docs / "matrix.md").write_text(page(matrix, known, registry), encoding="utf-8")
        print(f"{docs / 'matrix.md'} written")
    alarms = [*matrix.alarms(), *missed(matrix, [each for each in known if each.server in names])]
    print(f"{len(matrix.rows)} servers, {len(ran)} runs, {matrix.seconds} s; {len(alarms)} unexpected")
    for line in alarms:
        print(f"  {line}")
    return 1 if alarms else 0


def page(matrix: Matrix, known: Sequence[Defect], registry: Registry) -> str:
    """The page of the matrix, whole."""
    return "\n".join([to_markdown(matrix, registry), known_to_markdown(matrix, known)])


async def _all(planned: Sequence[Planned], seed: int, jobs: int, tell: Callable[[str], object]) -> list[Ran]:
    """Make all runs, some at a time; in the order in which they were planned."""
    registry = load_registry()
    REPORTS.mkdir(parents=True, exist_ok=True)
    waiting, done = list(planned), dict[str, Ran]()
    running: list[str] = []

    async def work() -> None:
        while waiting:
            one = waiting.pop(0)
            running.append(one.name)
            tell(f"{len(done)} of {len(planned)} runs; {', '.join(running)}")
            ran = done[one.name] = await run(one, seed, REPORTS, registry)
            running.remove(one.name)
            faults = ", ".join(dict.fromkeys(f"{each.clause} {each.fault}" for each in ran.findings))
            print(
                f"{one.name} ({ran.elapsed_ms / 1000:.0f} s): {faults or 'nothing found'} {ran.stopped}".rstrip(),
                flush=True,
            )

    async with asyncio.TaskGroup() as group:
        for _ in range(jobs):
            group.create_task(work())
    return [done[one.name] for one in planned]


if __name__ == "__main__":
    sys.exit(main())
