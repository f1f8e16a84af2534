"""The exhaustive concrete explorer: every state within bounds, breadth first.

A ``Space`` is a start and a relation of labelled steps. ``explore`` visits every state that can be reached, once per
``key``, checks what must hold of each state and of each step, and remembers how each state was reached. Because it goes
breadth first, the first violation it meets has a shortest trace, and so has the first sight of each witness.

``key`` is where reductions live: two states with the same key count as one, and the first one met stands for both.
That is sound if they have the same successors up to the key and satisfy the same predicates; each space says why its
key does, and the tests compare each reduced space with the unreduced one at bounds where both can be visited in full.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from attrs import frozen

S = TypeVar("S")
L = TypeVar("L")


def identity(state: Hashable) -> Hashable:
    """The key that reduces nothing."""
    return state


@frozen
class Space(Generic[S, L]):
    """A transition system: where it starts, and the labelled steps from each state."""

    initial: S
    steps: Callable[[S], Iterable[tuple[L, S]]]
    key: Callable[[S], Hashable]


@frozen
class Trace(Generic[S, L]):
    """How a state is reached: the labels from the initial state on, and the state at the end."""

    labels: tuple[L, ...]
    end: S

    def __len__(self) -> int:
        return len(self.labels)


@frozen
class Counterexample(Generic[S, L]):
    """A shortest trace after which a named predicate is false."""

    predicate: str
    trace: Trace[S, L]


@frozen
class Explored(Generic[S, L]):
    """What an exploration found. Complete, unless it stopped at a counterexample or was told to stop early."""

    states: int
    transitions: int
    """Steps that lead to another state, counted from every state that was expanded."""
    depth: int
    """The number of steps to the farthest state."""
    counterexample: tuple[Counterexample[S, L], ...]
    """The shortest one, or nothing."""
    witnesses: Mapping[str, Trace[S, L]]
    """For each name of ``sometimes`` that was seen: a shortest trace to it."""


class SpaceTooLargeError(Exception):
    """The space is larger than the limit, so nothing is known about all of it."""


def explore(
    space: Space[S, L],
    always: Iterable[Callable[[S], bool]] = (),
    each: Iterable[Callable[[S, L, S], bool]] = (),
    sometimes: Mapping[str, Callable[[S, L, S], bool]] | None = None,
    limit: int = 10_000_000,
    until_seen: bool = False,
    thorough: bool = False,
) -> Explored[S, L]:
    """Visit every state of the space.

    ``always`` holds of every state, ``each`` of every step; the first that does not ends the exploration. ``sometimes``
    names steps that are to be seen at least once; with ``until_seen`` the exploration ends when all were. ``thorough``
    asks ``always`` at the end of every step, not only of the first state with its key: it finds what the key hides.
    Raises SpaceTooLargeError beyond ``limit`` states.
    """
    states_hold, steps_hold = tuple(always), tuple(each)
    wanted = dict(sometimes or {})
    witnesses: dict[str, Trace[S, L]] = {}
    visited = {space.key(space.initial)}
    origins: list[tuple[int, L | None]] = [(0, None)]  # of each state: the number of the one before it, and the step
    layer: list[tuple[int, S]] = [(0, space.initial)]
    transitions = depth = 0

    def trace_to(before: int, label: L, end: S) -> Trace[S, L]:
        labels = [label]
        at = before
        while at:
            at, earlier = origins[at]
            assert earlier is not None
            labels.append(earlier)
        return Trace(tuple(reversed(labels)), end)

    def ended(*found: Counterexample[S, L]) -> Explored[S, L]:
        return Explored(len(visited), transitions, depth, found, witnesses)

    for holds in states_hold:
        if not holds(space.initial):
            return ended(Counterexample(holds.__name__, Trace((), space.initial)))
    while layer:
        following: list[tuple[int, S]] = []
        for number, before in layer:
            known = space.key(before)
            for label, after in space.steps(before):
                for name in [name for name, seen in wanted.items() if seen(before, label, after)]:
                    witnesses[name] = trace_to(number, label, after)
                    del wanted[name]
                    if until_seen and not wanted:
                        return ended()
                for step_holds in steps_hold:
                    if not step_holds(before, label, after):
                        return ended(Counterexample(step_holds.__name__, trace_to(number, label, after)))
                if after is before:
                    continue
                key = space.key(after)
                if key == known:
                    continue
                transitions += 1
                if key in visited and not thorough:
                    continue
                for holds in states_hold:
                    if not holds(after):
                        return ended(Counterexample(holds.__name__, trace_to(number, label, after)))
                if key in visited:
                    continue
                visited.add(key)
                if len(visited) > limit:
                    raise SpaceTooLargeError(f"more than {limit} states")
                origins.append((number, label))
                following.append((len(origins) - 1, after))
        layer = following
        depth += bool(following)
    return ended()
