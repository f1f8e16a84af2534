"""Server, network and clients together, with the history that the end-to-end statement speaks of.

An ``Action`` is one thing that may happen anywhere: a client acts, a request arrives, a connection breaks, a side
notices, a transport writes, time passes. ``perform`` is total: an action that cannot happen changes nothing.
``enabled`` lists those that can, within bounds. The random tests, the exhaustive explorer and the counterexamples all
walk this one relation; nothing else knows how the parts are wired.

``history``, ``applications`` and ``origins`` are ghosts: no transition reads them, except that the intervals in flight
are of events of the history.
"""

from typing import TypeAlias

from attrs import evolve, frozen

from reattach.machine import client as clients
from reattach.machine import network, server, transition
from reattach.machine.client import Client, ClientStream, Phase
from reattach.machine.cursor import Cursor, Presence
from reattach.machine.decision import Refuse
from reattach.machine.network import Exchange, Item, Nothing, Verb
from reattach.machine.server import Server
from reattach.machine.session import Greeting, StreamKind, find_stream, is_viewed


@frozen
class Emission:
    """Ghost: an event that was given a seq."""

    session: str
    stream: int
    seq: int
    final: bool


@frozen
class Application:
    """Ghost: an event that a client applied."""

    client: int
    handle: int
    session: str
    stream: int
    seq: int


@frozen
class Origin:
    """Ghost: which client's stream a server's stream is, and from which seq on it is owed."""

    session: str
    stream: int
    client: int
    handle: int
    position: int


@frozen
class System:
    """Everything. Session names are ``S1``, ``S2``, ...: the environment's promise that they and the tags are fresh."""

    server: Server
    clients: tuple[Client, ...]
    exchanges: tuple[Exchange, ...] = ()
    now: int = 0
    connections: int = 0
    names: int = 0
    history: tuple[Emission, ...] = ()
    applications: tuple[Application, ...] = ()
    origins: tuple[Origin, ...] = ()


# Actions of a client


@frozen
class Initialize:
    """A client without a session asks for one."""

    client: int


@frozen
class OpenStream:
    """A client makes a call or listens."""

    client: int
    kind: StreamKind


@frozen
class Reconnect:
    """A client resumes a stream, whether or not it knows its connection to be dead."""

    client: int
    handle: int


@frozen
class GiveUp:
    """A client that may not try again tells its application."""

    client: int
    handle: int


@frozen
class Leave:
    """A client deletes its session."""

    client: int


@frozen
class Read:
    """A client takes the next item of a connection."""

    connection: int


@frozen
class NoticeCut:
    """A client learns that its connection is dead, or that its request never arrived."""

    connection: int


# Actions of the network


@frozen
class Deliver:
    """A request reaches the server; those sent before it may still be on their way."""

    connection: int


@frozen
class Cut:
    """A connection breaks."""

    connection: int


# Actions of the server and what runs on it


@frozen
class Emit:
    """The server has a message; with ``final`` it is the response, and the stream is finished."""

    session: str
    stream: int
    final: bool = False


@frozen
class Cancel:
    """A request stream is finished without a response."""

    session: str
    stream: int


@frozen
class Write:
    """A transport asks for the next write and sends it."""

    session: str
    connection: int


@frozen
class Accept:
    """A transport reports that its last write was taken."""

    session: str
    connection: int


@frozen
class Disconnect:
    """The server notices that a connection is dead."""

    session: str
    connection: int


@frozen
class Terminate:
    """The server ends a session by its own wish."""

    session: str


@frozen
class Pass:
    """Time passes: ``ms`` milliseconds."""

    ms: int


Action: TypeAlias = (
    Initialize
    | OpenStream
    | Reconnect
    | GiveUp
    | Leave
    | Read
    | NoticeCut
    | Deliver
    | Cut
    | Emit
    | Cancel
    | Write
    | Accept
    | Disconnect
    | Terminate
    | Pass
)


