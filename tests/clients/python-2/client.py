"""A client on the Python SDK 2.x (``mcp``), by its defaults.

python client.py URL

It speaks the revisions that have sessions (``mode="legacy"``): there is nothing to resume in the newer one.
"""

import sys

from contract import logged, main, make_calls, told
from mcp import Client


async def run(url: str) -> None:
    """Connect, make the calls, and say goodbye."""
    async with Client(url, mode="legacy", logging_callback=logged, message_handler=told) as client:
        await client.set_logging_level("debug")
        await make_calls(client.call_tool)


if __name__ == "__main__":
    sys.exit(main(run(sys.argv[1])))
