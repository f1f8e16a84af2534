"""The spaces that are explored: each about something, and as small as that allows."""

from collections.abc import Callable
from typing import Any

from attrs import evolve, frozen

from reattach.machine.client import Client
from reattach.machine.invariants import AT_REST, SESSION, SYSTEM, a_cursor_is_granted_iff_lossless
from reattach.machine.policy import Policy
from reattach.machine.server import Server
from reattach.machine.session import StreamKind
from reattach.machine.step_invariants import STEP, SYSTEM_STEP, Happened
from reattach.machine.system import Accept, Action, Bounds, Deliver, OpenStream, Read, System, Write, perform
from reattach_proofs.explorer import Explored, Space, explore
from reattach_proofs.spaces import (
    SessionBounds,
    Watched,
    initialized,
    is_at_rest,
    session_space,
    system_space,
    unreduced_space,
)

TIGHT = Policy(
    window_events=2, window_ms=2, stall_ms=1, absence_ms=1, heartbeat_ms=1, retry_ms=0, open_streams=3, sessions=1
)
"""The smallest numbers that there are, and a window of two."""


@frozen
class SessionScene:
    """One session under a policy, within bounds."""

    policy: Policy
    bounds: SessionBounds

    def explored(self, *names: str, **how: Any) -> Explored[Watched, Happened]:
        """Every state of it, asked for these invariants, or for all."""
        asked = [*(_of_session(self.policy, holds) for holds in SESSION), _cursors_are_judged_rightly]
        steps = [_of_step(holds) for holds in STEP]
        return explore(
            session_space(self.policy, self.bounds),
            [holds for holds in asked if not names or holds.__name__ in names],
            [holds for holds in steps if not names or holds.__name__ in names],
            **how,
        )


@frozen
class SystemScene:
    """Server, network and clients, within bounds."""

    initial: System
    bounds: Bounds
    reduced: bool = True

    def space(self) -> Space[System, Action]:
        """All that can happen."""
        return (system_space if self.reduced else unreduced_space)(self.initial, self.bounds)

    def explored(self, *names: str, **how: Any) -> Explored[System, Action]:
        """Every state of it, asked for these invariants, or for all."""
        asked = [*SYSTEM, *(_at_rest(holds) for holds in AT_REST)]
        steps = [_of_action(holds) for holds in SYSTEM_STEP]
        return explore(
            self.space(),
            [holds for holds in asked if not names or holds.__name__ in names],
            [holds for holds in steps if not names or holds.__name__ in names],
            **how,
        )


def _named(name: str, function: Callable[..., bool]) -> Callable[..., bool]:
    function.__name__ = name
    return function


def _of_session(policy: Policy, holds: Callable[[Policy, Any], bool]) -> Callable[..., bool]:
    return _named(holds.__name__, lambda watched: holds(policy, watched.session))


def _cursors_are_judged_rightly(watched: Watched) -> bool:
    return not watched.session.alive or a_cursor_is_granted_iff_lossless(watched.session, watched.sent)


_cursors_are_judged_rightly.__name__ = a_cursor_is_granted_iff_lossless.__name__


def _of_step(holds: Callable[[Happened], bool]) -> Callable[..., bool]:
    return _named(holds.__name__, lambda before, happened, after: holds(happened))


def _of_action(holds: Callable[[System, System], bool]) -> Callable[..., bool]:
    return _named(holds.__name__, lambda before, action, after: holds(before, after))


def _at_rest(holds: Callable[[System], bool]) -> Callable[..., bool]:
    return _named(holds.__name__, lambda system: holds(system) or not is_at_rest(system))


def connected(*clients: Client) -> System:
    """A system with a window of two, in which every client has its session; one client if none is given."""
    return initialized(System(Server(Policy(window_events=2)), clients or (Client(),)))


def with_calls(system: System, count: int) -> System:
    """The client has made some calls, and read the priming of each."""
    for _ in range(count):
        system = perform(system, OpenStream(0, StreamKind.REQUEST))
        connection = system.connections
        for action in (Deliver(connection), Write("S1", connection), Accept("S1", connection)):
            system = perform(system, action)
        system = perform(perform(system, Read(connection)), Read(connection))
    return system


QUIET = Bounds(pushes=False, endings=False)
"""Calls and listeners alone: no early pushes, nothing is cancelled, deleted or terminated."""

SCENES: dict[str, SessionScene | SystemScene] = {
    "session": SessionScene(TIGHT, SessionBounds(streams=2, events=4, connections=2, time=False)),
    "bytes": SessionScene(
        evolve(TIGHT, window_bytes=3), SessionBounds(streams=1, events=3, connections=1, sizes=(1, 2, 4), time=False)
    ),
    "streams": SessionScene(
        evolve(TIGHT, open_streams=2), SessionBounds(streams=3, events=0, connections=2, time=False)
    ),
    "timed": SessionScene(TIGHT, SessionBounds(streams=2, events=1, connections=2, requests=1)),
    "rate": SessionScene(evolve(TIGHT, stall_reads=2), SessionBounds(streams=2, events=2, connections=1)),
    "system": SystemScene(connected(), evolve(QUIET, streams=1, events=3, connections=4)),
    "pushes": SystemScene(with_calls(connected(), 1), evolve(QUIET, streams=1, events=4, connections=4, pushes=True)),
    "calls": SystemScene(with_calls(connected(), 2), evolve(QUIET, streams=2, events=1, connections=4)),
    "frames": SystemScene(with_calls(connected(), 1), evolve(QUIET, streams=1, events=1, connections=3), reduced=False),
    "rest": SystemScene(connected(), evolve(QUIET, streams=1, events=2, connections=4)),
    "endings": SystemScene(connected(), Bounds(streams=1, events=2, connections=4)),
    "attempts": SystemScene(
        connected(Client(attempts_limit=1)),
        evolve(QUIET, streams=1, events=1, connections=4),
    ),
    "clients": SystemScene(System(Server(Policy(sessions=1)), (Client(), Client())), Bounds(0, 0, 2)),
    "clock": SystemScene(
        initialized(System(Server(evolve(TIGHT, heartbeat_ms=59_999)), (Client(),))),
        evolve(QUIET, streams=1, events=1, connections=3, steps_ms=(1,), until_ms=4),
    ),
}
"""What ``make test`` explores."""

LONG_SCENES: dict[str, SessionScene | SystemScene] = {
    "session and time": SessionScene(TIGHT, SessionBounds(streams=2, events=4, connections=2)),
    "session and three connections": SessionScene(TIGHT, SessionBounds(streams=2, events=4, connections=3, time=False)),
    "two calls": SystemScene(with_calls(connected(), 2), evolve(QUIET, streams=2, events=2, connections=5)),
    "one stream and endings": SystemScene(connected(), Bounds(streams=1, events=3, connections=4)),
    "two streams": SystemScene(connected(), Bounds(streams=2, events=2, connections=3)),
}
"""What ``make explore`` explores beyond."""
