"""The prover: decides every obligation, path by path.

For each path three questions are put, and any answer but the expected one fails:

* can it be taken at all? (expected: yes)
* is an answer to one of its truth tests missing, that is, was only one answer followed where both are possible?
  (expected: no, so the paths are exhaustive)
* can it be taken while one of its claims is false? (expected: no)

That two paths exclude each other is a matter of form: they part at a truth test that they answer differently, and each
fork has paths to both sides. An obligation of which no path can be taken rests on a contradiction; it is *vacuous*, and
that is a failure. So are an answer that the solver does not know, an exception on any path, a path on which the run on
ordinary integers comes to something else, and a theorem of which no interesting case was seen to be possible.
"""

import time
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from operator import is_
from pathlib import Path as Directory

from attrs import define, evolve, field, frozen

from reattach.lines import Line, recorded
from reattach_proofs import fidelity, smt
from reattach_proofs.executor import DeadEnd, Nondeterministic, Path, is_tree, missing, missing_after, paths
from reattach_proofs.obligations import Obligation, Outcome, Stated
from reattach_proofs.solver import Model, Solver, Unknown
from reattach_proofs.symbolic import Untrue
from reattach_proofs.terms import FALSE, TRUE, Unsupported, conjunction, negation


class Engine(Enum):
    """What decides."""

    Z3 = "z3"
    CVC5 = "cvc5"


class Verdict(Enum):
    """What was found out."""

    PROVED = "proved"
    REFUTED = "refuted"
    """There is a path on which a claim is false, or the machine raises, or a run on ordinary integers differs."""
    UNKNOWN = "unknown"
    """A solver gave no answer, or the executor does not support something."""
    VACUOUS = "vacuous"
    """No path can be taken, nothing is claimed, or no interesting case is possible."""
    INCOMPLETE = "incomplete"
    """A path is missing."""
    UNDECIDED = "undecided"
    """Not everything was run."""


@frozen
class Failure:
    """Something that was not as expected."""

    verdict: Verdict
    engine: Engine
    theorem: str
    """Whose claim; empty if it is not about one, and then every theorem of the obligation fails."""
    what: str
    """The claim, or what else is the matter."""
    obligation: str
    example: tuple[tuple[str, int | bool], ...] = ()
    """Numbers for which it is so."""


@frozen(kw_only=True)
class Task:
    """What to do with an obligation."""

    engines: tuple[Engine, ...] = (Engine.Z3,)
    theorems: frozenset[str] = frozenset()
    """Decide only the claims of these; empty: all."""
    replay: bool = False
    """Run each path again on ordinary integers and compare."""
    record: bool = False
    """Record which lines of the machine are executed when the paths are run again; needs ``replay``."""
    emit: Directory | None = None
    """Where the questions are written as SMT-LIB 2, a file for each obligation."""

    def concerns(self, stated: Stated) -> bool:
        """Whether the claim is to be decided."""
        return not self.theorems or stated.theorem in self.theorems


@frozen(kw_only=True)
class Decided:
    """What was found out about one obligation."""

    obligation: str
    shape: str
    paths: int
    dead_ends: int
    questions: int
    """Put to Z3."""
    claims: Mapping[str, int]
    """Of each theorem the number of claims, on all paths."""
    claimed: Mapping[str, int]
    """Of each theorem the number of paths on which something is claimed."""
    sights: frozenset[tuple[str, str]]
    """Theorem and interesting case, for each that is possible."""
    failures: tuple[Failure, ...]
    seconds: Mapping[Engine, float]
    lines: frozenset[Line] = frozenset()


_UNEXPECTED = {
    smt.Question.TAKEN: Verdict.VACUOUS,
    smt.Question.REFUTED: Verdict.REFUTED,
    smt.Question.MISSING: Verdict.INCOMPLETE,
}


@frozen
class Raised:
    """The machine raised an exception."""

    error: Exception


def decide(obligation: Obligation, task: Task | None = None, seen: frozenset[tuple[str, str]] = frozenset()) -> Decided:
    """Decide one obligation. The interesting cases that were ``seen`` are not looked for again."""
    return _Deciding(obligation, task or Task(), set(seen)).decided()


