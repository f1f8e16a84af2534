"""The machine's client, over HTTP: a client program that keeps the clauses about clients, and follows the contract.

Everything it remembers and decides is the machine's (``machine/client.py``); this makes requests of the machine's
requests, items of what comes back, and lines of what the application gets. It sends each call once, whatever happens.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence

from attrs import define, field

import reattach
from reattach.live.clients.scripts import Call
from reattach.live.recorder import monotonic_ms, observation_of
from reattach.live.sse import BlockTooLargeError, CommentLine, Decoder, Event
from reattach.live.wire import Cut, Endpoint, Exchange, Head, Headers, WireError, exchange, parse_url
from reattach.machine import client as machine
from reattach.machine.client import ClientStream, News, Told
from reattach.machine.cursor import ABSENT, Cursor, Presence, format_event_id
from reattach.machine.network import Aborted, Attached, Delivered, Ended, Initialized, Item, Request, Verb
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.machine.session import StreamKind
from reattach.oracle.clients.reading import is_answer, item_of_comment, item_of_status, items_of
from reattach.oracle.observation import Frame, Json

MEMORY = 10_000
"""How far back, in seqs, it knows an event again that it has applied."""
END_MS = 500
"""How long a connection that is not read any more is left to end by itself."""
_STREAM = "text/event-stream"

Say = Callable[[Mapping[str, Json]], None]
"""Prints a line of the contract."""


@define(eq=False)
class HttpClient:
    """One client of one server."""

    url: str
    calls: Sequence[Call]
    say: Say
    memory = MEMORY
    endpoint: Endpoint = field(init=False)
    state: machine.Client = field(init=False)
    """All that it remembers."""
    _labels: dict[int, str] = field(init=False, factory=dict)
    """The calls, by the machine's number for their streams."""
    _asked: dict[int, str] = field(init=False, factory=dict)
    """The JSON-RPC ids, as text, of the requests behind streams."""
    _over: dict[str, asyncio.Event] = field(init=False, factory=dict)
    """Set when a call, by its label, is answered or failed."""
    _connections: int = field(init=False, default=0)
    _ids: int = field(init=False, default=0)
    _readings: "dict[int, tuple[asyncio.Task[None], asyncio.Future[None]]]" = field(init=False, factory=dict)
    """By connection that is read: what reads it, and what is set when it need not be waited for any more."""
    _tasks: set["asyncio.Task[None]"] = field(init=False, factory=set)
    _renewing: asyncio.Lock = field(init=False, factory=asyncio.Lock)

    def __attrs_post_init__(self) -> None:
        self.endpoint = parse_url(self.url)
        self.state = machine.Client(memory=self.memory)
        self._over = {call.label: asyncio.Event() for call in self.calls}

    async def run(self) -> int:
        """Connect, make the calls, and say goodbye; the exit status."""
        self.say({"tells": ["gap", "session-lost"]})
        try:
            await self.renew()
            async with asyncio.TaskGroup() as group:
                for call in self.calls:
                    group.create_task(self._call(call))
            await self._leave()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        return 0

    # Sessions

    async def renew(self) -> None:
        """Have a session, and listen: initialize once, however many find out that it is needed."""
        async with self._renewing:
            if self.connected:
                return
            connection = self.number()
            self.become(machine.initialize(self.state, connection)[0])
            await self._initialize(connection)
            if self.connected:
                await self.notify("notifications/initialized")
                self._start(self._listen())

    @property
    def connected(self) -> bool:
        """Whether it has a session."""
        return self.state.phase is machine.Phase.CONNECTED

    async def _initialize(self, connection: int) -> None:
        params: Mapping[str, Json] = {
            "protocolVersion": NEWEST_WITH_RESUMPTION.value,
            "capabilities": {},
            "clientInfo": {"name": "reattach-client", "version": reattach.__version__},
        }
        head = await self._exchanged("POST", None, message=self._request("initialize", params))
        if head is None:
            self.take(connection, Aborted())
            return
        session = head.get("mcp-session-id")
        self.take(connection, Initialized(session) if head.status == 200 and session else item_of_status(head.status))

    async def _listen(self) -> None:
        connection = self.number()
        grown, asked = machine.open_stream(self.state, connection, StreamKind.STANDALONE)
        self.become(grown)
        await self._follow(asked, connection)

    async def _leave(self) -> None:
        """Say goodbye. There is nothing pending then, and nothing of it to be told."""
        _, asked = machine.leave(self.state)
        if asked.session:
            await self._exchanged("DELETE", asked.session)

    # Calls

    async def _call(self, call: Call) -> None:
        if call.after in self._over:
            await self._over[call.after].wait()
        await self.renew()
        if self.connected:
            await self.make(call)
        else:
            self.say({"error": "there is no session", "call": call.label})
            self._end(call.label)

    async def make(self, call: Call) -> None:
        """Make a call, and follow its stream until it is answered or given up."""
        params: Mapping[str, Json] = {"name": call.tool, "arguments": call.arguments}
        message = self._request("tools/call", params)
        connection = self.number()
        grown, asked = machine.open_stream(self.state, connection, StreamKind.REQUEST)
        self._labels[asked.handle], self._asked[asked.handle] = call.label, str(message["id"])
        self.become(grown)
        await self._follow(asked, connection, message)

    async def _follow(self, asked: Request, connection: int, message: Mapping[str, Json] | None = None) -> None:
        """Read a stream from connection to connection until it is over."""
        await self.read(asked, connection, message)
        while (stream := self.stream(asked.handle)) is not None:
            connection = self.number()
            followed, again = machine.follow(self.state, stream, connection, monotonic_ms())
            if again is not None:
                await self.resume(followed, again, connection)
            elif followed is not self.state:
                self.become(followed)
            else:
                await asyncio.sleep(self.wait_ms(stream) / 1000)

    def wait_ms(self, stream: ClientStream) -> int:
        """How long until the stream may be resumed."""
        return max(stream.ready - monotonic_ms(), 1)

    async def resume(self, followed: machine.Client, asked: Request, connection: int) -> None:
        """Send a resumption, and read what it brings."""
        self.become(followed)
        await self.read(asked, connection)

    # One exchange

    async def read(self, asked: Request, connection: int, message: Mapping[str, Json] | None = None) -> None:
        """Send the machine's request on a connection, and read its answer for as long as the machine does."""
        reading = asyncio.create_task(self._exchange(asked, connection, message))
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        reading.add_done_callback(lambda _: _set(over))
        self._readings[connection] = (reading, over)
        self._keep(reading)
        await over
        if reading.done() and not reading.cancelled():
            reading.result()

    def reads_on(self, connection: int) -> bool:
        """Whether the connection is still of interest."""
        return machine.reads(self.state, connection)

    def let_go(self, connection: int) -> None:
        """The connection is not read any more: what still comes is ignored, and it is cut if its end does not come."""
        reading, over = self._readings.pop(connection)
        asyncio.get_running_loop().call_later(END_MS / 1000, reading.cancel)
        _set(over)

    async def _exchange(self, asked: Request, connection: int, message: Mapping[str, Json] | None) -> None:
        sent: Exchange | None = None
        try:
            sent = await self.request(asked, message)
            head = await sent.head()
            if head.status == 200 and head.media_type == _STREAM:
                self.take(connection, Attached(), asked)
                await self._stream(sent, asked, connection)
                self.take(connection, Ended(), asked)
            elif 200 <= head.status < 300:
                self._take_body(await _whole(sent), asked, connection)
            else:
                self.take(connection, item_of_status(head.status), asked)
        except (WireError, BlockTooLargeError):
            self.take(connection, Aborted(), asked)
        finally:
            if sent is not None:
                sent.close(Cut.RESET)

    async def request(self, asked: Request, message: Mapping[str, Json] | None) -> Exchange:
        """The machine's request, as HTTP. Raises WireError."""
        method = "POST" if asked.verb is Verb.CALL else "GET"
        return await self.send(method, asked.session, cursor=asked.cursor, message=message)

    async def _stream(self, sent: Exchange, asked: Request, connection: int) -> None:
        decoder, greeting = Decoder(), asked.verb is Verb.RESUME
        try:
            while (piece := await sent.read()) is not None:
                for event in decoder.feed(piece):
                    for item, payload in self.items(event, asked, greeting):
                        self.take(connection, item, asked, payload)
                    greeting = greeting and isinstance(event, CommentLine)
        except WireError:
            self.broken_off(decoder, asked, connection)
            raise

    def broken_off(self, decoder: Decoder, asked: Request, connection: int) -> None:
        """The connection broke: what there is of an event that is not complete counts for nothing."""

    def items(self, event: Event | CommentLine, asked: Request, greeting: bool) -> list[tuple[Item, Json]]:
        """What one thing of an event stream is to the machine, each with the message that it carries."""
        if isinstance(event, CommentLine):
            item = item_of_comment(event.text)
            return [] if item is None else [(item, None)]
        frame = observation_of(event, 0, 0)
        assert isinstance(frame, Frame)
        items = items_of(frame, asked=self._asked.get(asked.handle), greeting=greeting)
        return [(item, frame.payload if isinstance(item, Delivered) else None) for item in items]

    def _take_body(self, body: bytes, asked: Request, connection: int) -> None:
        payload: Json = None
        with contextlib.suppress(ValueError):
            payload = json.loads(body)
        if is_answer(payload, self._asked.get(asked.handle)):
            self.take(connection, Delivered(ABSENT, True), asked, payload)
        else:
            self.take(connection, Aborted(), asked)

    # The machine, and the application

    def take(self, connection: int, item: Item, asked: Request | None = None, payload: Json = None) -> None:
        """Give the machine what came; apply it if the machine does."""
        received = machine.receive(self.state, connection, item, monotonic_ms())
        if received.applied and asked is not None:
            self.apply(asked.handle, payload)
        self.become(received.client)

    def apply(self, handle: int, payload: Json) -> None:
        """Hand a message to the application."""
        label = self._labels.get(handle, "")
        if is_answer(payload, self._asked.get(handle)):
            if isinstance(payload, Mapping) and "result" in payload:
                self.say({"result": payload["result"], "call": label})
            else:
                self.say({"error": json.dumps(payload), "call": label})
            self._end(label)
        elif label:
            self.say({"applied": payload, "call": label})
        else:
            self.say({"applied": payload})

    def become(self, client: machine.Client) -> None:
        """The machine's next state; the application is told what that says."""
        news = client.told[len(self.state.told) :]
        self.state = client
        for told in news:
            self.tell(told)
        for connection in [each for each in self._readings if not self.reads_on(each)]:
            self.let_go(connection)

    def tell(self, told: Told) -> None:
        """Tell the application (CLI-9)."""
        label = self._labels.get(told.handle, "")
        match told.news:
            case News.OUTCOME_UNKNOWN if label:
                self.say({"error": "outcome unknown: its stream cannot be followed", "call": label})
                self._end(label)
            case News.GAP:
                self.say({"event": "gap"})
            case News.SESSION_LOST:
                self.say({"event": "session-lost"})
                self._start(self.renew())

    def _end(self, label: str) -> None:
        if label in self._over:
            self._over[label].set()

    def stream(self, handle: int) -> ClientStream | None:
        """The stream with this number, if it is not over."""
        return next(iter(machine.find_by_handle(self.state, handle)), None)

    # Below

    async def send(
        self,
        method: str,
        session: str | None,
        *,
        cursor: Cursor | None = None,
        message: Mapping[str, Json] | None = None,
    ) -> Exchange:
        """Send one HTTP request. Raises WireError."""
        headers: Headers = [("Accept", _STREAM if method == "GET" else f"application/json, {_STREAM}")]
        body = b""
        if message is not None:
            body = json.dumps(message).encode()
            headers.append(("Content-Type", "application/json"))
        if session:
            headers += [("Mcp-Session-Id", session), ("MCP-Protocol-Version", NEWEST_WITH_RESUMPTION.value)]
        if cursor is not None and cursor.presence is Presence.PRESENT:
            headers.append(("Last-Event-ID", format_event_id(cursor.tag, cursor.stream, cursor.seq)))
        return await exchange(self.endpoint, method, headers, body)

    async def notify(self, method: str, params: Mapping[str, Json] | None = None) -> None:
        """POST a notification."""
        message: dict[str, Json] = {"jsonrpc": "2.0", "method": method}
        await self._exchanged(
            "POST", self.state.session, message=message if params is None else message | {"params": params}
        )

    async def ask(self, cursor: Cursor) -> None:
        """GET what follows a cursor, and take no interest in it."""
        await self._exchanged("GET", self.state.session, cursor=cursor)

    async def _exchanged(
        self,
        method: str,
        session: str | None,
        *,
        cursor: Cursor | None = None,
        message: Mapping[str, Json] | None = None,
    ) -> Head | None:
        """The head of an answer whose body is of no interest; None if there is none."""
        sent: Exchange | None = None
        try:
            sent = await self.send(method, session, cursor=cursor, message=message)
            return await sent.head()
        except WireError:
            return None
        finally:
            if sent is not None:
                sent.close(Cut.CLOSE)

    def number(self) -> int:
        """The number of the next connection."""
        self._connections += 1
        return self._connections

    def _request(self, method: str, params: Mapping[str, Json]) -> dict[str, Json]:
        self._ids += 1
        return {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}

    def _start(self, work: Coroutine[object, object, None]) -> None:
        self._keep(asyncio.create_task(work))

    def _keep(self, task: "asyncio.Task[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _set(over: "asyncio.Future[None]") -> None:
    if not over.done():
        over.set_result(None)


async def _whole(sent: Exchange) -> bytes:
    body = b""
    while (piece := await sent.read()) is not None:
        body += piece
    return body
