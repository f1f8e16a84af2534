"""A soak for people and programs: its figures in words, its plot in plain characters and as points, its JSON."""

from attrs import asdict, frozen
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from reattach.oracle.observation import Json
from reattach.oracle.soak import (
    Growth,
    Phase,
    Reading,
    Retained,
    Reuse,
    Soak,
    Trend,
    Way,
    amount_of,
    diagnosis,
    interval,
    megabytes,
)

COLUMNS = 72
ROWS = 10
WIDTH = 720
"""The drawing's units across ..."""
HEIGHT = 220
"""... and down."""
_STEPS = (1, 1.5, 2, 3, 4, 5, 6, 8)


def figures(soak: Soak) -> list[tuple[str, str]]:
    """What was measured: what each figure is called, and the figure; without those that there are not."""
    resident = [reading.resident for reading in soak.readings] or [soak.start]
    rows = [
        ("found", diagnosis(soak)),
        ("load", f"{soak.sessions} sessions, {soak.events} events a call, {amount_of(soak.event_bytes)} an event"),
        (
            "memory",
            f"{megabytes(soak.start)} at first, {megabytes(max(resident))} at most, {megabytes(resident[-1])} at last",
        ),
        ("per released session", _trend(soak, Phase.SESSIONS, "sessions")),
        ("per event", _trend(soak, Phase.EVENTS, "events")),
        ("per abandoned session", "" if soak.per_session is None else amount_of(soak.per_session)),
        ("held per session", _retained(soak.retained)),
        ("left alone", _left(soak)),
        *((f"second load after {reuse.way.value}", _reuse(reuse)) for reuse in soak.reuses),
    ]
    return [row for row in rows if row[1]]


def _trend(soak: Soak, phase: Phase, what: str) -> str:
    trend, rounds = soak.trend(phase), soak.rounds_of(phase)
    if trend.fit is None:
        return f"not known: {trend.reason}"
    word = "not known" if trend.growth is Growth.OPEN else trend.growth.value
    return f"{word}: {interval(trend.fit)}; {len(rounds)} rounds, {rounds[-1].amount} {what}"


def _retained(found: tuple[Retained, ...]) -> str:
    each = [f"{one.least}" if one.least == one.most else f"{one.least} to {one.most}" for one in found]
    return f"{', '.join(each)} events, by resuming {len(found)} of them" if found else ""


def _left(soak: Soak) -> str:
    left = soak.left
    return "" if left is None else f"{left.alive} of {left.sessions} live after {left.waited_ms / 1000:.1f} s"


def _reuse(reuse: Reuse) -> str:
    word = {Growth.FLAT: "memory was reused", Growth.GROWS: "kept", Growth.OPEN: "not known"}[reuse.growth]
    return f"{word}: {amount_of(reuse.first)} for the first load, {amount_of(reuse.second)} more for the second"


# The plot


def soak_text(soak: Soak) -> RenderableType:
    """Figures and plot for a Rich console."""
    table = Table.grid(padding=(0, 2))
    for name, value in figures(soak):
        table.add_row(Text(name, style="dim"), Text(value, overflow="fold"))
    lines: list[RenderableType] = [Text(line, no_wrap=True) for line in plot_lines(soak)]
    return Group(table, *(["", *lines] if lines else []))


