"""Automatic mutation: every comparison, boundary and condition of the machine's core, changed one at a time.

    python -m reattach_proofs.mutation [--workers N] [FUNCTION...]

The named mutants (``mutants``) are faults that somebody would make. This is the systematic complement: each comparison
operator is exchanged for its neighbours, each integer moved by one, each truth value flipped, each ``and`` made an
``or``, each negation dropped and each bare condition negated, in the decision, the views and the transitions. For each
of these the obligations are run whose paths execute the changed line, up to the first that fails. What no obligation
refutes must be listed in ``EQUIVALENT`` with the reason why nothing can tell it from the machine; an entry of that list
that is refuted after all is an error too. So is one that fits nothing.

The window itself is replaced in the proofs by its contract (``history``), so changes of it are put to the tests of that
contract instead; likewise what the proofs leave to tests.
"""

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, partial
from multiprocessing import get_context
from typing import TypeVar

from attrs import frozen
from rich.console import Console
from rich.progress import Progress

from reattach import lines
from reattach.lines import Line
from reattach.mutation import changes
from reattach.mutation.changes import Mutation
from reattach_proofs import invariant, obligations, shapes, swap
from reattach_proofs.obligations import Obligation
from reattach_proofs.refutation import first_failure

T = TypeVar("T")
R = TypeVar("R")

MODULES = ("decision", "session", "transition")
"""What the proofs execute, and so must be able to refute."""
TESTS: Mapping[str, tuple[str, ...]] = {
    "window": ("tests/machine/test_window.py", "tests/proofs/test_contract.py"),
    "decision.admit": ("tests/machine/test_decision.py",),
    "session.age_deadline": ("tests/machine/test_budgets.py",),
}
"""What the proofs do not execute (``exemptions``), and the tests that must refute a change of it instead."""
TEST_SECONDS = 120


@frozen
class Equivalent:
    """A change that nothing can tell from the machine."""

    change: str
    """As the mutation prints itself."""
    reason: str


_NEVER_NEGATIVE = "a zero stands for absence; no number of a stream, a seq or a connection is ever below it"

EQUIVALENT: tuple[Equivalent, ...] = (
    Equivalent("decision.decide_cursor: stream.number == 0  ->  stream.number <= 0", _NEVER_NEGATIVE),
    Equivalent("session.is_viewed: stream.view.connection != 0  ->  stream.view.connection > 0", _NEVER_NEGATIVE),
    Equivalent("session.mark_of: oldest.seq == 0  ->  oldest.seq <= 0", _NEVER_NEGATIVE),
    Equivalent("transition._disconnect: stream.number == 0  ->  stream.number <= 0", _NEVER_NEGATIVE),
    Equivalent("transition._emit: number == 0  ->  number <= 0", _NEVER_NEGATIVE),
    Equivalent("transition._emit: owed.seq != 0  ->  owed.seq > 0", _NEVER_NEGATIVE),
    Equivalent("transition._write: owed.seq == 0  ->  owed.seq <= 0", _NEVER_NEGATIVE),
    Equivalent("transition._write: stream.number == 0  ->  stream.number <= 0", _NEVER_NEGATIVE),
    Equivalent("window.suffix: entry.seq != 0  ->  entry.seq > 0", _NEVER_NEGATIVE),
    Equivalent("window.Window.allotted: self.low == self.next  ->  self.low >= self.next", "low never passes next"),
    Equivalent(
        "decision.decide_cursor: cursor.seq != mark  ->  cursor.seq > mark",
        "a cursor below the mark was refused one line before",
    ),
    Equivalent(
        "decision.decide_cursor: session.window.successor(stream.number, cursor.seq - 1).seq != cursor.seq  ->  "
        "session.window.successor(stream.number, cursor.seq - 1).seq > cursor.seq",
        "between its mark and its last seq a stream has its last event held, so there is a successor, and it is no "
        "smaller than the cursor",
    ),
    Equivalent(
        "session.holds_nothing: stream.last == stream.first  ->  stream.last <= stream.first",
        "no stream ends before its birth",
    ),
    *(
        Equivalent(
            "session.mark_of: session.window.successor(stream.number, 0)  ->  "
            f"session.window.successor(stream.number, {after})",
            "the first seq of a session is the birth of its standalone stream, so no event has a seq below 2",
        )
        for after in (1, -1)
    ),
    Equivalent(
        "decision.decide_cursor: mark == stream.first  ->  mark <= stream.first", "no mark lies before the birth"
    ),
    Equivalent(
        "transition._without_forgotten: len(kept) == len(session.streams)  ->  len(kept) >= len(session.streams)",
        "no more streams are kept than there are",
    ),
    Equivalent(
        "transition._write: owed.prev != view.position  ->  owed.prev > view.position",
        "a view stands on a seq of its own stream, so what comes after it has no predecessor before it",
    ),
    Equivalent(
        "transition.advance: now <= session.now  ->  now < session.now",
        "where no time passes, every budget is kept already, so there is nothing to do",
    ),
)
"""All of them, each with its reason. Checked: one that is refuted after all fails."""


