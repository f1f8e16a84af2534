"""The matrix of the clients, as data (docs/clients-matrix.json) and as the page that is written from it."""

from collections.abc import Sequence

from attrs import field, frozen
from tests.matrix.clients.runs import ClientRan
from tests.matrix.document import Made
from tests.matrix.table import MARKS, UNSEEN, Said, alarms_of, clause_table, legend, said_of

import reattach
from reattach.clauses import About, Registry
from reattach.live.clients.scripts import choose_script
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.oracle.verdict import Profile

SCHEMA = "reattach-clients-matrix/1"


@frozen(kw_only=True)
class ScriptCell:
    """What one script showed of a client."""

    script: str
    ended: str
    faults: list[str] = field(factory=list)


@frozen(kw_only=True)
class ClientRow:
    """One client, and all that was seen of it."""

    name: str
    language: str
    package: str
    version: str
    says: str
    whole: Said
    scripts: list[ScriptCell]

    @property
    def page(self) -> str:
        """Where its page is, seen from the matrix."""
        return f"clients/{self.name}.md"


@frozen(kw_only=True)
class ClientMatrix(Made):
    """Every client, run on one day."""

    schema: str = SCHEMA
    reattach: str = reattach.__version__
    rows: list[ClientRow]

    def alarms(self) -> list[str]:
        """What fails a run of the matrix, a line each."""
        return [line for row in self.rows for line in alarms_of(row.name, row.whole)]


def matrix_of(ran: Sequence[ClientRan], made: Made) -> ClientMatrix:
    """The matrix from all runs."""
    return ClientMatrix(day=made.day, seed=made.seed, seconds=made.seconds, rows=[_row(each) for each in ran])


def _row(ran: ClientRan) -> ClientRow:
    return ClientRow(
        name=ran.client.name,
        language=ran.client.language,
        package=ran.client.package,
        version=ran.client.version,
        says=ran.says,
        whole=said_of(ran, NEWEST_WITH_RESUMPTION.value),
        scripts=[ScriptCell(script=each.script, ended=each.ended, faults=list(each.faults)) for each in ran.scripts],
    )


def to_markdown(matrix: ClientMatrix, registry: Registry) -> str:
    """The page, from the data."""
    minutes, seconds = divmod(matrix.seconds, 60)
    judged = [clause for clause in registry.values() if clause.about is About.CLIENT]
    obliged = [clause for clause in judged if clause.obliges(Profile.MCP)]
    beyond = [clause for clause in judged if not clause.obliges(Profile.MCP)]
    return "\n".join(
        [
            f"""\
# Real clients

Written by `make clients`, from `docs/clients-matrix.json`, which the same run writes; nothing here is edited by hand.
Each client is the smallest honest program on its SDK (`tests/clients/`), by the SDK's defaults. Each cell comes from a
run of `reattach client`; a name in a cell leads to the exchange that shows the finding, and to how it was judged by
hand. [docs/clients.md](clients.md) says how clients are judged.

Run of {matrix.day}, reattach {matrix.reattach}, seed {matrix.seed}: {minutes} min {seconds} s, builds included.
""",
            _clients(matrix.rows),
            legend("client"),
            "## What the text obliges\n",
            clause_table(obliged, matrix.rows),
            "## The stricter contract of the standard\n\nMCP leaves these open: to differ is no violation of it.\n",
            clause_table(beyond, matrix.rows),
            """\
## By script

What the application got: every call *answered*, *some failed* or all *failed* by an error, *hung* until the bench ended
the program after the script's time, or *no word*. Under it what was found.
""",
            _scripts(matrix),
        ]
    )


def _clients(rows: Sequence[ClientRow]) -> str:
    lines = ["| client | language | package | version | ran for |", "|---|---|---|---|---|"]
    for row in rows:
        stopped = f" ({row.whole.stopped})" if row.whole.stopped else ""
        lines.append(
            f"| [{row.name}]({row.page}) | {row.language} | `{row.package}` | {row.version} "
            f"| {row.whole.elapsed_ms / 1000:.0f} s{stopped} |"
        )
    return "\n".join([*lines, ""])


def _scripts(matrix: ClientMatrix) -> str:
    rows = matrix.rows
    lines = [
        f"| script | what the server does | {' | '.join(row.name for row in rows)} |",
        "|---" * (2 + len(rows)) + "|",
    ]
    names = list(dict.fromkeys(cell.script for row in rows for cell in row.scripts))
    for name in names:
        shown = " | ".join(_script_cell(name, row) for row in rows)
        lines.append(f"| {name} | {choose_script(name, matrix.seed).does} | {shown} |")
    return "\n".join([*lines, ""])


def _script_cell(script: str, row: ClientRow) -> str:
    cell = next((each for each in row.scripts if each.script == script), None)
    if cell is None:
        return UNSEEN
    kinds = {f"{each.clause} {each.fault}": each.kind for each in row.whole.findings}
    found = [f"{MARKS[kinds[name]]} {name}" for name in cell.faults if name in kinds]
    return "<br>".join([cell.ended, *found])
