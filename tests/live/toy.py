"""A small MCP server with faults to choose from; what it does is meant to be readable, not fast.

It keeps every stream in a list, refuses every cursor it does not know with 400, takes a stream over on resumption,
says so in a comment, and ends it after the response. Each fault changes one thing.
"""

import asyncio
import contextlib
import json
import os
import ssl
import sys
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from tests.live.scripted import STREAM_HEAD, Received, Scripted, chunk, head, serve, whole

STANDALONE = "standalone"
TOOLS = ("reattach_emit", "reattach_push", "steady", "stepping", "fickle")
"""Ours; one that says the same every time; one that reports progress; one that never says the same."""
FAULTS = {
    "no-ids": "events have no ids",
    "json": "a call is answered with a JSON body and no events",
    "leak": "the store has no sessions in its keys",
    "all-streams": "a resumption replays what came later on every stream",
    "inclusive": "a resumption begins with the event that the cursor names",
    "gap": "what is emitted between the replay and going live is lost",
    "deaf": "a resumption replays and never goes live",
    "never-ends": "streams are not ended",
    "conflict": "a stream whose view is open cannot be resumed",
    "silent-cursor": "an unknown cursor is answered with an empty stream",
    "replay-all": "an unknown cursor is answered with everything",
    "crash": "an unknown cursor is answered with 500",
    "hang": "an unknown cursor is not answered",
    "kill": "an unknown cursor ends the session",
    "broadcast": "a push goes to every listener",
    "unknown-400": "an unknown session is answered with 400",
    "resurrect": "a deleted session goes on",
    "same-id": "every event has the same id",
    "blocked": "one writer for the whole session",
    "dies": "stops serving after some requests",
}


@dataclass
class Stream:
    """What a stream has sent, and who reads it."""

    name: str
    events: list[tuple[str, bytes]] = field(default_factory=list)
    finished: bool = False
    view: int = 0
    """The number of the view that may write; each new one takes over."""
    open: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass
