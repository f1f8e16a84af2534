"""Where the theorems come from: each source has theorems, the obligations that make them up, and their witnesses."""

from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from reattach_proofs import conduct, end_to_end, obligations, replay, servers, witnesses
from reattach_proofs.conduct import CONDUCT
from reattach_proofs.obligations import Obligation
from reattach_proofs.promises import STEP_THEOREMS, Theorem


@frozen
class Source:
    """A group of theorems that are proved together."""

    name: str
    theorems: tuple[Theorem, ...]
    obligations: Callable[[], Iterator[Obligation]]
    witnesses: Mapping[str, tuple[str, ...]]
    """Of each theorem the interesting cases that must be possible, at least one."""


def _end_to_end() -> Iterator[Obligation]:
    yield from end_to_end.obligations()
    yield from conduct.obligations()


SOURCES: tuple[Source, ...] = (
    Source("one session", STEP_THEOREMS, obligations.obligations, witnesses.WITNESSES),
    Source("the server", (servers.SESSIONS,), servers.obligations, {servers.SESSIONS.name: servers.SIGHTS}),
    Source("replay", (replay.REPLAY,), replay.obligations, {replay.REPLAY.name: replay.SIGHTS}),
    Source("end to end", (end_to_end.END_TO_END, CONDUCT), _end_to_end, end_to_end.WITNESSES),
)
"""All of them, in the order of the ledger."""


def theorems() -> tuple[Theorem, ...]:
    """Every theorem."""
    return tuple(theorem for source in SOURCES for theorem in source.theorems)
