"""Random walks through the whole system, with everything that may go wrong, some of it at a time.

Swarm testing: each run draws which faults it has, so that some runs are all takeovers and others never see a cut. After
every action all invariants are asked; at the end the system is led to rest, where nothing may be owed.

There is one rule for all that can happen, and not one for each kind of action, because Hypothesis leaves out rules at
random too, and a run in which no request ever arrives shows nothing. What may be left out is drawn here.
"""

import pytest
from attrs import evolve
from hypothesis import event
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.machine.profiles import examples
from tests.machine.strategies import policies

from reattach.machine.client import Client
from reattach.machine.decision import Reason
from reattach.machine.invariants import AT_REST, SYSTEM
from reattach.machine.modes import Deployment
from reattach.machine.network import Refused, Verb
from reattach.machine.policy import Policy
from reattach.machine.server import Server
from reattach.machine.session import StreamKind, find_stream, is_viewed
from reattach.machine.step_invariants import SYSTEM_STEP
from reattach.machine.system import (
    Accept,
    Action,
    Bounds,
    Cancel,
    Cut,
    Deliver,
    Disconnect,
    Emit,
    GiveUp,
    Initialize,
    Leave,
    NoticeCut,
    OpenStream,
    Pass,
    Read,
    Reconnect,
    System,
    Terminate,
    Write,
    enabled,
    perform,
)
from reattach_proofs.spaces import drained, is_at_rest

pytestmark = pytest.mark.usefixtures("untraced")

BOUNDS = Bounds(streams=12, events=60, connections=80, steps_ms=(1, 2, 5), until_ms=1_000_000)

WEIGHTS: dict[type[Action], int] = {
    Initialize: 4,
    OpenStream: 1,
    Deliver: 8,
    Write: 10,
    Accept: 10,
    Read: 12,
    Emit: 6,
    Reconnect: 3,
    GiveUp: 3,
    NoticeCut: 2,
    Disconnect: 2,
    Cut: 1,
    Cancel: 1,
    Terminate: 1,
    Leave: 1,
    Pass: 1,
}
"""How much more often one kind of action happens than another: a run of cuts alone would show little."""

FAULTS = (
    "cuts",
    "connections that the server believes in",
    "requests that overtake",
    "clients that do not wait",
    "cancellations",
    "terminations",
    "departures",
    "time",
)
"""What a run may have or lack. Without any, clients call and listen, read, and are answered."""

BAD_FOR_THE_HONEST = {Reason.CURSOR_MALFORMED, Reason.CURSOR_FOREIGN, Reason.CURSOR_AHEAD, Reason.CURSOR_MISMATCH}
"""What no client hears that only ever sends what it was given."""


TRIED = st.one_of(
    st.builds(Initialize, st.just(0)),
    st.builds(OpenStream, st.just(0), st.sampled_from(StreamKind)),
    st.builds(Reconnect, st.just(0), st.integers(0, 6)),
    st.builds(GiveUp, st.just(0), st.integers(0, 6)),
    st.builds(Read, st.integers(0, 30)),
    st.builds(NoticeCut, st.integers(0, 30)),
    st.builds(Emit, st.sampled_from(["S1", "S9"]), st.integers(0, 9), st.booleans()),
    st.builds(Write, st.sampled_from(["S1", "S9"]), st.integers(0, 30)),
    st.builds(Accept, st.sampled_from(["S1", "S9"]), st.integers(0, 30)),
    st.builds(Disconnect, st.sampled_from(["S1", "S9"]), st.integers(0, 30)),
)
"""Actions that may or may not be possible: ``perform`` is total."""


