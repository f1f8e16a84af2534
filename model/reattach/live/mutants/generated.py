"""Mutants made automatically: every small change of the machine and of the server around it, and a sample of them.

The named mutants are mistakes that somebody would make. This is the systematic complement. The sample is drawn by a
hash of each change, so that it stays the same where the code does. A change that no finding shows is listed, with the
reason why nothing on the wire can show it (``survivors``), or as a gap.
"""

import hashlib
from functools import cache
from types import CodeType, FunctionType

from attrs import frozen

from reattach.live.mutants.base import SERVER
from reattach.mutation import changes
from reattach.mutation.changes import Mutation
from reattach.mutation.machine import MACHINE

PACKAGES = {
    MACHINE: ("cursor", "decision", "server", "session", "transition", "window"),
    SERVER: ("app", "delivery", "forms", "guest", "host", "wire", "tools", "stateless"),
}
"""The modules that are changed: what runs between a request and its answer."""
_ROOT = "reattach."


@frozen
class Generated:
    """One small change, as a server."""

    mutation: Mutation

    @property
    def name(self) -> str:
        """How ``--mutant`` names it."""
        return f"{self.mutation.package.removeprefix(_ROOT)}.{self.mutation.function}#{self.mutation.index}"

    @property
    def wrong(self) -> str:
        """What is changed into what."""
        return f"{self.mutation.package.removeprefix(_ROOT)}.{self.mutation}"

    def codes(self) -> tuple[tuple[FunctionType, CodeType], ...]:
        """The function that it changes, and its changed code."""
        return ((self.mutation.target(), self.mutation.code()),)


@cache
def every_change() -> tuple[Generated, ...]:
    """All of them, in the order of the sources."""
    return tuple(
        Generated(mutation)
        for package, modules in PACKAGES.items()
        for mutation in changes.mutations(package, modules, calls=True)
    )


def sample(seed: int, count: int) -> list[Generated]:
    """Some of them, drawn by the seed; more of them with the same seed begin with the same ones."""
    return sorted(every_change(), key=lambda each: hashlib.sha256(f"{seed}:{each.wrong}".encode()).digest())[:count]


def generated_named(name: str) -> Generated | None:
    """The change that ``FUNCTION#INDEX`` names; None if there is none."""
    return next((each for each in every_change() if each.name == name), None) if "#" in name else None