@define(eq=False)
class _Deciding:
    """One obligation being decided."""

    obligation: Obligation
    task: Task
    seen: set[tuple[str, str]]
    failures: list[Failure] = field(factory=list)
    claims: dict[str, int] = field(factory=dict)
    claimed: dict[str, int] = field(factory=dict)
    sights: set[tuple[str, str]] = field(factory=set)
    ways: list[Path[Outcome | Raised] | DeadEnd] = field(factory=list)

    def decided(self) -> Decided:
        solver, began = Solver(), time.perf_counter()
        lines: set[Line] = set()
        try:
            self._decide_paths(solver, partial(_guarded, self.obligation.run))
            if self.task.replay:
                self._replay(lines)
        except (Unknown, Unsupported, Nondeterministic) as signal:
            self._fail(Verdict.UNKNOWN, f"{type(signal).__name__}: {signal}")
        except Untrue as signal:
            self._fail(Verdict.REFUTED, f"on ordinary integers: {signal}")
        seconds = {Engine.Z3: time.perf_counter() - began}
        if Engine.CVC5 in self.task.engines or self.task.emit is not None:
            began = time.perf_counter()
            self._decide_text()
            seconds[Engine.CVC5] = time.perf_counter() - began
        return Decided(
            obligation=self.obligation.name,
            shape=self.obligation.shape,
            paths=sum(isinstance(way, Path) for way in self.ways),
            dead_ends=sum(isinstance(way, DeadEnd) for way in self.ways),
            questions=solver.checks,
            claims=self.claims,
            claimed=self.claimed,
            sights=frozenset(self.sights),
            failures=tuple(self.failures),
            seconds=seconds,
            lines=frozenset(lines),
        )

    def _decide_paths(self, solver: Solver, run: Callable[[], Outcome | Raised]) -> None:
        dead_ends: list[DeadEnd] = []
        for path in paths(run, solver, dead_ends=dead_ends):
            self.ways += [*dead_ends, path]
            dead_ends.clear()
            if isinstance(path.result, Raised):
                error = path.result.error
                self._fail(Verdict.REFUTED, f"raises {type(error).__name__}: {error}", model=path.model)
            else:
                self._decide_path(solver, path.result, path.model)
        self.ways += dead_ends
        if not any(isinstance(way, Path) for way in self.ways):
            self._fail(Verdict.VACUOUS, "no path can be taken: what is assumed is contradictory")
        elif not self.claims and not self.task.theorems:
            self._fail(Verdict.VACUOUS, "nothing is claimed")
        if not is_tree(self.ways):
            self._fail(Verdict.INCOMPLETE, "the paths are not a tree of truth tests")
        apart = Solver()
        for way in self.ways:
            if apart.satisfiable(missing(way)):
                self._fail(Verdict.INCOMPLETE, "an answer to a truth test was not followed", model=apart.model())

    def _replay(self, lines: set[Line]) -> None:
        """Run each path again on ordinary integers, recording its lines if asked to. Raises Untrue."""
        run = partial(recorded, self.obligation.run, lines) if self.task.record else self.obligation.run
        for way in self.ways:
            if not isinstance(way, Path) or not isinstance(way.result, Outcome):
                continue
            if any(map(self.task.concerns, way.result.claims)):
                fidelity.replay(run, way)

    def _decide_path(self, solver: Solver, outcome: Outcome, model: Model) -> None:
        claims = [claim for claim in outcome.claims if self.task.concerns(claim)]
        for theorem in dict.fromkeys(claim.theorem for claim in claims):
            self.claimed[theorem] = self.claimed.get(theorem, 0) + 1
        for claim in claims:
            self.claims[claim.theorem] = self.claims.get(claim.theorem, 0) + 1
        good = conjunction(claim.formula for claim in claims)
        if Engine.Z3 in self.task.engines and good is not TRUE and solver.satisfiable(negation(good)):
            for claim in claims:
                if solver.satisfiable(negation(claim.formula)):
                    self._fail(Verdict.REFUTED, claim.name, claim.theorem, solver.model())
        for sight in outcome.sights:
            key, formula = (sight.theorem, sight.name), sight.formula
            if key in self.seen or not self.task.concerns(sight):
                continue
            if formula is TRUE or model.satisfies(formula) or solver.satisfiable(formula):
                self.sights.add(key)
                self.seen.add(key)

    def _decide_text(self) -> None:
        """Write the questions as SMT-LIB 2, and let cvc5 answer them."""
        questions = [self._questions(way, lambda claim: True) for way in self.ways]
        text = smt.script(self.obligation.name, questions)
        if self.task.emit is not None:
            Directory(self.task.emit, smt.file_name(self.obligation.name)).write_text(text, encoding="utf-8")
        if Engine.CVC5 in self.task.engines:
            for unexpected in smt.decide(text):
                self._fail_text(unexpected)

    def _questions(self, way: Path[Outcome | Raised] | DeadEnd, chosen: Callable[[Stated], bool]) -> smt.Questions:
        asked = smt.Questions(trace=way.trace, repeated=way.repeated, missing=missing_after(way))
        if isinstance(way, DeadEnd):
            return asked
        claims = way.result.claims if isinstance(way.result, Outcome) else ()
        good = conjunction(claim.formula for claim in claims if self.task.concerns(claim) and chosen(claim))
        return evolve(asked, values=way.model.interpretation, refutation=negation(good))

    def _fail_text(self, unexpected: smt.Unexpected) -> None:
        way, what = self.ways[unexpected.at], f"{unexpected.question.value}: {unexpected.answer}"
        if unexpected.answer not in ("sat", "unsat"):
            self._fail(Verdict.UNKNOWN, what, engine=Engine.CVC5)
        elif unexpected.question is smt.Question.REFUTED and isinstance(way, Path) and isinstance(way.result, Outcome):
            for claim in way.result.claims:
                alone = evolve(self._questions(way, partial(is_, claim)), repeated=0, missing=FALSE)
                if any(
                    again.question is smt.Question.REFUTED
                    for again in smt.decide(smt.script(self.obligation.name, [alone]))
                ):
                    self._fail(Verdict.REFUTED, claim.name, claim.theorem, engine=Engine.CVC5)
        else:
            self._fail(_UNEXPECTED[unexpected.question], what, engine=Engine.CVC5)

    def _fail(
        self,
        verdict: Verdict,
        what: str,
        theorem: str = "",
        model: Model | None = None,
        engine: Engine = Engine.Z3,
    ) -> None:
        example = tuple(sorted(model.interpretation.names.items())) if model is not None else ()
        self.failures.append(Failure(verdict, engine, theorem, what, self.obligation.name, example))


def _guarded(run: Callable[[], Outcome]) -> Outcome | Raised:
    try:
        return run()
    except Exception as error:
        return Raised(error)