def perform(system: System, action: Action) -> System:
    """The system after one action; the same system if the action cannot happen."""
    match action:
        case Initialize(index) if system.clients[index].phase is Phase.MUST_INITIALIZE:
            return _send(system, index, clients.initialize(system.clients[index], system.connections + 1))
        case OpenStream(index, kind) if system.clients[index].phase is Phase.CONNECTED:
            return _send(system, index, clients.open_stream(system.clients[index], system.connections + 1, kind))
        case Leave(index) if system.clients[index].phase is Phase.CONNECTED:
            return _send(system, index, clients.leave(system.clients[index]))
        case Reconnect(index, handle):
            for stream in clients.find_by_handle(system.clients[index], handle):
                if clients.may_resume(system.clients[index], stream):
                    return _send(system, index, clients.resume(system.clients[index], stream, system.connections + 1))
        case GiveUp(index, handle):
            for stream in clients.find_by_handle(system.clients[index], handle):
                if stream.connection == 0 and not clients.may_resume(system.clients[index], stream):
                    return _with_client(system, index, clients.give_up(system.clients[index], stream))
        case Read(connection):
            for exchange in _exchanges(system, connection):
                return _read(system, exchange)
        case NoticeCut(connection):
            for exchange in _exchanges(system, connection):
                if not exchange.reachable:
                    return _received(system, exchange, network.Aborted())
        case Deliver(connection):
            for exchange in _exchanges(system, connection):
                if not exchange.delivered:
                    return _tidied(_deliver(system, exchange))
        case Cut(connection):
            for exchange in _exchanges(system, connection):
                return _with_exchange(system, network.cut(exchange))
        case Emit(name, number, final) if not final or _is_call(system, name, number):
            return _emit(system, name, number, final)
        case Cancel(name, stream):
            return _serve(system, name, transition.Finish(stream))[0]
        case Write(name, connection):
            return _write(system, name, connection)
        case Accept(name, connection):
            return _serve(system, name, transition.Accepted(connection))[0]
        case Disconnect(name, connection) if _is_dead(system, connection):
            return _serve(system, name, transition.Disconnect(connection))[0]
        case Terminate(name):
            return _serve(system, name, transition.Terminate())[0]
        case Pass(ms):
            later = evolve(system, now=system.now + ms)
            ticked = server.tick(later.server, later.now)
            return _ended(evolve(later, server=ticked.server), ticked.endings)
    return system


@frozen
class Bounds:
    """How far ``enabled`` goes."""

    streams: int = 2
    """Streams that clients open, in all."""
    events: int = 4
    """Emissions, in all."""
    connections: int = 3
    """Exchanges, in all."""
    steps_ms: tuple[int, ...] = ()
    """The amounts by which time may pass."""
    until_ms: int = 0
    """Time does not pass beyond this."""
    pushes: bool = True
    """Whether messages that belong to no request are emitted."""
    endings: bool = True
    """Whether sessions are deleted or terminated, and requests cancelled."""


def enabled(system: System, bounds: Bounds) -> tuple[Action, ...]:
    """The actions that can happen now, within bounds; each changes the system or is dropped by the caller."""
    return (
        *_client_actions(system, bounds),
        *_network_actions(system),
        *_server_actions(system, bounds),
        *(Pass(ms) for ms in bounds.steps_ms if system.now + ms <= bounds.until_ms),
    )


def _client_actions(system: System, bounds: Bounds) -> tuple[Action, ...]:
    actions: list[Action] = []
    may_send = system.connections < bounds.connections
    opened = sum(client.handles for client in system.clients)
    for index, client in enumerate(system.clients):
        if client.phase is Phase.MUST_INITIALIZE and may_send:
            actions.append(Initialize(index))
        if client.phase is Phase.CONNECTED and may_send:
            actions += [OpenStream(index, kind) for kind in StreamKind if opened < bounds.streams]
            actions += [Leave(index)] * bounds.endings
        for stream in client.streams:
            if clients.may_resume(client, stream):
                actions += [Reconnect(index, stream.handle)] * may_send
            elif stream.connection == 0:
                actions.append(GiveUp(index, stream.handle))
    return tuple(actions)


