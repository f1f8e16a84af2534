"""``python -m tests.recordings``: draw the machine's recordings again; with names, also record those of servers."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from attrs import asdict
from tests.matrix.manifest import BuildError
from tests.recordings.drawing import draw
from tests.recordings.manifest import FILES, Machine, Recording, recordings
from tests.recordings.serving import NotRecordedError, record


def drawn(machine: Machine) -> str:
    """What the file of a recording drawn from the machine holds."""
    return "".join(f"{line}\n" for line in draw(**asdict(machine)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="tests.recordings", description="Draw the recordings again.")
    parser.add_argument("servers", nargs="*", metavar="SERVER", help="record those of these servers again too")
    asked = parser.parse_args(arguments).servers
    FILES.mkdir(exist_ok=True)
    listed = recordings()
    for each in listed:
        if each.machine is not None:
            each.file.write_text(drawn(each.machine), encoding="utf-8")
    try:
        _record([each for each in listed if each.served is not None and each.served.server in asked])
    except (BuildError, NotRecordedError) as error:
        print(f"tests.recordings: {error}", file=sys.stderr)
        return 1
    return 0


def _record(listed: Sequence[Recording]) -> None:
    files = {id(each.served): each.file for each in listed}
    with tempfile.TemporaryDirectory() as folder:
        for served, lines in record([each.served for each in listed if each.served is not None], Path(folder)):
            files[id(served)].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            print(f"{files[id(served)].name}: recorded, {len(lines)} lines", flush=True)


if __name__ == "__main__":
    sys.exit(main())
