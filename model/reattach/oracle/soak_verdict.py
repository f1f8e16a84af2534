"""What a soak's measurements mean for the clauses of the standard.

The oracle has judged the soak's exchanges as it judges any (what a resumption brought, whether a session that was left
alone still answers). Here that is joined with what no exchange shows: the memory of the process.
"""

from collections.abc import Iterator

from attrs import evolve, frozen

from reattach.clauses import Clause, Registry
from reattach.oracle.soak import Growth, Phase, Soak, Way, amount_of, interval, megabytes
from reattach.oracle.verdict import ClauseResult, Fault, Finding, Kind, Outcome, Profile, Report

CLAUSES = ("WIN-1", "WIN-2", "WIN-3", "WIN-4", "IDL-1", "IDL-2", "IDL-4", "IDL-6")
"""What a soak is about. Whatever else was found on the way is counted in a note."""

_NOTHING = "nothing in this run exercised it"


@frozen
class Measured:
    """What the measurements say about a clause: held, broken if there is a fault, open if there is a reason."""

    clause: str
    summary: str = ""
    fault: Fault | None = None
    open_because: str = ""
    phase: Phase = Phase.EVENTS


def soak_report(wire: Report, soak: Soak, registry: Registry, profile: Profile) -> Report:
    """The report on a soak. ``wire`` is what the oracle says of its exchanges, under the same profile."""
    measured = list(measurements(soak))
    # One fault, one finding: what the wire shows has an exchange to look at.
    shown = {(finding.clause, finding.fault) for finding in wire.findings if finding.clause in CLAUSES}
    findings = [finding for finding in wire.findings if finding.clause in CLAUSES]
    for (clause, fault), broken in _by_fault(measured).items():
        if (clause, fault) not in shown or clause == "WIN-4":
            findings.append(_finding(registry[clause], fault, broken, profile))
    order = {clause: place for place, clause in enumerate(registry)}
    findings.sort(key=lambda finding: (order[finding.clause], finding.fault.value))
    results = {result.clause: result for result in wire.clauses}
    clauses = [_result(registry[name], results.get(name), measured, findings, profile, soak) for name in CLAUSES]
    others = sorted({finding.clause for finding in wire.findings} - set(CLAUSES))
    notes = (f"findings about {', '.join(others)} are left out: reattach probe shows them",) if others else ()
    return Report(
        clauses=tuple(result for result in clauses if result is not None),
        findings=tuple(findings),
        notes=(*wire.notes, *notes),
    )


def measurements(soak: Soak) -> Iterator[Measured]:
    """What the measurements say, clause by clause."""
    sessions, events = soak.trend(Phase.SESSIONS), soak.trend(Phase.EVENTS)
    if events.growth is Growth.GROWS:
        assert events.fit is not None
        yield Measured("WIN-3", _leak_per_event(soak), Fault.UNBOUNDED_MEMORY)
    if sessions.growth is Growth.GROWS:
        assert sessions.fit is not None
        count = soak.rounds_of(Phase.SESSIONS)[-1].amount
        yield Measured(
            "WIN-4",
            f"a leak per session: memory grew by {interval(sessions.fit)} with each of {count} sessions that were given"
            f" {soak.few} events of {amount_of(soak.event_bytes)}, abandoned, and ended by {soak.released.value}",
            Fault.UNBOUNDED_MEMORY,
            phase=Phase.SESSIONS,
        )
    if sessions.growth is events.growth is Growth.FLAT:
        yield Measured("WIN-3")
    else:
        reasons = [
            f"{phase.value}: {trend.reason}"
            for phase, trend in ((Phase.SESSIONS, sessions), (Phase.EVENTS, events))
            if trend.growth is Growth.OPEN
        ]
        reasons += ["memory grows with sessions that are over (WIN-4)"] if sessions.growth is Growth.GROWS else []
        yield Measured("WIN-3", open_because="; ".join(reasons))
    if sessions.growth is Growth.FLAT:
        yield Measured("WIN-4", phase=Phase.SESSIONS)
    elif sessions.growth is Growth.OPEN:
        yield Measured("WIN-4", open_because=f"memory: {sessions.reason}", phase=Phase.SESSIONS)
    yield from _held(soak)
    yield from _releases(soak)


