"""Resuming a stream whose old connection is, or seems, alive."""

import asyncio

from reattach.live.bench import Bench
from reattach.live.experiments.registry import Need, Parameters, experiment
from reattach.live.view import CutPlan

_NEEDS = [Need.SESSIONS, Need.STIMULUS]


@experiment("takeover", "ATT-2", "ATT-3", "DEL-10", "DEL-4", "DEL-8", "MOD-1", needs=_NEEDS)
async def takeover(bench: Bench, _: Parameters) -> None:
    """A running call resumed from its newest id while its old connection is open and read."""
    session = await bench.session()
    call = await bench.call(session, count=40, interval_ms=30)
    await call.events(6)
    if call.cursor is not None:
        await call.resume()
        await asyncio.gather(*(bench.quiet(view, bench.pace.patience_ms) for view in call.chain))
        await call.post.cut()
    await call.follow(to_the_end=False)


@experiment("takeover-half-open", "ATT-2", "ATT-3", "ATT-4", "DEL-2", "DEL-8", needs=_NEEDS)
async def takeover_half_open(bench: Bench, _: Parameters) -> None:
    """A running call whose client has gone silent without a word; it comes back on a new connection."""
    session = await bench.session()
    call = await bench.call(session, count=30, interval_ms=30)
    await call.events(6)
    call.post.pause()
    if call.cursor is not None:
        await call.resume()
    await call.follow()
    call.post.resume()
    await bench.look(call.post)


@experiment("takeover-repeated", "ATT-2", "ATT-3", "DEL-10", needs=_NEEDS)
async def takeover_repeated(bench: Bench, _: Parameters) -> None:
    """A resumed stream resumed again, three times, each time with the one before still open."""
    session = await bench.session()
    call = await bench.call(session, count=40, interval_ms=30, plan=CutPlan(4))
    await call.post.over(bench.pace.patience_ms)
    if call.cursor is not None:
        await call.resume()
        for _attempt in range(3):
            await call.events(3)
            await call.resume()
    await call.follow(to_the_end=False)
    for view in call.chain:
        await bench.look(view)
