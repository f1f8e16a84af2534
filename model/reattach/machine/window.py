"""The window: the bounded set of recent events that a session still holds.

Everything here is an interval of integers. ``low`` is the seq of the oldest held event, or ``next`` if none is held;
``next`` is the seq that will be given next. Between them, each held event knows ``prev``, the seq before it on its own
stream. These three numbers are all that replay, eviction and the judgement of a cursor need:

* an event is the successor of position p on its stream iff its ``prev`` equals p; a larger ``prev`` says that
  something between them has gone;
* the *mark* of a stream is the ``prev`` of its first held event, or the stream's last seq if it has none held.

``count``, ``start`` and ``at`` of the held events never decrease with ``seq``, so each limit is one search for the
first event that may stay, and eviction is one comparison of integers. The proofs replace this class by one with the
same methods over unbounded symbolic integers; the docstrings of the methods are the contract between the two.
"""

from bisect import bisect_left
from collections.abc import Callable

from attrs import evolve, frozen


@frozen
class Entry:
    """An event as the window holds it."""

    seq: int
    """Session-scoped sequence number, 1 or more (EVT-2)."""
    stream: int
    """The number of the one stream it belongs to."""
    prev: int
    """The seq before this one on the same stream."""
    at: int
    """When it was emitted, in milliseconds."""
    count: int
    """Which of the session's messages it is: 1 for the first."""
    start: int
    """Bytes of all the session's messages before it."""
    size: int
    """Bytes of its message."""
    message: object
    """The JSON-RPC message; the machine never looks inside."""


NO_ENTRY = Entry(seq=0, stream=0, prev=0, at=0, count=0, start=0, size=0, message=None)
"""Absence of an event, told by ``seq == 0``."""


@frozen
class Window:
    """The held events of one session, oldest first."""

    held: tuple[Entry, ...] = ()
    low: int = 1
    next: int = 1
    count: int = 0
    """Messages ever emitted in the session."""
    size: int = 0
    """Bytes of the messages ever emitted in the session."""

    def successor(self, stream: int, after: int) -> Entry:
        """The first held event of ``stream`` whose seq is greater than ``after``; NO_ENTRY if there is none."""
        for index in range(self._search(after + 1, _seq), len(self.held)):
            if self.held[index].stream == stream:
                return self.held[index]
        return NO_ENTRY

    def first_since(self, at: int) -> int:
        """The seq of the first held event that was emitted at ``at`` milliseconds or later; ``next`` if none was."""
        return self._seq_at(self._search(at, _at))

    def first_counted(self, count: int) -> int:
        """The seq of the first held event that is the ``count``-th message or later; ``next`` if none is."""
        return self._seq_at(self._search(count, _count))

    def first_starting(self, start: int) -> int:
        """The seq of the first held event with at least ``start`` bytes of messages before it; ``next`` if none has."""
        return self._seq_at(self._search(start, _start))

    def trimmed(self, low: int) -> "Window":
        """Without the events before ``low``, which is the seq of a held event or ``next`` (WIN-5: oldest first)."""
        return evolve(self, held=self.held[self._search(low, _seq) :], low=low)

    def allotted(self) -> "Window":
        """With ``next`` given away and no event held for it: the birth of a stream, which its priming shows."""
        return evolve(self, low=self.low + 1 if self.low == self.next else self.low, next=self.next + 1)

    def appended(self, stream: int, prev: int, at: int, size: int, message: object) -> "Window":
        """With one more event, whose seq is ``next``."""
        entry = Entry(self.next, stream, prev, at, self.count + 1, self.size, size, message)
        return evolve(self, held=(*self.held, entry), next=self.next + 1, count=self.count + 1, size=self.size + size)

    def _search(self, bound: int, key: Callable[[Entry], int]) -> int:
        return bisect_left(self.held, bound, key=key)

    def _seq_at(self, index: int) -> int:
        return self.held[index].seq if index < len(self.held) else self.next


def suffix(window: Window, stream: int, position: int) -> tuple[Entry, ...]:
    """All held events of ``stream`` strictly after ``position``: what a re-attached view delivers (DEL-1, DEL-2)."""
    entries: list[Entry] = []
    entry = window.successor(stream, position)
    while entry.seq != 0:
        entries.append(entry)
        entry = window.successor(stream, entry.seq)
    return tuple(entries)


def _seq(entry: Entry) -> int:
    return entry.seq


def _at(entry: Entry) -> int:
    return entry.at


def _count(entry: Entry) -> int:
    return entry.count


def _start(entry: Entry) -> int:
    return entry.start
