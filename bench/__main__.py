"""``python -m bench``: what judging a recording costs, measured side by side in one run; writes docs/bench.md."""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from bench.scenes import POLICY, TAG, Manner
from bench.trace import write
from reattach.clauses import load_registry
from reattach.io.recordings import judge_recording
from reattach.io.trace import open_flat
from reattach.machine.cursor import ABSENT
from reattach.machine.transition import Accepted, Emit, Opened, Resume, Write, open_session, step
from reattach.oracle.verdict import Profile

ROOT = Path(__file__).parents[1]
TYPICAL = "typical"
MANNERS = {
    "no text": Manner(notification=0, result=0),
    "short": Manner(notification=40, result=200),
    TYPICAL: Manner(),
    "long": Manner(notification=600, result=6_000),
    "very long": Manner(notification=3_000, result=20_000),
}
"""Scenes by how much their messages say."""


@frozen(kw_only=True)
class Load:
    """How much is measured."""

    lines: int = 30_000
    rounds: int = 5
    file: int = 300_000
    """Observations of each of four files: judging them takes long enough that a second process pays."""
    stream: int = 1_000_000


FULL = Load(lines=100_000, rounds=7, file=1_000_000, stream=10_000_000)


@frozen
class Ratio:
    """Decoding and judging the same lines: medians of the rounds, processor time in microseconds a line."""

    manner: str
    line: float
    """Bytes of a line, on average."""
    decoded: float
    read: float
    """Reading the file, decoding and checking the format, without judging."""
    judged: float
    lowest: float
    highest: float
    """The ratio of one round, from and to."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything, and write the document."""
    parser = argparse.ArgumentParser(prog="bench", description="Measure what judging a recording costs.")
    parser.add_argument("--full", action="store_true", help="ten million observations (5 GB of disk), and more rounds")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs" / "bench.md", metavar="FILE")
    parser.add_argument(
        "--stream", type=int, metavar="N", help="observations of the recording whose memory is measured"
    )
    asked = parser.parse_args(arguments)
    load = FULL if asked.full else Load()
    with tempfile.TemporaryDirectory() as folder:
        ratios = [ratio(Path(folder), name, manner, load) for name, manner in MANNERS.items()]
        cores = both_cores(Path(folder), load)
        steps = steps_per_second()
        stream = long(Path(folder), asked.stream or load.stream)
    asked.docs.write_text(document(ratios, cores, steps, stream, load), encoding="utf-8")


def ratio(folder: Path, name: str, manner: Manner, load: Load) -> Ratio:
    """One sort of recording, decoded and judged in turns."""
    path = folder / f"{name}.jsonl"
    size = write(path, load.lines, manner)
    lines, registry = path.read_text(encoding="utf-8").splitlines(), load_registry()
    decoded, read, judged = [], [], []
    for _ in range(load.rounds):
        decoded.append(_spent(lambda: _decode(lines)) / len(lines))
        read.append(_spent(lambda: _read(path)) / len(lines))
        judged.append(_spent(lambda: judge_recording(path, profile=Profile.REATTACH, registry=registry)) / len(lines))
    each = sorted(b / a for a, b in zip(decoded, judged, strict=True))
    print(f"{name}: {statistics.median(judged) / statistics.median(decoded):.1f} times json.loads", file=sys.stderr)
    decoding, reading, judging = (statistics.median(times) * 1e6 for times in (decoded, read, judged))
    return Ratio(name, size / load.lines, decoding, reading, judging, each[0], each[-1])


def _decode(lines: Sequence[str]) -> None:
    for line in lines:
        json.loads(line)


def _read(path: Path) -> None:
    with open_flat(path) as (_, lines):
        for _ in lines:
            pass


def _spent(function: Callable[[], object]) -> float:
    """Seconds of processor time."""
    before = time.process_time()
    function()
    return time.process_time() - before


def both_cores(folder: Path, load: Load) -> tuple[float, float]:
    """Seconds that ``reattach check`` takes for four files: with one process, and with two."""
    paths = []
    for number in range(4):
        paths.append(str(folder / f"part-{number}.jsonl"))
        write(Path(paths[-1]), load.file, MANNERS[TYPICAL])
    took: dict[str, list[float]] = {"1": [], "2": []}
    for _ in range(3):
        for jobs, times in took.items():
            before = time.monotonic()
            command = [sys.executable, "-m", "reattach.cli", "check", *paths, "--jobs", jobs]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
            times.append(time.monotonic() - before)
    return statistics.median(took["1"]), statistics.median(took["2"])


