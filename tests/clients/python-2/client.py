"""A client on the Python SDK 2.x (``mcp``), by its defaults: its lines are those of ``contract.py``.

python client.py URL

It speaks the revisions that have sessions (``mode="legacy"``): there is nothing to resume in the newer one.
"""

import asyncio
import sys
from typing import Any

from contract import calls, reason, tell
from mcp import Client


async def run(url: str) -> None:
    """Connect, make the calls at once, and say goodbye."""

    async def logged(params: Any) -> None:
        tell(applied=params.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def told(message: Any) -> None:
        if isinstance(message, Exception):
            tell(event=reason(message))

    async def call(client: Client, wanted: dict[str, Any]) -> None:
        try:
            result = await client.call_tool(wanted["tool"], wanted["arguments"])
        except Exception as error:
            tell(error=reason(error), call=wanted["label"])
        else:
            tell(result=result.model_dump(mode="json", by_alias=True, exclude_none=True), call=wanted["label"])

    async with Client(url, mode="legacy", logging_callback=logged, message_handler=told) as client:
        await client.set_logging_level("debug")
        async with asyncio.TaskGroup() as group:
            for wanted in calls():
                group.create_task(call(client, wanted))


if __name__ == "__main__":
    try:
        asyncio.run(run(sys.argv[1]))
    except Exception as error:
        tell(error=reason(error))
        sys.exit(1)
