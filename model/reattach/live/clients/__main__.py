"""``python -m reattach.live.clients [URL]``: the client of the machine, or one of its mistakes, as a client program."""

import argparse
import asyncio
import json
import os
from collections.abc import Mapping, Sequence

from reattach.live.clients.client import HttpClient
from reattach.live.clients.contract import URL, calls_of
from reattach.live.clients.mutants import MUTANTS
from reattach.oracle.observation import Json


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the client; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m reattach.live.clients", description=__doc__)
    parser.add_argument("url", nargs="?", default=os.environ.get(URL, ""), help=f"the endpoint; ${URL} if not given")
    parser.add_argument("--mutant", choices=tuple(MUTANTS), help="with this mistake in it")
    given = parser.parse_args(arguments)
    make = HttpClient if given.mutant is None else MUTANTS[given.mutant].client
    return asyncio.run(make(given.url, calls_of(os.environ), _say).run())


def _say(said: Mapping[str, Json]) -> None:
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
