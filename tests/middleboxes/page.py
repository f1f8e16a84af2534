"""The page of the middleboxes, from its data alone (docs/middleboxes.json)."""

from collections.abc import Callable, Sequence

from attrs import field, frozen
from tests.matrix.document import Made
from tests.matrix.table import MARKS
from tests.middleboxes.effects import COUNT, QUIET_MS, Effects
from tests.middleboxes.through import COUNT as CALL_COUNT

import reattach
from reattach.clauses import Registry
from reattach.oracle.verdict import Kind

SCHEMA = "reattach-middleboxes/1"
DIRECT = "direct"


@frozen(kw_only=True)
class Finding:
    """What the probe found through a middlebox, and not without it."""

    clause: str
    fault: str
    kind: Kind
    summary: str


@frozen(kw_only=True)
class Row:
    """A middlebox, or one of its variants, or nothing at all between client and server."""

    name: str
    language: str
    package: str
    version: str
    what: str
    effects: Effects
    clients: dict[str, list[str]]
    """By client: what came of a call, and of one that was cut."""
    stopped: str = ""
    """Why the probe did not come to its end; empty if it did."""
    findings: list[Finding] = field(factory=list)
    unseen: list[str] = field(factory=list)
    """The clauses that the server was seen to hold directly, and through this was not."""


@frozen(kw_only=True)
class Middleboxes(Made):
    """Every middlebox, on one day; the first row is the server alone."""

    schema: str = SCHEMA
    reattach: str = reattach.__version__
    rows: list[Row]


_COLUMNS: Sequence[tuple[str, Callable[[Effects], str]]] = (
    ("session id", lambda seen: seen.session),
    ("event ids", lambda seen: seen.ids),
    ("priming", lambda seen: seen.priming),
    (f"a call's {COUNT} messages on its stream", lambda seen: seen.messages),
    ("on the standalone stream", lambda seen: str(seen.moved)),
    ("on another call's", lambda seen: str(seen.crossed)),
    (f"cut and resumed: {2 * COUNT} messages", lambda seen: seen.resumed),
    ("plain GET", lambda seen: seen.listening),
    (f"{QUIET_MS / 1000:g} s of silence", lambda seen: seen.quiet),
    ("the same, with heartbeats", lambda seen: seen.heartbeats),
    ("DELETE", lambda seen: seen.goodbye),
)


def to_markdown(seen: Middleboxes, registry: Registry) -> str:
    """The page."""
    minutes, seconds = divmod(seen.seconds, 60)
    return "\n".join(
        [
            f"""\
# Middleboxes

What stands between a client and a server has its own part in resumption: it passes on session ids, cursors and events
as they come, or it does not. Each row here is a real one in front of the reference server, which holds every clause
when it is asked directly (the first row). Written by `make middleboxes`, from `docs/middleboxes.json`, which the same
run writes; nothing here is edited by hand. How each is built and started is in `tests/middleboxes/`.

Run of {seen.day}, reattach {seen.reattach}, seed {seen.seed}: {minutes} min {seconds} s, builds included.
""",
            _boxes(seen.rows),
            """\
## What it does to the contract

Seen from both sides: the client of the tests, and the server's state at the moment at which the client gets something.
*Held back* is what reaches the client only when the server has sent more, or all. The timeout of `short-timeout`
stands for any: nginx gives a response up after a minute of silence (`proxy_read_timeout 60s`), here after a second.
Heartbeats are the comments that the reference server sends on a quiet stream, for this every 300 ms; by its defaults
every 15 s.
""",
            _effects(seen.rows),
            f"""\
## What a client gets

Real clients (`tests/clients/`), through it: one call that sends {CALL_COUNT} messages. *Cut*: the connection between
client and middlebox is reset once, after the fifth message has passed; where none passed, nothing was cut. How many
different messages the application got, and how the call ended for it.
""",
            _clients(seen.rows),
            """\
## What the probe finds

`reattach probe --profile reattach --policy short`, through it. What is listed was not found directly; to the probe,
middlebox and server are one. *Not observed* are clauses that the server was seen to hold directly, and that nothing
exercises any more when it is reached through this.
""",
            _findings(seen.rows, registry),
        ]
    )


def _boxes(rows: Sequence[Row]) -> str:
    lines = ["| name | language | package | version | what |", "|---|---|---|---|---|"]
    for row in rows:
        package = f"`{row.package}`" if row.package else ""
        lines.append(f"| {row.name} | {row.language} | {package} | {row.version} | {row.what} |")
    return "\n".join([*lines, ""])


def _effects(rows: Sequence[Row]) -> str:
    lines = [f"| | {' | '.join(row.name for row in rows)} |", "|---" * (1 + len(rows)) + "|"]
    for title, cell in _COLUMNS:
        lines.append(f"| {title} | {' | '.join(cell(row.effects) for row in rows)} |")
    return "\n".join([*lines, ""])


def _clients(rows: Sequence[Row]) -> str:
    names = list(rows[0].clients)
    heads = [f"{name}{cut}" for name in names for cut in ("", ", cut")]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for row in rows:
        lines.append(f"| {row.name} | {' | '.join(cell for name in names for cell in row.clients[name])} |")
    return "\n".join([*lines, ""])


def _findings(rows: Sequence[Row], registry: Registry) -> str:
    lines = ["| | found | not observed |", "|---|---|---|"]
    for row in rows[1:]:
        found = [
            f"{MARKS[each.kind]} {each.clause} {each.fault} ({registry[each.clause].title}): {each.summary}"
            for each in row.findings
        ]
        if row.stopped:
            found.append(f"stopped: {row.stopped}")
        lines.append(f"| {row.name} | {'<br>'.join(found) or 'nothing'} | {', '.join(row.unseen) or 'none'} |")
    return "\n".join([*lines, ""])
