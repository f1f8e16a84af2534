"""The machine's client beside a real one: it is told what came, and asked what the real one should have done.

It is driven by the real one's requests, so that both have the same connections, and by what was sent on them. What the
real one had taken when it acted is not known from the wire alone: frames that were on their way when a connection broke
may never have reached it. So of each stream every cursor is kept that the machine's client has had, with the frame that
gave it, and the judges say which of them the real one can have had.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from attrs import define, evolve, field, frozen

from reattach.machine import client as machine
from reattach.machine.client import ClientStream, News
from reattach.machine.cursor import Cursor, Presence
from reattach.machine.network import Aborted, Delivered, Ended, Initialized, Item, Positioned
from reattach.machine.session import StreamKind
from reattach.oracle.clients.reading import cursor_of, is_answer, item_of_comment, item_of_status, items_of
from reattach.oracle.clients.said import Said
from reattach.oracle.judges.sessions import is_visible
from reattach.oracle.message import message_key, request_ids
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Exited,
    Frame,
    Json,
    Party,
    Printed,
    Request,
    Response,
)
from reattach.oracle.record import Seen

NO_ORDER: Mapping[str, str] = MappingProxyType({})
"""Nothing is known of which calls wait for which."""
ATTEMPTS_MOST = 20
"""Resumptions without an event that was applied; a client that makes more is taken to have no bound (CLI-11)."""
MEMORY = 1_000_000
"""How far back the machine's client knows events again, in seqs: over any run of the bench."""


@define(eq=False)
class Exchange:
    """An HTTP exchange."""

    asked: Seen
    request: Request
    stream: "Stream | None" = None
    answer: Seen | None = None
    status: int = 0
    end: Seen | None = None
    by: Party | None = None
    """Who ended it."""
    greeted: bool = False
    """Whether an event has come on it."""
    misplaced: Seen | None = None
    """Where a position other than the client's cursor was stated."""

    @property
    def cursor(self) -> str | None:
        """Its ``Last-Event-ID``, if it is a resumption."""
        return self.request.cursors[0] if self.request.cursors else None

    @property
    def interrupted(self) -> bool:
        """Whether it was ended from the other side."""
        return self.by in (Party.SERVER, Party.NETWORK)


@frozen
class Sent:
    """A message, or a cursor alone, that was sent to the client."""

    seen: Seen
    exchange: Exchange
    id: str
    """Empty if it had none."""
    key: str
    """Empty if it is a cursor alone."""
    final: bool = False
    read: bool = True
    """Whether the machine's client read the connection at that time."""
    resumed: Exchange | None = None
    """The exchange by which its stream had been resumed elsewhere before."""


@frozen
class Resumption:
    """A request of the client's to come back to a stream."""

    exchange: Exchange
    before: ClientStream | None
    """The stream as the machine's client had it; None if that had done with it."""
    past: tuple[Sent, ...]
    """What had been sent on the stream."""


@define(eq=False)
class Stream:
    """A stream, as opened by the client."""

    handle: int
    kind: StreamKind
    opener: Exchange
    label: str = ""
    asked: str | None = None
    """The JSON-RPC id, as text, of its request."""
    exchanges: list[Exchange] = field(factory=list)
    sent: list[Sent] = field(factory=list)
    resumptions: list[Resumption] = field(factory=list)

    @property
    def answered(self) -> Sent | None:
        """Its response, if that was sent."""
        return next((each for each in self.sent if each.final), None)

    @property
    def is_call(self) -> bool:
        """Whether it is of a tool's call."""
        return self.opener.request.rpc_method == "tools/call"

    @property
    def has_ids(self) -> bool:
        """Whether anything on it had an id that a header can carry."""
        return any(is_visible(each.id) for each in self.sent)

    @property
    def interruptions(self) -> list[Exchange]:
        """Its connections that were ended before its response was sent on them."""
        over = {id(each.exchange) for each in self.sent if each.final}
        return [each for each in self.exchanges if each.interrupted and id(each) not in over]


