"""``reattach explain``: a clause of the standard, or all of them, for people to read.

Everything shown comes from the registry. Text of the registry is never parsed as Rich markup.
"""

import re
from enum import Enum

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from reattach.clauses import TOPICS, About, Check, Clause, Need, Profile, Registry
from reattach.machine.revision import Revision
from reattach.oracle.verdict import Level

_LEVEL_STYLE = {Level.MUST: "bold red", Level.SHOULD: "bold yellow", Level.MAY: "bold"}

_CHECKS = {
    Check.ORACLE.value: "the oracle, on the wire",
    Check.MACHINE.value: "the tests and invariants of the machine",
    Check.BENCH.value: "the bench, of client programs (reattach client)",
}

_NEEDS = {
    Need.SESSION_IDS: "a server that issues session ids",
    Need.EVENT_IDS: "a server that gives event ids",
    Need.READABLE_IDS: "event ids in this standard's grammar",
    Need.STIMULUS: "a stimulus, something that makes the server send events",
    Need.TERMINATION: "a server that lets a client end its session",
    Need.SECOND_PRINCIPAL: "credentials of two principals (--header, --second-principal)",
    Need.DECLARATION: "a declared policy (--policy)",
}

_ABOUT = {
    About.SERVER: "the server",
    About.CLIENT: "the client",
    About.DEPLOYMENT: "the deployment",
    About.BOTH: "server and client",
}

_LEGEND = "> the client sends   < the server answers   a b: connections   # what happens   ! instead, and wrong"


class Speaker(Enum):
    """What a line of a clause's example is."""

    CLIENT = "client"
    SERVER = "server"
    HAPPENS = "happens"
    WRONG = "wrong"
    """What happens instead where the clause is broken."""


_STYLES = {Speaker.CLIENT: "green", Speaker.SERVER: "cyan", Speaker.HAPPENS: "dim", Speaker.WRONG: "red"}

_LINE = re.compile(r"(?P<wrong>! )?(?P<who>[a-z]?[<>] |# )?(?P<rest>.*)")


def explain_all(registry: Registry) -> RenderableType:
    """Every clause of the registry in one table, by topic: id, level, profile, title, checks."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for column in ("clause", "level", "profile", "about", "title", "checked by"):
        table.add_column(column, no_wrap=column != "title", overflow="fold")
    topic = ""
    for clause in registry.values():
        if clause.topic != topic:
            if topic:
                table.add_row()
            topic = clause.topic
            table.add_row(Text(topic, style="bold cyan"), "", "", "", Text(TOPICS[topic][0], style="bold cyan"), "")
        table.add_row(
            Text(clause.id),
            Text(clause.level.value, style=_LEVEL_STYLE[clause.level]),
            Text(clause.profile.value + ("*" if clause.contract else "")),
            Text(_ABOUT[clause.about].removeprefix("the ")),
            Text(clause.title),
            Text(", ".join(_short(clause)) or "nothing", style="" if clause.checks else "yellow"),
        )
    note = Text("* under profile mcp a violation is a broken contract: accepted or declared, and not kept", style="dim")
    return Group(table, Text(), note, Text("reattach explain CUR-7 prints one clause in full", style="dim"))


def explain(clause: Clause, registry: Registry) -> RenderableType:
    """One clause in full: what it says, for whom and where it holds, why, from where, what checks it, an exchange."""
    return Group(
        Rule(Text(f"{clause.id} — {clause.title}", style="bold"), align="left"),
        _standing(clause),
        Text(),
        Padding(Text(clause.statement), (0, 2)),
        Text(),
        _facts(clause, registry),
        Text(),
        Text("Example", style="bold"),
        Padding(_exchange(clause.example), (0, 2)),
        Text(_LEGEND, style="dim"),
    )


def _standing(clause: Clause) -> Text:
    profile = f" · profile {clause.profile.value}"
    if clause.contract:
        profile += f" ({clause.kind(Profile.MCP).value} under mcp)"
    return Text.assemble(
        (clause.level.value, _LEVEL_STYLE[clause.level]),
        profile,
        f" · judges {_ABOUT[clause.about]}",
    )


def _facts(clause: Clause, registry: Registry) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    table.add_row("Why", Text(clause.reason))
    table.add_row("Source", Text(clause.source))
    table.add_row("Revisions", Text(_revisions(clause)))
    if clause.needs:
        table.add_row("Observed with", Text("; ".join(_NEEDS[need] for need in clause.needs)))
    checks = [_CHECKS.get(check, check) for check in clause.checks]
    table.add_row("Checked by", Text("\n".join(checks) or f"nothing: {clause.unchecked}"))
    if clause.not_on_the_wire:
        table.add_row("Not on the wire", Text(clause.not_on_the_wire))
    table.add_row("Chapter", Text(f"spec/{TOPICS[clause.topic][1]}"))
    see = [other.id for other in registry.values() if other.id != clause.id and _mentions(clause, other)]
    if see:
        table.add_row("See also", Text(", ".join(see)))
    return table


def _mentions(clause: Clause, other: Clause) -> bool:
    text = f"{clause.statement} {clause.reason} {clause.source}"
    return re.search(rf"\b{other.id}\b", text) is not None


def _revisions(clause: Clause) -> str:
    absent = [revision.value for revision in Revision if revision not in clause.revisions]
    held = ", ".join(revision.value for revision in clause.revisions)
    return f"{held} (not in {', '.join(absent)})" if absent else held


def _short(clause: Clause) -> list[str]:
    named = [check for check in clause.checks if check in _CHECKS]
    return [*named, *(["tests"] if len(named) < len(clause.checks) else [])]


def _exchange(example: str) -> Text:
    text = Text()
    for number, line in enumerate(example.rstrip("\n").split("\n")):
        if number:
            text.append("\n")
        text.append(line, style=_STYLES[speaker_of(line)])
    return text


def speaker_of(line: str) -> Speaker:
    """What a line of a clause's example is."""
    match = _LINE.match(line)
    if match is None or match["wrong"]:
        return Speaker.WRONG
    who = match["who"] or ""
    if who == "# ":
        return Speaker.HAPPENS
    return Speaker.CLIENT if ">" in who else Speaker.SERVER
