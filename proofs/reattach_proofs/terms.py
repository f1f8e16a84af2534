"""Terms: what a symbolic value stands for, as plain immutable data.

A term is an integer or a truth value, made of constants, names, functions of one integer, sums, comparisons and
connectives. Equal terms are one object, so identity is equality. Both solvers, the text that is written as SMT-LIB, and
the evaluation on ordinary integers read the same terms; ``solver``, ``smt`` and ``evaluate`` are the only readers.

What is simplified here is as little as keeps formulas readable, and each rule is one line: constants are computed, a
number added to a sum with a number is added to that number, and a connective drops what cannot matter.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from enum import Enum, StrEnum
from functools import lru_cache
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from attrs import field, frozen

T = TypeVar("T")


class Unsupported(BaseException):
    """Something was done to a symbolic value that has no symbolic meaning."""


class Sort(Enum):
    """What a term is."""

    INTEGER = "Int"
    TRUTH = "Bool"


class Op(StrEnum):
    """How a term is made; the values are SMT-LIB's words."""

    CONSTANT = "constant"
    NAME = "name"
    APPLY = "apply"
    PLUS = "+"
    MINUS = "-"
    LESS = "<"
    AT_MOST = "<="
    EQUAL = "="
    NOT = "not"
    AND = "and"
    OR = "or"
    CHOICE = "ite"


class Term:
    """One term. Operators make terms; the truth of one is never asked in silence."""

    __slots__ = ("__weakref__", "args", "cached", "op", "sort", "value")

    op: Op
    sort: Sort
    args: tuple["Term", ...]
    value: Any
    """The constant, the name, or the ``Function`` that is applied."""
    cached: Any
    """A solver's own form of this term, kept by ``solver``."""

    def __add__(self, other: "Term | int") -> "Term":
        return _plus(self, _term(other))

    def __sub__(self, other: "Term | int") -> "Term":
        return _minus(self, _term(other))

    def __lt__(self, other: "Term | int") -> "Term":
        return _compare(Op.LESS, self, _term(other))

    def __le__(self, other: "Term | int") -> "Term":
        return _compare(Op.AT_MOST, self, _term(other))

    def __gt__(self, other: "Term | int") -> "Term":
        return _compare(Op.LESS, _term(other), self)

    def __ge__(self, other: "Term | int") -> "Term":
        return _compare(Op.AT_MOST, _term(other), self)

    def __eq__(self, other: object) -> "Term":  # type: ignore[override]
        return _equal(self, _term(other))

    def __ne__(self, other: object) -> "Term":  # type: ignore[override]
        return negation(_equal(self, _term(other)))

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise Unsupported("the truth of a term was asked outside of the executor")

    def __repr__(self) -> str:
        if self.op is Op.CONSTANT:
            return str(self.value).lower()
        if self.op is Op.NAME:
            return str(self.value)
        head = self.value.name if self.op is Op.APPLY else self.op.value
        return f"({' '.join([head, *map(repr, self.args)])})"


@frozen
class Function:
    """A function of one integer of which nothing is known but what is assumed of it."""

    name: str
    sort: Sort = Sort.INTEGER

    def __call__(self, argument: Term) -> Term:
        return _made(Op.APPLY, self.sort, (argument,), self)


_terms: WeakValueDictionary[tuple[object, ...], Term] = WeakValueDictionary()


def _made(op: Op, sort: Sort, args: tuple[Term, ...] = (), value: object = None) -> Term:
    key = (id(op), id(sort), value, *map(id, args))
    known = _terms.get(key)
    if known is None:
        known = object.__new__(Term)
        known.op, known.sort, known.args, known.value, known.cached = op, sort, args, value, None
        _terms[key] = known
    return known


def number(value: int) -> Term:
    """An integer constant."""
    return _made(Op.CONSTANT, Sort.INTEGER, value=value)


TRUE = _made(Op.CONSTANT, Sort.TRUTH, value=True)
FALSE = _made(Op.CONSTANT, Sort.TRUTH, value=False)