@frozen
class Fate:
    """What became of a mutation."""

    mutation: Mutation
    killer: str
    """What refuted it; empty if nothing did."""
    tried: int
    """How many obligations were run."""
    seconds: float


# Making mutations


def mutations(modules: Sequence[str] = (*MODULES, "window")) -> Iterator[Mutation]:
    """Every change of every function of these modules, in the order of their sources."""
    return changes.mutations(swap.MACHINE, modules)


# Which obligations execute which lines


@frozen
class Executed:
    """The obligations that execute each line of the machine, those first that are likely to refute a change of it."""

    by_line: Mapping[Line, tuple[str, ...]]

    def of(self, mutation: Mutation) -> tuple[str, ...]:
        """The obligations whose paths execute a line of the mutation."""
        found = [name for line in mutation.lines for name in self.by_line.get((mutation.module, line), ())]
        return tuple(dict.fromkeys(found))


@frozen
class Recorded:
    """What one obligation executes."""

    obligation: str
    own: frozenset[Line]
    """Lines that its own run executes."""
    given: frozenset[Line]
    """Lines that are executed for what its shape takes for granted."""
    seconds: float


def executed(recorded: Sequence[Recorded]) -> Executed:
    """Order the obligations of each line: those that execute it themselves first, of each input the quickest first."""
    ranks: dict[str, int] = {}
    of_input: dict[str, int] = {}
    for each in sorted(recorded, key=lambda each: each.seconds):
        given = each.obligation.rpartition(" | ")[2]
        ranks[each.obligation] = of_input.get(given, 0)
        of_input[given] = ranks[each.obligation] + 1
    found: dict[Line, list[tuple[bool, int, float, str]]] = {}
    for each in recorded:
        for line in each.own | each.given:
            rank = (line not in each.own, ranks[each.obligation], each.seconds, each.obligation)
            found.setdefault(line, []).append(rank)
    return Executed({line: tuple(name for *_, name in sorted(ranked)) for line, ranked in found.items()})


def record(name: str) -> Recorded:
    """Run an obligation and record the lines that it executes."""
    obligation = _obligations()[name]
    given = _given().get(obligation.shape, frozenset())
    own: set[Line] = set()
    began = time.perf_counter()
    lines.recorded(lambda: first_failure(obligation), own)
    return Recorded(name, frozenset(own), given, time.perf_counter() - began)


@cache
def _given() -> dict[str, frozenset[Line]]:
    """For each shape of a session, the lines that its precondition executes."""
    swap.forget()
    found: dict[str, frozenset[Line]] = {}
    for shape in shapes.shapes():
        own: set[Line] = set()
        for formula in (invariant.precondition, invariant.template, invariant.template_of_two):
            lines.recorded(partial(formula, shape), own)
        found[shape.name()] = frozenset(own)
    return found


@cache
def _obligations() -> dict[str, Obligation]:
    return {each.name: each for each in obligations.obligations()}


# Refuting them


def kill(mutation: Mutation, names: Sequence[str]) -> Fate:
    """Run the obligations under the mutation, up to the first that fails."""
    began = time.perf_counter()
    with swap.swapped(mutation.function, mutation.code()):
        for tried, name in enumerate(names, 1):
            failure = first_failure(_obligations()[name])
            if failure is not None:
                killer = f"{failure.theorem or failure.verdict.value}: {failure.what} ({name})"
                return Fate(mutation, killer, tried, time.perf_counter() - began)
    return Fate(mutation, "", len(names), time.perf_counter() - began)


def kill_by_tests(mutation: Mutation, tests: Sequence[str]) -> Fate:
    """Run tests under the mutation, in a process of its own: a change of the window may make a loop endless."""
    began = time.perf_counter()
    _check_unchanged(tuple(tests))
    try:
        code = _test(mutation.function, mutation.index, tests)
    except subprocess.TimeoutExpired:
        return Fate(mutation, f"the tests do not end within {TEST_SECONDS} s", len(tests), time.perf_counter() - began)
    if code not in (0, 1):
        raise RuntimeError(f"{', '.join(tests)} did not run: exit {code}")
    return Fate(mutation, ", ".join(tests) if code else "", len(tests), time.perf_counter() - began)


@cache
def _check_unchanged(tests: tuple[str, ...]) -> None:
    """Tests that fail anyway refute nothing."""
    code = _test("", 0, tests)
    if code != 0:
        raise RuntimeError(f"{', '.join(tests)} do not pass on the machine as it is: exit {code}")


