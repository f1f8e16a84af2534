"""The matrix as a command: bad usage is one line, and the documents are written whole or not at all."""

from pathlib import Path

import pytest
from attrs import evolve
from tests.matrix import __main__ as command
from tests.matrix.pages import finding_page, write_pages
from tests.matrix.runs import Found
from tests.matrix.table import FAILING, Matrix
from tests.matrix.test_table import GAP, SERVER, matrix, ran
from tests.matrix.usage import exit_code

from reattach.clauses import load_registry
from reattach.io.trace import TraceError

REPLAY = Path(__file__).parents[1] / "project" / "silent-gap.jsonl"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["no-such-server"], "no server 'no-such-server'"),
        (["--seed", "-1"], "a whole number from 0 on"),
        (["--jobs", "0"], "a whole number from 1 on"),
        (["--jobs", "x"], "a whole number from 1 on"),
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


def with_replay(path: Path) -> tuple[Matrix, Found]:
    found = evolve(GAP, replay=str(path))
    return matrix(whole=ran(findings=(found,))), found


def test_a_page_to_file_has_what_a_maintainer_needs() -> None:
    registry = load_registry()
    written, found = with_replay(REPLAY)
    (row,) = written.rows
    (said,) = row.whole.findings
    page = finding_page(written, row, said, found, SERVER, registry)
    assert said.kind in FAILING
    for part in ("# example 1.2.3: silent-gap", registry["DEL-2"].statement, GAP.expected or "", "A > GET", "curl -sS"):
        assert part in page


def test_pages_are_written_instead_of_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "gone-del-2-silent-gap.md").write_text("gone")
    written, found = with_replay(REPLAY)
    write_pages(written, {"some": ran(findings=(found,))}, tmp_path, load_registry())
    assert sorted(path.name for path in tmp_path.rglob("*.md")) == ["some-del-2-silent-gap.md", "some.md"]


def test_what_cannot_be_read_costs_nothing_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "findings").mkdir()
    there = tmp_path / "findings" / "some-del-2-silent-gap.md"
    there.write_text("as it was")
    written, found = with_replay(tmp_path / "none.jsonl")
    with pytest.raises(TraceError):
        write_pages(written, {"some": ran(findings=(found,))}, tmp_path, load_registry())
    assert there.read_text() == "as it was"