def _leak_per_event(soak: Soak) -> str:
    trend, last = soak.trend(Phase.EVENTS), soak.rounds_of(Phase.EVENTS)[-1]
    assert trend.fit is not None
    grew = last.resident - soak.start
    return (
        f"a leak per event: memory grew by {interval(trend.fit)} with each event of {amount_of(soak.event_bytes)}, in"
        f" {soak.sessions} sessions that nobody reads; after {last.amount // max(soak.sessions, 1)} events in each it"
        f" had grown by {megabytes(grew)} and not levelled off"
    )


def _held(soak: Soak) -> Iterator[Measured]:
    window = soak.declared_window
    if window is None or not soak.retained:
        return
    most = max(each.least for each in soak.retained)
    if most > window:
        yield Measured(
            "WIN-1",
            f"a session, resumed from its earliest cursors, gave back {most} events, beyond the declared window of"
            f" {window}",
            Fault.UNBOUNDED_MEMORY,
        )
    elif all(each.most <= window for each in soak.retained):
        yield Measured("WIN-1")


def _releases(soak: Soak) -> Iterator[Measured]:
    left = soak.left
    if left is not None:
        yield Measured(
            "IDL-4",
            f"{left.alive} of {left.sessions} sessions that were left alone for {left.waited_ms} ms live",
            Fault.IDLE_NOT_ENFORCED if left.alive else None,
            phase=Phase.RELEASE,
        )
    for reuse in soak.reuses:
        if reuse.growth is Growth.FLAT:
            yield Measured("WIN-4", phase=Phase.RELEASE)
        elif reuse.growth is Growth.GROWS:
            ended = "deleted" if reuse.way is Way.DELETE else "ended by the idle budget"
            yield Measured(
                "WIN-4",
                f"what sessions held is kept when they are {ended}: a second load of the same size took"
                f" {amount_of(reuse.second)} more, after {amount_of(reuse.first)} for the first",
                Fault.UNBOUNDED_MEMORY,
                phase=Phase.RELEASE,
            )


def _by_fault(measured: list[Measured]) -> dict[tuple[str, Fault], list[Measured]]:
    broken: dict[tuple[str, Fault], list[Measured]] = {}
    for each in measured:
        if each.fault is not None:
            broken.setdefault((each.clause, each.fault), []).append(each)
    return broken


def _finding(clause: Clause, fault: Fault, broken: list[Measured], profile: Profile) -> Finding:
    return Finding(
        clause=clause.id,
        level=clause.level,
        kind=clause.kind(profile),
        fault=fault,
        summary="; ".join(each.summary for each in broken),
        experiment=f"soak: {broken[0].phase.value}",
        times=len(broken),
    )


def _result(
    clause: Clause,
    wire: ClauseResult | None,
    measured: list[Measured],
    findings: list[Finding],
    profile: Profile,
    soak: Soak,
) -> ClauseResult | None:
    """The outcome of a clause from both; None if the profile does not oblige it and nothing is against it."""
    about = [each for each in measured if each.clause == clause.id]
    broken = [each for each in findings if each.clause == clause.id and each.kind is not Kind.UNDEFINED_AREA]
    if not clause.obliges(profile) and not broken:
        return None
    seen = (wire.observations if wire is not None else 0) + sum(1 for each in about if not each.open_because)
    reasons = "; ".join(each.open_because for each in about if each.open_because)
    result = wire or ClauseResult(clause=clause.id, level=clause.level, outcome=Outcome.NOT_OBSERVED, note=_NOTHING)
    if broken:
        return evolve(result, outcome=Outcome.VIOLATED, observations=seen, note=reasons)
    # What memory leaves open the wire alone does not settle.
    if any(not each.open_because for each in about) or (not about and result.outcome is Outcome.HELD):
        return evolve(result, outcome=Outcome.HELD, observations=seen, note=reasons)
    return evolve(
        result,
        outcome=Outcome.NOT_OBSERVED,
        observations=seen,
        note=reasons or soak.unseen.get(clause.id) or result.note,
    )
