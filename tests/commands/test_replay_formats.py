"""`reattach replay` in the formats of reports: they say what its exit code says."""

import json
from pathlib import Path

import pytest
from tests.oracle.wire import Wire
from tests.project.readme import SAMPLE

from reattach.cli import main
from reattach.io.present import Format, write_replays
from reattach.io.run import Run
from reattach.oracle.verdict import Fault, Report

STRUCTURED = [wanted.value for wanted in Format if wanted is not Format.TEXT]


@pytest.fixture
def duplicate(tmp_path: Path) -> Path:
    """A replay file whose exchange is enough to be judged again."""
    wire = Wire()
    session = wire.session()
    session.emit("A", 4).bare("a0").cut()
    session.get("a0").answer().log("a1", "A", 1).log("a2", "A", 2).log("a1", "A", 1)
    finding = next(each for each in wire.findings() if each.fault is Fault.DUPLICATE_DELIVERY)
    run = Run(target="t", revision="2025-11-25", profile="reattach", seed=1)
    (path,) = write_replays(tmp_path / "replays", Report(clauses=(), findings=(finding,)), run, [("", {})])
    return Path(path)


@pytest.mark.parametrize("wanted", STRUCTURED)
def test_a_finding_judged_again(duplicate: Path, wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(duplicate), "--format", wanted]) == 1
    assert "duplicate-delivery" in capsys.readouterr().out


@pytest.mark.parametrize("wanted", STRUCTURED)
def test_a_finding_shown_as_recorded_decides_nothing(wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(SAMPLE), "--format", wanted]) == 3
    assert "silent-gap" in capsys.readouterr().out


def test_its_json_has_the_same_exit_code(duplicate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file, verdict, code in ((duplicate, "violates", 1), (SAMPLE, "no-verdict", 3)):
        main(["replay", str(file), "--format", "json"])
        document = json.loads(capsys.readouterr().out)
        assert (document["verdict"], document["exit_code"], len(document["findings"])) == (verdict, code, 1)


def test_it_goes_to_a_file(duplicate: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["replay", str(duplicate), "--format", "html", "--output", str(page)]) == 1
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert capsys.readouterr().out == f"verdict: violates (exit 1); the report is in {page}\n"


def test_a_file_that_cannot_be_written(duplicate: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(duplicate), "--output", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
