"""Recordings of servers over HTTP: a probe of ``tests/servers`` or of the reference, and one experiment cut out of it.

The probe writes its recording without secrets (spec/13-recordings.md). What is cut out is no longer complete, and says
so; nor does it say by which command the server was started, which is of this machine only.
"""

import secrets
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import evolve
from tests.matrix.manifest import build, servers
from tests.recordings.drawing import leave_out
from tests.recordings.manifest import Served

from reattach.io.redact import make_redactor
from reattach.io.trace import read_trace, trace_lines

REFERENCE = "reference"
SECONDS = 20
"""After so long a probe begins no experiment."""


class NotRecordedError(Exception):
    """The probe of a server did not record the experiment: which, and what it said."""


def record(served: Sequence[Served], folder: Path) -> Iterator[tuple[Served, list[str]]]:
    """The lines of each recording; those that one probe gives are of one probe. Raises NotRecordedError, BuildError."""
    by_probe: dict[tuple[str, ...], list[Served]] = {}
    for each in served:
        by_probe.setdefault(_probe_of(each), []).append(each)
    for probe, of_it in by_probe.items():
        said = subprocess.run(probe, cwd=folder, capture_output=True, text=True, check=False)
        file = folder / probe[probe.index("--record") + 1]
        if not file.exists():
            raise NotRecordedError(f"{of_it[0].server}: {said.stderr.strip()}")
        for each in of_it:
            yield each, cut_out(file, each)


def cut_out(file: Path, served: Served) -> list[str]:
    """The lines of one experiment, as a recording of its own."""
    trace = read_trace(file)
    entries = [entry for entry in trace.entries if entry.experiment == served.experiment]
    if not entries:
        known = ", ".join(dict.fromkeys(entry.experiment for entry in trace.entries))
        raise NotRecordedError(f"{served.server}: no experiment {served.experiment}; there are {known}")
    kept = leave_out(entries, served.without)
    header = evolve(trace.header, target="", complete=False, seed=None, experiment=served.experiment)
    return list(trace_lines(header, kept, make_redactor((entry.observation for entry in kept), exact=True)))


def _probe_of(served: Served) -> tuple[str, ...]:
    command, path, more = _reference(served) if served.server == REFERENCE else _server(served)
    only = [word for clause in served.only for word in ("--only", clause)]
    name = "-".join(filter(None, (served.server, served.variant, served.revision.value, *served.only)))
    return (
        *(sys.executable, "-m", "reattach.cli", "probe", "--command", command, "--path", path, "--seed", "1"),
        *("--profile", "reattach", "--revision", served.revision.value, "--budget", str(SECONDS), *only, *more),
        *("--record", f"{name}.jsonl", "--output", f"{name}.txt", "--replays", f"{name}-replays"),
    )


def _server(served: Served) -> tuple[str, str, tuple[str, ...]]:
    server = next(each for each in servers() if each.name == served.server)
    if not server.built.exists():
        build(server)
    runs = {"": server.run, **{variant.name: variant.run for variant in server.variant}}
    return shlex.join(server.command(runs[served.variant])), server.path, ()


_TOKENS = {name: secrets.token_urlsafe(24) for name in ("first", "second")}


def _reference(served: Served) -> tuple[str, str, tuple[str, ...]]:
    given = [word for name, token in _TOKENS.items() for word in ("--token", f"{name}={token}")]
    mutant = ["--mutant", served.variant] if served.variant else []
    program = [sys.executable, "-m", "reattach.cli", "serve", "--policy", "short", "--port", "{port}", *given, *mutant]
    bearer = {name: f"Authorization: Bearer {token}" for name, token in _TOKENS.items()}
    more = ("--policy", "short", "--header", bearer["first"], "--second-principal", bearer["second"])
    return shlex.join(program).replace("'{port}'", "{port}"), "/mcp", more
