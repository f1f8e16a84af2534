"""What a person reads of one server: its page with every exchange, and a page to file for each violated MUST."""

from collections.abc import Mapping
from pathlib import Path

from attrs import evolve
from tests.matrix.manifest import Server
from tests.matrix.runs import Found, Ran
from tests.matrix.table import FAILING, Matrix, Row, Said, Shown, shortest

from reattach.clauses import Registry
from reattach.commands.replay import read_finding
from reattach.io.curl import curl_script
from reattach.io.trace import read_trace
from reattach.oracle.verdict import Finding, Kind, Outcome


def write_pages(matrix: Matrix, ran: Mapping[str, Ran], docs: Path, registry: Registry) -> None:
    """Write the pages of every server, instead of those that are there; ``ran`` has its whole run by its name.

    Raises TraceError if a finding's replay file cannot be read; then nothing is written.
    """
    pages: dict[Path, str] = {}
    servers, findings = docs / "servers", docs / "findings"
    for row in matrix.rows:
        shown = shortest(ran[row.name].findings)
        found = {(each.clause, each.fault): each for each in shown}
        pages[servers / f"{row.name}.md"] = server_page(row, found, registry)
        for finding, said in zip(shown, row.whole.findings, strict=True):
            if said.kind in FAILING:
                text = finding_page(matrix, row, said, finding, ran[row.name].planned.server, registry)
                pages[findings / finding_name(row, said)] = text
    for folder in (servers, findings):
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.md"):
            old.unlink()
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")


def finding_name(row: Row, finding: Shown) -> str:
    """The file of a finding's page."""
    return f"{row.name}-{finding.anchor}.md"


def server_page(row: Row, found: Mapping[tuple[str, str], Found], registry: Registry) -> str:
    """All that the whole run showed of a server: its findings by their exchanges, and what was not observed."""
    parts = [
        f"# {row.name}\n",
        f"`{row.package}` {row.version} ({row.language}); it calls itself {row.says or 'nothing'}. Store: {row.store}.",
        f"Its program: `tests/servers/{row.name}`. Written by `make matrix`; [all servers](../matrix.md).\n",
    ]
    if row.whole.stopped:
        parts.append(f"The run did not come to its end: {row.whole.stopped}.\n")
    if row.whole.findings:
        parts.append("## Findings\n")
    parts += [_finding(row, each, found[each.clause, each.fault], registry) for each in row.whole.findings]
    parts += [*unseen_section(row.whole, registry), *notes_section(row.whole)]
    return "\n".join(parts)


def _finding(row: Row, shown: Shown, finding: Found, registry: Registry) -> str:
    to_file = f" To file: [as curl commands](../findings/{finding_name(row, shown)})." if shown.kind in FAILING else ""
    return finding_section(shown, finding, registry, to_file)


def finding_section(shown: Shown, finding: Found, registry: Registry, more: str = "") -> str:
    """A finding with its exchange; ``more`` follows what it is in a sentence."""
    often = "once" if shown.times == 1 else f"{shown.times} times"
    return f"""\
### {shown.clause} {shown.fault}

{registry[shown.clause].title}: *{shown.kind.value}*, {often}. {_sentence(shown.summary)}{more}

{_judgement(shown)}

```text
{chr(10).join(finding.steps)}
```
"""


def _judgement(shown: Shown) -> str:
    return f"Judgement: {shown.judgement}" if shown.judgement else "Not judged yet: the baseline does not expect it."


def _sentence(text: str) -> str:
    """A summary as a sentence; what begins with a name keeps its case."""
    first = text.split(" ", 1)[0]
    begun = text if "#" in first or ":" in first else f"{text[:1].upper()}{text[1:]}"
    return begun if begun.endswith(("?", ".")) else f"{begun}."


def unseen_section(said: Said, registry: Registry) -> list[str]:
    """What was not observed, and why."""
    unseen = [clause for clause, outcome in said.outcomes.items() if outcome == Outcome.NOT_OBSERVED.value]
    if not unseen:
        return []
    rows = [f"| {clause} | {registry[clause].title} | {said.why_unseen.get(clause, '')} |" for clause in unseen]
    return ["## Not observed\n", "| clause | what | why |", "|---|---|---|", *rows, ""]


def notes_section(said: Said) -> list[str]:
    """What the run noted."""
    return ["## Notes of the run\n", *(f"- {note}" for note in said.notes), ""] if said.notes else []


def finding_page(matrix: Matrix, row: Row, shown: Shown, finding: Found, server: Server, registry: Registry) -> str:
    """A finding as a maintainer can use it: what breaks, the rule, the shortest exchange, commands to paste."""
    clause = registry[shown.clause]
    kind = shown.kind
    obliged = {
        Kind.VIOLATES_MUST: "The text obliges it",
        Kind.BREAKS_CONTRACT: "The text does not oblige it; the server accepted it, and did not keep it",
    }[kind]
    return f"""\
# {row.package} {row.version}: {shown.fault}

{_sentence(shown.summary)}

**Rule** ({clause.id}, {clause.level.value}): {clause.statement} {obliged}. Source: {clause.source}

{_judgement(shown)}

## The shortest exchange

```text
{chr(10).join(finding.steps)}
```

## As curl commands

```bash
{curl_script(evolve(finding_of(finding, registry), kind=kind), registry).rstrip()}
```

## Versions

`{row.package}` {row.version} ({row.language}), store: {row.store}; MCP {row.whole.name}.
The event store is the one named there: what the SDK hands to it and does with it is the SDK's. The server is built and
started by `tests/servers/{row.name}/server.toml`:

```text
{chr(10).join([*server.build, server.run])}
```

Written by `make matrix`, reattach {matrix.reattach}, on {matrix.day}.
[All that this server showed](../servers/{row.name}.md), [all servers](../matrix.md).
"""


def finding_of(found: Found, registry: Registry) -> Finding:
    """The finding with its evidence, from its replay file. Raises what reading it raises."""
    if found.replay is None:
        raise ValueError(f"{found.clause} {found.fault} has no replay file")
    path = Path(found.replay)
    finding, _, _ = read_finding(path, read_trace(path), registry)
    return finding
