"""A client on ``fastmcp``, by its defaults.

python client.py URL

It speaks the revisions that have sessions (``mode="legacy"``): there is nothing to resume in the newer one.
"""

import sys

from contract import logged, main, make_calls, told
from fastmcp import Client


async def run(url: str) -> None:
    """Connect, make the calls, and say goodbye."""
    async with Client(url, mode="legacy", log_handler=logged, message_handler=told) as client:
        await client.set_logging_level("debug")
        await make_calls(client.call_tool_mcp)


if __name__ == "__main__":
    sys.exit(main(run(sys.argv[1])))
