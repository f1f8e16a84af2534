"""``python -m tests.middleboxes.serve NAME[/VARIANT] --port N``: server and middlebox, as one server.

``reattach probe --command`` can start it. It is the reference server that stands behind the middlebox; under the NAME
``direct`` it stands alone.
"""

import argparse
import asyncio
import signal
import sys

from tests.matrix.manifest import Middlebox, Variant, middleboxes
from tests.middleboxes.effects import behind

from reattach.io.policy_file import read_policy
from reattach.live.serve import ServeOptions, serving
from reattach.live.server.settings import Settings

DIRECT = "direct"
POLICY = "short"


def find(name: str) -> tuple[Middlebox | None, Variant | None]:
    """A middlebox by ``NAME`` or ``NAME/VARIANT``. Raises KeyError."""
    if name == DIRECT:
        return None, None
    box = {each.name: each for each in middleboxes()}[name.partition("/")[0]]
    variant = name.partition("/")[2]
    return box, {each.name: each for each in box.variant}[variant] if variant else None


async def serve(name: str, port: int) -> None:
    """Until SIGTERM or SIGINT."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    box, variant = find(name)
    settings = Settings(policy=read_policy(POLICY))
    async with (
        serving(ServeOptions(settings=settings, port=port if box is None else 0)) as running,
        behind(box, variant, running.url, port),
    ):
        await ended.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tests.middleboxes.serve", description=__doc__)
    parser.add_argument("name", metavar="NAME[/VARIANT]")
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    try:
        asyncio.run(serve(given.name, given.port))
    except KeyError as error:
        sys.exit(f"tests.middleboxes.serve: there is no middlebox {error}")
