"""An MCP server over Streamable HTTP, written from the transport text of 2025-11-25 and from nothing else.

It imports nothing of reattach, so that what the probe says of it rests on the text and not on the machine. As it stands
it is right. Each of ``FAULTS`` is a switch that makes it wrong in one way; any of them can be on together.

    python server.py --port 8000 [--port 8001]... [--journal FILE] [--fault NAME]...

Several ports are replicas that share everything. With a journal, sessions and events outlive the process, even if it is
killed; a call does not, and is answered with an error when the next process finds it unfinished.
"""

import argparse
import asyncio
import contextlib
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Message = dict[str, Any]

SPOKEN = ("2025-11-25", "2025-06-18", "2025-03-26")
FAULTS = {
    "lossy-hand-over": "a resumption sends what it found at its start and goes on with what comes after that was sent",
    "mixed-replay": "a resumption also sends what the session's other streams have sent",
    "undead-session": "DELETE answers 204 and the session goes on",
    # These show only where there is more than one process, or a restart.
    "lost-events": "a session that this process does not know is taken up, and its streams are empty",
    "counted-ids": "streams are counted from 1 by each process, and found whatever session asks",
}
TOOLS = [
    {
        "name": "reattach_emit",
        "description": "Send `count` numbered log notifications on the request's stream, `interval_ms` apart.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "count": {"type": "integer"},
                "interval_ms": {"type": "integer"},
                "size": {"type": "integer"},
                "label": {"type": "string"},
            },
        },
    },
    {
        "name": "reattach_push",
        "description": "Send `count` numbered log notifications on the stream of a GET.",
        "inputSchema": {
            "type": "object",
            "properties": {"count": {"type": "integer"}, "label": {"type": "string"}},
        },
    },
]


@dataclass
class Stream:
    """All that was ever sent on one stream, and who reads it now. It outlives the connections that carry it."""

    name: str
    sent: list[str] = field(default_factory=list)
    """The data of each event; an event's id is the stream's name and its place here."""
    complete: bool = False
    reader: object = None
    """The connection that has the stream. A later one takes it over: a message goes to one connection only."""
    news: asyncio.Condition = field(default_factory=asyncio.Condition)
    rpc_id: Any = None
    """The JSON-RPC id of the request that it answers."""
    note: "Callable[[Message], None]" = field(default=lambda _: None)
    """Writes down what must not be forgotten."""

    async def send(self, data: str, *, last: bool = False) -> None:
        async with self.news:
            self.note({"stream": self.name, "data": data, "last": last})
            self.sent.append(data)
            self.complete = self.complete or last
            self.news.notify_all()

    def event(self, place: int) -> str:
        return f"id: {self.name}-{place}\ndata: {self.sent[place]}\n\n"


@dataclass
class Session:
    """One client's session."""

    name: str
    streams: dict[str, Stream] = field(default_factory=dict)
    listening: Stream | None = None
    """The stream of the newest GET, where messages go that belong to no request."""
    heard: bool = False
    """Whether any GET has come."""
    work: set["asyncio.Task[None]"] = field(default_factory=set)