def truth(value: bool) -> Term:
    """A truth constant."""
    return TRUE if value else FALSE


def integer_named(name: str) -> Term:
    """An arbitrary integer."""
    return _made(Op.NAME, Sort.INTEGER, value=name)


def truth_named(name: str) -> Term:
    """An arbitrary truth value."""
    return _made(Op.NAME, Sort.TRUTH, value=name)


def negation(term: Term) -> Term:
    """That it is false."""
    if term.op is Op.CONSTANT:
        return truth(not term.value)
    return term.args[0] if term.op is Op.NOT else _made(Op.NOT, Sort.TRUTH, (term,))


def conjunction(terms: Iterable[Term]) -> Term:
    """That all of them are true."""
    return _joined(Op.AND, terms, neutral=TRUE, decisive=FALSE)


def disjunction(terms: Iterable[Term]) -> Term:
    """That one of them is true."""
    return _joined(Op.OR, terms, neutral=FALSE, decisive=TRUE)


def implication(premise: Term, conclusion: Term) -> Term:
    """That the conclusion is true if the premise is."""
    return disjunction((negation(premise), conclusion))


def choice(condition: Term, then: Term, otherwise: Term) -> Term:
    """``then`` if the condition is true, else ``otherwise``."""
    if condition.op is Op.CONSTANT:
        return then if condition.value else otherwise
    if then is otherwise:
        return then
    if then.sort is Sort.TRUTH:
        if then is TRUE:
            return disjunction((condition, otherwise))
        if then is FALSE:
            return conjunction((negation(condition), otherwise))
        if otherwise is TRUE:
            return disjunction((negation(condition), then))
        if otherwise is FALSE:
            return conjunction((condition, then))
    return _made(Op.CHOICE, then.sort, (condition, then, otherwise))


def _joined(op: Op, terms: Iterable[Term], neutral: Term, decisive: Term) -> Term:
    parts: dict[int, Term] = {}
    for term in terms:
        if term is decisive:
            return decisive
        for part in term.args if term.op is op else (term,):
            if part is not neutral:
                parts[id(part)] = part
    if len(parts) <= 1:
        return next(iter(parts.values()), neutral)
    return _made(op, Sort.TRUTH, tuple(parts.values()))


def _term(value: object) -> Term:
    if isinstance(value, Term):
        return value
    if type(value) is int:
        return number(value)
    raise Unsupported(f"{type(value).__name__} in a term")


def _split(term: Term) -> tuple[Term | None, int]:
    """What it is apart from a constant, and the constant."""
    if term.op is Op.CONSTANT:
        return None, term.value
    if term.op is Op.PLUS and term.args[1].op is Op.CONSTANT:
        return term.args[0], term.args[1].value
    return term, 0


def _shifted(base: Term | None, by: int) -> Term:
    if base is None:
        return number(by)
    return base if by == 0 else _made(Op.PLUS, Sort.INTEGER, (base, number(by)))


def _plus(left: Term, right: Term) -> Term:
    (base, by), (other, more) = _split(left), _split(right)
    if base is None or other is None:
        return _shifted(other if base is None else base, by + more)
    return _shifted(_made(Op.PLUS, Sort.INTEGER, (base, other)), by + more)


def _minus(left: Term, right: Term) -> Term:
    (base, by), (other, less) = _split(left), _split(right)
    if other is None or base is other:
        return _shifted(None if base is other else base, by - less)
    return _shifted(_made(Op.MINUS, Sort.INTEGER, (number(0) if base is None else base, other)), by - less)


def _compare(op: Op, left: Term, right: Term) -> Term:
    (base, by), (other, more) = _split(left), _split(right)
    if base is other:
        return truth(by < more if op is Op.LESS else by <= more)
    return _made(op, Sort.TRUTH, (left, right))


