"""What a recording leaves out, and what that costs (spec/13-recordings.md): why a clause was not observed in it."""

from collections.abc import Sequence

from attrs import define, evolve, field

from reattach.io.digests import is_digested
from reattach.oracle.flat import FlatFrame
from reattach.oracle.observation import Body, Expect, Frame, Observation, Quiet, Settled
from reattach.oracle.verdict import ClauseResult, Outcome

PAYLOAD, DIGEST, EXPECT, SETTLED, QUIET, COMPLETE = "payload", "digest", "expect", "settled", "quiet", "complete"

COSTS: dict[str, tuple[str, frozenset[str]]] = {
    PAYLOAD: (
        "what the messages say is not recorded",
        frozenset({"SES-5", "DEL-2", "DEL-4", "DEL-5", "DEL-7", "DEL-9"}),
    ),
    DIGEST: ("of what the messages say only digests are recorded", frozenset({"DEL-2", "ATT-4"})),
    EXPECT: ("nothing says what a call sends", frozenset({"ATT-4", "CUR-7", "WIN-5", "DEL-2"})),
    SETTLED: ("no call is said to have been followed to its end", frozenset({"DEL-2", "ATT-4"})),
    QUIET: (
        "nobody is said to have waited in vain",
        frozenset({"DEL-7", "DEL-8", "DEL-9", "DEL-10", "ATT-2", "IDL-6"}),
    ),
    COMPLETE: ("the recording does not say that it is complete", frozenset({"CUR-3", "CUR-5", "CUR-6", "SES-8"})),
}
"""For each thing that may be left out how that is told, and the clauses that cannot be judged then, or not wholly."""

_KINDS: dict[type[Observation], str] = {Expect: EXPECT, Settled: SETTLED, Quiet: QUIET}


@define
class Omissions:
    """What a recording leaves out, as far as it was read."""

    complete: bool
    """Whether it says that it has all that passed."""
    seen: set[type] = field(factory=set)
    """Of which kinds another observation says nothing new."""
    _kinds: set[type] = field(factory=set)
    _payloads: bool = False
    _digests: bool = False
    """Whether they are digests."""

    def see(self, observation: Observation | FlatFrame) -> None:
        """Take the next observation."""
        self._kinds.add(type(observation))
        if not isinstance(observation, Frame | FlatFrame | Body):
            self.seen.add(type(observation))
        elif observation.payload is not None:
            self._payloads, self._digests = True, is_digested(observation.payload)
            self.seen.update((Frame, FlatFrame, Body))

    def left_out(self) -> list[str]:
        """What was not there."""
        there = {_KINDS[kind] for kind in self._kinds if kind in _KINDS}
        there |= {PAYLOAD} if self._payloads else set()
        there |= set() if self._digests else {DIGEST}
        there |= {COMPLETE} if self.complete else set()
        return [name for name in COSTS if name not in there]

    def explained(self, results: Sequence[ClauseResult]) -> tuple[ClauseResult, ...]:
        """The outcomes; where a clause was not observed, with what would have had to be recorded for it."""
        return tuple(self._explained(result) for result in results)

    def _explained(self, result: ClauseResult) -> ClauseResult:
        if result.outcome is not Outcome.NOT_OBSERVED:
            return result
        reasons = [why for name in self.left_out() for why, clauses in [COSTS[name]] if result.clause in clauses]
        return evolve(result, note=f"{result.note} ({'; '.join(reasons)})") if reasons else result
