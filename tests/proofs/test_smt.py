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
    FALSE,
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
    path = Questions((Decision(X < Y, True, forked=True), F(X) == -3), VALUES, Y < X, conjunction([X < 0, X > 0]))
    text = script("a name", [path, Questions(missing=conjunction([Y < X, X < Y]))])
    assert [line.removeprefix("; asked whether ") for line in text.splitlines() if line.startswith("; asked")] == [
        Question.TAKEN.value,
        Question.REFUTED.value,
        Question.MISSING.value,
        Question.MISSING.value,
    ]
    assert text.startswith("; a name\n")
    assert "(declare-fun event.f (Int) Int)" in text
    assert list(smt.decide(text)) == []
    assert answers_of_z3(text) == ["sat", "unsat", "unsat", "unsat"]


@pytest.mark.parametrize(
    ("questions", "unexpected"),
    [
        (Questions((X < Y, Y < X), VALUES), Unexpected(0, Question.TAKEN, "unsat")),
        (Questions((Y < X,), VALUES), Unexpected(0, Question.TAKEN, "unsat")),  # not with these values
        (Questions((X < Y,), VALUES, Y > 1), Unexpected(0, Question.REFUTED, "sat")),
        (
            Questions((Decision(X < Y, True, forked=True),), VALUES, FALSE, Y < X),
            Unexpected(0, Question.MISSING, "sat"),
        ),
        (Questions(missing=X < Y), Unexpected(0, Question.MISSING, "sat")),
    ],
)
def test_an_answer_that_is_not_expected_is_told(questions: Questions, unexpected: Unexpected) -> None:
    assert unexpected in list(smt.decide(script("a name", [questions])))


def test_it_is_told_of_which_path() -> None:
    fine = Questions((X < Y,), VALUES)
    text = script("a name", [fine, Questions((X < Y,), VALUES, Y > 1), fine, Questions((X < Y,), VALUES, Y > 1)])
    assert [each.at for each in smt.decide(text)] == [1, 3]


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
    text = script("terms", [Questions(tuple(terms), VALUES)])
    assert "(- 7)" in text
    assert list(smt.decide(text)) == []
    assert answers_of_z3(text) == ["sat", "unsat"]


def test_what_occurs_twice_is_written_once() -> None:
    shared = conjunction([X < Y, F(X) < F(Y)])
    text = script("shared", [Questions((choice(truth_named("p"), shared, negation(shared)),), VALUES)])
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
