"""The server that the demo probes: a small, honest one on the official Python SDK.

It keeps to the SDK's public interface and its defaults. What it adds is what the SDK leaves to the deployment, in the
way of the SDK's own examples: an event store in memory, one for all sessions, keyed by the stream id that the SDK
passes, with a bound on the events of each stream (``--store`` has others); two tools that send numbered messages, so
that an observer can tell what is missing; and the one by which the official conformance suite has a stream closed under
it. It runs with nothing but ``mcp`` installed, in an environment of its own, and imports nothing of reattach:

    python demo_server.py --port 8000
"""

import argparse
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import anyio
import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from starlette.applications import Starlette
from starlette.routing import Route

HOST = "127.0.0.1"
PATH = "/mcp"
EVENTS_PER_STREAM = 100
LIMITS = {"count": 10_000, "interval_ms": 60_000, "size": 1_000_000}
"""The largest value of each argument of the tools: messages, milliseconds, bytes."""
AWAY_MS = 100
"""How long ``test_reconnection`` holds its response back once the stream is closed."""
STORE_MS = 2
"""How long each operation of the slow store waits."""
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
LOG_LEVEL: types.LoggingLevel = "info"


@dataclass(frozen=True)
class StoredEvent:
    """One event as the store holds it; ``message`` is None for a priming event."""

    event_id: str
    message: types.JSONRPCMessage | None


class InMemoryEventStore(EventStore):
    """The last events of every stream, oldest out first; all of them, if it has no bound."""

    def __init__(self, events_per_stream: int | None = EVENTS_PER_STREAM) -> None:
        self._events_per_stream = events_per_stream
        self._streams: dict[str, deque[StoredEvent]] = {}
        self._stream_of: dict[str, str] = {}

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        """Keep an event under a new id, and return the id."""
        events = self._streams.setdefault(stream_id, deque())
        if len(events) == self._events_per_stream:
            del self._stream_of[events.popleft().event_id]
        event = StoredEvent(uuid4().hex, message)
        events.append(event)
        self._stream_of[event.event_id] = stream_id
        return event.event_id

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what the stream of ``last_event_id`` holds after it; return the stream, None if the id is not held."""
        stream_id = self._stream_of.get(last_event_id)
        if stream_id is None:
            return None
        events = list(self._streams[stream_id])
        start = next(index for index, event in enumerate(events) if event.event_id == last_event_id)
        for event in events[start + 1 :]:
            if event.message is not None:
                await send_callback(EventMessage(event.message, event.event_id))
        return stream_id


class SlowEventStore(InMemoryEventStore):
    """The same store behind a wait, as a database would be."""

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        """Wait, then keep the event."""
        await anyio.sleep(STORE_MS / 1000)
        return await super().store_event(stream_id, message)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Wait, then send the events."""
        await anyio.sleep(STORE_MS / 1000)
        return await super().replay_events_after(last_event_id, send_callback)


class PerSessionManager(StreamableHTTPSessionManager):
    """A store for each session. The SDK has no setting for it, but reads ``event_store`` once for every session."""

    @property
    def event_store(self) -> EventStore:
        """A store that no other session has."""
        return InMemoryEventStore()

    @event_store.setter
    def event_store(self, store: EventStore | None) -> None:
        """Nothing: what the SDK's constructor sets would be shared."""


STORES: dict[str, Callable[[], EventStore | None]] = {
    "shared": InMemoryEventStore,
    "slow": SlowEventStore,
    "unbounded": lambda: InMemoryEventStore(None),
    "none": lambda: None,
}
"""The stores that all sessions share, by the name that ``--store`` takes; the first is the default."""
PER_SESSION = "per-session"


def _integer(minimum: int, name: str, description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum, "maximum": LIMITS[name], "description": description}


