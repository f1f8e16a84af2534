"""How a client behaves: what it sends, how often, and what it tells its application.

The end-to-end theorem says that nothing is lost without a word. A client could keep that promise and still be a bad
guest: try again for ever, send its call a second time, or throw its whole session away for one bad cursor. These claims
are about one action anywhere in the system, and are asked with it.
"""

from collections.abc import Iterator
from functools import partial

from attrs import evolve

from reattach.machine import client as clients
from reattach.machine import network
from reattach.machine import system as wiring
from reattach.machine.client import Client, ClientStream, News, Phase, Told, find_by_connection, find_by_handle
from reattach.machine.cursor import Cursor, Presence
from reattach.machine.decision import Reason
from reattach.machine.network import Exchange, Item, Nothing, Request, Verb
from reattach.machine.server import Server
from reattach.machine.session import StreamKind
from reattach.machine.system import Action, System
from reattach_proofs import shapes
from reattach_proofs.obligations import Obligation, Outcome, stated
from reattach_proofs.promises import Claim, Theorem
from reattach_proofs.shapes import OTHER, SUBJECT

CONDUCT = Theorem(
    "client-conduct",
    ("CLI-3", "CLI-5", "CLI-9", "CLI-10", "CLI-11", "CLI-12"),
    "A client sends no call again, resumes with its cursor and no more often than its limit without progress, gives up "
    "one stream for a refused cursor and its session only for an unknown one, and tells its application.",
)

SIGHTS = ("a stream is resumed", "a session is left", "a cursor is refused", "a response is applied")
"""Its interesting cases."""

_ASKS: dict[Verb, type[Action]] = {
    Verb.INITIALIZE: wiring.Initialize,
    Verb.CALL: wiring.OpenStream,
    Verb.LISTEN: wiring.OpenStream,
    Verb.RESUME: wiring.Reconnect,
    Verb.DELETE: wiring.Leave,
}


def claims(before: System, action: Action, after: System) -> Iterator[Claim]:
    """What one action must keep, of every client."""
    for index, (was, now) in enumerate(zip(before.clients, after.clients, strict=True)):
        yield from _of_sending(before, action, after, index)
        yield from _of_attempts(before, after, index)
        yield from _of_other_streams(before, action, after, index)
        yield from _of_its_session(action, was, now, _item_read(before, action, index), index)
        for stream, item in _read_on(before, action, index):
            yield from _of_reading(was, now, stream, item)


def sights(before: System, action: Action, after: System) -> Iterator[Claim]:
    """What an action may do."""
    if _sent(before, after, 0) and isinstance(action, wiring.Reconnect):
        yield Claim(CONDUCT.name, "a stream is resumed", _surely)
    if before.clients[0].session != after.clients[0].session:
        yield Claim(CONDUCT.name, "a session is left", _surely)
    for _, item in _read_on(before, action, 0):
        if isinstance(item, network.Refused):
            yield Claim(CONDUCT.name, "a cursor is refused", _surely)
        if isinstance(item, network.Delivered):
            yield Claim(CONDUCT.name, "a response is applied", lambda item=item: item.final)


def _surely() -> bool:
    return True


def _of_sending(before: System, action: Action, after: System, index: int) -> Iterator[Claim]:
    was, now = before.clients[index], after.clients[index]
    for exchange in _sent(before, after, index):
        request = exchange.request
        yield Claim(
            CONDUCT.name,
            "nothing is sent but what was asked for",
            lambda request=request: isinstance(action, _ASKS[request.verb]),
        )
        if request.verb is not Verb.RESUME:
            continue
        for stream in find_by_handle(was, request.handle):
            yield Claim(
                CONDUCT.name,
                "a resumption carries the cursor",
                lambda request=request, stream=stream: (
                    stream.cursor.presence is Presence.PRESENT
                    and request.cursor.presence is Presence.PRESENT
                    and request.cursor.stream == stream.cursor.stream
                    and request.cursor.seq == stream.cursor.seq
                ),
            )
            yield Claim(
                CONDUCT.name,
                "a resumption is within the limit",
                lambda stream=stream: stream.attempts < was.attempts_limit,
            )
            yield Claim(
                CONDUCT.name,
                "what is read from now on is the new connection",
                lambda exchange=exchange, stream=stream: (
                    [each.connection for each in find_by_handle(now, stream.handle)] == [exchange.connection]
                ),
            )


