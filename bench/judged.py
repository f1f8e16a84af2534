"""One recording judged in a process of its own, which tells from time to time how far it is and what it holds.

``python -m bench.judged FILE EVERY``: a line of JSON for each so many observations, and a last one with the verdict.
The file may be a named pipe. ``python -m bench.judged FILE``: what decoding its lines alone takes, as the yardstick.
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
        for number, observation, experiment in lines:
            judging.observe(number, observation, experiment)
            if judging.read % every == 0:
                tell(read=judging.read)
    report = judging.judged().report
    held = [result.clause for result in report.clauses if result.outcome is Outcome.HELD]
    found = [f"{finding.clause} {finding.fault.value}" for finding in report.findings]
    tell(read=judging.read, held=held, found=found, notes=report.notes)


def decode(path: Path) -> None:
    """Decode it with the standard library; only that is timed."""
    spent, read = 0.0, 0
    with path.open(encoding="utf-8") as lines:
        while batch := list(islice(lines, 10_000)):
            before = time.process_time()
            for line in batch:
                json.loads(line)
            spent += time.process_time() - before
            read += len(batch)
    print(json.dumps({"read": read, "cpu_s": round(spent, 3)}), flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        decode(Path(sys.argv[1]))
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]))
