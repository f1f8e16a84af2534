"""A client on the Python SDK 1.x (``mcp``), by its defaults.

python client.py URL
"""

import sys

from contract import logged, main, make_calls, told
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def run(url: str) -> None:
    """Connect, make the calls, and say goodbye."""
    async with (
        streamable_http_client(url) as (read, write, _),
        ClientSession(read, write, logging_callback=logged, message_handler=told) as session,
    ):
        await session.initialize()
        await session.set_logging_level("debug")
        await make_calls(session.call_tool)


if __name__ == "__main__":
    sys.exit(main(run(sys.argv[1])))