def _of_attempts(before: System, after: System, index: int) -> Iterator[Claim]:
    resumed = [each.request.handle for each in _sent(before, after, index) if each.request.verb is Verb.RESUME]
    fresh = after.applications[len(before.applications) :]
    applied = [each.handle for each in fresh if each.client == index]
    for stream in after.clients[index].streams:
        for known in find_by_handle(before.clients[index], stream.handle):
            yield Claim(
                CONDUCT.name,
                "each resumption is an attempt, and only progress makes up for them",
                lambda stream=stream, known=known: (
                    stream.attempts
                    == (0 if stream.handle in applied else known.attempts + resumed.count(stream.handle))
                ),
            )


def _of_other_streams(before: System, action: Action, after: System, index: int) -> Iterator[Claim]:
    was, now = before.clients[index], after.clients[index]
    if was.session != now.session:
        return
    addressed = _addressed(before, action, index)
    for stream in was.streams:
        if stream.handle not in addressed:
            yield Claim(
                CONDUCT.name,
                "what happens to one stream changes no other",
                lambda stream=stream: [each is stream for each in find_by_handle(now, stream.handle)] == [True],
            )


def _addressed(before: System, action: Action, index: int) -> tuple[int, ...]:
    match action:
        case wiring.Reconnect(mine, handle) | wiring.GiveUp(mine, handle) if mine == index:
            return (handle,)
        case wiring.Read(connection) | wiring.NoticeCut(connection):
            return tuple(stream.handle for stream in find_by_connection(before.clients[index], connection))
        case _:
            return ()


def _of_its_session(action: Action, was: Client, now: Client, item: Item, index: int) -> Iterator[Claim]:
    unknown = isinstance(item, network.Refused) and item.reason is Reason.SESSION_UNKNOWN
    wished = isinstance(action, wiring.Leave) and action.client == index and was.phase is Phase.CONNECTED
    if was.phase is not Phase.CONNECTED:
        return
    yield Claim(
        CONDUCT.name,
        "a session is left for an unknown one, by the application's wish, and for nothing else",
        lambda: (now.session != was.session) == (unknown or wished),
    )
    if now.session == was.session:
        return
    yield Claim(
        CONDUCT.name,
        "a session that is left is over, and the application knows",
        lambda: (
            now.phase is Phase.MUST_INITIALIZE
            and now.session == ""
            and now.streams == ()
            and now.told[len(was.told) :] == (*_losses(was.streams), Told(News.SESSION_LOST))
        ),
    )


def _of_reading(was: Client, now: Client, stream: ClientStream, item: Item) -> Iterator[Claim]:
    match item:
        case network.Refused(reason) if reason is not Reason.SESSION_UNKNOWN:
            yield Claim(
                CONDUCT.name,
                "a refusal costs the stream, and the application knows",
                lambda: find_by_handle(now, stream.handle) == () and now.told == (*was.told, *_losses((stream,))),
            )
        case network.Delivered(_, final):
            yield Claim(
                CONDUCT.name,
                "an answered call is over",
                lambda: not final or (find_by_handle(now, stream.handle) == () and now.told == was.told),
            )
        case _:
            pass


def _losses(streams: tuple[ClientStream, ...]) -> tuple[Told, ...]:
    """What the application is told when these are given up."""
    return tuple(
        Told(News.OUTCOME_UNKNOWN if stream.kind is StreamKind.REQUEST else News.GAP, stream.handle)
        for stream in streams
    )


