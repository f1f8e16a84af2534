"""The real window keeps the contract that the proofs rely on instead of it.

What is checked are the very facts that ``SymbolicWindow`` assumes, evaluated on real windows: exhaustively on small
ones, at random on larger ones, and for every seq there is.
"""

from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.proofs.windows import Lived, answer_names, broken, contract, every_small_window, facts

from reattach.machine.window import NO_ENTRY, Entry, Window
from reattach_proofs.history import SymbolicWindow
from reattach_proofs.symbolic import integer, term_of
from reattach_proofs.terms import Interpretation, evaluate, integer_named

BOUND = integer_named("bound")


def _newest(window: Window) -> int:
    return window.held[-1].at if window.held else 0


QUESTIONS: dict[str, tuple[Callable[[Any, int], Any], Callable[[Window], range]]] = {
    "successor on stream 1": (
        lambda window, bound: window.successor(1, bound),
        lambda window: range(-1, window.next + 2),
    ),
    "successor on stream 2": (
        lambda window, bound: window.successor(2, bound),
        lambda window: range(-1, window.next + 2),
    ),
    "first_since": (lambda window, bound: window.first_since(bound), lambda window: range(-1, _newest(window) + 3)),
    "first_counted": (lambda window, bound: window.first_counted(bound), lambda window: range(-1, window.count + 3)),
    "first_starting": (lambda window, bound: window.first_starting(bound), lambda window: range(-1, window.size + 3)),
}
"""What a window is asked, and for which bounds."""


def of_symbolic(ask: Callable[[Any, int], Any], window: SymbolicWindow) -> Any:
    return ask(window, integer(BOUND))


ASKED = {name: contract(partial(of_symbolic, ask)) for name, (ask, _) in QUESTIONS.items()}


def answer(asked: Any) -> int:
    return asked.seq if isinstance(asked, Entry) else asked


def breaches(name: str, lived: Lived) -> int:
    """How much of the contract a window breaks in its answers to one question."""
    ask, bounds = QUESTIONS[name]
    path = ASKED[name]
    (named,) = answer_names(path)
    found = 0
    for bound in bounds(lived.window):
        found += len(broken(path, lived, bound=bound, **{named: answer(ask(lived.window, bound))}))
    return found


SMALL = list(every_small_window(4))


def test_there_are_small_windows_of_every_kind() -> None:
    assert len(SMALL) > 2_000
    windows = [lived.window for lived in SMALL]
    assert any(len(window.held) == 4 for window in windows)
    assert any(window.count == 3 and not window.held for window in windows)
    assert any(0 < len(window.held) < window.count for window in windows)
    assert any({entry.stream for entry in window.held} == {1, 2} for window in windows)


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_small_window_answers_as_the_contract_says(name: str) -> None:
    assert [lived for lived in SMALL if breaches(name, lived)] == []


operations = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 2), st.integers(0, 3), st.integers(0, 5)),
        st.tuples(st.just("append"), st.integers(1, 2), st.integers(0, 3), st.integers(0, 5)),
        st.tuples(st.just("trim"), st.integers(0, 8), st.just(0), st.just(0)),
    ),
    min_size=5,
    max_size=25,
)


def lived_through(script: list[tuple[str, int, int, int]]) -> Lived:
    lived = Lived().allotted().allotted()
    for what, which, later, size in script:
        window = lived.window
        if what == "append":
            at = (lived.events[-1].at if lived.events else 0) + later
            lived = lived.appended(which, at, size)
        elif window.held:
            lived = lived.trimmed((*(entry.seq for entry in window.held), window.next)[min(which, len(window.held))])
    return lived


@settings(max_examples=40)
@given(operations)
def test_larger_windows_answer_as_the_contract_says(script: list[tuple[str, int, int, int]]) -> None:
    lived = lived_through(script)
    assert [name for name in QUESTIONS if breaches(name, lived)] == []


