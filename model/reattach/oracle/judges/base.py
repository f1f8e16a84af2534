"""What a judge is: a small function that looks at one kind of moment and says which clauses it saw kept or broken.

The register is filled by the decorator, so which clauses are judged is never listed by hand.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

from attrs import frozen

from reattach.oracle.moments import Moment
from reattach.oracle.record import Run, Seen
from reattach.oracle.verdict import Fault, Kind


@frozen
class Held:
    """A clause was exercised and kept."""

    clause: str


@frozen
class Broken:
    """A clause was exercised and not kept."""

    clause: str
    fault: Fault
    summary: str
    evidence: tuple[Seen, ...]
    kind: Kind | None = None
    """Set where the kind does not follow from the clause and the profile."""


Judgement: TypeAlias = Held | Broken
Judge: TypeAlias = Callable[[Run, Moment], Iterator[Judgement]]
M = TypeVar("M")

JUDGES: dict[type, list[tuple[frozenset[str], Judge]]] = {}
"""By the kind of moment that they look at, with the clauses that each of them judges."""


def judge(
    *clauses: str, on: type[M]
) -> Callable[[Callable[[Run, M], Iterator[Judgement]]], Callable[[Run, M], Iterator[Judgement]]]:
    """Register the decorated function as the judge of ``clauses`` on every moment of kind ``on``."""

    def register(function: Callable[[Run, M], Iterator[Judgement]]) -> Callable[[Run, M], Iterator[Judgement]]:
        JUDGES.setdefault(on, []).append((frozenset(clauses), function))  # type: ignore[arg-type]
        return function

    return register


def judged() -> frozenset[str]:
    """The clauses that have a judge."""
    return frozenset(clause for judges in JUDGES.values() for clauses, _ in judges for clause in clauses)
