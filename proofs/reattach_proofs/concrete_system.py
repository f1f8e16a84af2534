"""The exhaustive concrete explorers of the server, and of server, network and clients together.

What ``concrete`` is for one session: the claims of ``servers`` and ``conduct``, and the invariants of the whole system,
which are the end-to-end statement on ordinary numbers, asked of every step from the initial state on.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeAlias, TypeVar

from attrs import evolve, frozen

from reattach.machine import server as machine
from reattach.machine import system as wiring
from reattach.machine.client import Client
from reattach.machine.decision import Refuse
from reattach.machine.invariants import AT_REST, SYSTEM
from reattach.machine.modes import Deployment
from reattach.machine.policy import Policy
from reattach.machine.server import Server, ServerStep
from reattach.machine.session import Session, StreamKind
from reattach.machine.step_invariants import SYSTEM_STEP
from reattach.machine.system import Action, System
from reattach.machine.system import Bounds as SystemBounds
from reattach.machine.transition import Input, OpenStream, Terminate
from reattach_proofs import conduct, servers
from reattach_proofs.concrete import POLICY
from reattach_proofs.explorer import Explored, Space, explore
from reattach_proofs.promises import Claim
from reattach_proofs.spaces import is_at_rest, session_key, system_space

S = TypeVar("S")
L = TypeVar("L")


def replayed(space: Space[S, L], wanted: Iterable[object], of: Callable[[L], object]) -> Iterator[tuple[S, L, S]]:
    """The steps of a space that these labels lead to: the state before, the label, the state after."""
    before = space.initial
    for each in wanted:
        label, after = next((label, after) for label, after in space.steps(before) if of(label) == each)
        yield before, label, after
        before = after


# The server


@frozen
class Asked:
    """One thing that is asked of the server, at a time. ``""`` names no session."""

    now: int
    name: str = ""
    principal: str = ""


@frozen
class Initialize(Asked):
    """A session is to be opened under this name."""


@frozen
class Take(Asked):
    """An input to a session."""

    given: Input = Terminate()


@frozen
class Tick(Asked):
    """Time passes."""


@frozen
class Locate(Asked):
    """Somebody asks for a session."""


@frozen
class Answered:
    """What was asked, and what came of it."""

    asked: Asked
    answer: ServerStep | Refuse | Session


@frozen
class Served:
    """A server, its time, and how many names it was asked to give."""

    server: Server
    now: int = 0
    names: int = 0


def explore_server(limit: int) -> Explored[Served, Answered]:
    """Every server within the bounds, up to the first claim that is broken."""

    def each_claim_holds(before: Served, answered: Answered, after: Served) -> bool:
        return next(broken_by_server(before, answered), None) is None

    return explore(server_space(), each=(each_claim_holds,), limit=limit)


def broken_by_server(before: Served, answered: Answered) -> Iterator[Claim]:
    """The claims that one answer of the server breaks."""
    return (claim for claim in _server_claims(before.server, answered.asked, answered.answer) if not claim.holds())


def _server_claims(before: Server, asked: Asked, answer: ServerStep | Refuse | Session) -> Iterator[Claim]:
    match asked, answer:
        case Initialize(now, name, principal), ServerStep():
            yield from servers.initialize_claims(before, now, name, principal, answer)
        case Take(now, name, _, given), ServerStep():
            yield from servers.take_claims(before, now, name, given, answer)
        case Tick(now), ServerStep():
            yield from servers.tick_claims(before, now, answer)
        case Locate(now, name, principal), Refuse() | Session():
            yield from servers.locate_claims(before, now, name, principal, answer)


def server_space() -> Space[Served, Answered]:
    """All that can be asked of a server within the bounds."""

    def steps(before: Served) -> Iterator[tuple[Answered, Served]]:
        for asked in _questions(before):
            answer = _ask(before.server, asked)
            after = answer.server if isinstance(answer, ServerStep) else before.server
            named = before.names + isinstance(asked, Initialize)
            same = after is before.server and asked.now == before.now and named == before.names
            yield Answered(asked, answer), before if same else Served(after, asked.now, named)

    def key(served: Served) -> Hashable:
        sessions = [
            (name, session.principal, session.alive, session_key(POLICY, session, {}))
            for name, session in sorted(served.server.sessions.items())
        ]
        return (served.names, tuple(sessions))

    return Space(Served(Server(POLICY)), steps, key)


def _ask(server: Server, asked: Asked) -> ServerStep | Refuse | Session:
    match asked:
        case Initialize(now, name, principal):
            return machine.initialize(server, now, name, f"tag of {name}", principal)
        case Take(now, name, _, given):
            return machine.take(server, now, name, given)
        case Locate(now, name, principal):
            return machine.locate(server, now, name, principal)
        case _:
            return machine.tick(server, asked.now)


def _questions(before: Served) -> Iterator[Asked]:
    for now in (before.now, before.now + POLICY.absence_ms + 1):
        yield from (Locate(now, name, who) for name in ("", "S1", "S2", "S9") for who in ("me", "them"))
        if before.names < 3:
            yield from (Initialize(now, f"S{before.names + 1}", who) for who in ("me", "them"))
        for name in ("S1", "S2"):
            yield from (Take(now, name, "", given) for given in (OpenStream(1), Terminate()))
    yield Tick(before.now + 1)
    yield Tick(before.now + POLICY.absence_ms + 1)


# The system


@frozen
class SystemScope:
    """A system, and how far it is explored."""

    initial: System
    bounds: SystemBounds
    prefix: tuple[Action, ...] = ()
    """What happens first, so that what is deep can be found; a trace is shortest after it."""

    def space(self) -> Space[System, Action]:
        """All that can happen."""
        return system_space(self.initial, self.bounds)

    def after_prefix(self) -> Space[System, Action]:
        """All that can happen after the prefix."""
        space = self.space()
        for _, _, after in replayed(space, self.prefix, lambda action: action):
            space = evolve(space, initial=after)
        return space


def _system(policy: Policy, *clients: Client) -> System:
    return System(Server(policy), clients)


_CALLS = SystemBounds(streams=1, events=2, connections=4, pushes=False, endings=False)
_TWO_HELD = Policy(window_events=2)


def _calling(handle: int) -> tuple[Action, ...]:
    """The client makes a call and reads its priming, on the connection after that of ``initialize``."""
    connection = handle + 1
    return (
        wiring.OpenStream(0, StreamKind.REQUEST),
        wiring.Deliver(connection),
        wiring.Write("S1", connection),
        wiring.Read(connection),
    )


_CONNECTED: tuple[Action, ...] = (wiring.Initialize(0), wiring.Deliver(1), wiring.Read(1))

SYSTEM_SCOPES: dict[str, SystemScope] = {
    "a call": SystemScope(_system(_TWO_HELD, Client()), _CALLS),
    "endings": SystemScope(_system(_TWO_HELD, Client()), SystemBounds(streams=1, events=1, connections=4)),
    "attempts": SystemScope(_system(_TWO_HELD, Client(attempts_limit=1)), evolve(_CALLS, events=1)),
    "two calls": SystemScope(
        _system(_TWO_HELD, Client()),
        evolve(_CALLS, streams=2, events=1),
        prefix=(*_CONNECTED, *_calling(1), *_calling(2)),
    ),
}
"""What is explored: each about something, and as small as that allows."""

_REPEATING = 2
"""How far back, in seqs, a replay begins within these bounds: from the second event of a call to before its first."""


def _replaying(memory: int) -> SystemScope:
    """A server whose ids restart, and a client with so much memory: whether it replays is for the machine to say."""
    deployment = Deployment(ids_monotonic=False, dedup_memory=memory, longest_replay=_REPEATING)
    system = System(Server(Policy(window_events=9), deployment), (Client(memory=memory),))
    return SystemScope(system, _CALLS, prefix=(*_CONNECTED, *_calling(1)))


REPLAY_SCOPES: dict[str, SystemScope] = {
    "memory enough": _replaying(_REPEATING),
    "too little memory": _replaying(_REPEATING - 1),
}
"""What is explored for replay: a deployment that may, and one that must not."""

StepHolds: TypeAlias = Callable[[System, Action, System], bool]


def explore_system(scope: SystemScope, theorem: str, limit: int) -> Explored[System, Action]:
    """Every system within the bounds, up to the first predicate or claim of the theorem that is broken."""
    space = scope.after_prefix()
    if theorem == conduct.CONDUCT.name:
        return explore(space, each=(_client_behaves,), limit=limit)
    always = [*SYSTEM, *(_at_rest(holds) for holds in AT_REST)]
    return explore(space, always, [_of_step(holds) for holds in SYSTEM_STEP], limit=limit)


def broken_by_client(before: System, action: Action, after: System) -> Iterator[Claim]:
    """The claims about clients that one action breaks."""
    return (claim for claim in conduct.claims(before, action, after) if not claim.holds())


def _client_behaves(before: System, action: Action, after: System) -> bool:
    return next(broken_by_client(before, action, after), None) is None


def _at_rest(holds: Callable[[System], bool]) -> Callable[[System], bool]:
    def held(system: System) -> bool:
        return holds(system) or not is_at_rest(system)

    held.__name__ = holds.__name__
    return held


def _of_step(holds: Callable[[System, System], bool]) -> StepHolds:
    def held(before: System, action: Action, after: System) -> bool:
        return holds(before, after)

    held.__name__ = holds.__name__
    return held
