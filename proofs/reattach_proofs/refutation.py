"""Refuting mutants: the theorem that was named in advance fails, and a shortest trace from the initial state shows it.

The two come apart on purpose. That the proof fails says that some session of which the invariant holds breaks a claim;
that session might be one that never comes to be. The explorers begin with a session that was just opened, a server
without any, or a client that has yet to initialize, and know nothing of invariants; what they find has happened.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from attrs import frozen

from reattach.machine.policy import Policy
from reattach.machine.system import Action
from reattach_proofs import concrete, concrete_system, diagram, sources
from reattach_proofs.concrete import POLICY, SCOPES, Happened, Recorded
from reattach_proofs.concrete_system import REPLAY_SCOPES, SYSTEM_SCOPES, Answered, Served, SystemScope, replayed
from reattach_proofs.conduct import CONDUCT
from reattach_proofs.diagram import Row
from reattach_proofs.end_to_end import END_TO_END
from reattach_proofs.executor import Nondeterministic, paths
from reattach_proofs.explorer import Counterexample, Explored, SpaceTooLargeError
from reattach_proofs.mutants import MUTANTS, Mutant, applied, mutant_named
from reattach_proofs.obligations import Obligation
from reattach_proofs.promises import BUDGETS
from reattach_proofs.prover import Engine, Failure, Verdict
from reattach_proofs.replay import REPLAY
from reattach_proofs.servers import SESSIONS
from reattach_proofs.solver import Solver, Unknown
from reattach_proofs.terms import Unsupported, conjunction, negation

S = TypeVar("S")
L = TypeVar("L")

LIMITS = (400, 4_000, 40_000)
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
        if mutant.theorem is SESSIONS:
            return _of_server(mutant)
        if mutant.theorem is REPLAY:
            return _of_system(mutant, REPLAY_SCOPES)
        return _of_system(mutant, SYSTEM_SCOPES) if mutant.theorem in (END_TO_END, CONDUCT) else _of_session(mutant)


def _of_session(mutant: Mutant) -> Refutation:
    theorem = mutant.theorem.name
    first = ("time", "rate") if mutant.theorem is BUDGETS else ()
    names = (*first, *(name for name in SCOPES if name not in first))
    scope, found = _shortest(mutant, names, lambda name, limit: concrete.explore_session(SCOPES[name], theorem, limit))
    policy = SCOPES[scope].policy
    steps: list[tuple[Recorded, Happened]] = []
    claim, before = "", concrete.space(SCOPES[scope]).initial
    for label in found.trace.labels:
        happened, after = concrete.happen(policy, before, label.given)
        claim = next((claim.name for claim in concrete.broken(policy, before, happened, after, theorem)), "")
        steps.append((before, happened))
        before = after
    rows = diagram.session_rows(policy, steps)
    return _refutation(mutant, claim, [label.given for label in found.trace.labels], scope, policy, rows)


def _of_server(mutant: Mutant) -> Refutation:
    scope, found = _shortest(mutant, ("two sessions",), lambda _, limit: concrete_system.explore_server(limit))
    steps: list[tuple[Served, Answered]] = []
    claim = ""
    questions = [each.asked for each in found.trace.labels]
    for before, answered, _ in replayed(concrete_system.server_space(), questions, _asked):
        claim = next((claim.name for claim in concrete_system.broken_by_server(before, answered)), "")
        steps.append((before, answered))
    rows = diagram.server_rows(POLICY, steps)
    return _refutation(mutant, claim, [answered.asked for _, answered in steps], scope, POLICY, rows)


def _asked(answered: Answered) -> object:
    return answered.asked


def _of_system(mutant: Mutant, scopes: Mapping[str, SystemScope]) -> Refutation:
    theorem = mutant.theorem.name
    scope, found = _shortest(
        mutant, scopes, lambda name, limit: concrete_system.explore_system(scopes[name], theorem, limit)
    )
    chosen = scopes[scope]
    actions = (*chosen.prefix, *found.trace.labels)
    steps = list(replayed(chosen.space(), actions, _itself))
    claim = found.predicate
    if mutant.theorem is CONDUCT:
        claim = next(concrete_system.broken_by_client(*steps[-1])).name
    policy = chosen.initial.server.policy
    return _refutation(mutant, claim, actions, scope, policy, diagram.system_rows(policy, steps))


def _itself(action: Action) -> object:
    return action


def _shortest(
    mutant: Mutant, scopes: Iterable[str], explored: Callable[[str, int], Explored[S, L]]
) -> tuple[str, Counterexample[S, L]]:
    """The scope in which the theorem is broken, and how: a few states of each scope are looked at first, then more."""
    left = list(scopes)
    for limit in LIMITS:
        for scope in tuple(left):
            try:
                found = explored(scope, limit)
            except SpaceTooLargeError:
                continue
            for counterexample in found.counterexample:
                return scope, counterexample
            left.remove(scope)  # all of it was seen
    raise NotRefutedError(f"{mutant.name} does not break {mutant.theorem.name} within the bounds")


def _refutation(
    mutant: Mutant, claim: str, trace: Iterable[object], scope: str, policy: Policy, rows: list[Row]
) -> Refutation:
    shown = diagram.drawn(rows, f"{mutant.theorem.name}: {claim.replace('_', ' ')}")
    text = f"{mutant.name}: {mutant.wrong}\n  ({diagram.limits(policy)})\n\n{shown}"
    return Refutation(mutant, claim, tuple(map(repr, trace)), scope, text)


# By proof

_LIKELY: dict[str, tuple[str, ...]] = {
    "client": ("the client reads", "the client resumes", "the client gives up", "the client notices"),
    "client._with": ("the client reads its priming",),
    "client.resume": ("the client resumes",),
    "client.may_resume": ("the client resumes",),
    "client.give_up": ("the client gives up",),
    "decision": ("resume subject", "resume foreign, another", "resume unknown stream", "listen"),
    "session": ("time", "write subject", "emit to subject", "finish subject", "resume subject", "listen"),
    "session.stall_deadline": ("time", "write subject"),
    "session.absence_deadline": ("time",),
    "transition.step": ("time, then write subject",),
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
    """The obligations of the theorem's source: likely inputs first, and of each the smallest shapes."""
    likely = _LIKELY.get(mutant.function, _LIKELY.get(mutant.module, ()))
    source = next(source for source in sources.SOURCES if mutant.theorem in source.theorems)

    def rank(obligation: Obligation) -> tuple[bool, int]:
        shape, _, given = obligation.name.rpartition(" | ")
        return given not in likely, shape.count(" + ")

    return sorted(source.obligations(), key=rank)
