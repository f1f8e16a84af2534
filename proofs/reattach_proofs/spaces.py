"""The two spaces that are explored: one session under every input, and the whole system under every action.

**One session.** Every input of ``transition`` within bounds, on every stream and every connection, with time passing
one millisecond at a time: the budgets are then a few milliseconds, and every order of deadlines and inputs occurs.
Longer steps of time add nothing, because ``advance`` composes (checked on its own). The key leaves out what nothing can
read any more:

* times count from the present, since no rule compares them with anything but the present and each other; what lies
  further back than the budget it is compared with counts as just beyond it. ``since`` is left out of a view that is not
  behind, ``seen`` of a session of which something is open: both are set anew before they are read again, as long as
  time passes by single milliseconds;
* the number of a view's connection, which is only ever compared with itself;
* of ``sent``, what lies before the newest seq that is not held: the judgement of a cursor asks for no more.

What the machine derives from the rest, and an invariant reads, is in the key all the same: where the machine is
faulty, it may differ.

Refused cursors are not among the steps: a refusal changes nothing but ``seen`` (a predicate says so for one cursor of
each kind), and the predicate about cursors tries every one in every state.

**The system.** Every action of ``system.enabled``, from a session that is open: how it came to be is explored too, but
apart. The reductions, each of which keeps every interleaving that any side can tell from another:

* without time, a write is accepted at once. Acceptance changes only what the next write and the stall budget read;
* the headers of an event stream are read at once. They change nothing for a client;
* the key numbers connections by their place among the exchanges, and a view whose exchange is gone has none;
* of an exchange that broke only that it broke is left, and the request if it is still on its way; a request that nobody
  waits for counts as broken;
* what a client applied is kept in order for each of its streams, and what it was told as a set;
* attempts are left out where the bounds do not let them reach the limit.
"""

from collections.abc import Hashable, Iterator

from attrs import frozen

from reattach.machine import client as clients
from reattach.machine import system as systems
from reattach.machine import transition
from reattach.machine.cursor import ABSENT, MALFORMED, Cursor, Presence
from reattach.machine.decision import Reattach, Replay, decide_cursor
from reattach.machine.invariants import Sent
from reattach.machine.network import Attached, Exchange
from reattach.machine.policy import Policy
from reattach.machine.session import (
    Session,
    Stream,
    StreamKind,
    View,
    find_stream,
    is_behind,
    is_occupied,
    is_viewed,
)
from reattach.machine.step_invariants import Happened
from reattach.machine.system import Action, Bounds, System, enabled, perform
from reattach.machine.transition import Emitted, Input, Opened, open_session, step
from reattach_proofs.explorer import Space

TAG = "T"

# One session


@frozen
class SessionBounds:
    """How far one session is explored."""

    streams: int = 2
    """Streams ever opened, the standalone one that it begins with included."""
    events: int = 4
    connections: int = 2
    """Views ever given."""
    requests: int = 0
    """Requests that may be unanswered at once."""
    sizes: tuple[int, ...] = (1,)
    """Bytes of messages."""
    time: bool = True


@frozen
class Watched:
    """A session, and the ghosts that its predicates speak of."""

    session: Session
    sent: Sent
    connections: int = 0
    events: int = 0


def session_space(policy: Policy, bounds: SessionBounds) -> Space[Watched, Happened]:
    """All that can happen to one session."""
    opened = open_session(TAG, "", 0)

    def steps(watched: Watched) -> Iterator[tuple[Happened, Watched]]:
        session = watched.session
        if not session.alive:
            yield _happened(policy, watched, session.now + 1, transition.Tick())
            return
        if bounds.time:
            yield _happened(policy, watched, session.now + 1, transition.Tick())
        for given in _inputs(watched, bounds):
            yield _happened(policy, watched, session.now, given)

    def key(watched: Watched) -> Hashable:
        return _watched_key(policy, watched)

    return Space(Watched(opened, ((1, 1),)), steps, key)


def _inputs(watched: Watched, bounds: SessionBounds) -> Iterator[Input]:
    session, connection = watched.session, watched.connections + 1
    if session.requests < bounds.requests:
        yield transition.Arrive()
    if session.requests > 0:
        yield transition.Depart()
    yield transition.Resume(connection, MALFORMED)
    if connection <= bounds.connections:
        if session.opened < bounds.streams:
            yield transition.OpenStream(connection)
        if session.opened < bounds.streams or not session.listened:
            yield transition.Resume(connection, ABSENT)
        for cursor in _granted(session):
            yield transition.Resume(connection, cursor)
    for stream in session.streams:
        if watched.events < bounds.events:
            for size in bounds.sizes:
                yield transition.Emit(stream.number, size, None)
        yield transition.Finish(stream.number)
        if is_viewed(stream):
            yield transition.Write(stream.view.connection)
            yield transition.Accepted(stream.view.connection)
            yield transition.Disconnect(stream.view.connection)
    yield transition.Write(connection)
    yield transition.Terminate()


