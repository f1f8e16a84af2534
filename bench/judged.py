"""One recording judged in a process of its own, which tells from time to time how far it is and what it holds.

``python -m bench.judged FILE EVERY``: for each line on standard input it judges so many observations, and tells a line
of JSON; at its end, the verdict. With ``decode`` after them, the same of what decoding the lines alone takes, as the
yardstick. So the two can be measured in turns: how fast a machine is changes within minutes.
"""

import json
import sys
import time
from itertools import islice
from pathlib import Path

import psutil

from reattach.clauses import load_registry
from reattach.io.recordings import begin, seldom_collected
from reattach.io.trace import open_flat
from reattach.oracle.verdict import Outcome, Profile


def main(path: Path, every: int) -> None:
    """Judge it."""
    process = psutil.Process()
    started = time.process_time()

    def tell(**more: object) -> None:
        spent = time.process_time() - started
        print(json.dumps({"rss": process.memory_info().rss, "cpu_s": round(spent, 3), **more}), flush=True)

    with seldom_collected(), open_flat(path) as (header, lines):
        judging = begin(path, header, profile=Profile.REATTACH, registry=load_registry())
        while sys.stdin.readline():
            judging.observe(islice(lines, every))
            tell(read=judging.read)
    report = judging.judged().report
    held = [result.clause for result in report.clauses if result.outcome is Outcome.HELD]
    found = [f"{finding.clause} {finding.fault.value}" for finding in report.findings]
    tell(read=judging.read, held=held, found=found, notes=report.notes)


def decode(path: Path, every: int) -> None:
    """Decode it with the standard library; only that is timed."""
    spent, read = 0.0, 0
    with path.open(encoding="utf-8") as lines:
        while sys.stdin.readline():
            left = islice(lines, every)
            while batch := list(islice(left, 10_000)):
                started = time.process_time()
                for line in batch:
                    json.loads(line)
                spent += time.process_time() - started
                read += len(batch)
            print(json.dumps({"read": read, "cpu_s": round(spent, 3)}), flush=True)


if __name__ == "__main__":
    (decode if sys.argv[3:] == ["decode"] else main)(Path(sys.argv[1]), int(sys.argv[2]))
