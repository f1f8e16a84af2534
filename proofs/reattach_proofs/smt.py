"""The prover's questions as SMT-LIB 2, and cvc5's answers to them.

``script`` writes one text for an obligation: what all its paths assume, then for each path the questions of ``prover``,
each with the answer that is expected. Any solver reads it. ``decide`` lets cvc5 read that very text, so what is kept
with ``--emit-smt`` is what was decided. cvc5 shares nothing with Z3 but the terms.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from operator import is_not

import cvc5
from attrs import define, field, frozen

from reattach_proofs.executor import Decision, Event, formula_of
from reattach_proofs.terms import FALSE, Interpretation, Op, Term, evaluate, fold, parts

RLIMIT = 10_000_000
"""Effort per question, in cvc5's own resource units."""

VERSION = f"cvc5 {cvc5.__version__}"


class Question(Enum):
    """What is asked of a path; see ``prover``."""

    TAKEN = "the path can be taken"
    REFUTED = "a claim is false"
    MISSING = "an answer to a truth test was not followed"


EXPECTED = {Question.TAKEN: "sat", Question.REFUTED: "unsat", Question.MISSING: "unsat"}


@frozen(eq=False, kw_only=True)
class Questions:
    """What is asked of one path, or of a dead end: of that only whether something is missing."""

    trace: tuple[Event, ...] = ()
    repeated: int = 0
    """How much of the trace it has in common with the one before it."""
    values: Interpretation | None = None
    """Values for which the path is said to be taken; None for a dead end."""
    refutation: Term = FALSE
    """That a claim is false."""
    missing: Term = FALSE
    """What would have to be possible, after what is repeated, if something were missing."""


@frozen
class Unexpected:
    """An answer that was not the expected one."""

    at: int
    """Of which of the ``Questions``."""
    question: Question
    answer: str


def file_name(name: str) -> str:
    """A file's name for the questions of an obligation."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ".smt2"


def script(name: str, questions: Sequence[Questions]) -> str:
    """All the questions of one obligation.

    The paths come depth first. What one has in common with the next stays assumed: each test that is answered in both
    ways opens a scope, which is closed when everything beyond the first answer has been asked.
    """
    writer = _Writer()
    writer.count(_terms(questions))
    scopes: list[int] = []  # where in the trace they were opened
    before: tuple[Event, ...] = ()
    for number, each in enumerate(questions, start=1):
        writer.say(f"{_OF}{number}")
        if any(map(is_not, each.trace[: each.repeated], before[: each.repeated])) or len(before) < each.repeated:
            raise AssertionError(f"path {number} does not begin as the one before it does")
        while scopes and scopes[-1] >= each.repeated:
            scopes.pop()
            writer.say("(pop 1)")
        if each.missing is not FALSE:
            writer.ask(Question.MISSING, each.missing)
        for at, event in enumerate(each.trace[each.repeated :], start=each.repeated):
            if isinstance(event, Decision) and event.forked:
                writer.say("(push 1)")
                scopes.append(at)
            writer.assume(formula_of(event))
        if each.values is not None:
            writer.ask(Question.TAKEN, *writer.valued(each.values))
            writer.ask(Question.REFUTED, each.refutation)
        before = each.trace
    return "\n".join([f"; {name}", "(set-logic QF_UFLIA)", *writer.declarations, *writer.lines, ""])


def decide(text: str, rlimit: int = RLIMIT) -> Iterator[Unexpected]:
    """The answers of cvc5 to the questions of a script that are not the expected ones."""
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("incremental", "true")
    solver.setOption("seed", "0")
    solver.setOption("sat-solver", "cadical")  # half the time of its own
    solver.setOption("decision", "justification")
    solver.setOption("rlimit-per", str(rlimit))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "questions")
    symbols = parser.getSymbolManager()
    asked = iter(_asked(text))
    while not (command := parser.nextCommand()).isNull():
        answer = command.invoke(solver, symbols).strip()
        if answer:
            at, question = next(asked)
            if answer != EXPECTED[question]:
                yield Unexpected(at, question, answer)
    if next(asked, None) is not None:
        raise AssertionError("cvc5 answered fewer questions than were asked")


def _asked(text: str) -> Iterator[tuple[int, Question]]:
    """What a script asks, in order, each with the number of its path, from 0."""
    at = -1
    for line in text.splitlines():
        if line.startswith(_OF):
            at = int(line.removeprefix(_OF)) - 1
        elif line.startswith(_ASK):
            yield at, Question(line.removeprefix(_ASK))


_OF = "; path "
_ASK = "; asked whether "


def _terms(questions: Iterable[Questions]) -> Iterator[Term]:
    for each in questions:
        yield from map(formula_of, each.trace[each.repeated :])
        yield each.refutation
        yield each.missing


@define(eq=False)
class _Writer:
    """Writes terms, each part that occurs more than once under a name of its own."""

    declarations: list[str] = field(factory=list)
    lines: list[str] = field(factory=list)
    _occurrences: dict[Term, int] = field(factory=dict)
    _written: dict[Term, str] = field(factory=dict)
    _declared: set[str] = field(factory=set)

    def count(self, terms: Iterable[Term]) -> None:
        self._occurrences = parts(terms)

    def say(self, *lines: str) -> None:
        self.lines += lines

    def ask(self, question: Question, *conditions: Term | str) -> None:
        """Whether the conditions can hold, in a scope of their own."""
        self.say("(push 1)")
        for condition in conditions:
            self.assume(condition)
        self.say(f"{_ASK}{question.value}", f"; expected: {EXPECTED[question]}", "(check-sat)", "(pop 1)")

    def valued(self, values: Interpretation) -> Iterator[str]:
        """That the names and the applied functions that were written have these values."""
        for term, text in self._written.items():
            if term.op is Op.NAME or term.op is Op.APPLY:
                yield f"(= {text} {_constant(evaluate(term, values))})"

    def assume(self, condition: Term | str) -> None:
        self.say(f"(assert {condition if isinstance(condition, str) else self._text(condition)})")

    def _text(self, term: Term) -> str:
        return fold(term, self._named, self._written)

    def _named(self, term: Term, args: tuple[str, ...]) -> str:
        text = self._plain(term, args)
        if not term.args or self._occurrences[term] < 2 or term.op in (Op.APPLY, Op.NOT):
            return text
        name = f"t{len(self._written)}"
        self.declarations.append(f"(define-fun {name} () {term.sort.value} {text})")
        return name

    def _plain(self, term: Term, args: tuple[str, ...]) -> str:
        match term.op:
            case Op.CONSTANT:
                return _constant(term.value)
            case Op.NAME:
                self.declarations.append(f"(declare-const {term.value} {term.sort.value})")
                return str(term.value)
            case Op.APPLY:
                self._declare(term)
                head = term.value.name
            case _:
                head = term.op.value
        return f"({' '.join([head, *args])})"

    def _declare(self, term: Term) -> None:
        line = f"(declare-fun {term.value.name} (Int) {term.sort.value})"
        if line not in self._declared:
            self._declared.add(line)
            self.declarations.append(line)


def _constant(value: int | bool) -> str:
    return f"(- {-value})" if type(value) is int and value < 0 else str(value).lower()
