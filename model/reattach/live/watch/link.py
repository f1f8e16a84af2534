"""One connection of a client, and the one to the target that belongs to it: HTTP/1.1 on both sides, bytes as they come.

The two live and die together, so that neither side is told anything but what happened to the other. An end is passed on
as an end and a reset as a reset; what cannot be reached is a reset, since nobody has answered. What is read is written
before more is read: a reader that stops stops the sender, through two small kernel buffers and nothing else.
"""

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import h11
from attrs import define, field, frozen

from reattach.io.redact import query_credentials
from reattach.live.view import EVENT_STREAM
from reattach.live.watch.fault import Do, Fault
from reattach.live.watch.heads import CURSOR, Fields, Hosts, passed_on, values, with_host
from reattach.live.watch.plan import Armed, Asked, Plan
from reattach.live.watch.script import Extra, Pass, Script, Step, Stop, Wait
from reattach.live.watch.watcher import LARGEST, Tap, Watcher
from reattach.live.wire import READ_SIZE, Channel, ConnectionLostError, Cut, Endpoint, WireError
from reattach.oracle.observation import Party

HEAD_SIZE = 131_072
"""Bytes that a head may have."""
AHEAD = 65_536
"""Bytes of a client that are taken before they are wanted: so its end is seen while its answer is under way."""
PAUSED_MS = 200
"""A client that takes nothing for so long is noted as one that does not read."""
CONNECT_S = 10


@frozen(kw_only=True)
class Way:
    """What all links of a proxy share."""

    endpoint: Endpoint
    connect: Callable[[], Awaitable[Channel]]
    hosts: Hosts
    host: str | None
    """What ``Host`` is set to; None leaves it."""
    watcher: Watcher
    plan: Plan
    keep: Callable[[Channel], None]
    """Takes over a connection to the server that is to stay open, unread."""
    failed: Callable[[str], None]
    """Told why the target could not be reached."""


class Over(Exception):  # noqa: N818 (an end is no error)
    """The link is over; ``how`` its connections are closed."""

    def __init__(self, how: Cut) -> None:
        super().__init__(how.value)
        self.how = how


@define(eq=False)
class _Incoming:
    """What a client sends: read all the time, up to a bound, so that its end is seen when it comes."""

    channel: Channel
    http: h11.Connection
    finished: bool = False
    """It has said that it will send no more."""
    reset: bool = False
    ended: asyncio.Event = field(factory=asyncio.Event)
    _ahead: int = 0
    _came: asyncio.Event = field(factory=asyncio.Event)
    _wanted: asyncio.Event = field(factory=asyncio.Event)

    async def run(self) -> None:
        """Read until it ends."""
        try:
            while data := await self.channel.receive(READ_SIZE):
                self.http.receive_data(data)
                self._ahead += len(data)
                self._came.set()
                while self._ahead >= AHEAD:
                    self._wanted.clear()
                    await self._wanted.wait()
            self.http.receive_data(b"")
            self.finished = True
        except WireError:
            self.reset = True
        self.ended.set()
        self._came.set()

    def next(self) -> "h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]":
        """What has come; h11.NEED_DATA if it is not whole. Raises h11.RemoteProtocolError."""
        event = self.http.next_event()
        if event is h11.NEED_DATA:
            self._ahead = 0
            self._wanted.set()
            self._came.clear()
        return event

    async def more(self) -> None:
        """Wait for more than ``next`` has seen, or for the end. Raises Over if there has been a reset."""
        if not self.ended.is_set():
            await self._came.wait()
        if self.reset:
            raise Over(Cut.RESET)


