"""The executor: runs ordinary Python on symbolic integers and follows every path.

``paths`` calls a function again and again. Inside, integers are symbolic (see ``symbolic``); each truth test
asks the solver which answers are possible here, takes one, and leaves the other for a later run,
which repeats everything up to that point and then takes the other. What comes back is one ``Path`` per way through the
function: its decisions, the facts it relied on, and its result. There is no second encoding of any rule.

If the solver does not know, that is an error, never an answer. If a repeated run meets another question or fact than
the run before it did, the code is not deterministic, and that is an error too; so is a run that does not end. All these
derive from BaseException, so that no ``except Exception`` in the code under proof can swallow them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from attrs import define, field, frozen

from reattach_proofs.solver import Model, Solver
from reattach_proofs.symbolic import Concrete, executing, running, truth_of
from reattach_proofs.terms import FALSE, TRUE, Term, Unsupported, choice, conjunction, negation

T = TypeVar("T")

LONGEST = 5_000
"""The most decisions and facts of a run; one that has more will hardly end."""


class Nondeterministic(BaseException):
    """A repeated run did something else than the run it repeats."""


class Dismissed(BaseException):
    """The run assumed something that cannot be; its path does not exist."""


@frozen(eq=False)
class Decision:
    """One truth test: its condition as it was asked, and the answer taken."""

    asked: Term
    answer: bool
    forked: bool
    """Whether both answers were possible, so that the other is taken by another path."""

    def formula(self) -> Term:
        """That it was answered so."""
        return self.asked if self.answer else negation(self.asked)

    def other(self) -> "Decision":
        """The same test, answered otherwise."""
        return Decision(self.asked, not self.answer, self.forked)


Event: TypeAlias = Decision | Term
"""What happens in a run: a decision, or a fact that is assumed."""


@frozen(eq=False)
class Path(Generic[T]):
    """One way through the function."""

    trace: tuple[Event, ...]
    """Its decisions and facts, in order; a fact is an instance of a contract of what stands in for unbounded data."""
    result: T
    model: Model
    """Values under which it is taken."""
    repeated: int = 0
    """How much of the trace it has in common with a path before it."""
    notes: tuple[object, ...] = ()
    """What the run noted about itself."""

    def formula(self) -> Term:
        """That this path is taken."""
        return conjunction(map(formula_of, self.trace))


@frozen(eq=False)
class DeadEnd:
    """A beginning that leads nowhere: its facts and decisions exclude each other."""

    trace: tuple[Event, ...]
    repeated: int


@frozen(eq=False)
class _Fork:
    """Where a run left an answer to a later run."""

    at: int
    decision: Decision
    depth: int
    model: Model


@define(eq=False)
class Run:
    """The execution under way: what it has to repeat, what happened, and the solver that holds it all."""

    solver: Solver
    repeat: tuple[Event, ...]
    depth: int
    """Scopes that are open on the solver."""
    model: Model | None
    """Values under which this point is reached, if any are known."""
    trace: list[Event] = field(factory=list)
    forks: list[_Fork] = field(factory=list)
    answers: dict[Term, bool] = field(factory=dict)
    notes: list[object] = field(factory=list)

    def decide(self, asked: Term) -> bool:
        """Answer one truth test."""
        if asked in self.answers:
            return self.answers[asked]
        at = len(self.trace)
        if at < len(self.repeat):
            event = self.repeat[at]
            if not isinstance(event, Decision) or event.asked is not asked:
                raise Nondeterministic(f"event {at} was {event!r}, now the question {asked!r}")
        else:
            event = self._decided(asked)
        _check_length(self.trace)
        self.trace.append(event)
        self.answers[asked], self.answers[negation(asked)] = event.answer, not event.answer
        return event.answer

    def _decided(self, asked: Term) -> Decision:
        here = self.reached()
        answer = here.satisfies(asked)
        there = self._model_of(negation(asked) if answer else asked)
        if there is None:
            decision = Decision(asked, answer, forked=False)
        else:
            yes, no = (here, there) if answer else (there, here)
            decision = Decision(asked, True, forked=True)
            self.forks.append(_Fork(len(self.trace), decision, self.depth, no))
            self.model = yes
            self.solver.push()
            self.depth += 1
        self.solver.add(decision.formula())
        return decision

    def reached(self) -> Model:
        """Values under which this point is reached. Raises Dismissed if there are none."""
        if self.model is None:
            self.model = self._model_of()
            if self.model is None:
                raise Dismissed
        return self.model

    def assume(self, fact: Term) -> None:
        """Rely on an instance of a contract."""
        if fact is TRUE or self.answers.get(fact, False):
            return
        at = len(self.trace)
        _check_length(self.trace)
        self.trace.append(fact)
        self.answers[fact], self.answers[negation(fact)] = True, False
        if at < len(self.repeat):
            if self.repeat[at] is not fact:
                raise Nondeterministic(f"event {at} was {self.repeat[at]!r}, now the fact {fact!r}")
            return
        self.solver.add(fact)
        if self.model is not None and not self.model.satisfies(fact):
            self.model = None

    def note(self, about: object) -> None:
        """Keep something with the path."""
        self.notes.append(about)

    def _model_of(self, *conditions: Term) -> Model | None:
        return self.solver.model() if self.solver.satisfiable(*conditions) else None


def explore(function: Callable[[], T], *assumptions: Term) -> list[Path[T]]:
    """Every path of ``function`` that is possible under the assumptions, in a fixed order."""
    return list(paths(function, Solver(), *assumptions))


def paths(
    function: Callable[[], T], solver: Solver, *assumptions: Term, dead_ends: list[DeadEnd] | None = None
) -> Iterator[Path[T]]:
    """The same, one at a time; while a path is looked at, the solver holds all of it. Dead ends are added to the list.

    The paths come depth first, so what the next has in common with the last stays on the solver.
    """
    solver.push()
    depth = 0
    try:
        for assumption in assumptions:
            solver.add(assumption)
        pending: list[tuple[tuple[Event, ...], int, Model | None]] = [((), 0, None)]
        while pending:
            repeat, scope, model = pending.pop()
            solver.pop(depth - scope)
            depth = scope
            if repeat:
                solver.push()
                depth += 1
                solver.add(formula_of(repeat[-1]))
            run = Run(solver, repeat, depth, model)
            try:
                ended = _ended(function, run)
            finally:
                depth = run.depth
            for fork in run.forks:
                pending.append(((*run.trace[: fork.at], fork.decision.other()), fork.depth, fork.model))
            repeated = max(len(repeat) - 1, 0)
            if ended:
                yield Path(tuple(run.trace), ended[0], run.reached(), repeated, tuple(run.notes))
            elif dead_ends is not None:
                dead_ends.append(DeadEnd(tuple(run.trace), repeated))
    finally:
        solver.pop(depth + 1)


def _ended(function: Callable[[], T], run: Run) -> tuple[T, ...]:
    """The function's result, or nothing if its path does not exist."""
    with executing(run):
        try:
            result = function()
            run.reached()  # what was assumed last may rule the path out
        except Dismissed:
            return ()
    if len(run.trace) < len(run.repeat):
        raise Nondeterministic(f"event {len(run.trace)} was {run.repeat[len(run.trace)]!r}, now the run is over")
    return (result,)


