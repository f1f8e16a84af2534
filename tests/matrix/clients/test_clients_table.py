"""The clients' matrix says what the runs said; what is new or gone fails it; the documents are in step."""

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from tests.matrix.clients import __main__ as command
from tests.matrix.clients.pages import client_page, write_pages
from tests.matrix.clients.runs import ClientRan, Scripted
from tests.matrix.clients.table import ClientMatrix, matrix_of, to_markdown
from tests.matrix.document import Made, from_json, to_json
from tests.matrix.manifest import ROOT, Client, clients
from tests.matrix.runs import Found
from tests.matrix.table import FAILING
from tests.matrix.usage import exit_code

from reattach.clauses import Registry, load_registry
from reattach.io.baseline import read_baseline
from reattach.oracle.verdict import Kind, Outcome

DOCS = ROOT / "docs"
MADE = Made(day="2026-11-30", seed=1, seconds=60)
CLIENT = Client(name="some", language="Go", package="example", version="1.2.3", needs=[], build=[], run="some {url}")
TWICE = Found(
    clause="CLI-3",
    fault="client-no-reinitialize",
    summary="the client was told 404, and went on under the session",
    kind=Kind.VIOLATES_MUST,
    times=2,
    steps=("A > GET", "A < 404"),
    replay=None,
    expected="nobody told it",
    experiment="session-gone",
)


@pytest.fixture
def registry() -> Registry:
    return load_registry()


def ran(**said: Any) -> ClientRan:
    scripts = (
        Scripted(script="undisturbed", ended="answered", faults=()),
        Scripted(script="session-gone", ended="failed", faults=("CLI-3 client-no-reinitialize",)),
    )
    outcomes = {"CLI-3": Outcome.VIOLATED, "CLI-4": Outcome.HELD, "CLI-6": Outcome.NOT_OBSERVED}
    base = ClientRan(
        client=CLIENT, scripts=scripts, outcomes=outcomes, why_unseen={"CLI-6": "no old connection"}, findings=(TWICE,)
    )
    return evolve(base, **said)


def test_every_cell_says_what_the_run_said(registry: Registry) -> None:
    text = to_markdown(matrix_of([ran()], MADE), registry)
    link = "clients/some.md#cli-3-client-no-reinitialize"
    assert f"| CLI-3 | MUST | 404: initialize once, anew | ✗ [client-no-reinitialize]({link}) |" in text
    assert "| CLI-4 | MUST | `retry` is obeyed | ✓ |" in text
    assert "| undisturbed | Does what the reference server does. | answered |" in text
    assert "| failed<br>✗ CLI-3 client-no-reinitialize |" in text


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ({}, ""),
        ({"stale": ("CLI-2 client-duplicate",)}, "some: gone: CLI-2 client-duplicate"),
        ({"findings": (evolve(TWICE, expected=None),)}, "some, 2025-11-25: new: CLI-3 client-no-reinitialize"),
        ({"stopped": "it could not be started"}, "not run to its end: it could not be started"),
    ],
)
def test_what_is_gone_or_new_or_stopped_is_an_alarm(said: dict[str, Any], says: str) -> None:
    alarms = matrix_of([ran(**said)], MADE).alarms()
    assert len(alarms) == (1 if says else 0)
    assert says in "".join(alarms)


def test_the_data_is_the_whole_of_the_page() -> None:
    whole = matrix_of([ran()], MADE)
    assert from_json(to_json(whole), ClientMatrix) == whole


def test_a_clients_page_says_how_to_see_a_finding_again(registry: Registry) -> None:
    whole = matrix_of([ran()], MADE)
    page = client_page(whole, whole.rows[0], ran(), registry)
    for part in ("A > GET\nA < 404", "Judgement: nobody told it", "--script session-gone", "| no old connection |"):
        assert part in page


def test_pages_are_written_instead_of_those_that_are_there(tmp_path: Path, registry: Registry) -> None:
    (tmp_path / "clients").mkdir()
    (tmp_path / "clients" / "gone.md").write_text("gone")
    write_pages(matrix_of([ran()], MADE), [ran()], tmp_path, registry)
    assert [path.name for path in tmp_path.rglob("*.md")] == ["some.md"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["no-such-client"], "no client 'no-such-client'"),
        (["--last", "go-sdk"], "give no names"),
        (["--docs", "no/such/folder"], "there is no folder"),
        (["--last"], "the last run was not a whole one"),
    ],
)
def test_bad_usage_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], says: str
) -> None:
    monkeypatch.setattr(command, "REPORTS", tmp_path)
    assert exit_code(command.main, words) == 2
    assert says in capsys.readouterr().err


# The documents in docs/.


@pytest.fixture
def written() -> ClientMatrix:
    return from_json((DOCS / "clients-matrix.json").read_text(encoding="utf-8"), ClientMatrix)


def test_the_page_is_in_step_with_its_data(written: ClientMatrix, registry: Registry) -> None:
    assert (DOCS / "clients-matrix.md").read_text(encoding="utf-8") == to_markdown(written, registry), (
        "run `make clients`"
    )


def test_the_matrix_is_of_the_clients_that_are_there(written: ClientMatrix) -> None:
    there = {(client.name, client.package, client.version) for client in clients()}
    assert {(row.name, row.package, row.version) for row in written.rows} == there, "run `make clients`"
    assert all(not row.whole.stopped and len(row.scripts) >= 10 for row in written.rows)


def test_every_finding_is_judged_and_is_where_its_link_leads(written: ClientMatrix) -> None:
    assert written.alarms() == []
    for row in written.rows:
        page = (DOCS / row.page).read_text(encoding="utf-8")
        for finding in row.whole.findings:
            assert f"### {finding.clause} {finding.fault}\n" in page


@pytest.mark.parametrize("client", clients(), ids=lambda client: client.name)
def test_a_clients_baseline_can_be_read(client: Client, registry: Registry) -> None:
    if client.baseline.exists():
        assert all(entry.reason for entry in read_baseline(client.baseline, registry))


def test_a_finding_of_level_must_says_what_the_text_says(written: ClientMatrix) -> None:
    musts = [each for row in written.rows for each in row.whole.findings if each.kind in FAILING]
    assert musts
    assert all("MCP" in each.judgement for each in musts)