def _test(function: str, index: int, tests: Sequence[str]) -> int:
    program = "import sys; from reattach_proofs import mutation; sys.exit(mutation.test_under(*sys.argv[1:]))"
    command = [sys.executable, "-c", program, function, str(index), *tests]
    return subprocess.run(command, timeout=TEST_SECONDS, capture_output=True, check=False).returncode


def test_under(function: str, index: str, *tests: str) -> int:
    """Run tests under a mutation of a function (none, if it is empty), and return pytest's exit code."""
    import pytest

    options = [
        "-x",
        "-q",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:cov",
        "-o",
        "addopts=--import-mode=importlib",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",  # what the plugin's entry point names is imported already
    ]
    if not function:
        return int(pytest.main([*options, *tests]))
    mutation = next(each for each in changes.of_function(swap.MACHINE, function) if each.index == int(index))
    with swap.swapped(mutation.function, mutation.code()):
        return int(pytest.main([*options, *tests]))


_executed: list[Executed] = []
"""What this process was told of the obligations."""


def _begin(known: Executed | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent alone answers an interruption
    if known is not None:
        _executed.append(known)


def _kill(mutation: Mutation) -> Fate:
    tests = _tests_of(mutation)
    return kill_by_tests(mutation, tests) if tests else kill(mutation, _executed[-1].of(mutation))


def _tests_of(mutation: Mutation) -> tuple[str, ...]:
    return TESTS.get(mutation.function, TESTS.get(mutation.module, ()))


# The command


def main(arguments: Sequence[str] | None = None) -> int:
    """Mutate, refute, and list what survives. Exit 1 if something does without a reason, or a reason is wrong."""
    parser = argparse.ArgumentParser(prog="reattach_proofs.mutation", description="Mutate the machine automatically.")
    parser.add_argument("functions", nargs="*", help="module or module.function; all if none is named")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="also list what refuted each")
    given = parser.parse_args(arguments)
    chosen = [
        each
        for each in mutations()
        if not given.functions or each.module in given.functions or each.function in given.functions
    ]
    if not chosen:
        parser.error(f"nothing to mutate in {', '.join(given.functions)}")
    console, fates = Console(), list[Fate]()
    began = time.perf_counter()
    try:
        with Progress(console=console, disable=not console.is_terminal) as progress:
            known = _recorded(chosen, given.workers, progress)
            for fate in _each(_kill, chosen, given.workers, known, "refuting mutations", progress):
                fates.append(fate)
                if given.verbose:
                    console.print(f"{fate.seconds:6.1f} s  {fate.mutation}\n          {fate.killer}", markup=False)
    except KeyboardInterrupt:
        console.print(f"interrupted: {len(fates)} of {len(chosen)} mutations were tried")
        return 1
    return _report(console, fates, whole=not given.functions, seconds=time.perf_counter() - began)


def _recorded(chosen: Sequence[Mutation], workers: int, progress: Progress) -> Executed | None:
    if all(_tests_of(mutation) for mutation in chosen):
        return None
    names = list(_obligations())
    return executed(
        list(_each(record, names, workers, None, "recording which lines each obligation executes", progress))
    )


def _each(
    function: Callable[[T], R],
    items: Sequence[T],
    workers: int,
    known: Executed | None,
    what: str,
    progress: Progress,
) -> Iterator[R]:
    bar = progress.add_task(what, total=len(items))
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin, (known,)) as pool:
        try:
            for future in as_completed([pool.submit(function, item) for item in items]):
                progress.advance(bar)
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _report(console: Console, fates: Sequence[Fate], whole: bool, seconds: float) -> int:
    reasons = {each.change: each.reason for each in EQUIVALENT}
    survivors = sorted((fate for fate in fates if not fate.killer), key=lambda fate: str(fate.mutation))
    unexplained = [fate for fate in survivors if str(fate.mutation) not in reasons]
    wrong = [fate for fate in fates if fate.killer and str(fate.mutation) in reasons]
    stray = reasons.keys() - {str(fate.mutation) for fate in fates} if whole else set()
    console.print(f"{len(fates)} mutations, {len(fates) - len(survivors)} refuted, in {seconds:.0f} s")
    for fate in survivors:
        text = str(fate.mutation)
        console.print(f"  survives: {text}\n    {reasons.get(text, 'UNEXPLAINED')}", markup=False, soft_wrap=True)
    for fate in wrong:
        console.print(f"  not equivalent: {fate.mutation}\n    {fate.killer}", markup=False, soft_wrap=True)
    for text in sorted(stray):
        console.print(f"  explained, but there is no such mutation: {text}", markup=False, soft_wrap=True)
    return 1 if unexplained or wrong or stray else 0


if __name__ == "__main__":
    sys.exit(main())
