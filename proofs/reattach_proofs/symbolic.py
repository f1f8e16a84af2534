"""Symbolic values: integers and truth values that are not known yet, for ordinary Python to run on.

A ``SymbolicInt`` stands for an unbounded integer. The truth of a ``SymbolicBool`` is asked of the *execution* under
way: the executor follows both answers, a merged predicate keeps both, and on ordinary integers there are none to ask.

The world is closed. Whatever could make a symbolic value concrete in silence (hash, index, int, range, text, truth of a
number) raises ``Unsupported``, which derives from BaseException, so that no ``except Exception`` in the code under
proof can swallow it. What Python lets nobody intercept is ``is`` and ``type(x)``; that the machine applies neither to a
number is checked by tests/proofs/test_kernel.py.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from attrs import field, frozen

from reattach_proofs.terms import Interpretation, Op, Term, Unsupported, evaluate, number, truth


class Untrue(BaseException):
    """On ordinary integers something is false that was assumed, or was not decided in advance."""


class Execution(Protocol):
    """What happens to truth tests, assumptions and names while a function runs."""

    def decide(self, asked: Term) -> bool:
        """Answer one truth test."""

    def assume(self, fact: Term) -> None:
        """Rely on an instance of a contract."""

    def note(self, about: object) -> None:
        """Keep something with the path."""


_current: ContextVar[Execution | None] = ContextVar("execution", default=None)


def running() -> Execution | None:
    """The execution under way, if there is one."""
    return _current.get()


def current() -> Execution:
    """The execution under way; raises Unsupported outside of one."""
    execution = running()
    if execution is None:
        raise Unsupported("a symbolic value was tested outside of an execution")
    return execution


@contextmanager
def executing(execution: Execution | None) -> Iterator[None]:
    """Let an execution answer what is asked inside; with None, formulas can be made that belong to no run."""
    token = _current.set(execution)
    try:
        yield
    finally:
        _current.reset(token)


@frozen(eq=False)
class Concrete:
    """The execution on ordinary integers: every name has a value, and what is assumed must be true of the values."""

    interpretation: Interpretation
    seqs: tuple[int, ...] = ()
    """The seqs whose events are known, in order."""
    notes: list[object] = field(factory=list)

    def decide(self, asked: Term) -> bool:
        """Refused: there is nothing symbolic to decide."""
        raise Untrue(f"asked {asked!r} of ordinary integers")

    def assume(self, fact: Term) -> None:
        """Check it."""
        if evaluate(fact, self.interpretation) is not True:
            raise Untrue(f"assumed {fact!r}")

    def note(self, about: object) -> None:
        """Keep something."""
        self.notes.append(about)


def integer(term: Term) -> int:
    """The integer that a term stands for: symbolic, or its value where the execution is on ordinary integers."""
    value: int = _stands_for(term, SymbolicInt)
    return value


def truth_value(term: Term) -> bool:
    """The truth value that a term stands for, likewise."""
    value: bool = _stands_for(term, SymbolicBool)
    return value


def _stands_for(term: Term, kind: Callable[[Term], Any]) -> Any:
    execution = running()
    return evaluate(term, execution.interpretation) if isinstance(execution, Concrete) else kind(term)


def _refuse(what: str) -> Any:
    def refused(self: object, *_: object) -> Any:
        raise Unsupported(f"{what} of a symbolic value")

    return refused


class Symbolic:
    """What symbolic values have in common: nothing makes one concrete in silence."""

    __slots__ = ("term",)

    def __init__(self, term: Term) -> None:
        self.term = term

    def __repr__(self) -> str:
        if running() is not None:
            raise Unsupported("text of a symbolic value")
        return f"{type(self).__name__}({self.term!r})"

    __hash__ = _refuse("hash")
    __index__ = _refuse("index")
    __int__ = _refuse("int")
    __float__ = _refuse("float")
    __complex__ = _refuse("complex")
    __str__ = _refuse("text")
    __format__ = _refuse("text")
    __reduce_ex__ = _refuse("copy")


class SymbolicBool(Symbolic):
    """A truth value that is not known yet. Testing it takes a decision."""

    __slots__ = ()
    __class__ = property(lambda self: bool)  # so that isinstance tells the truth

    def __bool__(self) -> bool:
        return bool(self.term.value) if self.term.op is Op.CONSTANT else current().decide(self.term)

    def __eq__(self, other: object) -> bool:
        return bool(self) == bool(other)

    def __ne__(self, other: object) -> bool:
        return bool(self) != bool(other)

    __hash__ = _refuse("hash")


class SymbolicInt(Symbolic):
    """An integer that is not known yet: unbounded, and exact."""

    __slots__ = ()
    __class__ = property(lambda self: int)  # so that isinstance tells the truth

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


_ARITHMETIC = ("mul", "floordiv", "truediv", "mod", "divmod", "pow", "matmul", "lshift", "rshift", "and", "or", "xor")
_SINGLE = ("abs", "neg", "pos", "invert", "round", "trunc", "floor", "ceil", "len", "iter", "contains", "getitem")


def _refuse_the_rest() -> None:
    """Everything else that Python can be asked to compute, on both sides of the operator."""
    for kind in (SymbolicInt, SymbolicBool):
        for name in (*_ARITHMETIC, *(("add", "sub") if kind is SymbolicBool else ())):
            for prefix in ("", "r", "i"):
                setattr(kind, f"__{prefix}{name}__", _refuse(name))
        for name in (*_SINGLE, *(("lt", "le", "gt", "ge") if kind is SymbolicBool else ())):
            setattr(kind, f"__{name}__", _refuse(name))


_refuse_the_rest()


def term_of(value: object) -> Term:
    """The term of an integer, symbolic or not. Raises Unsupported for anything else."""
    if isinstance(value, SymbolicInt):
        return value.term
    if isinstance(value, int) and not isinstance(value, bool):
        return number(value)
    raise Unsupported(f"arithmetic of a symbolic integer with {type(value).__name__}")


def truth_of(value: object) -> Term:
    """The formula of a truth value, symbolic or not. Raises Unsupported for anything else."""
    if isinstance(value, SymbolicBool):
        return value.term
    if isinstance(value, bool):
        return truth(value)
    raise Unsupported(f"{type(value).__name__} is not a truth value")
