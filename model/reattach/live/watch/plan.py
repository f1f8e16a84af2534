"""Which exchange a fault acts on: counting, and nothing else."""

from collections.abc import Callable, Sequence

from attrs import define, field, frozen

from reattach.live.watch.fault import Fault, To


@frozen(kw_only=True)
class Asked:
    """What decides which kinds of exchange a request is."""

    method: str
    cursor: bool
    """Whether it carries ``Last-Event-ID``."""
    rpc_method: str | None = None
    """The method of its JSON-RPC message, if it has one."""


@frozen
class Armed:
    """A fault that may act on an exchange, if nothing else claims it before."""

    fault: Fault
    claim: Callable[[], bool]
    """Called when it comes to its place: whether it acts now. It is counted if so."""


Draw = Callable[[To, int], Sequence[Fault]]
"""The faults of the n-th exchange of a kind, counted from 1, that are drawn and not scripted."""


def _nothing(_: To, __: int) -> Sequence[Fault]:
    return ()


def kinds_of(asked: Asked) -> frozenset[To]:
    """The kinds of exchange that a request is, before its answer is known."""
    kinds = {To.INITIALIZE if asked.rpc_method == "initialize" else To.REQUEST}
    if asked.cursor:
        kinds.add(To.RECONNECT)
    elif asked.method == "GET":
        kinds.add(To.LISTEN)
    if asked.method == "DELETE":
        kinds.add(To.DELETE)
    if asked.rpc_method == "tools/call":
        kinds.add(To.CALL)
    return frozenset(kinds)


@define
class Plan:
    """The faults of a run, and how far they have come."""

    faults: tuple[Fault, ...] = ()
    draw: Draw = _nothing
    acted: list[int] = field(init=False)
    """How often each of the scripted faults has acted."""
    drawn: int = field(init=False, default=0)
    """How many of the drawn ones have acted."""
    _counts: dict[To, int] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.acted = [0] * len(self.faults)

    @property
    def reads_bodies(self) -> bool:
        """Whether a request's message decides something: then it is held until it is whole."""
        return any(fault.to in (To.INITIALIZE, To.CALL, To.REQUEST) for fault in self.faults)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to act at all."""
        return not self.faults and self.draw is _nothing

    def asked(self, asked: Asked) -> list[Armed]:
        """The faults that may act on a request that has just come."""
        return [armed for kind in sorted(kinds_of(asked), key=lambda kind: kind.value) for armed in self._next(kind)]

    def viewed(self) -> list[Armed]:
        """The faults that may act on a view that has just opened."""
        return self._next(To.VIEW)

    def _next(self, kind: To) -> list[Armed]:
        number = self._counts[kind] = self._counts.get(kind, 0) + 1
        armed = [
            Armed(fault, lambda place=place: self._claim(place))  # type: ignore[misc]
            for place, fault in enumerate(self.faults)
            if fault.to is kind and fault.hits(number)
        ]
        return armed + [Armed(fault, self._claim_drawn) for fault in self.draw(kind, number)]

    def _claim(self, place: int) -> bool:
        fault = self.faults[place]
        if fault.begin == 0 and 0 < fault.times <= self.acted[place]:
            return False
        self.acted[place] += 1
        return True

    def _claim_drawn(self) -> bool:
        self.drawn += 1
        return True
