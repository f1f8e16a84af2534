"""The kill table: what the probe and the official conformance suite say of each mutant, as data and as Markdown."""

import datetime
import re
from collections.abc import Mapping, Sequence

from attrs import frozen

from reattach.live.mutants.base import Mutant
from reattach.live.mutants.conformance import Checks
from reattach.live.mutants.probing import Fate, Probed
from reattach.live.mutants.survivors import SURVIVORS

_URL = re.compile(r"http://127\.0\.0\.1:\d+/\S* ")
"""Where a server was listening: another port each time."""
ABSENT = "not run"
"""What the suite's column says where the suite is not installed."""


@frozen(kw_only=True)
class Row:
    """One server."""

    name: str
    probe: Probed
    suite: Checks | None
    """None where the suite is not installed."""


@frozen(kw_only=True)
class Table:
    """One run."""

    unmutated: Row
    sdk: Row | None
    sdk_version: str
    mutants: Sequence[Row]
    generated: Sequence[Fate]
    """A sample of the generated mutants."""
    of: int
    """How many there are."""
    seed: int
    suite_version: str
    node_version: str
    day: datetime.date
    seconds: int


def to_markdown(table: Table, mutants: Mapping[str, Mutant]) -> str:
    """The document. What does not depend on the run comes from the registry, and is checked for drift."""
    rows = [(mutants[row.name], row) for row in table.mutants]
    found = sum(row.probe.found for _, row in rows)
    noticed = sum(row.suite is not None and notices(row.suite, table.unmutated.suite) for _, row in rows)
    failed = sum(row.suite is not None and bool(row.suite.failures) for _, row in rows)
    suite = (
        "not installed here"
        if table.unmutated.suite is None
        else (f"{noticed} of {len(rows)} change any of its checks, {failed} fail one")
    )
    lines = [
        HEAD,
        f"Run of {table.day.isoformat()}, seed {table.seed}, {table.seconds} s in all. Probe: {found} of {len(rows)} "
        f"mutants found under their own clause and class. Official conformance suite "
        f"(`@modelcontextprotocol/conformance` {table.suite_version or '-'} on Node.js {table.node_version or '-'}): "
        f"{suite}.",
        "",
        "## Servers without a mutant",
        "",
        "| server | probe: findings | probed | conformance suite |",
        "|---|---|---|---|",
        f"| reference server | {_all(table.unmutated.probe)} | {_seconds(table.unmutated.probe.elapsed_ms)} "
        f"| {_suite(table.unmutated.suite)} |",
    ]
    if table.sdk is not None:
        lines.append(
            f"| official Python SDK's (mcp {table.sdk_version}) | {_all(table.sdk.probe)} "
            f"| {_seconds(table.sdk.probe.elapsed_ms)} | {_suite(table.sdk.suite)} |"
        )
    lines += [
        "",
        "## Mutants",
        "",
        "| mutant | to be reported | found | after | lines | also reported | conformance suite |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_row(mutant, row) for mutant, row in rows]
    lines += ["", "## What each does wrong", "", "| mutant | what it does wrong | seen in |", "|---|---|---|"]
    lines += [described(mutant) for mutant in mutants.values()]
    lines += _generated(table)
    return "\n".join(lines) + "\n"


GENERATED = """
## Generated mutants

Every comparison, boundary, condition, truth value and bare call of the machine and of the server around it, changed one
at a time; a sample, drawn by the seed, each served (`--mutant FUNCTION#NUMBER`) and probed until anything is found.
What is not found is judged: by a reason, or as a **gap**.
"""


def _generated(table: Table) -> list[str]:
    fates, survivors = table.generated, [fate for fate in table.generated if fate.survives]
    dumb = [fate for fate in fates if fate.shown.startswith("no verdict")]
    unseen = [fate for fate in fates if fate.unseen]
    found = len(fates) - len(survivors) - len(dumb) - len(unseen)
    return [
        GENERATED,
        f"{len(fates)} of {table.of} were probed: {found} found, {len(dumb)} without a verdict (the server does not "
        f"start, answer or last; never a pass), {len(unseen)} under which less can be observed (never a pass either), "
        f"{len(survivors)} survive.",
        "",
        "| change | what became of it |",
        "|---|---|",
        *(f"| {code(fate.mutant.wrong)} | {_fate(fate)} |" for fate in fates if not fate.survives),
        "",
        "### Survivors",
        "",
        "| change | why nothing on the wire shows it |",
        "|---|---|",
        *(survived(fate.mutant.wrong) for fate in survivors),
    ]


def survived(change: str) -> str:
    """A survivor's line: its reason, or that it is a gap."""
    return f"| {code(change)} | {_cell(SURVIVORS.get(change, '**gap**: nobody has judged it'))} |"


def code(text: str) -> str:
    """A text as a code span in a table's cell."""
    return f"`` {_cell(text)} ``"


def _fate(fate: Fate) -> str:
    return _cell(_URL.sub("", fate.shown)) if fate.shown else f"not observed any more: {', '.join(fate.unseen)}"


HEAD = """# Served mutants

Written by `make mutants`. Each row is the reference server with one mistake in it (`reattach serve --mutant NAME`),
probed as `reattach demo` probes the reference server: by the policy that it declares, as two principals, with one seed.
The probe is stopped when it has reported the mutant's own clause and class; if it has not, and there is time within
60 s, it is run again with the next seed. *After* is the time from the start of the probe, the server answering, to that
finding; *lines* is the length of the shortest exchange that shows it. The conformance suite's column is what its
scenarios about sessions and event streams say of the same server: how many checks passed, and which fail or warn.
Numbers in brackets are those of the collections of real servers (S) and bug reports (B) on which the standard rests.
"""


def described(mutant: Mutant) -> str:
    """A mutant as the registry has it."""
    return f"| `{mutant.name}` | {_cell(mutant.wrong)} | {_cell(mutant.seen)} |"


def aimed(mutant: Mutant) -> str:
    """The first cells of a mutant's row: its name, and what has to be reported."""
    return f"| `{mutant.name}` | {mutant.clause} {mutant.fault.value} |"


def notices(checks: Checks, unmutated: Checks | None) -> bool:
    """Whether the suite says anything else than of the server without a mutant."""
    return checks != unmutated


def _row(mutant: Mutant, row: Row) -> str:
    probed = row.probe
    others = [each for each in probed.classes if each != f"{mutant.clause} {mutant.fault.value}"]
    after = "" if probed.first_ms is None else f"{probed.first_ms} ms"
    lines = "" if probed.lines is None else str(probed.lines)
    found = "yes" if probed.found else f"**no**{f' ({_cell(probed.stopped)})' if probed.stopped else ''}"
    return f"{aimed(mutant)} {found} | {after} | {lines} | {', '.join(others)} | {_suite(row.suite)} |"


def _all(probed: Probed) -> str:
    return ", ".join(probed.classes) or "none"


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


def _suite(checks: Checks | None) -> str:
    if checks is None:
        return ABSENT
    parts = [f"{checks.passed} passed"]
    parts += [f"fails {name}" for name in checks.failures]
    parts += [f"warns {name}" for name in checks.warnings]
    return ", ".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