# What happens to a window


ALLOTTED = contract(lambda window: window.allotted())
APPENDED = contract(lambda window: window.appended(1, integer(BOUND), integer(BOUND), integer(BOUND), None))
TRIMMED = contract(lambda window: window.trimmed(integer(BOUND)))


def measures(window: Any, meaning: Interpretation | None = None) -> tuple[int, ...]:
    numbers = (window.low, window.next, window.count, window.size)
    return tuple(evaluate(term_of(each), meaning) if meaning is not None else each for each in numbers)


def test_a_small_window_changes_as_the_contract_says() -> None:
    for lived in SMALL:
        born, window = lived.allotted(), lived.window
        # The facts speak of the seq that is given away, so they are read with what came of it.
        assert broken(ALLOTTED, evolve(born, window=window)) == []
        assert measures(ALLOTTED.result, lived.meaning()) == measures(born.window)
        assert born.window.held == window.held
        for low in (*(entry.seq for entry in window.held), window.next):
            trimmed = lived.trimmed(low).window
            assert broken(TRIMMED, lived, bound=low) == []
            assert measures(TRIMMED.result, lived.meaning(bound=low)) == measures(trimmed)
            assert trimmed.held == tuple(entry for entry in window.held if entry.seq >= low)


def test_an_appended_event_is_what_the_contract_says() -> None:
    for lived in SMALL:
        window, last = lived.window, lived.last(1)
        # prev, time and size have one name here, so that one run covers them; the time is then the stream's last seq.
        grown = window.appended(1, last, last, last, None)
        after = evolve(lived, events=(*lived.events, grown.held[-1]))
        assert broken(APPENDED, after, bound=last) == []
        assert measures(APPENDED.result, after.meaning(bound=last)) == measures(grown)
        assert grown.held[:-1] == window.held


# A contract that is never broken would be none


class Broken(Window):
    """A window with one fault in each answer."""

    def successor(self, stream: int, after: int) -> Entry:
        """As if the bound itself counted."""
        return next((entry for entry in self.held if entry.stream == stream and entry.seq >= after), NO_ENTRY)

    def first_since(self, at: int) -> int:
        """As if the bound itself did not count."""
        return self._one_after(bisect_left(self.held, at + 1, key=lambda entry: entry.at))

    def first_counted(self, count: int) -> int:
        """One too many."""
        return self._one_after(bisect_left(self.held, count, key=lambda entry: entry.count) + 1)

    def first_starting(self, start: int) -> int:
        """One too few."""
        return self._one_after(bisect_left(self.held, start, key=lambda entry: entry.start) - 1)

    def _one_after(self, index: int) -> int:
        return self.held[max(index, 0)].seq if self.held and index < len(self.held) else self.next


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_faulty_window_breaks_the_contract(name: str) -> None:
    faulty = [
        evolve(lived, window=Broken(window.held, window.low, window.next, window.count, window.size))
        for lived in SMALL
        if (window := lived.window)
    ]
    assert any(breaches(name, lived) for lived in faulty)


def test_an_answer_of_none_where_there_is_one_breaks_the_contract() -> None:
    lived = Lived().allotted().appended(1, 0, 1)
    path = ASKED["successor on stream 1"]
    (named,) = answer_names(path)
    assert broken(path, lived, bound=1, **{named: 2}) == []
    assert broken(path, lived, bound=1, **{named: 0}) != []
    assert facts(path)


def test_an_event_with_another_predecessor_breaks_the_contract() -> None:
    lived = Lived().allotted().appended(1, 0, 1)
    grown = lived.window.appended(1, 2, 2, 2, None)
    doctored = evolve(grown.held[-1], prev=1)
    assert broken(APPENDED, evolve(lived, events=(*lived.events, grown.held[-1])), bound=2) == []
    assert broken(APPENDED, evolve(lived, events=(*lived.events, doctored)), bound=2) != []
