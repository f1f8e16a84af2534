"""What stands in for the unbounded part of a session: its events, and the window over them.

The events a session ever emitted are uninterpreted functions of the seq: which stream it is of (0: none), its
predecessor, its time, count, offset and size. They never change, so the window over them is again nothing but integers.
``SymbolicWindow`` has the methods of ``machine.window.Window``; each returns a fresh integer and *assumes* what the
docstring of the real method says about it. Where that says "no held event ..." or "every event ...", it is assumed of
each seq that the run has met, and of each that it will meet: a finite number of instances, no quantifier.

That the real window keeps this contract is checked by tests/proofs/test_contract.py, exhaustively for small windows and
at random for large ones.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import z3
from attrs import define, field, frozen

from reattach.machine.window import Entry
from reattach_proofs.executor import SymbolicInt, current, term_of

Universal = Callable[[z3.ArithRef], z3.BoolRef]
Pairwise = Callable[[z3.ArithRef, z3.ArithRef], z3.BoolRef]

OWNER = z3.Function("stream", z3.IntSort(), z3.IntSort())
PREV = z3.Function("prev", z3.IntSort(), z3.IntSort())
AT = z3.Function("at", z3.IntSort(), z3.IntSort())
COUNT = z3.Function("count", z3.IntSort(), z3.IntSort())
START = z3.Function("start", z3.IntSort(), z3.IntSort())
SIZE = z3.Function("size", z3.IntSort(), z3.IntSort())
RANK = z3.Function("rank", z3.IntSort(), z3.IntSort())
"""Ghost: which of its stream's events it is; a birth has rank 0."""


@frozen
class MessageOf:
    """The message of the event with this seq; nothing looks inside."""

    seq: SymbolicInt


def _no_event_before_the_first(seq: z3.ArithRef) -> z3.BoolRef:
    return z3.Implies(seq < 1, OWNER(seq) == 0)


@define
class History:
    """The events of one session in one run: the seqs met so far, and what holds of each."""

    universals: list[Universal] = field(factory=lambda: [_no_event_before_the_first])
    pairwise: list[Pairwise] = field(factory=list)
    met: list[z3.ArithRef] = field(factory=list)
    skolems: dict[tuple[object, ...], z3.ArithRef] = field(factory=dict)

    def entry(self, seq: object) -> Entry:
        """The event with this seq, whether or not there is one; its stream is 0 if there is none."""
        t = term_of(seq)
        self.meet(t)
        return Entry(
            seq=_int(SymbolicInt(t)),
            stream=_int(SymbolicInt(OWNER(t))),
            prev=_int(SymbolicInt(PREV(t))),
            at=_int(SymbolicInt(AT(t))),
            count=_int(SymbolicInt(COUNT(t))),
            start=_int(SymbolicInt(START(t))),
            size=_int(SymbolicInt(SIZE(t))),
            message=MessageOf(SymbolicInt(t)),
        )

    def meet(self, seq: z3.ArithRef) -> None:
        """From now on, everything that holds of every seq is assumed of this one."""
        if any(seq.eq(known) for known in self.met):
            return
        for universal in self.universals:
            current().assume(universal(seq))
        for pairwise in self.pairwise:
            for known in self.met:
                current().assume(pairwise(seq, known))
                current().assume(pairwise(known, seq))
        self.met.append(seq)

    def assume_of_each(self, universal: Universal) -> None:
        """Assume something of every seq, met or still to be met."""
        for seq in self.met:
            current().assume(universal(seq))
        self.universals.append(universal)

    def skolem(self, *key: object) -> tuple[z3.ArithRef, bool]:
        """The integer that a question has for an answer, and whether the question is new; the same for the same."""
        known = self.skolems.get(key)
        if known is not None:
            return known, False
        fresh = z3.Int(f"answer!{len(self.skolems)}")
        self.skolems[key] = fresh
        return fresh, True


class SymbolicWindow:
    """A window over a history, with the methods of ``machine.window.Window``."""

    def __init__(
        self, history: History, low: SymbolicInt, next: SymbolicInt, count: SymbolicInt, size: SymbolicInt
    ) -> None:
        self.history = history
        self.low = low
        self.next = next
        self.count = count
        self.size = size

    def successor(self, stream: int, after: int) -> Entry:
        """See ``Window.successor``. ``stream`` must be an ordinary number."""
        low, next_, bound = self.low.term, self.next.term, term_of(after)
        k, new = self.history.skolem("successor", stream, bound, low, next_)
        if new:
            found = z3.And(k > bound, k >= low, k < next_, OWNER(k) == stream)
            current().assume(z3.Or(k == 0, found))
            self.history.assume_of_each(
                lambda q: z3.Implies(z3.And(OWNER(q) == stream, q > bound, q >= low, q < next_), z3.And(k != 0, k <= q))
            )
        return self.history.entry(SymbolicInt(k))

    def first_since(self, at: int) -> int:
        """See ``Window.first_since``."""
        return self._first("first_since", AT, at)

    def first_counted(self, count: int) -> int:
        """See ``Window.first_counted``."""
        return self._first("first_counted", COUNT, count)

    def first_starting(self, start: int) -> int:
        """See ``Window.first_starting``."""
        return self._first("first_starting", START, start)

    def trimmed(self, low: int) -> "SymbolicWindow":
        """See ``Window.trimmed``."""
        self.history.meet(term_of(low))
        return SymbolicWindow(self.history, SymbolicInt(term_of(low)), self.next, self.count, self.size)

    def allotted(self) -> "SymbolicWindow":
        """See ``Window.allotted``."""
        current().assume(OWNER(self.next.term) == 0)
        current().assume(RANK(self.next.term) == 0)
        self.history.meet(self.next.term)
        low = z3.If(self.low.term == self.next.term, self.low.term + 1, self.low.term)
        return SymbolicWindow(self.history, SymbolicInt(low), self.next + 1, self.count, self.size)

    def appended(self, stream: int, prev: int, at: int, size: int, message: object) -> "SymbolicWindow":
        """See ``Window.appended``."""
        seq = self.next.term
        current().assume(
            z3.And(
                OWNER(seq) == stream,
                PREV(seq) == term_of(prev),
                AT(seq) == term_of(at),
                COUNT(seq) == self.count.term + 1,
                START(seq) == self.size.term,
                SIZE(seq) == term_of(size),
                RANK(seq) == RANK(term_of(prev)) + 1,
            )
        )
        self.history.meet(seq)
        return SymbolicWindow(self.history, self.low, self.next + 1, self.count + 1, self.size + size)

    def _first(self, question: str, measure: z3.FuncDeclRef, bound: int) -> int:
        low, next_, least = self.low.term, self.next.term, term_of(bound)
        k, new = self.history.skolem(question, least, low, next_)
        if new:
            found = z3.And(k >= low, k < next_, OWNER(k) != 0, measure(k) >= least)
            current().assume(z3.Or(k == next_, found))
            self.history.assume_of_each(
                lambda q: z3.Implies(z3.And(OWNER(q) != 0, q >= low, q < next_, q < k), measure(q) < least)
            )
            # If none is found, every held event is below the bound; that is the case k == next of the same instance.
            self.history.meet(k)
        return _int(SymbolicInt(k))


def _int(value: SymbolicInt) -> int:
    """A symbolic integer where the machine's types say int; the executor stands for it at every operation."""
    if TYPE_CHECKING:
        return 0
    return value
