"""The matrix: servers by clauses, as data (docs/matrix.json) and as the page that is written from the data alone."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from attrs import field, frozen
from tests.matrix.document import Made
from tests.matrix.manifest import Server
from tests.matrix.runs import HAND_OVER, ISOLATION, SHORT_SECONDS, Found, Purpose, Ran, Report

import reattach
from reattach.clauses import About, Clause, Registry
from reattach.machine.revision import Revision
from reattach.oracle.verdict import Kind, Outcome, Profile

SCHEMA = "reattach-matrix/1"
MARKS = {
    Kind.VIOLATES_MUST: "✗",
    Kind.BREAKS_CONTRACT: "✗",
    Kind.AGAINST_SHOULD: "△",
    Kind.UNDEFINED_AREA: "○",
}
HELD, UNSEEN, NOT_RUN = "✓", "·", "–"
FAILING = (Kind.VIOLATES_MUST, Kind.BREAKS_CONTRACT)


@frozen(kw_only=True)
class Shown:
    """A finding, without its exchange: that is on the server's page."""

    clause: str
    fault: str
    summary: str
    kind: Kind
    """What it is by the text of MCP alone."""
    times: int
    judgement: str
    """Why it is expected, as judged by hand; empty if it is new."""

    @property
    def anchor(self) -> str:
        """Where it is on the server's page."""
        return f"{self.clause}-{self.fault}".lower()


@frozen(kw_only=True)
class Said:
    """What one run said."""

    name: str
    """The revision, or the variant's name."""
    what: str = ""
    """For a variant: how it differs."""
    elapsed_ms: int = 0
    stopped: str = ""
    outcomes: dict[str, str] = field(factory=dict)
    why_unseen: dict[str, str] = field(factory=dict)
    findings: list[Shown] = field(factory=list)
    stale: list[str] = field(factory=list)
    notes: list[str] = field(factory=list)

    def about(self, clauses: Iterable[str]) -> list[Shown]:
        """The findings about some clauses."""
        wanted = set(clauses)
        return [finding for finding in self.findings if finding.clause in wanted]


class Shows(Protocol):
    """A column of a table of clauses: a server, or a client."""

    @property
    def name(self) -> str:
        """Its heading."""

    @property
    def page(self) -> str:
        """Where its page is, seen from the table's."""

    @property
    def whole(self) -> Said:
        """What was seen of it."""


@frozen(kw_only=True)
class Row:
    """One server, and all that was seen of it."""

    name: str
    language: str
    package: str
    version: str
    store: str
    says: str
    """The name and version that it gives itself."""
    whole: Said
    revisions: list[Said]
    variants: list[Said]

    @property
    def page(self) -> str:
        """Where its page is, seen from the matrix."""
        return f"servers/{self.name}.md"

    def alarms(self) -> list[str]:
        """What its baseline does not account for, and what was not run to its end."""
        return alarms_of(self.name, self.whole, self.revisions, self.variants)


def alarms_of(name: str, whole: Said, judged: Sequence[Said] = (), shown: Sequence[Said] = ()) -> list[str]:
    """What a baseline does not account for in the whole run and the others that it judges, and what was cut short."""
    lines = [f"{name}: gone: {entry}" for entry in whole.stale]
    for said in (whole, *judged):
        lines += [
            f"{name}, {said.name}: new: {finding.clause} {finding.fault}: {finding.summary}"
            for finding in said.findings
            if not finding.judgement
        ]
    for said in (whole, *judged, *shown):
        if said.stopped:
            lines.append(f"{name}, {said.name}: not run to its end: {said.stopped}")
    return lines


@frozen(kw_only=True)
class Matrix(Made):
    """Every server, probed on one day."""

    schema: str = SCHEMA
    reattach: str = reattach.__version__
    rows: list[Row]

    def alarms(self) -> list[str]:
        """What fails a run of the matrix, a line each."""
        return [line for row in self.rows for line in row.alarms()]


def matrix_of(ran: Sequence[Ran], made: Made) -> Matrix:
    """The matrix from all runs."""
    by_server: dict[str, list[Ran]] = {}
    for one in ran:
        by_server.setdefault(one.planned.server.name, []).append(one)
    rows = [_row(runs) for runs in by_server.values()]
    return Matrix(day=made.day, seed=made.seed, seconds=made.seconds, rows=rows)


