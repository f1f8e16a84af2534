"""Terms: what is simplified means the same, and nothing is a term in silence."""

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reattach_proofs import terms
from reattach_proofs.solver import Solver
from reattach_proofs.terms import (
    FALSE,
    TRUE,
    Function,
    Interpretation,
    Op,
    Sort,
    Term,
    Unsupported,
    choice,
    conjunction,
    disjunction,
    evaluate,
    implication,
    integer_named,
    negation,
    number,
    parts,
    substitute,
    truth_named,
)

X, Y, Z = (integer_named(name) for name in "xyz")
P, Q = truth_named("p"), truth_named("q")
F = Function("f")

integers = st.recursive(
    st.one_of(st.sampled_from([X, Y, Z]), st.integers(-3, 3).map(number)),
    lambda of: st.one_of(
        st.builds(lambda a, b: a + b, of, of),
        st.builds(lambda a, b: a - b, of, of),
        st.builds(F, of),
        st.builds(lambda a, b, c: choice(a < b, c, a), of, of, of),
    ),
    max_leaves=6,
)
truths = st.recursive(
    st.one_of(
        st.sampled_from([P, Q, TRUE, FALSE]),
        st.builds(lambda a, b: a < b, integers, integers),
        st.builds(lambda a, b: a <= b, integers, integers),
        st.builds(lambda a, b: a == b, integers, integers),
        st.builds(lambda a, b: a != b, integers, integers),
        st.builds(lambda a, b: a > b, integers, integers),
        st.builds(lambda a, b: a >= b, integers, integers),
    ),
    lambda of: st.one_of(
        of.map(negation),
        st.lists(of, max_size=3).map(conjunction),
        st.lists(of, max_size=3).map(disjunction),
        st.builds(implication, of, of),
        st.builds(choice, of, of, of),
        st.builds(lambda a, b: a == b, of, of),
    ),
    max_leaves=8,
)
values = st.fixed_dictionaries(
    {"x": st.integers(-4, 4), "y": st.integers(-4, 4), "z": st.integers(-4, 4), "p": st.booleans(), "q": st.booleans()}
)


def interpreted(names: dict[str, int | bool]) -> Interpretation:
    return Interpretation(names, {"f": lambda argument: 2 * argument + 1})


def rebuilt_plainly(term: Term, names: dict[str, int | bool]) -> int | bool:
    """The value by Python's operators alone, applied to the arguments in the order they are written."""
    args = [rebuilt_plainly(arg, names) for arg in term.args]
    match term.op:
        case Op.CONSTANT:
            assert isinstance(term.value, int)
            return term.value
        case Op.NAME:
            return names[term.value]
        case Op.APPLY:
            return 2 * args[0] + 1
        case Op.PLUS:
            return args[0] + args[1]
        case Op.MINUS:
            return args[0] - args[1]
        case Op.LESS:
            return args[0] < args[1]
        case Op.AT_MOST:
            return args[0] <= args[1]
        case Op.EQUAL:
            return args[0] == args[1]
        case Op.NOT:
            return not args[0]
        case Op.AND:
            return all(args)
        case Op.OR:
            return any(args)
        case Op.CHOICE:
            return args[1] if args[0] else args[2]


@given(truths, values)
def test_the_value_of_a_term_is_pythons(term: Term, names: dict[str, int | bool]) -> None:
    assert evaluate(term, interpreted(names)) == rebuilt_plainly(term, names)


@given(integers, integers, values)
def test_sums_and_comparisons_mean_what_they_say(left: Term, right: Term, names: dict[str, int | bool]) -> None:
    meaning = interpreted(names)
    a, b = evaluate(left, meaning), evaluate(right, meaning)
    for made, meant in (
        (left + right, a + b),
        (left - right, a - b),
        (left < right, a < b),
        (left <= right, a <= b),
        (left > right, a > b),
        (left >= right, a >= b),
        (left == right, a == b),
        (left != right, a != b),
    ):
        assert evaluate(made, meaning) == meant


@given(truths, truths, truths, values)
def test_connectives_mean_what_they_say(one: Term, two: Term, three: Term, names: dict[str, int | bool]) -> None:
    meaning = interpreted(names)
    a, b, c = (evaluate(term, meaning) for term in (one, two, three))
    for made, meant in (
        (negation(one), not a),
        (conjunction([one, two, three]), a and b and c),
        (disjunction([one, two, three]), a or b or c),
        (implication(one, two), not a or b),
        (choice(one, two, three), b if a else c),
        (one == two, a == b),
    ):
        assert evaluate(made, meaning) == meant


@given(truths, integers, values)
def test_a_substitution_is_the_value_put_in(term: Term, put: Term, names: dict[str, int | bool]) -> None:
    inner = evaluate(put, interpreted(names))
    assert evaluate(substitute(term, {X: put}), interpreted(names)) == evaluate(
        term, interpreted({**names, "x": inner})
    )


@given(truths, values)
def test_z3_reads_a_term_as_python_does(term: Term, names: dict[str, int | bool]) -> None:
    solver = Solver()
    for name, value in names.items():
        if isinstance(value, bool):
            solver.add(truth_named(name) if value else negation(truth_named(name)))
        else:
            solver.add(integer_named(name) == value)
    occurring = [part for part in parts([term]) if part.op is Op.APPLY]
    meaning = interpreted(names)
    for applied in occurring:  # the function is free for Z3, so it is told the values that matter
        solver.add(applied == evaluate(applied, meaning))
    expected = evaluate(term, meaning)
    assert solver.satisfiable(term) is expected
    assert solver.satisfiable(negation(term)) is not expected


def test_equal_terms_are_one_object() -> None:
    assert X + 1 is X + 1
    assert (X < Y) is (Y > X)
    assert (X + 1) + 1 is X + 2
    assert (X + 2) - 2 is X
    assert (X + 1 < X + 2) is TRUE
    assert (F(X) == F(X)) is TRUE
    assert conjunction([P, conjunction([Q, P])]) is conjunction([P, Q])


def test_terms_that_nobody_has_are_forgotten() -> None:
    before = len(terms._terms)
    made = [F(integer_named(f"short-lived {at}")) for at in range(100)]
    assert len(terms._terms) >= before + 200
    del made
    gc.collect()
    assert len(terms._terms) <= before + 10


@pytest.mark.parametrize("value", [True, 1.0, None, "x", [X]])
def test_only_integers_are_terms(value: object) -> None:
    with pytest.raises(Unsupported):
        X.__lt__(value)  # type: ignore[operator]


def test_the_truth_of_a_term_is_not_asked() -> None:
    with pytest.raises(Unsupported):
        bool(X == Y)
    with pytest.raises(Unsupported):
        bool(P and Q)


def test_an_integer_is_not_compared_with_a_truth_value() -> None:
    with pytest.raises(Unsupported):
        X == P  # noqa: B015
    assert X.sort is Sort.INTEGER
    assert P.sort is Sort.TRUTH


def test_a_name_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        evaluate(X, Interpretation({}, {}))


def test_parts_come_after_their_own_parts_with_their_number_of_places() -> None:
    term = conjunction([X < Y, F(X) < Y])
    found = parts([term, term])
    order = {part: at for at, part in enumerate(found)}
    assert all(order[arg] < order[part] for part in order for arg in part.args)
    assert found[term] == 2
    assert found[Y] == 2
    assert found[X] == 2
    assert found[F(X)] == 1
