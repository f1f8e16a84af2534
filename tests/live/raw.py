"""A raw client for tests of the reference server: it reads an answer only when a test asks for the next thing.

A reader that does not ask really stops: with ``receive_buffer`` small, the server's transport soon takes nothing more.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from attrs import define, evolve, field, frozen

from reattach.live.serve import Running, ServeOptions, serving
from reattach.live.server.settings import Settings
from reattach.live.sse import CommentLine, Decoder, Event
from reattach.live.wire import Cut, Endpoint, Exchange, Head, exchange, parse_url
from reattach.machine.policy import SHORT, Policy
from reattach.machine.session import Session

BOUND = 10
"""Seconds after which an observation that a test waits for is overdue. A bound, never an expectation."""
PATIENT = evolve(SHORT, window_ms=60_000, stall_ms=30_000, absence_ms=60_000, heartbeat_ms=30_000)
"""A small window, and budgets that no test reaches."""
_open: list[Exchange] = []


@asynccontextmanager
async def server(policy: Policy = PATIENT, **settings: Any) -> AsyncIterator[Running]:
    """The reference server in this event loop; whatever tests leave open is cut before it ends."""
    async with serving(ServeOptions(settings=Settings(policy=policy, **settings))) as running:
        try:
            yield running
        finally:
            while _open:
                _open.pop().close(Cut.RESET)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something to be so."""
    async with asyncio.timeout(BOUND):
        while not condition():
            await asyncio.sleep(0.002)


@define(eq=False)
class Answer:
    """The answer to one request."""

    head: Head
    exchange: Exchange
    _decoder: Decoder = field(init=False, factory=Decoder)
    _items: list[Event | CommentLine] = field(init=False, factory=list)

    @property
    def status(self) -> int:
        return self.head.status

    async def body(self) -> bytes:
        """The whole body."""
        body = b""
        async with asyncio.timeout(BOUND):
            while (piece := await self.exchange.read()) is not None:
                body += piece
        return body

    async def json(self) -> Any:
        return json.loads(await self.body())

    async def refusal(self) -> tuple[int, Any]:
        """The status and the reason of a refusal."""
        assert self.head.media_type == "application/json"
        return self.status, (await self.json())["error"]["data"]["reason"]

    async def item(self) -> Event | CommentLine | None:
        """The next block or comment of an event stream; None at its end."""
        assert (self.status, self.head.media_type) == (200, "text/event-stream"), self.status
        async with asyncio.timeout(BOUND):
            while not self._items:
                piece = await self.exchange.read()
                if piece is None:
                    return None
                self._items.extend(self._decoder.feed(piece))
        return self._items.pop(0)

    async def event(self) -> Event:
        """The next block that is not a comment."""
        while isinstance(item := await self.item(), CommentLine):
            pass
        assert item is not None, "the stream ended"
        return item

    async def comment(self) -> str:
        """The next comment; events before it are skipped."""
        while isinstance(item := await self.item(), Event):
            pass
        assert item is not None, "the stream ended"
        return item.text

    async def events(self, count: int) -> list[Event]:
        """The next blocks that are not comments."""
        return [await self.event() for _ in range(count)]

    async def rest(self) -> list[Event]:
        """All blocks up to the clean end."""
        found = []
        while (item := await self.item()) is not None:
            if isinstance(item, Event):
                found.append(item)
        return found

    def cut(self, how: Cut = Cut.RESET) -> None:
        self.exchange.close(how)


@frozen
class Client:
    """A client of one session."""

    endpoint: Endpoint
    session: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    async def send(
        self,
        method: str,
        body: Any = None,
        *,
        cursors: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
        receive_buffer: int | None = None,
    ) -> Answer:
        """Send a request and wait for the head of its answer. ``headers`` replace those of the same name."""
        accept = "text/event-stream" if method == "GET" else "application/json, text/event-stream"
        fields = {"Accept": accept} | ({"Content-Type": "application/json"} if method == "POST" else {})
        if self.session is not None:
            fields["Mcp-Session-Id"] = self.session
        fields |= dict(self.headers) | dict(headers or {})
        sent = [(name, value) for name, value in fields.items() if value != ""]
        sent += [("Last-Event-ID", cursor) for cursor in cursors]
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        async with asyncio.timeout(BOUND):
            made = await exchange(self.endpoint, method, sent, data, receive_buffer=receive_buffer)
            _open.append(made)
            return Answer(await made.head(), made)

    async def get(self, *cursors: str, **options: Any) -> Answer:
        return await self.send("GET", cursors=cursors, **options)

    async def request(self, method: str, params: Any = None, identifier: Any = 7, **options: Any) -> Answer:
        return await self.send("POST", message(method, params, identifier), **options)

    async def call(self, tool: str, identifier: Any = 7, *, receive_buffer: int | None = None, **given: Any) -> Answer:
        params = {"name": tool, "arguments": given}
        return await self.request("tools/call", params, identifier, receive_buffer=receive_buffer)

    async def notify(self, method: str, params: Any = None) -> Answer:
        return await self.send("POST", message(method, params, None))


def message(method: str, params: Any, identifier: Any) -> dict[str, Any]:
    made = {"jsonrpc": "2.0", "method": method}
    if identifier is not None:
        made["id"] = identifier
    if params is not None:
        made["params"] = params
    return made


def initialize_params(revision: str, capabilities: Any = None) -> dict[str, Any]:
    return {
        "protocolVersion": revision,
        "capabilities": capabilities or {},
        "clientInfo": {"name": "test", "version": "1"},
    }


async def connect(
    running: Running,
    revision: str = "2025-11-25",
    capabilities: Any = None,
    headers: Mapping[str, str] | None = None,
) -> Client:
    """Open a session."""
    client = Client(parse_url(running.url), headers=tuple((headers or {}).items()))
    answer = await client.request("initialize", initialize_params(revision, capabilities), 1)
    assert answer.status == 200
    assert (await answer.json())["result"]["protocolVersion"] == revision
    opened = evolve(client, session=answer.head.get("mcp-session-id"))
    assert (await opened.notify("notifications/initialized")).status == 202
    return opened


def session_of(running: Running, client: Client) -> Session | None:
    """The machine's session behind a client."""
    assert client.session is not None
    return running.endpoint.host.session(client.session)


def numbers(events: Sequence[Event]) -> list[int | str]:
    """What each event says: the number of a log message, ``result`` or ``error`` of a response, ``bare`` if nothing."""
    said: list[int | str] = []
    for event in events:
        if not event.data:
            said.append("bare")
            continue
        payload = json.loads(event.data)
        if payload.get("method") == "notifications/message":
            said.append(payload["params"]["data"]["n"])
        else:
            said.append(next(key for key in ("result", "error", "method") if key in payload))
    return said


def last_id(events: Sequence[Event]) -> str:
    """The cursor after these events."""
    return [event.id for event in events if event.id is not None][-1]


def at_seq(identifier: str, seq: int) -> str:
    """The same event id with another seq."""
    tag, stream, _ = identifier.split(".")
    return f"{tag}.{stream}.{seq}"
