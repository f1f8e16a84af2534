"""``python -m reattach.live.mutants``: probe every served mutant, and write the kill table."""

import argparse
import asyncio
import datetime
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from reattach.live import demo
from reattach.live.mutants.conformance import Checks, Suite, find_suite, run_suite
from reattach.live.mutants.generated import every_change, sample
from reattach.live.mutants.probing import Probed, fates, mutant_options, probe_mutant, probe_whole
from reattach.live.mutants.registry import MUTANTS, UnknownMutantError, mutant_named
from reattach.live.mutants.table import Row, Table, to_markdown
from reattach.live.probe import ProbeOptions
from reattach.live.target import Command

DOCUMENT = Path("docs/mutants.md")
SUITE = Path("tests/conformance")
SUITES = 2
"""On so many servers the conformance suite runs at the same time."""
UNMUTATED = "the server without a mutant"
SDK = "the official Python SDK's server"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit 1 if a mutant is not found under its own clause and class, or the server without one is not clean."""
    parser = argparse.ArgumentParser(prog="reattach.live.mutants", description="Probe every served mutant.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these; then no document is written")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=DOCUMENT, help=f"the document ({DOCUMENT})")
    parser.add_argument("--suite", type=Path, default=SUITE, help=f"where the conformance suite is ({SUITE})")
    parser.add_argument("--sdk-python", default="", help="an interpreter that has the package mcp")
    parser.add_argument("--generated", type=int, default=40, metavar="N", help="this many generated ones at most (40)")
    parser.add_argument("--generated-seconds", type=float, default=240, metavar="S", help="for at most so long (240)")
    given = parser.parse_args(arguments)
    try:
        return _run(given)
    except (UnknownMutantError, demo.DemoError) as error:
        print(f"reattach.live.mutants: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("reattach.live.mutants: interrupted", file=sys.stderr)
        return 1


def _run(given: argparse.Namespace) -> int:
    names = [mutant_named(name).name for name in given.names]
    if given.sdk_python and not names:
        demo.sdk_version(given.sdk_python)  # what is missing is told at once
    suite = find_suite(given.suite)
    if suite is None:
        print(f"the conformance suite is not installed in {given.suite}; its column stays empty")
    if names:
        rows = asyncio.run(_mutants(names, given.seed, suite))
        return _report(rows, True)
    table = asyncio.run(_measure(given, suite))
    given.output.write_text(to_markdown(table, MUTANTS), encoding="utf-8")
    print(f"{given.output} written, {table.seconds} s")
    clean = not table.unmutated.probe.found and not table.unmutated.probe.stopped
    return _report(table.mutants, clean)


def _report(rows: Sequence[Row], clean: bool) -> int:
    missed = [row.name for row in rows if not row.probe.found]
    print(f"{len(rows) - len(missed)} of {len(rows)} mutants found")
    for name in missed:
        print(f"  not found: {name}")
    if not clean:
        print("  the server without a mutant is not clean, or was not probed to the end")
    return 1 if missed or not clean else 0


async def _measure(given: argparse.Namespace, suite: Suite | None) -> Table:
    began, seed = time.monotonic(), given.seed
    mutants = await _mutants(list(MUTANTS), seed, suite)
    sdk, version = None, ""
    if given.sdk_python:
        version = demo.sdk_version(given.sdk_python)
        sdk = await _server(SDK, demo.sdk_options(given.sdk_python, seed, None), suite)
    generated = await fates(sample(seed, given.generated), seed, given.generated_seconds)
    for fate in generated:
        print(f"{fate.mutant.name}: {fate.shown or ', '.join(fate.unseen) or 'survives'}", flush=True)
    unmutated = await _server(UNMUTATED, mutant_options(None, seed), suite)
    return Table(
        unmutated=unmutated,
        sdk=sdk,
        sdk_version=version,
        mutants=mutants,
        generated=generated,
        of=len(every_change()),
        seed=seed,
        suite_version=suite.version if suite is not None else "",
        node_version=suite.node_version if suite is not None else "",
        day=datetime.datetime.now(datetime.UTC).date(),
        seconds=round(time.monotonic() - began),
    )


async def _mutants(names: Sequence[str], seed: int, suite: Suite | None) -> list[Row]:
    """Probe them one after the other, since the times count; the conformance suite follows, some of them at a time."""
    all_probed: list[Probed] = []
    for name in names:
        probed = await probe_mutant(mutant_named(name), seed)
        said = f"found after {probed.first_ms} ms" if probed.found else f"NOT FOUND in {probed.elapsed_ms} ms"
        print(f"{name}: {said}", *(["", probed.stopped] if probed.stopped else []), flush=True)
        all_probed.append(probed)
    at_once = asyncio.Semaphore(SUITES)

    async def check(name: str) -> Checks | None:
        async with at_once:
            return await _suite(suite, mutant_options(name, seed))

    checks = await asyncio.gather(*(check(name) for name in names))
    return [
        Row(name=name, probe=probed, suite=said) for name, probed, said in zip(names, all_probed, checks, strict=True)
    ]


async def _server(name: str, options: ProbeOptions, suite: Suite | None) -> Row:
    probed = await probe_whole(options)
    print(f"{name}: {', '.join(probed.classes) or 'nothing found'} {probed.stopped}".rstrip(), flush=True)
    return Row(name=name, probe=probed, suite=await _suite(suite, options))


async def _suite(suite: Suite | None, options: ProbeOptions) -> Checks | None:
    """The conformance suite's checks of the same server, without the tokens that the suite cannot send."""
    if suite is None:
        return None
    assert options.command is not None
    words = shlex.split(options.command)
    kept = [word for at, word in enumerate(words) if "--token" not in (word, words[at - 1])]
    command = Command(shlex.join(kept).replace("'{port}'", "{port}"), path=options.path)
    try:
        await command.start()
        return await run_suite(suite, command.endpoint.url)
    finally:
        await command.stop()


if __name__ == "__main__":
    sys.exit(main())
