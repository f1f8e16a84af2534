"""What reports for people say in the same words: counts, titles, remarks."""

from reattach.clauses import Registry
from reattach.io.run import Run, results_by_outcome
from reattach.oracle.verdict import ClauseResult, Kind, Outcome, Report

_COUNT_WORDS = {
    Kind.VIOLATES_MUST: ("MUST violated", "MUSTs violated"),
    Kind.BREAKS_CONTRACT: ("own contract broken", "own contracts broken"),
    Kind.AGAINST_SHOULD: ("SHOULD not followed", "SHOULDs not followed"),
    Kind.UNDEFINED_AREA: ("difference in an undefined area", "differences in undefined areas"),
}


def clause_counts(report: Report) -> list[str]:
    """How many clauses have each outcome: ``3 held``."""
    return [f"{len(results)} {outcome.value}" for outcome, results in results_by_outcome(report).items()]


def finding_counts(report: Report) -> list[str]:
    """How many findings there are of each kind that there is: ``2 MUSTs violated``."""
    kinds = [finding.kind for finding in report.findings]
    return [
        f"{kinds.count(kind)} {one if kinds.count(kind) == 1 else many}"
        for kind, (one, many) in _COUNT_WORDS.items()
        if kind in kinds
    ]


def facts_of(run: Run) -> list[tuple[str, str]]:
    """How a report came about: what each fact is called, and the fact; without those that are not known."""
    rows = (
        ("target", run.target),
        ("server", run.server),
        ("client", run.client),
        ("revision", run.revision),
        ("profile", run.profile),
        ("stimulus", run.stimulus),
        ("seed", "" if run.seed is None else str(run.seed)),
        ("elapsed", f"{run.elapsed_ms / 1000:.1f} s" if run.elapsed_ms else ""),
    )
    return [row for row in rows if row[1]]


def title_of(clause: str, registry: Registry) -> str:
    """The title of a clause; empty if the registry has none of that id."""
    found = registry.get(clause)
    return found.title if found is not None else ""


def remark_of(result: ClauseResult, report: Report) -> str:
    """What is to be said of a clause's outcome: the faults found, if it is violated, and the note."""
    if result.outcome is not Outcome.VIOLATED:
        return result.note
    findings = [finding for finding in report.findings if finding.clause == result.clause]
    faults = ", ".join(dict.fromkeys(finding.fault.value for finding in findings))
    return "; ".join(filter(None, [faults, result.note]))


def reproduction(reproduced: tuple[int, int]) -> str:
    """How often a finding shows again when it is played again."""
    shown, of = reproduced
    return f"always ({of} of {of})" if shown == of else f"{shown} of {of}"