def _granted(session: Session) -> Iterator[Cursor]:
    for stream in session.streams:
        for seq in range(session.window.next + 1):
            cursor = Cursor(Presence.PRESENT, session.tag, stream.number, seq)
            if isinstance(decide_cursor(session, cursor), Reattach | Replay):
                yield cursor


def _happened(policy: Policy, watched: Watched, now: int, given: Input) -> tuple[Happened, Watched]:
    session = watched.session
    taken = step(policy, session, now, given)
    happened = Happened(policy, session, now, given, taken)
    sent, connections, events = watched.sent, watched.connections, watched.events
    match taken.result:
        case Opened(number, _):
            connections += 1
            if find_stream(session, number).number == 0:
                sent = (*sent, (number, find_stream(taken.session, number).first))
        case Emitted(number, seq):
            events += 1
            sent = (*sent, (number, seq))
        case _:
            if taken.session == session:
                return happened, watched
    return happened, Watched(taken.session, sent, connections, events)


def _watched_key(policy: Policy, watched: Watched) -> Hashable:
    session = watched.session
    if not session.alive:
        return (session.window, session.streams, session.requests)  # nothing, if all is well
    return (watched.connections, watched.events, _sent_since_loss(watched), session_key(policy, session, {}))


def _sent_since_loss(watched: Watched) -> tuple[tuple[int, ...], ...]:
    """Of each known stream what was sent from the newest seq on that is not held."""
    held = [entry.seq for entry in watched.session.window.held]
    of_streams = [[seq for of, seq in watched.sent if of == stream.number] for stream in watched.session.streams]
    return tuple(
        [
            tuple([seq for seq in seqs if seq >= max([lost for lost in seqs if lost not in held], default=0)])
            for seqs in of_streams
        ]
    )


def session_key(policy: Policy, session: Session, places: dict[int, int]) -> Hashable:
    """What can still be read of a living session. ``places`` says where its connections are, as far as that matters."""
    window, now = session.window, session.now
    connections = [stream.view.connection for stream in session.streams if is_viewed(stream)]
    return (
        session.alive,
        len(connections) - len(set(connections)),
        session.requests,
        session.opened,
        session.standalone,
        session.listened,
        window.low,
        window.next,
        0 if is_occupied(session) else session.seen - now,
        tuple(
            [
                (
                    entry.seq,
                    entry.stream,
                    entry.prev,
                    entry.at - now,
                    entry.size,
                    window.count - entry.count,
                    window.size - entry.start,
                )
                for entry in window.held
            ]
        ),
        tuple([_stream_key(policy, now, stream, places) for stream in session.streams]),
    )


def _stream_key(policy: Policy, now: int, stream: Stream, places: dict[int, int]) -> Hashable:
    return (
        stream.number,
        stream.kind.value,
        stream.first,
        stream.last,
        stream.finished,
        _view_key(policy, now, stream, stream.view, places) if is_viewed(stream) else 0,
    )


def _view_key(policy: Policy, now: int, stream: Stream, view: View, places: dict[int, int]) -> Hashable:
    return (
        places.get(view.connection, 0),
        view.position,
        view.greeting.value,
        view.outstanding,
        (view.since - now, view.reads) if is_behind(stream) else 0,
        max(view.wrote - now, -policy.heartbeat_ms),
    )


# The system


def initialized(system: System) -> System:
    """The system after every client has opened its session."""
    for index in range(len(system.clients)):
        system = perform(system, systems.Initialize(index))
        system = perform(system, systems.Deliver(system.connections))
        system = perform(system, systems.Read(system.connections))
    return system


def system_space(initial: System, bounds: Bounds) -> Space[System, Action]:
    """All that can happen to the system, reduced as described above."""
    is_timed = bounds.steps_ms != ()

    def steps(system: System) -> Iterator[tuple[Action, System]]:
        for action in enabled(system, bounds):
            after = perform(system, action)
            match action:
                case systems.Write(name, connection) if not is_timed:
                    after = perform(after, systems.Accept(name, connection))
                case systems.Deliver(connection):
                    after = _without_headers(after, connection)
                case _:
                    pass
            yield action, after

    def key(system: System) -> Hashable:
        return system_key(system, bounds)

    return Space(initial, steps, key)


