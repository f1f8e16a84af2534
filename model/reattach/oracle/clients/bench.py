"""Runs of a client against scripts, judged: the outcome of every clause about clients, and the findings."""

from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field

from reattach.clauses import Registry
from reattach.machine.revision import Revision
from reattach.oracle.clients import conduct, cursors  # noqa: F401  (importing registers the judges)
from reattach.oracle.clients.beside import NO_ORDER, Beside
from reattach.oracle.clients.judgement import JUDGES, Unseen
from reattach.oracle.clients.tally import Tally
from reattach.oracle.observation import Observation
from reattach.oracle.record import Seen
from reattach.oracle.verdict import Profile, Report

JUDGED: frozenset[str] = frozenset(JUDGES)
"""The clauses that the bench can judge."""
_NEVER = "no script that was run exercises it"


@define
class Bench:
    """Enters runs, each whole; says what they come to."""

    registry: Registry
    _tally: Tally = field(init=False)
    _runs: list[Beside] = field(init=False, factory=list)
    """Those that have not been judged."""
    _unseen: dict[str, list[str]] = field(init=False, factory=dict)
    """By clause, why runs could not decide it."""
    _unread: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self._tally = Tally(self.registry)

    def enter(self, script: str, observations: Sequence[Observation], after: Mapping[str, str] = NO_ORDER) -> None:
        """Enter a whole run against a script, with the order in which that has the calls made."""
        self._runs.append(beside(observations, script, after))

    def _judge(self, profile: Profile) -> None:
        """Judge the runs that have been entered: what a program prints in one shows what it does not in another."""
        runs, self._runs = self._runs, []
        speaks, applies = any(run.speaks for run in runs), any(run.applies for run in runs)
        for run in runs:
            run.speaks, run.applies = speaks, applies
            self._unread += run.said.others
            for judge in JUDGES.values():
                for judgement in judge(run):
                    if isinstance(judgement, Unseen):
                        self._unseen.setdefault(judgement.clause, []).append(judgement.why)
                    else:
                        self._tally.enter(judgement, profile)

    def report(self, profile: Profile, revision: Revision, notes: Iterable[str] = ()) -> Report:
        """The outcome of every clause about clients that belongs to the profile, and all findings."""
        self._judge(profile)
        clauses, findings = self._tally.results(profile, revision, self._note)
        others = f"{self._unread} lines of the program are none of the contract." if self._unread else ""
        return Report(clauses=clauses, findings=findings, notes=tuple(filter(None, (*notes, others))))

    def _note(self, clause: str) -> str:
        """The reasons, those of the most runs first."""
        whys = self._unseen.get(clause, [])
        counted = sorted(dict.fromkeys(whys), key=lambda why: -whys.count(why))
        return "; ".join(counted[:2]) or _NEVER


def beside(observations: Sequence[Observation], script: str = "", after: Mapping[str, str] = NO_ORDER) -> Beside:
    """A run, with the machine's client stepped beside it."""
    run = Beside(after=after)
    for index, observation in enumerate(observations, start=1):
        run.take(Seen(index, observation, script))
    return run