class Session:
    streams: dict[str, Stream] = field(default_factory=dict)
    alive: bool = True
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Toy:
    """The server's state."""

    def __init__(self, fault: str = "") -> None:
        assert fault in ("", *FAULTS)
        self.fault = fault
        self.sessions: dict[str, Session] = {}
        self.shared: dict[str, Stream] = {}
        self.owner: dict[str, tuple[Session, Stream]] = {}
        self.numbers = 0
        self.requests = 0
        self.calls: set[asyncio.Task[None]] = set()
        self.scripted = Scripted("")

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    async def handle(self, request: Received, writer: asyncio.StreamWriter) -> None:
        self.requests += 1
        if self.fault == "dies" and self.requests > 60:
            self.scripted.close()
            writer.transport.abort()
            return
        message: dict[str, Any] = json.loads(request.body) if request.body else {}
        if request.method == "HEAD":
            writer.write(head(405, {"Content-Length": "0"}))
        elif message.get("method") == "initialize":
            await self.initialize(message, writer)
        elif (refused := self.refused(request)) is not None:
            self.refuse(writer, refused, message.get("id"))
        elif request.method == "DELETE":
            session = self.sessions[request.get("mcp-session-id") or ""]
            if self.fault != "resurrect":
                session.alive = False
            for stream in session.streams.values():
                stream.wake()
            writer.write(head(204, {}))
        elif request.method == "GET":
            await self.get(request, writer)
        elif "id" not in message:
            writer.write(head(202, {"Content-Length": "0"}))
        else:
            await self.post(request, message, writer)
        await writer.drain()

    def refused(self, request: Received) -> int | None:
        name = request.get("mcp-session-id")
        if name is None:
            return 400
        session = self.sessions.get(name)
        if session is None or not session.alive:
            return 400 if self.fault == "unknown-400" else 404
        return None

    def refuse(self, writer: asyncio.StreamWriter, status: int, rpc_id: Any = None) -> None:
        error = {"jsonrpc": "2.0", "id": rpc_id, "error": {"code": -32000, "message": "refused"}}
        writer.write(whole(status, "application/json", json.dumps(error).encode()))

    async def initialize(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        name = f"session-{self.number():08d}"
        self.sessions[name] = Session()
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": "toy", "version": self.fault or "1"},
        }
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Mcp-Session-Id": name}
        writer.write(head(200, headers) + body)

    async def post(self, request: Received, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        session = self.sessions[request.get("mcp-session-id") or ""]
        if message["method"] != "tools/call":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            result: dict[str, Any] = {"tools": tools} if message["method"] == "tools/list" else {}
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
            writer.write(whole(200, "application/json", body))
            return
        params = message["params"]
        name, arguments = params["name"], params["arguments"]
        if self.fault == "json":
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}}).encode()
            writer.write(whole(200, "application/json", body))
            return
        stream = self.stream(session, f"call-{message['id']}")
        stream.finished = False
        self.emit(session, stream, None)
        start = len(stream.events) - 1
        if name == "reattach_push":
            # A plain GET gets what is pushed after it; what it was pushed before stays where it is.
            targets = [s for s in session.streams.values() if s.name.startswith(STANDALONE) and s.open]
            last = self.standalone(session) if not targets else targets[-1]
            chosen = targets if self.fault == "broadcast" and targets else [last]
            for n in range(1, arguments["count"] + 1):
                for target in chosen:
                    self.emit(session, target, log(arguments["label"], n))
            self.finish(session, stream, message["id"])
        else:
            messages = emitted(name, arguments, params.get("_meta", {}).get("progressToken"))
            pause = arguments.get("interval_ms", 5) / 1000
            task = asyncio.create_task(self.call(session, stream, message["id"], messages, pause))
            self.calls.add(task)
            task.add_done_callback(self.calls.discard)
        await self.view(session, stream, start, writer)

    async def call(
        self, session: Session, stream: Stream, rpc_id: int, messages: list[dict[str, Any]], pause: float
    ) -> None:
        for message in messages:
            await asyncio.sleep(pause)
            self.emit(session, stream, message)
        self.finish(session, stream, rpc_id)

    def finish(self, session: Session, stream: Stream, rpc_id: int) -> None:
        self.emit(session, stream, {"jsonrpc": "2.0", "id": rpc_id, "result": {"content": []}})
        stream.finished = True
        stream.wake()

    def stream(self, session: Session, name: str) -> Stream:
        store = self.shared if self.fault == "leak" else session.streams
        stream = session.streams[name] = store.setdefault(name, Stream(name))
        return stream

    def standalone(self, session: Session) -> Stream:
        mine = [stream for stream in session.streams.values() if stream.name.startswith(STANDALONE)]
        return mine[-1] if mine else self.stream(session, STANDALONE)

    def emit(self, session: Session, stream: Stream, message: dict[str, Any] | None) -> None:
        event_id = "1" if self.fault == "same-id" else f"{stream.name}/{self.number()}"
        data = b"" if message is None else json.dumps(message).encode()
        stream.events.append((event_id, data))
        self.owner[event_id] = (session, stream)
        stream.wake()

    async def get(self, request: Received, writer: asyncio.StreamWriter) -> None:
        session = self.sessions[request.get("mcp-session-id") or ""]
        cursors = request.all("last-event-id")
        if not cursors:
            existing = [stream for stream in session.streams.values() if stream.name.startswith(STANDALONE)]
            stream = self.stream(session, f"{STANDALONE}-{len(existing)}" if existing else STANDALONE)
            await self.view(session, stream, len(stream.events), writer)
            return
        owner = self.owner.get(cursors[0]) if len(cursors) == 1 else None
        if owner is None or (owner[0] is not session and self.fault != "leak"):
            await self.unknown(session, writer)
            return
        stream = owner[1]
        if self.fault == "conflict" and stream.open:
            self.refuse(writer, 409)
            return
        start = next(index for index, (event_id, _) in enumerate(stream.events) if event_id == cursors[0])
        await self.view(session, stream, start + (self.fault != "inclusive"), writer, resumed=True)

    async def unknown(self, session: Session, writer: asyncio.StreamWriter) -> None:
        if self.fault == "crash":
            self.refuse(writer, 500)
        elif self.fault == "hang":
            await asyncio.sleep(600)
        elif self.fault == "silent-cursor":
            writer.write(STREAM_HEAD + chunk(b""))
        elif self.fault == "replay-all":
            events = [event for stream in session.streams.values() for event in stream.events]
            writer.write(STREAM_HEAD + b"".join(map(self.block, events)) + chunk(b""))
        elif self.fault == "kill":
            session.alive = False
            self.refuse(writer, 404)
        else:
            self.refuse(writer, 400)

    async def view(
        self, session: Session, stream: Stream, position: int, writer: asyncio.StreamWriter, *, resumed: bool = False
    ) -> None:
        stream.view += 1
        mine = stream.view
        stream.open += 1
        stream.wake()
        gone = asyncio.ensure_future(_gone(writer))
        try:
            writer.write(STREAM_HEAD)
            if resumed:
                writer.write(chunk(b": resumed\n\n"))
            if resumed and self.fault == "all-streams":
                others = [other for other in session.streams.values() if other is not stream]
                writer.write(b"".join(self.block(event) for other in others for event in other.events))
            if resumed and self.fault in ("gap", "deaf"):
                writer.write(b"".join(map(self.block, stream.events[position:])))
                await writer.drain()
                await asyncio.sleep(0.008)
                position = len(stream.events)
            while session.alive and stream.view == mine and not gone.done():
                changed = stream.changed
                if position < len(stream.events):
                    if not (resumed and self.fault == "deaf"):
                        await self.write(session, writer, self.block(stream.events[position]))
                    position += 1
                elif stream.finished and self.fault != "never-ends":
                    break
                else:
                    waiting = asyncio.ensure_future(changed.wait())
                    await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
            writer.write(chunk(b""))
            await writer.drain()
        finally:
            stream.open -= 1
            gone.cancel()

    async def write(self, session: Session, writer: asyncio.StreamWriter, data: bytes) -> None:
        if self.fault != "blocked":
            writer.write(data)
            await writer.drain()
            return
        async with session.lock:
            writer.write(data)
            await writer.drain()

    def block(self, event: tuple[str, bytes]) -> bytes:
        lines = b"" if self.fault == "no-ids" else b"id: " + event[0].encode() + b"\n"
        return chunk(lines + b"data: " + event[1] + b"\n\n")


