"""The questions as SMT-LIB 2: they say what the terms say, and cvc5's answers are read right."""

from pathlib import Path

import pytest
import z3
from tests.proofs import toys
from tests.proofs.toys import X, Y, obligation

from reattach_proofs import obligations, smt
from reattach_proofs.executor import Decision
from reattach_proofs.prover import Engine, Task, decide
from reattach_proofs.smt import EXPECTED, Question, Questions, Unexpected, script
from reattach_proofs.terms import (
    TRUE,
    Function,
    Interpretation,
    Sort,
    choice,
    conjunction,
    integer_named,
    negation,
    number,
    truth_named,
)

F, HOLDS = Function("event.f"), Function("holds", Sort.TRUTH)
VALUES = Interpretation({"x": 1, "y": 2, "p": True}, {"event.f": lambda _: -3, "holds": lambda _: True})


def answers_of_z3(text: str) -> list[str]:
    """What Z3 says to a script, read from its text."""
    context = z3.Context()
    return str(z3.Z3_eval_smtlib2_string(context.ref(), text)).split()


def test_every_question_is_asked_with_the_answer_that_is_expected() -> None:
    path = Questions(
        trace=(Decision(X < Y, True, forked=True), F(X) == -3),
        values=VALUES,
        refutation=Y < X,
        missing=conjunction([X < 0, X > 0]),
    )
    text = script("a name", [path, Questions(missing=conjunction([Y < X, X < Y]))])
    assert [line.removeprefix("; asked whether ") for line in text.splitlines() if line.startswith("; asked")] == [
        Question.MISSING.value,
        Question.TAKEN.value,
        Question.REFUTED.value,
        Question.MISSING.value,
    ]
    assert text.startswith("; a name\n")
    assert "(declare-fun event.f (Int) Int)" in text
    assert list(smt.decide(text)) == []
    assert answers_of_z3(text) == ["unsat", "sat", "unsat", "unsat"]


@pytest.mark.parametrize(
    ("questions", "unexpected"),
    [
        (Questions(trace=(X < Y, Y < X), values=VALUES), Unexpected(0, Question.TAKEN, "unsat")),
        (Questions(trace=(Y < X,), values=VALUES), Unexpected(0, Question.TAKEN, "unsat")),  # not with these values
        (Questions(trace=(X < Y,), values=VALUES, refutation=Y > 1), Unexpected(0, Question.REFUTED, "sat")),
        (
            Questions(trace=(Decision(X < Y, True, forked=True),), values=VALUES, missing=Y < X),
            Unexpected(0, Question.MISSING, "sat"),
        ),
        (Questions(missing=X < Y), Unexpected(0, Question.MISSING, "sat")),
    ],
)
def test_an_answer_that_is_not_expected_is_told(questions: Questions, unexpected: Unexpected) -> None:
    assert unexpected in list(smt.decide(script("a name", [questions])))


def test_it_is_told_of_which_path() -> None:
    fine = Questions(trace=(X < Y,), values=VALUES)
    text = script(
        "a name",
        [
            fine,
            Questions(trace=(X < Y,), values=VALUES, refutation=Y > 1),
            fine,
            Questions(trace=(X < Y,), values=VALUES, refutation=Y > 1),
        ],
    )
    assert [each.at for each in smt.decide(text)] == [1, 3]


def test_a_path_that_does_not_begin_as_the_one_before_it_is_an_error() -> None:
    one = Questions(trace=(X < Y, Y < X), values=VALUES)
    for other in (Questions(trace=(Y < X,), repeated=1), Questions(trace=(X < Y, Y < X, X < Y), repeated=3)):
        with pytest.raises(AssertionError, match="path 2 does not begin"):
            script("a name", [one, other])


def test_what_paths_have_in_common_is_assumed_once_and_no_longer_than_it_holds() -> None:
    """A test that is answered in both ways, after a fact of both and before facts of each."""
    yes, no = Decision(X < Y, True, forked=True), Decision(X < Y, False, forked=True)
    ways = [
        Questions(trace=(X == 1, yes, Y == 2), values=VALUES, refutation=Y < 2),
        Questions(trace=(X == 1, no, Y == 0), repeated=1, values=Interpretation({"x": 1, "y": 0}, {}), missing=X < 1),
    ]
    text = script("a fork", ways)
    assert text.count("(assert (= x 1))") == 3  # once assumed, and twice among values
    assert list(smt.decide(text)) == []
    assert answers_of_z3(text) == ["sat", "unsat", "unsat", "sat", "unsat"]


def test_too_little_effort_is_unknown() -> None:
    x, y, z = (integer_named(name) for name in "xyz")
    hard = conjunction([x + x + x + y + y == z + z + 1, F(x) + F(y) < F(z), F(z) < F(x), F(z) < F(y), z < x, x < y])
    text = script("hard", [Questions(missing=hard)])
    (answer,) = [each.answer for each in smt.decide(text, rlimit=1)]
    assert answer.startswith("unknown")


def test_every_kind_of_term_is_written() -> None:
    p = truth_named("p")
    terms = [
        F(X + 1) + 100 > X + Y,
        choice(p, X, Y) <= Y,
        choice(p, HOLDS(X), negation(p)),
        negation(conjunction([p, X == Y])),
        number(-7) < X - Y,
        TRUE,
    ]
    text = script("terms", [Questions(trace=tuple(terms), values=VALUES)])
    assert "(- 7)" in text
    assert list(smt.decide(text)) == []
    assert answers_of_z3(text) == ["sat", "unsat"]


def test_what_occurs_twice_is_written_once() -> None:
    shared = conjunction([X < Y, F(X) < F(Y)])
    text = script("shared", [Questions(trace=(choice(truth_named("p"), shared, negation(shared)),), values=VALUES)])
    assert text.count("(and") == 1
    assert text.count("define-fun") == 1


def test_both_solvers_answer_the_machines_own_questions_alike(tmp_path: Path) -> None:
    every = [each for each in obligations.obligations() if each.name.endswith(("| resume other", "| tick"))][3::11]
    for each in every:
        decided = decide(each, Task(engines=(Engine.Z3, Engine.CVC5), emit=tmp_path))
        assert decided.failures == ()
        text = (tmp_path / smt.file_name(each.name)).read_text(encoding="utf-8")
        expected = [EXPECTED[question] for _, question in smt._asked(text)]
        assert answers_of_z3(text) == expected
        assert expected.count("sat") == decided.paths
    assert len(list(tmp_path.iterdir())) == len(every) > 1


def test_what_is_written_is_what_is_decided(tmp_path: Path) -> None:
    decided = decide(obligation(toys.false, "a toy | fails"), Task(emit=tmp_path))
    assert len(decided.failures) == 1
    (written,) = tmp_path.iterdir()
    assert written.name == "a-toy-fails.smt2"
    assert [each.question for each in smt.decide(written.read_text(encoding="utf-8"))] == [Question.REFUTED]
