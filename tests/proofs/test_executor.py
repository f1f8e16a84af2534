"""The executor: right, or refused; never wrong in silence.

The constructs are those that research on symbolic execution of Python found to go wrong: each is run on symbolic values
and must follow exactly the paths that ordinary integers can take, or raise.
"""

# ruff: noqa: SIM201, SIM300  # how a comparison is written is what is tested

import random
from collections.abc import Callable
from enum import Enum
from functools import lru_cache, partial
from itertools import product
from typing import Any

import attrs
import pytest

from reattach_proofs import executor, symbolic
from reattach_proofs.executor import (
    Dismissed,
    Nondeterministic,
    Path,
    explore,
    is_tree,
    merged,
    missing,
    paths,
)
from reattach_proofs.solver import Solver, Unknown
from reattach_proofs.symbolic import Concrete, SymbolicBool, SymbolicInt, Untrue, current, executing, integer, truth_of
from reattach_proofs.terms import (
    TRUE,
    Interpretation,
    Term,
    Unsupported,
    conjunction,
    evaluate,
    integer_named,
    negation,
    number,
    truth_named,
)

X, Y, Z = (integer_named(name) for name in "xyz")
SMALL = range(-3, 5)


def x() -> Any:
    return integer(X)


def y() -> Any:
    return integer(Y)


def z() -> Any:
    return integer(Z)


@attrs.frozen
class Pair:
    """A value class as the machine has them."""

    left: Any
    right: Any


class Kind(Enum):
    """A tag as the machine has them."""

    ONE = 1
    TWO = 2


# What is right


def chained() -> object:
    return "between" if x() < y() < z() else "not"


def conjunct() -> object:
    return "both" if x() == 1 and y() == 2 else "not both"


def disjunct() -> object:
    return "one" if x() == 1 or y() == 2 else "none"


def negated() -> object:
    return "differ" if not x() == y() else "same"


def last_operand() -> object:
    return x() < y() and y() < z()


def member_of_a_tuple() -> object:
    return "in" if x() in (1, y(), 3) else "out"


def member_of_a_list() -> object:
    return "in" if x() in [1, y()] else "out"


def any_of() -> object:
    return "some" if any(x() == each for each in (1, 2)) else "none"


def all_of() -> object:
    return "all" if all(x() <= each for each in (y(), z())) else "not all"


def tuples_equal() -> object:
    return "same" if (x(), 1) == (y(), 1) else "differ"


def tuples_unequal() -> object:
    return "differ" if (x(), y()) != (1, 2) else "same"


def value_classes_equal() -> object:
    return "same" if Pair(x(), y()) == Pair(1, 2) else "differ"


def value_classes_unequal() -> object:
    return "differ" if Pair(x(), y()) != Pair(1, 2) else "same"


def literal_pattern() -> object:
    match x():
        case 0:
            return "zero"
        case 1 | 2:
            return "few"
        case int():
            return "another integer"
        case _:
            return "no integer"


def class_pattern_with_a_value() -> object:
    match Pair(x(), y()):
        case Pair(1, right):
            return "one", "two" if right == 2 else "other"
        case Pair():
            return "not one"


def guard() -> object:
    match x():
        case value if value < y():
            return "less"
        case _:
            return "not less"


def is_an_integer() -> object:
    return isinstance(x(), int), isinstance(x() < 1, bool), isinstance(x(), bool), isinstance(x(), str)


def greatest_and_least() -> object:
    return max(x(), y()) - min(x(), y())


def maximum_of_three() -> object:
    return max(0, x(), y())


def summed() -> object:
    return sum([x(), y(), 1])


def in_order() -> object:
    return tuple(sorted([x(), y()]))


def filtered() -> object:
    return len([each for each in (1, 2, 3) if each > x()])


def evolved() -> object:
    return attrs.evolve(Pair(x(), 1), right=y()).right - x()


def member_of_a_range() -> object:
    return "in" if x() in range(1, 3) else "out"


def identity_of_tags() -> object:
    kind = Kind.ONE if x() < 0 else Kind.TWO
    return kind is Kind.ONE


def caught() -> object:
    try:
        if x() < 0:
            raise ValueError
    except Exception:
        return "caught"
    return "fine"


def same_question_twice() -> object:
    first = x() < y()
    return bool(first) == bool(x() < y())


def loop_with_a_bound() -> object:
    count, value = 0, x()
    for _ in range(3):
        if value > 0:
            value = value - 1
            count += 1
    return count


