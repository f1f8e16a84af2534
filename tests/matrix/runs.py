"""Probing a server of the matrix: which runs there are, and what each said.

A run is ``reattach probe`` as anybody would start it, a process of its own that starts the server and ends it, and its
JSON report. There is one whole run, at the newest revision with resumption; a short one for each other revision that
the server speaks; and a short one for each variant, about the clauses for whose sake variants exist.
"""

import asyncio
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from attrs import frozen
from tests.matrix.manifest import Program, Server, Variant

from reattach.clauses import Registry
from reattach.io.baseline import entries_for, read_baseline
from reattach.machine.revision import TRAITS, Revision
from reattach.oracle.verdict import Kind, Outcome, Profile

SHORT_SECONDS = 20
"""After so long a run about another revision, or about a variant, begins no experiment."""
BOUND_SECONDS = 600
"""The longest a run may take in all; what it found by then is reported."""
HAND_OVER = ("DEL-1", "DEL-2", "DEL-6", "DEL-8")
ISOLATION = ("SES-5", "DEL-3", "DEL-5", "CUR-3")
_ENDING_SECONDS = 30


@frozen
class ReportError(Exception):
    """What a run left cannot be used: the file, and why."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Purpose(Enum):
    """What a run is for."""

    WHOLE = "whole"
    REVISION = "revision"
    VARIANT = "variant"
    SHORT = "short"
    """The short form of the whole run, which the tests make."""


@frozen(kw_only=True)
class Planned:
    """A run that is due."""

    server: Server
    purpose: Purpose
    revision: Revision
    variant: Variant | None = None
    seconds: int | None = None
    """The budget; None: every experiment once, however long that takes."""

    @property
    def name(self) -> str:
        """For progress and files."""
        part = self.variant.name if self.variant is not None else self.revision.value
        return f"{self.server.name}-{part}"

    def arguments(self, seed: int) -> list[str]:
        """The arguments of ``reattach probe``, without those that say where its report goes."""
        command = self.server.command(self.variant.run if self.variant is not None else self.server.run)
        words = ["--command", shlex.join(command), "--path", self.server.path, "--seed", str(seed)]
        words += ["--profile", Profile.REATTACH.value, "--revision", self.revision.value, "--fail-on", "any"]
        if self.seconds is not None:
            words += ["--budget", str(self.seconds)]
        if self.purpose is Purpose.VARIANT:
            words += [word for clause in (*HAND_OVER, *ISOLATION) for word in ("--only", clause)]
        elif self.server.baseline.exists():
            words += ["--baseline", str(self.server.baseline)]
        return words


def newest_with_resumption(server: Server) -> Revision:
    """The newest revision with resumption that the server speaks, else the newest of all."""
    order = list(Revision)
    return max(server.revisions, key=lambda revision: (TRAITS[revision].resumption, order.index(revision)))


def plan(server: Server) -> list[Planned]:
    """Every run about a server."""
    newest = newest_with_resumption(server)
    runs = [Planned(server=server, purpose=Purpose.WHOLE, revision=newest)]
    for revision in Revision:
        if revision is not newest and revision in server.revisions:
            runs.append(Planned(server=server, purpose=Purpose.REVISION, revision=revision, seconds=SHORT_SECONDS))
    for variant in server.variant:
        runs.append(
            Planned(server=server, purpose=Purpose.VARIANT, revision=newest, variant=variant, seconds=SHORT_SECONDS)
        )
    return runs


@frozen(kw_only=True)
class Found:
    """A finding of a run."""

    clause: str
    fault: str
    summary: str
    kind: Kind
    """What it is by the text of MCP alone."""
    times: int
    steps: tuple[str, ...]
    """The exchange, a line each, the wrong line marked."""
    replay: str | None
    """The file that replays it."""
    expected: str | None
    """Why it is expected; None if it is not."""
    experiment: str = ""
    """What showed it: an experiment of the probe, or a script of the client bench."""


@frozen(kw_only=True)
class Report:
    """What a command of ``reattach`` reported."""

    says: str = ""
    """The name and version that the server, or the client, gives itself."""
    elapsed_ms: int = 0
    stopped: str = ""
    """Why it did not come to its end; empty if it did."""
    outcomes: Mapping[str, Outcome] = {}
    why_unseen: Mapping[str, str] = {}
    """For each clause that was not observed the reason."""
    findings: tuple[Found, ...] = ()
    stale: tuple[str, ...] = ()
    """What the baseline expects and the run, exercising it, did not find."""
    notes: tuple[str, ...] = ()


@frozen(kw_only=True)
class Ran(Report):
    """What a run said."""

    planned: Planned

    @property
    def new(self) -> tuple[Found, ...]:
        """The findings that nobody expects. A variant has no baseline: what it shows is shown."""
        if self.planned.purpose is Purpose.VARIANT:
            return ()
        return tuple(finding for finding in self.findings if finding.expected is None)


async def run(planned: Planned, seed: int, folder: Path, registry: Registry) -> Ran:
    """Make a run; its report and its replay files go to ``folder``. A run that is cancelled ends its server."""
    stopped = await report_to(folder, planned.name, "probe", *planned.arguments(seed))
    return Ran(planned=planned, stopped=stopped) if stopped else last_run(planned, folder, registry)


async def report_to(folder: Path, name: str, *arguments: str, bound_seconds: float = BOUND_SECONDS) -> str:
    """Run a command of ``reattach``: ``NAME.json`` and the replay files in ``NAME`` go to ``folder``.

    If there is no report, returns why. A command that is cancelled ends what it started.
    """
    report = folder / f"{name}.json"
    report.unlink(missing_ok=True)
    words = [sys.executable, "-m", "reattach.cli", *arguments]
    words += ["--format", "json", "--output", str(report), "--replays", str(folder / name)]
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # an interruption at the terminal is ours to pass on
    )
    try:
        said = await _ended(process, bound_seconds)
    except BaseException:
        await _end(process)
        raise
    return "" if report.exists() else _last_line(said) or f"ended with {process.returncode}"


def last_run(planned: Planned, folder: Path, registry: Registry) -> Ran:
    """What the last run said, by the report that it left in ``folder``. Raises ReportError if there is none."""
    judged = {} if planned.purpose is Purpose.VARIANT else judgements(planned, registry)
    return Ran(planned=planned, **read_report(folder / f"{planned.name}.json", judged, registry))


async def _ended(process: asyncio.subprocess.Process, seconds: float) -> str:
    """What it wrote to stderr. After ``seconds`` it is asked to end, and then says what it has found so far."""
    said = asyncio.ensure_future(process.communicate())
    try:
        await asyncio.wait({said}, timeout=seconds)
        if not said.done():
            process.terminate()
        _, stderr = await asyncio.wait_for(said, _ENDING_SECONDS)
    except TimeoutError:
        process.kill()
        return "did not end when it was asked to"
    return stderr.decode("utf-8", errors="replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            await asyncio.wait_for(asyncio.shield(process.wait()), _ENDING_SECONDS)
        except TimeoutError:
            process.kill()


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def judgements(planned: Planned, registry: Registry) -> dict[str, str]:
    """Why each finding is expected of a run, by ``CLAUSE class``; empty if the server has no baseline."""
    return expected_of(planned.server, planned.revision, registry)


def expected_of(program: Program, revision: Revision, registry: Registry) -> dict[str, str]:
    """Why each finding is expected of a program, by ``CLAUSE class``; empty if it has no baseline."""
    path = program.baseline
    baseline = read_baseline(path, registry) if path.exists() else ()
    return {f"{each.clause} {each.fault}": each.reason for each in entries_for(revision.value, baseline)}


def read_report(path: Path, judged: Mapping[str, str], registry: Registry) -> dict[str, Any]:
    """The fields of a ``Report``, from the JSON; what is expected, and why, by ``judged``. Raises ReportError."""
    try:
        return _fields(json.loads(path.read_text(encoding="utf-8")), judged, registry)
    except OSError as error:
        raise ReportError(path, error.strerror or str(error)) from None
    except (ValueError, KeyError) as error:
        raise ReportError(path, f"no report of reattach: {error}") from None


def _fields(report: Mapping[str, Any], judged: Mapping[str, str], registry: Registry) -> dict[str, Any]:
    clauses: Sequence[Mapping[str, Any]] = report["clauses"]
    return {
        "says": report["run"].get("client") or report["run"]["server"],
        "elapsed_ms": report["run"]["elapsed_ms"],
        "stopped": report["run"]["stopped"],
        "outcomes": {clause["id"]: Outcome(clause["outcome"]) for clause in clauses},
        "why_unseen": {
            clause["id"]: clause["note"] for clause in clauses if clause["outcome"] == Outcome.NOT_OBSERVED.value
        },
        "findings": tuple(
            Found(
                clause=finding["clause"],
                fault=finding["fault"],
                summary=finding["summary"],
                kind=registry[finding["clause"]].translated(Kind(finding["kind"]), Profile.MCP),
                times=finding["times"],
                steps=tuple(finding["steps"]),
                replay=finding["replay"],
                expected=judged.get(f"{finding['clause']} {finding['fault']}"),
                experiment=finding["experiment"],
            )
            for finding in report["findings"]
        ),
        "stale": tuple(name for entry in report["stale"] if (name := f"{entry['clause']} {entry['fault']}") in judged),
        "notes": tuple(report["notes"]),
    }
