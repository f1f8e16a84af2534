"""The baseline: findings that are expected of a server, each with the reason why it is put up with, as data.

TOML, an ``[[expected]]`` table for each::

    [[expected]]
    clause = "DEL-2"
    fault = "silent-gap"
    reason = "lost at the hand-over until our issue 17 is done"
    intermittent = true   # it takes luck: a run without it does not make the entry stale
    revisions = ["2025-11-25"]   # only there; in every revision, if not given

What is expected is shown and does not fail a run. What is not expected fails as it would without a baseline, and so
does a *stale* entry: one whose clause was exercised and whose finding did not come.
"""

import tomllib
from pathlib import Path

from attrs import field, frozen
from cattrs.errors import BaseValidationError

from reattach.clauses import Registry, UnknownClauseError
from reattach.io.trace import first_reason, strict_converter
from reattach.machine.revision import Revision
from reattach.oracle.verdict import Fault, Finding, Outcome, Report


@frozen(kw_only=True)
class Expected:
    """A finding that is expected, whatever its exchange."""

    clause: str
    fault: str
    reason: str
    intermittent: bool = False
    """Whether it may be absent without the entry being stale."""
    revisions: tuple[str, ...] = ()
    """The revisions in which it is expected; all, if empty."""

    def __str__(self) -> str:
        return f"{self.fault} {self.clause} ({self.reason})"


Baseline = tuple[Expected, ...]


@frozen
class BaselineError(Exception):
    """A baseline cannot be used: the file, and what is wrong with it."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@frozen(kw_only=True)
class _File:
    expected: list[Expected] = field(factory=list)


_CONVERTER = strict_converter()


def expectation_of(finding: Finding, baseline: Baseline) -> Expected | None:
    """The entry of the baseline that expects a finding."""
    named = (finding.clause, finding.fault.value)
    return next((entry for entry in baseline if (entry.clause, entry.fault) == named), None)


def entries_for(revision: str, baseline: Baseline) -> Baseline:
    """The entries that a run about one revision is held to."""
    return tuple(entry for entry in baseline if not entry.revisions or revision in entry.revisions)


def stale_entries(report: Report, baseline: Baseline) -> Baseline:
    """The entries that a whole run has refuted: their finding did not come, though it could have been observed."""
    found = {(finding.clause, finding.fault.value) for finding in report.findings}
    observed = {result.clause for result in report.clauses if result.outcome is not Outcome.NOT_OBSERVED}
    return tuple(
        entry
        for entry in baseline
        if not entry.intermittent and (entry.clause, entry.fault) not in found and entry.clause in observed
    )


def read_baseline(path: Path, registry: Registry) -> Baseline:
    """Read a baseline. Raises BaselineError: also for an unknown clause or fault, and two equal entries."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise BaselineError(path, "not UTF-8 text") from None
    except OSError as error:
        raise BaselineError(path, f"cannot be read: {error.strerror or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise BaselineError(path, f"not TOML: {error}") from None
    try:
        entries = tuple(_CONVERTER.structure(document, _File).expected)
    except BaseValidationError as error:
        raise BaselineError(path, first_reason(error)) from None
    seen: set[tuple[str, str]] = set()
    for number, entry in enumerate(entries, start=1):
        where = f"entry {number}"
        try:
            clause = registry.find(entry.clause).id
        except UnknownClauseError as error:
            raise BaselineError(path, f"{where}: {error}") from None
        if clause != entry.clause:
            raise BaselineError(path, f"{where}: no clause {entry.clause!r}; did you mean {clause}?")
        if entry.fault not in {fault.value for fault in Fault}:
            raise BaselineError(path, f"{where}: no fault {entry.fault!r}")
        unknown = set(entry.revisions) - {revision.value for revision in Revision}
        if unknown:
            raise BaselineError(path, f"{where}: no revision {min(unknown)!r}")
        if not entry.reason.strip():
            raise BaselineError(path, f"{where}: reason: why it is put up with is needed")
        if (clause, entry.fault) in seen:
            raise BaselineError(path, f"{where}: {entry.fault} {clause} is already there")
        seen.add((clause, entry.fault))
    return entries