@define(eq=False)
class Link:
    """Carries the exchanges of one connection, one after the other."""

    way: Way
    client: Channel
    server_http: h11.Connection = field(factory=lambda: h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_SIZE))
    client_http: h11.Connection = field(factory=lambda: h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_SIZE))
    _target: Channel | None = None
    _reading: "asyncio.Task[bytes] | None" = None
    """A read from the target that goes on from one exchange to the next, and is never given up."""
    incoming: _Incoming = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.incoming = _Incoming(self.client, self.server_http)

    async def run(self) -> None:
        """Carry exchanges until either side ends."""
        reading = asyncio.create_task(self.incoming.run())
        how = Cut.RESET
        try:
            while (request := await self._request()) is not None:
                await _Exchange(self, request).run()
                if self.server_http.our_state is not h11.DONE or self.server_http.their_state is not h11.DONE:
                    break
                self.server_http.start_next_cycle()
                if self.client_http.our_state is h11.DONE:
                    if self.client_http.their_state is not h11.DONE:
                        break  # the target keeps nothing alive; neither do we
                    self.client_http.start_next_cycle()
            how = Cut.CLOSE
        except Over as over:
            how = over.how
        except (WireError, h11.LocalProtocolError):
            pass  # either end is gone, or has said what HTTP/1.1 cannot pass on
        finally:
            reading.cancel()
            if self._reading is not None:
                self._reading.cancel()
            for channel in (self.client, self._target):
                if channel is not None:
                    channel.close(how)

    async def _request(self) -> h11.Request | None:
        """The next request; None at the end. What is no request is answered as such."""
        while True:
            try:
                event = self.incoming.next()
            except h11.RemoteProtocolError as error:
                await self.refuse(error.error_status_hint, "not an HTTP/1.1 request")
                self.way.watcher.refused[f"not an HTTP/1.1 request, or a head of over {HEAD_SIZE} bytes"] += 1
                return None
            if isinstance(event, h11.Request):
                return event
            if event is not h11.NEED_DATA:
                return None
            await self._idle()

    async def _idle(self) -> None:
        """Wait for the client; if the target ends its side of an idle connection, that is the end of it."""
        if self._target is None:
            await self.incoming.more()
            return
        if self._reading is None:
            self._reading = asyncio.create_task(self._target.receive(READ_SIZE))
        coming = asyncio.create_task(self.incoming.more())
        await asyncio.wait({coming, self._reading}, return_when=asyncio.FIRST_COMPLETED)
        if not coming.done():
            coming.cancel()
            raise Over(Cut.RESET if self._reading.exception() else Cut.CLOSE)
        coming.result()

    async def refuse(self, status: int, why: str, *, bodiless: bool = False) -> None:
        """Answer in the server's place, with a JSON-RPC error."""
        http = self.server_http
        if http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": f"reattach watch: {why}"}}
        body = json.dumps(error).encode("ascii")
        fields = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        data = http.send(h11.Response(status_code=status, reason=b"reattach watch", headers=fields)) or b""
        if not bodiless:
            data += http.send(h11.Data(data=body)) or b""
        await self.client.send(data + (http.send(h11.EndOfMessage()) or b""))

    async def target(self) -> Channel:
        """The connection to the target. Raises Over if there is none to be had."""
        if self._target is None:
            try:
                async with asyncio.timeout(CONNECT_S):
                    self._target = await self.way.connect()
            except (WireError, TimeoutError) as error:
                self.way.failed(str(error) or f"no connection within {CONNECT_S} s")
                raise Over(Cut.RESET) from None
        return self._target

    async def receive(self) -> bytes:
        """Bytes from the target. Raises ConnectionLostError."""
        assert self._target is not None
        if self._reading is not None:
            reading, self._reading = self._reading, None
            return await reading
        return await self._target.receive(READ_SIZE)

    def give_up_target(self) -> None:
        """Leave the connection to the target to whoever keeps it."""
        assert self._target is not None
        self.way.keep(self._target)
        self._target = None


