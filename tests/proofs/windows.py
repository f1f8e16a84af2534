"""Real windows, each with all the events there ever were, for the comparison with the contract that proofs rely on."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from attrs import evolve, frozen

from reattach.machine.window import NO_ENTRY, Entry, Window
from reattach_proofs.executor import Path, explore
from reattach_proofs.history import History, SymbolicWindow, new_history
from reattach_proofs.symbolic import integer
from reattach_proofs.terms import Interpretation, Op, Term, fold, integer_named, parts

SEQ = integer_named("seq")
"""Any seq at all; what the contract says of every event is said of this one."""


@frozen
class Lived:
    """A window with its past."""

    window: Window = Window()
    events: tuple[Entry, ...] = ()
    """Every event ever appended, held or not."""
    births: tuple[int, ...] = ()
    """The seqs that were allotted to streams 1, 2, ..."""

    def last(self, stream: int) -> int:
        """The newest seq of a stream."""
        return max((event.seq for event in self.events if event.stream == stream), default=self.births[stream - 1])

    def allotted(self) -> "Lived":
        """A stream is born."""
        return evolve(self, window=self.window.allotted(), births=(*self.births, self.window.next))

    def appended(self, stream: int, at: int, size: int) -> "Lived":
        """An event is emitted on a stream that was born."""
        window = self.window.appended(stream, self.last(stream), at, size, "message")
        return evolve(self, window=window, events=(*self.events, window.held[-1]))

    def trimmed(self, low: int) -> "Lived":
        """What is before ``low`` is no longer held."""
        return evolve(self, window=self.window.trimmed(low))

    def meaning(self, **names: int) -> Interpretation:
        """The values of all that the contract speaks of."""
        by_seq = {event.seq: event for event in self.events}

        def of(read: Callable[[Entry], int]) -> Callable[[int], int]:
            return lambda seq: read(by_seq.get(seq, NO_ENTRY))

        window = self.window
        return Interpretation(
            {"low": window.low, "next": window.next, "count": window.count, "size": window.size, **names},
            {
                "event.stream": of(lambda event: event.stream),
                "event.prev": of(lambda event: event.prev),
                "event.at": of(lambda event: event.at),
                "event.count": of(lambda event: event.count),
                "event.start": of(lambda event: event.start),
                "event.size": of(lambda event: event.size),
            },
        )


def every_small_window(steps: int) -> Iterator[Lived]:
    """Every window that so many operations can make of an empty one, with two streams, and with each time and size."""
    yield from _grown(Lived().allotted(), steps)


def _grown(lived: Lived, steps: int) -> Iterator[Lived]:
    yield lived
    if steps == 0:
        return
    if len(lived.births) < 2:
        yield from _grown(lived.allotted(), steps - 1)
    newest = lived.events[-1].at if lived.events else 0
    for stream in range(1, len(lived.births) + 1):
        for at in (newest, newest + 2):
            for size in (0, 2):
                yield from _grown(lived.appended(stream, at, size), steps - 1)
    if lived.window.held:
        for low in (*(entry.seq for entry in lived.window.held[1:]), lived.window.next):
            yield from _grown(lived.trimmed(low), steps - 1)


def contract(question: Callable[[SymbolicWindow], Any]) -> Path[Any]:
    """What is assumed when this is asked of a window in a proof; of events, what is said of SEQ."""

    def run() -> Any:
        history = new_history()
        window = history.window(*map(integer_named, ("low", "next", "count", "size")))
        answer = question(window)  # type: ignore[arg-type]  # it stands for a real one
        history.entry(integer(SEQ))
        return answer

    (path,) = explore(run)
    return path


def facts(path: Path[Any]) -> tuple[Term, ...]:
    """All that the path assumed."""
    return tuple(event for event in path.trace if isinstance(event, Term))


def answer_names(path: Path[Any]) -> tuple[str, ...]:
    """The names of the answers that the window gave."""
    (history,) = (note for note in path.notes if isinstance(note, History))
    return tuple(term.value for term in history.skolems.values())


def broken(path: Path[Any], lived: Lived, **names: int) -> list[Term]:
    """What the contract says that is not so of a real window, whichever event SEQ is."""
    meaning = lived.meaning(**names)
    found = [fact for fact in facts(path) if not _mentions(fact) and not _test(fact)(meaning.names, meaning.functions)]
    for seq in range(-1, lived.window.next + 2):
        values = {**meaning.names, "seq": seq}
        found += [fact for fact in facts(path) if _mentions(fact) and not _test(fact)(values, meaning.functions)]
    return found


@cache
def _mentions(fact: Term) -> bool:
    return SEQ in parts([fact])


@cache
def _test(fact: Term) -> Callable[[Any, Any], bool]:
    """The fact as a Python function of the values of names and functions; ``evaluate`` is too slow for so many."""
    test: Callable[[Any, Any], bool] = eval(f"lambda n, f: {fold(fact, _expression, {})}")
    return test


_OPERATORS = {Op.PLUS: "+", Op.MINUS: "-", Op.LESS: "<", Op.AT_MOST: "<=", Op.EQUAL: "==", Op.AND: "and", Op.OR: "or"}


def _expression(term: Term, args: tuple[str, ...]) -> str:
    match term.op:
        case Op.CONSTANT:
            return repr(term.value)
        case Op.NAME:
            return f"n[{term.value!r}]"
        case Op.APPLY:
            return f"f[{term.value.name!r}]({args[0]})"
        case Op.NOT:
            return f"(not {args[0]})"
        case Op.CHOICE:
            return f"({args[1]} if {args[0]} else {args[2]})"
        case _:
            return f"({f' {_OPERATORS[term.op]} '.join(args)})"