def plot_lines(soak: Soak, columns: int = COLUMNS, rows: int = ROWS) -> list[str]:
    """Resident memory over time in plain characters, with the phases below; empty if there is too little to plot."""
    if len(soak.readings) < 2:
        return []
    end, top = _end(soak), _top(soak)
    highest = [0] * columns
    for reading in soak.readings:
        column = min(reading.at_ms * columns // end, columns - 1)
        highest[column] = max(highest[column], reading.resident)
    for column in range(1, columns):
        highest[column] = highest[column] or highest[column - 1]
    lines = []
    for row in range(rows, 0, -1):
        label = megabytes(top * row / rows) if row % 5 == 0 else ""
        drawn = "".join("*" if _row(each, top, rows) == row else " " for each in highest)
        lines.append(f"{label:>8} |{drawn}".rstrip())
    lines.append(f"{'0 MB':>8} +{'-' * columns}")
    phases = [" "] * columns
    for span in soak.spans:
        begin = min(span.begin_ms * columns // end, columns - 1)
        width = max((span.end_ms - span.begin_ms) * columns // end, 1)
        word = f"|{span.phase.value}"[:width]
        phases[begin : begin + len(word)] = word
    lines.append(f"{'':>9}{' '}{''.join(phases)}".rstrip())
    lines.append(f"{'':>10}0 s{end / 1000:>{columns - 5}.0f} s")
    return lines


def _row(resident: int, top: float, rows: int) -> int:
    """The row, from 1, that a reading is in; 0 if there is none."""
    return min(int(resident * rows / top) + 1, rows) if resident else 0


def _end(soak: Soak) -> int:
    return max(soak.readings[-1].at_ms, *(span.end_ms for span in soak.spans), 1)


def _top(soak: Soak) -> float:
    """The top of the scale: a round number of megabytes."""
    highest = max(reading.resident for reading in soak.readings) / 1_000_000
    scale = 1.0
    while True:
        for step in _STEPS:
            if step * scale >= highest:
                return step * scale * 1_000_000
        scale *= 10


@frozen
class Band:
    """A phase in the drawing."""

    name: str
    left: float
    width: float


@frozen
class Drawing:
    """The plot as points, for an SVG of ``WIDTH`` by ``HEIGHT``."""

    line: str
    """The points of a polyline."""
    dots: tuple[tuple[float, float], ...]
    """The rounds that count ..."""
    hollow: tuple[tuple[float, float], ...]
    """... and those of the warm-up."""
    bands: tuple[Band, ...]
    levels: tuple[tuple[float, str], ...]
    """Heights with their names."""
    seconds: str
    """The time at the right end."""


def drawing_of(soak: Soak) -> Drawing | None:
    """The plot; None if there is too little to plot."""
    if len(soak.readings) < 2:
        return None
    end, top = _end(soak), _top(soak)

    def x(at_ms: int) -> float:
        return round(at_ms * WIDTH / end, 1)

    def y(resident: float) -> float:
        return round(HEIGHT - resident * HEIGHT / top, 1)

    def dot(at: Reading) -> tuple[float, float]:
        return x(at.at_ms), y(at.resident)

    rounds = [(each.warm_up, dot(Reading(at_ms=each.at_ms, resident=each.resident))) for each in soak.rounds]
    return Drawing(
        line=" ".join(f"{across:g},{down:g}" for across, down in map(dot, soak.readings)),
        dots=tuple(at for warm_up, at in rounds if not warm_up),
        hollow=tuple(at for warm_up, at in rounds if warm_up),
        bands=tuple(
            Band(span.phase.value, x(span.begin_ms), round(x(span.end_ms) - x(span.begin_ms), 1)) for span in soak.spans
        ),
        levels=tuple((y(top * part / 4), megabytes(top * part / 4)) for part in range(5)),
        seconds=f"{end / 1000:.0f} s",
    )


# JSON


def soak_to_json(soak: Soak) -> dict[str, Json]:
    """The measurements, with every reading: bytes and milliseconds."""
    return {
        "diagnosis": diagnosis(soak),
        "sessions": soak.sessions,
        "events_per_call": soak.events,
        "events_per_small_session": soak.few,
        "event_bytes": soak.event_bytes,
        "limit": soak.limit,
        "start": soak.start,
        "per_abandoned_session": soak.per_session,
        "trends": {phase.value: _trend_to_json(soak.trend(phase)) for phase in (Phase.SESSIONS, Phase.EVENTS)},
        "retained": [asdict(each) for each in soak.retained],
        "left_alone": None if soak.left is None else asdict(soak.left),
        "reuses": [
            {
                "way": _WAYS[each.way],
                "before": each.before,
                "first": each.first,
                "second": each.second,
                "growth": each.growth.value,
            }
            for each in soak.reuses
        ],
        "spans": [{"phase": each.phase.value, "begin_ms": each.begin_ms, "end_ms": each.end_ms} for each in soak.spans],
        "rounds": [
            {
                "phase": each.phase.value,
                "at_ms": each.at_ms,
                "amount": each.amount,
                "resident": each.resident,
                "warm_up": each.warm_up,
            }
            for each in soak.rounds
        ],
        "readings": [[each.at_ms, each.resident] for each in soak.readings],
    }


_WAYS = {Way.DELETE: "delete", Way.IDLE: "idle"}


def _trend_to_json(trend: Trend) -> dict[str, Json]:
    fit = trend.fit
    return {
        "growth": trend.growth.value,
        "reason": trend.reason,
        "slope": None if fit is None else fit.slope,
        "low": None if fit is None else fit.low,
        "high": None if fit is None else fit.high,
        "readings": 0 if fit is None else fit.readings,
    }
