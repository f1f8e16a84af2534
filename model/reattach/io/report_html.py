"""The report as one page: a file that needs nothing else, neither network nor script.

What a person needs to find and fix a fault: the clause's words, the exchange as a diagram with the first wrong thing
marked, and beside each step what the reference machine says there. The page has no script at all and says so to the
browser (``Content-Security-Policy``); everything that came from the other side is escaped, and shown as plain text is
(``plain``). Filtering and the states are done with CSS alone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from attrs import frozen
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

import reattach
from reattach.clauses import Clause, Registry
from reattach.io.baseline import expectation_of
from reattach.io.exchange import Passage, connection_letters, passages_of, short_ids
from reattach.io.explain import speaker_of
from reattach.io.plain import plain
from reattach.io.run import Presented, Run, exit_code_of, results_by_outcome, stale, verdict_of
from reattach.io.shadow_text import Fared, facts, fared, owed, right
from reattach.io.shell import replay_command
from reattach.io.soak_shown import HEIGHT, WIDTH, Drawing, drawing_of, figures
from reattach.io.wording import clause_counts, facts_of, finding_counts, remark_of, reproduction, title_of
from reattach.machine.revision import NEWEST_WITH_RESUMPTION, Revision
from reattach.oracle.declaration import declared
from reattach.oracle.observation import Closed, Observation, Party, Quiet, ReadPaused, ReadResumed
from reattach.oracle.shadow import Shadow, shadows
from reattach.oracle.soak import Soak
from reattach.oracle.verdict import Finding, Kind, Outcome

_PAUSE_MS = 100
"""A time between two steps from which on it is drawn."""
_ORDER = (Outcome.VIOLATED, Outcome.HELD, Outcome.NOT_OBSERVED)
_TEXT_OF_MCP = re.compile(r"MCP (\d{4}-\d\d-\d\d)")


@frozen
class Line:
    """One line of a step, with the event id or cursor in it apart."""

    before: str
    id: str
    after: str


@frozen
class Bar:
    """A connection beside one step."""

    letter: str
    place: int
    begins: bool
    ends: bool
    """Whether this is the last step of it."""
    closed: bool
    """Whether it is closed there; if not, the exchange does not show its end."""
    paused: bool


@frozen
class State:
    """What the reference machine says at a step."""

    facts: tuple[tuple[str, str], ...]
    fared: tuple[Fared, ...]
    owed: str


@frozen
class Row:
    """A step of the diagram."""

    number: int
    at: int
    """Milliseconds since the exchange began."""
    waited: int
    """Milliseconds since the step before, if that is long and the step does not say so itself; else 0."""
    letter: str
    place: int
    """Which of the connections it is on, from 0."""
    kind: str
    """How it is drawn: request, answer, cut, end, break, quiet, pause or note."""
    spoken: str
    """The direction in words, for those who do not see it."""
    lines: tuple[Line, ...]
    bars: tuple[Bar | None, ...]
    """For each connection; None if it is not open there."""
    wrong: bool
    state: State | None


@frozen
class Shown:
    """A finding as the page shows it."""

    number: int
    finding: Finding
    clause: Clause | None
    kind: str
    """The finding's kind as a name for styles."""
    expected: str
    """The reason why the baseline expects it; empty if it does not."""
    reproduced: str
    summary: str
    """The finding's summary, with event ids shortened as in the diagram."""
    rows: tuple[Row, ...]
    letters: tuple[str, ...]
    came: str
    """What the server did wrong, in a line."""
    right: str
    """What the reference machine does there; empty if it does not know."""
    example: tuple[tuple[str, str], ...]
    """The lines of the clause's example, each with who speaks."""
    texts: tuple[str, ...]
    """The revisions of MCP whose text the clause names as its source."""
    replay: str | None
    again: str
    """The command that runs its experiment again; empty if no replay file was written."""


@frozen
class ShownSoak:
    """What a soak measured, as the page shows it."""

    figures: tuple[tuple[str, str], ...]
    drawing: Drawing | None
    width: int = WIDTH
    height: int = HEIGHT


def _shown_soak(soak: Soak) -> ShownSoak:
    return ShownSoak(tuple(figures(soak)), drawing_of(soak))


_KINDS = {
    Kind.VIOLATES_MUST: "must",
    Kind.BREAKS_CONTRACT: "contract",
    Kind.AGAINST_SHOULD: "should",
    Kind.UNDEFINED_AREA: "undefined",
}


def render_html(presented: Presented, registry: Registry) -> str:
    """The report as an HTML document."""
    report, run = presented.report, presented.run
    verdict = verdict_of(report, run)
    pairs = zip(report.findings, presented.replays, strict=True)
    findings = [_shown(number, *pair, run, registry) for number, pair in enumerate(pairs, start=1)]
    results = results_by_outcome(report)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            version=reattach.__version__,
            verdict=verdict.value,
            exit_code=exit_code_of(report, run),
            run=run,
            facts=[*facts_of(run), ("fails at", f"--fail-on {run.fail_on.value}")],
            declared=[(name, getattr(run.declaration, name)) for name in declared(run.declaration)],
            clause_counts=clause_counts(report),
            finding_counts=finding_counts(report),
            stale=[str(entry) for entry in stale(report, run)],
            notes=report.notes,
            findings=findings,
            soak=None if presented.soak is None else _shown_soak(presented.soak),
            outcomes=[
                (outcome.value, [(result, title_of(result.clause, registry)) for result in results[outcome]])
                for outcome in _ORDER
            ],
            remarks={result.clause: remark_of(result, report) for result in report.clauses},
            found={
                result.clause: [shown for shown in findings if shown.finding.clause == result.clause]
                for result in report.clauses
            },
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )
    environment.filters["slug"] = lambda text: re.sub(r"[^a-z0-9]+", "-", text.lower())
    environment.filters["code"] = _code
    return environment