def _network_actions(system: System) -> tuple[Action, ...]:
    actions: list[Action] = []
    for exchange in system.exchanges:
        if not exchange.delivered:
            actions.append(Deliver(exchange.connection))
        actions.append(Cut(exchange.connection) if exchange.reachable else NoticeCut(exchange.connection))
        if _next_item(system, exchange)[0] != Nothing():
            actions.append(Read(exchange.connection))
    return tuple(actions)


def _server_actions(system: System, bounds: Bounds) -> tuple[Action, ...]:
    actions: list[Action] = []
    may_emit = len(system.history) < bounds.events
    for name, session in system.server.sessions.items():
        actions += [Terminate(name)] * bounds.endings
        for stream in session.streams:
            if not stream.finished and may_emit:
                if stream.kind is StreamKind.REQUEST:
                    actions += [Emit(name, stream.number), Emit(name, stream.number, final=True)]
                elif bounds.pushes:
                    actions.append(Emit(name, stream.number))
            if not stream.finished and stream.kind is StreamKind.REQUEST:
                actions += [Cancel(name, stream.number)] * bounds.endings
            if is_viewed(stream):
                connection = stream.view.connection
                actions.append(Accept(name, connection) if stream.view.outstanding else Write(name, connection))
                if _is_dead(system, connection):
                    actions.append(Disconnect(name, connection))
    return tuple(actions)


def _send(system: System, index: int, sent: tuple[Client, network.Request]) -> System:
    connection = system.connections + 1
    exchange = Exchange(connection, index, sent[1])
    grown = evolve(system, connections=connection, exchanges=(*system.exchanges, exchange))
    return _with_client(grown, index, sent[0])


def _deliver(system: System, exchange: Exchange) -> System:
    request = exchange.request
    if request.verb is Verb.INITIALIZE:
        name = f"S{system.names + 1}"
        opened = server.initialize(system.server, system.now, name, name, "")
        header: Item = network.Initialized(name)
        if isinstance(opened.result, Refuse):
            header = network.Refused(opened.result.reason)
        known = _ended(evolve(system, server=opened.server, names=system.names + 1), opened.endings)
        return _with_exchange(known, network.answered(exchange, header, network.Ended()))
    located = server.locate(system.server, system.now, request.session, "")
    if isinstance(located, Refuse):
        return _with_exchange(system, network.answered(exchange, network.Refused(located.reason), network.Ended()))
    served, result = _serve(system, request.session, _input(exchange))
    match result:
        case transition.Opened(number, position):
            if request.verb in (Verb.CALL, Verb.LISTEN):
                origin = Origin(request.session, number, exchange.client, request.handle, position)
                served = evolve(served, origins=(*served.origins, origin))
            return _with_exchange(served, network.attached(exchange, request.session, number, position))
        case Refuse() as refusal:
            answer: Item = network.Refused(refusal.reason)
        case _:
            answer = network.Deleted()
    return _with_exchange(served, network.answered(exchange, answer, network.Ended()))


def _input(exchange: Exchange) -> transition.Input:
    match exchange.request.verb:
        case Verb.CALL:
            return transition.OpenStream(exchange.connection)
        case Verb.DELETE:
            return transition.Terminate()
        case _:
            return transition.Resume(exchange.connection, exchange.request.cursor)


def _emit(system: System, name: str, number: int, final: bool) -> System:
    emitted, result = _serve(system, name, transition.Emit(number, size=1, message=None))
    if not isinstance(result, transition.Emitted):
        return emitted
    emission = Emission(name, result.stream, result.seq, final)
    told = evolve(emitted, history=(*emitted.history, emission))
    return _serve(told, name, transition.Finish(number))[0] if final else told


def _write(system: System, name: str, connection: int) -> System:
    written, result = _serve(system, name, transition.Write(connection))
    for exchange in _exchanges(written, connection):
        if exchange.reachable:
            return _with_exchange(written, _sent(exchange, name, result))
    return written


