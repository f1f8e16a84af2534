"""The server that follows a script: the reference server, with an act in between where a rule says so.

It stands between uvicorn and the reference server's endpoint, sees each request before and each block of an event
stream on its way out, and records both. What it does is done to the exchange, never to the machine, but for the two
acts that end a session. Times are the server's: a connection is over when this side has broken it off, and a request is
there when it has arrived, so that a wait between the two is never measured shorter than it was.
"""

import asyncio
import contextlib
import json
import re
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Mapping

from attrs import define, evolve, field
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reattach.live.clients.scripts import Act, Occasion, Rule, Script
from reattach.live.recorder import Recorder, observation_of
from reattach.live.serve import ServeOptions, serving
from reattach.live.server.app import CURSOR_HEADER, SESSION_HEADER, VERSION_HEADER, Endpoint, json_response
from reattach.live.server.delivery import EVENT_STREAM_HEADERS
from reattach.live.server.forms import Forms
from reattach.live.server.jsonrpc import REFUSED, RpcError, encode, failure, notification
from reattach.live.server.settings import Settings
from reattach.live.server.tools import LEVEL
from reattach.live.server.wire import STATE_KEY, Wire
from reattach.live.sse import CommentLine, Decoder, Event
from reattach.live.watch.heads import SECRETS, values
from reattach.machine.cursor import ABSENT, Cursor, Presence, format_event_id, parse_cursor
from reattach.machine.policy import Policy
from reattach.machine.transition import Terminate, WriteEvent
from reattach.oracle.clients.beside import label_of
from reattach.oracle.observation import Body, Closed, Json, Observation, Party, Request, Response

SETTLE_MS = 60
"""How long the client is left alone with what it was sent before something is done to the connection."""
BEYOND = 1_000_000_000
"""What is added to a seq to make an id that no event of the session has."""
ABSENCE_MS = 300_000
"""How long a session may be without its client, at least; longer if ``retry`` is."""

_ID_LINE = re.compile(rb"^id:[^\n]*\n", re.MULTILINE)


class _OverError(Exception):
    """The script has ended the exchange; the endpoint writes no more of it."""


@contextlib.asynccontextmanager
async def following(script: Script, recorder: Recorder, policy: Policy, credentials: set[str]) -> AsyncIterator[str]:
    """Serve a script on the loopback interface until the context is left; gives the URL.

    The credentials that the client sends are put into ``credentials``.
    """
    numbers = evolve(
        policy, retry_ms=script.retry_ms, absence_ms=max(policy.absence_ms, ABSENCE_MS, script.retry_ms + ABSENCE_MS)
    )
    # A path that no one else asks for: ports are given again, and clients of servers that are gone come back to them.
    options = ServeOptions(settings=Settings(policy=numbers, path=f"/{secrets.token_hex(4)}/mcp"))
    around = Scripted(script, recorder, credentials)
    async with serving(options, around.wrapping) as running:
        yield running.url


@define(eq=False)
class _Stream:
    """What was sent of one stream of one session."""

    label: str = ""
    """Of the call that it is the stream of."""
    first: bytes = b""
    """The id that came first."""
    last: bytes = b""
    """The block of the last message."""
    reader: "_Exchange | None" = None
    """The exchange that has it; it takes over from the one before (ATT-2)."""


@define(eq=False)
class _Kept:
    """An old connection that is kept open while its stream is to be resumed."""

    forms: Forms
    cursor: Cursor
    resumed: asyncio.Event = field(init=False, factory=asyncio.Event)
    over: asyncio.Event = field(init=False, factory=asyncio.Event)


