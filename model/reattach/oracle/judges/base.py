"""What a judge is: a small function that looks at one kind of moment and says which clauses it saw kept or broken.

The register is filled by the decorator, so which clauses are judged is never listed by hand.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

import msgspec
from attrs import frozen

from reattach.oracle.moments import ALL, Moment, Trait
from reattach.oracle.record import Run, Seen
from reattach.oracle.verdict import Fault, Kind


class Held(msgspec.Struct, frozen=True):
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

_TRAITS: dict[Judge, Trait] = {}
"""For judges that look only at what is special: for what they are asked."""


def judge(
    *clauses: str, on: type[M], only: Trait = 0
) -> Callable[[Callable[[Run, M], Iterable[Judgement]]], Callable[[Run, M], Iterable[Judgement]]]:
    """Register the decorated function as the judge of ``clauses`` on every moment of kind ``on``.

    ``only``: it has something to say only of moments that have one of these traits, and is asked about no others.
    """

    def register(function: Callable[[Run, M], Iterable[Judgement]]) -> Callable[[Run, M], Iterable[Judgement]]:
        JUDGES.setdefault(on, []).append((frozenset(clauses), function))  # type: ignore[arg-type]
        if only:
            _TRAITS[function] = only  # type: ignore[index]
        return function

    return register


_asked: dict[type, dict[Trait, tuple[tuple[frozenset[str], Judge], ...]]] = {}


def judges_of(moment: Moment) -> Sequence[tuple[frozenset[str], Judge]]:
    """The judges that may have something to say of a moment."""
    of_kind, traits = _asked.get(type(moment)), moment.traits
    if of_kind is None:
        of_kind = _asked[type(moment)] = {}
    asked = of_kind.get(traits)
    if asked is None:
        judges = JUDGES.get(type(moment), [])
        asked = tuple(each for each in judges if _TRAITS.get(each[1], ALL) & traits or each[1] not in _TRAITS)
        of_kind[traits] = asked
    return asked


def judged() -> frozenset[str]:
    """The clauses that have a judge."""
    return frozenset(clause for judges in JUDGES.values() for clauses, _ in judges for clause in clauses)