def unreduced_space(initial: System, bounds: Bounds) -> Space[System, Action]:
    """The same with nothing left out."""

    def steps(system: System) -> Iterator[tuple[Action, System]]:
        for action in enabled(system, bounds):
            yield action, perform(system, action)

    return Space(initial, steps, lambda system: system)


class UnsettledError(Exception):
    """A system that did not come to rest although nothing new was asked of it."""


def is_at_rest(system: System) -> bool:
    """Whether nothing has to happen any more."""
    return fair_action(system) is None


def drained(system: System, limit: int = 10_000) -> System:
    """The system at rest, after a fair and fault-free end: what was sent arrives, what can be written and read is,
    cuts are noticed, streams are resumed or given up, and the application answers its calls. Nothing new is asked.

    Raises UnsettledError after ``limit`` actions.
    """
    for _ in range(limit):
        action = fair_action(system)
        if action is None:
            return system
        system = perform(system, action)
    raise UnsettledError(f"not at rest after {limit} actions")


def fair_action(system: System) -> Action | None:
    """Something that has to happen sooner or later; None at rest."""
    return next((action for action in _fair_actions(system) if perform(system, action) != system), None)


def _fair_actions(system: System) -> Iterator[Action]:
    for exchange in system.exchanges:
        if not exchange.delivered:
            yield systems.Deliver(exchange.connection)
        yield systems.Read(exchange.connection)
        yield systems.NoticeCut(exchange.connection)
    for name, session in system.server.sessions.items():
        for stream in session.streams:
            if is_viewed(stream):
                yield systems.Disconnect(name, stream.view.connection)
                yield systems.Accept(name, stream.view.connection)
                yield systems.Write(name, stream.view.connection)
    for index, client in enumerate(system.clients):
        for followed in client.streams:
            if followed.connection == 0:
                yield systems.Reconnect(index, followed.handle)
                yield systems.GiveUp(index, followed.handle)
    for name, session in system.server.sessions.items():
        for stream in session.streams:
            if stream.kind is StreamKind.REQUEST:
                yield systems.Emit(name, stream.number, final=True)


def _without_headers(system: System, connection: int) -> System:
    for exchange in system.exchanges:
        if exchange.connection == connection and exchange.header == Attached():
            return perform(system, systems.Read(connection))
    return system


def system_key(system: System, bounds: Bounds) -> Hashable:
    """What can still be told from the outside."""
    policy = system.server.policy
    places = {exchange.connection: at for at, exchange in enumerate(system.exchanges, 1)}
    return (
        system.connections,
        system.names,
        tuple([(name, session_key(policy, session, places)) for name, session in system.server.sessions.items()]),
        tuple([_client_key(client, places, bounds) for client in system.clients]),
        tuple([_exchange_key(system, exchange) for exchange in system.exchanges]),
        tuple([(event.session, event.stream, event.seq, event.final) for event in system.history]),
        _applications_key(system),
        frozenset(
            [
                (origin.session, origin.stream, origin.client, origin.handle, origin.position)
                for origin in system.origins
            ]
        ),
    )


def _applications_key(system: System) -> Hashable:
    followed: dict[tuple[int, int], list[tuple[str, int, int]]] = {}
    for applied in system.applications:
        name = (applied.session, applied.stream, applied.seq)
        followed.setdefault((applied.client, applied.handle), []).append(name)
    return frozenset([(who, tuple(names)) for who, names in followed.items()])


def _client_key(client: clients.Client, places: dict[int, int], bounds: Bounds) -> Hashable:
    counts_attempts = client.attempts_limit < bounds.connections
    return (
        client.phase.value,
        client.session,
        places.get(client.initializing, 0),
        client.handles,
        frozenset([(told.news.value, told.handle) for told in client.told]),
        tuple(
            [
                (
                    stream.handle,
                    stream.kind.value,
                    places.get(stream.connection, 0),
                    stream.cursor.tag,
                    stream.cursor.stream,
                    stream.cursor.seq,
                    stream.attempts if counts_attempts else 0,
                )
                for stream in client.streams
            ]
        ),
    )


def _exchange_key(system: System, exchange: Exchange) -> Hashable:
    request = exchange.request
    asked = (
        ()
        if exchange.delivered
        else (request.verb.value, request.session, request.handle, request.cursor.stream, request.cursor.seq)
    )
    if not exchange.reachable or not clients.reads(system.clients[exchange.client], exchange.connection):
        return (asked, exchange.client)
    return (
        asked,
        exchange.client,
        exchange.session,
        exchange.stream,
        exchange.header,
        exchange.greeting,
        exchange.taken,
        exchange.sent,
        exchange.trailer,
    )