class LifeOfASystem(RuleBasedStateMachine):
    """One server, up to three clients, and the network between them."""

    @initialize(
        policy=policies,
        faults=st.sets(st.sampled_from(FAULTS)),
        clients=st.lists(st.builds(Client, attempts_limit=st.integers(1, 3)), min_size=1, max_size=3),
    )
    def begin(self, policy: Policy, faults: set[str], clients: list[Client]) -> None:
        self.faults = faults
        self.system = System(Server(policy, Deployment()), tuple(clients))

    @rule(data=st.data())
    def something_happens(self, data: st.DataObject) -> None:
        if data.draw(st.integers(0, 30), "tried if 30") == 30:
            self.do(data.draw(TRIED, "tried"))
            return
        possible: dict[type[Action], list[Action]] = {}
        for action in enabled(self.system, BOUNDS):
            if self.may_happen(action):
                possible.setdefault(type(action), []).append(action)
        if possible:
            weighted = [kind for kind, weight in WEIGHTS.items() if kind in possible for _ in range(weight)]
            kind = data.draw(st.sampled_from(weighted), "kind")
            self.do(data.draw(st.sampled_from(possible[kind]), "action"))

    def may_happen(self, action: Action) -> bool:
        """Whether this run has what the action needs."""
        match action:
            case Cut():
                return "cuts" in self.faults
            case Disconnect():
                return "connections that the server believes in" not in self.faults
            case Deliver(connection):
                waiting = [exchange.connection for exchange in self.system.exchanges if not exchange.delivered]
                return connection == waiting[0] or "requests that overtake" in self.faults
            case Reconnect(index, handle):
                cut = any(one.handle == handle and one.connection == 0 for one in self.system.clients[index].streams)
                return cut or "clients that do not wait" in self.faults
            case Emit(name, number, final):
                # Mostly what somebody reads, and an answer only now and then.
                turn = len(self.system.history) % 4
                read = is_viewed(find_stream(self.system.server.sessions[name], number))
                return turn == 3 if final else read or turn == 2
            case Cancel():
                return "cancellations" in self.faults
            case Terminate():
                return "terminations" in self.faults and len(self.system.history) > 5
            case Leave():
                return "departures" in self.faults and len(self.system.history) > 5
            case Pass():
                return "time" in self.faults
            case _:
                return True

    def do(self, action: Action) -> None:
        before, self.system = self.system, perform(self.system, action)
        assert [holds.__name__ for holds in SYSTEM if not holds(self.system)] == []
        assert [holds.__name__ for holds in SYSTEM_STEP if not holds(before, self.system)] == []
        assert not any(
            isinstance(exchange.header, Refused) and exchange.header.reason in BAD_FOR_THE_HONEST
            for exchange in self.system.exchanges
        )
        self.note(before, action)

    def note(self, before: System, action: Action) -> None:
        """Say what was seen, for the statistics."""
        event(type(action).__name__)
        match action:
            case Deliver(connection):
                if any(one.connection == connection and one.request.verb is Verb.RESUME for one in before.exchanges):
                    event("a resumption arrives")
                answered = [one.header for one in self.system.exchanges if one.connection == connection]
                if answered and isinstance(answered[0], Refused):
                    event(f"refused: {answered[0].reason.value}")
            case _:
                pass

    def teardown(self) -> None:
        if not hasattr(self, "system"):
            return
        rested = drained(self.system)
        assert is_at_rest(rested)
        assert [holds.__name__ for holds in (*SYSTEM, *AT_REST) if not holds(rested)] == []
        for told in {told.news for client in rested.clients for told in client.told}:
            event(told.value)


TestLifeOfASystem = LifeOfASystem.TestCase
TestLifeOfASystem.settings = examples(80, steps=150)


class LifeOfAReplayingSystem(LifeOfASystem):
    """The same where every resumption is answered by a replay, and clients remember enough (MOD-3, MOD-4)."""

    @initialize(policy=policies, faults=st.sets(st.sampled_from(FAULTS)), window=st.integers(2, 60))
    def begin(self, policy: Policy, faults: set[str], window: int) -> None:
        self.faults = faults
        replaying = Deployment(ids_monotonic=False, dedup_memory=200, longest_replay=200)
        numbers = evolve(policy, window_events=window, window_bytes=window)
        self.system = System(Server(numbers, replaying), (Client(memory=200),))


TestLifeOfAReplayingSystem = LifeOfAReplayingSystem.TestCase
TestLifeOfAReplayingSystem.settings = examples(25, steps=150)
