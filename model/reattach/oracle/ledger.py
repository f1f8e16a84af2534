"""The ledger: what the judges have said so far, and what that means under a profile."""

from collections import Counter
from collections.abc import Mapping

from attrs import define, field, frozen

from reattach.clauses import About, Clause, Need, Registry
from reattach.oracle.judges import Broken, Held, Judgement
from reattach.oracle.record import Run, Seen
from reattach.oracle.verdict import ClauseResult, Fault, Finding, Kind, Outcome, Profile

_WHY = {
    Need.SESSION_IDS: "the server issued no session id",
    Need.EVENT_IDS: "the server gave no event ids",
    Need.READABLE_IDS: "the server's event ids are not in the grammar of the standard",
    Need.STIMULUS: "nothing made the server send events in the way that it needs",
    Need.TERMINATION: "no session was terminated",
    Need.SECOND_PRINCIPAL: "no second principal was given",
    Need.DECLARATION: "the server's policy is not declared",
}


@frozen
class _Key:
    clause: str
    fault: Fault
    kind: Kind | None


@define
class _Entry:
    summary: str
    evidence: tuple[Seen, ...]
    times: int = 1


@define
class Ledger:
    """Counts what was held, and keeps one finding for each clause, fault and kind: the one with the least evidence."""

    registry: Registry
    observed: Counter[str] = field(factory=Counter)
    entries: dict[_Key, _Entry] = field(factory=dict)

    def enter(self, judgement: Judgement, profile: Profile) -> Finding | None:
        """Enter a judgement; return it as a finding, of the kind it has under a profile, if it is one."""
        clause = judgement.clause
        self.observed[clause] = self.observed.get(clause, 0) + 1
        if type(judgement) is Held:
            return None
        assert isinstance(judgement, Broken)
        key = _Key(judgement.clause, judgement.fault, judgement.kind)
        entry = self.entries.get(key)
        if entry is None:
            self.entries[key] = _Entry(judgement.summary, judgement.evidence)
        else:
            entry.times += 1
            if len(judgement.evidence) < len(entry.evidence):
                entry.summary, entry.evidence = judgement.summary, judgement.evidence
        return self._finding(key, _Entry(judgement.summary, judgement.evidence), profile)

    def findings(self, profile: Profile) -> tuple[Finding, ...]:
        """All findings, in the order of the registry, as they are under a profile."""
        order = {clause: place for place, clause in enumerate(self.registry)}
        found = [self._finding(key, entry, profile) for key, entry in self.entries.items()]
        return tuple(sorted(found, key=lambda finding: (order[finding.clause], finding.fault.value)))

    def clauses(self, profile: Profile, run: Run, more: Mapping[str, int]) -> tuple[ClauseResult, ...]:
        """``more`` is how often clauses were seen to hold besides.

        The outcome of every clause about servers that belongs to the profile and holds in the run's revision.

        A clause of another revision is listed if it was exercised: a server may speak several.
        """
        broken = {finding.clause for finding in self.findings(profile) if finding.kind is not Kind.UNDEFINED_AREA}
        results = []
        for clause in self.registry.values():
            seen = self.observed[clause.id] + more.get(clause.id, 0)
            if clause.about not in (About.SERVER, About.BOTH):
                continue
            listed = clause.obliges(profile) and (run.revision in clause.revisions or seen > 0)
            if not listed and clause.id not in broken:
                continue
            if clause.id in broken:
                outcome = Outcome.VIOLATED
            else:
                outcome = Outcome.HELD if seen > self._differences(clause.id) else Outcome.NOT_OBSERVED
            note = _note(clause, run) if outcome is Outcome.NOT_OBSERVED else ""
            results.append(
                ClauseResult(clause=clause.id, level=clause.level, outcome=outcome, observations=seen, note=note)
            )
        return tuple(results)

    def _differences(self, clause: str) -> int:
        """How often the clause was exercised without being decided: allowed differences are no proof of keeping it."""
        return sum(entry.times for key, entry in self.entries.items() if key.clause == clause)

    def _finding(self, key: _Key, entry: _Entry, profile: Profile) -> Finding:
        clause = self.registry[key.clause]
        return Finding(
            clause=key.clause,
            level=clause.level,
            kind=key.kind or clause.kind(profile),
            fault=key.fault,
            summary=entry.summary,
            evidence=tuple(seen.observation for seen in entry.evidence),
            places=tuple(seen.index for seen in entry.evidence),
            experiment=entry.evidence[-1].experiment if entry.evidence else "",
            times=entry.times,
        )


def _note(clause: Clause, run: Run) -> str:
    """Why a clause was not observed."""
    if clause.not_on_the_wire or clause.unchecked:
        return clause.not_on_the_wire or clause.unchecked
    missing = [_WHY[need] for need in clause.needs if not _is_met(need, run)]
    return "; ".join(missing[:2]) or "nothing in this run exercised it"


def _is_met(need: Need, run: Run) -> bool:
    match need:
        case Need.SESSION_IDS:
            return run.sessions_issued > 0
        case Need.EVENT_IDS:
            return run.ids_seen
        case Need.READABLE_IDS:
            return run.readable
        case Need.TERMINATION:
            return run.terminated
        case Need.SECOND_PRINCIPAL:
            return len(run.principals) > 1
        case Need.DECLARATION:
            declaration = run.declaration
            return declaration.window_events is not None or declaration.stall_ms is not None
        case Need.STIMULUS:
            return True