def _code(text: str) -> Markup:
    """Text of the registry, with what stands between backquotes as code."""
    parts = [escape(_plain(part)) for part in text.split("`")]
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def _plain(value: Any) -> Any:
    """Whatever the template writes: text on one line, what does not print escaped. Markup is the template's own."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _shown(number: int, finding: Finding, replay: str | None, run: Run, registry: Registry) -> Shown:
    clause = registry.get(finding.clause)
    expected = expectation_of(finding, run.baseline)
    letters = connection_letters(finding.evidence)
    said = shadows(finding.evidence, _revision(run), run.declaration, finding.clause)
    rows = _rows(finding.evidence, said, letters)
    return Shown(
        number=number,
        finding=finding,
        clause=clause,
        kind=_KINDS[finding.kind],
        expected=expected.reason if expected is not None else "",
        reproduced=reproduction(finding.reproduced) if finding.reproduced is not None else "",
        summary=_shortened(finding.summary, short_ids(finding.evidence)),
        rows=rows,
        letters=tuple(letters.values()),
        came=" ".join(_whole(line).strip() for line in rows[-1].lines[:1]) if rows else "",
        right=right(said[-1], finding.evidence[-1], letters) if rows else "",
        example=tuple((speaker_of(line).value, line) for line in clause.example.strip("\n").split("\n"))
        if clause is not None
        else (),
        texts=tuple(dict.fromkeys(_TEXT_OF_MCP.findall(clause.source))) if clause is not None else (),
        replay=replay,
        again=replay_command(replay, run.target) if replay else "",
    )


def _shortened(text: str, ids: Mapping[str, str]) -> str:
    for whole in sorted(ids, key=len, reverse=True):
        text = text.replace(whole, ids[whole])
    return text


def _revision(run: Run) -> Revision:
    known = {revision.value: revision for revision in Revision}
    return known.get(run.revision, NEWEST_WITH_RESUMPTION)


def _rows(
    evidence: Sequence[Observation], said: Sequence[Shadow | None], letters: Mapping[int, str]
) -> tuple[Row, ...]:
    passages = passages_of(evidence)
    ids = short_ids(evidence)
    # What was said once all of a passage was observed.
    ends = [sum(len(passage.observations) for passage in passages[: number + 1]) for number in range(len(passages))]
    bars = _bars(passages, letters)
    times = [0, *(after.steps[0].at - before.steps[0].at for before, after in pairwise(passages))]
    places = list(letters.values())
    rows = []
    for number, passage in enumerate(passages):
        seen, first = passage.observations[-1], passage.steps[0]
        shadow = said[ends[number] - 1]
        kind = _drawn(seen, first.direction)
        rows.append(
            Row(
                number=number + 1,
                at=first.at,
                waited=times[number] if times[number] >= _PAUSE_MS and kind != "quiet" else 0,
                letter=first.connection,
                place=places.index(first.connection) if first.connection else 0,
                kind=kind,
                spoken=_SPOKEN.get(kind, ""),
                lines=tuple(_line(step.text, step.id) for step in passage.steps),
                bars=bars[number],
                wrong=any(step.wrong for step in passage.steps),
                state=_state(shadow, seen, letters, ids, wrong=number == len(passages) - 1),
            )
        )
    return tuple(rows)


_SPOKEN = {
    "request": "client to server:",
    "answer": "server to client:",
    "cut": "client:",
    "end": "server:",
    "break": "network:",
}


def _drawn(seen: Observation, direction: str) -> str:
    match seen:
        case Closed():
            return {Party.CLIENT: "cut", Party.SERVER: "end", Party.NETWORK: "break"}[seen.by]
        case Quiet():
            return "quiet"
        case ReadPaused() | ReadResumed():
            return "pause"
    return {">": "request", "<": "answer"}.get(direction, "note")


def _line(text: str, identifier: str) -> Line:
    before, found, after = text.partition(identifier) if identifier else (text, "", "")
    return Line(before, found, after)


def _whole(line: Line) -> str:
    return line.before + line.id + line.after


def _state(
    shadow: Shadow | None, seen: Observation, letters: Mapping[int, str], ids: Mapping[str, str], *, wrong: bool
) -> State | None:
    if shadow is None:
        return None
    told = facts(shadow, seen, letters, wrong=wrong)
    return State(told, fared(shadow, letters, ids, wrong=wrong), owed(shadow))


def _bars(passages: Sequence[Passage], letters: Mapping[int, str]) -> list[tuple[Bar | None, ...]]:
    """For each step the connections, from the first step that each is part of to the last."""
    parts = [{each.connection for each in passage.observations} for passage in passages]
    spans = {connection: _span(parts, connection) for connection in letters}
    paused: set[int] = set()
    rows: list[tuple[Bar | None, ...]] = []
    for number, passage in enumerate(passages):
        seen = passage.observations
        closed = {each.connection for each in seen if isinstance(each, Closed)}
        paused |= {each.connection for each in seen if isinstance(each, ReadPaused)}
        bars: list[Bar | None] = []
        for place, (connection, letter) in enumerate(letters.items()):
            begin, end = spans[connection]
            bar = Bar(letter, place, number == begin, number == end, connection in closed, connection in paused)
            bars.append(bar if begin <= number <= end else None)
        rows.append(tuple(bars))
        paused -= {each.connection for each in seen if isinstance(each, ReadResumed)} | closed
    return rows


def _span(parts: Iterable[set[int]], connection: int) -> tuple[int, int]:
    steps = [number for number, part in enumerate(parts) if connection in part]
    return steps[0], steps[-1]
