"""The matrix says what the runs said; what is new or gone or was cut short fails it; the documents are in step."""

import re
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from tests.matrix import runs
from tests.matrix.__main__ import page
from tests.matrix.document import Made, from_json, to_json
from tests.matrix.known import Defect, missed, read_known
from tests.matrix.known import to_markdown as known_to_markdown
from tests.matrix.manifest import ROOT, ManifestError, Server, Variant, servers
from tests.matrix.pages import finding_name, server_page
from tests.matrix.runs import Found, Purpose, Ran
from tests.matrix.table import FAILING, Matrix, matrix_of, to_markdown

from reattach.clauses import Registry, load_registry
from reattach.machine.revision import Revision
from reattach.oracle.verdict import Kind, Outcome

DOCS = ROOT / "docs"
MADE = Made(day="2026-11-30", seed=1, seconds=60)
SERVER = Server(
    name="some",
    language="Go",
    package="example",
    version="1.2.3",
    needs=[],
    build=[],
    run="{port}",
    path="/mcp",
    store="in memory",
    revisions=[Revision("2025-06-18"), Revision("2025-11-25")],
    variant=[Variant(name="no-store", what="nothing kept", run="{port}")],
)
GAP = Found(
    clause="DEL-2",
    fault="silent-gap",
    summary="number 3 is missing",
    kind=Kind.BREAKS_CONTRACT,
    times=2,
    steps=("A > GET", "A < 200"),
    replay=None,
    expected="lost between replay and live",
)


@pytest.fixture
def registry() -> Registry:
    return load_registry()


def ran(purpose: Purpose = Purpose.WHOLE, **said: Any) -> Ran:
    planned = next(one for one in runs.plan(SERVER) if one.purpose is purpose)
    outcomes = {"DEL-1": Outcome.HELD, "DEL-2": Outcome.VIOLATED, "SES-7": Outcome.NOT_OBSERVED}
    base = Ran(planned=planned, outcomes=outcomes, why_unseen={"SES-7": "one principal"}, findings=(GAP,))
    return evolve(base, **said)


def matrix(*others: Ran, whole: Ran | None = None) -> Matrix:
    return matrix_of([whole or ran(), *others], MADE)


def test_every_cell_says_what_the_run_said(registry: Registry) -> None:
    text = to_markdown(matrix(), registry)
    assert re.search(r"^\| DEL-1 \|.*\| ✓ \|$", text, re.MULTILINE)
    assert re.search(r"^\| DEL-2 \|.*\| ✗ \[silent-gap\]\(servers/some.md#del-2-silent-gap\) \|$", text, re.MULTILINE)
    assert re.search(r"^\| SES-7 \|.*\| · \|$", text, re.MULTILINE)
    assert re.search(r"^\| SES-1 \|.*\| · \|$", text, re.MULTILINE), "what no run said anything about is not observed"


def test_what_is_expected_is_no_alarm() -> None:
    assert matrix(ran(Purpose.REVISION), ran(Purpose.VARIANT)).alarms() == []


@pytest.mark.parametrize(
    ("whole", "says"),
    [
        ({"stale": ("SES-5 cross-session-leak",)}, "some: gone: SES-5 cross-session-leak"),
        ({"findings": (evolve(GAP, expected=None),)}, "some, 2025-11-25: new: DEL-2 silent-gap: number 3 is missing"),
        ({"stopped": "the server ended by itself"}, "not run to its end: the server ended by itself"),
    ],
)
def test_what_is_gone_or_new_or_stopped_is_an_alarm(whole: dict[str, Any], says: str, registry: Registry) -> None:
    alarmed = matrix(whole=ran(**whole))
    (alarm,) = alarmed.alarms()
    assert says in alarm
    assert ("*new*" in to_markdown(alarmed, registry)) is ("new" in says)


def test_another_revision_is_held_to_the_baseline_too() -> None:
    (alarm,) = matrix(ran(Purpose.REVISION, findings=(evolve(GAP, expected=None),))).alarms()
    assert "some, 2025-06-18: new: DEL-2 silent-gap" in alarm


def test_the_data_is_the_whole_of_the_page() -> None:
    whole = matrix(ran(Purpose.REVISION), ran(Purpose.VARIANT))
    assert from_json(to_json(whole), Matrix) == whole


def test_a_servers_page_has_its_exchanges_and_what_was_not_observed(registry: Registry) -> None:
    (row,) = matrix().rows
    page = server_page(row, {("DEL-2", "silent-gap"): GAP}, registry)
    assert "### DEL-2 silent-gap" in page
    assert "A > GET\nA < 200" in page
    assert "Judgement: lost between replay and live" in page
    assert "| SES-7 |" in page
    assert "| one principal |" in page


def test_a_variant_is_shown_by_what_variants_are_for(registry: Registry) -> None:
    text = to_markdown(matrix(ran(Purpose.VARIANT)), registry)
    assert "| some | no-store | nothing kept | ✗ DEL-2 silent-gap | · |" in text


def test_a_known_defect_has_to_be_found() -> None:
    gap = Defect(what="a hole", server="some", found=["DEL-2 silent-gap"])
    late = evolve(gap, found=["DEL-6 out-of-order"])
    there = evolve(gap, variant="no-store")
    both = matrix(ran(Purpose.VARIANT, findings=()))
    assert missed(both, [gap]) == []
    assert missed(both, [gap, late, there]) == [
        "some: known, and not found: DEL-6 out-of-order: a hole",
        "some: known, and not found: DEL-2 silent-gap: a hole",
    ]
    text = known_to_markdown(both, [gap, evolve(gap, found=[], unseen="it takes luck")])
    assert "| some | a hole | ✗ DEL-2 silent-gap |" in text
    assert "| some | a hole | no: it takes luck |" in text


def test_what_is_known_is_either_found_or_has_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    for more in ("", 'found = ["DEL-2 silent-gap"]\nunseen = "luck"\n'):
        path.write_text(f'[[defect]]\nwhat = "a hole"\nserver = "some"\n{more}')
        with pytest.raises(ManifestError, match="either found or unseen"):
            read_known(path)


# The documents in docs/.


@pytest.fixture
def written() -> Matrix:
    return from_json((DOCS / "matrix.json").read_text(encoding="utf-8"), Matrix)


def test_the_page_is_in_step_with_its_data(written: Matrix, registry: Registry) -> None:
    assert (DOCS / "matrix.md").read_text(encoding="utf-8") == page(written, read_known(), registry), (
        "run `make matrix`"
    )


def test_the_matrix_is_of_the_servers_that_are_there(written: Matrix) -> None:
    there = {(server.name, server.package, server.version) for server in servers()}
    assert {(row.name, row.package, row.version) for row in written.rows} == there, "run `make matrix`"
    assert all(not row.whole.stopped and row.whole.outcomes for row in written.rows)


def test_every_finding_is_where_its_link_leads(written: Matrix, registry: Registry) -> None:
    filed: set[str] = set()
    for row in written.rows:
        page = (DOCS / "servers" / f"{row.name}.md").read_text(encoding="utf-8")
        for finding in row.whole.findings:
            assert f"### {finding.clause} {finding.fault}\n" in page
            if finding.kind in FAILING:
                filed.add(finding_name(row, finding))
    assert {path.name for path in Path(DOCS / "findings").glob("*.md")} == filed


def test_every_finding_is_judged_and_every_known_defect_found(written: Matrix) -> None:
    assert written.alarms() == []
    assert missed(written, read_known()) == []
