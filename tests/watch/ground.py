"""Both ends of a proxy in a test's hands, byte for byte: a client's sockets, a server's sockets, and what was noted."""

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

from attrs import define, field, frozen

from reattach.clauses import load_registry
from reattach.live.watch.clients import Clients
from reattach.live.watch.fault import Fault
from reattach.live.watch.plan import Draw, Plan
from reattach.live.watch.proxy import Proxy, ProxyOptions, proxying
from reattach.live.watch.sentence import read_sentence
from reattach.live.watch.watcher import Watcher
from reattach.live.wire import parse_url
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.oracle.observation import Observation
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Finding, Profile

BOUND = 20
"""Seconds after which what a test waits for is overdue. A bound, never an expectation."""
_RESET = struct.pack("ii", 1, 0)
EOF, RESET = "eof", "reset"
REGISTRY = load_registry()


@define(eq=False)
class End:
    """One end of a TCP connection."""

    sock: socket.socket
    _read: bytearray = field(init=False, factory=bytearray)
    ended: str = field(init=False, default="")
    """How the other end has ended it: ``EOF``, ``RESET``, or empty."""

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.sock, data)

    async def read(self, until: bytes | int) -> bytes:
        """Everything up to and with some bytes, or so many bytes. Fails at an end before that."""
        async with asyncio.timeout(BOUND):
            while True:
                if isinstance(until, int):
                    size = until if len(self._read) >= until else -1
                else:
                    found = self._read.find(until)
                    size = found + len(until) if found >= 0 else -1
                if size >= 0:
                    taken = bytes(self._read[:size])
                    del self._read[:size]
                    return taken
                assert await self._more(), f"ended ({self.ended}) after {bytes(self._read)!r}, before {until!r}"

    async def rest(self) -> bytes:
        """Everything up to the end; ``ended`` says how that was."""
        async with asyncio.timeout(BOUND):
            while await self._more():
                pass
        return bytes(self._read)

    async def head(self) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        """A head: its first line, and its fields in order."""
        first, *lines = (await self.read(b"\r\n\r\n"))[:-4].split(b"\r\n")
        fields = [line.partition(b":") for line in lines]
        return first, [(name, value.strip()) for name, _, value in fields]

    async def request(self) -> bytes:
        """A whole request with a length, or without a body: its first line."""
        first, fields = await self.head()
        length = next((int(value) for name, value in fields if name.lower() == b"content-length"), 0)
        await self.read(length)
        return first

    async def chunk(self) -> bytes:
        """The next chunk of a chunked body."""
        size = int(await self.read(b"\r\n"), 16)
        data = await self.read(size)
        assert await self.read(2) == b"\r\n"
        return data

    async def silent(self, seconds: float = 0.2) -> bool:
        """Whether nothing comes for a while."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._more()
                return False
        return not self._read

    def finish(self) -> None:
        self.sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.sock.close()

    def reset(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.sock.close()

    async def _more(self) -> bool:
        if self.ended:
            return False
        try:
            data = await asyncio.get_running_loop().sock_recv(self.sock, 65_536)
        except OSError:
            self.ended = RESET
            return False
        self._read += data
        self.ended = "" if data else EOF
        return bool(data)


@define(eq=False)
class Stand:
    """A proxy, or what takes its place, between a test's two ends."""

    port: int
    listener: socket.socket
    """Where the server's ends come from."""
    notes: list[Observation] = field(factory=list)
    findings: list[Finding] = field(factory=list)
    proxy: Proxy | None = None
    _ends: list[End] = field(factory=list)

    async def client(self, receive_buffer: int | None = None) -> End:
        sock = socket.socket()
        sock.setblocking(False)
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.port))
        return self._keep(End(sock))

    async def server(self) -> End:
        """The next connection that the server is given."""
        async with asyncio.timeout(BOUND):
            sock, _ = await asyncio.get_running_loop().sock_accept(self.listener)
        return self._keep(End(sock))

    async def unasked(self, seconds: float = 0.2) -> bool:
        """Whether the server is given no connection for a while."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                sock, _ = await asyncio.get_running_loop().sock_accept(self.listener)
                sock.close()
                return False
        return True

    @property
    def authority(self) -> bytes:
        return b"127.0.0.1:%d" % self.listener.getsockname()[1]

    @property
    def told(self) -> list[dict[str, Any]]:
        """What was noted, without times and sizes."""
        from reattach.io.trace import observation_to_json

        left_out = {"at", "size", "has_data", "revision"}
        return [
            {key: value for key, value in observation_to_json(each).items() if key not in left_out}
            for each in self.notes
        ]

    @property
    def kinds(self) -> list[str]:
        return [str(each["type"]) for each in self.told]

    def close(self) -> None:
        for end in self._ends:
            end.close()
        self.listener.close()

    def _keep(self, end: End) -> End:
        self._ends.append(end)
        return end


def _listener() -> socket.socket:
    listener = socket.socket()
    listener.setblocking(False)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


def watcher(notes: list[Observation], findings: list[Finding], *, complete: bool = True) -> Watcher:
    made = Watcher(
        oracle=Oracle(revision=NEWEST_WITH_RESUMPTION, complete=complete, registry=REGISTRY),
        profile=Profile.REATTACH,
        on_finding=findings.append,
        complete=complete,
        clients=Clients(REGISTRY, Profile.REATTACH, findings.append),
    )
    note = made.recorder._sink
    assert note is not None

    def sink(observation: Observation, experiment: str) -> None:
        notes.append(observation)
        note(observation, experiment)

    made.recorder._sink = sink
    return made


@contextlib.asynccontextmanager
async def standing(*faults: str | Fault, draw: Draw | None = None, **options: Any) -> AsyncIterator[Stand]:
    """The proxy that is tested."""
    listener = _listener()
    stand = Stand(0, listener)
    read = tuple(read_sentence(each) if isinstance(each, str) else each for each in faults)
    plan = Plan(read) if draw is None else Plan(read, draw)
    endpoint = parse_url(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
    try:
        watching = watcher(stand.notes, stand.findings)
        async with proxying(ProxyOptions(endpoint=endpoint, **options), watching, plan) as proxy:
            stand.port, stand.proxy = proxy.port, proxy
            yield stand
        if watching.crash is not None:
            raise watching.crash
    finally:
        stand.close()


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter, int], Coroutine[Any, Any, None]]


@frozen
class Place:
    """Something that takes the proxy's place: a handler of connections, given the server's port."""

    handler: Handler


@contextlib.asynccontextmanager
async def placed(place: Place) -> AsyncIterator[Stand]:
    """Something else in the proxy's place."""
    listener = _listener()
    port = listener.getsockname()[1]
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await place.handler(reader, writer, port)
        writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    stand = Stand(server.sockets[0].getsockname()[1], listener)
    try:
        yield stand
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        stand.close()


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a test that waits for things, with a bound."""

    async def bounded() -> None:
        async with asyncio.timeout(3 * BOUND):
            await work

    asyncio.run(bounded())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(BOUND):
        while not condition():
            await asyncio.sleep(0.002)


# What passes


def post(message: Any, *fields: str, session: str | None = None) -> bytes:
    """A POST of a JSON-RPC message."""
    body = json.dumps(message).encode()
    named = [f"Mcp-Session-Id: {session}"] if session else []
    lines = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *named, *fields]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def get(*fields: str) -> bytes:
    return "\r\n".join(["GET /mcp HTTP/1.1", "Host: 127.0.0.1", *fields, "", ""]).encode()


CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "t", "arguments": {}}}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST = b"0\r\n\r\n"


def event(number: int, **message: Any) -> bytes:
    """An event that says its number, or a message."""
    said = message or {"method": "notifications/message", "params": {"data": {"label": "x", "n": number}}}
    return b"id: e%d\ndata: %s\n\n" % (number, json.dumps({"jsonrpc": "2.0", **said}).encode())


def whole(body: bytes, *fields: str, status: int = 200) -> bytes:
    """A JSON answer with a length."""
    lines = [f"HTTP/1.1 {status} OK", "Content-Type: application/json", *fields, f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def streaming(stand: Stand, request: bytes | None = None, end: End | None = None) -> tuple[End, End]:
    """A client and a server whose answer has begun to stream; the head has passed."""
    client = end or await stand.client()
    await client.send(request or post(CALL, session="S" * 32))
    server = await stand.server()
    await server.request()
    await server.send(STREAM)
    await client.head()
    return client, server


def sentences(faults: Sequence[Fault]) -> list[str]:
    return [str(each) for each in faults]