def _equal(left: Term, right: Term) -> Term:
    if left.sort is not right.sort:
        raise Unsupported("an integer compared with a truth value")
    if left.sort is Sort.TRUTH:
        return choice(left, right, negation(right))
    (base, by), (other, more) = _split(left), _split(right)
    if base is other:
        return truth(by == more)
    return _made(Op.EQUAL, Sort.TRUTH, (left, right))


# Reading terms


def rebuilt(op: Op, args: tuple[Term, ...], value: Any) -> Term:
    """The term with these arguments, simplified as if it had been made by the operators."""
    match op:
        case Op.APPLY:
            return _made(Op.APPLY, value.sort, args, value)
        case Op.PLUS:
            return _plus(*args)
        case Op.MINUS:
            return _minus(*args)
        case Op.LESS | Op.AT_MOST:
            return _compare(op, *args)
        case Op.EQUAL:
            return _equal(*args)
        case Op.NOT:
            return negation(*args)
        case Op.AND:
            return conjunction(args)
        case Op.OR:
            return disjunction(args)
        case Op.CHOICE:
            return choice(*args)
        case _:
            raise Unsupported(f"{op.value} has no arguments")


def substitute(term: Term, replaced: Mapping[Term, Term]) -> Term:
    """The term with names replaced."""
    return _substituted(term, tuple(replaced.items()))


@lru_cache(maxsize=100_000)
def _substituted(term: Term, replaced: tuple[tuple[Term, Term], ...]) -> Term:
    new = dict(replaced)

    def replace(each: Term, args: tuple[Term, ...]) -> Term:
        if not args:
            return new.get(each, each)
        return each if all(map(operator.is_, args, each.args)) else rebuilt(each.op, args, each.value)

    return fold(term, replace, {})


def fold(term: Term, combine: Callable[[Term, tuple[T, ...]], T], known: MutableMapping[Term, T]) -> T:
    """Combine the results of a term's arguments into its own, each shared part once; ``known`` keeps the results."""
    if term in known:
        return known[term]
    waiting = [term]
    while waiting:
        part = waiting[-1]
        missing = [arg for arg in part.args if arg not in known]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if part not in known:
            known[part] = combine(part, tuple([known[arg] for arg in part.args]))
    return known[term]


def parts(terms: Iterable[Term]) -> dict[Term, int]:
    """All parts of the terms, arguments first, with the number of places where each occurs."""
    found: dict[Term, int] = {}

    def count(part: Term, _: tuple[int, ...]) -> int:
        for arg in part.args:
            found[arg] += 1
        return found.setdefault(part, 0)

    for term in terms:
        fold(term, count, found)
        found[term] += 1
    return found


@frozen(eq=False)
class Interpretation:
    """Ordinary values for names and functions."""

    names: Mapping[str, int | bool]
    functions: Mapping[str, Callable[[int], int | bool]]
    known: dict[Term, Any] = field(factory=dict)
    """Terms that were evaluated."""


def evaluate(term: Term, interpretation: Interpretation) -> Any:
    """The term's value, by Python's own arithmetic. Raises KeyError for a name or function without a value."""

    def combine(each: Term, args: tuple[Any, ...]) -> Any:
        compute = _COMPUTED.get(each.op)
        if compute is not None:
            return compute(*args)
        match each.op:
            case Op.AND:
                return all(args)
            case Op.OR:
                return any(args)
            case Op.NAME:
                return _of_sort(each.sort, interpretation.names[each.value])
            case Op.APPLY:
                return _of_sort(each.sort, interpretation.functions[each.value.name](*args))
            case _:
                return each.value

    return fold(term, combine, interpretation.known)


def _of_sort(sort: Sort, value: int | bool) -> int | bool:
    return bool(value) if sort is Sort.TRUTH else value


_COMPUTED: dict[Op, Callable[..., Any]] = {
    Op.PLUS: operator.add,
    Op.MINUS: operator.sub,
    Op.LESS: operator.lt,
    Op.AT_MOST: operator.le,
    Op.EQUAL: operator.eq,
    Op.NOT: operator.not_,
    Op.CHOICE: lambda condition, then, otherwise: then if condition else otherwise,
}