def _sent(exchange: Exchange, name: str, written: transition.Result) -> Exchange:
    match written:
        case transition.WriteGreeting(Greeting.PRIMING, stream, seq):
            return evolve(exchange, greeting=network.Primed(Cursor(Presence.PRESENT, name, stream, seq)))
        case transition.WriteGreeting(_, stream, seq):
            return evolve(exchange, greeting=network.Positioned(Cursor(Presence.PRESENT, name, stream, seq)))
        case transition.WriteEvent(_, seq, _):
            return evolve(exchange, sent=seq)
        case transition.WriteEnd():
            return evolve(exchange, trailer=network.Ended())
        case transition.WriteOvertaken():
            return evolve(exchange, trailer=network.ResumptionRequired())
        case _:
            return exchange


def _serve(system: System, name: str, given: transition.Input) -> tuple[System, transition.Result]:
    taken = server.take(system.server, system.now, name, given)
    return _ended(evolve(system, server=taken.server), taken.endings), taken.result


def _ended(system: System, endings: tuple[transition.Ending, ...]) -> System:
    """The server aborts these transports: what is in flight may still arrive, and then the reset does."""
    for ending in endings:
        for exchange in _exchanges(system, ending.connection):
            if exchange.reachable:
                system = _with_exchange(system, evolve(exchange, trailer=network.Aborted()))
    return system


def _read(system: System, exchange: Exchange) -> System:
    item, rest = _next_item(system, exchange)
    return system if item == Nothing() else _received(_with_exchange(system, rest), rest, item)


def _next_item(system: System, exchange: Exchange) -> tuple[Item, Exchange]:
    """The next item in the FIFO: header, greeting, the events in flight, trailer."""
    if exchange.header != Nothing():
        return exchange.header, evolve(exchange, header=Nothing())
    if exchange.greeting != Nothing():
        return exchange.greeting, evolve(exchange, greeting=Nothing())
    for event in system.history:
        of_stream = event.session == exchange.session and event.stream == exchange.stream
        if of_stream and exchange.taken < event.seq <= exchange.sent:
            cursor = Cursor(Presence.PRESENT, event.session, event.stream, event.seq)
            return network.Delivered(cursor, event.final), evolve(exchange, taken=event.seq)
    return exchange.trailer, evolve(exchange, trailer=Nothing())


def _received(system: System, exchange: Exchange, item: Item) -> System:
    reading = clients.find_by_connection(system.clients[exchange.client], exchange.connection)
    received = clients.receive(system.clients[exchange.client], exchange.connection, item)
    after = _with_client(system, exchange.client, received.client)
    if received.applied:
        # What was read, whatever its id made the client believe.
        applied = Application(exchange.client, _handle(reading), exchange.session, exchange.stream, exchange.taken)
        after = evolve(after, applications=(*after.applications, applied))
    return after


def _handle(reading: tuple[ClientStream, ...]) -> int:
    return reading[0].handle if reading else 0


def _is_call(system: System, name: str, number: int) -> bool:
    """Whether the stream answers a request, which alone can have a response."""
    session = system.server.sessions.get(name)
    return session is not None and find_stream(session, number).kind is StreamKind.REQUEST


def _is_dead(system: System, connection: int) -> bool:
    """Whether nothing of this connection reaches the client any more: it broke, or the client has closed it."""
    return not any(exchange.reachable for exchange in _exchanges(system, connection))


def _exchanges(system: System, connection: int) -> tuple[Exchange, ...]:
    return tuple(exchange for exchange in system.exchanges if exchange.connection == connection)


def _with_exchange(system: System, changed: Exchange) -> System:
    return evolve(
        system,
        exchanges=tuple(
            changed if exchange.connection == changed.connection else exchange for exchange in system.exchanges
        ),
    )


def _with_client(system: System, index: int, changed: Client) -> System:
    return _tidied(
        evolve(system, clients=tuple(changed if at == index else client for at, client in enumerate(system.clients)))
    )


def _tidied(system: System) -> System:
    """Without the exchanges that are over for the client and have reached the server: nothing of them matters now."""
    kept = tuple(
        exchange
        for exchange in system.exchanges
        if not exchange.delivered or clients.reads(system.clients[exchange.client], exchange.connection)
    )
    return evolve(system, exchanges=kept)
