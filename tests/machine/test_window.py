"""The window against a list of everything that ever happened to it."""

from attrs import define, evolve, field
from hypothesis import given
from hypothesis import strategies as st
from tests.machine.profiles import examples

from reattach.machine.window import NO_ENTRY, Entry, Window, suffix


@define
class Naive:
    """All entries ever, in a list; each question is a walk over it."""

    entries: list[Entry] = field(factory=list)
    next: int = 1
    dropped: int = 0
    """How many of the entries have been trimmed away."""

    def held(self) -> list[Entry]:
        return self.entries[self.dropped :]

    def low(self) -> int:
        return self.held()[0].seq if self.held() else self.next

    def first(self, number: str, bound: int) -> int:
        return next((entry.seq for entry in self.held() if getattr(entry, number) >= bound), self.next)


def as_window(naive: Naive) -> Window:
    """The window that the list describes."""
    return Window(
        held=tuple(naive.held()),
        low=naive.low(),
        next=naive.next,
        count=len(naive.entries),
        size=sum(entry.size for entry in naive.entries),
    )


# Births, events (stream, milliseconds since the last, bytes, message), and trims by how many entries go.
births = st.just("birth")
events = st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 3))
trims = st.integers(0, 4)
histories = st.lists(st.one_of(births, events, events, events, trims), max_size=25)


def play(history: list[object]) -> tuple[Window, Naive]:
    """The same history on both; they agree at every point of it."""
    window, naive, now = Window(), Naive(), 0
    for happening in history:
        match happening:
            case "birth":
                window = window.allotted()
                naive.next += 1
            case int(count):
                naive.dropped = min(naive.dropped + count, len(naive.entries))
                window = window.trimmed(naive.low())
            case (int(stream), int(later), int(size)):
                now += later
                last = [entry.seq for entry in naive.entries if entry.stream == stream]
                prev = last[-1] if last else 0
                message = f"message {naive.next}"
                window = window.appended(stream, prev, now, size, message)
                start = sum(entry.size for entry in naive.entries)
                count = len(naive.entries) + 1
                naive.entries.append(Entry(naive.next, stream, prev, now, count, start, size, message))
                naive.next += 1
        assert window == as_window(naive)
    return window, naive


def test_a_new_window_holds_nothing_and_gives_one_first() -> None:
    window = Window()
    assert (window.held, window.low, window.next, window.count, window.size) == ((), 1, 1, 0, 0)
    assert window.successor(1, 0) == NO_ENTRY
    assert window.first_since(0) == window.first_counted(1) == window.first_starting(0) == 1


def test_a_birth_moves_low_only_while_nothing_is_held() -> None:
    born = Window().allotted()
    assert (born.low, born.next) == (2, 2)
    later = born.appended(1, 1, 0, 5, "a").allotted()
    assert (later.low, later.next, later.count, later.size) == (2, 4, 1, 5)


def test_a_window_that_is_trimmed_to_next_is_empty() -> None:
    window = Window().allotted().appended(1, 1, 0, 5, "a").appended(1, 2, 0, 5, "b")
    empty = window.trimmed(window.next)
    assert (empty.held, empty.low, empty.next, empty.count, empty.size) == ((), 4, 4, 2, 10)
    assert empty.appended(1, 3, 0, 1, "c").low == 4


@examples(150)
@given(histories)
def test_the_window_keeps_what_the_list_keeps(history: list[object]) -> None:
    play(history)


@examples(150)
@given(histories)
def test_every_search_finds_what_a_walk_finds(history: list[object]) -> None:
    window, naive = play(history)
    for bound in range(-1, naive.next + 2):
        assert window.first_since(bound) == naive.first("at", bound)
        assert window.first_counted(bound) == naive.first("count", bound)
        assert window.first_starting(bound) == naive.first("start", bound)
        for stream in range(1, 5):
            after = [entry for entry in naive.held() if entry.stream == stream and entry.seq > bound]
            assert window.successor(stream, bound) == (after[0] if after else NO_ENTRY)
            assert suffix(window, stream, bound) == tuple(after)


@examples(100)
@given(histories)
def test_a_window_is_what_its_numbers_say(history: list[object]) -> None:
    window, naive = play(history)
    assert evolve(window) == as_window(naive)
    assert window != evolve(window, next=window.next + 1)
