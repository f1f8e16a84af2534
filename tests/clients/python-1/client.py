"""A client on the Python SDK 1.x (``mcp``), by its defaults: its lines are those of ``contract.py``.

python client.py URL
"""

import asyncio
import sys
from typing import Any

from contract import calls, reason, tell
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def run(url: str) -> None:
    """Connect, make the calls at once, and say goodbye."""

    async def logged(params: Any) -> None:
        tell(applied=params.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def told(message: Any) -> None:
        if isinstance(message, Exception):
            tell(event=reason(message))

    async def call(session: ClientSession, wanted: dict[str, Any]) -> None:
        try:
            result = await session.call_tool(wanted["tool"], wanted["arguments"])
        except Exception as error:
            tell(error=reason(error), call=wanted["label"])
        else:
            tell(result=result.model_dump(mode="json", by_alias=True, exclude_none=True), call=wanted["label"])

    async with (
        streamable_http_client(url) as (read, write, _),
        ClientSession(read, write, logging_callback=logged, message_handler=told) as session,
    ):
        await session.initialize()
        await session.set_logging_level("debug")
        async with asyncio.TaskGroup() as group:
            for wanted in calls():
                group.create_task(call(session, wanted))


if __name__ == "__main__":
    try:
        asyncio.run(run(sys.argv[1]))
    except Exception as error:
        tell(error=reason(error))
        sys.exit(1)
