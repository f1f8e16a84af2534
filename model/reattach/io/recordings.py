"""Recordings judged: each file on its own, a line at a time, and what several of them say together.

A file has an oracle of its own and is never held whole. One that cannot be read to its end is judged up to there, and
its problem is kept beside what was found: nothing is half-read silently.
"""

from collections.abc import Sequence
from pathlib import Path

from attrs import evolve, frozen

from reattach.clauses import Registry
from reattach.io.policy_file import PolicyError, check_declaration
from reattach.io.trace import TraceError, TraceHeader, open_trace
from reattach.machine.revision import NEWEST_WITH_RESUMPTION, Revision
from reattach.oracle.declaration import Declaration
from reattach.oracle.oracle import ObservationError, Oracle
from reattach.oracle.verdict import ClauseResult, Finding, Outcome, Profile, Report

_INCOMPLETE = (
    "The recording does not say that it is complete: no cursor or session id is taken for one that was never issued."
)


@frozen(kw_only=True)
class Judged:
    """What one recording says."""

    path: Path
    header: TraceHeader | None
    """None: not even the header could be read."""
    report: Report
    """What could be judged."""
    problem: TraceError | None = None
    """Why it could not be read to its end; None if it could."""
    interrupted: bool = False
    """Whether the judging was ended before the file was."""

    @property
    def stopped(self) -> str:
        """Why there is no verdict on the whole of it, also when nothing was found; empty if there is one."""
        if self.problem is not None:
            return str(self.problem)
        if self.interrupted:
            return f"interrupted while {self.path} was being read"
        observed = any(result.outcome is not Outcome.NOT_OBSERVED for result in self.report.clauses)
        return "" if observed else f"{self.path}: nothing in it exercises a clause"


def judge_recording(
    path: Path, *, profile: Profile, declaration: Declaration | None = None, registry: Registry
) -> Judged:
    """Judge one recording. What is bad about it, and an interruption, are told in the result and not raised.

    ``declaration`` goes before the one in the header.
    """
    header: TraceHeader | None = None
    oracle: Oracle | None = None
    problem: TraceError | None = None
    interrupted = False
    read = at = 0
    try:
        with open_trace(path) as (said, entries):
            oracle = _oracle(path, said, declaration, registry)
            header = said
            for number, entry in entries:
                if entry.observation.at < at:
                    raise TraceError(path, number, f"at: {entry.observation.at} is before {at}, on a line before")
                at = entry.observation.at
                try:
                    oracle.observe(entry.observation, experiment=entry.experiment)
                except ObservationError as error:
                    raise TraceError(path, number, str(error)) from None
                read += 1
    except TraceError as error:
        problem = error
    except KeyboardInterrupt:
        interrupted = True
    report = oracle.report(profile) if oracle is not None else Report(clauses=())
    notes = [*report.notes, *([_INCOMPLETE] if header is not None and not header.complete else [])]
    if problem is not None:
        notes.append(f"bad at {problem}; {_observations(read)} before that judged, and nothing after it.")
    elif interrupted:
        notes.append(f"Interrupted: {_observations(read)} judged, and nothing after that.")
    else:
        notes.append(f"{_observations(read)} judged.")
    return Judged(
        path=path,
        header=header,
        report=evolve(report, notes=tuple(notes)),
        problem=problem,
        interrupted=interrupted,
    )


def _oracle(path: Path, header: TraceHeader, declaration: Declaration | None, registry: Registry) -> Oracle:
    revisions = {revision.value: revision for revision in Revision}
    if header.revision and header.revision not in revisions:
        raise TraceError(path, 1, f"revision: one of {', '.join(revisions)} is needed")
    if declaration is None:
        declaration = header.declaration
        try:
            check_declaration("declaration", declaration)
        except PolicyError as error:
            raise TraceError(path, 1, str(error)) from None
    return Oracle(
        revision=revisions.get(header.revision, NEWEST_WITH_RESUMPTION),
        declaration=declaration,
        complete=header.complete,
        registry=registry,
    )


def _observations(count: int) -> str:
    return f"{count} observation was" if count == 1 else f"{count} observations were"


def merge(judged: Sequence[Judged], registry: Registry) -> Report:
    """What several recordings say together: of each clause the worst, of each finding its shortest exchange."""
    if len(judged) == 1:
        return judged[0].report
    findings: dict[tuple[str, str, str], Finding] = {}
    for each in judged:
        for finding in each.report.findings:
            key = (finding.clause, finding.fault.value, finding.kind.value)
            named = evolve(finding, summary=f"{each.path}: {finding.summary}")
            known = findings.get(key, named)
            shortest = named if len(named.evidence) < len(known.evidence) else known
            findings[key] = evolve(shortest, times=finding.times + (known.times if key in findings else 0))
    order = {clause: place for place, clause in enumerate(registry)}
    return Report(
        clauses=_merged_clauses(judged, order),
        findings=tuple(sorted(findings.values(), key=lambda each: (order[each.clause], each.fault.value))),
        notes=_merged_notes(judged),
    )


_WORST_FIRST = (Outcome.VIOLATED, Outcome.HELD, Outcome.NOT_OBSERVED)


def _merged_clauses(judged: Sequence[Judged], order: dict[str, int]) -> tuple[ClauseResult, ...]:
    by_clause: dict[str, list[ClauseResult]] = {}
    for each in judged:
        for result in each.report.clauses:
            by_clause.setdefault(result.clause, []).append(result)
    merged = []
    for clause in sorted(by_clause, key=order.__getitem__):
        results = by_clause[clause]
        outcome = min((result.outcome for result in results), key=_WORST_FIRST.index)
        reasons = dict.fromkeys(result.note for result in results if result.outcome is outcome and result.note)
        count = sum(result.observations for result in results)
        merged.append(evolve(results[0], outcome=outcome, observations=count, note="; or ".join(reasons)))
    return tuple(merged)


def _merged_notes(judged: Sequence[Judged]) -> tuple[str, ...]:
    """What holds of all is said once, and the rest under the names of the files; so are the faults of each."""
    common = [note for note in judged[0].report.notes if all(note in each.report.notes for each in judged)]
    notes = list(common)
    for each in judged:
        faults = dict.fromkeys(f"{finding.clause} {finding.fault.value}" for finding in each.report.findings)
        notes += [f"{each.path}: {note}" for note in each.report.notes if note not in common]
        notes += [f"{each.path}: {', '.join(faults)}"] if faults else []
    return tuple(notes)
