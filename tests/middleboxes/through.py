"""Real clients through a middlebox: what their applications get of a call, undisturbed and cut on the client's side."""

import asyncio
import contextlib
import json
import re
import shlex
from collections import Counter

from attrs import frozen
from tests.clients.cutting import Cut, cutting
from tests.matrix.manifest import Client, Middlebox, Variant
from tests.middleboxes.effects import OFTEN, behind

from reattach.live.clients.program import CommandProgram
from reattach.live.clients.scripts import emit
from reattach.live.serve import ServeOptions, serving
from reattach.live.server.settings import Settings
from reattach.live.wire import parse_url

COUNT = 10
INTERVAL_MS = 100
BOUND_MS = 30_000
CUT = Cut(b'"n":5,')
_NUMBER = re.compile(r'"n":(\d+)')


@frozen(kw_only=True)
class Got:
    """What an application got of one call of ``COUNT`` messages."""

    applied: int
    """How many different messages."""
    twice: int
    """How many of them more than once."""
    ended: str
    """With a result, an error, or not at all."""
    cut: bool
    """Whether the connection was cut."""

    def __str__(self) -> str:
        again = f", {self.twice} twice" if self.twice else ""
        return f"{self.applied} of {COUNT}{again}, {self.ended}"


async def through(client: Client, box: Middlebox | None, variant: Variant | None, *, cut: bool) -> Got:
    """One call. If ``cut``, the connection to the client is cut after the fifth message that passes on it."""
    lines: list[str] = []
    program = CommandProgram(shlex.join(client.command(client.run)))
    async with (
        serving(ServeOptions(settings=Settings(policy=OFTEN))) as running,
        behind(box, variant, running.url) as url,
        cutting(parse_url(url).port, *([CUT] if cut else [])) as proxy,
    ):
        address = f"http://127.0.0.1:{proxy.port}{parse_url(url).path}"
        over = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BOUND_MS / 1000):
                await program.run(address, (emit("call", COUNT, INTERVAL_MS),), lines.append)
                over = True
    said = [json.loads(line) for line in lines if line.startswith("{")]
    numbers = Counter(
        int(number)
        for each in said
        if "applied" in each
        for number in _NUMBER.findall(json.dumps(each).replace("\\", "").replace(" ", ""))[:1]
    )
    ends = ["a result" if "result" in each else "an error" for each in said if {"result", "error"} & each.keys()]
    return Got(
        applied=len(numbers),
        twice=sum(times > 1 for times in numbers.values()),
        ended=ends[0] if ends else ("nothing" if over else "no end"),
        cut=bool(proxy.made),
    )