def _row(runs: Sequence[Ran]) -> Row:
    server: Server = runs[0].planned.server
    by_purpose = {purpose: [one for one in runs if one.planned.purpose is purpose] for purpose in Purpose}
    (whole,) = by_purpose[Purpose.WHOLE]
    return Row(
        name=server.name,
        language=server.language,
        package=server.package,
        version=server.version,
        store=server.store,
        says=whole.says,
        whole=_said(whole),
        revisions=[_said(one) for one in by_purpose[Purpose.REVISION]],
        variants=[_said(one) for one in by_purpose[Purpose.VARIANT]],
    )


def _said(ran: Ran) -> Said:
    variant = ran.planned.variant
    name = variant.name if variant is not None else ran.planned.revision.value
    what = variant.what if variant is not None else ""
    return said_of(ran, name, what, whole=ran.planned.purpose is Purpose.WHOLE)


def said_of(ran: Report, name: str, what: str = "", *, whole: bool = True) -> Said:
    """A run as data; only of a whole one also why something was not observed, and its notes."""
    return Said(
        name=name,
        what=what,
        elapsed_ms=ran.elapsed_ms,
        stopped=ran.stopped,
        outcomes={clause: outcome.value for clause, outcome in ran.outcomes.items()},
        why_unseen=dict(ran.why_unseen) if whole else {},
        findings=[
            Shown(
                clause=finding.clause,
                fault=finding.fault,
                summary=finding.summary,
                kind=finding.kind,
                times=finding.times,
                judgement=finding.expected or "",
            )
            for finding in shortest(ran.findings)
        ],
        stale=list(ran.stale),
        notes=list(ran.notes) if whole else [],
    )


def shortest(findings: Sequence[Found]) -> list[Found]:
    """For each clause and fault the finding with the shortest exchange, in the order in which they first came."""
    best: dict[tuple[str, str], Found] = {}
    for finding in findings:
        key = (finding.clause, finding.fault)
        if key not in best or len(finding.steps) < len(best[key].steps):
            best[key] = finding
    return list(best.values())


def to_markdown(matrix: Matrix, registry: Registry) -> str:
    """The page, from the data."""
    rows = matrix.rows
    minutes, seconds = divmod(matrix.seconds, 60)
    judged = [clause for clause in registry.values() if clause.about is not About.CLIENT]
    obliged = [clause for clause in judged if clause.obliges(Profile.MCP)]
    beyond = [clause for clause in judged if not clause.obliges(Profile.MCP)]
    parts = [
        f"""\
# Real servers

Written by `make matrix`, from `docs/matrix.json`, which the same run writes; nothing here is edited by hand. Each
server is the smallest honest program on its SDK (`tests/servers/`), with the event store that the SDK ships or shows.
Each cell comes from a run of `reattach probe`; a name in a cell leads to the exchange that shows the finding.

Run of {matrix.day}, reattach {matrix.reattach}, seed {matrix.seed}: {minutes} min {seconds} s, builds included.
""",
        _servers(rows),
        legend("server"),
        """\
## What the text obliges, or the server itself accepted
""",
        clause_table(obliged, rows),
        "## The stricter contract of the standard\n\nMCP leaves these open: to differ is no violation of it.\n",
        clause_table(beyond, rows),
        f"""\
## Other revisions

What violates a MUST or breaks its own contract there, in runs of {SHORT_SECONDS} s: that something is found in one
revision alone may be for lack of time in the others. {NOT_RUN}: not spoken.
""",
        _revisions(rows),
        f"""\
## Variants

Where another store or mode matters, short runs about the hand-over from replay to live ({", ".join(HAND_OVER)})
and about the isolation of streams and sessions ({", ".join(ISOLATION)}). No baseline judges them.
""",
        _variants(rows),
    ]
    return "\n".join(parts)


