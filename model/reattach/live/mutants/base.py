"""What a served mutant is: a change of one or more functions of this package, and what must be said of it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import CodeType, FunctionType
from typing import Protocol

from attrs import frozen

from reattach.live.mutants import wrong
from reattach.mutation import swap
from reattach.mutation.machine import MACHINE, MISTAKES, Mistake
from reattach.oracle.verdict import Fault

SERVER = "reattach.live.server"
_HELPERS = "wrong"
"""The name under which a change finds the module ``wrong``."""


@frozen
class Edit:
    """A change of one function's text."""

    function: str
    """Its full dotted name."""
    old: str
    """What is replaced; occurs exactly once in the function's source."""
    new: str
    """What stands there instead; it may use the module ``wrong``."""


@frozen
class Mutant:
    """A faulty server."""

    name: str
    wrong: str
    """What it does wrong, in a sentence."""
    clause: str
    """The clause that it violates ..."""
    fault: Fault
    """... and the class of fault: both must be reported."""
    edits: tuple[Edit, ...]
    seen: str = ""
    """Where it was seen in the wild: the software, and its number in research/bugs.md (B) or servers.md (S)."""

    def codes(self) -> tuple[tuple[FunctionType, CodeType], ...]:
        """Each function that it changes, and its changed code. Raises DoesNotFitError or NoSuchFunctionError."""
        by_function: dict[str, list[tuple[str, str]]] = {}
        for edit in self.edits:
            by_function.setdefault(edit.function, []).append((edit.old, edit.new))
        return tuple(
            (function, swap.edited(function, *changes))
            for name, changes in by_function.items()
            for function in [swap.function_at(name)]
        )


def of_machine(name: str, clause: str, fault: Fault) -> Mutant:
    """A mistake in the machine, served."""
    mistake = MISTAKES[name]
    return Mutant(name, mistake.wrong, clause, fault, (edit_of(mistake),), mistake.seen)


def edit_of(mistake: Mistake) -> Edit:
    """A mistake in the machine as a change of its function's text."""
    return Edit(f"{MACHINE}.{mistake.function}", mistake.old, mistake.new)


class Changing(Protocol):
    """What changes functions."""

    def codes(self) -> tuple[tuple[FunctionType, CodeType], ...]:
        """Each function that it changes, and its changed code."""


@contextmanager
def applied(mutant: Changing) -> Iterator[None]:
    """Run this process with the fault. What judges it must run in another: it calls the machine's functions too."""
    with ExitStack() as stack:
        for function, code in mutant.codes():
            stack.enter_context(swapped(function, code))
        yield


@contextmanager
def swapped(function: FunctionType, code: CodeType) -> Iterator[None]:
    """Run with other code for one function, which finds the module ``wrong``."""
    names = function.__globals__
    had = _HELPERS in names
    names.setdefault(_HELPERS, wrong)
    try:
        with swap.swapped(function, code):
            yield
    finally:
        if not had:
            names.pop(_HELPERS, None)