@define(eq=False)
class _Exchange:
    """One request and its answer."""

    link: Link
    request: h11.Request
    tap: Tap = field(init=False)
    armed: list[Armed] = field(init=False, factory=list)
    _judged: bool = field(init=False)
    """Whether it is one with the MCP endpoint."""
    _faulty: bool = field(init=False)
    """Whether a fault may act on it."""
    _fields: Fields = field(init=False)
    _dropped: set[bytes] = field(init=False, factory=set)
    _body: bytearray | None = field(init=False, factory=bytearray)
    """What has come of the request's body; None once it is too large to be looked at."""
    _held: list[bytes] = field(init=False, factory=list)
    """What of the request's body was held until it was looked at."""
    _whole: bool = field(init=False, default=False)
    """Whether the request has come to its end."""
    _script: Script | None = field(init=False, default=None)
    _silent: bool = field(init=False, default=False)
    """Whether a fault has silenced it."""

    def __attrs_post_init__(self) -> None:
        way, request = self.link.way, self.request
        self.tap = way.watcher.tap()
        self._fields = list(request.headers.raw_items())
        endpoint = way.endpoint.path.partition("?")[0].encode("ascii")
        self._judged = request.target.partition(b"?")[0] == endpoint and request.method in _METHODS
        self._faulty = self._judged and not way.plan.empty

    async def run(self) -> None:
        """Carry it. Raises Over or WireError at an end that is not that of an answer."""
        link, way = self.link, self.link.way
        if not way.hosts.admit(self._fields):
            await self._receive_for_an_answer()
            await self._refuse(421, "this Host is not one that this proxy stands for (--allow-host)")
            way.watcher.refused["a Host that this proxy does not stand for (--allow-host)"] += 1
            return
        if self._faulty and await self._before_sending():
            return
        try:
            target = await link.target()
        except Over:
            self._note_request()
            self.tap.broke(Party.NETWORK, clean=False)
            raise
        await self._carry(target)

    async def _carry(self, target: Channel) -> None:
        """Both directions at once, until both are done."""
        incoming = self.link.incoming
        up = asyncio.create_task(self._up(target))
        down = asyncio.create_task(self._down())
        gone = asyncio.create_task(incoming.ended.wait())
        tasks = (up, down, gone)
        told = False
        try:
            while not (up.done() and down.done()):
                await asyncio.wait([task for task in tasks if not task.done()], return_when=asyncio.FIRST_COMPLETED)
                if down.done():
                    down.result()
                if up.done() and not isinstance(up.exception(), WireError):
                    up.result()  # if the target takes no more, its answer or its end says why
                if gone.done() and not down.done():
                    self.tap.broke(Party.CLIENT, clean=incoming.finished)
                    if incoming.reset or self._silent:
                        raise Over(Cut.RESET)
                    if up.done() and not told:
                        told = True
                        if not target.finish():
                            raise Over(Cut.CLOSE)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _receive_for_an_answer(self) -> None:
        """Take the request whole, unless its client waits to be told to send it."""
        if not self.link.server_http.they_are_waiting_for_100_continue:
            await self._hold_body()

    async def _refuse(self, status: int, why: str) -> None:
        await self.link.refuse(status, why, bodiless=self.request.method == b"HEAD" or status in (204, 304))

    # The request

    async def _hold_body(self) -> None:
        """Wait for the end of the request, or until it is too large to be looked at."""
        while not self._whole and self._body is not None:
            event = self._next_of_request()
            if event is None:
                await self.link.incoming.more()
            elif isinstance(event, h11.Data):
                self._held.append(bytes(event.data))

    def _next_of_request(self) -> h11.Data | h11.EndOfMessage | None:
        """The next piece of the request that is here. Raises Over if there will be none."""
        incoming = self.link.incoming
        try:
            event = incoming.next()
        except h11.RemoteProtocolError:
            raise Over(Cut.RESET if incoming.reset else Cut.CLOSE) from None
        if isinstance(event, h11.Data):
            if self._body is not None:
                self._body += event.data
                self._body = self._body if len(self._body) <= LARGEST else None
            return event
        if isinstance(event, h11.EndOfMessage):
            self._whole = True
            return event
        if event is not h11.NEED_DATA:
            raise Over(Cut.CLOSE)
        return None

    async def _before_sending(self) -> bool:
        """Arm the faults; do what they do before the server gets anything. Whether it gets nothing at all."""
        plan = self.link.way.plan
        if plan.reads_bodies:
            await self._hold_body()
        method, cursor = self.request.method.decode("ascii"), bool(values(self._fields, CURSOR))
        self.armed = plan.asked(Asked(method=method, cursor=cursor, rpc_method=self._rpc_method()))
        for each in [each for each in self.armed if each.fault.before_sending]:
            if each.fault.do is Do.DROP:
                name = each.fault.header.lower().encode("ascii")
                if values(self._fields, name) and each.claim():
                    self._dropped.add(name)
            elif each.claim():
                await self._instead(each.fault)
                return True
        return False

    async def _instead(self, fault: Fault) -> None:
        """What a fault does in the server's place."""
        await self._receive_for_an_answer()
        self._note(None)
        if fault.do is Do.ANSWER:
            await self._refuse(fault.status, str(fault))
            self.tap.answered_instead(fault.status)
            return
        await self.link.incoming.ended.wait()
        self.tap.broke(Party.CLIENT, clean=self.link.incoming.finished)
        raise Over(Cut.RESET if self.link.incoming.reset else Cut.CLOSE)

    def _rpc_method(self) -> str | None:
        message: object = None
        with contextlib.suppress(ValueError, RecursionError):
            message = json.loads(self._body) if self._body else None
        method = message.get("method") if isinstance(message, dict) else None
        return method if isinstance(method, str) else None

    def _sent_fields(self) -> Fields:
        fields, way = passed_on(self._fields, self._dropped), self.link.way
        if not values(fields, b"host"):
            return [(b"Host", way.endpoint.authority.encode("ascii")), *fields]  # HTTP/1.0 has no such duty
        return fields if way.host is None else with_host(fields, way.host)

    def _note_request(self) -> None:
        if self._judged and not self.tap.begun:
            self._note(self._sent_fields())

    def _note(self, got: Fields | None) -> None:
        for credential in query_credentials(self.request.target.decode("ascii")):
            self.link.way.watcher.redactor.tell_credential(credential)
        body = None if self._body is None else bytes(self._body)
        sent = passed_on(self._fields) if self._dropped else got or self._fields
        self.tap.asked(self.request.method.decode("ascii"), sent, body, got=got)

    async def _up(self, target: Channel) -> None:
        """Send the request on, as it comes; what was held of it first."""
        http = self.link.client_http
        request = h11.Request(method=self.request.method, target=self.request.target, headers=self._sent_fields())
        data = http.send(request) or b""
        for piece in self._held:
            data += http.send(h11.Data(data=piece)) or b""
        event: h11.Data | h11.EndOfMessage | None = h11.EndOfMessage() if self._whole else None
        while not isinstance(event, h11.EndOfMessage):
            event = self._next_of_request()
            if isinstance(event, h11.Data):
                data += http.send(h11.Data(data=bytes(event.data))) or b""
            elif event is None:
                await target.send(data)
                data = b""
                await self.link.incoming.more()
        self._note_request()
        await target.send(data + (http.send(event) or b""))

    # The answer

    async def _down(self) -> None:
        """Pass the answer on, as it comes."""
        http = self.link.client_http
        pieces: list[bytes] = []
        try:
            while True:
                event = http.next_event()
                if isinstance(event, h11.Data):
                    pieces.append(bytes(event.data))
                    continue
                if pieces:
                    taken, pieces = pieces, []
                    await self._pass_body(taken, event if isinstance(event, h11.EndOfMessage) else None)
                elif isinstance(event, h11.EndOfMessage):
                    await self._pass_body([], event)
                if isinstance(event, h11.EndOfMessage):
                    return
                if event is h11.NEED_DATA:
                    http.receive_data(await self.link.receive())
                elif isinstance(event, h11.Response):
                    await self._pass_head(event)
                elif isinstance(event, h11.InformationalResponse):
                    await self._to_client(self.link.server_http.send(_renewed(event)) or b"")
                else:
                    raise Over(Cut.CLOSE)
        except h11.RemoteProtocolError:
            if http.trailing_data[1]:  # an end in the middle is an end
                self._target_broke()
                raise Over(Cut.CLOSE) from None
            # What is no HTTP at all must not look like one.
            self._cannot_pass()
            raise Over(Cut.RESET) from None
        except ConnectionLostError:
            self._target_broke()
            raise Over(Cut.RESET) from None

    def _target_broke(self) -> None:
        self._note_request()
        self.tap.broke(Party.SERVER, clean=False)

    def _cannot_pass(self) -> None:
        self._note_request()
        reason = f"the target's answer is not HTTP/1.1, has a head of over {HEAD_SIZE} bytes, or switches protocols"
        if self.tap.begun:
            self.tap.lose(reason)
        else:
            self.link.way.watcher.unread[reason] += 1

    async def _pass_head(self, response: h11.Response) -> None:
        self._note_request()
        for each in [each for each in self.armed if each.fault.before_answer]:
            if each.claim():
                await (self._stop(each.fault) if each.fault.do is not Do.DELAY else _sleep(each.fault.ms))
        fields = passed_on(list(response.headers.raw_items()))
        if self.link.client_http.their_http_version == b"1.0" and not values(fields, b"connection"):
            fields.append((b"Connection", b"close"))
        sent = h11.Response(status_code=response.status_code, reason=response.reason, headers=fields)
        data = self.link.server_http.send(sent) or b""

        def taken(count: int) -> None:
            if count == len(data):
                self.tap.answered(response.status_code, fields)

        await self._to_client(data, taken)
        if self._faulty and _is_stream(response):
            if self._rpc_method() != "initialize":
                self.armed += self.link.way.plan.viewed()
            in_stream = [each for each in self.armed if not (each.fault.before_sending or each.fault.before_answer)]
            if in_stream:
                self._script = Script(in_stream)
                await self._follow(self._script.opened())

    async def _pass_body(self, pieces: Sequence[bytes], end: h11.EndOfMessage | None) -> None:
        if self._script is None:
            await self._send_body(pieces, end)
            return
        for piece in pieces:
            await self._follow(self._script.feed(piece))
        if end is not None:
            await self._follow(self._script.ended())
            await self._send_body([], end)

    async def _follow(self, steps: Sequence[Step]) -> None:
        for step in steps:
            match step:
                case Pass(data):
                    await self._send_body([data], None)
                case Extra(data):
                    await self._to_client(self.link.server_http.send(h11.Data(data=data)) or b"")
                    self.tap.took_extra(data)
                case Wait(ms):
                    if ms >= PAUSED_MS:
                        self.tap.paused()
                    await _sleep(ms)
                    self.tap.went_on()
                case Stop(fault):
                    await self._stop(fault)

    async def _stop(self, fault: Fault) -> None:
        """End it, or leave it, in the way of a fault."""
        match fault.do:
            case Do.HALF_OPEN:
                self.tap.left(client=True)
                self.link.give_up_target()
                raise Over(Cut.RESET)
            case Do.SILENCE:
                self.tap.left(client=False)
                self._silent = True
                await asyncio.Event().wait()  # until the client goes
            case _:
                self.tap.broke(Party.NETWORK, clean=False)
                raise Over(Cut.CLOSE if fault.do is Do.CUT else Cut.RESET)

    async def _send_body(self, pieces: Sequence[bytes], end: h11.EndOfMessage | None) -> None:
        """Send pieces as the chunks that they are, all at once; note each byte when it is taken."""
        http = self.link.server_http
        data = bytearray()
        waiting: deque[tuple[int, bytes]] = deque()
        for piece in pieces:
            for part in http.send_with_data_passthrough(h11.Data(data=piece)) or []:
                if part is piece:
                    waiting.append((len(data), piece))
                data += part
        if end is not None:
            data += http.send(end) or b""
        noted = 0

        def taken(count: int) -> None:
            nonlocal noted
            while waiting and count > waiting[0][0] + noted:
                start, piece = waiting[0]
                upto = min(count - start, len(piece))
                self.tap.took(piece[noted:upto])
                noted = upto
                if upto == len(piece):
                    waiting.popleft()
                    noted = 0
            if end is not None and count == len(data):
                self.tap.ended()

        if data:
            await self._to_client(bytes(data), taken)
        elif end is not None:
            self.tap.ended()

    async def _to_client(self, data: bytes, taken: Callable[[int], None] | None = None) -> None:
        late = asyncio.get_running_loop().call_later(PAUSED_MS / 1000, self.tap.paused)
        try:
            await self.link.client.send(data, taken)
        except ConnectionLostError:
            self.tap.broke(Party.CLIENT, clean=False)
            raise Over(Cut.RESET) from None
        finally:
            late.cancel()


_METHODS = frozenset({b"GET", b"POST", b"DELETE"})


def _is_stream(response: h11.Response) -> bool:
    kinds = values(response.headers, b"content-type")
    media = kinds[0].partition(b";")[0].strip().lower() if kinds else b""
    return response.status_code == 200 and media == EVENT_STREAM.encode("ascii")


def _renewed(event: h11.InformationalResponse) -> h11.InformationalResponse:
    fields = passed_on(list(event.headers.raw_items()))
    return h11.InformationalResponse(status_code=event.status_code, reason=event.reason, headers=fields)


async def _sleep(ms: int) -> None:
    await asyncio.sleep(ms / 1000)
