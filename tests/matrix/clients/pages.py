"""What a person reads of one client: its page with every exchange, its judgement, and how to see it again."""

from pathlib import Path

from tests.matrix.clients.runs import ClientRan
from tests.matrix.clients.table import ClientMatrix, ClientRow
from tests.matrix.pages import finding_section, notes_section, unseen_section
from tests.matrix.table import shortest

from reattach.clauses import Registry
from reattach.io.shell import command_line


def write_pages(matrix: ClientMatrix, ran: list[ClientRan], docs: Path, registry: Registry) -> None:
    """Write the page of every client, instead of those that are there."""
    folder = docs / "clients"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        old.unlink()
    for row, one in zip(matrix.rows, ran, strict=True):
        (docs / row.page).write_text(client_page(matrix, row, one, registry), encoding="utf-8")


def client_page(matrix: ClientMatrix, row: ClientRow, ran: ClientRan, registry: Registry) -> str:
    """All that the scripts showed of a client."""
    client = ran.client
    parts = [
        f"# {row.name}\n",
        f"`{row.package}` {row.version} ({row.language}); it calls itself {row.says or 'nothing'}. Its program:",
        f"`tests/clients/{row.name}`. Written by `make clients`; [all clients](../clients-matrix.md).\n",
    ]
    if row.whole.stopped:
        parts.append(f"The run did not come to its end: {row.whole.stopped}.\n")
    if row.whole.findings:
        parts.append(
            f"## Findings\n\nBuilt and started by:\n\n```text\n{chr(10).join([*client.build, client.run])}\n```\n"
        )
    for shown, found in zip(row.whole.findings, shortest(ran.findings), strict=True):
        again = command_line("reattach", "client", command=client.run, script=[found.experiment], seed=str(matrix.seed))
        parts.append(finding_section(shown, found, registry, f" Again: `{again}`."))
    parts += [*unseen_section(row.whole, registry), *notes_section(row.whole)]
    return "\n".join(parts)
