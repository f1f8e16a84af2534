"""Replay: with unique ids and memory enough each event is applied once; without either, a counterexample (MOD-4)."""

from collections.abc import Callable

import pytest
from attrs import evolve, frozen
from tests.machine.scenes import QUIET, SystemScene, with_calls

from reattach.machine import network, system
from reattach.machine.client import Client
from reattach.machine.cursor import Cursor, Presence
from reattach.machine.modes import Deployment, Mode, mode_of
from reattach.machine.network import Exchange, Item
from reattach.machine.policy import Policy
from reattach.machine.server import Server
from reattach.machine.session import find_stream
from reattach.machine.system import Action, Bounds, Emission, Read, System
from reattach_proofs.explorer import Trace
from reattach_proofs.spaces import initialized

pytestmark = pytest.mark.usefixtures("untraced")

ENOUGH = 20
"""Further back than any seq of these scenes."""

REPLAYING = Deployment(ids_monotonic=False, dedup_memory=ENOUGH, longest_replay=ENOUGH)


def scene(
    memory: int, bounds: Bounds, deployment: Deployment = REPLAYING, window: int = 9, calls: int = 1
) -> SystemScene:
    """One client with so much memory, whose calls are open, on a server that replays."""
    system = System(Server(Policy(window_events=window), deployment), (Client(memory=memory),))
    return SystemScene(with_calls(initialized(system), calls), bounds)


ONE_CALL = evolve(QUIET, streams=1, events=3, connections=4)


def test_the_server_replays() -> None:
    assert mode_of(REPLAYING) is Mode.REPLAY
    assert scene(ENOUGH, ONE_CALL).initial.server.sessions["S1"].mode is Mode.REPLAY


def repeats(before: System, action: Action, after: System) -> bool:
    """A client reads an event that it has applied before, and does not apply it again."""
    if not isinstance(action, Read):
        return False
    was, now = (
        [exchange.taken for exchange in system.exchanges if exchange.connection == action.connection]
        for system in (before, after)
    )
    seqs = [one.seq for one in before.applications]
    return was != now and after.applications == before.applications and any(taken in seqs for taken in now)


def test_with_memory_enough_each_event_is_applied_once() -> None:
    explored = scene(ENOUGH, ONE_CALL).explored(sometimes={"a repetition": repeats})
    assert explored.counterexample == ()
    assert explored.states == 2_346
    assert kinds(explored.witnesses["a repetition"]) == ("Emit", "Write", "Read", *RESUMED, "Write", "Read")


def test_a_window_that_loses_the_beginning_loses_nothing_in_silence() -> None:
    explored = scene(ENOUGH, ONE_CALL, window=2).explored()
    assert explored.counterexample == ()
    assert explored.states == 2_157


def kinds(trace: Trace[System, Action]) -> tuple[str, ...]:
    """The actions of a trace, by their names."""
    return tuple(type(action).__name__ for action in trace.labels)


def counterexample(scene: SystemScene, invariant: str) -> tuple[str, ...]:
    """The shortest one."""
    (found,) = scene.explored(invariant).counterexample
    return kinds(found.trace)


ONCE = "each_event_is_applied_at_most_once"
RESUMED = ("Reconnect", "Deliver")
APPLIED = ("Write", "Read")


def test_without_deduplication_an_event_is_applied_twice() -> None:
    assert counterexample(scene(0, ONE_CALL), ONCE) == ("Emit", *APPLIED, *RESUMED, *APPLIED)
    assert mode_of(evolve(REPLAYING, dedup_memory=0, longest_replay=1)) is Mode.REFUSE


@pytest.mark.parametrize("events", [2, 3])
def test_with_memory_for_all_but_one_the_oldest_is_applied_twice(events: int) -> None:
    as_many = evolve(ONE_CALL, events=events)
    trace = counterexample(scene(events - 1, as_many), ONCE)
    assert trace == (*["Emit"] * events, *APPLIED * events, *RESUMED, *APPLIED)
    assert mode_of(evolve(REPLAYING, dedup_memory=events - 1, longest_replay=events)) is Mode.REFUSE
    assert scene(events, as_many).explored(ONCE).counterexample == ()
    assert mode_of(evolve(REPLAYING, dedup_memory=events, longest_replay=events)) is Mode.REPLAY


