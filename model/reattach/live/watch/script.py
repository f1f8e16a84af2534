"""What becomes of an event stream's bytes on their way to the client: pieces in, steps out, no I/O.

Without faults that act in the stream every piece is passed as it is. With one, what has to be known whole before it is
passed (an event that is to be cut in its middle, or repeated) is held until it is, and nothing else is.
"""

from typing import TypeAlias

from attrs import define, field, frozen

from reattach.live.sse import BlockTooLargeError, CommentLine, Decoder, Event
from reattach.live.watch.fault import Do, Fault
from reattach.live.watch.plan import Armed

SPLIT_MS = 5
"""How long the second half of a CRLF is held back, so that the halves are read apart."""


@frozen
class Pass:
    """Bytes that the server sent, to be passed on."""

    data: bytes


@frozen
class Extra:
    """Bytes that the server did not send."""

    data: bytes


@frozen
class Wait:
    """Pass nothing, and read nothing, for a while."""

    ms: int


@frozen
class Stop:
    """Nothing of the stream passes after this."""

    fault: Fault


Step: TypeAlias = Pass | Extra | Wait | Stop

_STOPS = (Do.CUT, Do.RESET, Do.HALF_OPEN, Do.SILENCE)


@define
class Script:
    """What happens to one view."""

    armed: list[Armed]
    stopped: bool = field(init=False, default=False)
    _decoder: Decoder = field(init=False, factory=Decoder)
    _held: bytearray = field(init=False, factory=bytearray)
    """What came and has not passed yet."""
    _passed: int = field(init=False, default=0)
    """How many bytes of the stream have passed."""
    _start: int = field(init=False, default=0)
    """Where in the stream the block begins that is not complete yet."""
    _events: int = field(init=False, default=0)
    _standing: list[Armed] = field(init=False, factory=list)
    """The faults that act on the whole of it, and have been claimed."""

    def opened(self) -> list[Step]:
        """The head has passed."""
        steps: list[Step] = []
        self._at_place(steps)
        return steps

    def feed(self, piece: bytes) -> list[Step]:
        """A piece has come."""
        steps: list[Step] = []
        self._held += piece
        try:
            for item in self._decoder.feed(piece):
                if self.stopped:
                    return steps
                self._item(item, steps)
        except BlockTooLargeError:
            self.armed.clear()  # nothing can be said about where its events end
        if not self.stopped and not self._holds():
            self._pass(self._passed + len(self._held), steps)
        return steps

    def ended(self) -> list[Step]:
        """The stream has ended: what was held passes."""
        steps: list[Step] = []
        if not self.stopped:
            self._pass(self._passed + len(self._held), steps)
        return steps

    def _item(self, item: Event | CommentLine, steps: list[Step]) -> None:
        start, self._start = self._start, item.end
        if isinstance(item, CommentLine):
            self._pass(item.end, steps)
            return
        for armed in self._of(*_STOPS):
            if armed.fault.inside and armed.fault.after == self._events and armed.claim():
                self._pass(start + (item.end - start) // 2, steps)
                self._stop(armed, steps)
                return
        self._events += 1
        block = bytes(self._held[max(start - self._passed, 0) : item.end - self._passed])
        block = block.lstrip(b"\r\n")  # the end of the line before, or of a comment's block
        self._pass(item.end, steps)
        for armed in self._of(Do.REPEAT):
            place = armed.fault.after
            if (place == self._events or (place is None and item.data)) and armed.claim():
                self.armed.remove(armed)
                steps.append(Extra(block))
        self._at_place(steps)
        for armed in self._of(Do.SLOW):
            if not self.stopped and self._stands(armed):
                steps.append(Wait(armed.fault.ms))

    def _at_place(self, steps: list[Step]) -> None:
        """What acts between two events, after as many as have passed."""
        for armed in self._of(Do.DELAY, *_STOPS):
            fault = armed.fault
            if self.stopped or fault.inside or fault.after != self._events or not armed.claim():
                continue
            if fault.do is Do.DELAY:
                steps.append(Wait(fault.ms))
            else:
                self._stop(armed, steps)

    def _stop(self, armed: Armed, steps: list[Step]) -> None:
        self.stopped = True
        self._held.clear()
        steps.append(Stop(armed.fault))

    def _of(self, *kinds: Do) -> list[Armed]:
        return [armed for armed in self.armed if armed.fault.do in kinds]

    def _holds(self) -> bool:
        """Whether the event that has begun must be known whole before any of it passes."""
        inside = any(each.fault.inside and each.fault.after == self._events for each in self._of(*_STOPS))
        return inside or any(each.fault.after in (None, self._events + 1) for each in self._of(Do.REPEAT))

    def _pass(self, end: int, steps: list[Step]) -> None:
        """Pass the stream up to a place in it."""
        count = end - self._passed
        if count <= 0:
            return
        data = bytes(self._held[:count])
        del self._held[:count]
        self._passed = end
        splits = b"\r\n" in data and any(self._stands(armed) for armed in self._of(Do.SPLIT))
        for place, part in enumerate(_between_cr_and_lf(data) if splits else [data]):
            steps += [Wait(SPLIT_MS)] if place else []
            steps.append(Pass(part))

    def _stands(self, armed: Armed) -> bool:
        if armed not in self._standing and armed.claim():
            self._standing.append(armed)
        return armed in self._standing


def _between_cr_and_lf(data: bytes) -> list[bytes]:
    first, *others = data.split(b"\r\n")
    parts = [first]
    for other in others:
        parts[-1] += b"\r"
        parts.append(b"\n" + other)
    return parts