def truth_compared() -> object:
    return (x() < 0) == (y() < 0), (x() < 0) != True  # noqa: E712


def reflected() -> object:
    return 5 - x() + 1, 1 + x(), 3 < x(), 3 == x()


RIGHT = [
    chained,
    conjunct,
    disjunct,
    negated,
    last_operand,
    member_of_a_tuple,
    member_of_a_list,
    any_of,
    all_of,
    tuples_equal,
    tuples_unequal,
    value_classes_equal,
    value_classes_unequal,
    literal_pattern,
    class_pattern_with_a_value,
    guard,
    is_an_integer,
    greatest_and_least,
    maximum_of_three,
    summed,
    in_order,
    filtered,
    evolved,
    member_of_a_range,
    identity_of_tags,
    caught,
    same_question_twice,
    loop_with_a_bound,
    truth_compared,
    reflected,
]


def plain(value: object, meaning: Interpretation) -> object:
    if isinstance(value, tuple):
        return tuple(plain(part, meaning) for part in value)
    return evaluate(value.term, meaning) if isinstance(value, symbolic.Symbolic) else value


@pytest.mark.parametrize("function", RIGHT, ids=lambda function: function.__name__)
def test_a_construct_is_right(function: Callable[[], object]) -> None:
    """Every assignment of small integers takes exactly one path, whose result is the function's on those integers."""
    found = explore(function)
    assert is_tree(found)
    for values in product(SMALL, repeat=3):
        names = dict(zip("xyz", values, strict=True))
        meaning = Interpretation(names, {})
        taken = [path for path in found if evaluate(path.formula(), meaning)]
        assert len(taken) == 1
        with executing(Concrete(Interpretation(names, {}))):
            expected = function()
        assert plain(taken[0].result, meaning) == expected


# What is refused


REFUSED: dict[str, Callable[[], object]] = {
    "truth of a number": lambda: 1 if x() else 0,
    "not a number": lambda: not x(),
    "or of numbers": lambda: x() or 1,
    "hash": lambda: hash(x()),
    "dictionary key": lambda: {1: "one"}.get(x()),
    "set member": lambda: x() in {1, 2},
    "frozen set": lambda: frozenset([x()]),
    "hash of a value class": lambda: hash(Pair(x(), 1)),
    "cache": lambda: lru_cache(lambda value: value)(x()),
    "index": lambda: [1, 2, 3][x()],
    "slice": lambda: [1, 2, 3][: x()],
    "range": lambda: range(x()),
    "repetition": lambda: [0] * x(),
    "int": lambda: int(x()),
    "float": lambda: float(x()),
    "text": lambda: str(x()),
    "format": lambda: f"{x()}",
    "format of a representation": lambda: f"{x()!r}",
    "representation": lambda: repr(x()),
    "representation of a value class": lambda: repr(Pair(x(), 1)),
    "old format": lambda: "%d" % x(),  # noqa: UP031
    "text of a truth value": lambda: str(x() < 1),
    "product": lambda: x() * 2,
    "reflected product": lambda: 2 * x(),
    "quotient": lambda: x() // 2,
    "reflected quotient": lambda: 7 // x(),
    "true quotient": lambda: x() / 2,
    "remainder": lambda: x() % 2,
    "quotient and remainder": lambda: divmod(x(), 2),
    "power": lambda: x() ** 2,
    "power of two": lambda: 2 ** x(),
    "shift": lambda: x() << 1,
    "bits": lambda: x() & 1,
    "reflected bits": lambda: 1 | x(),
    "bits of truth values": lambda: (x() < 1) & (y() < 1),
    "inverted truth value": lambda: ~(x() < 1),
    "sum of truth values": lambda: (x() < 1) + (y() < 1),
    "counted truth values": lambda: sum(each < x() for each in (1, 2)),
    "order of truth values": lambda: (x() < 1) < (y() < 1),
    "index with a truth value": lambda: [1, 2][x() < 1],
    "key of a truth value": lambda: {True: 1}[x() < 1],
    "absolute value": lambda: abs(x()),
    "negative": lambda: -x(),
    "rounding": lambda: round(x()),
    "iteration": lambda: list(x()),
    "length": lambda: len(x()),
    "membership": lambda: 1 in x(),
    "comparison with nothing": lambda: x() == None,  # noqa: E711
    "comparison with text": lambda: x() == "1",
    "comparison with a truth value": lambda: x() == True,  # noqa: E712
    "comparison with a fraction": lambda: x() < 0.5,
    "pickle": lambda: __import__("pickle").dumps(x()),
}


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED)
def test_a_construct_is_refused(function: Callable[[], object]) -> None:
    with pytest.raises(Unsupported):
        explore(function)