def _sent(before: System, after: System, index: int) -> tuple[Exchange, ...]:
    """The exchanges that a client began with this action."""
    return tuple(each for each in after.exchanges if each.connection > before.connections and each.client == index)


def _item_read(before: System, action: Action, index: int) -> Item:
    """What a client reads with this action on a connection of a stream of its."""
    return next((item for _, item in _read_on(before, action, index)), Nothing())


def _read_on(before: System, action: Action, index: int) -> Iterator[tuple[ClientStream, Item]]:
    if not isinstance(action, wiring.Read):
        return
    for exchange in before.exchanges:
        if (
            exchange.connection == action.connection
            and exchange.client == index
            and clients.reads(before.clients[index], action.connection)
        ):
            for stream in find_by_connection(before.clients[index], action.connection):
                yield stream, wiring._next_item(before, exchange)[0]


# A client with two streams: what the end-to-end shapes, which follow one, do not show

_NAME, _MINE, _OTHER = "S1", 21, 22


def obligations() -> Iterator[Obligation]:
    """Everything that a client can do about one stream or read on it, beside another."""
    mine = Cursor(Presence.PRESENT, _NAME, SUBJECT, 0)
    items: dict[str, Exchange] = {
        "the end": Exchange(_MINE, 0, Request(Verb.CALL), trailer=network.Ended()),
        "a reset": Exchange(_MINE, 0, Request(Verb.CALL), trailer=network.Aborted()),
        "resumption-required": Exchange(_MINE, 0, Request(Verb.CALL), trailer=network.ResumptionRequired()),
        "its priming": Exchange(_MINE, 0, Request(Verb.CALL), greeting=network.Primed(mine)),
        "its position": Exchange(_MINE, 0, Request(Verb.RESUME), greeting=network.Positioned(mine)),
        "a refusal": Exchange(_MINE, 0, Request(Verb.RESUME), header=network.Refused(Reason.CURSOR_AHEAD)),
        "an event": Exchange(_MINE, 0, Request(Verb.CALL), session=_NAME, stream=SUBJECT),
    }
    about = "a client with two streams"
    for name, exchange in items.items():
        yield Obligation(f"{about} | the client reads {name}", partial(_run, exchange, wiring.Read(_MINE)))
    some = items["the end"]
    for action in (wiring.Reconnect(0, 1), wiring.GiveUp(0, 1), wiring.NoticeCut(_MINE)):
        yield Obligation(f"{about} | {type(action).__name__}", partial(_run, some, action))


def _run(exchange: Exchange, action: Action) -> Outcome:
    cursors = [Cursor(Presence.PRESENT, _NAME, number, shapes.number(f"cursor{number}")) for number in (SUBJECT, OTHER)]
    connection = 0 if isinstance(action, wiring.GiveUp) else _MINE
    streams = (
        ClientStream(1, StreamKind.REQUEST, connection, cursors[0], shapes.number("attempts")),
        ClientStream(2, StreamKind.REQUEST, _OTHER, cursors[1], shapes.number("attempts.other")),
    )
    client = Client(shapes.number("limit"), 0, Phase.CONNECTED, _NAME, 0, streams, handles=2)
    seq = shapes.number("seq")
    shapes.assume(seq > cursors[0].seq)
    if exchange.stream:
        exchange = evolve(exchange, taken=cursors[0].seq, sent=seq)
    if isinstance(exchange.greeting, network.Primed | network.Positioned):
        greeting = type(exchange.greeting)(cursors[0])
        exchange = evolve(exchange, greeting=greeting)
    exchange = evolve(exchange, delivered=True, reachable=not isinstance(action, wiring.NoticeCut))
    event = wiring.Emission(_NAME, SUBJECT, seq, shapes.truth("final"))
    before = System(Server(), (client,), (exchange,), connections=30, history=(event,))
    after = wiring.perform(before, action)
    return Outcome(stated(claims(before, action, after)), (after,), action)
