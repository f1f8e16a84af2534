"""Refuting mutants: the theorem that was named in advance fails, and a shortest trace from the initial state shows it.

The two come apart on purpose. That the proof fails says that some session of which the invariant holds breaks a claim;
that session might be one that never comes to be. The explorer begins with a session that was just opened and knows
nothing of invariants; what it finds has happened.
"""

from collections.abc import Iterable, Iterator

from attrs import frozen

from reattach_proofs import concrete, diagram
from reattach_proofs.concrete import SCOPES, Bounds, Happened, Recorded, broken, explore_session, happen
from reattach_proofs.executor import Nondeterministic, paths
from reattach_proofs.explorer import SpaceTooLargeError, Trace
from reattach_proofs.mutants import MUTANTS, Mutant, applied, mutant_named
from reattach_proofs.obligations import Obligation, obligations
from reattach_proofs.promises import BUDGETS
from reattach_proofs.prover import Engine, Failure, Verdict
from reattach_proofs.solver import Solver, Unknown
from reattach_proofs.terms import Unsupported, conjunction, negation

STEPS = (400, 4_000, 40_000)
"""How many states of each scope are looked at, before more of any is."""


class NotRefutedError(Exception):
    """Nothing within the bounds breaks the theorem that was to refute a mutant."""


@frozen
class Refutation:
    """A mutant, and a shortest trace that breaks the theorem that must refute it."""

    mutant: Mutant
    claim: str
    """The claim that is broken at the end."""
    trace: tuple[str, ...]
    """What happens, as data."""
    scope: str
    """Within which bounds no shorter trace breaks the theorem."""
    diagram: str
    """The trace as a sequence diagram in text."""


def refutations(names: Iterable[str] | None = None) -> Iterator[Refutation]:
    """Refute all mutants, or those named. Raises KeyError for an unknown name, NotRefutedError for a survivor."""
    for mutant in MUTANTS if names is None else map(mutant_named, names):
        yield refute(mutant)


def refute(mutant: Mutant) -> Refutation:
    """Find a shortest trace from the initial state that breaks the mutant's theorem. Raises NotRefutedError."""
    with applied(mutant):
        scope, bounds, trace = _shortest(mutant)
        steps, claim = _replayed(bounds, trace, mutant.theorem.name)
    rows = diagram.session_rows(bounds.policy, steps)
    return Refutation(
        mutant,
        claim,
        tuple(repr(happened.given) for _, happened in steps),
        scope,
        f"{mutant.name}: {mutant.wrong}\n  ({diagram.limits(bounds.policy)})\n\n"
        + diagram.drawn(rows, f"{mutant.theorem.name}: {claim}"),
    )


def _shortest(mutant: Mutant) -> tuple[str, Bounds, Trace[Recorded, Happened]]:
    first = ("time", "rate") if mutant.theorem is BUDGETS else ()
    scopes = {name: SCOPES[name] for name in (*first, *(name for name in SCOPES if name not in first))}
    for limit in STEPS:
        for name, bounds in list(scopes.items()):
            try:
                explored = explore_session(bounds, mutant.theorem.name, limit)
            except SpaceTooLargeError:
                continue
            for counterexample in explored.counterexample:
                return name, bounds, counterexample.trace
            del scopes[name]  # all of it was seen
    raise NotRefutedError(f"{mutant.name} does not break {mutant.theorem.name} within {', '.join(SCOPES)}")


def _replayed(
    bounds: Bounds, trace: Trace[Recorded, Happened], theorem: str
) -> tuple[list[tuple[Recorded, Happened]], str]:
    """The steps of a trace, each with the session before it, and the claim that the last one breaks."""
    before = concrete.space(bounds).initial
    steps: list[tuple[Recorded, Happened]] = []
    claim = ""
    for label in trace.labels:
        happened, after = happen(bounds.policy, before, label.given)
        claim = next((claim.name for claim in broken(bounds.policy, before, happened, after, theorem)), "")
        steps.append((before, happened))
        before = after
    return steps, claim


# By proof

_LIKELY: dict[str, tuple[str, ...]] = {
    "decision": ("resume subject", "resume foreign, another", "resume unknown stream", "listen"),
    "session": ("time", "write subject", "emit to subject", "finish subject", "resume subject", "listen"),
    "session.stall_deadline": ("time", "write subject"),
    "session.absence_deadline": ("time",),
    "transition.advance": ("time", "time, twice"),
    "transition._end_stalled": ("time", "time, twice"),
    "transition._open_stream": ("open stream",),
    "transition._resume": ("resume subject", "resume foreign, another"),
    "transition._listen": ("listen",),
    "transition._born": ("open stream", "listen"),
    "transition._attached": ("resume subject", "listen", "open stream"),
    "transition._emit": ("emit to subject", "push"),
    "transition._write": ("write subject",),
    "transition._written": ("write subject",),
    "transition._accepted": ("accepted subject",),
    "transition._disconnect": ("disconnect subject",),
    "transition._without_view": ("disconnect subject", "write subject"),
    "transition._finish": ("finish subject", "finish other"),
    "transition._terminated": ("terminate", "time"),
    "transition.step": ("time, then write subject",),
    "transition._without_forgotten": ("finish subject", "disconnect subject", "time"),
    "transition._react": ("terminate", "arrive", "depart"),
}
"""Which obligations are likely to meet a change of a function: the inputs that lead to it."""


def refuting_proof(mutant: Mutant) -> Failure | None:
    """The first failure of the mutant's theorem, looked for first where the change is likely to be met."""
    with applied(mutant):
        for obligation in _ordered(mutant):
            failure = first_failure(obligation, mutant.theorem.name)
            if failure is not None and failure.theorem == mutant.theorem.name:
                return failure
    return None


def first_failure(obligation: Obligation, theorem: str = "") -> Failure | None:
    """What the prover would find fault with first in an obligation, if anything; of one theorem, if it is named.

    It looks at the paths in the prover's order and stops where one fails. Whether all paths were followed is not asked.
    """
    solver, taken = Solver(), 0

    def failure(verdict: Verdict, what: str, of: str = "") -> Failure:
        return Failure(verdict, Engine.Z3, of, what, obligation.name)

    try:
        for path in paths(obligation.run, solver):
            taken += 1
            claims = [claim for claim in path.result.claims if theorem in ("", claim.theorem)]
            if solver.satisfiable(negation(conjunction(claim.formula for claim in claims))):
                broken = next(claim for claim in claims if solver.satisfiable(negation(claim.formula)))
                return failure(Verdict.REFUTED, broken.name, broken.theorem)
    except (Unknown, Unsupported, Nondeterministic) as signal:
        return failure(Verdict.UNKNOWN, f"{type(signal).__name__}: {signal}")
    except Exception as error:
        return failure(Verdict.REFUTED, f"raises {type(error).__name__}: {error}")
    return None if taken else failure(Verdict.VACUOUS, "no path can be taken")


def _ordered(mutant: Mutant) -> list[Obligation]:
    likely = _LIKELY.get(mutant.function, _LIKELY.get(mutant.module, ()))
    return sorted(obligations(), key=lambda obligation: _input(obligation) not in likely)


def _input(obligation: Obligation) -> str:
    return obligation.name.rpartition(" | ")[2]