def test_the_seqs_of_other_streams_count_for_memory() -> None:
    # Two events of the call with a push between them: three seqs, so that memory for two is too little.
    between = evolve(QUIET, streams=1, events=3, connections=3, pushes=True)
    trace = counterexample(scene(2, between), ONCE)
    assert trace == (*["Emit"] * 3, *APPLIED * 2, *RESUMED, *APPLIED)
    assert scene(3, between).explored(ONCE).counterexample == ()


# Reused ids: the counter belongs to the connection, and begins anew with each


@frozen
class Renumbered(Emission):
    """An event with the id that it got on the wire, and the connection that its stream had then."""

    wire: int = 0
    connection: int = 0


def renumbered_emit(original: Callable[..., System]) -> Callable[..., System]:
    """The events of a stream are numbered from its birth, anew on each connection."""

    def emit(before: System, name: str, number: int, final: bool) -> System:
        after = original(before, name, number, final)
        if len(after.history) == len(before.history):
            return after
        newest = after.history[-1]
        stream = find_stream(after.server.sessions[name], newest.stream)
        connection = stream.view.connection
        counter = [one for one in before.history if renumbered(one).connection == connection]
        numbered = Renumbered(
            newest.session, newest.stream, newest.seq, newest.final, stream.first + len(counter) + 1, connection
        )
        return evolve(after, history=(*before.history, numbered))

    return emit


def renumbered(event: Emission) -> Renumbered:
    """The event, which has been numbered anew."""
    assert isinstance(event, Renumbered)
    return event


def renumbered_item(original: Callable[..., tuple[Item, Exchange]]) -> Callable[..., tuple[Item, Exchange]]:
    """On the wire, an event has the id that it was given."""

    def next_item(current: System, exchange: Exchange) -> tuple[Item, Exchange]:
        item, rest = original(current, exchange)
        if not isinstance(item, network.Delivered):
            return item, rest
        (event,) = (renumbered(event) for event in current.history if event.seq == item.cursor.seq)
        return evolve(item, cursor=Cursor(Presence.PRESENT, event.session, event.stream, event.wire)), rest

    return next_item


def test_with_reused_ids_an_event_is_dropped_that_was_never_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_emit", renumbered_emit(system._emit))
    monkeypatch.setattr(system, "_next_item", renumbered_item(system._next_item))
    whole = evolve(scene(ENOUGH, evolve(ONE_CALL, connections=3)), reduced=False)
    (found,) = whole.explored("what_is_not_applied_is_owed_or_told").counterexample
    written = ("Write", "Read", "Accept")
    assert kinds(found.trace) == (
        *("Reconnect", "Emit", "Deliver", "Read", "Emit", "Emit"),
        *(*written, *written, *written[:-1]),
    )
    # The first two events, emitted to two connections, have one id; the third is the response, and so the call is over.
    end = found.trace.end
    assert [renumbered(event).wire for event in end.history] == [3, 3, 4]
    assert [one.seq for one in end.applications] == [3, 5]
    assert end.clients[0].told == ()
    assert mode_of(evolve(REPLAYING, ids_unique=False)) is Mode.REFUSE
    assert mode_of(evolve(REPLAYING, ids_stable=False)) is Mode.REFUSE


# What mode_of refuses, the server refuses


@pytest.mark.parametrize(
    "deployment",
    [
        evolve(REPLAYING, dedup_memory=0, longest_replay=1),
        evolve(REPLAYING, dedup_memory=1, longest_replay=2),
        evolve(REPLAYING, ids_unique=False),
        evolve(REPLAYING, ids_stable=False),
    ],
)
def test_a_deployment_that_may_not_replay_resumes_nothing_and_loses_nothing_in_silence(deployment: Deployment) -> None:
    explored = scene(0, ONE_CALL, deployment).explored()
    assert explored.counterexample == ()