def test_a_loop_that_does_not_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "LONGEST", 50)

    def counts_down() -> int:
        value, count = x(), 0
        while value > 0:
            value, count = value - 1, count + 1
        return count

    with pytest.raises(Unsupported):
        explore(counts_down)
    with pytest.raises(Unsupported):
        explore(lambda: merged(lambda: counts_down() > 0))


def test_a_refusal_is_not_swallowed_by_the_code_under_proof() -> None:
    def swallows() -> object:
        try:
            return {x(): 1}
        except Exception:
            return "swallowed"

    with pytest.raises(Unsupported):
        explore(swallows)


@pytest.mark.parametrize("signal", [Unsupported, Unknown, Nondeterministic, Dismissed, Untrue])
def test_signals_are_no_exceptions(signal: type[BaseException]) -> None:
    assert not issubclass(signal, Exception)


def test_nothing_is_decided_outside_of_an_execution() -> None:
    with pytest.raises(Unsupported):
        bool(SymbolicInt(X) < 1)
    assert repr(SymbolicInt(X)) == "SymbolicInt(x)"


# Paths


def test_what_is_true_is_found_true_and_what_is_false_false() -> None:
    def claim(strict: bool) -> Term:
        low, high = min(x(), y()), max(x(), y())
        return truth_of(low < high if strict else low <= high)

    for strict, holds in ((False, True), (True, False)):
        solver = Solver()
        proved = [not solver.satisfiable(negation(path.result)) for path in paths(partial(claim, strict), solver)]
        assert all(proved) is holds


def test_assumptions_rule_paths_out() -> None:
    def sign() -> str:
        return "negative" if x() < 0 else "zero" if x() == 0 else "positive"

    assert [path.result for path in explore(sign)] == ["negative", "zero", "positive"]
    assert [path.result for path in explore(sign, X > 0)] == ["positive"]
    assert explore(sign, X > 0, X < 0) == []


def test_a_fact_that_excludes_a_path_makes_a_dead_end() -> None:
    def run() -> str:
        if x() < 0:
            current().assume(X > 5)
            return "impossible"
        return "possible"

    dead_ends: list[executor.DeadEnd] = []
    solver = Solver()
    found = list(paths(run, solver, dead_ends=dead_ends))
    assert [path.result for path in found] == ["possible"]
    assert len(dead_ends) == 1
    ways: list[Path[str] | executor.DeadEnd] = [*found, *dead_ends]
    assert is_tree(ways)
    assert not any(Solver().satisfiable(missing(way)) for way in ways)


def test_what_two_paths_have_in_common_stays_on_the_solver() -> None:
    def run() -> tuple[bool, ...]:
        current().assume(X < Y)
        return tuple(bool(value < 0) for value in (x(), y(), z()))

    solver = Solver()
    found = []
    for path in paths(run, solver):
        assert not solver.satisfiable(negation(path.formula()))  # it holds all of the path, and nothing of another
        assert solver.satisfiable(path.formula())
        found.append(path.result)
    assert len(found) == len(set(found)) == 6
    assert solver.satisfiable(X > Y)  # and nothing of any, afterwards


def test_an_exception_leaves_the_solver_as_it_was() -> None:
    def run() -> int:
        if x() < 0 and y() < 0:
            raise ValueError
        return 1

    solver = Solver()
    with pytest.raises(ValueError):  # noqa: PT011
        list(paths(run, solver))
    assert solver.satisfiable(X > 0)
    solver.push()
    solver.pop()


def test_every_path_has_values_for_which_it_is_taken() -> None:
    for path in explore(chained):
        assert evaluate(path.formula(), path.model.interpretation) is True


def test_a_function_that_does_something_else_the_second_time_is_found() -> None:
    chance = random.Random(0)

    def run() -> object:
        return bool(x() < chance.randrange(1000)) and bool(y() < chance.randrange(1000))

    with pytest.raises(Nondeterministic):
        explore(run)


def test_a_function_that_assumes_something_else_the_second_time_is_found() -> None:
    times = iter(range(100))

    def run() -> object:
        current().assume(Z > next(times))
        return bool(x() < 0)

    with pytest.raises(Nondeterministic):
        explore(run)


