"""Twins: two exchanges that differ in one thing. The good one keeps a clause, the bad one shows one fault of it."""

from collections.abc import Callable

from attrs import frozen
from tests.oracle.wire import Exchange, Session, Wire

from reattach.machine.revision import Revision
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.verdict import Fault

Build = Callable[[Wire, bool], None]


@frozen
class Twin:
    """One clause, one fault class, and the exchange that keeps or breaks it."""

    name: str
    clause: str
    fault: Fault
    build: Build
    declaration: Declaration
    revision: Revision
    also: frozenset[tuple[str, Fault]]
    """What else the bad one breaks, in the nature of the thing."""
    allowed: bool
    """Whether the bad one is an allowed difference and no violation."""
    holds: bool
    """Whether the good one shows that the clause is kept; else it shows nothing about it."""


TWINS: list[Twin] = []


def twin(
    clause: str,
    fault: Fault,
    *,
    declaration: Declaration = NOTHING_DECLARED,
    revision: Revision = Revision.R2025_11_25,
    also: tuple[tuple[str, Fault], ...] = (),
    allowed: bool = False,
    holds: bool = True,
) -> Callable[[Build], Build]:
    """Register the decorated function, which writes the good exchange, or, if it is told to, the bad one."""

    def register(build: Build) -> Build:
        TWINS.append(Twin(build.__name__, clause, fault, build, declaration, revision, frozenset(also), allowed, holds))
        return build

    return register


def resume(session: Session, cursor: str) -> Exchange:
    """A resumption that is granted and states its position."""
    return session.get(cursor).answer().comment(f"resumed {cursor}").bare(cursor)
