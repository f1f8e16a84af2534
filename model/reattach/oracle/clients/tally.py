"""What the judges of clients have said of the runs so far, and what that comes to."""

from collections import Counter
from collections.abc import Callable

from attrs import define, field

from reattach.clauses import About, Registry
from reattach.machine.revision import Revision
from reattach.oracle.judges.base import Broken, Held
from reattach.oracle.ledger import Ledger
from reattach.oracle.verdict import ClauseResult, Finding, Kind, Outcome, Profile


@define
class Tally:
    """Counts what was seen to hold, and keeps what was found."""

    registry: Registry
    _ledger: Ledger = field(init=False)
    _held: Counter[str] = field(init=False, factory=Counter)

    def __attrs_post_init__(self) -> None:
        self._ledger = Ledger(self.registry)

    def enter(self, judgement: Held | Broken, profile: Profile) -> None:
        """Enter what a judge said of a run."""
        self._held[judgement.clause] += isinstance(judgement, Held)
        self._ledger.enter(judgement, profile)

    def results(
        self, profile: Profile, revision: Revision, why: Callable[[str], str]
    ) -> tuple[tuple[ClauseResult, ...], tuple[Finding, ...]]:
        """Every clause about clients that belongs to the profile, and all findings.

        ``why`` says of a clause why it was not observed.
        """
        findings = self._ledger.findings(profile)
        broken = {finding.clause for finding in findings if finding.kind is not Kind.UNDEFINED_AREA}
        clauses = tuple(
            self._result(clause.id, broken, why)
            for clause in self.registry.values()
            if clause.about is About.CLIENT
            and revision in clause.revisions
            and (clause.obliges(profile) or clause.id in broken)
        )
        return clauses, findings

    def _result(self, clause: str, broken: set[str], why: Callable[[str], str]) -> ClauseResult:
        outcome = Outcome.VIOLATED if clause in broken else Outcome.HELD if self._held[clause] else Outcome.NOT_OBSERVED
        return ClauseResult(
            clause=clause,
            level=self.registry[clause].level,
            outcome=outcome,
            observations=self._ledger.observed[clause],
            note=why(clause) if outcome is Outcome.NOT_OBSERVED else "",
        )