def legend(whose: str) -> str:
    """What the marks mean."""
    return f"""\
| mark | meaning |
|---|---|
| {HELD} | held |
| {MARKS[Kind.VIOLATES_MUST]} | violates a MUST of the text, or breaks what the {whose} itself accepted |
| {MARKS[Kind.AGAINST_SHOULD]} | goes against a SHOULD |
| {MARKS[Kind.UNDEFINED_AREA]} | differs in an area that the text leaves open |
| {UNSEEN} | not observed, which is never a pass: the reason is on the {whose}'s page |
| new | the {whose}'s baseline (`baseline.toml` beside its source, which judges each finding) does not expect it |
"""


def _servers(rows: Sequence[Row]) -> str:
    lines = ["| server | language | package | version | store | probed for |", "|---|---|---|---|---|---|"]
    for row in rows:
        stopped = f" ({row.whole.stopped})" if row.whole.stopped else ""
        lines.append(
            f"| [{row.name}]({row.page}) | {row.language} | `{row.package}` | {row.version} | {row.store} "
            f"| {row.whole.elapsed_ms / 1000:.0f} s{stopped} |"
        )
    return "\n".join([*lines, ""])


def clause_table(clauses: Sequence[Clause], rows: Sequence[Shows]) -> str:
    """A row for each clause, a column for each server or client."""
    head = " | ".join(f"[{row.name}]({row.page})" for row in rows)
    lines = [f"| clause | | what | {head} |", "|---" * (3 + len(rows)) + "|"]
    for clause in clauses:
        cells = " | ".join(_cell(clause.id, row) for row in rows)
        lines.append(f"| {clause.id} | {clause.level.value} | {clause.title} | {cells} |")
    return "\n".join([*lines, ""])


def _cell(clause: str, row: Shows) -> str:
    outcome = row.whole.outcomes.get(clause)
    if outcome is None:
        return UNSEEN
    return _outcome(outcome, row.whole.about([clause]), row)


def _outcome(outcome: str, findings: Sequence[Shown], row: Shows) -> str:
    if findings:
        return "<br>".join(_marked(finding, row) for finding in findings)
    return {Outcome.HELD.value: HELD, Outcome.NOT_OBSERVED.value: UNSEEN}.get(outcome, outcome)


def _marked(finding: Shown, row: Shows) -> str:
    new = "" if finding.judgement else " *new*"
    return f"{MARKS[finding.kind]} [{finding.fault}]({row.page}#{finding.anchor}){new}"


def _revisions(rows: Sequence[Row]) -> str:
    lines = [
        "| server | " + " | ".join(revision.value for revision in Revision) + " |",
        "|---" * (1 + len(Revision)) + "|",
    ]
    for row in rows:
        said = {one.name: one for one in (row.whole, *row.revisions)}
        cells = [_failing(said[revision.value]) if revision.value in said else NOT_RUN for revision in Revision]
        lines.append(f"| {row.name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _failing(said: Said) -> str:
    named = [
        f"{MARKS[finding.kind]} {finding.clause} {finding.fault}"
        for finding in said.findings
        if finding.kind in FAILING
    ]
    if named or said.stopped:
        return "<br>".join([*named, *([f"stopped: {said.stopped}"] if said.stopped else [])])
    held = list(said.outcomes.values()).count(Outcome.HELD.value)
    return f"{HELD} {held} clauses held, nothing violated" if held else UNSEEN


def _variants(rows: Sequence[Row]) -> str:
    lines = ["| server | variant | what | hand-over | isolation |", "|---|---|---|---|---|"]
    for row in rows:
        for said in row.variants:
            cells = [_group(said, clauses) for clauses in (HAND_OVER, ISOLATION)]
            lines.append(f"| {row.name} | {said.name} | {said.what} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _group(said: Said, clauses: Sequence[str]) -> str:
    found = said.about(clauses)
    if found:
        return "<br>".join(f"{MARKS[one.kind]} {one.clause} {one.fault}" for one in found)
    if said.stopped:
        return f"stopped: {said.stopped}"
    held = [clause for clause in clauses if said.outcomes.get(clause) == Outcome.HELD.value]
    if len(held) == len(clauses):
        return HELD
    return f"{HELD} {', '.join(held)}; the others {UNSEEN}" if held else UNSEEN
