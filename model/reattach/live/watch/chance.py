"""Faults drawn with a seed: the n-th view and the n-th reconnect of every run with that seed get the same ones.

Only such faults are drawn as a correct client and a correct server survive together without losing anything.
"""

import random
from collections.abc import Sequence

from attrs import frozen

from reattach.live.watch.fault import Do, Fault, To, make_fault

EVERY = 20
"""Events that pass on average before a view is broken, if nothing else is said."""
SPARED = 2
"""Events that pass at least: an id to resume from, or the position stated again, and one that is new."""
_VIEWS = ((Do.CUT, 50), (Do.RESET, 38), (Do.HALF_OPEN, 12))
_RECONNECTS = ((Do.ANSWER, 10), (Do.RESET, 5), (None, 85))


@frozen
class Chance:
    """Draws faults."""

    seed: int
    every: int = EVERY

    def __call__(self, kind: To, number: int) -> Sequence[Fault]:
        """The faults of the ``number``-th exchange of a kind."""
        drawing = random.Random(f"{self.seed}:{kind.value}:{number}")
        if kind is To.VIEW:
            return self._on_view(drawing)
        if kind is To.RECONNECT:
            return self._on_reconnect(drawing)
        return ()

    def _on_view(self, drawing: random.Random) -> Sequence[Fault]:
        after = drawing.randrange(SPARED, max(2 * self.every - SPARED, SPARED) + 1)
        do = _choose(drawing, _VIEWS) or Do.CUT
        drawn = [make_fault(do, to=To.VIEW, after=after, inside=drawing.random() < 0.5)]
        if drawing.random() < 0.1:
            drawn.append(make_fault(Do.DELAY, to=To.VIEW, after=drawing.randrange(after), ms=drawing.randrange(1, 100)))
        if drawing.random() < 0.1:
            drawn.append(make_fault(Do.SPLIT, to=To.VIEW))
        return drawn

    def _on_reconnect(self, drawing: random.Random) -> Sequence[Fault]:
        do = _choose(drawing, _RECONNECTS)
        if do is Do.ANSWER:
            return (make_fault(do, to=To.RECONNECT, status=503),)
        return () if do is None else (make_fault(do, to=To.RECONNECT),)


def _choose(drawing: random.Random, among: Sequence[tuple[Do | None, int]]) -> Do | None:
    kinds, weights = zip(*among, strict=True)
    chosen: Do | None = drawing.choices(kinds, weights)[0]
    return chosen
