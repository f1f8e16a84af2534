"""A small, honest server on the official Python SDK, version 1.

The analogue of ``demo_server.py``, which is on version 2: the two share no interface but the event store's. What it
adds is what the SDK leaves to the deployment, in the way of its examples: a store in memory, one for all sessions.
"""

import argparse
from collections import deque
from collections.abc import Callable
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import anyio
import uvicorn
from mcp import types
from mcp.server.fastmcp.server import StreamableHTTPASGIApp
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route

HOST = "127.0.0.1"
PATH = "/mcp"
EVENTS_PER_STREAM = 100
STORE_MS = 2
"""How long each operation of the slow store waits."""
AWAY_MS = 100
"""How long ``test_reconnection`` holds its response back once the stream is closed."""
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
LOG_LEVEL: types.LoggingLevel = "info"


class InMemoryEventStore(EventStore):
    """The last events of every stream, oldest out first; all of them, if it has no bound."""

    def __init__(self, events_per_stream: int | None = EVENTS_PER_STREAM) -> None:
        self._events_per_stream = events_per_stream
        self._streams: dict[str, deque[str]] = {}
        self._events: dict[str, tuple[str, types.JSONRPCMessage | None]] = {}

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        """Keep an event under a new id, and return the id; a priming event has no message."""
        event_ids = self._streams.setdefault(stream_id, deque())
        if len(event_ids) == self._events_per_stream:
            del self._events[event_ids.popleft()]
        event_id = uuid4().hex
        event_ids.append(event_id)
        self._events[event_id] = (stream_id, message)
        return event_id

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what the stream of ``last_event_id`` holds after it; return the stream, None if the id is not held."""
        if last_event_id not in self._events:
            return None
        stream_id = self._events[last_event_id][0]
        event_ids = list(self._streams[stream_id])
        after = [(event_id, self._events[event_id][1]) for event_id in event_ids[event_ids.index(last_event_id) + 1 :]]
        for event_id, message in after:
            if message is not None:
                await send_callback(EventMessage(message, event_id))
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
    "per-session": lambda: None,
    "slow": SlowEventStore,
    "unbounded": lambda: InMemoryEventStore(None),
    "none": lambda: None,
}
"""By the name that ``--store`` takes; the first is the default, as in the SDK's example."""

server: Server[Any, Any] = Server("reattach-python-1", version="1")
levels: WeakKeyDictionary[ServerSession, types.LoggingLevel] = WeakKeyDictionary()
"""What each session asked for by ``logging/setLevel``."""


def _tool(name: str, description: str, required: list[str], **properties: dict[str, Any]) -> types.Tool:
    schema = {"type": "object", "properties": properties, "required": required}
    return types.Tool(name=name, description=description, inputSchema=schema)


COUNT = {"type": "integer", "minimum": 0, "maximum": 10_000}
LABEL = {"type": "string"}
TOOLS = [
    _tool(
        "reattach_emit",
        "Sends numbered log notifications on the stream of this request, then the result.",
        ["count"],
        count=COUNT,
        interval_ms={"type": "integer", "minimum": 0, "maximum": 60_000},
        size={"type": "integer", "minimum": 0, "maximum": 1_000_000},
        label=LABEL,
    ),
    _tool(
        "reattach_push",
        "Sends numbered log notifications on the standalone stream of the session, then the result.",
        ["count"],
        count=COUNT,
        label=LABEL,
    ),
    _tool("test_reconnection", "Closes the stream of this request before its response.", []),
]


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    """Answer ``tools/list``."""
    return TOOLS


@server.set_logging_level()
async def set_logging_level(level: types.LoggingLevel) -> None:
    """Answer ``logging/setLevel``."""
    levels[server.request_context.session] = level


@server.call_tool()
async def call_tool(name: str, arguments: dict[str, Any]) -> list[types.ContentBlock]:
    """Answer ``tools/call``: send the messages, then the result. The SDK checks the arguments by the tool's schema."""
    context = server.request_context
    if name == "test_reconnection":
        if context.close_sse_stream is not None:
            await context.close_sse_stream()
            await anyio.sleep(AWAY_MS / 1000)
        return [types.TextContent(type="text", text="done")]
    numbered = range(1, arguments["count"] + 1)
    label = arguments.get("label", "")
    if name == "reattach_emit":
        padding = "x" * arguments.get("size", 0)
        for number in numbered:
            await anyio.sleep(arguments.get("interval_ms", 0) / 1000)
            await _send({"label": label, "n": number, "padding": padding}, context.request_id)
    elif name == "reattach_push":
        for number in numbered:
            await _send({"label": label, "n": number}, None)
    else:
        raise ValueError(f"unknown tool: {name[:80]}")
    return [types.TextContent(type="text", text=f"sent {arguments['count']}")]


async def _send(data: dict[str, Any], related_request_id: types.RequestId | None) -> None:
    session = server.request_context.session
    if LEVELS.index(LOG_LEVEL) >= LEVELS.index(levels.get(session, "debug")):
        await session.send_log_message(LOG_LEVEL, data, "reattach", related_request_id)


def main() -> None:
    """Serve on the loopback interface until ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--store", choices=STORES, default=next(iter(STORES)))
    arguments = parser.parse_args()
    manager_type = PerSessionManager if arguments.store == "per-session" else StreamableHTTPSessionManager
    # The SDK's `FastMCP` sets the same when it serves a local host; its manager leaves it to the caller.
    security = TransportSecuritySettings(allowed_hosts=[f"{HOST}:*"], allowed_origins=[f"http://{HOST}:*"])
    manager = manager_type(server, event_store=STORES[arguments.store](), security_settings=security)
    app = Starlette(routes=[Route(PATH, StreamableHTTPASGIApp(manager))], lifespan=lambda app: manager.run())
    uvicorn.run(app, host=HOST, port=arguments.port, log_level="warning")


if __name__ == "__main__":
    main()
