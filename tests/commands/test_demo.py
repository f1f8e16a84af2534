"""What the demo shows, from reports made by hand; the demo itself is run in test_demo_real.py."""

import pytest
from attrs import evolve

from reattach.clauses import load_registry
from reattach.io.report_text import to_text
from reattach.io.run import Presented, Run
from reattach.live import demo
from reattach.oracle.observation import Observation, Quiet
from reattach.oracle.verdict import ClauseResult, Fault, Finding, Outcome, Profile, Report

REGISTRY = load_registry()


def result(clause: str, outcome: Outcome) -> ClauseResult:
    return ClauseResult(clause=clause, level=REGISTRY[clause].level, outcome=outcome, observations=1)


def finding(clause: str, fault: Fault, length: int, summary: str) -> Finding:
    evidence: list[Observation] = [Quiet(at=at, connection=1, waited=at) for at in range(length)]
    known = REGISTRY[clause]
    return Finding(
        clause=clause,
        level=known.level,
        kind=known.kind(Profile.REATTACH),
        fault=fault,
        summary=summary,
        evidence=tuple(evidence),
    )


def presented(*results: ClauseResult, findings: tuple[Finding, ...] = (), stopped: str = "") -> Presented:
    run = Run(target="t", stopped=stopped, command="reattach demo --seed 1")
    report = Report(clauses=results, findings=findings)
    return Presented(report=report, run=run, replays=tuple(f"{number}.jsonl" for number in range(len(findings))))


SDK = presented(
    result("SES-5", Outcome.VIOLATED),
    result("CUR-5", Outcome.VIOLATED),
    result("DEL-2", Outcome.VIOLATED),
    result("SES-7", Outcome.NOT_OBSERVED),
    result("CLI-1", Outcome.NOT_OBSERVED),
    findings=(
        finding("CUR-5", Fault.BAD_CURSOR_SILENT, 3, "ahead and silent"),
        finding("SES-5", Fault.CROSS_SESSION_LEAK, 5, "a long leak"),
        finding("SES-5", Fault.CROSS_SESSION_LEAK, 2, "a short leak"),
        finding("DEL-2", Fault.SILENT_GAP, 2, "a gap"),
    ),
)
REFERENCE = presented(*(evolve(each, outcome=Outcome.HELD) for each in SDK.report.clauses))


def shown() -> str:
    return to_text(demo.everything(SDK, REFERENCE, "9.9.9", REGISTRY))


def test_the_table_has_the_clauses_about_servers_and_tells_violated_from_differs() -> None:
    lines = {line.partition(" ")[0]: " ".join(line.split()) for line in shown().splitlines()}
    assert lines["SES-5"].endswith("violated: cross-session-leak held")
    assert lines["CUR-5"].endswith("differs: bad-cursor-silent held")
    assert lines["DEL-2"].endswith("violated: silent-gap held")
    assert lines["SES-7"].endswith("not observed held")
    assert "CLI-1" not in lines
    assert "mcp 9.9.9" in shown()


def test_each_fault_is_shown_once_by_its_shortest_exchange() -> None:
    text = shown()
    assert "a short leak" in text
    assert "a long leak" not in text
    assert [name for _, name in demo.shortest_findings(SDK)] == ["2.jsonl", "0.jsonl", "3.jsonl"]
    assert (
        text.index("official Python SDK: violated") < text.index("a gap") < text.index("official Python SDK: differs")
    )
    assert text.index("official Python SDK: differs") < text.index("ahead and silent")


def test_the_summary_counts_and_names_the_faults() -> None:
    text = shown()
    assert "official Python SDK (mcp 9.9.9): 2 violated, 1 differs, 1 not observed" in text
    assert "faults: bad-cursor-silent, cross-session-leak, silent-gap" in text
    assert "reference server: 4 held" in text
    assert "to repeat: reattach demo --seed 1" in text


@pytest.mark.parametrize(
    ("sdk", "reference", "code"),
    [
        (SDK, REFERENCE, 0),
        (SDK, SDK, 1),
        (SDK, evolve(REFERENCE, run=evolve(REFERENCE.run, stopped="interrupted")), 3),
        (evolve(SDK, run=evolve(SDK.run, stopped="the server died")), REFERENCE, 3),
        (presented(), REFERENCE, 3),
    ],
)
def test_the_exit_code_says_whether_the_demo_worked(sdk: Presented, reference: Presented, code: int) -> None:
    assert demo.exit_code(sdk, reference) == code


def test_a_side_that_could_not_be_probed_is_told() -> None:
    text = to_text(demo.everything(presented(stopped="cannot connect"), REFERENCE, "9.9.9", REGISTRY))
    assert "nothing observed" in text
    assert "stopped early: cannot connect" in text