class Server:
    """The endpoint, with one method of this class for each HTTP method."""

    def __init__(self, faults: Collection[str] = (), journal: Path | None = None) -> None:
        assert set(faults) <= set(FAULTS)
        self.faults = frozenset(faults)
        self.sessions: dict[str, Session] = {}
        self.streams = 0
        self.journal: TextIO | None = None
        if journal is not None:
            self.remember(journal)
            self.journal = journal.open("a", encoding="utf-8")
            for session in self.sessions.values():
                for stream in session.streams.values():
                    stream.note = self.note
                    if stream.rpc_id is not None and not stream.complete:
                        # Nobody works on it any more; whoever waits for it has to be told.
                        failure = json.dumps(_failure(stream.rpc_id, -32000, "the server was restarted"))
                        self.note({"stream": stream.name, "data": failure, "last": True})
                        stream.sent.append(failure)
                        stream.complete = True

    def note(self, line: Message) -> None:
        """Write down a line; what the kernel has outlives the process."""
        if self.journal is not None:
            self.journal.write(json.dumps(line) + "\n")
            self.journal.flush()

    def remember(self, journal: Path) -> None:
        """Take up what an earlier process wrote down. A last line that was cut short never happened."""
        streams: dict[str, Stream] = {}
        for line in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []:
            try:
                said = json.loads(line)
            except ValueError:
                break
            if "ended" in said:
                self.sessions.pop(said["ended"], None)
            elif "data" in said:
                streams[said["stream"]].sent.append(said["data"])
                streams[said["stream"]].complete = said["last"]
            elif "stream" in said:
                stream = streams[said["stream"]] = Stream(said["stream"], rpc_id=said["rpc_id"])
                if said["session"] in self.sessions:
                    self.sessions[said["session"]].streams[stream.name] = stream
            else:
                self.sessions[said["session"]] = Session(said["session"])

    def open(self, session: Session, rpc_id: Any = None) -> Stream:
        # The text wants ids to be unique in the session, and to tell the stream.
        self.streams += 1
        name = str(self.streams) if "counted-ids" in self.faults else secrets.token_hex(6)
        stream = Stream(name, rpc_id=rpc_id, note=self.note)
        self.note({"session": session.name, "stream": name, "rpc_id": rpc_id})
        session.streams[name] = stream
        return stream

    def app(self) -> Starlette:
        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            yield
            for session in self.sessions.values():
                for task in session.work:
                    task.cancel()

        return Starlette(
            routes=[Route("/mcp", self.endpoint, methods=["POST", "GET", "DELETE"])],
            lifespan=lifespan,
        )

    async def endpoint(self, request: Request) -> Response:
        if refused := _admission(request):
            return refused
        if request.method == "POST":
            return await self.post(request)
        session = self.session_of(request)
        if isinstance(session, Response):
            return session
        return await self.get(request, session) if request.method == "GET" else await self.delete(session)

    def session_of(self, request: Request) -> "Session | Response":
        name = request.headers.get("mcp-session-id")
        if name is None:
            return _error(400, "Mcp-Session-Id is missing")
        if self.faults & {"lost-events", "counted-ids"}:
            return self.sessions.setdefault(name, Session(name))
        return self.sessions.get(name) or _error(404, "no such session")

    async def post(self, request: Request) -> Response:
        try:
            message = json.loads(await request.body())
        except ValueError:
            return _error(400, "not JSON", code=-32700)
        if not isinstance(message, dict):
            return _error(400, "not one JSON-RPC message", code=-32600)
        method, rpc_id, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "initialize":
            session = Session(secrets.token_urlsafe(24))
            self.sessions[session.name] = session
            self.note({"session": session.name})
            return JSONResponse(_result(rpc_id, _initialized(params)), headers={"Mcp-Session-Id": session.name})
        found = self.session_of(request)
        if isinstance(found, Response):
            return found
        if method is None or rpc_id is None:  # a response or a notification
            return Response(status_code=202)
        if method == "tools/list":
            return JSONResponse(_result(rpc_id, {"tools": TOOLS}))
        if method in ("ping", "logging/setLevel"):
            return JSONResponse(_result(rpc_id, {}))
        if method != "tools/call":
            return JSONResponse(_failure(rpc_id, -32601, f"no method {method}"))
        work = {"reattach_emit": self.emit, "reattach_push": self.push}.get(params.get("name", ""))
        if work is None:
            return JSONResponse(_failure(rpc_id, -32602, "no such tool"))
        stream = self.open(found, rpc_id)
        await stream.send("")  # an id to come back with, before anything else
        # The call is the session's and not the connection's: losing the connection does not cancel it.
        task = asyncio.create_task(self.call(work(found, stream, params.get("arguments") or {}), stream, rpc_id))
        found.work.add(task)
        task.add_done_callback(found.work.discard)
        return self.reading(found, stream, 0)

    async def call(self, work: Any, stream: Stream, rpc_id: Any) -> None:
        try:
            await work
            answer = _result(rpc_id, {"content": [{"type": "text", "text": "done"}]})
        except (KeyError, TypeError, ValueError) as error:
            answer = _failure(rpc_id, -32602, f"bad arguments: {error!r}")
        await stream.send(json.dumps(answer), last=True)

    async def emit(self, _: Session, stream: Stream, arguments: Message) -> None:
        for n in range(1, int(arguments["count"]) + 1):
            await stream.send(_note(arguments, n))
            await asyncio.sleep(int(arguments.get("interval_ms", 0)) / 1000)

    async def push(self, session: Session, _: Stream, arguments: Message) -> None:
        if session.listening is None:
            session.listening = self.open(session)
        for n in range(1, int(arguments["count"]) + 1):
            await session.listening.send(_note(arguments, n))

    async def get(self, request: Request, session: Session) -> Response:
        given = request.headers.getlist("last-event-id")
        if not given:
            # What was sent before anybody listened waits for the first that does.
            if session.listening is None or session.heard:
                session.listening = self.open(session)
            session.heard = True
            return self.reading(session, session.listening, 0)
        name, _, place = given[0].rpartition("-")
        stream = session.streams.get(name)
        if "counted-ids" in self.faults:
            stream = next((each.streams[name] for each in self.sessions.values() if name in each.streams), None)
        if stream is None and "lost-events" in self.faults:
            stream = self.open(session)
            stream.complete = True
            return self.reading(session, stream, 0, resumed=True)
        known = len(given) == 1 and stream is not None and place in map(str, range(len(stream.sent)))
        if stream is None or not known:
            return _error(400, "Last-Event-ID is no event of this session")
        return self.reading(session, stream, int(place) + 1, resumed=True)

    async def delete(self, session: Session) -> Response:
        if "undead-session" not in self.faults:
            del self.sessions[session.name]
            self.note({"ended": session.name})
            for task in session.work:
                task.cancel()
            for stream in session.streams.values():
                async with stream.news:
                    stream.reader = None
                    stream.news.notify_all()
        return Response(status_code=204)

    def reading(self, session: Session, stream: Stream, place: int, *, resumed: bool = False) -> Response:
        stream.reader = reader = object()
        return StreamingResponse(
            self.events(session, stream, place, reader, resumed),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store"},
        )

    async def events(
        self, session: Session, stream: Stream, place: int, reader: object, resumed: bool
    ) -> AsyncIterator[str]:
        async with stream.news:
            stream.news.notify_all()  # whoever had the stream lets go of it
        if resumed and "mixed-replay" in self.faults:
            for other in session.streams.values():
                if other is not stream:
                    for past in range(len(other.sent)):
                        yield other.event(past)
        if resumed and "lossy-hand-over" in self.faults:
            for past in range(place, len(stream.sent)):
                yield stream.event(past)
            await asyncio.sleep(0.01)
            place = len(stream.sent)
        while stream.reader is reader:
            if place < len(stream.sent):
                yield stream.event(place)
                place += 1
                continue
            if stream.complete:
                return
            async with stream.news:
                await stream.news.wait_for(
                    lambda: place < len(stream.sent) or stream.complete or stream.reader is not reader  # noqa: B023
                )


