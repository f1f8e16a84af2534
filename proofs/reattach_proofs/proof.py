"""A proof: all obligations decided, in several processes, and what that says of each theorem.

Obligations are independent, so each is decided on its own, by whichever process is free; the results are the same in
any order. ``prove`` may be interrupted: what was decided until then is kept, and what was not is *undecided*, which
counts as little as unknown.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import cache, partial
from multiprocessing import get_context
from typing import TypeVar

from attrs import evolve, field, frozen

from reattach_proofs import mutants, refutation, sources
from reattach_proofs.obligations import Obligation
from reattach_proofs.promises import Theorem
from reattach_proofs.prover import Decided, Engine, Failure, Task, Verdict, decide
from reattach_proofs.sources import Source

R = TypeVar("R")

_SEVERITY = (Verdict.REFUTED, Verdict.INCOMPLETE, Verdict.VACUOUS, Verdict.UNKNOWN, Verdict.UNDECIDED, Verdict.PROVED)


class UnknownTheoremError(Exception):
    """There is no theorem of this name. ``str()`` names the ones there are."""

    def __init__(self, asked: str) -> None:
        super().__init__(asked)
        self.asked = asked

    def __str__(self) -> str:
        return f"no theorem {self.asked!r}; there are {', '.join(each.name for each in sources.theorems())}"


@frozen(kw_only=True)
class TheoremResult:
    """What became of one theorem."""

    theorem: Theorem
    shapes: int
    paths: int
    """On which it claims something."""
    claims: int
    verdicts: Mapping[Engine, Verdict]
    failures: tuple[Failure, ...]
    unseen: tuple[str, ...]
    """Interesting cases that were not seen to be possible."""
    seconds: float
    """Its share of the time, by its share of the claims of each obligation."""

    @property
    def proved(self) -> bool:
        """Whether every engine that was asked has proved it."""
        return all(verdict is Verdict.PROVED for verdict in self.verdicts.values())


@frozen(kw_only=True)
class Proof:
    """What became of all of them."""

    theorems: tuple[TheoremResult, ...]
    decided: tuple[Decided, ...] = field(repr=False)
    expected: int
    """How many obligations there were to decide."""
    interrupted: bool = False

    @property
    def proved(self) -> bool:
        """Whether every theorem is proved."""
        return all(result.proved for result in self.theorems)

    @property
    def failed(self) -> bool:
        """Whether something is the matter that more time would not mend."""
        return any(result.failures for result in self.theorems)


OnDecided = Callable[[Decided, int, int], None]
"""Called after each obligation with what became of it, how many are decided, and how many there are."""


def prove(
    names: Sequence[str] = (),
    task: Task | None = None,
    *,
    workers: int | None = None,
    every: int = 1,
    on_decided: OnDecided | None = None,
) -> Proof:
    """Prove the theorems of these names, or all. Raises UnknownTheoremError.

    ``every`` takes only each so-manieth shape of a source: a sample, for a quick look. An interruption (SIGINT) ends it
    with what was found.
    """
    chosen = chosen_sources(names)
    _seen.clear()  # an interesting case counts for the proof in which it is seen
    task = task or Task()
    if names:
        task = evolve(task, theorems=frozenset(names))
    todo = [obligation.name for source in chosen for obligation in sampled(source, every)]
    decided: list[Decided] = []
    interrupted = False
    try:
        for each in _each(partial(_decide, task), todo, workers or _processors()):
            decided.append(each)
            if on_decided is not None:
                on_decided(each, len(decided), len(todo))
    except KeyboardInterrupt:
        interrupted = True
    order = {name: number for number, name in enumerate(todo)}
    decided.sort(key=lambda each: order[each.obligation])
    results = [
        summarized(source, decided, task, whole=len(decided) == len(todo), names=frozenset(names)) for source in chosen
    ]
    return Proof(
        theorems=tuple(result for group in results for result in group),
        decided=tuple(decided),
        expected=len(todo),
        interrupted=interrupted,
    )


def sampled(source: Source, every: int) -> Iterator[Obligation]:
    """The obligations of each so-manieth shape."""
    shapes = list(dict.fromkeys(obligation.shape for obligation in source.obligations()))
    taken = set(shapes[::every])
    return (obligation for obligation in source.obligations() if obligation.shape in taken)


def chosen_sources(names: Sequence[str]) -> tuple[Source, ...]:
    """The sources that have theorems of these names; all, if none is named. Raises UnknownTheoremError."""
    known = {theorem.name for theorem in sources.theorems()}
    for name in names:
        if name not in known:
            raise UnknownTheoremError(name)
    return tuple(
        source for source in sources.SOURCES if not names or any(each.name in names for each in source.theorems)
    )


def summarized(
    source: Source, decided: Iterable[Decided], task: Task, *, whole: bool, names: frozenset[str] = frozenset()
) -> Iterator[TheoremResult]:
    """What the decided obligations say of each theorem of a source; ``whole``: they are all there are."""
    own = {obligation.name for obligation in source.obligations()}
    mine = [each for each in decided if each.obligation in own]
    seen = frozenset(sight for each in mine for sight in each.sights)
    for theorem in source.theorems:
        if names and theorem.name not in names:
            continue
        failures = tuple(failure for each in mine for failure in each.failures if failure.theorem in ("", theorem.name))
        wanted = source.witnesses.get(theorem.name, ())
        unseen = tuple(case for case in wanted if (theorem.name, case) not in seen)
        claims = sum(each.claims.get(theorem.name, 0) for each in mine)
        vacuous = bool(unseen) or not wanted or not claims
        yield TheoremResult(
            theorem=theorem,
            shapes=len({each.shape for each in mine if theorem.name in each.claims}),
            paths=sum(each.claimed.get(theorem.name, 0) for each in mine),
            claims=claims,
            verdicts={engine: _verdict(engine, failures, vacuous, whole) for engine in task.engines},
            failures=failures,
            unseen=unseen if whole else (),
            seconds=sum(_share(each, theorem.name) for each in mine),
        )


def _verdict(engine: Engine, failures: Sequence[Failure], vacuous: bool, whole: bool) -> Verdict:
    found = {failure.verdict for failure in failures if failure.engine is engine}
    if not whole:
        found.add(Verdict.UNDECIDED)
    elif vacuous:
        found.add(Verdict.VACUOUS)
    return next((verdict for verdict in _SEVERITY if verdict in found), Verdict.PROVED)


def _share(decided: Decided, theorem: str) -> float:
    total = sum(decided.claims.values())
    return sum(decided.seconds.values()) * decided.claims.get(theorem, 0) / total if total else 0.0


@frozen
class Refuted:
    """What became of one mutant."""

    mutant: str
    theorem: str
    by_proof: bool
    """Whether the theorem that was named in advance fails."""
    diagram: str
    """A shortest exchange that breaks it, from the initial state; empty if none was found."""
    claim: str = ""

    @property
    def refuted(self) -> bool:
        """Both ways."""
        return self.by_proof and bool(self.diagram)


def refute(
    names: Sequence[str] = (),
    *,
    workers: int | None = None,
    on_refuted: Callable[[Refuted, int, int], None] | None = None,
) -> tuple[Refuted, ...]:
    """Refute the named mutants of the theorems of these names, or of all. Raises UnknownTheoremError."""
    chosen_sources(names)
    todo = [mutant.name for mutant in mutants.MUTANTS if not names or mutant.theorem.name in names]
    found: list[Refuted] = []
    for each in _each(_refuted, todo, workers or _processors()):
        found.append(each)
        if on_refuted is not None:
            on_refuted(each, len(found), len(todo))
    return tuple(sorted(found, key=lambda each: todo.index(each.mutant)))


def _refuted(name: str) -> Refuted:
    mutant = mutants.mutant_named(name)
    by_proof = refutation.refuting_proof(mutant) is not None
    try:
        shown = refutation.refute(mutant)
    except refutation.NotRefutedError:
        return Refuted(name, mutant.theorem.name, by_proof, "")
    return Refuted(name, mutant.theorem.name, by_proof, shown.diagram, shown.claim)


def _processors() -> int:
    """How many processes may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _each(work: Callable[[str], R], todo: Sequence[str], workers: int) -> Iterator[R]:
    """The work done on each name, in the order in which it is done."""
    if workers == 1:
        yield from map(work, todo)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin) as pool:
        waiting: set[Future[R]] = {pool.submit(work, name) for name in todo}
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    """Let the parent alone answer an interruption; what is under way is finished."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


_seen: set[tuple[str, str]] = set()
"""The interesting cases that this process has seen."""


def _decide(task: Task, name: str) -> Decided:
    decided = decide(_by_name()[name], task, frozenset(_seen))
    _seen.update(decided.sights)
    return decided


@cache
def _by_name() -> dict[str, Obligation]:
    return {obligation.name: obligation for source in sources.SOURCES for obligation in source.obligations()}
