"""The baseline: what is expected does not fail, what is not does, and so does an entry that has become stale."""

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from attrs import evolve

from reattach.clauses import Registry, load_registry
from reattach.io.baseline import BaselineError, Expected, entries_for, read_baseline
from reattach.io.report_json import render_json
from reattach.io.report_junit import render_junit
from reattach.io.report_text import render_text
from reattach.io.run import Presented, Run, Verdict, verdict_of
from reattach.oracle.verdict import ClauseResult, Level, Outcome, Report

LEAK = Expected(clause="SES-5", fault="cross-session-leak", reason="the store is shared until issue 17")
GONE = Expected(clause="SES-1", fault="invalid-id", reason="ids had spaces")
SCHEMA = json.loads((Path(__file__).parents[2] / "spec/schema/report-1.schema.json").read_text())
ENTRY = '[[expected]]\nclause = "SES-5"\nfault = "cross-session-leak"\nreason = "shared"\n'
UNKNOWN = "SES-" + "99"  # in two pieces: every clause that is named whole exists


def with_baseline(presented: Presented, *entries: Expected) -> Presented:
    return evolve(presented, run=evolve(presented.run, baseline=entries))


def verdict(presented: Presented) -> Verdict:
    return verdict_of(presented.report, presented.run)


def test_what_is_expected_is_shown_and_does_not_fail(presented: Presented, registry: Registry) -> None:
    assert verdict(presented) is Verdict.VIOLATES
    expected = with_baseline(presented, LEAK)
    assert verdict(expected) is Verdict.CONFORMS
    text = render_text(expected, registry)
    assert "1. cross-session-leak  SES-5" in text
    assert f"expected: {LEAK.reason}" in text
    root = ElementTree.fromstring(render_junit(expected, registry))
    assert root.get("failures") == "0"
    shown = next(case for case in root.iter("testcase") if str(case.get("name")).startswith("SES-5"))
    assert f"expected: {LEAK.reason}" in (shown.findtext("system-out") or "")
    document = json.loads(render_json(expected))
    jsonschema.validate(document, SCHEMA)
    assert [finding["expected"] for finding in document["findings"]] == [LEAK.reason, None]
    assert document["stale"] == []


@pytest.mark.parametrize("other", [evolve(LEAK, clause="SES-7"), evolve(LEAK, fault="silent-gap")])
def test_an_entry_is_for_its_clause_and_its_fault_alone(presented: Presented, other: Expected) -> None:
    intermittent = evolve(other, intermittent=True)  # so that it is not for its staleness that the run fails
    assert verdict(with_baseline(presented, intermittent)) is Verdict.VIOLATES


def test_a_stale_entry_fails_and_is_named(presented: Presented, registry: Registry) -> None:
    stale = with_baseline(presented, LEAK, GONE)
    assert verdict(stale) is Verdict.VIOLATES
    assert f"stale in the baseline: invalid-id SES-1 ({GONE.reason})" in render_text(stale, registry)
    root = ElementTree.fromstring(render_junit(stale, registry))
    failed = [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None]
    assert failed == ["SES-1 invalid-id"]
    document = json.loads(render_json(stale))
    jsonschema.validate(document, SCHEMA)
    assert [entry["clause"] for entry in document["stale"]] == ["SES-1"]


def test_an_intermittent_entry_is_never_stale(presented: Presented) -> None:
    assert verdict(with_baseline(presented, LEAK, evolve(GONE, intermittent=True))) is Verdict.CONFORMS


def test_an_entry_is_not_refuted_by_a_run_that_did_not_look(presented: Presented) -> None:
    unseen = evolve(GONE, clause="SES-7")
    assert verdict(with_baseline(presented, LEAK, unseen)) is Verdict.CONFORMS
    stopped = with_baseline(presented, LEAK, GONE)
    stopped = evolve(stopped, run=evolve(stopped.run, stopped="interrupted"))
    assert verdict(stopped) is Verdict.NO_VERDICT


def test_a_baseline_makes_no_pass_of_a_run_that_observed_nothing() -> None:
    unseen = ClauseResult(clause="SES-5", level=Level.MUST, outcome=Outcome.NOT_OBSERVED)
    assert verdict_of(Report(clauses=(unseen,)), Run(target="t", baseline=(LEAK,))) is Verdict.NO_VERDICT


def test_a_baseline_is_read(tmp_path: Path) -> None:
    path = tmp_path / "baseline.toml"
    path.write_text(f"{ENTRY}[[expected]]\nclause='DEL-2'\nfault='silent-gap'\nreason='racy'\nintermittent=true\n")
    assert read_baseline(path, load_registry()) == (
        Expected(clause="SES-5", fault="cross-session-leak", reason="shared"),
        Expected(clause="DEL-2", fault="silent-gap", reason="racy", intermittent=True),
    )
    path.write_text("")
    assert read_baseline(path, load_registry()) == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("expected = [", "not TOML"),
        ("other = 1", "unknown key: other"),
        ('expected = "SES-5"', "expected"),
        ("[[expected]]\nclause = 'SES-5'\nfault = 'cross-session-leak'", "reason: missing"),
        (ENTRY.replace("SES-5", UNKNOWN), f"entry 1: no clause '{UNKNOWN}'"),
        (ENTRY.replace("SES-5", "ses5"), "entry 1: no clause 'ses5'; did you mean SES-5?"),
        (ENTRY.replace("cross-session-leak", "leak"), "entry 1: no fault 'leak'"),
        (ENTRY.replace("shared", " "), "entry 1: reason"),
        (ENTRY + ENTRY, "entry 2: cross-session-leak SES-5 is already there"),
        (ENTRY + "revisions = ['2025']", "entry 1: no revision '2025'"),
        (ENTRY + "intermittent = 1", "intermittent: true or false is needed"),
        ("\udcff", "not UTF-8"),
    ],
)
def test_a_bad_baseline_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "baseline.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BaselineError) as raised:
        read_baseline(path, load_registry())
    assert str(raised.value).startswith(f"{path}: ")
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_entry_is_for_the_revisions_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "baseline.toml"
    path.write_text(ENTRY + 'revisions = ["2025-06-18"]\n')
    baseline = read_baseline(path, load_registry())
    assert entries_for("2025-06-18", baseline) == baseline
    assert entries_for("2025-11-25", baseline) == ()
    assert entries_for("2025-11-25", (LEAK,)) == (LEAK,)


def test_a_baseline_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="No such file"):
        read_baseline(tmp_path / "none.toml", load_registry())