def _admission(request: Request) -> Response | None:
    origin = request.headers.get("origin")
    if origin is not None and not origin.startswith(("http://127.0.0.1", "http://localhost")):
        return _error(403, "this origin is not allowed")
    if request.headers.get("mcp-protocol-version", SPOKEN[0]) not in SPOKEN:
        return _error(400, "this protocol version is not spoken here")
    return None


def _initialized(params: Message) -> Message:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in SPOKEN else SPOKEN[0],
        "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": {"name": "independent", "version": "1"},
    }


def _note(arguments: Message, n: int) -> str:
    data = {"label": arguments["label"], "n": n, "padding": "x" * int(arguments.get("size", 0))}
    return json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": data}})


def _result(rpc_id: Any, result: Message) -> Message:
    return {"jsonrpc": "2.0", "id": rpc_id, "result": result}


def _failure(rpc_id: Any, code: int, text: str) -> Message:
    return {"jsonrpc": "2.0", "id": rpc_id, "error": {"code": code, "message": text}}


def _error(status: int, text: str, code: int = -32000) -> Response:
    return JSONResponse(_failure(None, code, text), status_code=status)


def main() -> None:
    parser = argparse.ArgumentParser(description="An MCP server written from the text alone, with faults to choose.")
    parser.add_argument("--port", type=int, action="append", required=True)
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--fault", action="append", choices=FAULTS, default=[])
    options = parser.parse_args()
    app = Server(options.fault, options.journal).app()
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run([socket.create_server(("127.0.0.1", port)) for port in options.port])


if __name__ == "__main__":
    main()
