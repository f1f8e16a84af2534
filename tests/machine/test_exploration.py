"""Every interleaving within small bounds: all invariants hold, and the size of each space is pinned.

A changed size is not a failure of the machine but a change of what it can do: it has to be looked at, and then pinned
anew. The bounds of ``session`` are two streams, four events, a window of two and two connections. The reductions are
stated in ``reattach_proofs.spaces``; here they are compared with the whole spaces where those can be visited too.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import pytest
from attrs import evolve
from tests.machine.profiles import IS_LONG
from tests.machine.scenes import LONG_SCENES, QUIET, SCENES, TIGHT, connected, with_calls

from reattach.machine.invariants import AT_REST, SYSTEM
from reattach.machine.network import Attached
from reattach.machine.system import Accept, Bounds, Read, System, perform
from reattach.machine.transition import advance
from reattach_proofs.explorer import Space, explore
from reattach_proofs.spaces import SessionBounds, Watched, drained, session_space, system_space, unreduced_space

pytestmark = pytest.mark.usefixtures("untraced")

SIZES = {
    "session": (8_736, 46_421, 19),
    "bytes": (115, 428, 6),
    "streams": (95, 381, 7),
    "timed": (7_825, 53_795, 16),
    "rate": (1_888, 8_177, 15),
    "system": (2_438, 8_300, 22),
    "pushes": (18_371, 66_080, 21),
    "calls": (1_815, 6_846, 13),
    "frames": (176, 479, 12),
    "rest": (1_222, 3_996, 19),
    "endings": (18_205, 72_474, 21),
    "attempts": (227, 542, 17),
    "clients": (244, 689, 9),
    "clock": (1_951, 6_751, 18),
}
"""States, transitions, and the steps to the farthest state."""

LONG_SIZES = {
    "session and time": (213_134, 1_387_769, 24),
    "session and three connections": (19_081, 131_880, 19),
    "two calls": (71_360, 352_150, 18),
    "one stream and endings": (60_981, 251_580, 24),
    "two streams": (207_278, 1_071_131, 20),
}
"""The same of what only ``make explore`` visits."""


def test_every_scene_is_pinned() -> None:
    assert SIZES.keys() == SCENES.keys()
    assert LONG_SIZES.keys() == LONG_SCENES.keys()


@pytest.mark.parametrize("name", [*SCENES, *(LONG_SCENES if IS_LONG else ())])
def test_every_invariant_holds_of_every_interleaving(name: str) -> None:
    explored = {**SCENES, **LONG_SCENES}[name].explored()
    assert [(one.predicate, one.trace.labels) for one in explored.counterexample] == []
    assert (explored.states, explored.transitions, explored.depth) == {**SIZES, **LONG_SIZES}[name]


def test_from_every_state_a_fair_end_leads_to_rest_and_nothing_is_owed() -> None:
    def ends_well(system: System) -> bool:
        rested = drained(system)
        return all(holds(rested) for holds in (*SYSTEM, *AT_REST))

    space = system_space(connected(), Bounds(streams=1, events=2, connections=3))
    explored = explore(space, [ends_well])
    assert explored.counterexample == ()
    assert explored.states > 2_000


def test_from_every_state_advancing_at_once_and_in_two_steps_come_to_the_same() -> None:
    def composes(watched: Watched) -> bool:
        session = watched.session
        return all(
            advance(TIGHT, advance(TIGHT, session, session.now + soon).session, session.now + late).session
            == advance(TIGHT, session, session.now + late).session
            for late in range(7)
            for soon in range(late)
        )

    explored = explore(session_space(TIGHT, SessionBounds(streams=2, events=2, connections=1)), [composes])
    assert explored.counterexample == ()
    assert explored.states > 500


# The reductions, compared with the whole


def states_of(space: Space[Any, Any]) -> list[Any]:
    """Every state that is met first for its key."""
    met: list[Any] = []

    def keep(state: Any) -> bool:
        met.append(state)
        return True

    explore(space, [keep])
    return met


def followed(space: Space[Any, Any], state: Any) -> frozenset[Hashable]:
    """The keys of all that may come next."""
    return frozenset(space.key(after) for _, after in space.steps(state))


def keys_that_mean_two_things(space: Space[Any, Any], states: Iterable[Any]) -> list[Hashable]:
    """Keys of which two states have different successors."""
    successors: defaultdict[Hashable, set[frozenset[Hashable]]] = defaultdict(set)
    for state in states:
        successors[space.key(state)].add(followed(space, state))
    return [key for key, different in successors.items() if len(different) > 1]


def settled(system: System) -> System:
    """With every write accepted and the headers of every event stream read."""
    for name, session in system.server.sessions.items():
        for stream in session.streams:
            system = perform(system, Accept(name, stream.view.connection))
    for exchange in system.exchanges:
        if exchange.header == Attached():
            system = perform(system, Read(exchange.connection))
    return system


@pytest.mark.parametrize(
    ("initial", "bounds"),
    [
        (connected(), Bounds(streams=1, events=1, connections=3)),
        (with_calls(connected(), 1), evolve(QUIET, streams=1, events=2, connections=4)),
        (with_calls(connected(), 2), evolve(QUIET, streams=2, events=1, connections=4)),
    ],
)
def test_the_reduced_system_is_the_whole_one_up_to_its_key(initial: System, bounds: Bounds) -> None:
    reduced = system_space(initial, bounds)
    few, many = states_of(reduced), states_of(unreduced_space(initial, bounds))
    assert len(few) < len(many)
    whole = [settled(system) for system in many]
    assert {reduced.key(system) for system in few} == {reduced.key(system) for system in whole}
    assert keys_that_mean_two_things(reduced, whole) == []


def test_the_reduced_session_is_the_whole_one_up_to_its_key() -> None:
    reduced = session_space(TIGHT, SessionBounds(streams=2, events=1, connections=1, requests=1))
    horizon = 4

    def until(watched: Watched) -> Iterator[tuple[Any, Watched]]:
        return ((label, after) for label, after in reduced.steps(watched) if after.session.now <= horizon)

    whole = states_of(Space(reduced.initial, until, lambda watched: watched))
    early = states_of(Space(reduced.initial, until, reduced.key))
    assert {reduced.key(watched) for watched in whole} == {reduced.key(watched) for watched in early}
    assert len(early) < len(whole)
    assert keys_that_mean_two_things(reduced, whole) == []


def test_a_key_that_leaves_out_too_much_is_found() -> None:
    reduced = session_space(TIGHT, SessionBounds(streams=1, events=3, connections=1, time=False))
    blind = evolve(reduced, key=lambda watched: watched.session.window)  # whether anybody reads it is left out
    assert keys_that_mean_two_things(reduced, states_of(reduced)) == []
    assert keys_that_mean_two_things(blind, states_of(reduced)) != []