_COUNT = _integer(0, "count", "How many messages to send.")
_LABEL = {"type": "string", "description": "Repeated in every message."}
TOOLS = [
    types.Tool(
        name="reattach_emit",
        description="Sends numbered log notifications on the stream of this request, then the result.",
        input_schema={
            "type": "object",
            "properties": {
                "count": _COUNT,
                "interval_ms": _integer(0, "interval_ms", "Milliseconds before each message."),
                "size": _integer(0, "size", "Bytes of padding in each message."),
                "label": _LABEL,
            },
            "required": ["count"],
        },
    ),
    types.Tool(
        name="reattach_push",
        description="Sends numbered log notifications on the standalone stream of the session, then the result.",
        input_schema={"type": "object", "properties": {"count": _COUNT, "label": _LABEL}, "required": ["count"]},
    ),
    types.Tool(
        name="test_reconnection",
        description="Closes the stream of this request before its response.",
        input_schema={"type": "object", "properties": {}},
    ),
]


def _read_integer(arguments: Mapping[str, Any], name: str) -> int:
    value = arguments.get(name, 0)
    if type(value) is not int or not 0 <= value <= LIMITS[name]:
        raise MCPError(types.INVALID_PARAMS, f"{name}: an integer from 0 to {LIMITS[name]} is needed")
    return value


class Emitter:
    """The tools, and the log level that each session asked for."""

    def __init__(self) -> None:
        self._levels: dict[str, types.LoggingLevel] = {}

    async def set_level(self, ctx: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Answer ``logging/setLevel``."""
        self._levels[_session_id(ctx)] = params.level
        return types.EmptyResult()

    async def list_tools(self, ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Answer ``tools/list``."""
        return types.ListToolsResult(tools=TOOLS)

    async def call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Answer ``tools/call``: send the messages, then the result."""
        arguments = params.arguments or {}
        if params.name == "test_reconnection":
            if ctx.close_sse_stream is not None:
                await ctx.close_sse_stream()
                await anyio.sleep(AWAY_MS / 1000)
            return types.CallToolResult(content=[types.TextContent(text="done")])
        count = _read_integer(arguments, "count")
        label = str(arguments.get("label", ""))
        if params.name == "reattach_emit":
            interval = _read_integer(arguments, "interval_ms") / 1000
            padding = "x" * _read_integer(arguments, "size")
            for number in range(1, count + 1):
                await anyio.sleep(interval)
                await self._send(ctx, {"label": label, "n": number, "padding": padding}, ctx.request_id)
        elif params.name == "reattach_push":
            for number in range(1, count + 1):
                await self._send(ctx, {"label": label, "n": number}, None)
        else:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool: {params.name[:80]}")
        return types.CallToolResult(content=[types.TextContent(text=f"sent {count}")])

    async def _send(self, ctx: Any, data: dict[str, Any], related_request_id: types.RequestId | None) -> None:
        if LEVELS.index(LOG_LEVEL) < LEVELS.index(self._levels.get(_session_id(ctx), "debug")):
            return
        await ctx.session.send_log_message(
            level=LOG_LEVEL, data=data, logger="reattach", related_request_id=related_request_id
        )


def _session_id(ctx: Any) -> str:
    return str(ctx.request.headers.get("mcp-session-id", ""))


def _app(server: Server[Any], store: str) -> Starlette:
    if store != PER_SESSION:
        app: Starlette = server.streamable_http_app(streamable_http_path=PATH, event_store=STORES[store](), host=HOST)
        return app
    # What the SDK does for a local host, by hand: its own way takes no manager.
    security = TransportSecuritySettings(allowed_hosts=[f"{HOST}:*"], allowed_origins=[f"http://{HOST}:*"])
    manager = PerSessionManager(server, security_settings=security)
    return Starlette(routes=[Route(PATH, StreamableHTTPASGIApp(manager))], lifespan=lambda app: manager.run())


def main() -> None:
    """Serve on the loopback interface until ended."""
    parser = argparse.ArgumentParser(description="The official Python SDK's server that reattach's demo probes.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--store", choices=[*STORES, PER_SESSION], default=next(iter(STORES)))
    arguments = parser.parse_args()
    # Log messages are the older revisions' way to send something during a call, and deprecated since 2026-07-28.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    emitter = Emitter()
    server: Server[Any] = Server(
        "reattach-demo",
        version="1",
        on_list_tools=emitter.list_tools,
        on_call_tool=emitter.call_tool,
        on_set_logging_level=emitter.set_level,
    )
    uvicorn.run(_app(server, arguments.store), host=HOST, port=arguments.port, log_level="warning")


if __name__ == "__main__":
    main()