@frozen
class Told:
    """What the machine's client told its application, and upon what."""

    news: News
    stream: Stream | None
    upon: Seen


@define(eq=False)
class Beside:
    """One run of a client program against one script."""

    client: machine.Client = field(
        factory=lambda: machine.Client(attempts_limit=ATTEMPTS_MOST, memory=MEMORY, longest_wait_ms=2**62)
    )
    after: Mapping[str, str] = NO_ORDER
    """By label of a call, that of the call whose end its program waits for before it makes it."""
    seen: list[Seen] = field(factory=list)
    exchanges: dict[int, Exchange] = field(factory=dict)
    streams: dict[int, Stream] = field(factory=dict)
    """By the machine's number."""
    said: Said = field(factory=Said)
    speaks: bool = False
    """Whether the program follows the contract as far as calls go, in this run or in another."""
    applies: bool = False
    """Whether it prints what it applied, in this run or in another."""
    told: list[Told] = field(factory=list)
    exited: Seen | None = None
    left: Seen | None = None
    """The client's DELETE."""
    _given: dict[str, Stream] = field(factory=dict)
    """By id, the stream that it was given on first."""

    def take(self, seen: Seen) -> None:
        """Enter the next observation."""
        self.seen.append(seen)
        match seen.observation:
            case Request() as request:
                self._request(seen, request)
            case Printed() as printed:
                self.said.take(seen, printed)
                self.speaks = self.speaks or self.said.speaks
                self.applies = self.applies or bool(self.said.applied)
            case Exited():
                self.exited = seen
            case Response() | Body() | Frame() | Comment() | Closed() as other:
                exchange = self.exchanges.get(other.connection)
                if exchange is not None and exchange.end is None:
                    self._answer(seen, exchange, other)
            case _:
                pass

    @property
    def ended_by_itself(self) -> bool:
        """Whether the program came to its end within its time."""
        return (
            self.exited is not None
            and isinstance(self.exited.observation, Exited)
            and (self.exited.observation.status is not None)
        )

    @property
    def calls(self) -> list[Stream]:
        """The streams of tools' calls."""
        return [stream for stream in self.streams.values() if stream.is_call]

    @property
    def resumptions(self) -> list[Resumption]:
        """All resumptions, in order."""
        all_ = [each for stream in self.streams.values() for each in stream.resumptions]
        return sorted(all_, key=lambda each: each.exchange.asked.index)

    def exchange_of(self, seen: Seen) -> Exchange | None:
        """The exchange that an observation is of."""
        return self.exchanges.get(seen.observation.connection)

    # Requests

    def _request(self, seen: Seen, request: Request) -> None:
        exchange = self.exchanges[request.connection] = Exchange(seen, request)
        asked = next(iter(request_ids(request.payload)), None)
        if request.rpc_method == "initialize":
            self.client, _ = machine.initialize(self.client, request.connection)
        elif request.method == "DELETE":
            self.left = seen
        elif exchange.cursor is not None and asked is None:
            self._resume(exchange, exchange.cursor)
        elif asked is not None or request.method == "GET":
            kind = StreamKind.STANDALONE if asked is None else StreamKind.REQUEST
            self.client, opened = machine.open_stream(self.client, request.connection, kind)
            stream = Stream(opened.handle, kind, exchange, label_of(request.payload), asked)
            self.streams[opened.handle] = stream
            self._join(exchange, stream)

    def _resume(self, exchange: Exchange, cursor: str) -> None:
        stream = self._given.get(cursor) or self._by_name(cursor)
        if stream is None:
            return
        before = next(iter(machine.find_by_handle(self.client, stream.handle)), None)
        stream.resumptions.append(Resumption(exchange, before, tuple(stream.sent)))
        self._join(exchange, stream)
        if before is not None:
            # From here on it stands where the real one says that it stands; whether it should is CLI-1's question.
            stands = evolve(before, cursor=cursor_of(cursor))
            self.client, _ = machine.resume(self.client, stands, exchange.request.connection)

    def _by_name(self, identifier: str) -> Stream | None:
        """The stream that an id names, though it was never sent whole."""
        cursor = cursor_of(identifier)
        named = (stream for each, stream in self._given.items() if _same_stream(cursor, cursor_of(each)))
        return next(named, None)

    def _join(self, exchange: Exchange, stream: Stream) -> None:
        exchange.stream = stream
        stream.exchanges.append(exchange)

    # Answers

    def _answer(self, seen: Seen, exchange: Exchange, other: Response | Body | Frame | Comment | Closed) -> None:
        items: Iterable[Item] = ()
        match other:
            case Response():
                exchange.answer, exchange.status = seen, other.status
                items = _items_of_response(exchange.request, other)
            case Body():
                items = self._items_of_body(exchange, other)
            case Frame():
                asked = exchange.stream.asked if exchange.stream is not None else None
                items = items_of(other, asked=asked, greeting=self._is_greeting(exchange))
                exchange.greeted = True
            case Comment():
                item = item_of_comment(other.text)
                items = () if item is None else (item,)
            case Closed():
                exchange.end, exchange.by = seen, other.by
                items = (Ended() if other.clean else Aborted(),)
        for item in items:
            self._receive(seen, exchange, item)

    def _is_greeting(self, exchange: Exchange) -> bool:
        return exchange.cursor is not None and not exchange.greeted

    def _items_of_body(self, exchange: Exchange, body: Body) -> tuple[Item, ...]:
        asked = exchange.stream.asked if exchange.stream is not None else None
        answers = 200 <= exchange.status < 300 and is_answer(body.payload, asked)
        return (Delivered(cursor_of(None), True),) if answers else ()

    def _receive(self, seen: Seen, exchange: Exchange, item: Item) -> None:
        connection, stream = exchange.request.connection, exchange.stream
        reads = machine.reads(self.client, connection)
        if stream is not None:
            self._note(seen, exchange, stream, item, reads)
        before = self.client
        self.client = machine.receive(self.client, connection, item, seen.at).client
        if isinstance(item, Positioned) and reads and stream is not None and not self._knows(stream):
            exchange.misplaced = seen
        for told in self.client.told[len(before.told) :]:
            self.told.append(Told(told.news, self.streams.get(told.handle), seen))

    def _knows(self, stream: Stream) -> bool:
        return bool(machine.find_by_handle(self.client, stream.handle))

    def _note(self, seen: Seen, exchange: Exchange, stream: Stream, item: Item, reads: bool) -> None:
        observation = seen.observation
        if isinstance(observation, Frame) and isinstance(item, Delivered):
            key, identifier = message_key(observation.payload), observation.id or ""
        elif isinstance(observation, Body) and isinstance(item, Delivered):
            key, identifier = message_key(observation.payload), ""
        elif isinstance(observation, Frame) and observation.id and not isinstance(item, Positioned):
            key, identifier = "", observation.id
        else:
            return
        if identifier:
            self._given.setdefault(identifier, stream)
        later = [each.exchange for each in stream.resumptions if each.exchange.asked.index > exchange.asked.index]
        final = isinstance(item, Delivered) and item.final
        stream.sent.append(Sent(seen, exchange, identifier, key, final, reads, later[0] if later else None))


def label_of(payload: Json) -> str:
    """The label of the call that a ``tools/call`` makes, as the bench asks for it: among its arguments."""
    params = payload.get("params") if isinstance(payload, Mapping) else None
    arguments = params.get("arguments") if isinstance(params, Mapping) else None
    label = arguments.get("label") if isinstance(arguments, Mapping) else None
    return label if isinstance(label, str) else ""


def _items_of_response(request: Request, response: Response) -> tuple[Item, ...]:
    if not 200 <= response.status < 300:
        return (item_of_status(response.status),)
    if request.rpc_method == "initialize" and response.session is not None:
        return (Initialized(response.session),)
    return ()


def _same_stream(one: Cursor, other: Cursor) -> bool:
    return one.presence is Presence.PRESENT and (one.tag, one.stream) == (other.tag, other.stream)
