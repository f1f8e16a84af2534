"""The executor: runs ordinary Python on symbolic integers and follows every path.

``explore`` calls a function again and again. Inside, a ``SymbolicInt`` stands for an unbounded integer; each truth test
of a ``SymbolicBool`` asks the solver which answers are possible here, takes one, and leaves the other for a later run,
which repeats the same decisions up to that point and then takes the other. What comes back is one ``Path`` per way
through the function: its condition, the facts it relied on, and its result. There is no second encoding of any rule.

The world is closed. Whatever could make a symbolic value concrete in silence (hash, index, int, range, text, truth of a
number) raises ``Unsupported``. That and the other signals derive from BaseException, so that no ``except Exception``
in the code under proof can swallow them. If the solver does not know, that is an error, never an answer. If a repeated
run meets another question than the run before it did, the code is not deterministic, and that is an error too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

import z3
from attrs import define, field, frozen

T = TypeVar("T")

RLIMIT = 50_000_000
"""Effort per solver call, in Z3's own resource units; deterministic, unlike a clock."""


class Unsupported(BaseException):
    """The code under proof did something to a symbolic value that has no symbolic meaning."""


class Unknown(BaseException):
    """The solver gave no answer within its effort."""


class Nondeterministic(BaseException):
    """A repeated run asked something else than the run it repeats."""


class Dismissed(BaseException):
    """The run assumed something that cannot be; its path does not exist."""


@frozen
class Decision:
    """One truth test: its condition as it was asked, the answer taken, and whether the other was possible too."""

    asked: z3.BoolRef
    answer: bool
    forked: bool


@frozen
class Path(Generic[T]):
    """One way through the function."""

    condition: tuple[z3.BoolRef, ...]
    """The answers to all its truth tests, as formulas."""
    facts: tuple[z3.BoolRef, ...]
    """What was assumed along the way: instances of the contracts of what stands in for unbounded data."""
    result: T

    def formula(self) -> z3.BoolRef:
        """That this path is taken."""
        return conjunction((*self.condition, *self.facts))


@define
class Run:
    """The execution under way: the decisions to repeat, those taken, the facts, and the solver that holds them all."""

    solver: z3.Solver | None
    """None: no question is asked, both answers are followed."""
    repeat: tuple[Decision, ...] = ()
    taken: list[Decision] = field(factory=list)
    facts: list[z3.BoolRef] = field(factory=list)
    checks: int = 0

    def decide(self, asked: z3.BoolRef) -> bool:
        """Answer one truth test."""
        at = len(self.taken)
        if at < len(self.repeat):
            decision = self.repeat[at]
            if not decision.asked.eq(asked):
                raise Nondeterministic(f"test {at} was {decision.asked}, now {asked}")
        elif self.solver is None:
            decision = Decision(asked, answer=True, forked=True)
        else:
            yes, no = self.possible(asked), self.possible(z3.Not(asked))
            if not yes and not no:
                raise Dismissed
            decision = Decision(asked, answer=yes, forked=yes and no)
        self.taken.append(decision)
        if self.solver is not None:
            self.solver.add(_formula(decision))
        return decision.answer

    def assume(self, fact: z3.BoolRef) -> None:
        """Add an instance of a contract."""
        self.facts.append(fact)
        if self.solver is not None:
            self.solver.add(fact)

    def possible(self, condition: z3.BoolRef) -> bool:
        """Whether the condition can hold here. Raises Unknown."""
        self.checks += 1
        return self.solver is None or satisfiable(self.solver, condition)

    def entails(self, condition: z3.BoolRef) -> bool:
        """Whether the condition must hold here. Raises Unknown."""
        return not self.possible(z3.Not(condition))


_current: ContextVar[Run] = ContextVar("run")


def current() -> Run:
    """The execution under way; raises Unsupported outside of one."""
    run = _current.get(None)
    if run is None:
        raise Unsupported("a symbolic value was tested outside of explore()")
    return run


def satisfiable(solver: z3.Solver, *conditions: z3.BoolRef) -> bool:
    """Whether the conditions can hold together with what the solver holds. Raises Unknown."""
    answer = solver.check(*conditions)
    if answer == z3.unknown:
        raise Unknown(solver.reason_unknown())
    return bool(answer == z3.sat)


def new_solver(*assumptions: z3.BoolRef) -> z3.Solver:
    """A solver with a fixed seed and bounded effort, holding the assumptions."""
    solver = z3.Solver()
    solver.set("rlimit", RLIMIT)
    solver.set("random_seed", 0)
    solver.add(*assumptions)
    return solver


def explore(function: Callable[[], T], *assumptions: z3.BoolRef, solver: z3.Solver | None = None) -> list[Path[T]]:
    """Every path of ``function`` that is possible under the assumptions, in a fixed order."""
    return list(paths(function, *assumptions, solver=solver))


def paths(function: Callable[[], T], *assumptions: z3.BoolRef, solver: z3.Solver | None = None) -> Iterator[Path[T]]:
    """The same, one at a time."""
    held = solver or new_solver()
    pending: list[tuple[Decision, ...]] = [()]
    while pending:
        repeat = pending.pop()
        held.push()
        try:
            held.add(*assumptions)
            run = Run(held, repeat)
            with _running(run):
                try:
                    result = function()
                except Dismissed:
                    continue
                if not satisfiable(held):
                    continue  # what was assumed last rules the path out
            for at in range(len(run.taken) - 1, len(repeat) - 1, -1):
                decision = run.taken[at]
                if decision.forked:
                    other = Decision(decision.asked, answer=False, forked=False)
                    pending.append((*run.taken[:at], other))
            yield Path(tuple(_formula(decision) for decision in run.taken), tuple(run.facts), result)
        finally:
            held.pop()


