"""What was known of these servers before the matrix was run: the probe has to find each defect by itself."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve, field, frozen
from cattrs.errors import BaseValidationError
from tests.matrix.manifest import ManifestError
from tests.matrix.table import MARKS, UNSEEN, Matrix, Said

from reattach.io.trace import first_reason, strict_converter
from reattach.oracle.verdict import Kind

SAME = "The same."
"""Stands for what the entry before says."""
KNOWN = Path(__file__).with_name("known.toml")


@frozen(kw_only=True)
class Defect:
    """A defect of a server, and where it has to show."""

    what: str
    server: str
    variant: str = ""
    found: list[str] = field(factory=list)
    """Clauses and classes, each ``CLAUSE class``."""
    unseen: str = ""
    """Why the probe does not find it; empty if it does."""


@frozen(kw_only=True)
class _File:
    defect: list[Defect]


def read_known(path: Path = KNOWN) -> list[Defect]:
    """Read the list. Raises ManifestError."""
    try:
        defects = strict_converter().structure(tomllib.loads(path.read_text(encoding="utf-8")), _File).defect
    except BaseValidationError as error:
        raise ManifestError(path, first_reason(error)) from None
    for number, defect in enumerate(defects):
        if bool(defect.found) is bool(defect.unseen):
            raise ManifestError(path, f"{defect.server}: {defect.what!r}: either found or unseen is needed")
        if defect.what == SAME and number > 0:
            defects[number] = evolve(defect, what=defects[number - 1].what)
    return defects


def missed(matrix: Matrix, defects: Sequence[Defect]) -> list[str]:
    """The known defects that no run has shown, a line each."""
    return [
        f"{defect.server}: known, and not found: {name}: {defect.what}"
        for defect in defects
        for name in defect.found
        if name not in _faults(matrix, defect)
    ]


def to_markdown(matrix: Matrix, defects: Sequence[Defect]) -> str:
    """The section of the page."""
    lines = [
        "## Known before",
        "",
        "Defects that were known from elsewhere, and what the probe made of them by itself.",
        "",
    ]
    lines += ["| server | defect | found |", "|---|---|---|"]
    for defect in defects:
        faults = _faults(matrix, defect)
        found = [f"{MARKS[faults[name]] if name in faults else UNSEEN} {name}" for name in defect.found]
        where = f"{defect.server}, {defect.variant}" if defect.variant else defect.server
        lines.append(f"| {where} | {defect.what} | {'<br>'.join(found) or f'no: {defect.unseen}'} |")
    return "\n".join([*lines, ""])


def _faults(matrix: Matrix, defect: Defect) -> dict[str, Kind]:
    return {
        f"{finding.clause} {finding.fault}": finding.kind for said in _said(matrix, defect) for finding in said.findings
    }


def _said(matrix: Matrix, defect: Defect) -> list[Said]:
    rows = [row for row in matrix.rows if row.name == defect.server]
    if defect.variant:
        return [said for row in rows for said in row.variants if said.name == defect.variant]
    return [row.whole for row in rows]
