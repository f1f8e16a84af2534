"""What a judge is: a small function that looks at one kind of moment and says which clauses it saw kept or broken.

The register is filled by the decorator, so which clauses are judged is never listed by hand.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from attrs import frozen

from reattach.oracle.moments import Delivered, Moment
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
Judge: TypeAlias = Callable[[Run, Moment], Iterable[Judgement]]
M = TypeVar("M")

JUDGES: dict[type, list[tuple[frozenset[str], Judge]]] = {}
"""By the kind of moment that they look at, with the clauses that each of them judges."""

PLAIN: list[tuple[frozenset[str], Judge]] = []
"""Those of them that have something to say of a plain delivery (see ``Delivered.plain``)."""


def judge(
    *clauses: str, on: type[M], plain: bool = False
) -> Callable[[Callable[[Run, M], Iterable[Judgement]]], Callable[[Run, M], Iterable[Judgement]]]:
    """Register the decorated function as the judge of ``clauses`` on every moment of kind ``on``.

    ``plain`` says that it has something to say also of deliveries that are plain, as nearly all are; the others are
    asked only about those that are not.
    """

    def register(function: Callable[[Run, M], Iterable[Judgement]]) -> Callable[[Run, M], Iterable[Judgement]]:
        JUDGES.setdefault(on, []).append((frozenset(clauses), function))  # type: ignore[arg-type]
        if plain:
            PLAIN.append((frozenset(clauses), function))  # type: ignore[arg-type]
        return function

    return register


def judges_of(moment: Moment) -> Sequence[tuple[frozenset[str], Judge]]:
    """The judges that may have something to say of a moment."""
    if type(moment) is Delivered and moment.plain:
        return PLAIN
    return JUDGES.get(type(moment), ())


def judged() -> frozenset[str]:
    """The clauses that have a judge."""
    return frozenset(clause for judges in JUDGES.values() for clauses, _ in judges for clause in clauses)
