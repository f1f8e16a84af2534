"""Small obligations that are known to be true, false, vacuous or undecidable, to test the prover with."""

from collections.abc import Callable
from typing import Any

from reattach_proofs.executor import merged
from reattach_proofs.obligations import Obligation, Outcome, Stated
from reattach_proofs.symbolic import current, integer
from reattach_proofs.terms import Term, integer_named, number

X, Y = integer_named("x"), integer_named("y")


def x() -> Any:
    """An arbitrary integer."""
    return integer(X)


def y() -> Any:
    """Another."""
    return integer(Y)


def claim(holds: Callable[[], object], name: str = "claim", theorem: str = "toy") -> Stated:
    """A claim of the theorem "toy"."""
    return Stated(theorem, name, merged(holds))


def obligation(run: Callable[[], Outcome], name: str = "a toy | happens") -> Obligation:
    """An obligation of this function."""
    return Obligation(name, run)


def true() -> Outcome:
    """Two paths, on both of which the claims hold."""
    higher = y() if x() < y() else x()
    claims = (claim(lambda: x() <= higher, "x is at most the higher"), claim(lambda: y() <= higher, "y too"))
    return Outcome(claims, (higher,), sights=(claim(lambda: x() < y(), "y is higher"),))


def false() -> Outcome:
    """Two paths, on one of which one of two claims does not hold."""
    higher = y() if x() <= y() else x()
    return Outcome(
        (claim(lambda: x() <= higher, "x is at most the higher"), claim(lambda: x() == higher, "x is it")), ()
    )


def contradictory() -> Outcome:
    """What is assumed cannot be, so that everything follows."""
    current().assume(X < Y)
    current().assume(Y < X)
    return Outcome((claim(lambda: x() == y(), "anything"),), ())


def claimless() -> Outcome:
    """Nothing is claimed."""
    return Outcome((), (bool(x() < y()),))


def raising() -> Outcome:
    """An exception on one path."""
    if x() == 7:
        raise ValueError("seven")
    return Outcome((claim(lambda: x() == x(), "x is itself"),), ())


def unsupported() -> Outcome:
    """A symbolic value is used as a key."""
    return Outcome((claim(lambda: True),), ({x(): 1},))


def fallible(formula: Term) -> Callable[[], Outcome]:
    """One path on which this is claimed."""
    return lambda: Outcome((Stated("toy", "claim", formula),), ())


SEVEN = number(7)