def test_a_function_that_stops_short_the_second_time_is_found() -> None:
    times = iter([True, False, False, False])

    def run() -> object:
        return bool(x() < 0) and bool(y() < 0) if next(times) else 0

    with pytest.raises(Nondeterministic):
        explore(run)


def test_a_predicate_that_is_not_deterministic_is_found() -> None:
    chance = random.Random(0)
    with pytest.raises(Nondeterministic):
        merged(lambda: bool(SymbolicInt(X) < chance.randrange(1000)) and bool(SymbolicInt(Y) < chance.randrange(1000)))


def test_an_effort_that_does_not_suffice_is_unknown() -> None:
    hard = conjunction([(X + Y - Z < number(7)), (Y + Z > X + 12), (X + X + X + Y > Z + Z + 100)])
    with pytest.raises(Unknown):
        Solver(rlimit=1).satisfiable(hard)
    assert Solver().satisfiable(hard)


# Exhaustive and disjoint


def _ways() -> list[Path[object]]:
    return explore(lambda: (bool(x() < y()), bool(y() < z()), bool(x() < z())))


def test_a_missing_path_is_found() -> None:
    ways = _ways()
    assert is_tree(ways)
    assert not any(is_tree(ways[:at] + ways[at + 1 :]) for at in range(len(ways)))
    assert not is_tree([])


def test_a_path_that_is_there_twice_is_found() -> None:
    ways = _ways()
    assert not is_tree([*ways, ways[0]])


def test_an_answer_that_was_wrongly_thought_impossible_is_found() -> None:
    (path,) = explore(lambda: bool(x() < 1), X < 0)
    assert Solver().satisfiable(missing(path))  # without the assumption, the other answer is possible
    within = Solver()
    within.add(X < 0)
    assert not within.satisfiable(missing(path))


def test_facts_that_come_later_do_not_hide_a_missing_answer() -> None:
    asked = executor.Decision(X < 1, True, forked=False)
    model = explore(lambda: None)[0].model
    late: Path[object] = Path((asked, X < 0), None, model)
    early: Path[object] = Path((X < 0, asked), None, model)
    assert Solver().satisfiable(missing(late))
    assert not Solver().satisfiable(missing(early))


def test_a_dead_end_that_can_be_reached_is_found() -> None:
    assert Solver().satisfiable(missing(executor.DeadEnd((X < 0,), 0)))
    assert not Solver().satisfiable(missing(executor.DeadEnd((X < 0, X > 0), 0)))


# Merged predicates


PREDICATES: dict[str, Callable[[], object]] = {
    "chained": lambda: x() < y() < z(),
    "implication": lambda: not (x() < 0) or y() < 0,
    "last operand": lambda: x() == 1 and y() < z(),
    "constant": lambda: True,
    "any": lambda: any(x() == each for each in (1, y())),
    "branches": lambda: y() < 0 if x() < 0 else z() < 0,
}


@pytest.mark.parametrize("predicate", PREDICATES.values(), ids=PREDICATES)
def test_a_merged_predicate_is_the_predicate(predicate: Callable[[], object]) -> None:
    formula = merged(predicate)
    for values in product(SMALL, repeat=3):
        names = dict(zip("xyz", values, strict=True))
        with executing(Concrete(Interpretation(names, {}))):
            expected = predicate()
        assert evaluate(formula, Interpretation(names, {})) is expected


def test_a_predicate_must_say_yes_or_no() -> None:
    with pytest.raises(Unsupported):
        merged(lambda: None)
    with pytest.raises(Unsupported):
        merged(lambda: SymbolicInt(X))


def test_what_a_predicate_assumes_is_assumed_around_it() -> None:
    def relies() -> object:
        current().assume(Y > 0)
        return x() < y()

    with pytest.raises(Unsupported):
        merged(relies)
    (path,) = explore(lambda: merged(relies))
    assert (Y > 0) in path.trace
    assert path.result is (X < Y)


# On ordinary integers


def test_on_ordinary_integers_nothing_is_symbolic() -> None:
    with executing(Concrete(Interpretation({"x": 3, "p": True}, {}))):
        assert integer(X) == 3
        assert type(integer(X)) is int
        assert symbolic.truth_value(truth_named("p")) is True
        assert merged(lambda: integer(X) < 4) is TRUE
        current().assume(X > 2)
        with pytest.raises(Untrue):
            current().assume(X > 3)
        with pytest.raises(Untrue):
            bool(SymbolicBool(X > 3))
