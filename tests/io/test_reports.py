"""The three reports: what they say, that they fit their formats, and that nothing from the other side gets through."""

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from tests.io.hostile import hostile

from reattach.clauses import Registry, load_registry
from reattach.io.report_json import render_json
from reattach.io.report_junit import render_junit
from reattach.io.report_text import render_text
from reattach.io.run import FailOn, Presented, Run
from reattach.io.trace import TYPES
from reattach.oracle.verdict import ClauseResult, Kind, Level, Outcome, Report

SCHEMA = json.loads((Path(__file__).parents[2] / "spec/schema/report-1.schema.json").read_text())


# Hypothesis prints the arguments of a failing test, and a registry is long.
REGISTRY = load_registry()


def validate(document: object) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document, SCHEMA)


def test_json_fits_its_schema_and_says_it_all(presented: Presented) -> None:
    document = json.loads(render_json(presented))
    validate(document)
    assert document["verdict"] == "violates"
    assert document["exit_code"] == 1
    assert document["run"]["seed"] == 7
    assert [(clause["id"], clause["outcome"]) for clause in document["clauses"]] == [
        ("SES-1", "held"),
        ("SES-5", "violated"),
        ("CUR-5", "violated"),
        ("SES-7", "not observed"),
        ("MOD-2", "not observed"),
    ]
    leak = document["findings"][0]
    assert (leak["clause"], leak["level"], leak["kind"], leak["fault"], leak["times"], leak["replay"]) == (
        "SES-5",
        "MUST",
        "violates a MUST",
        "cross-session-leak",
        3,
        "findings/one.jsonl",
    )
    assert leak["steps"][-1].endswith("<== cross-session-leak")
    assert leak["evidence"][0]["type"] == "request"


@pytest.mark.parametrize(
    ("field", "value"),
    [("verdict", "passes"), ("schema", "reattach-report/2"), ("clauses", [{"id": "SES-1"}]), ("extra", 1)],
)
def test_the_schema_refuses_what_is_no_report(presented: Presented, field: str, value: object) -> None:
    document = json.loads(render_json(presented))
    document[field] = value
    with pytest.raises(jsonschema.ValidationError):
        validate(document)


def test_the_schema_lists_what_the_code_has() -> None:
    finding = SCHEMA["properties"]["findings"]["items"]["properties"]
    assert finding["kind"]["enum"] == [kind.value for kind in Kind]
    assert finding["evidence"]["items"]["properties"]["type"]["enum"] == list(TYPES)
    assert SCHEMA["$defs"]["level"]["enum"] == [level.value for level in Level]
    assert SCHEMA["properties"]["run"]["properties"]["fail_on"]["enum"] == [level.value for level in FailOn]
    outcomes = SCHEMA["properties"]["clauses"]["items"]["properties"]["outcome"]["enum"]
    assert outcomes == [outcome.value for outcome in Outcome]


def test_junit_has_a_suite_per_topic_and_a_case_per_clause(presented: Presented, registry: Registry) -> None:
    root = ElementTree.fromstring(render_junit(presented, registry))
    assert [suite.get("name") for suite in root] == ["SES", "CUR", "MOD"]
    counts = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "1", "errors": "0", "skipped": "2"}
    cases = {str(case.get("name")).partition(" ")[0]: case for case in root.iter("testcase")}
    assert list(cases["SES-1"]) == []
    failure = cases["SES-5"].find("failure")
    assert failure is not None
    assert "Last-Event-ID" in (failure.text or "")
    assert registry["SES-5"].statement in (failure.text or "")
    skipped = cases["SES-7"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "no second principal"
    # A difference in an undefined area does not fail at --fail-on must, and is not hidden either.
    assert cases["CUR-5"].find("failure") is None
    assert "bad-cursor-silent" in (cases["CUR-5"].findtext("system-out") or "")


def test_junit_fails_the_undefined_area_if_asked(presented: Presented, registry: Registry) -> None:
    strict = evolve(presented, run=evolve(presented.run, fail_on=FailOn.ANY))
    assert ElementTree.fromstring(render_junit(strict, registry)).get("failures") == "2"


@pytest.mark.parametrize("stopped", ["", "interrupted"])
def test_junit_of_a_run_without_a_verdict_is_an_error(registry: Registry, stopped: str) -> None:
    unseen = ClauseResult(clause="SES-1", level=Level.MUST, outcome=Outcome.NOT_OBSERVED, note="no answer")
    presented = Presented(report=Report(clauses=(unseen,)), run=Run(target="t", stopped=stopped), replays=())
    assert ElementTree.fromstring(render_junit(presented, registry)).get("errors") == "1"


def test_junit_of_a_violated_clause_whose_finding_got_lost_fails(registry: Registry) -> None:
    lost = ClauseResult(clause="SES-1", level=Level.MUST, outcome=Outcome.VIOLATED)
    presented = Presented(report=Report(clauses=(lost,)), run=Run(target="t"), replays=())
    assert ElementTree.fromstring(render_junit(presented, registry)).get("failures") == "1"


def test_text_says_what_a_person_needs(presented: Presented, registry: Registry) -> None:
    text = render_text(presented, registry)
    assert all(len(line) <= 100 for line in text.splitlines())
    for part in (
        "violated: 2",
        "held: 1",
        "not observed: 2",
        "SES-7 other principals see no session; MOD-2",
        "1. cross-session-leak  SES-5 MUST  violates a MUST  seen 3 times",
        "reattach replay findings/one.jsonl",
        "^ cross-session-leak",
        "verdict: violates (exit 1)",
        "clauses: 1 held, 2 violated, 2 not observed",
        "findings: 1 MUST violated, 1 difference in an undefined area; --fail-on must",
        "note: EVT-1 is judged within the last 4096 ids",
    ):
        assert part in text
    assert registry["SES-5"].statement.split()[:6] == text.partition("SES-5: ")[2].split()[:6]


def test_text_of_a_run_that_was_stopped(presented: Presented, registry: Registry) -> None:
    stopped = evolve(presented, run=evolve(presented.run, stopped="interrupted"))
    assert "stopped early: interrupted" in render_text(stopped, registry)


@given(
    st.text(min_size=1, max_size=12)
    | st.sampled_from(["\x1b[31m", "[bold]x[/bold]", "\u202e", "]]>", "&#0;", "\ud800"])
)
def test_nothing_from_the_other_side_reaches_a_terminal_or_breaks_a_format(text: str) -> None:
    presented = hostile(text)
    shown = render_text(presented, REGISTRY)
    assert all(line.isprintable() for line in shown.splitlines())
    shown.encode("utf-8")
    ElementTree.fromstring(render_junit(presented, REGISTRY).encode("utf-8"))
    document = json.loads(render_json(presented))
    validate(document)
    assert document["findings"][0]["evidence"][0]["text"] == text


def test_markup_is_shown_not_obeyed(registry: Registry) -> None:
    assert "[bold]x[/bold]" in render_text(hostile("[bold]x[/bold]"), registry)