@contextmanager
def _running(run: Run) -> Iterator[None]:
    token = _current.set(run)
    try:
        yield
    finally:
        _current.reset(token)


def _formula(decision: Decision) -> z3.BoolRef:
    return decision.asked if decision.answer else z3.Not(decision.asked)


def conjunction(formulas: tuple[z3.BoolRef, ...]) -> z3.BoolRef:
    """All of them; true if there is none."""
    return z3.And(*formulas) if formulas else z3.BoolVal(True)


def _refuse(what: str) -> Any:
    def refused(self: object, *_: object) -> Any:
        raise Unsupported(f"{what} of a symbolic value")

    return refused


class SymbolicBool:
    """A truth value that is not known yet. Testing it takes a decision."""

    __slots__ = ("term",)

    def __init__(self, term: z3.BoolRef) -> None:
        self.term = term

    def __bool__(self) -> bool:
        asked = z3.simplify(self.term)
        return True if z3.is_true(asked) else False if z3.is_false(asked) else current().decide(asked)

    def __eq__(self, other: object) -> bool:
        return bool(self) == bool(other)

    def __ne__(self, other: object) -> bool:
        return bool(self) != bool(other)

    __hash__ = _refuse("hash")
    __index__ = _refuse("index")
    __int__ = _refuse("int")
    __str__ = _refuse("text")
    __format__ = _refuse("text")

    def __repr__(self) -> str:
        return f"SymbolicBool({self.term})"


class SymbolicInt:
    """An integer that is not known yet: unbounded, and exact."""

    __slots__ = ("term",)

    def __init__(self, term: z3.ArithRef) -> None:
        self.term = term

    def __add__(self, other: object) -> "SymbolicInt":
        return SymbolicInt(self.term + term_of(other))

    __radd__ = __add__

    def __sub__(self, other: object) -> "SymbolicInt":
        return SymbolicInt(self.term - term_of(other))

    def __rsub__(self, other: object) -> "SymbolicInt":
        return SymbolicInt(term_of(other) - self.term)

    def __lt__(self, other: object) -> SymbolicBool:
        return SymbolicBool(self.term < term_of(other))

    def __le__(self, other: object) -> SymbolicBool:
        return SymbolicBool(self.term <= term_of(other))

    def __gt__(self, other: object) -> SymbolicBool:
        return SymbolicBool(self.term > term_of(other))

    def __ge__(self, other: object) -> SymbolicBool:
        return SymbolicBool(self.term >= term_of(other))

    def __eq__(self, other: object) -> SymbolicBool:  # type: ignore[override]
        return SymbolicBool(self.term == term_of(other))

    def __ne__(self, other: object) -> SymbolicBool:  # type: ignore[override]
        return SymbolicBool(self.term != term_of(other))

    __hash__ = _refuse("hash")
    __bool__ = _refuse("integer truth")
    __index__ = _refuse("index")
    __int__ = _refuse("int")
    __mul__ = _refuse("product")
    __rmul__ = _refuse("product")
    __floordiv__ = _refuse("quotient")
    __rfloordiv__ = _refuse("quotient")
    __truediv__ = _refuse("quotient")
    __mod__ = _refuse("remainder")
    __rmod__ = _refuse("remainder")
    __pow__ = _refuse("power")
    __abs__ = _refuse("absolute value")
    __neg__ = _refuse("negation")
    __str__ = _refuse("text")
    __format__ = _refuse("text")

    def __repr__(self) -> str:
        return f"SymbolicInt({self.term})"


def term_of(value: object) -> z3.ArithRef:
    """The solver's term of an integer, symbolic or not. Raises Unsupported for anything else."""
    if isinstance(value, SymbolicInt):
        return value.term
    if isinstance(value, int) and not isinstance(value, bool):
        return z3.IntVal(value)
    raise Unsupported(f"arithmetic of a symbolic integer with {type(value).__name__}")


def truth_of(value: object) -> z3.BoolRef:
    """The formula of a truth value, symbolic or not. Raises Unsupported for anything else."""
    if isinstance(value, SymbolicBool):
        return value.term
    if isinstance(value, bool):
        return z3.BoolVal(value)
    raise Unsupported(f"{type(value).__name__} is not a truth value")


def merged(predicate: Callable[[], object]) -> z3.BoolRef:
    """One formula that says that the predicate is true: the conditions of its true paths, or-ed together.

    The predicate's code is run for each combination of answers, possible or not, and no solver is asked; from then on
    the formula stands for it. Contracts that it calls on are assumed in the run around it, if there is one.
    """
    around = _current.get(None)
    ways: list[z3.BoolRef] = []
    pending: list[tuple[Decision, ...]] = [()]
    while pending:
        repeat = pending.pop()
        run = Run(None, repeat)
        with _running(run):
            result = truth_of(predicate())
        for at in range(len(repeat), len(run.taken)):
            pending.append((*run.taken[:at], Decision(run.taken[at].asked, answer=False, forked=False)))
        for fact in run.facts:
            if around is None:
                raise Unsupported("a predicate called on a contract outside of a run")
            around.assume(fact)
        ways.append(conjunction((*(_formula(decision) for decision in run.taken), result)))
    return z3.Or(*ways)
