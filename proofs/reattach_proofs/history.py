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

from attrs import define, field, frozen

from reattach.machine.window import Entry, Window
from reattach_proofs.executor import Run
from reattach_proofs.symbolic import Concrete, SymbolicInt, current, integer, running, term_of
from reattach_proofs.terms import (
    Function,
    Term,
    Unsupported,
    choice,
    conjunction,
    disjunction,
    evaluate,
    implication,
    integer_named,
)

Universal = Callable[[Term], Term]
Pairwise = Callable[[Term, Term], Term]

OWNER = Function("event.stream")
PREV = Function("event.prev")
AT = Function("event.at")
COUNT = Function("event.count")
START = Function("event.start")
SIZE = Function("event.size")


@frozen
class MessageOf:
    """The message of the event with this seq; nothing looks inside."""

    seq: int


def _no_event_before_the_first(seq: Term) -> Term:
    return implication(seq < 1, OWNER(seq) == 0)


@define(eq=False)
class History:
    """The events of one session in one run: the seqs met so far, and what holds of each."""

    universals: list[Universal] = field(factory=lambda: [_no_event_before_the_first])
    pairwise: list[Pairwise] = field(factory=list)
    met: dict[Term, None] = field(factory=dict)
    skolems: dict[tuple[object, ...], Term] = field(factory=dict)
    """The questions that were asked of the window, each with the integer that answers it."""

    def entry(self, seq: int) -> Entry:
        """The event with this seq, whether or not there is one; its stream is 0 if there is none."""
        t = term_of(seq)
        self.meet(t)
        return self.at(t)

    def at(self, t: Term) -> Entry:
        """The same, of a seq that was met."""
        return Entry(
            seq=integer(t),
            stream=integer(OWNER(t)),
            prev=integer(PREV(t)),
            at=integer(AT(t)),
            count=integer(COUNT(t)),
            start=integer(START(t)),
            size=integer(SIZE(t)),
            message=MessageOf(integer(t)),
        )

    def meet(self, seq: Term) -> None:
        """From now on, everything that holds of every seq is assumed of this one."""
        if seq in self.met or isinstance(running(), Concrete):
            return
        for universal in self.universals:
            current().assume(universal(seq))
        for pairwise in self.pairwise:
            for known in self.met:
                current().assume(pairwise(seq, known))
                current().assume(pairwise(known, seq))
        self.met[seq] = None

    def assume_of_each(self, universal: Universal) -> None:
        """Assume something of every seq, met or still to be met."""
        for seq in self.met:
            current().assume(universal(seq))
        self.universals.append(universal)

    def assume_of_each_two(self, pairwise: Pairwise) -> None:
        """Assume something of every two seqs, in either order, met or still to be met."""
        for seq in self.met:
            for other in self.met:
                current().assume(pairwise(seq, other))
        self.pairwise.append(pairwise)

    def skolem(self, *question: object) -> tuple[Term, bool]:
        """The integer that answers a question, and whether the question is new; the same for the same."""
        known = self.skolems.get(question)
        if known is not None:
            return known, False
        fresh = integer_named(f"answer!{len(self.skolems)}")
        self.skolems[question] = fresh
        return fresh, True

    def window(self, low: Term, next: Term, count: Term, size: Term) -> Window:
        """The window that begins at ``low`` and ends before ``next``; the real one on ordinary integers."""
        execution = running()
        if not isinstance(execution, Concrete):
            return SymbolicWindow(self, *map(SymbolicInt, (low, next, count, size)))  # type: ignore[return-value,arg-type]
        values = [evaluate(term, execution.interpretation) for term in (low, next, count, size)]
        known = (self.entry(seq) for seq in execution.seqs if values[0] <= seq < values[1])
        return Window(tuple(entry for entry in known if entry.stream != 0), *values)


def new_history() -> History:
    """A history of which nothing is known yet."""
    history, execution = History(), running()
    if execution is not None:
        execution.note(history)
    return history


class SymbolicWindow:
    """A window over a history, with the methods of ``machine.window.Window``."""

    def __init__(self, history: History, low: int, next: int, count: int, size: int) -> None:
        self.history = history
        self.low = low
        self.next = next
        self.count = count
        self.size = size

    def successor(self, stream: int, after: int) -> Entry:
        """See ``Window.successor``. ``stream`` must be an ordinary number."""
        low, next_, bound = term_of(self.low), term_of(self.next), term_of(after)
        k, new = self.history.skolem("successor", stream, bound, low, next_)
        if new:
            found = conjunction((k > bound, k >= low, k < next_, OWNER(k) == stream))
            current().assume(disjunction((k == 0, found)))

            def comes_first(q: Term) -> Term:
                held = conjunction((OWNER(q) == stream, q > bound, q >= low, q < next_))
                return implication(held, conjunction((k != 0, k <= q)))

            self.history.assume_of_each(comes_first)
        return self.history.entry(integer(k))

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
        return SymbolicWindow(self.history, integer(term_of(low)), self.next, self.count, self.size)

    def allotted(self) -> "SymbolicWindow":
        """See ``Window.allotted``."""
        seq = term_of(self.next)
        self._happens(OWNER(seq) == 0)
        self.history.meet(seq)
        low = choice(term_of(self.low) == seq, seq + 1, term_of(self.low))
        return SymbolicWindow(self.history, integer(low), self.next + 1, self.count, self.size)

    def appended(self, stream: int, prev: int, at: int, size: int, message: object) -> "SymbolicWindow":
        """See ``Window.appended``."""
        seq = term_of(self.next)
        self._happens(
            OWNER(seq) == stream,
            PREV(seq) == term_of(prev),
            AT(seq) == term_of(at),
            COUNT(seq) == term_of(self.count) + 1,
            START(seq) == term_of(self.size),
            SIZE(seq) == term_of(size),
        )
        self.history.meet(seq)
        return SymbolicWindow(self.history, self.low, self.next + 1, self.count + 1, self.size + size)

    def _happens(self, *facts: Term) -> None:
        """What is so from now on because this happens, which it must on the path itself."""
        if not isinstance(current(), Run):
            raise Unsupported("something happens inside of a predicate")
        for fact in facts:
            current().assume(fact)

    def _first(self, question: str, measure: Function, bound: int) -> int:
        low, next_, least = term_of(self.low), term_of(self.next), term_of(bound)
        k, new = self.history.skolem(question, least, low, next_)
        if new:
            found = conjunction((k >= low, k < next_, OWNER(k) != 0, measure(k) >= least))
            current().assume(disjunction((k == next_, found)))

            def stays_below(q: Term) -> Term:
                held = conjunction((OWNER(q) != 0, q >= low, q < next_, q < k))
                return implication(held, measure(q) < least)

            # If none is found, every held event is below the bound; that is the case k == next of the same instance.
            self.history.assume_of_each(stays_below)
            self.history.meet(k)
        return integer(k)