def emitted(tool: str, arguments: dict[str, Any], token: str | None) -> list[dict[str, Any]]:
    """What a call sends before its response."""
    if tool == "reattach_emit":
        numbers = range(1, arguments["count"] + 1)
        return [log(arguments["label"], n, arguments.get("size", 0)) for n in numbers]
    if tool == "stepping":
        return [
            {"method": "notifications/progress", "params": {"progressToken": token, "progress": n}} for n in range(1, 6)
        ]
    data = [uuid.uuid4().hex if tool == "fickle" else f"step {n} of {arguments.get('of')}" for n in range(1, 6)]
    return [{"method": "notifications/message", "params": {"level": "info", "data": text}} for text in data]


def log(label: str, n: int, size: int = 0) -> dict[str, Any]:
    data = {"label": label, "n": n, "padding": "x" * size}
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": data}}


async def _gone(writer: asyncio.StreamWriter) -> None:
    """Wait until the client has closed or reset the connection."""
    while not writer.transport.is_closing():
        await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def toy(fault: str = "", port: int = 0, tls: ssl.SSLContext | None = None) -> AsyncIterator[Scripted]:
    """A running toy."""
    server = Toy(fault)
    async with serve(server.handle, tls, port) as scripted:
        server.scripted = scripted
        try:
            yield scripted
        finally:
            for task in list(server.calls):
                task.cancel()
            await asyncio.gather(*server.calls, return_exceptions=True)


def main() -> None:
    """The toy as a process: ``PORT FAULT`` as arguments. What dies, dies as a process."""

    async def forever() -> None:
        async with toy(sys.argv[2], int(sys.argv[1])) as scripted:
            scripted.close = lambda: os._exit(9)
            await asyncio.Event().wait()

    asyncio.run(forever())
