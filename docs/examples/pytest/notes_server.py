"""A tiny MCP server whose streams can be resumed: one ASGI application, one file, no SDK.

Every stream is a list of events that outlives its connections. An event's id is the stream's number and the event's
place in it, so a cursor says all there is to know.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Json = dict[str, Any]

TOOL = {
    "name": "reattach_emit",  # a tool that the probe knows; any tool will do, see --stimulus
    "description": "Sends `count` numbered log messages, then its result.",
    "inputSchema": {"type": "object", "properties": {"count": {"type": "integer"}}},
}


class Stream:
    """What was sent on a stream, and the number of the connection that has it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.events: list[str] = []
        self.finished = False
        self.reader = 0
        self.changed = asyncio.Condition()

    async def send(self, data: str, *, last: bool = False) -> None:
        async with self.changed:
            self.events.append(data)
            self.finished = last
            self.changed.notify_all()

    async def read(self, place: int) -> AsyncIterator[str]:
        """The events from a place on, as they come. Whoever reads last has the stream."""
        async with self.changed:
            self.reader += 1
            mine = self.reader
            self.changed.notify_all()
        while True:
            async with self.changed:
                await self.changed.wait_for(
                    lambda: place < len(self.events) or self.finished or self.reader != mine  # noqa: B023
                )
                if self.reader != mine or place >= len(self.events):
                    return
                data = self.events[place]
            yield f"id: {self.number}.{place}\ndata: {data}\n\n"
            place += 1


class Session:
    """A client's streams, and the calls that go on whether anybody reads or not."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.calls: set[asyncio.Task[None]] = set()

    def open(self) -> Stream:
        self.streams.append(Stream(len(self.streams)))
        return self.streams[-1]

    def find(self, cursor: str) -> tuple[Stream, int] | None:
        """The stream of a cursor, and the place after it; None if it is no event of this session."""
        for stream in self.streams:
            for place in range(len(stream.events)):
                if cursor == f"{stream.number}.{place}":
                    return stream, place + 1
        return None


def make_app() -> Starlette:
    """The application, with no sessions yet."""
    sessions: dict[str, Session] = {}

    async def endpoint(request: Request) -> Response:
        message: Json = json.loads(await request.body()) if request.method == "POST" else {}
        if message.get("method") == "initialize":
            name = secrets.token_urlsafe(24)
            sessions[name] = Session()
            return JSONResponse(answer(message, initialized()), headers={"Mcp-Session-Id": name})
        if "mcp-session-id" not in request.headers:
            return refusal(400, "the request has no session id")
        name = request.headers["mcp-session-id"]
        if name not in sessions:
            return refusal(404, "there is no such session")
        session = sessions[name]
        if request.method == "GET":
            return listen(session, request.headers.getlist("last-event-id"))
        if request.method == "DELETE":
            del sessions[name]
            await end(session)
            return Response(status_code=204)
        return await post(session, message)

    return Starlette(routes=[Route("/mcp", endpoint, methods=["POST", "GET", "DELETE"])])


async def post(session: Session, message: Json) -> Response:
    if "id" not in message or "method" not in message:
        return Response(status_code=202)
    if message["method"] != "tools/call":
        return JSONResponse(answer(message, {"tools": [TOOL]} if message["method"] == "tools/list" else {}))
    stream = session.open()
    await stream.send("")  # an id to come back with, before anything else
    call = asyncio.create_task(emit(stream, message))  # goes on when the connection breaks
    session.calls.add(call)
    call.add_done_callback(session.calls.discard)
    return events(stream, 0)


def listen(session: Session, cursors: list[str]) -> Response:
    if not cursors:
        return events(session.open(), 0)
    found = session.find(cursors[0]) if len(cursors) == 1 else None
    return refusal(400, "the cursor is no event of this session") if found is None else events(*found)


async def end(session: Session) -> None:
    for call in session.calls:
        call.cancel()
    for stream in session.streams:
        async with stream.changed:
            stream.reader += 1
            stream.changed.notify_all()


async def emit(stream: Stream, message: Json) -> None:
    arguments = message["params"]["arguments"]
    for n in range(1, arguments["count"] + 1):
        data = {"label": arguments.get("label"), "n": n, "padding": "x" * arguments.get("size", 0)}
        params = {"level": "info", "data": data}
        await stream.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": params}))
        await asyncio.sleep(arguments.get("interval_ms", 0) / 1000)
    await stream.send(json.dumps(answer(message, {"content": [{"type": "text", "text": "done"}]})), last=True)


def events(stream: Stream, place: int) -> Response:
    return StreamingResponse(stream.read(place), media_type="text/event-stream")


def initialized() -> Json:
    return {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": {"name": "notes", "version": "1"},
    }


def answer(message: Json, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def refusal(status: int, text: str) -> Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": text}}
    return JSONResponse(error, status_code=status)