def formula_of(event: Event) -> Term:
    """That it happened."""
    return event.formula() if isinstance(event, Decision) else event


def _check_length(trace: Sequence[object]) -> None:
    if len(trace) >= LONGEST:
        raise Unsupported(f"a run with more than {LONGEST} decisions and facts")


@define(eq=False)
class _Merging:
    """The execution of a predicate of which every answer is followed, and no solver asked."""

    repeat: tuple[Decision, ...]
    taken: list[Decision] = field(factory=list)
    answers: dict[Term, bool] = field(factory=dict)
    facts: list[Term] = field(factory=list)

    def decide(self, asked: Term) -> bool:
        if asked in self.answers:
            return self.answers[asked]
        at = len(self.taken)
        decision = self.repeat[at] if at < len(self.repeat) else Decision(asked, True, forked=True)
        if decision.asked is not asked:
            raise Nondeterministic(f"test {at} was {decision.asked!r}, now {asked!r}")
        _check_length(self.taken)
        self.taken.append(decision)
        self.answers[asked], self.answers[negation(asked)] = decision.answer, not decision.answer
        return decision.answer

    def assume(self, fact: Term) -> None:
        self.facts.append(fact)

    def note(self, about: object) -> None:
        raise Unsupported("a note inside of a predicate")


def merged(predicate: Callable[[], object]) -> Term:
    """One formula that says that the predicate is true: the tree of its truth tests, with its results at the leaves.

    The predicate's code is run for each combination of answers, possible or not, and no solver is asked; from then on
    the formula stands for it. Contracts that it calls on are assumed in the run around it, which must be one.
    """
    around = running()
    if isinstance(around, Concrete):
        return truth_of(predicate())

    def tree(repeat: tuple[Decision, ...]) -> Term:
        run = _Merging(repeat)
        with executing(run):
            result = truth_of(predicate())
        for fact in run.facts:
            if around is None:
                raise Unsupported("a predicate called on a contract outside of a run")
            around.assume(fact)
        for at in range(len(run.taken) - 1, len(repeat) - 1, -1):
            decision = run.taken[at]
            result = choice(decision.asked, result, tree((*run.taken[:at], decision.other())))
        return result

    return tree(())


def missing(way: Path[Any] | DeadEnd) -> Term:
    """What would have to be possible for a path to be missing; the paths are exhaustive if it cannot be.

    Of each test of which only one answer was followed: that the other one could be given, under what was decided and
    assumed before it, not what came later. Of a dead end: that it can be reached. What a path has in common with one
    before it was asked there.
    """
    return conjunction((*map(formula_of, way.trace[: way.repeated]), missing_after(way)))


def missing_after(way: Path[Any] | DeadEnd) -> Term:
    """The same, where what it has in common with the path before it is assumed already."""
    found = TRUE if isinstance(way, DeadEnd) else FALSE
    for at in range(len(way.trace) - 1, way.repeated - 1, -1):
        event = way.trace[at]
        found = conjunction((formula_of(event), found))
        if isinstance(event, Decision) and not event.forked:
            found = choice(event.formula(), found, TRUE)
    return found


def is_tree(ways: Sequence[Path[Any] | DeadEnd]) -> bool:
    """Whether each two ways part at a test that they answer differently, and each fork has a way to either side.

    So the ways exclude each other, and together with ``missing`` of each of them they are all there are.
    """

    def covers(group: list[tuple[Event, ...]], at: int) -> bool:
        while all(at < len(trace) and trace[at] is group[0][at] for trace in group):
            event = group[0][at]
            if isinstance(event, Decision) and event.forked:
                return False  # everything goes to one side
            at += 1
        if len(group) == 1:
            return at == len(group[0])
        sides: dict[bool, list[tuple[Event, ...]]] = {True: [], False: []}
        for trace in group:
            if at == len(trace):
                return False  # it ends where others go on
            event, first = trace[at], group[0][at]
            if not (isinstance(event, Decision) and isinstance(first, Decision) and event.forked):
                return False
            if event.asked is not first.asked:
                return False
            sides[event.answer].append(trace)
        return all(side and covers(side, at + 1) for side in sides.values())

    return bool(ways) and covers([way.trace for way in ways], 0)