@define(eq=False)
class Scripted:
    """An ASGI application around the reference server's endpoint."""

    script: Script
    recorder: Recorder
    credentials: set[str]
    """Those that the client has sent, as values of headers."""
    endpoint: Endpoint = field(init=False)
    _seen: "Counter[tuple[Occasion, str]]" = field(init=False, factory=Counter)
    _streams: dict[tuple[str, int], _Stream] = field(init=False, factory=dict)
    """By tag and number."""
    renumbered: dict[str, str] = field(init=False, factory=dict)
    """The ids that the endpoint does not know, and those that it gave the same events."""
    kept: "dict[tuple[str, int], _Kept]" = field(init=False, factory=dict)
    """By stream, the old connections that go on beside the endpoint."""

    def wrapping(self, endpoint: Endpoint) -> ASGIApp:
        """The application that follows the script around an endpoint."""
        self.endpoint = endpoint
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request as the script says."""
        if scope["type"] != "http" or scope["path"] != self.endpoint.settings.path or scope["method"] == "HEAD":
            await json_response(404, failure(None, RpcError(REFUSED, "there is nothing here")))(scope, receive, send)
            return
        try:
            body = await HttpRequest(scope, receive).body()
        except ClientDisconnect:
            return
        exchange = _Exchange(self, scope, send, body)
        try:
            with contextlib.suppress(_OverError):
                await exchange.answer(_given_again(body, receive))
            await exchange.linger()
        finally:
            exchange.close()

    def rule_for(self, occasion: Occasion | None, label: str) -> Rule | None:
        """The rule that is about this request; counts the request."""
        if occasion is None:
            return None
        self._seen[occasion, ""] += 1
        if label:
            self._seen[occasion, label] += 1
        for rule in self.script.rules:
            if rule.on is not occasion or (rule.label and rule.label != label):
                continue
            number = self._seen[occasion, rule.label]
            if rule.first <= number and (rule.times == 0 or number < rule.first + rule.times):
                return rule
        return None

    def stream(self, identifier: str) -> _Stream | None:
        """The stream that an id is of; None if the id is none."""
        cursor = parse_cursor((self.renumbered.get(identifier, identifier),))
        if cursor.presence is not Presence.PRESENT:
            return None
        return self._streams.setdefault((cursor.tag, cursor.stream), _Stream())


@define(eq=False)
class _Exchange:
    """One request and its answer, with what the script does to it."""

    scripted: Scripted
    scope: Scope
    send: Send
    body: bytes
    connection: int = field(init=False)
    request: HttpRequest = field(init=False)
    payload: Json = field(init=False, default=None)
    rule: Rule | None = field(init=False, default=None)
    stream: _Stream | None = field(init=False, default=None)
    _label: str = field(init=False, default="")
    _sent: int = field(init=False, default=0)
    """Messages."""
    _decoder: Decoder | None = field(init=False, default=None)
    _whole: bytes = field(init=False, default=b"")
    _closed: bool = field(init=False, default=False)
    _kept: _Kept | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.request = HttpRequest(self.scope)
        self.connection = self.scripted.recorder.connection()

    # The request

    async def answer(self, receive: Receive) -> None:
        """Record the request, and answer it or have it answered."""
        headers = self.request.headers
        for name in SECRETS:
            self.scripted.credentials.update(value.decode("latin-1") for value in values(self.scope["headers"], name))
        with contextlib.suppress(ValueError):
            self.payload = json.loads(self.body)
        message = self.payload if isinstance(self.payload, Mapping) else {}
        cursors = tuple(value.decode("latin-1") for key, value in self.scope["headers"] if key == CURSOR_HEADER)
        identifier, method = message.get("id"), message.get("method")
        self._record(
            Request(
                at=self._now(),
                connection=self.connection,
                method=self.request.method,
                session=headers.get(SESSION_HEADER),
                cursors=cursors,
                revision=headers.get(VERSION_HEADER),
                rpc_id=identifier if isinstance(identifier, str | int) else None,
                rpc_method=method if isinstance(method, str) else None,
                payload=self.payload,
            )
        )
        occasion = self._occasion(cursors, method)
        if len(cursors) == 1:
            self.stream = self.scripted.stream(cursors[0])
            if self.stream is not None:
                self._label, self.stream.reader = self.stream.label, self
        self.rule = self.scripted.rule_for(occasion, self._label)
        if occasion is Occasion.RESUME:
            await self._leave_old(cursors)
        if self.rule is None or not await self._answered(self.rule, receive):
            await self.scripted.endpoint(self._renamed(cursors), receive, self._send)

    def _occasion(self, cursors: tuple[str, ...], method: Json) -> Occasion | None:
        if method == "tools/call":
            self._label = label_of(self.payload)
            return Occasion.CALL
        if cursors:
            return Occasion.RESUME
        return Occasion.LISTEN if self.request.method == "GET" else None

    async def _answered(self, rule: Rule, receive: Receive) -> bool:
        """Whether an act of the script was the answer."""
        match rule.act:
            case Act.FORGET:
                self._terminate()
                return False
            case Act.REFUSE:
                said = failure(None, RpcError(REFUSED, "refused by the script", {"reason": "script"}))
                refusal = json_response(rule.status, said, allow="POST" if rule.status == 405 else None)
                await refusal(self.scope, receive, self._send)
                return True
            case Act.EMPTY:
                await self._send({"type": "http.response.start", "status": 200, "headers": EVENT_STREAM_HEADERS})
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
                return True
            case _:
                return False

    async def _leave_old(self, cursors: tuple[str, ...]) -> None:
        """Let the stream's old connection say its last words, if it was kept, before the new one says anything."""
        cursor = parse_cursor(cursors)
        kept = self.scripted.kept.pop((cursor.tag, cursor.stream), None)
        if kept is not None:
            kept.resumed.set()
            await kept.over.wait()

    def _renamed(self, cursors: tuple[str, ...]) -> Scope:
        """The request with the ids that the endpoint gave."""
        known = self.scripted.renumbered
        if not any(cursor in known for cursor in cursors):
            return self.scope
        named = [
            (key, known[value.decode("latin-1")].encode())
            if key == CURSOR_HEADER and value.decode("latin-1") in known
            else (key, value)
            for key, value in self.scope["headers"]
        ]
        return {**self.scope, "headers": named}

    def _terminate(self) -> None:
        if self.scripted.endpoint.host.session(self._name) is not None:
            self.scripted.endpoint.host.take(self._name, Terminate())

    # The answer

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begin(message)
            await self.send(message)
        elif self._decoder is None:
            self._whole += message.get("body", b"")
            if not message.get("more_body", False):
                self._record_body()
            await self.send(message)
        else:
            await self._send_block(message)

    def _begin(self, message: Message) -> None:
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in message["headers"]}
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media == "text/event-stream":
            self._decoder = Decoder()
        self._record(
            Response(
                at=self._now(),
                connection=self.connection,
                status=message["status"],
                content_type=media,
                session=headers.get(SESSION_HEADER),
            )
        )

    async def _send_block(self, message: Message) -> None:
        """A block of an event stream; the endpoint sends each by itself."""
        block, more = message.get("body", b""), message.get("more_body", False)
        if block and not self.scripted.script.ids:
            block = b"" if b"\ndata:\n" in block else _ID_LINE.sub(b"", block)
        elif block:
            block = self._noted(block)
        carries = _carries_message(block)
        if carries:
            await self._act_before(block)
        if block or not more:
            await self._write(block, more)
        if carries:
            self._sent += 1
        await self._act_after(block, carries)

    async def _write(self, block: bytes, more: bool = True) -> None:
        assert self._decoder is not None
        for item in self._decoder.feed(block):
            self._record_item(item)
        if not more:
            self._record_end(Party.SERVER, clean=True)
        await self.send({"type": "http.response.body", "body": block, "more_body": more})
        await self._wire.drained()

    def _noted(self, block: bytes) -> bytes:
        """Take note of a block of the endpoint's; another one, if the script states a wrong position."""
        identifier = _id_of(block)
        stream = self.scripted.stream(identifier) if identifier else None
        if stream is None:
            return block
        self.stream = stream
        stream.label = stream.label or self._label
        stream.first = stream.first or identifier.encode()
        act = self._act
        if act is Act.MISPLACE and not _carries_message(block):
            return block.replace(identifier.encode(), stream.first)
        return block

    async def _act_before(self, block: bytes) -> None:
        """What comes instead of a message."""
        if self.rule is None or self._sent != self.rule.after:
            return
        if self._act is Act.CUT_INSIDE:
            await self._write_half(block)
            await self._break_off()
        elif self._sent == 0:
            await self._act_on_connection()  # no priming has come, after which it would have been done

    async def _act_after(self, block: bytes, carries: bool) -> None:
        """What comes after a block: the message that makes the number full, or the greeting."""
        if self.stream is not None and not carries and block.startswith((b"id:", b":")):
            await self._send_again(self.stream)
        if carries and self.stream is not None:
            self.stream.last = block
        if self.rule is not None and self._sent == self.rule.after and (carries or (block and self.rule.after == 0)):
            await self._act_on_connection()

    async def _act_on_connection(self) -> None:
        match self._act:
            case Act.CUT:
                await self._break_off()
            case Act.END:
                await self._settle()
                await self._write(b"", more=False)
                raise _OverError
            case Act.EXPIRE:
                await self._settle()
                self._record_end(Party.SERVER, clean=False)
                self._terminate()
                await self._wire.gone.wait()
                raise _OverError
            case Act.TAKEOVER:
                await self._keep_open()

    async def _send_again(self, stream: _Stream) -> None:
        """The last message of the stream once more, as soon as the view has been greeted."""
        if self._act not in (Act.REPEAT, Act.RENUMBER) or not stream.last or self._sent:
            return
        block, identifier = stream.last, _id_of(stream.last)
        if self._act is Act.RENUMBER:
            another = _beyond(identifier)
            self.scripted.renumbered[another] = identifier
            block = block.replace(identifier.encode(), another.encode())
        self.rule = None
        await self._write(block)

    async def _write_half(self, block: bytes) -> None:
        head, _, _ = block.partition(b"data:")
        await self._write(block[: len(head) + (len(block) - len(head)) // 2])

    async def _keep_open(self) -> None:
        """Say that resumption is required, and go on with the connection apart from the endpoint (``linger``)."""
        cursor = parse_cursor((_id_of(self.stream.last),)) if self.stream is not None else ABSENT
        if cursor.presence is not Presence.PRESENT or self.scripted.endpoint.host.session(self._name) is None:
            return
        forms = self.scripted.endpoint.forms(self._name)
        self._kept = _Kept(forms, cursor)
        self.scripted.kept[cursor.tag, cursor.stream] = self._kept
        await self._settle()
        await self._write(forms.resumption_required(cursor.stream, cursor.seq, "stalled"))
        raise _OverError

    async def linger(self) -> None:
        """What a kept connection still does: one message when its stream has been resumed elsewhere, and the end."""
        kept = self._kept
        if kept is None:
            return
        gone, resumed = (asyncio.create_task(event.wait()) for event in (self._wire.gone, kept.resumed))
        try:
            await asyncio.wait({gone, resumed}, return_when=asyncio.FIRST_COMPLETED)
            if not self._wire.gone.is_set():
                data: Json = {"label": f"{self._label}/old", "n": 1, "padding": ""}
                late = encode(
                    notification("notifications/message", {"level": LEVEL, "logger": "reattach", "data": data})
                )
                block = kept.forms.block(WriteEvent(kept.cursor.stream, kept.cursor.seq + BEYOND, late))
                await self._write(block)
                await self._settle()
                await self._write(b"", more=False)
        finally:
            gone.cancel()
            resumed.cancel()
            kept.over.set()

    async def _break_off(self) -> None:
        await self._settle()
        self._record_end(Party.NETWORK, clean=False)
        self._wire.abort()
        await self._wire.gone.wait()
        raise _OverError

    async def _settle(self) -> None:
        """Leave the client alone with what it has; shorter if it goes."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_MS / 1000):
                await self._wire.gone.wait()

    def close(self) -> None:
        """The exchange is over, whoever ended it."""
        lives = self._name == "" or self.scripted.endpoint.host.session(self._name) is not None
        taken_over = self.stream is not None and self.stream.reader not in (None, self)
        self._record_end(Party.SERVER if taken_over or not lives else Party.CLIENT, clean=False)

    @property
    def _act(self) -> Act | None:
        return None if self.rule is None else self.rule.act

    @property
    def _name(self) -> str:
        """The session id of the request."""
        return self.request.headers.get(SESSION_HEADER, "")

    @property
    def _wire(self) -> Wire:
        wire: Wire = self.scope["state"][STATE_KEY]
        return wire

    # What is recorded

    def _now(self) -> int:
        return self.scripted.recorder.now()

    def _record(self, observation: Observation) -> None:
        self.scripted.recorder.record(observation, self.scripted.script.name)

    def _record_end(self, by: Party, *, clean: bool) -> None:
        if not self._closed:
            self._closed = True
            self._record(Closed(at=self._now(), connection=self.connection, by=by, clean=clean))

    def _record_item(self, item: Event | CommentLine) -> None:
        self._record(observation_of(item, self._now(), self.connection))

    def _record_body(self) -> None:
        if self._whole:
            payload = _json_of(self._whole.decode("utf-8", errors="replace"))
            self._record(Body(at=self._now(), connection=self.connection, payload=payload, size=len(self._whole)))
        self._record_end(Party.SERVER, clean=True)


def _given_again(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` for an application that has not read the body yet."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def _json_of(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _id_of(block: bytes) -> str:
    found = _ID_LINE.search(block)
    return "" if found is None else found.group().removeprefix(b"id:").strip().decode("utf-8", errors="replace")


def _carries_message(block: bytes) -> bool:
    return b"\ndata: " in block or block.startswith(b"data: ")


def _beyond(identifier: str) -> str:
    """An id of the same stream that none of its events has."""
    cursor = parse_cursor((identifier,))
    return format_event_id(cursor.tag, cursor.stream, cursor.seq + BEYOND)