def steps_per_second(events: int = 20_000) -> float:
    """Steps of the machine: messages emitted, written and accepted on one view."""
    opened = step(POLICY, open_session(TAG, "", 0), 0, Resume(1, ABSENT))
    assert isinstance(opened.result, Opened)
    session = opened.session
    before = time.process_time()
    for _ in range(events):
        for given in (Emit(0, 200, None), Write(1), Accepted(1)):
            session = step(POLICY, session, 0, given).session
    return 3 * events / (time.process_time() - before)


@frozen
class Long:
    """One long recording, judged and decoded in turns."""

    held: tuple[tuple[int, int], ...]
    """What judging holds, in bytes, by how many observations were read."""
    judged: float
    """Processor time, in microseconds a line ..."""
    decoded: float
    """... and what ``json.loads`` takes for the same lines."""


def long(folder: Path, count: int) -> Long:
    """Judge one recording of so many observations and decode it, an eighth of it at a time, in turns."""
    path = folder / "long.jsonl"
    write(path, count, MANNERS[TYPICAL])
    every = str(-(-count // 40))
    judged: list[dict[str, Any]] = []
    with _measured(path, every) as judging, _measured(path, every, "decode") as decoding:
        for _turn in range(8):
            judged += [_next_of(judging) for _ in range(5)]
            decoded = [_next_of(decoding) for _ in range(5)][-1]
        verdict = json.loads(judging.communicate()[0])
    path.unlink()
    held = tuple((each["read"], each["rss"]) for each in judged)
    return Long(held, verdict["cpu_s"] / count * 1e6, decoded["cpu_s"] / count * 1e6)


def _measured(path: Path, *arguments: str) -> subprocess.Popen[str]:
    """A process that measures (``bench.judged``)."""
    command = [sys.executable, "-m", "bench.judged", str(path), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def _next_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What it tells of the next part, while nothing else is done."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    told: dict[str, Any] = json.loads(process.stdout.readline())
    return told


def document(ratios: Sequence[Ratio], cores: tuple[float, float], steps: float, stream: Long, load: Load) -> str:
    """docs/bench.md."""
    rows = [
        f"| {each.manner} | {each.line:.0f} | {each.decoded:.2f} µs | {each.read / each.decoded:.1f} "
        f"| {each.judged:.1f} µs "
        f"| **{each.judged / each.decoded:.1f}** | {each.lowest:.1f} to {each.highest:.1f} |"
        for each in ratios
    ]
    held = stream.held
    shown = held[:: max(1, len(held) // 10)]
    memories = [f"| {read:,} | {rss / 2**20:.0f} MiB |" for read, rss in [*shown, held[-1]]]
    return f"""# What judging costs

Written by `make bench` ({platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores,
load average {os.getloadavg()[0]:.1f} at the end). The recordings are made of scenes that the reference machine plays:
48 clients at a time, calls with 4 to 40 progress or numbered log notifications, one in seven cut and resumed, some
taken over, some too late for the window, most sessions ended by DELETE (`bench/scenes.py`). *Typical* is a log text of
160 characters, a progress message of a third of that and a result of 1,200, each varying by its nature.

## Beside `json.loads`

Processor time a line; decoding with the standard library (of lines that are in memory already) and judging (reading the
file, decoding, checking the format, judging) in turns, medians of {load.rounds} rounds of {load.lines:,} lines.

| messages | bytes a line | `json.loads` | read only, times | judged | judged, times | in one round |
|---|---:|---:|---:|---:|---:|---:|
{chr(10).join(rows)}

The aim is 4 times; where the column says more, it is missed. What judging adds to reading is finding out that an event
came as it had to, in plain Python, and noting it. Entered into the record (with its id, key and place, each found again
in constant time) it is only when something asks for it, such as a resumption.

## Over length

One *typical* recording, judged and decoded in two processes, an eighth of it at a time, in turns.

| observations read | resident |
|---:|---:|
{chr(10).join(memories)}

Judging it took {stream.judged:.1f} µs of processor time a line, **{stream.judged / stream.decoded:.1f}** times what
`json.loads` takes for the same lines ({stream.decoded:.2f} µs); the aim is 4. Other than
above the record is full: for each event, exchange and session that comes an old one is forgotten, whose memory the
processor has long lost sight of.

## Cores

`reattach check` of four files of {load.file:,} observations: {cores[0]:.1f} s with `--jobs 1`, {cores[1]:.1f} s with
`--jobs 2`, {cores[0] / cores[1]:.2f} times as fast.{_busy()}

## The machine

{steps:,.0f} steps a second (messages emitted, written and accepted on one view of one session).
"""


def _busy() -> str:
    """What to think of times by the clock, if others were using the machine."""
    busy = os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1)
    return " Other work had the machine at the same time, so that this says nothing of the second core." if busy else ""


if __name__ == "__main__":
    main()
