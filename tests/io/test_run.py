"""The verdict and the exit code, as a table: this is the one place that decides them."""

import pytest

from reattach.io.run import EXIT_CODES, FailOn, Run, Verdict, verdict_of
from reattach.oracle.verdict import ClauseResult, Fault, Finding, Kind, Level, Outcome, Report

HELD = ClauseResult(clause="SES-1", level=Level.MUST, outcome=Outcome.HELD, observations=1)
UNSEEN = ClauseResult(clause="SES-7", level=Level.MUST, outcome=Outcome.NOT_OBSERVED)


def finding(kind: Kind) -> Finding:
    return Finding(clause="DEL-2", level=Level.MUST, kind=kind, fault=Fault.SILENT_GAP, summary="-")


def violated(level: Level) -> ClauseResult:
    return ClauseResult(clause="DEL-2", level=level, outcome=Outcome.VIOLATED, observations=1)


@pytest.mark.parametrize(
    ("kind", "must", "should", "every"),
    [
        (Kind.VIOLATES_MUST, 1, 1, 1),
        (Kind.BREAKS_CONTRACT, 1, 1, 1),
        (Kind.AGAINST_SHOULD, 0, 1, 1),
        (Kind.UNDEFINED_AREA, 0, 0, 1),
    ],
)
def test_exit_code_by_kind_of_finding_and_fail_on(kind: Kind, must: int, should: int, every: int) -> None:
    report = Report(clauses=(HELD,), findings=(finding(kind),))
    codes = [EXIT_CODES[verdict_of(report, Run(target="t", fail_on=level))] for level in FailOn]
    assert codes == [must, should, every]


@pytest.mark.parametrize(
    ("clauses", "findings", "stopped", "verdict"),
    [
        ((HELD,), (), "", Verdict.CONFORMS),
        ((HELD, UNSEEN), (), "", Verdict.CONFORMS),
        ((UNSEEN,), (), "", Verdict.NO_VERDICT),
        ((), (), "", Verdict.NO_VERDICT),
        ((HELD,), (), "interrupted", Verdict.NO_VERDICT),
        ((HELD,), (finding(Kind.VIOLATES_MUST),), "interrupted", Verdict.VIOLATES),
        ((HELD,), (finding(Kind.AGAINST_SHOULD),), "interrupted", Verdict.NO_VERDICT),
        # A violated clause whose finding got lost is still no pass.
        ((HELD, violated(Level.MUST)), (), "", Verdict.VIOLATES),
        ((HELD, violated(Level.SHOULD)), (), "", Verdict.CONFORMS),
    ],
)
def test_verdict(
    clauses: tuple[ClauseResult, ...], findings: tuple[Finding, ...], stopped: str, verdict: Verdict
) -> None:
    assert verdict_of(Report(clauses=clauses, findings=findings), Run(target="t", stopped=stopped)) is verdict


def test_every_verdict_has_its_own_exit_code_and_none_is_that_of_bad_usage() -> None:
    assert EXIT_CODES == {Verdict.CONFORMS: 0, Verdict.VIOLATES: 1, Verdict.NO_VERDICT: 3}
