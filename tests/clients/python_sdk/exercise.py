"""The official Python client against a server: initialize, list, call with notifications, listen, resume after cuts.

    python exercise.py sessions|stateless URL

It runs with the SDK alone, and prints what it saw as one line of JSON. Whoever runs it makes the cuts.
"""

import asyncio
import json
import sys
from importlib.metadata import version
from typing import Any

from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client

BOUND = 30


async def exercise_stateless(url: str) -> dict[str, Any]:
    """What there is of it in 2026-07-28."""
    emitted: list[int] = []

    async def logged(params: Any) -> None:
        emitted.append(params.data["n"])

    async with Client(url, mode="2026-07-28", logging_callback=logged, log_level="debug") as client:
        tools = await client.list_tools()
        called = await client.call_tool("reattach_emit", {"count": 30, "interval_ms": 5, "label": "emit"})
    return {
        "sdk": version("mcp"),
        "revision": "2026-07-28",
        "tools": [tool.name for tool in tools.tools],
        "emitted": emitted,
        "pushed": [],
        "results": [called.content[0].text],
    }


async def exercise(url: str) -> dict[str, Any]:
    """Everything once; what was seen."""
    emitted: list[int] = []
    pushed: list[int] = []
    complete = asyncio.Event()

    async def logged(params: Any) -> None:
        (emitted if params.data["label"] == "emit" else pushed).append(params.data["n"])
        if len(pushed) >= 10:
            complete.set()

    async with (
        streamable_http_client(url) as (read, write),
        ClientSession(read, write, logging_callback=logged, read_timeout_seconds=BOUND) as session,
    ):
        initialized = await session.initialize()
        await session.set_logging_level("debug")
        tools = await session.list_tools()
        called = await session.call_tool("reattach_emit", {"count": 30, "interval_ms": 5, "label": "emit"})
        result = await session.call_tool("reattach_push", {"count": 10, "interval_ms": 5, "label": "push"})
        async with asyncio.timeout(BOUND):
            await complete.wait()
    return {
        "sdk": version("mcp"),
        "revision": initialized.protocol_version,
        "tools": [tool.name for tool in tools.tools],
        "emitted": emitted,
        "pushed": pushed,
        "results": [called.content[0].text, result.content[0].text],
    }


if __name__ == "__main__":
    kind, address = sys.argv[1:]
    print(json.dumps(asyncio.run(exercise(address) if kind == "sessions" else exercise_stateless(address))))
