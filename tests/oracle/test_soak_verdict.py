"""What measurements mean for the clauses, under both profiles, joined with what the wire showed."""

import pytest
from attrs import evolve
from tests.oracle.test_soak import MB, SIZE, soak

from reattach.clauses import load_registry
from reattach.oracle.soak import Left, Phase, Retained, Reuse, Way
from reattach.oracle.soak_verdict import CLAUSES, soak_report
from reattach.oracle.verdict import ClauseResult, Fault, Finding, Kind, Level, Outcome, Profile, Report

REGISTRY = load_registry()
NOTHING = Report(clauses=())


def outcomes(report: Report) -> dict[str, Outcome]:
    return {result.clause: result.outcome for result in report.clauses}


def faults(report: Report) -> list[tuple[str, Fault]]:
    return [(finding.clause, finding.fault) for finding in report.findings]


def judged(measured: object, profile: Profile = Profile.REATTACH, wire: Report = NOTHING) -> Report:
    return soak_report(wire, measured, REGISTRY, profile)  # type: ignore[arg-type]


def test_nothing_kept_is_held_and_nothing_else_is_said() -> None:
    report = judged(soak())
    assert faults(report) == []
    assert {name for name, outcome in outcomes(report).items() if outcome is Outcome.HELD} == {"WIN-3", "WIN-4"}
    assert set(outcomes(report)) == set(CLAUSES)


def test_a_leak_per_event_is_about_the_window() -> None:
    report = judged(soak(per_event=SIZE))
    assert faults(report) == [("WIN-3", Fault.UNBOUNDED_MEMORY)]
    assert outcomes(report)["WIN-3"] is Outcome.VIOLATED
    assert outcomes(report)["WIN-4"] is Outcome.HELD
    assert report.findings[0].summary.startswith("a leak per event: memory grew by 4.2 kB")


def test_a_leak_per_session_is_about_termination_and_leaves_the_window_open() -> None:
    report = judged(soak(per_session=16 * SIZE))
    assert faults(report) == [("WIN-4", Fault.UNBOUNDED_MEMORY)]
    assert outcomes(report)["WIN-4"] is Outcome.VIOLATED
    assert outcomes(report)["WIN-3"] is Outcome.NOT_OBSERVED
    assert report.findings[0].summary.startswith("a leak per session: memory grew by 67")


def test_under_mcp_memory_is_an_undefined_area() -> None:
    report = judged(soak(per_event=SIZE, per_session=16 * SIZE), Profile.MCP)
    assert {finding.kind for finding in report.findings} == {Kind.UNDEFINED_AREA}
    assert not {"WIN-3", "WIN-4"} & set(outcomes(report))


def test_what_was_not_measured_is_not_observed_with_the_reason() -> None:
    report = judged(evolve(soak(), rounds=(), not_done={Phase.SESSIONS: "no DELETE", Phase.EVENTS: "no tool"}))
    notes = {result.clause: result.note for result in report.clauses}
    assert set(outcomes(report).values()) == {Outcome.NOT_OBSERVED}
    assert notes["WIN-3"] == "sessions: no DELETE; events: no tool"
    assert notes["WIN-4"] == "memory: no DELETE"


def test_what_was_not_looked_at_says_why() -> None:
    report = judged(evolve(soak(), unseen={"IDL-4": "the time is over"}))
    notes = {result.clause: result.note for result in report.clauses}
    assert notes["IDL-4"] == "the time is over"
    assert notes["IDL-6"] == "nothing in this run exercised it"


def test_a_session_that_gives_back_more_than_the_window_breaks_it() -> None:
    def kept(*events: tuple[int, int]) -> Report:
        return judged(evolve(soak(), retained=tuple(Retained(least=least, most=most) for least, most in events)))

    assert faults(kept((195, 259), (300, 300))) == [("WIN-1", Fault.UNBOUNDED_MEMORY)]
    assert outcomes(kept((195, 259), (256, 256)))["WIN-1"] is Outcome.NOT_OBSERVED
    assert outcomes(kept((256, 256)))["WIN-1"] is Outcome.HELD


def test_wire_alone_does_not_settle_what_memory_leaves_open() -> None:
    wire = Report(clauses=(ClauseResult(clause="WIN-4", level=Level.MUST, outcome=Outcome.HELD, observations=5),))
    assert outcomes(judged(soak(), wire=wire))["WIN-4"] is Outcome.HELD
    short = evolve(soak(), rounds=soak().rounds[:5])
    assert outcomes(judged(short, wire=wire))["WIN-4"] is Outcome.NOT_OBSERVED


@pytest.mark.parametrize("way", Way)
def test_a_second_load_that_finds_nothing_released(way: Way) -> None:
    kept = Reuse(way=way, before=60 * MB, first=100 * MB, second=95 * MB)
    report = judged(soak(reuses=[kept]))
    assert faults(report) == [("WIN-4", Fault.UNBOUNDED_MEMORY)]
    assert "a second load of the same size took 95.0 MB more" in report.findings[0].summary


@pytest.mark.parametrize(("alive", "outcome"), [(0, Outcome.HELD), (3, Outcome.VIOLATED)])
def test_sessions_that_were_left_alone(alive: int, outcome: Outcome) -> None:
    report = judged(evolve(soak(), left=Left(waited_ms=6_500, sessions=200, alive=alive)))
    assert outcomes(report)["IDL-4"] is outcome
    assert faults(report) == ([("IDL-4", Fault.IDLE_NOT_ENFORCED)] if alive else [])


def test_one_fault_is_one_finding_and_what_is_not_asked_for_is_counted() -> None:
    def found(clause: str, fault: Fault) -> Finding:
        return Finding(clause=clause, level=Level.MUST, kind=Kind.VIOLATES_MUST, fault=fault, summary="on the wire")

    wire = Report(
        clauses=(),
        findings=(found("IDL-4", Fault.IDLE_NOT_ENFORCED), found("SES-8", Fault.WRONG_STATUS)),
        notes=("a note",),
    )
    report = judged(evolve(soak(), left=Left(waited_ms=6_500, sessions=200, alive=200)), wire=wire)
    assert [finding.summary for finding in report.findings] == ["on the wire"]
    assert report.notes == ("a note", "findings about SES-8 are left out: reattach probe shows them")
