"""The explorer itself, on spaces small enough to count by hand."""

from collections.abc import Iterator

import pytest

from reattach_proofs.explorer import Space, SpaceTooLargeError, explore, identity


def steps(number: int) -> Iterator[tuple[str, int]]:
    """From 0 to 9 by one or by three, and in place."""
    yield "stay", number
    if number < 9:
        yield "one", number + 1
    if number < 7:
        yield "three", number + 3


COUNTING: Space[int, str] = Space(0, steps, identity)


def is_not_seven(number: int) -> bool:
    return number != 7


def test_every_state_is_visited_once_and_every_step_that_moves_is_counted() -> None:
    explored = explore(COUNTING)
    assert (explored.states, explored.transitions, explored.depth) == (10, 16, 4)
    assert explored.counterexample == ()


def test_a_counterexample_is_a_shortest_one() -> None:
    (found,) = explore(COUNTING, [is_not_seven]).counterexample
    assert (found.predicate, found.trace.end, len(found.trace)) == ("is_not_seven", 7, 3)
    assert sorted(found.trace.labels) == ["one", "three", "three"]


def test_an_initial_state_can_be_the_counterexample() -> None:
    (found,) = explore(Space(7, steps, identity), [is_not_seven]).counterexample
    assert (found.trace.labels, found.trace.end) == ((), 7)


def test_every_step_is_asked_the_ones_that_stay_too() -> None:
    def nothing_stays_at_four(before: int, label: str, after: int) -> bool:
        return (before, label) != (4, "stay")

    (found,) = explore(COUNTING, each=[nothing_stays_at_four]).counterexample
    assert (found.predicate, len(found.trace)) == ("nothing_stays_at_four", 3)


def test_witnesses_are_shortest_and_what_never_happens_has_none() -> None:
    explored = explore(
        COUNTING,
        sometimes={
            "six": lambda before, label, after: after == 6,
            "ten": lambda before, label, after: after == 10,
        },
    )
    assert {name: trace.labels for name, trace in explored.witnesses.items()} == {"six": ("three", "three")}


def test_an_exploration_may_end_when_all_was_seen() -> None:
    seen = {"one": lambda before, label, after: after == 1}
    assert explore(COUNTING, sometimes=seen, until_seen=True).states < explore(COUNTING, sometimes=seen).states == 10


def test_states_with_one_key_are_one_state() -> None:
    explored = explore(Space(0, steps, lambda number: number % 3))
    assert (explored.states, explored.depth) == (3, 2)


def test_what_a_key_hides_is_found_by_asking_after_every_step() -> None:
    coarse = Space(0, steps, lambda number: number > 0)
    assert explore(coarse, [is_not_three]).counterexample == ()
    (found,) = explore(coarse, [is_not_three], thorough=True).counterexample
    assert found.trace.labels == ("three",)


def is_not_three(number: int) -> bool:
    return number != 3


def test_a_space_beyond_the_limit_is_not_taken_for_explored() -> None:
    assert explore(COUNTING, limit=10).states == 10
    with pytest.raises(SpaceTooLargeError, match="more than 9 states"):
        explore(COUNTING, limit=9)
