"""A small, honest server on FastMCP, the package ``fastmcp``, with the event store that it ships, as its docs show."""

import argparse
import asyncio
import logging
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.server.event_store import EventStore
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp.server.streamable_http import EventCallback
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import JSONRPCMessage
from pydantic import Field

HOST = "127.0.0.1"
PATH = "/mcp"
RETRY_MS = 2000
"""The ``retry`` of the docs' example."""
STORE_MS = 2
"""How long each operation of the slow store waits."""
AWAY_MS = 100
"""How long ``test_reconnection`` holds its response back once the stream is closed."""
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
LOG_LEVEL = "info"

Count = Annotated[int, Field(ge=0, le=10_000)]
IntervalMs = Annotated[int, Field(ge=0, le=60_000)]
Size = Annotated[int, Field(ge=0, le=1_000_000)]


class SlowEventStore(EventStore):
    """The same store behind a wait, as a database would be."""

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Wait, then keep the event."""
        await asyncio.sleep(STORE_MS / 1000)
        return await super().store_event(stream_id, message)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Wait, then send the events."""
        await asyncio.sleep(STORE_MS / 1000)
        return await super().replay_events_after(last_event_id, send_callback)


STORES: dict[str, Callable[[], EventStore | None]] = {
    "shipped": EventStore,
    "slow": SlowEventStore,
    "unbounded": lambda: EventStore(max_events_per_stream=sys.maxsize, ttl=None),
    "none": lambda: None,
}
"""By the name that ``--store`` takes; the first is the default. FastMCP keeps the sessions apart in all of them."""


class Levels(Middleware):
    """Keeps the level of ``logging/setLevel`` where a tool can see it: FastMCP heeds it in ``Context.log`` alone.

    That one sends a message of FastMCP's own form, and never on the standalone stream.
    """

    async def on_request(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Note the level that a session asks for, once FastMCP has accepted it."""
        result = await call_next(context)
        if context.method == "logging/setLevel" and context.fastmcp_context is not None:
            await context.fastmcp_context.set_state("level", context.message["level"])
        return result


mcp = FastMCP("reattach-fastmcp", version="1", middleware=[Levels()])


async def _send(ctx: Context, data: dict[str, Any], related_request_id: str | None) -> None:
    if LEVELS.index(LOG_LEVEL) >= LEVELS.index(await ctx.get_state("level") or "debug"):
        await ctx.session.send_log_message(LOG_LEVEL, data, "reattach", related_request_id=related_request_id)


@mcp.tool
async def reattach_emit(
    ctx: Context, count: Count, interval_ms: IntervalMs = 0, size: Size = 0, label: str = ""
) -> str:
    """Sends numbered log notifications on the stream of this request, then the result."""
    for number in range(1, count + 1):
        await asyncio.sleep(interval_ms / 1000)
        await _send(ctx, {"label": label, "n": number, "padding": "x" * size}, ctx.request_id)
    return f"sent {count}"


@mcp.tool
async def reattach_push(ctx: Context, count: Count, label: str = "") -> str:
    """Sends numbered log notifications on the standalone stream of the session, then the result."""
    for number in range(1, count + 1):
        await _send(ctx, {"label": label, "n": number}, None)
    return f"sent {count}"


@mcp.tool
async def test_reconnection(ctx: Context) -> str:
    """Closes the stream of this request before its response."""
    await ctx.close_sse_stream()
    await asyncio.sleep(AWAY_MS / 1000)
    return "done"


def main() -> None:
    """Serve on the loopback interface until ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--store", choices=STORES, default=next(iter(STORES)))
    arguments = parser.parse_args()
    # It warns of every cursor that it does not hold.
    logging.getLogger("fastmcp").setLevel(logging.ERROR)
    # Log messages are the older revisions' way to send something during a call, and deprecated since 2026-07-28.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    app = mcp.http_app(path=PATH, event_store=STORES[arguments.store](), retry_interval=RETRY_MS)
    uvicorn.run(app, host=HOST, port=arguments.port, log_level="warning")


if __name__ == "__main__":
    main()
